#!/usr/bin/env python3
"""Who may do and see what: every route, by scope and by namespace.

ROUTES has a row for each route of /openapi.json; a route without a row fails the test. A row tells
which scopes allow it, what a good answer is, and what becomes of a request for things of another
namespace. Whatever is refused must change nothing: STATE is read before and after.
"""
import itertools
import json

from helper_server import API, Skip, equal, is_true, run, wait_until

MINE, THEIRS = "mine", "theirs"
LEASE = 3000 # seconds: none ends during a test
SCOPES = ("read", "view", "submit", "work", "operate", "admin")
# What everybody can see of everything, but for what changes by itself.
STATE = tuple(path + "limit=1000" for path in (
    "/tasks?namespace=*&", "/workers?", "/resources?", "/teams?namespace=*&", "/types?namespace=*&",
    "/crons?namespace=*&", "/workflows?namespace=*&", "/lanes?namespace=*&", "/tokens?", "/events?namespace=*&",
    "/operations?"))

NOT_FOUND, NO_TASK, FORBIDDEN = (404, "not_found"), (404, "task_not_found"), (403, "forbidden")
ANY = "any" # not about namespaces: a token of some gets the same as others
LIST = "list" # shows what is the token's, and nothing else


class World:
    """A server with things of two namespaces, and tokens for each."""

    def __init__(self, place):
        self.boss = place.token("admin", name="boss")
        self.admins = {ns: place.token("admin", namespace=ns) for ns in (MINE, THEIRS)}
        self.scoped = {scope: place.token(scope, namespace=MINE) for scope in SCOPES}
        self.server = place.serve()
        self.server.token = self.boss
        self.connection = self.server.connect()
        self.numbers = itertools.count(1)

    def __call__(self, method, path, body=None, status=None, token=None):
        return self.server(method, path, body, status, token=token, connection=self.connection)

    def name(self, ns):
        return f"{ns}-{next(self.numbers)}"

    def task(self, ns, **fields):
        return self("POST", "/tasks", {"type": ns + ".t", "namespace": ns, **fields}, 201).json()["id"]

    def held(self, ns, verb="start"):
        """A task that a worker of its namespace holds."""
        worker, task = self.worker(ns), self.task(ns)
        self("POST", f"/tasks/{task}:{verb}", {"workerId": worker, "leaseSeconds": LEASE}, 200)
        return task, worker

    def ended(self, ns):
        task = self.task(ns)
        self("POST", f"/tasks/{task}:start", {"workerId": "w"}, 200)
        self("POST", f"/tasks/{task}:complete", {"workerId": "w", "output": {"of": ns}}, 200)
        return task

    def cancelled(self, ns):
        task = self.task(ns)
        self("POST", f"/tasks/{task}:cancel", {}, 200)
        return task

    def worker(self, ns):
        name = self.name(ns)
        self("PUT", f"/workers/{name}", {"types": [ns + ".t"]}, 200, token=self.admins[ns])
        return name

    def resource(self):
        name = self.name("resource")
        self("PUT", f"/resources/{name}", {"maxConcurrency": 3}, 200)
        return name

    def policy(self, ns):
        name = self.name(ns)
        self("PUT", f"/types/{name}?namespace={ns}", {"timeout": "1m"}, 200)
        return name

    def team(self, ns):
        return self("POST", "/teams", {"name": self.name(ns), "namespace": ns}, 201).json()["id"]

    def cron(self, ns):
        name = self.name(ns)
        self("PUT", f"/crons/{name}", cron(ns), 200)
        return name

    def workflow(self, ns):
        name = self.name(ns)
        self("PUT", f"/workflows/{name}?namespace={ns}", workflow(name, ns), 200)
        return name

    def event(self, ns):
        name = self.name(ns)
        self("POST", "/events", {"type": ns + ".e", "id": name, "namespace": ns}, 200)
        return name

    def operation(self, ns):
        body = {"filter": {"type": "none", "namespace": ns}}
        return self("POST", "/tasks:cancel", body, 202).json()["operation"]["id"]

    def token(self):
        return self("POST", "/tokens", {"name": self.name("token"), "scopes": ["read"]}, 201).json()["id"]

    def state(self):
        seen = []
        for path in STATE:
            page = {"nextCursor": ""}
            while page.get("nextCursor") is not None:
                more = f"&cursor={page['nextCursor']}" if page["nextCursor"] else ""
                page = self("GET", path + more, status=200).json()
                for item in page["items"]:
                    item.pop("lastHeartbeat", None)
                    seen.append(path + " " + json.dumps(item))
        return sorted(seen)


def cron(ns):
    return {"schedule": "0 3 1 1 *", "namespace": ns, "task": {"type": ns + ".t"}}


def workflow(name, ns):
    return {"workflow": name, "triggers": [
        {"name": "t", "on": ns + ".nothing", "task": {"type": ns + ".t"}}]}


