#!/usr/bin/env python3
"""Who may do what: tokens, scopes, namespaces, hosts and origins."""
import gzip
import json
import re
import socket
import subprocess
import time

from helper_server import BIN, NO_ID, Local, Skip, environment, equal, is_true, run, wait_until

SCOPES = ("read", "view", "submit", "work", "operate", "admin")


def routes(server):
    """(method, path, scopes) of every operation in /openapi.json."""
    document = server("GET", "./openapi.json", status=200, token="").json()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            needs = [scope for item in operation["security"] for scope in item.get("token", [])]
            yield method.upper(), path, needs


def fill(path, task=NO_ID):
    if path.endswith("/stream"): # it would go on for ever
        path += "?lastEventId=nonsense"
    return "." + re.sub(r"\{(\w+)\}", lambda match: task if match[1] == "id" else "x", path)


def test_every_route_by_scope(place):
    tokens = {scope: place.token(scope, name=scope) for scope in SCOPES}
    server = place.serve()
    seen = 0
    for method, path, scopes in routes(server):
        body = {} if method in ("POST", "PUT", "PATCH") else None
        without = server(method, fill(path), body, token="")
        if not scopes:
            equal(without.status, {("POST", "/api/v1/session"): 400, ("DELETE", "/api/v1/session"): 204,
                                   ("GET", "/assets/{name}"): 404} # of a fixed name
                  .get((method, path), 200), path)
            continue
        equal((without.status, without.code()), (401, "unauthorized"), path)
        equal(without.headers["WWW-Authenticate"], 'Bearer realm="faina"')
        for bad in () if seen else ("x", "faina_" + "0" * 64, tokens["read"] + "0", tokens["read"][:-1]):
            equal(server(method, fill(path), body, 401, token=bad).code(), "unauthorized")
        for held, token in tokens.items():
            answer = server(method, fill(path), body, token=token)
            if held in (*scopes, "admin"):
                is_true(answer.status not in (401, 403), method, path, held, answer)
            else:
                equal((answer.status, answer.code()), (403, "forbidden"), method, path, held)
            seen += 1
    is_true(seen > 4 * 40, seen)


def test_namespaces_of_bodies(place):
    boss, own, one = place.token("admin"), place.token("admin", namespace="mine,ours"), \
        place.token("submit,read,work", namespace="solo")
    server = place.serve()
    server.token = boss
    foreign = server.submit(namespace="theirs")["id"]
    server.token = own
    equal(server("POST", "/tasks", {"type": "t"}, 403).code(), "forbidden")
    equal(server("POST", "/tasks", {"type": "t", "namespace": "theirs"}, 403).code(), "forbidden")
    mine = server("POST", "/tasks", {"type": "t", "namespace": "mine"}, 201).json()["id"]
    items = server("POST", "/tasks:batch", {"tasks": [
        {"type": "t", "namespace": "ours"}, {"type": "t", "namespace": "theirs"}]}, 200)
    equal([item.get("code") for item in items.json()["items"]], [None, "forbidden"])
    equal(server("POST", "/claims", {"workerId": "w", "namespaces": ["theirs"]}, 403).code(),
          "forbidden")
    for task in (foreign, NO_ID):
        refused = server("POST", "/tasks", {"type": "t", "namespace": "mine", "dependsOn": [mine, task]},
                         400)
        equal(refused.json()["detail"], f"dependsOn names a task that does not exist: {task}")
    claimed = server.claim(limit=100)
    equal({task["namespace"] for task in claimed}, {"mine", "ours"})
    subtasks = {"workerId": "w", "subtasks": [{"type": "t", "dependsOn": [foreign]}]}
    server("POST", f"/tasks/{mine}:start", {"workerId": "w"}, 200)
    equal(server("POST", f"/tasks/{mine}:block", subtasks, 400).code(), "invalid_task")
    server("POST", f"/tasks/{foreign}:claim", {"workerId": "w"}, 200, token=boss)
    server("POST", "/tasks", {"type": "t", "namespace": "mine", "dependsOn": [foreign]}, 201, token=boss)
    equal(server("POST", "/tasks:purge", {"namespace": "theirs"}, 403).code(), "forbidden")
    equal(server("POST", "/tasks:purge", {}, 403).code(), "forbidden")
    server("POST", "/tasks:purge", {"namespace": "mine"}, 200)
    equal(server("POST", "/lanes:pause", {"type": "t", "namespace": "theirs"}, 403).code(),
          "forbidden")
    for route, extra in (("/outcomes", {"status": "completed"}), ("/heartbeats", {})):
        answer = server("POST", route, {"workerId": "w", "items": [
            {"id": foreign, **extra}, {"id": mine, **extra}]}, 200).json()["items"]
        equal([item.get("code") for item in answer], ["task_not_found", None]
              if route == "/outcomes" else ["task_not_found", "task_completed"], answer)
        is_true(foreign in answer[0]["detail"], answer)
    acts = [{"id": task, "act": "start", "body": {"workerId": "w"}} for task in (mine, foreign, NO_ID)]
    answer = server("POST", "/acts", {"items": acts}, 200).json()["items"]
    equal([item["code"] for item in answer], ["task_completed", "task_not_found", "task_not_found"])
    equal([item["detail"] for item in answer[1:]],
          [f"there is no task {task}" for task in (foreign, NO_ID)])
    equal(server("GET", f"/tasks/{foreign}", token=boss).json()["status"], "claimed")
    # A token of one namespace needs no name.
    server.token = one
    equal(server.submit()["namespace"], "solo")
    equal(len(server("GET", "/tasks", status=200).json()["items"]), 1)
    equal(len(server.claim(limit=100)), 1)


