/*
 * pool_heartbeat.c - the heartbeat thread: registers the worker with its types and services, renews
 * the leases of all held tasks in the same call, and stops the jobs of tasks that were cancelled or
 * lost (P3).
 *
 * Where the engine sends notifications, a heartbeat is sent at once when a held task has ended, or
 * was retried and so taken from this worker. The end of a task on another node is notified only to
 * its subscribers, so the thread subscribes to each task that has run for FA_POOL_EXPECT_US. Where
 * the engine sends none, the interval is UNNOTIFIED_US while a task is held.
 *
 * An engine without a registry of workers gets a heartbeat for each task instead.
 */
#include "worker/pool/pool_inner.h"

#include "base/clock.h"
#include "model/limits.h"

#include <stdlib.h>
#include <unistd.h>

#define INTERVAL_US_MAX 20000000 /* also when nothing is held */
#define AGAIN_US 1000000         /* after an error */
#define UNNOTIFIED_US 3000000    /* while a task is held and the engine sends no notifications */

struct heartbeat {
    struct fa_arena arena;
    struct fa_job **jobs; /* with a reference each */
    struct faina_held *held;
    size_t count;
    struct faina_worker self;
    bool has_types; /* else the worker can't be registered */
};

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t interval_us(const struct fa_pool *pool)
{
    return lesser(pool->lease_us / 3, INTERVAL_US_MAX);
}

/* When to send the next heartbeat; `at_us` is the regular time. With the mutex held. */
static int64_t next_heartbeat_us(const struct fa_pool *pool, int64_t at_us, int64_t last_us)
{
    if (pool->is_ending || pool->is_changed || pool->has_ended_tasks)
        return 0;
    if (!pool->is_subscribed && pool->held_count > 0)
        return lesser(at_us, last_us + UNNOTIFIED_US);
    return at_us;
}

/* Subscribes to the ends of the tasks that have run for a while; subscribing again has no effect.
 * With the mutex held. Returns when to do so again. */
static int64_t subscribe_ends(const struct fa_pool *pool)
{
    int64_t now_us = fa_clock_mono_us();

    if (!pool->is_subscribed || pool->held_count == 0)
        return INT64_MAX;
    for (const struct fa_job *job = pool->held; job; job = job->next)
        if (job->state == FA_JOB_RUNNING && job->start_us + FA_POOL_EXPECT_US <= now_us)
            fa_service_expect(pool->service, &job->id);
    return now_us + FA_POOL_EXPECT_US;
}

/* ------------------------------------------------------------------------------------------
 * The request, with the mutex held
 */

static void describe(const struct fa_pool *pool, struct heartbeat *heartbeat)
{
    const char **types = fa_arena_zero(&heartbeat->arena, pool->handler_count + 1, sizeof(char *));
    char *host = fa_arena_zero(&heartbeat->arena, 1, FA_NAME_SIZE_MAX + 1);

    for (size_t i = 0; i < pool->handler_count; i++)
        types[i] = fa_arena_strdup(&heartbeat->arena, pool->handlers[i]->type);
    gethostname(host, FA_NAME_SIZE_MAX);
    /* No types would mean any type, which only a node can tell apart (pool_size). */
    heartbeat->has_types = pool->handler_count > 0 || !fa_service_is_remote(pool->service);
    heartbeat->self = (struct faina_worker){
        .id = pool->config.worker_id,
        .hostname = host[0] ? host : NULL,
        .pool_size = pool->handler_count > 0 ? pool->config.concurrency : -1,
        .types = types,
        .type_count = pool->handler_count,
        .services = pool->services
                        ? fa_arena_strs(&heartbeat->arena, pool->services, pool->service_count)
                        : NULL,
        .service_count = pool->services ? pool->service_count : 0,
        .version = FAINA_VERSION,
    };
}

