/*
 * bench_emit.c - the cost of an event: matching against reading its bytes, and an emit against
 * submitting the same tasks as a batch.
 *
 * The stores of a part are open together and alternate. Each emit is a call of its own, and so is
 * each batch of the tasks that it creates; then the same with many events in one call, which share
 * the flush to disk, so that processor time dominates.
 */
#include "base/clock.h"
#include "bench/bench_driver.h"
#include "model/limits.h"
#include "model/match.h"

#include <assert.h>
#include <stdlib.h>

#define TRIGGERS 1000 /* on the type of the event */
#define MATCHING 10   /* of them */
#define ELSEWHERE 10  /* workflows of as many triggers on other types */
#define EVENTS_AT_ONCE 100
#define EVENT_TYPE "object.created"
#define EVENT_FILE "holiday/2026/07/IMG_20260714_183201.jpg"
#define EVENT_HASH "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
#define EVENT_SIZE "2483112"

/* 300 bytes, as the event of an object store about a new object. */
static const char event_data[] =
    "{\"bucket\":\"media\",\"filename\":\"" EVENT_FILE
    "\",\"mimeType\":\"image/jpeg\",\"size\":" EVENT_SIZE ",\"hash\":\"" EVENT_HASH
    "\",\"owner\":\"ann@example.com\",\"createdAt\":\"2026-07-14T18:32:01Z\","
    "\"meta\":{\"width\":4032,\"height\":3024,\"tags\":[\"sea\",123]}}";

/* The five of the specification. */
static const char *const spec_expressions[] = {
    "mimeType = 'audio/mpeg'",
    "size > 1048576",
    "mimeType startsWith 'image/'",
    "mimeType contains 'zip' AND size > 1024",
    "filename endsWith '.pdf' OR mimeType = 'application/pdf'",
};

/* ------------------------------------------------------------------------------------------
 * Matching
 */

/* Reads each byte once, like a search. */
static unsigned scan(struct fa_bytes data)
{
    unsigned found = 0;

    for (size_t i = 0; i < data.len; i++) {
        found += data.ptr[i] == '"';
        __asm__ volatile("" : "+r"(found)); /* one after the other */
    }
    return found;
}

static int64_t time_scans(struct fa_bytes data, int count)
{
    int64_t start = fa_clock_mono_us();
    unsigned found = 0;

    for (int i = 0; i < count; i++)
        found += scan(data);
    __asm__ volatile("" : : "r"(found));
    return fa_clock_mono_us() - start;
}

static int64_t time_matches(const struct fa_match *const *matches, struct fa_bytes data, int count,
                            bool *is_fine)
{
    int64_t start = fa_clock_mono_us();
    int held = 0;

    for (int i = 0; i < count; i++) {
        struct fa_match_data ready;

        fa_match_data_init(&ready, data);
        for (size_t k = 0; k < FA_COUNT(spec_expressions); k++) {
            struct fa_match_verdict verdict = {0};

            if (fa_match_run(matches[k], &ready, &verdict, NULL) == FAINA_OK)
                held += verdict.is_match;
        }
    }
    *is_fine &= held == 2 * count;
    return fa_clock_mono_us() - start;
}

enum faina_code fa_bench_match(struct fa_bench *bench, const char *name, struct faina_error *err)
{
    const int count = bench->is_quick ? 1000 : 100000;
    const struct fa_match *matches[FA_COUNT(spec_expressions)];
    struct fa_bench_rounds matching = {0}, scanning = {0};
    struct fa_bytes data = fa_str(event_data);
    struct fa_arena arena = {0};
    enum faina_code code = FAINA_OK;
    bool is_fine = true;

