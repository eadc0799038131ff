/*
 * test_types.c - policies of types that another node sets: they apply on this node within moments,
 * and the leader fails unhandled tasks of both.
 */
#include "postgres/pair.h"

#include "base/clock.h"

#include <setjmp.h>

#include <cmocka.h>

#define SEEN_US 4000000 /* sooner than by the comparison of the age (policies.h, T2) */

static void set_policy(struct fa_t *t, const struct faina_type_policy *policy)
{
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_TYPE_PUT, .type_policy = policy}));
}

/* How long until new tasks of the type have this many attempts on the node. */
static int64_t seen_after_us(struct fa_t *t, int64_t attempts)
{
    int64_t began_us = fa_clock_mono_us();

    while (fa_t_task(t, fa_t_submit(t, .type = "mail"))->max_attempts != attempts)
        CHECK(fa_clock_mono_us() - began_us < 20000000, "the policy is never seen");
    return fa_clock_mono_us() - began_us;
}

static void test_types__other_nodes_are_notified(void **state)
{
    struct fa_pair *pair = *state;
    int64_t best_us = INT64_MAX;

    fa_pair_open(pair);
    seen_after_us(&pair->b, 4);
    for (int attempts = 5; attempts < 8; attempts++) {
        int64_t us;

        set_policy(&pair->a, &(struct faina_type_policy){.type = "mail", .max_attempts = attempts});
        CHECK_INT(seen_after_us(&pair->a, attempts) < SEEN_US, true);
        us = seen_after_us(&pair->b, attempts);
        best_us = us < best_us ? us : best_us;
    }
    CHECK(best_us < SEEN_US, "a notification took %lld us", (long long)best_us);
    CHECK_OK(&pair->b, fa_t_run(&pair->b, &(struct fa_op){.kind = FA_OP_TYPE_REMOVE,
                                                          .name = {NULL, "mail", NULL}}));
    seen_after_us(&pair->a, 4);
}

/* A claim on any node shows that its worker is alive. */
static void test_types__workers_of_all_nodes_count(void **state)
{
    struct fa_pair *pair = *state;
    const char *const x = "x";
    const char *waits, *witness;

    fa_pair_open(pair);
    set_policy(&pair->a, &(struct faina_type_policy){.type = "x", .unhandled_after_ms = 500});
    set_policy(&pair->a, &(struct faina_type_policy){.type = "y", .unhandled_after_ms = 500});
    seen_after_us(&pair->b, 4);
    CHECK_OK(&pair->a, fa_t_claim_next(&pair->a, .worker_id = "a", .types = &x, .type_count = 1));
    waits = fa_t_submit(&pair->b, .type = "x");
    witness = fa_t_submit(&pair->b, .type = "y");
    fa_t_wait_status(&pair->a, witness, FAINA_FAILED);
    CHECK_NOW(&pair->b, waits, FAINA_PENDING);
    CHECK_OK(&pair->b, fa_t_claim_next(&pair->b, .worker_id = "b", .types = &x, .type_count = 1));
    CHECK_INT(pair->b.op.tasks->count, 1);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fa_pair_set_up, fa_pair_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_types__other_nodes_are_notified),
        TEST(test_types__workers_of_all_nodes_count),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("types", tests, NULL, NULL);
}
