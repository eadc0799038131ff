/*
 * pool_held.c - the jobs that are held, in a list and in a table by id, and news of ends that
 * others bring about.
 *
 * News comes in whichever thread committed them. It only wakes the beater, whose next beat tells
 * which of the jobs are concerned, and why.
 */
#include "runtime/pool_inner.h"

#include "base/clock.h"

static struct fa_job **bucket_of(struct fa_pool *pool, struct fa_id id)
{
    return &pool->buckets[(uint64_t)id.key * 0x9e3779b97f4a7c15u >> 54];
}

void fa_pool_hold(struct fa_job *job)
{
    struct fa_pool *pool = job->pool;
    struct fa_job **bucket;

    job->next = pool->held;
    job->link = &pool->held;
    if (job->next)
        job->next->link = &job->next;
    pool->held = job;
    if (pool->held_count++ == 0 && pool->beater_us > fa_clock_mono_us() + FA_POOL_EXPECT_US)
        pthread_cond_signal(&pool->beater_cond); /* at most once in that time */
    fa_id_parse(job->task->id, &job->id);        /* one that is none gets no news */
    bucket = bucket_of(pool, job->id);
    job->bucket_next = *bucket;
    *bucket = job;
}

void fa_pool_let_go(struct fa_job *job)
{
    struct fa_pool *pool = job->pool;
    struct fa_job **place = bucket_of(pool, job->id);

    *job->link = job->next;
    if (job->next)
        job->next->link = job->link;
    while (*place != job)
        place = &(*place)->bucket_next;
    *place = job->bucket_next;
    if (--pool->held_count == 0)
        pool->idle_us = fa_clock_mono_us();
}

/* The ends that we tell ourselves are of jobs that have ended here. */
static bool is_ours(struct fa_pool *pool, const struct fa_news *news)
{
    if (news->has_any_ended)
        return pool->held_count > 0;
    for (size_t i = 0; pool->held_count > 0 && i < news->ended_count; i++)
        for (struct fa_job *job = *bucket_of(pool, news->ended[i]); job; job = job->bucket_next)
            if (job->state != FA_JOB_ENDED && fa_id_equal(job->id, news->ended[i]))
                return true;
    return false;
}

static void on_news(void *ctx, const struct fa_news *news)
{
    struct fa_pool *pool = ctx;

    if (news->ended_count == 0 && !news->has_any_ended)
        return;
    pthread_mutex_lock(&pool->mutex);
    if (is_ours(pool, news)) {
        pool->has_news = true;
        pthread_cond_signal(&pool->beater_cond);
    }
    pthread_mutex_unlock(&pool->mutex);
}

void fa_pool_listen(struct fa_pool *pool)
{
    pool->listener = (struct fa_listener){.tell = on_news, .ctx = pool};
    pool->is_listening = fa_service_listen(pool->service, &pool->listener);
}
