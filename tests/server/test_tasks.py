#!/usr/bin/env python3
"""Every route about tasks, with good and bad input."""
import gzip
import json
import threading

from helper_server import API, NO_ID, equal, is_true, run

FIELDS = """id namespace type name status state progress priority input output error metadata spec
idempotencyKey keyScope inputHash
attempts maxAttempts retry retryWindow timeout group startBy runAt phase workerId leaseExpiresAt fence parentId
dependsOn resources expiresAt teamId createdBy origin version createdAt updatedAt claimedAt startedAt
completedAt deletedAt""".split()


def test_submit(place):
    server = place.serve()
    answer = server("POST", "/tasks", {"type": "mail", "input": {"n": 9007199254740993}}, 201)
    task = answer.json()
    equal(sorted(task), sorted(FIELDS))
    equal(answer.headers["Location"], f"{API}/tasks/{task['id']}")
    equal(answer.headers["ETag"], '"1"')
    is_true(b"9007199254740993" in answer.body, answer)
    equal((task["status"], task["state"], task["namespace"]), ("pending", "Queued", "default"))
    equal(server("POST", "/tasks", {"name": "only a name"}, 201).json()["type"], "default")
    equal(server.get(task["id"]), task)


def test_submit_again(place):
    server = place.serve()
    first = server.submit("m", idempotencyKey="k", input=1)
    again = server("POST", "/tasks", {"type": "m", "idempotencyKey": "k", "input": 1}, 200).json()
    equal((again["id"], again["existing"]), (first["id"], True))
    is_true("existing" not in first and "inputMismatch" not in again)
    other = server("POST", "/tasks", {"type": "m", "input": 2}, 200, Idempotency_Key="k").json()
    equal((other["id"], other["existing"], other["inputMismatch"]), (first["id"], True, True))
    answer = server("POST", "/tasks", {"type": "m", "idempotencyKey": "k"}, 400,
                    Idempotency_Key="another")
    equal((answer.code(), answer.json()["errors"][0]["field"]), ("invalid_task", "idempotencyKey"))
    by_input = [server("POST", "/tasks", {"type": "m", "dedupe": "input", "input": body}).json()
                for body in ({"a": 1, "b": 2}, {"b": 2, "a": 1})]
    equal(by_input[0]["id"], by_input[1]["id"])


def test_submit_is_refused(place):
    server = place.serve()
    cases = (
        ({}, 400, "invalid_task", "type"),
        ({"type": ""}, 400, "invalid_task", "type"),
        ({"type": "x" * 256}, 400, "invalid_task", "type"),
        ({"type": "x", "priority": "high"}, 400, "invalid_task", "priority"),
        ({"type": "x", "prio": 1}, 400, "invalid_task", "prio"),
        ({"type": "x", "status": "running"}, 400, "invalid_task", "status"),
        ({"type": "x", "attempts": 3}, 400, "invalid_task", "attempts"),
        ({"type": "x", "progress": 3}, 400, "invalid_task", "progress"),
        ({"type": "x", "delay": "soon"}, 400, "invalid_task", "delay"),
        ({"type": "x", "runAt": "soon"}, 400, "invalid_task", "runAt"),
        ({"type": "x", "retry": {"base": "soon"}}, 400, "invalid_task", "retry.base"),
        ({"type": "x", "delay": 1, "runAt": "2030-01-01T00:00:00Z"}, 400, "invalid_task", None),
        ({"type": "x", "dependsOn": [NO_ID]}, 400, "invalid_task", "dependsOn"),
        ({"type": "x", "input": "x" * 1100000}, 413, "payload_too_large", "input"),
        ([1], 400, "invalid_request", None),
        (b"", 400, "invalid_request", None),
        (b"{", 400, "invalid_request", None),
        (b'{"type":"x"} trailing', 400, "invalid_request", None),
        (b'{"type":"x","type":"y"}', 400, "invalid_request", None),
        (b'{"type":"x","input":"\xff"}', 400, "invalid_request", None),
        (b'{"type":"x","input":"\\u0000"}', 400, "invalid_request", None),
        (b'{"type":"x","input":"\\ud800"}', 400, "invalid_request", None),
        (b'{"type":"x","input":' + b"[" * 100 + b"]" * 100 + b"}", 400, "invalid_request", None),
        (b'{"type":"x\x00y"}', 400, "invalid_request", None),
    )
    for body, status, code, field in cases:
        answer = server("POST", "/tasks", body)
        equal((answer.status, answer.code()), (status, code), body if len(str(body)) < 300 else "",
              answer)
        if field:
            equal(answer.json()["errors"][0]["field"], field, answer)
            is_true(answer.json()["errors"][0]["message"], answer)
    equal(server("GET", "/stats").json()["total"], 0)


