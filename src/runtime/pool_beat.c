/*
 * pool_beat.c - the beater: renews the leases of all that is held, in one call, every third of the
 * lease, and stops what turns out to be cancelled or lost (P3).
 */
#include "runtime/pool_inner.h"

#include "base/clock.h"

#include <stdlib.h>

struct beat {
    struct fa_arena arena;
    struct fa_op *ops;
    struct fa_job **jobs; /* with a reference each */
    size_t count;
};

/* Waits for the time, and collects what is held. False: the pool ends. */
static bool begin_beat(struct fa_pool *pool, struct beat *beat, int64_t at_us)
{
    bool is_ending;

    *beat = (struct beat){0};
    pthread_mutex_lock(&pool->mutex);
    while (!pool->is_ending && (pool->held_count == 0 || fa_clock_mono_us() < at_us)) {
        if (pool->held_count == 0) /* what comes now has a new lease */
            at_us = INT64_MAX;
        fa_pool_wait(pool, &pool->beater_cond, at_us);
        if (at_us == INT64_MAX)
            at_us = fa_clock_mono_us() + pool->lease_us / 3;
    }
    is_ending = pool->is_ending;
    beat->ops = fa_arena_zero(&beat->arena, (size_t)pool->held_count + 1, sizeof(*beat->ops));
    beat->jobs = fa_arena_zero(&beat->arena, (size_t)pool->held_count + 1, sizeof(struct fa_job *));
    for (struct fa_job *job = pool->held; job && !is_ending; job = job->next) {
        if (fa_job_stop(job) == FA_STOP_LOST || fa_job_stop(job) == FA_STOP_CANCELLED)
            continue;
        beat->ops[beat->count] = (struct fa_op){
            .kind = FA_OP_HEARTBEAT,
            .id = job->task->id,
            .by = {.worker_id = pool->config.worker_id, .fence = job->task->fence},
            .lease_ms = pool->config.lease_ms,
            .arena = &beat->arena,
        };
        beat->jobs[beat->count++] = job;
        job->refs++;
    }
    pthread_mutex_unlock(&pool->mutex);
    return !is_ending;
}

/* True: its handler must be told to stop. */
static bool take_answer(struct fa_pool *pool, struct fa_job *job, const struct fa_op *op,
                        int64_t asked_us)
{
    enum fa_stop stop = op->code == FAINA_INVALID_TRANSITION ? FA_STOP_CANCELLED : FA_STOP_LOST;

    if (op->code == FAINA_OK)
        job->lease_us = asked_us + pool->lease_us - pool->margin_us;
    if (!fa_pool_is_loss(op->code) || !fa_pool_mark_stop(job, stop))
        return false;
    fa_log(&pool->config.log, FA_LOG_INFO, "task %s is stopped: %s", op->id, op->error.message);
    return true;
}

static void end_beat(struct fa_pool *pool, struct beat *beat, int64_t asked_us)
{
    size_t stop_count = 0;

    pthread_mutex_lock(&pool->mutex);
    for (size_t i = 0; i < beat->count; i++) {
        struct fa_job *job = beat->jobs[i];

        if (job->state != FA_JOB_GONE && take_answer(pool, job, &beat->ops[i], asked_us))
            beat->jobs[stop_count++] = job;
        fa_pool_unref(job); /* marking it took another */
    }
    pthread_mutex_unlock(&pool->mutex);
    for (size_t i = 0; i < stop_count; i++)
        fa_pool_tell_stop(beat->jobs[i]);
    fa_arena_finish(&beat->arena);
}

void *fa_pool_beater_main(void *arg)
{
    struct fa_pool *pool = arg;
    int64_t at_us = fa_clock_mono_us() + pool->lease_us / 3;
    struct beat beat;

    while (begin_beat(pool, &beat, at_us)) {
        int64_t asked_us = fa_clock_mono_us();

        if (beat.count > 0)
            fa_service_run(pool->service, beat.ops, beat.count);
        end_beat(pool, &beat, asked_us);
        at_us = asked_us + pool->lease_us / 3;
    }
    fa_arena_finish(&beat.arena);
    return NULL;
}