def acts(verb, **more):
    """An act by the worker that holds the task."""
    def make(world, ns):
        if verb in ("claim", "start"):
            task, worker = world.task(ns), world.worker(ns)
        else:
            task, worker = world.held(ns, "claim" if verb == "release" else "start")
        # Who asks for a task of others names no worker of others: the task alone is refused.
        worker = worker if ns == MINE else "w"
        return f"/tasks/{task}:{verb}", {"workerId": worker, **more}
    return make


def many(route, **more):
    def make(world, ns):
        task, worker = world.held(ns)
        item = {"id": task, **more}
        if route == "/acts":
            item["body"] = {"workerId": worker, "progress": 10}
            return route, {"items": [item]}
        return route, {"workerId": worker if ns == MINE else "w", "items": [item]}
    return make


def of(kind, path, body=None):
    """About one thing that the world makes; "{}" in the path is its id."""
    def make(world, ns):
        thing = getattr(world, kind)(*([] if kind in ("resource", "token") else [ns]))
        extra = f"?namespace={ns}" if kind in ("cron", "workflow", "event", "policy") else ""
        made = body(world, ns, thing) if callable(body) else body
        return path.replace("{}", thing) + extra, made
    return make


def plain(path, body=None):
    return lambda world, ns: (path, body)


def in_namespace(path, body=None):
    """A list of a namespace, or a body that names one."""
    def make(_, ns):
        if body is None:
            return path + ("&" if "?" in path else "?") + "namespace=" + ns, None
        return path, {**body, "namespace": ns}
    return make


def new(path, body):
    """A thing that is put where there was none."""
    def make(world, ns):
        name = world.name(ns)
        return path.replace("{}", name) + (f"?namespace={ns}" if "/workflows" in path else ""), \
            body(name, ns)
    return make


def batch(_, ns):
    return "/tasks:batch", {"tasks": [{"type": ns + ".t", "namespace": ns}]}


def bulk(verb, **more):
    return lambda world, ns: ("/tasks:" + verb, {"filter": {"type": "none", "namespace": ns}, **more})


def operations(world, _):
    for ns in (MINE, THEIRS):
        world.operation(ns)
    return "/operations", None


def log_of(world, ns):
    task, worker = world.held(ns)
    return f"/tasks/{task}/log", {"workerId": worker if ns == MINE else "w", "lines": ["x"]}


def backtest(_, ns):
    return f"/workflows:backtest?namespace={ns}", {"definition": workflow("w", ns)}


def claims(world, ns):
    worker = world.worker(MINE)
    world.task(ns)
    return "/claims", {"workerId": worker, "namespaces": [ns], "leaseSeconds": LEASE}


def worker_put(world, ns):
    _, worker = world.held(ns)
    return f"/workers/{worker}", {"leaseSeconds": 1 if ns == THEIRS else LEASE}


def worker_delete(world, ns):
    _, worker = world.held(ns, "claim")
    return f"/workers/{worker}", None


def subtask(world, ns):
    path, body = acts("subtask")(world, ns)
    return path, {**body, "subtask": {"type": ns + ".t", "name": str(next(world.numbers))}}


def subtasks(world, ns):
    path, body = acts("block")(world, ns)
    return path, {**body, "subtasks": [{"type": ns + ".t", "input": next(world.numbers)}]}


# "METHOD path": (scopes, makes the request, status when allowed, what comes of it for others' things)
READ, LOOK, SUBMIT, WORK, OPERATE, ADMIN = ("read",), ("read", "view"), ("submit",), ("work",), \
    ("operate",), ()
