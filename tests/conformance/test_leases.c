/*
 * test_leases.c - what time does to held and background tasks.
 *
 * Nothing here sleeps. Where a test must know that time has passed, a second task is the witness:
 * its lease ended at the same moment, and was not renewed.
 */
#include "support/ops.h"

#include "base/clock.h"

#define SHORT_MS 60
#define LONG_MS 1000 /* long enough to do something before it is over */

/* The newest event but for progress. */
#define CLOCKS_US 10000 /* how far the clock of an engine may be ahead of ours */

static const struct faina_event *newest_event(struct fa_t *t, const char *id)
{
    CHECK_OK(t, fa_t_events(t, id, 1));
    CHECK_INT(t->op.events->count, 1);
    return &t->op.events->items[0];
}

static void check_lost(struct fa_t *t, const char *id, const char *what, enum faina_status status)
{
    const struct faina_event *event = newest_event(t, id);

    CHECK_STR(event->what, what);
    CHECK_STATUS(event->status, status);
    CHECK_INT(event->actor, FAINA_ACTOR_SYSTEM);
}

static void test_lease__claimed_task_comes_back(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .retry = {.base_ms = 1, .max_ms = 1});
    int64_t lease_us;

    CHECK_OK(t, fa_t_claim_for(t, id, "w", SHORT_MS));
    lease_us = t->task->lease_expires_us;
    fa_t_wait_status(t, id, FAINA_PENDING);
    CHECK(t->task->updated_us >= lease_us, "it came back %lld us before its lease ended",
          (long long)(lease_us - t->task->updated_us));
    CHECK_INT(t->task->attempts, 1);
    CHECK_STR(t->task->worker_id, NULL);
    check_lost(t, id, "lease_lost", FAINA_PENDING);
    CHECK_STR(t->op.events->items[0].worker_id, "w");
    CHECK_OK(t, fa_t_claim(t, id, "v"));
    CHECK_INT(t->task->attempts, 2);
    CHECK_STORY(t, id, "created claimed lease_lost claimed");
}

static void test_lease__running_task_comes_back(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");

    CHECK_OK(t,
             fa_t_run(t, &(struct fa_op){
                             .kind = FA_OP_START, .id = id, .by = BY("w"), .lease_ms = SHORT_MS}));
    fa_t_wait_status(t, id, FAINA_PENDING);
    CHECK_INT(t->task->attempts, 1);
    CHECK_STORY(t, id, "created claimed started lease_lost");
}

static void test_lease__last_attempt_ends_in_dead_letter(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .max_attempts = 1);

    CHECK_OK(t, fa_t_claim_for(t, id, "w", SHORT_MS));
    fa_t_wait_status(t, id, FAINA_DEAD_LETTER);
    CHECK_INT(t->task->attempts, 1);
    CHECK(t->task->error != NULL, "a dead letter without an error");
    check_lost(t, id, "dead_letter", FAINA_DEAD_LETTER);
    CHECK_STORY(t, id, "created claimed lease_lost dead_letter");
}

static void test_lease__claim_next_takes_one_too(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");

    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .lease_ms = SHORT_MS));
    CHECK_INT(t->op.tasks->count, 1);
    fa_t_wait_status(t, id, FAINA_PENDING);
}

/* On NATS the resource is another key, which is written next. */
static bool is_unused(struct fa_t *t, void *name)
{
    return fa_t_in_use(t, name) == 0;
}

static void test_lease__frees_the_resource(struct fa_t *t)
{
    const char *gpu = "gpu";
    const char *id = fa_t_submit(t, .type = "x", .resources = &gpu, .resource_count = 1);

    CHECK_OK(t, fa_t_resource_set(t, "gpu", 1));
    CHECK_OK(t, fa_t_claim_for(t, id, "w", SHORT_MS));
    CHECK_INT(fa_t_in_use(t, "gpu"), 1);
    fa_t_wait_status(t, id, FAINA_PENDING);
    fa_t_wait_until(is_unused, t, (void *)(uintptr_t)gpu, "the resource is free");
}

