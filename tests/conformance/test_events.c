/*
 * test_events.c - the history of a task: complete, in order, with its actors.
 *
 * A history is compared line by line, oldest first: what, the status after it, the actor, and the
 * worker. fa_t_history also checks that the answer is newest first with times that only fall.
 */
#include "support/ops.h"

#define FAST ((struct faina_retry_policy){.base_ms = 1, .factor = 1, .max_ms = 1})

#define CHECK_HISTORY(t, id, want) CHECK_STR(fa_t_history(t, id), want)

static void test_events__whole_life(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");

    CHECK_HISTORY(t, id, "created pending API -\n");
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_HISTORY(t, id,
                  "created pending API -\n"
                  "claimed claimed WORKER w\n");
    CHECK_OK(t, fa_t_start(t, id, BY("w")));
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), "{}"));
    CHECK_HISTORY(t, id,
                  "created pending API -\n"
                  "claimed claimed WORKER w\n"
                  "started running WORKER w\n"
                  "completed completed WORKER w\n");
}

static void test_events__created_tells_what_was_asked_for(struct fa_t *t)
{
    const char *plain = fa_t_submit(t, .type = "mail");
    const char *odd = fa_t_submit(t, .type = "mail", .priority = -3, .max_attempts = 2,
                                  .idempotency_key = "a \"b\"");

    CHECK_OK(t, fa_t_events(t, plain, 1));
    CHECK_STR(t->op.events->items[0].detail,
              "{\"type\":\"mail\",\"priority\":0,\"maxAttempts\":4}");
    CHECK_OK(t, fa_t_claim(t, odd, "w"));
    CHECK_OK(t, fa_t_events(t, odd, 2));
    CHECK_STR(t->op.events->items[1].detail, "{\"type\":\"mail\",\"priority\":-3,\"maxAttempts\":2,"
                                             "\"idempotencyKey\":\"a \\\"b\\\"\"}");
}

static void test_events__start_from_pending(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");

    CHECK_OK(t, fa_t_start(t, id, BY("w")));
    CHECK_HISTORY(t, id,
                  "created pending API -\n"
                  "claimed claimed WORKER w\n"
                  "started running WORKER w\n");
}

static void test_events__claim_next_is_a_claim(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");

    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w"));
    CHECK_HISTORY(t, id,
                  "created pending API -\n"
                  "claimed claimed WORKER w\n");
}

/* Earlier attempts stay readable after later ones, whichever way they ended. */
static void test_events__several_attempts(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .max_attempts = 3, .retry = FAST);

    fa_t_take(t, id, "w1");
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w1"), "one"));
    CHECK_OK(t, fa_t_claim(t, id, "w2"));
    CHECK_OK(t, fa_t_release(t, id, BY("w2")));
    CHECK_OK(t, fa_t_claim(t, id, "w3"));
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w3"), "two"));
    fa_t_take(t, id, "w4");
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w4"), "three"));
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    fa_t_take(t, id, "w5");
    CHECK_OK(t, fa_t_complete(t, id, BY("w5"), NULL));
    CHECK_HISTORY(t, id,
                  "created pending API -\n"
                  "claimed claimed WORKER w1\n"
                  "started running WORKER w1\n"
                  "retry_scheduled pending WORKER w1\n"
                  "claimed claimed WORKER w2\n"
                  "released pending WORKER w2\n"
                  "claimed claimed WORKER w3\n"
                  "retry_scheduled pending WORKER w3\n"
                  "claimed claimed WORKER w4\n"
                  "started running WORKER w4\n"
                  "dead_letter dead_letter WORKER w4\n"
                  "retried pending API -\n"
                  "claimed claimed WORKER w5\n"
                  "started running WORKER w5\n"
                  "completed completed WORKER w5\n");
}

