#!/usr/bin/env python3
"""tools/embed-sql: what goes in as SQL comes out as the same text in C."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
sys.dont_write_bytecode = True
from checks import ROOT, check, equal, finish  # noqa: E402

temp = tempfile.mkdtemp()


def write(name, text):
    path = os.path.join(temp, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def embed(kind, *paths):
    done = subprocess.run([f"{ROOT}/tools/embed-sql", kind, f"{temp}/out.h", *paths],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stderr.replace(temp + "/", "").strip()


def rows(macro, columns):
    """Compiles the header and prints each row: columns separated by |, a row per line of output."""
    form = "".join("%s|" if column != "int" else "%d|" for column in columns)
    names = ", ".join(f"c{i}" for i in range(len(columns)))
    values = ", ".join(f"#c{i}" if column == "name" else f"c{i}"
                       for i, column in enumerate(columns))
    program = write("show.c", f"""#include <stdio.h>
#include "out.h"
#define SHOW({names}) printf("{form}\\n~\\n", {values});
int main(void) {{ {macro}(SHOW) return 0; }}
""")
    subprocess.run(["cc", "-std=c11", "-trigraphs", "-w", program, "-o", f"{temp}/show"], check=True)
    out = subprocess.run([f"{temp}/show"], check=True, capture_output=True).stdout.decode("utf-8")
    return [row for row in out.split("\n~\n") if row]


STATEMENT = ("name", "text", "text", "text", "text")
MIGRATION = ("text", "text", "text")

equal("no statements", embed("statements"), (0, ""))
equal("no statements, no rows", rows("FA_SQL_LIST", STATEMENT), [])
equal("no migrations", embed("migrations"), (0, ""))
equal("no migrations, no rows", rows("FA_OUT_LIST", MIGRATION), [])

get = write("task_get.sql", "-- Finds a task.\n-- Index: primary key.\n\nSELECT *\n  FROM task\n"
                            " WHERE key = ?1; -- one row\n")
odd = write("odd.sql", "-- Odd bytes.\nSELECT '\"\\n\\\\', '??(', 'ä', '\t', '%d';\n")
equal("statements", embed("statements", get, odd), (0, ""))
equal("comment lines on top are left out, the rest stays, in the order of names",
      rows("FA_SQL_LIST", STATEMENT),
      ["ODD|odd|SELECT '\"\\n\\\\', '??(', 'ä', '\t', '%d';|"
       "SELECT '\"\\n\\\\', '??(', 'ä', '\t', '%d';||",
       "TASK_GET|task_get|SELECT *\n  FROM task\n WHERE key = ?1; -- one row|"
       "SELECT *\n  FROM task\n WHERE key = $1; -- one row|.|"])

os.makedirs(f"{temp}/postgres")
many = write("postgres/task_get.sql",
             "-- Finds tasks.\nSELECT * FROM unnest($1::bigint[], $2::text[]) WHERE $1 IS NULL\n")
only = write("postgres/only.sql", "-- One.\nSELECT $3, $1\n")
equal("both", embed("statements", get, many, only), (0, ""))
equal("PostgreSQL has its own text, and the types of its parameters",
      rows("FA_SQL_LIST", STATEMENT),
      ["ONLY|only|(null)|SELECT $3, $1|.-.|",
       "TASK_GET|task_get|SELECT *\n  FROM task\n WHERE key = ?1; -- one row|"
       "SELECT * FROM unnest($1::bigint[], $2::text[]) WHERE $1 IS NULL|it|"])

one = write("0001_start.sql", "-- The first \"tables\".\nCREATE TABLE a (b);\n")
two = write("0002_more.sql", "-- More.\nCREATE TABLE c (d);\n\nCREATE TABLE e (f);\n")
equal("migrations", embed("migrations", two, one), (0, ""))
equal("migrations come in order, with their description",
      rows("FA_OUT_LIST", MIGRATION),
      ["0001_start|The first \"tables\".|CREATE TABLE a (b);|",
       "0002_more|More.|CREATE TABLE c (d);\nCREATE TABLE e (f);|"])

for name, kind, text, wanted in (
        ("bare.sql", "statements", "SELECT 1;\n", "no comment at the top that tells what it does"),
        ("empty.sql", "statements", "-- Nothing.\n", "no statement"),
        ("Upper.sql", "statements", "-- A.\nSELECT 1;\n",
         "a statement's file is named in lower case, such as task_insert.sql"),
        ("2_x.sql", "migrations", "-- A.\nSELECT 1;\n",
         "a migration's file is named like 0001_start.sql"),
        ("0002_gap.sql", "migrations", "-- A.\nSELECT 1;\n", "migration 0001 was expected here")):
    code, message = embed(kind, write(name, text))
    check(f"{name} is refused", code == 1, code)
    equal(f"{name} is refused with a sentence", message, f"{name}: {wanted}")
finish()
