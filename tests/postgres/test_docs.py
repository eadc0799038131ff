#!/usr/bin/env python3
"""The SQL in docs/postgres.md does what the page says, run by the roles that it names."""
import os
import re
import secrets
import subprocess
import sys

ROOT = os.environ.get("FA_SOURCE_ROOT") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from checks import FAINA, check, equal, finish, skip  # noqa: E402  pylint: disable=wrong-import-position

ADMIN = os.environ.get("FA_POSTGRES_ADMIN_URL")
# Roles and databases are the server's: the page's names get an ending of this run's own.
ENDING = secrets.token_hex(4)
NAMES = {"faina": f"faina_{ENDING}", "shop": f"shop_{ENDING}"}


def blocks():
    """(role, database, text) of each block of SQL."""
    with open(f"{ROOT}/docs/postgres.md", encoding="utf-8") as file:
        text = file.read()
    found = re.findall(r"^```sql\n-- as (a superuser|\w+), in (\w+)\n(.*?)^```", text, re.M | re.S)
    check("each block says who runs it", len(found) == text.count("```sql"), text.count("```sql"))
    return found


def url(role, database):
    """A URL of libpq's."""
    base, _ = ADMIN.rsplit("/", 1)
    if role != "a superuser":
        base = re.sub(r"//[^@]*@", f"//{NAMES[role]}:secret@", base)
    return f"{base}/{NAMES.get(database, database)}"


def psql(role, database, text):
    done = subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", url(role, database)],
                          input=text, capture_output=True, text=True, check=False)
    check(f"{role}: {text.strip()[:60]}", done.returncode == 0, done.stderr)
    return done.stdout.strip().split("\n")


def rename(text):
    """Roles and databases, but not schemas."""
    for name, new in NAMES.items():
        text = re.sub(rf"\b(ROLE|DATABASE|OWNER|TO|AUTHORIZATION) {name}\b", rf"\1 {new}", text)
        text = re.sub(rf"\b(grant_submit\(')({name})'", rf"\1{new}'", text)
    return text


def faina(*args):
    done = subprocess.run([FAINA, "--url", url("faina", "faina"), *args], capture_output=True,
                          text=True, check=False)
    check(f"faina {args[0]}", done.returncode == 0, done.stdout + done.stderr)
    return done.stdout


def play():
    said = []
    for role, database, text in blocks():
        if role == "faina" and not any(name == "migrated" for name, _ in said):
            faina("db", "migrate")
            said.append(("migrated", []))
        said.append((role, psql(role, database, rename(text))))
    shop = [out for role, out in said if role == "shop"]
    equal("submit gives ids", len(shop[0]), 1)
    ids = dict(row.split("|", 1) for row in shop[1])
    equal("submit_many gives a row for each task", sorted(ids), ["1", "2", "3"])
    equal("a key that is taken is told", [ids[n].split("|")[1] for n in "123"], ["f", "t", "f"])
    order = psql("shop", "faina", "SELECT confirmation FROM shop.orders")[0]
    equal("the order has its task", order, ids["2"].split("|")[0])
    equal("tasks by status", psql("faina", "faina", "SELECT status, count(*) FROM faina.tasks "
                                                    "GROUP BY 1 ORDER BY 1"), ["pending|4"])
    refuse_more()
    tidy = faina("doctor", "-o", "table")
    check("doctor finds nothing wrong", "sound: nothing was found wrong" in tidy, tidy)


def refuse_more():
    """The rights are enough for every option, and no more than that: test_rights.py has the rest."""
    psql("shop", "faina", "SELECT faina.submit('x', depends_on => ARRAY[faina.submit('y')], "
                          "delay => '1 s', retry => '{\"base\": 1}')")
    for text in ("DELETE FROM faina.task", "UPDATE faina.task SET rank = 0",
                 "DELETE FROM faina.task_key", "TABLE faina.worker", "DROP TABLE faina.task",
                 "INSERT INTO faina.task DEFAULT VALUES", "TABLE faina.tasks",
                 "SELECT setval('faina.submit_key', 1)", "SELECT faina.grant_submit('x', '{*}')"):
        done = subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", url("shop", "faina")],
                              input=text, capture_output=True, text=True, check=False)
        is_refused = "permission denied" in done.stderr or "must be owner" in done.stderr
        check(f"refused: {text}", is_refused, done.stdout + done.stderr)


def main():
    if not ADMIN:
        skip("docs/postgres.md", "no PostgreSQL server")
        finish()
    try:
        play()
    finally:
        subprocess.run(["psql", "-XAtq", ADMIN], capture_output=True, text=True, check=False,
                       input=f"DROP DATABASE IF EXISTS {NAMES['faina']} WITH (FORCE);\n"
                             f"DROP ROLE IF EXISTS {NAMES['faina']};\n"
                             f"DROP ROLE IF EXISTS {NAMES['shop']};\n")
    finish()


if __name__ == "__main__":
    main()
