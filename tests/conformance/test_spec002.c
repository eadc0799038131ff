/*
 * test_spec002.c - document 002 of the specification, table by table.
 *
 * Its words in ours: Fail with retries left is a retryable failure; "Failed" is dead_letter (no
 * attempts left) or failed (no retry helps); a completed task's Result is our output.
 */
#include "support/ops.h"

#define FAST ((struct faina_retry_policy){.base_ms = 1, .factor = 1, .max_ms = 1})

static const char *submit(struct fa_t *t, const char *key, int max_attempts)
{
    return fa_t_submit(t, .type = "order", .idempotency_key = key,
                       .input = "{\"order_id\":\"123\"}", .max_attempts = max_attempts,
                       .retry = FAST);
}

/* "State Transitions" */
static void test_002__state_transitions(struct fa_t *t)
{
    const char *id = submit(t, "a", 2);

    CHECK_NOW(t, id, FAINA_PENDING); /* - to Pending: Submit */
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_NOW(t, id, FAINA_CLAIMED); /* Pending to Claimed: Claim */
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "e"));
    CHECK_NOW(t, id, FAINA_PENDING); /* Claimed to Pending: Fail, retries available */
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "e"));
    CHECK_NOW(t, id, FAINA_DEAD_LETTER); /* Claimed to Failed: Fail, MaxAttempts reached */
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_NOW(t, id, FAINA_PENDING); /* Failed to Pending: Retry */
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_NOW(t, id, FAINA_PENDING); /* Claimed to Pending: Retry */
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), "{\"ok\":true}"));
    CHECK_NOW(t, id, FAINA_COMPLETED); /* Claimed to Completed: same worker completes */
}

/* "How It Works": the answer to the first submit is lost, the client sends it again. */
static void test_002__submit_again_returns_the_first(struct fa_t *t)
{
    const char *id = submit(t, "order-123", 3);

    CHECK_STR(submit(t, "order-123", 3), id);
    CHECK_OK(t, fa_t_get_by_key(t, NULL, "order", "order-123"));
    CHECK_STR(t->task->id, id);
    fa_t_finish_task(t, id);
    CHECK_STR(submit(t, "order-123", 3), id); /* terminal tasks are still found */
}

/* "Attempt Counting" and "Retry Flow" */
static void test_002__attempts(struct fa_t *t)
{
    const char *id = submit(t, NULL, 3);

    CHECK_OK(t, fa_t_claim(t, id, "worker-a"));
    CHECK_INT(t->task->attempts, 1);
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("worker-a"), "e"));
    CHECK_STATUS(t->task->status, FAINA_PENDING);
    CHECK_STR(t->task->worker_id, NULL);
    CHECK_OK(t, fa_t_claim(t, id, "worker-b"));
    CHECK_INT(t->task->attempts, 2);
    CHECK_OK(t, fa_t_complete(t, id, BY("worker-b"), "{}"));
    CHECK_INT(t->task->attempts, 2);
}

/* "Conflict Resolution" */
static void test_002__claim_conflicts(struct fa_t *t)
{
    const char *id = submit(t, NULL, 3);

    CHECK_OK(t, fa_t_claim(t, id, "worker-a"));
    CHECK_OK(t, fa_t_claim(t, id, "worker-a"));
    CHECK_INT(t->task->attempts, 1);
    CHECK_CODE(t, fa_t_claim(t, id, "worker-b"), FAINA_TASK_ALREADY_CLAIMED);
    CHECK_OK(t, fa_t_complete(t, id, BY("worker-a"), NULL));
    CHECK_CODE(t, fa_t_claim(t, id, "worker-a"), FAINA_TASK_COMPLETED);
    CHECK_CODE(t, fa_t_claim(t, fa_t_make(t, FAINA_FAILED, "w"), "w"), FAINA_TASK_FAILED);
    CHECK_CODE(t, fa_t_claim(t, fa_t_make(t, FAINA_DEAD_LETTER, "w"), "w"), FAINA_TASK_FAILED);
}

