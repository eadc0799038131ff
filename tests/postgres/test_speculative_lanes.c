/*
 * test_speculative_lanes.c - a claim reads the lines of lanes that were open when its node last
 * looked, with the question what has changed since (claim.c). What another node changes meanwhile
 * counts all the same: pauses, limits, new lanes, and tasks that are not plain any more. So does
 * what is changed while the claim reads: it takes no task that came after its type was paused.
 */
#include "postgres/pair.h"
#include "support/proxy.h"

#include <pthread.h>
#include <setjmp.h>

#include <cmocka.h>

/* The names of what node b gets, in its order. */
static const char *claim(struct fa_pair *pair, int64_t limit)
{
    CHECK_OK(&pair->b, fa_t_claim_next(&pair->b, .worker_id = "w", .limit = limit));
    return fa_t_names(&pair->b, pair->b.op.tasks);
}

/* Node b has claimed from a lane, and so believes that it is open. */
static void open_with_lane(struct fa_pair *pair, const char *const *resources, size_t count)
{
    fa_pair_open(pair);
    fa_t_submit(&pair->a, .type = "known", .name = "first", .resources = resources,
                .resource_count = count);
    CHECK_STR(claim(pair, 10), "first");
}

static void test_speculative_lanes__paused_since(void **state)
{
    struct fa_pair *pair = *state;

    open_with_lane(pair, NULL, 0);
    CHECK_OK(&pair->a, fa_t_pause(&pair->a, "default", "known"));
    fa_t_submit(&pair->a, .type = "known", .name = "second");
    CHECK_STR(claim(pair, 10), "");
    CHECK_STR(claim(pair, 10), "");
    CHECK_OK(&pair->a, fa_t_resume(&pair->a, "default", "known"));
    CHECK_STR(claim(pair, 10), "second");
}

static void test_speculative_lanes__limited_since(void **state)
{
    struct fa_pair *pair = *state;
    const char *const gpu[] = {"gpu"};

    open_with_lane(pair, gpu, 1); /* whose task holds it */
    CHECK_OK(&pair->a, fa_t_resource_set(&pair->a, "gpu", 2));
    for (int i = 0; i < 3; i++)
        fa_t_submit(&pair->a, .type = "known", .name = i == 0 ? "second" : "later",
                    .resources = gpu, .resource_count = 1);
    CHECK_STR(claim(pair, 10), "second");
    CHECK_STR(claim(pair, 10), "");
    CHECK_INT(fa_t_in_use(&pair->a, "gpu"), 2);
    CHECK_OK(&pair->a, fa_t_resource_remove(&pair->a, "gpu"));
    CHECK_STR(claim(pair, 10), "later later");
}

/* Node b has seen a resource without a limit, and no lane that names it. */
static void open_with_resource(struct fa_pair *pair, const char *name)
{
    fa_pair_open(pair);
    CHECK_OK(&pair->b, fa_t_resource_set(&pair->b, name, 5));
    CHECK_OK(&pair->b, fa_t_resource_remove(&pair->b, name));
    CHECK_STR(claim(pair, 10), "");
    CHECK_OK(&pair->a, fa_t_resource_set(&pair->a, name, 1));
}

/* Limits are not read as long as no lane needs them. Then they are. */
static void test_speculative_lanes__limited_before_the_first_lane(void **state)
{
    struct fa_pair *pair = *state;
    const char *const gpu[] = {"gpu"};

    open_with_resource(pair, "gpu");
    for (int i = 0; i < 2; i++)
        fa_t_submit(&pair->a, .type = "known", .name = i == 0 ? "first" : "later", .resources = gpu,
                    .resource_count = 1);
    CHECK_STR(claim(pair, 10), "first");
    CHECK_STR(claim(pair, 10), "");
}

