#!/usr/bin/env python3
"""Limits: heads, bodies, slow clients, connections; and what HTTP allows: pipelining, chunks."""
import json
import os
import re
import resource
import socket
import sqlite3
import struct
import threading
import time

from helper_server import API, IS_SLOW, equal, is_true, read_all, run, wait_until

INPUT_MAX = 1024 * 1024
BODY_MAX = INPUT_MAX + 256 * 1024
HEAD_MAX = 16 * 1024


def request(method, path, body=b"", *headers):
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *headers]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def statuses(data):
    """Of all answers in a stream."""
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d\d\d) ", data)]


def test_bodies(place):
    server = place.serve()

    def body(size):
        start, end = b'{"type":"t","input":"', b'"}'
        return start + b"x" * (size - len(start) - len(end)) + end

    frame = len(b'{"type":"t","input":}')
    equal(server("POST", "/tasks", body(INPUT_MAX + frame)).status, 201)
    answer = server("POST", "/tasks", body(INPUT_MAX + frame + 1))
    equal((answer.status, answer.code()), (413, "payload_too_large"))
    equal(answer.json()["errors"][0]["field"], "input")
    # A client that sends everything before it looks for an answer gets it.
    for size in (BODY_MAX + 1, 8 * 1024 * 1024):
        answer = server("POST", "/tasks", body(size))
        equal((answer.status, answer.code()), (413, "payload_too_large"))
    # A huge body is not read at all.
    for size in (16 * 1024 * 1024 + 1, 10**12):
        data = server.raw(request("POST", API + "/tasks", b"", "Content-Type: application/json",
                                  f"Content-Length: {size}", "Connection: close"))
        equal(statuses(data), [413])
        is_true(b"payload_too_large" in data)
    equal(server("POST", "/tasks", b'{"type":"t"}' + b" " * (BODY_MAX - 12)).status, 201)
    equal(server("GET", "/stats").json()["total"], 2)


def test_all_bodies_at_once(place):
    """Each of them may be as large as it is; together they are too many."""
    server = place.serve()
    size, piece = 64 * 1024 * 1024, b" " * 1024 * 1024
    socks = []
    for _ in range(8): # 512 MiB, but for a byte of each
        sock = socket.create_connection((server.host, server.port), timeout=60)
        sock.sendall(request("POST", API + "/tasks:batch", b"", "Content-Type: application/json",
                             f"Content-Length: {size}"))
        for _ in range(63):
            sock.sendall(piece)
        sock.sendall(piece[1:])
        socks.append(sock)
    wait_until(lambda: server("POST", "/tasks", b'{"a":111}').status == 429, "no room is left")
    answer = server("POST", "/tasks", b'{"a":111}')
    equal((answer.status, answer.code(), answer.headers["Retry-After"]), (429, "overloaded", "1"))
    equal(server("POST", "/tasks", b'{"a":11}').status, 400) # it had room
    equal(server("POST", "/tasks", b" " * (BODY_MAX + 1)).code(), "payload_too_large")
    # One that ends makes room.
    socks[0].sendall(b" ")
    equal(statuses(socks[0].recv(4000)), [400])
    server.submit()
    for sock in socks:
        sock.close()


def test_answers_that_nobody_reads(place):
    server = place.serve()
    for _ in range(20):
        server.submit(input="x" * 1000000)

    def ask():
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(60)
        sock.connect((server.host, server.port))
        sock.sendall(request("GET", API + "/tasks?limit=1000"))
        return sock

    count = 60 # of 16 MB each
    socks = [ask() for _ in range(count)]
    got = [statuses(sock.recv(1000))[0] for sock in socks]
    is_true(13 <= got.count(200) and got.count(200) + got.count(429) == count, got)
    # The slowest clients are disconnected, so that there is room again.
    wait_until(lambda: len(server("GET", "/tasks?limit=1000").body) > 15000000, "room")
    is_true(server.log("clients that don't read their answers were disconnected"))
    # What is small is answered, and so is what has changed something.
    server.submit()
    server("GET", "/stats", status=200)
    equal(len(server.claim(limit=10)), 10)
    with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as file:
        status = dict(line.split(":", 1) for line in file)
    if not IS_SLOW:
        is_true(int(status["VmRSS"].split()[0]) < 640 * 1024, status["VmRSS"])
    for sock in socks:
        sock.close()
    wait_until(lambda: server("GET", "/tasks?limit=1000").status == 200, "there is room again")


