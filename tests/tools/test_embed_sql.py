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
enum {{ FA_STMT_CHANGES = 1, FA_STMT_MANY_ROWS = 2, FA_STMT_MANY_KEYS = 4 }};
#define SHOW({names}) printf("{form}\\n~\\n", {values});
int main(void) {{ {macro}(SHOW) return 0; }}
""")
    subprocess.run(["cc", "-std=c11", "-trigraphs", "-w", program, "-o", f"{temp}/show"], check=True)
    out = subprocess.run([f"{temp}/show"], check=True, capture_output=True).stdout.decode("utf-8")
    return [row for row in out.split("\n~\n") if row]


STATEMENT = ("name", "text", "int") + ("text",) * 7
NONE = "(null)"
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
      ["ODD|odd|0|SELECT '\"\\n\\\\', '??(', 'ä', '\t', '%d';|(null)|"
       "SELECT '\"\\n\\\\', '??(', 'ä', '\t', '%d';|(null)|(null)|(null)||",
       "TASK_GET|task_get|0|SELECT *\n  FROM task\n WHERE key = ?1; -- one row|(null)|"
       "SELECT *\n  FROM task\n WHERE key = $1; -- one row|(null)|(null)|(null)|.|"])

for folder in ("sqlite", "postgres"):
    os.makedirs(f"{temp}/{folder}/queries")
one_db = write("sqlite/queries/one_db.sql", "-- One.\nSELECT ?1\n")
keys = write("sqlite/queries/keys.sql", "-- One.\nSELECT ?1\n")
pg_keys = write("postgres/queries/keys.sql",
                "-- Finds tasks.\n-- @many keys\n-- @lock s\nSELECT s.id AS key, s.n\nFROM task s\n"
                "WHERE s.id = ANY ($1::bigint[])\n")
pg_rows = write("postgres/queries/pg_rows.sql",
                "-- Finds tasks.\n-- @many rows\n-- @lock mark\nSELECT * FROM unnest($1::bigint[], "
                "$2::text[])\nWITH ORDINALITY AS p /* lock */\n")
only = write("postgres/queries/only.sql", "-- One.\nSELECT $3, $1\n")
equal("both", embed("statements", one_db, keys, pg_keys, pg_rows, only), (0, ""))
KEYS = "SELECT s.id AS key, s.n\nFROM task s\nWHERE s.id = ANY ($1::bigint[])"
ROWS = "SELECT * FROM unnest($1::bigint[], $2::text[])\nWITH ORDINALITY AS p "
ONE_ROW = "SELECT * FROM (VALUES ($1::bigint, $2::text, 1::bigint)) AS p "
equal("each database has its own text, and PostgreSQL's has forms and types",
      rows("FA_SQL_LIST", STATEMENT),
      ["|".join(row) + "|" for row in (
          ("KEYS", "keys", "4", "SELECT ?1", NONE, KEYS,
           KEYS + "\nORDER BY s.id DESC\nFOR UPDATE OF s", NONE, NONE, "i"),
          ("ONE_DB", "one_db", "0", "SELECT ?1", NONE, NONE, NONE, NONE, NONE, ""),
          ("ONLY", "only", "0", NONE, NONE, "SELECT $3, $1", NONE, NONE, NONE, ".-."),
          ("PG_ROWS", "pg_rows", "2", NONE, NONE, ROWS + "/* lock */", ROWS + "FOR UPDATE",
           ONE_ROW + "/* lock */", ONE_ROW + "FOR UPDATE", "it"))])

INSERT = "INSERT INTO t (a, b)\nVALUES (?1,\n        ?2)"
put = write("put.sql", f"-- Stores.\n-- @repeat\n-- @changes\n{INSERT}\n")
equal("an insert", embed("statements", put), (0, ""))
equal("an insert has a text to be repeated, and changes something",
      rows("FA_SQL_LIST", STATEMENT),
      ["|".join(("PUT", "put", "1", INSERT, INSERT.replace("INSERT", "INSERT OR FAIL"),
                 INSERT.replace("?", "$"), NONE, NONE, NONE, "..")) + "|"])

ARRAYS = "a statement with a parameter that is an array has @many rows, @many keys or @array, " \
         "and no other has"
CHANGES = "it inserts, updates or deletes rows"
PLAIN = "it inserts all its parameters as they are"
for name, text, wanted in (
        ("a.sql", "-- @rows\nSELECT 1", "@rows is no annotation of such a statement"),
        ("a.sql", "-- @many keys\nSELECT 1", "@many keys is no annotation of such a statement"),
        ("sqlite/queries/a.sql", "-- @changes\nUPDATE t",
         "@changes is no annotation of such a statement"),
        ("a.sql", "UPDATE t", f"@changes is missing: {CHANGES}"),
        ("postgres/queries/a.sql", "WITH x AS (\nDELETE FROM t)", f"@changes is missing: {CHANGES}"),
        ("a.sql", "-- @changes\nSELECT 1 FOR UPDATE",
         f"@changes is wrong: it is not so that {CHANGES}"),
        ("sqlite/queries/a.sql", "INSERT OR IGNORE INTO t VALUES (?1, ?2)",
         f"@repeat is missing: {PLAIN}"),
        ("sqlite/queries/a.sql", "-- @repeat\nINSERT INTO t VALUES (?2, ?1)",
         f"@repeat is wrong: it is not so that {PLAIN}"),
        ("sqlite/queries/a.sql", "-- @repeat\nINSERT INTO t VALUES (?1) ON CONFLICT DO NOTHING",
         f"@repeat is wrong: it is not so that {PLAIN}"),
        ("postgres/queries/a.sql", "SELECT * FROM unnest($1::bigint[])", ARRAYS),
        ("postgres/queries/a.sql", "-- @many rows\n-- @many keys\nSELECT $1::text[]", ARRAYS),
        ("postgres/queries/a.sql", "-- @many rows\nSELECT $1", ARRAYS),
        ("postgres/queries/a.sql", "-- @many rows\nSELECT * FROM t WHERE a = ANY ($1::bigint[])",
         "@many rows needs unnest($1::...) once"),
        ("postgres/queries/a.sql", "-- @many rows\nSELECT $2 FROM unnest($1::bigint[])",
         "a statement for many rows needs the type of each parameter: $1::bigint[]"),
        ("postgres/queries/a.sql", "-- @many keys\nSELECT * FROM unnest($1::bigint[])",
         "@many keys needs ANY ($1::bigint[]), and no other parameter"),
        ("postgres/queries/a.sql", "-- @many keys\nSELECT id FROM t WHERE id = ANY ($1::bigint[])",
         "the first column of a statement with @many keys is named `key`"),
        ("postgres/queries/a.sql", "-- @lock s\nSELECT 1", "@lock s needs a table with the alias `s`"),
        ("postgres/queries/a.sql", "SELECT 1 /* lock */",
         "@lock mark is missing: it has /* lock */")):
    code, message = embed("statements", write(name, f"-- A.\n{text}\n"))
    check(f"{text!r} is refused", code == 1, code)
    equal(f"{text!r} is refused with a sentence", message, f"{name}: {wanted}")

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
        ("0001_note.sql", "migrations", "-- A.\n-- @changes\nSELECT 1;\n",
         "a migration has no annotations"),
        ("0002_gap.sql", "migrations", "-- A.\nSELECT 1;\n", "migration 0001 was expected here")):
    code, message = embed(kind, write(name, text))
    check(f"{name} is refused", code == 1, code)
    equal(f"{name} is refused with a sentence", message, f"{name}: {wanted}")
finish()
