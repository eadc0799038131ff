#!/usr/bin/env python3
"""The examples work: a producer and a worker on one store."""
import json
import os
import shutil
import signal
import socket
import subprocess
import time

from helper_cli import (BIN, BUILD, ID, ROOT, Skip, contains, environment, equal, is_served, is_true,
                        run)


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


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def wait_for(fact, what, seconds=60):
    end = time.monotonic() + seconds
    while not fact():
        is_true(time.monotonic() < end, f"waited for {what}")
        time.sleep(0.05)


def end(process):
    process.send_signal(signal.SIGTERM)
    return process.communicate(timeout=60)


def test_http_worker(cli):
    """On its own: before the server is there, with bad input, with a task that is cancelled."""
    address = f"127.0.0.1:{free_port()}"
    worker = subprocess.Popen([f"{ROOT}/examples/http_worker.py"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment(FAINA_URL=f"http://{address}"))
    server = cli.start("serve", "--listen", address)
    wait_for(lambda: is_served(cli), "the server")
    good = cli.submit("text.upper", '"abc"')
    bad = cli.submit("text.upper", "7")
    odd = cli.submit("text.sleep", '"long"', "--max-attempts", "1")
    tasks = [json.loads(cli("wait", task, "--timeout", "60s", code=None).out)
             for task in (good, bad, odd)]
    equal([task["status"] for task in tasks], ["completed", "failed", "dead_letter"])
    equal(tasks[0]["output"], "ABC")
    equal(tasks[1]["error"]["message"], "the input must be a string")
    contains(tasks[2]["error"]["message"], "ValueError")
    out, err = end(worker)
    equal(worker.returncode, 0, out, err)
    equal(out.count("\n"), 3, out)
    end(server)


def test_all_of_them_at_once(cli):
    """`make run EXAMPLES=1` prints what README.md shows."""
    if not shutil.which("cc"):
        raise Skip("no compiler")
    address = f"127.0.0.1:{free_port()}"
    show = subprocess.Popen([f"{ROOT}/examples/run", BIN, "serve"], cwd=cli.folder, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env=environment(FAINA_LISTEN=address))
    lines = []
    for line in show.stdout:
        lines.append(line)
        if "Ctrl-C ends it" in line:
            break
    _, err = end(show)
    with open(f"{ROOT}/README.md", encoding="utf-8") as file:
        readme = file.read()
    shown = readme.split("$ make run EXAMPLES=1\n")[1].split("\n\n")[0]
    shown = [line[4:] for line in shown.replace("127.0.0.1:7070", address).split("\n")]
    equal([line.rstrip("\n") for line in lines], shown, err)
    equal(show.returncode, 0, err)


def test_wrong_use(cli):
    for name in ("producer", "worker"):
        contains(example(cli, name, code=2).stderr, "usage:")
        is_true(example(cli, name, "bogus:", "1", code=1).stderr.startswith(f"{name}: "))
    contains(example(cli, "pool", code=2).stderr, "usage:")
    is_true(example(cli, "pool", "bogus:", code=1).stderr.startswith("pool: "))


run(globals())
