#!/usr/bin/env python3
"""The audit: who did what over HTTP and on the command line, and tampering of every kind."""
import getpass
import hashlib
import json
import os
import re
import sqlite3
import subprocess
import threading

from helper_server import Skip, equal, is_true, run

PSQL = ("psql", "-XAtq", "-v", "ON_ERROR_STOP=1")


def is_sqlite(place):
    return place.url.startswith("sqlite:")


def change(place, *statements):
    """Changes the store behind the engine's back."""
    if is_sqlite(place):
        store = sqlite3.connect(place.path("faina.db"))
        for statement in statements:
            store.execute(statement)
        store.commit()
        store.close()
        return
    base, schema = re.match(r"(.*)[?&]schema=(\w+)$", place.url).groups()
    text = f"SET search_path TO {schema};" + ";".join(statements)
    done = subprocess.run([*PSQL, base], input=text, capture_output=True, text=True, check=False)
    equal((done.returncode, done.stderr), (0, ""))


def verify(place, code=0, *args):
    return json.loads(place.faina("audit", "verify", *args, code=code).stdout)


def entries(server, query="", **more):
    return server("GET", f"/audit{query}", status=200, **more).json()["items"]


def test_who_what_and_why(place):
    boss = place.token("admin", name="boss")
    server = place.serve()
    server.token = boss
    operator = server("POST", "/tokens", {"name": "night shift", "scopes": ["operate", "read"]}, 201).json()["token"]
    task = server.submit()["id"]
    mine = {"token": operator, "X_Request_Id": "r-17"}
    server("POST", f"/tasks/{task}:cancel", {"reason": "a wrong one"}, 200, **mine)
    server("POST", f"/tasks/{task}:retry", {"reason": "it was right"}, 200, **mine)
    server("PATCH", f"/tasks/{task}", {"priority": 3, "reason": "urgent"}, 200, **mine)
    server("PATCH", f"/tasks/{task}/status", {"status": "cancelled", "reason": "no"}, 200, **mine)
    server("DELETE", f"/tasks/{task}?reason=not%20needed", None, 204, **mine)
    server("POST", "/lanes:pause", {"type": "mail", "reason": "the server is down"}, 200, **mine)
    server("POST", "/lanes:resume?reason=up+again", {"type": "mail"}, 200, **mine)
    server("PUT", "/resources/gpu", {"maxConcurrency": 2, "reason": "two cards"}, 200)
    server("DELETE", "/resources/gpu?reason=sold", None, 204)
    server("PUT", "/crons/c", {"schedule": "0 3 1 1 *", "task": {"type": "t"}, "reason": "yearly"}, 200)
    server("POST", "/crons/c:run", {"reason": "early"}, 201)
    server("DELETE", "/crons/c", {"reason": "not needed"}, 204)
    server("PUT", "/workflows/w?reason=tried", {"workflow": "w", "triggers": [
        {"name": "t", "on": "e", "task": {"type": "t"}}]}, 200)
    server("POST", "/workflows/w:disable", {"reason": "too many"}, 200)
    server("DELETE", "/workflows/w", {}, 204)
    server("PUT", "/settings", {"redact": ["password"], "reason": "secrets"}, 200)
    server("POST", f"/tasks:purge", {"type": "t", "reason": "old"}, 200)
    shown = [(e["who"], e["act"], e["target"], e["reason"]) for e in entries(server, "?order=asc")]
    equal(shown[0][:3], (getpass.getuser(), "token create", "boss"))
    equal(shown[1:], [
        ("boss", "token create", "night shift", None),
        ("night shift", "cancel", task, "a wrong one"),
        ("night shift", "retry", task, "it was right"),
        ("night shift", "update", task, "urgent"),
        ("night shift", "cancel", task, "no"),
        ("night shift", "delete", task, "not needed"),
        ("night shift", "pause", "mail", "the server is down"),
        ("night shift", "resume", "mail", "up again"),
        ("boss", "resource set", "gpu", "two cards"),
        ("boss", "resource remove", "gpu", "sold"),
        ("boss", "cron put", "c", "yearly"),
        ("boss", "cron run", "c", "early"),
        ("boss", "cron remove", "c", "not needed"),
        ("boss", "workflow put", "w", "tried"),
        ("boss", "workflow disable", "w", "too many"),
        ("boss", "workflow remove", "w", None),
        ("boss", "settings set", None, "secrets"),
        ("boss", "purge", "*/t", "old")])
    newest = entries(server, f"?who=night%20shift&target={task}")
    equal([e["act"] for e in newest], ["delete", "cancel", "update", "retry", "cancel"])
    equal({e["requestId"] for e in newest}, {"r-17"})
    is_true(boss not in json.dumps(shown) and operator not in json.dumps(shown))
    # A session has the name of its token.
    cookie = server("POST", "/session", {"token": operator}, 200, token="").headers["Set-Cookie"].split(";")[0]
    server("POST", "/lanes:pause", {"type": "s"}, 200, token="", Cookie=cookie)
    equal(entries(server)[0]["who"], "night shift")


