#!/usr/bin/env python3
"""Resources, teams, lanes, counts, tokens, and what a server says about itself."""
import gzip
import json
import re
import sqlite3
import time

from helper_server import API, NO_ID, Skip, equal, is_true, run, wait_until

POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
          "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")


def test_resources(place):
    server = place.serve()
    equal(server("GET", "/resources", status=200).json(), {"items": [], "nextCursor": None})
    equal(server("PUT", "/resources/gpu", {"maxConcurrency": 1}, 200).json(),
          {"name": "gpu", "maxConcurrency": 1, "rate": None, "inUse": 0, "holders": []})
    task = server.submit(resources=["gpu"])["id"]
    server.submit(resources=["gpu"])
    equal(len(server.claim(limit=5)), 1)
    equal(server("GET", "/resources/gpu", status=200).json()["holders"], [task])
    other = server("GET", "/tasks?status=pending").json()["items"][0]["id"]
    busy = server.act(other, "claim", 429, workerId="w")
    equal((busy.code(), busy.headers["Retry-After"]), ("overloaded", "1"))
    equal(server("PUT", "/resources/gpu", {"maxConcurrency": None}, 200).json()["maxConcurrency"],
          None)
    equal(len(server.claim(limit=5)), 1)
    equal(len(server("GET", "/resources", status=200).json()["items"]), 1)
    for body in ({}, {"maxConcurrency": -1}, {"maxConcurrency": 1.5}, {"maxConcurrency": "2"},
                 {"maxConcurrency": 1000001}, {"limit": 2}):
        equal(server("PUT", "/resources/gpu", body, 400).code(), "invalid_request", body)
    server("DELETE", "/resources/gpu", status=204)
    equal(server("DELETE", "/resources/gpu", status=404).code(), "not_found")
    equal(server("GET", "/resources/nothing", status=404).code(), "not_found")
    equal(server("PUT", "/resources/a%2Fb:c", {"maxConcurrency": 1}, 200).json()["name"], "a/b:c")


def test_rates(place):
    """Limit and rate are set together; names with an asterisk; waiting claims get tasks on time."""
    server = place.serve()
    slow = {"count": 1, "per": "1h", "burst": 2}
    equal(server("PUT", "/resources/smtp", {"maxConcurrency": 5, "rate": slow}, 200).json(),
          {"name": "smtp", "maxConcurrency": 5, "rate": slow, "inUse": 0, "holders": []})
    equal(server("PUT", "/resources/smtp", {"rate": {"count": 3, "per": 60}}, 200).json()["rate"],
          {"count": 3, "per": "1m", "burst": 3})
    equal(server("GET", "/resources/smtp", status=200).json()["maxConcurrency"], None)
    equal(server("PUT", "/resources/smtp", {"maxConcurrency": 1, "rate": None}, 200).json()["rate"], None)
    for rate in ({}, {"count": 1}, {"per": "1s"}, {"count": 0, "per": "1s"}, {"count": 1, "per": "0s"},
                 {"count": 1, "per": "1s", "burst": -1}, {"count": 1000001, "per": "1s"}, 10, "10/s",
                 {"count": 1, "per": "32d"}, {"count": 1, "per": "1s", "more": 1}):
        equal(server("PUT", "/resources/smtp", {"maxConcurrency": 2, "rate": rate}, 400).code(),
              "invalid_request", rate)
    equal(server("GET", "/resources/smtp", status=200).json()["maxConcurrency"], 1)

    equal(server("PUT", "/resources/mail%3A%2A", {"maxConcurrency": None, "rate": slow}, 200).json()["name"],
          "mail:*")
    tasks = [server.submit(resources=["mail:ann"])["id"] for _ in range(4)]
    equal([task["id"] for task in server.claim(limit=9)], tasks[:2])
    busy = server.act(tasks[2], "claim", 429, workerId="w")
    is_true("mail:ann" in busy.json()["detail"] and "1/h" in busy.json()["detail"], busy.json())
    reasons = server("GET", f"/tasks/{tasks[2]}/explain", status=200).json()["reasons"]
    is_true(any(reason["kind"] == "resource" and reason["until"] for reason in reasons), reasons)
    one = server("GET", "/resources/mail%3Aann", status=200).json()
    equal((one["limitedBy"], one["rate"], one["inUse"]), ("mail:*", slow, 2))

    server("PUT", "/resources/mail%3Aann", {"rate": {"count": 5, "per": "1s", "burst": 1}}, 200)
    at = time.monotonic()
    got = [server.claim(limit=9, waitSeconds=30) for _ in range(2)]
    equal([task["id"] for claim in got for task in claim], tasks[2:])
    is_true(time.monotonic() - at < 20, "claims waited for a poll")
    text = server("GET", "./metrics").body.decode()
    is_true('faina_resource_limit{resource="smtp"} 1' in text, text)