/* Two tasks with the same short lease: one is renewed by a heartbeat, and the other is the
 * witness. */
static void test_lease__heartbeat_renews(struct fa_t *t)
{
    const char *beating = fa_t_submit(t, .type = "x");
    const char *witness = fa_t_submit(t, .type = "x");
    int64_t version;

    CHECK_OK(t, fa_t_claim_for(t, beating, "w", LONG_MS));
    version = t->task->version;
    CHECK_OK(t, fa_t_claim_for(t, witness, "w", LONG_MS));
    CHECK_OK(t, fa_t_heartbeat(t, beating, BY("w"), 60000));
    fa_t_wait_status(t, witness, FAINA_PENDING);
    CHECK_STATUS(fa_t_task(t, beating)->status, FAINA_CLAIMED);
    CHECK_INT(t->task->version, version);
    CHECK(t->task->lease_expires_us > fa_clock_now_us() + 20 * 1000000, "not 60 s more");
    CHECK_STORY(t, beating, "created claimed");
}

/* Whoever claims for an hour, or for five seconds, doesn't mean 30 seconds from then on. */
static void test_lease__is_renewed_as_it_was_claimed(struct fa_t *t)
{
    static const int64_t lengths_ms[] = {5000, 0, 3600000};

    for (size_t i = 0; i < FA_COUNT(lengths_ms); i++) {
        int64_t length_us = (lengths_ms[i] ? lengths_ms[i] : 30000) * 1000, left_us;
        const char *id = fa_t_submit(t, .type = "x");
        struct faina_worker self = {.id = "w"};
        struct faina_held held = {.id = id};

        CHECK_OK(t, fa_t_claim_for(t, id, "w", lengths_ms[i]));
        for (int how = 0; how < 3; how++) {
            int64_t before_us = fa_t_task(t, id)->lease_expires_us;

            if (how == 0)
                CHECK_OK(t, fa_t_progress(t, id, BY("w"), 10));
            else if (how == 1)
                CHECK_OK(t, fa_t_heartbeat(t, id, BY("w"), 0));
            else
                CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_WORKER_PUT,
                                                        .worker = {&self, &held, 1, 0}}));
            left_us = fa_t_task(t, id)->lease_expires_us - fa_clock_now_us();
            CHECK(t->task->lease_expires_us > before_us && left_us <= length_us + CLOCKS_US,
                  "%d of %lld ms: %lld us are left", how, (long long)lengths_ms[i],
                  (long long)left_us);
        }
        CHECK_OK(t, fa_t_heartbeat(t, id, BY("w"), 600000)); /* the given lease applies */
        left_us = fa_t_task(t, id)->lease_expires_us - fa_clock_now_us();
        CHECK(left_us > 300000000 && left_us <= 600000000 + CLOCKS_US, "%lld us",
              (long long)left_us);
        CHECK_OK(t, fa_t_complete(t, id, BY("w"), NULL));
    }
}

