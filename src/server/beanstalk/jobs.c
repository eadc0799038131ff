/*
 * jobs.c - the reservations of a beanstalkd listener. See beanstalk_inner.h.
 *
 * Ends of reservations are posted without a session: a failure leaves the job to the end of its
 * lease.
 */
#include "server/beanstalk/beanstalk_inner.h"

#include "base/clock.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define BUCKETS 4096 /* a power of two */
#define RENEW_US (FA_BEANSTALK_LEASE_MS * 1000LL / 3)
#define BATCH 500 /* operations in a call */

/* ------------------------------------------------------------------------------------------
 * The heap of deadlines
 */

static void place(struct fa_beanstalk *listener, size_t at, struct fa_beanstalk_job *job)
{
    listener->heap[at] = job;
    job->heap_index = at;
}

static void sift_up(struct fa_beanstalk *listener, size_t at, struct fa_beanstalk_job *job)
{
    for (; at > 1 && listener->heap[at / 2]->until_us > job->until_us; at /= 2)
        place(listener, at, listener->heap[at / 2]);
    place(listener, at, job);
}

static void sift_down(struct fa_beanstalk *listener, size_t at, struct fa_beanstalk_job *job)
{
    for (;;) {
        size_t child = 2 * at;

        if (child + 1 <= listener->heap_count &&
            listener->heap[child + 1]->until_us < listener->heap[child]->until_us)
            child++;
        if (child > listener->heap_count || listener->heap[child]->until_us >= job->until_us)
            break;
        place(listener, at, listener->heap[child]);
        at = child;
    }
    place(listener, at, job);
}

void fa_beanstalk_job_suspend(struct fa_beanstalk_job *job)
{
    struct fa_beanstalk *listener = job->session->listener;
    size_t at = job->heap_index;
    struct fa_beanstalk_job *last;

    if (at == 0)
        return;
    job->heap_index = 0;
    last = listener->heap[listener->heap_count--];
    if (last == job)
        return;
    if (at > 1 && listener->heap[at / 2]->until_us > last->until_us)
        sift_up(listener, at, last);
    else
        sift_down(listener, at, last);
}

void fa_beanstalk_job_resume(struct fa_beanstalk_job *job)
{
    struct fa_beanstalk *listener = job->session->listener;

    if (job->heap_index != 0)
        fa_beanstalk_job_suspend(job);
    listener->heap =
        fa_grow(listener->heap, ++listener->heap_count, &listener->heap_size, sizeof(job));
    sift_up(listener, listener->heap_count, job);
}

/* ------------------------------------------------------------------------------------------
 * The table
 */

static struct fa_beanstalk_job **bucket_of(struct fa_beanstalk *listener, uint64_t id)
{
    if (!listener->buckets)
        listener->buckets = fa_alloc_zero(BUCKETS, sizeof(struct fa_beanstalk_job *));
    return &listener->buckets[(id * UINT64_C(0x9e3779b97f4a7c15)) >> 52 & (BUCKETS - 1)];
}

struct fa_beanstalk_job *fa_beanstalk_job_find(struct fa_beanstalk *listener,
                                               const struct fa_beanstalk_session *session,
                                               uint64_t id)
{
    struct fa_beanstalk_job *job = *bucket_of(listener, id);

    while (job && job->id != id)
        job = job->next_in_bucket;
    return job && (!session || job->session == session) ? job : NULL;
}

void fa_beanstalk_job_add(struct fa_beanstalk_session *session, const struct faina_task *task,
                          uint32_t ttr)
{
    struct fa_beanstalk *listener = session->listener;
    struct fa_beanstalk_job *job = fa_alloc_zero(1, sizeof(*job)), **bucket;
    struct fa_id id = {0};

    if (!fa_id_parse(task->id, &id))
        assert(!"the engine has returned a task whose id is none");
    job->session = session;
    job->id = fa_beanstalk_id(id.key);
    memcpy(job->task_id, task->id, sizeof(job->task_id));
    snprintf(job->type, sizeof(job->type), "%s", task->type);
    job->fence = task->fence;
    job->pri = fa_beanstalk_pri(task->priority);
    job->ttr_us = (int64_t)(ttr > 0 ? ttr : 1) * 1000000;
    job->renewed_us = fa_clock_mono_us();
    job->until_us = job->renewed_us + job->ttr_us;
    bucket = bucket_of(listener, job->id);
    job->next_in_bucket = *bucket;
    *bucket = job;
    fa_ring_add(&session->jobs, &job->link);
    fa_beanstalk_job_resume(job);
    atomic_fetch_add(&listener->job_count, 1);
}

void fa_beanstalk_job_remove(struct fa_beanstalk_job *job)
{
    struct fa_beanstalk *listener = job->session->listener;
    struct fa_beanstalk_job **at = bucket_of(listener, job->id);

    while (*at != job)
        at = &(*at)->next_in_bucket;
    *at = job->next_in_bucket;
    fa_beanstalk_job_suspend(job);
    fa_ring_remove(&job->link);
    atomic_fetch_sub(&listener->job_count, 1);
    free(job);
}

