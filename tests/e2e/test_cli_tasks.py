#!/usr/bin/env python3
"""The life of tasks, by the command line alone: every task verb, its answer and its exit code."""
import json
import select
import sqlite3
import time

from helper_cli import ID, contains, equal, is_true, run

FIELDS = """id namespace type name status state progress priority input output error metadata spec
idempotencyKey keyScope inputHash attempts maxAttempts retryWindow timeout group startBy runAt workerId leaseExpiresAt parentId dependsOn
resources expiresAt teamId createdBy version createdAt updatedAt claimedAt startedAt completedAt
deletedAt phase fence retry origin""".split()


def test_a_whole_life(cli):
    task = cli.submit("mail.send", '{"to":"ann@example.com"}')
    is_true(ID.fullmatch(task), task)
    got = cli.get(task)
    equal(sorted(got), sorted(FIELDS))
    equal((got["status"], got["state"], got["input"]),
          ("pending", "Queued", {"to": "ann@example.com"}))
    claimed = cli("claim", "--worker", "w").json()
    equal([(t["id"], t["status"], t["attempts"], t["fence"]) for t in claimed["tasks"]],
          [(task, "claimed", 1, 1)])
    equal(cli("start", task, "--worker", "w").json()["status"], "running")
    got = cli("progress", task, "40", "decoding", "--worker", "w", "--metadata", '{"a":1}').json()
    equal((got["progress"], got["state"], got["metadata"]), (40, "decoding", {"a": 1}))
    equal(cli("heartbeat", task, "--worker", "w").json(),
          {"items": [{"id": task, "held": True, "code": "ok"}]})
    got = cli("complete", task, '{"sent": true}', "--worker", "w").json()
    equal((got["status"], got["output"]), ("completed", {"sent": True}))
    equal(cli("result", task).out, '{"sent": true}\n')
    events = cli("events", task).json()["items"]
    equal([e["event"] for e in events], ["completed", "progress", "started", "claimed", "created"])
    equal(set(e["actor"] for e in events), {"API", "WORKER"})
    equal(len(cli("events", task, "--limit", "2").json()["items"]), 2)
    equal(cli("stats").json()["byStatus"]["completed"], 1)


def test_submit_prints_the_id_and_the_task_when_asked(cli):
    equal(len(cli("submit", "x").out.strip()), 36)
    equal(cli("submit", "x", "-o", "json").json()["type"], "x")
    equal(cli("submit", "--name", "only a name").code, 0)
    task = cli("ls", "-n", "1").json()["items"][0]
    equal((task["type"], task["name"]), ("default", "only a name"))


def test_every_flag_of_submit(cli):
    team = cli("team", "create", "billing").out.strip()
    first, second = cli.submit("a"), cli.submit("b")
    task = cli("submit", "x", "[1, 2]", "--name", "n", "--priority", "-5", "--delay", "1h",
               "--key", "k", "--max-attempts", "0", "--resource", "gpu,cpu", "--resource=disk",
               "--depends-on", f"{first},{second}", "--metadata", '{"m":1}', "--spec", '{"s":1}',
               "--team", team, "--created-by", "ann", "-o", "json").json()
    equal((task["name"], task["priority"], task["idempotencyKey"], task["maxAttempts"]),
          ("n", -5, "k", 0))
    equal((task["resources"], sorted(task["dependsOn"])), (["cpu", "disk", "gpu"], [first, second]))
    equal((task["metadata"], task["spec"], task["teamId"], task["createdBy"]),
          ({"m": 1}, {"s": 1}, team, "ann"))
    equal((task["status"], task["input"]), ("blocked", [1, 2]))
    is_true(task["runAt"] > task["createdAt"])
    equal(cli("submit", "x", "--max-retries", "2", "-o", "json").json()["maxAttempts"], 3)
    equal(cli("submit", "x", "--run-at", "2099-01-02T03:04:05+01:00", "-o", "json").json()["runAt"],
          "2099-01-02T02:04:05.000000Z")