ROUTES = {
    "POST /tasks": (SUBMIT, in_namespace("/tasks", {"type": "x"}), 201, FORBIDDEN),
    "POST /tasks:check": (SUBMIT, in_namespace("/tasks:check", {"type": "x"}), 200, FORBIDDEN),
    "POST /tasks:batch": (SUBMIT, batch, 200, [FORBIDDEN]),
    "GET /tasks:find": (LOOK, plain("/tasks:find?id=0"), 200, LIST),
    "GET /tasks": (LOOK, in_namespace("/tasks"), 200, LIST),
    "GET /tasks/{id}": (LOOK, of("task", "/tasks/{}"), 200, NO_TASK),
    "GET /tasks/{id}/events": (LOOK, of("task", "/tasks/{}/events"), 200, NO_TASK),
    "GET /tasks/{id}/result": (READ, of("ended", "/tasks/{}/result"), 200, NO_TASK),
    "GET /tasks/{id}/children": (LOOK, of("task", "/tasks/{}/children"), 200, NO_TASK),
    "GET /tasks/{id}/explain": (LOOK, of("task", "/tasks/{}/explain"), 200, NO_TASK),
    "POST /tasks/{id}/log": (WORK, log_of, 204, NO_TASK),
    "GET /tasks/{id}/log": (READ, of("task", "/tasks/{}/log"), 200, NO_TASK),
    "GET /tasks/{id}/graph": (LOOK, of("task", "/tasks/{}/graph"), 200, NO_TASK),
    "GET /tasks/{id}/wait": (LOOK, of("ended", "/tasks/{}/wait?timeout=0"), 200, NO_TASK),
    "PATCH /tasks/{id}/status": (WORK, of("task", "/tasks/{}/status", {"status": "failed"}), 200, NO_TASK),
    "POST /tasks/{id}:claim": (WORK, acts("claim", leaseSeconds=LEASE), 200, NO_TASK),
    "POST /tasks/{id}:start": (WORK, acts("start", leaseSeconds=LEASE), 200, NO_TASK),
    "POST /tasks/{id}:complete": (WORK, acts("complete", output=1), 200, NO_TASK),
    "POST /tasks/{id}:fail": (WORK, acts("fail", error={"message": "x", "retryable": False}), 200, NO_TASK),
    "POST /tasks/{id}:progress": (WORK, acts("progress", progress=1), 200, NO_TASK),
    "POST /tasks/{id}:heartbeat": (WORK, acts("heartbeat"), 200, NO_TASK),
    "POST /tasks/{id}:subtask": (WORK, subtask, 200, NO_TASK),
    "POST /tasks/{id}:block": (WORK, subtasks, 200, NO_TASK),
    "POST /tasks/{id}:background": (WORK, acts("background"), 200, NO_TASK),
    "POST /tasks/{id}:release": (WORK, acts("release"), 200, NO_TASK),
    "POST /tasks/{id}:snooze": (WORK, acts("snooze", **{"for": "1h"}), 200, NO_TASK),
    "POST /tasks/{id}:note": (WORK, acts("note", event="e"), 200, NO_TASK),
    "POST /tasks/{id}:amend": (WORK, acts("amend", task={"maxAttempts": 9}), 200, NO_TASK),
    "PATCH /tasks/{id}": (OPERATE, of("task", "/tasks/{}", {"priority": 1}), 200, NO_TASK),
    "POST /tasks/{id}:cancel": (OPERATE, of("task", "/tasks/{}:cancel", {}), 200, NO_TASK),
    "POST /tasks/{id}:retry": (OPERATE, of("cancelled", "/tasks/{}:retry", {}), 200, NO_TASK),
    "DELETE /tasks/{id}": (OPERATE, of("ended", "/tasks/{}"), 204, NO_TASK),
    "POST /tasks:purge": (OPERATE, in_namespace("/tasks:purge", {"type": "x"}), 200, FORBIDDEN),
    "POST /tasks:cancel": (OPERATE, bulk("cancel"), 202, FORBIDDEN),
    "POST /tasks:retry": (OPERATE, bulk("retry"), 202, FORBIDDEN),
    "POST /tasks:delete": (OPERATE, bulk("delete"), 202, FORBIDDEN),
    "POST /tasks:update": (OPERATE, bulk("update", set={"priority": 1}), 202, FORBIDDEN),
    "GET /operations": (LOOK, operations, 200, LIST),
    "GET /operations/{id}": (LOOK, of("operation", "/operations/{}"), 200, NOT_FOUND),
    "POST /operations/{id}:cancel": (OPERATE, of("operation", "/operations/{}:cancel", {}), 200, NOT_FOUND),
    "POST /claims": (WORK, claims, 200, FORBIDDEN),
    "POST /outcomes": (WORK, many("/outcomes", status="completed"), 200, [NO_TASK]),
    "POST /acts": (WORK, many("/acts", act="progress"), 200, [NO_TASK]),
    "POST /heartbeats": (WORK, many("/heartbeats"), 200, [NO_TASK]),
    "GET /workers": (LOOK, plain("/workers"), 200, LIST),
    "PUT /workers/{name}": (WORK, worker_put, 200, NOT_FOUND),
    "GET /workers/{name}": (LOOK, of("worker", "/workers/{}"), 200, NOT_FOUND),
    "DELETE /workers/{name}": (WORK, worker_delete, 204, NOT_FOUND),
    "GET /broker": (LOOK, plain("/broker"), FORBIDDEN, FORBIDDEN),
    "PUT /broker": (ADMIN, plain("/broker", {"on": False}), FORBIDDEN, FORBIDDEN),
    "GET /settings": (LOOK, plain("/settings"), 200, ANY),
    "PUT /settings": (ADMIN, plain("/settings", {"redact": []}), FORBIDDEN, FORBIDDEN),
    "GET /resources": (LOOK, plain("/resources"), 200, LIST),
    "PUT /resources/{name}": (ADMIN, of("resource", "/resources/{}", {"maxConcurrency": 1}), FORBIDDEN,
                              FORBIDDEN),
    "GET /resources/{name}": (LOOK, of("resource", "/resources/{}"), 200, ANY),
    "DELETE /resources/{name}": (ADMIN, of("resource", "/resources/{}"), FORBIDDEN, FORBIDDEN),
    "GET /types": (LOOK, in_namespace("/types"), 200, LIST),
    "PUT /types/{type}": (ADMIN, new("/types/{}", lambda name, ns: {"maxAttempts": 3, "namespace": ns}), 200,
                          FORBIDDEN),
    "GET /types/{type}": (LOOK, of("policy", "/types/{}"), 200, FORBIDDEN),
    "DELETE /types/{type}": (ADMIN, of("policy", "/types/{}"), 204, FORBIDDEN),
    "POST /teams": (ADMIN, new("/teams", lambda name, ns: {"name": name, "namespace": ns}), 201, FORBIDDEN),
    "GET /teams": (LOOK, in_namespace("/teams"), 200, LIST),
    "GET /teams/{id}": (LOOK, of("team", "/teams/{}"), 200, NOT_FOUND),
    "PUT /teams/{id}": (ADMIN, of("team", "/teams/{}", lambda world, ns, _: {"name": world.name(ns)}), 200,
                        NOT_FOUND),
    "DELETE /teams/{id}": (ADMIN, of("team", "/teams/{}"), 204, NOT_FOUND),
    "GET /crons": (LOOK, in_namespace("/crons"), 200, LIST),
    "PUT /crons/{name}": (ADMIN, new("/crons/{}", lambda name, ns: cron(ns)), 200, FORBIDDEN),
    "GET /crons/{name}": (LOOK, of("cron", "/crons/{}"), 200, FORBIDDEN),
    "DELETE /crons/{name}": (ADMIN, of("cron", "/crons/{}"), 204, FORBIDDEN),
    "POST /crons/{name}:run": (OPERATE, of("cron", "/crons/{}:run", {}), 201, FORBIDDEN),
    "GET /crons/{name}/next": (LOOK, of("cron", "/crons/{}/next"), 200, FORBIDDEN),
    "GET /stream": (LOOK, in_namespace("/stream?lastEventId=nonsense"), 400, FORBIDDEN),
    "GET /stats": (LOOK, in_namespace("/stats"), 200, LIST),
    "GET /stats/history": (LOOK, in_namespace("/stats/history"), 200, FORBIDDEN),
    "GET /failures": (LOOK, in_namespace("/failures"), 200, FORBIDDEN),
    "GET /audit": (LOOK, plain("/audit"), FORBIDDEN, FORBIDDEN),
    "GET /lanes": (LOOK, in_namespace("/lanes"), 200, LIST),
    "POST /lanes:pause": (OPERATE, in_namespace("/lanes:pause", {"type": "x"}), 200, FORBIDDEN),
    "POST /lanes:resume": (OPERATE, in_namespace("/lanes:resume", {"type": "x"}), 200, FORBIDDEN),
    "GET /namespaces": (LOOK, plain("/namespaces"), 200, LIST),
    "POST /session": (None, lambda world, ns: ("/session", {"token": world.boss}), 200, ANY),
    "GET /session": (SCOPES, plain("/session"), 200, ANY),
    "DELETE /session": (None, plain("/session"), 204, ANY),
    "GET /info": (LOOK, plain("/info"), 200, ANY),
    "POST /backup": (ADMIN, plain("/backup"), FORBIDDEN, FORBIDDEN),
    "GET /log": (LOOK, plain("/log?cursor=0"), 200, LIST),
    "POST /events": (SUBMIT, in_namespace("/events", {"type": "e"}), 200, FORBIDDEN),
    "GET /events": (LOOK, in_namespace("/events"), 200, LIST),
    "GET /events/{name}": (LOOK, of("event", "/events/{}"), 200, FORBIDDEN),
    "GET /events/{name}/why": (READ, of("event", "/events/{}/why"), 200, FORBIDDEN),
    "GET /workflows": (LOOK, in_namespace("/workflows"), 200, LIST),
    "PUT /workflows/{name}": (ADMIN, new("/workflows/{}", workflow), 200, FORBIDDEN),
    "GET /workflows/{name}": (LOOK, of("workflow", "/workflows/{}"), 200, FORBIDDEN),
    "POST /workflows/{id}:disable": (ADMIN, of("workflow", "/workflows/{}:disable", {}), 200, FORBIDDEN),
    "POST /workflows/{id}:enable": (ADMIN, of("workflow", "/workflows/{}:enable", {}), 200, FORBIDDEN),
    "GET /workflows/{name}/joins": (LOOK, of("workflow", "/workflows/{}/joins"), 200, FORBIDDEN),
    "GET /joins": (LOOK, in_namespace("/joins"), 200, FORBIDDEN),
    "DELETE /workflows/{name}": (ADMIN, of("workflow", "/workflows/{}"), 204, FORBIDDEN),
    "POST /workflows:test": (LOOK, plain("/workflows:test", {"match": "a > 1", "data": {}}), 200, ANY),
    "POST /workflows:backtest": (READ, backtest, 200, FORBIDDEN),
    "GET /tokens": (ADMIN, plain("/tokens"), FORBIDDEN, FORBIDDEN),
    "POST /tokens": (ADMIN, plain("/tokens", {"scopes": ["read"]}), FORBIDDEN, FORBIDDEN),
    "DELETE /tokens/{id}": (ADMIN, of("token", "/tokens/{}"), FORBIDDEN, FORBIDDEN),
    "GET ./metrics": (LOOK, plain("./metrics"), FORBIDDEN, FORBIDDEN),
    "GET ./healthz": (None, plain("./healthz"), 200, ANY),
    "GET ./readyz": (None, plain("./readyz"), 200, ANY),
    "GET ./openapi.json": (None, plain("./openapi.json"), 200, ANY),
    "GET ./": (None, plain("./"), 200, ANY),
    "GET ./assets/{name}": (None, plain("./assets/icon.svg"), 200, ANY),
}