static void collect(struct fa_pool *pool, struct heartbeat *heartbeat)
{
    size_t size = (size_t)pool->held_count + 1;

    heartbeat->jobs = fa_arena_zero(&heartbeat->arena, size, sizeof(struct fa_job *));
    heartbeat->held = fa_arena_zero(&heartbeat->arena, size, sizeof(*heartbeat->held));
    for (struct fa_job *job = pool->held; job && heartbeat->count < FA_BATCH_MAX; job = job->next) {
        if (fa_job_stop(job) == FA_STOP_LOST || fa_job_stop(job) == FA_STOP_CANCELLED)
            continue;
        heartbeat->held[heartbeat->count] =
            (struct faina_held){.id = job->task->id, .fence = job->task->fence};
        heartbeat->jobs[heartbeat->count++] = job;
        job->refs++;
    }
}

/* Waits for the time. False: the pool ends. */
static bool begin_heartbeat(struct fa_pool *pool, struct heartbeat *heartbeat, int64_t at_us)
{
    int64_t last_us = fa_clock_mono_us(), until_us;
    bool is_ending;

    *heartbeat = (struct heartbeat){0};
    pthread_mutex_lock(&pool->mutex);
    while (until_us = next_heartbeat_us(pool, at_us, last_us), fa_clock_mono_us() < until_us) {
        pool->heartbeat_us = lesser(until_us, subscribe_ends(pool));
        fa_pool_wait(pool, &pool->heartbeat_cond, pool->heartbeat_us);
    }
    is_ending = pool->is_ending;
    pool->is_changed = pool->has_ended_tasks = false;
    describe(pool, heartbeat);
    if (!is_ending)
        collect(pool, heartbeat);
    pthread_mutex_unlock(&pool->mutex);
    return !is_ending;
}

/* ------------------------------------------------------------------------------------------
 * Answers
 */

/* Stops a job that was not renewed. True: its handler must be called. */
static bool stop_lost(struct fa_job *job, enum fa_stop stop)
{
    if (!fa_pool_mark_stop(job, stop))
        return false;
    fa_report(&job->pool->config.log, FA_LOG_INFO, "task %s is stopped: %s", job->task->id,
              stop == FA_STOP_CANCELLED ? "it was cancelled"
                                        : "this worker does not hold it any more");
    return true;
}

/* The answer for each job; UNKNOWN after a transient error. */
enum renewal { RENEWED, UNKNOWN, LOST, CANCELLED };

static void end_heartbeat(struct fa_pool *pool, struct heartbeat *heartbeat,
                          const enum renewal *renewals, int64_t sent_us)
{
    size_t stop_count = 0;

    pthread_mutex_lock(&pool->mutex);
    for (size_t i = 0; i < heartbeat->count; i++) {
        struct fa_job *job = heartbeat->jobs[i];
        enum renewal renewal = renewals[i];

        if (renewal == RENEWED)
            job->lease_us = sent_us + pool->lease_us - pool->margin_us;
        else if (renewal != UNKNOWN &&
                 stop_lost(job, renewal == CANCELLED ? FA_STOP_CANCELLED : FA_STOP_LOST))
            heartbeat->jobs[stop_count++] = job;
        fa_pool_unref(job); /* marking it took another */
    }
    pthread_mutex_unlock(&pool->mutex);
    fa_pool_end_stale_claim(pool);
    for (size_t i = 0; i < stop_count; i++)
        fa_pool_call_stop(heartbeat->jobs[i]);
}

/* The lost tasks come in the order of the request. A task that was taken from this worker and
 * claimed again is held twice, with different fences. */
static void read_answer(const struct heartbeat *heartbeat, const struct faina_beat *answer,
                        enum renewal *renewals)
{
    const struct faina_lost *lost = answer->items, *end = lost + answer->lost_count;

    for (size_t i = 0; i < heartbeat->count; i++) {
        renewals[i] = RENEWED;
        if (lost == end || lost->fence != heartbeat->held[i].fence ||
            strcmp(lost->id, heartbeat->held[i].id) != 0)
            continue;
        renewals[i] = lost->why == FAINA_LOSS_CANCELLED ? CANCELLED : LOST;
        lost++;
    }
}

