/*
 * bench_engine.c - callers meet at a barrier before and after each step, so that the time between
 * is the time of the step with all of them at work. They live as long as the subject: starting a
 * thread is nothing that anybody wants to measure.
 *
 *   main     set step   | begin |  ............  | end |  read the clock
 *   caller   ........   | begin |  its share     | end |  ........
 *
 * `step` and `is_over` are written only while all callers wait at `begin`, and read only after it;
 * a caller's `code` and `error` the other way round. So the barriers are all the locks there are.
 */
#include "cli/bench_engine.h"

#include "base/clock.h"
#include "cli/bench_driver.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct caller {
    struct fa_bench_engine *engine;
    pthread_t thread;
    struct fa_bench_driver driver;
    enum faina_code code;
    struct faina_error error;
};

struct fa_bench_engine {
    struct fa_service *service;
    size_t batch, share; /* of one caller, in tasks */
    bool has_key;
    struct caller *callers;
    size_t caller_count;
    pthread_barrier_t begin, end;
    enum fa_bench_step step;
    bool is_over;
};

static size_t at_most(size_t value, size_t max)
{
    return value < max ? value : max;
}

/* One caller's share of a step. */
static enum faina_code run_share(struct caller *caller)
{
    static const struct faina_submit like = {.type = FA_BENCH_TYPE};
    const struct fa_bench_engine *engine = caller->engine;
    struct fa_bench_driver *driver = &caller->driver;
    enum faina_code code = FAINA_OK;

    switch (engine->step) {
    case FA_BENCH_SUBMIT:
        for (size_t done = 0; code == FAINA_OK && done < engine->share; done += engine->batch)
            code =
                fa_bench_driver_submit(driver, &like, at_most(engine->batch, engine->share - done),
                                       engine->has_key, &caller->error);
        break;
    case FA_BENCH_CLAIM:
        while (code == FAINA_OK && fa_bench_driver_holds(driver) < engine->share)
            code = fa_bench_driver_claim(
                driver, at_most(engine->batch, engine->share - fa_bench_driver_holds(driver)),
                &caller->error);
        break;
    case FA_BENCH_COMPLETE:
        while (code == FAINA_OK && fa_bench_driver_holds(driver) > 0)
            code = fa_bench_driver_complete(
                driver, at_most(engine->batch, fa_bench_driver_holds(driver)), &caller->error);
        break;
    case FA_BENCH_STEPS:
        assert(false);
    }
    return code;
}

static void *run_caller(void *arg)
{
    struct caller *caller = arg;
    struct fa_bench_engine *engine = caller->engine;

    for (;;) {
        pthread_barrier_wait(&engine->begin);
        if (engine->is_over)
            return NULL;
        caller->code = run_share(caller);
        pthread_barrier_wait(&engine->end);
    }
}

/* Lets every caller run a step, or (is_over) leave. */
static enum faina_code run_step(struct fa_bench_engine *engine, enum fa_bench_step step,
                                int64_t *out_ns, struct faina_error *err)
{
    int64_t start;

    engine->step = step;
    start = fa_clock_mono_ns();
    pthread_barrier_wait(&engine->begin);
    pthread_barrier_wait(&engine->end);
    *out_ns = fa_clock_mono_ns() - start;
    for (size_t i = 0; i < engine->caller_count; i++) {
        if (engine->callers[i].code != FAINA_OK) {
            *err = engine->callers[i].error;
            return engine->callers[i].code;
        }
    }
    return FAINA_OK;
}

enum faina_code fa_bench_engine_round(struct fa_bench_engine *engine,
                                      int64_t out_ns[FA_BENCH_STEPS], struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    for (int step = 0; code == FAINA_OK && step < FA_BENCH_STEPS; step++)
        code = run_step(engine, (enum fa_bench_step)step, &out_ns[step], err);
    return code;
}

/* The callers wait meanwhile, so one's driver may be borrowed. */
enum faina_code fa_bench_engine_grow_log(struct fa_bench_engine *engine, struct faina_error *err)
{
    return fa_bench_driver_grow_log(&engine->callers[0].driver, err);
}

static void start_callers(struct fa_bench_engine *engine, const struct fa_bench_inputs *inputs)
{
    pthread_barrier_init(&engine->begin, NULL, (unsigned)engine->caller_count + 1);
    pthread_barrier_init(&engine->end, NULL, (unsigned)engine->caller_count + 1);
    for (size_t i = 0; i < engine->caller_count; i++) {
        struct caller *caller = &engine->callers[i];
        int code;

        caller->engine = engine;
        fa_bench_driver_init(&caller->driver, engine->service, inputs, (int)i + 1, engine->batch,
                             engine->share);
        code = pthread_create(&caller->thread, NULL, run_caller, caller);
        if (code != 0) {
            /* Those that were started wait for this one at the barrier for ever. */
            fprintf(stderr, "faina bench: can't start a thread: %s\n", strerror(code));
            exit(1);
        }
    }
}

enum faina_code fa_bench_engine_open(struct fa_bench_engine **out, const char *url, const char *dir,
                                     const char *name, const struct fa_bench_speed *speed,
                                     const struct fa_bench_inputs *inputs, struct faina_error *err)
{
    struct fa_bench_engine *engine = fa_alloc_zero(1, sizeof *engine);
    enum faina_code code;

    assert(speed->subject == FA_BENCH_ENGINE);
    assert(speed->tasks % speed->callers == 0);
    code = fa_bench_service_open(&engine->service, url, dir, name, err);
    if (code != FAINA_OK) {
        free(engine);
        return code;
    }
    engine->share = (size_t)(speed->tasks / speed->callers);
    engine->batch = at_most((size_t)speed->batch, engine->share);
    engine->has_key = speed->has_key;
    engine->caller_count = (size_t)speed->callers;
    engine->callers = fa_alloc_zero(engine->caller_count, sizeof *engine->callers);
    start_callers(engine, inputs);
    *out = engine;
    return FAINA_OK;
}

void fa_bench_engine_close(struct fa_bench_engine *engine)
{
    if (!engine)
        return;
    engine->is_over = true;
    pthread_barrier_wait(&engine->begin);
    for (size_t i = 0; i < engine->caller_count; i++) {
        pthread_join(engine->callers[i].thread, NULL);
        fa_bench_driver_finish(&engine->callers[i].driver);
    }
    pthread_barrier_destroy(&engine->begin);
    pthread_barrier_destroy(&engine->end);
    free(engine->callers);
    fa_service_close(engine->service);
    free(engine);
}
