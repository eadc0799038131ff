#!/usr/bin/env python3
"""Fair share: `group` on every path by which a task can be submitted over HTTP."""
import contextlib
import random
import sqlite3
import subprocess
import threading

from helper_server import Skip, equal, is_true, run


def starts(server, count):
    """The names of the next tasks, claimed one by one."""
    names = []
    for _ in range(count):
        names += [task["name"] for task in server.claim(workerId="w", limit=1)]
    return " ".join(names)


def test_submit_batch_and_list(place):
    server = place.serve()
    for i in range(3):
        server.submit("mail", group="large", name=f"l{i}")
    items = [{"type": "mail", "group": "small", "name": f"s{i}"} for i in range(2)]
    server("POST", "/tasks:batch", {"tasks": items}, 200)
    found = server("GET", "/tasks?group=small", status=200).json()["items"]
    equal([task["name"] for task in found], ["s1", "s0"])
    equal(server("GET", "/tasks?group=none", status=200).json()["items"], [])
    equal(starts(server, 5), "l0 s0 l1 s1 l2")
    equal(server("POST", "/tasks", {"type": "mail", "group": ""}).status, 400)
    equal(server("POST", "/tasks", {"type": "mail", "group": "g" * 256}).status, 400)
    equal(server("POST", "/tasks", {"type": "mail", "group": 7}).status, 400)
    equal(server.submit("mail", group=None)["group"], None)


def test_update_and_explain(place):
    server = place.serve()
    first = server.submit("mail", group="a", name="a0")
    moved = server.submit("mail", group="a", name="a1")["id"]
    server.submit("mail", group="b", name="b0")
    why = server("GET", f"/tasks/{moved}/explain", status=200).json()
    is_true("group a has its turn in the next round" in why["summary"], why)
    task = server("PATCH", f"/tasks/{moved}", {"group": "c"}, 200, If_Match=f'"{1}"').json()
    equal((task["group"], task["version"]), ("c", 2))
    server("PATCH", f"/tasks/{moved}", {"group": "d"}, 412, If_Match='"1"')
    equal(server("PATCH", f"/tasks/{first['id']}", {"group": ""}, 200).json()["group"], None)
    equal(starts(server, 3), "a0 b0 a1")
    server("PATCH", f"/tasks/{moved}", {"group": "e"}, 409)


def test_triggers_and_schedules(place):
    server = place.serve()
    server("PUT", "/workflows/w", {"workflow": "w", "triggers": [
        {"name": "t", "on": "order", "task": {"type": "mail", "group": "${tenant}"}}]}, 200)
    server("POST", "/events", {"type": "order", "data": {"tenant": "acme"}}, 200)
    equal([task["group"] for task in server("GET", "/tasks?group=acme").json()["items"]], ["acme"])
    server("PUT", "/crons/c", {"schedule": "0 3 1 1 *", "task": {"type": "mail", "group": "g"}}, 200)
    server("POST", "/crons/c:run", {}, 201)
    equal(len(server("GET", "/tasks?group=g").json()["items"]), 1)
    parent = server.held("w", type_="parent")["id"]
    server.act(parent, "block", workerId="w", subtasks=[{"type": "mail", "group": "child"}])
    equal(len(server("GET", "/tasks?group=child").json()["items"]), 1)


def count_turns(place):
    """The rows of table group_turn."""
    count = "SELECT count(*) FROM group_turn WHERE name <> ''"
    if place.url.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(place.path("faina.db"))) as db:
            return db.execute(count).fetchone()[0]
    server, _, schema = place.url.partition("schema=")
    done = subprocess.run(["psql", "-XqAt", server.rstrip("?&"), "-c", f'SET search_path = "{schema}"',
                           "-c", count], text=True, capture_output=True, check=True)
    return int(done.stdout)


def test_ended_groups_leave_no_rows(place):
    """A group without tasks is forgotten when others get their turns, however many there were."""
    server = place.serve()

    def run_once(groups):
        server("POST", "/tasks:batch", {"tasks": [{"type": "mail", "group": group} for group in groups]}, 200)
        while claimed := server.claim(limit=1000):
            items = [{"id": task["id"], "fence": task["fence"], "status": "completed"} for task in claimed]
            server("POST", "/outcomes", {"workerId": "w", "items": items}, 200)

    most = 0
    for i in range(10):
        run_once([f"g{i}.{j}" for j in range(500)])
        most = max(most, count_turns(place))
    is_true(500 <= most <= 1500, most)
    for _ in range(100):
        run_once(["last"])
    is_true(count_turns(place) <= 50, count_turns(place))


def missed_turns(order, left):
    """The tasks that started although another group of `left` (tasks by group) had waited since the last
    start of their own group, and had none in between."""
    missed, last = [], {}
    for at, group in enumerate(order):
        if group in last:
            between = set(order[last[group] + 1:at])
            missed += [(at, group, other) for other in left
                       if other != group and left[other] > 0 and other not in between]
        last[group] = at
        left[group] -= 1
    return missed


def test_two_nodes(place):
    """The groups take turns, whichever of two nodes takes a task in and whichever gives it out."""
    if not place.url.startswith("postgres"):
        raise Skip("SQLite has one node")
    servers = [place.serve(), place.serve()]
    groups = ["a"] * 90 + ["b"] * 30 + ["c"] * 15 + ["d"] * 3 + ["e"] * 60
    random.Random(1).shuffle(groups)

    def submit(server, part):
        for group in part:
            server.submit("mail", group=group)

    threads = [threading.Thread(target=submit, args=(server, groups[i::2]))
               for i, server in enumerate(servers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    order = []
    for i in range(len(groups)):
        [task] = servers[i % 2].claim(limit=1, waitSeconds=10)
        order.append(task["group"])
    equal(sorted(order), sorted(groups))
    equal(missed_turns(order, {group: groups.count(group) for group in groups}), [])


run(globals(), on_postgres=True)
