"""Errors of requests, and exceptions by which a handler says how its attempt has failed."""


class FainaError(Exception):
    """A request failed. `code` is the word of the server, such as `task_not_found`."""

    def __init__(self, message, code="", status=0, errors=(), retry_after=None):
        super().__init__(message)
        self.code = code
        self.status = status
        self.errors = list(errors)  # of single fields: {"field", "message"}
        self.retry_after = retry_after  # seconds, or None


class NotFound(FainaError):
    """There is no such task, schedule, ... (404)."""


class Conflict(FainaError):
    """The state of the task doesn't allow it, or it has changed meanwhile (409, 412)."""


class Invalid(FainaError):
    """The request is malformed, or a field has an invalid value (400, 413, 501)."""


class Forbidden(FainaError):
    """The token is missing or doesn't allow it (401, 403)."""


class Overloaded(FainaError):
    """The server has too much to do, or is shutting down (429, 503). The client has tried several times."""


class Unavailable(FainaError):
    """The server can't be reached."""


class TimedOut(FainaError):
    """What was waited for did not happen in time."""


CLASSES = {400: Invalid, 401: Forbidden, 403: Forbidden, 404: NotFound, 409: Conflict, 412: Conflict, 413: Invalid,
           429: Overloaded, 501: Invalid, 503: Overloaded}


def from_problem(status, problem, retry_after=None):
    """The exception for an answer of the server."""
    message = problem.get("detail") or problem.get("title") or f"HTTP {status}"
    return CLASSES.get(status, FainaError)(message, problem.get("code", ""), status, problem.get("errors", ()),
                                           retry_after)


class Retry(Exception):
    """Raised by a handler: the attempt has failed. `after` (seconds, "10m", a timedelta or a datetime)
    replaces the backoff. Every other exception fails the attempt, too, with the usual backoff."""

    def __init__(self, message, after=None, kind=None, detail=None):
        super().__init__(message)
        self.after, self.kind, self.detail = after, kind, detail


class Permanent(Exception):
    """Raised by a handler: the task has failed, and another attempt is useless."""

    def __init__(self, message, kind=None, detail=None):
        super().__init__(message)
        self.kind, self.detail = kind, detail