def test_what_has_no_version_refuses_if_match(place):
    server = place.serve()
    team = "/teams/" + server("POST", "/teams", {"name": "billing"}, 201).json()["id"]
    server("PUT", "/resources/gpu", {"maxConcurrency": 1}, 200)
    server("PUT", "/crons/tick", {"schedule": "0 0 1 1 *", "task": {"type": "x"}}, 200)
    for method, path, body in (("PUT", "/resources/gpu", {"maxConcurrency": 2}),
                               ("DELETE", "/resources/gpu", None), ("PUT", team, {"name": "x"}),
                               ("DELETE", team, None), ("POST", "/crons/tick:run", None)):
        equal(server(method, path, body, 412, If_Match='"99"').code(), "version_conflict", path)
    equal(server("GET", "/resources/gpu", status=200).json()["maxConcurrency"], 1)
    server("PUT", "/resources/gpu", {"maxConcurrency": 3}, 200, If_Match="*")
    equal(server("GET", team, status=200).json()["name"], "billing")


def test_a_new_team_has_no_id_to_give(place):
    server = place.serve()
    described = server("GET", "./openapi.json").json()
    body = described["paths"][f"{API}/teams"]["post"]["requestBody"]["content"]
    name = body["application/json"]["schema"]["$ref"].rsplit("/", 1)[1]
    equal(sorted(described["components"]["schemas"][name]["properties"]),
          ["name", "namespace", "reason", "spec"])


def test_teams(place):
    server = place.serve()
    answer = server("POST", "/teams", {"name": "billing", "spec": {"room": 1}}, 201)
    team = answer.json()
    equal(answer.headers["Location"], f"{API}/teams/{team['id']}")
    equal((team["name"], team["namespace"], team["spec"]), ("billing", "default", {"room": 1}))
    equal(server("GET", f"/teams/{team['id']}", status=200).json(), team)
    equal(server("POST", "/teams", {"name": "billing"}, 409).code(), "conflict")
    equal(server("POST", "/teams", {"name": "billing", "namespace": "x"}, 201).json()["namespace"],
          "x")
    equal(len(server("GET", "/teams").json()["items"]), 1)
    equal(len(server("GET", "/teams?namespace=*").json()["items"]), 2)
    changed = server("PUT", f"/teams/{team['id']}", {"name": "payments"}, 200).json()
    equal((changed["name"], changed["spec"]), ("payments", None))
    equal(server("PUT", f"/teams/{team['id']}", changed | {"id": NO_ID}, 400).code(),
          "invalid_request")
    same = {name: changed[name] for name in ("id", "name", "namespace", "spec")}
    equal(server("PUT", f"/teams/{team['id']}", same, 200).json()["name"], "payments")
    task = server.submit(teamId=team["id"])["id"]
    server("DELETE", f"/teams/{team['id']}", status=204)
    equal(server("PUT", f"/teams/{NO_ID}", {"name": "new"}, 201).json()["id"], NO_ID)
    server("DELETE", f"/teams/{NO_ID}", status=204)
    equal(server.get(task)["teamId"], None)
    for method in ("GET", "DELETE"):
        for bad in (team["id"], NO_ID, "x"):
            equal(server(method, f"/teams/{bad}", status=404).code(), "not_found")
    for body in ({}, {"name": ""}, {"name": 1}, {"name": "x", "y": 1}, {"name": "x", "id": NO_ID},
                 {"name": "x", "namespace": "*"}):
        equal(server("POST", "/teams", body, 400).code(), "invalid_request", body)


