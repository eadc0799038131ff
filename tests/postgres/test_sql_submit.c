/*
 * test_sql_submit.c - submit and submit_many in SQL (migration 0005) do what the engine's submit
 * does: the same tasks and keys, in the caller's transaction, and in nobody's way. What it refuses
 * is in test_sql_refusals.c.
 */
#include "postgres/sql_world.h"
#include "support/crew.h"

#include "base/clock.h"
#include "json/json.h"
#include "wire/wire.h"

#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>
#include <libpq-fe.h>

#define WOKEN_US 150000 /* rather than by the poll; the best of a few tries counts */
#define TRIES 8

/* ------------------------------------------------------------------------------------------
 * The same task
 */

/* All there is to see of a task, but for what differs between any two: id and times. */
static const char *picture(struct fa_t *t, const char *id)
{
    struct faina_task task = *fa_t_task(t, id);
    struct fa_json_writer writer;
    const char *text;
    struct fa_buf buf;

    fa_buf_init(&buf, 1 << 20);
    fa_json_writer_init(&writer, &buf, 1);
    memset(task.id, '-', sizeof(task.id) - 1);
    task.created_us = task.updated_us = 0;
    if (task.run_at_us != 0) /* to the minute: both were asked for a moment apart */
        task.run_at_us = (task.run_at_us + 30000000) / 60000000 * 60000000;
    fa_wire_put_task(&writer, &task);
    text = fa_arena_printf(&t->arena, "%s\n%s", buf.ptr, fa_t_story(t, id));
    fa_buf_finish(&buf);
    return text;
}

static const char *engine_submit(struct fa_t *t, const char *body)
{
    struct faina_submit submit = {0};
    struct faina_error err = {0};

    CHECK(fa_wire_read_submit(fa_str(body), &t->arena, &submit, &err) == FAINA_OK, "%s: %s", body,
          err.message);
    return fa_t_submit_ok(t, &submit, __FILE__, __LINE__);
}

/* %s is the id of a task, or of a team. */
static const struct {
    const char *body, *arguments;
} same[] = {
    {"{\"type\": \"a\"}", "'a'"},
    {"{\"type\": \"a\", \"input\": {\"x\": [1, \"\u00fc\", null]}}",
     "'a', '{\"x\": [1, \"\\u00fc\", null]}'"},
    {"{\"type\": \"a\", \"input\": null}", "'a', 'null'"},
    {"{\"type\": \"a\", \"namespace\": \"n\"}", "'a', namespace => 'n'"},
    {"{\"type\": \"a\", \"name\": \"b\"}", "'a', name => 'b'"},
    {"{\"type\": \"a\", \"name\": \"a\"}", "'a', name => 'a'"},
    {"{\"name\": \"b\"}", "NULL, name => 'b'"},
    {"{\"type\": \"a\", \"priority\": 7}", "'a', priority => 7"},
    {"{\"type\": \"a\", \"priority\": -2147483647}", "'a', priority => -2147483647"},
    {"{\"type\": \"a\", \"delay\": \"1h30m\"}", "'a', delay => '1 hour 30 min'"},
    {"{\"type\": \"a\", \"delay\": 5400}", "'a', delay => '90 min'"},
    {"{\"type\": \"a\", \"delay\": \"0s\"}", "'a', delay => '0'"},
    {"{\"type\": \"a\", \"delay\": \"36600d\"}", "'a', delay => '36600 days'"},
    {"{\"type\": \"a\", \"runAt\": \"2200-01-31T12:00:00+01:00\"}",
     "'a', run_at => '2200-01-31 11:00:00+00'"},
    {"{\"type\": \"a\", \"runAt\": \"2001-01-31T12:00:00Z\"}",
     "'a', run_at => '2001-01-31 12:00:00+00'"},
    {"{\"type\": \"a\", \"maxAttempts\": 9}", "'a', max_attempts => 9"},
    {"{\"type\": \"a\", \"maxAttempts\": 0}", "'a', max_attempts => 0"},
    {"{\"type\": \"a\", \"maxRetries\": 8}", "'a', max_attempts => 9"},
    {"{\"type\": \"a\", \"maxRetries\": 1000000}", "'a', max_attempts => 1000000"},
    {"{\"type\": \"a\", \"resources\": [\"gpu\", \"Disk\", \"gpu\", \"a\\\"b\"]}",
     "'a', resources => ARRAY['gpu', 'Disk', 'gpu', 'a\"b']"},
    {"{\"type\": \"a\", \"resources\": []}", "'a', resources => '{}'"},
    {"{\"type\": \"a\", \"metadata\": {\"m\": 1}}", "'a', metadata => '{\"m\": 1}'"},
    {"{\"type\": \"a\", \"spec\": {\"s\": [1, 2]}}", "'a', spec => '{\"s\": [1, 2]}'"},
    {"{\"payload\": {\"x\": 1}}", "NULL, '{\"x\": 1}'"},
    {"{\"input\": 0}", "NULL, '0'"},
    {"{\"type\": \"a\", \"createdBy\": \"ann\"}", "'a', created_by => 'ann'"},
    {"{\"type\": \"a\", \"retry\": {\"base\": \"2s\", \"factor\": 1.5, \"max\": 60}}",
     "'a', retry => '{\"base\": \"2s\", \"factor\": 1.5, \"max\": 60}'"},
    {"{\"type\": \"a\", \"retry\": {\"base\": 0, \"max\": \"0s\"}}",
     "'a', retry => '{\"base\": 0, \"max\": \"0s\"}'"},
    {"{\"type\": \"a\", \"priority\": 2147483647}", "'a', priority => 2147483647"},
    {"{\"type\": \"a\", \"timeout\": \"1m30s\"}", "'a', timeout => '90 s'"},
    {"{\"type\": \"a\", \"timeout\": 0.25}", "'a', timeout => '250 ms'"},
    {"{\"type\": \"a\", \"timeout\": \"0s\"}", "'a', timeout => '0'"},
    {"{\"type\": \"a\", \"startBy\": \"2200-01-31T12:00:00+01:00\"}",
     "'a', start_by => '2200-01-31 11:00:00+00'"},
    {"{\"type\": \"a\", \"delay\": \"1h\", \"startBy\": \"2200-01-31T12:00:00Z\"}",
     "'a', delay => '1 h', start_by => '2200-01-31 12:00:00+00'"},
};