def unchanged(world, before, *seen):
    after = world.state()
    is_true(after == before, *seen, "new: ", *(set(after) - set(before)), "gone: ",
            *(set(before) - set(after)))


def outcome(answer):
    """Status and code; of a batch, those of its items that were refused."""
    if answer.status >= 400:
        return answer.status, answer.code()
    body = json.loads(answer.body) if answer.headers["Content-Type"] == "application/json" else {}
    refused = [(item["status"], item["code"]) for item in body.get("items", []) if "code" in item] \
        if isinstance(body, dict) else []
    return refused or answer.status


def test_every_route_has_a_row(place):
    server = place.serve()
    paths = server("GET", "./openapi.json", status=200).json()["paths"]
    there = {f"{method.upper()} {path.removeprefix(API) if path.startswith(API) else '.' + path}"
             for path, methods in paths.items() for method in methods}
    equal(there - set(ROUTES), set(), "routes that ROUTES says nothing of")
    equal(set(ROUTES) - there, set(), "rows of routes that there are not")


def test_scopes(place):
    """Each route with a token of each scope, for what is the token's own."""
    if "postgres" in place.url:
        raise Skip("scopes are decided before an engine is asked")
    world = World(place)
    requests = {route: (route.split()[0], *make(world, MINE)) for route, (_, make, _, _) in ROUTES.items()}
    before = world.state()
    for route, (scopes, _, good, _) in ROUTES.items():
        method, path, body = requests[route]
        allowed = SCOPES if scopes is None else (*scopes, "admin")
        for held in SCOPES:
            if held not in allowed or isinstance(good, tuple):
                answer = world(method, path, body, token=world.scoped[held])
                equal(outcome(answer), FORBIDDEN, route, held, answer)
        for token in () if scopes is None else ("", "faina_" + "0" * 64):
            answer = world(method, path, body, token=token)
            expected = [(401, "unauthorized")] + [(429, "overloaded")] * bool(token) # after some
            is_true(outcome(answer) in expected, route, answer)
    unchanged(world, before)
    for route, (scopes, make, good, _) in ROUTES.items():
        for held in SCOPES if scopes is None else (*scopes, "admin"):
            if not isinstance(good, tuple):
                path, body = make(world, MINE)
                answer = world(route.split()[0], path, body, token=world.scoped[held])
                equal(answer.status, good, route, held, answer)


