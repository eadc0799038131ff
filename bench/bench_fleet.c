/*
 * bench_fleet.c - several nodes on one PostgreSQL: the time from a submit on one node to the claim
 * on another, and the database load of idle nodes.
 *
 * A node is an engine of its own with its own connections. Several nodes in one process share
 * nothing but the database.
 */
#include "base/clock.h"
#include "bench/bench_driver.h"
#include "bench/bench_raw_postgres.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static void sleep_until(int64_t mono_ns)
{
    struct timespec at = {.tv_sec = mono_ns / 1000000000, .tv_nsec = mono_ns % 1000000000};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0)
        continue;
}

/* ------------------------------------------------------------------------------------------
 * From a submit on one node to a claim on another
 */

#define PACE_NS 10000000 /* 100 a second */
#define SAMPLES 200      /* in a round */
#define QUICK_SAMPLES 30
#define WAIT_MS 20000
#define TIMEOUT_NS (INT64_C(30) * 1000000000)

/* The other node's worker: claims, records the time, and completes. */
struct starter {
    struct fa_service *service;
    pthread_t thread;
    int64_t *claimed_ns; /* by the number in the task's input */
    size_t sample_max;
    atomic_size_t claimed;
    atomic_bool is_over;
    enum faina_code code;
    struct faina_error error;
};

static enum faina_code start_some(struct starter *starter, struct fa_arena *arena,
                                  struct faina_error *err)
{
    const struct faina_claim claim = {
        .worker_id = "starter", .limit = 10, .lease_ms = FA_BENCH_LEASE_MS, .wait_ms = WAIT_MS};
    struct fa_op op = {.kind = FA_OP_CLAIM_NEXT, .claim = &claim, .arena = arena};
    enum faina_code code = fa_service_claim_wait(starter->service, &op, err);
    int64_t now = fa_clock_mono_ns();

    for (size_t i = 0; code == FAINA_OK && op.tasks && i < op.tasks->count; i++) {
        const struct faina_task *task = &op.tasks->items[i];
        size_t number = (size_t)atoll(task->input);
        struct fa_op complete = {.kind = FA_OP_COMPLETE,
                                 .id = task->id,
                                 .by = {.worker_id = "starter", .fence = task->fence},
                                 .output = FA_BENCH_OUTPUT,
                                 .arena = arena};

        if (number < starter->sample_max)
            starter->claimed_ns[number] = now;
        code = fa_service_run_one(starter->service, &complete, err);
        atomic_fetch_add(&starter->claimed, 1);
    }
    return code;
}

static void *run_starter(void *arg)
{
    struct starter *starter = arg;
    struct fa_arena arena = {0};

    while (starter->code == FAINA_OK && !atomic_load(&starter->is_over)) {
        fa_arena_reset(&arena);
        starter->code = start_some(starter, &arena, &starter->error);
    }
    fa_arena_finish(&arena);
    return NULL;
}

/* Samples of one round, in microseconds. */
struct wake_round {
    double engine[SAMPLES], there[SAMPLES], back[SAMPLES], warm[SAMPLES];
};

static enum faina_code submit_number(struct fa_service *service, size_t number,
                                     struct faina_error *err)
{
    char input[32];
    const struct faina_submit submit = {.type = FA_BENCH_TYPE, .input = input};
    struct fa_arena arena = {0};
    struct fa_op op = {.kind = FA_OP_SUBMIT, .submit = &submit, .arena = &arena};
    enum faina_code code;

    snprintf(input, sizeof input, "%zu", number);
    code = fa_service_run_one(service, &op, err);
    fa_arena_finish(&arena);
    return code;
}

static enum faina_code engine_round(struct fa_service *here, struct starter *starter, size_t count,
                                    double *out_us, struct faina_error *err)
{
    int64_t began_ns[SAMPLES], at = fa_clock_mono_ns(), until;
    enum faina_code code = FAINA_OK;

    atomic_store(&starter->claimed, 0);
    for (size_t i = 0; code == FAINA_OK && i < count; i++) {
        sleep_until(at += PACE_NS);
        began_ns[i] = fa_clock_mono_ns();
        code = submit_number(here, i, err);
    }
    until = fa_clock_mono_ns() + TIMEOUT_NS;
    while (code == FAINA_OK && atomic_load(&starter->claimed) < count) {
        if (fa_clock_mono_ns() > until)
            return fa_error_set(err, FAINA_INTERNAL, "the other node started %zu of %zu tasks",
                                atomic_load(&starter->claimed), count);
        sleep_until(fa_clock_mono_ns() + PACE_NS / 10);
    }
    for (size_t i = 0; code == FAINA_OK && i < count; i++)
        out_us[i] = (double)(starter->claimed_ns[i] - began_ns[i]) / 1000;
    return code;
}