/* The engine's, submit's, and submit_many's. */
static void check_same(struct fa_sql_world *world, const char *body, const char *arguments)
{
    struct fa_t *t = &world->t;
    const char *want = picture(t, engine_submit(t, body));
    char id[FA_PSQL_TEXT_SIZE];
    const char *got = picture(t, fa_sql_submit(world, world->one, arguments));

    CHECK(strcmp(got, want) == 0, "submit(%s)\n%s\nthe engine: %s", arguments, got, want);
    fa_psql_text(world->one, id, "SELECT id FROM submit_many('[%s]')", body);
    got = picture(t, id);
    CHECK(strcmp(got, want) == 0, "submit_many([%s])\n%s\nthe engine: %s", body, got, want);
}

static void test_sql_submit__makes_the_same_task(void **state)
{
    struct fa_sql_world *world = *state;

    fa_sql_open(world);
    for (size_t i = 0; i < FA_COUNT(same); i++)
        check_same(world, same[i].body, same[i].arguments);
    fa_t_check_sound(&world->t);
}

static void test_sql_submit__belongs_to_a_team(void **state)
{
    struct fa_sql_world *world = *state;
    struct faina_team team = {.name = "crew"};
    struct fa_arena *arena = &world->t.arena;

    fa_sql_open(world);
    CHECK_OK(&world->t, fa_t_team_put(&world->t, &team));
    CHECK_OK(&world->t, fa_t_team_list(&world->t, NULL, NULL));
    team = world->t.op.teams->items[0];
    check_same(world, fa_arena_printf(arena, "{\"type\": \"a\", \"teamId\": \"%s\"}", team.id),
               fa_arena_printf(arena, "'a', team => '%s'", team.id));
    CHECK_STR(
        fa_sql_refusal(world, fa_arena_printf(arena,
                                              "SELECT submit('a', namespace => 'other', "
                                              "team => '%s')",
                                              team.id)),
        fa_arena_printf(arena, "22023 team: team %s is not a team of namespace other", team.id));
}

/* What was made in SQL goes its way: claimed, failed, tried again, completed. */
static void test_sql_submit__lives_like_any_other(void **state)
{
    struct fa_sql_world *world = *state;
    struct fa_t *t = &world->t;
    const char *id;

    fa_sql_open(world);
    id = fa_sql_submit(world, world->one,
                       "'a', '1', metadata => '{\"m\": 1}', resources => '{gpu}', "
                       "retry => '{\"base\": \"1ms\", \"max\": \"1ms\"}'");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 10));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_STR(t->op.tasks->items[0].id, id);
    CHECK_INT(fa_t_in_use(t, "gpu"), 1);
    CHECK_OK(t, fa_t_start(t, id, BY("w")));
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), "2"));
    CHECK_STORY(t, id, "created claimed started retry_scheduled claimed started completed");
    CHECK_STR(fa_t_task(t, id)->metadata, "{\"m\": 1}");
    fa_t_check_sound(t);
}