def test_the_room_for_answers_is_a_setting(place):
    server = place.serve("--answers-max", "3000000", "--answers-per-connection", "500000")
    for _ in range(2):
        server.submit(input="x" * 1000000)
    equal(len(server("GET", "/tasks?limit=1", status=200).json()["items"]), 1)
    for _ in range(2):
        server.submit(input="x" * 1000000)
    answer = server("GET", "/tasks?limit=4")
    equal((answer.status, answer.code(), answer.headers["Retry-After"]), (429, "overloaded", "1"))
    equal(answer.headers.get("Content-Encoding"), None)


def chunked(pieces):
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def test_chunks(place):
    server = place.serve()
    head = request("POST", API + "/tasks", b"", "Content-Type: application/json",
                   "Transfer-Encoding: chunked", "Connection: close")
    equal(statuses(server.raw(head + chunked([b'{"ty', b'pe":"t"', b"}"]))), [201])
    big = [b'{"type":"t","input":"'] + [b"x" * 65536] * 30 + [b'"}']
    equal(statuses(server.raw(head + chunked(big))), [413])
    for bad in (b"zz\r\n{}\r\n0\r\n\r\n", b"-1\r\n", b"ffffffffffffffffff\r\n"):
        is_true(statuses(server.raw(head + bad)) in ([400], [413], []), bad)
    equal(server("GET", "/stats").json()["total"], 1)


def test_heads(place):
    server = place.serve()
    long = "x" * (HEAD_MAX // 2)
    equal(statuses(server.raw(request("GET", "/healthz", b"", "A: " + long, "Connection: close"))),
          [200])
    for target, header, status in (("/healthz", "A: " + "x" * HEAD_MAX, 431),
                                   ("/" + "x" * HEAD_MAX, "A: b", 414),
                                   ("/healthz?" + "x" * HEAD_MAX, "A: b", 414)):
        refused(server.raw(request("GET", target, b"", header, "Connection: close")), status)
    many = [f"H{i}: x" for i in range(5000)]
    refused(server.raw(request("GET", "/healthz", b"", *many, "Connection: close")), 431)
    server("GET", "./healthz", status=200)


def refused(data, status, code="invalid_request"):
    """One answer: a problem like any other, although the request was none."""
    head, body = data.split(b"\r\n\r\n", 1)
    lines = head.decode().split("\r\n")
    equal(statuses(data), [status], data)
    headers = dict(line.lower().split(": ", 1) for line in lines[1:])
    equal(headers["content-type"], "application/problem+json", data)
    equal((headers["connection"], headers["content-length"]), ("close", str(len(body))), data)
    is_true(headers["x-request-id"] and headers["cache-control"] == "no-store", data)
    problem = json.loads(body)
    equal((problem["status"], problem["code"]), (status, code), data)
    equal(problem["type"], "urn:faina:problem:" + code)


def test_what_is_no_request(place):
    server = place.serve()
    post = b"POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    for data, status in ((b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", 505),
                         (b"GET / HTTP/0.1\r\nHost: localhost\r\n\r\n", 505),
                         (b"GET / HTTQ/1.1\r\nHost: localhost\r\n\r\n", 400),
                         (b"GET / HTTP/1.1\r\n\r\n", 400),
                         (b"GET / HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n", 400),
                         (post + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
                         (post + b"Content-Length: x\r\n\r\n", 400),
                         (post + b"Content-Length: -5\r\n\r\nhello", 400)):
        refused(server.raw(data, timeout=20), status)
    refused(server.raw(post + b"Content-Length: 99999999999999999999999\r\n\r\n", timeout=20), 413,
            "payload_too_large")
    is_true('route="none",code="505"' in server("GET", "./metrics").body.decode())
    # The connection before it was good for other requests.
    data = server.raw(request("GET", "/healthz") + b"GET / HTTP/9.9\r\n\r\n", timeout=20)
    equal(statuses(data), [200, 505])