def test_retry_policies(cli):
    for text, policy in (("1m", {"base": "1m", "factor": 8, "max": "6h"}),
                         ("10s,3", {"base": "10s", "factor": 3, "max": "6h"}),
                         ("1d,1.5,7d", {"base": "24h", "factor": 1.5, "max": "168h"})):
        equal(cli("submit", "x", "--retry", text, "-o", "json").json()["retry"], policy)
    equal(cli("submit", "x", "-o", "json").json()["retry"], None)
    for text, hint in (("soon", 'BASE of --retry'), ("0s", "1ms at least"), ("1s,x", "number from 1 on"),
                       ("1s,0.5", "number from 1 on"), ("1s,inf", "number from 1 on"),
                       ("1s,2,0s", "MAX of --retry is 1ms"), ("1s,2,often", "MAX of --retry"),
                       ("1s,2,1h,4", "such as 10s,3,1h"), (",2", "such as 10s,3,1h"),
                       ("1s,", "such as 10s,3,1h"), ("", "such as 10s,3,1h"),
                       ("1h,2,1m", "is longer than MAX, 1m"),
                       ("7h", "is longer than MAX, 6h by default")):
        contains(cli("submit", "x", "--retry", text, code=2).err, hint)
    task = cli.submit("x", "--retry", "90s,3")
    contains(cli.on_terminal("get", task).plain(),
             "retry         1 min 30 s, then 3 times as long each time, at most 6 h")
    for usual in (cli.submit("x"), cli.submit("x", "--retry", "15s,8,6h")):
        is_true("\nretry" not in cli.on_terminal("get", usual).plain())


def test_keys_and_deduplication(cli):
    first = cli.submit("x", "1", "--key", "k")
    again = cli("submit", "x", "1", "--key", "k", "-o", "json").json()
    equal((again["id"], again["existing"]), (first, True))
    other = cli("submit", "x", "2", "--key", "k")
    equal(other.out.strip(), first)
    contains(other.err, "with a different input")
    equal(cli("get", "--type", "x", "--key", "k").json()["id"], first)
    equal(cli.submit("y", '{"b":1,"a":2}', "--dedupe", "input"),
          cli.submit("y", '{ "a": 2, "b": 1 }', "--dedupe", "input"))
    cli("get", "--type", "x", "--key", "none", code=3)
    equal(cli("get", "--key", "k").json()["id"], first)
    cli("get", "--type", "x", code=2)


def test_input_from_stdin_and_from_a_file(cli):
    cli.write("in.json", '{"from": "a file"}')
    equal(cli.get(cli.submit("x", "@in.json"))["input"], {"from": "a file"})
    task = cli("submit", "x", "-", stdin="[true]\n").out.strip()
    equal(cli.get(task)["input"], [True])
    contains(cli("submit", "x", "@missing.json", code=2).err, "missing.json")


def test_failures_and_retries(cli):
    task = cli.submit("x", "--max-attempts", "2")
    for attempt in (1, 2):
        cli("claim", task, "--worker", "w")
        got = cli("fail", task, "--error", "boom", "--kind", "network", "--detail", '{"n":1}',
                  "--worker", "w").json()
        equal(got["attempts"], attempt)
        equal(got["error"]["message"], "boom")
    equal((got["status"], got["error"]["kind"], got["error"]["detail"]),
          ("dead_letter", "network", {"n": 1}))
    cli("retry", task, "--keep-attempts", code=4)
    got = cli("retry", task).json()
    equal((got["status"], got["attempts"]), ("pending", 0))
    cli("claim", task, "-w", "w")
    equal(cli("fail", task, "--error", "no", "--permanent", "-w", "w").json()["status"], "failed")
    contains(cli("result", task, code=4).err, "no")
    contains(cli("fail", task, "-w", "w", code=2).err, "--error")


