/*
 * pool.c - slots and jobs, the watchdog over their deadlines, and stopping.
 *
 * A job has one reference as long as it is held, and one more while a thread deals with it outside
 * the mutex.
 */
#include "runtime/pool.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/utf8.h"
#include "model/limits.h"
#include "runtime/pool_inner.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* How long to go on telling outcomes to an engine that doesn't answer, once everything ended. */
#define FAREWELL_US 5000000

/* ------------------------------------------------------------------------------------------
 * References
 */

void fa_pool_handler_unref(struct fa_handler *handler)
{
    if (--handler->refs > 0)
        return;
    if (handler->slots && --handler->slots->refs == 0)
        free(handler->slots);
    handler->ops->destroy(handler);
}

void fa_pool_claimed_unref(struct fa_claimed *claimed)
{
    if (--claimed->refs > 0)
        return;
    fa_arena_finish(&claimed->arena);
    free(claimed);
}

static void forget_report(struct fa_job *job)
{
    free((char *)(uintptr_t)job->report.state);
    free((char *)(uintptr_t)job->report.metadata);
    job->report = (struct faina_report){0};
    job->has_report = false;
}

void fa_pool_unref(struct fa_job *job)
{
    if (--job->refs > 0)
        return;
    assert(job->state == FA_JOB_GONE && !job->is_dirty);
    forget_report(job);
    fa_pool_handler_unref(job->handler);
    fa_arena_finish(&job->arena);
    fa_pool_claimed_unref(job->claimed);
    free(job);
}

void fa_pool_drop(struct fa_job *job)
{
    struct fa_pool *pool = job->pool;

    assert(job->state == FA_JOB_ENDED);
    job->state = FA_JOB_GONE;
    fa_pool_let_go(job);
    pthread_cond_broadcast(&pool->owner_cond);
    fa_pool_unref(job);
}

static void add_dirty(struct fa_job *job)
{
    struct fa_pool *pool = job->pool;

    if (job->is_dirty)
        return;
    job->is_dirty = true;
    job->dirty_next = NULL;
    *pool->dirty_last = job;
    pool->dirty_last = &job->dirty_next;
    job->refs++;
}

void fa_pool_dirty(struct fa_job *job)
{
    add_dirty(job);
    pthread_cond_signal(&job->pool->sender_cond);
}

/* ------------------------------------------------------------------------------------------
 * Slots
 */

static bool has_slot(const struct fa_pool *pool, const struct fa_job *job)
{
    const struct fa_handler *handler = job->handler;

    return pool->running < pool->config.concurrency &&
           (handler->concurrency == 0 || handler->slots->running < handler->concurrency);
}

/* Whether the type's settings say something that the task's submit left open. */
static bool lacks_policy(const struct fa_job *job)
{
    const struct faina_submit *wish = &job->handler->wish;
    const struct faina_retry_policy *has = &job->task->retry, *may = &wish->retry;

    if (wish->max_attempts != 0 && job->task->max_attempts == FA_ATTEMPTS_DEFAULT &&
        wish->max_attempts != FA_ATTEMPTS_DEFAULT)
        return true;
    return has->base_ms == 0 && has->max_ms == 0 && has->factor <= 0 &&
           (may->base_ms != 0 || may->max_ms != 0 || may->factor > 0);
}

static void give_slot(struct fa_pool *pool, struct fa_job *job)
{
    pool->running++;
    job->handler->slots->running++;
    job->state = FA_JOB_RUNNING;
    job->needs_start = true;
    job->needs_amend = !pool->has_no_amend && lacks_policy(job);
    job->start_us = fa_clock_mono_us();
    if (job->handler->timeout_ms > 0) {
        job->timeout_us = job->start_us + job->handler->timeout_ms * 1000;
        fa_pool_watch(pool, job->timeout_us);
    }
    add_dirty(job);
}

struct fa_job *fa_pool_dispatch(struct fa_pool *pool)
{
    struct fa_job *list = NULL, **last = &list;

    for (struct fa_job **at = &pool->queue; *at && pool->running < pool->config.concurrency;) {
        struct fa_job *job = *at;

        if (!has_slot(pool, job)) {
            at = &job->queue_next;
            continue;
        }
        *at = job->queue_next;
        if (!*at)
            pool->queue_last = at;
        pool->queue_count--;
        give_slot(pool, job);
        job->queue_next = NULL;
        *last = job;
        last = &job->queue_next;
    }
    if (pool->queue)
        fa_pool_watch(pool, pool->queue->queued_us + FA_POOL_LINE_US);
    return list;
}

