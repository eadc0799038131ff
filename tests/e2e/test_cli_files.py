#!/usr/bin/env python3
"""Files that are damaged, foreign, newer, read-only, or owned by another user."""
import os
import shutil
import sqlite3
import stat
import subprocess
import time

from helper_cli import BIN, contains, environment, equal, is_true, run


def test_a_text_file_is_left_alone(cli):
    text = "These are my notes, and they are mine.\n" * 200
    cli.write("notes.txt", text)
    contains(cli("ls", "--url", "sqlite:notes.txt", code=6).err, "notes.txt is not a Faina database")
    cli("submit", "x", "--url", "sqlite:notes.txt", code=6)
    equal(open(cli.path("notes.txt"), encoding="ascii").read(), text)


def test_the_database_of_another_program_is_left_alone(cli):
    with sqlite3.connect(cli.path("other.db")) as db:
        db.execute("CREATE TABLE recipes (name TEXT)")
        db.execute("INSERT INTO recipes VALUES ('soup')")
    db.close()
    contains(cli("submit", "x", "--url", "sqlite:other.db", code=6).err, "another program")
    with sqlite3.connect(cli.path("other.db")) as db:
        equal(db.execute("SELECT name FROM sqlite_master").fetchall(), [("recipes",)])


def test_a_folder_is_no_file(cli):
    os.mkdir(cli.path("folder"))
    contains(cli("ls", "--url", "sqlite:folder", code=6).err, "folder")
    cli("ls", "--url", "sqlite:no/such/place.db", code=6)


def test_a_damaged_file(cli):
    for n in range(20):
        cli.submit("x", '"' + "a" * 3000 + '"', "--key", f"k{n}")
    with open(cli.path("faina.db"), "r+b") as file:
        size = os.path.getsize(cli.path("faina.db"))
        file.seek(4096)
        file.write(b"\xa5" * (size - 8192))
    result = cli("ls", code=None)
    equal(result.code, 6, result)
    contains(result.err, "damaged")
    doctor = cli("doctor", code=1)
    equal(doctor.json()["verdict"], "wrong")
    contains(cli("doctor", "-o", "table", code=1).out, "Errors were found.")


def test_an_empty_file_becomes_a_store(cli):
    cli.write("faina.db", "")
    cli.submit("x")
    equal(len(cli("ls").json()["items"]), 1)


NO_ID = "01a1dd87-fe86-70cd-8db6-65214919ec83"
# Every verb that needs a store which is there.
LOOKS = (
    ("ls",), ("get", NO_ID), ("children", NO_ID), ("events", NO_ID), ("result", NO_ID),
    ("wait", NO_ID), ("explain", NO_ID), ("logs", NO_ID), ("watch",), ("stats",), ("worker-list",),
    ("resource", "ls"), ("team", "ls"), ("team", "get", NO_ID), ("cron", "ls"), ("workflow", "ls"),
    ("workflow", "get", "w"), ("workflow", "joins"), ("workflow", "why", "e"), ("token", "ls"),
    ("db", "status"), ("backup", "copy.db"), ("cancel", NO_ID), ("retry", NO_ID), ("rm", NO_ID),
    ("complete", NO_ID), ("heartbeat", NO_ID, "-w", "w"), ("db", "purge", "--yes"),
)


def test_a_reading_verb_creates_no_store(cli):
    """In the wrong folder a reading verb reports that there is no store, and creates none."""
    for args in LOOKS:
        contains(cli(*args, code=6).err, "there is no store at faina.db; faina submit, ")
        equal(os.listdir(cli.folder), [], args)
    doctor = cli("doctor", code=1).json()
    equal(doctor["verdict"], "wrong")
    contains(str(doctor["checks"]), "there is no store at faina.db")
    equal(os.listdir(cli.folder), [])
    equal(cli("ls", "--url", "memory:").json()["items"], [])
    cli.write("empty.db", "")
    contains(cli("ls", "--url", "sqlite:empty.db", code=6).err, "empty.db is empty, and no store")
    equal((os.listdir(cli.folder), os.stat(cli.path("empty.db")).st_size), (["empty.db"], 0))
    equal(cli("submit", "x").err, "") # it is for that
    equal(len(cli("ls").json()["items"]), 1)


def test_files_are_for_their_user_alone(cli):
    """Whatever the umask is; what is there already keeps its mode."""
    mask = os.umask(0)
    try:
        cli.write("old.db", "")
        os.chmod(cli.path("old.db"), 0o640)
        for name in ("new.db", "old.db"):
            with cli.start("serve", "--listen", "127.0.0.1:0", "--url", "sqlite:" + name) as server:
                until = time.monotonic() + 60
                while not os.path.exists(cli.path(name + ".sock")) and time.monotonic() < until:
                    time.sleep(0.01)
                cli("submit", "x", "--url", "sqlite:" + name)
                modes = {left: stat.S_IMODE(os.stat(cli.path(left)).st_mode)
                         for left in os.listdir(cli.folder) if left.startswith(name)}
                server.terminate()
                server.communicate()
            wanted = 0o600 if name == "new.db" else 0o640
            equal(modes, {name: wanted, name + "-wal": wanted, name + "-shm": wanted,
                          name + ".lock": 0o600, name + ".sock": 0o600, name + ".reserve": 0o600})
    finally:
        os.umask(mask)


