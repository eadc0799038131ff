#!/usr/bin/env python3
"""Every route for workers, with good and bad input."""
import signal
import sqlite3
import threading
import time

from helper_server import NO_ID, Skip, equal, is_true, run, wait_until


def test_claims(place):
    server = place.serve()
    equal(server.claim(), [])
    ids = [server.submit("a", priority=i)["id"] for i in range(5)]
    server.submit("b", resources=["gpu"])
    server.submit("a", namespace="other")
    claimed = server.claim(types=["a"], namespaces=["default"], limit=3, leaseSeconds="2m")
    equal([task["id"] for task in claimed], ids[:1:-1])
    equal([(task["status"], task["workerId"], task["fence"]) for task in claimed],
          [("claimed", "w", 1)] * 3)
    equal(server.claim(types=["b"], services=[]), [])
    equal(len(server.claim(types=["b"], services=["gpu"])), 1)
    equal(server.claim(namespaces=[], limit=1000), []) # of no namespace
    equal(len(server.claim(types=[], limit=1000)), 3) # [] is any
    for body in ({"limit": 0}, {"limit": 1001}, {"limit": "x"}, {"types": "a"}, {"types": [1]},
                 {"leaseSeconds": -1}, {"leaseSeconds": "soon"}, {"waitSeconds": []}, {"worker": 1},
                 {"namespaces": [""]}, {"namespaces": ["*"]}):
        equal(server("POST", "/claims", {"workerId": "w", **body}, 400).code(), "invalid_request",
              body)
    for body in ({}, {"workerId": ""}, {"workerId": "x" * 256}):
        equal(server("POST", "/claims", body, 400).code(), "invalid_worker_id", body)
    equal(server("POST", "/claims", None, 400).code(), "invalid_worker_id")


def test_a_whole_life(place):
    server = place.serve()
    task = server.submit()["id"]
    claimed = server.act(task, "claim", workerId="w", leaseSeconds=60)
    equal((claimed.json()["status"], claimed.headers["ETag"]), ("claimed", '"2"'))
    equal(server.act(task, "claim", workerId="w").json()["version"], 2)
    equal(server.act(task, "claim", 409, workerId="v").code(), "task_already_claimed")
    equal(server.act(task, "start", 409, workerId="v").code(), "wrong_worker")
    equal(server.act(task, "start", workerId="w").json()["status"], "running")
    told = server.act(task, "progress", workerId="w", progress=40, state="half", metadata={"a": 1})
    equal([told.json()[name] for name in ("progress", "state", "metadata")], [40, "half", {"a": 1}])
    equal(server.act(task, "heartbeat", workerId="w", leaseSeconds=100).json()["status"], "running")
    equal(server.act(task, "complete", 409).code(), "wrong_worker")
    equal(server.act(task, "complete", 409, workerId="w", fence=7).code(), "wrong_worker")
    done = server.act(task, "complete", workerId="w", fence=1, output=[1]).json()
    equal((done["status"], done["output"]), ("completed", [1]))
    equal(server.act(task, "complete", workerId="w", output=[1]).status, 200)
    equal(server.act(task, "complete", 409, workerId="w", output=[2]).code(), "task_completed")
    equal(server.act(task, "claim", 409, workerId="w").code(), "task_completed")
    equal(server.act(task, "retry", 409).code(), "task_completed")


def test_failing(place):
    server = place.serve()
    task = server.held(maxAttempts=2, retry={"base": "1ms", "max": "1ms"})["id"]
    failed = server.act(task, "fail", workerId="w", error="no route").json()
    equal((failed["status"], failed["error"]["message"], failed["attempts"]),
          ("pending", "no route", 1))
    server.act(task, "start", workerId="w")
    dead = server.act(task, "fail", workerId="w",
                      error={"message": "m", "kind": "k", "detail": {"a": 1}}).json()
    equal(dead["status"], "dead_letter")
    equal(dead["error"], {"message": "m", "kind": "k", "detail": {"a": 1}, "retryable": True})
    equal(server.act(task, "complete", 409, workerId="w").code(), "task_failed")
    equal(server.act(task, "retry", 409, resetAttempts=False).code(), "max_attempts_reached")
    equal(server.act(task, "retry").json()["attempts"], 0)
    server.act(task, "start", workerId="w")
    final = server.act(task, "fail", workerId="w", error={"message": "m", "retryable": False})
    equal(final.json()["status"], "failed")
    for body in ({}, {"error": 1}, {"error": {}}, {"error": {"message": 1}}, {"error": None},
                 {"error": {"message": "m", "x": 1}}, {"error": {"message": "m", "retryable": 1}}):
        equal(server.act(task, "fail", 400, workerId="w", **body).code(), "invalid_request", body)


