/*
 * pool_beat.c - the beater: tells the engine that the worker lives and what it can do, renews the
 * leases of all that is held in the same call, and stops what turns out to be cancelled or lost
 * (P3).
 *
 * Where the engine tells of ends it beats at once when a task that is held has ended, or was
 * retried and so taken away. An end on another node is told to who expects it, so what has run for
 * a moment is expected. Where the engine tells nothing the beats are closer together while
 * something is held.
 *
 * An engine that knows no workers gets a heartbeat for each task instead.
 */
#include "runtime/pool_inner.h"

#include "base/clock.h"
#include "model/limits.h"

#include <stdlib.h>
#include <unistd.h>

#define ALIVE_US 20000000 /* at least so often, also when nothing is held */
#define AGAIN_US 1000000  /* after an error */
#define DEAF_US 3000000   /* when something is held, and nobody tells of ends */

struct beat {
    struct fa_arena arena;
    struct fa_job **jobs; /* with a reference each */
    struct faina_held *held;
    size_t count;
    struct faina_worker self;
    bool is_known; /* the engine can be told of the worker: it handles something */
};

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t interval_us(const struct fa_pool *pool)
{
    return lesser(pool->lease_us / 3, ALIVE_US);
}

/* When to beat, at the latest: `at_us` is the regular time. With the mutex held. */
static int64_t beat_at(const struct fa_pool *pool, int64_t at_us, int64_t last_us)
{
    if (pool->is_ending || pool->is_changed || pool->has_news)
        return 0;
    if (!pool->is_listening && pool->held_count > 0)
        return lesser(at_us, last_us + DEAF_US);
    return at_us;
}

/* Asks for news of the jobs that run and are not brief; the engine takes it once for each. With
 * the mutex held. The time when to do so again. */
static int64_t expect_ends(const struct fa_pool *pool)
{
    int64_t now_us = fa_clock_mono_us();

    if (!pool->is_listening || pool->held_count == 0)
        return INT64_MAX;
    for (const struct fa_job *job = pool->held; job; job = job->next)
        if (job->state == FA_JOB_RUNNING && job->start_us + FA_POOL_EXPECT_US <= now_us)
            fa_service_expect(pool->service, &job->id);
    return now_us + FA_POOL_EXPECT_US;
}

/* ------------------------------------------------------------------------------------------
 * What to tell, with the mutex held
 */

static void describe(const struct fa_pool *pool, struct beat *beat)
{
    const char **types = fa_arena_zero(&beat->arena, pool->handler_count + 1, sizeof(char *));
    const char **services = fa_arena_zero(&beat->arena, pool->service_count + 1, sizeof(char *));
    char *host = fa_arena_zero(&beat->arena, 1, FA_NAME_SIZE_MAX + 1);

    for (size_t i = 0; i < pool->handler_count; i++)
        types[i] = fa_arena_strdup(&beat->arena, pool->handlers[i]->type);
    for (size_t i = 0; i < pool->service_count; i++)
        services[i] = fa_arena_strdup(&beat->arena, pool->services[i]);
    gethostname(host, FA_NAME_SIZE_MAX);
    beat->is_known = pool->handler_count > 0; /* no types would mean any type */
    beat->self = (struct faina_worker){
        .id = pool->config.worker_id,
        .hostname = host[0] ? host : NULL,
        .pool_size = pool->config.concurrency,
        .types = types,
        .type_count = pool->handler_count,
        .services = pool->services ? services : NULL,
        .service_count = pool->services ? pool->service_count : 0,
        .version = FAINA_VERSION,
    };
}

static void collect(struct fa_pool *pool, struct beat *beat)
{
    size_t size = (size_t)pool->held_count + 1;

    beat->jobs = fa_arena_zero(&beat->arena, size, sizeof(struct fa_job *));
    beat->held = fa_arena_zero(&beat->arena, size, sizeof(*beat->held));
    for (struct fa_job *job = pool->held; job && beat->count < FA_BATCH_MAX; job = job->next) {
        if (fa_job_stop(job) == FA_STOP_LOST || fa_job_stop(job) == FA_STOP_CANCELLED)
            continue;
        beat->held[beat->count] =
            (struct faina_held){.id = job->task->id, .fence = job->task->fence};
        beat->jobs[beat->count++] = job;
        job->refs++;
    }
}

/* Waits for the time. False: the pool ends. */
static bool begin_beat(struct fa_pool *pool, struct beat *beat, int64_t at_us)
{
    int64_t last_us = fa_clock_mono_us(), until_us;
    bool is_ending;

    *beat = (struct beat){0};
    pthread_mutex_lock(&pool->mutex);
    while (until_us = beat_at(pool, at_us, last_us), fa_clock_mono_us() < until_us) {
        pool->beater_us = lesser(until_us, expect_ends(pool));
        fa_pool_wait(pool, &pool->beater_cond, pool->beater_us);
    }
    is_ending = pool->is_ending;
    pool->is_changed = pool->has_news = false;
    describe(pool, beat);
    if (!is_ending)
        collect(pool, beat);
    pthread_mutex_unlock(&pool->mutex);
    return !is_ending;
}

/* ------------------------------------------------------------------------------------------
 * Answers
 */

/* A job that was not renewed. True: its handler must be told to stop. */
static bool lose(struct fa_job *job, enum fa_stop stop)
{
    if (!fa_pool_mark_stop(job, stop))
        return false;
    fa_tell(&job->pool->config.log, FA_LOG_INFO, "task %s is stopped: %s", job->task->id,
            stop == FA_STOP_CANCELLED ? "it was cancelled" : "it is not ours any more");
    return true;
}

/* What the engine says about each job: renewed, not renewed, or (transient errors) nothing. */
enum verdict { RENEWED, SILENT, GONE, CANCELLED };

