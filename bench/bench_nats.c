/*
 * bench_nats.c - the engine on NATS against bare writes of keys on the same server.
 *
 * Both subjects have 64 callers on one connection, each with one request under way. A bare life is
 * what any queue on a bucket needs: a create and two updates of one key with a value of 200 bytes.
 * A submit of the engine is one create, too; its claims come from the index.
 *
 * Every store is a bucket of its own, which is removed at the end.
 */
#include "base/clock.h"
#include "bench/bench_driver.h"
#include "bench/bench_engine.h"
#include "bench/bench_threads.h"
#include "cli/text.h"

#include <assert.h>
#include <nats/nats.h>
#include <stdlib.h>

#define CALLERS 64
#define TASKS_EACH 100
#define QUICK_TASKS_EACH 5
#define CLAIM_SIZE 100
#define BUILD_BATCH 1000
#define FEW 1000
#define MANY 100000
#define QUICK_MANY 2000
#define SAMPLES 100
#define QUICK_SAMPLES 5
#define NAME_SIZE 96

static enum faina_code fail(const char *what, natsStatus status, struct faina_error *err)
{
    return fa_error_set(err, FAINA_UNAVAILABLE, "%s: %s", what, natsStatus_GetText(status));
}

/* ------------------------------------------------------------------------------------------
 * Buckets
 */

struct link {
    natsConnection *connection;
    jsCtx *context;
};

static void link_close(struct link *link)
{
    jsCtx_Destroy(link->context);
    natsConnection_Destroy(link->connection);
}

static enum faina_code link_open(struct link *link, const char *url, struct faina_error *err)
{
    natsStatus status = natsConnection_ConnectTo(&link->connection, url);

    if (status == NATS_OK)
        status = natsConnection_JetStream(&link->context, link->connection, NULL);
    return status == NATS_OK ? FAINA_OK : fail("can't connect to the NATS server", status, err);
}

static void bucket_name(const struct fa_bench *bench, const char *name, char out[NAME_SIZE])
{
    snprintf(out, NAME_SIZE, "%s_%s", bench->mark, name);
}

static void bucket_remove(const struct fa_bench *bench, const struct link *link, const char *name)
{
    char bucket[NAME_SIZE];

    bucket_name(bench, name, bucket);
    js_DeleteKeyValue(link->context, bucket);
}

static enum faina_code engine_open(struct fa_service **out, const struct fa_bench *bench,
                                   const char *name, struct faina_error *err)
{
    char bucket[NAME_SIZE], url[4200];

    bucket_name(bench, name, bucket);
    snprintf(url, sizeof url, "%.4000s?bucket=%s", bench->url, bucket);
    return fa_service_open(out, url, NULL, err);
}

/* ------------------------------------------------------------------------------------------
 * Bare keys
 */

struct bare {
    const struct fa_bench *bench;
    kvStore *store;
    size_t share;
    uint64_t round; /* so that keys are new in each round */
    uint64_t revisions[CALLERS][TASKS_EACH];
};

static natsStatus bare_step(struct bare *bare, size_t number, size_t i, enum fa_bench_step step)
{
    const char *value = fa_bench_input(&bare->bench->inputs, number + i);
    uint64_t *revision = &bare->revisions[number][i];
    char key[64];

    snprintf(key, sizeof key, "bare.%llu-%zu-%zu", (unsigned long long)bare->round, number, i);
    if (step == FA_BENCH_SUBMIT)
        return kvStore_CreateString(revision, bare->store, key, value);
    return kvStore_UpdateString(revision, bare->store, key, value, *revision);
}

static enum faina_code bare_share(void *ctx, size_t number, enum fa_bench_step step,
                                  struct faina_error *err)
{
    struct bare *bare = ctx;
    natsStatus status = NATS_OK;

    for (size_t i = 0; status == NATS_OK && i < bare->share; i++)
        status = bare_step(bare, number, i, step);
    return status == NATS_OK ? FAINA_OK : fail("a bare write", status, err);
}

static enum faina_code bare_open(struct bare *bare, const struct link *link,
                                 struct faina_error *err)
{
    char bucket[NAME_SIZE];
    kvConfig config;
    natsStatus status;

