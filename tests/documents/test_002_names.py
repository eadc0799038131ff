#!/usr/bin/env python3
"""Document 002 over HTTP and on the command line: its names work, or the error names ours."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))

from helper_server import equal, is_true, run # pylint: disable=wrong-import-position

ORDER = {"idempotencyKey": "order-123-process", "payload": {"order_id": "123"}, "maxRetries": 2}


def lines(*items):
    return "".join(json.dumps(item) + "\n" for item in items).encode()


def refusal(answer, code, *words):
    equal(answer.code(), code, answer)
    for word in words:
        is_true(word in answer.json()["detail"], word, answer)
    return answer.json()


def test_002_submit_as_written(place):
    """mgr.Submit(Task{IdempotencyKey, Payload, MaxAttempts})"""
    server = place.serve()
    task = server("POST", "/tasks", ORDER, 201).json()
    equal((task["type"], task["input"], task["maxAttempts"], task["attempts"]),
          ("default", {"order_id": "123"}, 3, 0))
    is_true("payload" not in task and "maxRetries" not in task, task)
    again = server("POST", "/tasks", ORDER, 200).json()
    equal((again["id"], again["existing"]), (task["id"], True))
    equal(server("POST", "/tasks", {"name": "n"}, 201).json()["type"], "default")
    equal(server("POST", "/tasks", {"payload": [1]}, 201).json()["input"], [1])
    equal(server("POST", "/tasks", {"maxRetries": 0, "type": "t"}, 201).json()["maxAttempts"], 1)


def test_002_submit_without_type_name_and_input_is_invalid(place):
    """ErrInvalidTask: missing required fields"""
    server = place.serve()
    for body in ({}, {"idempotencyKey": "k"}, {"payload": None}, {"input": None, "priority": 3}):
        refusal(server("POST", "/tasks", body, 400), "invalid_task", "type is missing")
    for body in ({"input": 1, "payload": 1}, {"maxAttempts": 1, "maxRetries": 1, "type": "t"}):
        refusal(server("POST", "/tasks", body, 400), "invalid_task", "not both")
    equal(server("GET", "/tasks").json()["items"], [])


def test_002_batches_take_the_same_names(place):
    server = place.serve()
    items = [ORDER, {}, {"payload": "p"}, {"payload": 1, "input": 1}, ORDER]
    as_json = server("POST", "/tasks:batch", {"tasks": items}, 200).json()["items"]
    as_lines = server("POST", "/tasks:batch", lines(*items), 200,
                      Content_Type="application/x-ndjson").json()["items"]
    for got in (as_json, as_lines):
        equal([item.get("code") for item in got], [None, "invalid_task", None, "invalid_task", None])
        equal(got[0]["id"], got[4]["id"])
    equal([item.get("existing") for item in (as_json[0], as_lines[0])], [False, True])
    task = server.get(as_json[2]["id"])
    equal((task["type"], task["input"]), ("default", "p"))


def test_002_result_is_output(place):
    """Complete(taskID, result)"""
    server = place.serve()
    done = server.act(server.held()["id"], "complete", workerId="w", result={"a": 1}).json()
    equal((done["output"], "result" in done), ({"a": 1}, False))
    task = server.held()["id"]
    equal(server("PATCH", f"/tasks/{task}/status", {"status": "completed", "result": [2],
                                                   "workerId": "w"}, 200).json()["output"], [2])
    task = server.held()["id"]
    body = {"workerId": "w", "items": [{"id": task, "status": "completed", "result": "three"}]}
    equal(server("POST", "/outcomes", body, 200).json()["items"], [{"id": task}])
    equal(server.get(task)["output"], "three")
    task = server.held()["id"]
    refusal(server.act(task, "complete", 400, workerId="w", result=1, output=1), "invalid_request",
            "output or result", "not both")
    body["items"] = [{"id": task, "status": "completed", "result": 1, "output": 1}]
    equal(server("POST", "/outcomes", body, 200).json()["items"][0]["code"], "invalid_request")
    equal(server.get(task)["status"], "running")


def test_002_names_that_are_ours_in_another_way(place):
    """ClaimedBy and the rest of the document's Task: refused, and the error names ours."""
    server = place.serve()
    task = server.held()["id"]
    for verb, body, name in (
            ("complete", {"claimedBy": "w"}, "workerId"),
            ("claim", {"claimed_by": "w"}, "workerId"),
            ("fail", {"workerId": "w", "errorMessage": "e"}, "error"),
            ("heartbeat", {"ClaimedBy": "w"}, "workerId")):
        refusal(server.act(task, verb, 400, **body), "invalid_request", f'"{name}"')
    for body, words in (({"claimedBy": "w"}, ("workerId", "set by the engine")),
                        ({"retry_count": 1}, ("attempts", "set by the engine")),
                        ({"next_retry_at": "2030-01-01T00:00:00Z"}, ('"runAt"',)),
                        ({"result": 1}, ("output", "set by the engine")),
                        ({"task_type": "x"}, ('"type"',)),
                        ({"tenant_id": 1}, ('"namespace"',)),
                        ({"status": "pending"}, ("set by the engine",))):
        refusal(server("POST", "/tasks", {"type": "t", **body}, 400), "invalid_task", *words)
    refusal(server("POST", "/events", {"type": "e", "payload": {}}, 400), "invalid_request",
            '"data"')
    for status, ours in (("IN_PROGRESS", "claimed or running"), ("PENDING", "pending"),
                         ("COMPLETED", "completed"), ("Dead", "dead_letter")):
        refusal(server("GET", f"/tasks?status={status}", status=400), "invalid_request",
                f'"{status}" is {ours}')
    for status, words in (("IN_PROGRESS", ("running",)), ("PENDING", ("pending", ":retry")),
                          ("COMPLETED", ('"COMPLETED" is completed here',)), ("nonsense", ())):
        refusal(server("PATCH", f"/tasks/{task}/status", {"status": status, "workerId": "w"}, 400),
                "invalid_request", "running, completed, failed or cancelled", *words)
    body = {"workerId": "w", "items": [{"id": task, "status": "COMPLETED"}]}
    item = server("POST", "/outcomes", body, 200).json()["items"][0]
    is_true("is completed here" in item["detail"], item)
    refusal(server("GET", "/tasks?tenant_id=3", status=400), "invalid_request", "namespace")
    equal(server.get(task)["status"], "running")