static void end_beat(struct fa_pool *pool, struct beat *beat, const enum verdict *verdicts,
                     int64_t asked_us)
{
    size_t stop_count = 0;

    pthread_mutex_lock(&pool->mutex);
    for (size_t i = 0; i < beat->count; i++) {
        struct fa_job *job = beat->jobs[i];
        enum verdict verdict = verdicts[i];

        if (verdict == RENEWED)
            job->lease_us = asked_us + pool->lease_us - pool->margin_us;
        else if (verdict != SILENT &&
                 lose(job, verdict == CANCELLED ? FA_STOP_CANCELLED : FA_STOP_LOST))
            beat->jobs[stop_count++] = job;
        fa_pool_unref(job); /* marking it took another */
    }
    pthread_mutex_unlock(&pool->mutex);
    fa_pool_end_outdated(pool);
    for (size_t i = 0; i < stop_count; i++)
        fa_pool_tell_stop(beat->jobs[i]);
}

/* The lost ones come in the order of the request. A task that was taken from us and claimed again
 * is held twice, by another fence each. */
static void read_beat(const struct beat *beat, const struct faina_beat *answer,
                      enum verdict *verdicts)
{
    const struct faina_lost *lost = answer->items, *end = lost + answer->lost_count;

    for (size_t i = 0; i < beat->count; i++) {
        verdicts[i] = RENEWED;
        if (lost == end || lost->fence != beat->held[i].fence ||
            strcmp(lost->id, beat->held[i].id) != 0)
            continue;
        verdicts[i] = lost->why == FAINA_LOSS_CANCELLED ? CANCELLED : GONE;
        lost++;
    }
}

/* One call for the worker and all its tasks. */
static enum faina_code beat_worker(struct fa_pool *pool, struct beat *beat, enum verdict *verdicts,
                                   struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_WORKER_PUT, .arena = &beat->arena};
    enum faina_code code;

    op.worker.self = &beat->self;
    op.worker.held = beat->held;
    op.worker.held_count = beat->count;
    op.worker.lease_ms = pool->config.lease_ms;
    code = fa_service_run_one(pool->service, &op, err);
    if (code == FAINA_OK)
        read_beat(beat, op.beat, verdicts);
    return code;
}

/* A heartbeat for each task. */
static enum faina_code beat_tasks(struct fa_pool *pool, struct beat *beat, enum verdict *verdicts,
                                  struct faina_error *err)
{
    struct fa_op *ops = fa_arena_zero(&beat->arena, beat->count + 1, sizeof(*ops));
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; i < beat->count; i++)
        ops[i] = (struct fa_op){
            .kind = FA_OP_HEARTBEAT,
            .id = beat->held[i].id,
            .by = {.worker_id = pool->config.worker_id, .fence = beat->held[i].fence},
            .lease_ms = pool->config.lease_ms,
            .arena = &beat->arena,
        };
    if (beat->count > 0)
        fa_service_run(pool->service, ops, beat->count);
    for (size_t i = 0; i < beat->count; i++) {
        verdicts[i] = ops[i].code == FAINA_OK                   ? RENEWED
                      : ops[i].code == FAINA_INVALID_TRANSITION ? CANCELLED
                      : fa_pool_is_loss(ops[i].code)            ? GONE
                                                                : SILENT;
        if (verdicts[i] == SILENT) {
            code = ops[i].code;
            *err = ops[i].error;
        }
    }
    return code;
}

/* ------------------------------------------------------------------------------------------
 * The thread
 */

static enum faina_code tell(struct fa_pool *pool, struct beat *beat, struct faina_error *err)
{
    enum verdict *verdicts = fa_arena_zero(&beat->arena, beat->count + 1, sizeof(*verdicts));
    int64_t asked_us = fa_clock_mono_us();
    enum faina_code code = FAINA_NOT_SUPPORTED;

    for (size_t i = 0; i < beat->count; i++)
        verdicts[i] = SILENT;
    fa_error_clear(err);
    if (beat->is_known && !pool->has_no_workers)
        code = beat_worker(pool, beat, verdicts, err);
    if (code == FAINA_NOT_SUPPORTED) {
        pool->has_no_workers = beat->is_known;
        code = beat_tasks(pool, beat, verdicts, err);
    }
    end_beat(pool, beat, verdicts, asked_us);
    return code;
}

/* What it has not started goes back in line by this, too. */
static void sign_off(struct fa_pool *pool, struct fa_arena *arena)
{
    struct fa_op op = {.kind = FA_OP_WORKER_REMOVE, .id = pool->config.worker_id, .arena = arena};

    if (pool->is_registered)
        fa_service_run(pool->service, &op, 1);
}

void *fa_pool_beater_main(void *arg)
{
    struct fa_pool *pool = arg;
    int64_t at_us = fa_clock_mono_us() + interval_us(pool);
    bool was_bad = false;
    struct beat beat;

    while (begin_beat(pool, &beat, at_us)) {
        struct faina_error err;
        enum faina_code code;

        at_us = fa_clock_mono_us() + interval_us(pool);
        code = tell(pool, &beat, &err);
        if (code == FAINA_OK)
            pool->is_registered |= beat.is_known && !pool->has_no_workers;
        else
            at_us = fa_clock_mono_us() + AGAIN_US;
        if (code != FAINA_OK && !was_bad)
            fa_tell(&pool->config.log, FA_LOG_ERROR, "can't renew leases: %s", err.message);
        was_bad = code != FAINA_OK;
        fa_arena_finish(&beat.arena);
    }
    sign_off(pool, &beat.arena);
    fa_arena_finish(&beat.arena);
    return NULL;
}