    static_assert(sizeof event_data == 300 + 1, "an event of 300 bytes");
    for (size_t i = 0; code == FAINA_OK && i < FA_COUNT(spec_expressions); i++)
        code = fa_match_compile(fa_str(spec_expressions[i]), &arena, &matches[i], err);
    for (int round = 0; code == FAINA_OK && round < bench->rounds; round++) {
        fa_bench_progress_bar(bench, name, round, bench->rounds);
        fa_bench_rounds_add(&scanning, (double)time_scans(data, count));
        fa_bench_rounds_add(&matching, (double)time_matches(matches, data, count, &is_fine));
    }
    fa_bench_progress_clear(bench);
    fa_arena_finish(&arena);
    if (code == FAINA_OK && !is_fine)
        code = fa_error_set(err, FAINA_INTERNAL, "an expression gave a wrong result");
    if (code == FAINA_OK)
        fa_bench_ratio_add(&bench->report, &matching, &scanning, FA_BENCH_AT_MOST, 3,
                           "five expressions on a 300-byte event / scanning its bytes once");
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Stores
 */

enum store {
    SUBMITS, /* no workflow: the tasks are submitted */
    EQUAL,   /* 1,000 triggers that compare a field with one value, and more */
    MIXED,   /* 1,000 triggers of the specification's five forms */
    FEW,     /* the ten that match */
    MANY,    /* and 10,000 on other types */
    STORES
};

struct subject {
    struct fa_service *service;
    struct fa_bench_rounds alone, together; /* events a second */
};

struct run {
    struct subject subjects[STORES];
    struct fa_op *ops;
    struct faina_submit submits[MATCHING];
    char types[MATCHING][32], inputs[MATCHING][256];
    struct fa_arena arena;
};

#define TASK_TYPE "work.%d"
#define TASK_INPUT(hash, filename, size, number)                                                   \
    "{\"hash\":\"" hash "\",\"path\":\"" filename "\",\"bytes\":" size ",\"rule\":" number "}"

/* Expressions that match the event. */
static const char *const yes[] = {
    "mimeType = 'image/jpeg'",
    "size > 1048576",
    "mimeType startsWith 'image/'",
    "mimeType contains 'jpeg' AND size > 1024",
    "filename endsWith '.jpg' OR mimeType = 'application/pdf'",
};
/* Expressions that don't, with a number between the two parts. */
static const char *const no_equal[2] = {"owner = 'user", "@example.com' AND size > 1024"};
static const char *const no_mixed[][2] = {
    {"mimeType = 'application/x-", "'"},
    {"size > 9", "000000"},
    {"mimeType startsWith 'audio/x-", "'"},
    {"mimeType contains 'x-", "' AND size > 1024"},
    {"filename endsWith '.x", "' OR mimeType = 'application/pdf'"},
};

static void put_trigger(struct fa_buf *out, const char *on, const char *match, int number)
{
    fa_buf_printf(out, "%s{\"name\":\"t%d\",\"on\":\"%s\",\"match\":\"", number ? "," : "", number,
                  on);
    fa_buf_add_str(out, match);
    fa_buf_printf(out,
                  "\",\"task\":{\"type\":\"" TASK_TYPE
                  "\",\"input\":" TASK_INPUT("${hash}", "${filename}", "\"${size}\"", "%d") "}}",
                  number, number);
}

/* One workflow; the first ten of its triggers match the event. */
static enum faina_code put_workflow(struct run *run, struct fa_service *service, const char *name,
                                    const char *on, enum store store, struct faina_error *err)
{
    int count =
        store == EQUAL || store == MIXED || strcmp(on, EVENT_TYPE) != 0 ? TRIGGERS : MATCHING;
    struct fa_definition definition = {.name = name};
    struct fa_op op = {.kind = FA_OP_WORKFLOW_PUT, .definition = &definition, .arena = &run->arena};
    struct fa_buf text;

    fa_buf_init(&text, FA_WORKFLOW_SIZE_MAX);
    fa_buf_printf(&text, "{\"workflow\":\"%s\",\"triggers\":[", name);
    for (int i = 0; i < count; i++) {
        char match[128];
        const char *const *parts =
            store == MIXED ? no_mixed[i % (int)FA_COUNT(no_mixed)] : no_equal;

        if (i < MATCHING)
            snprintf(match, sizeof match, "%s", yes[i % (int)FA_COUNT(yes)]);
        else
            snprintf(match, sizeof match, "%s%d%s", parts[0], i, parts[1]);
        put_trigger(&text, on, match, i);
    }
    fa_buf_add_str(&text, "]}");
    definition.text = (struct fa_bytes){text.ptr, text.len};
    fa_service_run(service, &op, 1);
    fa_buf_finish(&text);
    if (op.code != FAINA_OK)
        *err = op.error;
    return op.code;
}

static enum faina_code open_store(struct run *run, const struct fa_bench *bench,
                                  const char *location, enum store store, struct faina_error *err)
{
    struct fa_service **service = &run->subjects[store].service;
    enum faina_code code;
    char name[16];

    snprintf(name, sizeof name, "%d", (int)store);
    code = fa_bench_service_open(service, bench, location, name, err);
    if (code == FAINA_OK && store != SUBMITS)
        code = put_workflow(run, *service, "here", EVENT_TYPE, store, err);
    for (int i = 0; code == FAINA_OK && store == MANY && i < ELSEWHERE; i++) {
        char on[32];

        snprintf(name, sizeof name, "else-%d", i);
        snprintf(on, sizeof on, "other.type.%d", i);
        code = put_workflow(run, *service, name, on, store, err);
    }
    return code;
}

/* The tasks that the ten matching triggers create. */
static void make_submits(struct run *run)
{
    for (int i = 0; i < MATCHING; i++) {
        snprintf(run->types[i], sizeof run->types[i], TASK_TYPE, i);
        snprintf(run->inputs[i], sizeof run->inputs[i],
                 TASK_INPUT(EVENT_HASH, EVENT_FILE, EVENT_SIZE, "%d"), i);
        run->submits[i] = (struct faina_submit){.type = run->types[i], .input = run->inputs[i]};
    }
}

/* ------------------------------------------------------------------------------------------
 * Measuring
 */

/* Emits `at_once` events, or submits the tasks that they would create, in one call. */
static enum faina_code run_call(struct run *run, enum store store, int at_once,
                                struct faina_error *err)
{
    static const struct faina_emit emit = {.type = EVENT_TYPE, .data = event_data};
    size_t count = (size_t)(store == SUBMITS ? at_once * MATCHING : at_once);

