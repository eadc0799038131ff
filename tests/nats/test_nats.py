#!/usr/bin/env python3
"""Real NATS servers: the tour of docs/nats.md, a server that is killed, paused and restarted, and three
servers with replicas that are killed in turn. Everything that was acknowledged must be there."""
import base64
import importlib.machinery
import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.environ["FA_SOURCE_ROOT"]
FAINA = os.environ["FAINA_BIN"]
ROUNDS = int(os.environ.get("FA_NATS_KILLS", "3"))

sys.dont_write_bytecode = True
LOADER = importlib.machinery.SourceFileLoader("test_nats_server", f"{ROOT}/tools/test-nats")
NATS = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("test_nats_server", LOADER))
LOADER.exec_module(NATS)

passed, failed = 0, 0


def check(what, is_right, shown=""):
    global passed, failed
    if is_right:
        passed += 1
    else:
        failed += 1
        print(f"FAIL {what}: {shown}", flush=True)


def cli(url, *words):
    return subprocess.run([FAINA, *words], capture_output=True, text=True, check=False, timeout=60,
                          env={**os.environ, "FAINA_URL": url})


def tour():
    """The first example of the page, line by line."""
    with open(f"{ROOT}/docs/nats.md", encoding="utf-8") as file:
        lines = re.search(r"```\n(.*?)```", file.read(), re.S)[1].splitlines()
    server = NATS.Server().start()
    try:
        script = "set -e\n" + "\n".join(
            line.replace("127.0.0.1:4222", f"127.0.0.1:{server.port}").replace("faina ", f"{FAINA} ")
            for line in lines if not line.startswith("nats-server"))
        done = subprocess.run(["bash", "-c", script + "\necho id=$id\n"], capture_output=True,
                              text=True, check=False, timeout=120)
        check("the tour runs", done.returncode == 0, done.stdout + done.stderr)
        check("the second submit finds the first", len(re.findall(
            re.search(r"id=(\S+)", done.stdout + "id=-")[1], done.stdout)) >= 2, done.stdout)
        check("the result is shown", '"ok"' in done.stdout, done.stdout)
        doctor = json.loads(cli(server.url, "doctor", "-o", "json").stdout)
        said = {row["name"]: row for row in doctor["checks"]}
        check("doctor tells the durability", "acknowledged before fsync"
              in said["durability"]["message"], doctor)
        check("doctor warns of one replica", any("replicas=3" in row["message"] for row in
                                                 doctor["checks"]), doctor)
        check("what isn't there is refused", cli(server.url, "cron", "ls").returncode == 1)
        check("a bucket isn't made to be read",
              cli(server.url + "?bucket=other", "ls").returncode == 6)
    finally:
        server.stop()


def kv_get(server, key):
    """The value of a key of the bucket, by the request that `nats kv get` makes; None: there is none."""
    with socket.create_connection(("127.0.0.1", server.port)) as link, link.makefile("rb") as answers:
        body = json.dumps({"last_by_subj": f"$KV.faina.{key}"})
        link.sendall(b'CONNECT {"verbose":false}\r\nSUB answer 1\r\n'
                     b"PUB $JS.API.STREAM.MSG.GET.KV_faina answer "
                     + f"{len(body)}\r\n{body}\r\n".encode())
        while not (line := answers.readline()).startswith(b"MSG"):
            if not line:
                return None
        message = json.loads(answers.read(int(line.split()[-1]))).get("message")
    return message and base64.b64decode(message.get("data", "")).decode()


