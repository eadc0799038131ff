#!/usr/bin/env python3
"""What operators look at: workers, history, failures and their counts."""
import re

from helper_cli import contains, equal, is_true, run


def fail(cli, kind, error, *more):
    task = cli.submit(kind, "--max-attempts", "1", *more)
    cli("claim", task, "-w", "w")
    cli("fail", task, "-w", "w", "--error", error, *(("--kind", "net") if "host" in error else ()))
    return task


def test_worker_ls(cli):
    """`worker` runs a pool, `worker ls` lists them; the older name does the same."""
    cli.submit("x")
    equal(cli("worker", "ls").json(), {"items": []})
    contains(cli("worker", "ls", "-o", "table").err, "No worker has registered.")
    contains(cli("worker", "ls", "nobody", code=3).err, "nobody")
    for args in (("worker", "ls"), ("worker", "--namespace", "x", "ls"), ("--namespace", "x", "worker", "ls")):
        equal(cli(*args).json(), cli("worker-list").json(), args)
    contains(cli("worker", "list", code=2).err, "one argument too many")
    contains(cli("worker", "--help").out, "Usage: faina worker [flags]")
    contains(cli("help", "worker").out, "Usage: faina worker [flags]")
    contains(cli("worker", "ls", "--help").out, "Usage: faina worker ls [ID]")
    contains(cli("help", "worker", "ls").out, "Usage: faina worker ls [ID]")
    contains(cli("worker", "ls", "--concurrency", "2", code=2).err, "worker ls has no flag --concurrency")


def test_stats_errors(cli):
    contains(cli("stats", "--errors", "-o", "table", code=6).err, "faina.db")
    cli.submit("x")
    contains(cli("stats", "--errors", "-o", "table").err, "No failures.")
    equal(cli("stats", "--errors").json(), {"items": []})
    for port in range(3):
        fail(cli, "mail.send", f"no route to host 10.0.0.{port}")
    fail(cli, "mail.send", "host is down")
    fail(cli, "scan", "it's broken")
    fail(cli, "away", "gone", "--namespace", "other")
    items = cli("stats", "--errors").json()["items"]
    equal([(i["type"], i["kind"], i["count"], i["groups"], i["message"]) for i in items],
          [("mail.send", "net", 4, 2, "no route to host #"), ("scan", None, 1, 1, "it's broken")])
    is_true(all(i["namespace"] == "default" and i["lastAt"] for i in items), items)
    equal(len(cli("stats", "--errors", "-o", "jsonl").lines()), 2)
    equal(cli("stats", "--errors", "--namespace", "other").json()["items"][0]["type"], "away")
    rows = cli("stats", "--errors", "--namespace", "*", "-o", "table").out.splitlines()
    equal(re.split("  +", rows[0]), ["TYPE", "KIND", "COUNT", "GROUPS", "LAST", "MOST OF THEM"])
    is_true(re.match(r"default/mail\.send +net +4 +2 +\S.*  no route to host #$", rows[1]), rows)
    is_true(any(row.startswith("other/away ") for row in rows), rows)


def test_failures(cli):
    tasks = [fail(cli, "mail.send", f"no route to host 10.0.0.{port}") for port in range(3)]
    group = cli("failures").json()["items"][0]
    equal((group["count"], group["message"], group["taskIds"]), (3, "no route to host #", tasks[::-1]))
    shown = cli.on_terminal("failures", width=80).plain().splitlines()
    is_true("MESSAGE" in shown[0] and "no route to host #" in shown[1] and len(shown[1]) <= 80, shown)
    equal(cli("failures", "--type", "other").json()["items"], [])
    equal(cli("failures", "--since", "1h", "--limit", "1", "-o", "jsonl").lines(), [group])


def test_history_has_a_sparkline_for_each_type(cli):
    task = cli.submit("mail.send")
    cli("start", task, "-w", "w")
    cli("complete", task, "-w", "w")
    cli.submit("scan")
    rows = {row.split()[0]: row for row in cli("history", "-o", "table").out.splitlines()}
    contains(rows["TYPE"], "TREND")
    is_true("█" in rows["mail.send"] and "█" not in rows["scan"], rows)
    steps = cli("history", "mail.send", "-o", "table").out.splitlines()
    contains(steps[0], "COMPLETED")
    items = cli("history", "mail.send").json()["items"]
    equal((items[-1]["submitted"], items[-1]["completed"]), (1, 1))
    contains(cli("history", "--step", "1ms", code=2).err, "step")


run(globals())
