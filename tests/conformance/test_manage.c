/*
 * test_manage.c - cancel, retry, delete and purge.
 */
#include "support/ops.h"

#include "base/clock.h"

#define FAST ((struct faina_retry_policy){.base_ms = 1, .factor = 1, .max_ms = 1})

/* ------------------------------------------------------------------------------------------
 * Cancel
 */

static void test_cancel__every_living_status(struct fa_t *t)
{
    for (enum faina_status from = FAINA_PENDING; from <= FAINA_BACKGROUND; from++) {
        const char *id = fa_t_make(t, from, "w");

        CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
        CHECK_STATUS(t->task->status, FAINA_CANCELLED);
        CHECK_INT(t->op.count, from == FAINA_BLOCKED ? 2 : 1);
        CHECK_STR(t->task->worker_id, NULL);
        CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w"));
        CHECK_INT(t->op.tasks->count, 0);
    }
}

static void test_cancel__again_changes_nothing(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_CANCELLED, "w");
    const char *before = fa_t_picture(t, id);

    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_STATUS(t->task->status, FAINA_CANCELLED);
    CHECK_INT(t->op.count, 0);
    CHECK_STR(fa_t_picture(t, id), before);
    CHECK_STORY(t, id, "created cancelled");
}

static void test_cancel__delayed_task(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .delay_ms = 50);
    const char *witness = fa_t_submit(t, .type = "x", .delay_ms = 50);

    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_OK(t, fa_t_claim_wait(t, &(struct faina_claim){
                                       .worker_id = "w", .limit = 2, .wait_ms = FA_T_DEADLINE_MS}));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_STR(t->op.tasks->items[0].id, witness);
    CHECK_NOW(t, id, FAINA_CANCELLED);
}

static void test_cancel__worker_hears_of_it(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");

    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_CODE(t, fa_t_heartbeat(t, id, BY("w"), 0), FAINA_INVALID_TRANSITION);
    CHECK_CODE(t, fa_t_progress(t, id, BY("w"), 1), FAINA_INVALID_TRANSITION);
}

/* ------------------------------------------------------------------------------------------
 * Retry
 */

static void test_retry__starts_anew(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .max_attempts = 2, .retry = FAST);

    for (int i = 0; i < 2; i++) {
        fa_t_take(t, id, "w");
        CHECK_OK(t, fa_t_progress(t, id, BY("w"), 60));
        CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
    }
    CHECK_STATUS(t->task->status, FAINA_DEAD_LETTER);
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_STATUS(t->task->status, FAINA_PENDING);
    CHECK_INT(t->task->attempts, 0);
    CHECK_STR(t->task->error, NULL);
    CHECK_INT(t->task->progress, 0);
    CHECK_STR(t->task->state, "Queued");
    CHECK_INT(t->task->completed_us, 0);
    CHECK_INT(t->task->max_attempts, 2);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w"));
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_INT(t->op.tasks->items[0].attempts, 1);
    CHECK_STORY(t, id,
                "created claimed started progress retry_scheduled claimed started progress "
                "dead_letter retried claimed");
}

static void test_retry__from_every_status_it_may(struct fa_t *t)
{
    static const enum faina_status from[] = {FAINA_CLAIMED, FAINA_RUNNING, FAINA_FAILED,
                                             FAINA_DEAD_LETTER, FAINA_CANCELLED};

    for (size_t i = 0; i < FA_COUNT(from); i++) {
        const char *id = fa_t_make(t, from[i], "w");

        CHECK_OK(t, fa_t_retry(t, id, NOBODY));
        CHECK_STATUS(t->task->status, FAINA_PENDING);
        CHECK_INT(t->task->attempts, 0);
        CHECK_STR(t->task->error, NULL);
        CHECK_OK(t, fa_t_claim_next(t, .worker_id = "v"));
        CHECK_INT(t->op.tasks->count, 1);
        CHECK_STR(t->op.tasks->items[0].id, id);
    }
}

