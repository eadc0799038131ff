/*
 * test_policies.c - when a task runs again: retryAfter, snooze, lost leases.
 */
#include "support/ops.h"

#include "base/clock.h"

#define HOUR_MS (INT64_C(3600) * 1000)
#define HOUR_US (HOUR_MS * 1000)
#define MINUTE_US (INT64_C(60) * 1000000)

/* ------------------------------------------------------------------------------------------
 * Retries
 */

/* Within a minute of `want_us`. */
static void check_about(const char *name, int64_t us, int64_t want_us)
{
    CHECK(us > want_us - MINUTE_US && us < want_us + MINUTE_US, "%s is %lld s off", name,
          (long long)((us - want_us) / 1000000));
}

static void test_retry__default_waits_are_for_outages(struct fa_t *t)
{
    static const int64_t waits_s[] = {15, 120, 960};
    const char *id = fa_t_submit(t, .type = "x");

    for (size_t i = 0; i < FA_COUNT(waits_s); i++) {
        int64_t wait_us;

        CHECK_OK(t, fa_t_claim(t, id, "w"));
        CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no route"));
        CHECK_STATUS(t->task->status, FAINA_PENDING);
        wait_us = t->task->run_at_us - t->task->updated_us;
        CHECK(wait_us >= waits_s[i] * 500000 - 1000 && wait_us <= waits_s[i] * 1000000 + 1000,
              "the wait after attempt %zu is %lld us", i + 1, (long long)wait_us);
    }
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no route"));
    CHECK_STATUS(t->task->status, FAINA_DEAD_LETTER);
}

static void test_retry__failure_says_when(struct fa_t *t)
{
    int64_t at_us = fa_clock_now_us() + 5 * HOUR_US;
    const char *id = fa_t_submit(t, .type = "x", .max_attempts = 3);

    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, fa_t_fail_with(
                    t, id, BY("w"),
                    &(struct faina_failure){.message = "busy", .retry_after_ms = 2 * HOUR_MS}));
    CHECK_STATUS(t->task->status, FAINA_PENDING);
    CHECK_INT(t->task->attempts, 1);
    check_about("runAt", t->task->run_at_us, fa_clock_now_us() + 2 * HOUR_US);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w"));
    CHECK_INT(t->op.tasks->count, 0);
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, fa_t_fail_with(t, id, BY("w"),
                               &(struct faina_failure){.message = "busy", .retry_at_us = at_us}));
    CHECK_INT(t->task->run_at_us, at_us);
    /* It doesn't give another attempt, and a time that is over means now. */
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, fa_t_fail_with(t, id, BY("w"),
                               &(struct faina_failure){.message = "busy", .retry_after_ms = 1}));
    CHECK_STATUS(t->task->status, FAINA_DEAD_LETTER);
    id = fa_t_submit(t, .type = "past");
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, fa_t_fail_with(t, id, BY("w"),
                               &(struct faina_failure){.message = "busy", .retry_at_us = 1000000}));
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w"));
    CHECK_INT(t->op.tasks->count, 1);
}

static void test_retry__bad_times_are_refused(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");
    const struct faina_failure bad[] = {
        {.message = "x", .retry_after_ms = -1},
        {.message = "x", .retry_after_ms = INT64_MAX},
        {.message = "x", .retry_at_us = -1},
        {.message = "x", .retry_after_ms = 1, .retry_at_us = 1},
    };

    for (size_t i = 0; i < FA_COUNT(bad); i++) {
        CHECK_CODE(t, fa_t_fail_with(t, id, BY("w"), &bad[i]), FAINA_INVALID_REQUEST);
        CHECK_STR(t->op.error.field, "error.retryAfter");
    }
    CHECK_NOW(t, id, FAINA_RUNNING);
}

static void test_retry__lost_lease_is_retried_at_once(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .retry = {.base_ms = 100 * HOUR_MS});

    CHECK_OK(t, fa_t_claim_for(t, id, "w", 1));
    fa_t_wait_status(t, id, FAINA_PENDING);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "v"));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_INT(t->op.tasks->items[0].attempts, 2);
}

/* ------------------------------------------------------------------------------------------
 * Snooze
 */

static enum faina_code snooze(struct fa_t *t, const char *id, struct faina_by by, int64_t for_ms)
{
    return fa_t_run(
        t, &(struct fa_op){
               .kind = FA_OP_SNOOZE, .id = id, .by = by, .wants_task = true, .snooze_ms = for_ms});
}

