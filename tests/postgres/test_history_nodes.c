/*
 * test_history_nodes.c - the history that two nodes write together is what the events say.
 */
#include "postgres/pair.h"

#include "model/history.h"

#include <setjmp.h>

#include <cmocka.h>

#define TASKS 120
#define KINDS 6

/* What is counted, in the order of struct fa_history_item, and the events of it. */
static const char *const events_of[KINDS][2] = {
    {"created", NULL},     {"completed", NULL}, {"failed", NULL},
    {"dead_letter", NULL}, {"cancelled", NULL}, {"retried", "retry_scheduled"}};

static bool is_counted(int kind, const char *what)
{
    for (int i = 0; i < 2; i++)
        if (events_of[kind][i] != NULL && strcmp(events_of[kind][i], what) == 0)
            return true;
    return false;
}

static const char *format(struct fa_t *t, const int64_t *n)
{
    return fa_arena_printf(&t->arena, "%lld/%lld/%lld/%lld/%lld/%lld", (long long)n[0],
                           (long long)n[1], (long long)n[2], (long long)n[3], (long long)n[4],
                           (long long)n[5]);
}

/* The events of all tasks of a type (NULL: of each). */
static const char *count_events(struct fa_t *t, const char *type)
{
    char ids[TASKS][FAINA_ID_SIZE];
    int64_t n[KINDS] = {0};
    size_t count;

    CHECK_OK(t, fa_t_list(t, .type = type, .limit = 1000));
    count = t->op.tasks->count;
    CHECK(count > 0 && count <= TASKS, "%zu tasks", count);
    for (size_t i = 0; i < count; i++)
        memcpy(ids[i], t->op.tasks->items[i].id, FAINA_ID_SIZE);
    for (size_t i = 0; i < count; i++) {
        CHECK_OK(t, fa_t_events(t, ids[i], 1000));
        for (size_t k = 0; k < t->op.events->count; k++)
            for (int kind = 0; kind < KINDS; kind++)
                n[kind] += is_counted(kind, t->op.events->items[k].what);
    }
    return format(t, n);
}

static const char *read_history(struct fa_t *t, const char *type)
{
    const struct fa_history_query query = {.type = type};
    struct fa_op op = {.kind = FA_OP_HISTORY, .history_query = &query};
    int64_t n[KINDS] = {0};

    CHECK_OK(t, fa_t_run(t, &op));
    for (size_t i = 0; i < t->op.history->count; i++) {
        const struct fa_history_item *item = &t->op.history->items[i];

        n[0] += item->submitted;
        n[1] += item->completed;
        n[2] += item->failed;
        n[3] += item->dead_lettered;
        n[4] += item->cancelled;
        n[5] += item->retried;
    }
    return format(t, n);
}

static void act(struct fa_t *t, struct fa_t *other, const char *type, int what)
{
    const char *id = fa_t_submit(t, .type = type, .max_attempts = what == 3 ? 1 : 4);

    switch (what) {
    case 0:
        fa_t_finish_task(other, id);
        break;
    case 1:
        fa_t_take(other, id, "w");
        CHECK_OK(t, fa_t_fail_final(t, id, BY("w"), "no"));
        break;
    case 2:
        fa_t_take(t, id, "w");
        CHECK_OK(other, fa_t_fail_attempt(other, id, BY("w"), "no")); /* is retried */
        break;
    case 3:
        fa_t_take(t, id, "w");
        CHECK_OK(other, fa_t_fail_attempt(other, id, BY("w"), "no")); /* dead letter */
        CHECK_OK(t, fa_t_retry(t, id, NOBODY));
        break;
    case 4:
        CHECK_OK(other, fa_t_cancel(other, id, NOBODY));
        break;
    default: /* waits */
        break;
    }
}

static void act_often(struct fa_pair *pair, int count)
{
    for (int i = 0; i < count; i++) {
        bool is_first = i % 2 == 0;

        act(is_first ? &pair->a : &pair->b, is_first ? &pair->b : &pair->a, i % 3 ? "x" : "y",
            (i + i / 6) % 6);
    }
}

static void check_history(struct fa_t *t)
{
    CHECK_STR(read_history(t, NULL), count_events(t, NULL));
    CHECK_STR(read_history(t, "x"), count_events(t, "x"));
    CHECK_STR(read_history(t, "y"), count_events(t, "y"));
}

/* A node that is closed stores its counts; those of an open one are in its memory. */
static void test_history_nodes__both_write(void **state)
{
    struct fa_pair *pair = *state;

    fa_pair_open(pair);
    act_often(pair, TASKS / 2);
    fa_t_close(&pair->b);
    check_history(&pair->a);
    fa_t_open(&pair->b);
    act_often(pair, TASKS / 2);
    fa_t_close(&pair->a);
    check_history(&pair->b);
    fa_t_close(&pair->b);
    fa_t_open(&pair->a);
    check_history(&pair->a);
}

/* The node that leads has them in its memory. */
static bool has_three(struct fa_t *t, void *arg)
{
    return strcmp(read_history(t, "x"), "3/0/0/0/0/0") == 0 ||
           strcmp(read_history(arg, "x"), "3/0/0/0/0/0") == 0;
}

/* Submits in SQL are counted when the leader adds them up, whatever node that is. */
static void test_history_nodes__submits_in_sql_are_counted(void **state)
{
    struct fa_pair *pair = *state;
    PGconn *conn;

    fa_pair_open(pair);
    conn = fa_psql_connect(pair->a.url);
    fa_psql_exec(conn, "SELECT submit('x')");
    fa_psql_exec(conn, "SELECT submit_many('[{\"type\": \"x\"}, {\"type\": \"X\"},"
                       " {\"type\": \"y\"}]')");
    fa_psql_exec(conn, "BEGIN; SELECT submit('x'); ROLLBACK");
    fa_psql_close(conn);
    fa_t_wait_until(has_three, &pair->a, &pair->b, "the leader has counted them");
    fa_t_close(&pair->b);
    fa_t_close(&pair->a);
    fa_t_open(&pair->b);
    CHECK_STR(read_history(&pair->b, "x"), "3/0/0/0/0/0");
    CHECK_STR(read_history(&pair->b, NULL), "4/0/0/0/0/0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_history_nodes__both_write, fa_pair_set_up,
                                        fa_pair_tear_down),
        cmocka_unit_test_setup_teardown(test_history_nodes__submits_in_sql_are_counted,
                                        fa_pair_set_up, fa_pair_tear_down),
    };

    return cmocka_run_group_tests_name("history_nodes", tests, NULL, NULL);
}