def test_without_tokens_and_refused(place):
    server = place.serve()
    task = server.submit()["id"]
    server.act(task, "start", workerId="w")
    server.act(task, "complete", workerId="w")
    server("DELETE", f"/tasks/{server.submit()['id']}", None, 409)
    server("POST", "/lanes:pause", {"type": "x", "reason": 7}, 400)
    server("POST", "/lanes:pause", {"type": "x", "reason": "x" * 1025}, 400)
    server("DELETE", "/resources/x", {"reason": 7}, 400)
    server("DELETE", "/resources/x", {"why": "x"}, 400)
    server("GET", "/lanes?reason=x", None, 400)
    server("POST", "/tasks?reason=x", {"type": "t"}, 400)
    server("GET", "/audit?order=up", None, 400)
    server("GET", "/audit?what=x", None, 400)
    answer = server("GET", "/audit", status=200).json()
    equal((answer["items"], answer["nextCursor"], answer["total"], answer["lastHash"]), ([], None, 0, None))
    server("PATCH", f"/tasks/{server.submit()['id']}/status", {"status": "failed", "error": "x"}, 200)
    shown = entries(server)
    equal([(e["id"], e["who"], e["act"], e["previousHash"]) for e in shown], [(1, None, "fail", None)])


def test_the_command_line(place):
    task = place.faina("submit", "t", "-o", "table").stdout.strip()
    place.faina("pause", "t", "--reason", "the mail server is down")
    place.faina("cancel", task)
    me = getpass.getuser()
    if is_sqlite(place): # through the socket of the process that has the file
        place.serve()
    place.faina("resume", "t", "--reason", "up again")
    place.faina("rm", task, "--reason", "done")
    lines = [json.loads(line) for line in place.faina("audit", "ls", "-o", "jsonl").stdout.splitlines()]
    equal([(e["who"], e["act"], e["target"], e["reason"]) for e in lines],
          [(me, "delete", task, "done"), (me, "resume", "t", "up again"), (me, "cancel", task, None),
           (me, "pause", "t", "the mail server is down")])
    table = place.faina("audit", "ls", "--act", "pause", "-o", "table").stdout
    is_true("the mail server is down" in table and task not in table, table)
    equal(verify(place), {"ok": True, "entries": 4, "lastHash": lines[0]["hash"], "findings": []})
    export = place.faina("audit", "export", "-o", "table").stdout
    previous = None
    for number, line in enumerate(export.splitlines(), 1):
        entry = json.loads(line)
        stored = entry.pop("hash")
        text = json.dumps(entry, separators=(",", ":"), ensure_ascii=False)
        equal((entry["id"], entry["previousHash"]), (number, previous))
        equal(hashlib.sha256(text.encode()).hexdigest(), stored)
        previous = stored
    with open(place.path("audit.jsonl"), "w", encoding="utf-8") as file:
        file.write(export)
    equal(verify(place, 0, "--file", "audit.jsonl")["entries"], 4)
    equal(verify(place, 0, "--last", f"2:{lines[2]['hash']}")["ok"], True)
    place.faina("audit", "verify", "--last", "2:x", code=2)
    with open(place.path("audit.jsonl"), "w", encoding="utf-8") as file:
        file.write(export.replace("up again", "down again"))
    equal(verify(place, 1, "--file", "audit.jsonl")["findings"],
          ["entry 3 was changed: its content doesn't have its hash"])
    with open(place.path("audit.jsonl"), "w", encoding="utf-8") as file:
        file.write("nonsense\n")
    place.faina("audit", "verify", "--file", "audit.jsonl", code=1)


def rehash(place, number):
    """Gives an entry the hash of its content, as somebody does who knows how."""
    lines = place.faina("audit", "export").stdout.splitlines()
    entry = next(e for e in map(json.loads, lines) if e["id"] == number)
    entry.pop("hash")
    text = json.dumps(entry, separators=(",", ":"), ensure_ascii=False)
    change(place, f"UPDATE audit SET hash = '{hashlib.sha256(text.encode()).hexdigest()}' WHERE id = {number}")


