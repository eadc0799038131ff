/*
 * bench_lanes.c - the cost of many types.
 *
 * Two stores, open together: one with ten types, one with very many, in namespaces of 50,000. Each
 * type has one ready task. A sample is one claim of one task, of any type. Then the task is
 * completed and one of the same type submitted, which isn't timed. The stores alternate. At the end
 * the counts are read, as for /stats.
 */
#include "base/clock.h"
#include "bench/bench_driver.h"
#include "cli/text.h"

#include <assert.h>
#include <stdlib.h>

#define FEW 10
#define MANY 1000000
#define POSTGRES_MANY 100000 /* each new type needs a statement of its own there */
#define QUICK_MANY 10000
#define PER_NAMESPACE 50000
#define BUILD_BATCH 5000
#define SAMPLES 1000
#define QUICK_SAMPLES 50
#define WARM_UP 20
#define STATS_SAMPLES 5
#define LIMIT 1.5

struct lane_set {
    struct fa_bench_latency *row;
    struct fa_service *service;
    struct fa_arena arena;
    int64_t types;
    double samples_us[SAMPLES];
    size_t sample_count;
};

static struct faina_submit submit_of(struct lane_set *set, int64_t type)
{
    return (struct faina_submit){
        .ns = fa_arena_printf(&set->arena, "n%lld", (long long)(type / PER_NAMESPACE)),
        .type = fa_arena_printf(&set->arena, "type-%lld", (long long)type),
        .input = "{}",
    };
}

static enum faina_code build(const struct fa_bench *bench, struct lane_set *set,
                             const char *location, const char *name, struct faina_error *err)
{
    struct fa_op *ops = fa_alloc_zero(BUILD_BATCH, sizeof(*ops));
    struct faina_submit *submits = fa_alloc_zero(BUILD_BATCH, sizeof(*submits));
    enum faina_code code = fa_bench_service_open(&set->service, bench, location, name, err);

    for (int64_t done = 0; code == FAINA_OK && done < set->types;) {
        size_t count = 0;

        fa_bench_progress_bar(bench, set->row->name, done, set->types);
        fa_arena_reset(&set->arena);
        for (; count < BUILD_BATCH && done < set->types; count++) {
            submits[count] = submit_of(set, done++);
            ops[count] = (struct fa_op){
                .kind = FA_OP_SUBMIT, .submit = &submits[count], .arena = &set->arena};
        }
        fa_service_run(set->service, ops, count);
        for (size_t i = 0; code == FAINA_OK && i < count; i++) {
            code = ops[i].code;
            if (code != FAINA_OK)
                *err = ops[i].error;
        }
    }
    free(submits);
    free(ops);
    return code;
}

/* Completes the task and submits one of the same type. */
static enum faina_code replace(struct lane_set *set, const struct faina_task *task,
                               struct faina_error *err)
{
    struct faina_submit submit = {.ns = task->ns, .type = task->type, .input = "{}"};
    struct fa_op ops[2] = {{.kind = FA_OP_COMPLETE,
                            .id = task->id,
                            .by = {.worker_id = "bench", .fence = task->fence},
                            .arena = &set->arena},
                           {.kind = FA_OP_SUBMIT, .submit = &submit, .arena = &set->arena}};

    fa_service_run(set->service, ops, FA_COUNT(ops));
    for (size_t i = 0; i < FA_COUNT(ops); i++) {
        if (ops[i].code != FAINA_OK) {
            *err = ops[i].error;
            return ops[i].code;
        }
    }
    return FAINA_OK;
}

static enum faina_code sample(struct lane_set *set, bool is_kept, struct faina_error *err)
{
    struct faina_claim claim = {.worker_id = "bench", .limit = 1};
    struct fa_op op = {.kind = FA_OP_CLAIM_NEXT, .claim = &claim, .arena = &set->arena};
    int64_t start, end;
    enum faina_code code;

