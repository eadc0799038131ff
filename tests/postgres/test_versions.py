#!/usr/bin/env python3
"""Two versions side by side: a node of an earlier commit works on a database, a node of this one
migrates it underneath, and both go on. Nothing is lost, nothing is done twice.

The earlier program is built from this checkout's history. Where there is none (an archive, a
shallow clone), this is skipped, and what test_schema.c plays is all there is.
"""
import os
import subprocess
import sys
import threading

ROOT = os.environ.get("FA_SOURCE_ROOT") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{ROOT}/tests/server")
from helper_server import (BIN, Skip, environment, equal, is_true,  # noqa: E402
                           run, wait_until)
import helper_old  # noqa: E402

# It is followed by migrations that this program brings along.
FIRST_NEW = "0007_crons.sql"
EACH = 400 # tasks of each submitter, before the migration and after it
HANDLER = "#!/bin/sh\necho \"$FAINA_TASK_ID\" >>done.log\necho 1\n"


def old_program():
    try:
        return helper_old.build(helper_old.commit_before(FIRST_NEW))
    except helper_old.NoHistory as why:
        raise Skip(f"no earlier program: {why}; see test_schema.c for the one that is played") \
            from why


class Node:
    """A server, a submitter and a worker that talk to it, each with a thread."""

    def __init__(self, place, name, program):
        self.name = name
        self.server = place.serve("--workers", "2", program=program)
        self.submitted, self.completed = [], []
        self.is_over = False
        self.failure = None
        self.worker = threading.Thread(target=self.guard, args=(self.work,))
        self.worker.start()

    def guard(self, part, *args):
        try:
            part(*args)
        except Exception as why: # pylint: disable=broad-except
            self.failure = f"{self.name}: {part.__name__}: {why!r}"

    def submit(self, count):
        """Tasks for the handlers folder, for whoever claims by hand, and with a key that the
        other node uses as well."""
        for i in range(count):
            number = len(self.submitted)
            fields = {"idempotencyKey": f"{self.name}-{number}"} if i % 3 else {}
            task = self.server.submit("run" if i % 2 else "hand", priority=i % 5, **fields)
            self.submitted.append(task["id"])

    def work(self):
        while not self.is_over:
            claimed = self.server.claim(workerId=self.name, types=["hand"], limit=5,
                                        waitSeconds=1)
            items = [{"id": task["id"], "fence": task["fence"], "status": "completed",
                      "output": self.name} for task in claimed]
            answer = self.server("POST", "/outcomes", {"workerId": self.name, "items": items}, 200)
            bad = [item for item in answer.json()["items"] if "code" in item]
            is_true(not bad, bad)
            self.completed += [item["id"] for item in items]

    def end(self):
        self.is_over = True
        self.worker.join()
        is_true(self.failure is None, self.failure)


def submit_on(*nodes):
    """All at once, each its share. Returns the threads."""
    threads = [threading.Thread(target=node.guard, args=(node.submit, EACH)) for node in nodes]
    for thread in threads:
        thread.start()
    return threads


def join(threads):
    for thread in threads:
        thread.join()


