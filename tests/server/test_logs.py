#!/usr/bin/env python3
"""Logs of attempts: sent over HTTP, written by handlers, read while the attempt runs."""
import os
import signal
import subprocess
import threading

from helper_server import BIN, environment, equal, is_true, run, wait_until


def text(server, task, query="", status=200):
    return server("GET", f"/tasks/{task}/log{query}", status=status).body.decode()


def add(server, task, *lines, status=204, **more):
    return server("POST", f"/tasks/{task}/log", {"workerId": "w", "lines": list(lines), **more}, status)


def follow(server, task, query=""):
    """What has come so far, and the thread that reads it."""
    got = []

    def read():
        connection = server.connect()
        connection.request("GET", f"/api/v1/tasks/{task}/log?follow=true{query}")
        response = connection.getresponse()
        assert response.headers["Content-Type"].startswith("text/plain")
        while piece := response.read1(65536):
            got.append(piece.decode())
        connection.close()

    thread = threading.Thread(target=read)
    thread.start()
    return got, thread


def test_lines_over_http(place):
    server = place.serve()
    task = server.submit()["id"]
    equal(text(server, task), "")
    server.act(task, "start", workerId="w")
    got, thread = follow(server, task)
    add(server, task, "one", "two\n", "")
    equal(text(server, task), "one\ntwo\n\n")
    wait_until(lambda: "".join(got) == "one\ntwo\n\n", "the lines are sent")
    for i in range(30):
        add(server, task, f"line {i} " + "x" * 300)
    everything = text(server, task)
    is_true(everything.startswith("one\n") and everything.count("\n") == 33, everything)
    server.act(task, "fail", workerId="w", error={"message": "no", "retryAfter": 0})
    thread.join(60)
    equal("".join(got), everything)
    server.act(task, "start", workerId="w")
    add(server, task, "again")
    equal((text(server, task), text(server, task, "?attempt=2"), text(server, task, "?attempt=1")),
          ("again\n", "again\n", everything))
    shown = server("GET", f"/tasks/{task}/log?format=json&attempt=1", status=200).json()
    equal((shown["attempt"], shown["workerId"], shown["open"], shown["cut"], shown["end"]),
          (1, "w", False, False, len(everything)))
    text(server, task, "?attempt=3", status=404)
    # Lists of events don't have the parts, and the stream doesn't either.
    names = [item["event"] for item in server("GET", f"/tasks/{task}/events", status=200).json()["items"]]
    equal(names, ["started", "claimed", "retry_scheduled", "started", "claimed", "created"])
    for bad in ({"workerId": "v", "lines": ["x"]}, {"lines": ["x"]}):
        is_true(server("POST", f"/tasks/{task}/log", bad).status in (400, 409), bad)
    equal(server("POST", f"/tasks/{task}/log", {"workerId": "w"}, 400).json()["errors"][0]["field"], "lines")
    add(server, task, "x", fence=1, status=409)
    server.act(task, "note", workerId="w", event="log_lines", detail={}, status=400)
    for bad in ("attempt=0", "follow=maybe", "format=xml"):
        text(server, task, "?" + bad, status=400)
    done = place.faina("logs", task, env={"FAINA_URL": server.addresses[0]}).stdout
    is_true("again" in done and "line 29" in done, done)


def test_bounded(place):
    server = place.serve()
    task = server.held()["id"]
    add(server, task, "x" * 10_000_000, "after")
    line, after, _ = text(server, task).split("\n")
    is_true(len(line) == 16 * 1024 and line.endswith("[cut]") and after == "after", len(line))
    for i in range(60):
        add(server, task, f"{i:03}" + "é" * 2000)
    kept = text(server, task)
    is_true(60_000 < len(kept.encode()) <= 65536 and kept.endswith("é\n"), len(kept))
    lines = kept.split("\n")[1:-1]
    equal([line[:3] for line in lines], [f"{i:03}" for i in range(60 - len(lines), 60)])
    is_true(server("GET", f"/tasks/{task}/log?format=json", status=200).json()["cut"])
    add(server, task, *["y" * 100] * 10000)
    equal(len(text(server, task)), 65536)


def handler(place, body):
    folder = place.path("handlers")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "t")
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + body)
    os.chmod(path, 0o755)
    return folder


def test_a_handler_that_runs(place):
    """Its log can be read and followed; it is complete at the end, and survives a kill of the worker."""
    folder = handler(place, "echo first >&2; while [ ! -e go ]; do sleep 0.05; done; printf 'last é' >&2\n")
    server = place.serve()
    worker = [BIN, "worker", "--url", server.addresses[0], "--handlers", folder]
    env = environment()
    process = subprocess.Popen(worker, cwd=folder, env=env, stderr=subprocess.DEVNULL)
    try:
        task = server.submit("t")["id"]
        wait_until(lambda: server.get(task)["attempts"] > 0, "it is claimed")
        wait_until(lambda: text(server, task) == "first\n", "its log is stored while it runs")
        got, thread = follow(server, task)
        shown = subprocess.Popen([BIN, "logs", "-f", task], env={**env, "FAINA_URL": server.addresses[0]},
                                 stdout=subprocess.PIPE)
        wait_until(lambda: "".join(got) == "first\n", "it is followed")
        with open(os.path.join(folder, "go"), "w", encoding="utf-8"):
            pass
        wait_until(lambda: server.get(task)["status"] == "completed", "it completes")
        thread.join(60)
        equal(("".join(got), text(server, task)), ("first\nlast é", "first\nlast é"))
        equal(shown.communicate(timeout=60)[0].decode(), "first\nlast é")
        os.remove(os.path.join(folder, "go"))
        # The worker is killed: what was written until a second before is there.
        task = server.submit("t")["id"]
        wait_until(lambda: server.get(task)["attempts"] > 0, "it is claimed")
        wait_until(lambda: text(server, task) == "first\n", "its log is stored while it runs")
        process.send_signal(signal.SIGKILL)
        process.wait()
        equal(text(server, task), "first\n")
    finally:
        process.kill()
        process.wait()


run(globals(), on_postgres=True)