def test_blocking(place):
    server = place.serve()
    parent = server.held()["id"]
    blocked = server.act(parent, "block", workerId="w", failFast=True,
                         subtasks=[{"type": "c", "name": "one"}]).json()
    equal((blocked["status"], blocked["workerId"]), ("blocked", None))
    child = server("GET", f"/tasks/{parent}/children").json()["items"][0]
    equal(child["parentId"], parent)
    server.act(child["id"], "start", workerId="w")
    server.act(child["id"], "complete", workerId="w")
    equal((server.get(parent)["status"], server.get(parent)["phase"]), ("pending", "resume"))
    server.act(parent, "start", workerId="w")
    for body, field in (({}, "subtasks"), ({"subtasks": []}, "subtasks"),
                        ({"subtasks": 1}, "subtasks"),
                        ({"subtasks": [{"type": "c"}, {"typ": 1}]}, "subtasks[1].typ"),
                        ({"subtasks": [{}]}, "subtasks")):
        answer = server.act(parent, "block", 400, workerId="w", **body)
        equal(answer.json()["errors"][0]["field"], field, answer)


def test_background(place):
    server = place.serve()
    task = server.held()["id"]
    there = server.act(task, "background", workerId="w", reason="printing", timeout="10m").json()
    equal((there["status"], there["workerId"]), ("background", None))
    is_true(there["expiresAt"])
    equal(server.act(task, "complete").json()["status"], "completed")


def test_release_cancel_retry(place):
    server = place.serve()
    task = server.submit()["id"]
    server.act(task, "claim", workerId="w")
    released = server.act(task, "release", workerId="w").json()
    equal((released["status"], released["attempts"]), ("pending", 0))
    equal(server("POST", f"/tasks/{task}:cancel", None, 200).json()["status"], "cancelled")
    equal(server.act(task, "cancel").json()["state"], "Cancelled by user")
    equal(server("POST", f"/tasks/{task}:retry", None, 200).json()["status"], "pending")
    equal(server.act(task, "retry", 400).code(), "invalid_transition")
    equal(server.act(task, "complete", 409).code(), "task_not_claimed")


def test_every_act_refuses_what_it_does_not_know(place):
    server = place.serve()
    task = server.submit()["id"]
    for verb in ("claim", "start", "complete", "fail", "progress", "heartbeat", "block",
                 "background", "release", "cancel", "retry"):
        needed = {"error": "x"} if verb == "fail" else {}
        if verb == "block":
            needed = {"subtasks": [{"type": "x"}]}
        equal(server.act(NO_ID, verb, 404, workerId="w", **needed).code(), "task_not_found", verb)
        answer = server.act(task, verb, 400, workerI="w")
        equal(answer.json()["errors"][0]["field"], "workerI", verb)
        is_true('did you mean "workerId"' in answer.json()["detail"], answer)
        equal(server("POST", f"/tasks/{task}:{verb}", b"[]", 400).code(), "invalid_request")
        equal(server.act(task, verb, 400, workerId=5).json()["errors"][0]["field"], "workerId")
        equal(server.act(task, verb, 400, workerId="w" * 256).code(), "invalid_worker_id"
              if verb != "fail" else "invalid_request")
    equal(server("POST", f"/tasks/{task}:fly", {}, 404).code(), "not_found")
    equal(server.get(task)["version"], 1)


