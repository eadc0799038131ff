#!/usr/bin/env python3
"""`faina bench`: all rows are present, ratios are correct, nothing is left behind.

Speed isn't tested here.
"""
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

FAINA = os.environ.get("FAINA_BIN", "build/faina")
SERVER = os.environ.get("FA_POSTGRES_URL")  # tools/test-postgres; without it those tests are skipped

# (subject, callers, batch, keys) of every row, in order.
RAW = [(subject, 1, batch, False) for batch in (1, 100, 1000) for subject in ("raw-minimal", "raw-own")]
RAW += [("raw-own", 1, 1000, True)]
ENGINE = [("engine", callers, batch, False) for callers in (1, 8, 64) for batch in (1, 100, 1000)]
ENGINE += [("engine", 1, 1000, True), ("engine", 1, 1000, False)]  # without keys again, beside them
ENGINE += 2 * [("engine", 1, 1000, False)]  # with a limit, and with a rate
ENGINE += [("engine-posted", 64, 1, False)]
SERVER_ROWS = [("engine", 4, 100, False), ("engine-http", 4, 100, False)]

# Every ratio with a target: its beginning, the direction, the target.
TARGETS = [
    ("one caller, one at a time: engine / raw on our schema", "at least", 0.85),
    ("64 callers, one at a time, posted / one caller by 100", "at least", 0.6),
    ("submit, claim and complete by 1,000: engine / raw minimal table", "at least", 0.35),
    ("submit, claim and complete by 1,000: engine / raw on our schema", "at least", 0.8),
    ("random keys / without keys", "at least", 0.5),
    ("a resource with a rate that never runs out / with a plain limit", "at least", 0.9),
    ("submit, claim and complete by 1,000: with history / without", "at least", 0.97),
    ("submit, claim and complete by 1,000: with indexes of changes / without", "at least", 0.95),
    ("submit, claim and complete by 1,000: types in both cases / in lower case", "at least", 0.97),
    ("claim of 100: 10,000 waiting", "at most", 1.3),
    ("claim of 100: 200 waiting behind 10,000 throttled", "at most", 1.3),
    ("claim of 100: 200 waiting behind 10,000 without a token", "at most", 1.3),
    ("claim of 100: 200 waiting beside 10,000 ended", "at most", 1.3),
    ("claim of 100: 1,000 waiting in as many groups", "at most", 1.3),
    ("five expressions on a 300-byte event / scanning its bytes once", "at most", 3),
    ("emit, 10 of 1,000 triggers match / its tasks as a batch", "at least", 0.5),
    ("emit, triggers of five forms / its tasks as a batch", "at least", 0.5),
    ("emit with 10,000 triggers on other types / without them", "at least", 0.9),
    ("drain by functions in the pool", "at least", 0.8),
    ("submit to start on an idle pool, median", "at most", 3),
    ("submit to start on an idle pool, 99", "at most", 10),
    ("command handlers / posix_spawn", "at least", 0.7),
    ("a subtask, of 10,000", "at most", 1.5),
    ("server: POST /tasks / the same body without the store", "at least", 0.7),
    ("server: POST /tasks, 99 of 100 / median", "at most", 10),
    ("server: tasks by POST /tasks:batch of 1,000 / the engine's", "at least", 0.8),
    ("server: submit, claim and complete by 100 over HTTP / the engine's", "at least", 0.6),
    ("server: POST /tasks alone / beside 5,000 long polls", "at most", 1.5),
    ("server: MB resident with 5,000 long polls", "at most", 100),
    ("server: ms until it is ready", "at most", 100),
    ("server: MB resident when it is ready", "at most", 15),
    ("memory: growth with 10,000 waiting", "at most", 1.1),
    ("claim of one among 10,000 types / 10 types", "at most", 1.5),
    ("single submits while a tree of 100,000 is cancelled, p99 / idle", "at most", 5),
    ("ms of a page among 2,000 ended, slowest", "at most", 50),
]


# The same on PostgreSQL.
POSTGRES_ROWS = [("raw-minimal", 32, 1, False), ("engine", 64, 1, False),
                 ("raw-minimal", 2, 1000, False), ("engine", 2, 1000, False)]
