#!/usr/bin/env python3
"""Document 000 ("Persistência de Tasks"): what it says about SQL, migrations and variables.

Each test runs on SQLite, read with SQLite's own library, and on PostgreSQL, read with psql.
"""
import glob
import json
import os
import re
import sqlite3
import subprocess
import sys
import urllib.parse
import uuid

ROOT = os.environ.get("FA_SOURCE_ROOT") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "server"))
from helper_server import equal, is_true, run  # noqa: E402  pylint: disable=wrong-import-position


def is_postgres(place):
    return place.url.startswith("postgres")


def split(url):
    """A URL of libpq's, and the schema."""
    return re.sub(r"[?&]schema=\w+", "", url), re.search(r"schema=(\w+)", url)[1]


def psql(place, text, code=0):
    url, schema = split(place.url)
    done = subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", url], text=True,
                          input=f"SET search_path = {schema}; {text}", capture_output=True, check=False)
    is_true((done.returncode == 0) == (code == 0), text, done.stderr)
    return done.stdout.strip() if code == 0 else done.stderr


def query(place, text):
    """The rows of a query, each a list of texts."""
    if is_postgres(place):
        return [line.split("|") for line in psql(place, text).splitlines()]
    with sqlite3.connect(f"file:{place.path('faina.db')}?mode=ro", uri=True) as db:
        return [["" if value is None else str(value) for value in row] for row in db.execute(text)]


def columns(place, view):
    if is_postgres(place):
        return dict(query(place, "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute "
                                 f"WHERE attrelid = '{view}'::regclass AND attnum > 0 ORDER BY attnum"))
    return {row[1]: row[2] for row in query(place, f"PRAGMA table_info({view})")}


VIEWS = {
    "tasks": "id namespace type name status state progress priority input output error metadata spec "
             "idempotency_key input_hash attempts max_attempts run_at worker_id lease_expires_at "
             "parent_id resources team_id created_by expires_at version fence created_at updated_at "
             "claimed_at started_at completed_at deleted_at depends_on task_group",
    "task_events": "id task_id what status state detail actor worker_id created_at",
    "task_results": "task_id payload created_at",
    "task_deps": "task_id depends_on",
    "resources": "name max_concurrency in_use",
    "workers": "id hostname started_at last_heartbeat pool_size types services version is_leader "
               "leader_until held",
    "schema_migrations": "id description executed_at",
}


def test_the_views_are_on_both_engines(place):
    place.serve()
    for view, names in VIEWS.items():
        equal(sorted(columns(place, view)), sorted(names.split()), view)


def test_types_of_columns(place):
    if not is_postgres(place):
        return
    place.serve()
    for view in ("tasks", "task_events", "task_results", "task_joins", "workers"):
        for name, kind in columns(place, view).items():
            is_true(kind != "json", view, name)
            is_true(not name.endswith("_at") or kind == "timestamp with time zone", view, name, kind)
            is_true(re.fullmatch("[a-z_]+", name) and name not in ("join", "order", "user"), view, name)
            if name == "id" and view != "workers" or name in ("task_id", "parent_id", "team_id"):
                equal(kind, "uuid", view, name)
    equal({name for name, kind in columns(place, "tasks").items() if kind == "jsonb"},
          {"input", "output", "error", "metadata", "spec", "resources", "depends_on"})


def test_rows_of_a_task(place):
    """tasks, task_events and task_results; metadata is {} and never null."""
    server = place.serve()
    task = server.held(metadata=None, input={"a": [1]})["id"]
    server.act(task, "complete", workerId="w", output={"path": "/out"})
    state, metadata = query(place, f"SELECT state, metadata FROM tasks WHERE id = '{task}'")[0]
    equal((state, metadata), ("Completed", "{}"))
    payload = query(place, f"SELECT payload FROM task_results WHERE task_id = '{task}'")[0][0]
    equal(json.loads(payload), {"path": "/out"})
    rows = query(place, f"SELECT id, what, state, actor FROM task_events WHERE task_id = '{task}'")
    told = server("GET", f"/tasks/{task}/events", status=200).json()["items"]
    equal(sorted(row[:3] for row in rows), sorted([e["id"], e["event"], e["state"]] for e in told))
    equal(len({uuid.UUID(row[0]) for row in rows}), len(rows))
    equal(sorted(row[3] for row in rows), ["API", "WORKER", "WORKER", "WORKER"])
    is_true(all(row[2] for row in rows), rows)


def test_event_ids_are_unique(place):
    server = place.serve()
    for _ in range(20):
        server.act(server.held()["id"], "complete", workerId="w")
    ids = [row[0] for row in query(place, "SELECT id FROM task_events")]
    equal((len(set(ids)), len(ids)), (80, 80))