static void test_lease__heartbeat_of_many_answers_each(struct fa_t *t)
{
    const char *held = fa_t_make(t, FAINA_RUNNING, "w");
    const char *cancelled = fa_t_make(t, FAINA_RUNNING, "w");
    const char *taken = fa_t_make(t, FAINA_RUNNING, "v");
    const char *completed = fa_t_make(t, FAINA_COMPLETED, "w");
    const char *failed = fa_t_make(t, FAINA_DEAD_LETTER, "w");
    const char *deleted = fa_t_make(t, FAINA_COMPLETED, "w");
    const char *again = fa_t_make(t, FAINA_RUNNING, "w");
    int64_t fence = fa_t_task(t, again)->fence;

    CHECK_OK(t, fa_t_cancel(t, cancelled, NOBODY));
    CHECK_OK(t, fa_t_delete(t, deleted));
    CHECK_OK(t, fa_t_retry(t, again, NOBODY));
    fa_t_take(t, again, "w");
    struct fa_op ops[] = {
        {.kind = FA_OP_HEARTBEAT, .id = held, .by = BY("w")},
        {.kind = FA_OP_HEARTBEAT, .id = cancelled, .by = BY("w")},
        {.kind = FA_OP_HEARTBEAT, .id = taken, .by = BY("w")},
        {.kind = FA_OP_HEARTBEAT, .id = completed, .by = BY("w")},
        {.kind = FA_OP_HEARTBEAT, .id = failed, .by = BY("w")},
        {.kind = FA_OP_HEARTBEAT, .id = deleted, .by = BY("w")},
        {.kind = FA_OP_HEARTBEAT, .id = again, .by = BY("w", .fence = fence)},
        {.kind = FA_OP_HEARTBEAT, .id = again, .by = BY("w", .fence = t->task->fence)},
    };
    static const enum faina_code wanted[] = {
        FAINA_OK,          FAINA_INVALID_TRANSITION, FAINA_WRONG_WORKER, FAINA_TASK_COMPLETED,
        FAINA_TASK_FAILED, FAINA_TASK_NOT_FOUND,     FAINA_WRONG_WORKER, FAINA_OK,
    };

    fa_t_run_all(t, ops, FA_COUNT(ops));
    for (size_t i = 0; i < FA_COUNT(ops); i++)
        CHECK(ops[i].code == wanted[i], "heartbeat %zu: %s, wanted %s", i,
              faina_code_name(ops[i].code), faina_code_name(wanted[i]));
}

/* The last error names the refused operation and the reason. */
static void check_too_late(struct fa_t *t, const char *what)
{
    const char *sentence = t->op.error.message;
    const char *why =
        "no worker holds the task: its lease or its attempt has ended and it is pending again";

    CHECK(strstr(sentence, why) != NULL, "%s: %s", what, sentence);
    CHECK(strstr(sentence, what) != NULL, "%s: %s", what, sentence);
}

static void test_lease__a_worker_that_lost_the_task_is_refused(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");

    CHECK_OK(t, fa_t_claim_for(t, id, "w", SHORT_MS));
    fa_t_wait_status(t, id, FAINA_PENDING);
    CHECK_CODE(t, fa_t_heartbeat(t, id, BY("w"), 0), FAINA_TASK_NOT_CLAIMED);
    check_too_late(t, "heartbeat");
    CHECK_CODE(t, fa_t_progress(t, id, BY("w"), 50), FAINA_TASK_NOT_CLAIMED);
    check_too_late(t, "progress");
    CHECK_CODE(t, fa_t_fail_attempt(t, id, BY("w"), "no"), FAINA_TASK_NOT_CLAIMED);
    check_too_late(t, "fail");
    CHECK_CODE(t, fa_t_complete(t, id, BY("w"), "1"), FAINA_TASK_NOT_CLAIMED);
    check_too_late(t, "complete");
    CHECK_STR(newest_event(t, id)->what, "late_result");
    CHECK_CODE(t, fa_t_complete(t, id, (struct faina_by){.fence = 1}, "1"), FAINA_TASK_NOT_CLAIMED);
    check_too_late(t, "complete");
    CHECK_CODE(t, fa_t_complete(t, id, NOBODY, "1"), FAINA_TASK_NOT_CLAIMED);
    CHECK(strstr(t->op.error.message, "no worker holds the task, which is pending") != NULL, "%s",
          t->op.error.message);
    CHECK_OK(t, fa_t_claim(t, id, "v"));
    CHECK_CODE(t, fa_t_heartbeat(t, id, BY("w"), 0), FAINA_WRONG_WORKER);
    CHECK_CODE(t, fa_t_complete(t, id, BY("w"), "1"), FAINA_WRONG_WORKER);
    CHECK_NOW(t, id, FAINA_CLAIMED);
}

