#!/usr/bin/env python3
"""Document 004 (ADR 012) over HTTP: its endpoints, status transitions, filters and teams."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))

from helper_server import equal, is_true, run # pylint: disable=wrong-import-position

V4 = "16fd2706-8baf-433b-82eb-8c7fada847da"
FIELDS = """id name namespace status teamId input output error spec startedAt completedAt createdBy
createdAt updatedAt""".split()


def patch(server, task, status_, code=200, token=None, **body):
    return server("PATCH", f"/tasks/{task}/status", {"status": status_, **body}, code, token=token)


def test_004_the_five_endpoints(place):
    """"API Endpoints" and "Direct Field Schema"."""
    server = place.serve()
    task = server("POST", "/tasks", {"name": "chat", "createdBy": "ann"}, 201).json()
    is_true(set(FIELDS) <= set(task), task)
    equal((task["name"], task["namespace"], task["status"], task["spec"], task["createdBy"]),
          ("chat", "default", "pending", {}, "ann"))
    equal(server.get(task["id"])["spec"], {})
    equal([item["id"] for item in server("GET", "/tasks", status=200).json()["items"]],
          [task["id"]])
    started = patch(server, task["id"], "running").json()
    is_true(started["startedAt"] and not started["completedAt"], started)
    done = patch(server, task["id"], "completed", output="text").json()
    equal((done["status"], done["output"]), ("completed", "text"))
    is_true(done["completedAt"], done)
    server("DELETE", f"/tasks/{task['id']}", status=204)
    equal(server("GET", f"/tasks/{task['id']}", status=404).code(), "task_not_found")
    equal(server("GET", "/tasks/nonsense", status=404).code(), "task_not_found")


def test_004_spec_is_an_object(place):
    server = place.serve()
    equal(server("POST", "/tasks", {"name": "a", "spec": {"bots": [1]}}, 201).json()["spec"],
          {"bots": [1]})
    equal(server("POST", "/tasks", {"name": "a", "spec": None}, 201).json()["spec"], {})
    equal(server("POST", "/tasks:check", {"name": "a"}, 200).json()["spec"], {})
    for spec in ([], "text", 1, True):
        answer = server("POST", "/tasks", {"name": "a", "spec": spec}, 400)
        equal((answer.code(), answer.json()["errors"][0]["field"]), ("invalid_task", "spec"))


def test_004_status_transitions(place):
    """"Status Transitions": allowed ones, by a caller that is no worker."""
    server = place.serve()
    for path in (("running", "completed"), ("running", "failed"), ("running", "cancelled"),
                 ("cancelled",), ("failed",)):
        task = server.submit()["id"]
        for status in path:
            equal(patch(server, task, status).json()["status"], status)
        equal(server.get(task)["status"], path[-1])
    task = server.submit(maxAttempts=5)["id"]
    failed = patch(server, task, "failed").json() # final, whatever the attempts
    equal((failed["status"], failed["error"]["message"]), ("failed", "Unknown error"))
    equal(patch(server, server.submit()["id"], "failed", error="why").json()["error"]["message"],
          "why")


def test_004_a_refused_transition_has_one_code(place):
    """The same transition is refused with the same code, whoever asks and however often."""
    server = place.serve()
    ends = {"completed": ("task_completed", 409), "failed": ("task_failed", 409),
            "cancelled": ("invalid_transition", 400)}
    for end, (code, status) in ends.items():
        for worker in (None, "w"):
            task = server.held()["id"]
            patch(server, task, end, **({"workerId": worker} if worker else {}))
            for wanted in ("running", "completed", "failed", "cancelled"):
                if end == wanted == "cancelled":
                    continue # it is cancelled: nothing to refuse
                for asker in ({}, {"workerId": "w"}, {"workerId": "v"}, {"workerId": "v"}):
                    body = dict(asker)
                    if wanted == "completed":
                        body["output"] = "another"
                    if wanted == "failed":
                        body["error"] = "another"
                    equal(patch(server, task, wanted, status, **body).code(), code, end, wanted,
                          asker)
            equal(server.get(task)["status"], end)
    pending = server.submit()["id"]
    for asker in ({}, {"workerId": "w"}):
        equal(patch(server, pending, "completed", 409, **asker).code(), "task_not_claimed")


def test_004_a_running_task_is_not_started_again(place):
    """"Cannot start task in RUNNING state": 400, but for the worker's repeated request."""
    server = place.serve()
    task = server.held()["id"]
    version = server.get(task)["version"]
    equal(patch(server, task, "running", workerId="w").json()["version"], version)
    for asker in ({}, {"workerId": "v"}, {}, {"workerId": "v"}):
        equal(patch(server, task, "running", 400, **asker).code(), "invalid_transition")
    equal(server.get(task)["version"], version)
    task = server.submit()["id"]
    patch(server, task, "running")
    for asker in ({}, {"workerId": "v"}):
        equal(patch(server, task, "running", 400, **asker).code(), "invalid_transition")
    held = server.held()["id"]
    admin, work = place.token("admin"), place.token("work")
    for token in (admin, work):
        for running in (task, held):
            equal(patch(server, running, "running", 400, token=token).code(), "invalid_transition")


def test_004_patch_without_tokens_counts_as_admin(place):
    """The document has no workers: who may change a task may end what a worker holds."""
    server = place.serve()
    for status in ("completed", "failed", "cancelled"):
        task = server.held(worker="w")["id"]
        ended = patch(server, task, status).json()
        equal((ended["status"], ended["workerId"]), (status, None))
    claimed = server.submit()["id"]
    server.act(claimed, "claim", workerId="w")
    started = patch(server, claimed, "running").json()
    equal((started["status"], started["workerId"]), ("running", "w"))
    equal(patch(server, claimed, "completed", 409, workerId="v").code(), "wrong_worker")


