#!/usr/bin/env python3
"""Accepting connections: out of descriptors, over the limits, and always again afterwards."""
import contextlib
import json
import os
import resource
import socket
import time

from helper_server import API, Local, equal, is_true, run, wait_until

RESUME_SECONDS = 5 # a second is promised; the rest is for a machine with other work


def descriptors(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def limit_descriptors(server, free):
    """Leaves the server that many descriptors more than it has open."""
    count = descriptors(server) + free
    _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (count, hard))
    return count


def connect(server, source=None):
    return socket.create_connection((server.host, server.port), timeout=30,
                                    source_address=(source, 0) if source else None)


def ask(sock, path="/healthz", headers=""):
    sock.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n".encode())


def read_status(sock):
    """The status of one answer; None: the connection was closed without one."""
    data = b""
    try:
        while b"\r\n\r\n" not in data:
            piece = sock.recv(65536)
            if not piece:
                return None
            data += piece
    except ConnectionError:
        return None
    return int(data.split(b" ", 2)[1])


def read_problem(sock):
    """The status, the code and the headers of a refusal, which ends with the connection."""
    data = b""
    with contextlib.suppress(ConnectionError):
        while piece := sock.recv(65536):
            data += piece
    head, body = data.split(b"\r\n\r\n", 1)
    lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:])
    return int(lines[0].split()[1]), json.loads(body)["code"], headers


def is_answered_soon(server):
    """Until the server has seen that connections were closed, it may refuse; never is it silent."""
    until = time.monotonic() + RESUME_SECONDS
    status = None
    while status != 200:
        with connect(server) as sock:
            sock.settimeout(RESUME_SECONDS)
            with contextlib.suppress(ConnectionError):
                ask(sock)
            status = read_status(sock)
        is_true(time.monotonic() < until, status)


def close_all(socks):
    for sock in socks:
        sock.close()


def test_descriptors_run_out(place):
    """After accept() has failed for want of descriptors, it is tried again as soon as there are some."""
    server = place.serve("--listen", "127.0.0.1:0")
    server("GET", "./healthz", status=200)
    for free in range(0, 9):
        most = limit_descriptors(server, free)
        socks = [connect(server) for _ in range(free + 40)] # some that are closed may still count
        for sock in socks[:free]: # some have been used, the others are silent
            with contextlib.suppress(OSError):
                ask(sock)
        wait_until(lambda n=most: descriptors(server) >= n - 1, "it has as many as it may")
        close_all(socks)
        limit_descriptors(server, 100)
        is_answered_soon(server)
        limit_descriptors(server, 100)
    # While the connections stay, further ones are refused, and not kept waiting.
    most = limit_descriptors(server, 3)
    socks = [connect(server) for _ in range(40)]
    wait_until(lambda: descriptors(server) >= most - 1, "it has as many as it may")
    with connect(server) as sock:
        sock.settimeout(RESUME_SECONDS)
        with contextlib.suppress(OSError):
            ask(sock)
        is_true(read_status(sock) in (503, None))
    close_all(socks)
    is_answered_soon(server)
    limit_descriptors(server, 100)
    is_true(server.log("connections are refused"), server.lines[-5:])
    is_true('faina_http_refused_total{why="descriptors"}' in server("GET", "./metrics").body.decode())


def test_the_limit_of_connections(place):
    server = place.serve("--connections", "20", "--connections-per-client", "0")
    for used in (0, 10, 20):
        socks = [connect(server) for _ in range(20)]
        for sock in socks[:used]:
            ask(sock)
            equal(read_status(sock), 200)
        wait_until(lambda: len(refused_now(server)) > 0, "the limit is reached")
        with connect(server) as sock:
            ask(sock)
            status, code, headers = read_problem(sock)
            equal((status, code, headers["retry-after"], headers["connection"]),
                  (503, "overloaded", "1", "close"))
        # Those that are there are served on.
        for sock in socks:
            ask(sock)
            equal(read_status(sock), 200)
        # One that goes makes room for another.
        socks.pop().close()
        wait_until(lambda: not refused_now(server), "there is room")
        close_all(socks)
        is_answered_soon(server)
    is_true(server.metric('faina_http_refused_total{why="connections"}') >= 3)
    equal(server.metric("faina_http_connections_max"), 20)


def refused_now(server):
    with connect(server) as sock:
        ask(sock)
        status = read_status(sock)
        return [] if status == 200 else [status]


