/*
 * test_partitions.c - days: new ones get their partitions, and drop_partitions removes old ones
 * with everything that belongs to them, but no task that is still wanted.
 */
#include "support/ops.h"
#include "support/psql.h"

#include "base/clock.h"
#include "worker/retention_thread.h"

#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

struct world {
    struct fa_t t;
    PGconn *conn;
};

static int set_up(void **state)
{
    struct world *world = fa_alloc_zero(1, sizeof *world);

    *state = world;
    fa_t_init(&world->t);
    if (fa_psql_url() == NULL)
        return 0;
    fa_t_set_url(&world->t, FA_T_POSTGRES);
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    fa_psql_close(world->conn);
    fa_t_finish(&world->t);
    free(world);
    return 0;
}

/* Whole days of the past, with partitions. */
static void open_world(struct world *world, int days)
{
    fa_psql_need_engine();
    fa_t_open(&world->t);
    world->conn = fa_psql_connect(world->t.url);
    fa_psql_exec(world->conn, "CREATE FUNCTION day_key(ago int) RETURNS bigint LANGUAGE sql AS $$ "
                              "SELECT (extract(epoch FROM (clock_timestamp() AT TIME ZONE 'UTC')"
                              "::date - ago) * 1000)::bigint << 12 $$");
    for (int ago = 1; ago <= days; ago++)
        fa_psql_exec(world->conn,
                     "DO $$ DECLARE parent text; BEGIN FOREACH parent IN ARRAY "
                     "ARRAY['task', 'ended', 'event'] LOOP EXECUTE format('CREATE TABLE %%I "
                     "PARTITION OF %%I FOR VALUES FROM (%%s) TO (%%s)', parent || '_' || "
                     "to_char((clock_timestamp() AT TIME ZONE 'UTC')::date - %d, 'YYYYMMDD'), "
                     "parent, day_key(%d), day_key(%d)); END LOOP; END $$",
                     ago, ago, ago - 1);
}

/* Makes a task older: as if it had been submitted that many days ago. Its events go with it. */
static int64_t age_task(struct world *world, const char *id, int ago)
{
    int64_t key = fa_psql_int(world->conn, "SELECT task_key_of('%s')", id);
    int64_t old = fa_psql_int(world->conn, "SELECT %lld - (%d * bigint '86400000' << 12)",
                              (long long)key, ago);

    fa_psql_exec(world->conn,
                 "UPDATE task SET id = %lld WHERE id = %lld; UPDATE ended SET id = %lld WHERE "
                 "id = %lld; UPDATE ready SET id = %lld WHERE id = %lld; UPDATE event SET "
                 "task = %lld WHERE task = %lld; UPDATE task_key SET task = %lld WHERE task = %lld;"
                 "UPDATE task_dep SET needs = %lld WHERE needs = %lld; "
                 "UPDATE task SET parent = %lld WHERE parent = %lld",
                 (long long)old, (long long)key, (long long)old, (long long)key, (long long)old,
                 (long long)key, (long long)old, (long long)key, (long long)old, (long long)key,
                 (long long)old, (long long)key, (long long)old, (long long)key);
    return old;
}

static int64_t drop(struct world *world)
{
    return fa_psql_int(world->conn, "SELECT drop_partitions((clock_timestamp() AT TIME ZONE "
                                    "'UTC')::date)");
}

static int64_t count_tasks(struct world *world)
{
    return fa_psql_int(world->conn, "SELECT count(*) FROM tasks");
}

