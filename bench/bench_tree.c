/*
 * bench_tree.c - single submits while a tree of 100,000 tasks is cancelled.
 *
 * The tree has a root, 100 subtasks that have started, and 1,000 waiting subtasks of each. The
 * cancel of the root goes on as an operation on many tasks (store/queue/cancel_tree.h). One caller
 * submits a task every two milliseconds: for as long as the operation runs, and as often before it.
 */
#include "base/clock.h"
#include "bench/bench_driver.h"
#include "model/bulk.h"

#include <stdlib.h>
#include <time.h>

#define BRANCHES 100
#define LEAVES 1000 /* of each */
#define QUICK_BRANCHES 10
#define QUICK_LEAVES 300
#define SAMPLES 1000 /* of an idle engine */
#define QUICK_SAMPLES 50
#define SAMPLES_MAX 100000
#define EVERY_US 2000
#define READ_EVERY 20 /* samples: then the operation is read */
#define WORKER "bench"
#define LIMIT 5

struct run {
    struct fa_service *service;
    struct fa_arena arena;
    const struct fa_bench_inputs *inputs;
    size_t branches, leaves, samples;
    struct faina_submit *subtasks; /* as many as the larger of the two */
    double *samples_us;
    struct fa_bench_rounds idle_us, busy_us, idle_medians_us, busy_medians_us, seconds;
};

static enum faina_code run_one(struct run *run, struct fa_op *op, struct faina_error *err)
{
    fa_arena_reset(&run->arena);
    op->arena = &run->arena;
    return fa_service_run_one(run->service, op, err);
}

/* ------------------------------------------------------------------------------------------
 * The tree
 */

/* Claims a task of the type, starts it and gives it subtasks. Writes its id. */
static enum faina_code branch_out(struct run *run, const char *type, const char *subtype,
                                  size_t count, char id[FAINA_ID_SIZE], struct faina_error *err)
{
    const struct faina_claim claim = {
        .worker_id = WORKER, .types = &type, .type_count = 1, .lease_ms = FA_BENCH_LEASE_MS};
    struct fa_op op = {.kind = FA_OP_CLAIM_NEXT, .claim = &claim};
    struct faina_by by = {.worker_id = WORKER};
    enum faina_code code = run_one(run, &op, err);

    if (code == FAINA_OK && op.tasks->count != 1)
        code = fa_error_set(err, FAINA_INTERNAL, "a claim found no task of the tree");
    if (code != FAINA_OK)
        return code;
    memcpy(id, op.tasks->items[0].id, FAINA_ID_SIZE);
    by.fence = op.tasks->items[0].fence;
    op = (struct fa_op){.kind = FA_OP_START, .id = id, .by = by};
    code = run_one(run, &op, err);
    for (size_t i = 0; i < count; i++)
        run->subtasks[i] =
            (struct faina_submit){.type = subtype, .input = fa_bench_input(run->inputs, i)};
    op = (struct fa_op){.kind = FA_OP_BLOCK,
                        .id = id,
                        .by = by,
                        .block = {.subtasks = run->subtasks, .count = count}};
    return code == FAINA_OK ? run_one(run, &op, err) : code;
}

static enum faina_code grow(struct run *run, char root[FAINA_ID_SIZE], struct faina_error *err)
{
    static const struct faina_submit submit = {.type = "bench.root"};
    struct fa_op op = {.kind = FA_OP_SUBMIT, .submit = &submit};
    enum faina_code code = run_one(run, &op, err);
    char branch[FAINA_ID_SIZE];

    if (code == FAINA_OK)
        code = branch_out(run, "bench.root", "bench.branch", run->branches, root, err);
    for (size_t i = 0; code == FAINA_OK && i < run->branches; i++)
        code = branch_out(run, "bench.branch", "bench.leaf", run->leaves, branch, err);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Sampling
 */

/* One submit, and a pause until the next one is due. */
static enum faina_code sample(struct run *run, size_t number, struct faina_error *err)
{
    const struct faina_submit submit = {.type = FA_BENCH_TYPE,
                                        .input = fa_bench_input(run->inputs, number)};
    struct fa_op op = {.kind = FA_OP_SUBMIT, .submit = &submit};
    int64_t start_us = fa_clock_mono_us(), us;
    enum faina_code code = run_one(run, &op, err);

