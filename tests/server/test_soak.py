#!/usr/bin/env python3
"""Everything at once, for a while: nothing is lost, nobody waits for ever, and memory stays flat.

FA_SERVE_SECONDS sets for how long (8). `make soak` takes ten minutes, and then looks at memory, too:
before that the store is made larger than what SQLite keeps in memory, so that nothing else grows.
"""
import http.client
import os
import random
import socket
import threading
import time

from helper_server import API, IS_SLOW, equal, is_true, run, wait_until

SECONDS = int(os.environ.get("FA_SERVE_SECONDS", "8"))
IS_LONG = SECONDS >= 60
STORED = 300000
GROWTH_MAX = 1.1
WORKERS = 3


def resident_kib(server):
    with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as file:
        status = dict(line.split(":", 1) for line in file)
    return int(status["RssAnon"].split()[0]), int(status["Threads"])


class Crowd:
    """Clients of every kind, each in a thread, until the time is over."""

    def __init__(self, server):
        self.server = server
        self.is_over = False
        self.lock = threading.Lock()
        self.submitted, self.completed, self.failures = set(), set(), []
        kinds = [self.submit, self.submit_many, self.look, self.listen, self.leave, self.purge]
        self.threads = [threading.Thread(target=self.repeat, args=(kind,)) for kind in kinds]
        self.threads += [threading.Thread(target=self.repeat, args=(self.work,))
                         for _ in range(WORKERS)]
        for thread in self.threads:
            thread.start()

    def repeat(self, act):
        connection = self.server.connect()
        dice = random.Random(threading.get_ident())
        try:
            while not self.is_over:
                act(connection, dice)
        except (AssertionError, OSError, ValueError, KeyError, http.client.HTTPException) as why:
            with self.lock:
                self.failures.append(f"{act.__name__}: {why!r}")
        connection.close()

    def ask(self, connection, method, path, body=None, status=200):
        return self.server(method, path, body, status, connection=connection).json()

    def submit(self, connection, dice):
        task = self.ask(connection, "POST", "/tasks",
                        {"type": f"soak.{dice.randrange(3)}", "input": "x" * dice.randrange(2000)}, 201)
        with self.lock:
            self.submitted.add(task["id"])
        if dice.randrange(50) == 0:
            answer = self.server("GET", f"/tasks/{task['id']}/wait?timeout=1", connection=connection)
            is_true(answer.status in (200, 404), answer) # it may be done and purged already

    def submit_many(self, connection, dice):
        tasks = [{"type": f"soak.{dice.randrange(3)}", "input": i} for i in range(dice.randrange(1, 60))]
        items = self.ask(connection, "POST", "/tasks:batch", {"tasks": tasks})["items"]
        with self.lock:
            self.submitted |= {item["id"] for item in items}
        time.sleep(0.05)

    def work(self, connection, dice):
        worker = f"w{threading.get_ident()}"
        types = [f"soak.{n}" for n in range(3)]
        tasks = self.ask(connection, "POST", "/claims",
                         {"workerId": worker, "types": types, "limit": 1 + dice.randrange(100),
                          "waitSeconds": 1})["tasks"]
        if not tasks:
            return
        items = [{"id": task["id"], "fence": task["fence"], "status": "completed"} for task in tasks]
        answers = self.ask(connection, "POST", "/outcomes", {"workerId": worker, "items": items})["items"]
        equal([answer.get("code") for answer in answers], [None] * len(items))
        with self.lock:
            self.completed |= {task["id"] for task in tasks}

    def look(self, connection, dice):
        page = self.ask(connection, "GET", f"/tasks?limit={1 + dice.randrange(200)}")
        for task in page["items"][:5]:
            self.server("GET", f"/tasks/{task['id']}/events", connection=connection)
        self.ask(connection, "GET", "/stats")
        self.server("GET", "./metrics", status=200, connection=connection)
        self.server("GET", "/tasks?limit=0", status=400, connection=connection)
        time.sleep(0.02)

    def listen(self, _, dice):
        with socket.create_connection((self.server.host, self.server.port), timeout=30) as sock:
            sock.sendall(f"GET {API}/stream HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            for _ in range(dice.randrange(1, 200)):
                is_true(sock.recv(65536) != b"", "the stream has ended")
                if self.is_over:
                    return

    def leave(self, _, dice):
        """In the middle of something."""
        body = b'{"workerId":"gone","types":["never"],"waitSeconds":60}'
        whole = b"POST /api/v1/claims HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" \
                b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        with socket.create_connection((self.server.host, self.server.port), timeout=30) as sock:
            sock.sendall(whole[:dice.randrange(len(whole) + 1)])
            time.sleep(0.005)

    def purge(self, connection, _):
        self.ask(connection, "POST", "/tasks:purge", {"status": ["completed"], "limit": 1000})
        time.sleep(0.1)

    def finish(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()


def fill(server):
    """More than SQLite's page cache holds, and all of it read once."""
    tasks = {"tasks": [{"type": "stored", "input": "x" * 150}] * 1000}
    for _ in range(STORED // 1000):
        server("POST", "/tasks:batch", tasks, 200)
    cursor = ""
    while cursor is not None:
        page = server("GET", f"/tasks?limit=1000{cursor and '&cursor=' + cursor}", status=200).json()
        cursor = page["nextCursor"]


def test_everything_at_once(place):
    server = place.serve()
    if IS_LONG:
        fill(server)
    crowd = Crowd(server)
    samples = []
    for _ in range(20):
        time.sleep(SECONDS / 20)
        samples.append(resident_kib(server))
    crowd.finish()
    equal(crowd.failures, [])
    is_true(len(crowd.submitted) > 10 * SECONDS / (10 if IS_SLOW else 1), len(crowd.submitted))
    is_true(max(threads for _, threads in samples) < 20, samples)
    if IS_LONG and not IS_SLOW:
        sizes = [size for size, _ in samples]
        is_true(max(sizes[15:]) <= GROWTH_MAX * max(sizes[5:10]), sizes)

    def is_done():
        crowd.work(server.connect(), random.Random(1))
        return crowd.completed >= crowd.submitted

    wait_until(is_done, "every task is done")
    equal(crowd.completed - crowd.submitted, set())
    for gauge, most in (("faina_http_connections", 2), ("faina_waits", 0), ("faina_streams", 0)):
        wait_until(lambda: server.metric(gauge) <= most, gauge) # pylint: disable=cell-var-from-loop
    server.stop()
    place.faina("doctor")


run(globals())