/* One call for the worker and all its tasks. */
static enum faina_code renew_worker(struct fa_pool *pool, struct heartbeat *heartbeat,
                                    enum renewal *renewals, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_WORKER_PUT, .arena = &heartbeat->arena};
    enum faina_code code;

    op.worker.self = &heartbeat->self;
    op.worker.held = heartbeat->held;
    op.worker.held_count = heartbeat->count;
    op.worker.lease_ms = pool->config.lease_ms;
    code = fa_service_run_one(pool->service, &op, err);
    if (code == FAINA_OK)
        read_answer(heartbeat, op.beat, renewals);
    return code;
}

/* A heartbeat for each task. */
static enum faina_code renew_tasks(struct fa_pool *pool, struct heartbeat *heartbeat,
                                   enum renewal *renewals, struct faina_error *err)
{
    struct fa_op *ops = fa_arena_zero(&heartbeat->arena, heartbeat->count + 1, sizeof(*ops));
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; i < heartbeat->count; i++)
        ops[i] = (struct fa_op){
            .kind = FA_OP_HEARTBEAT,
            .id = heartbeat->held[i].id,
            .by = {.worker_id = pool->config.worker_id, .fence = heartbeat->held[i].fence},
            .lease_ms = pool->config.lease_ms,
            .arena = &heartbeat->arena,
        };
    if (heartbeat->count > 0)
        fa_service_run(pool->service, ops, heartbeat->count);
    for (size_t i = 0; i < heartbeat->count; i++) {
        renewals[i] = ops[i].code == FAINA_OK                   ? RENEWED
                      : ops[i].code == FAINA_INVALID_TRANSITION ? CANCELLED
                      : fa_pool_is_loss(ops[i].code)            ? LOST
                                                                : UNKNOWN;
        if (renewals[i] == UNKNOWN) {
            code = ops[i].code;
            *err = ops[i].error;
        }
    }
    return code;
}

/* ------------------------------------------------------------------------------------------
 * The thread
 */

static enum faina_code send_heartbeat(struct fa_pool *pool, struct heartbeat *heartbeat,
                                      struct faina_error *err)
{
    enum renewal *renewals =
        fa_arena_zero(&heartbeat->arena, heartbeat->count + 1, sizeof(*renewals));
    int64_t sent_us = fa_clock_mono_us();
    enum faina_code code = FAINA_NOT_SUPPORTED;

    for (size_t i = 0; i < heartbeat->count; i++)
        renewals[i] = UNKNOWN;
    fa_error_clear(err);
    if (heartbeat->has_types && !pool->has_no_workers)
        code = renew_worker(pool, heartbeat, renewals, err);
    if (code == FAINA_NOT_SUPPORTED) {
        pool->has_no_workers = heartbeat->has_types;
        code = renew_tasks(pool, heartbeat, renewals, err);
    }
    end_heartbeat(pool, heartbeat, renewals, sent_us);
    return code;
}

/* The engine also releases the tasks that the worker has not started. */
static void deregister(struct fa_pool *pool, struct fa_arena *arena)
{
    struct fa_op op = {.kind = FA_OP_WORKER_REMOVE, .id = pool->config.worker_id, .arena = arena};

    if (pool->is_registered)
        fa_service_run(pool->service, &op, 1);
}

void *fa_pool_heartbeat_main(void *arg)
{
    struct fa_pool *pool = arg;
    int64_t at_us = fa_clock_mono_us() + interval_us(pool);
    bool was_bad = false;
    struct heartbeat heartbeat;

    while (begin_heartbeat(pool, &heartbeat, at_us)) {
        struct faina_error err;
        enum faina_code code;

        at_us = fa_clock_mono_us() + interval_us(pool);
        code = send_heartbeat(pool, &heartbeat, &err);
        if (code == FAINA_OK)
            pool->is_registered |= heartbeat.has_types && !pool->has_no_workers;
        else
            at_us = fa_clock_mono_us() + AGAIN_US;
        if (code != FAINA_OK && !was_bad)
            fa_report(&pool->config.log, FA_LOG_ERROR, "can't renew leases: %s", err.message);
        was_bad = code != FAINA_OK;
        fa_arena_finish(&heartbeat.arena);
    }
    deregister(pool, &heartbeat.arena);
    fa_arena_finish(&heartbeat.arena);
    return NULL;
}
