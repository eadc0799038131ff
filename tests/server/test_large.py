#!/usr/bin/env python3
"""Requests that carry much: they take a while, others don't wait for them, and all else is as for
small ones."""
import gzip
import json
import signal
import socket
import struct
import threading
import time

from helper_server import API, IS_SLOW, PATIENCE, equal, is_true, run, wait_until

MIB = 1024 * 1024
LARGE = 512 * 1024 # clearly more than what is read in the thread that serves everybody
# An input of about 7 kB, with many values: it takes long to read.
INPUT = {f"k{i:03}": [i, i / 3, "v", None, True] for i in range(200)}


def batch(count, **fields):
    task = json.dumps({"type": "t", "input": INPUT, **fields})
    return ('{"tasks":[' + ",".join([task] * count) + "]}").encode()


class Probe:
    """Asks /healthz again and again, and keeps the longest time that an answer took."""

    def __init__(self, server):
        self.server = server
        self.longest = 0
        self.answers = 0
        self.is_over = False
        self.thread = threading.Thread(target=self.ask)
        self.thread.start()

    def ask(self):
        connection = self.server.connect()
        while not self.is_over:
            begin = time.monotonic()
            self.server("GET", "./healthz", status=200, connection=connection)
            self.longest = max(self.longest, time.monotonic() - begin)
            self.answers += 1
            time.sleep(0.005)
        connection.close()

    def end(self):
        before = self.answers # a probe that is dead has none any more
        wait_until(lambda: self.answers > before, "an answer")
        self.is_over = True
        self.thread.join()
        return self.longest


def check_others(server, begin_request):
    """Nobody waits for a large part of the time that the request takes. (A busy machine may stop
    anybody for a moment, so it has three tries.) `begin_request` gives a socket and what it has not
    sent yet. Gives the start of each answer."""
    seen, answers = [], []
    for _ in range(3):
        sock, rest = begin_request()
        probe = Probe(server)
        begin = time.monotonic()
        sock.sendall(rest)
        answers.append(sock.recv(4096))
        took = time.monotonic() - begin
        seen.append((probe.end(), took))
        sock.close()
        if seen[-1][0] < took / 3:
            return answers
    raise AssertionError(f"the longest wait of others, and what the request took: {seen}")


def begin_post(server, path, body, kind="application/json"):
    """Sends a request but for its last byte."""
    sock = socket.create_connection((server.host, server.port), timeout=PATIENCE)
    sock.sendall(f"POST {API}{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
                 f"Content-Length: {len(body)}\r\n\r\n".encode() + body[:-1])
    return sock


def test_nobody_waits_for_a_body(place):
    """It is read, checked and refused without holding anybody up."""
    server = place.serve()
    body = batch(800 if IS_SLOW else 7000)[:-1] # not closed, which is seen at its end
    lines = batch(1, type="a\nb").split(b"[", 1)[1][:-2] + b"\n"

    def post(path, body, kind, status):
        answers = check_others(
            server, lambda: (begin_post(server, path, body, kind), body[-1:]))
        for answer in answers:
            is_true(answer.startswith(b"HTTP/1.1 %d " % status), answer)

    post("/tasks:batch", body, "application/json", 400)
    post("/tasks:batch", lines * (body.count(b"type")), "application/x-ndjson", 200)
    post("/outcomes", body.replace(b'"tasks"', b'"items"'), "application/json", 400)
    equal(server("GET", "/stats").json()["total"], 0)


def test_nobody_waits_for_an_answer(place):
    """It is made and packed without holding anybody up."""
    server = place.serve()
    value = {str(i * 7919 % 1000003): i * 104729 for i in range(3000 if IS_SLOW else 36000)}
    task = json.dumps({"type": "t", "input": value})
    whole = ('{"tasks":[' + ",".join([task] * 20) + "]}").encode()
    server("POST", "/tasks:batch", whole, 200)

    head = f"GET {API}/tasks?limit=1000 HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n"
    for answer in check_others(server, lambda: (
            socket.create_connection((server.host, server.port), timeout=PATIENCE), head.encode())):
        is_true(answer.startswith(b"HTTP/1.1 200 "), answer)
        is_true(b"Content-Encoding: gzip\r\n" in answer, answer)
    answer = server("GET", "/tasks?limit=1000", None, 200, Accept_Encoding="gzip")
    items = json.loads(gzip.decompress(answer.body))["items"]
    is_true(items and all(item["input"] == value for item in items))


def test_what_is_stored_and_answered(place):
    """Each item of a large body has its own answer, in order."""
    server = place.serve()
    count = 300
    tasks = [{"type": "t", "name": str(i), "input": INPUT, "idempotencyKey": f"key-{i % 200}"}
             for i in range(count)]
    for i in (7, 150, 299):
        tasks[i]["type"] = "a\nb"   # refused when it is checked
    tasks[8]["nonsense"] = 1        # ... and when it is read
    for kind in ("application/json", "application/x-ndjson"):
        lines = "\n".join(map(json.dumps, tasks)).encode()
        body = json.dumps({"tasks": tasks}).encode() if kind == "application/json" else lines
        is_true(len(body) > LARGE)
        items = server("POST", "/tasks:batch", body, 200, Content_Type=kind).json()["items"]
        equal(len(items), count)
        equal([i for i, item in enumerate(items) if "id" not in item], [7, 8, 150, 299])
        is_first = kind == "application/json"
        for i, item in enumerate(items):
            if "id" not in item or i in (207, 208): # (those are the first with their keys)
                continue
            equal(item["existing"], i >= 200 or not is_first)
            if i >= 200:
                equal(item["id"], items[i - 200]["id"])
            else:
                equal(server.get(item["id"])["name"], str(i))
    refused = server("POST", "/tasks:batch", b'{"tasks":[' + b" " * LARGE + b"}")
    equal((refused.status, refused.code()), (400, "invalid_request"))


