/*
 * batch.c - group commit by a lead that is passed on.
 *
 * A waiting caller sleeps on its own job's state word (a futex), so that waking it wakes nobody
 * else. The leader passes the lead on first and tells the others afterwards: the next transaction
 * begins while they wake up.
 *
 * A leader that would start with far fewer jobs than the last transaction had gives those that
 * have just been woken a moment to come back: else every second transaction would be nearly empty.
 * A lone caller never waits for that.
 */
#include "sql/batch.h"

#include "base/bytes.h"
#include "base/clock.h"

#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WAITS, LEADS, DONE };

#define REGROUP_US_MAX 200 /* a fraction of a flush */
#define REGROUP_JOBS_MIN 4

struct fa_batch {
    fa_batch_fn *run;
    void *ctx;
    size_t weight_max;

    pthread_mutex_t mutex; /* guards what follows; nothing blocks while it is held */
    struct fa_job *first, *last;
    size_t queued;
    bool has_leader, is_closed;
    size_t last_jobs;    /* how many the last transaction had */
    pthread_cond_t idle; /* no leader and no job */
};

static void sleep_while(struct fa_job *job, uint32_t state)
{
    while (atomic_load_explicit(&job->state, memory_order_acquire) == state)
        syscall(SYS_futex, &job->state, FUTEX_WAIT_PRIVATE, state, NULL, NULL, 0);
}

/* After the store the job may be gone with its caller; waking an address that nobody waits on is
 * harmless. */
static void tell(struct fa_job *job, uint32_t state)
{
    atomic_store_explicit(&job->state, state, memory_order_release);
    syscall(SYS_futex, &job->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

struct fa_batch *fa_batch_create(fa_batch_fn *run, void *ctx, size_t weight_max)
{
    struct fa_batch *batch = fa_alloc_zero(1, sizeof(*batch));

    batch->run = run;
    batch->ctx = ctx;
    batch->weight_max = weight_max;
    pthread_mutex_init(&batch->mutex, NULL);
    pthread_cond_init(&batch->idle, NULL);
    return batch;
}

void fa_batch_destroy(struct fa_batch *batch)
{
    if (batch == NULL)
        return;
    assert(batch->first == NULL);
    pthread_cond_destroy(&batch->idle);
    pthread_mutex_destroy(&batch->mutex);
    free(batch);
}

/* Takes the jobs of the next transaction off the queue: at least one, up to the weight. */
static struct fa_job *take(struct fa_batch *batch, size_t *count)
{
    struct fa_job *first = batch->first, *end = first;
    size_t weight = first->weight;

    *count = 1;
    while (end->next != NULL && weight + end->next->weight <= batch->weight_max) {
        end = end->next;
        weight += end->weight;
        ++*count;
    }
    batch->first = end->next;
    if (batch->first == NULL)
        batch->last = NULL;
    batch->queued -= *count;
    end->next = NULL;
    return first;
}

/* Lets callers that the last transaction has answered come back with their next job. */
static void regroup(struct fa_batch *batch, size_t expected)
{
    int64_t until = fa_clock_mono_us() + REGROUP_US_MAX;
    size_t queued;

    do {
        sched_yield();
        pthread_mutex_lock(&batch->mutex);
        queued = batch->queued;
        pthread_mutex_unlock(&batch->mutex);
    } while (queued < expected && fa_clock_mono_us() < until);
}

/* Runs one transaction and passes the lead on. The caller's own job is among its jobs. */
static void lead(struct fa_batch *batch, struct fa_job *own)
{
    struct fa_job *jobs, *next;
    size_t count, expected;

    pthread_mutex_lock(&batch->mutex);
    expected = batch->last_jobs >= REGROUP_JOBS_MIN ? batch->last_jobs - batch->last_jobs / 8 : 0;
    if (batch->queued < expected) {
        pthread_mutex_unlock(&batch->mutex);
        regroup(batch, expected);
        pthread_mutex_lock(&batch->mutex);
    }
    assert(batch->first == own);
    jobs = take(batch, &count);
    batch->last_jobs = count;
    pthread_mutex_unlock(&batch->mutex);

    batch->run(batch->ctx, jobs, count);

    pthread_mutex_lock(&batch->mutex);
    if (batch->first != NULL) {
        tell(batch->first, LEADS);
    } else {
        batch->has_leader = false;
        pthread_cond_broadcast(&batch->idle);
    }
    pthread_mutex_unlock(&batch->mutex);
    for (struct fa_job *job = jobs; job != NULL; job = next) {
        next = job->next;
        if (job != own)
            tell(job, DONE);
    }
}

bool fa_batch_run(struct fa_batch *batch, struct fa_job *job)
{
    bool is_leader = false;

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
    batch->queued++;
    if (!batch->has_leader)
        is_leader = batch->has_leader = true;
    pthread_mutex_unlock(&batch->mutex);
    if (!is_leader) {
        sleep_while(job, WAITS);
        if (atomic_load_explicit(&job->state, memory_order_acquire) == DONE)
            return true;
    }
    lead(batch, job);
    return true;
}

void fa_batch_close(struct fa_batch *batch)
{
    pthread_mutex_lock(&batch->mutex);
    batch->is_closed = true;
    while (batch->has_leader || batch->first != NULL)
        pthread_cond_wait(&batch->idle, &batch->mutex);
    pthread_mutex_unlock(&batch->mutex);
}
