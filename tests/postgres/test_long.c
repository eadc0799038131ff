/*
 * test_long.c - a queue that runs for long: many tasks through two nodes, each exactly once; and
 * somebody's forgotten transaction that keeps every dead row from being removed.
 *
 * FA_PG_TASKS sets how many tasks, FA_PG_XMIN_SECONDS how long the transaction is held.
 */
#include "support/crew.h"
#include "support/ops.h"
#include "support/psql.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#define LONG_US 60000000LL

enum { NODES = 2, THREADS = 2, SUBMIT_BATCH = 1000, CLAIM_BATCH = 100, BEHIND_MAX = 20000 };

struct flow {
    struct fa_t nodes[NODES];
    int64_t tasks;
    atomic_llong submitted, done;
    atomic_uchar *seen; /* by number */
};

static void submit_batch(struct fa_t *mine, int64_t first, int64_t count)
{
    struct faina_submit *submits = fa_arena_zero(&mine->arena, (size_t)count, sizeof *submits);
    struct fa_op *ops = fa_arena_zero(&mine->arena, (size_t)count, sizeof *ops);

    for (int64_t i = 0; i < count; i++) {
        submits[i] = (struct faina_submit){
            .type = i % 3 ? "x" : "y",
            .priority = (int)(i % 4),
            .input = fa_arena_printf(&mine->arena, "%lld", (long long)(first + i)),
        };
        ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submits[i]};
    }
    fa_t_run_all(mine, ops, (size_t)count);
    for (int64_t i = 0; i < count; i++)
        CHECK(ops[i].code == FAINA_OK, "submit: %s", ops[i].error.message);
}

/* Claims a batch and completes it; returns how many. */
static size_t work_batch(struct fa_t *mine, const char *worker, struct flow *flow)
{
    struct faina_claim claim = {.worker_id = worker, .limit = CLAIM_BATCH, .wait_ms = 100};
    struct fa_op *ops;
    const struct faina_tasks *tasks;

    CHECK_OK(mine, fa_t_claim_wait(mine, &claim));
    tasks = mine->op.tasks;
    ops = fa_arena_zero(&mine->arena, tasks->count + 1, sizeof *ops);
    for (size_t i = 0; i < tasks->count; i++) {
        int64_t number = fa_t_int(tasks->items[i].input);

        if (flow->seen)
            CHECK(flow->seen[number]++ == 0, "task %lld was handed out twice", (long long)number);
        ops[i] = (struct fa_op){
            .kind = FA_OP_COMPLETE, .id = tasks->items[i].id, .by = BY(worker), .output = "1"};
    }
    fa_t_run_all(mine, ops, tasks->count);
    for (size_t i = 0; i < tasks->count; i++)
        CHECK(ops[i].code == FAINA_OK, "complete: %s", ops[i].error.message);
    return tasks->count;
}

/* Thread 0 of each node submits as long as there is something to submit; all work. */
static void flow_on(struct fa_t *mine, size_t index, void *arg)
{
    struct flow *flow = arg;
    struct fa_t own;
    char worker[32];

    (void)mine;
    fa_t_share(&own, &flow->nodes[index % NODES]);
    snprintf(worker, sizeof worker, "w%zu", index);
    while (flow->done < flow->tasks) {
        if (index < NODES && flow->submitted < flow->tasks &&
            flow->submitted - flow->done < BEHIND_MAX) {
            int64_t first = atomic_fetch_add(&flow->submitted, SUBMIT_BATCH);

            if (first < flow->tasks)
                submit_batch(&own, first, SUBMIT_BATCH);
        }
        flow->done += (long long)work_batch(&own, worker, flow);
        fa_t_forget(&own);
    }
    fa_t_unshare(&own);
}

static void open_nodes(struct flow *flow)
{
    for (int i = 0; i < NODES; i++) {
        fa_t_init(&flow->nodes[i]);
        if (i == 0)
            fa_t_set_url(&flow->nodes[0], FA_T_POSTGRES);
        else
            memcpy(flow->nodes[i].url, flow->nodes[0].url, sizeof flow->nodes[i].url);
        fa_t_open(&flow->nodes[i]);
    }
}

static void close_nodes(struct flow *flow)
{
    for (int i = NODES - 1; i >= 0; i--)
        fa_t_finish(&flow->nodes[i]);
}