static void test_events__final_failure_by_worker_and_by_person(struct fa_t *t)
{
    const char *held = fa_t_make(t, FAINA_CLAIMED, "w");
    const char *pending = fa_t_submit(t, .type = "x");

    CHECK_OK(t, fa_t_fail_final(t, held, BY("w"), "no"));
    CHECK_HISTORY(t, held,
                  "created pending API -\n"
                  "claimed claimed WORKER w\n"
                  "failed failed WORKER w\n");
    CHECK_OK(t, fa_t_fail_final(t, pending, NOBODY, "no"));
    CHECK_HISTORY(t, pending,
                  "created pending API -\n"
                  "failed failed API -\n");
}

static void test_events__cancel_and_retry(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");

    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_STORY(t, id, "created claimed started retried cancelled retried");
    CHECK_OK(t, fa_t_events(t, id, 0));
    for (size_t i = 0; i < 3; i++)
        CHECK_INT(t->op.events->items[i].actor, FAINA_ACTOR_API);
    CHECK_STATUS(t->op.events->items[1].status, FAINA_CANCELLED);
}

static void test_events__progress_and_state(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");

    CHECK_OK(t, fa_t_report(t, id, BY("w"),
                            &(struct faina_report){
                                .has_progress = true, .progress = 5, .state = "reading"}));
    CHECK_OK(t, fa_t_report(t, id, BY("w"), &(struct faina_report){.state = "writing"}));
    CHECK_HISTORY(t, id,
                  "created pending API -\n"
                  "claimed claimed WORKER w\n"
                  "started running WORKER w\n"
                  "progress running WORKER w\n"
                  "progress running WORKER w\n");
    CHECK_OK(t, fa_t_events(t, id, 0));
    CHECK_STR(t->op.events->items[0].state, "writing");
    CHECK_STR(t->op.events->items[1].state, "reading");
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), NULL));
    CHECK_STORY(t, id, "created claimed started progress progress completed");
}

static void test_events__block_and_unblock(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_BLOCKED, "w");
    const char *kid = fa_t_child(t, id, 0);

    CHECK_STORY(t, kid, "created");
    fa_t_finish_task(t, kid);
    CHECK_HISTORY(t, id,
                  "created pending API -\n"
                  "claimed claimed WORKER w\n"
                  "started running WORKER w\n"
                  "blocked blocked WORKER w\n"
                  "unblocked pending SYSTEM -\n");
}

static void test_events__background(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_BACKGROUND, "w");

    CHECK_OK(t, fa_t_complete(t, id, NOBODY, NULL));
    CHECK_HISTORY(t, id,
                  "created pending API -\n"
                  "claimed claimed WORKER w\n"
                  "started running WORKER w\n"
                  "background background WORKER w\n"
                  "completed completed API -\n");
}

static void test_events__lost_lease(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .max_attempts = 2, .retry = FAST);

    CHECK_OK(t, fa_t_claim_for(t, id, "w", 40));
    fa_t_wait_status(t, id, FAINA_PENDING);
    CHECK_OK(t, fa_t_claim_for(t, id, "v", 40));
    fa_t_wait_status(t, id, FAINA_DEAD_LETTER);
    CHECK_HISTORY(t, id,
                  "created pending API -\n"
                  "claimed claimed WORKER w\n"
                  "lease_lost pending SYSTEM w\n"
                  "claimed claimed WORKER v\n"
                  "lease_lost claimed SYSTEM v\n" /* what led to the end ... */
                  "dead_letter dead_letter SYSTEM v\n");
}

static void test_events__submit_with_dependency(struct fa_t *t)
{
    const char *a = fa_t_submit(t, .type = "x");
    const char *id = fa_t_submit(t, .type = "y", .depends_on = &a, .depends_on_count = 1);

    CHECK_HISTORY(t, id, "created blocked API -\n");
    fa_t_finish_task(t, a);
    CHECK_HISTORY(t, id,
                  "created blocked API -\n"
                  "unblocked pending SYSTEM -\n");
}

