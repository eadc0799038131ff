#!/usr/bin/env python3
"""Whole lives of tasks on two nodes over one NATS server, which is killed, stopped, cut off after any
number of bytes, loses its answers, its disk, or its space. What was acknowledged is there, and no task is
held twice."""
import datetime
import http.client
import importlib.machinery
import importlib.util
import os
import random
import signal
import sys
import threading
import time

ROOT = os.environ.get("FA_SOURCE_ROOT") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path += [f"{ROOT}/tests/server", f"{ROOT}/tests/support"]
from helper_server import Skip, equal, is_true, run, wait_until  # pylint: disable=C0413
from tcp_proxy import Proxy  # pylint: disable=C0413

LOADER = importlib.machinery.SourceFileLoader("test_nats_server", f"{ROOT}/tools/test-nats")
NATS = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("test_nats_server", LOADER))
LOADER.exec_module(NATS)

ROUNDS = int(os.environ.get("FA_NATS_FAULTS", "50"))
LEASE_S = 3600  # no lease ends during a test, so a task that is claimed twice was given out twice
FAULTS = (OSError, http.client.HTTPException, ValueError)


class Lives:
    """Clients that submit, claim and complete tasks, and what was answered."""

    def __init__(self, servers, clients=4):
        self.lock = threading.Lock()
        self.keys, self.claims, self.completed = {}, {}, set()
        self.errors = []
        self.ending = False
        self.threads = [threading.Thread(target=self.live, args=(servers[i % len(servers)], i),
                                         daemon=True) for i in range(clients)]
        for thread in self.threads:
            thread.start()

    def live(self, server, number):
        worker, count = f"w{number}", 0
        while not self.ending:
            try:
                for _ in range(3):
                    count += 1
                    self.submit(server, f"{number}-{count}")
                self.work(server, worker)
            except FAULTS:
                time.sleep(0.01)
            except Exception as error:  # pylint: disable=broad-except
                self.errors.append(error)
                return

    def submit(self, server, key):
        answer = server("POST", "/tasks", {"type": "life", "idempotencyKey": key})
        if answer.status in (200, 201):
            with self.lock:
                self.keys[key] = answer.json()["id"]
        else:
            is_true(answer.status == 503, answer)

    def work(self, server, worker):
        answer = server("POST", "/claims", {"workerId": worker, "limit": 5,
                                            "leaseSeconds": LEASE_S})
        if answer.status != 200:
            is_true(answer.status == 503, answer)
            return
        for task in answer.json()["tasks"]:
            with self.lock:
                self.claims.setdefault(task["id"], []).append((worker, task["fence"]))
            done = server("POST", f"/tasks/{task['id']}:complete",
                          {"workerId": worker, "fence": task["fence"], "output": worker})
            if done.status == 200:
                with self.lock:
                    self.completed.add((task["id"], worker))
            else:
                is_true(done.status == 503, done)

    def end(self):
        self.ending = True
        for thread in self.threads:
            thread.join()
        equal(self.errors, [])

    def check(self, server):
        """All that was answered is true now."""
        for key, task in self.keys.items():
            again = server("POST", "/tasks", {"type": "life", "idempotencyKey": key}, 200).json()
            equal(again["id"], task, key)
        for task, holders in self.claims.items():
            equal(len(holders), 1, task)
        for task, worker in self.completed:
            now = server.get(task)
            equal((now["status"], now["output"]), ("completed", worker), task)


def works(server):
    try:
        return server("POST", "/tasks", {"type": "probe"}).status == 201
    except FAULTS:
        return False


class Stage:
    """A NATS server behind a proxy, two nodes, and clients."""

    def __init__(self, place, **more):
        try:
            self.nats = NATS.Server(**more).start()
        except NATS.Missing as why:
            raise Skip(why) from why
        self.proxy = Proxy(self.nats.port)
        url = f"nats://127.0.0.1:{self.proxy.port}"
        self.servers = [place.serve("--workers", "0", url=url) for _ in range(2)]
        self.lives = Lives(self.servers)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.lives.ending = True
        for server in self.servers:
            server.stop(code=0 if kind is None else None)
        self.proxy.close()
        self.nats.stop()

    def settle(self):
        for server in self.servers:
            wait_until(lambda s=server: works(s), "the node works again")

    def check(self):
        self.settle()
        wait_until(lambda: len(self.lives.keys) > 20 and self.lives.completed, "tasks are completed")
        self.lives.end()
        for server in self.servers:
            self.lives.check(server)


def test_the_server_is_killed(place):
    with Stage(place) as stage:
        for _ in range(ROUNDS):
            time.sleep(random.uniform(0, 0.2))
            stage.nats.kill()
            stage.nats.start()
        stage.check()


def test_the_server_is_stopped(place):
    with Stage(place) as stage:
        for _ in range(ROUNDS):
            time.sleep(random.uniform(0, 0.1))
            stage.nats.signal(signal.SIGSTOP)
            time.sleep(random.uniform(0, 0.3))
            stage.nats.signal(signal.SIGCONT)
        stage.check()


def test_the_connection_is_cut_at_any_byte(place):
    with Stage(place) as stage:
        for _ in range(ROUNDS):
            stage.proxy.cut_after(random.randrange(1, 20000), random.random() < 0.5)
            time.sleep(random.uniform(0.02, 0.2))
        stage.proxy.cut()
        stage.check()


