#!/usr/bin/env python3
"""tools/explain-postgres runs, and no hot statement reads a table whole or more with more waiting."""
import os
import re
import subprocess
import sys

ROOT = os.environ.get("FA_SOURCE_ROOT") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from checks import check, equal, finish, skip  # noqa: E402  pylint: disable=wrong-import-position


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
    finish()


if __name__ == "__main__":
    main()