static void test_partitions__old_days_go(void **state)
{
    struct world *world = *state;
    struct fa_t *t = &world->t;
    const char *first, *waits, *last;

    open_world(world, 3);
    first =
        fa_t_submit(t, .type = "a", .idempotency_key = "k", .retry = {.base_ms = 1, .max_ms = 1});
    waits = fa_t_submit(t, .type = "b", .depends_on = &first, .depends_on_count = 1);
    fa_t_take(t, first, "w");
    CHECK_OK(t, fa_t_fail_attempt(t, first, BY("w"), "no"));
    fa_t_take(t, first, "w");
    CHECK_OK(t, fa_t_complete(t, first, BY("w"), "1"));
    last = fa_t_make(t, FAINA_COMPLETED, "w");
    age_task(world, first, 2);
    age_task(world, last, 3);
    CHECK_INT(count_tasks(world), 3);
    fa_t_check_sound(t);

    CHECK_INT(drop(world), 3);
    CHECK_INT(count_tasks(world), 1);
    CHECK_INT(fa_psql_int(world->conn, "SELECT count(*) FROM event"), 1); /* unblocked */
    fa_t_check_sound(t);
    CHECK_INT(drop(world), 0);

    /* Its key is free, and who depended on it lives on. */
    fa_t_submit(t, .type = "a", .idempotency_key = "k");
    CHECK_TRUE(!t->op.existing);
    fa_t_finish_task(t, waits);
    fa_t_check_sound(t);
}

static void test_partitions__a_live_task_keeps_its_day(void **state)
{
    struct world *world = *state;
    struct fa_t *t = &world->t;
    const char *live, *ended;

    open_world(world, 2);
    live = fa_t_submit(t, .type = "a");
    ended = fa_t_make(t, FAINA_CANCELLED, "w");
    age_task(world, live, 1);
    age_task(world, ended, 2);
    CHECK_INT(drop(world), 1);
    CHECK_INT(count_tasks(world), 1);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w"));
    CHECK_INT(t->op.tasks->count, 1);
    fa_t_check_sound(t);
}

/* A parent is needed while there are subtasks of it, even when all have ended. */
static void test_partitions__a_parent_goes_after_its_children(void **state)
{
    struct world *world = *state;
    struct faina_submit child = {.type = "child"};
    struct fa_t *t = &world->t;
    const char *parent, *kid;

    open_world(world, 1);
    parent = fa_t_submit(t, .type = "a");
    fa_t_take(t, parent, "w");
    CHECK_OK(t, fa_t_block(t, parent, BY("w"), &child, 1));
    kid = fa_t_child(t, parent, 0);
    fa_t_finish_task(t, kid);
    fa_t_take(t, parent, "w");
    CHECK_OK(t, fa_t_complete(t, parent, BY("w"), NULL));
    age_task(world, parent, 1);
    CHECK_INT(drop(world), 0);
    CHECK_INT(count_tasks(world), 2);
}

/* It gives up rather than stopping the queue. */
static void test_partitions__it_does_not_wait_for_long(void **state)
{
    struct world *world = *state;
    PGconn *reader;
    char failure[8];

    open_world(world, 1);
    reader = fa_psql_connect(world->t.url);
    fa_psql_exec(reader, "BEGIN; SELECT count(*) FROM task");
    CHECK_STR(fa_psql_try(world->conn, failure, "SELECT drop_partitions(current_date)"), "55P03");
    fa_psql_exec(reader, "ROLLBACK");
    CHECK_INT(drop(world), 1);
    CHECK_STR(fa_psql_try(world->conn, failure, "SELECT drop_partitions(current_date + 2)"),
              "22023");
    fa_psql_close(reader);
}

static bool has_days(struct fa_t *t, void *conn)
{
    (void)t;
    return fa_psql_int(conn, "SELECT count(*) FROM pg_inherits i JOIN pg_class c ON "
                             "c.oid = i.inhrelid WHERE inhparent = 'task'::regclass AND relname > "
                             "'task_' || to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYYMMDD') "
                             "AND relname ~ '[0-9]$'") == 7;
}

/* The node that leads sees to the coming days, and goes on when somebody was in its way. */
static void test_partitions__the_leader_makes_new_days(void **state)
{
    struct world *world = *state;
    struct fa_t *t = &world->t;

    open_world(world, 1);
    fa_t_wait_until(has_days, t, world->conn, "the coming days have partitions");
    fa_t_close(t);
    fa_psql_exec(world->conn,
                 "DO $$ DECLARE part text; BEGIN FOR part IN SELECT relname FROM pg_class c "
                 "JOIN pg_inherits i ON i.inhrelid = c.oid WHERE inhparent = 'task'::regclass "
                 "AND relname ~ '[0-9]$' AND relname > 'task_' || to_char(clock_timestamp() "
                 "AT TIME ZONE 'UTC', 'YYYYMMDD') LOOP EXECUTE format('DROP TABLE %%I', part); "
                 "END LOOP; END $$");
    CHECK_TRUE(!has_days(t, world->conn));
    fa_t_open(t);
    fa_t_wait_until(has_days, t, world->conn, "the coming days have partitions again");
    fa_t_finish_task(t, fa_t_submit(t, .type = "a"));
    fa_t_check_sound(t);
}

