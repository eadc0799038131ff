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

/* ------------------------------------------------------------------------------------------
 * Time-outs of attempts
 */

static void test_timeout__engine_ends_the_attempt(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .timeout_ms = 300, .max_attempts = 2,
                                 .retry = {.base_ms = 1, .max_ms = 1});
    struct faina_held held = {.id = id};
    struct faina_worker self = {.id = "w"};
    int64_t end_us;

    CHECK_INT(fa_t_task(t, id)->timeout_ms, 300);
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    end_us = t->task->lease_expires_us;
    CHECK(end_us <= t->task->claimed_us + 300000, "the lease is longer than the attempt");
    CHECK_OK(t, fa_t_start(t, id, BY("w")));
    end_us = t->task->lease_expires_us;
    CHECK(end_us <= t->task->started_us + 300000, "the lease is longer than the attempt");
    /* No renewal reaches beyond it. */
    (void)fa_t_heartbeat(t, id, BY("w"), 60000);
    (void)fa_t_run(t, &(struct fa_op){.kind = FA_OP_WORKER_PUT,
                                      .worker = {.self = &self, .held = &held, .held_count = 1}});
    CHECK_OK(t, fa_t_get(t, id));
    if (t->task->status == FAINA_RUNNING)
        CHECK_INT(t->task->lease_expires_us, end_us);
    fa_t_wait_status(t, id, FAINA_PENDING);
    CHECK(strstr(fa_t_task(t, id)->error, "\"kind\":\"timeout\"") != NULL, "the error is %s",
          fa_t_task(t, id)->error);
    CHECK_INT(t->task->attempts, 1);
    CHECK_CODE(t, fa_t_complete(t, id, BY("w"), NULL), FAINA_TASK_NOT_CLAIMED);
    /* The last attempt; the task is not even started. */
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    fa_t_wait_status(t, id, FAINA_DEAD_LETTER);
    CHECK(strstr(fa_t_story(t, id), " timeout ") != NULL, "%s", fa_t_story(t, id));
}

static void test_timeout__without_a_lease(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .timeout_ms = 100, .max_attempts = 1);

    CHECK_OK(t, fa_t_start(t, id, NOBODY));
    fa_t_wait_status(t, id, FAINA_DEAD_LETTER);
}

static void test_timeout__short_leases_end_first(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .timeout_ms = HOUR_MS);

    CHECK_OK(t, fa_t_claim_for(t, id, "w", 30));
    fa_t_wait_status(t, id, FAINA_PENDING);
    CHECK(strstr(fa_t_story(t, id), "lease_lost") != NULL, "%s", fa_t_story(t, id));
}

/* ------------------------------------------------------------------------------------------
 * startBy
 */

static void test_start_by__task_expires(struct fa_t *t)
{
    const char *gate = fa_t_submit(t, .type = "gate");
    const char *ids[] = {
        fa_t_submit(t, .type = "x", .start_by_ms = 100),
        fa_t_submit(t, .type = "x", .start_by_us = fa_clock_now_us() + 100000),
        fa_t_submit(t, .type = "x", .start_by_ms = 100, .delay_ms = HOUR_MS),
        fa_t_submit(t, .type = "x", .start_by_ms = 100, .depends_on = &gate, .depends_on_count = 1),
        fa_t_submit(t, .type = "x", .start_by_us = 1000000),
    };

    for (size_t i = 0; i < FA_COUNT(ids); i++) {
        fa_t_wait_status(t, ids[i], FAINA_CANCELLED);
        CHECK_STR(fa_t_task(t, ids[i])->state, "Expired");
        CHECK_STORY(t, ids[i], "created expired cancelled");
    }
}

