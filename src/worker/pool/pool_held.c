/*
 * pool_held.c - the held jobs, in a list and in a table by id, and notifications of tasks that end
 * by another caller.
 *
 * A notification arrives in the thread that committed the change. It only wakes the heartbeat
 * thread; the answer to the next heartbeat lists the jobs that are lost or cancelled.
 */
#include "worker/pool/pool_inner.h"

#include "base/clock.h"

static struct fa_job **bucket_of(struct fa_pool *pool, struct fa_id id)
{
    return &pool->buckets[(uint64_t)id.key * 0x9e3779b97f4a7c15u >> 54];
}

void fa_pool_held_add(struct fa_job *job)
{
    struct fa_pool *pool = job->pool;
    struct fa_job **bucket;

    job->next = pool->held;
    job->link = &pool->held;
    if (job->next)
        job->next->link = &job->next;
    pool->held = job;
    if (pool->held_count++ == 0 && pool->heartbeat_us > fa_clock_mono_us() + FA_POOL_EXPECT_US)
        pthread_cond_signal(&pool->heartbeat_cond); /* at most once in that time */
    fa_id_parse(job->task->id, &job->id);           /* an invalid id matches no notification */
    bucket = bucket_of(pool, job->id);
    job->bucket_next = *bucket;
    *bucket = job;
}

void fa_pool_held_remove(struct fa_job *job)
{
    struct fa_pool *pool = job->pool;
    struct fa_job **bucket = bucket_of(pool, job->id);

    *job->link = job->next;
    if (job->next)
        job->next->link = job->link;
    while (*bucket != job)
        bucket = &(*bucket)->bucket_next;
    *bucket = job->bucket_next;
    if (--pool->held_count == 0)
        pool->idle_us = fa_clock_mono_us();
}

/* Whether a held task ended by another caller. The jobs whose outcomes this pool sent have ended.
 * */
static bool is_ours(struct fa_pool *pool, const struct fa_notification *notification)
{
    if (notification->has_any_ended)
        return pool->held_count > 0;
    for (size_t i = 0; pool->held_count > 0 && i < notification->ended_count; i++)
        for (struct fa_job *job = *bucket_of(pool, notification->ended[i]); job;
             job = job->bucket_next)
            if (job->state != FA_JOB_ENDED && fa_id_equal(job->id, notification->ended[i]))
                return true;
    return false;
}

static void on_notification(void *ctx, const struct fa_notification *notification)
{
    struct fa_pool *pool = ctx;

    if (notification->ended_count == 0 && !notification->has_any_ended)
        return;
    pthread_mutex_lock(&pool->mutex);
    if (is_ours(pool, notification)) {
        pool->has_ended_tasks = true;
        pthread_cond_signal(&pool->heartbeat_cond);
    }
    pthread_mutex_unlock(&pool->mutex);
}

void fa_pool_subscribe(struct fa_pool *pool)
{
    pool->listener = (struct fa_listener){.on_commit = on_notification, .ctx = pool};
    pool->is_subscribed = fa_service_listen(pool->service, &pool->listener);
}
