/*
 * test_outcomes.c - how attempts end: complete, fail, repeated, late, and by which worker.
 */
#include "support/ops.h"

#include "json/json.h"

#define FAST ((struct faina_retry_policy){.base_ms = 1, .factor = 1, .max_ms = 1})
/* A random wait below a year is, all but surely, not over within a test. */
#define YEAR_MS (365LL * 24 * 3600 * 1000)
#define SLOW ((struct faina_retry_policy){.base_ms = YEAR_MS, .max_ms = YEAR_MS})

/* The member of a task's error, as raw JSON; "(none)" when it isn't there. */
static const char *error_member(struct fa_t *t, const char *error, const char *name)
{
    struct fa_json value;

    CHECK(error != NULL, "the task has no error");
    CHECK(fa_json_check(fa_str(error), 64, "error", FAINA_INTERNAL, NULL) == FAINA_OK,
          "not JSON: %s", error);
    if (!fa_json_member(fa_json_value(fa_str(error)), name, &value))
        return "(none)";
    return fa_arena_copy(&t->arena, value.raw.ptr, value.raw.len);
}

/* ------------------------------------------------------------------------------------------
 * Complete
 */

static void test_complete__stores_the_output(struct fa_t *t)
{
    static const char *const outputs[] = {
        "{\"a\": [1, 2.50]}", "null", "\"text\"", "[]", "-0.0", NULL};

    for (size_t i = 0; i < FA_COUNT(outputs); i++) {
        const char *id = fa_t_make(t, FAINA_RUNNING, "w");

        CHECK_OK(t, fa_t_complete(t, id, BY("w"), outputs[i]));
        CHECK_STATUS(t->task->status, FAINA_COMPLETED);
        CHECK_STR(t->task->output, outputs[i]);
        CHECK_STR(fa_t_task(t, id)->output, outputs[i]);
        CHECK_STR(t->task->error, NULL);
        CHECK_INT(t->task->attempts, 1);
        CHECK_TRUE(t->task->completed_us >= t->task->started_us);
    }
}

static void test_complete__again_with_the_same_output_is_ok(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");
    int64_t fence = fa_t_task(t, id)->fence;
    const char *before;

    CHECK_OK(t, fa_t_complete(t, id, BY("w"), "{\"a\":1,\"b\":2}"));
    before = fa_t_picture(t, id);
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), "{\"a\":1,\"b\":2}"));
    CHECK_STATUS(t->task->status, FAINA_COMPLETED);
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), "{ \"b\": 2, \"a\": 1 }"));
    CHECK_OK(t, fa_t_complete(t, id, BY("w", .fence = fence), "{\"a\":1,\"b\":2}"));
    CHECK_STR(fa_t_picture(t, id), before);
    CHECK_STORY(t, id, "created claimed started completed");

    id = fa_t_make(t, FAINA_RUNNING, "w");
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), NULL));
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), NULL));
}

static void test_complete__again_with_another_output_is_refused(struct fa_t *t)
{
    static const char *const others[] = {"{\"a\":2}", NULL, "null", "[]"};
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");
    const char *before;

    CHECK_OK(t, fa_t_complete(t, id, BY("w"), "{\"a\":1}"));
    before = fa_t_picture(t, id);
    for (size_t i = 0; i < FA_COUNT(others); i++)
        CHECK_CODE(t, fa_t_complete(t, id, BY("w"), others[i]), FAINA_TASK_COMPLETED);
    CHECK_CODE(t, fa_t_complete(t, id, BY("v"), "{\"a\":1}"), FAINA_TASK_COMPLETED);
    CHECK_CODE(t, fa_t_fail_attempt(t, id, BY("w"), "no"), FAINA_TASK_COMPLETED);
    CHECK_STR(fa_t_picture(t, id), before);
}

static void test_complete__again_after_reopening_is_ok(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");

    CHECK_OK(t, fa_t_complete(t, id, BY("w"), "{\"a\":1}"));
    fa_t_reopen(t);
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), "{\"a\":1}"));
    CHECK_CODE(t, fa_t_complete(t, id, BY("w"), "{\"a\":2}"), FAINA_TASK_COMPLETED);
}