static void test_retry__keeping_attempts(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .max_attempts = 3, .retry = FAST);
    const char *before;

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_fail_final(t, id, BY("w"), "no"));
    CHECK_OK(t, fa_t_retry_keep(t, id, NOBODY));
    CHECK_INT(t->task->attempts, 1);
    fa_t_take(t, id, "w");
    CHECK_INT(t->task->attempts, 2);
    CHECK_OK(t, fa_t_retry_keep(t, id, NOBODY));
    fa_t_take(t, id, "w");
    CHECK_INT(t->task->attempts, 3);
    before = fa_t_picture(t, id);
    CHECK_CODE(t, fa_t_retry_keep(t, id, NOBODY), FAINA_MAX_ATTEMPTS_REACHED);
    CHECK_STR(fa_t_picture(t, id), before);
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
    CHECK_STATUS(t->task->status, FAINA_DEAD_LETTER);
    before = fa_t_picture(t, id);
    CHECK_CODE(t, fa_t_retry_keep(t, id, NOBODY), FAINA_MAX_ATTEMPTS_REACHED);
    CHECK_STR(fa_t_picture(t, id), before);
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_INT(t->task->attempts, 0);
}

static void test_retry__keeping_attempts_without_limit(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .max_attempts = FAINA_UNLIMITED);

    for (int i = 1; i <= 6; i++) {
        fa_t_take(t, id, "w");
        CHECK_INT(t->task->attempts, i);
        CHECK_OK(t, fa_t_retry_keep(t, id, NOBODY));
        CHECK_INT(t->task->attempts, i);
    }
}

static void test_retry__old_output_and_key_stay_in_order(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .idempotency_key = "k");

    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_STR(fa_t_submit(t, .type = "x", .idempotency_key = "k"), id);
    CHECK_TRUE(t->op.existing);
    fa_t_finish_task(t, id);
    CHECK_STR(fa_t_task(t, id)->output, "{}");
}

/* ------------------------------------------------------------------------------------------
 * Delete
 */

static void test_delete__takes_it_out_of_view(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_COMPLETED, "w");

    CHECK_OK(t, fa_t_delete(t, id));
    CHECK_CODE(t, fa_t_get(t, id), FAINA_TASK_NOT_FOUND);
    CHECK_CODE(t, fa_t_events(t, id, 0), FAINA_TASK_NOT_FOUND);
    CHECK_CODE(t, fa_t_explain(t, id), FAINA_TASK_NOT_FOUND);
    CHECK_CODE(t, fa_t_children(t, id, 0, NULL), FAINA_TASK_NOT_FOUND);
    CHECK_CODE(t, fa_t_wait(t, id, 0), FAINA_TASK_NOT_FOUND);
    CHECK_CODE(t, fa_t_delete(t, id), FAINA_TASK_NOT_FOUND);
    CHECK_OK(t, fa_t_list(t, .ns = "*"));
    CHECK_INT(t->op.tasks->count, 0);
    CHECK_OK(t, fa_t_stats(t, NULL));
    CHECK_INT(t->op.stats->by_status[FAINA_COMPLETED], 0);
}

static void test_delete__with_cancel_ends_it_first(struct fa_t *t)
{
    for (enum faina_status from = FAINA_PENDING; from <= FAINA_BACKGROUND; from++) {
        const char *id = fa_t_make(t, from, "w");
        const char *kid = from == FAINA_BLOCKED ? fa_t_child(t, id, 0) : NULL;

        CHECK_CODE(t, fa_t_delete(t, id), FAINA_TASK_ACTIVE);
        CHECK_OK(t, fa_t_delete_with(t, id, NOBODY, (struct faina_removal){.cancel = true}));
        CHECK_CODE(t, fa_t_get(t, id), FAINA_TASK_NOT_FOUND);
        if (kid)
            CHECK_NOW(t, kid, FAINA_CANCELLED);
    }
}

