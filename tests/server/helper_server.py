"""What the tests of the server share: a real server in a folder of its own, and real HTTP.

A test is a function test_*(place) in a file that ends with `run(globals())`. Each gets a folder and
starts the servers it wants with place.serve(). They are stopped at its end, and must end well. With
run(globals(), on_postgres=True) each is run a second time on PostgreSQL, where there is one.
"""
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import uuid

ROOT = os.environ.get("FA_SOURCE_ROOT") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("FA_BUILD") or os.path.join(ROOT, os.environ.get("BUILD", "build"))
BIN = os.environ.get("FAINA_BIN") or os.path.join(BUILD, "faina")
IS_SLOW = os.environ.get("FA_FLAVOUR", "plain") != "plain"
PATIENCE = 60
API = "/api/v1"
NO_ID = "0190c4a2-6f1e-7b3d-8a5c-1f2e3d4c5b6a" # well-formed, and nobody's


class Skip(Exception):
    """The test can't be run here; the argument tells why."""


def environment(**extra):
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("FAINA_", "DB_", "API_PG_", "LISTEN_", "NOTIFY_"))}
    env.update(LC_ALL="C.UTF-8")
    env.update(extra)
    return env


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def code(self):
        """Of a problem, after checking that it is a proper one."""
        problem = self.json()
        equal(self.headers["Content-Type"], "application/problem+json", self)
        equal(problem["status"], self.status, self)
        equal(problem["type"], "urn:faina:problem:" + problem["code"], self)
        is_true(problem["title"] and problem["detail"], self)
        return problem["code"]

    def __repr__(self):
        return f"{self.status} {dict(self.headers)}\n{self.body[:2000]!r}"