/* "Error Handling", one line for each error. */
static void test_002__errors(struct fa_t *t)
{
    const char *unknown = "01890a5d-ac96-774b-bcce-b302099a8057";
    const char *claimed = fa_t_make(t, FAINA_CLAIMED, "w");
    const char *pending = fa_t_make(t, FAINA_PENDING, NULL);
    const char *dead = fa_t_make(t, FAINA_DEAD_LETTER, "w");

    CHECK_CODE(t, fa_t_get(t, unknown), FAINA_TASK_NOT_FOUND);
    CHECK_CODE(t, fa_t_claim(t, unknown, "w"), FAINA_TASK_NOT_FOUND);
    CHECK_CODE(t, fa_t_get_by_key(t, NULL, "order", "never"), FAINA_TASK_NOT_FOUND);
    CHECK_CODE(t, fa_t_claim(t, claimed, "v"), FAINA_TASK_ALREADY_CLAIMED);
    CHECK_CODE(t, fa_t_complete(t, pending, BY("w"), NULL), FAINA_TASK_NOT_CLAIMED);
    CHECK_CODE(t, fa_t_fail_attempt(t, pending, BY("w"), "e"), FAINA_TASK_NOT_CLAIMED);
    CHECK_CODE(t, fa_t_complete(t, fa_t_make(t, FAINA_COMPLETED, "w"), BY("v"), NULL),
               FAINA_TASK_COMPLETED);
    CHECK_CODE(t, fa_t_complete(t, dead, BY("v"), NULL), FAINA_TASK_FAILED);
    CHECK_CODE(t, fa_t_retry_keep(t, dead, NOBODY), FAINA_MAX_ATTEMPTS_REACHED);
    CHECK_CODE(t, fa_t_try_submit(t, .input = "{}"), FAINA_INVALID_TASK);
    CHECK_CODE(t, fa_t_claim(t, pending, ""), FAINA_INVALID_WORKER_ID);
    CHECK_CODE(t, fa_t_complete(t, claimed, BY("v"), NULL), FAINA_WRONG_WORKER);
}

/* "Terminal States" and "Cleanup Old Tasks" */
static void test_002__terminal_tasks_are_deleted(struct fa_t *t)
{
    const char *id = submit(t, "k", 3);

    CHECK_CODE(t, fa_t_delete(t, id), FAINA_TASK_ACTIVE);
    fa_t_finish_task(t, id);
    CHECK_OK(t, fa_t_list(t, .statuses = 1u << FAINA_COMPLETED));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_TRUE(t->op.tasks->items[0].completed_us > 0);
    CHECK_OK(t, fa_t_delete(t, id));
    CHECK_CODE(t, fa_t_get(t, id), FAINA_TASK_NOT_FOUND);
    submit(t, "k", 3); /* both of its keys are gone */
    CHECK_TRUE(!t->op.existing);
}

/* "Goals": tasks survive restarts. */
static void test_002__state_persists(struct fa_t *t)
{
    const char *ids[FAINA_STATUS_COUNT];
    const char *before[FAINA_STATUS_COUNT];

    for (enum faina_status s = 0; s < FAINA_STATUS_COUNT; s++) {
        ids[s] = t->is_sql || s != FAINA_BLOCKED ? fa_t_make(t, s, "w") : NULL;
        before[s] = ids[s] ? fa_t_picture(t, ids[s]) : NULL;
    }
    fa_t_reopen(t);
    for (enum faina_status s = 0; s < FAINA_STATUS_COUNT; s++)
        if (ids[s])
            CHECK_STR(fa_t_picture(t, ids[s]), before[s]);
}

/* "Edge cases": empty payloads, double complete. */
static void test_002__edge_cases(struct fa_t *t)
{
    static const char *const payloads[] = {NULL, "\"\"", "{}", "null"};

    for (size_t i = 0; i < FA_COUNT(payloads); i++) {
        const char *id = fa_t_submit(t, .type = "x", .input = payloads[i]);

        CHECK_STR(fa_t_task(t, id)->input, payloads[i]);
        fa_t_take(t, id, "w");
        CHECK_OK(t, fa_t_complete(t, id, BY("w"), payloads[i]));
        CHECK_OK(t, fa_t_complete(t, id, BY("w"), payloads[i]));
        CHECK_STR(fa_t_task(t, id)->output, payloads[i]);
    }
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_002__state_transitions),
        FA_T_CASE(test_002__submit_again_returns_the_first),
        FA_T_CASE(test_002__attempts),
        FA_T_CASE(test_002__claim_conflicts),
        FA_T_CASE(test_002__errors),
        FA_T_CASE(test_002__terminal_tasks_are_deleted),
        FA_T_CASE_DURABLE(test_002__state_persists),
        FA_T_CASE(test_002__edge_cases),
    };

    return fa_t_main(argc, argv, "spec 002", cases, FA_COUNT(cases));
}