/* Once after a pause, as the engine's submit is, and once more right after that. */
static enum faina_code notify_round(struct fa_bench_notify_pair *pair, size_t count,
                                    struct wake_round *round, struct faina_error *err)
{
    int64_t at = fa_clock_mono_ns();
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; code == FAINA_OK && i < count; i++) {
        struct fa_bench_notify_times idle, warm;

        sleep_until(at += PACE_NS);
        code = fa_bench_notify_pair_measure(pair, &idle, err);
        if (code == FAINA_OK)
            code = fa_bench_notify_pair_measure(pair, &warm, err);
        if (code != FAINA_OK)
            break;
        round->there[i] = (double)(idle.there_ns + idle.claim_ns) / 1000;
        round->back[i] = (double)(idle.back_ns + idle.claim_ns) / 1000;
        round->warm[i] = (double)(warm.back_ns + warm.claim_ns) / 1000;
    }
    return code;
}

enum wake { WAKE_ENGINE, WAKE_BACK, WAKE_THERE, WAKE_AWAKE, WAKE_COUNT };

static const char *const wake_names[WAKE_COUNT] = {
    [WAKE_ENGINE] = "engine: submit here, claimed there",
    [WAKE_BACK] = "raw: NOTIFY there and back, one claim",
    [WAKE_THERE] = "raw: NOTIFY there, one claim",
    [WAKE_AWAKE] = "raw: NOTIFY there and back, one claim, at once",
};

struct wake_result {
    struct fa_bench_rounds medians[WAKE_COUNT], p99s[WAKE_COUNT];
};

static void add_round(struct wake_result *result, struct wake_round *round, size_t count)
{
    double *samples[WAKE_COUNT] = {round->engine, round->back, round->there, round->warm};

    for (int i = 0; i < WAKE_COUNT; i++) {
        fa_bench_rounds_add(&result->medians[i], fa_bench_quantile(samples[i], count, 0.5));
        fa_bench_rounds_add(&result->p99s[i], fa_bench_quantile(samples[i], count, 0.99));
    }
}

static void report_wakes(struct fa_bench_report *report, const struct wake_result *result,
                         size_t samples)
{
    for (int i = 0; i < WAKE_COUNT; i++) {
        struct fa_bench_wake *row = &report->wakes[report->wake_count];

        assert(report->wake_count < FA_COUNT(report->wakes));
        report->wake_count++;
        row->name = wake_names[i];
        row->samples = samples;
        row->medians_us = result->medians[i];
        row->p99s_us = result->p99s[i];
    }
    fa_bench_ratio_add(report, &result->medians[WAKE_ENGINE], &result->medians[WAKE_BACK],
                       FA_BENCH_AT_MOST, 2,
                       "submit to start elsewhere: engine / NOTIFY and a claim");
    fa_bench_ratio_add(report, &result->medians[WAKE_ENGINE], &result->medians[WAKE_THERE],
                       FA_BENCH_NO_AIM, 0, "    the same, NOTIFY one way only");
    fa_bench_ratio_add(report, &result->medians[WAKE_ENGINE], &result->medians[WAKE_AWAKE],
                       FA_BENCH_NO_AIM, 0, "    the same, NOTIFY at once after another one");
    fa_bench_ratio_add(report, &result->p99s[WAKE_ENGINE], &result->medians[WAKE_ENGINE],
                       FA_BENCH_AT_MOST, 10, "submit to start elsewhere: p99 / median");
}

