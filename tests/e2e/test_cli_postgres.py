#!/usr/bin/env python3
"""The program on PostgreSQL: naming it by variables, and its schema, by us and by hand."""
import os
import random
import shutil
import subprocess
import time
import urllib.parse

from helper_cli import BIN, Skip, contains, environment, equal, is_true, run

SERVER = os.environ.get("FA_POSTGRES_URL")


class Schema:
    """A schema of a test's own, which goes with it."""

    def __init__(self, name=None):
        if not SERVER:
            raise Skip("no PostgreSQL")
        if not shutil.which("psql"):
            raise Skip("no psql")
        self.name = name or f"cli_{os.getpid()}_{random.randrange(1 << 30)}"
        self.url = SERVER + ("&" if "?" in SERVER else "?") + f"schema={self.name}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.psql(f'DROP SCHEMA IF EXISTS "{self.name}" CASCADE')

    def psql(self, text):
        done = subprocess.run(
            ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", SERVER], text=True,
            input=f'SET client_min_messages = warning; SET search_path = "{self.name}";\n{text}',
            capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def tables(self):
        return int(self.psql("SELECT count(*) FROM pg_class WHERE relnamespace = "
                             f"(SELECT oid FROM pg_namespace WHERE nspname = '{self.name}')"))

    def exists(self):
        return self.psql("SELECT count(*) FROM pg_namespace "
                         f"WHERE nspname = '{self.name}'") != "0"

    def migrations(self):
        return self.psql("SELECT id FROM schema_migrations ORDER BY id").split()


def parts(prefix=""):
    url = urllib.parse.urlsplit(SERVER)
    query = urllib.parse.parse_qs(url.query)
    values = {
        "DB_HOST": url.hostname or query.get("host", [""])[0],
        "DB_PORT": str(url.port or query.get("port", ["5432"])[0]),
        "DB_USER": urllib.parse.unquote(url.username or ""),
        "DB_PASSWORD": urllib.parse.unquote(url.password or ""),
        "DB_NAME": url.path.strip("/"),
    }
    return {prefix + name: value for name, value in values.items() if value}


def test_variables_name_the_server(cli):
    with Schema() as schema:
        for prefix in ("", "API_PG_"):
            env = {**parts(prefix), prefix + "DB_SCHEMA": schema.name}
            task = cli("submit", "x", env=env).out.strip()
            equal(cli("get", task, "--url", schema.url).json()["id"], task)
            contains(cli("db", "status", env=env).json()["location"], schema.name)
        is_true(not os.path.exists(cli.path("faina.db")))


def test_the_schema_of_the_environment_goes_first(cli):
    with Schema() as schema, Schema() as other:
        cli("submit", "x", "--url", other.url, env={"DB_SCHEMA": schema.name})
        equal(len(cli("ls", "--url", schema.url).json()["items"]), 1)
        equal(other.tables(), 0)


def test_a_password_from_a_file(cli):
    with Schema() as schema:
        env = {**parts(), "DB_SCHEMA": schema.name}
        cli.write("secret", env.pop("DB_PASSWORD", "none") + "\n")
        cli("submit", "x", env={**env, "DB_PASSWORD_FILE": "secret"})
        equal(len(cli("ls", "--url", schema.url).json()["items"]), 1)


def test_the_password_is_hidden(cli):
    """Neither in the list of processes nor in messages."""
    if not SERVER:
        raise Skip("no PostgreSQL")
    port = urllib.parse.urlsplit(SERVER).port
    url = f"postgres://somebody:hunter2@127.0.0.1:{port}/nothing"
    err = cli("ls", "--url", url, code=6).err
    is_true("hunter2" not in err, err)
    with Schema() as schema:
        plain = urllib.parse.urlsplit(schema.url)
        secret = f"password=hunter2&{plain.query}"
        long = plain._replace(query=secret).geturl()
        if plain.password: # the one that counts must stay right
            long = schema.url
        shown = plain.password or "hunter2"
        owner = cli.start("submit", "own", "--bulk", "--url", long, stdin=subprocess.PIPE)
        owner.stdin.write("{}\n" * 1000)
        owner.stdin.flush()
        owner.stdout.readline()
        with open(f"/proc/{owner.pid}/cmdline", encoding="utf-8") as file:
            line = file.read()
        owner.communicate(timeout=60)
        equal(owner.returncode, 0)
        contains(line, "postgres")
        is_true(shown not in line, line)


def test_a_dry_run_changes_nothing(cli):
    with Schema() as schema:
        script = cli("db", "migrate", "--dry-run", "--url", schema.url).out
        contains(script, f'SET LOCAL search_path TO "{schema.name}"')
        contains(script, "INSERT INTO schema_migrations")
        equal(schema.tables(), 0)
        would = cli("db", "migrate", "--dry-run", "-o", "json", "--url", schema.url).json()
        is_true(len(would["wouldApply"]) >= 2, would)
        equal(would["sql"], script)
        equal(schema.tables(), 0)
        done = cli("db", "migrate", "--url", schema.url).json()
        equal(done["applied"], would["wouldApply"])
        equal(done["schemaVersion"], would["schemaVersion"])
        equal(schema.migrations(), would["wouldApply"])
        contains(cli("db", "migrate", "--dry-run", "--url", schema.url).out, "-- up to date")
        equal(cli("db", "migrate", "--url", schema.url).json()["applied"], [])


def test_a_reading_verb_creates_no_schema(cli):
    with Schema() as schema:
        for args in (("ls",), ("stats",), ("db", "status"), ("worker-list",), ("token", "ls")):
            contains(cli(*args, "--url", schema.url, code=6).err, "there is no store at ")
        equal(cli("doctor", "--url", schema.url, code=1).json()["verdict"], "wrong")
        equal(schema.exists(), False)
        cli("submit", "x", "--url", schema.url)
        equal(len(cli("ls", "--url", schema.url).json()["items"]), 1)


def test_the_printed_script_applies_by_hand_and_twice(cli):
    with Schema() as schema:
        script = cli("db", "migrate", "--dry-run", "--url", schema.url).out
        schema.psql(script)
        steps = schema.migrations()
        task = cli("submit", "x", "--url", schema.url).out.strip()
        schema.psql(script)
        equal(schema.migrations(), steps)
        equal(cli("db", "migrate", "--url", schema.url).json()["applied"], [])
        cli("claim", task, "-w", "w", "--url", schema.url)
        equal(cli("doctor", "--url", schema.url, code=None).json()["verdict"] != "wrong", True)


def test_only_what_is_missing_is_printed(cli):
    with Schema() as schema:
        cli("db", "migrate", "--url", schema.url)
        last = schema.migrations()[-1]
        schema.psql(f"DELETE FROM schema_migrations WHERE id = '{last}'")
        script = cli("db", "migrate", "--dry-run", "--url", schema.url).out
        contains(script, last)
        is_true("0001_tables" not in script)
        schema.psql(script)
        equal(schema.migrations()[-1], last)


def test_a_name_that_needs_quotes(cli):
    with Schema("Odd 'name'") as schema:
        url = SERVER + ("&" if "?" in SERVER else "?") + "schema=Odd%20%27name%27"
        schema.psql(cli("db", "migrate", "--dry-run", "--url", url).out)
        cli("submit", "x", "--url", url)
        equal(len(cli("ls", "--url", url).json()["items"]), 1)


def test_a_newer_schema_is_left_alone(cli):
    with Schema() as schema:
        cli("db", "migrate", "--url", schema.url)
        schema.psql("INSERT INTO schema_migrations VALUES ('9999_future', 'Later.', now())")
        for verb in (("ls",), ("db", "migrate"), ("db", "migrate", "--dry-run")):
            contains(cli(*verb, "--url", schema.url, code=6).err, "9999_future")


def test_ten_nodes_start_at_once(cli):
    for _ in range(4):
        with Schema() as schema:
            nodes = [cli.start("submit", "x", str(n), "--url", schema.url) for n in range(10)]
            for node in nodes:
                out, err = node.communicate(timeout=60)
                equal(node.returncode, 0, out, err)
            equal(len(schema.migrations()), len(set(schema.migrations())))
            inputs = [task["input"] for task in cli("ls", "--url", schema.url).json()["items"]]
            equal(sorted(inputs), list(range(10)))


def test_killed_while_it_migrates(cli):
    with Schema() as schema:
        begin = time.monotonic()
        cli("db", "migrate", "--url", schema.url)
        whole = time.monotonic() - begin
        steps = schema.migrations()
    for n in range(10):
        with Schema() as schema:
            node = subprocess.Popen([BIN, "db", "migrate", "--url", schema.url], cwd=cli.folder,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                    env=environment())
            time.sleep(whole * n / 10)
            node.kill()
            node.wait()
            cli("submit", "x", "--url", schema.url)
            equal(schema.migrations(), steps)


def test_a_cancellation_reaches_a_worker_of_another_process(cli):
    """Well before its next regular heartbeat, which is 20 s away."""
    with Schema() as schema:
        os.mkdir(cli.path("handlers"), 0o755)
        script = cli.write("handlers/slow", "#!/bin/sh\ntouch begun; sleep 1000 & wait\n")
        os.chmod(script, 0o755)
        worker = cli.start("worker", "--lease", "90s", "--url", schema.url)
        try:
            task = cli.submit("slow", "--url", schema.url)
            while not os.path.exists(cli.path("handlers/begun")):
                time.sleep(0.02)
            begin = time.monotonic()
            cli("cancel", task, "--url", schema.url)
            while "it was cancelled" not in worker.stderr.readline():
                pass
            is_true(time.monotonic() - begin < 15)
        finally:
            worker.terminate()
            worker.communicate(timeout=60)
        events = [e["event"] for e in cli("events", task, "--url", schema.url).json()["items"]]
        equal(events[:2], ["attempt", "cancelled"])


run(globals())
