#!/usr/bin/env python3
"""The stream: what happens to tasks, as it happens, without gaps."""
import json
import os
import resource
import socket
import sqlite3
import threading
import time

from helper_server import API, IS_SLOW, equal, is_true, run, wait_until


class Stream:
    """One listener, read by a thread, which begins at once unless the listener is `lazy`."""

    def __init__(self, server, query="", last=None, token=None, lazy=False):
        self.events, self.is_over, self.head = [], False, b""
        self.last = b"" # id, also one without an event
        self.sock = socket.socket()
        if lazy:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.sock.settimeout(60)
        self.sock.connect((server.host, server.port))
        lines = [f"GET {API}/stream{query} HTTP/1.1", "Host: localhost"]
        lines += [f"Last-Event-ID: {last}"] if last else []
        lines += [f"Authorization: Bearer {token}"] if token else []
        self.sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        file = self.sock.makefile("rb")
        while (line := file.readline()) not in (b"\r\n", b""):
            self.head += line
        assert b" 200 " in self.head and b"text/event-stream" in self.head, self.head
        self.thread = threading.Thread(target=self.read, args=(file,), daemon=True)
        if not lazy:
            self.thread.start()

    def read(self, file):
        text = b""
        try:
            while (size := int(file.readline() or b"0", 16)) > 0:
                text += file.read(size)
                file.readline()
                *whole, text = text.split(b"\n\n")
                for part in whole:
                    fields = dict(line.split(b": ", 1) for line in part.split(b"\n")
                                  if b": " in line)
                    self.last = fields.get(b"id", self.last)
                    if b"event" in fields:
                        self.events.append((fields.get(b"id", b"").decode(),
                                            fields[b"event"].decode(),
                                            json.loads(fields[b"data"])))
        except (OSError, ValueError):
            pass
        self.is_over = True

    def names(self):
        return [name for _, name, _ in list(self.events)]

    def wait(self, count):
        wait_until(lambda: len(self.events) >= count, f"{count} events, not {self.names()}")
        return self.events

    def close(self):
        # The file that the thread reads holds the socket open too.
        self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()
        self.thread.join()


def test_a_whole_life(place):
    server = place.serve()
    server.submit("before")
    stream = Stream(server)
    task = server.submit("t", name="n", createdBy="ann")["id"]
    server.act(task, "start", workerId="w")
    server.act(task, "progress", workerId="w", progress=50)
    server.act(task, "complete", workerId="w")
    wait_until(lambda: "completed" in stream.names(), "it ends")
    # Where several nodes write, "from now on" may begin a moment early.
    names = [name for _, name, event in stream.events if event["type"] != "before"]
    equal((names[0], names[-1]), ("created", "completed"))
    is_true("started" in names, names)
    event = stream.events[-1][2]
    equal([event[name] for name in ("taskId", "type", "name", "namespace", "status", "createdBy",
                                    "event")],
          [task, "t", "n", "default", "completed", "ann", "completed"])
    equal({event["taskId"] for _, _, event in stream.events if event["type"] != "before"}, {task})
    stream.close()