def test_a_file_from_a_newer_version(cli):
    cli.submit("x")
    with sqlite3.connect(cli.path("faina.db")) as db:
        columns = len(db.execute("PRAGMA table_info(schema_migrations)").fetchall())
        row = ["9999_from_the_future", "From the future.", "2099-01-01T00:00:00Z"]
        row += [None] * (columns - 3)
        db.execute(f"INSERT INTO schema_migrations VALUES ({','.join('?' * columns)})", row)
    db.close()
    before = open(cli.path("faina.db"), "rb").read()
    err = cli("ls", code=6).err
    contains(err, "newer")
    contains(err, "9999_from_the_future")
    equal(open(cli.path("faina.db"), "rb").read(), before)


def test_the_owner_is_named(cli):
    owner = cli.own()
    contains(cli("ls", code=6).err, f"process {owner.pid}")
    out, err = owner.communicate(timeout=60)
    equal(owner.returncode, 0, out, err)
    equal(cli("stats").json()["total"], 1000)


def test_the_doctor_leaves_an_owned_file_alone(cli):
    """What can't be looked at is not damaged."""
    owner = cli.own()
    answer = cli("doctor").json()
    equal(answer["verdict"], "warning")
    [said] = [check["message"] for check in answer["checks"] if check["level"] == "warning"]
    contains(said, f"not checked: faina.db is in use by process {owner.pid}")
    contains(cli("doctor", "-o", "table").out, "No errors were found, but there are warnings.")
    owner.communicate(timeout=60)
    equal(cli("doctor").json()["verdict"], "ok")
    cli.write("sub", "") # a file that can't be opened for any other reason is still wrong
    equal(cli("doctor", "--url", "sqlite:sub/a.db", code=1).json()["verdict"], "wrong")


def test_a_wait_outlives_another_owner(cli):
    waiter = cli.start("submit", "x", "--wait", "--timeout", "60s")
    task = waiter.stdout.readline().strip()
    owner = cli.own()
    for _ in range(2): # each gives up after two seconds; the waiter doesn't
        cli("ls", code=6)
    owner.communicate(timeout=60)
    equal(waiter.poll(), None)
    cli("claim", task, "-w", "w")
    cli("complete", task, "-w", "w")
    out, err = waiter.communicate(timeout=60)
    equal((waiter.returncode, out, err), (0, "", ""))


def test_short_commands_wait_for_each_other(cli):
    running = [cli.start("submit", "t", str(n)) for n in range(8)]
    for one in running:
        out, err = one.communicate(timeout=60)
        equal(one.returncode, 0, out, err)
    equal(sorted(task["input"] for task in cli("ls").json()["items"]), list(range(8)))


def test_a_read_only_folder(cli):
    cli.give_up_root()
    os.chmod(cli.folder, 0o500)
    result = cli("submit", "x", code=6)
    is_true("Permission denied" in result.err or "read-only" in result.err, result)


def test_a_read_only_file(cli):
    cli.give_up_root()
    cli.submit("x")
    os.chmod(cli.path("faina.db"), 0o400)
    cli("submit", "x", code=6)
    os.chmod(cli.path("faina.db"), 0o600)
    cli.submit("x")
    equal(len(cli("ls").json()["items"]), 2)


def test_a_full_disk_and_then_room_again(cli):
    """A limit on the size of files simulates a full disk."""
    cli.submit("x")
    size = os.path.getsize(cli.path("faina.db")) // 1024 + 64
    text = '{"type":"t","input":"' + "a" * 4000 + '"}\n'
    cli.write("many.jsonl", text * 500)
    done = subprocess.run(["bash", "-c", f'ulimit -f {size}; "$FAINA" submit --bulk many.jsonl'],
                          cwd=cli.folder, capture_output=True, text=True,
                          env=environment(FAINA=BIN), check=False)
    is_true(done.returncode in (1, 6), done)
    contains(done.stderr, "faina: ")
    stored = len(done.stdout.split())
    listed = cli("ls", "--all", "-o", "jsonl").lines()
    is_true(len(listed) >= stored + 1, len(listed), stored)
    cli("submit", "--bulk", "many.jsonl")
    equal(cli("doctor").json()["verdict"], "ok")


def test_a_store_that_was_copied(cli):
    task = cli.submit("x")
    shutil.copy(cli.path("faina.db"), cli.path("copy.db"))
    equal(cli("get", task, "--url", "sqlite:copy.db").json()["id"], task)


run(globals())
