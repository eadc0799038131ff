"""A small model of a queue, and clients that use it in virtual time: clean histories for the tests
of tools/check-history.

Calls overlap, results get lost, leases end, and the order of effects is decided by the model alone,
so every history that generate() returns keeps every promise.
"""
import heapq
import random

LEASE = 20000  # microseconds, as all times
TYPES = ("a", "b")
LIMIT = 2
ATTEMPTS_MAX = 4
HELD = ("claimed", "running")
ENDED = ("completed", "failed", "dead_letter", "cancelled")


class Refused(Exception):
    """The model refuses a call; the argument is the code."""


class Item:
    def __init__(self, number, line):
        self.id = f"task-{number:06}"
        self.number, self.tag, self.key = number, line["tag"], line.get("key")
        self.type, self.priority = line["type"], line["priority"]
        self.resources = line.get("resources")
        self.status, self.attempts, self.fence, self.version = "pending", 0, 0, 1
        self.worker, self.until, self.output = None, 0, None
        self.events = [["created", None]]

    def change(self, status, event, worker=None):
        self.status = status
        self.version += 1
        self.events.append([event, worker])
        if status not in HELD:
            self.worker = None

    def final(self):
        return {"call": "final", "task": self.id, "tag": self.tag, "key": self.key,
                "type": self.type, "status": self.status, "attempts": self.attempts,
                "fence": self.fence, "version": self.version, "output": self.output,
                "events": [list(event) for event in self.events]}


class Model:
    """The rules of docs/states.md for the calls that the clients make."""

    def __init__(self):
        self.items, self.keys = {}, {}
        self.now = 0

    def at(self, now):
        self.now = now
        for item in self.items.values():
            if item.status in HELD and item.until <= now:
                worker = item.worker
                if item.attempts >= ATTEMPTS_MAX:
                    item.change("dead_letter", "dead_letter", worker)
                else:
                    item.change("pending", "lease_lost", worker)

    def submit(self, line):
        key = (line["type"], line["key"]) if line.get("key") else None
        if key in self.keys:
            item = self.items[self.keys[key]]
            return {"task": item.id, "existing": True, "version": item.version}
        item = Item(len(self.items), line)
        self.items[item.id] = item
        if key:
            self.keys[key] = item.id
        return {"task": item.id, "existing": False, "version": 1}

    def in_use(self):
        return sum(1 for item in self.items.values() if item.status in HELD and item.resources)

    def claim(self, line):
        taken = []
        ready = sorted((item for item in self.items.values()
                        if item.status == "pending" and item.type in line["types"]),
                       key=lambda item: (-item.priority, item.number))
        for item in ready:
            if len(taken) == line["limit"]:
                break
            if item.resources and self.in_use() >= LIMIT:
                continue
            item.worker, item.until = line["worker"], self.now + LEASE
            item.attempts += 1
            item.fence += 1
            item.change("claimed", "claimed", line["worker"])
            item.worker = line["worker"]
            taken.append({"task": item.id, "fence": item.fence, "priority": item.priority,
                          "version": item.version, "attempts": item.attempts,
                          "resources": item.resources})
        return taken

    def held(self, line):
        item = self.items[line["task"]]
        if item.status == "completed":
            raise Refused("task_completed")
        if item.status in ENDED:
            raise Refused("invalid_transition")
        if item.status not in HELD:
            raise Refused("task_not_claimed")
        if item.worker != line["worker"] or item.fence != line["fence"]:
            raise Refused("wrong_worker")
        return item

    def heartbeat(self, line):
        item = self.held(line)
        item.until = self.now + LEASE
        return {"version": item.version, "lease": LEASE}

    def start(self, line):
        item = self.held(line)
        if item.status == "claimed":
            worker = item.worker
            item.change("running", "started", worker)
            item.worker = worker
        return {"version": item.version}

    def complete(self, line):
        item = self.held(line)
        item.output = line["output"]
        item.change("completed", "completed", line["worker"])
        return {"version": item.version, "status": "completed"}

    def fail(self, line):
        item = self.held(line)
        if line["permanent"]:
            item.change("failed", "failed", line["worker"])
        elif item.attempts >= ATTEMPTS_MAX:
            item.change("dead_letter", "dead_letter", line["worker"])
        else:
            item.change("pending", "retry_scheduled", line["worker"])
        return {"version": item.version, "status": item.status}

    def release(self, line):
        item = self.held(line)
        if item.status != "claimed":
            raise Refused("invalid_transition")
        item.attempts -= 1
        item.change("pending", "released", line["worker"])
        return {"version": item.version, "status": "pending"}

    def cancel(self, line):
        item = self.items[line["task"]]
        if item.status == "completed":
            raise Refused("task_completed")
        if item.status in ("failed", "dead_letter"):
            raise Refused("task_failed")
        if item.status != "cancelled":
            item.change("cancelled", "cancelled")
        return {"version": item.version, "status": "cancelled"}

    def retry(self, line):
        item = self.items[line["task"]]
        if item.status in ("completed", "pending"):
            raise Refused("invalid_transition")
        item.attempts = 0
        item.change("pending", "retried")
        return {"version": item.version, "status": "pending"}

    def get(self, line):
        item = self.items[line["task"]]
        return {"version": item.version, "status": item.status, "fence": item.fence}