def test_filters(place):
    server = place.serve()
    team = server("POST", "/teams", {"name": "x"}, 201).json()["id"]
    parent = server.held("p", type_="p")["id"]
    streams = {query: Stream(server, query) for query in (
        "?type=a", "?status=completed,failed", f"?teamId={team}", f"?team_id={team}",
        "?createdBy=bob", "?idempotencyKey=k", "?namespace=other", "?namespace=*", f"?parentId={parent}", "",
        "?createdAfter=2020-01-01T00:00:00Z&type=a", "?createdAfter=2090-01-01T00:00:00Z",
        "?createdBefore=2090-01-01T00:00:00Z&type=b", "?createdBefore=2020-01-01T00:00:00Z")}
    server.submit("a")
    server.submit("b", teamId=team)
    server.submit("c", createdBy="bob")
    server.submit("g", idempotencyKey="k")
    server.submit("g", idempotencyKey="kk")
    server.submit("d", namespace="other")
    task = server.held("w", type_="f")["id"]
    server.act(task, "complete", workerId="w")
    everything = streams["?namespace=*"]
    wait_until(lambda: "completed" in everything.names(), "all is told")
    time.sleep(0.3)

    def types(query):
        # "From now on" may begin a moment early where several nodes write: with the parent's start.
        return sorted({event["type"] for _, _, event in streams[query].events} - {"p"})

    equal(types("?type=a"), ["a"])
    equal(types("?createdAfter=2020-01-01T00:00:00Z&type=a"), ["a"])
    equal(types("?createdAfter=2090-01-01T00:00:00Z"), [])
    equal(types("?createdBefore=2090-01-01T00:00:00Z&type=b"), ["b"])
    equal(types("?createdBefore=2020-01-01T00:00:00Z"), [])
    equal(types("?status=completed,failed"), ["f"])
    equal(types(f"?teamId={team}"), ["b"])
    equal(types(f"?team_id={team}"), ["b"])
    equal(types("?createdBy=bob"), ["c"])
    equal([event["idempotencyKey"] for _, _, event in streams["?idempotencyKey=k"].events], ["k"])
    equal(types("?namespace=other"), ["d"])
    equal(types("?namespace=*"), ["a", "b", "c", "d", "f", "g"])
    equal(types(""), ["a", "b", "c", "f", "g"])
    equal(types(f"?parentId={parent}"), [])
    server.act(parent, "block", workerId="p", subtasks=[{"type": "e"}])
    wait_until(lambda: types(f"?parentId={parent}") == ["e"], "the subtask is told")
    for stream in streams.values():
        stream.close()


def test_worker_attempt_progress_and_parent(place):
    server = place.serve()
    stream = Stream(server, "?namespace=*")
    parent = server.held(type="p")["id"]
    server.act(parent, "block", workerId="w", subtasks=[{"type": "c"}])
    child = server("GET", f"/tasks/{parent}/children", status=200).json()["items"][0]["id"]
    server.act(child, "start", workerId="a worker")
    server.act(child, "progress", workerId="a worker", progress=40)
    server.act(child, "fail", workerId="a worker", error={"message": "no", "retryAfter": 0})
    server.act(child, "start", workerId="v")
    server.act(child, "complete", workerId="v")
    wait_until(lambda: "completed" in stream.names(), "it ends")
    shown = [(event["event"], event["workerId"], event["attempt"], event["progress"])
             for _, _, event in stream.events if event["taskId"] == child]
    equal(shown, [("created", None, 0, 0), ("claimed", "a worker", 1, 0), ("started", "a worker", 1, 0),
                  ("progress", "a worker", 1, 40), ("retry_scheduled", "a worker", 1, 40),
                  ("claimed", "v", 2, 40), ("started", "v", 2, 40), ("completed", "v", 2, 100)])
    equal({(event["taskId"] == child, event["parentId"]) for _, _, event in stream.events},
          {(True, parent), (False, None)})


def test_some_tasks(place):
    server = place.serve()
    tasks = [server.submit()["id"] for _ in range(3)]
    stream = Stream(server, f"?ids={tasks[0]},{tasks[2]}")
    last = server.submit()["id"]
    for task in (*tasks, last):
        server.act(task, "cancel")

    def ended():
        return [event["taskId"] for _, _, event in stream.events if event["status"] == "cancelled"]
    wait_until(lambda: len(ended()) >= 2, "both end")
    equal(ended(), [tasks[0], tasks[2]])
    # On PostgreSQL it may begin with events that were just before it.
    equal({event["taskId"] for _, _, event in stream.events}, {tasks[0], tasks[2]})
    for bad in ("x", tasks[0] + ",", ",".join([tasks[0]] * 201)):
        equal(server("GET", f"/stream?ids={bad}", status=400).json()["errors"][0]["field"], "ids")