/* The same when the lane is made by node b itself, between two claims of one transaction. */
static void test_speculative_lanes__limited_before_a_lane_of_its_own(void **state)
{
    struct fa_pair *pair = *state;
    const char *const gpu[] = {"gpu"};
    const struct faina_claim claim = {.worker_id = "w", .limit = 10};
    const struct faina_submit submit = {.type = "known", .resources = gpu, .resource_count = 1};
    struct fa_arena arena = {0};
    struct fa_op ops[] = {{.kind = FA_OP_CLAIM_NEXT, .claim = &claim, .arena = &arena},
                          {.kind = FA_OP_SUBMIT, .submit = &submit, .arena = &arena},
                          {.kind = FA_OP_SUBMIT, .submit = &submit, .arena = &arena},
                          {.kind = FA_OP_CLAIM_NEXT, .claim = &claim, .arena = &arena}};

    open_with_resource(pair, "gpu");
    fa_service_run(pair->b.svc, ops, FA_COUNT(ops));
    for (size_t i = 0; i < FA_COUNT(ops); i++)
        CHECK_INT(ops[i].code, FAINA_OK);
    CHECK_INT(ops[0].tasks->count, 0);
    CHECK_INT(ops[3].tasks->count, 1);
    CHECK_INT(fa_t_in_use(&pair->a, "gpu"), 1);
    fa_arena_finish(&arena);
}

/* A claim that has read no limits is no reason to know none. */
static void test_speculative_lanes__removed_behind_a_claim(void **state)
{
    struct fa_pair *pair = *state;
    const struct faina_claim claim = {.worker_id = "w", .limit = 10};
    struct fa_arena arena = {0};
    struct fa_op ops[] = {
        {.kind = FA_OP_CLAIM_NEXT, .claim = &claim, .arena = &arena},
        {.kind = FA_OP_RESOURCE_REMOVE, .resource = {.name = "disk"}, .arena = &arena}};

    open_with_lane(pair, NULL, 0);
    CHECK_OK(&pair->a, fa_t_resource_set(&pair->a, "disk", 3));
    fa_service_run(pair->b.svc, ops, FA_COUNT(ops));
    CHECK_INT(ops[0].code, FAINA_OK);
    CHECK_INT(ops[1].code, FAINA_OK);
    fa_arena_finish(&arena);
}

static void test_speculative_lanes__better_lane_since(void **state)
{
    struct fa_pair *pair = *state;

    open_with_lane(pair, NULL, 0);
    fa_t_submit(&pair->a, .type = "known", .name = "c");
    fa_t_submit(&pair->a, .type = "new", .name = "a", .priority = 5);
    fa_t_submit(&pair->a, .type = "new", .name = "d");
    fa_t_submit(&pair->a, .type = "known", .name = "b", .priority = 2);
    CHECK_STR(claim(pair, 1), "a");
    CHECK_STR(claim(pair, 10), "b c d");
}

/* A line with a task that was touched is read once more, with all that such tasks have. */
static void test_speculative_lanes__touched_tasks(void **state)
{
    struct fa_pair *pair = *state;
    const char *id;

    open_with_lane(pair, NULL, 0);
    id = fa_t_submit(&pair->a, .type = "known", .name = "touched", .metadata = "{\"a\":1}",
                     .max_attempts = 3, .retry = {.base_ms = 1, .max_ms = 1});
    CHECK_OK(&pair->a, fa_t_claim(&pair->a, id, "other"));
    CHECK_OK(&pair->a, fa_t_release(&pair->a, id, BY("other")));
    fa_t_submit(&pair->a, .type = "known", .name = "plain", .input = "[7]");
    CHECK_STR(claim(pair, 3), "touched plain");
    CHECK_STR(pair->b.op.tasks->items[0].metadata, "{\"a\":1}");
    CHECK_INT(pair->b.op.tasks->items[0].fence, 2);
    CHECK_STR(pair->b.op.tasks->items[1].input, "[7]");
    CHECK_INT(pair->b.op.tasks->items[1].fence, 1);
}

/* As if it had been submitted two days ago. */
static void make_old(struct fa_pair *pair, const char *name)
{
    PGconn *raw = fa_psql_connect(pair->a.url);

    fa_psql_exec(raw,
                 "WITH moved AS (UPDATE task SET id = id - (172800000::bigint << 12)"
                 "  WHERE name = '%s' AND id IN (SELECT id FROM ready) RETURNING id)"
                 " UPDATE ready r SET id = moved.id FROM moved"
                 " WHERE r.id = moved.id + (172800000::bigint << 12)",
                 name);
    fa_psql_close(raw);
}