def test_cancelling_what_the_token_submitted(place):
    """With the scope submit alone, in every way to cancel; another token of the same kind is not it."""
    world = World(place)
    token = world.scoped["submit"]
    other = world("POST", "/tokens", {"scopes": ["submit", "work"], "namespaces": [MINE]}, 201).json()["token"]
    for task in (world.task(MINE), *submitted(world, token)):
        before = world.state()
        for path, body in ((f"/tasks/{task}:cancel", {}), (f"/tasks/{task}/status", {"status": "cancelled"})):
            method = "PATCH" if "status" in path else "POST"
            equal(outcome(world(method, path, body, token=other)), FORBIDDEN)
        for refused in ("retry", "delete"):
            method, path = ("DELETE", "") if refused == "delete" else ("POST", ":retry")
            equal(outcome(world(method, f"/tasks/{task}{path}", token=token)), FORBIDDEN)
        equal(outcome(world("PATCH", f"/tasks/{task}/status", {"status": "failed"}, token=token)), FORBIDDEN)
        unchanged(world, before)
    equal(outcome(world("POST", f"/tasks/{world.task(MINE)}:cancel", token=token)), FORBIDDEN)
    first, second, third, fourth = submitted(world, token)
    world("POST", f"/tasks/{first}:cancel", {}, 200, token=token)
    world("PATCH", f"/tasks/{second}/status", {"status": "cancelled"}, 200, token=token)
    # One that is held, and one with a payload, by a row of another shape.
    world("POST", f"/tasks/{third}:start", {"workerId": "w"}, 200)
    world("POST", f"/tasks/{third}:cancel", {}, 200, token=token)
    world("POST", f"/tasks/{fourth}:cancel", {}, 200, token=token)
    for task in (first, second, third, fourth):
        equal(world("GET", f"/tasks/{task}").json()["status"], "cancelled")


def submitted(world, token):
    batch_of = [{"type": "mine.t"}, {"type": "mine.t"}, {"type": "mine.t", "metadata": {"a": 1}}]
    one = world("POST", "/tasks", {"type": "mine.t"}, 201, token=token).json()["id"]
    return [one] + [item["id"] for item in
                    world("POST", "/tasks:batch", {"tasks": batch_of}, 200, token=token).json()["items"]]


SECRET = "a secret"


