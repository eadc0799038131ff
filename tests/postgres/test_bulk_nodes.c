/*
 * test_bulk_nodes.c - operations on many tasks where two nodes share a store: the leader runs them,
 * whichever node started them, and the other one goes on when the leader leaves.
 */
#include "postgres/pair.h"
#include "support/bulk.h"

#include <setjmp.h>

#include <cmocka.h>

#define TASKS 5000

static void test_bulk_nodes__started_by_either(void **state)
{
    struct fa_pair *pair = *state;
    const struct fa_bulk *first, *second;

    fa_pair_open(pair);
    fa_t_submit_many(&pair->b, "x", TASKS);
    fa_t_submit_many(&pair->a, "y", TASKS);
    first = fa_t_bulk(&pair->b, CANCEL, .type = "x");
    second = fa_t_bulk(&pair->a, CANCEL, .type = "y");
    fa_t_bulk_completes(&pair->a, first, TASKS, 0);
    fa_t_bulk_completes(&pair->b, second, TASKS, 0);
    CHECK_INT(fa_t_count_status(&pair->a, FAINA_CANCELLED), 2 * TASKS);
    CHECK_OK(&pair->a, fa_t_list(&pair->a, .type = "x", .limit = 1));
    CHECK_STORY(&pair->a, pair->a.op.tasks->items[0].id, "created cancelled");
}

static void test_bulk_nodes__the_leader_leaves(void **state)
{
    struct fa_pair *pair = *state;
    const struct fa_bulk *retry;

    fa_pair_open(pair);
    fa_t_submit_many(&pair->b, "x", TASKS);
    fa_t_bulk_completes(&pair->b, fa_t_bulk(&pair->b, CANCEL, .type = "x"), TASKS, 0);
    retry = fa_t_bulk(&pair->b, RETRY, .type = "x");
    for (int i = 0; i < 4; i++) { /* each of them has led */
        fa_t_reopen(&pair->a);
        fa_t_bulk_get(&pair->b, retry->id);
        fa_t_close(&pair->b);
        fa_t_open(&pair->b);
    }
    fa_t_bulk_completes(&pair->b, retry, TASKS, 0);
    CHECK_INT(fa_t_count_status(&pair->b, FAINA_PENDING), TASKS);
    CHECK_OK(&pair->b, fa_t_list(&pair->b, .type = "x", .limit = 20));
    for (size_t i = 0; i < 20; i++) {
        struct faina_task task = pair->b.op.tasks->items[i];

        CHECK_STORY(&pair->b, task.id, "created cancelled retried");
        CHECK_OK(&pair->b, fa_t_list(&pair->b, .type = "x", .limit = 20));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bulk_nodes__started_by_either, fa_pair_set_up,
                                        fa_pair_tear_down),
        cmocka_unit_test_setup_teardown(test_bulk_nodes__the_leader_leaves, fa_pair_set_up,
                                        fa_pair_tear_down),
    };

    return cmocka_run_group_tests_name("bulk_nodes", tests, NULL, NULL);
}
