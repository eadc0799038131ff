#!/usr/bin/env python3
"""Old tasks go into the archive and then from the store; killed at any moment, none is lost."""
import glob
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

from helper_cli import BIN, Skip, contains, environment, equal, is_true, run

ROUNDS = int(os.environ.get("FA_RETENTION_KILLS", "12"))
SERVER = os.environ.get("FA_POSTGRES_URL")


def archive_lines(cli, folder="archive"):
    """Every line, and none that makes no sense."""
    lines = []
    for name in sorted(glob.glob(os.path.join(cli.folder, folder, "*.jsonl.gz"))):
        with gzip.open(name, "rt", encoding="utf-8") as file:
            lines += [json.loads(line) for line in file]
    return lines


def start(cli, *args, url="sqlite:faina.db", **extra):
    """`faina worker` with nothing to do but retention."""
    os.makedirs(os.path.join(cli.folder, "handlers"), exist_ok=True)
    with open(os.path.join(cli.folder, "log"), "a", encoding="utf-8") as log:
        return subprocess.Popen([BIN, "worker", "--url", url, "--types", "nothing", *args],
                                cwd=cli.folder, stderr=log, env=environment(**extra))


def stop(process, how=signal.SIGTERM):
    process.send_signal(how)
    process.wait(60)


def log_of(cli):
    with open(os.path.join(cli.folder, "log"), encoding="utf-8") as file:
        return file.read()


def until(what, fact, seconds=60):
    end = time.monotonic() + seconds
    while not fact():
        is_true(time.monotonic() < end, f"waited for: {what}")
        time.sleep(0.05)


def make_ended(cli, count, url="sqlite:faina.db"):
    lines = "".join(f'{{"type":"t","input":{{"n":{n},"pad":"{"x" * 200}"}}}}\n'
                    for n in range(count))
    ids = cli("submit", "--bulk", "-", "--url", url, "-o", "jsonl", stdin=lines).out.split("\n")
    ids = [json.loads(line)["id"] for line in ids if line]
    equal(len(ids), count)
    cli("cancel", "--all", "--type", "t", "--yes", "--url", url)
    return set(ids)


def ids_in_store(cli, url):
    out = cli("ls", "--limit", "1000", "--url", url, "-o", "jsonl").out.split("\n")
    return {json.loads(line)["id"] for line in out if line}


def kill_and_count(cli, url):
    """Kills it again and again, at any moment, until all is gone from the store."""
    ids = make_ended(cli, 1000, url)
    time.sleep(1.1)
    for _ in range(ROUNDS):
        process = start(cli, "--keep-failed", "1s", url=url)
        time.sleep(random.random() * 0.4)
        stop(process, signal.SIGKILL)
    left = ids_in_store(cli, url)
    archived = [line["id"] for line in archive_lines(cli)]
    equal(ids - left - set(archived), set())
    process = start(cli, "--keep-failed", "1s", url=url)
    until("an empty store", lambda: not ids_in_store(cli, url))
    stop(process)
    lines = archive_lines(cli)
    equal({line["id"] for line in lines}, ids)
    for line in lines:
        equal((line["status"], line["events"][0]["event"]), ("cancelled", "created"))
    sys.stderr.write(f"{len(lines)} lines about {len(ids)} tasks\n")


def test_kills_lose_nothing(cli):
    kill_and_count(cli, "sqlite:faina.db")


def test_kills_lose_nothing_on_postgresql(cli):
    if not SERVER or not shutil.which("psql"):
        raise Skip("no PostgreSQL")
    schema = f"retention_{os.getpid()}"
    try:
        kill_and_count(cli, SERVER + ("&" if "?" in SERVER else "?") + f"schema={schema}")
    finally:
        subprocess.run(["psql", "-X", "-q", SERVER, "-c", f"DROP SCHEMA {schema} CASCADE"],
                       capture_output=True, check=False)


def test_settings_of_the_server(cli):
    ids = make_ended(cli, 3)
    done = cli.submit("other")
    cli("claim", done, "--worker", "w")
    cli("complete", done, "1", "--worker", "w")
    time.sleep(1.1)
    with open(os.path.join(cli.folder, "log"), "a", encoding="utf-8") as log:
        server = subprocess.Popen(
            [BIN, "serve", "--listen", "unix:s", "--archive", "old"], cwd=cli.folder, stderr=log,
            env=environment(FAINA_KEEP_COMPLETED="1s", FAINA_KEEP_FAILED="1h"))
    until("the completed one in the archive", lambda: archive_lines(cli, "old"))
    until("a word about it", lambda: "1 tasks archived and removed" in log_of(cli))
    stop(server)
    equal([line["id"] for line in archive_lines(cli, "old")], [done])
    equal(ids_in_store(cli, "sqlite:faina.db"), ids)
    server = start(cli, "--keep-failed", "1s", "--no-archive")
    until("an empty store", lambda: "3 tasks removed" in log_of(cli))
    stop(server)
    is_true(not os.path.exists(os.path.join(cli.folder, "archive")))


def test_an_archive_that_cannot_be_written(cli):
    ids = make_ended(cli, 3)
    with open(os.path.join(cli.folder, "archive"), "w", encoding="utf-8"):
        pass
    time.sleep(1.1)
    process = start(cli, "--keep-failed", "1s")
    until("a complaint", lambda: "nothing is removed" in log_of(cli))
    time.sleep(2.5)  # two more rounds
    equal(log_of(cli).count("nothing is removed"), 1, log_of(cli))
    contains(log_of(cli), "the archive archive can't be opened: Not a directory")
    os.unlink(os.path.join(cli.folder, "archive"))
    until("the tasks in the archive", lambda: len(archive_lines(cli)) == 3)
    until("a word", lambda: "retention works again" in log_of(cli))
    stop(process)
    equal({line["id"] for line in archive_lines(cli)}, ids)


def test_a_full_disk(cli):
    """A file may grow to 4 KiB only: the database fits in no more either, but is there already."""
    ids = make_ended(cli, 200)
    time.sleep(1.1)
    os.makedirs(os.path.join(cli.folder, "handlers"))
    with open(os.path.join(cli.folder, "log"), "a", encoding="utf-8") as log:
        process = subprocess.Popen(
            ["bash", "-c", 'trap "" XFSZ; ulimit -f 4; exec "$0" "$@"', BIN, "worker", "--types",
             "nothing", "--keep-failed", "1s"], cwd=cli.folder, stderr=log, env=environment())
    until("a complaint or an end", lambda: "File too large" in log_of(cli) or
          process.poll() is not None)
    stop(process, signal.SIGKILL)
    left = ids_in_store(cli, "sqlite:faina.db")
    equal(ids - left - {line["id"] for line in archive_lines(cli)}, set())


def test_wrong_use(cli):
    contains(cli("serve", "--keep-completed", "soon", code=2).err, "--keep-completed")
    contains(cli("serve", "--keep-completed", "10ms", code=2).err, "at least 1s")
    contains(cli("worker", "--archive", "x", "--no-archive", code=2).err, "exclude each other")
    contains(cli("worker", code=2, env={"FAINA_KEEP_FAILED": "x"}).err, "FAINA_KEEP_FAILED")
    os.makedirs(os.path.join(cli.folder, "handlers"))
    server = cli.start("serve", "--listen", "unix:s")
    until("a server", lambda: os.path.exists(cli.path("s")))
    refused = cli("worker", "--url", f"unix:{cli.path('s')}", "--keep-failed", "1d", code=None)
    stop(server)
    is_true(refused.code != 0, refused)
    contains(refused.err, "give the server these settings")


run(globals())