def test_check(place):
    """What a submit would make, and nothing is made."""
    server = place.serve()
    for body in ({"type": "t"}, {"name": "n"}, {"type": "t", "name": "n", "priority": -3, "input": [1, {}]},
                 {"type": "t", "maxRetries": 2, "retry": {"base": "2s"}, "resources": ["b", "a"]},
                 {"type": "t", "maxAttempts": 0, "metadata": {"a": 1}, "spec": None, "createdBy": "me"},
                 {"type": "t", "runAt": "2100-01-01T00:00:00Z", "namespace": "ns"}):
        told = server("POST", "/tasks:check", body, 200).json()
        made = server("POST", "/tasks", body, 201).json()
        equal((told["id"], told["version"]), (None, 1))
        for ours in ("id", "createdAt", "updatedAt", "resources"):
            told.pop(ours), made.pop(ours)
        equal(told, made)
    total = server("GET", "/stats?namespace=*").json()["total"]
    delayed = server("POST", "/tasks:check", {"type": "t", "delay": "1h"}, 200).json()
    is_true(delayed["runAt"] > delayed["createdAt"], delayed)
    for body, code in ((b"{", "invalid_request"), ({"typo": 1}, "invalid_task"), ({}, "invalid_task"),
                       ({"type": "t", "input": "x" * (1024 * 1024)}, "payload_too_large"),
                       ({"type": "t", "dedupe": "input", "idempotencyKey": "k"}, "invalid_task")):
        answer = server("POST", "/tasks:check", body)
        equal(answer.code(), code)
        equal(server("POST", "/tasks", body).code(), code)
    equal(server("GET", "/stats?namespace=*").json()["total"], total)


def test_durations_and_both_names(place):
    server = place.serve()
    team = server("POST", "/teams", {"name": "a"}, 201).json()["id"]
    for fields in ({"teamId": team}, {"team_id": team}):
        equal(server.submit(**fields)["teamId"], team)
    for name in ("teamId", "team_id"):
        equal(len(server("GET", f"/tasks?{name}={team}", status=200).json()["items"]), 2)
    equal(server("GET", f"/tasks?team_id={team}&teamId={team}").status, 400)
    for delay in ("90s", 90, "1m30s", 90.0):
        is_true(server.submit(delay=delay)["runAt"])


def test_batch(place):
    server = place.serve()
    tasks = [{"type": "a", "input": i} for i in range(50)]
    tasks[7] = {"type": "a", "nope": 1}
    tasks[9] = {"type": "a", "dependsOn": [NO_ID]}
    tasks[11] = 5
    tasks[20]["idempotencyKey"] = tasks[21]["idempotencyKey"] = "k"
    lines = b"\n".join(json.dumps(task).encode() for task in tasks) + b"\n\n"
    first = server("POST", "/tasks:batch", {"tasks": tasks}, 200).json()["items"]
    second = server("POST", "/tasks:batch", lines, 200, Content_Type="application/x-ndjson")
    for items in (first, second.json()["items"]):
        equal(len(items), 50)
        equal([i for i, item in enumerate(items) if "code" in item], [7, 9, 11])
        equal(items[7]["errors"][0]["field"], "nope")
        equal(items[9]["code"], "invalid_task")
        equal(items[21]["id"], items[20]["id"])
        equal(items[21]["existing"], True)
    equal(first[20]["existing"], False)
    equal(server.get(first[3]["id"])["input"], 3)
    equal(server("POST", "/tasks:batch", {"tasks": []}, 200).json(), {"items": []})
    equal(server("POST", "/tasks:batch", b"", 200, Content_Type="application/x-ndjson").json(),
          {"items": []})
    bad = server("POST", "/tasks:batch", b'{"type": "x"}\n\n{"type": }\n', 200,
                 Content_Type="application/x-ndjson").json()["items"][1]
    is_true(bad["detail"].endswith(" at line 3, column 10"), bad)
    equal([bad["errors"][0][name] for name in ("line", "column")], [3, 10])
    for body in ({}, {"tasks": 1}, {"tasks": [{"type": "x"}] * 10001}, {"tasks": [], "x": 1}, None):
        equal(server("POST", "/tasks:batch", body, 400).code(), "invalid_request")
    equal(server("POST", "/tasks:batch", b"{}\n" * 10001, 400,
                 Content_Type="application/x-ndjson").code(), "invalid_request")
    full = server("POST", "/tasks:batch", {"tasks": [{"type": "x"}] * 10000}, 200).json()["items"]
    equal(len({item["id"] for item in full}), 10000)