def test_lanes_and_stats(place):
    server = place.serve()
    server.submit("a")
    server.submit("b")
    equal(server("POST", "/lanes:pause", {"type": "a"}, 200).json(),
          {"namespace": "default", "type": "a", "paused": True})
    equal([task["type"] for task in server.claim(limit=5)], ["b"])
    lanes = {lane["type"]: lane for lane in server("GET", "/lanes", status=200).json()["items"]}
    equal([(lane["paused"], lane["pending"], lane["active"]) for lane in
           (lanes["a"], lanes["b"])], [(True, 1, 0), (False, 0, 1)])
    equal(server("POST", "/lanes:resume", {"type": "a"}, 200).json()["paused"], False)
    # A type that has had no task yet.
    server("POST", "/lanes:pause", {"type": "later"}, 200)
    listed = server("GET", "/lanes", status=200).json()["items"]
    equal([lane for lane in listed if lane["type"] == "later"],
          [{"namespace": "default", "type": "later", "paused": True, "pending": 0, "active": 0}])
    server("POST", "/lanes:resume", {"type": "later"}, 200)
    equal(len(server.claim()), 1)
    stats = server("GET", "/stats", status=200).json()
    equal((stats["total"], stats["byStatus"]["claimed"], len(stats["types"])), (2, 2, 2))
    rates = {"submitted": True, "completed": False, "failed": False, "dead_letter": False,
             "cancelled": False}
    for place_of in (stats, *stats["types"]):
        equal({name: rate > 0 for name, rate in place_of["rates"].items()}, rates)
    equal(server("GET", "/stats?namespace=other").json()["total"], 0)
    for body in ({}, {"type": ""}, {"type": 1}, {"typ": "a"}, {"type": "a", "namespace": "*"}, None):
        equal(server("POST", "/lanes:pause", body, 400).code(), "invalid_request", body)


def test_tokens_over_http(place):
    server = place.serve()
    equal(server("GET", "/tokens", status=200).json(), {"items": [], "nextCursor": None})
    made = server("POST", "/tokens", {"name": "boss", "scopes": ["admin"], "expires": "1h"}, 201)
    boss = made.json()
    is_true(re.fullmatch("faina_[0-9a-f]{64}", boss["token"]), boss)
    is_true(boss["expiresAt"] > boss["createdAt"])
    equal(server("GET", "/tasks", status=401).code(), "unauthorized")
    server.token = boss["token"]
    listed = server("GET", "/tokens", status=200)
    equal(listed.json()["items"], [{name: boss[name] for name in boss if name != "token"}])
    equal(server("GET", "./healthz", token="").status, 200)
    for body in ({}, {"scopes": []}, {"scopes": ["root"]}, {"scopes": "admin"},
                 {"scopes": ["read"], "hash": "x"}, {"scopes": ["read"], "namespaces": []},
                 {"scopes": ["read"], "namespaces": [1]}, {"scopes": ["read"], "x": 1},
                 {"scopes": ["read"], "namespaces": ["a", "*"]}, {"scopes": ["read"], "expires": 0},
                 {"scopes": ["read"], "expires": 1, "expiresAt": "2099-01-01T00:00:00Z"}):
        equal(server("POST", "/tokens", body, 400).code(), "invalid_request", body)
    server("DELETE", f"/tokens/{boss['id']}", status=204)
    server.token = None
    server("GET", "/tasks", status=200)
    equal(server("DELETE", f"/tokens/{NO_ID}", status=404).code(), "not_found")
    is_true(boss["token"] not in "".join(server.lines))


def test_paths_and_methods(place):
    server = place.serve()
    for path in ("./nope", "/", "/nope", "./api/v2/tasks", "/tasks/", "/tasks//events", "./..",
                 "/tasks:batch/x"):
        equal(server("GET", path, status=404).code(), "not_found", path)
    cases = (("PUT", "/tasks", "POST, GET, HEAD"), ("GET", "/tasks:batch", "POST"),
             ("POST", f"/tasks/{NO_ID}", "GET, HEAD, PATCH, DELETE"), ("POST", "./healthz", "GET, HEAD"),
             ("GET", f"/tasks/{NO_ID}:claim", "POST"), ("PATCH", "/resources/x",
                                                        "PUT, GET, HEAD, DELETE"))
    for method, path, allowed in cases:
        answer = server(method, path, status=405)
        equal((answer.code(), answer.headers["Allow"]), ("invalid_request", allowed), path)
    answer = server("OPTIONS", "/tasks", status=204)
    equal(answer.headers["Allow"], "POST, GET, HEAD")
    is_true(not any(name.lower().startswith("access-control") for name in answer.headers))
    equal(server("BREW", "/tasks").status, 405)