/* A caller that gives a worker id has not held the task by that. */
static void test_lease__never_held_is_not_lost(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");

    CHECK_CODE(t, fa_t_complete(t, id, BY("w"), "1"), FAINA_TASK_NOT_CLAIMED);
    CHECK(strstr(t->op.error.message, "no worker holds the task, which is pending") != NULL, "%s",
          t->op.error.message);
}

struct counted {
    enum faina_status status;
    int64_t count;
};

static bool has_counted(struct fa_t *t, void *arg)
{
    const struct counted *counted = arg;

    CHECK_OK(t, fa_t_stats(t, NULL));
    return t->op.stats->by_status[counted->status] == counted->count;
}

/* More than any engine processes at once. */
static void test_lease__thousands_end_at_once(struct fa_t *t)
{
    enum { COUNT = 2500 };
    struct faina_submit submit = {.type = "x", .max_attempts = 1};
    struct fa_op *ops = fa_arena_zero(&t->arena, COUNT, sizeof *ops);
    struct counted dead = {FAINA_DEAD_LETTER, COUNT};
    size_t claimed = 0;

    for (size_t i = 0; i < COUNT; i++)
        ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submit};
    fa_t_run_all(t, ops, COUNT);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 1000, .lease_ms = 500));
        claimed += t->op.tasks->count;
    }
    CHECK_INT(claimed, COUNT);
    fa_t_wait_until(has_counted, t, &dead, "all leases have ended");
}

static void test_delay__thousands_are_due_at_once(struct fa_t *t)
{
    enum { COUNT = 2500 };
    struct faina_submit submit = {.type = "x", .run_at_us = fa_clock_now_us() + 600000};
    struct fa_op *ops = fa_arena_zero(&t->arena, COUNT, sizeof *ops);
    size_t claimed = 0;

    for (size_t i = 0; i < COUNT; i++)
        ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submit};
    fa_t_run_all(t, ops, COUNT);
    while (claimed < COUNT) {
        struct faina_claim claim = {.worker_id = "w", .limit = 1000, .wait_ms = FA_T_DEADLINE_MS};

        CHECK_OK(t, fa_t_claim_wait(t, &claim));
        CHECK(t->op.tasks->count > 0, "%zu of %d became due", claimed, COUNT);
        CHECK_TRUE(t->op.tasks->items[0].claimed_us >= submit.run_at_us);
        claimed += t->op.tasks->count;
    }
}

static bool clock_is_past(struct fa_t *t, void *arg)
{
    (void)t;
    return fa_clock_now_us() > *(int64_t *)arg;
}

static void test_lease__survives_reopening(struct fa_t *t)
{
    const char *kept = fa_t_submit(t, .type = "x");
    const char *lost = fa_t_submit(t, .type = "x");
    const char *before;
    int64_t lease_us;

    CHECK_OK(t, fa_t_claim_for(t, kept, "w", 60000));
    CHECK_OK(t, fa_t_claim_for(t, lost, "w", SHORT_MS));
    lease_us = t->task->lease_expires_us;
    before = fa_t_picture(t, kept);
    fa_t_close(t);
    fa_t_wait_until(clock_is_past, t, &lease_us, "the lease is over");
    fa_t_open(t);
    CHECK_STR(fa_t_picture(t, kept), before);
    fa_t_wait_status(t, lost, FAINA_PENDING);
    CHECK_STORY(t, lost, "created claimed lease_lost");
    CHECK_OK(t, fa_t_complete(t, kept, BY("w"), "1"));
}

/* ------------------------------------------------------------------------------------------
 * Background
 */

static void test_background__expires_into_a_failed_attempt(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .retry = {.base_ms = 1, .max_ms = 1});

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_background(t, id, BY("w"), SHORT_MS));
    fa_t_wait_status(t, id, FAINA_PENDING);
    CHECK_INT(t->task->attempts, 1);
    CHECK_INT(t->task->expires_us, 0);
    check_lost(t, id, "expired", FAINA_PENDING);
    CHECK_CODE(t, fa_t_complete(t, id, NOBODY, "1"), FAINA_TASK_NOT_CLAIMED);
    CHECK_STR(newest_event(t, id)->what, "late_result");
    CHECK_OK(t, fa_t_claim(t, id, "v"));
    CHECK_INT(t->task->attempts, 2);
    CHECK_CODE(t, fa_t_complete(t, id, NOBODY, "1"), FAINA_WRONG_WORKER);
    CHECK_NOW(t, id, FAINA_CLAIMED);
}