def psql(place, text):
    server, _, schema = place.url.partition("schema=")
    done = subprocess.run(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1",
                           server.rstrip("?&")], text=True, capture_output=True, check=False,
                          input=f'SET search_path = "{schema}";\n{text}')
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def hand_over(giver, taker):
    """What one node begins and the other one ends."""
    task = giver.server.submit("across")["id"]
    fence = taker.server.act(task, "start", workerId="other").json()["fence"]
    later = taker.server.submit("after", dependsOn=[task])["id"]
    answer = []
    waiter = threading.Thread(target=lambda: answer.append(
        giver.server("GET", f"/tasks/{task}/wait?timeout=30", status=200).json()))
    waiter.start()
    taker.server.act(task, "complete", workerId="other", fence=fence, output={"by": taker.name})
    waiter.join()
    equal(answer[0]["output"], {"by": taker.name})
    equal(giver.server.get(later)["status"], "pending")
    # A parent that one node blocks, with a child that the other one does.
    parent = giver.server.held("other", type_="across")["id"]
    giver.server.act(parent, "block", workerId="other", subtasks=[{"type": "child"}])
    child = taker.server("GET", f"/tasks/{parent}/children").json()["items"][0]["id"]
    taker.server.act(child, "start", workerId="third")
    taker.server.act(child, "complete", workerId="third", output=1)
    equal(giver.server.get(parent)["status"], "pending")
    # Refused alike: an end by somebody else, the same key with another input.
    held = giver.server.held("other", type_="across")["id"]
    taker.server.act(held, "complete", status=409, workerId="third")
    taker.server.act(held, "fail", workerId="other", error={"message": "x", "retryable": False})
    first = giver.server.submit("keyed", idempotencyKey=f"by {giver.name}")["id"]
    equal(taker.server.submit("keyed", status=200, idempotencyKey=f"by {giver.name}")["id"], first)


def check_all(place, nodes):
    submitted = [task for node in nodes for task in node.submitted]
    equal(len(set(submitted)), len(submitted))
    ended = dict(line.split("|") for line in psql(
        place, "SELECT id, status || ' ' || attempts FROM tasks WHERE type IN ('run', 'hand')")
        .splitlines())
    lost = [task for task in submitted if ended.get(task) != "completed 1"]
    is_true(not lost, "not completed at the first attempt:",
            [(task, ended.get(task)) for task in lost[:10]])
    equal(len(ended), len(submitted))
    with open(place.path("done.log"), encoding="ascii") as file:
        done = file.read().split()
    done += [task for node in nodes for task in node.completed]
    equal(sorted(done), sorted(submitted))


def test_an_old_node_while_a_new_one_migrates(place):
    old = old_program()
    os.mkdir(place.path("handlers"))
    with open(place.path("handlers/run"), "w", encoding="ascii") as file:
        file.write(HANDLER.replace("done.log", place.path("done.log")))
    os.chmod(place.path("handlers/run"), 0o755)

    nodes = [Node(place, "old", old)]
    try:
        before = submit_on(nodes[0])
        wait_until(lambda: len(nodes[0].submitted) > EACH / 3, "the old node takes tasks")
        place.faina("db", "migrate")
        is_true("0007" in psql(place, "SELECT string_agg(id, ' ') FROM schema_migrations"))
        join(before)
        nodes.append(Node(place, "new", BIN))
        both = submit_on(*nodes)
        hand_over(*nodes)
        hand_over(*reversed(nodes))
        join(both)
        check_skew(place, old)
        count = sum(len(node.submitted) for node in nodes)
        wait_until(lambda: any(node.failure for node in nodes) or int(psql(
            place, "SELECT count(*) FROM tasks WHERE type IN ('run', 'hand') AND "
            "status = 'completed'")) >= count, "everything is completed")
    finally:
        for node in nodes:
            node.is_over = True
    for node in nodes:
        node.end()
    equal(len(nodes[0].submitted), 2 * EACH)
    equal(len(nodes[1].submitted), EACH)
    check_all(place, nodes)
    nodes[0].server.stop() # the old one leaves; who is left goes on
    task = nodes[1].server.submit("run")["id"]
    equal(nodes[1].server("GET", f"/tasks/{task}/wait?timeout=30").json()["status"], "completed")


def check_skew(place, old):
    """The doctor tells of it, and an old program that comes late is sent away."""
    told = place.faina("doctor").stdout
    is_true(f"faina {helper_old.VERSION}, and this is" in told, told)
    late = subprocess.run([old, "ls"], env=environment(FAINA_URL=place.url), capture_output=True,
                          text=True, check=False)
    equal(late.returncode, 6, late)
    is_true("newer" in late.stderr, late.stderr)


if __name__ == "__main__":
    run(globals(), on_sqlite=False, on_postgres=True)
