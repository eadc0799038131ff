/*
 * test_003_tasks.c - document 003: outcomes, subtasks, resources, the order of dispatch, recovery.
 */
#include "support/ops.h"

static const char *submit_for(struct fa_t *t, const char *name, const char *resource)
{
    return fa_t_submit(t, .type = "enrichment", .name = name, .resources = &resource,
                       .resource_count = 1);
}

static enum faina_code take_next(struct fa_t *t)
{
    return fa_t_claim_next(t, .worker_id = "w", .limit = 1);
}

/* A parent that is blocked by the subtasks a, b and, detached, c. */
static const char *submit_blocked(struct fa_t *t)
{
    static const struct faina_submit subtasks[] = {
        {.type = "child", .name = "a"},
        {.type = "child", .name = "b"},
        {.type = "child", .name = "c", .detached = true},
    };
    const char *id = fa_t_submit(t, .type = "parent");

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_block(t, id, BY("w"), subtasks, FA_COUNT(subtasks)));
    return id;
}

/* "Four possible execution results"; "State Machine" */
static void test_003__complete(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "ingest.container");

    CHECK_NOW(t, id, FAINA_PENDING);
    fa_t_take(t, id, "w");
    CHECK_NOW(t, id, FAINA_RUNNING);
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), "{\"leafCount\":4}"));
    CHECK_STR(fa_t_task(t, id)->output, "{\"leafCount\":4}");
    CHECK_NOW(t, id, FAINA_COMPLETED);
}

/* "Blocked - Waiting on subtasks; resumes via onResume() when all complete" */
static void test_003__blocked_on_some_of_the_subtasks(struct fa_t *t)
{
    const char *id = submit_blocked(t);

    CHECK_NOW(t, id, FAINA_BLOCKED);
    CHECK_STR(fa_t_task(t, id)->worker_id, NULL);
    fa_t_finish_task(t, fa_t_child(t, id, 0));
    CHECK_NOW(t, id, FAINA_BLOCKED);
    fa_t_finish_task(t, fa_t_child(t, id, 1));
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
    CHECK_NOW(t, fa_t_child(t, id, 2), FAINA_PENDING);
    CHECK_OK(t, fa_t_complete(t, id, BY("v"), NULL));
}

/* "If any subtask fails, the parent receives onError()" */
static void test_003__on_error(struct fa_t *t)
{
    const char *id = submit_blocked(t);

    CHECK_OK(t, fa_t_fail_final(t, fa_t_child(t, id, 2), NOBODY, "not waited for"));
    CHECK_OK(t, fa_t_fail_final(t, fa_t_child(t, id, 0), NOBODY, "no disk"));
    fa_t_finish_task(t, fa_t_child(t, id, 1));
    fa_t_check_goes_on(t, id, FAINA_PHASE_ERROR);
    CHECK_OK(t, fa_t_children(t, id, 0, NULL));
    CHECK(strstr(t->op.tasks->items[0].error, "no disk") != NULL, "%s",
          t->op.tasks->items[0].error);
}

/* "Background - Running externally; completed via TaskService.complete()" */
static void test_003__background(struct fa_t *t)
{
    const char *done = fa_t_make(t, FAINA_BACKGROUND, "w");
    const char *failed = fa_t_make(t, FAINA_BACKGROUND, "w");

    CHECK_TRUE(fa_t_task(t, done)->expires_us != 0);
    CHECK_STR(fa_t_task(t, done)->worker_id, NULL);
    CHECK_OK(t, fa_t_complete(t, done, NOBODY, "1"));
    CHECK_NOW(t, done, FAINA_COMPLETED);
    CHECK_OK(t, fa_t_fail_final(t, failed, NOBODY, "e"));
    CHECK_NOW(t, failed, FAINA_FAILED);
}

/* "Stale BACKGROUND - expires_at has passed -> returned to OPEN" */
static void test_003__stale_background(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .retry = {.base_ms = 1, .max_ms = 1});

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_background(t, id, BY("w"), 50));
    fa_t_wait_status(t, id, FAINA_PENDING);
    CHECK_INT(fa_t_task(t, id)->attempts, 1);
}

