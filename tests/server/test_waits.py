#!/usr/bin/env python3
"""Waiting without a thread each: long polls and waits, by the thousand."""
import json
import resource
import select
import socket
import threading
import time

from helper_server import API, IS_SLOW, equal, is_true, read_all, run, wait_until

COUNT = 200 if IS_SLOW else 1000


def send(server, method, path, body=None, token=None):
    """A request on a connection of its own, not waited for."""
    sock = socket.create_connection((server.host, server.port), timeout=60)
    data = json.dumps(body).encode() if body is not None else b""
    head = f"{method} {API}{path} HTTP/1.1\r\nHost: localhost\r\n"
    if token:
        head += f"Authorization: Bearer {token}\r\n"
    if data:
        head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
    sock.sendall(head.encode() + b"\r\n" + data)
    return sock


def receive(sock):
    """The body of one answer."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = sock.recv(65536)
        assert piece, data
        data += piece
    head, body = data.split(b"\r\n\r\n", 1)
    size = int(next(line.split(b":")[1] for line in head.split(b"\r\n")
                    if line.lower().startswith(b"content-length")))
    while len(body) < size:
        piece = sock.recv(65536)
        assert piece, body
        body += piece
    return json.loads(body)


def waits(server):
    return server.metric("faina_waits")


def threads_of(server):
    with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as file:
        return int(next(line.split()[1] for line in file if line.startswith("Threads")))


def raise_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard > 0 else soft, hard))


def test_thousands_of_long_polls(place):
    raise_files()
    server = place.serve()
    before = threads_of(server)
    socks = [send(server, "POST", "/claims",
                  {"workerId": f"w{i}", "types": ["t"] if i % 2 else ["t", "u"], "waitSeconds": 55})
             for i in range(COUNT)]
    wait_until(lambda: waits(server) == COUNT, "all wait")
    is_true(threads_of(server) <= before + 1, threads_of(server))
    begin = time.monotonic()
    for _ in range(20):
        server("POST", "/tasks", {"type": "other"}, 201)
    is_true(time.monotonic() - begin < 10, "others are not held up")
    server("POST", "/tasks:batch", {"tasks": [{"type": "t"}] * COUNT}, 200)
    got = [receive(sock)["tasks"] for sock in socks]
    equal([len(tasks) for tasks in got], [1] * COUNT)
    equal(len({tasks[0]["id"] for tasks in got}), COUNT)
    for sock in socks:
        sock.close()
    equal(waits(server), 0)


def test_first_come_first_served(place):
    server = place.serve()
    socks = []
    for i in range(10):
        socks.append(send(server, "POST", "/claims", {"workerId": f"w{i}", "waitSeconds": 600}))
        wait_until(lambda: waits(server) == i + 1, "it waits") # pylint: disable=cell-var-from-loop
    for i in range(10):
        server.submit(name=str(i))
        equal(receive(socks[i])["tasks"][0]["name"], str(i))
        # A claim that is being tried again doesn't count as waiting meanwhile.
        wait_until(lambda: waits(server) == 9 - i, "the others wait")  # pylint: disable=cell-var-from-loop


def test_each_gets_what_it_asks_for(place):
    """A task that the first in line can't take goes to one behind it."""
    server = place.serve()
    socks = [send(server, "POST", "/claims",
                  {"workerId": "w", "types": [f"t{i}"], "waitSeconds": 600}) for i in range(100)]
    wait_until(lambda: waits(server) == 100, "all wait")
    for i in reversed(range(100)):
        server.submit(f"t{i}")
        equal(receive(socks[i])["tasks"][0]["type"], f"t{i}")


def test_polls_end_in_time(place):
    server = place.serve()
    begin = time.monotonic()
    socks = [send(server, "POST", "/claims",
                  {"workerId": "w", "waitSeconds": 0.2 + i / 100}) for i in range(100)]
    for sock in socks:
        equal(receive(sock), {"tasks": []})
    is_true(1.1 < time.monotonic() - begin < 20)


def test_work_that_comes_due_wakes(place):
    server = place.serve()
    sock = send(server, "POST", "/claims", {"workerId": "w", "waitSeconds": 600})
    wait_until(lambda: waits(server) == 1, "it waits")
    begin = time.monotonic()
    server.submit(delay="300ms")
    equal(len(receive(sock)["tasks"]), 1)
    is_true(0.2 < time.monotonic() - begin < 20)


def test_a_client_that_left_takes_nothing(place):
    server = place.serve()
    gone = [send(server, "POST", "/claims", {"workerId": "gone", "waitSeconds": 600})
            for _ in range(50)]
    wait_until(lambda: waits(server) == 50, "they wait")
    for sock in gone:
        sock.close()
    time.sleep(0.1)
    task = server.submit()["id"]
    claimed = server.claim(waitSeconds=20)
    equal([one["id"] for one in claimed], [task])
    wait_until(lambda: waits(server) == 0, "nobody waits any more")


def test_a_client_that_leaves_is_let_go_at_once(place):
    server = place.serve()
    ends = (socket.socket.close, lambda sock: sock.shutdown(socket.SHUT_WR))
    for end in ends:
        socks = [send(server, "POST", "/claims", {"workerId": "w", "waitSeconds": 300})
                 for _ in range(50)]
        wait_until(lambda: waits(server) == 50, "they wait")
        for sock in socks:
            end(sock)
        wait_until(lambda: waits(server) == 0, "nobody waits any more")


