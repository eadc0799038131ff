/*
 * test_scan_starts.c - lines that are worn: many dead rows in front, which nobody can remove.
 * Claims pass them by, and still find whatever comes into line before the place where they begin
 * to read.
 */
#include "support/ops.h"
#include "support/psql.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#define SOON_MS 3000 /* sooner than everything is read anew */

enum { DEAD = 30000, NODES = 2 };

struct world {
    struct fa_t nodes[NODES];
    PGconn *holder, *raw;
};

static void rest_ms(int64_t ms)
{
    nanosleep(&(const struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static int set_up(void **state)
{
    struct world *world = fa_alloc_zero(1, sizeof *world);

    *state = world;
    for (int i = 0; i < NODES; i++)
        fa_t_init(&world->nodes[i]);
    if (fa_psql_url())
        fa_t_set_url(&world->nodes[0], FA_T_POSTGRES);
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    fa_psql_close(world->holder);
    fa_psql_close(world->raw);
    for (int i = NODES - 1; i >= 0; i--)
        fa_t_finish(&world->nodes[i]);
    free(world);
    return 0;
}

/* Takes one task, or none, and leaves it held. */
static const char *claim_one(struct fa_t *t, int64_t wait_ms)
{
    struct faina_claim claim = {.worker_id = "w", .wait_ms = wait_ms};

    CHECK_OK(t, fa_t_claim_wait(t, &claim));
    return t->op.tasks->count > 0 ? t->op.tasks->items[0].id : NULL;
}

/* Submits on one node, claims on each: then they know the lane, and where it begins. */
static void warm_up(struct world *world)
{
    for (int i = 0; i < NODES; i++) {
        const char *id;

        fa_t_submit(&world->nodes[0], .type = "x");
        id = claim_one(&world->nodes[i], SOON_MS);
        CHECK(id, "nothing to claim on node %d", i);
        CHECK_OK(&world->nodes[i], fa_t_complete(&world->nodes[i], id, BY("w"), NULL));
    }
}

/* So many dead rows in the line of type x that the nodes begin to remember places. */
static void wear(struct world *world)
{
    fa_psql_need_engine();
    fa_t_open(&world->nodes[0]);
    for (int i = 1; i < NODES; i++) {
        memcpy(world->nodes[i].url, world->nodes[0].url, sizeof world->nodes[i].url);
        fa_t_open(&world->nodes[i]);
    }
    warm_up(world);
    world->raw = fa_psql_connect(world->nodes[0].url);
    world->holder = fa_psql_connect(world->nodes[0].url);
    fa_psql_exec(world->holder,
                 "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM tasks");
    fa_psql_exec(world->raw,
                 "INSERT INTO ready (lane, rank, id) SELECT lane.id, 0, n "
                 "FROM generate_series(1, %d) n, lane WHERE lane.type = 'x'",
                 DEAD);
    fa_psql_exec(world->raw, "DELETE FROM ready WHERE id <= %d", DEAD);
    while (fa_psql_int(world->raw, "SELECT pg_stat_get_dead_tuples('ready'::regclass)") < DEAD) {
        fa_psql_exec(world->raw, "SELECT pg_stat_force_next_flush()");
        rest_ms(20);
    }
    rest_ms(1200); /* the nodes ask about once a second */
    warm_up(world);
    rest_ms(1200); /* places follow a second behind */
    warm_up(world);
}

/* A session says what it has read when it does something a second after the last time. */
static void tell_pages(struct world *world)
{
    rest_ms(1200);
    warm_up(world);
    rest_ms(100);
}

/* Pages that one claim on an idle node looks at. */
static int64_t pages_of_claim(struct world *world)
{
    int64_t before, after;
    const char *sql = "SELECT sum(idx_blks_hit + heap_blks_hit + idx_blks_read + heap_blks_read) "
                      "FROM pg_statio_user_tables WHERE schemaname = current_schema() "
                      "AND relname = 'ready'";

    tell_pages(world);
    before = fa_psql_int(world->raw, "%s", sql);
    for (int i = 0; i < 20; i++)
        warm_up(world);
    tell_pages(world);
    after = fa_psql_int(world->raw, "%s", sql);
    return (after - before) / (20 * NODES);
}

static void test_scan_starts__claims_pass_dead_rows_by(void **state)
{
    struct world *world = *state;
    int64_t pages;

    wear(world);
    pages = pages_of_claim(world);
    print_message("%lld pages a claim\n", (long long)pages);
    /* All of them are on some 300 pages. They are read from the start once or twice by each. */
    CHECK(pages < 60, "a claim looks at %lld pages", (long long)pages);
}

/* What was held goes back into line, long behind the place that both nodes remember. */
static void test_scan_starts__what_comes_back_is_found(void **state)
{
    struct world *world = *state;

    wear(world);
    for (int round = 0; round < 4; round++) {
        struct fa_t *giver = &world->nodes[round % NODES], *taker = &world->nodes[round / NODES];
        char id[FAINA_ID_SIZE];
        const char *got;

        fa_t_submit(giver, .type = "x");
        got = claim_one(giver, SOON_MS);
        CHECK(got, "nothing to claim");
        memcpy(id, got, sizeof id);
        rest_ms(1500);
        warm_up(world);
        CHECK_OK(giver, fa_t_release(giver, id, BY("w")));
        got = claim_one(taker, SOON_MS);
        CHECK(got && strcmp(got, id) == 0, "round %d: the task that came back was not found",
              round);
    }
}

/* A priority that nobody had before is first. */
static void test_scan_starts__new_priorities_are_found(void **state)
{
    struct world *world = *state;
    char id[FAINA_ID_SIZE];

    wear(world);
    for (int priority = 3; priority >= -3; priority -= 2) {
        const char *got;

        memcpy(id, fa_t_submit(&world->nodes[0], .type = "x", .priority = priority), sizeof id);
        got = claim_one(&world->nodes[1], SOON_MS);
        CHECK(got && strcmp(got, id) == 0, "priority %d was not found", priority);
    }
}

/* Its id is made when the function is called; it comes into line when the transaction commits. */
static void test_scan_starts__late_commits_are_found(void **state)
{
    struct world *world = *state;
    char id[FA_PSQL_TEXT_SIZE];
    const char *got;
    PGconn *late;

    wear(world);
    late = fa_psql_connect(world->nodes[0].url);
    fa_psql_exec(late, "BEGIN");
    fa_psql_text(late, id, "SELECT submit('x')");
    rest_ms(1500);
    warm_up(world);
    rest_ms(1500);
    warm_up(world);
    fa_psql_exec(late, "COMMIT");
    got = claim_one(&world->nodes[1], 2 * SOON_MS);
    CHECK(got && strcmp(got, id) == 0, "the late task was not found");
    fa_psql_close(late);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_scan_starts__claims_pass_dead_rows_by),
        TEST(test_scan_starts__what_comes_back_is_found),
        TEST(test_scan_starts__new_priorities_are_found),
        TEST(test_scan_starts__late_commits_are_found),
    };

    return cmocka_run_group_tests_name("scan_starts", tests, NULL, NULL);
}