def test_view_is_without_payloads(place):
    """Whatever a token with view, or with operate, can get at: never a payload."""
    world = World(place)
    error = {"message": "no route", "kind": "k", "detail": SECRET, "retryable": False}
    fields = {"input": {"a": SECRET}, "metadata": {"m": SECRET}, "spec": {"s": SECRET}}
    world("PUT", "/workflows/w?namespace=mine", {"workflow": "w", "triggers": [
        {"name": "t", "on": "e", "task": {"type": "t", "input": {"b": SECRET}}}]}, 200)
    made = world("POST", "/events", {"type": "e", "id": "e1", "namespace": MINE, "data": {"d": SECRET}},
                 200).json()["tasks"][0]
    world("PUT", "/crons/c", {**cron(MINE), "task": {"type": "t", **fields}}, 200)
    done, failed, pending, held = (world.task(MINE, **fields) for _ in range(4))
    for task in (done, failed, held):
        world("POST", f"/tasks/{task}:start", {"workerId": "w", "leaseSeconds": LEASE}, 200)
        world("POST", f"/tasks/{task}:note", {"workerId": "w", "event": "log", "detail": SECRET}, 200)
    world("POST", f"/tasks/{held}:progress", {"workerId": "w", "metadata": {"p": SECRET}}, 200)
    world("POST", f"/tasks/{done}:complete", {"workerId": "w", "output": SECRET}, 200)
    world("POST", f"/tasks/{failed}:fail", {"workerId": "w", "error": error}, 200)
    view, read = world.scoped["view"], world.scoped["read"]
    seen = 0
    for path in ("/tasks", "/events", "/events/e1", "/workflows", "/workflows/w", "/crons", "/crons/c",
                 *(f"/tasks/{task}{part}" for task in (done, failed, pending, held, made)
                   for part in ("", "/events", "/explain", "/children", "/wait?timeout=0"))):
        answer = world("GET", path, status=200, token=view)
        is_true(SECRET not in answer.body.decode(), path, answer)
        seen += SECRET in world("GET", path, status=200, token=read).body.decode()
        body = answer.json()
        for item in body["items"] if "items" in body else [body["task"] if "explain" in path else body]:
            is_true(item["redacted"], path, answer)
    is_true(seen > 15, seen)
    shown = world("GET", f"/tasks/{failed}", status=200, token=view).json()
    equal(shown["error"], {**error, "detail": None})
    equal([shown[name] for name in ("input", "output", "metadata", "spec")], [None] * 4)
    equal(outcome(world("GET", f"/tasks/{done}/result", token=view)), FORBIDDEN)
    is_true("redacted" not in world("GET", f"/tasks/{failed}", status=200, token=read).json())
    for method, path, body in (("POST", f"/tasks/{failed}:retry", {}), ("POST", f"/tasks/{pending}:cancel", {}),
                               ("PATCH", f"/tasks/{made}/status", {"status": "cancelled"}),
                               ("POST", "/crons/c:run?namespace=mine", {})):
        answer = world(method, path, body, token=world.scoped["operate"])
        is_true(answer.status < 300 and SECRET not in answer.body.decode(), path, answer)
        is_true(answer.json()["redacted"], answer)
    # The command line shows what is left.
    for args in (["ls"], ["get", failed], ["events", failed], ["explain", failed], ["workflow", "ls"],
                 ["workflow", "get", "w"], ["cron", "ls"], ["cron", "ls", "c"]):
        for form in ("json", "table"):
            done = place.faina(*args, "-o", form, "--namespace", MINE,
                               env={"FAINA_URL": world.server.addresses[0], "FAINA_TOKEN": view})
            is_true(SECRET not in done.stdout + done.stderr, args, done)
    place.faina("workflow", "why", "e1", "--namespace", MINE, code=1,
                env={"FAINA_URL": world.server.addresses[0], "FAINA_TOKEN": view})
    # A worker gets what it works on; a submit what it has made, and no more of one that was there.
    claimed = world("POST", "/claims", {"workerId": "v", "limit": 100}, 200, token=world.scoped["work"])
    is_true(SECRET in claimed.body.decode(), claimed)
    submit = {"type": "t", "idempotencyKey": "k", **fields}
    first = world("POST", "/tasks", submit, 201, token=world.scoped["submit"])
    is_true(SECRET in first.body.decode(), first)
    again = world("POST", "/tasks", submit, 200, token=world.scoped["submit"])
    is_true(SECRET not in again.body.decode() and again.json()["redacted"], again)


def test_namespaces(place):
    """Each route with a token that may do everything in its own namespace, for what is others'."""
    world = World(place)
    for kind in ("task", "worker", "team", "cron", "policy", "workflow", "event"):
        for ns in (MINE, THEIRS):
            getattr(world, kind)(ns)
    token = world.admins[MINE]
    requests = {route: (route.split()[0], *make(world, THEIRS))
                for route, (_, make, _, expected) in ROUTES.items() if expected != LIST}
    before = world.state()
    for route, (method, path, body) in requests.items():
        expected = ROUTES[route][3]
        if expected == ANY:
            continue
        answer = world(method, path, body, token=token)
        equal(outcome(answer), expected, route, answer)
        # It is not there, no matter whose it is.
        if expected in (NO_TASK, NOT_FOUND):
            is_true(THEIRS not in answer.body.decode().replace(path.split("/")[2].split(":")[0], ""),
                    route, answer)
    unchanged(world, before)
    for route, (_, make, _, expected) in ROUTES.items():
        if expected == ANY:
            is_true(world(*requests[route], token=token).status < 300, route)
        elif expected == LIST:
            check_list(world, route, make, token)