static void test_complete__straight_from_claimed(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_CLAIMED, "w");

    CHECK_OK(t, fa_t_complete(t, id, BY("w"), "1"));
    CHECK_STORY(t, id, "created claimed completed");
}

/* ------------------------------------------------------------------------------------------
 * Fail
 */

static void test_fail__keeps_the_error(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");

    CHECK_OK(t, fa_t_fail_with(t, id, BY("w"),
                               &(struct faina_failure){.message = "no \"route\"\n",
                                                       .kind = "network",
                                                       .detail = "{\"host\": \"h\"}"}));
    CHECK_STATUS(t->task->status, FAINA_PENDING);
    CHECK_STR(error_member(t, t->task->error, "message"), "\"no \\\"route\\\"\\n\"");
    CHECK_STR(error_member(t, t->task->error, "kind"), "\"network\"");
    CHECK_STR(error_member(t, t->task->error, "detail"), "{\"host\": \"h\"}");
    CHECK_STR(error_member(t, t->task->error, "retryable"), "true");
    CHECK_OK(t, fa_t_claim(t, id, "w")); /* and while the next attempt runs */
    CHECK_STR(error_member(t, t->task->error, "kind"), "\"network\"");
    CHECK_OK(t, fa_t_fail_final(t, id, BY("w"), "gone"));
    CHECK_STATUS(t->task->status, FAINA_FAILED);
    CHECK_STR(error_member(t, fa_t_task(t, id)->error, "message"), "\"gone\"");
    CHECK_STR(error_member(t, t->task->error, "retryable"), "false");
}

static void test_fail__backs_off_within_the_ceiling(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .max_attempts = FAINA_UNLIMITED,
                                 .retry = {.base_ms = 1000, .factor = 3, .max_ms = 20000});
    int64_t ceiling_us = 1000000, seen_us = 0;

    for (int i = 0; i < 8; i++) {
        int64_t wait_us;

        fa_t_take(t, id, "w");
        CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
        wait_us = t->task->run_at_us - t->task->updated_us;
        CHECK(wait_us >= 0 && wait_us <= ceiling_us, "attempt %d waits %lld us, at most %lld",
              i + 1, (long long)wait_us, (long long)ceiling_us);
        seen_us = wait_us > seen_us ? wait_us : seen_us;
        ceiling_us = ceiling_us * 3 > 20000000 ? 20000000 : ceiling_us * 3;
    }
    CHECK(seen_us > 1000000, "eight waits, none over %lld us", (long long)seen_us);
}

static void test_fail__is_not_handed_out_before_its_time(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .retry = SLOW);

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w"));
    CHECK_INT(t->op.tasks->count, 0);
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_INT(t->task->attempts, 2);
}

static bool claims_it(struct fa_t *t, void *arg)
{
    (void)arg;
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w"));
    return t->op.tasks->count == 1;
}

static void test_fail__comes_back_by_itself(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .retry = {.base_ms = 40, .max_ms = 40});

    for (int attempt = 1; attempt <= 3; attempt++) {
        fa_t_wait_until(claims_it, t, NULL, "the failed task is handed out again");
        CHECK_STR(t->op.tasks->items[0].id, id);
        CHECK_INT(t->op.tasks->items[0].attempts, attempt);
        CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
    }
}

static void test_fail__default_is_four_attempts(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .retry = FAST);

    for (int attempt = 1; attempt <= 4; attempt++) {
        fa_t_take(t, id, "w");
        CHECK_INT(t->task->attempts, attempt);
        CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
        CHECK_STATUS(t->task->status, attempt < 4 ? FAINA_PENDING : FAINA_DEAD_LETTER);
        CHECK_STR(error_member(t, t->task->error, "message"), "\"no\"");
    }
    CHECK_STORY(t, id,
                "created claimed started retry_scheduled claimed started retry_scheduled "
                "claimed started retry_scheduled claimed started dead_letter");
}

