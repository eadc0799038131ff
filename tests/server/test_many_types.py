#!/usr/bin/env python3
"""A store with very many types: counts, lists, metrics and claims answer, and the server stops."""
import json
import os
import signal
import sqlite3
import time

from helper_server import API, IS_SLOW, equal, is_true, run

TYPES = 20_000 if IS_SLOW else 100_000
PAUSED = 1_500
SOON = 15 # seconds; each of these took minutes when it compared every type with every other


def fill(place, count):
    """Types t0, t1, ... with one task in line each, but for the first, which has three."""
    place.serve().stop()
    db = sqlite3.connect(os.path.join(place.folder, "faina.db"))
    db.executescript(f"""
        BEGIN;
        WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {count - 1})
            INSERT INTO lane SELECT i + 1, 'default', 't' || i, '[]' FROM n;
        INSERT INTO task (id, tail, lane, rank, created_us, max_attempts)
            SELECT id * 64, 0, id, 0, 1, 4 FROM lane;
        INSERT INTO task (id, tail, lane, rank, created_us, max_attempts)
            SELECT {count} * 64 + i * 64, 0, 1, 0, 1, 4 FROM (SELECT 1 AS i UNION SELECT 2);
        INSERT INTO ready (lane, rank, id) SELECT lane, 0, id FROM task;
        INSERT INTO tally SELECT lane, 0, count(*) FROM ready GROUP BY lane;
        INSERT INTO paused SELECT 'default', 'paused' || printf('%05d', id) FROM lane
            WHERE id <= {PAUSED};
        COMMIT;""")
    db.close()


def timed(what, call):
    begin = time.monotonic()
    answer = call()
    took = time.monotonic() - begin
    is_true(took < SOON, f"{what} took {took:.1f} s")
    return answer


def test_everything_answers_soon(place):
    fill(place, TYPES)
    server = place.serve()
    stats = timed("stats", lambda: server("GET", "/stats", status=200)).json()
    equal(stats["total"], TYPES + 2)
    equal(stats["byStatus"]["pending"], TYPES + 2)
    equal(stats["moreTypes"], True)
    equal(len(stats["types"]), 1000)
    equal([t["total"] for t in stats["types"] if t["type"] == "t0"], [3])
    one = timed("a type", lambda: server("GET", "/stats?type=t77", status=200)).json()
    equal([(t["type"], t["total"]) for t in one["types"]], [("t77", 1)])
    equal(one["total"], 1)
    metrics = timed("metrics", lambda: server("GET", "./metrics", status=200)).body.decode()
    ages = [line for line in metrics.splitlines() if line.startswith("faina_oldest_ready_seconds{")]
    equal(len(ages), 101)
    is_true(any('type="t0"' in line for line in ages), ages)
    is_true(any('type="other"' in line for line in ages), ages)
    for limit in (1, 5):
        equal(len(timed("a claim", lambda: server.claim(limit=limit))), limit)
    begin = time.monotonic()
    server.stop()
    is_true(time.monotonic() - begin < SOON, "the server takes long to stop")


def test_stopping_while_counts_are_read(place):
    """Who asks for counts does not keep the server from stopping."""
    fill(place, TYPES)
    server = place.serve()
    connections = [server.connect() for _ in range(4)]
    for connection in connections:
        connection.request("GET", API + "/stats")
    begin = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    server.stop()
    is_true(time.monotonic() - begin < SOON, "the server takes long to stop")
    for connection in connections:
        connection.close()


def test_lanes_are_paged(place):
    count = 3_000
    fill(place, count)
    server = place.serve()
    seen, cursor, pages = [], "", 0
    while cursor is not None:
        page = server("GET", "/lanes?limit=700" + (f"&cursor={cursor}" if cursor else ""),
                      status=200).json()
        is_true(len(page["items"]) <= 700, len(page["items"]))
        seen += [(lane["type"], lane["paused"], lane["pending"]) for lane in page["items"]]
        cursor, pages = page["nextCursor"], pages + 1
    equal(pages, (count + PAUSED + 699) // 700)
    equal(seen, sorted([(f"t{i}", False, 3 if i == 0 else 1) for i in range(count)] +
                       [(f"paused{i:05}", True, 0) for i in range(1, PAUSED + 1)]))
    for bad in ("x", "9:short", "-1:a", ":", "7"):
        equal(server("GET", "/lanes?cursor=" + bad, status=400).code(), "invalid_request")
    equal(len(server("GET", "/lanes", status=200).json()["items"]), 1000)


def test_a_namespace_has_a_limited_number_of_types(place):
    server = place.serve("--types-max", "3")
    for i in range(3):
        server("POST", "/tasks", {"type": f"t{i}"}, status=201)

    def refused(answer):
        equal(answer.code(), "invalid_task")
        equal(answer.json()["errors"][0]["field"], "type")
        is_true("3 types" in answer.json()["detail"], answer)

    refused(server("POST", "/tasks", {"type": "t3"}, status=400))
    refused(server("POST", "/tasks", {"type": "t2", "resources": ["gpu"]}, status=400))
    server("POST", "/tasks", {"type": "t2"}, status=201)
    server("POST", "/tasks", {"type": "t3", "namespace": "other"}, status=201)
    items = server("POST", "/tasks:batch", {"tasks": [{"type": "t1"}, {"type": "t4"}]}).json()
    is_true("3 types" in json.dumps(items), items)
    server("PUT", "/workflows/w", {"workflow": "w", "triggers": [
        {"name": "x", "on": "go", "task": {"type": "t5"}}]}, 200)
    emitted = server("POST", "/events", {"type": "go"}).json()
    is_true("3 types" in json.dumps(emitted), emitted)
    equal(server("GET", "/stats?namespace=*", status=200).json()["total"], 6)
    server.stop()
    place.serve()("POST", "/tasks", {"type": "t3"}, status=201)


run(globals())