def test_if_match(place):
    server = place.serve()
    task = server.submit()["id"]
    equal(server("POST", f"/tasks/{task}:start", {"workerId": "w"}, 412, If_Match='"2"').code(),
          "version_conflict")
    for etag in ('"1"', "*"):
        answer = server("POST", f"/tasks/{task}:start", {"workerId": "w"}, 200, If_Match=etag)
    equal(answer.headers["ETag"], '"2"')
    equal(server("POST", f"/tasks/{task}:cancel", {}, 412, If_Match='W/"2"').code(),
          "version_conflict")
    for other in ('"x"', '""', '"0"', '"99999999999999999999"'): # well-formed, and no version
        equal(server("POST", f"/tasks/{task}:cancel", {}, 412, If_Match=other).code(),
              "version_conflict", other)
    for bad in ("x", "0", "-1", '"1', "1, 2", '"1", "2"'):
        equal(server("POST", f"/tasks/{task}:cancel", {}, 400, If_Match=bad).code(),
              "invalid_request", bad)
    equal(server("PATCH", f"/tasks/{task}/status", {"status": "cancelled"}, 412,
                 If_Match='"9"').code(), "version_conflict")


def test_status(place):
    server = place.serve()

    def patch(task, expected, **body):
        return server("PATCH", f"/tasks/{task}/status", body, expected)

    task = server.submit(maxAttempts=9)["id"]
    equal(patch(task, 200, status="running").json()["status"], "running")
    equal(patch(task, 200, status="completed", output=5).json()["output"], 5)
    for status in ("running", "failed", "cancelled"):
        is_true(patch(task, None, status=status).status in (400, 409))
    failed = patch(server.submit(maxAttempts=9)["id"], 200, status="failed").json()
    equal((failed["status"], failed["error"]["message"]), ("failed", "Unknown error"))
    task = server.held(maxAttempts=9)["id"]
    equal(patch(task, 409, status="failed", error="x", workerId="v").code(), "wrong_worker")
    failed = patch(task, 200, status="failed", error="x", workerId="w").json()
    equal((failed["status"], failed["error"]["message"]), ("failed", "x"))
    task = server.submit()["id"]
    equal(patch(task, 409, status="completed").code(), "task_not_claimed")
    equal(patch(task, 200, status="cancelled").json()["status"], "cancelled")
    for body in ({}, {"status": "pending"}, {"status": "claimed"}, {"status": 1}, {"x": 1}):
        equal(patch(task, 400, **body).code(), "invalid_request", body)
    equal(patch(NO_ID, 404, status="running").code(), "task_not_found")


def test_a_fence_of_zero_is_a_fence(place):
    server = place.serve()
    task = server.held()["id"]
    for verb, more in (("start", {}), ("heartbeat", {}), ("progress", {"progress": 1}),
                       ("complete", {}), ("fail", {"error": "x"})):
        body = {"workerId": "w", "fence": 0, **more}
        equal(server.act(task, verb, 409, **body).code(), "wrong_worker", verb)
        answer = server("POST", "/acts", {"items": [{"id": task, "act": verb, "body": body}]}, 200)
        equal(answer.json()["items"][0]["code"], "wrong_worker", verb)
    for fence in (0, 1):
        answer = server("POST", "/outcomes", {"workerId": "w", "items": [
            {"id": task, "fence": fence, "status": "completed"}]}, 200).json()["items"]
        equal(answer[0].get("code"), None if fence else "wrong_worker", fence)
    late = [event for event in server("GET", f"/tasks/{task}/events", None, 200).json()["items"]
            if event["event"] == "late_result"]
    equal({event["detail"]["fence"] for event in late}, {0})
    equal(server.act(task, "complete", 409, workerId="w", fence=0).code(), "task_completed")
    # A task that was never claimed has the fence 0; null is none.
    fresh = server.submit()["id"]
    equal(server.act(fresh, "start", 409, workerId="w", fence=1).code(), "task_not_claimed")
    equal(server.act(fresh, "start", workerId="w", fence=0).json()["status"], "running")
    equal(server.act(fresh, "complete", workerId="w", fence=None).json()["status"], "completed")


