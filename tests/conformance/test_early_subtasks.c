/*
 * test_early_subtasks.c - subtasks that a running task creates before it waits for them.
 */
#include "support/ops.h"

#define NOWHERE "01890a5d-ac96-774b-bcce-b302099a8057"

static const struct faina_submit kid_a = {.type = "child", .name = "a", .max_attempts = 1},
                                 kid_b = {.type = "child", .name = "b", .max_attempts = 1};

static enum faina_code create(struct fa_t *t, const char *id, struct faina_by by,
                              const struct faina_submit *subtask)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_SUBTASK,
                                       .id = id,
                                       .by = by,
                                       .wants_task = true,
                                       .block = {subtask, subtask ? 1 : 0, false}});
}

/* Its id, which lives as long as the test. */
static const char *made(struct fa_t *t, const char *id, const char *worker,
                        const struct faina_submit *subtask)
{
    CHECK_OK(t, create(t, id, BY(worker), subtask));
    CHECK_STR(t->task->id, t->op.task_id);
    CHECK_STR(t->task->parent_id, id);
    return fa_arena_strdup(&t->arena, t->op.task_id);
}

static const char *make_parent(struct fa_t *t)
{
    const char *id =
        fa_t_submit(t, .type = "parent", .ns = "acme", .retry = {.base_ms = 1, .max_ms = 1});

    fa_t_take(t, id, "w");
    return id;
}

static size_t count_children(struct fa_t *t, const char *id)
{
    CHECK_OK(t, fa_t_children(t, id, 0, NULL));
    return t->op.tasks->count;
}

static void test_early_subtask__has_the_id_that_the_parent_waits_for(struct fa_t *t)
{
    struct faina_submit both[] = {kid_a, kid_b};
    const char *id = make_parent(t), *a = made(t, id, "w", &kid_a);

    CHECK_STATUS(t->task->status, FAINA_PENDING);
    CHECK_STR(t->task->ns, "acme");
    CHECK_INT(t->task->existing, false);
    CHECK_NOW(t, id, FAINA_RUNNING);
    CHECK_STORY(t, id, "created claimed started");
    CHECK_OK(t, fa_t_block(t, id, BY("w"), both, 2));
    CHECK_INT(count_children(t, id), 2);
    CHECK_STR(t->op.tasks->items[0].id, a);
    fa_t_finish_task(t, fa_t_child(t, id, 1));
    CHECK_NOW(t, id, FAINA_BLOCKED);
    fa_t_finish_task(t, a);
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
    CHECK_OK(t, fa_t_complete(t, id, BY("v"), "1"));
}

static void test_early_subtask__the_name_gives_the_same_one(struct fa_t *t)
{
    struct faina_submit other = kid_a;
    const char *id = make_parent(t), *a = made(t, id, "w", &kid_a);

    CHECK_STR(made(t, id, "w", &kid_a), a);
    CHECK_INT(t->task->existing, true);
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
    fa_t_take(t, id, "v");
    CHECK_STR(made(t, id, "v", &kid_a), a);
    other.input = "1";
    CHECK_CODE(t, create(t, id, BY("v"), &other), FAINA_INVALID_REQUEST);
    CHECK_TRUE(strstr(t->op.error.message, "another type or input") != NULL);
    CHECK_INT(count_children(t, id), 1);
}

