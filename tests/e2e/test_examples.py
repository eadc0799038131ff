#!/usr/bin/env python3
"""The examples do what they say: a producer and a worker on one store."""
import json
import os
import subprocess

from helper_cli import BUILD, ID, Skip, contains, environment, equal, is_true, run


def example(cli, name, *args, code=0):
    program = os.path.join(BUILD, "tests", f"example-{name}")
    if not os.access(program, os.X_OK):
        raise Skip(f"{program} is not built")
    done = subprocess.run([program, *args], cwd=cli.folder, capture_output=True, text=True,
                          env=environment(), timeout=120, check=False)
    equal(done.returncode, code, done.stdout, done.stderr)
    return done


def test_producer_then_worker(cli):
    url = "sqlite:faina.db"
    ids = example(cli, "producer", url, "20").stdout.split()
    equal(len([i for i in ids if ID.fullmatch(i)]), 20)
    contains(example(cli, "producer", url, "20").stdout, "(was there already)")
    equal(cli("stats").json()["byStatus"]["pending"], 20)
    # 7 and 17 fail once, so 22 attempts.
    out = example(cli, "worker", url, "22").stdout
    equal(out.count("failed: sevens are hard"), 2)
    stats = cli("stats").json()["byStatus"]
    equal((stats["completed"], stats["pending"]), (20, 0), out)
    results = sorted(json.loads(cli("result", task).out)["square"] for task in ids)
    equal(results, [n * n for n in range(1, 21)])


def test_worker_with_nothing_to_do_ends(cli):
    equal(example(cli, "worker", "sqlite:faina.db", "5").stdout, "")


def test_worker_fails_what_it_does_not_understand(cli):
    task = cli.submit("square")
    example(cli, "worker", "sqlite:faina.db", "1")
    got = cli.get(task)
    equal((got["status"], got["error"]["message"]), ("failed", "the input has no number"))


def test_pool_runs_functions(cli):
    task, bad = cli.submit("sum", '{"upTo":100}'), cli.submit("sum", '{"upTo":0}')
    example(cli, "pool", "sqlite:faina.db")
    equal(cli("result", task).out, "5050\n")
    got = cli.get(bad)
    equal((got["status"], got["error"]["message"]), ("failed", "upTo must be 1 to 1000"))
    equal(len(cli("children", task).json()["items"]), 100)


def test_wrong_use(cli):
    for name in ("producer", "worker"):
        contains(example(cli, name, code=2).stderr, "usage:")
        is_true(example(cli, name, "bogus:", "1", code=1).stderr.startswith(f"{name}: "))
    contains(example(cli, "pool", code=2).stderr, "usage:")
    is_true(example(cli, "pool", "bogus:", code=1).stderr.startswith("pool: "))


run(globals())