def test_smuggling(place):
    """A request that two readers could cut in two ways is refused, and its connection closed."""
    server = place.serve()
    hidden = b'POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' \
             b'Content-Length: 12\r\n\r\n{"type":"h"}'
    head = b"POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    for fields, body in ((b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
                         (b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", b"0\r\n\r\n"),
                         (b"Content-Length: 5\r\nContent-Length: 6\r\n", b"     "),
                         (b"Content-Length: 5\r\nContent-Length: 5\r\n", b"     "),
                         (b"Content-Length: +5\r\n", b"     "),
                         (b"Content-Length: 5, 5\r\n", b"     "),
                         (b"Content-Length: 0x5\r\n", b"     "),
                         (b"Content-Length: \r\n", b""),
                         (b"Content-Length: -1\r\n", b""),
                         (b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n"),
                         (b"Transfer-Encoding: chunked, identity\r\n", b"0\r\n\r\n"),
                         (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                          b"0\r\n\r\n"),
                         (b"Transfer-Encoding : chunked\r\n", b"0\r\n\r\n"),
                         (b"Content-Length : 5\r\n", b"     "),
                         (b"Host: localhost\r\n", b"")):
        data = server.raw(head + fields + b"\r\n" + body + hidden, timeout=20)
        equal([status for status in statuses(data) if status not in (400, 413, 501)], [], fields, data)
    equal(server("GET", "/stats").json()["total"], 0)
    # Without a host, a request of HTTP/1.1 says nothing about whom it means.
    equal(statuses(server.raw(b"GET /healthz HTTP/1.1\r\n\r\n", timeout=20)), [400])
    equal(statuses(server.raw(b"GET /healthz HTTP/1.0\r\n\r\n", timeout=20)), [200])


def test_line_ends(place):
    """Line ends that a proxy may read in another way are refused, and the connection closed."""
    server = place.serve()
    hidden = request("POST", API + "/tasks", b'{"type":"h"}')
    head = (b"POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/json\r\n")
    chunks = head + b"Transfer-Encoding: chunked\r\n\r\n"
    old = chunks.replace(b"HTTP/1.1", b"HTTP/1.0")
    body = b'c\r\n{"type":"t"}\r\n0\r\n\r\n'
    bad = [chunks + body.replace(b"\r\n", b"\n"), old + body]
    for i in range(4): # each line end of the body for itself
        parts = body.split(b"\r\n")
        bad.append(chunks + b"\r\n".join(parts[:i + 1]) + b"\n" + b"\r\n".join(parts[i + 1:]))
    bad += [chunks + body.replace(b"0\r\n", b"0\r\nA: b\n"),
            chunks + body.replace(b"c\r\n", b"c;a\rb\r\n"),
            chunks + body.replace(b"c\r\n", b"c\r\r\n"),
            head + b'X: a\rb\r\nContent-Length: 12\r\n\r\n{"type":"t"}',
            head + b'X: a\r\r\nContent-Length: 12\r\n\r\n{"type":"t"}',
            head + b'X: a\rContent-Length: 3\r\nContent-Length: 12\r\n\r\n{"type":"t"}']
    for data in bad:
        refused(server.raw(data + hidden, timeout=20), 400)
        # The same byte by byte, in effect: the head, then the rest.
        with socket.create_connection((server.host, server.port), timeout=20) as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                for piece in re.findall(rb"(?s).{1,7}", data + hidden):
                    sock.sendall(piece)
            except OSError:
                pass # refused before all of it was sent
            got = read_all(sock)
            is_true(statuses(got) in ([400], []), data, got)
    # Requests before it on the connection were good.
    data = server.raw(request("GET", "/healthz") * 3 + bad[0] + hidden, timeout=20)
    equal(statuses(data), [200, 200, 200, 400])
    equal(server("GET", "/stats").json()["total"], 0)
    # What is right goes on, on the same connection.
    data = server.raw((chunks + body) * 3 + hidden +
                      request("GET", "/healthz", b"", "Connection: close"), timeout=20)
    equal(statuses(data), [201, 201, 201, 201, 200])


def test_nul(place):
    """What comes after a NUL is hidden from programs in C, and not from others."""
    server = place.serve()
    for line in (b"GET /healthz\0x HTTP/1.1", b"GET /healthz\0 HTTP/1.1", b"GET /\0healthz HTTP/1.1",
                 b"GET /healthz?a=\0b HTTP/1.1", b"GET /api/v1/workers/a%00b HTTP/1.1"):
        data = server.raw(line + b"\r\nHost: localhost\r\nConnection: close\r\n\r\n", timeout=20)
        equal(statuses(data), [400], line)
        is_true(b"application/problem+json" in data, data)
    equal(server("POST", "/tasks", b'{"type":"\0"}').code(), "invalid_request")
    equal(server("POST", "/tasks", b'{"type":"t","input":"\\u0000"}').code(), "invalid_request")
    # A length that goes on after a NUL.
    hidden = request("POST", API + "/tasks", b'{"type":"h"}')
    for field in (b"Content-Length: 12\x000", b"Content-Length: 12\0\r\nX:y", b"X: a\0b\r\nContent-Length: 12"):
        data = server.raw(b"POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                          b"application/json\r\n" + field + b'\r\n\r\n{"type":"t"}' + hidden, timeout=20)
        equal(statuses(data), [400], field)
    equal(server("GET", "/stats").json()["total"], 0)
    # Unusual and harmless.
    odd = b"GET /healthz HTTP/1.1\r\nHost:localhost\r\nA:  b\r\nB:\r\n"
    equal(statuses(server.raw(odd + b"\r\n" + odd + b"Connection: close\r\n\r\n", timeout=20)),
          [200, 200])


def test_nonsense(place):
    server = place.serve()
    for data in (b"\r\n\r\n\r\n", b"GET\r\n\r\n", b"\x00\x01\x02\xff\r\n\r\n",
                 b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET / HTTP/9.9\r\n\r\n",
                 b"GET /api/v1/tasks?type=%00 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                 b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n",
                 b"G" * 100000):
        with socket.create_connection((server.host, server.port), timeout=1) as sock:
            try:
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
                answer = read_all(sock)
            except OSError: # it may close before all is sent
                answer = b""
        is_true(b" 200 " not in answer.split(b"\r\n")[0], data[:50], answer[:200])
    server("GET", "./healthz", status=200)


def test_a_target_that_is_a_whole_url(place):
    """As a client of a proxy sends it; its host counts, whatever the header says."""
    server = place.serve()
    for target, host, status in (("http://localhost/healthz", "evil.com", 200),
                                 ("HTTP://127.0.0.1:80/healthz", "localhost", 200),
                                 ("http://localhost/api/v1/tasks?limit=1", "localhost", 200),
                                 ("http://localhost/api/v1/tasks?limit=0", "localhost", 400),
                                 ("http://localhost", "localhost", 200),
                                 ("http://localhost/nope", "localhost", 404),
                                 ("http://evil.com/healthz", "localhost", 403),
                                 ("http://", "localhost", 403)):
        data = server.raw(f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
                          .encode(), timeout=20)
        equal(statuses(data), [status], target, data)


def test_pipelining(place):
    server = place.serve()
    count = 200
    requests = [request("POST", API + "/tasks", json.dumps({"type": "t", "input": i}).encode())
                for i in range(count)]
    requests[50] = request("POST", API + "/tasks", b"{}")
    requests[60] = request("GET", "/healthz")
    requests.append(request("GET", "/healthz", b"", "Connection: close"))
    data = server.raw(b"".join(requests))
    got = statuses(data)
    equal(len(got), count + 1)
    equal([i for i, status in enumerate(got) if status != 201], [50, 60, count])
    bodies = [json.loads(line) for line in data.replace(b"HTTP/1.1", b"\nHTTP/1.1").split(b"\n")
              if line.startswith(b'{"id"')]
    equal([task["input"] for task in bodies], [i for i in range(count) if i not in (50, 60)])


def test_keep_alive_after_refusals(place):
    """A small body that is refused doesn't cost the connection."""
    server = place.serve()
    connection = server.connect()
    for _ in range(3):
        equal(server("POST", "/tasks", {"typo": 1}, connection=connection).status, 400)
        equal(server("POST", "/nope", {"typo": 1}, connection=connection).status, 404)
        equal(server("POST", "/tasks", b"x", connection=connection, Content_Type="text/plain").status,
              415)
        equal(server("POST", "/tasks", {"type": "t"}, connection=connection).status, 201)
    connection.close()
    equal(server("GET", "/stats").json()["total"], 3)


def test_expect_continue(place):
    server = place.serve()
    with socket.create_connection((server.host, server.port), timeout=30) as sock:
        sock.sendall(request("POST", API + "/tasks", b"", "Content-Type: application/json",
                             "Content-Length: 12", "Expect: 100-continue", "Connection: close"))
        is_true(sock.recv(100).startswith(b"HTTP/1.1 100"))
        sock.sendall(b'{"type":"t"}')
        equal(statuses(read_all(sock)), [201])
    # One that would be refused is told before it sends anything.
    with socket.create_connection((server.host, server.port), timeout=30) as sock:
        sock.sendall(request("POST", API + "/tasks", b"", "Content-Type: application/json",
                             f"Content-Length: {10 * BODY_MAX}", "Expect: 100-continue"))
        equal(statuses(sock.recv(4000)), [413])


def test_slow_clients(place):
    """Thousands that send next to nothing neither stop the others nor stay for ever."""
    server = place.serve("--connections-per-client", "0")
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    count = min(500 if IS_SLOW else 10000, limit - 100)
    stalled = []
    for i in range(count):
        sock = socket.create_connection((server.host, server.port))
        sock.sendall((b"", b"GET /heal", b"POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\n",
                      b"POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                      b"application/json\r\nContent-Length: 100\r\n\r\n{")[i % 4])
        stalled.append(sock)
    begin = time.monotonic()
    for _ in range(20):
        server.submit()
    is_true(time.monotonic() - begin < 10)
    is_true(server.metric("faina_http_connections") >= count)
    with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as file:
        status = dict(line.split(":", 1) for line in file)
    is_true(int(status["Threads"]) < 20, status["Threads"])
    if not IS_SLOW:
        is_true(int(status["VmRSS"].split()[0]) < 20 * count + 30000, status["VmRSS"])
    # A byte now and then doesn't help: a head must be whole in time.
    until = time.monotonic() + 50
    drip = stalled[2]
    drip.settimeout(5)
    is_closed = False
    while not is_closed and time.monotonic() < until:
        try:
            drip.sendall(b"A")
            drip.settimeout(0.5)
            is_closed = drip.recv(100) == b""
        except TimeoutError:
            pass
        except OSError:
            is_closed = True
    is_true(is_closed, "a connection that drips is closed")
    for sock in stalled:
        sock.close()
    wait_until(lambda: server.metric("faina_http_connections") < 10, "they are gone")


def test_clients_that_go(place):
    """Whoever leaves in the middle of a request leaves nothing behind."""
    server = place.serve()
    body = json.dumps({"type": "t", "input": "x" * 1000}).encode()
    whole = request("POST", API + "/tasks", body)
    for i in range(200):
        with socket.create_connection((server.host, server.port)) as sock:
            sock.sendall(whole[:len(whole) * i // 200])
    for _ in range(100):
        with socket.create_connection((server.host, server.port)) as sock:
            sock.sendall(whole) # and doesn't wait for the answer
    wait_until(lambda: server.metric("faina_http_connections") <= 1, "they are gone")
    is_true(server("GET", "/stats").json()["total"] <= 100)
    server.submit()


def test_a_store_that_is_slow(place):
    """Who writes waits, who reads doesn't, and who goes away takes nobody along."""
    server = place.serve()
    server.submit()
    whole = request("POST", API + "/tasks", b'{"type":"t"}')

    def send():
        sock = socket.create_connection((server.host, server.port))
        sock.sendall(whole)
        return sock

    def reset(sock):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()

    path = os.path.join(place.folder, place.url.split(":", 1)[1])
    lock = sqlite3.connect(path, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE") # nobody else can write now
    waiting = [send() for _ in range(300)]
    for _ in range(30):
        reset(send())
    begin = time.monotonic()
    while time.monotonic() - begin < 0.3:
        equal(server("GET", "/stats").json()["total"], 1)
    for sock in waiting[:30]:
        reset(sock)
    lock.execute("ROLLBACK")
    lock.close()
    for sock in waiting[30:]:
        sock.settimeout(60)
        equal(statuses(sock.recv(65536)), [201])
        sock.close()
    wait_until(lambda: server.metric("faina_http_connections") <= 1, "they are gone")
    is_true(271 <= server("GET", "/stats").json()["total"] <= 331)


def test_too_much_is_refused(place):
    """When more is queued than can be done, clients are told to come back."""
    server = place.serve()
    batch = json.dumps({"tasks": [{"type": "t"}] * 10000}).encode()
    seen, lock = [], threading.Lock()

    def post():
        answer = server("POST", "/tasks:batch", batch)
        with lock:
            seen.append(answer)

    threads = [threading.Thread(target=post) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    refused = [answer for answer in seen if answer.status != 200]
    for answer in refused:
        equal((answer.status, answer.code(), answer.headers["Retry-After"]), (429, "overloaded", "1"))
    stored = sum(len(answer.json()["items"]) for answer in seen if answer.status == 200)
    equal(server("GET", "/stats").json()["total"], stored)


if IS_SLOW: # half a gigabyte through a sanitizer takes minutes
    del test_all_bodies_at_once, test_answers_that_nobody_reads

run(globals())
