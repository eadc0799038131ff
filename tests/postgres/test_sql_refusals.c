/*
 * test_sql_refusals.c - what submit and submit_many in SQL (migration 0005) refuse: fields beyond
 * their limits, bodies that make no sense, and who may not write. Nothing is stored then.
 */
#include "postgres/sql_world.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>
#include <libpq-fe.h>

#define R(n, text) "repeat('" text "', " #n ")"

static void test_sql_refusals__limits(void **state)
{
    static const struct {
        const char *fits, *beyond, *said;
    } cases[] = {
        {R(255, "x"), R(256, "x"), "type: type is 256 bytes long; the limit is 255"},
        {R(127, "\u00fc"), R(128, "\u00fc"), "type: type is 256 bytes long; the limit is 255"},
        {"'a'", "''", "type: type is empty"},
        {"NULL, name => 'n'", "NULL", "type: type is missing"},
        {"'\xc2\x80'", "E'a\\x7f'", "type: type has a control character in it"},
        {"' '", "E'a\\nb'", "type: type has a control character in it"},
        {"'a', name => " R(255, "x"), "'a', name => " R(256, "x"),
         "name: name is 256 bytes long; the limit is 255"},
        {"'a', namespace => " R(255, "x"), "'a', namespace => " R(256, "x"),
         "namespace: namespace is 256 bytes long; the limit is 255"},
        {"'a', namespace => '**'", "'a', namespace => '*'",
         "namespace: namespace is \"*\", which stands for all namespaces"},
        {"'a', to_jsonb(" R(1048574, "x") ")", "'a', to_jsonb(" R(1048575, "x") ")",
         "input: input is 1048577 bytes long; the limit is 1048576"},
        {"'a', (" R(64, "[") " || " R(100, " ") " || " R(64, "]") ")::jsonb",
         "'a', (" R(65, "[") " || " R(65, "]") ")::jsonb",
         "input: input is nested deeper than 64 levels"},
        {"'a', (" R(63, "{\"a\":") " || '{\"b\":1}' || " R(63, "}") ")::jsonb",
         "'a', (" R(64, "{\"a\":") " || '{\"b\":1}' || " R(64, "}") ")::jsonb",
         "input: input is nested deeper than 64 levels"},
        {"'a', metadata => jsonb_build_object('a', " R(65527, "x") ")",
         "'a', metadata => jsonb_build_object('a', " R(65528, "x") ")",
         "metadata: metadata is 65537 bytes long; the limit is 65536"},
        {"'a', metadata => '{}'", "'a', metadata => '[]'",
         "metadata: metadata must be a JSON object"},
        {"'a', spec => jsonb_build_object('a', " R(65527, "x") ")",
         "'a', spec => jsonb_build_object('a', " R(65528, "x") ")",
         "spec: spec is 65537 bytes long; the limit is 65536"},
        {"'a', spec => '{}'", "'a', spec => '[]'", "spec: spec must be a JSON object"},
        {"'a', priority => -2147483647", "'a', priority => -2147483648",
         "priority: priority is -2147483648; it must be a whole number from -2147483647 to "
         "2147483647"},
        {"'a', max_attempts => 1000000", "'a', max_attempts => 1000001",
         "max_attempts: max_attempts is 1000001; it must be a whole number from 0 to 1000000"},
        {"'a', max_attempts => 0", "'a', max_attempts => -1",
         "max_attempts: max_attempts is -1; it must be a whole number from 0 to 1000000"},
        {"'a', delay => '36600 days'", "'a', delay => '36600 days 1 s'",
         "delay: delay is longer than 100 years"},
        {"'a', delay => '100 years'", "'a', delay => '1000000 years'",
         "delay: delay is longer than 100 years"},
        {"'a', delay => '0'", "'a', delay => '-100000 years'", "delay: delay must not be negative"},
        {"'a', delay => '0'", "'a', delay => '-1 s'", "delay: delay must not be negative"},
        {"'a', timeout => '36600 days'", "'a', timeout => '36600 days 1 s'",
         "timeout: timeout is longer than 100 years"},
        {"'a', timeout => '0'", "'a', timeout => '-1 s'", "timeout: timeout must not be negative"},
        {"'a', start_by => '9999-12-31 23:59:59.999999Z'",
         "'a', start_by => '10000-01-01 00:00:00Z'",
         "start_by: start_by is not a time: 10000-01-01T00:00:00.000000Z"},
        {"'a', start_by => NULL", "'a', start_by => 'infinity'",
         "start_by: start_by must be in the years 1970 to 9999"},
        {"'a', run_at => '9999-12-31 23:59:59.999999Z'", "'a', run_at => '10000-01-01 00:00:00Z'",
         "run_at: run_at is not a time: 10000-01-01T00:00:00.000000Z"},
        {"'a', run_at => '1970-01-01 00:00:00Z'", "'a', run_at => '1969-12-31 23:59:59Z'",
         "run_at: run_at must be in the years 1970 to 9999"},
        {"'a', run_at => NULL", "'a', run_at => 'infinity'",
         "run_at: run_at must be in the years 1970 to 9999"},
        {"'a', run_at => now(), delay => '0'", "'a', run_at => now(), delay => '1s'",
         "run_at: run_at and delay are both set"},
        {"'a', key => " R(512, "x"), "'a', key => " R(513, "x"),
         "key: key is 513 bytes long; the limit is 512"},
        {"'a', created_by => " R(255, "x"), "'a', created_by => " R(256, "x"),
         "created_by: created_by is 256 bytes long; the limit is 255"},
        {"'a', resources => ARRAY[" R(255, "x") "]", "'a', resources => ARRAY[" R(256, "x") "]",
         "resources[0]: resources[0] is 256 bytes long; the limit is 255"},
        {"'a', resources => array_fill('x'::text, ARRAY[16])",
         "'a', resources => array_fill('x'::text, ARRAY[17])",
         "resources: resources has 17 items; the limit is 16"},
        {"'a', resources => '{a}'", "'a', resources => '{NULL}'",
         "resources: resources must be an array of strings"},
        {"'a', depends_on => array_fill(submit('need'), ARRAY[1000])",
         "'a', depends_on => array_fill(submit('need'), ARRAY[1001])",
         "depends_on: depends_on has 1001 items; the limit is 1000"},
        {"'a', depends_on => '{}'", "'a', depends_on => ARRAY[gen_random_uuid()]", NULL},
        {"'a', depends_on => ARRAY[submit('n')]",
         "'a', depends_on => '{01890a5d-ac96-774b-bcce-b302099a8057}'",
         "depends_on: depends_on names a task that does not exist: "
         "01890a5d-ac96-774b-bcce-b302099a8057"},
        {"'a', team => NULL", "'a', team => '01890a5d-ac96-774b-bcce-b302099a8057'",
         "team: team 01890a5d-ac96-774b-bcce-b302099a8057 is not a team of namespace default"},
        {"'a', retry => '{\"factor\": 1}'", "'a', retry => '{\"factor\": 0.9}'",
         "retry.factor: retry.factor must be a number from 1 on"},
        {"'a', retry => '{}'", "'a', retry => '{\"steps\": 3}'",
         "retry: retry must be an object of base, factor and max"},
        {"'a', key => 'k1', key_scope => 'active'", "'a', key => 'k2', key_scope => 'for ever'",
         "key_scope: key_scope is not a duration: for ever"},
        {"'a', key => 'k3', key_scope => '1ms'", "'a', key => 'k4', key_scope => '0s'",
         "key_scope: key_scope must be more than nothing"},
        {"'a', key_scope => 'exists'", "'a', key_scope => 'active'",
         "key_scope: key_scope is about a key, and there is none"},
        {"'a', key => 'k5', on_duplicate => 'reject'",
         "'a', key => 'k6', on_duplicate => 'replace'",
         "on_duplicate: on_duplicate replace is not offered in SQL"},
        {"'a', on_duplicate => 'return'", "'a', on_duplicate => 'reject'",
         "on_duplicate: on_duplicate is about a key, and there is none"},
        {"'a', dedupe => NULL", "'a', dedupe => 'input'", "dedupe: dedupe is not offered in SQL"},
    };
    struct fa_sql_world *world = *state;
    struct fa_arena *arena = &world->t.arena;
    int64_t before;

    fa_sql_open(world);
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        const char *said;

        fa_t_task(&world->t, fa_sql_submit(world, world->one, cases[i].fits));
        before = fa_psql_int(world->two, "SELECT count(*) FROM task");
        said = fa_sql_refusal(world, fa_arena_printf(arena, "SELECT submit(%s)", cases[i].beyond));
        if (cases[i].said != NULL)
            CHECK_STR(said, fa_arena_printf(arena, "22023 %s", cases[i].said));
        CHECK(strncmp(said, "22023 ", 6) == 0, "%s: %s", cases[i].beyond, said);
        CHECK_INT(fa_psql_int(world->two, "SELECT count(*) FROM task"), before);
    }
    fa_t_check_sound(&world->t);
}

