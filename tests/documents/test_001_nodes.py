#!/usr/bin/env python3
"""Document 001 ("Database Schema" of the Task Orchestrator): workers, leadership, WORKER_TIMEOUT.

Each test runs on SQLite and on PostgreSQL.
"""
import os
import socket
import sys

ROOT = os.environ.get("FA_SOURCE_ROOT") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "server"))
from helper_server import equal, is_true, run, wait_until  # noqa: E402  pylint: disable=wrong-import-position


def workers(server):
    return {w["id"]: w for w in server("GET", "/workers", status=200).json()["items"]}


def test_a_server_without_handlers_is_a_node(place):
    server = place.serve()
    found = list(workers(server).values())
    equal(len(found), 1)
    equal((found[0]["hostname"], found[0]["poolSize"], found[0]["held"]), (socket.gethostname(), 0, 0))
    is_true(found[0]["id"].startswith(f"{socket.gethostname()}-{server.process.pid}-"), found)
    is_true(found[0]["version"] and found[0]["startedAt"] and found[0]["lastHeartbeat"], found)
    wait_until(lambda: all(w["isLeader"] and w["leaderUntil"] for w in workers(server).values()),
               "it leads")
    task = server.submit()["id"] # it runs no tasks
    told = server("GET", f"/tasks/{task}/explain", status=200).json()
    is_true("no live worker is registered" in told["summary"], told)


def test_a_server_with_handlers_is_one_node(place):
    os.mkdir(place.path("handlers"))
    server = place.serve(env={"FAINA_NODE_ID": "node-a"})
    wait_until(lambda: list(workers(server)) == ["node-a"], "it is registered")
    wait_until(lambda: workers(server)["node-a"]["isLeader"], "it leads")
    equal(workers(server)["node-a"]["poolSize"], 0) # there are no handlers in the folder yet
    with open(place.path("handlers/a"), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n")
    os.chmod(place.path("handlers/a"), 0o755)
    wait_until(lambda: workers(server)["node-a"]["poolSize"] > 0, "it has found the handler")


def test_clients_do_not_lead(place):
    server = place.serve(env={"FAINA_NODE_ID": "node-a"})
    server("PUT", "/workers/w1", {"poolSize": 3, "hostname": "elsewhere", "version": "7"}, 200)
    wait_until(lambda: workers(server)["node-a"]["isLeader"], "the node leads")
    one = workers(server)["w1"]
    equal((one["isLeader"], one["leaderUntil"], one["poolSize"], one["version"]), (False, None, 3, "7"))


def test_node_ids_that_begin_alike(place):
    """With one store, one leads."""
    server = place.serve(env={"FAINA_NODE_ID": "node-a"})
    if not place.url.startswith("postgres"):
        return
    place.serve(env={"FAINA_NODE_ID": "node-b"})
    wait_until(lambda: sorted(workers(server)) == ["node-a", "node-b"], "both are listed")
    wait_until(lambda: sum(w["isLeader"] for w in workers(server).values()) == 1, "one leads")


def test_a_node_signs_off(place):
    place.serve(env={"FAINA_NODE_ID": "node-a"}).stop()
    server = place.serve(env={"FAINA_NODE_ID": "node-b"})
    equal(list(workers(server)), ["node-b"])


def test_a_killed_node_does_not_lead(place):
    place.serve(env={"FAINA_NODE_ID": "node-a"}).kill()
    server = place.serve(env={"FAINA_NODE_ID": "node-b"})
    wait_until(lambda: workers(server)["node-b"]["isLeader"], "the new one leads")
    found = workers(server)
    is_true("node-a" not in found or not found["node-a"]["isLeader"], found)


def test_worker_timeout(place):
    """Workers whose last heartbeat is older than WORKER_TIMEOUT are removed."""
    for name, env in (("w1", {"WORKER_TIMEOUT": "2s"}),
                      ("w2", {"FAINA_WORKER_TIMEOUT": "2", "WORKER_TIMEOUT": "1h"})):
        server = place.serve(env=env)
        server("PUT", f"/workers/{name}", {"poolSize": 1}, 200)
        is_true(name in workers(server))
        wait_until(lambda: name not in workers(server), "it is removed") # pylint: disable=cell-var-from-loop
        server.stop()
    server = place.serve()
    server("PUT", "/workers/w3", {"poolSize": 1}, 200)
    is_true("w3" in workers(server))


def test_a_bad_worker_timeout_is_refused(place):
    for value in ("soon", "0", "1ms", "-5s"):
        done = place.faina("submit", "x", code=2, env={"FAINA_WORKER_TIMEOUT": value})
        is_true("FAINA_WORKER_TIMEOUT" in done.stderr, value, done.stderr)


def test_failed_for_a_type_that_nobody_handles(place):
    """'failed': terminal failure (no handler)"""
    server = place.serve()
    server("PUT", "/types/fax.send", {"unhandledAfter": "1s"}, 200)
    task, other = server.submit("fax.send")["id"], server.submit("mail.send")["id"]
    wait_until(lambda: server.get(task)["status"] == "failed", "the end of the task")
    equal(server.get(task)["error"]["kind"], "no_handler")
    equal(server.get(other)["status"], "pending") # that is never, unless it is set


def test_tasks_of_a_worker(place):
    server = place.serve()
    task = server.held("w1")["id"]
    server.held("w2")
    found = server("GET", "/tasks?workerId=w1", status=200).json()["items"]
    equal([t["id"] for t in found], [task])
    equal(len(server("GET", "/tasks?workerId=w1&sort=updatedAt", status=200).json()["items"]), 1)
    server("PUT", "/workers/w1", {}, 200)
    equal(workers(server)["w1"]["held"], 1)
    equal(place.faina("ls", "--worker", "w1", "-o", "jsonl").stdout.count(task), 1)


if __name__ == "__main__":
    run(globals(), on_postgres=True)