NO_BROKER = "".join(
    f"faina-bench: {name} is not measured, because FAINA_BROKER names no broker\n"
    for name in ("broker-life", "broker-publish", "broker-start"))
# The part lanes: names and samples of a quick run.
LANES = [("claim of one among 10 types", 50), ("claim of one among 10,000 types", 50),
         ("counts of 10,000 types", 5)]

POSTGRES_TARGETS = [
    ("submit, claim and complete by 1,000, two callers: engine / raw minimal table", "at least", 0.35),
    ("64 callers, one submit at a time / raw inserts by 32 clients", "at least", 2),
    ("submit, claim and complete by 1,000: with history / without", "at least", 0.97),
    ("submit, claim and complete by 1,000: with indexes of changes / without", "at least", 0.95),
    ("submit, claim and complete by 1,000: types in both cases / in lower case", "at least", 0.97),
    ("claim of 100: 10,000 waiting", "at most", 1.3),
    ("claim of 100: 200 waiting behind 10,000 throttled", "at most", 1.3),
    ("claim of 100: 200 waiting behind 10,000 without a token", "at most", 1.3),
    ("claim of 100: 200 waiting beside 50,000 ended", "at most", 1.3),
    ("claim of 100: 1,000 waiting in as many groups", "at most", 1.3),
    ("emit, 10 of 1,000 triggers match / its tasks as a batch", "at least", 0.5),
    ("emit, triggers of five forms / its tasks as a batch", "at least", 0.5),
    ("emit with 10,000 triggers on other types / without them", "at least", 0.9),
    ("submit to start elsewhere: engine / NOTIFY and a claim", "at most", 2),
    ("submit to start elsewhere: p99 / median", "at most", 10),
    ("single submits while a tree of 100,000 is cancelled, p99 / idle", "at most", 5),
    ("ms of a page among 2,000 ended, slowest", "at most", 50),
    ("idle, 10 nodes: load per second", "at most", 20),
]


def bench(*args, code=0):
    done = subprocess.run([FAINA, "bench", *args], capture_output=True, text=True, check=False)
    assert done.returncode == code, f"exit code {done.returncode}: {done.stderr}"
    return done


def quick(folder, *args, left_out=""):
    """A quick run: its table, and its JSON. `left_out` is what it says of parts that it can't measure."""
    path = os.path.join(folder, "bench.json")
    done = bench("--quick", "--dir", folder, "--json", path, *args)
    assert done.stderr == left_out, done.stderr
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    assert os.listdir(folder) == ["bench.json"], os.listdir(folder)
    return done.stdout, report


def rows(report):
    return [(r["subject"], r["callers"], r["batch"], r["keys"]) for r in report["speeds"]]


def near(left, right):
    return abs(left - right) <= 1e-6 * max(abs(left), abs(right))


def check_speed(row, rounds):
    for step in ("submit", "claim", "complete", "life"):
        values = row[step]["rounds"]
        assert len(values) == rounds, row
        assert all(value > 0 for value in values), row
        assert near(row[step]["perSecond"], statistics.median(values)), row
    for i in range(rounds):
        seconds = sum(1 / row[step]["rounds"][i] for step in ("submit", "claim", "complete"))
        assert near(row["life"]["rounds"][i], 1 / seconds), row


def check_ratio(ratio):
    assert near(ratio["value"], statistics.median(ratio["rounds"])), ratio
    if "target" in ratio:
        meets = {"at least": ratio["value"] >= ratio["target"],
                 "at most": ratio["value"] <= ratio["target"]}[ratio["aim"]]
        assert ratio["verdict"] == ("met" if meets else "missed"), ratio


def check_claims(table, report, ended):
    claims, groups, lanes = (report["claims"][:5], report["claims"][5:7], report["claims"][7:])
    assert [(c["waiting"], c["throttled"], c["ended"]) for c in claims] == [
        (200, 0, 0), (10000, 0, 0), (200, 10000, 0), (200, 10000, 0), (200, 0, ended)]
    assert [c["name"] for c in groups] == ["1,000 waiting in one group (base)",
                                           "1,000 waiting in as many groups"], groups
    assert [(c["name"], c["samples"]) for c in lanes] == LANES, lanes
    for claim in report["claims"]:
        assert 0 < claim["medianUs"] <= claim["p99Us"], claim
        assert claim in lanes or claim["samples"] == 20, claim
        assert claim["name"] in table, claim