def test_events_of_other_namespaces_are_not_told(place):
    server = place.serve()
    start = server("GET", "/log", status=200).json()["nextCursor"]
    for ns in ("one", "two"):
        server.submit(namespace=ns)
    all_of_one = place.token("read", namespace="one")
    wait_until(lambda: server("GET", "/log").status == 401, "the token is not noticed")
    page = server("GET", f"/log?cursor={start}", status=200, token=all_of_one).json()
    equal([item["namespace"] for item in page["items"]], ["one"])
    equal(server("GET", "/info?thorough=true", status=403, token=all_of_one).code(), "forbidden")


def test_holders_are_not_told(place):
    boss, own = place.token("admin"), place.token("read", namespace="mine")
    server = place.serve()
    server.token = boss
    server("PUT", "/resources/gpu", {"maxConcurrency": 5}, 200)
    server.submit(resources=["gpu"])
    server.claim()
    equal(len(server("GET", "/resources/gpu").json()["holders"]), 1)
    for path in ("/resources/gpu", "/resources"):
        answer = server("GET", path, status=200, token=own).json()
        equal((answer.get("items") or [answer])[0]["holders"], [])


def test_who_may_not_cancel_may_not_by_the_status_either(place):
    place.token("admin")
    worker, boss = place.token("work"), place.token("submit,work,read")
    server = place.serve()
    server.token = boss
    for task in (server.submit()["id"], server.held()["id"]):
        for body in ({"status": "cancelled"}, {"status": "cancelled", "workerId": "w"}):
            equal(server("PATCH", f"/tasks/{task}/status", body, 403, token=worker).code(),
                  "forbidden")
        is_true(server.get(task)["status"] != "cancelled")
        server("PATCH", f"/tasks/{task}/status", {"status": "cancelled"}, 200)


def test_an_administrator_speaks_for_the_worker(place):
    boss, worker = place.token("admin"), place.token("work,submit,read")
    server = place.serve()
    server.token = worker
    for status in ("completed", "failed"):
        task = server.held()["id"]
        equal(server("PATCH", f"/tasks/{task}/status", {"status": status}, 409).code(),
              "wrong_worker")
        server("PATCH", f"/tasks/{task}/status", {"status": status}, 200, token=boss)
        equal(server.get(task)["status"], status)


def test_a_token_expires(place):
    place.token("admin")
    token = place.token("read", expires="1500ms")
    server = place.serve()
    server("GET", "/tasks", status=200, token=token)
    wait_until(lambda: server("GET", "/tasks", token=token).status == 401, "it expires")
    is_true("expired" in server("GET", "/tasks", token=token).json()["detail"])


def test_the_command_line_makes_and_revokes(place):
    made = json.loads(place.faina("token", "create", "--scope", "read", "--scope", "work", "--name",
                                  "n", "--namespace", "a,b", "--expires", "30d", "-o",
                                  "json").stdout)
    equal((made["name"], made["scopes"], made["namespaces"]), ("n", ["read", "work"], ["a", "b"]))
    listed = place.faina("token", "ls").stdout
    equal(json.loads(listed)["items"][0]["id"], made["id"])
    is_true(made["token"] not in listed)
    with open(place.path("faina.db"), "rb") as file:
        is_true(made["token"].encode() not in file.read())
    is_true(made["id"] in place.faina("token", "ls", "-o", "table").stdout)
    refused = place.faina("token", "revoke", made["id"], code=4)
    is_true("--force" in refused.stderr and made["id"] in place.faina("token", "ls").stdout, refused)
    place.faina("token", "revoke", made["id"], "--force")
    place.faina("token", "revoke", made["id"], code=3)
    equal(json.loads(place.faina("token", "ls").stdout), {"items": []})
    for args in ([], ["--scope", "root"], ["--scope", ""], ["--scope", "read", "--expires", "x"],
                 ["--scope", "read", "--namespace", ""]):
        place.faina("token", "create", *args, code=2)