def check_list(world, route, make, token):
    method = route.split()[0]
    path, _ = make(world, THEIRS)
    if "namespace=" in path:
        for ns in (THEIRS, "*", "default"):
            answer = world(method, path.replace("namespace=" + THEIRS, "namespace=" + ns), token=token)
            equal(outcome(answer), FORBIDDEN, route, ns)
        path, _ = make(world, MINE)
    theirs = {task["id"] for task in
              world("GET", "/tasks?namespace=theirs&limit=1000", status=200).json()["items"]}
    text = world(method, path, status=200, token=token).body.decode()
    is_true(len(theirs) > 0 and THEIRS not in text, route, text)
    is_true(not any(task in text for task in theirs), route, text)
    is_true("resource" in route or MINE in text, route, text)


def test_workers_of_others(place):
    """No token acts as a worker of other namespaces, and none sees it."""
    world = World(place)
    mine, theirs = world.admins[MINE], world.admins[THEIRS]
    task, worker = world.held(THEIRS, "claim")
    own, ready = world.held(MINE)[0], world.task(MINE)
    before = world.state()
    refused = [
        ("PUT", f"/workers/{worker}", {}),
        ("PUT", f"/workers/{worker}", {"leaseSeconds": 1, "tasks": [task]}),
        ("DELETE", f"/workers/{worker}", None),
        ("GET", f"/workers/{worker}", None),
        ("POST", "/claims", {"workerId": worker}),
        ("POST", "/claims", {"workerId": worker, "waitSeconds": 1}),
        ("POST", f"/tasks/{ready}:claim", {"workerId": worker}),
        ("POST", f"/tasks/{ready}:start", {"workerId": worker}),
        ("POST", f"/tasks/{own}:complete", {"workerId": worker}),
        ("POST", f"/tasks/{own}:heartbeat", {"workerId": worker}),
        ("POST", f"/tasks/{own}:release", {"workerId": worker}),
        ("PATCH", f"/tasks/{own}/status", {"status": "completed", "workerId": worker}),
        ("PATCH", f"/tasks/{ready}/status", {"status": "running", "workerId": worker}),
    ]
    for method, path, body in refused:
        equal(outcome(world(method, path, body, token=mine)), NOT_FOUND, method, path, body)
    for path, item in (("/outcomes", {"status": "completed"}), ("/heartbeats", {}),
                       ("/acts", {"act": "start", "body": {"workerId": worker}})):
        body = {"items": [{"id": own, **item}]}
        if path != "/acts":
            body["workerId"] = worker
        equal(outcome(world("POST", path, body, token=mine)), [NOT_FOUND], path)
    unchanged(world, before)
    # A worker that renews the leases of all that it holds, or signs off, does so in its namespaces.
    equal(world("PUT", f"/workers/{worker}", {"tasks": [task]}, 200, token=theirs).json()["renewed"], 1)
    world("DELETE", f"/workers/{worker}", status=204, token=theirs)
    equal(world("GET", f"/tasks/{task}").json()["status"], "pending")


def test_an_id_in_two_namespaces(place):
    """A worker that never registers has its id for itself in its namespaces."""
    world = World(place)
    mine, theirs = world.admins[MINE], world.admins[THEIRS]
    task = world.task(THEIRS)
    world("POST", f"/tasks/{task}:claim", {"workerId": "w", "leaseSeconds": LEASE}, 200, token=theirs)
    before = world.state()
    # Registering it would let its owner go on with what they hold no longer.
    equal(outcome(world("PUT", "/workers/w", {"leaseSeconds": 1}, token=mine)), NOT_FOUND)
    equal(outcome(world("DELETE", "/workers/w", token=mine)), NOT_FOUND)
    unchanged(world, before)
    # A worker of all namespaces that holds tasks of two: a token of one touches its own alone.
    both = {ns: world.task(ns) for ns in (MINE, THEIRS)}
    world("PUT", "/workers/v", {}, 200, token=mine)
    for ns, claimed in both.items():
        world("POST", f"/tasks/{claimed}:claim", {"workerId": "v", "leaseSeconds": LEASE}, 200)
    kept = world("GET", f"/tasks/{both[THEIRS]}").json()
    beat = world("PUT", "/workers/v", {"leaseSeconds": 2000}, 200, token=mine).json()
    equal((beat["renewed"], beat["lost"]), (1, []))
    beat = world("PUT", "/workers/v", {"leaseSeconds": 2000, "tasks": list(both.values())}, 200,
                 token=mine).json()
    equal((beat["renewed"], beat["cancelled"], beat["lost"]), (1, [], [both[THEIRS]]))
    world("DELETE", "/workers/v", status=204, token=mine)
    equal(world("GET", f"/tasks/{both[THEIRS]}").json(), kept)
    equal(world("GET", f"/tasks/{both[MINE]}").json()["status"], "pending")