static void test_early_subtask__refusals_change_nothing(struct fa_t *t)
{
    static const char *const missing[] = {NOWHERE};
    const struct {
        struct faina_submit subtask;
        enum faina_code code;
    } cases[] = {
        {{.type = "child"}, FAINA_INVALID_REQUEST}, /* no name */
        {{.type = "child", .name = "x", .input = "{"}, FAINA_INVALID_TASK},
        {{.type = "child", .name = "x", .ns = "other"}, FAINA_INVALID_TASK},
        {{.type = "child", .name = "x", .idempotency_key = "k"}, FAINA_INVALID_TASK},
        {{.type = "child", .name = "x", .depends_on = missing, .depends_on_count = 1},
         FAINA_INVALID_TASK},
    };
    const char *id = make_parent(t), *before = fa_t_picture(t, id), *pending;
    struct faina_submit waits = {
        .type = "child", .name = "x", .depends_on = &id, .depends_on_count = 1};

    for (size_t i = 0; i < FA_COUNT(cases); i++)
        CHECK_CODE(t, create(t, id, BY("w"), &cases[i].subtask), cases[i].code);
    CHECK_CODE(t, create(t, id, BY("w"), &waits), FAINA_INVALID_TASK); /* for its parent */
    CHECK_CODE(t, create(t, id, BY("w"), NULL), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, create(t, NOWHERE, BY("w"), &kid_a), FAINA_TASK_NOT_FOUND);
    CHECK_CODE(t, create(t, id, BY("v"), &kid_a), FAINA_WRONG_WORKER);
    CHECK_CODE(t, create(t, id, ((struct faina_by){.worker_id = "w", .fence = 99}), &kid_a),
               FAINA_WRONG_WORKER);
    CHECK_INT(count_children(t, id), 0);
    CHECK_STR(fa_t_picture(t, id), before);
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), NULL));
    CHECK_CODE(t, create(t, id, BY("w"), &kid_a), FAINA_TASK_COMPLETED);
    pending = fa_t_submit(t, .type = "parent");
    CHECK_CODE(t, create(t, pending, BY("w"), &kid_a), FAINA_TASK_NOT_CLAIMED);
    CHECK_CODE(t, create(t, fa_t_make(t, FAINA_BACKGROUND, "w"), BY("w"), &kid_a),
               FAINA_INVALID_TRANSITION);
}

static void test_early_subtask__may_end_before_the_parent_waits(struct fa_t *t)
{
    const char *id = make_parent(t);

    fa_t_finish_task(t, made(t, id, "w", &kid_a));
    CHECK_NOW(t, id, FAINA_RUNNING);
    CHECK_OK(t, fa_t_block(t, id, BY("w"), &kid_a, 1));
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
    /* In a later phase, too; but the same ones again are refused. */
    fa_t_finish_task(t, made(t, id, "v", &kid_b));
    CHECK_OK(t, fa_t_block(t, id, BY("v"), (struct faina_submit[]){kid_a, kid_b}, 2));
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
    made(t, id, "v", &kid_b);
    CHECK_CODE(t, fa_t_block(t, id, BY("v"), (struct faina_submit[]){kid_a, kid_b}, 2),
               FAINA_INVALID_REQUEST);
    CHECK_INT(count_children(t, id), 2);
}

static void fail_task(struct fa_t *t, const char *id)
{
    CHECK_OK(t, fa_t_fail_final(t, id, NOBODY, "made to fail"));
}

static void test_early_subtask__a_bad_end_counts(struct fa_t *t)
{
    const char *id = make_parent(t), *a = made(t, id, "w", &kid_a), *b = made(t, id, "w", &kid_b);

    fail_task(t, a);
    CHECK_OK(t, fa_t_block(t, id, BY("w"), (struct faina_submit[]){kid_a, kid_b, kid_a}, 3));
    CHECK_NOW(t, a, FAINA_FAILED); /* it is not retried */
    CHECK_NOW(t, id, FAINA_BLOCKED);
    fa_t_finish_task(t, b);
    fa_t_check_goes_on(t, id, FAINA_PHASE_ERROR);
    /* Another attempt retries it. */
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("v"), "no"));
    fa_t_take(t, id, "x");
    CHECK_STR(made(t, id, "x", &kid_a), a);
    CHECK_OK(t, fa_t_block(t, id, BY("x"), &kid_a, 1));
    CHECK_NOW(t, a, FAINA_PENDING);
    fa_t_finish_task(t, a);
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
}

static void test_early_subtask__a_bad_end_resumes_at_once_with_fail_fast(struct fa_t *t)
{
    const char *id = make_parent(t), *a = made(t, id, "w", &kid_a);

    made(t, id, "w", &kid_b);
    CHECK_OK(t, fa_t_cancel(t, a, NOBODY));
    CHECK_OK(t, fa_t_block_fast(t, id, BY("w"), (struct faina_submit[]){kid_a, kid_b}, 2));
    fa_t_check_goes_on(t, id, FAINA_PHASE_ERROR);
}

