#!/usr/bin/env python3
"""faina backup and faina restore: what is in the file, killed on the way, refused."""
import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import time

from helper_cli import BIN, contains, environment, equal, is_true, run


def fill(cli, count):
    lines = "".join(f'{{"type":"t{n % 7}","input":{{"n":{n},"text":"{"z" * 300}"}},'
                    f'"idempotencyKey":"k{n}"}}\n' for n in range(count))
    cli("submit", "--bulk", stdin=lines)
    for task in cli("claim", "-w", "w", "--limit", "20", "--lease", "1h").json()["tasks"][:10]:
        cli("complete", task["id"], '{"done":true}', "-w", "w")


def listed(cli, url):
    return cli("ls", "--all", "-o", "jsonl", "--url", url).lines()


def mode(cli, name):
    return stat.S_IMODE(os.stat(cli.path(name)).st_mode)


def test_there_and_back(cli):
    fill(cli, 500)
    report = cli("backup", "copy.db").json()
    equal((report["file"], report["tasks"]), ("copy.db", 500))
    equal((report["byStatus"]["completed"], report["byStatus"]["claimed"]), (10, 10))
    equal(report["sizeBytes"], os.stat(cli.path("copy.db")).st_size)
    cli.submit("later")
    restored = cli("restore", "copy.db", "--url", "sqlite:new.db").json()
    equal(restored, {**{name: value for name, value in report.items() if name != "file"},
                     "url": "sqlite:new.db"})
    equal([mode(cli, name) for name in ("copy.db", "new.db")], [0o600, 0o600])
    tasks = listed(cli, "sqlite:faina.db")
    equal(tasks[0]["type"], "later")
    equal(listed(cli, "sqlite:new.db"), tasks[1:])
    equal(cli("doctor", "--url", "sqlite:new.db").json()["verdict"], "ok")
    equal(sorted(name for name in os.listdir(cli.folder) if "tmp" in name or "-wal" in name), [])
    contains(cli("backup", "text.db", "-o", "table").out, "wrote text.db: 501 tasks, ")
    contains(cli("restore", "text.db", "--url", "sqlite:other.db", "-o", "table").out,
             "restored other.db: 501 tasks, ")


def test_an_existing_file_stays(cli):
    cli.submit("x")
    cli.write("copy.db", "precious")
    contains(cli("backup", "copy.db", code=4).err, "copy.db is there already")
    with open(cli.path("copy.db"), encoding="ascii") as file:
        equal(file.read(), "precious")
    equal(cli("backup", "copy.db", "--force").json()["tasks"], 1)
    contains(cli("backup", "no/such/folder.db", code=6).err, "No such file or directory")


def test_one_writer_for_a_file(cli):
    """A second backup to the same name is refused; what a killed one left is overwritten."""
    fill(cli, 100)
    cli.write("copy.db.tmp", "left by a process that was killed" * 100000)
    cli("backup", "copy.db")
    equal(cli("restore", "copy.db", "--url", "sqlite:new.db").json()["tasks"], 100)


def test_killed_at_any_moment(cli):
    """The file is there whole, or not at all."""
    fill(cli, 8000)
    start = time.monotonic()
    cli("backup", "first.db")
    took = time.monotonic() - start
    seen = set()
    for n in range(12):
        process = subprocess.Popen([BIN, "backup", "copy.db"], cwd=cli.folder, env=environment(),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(took * (n + random.random()) / 12)
        process.send_signal(signal.SIGKILL)
        process.wait()
        is_there = os.path.exists(cli.path("copy.db"))
        seen.add(is_there)
        if is_there:
            with sqlite3.connect(f"file:{cli.path('copy.db')}?immutable=1", uri=True) as copy:
                equal(copy.execute("SELECT count(*) FROM task").fetchone(), (8000,))
            os.remove(cli.path("copy.db"))
    is_true(False in seen, "it was never killed on the way")
    cli("backup", "copy.db")
    equal(cli("restore", "copy.db", "--url", "sqlite:new.db").json()["tasks"], 8000)
    is_true(not os.path.exists(cli.path("copy.db.tmp")))


def refused(cli, name, word, code=2, url="sqlite:new.db"):
    contains(cli("restore", name, "--url", url, code=code).err, word)
    equal([left for left in os.listdir(cli.folder) if left.startswith("new.db")], [])


def test_what_is_no_backup(cli):
    fill(cli, 300)
    cli("backup", "good.db")
    with open(cli.path("good.db"), "rb") as file:
        good = file.read()
    for share in (0, 0.1, 0.5, 0.9, 0.999):
        cli.write("cut.db", good[:int(len(good) * share)])
        refused(cli, "cut.db", "cut.db")
    for at in (16, 4096 + 3, len(good) // 2 // 4096 * 4096, len(good) - 4096):
        damaged = bytearray(good)
        damaged[at:at + 8] = b"\xa5" * 8
        cli.write("damaged.db", bytes(damaged))
        refused(cli, "damaged.db", "damaged.db")
    cli.write("letter.txt", "This is a letter, and no database.\n" * 200)
    refused(cli, "letter.txt", "is not a backup")
    with sqlite3.connect(cli.path("foreign.db")) as foreign:
        foreign.execute("CREATE TABLE songs (name TEXT)")
    refused(cli, "foreign.db", "is not a Faina database")
    refused(cli, "none.db", "No such file", code=3)
    refused(cli, ".", "", code=None)


def test_sound_pages_that_break_a_promise(cli):
    fill(cli, 50)
    cli("backup", "wrong.db")
    with sqlite3.connect(cli.path("wrong.db")) as wrong:
        wrong.execute("UPDATE tally SET n = n + 1")
    wrong.close()
    refused(cli, "wrong.db", "counts differ")
    cli("backup", "newer.db")
    with sqlite3.connect(cli.path("newer.db")) as newer:
        newer.execute("INSERT INTO schema_migrations SELECT '9999', 'from the future', "
                      "'2030-01-01T00:00:00.000000Z'")
    newer.close()
    refused(cli, "newer.db", "newer")


def test_targets(cli):
    cli.submit("x")
    cli("backup", "copy.db")
    contains(cli("restore", "copy.db", code=4).err, "faina.db is there already")
    equal(len(listed(cli, "sqlite:faina.db")), 1)
    for suffix in ("", "-wal", "-shm"):
        cli.write("there.db" + suffix, "")
        contains(cli("restore", "copy.db", "--url", "sqlite:there.db", code=4).err, "is there")
        os.remove(cli.path("there.db" + suffix))
    for url in ("memory:", "http://127.0.0.1:1", "postgres://nobody@127.0.0.1:1/none"):
        contains(cli("restore", "copy.db", "--url", url, code=1).err, "restored to a")


def test_a_store_is_no_backup(cli):
    """Its log holds a part of its tasks."""
    owner = cli.own()
    contains(cli("restore", "faina.db", "--url", "sqlite:new.db", code=4).err, "in use")
    contains(cli("backup", "copy.db", code=6).err, "is in use by process")
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    contains(cli("restore", "faina.db", "--url", "sqlite:new.db", code=4).err, "has a log beside it")
    shutil.copy(cli.path("faina.db"), cli.path("bare.db")) # without the log: it is refused or older
    is_true(cli("restore", "bare.db", "--url", "sqlite:new.db", code=None).code in (0, 2))


def test_progress_on_a_terminal(cli):
    fill(cli, 3000)
    screen = cli.on_terminal("backup", "copy.db").plain()
    contains(screen, "wrote copy.db: 3,000 tasks")
    contains(screen, "ing (KiB)")


run(globals())