/* A limit on a resource that was first named in SQL. */
static void test_sql_submit__resources_are_limited(void **state)
{
    struct fa_sql_world *world = *state;
    struct fa_t *t = &world->t;

    fa_sql_open(world);
    fa_psql_exec(world->one, "SELECT submit('a', resources => '{disk,gpu}') "
                             "FROM generate_series(1, 5)");
    CHECK_OK(t, fa_t_resource_set(t, "gpu", 2));
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 10));
    CHECK_INT(t->op.tasks->count, 2);
    CHECK_INT(fa_t_in_use(t, "disk"), 2);
    fa_t_check_sound(t);
}

/* ------------------------------------------------------------------------------------------
 * Keys
 */

static void test_sql_submit__keys_are_the_engines(void **state)
{
    static const char *const keys[] = {"k", "", "\u00fc \u2603", "a'b"};
    struct fa_sql_world *world = *state;
    struct fa_t *t = &world->t;

    fa_sql_open(world);
    for (size_t i = 0; i < FA_COUNT(keys); i++) {
        char *quoted = PQescapeLiteral(world->one, keys[i], strlen(keys[i]));
        const char *first, *second;
        char pattern[200];

        if (keys[i][0] == '\0')
            snprintf(pattern, sizeof(pattern), "'type-%zu', key => 'plain'", i);
        else
            snprintf(pattern, sizeof(pattern), "'type-%zu', namespace => 'n', key => %s", i,
                     quoted);
        PQfreemem(quoted);
        first = fa_sql_submit(world, world->one, pattern);
        CHECK_STR(fa_sql_submit(world, world->two, pattern), first);
        if (keys[i][0] == '\0')
            continue;
        second = fa_t_submit(t, .type = fa_arena_printf(&t->arena, "type-%zu", i), .ns = "n",
                             .idempotency_key = keys[i]);
        CHECK_STR(second, first);
        CHECK_TRUE(t->op.existing);
        CHECK_OK(t, fa_t_get_by_key(t, "n", fa_arena_printf(&t->arena, "type-%zu", i), keys[i]));
        CHECK_STR(t->task->id, first);

        /* The engine's first. */
        first = fa_t_submit(t, .type = "other", .ns = "n", .idempotency_key = keys[i]);
        quoted = PQescapeLiteral(world->one, keys[i], strlen(keys[i]));
        snprintf(pattern, sizeof(pattern), "'other', namespace => 'n', key => %s", quoted);
        PQfreemem(quoted);
        CHECK_STR(fa_sql_submit(world, world->one, pattern), first);

        /* Deleting a task frees its key. */
        CHECK_OK(t, fa_t_cancel(t, first, NOBODY));
        CHECK_OK(t, fa_t_delete(t, first));
        CHECK(strcmp(fa_sql_submit(world, world->one, pattern), first) != 0, "the key is not free");
    }
    fa_t_check_sound(t);
}

static void test_sql_submit__a_list_may_repeat_a_key(void **state)
{
    struct fa_sql_world *world = *state;
    char said[FA_PSQL_TEXT_SIZE];
    const char *old;

    fa_sql_open(world);
    old = fa_t_submit(&world->t, .type = "a", .idempotency_key = "old");
    fa_psql_text(world->one, said,
                 "SELECT string_agg(ordinal || CASE WHEN existing THEN 'e' ELSE 'n' END || "
                 "CASE WHEN id = '%s' THEN 'o' ELSE '' END, ' ' ORDER BY ordinal) || ' ' || "
                 "count(DISTINCT id) FROM submit_many('[{\"type\": \"a\"}, "
                 "{\"type\": \"a\", \"idempotencyKey\": \"k\"}, "
                 "{\"type\": \"a\", \"idempotencyKey\": \"old\"}, "
                 "{\"type\": \"a\", \"idempotencyKey\": \"k\"}, "
                 "{\"type\": \"b\", \"idempotencyKey\": \"k\"}]')",
                 old);
    CHECK_STR(said, "1n 2n 3eo 4e 5n 4");
    fa_t_check_sound(&world->t);
}

/* The second waits for the first, and gets what it made. */
static void test_sql_submit__second_waits_for_the_first(void **state)
{
    struct fa_sql_world *world = *state;
    char first[FA_PSQL_TEXT_SIZE];

    fa_sql_open(world);
    fa_psql_exec(world->one, "CREATE TEMPORARY TABLE task (nothing int)"); /* in nobody's way */
    fa_psql_exec(world->one, "BEGIN");
    fa_psql_text(world->one, first, "SELECT submit('a', key => 'k')");
    fa_psql_exec(world->two, "CREATE TEMPORARY TABLE got (id uuid, existing boolean)");
    fa_psql_send(world->two, "INSERT INTO got SELECT id, existing FROM "
                             "submit_many('[{\"type\": \"a\", \"idempotencyKey\": \"k\"}]')");
    fa_psql_await_blocked(world->one, world->two);
    fa_psql_exec(world->one, "COMMIT");
    fa_psql_await(world->two);
    CHECK_INT(
        fa_psql_int(world->two, "SELECT count(*) FROM got WHERE existing AND id = '%s'", first), 1);
}

