"""Trace context, where OpenTelemetry is installed: submits carry the present span, attempts continue it."""
import contextlib

try:
    from opentelemetry import propagate, trace
except ImportError:
    propagate = trace = None


def inject():
    """The headers of a submit."""
    headers = {}
    if propagate is not None:
        propagate.inject(headers)
    return {name: value for name, value in headers.items() if name in ("traceparent", "tracestate")}


@contextlib.contextmanager
def attempt(task):
    """A span around the attempt of a handler."""
    parent = (task.get("metadata") or {}).get("traceparent")
    if trace is None:
        yield
        return
    context = propagate.extract({"traceparent": parent}) if isinstance(parent, str) else None
    names = {"messaging.system": "faina", "messaging.destination.name": task["type"],
             "messaging.message.id": task["id"], "messaging.operation.type": "process"}
    with trace.get_tracer("faina").start_as_current_span(f"process {task['type']}", context=context,
                                                         kind=trace.SpanKind.CONSUMER, attributes=names):
        yield
