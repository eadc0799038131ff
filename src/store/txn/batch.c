/*
 * batch.c - group commit.
 *
 * A waiting caller sleeps on its own job's state word (a futex), so that waking it wakes nobody
 * else. The leader wakes only one of those that are done, the herald, which wakes the others while
 * the leader is already running the next transaction.
 *
 * Callers that were just answered tend to come back at once. A leader that has run far fewer jobs
 * than the last transaction had gives them a moment before it commits: else every other transaction
 * would be nearly empty. A lone caller never waits for that.
 */
#include "sql/batch.h"

#include "base/bytes.h"
#include "base/clock.h"

#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WAITS, HERALD, DONE };

#define REGROUP_US_MAX 100 /* a fraction of a flush */
#define REGROUP_JOBS_MIN 8
#define AWAKE_US_MAX 1000
#define AWAKE_JOBS_MIN 16

struct fa_batch {
    fa_batch_fn *run;
    void *ctx;
    size_t weight_max;
    pthread_t writer;

    /* The leader's own. */
    struct fa_job *taken_last; /* end of the list that is being run */
    size_t taken_jobs, taken_weight;
    size_t last_jobs; /* how many the last transaction had */

    pthread_mutex_t mutex; /* guards what follows; nothing blocks while it is held */
    struct fa_job *first, *last;
    atomic_size_t queued; /* written under the mutex, peeked at without it */
    bool has_leader, writer_leads, is_closed, is_over;
    bool was_large;             /* the last transaction had many jobs */
    pthread_cond_t writer_cond; /* the writer is to lead, or to end */
    pthread_cond_t idle_cond;   /* nobody leads and no job waits */
};

static void sleep_while(struct fa_job *job, uint32_t state)
{
    while (atomic_load_explicit(&job->state, memory_order_acquire) == state)
        syscall(SYS_futex, &job->state, FUTEX_WAIT_PRIVATE, state, NULL, NULL, 0);
}

/* Until then at most. False: the state is still the same. */
static bool sleep_until(struct fa_job *job, uint32_t state, int64_t until_us)
{
    while (atomic_load_explicit(&job->state, memory_order_acquire) == state) {
        int64_t left_us = until_us - fa_clock_mono_us();
        struct timespec left = {.tv_sec = left_us / 1000000, .tv_nsec = left_us % 1000000 * 1000};

        if (left_us <= 0)
            return false;
        syscall(SYS_futex, &job->state, FUTEX_WAIT_PRIVATE, state, &left, NULL, 0);
    }
    return true;
}

/* The one next in line behind a large transaction stays awake for a while: it is going to be the
 * herald, and waking a processor that has gone idle takes longer than telling it does (measured: a
 * seventh more from 64 callers). It makes way for everybody else who has work. */
static void stay_awake(struct fa_job *job)
{
    int64_t until = fa_clock_mono_us() + AWAKE_US_MAX;

    while (atomic_load_explicit(&job->state, memory_order_acquire) == WAITS &&
           fa_clock_mono_us() < until)
        sched_yield();
}

/* After the store the job may be gone with its caller; whoever else waits at that address by then
 * sees a wake-up for nothing, and looks again. */
