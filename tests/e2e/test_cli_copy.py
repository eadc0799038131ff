#!/usr/bin/env python3
"""faina db copy: from SQLite to PostgreSQL and back, killed on the way, refused, on a terminal."""
import os
import random
import shutil
import signal
import subprocess
import time

from helper_cli import BIN, Skip, contains, environment, equal, is_true, run

SERVER = os.environ.get("FA_POSTGRES_URL")
KILLS = int(os.environ.get("FA_COPY_KILLS", "20"))
MANY = 6000


class Schema:
    """A schema of a test's own, which goes with it."""

    def __init__(self):
        if not SERVER:
            raise Skip("no PostgreSQL")
        if not shutil.which("psql"):
            raise Skip("no psql")
        self.name = f"copy_{os.getpid()}_{random.randrange(1 << 30)}"
        self.url = SERVER + ("&" if "?" in SERVER else "?") + f"schema={self.name}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["psql", "-X", "-q", SERVER, "-c",
                        "SET client_min_messages = warning;"
                        f'DROP SCHEMA IF EXISTS "{self.name}" CASCADE'], check=True)


def fill(cli, count):
    lines = "".join(f'{{"type":"t{n % 7}","input":{{"n":{n}}},"idempotencyKey":"k{n}",'
                    f'"priority":{n % 5}}}\n' for n in range(count))
    cli("submit", "--bulk", stdin=lines)
    for task in cli("claim", "-w", "w", "--limit", "50", "--lease", "1h").json()["tasks"][:10]:
        cli("complete", task["id"], '{"done":true}', "-w", "w")
    cli("resource", "set", "gpu", "2")
    cli("submit", "render", "--resource", "gpu")


def listed(cli, url):
    return cli("ls", "--all", "-o", "jsonl", "--url", url).lines()


def same(cli, one, other):
    """Both stores list the same tasks; else the first that differs is shown."""
    tasks, others = listed(cli, one), listed(cli, other)
    for task, twin in zip(tasks, others):
        equal(task, twin)
    equal(len(tasks), len(others))


def killed(cli, source, target, after):
    """Starts a copy and kills it. True: it was not done by then."""
    child = subprocess.Popen([BIN, "db", "copy", source, target], cwd=cli.folder,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             env=environment())
    try:
        child.wait(after)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGKILL)
        child.wait()
    return child.returncode != 0


def test_there_and_back(cli):
    with Schema() as schema:
        fill(cli, 300)
        done = cli("db", "copy", "sqlite:faina.db", schema.url)
        report = done.json()
        rows = {table["name"]: table["rows"] for table in report["tables"]}
        equal((rows["task"], rows["ended"], rows["held"], rows["task_key"]), (301, 10, 40, 300))
        equal((report["resumed"], report["restarted"]), (False, False))
        is_true(SERVER not in done.out + done.err)
        contains(done.err, "Copying task")
        same(cli, "sqlite:faina.db", schema.url)
        back = cli("db", "copy", schema.url, "sqlite:back.db")
        equal(back.json()["tables"], report["tables"])
        contains(back.err, "Stop them first")
        same(cli, "sqlite:faina.db", "sqlite:back.db")
        equal(cli("doctor", "--url", "sqlite:back.db").json()["verdict"], "ok")
        cli("submit", "t0", "--key", "k0", "--url", schema.url)
        equal(len(listed(cli, schema.url)), 301)


def test_between_files(cli):
    fill(cli, 200)
    cli("db", "copy", "sqlite:faina.db", "sqlite:other.db")
    same(cli, "sqlite:faina.db", "sqlite:other.db")