static void test_snooze__spends_no_attempt(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .max_attempts = 1);
    int64_t fence;

    for (int i = 0; i < 3; i++) {
        CHECK_OK(t, fa_t_claim(t, id, "w"));
        fence = t->task->fence;
        if (i > 0)
            CHECK_OK(t, fa_t_start(t, id, BY("w")));
        CHECK_OK(t, snooze(t, id, BY("w", .fence = fence), i == 2 ? 0 : 10 * HOUR_MS));
        CHECK_STATUS(t->task->status, FAINA_PENDING);
        CHECK_INT(t->task->attempts, 0);
        CHECK_STR(t->task->worker_id, NULL);
        if (i < 2)
            check_about("runAt", t->task->run_at_us, fa_clock_now_us() + 10 * HOUR_US);
    }
    CHECK_STORY(t, id, "created claimed snoozed claimed started snoozed claimed started snoozed");
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w")); /* due at once */
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_INT(t->op.tasks->items[0].attempts, 1);
}

static void test_snooze__ends_by_itself(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");
    struct faina_claim claim = {.worker_id = "w", .wait_ms = 60000};

    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, snooze(t, id, BY("w"), 50));
    CHECK_OK(t, fa_t_claim_wait(t, &claim));
    CHECK_INT(t->op.tasks->count, 1);
}

static void test_snooze__frees_the_resources(struct fa_t *t)
{
    const char *gpu = "gpu";
    const char *id = fa_t_submit(t, .type = "x", .resources = &gpu, .resource_count = 1);

    CHECK_OK(t, fa_t_resource_set(t, gpu, 1));
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_INT(fa_t_in_use(t, gpu), 1);
    CHECK_OK(t, snooze(t, id, BY("w"), HOUR_MS));
    CHECK_INT(fa_t_in_use(t, gpu), 0);
}

static void test_snooze__is_refused(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");
    int64_t fence = fa_t_task(t, id)->fence;

    CHECK_CODE(t, snooze(t, id, BY("v"), 1000), FAINA_WRONG_WORKER);
    CHECK_CODE(t, snooze(t, id, BY("w", .fence = fence + 1), 1000), FAINA_WRONG_WORKER);
    CHECK_CODE(t, snooze(t, id, BY("w", .version = 1), 1000), FAINA_VERSION_CONFLICT);
    CHECK_CODE(t, snooze(t, id, BY("w"), -1), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, snooze(t, id, BY("w"), INT64_MAX), FAINA_INVALID_REQUEST);
    CHECK_STR(t->op.error.field, "for");
    CHECK_NOW(t, id, FAINA_RUNNING);
    id = fa_t_make(t, FAINA_PENDING, "w");
    CHECK_CODE(t, snooze(t, id, BY("w"), 1000), FAINA_TASK_NOT_CLAIMED);
    id = fa_t_make(t, FAINA_COMPLETED, "w");
    CHECK_CODE(t, snooze(t, id, BY("w"), 1000), FAINA_TASK_COMPLETED);
    id = fa_t_make(t, FAINA_CANCELLED, "w");
    CHECK_CODE(t, snooze(t, id, BY("w"), 1000), FAINA_INVALID_TRANSITION);
}

/* A resumed parent that is snoozed resumes again, in the same attempt. */
static void test_snooze__keeps_the_phase(struct fa_t *t)
{
    const struct faina_submit child = {.type = "kid"};
    const char *id = fa_t_submit(t, .type = "x");

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_block(t, id, BY("w"), &child, 1));
    fa_t_finish_task(t, fa_t_child(t, id, 0));
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_INT(t->task->phase, FAINA_PHASE_RESUME);
    CHECK_OK(t, snooze(t, id, BY("w"), 0));
    CHECK_INT(t->task->attempts, 1);
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_retry__default_waits_are_for_outages),
        FA_T_CASE(test_retry__failure_says_when),
        FA_T_CASE(test_retry__bad_times_are_refused),
        FA_T_CASE(test_retry__lost_lease_is_retried_at_once),
        FA_T_CASE(test_snooze__spends_no_attempt),
        FA_T_CASE(test_snooze__ends_by_itself),
        FA_T_CASE(test_snooze__frees_the_resources),
        FA_T_CASE(test_snooze__is_refused),
        FA_T_CASE_SQL(test_snooze__keeps_the_phase),
    };

    return fa_t_main(argc, argv, "policies", cases, FA_COUNT(cases));
}