/* The sender is woken last: it must not be in the way of what it tells about. */
void fa_pool_start(struct fa_job *list)
{
    struct fa_pool *pool = list ? list->pool : NULL;

    while (list) {
        struct fa_job *job = list;

        list = job->queue_next; /* the job may be gone when start returns */
        job->handler->ops->start(job->handler, job);
    }
    if (pool)
        pthread_cond_signal(&pool->sender_cond);
}

void fa_pool_settle(struct fa_job *job, const struct fa_outcome *outcome)
{
    job->state = FA_JOB_ENDED;
    job->outcome = *outcome;
    fa_pool_dirty(job);
}

void fa_pool_outdate_claim(struct fa_pool *pool)
{
    atomic_store(&pool->give_up, true);
    pthread_cond_signal(&pool->claimer_cond);
}

void fa_pool_end_outdated(struct fa_pool *pool)
{
    if (atomic_load(&pool->give_up))
        fa_service_wake(pool->service);
}

/* One less of its type is held. If no more of them could be, the claim that waits leaves them out;
 * fa_pool_end_outdated follows, without the mutex. */
static void release_type(struct fa_pool *pool, struct fa_job *job)
{
    struct fa_slots *slots = job->handler->slots;
    const struct fa_handler *handler = fa_pool_find(pool, job->handler->type); /* who has it now */

    if (handler && handler->concurrency > 0 && slots->held >= handler->concurrency &&
        pool->is_claiming)
        fa_pool_outdate_claim(pool);
    slots->held--;
}

static void free_slot(struct fa_pool *pool, struct fa_job *job)
{
    int64_t now_us = fa_clock_mono_us();

    pool->running--;
    job->handler->slots->running--;
    release_type(pool, job);
    pool->gap_us += (now_us - pool->end_us - pool->gap_us) / 8;
    pool->end_us = now_us;
    if (pool->is_draining)
        pthread_cond_broadcast(&pool->owner_cond);
}
/* Frees the job's slot for another one. With an outcome, the job has ended by that; without, it has
 * ended or will have, and only its reference is given back. */
static void leave(struct fa_job *job, const struct fa_outcome *outcome)
{
    struct fa_pool *pool = job->pool;
    struct fa_job *list;

    pthread_mutex_lock(&pool->mutex);
    assert(job->state == FA_JOB_RUNNING || !outcome);
    free_slot(pool, job);
    if (outcome)
        fa_pool_settle(job, outcome);
    else
        fa_pool_unref(job);
    list = fa_pool_dispatch(pool);
    if (fa_pool_room(pool) > 0)
        pthread_cond_signal(&pool->claimer_cond);
    pthread_mutex_unlock(&pool->mutex);
    fa_pool_end_outdated(pool);
    fa_pool_start(list);
}

void fa_job_end(struct fa_job *job, const struct fa_outcome *outcome)
{
    assert(outcome);
    leave(job, outcome);
}

/* Its arena is still in use: nothing may be put there, not even another outcome. */
void fa_job_give_up(struct fa_job *job, const struct fa_outcome *outcome)
{
    struct fa_pool *pool = job->pool;

    pthread_mutex_lock(&pool->mutex);
    assert(job->state == FA_JOB_RUNNING);
    job->refs++; /* fa_job_leave gives it back */
    job->is_cut = true;
    fa_pool_settle(job, outcome);
    pthread_mutex_unlock(&pool->mutex);
}

void fa_job_leave(struct fa_job *job)
{
    leave(job, NULL);
}

/* ------------------------------------------------------------------------------------------
 * What handlers ask and tell
 */

static char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;

    return memcpy(fa_alloc(size), text, size);
}

static void replace_text(const char **place, const char *text)
{
    if (!text)
        return;
    free((char *)(uintptr_t)*place);
    *place = copy_text(text);
}

void fa_job_report(struct fa_job *job, const struct faina_report *report)
{
    struct fa_pool *pool = job->pool;

    pthread_mutex_lock(&pool->mutex);
    if (job->state != FA_JOB_RUNNING) { /* it was given up */
        pthread_mutex_unlock(&pool->mutex);
        return;
    }
    if (report->has_progress) {
        job->report.has_progress = true;
        job->report.progress = report->progress;
    }
    replace_text(&job->report.state, report->state);
    replace_text(&job->report.metadata, report->metadata);
    job->has_report = true;
    fa_pool_dirty(job);
    pthread_mutex_unlock(&pool->mutex);
}