def test_headers_count_as_ever(place):
    server = place.serve(env={"FAINA_LOG": "debug"})
    task = {"type": "t", "input": "x" * LARGE}
    first = server("POST", "/tasks", task, 201, Idempotency_Key="k", X_Request_Id="large-1",
                   traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    made = first.json()
    equal(made["idempotencyKey"], "k")
    is_true("0af7651916cd43dd8448eb211c80319c" in made["metadata"]["traceparent"])
    equal(first.headers["ETag"], '"1"')
    equal(first.headers["Location"], f"{API}/tasks/{made['id']}")
    again = server("POST", "/tasks", task, 200, Idempotency_Key="k").json()
    equal((again["id"], again["existing"]), (made["id"], True))
    line = [entry for entry in server.log("request") if entry["request"] == "large-1"]
    equal([(entry["path"], entry["status"]) for entry in line], [(API + "/tasks", 201)])
    # Versions of a change, and of a look.
    end = {"workerId": "w", "output": "y" * LARGE}
    path = f"/tasks/{made['id']}"
    server.act(made["id"], "start", workerId="w")
    equal(server("POST", path + ":complete", end, 412, If_Match='"1"').code(), "version_conflict")
    done = server("POST", path + ":complete", end, 200, If_Match='"2"')
    equal((done.json()["status"], done.headers["ETag"]), ("completed", '"3"'))
    server("GET", path, None, 304, If_None_Match='"3"')
    equal(server("GET", path).headers["ETag"], '"3"')
    equal(server("HEAD", path).body, b"")
    equal(server("GET", path + "/wait").json()["output"], end["output"])
    # Two on one connection: the answers come in order.
    connection = server.connect()
    for size in (LARGE, 10, LARGE):
        answer = server("POST", "/tasks", {"type": "t", "input": "z" * size}, 201,
                        connection=connection)
        equal(len(answer.json()["input"]), size)
    connection.close()


def test_pipelined(place):
    """A small request behind a large one is answered after it."""
    server = place.serve()
    sock = begin_post(server, "/tasks:check", json.dumps({"type": "t", "input": "x" * LARGE}).encode())
    with sock:
        sock.sendall(b"}GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        data = b""
        while piece := sock.recv(65536):
            data += piece
    equal(data.count(b"HTTP/1.1 200 "), 2)
    is_true(data.endswith(b'{"status":"ok"}'))
    is_true(b"x" * LARGE in data)


def test_a_token_of_some_namespaces(place):
    """A large /outcomes ends what the token reaches, and nothing else."""
    boss, own = place.token("admin"), place.token("submit,read,work", namespace="mine")
    server = place.serve()
    server.token = boss
    held = []
    for ns in ("mine", "theirs", "mine"):
        task = server("POST", "/tasks", {"type": "t", "namespace": ns}, 201).json()["id"]
        server("POST", f"/tasks/{task}:start", {"workerId": "w"}, 200)
        held.append(task)
    items = [{"id": task, "status": "completed", "output": "x" * LARGE} for task in held]
    got = server("POST", "/outcomes", {"workerId": "w", "items": items}, 200, token=own).json()["items"]
    equal([item.get("code") for item in got], [None, "task_not_found", None])
    equal([server.get(task)["status"] for task in held], ["completed", "running", "completed"])
    answer = server("POST", f"/tasks/{held[1]}:complete", {"workerId": "w", "output": "x" * LARGE},
                    token=own)
    equal((answer.status, answer.code()), (404, "task_not_found"))


def test_clients_that_go(place):
    """What is left of them is all of their batch, or nothing."""
    server = place.serve()
    count = 200
    body = batch(count)
    is_true(len(body) > LARGE)
    for i in range(30):
        sock = begin_post(server, "/tasks:batch", body)
        if i % 3 > 0:
            sock.sendall(body[-1:])
        if i % 3 > 1:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()
    wait_until(lambda: server.metric("faina_http_connections") <= 1, "they are gone")
    total = server("GET", "/stats").json()["total"]
    is_true(total % count == 0 and total <= 20 * count, total)
    equal(len(server("POST", "/tasks:batch", body, 200).json()["items"]), count)


def test_draining(place):
    """What was sent is answered, although the server goes down."""
    server = place.serve("--drain", "60s")
    body = batch(500 if IS_SLOW else 3000)
    socks = [begin_post(server, "/tasks:batch", body) for _ in range(3)]
    for sock in socks:
        sock.sendall(body[-1:])
    server.process.send_signal(signal.SIGTERM)
    for sock in socks:
        data = b""
        while piece := sock.recv(65536):
            data += piece
        is_true(data.startswith(b"HTTP/1.1 200 "), data[:500])
        is_true(b"Connection: close\r\n" in data, data[:500])
        sock.close()
    server.stop()
    equal(server.log("some clients were disconnected"), [])


def test_cut_off(place):
    """Who can't wait for the end of it doesn't have to wait for long."""
    server = place.serve("--drain", "0s")
    body = batch(500 if IS_SLOW else 3000)
    socks = [begin_post(server, "/tasks:batch", body) for _ in range(8)]
    for sock in socks:
        sock.sendall(body[-1:])
    server.stop()
    for sock in socks:
        sock.close()
    server = place.serve()
    equal(server("GET", "/stats").json()["total"] % (500 if IS_SLOW else 3000), 0)


run(globals())
