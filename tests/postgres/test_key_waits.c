/*
 * test_key_waits.c - clients in SQL that hold idempotency keys in transactions that stay open delay
 * nobody but submits with these keys.
 */
#include "postgres/sql_world.h"
#include "support/crew.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>
#include <libpq-fe.h>

enum { KEYS = 24, OTHERS = 20 };

static void submit_held(struct fa_t *t, size_t index, void *arg)
{
    char(*ids)[FAINA_ID_SIZE] = arg;
    const char *key = fa_arena_printf(&t->arena, "k%zu", index);

    memcpy(ids[index], fa_t_submit(t, .type = "t", .ns = "a", .idempotency_key = key),
           FAINA_ID_SIZE);
}

/* Before there was key_waits.h, both writers waited for ten seconds, ten times. */
static void test_key_waits__others_go_on(void **state)
{
    struct fa_sql_world *world = *state;
    struct fa_t *t = &world->t;
    char ids[KEYS][FAINA_ID_SIZE];
    struct fa_t_crew *crew;
    int64_t begin_us, took_us;

    fa_sql_open(world);
    fa_psql_exec(world->one, "BEGIN");
    for (int i = 0; i < KEYS; i++)
        fa_sql_submit(world, world->one,
                      fa_arena_printf(&t->arena, "'t', namespace => 'a', key => 'k%d'", i));
    crew = fa_t_crew_start(t, KEYS, submit_held, ids);
    fa_t_crew_wait_asleep(crew, t);
    begin_us = fa_clock_mono_us();
    for (int i = 0; i < OTHERS; i++) {
        fa_t_submit(t, .type = "t", .ns = "b");
        fa_t_submit(t, .type = "t", .ns = "b", .idempotency_key = "k0");
    }
    took_us = fa_clock_mono_us() - begin_us;
    fa_psql_exec(world->one, "COMMIT");
    fa_t_crew_join(crew);
    CHECK(took_us < 5000000, "the others waited for %.1f s", (double)took_us / 1e6);
    for (int i = 0; i < KEYS; i++) {
        CHECK_OK(t, fa_t_get_by_key(t, "a", "t", fa_arena_printf(&t->arena, "k%d", i)));
        CHECK_STR(t->task->id, ids[i]);
    }
    CHECK_INT(fa_psql_int(world->two, "SELECT count(*) FROM task"), KEYS + OTHERS + 1);
    fa_t_check_sound(t);
}

/* A job that waits for too long is refused, with its reason. */
static void test_key_waits__refused_after_a_while(void **state)
{
    struct fa_sql_world *world = *state;
    struct fa_t *t = &world->t;
    struct faina_submit submit = {.type = "t", .idempotency_key = "k"};

    fa_sql_open(world);
    fa_psql_exec(world->one, "BEGIN");
    fa_sql_submit(world, world->one, "'t', key => 'k'");
    CHECK_CODE(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submit}),
               FAINA_OVERLOADED);
    CHECK(strstr(t->op.error.message, "same key") != NULL ||
              strstr(t->op.error.message, "keys of this namespace") != NULL,
          "%s", t->op.error.message);
    fa_psql_exec(world->one, "ROLLBACK");
    fa_t_submit(t, .type = "t", .idempotency_key = "k");
    fa_t_check_sound(t);
}

static bool is_put_off(struct fa_t *t, void *arg)
{
    (void)t;
    return fa_psql_int(arg, "SELECT count(*) FROM set_aside WHERE kind = 'schedule' AND "
                            "key = 'a/s' AND reason LIKE '%%same key%%'") == 1;
}

static bool gets_a_task(struct fa_t *t, void *arg)
{
    (void)arg;
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 1,
                                .namespaces = (const char *const[]){"b"}, .namespace_count = 1));
    return t->op.tasks->count == 1;
}

/* The keys of a schedule can be guessed. Whoever holds them stops that schedule, not the clocks. */
static void test_key_waits__a_schedule_is_put_off(void **state)
{
    struct fa_sql_world *world = *state;
    struct fa_t *t = &world->t;
    struct fa_cron_job job = {.ns = "a",
                              .name = "s",
                              .schedule = "* * * * * *",
                              .task = "{\"type\":\"tick\"}",
                              .catch_up = FA_CATCH_UP_NONE};
    const char *delayed;
    int64_t begin_us;

    fa_sql_open(world);
    fa_psql_exec(world->one, "BEGIN");
    fa_psql_exec(world->one,
                 "SELECT submit('tick', namespace => 'a', key => 'cron:s:' || to_char(date_trunc("
                 "'second', now() AT TIME ZONE 'UTC') + n * interval '1 s', "
                 "'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')) FROM generate_series(0, 120) AS n");
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_CRON_PUT, .cron = &job}));
    fa_t_wait_until(is_put_off, t, world->two, "the schedule is put off");
    delayed = fa_t_submit(t, .type = "t", .ns = "b", .delay_ms = 50);
    begin_us = fa_clock_mono_us();
    fa_t_wait_until(gets_a_task, t, NULL, "the delay is over");
    CHECK(fa_clock_mono_us() - begin_us < 5000000, "the clocks waited");
    CHECK_STR(t->op.tasks->items[0].id, delayed);
    fa_psql_exec(world->one, "ROLLBACK");
}

int main(int argc, char **argv)
{
#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(test_key_waits__##name, fa_sql_set_up, fa_sql_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(others_go_on),
        TEST(refused_after_a_while),
        TEST(a_schedule_is_put_off),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("key_waits", tests, NULL, NULL);
}