def test_health_and_info(place):
    server = place.serve()
    equal(server("GET", "./healthz", status=200).json(), {"status": "ok"})
    equal(server("GET", "./readyz", status=200).json(), {"status": "ready"})
    is_true(b"Faina" in server("GET", "./", status=200).body)
    info = server("GET", "/info", status=200).json()
    equal((info["engine"], info["inputSizeMax"]), (place.url.split(":")[0], 1048576))
    is_true(info["schemaVersion"] >= 3)
    equal(len(info["migrations"]), info["schemaVersion"])
    equal(server("GET", "/info?thorough=true", status=200).json()["findings"], [])
    equal(server("GET", "/info?thorough=1", status=400).code(), "invalid_request")


def test_the_log_of_events(place):
    server = place.serve()
    page = server("GET", "/log", status=200).json()
    equal((page["items"], page["hasMore"], page["hasGap"]), ([], False, False))
    start = page["nextCursor"]
    task = server.held("w", createdBy="me")["id"]
    server.act(task, "block", workerId="w", subtasks=[{"type": "child"}])
    seen, cursor, deadline = [], start, time.monotonic() + 60
    # On PostgreSQL an older transaction of anybody, in another database even, holds the log up.
    while page["hasMore"] or not any(item["event"] == "blocked" for item in seen):
        is_true(time.monotonic() < deadline, seen)
        page = server("GET", f"/log?cursor={cursor}&limit=2", status=200).json()
        is_true(len(page["items"]) <= 2)
        seen += page["items"]
        cursor = page["nextCursor"]
    mine = [item["event"] for item in seen if item["taskId"] == task]
    equal((mine[0], mine[-1]), ("created", "blocked"), seen)
    child = next(item for item in seen if item["type"] == "child")
    is_true(child["parentKey"] and not seen[0]["parentKey"], seen)
    equal((seen[0]["namespace"], seen[0]["createdBy"], seen[0]["status"]),
          ("default", "me", "pending"))
    again = server("GET", f"/log?cursor={seen[0]['cursor']}", status=200).json()["items"]
    equal(again, seen[1:])
    for query in ("cursor=x", "limit=0", "limit=1001", "since=1"):
        equal(server("GET", "/log?" + query, status=400).code(), "invalid_request", query)


def test_a_page_for_people(place):
    server = place.serve()
    text = server("GET", "./", status=200, Accept="*/*")
    is_true(text.headers["Content-Type"].startswith("text/plain"), text)
    page = server("GET", "./", status=200, Accept="text/html,application/xhtml+xml,*/*;q=0.8")
    is_true(page.headers["Content-Type"].startswith("text/html"), page)
    is_true(POLICY == page.headers["Content-Security-Policy"], page.headers)
    equal(page.headers["Cache-Control"], "no-cache")
    equal(server("GET", "./", status=304, Accept="text/html",
                 If_None_Match=page.headers["ETag"]).body, b"")
    links = re.findall('(?:href|src)="([^"]*)"', page.body.decode())
    is_true(len(links) > 2, links)
    for link in links:
        is_true(link.startswith("assets/"), link)  # relative: it works below a path of a proxy
        plain = server("GET", "./" + link, status=200)
        small = server("GET", "./" + link, status=200, Accept_Encoding="br, gzip")
        equal(small.headers["Content-Encoding"], "gzip")
        equal(gzip.decompress(small.body), plain.body, link)
        equal(plain.headers["ETag"], small.headers["ETag"])
        hashed = re.search(r"-[0-9A-Z]{8}\.", link)
        equal("immutable" in plain.headers["Cache-Control"], bool(hashed), link)
    for name in ("index.html", "nope.js", "..%2Findex.html"):
        equal(server("GET", "./assets/" + name, status=404).code(), "not_found")


def test_no_page_for_people(place):
    server = place.serve("--no-ui")
    equal(server("GET", "./", status=404).code(), "not_found")
    equal(server("GET", "./assets/icon.svg", status=404).code(), "not_found")
    server("GET", "./healthz", status=200)