def test_who_wants_no_more_loses_nothing(place):
    """A claim is called off while work comes: it gets that, or nothing, and then others can."""
    server = place.serve()
    for round_ in range(100):
        sock = send(server, "POST", "/claims", {"workerId": "w", "waitSeconds": 300})
        wait_until(lambda: waits(server) == 1, "it waits")
        thread = threading.Thread(target=server.submit)
        thread.start()
        time.sleep(round_ % 10 / 5000)
        sock.shutdown(socket.SHUT_WR)
        answer = read_all(sock)
        thread.join()
        sock.close()
        got = json.loads(answer.split(b"\r\n\r\n")[1])["tasks"] if answer else []
        got = got or server.claim(workerId="v", waitSeconds=20)
        equal(len(got), 1, round_)
    equal(server.claim(), [])


def test_a_large_answer_that_nobody_reads(place):
    server = place.serve()
    for _ in range(20):
        server.submit(input="x" * 500000)
    for _ in range(5):
        sock = send(server, "GET", "/tasks?limit=20")
        is_true(sock.recv(10).startswith(b"HTTP/1.1 2"))
        sock.close()
    wait_until(lambda: server.metric("faina_http_connections") in (0, 1), "they are gone")
    equal(len(server.claim(limit=20)), 20)


def test_a_token_that_is_gone_takes_nothing(place):
    server = place.serve()
    server.token = place.token("admin")
    worker = place.token("work", name="worker")
    sock = send(server, "POST", "/claims", {"workerId": "gone", "waitSeconds": 600}, token=worker)
    wait_until(lambda: waits(server) == 1, "it waits")
    tokens = server("GET", "/tokens", status=200).json()["items"]
    one = next(token["id"] for token in tokens if token["name"] == "worker")
    server("DELETE", f"/tokens/{one}", status=204)
    task = server.submit()["id"]
    equal(receive(sock), {"tasks": []})
    equal(server.get(task)["status"], "pending")


def test_a_token_that_is_gone_is_told_nothing(place):
    server = place.serve()
    server.token = place.token("admin")
    reader = place.token("read", name="reader")
    tasks = [server.held()["id"] for _ in range(2)]
    brief = place.token("read", name="brief", expires="8s")
    socks = [send(server, "GET", f"/tasks/{task}/wait?timeout=50", token=token)
             for task in tasks for token in (reader, brief)]
    wait_until(lambda: waits(server) == 4, "they wait")
    tokens = server("GET", "/tokens", status=200).json()["items"]
    one = next(token["id"] for token in tokens if token["name"] == "reader")
    server("DELETE", f"/tokens/{one}", status=204)
    wait_until(lambda: server("GET", "/tasks", token=brief).status == 401, "it expires")
    server.act(tasks[0], "complete", workerId="w")
    for sock in socks: # those of the second task as well, which goes on
        answer = receive(sock)
        equal((answer.get("code"), answer["status"]), ("unauthorized", 401))


def test_thousands_wait_for_a_task(place):
    raise_files()
    server = place.serve()
    tasks = [server.held()["id"] for _ in range(10)]
    socks = [send(server, "GET", f"/tasks/{tasks[i % 10]}/wait?timeout=50") for i in range(COUNT)]
    wait_until(lambda: waits(server) == COUNT, "all wait")
    for i, task in enumerate(tasks):
        if i % 3 == 0:
            server.act(task, "complete", workerId="w")
        elif i % 3 == 1:
            server.act(task, "cancel")
        else:
            server.act(task, "fail", workerId="w", error={"message": "m", "retryable": False})
    for i, sock in enumerate(socks):
        equal(receive(sock)["status"], ("completed", "cancelled", "failed")[i % 10 % 3])
    equal(waits(server), 0)


def test_waits_and_ends_at_once(place):
    """A wait that begins while the task ends never misses it."""
    server = place.serve()
    for _ in range(20 if IS_SLOW else 100):
        task = server.held()["id"]
        sock = send(server, "GET", f"/tasks/{task}/wait?timeout=50")
        ender = threading.Thread(target=server.act, args=(task, "complete"),
                                 kwargs={"workerId": "w"})
        ender.start()
        equal(receive(sock)["status"], "completed")
        ender.join()
        sock.close()


def test_stopping_answers_who_waits(place):
    server = place.serve()
    task = server.held()["id"]
    polls = [send(server, "POST", "/claims", {"workerId": "w", "waitSeconds": 600})
             for _ in range(50)]
    looks = [send(server, "GET", f"/tasks/{task}/wait?timeout=50") for _ in range(50)]
    wait_until(lambda: waits(server) == 100, "they wait")
    begin = time.monotonic()
    server.stop()
    is_true(time.monotonic() - begin < 20)
    for sock in polls:
        equal(receive(sock), {"tasks": []})
    for sock in looks:
        equal(receive(sock)["status"], "running")


def test_waits_cost_little(place):
    """5,000 that wait: little memory, and the others are nearly as fast."""
    if IS_SLOW:
        return
    raise_files()
    server = place.serve("--waits-per-client", "0")
    socks = [send(server, "POST", "/claims", {"workerId": "w", "types": ["never"],
                                              "waitSeconds": 55}) for _ in range(5000)]
    wait_until(lambda: waits(server) == 5000, "all wait")
    with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as file:
        rss = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    is_true(rss < 100 * 1024, rss)
    connection = server.connect()
    begin = time.monotonic()
    for _ in range(200):
        server("POST", "/tasks", {"type": "t"}, 201, connection=connection)
    is_true(time.monotonic() - begin < 20, time.monotonic() - begin)
    readable, _, _ = select.select(socks[:1000], [], [], 0)
    equal(readable, [])


run(globals(), on_postgres=True)