static void test_sql_submit__rollback_frees_the_key(void **state)
{
    struct fa_sql_world *world = *state;
    struct fa_t *t = &world->t;
    char first[FA_PSQL_TEXT_SIZE];

    fa_sql_open(world);
    fa_psql_exec(world->one, "BEGIN");
    fa_psql_text(world->one, first, "SELECT submit('a', key => 'k')");
    fa_psql_exec(world->two, "CREATE TEMPORARY TABLE got (id uuid, existing boolean)");
    fa_psql_send(world->two, "INSERT INTO got SELECT id, existing FROM "
                             "submit_many('[{\"type\": \"a\", \"idempotencyKey\": \"k\"}]')");
    fa_psql_await_blocked(world->one, world->two);
    fa_psql_exec(world->one, "ROLLBACK");
    fa_psql_await(world->two);
    CHECK_INT(fa_psql_int(world->two, "SELECT count(*) FROM got WHERE NOT existing"), 1);
    CHECK_CODE(t, fa_t_get(t, first), FAINA_TASK_NOT_FOUND);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 10));
    CHECK_INT(t->op.tasks->count, 1);
    fa_t_check_sound(t);
}

/* The scopes of the engine's tasks and of SQL's are the same. */
static void test_sql_submit__keys_have_scopes(void **state)
{
    struct fa_sql_world *world = *state;
    struct fa_t *t = &world->t;
    const char *first, *second, *third;

    fa_sql_open(world);
    first = fa_sql_submit(world, world->one, "'a', key => 'k', key_scope => 'active'");
    CHECK_STR(fa_t_task(t, first)->key_scope, "active");
    CHECK_STR(fa_t_submit(t, .type = "a", .idempotency_key = "k"), first);
    CHECK_STR(fa_sql_submit(world, world->one, "'a', key => 'k'"), first);
    CHECK_INT(fa_psql_int(world->one, "SELECT count(*) FROM submit_many('[{\"type\": \"a\", "
                                      "\"idempotencyKey\": \"k\"}]') WHERE existing"),
              1);
    fa_t_finish_task(t, first);
    second = fa_t_submit(t, .type = "a", .idempotency_key = "k", .key_scope = "active");
    CHECK(strcmp(first, second) != 0, "the first has ended");
    fa_t_finish_task(t, second);
    third = fa_sql_submit(world, world->one, "'a', key => 'k', key_scope => '1h'");
    CHECK(strcmp(third, second) != 0, "the second has ended");
    CHECK_STR(fa_t_task(t, third)->key_scope, "3600s");
    CHECK_STR(fa_sql_submit(world, world->one, "'a', key => 'k', on_duplicate => 'return'"), third);
    fa_psql_exec(world->one,
                 "DO $$ BEGIN PERFORM submit('a', key => 'k', on_duplicate => 'reject');"
                 " RAISE 'it was not rejected';"
                 " EXCEPTION WHEN unique_violation THEN NULL; END $$");
    fa_t_check_sound(t);
}

