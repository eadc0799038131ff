#!/usr/bin/env python3
"""Starting, stopping, being killed; certificates, systemd, and the socket beside the file."""
import contextlib
import http.client
import json
import os
import pty
import random
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.parse
import uuid
import warnings

from helper_server import (BIN, IS_SLOW, PATIENCE, ROOT, Local, Skip, environment, equal, is_true, run,
                           wait_until)

CLIENTS = 8


class Load:
    """Clients that submit as fast as they can, and remember what was acknowledged."""

    def __init__(self, server):
        self.server = server
        self.acknowledged, self.broken = [], 0
        self.lock = threading.Lock()
        self.is_over = False
        self.threads = [threading.Thread(target=self.work, args=(i,)) for i in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def work(self, number):
        connection, n = None, 0
        while not self.is_over:
            n += 1
            try:
                connection = connection or self.server.connect(timeout=20)
                if n % 10 == 0:
                    body = {"tasks": [{"type": "b", "input": [number, n, i]} for i in range(20)]}
                    answer = self.server("POST", "/tasks:batch", body, connection=connection)
                    got = [item["id"] for item in answer.json()["items"]] \
                        if answer.status == 200 else []
                else:
                    answer = self.server("POST", "/tasks", {"type": "a", "input": [number, n]},
                                         connection=connection)
                    got = [answer.json()["id"]] if answer.status == 201 else []
                with self.lock:
                    self.acknowledged += got
                    self.broken += answer.status >= 400
                if answer.headers.get("Connection") == "close":
                    connection = None
            except (OSError, http.client.HTTPException):
                connection = None
                with self.lock:
                    self.broken += 1
                if self.server.process.poll() is not None:
                    return

    def finish(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()

STOPPING = "stopping: finishing what runs; a second signal ends it at once"


def stored(server):
    ids, cursor = set(), ""
    while cursor is not None:
        page = server("GET", f"/tasks?limit=1000&brief=true{cursor and '&cursor=' + cursor}",
                      status=200).json()
        ids |= {task["id"] for task in page["items"]}
        cursor = page["nextCursor"]
    return ids


def check_nothing_lost(place, load):
    server = place.serve()
    there = stored(server)
    lost = set(load.acknowledged) - there
    equal(lost, set())
    is_true(len(load.acknowledged) == len(set(load.acknowledged)))
    server.stop()
    place.faina("doctor")


def test_draining_under_load(place):
    server = place.serve()
    load = Load(server)
    wait_until(lambda: len(load.acknowledged) > (200 if IS_SLOW else 2000), "some are stored")
    begin = time.monotonic()
    server.stop()
    is_true(time.monotonic() - begin < 25)
    load.finish()
    equal(server.log("some clients were disconnected"), [])
    check_nothing_lost(place, load)


def test_killed_under_load(place):
    for round_ in range(2 if IS_SLOW else 5):
        server = place.serve()
        load = Load(server)
        goal = 100 * (round_ + 1)
        wait_until(lambda: len(load.acknowledged) > goal, "some are stored") # pylint: disable=cell-var-from-loop
        server.kill()
        load.finish()
        check_nothing_lost(place, load)


def begin_request(server, length, others=0):
    """A client that has sent one byte of its body, and is slow with the rest."""
    sock = socket.create_connection((server.host, server.port))
    sock.sendall(b"POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n"
                 b"Content-Type: application/json\r\n\r\n{" % length)
    # The one that asks is counted, too.
    wait_until(lambda: server.metric("faina_http_connections") >= 2 + others, "it is there")
    return sock


def test_not_ready_while_it_drains(place):
    """Whoever stands in front of it is told; what is under way goes on."""
    server = place.serve("--drain", "20s")
    connection = server.connect()
    server("GET", "./readyz", status=200, connection=connection)
    sock = begin_request(server, 12, others=1)
    server.process.send_signal(signal.SIGTERM)
    wait_until(lambda: server.log(STOPPING), "it goes down")
    time.sleep(0.2)
    answer = server("GET", "./readyz", connection=connection)
    equal((answer.status, answer.code(), answer.headers["Retry-After"]), (503, "store_closed", "1"))
    equal(answer.headers["Connection"], "close")
    sock.sendall(b'"type":"t"}')
    is_true(sock.recv(100).startswith(b"HTTP/1.1 201"))
    sock.close()
    server.stop()


class Wire:
    """A way to a server elsewhere, on which nothing gets through while it is frozen."""

    def __init__(self, host, port):
        self.target, self.flows = (host, port), threading.Event()
        self.flows.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            near = self.listener.accept()[0]
            far = socket.create_connection(self.target)
            for pair in ((near, far), (far, near)):
                threading.Thread(target=self.pass_on, args=pair, daemon=True).start()

    def pass_on(self, source, to):
        try:
            while data := source.recv(65536):
                self.flows.wait()
                to.sendall(data)
            to.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def test_not_ready_while_the_store_is_silent(place):
    """A database that takes questions and doesn't answer is told of within seconds."""
    if not os.environ.get("FA_POSTGRES_URL"):
        raise Skip("no PostgreSQL server")
    there = urllib.parse.urlsplit(os.environ["FA_POSTGRES_URL"])
    wire = Wire(there.hostname, there.port)
    who = there.netloc.rpartition("@")[0]
    server = place.serve(url=f"postgres://{who}@127.0.0.1:{wire.port}{there.path}"
                             f"?schema=server_{uuid.uuid4().hex}")
    server("GET", "./readyz", status=200)
    wire.flows.clear()

    def ask():
        try:
            return server("GET", "./readyz", connection=server.connect(timeout=1))
        except OSError:
            return None

    begin = time.monotonic()
    wait_until(ask, "it says something")
    is_true(time.monotonic() - begin < 20)
    answer = ask()
    equal((answer.status, answer.code(), answer.headers["Retry-After"]), (503, "unavailable", "1"))
    server("GET", "./healthz", status=200)
    wire.flows.set()
    wait_until(lambda: (answer := ask()) and answer.status == 200, "it is ready again")


class Visitor(threading.Thread):
    """A client that keeps its connection, and rests between its requests."""

    def __init__(self, connection, seed):
        super().__init__()
        self.connection, self.dice = connection, random.Random(seed)
        self.start()

    def run(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            while True:
                self.connection.request("POST", "/api/v1/tasks", b'{"type":"t"}',
                                        {"Content-Type": "application/json"})
                response = self.connection.getresponse()
                response.read()
                if response.headers.get("Connection") == "close":
                    return
                time.sleep(self.dice.random() * 0.2)


def test_requests_that_arrive_while_it_ends(place):
    """Connections that were idle when the last request ended may still send one."""
    for turn in range(6):
        server = place.serve()
        path = place.path("faina.db.sock")
        wait_until(lambda at=path: os.path.exists(at), "the socket beside the file")
        visitors = [Visitor(Local(path) if i % 2 else server.connect(), i) for i in range(48)]
        time.sleep(0.3 + turn * 0.01)
        server.stop()
        for visitor in visitors:
            visitor.join()


def test_draining_gives_up_on_the_slow(place):
    server = place.serve("--drain", "1s")
    sock = begin_request(server, 9)
    time.sleep(0.2)
    begin = time.monotonic()
    server.stop()
    is_true(0.9 < time.monotonic() - begin < 20)
    equal(len(server.log("some clients were disconnected")), 1)
    sock.close()


def test_a_second_signal_ends_it_at_once(place):
    """Neither a handler that takes a minute nor a client that sends half a request holds it up."""
    folder = place.path("handlers")
    os.mkdir(folder)
    with open(os.path.join(folder, "long"), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nexec sleep 60\n")
    os.chmod(os.path.join(folder, "long"), 0o755)
    server = place.serve("--drain", "60s", "--workers", "1", env={"FAINA_HANDLERS": folder})
    task = server.submit("long")["id"]
    wait_until(lambda: server("GET", f"/tasks/{task}").json()["status"] == "running", "it runs")
    sock = begin_request(server, 9)
    server.process.send_signal(signal.SIGTERM)
    wait_until(lambda: server.log(STOPPING), "it goes down")
    time.sleep(0.5)
    begin = time.monotonic()
    server.stop()
    is_true(time.monotonic() - begin < 20)
    equal(len(server.log("some clients were disconnected")), 1)
    sock.close()


def test_idle_connections_do_not_hold_it_up(place):
    server = place.serve()
    idle = [server.connect() for _ in range(20)]
    for connection in idle:
        server("GET", "./healthz", connection=connection)
    begin = time.monotonic()
    server.stop()
    is_true(time.monotonic() - begin < 10)


def test_interrupt_ends_it_too(place):
    place.serve().stop(signal.SIGINT)


def test_usage(place):
    def serve(*args, code, env=None):
        done = subprocess.run([BIN, "serve", "--url", "memory:", *args], cwd=place.folder,
                              env=environment(**(env or {})), capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        equal(done.returncode, code, args, done)
        return done.stderr

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        is_true("is a server running already?" in
                serve("--listen", f"127.0.0.1:{taken.getsockname()[1]}", code=4))
    for bad in ("127.0.0.1:x", "127.0.0.1:", "127.0.0.1:123456", "127.0.0.1:65536", "[::1", "[::1]x", "unix:", "unix:" + "x" * 200,
                "no such host:1"):
        serve("--listen", bad, code=2)
    is_true("HOST:PORT: 127.0.0.1:7070" in serve(code=2, env={"FAINA_LISTEN": "7505"}))
    is_true("FAINA_LOG" in serve(code=2, env={"FAINA_LOG": "loud"}))
    serve("--tls-cert", "x", code=2)
    serve("--tls-cert", "x", "--tls-key", "y", code=6)
    serve("--drain", "soon", code=2)
    serve("extra", code=2)


def test_environment_names_the_address(place):
    server = place.serve(listen=None, env={"FAINA_LISTEN": "127.0.0.1:0"})
    server("GET", "./healthz", status=200)
    other = place.serve(listen="localhost:0", url="memory:", env={"FAINA_LISTEN": "nonsense"})
    other("GET", "./healthz", status=200, headers={"Host": "localhost"})


def test_several_addresses(place):
    server = place.serve("--listen", f"unix:{place.path('s')}", "--listen", "127.0.0.1:0",
                         url="memory:")
    wait_until(lambda: len(server.addresses) == 3, "it says where it listens")
    task = server.submit()["id"]
    equal(server("GET", f"/tasks/{task}", connection=Local(place.path("s"))).status, 200)
    server.stop()
    is_true(not os.path.exists(place.path("s")))


def test_the_socket_beside_the_file(place):
    server = place.serve()
    beside = place.path("faina.db.sock")
    real = os.path.realpath(beside)
    wait_until(lambda: len(server.addresses) == 2, "it says where it listens")
    equal(server.addresses[1], "unix:" + real)
    equal(os.stat(beside).st_mode & 0o777, 0o600)
    with open(place.path("faina.db.lock"), encoding="utf-8") as file:
        equal(file.read(), f"{server.process.pid}\nunix:{real}\n")
    equal(server("GET", "/tasks", connection=Local(beside)).status, 200)
    # Killed, it leaves the socket behind, and the next one takes its place.
    server.kill()
    is_true(os.path.exists(beside))
    server = place.serve()
    equal(server("GET", "/tasks", connection=Local(beside)).status, 200)
    server.stop()
    is_true(not os.path.exists(beside))
    with open(place.path("faina.db.lock"), encoding="utf-8") as file:
        equal(file.read(), "")


def test_a_name_too_long_for_a_socket(place):
    os.mkdir(place.path("d" * 120))
    server = place.serve(url=f"sqlite:{'d' * 120}/faina.db")
    server.submit()
    equal(len(server.log("the file's path is too long for a socket beside it")), 1)


def test_plain_log_on_a_terminal(place):

    master, slave = pty.openpty()
    process = subprocess.Popen([BIN, "serve", "--url", "memory:", "--listen", "127.0.0.1:0"],
                               cwd=place.folder, env=environment(), stderr=slave)
    os.close(slave)
    text = b""
    while b"listening" not in text:
        text += os.read(master, 4096)
    process.terminate()
    equal(process.wait(PATIENCE), 0)
    is_true(b"info  listening  address=http://127.0.0.1:" in text, text)
    os.close(master)


# ---- TLS ----

def certificate(place, name, subject):
    done = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-keyout", place.path(name + ".key"), "-out", place.path(name + ".pem"),
         "-subj", f"/CN={subject}", "-days", "2"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Skip("openssl can't make certificates: " + done.stderr)


def shown_subject(server):
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with socket.create_connection((server.host, server.port), timeout=PATIENCE) as plain:
        with context.wrap_socket(plain) as sock:
            sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            data = b""
            while piece := sock.recv(4096):
                data += piece
            assert b" 200 " in data, data
            text = ssl.DER_cert_to_PEM_cert(sock.getpeercert(True))
    done = subprocess.run(["openssl", "x509", "-noout", "-subject"], input=text, text=True,
                          capture_output=True, check=True)
    return done.stdout.split("=")[-1].strip()


def test_old_tls_is_refused(place):
    """TLS 1.2 is the least."""
    certificate(place, "one", "first")
    server = place.serve("--tls-cert", "one.pem", "--tls-key", "one.key")

    def shake(version):
        """Whether a client that speaks only this version is let in."""
        context = ssl._create_unverified_context() # pylint: disable=protected-access
        context.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            context.minimum_version = context.maximum_version = version
        with socket.create_connection((server.host, server.port), timeout=PATIENCE) as sock:
            try:
                with context.wrap_socket(sock) as secure:
                    secure.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
                                   b"Connection: close\r\n\r\n")
                    return secure.recv(100).startswith(b"HTTP/1.1 200")
            except (ssl.SSLError, ConnectionError):
                return False

    equal([shake(version) for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1,
                                          ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)],
          [False, False, True, True])
    # Over TLS the bytes of a chunked body are not checked, so nothing may follow it.
    context = ssl._create_unverified_context() # pylint: disable=protected-access
    with socket.create_connection((server.host, server.port), timeout=PATIENCE) as sock, \
            context.wrap_socket(sock) as secure:
        secure.sendall(b"POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                       b"application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                       b'c\n{"type":"t"}\n0\n\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
        data = b""
        with contextlib.suppress(ssl.SSLError, ConnectionError):
            while piece := secure.recv(65536):
                data += piece
        equal(data.count(b"HTTP/1.1 "), 1, data)
        is_true(b"Connection: close" in data, data)


def test_tls(place):
    certificate(place, "one", "first")
    certificate(place, "two", "second")
    for ending in ("pem", "key"):
        os.link(place.path("one." + ending), place.path("now." + ending))
    server = place.serve("--tls-cert", "now.pem", "--tls-key", "now.key")
    is_true(server.addresses[0].startswith("https://"))
    equal(shown_subject(server), "first")
    # A connection that is open while the files change goes on.
    context = ssl._create_unverified_context() # pylint: disable=protected-access
    old = http.client.HTTPSConnection(server.host, server.port, context=context, timeout=PATIENCE)
    old.request("GET", "/healthz")
    equal(old.getresponse().read(), b'{"status":"ok"}')
    for ending in ("pem", "key"):
        os.replace(place.path("two." + ending), place.path("now." + ending))
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.log("reloaded"), "it reloads")
    equal(shown_subject(server), "second")
    old.request("GET", "/healthz")
    answer = old.getresponse()
    equal((answer.status, answer.headers["Connection"], answer.read()),
          (200, "close", b'{"status":"ok"}'))
    # Nonsense changes nothing.
    with open(place.path("now.pem"), "w", encoding="utf-8") as file:
        file.write("nonsense")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.log("reloading failed; the old settings stay in use"), "it says so")
    equal(shown_subject(server), "second")
    # Plain HTTP gets nowhere, and the server stays well.
    is_true(b"200" not in server.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")[:15])
    equal(shown_subject(server), "second")


def test_hangup_reads_tokens(place):
    server = place.serve()
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.log("reloaded"), "it reloads")
    server("GET", "/tasks", status=200)


# ---- systemd ----

def test_notify(place):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(place.path("notify"))
        supervisor.settimeout(PATIENCE)
        server = place.serve(env={"NOTIFY_SOCKET": place.path("notify")})
        is_true(supervisor.recv(1000).startswith(b"READY=1"))
        server("GET", "./readyz", status=200)
        server.process.send_signal(signal.SIGHUP)
        equal(supervisor.recv(1000), b"RELOADING=1")
        equal(supervisor.recv(1000), b"READY=1")
        server.stop()
        equal(supervisor.recv(1000), b"STOPPING=1")


def test_socket_activation(place):
    """A socket that was listening before the server was there; nobody is refused meanwhile."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(50)
    host, port = listening.getsockname()
    early = socket.create_connection((host, port))
    early.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    process = subprocess.Popen(
        ["sh", "-c", f'LISTEN_PID=$$ LISTEN_FDS=1 exec "{BIN}" serve --url memory:'],
        cwd=place.folder, env=environment(), stderr=subprocess.PIPE, close_fds=True,
        preexec_fn=lambda: os.dup2(listening.fileno(), 3), pass_fds=(3,))
    early.settimeout(PATIENCE)
    data = b""
    while piece := early.recv(4096):
        data += piece
    is_true(b" 200 " in data, data)
    process.terminate()
    log = process.stderr.read().decode()
    equal(process.wait(PATIENCE), 0, log)
    listens = [json.loads(line) for line in log.splitlines() if '"listening"' in line]
    is_true(listens[0]["address"] == f"http://{host}:{port}", log)
    listening.close()


def test_the_unit(place):
    """The unit in packaging/ is one that systemd understands, where there is a systemd."""

    unit = f"{ROOT}/packaging/faina.service"
    with open(unit, encoding="utf-8") as file:
        text = file.read()
    for line in ("Type=notify", "ProtectSystem=strict", "NoNewPrivileges=yes"):
        is_true(line in text.splitlines(), line)
    try:
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True,
                              text=True, check=False)
    except FileNotFoundError as why:
        raise Skip("no systemd-analyze here") from why
    bad = [line for line in done.stderr.splitlines() if "faina.s" in line and
           "not executable" not in line and "not found" not in line]
    equal(bad, [])


def test_connections_that_end_while_handlers_start(place):
    """A process that is being started has a copy of every descriptor, also of one that is being closed."""
    path = os.path.join(place.path("handlers"), "run")
    os.mkdir(os.path.dirname(path))
    with open(path, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\necho 1\n")
    os.chmod(path, 0o755)
    server = place.serve("--workers", "8")
    server("POST", "/tasks:batch", {"tasks": [{"type": "run"}] * 1500}, 200)
    is_over = threading.Event()

    def connect():
        while not is_over.is_set():
            server("GET", "./healthz", None, 200, Connection="close")

    threads = [threading.Thread(target=connect, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    wait_until(lambda: server("GET", "/stats").json()["byStatus"].get("completed", 0) == 1500,
               "all are completed")
    is_over.set()
    for thread in threads:
        thread.join()


run(globals())