static void test_start_by__started_is_started(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .start_by_ms = 200);
    const char *witness = fa_t_submit(t, .type = "y", .start_by_ms = 200);
    const char *back = fa_t_submit(t, .type = "z", .start_by_ms = 200);

    CHECK(fa_t_task(t, id)->start_by_us > 0, "no startBy");
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, fa_t_claim(t, back, "w"));
    fa_t_wait_status(t, witness, FAINA_CANCELLED);
    CHECK_NOW(t, id, FAINA_CLAIMED);
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
    CHECK_NOW(t, id, FAINA_PENDING);
    /* A claim that is given back was no start. */
    CHECK_OK(t, fa_t_release(t, back, BY("w")));
    fa_t_wait_status(t, back, FAINA_CANCELLED);
    CHECK_STR(fa_t_task(t, back)->state, "Expired");
    /* A retry of an expired task is a request to run it. */
    CHECK_OK(t, fa_t_retry(t, witness, NOBODY));
    CHECK_OK(t, fa_t_claim(t, witness, "w"));
}

/* ------------------------------------------------------------------------------------------
 * Update
 */

static enum faina_code update_by(struct fa_t *t, const char *id, int64_t version,
                                 const struct faina_update *update)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_UPDATE,
                                       .id = id,
                                       .by.version = version,
                                       .wants_task = true,
                                       .update = update});
}

#define update(t, id, ...) update_by(t, id, 0, &(struct faina_update){__VA_ARGS__})

/* The names of the tasks of type x in the order in which they are claimed. */
static const char *claim_order(struct fa_t *t)
{
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 100));
    return fa_t_names(t, t->op.tasks);
}

static void test_update__order_of_claims(struct fa_t *t)
{
    const char *a = fa_t_submit(t, .type = "x", .name = "a");
    const char *b = fa_t_submit(t, .type = "x", .name = "b");
    const char *c = fa_t_submit(t, .type = "x", .name = "c");
    const char *d = fa_t_submit(t, .type = "x", .name = "d", .delay_ms = HOUR_MS);
    const char *e = fa_t_submit(t, .type = "x", .name = "e", .delay_ms = HOUR_MS, .priority = 1);
    const char *f = fa_t_submit(t, .type = "x", .name = "f", .priority = 5);
    const char *g = fa_t_submit(t, .type = "x", .name = "g");

    CHECK_OK(t, update(t, c, .has_priority = true, .priority = 9));
    CHECK_INT(t->task->priority, 9);
    CHECK_OK(t, update(t, b, .has_priority = true, .priority = 5));
    CHECK_OK(t, update(t, f, .has_priority = true, .priority = -3, .name = "F"));
    CHECK_STR(t->task->name, "F");
    CHECK_OK(t, update(t, d, .has_run_at = true));
    CHECK_OK(t, update(t, e, .has_run_at = true, .has_priority = true, .priority = 7));
    CHECK_OK(t, update(t, g, .has_run_at = true, .run_at_us = fa_clock_now_us() + HOUR_US));
    check_about("runAt", t->task->run_at_us, fa_clock_now_us() + HOUR_US);
    CHECK_STR(claim_order(t), "c e b a d F");
    CHECK_NOW(t, a, FAINA_CLAIMED);
    CHECK_NOW(t, g, FAINA_PENDING);
}

