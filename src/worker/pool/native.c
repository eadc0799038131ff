/* native.c - a queue of jobs, and threads that run them. */
#include "worker/pool/native.h"

#include "base/thread.h"
#include "worker/context.h"

#include <stdatomic.h>
#include <stdlib.h>

struct fa_thread_pool {
    atomic_int returning; /* threads that have ended a job and are about to take another one */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t cond;
    struct fa_job *first, **last; /* by queue_next */
    int count;                    /* of them */
    bool is_ending;
    pthread_t *threads;
    int thread_count;
};

struct native {
    struct fa_handler handler;
    struct fa_arena arena;
    struct fa_thread_pool *pool;
    struct faina_handler functions;
    void *user;
    struct faina_failure timeout; /* of an attempt that took too long (N2) */
};

/* ------------------------------------------------------------------------------------------
 * One job
 */

static void report(void *ctx, const struct faina_report *report)
{
    fa_job_report(ctx, report);
}

static bool is_cancelled(void *ctx)
{
    return fa_job_stop(ctx) != FA_STOP_NONE;
}

static enum faina_code create(void *ctx, const struct faina_submit *subtask, char id[FAINA_ID_SIZE],
                              struct faina_error *err)
{
    return fa_job_subtask(ctx, subtask, id, err);
}

static const struct fa_context_backend backend = {
    .report = report, .is_cancelled = is_cancelled, .create = create};

static struct fa_outcome call(struct fa_job *job)
{
    struct native *native = (struct native *)job->handler;
    struct faina_context context = {
        .arena = &job->arena,
        .task = job->task,
        .subtasks_json = job->subtasks,
        .output_max = fa_job_output_max(job),
        .backend = &backend,
        .backend_ctx = job,
    };

    return fa_context_run(&context, &native->functions, native->user);
}

static void run_job(struct fa_job *job)
{
    struct native *native = (struct native *)job->handler;
    struct fa_outcome outcome = {.kind = FA_OUTCOME_FAIL};
    enum fa_stop stop;

    if (!atomic_load(&job->is_over))
        outcome = call(job);
    atomic_fetch_add(&native->pool->returning, 1);
    if (atomic_exchange(&job->is_over, true)) {
        fa_job_free_slot(job); /* the time-out was first */
        return;
    }
    stop = fa_job_stop(job);
    if (stop == FA_STOP_TIMEOUT ||
        (stop == FA_STOP_SHUTDOWN && outcome.kind != FA_OUTCOME_COMPLETE))
        outcome = fa_stop_outcome(job, stop);
    fa_job_end(job, &outcome); /* this usually starts another job */
}

/* ------------------------------------------------------------------------------------------
 * The threads
 */

static void *thread_main(void *arg)
{
    struct fa_thread_pool *pool = arg;

    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        struct fa_job *job;

        while (!pool->first && !pool->is_ending)
            pthread_cond_wait(&pool->cond, &pool->mutex);
        job = pool->first;
        if (!job)
            break;
        pool->first = job->queue_next;
        if (!pool->first)
            pool->last = &pool->first;
        pool->count--;
        pthread_mutex_unlock(&pool->mutex);
        run_job(job);
        pthread_mutex_lock(&pool->mutex);
        atomic_fetch_sub(&pool->returning, 1);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

enum faina_code fa_thread_pool_create(struct fa_thread_pool **out, int threads,
                                      struct faina_error *err)
{
    struct fa_thread_pool *pool = fa_alloc_zero(1, sizeof(*pool));
    int failed = 0;

    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->cond, NULL);
    pool->last = &pool->first;
    pool->threads = fa_alloc_zero((size_t)threads, sizeof(*pool->threads));
    for (int i = 0; i < threads && !failed; i++) {
        failed = fa_thread_start(&pool->threads[i], thread_main, pool);
        pool->thread_count += failed == 0;
    }
    if (!failed) {
        *out = pool;
        return FAINA_OK;
    }
    fa_thread_pool_destroy(pool);
    return fa_error_set(err, FAINA_UNAVAILABLE, "can't start %d threads: %s", threads,
                        strerror(failed));
}

void fa_thread_pool_destroy(struct fa_thread_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->is_ending = true;
    pthread_cond_broadcast(&pool->cond);
    pthread_mutex_unlock(&pool->mutex);
    for (int i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_mutex_destroy(&pool->mutex);
    pthread_cond_destroy(&pool->cond);
    free(pool->threads);
    free(pool);
}

/* ------------------------------------------------------------------------------------------
 * The handler
 */

/* A returning thread takes the job without a signal. */
static void native_start(struct fa_handler *handler, struct fa_job *job)
{
    struct fa_thread_pool *pool = ((struct native *)handler)->pool;
    bool needs_thread;

    pthread_mutex_lock(&pool->mutex);
    job->queue_next = NULL;
    *pool->last = job;
    pool->last = &job->queue_next;
    needs_thread = ++pool->count > atomic_load(&pool->returning);
    pthread_mutex_unlock(&pool->mutex);
    if (needs_thread)
        pthread_cond_signal(&pool->cond);
}

static void native_stop(struct fa_handler *handler, struct fa_job *job)
{
    /* The function still uses the job's arena. */
    static const struct faina_failure own = {
        .message = "the attempt took longer than the task's timeout", .kind = "timeout"};
    struct fa_outcome outcome = {
        .kind = FA_OUTCOME_FAIL,
        .failure = job->task->timeout_ms > 0 ? own : ((struct native *)handler)->timeout};

    if (fa_job_stop(job) == FA_STOP_TIMEOUT && !atomic_exchange(&job->is_over, true))
        fa_job_end_early(job, &outcome);
}

static void native_destroy(struct fa_handler *handler)
{
    fa_arena_finish(&((struct native *)handler)->arena);
    free(handler);
}

static const struct fa_handler_ops native_ops = {
    .start = native_start,
    .stop = native_stop,
    .destroy = native_destroy,
};

struct fa_handler *fa_native_create(struct fa_thread_pool *pool, const char *type,
                                    const struct faina_handler *functions, void *user)
{
    struct native *native = fa_alloc_zero(1, sizeof(*native));

    native->pool = pool;
    native->functions = *functions;
    native->user = user;
    native->timeout = fa_timeout_failure(&native->arena, functions->timeout_ms);
    native->handler = (struct fa_handler){
        .ops = &native_ops,
        .type = fa_arena_strdup(&native->arena, type),
        .timeout_ms = functions->timeout_ms,
        .concurrency = functions->concurrency,
        .settings = fa_context_settings(&native->arena, functions),
    };
    return &native->handler;
}