def test_one_task_is_read_by_its_index(place):
    if not is_postgres(place):
        return
    server = place.serve()
    tasks = [server.submit(priority=i % 3, input={"n": i})["id"] for i in range(20)]
    needed = server.submit(dependsOn=[tasks[0]])["id"]
    server.act(tasks[1], "cancel")
    for i, task in enumerate(tasks):
        equal(query(place, f"SELECT id, input->'n', status FROM task('{task}')"),
              [[task, str(i), "cancelled" if i == 1 else "pending"]])
    equal(query(place, f"SELECT status, depends_on->>0 FROM task('{needed}')"), [["blocked", tasks[0]]])
    whole = psql(place, f"SELECT * FROM tasks WHERE id = '{tasks[1]}'")
    equal(psql(place, f"SELECT * FROM task('{tasks[1]}')"), whole)
    equal(psql(place, f"SELECT * FROM task_events('{tasks[1]}')"),
          psql(place, f"SELECT * FROM task_events WHERE task_id = '{tasks[1]}' ORDER BY created_at DESC"))
    equal(query(place, f"SELECT * FROM task('{uuid.uuid4()}')"), [])
    equal(query(place, f"SELECT * FROM task('{tasks[0][:-1]}{(int(tasks[0][-1], 16) + 1) % 16:x}')"), [])
    for function in ("task", "task_events"):
        plan = psql(place, "SET enable_seqscan = off; EXPLAIN (COSTS off) SELECT * FROM "
                           f"{function}('{tasks[0]}')")
        is_true("Index Cond" in plan and "Seq Scan" not in plan, plan)


def test_numbers_that_jsonb_does_not_have(place):
    server = place.serve()
    task = server("POST", "/tasks", b'{"type":"t","input":{"n":1e999999}}', 201).json()["id"]
    text = query(place, f"SELECT input FROM tasks WHERE id = '{task}'")[0][0]
    is_true("1e999999" in text, text)


def test_changes_of_the_view_are_refused_with_a_hint(place):
    server = place.serve()
    task = server.submit()["id"]
    changes = ("INSERT INTO tasks (type, idempotency_key) VALUES ('email:send', 'email-user-123')",
               f"UPDATE tasks SET priority = 3 WHERE id = '{task}'", f"DELETE FROM tasks WHERE id = '{task}'")
    if is_postgres(place):
        told = [psql(place, change, code=1) for change in changes]
        is_true("submit('email:send', key => 'email-user-123')" in told[0], told[0])
    else:
        server.stop() # only the owner may write
        told = []
        with sqlite3.connect(place.path("faina.db")) as db:
            for change in changes:
                try:
                    db.execute(change)
                    told.append("nothing")
                except sqlite3.IntegrityError as error:
                    told.append(str(error))
        is_true("faina submit" in told[0], told[0])
    is_true(all("tasks is a view" in text for text in told), told)
    equal(query(place, "SELECT count(*), min(priority) FROM tasks"), [["1", "0"]])


def test_insert_with_submit(place):
    """The document's INSERT ... ON CONFLICT is a call of submit."""
    if not is_postgres(place):
        return
    server = place.serve()
    call = ("SELECT submit('email:send', '{\"to\": \"user@example.com\"}', key => 'email-user-123', "
            "priority => 2147483647)")
    first = psql(place, call)
    equal(psql(place, call), first)
    equal(server.get(first)["priority"], 2147483647)
    is_true("2147483647" in psql(place, "SELECT submit('x', priority => -2147483648)", code=1))


def test_migrations_by_hand_list_themselves(place):
    if not is_postgres(place):
        return
    url, schema = split(place.url)
    env = {**os.environ, "PGOPTIONS": f"-c search_path={schema} -c client_min_messages=warning"}
    paths = sorted(glob.glob(f"{ROOT}/src/store/db/postgres/migrations/*.sql"))
    subprocess.run(["psql", "-Xq", url, "-c", f"CREATE SCHEMA {schema}"], check=True)
    for path in paths:
        done = subprocess.run(["psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-1", "-f", path, url], env=env,
                              capture_output=True, text=True, check=False)
        equal(done.returncode, 0, path, done.stderr)
    by_hand = query(place, "SELECT id, description FROM schema_migrations ORDER BY id")
    equal([row[0] for row in by_hand], [os.path.basename(path)[:-4] for path in paths])
    for path, row in zip(paths, by_hand):
        with open(path, encoding="utf-8") as file:
            equal(row[1], file.readline()[2:].strip(), path)
    server = place.serve()
    equal(query(place, "SELECT id, description FROM schema_migrations ORDER BY id"), by_hand)
    server.act(server.held()["id"], "complete", workerId="w")


def test_a_missing_step_is_told(place):
    if not is_postgres(place):
        return
    _, schema = split(place.url)
    psql(place, f"CREATE SCHEMA {schema}")
    with open(f"{ROOT}/src/store/db/postgres/migrations/0016_views.sql", encoding="utf-8") as file:
        error = psql(place, file.read(), code=1)
    is_true("step 0001 was not applied" in error, error)
    psql(place, f"DROP SCHEMA {schema}")


