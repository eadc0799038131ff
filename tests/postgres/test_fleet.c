/*
 * test_fleet.c - many nodes, one database: they start at once, share the work, keep the limits, and
 * are killed and stopped in the middle of it.
 *
 * FA_FLEET_KILLS sets how many nodes are killed while they claim under a limit, FA_FLEET_TASKS how
 * many tasks they have, FA_PAUSES how many nodes are stopped past their lease.
 */
#include "postgres/nodes.h"

#include "base/clock.h"
#include "base/random.h"

#include <libpq-fe.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

static void rest_ms(int64_t ms)
{
    nanosleep(&(const struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* ------------------------------------------------------------------------------------------
 * Ten at once
 */

static void test_fleet__ten_start_at_once_on_an_empty_database(void **state)
{
    enum { NODES = 10, EACH = 50 };
    struct fa_n_world *world = *state;
    struct fa_n nodes[NODES];

    fa_psql_need_engine();
    world->board->tasks = NODES * EACH;
    for (int i = 0; i < NODES; i++)
        fa_n_start(&nodes[i], FA_N_SHARE, world->t.url, i);
    world->board->go = true;
    fa_n_await(&world->board->ready, NODES, "all nodes are open");
    fa_n_await(&world->board->done_count, NODES * EACH, "all tasks are done");
    world->board->is_over = true;
    for (int i = 0; i < NODES; i++)
        fa_n_end(&nodes[i]);
    for (int i = 0; i < NODES * EACH; i++)
        CHECK(world->board->done[i] == 1, "task %d was done %d times", i, world->board->done[i]);
    fa_n_open(world);
    CHECK_OK(&world->t, fa_t_stats(&world->t, NULL));
    CHECK_INT(world->t.op.stats->by_status[FAINA_COMPLETED], NODES * EACH);
    fa_t_check_sound(&world->t);
    CHECK_INT(fa_psql_int(world->raw, "SELECT count(*) FROM tasks"), NODES * EACH);
    CHECK_INT(fa_psql_int(world->raw, "SELECT count(*) - count(DISTINCT id) FROM "
                                      "schema_migrations"),
              0);
}

/* ------------------------------------------------------------------------------------------
 * 64 claimers in 8 processes, a limit of 2, and kills
 */

/* By the engine's count: who is killed after a completion can't note it on the board. */
static int64_t completed(struct fa_t *t)
{
    int64_t count;

    CHECK_OK(t, fa_t_stats(t, NULL));
    count = t->op.stats->by_status[FAINA_COMPLETED];
    fa_t_forget(t);
    return count;
}

static bool has_grown(struct fa_t *t, void *arg)
{
    return completed(t) > *(int64_t *)arg;
}

/* Every interval between two claims, those of killed nodes included. */
static void check_starts(struct fa_n_world *world, const struct faina_rate *rate)
{
    const char *query = fa_arena_printf(
        &world->t.arena,
        "WITH c AS (SELECT claimed_us AS t FROM ended WHERE claimed_us IS NOT NULL"
        "           UNION ALL SELECT at_us FROM event WHERE what = 'claimed'),"
        "     n AS (SELECT t, row_number() OVER (ORDER BY t) AS i FROM c) "
        "SELECT count(*) FROM n a JOIN n b ON b.i >= a.i "
        "WHERE b.i - a.i + 1 > %lld + (b.t - a.t + 20) * %lld / %lld",
        (long long)rate->burst, (long long)rate->count, (long long)rate->per_ms * 1000);

    CHECK_INT(fa_psql_int(world->raw, "%s", query), 0);
}

static void test_fleet__limit_of_two_with_kills(void **state)
{
    enum { NODES = 8 };
    struct fa_n_world *world = *state;
    struct fa_board *board = world->board;
    int kills = (int)fa_t_env_int("FA_FLEET_KILLS", 20);
    int tasks = (int)fa_t_env_int("FA_FLEET_TASKS", 600);
    struct fa_n nodes[NODES];
    struct fa_random random;
    int killed = 0;

    const struct faina_rate rate = {150, 1000, 5};

    fa_psql_need_engine();
    fa_random_seed(&random, fa_t_seed());
    fa_n_open(world);
    board->limit = 2;
    CHECK_OK(&world->t, fa_t_run(&world->t, &(struct fa_op){.kind = FA_OP_RESOURCE_SET,
                                                            .resource = {"gpu", 2, rate}}));
    fa_n_submit(&world->t, "limited", "gpu", 0, tasks);
    for (int i = 0; i < NODES; i++)
        fa_n_start(&nodes[i], FA_N_LIMITED, world->t.url, i);
    fa_n_await(&board->ready, NODES, "all nodes are open");
    for (; killed < kills && completed(&world->t) < tasks; killed++) {
        struct fa_n *node = &nodes[fa_random_below(&random, NODES)];

        rest_ms(20 + (int64_t)fa_random_below(&random, 150));
        fa_n_kill(node);
        fa_n_start(node, FA_N_LIMITED, world->t.url, NODES + killed);
    }
    for (int64_t now; (now = completed(&world->t)) < tasks;) /* it goes on, whatever was lost */
        fa_t_wait_until(has_grown, &world->t, &now, "one more is done");
    board->is_over = true;
    for (int i = 0; i < NODES; i++)
        fa_n_end(&nodes[i]);
    print_message("%d kills, %ld hand-outs, %d held at most, longest gap %lld ms\n", killed,
                  (long)board->handed_out, (int)board->most, (long long)board->gap_us / 1000);
    CHECK(board->over == 0, "the limit was overrun %d times, for up to %lld us", board->over,
          (long long)board->overlap_us);
    CHECK_INT(board->most, 2);
    for (int i = 0; i < tasks; i++)
        CHECK(board->done[i] <= 1, "task %d was completed %d times", i, board->done[i]);
    CHECK_TRUE(board->done_count >= tasks - killed * FA_BOARD_THREADS);
    CHECK_INT(fa_t_in_use(&world->t, "gpu"), 0);
    check_starts(world, &rate);
    /* Both permits may be with killed ones until their leases end; then somebody looks. */
    CHECK(board->gap_us < (FA_N_LEASE_MS + 5000) * 1000LL, "idle for %lld ms",
          (long long)board->gap_us / 1000);
    fa_t_check_sound(&world->t);
}

/* ------------------------------------------------------------------------------------------
 * Stopped, and awake again
 */

static void pause_one(struct fa_n_world *world, int row)
{
    struct fa_n sleeper;
    const char *id;

    world->board->go = world->board->is_over = false;
    world->board->stage = 0;
    id = fa_t_submit(&world->t, .type = "x");
    fa_n_start(&sleeper, FA_N_SLEEPER, world->t.url, row);
    fa_n_await(&world->board->stage, 1, "the sleeper has the task");
    fa_n_signal(&sleeper, SIGSTOP);
    fa_t_wait_status(&world->t, id, FAINA_PENDING); /* its lease ends without it */
    fa_t_take(&world->t, id, "other");
    world->board->go = true;
    fa_n_signal(&sleeper, SIGCONT);
    fa_n_await(&world->board->stage, 2, "the sleeper is awake");
    CHECK_INT(world->board->code, FAINA_WRONG_WORKER);
    CHECK_OK(&world->t, fa_t_complete(&world->t, id, BY("other"), "\"mine\""));
    CHECK_STR(fa_t_task(&world->t, id)->output, "\"mine\"");
    CHECK_STORY(&world->t, id, "created claimed lease_lost claimed started late_result completed");
    world->board->is_over = true;
    fa_n_end(&sleeper);
    fa_t_forget(&world->t);
}

static void test_fleet__sleeper_that_wakes_up_late(void **state)
{
    int pauses = (int)fa_t_env_int("FA_PAUSES", 1);
    struct fa_n_world *world = *state;

    fa_psql_need_engine();
    fa_n_open(world);
    for (int i = 0; i < pauses; i++)
        pause_one(world, i % FA_BOARD_ROWS);
    print_message("%d pauses past the lease\n", pauses);
}

/* A node is stopped wherever it is, perhaps in a transaction with locks: the others go on. */
static void test_fleet__others_go_on_while_one_is_stopped(void **state)
{
    enum { ROUNDS = 5, NODES = 2 };
    struct fa_n_world *world = *state;
    struct fa_board *board = world->board;
    struct fa_n nodes[NODES];
    struct fa_random random;

    fa_psql_need_engine();
    fa_random_seed(&random, fa_t_seed());
    fa_n_open(world);
    board->limit = FA_BOARD_ROWS;
    fa_n_submit(&world->t, "limited", NULL, 0, 10000);
    for (int i = 0; i < NODES; i++)
        fa_n_start(&nodes[i], FA_N_LIMITED, world->t.url, i);
    fa_n_await(&board->ready, NODES, "both nodes are open");
    for (int round = 0; round < ROUNDS; round++) {
        rest_ms((int64_t)fa_random_below(&random, 60));
        fa_n_signal(&nodes[0], SIGSTOP);
        fa_n_await(&board->done_count, board->done_count + 30, "the other one has done more");
        fa_n_signal(&nodes[0], SIGCONT);
    }
    board->is_over = true;
    for (int i = 0; i < NODES; i++)
        fa_n_end(&nodes[i]);
    for (int i = 0; i < 10000; i++)
        CHECK(board->done[i] <= 1, "task %d was completed %d times", i, board->done[i]);
    fa_t_check_sound(&world->t);
}

/* ------------------------------------------------------------------------------------------
 * The leader
 */

static void test_fleet__leader_pauses_past_its_lease(void **state)
{
    struct fa_n_world *world = *state;
    struct fa_n leader;
    int64_t epoch;
    char holder[FA_PSQL_TEXT_SIZE], now[FA_PSQL_TEXT_SIZE];
    const char *id;

    fa_psql_need_engine();
    fa_n_start(&leader, FA_N_OPEN, world->t.url, 0);
    fa_n_await(&world->board->ready, 1, "the first node is open");
    fa_n_open(world);
    while (fa_psql_int(world->raw, "SELECT count(*) FROM leader WHERE until_us > clock_us()") < 1)
        rest_ms(10);
    epoch = fa_psql_int(world->raw, "SELECT epoch FROM leader");
    fa_psql_text(world->raw, holder, "SELECT holder FROM leader");
    fa_n_signal(&leader, SIGSTOP);
    id = fa_t_submit(&world->t, .type = "x");
    CHECK_OK(&world->t, fa_t_claim_for(&world->t, id, "dead", 100));
    fa_t_wait_status(&world->t, id, FAINA_PENDING); /* somebody does the chores */
    fa_n_signal(&leader, SIGCONT);
    CHECK_OK(&world->t, fa_t_claim_for(&world->t, id, "dead", 100));
    fa_t_wait_status(&world->t, id, FAINA_PENDING);
    CHECK_STORY(&world->t, id, "created claimed lease_lost claimed lease_lost");
    fa_psql_text(world->raw, now, "SELECT holder FROM leader");
    CHECK_INT(fa_psql_int(world->raw, "SELECT epoch FROM leader"),
              strcmp(holder, now) == 0 ? epoch : epoch + 1);
    world->board->is_over = true;
    fa_n_end(&leader);
}

static bool waits_at_the_fence(struct fa_t *t, void *arg)
{
    struct fa_n_world *world = arg;

    (void)t;
    return fa_psql_int(world->raw,
                       "SELECT count(*) FROM pg_stat_activity"
                       " WHERE application_name = 'stopped-%d'"
                       " AND wait_event_type = 'Lock' AND query LIKE '%%FOR SHARE%%'",
                       (int)getpid()) > 0;
}

/* It has just been told that it leads, and holds a lock on that, when it is stopped. */
static void test_fleet__leader_stopped_within_a_transaction(void **state)
{
    struct fa_n_world *world = *state;
    struct fa_n leader;
    char url[FA_T_PATH_SIZE], name[64];
    const char *id;
    PGconn *locker;

    fa_psql_need_engine();
    snprintf(name, sizeof name, "stopped-%d", (int)getpid());
    fa_psql_with(world->t.url, "application_name", name, url);
    fa_n_start(&leader, FA_N_OPEN, url, 0);
    fa_n_await(&world->board->ready, 1, "the first node is open");
    fa_n_open(world);
    while (fa_psql_int(world->raw, "SELECT count(*) FROM leader WHERE until_us > clock_us()") < 1)
        rest_ms(10);
    locker = fa_psql_connect(world->t.url);
    fa_psql_exec(locker, "BEGIN; SELECT * FROM leader FOR UPDATE");
    fa_t_wait_until(waits_at_the_fence, &world->t, world, "the leader wants to do its chores");
    fa_n_signal(&leader, SIGSTOP);
    fa_psql_exec(locker, "COMMIT");
    PQfinish(locker);
    id = fa_t_submit(&world->t, .type = "x");
    CHECK_OK(&world->t, fa_t_claim_for(&world->t, id, "dead", 100));
    fa_t_wait_status(&world->t, id, FAINA_PENDING); /* somebody else does them */
    fa_n_signal(&leader, SIGCONT);
    CHECK_OK(&world->t, fa_t_claim_for(&world->t, id, "dead", 100));
    fa_t_wait_status(&world->t, id, FAINA_PENDING);
    world->board->is_over = true;
    fa_n_end(&leader);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fa_n_set_up, fa_n_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_fleet__ten_start_at_once_on_an_empty_database),
        TEST(test_fleet__limit_of_two_with_kills),
        TEST(test_fleet__sleeper_that_wakes_up_late),
        TEST(test_fleet__others_go_on_while_one_is_stopped),
        TEST(test_fleet__leader_pauses_past_its_lease),
        TEST(test_fleet__leader_stopped_within_a_transaction),
    };

    if (fa_n_is_node(argc, argv))
        return fa_n_main(argv);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("fleet", tests, NULL, NULL);
}