static void test_delete__with_cancel_works_on_ended_ones(struct fa_t *t)
{
    for (enum faina_status from = FAINA_COMPLETED; from < FAINA_STATUS_COUNT; from++) {
        const char *id = fa_t_make(t, from, "w");

        CHECK_OK(t, fa_t_delete_with(t, id, NOBODY, (struct faina_removal){.cancel = true}));
        CHECK_CODE(t, fa_t_get(t, id), FAINA_TASK_NOT_FOUND);
    }
}

static void test_delete__with_purge_removes_the_rows(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_COMPLETED, "w");
    const char *later = fa_t_make(t, FAINA_COMPLETED, "w");
    struct faina_removal purge = {.purge = true};

    CHECK_OK(t, fa_t_delete_with(t, id, NOBODY, purge));
    CHECK_CODE(t, fa_t_get(t, id), FAINA_TASK_NOT_FOUND);
    CHECK_CODE(t, fa_t_delete_with(t, id, NOBODY, purge), FAINA_TASK_NOT_FOUND);
    CHECK_OK(t, fa_t_delete(t, later));
    CHECK_OK(t, fa_t_delete_with(t, later, NOBODY, purge)); /* a deleted one too */
    CHECK_CODE(t, fa_t_delete_with(t, later, NOBODY, purge), FAINA_TASK_NOT_FOUND);
    CHECK_OK(t, fa_t_purge(t, .limit = 100));
    CHECK_INT(t->op.count, 0);
    CHECK_CODE(t, fa_t_delete_with(t, fa_t_make(t, FAINA_RUNNING, "w"), NOBODY, purge),
               FAINA_TASK_ACTIVE);
}

/* ------------------------------------------------------------------------------------------
 * Purge
 */

static int64_t purge_all(struct fa_t *t, const struct faina_purge *purge)
{
    int64_t total = 0;

    do {
        CHECK_OK(t, fa_t_purge_code(t, purge));
        total += t->op.count;
    } while (t->op.count > 0);
    return total;
}

static void test_purge__removes_ended_tasks_only(struct fa_t *t)
{
    const char *ids[FAINA_STATUS_COUNT];

    for (enum faina_status s = 0; s < FAINA_STATUS_COUNT; s++)
        ids[s] = fa_t_make(t, s, "w");
    CHECK_INT(purge_all(t, &(struct faina_purge){0}), 4);
    for (enum faina_status s = 0; s < FAINA_STATUS_COUNT; s++) {
        if (s < FAINA_COMPLETED)
            CHECK_NOW(t, ids[s], s);
        else
            CHECK_CODE(t, fa_t_get(t, ids[s]), FAINA_TASK_NOT_FOUND);
    }
}

static void test_purge__filters(struct fa_t *t)
{
    const char *here = fa_t_submit(t, .type = "x");
    const char *there = fa_t_submit(t, .ns = "other", .type = "x");
    const char *typed = fa_t_submit(t, .type = "y");
    const char *failed = fa_t_make(t, FAINA_FAILED, "w");
    const char *deleted = fa_t_make(t, FAINA_COMPLETED, "w");

    fa_t_finish_task(t, here);
    fa_t_finish_task(t, there);
    fa_t_finish_task(t, typed);
    CHECK_OK(t, fa_t_delete(t, deleted));
    CHECK_INT(purge_all(t, &(struct faina_purge){.ns = "nowhere"}), 0);
    CHECK_INT(purge_all(t, &(struct faina_purge){.type = "z"}), 0);
    CHECK_INT(purge_all(t, &(struct faina_purge){.ended_before_us = 1}), 0);
    CHECK_INT(purge_all(t, &(struct faina_purge){.statuses = 1u << FAINA_CANCELLED}), 0);
    CHECK_INT(purge_all(t, &(struct faina_purge){.deleted_only = true}), 1);
    CHECK_NOW(t, here, FAINA_COMPLETED);
    CHECK_INT(purge_all(t, &(struct faina_purge){.statuses = 1u << FAINA_FAILED}), 1);
    CHECK_CODE(t, fa_t_get(t, failed), FAINA_TASK_NOT_FOUND);
    CHECK_INT(purge_all(t, &(struct faina_purge){.type = "y"}), 1);
    CHECK_CODE(t, fa_t_get(t, typed), FAINA_TASK_NOT_FOUND);
    CHECK_INT(purge_all(t, &(struct faina_purge){.ns = "other"}), 1);
    CHECK_CODE(t, fa_t_get(t, there), FAINA_TASK_NOT_FOUND);
    CHECK_NOW(t, here, FAINA_COMPLETED);
    CHECK_INT(purge_all(t, &(struct faina_purge){.ended_before_us = fa_clock_now_us() + 1000000}),
              1);
}

