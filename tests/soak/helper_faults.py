"""The faults of the soak: nodes that are killed, stopped and drained, connections that are cut, and
database servers that crash.
"""
import importlib.machinery
import importlib.util
import json
import os
import select
import signal
import socket
import subprocess
import threading
import time

from helper_clients import LEASE_S

ROOT = os.environ.get("FA_SOURCE_ROOT") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("FA_BUILD") or os.path.join(ROOT, os.environ.get("BUILD", "build"))
BIN = os.path.abspath(os.environ.get("FAINA_BIN") or os.path.join(BUILD, "faina"))
PATIENCE = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Node:
    """One `faina serve`, on the same port after each start."""

    def __init__(self, name, url, folder):
        self.name, self.url, self.folder = name, url, folder
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.process = None
        self.log = f"{folder}/{name}.log"

    def start(self):
        env = {name: value for name, value in os.environ.items()
               if not name.startswith(("FAINA_", "DB_", "API_PG_"))}
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                ["setpriv", "--pdeathsig", "KILL",  # it ends with the test, however that ends
                 BIN, "serve", "--url", self.url, "--listen", self.address], cwd=self.folder,
                env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def is_ready(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as sock:
                sock.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                return b" 200 " in sock.recv(64)
        except OSError:
            return False

    def await_ready(self):
        until = time.monotonic() + PATIENCE
        while not self.is_ready():
            if time.monotonic() > until:
                raise AssertionError(f"{self.name} isn't ready:\n{self.tail()}")
            if self.process.poll() is not None:  # for example, its database was away
                self.start()
            time.sleep(0.02)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Drains it; whether it ended in order."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(PATIENCE) == 0
        except subprocess.TimeoutExpired:
            self.kill()
            return False

    def tail(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-20:])

    def flaws(self):
        """Lines of its log that no fault excuses."""
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return [line for line in file if "Sanitizer" in line or "runtime error" in line
                    or "assertion" in line.lower()]


class Proxy:
    """Passes connections on, and cuts all of them when told to."""

    def __init__(self, target_port):
        self.target = target_port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self.pairs = {}
        self.lock = threading.Lock()
        self.cut_after = None  # bytes from a server until the cut
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            with self.lock:
                sockets = [self.listener, *self.pairs]
            try:
                readable, _, _ = select.select(sockets, [], [], 0.1)
            except (OSError, ValueError):  # one of them was cut meanwhile
                continue
            for sock in readable:
                if sock is self.listener:
                    self.accept()
                else:
                    self.pass_on(sock)

    def accept(self):
        client, _ = self.listener.accept()
        try:
            server = socket.create_connection(("127.0.0.1", self.target), timeout=5)
        except OSError:
            client.close()
            return
        client.settimeout(5)
        with self.lock:
            self.pairs[client], self.pairs[server] = server, client

    def pass_on(self, sock):
        other = self.pairs.get(sock)
        if other is None:
            return
        try:
            data = sock.recv(65536)
            if data:
                other.sendall(data)
                return
        except OSError:
            pass
        self.drop(sock)

    def drop(self, sock):
        with self.lock:
            other = self.pairs.pop(sock, None)
            self.pairs.pop(other, None)
        for one in (sock, other):
            if one:
                one.close()

    def cut(self):
        """All connections, wherever they are."""
        with self.lock:
            sockets, self.pairs = list(self.pairs), {}
        for sock in sockets:
            try:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()
        return len(sockets) // 2


class Database:
    """A PostgreSQL server of the soak's own, which crashes on demand."""

    def __init__(self):
        loader = importlib.machinery.SourceFileLoader("test_postgres",
                                                      f"{ROOT}/tools/test-postgres")
        self.module = importlib.util.module_from_spec(
            importlib.util.spec_from_loader("test_postgres", loader))
        loader.exec_module(self.module)
        self.server = self.module.Server().start()
        self.port = self.server.port
        self.url = self.server.url("faina")

    def crash(self):
        """Immediate stop: as after a loss of power, without what was in the page cache lost."""
        self.server.process.send_signal(signal.SIGQUIT)
        self.server.process.wait(PATIENCE)
        time.sleep(0.1)
        if not self.server.try_start():
            raise AssertionError(f"PostgreSQL doesn't start again: {self.server.log()}")

    def stop(self):
        self.server.stop()


class Nemesis:
    """Causes one fault after the other until the time is over, and counts them."""

    def __init__(self, nodes, proxies, dice, path, database=None):
        self.nodes, self.proxies, self.dice, self.database = nodes, proxies, dice, database
        self.counts = {}
        self.file = open(path, "w", encoding="utf-8")
        self.faults = [self.kill, self.kill, self.pause, self.drain, self.cut, self.cut]
        if database:
            self.faults.append(self.crash)

    def note(self, what, **fields):
        self.counts[what] = self.counts.get(what, 0) + 1
        now = time.monotonic_ns() // 1000
        # How far the system's clock is ahead of this one: a step of it would end leases early.
        ahead = time.time_ns() // 1000 - now
        self.file.write(json.dumps({"call": "fault", "what": what, "at": now, "ahead": ahead,
                                    **fields}) + "\n")

    def kill(self):
        node = self.dice.choice(self.nodes)
        self.note("kill", node=node.name)
        node.kill()
        node.start()
        node.await_ready()

    def pause(self):
        node = self.dice.choice(self.nodes)
        self.note("pause", node=node.name)
        node.process.send_signal(signal.SIGSTOP)
        time.sleep(LEASE_S + 0.3)
        node.process.send_signal(signal.SIGCONT)

    def drain(self):
        node = self.dice.choice(self.nodes)
        self.note("drain", node=node.name)
        if not node.stop():
            raise AssertionError(f"{node.name} didn't end in order:\n{node.tail()}")
        node.start()
        node.await_ready()

    def cut(self):
        for _ in range(5):
            self.note("cut", connections=sum(proxy.cut() for proxy in self.proxies))
            time.sleep(self.dice.random() * 0.05)

    def crash(self):
        self.note("crash")
        self.database.crash()
        for node in self.nodes:
            node.await_ready()

    def run(self, until, rest):
        """Each kind in turn first, then at random."""
        order = list(self.faults)
        self.dice.shuffle(order)
        while time.monotonic() + LEASE_S < until:
            time.sleep(self.dice.random() * 2 * rest)
            (order.pop() if order else self.dice.choice(self.faults))()
        self.file.close()
