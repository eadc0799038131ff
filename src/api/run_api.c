/*
 * run_api.c - faina_register, faina_run and faina_stop: the pool in a C program.
 *
 * What is registered hangs from the engine (api/api.h) and goes with it. faina_stop may come
 * from a signal handler, so it does no more than count and post a semaphore.
 */
#include "api/api.h"

#include "base/clock.h"
#include "model/check.h"
#include "model/limits.h"
#include "worker/context.h"
#include "worker/pool/native.h"
#include "worker/runtime.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define GRACE_MS_DEFAULT 30000
#define TICK_NS 50000000 /* how often idle_ms is checked */
#define CONCURRENCY_MAX 10000

/* A registered handler. Texts are copied; `user` is passed on and stays the caller's. */
struct registered {
    struct fa_arena arena; /* has the texts */
    const char *type;
    struct faina_handler handler;
    void *user;
    struct registered *next;
};

struct registry {
    struct fa_attachment attachment; /* first */
    struct faina *engine;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t left;   /* signalled when faina_run has returned */
    struct registered *first;
    bool is_running;
};

static void registry_free(struct fa_attachment *attachment)
{
    struct registry *registry = (struct registry *)attachment;
    struct registered *next;

    for (struct registered *item = registry->first; item; item = next) {
        next = item->next;
        fa_arena_finish(&item->arena);
        free(item);
    }
    pthread_mutex_destroy(&registry->mutex);
    pthread_cond_destroy(&registry->left);
    free(registry);
}

/* faina_run uses the engine until its last line: the engine is closed after it. */
static void registry_stop(struct fa_attachment *attachment)
{
    struct registry *registry = (struct registry *)attachment;

    sem_post(&registry->engine->wake);
    pthread_mutex_lock(&registry->mutex);
    while (registry->is_running)
        pthread_cond_wait(&registry->left, &registry->mutex);
    pthread_mutex_unlock(&registry->mutex);
}

/* Made when it is first needed, by whichever thread comes first. */
static struct registry *registry_of(struct faina *engine)
{
    struct registry *registry = (struct registry *)atomic_load(&engine->attachment);
    struct fa_attachment *none = NULL;

    if (registry)
        return registry;
    registry = fa_alloc_zero(1, sizeof(*registry));
    registry->engine = engine;
    pthread_mutex_init(&registry->mutex, NULL);
    pthread_cond_init(&registry->left, NULL);
    registry->attachment.stop = registry_stop;
    registry->attachment.free = registry_free;
    if (!atomic_compare_exchange_strong(&engine->attachment, &none, &registry->attachment)) {
        registry_free(&registry->attachment);
        return (struct registry *)none;
    }
    return registry;
}

static enum faina_code closed(struct faina_error *err)
{
    return fa_error_set(err, FAINA_STORE_CLOSED, "the engine was shut down");
}

static void fill_in(struct registered *item, const char *type, const struct faina_handler *handler,
                    void *user)
{
    struct faina_submit settings;

    fa_arena_finish(&item->arena);
    settings = fa_context_settings(&item->arena, handler);
    item->type = fa_arena_strdup(&item->arena, type);
    item->handler = *handler;
    item->handler.resources = settings.resources;
    item->user = user;
}

/* The place of a type, new or not. With the mutex held. */
static struct registered *place_of(struct registry *registry, const char *type)
{
    struct registered *item = registry->first;

    while (item && !fa_name_is_same(item->type, type))
        item = item->next;
    if (!item) {
        item = fa_alloc_zero(1, sizeof(*item));
        item->next = registry->first;
        registry->first = item;
    }
    return item;
}

enum faina_code faina_register(struct faina *engine, const char *type,
                               const struct faina_handler *handler, void *user,
                               struct faina_error *err)
{
    struct registry *registry;
    enum faina_code code;

    fa_error_clear(err);
    code = fa_api_check(engine, err);
    if (code == FAINA_OK)
        code = fa_context_check(type, handler, err);
    if (code != FAINA_OK)
        return code;
    registry = registry_of(engine);
    pthread_mutex_lock(&registry->mutex);
    if (registry->is_running)
        code = fa_error_set(err, FAINA_CONFLICT,
                            "faina_run is running on this engine: register before it, or after");
    else
        fill_in(place_of(registry, type), type, handler, user);
    pthread_mutex_unlock(&registry->mutex);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Running
 */

struct run {
    const struct faina_run *options;
    struct faina *engine;
    struct registry *registry;
    struct fa_thread_pool *threads;
    struct fa_runtime *runtime;
    pthread_t stopper;
    atomic_bool has_stopped; /* the stopper is done */
};

static void write_log(void *ctx, enum fa_log_level level, const char *text)
{
    const struct faina_run *options = ctx;

    (void)level;
    options->log(options->log_user, text);
}

static enum faina_code check_run(struct registry *registry, const struct faina_run *options,
                                 struct faina_error *err)
{
    if (!registry->first && !options->handlers)
        return fa_error_set(err, FAINA_INVALID_REQUEST,
                            "there is nothing to run: faina_register comes first");
    if (options->concurrency < 0 || options->concurrency > CONCURRENCY_MAX)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "concurrency",
                              "concurrency must be between 0 and %d", CONCURRENCY_MAX);
    if (options->lease_ms < 0 || options->lease_ms > FA_LEASE_MS_MAX)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "lease_ms",
                              "lease_ms must be between 0 and %lld", (long long)FA_LEASE_MS_MAX);
    if (options->grace_ms < 0 || options->idle_ms < 0)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "grace_ms",
                              "grace_ms and idle_ms can't be negative");
    return options->worker_id ? fa_check_worker(options->worker_id, err) : FAINA_OK;
}