class Local(http.client.HTTPConnection):
    """A connection to a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Server:
    """One running `faina serve`."""

    def __init__(self, place, args, env, pass_fds=(), url=None, program=BIN):
        self.place = place
        url = url or place.url
        self.lines = []
        self.addresses = []
        self.ready = threading.Event()
        self.process = subprocess.Popen(
            [program, "serve", "--url", url, *args], cwd=place.folder, env=environment(**env),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            pass_fds=pass_fds)
        self.reader = threading.Thread(target=self.read_log, daemon=True)
        self.reader.start()
        if not self.ready.wait(PATIENCE):
            self.process.kill()
            self.process.wait()
            self.reader.join()
        assert self.addresses, "the server did not start:\n" + "".join(self.lines)
        self.tls = self.addresses[0].startswith("https://")
        self.host, _, port = self.addresses[0].split("://")[-1].rpartition(":")
        self.port = int(port) if port.isdigit() else 0
        self.token = None

    def read_log(self):
        for line in self.process.stderr:
            line = line.decode(errors="replace")
            self.lines.append(line)
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if entry.get("message") == "listening":
                self.addresses.append(entry["address"])
                # The first is what was asked for; a socket beside the file may follow.
                self.ready.set()
        self.ready.set()

    def log(self, message):
        """The fields of the lines with this message."""
        found = []
        for line in list(self.lines):
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if entry.get("message") == message:
                found.append(entry)
        return found

    def connect(self, timeout=PATIENCE):
        return http.client.HTTPConnection(self.host.strip("[]"), self.port, timeout=timeout)

    def __call__(self, method, path, body=None, status=None, token=None, connection=None,
                 headers=None, **more):
        """One request; `body` is JSON unless it is bytes. Paths are below /api/v1 unless they start
        with a dot."""
        path = path[1:] if path.startswith(".") else API + path
        headers = dict(headers or {})
        headers.update({name.replace("_", "-"): value for name, value in more.items()})
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
            if not isinstance(body, bytes):
                body = json.dumps(body).encode()
        token = token if token is not None else self.token
        if token:
            headers.setdefault("Authorization", "Bearer " + token)
        own = connection is None
        connection = connection or self.connect()
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            answer = Answer(response.status, response.headers, response.read())
        finally:
            if own:
                connection.close()
        if status is not None:
            assert answer.status == status, f"{method} {path}: expected {status}, got {answer!r}"
        return answer

    def raw(self, data, timeout=PATIENCE):
        """Sends bytes on a connection of its own, and gives all that comes back until it closes."""
        with socket.create_connection((self.host, self.port), timeout=timeout) as sock:
            sock.sendall(data)
            return read_all(sock)

    # Tasks, shortly.

    def submit(self, type_="t", status=201, **fields):
        return self("POST", "/tasks", {"type": type_, **fields}, status).json()

    def get(self, task):
        return self("GET", f"/tasks/{task}", status=200).json()

    def act(self, task, verb, status=200, **body):
        return self("POST", f"/tasks/{task}:{verb}", body, status)

    def held(self, worker="w", **fields):
        """A new task that runs on `worker`."""
        task = self.submit(**fields)["id"]
        return self.act(task, "start", workerId=worker).json()

    def claim(self, status=200, **body):
        return self("POST", "/claims", {"workerId": "w", **body}, status).json()["tasks"]

    def metric(self, name):
        text = self("GET", "./metrics", status=200).body.decode()
        for line in text.splitlines():
            if line.startswith(name + " "):
                return float(line.split()[-1])
        return None

    def stop(self, signal_=signal.SIGTERM, code=0):
        if self.process.poll() is None:
            self.process.send_signal(signal_)
        try:
            got = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            got = self.process.wait()
        self.reader.join(PATIENCE)
        if code is not None:
            assert got == code, f"the server ended with {got}\n" + "".join(self.lines[-50:])
        return got

    def kill(self):
        self.stop(signal.SIGKILL, None)


class Place:
    """A folder, and the servers in it."""

    def __init__(self, folder, url="sqlite:faina.db"):
        self.folder = folder
        self.url = url
        self.servers = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def serve(self, *args, listen="127.0.0.1:0", env=None, **more):
        args = (["--listen", listen] if listen else []) + list(args)
        server = Server(self, args, env or {}, **more)
        self.servers.append(server)
        return server

    def faina(self, *args, code=0, env=None):
        env = environment(**{"FAINA_URL": self.url, **(env or {})})
        done = subprocess.run([BIN, *args], cwd=self.folder, env=env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        assert done.returncode == code, f"faina {args}: {done.returncode} {done.stderr}"
        return done

    def token(self, scope, **flags):
        args = [word for name, value in flags.items() for word in ("--" + name, value)]
        return self.faina("token", "create", "--scope", scope, *args).stdout.strip()

    def end(self, must_end_well):
        for server in self.servers:
            if server.process.poll() is None:
                server.stop(code=0 if must_end_well else None)
            bad = [line for line in server.lines if "Sanitizer" in line or "runtime error" in line]
            assert not bad, "".join(server.lines[-100:])


def read_all(sock):
    data = b""
    while True:
        try:
            piece = sock.recv(65536)
        except ConnectionResetError:
            return data
        if not piece:
            return data
        data += piece


def is_true(fact, *seen):
    assert fact, "\n".join(map(str, seen))


def equal(got, expected, *seen):
    assert got == expected, "\n".join([f"got      {got!r}", f"expected {expected!r}", *map(str, seen)])


def wait_until(fact, what):
    until = time.monotonic() + PATIENCE
    while not fact():
        assert time.monotonic() < until, what
        time.sleep(0.01)


def engines(on_sqlite, on_postgres):
    """What to run the tests on: a name, and a function that gives a fresh URL. With FA_ONE_ENGINE in the
    environment it is the first of them, as in the sanitizer runs of `make test`."""
    if on_sqlite:
        yield "sqlite", lambda: "sqlite:faina.db"
    postgres = os.environ.get("FA_POSTGRES_URL")
    is_enough = on_sqlite and os.environ.get("FA_ONE_ENGINE")
    if on_postgres and postgres and not is_enough:
        joint = "&" if "?" in postgres else "?"
        yield "postgres", lambda: f"{postgres}{joint}schema=server_{uuid.uuid4().hex}"


def drop_schema(url):
    """Schemas that remain make the catalogs of the shared server large, and so every other test slow."""
    server, _, schema = url.partition("schema=")
    if server.startswith("postgres") and schema:
        subprocess.run(["psql", "-Xq", server.rstrip("?&"), "-c", "SET client_min_messages = error",
                        "-c", f'DROP SCHEMA IF EXISTS "{schema}" CASCADE'],
                       stdout=subprocess.DEVNULL, check=False, timeout=PATIENCE)


def run_one(test, url, name):
    """"passed", "failed" or "skipped"."""
    place = Place(tempfile.mkdtemp(prefix="faina-"), url)
    is_fine = False
    try:
        test(place)
        is_fine = True
        place.end(True)
        return "passed"
    except Skip as why:
        print(f"skipped: {name}: {why}")
        return "skipped"
    except Exception: # pylint: disable=broad-except
        print(f"FAILED: {name}")
        traceback.print_exc(file=sys.stdout)
        for server in place.servers:
            print("".join(server.lines[-20:]))
        return "failed"
    finally:
        if not is_fine:
            try:
                place.end(False)
            except AssertionError as why:
                print(why)
        drop_schema(place.url)
        shutil.rmtree(place.folder, ignore_errors=True)


def run(names, on_sqlite=True, on_postgres=False):
    """Runs every test of a file; ends the program."""
    wanted = sys.argv[1:]
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for engine, url in engines(on_sqlite, on_postgres):
        for name, test in sorted(names.items()):
            if name.startswith("test_") and (not wanted or name in wanted):
                counts[run_one(test, url(), f"{name} [{engine}]")] += 1
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    sys.exit(1 if counts["failed"] else 0)