def test_request_ids(place):
    server = place.serve(env={"FAINA_LOG": "debug"})
    ids = {server("GET", "./healthz").headers["X-Request-Id"] for _ in range(5)}
    equal(len(ids), 5)
    equal(server("GET", "./healthz", X_Request_Id="my-own.1").headers["X-Request-Id"], "my-own.1")
    for bad in ("two words", "x" * 65, "a\tb", 'a"b'):
        is_true(server("GET", "./healthz", X_Request_Id=bad).headers["X-Request-Id"] != bad)
    wait_until(lambda: "my-own.1" in {entry["request"] for entry in server.log("request")},
               "it is in the log")
    entry = server.log("request")[0]
    equal(entry["status"], 200)
    is_true(0 <= entry["ms"] < 60000)
    server("PUT", "/resources/gpu", {"maxConcurrency": 1}, 200)
    wait_until(lambda: server.log("administrative act"), "it is in the log")
    acts = server.log("administrative act")
    equal([(act["method"], act["path"]) for act in acts], [("PUT", f"{API}/resources/gpu")])


def test_metrics(place):
    server = place.serve()
    for i in range(3):
        task = server.held(type_="mail")["id"]
        server.act(task, "complete" if i else "cancel", workerId="w")
    server.submit('odd"\\name')
    server("PUT", "/resources/gpu", {"maxConcurrency": 1}, 200)
    server("GET", f"/tasks/{task}", status=200)
    answer = server("GET", "./metrics", status=200)
    text = answer.body.decode()
    is_true(answer.headers["Content-Type"].startswith("text/plain; version=0.0.4"))
    for line in ('faina_tasks{type="mail",status="completed"} 2', 'faina_tasks{type="odd\\"\\\\name",status="pending"} 1',
                 'faina_workers 1', 'faina_resource_limit{resource="gpu"} 1', 'faina_cron_missed_total 0',
                 'faina_leader_changes_total 1',
                 'faina_tasks_submitted_total{type="mail"} 3',
                 'faina_tasks_submitted_total{type="odd\\"\\\\name"} 1',
                 'faina_tasks_finished_total{type="mail",outcome="completed"} 2',
                 'faina_tasks_finished_total{type="mail",outcome="cancelled"} 1',
                 'faina_task_run_seconds_count{type="mail"} 3', 'faina_resource_in_use{resource="gpu"} 0',
                 'faina_leases_expired_total 0', 'faina_build_info{version="0.1.0"} 1'):
        is_true(line in text.splitlines(), line, text)
    for name in ('faina_task_wait_seconds_bucket{type="mail",le="', "faina_commit_batch_size_count",
                 'faina_oldest_ready_seconds{type="odd',
                 'faina_http_request_seconds_bucket{route="GET /api/v1/tasks/{id}",code="200",'):
        is_true(name in text, name, text)
    is_true(task not in text)
    waited = float(re.search(r'^faina_task_wait_seconds_sum{type="mail"} (\S+)$', text, re.M)[1])
    is_true(waited < 600, waited) # from the submit, and not from 1970
    check_exposition(text)


def test_each_attempt_waits_and_runs_for_itself(place):
    server = place.serve()
    began = time.monotonic()
    server.submit("later", delay="2s")
    task = server.claim(types=["later"], waitSeconds=60)[0]["id"]
    took = time.monotonic() - began
    waited = server.metric('faina_task_wait_seconds_sum{type="later"}')
    is_true(waited < took - 1.99, waited, took) # since it was due
    equal(server.metric('faina_task_run_seconds_count{type="later"}'), None)
    server.act(task, "fail", workerId="w", error="again")
    server.claim(types=["later"], waitSeconds=60)
    server.act(task, "release", workerId="w") # no attempt
    server.claim(types=["later"], waitSeconds=60)
    server.act(task, "complete", workerId="w")
    equal(server.metric('faina_task_wait_seconds_count{type="later"}'), 3)
    equal(server.metric('faina_task_run_seconds_count{type="later"}'), 2)
    is_true(server.metric('faina_task_run_seconds_sum{type="later"}') < time.monotonic() - began)