def test_what_only_reads_creates_nothing(place):
    place.faina("doctor", code=1)
    for command in (["db", "status"], ["ls"], ["stats"], ["worker-list"]):
        done = place.faina(*command, code=6)
        is_true("there is no store" in done.stderr, command, done.stderr)
    if is_postgres(place):
        url, schema = split(place.url)
        found = subprocess.run(["psql", "-XAtq", url, "-c", "SELECT count(*) FROM pg_namespace WHERE "
                                f"nspname = '{schema}'"], capture_output=True, text=True, check=True)
        equal(found.stdout.strip(), "0")
    equal(os.listdir(place.folder), [])


def test_variables(place):
    """DB_* names the database, each variable else the one with the prefix API_PG_; then DATABASE_URL."""
    if not is_postgres(place):
        return
    url, schema = split(place.url)
    parts = urllib.parse.urlsplit(url)
    host = parts.hostname or urllib.parse.parse_qs(parts.query)["host"][0]
    values = {"HOST": host, "PORT": str(parts.port or 5432), "NAME": parts.path.strip("/"),
              "USER": parts.username or "", "PASSWORD": parts.password or "", "SCHEMA": schema}
    values = {name: value for name, value in values.items() if value}
    mixed = {("DB_" if i % 2 else "API_PG_DB_") + name: value for i, (name, value) in enumerate(values.items())}
    server = place.serve()
    task = server.submit()["id"]
    for env in ({f"DB_{name}": value for name, value in values.items()}, mixed,
                {"DATABASE_URL": url, "DB_SCHEMA": schema}, {"DATABASE_URL": place.url}):
        equal(json.loads(place.faina("get", task, env={"FAINA_URL": "", **env}).stdout)["id"], task)
    with open(place.path("secret"), "w", encoding="utf-8") as file:
        file.write(place.url + "\n")
    done = place.faina("get", task, env={"FAINA_URL": "", "DATABASE_URL_FILE": "secret"})
    equal(json.loads(done.stdout)["id"], task)


def test_the_source_is_logged(place):
    server = place.serve()
    entry = server.log("using the engine")[0]
    equal(entry["from"], "--url")
    password = urllib.parse.urlsplit(place.url).password
    is_true(not password or password not in json.dumps(entry), entry)


def test_list_by_updated_at(place):
    server = place.serve()
    tasks = [server.submit()["id"] for _ in range(5)]
    server.act(tasks[0], "cancel")

    def listed(params):
        found = server("GET", f"/tasks?{params}", status=200).json()["items"]
        return [task["id"] for task in found]

    equal(listed("sort=updatedAt"), [tasks[0]] + tasks[:0:-1])
    equal(listed("sort=updatedAt&order=asc"), tasks[1:] + [tasks[0]])
    equal(listed("sort=updatedAt&status=cancelled"), [tasks[0]])
    since = server.get(tasks[0])["updatedAt"]
    equal(listed(f"sort=updatedAt&updatedAfter={since}"), [tasks[0]])
    equal(listed(f"updatedBefore={since}"), tasks[:0:-1])
    for bad in ("sort=size", "sort=x", "order=up&sort=updatedAt", "order=up", "updatedAfter=now",
                "sort=updatedAt&cursor=abc"):
        equal(server("GET", f"/tasks?{bad}", status=400).code(), "invalid_request", bad)
    rows = json.loads(place.faina("ls", "--sort", "updatedAt", "--order", "asc").stdout)["items"]
    equal([task["id"] for task in rows], tasks[1:] + [tasks[0]])
    rows = json.loads(place.faina("ls", "--updated-after", since).stdout)["items"]
    equal([task["id"] for task in rows], [tasks[0]])
    place.faina("ls", "--sort", "size", code=2)


def test_a_request_reads_a_bounded_number_of_rows(place):
    """A filter that nothing matches gives pages without tasks, each with a cursor but the last."""
    server = place.serve()
    for _ in range(3):
        lines = b"".join(b'{"type":"t%d"}\n' % (i % 7) for i in range(10000))
        server("POST", "/tasks:batch", lines, 200, Content_Type="application/x-ndjson")
    for params in ("createdBy=nobody", "updatedBefore=2000-01-01T00:00:00Z", "teamId=" + str(uuid.uuid4()),
                   "sort=updatedAt&status=pending&parentId=0190c4a2-6f1e-7b3d-8a5c-1f2e3d4c5b6a"):
        cursor, pages, found = "", 0, 0
        while cursor is not None:
            more = "&cursor=" + cursor if cursor else ""
            page = server("GET", f"/tasks?limit=5&{params}{more}", status=200).json()
            found += len(page["items"])
            pages += 1
            cursor = page["nextCursor"]
            is_true(pages < 20, params)
        equal(found, 0, params)
    equal(len(server("GET", "/tasks?sort=updatedAt&limit=1000", status=200).json()["items"]), 1000)


if __name__ == "__main__":
    run(globals(), on_postgres=True)
