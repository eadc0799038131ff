#!/usr/bin/env python3
"""`faina cron`: ls, set, pause, resume, rm, run and next."""
import re
import shlex

from helper_cli import ROOT, contains, equal, is_true, run


def test_set_ls_run_and_rm(cli):
    cli("db", "migrate")
    equal(cli("cron", "ls").json(), {"items": []})
    cron = cli("cron", "set", "night", "0 3 * * MON", "report", '{"days":1}', "--timezone",
               "Europe/Berlin", "--catch-up", "one", "--overlap", "skip", "--jitter", "90s", "--priority", "5", "--max-attempts", "0",
               "--retry", "1m,3", "--delay", "5s", "--resource", "gpu,cpu", "--metadata", "{}", "--name", "n",
               "--paused").json()
    equal(cron["task"], {"type": "report", "name": "n", "input": {"days": 1}, "priority": 5,
                         "maxAttempts": 0, "retry": {"base": "1m", "factor": 3}, "delay": "5s", "resources": ["gpu", "cpu"],
                         "metadata": {}})
    equal((cron["schedule"], cron["timezone"], cron["catchUp"], cron["paused"], cron["nextAt"]),
          ("0 3 * * MON", "Europe/Berlin", "one", True, None))
    equal((cron["overlap"], cron["jitter"]), ("skip", "90s"))
    equal(cli("cron", "ls", "night").json(), cron)
    equal(cli("cron", "ls").json(), {"items": [cron]})
    contains(cli("cron", "ls", "-o", "table").out, "paused")
    task = cli.get(cli("cron", "run", "night").out.strip())
    equal((task["type"], task["input"], task["priority"], task["createdBy"]),
          ("report", {"days": 1}, 5, "cron:night"))
    equal(cli("cron", "rm", "night").json(), {"deleted": 1})
    contains(cli("cron", "rm", "night", code=3).err, "has no schedule night")
    cli("cron", "run", "night", code=3)


def test_pause_and_resume(cli):
    first = cli("cron", "set", "a", "@yearly", "t", '{"n":1}', "--catch-up", "all", "--overlap", "skip",
                "--jitter", "5s", "--timezone", "Asia/Tokyo").json()
    cli("cron", "set", "b", "@yearly", "t", "--paused")
    paused = cli("cron", "pause", "a").json()
    changed = {"paused": True, "nextAt": None, "version": first["version"] + 1,
               "updatedAt": paused["updatedAt"]}
    equal(paused, {**first, **changed})
    equal(cli("cron", "pause", "a").json(), paused) # nothing to do
    resumed = cli("cron", "resume", "b", "a").json()["items"]
    equal([(job["name"], job["paused"]) for job in resumed], [("b", False), ("a", False)])
    equal(cli("cron", "ls").json(), {"items": [resumed[1], resumed[0]]})
    equal(resumed[1]["nextAt"], first["nextAt"])
    mixed = cli("cron", "pause", "a", "none", "b", code=None)
    equal((mixed.code, [job["name"] for job in mixed.json()["items"]]), (3, ["a", "b"]), mixed)
    contains(mixed.err, "has no schedule none")
    equal(cli("cron", "pause", "a", "-o", "table").out, "paused schedule a\n")
    is_true(cli("cron", "resume", "a", "-o", "table").out.startswith("resumed schedule a, next in "))
    cli("cron", "resume", "none", code=3)
    gone = cli("cron", "rm", "a", "none", "b", code=None)
    equal((gone.code, gone.json()), (3, {"deleted": 2}), gone)
    cli("db", "migrate")
    equal(cli("cron", "ls").json(), {"items": []})
    cli("cron", "set", "far", "@daily", "t", "--namespace", "other")
    is_true(cli("cron", "pause", "far", "--namespace", "other").json()["paused"])


def test_bad_ones(cli):
    for words, part in ((("c", "0 0 3 ? * 2", "t"), "MON"),
                        (("c", "0 3 * *", "t"), "schedule"),
                        (("c", "0 3 * * *", "t", "--timezone", "Foo"), 'no time zone "Foo"'),
                        (("c", "0 3 * * *", "t", "--catch-up", "x"), "none one all"),
                        (("c", "0 3 * * *", "t", "--overlap", "x"), "allow skip cancel"),
                        (("c", "0 3 * * *", "t", "--jitter", "2d"), "24 hours"),
                        (("c", "0 3 * * *", "t", "--retry", "x"), "BASE of --retry"),
                        (("c", "0 3 * * *", "t", "{"), "input"),
                        (("c", "0 3 * * *"), "")):
        contains(cli("cron", "set", *words, code=2).err, part)
    cli("db", "migrate")
    equal(cli("cron", "ls").json(), {"items": []})


def test_next(cli):
    times = cli("cron", "next", "30 2 29 2 *", "--count", "2").json()["items"]
    equal([time[4:] for time in times], ["-02-29T02:30:00.000000Z"] * 2)
    equal(len(cli("cron", "next", "@hourly").json()["items"]), 10)
    shown = cli("cron", "next", "0 3 1 1 *", "--timezone", "Asia/Tokyo", "-n", "1", "-o", "table").out
    contains(shown, "Asia/Tokyo")
    contains(shown, "-01-01 03:00:00")
    contains(shown, "-12-31T18:00:00.000000Z")
    cli("cron", "set", "y", "@yearly", "t")
    is_true(cli("cron", "next", "y", "-n", "1").json()["items"][0] ==
            cli("cron", "ls", "y").json()["nextAt"])
    cli("cron", "next", "y", "--timezone", "UTC", code=2)
    cli("cron", "next", "none", code=3)
    cli("cron", "next", "x y z", code=2)
    cli("cron", "next", "@daily", "--count", "0", code=2)


def test_the_page(cli):
    """The commands and the schedules of docs/schedules.md."""
    with open(f"{ROOT}/docs/schedules.md", encoding="utf-8") as file:
        commands, schedules, *_ = re.findall(r"^```\n(.*?)^```", file.read(), re.M | re.S)
    cli("db", "migrate")
    for line in commands.splitlines():
        words = shlex.split(line, comments=True)
        equal(words[0], "faina")
        cli(*words[1:])
    equal(cli("cron", "ls", "report").json()["paused"], True)
    listed = [re.split(r" {3,}", line)[0] for line in schedules.splitlines()]
    equal(len(listed), 5)
    for schedule in listed:
        equal(len(cli("cron", "next", schedule, "-n", "2").json()["items"]), 2)


run(globals())