static void test_fail__unlimited_never_ends_in_dead_letter(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .max_attempts = FAINA_UNLIMITED, .retry = FAST);

    for (int attempt = 1; attempt <= 60; attempt++) {
        CHECK_OK(t, fa_t_claim(t, id, "w"));
        CHECK_INT(t->task->attempts, attempt);
        CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
        CHECK_STATUS(t->task->status, FAINA_PENDING);
    }
}

static void test_fail__for_good_ends_at_once(struct fa_t *t)
{
    static const enum faina_status from[] = {FAINA_CLAIMED, FAINA_RUNNING};

    for (size_t i = 0; i < FA_COUNT(from); i++) {
        const char *id = fa_t_make(t, from[i], "w");

        CHECK_OK(t, fa_t_fail_final(t, id, BY("w"), "no"));
        CHECK_STATUS(t->task->status, FAINA_FAILED);
        CHECK_INT(t->task->attempts, 1);
        CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w"));
        CHECK_INT(t->op.tasks->count, 0);
    }
}

static void test_fail__last_attempt_from_each_status(struct fa_t *t)
{
    for (int i = 0; i < 3; i++) {
        const char *id = fa_t_submit(t, .type = "x", .max_attempts = 1);

        CHECK_OK(t, fa_t_claim(t, id, "w"));
        if (i > 0)
            CHECK_OK(t, fa_t_start(t, id, BY("w")));
        if (i > 1)
            CHECK_OK(t, fa_t_background(t, id, BY("w"), 0));
        CHECK_OK(t, fa_t_fail_attempt(t, id, i > 1 ? NOBODY : BY("w"), "no"));
        CHECK_STATUS(t->task->status, FAINA_DEAD_LETTER);
    }
}

static void test_fail__same_again_is_ok_until_somebody_claims(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .retry = SLOW);
    const char *before;
    int64_t fence;

    fa_t_take(t, id, "w");
    fence = t->task->fence;
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w", .fence = fence), "no"));
    before = fa_t_picture(t, id);
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w", .fence = fence), "no"));
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
    CHECK_STR(fa_t_picture(t, id), before);
    CHECK_STORY(t, id, "created claimed started retry_scheduled");
    /* Somebody else's late word in between makes no difference. */
    CHECK_CODE(t, fa_t_fail_attempt(t, id, BY("v"), "no"), FAINA_TASK_NOT_CLAIMED);
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));

    CHECK_OK(t, fa_t_claim(t, id, "v"));
    before = fa_t_picture(t, id);
    CHECK_CODE(t, fa_t_fail_attempt(t, id, BY("w", .fence = fence), "no"), FAINA_WRONG_WORKER);
    CHECK_STR(fa_t_picture(t, id), before);
}

static void test_fail__same_again_after_the_end_is_ok(struct fa_t *t)
{
    const char *failed = fa_t_make(t, FAINA_RUNNING, "w");
    const char *dead = fa_t_make(t, FAINA_DEAD_LETTER, "w");
    const char *failed_before, *dead_before = fa_t_picture(t, dead);

    CHECK_OK(t, fa_t_fail_final(t, failed, BY("w"), "no"));
    failed_before = fa_t_picture(t, failed);
    CHECK_OK(t, fa_t_fail_final(t, failed, BY("w"), "no"));
    CHECK_OK(t, fa_t_fail_attempt(t, dead, BY("w"), "made to fail"));
    CHECK_STR(fa_t_picture(t, failed), failed_before);
    CHECK_STR(fa_t_picture(t, dead), dead_before);
    CHECK_CODE(t, fa_t_fail_final(t, failed, BY("v"), "no"), FAINA_TASK_FAILED);
    CHECK_CODE(t, fa_t_complete(t, failed, BY("w"), "1"), FAINA_TASK_FAILED);
}

/* ------------------------------------------------------------------------------------------
 * Late
 */

static void check_late(struct fa_t *t, const char *id, const char *worker_id)
{
    CHECK_OK(t, fa_t_events(t, id, 1));
    CHECK_STR(t->op.events->items[0].what, "late_result");
    CHECK_STR(t->op.events->items[0].worker_id, worker_id);
}

