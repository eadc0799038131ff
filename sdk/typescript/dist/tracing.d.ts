/** Trace context, where the program has installed OpenTelemetry's API: submits carry the present span. */
/** Hooks the module "@opentelemetry/api" of the program in: `useOpenTelemetry(await import("@opentelemetry/api"))`. */
export declare function useOpenTelemetry(module: unknown): void;
/** The headers of a submit. */
export declare function inject(): Record<string, string>;
/** Runs a handler in the context of its attempt, or else of the submit. */
export declare function inContextOf<Result>(traceparent: unknown, run: () => Result): Result;
/** A subtask, which continues the trace of the attempt unless it has one of its own. */
export declare function continued(subtask: Record<string, any>, traceparent: string | undefined): Record<string, any>;
