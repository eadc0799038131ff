#!/usr/bin/env python3
"""The command line itself: help, flags, misspellings, exit codes, JSON with mistakes, closed files."""
import json
import os
import re
import subprocess

from helper_cli import BIN, contains, environment, equal, is_true, run, verbs

MISSING = "01a1dd87-fe86-70cd-8db6-65214919ec83"


def test_help_of_every_verb(cli):
    names = verbs()
    is_true(len(names) > 35, names)
    for name in names:
        if name == "bench": # reads its own flags
            continue
        words = name.split()
        text = cli(*words, "--help").out
        is_true(text.startswith(f"Usage: faina {name}"), text)
        contains(text, "--namespace NS")
        is_true(max(map(len, text.splitlines())) <= 96, text)
        equal([line for line in text.splitlines() if line != line.rstrip()], [])
        equal(cli("help", *words).out, text)
        equal(cli("--help", *words).out, text)
        equal(cli(*words, "-h").out, text)
    is_true(not os.path.exists(cli.path("faina.db")), "help opens no store")


def test_general_help(cli):
    text = cli("--help").out
    equal(cli("help").out, text)
    equal(cli("-h").out, text)
    contains(cli(code=2).err, "Usage: faina VERB")
    contains(cli("resource", code=2).err, "resource set")
    contains(cli("resource", "--help").out, "resource set")
    contains(cli("help", "team").out, "team create")
    for noun in ("cron", "db", "resource", "team", "token", "workflow"):
        shown = cli(noun, "--help").out
        contains(shown, "--namespace NS")
        contains(shown, "http(s)://")
        is_true(max(map(len, shown.splitlines())) <= 96, shown)
    # The descriptions of all verbs are aligned.
    rows = [line for line in text.splitlines() if re.match("  [a-z]", line)]
    starts = {re.match(r"  \S+( [a-z]+)? {2,}", row).end() for row in rows}
    equal(len(starts), 1, rows)


def test_misspellings(cli):
    for args, hint in (
            (("submti", "x"), 'did you mean "submit"?'),
            (("list",), 'unknown verb "list"; did you mean "ls"?'),
            (("status", "x"), 'did you mean "get" or "stats"?'),
            (("show", "x"), 'did you mean "get"?'),
            (("delete", "x"), 'did you mean "rm"?'),
            (("add", "x"), 'did you mean "submit"?'),
            (("run",), 'did you mean "worker"?'),
            (("server",), 'did you mean "serve"?'),
            (("purge",), 'did you mean "db purge"?'),
            (("token", "list"), 'did you mean "token ls"?'),
            (("token", "rm", "x"), 'did you mean "token revoke"?'),
            (("cron", "add", "x"), 'did you mean "cron set"?'),
            (("help", "list"), 'did you mean "ls"?'),
            (("help", "team", "add"), 'did you mean "team create" or "team set"?'),
            (("zzzzz",), 'unknown verb "zzzzz"\n'),
            (("resource", "sett", "a", "1"), 'did you mean "resource set"?'),
            (("ls", "--stats", "x"), "did you mean --status?"),
            (("submit", "x", "--prioritty=1"), "did you mean --priority?"),
            (("ls", "--status", "complete"), 'did you mean "completed"?'),
            (("ls", "--status", "purple"), "there are pending"),
            (("ls", "-q"), "no flag -q"),
            (("-v",), "there is no flag -v; did you mean -V?\n"),
            (("-Q",), "there is no flag -Q\n"),
            (("--versoin",), "there is no flag --versoin; did you mean --version?"),
            (("--zzzzz", "-o", "json"), "there is no flag --zzzzz\n"),
            (("ls", "--zzzzz"), "no flag --zzzzz"),
            (("ls", "-o", "xml"), "table json jsonl"),
            (("submit", "x", "--dedupe", "output"), "--dedupe is one of: input"),
            (("log", "x"), 'did you mean "logs"?'),
            (("stderr", "x"), 'did you mean "logs"?'),
            (("output", "x"), 'did you mean "result" or "logs"?'),
            (("help", "nothing"), "there is no verb"),
            (("completion", "tcsh"), "bash, zsh and fish"),
    ):
        contains(cli(*args, code=2).err, hint)
    is_true(not os.path.exists(cli.path("faina.db")), "what is misspelled opens no store")


