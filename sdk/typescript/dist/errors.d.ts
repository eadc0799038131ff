import type { Json } from "./json.js";
/** A duration: seconds, or a text such as "50ms", "90s", "10m". */
export type Duration = number | string;
/** A request failed. `code` is the word of the server, such as `task_not_found`. */
export declare class FainaError extends Error {
    readonly code: string;
    readonly status: number;
    /** What is wrong with single fields. */
    readonly errors: {
        field: string;
        message: string;
    }[];
    readonly retryAfterSeconds?: number | undefined;
    constructor(message: string, code?: string, status?: number, 
    /** What is wrong with single fields. */
    errors?: {
        field: string;
        message: string;
    }[], retryAfterSeconds?: number | undefined);
}
/** There is no such task, schedule, ... (404). */
export declare class NotFound extends FainaError {
}
/** The state of the task doesn't allow it, or it has changed meanwhile (409, 412). */
export declare class Conflict extends FainaError {
}
/** The request is malformed, or a field has an invalid value (400, 413, 501). */
export declare class Invalid extends FainaError {
}
/** The token is missing or doesn't allow it (401, 403). */
export declare class Forbidden extends FainaError {
}
/** The server has too much to do, or is shutting down (429, 503). */
export declare class Overloaded extends FainaError {
}
/** The server can't be reached. */
export declare class Unavailable extends FainaError {
}
/** What was waited for did not happen in time. */
export declare class TimedOut extends FainaError {
}
/** The error for an answer of the server. */
export declare function fromProblem(status: number, problem: any, retryAfter: string | null): FainaError;
/**
 * Thrown by a handler: the attempt has failed. `after` replaces the backoff. Every other error fails the attempt, too,
 * with the usual backoff.
 */
export declare class Retry extends Error {
    readonly options: {
        after?: Duration | Date;
        kind?: string;
        detail?: Json;
    };
    constructor(message: string, options?: {
        after?: Duration | Date;
        kind?: string;
        detail?: Json;
    });
}
/** Thrown by a handler: the task has failed, and another attempt is useless. */
export declare class Permanent extends Error {
    readonly options: {
        kind?: string;
        detail?: Json;
    };
    constructor(message: string, options?: {
        kind?: string;
        detail?: Json;
    });
}