def test_tampering(place):
    def fresh(*statements):
        """The chain as it was, then changed."""
        change(place, "DELETE FROM audit", "INSERT INTO audit SELECT * FROM kept",
               "UPDATE audit_head SET count = 8, hash = (SELECT hash FROM kept WHERE id = 8)", *statements)
        return verify(place, 1)["findings"] if statements else verify(place)["findings"]

    for number in range(8):
        place.faina("pause", f"t{number}")
    change(place, "CREATE TABLE kept AS SELECT * FROM audit")
    equal(fresh(), [])
    changed = "entry 3 was changed: its content doesn't have its hash"
    for setting in ("who = 'nobody'", "act = 'resume'", "target = NULL", "reason = 'x'", "request_id = 'x'",
                    "at_us = at_us + 1", "previous_hash = NULL"):
        equal(fresh(f"UPDATE audit SET {setting} WHERE id = 3"), [changed], setting)
    is_true(changed in fresh("UPDATE audit SET hash = 'x' WHERE id = 3"))
    equal(fresh("DELETE FROM audit WHERE id = 1"), ["entry 1 was removed"])
    equal(fresh("DELETE FROM audit WHERE id IN (3, 4)"), ["entries 3 to 4 were removed"])
    equal(fresh("DELETE FROM audit WHERE id >= 7"), ["entries 7 to 8 were removed"])
    equal(fresh("DELETE FROM audit"), ["entries 1 to 8 were removed"])
    equal(fresh("DELETE FROM audit WHERE id = 8", "UPDATE audit_head SET count = 7"),
          ["entry 7 was replaced: it doesn't have the hash that is stored beside the entries"])
    equal(fresh("INSERT INTO audit (id, at_us, act, hash) VALUES (9, 1, 'x', 'y')")[-1],
          "entry 9 was inserted: the store has counted 8")
    equal(fresh("INSERT INTO audit (id, at_us, act, hash) VALUES (-1, 1, 'x', 'y')"),
          ["entry -1 was inserted: no entry has this number"])
    # Made room for one in the middle: all behind it have other numbers than their hashes say.
    found = fresh("UPDATE audit SET id = -id WHERE id > 4", "UPDATE audit SET id = 1 - id WHERE id < 0",
                  "INSERT INTO audit (id, at_us, act, hash) VALUES (5, 1, 'x', 'y')",
                  "UPDATE audit_head SET count = 9")
    is_true("entry 5 was changed: its content doesn't have its hash" in found, found)
    fresh("UPDATE audit SET who = 'nobody' WHERE id = 3")
    rehash(place, 3)
    equal(verify(place, 1)["findings"],
          ["entry 3 was replaced, or entry 4 inserted: the one doesn't have the hash that the other names"])
    fresh("UPDATE audit SET who = 'nobody' WHERE id = 8")
    rehash(place, 8)
    equal(verify(place, 1)["findings"],
          ["entry 8 was replaced: it doesn't have the hash that is stored beside the entries"])
    equal(fresh("DELETE FROM audit_head"), ["the number of entries, which is stored beside them, is not there"])
    place.faina("pause", "x", code=1) # an act without an entry doesn't happen
    equal(json.loads(place.faina("ls").stdout)["items"], [])
    table = place.faina("audit", "verify", "-o", "table", code=1)
    is_true("is not there" in table.stdout, table)


def test_two_nodes(place):
    """One chain, with workers beside it that write no entries."""
    if is_sqlite(place):
        raise Skip("a file has one owner")
    nodes = [place.serve(), place.serve()]
    problems = []

    def administer(node, name):
        for number in range(40):
            answer = node("POST", "/lanes:pause", {"type": f"{name}{number}", "reason": name})
            if answer.status != 200:
                problems.append(answer)

    def work(node, name):
        for _ in range(40):
            task = node.submit(name)["id"]
            node.act(task, "start", workerId=name)
            node.act(task, "complete", workerId=name)

    threads = [threading.Thread(target=part, args=(node, f"n{number}{part.__name__}{turn}"))
               for number, node in enumerate(nodes) for part in (administer, work) for turn in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(problems, [])
    equal(verify(place)["entries"], 160)
    equal({e["act"] for e in entries(nodes[0], "?limit=1000")}, {"pause"})


def test_a_copy_and_a_backup_have_the_chain(place):
    if not is_sqlite(place):
        raise Skip("of a file")
    place.faina("pause", "a")
    place.faina("backup", "saved.db", "--reason", "before the change")
    shown = [json.loads(line) for line in place.faina("audit", "export").stdout.splitlines()]
    equal([(e["act"], e["target"], e["reason"]) for e in shown],
          [("pause", "a", None), ("backup", "saved.db", "before the change")])
    place.faina("db", "copy", "sqlite:faina.db", "sqlite:copy.db")
    copied = place.faina("audit", "export", env={"FAINA_URL": "sqlite:copy.db"}).stdout
    equal([json.loads(line) for line in copied.splitlines()], shown)
    place.faina("resume", "a", env={"FAINA_URL": "sqlite:copy.db"})
    place.faina("audit", "verify", env={"FAINA_URL": "sqlite:copy.db"})
    server = place.serve()
    server("POST", "/backup", None, 200)
    equal(entries(server)[0]["act"], "backup")


if __name__ == "__main__":
    os.environ.pop("FAINA_URL", None)
    run(globals(), on_postgres=True)
