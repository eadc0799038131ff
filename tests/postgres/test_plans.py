#!/usr/bin/env python3
"""tools/explain-postgres runs, and no hot statement reads a table whole or more with more waiting."""
import glob
import os
import re
import subprocess
import sys
import time

ROOT = os.environ.get("FA_SOURCE_ROOT") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from checks import FAINA, check, equal, finish, skip  # noqa: E402  pylint: disable=wrong-import-position


def plans(waiting):
    """The plan of each statement."""
    done = subprocess.run([f"{ROOT}/tools/explain-postgres", "--waiting", str(waiting),
                           os.environ["FA_POSTGRES_URL"]], capture_output=True, text=True,
                          check=False)
    check(f"with {waiting} waiting", done.returncode == 0, done.stderr)
    return dict(re.findall(r"^## (\w+)\n.*?^```\n```\n(.*?)^```", done.stdout, re.M | re.S))


def pages(plan):
    """How many pages it touched in all."""
    line = re.search(r"Buffers: (.*)", plan)[1]
    return sum(int(n) for n in re.findall(r"(?:hit|read)=(\d+)", line))


def forms_for_one():
    """Each statement that takes arrays, as the engine sends it for one row (tools/embed-sql)."""
    for path in sorted(glob.glob(f"{ROOT}/src/store/db/postgres/queries/*.sql")):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"^--.*\n", "", file.read(), flags=re.M)
        arrays = re.search(r"unnest\((\$1::[^)]*)\)(\s+WITH ORDINALITY)?", text)
        if arrays:
            number = ", 1::bigint" if arrays[2] else ""
            values = f"(VALUES ({arrays[1].replace('[]', '')}{number}))"
            yield (os.path.basename(path)[:-4], arrays[1].count("$"),
                   text[:arrays.start()] + values + text[arrays.end():])


def explain_ones():
    """Their generic plans, on tables that were just made."""
    url = os.environ["FA_POSTGRES_URL"]
    schema = f"plans_{os.getpid()}"
    done = subprocess.run([FAINA, "db", "migrate", "--url",
                           f"{url}{'&' if '?' in url else '?'}schema={schema}"],
                          capture_output=True, text=True, check=False)
    check("tables", done.returncode == 0, done.stderr)
    lines = [f"SET search_path = {schema};", "SET plan_cache_mode = force_generic_plan;"]
    lines += [f"SET enable_{name} = off;" for name in
              ("seqscan", "hashjoin", "mergejoin", "material", "bitmapscan", "memoize")]
    for name, count, text in forms_for_one():
        lines += [f"PREPARE {name} AS {text};", f"\\echo @{name}",
                  f"EXPLAIN (COSTS off) EXECUTE {name}({', '.join(['NULL'] * count)});"]
    lines.append(f"DROP SCHEMA {schema} CASCADE;")
    done = subprocess.run(["psql", "-qAtX", "-v", "ON_ERROR_STOP=1", "-d", url],
                          input="\n".join(lines), capture_output=True, text=True, check=False)
    check("plans for one row", done.returncode == 0, done.stderr)
    found = dict(re.findall(r"^@(\w+)\n(.*?)(?=^@|\Z)", done.stdout, re.M | re.S))
    check("there are some", len(found) > 15, str(sorted(found)))
    for name, plan in found.items():
        check(f"{name} for one row",
              not re.search("Seq Scan|Values Scan|Scan on [pu]$|Join Filter", plan, re.M), plan)


def reader_settings():
    with open(f"{ROOT}/src/store/db/postgres/target.c", encoding="utf-8") as file:
        found = re.search(r"reader_settings\[\] = \{(.*?)\n\};", file.read(), re.S)
    return [(name, value) for name, value in re.findall(r'\{"(\w+)", "([^"]*)"\}', found[1])
            if not name.endswith("_timeout")]