void fa_beanstalk_jobs_finish(struct fa_beanstalk *listener)
{
    free(listener->buckets);
    free(listener->heap);
}

int64_t fa_beanstalk_jobs_next(const struct fa_beanstalk_session *session)
{
    int64_t next = INT64_MAX;

    for (struct fa_ring_link *at = session->jobs.next; at != &session->jobs; at = at->next) {
        const struct fa_beanstalk_job *job = FA_CONTAINER_OF(at, struct fa_beanstalk_job, link);

        if (job->until_us < next)
            next = job->until_us;
    }
    return next;
}

/* ------------------------------------------------------------------------------------------
 * Many at once
 */

static void forget(struct fa_beanstalk_call *call)
{
    (void)call;
}

static struct fa_beanstalk_call *begin_batch(struct fa_beanstalk *listener)
{
    struct fa_beanstalk_call *call = fa_beanstalk_call_create(listener, NULL);

    call->posted.ops = fa_arena_zero(&call->arena, BATCH, sizeof(struct fa_op));
    call->after = forget;
    return call;
}

static void send_batch(struct fa_beanstalk_call *call)
{
    size_t count = call->posted.count;

    if (count == 0 || fa_beanstalk_post(call, count) != FAINA_OK)
        fa_beanstalk_call_destroy(call);
}

static struct fa_op *add_op(struct fa_beanstalk_call *call, enum fa_op_kind kind,
                            const struct fa_beanstalk_job *job)
{
    struct fa_op *op = &call->posted.ops[call->posted.count++];

    *op =
        (struct fa_op){.kind = kind,
                       .id = fa_arena_strdup(&call->arena, job->task_id),
                       .by = {.worker_id = job->session->listener->worker_id, .fence = job->fence},
                       .arena = &call->arena};
    return op;
}

/* Makes the job ready again, and ends its reservation. Returns the batch to go on with. */
static struct fa_beanstalk_call *return_job(struct fa_beanstalk_call *call,
                                            struct fa_beanstalk_job *job, const char *what)
{
    call->requeue = (struct fa_requeue){.what = what};
    add_op(call, FA_OP_REQUEUE, job)->requeue = &call->requeue;
    fa_beanstalk_job_remove(job);
    if (call->posted.count == BATCH) {
        struct fa_beanstalk_call *full = call;

        call = begin_batch(full->listener);
        send_batch(full);
    }
    return call;
}

void fa_beanstalk_jobs_expire(struct fa_beanstalk *listener)
{
    struct fa_beanstalk_call *call;

    if (listener->heap_count == 0 || listener->heap[1]->until_us > listener->turn_us)
        return;
    call = begin_batch(listener);
    while (listener->heap_count > 0 && listener->heap[1]->until_us <= listener->turn_us) {
        listener->timeouts++;
        call = return_job(call, listener->heap[1], "lease_lost");
    }
    send_batch(call);
}

void fa_beanstalk_jobs_return(struct fa_beanstalk_session *session)
{
    struct fa_beanstalk_call *call;

    if (fa_ring_is_empty(&session->jobs))
        return;
    call = begin_batch(session->listener);
    while (!fa_ring_is_empty(&session->jobs))
        call = return_job(call, FA_CONTAINER_OF(session->jobs.next, struct fa_beanstalk_job, link),
                          "disconnected");
    send_batch(call);
}

/* A job that was taken from the listener, for example by a cancel, isn't reserved any more. Other
 * failures are repeated with the next renewal. */
static void after_renew(struct fa_beanstalk_call *call)
{
    for (size_t i = 0; i < call->posted.count; i++) {
        const struct fa_op *op = &call->posted.ops[i];
        bool is_lost = op->code != FAINA_OK && op->code != FAINA_UNAVAILABLE &&
                       op->code != FAINA_OVERLOADED && op->code != FAINA_STORE_CLOSED &&
                       op->code != FAINA_INTERNAL && op->code != FAINA_TIMEOUT;
        struct fa_beanstalk_job *job;
        struct fa_id id;

        if (!is_lost || !fa_id_parse(op->id, &id))
            continue;
        job = fa_beanstalk_job_find(call->listener, NULL, fa_beanstalk_id(id.key));
        if (job && job->fence == op->by.fence && job->heap_index != 0)
            fa_beanstalk_job_remove(job);
    }
}

void fa_beanstalk_jobs_renew(struct fa_beanstalk *listener)
{
    struct fa_beanstalk_call *call;

    if (listener->turn_us < listener->renew_us)
        return;
    listener->renew_us = listener->turn_us + RENEW_US / 3;
    if (listener->heap_count == 0)
        return;
    call = begin_batch(listener);
    for (size_t i = 1; i <= listener->heap_count; i++) {
        struct fa_beanstalk_job *job = listener->heap[i];

        if (job->renewed_us > listener->turn_us - RENEW_US)
            continue;
        job->renewed_us = listener->turn_us;
        call->after = after_renew;
        add_op(call, FA_OP_HEARTBEAT, job);
        if (call->posted.count == BATCH) {
            struct fa_beanstalk_call *full = call;

            call = begin_batch(listener);
            send_batch(full);
        }
    }
    send_batch(call);
}
