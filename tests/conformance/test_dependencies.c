/*
 * test_dependencies.c - tasks that wait for other tasks (dependsOn).
 */
#include "support/ops.h"

#include "base/clock.h"

static const char *submit_after(struct fa_t *t, const char *a, const char *b)
{
    const char *ids[] = {a, b};

    return fa_t_submit(t, .type = "after", .depends_on = ids,
                       .depends_on_count = (a != NULL) + (b != NULL));
}

static void test_depends__blocked_until_all_completed(struct fa_t *t)
{
    const char *a = fa_t_submit(t, .type = "x"), *b = fa_t_submit(t, .type = "x");
    const char *id = submit_after(t, a, b);
    const char *types[] = {"after"};

    CHECK_STATUS(t->task->status, FAINA_BLOCKED);
    CHECK_STORY(t, id, "created");
    CHECK_CODE(t, fa_t_claim(t, id, "w"), FAINA_INVALID_TRANSITION);
    fa_t_finish_task(t, a);
    CHECK_NOW(t, id, FAINA_BLOCKED);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .types = types, .type_count = 1));
    CHECK_INT(t->op.tasks->count, 0);
    fa_t_finish_task(t, b);
    CHECK_STATUS(fa_t_task(t, id)->status, FAINA_PENDING);
    CHECK_INT(t->task->phase, FAINA_PHASE_START);
    CHECK_STORY(t, id, "created unblocked");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .types = types, .type_count = 1));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_INT(t->op.tasks->items[0].attempts, 1);
    CHECK_INT(t->op.tasks->items[0].depends_on_count, 2);
}

static void test_depends__completed_ones_are_met(struct fa_t *t)
{
    const char *a = fa_t_make(t, FAINA_COMPLETED, "w"), *b = fa_t_submit(t, .type = "x");
    const char *id;

    submit_after(t, a, NULL);
    CHECK_STATUS(t->task->status, FAINA_PENDING);
    id = submit_after(t, a, b);
    CHECK_STATUS(t->task->status, FAINA_BLOCKED);
    fa_t_finish_task(t, b);
    CHECK_NOW(t, id, FAINA_PENDING);
}

static void test_depends__unknown_id_is_refused(struct fa_t *t)
{
    static const char *const unknown[] = {"01890a5d-ac96-774b-bcce-b302099a8057", "", "nonsense"};
    const char *known = fa_t_submit(t, .type = "x");
    const char *deleted = fa_t_make(t, FAINA_COMPLETED, "w");

    for (size_t i = 0; i < FA_COUNT(unknown); i++) {
        const char *ids[] = {known, unknown[i]};

        CHECK_CODE(t, fa_t_try_submit(t, .type = "after", .depends_on = ids, .depends_on_count = 2),
                   FAINA_INVALID_TASK);
        CHECK_STR(t->op.error.field, "dependsOn");
    }
    CHECK_OK(t, fa_t_delete(t, deleted));
    CHECK_CODE(t,
               fa_t_try_submit(t, .type = "after", .depends_on = &deleted, .depends_on_count = 1),
               FAINA_INVALID_TASK);
    CHECK_OK(t, fa_t_list(t, .type = "after"));
    CHECK_INT(t->op.tasks->count, 0);
}

static void test_depends__same_id_twice_counts_once(struct fa_t *t)
{
    const char *a = fa_t_submit(t, .type = "x");
    const char *id = submit_after(t, a, a);

    CHECK_INT(t->task->depends_on_count, 1);
    fa_t_finish_task(t, a);
    CHECK_NOW(t, id, FAINA_PENDING);
}

static void test_depends__bad_end_gives_phase_error(struct fa_t *t)
{
    static const enum faina_status bad[] = {FAINA_FAILED, FAINA_DEAD_LETTER, FAINA_CANCELLED};

    for (size_t i = 0; i < FA_COUNT(bad); i++) {
        const char *a = fa_t_submit(t, .type = "x", .max_attempts = 1);
        const char *id = submit_after(t, a, NULL);

        if (bad[i] == FAINA_FAILED)
            CHECK_OK(t, fa_t_fail_final(t, a, NOBODY, "no"));
        if (bad[i] == FAINA_CANCELLED)
            CHECK_OK(t, fa_t_cancel(t, a, NOBODY));
        if (bad[i] == FAINA_DEAD_LETTER) {
            fa_t_take(t, a, "w");
            CHECK_OK(t, fa_t_fail_attempt(t, a, BY("w"), "no"));
        }
        CHECK_STATUS(fa_t_task(t, id)->status, FAINA_PENDING);
        CHECK_INT(t->task->phase, FAINA_PHASE_ERROR);
        CHECK_OK(t, fa_t_claim(t, id, "w"));
        CHECK_INT(t->task->phase, FAINA_PHASE_ERROR);
        CHECK_INT(t->task->attempts, 1);
    }
}