void fa_job_ref(struct fa_job *job)
{
    pthread_mutex_lock(&job->pool->mutex);
    job->refs++;
    pthread_mutex_unlock(&job->pool->mutex);
}

void fa_job_unref(struct fa_job *job)
{
    struct fa_pool *pool = job->pool;

    pthread_mutex_lock(&pool->mutex);
    fa_pool_unref(job);
    pthread_mutex_unlock(&pool->mutex);
}

enum fa_stop fa_job_stop(const struct fa_job *job)
{
    return (enum fa_stop)atomic_load(&job->stop);
}

const char *fa_job_worker(const struct fa_job *job)
{
    return job->pool->config.worker_id;
}

size_t fa_job_output_max(const struct fa_job *job)
{
    return job->pool->service->input_size_max;
}

/* Cuts text to its limit, between characters, and at the first byte that is not UTF-8. */
static void make_fit(char *text, size_t max)
{
    size_t len = strlen(text);

    len = fa_utf8_valid_length((struct fa_bytes){text, len < max ? len : max});
    text[len] = '\0';
}

struct fa_outcome fa_outcome_fail(struct fa_arena *arena, const char *kind, bool is_permanent,
                                  const char *format, ...)
{
    char *message = fa_arena_take(arena, FA_ERROR_MESSAGE_SIZE_MAX + 1);
    va_list args;

    va_start(args, format);
    vsnprintf(message, FA_ERROR_MESSAGE_SIZE_MAX + 1, format, args);
    va_end(args);
    make_fit(message, FA_ERROR_MESSAGE_SIZE_MAX);
    return (struct fa_outcome){
        .kind = FA_OUTCOME_FAIL,
        .failure = {.message = message, .kind = kind, .permanent = is_permanent},
    };
}

struct faina_failure fa_timeout_failure(struct fa_arena *arena, int64_t timeout_ms)
{
    return fa_outcome_fail(arena, "timeout", false, "the attempt took longer than %.3g s",
                           (double)timeout_ms / 1000)
        .failure;
}

struct faina_failure fa_stop_failure(struct fa_job *job, enum fa_stop stop)
{
    if (stop == FA_STOP_TIMEOUT)
        return fa_timeout_failure(&job->arena, job->handler->timeout_ms);
    return fa_outcome_fail(&job->arena, "stopped", false, "the worker was stopped").failure;
}

/* ------------------------------------------------------------------------------------------
 * Stopping a job
 */

/* Takes a job out of the line for slots. */
static void leave_queue(struct fa_pool *pool, struct fa_job *job)
{
    for (struct fa_job **at = &pool->queue; *at; at = &(*at)->queue_next) {
        if (*at != job)
            continue;
        *at = job->queue_next;
        if (!*at)
            pool->queue_last = at;
        pool->queue_count--;
        release_type(pool, job);
        return;
    }
}

/* A job in line ends at once; one that runs is its handler's to stop. */
bool fa_pool_mark_stop(struct fa_job *job, enum fa_stop stop)
{
    int none = FA_STOP_NONE;

    if (job->state == FA_JOB_PREPARING || job->state == FA_JOB_QUEUED)
        atomic_store(&job->stop, (int)stop); /* the claimer minds it */
    if (job->state == FA_JOB_QUEUED) {
        leave_queue(job->pool, job);
        fa_pool_settle(job, &(struct fa_outcome){.kind = FA_OUTCOME_RELEASE});
    }
    if (job->state != FA_JOB_RUNNING)
        return false;
    if (!atomic_compare_exchange_strong(&job->stop, &none, (int)stop))
        return false;
    job->refs++;
    return true;
}

void fa_pool_tell_stop(struct fa_job *job)
{
    struct fa_pool *pool = job->pool;

    job->handler->ops->stop(job->handler, job);
    pthread_mutex_lock(&pool->mutex);
    fa_pool_unref(job);
    pthread_mutex_unlock(&pool->mutex);
}