def test_refused(cli):
    cli.submit("x")
    cli("submit", "y", "--url", "sqlite:other.db")
    contains(cli("db", "copy", "sqlite:faina.db", "sqlite:other.db", code=4).err, "not empty")
    equal(len(listed(cli, "sqlite:other.db")), 1)
    cli("db", "copy", "sqlite:faina.db", "sqlite:faina.db", code=6)
    contains(cli("db", "copy", "sqlite:no.db", "sqlite:new.db", code=3).err, "no.db")
    contains(cli("db", "copy", "memory:", "sqlite:new.db", code=1).err, "memory")
    contains(cli("db", "copy", "sqlite:faina.db", "memory:", code=1).err, "memory")
    cli("db", "copy", "sqlite:faina.db", code=2)
    cli("db", "copy", "sqlite:faina.db", "nonsense", code=2)
    for name in ("no.db", "no.db.lock", "new.db"):
        is_true(not os.path.exists(cli.path(name)), name)


def test_no_target_is_made_for_nothing(cli):
    with Schema() as schema:
        result = cli("db", "copy", schema.url, "sqlite:new.db", code=None)
        equal(result.code, 3)
        contains(result.err, schema.name)
        equal(os.listdir(cli.folder), [])


def test_a_file_that_another_process_owns(cli):
    owner = cli.own()
    contains(cli("db", "copy", "sqlite:faina.db", "sqlite:new.db", code=6).err,
             f"faina.db is in use by process {owner.pid}, and a copy needs the file for itself: "
             "stop that process first\n")
    owner.communicate(timeout=60)


def kill_many_times(cli, source, target):
    interrupted = sum(killed(cli, source, target, random.uniform(0, 0.6)) for _ in range(KILLS))
    is_true(interrupted > 0)
    for _ in range(3): # what was killed last may still be on its way out of the server
        done = cli("db", "copy", source, target, code=None)
        if done.code == 0 or "not empty" in done.err:
            break
        time.sleep(1)
    is_true(done.code == 0 or "not empty" in done.err, done)
    same(cli, source, target)
    is_true(cli("doctor", "--url", target, code=None).json()["verdict"] != "wrong")


def test_killed_on_the_way_there(cli):
    with Schema() as schema:
        fill(cli, MANY)
        kill_many_times(cli, "sqlite:faina.db", schema.url)


def test_killed_on_the_way_back(cli):
    with Schema() as schema:
        fill(cli, MANY)
        cli("db", "copy", "sqlite:faina.db", schema.url)
        kill_many_times(cli, schema.url, "sqlite:back.db")


def test_two_copies_at_once(cli):
    with Schema() as schema:
        fill(cli, MANY)
        shutil.copy(cli.path("faina.db"), cli.path("twin.db"))
        both = [cli.start("db", "copy", f"sqlite:{name}.db", schema.url)
                for name in ("faina", "twin")]
        codes = sorted(one.wait(timeout=60) for one in both)
        for one in both:
            one.stdout.close()
            one.stderr.close()
        is_true(codes[1] in (1, 4), codes)
        if codes[0] != 0: # both gave way: the next one ends it
            cli("db", "copy", "sqlite:faina.db", schema.url)
        same(cli, "sqlite:faina.db", schema.url)


def test_an_unfinished_copy_stays_closed(cli):
    fill(cli, MANY)
    after = 0.1
    for _ in range(60):
        with Schema() as schema:
            if not killed(cli, "sqlite:faina.db", schema.url, after):
                after *= 0.8
                continue
            done = cli("ls", "--url", schema.url, code=None)
            if "a copy into" in done.err:
                equal((done.code, done.out), (6, ""))
                contains(done.err, "faina db copy")
                cli("db", "copy", "sqlite:faina.db", schema.url)
                cli("ls", "--url", schema.url)
                return
            after *= 1.1  # Killed before it began: there is no store.
    raise AssertionError("never killed in the middle")


def test_a_bar_on_a_terminal(cli):
    fill(cli, MANY)
    shown = cli.on_terminal("db", "copy", "sqlite:faina.db", "sqlite:other.db").plain()
    contains(shown, "Copying")
    contains(shown, "both sides are equal")
    contains(shown, "task_key")


run(globals())
