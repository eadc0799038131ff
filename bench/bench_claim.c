/*
 * bench_claim.c - the latency of a claim of 100, with few and with many other tasks in the store.
 *
 * Each set is an engine of its own, all open together; on PostgreSQL, the server fills those with
 * many tasks (bench_fill_postgres.h). A sample is one claim of 100. Then the claimed tasks are
 * completed and as many are submitted, which isn't timed, so that every claim finds the same
 * backlog, and not the tasks that the previous one has just read. The sets alternate.
 *
 * The part "claim-groups" compares tasks of many groups with as many tasks of one.
 */
#include "base/clock.h"
#include "bench/bench_driver.h"
#include "bench/bench_fill_postgres.h"
#include "cli/text.h"
#include "model/limits.h"

#include <assert.h>
#include <stdlib.h>

#define CLAIM_SIZE 100
#define BUILD_BATCH 10000 /* the limit of a submit */
#define CLAIM_MAX 1000    /* the limit of a claim */
#define SAMPLES 200
#define QUICK_SAMPLES 20
#define WARM_UP 10
#define RESOURCE "bench.full"
#define FEW 10000
#define GROUPS 100000
#define LIMIT 1.3
#define URGENT 100             /* the priority of throttled tasks */
#define POSTGRES_ENDED 5000000 /* the server inserts them in a minute */

/* Sizes of --quick are divided by this. */
#define QUICK_DIVISOR 100

enum set {
    FEW_WAIT,
    MANY_WAIT,
    THROTTLED,
    RATED,
    ENDED,
    HUGE_WAIT,
    ONE_GROUP,
    MANY_GROUPS,
    SET_COUNT
};

/* The first of a part is what the others are compared with. */
static const struct {
    int64_t waiting, throttled, ended, groups;
    bool by_rate; /* the throttled tasks' resource has no token; else it is at its limit */
} sets[SET_COUNT] = {
    [FEW_WAIT] = {.waiting = FEW},
    [MANY_WAIT] = {.waiting = 1000000},
    [THROTTLED] = {.waiting = FEW, .throttled = 1000000},
    [RATED] = {.waiting = FEW, .throttled = 1000000, .by_rate = true},
    [ENDED] = {.waiting = FEW, .ended = 1000000},
    [HUGE_WAIT] = {.waiting = 10000000},
    [ONE_GROUP] = {.waiting = GROUPS, .groups = 1},
    [MANY_GROUPS] = {.waiting = GROUPS, .groups = GROUPS},
};

static const struct faina_submit plain = {.type = FA_BENCH_TYPE};

struct claim_set {
    enum set kind;
    struct fa_bench_latency *row;
    struct fa_service *service;
    struct fa_bench_session *session; /* NULL: all tasks are submitted by the engine */
    struct fa_bench_driver driver;
    double *samples_us;
    size_t sample_count;
};

/* ------------------------------------------------------------------------------------------
 * Building
 */

static enum faina_code submit_many(const struct fa_bench *bench, struct claim_set *set,
                                   const struct faina_submit *like, int64_t count,
                                   struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    if (set->session && count > BUILD_BATCH && sets[set->kind].groups == 0) {
        code = fa_bench_driver_submit(&set->driver, like, BUILD_BATCH, false, err);
        if (code != FAINA_OK)
            return code;
        return fa_bench_fill_waiting(bench, set->session, like->priority, count - BUILD_BATCH,
                                     set->row->name, err);
    }
    for (int64_t done = 0; code == FAINA_OK && done < count;) {
        int64_t batch = count - done < BUILD_BATCH ? count - done : BUILD_BATCH;

        fa_bench_progress_bar(bench, set->row->name, done, count);
        code = fa_bench_driver_submit(&set->driver, like, (size_t)batch, false, err);
        done += batch;
    }
    return code;
}

/* Submits, claims and completes `count` tasks. */
static enum faina_code end_many(const struct fa_bench *bench, struct claim_set *set, int64_t count,
                                struct faina_error *err)
{
    struct fa_bench_driver *driver = &set->driver;
    enum faina_code code = FAINA_OK;

