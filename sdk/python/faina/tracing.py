"""Trace context, where OpenTelemetry is installed: submits carry the present span, attempts continue it."""
import contextlib

try:
    from opentelemetry import context as otel_context, propagate, trace
except ImportError:
    otel_context = propagate = trace = None


def inject():
    """The headers of a submit."""
    headers = {}
    if propagate is not None:
        propagate.inject(headers)
    return {name: value for name, value in headers.items() if name in ("traceparent", "tracestate")}


@contextlib.contextmanager
def attempt(task):
    """The context of a handler: the span of its attempt. A server that exports spans makes it; then the
    claim has another traceparent than the submit. Otherwise it is made here."""
    submitted = (task.get("metadata") or {}).get("traceparent")
    parent = task.get("traceparent") or submitted
    if trace is None:
        yield
        return
    context = propagate.extract({"traceparent": parent}) if isinstance(parent, str) else None
    if parent != submitted:
        token = otel_context.attach(context)
        try:
            yield
        finally:
            otel_context.detach(token)
        return
    names = {"messaging.system": "faina", "messaging.destination.name": task["type"],
             "messaging.message.id": task["id"], "messaging.operation.type": "process"}
    with trace.get_tracer("faina").start_as_current_span(f"process {task['type']}", context=context,
                                                         kind=trace.SpanKind.CONSUMER, attributes=names):
        yield


def continued(subtask, task):
    """The JSON of a subtask, which continues the trace of the attempt unless it has one of its own."""
    if "traceparent" in (subtask.get("metadata") or {}) or not task.get("traceparent"):
        return subtask
    return {"traceparent": task["traceparent"], **subtask}