/* A line with a task of another day is read with the tasks of every day until it is empty. */
static void test_speculative_lanes__tasks_of_other_days(void **state)
{
    struct fa_pair *pair = *state;

    open_with_lane(pair, NULL, 0);
    for (int lanes = 1; lanes <= 2; lanes++) {
        fa_t_submit(&pair->a, .type = "known", .name = "d");
        fa_t_submit(&pair->a, .type = "known", .name = "b", .input = "[7]");
        make_old(pair, "b");
        fa_t_submit(&pair->a, .type = "known", .name = "e");
        fa_t_submit(&pair->a, .type = "known", .name = "a", .priority = 1);
        fa_t_submit(&pair->a, .type = "known", .name = "c");
        make_old(pair, "c");
        CHECK_STR(claim(pair, 1), "a");
        CHECK_STR(claim(pair, 20), "b c d e");
        CHECK_STR(pair->b.op.tasks->items[0].input, "[7]");
        CHECK_STR(claim(pair, 20), "");
        fa_t_submit(&pair->a, .type = "another", .name = "other");
        CHECK_STR(claim(pair, 20), "other");
    }
}

/* Whatever was read in vain is there for the next, at once. */
static void test_speculative_lanes__other_types_stay(void **state)
{
    struct fa_pair *pair = *state;
    const char *const none[] = {"none"}, *const known[] = {"known"};

    open_with_lane(pair, NULL, 0);
    fa_t_submit(&pair->a, .type = "known", .name = "second");
    CHECK_OK(&pair->b, fa_t_claim_next(&pair->b, .worker_id = "w", .types = none, .type_count = 1,
                                       .limit = 5));
    CHECK_INT(pair->b.op.tasks->count, 0);
    CHECK_OK(&pair->a, fa_t_claim_next(&pair->a, .worker_id = "w", .types = known, .type_count = 1,
                                       .limit = 5));
    CHECK_INT(pair->a.op.tasks->count, 1);
}

/* ------------------------------------------------------------------------------------------
 * Changes while a claim is under way
 */

static void *claim_in_thread(void *b)
{
    fa_t_claim_next(b, .worker_id = "w", .limit = 10);
    return NULL;
}

static bool is_held_up(struct fa_t *t, void *watch)
{
    (void)t;
    return fa_psql_int(watch, "SELECT count(*) FROM pg_locks WHERE NOT granted"
                              " AND relation = 'resource'::regclass") > 0;
}

/* Node b knows of a lane that names a resource, and so reads limits with each claim. */
static void open_with_limits(struct fa_pair *pair)
{
    const char *const disk[] = {"disk"};

    open_with_lane(pair, NULL, 0);
    fa_t_submit(&pair->a, .type = "known", .name = "large", .resources = disk, .resource_count = 1);
    CHECK_STR(claim(pair, 10), "large");
}

/* Node b's claim stands still while it reads the limits. Before that it has read whatever it reads
 * first; what node a commits meanwhile it may see in the rest. */
static const char *claim_beside(struct fa_pair *pair, void (*change)(struct fa_pair *pair))
{
    PGconn *lock = fa_psql_connect(pair->a.url), *watch = fa_psql_connect(pair->a.url);
    pthread_t thread;

    fa_psql_exec(lock, "BEGIN; LOCK TABLE resource IN ACCESS EXCLUSIVE MODE");
    CHECK(pthread_create(&thread, NULL, claim_in_thread, &pair->b) == 0, "can't start a thread");
    fa_t_wait_until(is_held_up, &pair->a, watch, "the claim to stand still");
    change(pair);
    fa_psql_exec(lock, "COMMIT");
    pthread_join(thread, NULL);
    fa_psql_close(watch);
    fa_psql_close(lock);
    CHECK_OK(&pair->b, pair->b.op.code);
    return fa_t_names(&pair->b, pair->b.op.tasks);
}

static void pause_and_submit(struct fa_pair *pair)
{
    CHECK_OK(&pair->a, fa_t_pause(&pair->a, "default", "known"));
    fa_t_submit(&pair->a, .type = "known", .name = "second");
}