static void test_update__every_member_and_its_event(struct fa_t *t)
{
    int64_t start_by_us = fa_clock_now_us() + HOUR_US;
    const char *id =
        fa_t_submit(t, .type = "x", .metadata = "{\"a\":1,\"b\":2}", .delay_ms = HOUR_MS);

    CHECK_OK(t, update(t, id, .name = "n", .has_priority = true, .priority = 3, .has_run_at = true,
                       .run_at_us = start_by_us, .max_attempts = 9, .timeout_ms = 5000,
                       .start_by_us = start_by_us, .metadata = "{\"b\":null,\"c\":3}"));
    CHECK_STR(t->task->name, "n");
    CHECK_INT(t->task->priority, 3);
    CHECK_INT(t->task->run_at_us, start_by_us);
    CHECK_INT(t->task->max_attempts, 9);
    CHECK_INT(t->task->timeout_ms, 5000);
    CHECK_INT(t->task->start_by_us, start_by_us);
    CHECK_STR(t->task->metadata, "{\"a\":1,\"c\":3}");
    CHECK_INT(t->task->version, 2);
    CHECK_STR(fa_t_picture(t, id), fa_t_picture(t, id));
    CHECK_OK(t, fa_t_events(t, id, 1));
    CHECK_STR(t->op.events->items[0].what, "updated");
    CHECK(strstr(t->op.events->items[0].detail, "\"before\":{\"name\":\"x\",\"priority\":0,") !=
                  NULL &&
              strstr(t->op.events->items[0].detail, "\"after\":{\"name\":\"n\",\"priority\":3,") !=
                  NULL,
          "%s", t->op.events->items[0].detail);
    CHECK_CODE(t, update_by(t, id, 1, &(struct faina_update){.name = "o"}), FAINA_VERSION_CONFLICT);
    CHECK_OK(t, update_by(t, id, 2, &(struct faina_update){.max_attempts = FAINA_UNLIMITED}));
    CHECK_INT(t->task->max_attempts, 0);
}

static void test_update__what_is_refused(struct fa_t *t)
{
    static const struct {
        enum faina_status status;
        enum faina_code code, metadata;
    } cases[] = {
        {FAINA_PENDING, FAINA_OK, FAINA_OK},
        {FAINA_BLOCKED, FAINA_OK, FAINA_OK},
        {FAINA_CLAIMED, FAINA_TASK_ACTIVE, FAINA_OK},
        {FAINA_RUNNING, FAINA_TASK_ACTIVE, FAINA_OK},
        {FAINA_BACKGROUND, FAINA_TASK_ACTIVE, FAINA_OK},
        {FAINA_COMPLETED, FAINA_TASK_COMPLETED, FAINA_TASK_COMPLETED},
        {FAINA_FAILED, FAINA_TASK_FAILED, FAINA_TASK_FAILED},
        {FAINA_DEAD_LETTER, FAINA_TASK_FAILED, FAINA_TASK_FAILED},
        {FAINA_CANCELLED, FAINA_INVALID_TRANSITION, FAINA_INVALID_TRANSITION},
    };
    const char *id;

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        id = fa_t_make(t, cases[i].status, "w");
        CHECK_CODE(t, update(t, id, .has_priority = true, .priority = 2), cases[i].code);
        CHECK_CODE(t, update(t, id, .metadata = "{\"m\":1}"), cases[i].metadata);
        CHECK_NOW(t, id, cases[i].status);
    }
    id = fa_t_submit(t, .type = "x");
    CHECK_CODE(t, update(t, id, .metadata = "[]"), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, update(t, id, .timeout_ms = -1), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, update(t, id, .max_attempts = -7), FAINA_INVALID_REQUEST);
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
    CHECK_CODE(t, update(t, id, .max_attempts = 1), FAINA_INVALID_REQUEST);
    /* A backoff is skipped. */
    CHECK_OK(t, update(t, id, .has_run_at = true));
    CHECK(strstr(claim_order(t), " x") != NULL, "the backoff was not skipped");
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
        FA_T_CASE_SQL(test_timeout__engine_ends_the_attempt),
        FA_T_CASE_SQL(test_timeout__without_a_lease),
        FA_T_CASE_SQL(test_timeout__short_leases_end_first),
        FA_T_CASE_SQL(test_start_by__task_expires),
        FA_T_CASE_SQL(test_start_by__started_is_started),
        FA_T_CASE_SQL(test_update__order_of_claims),
        FA_T_CASE_SQL(test_update__every_member_and_its_event),
        FA_T_CASE_SQL(test_update__what_is_refused),
    };

    return fa_t_main(argc, argv, "policies", cases, FA_COUNT(cases));
}