def test_002_every_error_has_its_code(place):
    """The table of "Error Handling", by their codes and statuses."""
    server = place.serve()
    no_id = "01890a5d-ac96-774b-bcce-b302099a8057"
    pending = server.submit()["id"]
    held = server.held()["id"]
    done = server.held()["id"]
    server.act(done, "complete", workerId="w")
    dead = server.held(maxRetries=0)["id"]
    server.act(dead, "fail", workerId="w", error="e")
    for answer, code in (
            (server("GET", f"/tasks/{no_id}", status=404), "task_not_found"),
            (server.act(held, "claim", 409, workerId="v"), "task_already_claimed"),
            (server.act(pending, "complete", 409, workerId="w"), "task_not_claimed"),
            (server.act(done, "claim", 409, workerId="w"), "task_completed"),
            (server.act(dead, "claim", 409, workerId="w"), "task_failed"),
            (server.act(dead, "retry", 409, resetAttempts=False), "max_attempts_reached"),
            (server("POST", "/tasks", {}, 400), "invalid_task"),
            (server.act(pending, "claim", 400, workerId=""), "invalid_worker_id"),
            (server.act(held, "complete", 409, workerId="v"), "wrong_worker")):
        equal(answer.code(), code)


def test_002_command_line(place):
    place.serve().stop() # makes the store
    task = place.faina("submit", "--input", '{"order_id":1}', "--key", "order-1", "--max-retries",
                       "2").stdout.strip()
    shown = json.loads(place.faina("get", "--key", "order-1").stdout)
    equal((shown["id"], shown["type"], shown["input"], shown["maxAttempts"]),
          (task, "default", {"order_id": 1}, 3))
    place.faina("submit", "t", "--key", "order-1")
    equal(json.loads(place.faina("get", "--key", "order-1").stdout)["type"], "t") # the newest
    equal(json.loads(place.faina("get", "--key", "order-1", "--type", "default").stdout)["id"], task)
    for args, word in ((("submit", "t", "1", "--input", "1"), "not both"),
                       (("submit", "--bulk", "x", "--input", "1"), "not both"),
                       (("submit", "--key", "k"), "what kind of task?"),
                       (("node",), '"worker-list"'),
                       (("leader",), '"worker-list"'),
                       (("publish",), '"emit"'),
                       (("ls", "--status", "IN_PROGRESS"), "claimed or running"),
                       (("ls", "--status", "PENDING"), 'did you mean "pending"?')):
        is_true(word in place.faina(*args, code=2).stderr, args, word)
    with open(place.path("lines"), "wb") as file:
        file.write(lines({"payload": "bulk", "maxRetries": 0}, {"name": "n"}))
    equal(len(place.faina("submit", "--bulk", "lines").stdout.split()), 2)
    equal(json.loads(place.faina("ls", "--name", "default", "--limit", "1").stdout)["items"][0]
          ["input"], "bulk")


run(globals(), on_postgres=True)