static void test_sql_refusals__bodies_are_refused_by_field(void **state)
{
    static const struct {
        const char *bodies, *said;
    } cases[] = {
        {"{}", "tasks: tasks must be an array"},
        {"[1]", "task: tasks[0]: task must be a JSON object"},
        {"[{}]", "type: tasks[0]: type is missing"},
        {"[{\"type\": 1}]", "type: tasks[0]: type must be a string"},
        {"[{\"type\": \"a\"}, {\"type\": \"b\", \"prio\": 1}]",
         "prio: tasks[1]: prio is no field of a submit"},
        {"[{\"type\": \"a\", \"status\": \"pending\"}]",
         "status: tasks[0]: status is no field of a submit"},
        {"[{\"type\": \"a\", \"priority\": 1.5}]",
         "priority: tasks[0]: priority is 1.5; it must be a whole number from -2147483647 to "
         "2147483647"},
        {"[{\"type\": \"a\", \"maxAttempts\": 1, \"maxRetries\": 1}]",
         "maxRetries: tasks[0]: maxRetries and maxAttempts are both set"},
        {"[{\"type\": \"a\", \"delay\": \"5 min\"}]",
         "delay: tasks[0]: delay is not a duration: 5 min"},
        {"[{\"type\": \"a\", \"delay\": \"5m1h\"}]",
         "delay: tasks[0]: delay is not a duration: 5m1h"},
        {"[{\"type\": \"a\", \"delay\": \"\"}]", "delay: tasks[0]: delay is not a duration: "},
        {"[{\"type\": \"a\", \"delay\": -1}]", "delay: tasks[0]: delay must not be negative"},
        {"[{\"type\": \"a\", \"timeout\": \"x\"}]",
         "timeout: tasks[0]: timeout is not a duration: x"},
        {"[{\"type\": \"a\", \"startBy\": \"soon\"}]",
         "startBy: tasks[0]: startBy is not a duration: soon"},
        {"[{\"type\": \"a\", \"startBy\": \"2030-02-30T00:00:00Z\"}]",
         "startBy: tasks[0]: startBy is not a time: 2030-02-30T00:00:00Z"},
        {"[{\"type\": \"a\", \"runAt\": \"tomorrow\"}]",
         "runAt: tasks[0]: runAt is not a time: tomorrow"},
        {"[{\"type\": \"a\", \"runAt\": \"2030-02-30T00:00:00Z\"}]",
         "runAt: tasks[0]: runAt is not a time: 2030-02-30T00:00:00Z"},
        {"[{\"type\": \"a\", \"runAt\": \"2030-02-20T24:00:00Z\"}]",
         "runAt: tasks[0]: runAt is not a time: 2030-02-20T24:00:00Z"},
        {"[{\"type\": \"a\", \"dedupe\": \"input\"}]",
         "dedupe: tasks[0]: dedupe is not offered in SQL"},
        {"[{\"type\": \"a\", \"idempotencyKey\": 7}]",
         "idempotencyKey: tasks[0]: idempotencyKey must be a string"},
        {"[{\"type\": \"a\", \"dependsOn\": \"x\"}]",
         "dependsOn: tasks[0]: dependsOn must be an array of task ids"},
        {"[{\"type\": \"a\", \"dependsOn\": [\"x\"]}]",
         "dependsOn: tasks[0]: dependsOn names something that is no id: x"},
        {"[{\"type\": \"a\", \"resources\": [1]}]",
         "resources: tasks[0]: resources must be an array of strings"},
        {"[{\"type\": \"a\", \"teamId\": \"x\"}]", "teamId: tasks[0]: teamId is not an id"},
    };
    struct fa_sql_world *world = *state;
    struct fa_arena *arena = &world->t.arena;

    fa_sql_open(world);
    for (size_t i = 0; i < FA_COUNT(cases); i++)
        CHECK_STR(fa_sql_refusal(world, fa_arena_printf(arena, "SELECT * FROM submit_many('%s')",
                                                        cases[i].bodies)),
                  fa_arena_printf(arena, "22023 %s", cases[i].said));
    CHECK_STR(fa_sql_refusal(world,
                             "SELECT * FROM submit_many((SELECT jsonb_agg('{\"type\": \"a\"}'"
                             "::jsonb) FROM generate_series(1, 10001)))"),
              "22023 tasks: tasks has 10001 items; the limit is 10000");
    CHECK_INT(fa_psql_int(world->one, "SELECT count(*) FROM submit_many('[]')"), 0);
    CHECK_INT(fa_psql_int(world->one, "SELECT count(*) FROM task"), 0);
}