/* "Leaked IN_PROGRESS - claimed_at older than lease duration -> returned to OPEN" */
static void test_003__leaked_in_progress(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");

    CHECK_OK(t, fa_t_claim_for(t, id, "w", 50));
    fa_t_wait_status(t, id, FAINA_PENDING);
    CHECK_STR(fa_t_task(t, id)->worker_id, NULL); /* the executor: anybody may claim it */
    CHECK_OK(t, fa_t_claim(t, id, "v"));
}

/* "ERROR -> OPEN (if retryable, retries < max) -> DEAD (retries exhausted)" */
static void test_003__error_open_or_dead(struct fa_t *t)
{
    const char *id =
        fa_t_submit(t, .type = "x", .max_attempts = 2, .retry = {.base_ms = 1, .max_ms = 1});

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "IOException"));
    CHECK_NOW(t, id, FAINA_PENDING);
    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "IOException"));
    CHECK_NOW(t, id, FAINA_DEAD_LETTER);
    id = fa_t_submit(t, .type = "x");
    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_fail_final(t, id, BY("w"), "not retryable"));
    CHECK_NOW(t, id, FAINA_FAILED);
}

/* "Throttling": the example with three tasks. */
static void test_003__throttling(struct fa_t *t)
{
    const char *a = submit_for(t, "a", "ollama"), *c;

    submit_for(t, "b", "ollama");
    c = submit_for(t, "c", "ollama");
    CHECK_OK(t, fa_t_resource_set(t, "ollama", 2));
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 9));
    CHECK_STR(fa_t_names(t, t->op.tasks), "a b");
    CHECK_OK(t, take_next(t));
    CHECK_INT(t->op.tasks->count, 0);
    CHECK_OK(t, fa_t_complete(t, a, BY("w"), NULL));
    CHECK_OK(t, take_next(t));
    CHECK_STR(fa_t_names(t, t->op.tasks), "c");
    CHECK_NOW(t, c, FAINA_CLAIMED);
    CHECK_INT(fa_t_in_use(t, "ollama"), 2);
}

/* "current_load is derived": a recovered task uses the resource no more. */
static void test_003__load_is_derived(struct fa_t *t)
{
    const char *a = submit_for(t, "a", "ollama");

    CHECK_OK(t, fa_t_resource_set(t, "ollama", 1));
    CHECK_OK(t, fa_t_claim_for(t, a, "w", 50));
    CHECK_INT(fa_t_in_use(t, "ollama"), 1);
    fa_t_wait_status(t, a, FAINA_PENDING);
    CHECK_INT(fa_t_in_use(t, "ollama"), 0);
}

/* "ORDER BY t.priority DESC, t.created_at ASC" */
static void test_003__order_of_dispatch(struct fa_t *t)
{
    fa_t_submit(t, .type = "x", .name = "third", .priority = 1);
    fa_t_submit(t, .type = "y", .name = "fourth", .priority = 1);
    fa_t_submit(t, .type = "x", .name = "first", .priority = 150);
    fa_t_submit(t, .type = "y", .name = "second", .priority = 128);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 9));
    CHECK_STR(fa_t_names(t, t->op.tasks), "first second third fourth");
}

/* "TaskHandle": any node can wait for a task that another one completes. */
static void test_003__task_handle(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");

    CHECK_CODE(t, fa_t_wait(t, id, 1), FAINA_TIMEOUT); /* await(timeout) */
    fa_t_finish_task(t, id);
    CHECK_OK(t, fa_t_wait(t, id, 10000));
    CHECK_STATUS(t->task->status, FAINA_COMPLETED);
    CHECK_STR(t->task->output, "{}");
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_003__complete),
        FA_T_CASE_SQL(test_003__blocked_on_some_of_the_subtasks),
        FA_T_CASE_SQL(test_003__on_error),
        FA_T_CASE(test_003__background),
        FA_T_CASE(test_003__stale_background),
        FA_T_CASE(test_003__leaked_in_progress),
        FA_T_CASE(test_003__error_open_or_dead),
        FA_T_CASE(test_003__throttling),
        FA_T_CASE(test_003__load_is_derived),
        FA_T_CASE(test_003__order_of_dispatch),
        FA_T_CASE(test_003__task_handle),
    };

    return fa_t_main(argc, argv, "003_tasks", cases, FA_COUNT(cases));
}