def test_conflicts(cli):
    task = cli.submit("x")
    cli("complete", task, code=4)
    cli("claim", task, "--worker", "a")
    cli("claim", task, "--worker", "a")
    cli("claim", task, "--worker", "b", code=4)
    cli("complete", task, "--worker", "b", code=4)
    cli("complete", task, "--worker", "a", "--fence", "7", code=4)
    cli("complete", task, "--worker", "a", "--if-version", "99", code=4)
    contains(cli("rm", task, code=4).err, "; cancel it first, or add --cancel\n")
    cli("result", task, code=4)
    cli("complete", task, "1", "--worker", "a")
    equal(cli("complete", task, "1", "--worker", "a").json()["status"], "completed")
    cli("complete", task, "2", "--worker", "a", code=4)
    cli("cancel", task, code=4)
    cli("heartbeat", task, "-w", "a", code=None)
    missing = "01a1dd87-fe86-70cd-8db6-65214919ec83"
    for verb in ("get", "cancel", "retry", "rm", "events", "children", "explain", "result", "wait"):
        cli(verb, missing, code=3)
        cli(verb, "nonsense", code=3)


def test_claims_by_type_priority_services_and_namespace(cli):
    low, high = cli.submit("a"), cli.submit("a", "--priority", "9")
    other = cli.submit("b", "--resource", "gpu")
    far = cli.submit("a", "--namespace", "far")
    claim = ("claim", "--worker", "w", "--limit", "10")

    def ids(*args):
        return [task["id"] for task in cli(*claim, *args).json()["tasks"]]

    equal(ids("--types", "none,such"), [])
    equal(ids("--types", "b", "--services", "disk"), [])
    equal(ids("--types", "a"), [high, low])
    equal(ids("--services", "gpu,disk"), [other])
    equal(ids("--namespace", "*"), [far])
    equal(cli(*claim, "-o", "jsonl").out, "")
    begin = time.monotonic()
    equal(cli(*claim, "--wait", "--timeout", "300ms").json(), {"tasks": []})
    is_true(time.monotonic() - begin >= 0.3)


def test_release_gives_the_attempt_back(cli):
    task = cli.submit("x")
    cli("claim", task, "-w", "w")
    got = cli("release", task, "-w", "w").json()
    equal((got["status"], got["attempts"]), ("pending", 0))


def test_subtasks(cli):
    parent = cli.submit("book")
    cli("claim", parent, "-w", "w")
    cli("start", parent, "-w", "w")
    got = cli("block", parent, '[{"type":"page","input":1},{"type":"page","input":2}]', "-w",
              "w").json()
    equal(got["status"], "blocked")
    children = cli("children", parent).json()["items"]
    equal([child["input"] for child in children], [1, 2])
    equal({child["parentId"] for child in children}, {parent})
    equal(len(cli("ls", "--parent", parent).json()["items"]), 2)
    for child in children:
        cli("claim", child["id"], "-w", "v")
        cli("complete", child["id"], "-w", "v")
    got = cli.get(parent)
    equal((got["status"], got["phase"]), ("pending", "resume"))
    cli("block", parent, "{}", "-w", "w", code=2)
    contains(cli("block", parent, '[{"typ":"x"}]', "-w", "w", code=2).err, "subtask 1")


def test_background(cli):
    task = cli.submit("x")
    cli("start", task, "-w", "w")
    got = cli("background", task, "-w", "w", "--reason", "printing", "--timeout", "1h").json()
    equal((got["status"], got["workerId"]), ("background", None))
    is_true(got["expiresAt"])
    equal(cli("complete", task, '"done"').json()["status"], "completed")


def test_dependencies_and_explain(cli):
    first = cli.submit("a")
    second = cli.submit("b", "--depends-on", first)
    answer = cli("explain", second).json()
    equal(answer["reasons"][0]["kind"], "dependency")
    equal(answer["task"]["id"], second)
    is_true(answer["summary"])
    cli("claim", first, "-w", "w")
    cli("complete", first, "-w", "w")
    equal(cli.get(second)["status"], "pending")


def test_wait(cli):
    task = cli.submit("x")
    contains(cli("wait", task, "--timeout", "100ms", code=5).err, "pending")
    waiter = cli.start("wait", task, "--timeout", "30s")
    cli("claim", task, "-w", "w") # while the other one waits
    cli("complete", task, "7", "-w", "w")
    out, err = waiter.communicate(timeout=60)
    equal(waiter.returncode, 0, out, err)
    contains(out, '"output":7')
    bad = cli.submit("x")
    cli("cancel", bad)
    equal(cli("wait", bad, code=1).json()["status"], "cancelled")


