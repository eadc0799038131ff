/** Trace context, where the program has installed OpenTelemetry's API: submits carry the present span. */

interface Api {
    propagation: { inject(context: unknown, carrier: object): void; extract(context: unknown, carrier: object): unknown };
    context: { active(): unknown; with<Result>(context: unknown, run: () => Result): Result };
}

let api: Api | null = null;

/** Hooks the module "@opentelemetry/api" of the program in: `useOpenTelemetry(await import("@opentelemetry/api"))`. */
export function useOpenTelemetry(module: unknown): void {
    api = module as Api;
}

/** The headers of a submit. */
export function inject(): Record<string, string> {
    const carrier: Record<string, string> = {};
    api?.propagation.inject(api.context.active(), carrier);
    return Object.fromEntries(Object.entries(carrier).filter(([name]) => name === "traceparent" || name === "tracestate"));
}

/** Runs a handler in the context of its attempt, or else of the submit. */
export function inContextOf<Result>(traceparent: unknown, run: () => Result): Result {
    if (api === null || typeof traceparent !== "string") return run();
    return api.context.with(api.propagation.extract(api.context.active(), { traceparent }), run);
}

/** A subtask, which continues the trace of the attempt unless it has one of its own. */
export function continued(subtask: Record<string, any>, traceparent: string | undefined): Record<string, any> {
    return traceparent === undefined || subtask.metadata?.traceparent !== undefined ? subtask : { traceparent, ...subtask };
}
