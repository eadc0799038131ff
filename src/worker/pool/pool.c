/*
 * pool.c - slots and jobs, the watchdog over their deadlines, and stopping.
 *
 * A job has one reference as long as it is held, and one more while a thread deals with it outside
 * the mutex.
 */
#include "worker/pool/pool.h"

#include "base/clock.h"
#include "worker/attempt_note.h"
#include "base/random.h"
#include "base/utf8.h"
#include "json/merge.h"
#include "model/limits.h"
#include "worker/pool/pool_inner.h"
#include "worker/subtask.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* How long to keep sending outcomes to an engine that doesn't answer, once all jobs have ended. */
#define LAST_SEND_US 5000000

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

void fa_pool_free_report(struct faina_report *report)
{
    free((char *)(uintptr_t)report->state);
    free((char *)(uintptr_t)report->metadata);
}

void fa_pool_unref(struct fa_job *job)
{
    if (--job->refs > 0)
        return;
    assert(job->state == FA_JOB_GONE && !job->is_dirty);
    fa_pool_free_report(&job->report);
    fa_buf_finish(&job->log);
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
    fa_pool_held_remove(job);
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

/* Whether the type's settings have a value that the task's submit left open. */
static bool lacks_policy(const struct fa_job *job)
{
    const struct faina_submit *settings = &job->handler->settings;
    const struct faina_retry_policy *has = &job->task->retry, *may = &settings->retry;

    if (settings->max_attempts != 0 && job->task->max_attempts == FA_ATTEMPTS_DEFAULT &&
        settings->max_attempts != FA_ATTEMPTS_DEFAULT)
        return true;
    return has->base_ms == 0 && has->max_ms == 0 && has->factor <= 0 &&
           (may->base_ms != 0 || may->max_ms != 0 || may->factor > 0);
}

/* The time-out of the task or its type is before that of the handler. */
static int64_t timeout_ms_of(const struct fa_job *job)
{
    return job->task->timeout_ms > 0 ? job->task->timeout_ms : job->handler->timeout_ms;
}

static void give_slot(struct fa_pool *pool, struct fa_job *job)
{
    pool->running++;
    job->handler->slots->running++;
    job->state = FA_JOB_RUNNING;
    job->needs_start = true;
    job->needs_amend = !pool->has_no_amend && lacks_policy(job);
    job->start_us = fa_clock_mono_us();
    if (timeout_ms_of(job) > 0) {
        job->timeout_us = job->start_us + timeout_ms_of(job) * 1000;
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
        fa_pool_watch(pool, pool->queue->queued_us + FA_POOL_QUEUE_US);
    return list;
}

/* The sender is woken last, so that it doesn't delay the handlers. */
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

void fa_pool_end_job(struct fa_job *job, const struct fa_outcome *outcome)
{
    job->state = FA_JOB_ENDED;
    job->outcome = *outcome;
    fa_pool_dirty(job);
}

void fa_pool_mark_claim_stale(struct fa_pool *pool)
{
    atomic_store(&pool->is_claim_stale, true);
    pthread_cond_signal(&pool->claimer_cond);
}

void fa_pool_end_stale_claim(struct fa_pool *pool)
{
    if (atomic_load(&pool->is_claim_stale))
        fa_service_wake(pool->service);
}

/* Counts one held task of the type less. If the type was full, the waiting claim doesn't include it
 * and is stale; the caller then calls fa_pool_end_stale_claim without the mutex. */
static void release_type(struct fa_pool *pool, struct fa_job *job)
{
    struct fa_slots *slots = job->handler->slots;
    const struct fa_handler *handler = fa_pool_find(pool, job->handler->type); /* the present one */

    if (handler && handler->concurrency > 0 && slots->held >= handler->concurrency &&
        pool->is_claiming)
        fa_pool_mark_claim_stale(pool);
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

/* Frees the job's slot. With an outcome, also ends the job; without one, only drops the reference
 * of fa_job_end_early. */
static void leave(struct fa_job *job, const struct fa_outcome *outcome)
{
    struct fa_pool *pool = job->pool;
    struct fa_job *list;

    pthread_mutex_lock(&pool->mutex);
    assert(job->state == FA_JOB_RUNNING || !outcome);
    free_slot(pool, job);
    if (outcome)
        fa_pool_end_job(job, outcome);
    else
        fa_pool_unref(job);
    list = fa_pool_dispatch(pool);
    if (fa_pool_room(pool) > 0)
        pthread_cond_signal(&pool->claimer_cond);
    pthread_mutex_unlock(&pool->mutex);
    fa_pool_end_stale_claim(pool);
    fa_pool_start(list);
}

void fa_job_end(struct fa_job *job, const struct fa_outcome *outcome)
{
    assert(outcome);
    leave(job, outcome);
}

/* The handler still uses the arena: nothing may be put there, not even another outcome. */
void fa_job_end_early(struct fa_job *job, const struct fa_outcome *outcome)
{
    struct fa_pool *pool = job->pool;

    pthread_mutex_lock(&pool->mutex);
    assert(job->state == FA_JOB_RUNNING);
    job->refs++; /* fa_job_free_slot drops it */
    job->is_cut = true;
    fa_pool_end_job(job, outcome);
    pthread_mutex_unlock(&pool->mutex);
}

void fa_job_free_slot(struct fa_job *job)
{
    leave(job, NULL);
}

/* ------------------------------------------------------------------------------------------
 * For handlers
 */

static void replace_text(const char **member, const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;

    if (!text)
        return;
    free((char *)(uintptr_t)*member);
    *member = memcpy(fa_alloc(size), text, size);
}

/* Metadata is a patch: it is merged into the patch that is not sent yet. */
static void add_patch(const char **member, const char *patch)
{
    struct fa_arena scratch = {0};

    if (patch && *member)
        patch = fa_json_merge_patches(*member, patch, &scratch);
    replace_text(member, patch);
    fa_arena_finish(&scratch);
}

void fa_job_report(struct fa_job *job, const struct faina_report *report)
{
    struct fa_pool *pool = job->pool;

    pthread_mutex_lock(&pool->mutex);
    if (job->state != FA_JOB_RUNNING) { /* fa_job_end_early */
        pthread_mutex_unlock(&pool->mutex);
        return;
    }
    if (report->has_progress) {
        job->report.has_progress = true;
        job->report.progress = report->progress;
    }
    replace_text(&job->report.state, report->state);
    add_patch(&job->report.metadata, report->metadata);
    job->has_report = true;
    fa_pool_dirty(job);
    pthread_mutex_unlock(&pool->mutex);
}

void fa_job_log(struct fa_job *job, const char *ptr, size_t len)
{
    struct fa_pool *pool = job->pool;
    size_t before;

    pthread_mutex_lock(&pool->mutex);
    if (job->state == FA_JOB_RUNNING && !pool->has_no_logs && len > 0) {
        before = job->log.len;
        if (job->log.max == 0)
            fa_buf_init(&job->log, FA_NOTE_LOG_MAX);
        if (len > FA_NOTE_LOG_KEPT) {
            ptr += len - FA_NOTE_LOG_KEPT;
            len = FA_NOTE_LOG_KEPT;
        }
        fa_note_log_add(&job->log, ptr, len);
        if (before == 0)
            job->log_us = fa_clock_mono_us() + FA_POOL_LOG_US;
        if (before == 0 || (before < FA_LOG_PART_SIZE && job->log.len >= FA_LOG_PART_SIZE))
            fa_pool_dirty(job);
    }
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

struct stop_message {
    struct fa_message message;
    struct fa_job *job; /* with a reference */
    void (*stop)(struct fa_job *job);
};

static void run_stop(struct fa_message *message)
{
    struct stop_message *stop = FA_CONTAINER_OF(message, struct stop_message, message);

    stop->stop(stop->job);
    fa_job_unref(stop->job);
    free(stop);
}

void fa_job_send_stop(struct fa_job *job, struct fa_event_loop *loop,
                      void (*stop)(struct fa_job *job))
{
    struct stop_message *message = fa_alloc_zero(1, sizeof(*message));

    fa_job_ref(job);
    *message = (struct stop_message){.message.run = run_stop, .job = job, .stop = stop};
    fa_event_loop_send(loop, &message->message);
}

enum fa_stop fa_job_stop(const struct fa_job *job)
{
    return (enum fa_stop)atomic_load(&job->stop);
}

enum faina_code fa_job_subtask(struct fa_job *job, const struct faina_submit *subtask,
                               char id[FAINA_ID_SIZE], struct faina_error *err)
{
    struct faina_by by = {.worker_id = fa_job_worker(job), .fence = job->task->fence};

    return fa_subtask_create(job->pool->service, job->task, by, subtask, id, err);
}

const char *fa_job_worker(const struct fa_job *job)
{
    return job->pool->config.worker_id;
}

size_t fa_job_output_max(const struct fa_job *job)
{
    return job->pool->service->input_size_max;
}

struct fa_outcome fa_outcome_fail(struct fa_arena *arena, const char *kind, bool is_permanent,
                                  const char *format, ...)
{
    char *message = fa_arena_take(arena, FA_ERROR_MESSAGE_SIZE_MAX + 1);
    va_list args;

    va_start(args, format);
    vsnprintf(message, FA_ERROR_MESSAGE_SIZE_MAX + 1, format, args);
    va_end(args);
    /* Cut between characters, and at the first byte that is not UTF-8. */
    message[fa_utf8_valid_length(fa_str(message))] = '\0';
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

struct fa_outcome fa_stop_outcome(struct fa_job *job, enum fa_stop stop)
{
    if (stop == FA_STOP_TIMEOUT)
        return (struct fa_outcome){.kind = FA_OUTCOME_FAIL,
                                   .failure = fa_timeout_failure(&job->arena, timeout_ms_of(job))};
    return (struct fa_outcome){.kind = FA_OUTCOME_SNOOZE};
}

/* ------------------------------------------------------------------------------------------
 * Stopping a job
 */

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

/* A queued job ends at once; a running one is stopped by its handler. */
bool fa_pool_mark_stop(struct fa_job *job, enum fa_stop stop)
{
    int none = FA_STOP_NONE;

    if (job->state == FA_JOB_PREPARING || job->state == FA_JOB_QUEUED)
        atomic_store(&job->stop, (int)stop); /* the claimer checks it */
    if (job->state == FA_JOB_QUEUED) {
        leave_queue(job->pool, job);
        fa_pool_end_job(job, &(struct fa_outcome){.kind = FA_OUTCOME_RELEASE});
    }
    if (job->state != FA_JOB_RUNNING)
        return false;
    if (!atomic_compare_exchange_strong(&job->stop, &none, (int)stop))
        return false;
    job->refs++;
    return true;
}

void fa_pool_call_stop(struct fa_job *job)
{
    struct fa_pool *pool = job->pool;

    job->handler->ops->stop(job->handler, job);
    pthread_mutex_lock(&pool->mutex);
    fa_pool_unref(job);
    pthread_mutex_unlock(&pool->mutex);
}

/* Stops every job for which `reason` returns one. */
static void stop_jobs(struct fa_pool *pool, enum fa_stop (*reason)(struct fa_job *, int64_t),
                      int64_t now_us)
{
    struct fa_job **marked, *next;
    size_t count = 0;

    pthread_mutex_lock(&pool->mutex);
    marked = fa_alloc_zero((size_t)pool->held_count + 1, sizeof(struct fa_job *));
    for (struct fa_job *job = pool->held; job; job = next) {
        enum fa_stop stop = reason(job, now_us);

        next = job->next;
        if (stop != FA_STOP_NONE && fa_pool_mark_stop(job, stop))
            marked[count++] = job;
    }
    pthread_mutex_unlock(&pool->mutex);
    fa_pool_end_stale_claim(pool);
    for (size_t i = 0; i < count; i++)
        fa_pool_call_stop(marked[i]);
    free(marked);
}

/* ------------------------------------------------------------------------------------------
 * The watchdog: leases that end, handlers that take too long (P3)
 */

static enum fa_stop stop_overdue(struct fa_job *job, int64_t now_us)
{
    if (job->state == FA_JOB_ENDED || fa_job_stop(job) != FA_STOP_NONE)
        return FA_STOP_NONE;
    if (job->lease_us <= now_us)
        return FA_STOP_LOST;
    if (job->state == FA_JOB_QUEUED && job->queued_us + FA_POOL_QUEUE_US <= now_us)
        return FA_STOP_SHUTDOWN; /* which releases a queued job */
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
        if (job->state == FA_JOB_QUEUED && job->queued_us + FA_POOL_QUEUE_US < next_us)
            next_us = job->queued_us + FA_POOL_QUEUE_US;
        next_us = job->timeout_us < next_us ? job->timeout_us : next_us;
    }
    return next_us;
}

static void check_deadlines(struct fa_timer *timer)
{
    struct fa_pool *pool = FA_CONTAINER_OF(timer, struct fa_pool, watchdog);

    stop_jobs(pool, stop_overdue, fa_clock_mono_us());
    pthread_mutex_lock(&pool->mutex);
    pool->watch_us = next_deadline(pool);
    if (pool->watch_us != INT64_MAX)
        fa_timer_set(pool->loop, timer, pool->watch_us);
    pthread_mutex_unlock(&pool->mutex);
}

static void set_watchdog(struct fa_message *post)
{
    struct fa_pool *pool = FA_CONTAINER_OF(post, struct fa_pool, watch_post);

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
    fa_event_loop_send(pool->loop, &pool->watch_post);
}

/* Afterwards the loop has no timer or message of the pool. */
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
 * Helpers
 */

bool fa_pool_is_transient(enum faina_code code)
{
    return code == FAINA_UNAVAILABLE || code == FAINA_TIMEOUT || code == FAINA_OVERLOADED ||
           code == FAINA_INTERNAL || code == FAINA_UNAUTHORIZED || code == FAINA_FORBIDDEN ||
           code == FAINA_STORE_CLOSED;
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
    fa_cond_wait_until(cond, &pool->mutex, until_us);
}

void fa_pool_back_off(struct fa_pool *pool, pthread_cond_t *cond, const bool *is_over,
                      int64_t *pause_us, int64_t min_us, int64_t max_us)
{
    int64_t until_us;

    *pause_us = *pause_us == 0 ? min_us : *pause_us * 2;
    if (*pause_us > max_us)
        *pause_us = max_us;
    until_us = fa_clock_mono_us() + *pause_us;
    pthread_mutex_lock(&pool->mutex);
    while (!*is_over && fa_clock_mono_us() < until_us)
        fa_pool_wait(pool, cond, until_us);
    pthread_mutex_unlock(&pool->mutex);
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

/* Its jobs are released and never started. */
static const struct fa_handler_ops missing_ops = {
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

static void copy_config(struct fa_pool *pool, const struct fa_pool_config *config)
{
    pool->config = *config;
    pool->config.worker_id = config->worker_id ? fa_arena_strdup(&pool->arena, config->worker_id)
                                               : make_worker_id(&pool->arena);
    if (pool->config.lease_ms <= 0)
        pool->config.lease_ms = FA_LEASE_MS_DEFAULT;
    pool->lease_us = pool->config.lease_ms * 1000;
    /* For calls and clocks that are not exact: a tenth, but not more than 3 s. */
    pool->margin_us = pool->lease_us / 10 < 3000000 ? pool->lease_us / 10 : 3000000;
    if (config->namespaces)
        pool->config.namespaces =
            fa_arena_strs(&pool->arena, config->namespaces, config->namespace_count);
}

static int start_threads(struct fa_pool *pool)
{
    const struct {
        pthread_t *thread;
        void *(*main)(void *pool);
    } threads[] = {
        {&pool->sender, fa_pool_sender_main},
        {&pool->heartbeat_thread, fa_pool_heartbeat_main},
        {&pool->claimer, fa_pool_claimer_main},
    };
    int failed = 0;

    for (size_t i = 0; i < FA_COUNT(threads) && !failed; i++) {
        failed = fa_thread_start(threads[i].thread, threads[i].main, pool);
        pool->thread_count += failed == 0;
    }
    return failed;
}

enum faina_code fa_pool_create(struct fa_pool **out, struct fa_service *service,
                               struct fa_event_loop *loop, const struct fa_pool_config *config,
                               struct faina_error *err)
{
    struct fa_pool *pool = fa_alloc_zero(1, sizeof(*pool));
    int failed;

    assert(config->concurrency > 0);
    pool->service = service;
    pool->loop = loop;
    copy_config(pool, config);
    pthread_mutex_init(&pool->mutex, NULL);
    fa_cond_init(&pool->claimer_cond);
    fa_cond_init(&pool->sender_cond);
    fa_cond_init(&pool->heartbeat_cond);
    fa_cond_init(&pool->owner_cond);
    pool->queue_last = &pool->queue;
    pool->dirty_last = &pool->dirty;
    pool->missing_handler = (struct fa_handler){.ops = &missing_ops, .refs = 1};
    pool->idle_us = fa_clock_mono_us();
    pool->watch_us = INT64_MAX;
    pool->watchdog.fire = check_deadlines;
    pool->watch_post.run = set_watchdog;
    fa_pool_subscribe(pool);
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

static enum fa_stop stop_queued(struct fa_job *job, int64_t now_us)
{
    (void)now_us;
    return job->state == FA_JOB_QUEUED ? FA_STOP_SHUTDOWN : FA_STOP_NONE;
}

static enum fa_stop stop_all(struct fa_job *job, int64_t now_us)
{
    (void)now_us;
    return job->state != FA_JOB_ENDED ? FA_STOP_SHUTDOWN : FA_STOP_NONE;
}

void fa_pool_drain(struct fa_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    pool->is_draining = true;
    fa_pool_mark_claim_stale(pool);
    pthread_mutex_unlock(&pool->mutex);
    fa_service_wake(pool->service);
    stop_jobs(pool, stop_queued, 0);
}

void fa_pool_end_grace(struct fa_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    pool->is_grace_over = true;
    pthread_cond_broadcast(&pool->owner_cond);
    pthread_mutex_unlock(&pool->mutex);
}

/* Waits until nothing runs. */
static void wait_for_running(struct fa_pool *pool, int64_t until_us)
{
    pthread_mutex_lock(&pool->mutex);
    while (pool->running > 0 && !(pool->is_grace_over && until_us != INT64_MAX) &&
           fa_clock_mono_us() < until_us)
        fa_pool_wait(pool, &pool->owner_cond, until_us);
    pthread_mutex_unlock(&pool->mutex);
}

/* Waits until all outcomes are sent, then ends the threads. */
static void finish_sending(struct fa_pool *pool)
{
    int64_t until_us = fa_clock_mono_us() + LAST_SEND_US;

    pthread_mutex_lock(&pool->mutex);
    while (pool->held_count > 0 && fa_clock_mono_us() < until_us)
        fa_pool_wait(pool, &pool->owner_cond, until_us);
    pool->is_ending = true;
    pthread_cond_broadcast(&pool->sender_cond);
    pthread_cond_broadcast(&pool->heartbeat_cond);
    pthread_mutex_unlock(&pool->mutex);
    if (pool->thread_count > 1)
        pthread_join(pool->heartbeat_thread, NULL);
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
        stop_jobs(pool, stop_queued, 0); /* the tasks of its last claim */
    }
    wait_for_running(pool, fa_clock_mono_us() + grace_ms * 1000);
    stop_jobs(pool, stop_all, 0);
    wait_for_running(pool, INT64_MAX);
    finish_sending(pool);
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
    pthread_cond_destroy(&pool->heartbeat_cond);
    pthread_cond_destroy(&pool->owner_cond);
    fa_arena_finish(&pool->arena);
    free(pool);
}
