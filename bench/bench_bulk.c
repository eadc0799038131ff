/*
 * bench_bulk.c - an operation on many tasks: how fast it retries, against completing as many tasks.
 *
 * In each round the tasks are submitted and cancelled, by an operation that isn't timed. Then an
 * operation retries all of them, and one caller claims and completes them by 1,000. Only the
 * completing is timed of that.
 */
#include "base/clock.h"
#include "bench/bench_driver.h"
#include "model/bulk.h"

#include <stdlib.h>
#include <time.h>

#define TASKS 100000
#define QUICK_TASKS 2000
#define BATCH 1000
#define POLL_MS 50 /* the operation is read this often */

struct run {
    struct fa_service *service;
    struct fa_bench_driver driver;
    int64_t tasks;
    struct fa_bench_rounds retried, completed; /* tasks a second */
};

static enum faina_code run_op(struct run *run, struct fa_op *op, struct faina_error *err)
{
    op->arena = &run->driver.arena;
    fa_service_run(run->service, op, 1);
    if (op->code != FAINA_OK)
        *err = op->error;
    return op->code;
}

/* Runs an operation on all tasks of a status until it has ended, and returns how long it took. */
static enum faina_code run_bulk(struct run *run, enum fa_bulk_kind kind, enum faina_status status,
                                int64_t *out_us, struct faina_error *err)
{
    struct fa_bulk_request request = {.kind = kind, .has_filter = true};
    struct fa_op op = {.kind = FA_OP_BULK, .bulk = {&request, NULL}};
    int64_t start = fa_clock_mono_us();
    enum faina_code code;
    char id[FAINA_ID_SIZE];
    struct fa_bulk *bulk;

    fa_arena_reset(&run->driver.arena);
    request.query.statuses = 1u << status;
    code = run_op(run, &op, err);
    if (code != FAINA_OK)
        return code;
    bulk = op.bulk_answer;
    memcpy(id, bulk->id, sizeof(id));
    while (code == FAINA_OK && bulk->status == FA_BULK_RUNNING) {
        struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};

        nanosleep(&pause, NULL);
        fa_arena_reset(&run->driver.arena);
        op = (struct fa_op){.kind = FA_OP_BULK_LIST, .id = id};
        code = run_op(run, &op, err);
        if (code == FAINA_OK)
            bulk = &op.bulks->items[0];
    }
    *out_us = fa_clock_mono_us() - start;
    if (code == FAINA_OK && (bulk->status != FA_BULK_COMPLETED || bulk->done != run->tasks))
        code = fa_error_set(err, FAINA_INTERNAL, "an operation changed %lld tasks, not %lld",
                            (long long)bulk->done, (long long)run->tasks);
    return code;
}

static enum faina_code complete_all(struct run *run, int64_t *out_us, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    *out_us = 0;
    for (int64_t done = 0; code == FAINA_OK && done < run->tasks;) {
        int64_t start;
        size_t count;

        code = fa_bench_driver_claim(&run->driver, BATCH, err);
        start = fa_clock_mono_us();
        count = fa_bench_driver_holds(&run->driver);
        if (code == FAINA_OK)
            code = fa_bench_driver_complete(&run->driver, count, err);
        *out_us += fa_clock_mono_us() - start;
        done += (int64_t)count;
    }
    return code;
}

static enum faina_code run_round(struct run *run, bool is_measured, struct faina_error *err)
{
    static const struct faina_submit like = {.type = FA_BENCH_TYPE};
    enum faina_code code = FAINA_OK;
    int64_t us, retry_us = 0;

    for (int64_t made = 0; code == FAINA_OK && made < run->tasks; made += BATCH)
        code = fa_bench_driver_submit(&run->driver, &like, BATCH, false, err);
    if (code == FAINA_OK)
        code = run_bulk(run, FA_BULK_CANCEL, FAINA_PENDING, &us, err);
    if (code == FAINA_OK)
        code = run_bulk(run, FA_BULK_RETRY, FAINA_CANCELLED, &retry_us, err);
    if (code == FAINA_OK)
        code = complete_all(run, &us, err);
    if (code != FAINA_OK || !is_measured)
        return code;
    fa_bench_rounds_add(&run->retried, (double)run->tasks * 1e6 / (double)(retry_us + 1));
    fa_bench_rounds_add(&run->completed, (double)run->tasks * 1e6 / (double)(us + 1));
    return FAINA_OK;
}

enum faina_code fa_bench_bulk(struct fa_bench *bench, const char *name, struct faina_error *err)
{
    struct run run = {.tasks = bench->is_quick ? QUICK_TASKS : TASKS};
    char location[4100];
    enum faina_code code = fa_bench_location_make(bench, name, location, sizeof location, err);

    if (code == FAINA_OK)
        code = fa_bench_service_open(&run.service, bench, location, "0", err);
    if (code == FAINA_OK) {
        fa_bench_driver_init(&run.driver, run.service, &bench->inputs, 0, BATCH, BATCH);
        code = fa_bench_driver_grow_log(&run.driver, err);
        /* The first round is a warm-up: files grow. */
        for (int round = 0; code == FAINA_OK && round <= bench->rounds; round++) {
            fa_bench_progress_bar(bench, name, round, bench->rounds + 1);
            code = run_round(&run, round > 0, err);
        }
        fa_bench_driver_finish(&run.driver);
    }
    fa_bench_progress_clear(bench);
    fa_service_close(run.service);
    if (code == FAINA_OK)
        fa_bench_ratio_add(&bench->report, &run.retried, &run.completed, FA_BENCH_AT_LEAST, 0.3,
                           "retrying 100,000 tasks by an operation / completing them by 1,000");
    fa_bench_location_remove(bench, location);
    return code;
}