static void test_events__times_fit_the_task(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_COMPLETED, "w");
    const struct faina_task *task = fa_t_task(t, id);
    const struct faina_event *items;

    CHECK_OK(t, fa_t_events(t, id, 0));
    CHECK_INT(t->op.events->count, 4);
    items = t->op.events->items;
    CHECK_INT(items[3].at_us, task->created_us);
    CHECK_TRUE(items[2].at_us >= task->claimed_us);
    CHECK_TRUE(items[1].at_us >= task->started_us);
    CHECK_TRUE(items[0].at_us >= task->completed_us);
    CHECK_STR(items[3].state, "Queued");
}

/* Everything in one transaction, and so in one microsecond or few: the times still differ. */
static void test_events__one_batch_keeps_the_order(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .retry = FAST);
    struct faina_failure failure = {.message = "no"};
    struct faina_report report = {.has_progress = true, .progress = 3};
    struct fa_op ops[] = {
        {.kind = FA_OP_CLAIM, .id = id, .by = BY("w")},
        {.kind = FA_OP_START, .id = id, .by = BY("w")},
        {.kind = FA_OP_PROGRESS, .id = id, .by = BY("w"), .report = &report},
        {.kind = FA_OP_FAIL, .id = id, .by = BY("w"), .failure = &failure},
        {.kind = FA_OP_CLAIM, .id = id, .by = BY("v")},
        {.kind = FA_OP_RELEASE, .id = id, .by = BY("v")},
        {.kind = FA_OP_START, .id = id, .by = BY("u")},
        {.kind = FA_OP_COMPLETE, .id = id, .by = BY("u")},
    };

    fa_t_run_all(t, ops, FA_COUNT(ops));
    CHECK_STORY(t, id,
                "created claimed started progress retry_scheduled claimed released claimed "
                "started completed");
}

static void test_events__limit(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");

    for (int i = 0; i < 110; i++)
        CHECK_OK(t, fa_t_progress(t, id, BY("w"), i % 100));
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), NULL));
    CHECK_OK(t, fa_t_events(t, id, 0));
    CHECK_INT(t->op.events->count, 100);
    CHECK_STR(t->op.events->items[0].what, "completed");
    CHECK_OK(t, fa_t_events(t, id, 3));
    CHECK_INT(t->op.events->count, 3);
    CHECK_STR(t->op.events->items[0].what, "completed");
    CHECK_STR(t->op.events->items[2].what, "progress");
    CHECK_OK(t, fa_t_events(t, id, 1000));
    CHECK_INT(t->op.events->count, 114);
    CHECK_STR(t->op.events->items[113].what, "created");
    CHECK_CODE(t, fa_t_events(t, id, 1001), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_events(t, id, -1), FAINA_INVALID_REQUEST);
}

static void test_events__survive_reopening(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .retry = FAST);
    const char *before;

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
    fa_t_take(t, id, "v");
    before = fa_t_history(t, id);
    fa_t_reopen(t);
    CHECK_HISTORY(t, id, before);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_events__whole_life),
        FA_T_CASE(test_events__created_tells_what_was_asked_for),
        FA_T_CASE(test_events__start_from_pending),
        FA_T_CASE(test_events__claim_next_is_a_claim),
        FA_T_CASE(test_events__several_attempts),
        FA_T_CASE(test_events__final_failure_by_worker_and_by_person),
        FA_T_CASE(test_events__cancel_and_retry),
        FA_T_CASE(test_events__progress_and_state),
        FA_T_CASE_SQL(test_events__block_and_unblock),
        FA_T_CASE(test_events__background),
        FA_T_CASE(test_events__lost_lease),
        FA_T_CASE_SQL(test_events__submit_with_dependency),
        FA_T_CASE(test_events__times_fit_the_task),
        FA_T_CASE(test_events__one_batch_keeps_the_order),
        FA_T_CASE_SQL(test_events__limit),
        FA_T_CASE_DURABLE(test_events__survive_reopening),
    };

    return fa_t_main(argc, argv, "events", cases, FA_COUNT(cases));
}
