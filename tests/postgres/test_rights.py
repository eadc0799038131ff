#!/usr/bin/env python3
"""Rights on PostgreSQL: a role that may submit in SQL, and one that may read, can do that and nothing
else. Every object of the schema is attacked, as the catalogs list them."""
import contextlib
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from helper_place import ADMIN, ROOT, Place, run  # noqa: E402  pylint: disable=wrong-import-position
from checks import check, equal, finish, skip  # noqa: E402

MIGRATIONS = sorted(glob.glob(f"{ROOT}/src/store/db/postgres/migrations/*.sql"))
PUBLIC_FUNCTIONS = {"submit", "submit_many", "emit"}
READ_VIEWS = {"tasks", "task_events", "task_results", "task_deps", "task_joins", "resources",
              "workers", "tasks_by_key", "task_events_by_key", "join_rounds", "task_task_dep",
              "task_resource", "task_resource_dep", "node"}
READ_FUNCTIONS = {"task_uuid", "us_to_time", "clock_us", "as_jsonb", "event_uuid", "task_key_of", "task",
                  "task_events"}
# Rights that docs/postgres.md asked for before grant_submit existed.
OLD_GRANTS = """GRANT USAGE ON SCHEMA faina TO {0};
GRANT SELECT, INSERT ON faina.lane, faina.task, faina.task_key TO {0};
GRANT INSERT ON faina.ready, faina.parked, faina.task_dep, faina.tally, faina.log TO {0};
GRANT SELECT ON faina.task_standing, faina.team TO {0};
GRANT USAGE, UPDATE ON SEQUENCE faina.submit_key TO {0};"""

# {0}: the object, {1}: one of its columns, {2}: the role, in whose schema it may do anything.
ON_READ = ("SELECT FROM {0}", "COPY (TABLE {0}) TO STDOUT")
ON_TABLE = ("SELECT FROM {0} FOR SHARE", "SELECT FROM {0} FOR UPDATE", "INSERT INTO {0} DEFAULT VALUES",
            "DELETE FROM {0}", "TRUNCATE {0}", "LOCK TABLE {0} IN SHARE UPDATE EXCLUSIVE MODE",
            "LOCK TABLE {0} IN ROW EXCLUSIVE MODE",
            "LOCK TABLE {0} IN ACCESS EXCLUSIVE MODE", "CREATE TABLE {2}.l (LIKE {0})",
            "ALTER TABLE {0} ADD COLUMN hacked integer",
            "CREATE TRIGGER hacked BEFORE INSERT ON {0} EXECUTE FUNCTION {2}.hook()",
            "CREATE RULE hacked AS ON INSERT TO {0} DO ALSO SELECT 1",
            "CREATE POLICY hacked ON {0}", "ALTER TABLE {0} OWNER TO {2}", "DROP TABLE {0}",
            "COMMENT ON TABLE {0} IS 'x'", "REINDEX TABLE {0}", "CLUSTER {0}")
ON_COLUMN = ("UPDATE {0} SET {1} = {1}", "CREATE INDEX ON {0} ({1})",
             "MERGE INTO {0} x USING (VALUES (1)) v (n) ON true WHEN MATCHED THEN DELETE")
ON_KEY = ("CREATE TABLE {2}.k (a bigint REFERENCES {0})",)
ON_PLAIN = ("CREATE TABLE {2}.i () INHERITS ({0})",)
ON_JOIN = ("INSERT INTO {0} DEFAULT VALUES", "DELETE FROM {0}")
ON_VIEW = (*ON_JOIN, "DROP VIEW {0}",
           "ALTER VIEW {0} OWNER TO {2}", "LOCK TABLE {0} IN ACCESS EXCLUSIVE MODE")
ON_SEQUENCE = ("SELECT nextval('{0}')", "SELECT setval('{0}', 1)", "SELECT currval('{0}')",
               "SELECT FROM {0}", "ALTER SEQUENCE {0} RESTART", "DROP SEQUENCE {0}")
ON_INDEX = ("DROP INDEX {0}", "REINDEX INDEX {0}", "ALTER INDEX {0} RENAME TO hacked")
ON_FUNCTION = ("ALTER FUNCTION {0} SECURITY INVOKER", "ALTER FUNCTION {0} RESET ALL",
               "ALTER FUNCTION {0} OWNER TO {2}", "DROP FUNCTION {0}")