def test_a_worker_outlives_its_token(place):
    """The same token again, or another one of the same namespaces, is the same worker."""
    world = World(place)
    tokens = [world("POST", "/tokens", {"name": "w", "scopes": ["work"], "namespaces": names}, 201).json()
              for names in (["a", "b"], ["b", "a"], ["a", "b", "c"], ["a"], ["c"])]
    first, same, wider, narrower, other = (token["token"] for token in tokens)
    task = world.task("a")
    world("PUT", "/workers/w", {}, 200, token=first)
    world("POST", f"/tasks/{task}:claim", {"workerId": "w", "leaseSeconds": LEASE}, 200, token=first)
    world("PUT", "/workers/w", {}, 200, token=first)
    for token in (narrower, other):
        equal(outcome(world("PUT", "/workers/w", {}, token=token)), NOT_FOUND)
    world("DELETE", f"/tokens/{tokens[0]['id']}", status=204)
    for token in (same, wider):
        world("PUT", "/workers/w", {}, 200, token=token)
        world("POST", f"/tasks/{task}:heartbeat", {"workerId": "w", "leaseSeconds": LEASE}, 200,
              token=token)
    # It still belongs to those who registered it.
    world("PUT", "/workers/w", {}, 200, token=world.boss)
    world("POST", f"/tasks/{task}:complete", {"workerId": "w"}, 200, token=same)
    world("DELETE", "/workers/w", status=204, token=same)
    world("PUT", "/workers/w", {}, 200, token=other)


def test_holders_of_others_are_counted_only(place):
    world = World(place)
    world("PUT", "/resources/gpu", {"maxConcurrency": 2}, 200)
    holders = {ns: world.task(ns, resources=["gpu"]) for ns in (MINE, THEIRS)}
    for ns, task in holders.items():
        world("POST", f"/tasks/{task}:start", {"workerId": world.worker(ns)}, 200)
    waiting = world.task(MINE, resources=["gpu"])
    needs = world.task(MINE, dependsOn=list(holders.values()))
    for path in (f"/tasks/{waiting}/explain", f"/tasks/{needs}/explain", "/resources", "/resources/gpu"):
        text = world("GET", path, status=200, token=world.admins[MINE]).body.decode()
        if path != f"/tasks/{needs}/explain": # which tells the ids that it was submitted with
            is_true(holders[THEIRS] not in text, path, text)
        is_true(THEIRS not in text, path, text)
    for task in (waiting, needs):
        summary = world("GET", f"/tasks/{task}/explain", status=200,
                        token=world.admins[MINE]).json()["summary"]
        is_true(holders[MINE] in summary and "1 of other namespaces" in summary, summary)
        is_true(holders[THEIRS] not in summary, summary)
    is_true(holders[THEIRS] in world("GET", f"/tasks/{waiting}/explain").json()["summary"])
    equal(world("GET", "/resources/gpu", token=world.admins[MINE]).json()["inUse"], 2)


def test_cursors_and_keys_of_others(place):
    """A cursor is a place, not a right; a key is one within its namespace."""
    world = World(place)
    mine = world.admins[MINE]
    for ns in (MINE, THEIRS) * 3: # more than a page of each: only then is there a cursor
        world.task(ns), world.event(ns), world.team(ns), world.worker(ns)
    for path in ("/tasks", "/events", "/log", "/teams", "/workers"):
        all_of_it = "?limit=2" + ("" if path in ("/log", "/workers") else "&namespace=*")
        first = world("GET", path + all_of_it + ("&cursor=0" if path == "/log" else ""), status=200).json()
        cursor = first["nextCursor"]
        is_true(cursor, path, first)
        answer = world("GET", f"{path}?limit=1000&cursor={cursor}", token=mine)
        is_true(answer.status == 400 or THEIRS not in answer.body.decode(), path, answer)
    theirs = world("POST", "/tasks", {"type": "t", "namespace": THEIRS, "idempotencyKey": "k"}, 201).json()
    own = world("POST", "/tasks", {"type": "t", "namespace": MINE, "idempotencyKey": "k"}, 201,
                token=mine).json()
    is_true(own["id"] != theirs["id"] and not own.get("existing"))
    event = {"type": "t", "id": "e"}
    world("POST", "/events", {**event, "namespace": THEIRS}, 200)
    is_true("existing" not in world("POST", "/events", {**event, "namespace": MINE}, 200, token=mine).json())


def test_the_store_itself_is_for_administrators_of_all(place):
    world = World(place)
    reader = place.token("read", name="reader")
    wait_until(lambda: world("GET", "/info", token=reader).status == 200, "the token is noticed")
    for token in (reader, world.admins[MINE], *world.scoped.values()):
        equal(outcome(world("GET", "/info?thorough=true", token=token)), FORBIDDEN)
    world("GET", "/info?thorough=true", status=200)


run(globals(), on_postgres=True)