static void test_depends__bad_end_before_the_submit(struct fa_t *t)
{
    const char *a = fa_t_make(t, FAINA_FAILED, "w"), *b = fa_t_submit(t, .type = "x");
    const char *id;

    submit_after(t, a, NULL);
    CHECK_STATUS(t->task->status, FAINA_PENDING);
    CHECK_INT(t->task->phase, FAINA_PHASE_ERROR);
    id = submit_after(t, a, b);
    CHECK_STATUS(t->task->status, FAINA_BLOCKED);
    fa_t_finish_task(t, b);
    CHECK_STATUS(fa_t_task(t, id)->status, FAINA_PENDING);
    CHECK_INT(t->task->phase, FAINA_PHASE_ERROR);
}

static void test_depends__bad_end_waits_for_the_others(struct fa_t *t)
{
    const char *a = fa_t_submit(t, .type = "x"), *b = fa_t_submit(t, .type = "x");
    const char *id = submit_after(t, a, b);

    CHECK_OK(t, fa_t_cancel(t, a, NOBODY));
    CHECK_NOW(t, id, FAINA_BLOCKED);
    fa_t_finish_task(t, b);
    CHECK_STATUS(fa_t_task(t, id)->status, FAINA_PENDING);
    CHECK_INT(t->task->phase, FAINA_PHASE_ERROR);
}

static void test_depends__retried_one_counts_again(struct fa_t *t)
{
    const char *a = fa_t_submit(t, .type = "x"), *b = fa_t_submit(t, .type = "x");
    const char *id = submit_after(t, a, b);

    CHECK_OK(t, fa_t_cancel(t, a, NOBODY));
    CHECK_OK(t, fa_t_retry(t, a, NOBODY));
    fa_t_finish_task(t, b);
    CHECK_NOW(t, id, FAINA_BLOCKED);
    fa_t_finish_task(t, a);
    CHECK_STATUS(fa_t_task(t, id)->status, FAINA_PENDING);
    CHECK_INT(t->task->phase, FAINA_PHASE_START);
}

static void test_depends__retry_waits_again(struct fa_t *t)
{
    const char *a = fa_t_submit(t, .type = "x");
    const char *id = submit_after(t, a, NULL);

    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_STATUS(t->task->status, FAINA_BLOCKED);
    CHECK_STORY(t, id, "created cancelled retried blocked");
    CHECK_CODE(t, fa_t_claim(t, id, "w"), FAINA_INVALID_TRANSITION);
    fa_t_finish_task(t, a);
    CHECK_STATUS(fa_t_task(t, id)->status, FAINA_PENDING);
    CHECK_INT(t->task->phase, FAINA_PHASE_START);
    /* Met by now: a second retry goes straight into line. */
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_STATUS(t->task->status, FAINA_PENDING);
}

static void test_depends__run_at_still_holds(struct fa_t *t)
{
    const char *a = fa_t_submit(t, .type = "x");
    const char *types[] = {"after"};
    const char *id = fa_t_submit(t, .type = "after", .depends_on = &a, .depends_on_count = 1,
                                 .run_at_us = fa_clock_now_us() + 3600LL * 1000000);

    fa_t_finish_task(t, a);
    CHECK_NOW(t, id, FAINA_PENDING);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .types = types, .type_count = 1));
    CHECK_INT(t->op.tasks->count, 0);
    CHECK_OK(t, fa_t_claim(t, id, "w"));
}

static void test_depends__diamond(struct fa_t *t)
{
    const char *top = fa_t_submit(t, .type = "x");
    const char *left = submit_after(t, top, NULL), *right = submit_after(t, top, NULL);
    const char *bottom = submit_after(t, left, right);

    CHECK_NOW(t, bottom, FAINA_BLOCKED);
    fa_t_finish_task(t, top);
    CHECK_NOW(t, left, FAINA_PENDING);
    CHECK_NOW(t, right, FAINA_PENDING);
    CHECK_NOW(t, bottom, FAINA_BLOCKED);
    fa_t_finish_task(t, right);
    fa_t_finish_task(t, left);
    CHECK_NOW(t, bottom, FAINA_PENDING);
}

