"""Clients of the soak: processes that call a server over HTTP, and write down every call.

The lines are those of tools/check-history. A call whose answer didn't arrive, or that was answered
with 5xx, is "unknown"; one that was never sent, or was answered with 4xx, is "refused".
"""
import datetime
import http.client
import json
import os
import random
import signal
import socket
import time
import urllib.parse

API = "/api/v1"
TYPES = ["soak.a", "soak.b", "soak.c"]
CRON_TYPE = "soak.cron"
RESOURCE, LIMIT = "gpu", 2
LEASE_S = 1.5
TIMEOUT_S = 6
RETRY = {"base": "50ms", "factor": 1, "max": "50ms"}
HELD_MAX = 6


def now_us():
    return time.monotonic_ns() // 1000


class Local(http.client.HTTPConnection):
    """A connection to a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=TIMEOUT_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Channel:
    """One connection to one of several addresses: "host:port", or the path of a socket."""

    def __init__(self, addresses, dice):
        self.addresses, self.dice = addresses, dice
        self.connection = None

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def connect(self):
        address = self.dice.choice(self.addresses)
        if address.startswith("/"):
            self.connection = Local(address)
        else:
            self.connection = http.client.HTTPConnection(address, timeout=TIMEOUT_S)
        self.connection.connect()

    def ask(self, method, path, body=None):
        """(result, code, answer): as the history wants them."""
        data = None if body is None else json.dumps(body)
        headers = {"Content-Type": "application/json"} if data else {}
        try:
            if self.connection is None:
                self.connect()
        except OSError:
            self.close()
            return "refused", "unreachable", None
        try:
            self.connection.request(method, API + path, data, headers)
            response = self.connection.getresponse()
            text = response.read()
            answer = json.loads(text) if text else None
        except (OSError, http.client.HTTPException, ValueError):
            self.close()
            return "unknown", None, None
        if response.status < 300:
            return "ok", None, answer
        code = answer.get("code") if isinstance(answer, dict) else None
        return ("unknown" if response.status >= 500 else "refused"), code, answer


class Client:
    """One client, which submits and works, and knows only what it was answered."""

    def __init__(self, name, addresses, path, seed, pace=0.0):
        self.name, self.pace = name, pace
        self.dice = random.Random(seed)
        self.channel = Channel(addresses, self.dice)
        self.file = open(path, "w", encoding="utf-8", buffering=1 << 16)
        self.n = self.tags = 0
        self.held = {}  # task: (fence, is started)
        self.known = []
        self.again = None  # a call whose result is unknown, to be repeated

    # Calls ------------------------------------------------------------------------------------

    def call(self, call, method, path, body=None, **fields):
        """One call with one line; (line, answer)."""
        self.n += 1
        start = now_us()
        result, code, answer = self.channel.ask(method, path, body)
        line = {"call": call, "client": self.name, "n": self.n, "start": start, "end": now_us(),
                "result": result, **fields}
        if code:
            line["code"] = code
        if result == "ok" and isinstance(answer, dict) and "version" in answer:
            line["version"] = answer["version"]
            line["status"] = answer["status"]
        if code == "unreachable":
            time.sleep(0.02)
        return line, answer

    def write(self, line):
        self.file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def new_task(self):
        dice = self.dice
        self.tags += 1
        tag = f"{self.name}.{self.tags}"
        task = {"type": dice.choice(TYPES), "priority": dice.randrange(4), "input": {"tag": tag},
                "retry": RETRY}
        fields = {"tag": tag, "type": task["type"], "priority": task["priority"]}
        if dice.random() < 0.3:
            task["idempotencyKey"] = fields["key"] = f"k{dice.randrange(1 << 12)}-{self.tags // 50}"
        if dice.random() < 0.2:
            task["resources"] = fields["resources"] = [RESOURCE]
        if dice.random() < 0.1:
            task["delay"] = "100ms"
            fields["delayed"] = True
        if dice.random() < 0.3:
            task["maxAttempts"] = 0
        return task, fields

    def submit(self, repeated=None):
        task, fields = repeated or self.new_task()
        line, answer = self.call("submit", "POST", "/tasks", task, **fields)
        if line["result"] == "ok":
            line.update(task=answer["id"], existing=bool(answer.get("existing")))
            self.remember(answer["id"])
        elif line["result"] == "unknown" and "key" in fields:
            self.again = lambda: self.submit((task, fields))
        line.pop("status", None)
        self.write(line)

    def submit_many(self):
        items = [self.new_task() for _ in range(self.dice.randint(1, 12))]
        line, answer = self.call("submit", "POST", "/tasks:batch",
                                 {"tasks": [task for task, _ in items]})
        answers = answer["items"] if line["result"] == "ok" else [None] * len(items)
        for (_, fields), item in zip(items, answers):
            own = {**line, **fields}
            if item and "id" in item:
                own.update(task=item["id"], existing=bool(item.get("existing")))
                self.remember(item["id"])
            elif item:
                own.update(result="refused", code=item.get("code"))
            self.write(own)

    def claim(self, types=None, limit=None, wait=0):
        types = types or TYPES + [CRON_TYPE]
        limit = limit or self.dice.randint(1, 4)
        fields = {"worker": self.name, "types": types, "limit": limit,
                  "lease": int(LEASE_S * 1000000)}
        body = {"workerId": self.name, "types": types, "limit": limit, "leaseSeconds": LEASE_S}
        if wait:
            body["waitSeconds"] = wait
        line, answer = self.call("claim", "POST", "/claims", body, **fields)
        tasks = answer["tasks"] if line["result"] == "ok" else []
        if line["result"] == "ok":
            line["count"] = len(tasks)
        if wait:  # it may have taken a task at any moment of a long time
            line.pop("count", None)
        self.write(line)
        for task in tasks:
            self.write({**line, "call": "take", "task": task["id"], "fence": task["fence"],
                        "priority": task["priority"], "version": task["version"],
                        "attempts": task["attempts"], "resources": task["resources"] or None,
                        "types": None if wait else types})
            self.held[task["id"]] = (task["fence"], False)
            self.remember(task["id"])
        return len(tasks)

    def claim_one(self):
        task = self.dice.choice(self.known)
        if task in self.held:
            return
        wall = time.time()
        line, answer = self.call("take", "POST", f"/tasks/{task}:claim",
                                 {"workerId": self.name, "leaseSeconds": LEASE_S}, task=task,
                                 worker=self.name, fence=0, lease=int(LEASE_S * 1000000))
        line.pop("status", None)
        if line["result"] == "ok":
            line.update(fence=answer["fence"], attempts=answer["attempts"],
                        resources=answer["resources"] or None)
            # The worker may hold it already, by a claim whose answer was lost. Such a call changes
            # nothing, and doesn't renew the lease.
            claimed = datetime.datetime.fromisoformat(answer["claimedAt"].replace("Z", "+00:00"))
            if claimed.timestamp() < wall:
                line["again"] = True
            self.held[task] = (answer["fence"], answer["status"] == "running")
        self.write(line)

    def act(self, verb, task, more=None, **fields):
        fence, is_started = self.held[task]
        body = {"workerId": self.name, "fence": fence, **(more or {})}
        line, answer = self.call(verb, "POST", f"/tasks/{task}:{verb}", body, task=task,
                                 worker=self.name, fence=fence, **fields)
        if line["result"] == "ok" and verb == "start":
            self.held[task] = (answer["fence"], True)
        self.write(line)
        is_lost = line["result"] == "refused" and line.get("code") not in ("unreachable", "overloaded")
        if is_lost or (line["result"] == "ok" and verb not in ("start", "heartbeat", "progress")):
            self.held.pop(task, None)
        elif line["result"] != "ok" and verb in ("complete", "fail"):
            self.again = lambda: task in self.held and self.act(verb, task, more, **fields)
        elif line["result"] == "unknown" and verb not in ("start", "heartbeat", "progress"):
            self.held.pop(task, None)
        del is_started

    def complete(self, task):
        output = f"{self.name}.{self.n}"
        self.act("complete", task, {"output": output}, output=output)

    def fail(self, task):
        is_final = self.dice.random() < 0.3
        self.act("fail", task, {"error": {"message": f"{self.name}.{self.n}",
                                          "retryable": not is_final}}, permanent=is_final)

    def end_many(self):
        """Some of what it holds, in one call."""
        tasks = self.dice.sample(sorted(self.held), self.dice.randint(1, len(self.held)))
        fences = {task: self.held[task][0] for task in tasks}
        output = {task: f"{self.name}.{self.n}.{i}" for i, task in enumerate(tasks)}
        items = [{"id": task, "fence": fences[task], "status": "completed", "output": output[task]}
                 for task in tasks]
        line, answer = self.call("complete", "POST", "/outcomes",
                                 {"workerId": self.name, "items": items})
        answers = answer["items"] if line["result"] == "ok" else [None] * len(tasks)
        for task, item in zip(tasks, answers):
            own = {**line, "task": task, "worker": self.name, "fence": fences[task],
                   "output": output[task]}
            if item and "code" in item:
                own.update(result="refused", code=item["code"])
            self.write(own)
            self.held.pop(task, None)

    def heartbeat_many(self):
        tasks = sorted(self.held)
        fences = {task: self.held[task][0] for task in tasks}
        line, answer = self.call("heartbeat", "POST", "/heartbeats", {
            "workerId": self.name, "items": [{"id": task, "fence": fences[task]} for task in tasks]})
        answers = answer["items"] if line["result"] == "ok" else [None] * len(tasks)
        for task, item in zip(tasks, answers):
            own = {**line, "task": task, "worker": self.name, "fence": fences[task],
                   "lease": int(LEASE_S * 1000000)}
            if item and "code" in item:
                own.update(result="refused", code=item["code"])
                self.held.pop(task, None)
            self.write(own)

    def manage(self):
        verb = self.dice.choice(("cancel", "cancel", "retry", "get", "get", "get"))
        task = self.dice.choice(self.known)
        if verb == "get":
            line, answer = self.call("get", "GET", f"/tasks/{task}", task=task)
            if line["result"] == "ok":
                line["fence"] = answer["fence"]
        else:
            line, _ = self.call(verb, "POST", f"/tasks/{task}:{verb}", {}, task=task)
        self.write(line)

    def sign_off(self):
        line, _ = self.call("signoff", "DELETE", f"/workers/{urllib.parse.quote(self.name)}",
                            worker=self.name)
        self.write(line)
        self.held.clear()

    def remember(self, task):
        self.known.append(task)
        if len(self.known) > 200:
            self.known = self.known[-100:]

    # What to do -------------------------------------------------------------------------------

    def step(self):
        dice = self.dice
        if self.again and dice.random() < 0.7:
            again, self.again = self.again, None
            again()
            return
        if self.held and dice.random() < (0.6 if len(self.held) < HELD_MAX else 1):
            task = dice.choice(sorted(self.held))
            what = dice.random()
            if what < 0.15:
                self.act("start", task)  # which doesn't renew the lease
            elif what < 0.25:
                self.act("heartbeat", task, lease=int(LEASE_S * 1000000))
            elif what < 0.3:
                self.act("progress", task, {"progress": dice.randrange(101)},
                         lease=int(LEASE_S * 1000000))
            elif what < 0.36:
                self.heartbeat_many()
            elif what < 0.6:
                self.complete(task)
            elif what < 0.8:
                self.end_many()
            elif what < 0.93:
                self.fail(task)
            elif what < 0.97 and not self.held[task][1]:
                self.act("release", task)
            else:
                self.held.pop(task)  # dies, as far as the server can see
            return
        what = dice.random()
        if what < 0.03:
            self.sign_off()
        elif what < 0.2 and self.known:
            self.manage()
        elif what < 0.25 and self.known:
            self.claim_one()
        elif what < 0.55:
            self.submit()
        elif what < 0.62:
            self.submit_many()
        else:
            self.claim(wait=dice.random() < 0.05)

    def run(self, until):
        while time.monotonic() < until:
            self.step()
            if self.pace:
                time.sleep(self.dice.random() * 2 * self.pace)

    def close(self):
        self.channel.close()
        self.file.close()


def start_client(name, addresses, folder, seed, until, pace):
    """A client in a process of its own; its pid."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.closerange(3, 4096)  # connections of the proxies would stay open after a cut
        client = Client(name, addresses, f"{folder}/{name}.jsonl", seed, pace)
        client.run(until)
        client.close()
        code = 0
    except BaseException:  # pylint: disable=broad-except
        import traceback  # pylint: disable=import-outside-toplevel
        traceback.print_exc()
    finally:
        os._exit(code)