def test_outcomes(place):
    server = place.serve()
    server("POST", "/tasks:batch", {"tasks": [{"type": "t"}] * 6}, 200)
    tasks = server.claim(limit=6)
    items = [{"id": task["id"], "fence": task["fence"], "status": "completed", "output": i}
             for i, task in enumerate(tasks)]
    items[1] = {"id": tasks[1]["id"], "status": "failed", "error": "x"}
    items[2] = {"id": tasks[2]["id"], "status": "failed",
                "error": {"message": "x", "retryable": False}}
    items[3]["fence"] = 99
    items[4]["id"] = NO_ID
    answer = server("POST", "/outcomes", {"workerId": "w", "items": items}, 200).json()["items"]
    equal([item.get("code") for item in answer],
          [None, None, None, "wrong_worker", "task_not_found", None])
    equal([item["id"] for item in answer], [item["id"] for item in items])
    equal([server.get(task["id"])["status"] for task in tasks],
          ["completed", "pending", "failed", "claimed", "claimed", "completed"])
    equal(server("POST", "/outcomes", {"workerId": "w", "items": []}, 200).json(), {"items": []})
    good = {"id": NO_ID, "status": "completed"}
    for bad, field in (({"status": "completed"}, "id"), ({"id": NO_ID}, "status"),
                       ({"id": NO_ID, "status": "running"}, "status"),
                       ({**good, "x": 1}, "x"), ({**good, "fence": "x"}, "fence"), (5, None)):
        # A bad item is refused by itself, before and behind good ones.
        held = server.held()["id"]
        answer = server("POST", "/outcomes", {"workerId": "w", "items": [
            bad, {"id": held, "status": "completed"}, bad]}, 200).json()["items"]
        equal([item.get("code") for item in answer], ["invalid_request", None, "invalid_request"])
        equal([error["field"] for error in answer[0].get("errors", [])], [field] if field else [])
        equal((answer[1]["id"], server.get(held)["status"]), (held, "completed"))
    held = server.held(maxAttempts=1)["id"]
    server("POST", "/outcomes", {"workerId": "w", "items": [{"id": held, "status": "failed"}]}, 200)
    ended = server.get(held)
    equal((ended["status"], ended["error"]["message"], ended["error"]["retryable"]),
          ("dead_letter", "Unknown error", True))
    equal(server("POST", "/outcomes", {"workerId": "w", "items": [5]}, 200).json()["items"][0]["code"],
          "invalid_request")
    equal(server("POST", "/outcomes", {"workerId": "w"}, 400).json()["errors"][0]["field"], "items")
    equal(server("POST", "/outcomes", {"workerId": "w", "items": [good] * 10001}, 400).code(),
          "invalid_request")


def test_heartbeats(place):
    server = place.serve()
    tasks = [server.held()["id"] for _ in range(3)]
    server.act(tasks[1], "cancel")
    answer = server("POST", "/heartbeats", {
        "workerId": "w", "leaseSeconds": 300, "items": [{"id": task} for task in tasks]}, 200)
    equal([item.get("code") for item in answer.json()["items"]],
          [None, "invalid_transition", None])
    answer = server("POST", "/heartbeats", {"workerId": "w", "items": [{}, {"id": tasks[0]}]}, 200)
    equal([item.get("code") for item in answer.json()["items"]], ["invalid_request", None])


def test_workers(place):
    server = place.serve()
    wait_until(lambda: server("GET", "/workers", status=200).json()["items"][0]["isLeader"],
               "the node to lead")
    [node] = server("GET", "/workers", status=200).json()["items"]
    equal((node["poolSize"], node["types"]), (0, []))
    equal(server("GET", "/workers/w", status=404).code(), "not_found")
    lost, cancelled, kept = [server.held()["id"] for _ in range(3)]
    server.act(cancelled, "cancel")
    server.act(lost, "complete", workerId="w")
    beat = server("PUT", "/workers/w", {
        "hostname": "h", "poolSize": 4, "types": ["t"], "services": ["gpu"], "version": "1.0",
        "tasks": [lost, cancelled, {"id": kept, "fence": 1}], "leaseSeconds": "90s"}, 200).json()
    equal((beat["id"], beat["poolSize"], beat["types"], beat["services"], beat["held"]),
          ("w", 4, ["t"], ["gpu"], 1))
    equal((beat["cancelled"], beat["lost"], beat["renewed"]), ([cancelled], [lost], 1))
    equal(beat["losses"], [{"id": lost, "fence": 0, "why": "lost"},
                           {"id": cancelled, "fence": 0, "why": "cancelled"}])
    for body, renewed in ((None, 1), ({}, 1), ({"tasks": None}, 1), ({"tasks": []}, 0)):
        beat = server("PUT", "/workers/w", body, 200).json()
        equal((beat["hostname"], beat["renewed"], beat["losses"]), ("h", renewed, []), body)
    lease = server("GET", "/tasks/" + kept, status=200).json()["leaseExpiresAt"]
    server("PUT", "/workers/w", {"leaseSeconds": "1h"}, 200)
    is_true(server("GET", "/tasks/" + kept, status=200).json()["leaseExpiresAt"] > lease)
    equal(server("GET", "/workers/w", status=200).json()["version"], "1.0")
    equal({item["id"] for item in server("GET", "/workers", status=200).json()["items"]},
          {"w", node["id"]})
    for body in ({"id": "other"}, {"poolSize": "x"}, {"x": 1}, {"tasks": 1}, [1]):
        equal(server("PUT", "/workers/w", body, 400).code(), "invalid_request", body)
    equal(server("PUT", "/workers/" + "x" * 256, {}, 400).code(), "invalid_worker_id")
    server("DELETE", "/workers/w", status=204)
    equal(server("DELETE", "/workers/w", status=404).code(), "not_found")
    server("PUT", "/workers/w", {}, 200)
    task = server.submit("u")["id"]
    server.act(task, "claim", workerId="w")
    equal(server("DELETE", "/workers/w?count=true", status=200).json(), {"released": 1})
    equal(server("PUT", "/workers/a%2Fb%20c", {}, 200).json()["id"], "a/b c")
    equal(server("GET", "/workers/a%2Fb%20c", status=200).json()["id"], "a/b c")