# Ended tasks in tables that were never analysed, as a day's partition is in its first minutes.
ENDED = """
INSERT INTO lane (namespace, type, resources) VALUES ('default', 'x', '[]');
CREATE TEMPORARY TABLE start AS SELECT ((clock_us() / 1000) << 12) AS id;
INSERT INTO task (id, tail, created_us, lane, rank, max_attempts)
SELECT start.id + n, n, clock_us(), 1, 0, 4 FROM start, generate_series(1, 20000) AS n;
INSERT INTO ended (id, version, fence, attempts, flags, updated_us, completed_us, lane, progress, status)
SELECT id, 3, 1, 1, 48, created_us, created_us, lane, 0, 5 FROM task;
"""
# They read all of `held`, or all tasks of a few statuses or parents, which are counted before.
WHOLE = ("list_held_asc", "list_held_desc", "list_updated_held", "list_parent_places")


def value_of(text, number):
    """What the parameter is, so that it selects all rows."""
    for pattern, value in ((r"LIMIT", 100), (r"status =", 8), (r"rank.*\(", 0), (r"id <", 1 << 62), (r"id >", 0),
                           (r" =", 100)):
        if re.search(rf"{pattern} ?\${number}\b", text):
            return value
    return int(time.time() * 1000) << 12 # about the ids of now; as a time it is far ahead


def explain_lists():
    """No page of a list reads and sorts a table, whatever the statistics are."""
    url = os.environ["FA_POSTGRES_URL"]
    schema = f"lists_{os.getpid()}"
    done = subprocess.run([FAINA, "db", "migrate", "--url",
                           f"{url}{'&' if '?' in url else '?'}schema={schema}"],
                          capture_output=True, text=True, check=False)
    check("tables for lists", done.returncode == 0, done.stderr)
    lines = [f"SET search_path = {schema};", ENDED]
    lines += [f"SET {name} = '{value}';" for name, value in reader_settings()]
    for path in sorted(glob.glob(f"{ROOT}/src/store/db/queries/list_*.sql")):
        name = os.path.basename(path)[:-4]
        if name in WHOLE:
            continue
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"\?(\d+)", r"$\1", re.sub(r"^--.*\n", "", file.read(), flags=re.M))
        count = max(int(n) for n in re.findall(r"\$(\d+)", text))
        values = [f"'{value_of(text, n)}'" for n in range(1, count + 1)]
        lines.append(f"PREPARE {name} AS {text};")
        for mode in ("custom", "generic"):
            lines += [f"SET plan_cache_mode = force_{mode}_plan;", f"\\echo @{name}-{mode}",
                      f"EXPLAIN (COSTS off) EXECUTE {name}({', '.join(values)});"]
    lines.append(f"DROP SCHEMA {schema} CASCADE;")
    done = subprocess.run(["psql", "-qAtX", "-v", "ON_ERROR_STOP=1", "-d", url],
                          input="\n".join(lines), capture_output=True, text=True, check=False)
    check("plans of lists", done.returncode == 0, done.stderr)
    found = dict(re.findall(r"^@([\w-]+)\n(.*?)(?=^@|\Z)", done.stdout, re.M | re.S))
    check("there are lists", len(found) > 40, str(sorted(found)))
    for name, plan in found.items():
        check(f"{name} reads an index in its order",
              not re.search("Seq Scan|Bitmap|hashed SubPlan|^ *(->  )?Sort$", plan, re.M), plan)


def main():
    if not os.environ.get("FA_POSTGRES_URL"):
        skip("plans", "no PostgreSQL server")
        finish()
    few, many = plans(2000), plans(40000)
    with open(f"{ROOT}/docs/postgres-plans.md", encoding="utf-8") as file:
        told = re.findall(r"^## (\w+)", file.read(), re.M)
    equal("the page has every statement", sorted(told), sorted(few))
    for name, plan in many.items():
        check(f"{name} reads no table whole", "Seq Scan" not in plan, plan)
        # An index may have grown by a level, which costs a page for each row of the batch.
        check(f"{name} reads as much as with few", pages(plan) < pages(few[name]) * 1.6 + 50,
              few[name] + plan)
    explain_ones()
    explain_lists()
    finish()


if __name__ == "__main__":
    main()