    fa_arena_reset(&run->arena);
    for (size_t i = 0; i < count; i++) {
        run->ops[i] = (struct fa_op){.kind = FA_OP_EMIT, .arena = &run->arena};
        if (store == SUBMITS) {
            run->ops[i].kind = FA_OP_SUBMIT;
            run->ops[i].submit = &run->submits[i % MATCHING];
        } else {
            run->ops[i].emit = &emit;
        }
    }
    fa_service_run(run->subjects[store].service, run->ops, count);
    for (size_t i = 0; i < count; i++) {
        if (run->ops[i].code != FAINA_OK)
            return fa_error_set(err, run->ops[i].code, "%s was refused: %s",
                                fa_op_name(run->ops[i].kind), run->ops[i].error.message);
        if (store != SUBMITS && run->ops[i].emitted->count != MATCHING)
            return fa_error_set(err, FAINA_INTERNAL, "an event created %zu tasks, not %d",
                                run->ops[i].emitted->count, MATCHING);
    }
    return FAINA_OK;
}

static enum faina_code measure(struct run *run, enum store store, int events, int at_once,
                               struct fa_bench_rounds *rates, struct faina_error *err)
{
    int64_t start = fa_clock_mono_us();
    enum faina_code code = FAINA_OK;

    for (int done = 0; code == FAINA_OK && done < events; done += at_once)
        code = run_call(run, store, at_once, err);
    if (code == FAINA_OK && rates)
        fa_bench_rounds_add(rates, events * 1e6 / (double)(fa_clock_mono_us() - start + 1));
    return code;
}

static enum faina_code run_rounds(struct run *run, const struct fa_bench *bench, const char *name,
                                  struct faina_error *err)
{
    const int events = bench->is_quick ? EVENTS_AT_ONCE : 20 * EVENTS_AT_ONCE;
    const int alone = events / 10;
    enum faina_code code = FAINA_OK;

    /* The first round is a warm-up: files grow, and definitions are read. */
    for (int round = 0; code == FAINA_OK && round <= bench->rounds; round++) {
        fa_bench_progress_bar(bench, name, round, bench->rounds + 1);
        for (int i = 0; code == FAINA_OK && i < STORES; i++) {
            enum store store = (enum store)((i + round) % STORES);
            struct subject *subject = &run->subjects[store];

            code = measure(run, store, alone, 1, round ? &subject->alone : NULL, err);
            if (code == FAINA_OK)
                code = measure(run, store, events, EVENTS_AT_ONCE,
                               round ? &subject->together : NULL, err);
        }
    }
    return code;
}

static void add_ratios(struct fa_bench_report *report, const struct subject *s)
{
    fa_bench_ratio_add(report, &s[EQUAL].alone, &s[SUBMITS].alone, FA_BENCH_AT_LEAST, 0.5,
                       "emit, 10 of 1,000 triggers match / its tasks as a batch");
    fa_bench_ratio_add(report, &s[EQUAL].together, &s[SUBMITS].together, FA_BENCH_NO_AIM, 0,
                       "    100 events in one call / their tasks in one call");
    fa_bench_ratio_add(report, &s[MIXED].alone, &s[SUBMITS].alone, FA_BENCH_AT_LEAST, 0.5,
                       "emit, triggers of five forms / its tasks as a batch");
    fa_bench_ratio_add(report, &s[MIXED].together, &s[SUBMITS].together, FA_BENCH_NO_AIM, 0,
                       "    100 events in one call, triggers of five forms");
    fa_bench_ratio_add(report, &s[MANY].together, &s[FEW].together, FA_BENCH_AT_LEAST, 0.9,
                       "emit with 10,000 triggers on other types / without them");
}

enum faina_code fa_bench_emit(struct fa_bench *bench, const char *name, struct faina_error *err)
{
    struct run *run = fa_alloc_zero(1, sizeof *run);
    char location[4100];
    enum faina_code code = fa_bench_location_make(bench, name, location, sizeof location, err);

    run->ops = fa_alloc_zero(EVENTS_AT_ONCE * MATCHING, sizeof *run->ops);
    make_submits(run);
    for (int i = 0; code == FAINA_OK && i < STORES; i++)
        code = open_store(run, bench, location, (enum store)i, err);
    if (code == FAINA_OK)
        code = run_rounds(run, bench, name, err);
    fa_bench_progress_clear(bench);
    for (int i = 0; i < STORES; i++)
        if (run->subjects[i].service)
            fa_service_close(run->subjects[i].service);
    if (code == FAINA_OK)
        add_ratios(&bench->report, run->subjects);
    fa_bench_location_remove(bench, location);
    fa_arena_finish(&run->arena);
    free(run->ops);
    free(run);
    return code;
}
