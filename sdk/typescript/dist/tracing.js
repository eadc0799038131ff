/** Trace context, where the program has installed OpenTelemetry's API: submits carry the present span. */
let api = null;
/** Hooks the module "@opentelemetry/api" of the program in: `useOpenTelemetry(await import("@opentelemetry/api"))`. */
export function useOpenTelemetry(module) {
    api = module;
}
/** The headers of a submit. */
export function inject() {
    const carrier = {};
    api?.propagation.inject(api.context.active(), carrier);
    return Object.fromEntries(Object.entries(carrier).filter(([name]) => name === "traceparent" || name === "tracestate"));
}
/** Runs a handler in the context of its attempt, or else of the submit. */
export function inContextOf(traceparent, run) {
    if (api === null || typeof traceparent !== "string")
        return run();
    return api.context.with(api.propagation.extract(api.context.active(), { traceparent }), run);
}
/** A subtask, which continues the trace of the attempt unless it has one of its own. */
export function continued(subtask, traceparent) {
    return traceparent === undefined || subtask.metadata?.traceparent !== undefined ? subtask : { traceparent, ...subtask };
}
