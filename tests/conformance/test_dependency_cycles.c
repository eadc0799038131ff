/*
 * test_dependency_cycles.c - a subtask that would wait for its own ancestors is refused.
 */
#include "support/ops.h"

static enum faina_code block_after(struct fa_t *t, const char *id, const char *worker,
                                   const char *need)
{
    struct faina_submit children[] = {
        {.type = "child"}, {.type = "child", .depends_on = &need, .depends_on_count = 1}};

    return fa_t_block(t, id, BY(worker), children, 2);
}

static void check_cycle(struct fa_t *t, const char *id, const char *need)
{
    const char *before = fa_t_picture(t, id);

    CHECK_CODE(t, block_after(t, id, "w", need), FAINA_INVALID_TASK);
    CHECK_STR(t->op.error.field, "dependsOn");
    CHECK(strstr(t->op.error.message, "subtask 2 would wait forever") != NULL, "%s",
          t->op.error.message);
    CHECK(strstr(t->op.error.message, need) != NULL, "%s", t->op.error.message);
    CHECK_STR(fa_t_picture(t, id), before);
    CHECK_OK(t, fa_t_children(t, id, 0, NULL));
    CHECK_INT(t->op.tasks->count, 0);
}

static const char *submit_after(struct fa_t *t, const char *need)
{
    return fa_t_submit(t, .type = "after", .depends_on = &need, .depends_on_count = 1);
}

/* A subtask that depends on its parent, or on one above it. */
static void test_dependency_cycles__a_subtask_cant_depend_on_an_ancestor(struct fa_t *t)
{
    struct faina_submit child = {.type = "child"};
    const char *top = fa_t_make(t, FAINA_RUNNING, "w");
    const char *middle, *low;

    check_cycle(t, top, top);
    CHECK_OK(t, fa_t_block(t, top, BY("w"), &child, 1));
    middle = fa_t_child(t, top, 0);
    fa_t_take(t, middle, "w");
    CHECK_OK(t, fa_t_block(t, middle, BY("w"), &child, 1));
    low = fa_t_child(t, middle, 0);
    fa_t_take(t, low, "w");
    check_cycle(t, low, top);
    check_cycle(t, low, middle);
    check_cycle(t, low, low);
}

/* The same over others: they wait for the parent, or for a subtask of theirs that does. */
static void test_dependency_cycles__a_subtask_cant_depend_on_its_waiter(struct fa_t *t)
{
    const char *top = fa_t_make(t, FAINA_RUNNING, "w"), *id = fa_t_make(t, FAINA_RUNNING, "w");
    const char *other = fa_t_make(t, FAINA_RUNNING, "w"), *after = submit_after(t, id);
    const char *later = submit_after(t, after);

    check_cycle(t, id, after);
    check_cycle(t, id, later);
    CHECK_OK(t, block_after(t, other, "w", later));
    check_cycle(t, id, other);
    check_cycle(t, id, fa_t_child(t, other, 1));
    CHECK_OK(t, block_after(t, top, "w", fa_t_child(t, other, 0)));
    CHECK_OK(t, block_after(t, id, "w", top)); /* no cycle: none of these waits for `id` */
    fa_t_finish_task(t, fa_t_child(t, other, 0));
    fa_t_finish_task(t, fa_t_child(t, top, 0));
    fa_t_finish_task(t, fa_t_child(t, top, 1));
    fa_t_finish_task(t, top);
    fa_t_finish_task(t, fa_t_child(t, id, 0));
    fa_t_finish_task(t, fa_t_child(t, id, 1));
    fa_t_finish_task(t, id);
    fa_t_finish_task(t, after);
    fa_t_finish_task(t, later);
    CHECK_NOW(t, fa_t_child(t, other, 1), FAINA_PENDING);
}

/* An ended task blocks no other, and a subtask may depend on an earlier one. */
static void test_dependency_cycles__a_subtask_may_depend_on_others(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_RUNNING, "w"), *after = submit_after(t, id);
    struct faina_submit more = {.type = "more", .depends_on_count = 1};
    const char *first;

    CHECK_OK(t, fa_t_cancel(t, after, NOBODY));
    CHECK_OK(t, block_after(t, id, "w", after));
    first = fa_t_child(t, id, 0);
    fa_t_finish_task(t, first);
    fa_t_finish_task(t, fa_t_child(t, id, 1));
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
    more.depends_on = &first;
    CHECK_OK(t, fa_t_block(t, id, BY("v"), &more, 1));
    CHECK_NOW(t, fa_t_child(t, id, 2), FAINA_PENDING);
    CHECK_NOW(t, id, FAINA_BLOCKED);
}

/* One that is queued again waits for its dependencies again. */
static void test_dependency_cycles__a_retried_subtask_makes_no_cycle(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "parent", .retry = {.base_ms = 1, .max_ms = 1});
    const char *need = fa_t_submit(t, .type = "x");
    const char *before;

    fa_t_take(t, id, "w");
    CHECK_OK(t, block_after(t, id, "w", need));
    fa_t_finish_task(t, fa_t_child(t, id, 0));
    CHECK_OK(t, fa_t_cancel(t, fa_t_child(t, id, 1), NOBODY));
    fa_t_check_goes_on(t, id, FAINA_PHASE_ERROR);
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("v"), "again"));
    fa_t_take(t, need, "w");
    CHECK_OK(t, block_after(t, need, "w", id));
    fa_t_take(t, id, "w");
    before = fa_t_picture(t, id);
    CHECK_CODE(t, block_after(t, id, "w", need), FAINA_INVALID_TASK);
    CHECK_STR(fa_t_picture(t, id), before);
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), NULL));
    CHECK_NOW(t, fa_t_child(t, need, 1), FAINA_PENDING);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_SQL(test_dependency_cycles__a_subtask_cant_depend_on_an_ancestor),
        FA_T_CASE_SQL(test_dependency_cycles__a_subtask_cant_depend_on_its_waiter),
        FA_T_CASE_SQL(test_dependency_cycles__a_subtask_may_depend_on_others),
        FA_T_CASE_SQL(test_dependency_cycles__a_retried_subtask_makes_no_cycle),
    };

    return fa_t_main(argc, argv, "dependency_cycles", cases, FA_COUNT(cases));
}