def test_a_store_without_an_admin_is_warned_of(place):
    def make(*args, url=None):
        done = place.faina("token", "create", *args, *(("--url", url) if url else ()))
        is_true(done.stdout.startswith("faina_") and done.stdout.count("\n") == 1, done)
        return "faina token create --scope admin" in done.stderr

    server = place.serve()
    is_true(make("--scope", "read", url=server.addresses[0]), "the first one, over HTTP")
    is_true(make("--scope", "admin", "--namespace", "a"), "it can't make tokens")
    is_true(not make("--scope", "admin", "--expires", "3s"))
    wait_until(lambda: make("--scope", "submit"), "the admin's token expires")
    is_true(not make("--scope", "read,admin"))
    is_true(not make("--scope", "read"))


def test_a_running_server_notices_tokens(place):
    token = place.token("admin")
    server = place.serve()
    server("GET", "/tasks", status=200, token=token)
    # The file is the server's, so tokens are revoked through it, on the socket beside the file.
    beside = place.path("faina.db.sock")
    items = server("GET", "/tokens", connection=Local(beside), token="").json()["items"]
    server("DELETE", f"/tokens/{items[0]['id']}", status=204, connection=Local(beside), token="")
    server("GET", "/tasks", status=200, token="")


def test_other_machines_need_a_token(place):
    def serve(*args):
        return subprocess.run([BIN, "serve", "--url", "sqlite:faina.db", *args], cwd=place.folder,
                              env=environment(), capture_output=True, text=True, timeout=60,
                              check=False)

    done = serve("--listen", "0.0.0.0:0")
    equal(done.returncode, 1, done)
    is_true("faina token create" in done.stderr and "--insecure" in done.stderr, done)
    equal(serve("--listen", "[::]:0").returncode, 1)
    place.serve("--insecure", listen="0.0.0.0:0").stop()
    place.token("read")
    place.serve(listen="0.0.0.0:0").stop()


def test_without_its_last_token_nobody_gets_in(place):
    """A server that others can reach doesn't open to everybody when its tokens go."""
    token = place.token("admin")
    server = place.serve(listen="0.0.0.0:0")
    beside = place.path("faina.db.sock")
    items = server("GET", "/tokens", status=200, token=token).json()["items"]
    last = f"/tokens/{items[0]['id']}"
    for connection in (None, Local(beside)):
        refused = server("DELETE", last, status=409, token=token, connection=connection)
        is_true(refused.code() == "conflict" and "--force" in refused.json()["detail"], refused)
    # One that has expired lets nobody in either.
    place.token("read", expires="1ms")
    equal(server("DELETE", last, status=409, token=token).code(), "conflict")
    place.faina("token", "revoke", items[0]["id"], code=4)
    other = server("POST", "/tokens", {"scopes": ["read"]}, 201, token=token).json()
    server("DELETE", f"/tokens/{other['id']}", status=204, token=token)
    server("DELETE", last + "?force=true", status=204, token=token)
    for bearer in ("", token):
        equal(server("GET", "/tasks", status=401, token=bearer).code(), "unauthorized")
    server("GET", "./healthz", status=200)
    # The owner of the file makes a new one.
    server("GET", "/tasks", status=200, connection=Local(beside))
    server("GET", "/tasks", status=200, token=place.token("read"))


BAD = "faina_" + "1" * 64