def test_submit_and_wait(cli):
    cli("submit", "x", "--wait", "--timeout", "100ms", code=None)
    waiter = cli.start("submit", "y", "--wait", "--timeout", "30s")
    task = waiter.stdout.readline().strip() # is there before the end
    cli("claim", task, "-w", "w")
    cli("fail", task, "--error", "boom", "--permanent", "-w", "w")
    out, err = waiter.communicate(timeout=60)
    equal((waiter.returncode, out), (1, ""), err)
    contains(err, "boom")
    equal(cli("submit", "x", "--wait", "--timeout", "50ms", code=None).code, 5)


def test_lists_and_pages(cli):
    ids = [cli.submit("t", str(n)) for n in range(5)]
    page = cli("ls", "--limit", "2").json()
    equal([task["id"] for task in page["items"]], ids[:-3:-1])
    page = cli("ls", "--limit", "2", "--cursor", page["nextCursor"]).json()
    equal([task["id"] for task in page["items"]], [ids[2], ids[1]])
    page = cli("ls", "--limit", "2", "--cursor", page["nextCursor"]).json()
    equal(([task["id"] for task in page["items"]], page["nextCursor"]), ([ids[0]], None))
    equal([task["id"] for task in cli("ls", "--all", "--limit", "2", "-o", "jsonl").lines()],
          ids[::-1])
    equal(len(cli("ls", "--all", "--limit", "2").json()["items"]), 5)
    equal(cli("ls", "--status", "completed").json(), {"items": [], "nextCursor": None})
    equal(len(cli("ls", "--after", "1h").json()["items"]), 5)
    equal(len(cli("ls", "--before", "1h").json()["items"]), 0)
    equal(len(cli("ls", "--namespace", "other").json()["items"]), 0)
    equal(len(cli("ls", "--namespace", "*").json()["items"]), 5)
    cli("ls", "--cursor", "garbage", code=2)


def test_namespace_from_the_environment(cli):
    env = {"FAINA_NAMESPACE": "acme"}
    task = cli("submit", "x", env=env).out.strip()
    equal(cli.get(task)["namespace"], "acme")
    equal(len(cli("ls", env=env).json()["items"]), 1)
    equal(len(cli("ls").json()["items"]), 0)
    equal(cli("stats", env=env).json()["total"], 1)


def test_several_ids_at_once(cli):
    ids = [cli.submit("x") for _ in range(3)]
    answer = cli("cancel", ids[0], "01a1dd87-fe86-70cd-8db6-65214919ec83", ids[1], code=None)
    equal(answer.code, 3)
    items = answer.json()["items"]
    equal([items[0]["status"], items[1]["code"], items[2]["status"]],
          ["cancelled", "task_not_found", "cancelled"])
    equal([task["status"] for task in cli("retry", ids[0], ids[1], "-o", "jsonl").lines()],
          ["pending", "pending"])
    cli("cancel", *ids)
    equal(cli("rm", *ids).json(), {"deleted": 3})
    cli("get", ids[0], code=3)
    equal(cli("rm", ids[0], "--purge", code=None).code, 0)


def test_remove_frees_the_key_and_purge_removes_the_rows(cli):
    task = cli.submit("x", "--key", "k")
    equal(cli("rm", task, "--cancel").json(), {"deleted": 1})
    is_true(cli.submit("x", "--key", "k") != task)
    contains(cli("db", "purge", code=2).err, "removed from view, permanently")
    equal(cli("db", "purge", "--yes").json(), {"purged": 1})
    contains(cli("db", "purge", code=2).err, "--yes")
    equal(cli("db", "purge", stdin="y\n").json(), {"purged": 0})
    ended = cli.submit("x")
    cli("cancel", ended)
    equal(cli("db", "purge", "-y", "--older-than", "1h").json(), {"purged": 0})
    equal(cli("db", "purge", "-y", "--older-than", "0s", "--status", "completed").json(), {"purged": 0})
    equal(cli("db", "purge", "-y", "--older-than", "0s", "--status", "cancelled").json(), {"purged": 1})