    us = fa_clock_mono_us() - start_us;
    run->samples_us[number] = (double)us;
    if (us < EVERY_US) {
        struct timespec pause = {.tv_nsec = (EVERY_US - us) * 1000};

        nanosleep(&pause, NULL);
    }
    return code;
}

/* The newest operation on many tasks is the cancel. */
static enum faina_code is_over(struct run *run, bool *out, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_BULK_LIST};
    enum faina_code code = run_one(run, &op, err);
    const struct fa_bulk *bulk;

    if (code != FAINA_OK)
        return code;
    bulk = op.bulks->count > 0 ? &op.bulks->items[0] : NULL;
    if (bulk == NULL || (bulk->status != FA_BULK_RUNNING && bulk->status != FA_BULK_COMPLETED) ||
        bulk->failed > 0 ||
        (bulk->status == FA_BULK_COMPLETED && (size_t)bulk->done < run->branches * run->leaves / 4))
        return fa_error_set(err, FAINA_INTERNAL, "the cancel has no operation, or it failed");
    *out = bulk->status == FA_BULK_COMPLETED;
    return FAINA_OK;
}

static void keep(struct run *run, size_t count, struct fa_bench_rounds *p99s,
                 struct fa_bench_rounds *medians)
{
    fa_bench_rounds_add(p99s, fa_bench_quantile(run->samples_us, count, 0.99));
    fa_bench_rounds_add(medians, fa_bench_quantile(run->samples_us, count, 0.5));
}

static enum faina_code run_round(struct run *run, struct faina_error *err)
{
    char root[FAINA_ID_SIZE];
    struct fa_op op = {.kind = FA_OP_CANCEL, .id = root, .is_unaudited = true};
    enum faina_code code = grow(run, root, err);
    size_t count = 0;
    bool is_done = false;
    int64_t start_us;

    for (size_t i = 0; code == FAINA_OK && i < run->samples; i++)
        code = sample(run, i, err);
    if (code != FAINA_OK)
        return code;
    keep(run, run->samples, &run->idle_us, &run->idle_medians_us);
    start_us = fa_clock_mono_us();
    code = run_one(run, &op, err);
    while (code == FAINA_OK && !is_done && count < SAMPLES_MAX) {
        code = sample(run, count++, err);
        if (code == FAINA_OK && count % READ_EVERY == 0)
            code = is_over(run, &is_done, err);
    }
    if (code != FAINA_OK)
        return code;
    fa_bench_rounds_add(&run->seconds, (double)(fa_clock_mono_us() - start_us) / 1e6);
    keep(run, count, &run->busy_us, &run->busy_medians_us);
    return FAINA_OK;
}

enum faina_code fa_bench_tree(struct fa_bench *bench, const char *name, struct faina_error *err)
{
    struct run run = {.inputs = &bench->inputs,
                      .branches = bench->is_quick ? QUICK_BRANCHES : BRANCHES,
                      .leaves = bench->is_quick ? QUICK_LEAVES : LEAVES,
                      .samples = bench->is_quick ? QUICK_SAMPLES : SAMPLES};
    char location[4100];
    enum faina_code code = fa_bench_location_make(bench, name, location, sizeof location, err);

    if (code != FAINA_OK)
        return code;
    run.subtasks = fa_alloc_zero(LEAVES, sizeof *run.subtasks);
    run.samples_us = fa_alloc_zero(SAMPLES_MAX, sizeof *run.samples_us);
    code = fa_bench_service_open(&run.service, bench, location, "0", err);
    for (int round = 0; code == FAINA_OK && round < bench->rounds; round++) {
        fa_bench_progress_bar(bench, name, round, bench->rounds);
        code = run_round(&run, err);
    }
    fa_bench_progress_clear(bench);
    fa_service_close(run.service);
    fa_arena_finish(&run.arena);
    free(run.subtasks);
    free(run.samples_us);
    fa_bench_location_remove(bench, location);
    if (code != FAINA_OK)
        return code;
    fa_bench_ratio_add(&bench->report, &run.busy_us, &run.idle_us, FA_BENCH_AT_MOST, LIMIT,
                       "single submits while a tree of 100,000 is cancelled, p99 / idle");
    fa_bench_ratio_add(&bench->report, &run.busy_medians_us, &run.idle_medians_us, FA_BENCH_NO_AIM,
                       0, "    ... their median / idle");
    fa_bench_value_add(&bench->report, &run.idle_us, FA_BENCH_NO_AIM, 0,
                       "    ... microseconds of an idle engine, p99");
    fa_bench_value_add(&bench->report, &run.seconds, FA_BENCH_NO_AIM, 0,
                       "    ... seconds of the cancel");
    return FAINA_OK;
}