/* Where a transaction keeps its first view of the store, it is told to try again. */
static void test_sql_submit__a_frozen_view_must_retry(void **state)
{
    struct fa_sql_world *world = *state;
    char failure[8];

    fa_sql_open(world);
    fa_psql_exec(world->one, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
    fa_psql_int(world->one, "SELECT count(*) FROM task");
    fa_psql_exec(world->two, "SELECT submit('a', key => 'k')");
    CHECK_STR(fa_psql_try(world->one, failure, "SELECT submit('a', key => 'k')"), "40001");
    fa_psql_exec(world->one, "ROLLBACK");
}

/* ------------------------------------------------------------------------------------------
 * Transactions
 */

/* A transaction that submits, and stays open, is in nobody's way; and nobody sees its tasks. */
static void test_sql_submit__an_open_transaction_blocks_nobody(void **state)
{
    struct fa_sql_world *world = *state;
    struct fa_t *t = &world->t;
    const char *resource = "new", *need, *mine[2], *blocked;
    int64_t begin_us;

    fa_sql_open(world);
    need = fa_t_submit(t, .type = "need");
    fa_psql_exec(world->one, "BEGIN");
    mine[0] = fa_sql_submit(world, world->one, "'new', resources => '{new}'");
    mine[1] = fa_sql_submit(world, world->one, "'new'");
    blocked = fa_sql_submit(world, world->one,
                            fa_arena_printf(&t->arena, "'new', depends_on => '{%s}'", need));
    begin_us = fa_clock_mono_us();

    /* Others use the same new type and resource, in SQL and through the engine ... */
    fa_psql_exec(world->two, "SET lock_timeout = '100ms'");
    fa_psql_exec(world->two, "SELECT submit('new', resources => '{new}'), submit('new')");
    fa_t_submit(t, .type = "new", .resources = &resource, .resource_count = 1);
    fa_t_submit(t, .type = "new");
    CHECK_OK(t, fa_t_resource_set(t, "new", 100));
    CHECK_OK(t, fa_t_stats(t, NULL));
    CHECK_INT(t->op.stats->by_status[FAINA_PENDING], 5);
    /* ... work, and what it depends on ends before it is there. */
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 100));
    CHECK_INT(t->op.tasks->count, 5);
    CHECK_OK(t, fa_t_complete(t, need, BY("w"), NULL));
    CHECK_CODE(t, fa_t_get(t, mine[0]), FAINA_TASK_NOT_FOUND);
    CHECK(fa_clock_mono_us() - begin_us < 5000000, "somebody waited");

    fa_psql_exec(world->one, "COMMIT");
    fa_t_wait_status(t, blocked, FAINA_PENDING);
    CHECK_STORY(t, blocked, "created unblocked");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 100));
    CHECK_INT(t->op.tasks->count, 3);
    CHECK_INT(fa_t_in_use(t, "new"), 3);
    fa_t_check_sound(t);
}

/* The engine ends the attempts, and the tasks that nobody starts. */
static void test_sql_submit__times_are_kept(void **state)
{
    struct fa_sql_world *world = *state;
    struct fa_t *t = &world->t;
    const char *late, *held;
    char many[FA_PSQL_TEXT_SIZE];

    fa_sql_open(world);
    late = fa_sql_submit(world, world->one,
                         "'late', start_by => clock_timestamp() + interval '300 ms'");
    fa_psql_text(world->one, many,
                 "SELECT id FROM submit_many('[{\"type\": \"late\", \"startBy\": \"300ms\"}]')");
    held = fa_sql_submit(world, world->one, "'x', timeout => '300 ms', max_attempts => 1");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 9, .types = (const char *[]){"x"},
                                .type_count = 1));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_INT(t->op.tasks->items[0].timeout_ms, 300);
    fa_t_wait_status(t, late, FAINA_CANCELLED);
    CHECK_STR(fa_t_task(t, late)->state, "Expired");
    fa_t_wait_status(t, many, FAINA_CANCELLED);
    fa_t_wait_status(t, held, FAINA_DEAD_LETTER);
    CHECK(strstr(fa_t_task(t, held)->error, "\"timeout\"") != NULL, "%s", t->task->error);
    fa_t_check_sound(t);
}

/* The engine gives it a turn once it is committed. Nothing is locked until then. */
static void test_sql_submit__groups_take_turns(void **state)
{
    struct fa_sql_world *world = *state;
    struct fa_t *t = &world->t;
    const char *id, *names = "";

    fa_sql_open(world);
    fa_psql_exec(world->one, "BEGIN");
    id = fa_sql_submit(world, world->one, "'x', name => 'a1', task_group => 'a'");
    fa_sql_submit(world, world->one, "'x', name => 'a2', task_group => 'a'");
    fa_t_submit(t, .type = "x", .name = "b1", .group = "b");
    fa_psql_exec(world->two, "SET lock_timeout = '100ms'");
    fa_sql_submit(world, world->two, "'x', name => 'b2', task_group => 'b'");
    fa_psql_exec(world->one, "COMMIT");
    fa_psql_exec(world->one, "SELECT submit_many('[{\"type\": \"x\", \"name\": \"c1\", "
                             "\"group\": \"c\"}]')");
    CHECK_STR(fa_t_task(t, id)->group, "a");
    CHECK_INT(fa_psql_int(world->one, "SELECT count(*) FROM tasks WHERE task_group = 'a'"), 2);
    for (int i = 0; i < 5; i++) {
        do {
            CHECK_OK(t, fa_t_claim_wait(t, &(struct faina_claim){.worker_id = "w", .limit = 1}));
        } while (t->op.tasks->count == 0);
        names = fa_arena_printf(&t->arena, "%s%c", names, t->op.tasks->items[0].name[0]);
    }
    CHECK(strchr(names, 'c') != NULL && strlen(names) == 5, "%s", names);
    fa_t_check_sound(t);
}

