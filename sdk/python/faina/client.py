"""The requests of an application."""
import http.client
import json
import os
import random
import socket
import ssl
import threading
import time
import urllib.parse

from . import tracing
from .errors import FainaError, TimedOut, Unavailable, from_problem
from .task import Operation, Submitted, Task, as_duration, as_either, as_time

# The names of a submit, as a Python program writes them: the name in the API, and how its value is converted.
SUBMIT = {
    "name": ("name", None), "priority": ("priority", None), "delay": ("delay", as_duration),
    "run_at": ("runAt", as_time), "key": ("idempotencyKey", None), "key_scope": ("keyScope", as_duration),
    "on_duplicate": ("onDuplicate", None), "dedupe": ("dedupe", None), "max_attempts": ("maxAttempts", None),
    "retry": ("retry", None), "timeout": ("timeout", as_duration), "start_by": ("startBy", as_either),
    "group": ("group", None), "resources": ("resources", list), "depends_on": ("dependsOn", list),
    "metadata": ("metadata", None), "spec": ("spec", None), "team_id": ("teamId", None),
    "namespace": ("namespace", None), "created_by": ("createdBy", None),
    "traceparent": ("traceparent", None), "detached": ("detached", None),
}
# Times of a filter may be given as datetimes.
TIMES = ("After", "Before")
IDEMPOTENT = ("GET", "PUT", "DELETE")


def spec(type, input=None, **options):
    """The JSON of a submit: `faina.client.spec("mail.send", {...}, delay="10m")`."""
    body = {"type": type}
    if input is not None:
        body["input"] = input
    for name, value in options.items():
        if name not in SUBMIT:
            raise TypeError(f"submit() has no option {name!r}; it has {', '.join(sorted(SUBMIT))}")
        if value is not None:
            field, convert = SUBMIT[name]
            body[field] = convert(value) if convert else value
    return body


def camel(name):
    parts = name.split("_")
    return parts[0] + "".join(part.capitalize() for part in parts[1:])


def as_filter(names):
    """The members of a filter: `updated_after` becomes `updatedAfter`, and `metadata={"a.b": 1}` one for each path."""
    found = {}
    for name, value in names.items():
        if value is None:
            continue
        if name == "metadata":
            found.update({f"metadata.{path}": text for path, text in value.items()})
            continue
        field = camel(name)
        if field.endswith(TIMES):
            value = as_time(value)
        if isinstance(value, (list, tuple)):
            value = ",".join(value)
        found[field] = value
    return found


