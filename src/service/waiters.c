/*
 * waiters.c - a hash table of waiters by task, and a list of listeners.
 *
 * Waiters for tasks share one condition per bucket: thousands may wait, and an end wakes only
 * those few that fell into the same bucket.
 */
#include "service/waiters.h"

#include "base/clock.h"
#include "service/service.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define BUCKETS 1024

struct bucket {
    struct fa_waiter *first;
    pthread_cond_t cond;
};

struct fa_waiters {
    pthread_mutex_t mutex;
    struct bucket buckets[BUCKETS];
    size_t count;
    bool is_closed;

    pthread_mutex_t listeners_mutex; /* guards the list, also while they are called (W3) */
    struct fa_listener *listeners;
    atomic_size_t counters;       /* listeners that count stats; changed under the mutex */
    atomic_size_t span_listeners; /* those of them with wants_spans */
};

static struct bucket *bucket_of(struct fa_waiters *waiters, struct fa_id id)
{
    return &waiters->buckets[(uint64_t)id.key * 0x9e3779b97f4a7c15u >> 54];
}

struct fa_waiters *fa_waiters_create(void)
{
    struct fa_waiters *waiters = fa_alloc_zero(1, sizeof(*waiters));
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&waiters->mutex, NULL);
    pthread_mutex_init(&waiters->listeners_mutex, NULL);
    for (size_t i = 0; i < BUCKETS; i++)
        pthread_cond_init(&waiters->buckets[i].cond, &attr);
    pthread_condattr_destroy(&attr);
    return waiters;
}

void fa_waiters_destroy(struct fa_waiters *waiters)
{
    if (waiters == NULL)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        pthread_cond_destroy(&waiters->buckets[i].cond);
    pthread_mutex_destroy(&waiters->listeners_mutex);
    pthread_mutex_destroy(&waiters->mutex);
    free(waiters);
}

static struct timespec deadline_in(int64_t timeout_ms)
{
    int64_t at = fa_clock_mono_us() + timeout_ms * 1000;

    return (struct timespec){.tv_sec = at / 1000000, .tv_nsec = at % 1000000 * 1000};
}

void fa_waiter_begin(struct fa_waiter *waiter, struct fa_waiters *waiters, struct fa_id id)
{
    struct bucket *bucket = bucket_of(waiters, id);

    *waiter = (struct fa_waiter){.id = id, .waiters = waiters};
    pthread_mutex_lock(&waiters->mutex);
    waiter->next = bucket->first;
    waiter->link = &bucket->first;
    if (bucket->first != NULL)
        bucket->first->link = &waiter->next;
    bucket->first = waiter;
    waiters->count++;
    pthread_mutex_unlock(&waiters->mutex);
}

void fa_waiter_sleep(struct fa_waiter *waiter, int64_t timeout_ms)
{
    struct fa_waiters *waiters = waiter->waiters;
    struct timespec deadline = deadline_in(timeout_ms);
    int rc = 0;

    pthread_mutex_lock(&waiters->mutex);
    while (rc == 0 && !waiter->is_woken && !waiters->is_closed)
        rc = pthread_cond_timedwait(&bucket_of(waiters, waiter->id)->cond, &waiters->mutex,
                                    &deadline);
    pthread_mutex_unlock(&waiters->mutex);
}

void fa_waiter_end(struct fa_waiter *waiter)
{
    struct fa_waiters *waiters = waiter->waiters;

    pthread_mutex_lock(&waiters->mutex);
    *waiter->link = waiter->next;
    if (waiter->next != NULL)
        waiter->next->link = waiter->link;
    waiters->count--;
    pthread_mutex_unlock(&waiters->mutex);
}

static void notify(struct fa_waiters *waiters, const struct fa_notification *notification)
{
    pthread_mutex_lock(&waiters->listeners_mutex);
    for (struct fa_listener *listener = waiters->listeners; listener; listener = listener->next)
        if (listener->on_commit != NULL)
            listener->on_commit(listener->ctx, notification);
    pthread_mutex_unlock(&waiters->listeners_mutex);
}

void fa_waiters_notify_ended(struct fa_waiters *waiters, const struct fa_id *ids, size_t count)
{
    if (count == 0)
        return;
    notify(waiters, &(struct fa_notification){.ended = ids, .ended_count = count});
    pthread_mutex_lock(&waiters->mutex);
    for (size_t i = 0; waiters->count > 0 && i < count; i++) {
        struct bucket *bucket = bucket_of(waiters, ids[i]);
        bool found = false;

        for (struct fa_waiter *waiter = bucket->first; waiter != NULL; waiter = waiter->next) {
            if (fa_id_equal(waiter->id, ids[i]))
                waiter->is_woken = found = true;
        }
        if (found)
            pthread_cond_broadcast(&bucket->cond);
    }
    pthread_mutex_unlock(&waiters->mutex);
}

void fa_waiters_notify_all(struct fa_waiters *waiters)
{
    notify(waiters, &(struct fa_notification){.has_any_ended = true});
    pthread_mutex_lock(&waiters->mutex);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct fa_waiter *waiter = waiters->buckets[i].first; waiter != NULL;
             waiter = waiter->next)
            waiter->is_woken = true;
        pthread_cond_broadcast(&waiters->buckets[i].cond);
    }
    pthread_mutex_unlock(&waiters->mutex);
}

void fa_waiters_notify_ready(struct fa_waiters *waiters, uint64_t types)
{
    notify(waiters, &(struct fa_notification){.ready_types = types});
}

void fa_waiters_listen(struct fa_waiters *waiters, struct fa_listener *listener)
{
    pthread_mutex_lock(&waiters->listeners_mutex);
    listener->next = waiters->listeners;
    waiters->listeners = listener;
    atomic_fetch_add(&waiters->counters, listener->count != NULL);
    atomic_fetch_add(&waiters->span_listeners, listener->wants_spans);
    pthread_mutex_unlock(&waiters->listeners_mutex);
}

void fa_waiters_unlisten(struct fa_waiters *waiters, struct fa_listener *listener)
{
    pthread_mutex_lock(&waiters->listeners_mutex);
    for (struct fa_listener **link = &waiters->listeners; *link != NULL; link = &(*link)->next) {
        if (*link == listener) {
            *link = listener->next;
            atomic_fetch_sub(&waiters->counters, listener->count != NULL);
            atomic_fetch_sub(&waiters->span_listeners, listener->wants_spans);
            break;
        }
    }
    pthread_mutex_unlock(&waiters->listeners_mutex);
}

bool fa_waiters_has_counters(struct fa_waiters *waiters)
{
    return atomic_load_explicit(&waiters->counters, memory_order_relaxed) > 0;
}

bool fa_waiters_wants_spans(struct fa_waiters *waiters)
{
    return atomic_load_explicit(&waiters->span_listeners, memory_order_relaxed) > 0;
}

void fa_waiters_publish_stats(struct fa_waiters *waiters, const struct fa_commit_stats *stats)
{
    pthread_mutex_lock(&waiters->listeners_mutex);
    for (struct fa_listener *listener = waiters->listeners; listener; listener = listener->next)
        if (listener->count != NULL)
            listener->count(listener->ctx, stats);
    pthread_mutex_unlock(&waiters->listeners_mutex);
}

void fa_waiters_close(struct fa_waiters *waiters)
{
    pthread_mutex_lock(&waiters->mutex);
    waiters->is_closed = true;
    for (size_t i = 0; i < BUCKETS; i++)
        pthread_cond_broadcast(&waiters->buckets[i].cond);
    pthread_mutex_unlock(&waiters->mutex);
}