static void test_sql_submit__goes_with_its_transaction(void **state)
{
    struct fa_sql_world *world = *state;
    struct fa_t *t = &world->t;

    fa_sql_open(world);
    fa_psql_exec(world->one, "BEGIN; SELECT submit('a'); SAVEPOINT s; "
                             "SELECT submit('b'), submit('c', key => 'k', delay => '1 h'); "
                             "ROLLBACK TO s; SELECT submit('d', key => 'k'); COMMIT");
    fa_psql_exec(world->one, "BEGIN; SELECT submit('e', resources => '{r}'); ROLLBACK");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 100));
    CHECK_STR(fa_t_names(t, t->op.tasks), "a d");
    fa_t_check_sound(t);
}

/* A clock that was wrong for a while doesn't put all later tasks into the future. */
static void test_sql_submit__ids_follow_the_clock(void **state)
{
    struct fa_sql_world *world = *state;
    char said[FA_PSQL_TEXT_SIZE];

    fa_sql_open(world);
    /* Ids of one moment go on where the last one ended ... */
    fa_psql_exec(world->one, "SELECT setval('submit_key', task_key_of(submit('a')) + 64 * 64000)");
    fa_psql_text(world->one, said,
                 "SELECT (task_key_of(submit('a')) >> 12) - clock_us() / 1000 "
                 "BETWEEN 500 AND 1000");
    CHECK_STR(said, "t");
    /* ... but not after a year. */
    fa_psql_exec(world->one, "SELECT setval('submit_key', "
                             "(clock_us() / 1000 + 365 * 86400000::bigint) << 12)");
    fa_psql_text(world->one, said,
                 "SELECT (task_key_of(submit('a')) >> 12) - clock_us() / 1000 "
                 "BETWEEN -1000 AND 1");
    CHECK_STR(said, "t");
    fa_t_check_sound(&world->t);
}

/* ------------------------------------------------------------------------------------------
 * Dependencies
 */

static void test_sql_submit__waits_for_others(void **state)
{
    struct fa_sql_world *world = *state;
    struct fa_t *t = &world->t;
    struct fa_arena *arena = &t->arena;
    const char *good, *bad, *live, *ids[4];

    fa_sql_open(world);
    good = fa_t_make(t, FAINA_COMPLETED, "w");
    bad = fa_t_make(t, FAINA_FAILED, "w");
    live = fa_t_submit(t, .type = "live");
    check_same(world, fa_arena_printf(arena, "{\"type\": \"a\", \"dependsOn\": [\"%s\"]}", good),
               fa_arena_printf(arena, "'a', depends_on => '{%s}'", good));
    check_same(world, fa_arena_printf(arena, "{\"type\": \"a\", \"dependsOn\": [\"%s\"]}", bad),
               fa_arena_printf(arena, "'a', depends_on => '{%s}'", bad));
    check_same(world,
               fa_arena_printf(arena, "{\"type\": \"a\", \"dependsOn\": [\"%s\", \"%s\", \"%s\"]}",
                               live, bad, live),
               fa_arena_printf(arena, "'a', depends_on => '{%s,%s,%s}'", live, bad, live));
    ids[0] =
        fa_sql_submit(world, world->one, fa_arena_printf(arena, "'x', depends_on => '{%s}'", live));
    ids[1] = fa_t_submit(t, .type = "x", .depends_on = &live, .depends_on_count = 1);
    ids[2] = fa_sql_submit(world, world->one,
                           fa_arena_printf(arena,
                                           "'x', depends_on => '{%s,%s}', "
                                           "delay => '1 h'",
                                           live, ids[0]));
    ids[3] =
        fa_sql_submit(world, world->one, fa_arena_printf(arena, "'x', depends_on => '{%s}'", live));
    CHECK_OK(t, fa_t_cancel(t, ids[3], NOBODY));
    fa_t_finish_task(t, live);
    fa_t_wait_status(t, ids[0], FAINA_PENDING);
    CHECK_NOW(t, ids[1], FAINA_PENDING);
    CHECK_NOW(t, ids[2], FAINA_BLOCKED);
    fa_t_finish_task(t, ids[0]);
    fa_t_wait_status(t, ids[2], FAINA_PENDING);
    CHECK_TRUE(fa_t_task(t, ids[2])->run_at_us > fa_t_task(t, ids[2])->created_us);
    fa_t_check_sound(t);
}