def test_counts(place):
    """Aggregated: no single events, and each change of a status is counted once."""
    server = place.serve()
    stream, other = Stream(server, "?aggregate=1s"), Stream(server, "?aggregate=1s&type=b")
    for _ in range(20):
        server.submit("a")
    for _ in range(3):
        task = server.submit("b")["id"]
        server.act(task, "start", workerId="w")
        server.act(task, "progress", workerId="w", progress=10)
        server.act(task, "complete", workerId="w")

    def total(events):
        sums = {}
        for _, name, event in list(events):
            equal(name, "counts")
            for item in event["items"]:
                key = item["type"], item["status"]
                sums[key] = sums.get(key, 0) + item["count"]
        return sums

    ends = {("b", status): 3 for status in ("pending", "claimed", "running", "completed")}
    wait_until(lambda: total(stream.events) == {**ends, ("a", "pending"): 20}, "all are counted")
    wait_until(lambda: total(other.events) == ends, "those of the type are counted")
    is_true(len(stream.events) < 20, stream.events)
    # It continues behind what was counted.
    last = stream.events[-1][0]
    stream.close()
    server.submit("c")
    stream = Stream(server, "?aggregate=1s", last=last)
    wait_until(lambda: stream.events, "the rest is counted")
    equal(total(stream.events), {("c", "pending"): 1})
    for bad in ("0", "2s", "x"):
        equal(server("GET", f"/stream?aggregate={bad}", status=400).json()["errors"][0]["field"], "aggregate")


def test_resuming_without_gaps(place):
    """Listeners that come and go, while tasks are made: together each has heard everything, once."""
    server = place.serve()
    count, seen, last = 400, [], None
    first = Stream(server)
    maker = threading.Thread(target=lambda: [server.submit("t", input=i) for i in range(count)])
    maker.start()
    stream = first
    while len(seen) < count:
        wait_until(lambda: len(stream.events) > 20 or len(seen) + len(stream.events) >= count, # pylint: disable=cell-var-from-loop
                   "more events")
        stream.close()
        seen += [event["taskId"] for _, _, event in stream.events]
        last = stream.events[-1][0]
        if len(seen) < count:
            stream = Stream(server, last=last)
    maker.join()
    equal(len(seen), count)
    equal(len(set(seen)), count)
    made = server("GET", "/tasks?limit=1000").json()["items"][::-1]
    equal(seen, [task["id"] for task in made])
    again = Stream(server, f"?lastEventId={first.events[0][0]}")
    again.wait(count - 1)
    equal([event["taskId"] for _, _, event in again.events], seen[1:])
    again.close()


def test_who_hears_nothing_is_told_its_place(place):
    """So that it can come back after long, although what it heard last is forgotten."""
    server = place.serve()
    stream = Stream(server, "?type=rare")
    server.submit("often")
    wait_until(lambda: stream.last, "a place without an event")
    equal(stream.events, [])
    stream.close()
    server.submit("often")
    server.submit("rare")
    later = Stream(server, "?namespace=*", last=stream.last.decode())
    equal([event["type"] for _, _, event in later.wait(2)], ["often", "rare"])
    later.close()


def test_across_a_restart(place):
    if not place.url.startswith("sqlite"):
        return
    server = place.serve()
    stream = Stream(server)
    server.submit("one")
    stream.wait(1)
    last = stream.events[-1][0]
    server.submit("two")
    stream.close()
    server.kill()
    server = place.serve()
    server.submit("three")
    stream = Stream(server, last=last)
    stream.wait(2)
    equal([event["type"] for _, _, event in stream.events], ["two", "three"])
    stream.close()


def test_from_the_oldest_on(place):
    server = place.serve()
    for name in ("one", "two"):
        server.submit(name)
    for stream in (Stream(server, last="0"), Stream(server, "?lastEventId=0")):
        equal([(what, event["type"]) for _, what, event in stream.wait(2)[:2]],
              [("created", "one"), ("created", "two")])
        server.submit("three")
        equal(stream.wait(3)[2][2]["type"], "three")
        stream.close()


def test_nonsense_is_refused(place):
    server = place.serve()
    for last in ("nonsense", "00", "0.0", "-1", "1.2.3.4", "1" * 300):
        answer = server("GET", "/stream", status=400, Last_Event_ID=last)
        equal(answer.json()["errors"][0]["field"], "Last-Event-ID", last)
    answer = server("GET", "/stream?lastEventId=nonsense", status=400)
    equal(answer.json()["errors"][0]["field"], "lastEventId")
    for query in ("?lastEventId=nonsense", "?status=x", "?unknown=1", "?teamId=a&team_id=a", "?teamId=a",
                  "?parentId=a", "?type=", "?namespace=", "?status=", "?idempotencyKey="):
        equal(server("GET", "/stream" + query, status=400).code(), "invalid_request", query)
    equal(server("HEAD", "/stream", status=200).body, b"")
    equal(server.metric("faina_streams"), 0)