def test_wrong_use(cli):
    for args, hint in (
            (("submit",), "TYPE"),
            (("submit", "x", "1", "2"), "one argument too many"),
            (("ls", "more"), "one argument too many"),
            (("get",), "which task?"),
            (("get", MISSING, "--key", "k"), "not both"),
            (("claim",), "--worker"),
            (("heartbeat", MISSING), "--worker"),
            (("fail", MISSING, "-w", "w"), "--error"),
            (("progress", MISSING, "-w", "w"), "nothing to report"),
            (("progress", MISSING, "101", "-w", "w"), "from 0 to 100"),
            (("cancel",), "which task?"),
            (("cancel", MISSING, "--all"), "not both"),
            (("cancel", MISSING, "--status", "pending"), "belong to --all"),
            (("cancel", "--all", "--status", "completed", "--yes"), "can't be cancelled"),
            (("rm", "--all", "--status", "pending", "--yes"), "--cancel"),
            (("retry", "--all", "--status", "completed", "--yes"), "failed, dead_letter"),
            (("submit", "x", "--priority", "many"), "whole number"),
            (("submit", "x", "--priority", "4000000000"), "2147483647"),
            (("submit", "x", "--priority"), "needs a value"),
            (("submit", "x", "--wait=yes"), "takes no value"),
            (("submit", "x", "--name", "a", "--name", "b"), "given twice"),
            (("submit", "x", "--delay", "soon"), "--delay"),
            (("submit", "x", "--run-at", "noon"), "--run-at"),
            (("submit", "x", "--delay", "1s", "--run-at", "2030-01-01T00:00:00Z"), "not both"),
            (("submit", "x", "--key", "k", "--dedupe", "input"), "not both"),
            (("submit", "x", "--timeout", "1s"), "belongs to --wait"),
            (("submit", "x", "--max-attempts", "1", "--max-retries", "1"), "not both"),
            (("resource", "set", "gpu", "few"), "whole number"),
            (("team", "set", MISSING), "nothing to change"),
            (("watch", "--interval", "1ms"), "--interval"),
            (("ls", "--status", ""), "--status names nothing"),
            (("claim", "-w", "w", "--types", ","), "--types names nothing"),
            (("submit", "x", "--resource="), "--resource names nothing"),
            (("submit", "x", "hello world"), """'"hello world"'"""),
            (("ls", "--limit", "1001"), "1000"),
            (("ls", "--limit", "0"), "1 to 1000"),
            (("wait", MISSING, "--timeout", "-1s"), ""),
    ):
        contains(cli(*args, code=2).err, hint)
    is_true(not os.path.exists(cli.path("faina.db")), "what is wrong opens no store")


def test_flags_may_be_anywhere(cli):
    url = "sqlite:other.db"
    first = cli("--url", url, "submit", "x", "-p", "3").out.strip()
    equal(cli("--priority=4", "submit", f"--url={url}", "x").code, 0)
    equal(cli("get", "-ojsonl", first, "--url", url).json()["priority"], 3)
    equal(cli("resource", "--url", url, "set", "gpu", "2").json()["maxConcurrency"], 2)
    equal(cli("ls", "--url", url, "-n1", "-o=json").json()["items"][0]["priority"], 4)
    equal(cli("submit", "--url", url, "--", "--strange-type").code, 0)
    equal(cli("ls", "--url", url, "-n", "1").json()["items"][0]["type"], "--strange-type")
    equal(cli.get(cli.submit("x", "-5"))["input"], -5)


def test_limits_at_the_edge(cli):
    for size, code in ((255, 0), (256, 2)):
        equal(cli("submit", "x" * size, code=code).code, code)
        equal(cli("submit", "x", "--name", "n" * size, code=code).code, code)
        equal(cli("claim", "-w", "w" * size, code=code).code, code)
    for size, code in ((512, 0), (513, 2)):
        equal(cli("submit", "k", "--key", "k" * size, code=code).code, code)
    for size, code in ((1024 * 1024, 0), (1024 * 1024 + 1, 2)):
        text = '"' + "a" * (size - 2) + '"'
        equal(cli("submit", "x", "-", stdin=text, code=code).code, code)
    for depth, code in ((64, 0), (65, 2)):
        cli("submit", "x", "[" * depth + "]" * depth, code=code)
    for size, code in ((64 * 1024, 0), (64 * 1024 + 1, 2)):
        cli.write("m.json", '{"m":"' + "m" * (size - 8) + '"}')
        cli("submit", "x", "--metadata", "@m.json", code=code)


def test_json_with_mistakes_has_a_place(cli):
    for args, stdin, place in (
            (("submit", "x", '{"a":1,\n "b" 2}'), "", "line 2, column 6"),
            (("submit", "x", '{"a":1,"a":2}'), "", "line 1, column 8"),
            (("submit", "x", "-"), "[1,\n2,\n\n oops]", "line 4, column 2"),
            (("submit", "x", "1", "--metadata", "{"), "", "metadata"),
            (("submit", "x", "1", "--spec", "[1,]"), "", "spec"),
            (("complete", MISSING, "{'a':1}"), "", "output"),
            (("fail", MISSING, "--error", "e", "--detail", "nope"), "", "detail"),
            (("block", MISSING, "[{]"), "", "subtasks"),
            (("submit", "x", '"\\u0000"'), "", "line 1, column 2"),
            (("submit", "x", "-"), "", "input"),
    ):
        contains(cli(*args, stdin=stdin, code=2).err, place)