static void test_speculative_lanes__paused_meanwhile(void **state)
{
    struct fa_pair *pair = *state;

    open_with_limits(pair);
    CHECK_STR(claim_beside(pair, pause_and_submit), "");
    CHECK_OK(&pair->a, fa_t_resume(&pair->a, "default", "known"));
    CHECK_STR(claim(pair, 10), "second");
}

/* Which node b knows. */
static void make_many_lanes(struct fa_pair *pair)
{
    char type[8];

    for (int i = 0; i < 20; i++) {
        snprintf(type, sizeof type, "t%d", i);
        fa_t_submit(&pair->a, .type = type, .name = "x");
    }
    CHECK_OK(&pair->b, fa_t_claim_next(&pair->b, .worker_id = "w", .limit = 100));
    CHECK_INT(pair->b.op.tasks->count, 20);
}

/* With many lanes the lines are not read by a guess, but after what has changed. */
static void test_speculative_lanes__paused_meanwhile_in_many_lanes(void **state)
{
    struct fa_pair *pair = *state;

    open_with_limits(pair);
    make_many_lanes(pair);
    CHECK_STR(claim_beside(pair, pause_and_submit), "");
    CHECK_OK(&pair->a, fa_t_resume(&pair->a, "default", "known"));
    CHECK_STR(claim(pair, 10), "second");
}

static bool is_stalled(struct fa_t *t, void *proxy)
{
    (void)t;
    return fa_proxy_hits(proxy) > 0;
}

/* There a limit may come between the two as well. */
static void test_speculative_lanes__limited_meanwhile_in_many_lanes(void **state)
{
    const struct fa_proxy_rule stall = {.from = FA_PROXY_CLIENT,
                                        .action = FA_PROXY_STALL,
                                        .type = 'B',
                                        .text = "SELECT p.n, r.id", /* the scan of a line */
                                        .times = 1,
                                        .stall_ms = 2000};
    const char *const gpu[] = {"gpu"};
    struct fa_pair *pair = *state;
    struct fa_proxy *proxy;
    pthread_t thread;

    fa_psql_need_engine();
    proxy = fa_proxy_start(fa_psql_port(fa_psql_url()));
    fa_psql_through(pair->a.url, fa_proxy_port(proxy), pair->b.url);
    fa_pair_open(pair);
    make_many_lanes(pair);
    fa_t_submit(&pair->a, .type = "known", .name = "1", .resources = gpu, .resource_count = 1);
    fa_proxy_add(proxy, &stall);
    CHECK(pthread_create(&thread, NULL, claim_in_thread, &pair->b) == 0, "can't start a thread");
    fa_t_wait_until(is_stalled, &pair->a, proxy, "the claim to stand still");
    fa_proxy_freeze(proxy, true); /* for as long as it takes */
    CHECK_OK(&pair->a, fa_t_resource_set(&pair->a, "gpu", 1));
    for (int i = 0; i < 3; i++)
        fa_t_submit(&pair->a, .type = "known", .name = "2", .resources = gpu, .resource_count = 1);
    fa_proxy_freeze(proxy, false);
    pthread_join(thread, NULL);
    CHECK_OK(&pair->b, pair->b.op.code);
    CHECK_INT(pair->b.op.tasks->count, 0);
    CHECK_STR(claim(pair, 10), "1");
    CHECK_INT(fa_t_in_use(&pair->a, "gpu"), 1);
    fa_t_close(&pair->b);
    fa_proxy_stop(proxy);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fa_pair_set_up, fa_pair_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_speculative_lanes__paused_since),
        TEST(test_speculative_lanes__limited_since),
        TEST(test_speculative_lanes__limited_before_the_first_lane),
        TEST(test_speculative_lanes__limited_before_a_lane_of_its_own),
        TEST(test_speculative_lanes__removed_behind_a_claim),
        TEST(test_speculative_lanes__better_lane_since),
        TEST(test_speculative_lanes__touched_tasks),
        TEST(test_speculative_lanes__tasks_of_other_days),
        TEST(test_speculative_lanes__other_types_stay),
        TEST(test_speculative_lanes__paused_meanwhile),
        TEST(test_speculative_lanes__paused_meanwhile_in_many_lanes),
        TEST(test_speculative_lanes__limited_meanwhile_in_many_lanes),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("speculative_lanes", tests, NULL, NULL);
}