    kvConfig_Init(&config);
    bucket_name(bare->bench, "bare", bucket);
    config.Bucket = bucket;
    config.StorageType = js_FileStorage;
    status = js_CreateKeyValue(&bare->store, link->context, &config);
    return status == NATS_OK ? FAINA_OK : fail("can't create a bucket", status, err);
}

/* ------------------------------------------------------------------------------------------
 * Submit, claim and complete
 */

static struct fa_bench_speed *add_speed(struct fa_bench *bench, enum fa_bench_subject subject)
{
    struct fa_bench_speed *speed = &bench->report.speeds[bench->report.speed_count++];

    assert(bench->report.speed_count <= FA_BENCH_ROWS_MAX);
    *speed = (struct fa_bench_speed){
        .part = "nats-life",
        .subject = subject,
        .callers = CALLERS,
        .batch = 1,
        .tasks = CALLERS * (bench->is_quick ? QUICK_TASKS_EACH : TASKS_EACH),
    };
    return speed;
}

static enum faina_code life_rounds(struct fa_bench *bench, struct bare *bare,
                                   struct fa_bench_engine *engine, struct fa_bench_speed *speeds[2],
                                   struct faina_error *err)
{
    struct fa_bench_threads *threads = fa_bench_threads_start(CALLERS, bare_share, bare);
    enum faina_code code = FAINA_OK;
    int64_t ns[FA_BENCH_STEPS];

    /* The first round is a warm-up. */
    for (int round = 0; code == FAINA_OK && round <= bench->rounds; round++) {
        fa_bench_progress_bar(bench, "nats-life", round, bench->rounds + 1);
        for (int i = 0; code == FAINA_OK && i < 2; i++) {
            bool is_bare = (i + round) % 2 == 0;

            bare->round += is_bare;
            code = is_bare ? fa_bench_threads_round(threads, ns, err)
                           : fa_bench_engine_round(engine, ns, err);
            if (code == FAINA_OK && round > 0)
                fa_bench_speed_add(speeds[is_bare ? 0 : 1], ns);
        }
    }
    fa_bench_threads_stop(threads);
    return code;
}

static enum faina_code run_life(struct fa_bench *bench, const struct link *link,
                                struct faina_error *err)
{
    struct fa_bench_speed *speeds[2] = {add_speed(bench, FA_BENCH_KEYS),
                                        add_speed(bench, FA_BENCH_ENGINE)};
    struct bare *bare = fa_alloc_zero(1, sizeof *bare);
    struct fa_bench_engine *engine = NULL;
    struct fa_service *service;
    enum faina_code code;

    bare->bench = bench;
    bare->share = (size_t)speeds[0]->tasks / CALLERS;
    code = bare_open(bare, link, err);
    if (code == FAINA_OK)
        code = engine_open(&service, bench, "life", err);
    if (code == FAINA_OK) {
        engine = fa_bench_engine_create(service, bench, speeds[1]);
        code = life_rounds(bench, bare, engine, speeds, err);
    }
    fa_bench_engine_close(engine);
    kvStore_Destroy(bare->store);
    free(bare);
    bucket_remove(bench, link, "bare");
    bucket_remove(bench, link, "life");
    if (code != FAINA_OK)
        return code;
    fa_bench_ratio_add(&bench->report, &speeds[1]->rates[FA_BENCH_SUBMIT],
                       &speeds[0]->rates[FA_BENCH_SUBMIT], FA_BENCH_AT_LEAST, 0.5,
                       "submits by 64 callers / bare creates of keys");
    fa_bench_ratio_add(&bench->report, &speeds[1]->rates[FA_BENCH_LIFE],
                       &speeds[0]->rates[FA_BENCH_LIFE], FA_BENCH_AT_LEAST, 0.3,
                       "submit, claim and complete / a bare create and two updates");
    return FAINA_OK;
}

/* ------------------------------------------------------------------------------------------
 * Claims
 */

struct claim_set {
    struct fa_bench_latency *row;
    struct fa_service *service;
    struct fa_bench_driver driver;
    double samples_us[SAMPLES];
    size_t sample_count;
};

