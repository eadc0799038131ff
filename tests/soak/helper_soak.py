"""One soak: clients and faults on a store, for a while; then the store is drained and dumped, and
tools/check-history judges the history.

FA_SOAK_SECONDS  for how long (20)
FA_SOAK_PACE     average rest of a client between two calls, in milliseconds (25; 0 from 60 s on)
FA_SOAK_CLIENTS  how many clients (6)
FA_SOAK_KEEP     a folder in which the history is kept; one with violations is kept in the build folder
FA_SEED          seed of clients and faults, as far as the machine allows
"""
import datetime
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from helper_clients import CRON_TYPE, LIMIT, RESOURCE, RETRY, Channel, Client, now_us, start_client
from helper_faults import BUILD, ROOT, Nemesis, Node, Proxy

SECONDS = float(os.environ.get("FA_SOAK_SECONDS", "20"))
PACE = float(os.environ.get("FA_SOAK_PACE", "25" if SECONDS < 60 else "2")) / 1000
CLIENTS = int(os.environ.get("FA_SOAK_CLIENTS", "6"))
KEEP = os.environ.get("FA_SOAK_KEEP")
DRAIN_S = 120
SCHEDULE = "soak"
ENDED = {"completed", "failed", "dead_letter", "cancelled"}


class Failure(Exception):
    """The soak can't be judged; the argument says why."""