static void test_long__each_of_many_once(void **state)
{
    struct flow *flow = fa_alloc_zero(1, sizeof *flow);
    int64_t begin_us;

    (void)state;
    fa_psql_need_engine();
    open_nodes(flow);
    flow->tasks = fa_t_env_int("FA_PG_TASKS", 10000) / SUBMIT_BATCH * SUBMIT_BATCH;
    flow->seen = fa_alloc_zero((size_t)flow->tasks, sizeof *flow->seen);
    begin_us = fa_clock_mono_us();
    fa_t_together(&flow->nodes[0], (size_t)NODES * THREADS, flow_on, flow);
    print_message("%lld tasks in %.1f s\n", (long long)flow->tasks,
                  (double)(fa_clock_mono_us() - begin_us) / 1e6);
    for (int64_t i = 0; i < flow->tasks; i++)
        CHECK(flow->seen[i] == 1, "task %lld was handed out %d times", (long long)i, flow->seen[i]);
    for (int i = 0; i < NODES; i++) {
        CHECK_OK(&flow->nodes[i], fa_t_stats(&flow->nodes[i], NULL));
        CHECK_INT(flow->nodes[i].op.stats->by_status[FAINA_COMPLETED], flow->tasks);
        CHECK_INT(flow->nodes[i].op.stats->by_status[FAINA_PENDING], 0);
    }
    fa_t_check_sound(&flow->nodes[0]);
    free(flow->seen);
    close_nodes(flow);
    free(flow);
}

/* ------------------------------------------------------------------------------------------
 * A held xmin
 */

/* Pages of `ready` that were looked at so far. A session's last second is counted only when it has
 * been idle for ten. */
static int64_t pages_read(PGconn *conn, bool is_exact)
{
    nanosleep(&(const struct timespec){.tv_sec = is_exact ? 11 : 1, .tv_nsec = 500000000}, NULL);
    return fa_psql_int(conn, "SELECT heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read "
                             "FROM pg_statio_user_tables WHERE schemaname = current_schema() AND "
                             "relname = 'ready'");
}

/* Submits, claims and completes batches for so long; how many pages a round looks at. */
static int64_t run_rounds(struct flow *flow, PGconn *conn, int64_t us, bool is_exact)
{
    int64_t before = pages_read(conn, is_exact), rounds = 0;
    int64_t until_us = fa_clock_mono_us() + us;

    do {
        struct fa_t *t = &flow->nodes[rounds++ % NODES];

        submit_batch(t, 0, CLAIM_BATCH);
        CHECK_INT(work_batch(t, "w", flow), CLAIM_BATCH);
        flow->done += CLAIM_BATCH;
        fa_t_forget(t);
    } while (fa_clock_mono_us() < until_us);
    return (pages_read(conn, is_exact) - before) / rounds;
}

/* Dead rows pile up in front of the living ones, and vacuum can't help. Nothing is lost by it, nor
 * handed out twice; and when it lasts, a claim must not read its way through all of them. */
static void test_long__held_xmin(void **state)
{
    int64_t us = fa_t_env_int("FA_PG_XMIN_SECONDS", 6) * 1000000;
    bool is_long = us >= LONG_US;
    struct flow *flow = fa_alloc_zero(1, sizeof *flow);
    int64_t first, last;
    PGconn *holder, *conn;

    (void)state;
    fa_psql_need_engine();
    open_nodes(flow);
    conn = fa_psql_connect(flow->nodes[0].url);
    holder = fa_psql_connect(flow->nodes[0].url);
    fa_psql_exec(holder, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM tasks");
    first = run_rounds(flow, conn, is_long ? 5000000 : 1000000, is_long);
    run_rounds(flow, conn, us * 9 / 10, false);
    last = run_rounds(flow, conn, us / 10, is_long);
    print_message("%lld tasks; pages a round looks at: %lld at first, %lld in the end\n",
                  (long long)flow->done, (long long)first, (long long)last);
    CHECK_OK(&flow->nodes[0], fa_t_stats(&flow->nodes[0], NULL));
    CHECK_INT(flow->nodes[0].op.stats->by_status[FAINA_COMPLETED], flow->done);
    if (is_long)
        CHECK(last < 3 * first, "a round looks at %lld pages, at first it was %lld",
              (long long)last, (long long)first);
    fa_psql_exec(holder, "COMMIT");
    fa_psql_close(holder);
    fa_psql_close(conn);
    close_nodes(flow);
    free(flow);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long__each_of_many_once),
        cmocka_unit_test(test_long__held_xmin),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("long", tests, NULL, NULL);
}
