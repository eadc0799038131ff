#!/usr/bin/env python3
"""A second worker or server of one SQLite file takes over when the first one ends."""
import os
import signal
import socket
import subprocess
import threading

from helper_server import BIN, PATIENCE, environment, equal, is_true, run, wait_until

SCRIPT = "#!/bin/sh\nread x; echo \"$x\"\n"


class Process:
    """`faina worker` or `faina serve`, with its log."""

    def __init__(self, place, *args):
        self.lines = []
        self.process = subprocess.Popen([BIN, *args, "--url", place.url], cwd=place.folder, env=environment(),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stderr), daemon=True)
        self.reader.start()
        place.servers.append(self)

    def has(self, text):
        return any(text in line for line in list(self.lines))

    def wait_for(self, text):
        wait_until(lambda: self.has(text) or self.process.poll() is not None, f"{text}: {self.lines}")
        is_true(self.has(text), "".join(self.lines))

    def stop(self, signal_=signal.SIGTERM, code=0):
        if self.process.poll() is None:
            self.process.send_signal(signal_)
        got = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        if code is not None:
            equal(got, code, "".join(self.lines[-50:]))

    def kill(self):
        self.stop(signal.SIGKILL, None)


def handlers(place):
    os.mkdir(place.path("handlers"))
    with open(place.path("handlers/echo"), "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    os.chmod(place.path("handlers/echo"), 0o755)


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def runs(place, word):
    done = place.faina("submit", "echo", f'"{word}"', "--wait", "-o", "json")
    is_true(word in done.stdout, done)


def test_a_worker_takes_over_from_a_server(place):
    handlers(place)
    server = place.serve("--workers", "0")
    workers = [Process(place, "worker") for _ in range(2)]
    for worker in workers:
        worker.wait_for("is ready")
    runs(place, "before")
    server.kill()
    wait_until(lambda: sum(worker.has("took over the file") for worker in workers) == 1, "one takes over")
    runs(place, "between")
    owner = next(worker for worker in workers if worker.has("took over the file"))
    other = next(worker for worker in workers if worker is not owner)
    owner.kill()
    other.wait_for("took over the file")
    runs(place, "after")
    other.stop()
    is_true("completed" in place.faina("ls", "-o", "json").stdout)


def test_a_server_takes_over_from_a_worker_and_from_a_server(place):
    handlers(place)
    worker = Process(place, "worker")
    worker.wait_for("is ready")
    port = free_port()
    second = Process(place, "serve", "--listen", f"127.0.0.1:{port}")
    second.wait_for("waiting to take over")
    third = Process(place, "serve", "--listen", "127.0.0.1:0")
    third.wait_for("waiting to take over")
    runs(place, "one")
    worker.stop()
    wait_until(lambda: second.has('"listening"') or third.has('"listening"'), "one of them serves")
    first = second if second.has('"listening"') else third
    rest = third if first is second else second
    is_true(first.has("took over the file"), first.lines)
    runs(place, "two")
    is_true(not rest.has('"listening"'), rest.lines)
    first.kill()
    rest.wait_for('"listening"')
    runs(place, "three")
    rest.stop()


def test_a_server_that_waits_can_be_stopped(place):
    place.serve()
    second = Process(place, "serve", "--listen", "127.0.0.1:0")
    second.wait_for("waiting to take over")
    second.stop()


if __name__ == "__main__":
    run(globals())