def test_the_end_is_told(place):
    server = place.serve()
    streams = [Stream(server) for _ in range(20)]
    begin = time.monotonic()
    server.stop()
    is_true(time.monotonic() - begin < 20)
    for stream in streams:
        stream.thread.join(20)
        equal(stream.names(), ["end"])
        is_true(stream.is_over)


def test_those_that_leave_are_forgotten(place):
    server = place.serve()
    streams = [Stream(server) for _ in range(50)]
    equal(server.metric("faina_streams"), 50)
    for stream in streams:
        stream.close()
    server.submit()
    server.submit()
    wait_until(lambda: (server.submit(), server.metric("faina_streams"))[1] == 0, "all are gone")


def test_namespaces_of_tokens(place):
    boss, own = place.token("admin"), place.token("read", namespace="mine,ours")
    server = place.serve()
    server.token = boss
    equal(server("GET", "/stream", status=403, token=own).code(), "forbidden")
    equal(server("GET", "/stream?namespace=theirs", status=403, token=own).code(), "forbidden")
    stream = Stream(server, "?namespace=ours", token=own)
    for ns in ("mine", "theirs", "ours"):
        server.submit(ns, namespace=ns)
    stream.wait(1)
    time.sleep(0.3)
    equal([event["type"] for _, _, event in stream.events], ["ours"])
    stream.close()


def test_a_stream_ends_with_its_token(place):
    server = place.serve()
    anybody = Stream(server) # as long as there is no token, nobody needs one
    server.token = place.token("admin")
    reads, brief_read = place.token("read", name="reader"), place.token("read", expires="10s")
    wait_until(lambda: server("GET", "/tasks", token=brief_read).status == 200 and
               server("GET", "/tasks", token="x").status == 401, "the server knows of them")
    boss, reader = Stream(server, token=server.token), Stream(server, token=reads)
    brief = Stream(server, token=brief_read)
    tokens = server("GET", "/tokens", status=200).json()["items"]
    one = next(token["id"] for token in tokens if token["name"] == "reader")
    server("DELETE", f"/tokens/{one}", status=204)
    for stream in (anybody, reader, brief):
        wait_until(lambda stream=stream: stream.is_over, "it ends")
        equal(stream.names()[-1], "end")
        is_true("token" in stream.events[-1][2]["message"], stream.events)
    server.submit("last")
    wait_until(lambda: "created" in boss.names(), "the others go on")
    is_true(not boss.is_over)
    boss.close()