class Client:
    """Decides what to call next by what it was answered."""

    def __init__(self, world, number):
        self.world, self.name, self.n = world, f"c{number}", 0
        self.held, self.known = [], []

    def line(self, call, **fields):
        return {"call": call, "client": self.name, "n": self.n, **fields}

    def act(self, call, **fields):
        task, fence = self.world.dice.choice(self.held)
        return self.line(call, task=task, worker=self.name, fence=fence, **fields)

    def choose(self, is_draining):
        dice = self.world.dice
        self.n += 1
        if is_draining:
            if not self.held:
                return self.claim(3)
            return self.act("complete", output=f"{self.name}.{self.n}")
        if self.held and dice.random() < 0.6:
            call = dice.choice(("heartbeat", "start", "complete", "complete", "fail", "release"))
            more = {"output": f"{self.name}.{self.n}"} if call == "complete" else \
                {"permanent": dice.random() < 0.3} if call == "fail" else {}
            return self.act(call, **more)
        if self.known and dice.random() < 0.2:
            call = dice.choice(("cancel", "retry", "get", "get"))
            return self.line(call, task=dice.choice(self.known))
        if dice.random() < 0.5:
            return self.claim(dice.randint(1, 3))
        line = self.line("submit", tag=f"{self.name}.{self.n}", type=dice.choice(TYPES),
                         priority=dice.randint(0, 3))
        if dice.random() < 0.3:
            line["key"] = f"k{dice.randint(0, self.world.calls // 20 + 1)}"
        if dice.random() < 0.2:
            line["resources"] = ["gpu"]
        return line

    def claim(self, limit):
        return self.line("claim", worker=self.name, types=list(TYPES), limit=limit, lease=LEASE)

    def learn(self, line, taken):
        for take in taken:
            self.held.append((take["task"], take["fence"]))
        if line["call"] == "submit" and line.get("task"):
            self.known.append(line["task"])
        if line["call"] in ("complete", "fail", "release") or line["result"] != "ok":
            self.held = [row for row in self.held
                         if row != (line.get("task"), line.get("fence"))]


class World:
    def __init__(self, seed, calls, clients):
        self.dice, self.model = random.Random(seed), Model()
        self.calls, self.lines, self.events, self.order = calls, [], [], 0
        self.clients = [Client(self, i) for i in range(clients)]
        self.made = 0

    def after(self, time, act):
        self.order += 1
        heapq.heappush(self.events, (time, self.order, act))

    def run(self):
        for client in self.clients:
            self.after(self.dice.randint(1, 1000), lambda now, who=client: self.begin(who, now))
        while self.events:
            now, _, act = heapq.heappop(self.events)
            act(now)

    def begin(self, client, start):
        is_draining = self.made >= self.calls
        if is_draining and not self.unfinished():
            return
        self.made += 1
        line = client.choose(is_draining)
        point = start + self.dice.randint(1, 400)
        end = point + self.dice.randint(1, 400)
        line.update(start=start, end=end)
        fate = 1 if is_draining else self.dice.random()
        if fate < 0.04:  # the answer is lost, and the call acts late or not at all
            line["result"] = "unknown"
            if fate < 0.02:
                self.after(point + self.dice.randint(0, 8000),
                           lambda now: self.apply(dict(line), now))
            self.lines.append(line)
            client.learn(line, ())
            self.after(end + 1, lambda now: self.begin(client, now))
            return
        self.after(point, lambda now: self.answer(client, line, now))

    def unfinished(self):
        return any(item.status not in ENDED for item in self.model.items.values())

    def apply(self, line, now):
        self.model.at(now)
        try:
            return getattr(self.model, line["call"])(line)
        except Refused:
            return None

    def answer(self, client, line, now):
        self.model.at(now)
        taken = []
        try:
            answer = getattr(self.model, line["call"])(line)
            line["result"] = "ok"
            if line["call"] == "claim":
                taken = answer
                line["count"] = len(taken)
            else:
                line.update(answer)
        except Refused as why:
            line.update(result="refused", code=str(why))
        self.lines.append(line)
        for take in taken:
            self.lines.append({**line, **take, "call": "take"})
        client.learn(line, taken)
        rest = self.dice.randint(1, 300) if self.dice.random() < 0.97 else 3 * LEASE
        self.after(line["end"] + rest, lambda at: self.begin(client, at))


def schedule_lines(times, start):
    """A schedule, the tasks that it has made, and a worker that completes them."""
    lines = [{"call": "schedule", "name": "nightly", "times": times}]
    for number, at in enumerate(times):
        task, output, when = f"nightly-{at}", f"night.{at}", start + 10 * number
        mine = {"client": "night", "result": "ok", "task": task, "worker": "night", "fence": 1}
        lines.append({**mine, "call": "take", "n": 2 * number, "start": when, "end": when + 2,
                      "version": 2, "lease": LEASE})
        lines.append({**mine, "call": "complete", "n": 2 * number + 1, "start": when + 4,
                      "end": when + 6, "version": 3, "output": output, "status": "completed"})
        lines.append({"call": "final", "task": task, "schedule": "nightly", "at": at,
                      "type": "report", "key": f"cron:nightly:{at}", "status": "completed",
                      "attempts": 1, "fence": 1, "version": 3, "output": output,
                      "events": [["created", None], ["claimed", "night"], ["completed", "night"]]})
    return lines


def generate(seed, calls=400, clients=5):
    """The lines of a clean history."""
    world = World(seed, calls, clients)
    world.run()
    lines = [{"call": "settings", "drained": True, "strict": True, "slack": 0},
             {"call": "limit", "client": "setup", "n": 1, "start": 0, "end": 0, "result": "ok",
              "resource": "gpu", "limit": LIMIT}]
    lines += world.lines
    lines += [item.final() for item in world.model.items.values()]
    return lines + schedule_lines([100, 200, 300], world.lines[-1]["end"])