def own_address():
    """One of this machine's that is not the loopback's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(("192.0.2.1", 9)) # sends nothing
        except OSError as why:
            raise Skip(f"this machine has no network: {why}") from None
        return sock.getsockname()[0]


def use_up(server):
    """Fails to log in until the address is refused; the answers."""
    answers = [server("GET", "/tasks?type=x", token=BAD)]
    while answers[-1].status == 401 and len(answers) < 1000:
        answers.append(server("GET", "/tasks?type=x", token=BAD))
    is_true(len(answers) > 10 and answers[-1].status == 429, answers[-1])
    return answers


def test_failed_logins_are_throttled_and_logged(place):
    token = place.token("admin")
    server = place.serve()
    tries = use_up(server)
    equal((tries[-1].code(), tries[-1].headers["Retry-After"]), ("overloaded", "1"))
    # A good one gets in, and one that lacks the right, or none at all, is no failed login.
    server("GET", "/tasks", status=200, token=token)
    equal(server("GET", "/tasks", status=401, token="").code(), "unauthorized")
    server("GET", "./healthz", status=200, token=BAD)
    server.token = token
    equal(server.metric("faina_auth_failures_total"), len(tries))
    # The address has its next try after a second.
    wait_until(lambda: server("GET", "/tasks", token=BAD).status == 401, "it may try again")
    server.stop()
    lines = server.log("failed login")
    is_true(len(lines) >= 10, lines)
    for line in lines:
        equal((line["level"], line["address"], line["method"], line["route"], line["reason"]),
              ("warn", "127.0.0.1", "GET", "/api/v1/tasks", "the token is not known"))
    is_true("1" * 20 not in "".join(server.lines), "the token is in the log")


def test_other_machines_are_not_compared_after_some_failures(place):
    token = place.token("read")
    server = place.serve(listen="0.0.0.0:0")
    server.host = own_address()
    use_up(server)
    # It is refused before its token is looked at, until the next try; then it is known as one where
    # good ones come from, which those with bad ones can't lock out.
    wait_until(lambda: server("GET", "/tasks", token=token).status == 200, "it may try again")
    for _ in range(20):
        is_true(server("GET", "/tasks", token=BAD).status in (401, 429))
        server("GET", "/tasks", status=200, token=token)
    # Other addresses have their own count.
    server.host = "127.0.0.1"
    server("GET", "/tasks", status=401, token=BAD)


def test_hosts(place):
    server = place.serve("--host", "tasks.example.com")
    for host in ("localhost", "LOCALHOST:7070", "127.0.0.1", "127.0.0.1:1", "[::1]:7070", "10.1.2.3",
                 "tasks.example.com", "Tasks.Example.Com:80"):
        equal(server("GET", "/tasks", Host=host).status, 200, host)
    for host in ("evil.com", "localhost.evil.com", "127.0.0.1.evil.com", "evil.com:7070",
                 "example.com", "1.2.3.4x", ""):
        answer = server("GET", "/tasks", Host=host)
        equal((answer.status, answer.code()), (403, "forbidden"), host)


def test_origins(place):
    server = place.serve()
    here = f"127.0.0.1:{server.port}"
    for origin in (f"http://{here}",):
        equal(server("POST", "/tasks", {"type": "t"}, Origin=origin).status, 201, origin)
    for origin in ("http://evil.com", "null", "http://127.0.0.1:1", f"http://{here}.evil.com", here,
                   "https://localhost"):
        for method, path, body in (("POST", "/tasks", {"type": "t"}),
                                   ("DELETE", f"/tasks/{NO_ID}", None),
                                   ("PUT", "/resources/x", {"maxConcurrency": 1})):
            answer = server(method, path, body, Origin=origin)
            equal((answer.status, answer.code()), (403, "forbidden"), origin)
        equal(server("GET", "/tasks", Origin=origin).status, 200)
    equal(server("GET", "/stats").json()["total"], 1)


def test_content_types(place):
    server = place.serve()
    for bad in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
                "application/jsonx", "", "application/x-ndjson"):
        answer = server("POST", "/tasks", b'{"type":"t"}', Content_Type=bad)
        equal((answer.status, answer.code()), (415, "invalid_request"), bad)
    packed = gzip.compress(b'{"type":"t"}')
    answer = server("POST", "/tasks", packed, Content_Encoding="gzip")
    equal((answer.status, answer.code()), (415, "invalid_request"))
    is_true("Content-Encoding" in answer.json()["detail"], answer)
    for good in ("application/json", "Application/JSON; charset=utf-8", "application/json;x=y"):
        equal(server("POST", "/tasks", b'{"type":"t"}', Content_Type=good).status, 201, good)


def test_secrets_are_not_logged(place):
    token = place.token("admin")
    server = place.serve(env={"FAINA_LOG": "debug"})
    server("GET", f"/tasks?type={'x' * 10}", status=200, token=token)
    server("PUT", "/resources/x", {"maxConcurrency": 1}, 200, token=token)
    time.sleep(0.1)
    server.stop()
    text = "".join(server.lines)
    is_true(token not in text and token[6:] not in text)
    is_true(server.log("request")[0]["token"], text)


run(globals())