/* Stops every job that `wants` says so about. */
static void stop_jobs(struct fa_pool *pool, enum fa_stop (*wants)(struct fa_job *, int64_t),
                      int64_t now_us)
{
    struct fa_job **told, *next;
    size_t count = 0;

    pthread_mutex_lock(&pool->mutex);
    told = fa_alloc_zero((size_t)pool->held_count + 1, sizeof(struct fa_job *));
    for (struct fa_job *job = pool->held; job; job = next) {
        enum fa_stop stop = wants(job, now_us);

        next = job->next;
        if (stop == FA_STOP_NONE)
            continue;
        if (fa_pool_mark_stop(job, stop))
            told[count++] = job;
    }
    pthread_mutex_unlock(&pool->mutex);
    fa_pool_end_outdated(pool);
    for (size_t i = 0; i < count; i++)
        fa_pool_tell_stop(told[i]);
    free(told);
}

/* ------------------------------------------------------------------------------------------
 * The watchdog: leases that end, handlers that take too long (P3)
 */

static enum fa_stop is_overdue(struct fa_job *job, int64_t now_us)
{
    if (job->state == FA_JOB_ENDED || fa_job_stop(job) != FA_STOP_NONE)
        return FA_STOP_NONE;
    if (job->lease_us <= now_us)
        return FA_STOP_LOST;
    if (job->state == FA_JOB_QUEUED && job->queued_us + FA_POOL_LINE_US <= now_us)
        return FA_STOP_SHUTDOWN; /* as for one that waits in line then: it is given back */
    return job->state == FA_JOB_RUNNING && job->timeout_us <= now_us ? FA_STOP_TIMEOUT
                                                                     : FA_STOP_NONE;
}

static int64_t next_deadline(const struct fa_pool *pool)
{
    int64_t next_us = INT64_MAX;

    for (const struct fa_job *job = pool->held; job; job = job->next) {
        if (job->state == FA_JOB_ENDED || fa_job_stop(job) != FA_STOP_NONE)
            continue;
        next_us = job->lease_us < next_us ? job->lease_us : next_us;
        if (job->state == FA_JOB_QUEUED && job->queued_us + FA_POOL_LINE_US < next_us)
            next_us = job->queued_us + FA_POOL_LINE_US;
        next_us = job->timeout_us < next_us ? job->timeout_us : next_us;
    }
    return next_us;
}

static void look_at_deadlines(struct fa_timer *timer)
{
    struct fa_pool *pool = (struct fa_pool *)((char *)timer - offsetof(struct fa_pool, watchdog));

    stop_jobs(pool, is_overdue, fa_clock_mono_us());
    pthread_mutex_lock(&pool->mutex);
    pool->watch_us = next_deadline(pool);
    if (pool->watch_us != INT64_MAX)
        fa_timer_set(pool->loop, timer, pool->watch_us);
    pthread_mutex_unlock(&pool->mutex);
}

static void set_watchdog(struct fa_post *post)
{
    struct fa_pool *pool = (struct fa_pool *)((char *)post - offsetof(struct fa_pool, watch_post));

    pthread_mutex_lock(&pool->mutex);
    pool->is_watch_posted = false;
    if (pool->watch_us != INT64_MAX)
        fa_timer_set(pool->loop, &pool->watchdog, pool->watch_us);
    else
        fa_timer_clear(pool->loop, &pool->watchdog);
    pthread_cond_broadcast(&pool->owner_cond);
    pthread_mutex_unlock(&pool->mutex);
}

static void post_watchdog(struct fa_pool *pool)
{
    if (pool->is_watch_posted)
        return;
    pool->is_watch_posted = true;
    fa_loop_post(pool->loop, &pool->watch_post);
}