static void tell(struct fa_job *job, uint32_t state)
{
    atomic_store_explicit(&job->state, state, memory_order_release);
    syscall(SYS_futex, &job->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void tell_all(struct fa_job *jobs)
{
    for (struct fa_job *job = jobs, *next; job != NULL; job = next) {
        next = job->next;
        tell(job, DONE);
    }
}

/* Taking jobs -------------------------------------------------------------------------------- */

/* Moves jobs from the queue to the list being run; at least one when the list is empty. */
static struct fa_job *take(struct fa_batch *batch)
{
    struct fa_job *first = batch->first, *end = NULL;
    size_t count = 0;

    for (struct fa_job *job = first; job != NULL; job = job->next) {
        if (batch->taken_jobs > 0 && batch->taken_weight + job->weight > batch->weight_max)
            break;
        batch->taken_weight += job->weight;
        batch->taken_jobs++;
        count++;
        end = job;
    }
    if (end == NULL)
        return NULL;
    batch->first = end->next;
    if (batch->first == NULL)
        batch->last = NULL;
    end->next = NULL;
    if (batch->taken_last != NULL)
        batch->taken_last->next = first;
    batch->taken_last = end;
    atomic_fetch_sub_explicit(&batch->queued, count, memory_order_relaxed);
    return first;
}

static struct fa_job *take_locked(struct fa_batch *batch)
{
    struct fa_job *jobs;

    pthread_mutex_lock(&batch->mutex);
    jobs = take(batch);
    batch->was_large = batch->last_jobs >= AWAKE_JOBS_MIN;
    pthread_mutex_unlock(&batch->mutex);
    return jobs;
}

static bool has_queued(struct fa_batch *batch)
{
    return atomic_load_explicit(&batch->queued, memory_order_relaxed) > 0;
}

struct fa_job *fa_batch_more(struct fa_batch *batch)
{
    int64_t until;

    if (has_queued(batch))
        return take_locked(batch);
    if (batch->last_jobs < REGROUP_JOBS_MIN || batch->taken_jobs >= batch->last_jobs / 4 * 3)
        return NULL;
    until = fa_clock_mono_us() + REGROUP_US_MAX;
    do {
        sched_yield();
        if (has_queued(batch))
            return take_locked(batch);
    } while (fa_clock_mono_us() < until);
    return NULL;
}

/* Leading ------------------------------------------------------------------------------------ */

/* One transaction. `own` is the leader's own job, which needs no telling; the writer has none. */
static void lead_once(struct fa_batch *batch, struct fa_job *own)
{
    struct fa_job *jobs, *done;

    batch->taken_last = NULL;
    batch->taken_jobs = batch->taken_weight = 0;
    jobs = take_locked(batch);
    assert(own == NULL || own == jobs);
    if (jobs == NULL) /* who was the only one has taken its job back */
        return;
    batch->run(batch->ctx, jobs);
    batch->last_jobs = batch->taken_jobs;
    done = own != NULL ? own->next : jobs;
    if (done != NULL && done->next != NULL)
        tell(done, HERALD);
    else
        tell_all(done);
}

static void lay_down(struct fa_batch *batch)
{
    batch->has_leader = batch->writer_leads = false;
    pthread_cond_broadcast(&batch->idle_cond);
}

static void *run_writer(void *ctx)
{
    struct fa_batch *batch = ctx;

    pthread_mutex_lock(&batch->mutex);
    for (;;) {
        while (!batch->writer_leads && !batch->is_over)
            pthread_cond_wait(&batch->writer_cond, &batch->mutex);
        if (!batch->writer_leads)
            break;
        while (batch->first != NULL) {
            pthread_mutex_unlock(&batch->mutex);
            lead_once(batch, NULL);
            pthread_mutex_lock(&batch->mutex);
        }
        lay_down(batch);
    }
    pthread_mutex_unlock(&batch->mutex);
    return NULL;
}

/* A caller leads for its own job, and leaves the rest to the writer. */
static void lead(struct fa_batch *batch, struct fa_job *own)
{
    lead_once(batch, own);
    pthread_mutex_lock(&batch->mutex);
    if (batch->first != NULL) {
        batch->writer_leads = true;
        pthread_cond_signal(&batch->writer_cond);
    } else {
        lay_down(batch);
    }
    pthread_mutex_unlock(&batch->mutex);
}

/* Takes a job out of the queue. False: it is being run, or was. */
static bool take_back(struct fa_batch *batch, struct fa_job *job)
{
    struct fa_job *before = NULL, *at;

    pthread_mutex_lock(&batch->mutex);
    for (at = batch->first; at != NULL && at != job; at = at->next)
        before = at;
    if (at != NULL) {
        if (before != NULL)
            before->next = job->next;
        else
            batch->first = job->next;
        if (batch->last == job)
            batch->last = before;
        job->next = NULL;
        atomic_fetch_sub_explicit(&batch->queued, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&batch->mutex);
    return at != NULL;
}

bool fa_batch_run_within(struct fa_batch *batch, struct fa_job *job, int64_t patience_us,
                         bool *is_back)
{
    bool is_leader = false, is_next;

    *is_back = false;
    job->next = NULL;
    atomic_store_explicit(&job->state, WAITS, memory_order_relaxed);
    pthread_mutex_lock(&batch->mutex);
    if (batch->is_closed) {
        pthread_mutex_unlock(&batch->mutex);
        return false;
    }
    if (batch->last != NULL)
        batch->last->next = job;
    else
        batch->first = job;
    batch->last = job;
    atomic_fetch_add_explicit(&batch->queued, 1, memory_order_relaxed);
    is_next = batch->first == job && batch->was_large;
    if (!batch->has_leader)
        is_leader = batch->has_leader = true;
    pthread_mutex_unlock(&batch->mutex);
    if (is_leader) {
        lead(batch, job);
        return true;
    }
    if (is_next)
        stay_awake(job);
    if (patience_us > 0 && !sleep_until(job, WAITS, fa_clock_mono_us() + patience_us) &&
        take_back(batch, job)) {
        *is_back = true;
        return false;
    }
    sleep_while(job, WAITS);
    if (atomic_load_explicit(&job->state, memory_order_acquire) == HERALD)
        tell_all(job->next);
    return true;
}

bool fa_batch_run(struct fa_batch *batch, struct fa_job *job)
{
    bool is_back;

    return fa_batch_run_within(batch, job, 0, &is_back);
}

/* Life --------------------------------------------------------------------------------------- */

struct fa_batch *fa_batch_create(fa_batch_fn *run, void *ctx, size_t weight_max)
{
    struct fa_batch *batch = fa_alloc_zero(1, sizeof(*batch));

    batch->run = run;
    batch->ctx = ctx;
    batch->weight_max = weight_max;
    pthread_mutex_init(&batch->mutex, NULL);
    pthread_cond_init(&batch->writer_cond, NULL);
    pthread_cond_init(&batch->idle_cond, NULL);
    if (pthread_create(&batch->writer, NULL, run_writer, batch) != 0) {
        free(batch);
        return NULL;
    }
    return batch;
}

void fa_batch_close(struct fa_batch *batch)
{
    pthread_mutex_lock(&batch->mutex);
    batch->is_closed = true;
    while (batch->has_leader || batch->first != NULL)
        pthread_cond_wait(&batch->idle_cond, &batch->mutex);
    pthread_mutex_unlock(&batch->mutex);
}

void fa_batch_destroy(struct fa_batch *batch)
{
    if (batch == NULL)
        return;
    assert(batch->first == NULL);
    pthread_mutex_lock(&batch->mutex);
    batch->is_over = true;
    pthread_cond_signal(&batch->writer_cond);
    pthread_mutex_unlock(&batch->mutex);
    pthread_join(batch->writer, NULL);
    pthread_cond_destroy(&batch->idle_cond);
    pthread_cond_destroy(&batch->writer_cond);
    pthread_mutex_destroy(&batch->mutex);
    free(batch);
}