def test_bench__every_row_and_every_ratio(folder):
    table, report = quick(folder, "--rounds", "3")
    assert report["quick"] is True and report["rounds"] == 3
    assert report["machine"]["cores"] > 0 and report["machine"]["fdatasyncUs"] > 0
    assert report["machine"]["sqlite"].startswith("3.")
    assert sorted(rows(report)) == sorted(RAW + ENGINE + SERVER_ROWS), rows(report)
    for row in report["speeds"]:
        check_speed(row, 3)
    check_claims(table, report, 10000)
    assert report["memory"]["cacheKib"] == 65536
    for moment in ("before", "quarter", "after"):
        assert report["memory"][moment]["rssKib"] > 0, report["memory"]
    for name, aim, target in TARGETS:
        found = [r for r in report["ratios"] if r["name"].startswith(name)]
        assert len(found) == 1, name
        assert (found[0]["aim"], found[0]["target"]) == (aim, target), found
    for ratio in report["ratios"]:
        check_ratio(ratio)
        assert ratio["name"] in table, ratio
    assert table.count("raw SQLite, ") == len(RAW)
    assert table.count("\nengine") == len(ENGINE + SERVER_ROWS)


def test_bench__a_ratio_is_made_of_its_two_rows(folder):
    _, report = quick(folder, "--only", "life-1000,life-key", "--rounds", "2")
    speeds = {(r["part"], *key): r for r, key in zip(report["speeds"], rows(report))}
    ratios = {r["name"]: r for r in report["ratios"]}

    def check(name, above, below):
        pairs = zip(speeds[above]["life"]["rounds"], speeds[below]["life"]["rounds"])
        for got, (top, bottom) in zip(ratios[name]["rounds"], pairs):
            assert near(got, top / bottom), name

    engine = ("life-1000", "engine", 1, 1000, False)
    check("submit, claim and complete by 1,000: engine / raw minimal table", engine,
          ("life-1000", "raw-minimal", 1, 1000, False))
    check("submit, claim and complete by 1,000: engine / raw on our schema", engine,
          ("life-1000", "raw-own", 1, 1000, False))
    check("random keys / without keys", ("life-key", "engine", 1, 1000, True),
          ("life-key", "engine", 1, 1000, False))


def test_bench__memory_has_no_raw_parts(folder):
    table, report = quick(folder, "--url", "memory:", "--rounds", "1")
    assert sorted(rows(report)) == sorted(ENGINE), rows(report)
    assert report["memory"] is None and len(report["claims"]) == 7 + len(LANES)
    assert "raw" not in table, table


