#!/usr/bin/env python3
"""`faina logs`: what handlers wrote to stderr, by attempt."""
import os
import re
import signal
import time

from helper_cli import PATIENCE, contains, equal, is_served, is_true, run

WORK = ("worker", "--idle-exit", "1s", "--concurrency", "4")
MISSING = "01a1dd86-b755-7517-ae1e-d1d1dd9fa162"


def handler(cli, name, text, settings='{"retry":{"base":"1ms"}}'):
    os.makedirs(cli.path("handlers"), 0o755, exist_ok=True)
    os.chmod(cli.write(f"handlers/{name}", "#!/bin/sh\n" + text), 0o755)
    os.chmod(cli.write(f"handlers/{name}.json", settings), 0o644)


def test_each_attempt_has_a_heading(cli):
    handler(cli, "late", 'echo "try $FAINA_ATTEMPT" >&2\n[ $FAINA_ATTEMPT = 3 ] || exit $FAINA_ATTEMPT\n')
    task = cli.submit("late")
    cli(*WORK)
    shown = cli("logs", task)
    equal(shown.err, "")
    time_of = r"\d{4}-\d\d-\d\dT[\d:.]+Z"
    is_true(re.fullmatch(rf"==> attempt 1, failed, exit code 1, {time_of} <==\ntry 1\n"
                         rf"==> attempt 2, failed, exit code 2, {time_of} <==\ntry 2\n"
                         rf"==> attempt 3, completed, exit code 0, {time_of} <==\ntry 3\n",
                         shown.out), shown)
    equal(cli("logs", task, "-o", "table").out, shown.out)
    equal(cli("logs", task, "--attempt", "2").out, "try 2\n")
    contains(cli("logs", task, "--attempt", "4", code=3).err, "has no attempt 4: there were 3")
    contains(cli("logs", task, "--attempt", "0", code=2).err, "whole number from 1 on")


def test_json(cli):
    handler(cli, "fails", "printf 'a\\tb' >&2\nkill -9 $$\n")
    task = cli.submit("fails", "--max-attempts", "2")
    cli(*WORK)
    items = cli("logs", task, "-o", "json").json()["items"]
    equal([(i["attempt"], i["event"], i["exitCode"], i["signal"], i["log"], i["logIsCut"]) for i in items],
          [(1, "retry_scheduled", None, 9, "a\tb", False), (2, "dead_letter", None, 9, "a\tb", False)])
    is_true(items[0]["at"] < items[1]["at"] and items[0]["workerId"] and items[0]["seconds"] > 0, items)
    lines = cli("logs", task, "-o", "jsonl", "--attempt", "2").lines()
    equal(lines, items[1:])
    contains(cli("logs", task).out, "attempt 2, failed, signal 9, ")


def test_text_is_as_it_was_written_but_on_a_terminal(cli):
    handler(cli, "odd", "printf 'one\\r\\n\\ttwo \\033[31mred' >&2\n")
    task = cli.submit("odd")
    cli(*WORK)
    shell = cli.on_terminal(shell=f'"$FAINA" logs {task} > log').out
    equal(shell, "")
    with open(cli.path("log"), "rb") as file:
        equal(file.read(), b"one\r\n\ttwo \033[31mred")
    equal(cli.on_terminal("logs", task).out, "one\n\ttwo  [31mred\n")


def test_a_log_that_was_cut(cli):
    handler(cli, "long", "yes line | head -n 20000 >&2\n")
    task = cli.submit("long")
    cli(*WORK)
    shown = cli("logs", task)
    is_true(60000 < len(shown.out) <= 65536, len(shown.out))
    contains(shown.err, "Attempt 1 wrote more;")


def test_why_there_is_none(cli):
    handler(cli, "quiet", "echo 1\n")
    quiet, waiting, mine = cli.submit("quiet"), cli.submit("x"), cli.submit("y")
    cli(*WORK)
    for task, why in ((quiet, "the handler wrote nothing to stderr"),
                      (waiting, "there has been no attempt yet")):
        shown = cli("logs", task)
        equal(shown.out, "")
        contains(shown.err, why)
    cli("claim", mine, "-w", "me")
    contains(cli("logs", mine).err, "has written nothing so far")
    cli("complete", mine, "-w", "me")
    contains(cli("logs", mine).err, "workers that send lines to")
    equal(cli("logs", mine, "-o", "json").json(), {"items": []})
    cli("logs", MISSING, code=3)


def test_attempts_count_on_after_retry_and_not_after_subtasks(cli):
    handler(cli, "parent", 'echo "$FAINA_PHASE" >&2\n[ $FAINA_PHASE = resume ] && exit 65\n'
                           'echo \'{"subtask":{"type":"child"}}\' >&3\n')
    handler(cli, "child", "echo 1\n")
    task = cli.submit("parent")
    cli(*WORK)
    equal([(i["attempt"], i["event"], i["log"]) for i in cli("logs", task, "-o", "jsonl").lines()],
          [(1, "blocked", "start\n"), (1, "failed", "resume\n")])
    contains(cli("logs", task).out, "==> attempt 1, made subtasks, exit code 0, ")
    cli("retry", task)
    cli(*WORK)
    equal([i["attempt"] for i in cli("logs", task, "-o", "jsonl").lines()][2:], [2, 2])
    # An attempt that was lost with its worker counts; a released claim does not.
    late = cli.submit("child", "--retry", "1ms")
    cli("claim", late, "-w", "me")
    cli("release", late, "-w", "me")
    cli("claim", late, "-w", "me")
    cli("fail", late, "-w", "me", "--error", "x")
    handler(cli, "child", 'echo "$FAINA_ATTEMPT" >&2\n')
    cli("worker", "--idle-exit", "3s")
    equal([(i["attempt"], i["log"]) for i in cli("logs", late, "-o", "jsonl").lines()], [(2, "2\n")])


def test_more_attempts_than_the_hundred_newest_events(cli):
    handler(cli, "many", 'echo "$FAINA_ATTEMPT" >&2\nexit 1\n', '{"retry":{"base":"1ms","max":"1ms"}}')
    task = cli.submit("many", "--max-attempts", "60")
    cli(*WORK)
    equal([(i["attempt"], i["log"]) for i in cli("logs", task, "-o", "jsonl").lines()],
          [(n, f"{n}\n") for n in range(1, 61)])


def test_through_a_server(cli):
    handler(cli, "says", "echo hello >&2\n")
    server = cli.start("serve", "--listen", "unix:" + cli.path("sock"), "--workers", "1")
    try:
        end = time.monotonic() + PATIENCE
        while not is_served(cli) and time.monotonic() < end:
            time.sleep(0.05)
        task = cli.submit("says")
        cli("wait", task)
        equal(cli("logs", task).out, "hello\n")
        equal(cli("logs", task, "--url", "unix:" + cli.path("sock")).out, "hello\n")
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=PATIENCE)


run(globals())
