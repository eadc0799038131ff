/* native.c - a line of jobs, and threads that take them. */
#include "runtime/native.h"

#include "runtime/context.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

struct fa_crew {
    atomic_int returning; /* threads that are done with a job and about to look for another one */

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
    struct fa_crew *crew;
    struct faina_handler functions;
    void *user;
    struct faina_failure overtime; /* of an attempt that took too long (N2) */
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

static const struct fa_context_backend backend = {.report = report, .is_cancelled = is_cancelled};

/* The function's answer; what it is worth is seen later. */
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
    atomic_fetch_add(&native->crew->returning, 1);
    if (atomic_exchange(&job->is_over, true)) {
        fa_job_leave(job); /* its time was over first */
        return;
    }
    stop = fa_job_stop(job);
    if (stop == FA_STOP_TIMEOUT ||
        (stop == FA_STOP_SHUTDOWN && outcome.kind != FA_OUTCOME_COMPLETE))
        outcome =
            (struct fa_outcome){.kind = FA_OUTCOME_FAIL, .failure = fa_stop_failure(job, stop)};
    fa_job_end(job, &outcome); /* which starts another one, as a rule */
}

/* ------------------------------------------------------------------------------------------
 * The crew
 */

static void *crew_main(void *arg)
{
    struct fa_crew *crew = arg;

    pthread_mutex_lock(&crew->mutex);
    for (;;) {
        struct fa_job *job;

        while (!crew->first && !crew->is_ending)
            pthread_cond_wait(&crew->cond, &crew->mutex);
        job = crew->first;
        if (!job)
            break;
        crew->first = job->queue_next;
        if (!crew->first)
            crew->last = &crew->first;
        crew->count--;
        pthread_mutex_unlock(&crew->mutex);
        run_job(job);
        pthread_mutex_lock(&crew->mutex);
        atomic_fetch_sub(&crew->returning, 1);
    }
    pthread_mutex_unlock(&crew->mutex);
    return NULL;
}

enum faina_code fa_crew_create(struct fa_crew **out, int threads, struct faina_error *err)
{
    struct fa_crew *crew = fa_alloc_zero(1, sizeof(*crew));
    sigset_t all, before;
    int failed = 0;

    pthread_mutex_init(&crew->mutex, NULL);
    pthread_cond_init(&crew->cond, NULL);
    crew->last = &crew->first;
    crew->threads = fa_alloc_zero((size_t)threads, sizeof(*crew->threads));
    sigfillset(&all); /* signals are for the program's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < threads && !failed; i++) {
        failed = pthread_create(&crew->threads[i], NULL, crew_main, crew);
        crew->thread_count += failed == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed) {
        *out = crew;
        return FAINA_OK;
    }
    fa_crew_destroy(crew);
    return fa_error_set(err, FAINA_UNAVAILABLE, "can't start %d threads: %s", threads,
                        strerror(failed));
}

void fa_crew_destroy(struct fa_crew *crew)
{
    if (!crew)
        return;
    pthread_mutex_lock(&crew->mutex);
    crew->is_ending = true;
    pthread_cond_broadcast(&crew->cond);
    pthread_mutex_unlock(&crew->mutex);
    for (int i = 0; i < crew->thread_count; i++)
        pthread_join(crew->threads[i], NULL);
    pthread_mutex_destroy(&crew->mutex);
    pthread_cond_destroy(&crew->cond);
    free(crew->threads);
    free(crew);
}

/* ------------------------------------------------------------------------------------------
 * The handler
 */

/* A thread that is returning finds the job by itself: nobody needs to be woken for it. */
static void native_start(struct fa_handler *handler, struct fa_job *job)
{
    struct fa_crew *crew = ((struct native *)handler)->crew;
    bool needs_thread;

    pthread_mutex_lock(&crew->mutex);
    job->queue_next = NULL;
    *crew->last = job;
    crew->last = &job->queue_next;
    needs_thread = ++crew->count > atomic_load(&crew->returning);
    pthread_mutex_unlock(&crew->mutex);
    if (needs_thread)
        pthread_cond_signal(&crew->cond);
}

static void native_stop(struct fa_handler *handler, struct fa_job *job)
{
    struct fa_outcome outcome = {.kind = FA_OUTCOME_FAIL,
                                 .failure = ((struct native *)handler)->overtime};

    if (fa_job_stop(job) == FA_STOP_TIMEOUT && !atomic_exchange(&job->is_over, true))
        fa_job_give_up(job, &outcome);
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

struct fa_handler *fa_native_create(struct fa_crew *crew, const char *type,
                                    const struct faina_handler *functions, void *user)
{
    struct native *native = fa_alloc_zero(1, sizeof(*native));

    native->crew = crew;
    native->functions = *functions;
    native->user = user;
    native->overtime = fa_timeout_failure(&native->arena, functions->timeout_ms);
    native->handler = (struct fa_handler){
        .ops = &native_ops,
        .type = fa_arena_strdup(&native->arena, type),
        .timeout_ms = functions->timeout_ms,
        .concurrency = functions->concurrency,
        .wish = fa_context_wish(&native->arena, functions),
    };
    return &native->handler;
}