/* The first round is a warm-up. */
static enum faina_code run_wakes(struct fa_bench *bench, struct fa_service *here,
                                 struct starter *starter, struct fa_bench_notify_pair *pair,
                                 struct faina_error *err)
{
    struct wake_round *round = fa_alloc_zero(1, sizeof *round);
    struct wake_result *result = fa_alloc_zero(1, sizeof *result);
    size_t count = bench->is_quick ? QUICK_SAMPLES : SAMPLES;
    enum faina_code code = FAINA_OK;

    for (int i = 0; code == FAINA_OK && i <= bench->rounds; i++) {
        fa_bench_progress_bar(bench, "start", i, bench->rounds + 1);
        code = engine_round(here, starter, count, round->engine, err);
        if (code == FAINA_OK)
            code = notify_round(pair, count, round, err);
        if (code == FAINA_OK && i > 0)
            add_round(result, round, count);
    }
    fa_bench_progress_clear(bench);
    if (code == FAINA_OK)
        report_wakes(&bench->report, result, count * (size_t)bench->rounds);
    free(round);
    free(result);
    return code;
}

enum faina_code fa_bench_start(struct fa_bench *bench, const char *name, struct faina_error *err)
{
    struct fa_service *here = NULL;
    struct fa_bench_notify_pair *pair = NULL;
    struct starter starter = {.sample_max = SAMPLES};
    bool is_running = false;
    char location[128];
    enum faina_code code = fa_bench_location_make(bench, name, location, sizeof location, err);

    starter.claimed_ns = fa_alloc_zero(SAMPLES, sizeof *starter.claimed_ns);
    if (code == FAINA_OK)
        code = fa_bench_service_open(&here, bench, location, "nodes", err);
    if (code == FAINA_OK)
        code = fa_bench_service_open(&starter.service, bench, location, "nodes", err);
    if (code == FAINA_OK)
        code = fa_bench_notify_pair_open(&pair, bench, location, "raw", err);
    if (code == FAINA_OK) {
        is_running = pthread_create(&starter.thread, NULL, run_starter, &starter) == 0;
        if (!is_running)
            code = fa_error_set(err, FAINA_UNAVAILABLE, "can't start a thread");
    }
    if (code == FAINA_OK)
        code = run_wakes(bench, here, &starter, pair, err);
    atomic_store(&starter.is_over, true);
    if (is_running) {
        struct faina_error last;

        /* A last task ends its wait. */
        if (submit_number(here, SAMPLES, &last) != FAINA_OK)
            fprintf(stderr, "faina-bench: %s\n", last.message);
        pthread_join(starter.thread, NULL);
        if (starter.code != FAINA_OK) { /* the cause of any other error */
            *err = starter.error;
            code = starter.code;
        }
    }
    fa_bench_notify_pair_close(pair);
    fa_service_close(starter.service);
    fa_service_close(here);
    free(starter.claimed_ns);
    fa_bench_location_remove(bench, location);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Idle nodes
 */

#define NODES 10
#define SETTLE_NS (INT64_C(3) * 1000000000)
#define WINDOW_NS (INT64_C(4) * 1000000000) /* two polls of each node, and one of the leader */
#define QUICK_WINDOW_NS (INT64_C(1) * 1000000000)
#define STATEMENTS_MAX 20

/* A worker that waits, but no task is submitted. */
struct idler {
    struct fa_service *service;
    pthread_t thread;
    bool is_running;
    int64_t wait_ms;
    char worker_id[32];
    enum faina_code code;
    struct faina_error error;
};

static void *run_idler(void *arg)
{
    struct idler *idler = arg;
    const struct faina_claim claim = {
        .worker_id = idler->worker_id, .limit = 10, .wait_ms = idler->wait_ms};
    struct fa_arena arena = {0};
    struct fa_op op = {.kind = FA_OP_CLAIM_NEXT, .claim = &claim, .arena = &arena};

    idler->code = fa_service_claim_wait(idler->service, &op, &idler->error);
    fa_arena_finish(&arena);
    return NULL;
}

/* How the database counts statements. The engine's BEGIN and COMMIT are prepared, and
 * pg_stat_statements counts those only once. Each transaction of an idle node contains one of two
 * statements (ready_lanes, leader_fence), so that one counts as three. */
static const struct {
    const char *name, *sql;
} counters[] = {
    {"statements, pg_stat_statements",
     "SELECT sum(calls * CASE WHEN query ~ '^(BEGIN|COMMIT|ROLLBACK)' THEN 0"
     " WHEN query ~ '(RECURSIVE next|FROM leader)[[:space:]]' THEN 3 ELSE 1 END)::bigint"
     " FROM pg_stat_statements WHERE dbid ="
     " (SELECT oid FROM pg_database WHERE datname = current_database())"},
    {"transactions, pg_stat_database",
     "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"},
};

static enum faina_code choose_counter(struct fa_bench_session *session, size_t *out,
                                      struct faina_error *err)
{
    int64_t count;