def test_list(place):
    server = place.serve()
    ids = [server.submit("a" if i % 2 else "b", createdBy="ann" if i < 5 else "bob")["id"]
           for i in range(25)]
    server.act(ids[0], "cancel")
    listed, cursor = [], ""
    while cursor is not None:
        page = server("GET", f"/tasks?limit=10{cursor and '&cursor=' + cursor}", status=200).json()
        listed += [task["id"] for task in page["items"]]
        cursor = page["nextCursor"]
    equal(listed, ids[::-1])

    def count(query):
        return len(server("GET", "/tasks?" + query, status=200).json()["items"])

    equal(count("type=a"), 12)
    equal(count("status=cancelled"), 1)
    equal(count("status=cancelled,pending"), 25)
    equal(count("createdBy=ann"), 5)
    equal(count("namespace=other"), 0)
    equal(count("namespace=*"), 25)
    middle = server.get(ids[10])["createdAt"]
    equal(count(f"createdAfter={middle}"), 15)
    equal(count(f"createdBefore={middle}"), 10)
    server.submit("k", idempotencyKey="a b&c=d")
    equal(count("idempotencyKey=a+b%26c%3Dd&type=k"), 1)
    equal(count("type=k&&"), 1)
    for name in ("teamId", "team_id", "parentId"): # a UUID that nothing here can have
        equal(count(name + "=9b2d7c1e-5d3f-4a6b-8c7d-0123456789ab"), 0)
    brief = server("GET", "/tasks?limit=1&brief=true").json()["items"][0]
    equal(sorted(brief), sorted(FIELDS))
    for query in ("limit=0", "limit=1001", "limit=x", "limit=-1", "limit=", "status=open", "status=",
                  "cursor=zzz", "createdAfter=now", "unknown=1", "brief=1", "type=%zz", "type=%",
                  "type=%00", "type=%ff", "type=a&type=b", "teamId=x"):
        answer = server("GET", "/tasks?" + query)
        is_true(answer.status in (400, 404), query, answer)
        is_true(answer.code() in ("invalid_request", "not_found"), query, answer)
    equal(server("GET", "/tasks?" + "&".join(f"p{i}=1" for i in range(40)), status=400).code(),
          "invalid_request")


def test_large_lists_are_packed(place):
    server = place.serve()
    server("POST", "/tasks:batch", {"tasks": [{"type": "x", "input": "y" * 100}] * 500}, 200)
    plain = server("GET", "/tasks?limit=500", status=200)
    packed = server("GET", "/tasks?limit=500", status=200, Accept_Encoding="gzip")
    equal(packed.headers["Content-Encoding"], "gzip")
    equal(gzip.decompress(packed.body), plain.body)
    is_true(len(packed.body) < len(plain.body) / 5)
    is_true("Content-Encoding" not in server("GET", "/tasks?limit=1", Accept_Encoding="gzip").headers)
    for accepted, is_packed in (("br, GZip;q=0.5", True), ("*", True), ("deflate,*;q=1", True),
                                ("gzip;q=0", False), ("gzip; q=0.000, br", False), ("*;q=0", False),
                                ("identity", False), ("xgzip", False), ("", False)):
        answer = server("GET", "/tasks?limit=500", status=200, Accept_Encoding=accepted)
        equal(answer.headers.get("Content-Encoding"), "gzip" if is_packed else None, accepted)
        equal(answer.headers["Vary"], "Accept-Encoding")