static void test_late__old_fence_is_refused_and_noted(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .retry = FAST);
    int64_t old;
    const char *before;

    fa_t_take(t, id, "w");
    old = t->task->fence;
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
    fa_t_take(t, id, "w"); /* the same worker, but a new claim */
    before = fa_t_picture(t, id);
    CHECK_CODE(t, fa_t_complete(t, id, BY("w", .fence = old), "1"), FAINA_WRONG_WORKER);
    check_late(t, id, "w");
    CHECK_CODE(t, fa_t_fail_attempt(t, id, BY("w", .fence = old), "x"), FAINA_WRONG_WORKER);
    check_late(t, id, "w");
    CHECK_STR(fa_t_picture(t, id), before);
    CHECK_STORY(t, id,
                "created claimed started retry_scheduled claimed started late_result "
                "late_result");
    CHECK_OK(t, fa_t_complete(t, id, BY("w", .fence = fa_t_task(t, id)->fence), "1"));
    CHECK_STORY(t, id,
                "created claimed started retry_scheduled claimed started late_result "
                "late_result completed");
}

/* A user may fail a pending task; a worker that has lost it may not. */
static void test_late__lost_task_is_not_the_workers_to_give_up(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .retry = SLOW);
    const char *before;

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    before = fa_t_picture(t, id);
    CHECK_CODE(t, fa_t_fail_final(t, id, BY("w"), "no"), FAINA_TASK_NOT_CLAIMED);
    check_late(t, id, "w");
    CHECK_STR(fa_t_picture(t, id), before);
    CHECK_OK(t, fa_t_fail_final(t, id, NOBODY, "no"));
    CHECK_NOW(t, id, FAINA_FAILED);
}

static void test_late__reassigned_task(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");
    const char *before;

    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    fa_t_take(t, id, "v");
    before = fa_t_picture(t, id);
    CHECK_CODE(t, fa_t_complete(t, id, BY("w"), "1"), FAINA_WRONG_WORKER);
    check_late(t, id, "w");
    CHECK_STR(fa_t_picture(t, id), before);
    CHECK_OK(t, fa_t_complete(t, id, BY("v"), "2"));
    CHECK_STR(fa_t_task(t, id)->output, "2");
}

static void test_late__cancelled_task(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");
    const char *before;

    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    before = fa_t_picture(t, id);
    CHECK_CODE(t, fa_t_complete(t, id, BY("w"), "1"), FAINA_INVALID_TRANSITION);
    check_late(t, id, "w");
    CHECK_CODE(t, fa_t_fail_attempt(t, id, BY("w"), "no"), FAINA_INVALID_TRANSITION);
    CHECK_STR(fa_t_picture(t, id), before);
    CHECK_STORY(t, id, "created claimed started cancelled late_result late_result");
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_complete__stores_the_output),
        FA_T_CASE(test_complete__again_with_the_same_output_is_ok),
        FA_T_CASE(test_complete__again_with_another_output_is_refused),
        FA_T_CASE_DURABLE(test_complete__again_after_reopening_is_ok),
        FA_T_CASE(test_complete__straight_from_claimed),
        FA_T_CASE(test_fail__keeps_the_error),
        FA_T_CASE(test_fail__backs_off_within_the_ceiling),
        FA_T_CASE(test_fail__is_not_handed_out_before_its_time),
        FA_T_CASE(test_fail__comes_back_by_itself),
        FA_T_CASE(test_fail__default_is_four_attempts),
        FA_T_CASE(test_fail__unlimited_never_ends_in_dead_letter),
        FA_T_CASE(test_fail__for_good_ends_at_once),
        FA_T_CASE(test_fail__last_attempt_from_each_status),
        FA_T_CASE(test_fail__same_again_is_ok_until_somebody_claims),
        FA_T_CASE(test_fail__same_again_after_the_end_is_ok),
        FA_T_CASE(test_late__old_fence_is_refused_and_noted),
        FA_T_CASE(test_late__lost_task_is_not_the_workers_to_give_up),
        FA_T_CASE(test_late__reassigned_task),
        FA_T_CASE(test_late__cancelled_task),
    };

    return fa_t_main(argc, argv, "outcomes", cases, FA_COUNT(cases));
}