def test_the_line_of_a_lane(place):
    server = place.serve()
    server("PUT", "/resources/gpu", {"maxConcurrency": 1}, 200)
    server("POST", "/tasks:batch", {"tasks": [{"type": "t", "resources": ["gpu"]}] * 5}, 200)
    first = server.submit("t", resources=["gpu"], priority=7)["id"]
    later = server.submit("t", resources=["gpu"], delay="1h")["id"]
    equal(server.claim(types=["t"])[0]["id"], first)
    waiting = [t["id"] for t in server("GET", "/tasks?status=pending&order=asc", status=200).json()["items"]]
    lines = [server("GET", f"/tasks/{task}/explain", status=200).json() for task in waiting]
    equal([line["position"] for line in lines], [1, 2, 3, 4, 5, 0])
    equal(lines[1]["line"],
          "it is number 2 in line; of its type and resources, 5 wait for gpu, 1 is due later")
    equal((waiting[5], lines[5]["line"]), (later, "of its type and resources, 5 wait for gpu, 1 is due later"))
    held = server("GET", f"/tasks/{first}/explain", status=200).json()
    equal((held["position"], held["line"]), (0, None))
    server("POST", "/lanes:pause", {"type": "u"}, 200)
    paused = server.submit("u")["id"]
    equal(server("GET", f"/tasks/{paused}/explain", status=200).json()["line"],
          "it is number 1 in line; of its type and resources, 1 waits for the type to be resumed")
    is_true("number 1 in line" in place.faina("explain", paused, "-o", "table").stdout)
    server("PUT", "/workers/me", {"poolSize": 1, "types": ["U"]}, 200)
    told = json.loads(place.faina("doctor", "-o", "json").stdout)["checks"]
    # It is a warning once a task has waited for a minute.
    equal({check["level"] for check in told if check["name"] == "workers"}, {"ok"})
    told = [check["message"] for check in told]
    for message in ("no live worker handles type t: 6 pending tasks",
                    "6 tasks wait for resource gpu, which is at 1/1",
                    "1 task of type u wait because the type is paused"):
        is_true(message in told, message, *told)
    is_true(not any("handles type u" in message for message in told), *told)


def test_missed_times(place):
    if not place.url.startswith("sqlite:"):
        raise Skip("changes a file")
    server = place.serve()
    for name in ("none", "one", "all"):
        server("PUT", f"/crons/{name}", {"schedule": "0 0 0 1 1 *", "task": {"type": "t"}, "catchUp": name}, 200)
    server.stop()
    store = sqlite3.connect(place.path("faina.db"))
    store.execute("UPDATE cron SET next_us = next_us - 3 * 31622400000000") # three years
    store.commit()
    store.close()
    server = place.serve()
    wait_until(lambda: server.metric("faina_cron_missed_total") >= 3, "the times are missed")
    missed = {line["schedule"]: line["times"] for line in server.log("a schedule has missed times")}
    equal(sorted(missed), ["none", "one"])
    equal(missed["one"], missed["none"] - 1)
    equal(server.metric("faina_cron_missed_total"), sum(missed.values()))
    told = place.faina("doctor", "-o", "table").stdout
    is_true("schedule none of namespace default missed a time: left out: the times from" in told, told)


def test_changes_of_the_leader(place):
    def leads(server):
        return len(server.log("this node is the leader from now on"))

    if place.url.startswith("sqlite:"):
        raise Skip("a file has one owner")
    first = place.serve()
    wait_until(lambda: leads(first) == 1, "the first node leads")
    second = place.serve()
    equal((first.metric("faina_leader_changes_total"), second.metric("faina_leader_changes_total")), (1, 0))
    is_true(first.metric("faina_workers") >= 1)
    first.kill()
    wait_until(lambda: leads(second) == 1, "the second node leads")
    equal(second.metric("faina_leader_changes_total"), 1)


def check_exposition(text):
    """The text format of Prometheus: each sample after its TYPE, buckets that only grow."""
    types, last, seen = {}, {}, set()
    for line in text.splitlines():
        if line.startswith("# TYPE"):
            _, _, name, kind = line.split()
            is_true(name not in types, line)
            types[name] = kind
        elif not line.startswith("#"):
            match = re.fullmatch(r'([a-z_]+)(\{.*\})? (\S+)', line)
            is_true(match, line)
            name = re.sub("_(bucket|sum|count)$", "", match[1])
            is_true(name in types or match[1] in types, line)
            is_true(match[1] + (match[2] or "") not in seen, "twice", line)
            seen.add(match[1] + (match[2] or ""))
            if match[1].endswith("_bucket"):
                series = name + re.sub(',?le="[^"]*"', "", match[2])
                is_true(float(match[3]) >= last.get(series, 0), line)
                last[series] = float(match[3])


run(globals(), on_postgres=True)
