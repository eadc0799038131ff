/*
 * test_001.c - document 001 of the specification ("Database Schema" of the Task Orchestrator), on
 * every engine. What it says about nodes and SQL is in test_001_nodes.py.
 *
 * Its words in ours: payload is input, max_retries is maxAttempts - 1, last_error is error,
 * next_retry_at is runAt.
 */
#include "support/ops.h"

#define FAST ((struct faina_retry_policy){.base_ms = 1, .factor = 1, .max_ms = 1})

/* "priority": an INT; higher is more urgent, then the oldest first (idx_tasks_claimable). */
static void test_001__priority_has_32_bits(struct fa_t *t)
{
    static const int priorities[] = {0, -2147483647, 2147483647, 70000, -70000, 0};
    static const size_t order[] = {2, 3, 0, 5, 4, 1};
    const char *ids[FA_COUNT(priorities)];

    for (size_t i = 0; i < FA_COUNT(priorities); i++) {
        ids[i] = fa_t_submit(t, .type = "p", .priority = priorities[i]);
        CHECK_INT(fa_t_task(t, ids[i])->priority, priorities[i]);
    }
    for (size_t i = 0; i < FA_COUNT(order); i++) {
        CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 1));
        CHECK_STR(t->op.tasks->items[0].id, ids[order[i]]);
    }
}

/* "idempotency_key": unique for each type. */
static void test_001__idempotency_key(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "email:send", .idempotency_key = "email-user-123");

    CHECK_STR(fa_t_submit(t, .type = "email:send", .idempotency_key = "email-user-123"), id);
    CHECK_TRUE(t->op.existing);
    CHECK_TRUE(
        strcmp(fa_t_submit(t, .type = "sms:send", .idempotency_key = "email-user-123"), id) != 0);
}

/* "Status Enum": failed at once, or dead_letter when the retries are used up. */
static void test_001__failed_and_dead_letter(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "a", .max_attempts = 2, .retry = FAST);

    for (int i = 1; i <= 2; i++) {
        CHECK_OK(t, fa_t_claim(t, id, "w"));
        CHECK_INT(t->task->attempts, i);
        CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "e"));
    }
    CHECK_NOW(t, id, FAINA_DEAD_LETTER);
    CHECK_TRUE(fa_t_task(t, id)->completed_us > 0);
    id = fa_t_make(t, FAINA_FAILED, "w");
    CHECK_TRUE(fa_t_task(t, id)->completed_us > 0);
}

/* "next_retry_at": a backoff after a failure. */
static void test_001__next_retry_at(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "a", .retry.base_ms = 3600000);
    const struct faina_task *task;

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "e"));
    task = fa_t_task(t, id);
    CHECK_STATUS(task->status, FAINA_PENDING);
    CHECK_TRUE(task->run_at_us > task->updated_us);
    CHECK_STR(task->worker_id, NULL);
}

/* "updated_at" is set by every change. */
static void test_001__updated_at(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "a");
    int64_t before = fa_t_task(t, id)->updated_us;

    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_TRUE(t->task->updated_us > before && t->task->claimed_us > 0);
    before = t->task->updated_us;
    CHECK_OK(t, fa_t_start(t, id, BY("w")));
    CHECK_TRUE(t->task->updated_us > before && t->task->started_us > 0);
    before = t->task->updated_us;
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), NULL));
    CHECK_TRUE(t->task->updated_us > before && t->task->completed_us > 0);
}

/* "idx_tasks_worker_id": the tasks of a worker, and how many they are. */
static void test_001__tasks_of_a_worker(struct fa_t *t)
{
    struct faina_worker self = {.id = "w1", .hostname = "host", .pool_size = 4, .version = "1.2"};
    struct fa_op put = {.kind = FA_OP_WORKER_PUT, .worker = {.self = &self}};
    struct fa_op list = {.kind = FA_OP_WORKER_LIST, .id = "w1"};
    const char *ids[5];

    for (size_t i = 0; i < FA_COUNT(ids); i++) {
        ids[i] = fa_t_submit(t, .type = "a");
        fa_t_take(t, ids[i], i < 3 ? "w1" : "w2");
    }
    CHECK_OK(t, fa_t_complete(t, ids[0], BY("w1"), NULL));
    for (enum faina_sort sort = FAINA_SORT_CREATED; sort <= FAINA_SORT_UPDATED; sort++) {
        CHECK_OK(t, fa_t_list(t, .worker_id = "w1", .sort = sort));
        CHECK_INT(t->op.tasks->count, 2);
        CHECK_STR(t->op.tasks->items[0].id, ids[2]);
        CHECK_STR(t->op.tasks->items[1].id, ids[1]);
        CHECK_OK(t, fa_t_list(t, .worker_id = "w2", .sort = sort, .limit = 1));
        CHECK_INT(t->op.tasks->count, 1);
        CHECK_TRUE(t->op.tasks->next_cursor != NULL);
        CHECK_OK(t, fa_t_list(t, .worker_id = "w3", .sort = sort));
        CHECK_INT(t->op.tasks->count, 0);
    }
    CHECK_OK(t, fa_t_list(t, .worker_id = "w1", .statuses = 1u << FAINA_COMPLETED));
    CHECK_INT(t->op.tasks->count, 0);
    CHECK_OK(t, fa_t_run(t, &put));
    CHECK_OK(t, fa_t_run(t, &list));
    CHECK_INT(t->op.workers->items[0].held, 2);
    CHECK_INT(t->op.workers->items[0].pool_size, 4);
    CHECK_STR(t->op.workers->items[0].version, "1.2");
    CHECK_TRUE(t->op.workers->items[0].started_us > 0);
    CHECK_TRUE(t->op.workers->items[0].last_heartbeat_us > 0);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_001__priority_has_32_bits),
        FA_T_CASE(test_001__idempotency_key),
        FA_T_CASE(test_001__failed_and_dead_letter),
        FA_T_CASE(test_001__next_retry_at),
        FA_T_CASE(test_001__updated_at),
        FA_T_CASE(test_001__tasks_of_a_worker),
    };

    return fa_t_main(argc, argv, "document 001", cases, FA_COUNT(cases));
}