def test_pages_of_large_tasks_end_early(place):
    """Nobody gets, nor makes the server hold, a thousand tasks of a megabyte at once."""
    server = place.serve()
    count, size = 24, 1000 * 1000
    ids = [server.submit(input="x" * size)["id"] for _ in range(count)]
    parent = server.held()["id"]
    server.act(parent, "block", workerId="w", subtasks=[{"type": "c", "input": "x" * size}] * count)
    for path, expected in (("/tasks?type=t&status=pending&limit=1000", ids[::-1]),
                           (f"/tasks/{parent}/children?limit=1000", None)):
        listed, sizes, cursor = [], [], ""
        while cursor is not None:
            page = server("GET", path + (cursor and "&cursor=" + cursor), status=200).json()
            listed += [task["id"] for task in page["items"]]
            sizes.append(len(page["items"]))
            cursor = page["nextCursor"]
        equal(listed, expected or sorted(listed))
        equal(len(set(listed)), count)
        equal(sizes, [17, 7], path)
    brief = server("GET", "/tasks?type=t&status=pending&limit=1000&brief=true", status=200).json()
    equal((len(brief["items"]), brief["nextCursor"]), (count, None))


def test_get(place):
    server = place.serve()
    task = server.submit()
    path = f"/tasks/{task['id']}"
    answer = server("GET", path, status=200)
    head = server("HEAD", path, status=200)
    equal((head.body, head.headers["Content-Length"]), (b"", str(len(answer.body))))
    same = server("GET", path, If_None_Match=answer.headers["ETag"])
    equal((same.status, same.body, same.headers["ETag"]), (304, b"", '"1"'))
    server.act(task["id"], "cancel")
    equal(server("GET", path, If_None_Match='"1"').status, 200)
    for bad in (NO_ID, "nonsense", "%20", "1" * 300):
        equal(server("GET", f"/tasks/{bad}", status=404).code(), "task_not_found")
    equal(server("GET", "/tasks/%zz", status=400).code(), "invalid_request")
    equal(server("GET", path.upper(), status=404).code(), "not_found")
    equal(server("GET", f"/tasks/{task['id'].upper()}", status=200).json()["id"], task["id"])


def test_looks(place):
    server = place.serve()
    task = server.held()["id"]
    server.act(task, "block", workerId="w", subtasks=[{"type": "c", "input": i} for i in range(5)])
    page = server("GET", f"/tasks/{task}/children?limit=3", status=200).json()
    equal([child["input"] for child in page["items"]], [0, 1, 2])
    rest = server("GET", f"/tasks/{task}/children?cursor={page['nextCursor']}", status=200).json()
    equal(([child["input"] for child in rest["items"]], rest["nextCursor"]), ([3, 4], None))
    events = server("GET", f"/tasks/{task.upper()}/events", status=200).json()["items"]
    equal({event["taskId"] for event in events}, {task})
    explained = server("GET", f"/tasks/{task}/explain", status=200).json()
    is_true("waits for 5 of its subtasks" in explained["summary"], explained)
    equal((explained["task"]["id"], explained["reasons"][0]["kind"]), (task, "dependency"))
    events = server("GET", f"/tasks/{task}/events", status=200).json()["items"]
    equal([event["event"] for event in events], ["blocked", "started", "claimed", "created"])
    equal((events[0]["taskId"], events[3]["actor"]), (task, "API"))
    equal(len(server("GET", f"/tasks/{task}/events?limit=1", status=200).json()["items"]), 1)
    for what in ("children", "explain", "events", "result", "wait"):
        equal(server("GET", f"/tasks/{NO_ID}/{what}", status=404).code(), "task_not_found")
    for query in ("events?limit=0", "children?limit=x", "wait?timeout=soon", "explain?x=1"):
        equal(server("GET", f"/tasks/{task}/{query}", status=400).code(), "invalid_request")


def test_result(place):
    server = place.serve()
    task = server.held()["id"]
    equal(server("GET", f"/tasks/{task}/result", status=409).code(), "task_active")
    server.act(task, "complete", workerId="w", output={"url": "x"})
    equal(server("GET", f"/tasks/{task}/result", status=200).json(), {"url": "x"})
    nothing = server.held()["id"]
    server.act(nothing, "complete", workerId="w")
    equal(server("GET", f"/tasks/{nothing}/result", status=200).json(), None)
    bad = server.held()["id"]
    server.act(bad, "fail", workerId="w", error={"message": "no", "retryable": False})
    equal(server("GET", f"/tasks/{bad}/result", status=409).code(), "task_failed")