    if (set->session && count > BUILD_BATCH) {
        code = end_many(bench, set, BUILD_BATCH, err);
        if (code != FAINA_OK)
            return code;
        return fa_bench_fill_ended(bench, set->session, count - BUILD_BATCH, set->row->name, err);
    }
    for (int64_t done = 0; code == FAINA_OK && done < count;) {
        size_t batch = (size_t)(count - done < BUILD_BATCH ? count - done : BUILD_BATCH);

        fa_bench_progress_bar(bench, set->row->name, done, count);
        code = fa_bench_driver_submit(driver, &plain, batch, false, err);
        while (code == FAINA_OK && fa_bench_driver_holds(driver) < batch) {
            size_t left = batch - fa_bench_driver_holds(driver);

            code = fa_bench_driver_claim(driver, left < CLAIM_MAX ? left : CLAIM_MAX, err);
        }
        if (code == FAINA_OK)
            code = fa_bench_driver_complete(driver, batch, err);
        done += (int64_t)batch;
    }
    return code;
}

/* A resource with a limit of one, which a task holds, or with a rate whose token a task took; and
 * tasks that need it: with a higher priority, and older, than all tasks after them. */
static enum faina_code throttle_many(const struct fa_bench *bench, struct claim_set *set,
                                     int64_t count, struct faina_error *err)
{
    static const char *const resources[] = {RESOURCE};
    const struct faina_submit like = {
        .type = FA_BENCH_TYPE, .priority = URGENT, .resources = resources, .resource_count = 1};
    struct fa_op op = {
        .kind = FA_OP_RESOURCE_SET,
        .resource = {.name = RESOURCE, .max_concurrency = 1},
        .arena = &set->driver.arena,
    };
    enum faina_code code;

    if (count == 0)
        return FAINA_OK;
    if (sets[set->kind].by_rate) {
        op.resource.max_concurrency = -1;
        op.resource.rate = (struct faina_rate){1, FA_RATE_PER_MS_MAX, 1};
    }
    code = fa_service_run_one(set->service, &op, err);
    if (code == FAINA_OK)
        code = submit_many(bench, set, &like, count, err);
    if (code == FAINA_OK)
        code = fa_bench_driver_claim(&set->driver, CLAIM_SIZE, err);
    if (code != FAINA_OK)
        return code;
    if (fa_bench_driver_holds(&set->driver) != 1)
        return fa_error_set(err, FAINA_INTERNAL, "%zu tasks hold the resource",
                            fa_bench_driver_holds(&set->driver));
    set->driver.held_end = 0; /* this task is never completed */
    return FAINA_OK;
}

static enum faina_code build(const struct fa_bench *bench, struct claim_set *set,
                             const char *location, struct faina_error *err)
{
    const struct fa_bench_latency *row = set->row;
    char name[32];
    enum faina_code code;

    snprintf(name, sizeof name, "%d", (int)set->kind);
    code = fa_bench_service_open(&set->service, bench, location, name, err);
    if (code != FAINA_OK)
        return code;
    fa_bench_driver_init(&set->driver, set->service, &bench->inputs, 1, BUILD_BATCH, BUILD_BATCH);
    if (fa_bench_is_postgres(bench)) {
        char schema[128];

        snprintf(schema, sizeof schema, "%.90s_%s", location, name);
        code = fa_bench_session_open(&set->session, bench, schema, err);
    }
    set->samples_us = fa_alloc_zero(SAMPLES, sizeof *set->samples_us);
    if (code == FAINA_OK && !bench->is_quick && strcmp(bench->url, "sqlite:") == 0)
        code = fa_bench_driver_grow_log(&set->driver, err);
    if (code == FAINA_OK)
        code = end_many(bench, set, row->ended, err);
    if (code == FAINA_OK)
        code = throttle_many(bench, set, row->throttled, err);
    set->driver.group_count = (uint64_t)sets[set->kind].groups;
    if (code == FAINA_OK)
        code = submit_many(bench, set, &plain, row->waiting, err);
    if (code == FAINA_OK && set->session)
        code = fa_bench_fill_settle(set->session, err);
    return code;
}

static void set_finish(struct claim_set *set)
{
    if (!set->service)
        return;
    fa_bench_driver_finish(&set->driver);
    fa_bench_session_close(set->session);
    fa_service_close(set->service);
    free(set->samples_us);
}

/* ------------------------------------------------------------------------------------------
 * Measuring
 */

static enum faina_code sample(struct claim_set *set, bool is_kept, struct faina_error *err)
{
    int64_t start = fa_clock_mono_ns(), end;
    enum faina_code code = fa_bench_driver_claim(&set->driver, CLAIM_SIZE, err);

    end = fa_clock_mono_ns();
    if (code != FAINA_OK)
        return code;
    if (fa_bench_driver_holds(&set->driver) != CLAIM_SIZE)
        return fa_error_set(err, FAINA_INTERNAL, "a claim of %d found only %zu", CLAIM_SIZE,
                            fa_bench_driver_holds(&set->driver));
    if (is_kept)
        set->samples_us[set->sample_count++] = (double)(end - start) / 1000;
    return fa_bench_driver_replace(&set->driver, &plain, err);
}

