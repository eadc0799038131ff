/*
 * test_history_counts.c - the history is what the events say: by type, and through restarts.
 */
#include "support/ops.h"

#include "model/history.h"

#define FAST ((struct faina_retry_policy){.base_ms = 1, .factor = 1, .max_ms = 1})

static enum faina_code read_history(struct fa_t *t, const struct fa_history_query *query)
{
    return fa_t_run(t, &(struct fa_op){.kind = FA_OP_HISTORY, .history_query = query});
}

/* "submitted/completed/failed/dead/cancelled/retried" of all steps together; then how many wait and
 * run now. */
static const char *sums(struct fa_t *t, const char *ns, const char *type)
{
    const struct fa_history_query query = {.ns = ns, .type = type};
    const struct fa_history_answer *history;
    int64_t n[6] = {0};

    CHECK_OK(t, read_history(t, &query));
    history = t->op.history;
    CHECK(history->count >= 60, "%zu steps", history->count);
    for (size_t i = 0; i < history->count; i++) {
        const struct fa_history_item *item = &history->items[i];

        CHECK(i == 0 || item->at_us == item[-1].at_us + history->step_ms * 1000, "not in order");
        n[0] += item->submitted;
        n[1] += item->completed;
        n[2] += item->failed;
        n[3] += item->dead_lettered;
        n[4] += item->cancelled;
        n[5] += item->retried;
    }
    return fa_arena_printf(&t->arena, "%lld/%lld/%lld/%lld/%lld/%lld %lld %lld", (long long)n[0],
                           (long long)n[1], (long long)n[2], (long long)n[3], (long long)n[4],
                           (long long)n[5], (long long)history->items[history->count - 1].waiting,
                           (long long)history->items[history->count - 1].running);
}

static void make_some(struct fa_t *t)
{
    const char *id;

    fa_t_finish_task(t, fa_t_submit(t, .type = "x"));
    fa_t_finish_task(t, fa_t_submit(t, .type = "X"));
    id = fa_t_submit(t, .type = "x", .max_attempts = 1);
    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no")); /* dead letter */
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    id = fa_t_submit(t, .type = "x", .retry = FAST);
    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no")); /* is retried */
    id = fa_t_submit(t, .type = "x");
    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_fail_final(t, id, BY("w"), "no"));
    fa_t_take(t, fa_t_submit(t, .type = "x"), "w");
    fa_t_submit(t, .ns = "other", .type = "x");
    fa_t_submit(t, .type = "y");
}

#define OF_X "6/2/1/1/1/2 1 1"

static void test_history__counts_what_happens(struct fa_t *t)
{
    make_some(t);
    CHECK_STR(sums(t, NULL, "x"), OF_X);
    CHECK_STR(sums(t, "default", "X"), OF_X);
    CHECK_STR(sums(t, "other", "x"), "1/0/0/0/0/0 1 0");
    CHECK_STR(sums(t, "*", "x"), "7/2/1/1/1/2 2 1");
    CHECK_STR(sums(t, NULL, NULL), "7/2/1/1/1/2 2 1");
    CHECK_STR(sums(t, "*", NULL), "8/2/1/1/1/2 3 1");
    CHECK_STR(sums(t, NULL, "nothing"), "0/0/0/0/0/0 0 0");
}

static void test_history__survives_a_restart(struct fa_t *t)
{
    make_some(t);
    fa_t_reopen(t);
    CHECK_STR(sums(t, NULL, "x"), OF_X);
    CHECK_STR(sums(t, "*", "x"), "7/2/1/1/1/2 2 1");
    CHECK_STR(sums(t, "*", NULL), "8/2/1/1/1/2 3 1");
    fa_t_finish_task(t, fa_t_submit(t, .type = "y")); /* in the same minute */
    fa_t_reopen(t);
    fa_t_finish_task(t, fa_t_submit(t, .type = "y"));
    CHECK_STR(sums(t, NULL, "y"), "3/2/0/0/0/0 1 0");
    CHECK_STR(sums(t, NULL, NULL), "9/4/1/1/1/2 2 1");
}

static void test_history__times(struct fa_t *t)
{
    const struct fa_history_query query = {.type = "x"};
    const struct fa_history_item *last;
    int64_t before;

    fa_t_finish_task(t, fa_t_submit(t, .type = "x"));
    fa_t_submit(t, .type = "x");
    CHECK_OK(t, read_history(t, &query));
    last = &t->op.history->items[t->op.history->count - 1];
    before = last->completed;
    if (before == 1) { /* else a minute has begun meanwhile */
        CHECK_INT(last->wait.has_any, true);
        CHECK_INT(last->run.has_any, true);
        CHECK(last->wait.p50 <= last->wait.p95 && last->wait.p95 <= last->wait.p99, "in order");
    }
    CHECK_INT(last[-30].wait.has_any, false);
    CHECK(last->oldest_ready_s >= 0 && last->oldest_ready_s < 600, "%f", last->oldest_ready_s);
}

static void test_history__bad_ranges(struct fa_t *t)
{
    const struct fa_history_query empty = {.from_us = 2, .to_us = 1};
    const struct fa_history_query seconds = {.step_ms = 1000};
    const struct fa_history_query years = {.from_us = 1};

    CHECK_CODE(t, read_history(t, &empty), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, read_history(t, &seconds), FAINA_INVALID_REQUEST);
    CHECK_OK(t, read_history(t, &years));
    CHECK(t->op.history->count <= FA_HISTORY_ITEMS_USUAL + 1, "%zu", t->op.history->count);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_SQL(test_history__counts_what_happens),
        FA_T_CASE_NEEDS(test_history__survives_a_restart, FA_T_DURABLE | FA_T_SQL),
        FA_T_CASE_SQL(test_history__times),
        FA_T_CASE_SQL(test_history__bad_ranges),
    };

    return fa_t_main(argc, argv, "history_counts", cases, FA_COUNT(cases));
}
