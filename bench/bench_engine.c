/*
 * bench_engine.c - threads (bench_threads.h) that are the callers of one service.
 */
#include "bench/bench_engine.h"

#include "bench/bench_threads.h"
#include "bench/bench_driver.h"

#include "model/limits.h"

#include <assert.h>
#include <stdlib.h>

#define RESOURCE "shared"

struct fa_bench_engine {
    struct fa_service *service;
    size_t batch, share; /* of one caller, in tasks */
    const char *type;
    bool has_key, has_resource;
    struct fa_bench_driver *drivers; /* one for each caller */
    size_t caller_count;
    struct fa_bench_threads *threads;
};

static size_t at_most(size_t value, size_t max)
{
    return value < max ? value : max;
}

static enum faina_code submit_share(const struct fa_bench_engine *engine,
                                    struct fa_bench_driver *driver, struct faina_error *err)
{
    static const char *const resource = RESOURCE;
    const struct faina_submit like = {
        .type = engine->type, .resources = &resource, .resource_count = engine->has_resource};
    enum faina_code code = FAINA_OK;

    for (size_t done = 0; code == FAINA_OK && done < engine->share; done += engine->batch)
        code = fa_bench_driver_submit(driver, &like, at_most(engine->batch, engine->share - done),
                                      engine->has_key, err);
    return code;
}

/* One caller's share of a step. */
static enum faina_code run_share(void *ctx, size_t number, enum fa_bench_step step,
                                 struct faina_error *err)
{
    const struct fa_bench_engine *engine = ctx;
    struct fa_bench_driver *driver = &engine->drivers[number];
    enum faina_code code = FAINA_OK;

    switch (step) {
    case FA_BENCH_SUBMIT:
        code = submit_share(engine, driver, err);
        break;
    case FA_BENCH_CLAIM:
        while (code == FAINA_OK && fa_bench_driver_holds(driver) < engine->share)
            code = fa_bench_driver_claim(
                driver, at_most(engine->batch, engine->share - fa_bench_driver_holds(driver)), err);
        break;
    case FA_BENCH_COMPLETE:
        while (code == FAINA_OK && fa_bench_driver_holds(driver) > 0)
            code = fa_bench_driver_complete(
                driver, at_most(engine->batch, fa_bench_driver_holds(driver)), err);
        break;
    case FA_BENCH_STEPS:
        assert(false);
    }
    return code;
}

enum faina_code fa_bench_engine_round(struct fa_bench_engine *engine,
                                      int64_t out_ns[FA_BENCH_STEPS], struct faina_error *err)
{
    return fa_bench_threads_round(engine->threads, out_ns, err);
}

enum faina_code fa_bench_engine_submit(struct fa_bench_engine *engine, int64_t *out_ns,
                                       struct faina_error *err)
{
    return fa_bench_threads_step(engine->threads, FA_BENCH_SUBMIT, out_ns, err);
}

/* The callers wait meanwhile, so the driver of the first one can be used. */
enum faina_code fa_bench_engine_grow_log(struct fa_bench_engine *engine, struct faina_error *err)
{
    return fa_bench_driver_grow_log(&engine->drivers[0], err);
}

struct fa_bench_engine *fa_bench_engine_create(struct fa_service *service,
                                               const struct fa_bench *bench,
                                               const struct fa_bench_speed *speed)
{
    struct fa_bench_engine *engine = fa_alloc_zero(1, sizeof *engine);

    assert(speed->tasks % speed->callers == 0);
    engine->service = service;
    engine->share = (size_t)(speed->tasks / speed->callers);
    engine->batch = at_most((size_t)speed->batch, engine->share);
    engine->type = speed->type != NULL ? speed->type : FA_BENCH_TYPE;
    engine->has_key = speed->has_key;
    engine->has_resource = speed->limit != FA_BENCH_NO_RESOURCE;
    engine->caller_count = (size_t)speed->callers;
    engine->drivers = fa_alloc_zero(engine->caller_count, sizeof *engine->drivers);
    for (size_t i = 0; i < engine->caller_count; i++) {
        fa_bench_driver_init(&engine->drivers[i], engine->service, &bench->inputs, (int)i + 1,
                             engine->batch, engine->share);
        engine->drivers[i].claimed_type = speed->claimed_type;
    }
    engine->threads = fa_bench_threads_start(engine->caller_count, run_share, engine);
    return engine;
}

static enum faina_code set_limit(struct fa_service *service, enum fa_bench_limit limit,
                                 struct faina_error *err)
{
    struct fa_arena arena = {0};
    struct fa_op op = {.kind = FA_OP_RESOURCE_SET,
                       .resource = {.name = RESOURCE, .max_concurrency = FA_CONCURRENCY_MAX},
                       .arena = &arena};
    enum faina_code code;

    if (limit == FA_BENCH_RATE) {
        op.resource.max_concurrency = -1;
        op.resource.rate = (struct faina_rate){FA_RATE_COUNT_MAX, 1, FA_RATE_BURST_MAX};
    }
    code = fa_service_run_one(service, &op, err);
    fa_arena_finish(&arena);
    return code;
}

enum faina_code fa_bench_engine_open(struct fa_bench_engine **out, const struct fa_bench *bench,
                                     const char *location, const char *name,
                                     const struct fa_bench_speed *speed, struct faina_error *err)
{
    struct fa_service *service;
    enum faina_code code = fa_bench_service_open(&service, bench, location, name, err);

    if (code == FAINA_OK && speed->limit != FA_BENCH_NO_RESOURCE)
        code = set_limit(service, speed->limit, err);
    if (code == FAINA_OK)
        *out = fa_bench_engine_create(service, bench, speed);
    return code;
}

void fa_bench_engine_close(struct fa_bench_engine *engine)
{
    if (!engine)
        return;
    fa_bench_threads_stop(engine->threads);
    for (size_t i = 0; i < engine->caller_count; i++)
        fa_bench_driver_finish(&engine->drivers[i]);
    free(engine->drivers);
    fa_service_close(engine->service);
    free(engine);
}