/* The previous set leaves the processor's caches in a certain state; so the order is random. */
static void shuffle(size_t *order, size_t count, struct fa_random *random)
{
    for (size_t i = 0; i < count; i++) {
        size_t other = (size_t)fa_random_below(random, i + 1);

        order[i] = order[other];
        order[other] = i;
    }
}

static enum faina_code measure(const struct fa_bench *bench, struct claim_set *all, size_t count,
                               struct faina_error *err)
{
    const int samples = bench->is_quick ? QUICK_SAMPLES : SAMPLES;
    struct fa_random random;
    size_t order[SET_COUNT];

    fa_random_seed_system(&random);
    for (int i = -WARM_UP; i < samples; i++) {
        fa_bench_progress_bar(bench, "claims of 100", i < 0 ? 0 : i, samples);
        shuffle(order, count, &random);
        for (size_t s = 0; s < count; s++) {
            enum faina_code code = sample(&all[order[s]], i >= 0, err);

            if (code != FAINA_OK)
                return code;
        }
    }
    return FAINA_OK;
}

static void row_init(const struct fa_bench *bench, struct fa_bench_latency *row, enum set kind)
{
    int64_t divisor = bench->is_quick ? QUICK_DIVISOR : 1;
    char waiting[FA_TEXT_COUNT_SIZE], others[FA_TEXT_COUNT_SIZE];

    row->waiting = sets[kind].waiting / divisor;
    row->throttled = sets[kind].throttled / divisor;
    row->ended = sets[kind].ended / divisor;
    if (row->ended > 0 && fa_bench_is_postgres(bench))
        row->ended = POSTGRES_ENDED / divisor;
    if (row->waiting < 2 * CLAIM_SIZE)
        row->waiting = 2 * CLAIM_SIZE; /* enough for a claim */
    fa_text_count(row->waiting, waiting);
    fa_text_count(row->throttled + row->ended, others);
    if (row->throttled > 0)
        snprintf(row->name, sizeof row->name, "%s waiting behind %s %s", waiting, others,
                 sets[kind].by_rate ? "without a token" : "throttled");
    else if (row->ended > 0)
        snprintf(row->name, sizeof row->name, "%s waiting beside %s ended", waiting, others);
    else if (sets[kind].groups > 0)
        snprintf(row->name, sizeof row->name, "%s waiting %s", waiting,
                 kind == ONE_GROUP ? "in one group (base)" : "in as many groups");
    else
        snprintf(row->name, sizeof row->name, "%s waiting%s", waiting,
                 kind == FEW_WAIT ? " (base)" : "");
}

enum faina_code fa_bench_claim(struct fa_bench *bench, const char *name, struct faina_error *err)
{
    struct fa_bench_report *report = &bench->report;
    struct claim_set all[SET_COUNT] = {0};
    bool has_groups = strcmp(name, "claim-groups") == 0;
    enum set first = has_groups ? ONE_GROUP : FEW_WAIT;
    size_t count = has_groups ? 2 : bench->is_huge ? HUGE_WAIT + 1 : HUGE_WAIT;
    char location[4100];
    enum faina_code code = fa_bench_location_make(bench, name, location, sizeof location, err);

    if (code != FAINA_OK)
        return code;
    for (size_t i = 0; code == FAINA_OK && i < count; i++) {
        assert(report->latency_count < FA_BENCH_ROWS_MAX);
        all[i].kind = (enum set)(first + i);
        all[i].row = &report->latencies[report->latency_count++];
        row_init(bench, all[i].row, all[i].kind);
        code = build(bench, &all[i], location, err);
    }
    if (code == FAINA_OK)
        code = measure(bench, all, count, err);
    fa_bench_progress_clear(bench);
    for (size_t i = 0; code == FAINA_OK && i < count; i++) {
        fa_bench_latency_summarize(all[i].row, all[i].samples_us, all[i].sample_count,
                                   bench->rounds);
        if (i > 0)
            fa_bench_ratio_add(report, &all[i].row->medians_us, &all[0].row->medians_us,
                               FA_BENCH_AT_MOST, LIMIT, "claim of 100: %s / base",
                               all[i].row->name);
    }
    for (size_t i = 0; i < count; i++)
        set_finish(&all[i]);
    fa_bench_location_remove(bench, location);
    return code;
}