def tour_in_c():
    """The program of the page: the usage patterns of document 002, and its keys on the server."""
    with open(f"{ROOT}/docs/nats.md", encoding="utf-8") as file:
        source = re.search(r"```c\n(.*?)```", file.read(), re.S)[1]
    build = os.path.abspath(os.environ.get("FA_BUILD", f"{ROOT}/build"))
    server = NATS.Server().start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            made = subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-x", "c", "-",
                                   f"-I{ROOT}/include/faina", "-o", f"{folder}/tour", f"-L{build}",
                                   "-lfaina", f"-Wl,-rpath,{build}"], input=source, text=True,
                                  capture_output=True, check=False)
            check("the program is built", made.returncode == 0, made.stderr)
            done = subprocess.run([f"{folder}/tour"], capture_output=True, text=True, check=False,
                                  timeout=120, env={**os.environ, "FAINA_URL": server.url})
        check("the program runs", done.returncode == 0, done.stdout + done.stderr)
        task = done.stdout.split("\n", maxsplit=1)[0]
        check("the same task is returned, and it is completed",
              done.stdout == f'{task}\n{task} again\ncompleted {{"charged":true}}\n', done.stdout)
        record = json.loads(kv_get(server, f"tasks.task.{task}") or "{}")
        shown = json.loads(cli(server.url, "get", task, "-o", "json").stdout)
        check("the record has the fields of the task",
              {name: record.get(name) for name in shown if name not in ("version", "fence")}
              == {name: shown[name] for name in shown if name not in ("version", "fence")}, record)
        check("its events are in the record", [event["event"] for event in record.get("events", [])]
              == ["created", "claimed", "completed"], record)
        check("the key has the id", kv_get(server, "tasks.idem.order-123-process") == task)
        cli(server.url, "rm", task)
        check("both keys are removed", not kv_get(server, f"tasks.task.{task}")
              and not kv_get(server, "tasks.idem.order-123-process"))
    finally:
        server.stop()


class Load:
    """Submits with keys, and keeps what was acknowledged."""

    def __init__(self, url):
        self.url, self.acknowledged, self.ending = url, {}, False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        n = 0
        while not self.ending:
            n += 1
            rows = "".join(json.dumps({"type": "load", "idempotencyKey": f"{n}-{i}"}) + "\n"
                           for i in range(20))
            done = subprocess.run([FAINA, "submit", "--bulk", "-", "-o", "jsonl"], input=rows,
                                  capture_output=True, text=True, check=False,
                                  env={**os.environ, "FAINA_URL": self.url})
            for row in done.stdout.splitlines():
                try:
                    answer = json.loads(row)
                except ValueError:
                    continue
                if isinstance(answer, dict) and answer.get("id") and "detail" not in answer:
                    self.acknowledged[answer["id"]] = True

    def end(self):
        self.ending = True
        self.thread.join()
        return set(self.acknowledged)


def stored(url):
    ids, cursor = set(), None
    while True:
        words = ["ls", "--limit", "1000", "-o", "json"] + (["--cursor", cursor] if cursor else [])
        done = cli(url, *words)
        page = json.loads(done.stdout)
        items = page["items"] if isinstance(page, dict) else page
        ids |= {item["id"] for item in items}
        cursor = page.get("nextCursor") if isinstance(page, dict) else None
        if not cursor:
            return ids


def one_server():
    server = NATS.Server().start()
    try:
        load = Load(server.url)
        for number in range(ROUNDS):
            time.sleep(1)
            if number % 2:
                server.signal(signal.SIGSTOP)
                time.sleep(1)
                server.signal(signal.SIGCONT)
            else:
                server.kill()
                server.start()
        time.sleep(1)
        acknowledged = load.end()
        missing = acknowledged - stored(server.url)
        check("tasks were acknowledged", len(acknowledged) > 20, len(acknowledged))
        check("nothing acknowledged is lost on one server", not missing, missing)
    finally:
        server.stop()


def three_servers():
    servers = NATS.make_cluster()
    try:
        for server in servers:
            server.start()
        url = "nats://" + ",".join(f"127.0.0.1:{s.port}" for s in servers) + "?replicas=3"
        deadline = time.monotonic() + 60
        while cli(url, "submit", "first").returncode != 0 and time.monotonic() < deadline:
            time.sleep(0.5)
        doctor = cli(url, "doctor", "-o", "json").stdout
        check("three replicas are reported", "3 replicas" in doctor, doctor)
        load = Load(url)
        for number in range(max(ROUNDS, 3)):
            time.sleep(2)
            server = servers[number % 3]
            server.kill()
            time.sleep(1)
            server.start()
            time.sleep(3)
        acknowledged = load.end()
        missing = acknowledged - stored(url)
        check("tasks were acknowledged by three", len(acknowledged) > 20, len(acknowledged))
        check("nothing acknowledged is lost on three servers", not missing, missing)
    finally:
        for server in servers:
            server.stop()


def main():
    try:
        tour()
        tour_in_c()
        one_server()
        three_servers()
    except NATS.Missing as why:
        print(f"{why}\n0 passed, 0 failed, 1 skipped")
        return
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