/* Nothing of the pool is left in the loop afterwards. */
static void end_watchdog(struct fa_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    pool->watch_us = INT64_MAX;
    post_watchdog(pool);
    while (pool->is_watch_posted)
        pthread_cond_wait(&pool->owner_cond, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}

void fa_pool_watch(struct fa_pool *pool, int64_t at_us)
{
    if (at_us >= pool->watch_us)
        return;
    pool->watch_us = at_us;
    post_watchdog(pool);
}

/* ------------------------------------------------------------------------------------------
 * Small things
 */

bool fa_pool_is_transient(enum faina_code code)
{
    return code == FAINA_UNAVAILABLE || code == FAINA_TIMEOUT || code == FAINA_OVERLOADED ||
           code == FAINA_INTERNAL || code == FAINA_UNAUTHORIZED || code == FAINA_FORBIDDEN ||
           code == FAINA_STORE_CLOSED; /* a database that went away */
}

bool fa_pool_is_loss(enum faina_code code)
{
    return code == FAINA_TASK_NOT_FOUND || code == FAINA_WRONG_WORKER ||
           code == FAINA_TASK_COMPLETED || code == FAINA_TASK_FAILED ||
           code == FAINA_INVALID_TRANSITION || code == FAINA_TASK_NOT_CLAIMED ||
           code == FAINA_TASK_ALREADY_CLAIMED;
}

void fa_pool_wait(struct fa_pool *pool, pthread_cond_t *cond, int64_t until_us)
{
    struct timespec until = {.tv_sec = (time_t)(until_us / 1000000),
                             .tv_nsec = (long)(until_us % 1000000) * 1000};

    if (until_us == INT64_MAX)
        pthread_cond_wait(cond, &pool->mutex);
    else
        pthread_cond_timedwait(cond, &pool->mutex, &until);
}

const char *fa_pool_worker(const struct fa_pool *pool)
{
    return pool->config.worker_id;
}

void fa_pool_stats(struct fa_pool *pool, struct fa_pool_stats *out)
{
    pthread_mutex_lock(&pool->mutex);
    *out = pool->stats;
    out->held = pool->held_count;
    out->running = pool->running;
    out->idle_us =
        pool->held_count == 0 && pool->running == 0 ? fa_clock_mono_us() - pool->idle_us : 0;
    pthread_mutex_unlock(&pool->mutex);
}

/* ------------------------------------------------------------------------------------------
 * Creating
 */

static void do_nothing(struct fa_handler *handler, struct fa_job *job)
{
    (void)handler;
    (void)job;
}

static void keep(struct fa_handler *handler)
{
    (void)handler;
}

/* Its jobs are given back and never started. */
static const struct fa_handler_ops nobody_ops = {
    .start = do_nothing,
    .stop = do_nothing,
    .destroy = keep,
};

static const char *make_worker_id(struct fa_arena *arena)
{
    struct fa_random random;
    char host[128] = "";

    fa_random_seed_system(&random);
    if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == '\0' ||
        !fa_utf8_is_valid(fa_str(host)))
        snprintf(host, sizeof(host), "worker");
    return fa_arena_printf(arena, "%s-%ld-%08x", host, (long)getpid(),
                           (unsigned)fa_random_next(&random));
}