/* Retention ------------------------------------------------------------------------------------ */

#define DAY_MS (24 * 3600 * INT64_C(1000))

/* Makes an ended task older, its end included. */
static int64_t age_end(struct world *world, const char *id, int ago)
{
    int64_t key = age_task(world, id, ago);

    fa_psql_exec(world->conn,
                 "UPDATE ended SET completed_us = completed_us - %d * 86400000000 WHERE id = %lld",
                 ago, (long long)key);
    return key;
}

/* A round of the keeper that keeps tasks for two days; how many it removed. */
static size_t run_keeper(struct world *world)
{
    struct fa_retention_settings keep = {.completed_ms = 2 * DAY_MS,
                                         .failed_ms = 2 * DAY_MS,
                                         .events_ms = -1,
                                         .archive = fa_t_path(&world->t, "archive")};
    int64_t until = fa_clock_mono_us() + FA_T_DEADLINE_MS * INT64_C(1000);
    struct faina_error err = {0};
    size_t removed = 0;
    enum faina_code code;

    do
        code = fa_retention_round(world->t.svc, &keep, &removed, &err);
    while (code == FAINA_CONFLICT && fa_clock_mono_us() < until && usleep(10000) == 0);
    CHECK(code == FAINA_OK, "%s", err.message);
    return removed;
}

/* How many lines of the archive are of the day so many days ago. */
static int64_t archived(struct world *world, int ago)
{
    char day[FA_PSQL_TEXT_SIZE];
    int64_t lines = 0;
    gzFile file;
    int c;

    fa_psql_text(world->conn, day,
                 "SELECT to_char((clock_timestamp() AT TIME ZONE 'UTC')::date - %d, 'YYYY-MM-DD')",
                 ago);
    file =
        gzopen(fa_arena_printf(&world->t.arena, "%s/archive/%s.jsonl.gz", world->t.dir, day), "rb");
    while (file != NULL && (c = gzgetc(file)) >= 0)
        lines += c == '\n';
    if (file != NULL)
        gzclose(file);
    return lines;
}

static int64_t count_days(struct world *world)
{
    return fa_psql_int(world->conn, "SELECT count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = "
                                    "i.inhrelid WHERE inhparent = 'task'::regclass AND relname ~ "
                                    "'[0-9]$' AND relname < 'task_' || to_char(clock_timestamp() "
                                    "AT TIME ZONE 'UTC', 'YYYYMMDD')");
}

static void test_partitions__the_keeper_drops_whole_days(void **state)
{
    struct world *world = *state;
    struct fa_t *t = &world->t;

    open_world(world, 5);
    fa_t_wait_until(has_days, t, world->conn, "the coming days have partitions");
    for (int i = 0; i < 300; i++)
        age_end(world, fa_t_make(t, i % 2 ? FAINA_COMPLETED : FAINA_CANCELLED, "w"), 4);
    age_end(world, fa_t_make(t, FAINA_COMPLETED, "w"), 1);
    CHECK_INT(run_keeper(world), 300);
    CHECK_INT(archived(world, 4), 300);
    CHECK_INT(archived(world, 1), 0);
    CHECK_INT(count_tasks(world), 1);
    CHECK_INT(count_days(world), 2); /* one and two days ago */
    fa_t_check_sound(t);
    CHECK_INT(run_keeper(world), 0);
    CHECK_INT(archived(world, 4), 300);
}