class Local(http.client.HTTPConnection):
    """A connection over a Unix socket."""

    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Client:
    """A server of Faina. It may be used from several threads, each of which has a connection of its own.

    url        http://HOST:PORT, https://... or unix:PATH; by default $FAINA_URL, else http://127.0.0.1:7070
    token      by default $FAINA_TOKEN
    namespace  of submits and lists; by default $FAINA_NAMESPACE, else that of the token, else `default`
    timeout    seconds that a request may take, besides what it waits for
    retries    how often a request is repeated that certainly had no effect, or has the same effect twice
    """

    def __init__(self, url=None, token=None, namespace=None, timeout=30.0, retries=4, ssl_context=None):
        self.url = (url or os.environ.get("FAINA_URL") or "http://127.0.0.1:7070").rstrip("/")
        self.namespace = namespace or os.environ.get("FAINA_NAMESPACE") or None
        self.timeout, self.retries = timeout, retries
        self._token = token or os.environ.get("FAINA_TOKEN") or None
        self._ssl = ssl_context
        self._local = threading.local()
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme not in ("http", "https", "unix"):
            raise ValueError(f"{self.url!r} is not the address of a server: http://HOST:PORT, https://... or unix:PATH")
        self._scheme, self._host, self._port = parts.scheme, parts.hostname, parts.port
        self._base = "" if parts.scheme == "unix" else parts.path
        self._path = parts.path
        self.schedules = Schedules(self)

    # ---------------------------------------------------------------- tasks

    def submit(self, type, input=None, **options):
        """Stores a task. Options: name priority delay run_at key key_scope on_duplicate dedupe max_attempts
        retry timeout start_by group resources depends_on metadata spec team_id namespace created_by
        traceparent. With a `key` that exists the result is the first task, with `existing` true."""
        return Task(self.request("POST", "/tasks", self._with_namespace(spec(type, input, **options)),
                                 headers=tracing.inject(), repeat=options.get("key") is not None))

    def submit_many(self, tasks):
        """Stores up to 10,000 tasks in one transaction: dicts with `type`, `input` and the options of submit().
        Each is accepted or refused by itself; the result is a list of Submitted, in their order."""
        bodies = [self._with_namespace(spec(**task)) for task in tasks]
        repeat = all("idempotencyKey" in body or "dedupe" in body for body in bodies)
        answer = self.request("POST", "/tasks:batch", {"tasks": bodies}, headers=tracing.inject(), repeat=repeat)
        return [Submitted(item) for item in answer["items"]]

    def get(self, id):
        return Task(self.request("GET", f"/tasks/{quote(id)}"))

    def list(self, limit=None, **filters):
        """All tasks that fulfil the filters, newest first, read page by page: status type name team_id parent_id
        created_by idempotency_key created_after updated_before worker_id resource error_kind failure_group
        group origin schedule metadata={path: value} due_before sort order ..."""
        names = as_filter(filters)
        if self.namespace:
            names.setdefault("namespace", self.namespace)
        cursor, count = None, 0
        while limit is None or count < limit:
            page = self.request("GET", "/tasks", query={**names, "cursor": cursor,
                                                        "limit": min(1000, (limit or 1000) - count) if limit else 1000})
            for item in page["items"]:
                yield Task(item)
                count += 1
                if limit is not None and count == limit:
                    return
            cursor = page["nextCursor"]
            if cursor is None:
                return

    def wait(self, id, timeout=None):
        """Waits until the task has ended, and returns it. TimedOut: it did not within `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = 60.0 if end is None else max(0.0, min(60.0, end - time.monotonic()))
            task = Task(self.request("GET", f"/tasks/{quote(id)}/wait", query={"timeout": f"{left * 1000:.0f}ms"},
                                     timeout=self.timeout + left))
            if task.has_ended:
                return task
            if end is not None and time.monotonic() >= end:
                raise TimedOut(f"task {id} is still {task.status}")

    def result(self, id):
        """The output of a completed task."""
        return self.request("GET", f"/tasks/{quote(id)}/result")

    def children(self, id):
        return [Task(item) for item in self._pages(f"/tasks/{quote(id)}/children")]

    def events(self, id):
        """The events of a task, newest first, as dicts."""
        return list(self._pages(f"/tasks/{quote(id)}/events"))

    def explain(self, id):
        """Why the task is not running, as a dict."""
        return self.request("GET", f"/tasks/{quote(id)}/explain")

    def cancel(self, id, reason=None):
        return Task(self.request("POST", f"/tasks/{quote(id)}:cancel", with_reason({}, reason), repeat=True))

    def retry(self, id, keep_attempts=False, reason=None):
        return Task(self.request("POST", f"/tasks/{quote(id)}:retry",
                                 with_reason({"resetAttempts": not keep_attempts}, reason)))

    def update(self, id, **changes):
        """Changes a waiting task: name priority run_at max_attempts timeout start_by group metadata."""
        body = {}
        for name, value in changes.items():
            field, convert = SUBMIT[name]
            body[field] = convert(value) if convert and value is not None else value
        return Task(self.request("PATCH", f"/tasks/{quote(id)}", body))

    def delete(self, id, cancel=False, purge=False):
        query = {name: "true" for name, wanted in (("cancel", cancel), ("purge", purge)) if wanted}
        self.request("DELETE", f"/tasks/{quote(id)}", query=query)

    # ---------------------------------------------------------------- many tasks

    def cancel_all(self, reason=None, dry_run=False, **filters):
        """Cancels all tasks that fulfil the filters (see list()), as a stored operation."""
        return self._act("cancel", filters, reason, dry_run)

    def retry_all(self, reason=None, dry_run=False, **filters):
        return self._act("retry", filters, reason, dry_run)

    def delete_all(self, reason=None, dry_run=False, **filters):
        return self._act("delete", filters, reason, dry_run)

    def operations(self):
        return [Operation(item) for item in self._pages("/operations")]

    def operation(self, id):
        return Operation(self.request("GET", f"/operations/{quote(id)}"))

    def wait_operation(self, id, timeout=None):
        """Waits until the operation is no longer running, and returns it."""
        end = None if timeout is None else time.monotonic() + timeout
        pause = 0.05
        while True:
            operation = self.operation(id)
            if operation.status != "running":
                return operation
            if end is not None and time.monotonic() >= end:
                raise TimedOut(f"operation {id} is still running")
            time.sleep(pause)
            pause = min(1.0, pause * 1.5)

    def _act(self, kind, filters, reason, dry_run):
        names = as_filter(filters)
        if self.namespace:
            names.setdefault("namespace", self.namespace)
        body = with_reason({"filter": names}, reason)
        if dry_run:
            return self.request("POST", f"/tasks:{kind}", {**body, "dryRun": True})["matched"]
        return Operation(self.request("POST", f"/tasks:{kind}", body)["operation"])

    # ---------------------------------------------------------------- events

    def emit(self, type, data=None, id=None, namespace=None):
        """Reports an event to the workflows, and returns the ids of the tasks that it has created. A repeated
        `id` does nothing twice."""
        body = {"type": type, "data": {} if data is None else data}
        if id is not None:
            body["id"] = id
        if namespace or self.namespace:
            body["namespace"] = namespace or self.namespace
        return self.request("POST", "/events", body, repeat=id is not None)["tasks"]

    # ---------------------------------------------------------------- below

    def _with_namespace(self, body):
        if self.namespace:
            body.setdefault("namespace", self.namespace)
        return body

    def _pages(self, path, **query):
        cursor = None
        while True:
            page = self.request("GET", path, query={**query, "cursor": cursor})
            yield from page["items"]
            cursor = page.get("nextCursor")
            if cursor is None:
                return

    def request(self, method, path, body=None, query=None, headers=None, timeout=None, repeat=None, raw=False):
        """One request below /api/v1, for what has no method here. Returns the JSON of the answer."""
        repeat = method in IDEMPOTENT if repeat is None else repeat
        names = {name: value for name, value in (query or {}).items() if value is not None}
        target = f"{self._base}/api/v1{path}"
        if names:
            target += "?" + urllib.parse.urlencode(names)
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        fields = {"Accept": "application/json", **(headers or {})}
        if data is not None:
            fields["Content-Type"] = "application/json"
        if self._token:
            fields["Authorization"] = f"Bearer {self._token}"
        for attempt in range(self.retries + 1):
            try:
                return self._once(method, target, data, fields, timeout or self.timeout, repeat, raw)
            except FainaError as error:
                is_last = attempt == self.retries
                may_repeat = error.status in (429, 503) or isinstance(error, Unavailable) and error.code == "again"
                if is_last or not may_repeat:
                    raise
                time.sleep(error.retry_after or min(5.0, 0.1 * 2 ** attempt) * (0.5 + random.random() / 2))
        raise AssertionError("unreachable")

    def _connection(self, timeout):
        connection = getattr(self._local, "connection", None)
        if connection is None:
            if self._scheme == "unix":
                connection = Local(self._path, timeout)
            elif self._scheme == "https":
                connection = http.client.HTTPSConnection(self._host, self._port, timeout=timeout,
                                                         context=self._ssl or ssl.create_default_context())
            else:
                connection = http.client.HTTPConnection(self._host, self._port or 80, timeout=timeout)
            self._local.connection = connection
        return connection

    def _once(self, method, target, data, fields, timeout, repeat, raw):
        connection = self._connection(timeout)
        has_sent = False
        try:
            if connection.sock is None:
                connection.timeout = timeout
                connection.connect()
                if self._scheme != "unix":
                    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                is_new = True
            else:
                connection.sock.settimeout(timeout)
                is_new = False
            has_sent = True
            connection.request(method, target, data, fields)
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            # A kept connection may have been closed by the server before the request reached it.
            was_idle = has_sent and not is_new and isinstance(error, (http.client.RemoteDisconnected,
                                                                      ConnectionResetError, BrokenPipeError))
            again = not has_sent or repeat or was_idle and method == "GET"
            raise Unavailable(f"{self.url}: {error or type(error).__name__}", "again" if again else "unknown") from error
        if answer.status >= 400:
            try:
                problem = json.loads(text)
            except ValueError:
                problem = {"detail": text.decode("utf-8", "replace")[:200]}
            after = answer.headers.get("Retry-After")
            raise from_problem(answer.status, problem if isinstance(problem, dict) else {},
                               float(after) if after and after.isdigit() else None)
        if raw:
            return text
        return json.loads(text) if text else None

    def close(self):
        """Closes the connection of this thread."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None