ON_TYPE = ("CREATE TABLE {2}.t (a {0})", "CREATE TABLE {2}.t (a {0}[])",
           "CREATE FUNCTION {2}.f({0}) RETURNS integer LANGUAGE sql AS 'SELECT 1'")
ON_SCHEMA = ("CREATE TABLE faina.hacked ()", "CREATE VIEW faina.hacked AS SELECT 1",
             "CREATE FUNCTION faina.hacked() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
             "CREATE OPERATOR faina.= (FUNCTION = {2}.same, LEFTARG = text, RIGHTARG = text)",
             "CREATE TYPE faina.hacked AS (a integer)", "DROP SCHEMA faina CASCADE",
             "ALTER SCHEMA faina RENAME TO hacked", "ALTER TABLE {2}.own SET SCHEMA faina",
             "ALTER DEFAULT PRIVILEGES FOR ROLE {owner} GRANT ALL ON TABLES TO {2}",
             "SET ROLE {owner}", "SELECT set_config('role', '{owner}', false)",
             "SET SESSION AUTHORIZATION {owner}", "SET session_replication_role = replica",
             "ALTER ROLE {owner} PASSWORD 'x'", "GRANT {owner} TO {2}")


class Roles(Place):
    """A migrated place, and roles with schemas of their own that go with it."""

    def __init__(self):
        super().__init__()
        self.roles = []

    def __enter__(self):
        super().__enter__()
        code, _, said = self.faina("db", "migrate")
        equal("migrate", (code, said), (0, ""))
        return self

    def __exit__(self, *why):
        for role in reversed(self.roles):
            self.admin(f"DROP OWNED BY {role} CASCADE", self.name)
        for role in reversed(self.roles):
            self.admin(f"DROP ROLE {role}")
        super().__exit__(*why)

    def role(self, name, more=""):
        role = f"{self.name}_{name}"
        self.admin(f"CREATE ROLE {role} LOGIN PASSWORD 'secret' {more};"
                   f"CREATE SCHEMA {role} AUTHORIZATION {role}", self.name)
        self.roles.append(role)
        return role

    def own(self, text):
        """As the owner of the schema; nothing may go wrong."""
        said = self.psql(text)
        check(text.strip()[:60], "ERROR" not in said, said)
        return said

    def codes(self, role, statements):
        """The SQLSTATE of each, or '' for one that was not refused, in one session."""
        text = "\\set VERBOSITY sqlstate\n\\set ON_ERROR_STOP off\n"
        text += "".join(f"\\echo ; {i} ;\nBEGIN;\n{one};\nROLLBACK;\n" for i, one in enumerate(statements))
        done = subprocess.run(["psql", "-XAtq", self.url(role)], input=text, text=True, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        parts = re.split(r"^; (\d+) ;$", done.stdout, flags=re.M)[1:]
        said = dict(zip(map(int, parts[::2]), parts[1::2]))
        equal("statements that were run", len(said), len(statements))
        found = [re.search(r"ERROR:\s+(\w{5})", said[i]) for i in range(len(statements))]
        return [match.group(1) if match else "" for match in found]

    def says(self, role, text):
        """The SQLSTATE, and the message with the ids in it made alike."""
        done = run(["psql", "-XAtq", "-v", "VERBOSITY=verbose", self.url(role)], text)
        match = re.search(r"ERROR:\s+(\w{5}): (.*)", done.stderr)
        found = match.groups() if match else ("", done.stdout.strip())
        return found[0], re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", found[1])

    @contextlib.contextmanager
    def session(self, role, text):
        """One that stays open in the state that the text has brought it to."""
        process = subprocess.Popen(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", self.url(role)],
                                   text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdin.write(text + ";\n\\echo ready\n")
        process.stdin.flush()
        lines = iter(process.stdout.readline, "")
        check(f"session: {text[:60]}", any(line == "ready\n" for line in lines), text)
        try:
            yield
        finally:
            process.stdin.close()
            process.wait()
            process.stdout.close()


def rows(place, text):
    return [line.split("|") for line in place.admin(text, place.name).split("\n") if line]


def attacks(place, role, views, functions):
    """Every statement that the role must not be able to run."""
    owner = place.name
    found = [text.format(None, None, role, owner=owner) for text in ON_SCHEMA]
    kinds = {"r": ON_TABLE, "p": ON_TABLE, "v": ON_VIEW, "S": ON_SEQUENCE, "i": ON_INDEX,
             "I": ON_INDEX}
    seen = rows(place, """SELECT c.relkind, quote_ident(c.relname), quote_ident((SELECT attname
            FROM pg_attribute a WHERE a.attrelid = c.oid AND attnum = 1)), relpersistence =
            'p' AND EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary),
            c.relkind = 'r' AND NOT c.relispartition
        FROM pg_class c WHERE c.relnamespace = 'faina'::regnamespace ORDER BY 2""")
    for kind, name, column, has_key, is_plain in seen:
        if kind == "c":
            continue
        check(f"the test knows the kind of {name}", kind in kinds, kind)
        forms = kinds[kind]
        if kind in "rpv" and name not in views:
            forms += ON_READ
        if kind in "rp" and column:
            forms += ON_COLUMN
        if kind in "rp" and has_key == "t":
            forms += ON_KEY
        if is_plain == "t":
            forms += ON_PLAIN
        if kind in "rpvS" and name not in views:
            forms += ("GRANT ALL ON {0} TO {2}",)
        found += [form.format(f"faina.{name}", column, role) for form in forms]
    check("tables were found", len(seen) > 40, seen)
    for name, arguments, call in rows(place, """SELECT proname, format('%s', oid::regprocedure),
            (SELECT coalesce(string_agg('(SELECT NULL::' || format_type(t, NULL) || ')', ', '), '')
             FROM unnest(proargtypes) AS t)
            FROM pg_proc WHERE pronamespace = 'faina'::regnamespace"""):
        found += [form.format(arguments, None, role) for form in ON_FUNCTION]
        if name not in functions:
            found += [f"SELECT faina.{name}({call})", f"GRANT EXECUTE ON FUNCTION {arguments} TO {role}"]
    for (name,) in rows(place, "SELECT oid::regtype FROM pg_type WHERE typcategory <> 'A' AND "
                               "typnamespace = 'faina'::regnamespace"):
        found += [form.format(name, None, role) for form in ON_TYPE]
    return found


def prepare_own(place, role):
    """What an attacker brings along."""
    place.admin(f"""SET ROLE {role}; CREATE TABLE {role}.own ();
        CREATE FUNCTION {role}.hook() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
        CREATE FUNCTION {role}.same(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true'""",
                place.name)


def refuse_all(place, role, views=(), functions=()):
    prepare_own(place, role)
    statements = attacks(place, role, views, functions)
    codes = place.codes(role, statements)
    has_merge = int(place.admin("SHOW server_version_num")) >= 150000
    # A view that no row can be written through is refused as that (55000).
    passed = [(code, one) for code, one in zip(codes, statements)
              if code not in ("42501", "55000") and (has_merge or not one.startswith("MERGE"))]
    check(f"{len(statements)} statements are refused for want of a right", not passed, passed[:20])


def test_the_role_that_submits():
    with Roles() as place:
        shop = place.role("shop")
        place.own(f"SELECT faina.grant_submit('{shop}', '{{default,other}}')")
        equal("it can submit", place.says(shop, "SELECT faina.submit('a')"), ("", "ID"))
        refuse_all(place, shop, functions=PUBLIC_FUNCTIONS)
        equal("what it can call runs as the owner with a search_path",
              rows(place, "SELECT proname, prosecdef, proconfig::text LIKE '%search_path=faina, pg_temp%' "
                          "FROM pg_proc WHERE pronamespace = 'faina'::regnamespace AND "
                          f"has_function_privilege('{shop}', oid, 'EXECUTE') ORDER BY 1"),
              [[name, "t", "t"] for name in sorted(PUBLIC_FUNCTIONS)])
        place.own("SELECT faina.make_partitions(9)") # later partitions too
        refuse_all_types(place, shop)
        place.own(f"SELECT faina.revoke_submit('{shop}')")
        equal("a revoked role can't submit", place.says(shop, "SELECT faina.submit('a')")[0], "42501")
        equal("sound", place.faina("doctor")[0], 0)


def refuse_all_types(place, role):
    types = rows(place, "SELECT oid::regtype FROM pg_type WHERE typcategory <> 'A' AND "
                        "typnamespace = 'faina'::regnamespace")
    codes = place.codes(role, [f"CREATE TABLE {role}.t (a {name})" for (name,) in types])
    equal("types of later partitions", set(codes), {"42501"})


def test_the_role_that_reads():
    with Roles() as place:
        reader = place.role("reader")
        place.own(f"SELECT faina.grant_read('{reader}')")
        place.faina("submit", "x")
        for view in sorted(READ_VIEWS):
            equal(f"it reads {view}", place.says(reader, f"SELECT FROM faina.{view}")[0], "")
        equal("it sees the task", place.says(reader, "SELECT type FROM faina.tasks"), ("", "x"))
        refuse_all(place, reader, views=READ_VIEWS, functions=READ_FUNCTIONS)
        place.own(f"SELECT faina.revoke_read('{reader}')")
        equal("a revoked role reads nothing", place.says(reader, "SELECT FROM faina.tasks")[0], "42501")
        refuse_all(place, place.role("nobody"))
        equal("nothing is left", place.psql(f"SELECT has_schema_privilege('{reader}', 'faina', 'USAGE')"),
              "f")


def test_namespaces():
    """The list of a role holds, whatever the statement, and for tasks that are only named."""
    with Roles() as place:
        shop, web, shy = place.role("shop"), place.role("web"), place.role("shy", "NOINHERIT")
        place.admin(f"GRANT {shop} TO {web}, {shy}")
        place.own(f"SELECT faina.grant_submit('{shop}', '{{a,b}}')")
        refused = ("42501", "namespace c is not among those that this role may submit to")
        calls = ("SELECT faina.submit('x', namespace => '{0}')",
                 "SELECT id FROM faina.submit_many('[{{\"type\": \"x\", \"namespace\": \"{0}\"}}]')",
                 "SELECT length(faina.emit('x', namespace => '{0}')) > 0")
        for call in calls:
            for role in (shop, web):
                equal(f"{role} {call}", place.says(role, call.format("a"))[0], "")
                code, said = place.says(role, call.format("c"))
                equal(f"{role} {call}", (code, said.replace("tasks[0]: ", "")), refused)
            equal(f"{shy} {call}", place.says(shy, call.format("a"))[0], "42501")
            equal(f"{shy} {call}", place.says(shy, f"SET ROLE {shop};" + call.format("a"))[0], "")
        equal("no namespace is `default`", place.says(shop, "SELECT faina.submit('x')")[0], "42501")
        equal("a list is refused whole", place.says(shop, "SELECT FROM faina.submit_many('["
              '{"type": "x", "namespace": "a"}, {"type": "x", "namespace": "c"}]\')')[0], "42501")
        equal("the owner", place.says(None, calls[0].format("c"))[0], "")
        name_others(place, shop)
        place.own(f"SELECT faina.grant_submit('{shop}', '{{c}}')")
        equal("a new list replaces the old one", [place.says(shop, calls[0].format(ns))[0]
                                                  for ns in "ac"], ["42501", ""])
        place.own(f"SELECT faina.grant_submit('{shop}', '{{*}}')")
        equal("all", place.says(web, calls[0].format("whatever"))[0], "")
        for wrong in ("'{}'", "NULL", "'{NULL}'", "ARRAY['']"):
            equal(f"a list that is none: {wrong}",
                  place.says(None, f"SELECT faina.grant_submit('{shop}', {wrong})")[0], "22023")
        equal("a role that is none", place.says(None, "SELECT faina.grant_submit('nobody', '{a}')")[0],
              "22023")
        equal("sound", place.faina("doctor")[0], 0)


def name_others(place, shop):
    """A task or a team of a foreign namespace is answered like one that does not exist."""
    foreign = place.own("SELECT faina.submit('x', namespace => 'c', key => 'k')")
    own = place.own("SELECT faina.submit('x', namespace => 'b')")
    team = "01890a5d-ac96-774b-bcce-b302099a8057"
    place.own(f"INSERT INTO faina.team VALUES ('{team}', 'c', 't', NULL, 1, 1)")
    depends = "SELECT faina.submit('x', namespace => 'a', depends_on => '{{{0}}}')"
    missing = place.says(shop, depends.format(team))
    equal("a missing task", missing, ("22023", "depends_on names a task that does not exist: ID"))
    equal("a foreign task", place.says(shop, depends.format(foreign)), missing)
    equal("one of another namespace of its own", place.says(shop, depends.format(own)), ("", "ID"))
    teams = "SELECT faina.submit('x', namespace => 'a', team => '{0}')"
    equal("a foreign team", place.says(shop, teams.format(team)),
          place.says(shop, teams.format(team.replace("8057", "8058"))))
    equal("a key of another namespace", place.says(
        shop, f"SELECT faina.submit('x', namespace => 'a', key => 'k') = '{foreign}'"), ("", "f"))


def test_shadows():
    """What the caller's session has under the same names is not used."""
    with Roles() as place:
        shop = place.role("shop")
        place.own(f"SELECT faina.grant_submit('{shop}', '{{a}}')")
        tables = [name for (name,) in rows(place, "SELECT relname FROM pg_class WHERE relkind IN "
                                           "('r', 'p', 'v') AND relnamespace = 'faina'::regnamespace")]
        shadows = "".join(f"CREATE TEMP TABLE {name} (LIKE pg_class);" for name in tables)
        place.admin(f"""SET ROLE {shop};
            CREATE FUNCTION {shop}.submit_may(text[], text) RETURNS boolean LANGUAGE sql AS 'SELECT true';
            CREATE FUNCTION {shop}.submit_allowed() RETURNS text[] LANGUAGE sql AS $$SELECT '{{*}}'::text[]$$;
            CREATE FUNCTION {shop}.pg_has_role(name, name, text) RETURNS boolean LANGUAGE sql
            AS 'SELECT true';
            CREATE FUNCTION {shop}.clock_us() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
            CREATE OPERATOR {shop}.= (FUNCTION = {shop}.same, LEFTARG = text, RIGHTARG = text)"""
                    .replace("CREATE OPERATOR", f"CREATE FUNCTION {shop}.same(text, text) RETURNS boolean "
                             "LANGUAGE sql AS 'SELECT true'; CREATE OPERATOR"), place.name)
        for path in (f"{shop}, faina", "pg_temp, faina", f"pg_temp, {shop}, pg_catalog, faina"):
            before = f"{shadows} SET search_path = {path};"
            equal(f"{path}: refused", place.says(shop, before + "SELECT faina.submit('x', namespace => 'c')")
                  [0], "42501")
            code, said = place.says(shop, before + "SELECT faina.submit('x', namespace => 'a')")
            equal(f"{path}: stored", (code, said), ("", "ID"))
        equal("in the real tables", place.own("SELECT namespace, count(*) FROM faina.tasks GROUP BY 1"),
              "a|3")
        equal("sound", place.faina("doctor")[0], 0)


def test_locks():
    """What a role without rights can lock keeps nobody waiting."""
    with Roles() as place:
        nobody, shop = place.role("nobody"), place.role("shop")
        place.own(f"SELECT faina.grant_submit('{shop}', '{{*}}')")
        place.own("SELECT faina.make_partitions()")
        place.own("DROP TABLE faina.task_%s" % place.psql(
            "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC' + interval '1 day', 'YYYYMMDD')"))
        keys = ("SELECT pg_advisory_lock(hashtextextended('faina submit faina', 0)), "
                "pg_advisory_lock(hashtextextended('faina faina', 0)), "
                "pg_advisory_lock(hashtext('faina.make_partitions'))")
        with place.session(nobody, keys), place.session(shop, "BEGIN; " + "".join(
                f"PREPARE p{i} AS DELETE FROM faina.{name};" for i, name in
                enumerate(("submit_lock", "partition_lock", "schema_migrations")))):
            equal("submit", place.says(shop, "SET lock_timeout = '2s'; SELECT faina.submit('x')"),
                  ("", "ID"))
            equal("make_partitions", place.psql("SELECT faina.make_partitions()"), "1")
            equal("migrate", place.faina("db", "migrate")[0::2], (0, ""))
        # What submit locks is free long before the caller's commit, and after a failure.
        with place.session(shop, "BEGIN; SELECT faina.submit('x')"):
            equal("no lock is left", place.admin("SELECT count(*) FROM pg_locks WHERE relation = "
                                                 "'faina.submit_lock'::regclass", place.name), "0")
            equal("a second one", place.says(shop, "SET lock_timeout = '2s'; SELECT faina.submit('x')"),
                  ("", "ID"))
        with place.session(None, "BEGIN; LOCK TABLE faina.submit_lock IN SHARE UPDATE EXCLUSIVE MODE"):
            equal("it waits for the lock", place.says(shop, "SET statement_timeout = '200ms'; "
                                                      "SELECT faina.submit('x')")[0], "57014")
        cancelled = ("SET statement_timeout = '200ms'; BEGIN; SAVEPOINT s; "
                     "SELECT faina.submit('x'), pg_sleep(1)")
        equal("cancelled", place.says(shop, cancelled)[0], "57014")
        equal("a key was handed out once", place.own("SELECT count(*) = count(DISTINCT id) FROM faina.task"),
              "t")
        equal("sound", place.faina("doctor")[0], 0)


def test_a_view_does_not_keep_a_partition():
    """A role with USAGE on the schema can make a view on any table, without a right on it."""
    with Roles() as place:
        shop = place.role("shop")
        place.own(f"SELECT faina.grant_submit('{shop}', '{{*}}')")
        place.own("CREATE TABLE faina.task_20200101 PARTITION OF faina.task FOR VALUES FROM "
                  "((1577836800000::bigint << 12)) TO ((1577923200000::bigint << 12))")
        equal("the view", place.says(shop, f"CREATE VIEW {shop}.v AS SELECT id FROM faina.task_20200101")
              [0], "")
        equal("the day is dropped", place.psql("SET client_min_messages = warning; "
                                               "SELECT faina.drop_partitions('2020-01-03')"), "1")


def make_old(place):
    """The schema as it was before this step."""
    place.own("DROP SCHEMA IF EXISTS faina CASCADE; CREATE SCHEMA faina; CREATE TABLE "
              "faina.schema_migrations (id text PRIMARY KEY, description text NOT NULL, executed_at "
              "timestamptz NOT NULL)")
    for path in MIGRATIONS:
        name = os.path.basename(path)[:-4]
        if name >= "0011":
            break
        with open(path, encoding="utf-8") as file:
            place.own(f"SET client_min_messages = warning; SET search_path = faina;\n{file.read()};\n"
                      f"INSERT INTO schema_migrations VALUES ('{name}', '', now())")


def test_rights_from_before():
    """An application with the rights of old goes on with EXECUTE alone; the doctor names the others."""
    with Roles() as place:
        shop, reader, more = place.role("shop"), place.role("reader"), place.role("more")
        make_old(place)
        place.own(OLD_GRANTS.format(shop))
        place.own(OLD_GRANTS.format(more) + f"GRANT UPDATE ON faina.ready TO {more}; GRANT CREATE ON SCHEMA "
                  f"faina TO {more}")
        place.own(f"GRANT USAGE ON SCHEMA faina TO {reader}; GRANT SELECT ON faina.tasks TO {reader}")
        equal("it could submit", place.says(shop, "SELECT faina.submit('x')"), ("", "ID"))
        equal("migrate", place.faina("db", "migrate")[0::2], (0, ""))
        equal("it can submit", place.says(shop, "SELECT faina.submit('x', namespace => 'n')"), ("", "ID"))
        equal("a reader reads", place.says(reader, "SELECT count(*) FROM faina.tasks"), ("", "2"))
        equal("... with no right on any table", rows(place, "SELECT c.relname FROM pg_class c, "
              f"aclexplode(c.relacl) a WHERE a.grantee = '{shop}'::regrole"), [])
        _, out, _ = place.faina("doctor", "-o", "table")
        check("doctor: tables", f"role {more} can write to lane, log, parked and 6 more" in out, out)
        check("doctor: the schema", f"role {more} can make objects in" in out, out)
        check("doctor: no more", f"role {shop} " not in out and f"role {reader} " not in out, out)


def test_applied_by_a_superuser():
    """Everything belongs to the owner of the tables, and runs with no more rights than that one's."""
    with Roles() as place:
        shop = place.role("shop")
        make_old(place)
        with open(f"{ROOT}/src/store/db/postgres/migrations/0011_rights.sql", encoding="utf-8") as file:
            place.admin("SET client_min_messages = warning; SET search_path = faina;" + file.read(),
                        place.name)
        equal("the owner", rows(place, """SELECT DISTINCT pg_get_userbyid(o) FROM (
            SELECT proowner FROM pg_proc WHERE pronamespace = 'faina'::regnamespace UNION ALL
            SELECT relowner FROM pg_class WHERE relnamespace = 'faina'::regnamespace) AS x (o)"""),
              [[place.name]])
        place.own(f"SELECT faina.grant_submit('{shop}', '{{a}}')")
        equal("submit", place.says(shop, "SELECT faina.submit('x', namespace => 'a')"), ("", "ID"))


def main():
    if not ADMIN:
        skip("rights", "no PostgreSQL server")
        finish()
    for name, test in sorted(globals().items()):
        if name.startswith("test_") and (len(sys.argv) < 2 or name in sys.argv[1:]):
            test()
    finish()


if __name__ == "__main__":
    main()