    for (*out = 0; *out < FA_COUNT(counters); ++*out) {
        if (fa_bench_session_run(session, counters[*out].sql, &count, err) == FAINA_OK)
            return FAINA_OK;
    }
    return err->code;
}

static enum faina_code count_idle(struct fa_bench *bench, struct fa_bench_session *session,
                                  struct faina_error *err)
{
    int64_t window = bench->is_quick ? QUICK_WINDOW_NS : WINDOW_NS;
    struct fa_bench_rounds rates = {0}, ones = {0};
    int64_t before, after, start = fa_clock_mono_ns() + SETTLE_NS;
    size_t counter;
    enum faina_code code = choose_counter(session, &counter, err);

    sleep_until(start);
    if (code == FAINA_OK)
        code = fa_bench_session_run(session, counters[counter].sql, &before, err);
    for (int i = 0; code == FAINA_OK && i < bench->rounds; i++) {
        fa_bench_progress_bar(bench, "idle", i, bench->rounds);
        sleep_until(start + (i + 1) * window);
        code = fa_bench_session_run(session, counters[counter].sql, &after, err);
        /* One of them is the query of the counter itself. */
        fa_bench_rounds_add(&rates, (double)(after - before - 1) * 1e9 / (double)window);
        fa_bench_rounds_add(&ones, 1);
        before = after;
    }
    fa_bench_progress_clear(bench);
    if (code == FAINA_OK)
        fa_bench_ratio_add(&bench->report, &rates, &ones, FA_BENCH_AT_MOST, STATEMENTS_MAX,
                           "idle, %d nodes: load per second (%s)", NODES, counters[counter].name);
    return code;
}

static enum faina_code start_idlers(const struct fa_bench *bench, const char *location,
                                    struct idler *idlers, struct faina_error *err)
{
    int64_t window = bench->is_quick ? QUICK_WINDOW_NS : WINDOW_NS;
    enum faina_code code = FAINA_OK;

    for (int i = 0; code == FAINA_OK && i < NODES; i++) {
        code = fa_bench_service_open(&idlers[i].service, bench, location, "nodes", err);
        snprintf(idlers[i].worker_id, sizeof idlers[i].worker_id, "idler-%d", i);
        idlers[i].wait_ms = (SETTLE_NS + (bench->rounds + 1) * window) / 1000000;
    }
    for (int i = 0; code == FAINA_OK && i < NODES; i++) {
        idlers[i].is_running = pthread_create(&idlers[i].thread, NULL, run_idler, &idlers[i]) == 0;
        if (!idlers[i].is_running)
            code = fa_error_set(err, FAINA_UNAVAILABLE, "can't start a thread");
    }
    return code;
}

enum faina_code fa_bench_idle(struct fa_bench *bench, const char *name, struct faina_error *err)
{
    struct idler idlers[NODES] = {0};
    struct fa_bench_session *session = NULL;
    char location[128];
    enum faina_code code = fa_bench_location_make(bench, name, location, sizeof location, err);

    if (code == FAINA_OK)
        code = fa_bench_session_open(&session, bench, NULL, err);
    if (code == FAINA_OK)
        code = start_idlers(bench, location, idlers, err);
    if (code == FAINA_OK)
        code = count_idle(bench, session, err);
    for (int i = 0; i < NODES; i++) {
        if (idlers[i].is_running)
            pthread_join(idlers[i].thread, NULL);
        if (code == FAINA_OK && idlers[i].code != FAINA_OK) {
            *err = idlers[i].error;
            code = idlers[i].code;
        }
        fa_service_close(idlers[i].service);
    }
    fa_bench_session_close(session);
    fa_bench_location_remove(bench, location);
    return code;
}