class Schedules:
    """The schedules of a client: `client.schedules.set("nightly", "0 3 * * *", "report")`."""

    def __init__(self, client):
        self._client = client

    def set(self, name, schedule, type, input=None, timezone=None, catch_up=None, paused=None, overlap=None, **options):
        """Creates or replaces a schedule, which submits the task at each of its times."""
        body = {"schedule": schedule, "task": spec(type, input, **options)}
        for field, value in (("timezone", timezone), ("catchUp", catch_up), ("paused", paused), ("overlap", overlap)):
            if value is not None:
                body[field] = value
        if self._client.namespace:
            body["namespace"] = self._client.namespace
        return self._client.request("PUT", f"/crons/{quote(name)}", body)

    def _query(self):
        return {"namespace": self._client.namespace}

    def get(self, name):
        return self._client.request("GET", f"/crons/{quote(name)}", query=self._query())

    def list(self):
        return list(self._client._pages("/crons", **self._query()))

    def run(self, name):
        """Submits its task now."""
        return Task(self._client.request("POST", f"/crons/{quote(name)}:run", query=self._query()))

    def remove(self, name):
        self._client.request("DELETE", f"/crons/{quote(name)}", query=self._query())


def quote(text):
    return urllib.parse.quote(str(text), safe="")


def with_reason(body, reason):
    return body if reason is None else {**body, "reason": reason}
