#!/usr/bin/env python3
"""Document 003: what it describes, over HTTP and on the command line, on SQLite and PostgreSQL."""
import os
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))

from helper_server import Skip, equal, is_true, run, wait_until # pylint: disable=wrong-import-position


def query(place, sql):
    """Rows of the store, as lists of texts."""
    if place.url.startswith("postgres"):
        url, schema = place.url.split("schema=")
        out = subprocess.run(["psql", "-XAtq", "-F", "\t", url[:-1], "-c",
                              f"SET search_path TO {schema}", "-c", sql],
                             check=True, capture_output=True, text=True).stdout
        return [line.split("\t") for line in out.splitlines()]
    with sqlite3.connect(f"file:{place.path('faina.db')}?mode=ro", uri=True) as db:
        return [[str(value) for value in row] for row in db.execute(sql)]


def change(place, sql):
    """Of a store that no server uses."""
    if place.url.startswith("postgres"):
        query(place, sql)
    else:
        with sqlite3.connect(place.path("faina.db")) as db:
            db.execute(sql)


def finish(server, task, output=None):
    server.act(task, "start", workerId="w")
    return server.act(task, "complete", workerId="w", output=output).json()


# The Expression Engine: each line as it is in the document, with an event that matches and one that doesn't.
EXPRESSIONS = (
    ("mimeType = 'audio/mpeg'", {"mimeType": "audio/mpeg"}, {"mimeType": "audio/mp4"}),
    ("size > 1048576", {"size": 1048577}, {"size": 1048576}),
    ("mimeType startsWith 'image/'", {"mimeType": "image/png"}, {"mimeType": "text/image/"}),
    ("mimeType contains 'zip' AND size > 1024", {"mimeType": "application/zip", "size": 1025},
     {"mimeType": "application/zip", "size": 1024}),
    ("filename endsWith '.pdf' OR mimeType = 'application/pdf'", {"filename": "a.pdf"},
     {"filename": "a.pdf.txt", "mimeType": "text/plain"}),
    ("mimeType = 'application/pdf'", {"mimeType": "application/pdf"}, {}),
    ("size > 0", {"size": 1}, {"size": 0}),
    ("mimeType startsWith 'text/'", {"mimeType": "text/html"}, {"mimeType": "image/png"}),
)


def test_003_expression_engine(place):
    server = place.serve()
    for match, good, bad in EXPRESSIONS:
        for data, wanted in ((good, True), (bad, False)):
            got = server("POST", "/workflows:test", {"match": match, "data": data}, 200).json()
            equal(got["matched"], wanted, match, data)


WORKFLOW = {
    "workflow": "content-analysis",
    "triggers": [
        {"name": "mp3", "on": "ObjectCreatedEvent", "match": "mimeType = 'audio/mpeg'",
         "task": {"type": "extract.id3", "priority": 150, "input": {"hash": "${hash}"}}},
        {"name": "image", "on": "ObjectCreatedEvent", "match": "mimeType startsWith 'image/'",
         "task": {"type": "extract.exif", "priority": 100, "input": {"hash": "${hash}"}}}],
    "joins": [
        {"name": "post-enrichment", "taskTypes": ["extract.id3", "extract.exif"], "joinKey": "hash",
         "task": {"type": "build.search", "input": {"hash": "${key}",
                                                    "tags": "${tasks.extract.id3.output}"}}}]}


def test_003_trigger_annotation(place):
    server = place.serve()
    server("PUT", "/workflows/content-analysis", WORKFLOW)
    for mime, kind, priority in (("audio/mpeg", "extract.id3", 150), ("image/png", "extract.exif", 100)):
        made = server("POST", "/events", {"type": "ObjectCreatedEvent",
                                          "data": {"mimeType": mime, "hash": "f00"}}).json()["tasks"]
        equal(len(made), 1)
        task = server.get(made[0])
        equal((task["type"], task["priority"], task["input"]), (kind, priority, {"hash": "f00"}))
    equal(server("POST", "/events", {"type": "ObjectCreatedEvent",
                                     "data": {"mimeType": "text/css"}}).json()["tasks"], [])


def test_003_join_trigger_and_task_joins(place):
    server = place.serve()
    server("PUT", "/workflows/content-analysis", WORKFLOW)
    first = server.submit("Extract.ID3", input={"hash": "f00"})["id"] # any spelling of the type
    finish(server, first, {"title": "x"})
    rows = query(place, "SELECT join_key, workflow_id, task_type, task_id, completed_at FROM task_joins")
    equal([row[:4] for row in rows], [["f00", "content-analysis", "extract.id3", first]])
    is_true(rows[0][4].startswith("20"), rows)
    equal(len(query(place, "SELECT * FROM join_rounds")), 1)
    finish(server, server.submit("extract.exif", input={"hash": "f00"})["id"])
    made = server("GET", "/tasks?type=BUILD.search").json()["items"]
    equal([task["input"] for task in made], [{"hash": "f00", "tags": {"title": "x"}}])
    equal(query(place, "SELECT * FROM task_joins"), [])


