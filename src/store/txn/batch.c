/*
 * batch.c - group commit.
 *
 * A waiting caller sleeps on the state word of its own job (a futex), so that a wake-up wakes one
 * thread. The leader wakes only the first of the callers whose jobs are done, the relay. The relay
 * wakes the others while the leader already runs the next transaction.
 *
 * A sleeping caller usually hands in its next job right after it was woken, which takes a moment. A
 * leader that has run the jobs of far fewer callers than the previous transaction waits for them
 * before the commit: otherwise every other transaction would be nearly empty (measured with 64
 * callers: a fifth less). A lone caller never waits for that, and no transaction waits for posted
 * jobs: they arrive by themselves while the previous one commits (decision 39).
 */
#include "store/txn/batch.h"

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

enum { WAITS, RELAY, DONE };

#define REGROUP_US_MAX 100 /* a fraction of a flush */
#define REGROUP_CALLERS_MIN 8
#define AWAKE_US_MAX 1000
#define AWAKE_CALLERS_MIN 16

struct fa_batch {
    fa_batch_fn *run;
    void *ctx;
    size_t weight_max, queue_weight_max;
    pthread_t writer;

    /* The leader's own. */
    struct fa_batch_job *taken_last; /* end of the list that is being run */
    size_t taken_jobs, taken_weight;
    size_t taken_callers; /* the jobs among them with a caller that sleeps */
    size_t last_callers;  /* the same of the last transaction */

    pthread_mutex_t mutex; /* guards what follows; nothing blocks while it is held */
    struct fa_batch_job *first, *last;
    size_t queue_weight;
    atomic_size_t queued; /* jobs; written under the mutex, read also without it */
    bool has_leader, writer_leads, is_closed, is_over;
    bool was_large;             /* the last transaction had many callers */
    pthread_cond_t writer_cond; /* the writer thread must lead, or end */
    pthread_cond_t idle_cond;   /* there is no leader and no job is queued */
};

static void sleep_while(struct fa_batch_job *job, uint32_t state)
{
    while (atomic_load_explicit(&job->state, memory_order_acquire) == state)
        syscall(SYS_futex, &job->state, FUTEX_WAIT_PRIVATE, state, NULL, NULL, 0);
}

/* False: the state is still the same at `until_us`. */
static bool sleep_until(struct fa_batch_job *job, uint32_t state, int64_t until_us)
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

/* The caller whose job is first behind a large transaction doesn't sleep at once: it becomes the
 * relay, and waking an idle processor takes longer than the futex call (measured: a seventh more
 * from 64 callers). It yields to every thread that has work. */
static void stay_awake(struct fa_batch_job *job)
{
    int64_t until = fa_clock_mono_us() + AWAKE_US_MAX;

    while (atomic_load_explicit(&job->state, memory_order_acquire) == WAITS &&
           fa_clock_mono_us() < until)
        sched_yield();
}

/* After the store the job's memory may be used for something else. A thread that waits at the same
 * address by then sees a spurious wake-up, and sleeps again. */