def test_004_with_tokens_only_an_admin_acts_for_a_worker(place):
    server = place.serve()
    tasks = [server.held(worker="w")["id"] for _ in range(2)]
    admin, work = place.token("admin"), place.token("work")
    server.stop()
    server = place.serve()
    equal(patch(server, tasks[0], "completed", 401).code(), "unauthorized")
    equal(patch(server, tasks[0], "completed", 409, token=work).code(), "wrong_worker")
    equal(patch(server, tasks[0], "completed", token=admin).json()["status"], "completed")
    equal(patch(server, tasks[1], "completed", token=work, workerId="w").json()["status"],
          "completed")


def names(server, query):
    items, cursor = [], ""
    while cursor is not None:
        page = server("GET", f"/tasks?{query}{cursor}", status=200).json()
        items += page["items"]
        cursor = page["nextCursor"] and "&cursor=" + page["nextCursor"]
    return [item["name"] for item in items]


def test_004_query_parameters(place):
    """"Query Parameters": namespace (default), status, team_id; and the name."""
    server = place.serve()
    server("PUT", f"/teams/{V4}", {"name": "red"}, 201)
    server("POST", "/tasks", {"name": "a", "team_id": V4}, 201)
    server("POST", "/tasks", {"name": "b", "teamId": V4}, 201)
    server("POST", "/tasks", {"name": "c"}, 201)
    server("POST", "/tasks", {"name": "a", "namespace": "other"}, 201)
    patch(server, server("GET", "/tasks?name=b").json()["items"][0]["id"], "cancelled")
    for query, found in (("", "cba"), (f"team_id={V4}", "ba"), (f"teamId={V4.upper()}", "ba"),
                         ("status=pending", "ca"), ("status=cancelled", "b"), ("name=a", "a"),
                         ("name=a&namespace=*", "aa"), (f"team_id={V4}&status=pending", "a"),
                         ("namespace=other", "a"), ("name=nobody", ""),
                         ("team_id=00000000-0000-0000-0000-000000000000", "")):
        equal("".join(names(server, query)), found, query)
    equal(server("GET", "/tasks?team_id=red", status=400).code(), "invalid_request")
    equal(server("GET", "/tasks?name=", status=400).code(), "invalid_request")
    equal([task["name"] for task in
           json.loads(place.faina("ls", "--name", "a", "--url",
                                  f"http://127.0.0.1:{server.port}").stdout)["items"]], ["a"])


def test_004_a_stream_by_name(place):
    server = place.serve()
    connection = server.connect()
    connection.request("GET", "/api/v1/stream?name=wanted")
    response = connection.getresponse()
    equal(response.status, 200)
    server.submit(name="other")
    task = server.submit(name="wanted")["id"]
    while True:
        line = response.readline().decode()
        if line.startswith("data:"):
            break
    equal(json.loads(line[5:])["taskId"], task)
    connection.close()


def test_004_teams(place):
    """"Team Reference via Foreign Key": SET NULL, and ids of any UUID."""
    server = place.serve()
    made = server("PUT", f"/teams/{V4.upper()}", {"name": "red", "spec": {"a": 1}}, 201).json()
    equal((made["id"], made["namespace"], made["spec"]), (V4, "default", {"a": 1}))
    equal(server("PUT", f"/teams/{V4}", {"name": "crimson"}, 200).json()["name"], "crimson")
    equal(server("GET", f"/teams/{V4.upper()}", status=200).json()["name"], "crimson")
    task = server("POST", "/tasks", {"name": "a", "team_id": V4.upper()}, 201).json()
    equal(task["teamId"], V4)
    for path, body, status, code in (
            (f"/teams/{V4}", {"name": "x", "namespace": "other"}, 400, "invalid_request"),
            (f"/teams/{V4}", {}, 400, "invalid_request"),
            ("/teams/red", {"name": "x"}, 400, "invalid_request"),
            ("/teams/" + "f" * 100, {"name": "x"}, 400, "invalid_request"),
            ("/teams/00000000-0000-0000-0000-000000000000", {"name": "crimson"}, 409, "conflict")):
        equal(server("PUT", path, body, status).code(), code, path, body)
    server("DELETE", f"/teams/{V4}", status=204)
    equal(server.get(task["id"])["teamId"], None)
    equal(server("POST", "/tasks", {"name": "a", "team_id": V4}, 400).code(), "invalid_task")
    server("PUT", f"/teams/{V4}", {"name": "blue", "namespace": "other"}, 201)
    equal(server.get(task["id"])["teamId"], None)
    equal(names(server, f"namespace=*&team_id={V4}"), [])
    server.stop()
    team = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
    equal(place.faina("team", "create", "green", "--id", team, "-o", "table").stdout.strip(), team)
    is_true("UUID" in place.faina("team", "create", "green", "--id", "1", code=2).stderr)


def test_004_a_limited_admin_makes_teams_in_its_namespace(place):
    server = place.serve()
    server("PUT", f"/teams/{V4}", {"name": "red"}, 201)
    shop = place.token("admin", namespace="shop")
    root = place.token("admin")
    server.stop()
    server = place.serve() # knows the tokens from the beginning
    team = "/teams/00000000-0000-0000-0000-000000000001"
    equal(server("PUT", team, {"name": "red"}, 201, token=shop).json()["namespace"], "shop")
    equal(server("PUT", team, {"name": "x", "namespace": "default"}, 403, token=shop).code(),
          "forbidden")
    equal(server("PUT", f"/teams/{V4}", {"name": "mine"}, 404, token=shop).code(), "not_found")
    equal(server("GET", f"/teams/{V4}", status=200, token=root).json()["name"], "red")


run(globals(), on_postgres=True)