def test_delete(place):
    server = place.serve()
    task = server.submit(idempotencyKey="k")["id"]
    equal(server("DELETE", f"/tasks/{task}", status=409).code(), "task_active")
    equal(server("DELETE", f"/tasks/{task}?cancel=true", status=412, If_Match='"7"').code(),
          "version_conflict")
    answer = server("DELETE", f"/tasks/{task}?cancel=true", status=204)
    equal(answer.body, b"")
    equal(server("GET", f"/tasks/{task}", status=404).code(), "task_not_found")
    equal(server("DELETE", f"/tasks/{task}", status=404).code(), "task_not_found")
    server("DELETE", f"/tasks/{task}?purge=true", status=204)
    is_true(server.submit(idempotencyKey="k")["id"] != task)
    equal(server("DELETE", f"/tasks/{task}?cancel=yes", status=400).code(), "invalid_request")
    equal(server("DELETE", f"/tasks/{NO_ID}", status=404).code(), "task_not_found")


def test_purge(place):
    server = place.serve()
    ids = [server.held(type_="a" if i else "b")["id"] for i in range(4)]
    for task in ids:
        server.act(task, "complete", workerId="w")
    equal(server("POST", "/tasks:purge", {"type": "b"}, 200).json(), {"removed": 1})
    equal(server("POST", "/tasks:purge", {"status": ["failed"]}, 200).json(), {"removed": 0})
    equal(server("POST", "/tasks:purge", {"endedBefore": "2020-01-01T00:00:00Z"}, 200).json(),
          {"removed": 0})
    equal(server("POST", "/tasks:purge", {"status": ["completed"], "limit": 2}, 200).json(),
          {"removed": 2})
    equal(server("POST", "/tasks:purge", {"deletedOnly": True}, 200).json(), {"removed": 0})
    equal(server("POST", "/tasks:purge", None, 200).json(), {"removed": 1})
    for body in ({"status": ["pending"]}, {"status": "completed"}, {"limit": 0}, {"x": 1},
                 {"status": ["done"]}):
        equal(server("POST", "/tasks:purge", body, 400).code(), "invalid_request")


def test_wait(place):
    server = place.serve()
    task = server.held()["id"]
    answer = server("GET", f"/tasks/{task}/wait?timeout=50ms", status=200)
    equal(answer.json()["status"], "running")
    answers = []

    def wait():
        answers.append(server("GET", f"/tasks/{task}/wait?timeout=30", status=200).json()["status"])

    threads = [threading.Thread(target=wait) for _ in range(5)]
    for thread in threads:
        thread.start()
    server.act(task, "progress", workerId="w", progress=50)
    server.act(task, "complete", workerId="w")
    for thread in threads:
        thread.join()
    equal(answers, ["completed"] * 5)
    equal(server("GET", f"/tasks/{task}/wait", status=200).json()["status"], "completed")


def test_traceparent(place):
    server = place.serve()
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    cases = ((None, {"traceparent": trace}), ({}, {"traceparent": trace}),
             ({"a": [1]}, {"traceparent": trace, "a": [1]}),
             ({"traceparent": "mine"}, {"traceparent": "mine"}))
    for metadata, kept in cases:
        answer = server("POST", "/tasks", {"type": "t", "metadata": metadata}, 201,
                        traceparent=trace)
        equal((answer.json()["metadata"], answer.headers["traceparent"]), (kept, trace))
    zeros = "00-%s-00f067aa0ba902b7-01" % ("0" * 32), "00-4bf92f3577b34da6a3ce929d0e0e4736-%s-01" % ("0" * 16)
    for bad in ("nonsense", trace + "0", trace.replace("-", "_"), trace.upper(), "ff" + trace[2:], *zeros):
        answer = server("POST", "/tasks", {"type": "t"}, 201, traceparent=bad)
        equal((answer.json()["metadata"], answer.headers.get("traceparent")), ({}, None), bad)


run(globals(), on_postgres=True)