/* A day with a task that lives stays; the others of it go one by one, a day later. */
static void test_partitions__the_keeper_spares_a_day_that_lives(void **state)
{
    struct world *world = *state;
    struct fa_t *t = &world->t;
    const char *live, *old, *young;

    open_world(world, 6);
    live = fa_t_submit(t, .type = "a");
    old = fa_t_make(t, FAINA_COMPLETED, "w");
    young = fa_t_make(t, FAINA_COMPLETED, "w");
    age_task(world, live, 5);
    age_end(world, old, 5);
    age_task(world, young, 5);
    CHECK_INT(run_keeper(world), 1);
    CHECK_INT(archived(world, 5), 1);
    CHECK_INT(count_tasks(world), 2);
    CHECK_INT(count_days(world), 3); /* that day, and two that are too young */
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w"));
    CHECK_INT(t->op.tasks->count, 1);
    fa_t_check_sound(t);
}

/* A day that changed after it was archived is not dropped. */
static void test_partitions__a_changed_day_is_not_dropped(void **state)
{
    struct world *world = *state;
    struct fa_t *t = &world->t;
    struct fa_expired_query query = {.completed_ms = 2 * DAY_MS, .failed_ms = 2 * DAY_MS};
    struct fa_expired_day day = {0};
    struct faina_error err = {0};
    int64_t key;

    open_world(world, 4);
    run_keeper(world); /* it leads; and the empty days are gone */
    CHECK_INT(count_days(world), 2);
    fa_psql_exec(world->conn,
                 "DO $$ DECLARE parent text; BEGIN FOREACH parent IN ARRAY ARRAY['task', 'ended', "
                 "'event'] LOOP EXECUTE format('CREATE TABLE %%I PARTITION OF %%I FOR VALUES FROM "
                 "(%%s) TO (%%s)', parent || '_' || to_char((clock_timestamp() AT TIME ZONE "
                 "'UTC')::date - 4, 'YYYYMMDD'), parent, day_key(4), day_key(3)); END LOOP; END "
                 "$$");
    key = age_end(world, fa_t_make(t, FAINA_CANCELLED, "w"), 4);
    CHECK_INT(fa_service_expired_day_find(t->svc, &query, &day, &err), FAINA_OK);
    CHECK_TRUE(day.is_found);
    CHECK_INT(day.tasks, 1);
    fa_psql_exec(world->conn, "UPDATE ended SET version = version + 1 WHERE id = %lld",
                 (long long)key);
    CHECK_INT(fa_service_expired_day_drop(t->svc, &day, &err), FAINA_CONFLICT);
    CHECK_INT(count_tasks(world), 1);
    CHECK_INT(run_keeper(world), 1);
    CHECK_INT(archived(world, 4), 1);
    fa_t_check_sound(t);
}

/* Of several nodes one does it; when it goes, another one. */
static void test_partitions__one_keeper_at_a_time(void **state)
{
    struct world *world = *state;
    struct fa_t *t = &world->t;
    struct fa_retention_settings keep = {.failed_ms = 0, .completed_ms = -1, .events_ms = -1};
    struct fa_service *first, *second = NULL;
    struct faina_error err = {0};
    size_t removed = 0;

    open_world(world, 1);
    run_keeper(world); /* the first one leads */
    fa_t_make(t, FAINA_CANCELLED, "w");
    CHECK_INT(fa_service_open(&second, t->url, NULL, &err), FAINA_OK);
    CHECK_INT(fa_retention_round(second, &keep, &removed, &err), FAINA_CONFLICT);
    CHECK_INT(removed, 0);
    CHECK_INT(count_tasks(world), 1);
    first = t->svc;
    t->svc = second;
    fa_service_close(first);
    run_keeper(world); /* waits until the second one leads */
    CHECK_INT(fa_retention_round(second, &keep, &removed, &err), FAINA_OK);
    CHECK_INT(removed, 1);
    CHECK_INT(count_tasks(world), 0);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_partitions__##name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(old_days_go),
        TEST(a_live_task_keeps_its_day),
        TEST(a_parent_goes_after_its_children),
        TEST(it_does_not_wait_for_long),
        TEST(the_leader_makes_new_days),
        TEST(the_keeper_drops_whole_days),
        TEST(the_keeper_spares_a_day_that_lives),
        TEST(a_changed_day_is_not_dropped),
        TEST(one_keeper_at_a_time),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("partitions", tests, NULL, NULL);
}