static void init_cond(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void copy_config(struct fa_pool *pool, const struct fa_pool_config *config)
{
    const char **namespaces;

    pool->config = *config;
    pool->config.worker_id = config->worker_id ? fa_arena_strdup(&pool->arena, config->worker_id)
                                               : make_worker_id(&pool->arena);
    if (pool->config.lease_ms <= 0)
        pool->config.lease_ms = FA_LEASE_MS_DEFAULT;
    pool->lease_us = pool->config.lease_ms * 1000;
    /* Calls and clocks are not exact: a tenth, but not more than 3 s. */
    pool->margin_us = pool->lease_us / 10 < 3000000 ? pool->lease_us / 10 : 3000000;
    if (!config->namespaces)
        return;
    namespaces = fa_arena_zero(&pool->arena, config->namespace_count + 1, sizeof(char *));
    for (size_t i = 0; i < config->namespace_count; i++)
        namespaces[i] = fa_arena_strdup(&pool->arena, config->namespaces[i]);
    pool->config.namespaces = namespaces;
}

static int start_threads(struct fa_pool *pool)
{
    const struct {
        pthread_t *thread;
        void *(*main)(void *pool);
    } threads[] = {
        {&pool->sender, fa_pool_sender_main},
        {&pool->beater, fa_pool_beater_main},
        {&pool->claimer, fa_pool_claimer_main},
    };
    sigset_t all, before;
    int failed = 0;

    sigfillset(&all); /* signals are for the program's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (size_t i = 0; i < FA_COUNT(threads) && !failed; i++) {
        failed = pthread_create(threads[i].thread, NULL, threads[i].main, pool);
        pool->thread_count += failed == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

enum faina_code fa_pool_create(struct fa_pool **out, struct fa_service *service,
                               struct fa_loop *loop, const struct fa_pool_config *config,
                               struct faina_error *err)
{
    struct fa_pool *pool = fa_alloc_zero(1, sizeof(*pool));
    int failed;

    assert(config->concurrency > 0);
    pool->service = service;
    pool->loop = loop;
    copy_config(pool, config);
    pthread_mutex_init(&pool->mutex, NULL);
    init_cond(&pool->claimer_cond);
    init_cond(&pool->sender_cond);
    init_cond(&pool->beater_cond);
    init_cond(&pool->owner_cond);
    pool->queue_last = &pool->queue;
    pool->dirty_last = &pool->dirty;
    pool->nobody = (struct fa_handler){.ops = &nobody_ops, .refs = 1};
    pool->idle_us = fa_clock_mono_us();
    pool->watch_us = INT64_MAX;
    pool->watchdog.fire = look_at_deadlines;
    pool->watch_post.run = set_watchdog;
    fa_pool_listen(pool);
    failed = start_threads(pool);
    if (!failed) {
        *out = pool;
        return FAINA_OK;
    }
    fa_pool_stop(pool, 0);
    fa_pool_destroy(pool);
    return fa_error_set(err, FAINA_UNAVAILABLE, "the worker's threads can't start: %s",
                        strerror(failed));
}

/* ------------------------------------------------------------------------------------------
 * Stopping (P5)
 */

static enum fa_stop is_unstarted(struct fa_job *job, int64_t now_us)
{
    (void)now_us;
    return job->state == FA_JOB_QUEUED ? FA_STOP_SHUTDOWN : FA_STOP_NONE;
}

static enum fa_stop is_running(struct fa_job *job, int64_t now_us)
{
    (void)now_us;
    return job->state != FA_JOB_ENDED ? FA_STOP_SHUTDOWN : FA_STOP_NONE;
}

void fa_pool_drain(struct fa_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    pool->is_draining = true;
    fa_pool_outdate_claim(pool);
    pthread_mutex_unlock(&pool->mutex);
    fa_service_wake(pool->service);
    stop_jobs(pool, is_unstarted, 0);
}

void fa_pool_hurry(struct fa_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    pool->is_hurried = true;
    pthread_cond_broadcast(&pool->owner_cond);
    pthread_mutex_unlock(&pool->mutex);
}

/* Waits until nothing runs. */
static void wait_for_running(struct fa_pool *pool, int64_t until_us)
{
    pthread_mutex_lock(&pool->mutex);
    while (pool->running > 0 && !(pool->is_hurried && until_us != INT64_MAX) &&
           fa_clock_mono_us() < until_us)
        fa_pool_wait(pool, &pool->owner_cond, until_us);
    pthread_mutex_unlock(&pool->mutex);
}

/* Waits until all has been told, then lets the threads end. */
static void say_farewell(struct fa_pool *pool)
{
    int64_t until_us = fa_clock_mono_us() + FAREWELL_US;

    pthread_mutex_lock(&pool->mutex);
    while (pool->held_count > 0 && fa_clock_mono_us() < until_us)
        fa_pool_wait(pool, &pool->owner_cond, until_us);
    pool->is_ending = true;
    pthread_cond_broadcast(&pool->sender_cond);
    pthread_cond_broadcast(&pool->beater_cond);
    pthread_mutex_unlock(&pool->mutex);
    if (pool->thread_count > 1)
        pthread_join(pool->beater, NULL);
    if (pool->thread_count > 0)
        pthread_join(pool->sender, NULL);
    pool->thread_count = 0;
    fa_service_unlisten(pool->service, &pool->listener);
    end_watchdog(pool);
}

void fa_pool_stop(struct fa_pool *pool, int64_t grace_ms)
{
    fa_pool_drain(pool);
    if (pool->thread_count > 2) {
        pthread_join(pool->claimer, NULL);
        stop_jobs(pool, is_unstarted, 0); /* what it claimed last */
    }
    wait_for_running(pool, fa_clock_mono_us() + grace_ms * 1000);
    stop_jobs(pool, is_running, 0);
    wait_for_running(pool, INT64_MAX);
    say_farewell(pool);
}

void fa_pool_destroy(struct fa_pool *pool)
{
    struct fa_job *next;

    if (!pool)
        return;
    for (struct fa_job *job = pool->held; job; job = next) { /* the engine did not answer */
        next = job->next;
        if (job->is_dirty) {
            job->is_dirty = false;
            fa_pool_unref(job);
        }
        fa_pool_drop(job);
    }
    for (size_t i = 0; i < pool->handler_count; i++)
        fa_pool_handler_unref(pool->handlers[i]);
    free(pool->handlers);
    free(pool->services);
    pthread_mutex_destroy(&pool->mutex);
    pthread_cond_destroy(&pool->claimer_cond);
    pthread_cond_destroy(&pool->sender_cond);
    pthread_cond_destroy(&pool->beater_cond);
    pthread_cond_destroy(&pool->owner_cond);
    fa_arena_finish(&pool->arena);
    free(pool);
}