static void test_background__last_attempt_ends_in_dead_letter(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .max_attempts = 1);

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_background(t, id, BY("w"), SHORT_MS));
    fa_t_wait_status(t, id, FAINA_DEAD_LETTER);
    check_lost(t, id, "dead_letter", FAINA_DEAD_LETTER);
    CHECK_STORY(t, id, "created claimed started background expired dead_letter");
    CHECK_CODE(t, fa_t_complete(t, id, NOBODY, "1"), FAINA_TASK_FAILED);
    CHECK_STR(newest_event(t, id)->what, "late_result");
}

static void test_background__has_no_lease_to_lose(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");
    const char *witness = fa_t_submit(t, .type = "x");

    CHECK_OK(t, fa_t_claim_for(t, id, "w", LONG_MS));
    CHECK_OK(t, fa_t_start(t, id, BY("w")));
    CHECK_OK(t, fa_t_background(t, id, BY("w"), 60000));
    CHECK_OK(t, fa_t_claim_for(t, witness, "w", LONG_MS));
    fa_t_wait_status(t, witness, FAINA_PENDING);
    CHECK_NOW(t, id, FAINA_BACKGROUND);
    CHECK_OK(t, fa_t_complete(t, id, NOBODY, "{\"from\":\"outside\"}"));
    CHECK_STR(fa_t_task(t, id)->output, "{\"from\":\"outside\"}");
}

static void test_background__fails_from_outside(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_BACKGROUND, "w");

    CHECK_OK(t, fa_t_fail_attempt(t, id, NOBODY, "no"));
    CHECK_NOW(t, id, FAINA_PENDING);
    CHECK_STORY(t, id, "created claimed started background retry_scheduled");
}

static void test_background__expires_after_reopening(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");
    int64_t expires_us;

    CHECK_OK(t, fa_t_background(t, id, BY("w"), SHORT_MS));
    expires_us = t->task->expires_us;
    fa_t_close(t);
    fa_t_wait_until(clock_is_past, t, &expires_us, "the deadline is over");
    fa_t_open(t);
    fa_t_wait_status(t, id, FAINA_PENDING);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_lease__claimed_task_comes_back),
        FA_T_CASE(test_lease__running_task_comes_back),
        FA_T_CASE(test_lease__last_attempt_ends_in_dead_letter),
        FA_T_CASE(test_lease__claim_next_takes_one_too),
        FA_T_CASE(test_lease__frees_the_resource),
        FA_T_CASE_SQL(test_lease__heartbeat_renews),
        FA_T_CASE(test_lease__is_renewed_as_it_was_claimed),
        FA_T_CASE(test_lease__heartbeat_of_many_answers_each),
        FA_T_CASE(test_lease__a_worker_that_lost_the_task_is_refused),
        FA_T_CASE(test_lease__never_held_is_not_lost),
        FA_T_CASE(test_lease__thousands_end_at_once),
        FA_T_CASE(test_delay__thousands_are_due_at_once),
        FA_T_CASE_DURABLE(test_lease__survives_reopening),
        FA_T_CASE(test_background__expires_into_a_failed_attempt),
        FA_T_CASE(test_background__last_attempt_ends_in_dead_letter),
        FA_T_CASE(test_background__has_no_lease_to_lose),
        FA_T_CASE(test_background__fails_from_outside),
        FA_T_CASE_DURABLE(test_background__expires_after_reopening),
    };

    return fa_t_main(argc, argv, "leases", cases, FA_COUNT(cases));
}