static const struct faina_submit plain = {.type = FA_BENCH_TYPE};

static enum faina_code build(struct fa_bench *bench, struct claim_set *set, const char *name,
                             int64_t waiting, struct faina_error *err)
{
    char count[FA_TEXT_COUNT_SIZE];
    enum faina_code code = engine_open(&set->service, bench, name, err);

    if (code != FAINA_OK)
        return code;
    set->row = &bench->report.latencies[bench->report.latency_count++];
    assert(bench->report.latency_count <= FA_BENCH_ROWS_MAX);
    fa_text_count(waiting, count);
    snprintf(set->row->name, sizeof set->row->name, "%s waiting", count);
    set->row->waiting = waiting;
    fa_bench_driver_init(&set->driver, set->service, &bench->inputs, 1, BUILD_BATCH, CLAIM_SIZE);
    for (int64_t done = 0; code == FAINA_OK && done < waiting; done += BUILD_BATCH) {
        fa_bench_progress_bar(bench, set->row->name, done, waiting);
        code = fa_bench_driver_submit(&set->driver, &plain, BUILD_BATCH, false, err);
    }
    return code;
}

static enum faina_code sample(struct claim_set *set, struct faina_error *err)
{
    int64_t start = fa_clock_mono_ns(), end;
    enum faina_code code = fa_bench_driver_claim(&set->driver, CLAIM_SIZE, err);

    end = fa_clock_mono_ns();
    if (code == FAINA_OK && fa_bench_driver_holds(&set->driver) != CLAIM_SIZE)
        return fa_error_set(err, FAINA_INTERNAL, "a claim of %d found only %zu", CLAIM_SIZE,
                            fa_bench_driver_holds(&set->driver));
    set->samples_us[set->sample_count++] = (double)(end - start) / 1000;
    return code == FAINA_OK ? fa_bench_driver_replace(&set->driver, &plain, err) : code;
}

static void set_finish(struct claim_set *set)
{
    if (!set->service)
        return;
    fa_bench_driver_finish(&set->driver);
    fa_service_close(set->service);
}

static enum faina_code run_claims(struct fa_bench *bench, const struct link *link,
                                  struct faina_error *err)
{
    static const char *const names[] = {"few", "many"};
    const int64_t waiting[] = {FEW, bench->is_quick ? QUICK_MANY : MANY};
    const size_t samples = bench->is_quick ? QUICK_SAMPLES : SAMPLES;
    struct claim_set *sets = fa_alloc_zero(2, sizeof *sets);
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; code == FAINA_OK && i < 2; i++)
        code = build(bench, &sets[i], names[i], waiting[i], err);
    for (size_t i = 0; code == FAINA_OK && i < 2 * samples; i++) {
        fa_bench_progress_bar(bench, "claims of 100", (int64_t)i, (int64_t)(2 * samples));
        code = sample(&sets[i % 2], err);
    }
    for (size_t i = 0; code == FAINA_OK && i < 2; i++)
        fa_bench_latency_summarize(sets[i].row, sets[i].samples_us, sets[i].sample_count,
                                   bench->rounds);
    if (code == FAINA_OK)
        fa_bench_ratio_add(&bench->report, &sets[1].row->medians_us, &sets[0].row->medians_us,
                           FA_BENCH_AT_MOST, 1.3, "claim of 100: %s / %s", sets[1].row->name,
                           sets[0].row->name);
    for (size_t i = 0; i < 2; i++) {
        set_finish(&sets[i]);
        bucket_remove(bench, link, names[i]);
    }
    free(sets);
    return code;
}

enum faina_code fa_bench_nats(struct fa_bench *bench, const char *name, struct faina_error *err)
{
    struct link link = {0};
    enum faina_code code = link_open(&link, bench->url, err);

    if (code == FAINA_OK)
        code = strcmp(name, "nats-life") == 0 ? run_life(bench, &link, err)
                                              : run_claims(bench, &link, err);
    fa_bench_progress_clear(bench);
    link_close(&link);
    return code;
}