def test_pause_and_resume(cli):
    cli.submit("x")
    paused = cli("pause", "x")
    equal((paused.json(), paused.err), ({"namespace": "default", "type": "x", "paused": True}, ""))
    contains(cli("pause", "y").err, "There is no task and no worker of type y: is it spelled right?")
    equal(cli("resume", "y").err, "")
    equal(cli("claim", "-w", "w").json(), {"tasks": []})
    equal(cli("stats").json()["types"][0]["paused"], True)
    equal(cli("resume", "x").json()["paused"], False)
    equal(len(cli("claim", "-w", "w").json()["tasks"]), 1)


def test_worker_list(cli):
    cli("db", "migrate")
    equal(cli("worker-list").json(), {"items": []})
    contains(cli("worker-list", "-o", "table").err, "No worker has registered")
    cli("worker-list", "nobody", code=3)
    task = cli.submit("x")
    cli("claim", "-w", "host-1-a")
    now = int(time.time() * 1e6)
    with sqlite3.connect(cli.path("faina.db")) as db:
        db.execute("INSERT INTO worker (id, hostname, started_us, last_heartbeat_us, pool_size, "
                   "types, services, version, is_leader) "
                   "VALUES ('host-1-a', 'host', ?, ?, 4, '[\"mail\"]', '[]', '1.0', 0)", (now, now))
        db.execute("INSERT INTO worker (id, started_us, last_heartbeat_us, pool_size, "
                   "is_leader) VALUES ('host-2-b', ?, ?, 0, 0)", (now, now + 1))
    db.close()
    items = cli("worker-list").json()["items"]
    equal([item["id"] for item in items], ["host-2-b", "host-1-a"])
    one = cli("worker-list", "host-1-a").json()
    equal(one, items[1])
    is_true(one.pop("startedAt") == one.pop("lastHeartbeat"))
    equal(one, {"id": "host-1-a", "hostname": "host", "poolSize": 4, "types": ["mail"],
                "services": [], "version": "1.0", "isLeader": False, "leaderUntil": None,
                "held": 1})
    equal((items[0]["types"], items[0]["services"]), ([], None))
    table = cli("worker-list", "-o", "table").out.splitlines()
    equal(table[1].split()[0], "host-2-b")
    contains(table[2], "1/4")
    contains(table[2], "none")
    equal(len(cli("worker-list", "-o", "jsonl").out.splitlines()), 2)
    cli("release", task, "-w", "host-1-a")
    equal(cli("worker-list", "host-1-a").json()["held"], 0)


def test_resources(cli):
    cli("db", "migrate")
    equal(cli("resource", "ls").json(), {"items": []})
    answer = cli("resource", "set", "gpu", "1").json()
    equal(answer, {"name": "gpu", "maxConcurrency": 1, "rate": None, "inUse": 0, "holders": []})
    first, second = cli.submit("x", "--resource", "gpu"), cli.submit("x", "--resource", "gpu")
    equal([t["id"] for t in cli("claim", "-w", "w", "-n", "9").json()["tasks"]], [first])
    equal(cli("resource", "ls", "gpu").json()["holders"], [first])
    contains(cli("explain", second).json()["summary"], "gpu")
    for none in ("none", "null"):
        cli("resource", "set", "gpu", "1")
        equal(cli("resource", "set", "gpu", none).json()["maxConcurrency"], None)
    equal(len(cli("claim", "-w", "w", "-n", "9").json()["tasks"]), 1)
    equal(cli("resource", "rm", "gpu").json(), {"deleted": 1})
    cli("resource", "rm", "never", code=3)
    cli("resource", "set", "gpu", "-1", code=2)