/* Ends and late links at the same moment, again and again: nobody waits for ever. */
static void test_sql_submit__links_race_with_ends(void **state)
{
    struct fa_sql_world *world = *state;
    struct fa_t *t = &world->t;
    int rounds = (int)fa_t_env_int("FA_RACE_ROUNDS", 30);

    fa_sql_open(world);
    for (int i = 0; i < rounds; i++) {
        const char *need = fa_t_make(t, FAINA_RUNNING, "w"), *waits;

        fa_psql_exec(world->one, "BEGIN");
        waits = fa_sql_submit(world, world->one,
                              fa_arena_printf(&t->arena, "'x', depends_on => '{%s}'", need));
        if (i % 3 == 0)
            fa_psql_exec(world->one, "COMMIT");
        CHECK_OK(t, fa_t_complete(t, need, BY("w"), NULL));
        if (i % 3 != 0)
            fa_psql_exec(world->one, "COMMIT");
        fa_t_wait_status(t, waits, FAINA_PENDING);
        CHECK_STORY(t, waits, "created unblocked");
    }
    fa_t_check_sound(t);
}

/* ------------------------------------------------------------------------------------------
 * Many
 */

static void test_sql_submit__ten_thousand_at_once(void **state)
{
    struct fa_sql_world *world = *state;
    struct fa_t *t = &world->t;
    int64_t claimed = 0, last = -1;

    fa_sql_open(world);
    fa_psql_exec(world->one, "BEGIN");
    CHECK_INT(fa_psql_int(world->one,
                          "SELECT count(DISTINCT id) FROM submit_many((SELECT jsonb_agg("
                          "jsonb_build_object('type', 'a', 'input', n) ORDER BY n) "
                          "FROM generate_series(1, 10000) AS n))"),
              10000);
    CHECK_INT(fa_psql_int(world->two, "SELECT count(*) FROM tasks"), 0);
    fa_psql_exec(world->one, "COMMIT");
    for (;;) {
        fa_t_forget(t);
        CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 1000));
        if (t->op.tasks->count == 0)
            break;
        claimed += (int64_t)t->op.tasks->count;
        for (size_t i = 0; i < t->op.tasks->count; i++) {
            CHECK_TRUE(fa_t_int(t->op.tasks->items[i].input) > last); /* in their order */
            last = fa_t_int(t->op.tasks->items[i].input);
        }
    }
    CHECK_INT(claimed, 10000);
    fa_t_check_sound(t);
}

struct storm {
    struct fa_sql_world *world;
    PGconn *conns[8];
};

static void submit_many_times(struct fa_t *mine, size_t index, void *arg)
{
    struct storm *storm = arg;
    PGconn *conn = storm->conns[index];

    for (int i = 0; i < 50; i++) {
        fa_psql_exec(conn,
                     "BEGIN; SELECT submit('a', key => 'k%d'); "
                     "SELECT count(*) FROM submit_many('[{\"type\": \"b%zu\"}, "
                     "{\"type\": \"c\", \"resources\": [\"r%d\"]}]'); %s",
                     i, index, i % 5, i % 7 == 6 ? "ROLLBACK" : "COMMIT");
        fa_t_submit(mine, .type = "a", .idempotency_key = "shared");
        fa_t_forget(mine);
    }
}

/* Eight sessions and as many callers of the engine: ids are unique, keys have one task, counts
 * and places are right. */
static void test_sql_submit__many_sessions(void **state)
{
    struct fa_sql_world *world = *state;
    struct storm storm = {.world = world};
    struct fa_t *t = &world->t;
    struct fa_t_crew *crew;

    fa_sql_open(world);
    for (size_t i = 0; i < FA_COUNT(storm.conns); i++)
        storm.conns[i] = fa_psql_connect(t->url);
    crew = fa_t_crew_start(t, FA_COUNT(storm.conns), submit_many_times, &storm);
    fa_t_crew_join(crew);
    for (size_t i = 0; i < FA_COUNT(storm.conns); i++)
        fa_psql_close(storm.conns[i]);
    /* Of 50 keys, those of the seventh rounds were rolled back; and "shared". */
    CHECK_INT(fa_psql_int(world->one, "SELECT count(*) FROM tasks WHERE type = 'a'"), 43 + 1);
    CHECK_INT(fa_psql_int(world->one, "SELECT count(*) FROM tasks WHERE type = 'c'"), 43 * 8);
    fa_t_check_sound(t);
}

static bool is_folded(struct fa_t *t, void *arg)
{
    (void)t;
    return fa_psql_int(arg, "SELECT count(*) FROM tally WHERE shard > 63") == 0;
}

