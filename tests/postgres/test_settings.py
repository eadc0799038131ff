#!/usr/bin/env python3
"""Roles, databases and URLs that are not as one would wish."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from helper_place import ADMIN, Place, start  # noqa: E402  pylint: disable=wrong-import-position
from checks import check, equal, finish, skip  # noqa: E402

# All of them at once: none may reach the engine.
SETTINGS = (
    "DateStyle = 'German, DMY'", "TimeZone = 'America/Sao_Paulo'", "client_encoding = 'LATIN1'",
    "IntervalStyle = 'sql_standard'", "bytea_output = 'escape'", "extra_float_digits = -10",
    "standard_conforming_strings = off", "search_path = ''", "array_nulls = off",
    "default_transaction_isolation = 'serializable'", "default_transaction_deferrable = on",
    "synchronous_commit = off", "statement_timeout = '1ms'", "lock_timeout = '1ms'",
    "idle_session_timeout = '1s'", "idle_in_transaction_session_timeout = '1ms'",
    "escape_string_warning = off",
)
# What counts in each of our sessions, as PostgreSQL writes it.
WANTED = {"synchronous_commit": "on", "standard_conforming_strings": "on",
          "idle_session_timeout": "0", "lock_timeout": "10s", "search_path": '"faina"'}


def see_settings(place):
    """What a writing transaction runs with, by a trigger."""
    said = place.psql(f"""CREATE TABLE public.seen (name text, value text);
        CREATE FUNCTION public.see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO public.seen SELECT n, current_setting(n)
            FROM pg_catalog.unnest('{{{",".join(WANTED)}}}'::text[]) AS n; RETURN NULL; END $$;
        CREATE TRIGGER see AFTER INSERT ON faina.task
        FOR EACH ROW EXECUTE FUNCTION public.see()""")
    equal("the trigger", said, "")


def test_a_role_with_odd_settings():
    with Place() as place:
        place.admin("GRANT CREATE ON SCHEMA public TO PUBLIC", place.name)
        for setting in SETTINGS:
            place.set(setting)
        equal("migrate", place.faina("db", "migrate")[0::2], (0, ""))
        see_settings(place)
        _, task, said = place.faina("submit", "x", '{"a":"\u20ac \\\\ \U0001f600"}', "--delay", "1s",
                                    "--key", "k")
        check("submit", len(task) == 36, said)
        seen = place.psql("SELECT name, value FROM public.seen")
        equal("our settings", dict(row.split("|") for row in seen.split("\n")), WANTED)
        code, out, said = place.faina("worker", "--handlers", place.handlers(), "--idle-exit", "3s")
        equal("a worker that sleeps longer than sessions may", code, 0)
        check("... does what is due", "1 completed" in said, out + said)
        equal("the task", place.faina("get", task)[0::2], (0, ""))
        equal("doctor", place.faina("doctor")[0], 0)
        # The role's own session, where a backslash in a string is not what it seems.
        said = place.psql("SELECT existing FROM faina.submit_many("
                          "'[{\"type\": \"x\", \"idempotencyKey\": \"k\"}, "
                          "{\"type\": \"x\", \"runAt\": \"2026-01-02T03:04:05.123456789Z\"}]')")
        equal("submit_many", said, "t\nf")
        equal("its time", place.psql("SELECT extract(epoch FROM run_at) FROM "
                                     "faina.tasks WHERE idempotency_key IS NULL"),
              "1767323045.123456")


def test_who_only_looks():
    """grant_read is enough to read the views, with rows in all of them."""
    with Place() as place:
        other = f"{place.name}_other"
        place.faina("db", "migrate")
        place.faina("heartbeat", "--worker", "w")
        first = place.faina("submit", "x", "--resource", "r")[1]
        place.faina("submit", "y", "--depends-on", first)
        place.faina("claim", first, "--worker", "w")
        place.faina("complete", first, "1", "--worker", "w")
        place.admin(f"CREATE ROLE {other} LOGIN PASSWORD 'secret'")
        place.psql("INSERT INTO faina.worker (id, started_us, last_heartbeat_us, pool_size, node) "
                   "VALUES ('w-1-1', 0, 0, 1, 'w-1-2'); INSERT INTO faina.leader VALUES (true, 'w-1-2', 9, "
                   "faina.clock_us() + 60000000, 'v') ON CONFLICT (one) DO UPDATE SET holder = "
                   "'w-1-2', until_us = excluded.until_us")
        place.psql(f"SELECT faina.grant_read('{other}')")
        for view in ("tasks", "task_events", "task_results", "task_deps", "resources", "workers"):
            said = place.psql(f"SELECT count(x::text) > 0 FROM faina.{view} AS x", other)
            equal(f"the view {view}", said, "t")
        equal("what a task waits for", place.psql("SELECT type, depends_on FROM faina.tasks ORDER BY 1",
                                                  other), f'x|[]\ny|["{first}"]')
        equal("who leads", place.psql("SELECT is_leader FROM faina.workers WHERE id = 'w-1-1'",
                                      other), "t")
        place.admin(f"DROP OWNED BY {other}; DROP ROLE {other}", place.name)


def test_what_reads_everything_takes_its_time():
    """The audit of a large store is longer than a statement may be. Here it waits for a lock."""
    with Place() as place:
        place.faina("submit", "x", "--key", "k")
        holder = start(["psql", "-XAtq", place.url()], "BEGIN; LOCK TABLE faina.task_key;\n"
                       "\\echo locked\nSELECT pg_sleep(2);\n")
        holder.stdout.readline()
        code, out, said = place.faina("doctor", "-o", "table", url=place.url() +
                                      "?options=-cstatement_timeout%3D500")
        holder.wait()
        equal("doctor", code, 0)
        check("doctor looked at it", "sound: nothing was found wrong" in out, out + said)


def test_options_of_the_environment():
    with Place() as place:
        place.admin("GRANT CREATE ON SCHEMA public TO PUBLIC", place.name)
        equal("migrate", place.faina("db", "migrate")[0], 0)
        see_settings(place)
        place.faina("submit", "x", PGOPTIONS="-c lock_timeout=7s -c search_path=public")
        equal("PGOPTIONS counts, but for the schema",
              place.psql("SELECT value FROM public.seen WHERE name IN ('lock_timeout', "
                         "'search_path') ORDER BY name"), '7s\n"faina"')


def test_schema_names():
    with Place() as place:
        for name in ("a%20b", "It%27s", "a.b", "SELECT", "%C3%A9", "%24%24", "x" * 63, "a%3B--"):
            url = f"{place.url()}?schema={name}"
            equal(f"{name} is made", place.faina("db", "migrate", url=url)[0::2], (0, ""))
            equal(f"{name} is used", place.faina("submit", "x", url=url)[0::2], (0, ""))
        for name in ("%24user", "x%09y", "x%0Ay", "a%22b", "a%2Cb", "a%5Cb", "pg_x", "x" * 64,
                     "%FF", "%7F"):
            code, _, said = place.faina("db", "migrate", url=f"{place.url()}?schema={name}")
            equal(f"{name} is refused", code, 2)
            check(f"{name}: with a sentence", "can't be the name of the schema" in said, said)


def test_a_flag_is_true_or_false():
    with Place() as place:
        for word, code in (("true", 0), ("1", 0), ("false", 0), ("0", 0), ("yes", 2), ("", 2)):
            url = f"{place.url()}?pooled={word}"
            equal(f"pooled={word}", place.faina("db", "migrate", url=url)[0], code)


def test_an_encoding_that_lacks_letters():
    for encoding in ("LATIN1", "SQL_ASCII"):
        how = f"ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        with Place(how) as place:
            code, _, said = place.faina("db", "migrate")
            check(f"{encoding} is refused", code != 0 and "ENCODING 'UTF8'" in said, (code, said))
            equal("nothing was made", place.psql("SELECT to_regnamespace('faina') IS NULL"), "t")


def test_a_role_that_may_not():
    """The sentence says what is missing, and not that something is damaged."""
    with Place() as place:
        other = f"{place.name}_other"
        place.admin(f"CREATE ROLE {other} LOGIN PASSWORD 'secret'")
        code, _, said = place.faina("db", "migrate", url=place.url(other))
        equal("no right to make a schema", code, 6)
        check("... who makes it", f"CREATE SCHEMA faina AUTHORIZATION {other}" in said, said)
        place.faina("db", "migrate")
        for grant in ("", f"GRANT USAGE ON SCHEMA faina TO {other}"):
            place.psql(grant)
            code, _, said = place.faina("ls", url=place.url(other))
            equal(f"no right in the schema {grant}", code, 6)
            check("... whose it is", f"belongs to {place.name}" in said, said)
        place.admin(f"DROP OWNED BY {other}; DROP ROLE {other}", place.name)


def main():
    if not ADMIN:
        skip("settings", "no PostgreSQL server")
        finish()
    for name, test in sorted(globals().items()):
        if name.startswith("test_") and (len(sys.argv) < 2 or name in sys.argv[1:]):
            test()
    finish()


if __name__ == "__main__":
    main()