static void wake(struct fa_batch_job *job, uint32_t state)
{
    atomic_store_explicit(&job->state, state, memory_order_release);
    syscall(SYS_futex, &job->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void wake_all(struct fa_batch_job *jobs)
{
    for (struct fa_batch_job *job = jobs, *next; job != NULL; job = next) {
        next = job->next;
        wake(job, DONE);
    }
}

/* Callers that sleep are woken first: they go on while the leader calls `done` for the others. */
static void finish_jobs(struct fa_batch_job *jobs)
{
    struct fa_batch_job *sleeping = NULL, **sleeping_end = &sleeping;
    struct fa_batch_job *posted = NULL, **posted_end = &posted, *next;

    for (struct fa_batch_job *job = jobs; job != NULL; job = job->next) {
        struct fa_batch_job ***end = job->done != NULL ? &posted_end : &sleeping_end;

        **end = job;
        *end = &job->next;
    }
    *sleeping_end = *posted_end = NULL;
    if (sleeping != NULL && sleeping->next != NULL)
        wake(sleeping, RELAY);
    else
        wake_all(sleeping);
    for (; posted != NULL; posted = next) {
        next = posted->next;
        posted->done(posted);
    }
}

/* Taking jobs -------------------------------------------------------------------------------- */

/* Moves jobs from the queue to the list being run; at least one when the list is empty. */
static struct fa_batch_job *take(struct fa_batch *batch)
{
    struct fa_batch_job *first = batch->first, *end = NULL;
    size_t count = 0;

    for (struct fa_batch_job *job = first; job != NULL; job = job->next) {
        if (batch->taken_jobs > 0 && batch->taken_weight + job->weight > batch->weight_max)
            break;
        batch->taken_weight += job->weight;
        batch->queue_weight -= job->weight;
        batch->taken_jobs++;
        batch->taken_callers += job->done == NULL;
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

static struct fa_batch_job *take_locked(struct fa_batch *batch)
{
    struct fa_batch_job *jobs;

    pthread_mutex_lock(&batch->mutex);
    jobs = take(batch);
    batch->was_large = batch->last_callers >= AWAKE_CALLERS_MIN;
    pthread_mutex_unlock(&batch->mutex);
    return jobs;
}

static bool has_queued(struct fa_batch *batch)
{
    return atomic_load_explicit(&batch->queued, memory_order_relaxed) > 0;
}

struct fa_batch_job *fa_batch_more(struct fa_batch *batch)
{
    int64_t until;

    if (has_queued(batch))
        return take_locked(batch);
    if (batch->last_callers < REGROUP_CALLERS_MIN ||
        batch->taken_callers >= batch->last_callers / 4 * 3)
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

/* One transaction. `own` is the job of a caller that leads; the writer thread has none. */
static void lead_once(struct fa_batch *batch, struct fa_batch_job *own)
{
    struct fa_batch_job *jobs;

    batch->taken_last = NULL;
    batch->taken_jobs = batch->taken_weight = batch->taken_callers = 0;
    jobs = take_locked(batch);
    assert(own == NULL || own == jobs);
    if (jobs == NULL) /* the only job was taken back */
        return;
    batch->run(batch->ctx, jobs);
    batch->last_callers = batch->taken_callers;
    finish_jobs(own != NULL ? own->next : jobs);
}

static void stop_leading(struct fa_batch *batch)
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
        stop_leading(batch);
    }
    pthread_mutex_unlock(&batch->mutex);
    return NULL;
}

/* A caller leads the transaction of its own job, and leaves the rest to the writer thread. */
static void lead(struct fa_batch *batch, struct fa_batch_job *own)
{
    lead_once(batch, own);
    pthread_mutex_lock(&batch->mutex);
    if (batch->first != NULL) {
        batch->writer_leads = true;
        pthread_cond_signal(&batch->writer_cond);
    } else {
        stop_leading(batch);
    }
    pthread_mutex_unlock(&batch->mutex);
}

/* Removes a job from the queue. False: it is being run, or was. */
static bool take_back(struct fa_batch *batch, struct fa_batch_job *job)
{
    struct fa_batch_job *before = NULL, *at;

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
        batch->queue_weight -= job->weight;
        atomic_fetch_sub_explicit(&batch->queued, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&batch->mutex);
    return at != NULL;
}

/* The mutex is held. */
static void enqueue(struct fa_batch *batch, struct fa_batch_job *job)
{
    job->next = NULL;
    if (batch->last != NULL)
        batch->last->next = job;
    else
        batch->first = job;
    batch->last = job;
    batch->queue_weight += job->weight;
    atomic_fetch_add_explicit(&batch->queued, 1, memory_order_relaxed);
}

bool fa_batch_run_within(struct fa_batch *batch, struct fa_batch_job *job, int64_t timeout_us,
                         bool *has_timed_out)
{
    bool is_leader = false, is_next;

    assert(job->done == NULL);
    *has_timed_out = false;
    atomic_store_explicit(&job->state, WAITS, memory_order_relaxed);
    pthread_mutex_lock(&batch->mutex);
    if (batch->is_closed) {
        pthread_mutex_unlock(&batch->mutex);
        return false;
    }
    enqueue(batch, job);
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
    if (timeout_us > 0 && !sleep_until(job, WAITS, fa_clock_mono_us() + timeout_us) &&
        take_back(batch, job)) {
        *has_timed_out = true;
        return false;
    }
    sleep_while(job, WAITS);
    if (atomic_load_explicit(&job->state, memory_order_acquire) == RELAY)
        wake_all(job->next);
    return true;
}

bool fa_batch_run(struct fa_batch *batch, struct fa_batch_job *job)
{
    bool has_timed_out;

    return fa_batch_run_within(batch, job, 0, &has_timed_out);
}

enum faina_code fa_batch_post(struct fa_batch *batch, struct fa_batch_job *job)
{
    enum faina_code code = FAINA_OK;
    bool needs_leader = false;

    assert(job->done != NULL);
    pthread_mutex_lock(&batch->mutex);
    if (batch->is_closed) {
        code = FAINA_STORE_CLOSED;
    } else if (batch->queue_weight > 0 &&
               batch->queue_weight + job->weight > batch->queue_weight_max) {
        code = FAINA_OVERLOADED;
    } else {
        enqueue(batch, job);
        needs_leader = !batch->has_leader;
        if (needs_leader)
            batch->has_leader = batch->writer_leads = true;
    }
    pthread_mutex_unlock(&batch->mutex);
    if (needs_leader) /* after the unlock: the writer thread needs the mutex first */
        pthread_cond_signal(&batch->writer_cond);
    return code;
}

/* Life --------------------------------------------------------------------------------------- */

struct fa_batch *fa_batch_create(fa_batch_fn *run, void *ctx, size_t weight_max,
                                 size_t queue_weight_max)
{
    struct fa_batch *batch = fa_alloc_zero(1, sizeof(*batch));

    batch->run = run;
    batch->ctx = ctx;
    batch->weight_max = weight_max;
    batch->queue_weight_max = queue_weight_max;
    pthread_mutex_init(&batch->mutex, NULL);
    pthread_cond_init(&batch->writer_cond, NULL);
    pthread_cond_init(&batch->idle_cond, NULL);
    if (pthread_create(&batch->writer, NULL, run_writer, batch) != 0) {
        free(batch);
        return NULL;
    }
    pthread_setname_np(batch->writer, "fa-writer");
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
