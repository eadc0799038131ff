#!/usr/bin/env python3
"""POST /backup and `faina backup` of a store that is served: under load, refused, cut off, killed."""
import json
import os
import socket
import sqlite3
import stat
import threading

from helper_server import API, Skip, equal, is_true, run, wait_until

BIG = "x" * 400000


class Load:
    """Threads that submit without a pause, and know what was acknowledged."""

    def __init__(self, server, threads=3):
        self.server, self.lock, self.acked, self.is_over = server, threading.Lock(), set(), False
        self.threads = [threading.Thread(target=self.work) for _ in range(threads)]
        for thread in self.threads:
            thread.start()

    def work(self):
        connection = self.server.connect()
        body = {"tasks": [{"type": "load", "input": {"text": "y" * 500}}] * 50}
        while not self.is_over:
            items = self.server("POST", "/tasks:batch", body, 200, connection=connection).json()
            with self.lock:
                self.acked.update(item["id"] for item in items["items"])

    def seen(self):
        with self.lock:
            return set(self.acked)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_over = True
        for thread in self.threads:
            thread.join()


def opened(path):
    return sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)


def check_sound(path):
    """The copy by itself: SQLite's own check, and one place for each task."""
    with opened(path) as copy:
        equal(copy.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        count = copy.execute("SELECT count(*) FROM task").fetchone()[0]
        equal(copy.execute("SELECT sum(n) FROM tally").fetchone()[0] or 0, count)
    equal(stat.S_IMODE(os.stat(path).st_mode), 0o600)
    return count


def ids_in(place, path):
    lines = place.faina("ls", "--all", "-o", "jsonl", "--url", "sqlite:" + path).stdout
    return {json.loads(line)["id"] for line in lines.splitlines()}


def leftovers(place):
    return [name for name in os.listdir(place.folder) if "backup" in name or name.endswith(".tmp")]


def fill(server, count):
    for _ in range(count):
        server.submit("big", input=BIG)


def test_under_load(place):
    """It ends while writers never pause; what was acknowledged before it began is in it."""
    server = place.serve()
    with Load(server) as load:
        wait_until(lambda: len(load.seen()) > 2000, "there is no load")
        for name in ("one.db", "two.db", "three.db"):
            before = load.seen()
            report = json.loads(place.faina("backup", name).stdout)
            after = load.seen()
            is_true(len(after) > len(before), "the writers stood still")
            equal(check_sound(place.path(name)), report["tasks"])
            is_true(report["tasks"] >= len(before), report, len(before))
            copied = ids_in(place, name)
            equal(before - copied, set(), name)
    equal(leftovers(place), [])


def test_over_http(place):
    server = place.serve()
    task = server.submit(input={"n": 1})["id"]
    answer = server("POST", "/backup", status=200)
    equal(answer.headers["Content-Type"], "application/vnd.sqlite3")
    is_true(answer.headers["Content-Disposition"].startswith('attachment; filename="faina-2'),
            answer.headers)
    with open(place.path("copy.db"), "wb") as file:
        file.write(answer.body)
    os.chmod(place.path("copy.db"), 0o600)
    equal(int(answer.headers["Content-Length"]), len(answer.body))
    equal(check_sound(place.path("copy.db")), 1)
    url = f"http://{server.host}:{server.port}"
    equal(json.loads(place.faina("backup", "there.db", "--url", url).stdout)["tasks"], 1)
    equal(ids_in(place, "there.db"), {task})
    equal(leftovers(place), [])
    is_true(server.log("administrative act"), server.lines)


def test_scopes(place):
    server = place.serve()
    for scope in ("read", "submit", "work"):
        token = place.token(scope)
        equal(server("POST", "/backup", status=403, token=token).code(), "forbidden")
    some = place.token("admin", namespace="blue")
    equal(server("POST", "/backup", status=403, token=some).code(), "forbidden")
    equal(server("POST", "/backup", status=401).code(), "unauthorized")
    server("POST", "/backup", status=200, token=place.token("admin"))
    equal(server("GET", "/backup", status=405, token=some).headers["Allow"], "POST")


def begin(server):
    """Asks for a backup, and reads nothing."""
    sock = socket.create_connection((server.host, server.port), timeout=60)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.sendall(f"POST {API}/backup HTTP/1.1\r\nHost: localhost\r\n"
                 "Content-Length: 0\r\n\r\n".encode())
    return sock


def test_one_at_a_time(place):
    """The next one is refused until the first is sent, or its client has gone."""
    server = place.serve()
    fill(server, 30)
    with begin(server) as sock:
        is_true(sock.recv(12).startswith(b"HTTP/1.1 200"))
        busy = server("POST", "/backup", status=429)
        equal((busy.code(), busy.headers["Retry-After"]), ("overloaded", "1"))
        is_true("only one can run at a time" in place.faina("backup", "no.db", code=1).stderr)
        is_true(not os.path.exists(place.path("no.db")))
        server.submit() # nobody else waits
    wait_until(lambda: server("POST", "/backup").status == 200, "the first one never ends")
    equal(leftovers(place), [])


def test_clients_that_go_away(place):
    server = place.serve()
    fill(server, 30)
    for _ in range(20):
        begin(server).close()
    wait_until(lambda: server("POST", "/backup").status == 200, "it is busy for ever")
    equal(leftovers(place), [])


def test_killed_server(place):
    """What a killed server leaves of a copy is removed by the next one."""
    server = place.serve()
    fill(server, 30)
    sock = begin(server)
    server.kill()
    sock.close()
    with open(place.path("faina.db.backup.tmp"), "ab") as file:
        file.write(b"half")
    server = place.serve()
    equal(leftovers(place), [])
    equal(len(server("GET", "/tasks?type=big").json()["items"]), 30)
    server("POST", "/backup", status=200)


def test_shutdown_does_not_wait_for_a_client(place):
    """A client that does not read its backup is cut off at the end of the drain."""
    server = place.serve("--drain", "1s")
    fill(server, 30)
    with begin(server) as sock:
        is_true(sock.recv(12).startswith(b"HTTP/1.1 200"))
        server.stop()


def test_no_file_to_copy(place):
    server = place.serve(url="memory:")
    server.submit()
    answer = server("POST", "/backup", status=501)
    equal(answer.code(), "not_supported")
    postgres = os.environ.get("FA_POSTGRES_URL")
    if not postgres:
        raise Skip("no PostgreSQL")
    url = f"{postgres}{'&' if '?' in postgres else '?'}schema=backup_{os.getpid()}"
    server = place.serve(url=url)
    answer = server("POST", "/backup", status=501)
    equal(answer.code(), "not_supported")
    is_true("pg_dump" in answer.json()["detail"], answer)
    server.stop()
    is_true("pg_dump" in place.faina("backup", "no.db", "--url", url, code=1).stderr)
    equal(os.path.exists(place.path("no.db")), False)


run(globals())
