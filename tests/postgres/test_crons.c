/*
 * test_crons.c - schedules with many nodes: leaders are killed and stopped, and each time still has
 * one task.
 */
#include "postgres/nodes.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

struct goal {
    PGconn *raw;
    int64_t count;
};

static int64_t made(PGconn *raw)
{
    return fa_psql_int(raw, "SELECT count(*) FROM task WHERE key LIKE 'cron:s:%%'");
}

static bool has_made(struct fa_t *t, void *arg)
{
    const struct goal *goal = arg;

    (void)t;
    return made(goal->raw) >= goal->count;
}

/* More tasks than there are: somebody does the chores. */
static void await_more(struct fa_n_world *world, int64_t more)
{
    struct goal goal = {world->raw, made(world->raw) + more};

    fa_t_wait_until(has_made, &world->t, &goal, "the schedule goes on");
}

/* Every second from the first to the last has one task. */
static void check_times(struct fa_n_world *world)
{
    int64_t count = made(world->raw);

    CHECK_INT(fa_psql_int(world->raw, "SELECT count(DISTINCT key) FROM task WHERE key LIKE "
                                      "'cron:s:%%'"),
              count);
    CHECK_INT(fa_psql_int(world->raw, "SELECT count(*) FROM cron WHERE problem IS NOT NULL"), 0);
    CHECK_INT(fa_psql_int(world->raw,
                          "SELECT extract(epoch FROM max(substr(key, 8)::timestamptz) - "
                          "min(substr(key, 8)::timestamptz))::bigint + 1 FROM task "
                          "WHERE key LIKE 'cron:s:%%'"),
              count);
}

static void test_crons__leaders_are_killed_and_stopped(void **state)
{
    enum { NODES = 3, ROUNDS = 3 };
    struct fa_n_world *world = *state;
    struct fa_cron_job job = {.name = "s",
                              .schedule = "* * * * * *",
                              .task = "{\"type\":\"tick\"}",
                              .catch_up = FA_CATCH_UP_ALL};
    struct fa_n nodes[NODES];
    int rows = 0;

    fa_psql_need_engine();
    for (; rows < NODES; rows++)
        fa_n_start(&nodes[rows], FA_N_OPEN, world->t.url, rows);
    fa_n_await(&world->board->ready, NODES, "all nodes are open");
    fa_n_open(world);
    CHECK_OK(&world->t, fa_t_run(&world->t, &(struct fa_op){.kind = FA_OP_CRON_PUT, .cron = &job}));
    await_more(world, 1);
    for (int round = 0; round < ROUNDS; round++) {
        struct fa_n *victim = &nodes[round % NODES], *sleeper = &nodes[(round + 1) % NODES];

        fa_n_signal(sleeper, SIGSTOP);
        fa_n_kill(victim);
        fa_n_start(victim, FA_N_OPEN, world->t.url, rows++);
        await_more(world, 2);
        fa_n_signal(sleeper, SIGCONT); /* it may believe that it leads */
        await_more(world, 2);
    }
    check_times(world);
    world->board->is_over = true;
    for (int i = 0; i < NODES; i++)
        fa_n_end(&nodes[i]);
    fa_t_check_sound(&world->t);
}

/* The time of a daily schedule falls into a dead leader's lease, or into the wait for the next one
 * to notice: it is set back rather than waited for. */
static void test_crons__the_next_leader_makes_up_for_the_lease(void **state)
{
    struct fa_n_world *world = *state;
    struct fa_cron_job job = {.name = "s", .task = "{\"type\":\"tick\"}"};
    time_t at = time(NULL) - 20;
    char schedule[64];
    struct tm utc;

    fa_psql_need_engine();
    fa_n_open(world);
    gmtime_r(&at, &utc);
    snprintf(schedule, sizeof schedule, "%d %d %d * * *", utc.tm_sec, utc.tm_min, utc.tm_hour);
    job.schedule = schedule;
    CHECK_OK(&world->t, fa_t_run(&world->t, &(struct fa_op){.kind = FA_OP_CRON_PUT, .cron = &job}));
    fa_psql_exec(world->raw, "UPDATE cron SET next_us = next_us - 86400000000");
    await_more(world, 1);
    fa_t_check_sound(&world->t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_crons__leaders_are_killed_and_stopped, fa_n_set_up,
                                        fa_n_tear_down),
        cmocka_unit_test_setup_teardown(test_crons__the_next_leader_makes_up_for_the_lease,
                                        fa_n_set_up, fa_n_tear_down),
    };

    if (fa_n_is_node(argc, argv))
        return fa_n_main(argv);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("crons", tests, NULL, NULL);
}