def test_problems_as_json_when_asked(cli):
    cli.submit("x") # creates the store
    err = cli("get", MISSING, "-o", "json", code=3).err
    sentence, problem = err.splitlines()
    is_true(sentence.startswith("faina: "), err)
    problem = json.loads(problem)
    equal((problem["code"], problem["status"]), ("task_not_found", 404))
    equal(sorted(problem), ["code", "detail", "status", "title", "type"])
    problem = json.loads(cli("submit", "x", "{", "-o", "json", code=2).err.splitlines()[1])
    equal(problem["errors"][0]["field"], "input")
    equal(len(cli("get", MISSING, code=3).err.splitlines()), 1)


def test_engines_by_url(cli):
    for url, code, hint in (
            ("postgres://u:secret@127.0.0.1:1/db", 6, "can't be reached"),
            ("postgresql://127.0.0.1:1/db", 6, "can't be reached"),
            ("nats://127.0.0.1:1", 6, "no connection to NATS"),
            ("nats://127.0.0.1:1?bucket=a.b", 2, "bucket consists of"),
            ("http://127.0.0.1:1", 6, "can't reach"),
            ("https://127.0.0.1:1", 6, "can't reach"),
            ("faina.db", 2, "sqlite:faina.db"),
            ("mysql://u:secret@h/db", 2, "sqlite:faina.db"),
            ("sqlite:", 2, "names no file"),
            ("sqlite://faina.db", 2, "ambiguous"),
            ("sqlite::memory:", 2, "memory:"),
            ("memory:x", 2, "sqlite:faina.db"),
            ("", 2, "sqlite:faina.db"),
    ):
        err = cli("ls", "--url", url, code=None)
        equal((err.code, err.out), (code, ""), url, err)
        contains(err.err, hint)
        is_true("secret" not in err.err, err)
    cli("submit", "x", "--url", "sqlite://" + cli.path("abs.db"))
    equal(len(cli("ls", env={"FAINA_URL": "sqlite:abs.db"}).json()["items"]), 1)
    for prefix in ("", "API_PG_"): # no server listens there; the error names the address
        env = {prefix + "DB_HOST": "127.0.0.1", prefix + "DB_PORT": "1",
               prefix + "DB_PASSWORD": "secret"}
        err = cli("ls", env=env, code=6).err
        contains(err, "port 1")
        is_true("secret" not in err, err)
        cli("ls", env={**env, "FAINA_URL": "sqlite:abs.db"})
        cli("ls", "--url", "sqlite:abs.db", env=env)
    contains(cli("ls", env={"FAINA_URL_FILE": "no/such/file"}, code=2).err, "FAINA_URL_FILE")
    cli.write("url", "sqlite:abs.db\n")
    equal(len(cli("ls", env={"FAINA_URL_FILE": "url"}).json()["items"]), 1)


def test_exit_codes(cli):
    task = cli.submit("x")
    equal(cli("get", task).code, 0)
    equal(cli("submit", "--bulk", stdin="{}\n", code=None).code, 1)
    equal(cli("nonsense", code=2).code, 2)
    equal(cli("get", MISSING, code=3).code, 3)
    equal(cli("complete", task, code=4).code, 4)
    equal(cli("wait", task, "--timeout", "0", code=5).code, 5)
    equal(cli("ls", "--url", "sqlite:no/such/folder/x.db", code=6).code, 6)


def test_text_that_is_not_utf8(cli):
    done = subprocess.run([BIN.encode(), b"submit", b"\xff\xfe"], cwd=cli.folder,
                          capture_output=True, env=environment(), check=False)
    equal(done.returncode, 2)
    contains(done.stderr.decode(), "UTF-8")


def shell(cli, line):
    return subprocess.run(["bash", "-c", line], cwd=cli.folder, capture_output=True, text=True,
                          env=environment(FAINA=BIN), check=False)


def test_output_that_can_not_be_written(cli):
    for _ in range(3):
        cli.submit("x", '"' + "a" * 100000 + '"')
    done = shell(cli, "$FAINA ls > /dev/full")
    equal(done.returncode, 1)
    contains(done.stderr, "No space left")
    equal(shell(cli, "$FAINA version > /dev/full").returncode, 1)
    done = shell(cli, "set -o pipefail; $FAINA ls -o jsonl | head -c 10")
    equal((len(done.stdout), done.stderr), (10, ""))


def test_closed_standard_files_do_no_harm(cli):
    task = cli.submit("x", "--delay", "1h")
    equal(shell(cli, "$FAINA ls >&-").returncode, 1)
    equal(shell(cli, "$FAINA get nonsense 2>&-").returncode, 3)
    equal(shell(cli, "$FAINA get nonsense <&- >&- 2>&-").returncode, 3)
    equal(shell(cli, "$FAINA submit y - <&-").returncode, 1)
    equal(cli("doctor").json()["verdict"], "ok")
    equal(len(cli("ls").json()["items"]), 1)
    equal(cli.get(task)["status"], "pending")


run(globals())