static void test_purge__at_most_limit_in_a_call(struct fa_t *t)
{
    for (int i = 0; i < 25; i++)
        CHECK_OK(t, fa_t_cancel(t, fa_t_submit(t, .type = "x"), NOBODY));
    CHECK_OK(t, fa_t_purge(t, .limit = 10));
    CHECK_INT(t->op.count, 10);
    CHECK_INT(purge_all(t, &(struct faina_purge){.limit = 10}), 15);
    CHECK_OK(t, fa_t_stats(t, NULL));
    CHECK_INT(t->op.stats->by_status[FAINA_CANCELLED], 0);
}

static void test_purge__frees_the_key(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .idempotency_key = "k", .input = "{}");

    fa_t_finish_task(t, id);
    CHECK_INT(purge_all(t, &(struct faina_purge){0}), 1);
    CHECK_CODE(t, fa_t_get_by_key(t, NULL, "x", "k"), FAINA_TASK_NOT_FOUND);
    fa_t_submit(t, .type = "x", .idempotency_key = "k");
    CHECK_TRUE(!t->op.existing);
}

/* A purge between the end of a dependency and of its waiting task's other ones loses nothing. */
static void test_purge__waiting_tasks_still_go_on(struct fa_t *t)
{
    const char *a = fa_t_submit(t, .type = "x"), *b = fa_t_submit(t, .type = "x");
    const char *needs[] = {a, b};
    const char *id = fa_t_submit(t, .type = "y", .depends_on = needs, .depends_on_count = 2);

    fa_t_finish_task(t, a);
    CHECK_INT(purge_all(t, &(struct faina_purge){0}), 1);
    fa_t_finish_task(t, b);
    CHECK_NOW(t, id, FAINA_PENDING);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_SQL(test_cancel__every_living_status),
        FA_T_CASE(test_cancel__again_changes_nothing),
        FA_T_CASE(test_cancel__delayed_task),
        FA_T_CASE(test_cancel__worker_hears_of_it),
        FA_T_CASE(test_retry__starts_anew),
        FA_T_CASE(test_retry__from_every_status_it_may),
        FA_T_CASE(test_retry__keeping_attempts),
        FA_T_CASE(test_retry__keeping_attempts_without_limit),
        FA_T_CASE(test_retry__old_output_and_key_stay_in_order),
        FA_T_CASE_SQL(test_delete__takes_it_out_of_view),
        FA_T_CASE_SQL(test_delete__with_cancel_ends_it_first),
        FA_T_CASE(test_delete__with_cancel_works_on_ended_ones),
        FA_T_CASE_SQL(test_delete__with_purge_removes_the_rows),
        FA_T_CASE_SQL(test_purge__removes_ended_tasks_only),
        FA_T_CASE_SQL(test_purge__filters),
        FA_T_CASE(test_purge__at_most_limit_in_a_call),
        FA_T_CASE(test_purge__frees_the_key),
        FA_T_CASE_SQL(test_purge__waiting_tasks_still_go_on),
    };

    return fa_t_main(argc, argv, "manage", cases, FA_COUNT(cases));
}