static void test_depends__cancel_leaves_what_it_waits_for(struct fa_t *t)
{
    const char *a = fa_t_submit(t, .type = "x");
    const char *id = submit_after(t, a, NULL);

    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_NOW(t, a, FAINA_PENDING);
    fa_t_finish_task(t, a);
    CHECK_NOW(t, id, FAINA_CANCELLED);
}

static void test_depends__inside_one_batch(struct fa_t *t)
{
    const char *a = fa_t_submit(t, .type = "x");
    struct faina_submit after = {.type = "after", .depends_on = &a, .depends_on_count = 1};
    struct fa_op ops[] = {
        {.kind = FA_OP_SUBMIT, .submit = &after},
        {.kind = FA_OP_START, .id = a, .by = BY("w")},
        {.kind = FA_OP_COMPLETE, .id = a, .by = BY("w")},
        {.kind = FA_OP_SUBMIT, .submit = &after},
    };

    fa_t_run_all(t, ops, FA_COUNT(ops));
    for (size_t i = 0; i < FA_COUNT(ops); i++)
        CHECK(ops[i].code == FAINA_OK, "operation %zu: %s", i, ops[i].error.message);
    CHECK_NOW(t, ops[0].task_id, FAINA_PENDING);
    CHECK_NOW(t, ops[3].task_id, FAINA_PENDING);
}

/* A claim in the batch that makes the task, as of a pool that waits for work, knows of them too. */
static void test_depends__claimed_at_once_with_its_dependencies(struct fa_t *t)
{
    static const char *const types[] = {"after"};
    const char *a = fa_t_make(t, FAINA_FAILED, "w"), *b = fa_t_make(t, FAINA_COMPLETED, "w");
    const char *ids[] = {a, b};
    struct faina_submit after = {.type = "after", .depends_on = ids, .depends_on_count = 2};
    struct faina_claim claim = {.worker_id = "w", .types = types, .type_count = 1};
    struct fa_op ops[] = {
        {.kind = FA_OP_SUBMIT, .submit = &after},
        {.kind = FA_OP_CLAIM_NEXT, .claim = &claim},
    };
    const struct faina_task *task;

    fa_t_run_all(t, ops, FA_COUNT(ops));
    CHECK_INT(ops[1].code, FAINA_OK);
    CHECK_INT(ops[1].tasks->count, 1);
    task = &ops[1].tasks->items[0];
    CHECK_STR(task->id, ops[0].task_id);
    CHECK_INT(task->phase, FAINA_PHASE_ERROR);
    CHECK_INT(task->depends_on_count, 2);
    CHECK_STR(task->depends_on[0], a);
    CHECK_STR(task->depends_on[1], b);
}

static void test_depends__survives_reopening(struct fa_t *t)
{
    const char *a = fa_t_submit(t, .type = "x"), *b = fa_t_submit(t, .type = "x");
    const char *id = submit_after(t, a, b);

    fa_t_finish_task(t, a);
    fa_t_reopen(t);
    CHECK_NOW(t, id, FAINA_BLOCKED);
    fa_t_finish_task(t, b);
    fa_t_reopen(t);
    CHECK_NOW(t, id, FAINA_PENDING);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_SQL(test_depends__blocked_until_all_completed),
        FA_T_CASE_SQL(test_depends__completed_ones_are_met),
        FA_T_CASE_SQL(test_depends__unknown_id_is_refused),
        FA_T_CASE_SQL(test_depends__same_id_twice_counts_once),
        FA_T_CASE_SQL(test_depends__bad_end_gives_phase_error),
        FA_T_CASE_SQL(test_depends__bad_end_before_the_submit),
        FA_T_CASE_SQL(test_depends__bad_end_waits_for_the_others),
        FA_T_CASE_SQL(test_depends__retried_one_counts_again),
        FA_T_CASE_SQL(test_depends__retry_waits_again),
        FA_T_CASE_SQL(test_depends__run_at_still_holds),
        FA_T_CASE_SQL(test_depends__diamond),
        FA_T_CASE_SQL(test_depends__cancel_leaves_what_it_waits_for),
        FA_T_CASE_SQL(test_depends__inside_one_batch),
        FA_T_CASE_SQL(test_depends__claimed_at_once_with_its_dependencies),
        FA_T_CASE_NEEDS(test_depends__survives_reopening, FA_T_DURABLE | FA_T_SQL),
    };

    return fa_t_main(argc, argv, "dependencies", cases, FA_COUNT(cases));
}
