/* test_refusal.c - who may change a task, and the errors for others. */
#include "support/support.h"

#include "service/refusal.h"

#include <setjmp.h>

#include <cmocka.h>

static struct fa_op op_by(const char *worker, int64_t fence)
{
    return (struct fa_op){.kind = FA_OP_COMPLETE, .by = {.worker_id = worker, .fence = fence}};
}

static void test_refusal__only_the_holder(void **state)
{
    const struct fa_holding held = {FAINA_RUNNING, "w", 7, 9};
    struct fa_op op = op_by("w", 7);

    CHECK_INT(fa_holding_check(&held, &op), FAINA_OK);
    CHECK_TRUE(fa_holding_is_by(&held, &op));
    op = op_by("w", 6);
    CHECK_INT(fa_holding_check(&held, &op), FAINA_WRONG_WORKER);
    CHECK_TRUE(!fa_holding_is_by(&held, &op));
    op = op_by("v", 0);
    CHECK_INT(fa_holding_check(&held, &op), FAINA_WRONG_WORKER);
    op = op_by(NULL, 0);
    CHECK_INT(fa_holding_check(&held, &op), FAINA_WRONG_WORKER);
    op.by.version = 8;
    CHECK_INT(fa_holding_check_version(&held, &op), FAINA_VERSION_CONFLICT);
    op.by.version = 9;
    CHECK_INT(fa_holding_check_version(&held, &op), FAINA_OK);
}

static void test_refusal__sentences(void **state)
{
    const struct fa_holding held = {FAINA_CLAIMED, "w", 7, 9}, lost = {FAINA_PENDING, NULL, 7, 10};
    struct fa_op op = op_by("v", 0);

    CHECK_INT(fa_holding_refuse(&held, FA_CLAIM, &op), FAINA_TASK_ALREADY_CLAIMED);
    CHECK_STR(op.error.message, "worker w holds the task");
    CHECK_INT(fa_holding_refuse(&lost, FA_COMPLETE, &op), FAINA_TASK_NOT_CLAIMED);
    CHECK_TRUE(strstr(op.error.message, "its lease or its attempt has ended") != NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusal__only_the_holder),
        cmocka_unit_test(test_refusal__sentences),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