def test_answers_are_lost(place):
    with Stage(place) as stage:
        for _ in range(ROUNDS):
            time.sleep(random.uniform(0, 0.1))
            stage.proxy.loses_answers = True
            time.sleep(random.uniform(0, 0.05))
            stage.proxy.cut()
            stage.proxy.loses_answers = False
        stage.check()


def test_nodes_are_killed(place):
    """A node that ends between two writes leaves what the other ones repair."""
    with Stage(place) as stage:
        url = f"nats://127.0.0.1:{stage.proxy.port}"
        for _ in range(max(ROUNDS // 5, 1)):
            server = place.serve("--workers", "0", url=url)
            lives = Lives([server], clients=2)
            time.sleep(random.uniform(0.05, 0.3))
            server.kill()
            lives.end()
            for key, task in lives.keys.items():
                equal(stage.servers[0].get(task)["idempotencyKey"], key)
        stage.check()


class Holders:
    """Clients that claim tasks of a resource, and who certainly holds it: those whose lease has not
    ended and who have not sent the end of their task yet."""

    def __init__(self):
        self.lock = threading.Lock()
        self.until, self.most, self.claims = {}, 0, 0

    def hold(self, tasks):
        with self.lock:
            now = time.time()
            self.claims += len(tasks)
            for task in tasks:
                ends = datetime.datetime.fromisoformat(task["leaseExpiresAt"].replace("Z", "+00:00"))
                self.until[task["id"], task["fence"]] = ends.timestamp()
            self.most = max(self.most, sum(until > now for until in self.until.values()))

    def work(self, server, is_over):
        while not is_over():
            try:
                answer = server("POST", "/claims", {"workerId": "w", "types": ["heavy"], "limit": 3,
                                                    "leaseSeconds": 1, "waitSeconds": 1})
                tasks = answer.json()["tasks"] if answer.status == 200 else []
                self.hold(tasks)
                for task in tasks:
                    time.sleep(random.uniform(0, 0.01))
                    with self.lock:
                        self.until.pop((task["id"], task["fence"]))
                    server("POST", f"/tasks/{task['id']}:complete",
                           {"workerId": "w", "fence": task["fence"]})
            except FAULTS:
                time.sleep(0.01)


def test_limits_hold_when_nodes_are_killed(place):
    """A limit is exceeded at no moment, and places of killed nodes become free again."""
    with Stage(place) as stage:
        stage.lives.end()
        first = stage.servers[0]
        first("PUT", "/resources/gpu", {"maxConcurrency": 2}, 200)
        body = {"type": "heavy", "resources": ["gpu"], "maxAttempts": 0,
                "retry": {"base": "1ms", "max": "1ms"}}
        for _ in range(2):
            first("POST", "/tasks:batch", {"tasks": [body] * 100}, 200)
        holders, ended = Holders(), threading.Event()
        threads = [threading.Thread(target=holders.work, args=(server, ended.is_set), daemon=True)
                   for server in stage.servers for _ in range(2)]
        for thread in threads:
            thread.start()
        for number in range(max(ROUNDS // 5, 1)):
            server = place.serve("--workers", "0",
                                 url=f"nats://127.0.0.1:{stage.proxy.port}")
            more = threading.Thread(target=holders.work, daemon=True,
                                    args=(server, lambda s=server: s.process.poll() is not None))
            more.start()
            time.sleep(random.uniform(0.05, 0.3))
            if number % 3 == 0:
                stage.nats.kill()
                stage.nats.start()
            server.kill()
            more.join()
        wait_until(lambda: first("GET", "/stats", status=200).json()["byStatus"]["completed"] >= 200
                   and first("GET", "/resources/gpu", status=200).json()["inUse"] == 0,
                   "all are completed, and no place is in use")
        ended.set()
        for thread in threads:
            thread.join()
        is_true(holders.claims >= 200, holders.claims)
        equal(holders.most, 2)


def test_the_disk_is_lost(place):
    """Without its disk the server has lost all tasks. The nodes continue with a new bucket."""
    with Stage(place) as stage:
        wait_until(lambda: stage.lives.completed, "tasks are completed")
        stage.lives.end()
        stage.nats.kill()
        stage.nats.wipe()
        stage.nats.start()
        stage.settle()
        for server in stage.servers:
            wait_until(lambda s=server: s("GET", "/tasks?type=life").json()["items"] == [],
                       "lost tasks are not listed")
        stage.lives = Lives(stage.servers)
        wait_until(lambda: len(stage.lives.completed) > 20, "new tasks are completed")
        stage.check()


def test_the_space_is_used_up(place):
    """Writes are refused with a code, and nothing acknowledged is lost; what is removed gives space."""
    with Stage(place, limit="4MB") as stage:
        first = stage.servers[0]
        wait_until(lambda: len(stage.lives.completed) > 20, "tasks are completed")
        stage.lives.end()
        big, ids, answer = {"type": "big", "input": "x" * 100000}, [], None
        for _ in range(200):
            answer = first("POST", "/tasks", big)
            if answer.status != 201:
                break
            ids.append(answer.json()["id"])
        equal((answer.status, answer.code()), (429, "overloaded"))
        for task in ids:
            equal(first.get(task)["status"], "pending")
        stage.nats.kill()
        stage.nats.limit = None
        stage.nats.start()
        stage.settle()
        for task in ids:
            equal(stage.servers[1].get(task)["status"], "pending")
        stage.lives = Lives(stage.servers)
        wait_until(lambda: len(stage.lives.completed) > 20, "tasks are completed again")
        stage.check()


if __name__ == "__main__":
    print(f"{ROUNDS} rounds of each fault")
    run(globals())