/* Who may not write is told so, and leaves no lock behind. */
static void test_sql_refusals__refused_without_a_trace(void **state)
{
    struct fa_sql_world *world = *state;
    char failure[8];

    fa_sql_open(world);
    fa_psql_exec(world->one, "BEGIN READ ONLY");
    CHECK_STR(fa_psql_try(world->one, failure, "SELECT submit('a')"), "25006");
    fa_psql_exec(world->one, "ROLLBACK");
    fa_psql_exec(world->two, "BEGIN; LOCK TABLE submit_lock IN SHARE UPDATE EXCLUSIVE MODE");
    fa_psql_exec(world->one, "SET lock_timeout = '100ms'");
    CHECK_STR(fa_psql_try(world->one, failure, "SELECT submit('a')"), "55P03");
    fa_psql_exec(world->two, "COMMIT; SET lock_timeout = '1s'");
    fa_psql_exec(world->one, "BEGIN; SELECT submit('a')");
    CHECK_INT(fa_psql_int(world->two,
                          "SELECT count(*) FROM pg_locks WHERE relation = 'submit_lock'::regclass "
                          "OR locktype = 'advisory' AND pid = %d",
                          PQbackendPID(world->one)),
              0);
    fa_psql_exec(world->two, "SELECT submit('a')");
    fa_psql_exec(world->one, "COMMIT");
}

int main(int argc, char **argv)
{
#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(test_sql_refusals__##name, fa_sql_set_up, fa_sql_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(limits),
        TEST(bodies_are_refused_by_field),
        TEST(refused_without_a_trace),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("sql_refusals", tests, NULL, NULL);
}