def renew_while(server, stand_still):
    """Renews one of two leases while the server stands still until both are over."""
    kept, lost = (server.submit(retry={"base": "1h"})["id"] for _ in range(2))
    connection = server.connect()
    for task in (kept, lost):
        server.act(task, "claim", workerId="w", leaseSeconds=2)
    server("GET", "./healthz", connection=connection)
    answers = []

    def renew():
        answers.append(server("POST", f"/tasks/{kept}:heartbeat",
                              {"workerId": "w", "leaseSeconds": 3600}, connection=connection))

    thread = threading.Thread(target=renew)
    stand_still(thread.start)
    thread.join()
    equal(answers[0].status, 200, answers[0])
    wait_until(lambda: server.get(lost)["status"] == "pending", "the other one is taken back")
    equal(server.get(kept)["status"], "claimed")


def test_who_wrote_while_it_was_stopped_is_heard(place):
    server = place.serve()

    def stop_it(renew):
        server.process.send_signal(signal.SIGSTOP)
        renew()
        time.sleep(3)
        server.process.send_signal(signal.SIGCONT)

    renew_while(server, stop_it)


def test_who_waited_for_a_long_transaction_is_heard(place):
    if not place.url.startswith("sqlite:"):
        raise Skip("the others' transactions go on")
    server = place.serve()

    def lock_it(renew):
        other = sqlite3.connect(place.path("faina.db"), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        waits = threading.Thread(target=server.submit)
        waits.start()
        time.sleep(0.2)
        renew()
        time.sleep(3)
        other.execute("ROLLBACK")
        waits.join()
        other.close()

    renew_while(server, lock_it)


def test_acts_in_their_order(place):
    server = place.serve()
    one, two = (server.submit()["id"] for _ in range(2))
    items = [{"id": one, "act": "start", "body": {"workerId": "w"}},
             {"id": one, "act": "complete", "body": {"workerId": "w", "output": {"a": 1}}},
             {"id": one, "act": "fail", "body": {"workerId": "w", "error": "late"}},
             {"id": two, "act": "claim", "body": {"workerId": "v"}},
             {"id": two, "act": "release", "body": {"workerId": "v"}}]
    got = server("POST", "/acts", {"items": items}, 200).json()["items"]
    equal([item.get("code") for item in got], [None, None, "task_completed", None, None], got)
    equal((server.get(one)["output"], server.get(two)["status"]), ({"a": 1}, "pending"))
    equal(server("POST", "/acts", {"items": []}, 200).json(), {"items": []})
    for bad in ({"id": two}, {"act": "start"}, {"id": two, "act": "cancel"}, {"id": two, "act": 1},
                {"id": two, "act": "start", "body": []}, {"id": two, "act": "start", "more": 1},
                {"id": two, "act": "start", "body": {"output": 1}}, {"id": two, "act": "fail"},
                {"id": two, "act": "amend"}, 1):
        answer = server("POST", "/acts", {"items": [items[0], bad]}, 400)
        equal(answer.code(), "invalid_request", bad)
    equal(server.get(two)["status"], "pending")


run(globals(), on_postgres=True)