/* The leader adds up what sessions have counted in rows of their own. */
static void test_sql_submit__counts_are_folded(void **state)
{
    struct fa_sql_world *world = *state;
    struct fa_t *t = &world->t;

    fa_sql_open(world);
    fa_psql_exec(world->one, "SELECT submit('a') FROM generate_series(1, 100)");
    fa_psql_exec(world->one, "SELECT submit('a', delay => '1 h', resources => '{r}')");
    fa_t_wait_until(is_folded, t, world->two, "no counts of sessions are left");
    CHECK_OK(t, fa_t_stats(t, NULL));
    CHECK_INT(t->op.stats->by_status[FAINA_PENDING], 101);
    fa_t_check_sound(t);
}

/* ------------------------------------------------------------------------------------------
 * Waking
 */

static void wait_for_work(struct fa_t *mine, size_t index, void *arg)
{
    struct fa_sql_world *world = arg;
    struct faina_claim claim = {.worker_id = "w", .wait_ms = FA_T_DEADLINE_MS};

    (void)index;
    CHECK_OK(mine, fa_t_claim_wait(mine, &claim));
    world->count = mine->op.tasks->count;
    world->woken_us = fa_clock_mono_us();
}

/* How long after the commit, and `delay_us`, the worker has it. */
static int64_t wake_once(struct fa_sql_world *world, const char *arguments, int64_t delay_us)
{
    struct fa_t_crew *crew = fa_t_crew_start(&world->t, 1, wait_for_work, world);
    int64_t done_us;

    fa_t_crew_wait_asleep(crew, &world->t);
    fa_psql_exec(world->one, "SELECT submit(%s)", arguments);
    done_us = fa_clock_mono_us() + delay_us;
    fa_t_crew_join(crew);
    CHECK_INT(world->count, 1);
    return world->woken_us - done_us;
}

static void test_sql_submit__wakes_who_waits(void **state)
{
    struct fa_sql_world *world = *state;
    int64_t best_us = INT64_MAX, best_due_us = INT64_MAX;

    fa_sql_open(world);
    for (int i = 0; i < TRIES; i++) {
        int64_t us = wake_once(world, "'a'", 0);
        int64_t due_us = wake_once(world, "'a', delay => '300 ms'", 300000);

        best_us = us < best_us ? us : best_us;
        best_due_us = due_us < best_due_us ? due_us : best_due_us;
    }
    print_message("woken after %lld us; when due, after %lld us\n", (long long)best_us,
                  (long long)best_due_us);
    CHECK_TRUE(best_us < WOKEN_US);
    CHECK_TRUE(best_due_us < WOKEN_US);
}

/* ------------------------------------------------------------------------------------------
 * The migration
 */

/* Applied by hand, again, from a file. */
static void test_sql_submit__applies_twice(void **state)
{
    struct fa_sql_world *world = *state;
    const char *path = FA_SOURCE_ROOT "/src/store/db/postgres/migrations/0034_sql_times.sql";
    char *text;
    FILE *file;
    size_t len;

    fa_sql_open(world);
    fa_sql_submit(world, world->one, "'a', key => 'k'");
    file = fopen(path, "r");
    CHECK(file != NULL, "%s can't be read", path);
    text = fa_alloc(1 << 20);
    len = fread(text, 1, (1 << 20) - 1, file);
    text[len] = '\0';
    fclose(file);
    fa_psql_exec(world->one, "SET client_min_messages = warning");
    for (int i = 0; i < 2; i++) {
        PGresult *result = PQexec(world->one, text);

        CHECK(PQresultStatus(result) == PGRES_COMMAND_OK, "%s", PQerrorMessage(world->one));
        PQclear(result);
    }
    free(text);
    fa_sql_submit(world, world->one, "'a', key => 'k'");
    fa_sql_submit(world, world->one, "'a', resources => '{r}'");
    fa_t_check_sound(&world->t);
}

int main(int argc, char **argv)
{
#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(test_sql_submit__##name, fa_sql_set_up, fa_sql_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(makes_the_same_task),
        TEST(belongs_to_a_team),
        TEST(lives_like_any_other),
        TEST(resources_are_limited),
        TEST(keys_are_the_engines),
        TEST(a_list_may_repeat_a_key),
        TEST(second_waits_for_the_first),
        TEST(rollback_frees_the_key),
        TEST(keys_have_scopes),
        TEST(a_frozen_view_must_retry),
        TEST(an_open_transaction_blocks_nobody),
        TEST(times_are_kept),
        TEST(groups_take_turns),
        TEST(goes_with_its_transaction),
        TEST(ids_follow_the_clock),
        TEST(waits_for_others),
        TEST(links_race_with_ends),
        TEST(ten_thousand_at_once),
        TEST(many_sessions),
        TEST(counts_are_folded),
        TEST(wakes_who_waits),
        TEST(applies_twice),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("sql_submit", tests, NULL, NULL);
}