def test_003_cron_triggers(place):
    """@Scheduled(cron = "0 0 2 * * ?"), 2 AM daily"""
    server = place.serve()
    body = {"schedule": "0 0 2 * * ?", "task": {"type": "enrichment", "input": {"leafRef": "pending"}}}
    job = server("PUT", "/crons/nightlyEnrichment", body).json()
    is_true(job["nextAt"].endswith("T02:00:00Z") or job["nextAt"].endswith("T02:00:00.000000Z"), job)
    for schedule in ("0 0 2 L * ?", "0 0 2 LW * ?", "0 0 2 ? * MON#2", "0 0 2 ? * FRIL", "0 0 2 15W * ?"):
        server("PUT", f"/crons/c{abs(hash(schedule))}", dict(body, schedule=schedule))
    refused = server("PUT", "/crons/number", dict(body, schedule="0 0 2 ? * 2"), 400).json()
    is_true("2 is TUE in cron and MON in Quartz: write TUE or MON" in refused["detail"], refused)


def test_003_task_error(place):
    """TaskError: message, exceptionType, stackTrace, retryable"""
    server = place.serve()
    task = server.held()["id"]
    error = {"message": "m", "exceptionType": "java.io.IOException", "retryable": False,
             "detail": {"stackTrace": "at a"}}
    failed = server.act(task, "fail", workerId="w", error=error).json()
    equal(failed["error"], {"message": "m", "kind": "java.io.IOException",
                            "detail": {"stackTrace": "at a"}, "retryable": False})
    task = server.held()["id"]
    server.act(task, "fail", 400, workerId="w", error={"message": "m", "kind": "a", "exceptionType": "b"})
    equal(server.get(task)["status"], "running" if server.get(task)["startedAt"] else "claimed")


def test_003_blocked_on_some_of_the_subtasks(place):
    """Blocked(subtaskIds): a subtask that isn't among them is created, and not waited for."""
    handlers = place.path("handlers")
    os.mkdir(handlers, 0o755)
    for name, text in (("parent", """if [ $FAINA_PHASE = start ]; then
    echo '{"subtask":{"type":"leaf","input":1}}' >&3
    echo '{"subtask":{"type":"nobody","name":"later","detached":true}}' >&3
else cat; fi
"""), ("leaf", "cat\n")):
        with open(os.path.join(handlers, name), "w", encoding="utf-8") as out:
            out.write("#!/bin/sh\n" + text)
        os.chmod(os.path.join(handlers, name), 0o755)
    server = place.serve("--workers", "1", env={"FAINA_HANDLERS": handlers})
    parent = server.submit("parent", input={})["id"]
    wait_until(lambda: server.get(parent)["status"] == "completed", "the parent")
    equal([(task["type"], task["status"]) for task in server.get(parent)["output"]["subtasks"]],
          [("leaf", "completed"), ("nobody", "pending")])
    refused = server("POST", "/tasks", {"type": "t", "detached": True}, 400).json()
    equal(refused["errors"][0]["field"], "detached")
    server("PUT", "/crons/c", {"schedule": "@daily", "task": {"type": "t", "detached": True}}, 400)


def test_003_dependency_tables(place):
    server = place.serve()
    parent = server.held()["id"]
    server.act(parent, "start", workerId="w")
    server.act(parent, "block", workerId="w", subtasks=[{"type": "leaf"}])
    child = server("GET", f"/tasks/{parent}/children").json()["items"][0]["id"]
    other = server.submit("later", dependsOn=[child], resources=["Ollama"])["id"]
    rows = query(place, "SELECT task_id, depends_on FROM task_task_dep")
    equal(sorted(rows), sorted([[parent, child], [other, child]]))
    server("PUT", "/resources/ollama", {"maxConcurrency": 2})
    rows = query(place, "SELECT name, max_concurrency FROM task_resource")
    equal([[row[0].lower(), row[1]] for row in rows], [["ollama", "2"]])
    rows = query(place, "SELECT d.task_id, r.name FROM task_resource_dep d "
                        "JOIN task_resource r ON r.id = d.depends_on")
    equal([[row[0], row[1].lower()] for row in rows], [[other, "ollama"]])


