#!/usr/bin/env python3
"""The program as a client: over TCP, TLS and the socket beside a file; and servers that go away, are
slow, lie, or close the door in the middle of a word."""
import json
import os
import signal
import socket
import subprocess
import threading
import time

from helper_server import (BIN, IS_SLOW, PATIENCE, Skip, environment, equal, is_true, run, wait_until)

UNKNOWN = "whether the request was carried out is unknown"


def client(place, *args, url=None, env=None):
    """Runs the program and gives what it did; it must not crash, whatever happens."""
    env = environment(**(env or {}))
    if url:
        env["FAINA_URL"] = url
    done = subprocess.run([BIN, *args], cwd=place.folder, env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    is_true(done.returncode in range(0, 7), args, done)
    is_true("Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr)
    return done


def good(place, *args, **more):
    done = client(place, *args, **more)
    equal(done.returncode, 0, args, done.stderr)
    return done.stdout.strip()


# ---- The file that somebody else owns ----

def test_two_processes_on_one_served_file(place):
    server = place.serve()
    task = good(place, "submit", "mail", '{"to":"ann"}')
    equal(server.get(task)["input"], {"to": "ann"})
    held = json.loads(good(place, "claim", "--worker", "me"))["tasks"][0]
    equal(held["id"], task)
    good(place, "complete", task, '{"sent":true}', "--worker", "me")
    equal(server.get(task)["output"], {"sent": True})
    # Another name of the same file leads to the same owner.
    os.symlink("faina.db", place.path("other.db"))
    equal(json.loads(good(place, "get", task, url="sqlite:other.db"))["status"], "completed")
    # Two at once, and one that waits while the other works.
    task = good(place, "submit", "mail")
    with subprocess.Popen([BIN, "wait", task, "--timeout", "60s"], cwd=place.folder,
                          env=environment(), stdout=subprocess.PIPE) as waiting:
        good(place, "start", task, "--worker", "me")
        good(place, "complete", task, "--worker", "me")
        equal(waiting.wait(PATIENCE), 0)


def test_bulk_and_administration_through_the_owner(place):
    server = place.serve()
    lines = "\n".join(json.dumps({"type": "b", "input": i}) for i in range(2500)) + "\nnot json\n"
    done = subprocess.run([BIN, "submit", "--bulk"], input=lines, cwd=place.folder, text=True,
                          env=environment(), capture_output=True, timeout=PATIENCE, check=False)
    equal(server("GET", "/stats").json()["total"], 2500, done)
    good(place, "cancel", "--all", "--type", "b", "--yes")
    equal(server("GET", "/stats").json()["byStatus"]["cancelled"], 2500)
    good(place, "resource", "set", "gpu/0 ü", "3")
    equal(json.loads(good(place, "resource", "ls", "-o", "json"))["items"][0]["name"], "gpu/0 ü")
    good(place, "pause", "b")
    good(place, "doctor")
    good(place, "db", "status")


def test_the_owner_goes_and_another_comes(place):
    server = place.serve()
    first = good(place, "submit", "a")
    server.stop()
    second = good(place, "submit", "a") # owns the file itself, for a moment
    server = place.serve()
    equal([server.get(task)["type"] for task in (first, second)], ["a", "a"])
    server.kill() # the lock file still has its address
    equal(len(json.loads(good(place, "ls", "-o", "json"))["items"]), 2)


def test_a_server_of_a_server_is_refused(place):
    server = place.serve()
    done = client(place, "serve", "--listen", "127.0.0.1:0", "--url", f"http://127.0.0.1:{server.port}")
    equal(done.returncode, 4)
    is_true("is served already, at http:" in done.stderr, done.stderr)


def test_an_owner_that_serves_nothing(place):
    good(place, "submit", "a")
    with subprocess.Popen([BIN, "submit", "--bulk"], cwd=place.folder, env=environment(),
                          stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as owner:
        owner.stdin.write(b'{"type":"b"}\n')
        owner.stdin.flush()
        wait_until(lambda: str(owner.pid) in open(place.path("faina.db.lock"), encoding="ascii").read(),
                   "the file has no owner")
        done = client(place, "ls")
        equal(done.returncode, 6)
        is_true(f"is in use by process {owner.pid}" in done.stderr, done.stderr)
        owner.stdin.close()
        equal(owner.wait(PATIENCE), 0)


# ---- Over the network ----

def test_an_address_that_is_taken(place):
    server = place.serve()
    address = f"{server.host}:{server.port}"
    done = client(place, "serve", "--listen", address, url="memory:")
    equal(done.returncode, 4, done)
    is_true(f"can't listen on {address}" in done.stderr, done.stderr)


def test_tokens(place):
    server = place.serve()
    secret = good(place, "token", "create", "--scope", "read,submit", url="unix:faina.db.sock")
    url = server.addresses[0]
    equal(client(place, "ls", url=url).returncode, 1)
    done = client(place, "ls", url=url, env={"FAINA_TOKEN": "faina_wrong"})
    is_true("refuses the token in FAINA_TOKEN" in done.stderr, done.stderr)
    done = client(place, "ls", url=url)
    is_true("requires a token: set FAINA_TOKEN" in done.stderr, done.stderr)
    task = good(place, "submit", "a", url=url, env={"FAINA_TOKEN": secret})
    with open(place.path("token"), "w", encoding="ascii") as file:
        file.write(secret + "\n")
    good(place, "get", task, url=url, env={"FAINA_TOKEN_FILE": "token"})
    done = client(place, "claim", "--worker", "w", url=url, env={"FAINA_TOKEN_FILE": "token"})
    equal(done.returncode, 1)
    for bad in ({"FAINA_TOKEN": "a b"}, {"FAINA_TOKEN": "a\r\nX-Y: z"}, {"FAINA_TOKEN_FILE": "none"}):
        done = client(place, "ls", url=url, env=bad)
        equal(done.returncode, 1, done)
    # A token that may only submit can't ask the server who it is, and submits all the same.
    secret = good(place, "token", "create", "--scope", "submit", url="unix:faina.db.sock")
    good(place, "submit", "a", url=url, env={"FAINA_TOKEN": secret})


def test_the_namespace_of_a_token(place):
    """Who names none means the only one that the token is for."""
    shop = place.token("admin", namespace="shop")
    both = place.token("admin", namespace="shop,bar")
    server = place.serve()

    def ask(*args, token=shop, **env):
        env.update(FAINA_TOKEN=token)
        return client(place, *args, url=server.addresses[0], env=env)

    def asked(*args):
        done = ask(*args)
        equal(done.returncode, 0, args, done.stderr)
        return done.stdout.strip()

    place.faina("submit", "a") # in another namespace
    task = asked("submit", "a", "--key", "k")
    equal(json.loads(asked("get", task))["namespace"], "shop")
    equal(json.loads(asked("get", "--type", "a", "--key", "k"))["id"], task)
    equal([item["id"] for item in json.loads(asked("ls"))["items"]], [task])
    equal(json.loads(asked("stats"))["byStatus"]["pending"], 1)
    equal(json.loads(asked("cron", "set", "c", "@daily", "a"))["namespace"], "shop")
    equal(len(json.loads(asked("cron", "ls"))["items"]), 1)
    asked("team", "create", "t")
    equal(json.loads(asked("team", "ls"))["items"][0]["namespace"], "shop")
    equal(json.loads(asked("workflow", "ls")), {"items": []})
    asked("cancel", "--all", "--yes")
    equal(json.loads(asked("get", task))["status"], "cancelled")
    # What is named is asked for; and a token for several has none of its own.
    for done in (ask("ls", "--namespace", "default"), ask("ls", FAINA_NAMESPACE="default"),
                 ask("ls", token=both), ask("submit", "a", token=both)):
        equal(done.returncode, 1, done)
        is_true('not for the namespace "default"' in done.stderr, done.stderr)
    equal(len(json.loads(place.faina("ls").stdout)["items"]), 1)


def test_tls_is_verified(place):
    done = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-keyout", place.path("key"), "-out", place.path("pem"), "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"], capture_output=True, check=False)
    if done.returncode != 0:
        raise Skip("openssl can't make certificates")
    server = place.serve("--tls-cert", "pem", "--tls-key", "key")
    url = server.addresses[0]
    done = client(place, "ls", url=url)
    equal(done.returncode, 6)
    is_true("certificate; FAINA_CA_FILE names" in done.stderr, done.stderr)
    trusted = {"FAINA_CA_FILE": place.path("pem")}
    task = good(place, "submit", "a", url=url, env=trusted)
    equal(json.loads(good(place, "get", task, url=url, env=trusted))["id"], task)
    # Good for the address, not for the name.
    done = client(place, "ls", url=url.replace("127.0.0.1", "localhost"), env=trusted)
    equal(done.returncode, 6, done)
    is_true("FAINA_CA_FILE" not in done.stderr, done.stderr)


def test_https_to_a_server_without_it(place):
    server = place.serve()
    done = client(place, "ls", url=f"https://127.0.0.1:{server.port}")
    equal(done.returncode, 6, done)
    # The server's plain answer to the hello, or the end of the connection when it comes first.
    is_true("; it seems to use http://, not https://" in done.stderr or
            "; it may use http://, not https://" in done.stderr, done.stderr)


def test_https_to_what_closes_at_once(place):
    for size in (1, 65536): # the end is a reset when something is left unread
        listener = socket.create_server(("127.0.0.1", 0))

        def take_and_close(listener=listener, size=size):
            connection = listener.accept()[0]
            connection.recv(size)
            connection.close()

        threading.Thread(target=take_and_close, daemon=True).start()
        done = client(place, "ls", url=f"https://127.0.0.1:{listener.getsockname()[1]}")
        listener.close()
        equal(done.returncode, 6, done)
        is_true("; it may use http://, not https://" in done.stderr, done.stderr)


def test_urls_of_the_api(place):
    server = place.serve()
    for end in ("", "/", "/api/v1", "/api/v1/"):
        task = good(place, "submit", "a", url=f"http://127.0.0.1:{server.port}{end}")
        equal(server.get(task)["type"], "a")
    done = client(place, "ls", url=f"http://127.0.0.1:{server.port}/other")
    equal((done.returncode, done.stderr), (3, "faina: there is nothing at /other/api/v1/info\n"))


def test_bad_urls(place):
    for url in ("http://", "http:///x", "http://:80", "http://a b", "http://me:secret@host", "unix:",
                "http://host/?x=1", "http://host?timeout=soon", "https://host#x", "http://host\\x",
                "unix:" + "x" * 200):
        done = client(place, "ls", url=url)
        equal(done.returncode, 2, url, done.stderr)
        is_true("secret" not in done.stderr, done.stderr)
    for url in ("http://127.0.0.1:1", "unix:none.sock", "http://no-such-host.invalid"):
        done = client(place, "ls", url=url)
        equal(done.returncode, 6, url, done.stderr)
        is_true("can't reach " + url in done.stderr, done.stderr)


# ---- Servers that fail ----

class Liar:
    """A server that reads whole requests and answers what it is told to; None closes the
    connection. The first request of a client asks who is there, and is answered well."""

    INFO = json.dumps({"version": "0", "engine": "sqlite", "engineVersion": "0", "schemaVersion": 1,
                       "inputSizeMax": 1000000, "sizeBytes": 0, "commits": 0, "operations": 0,
                       "migrations": [], "findings": []}).encode()

    def __init__(self, *answers, is_kind=True):
        self.answers, self.is_kind = list(answers), is_kind
        self.requests = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def serve(self, sock):
        with sock, sock.makefile("rb") as file:
            while head := file.readline():
                length = 0
                while (line := file.readline()) not in (b"\r\n", b""):
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                body = file.read(length)
                if self.is_kind and head.startswith(b"GET /api/v1/info"):
                    sock.sendall(reply(self.INFO))
                    continue
                self.requests.append((head.decode(), body))
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                if answer is None:
                    return
                sock.sendall(answer)

    def close(self):
        self.listener.close()


def reply(body, status="200 OK", kind="application/json"):
    return (f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
            .encode() + body)


def ask_liar(place, answers, *args, is_kind=True, query=""):
    liar = Liar(*answers, is_kind=is_kind)
    done = client(place, *args, url=liar.url + query)
    liar.close()
    return done, liar


GARBAGE = [
    b"", b"hello\r\n\r\n", b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 200 OK\r\n\r\n",
    b"HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n", b"\x00" * 5000, b"\x16\x03\x01\x02\x00\x01",
    b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
    reply(b"<html>hello</html>", kind="text/html"), reply(b"<h1>no</h1>", "502 Bad Gateway", "text/html"),
    reply(b"{}"), reply(b"[]"), reply(b"null"), reply(b"1"), reply(b'"x"'), reply(b"{"), reply(b"\xff"),
    reply(b'{"items":1}'), reply(b'{"items":[1]}'), reply(b'{"items":[]}'), reply(b'{"tasks":{}}'),
    reply(b'{"items":[{"id":1}]}'), reply(b'{"items":[{"code":"x"}]}'),
    reply(b'{"items":[{"code":1,"status":400}]}'), reply(b'{"id":"' + b"x" * 100 + b'"}'),
    reply(b'{"id":"x","status":"dancing"}'), reply(b'{"id":"x","createdAt":"yesterday"}'),
    reply(b'{"id":"x","progress":1e99}'), reply(b'{"id":"x","retry":{"base":1}}'),
    reply(b'{"id":"x","dependsOn":[1]}'), reply(b"[" * 100000), reply(b'{"a":' * 500 + b"1" + b"}" * 500),
    reply(b'{"status":404,"code":"no_such_code","detail":"x"}', "404 Not Found"),
    reply(b'{"status":404,"code":"ok"}', "404 Not Found"), reply(b'{"code":"ok"}', "500 Oops"),
    reply(b'{"status":409,"code":"wrong_worker","detail":"' + b"\xc3\xa9" * 1000 +
          b'","errors":[{"field":"' + b"f" * 500 + b'","line":-1}]}', "409 Conflict"),
    reply(b'{"status":409,"code":"wrong_worker","errors":[1]}', "409 Conflict"),
]

COMMANDS = [
    ("ls",), ("get", "0190c4a2-6f1e-7b3d-8a5c-1f2e3d4c5b6a"), ("submit", "a"), ("stats",),
    ("claim", "--worker", "w"), ("events", "0190c4a2-6f1e-7b3d-8a5c-1f2e3d4c5b6a"),
    ("explain", "0190c4a2-6f1e-7b3d-8a5c-1f2e3d4c5b6a"), ("worker-list",), ("resource", "ls"),
    ("team", "ls"), ("token", "ls"),
    ("complete", "0190c4a2-6f1e-7b3d-8a5c-1f2e3d4c5b6a", "--worker", "w"),
]


def test_garbage_is_refused_and_harms_nobody(place):
    for number, answer in enumerate(GARBAGE):
        commands = COMMANDS if not IS_SLOW else COMMANDS[number % 3::3]
        for command in commands:
            liar = Liar(answer or None)
            done = client(place, *command, url=liar.url + "?timeout=300ms")
            liar.close()
            # An empty list is an answer to some questions; nothing else is.
            is_fine = done.returncode == 0 and answer == reply(b'{"items":[]}')
            is_true(is_fine or (done.returncode and done.stderr.startswith("faina: ")), command,
                    answer, done)


def test_a_stranger_is_no_engine(place):
    for answer in (reply(b"<html/>", kind="text/html"), reply(b"{}"), reply(b"[]"),
                   reply(b"no", "404 Not Found", "text/plain"), b"220 mail.example.com ESMTP\r\n"):
        done, _ = ask_liar(place, [answer], "ls", is_kind=False)
        equal(done.returncode, 6, answer, done.stderr)


def test_what_may_have_arrived_is_not_sent_twice(place):
    # Closed without a word after the request was read.
    done, liar = ask_liar(place, [None], "submit", "a")
    equal((done.returncode, len(liar.requests)), (6, 1), done.stderr)
    is_true(UNKNOWN in done.stderr, done.stderr)
    # With a key it is safe, and so is looking.
    done, liar = ask_liar(place, [None], "submit", "a", "--key", "k")
    equal(done.returncode, 6)
    is_true(len(liar.requests) >= 3 and UNKNOWN in done.stderr, liar.requests, done.stderr)
    done, liar = ask_liar(place, [None], "ls")
    equal(done.returncode, 6)
    is_true(len(liar.requests) >= 3 and UNKNOWN not in done.stderr, liar.requests, done.stderr)
    done, liar = ask_liar(place, [None, reply(b'{"items":[],"nextCursor":null}')], "ls")
    equal(done.returncode, 0, done.stderr)
    # A removal answers something else the second time.
    done, liar = ask_liar(place, [None], "rm", "0190c4a2-6f1e-7b3d-8a5c-1f2e3d4c5b6a", "--yes")
    equal(len(liar.requests), 1, liar.requests, done.stderr)
    for command, is_once in ((("claim", "--worker", "w"), True), (COMMANDS[-1], False)):
        done, liar = ask_liar(place, [None], *command)
        equal((done.returncode, len(liar.requests) == 1), (6, is_once), command, done.stderr)


def test_half_an_answer(place):
    whole = reply(b'{"items":[],"nextCursor":null}')
    done, liar = ask_liar(place, [whole[:-10]], "submit", "a", query="?timeout=1s")
    equal((done.returncode, len(liar.requests)), (6, 1), done.stderr)
    is_true("no answer in time" in done.stderr and UNKNOWN in done.stderr, done.stderr)


def test_a_slow_server(place):
    listener = socket.create_server(("127.0.0.1", 0)) # takes connections, and says nothing
    url = "http://127.0.0.1:%d?timeout=500ms" % listener.getsockname()[1]
    begun = time.monotonic()
    done = client(place, "ls", url=url)
    equal(done.returncode, 6)
    is_true("no answer in time" in done.stderr, done.stderr)
    is_true(time.monotonic() - begun < 20, "it took too long")
    listener.close()
    # A server that is stopped in the middle of its work, and goes on.
    server = place.serve()
    server.process.send_signal(signal.SIGSTOP)
    done = client(place, "submit", "a", url=server.addresses[0] + "?timeout=500ms")
    equal(done.returncode, 6, done)
    server.process.send_signal(signal.SIGCONT)
    good(place, "submit", "a", url=server.addresses[0])


def test_a_server_that_is_killed_in_the_middle(place):
    server = place.serve()
    port = server.port
    answers, stop = [], threading.Event()

    def work(number):
        count = 0
        while not stop.is_set():
            count += 1
            key = f"{number}-{count}"
            done = client(place, "submit", "a", "--key", key, url=f"http://127.0.0.1:{port}")
            answers.append((key, done))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(answers) > 10, "nobody works")
    server.kill()
    wait_until(lambda: any(done.returncode != 0 for _, done in answers), "nobody has noticed")
    server = place.serve(listen=f"127.0.0.1:{port}")
    count = len(answers)
    wait_until(lambda: len(answers) > count + 10, "nobody works any more")
    stop.set()
    for thread in threads:
        thread.join(PATIENCE)
    equal({done.returncode for _, done in answers}, {0, 6})
    for key, done in answers:
        found = server("GET", f"/tasks?idempotencyKey={key}&type=a").json()["items"]
        if done.returncode == 0:
            equal([task["id"] for task in found], [done.stdout.strip()])
        else:
            is_true(done.stderr.startswith("faina: "), done.stderr)


def test_waits_end_with_the_server(place):
    server = place.serve()
    task = server.submit()["id"]
    with subprocess.Popen([BIN, "wait", task, "--timeout", "60s"], cwd=place.folder,
                          env=environment(FAINA_URL=server.addresses[0]), stderr=subprocess.PIPE,
                          stdout=subprocess.PIPE) as waiting:
        wait_until(lambda: "connections" in server("GET", "./metrics").body.decode(), "no figures")
        time.sleep(0.3)
        server.kill()
        waiting.wait(PATIENCE)
        is_true(waiting.returncode in (5, 6), waiting.stderr.read())


if __name__ == "__main__":
    run(globals())