def test_more_refusals_than_are_answered(place):
    """However many come, those within the limit are served, and the memory is bounded."""
    server = place.serve("--connections", "5", "--connections-per-client", "0")
    socks = [connect(server) for _ in range(5)]
    for sock in socks:
        ask(sock)
        equal(read_status(sock), 200)
    more = [connect(server) for _ in range(600)]
    for sock in socks:
        ask(sock)
        equal(read_status(sock), 200)
    is_true(descriptors(server) < 300)
    close_all(more)
    close_all(socks)
    is_answered_soon(server)


def test_connections_of_an_address(place):
    server = place.serve("--connections", "40")
    socks = [connect(server, "127.0.0.2") for _ in range(20)]
    for sock in socks:
        ask(sock)
        equal(read_status(sock), 200)
    with connect(server, "127.0.0.2") as sock:
        ask(sock)
        status, code, headers = read_problem(sock)
        equal((status, code, headers["retry-after"]), (429, "overloaded", "1"))
    # Another one is served.
    for _ in range(10):
        with connect(server, "127.0.0.3") as sock:
            ask(sock)
            equal(read_status(sock), 200)
    # So is a Unix socket, whatever the address has.
    answer = local(place, server)
    equal(answer, 200)
    close_all(socks)
    wait_until(lambda: connects_as(server, "127.0.0.2"), "they are gone")
    is_true(server.metric('faina_http_refused_total{why="client"}') >= 1)


def local(place, server):
    connection = Local(place.path("faina.db.sock"))
    connection.request("GET", "/healthz", headers={"Host": "localhost"})
    status = connection.getresponse().status
    connection.close()
    is_true(server.process.poll() is None)
    return status


def connects_as(server, source):
    with connect(server, source) as sock:
        ask(sock)
        return read_status(sock) == 200


def test_connections_of_a_token(place):
    """Behind a proxy all clients have one address; then the token counts."""
    tokens = [place.token("read") for _ in range(2)]
    server = place.serve("--connections", "100", "--connections-per-client", "10")

    def open_as(token, source):
        sock = connect(server, source)
        ask(sock, API + "/tasks", f"Authorization: Bearer {token}\r\n")
        return sock

    socks = [open_as(tokens[0], f"127.0.0.{i + 2}") for i in range(10)]
    for sock in socks:
        equal(read_status(sock), 200)
    with open_as(tokens[0], "127.0.0.50") as sock:
        equal(read_problem(sock)[:2], (429, "overloaded"))
    with open_as(tokens[1], "127.0.0.50") as sock:
        equal(read_status(sock), 200)
    # A connection counts for the token that it used last.
    ask(socks[0], API + "/tasks", f"Authorization: Bearer {tokens[1]}\r\n")
    equal(read_status(socks[0]), 200)
    with open_as(tokens[0], "127.0.0.50") as sock:
        equal(read_status(sock), 200)
    close_all(socks)


def test_streams_and_long_polls_of_a_client(place):
    server = place.serve("--connections", "100", "--waits-per-client", "4")
    task = server.submit()["id"]
    paths = (API + "/stream", f"{API}/tasks/{task}/wait?timeout=50")
    socks = []
    for i in range(4):
        sock = connect(server)
        ask(sock, paths[i % 2])
        socks.append(sock)
    wait_until(lambda: server.metric("faina_streams") + server.metric("faina_waits") == 4,
               "all of them wait")
    for path in paths:
        answer = server("GET", path.removeprefix(API))
        equal((answer.status, answer.code(), answer.headers["Retry-After"]),
              (429, "overloaded", "1"))
    body = {"workerId": "w", "waitSeconds": 50, "types": ["none"]}
    equal(server("POST", "/claims", body).status, 429)
    # What doesn't wait is answered.
    equal(server("POST", "/claims", {"workerId": "w", "types": ["none"]}).status, 200)
    server.submit()
    # Other addresses and Unix sockets have their own.
    with connect(server, "127.0.0.9") as sock:
        ask(sock, paths[0])
        equal(read_status(sock), 200)
    socks.pop().close()
    server("POST", f"/tasks/{task}:cancel", {}, 200) # ends the waits
    wait_until(lambda: server("GET", f"/tasks/{task}/wait?timeout=1").status == 200, "room again")
    close_all(socks)


run(globals())