def test_003_resources_are_static_configuration(place):
    """Resources from a file, applied at the start and when it changes."""
    folder = place.path("workflows")
    os.mkdir(folder, 0o755)
    file = os.path.join(folder, "resources.yaml")

    def write(text):
        with open(file + ".new", "w", encoding="utf-8") as out:
            out.write(text)
        os.rename(file + ".new", file)

    def limits():
        return {item["name"]: item["maxConcurrency"] for item in server("GET", "/resources").json()["items"]}

    write("resources:\n  ollama: 2\n  gpu: { maxConcurrency: 1 }\n  network:\n")
    server = place.serve(env={"FAINA_WORKFLOWS": folder})
    equal(limits(), {"ollama": 2, "gpu": 1, "network": None})
    write("resources:\n  ollama: -1\n  Gpu: 3\n  GPU: 4\n  rate: { max: 1 }\n")
    for place_of_mistake in ("resources.yaml:2:11", "resources.yaml:4:3", "resources.yaml:5:11"):
        wait_until(lambda at=place_of_mistake: any(at in line for line in server.lines), place_of_mistake)
    equal(limits(), {"ollama": 2, "gpu": 1, "network": None})
    server("PUT", "/resources/network", {"maxConcurrency": 7})
    write("resources:\n  ollama: { maxConcurrency: 3, rate: 10/s, burst: 20 }\n  \"mail:*\": { rate: 1/m }\n")
    wait_until(lambda: limits() == {"ollama": 3, "network": 7, "mail:*": None}, "the new limits")
    equal({item["name"]: item["rate"] for item in server("GET", "/resources").json()["items"]},
          {"ollama": {"count": 10, "per": "1s", "burst": 20}, "network": None,
           "mail:*": {"count": 1, "per": "1m", "burst": 1}})
    write("resources:\n  ollama: { rate: 10 }\n  gpu: { burst: 3 }\n")
    for place_of_mistake in ("resources.yaml:2:19", "resources.yaml:3:8"):
        wait_until(lambda at=place_of_mistake: any(at in line for line in server.lines), place_of_mistake)
    write("resources:\n  ollama: 3\n")
    wait_until(lambda: limits() == {"ollama": 3, "network": 7}, "the new limits")
    os.unlink(file)
    time.sleep(0.5)
    equal(limits(), {"ollama": 3, "network": 7})


def test_003_node_identity_and_services(place):
    """vault.cluster.node-id; the claiming node knows which services it can reach."""
    handlers = place.path("handlers")
    os.mkdir(handlers, 0o755)
    with open(os.path.join(handlers, "enrichment"), "w", encoding="utf-8") as out:
        out.write("#!/bin/sh\ncat\n")
    os.chmod(os.path.join(handlers, "enrichment"), 0o755)
    server = place.serve("--workers", "1", "--node-id", "vault-1", "--services", "objectstore",
                         env={"FAINA_HANDLERS": handlers})
    near = server.submit("Enrichment", input=1, resources=["ObjectStore"])["id"]
    far = server.submit("enrichment", input=2, resources=["ollama"])["id"]
    wait_until(lambda: server.get(near)["status"] == "completed", "the task whose service is up")
    equal(server.get(far)["status"], "pending")
    equal([row[0] for row in query(place, "SELECT id FROM node WHERE id = 'vault-1'")], ["vault-1"])


def test_003_stale_recovery_without_a_worker(place):
    """Leaked IN_PROGRESS: also of a task that was started through the API."""
    server = place.serve()
    plain = server.submit("t")["id"]
    leased = server.submit("t", retry={"base": "1ms", "max": "1ms"})["id"]
    equal(server("PATCH", f"/tasks/{plain}/status", {"status": "running"}, 200).json()["leaseExpiresAt"], None)
    started = server("PATCH", f"/tasks/{leased}/status", {"status": "running", "leaseSeconds": 1}, 200).json()
    is_true(started["leaseExpiresAt"] and started["workerId"] is None, started)
    wait_until(lambda: server.get(leased)["status"] == "pending", "the end of the lease")
    equal(server.get(plain)["status"], "running")
    report = place.faina("doctor").stdout
    is_true("without a lease" not in report, report) # it hasn't run for an hour
    server.stop()
    change(place, f"UPDATE held SET started_us = started_us - {2 * 3600 * 1000000}")
    report = place.faina("doctor").stdout
    is_true(f"{plain} of type t runs without a lease for 2 h" in report, report)


def test_003_task_completed_reaches_listeners_outside(place):
    """NOTIFY task_completed"""
    if not place.url.startswith("postgres"):
        raise Skip("a file has no channels")
    server = place.serve()
    url, schema = place.url.split("schema=")
    query(place, "SELECT notify_ends('all')")
    listener = subprocess.Popen(["psql", "-XAtq", url[:-1]], stdin=subprocess.PIPE, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    listener.stdin.write("LISTEN task_completed;\n")
    listener.stdin.flush()
    ids = []
    for _ in range(6): # nodes read the setting every few seconds
        ids.append(finish(server, server.held()["id"])["id"])
        time.sleep(2)
    heard = listener.communicate("SELECT 1;\n", timeout=60)[0]
    is_true(f'"{schema} {ids[-1]}"' in heard, heard)


run(globals(), on_postgres=True)