    fa_arena_reset(&set->arena);
    start = fa_clock_mono_ns();
    code = fa_service_run_one(set->service, &op, err);
    end = fa_clock_mono_ns();
    if (code == FAINA_OK && op.tasks->count != 1)
        code = fa_error_set(err, FAINA_INTERNAL, "a claim found nothing");
    if (code != FAINA_OK)
        return code;
    if (is_kept)
        set->samples_us[set->sample_count++] = (double)(end - start) / 1000;
    return replace(set, &op.tasks->items[0], err);
}

static enum faina_code sample_stats(struct lane_set *set, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_STATS, .arena = &set->arena};
    int64_t start;
    enum faina_code code;

    fa_arena_reset(&set->arena);
    op.name.ns = "*";
    start = fa_clock_mono_ns();
    code = fa_service_run_one(set->service, &op, err);
    set->samples_us[set->sample_count++] = (double)(fa_clock_mono_ns() - start) / 1000;
    return code;
}

static void summarize(const struct fa_bench *bench, struct lane_set *set,
                      struct fa_bench_latency *row)
{
    fa_bench_latency_summarize(row, set->samples_us, set->sample_count, bench->rounds);
    set->sample_count = 0;
}

static struct fa_bench_latency *add_row(struct fa_bench *bench, const char *what, int64_t types)
{
    struct fa_bench_report *report = &bench->report;
    struct fa_bench_latency *row = &report->latencies[report->latency_count++];
    char count[FA_TEXT_COUNT_SIZE];

    assert(report->latency_count <= FA_BENCH_ROWS_MAX);
    row->waiting = types;
    snprintf(row->name, sizeof row->name, "%s %s types", what, fa_text_count(types, count));
    return row;
}

static enum faina_code measure(struct fa_bench *bench, struct lane_set sets[2],
                               struct faina_error *err)
{
    int samples = bench->is_quick ? QUICK_SAMPLES : SAMPLES;
    enum faina_code code = FAINA_OK;

    for (int i = -WARM_UP; code == FAINA_OK && i < samples; i++) {
        fa_bench_progress_bar(bench, "claims of one", i < 0 ? 0 : i, samples);
        for (int k = 0; code == FAINA_OK && k < 2; k++)
            code = sample(&sets[(i + k) & 1], i >= 0, err);
    }
    for (int k = 0; code == FAINA_OK && k < 2; k++)
        summarize(bench, &sets[k], sets[k].row);
    for (int i = 0; code == FAINA_OK && i < STATS_SAMPLES; i++)
        code = sample_stats(&sets[1], err);
    if (code == FAINA_OK)
        summarize(bench, &sets[1], add_row(bench, "counts of", sets[1].types));
    return code;
}

enum faina_code fa_bench_lanes(struct fa_bench *bench, const char *name, struct faina_error *err)
{
    struct lane_set *sets = fa_alloc_zero(2, sizeof(*sets));
    char location[4100];
    enum faina_code code = fa_bench_location_make(bench, name, location, sizeof location, err);

    if (code != FAINA_OK) {
        free(sets);
        return code;
    }
    sets[0].types = FEW;
    sets[1].types = bench->is_quick               ? QUICK_MANY
                    : fa_bench_is_postgres(bench) ? POSTGRES_MANY
                                                  : MANY;
    for (int i = 0; code == FAINA_OK && i < 2; i++) {
        sets[i].row = add_row(bench, "claim of one among", sets[i].types);
        code = build(bench, &sets[i], location, i == 0 ? "few" : "many", err);
    }
    if (code == FAINA_OK)
        code = measure(bench, sets, err);
    fa_bench_progress_clear(bench);
    if (code == FAINA_OK)
        fa_bench_ratio_add(&bench->report, &sets[1].row->medians_us, &sets[0].row->medians_us,
                           FA_BENCH_AT_MOST, LIMIT, "%s / %d types", sets[1].row->name, FEW);
    for (int i = 0; i < 2; i++) {
        if (sets[i].service != NULL)
            fa_service_close(sets[i].service);
        fa_arena_finish(&sets[i].arena);
    }
    fa_bench_location_remove(bench, location);
    free(sets);
    return code;
}
