#!/usr/bin/env python3
"""Ids on the command line: shortened to a beginning or an end, and as tables show them."""
import json
import re
import time

from helper_cli import ID, PATIENCE, contains, equal, is_served, is_true, run

HELD = ("-w", "w")


def table(cli, *args):
    """The first column of the rows."""
    return [line.split()[0] for line in cli(*args, "-o", "table").out.splitlines()[1:]]


def test_each_verb_takes_a_part(cli):
    end, begin = -8, 18

    def task(*args):
        return cli.submit("x", *args)

    def short(text):
        return text[end:]

    one = task()
    for part in (one[end:], one[:begin], one[-6:].upper(), one[-12:], one.replace("-", ""), one[-17:]):
        equal(cli.get(part)["id"], one)
    for verb in ("get", "events", "explain", "logs", "graph", "children"):
        equal(cli(verb, short(one), "-o", "json").out, cli(verb, one, "-o", "json").out, verb)
    cli("update", short(one), "--priority", "3")
    cli("promote", short(one))
    cli("claim", short(one), *HELD)
    equal(cli("heartbeat", short(one), *HELD).json()["items"][0]["id"], one)
    cli("snooze", short(one), "--for", "1ms", *HELD)
    cli("claim", short(one), *HELD)
    cli("release", short(one), *HELD)
    cli("start", short(one), *HELD)
    cli("progress", short(one), "40", *HELD)
    cli("block", short(one), '[{"type":"child"}]', *HELD)
    child = cli("ls", "--parent", short(one)).json()["items"][0]["id"]
    cli("claim", short(child), *HELD)
    cli("fail", short(child), "--error", "no", "--permanent", *HELD)
    cli("retry", short(child))
    cli("cancel", short(child), short(one))
    equal(cli("wait", short(one), code=1).json()["status"], "cancelled")
    cli("rm", short(one))
    contains(cli("get", short(one), code=3).err, "there is no task")
    other = task()
    later = task("--depends-on", short(other))
    equal(cli.get(later)["dependsOn"], [other])
    cli("start", other, *HELD)
    cli("background", short(other), *HELD)
    cli("complete", short(other), "5")
    equal(cli("result", short(other)).out, "5\n")


def test_several_tasks(cli):
    tasks = [cli.submit("mail.send") for _ in range(12)]
    refused = cli("cancel", "0", tasks[0], code=4)
    lines = refused.err.splitlines()
    contains(lines[0], '"0" is ambiguous: the ids of more than 10 tasks begin with it')
    equal([ID.search(line)[0] for line in lines[1:11]], tasks[:1:-1])
    contains(lines[1], "mail.send, pending")
    contains(lines[11], "and more")
    equal(cli.get(tasks[0])["status"], "pending") # nothing was changed
    refused = cli("get", tasks[0][:2], "-o", "json", code=4)
    equal(json.loads(refused.err.splitlines()[1])["code"], "conflict")
    equal(refused.err.count("mail.send"), 10)


def test_none(cli):
    cli.submit("x")
    contains(cli("get", "9", code=3).err, "the end of an id needs at least 6 digits")
    contains(cli("get", "fedcba98", code=3).err, "none of the newest 100,000")
    contains(cli("get", "x", code=3).err, "that is not an id")
    contains(cli("get", "0" * 33, code=3).err, "that is not an id")
    contains(cli("ls", "--parent", "fedcba98", code=3).err, "there is no task")
    contains(cli("submit", "x", "--depends-on", "fedcba98", code=3).err, "there is no task")
    cli("watch", "--parent", "fedcba98", code=3)


def test_tables_show_what_is_enough(cli):
    tasks = [cli.submit("x") for _ in range(3)]
    shown = table(cli, "ls")
    equal([len(text) for text in shown], [10] * 3)
    equal([cli.get(text)["id"] for text in shown], tasks[::-1])
    cli("start", tasks[0], *HELD)
    cli("block", tasks[0], '[{"type":"child"},{"type":"child"}]', *HELD)
    equal([cli.get(text)["parentId"] for text in table(cli, "children", tasks[0])], [tasks[0]] * 2)
    rows = cli("graph", tasks[0], "-o", "table").out.splitlines()
    contains(rows[2], f"child of {tasks[0][-10:]}")
    is_true(not ID.search(cli("ls", "-o", "table").out))
    cli("resource", "set", "gpu", "3")
    held = [cli.submit("y", "--resource", "gpu") for _ in range(2)]
    for task in held:
        cli("claim", task, *HELD)
    shown = cli("resource", "ls", "-o", "table").out.splitlines()[1].split()
    equal(sorted(cli.get(text)["id"] for text in shown[-2:]), sorted(held))
    equal(len(shown[-1]), 10)
    is_true(ID.search(cli("ls", "-o", "json").out))


def test_tables_show_the_beginning_of_old_tasks(cli):
    old = cli.submit("old")
    cli("submit", "new", "--bulk", stdin="{}\n" * 100000)
    equal(table(cli, "ls", "--type", "old"), [old[:18]])
    contains(cli("get", old[-12:], code=3).err, "there is no task")
    equal(cli.get(old[:18])["id"], old)
    is_true(all(len(text) == 10 for text in table(cli, "ls")))


def test_a_server(cli):
    """The same with a server."""
    server = cli.start("serve", "--listen", "unix:" + cli.path("s"), "--no-ui")
    try:
        end = time.monotonic() + PATIENCE
        while not is_served(cli) and time.monotonic() < end:
            time.sleep(0.05)
        url = ("--url", "unix:" + cli.path("s"))
        task = cli.submit("x", *url)
        equal(cli("get", task[-8:], *url).json()["id"], task)
        equal(table(cli, "ls", *url), [task[-10:]])
        cli("cancel", task[:18], *url)
        equal(cli("wait", task[-6:], *url, code=1).json()["id"], task)
    finally:
        server.terminate()
        server.communicate(timeout=PATIENCE)


def test_errors_at_80_columns(cli):
    for kind in ("a", "a.type.with.a.long.name.of.sixty.characters.that.has.no.room.x"):
        task = cli.submit(kind, "--max-attempts", "1", "--name", "a name that is long enough " * 3)
        cli("claim", task, *HELD)
        cli("fail", task, "--error", "no route to host 10.0.0.7 after 30 s", *HELD)
    rows = cli.on_terminal("ls", "--status", "failed,dead_letter", width=80).plain().splitlines()
    contains(rows[0], "NOTE")
    for row in rows[1:3]:
        is_true(len(row) <= 80 and re.search("no route to", row), row)


run(globals())