def test_rates(cli):
    cli("db", "migrate")
    answer = cli("resource", "set", "smtp", "5", "--rate", "10/s", "--burst", "20").json()
    equal((answer["maxConcurrency"], answer["rate"]), (5, {"count": 10, "per": "1s", "burst": 20}))
    contains(cli("resource", "ls", "smtp", "-o", "table").out, "10/s, burst 20")
    equal(cli("resource", "set", "smtp", "5").json()["rate"], None)
    cli("resource", "set", "mail:*", "none", "--rate", "1/h")
    first, second = cli.submit("x", "--resource", "mail:a"), cli.submit("x", "--resource", "mail:a")
    equal([t["id"] for t in cli("claim", "-w", "w", "-n", "9").json()["tasks"]], [first])
    contains(cli("explain", second).json()["summary"], "resource mail:a has no token, at a rate of 1/h")
    for wrong in (["--rate", "10"], ["--rate", "10/week"], ["--rate", "0/s"], ["--burst", "5"],
                  ["--rate", "1/s", "--burst", "0"]):
        cli("resource", "set", "smtp", "5", *wrong, code=2)


def test_teams(cli):
    team = cli("team", "create", "billing", "--spec", '{"room":1}').out.strip()
    equal(cli("team", "get", team).json()["spec"], {"room": 1})
    cli("team", "create", "billing", code=4)
    answer = cli("team", "set", team, "--name", "payments").json()
    equal((answer["name"], answer["spec"]), ("payments", {"room": 1}))
    equal([row["name"] for row in cli("team", "ls").json()["items"]], ["payments"])
    task = cli.submit("x", "--team", team)
    equal(len(cli("ls", "--team", team).json()["items"]), 1)
    cli("team", "rm", team)
    equal(cli.get(task)["teamId"], None)
    cli("team", "rm", team, code=3)
    cli("team", "get", team, code=3)


def test_watch_draws_no_escapes_into_a_pipe(cli):
    cli("submit", "x")
    watch = cli.start("watch", "--interval", "50ms", "-o", "table")
    try:
        text = [watch.stdout.readline() for _ in range(8)] # at least two polls
    finally:
        watch.terminate()
    watch.communicate(timeout=60)
    contains("".join(text), "1 pending")
    is_true("\033" not in "".join(text), text)


def test_watch_prints_changes_as_lines(cli):
    cli.submit("before")
    watch = cli.start("watch", "--interval", "50ms", "-o", "jsonl")
    try:
        # The first poll is only the base of comparison, at an unknown time.
        while not select.select([watch.stdout], [], [], 0.3)[0]:
            cli.submit("x")
        news = json.loads(watch.stdout.readline())
        equal((news["type"], news["status"]), ("x", "pending"))
        cli("claim", news["id"], "-w", "w")
        while '"status":"claimed"' not in watch.stdout.readline():
            pass
    finally:
        watch.terminate()
    _, err = watch.communicate(timeout=60)
    equal((watch.returncode, err), (0, ""))


def test_in_memory(cli):
    equal(len(cli("submit", "x", "--url", "memory:").out), 37)
    equal(cli("ls", "--url", "memory:").json()["items"], [])
    equal(cli("db", "status", "--url", "memory:").json()["engine"], "memory")


def test_doctor_status_migrate_version(cli):
    cli.submit("x", "--delay", "1h") # a ready one that no worker handles is a warning
    answer = cli("doctor").json()
    equal(answer["verdict"], "ok", answer)
    contains(cli("doctor", "-o", "table").out, "All checks passed.")
    answer = cli("doctor", env={"FAINA_ULR": "x"}).json()
    equal(answer["verdict"], "warning")
    contains(str(answer), "did you mean FAINA_URL?")
    status = cli("db", "status").json()
    equal(status["engine"], "sqlite")
    is_true(status["schemaVersion"] >= 1 and status["sizeBytes"] > 0 and status["migrations"])
    equal(cli("db", "migrate").json(), {"schemaVersion": status["schemaVersion"], "applied": []})
    equal(cli("db", "migrate", "--dry-run").json()["wouldApply"], [])
    fresh = ("--url", "sqlite:fresh.db")
    is_true(cli("db", "migrate", "--dry-run", *fresh).json()["wouldApply"])
    is_true(cli("db", "migrate", *fresh).json()["applied"])
    contains(cli("version").out, "faina ")
    equal(cli("--version").out, cli("version").out)
    equal(cli("version", "-o", "json").json()["name"], "faina")


run(globals())