def test_many_listen(place):
    """1,000 streams: little memory, no thread each, everybody hears."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard > 0 else soft, hard))
    server = place.serve()
    count = 100 if IS_SLOW else 1000
    socks = []
    for _ in range(count):
        sock = socket.create_connection((server.host, server.port), timeout=60)
        sock.sendall(f"GET {API}/stream HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        socks.append(sock)
    wait_until(lambda: server.metric("faina_streams") == count, "all listen")
    with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as file:
        status = dict(line.split(":", 1) for line in file)
    is_true(int(status["Threads"]) < 20, status["Threads"])
    if not IS_SLOW:
        is_true(int(status["VmRSS"].split()[0]) < 100 * 1024, status["VmRSS"])
    task = server.submit()["id"].encode()
    for sock in socks:
        data = b""
        while task not in data:
            piece = sock.recv(65536)
            assert piece, data
            data += piece
        sock.close()


def test_one_that_does_not_read_holds_nobody_up(place):
    server = place.serve()
    lazy = socket.create_connection((server.host, server.port))
    lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    lazy.sendall(f"GET {API}/stream HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    wait_until(lambda: server.metric("faina_streams") == 1, "it listens")
    stream = Stream(server)
    rounds = 5 if IS_SLOW else 30
    for _ in range(rounds):
        server("POST", "/tasks:batch", {"tasks": [{"type": "t", "name": "x" * 200}] * 1000}, 200)
    stream.wait(rounds * 1000)
    equal(len({event["taskId"] for _, _, event in stream.events}), rounds * 1000)
    lazy.close()
    stream.close()


def test_a_slow_reader_is_dropped_and_may_come_back(place):
    """Half a minute without reading is too long. What was heard until then is heard to its end."""
    if IS_SLOW or not place.url.startswith("sqlite"):
        return
    server = place.serve()
    lazy = Stream(server, lazy=True)
    made = []
    for _ in range(12):
        answer = server("POST", "/tasks:batch", {"tasks": [{"type": "t", "name": "x" * 200}] * 1000})
        made += [item["id"] for item in answer.json()["items"]]
    time.sleep(33)
    lazy.thread.start()
    wait_until(lambda: lazy.is_over, "the end")
    equal(lazy.events[-1][1], "dropped")
    is_true("too slowly" in lazy.events[-1][2]["message"], lazy.events[-1])
    heard = [event["taskId"] for _, name, event in lazy.events if name == "created"]
    equal(heard, made[:len(heard)])
    is_true(0 < len(heard) < len(made), len(heard))
    back = Stream(server, last=lazy.events[-2][0])
    back.wait(len(made) - len(heard))
    equal([event["taskId"] for _, _, event in back.events], made[len(heard):])
    back.close()


def test_a_place_that_is_forgotten(place):
    """The log reaches an hour back. Who comes with an older place is told, and hears the rest. (The
    newest of what is old is kept until there is something newer.)"""
    if not place.url.startswith("sqlite"):
        return
    server = place.serve()
    stream = Stream(server)
    server.submit("one")
    last = stream.wait(1)[-1][0]
    server.submit("two")
    server.submit("three")
    stream.wait(3)
    stream.close()
    server.stop()
    store = sqlite3.connect(place.path("faina.db"))
    store.execute("UPDATE log SET at_us = at_us - 2 * 3600 * 1000000")
    store.commit()
    store.close()
    server = place.serve()
    server.submit("four")
    wait_until(lambda: server("GET", f"/log?cursor={last}").json()["hasGap"], "it is forgotten")
    stream = Stream(server, last=last)
    wait_until(lambda: "four" in [event.get("type") for _, _, event in stream.events], "the rest")
    is_true("removed from the log" in stream.events[0][2]["message"], stream.events[0])
    is_true(set(stream.names()[1:]) == {"created"}, stream.names())
    is_true("two" not in [event.get("type") for _, _, event in stream.events], stream.events)
    stream.close()


def test_many_that_nobody_reads(place):
    """A thousand streams that are not read slow down neither submits nor the end of the server."""
    if IS_SLOW or not place.url.startswith("sqlite"):
        return
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    server = place.serve("--drain", "15s", "--waits-per-client", "0")
    connection = server.connect()
    batch = json.dumps({"tasks": [{"type": "t"}] * 100}).encode()

    def worked():
        """How long the server has used a processor; other processes have no part in that."""
        with open(f"/proc/{server.process.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def submit():
        begin = worked()
        for _ in range(40):
            server("POST", "/tasks:batch", batch, 200, connection=connection)
        return worked() - begin

    alone = submit()
    streams = [socket.create_connection((server.host, server.port)) for _ in range(1000)]
    for sock in streams:
        sock.sendall(f"GET {API}/stream HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    wait_until(lambda: server.metric("faina_streams") == 1000, "all are open")
    beside = submit()
    is_true(beside < 10 * alone + 1.5, f"{alone} s of work, with streams {beside} s")
    # One that is read gets its events all the same.
    stream = Stream(server)
    server.submit("seen")
    wait_until(lambda: "seen" in [event.get("type") for _, _, event in stream.events], "it comes")
    begin = time.monotonic()
    server.stop()
    is_true(time.monotonic() - begin < 15, "it ends within the time for that")
    is_true(not server.log("some clients were disconnected"))
    equal(stream.names()[-1], "end")
    for sock in streams:
        sock.close()
    stream.close()


run(globals(), on_postgres=True)