class Soak:
    def __init__(self, name, seed, strict):
        self.name, self.seed, self.strict = name, seed, strict
        self.dice = random.Random(seed)
        self.folder = tempfile.mkdtemp(prefix="faina-soak-")
        self.nodes, self.proxies, self.sockets = [], [], []
        self.database = None
        self.channel = None

    def add_node(self, url):
        node = Node(f"node{len(self.nodes)}", url, self.folder)
        self.nodes.append(node)
        node.start()
        node.await_ready()
        self.proxies.append(Proxy(node.port))
        return node

    def ask(self, method, path, body=None):
        until = time.monotonic() + DRAIN_S
        while True:
            result, code, answer = self.channel.ask(method, path, body)
            if result == "ok":
                return answer
            if result == "refused" and code != "unreachable":
                raise Failure(f"{method} {path}: {code} {answer}")
            if time.monotonic() > until:
                raise Failure(f"{method} {path}: no answer in {DRAIN_S} s")
            time.sleep(0.1)

    # Phases -----------------------------------------------------------------------------------

    def prepare(self):
        self.channel = Channel([node.address for node in self.nodes], self.dice)
        self.ask("PUT", f"/resources/{RESOURCE}", {"maxConcurrency": LIMIT})
        self.ask("PUT", f"/crons/{SCHEDULE}",
                 {"schedule": "@every 1s", "catchUp": "all",
                  "task": {"type": CRON_TYPE, "priority": 1, "retry": RETRY}})
        self.first_s = int(time.time()) + 2

    def client_addresses(self, number):
        """Most clients reach their nodes directly, some through a proxy, some by a socket."""
        if number % 3 == 1:
            return [proxy.address for proxy in self.proxies]
        if number % 3 == 2 and self.sockets:
            return self.sockets
        return [node.address for node in self.nodes]

    def run(self):
        until = time.monotonic() + SECONDS
        pids = [start_client(f"c{i}", self.client_addresses(i), self.folder, self.seed + i, until,
                             PACE) for i in range(CLIENTS)]
        nemesis = Nemesis(self.nodes, self.proxies, self.dice, f"{self.folder}/faults.jsonl",
                          self.database)
        try:
            nemesis.run(until, rest=0.3 if SECONDS < 60 else 1.0)
        finally:
            codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
        if any(codes):
            raise Failure(f"clients ended with {codes}")
        for node in self.nodes:
            node.await_ready()
        self.counts = nemesis.counts

    def end_schedule(self):
        """All times before this moment have made their tasks, and no time comes after it."""
        last_s = int(time.time())
        until = time.monotonic() + DRAIN_S
        while True:
            cron = self.ask("GET", f"/crons/{SCHEDULE}")
            at = datetime.datetime.fromisoformat(cron["nextAt"].replace("Z", "+00:00"))
            if at.timestamp() > last_s:
                break
            if time.monotonic() > until:
                raise Failure(f"the schedule stands still: {cron}")
            time.sleep(0.1)
        self.ask("DELETE", f"/crons/{SCHEDULE}")
        self.last_s = last_s

    def drain(self):
        """Completes everything that is left."""
        client = Client("drain", [node.address for node in self.nodes],
                        f"{self.folder}/drain.jsonl", self.seed, 0)
        until = time.monotonic() + DRAIN_S + SECONDS / 10
        while True:
            if client.claim(limit=100) == 0:
                if not any(self.is_left(task) for task in self.unfinished()):
                    break
                time.sleep(0.1)
            while client.held:
                client.end_many()
            if time.monotonic() > until:
                break  # R19 tells
        client.close()

    def unfinished(self):
        page = self.ask("GET", "/tasks?limit=10&brief=true&status=pending,claimed,running,blocked,"
                        "background")
        return page["items"]

    @staticmethod
    def is_left(task):
        return task["status"] not in ENDED

    def dump(self):
        times = [str(s) for s in range(self.first_s, self.last_s)]
        maybe = [str(s) for s in (*range(self.first_s - 5, self.first_s),
                                  *range(self.last_s, int(time.time()) + 5))]
        cursor = ""
        with open(f"{self.folder}/final.jsonl", "w", encoding="utf-8") as file:
            def write(line):
                file.write(json.dumps(line, separators=(",", ":")) + "\n")
            write({"call": "settings", "drained": True, "strict": self.strict, "slack": 20000})
            write({"call": "limit", "client": "setup", "n": 1, "start": 0, "end": 0, "result": "ok",
                   "resource": RESOURCE, "limit": LIMIT})
            write({"call": "schedule", "name": SCHEDULE, "times": times, "maybe": maybe})
            while cursor is not None:
                page = self.ask("GET", f"/tasks?limit=1000{cursor and '&cursor=' + cursor}")
                for task in page["items"]:
                    write(self.final_line(task))
                cursor = page["nextCursor"]

    def final_line(self, task):
        events = self.ask("GET", f"/tasks/{task['id']}/events?limit=1000")["items"]
        line = {"call": "final", "task": task["id"], "type": task["type"],
                "key": task["idempotencyKey"], "tag": (task["input"] or {}).get("tag"),
                "events": [[event["event"], event["workerId"]] for event in reversed(events)]}
        for name in ("status", "attempts", "fence", "version", "output"):
            line[name] = task[name]
        key = (task["idempotencyKey"] or "").split(":", 2)
        if key[0] == "cron" and len(key) == 3:
            at = datetime.datetime.fromisoformat(key[2].replace("Z", "+00:00"))
            line.update(schedule=key[1], at=str(int(at.timestamp())))
        return line

    def judge(self):
        files = [f"{self.folder}/c{i}.jsonl" for i in range(CLIENTS)]
        files += [f"{self.folder}/{name}.jsonl" for name in ("drain", "faults", "final")]
        done = subprocess.run([f"{ROOT}/tools/check-history", "--all", *files], check=False,
                              capture_output=True, text=True)
        print(done.stdout.rstrip() + done.stderr)
        return done.returncode == 0

    def end(self):
        for node in self.nodes:
            if not node.stop():
                print(f"{node.name} didn't end in order:\n{node.tail()}")
        if self.database:
            self.database.stop()
        flaws = [flaw for node in self.nodes for flaw in node.flaws()]
        print("".join(flaws[:20]), end="")
        return not flaws

    def clean(self, is_fine):
        if KEEP or not is_fine:
            # TMPDIR goes with the test.
            target = os.path.join(KEEP or f"{BUILD}/soak", f"soak-{self.name}-{self.seed}")
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(self.folder, target, ignore=shutil.ignore_patterns("*.db*", "*.sock"))
            print(f"the history is in {target}")
        shutil.rmtree(self.folder, ignore_errors=True)


def run_soak(soak):
    """From the prepared nodes to the verdict; ends the program."""
    is_fine = False
    begin = time.monotonic()
    print(f"FA_SEED={soak.seed}, {SECONDS:.0f} s", flush=True)
    try:
        soak.prepare()
        soak.run()
        soak.end_schedule()
        soak.drain()
        soak.dump()
        is_fine = soak.judge()
        print(f"faults: {json.dumps(soak.counts, sort_keys=True)}, "
              f"{time.monotonic() - begin:.0f} s in all")
    except (Failure, AssertionError) as why:
        print(f"FAILED: {why}")
    finally:
        is_fine = soak.end() and is_fine
        soak.clean(is_fine)
    print("1 passed, 0 failed, 0 skipped" if is_fine else "0 passed, 1 failed, 0 skipped")
    sys.exit(0 if is_fine else 1)


def seed():
    return int(os.environ.get("FA_SEED") or time.time_ns() % (1 << 31))


__all__ = ["Soak", "run_soak", "seed", "now_us"]