static enum faina_code put_handlers(struct run *run, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    pthread_mutex_lock(&run->registry->mutex);
    for (struct registered *item = run->registry->first; item && code == FAINA_OK;
         item = item->next)
        code = fa_pool_put(fa_runtime_pool(run->runtime),
                           fa_native_create(run->threads, item->type, &item->handler, item->user),
                           err);
    pthread_mutex_unlock(&run->registry->mutex);
    return code;
}

/* Sleeps for a tick. sem_timedwait isn't used: it measures by the wall clock, and would sleep
 * longer when that is set back. */
static void sleep_one_tick(struct run *run)
{
    const struct timespec tick = {.tv_nsec = TICK_NS};

    if (sem_trywait(&run->engine->wake) != 0)
        nanosleep(&tick, NULL);
}

/* Waits for faina_stop, or until there was nothing to do for long enough. STORE_CLOSED: for
 * faina_shutdown or faina_close. */
static enum faina_code wait_for_stop(struct run *run, struct faina_error *err)
{
    int64_t idle_ms = run->options->idle_ms;

    while (atomic_load(&run->engine->stops) == 0) {
        struct fa_pool_stats stats;

        if (atomic_load(&run->engine->is_ending))
            return closed(err);
        if (idle_ms == 0) {
            sem_wait(&run->engine->wake);
            continue;
        }
        sleep_one_tick(run);
        fa_runtime_stats(run->runtime, &stats);
        if (stats.idle_us >= idle_ms * 1000)
            break;
    }
    return FAINA_OK;
}

static void *stop_main(void *arg)
{
    struct run *run = arg;
    int64_t grace_ms = run->options->grace_ms;

    fa_runtime_stop(run->runtime, grace_ms > 0 ? grace_ms : GRACE_MS_DEFAULT);
    atomic_store(&run->has_stopped, true);
    sem_post(&run->engine->wake);
    return NULL;
}

/* Stops in another thread, so that this one can wait for a second faina_stop, which ends attempts
 * at once. After the end that does nothing. */
static void stop(struct run *run)
{
    int seen = atomic_load(&run->engine->stops) > 0;

    if (pthread_create(&run->stopper, NULL, stop_main, run) != 0) {
        fa_runtime_stop(run->runtime, GRACE_MS_DEFAULT);
        return;
    }
    while (!atomic_load(&run->has_stopped) && atomic_load(&run->engine->stops) <= seen)
        sem_wait(&run->engine->wake);
    fa_runtime_end_grace(run->runtime);
    pthread_join(run->stopper, NULL);
}

/* A later run is not stopped by what stopped this one. A waiting thread checks the count before it
 * sleeps, so a lost post does no harm. */
static void forget_stops(struct faina *engine)
{
    atomic_store(&engine->stops, 0);
    while (sem_trywait(&engine->wake) == 0)
        continue;
}

static int threads_of(const struct faina_run *options)
{
    struct fa_runtime_config config = {.concurrency = options->concurrency};

    return fa_runtime_concurrency(&config);
}

static enum faina_code run_all(struct run *run, struct faina_error *err)
{
    const struct faina_run *options = run->options;
    struct fa_runtime_config config = {
        .worker_id = options->worker_id,
        .concurrency = options->concurrency,
        .lease_ms = options->lease_ms,
        .namespaces = options->namespaces,
        .namespace_count = options->namespace_count,
        .services = options->services,
        .service_count = options->service_count,
        .handlers = options->handlers,
        .needs_handlers = options->handlers != NULL,
        .has_no_plugins =
            true, /* plugins need the program to start itself again, which only faina can */
    };
    enum faina_code code;

    if (options->log)
        config.log =
            (struct fa_reporter){.write = write_log, .ctx = (struct faina_run *)(uintptr_t)options};
    code = fa_thread_pool_create(&run->threads, threads_of(options), err);
    if (code == FAINA_OK)
        code = fa_runtime_start(&run->runtime, run->engine->service, &config, err);
    if (code != FAINA_OK) {
        fa_thread_pool_destroy(run->threads);
        return code;
    }
    code = put_handlers(run, err);
    if (code == FAINA_OK)
        code = wait_for_stop(run, err);
    stop(run);
    fa_thread_pool_destroy(run->threads);
    fa_runtime_destroy(run->runtime);
    return code;
}

enum faina_code faina_run(struct faina *engine, const struct faina_run *options,
                          struct faina_error *err)
{
    static const struct faina_run defaults = {0};
    struct run run = {.options = options ? options : &defaults, .engine = engine};
    enum faina_code code;

    fa_error_clear(err);
    code = fa_api_check(engine, err);
    if (code != FAINA_OK)
        return code;
    run.registry = registry_of(engine);
    pthread_mutex_lock(&run.registry->mutex);
    if (atomic_load(&engine->is_ending))
        code = closed(err);
    else if (run.registry->is_running)
        code = fa_error_set(err, FAINA_CONFLICT, "faina_run is running on this engine");
    else
        code = check_run(run.registry, run.options, err);
    if (code == FAINA_OK)
        run.registry->is_running = true;
    pthread_mutex_unlock(&run.registry->mutex);
    if (code != FAINA_OK)
        return code;
    code = run_all(&run, err);
    forget_stops(engine);
    pthread_mutex_lock(&run.registry->mutex);
    run.registry->is_running = false;
    pthread_cond_broadcast(&run.registry->left);
    pthread_mutex_unlock(&run.registry->mutex); /* from here on, engine and registry may be freed */
    return code;
}

void faina_stop(struct faina *engine)
{
    if (!engine)
        return;
    atomic_fetch_add(&engine->stops, 1);
    sem_post(&engine->wake);
}