static void test_early_subtask__retried_by_hand_it_counts_again(struct fa_t *t)
{
    const char *id = make_parent(t), *a = made(t, id, "w", &kid_a), *b = made(t, id, "w", &kid_b);

    fail_task(t, a);
    CHECK_OK(t, fa_t_block(t, id, BY("w"), (struct faina_submit[]){kid_a, kid_b}, 2));
    CHECK_OK(t, fa_t_retry(t, a, NOBODY));
    fa_t_finish_task(t, b);
    CHECK_NOW(t, id, FAINA_BLOCKED);
    fa_t_finish_task(t, a);
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
}

/* Whatever the list of the block names, it waits for all subtasks that have not ended. */
static void test_early_subtask__is_waited_for_when_the_block_leaves_it_out(struct fa_t *t)
{
    const char *id = make_parent(t), *a = made(t, id, "w", &kid_a);

    CHECK_OK(t, fa_t_block(t, id, BY("w"), &kid_b, 1));
    fa_t_finish_task(t, fa_t_child(t, id, 1));
    CHECK_NOW(t, id, FAINA_BLOCKED);
    fa_t_finish_task(t, a);
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
}

static void test_early_subtask__detached_is_not_waited_for(struct fa_t *t)
{
    struct faina_submit loose = kid_a;
    const char *id = make_parent(t), *a;

    loose.detached = true;
    a = made(t, id, "w", &loose);
    CHECK_OK(t, fa_t_block(t, id, BY("w"), (struct faina_submit[]){loose, kid_b}, 2));
    fa_t_finish_task(t, fa_t_child(t, id, 1));
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
    CHECK_NOW(t, a, FAINA_PENDING);
}

static void test_early_subtask__cancelling_the_parent_cancels_it(struct fa_t *t)
{
    const char *id = make_parent(t), *a = made(t, id, "w", &kid_a);

    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_NOW(t, a, FAINA_CANCELLED);
}

static void test_early_subtask__of_a_claimed_task(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_CLAIMED, "w");

    made(t, id, "w", &kid_a);
    CHECK_NOW(t, id, FAINA_CLAIMED);
}

static void test_early_subtask__survives_reopening(struct fa_t *t)
{
    const char *id = make_parent(t), *a = made(t, id, "w", &kid_a);

    fa_t_reopen(t);
    CHECK_STR(made(t, id, "w", &kid_a), a);
    CHECK_OK(t, fa_t_block(t, id, BY("w"), &kid_a, 1));
    fa_t_finish_task(t, a);
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_SQL(test_early_subtask__has_the_id_that_the_parent_waits_for),
        FA_T_CASE_SQL(test_early_subtask__the_name_gives_the_same_one),
        FA_T_CASE_SQL(test_early_subtask__refusals_change_nothing),
        FA_T_CASE_SQL(test_early_subtask__may_end_before_the_parent_waits),
        FA_T_CASE_SQL(test_early_subtask__a_bad_end_counts),
        FA_T_CASE_SQL(test_early_subtask__a_bad_end_resumes_at_once_with_fail_fast),
        FA_T_CASE_SQL(test_early_subtask__retried_by_hand_it_counts_again),
        FA_T_CASE_SQL(test_early_subtask__is_waited_for_when_the_block_leaves_it_out),
        FA_T_CASE_SQL(test_early_subtask__detached_is_not_waited_for),
        FA_T_CASE_SQL(test_early_subtask__cancelling_the_parent_cancels_it),
        FA_T_CASE_SQL(test_early_subtask__of_a_claimed_task),
        FA_T_CASE_NEEDS(test_early_subtask__survives_reopening, FA_T_DURABLE | FA_T_SQL),
    };

    return fa_t_main(argc, argv, "early subtasks", cases, FA_COUNT(cases));
}
