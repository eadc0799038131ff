/** A request failed. `code` is the word of the server, such as `task_not_found`. */
export class FainaError extends Error {
    code;
    status;
    errors;
    retryAfterSeconds;
    constructor(message, code = "", status = 0, 
    /** What is wrong with single fields. */
    errors = [], retryAfterSeconds) {
        super(message);
        this.code = code;
        this.status = status;
        this.errors = errors;
        this.retryAfterSeconds = retryAfterSeconds;
        this.name = new.target.name;
    }
}
/** There is no such task, schedule, ... (404). */
export class NotFound extends FainaError {
}
/** The state of the task doesn't allow it, or it has changed meanwhile (409, 412). */
export class Conflict extends FainaError {
}
/** The request is malformed, or a field has an invalid value (400, 413, 501). */
export class Invalid extends FainaError {
}
/** The token is missing or doesn't allow it (401, 403). */
export class Forbidden extends FainaError {
}
/** The server has too much to do, or is shutting down (429, 503). */
export class Overloaded extends FainaError {
}
/** The server can't be reached. */
export class Unavailable extends FainaError {
}
/** What was waited for did not happen in time. */
export class TimedOut extends FainaError {
}
const classes = {
    400: Invalid, 401: Forbidden, 403: Forbidden, 404: NotFound, 409: Conflict, 412: Conflict, 413: Invalid,
    429: Overloaded, 501: Invalid, 503: Overloaded,
};
/** The error for an answer of the server. */
export function fromProblem(status, problem, retryAfter) {
    const kind = classes[status] ?? FainaError;
    const seconds = retryAfter !== null && /^[0-9]+$/.test(retryAfter) ? Number(retryAfter) : undefined;
    return new kind(problem?.detail ?? problem?.title ?? `HTTP ${status}`, problem?.code ?? "", status, problem?.errors ?? [], seconds);
}
/**
 * Thrown by a handler: the attempt has failed. `after` replaces the backoff. Every other error fails the attempt, too,
 * with the usual backoff.
 */
export class Retry extends Error {
    options;
    constructor(message, options = {}) {
        super(message);
        this.options = options;
    }
}
/** Thrown by a handler: the task has failed, and another attempt is useless. */
export class Permanent extends Error {
    options;
    constructor(message, options = {}) {
        super(message);
        this.options = options;
    }
}