class Database:
    """A database of the test's own, in the server that all tests share."""

    def __init__(self):
        self.name = f"bench_{os.getpid()}_{time.monotonic_ns()}"
        self.url = SERVER[:SERVER.rindex("/") + 1] + self.name

    def ask(self, sql, url=None):
        done = subprocess.run(["psql", "-XAtq", "-d", url or self.url, "-c", sql], text=True,
                              capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    def schemas(self):
        return self.ask("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'faina%'")

    def __enter__(self):
        self.ask(f"CREATE DATABASE {self.name}", SERVER)
        return self

    def __exit__(self, *_):
        self.ask(f"DROP DATABASE {self.name} WITH (FORCE)", SERVER)


def postgres_bench__every_row_and_every_ratio(folder):
    with Database() as database:
        table, report = quick(folder, "--url", database.url, "--rounds", "2", left_out=NO_BROKER)
        assert database.schemas() == [], database.schemas()
    assert rows(report) == POSTGRES_ROWS, rows(report)
    for row in report["speeds"]:
        check_speed(row, 2)
    check_claims(table, report, 50000)
    assert len(report["starts"]) == 4
    for row in report["starts"]:
        assert 0 < row["medianUs"] <= row["p99Us"] and row["samples"] == 60, row
        assert near(row["medianUs"], statistics.median(row["medians"])), row
        assert row["name"] in table, row
    for name, aim, target in POSTGRES_TARGETS:
        found = [r for r in report["ratios"] if r["name"].startswith(name)]
        assert len(found) == 1, name
        assert (found[0]["aim"], found[0]["target"]) == (aim, target), found
        assert found[0]["value"] > 0, found
    for ratio in report["ratios"]:
        check_ratio(ratio)
        assert ratio["name"] in table, ratio
    assert report["memory"] is None
    assert report["server"]["fsync"] == "on" and report["server"]["version"][:1].isdigit()
    password = SERVER.split(":")[2].split("@")[0]
    assert password not in table and password not in json.dumps(report)
    assert table.count("raw PostgreSQL, ") == 2 and "SQLite, " not in table.replace("SQLite 3", "")


def postgres_bench__a_stopped_run_leaves_nothing(folder):
    with Database() as database, subprocess.Popen(
            [FAINA, "bench", "--url", database.url, "--dir", folder, "--only", "claim"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while not database.schemas():
            assert process.poll() is None and time.monotonic() < deadline
        time.sleep(1)  # into the middle of something
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode != 0
        assert database.schemas() == [], database.schemas()
        assert os.listdir(folder) == [], os.listdir(folder)


def test_bench__a_server_that_is_not_there(folder):
    done = bench("--quick", "--dir", folder, "--url", "postgres://nobody:secret@127.0.0.1:1/none",
                 code=6)
    assert "can't connect" in done.stderr and "secret" not in done.stderr, done.stderr
    assert done.stdout == "" and os.listdir(folder) == []


def test_bench__parts_of_another_engine(folder):
    for args, words in ((["--only", "start,idle"], "start,idle is for other engines"),
                        (["--only", "memory", "--url", "postgres://x/y"], "memory is for SQLite")):
        done = bench("--dir", folder, *args, code=3)
        assert words in done.stderr and done.stdout == "", done.stderr


def test_bench__wrong_arguments(folder):
    for args, words in (
        (["--round", "3"], "did you mean --rounds?"),
        (["--rounds", "0"], "from 1 to 99"),
        (["--rounds", "3x"], "from 1 to 99"),
        (["--rounds"], "needs a value"),
        (["--quick=1"], "takes no value"),
        (["--only", "lifes"], 'no part "lifes"'),
        (["--only", ""], "names no part"),
        (["--url", "sqlite:mine.db"], "their own stores"),
        (["--url", "postgres://x/y?schema=mine"], "their own schemas"),
        (["everything"], '"everything" is not a flag'),
    ):
        done = bench(*args, code=2)
        assert words in done.stderr and done.stdout == "", (args, done.stderr)
    done = bench("--quick", "--dir", os.path.join(folder, "nowhere"), code=1)
    assert "nowhere" in done.stderr, done.stderr
    done = bench("--quick", "--dir", folder, "--only", "memory", "--json", f"{folder}/no/x.json",
                 code=1)
    assert "no/x.json" in done.stderr, done.stderr
    assert "life-1000" in bench("--help").stdout


def test_bench__errors_name_the_program(folder):
    assert bench("--rounds", "0", code=2).stderr.startswith("faina-bench: --rounds is"), folder


def test_bench__without_the_program(folder):
    alone = shutil.copy(FAINA, folder)
    done = subprocess.run([alone, "bench", "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout == "", done
    assert "faina-bench is not installed" in done.stderr, done.stderr


def test_bench__a_stopped_run_leaves_nothing(folder):
    for number in (signal.SIGTERM, signal.SIGINT):
        with subprocess.Popen([FAINA, "bench", "--dir", folder, "--only", "life"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            deadline = time.monotonic() + 60
            while not any(names for _, _, names in os.walk(folder)):
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.01)
            process.send_signal(number)
            process.communicate(timeout=60)
        assert process.returncode != 0
        assert os.listdir(folder) == [], os.listdir(folder)


def main():
    failed = 0
    names = ("test_", "postgres_") if SERVER else ("test_",)
    tests = [(name, test) for name, test in globals().items() if name.startswith(names)]
    skipped = 0 if SERVER else sum(name.startswith("postgres_") for name in globals())
    for name, test in tests:
        with tempfile.TemporaryDirectory(prefix="faina-bench-") as folder:
            try:
                test(folder)
                print(f"ok {name}")
            except AssertionError as error:
                failed += 1
                print(f"not ok {name}: line {error.__traceback__.tb_lineno}: {error}")
    print(f"{len(tests) - failed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
