/*
 * kv_engine.c - the engine on a store of keys: joins the parts of this folder into a service.
 *
 *     run, post ---> changes ---> jobs ---> kv_wave.c
 *               '--> reads ----------------> kv_lookup.c
 *
 * A thread that brings changes runs them itself, together with those of other threads that arrived
 * meanwhile, unless RUNNING_MAX threads do so already: then it waits until one of these has run
 * them. So many callers share few pipelines, and a single caller does not wait.
 */
#include "kv/kv_engine.h"

#include "base/clock.h"
#include "base/thread.h"
#include "kv/kv_change.h"
#include "kv/kv_keys.h"
#include "kv/kv_wave.h"
#include "model/backoff.h"
#include "model/limits.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

#define RUNNING_MAX 4    /* threads that run jobs at a time */
#define JOBS_MAX 1000    /* jobs that are run together */
#define QUEUED_MAX 50000 /* posted jobs that may wait */
#define KEEPER_SLEEP_US 1000000
#define SCRUB_EVERY_US 15000000
#define POLL_MS 2000 /* a wait checks again after this: the watch may be cut */

static const struct fa_service_ops engine_ops;

static struct fa_kv_engine *downcast(struct fa_service *service)
{
    assert(service->ops == &engine_ops);
    return (struct fa_kv_engine *)service;
}

/* ------------------------------------------------------------------------------------------
 * Small things
 */

int64_t fa_kv_engine_backoff_us(struct fa_kv_engine *engine, const struct faina_task *task)
{
    int64_t backoff_us;

    pthread_mutex_lock(&engine->mutex);
    backoff_us = fa_backoff_us(task->retry, task->attempts, &engine->random);
    pthread_mutex_unlock(&engine->mutex);
    return backoff_us;
}

struct fa_id fa_kv_engine_new_id(struct fa_kv_engine *engine, bool is_task)
{
    int64_t now = fa_kv_now(engine);
    struct fa_id id;

    pthread_mutex_lock(&engine->mutex);
    id = is_task ? fa_id_next(&engine->ids, now) : fa_id_free(&engine->ids, now);
    pthread_mutex_unlock(&engine->mutex);
    return id;
}

void fa_kv_engine_pause(struct fa_kv_engine *engine, int tries)
{
    int64_t most_us = INT64_C(1000) << (tries < 8 ? tries : 8), us;
    struct timespec moment;

    pthread_mutex_lock(&engine->mutex);
    us = (int64_t)fa_random_below(&engine->random, (uint64_t)most_us) + 1;
    pthread_mutex_unlock(&engine->mutex);
    moment = (struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    nanosleep(&moment, NULL);
}

void fa_kv_engine_notify(struct fa_kv_engine *engine, const struct fa_kv_notification *notification)
{
    if (notification->ended_count > 0)
        fa_waiters_notify_ended(engine->waiters, notification->ended, notification->ended_count);
    if (notification->ready_types != 0) {
        fa_waiting_claims_notify(engine->claims, notification->ready_types);
        fa_waiters_notify_ready(engine->waiters, notification->ready_types);
    }
}

void fa_kv_engine_set_next(struct fa_kv_engine *engine, int64_t at_us)
{
    pthread_mutex_lock(&engine->keeper_mutex);
    if (at_us < engine->keeper_next_us) {
        engine->keeper_next_us = at_us;
        pthread_cond_signal(&engine->keeper_cond);
    }
    pthread_mutex_unlock(&engine->keeper_mutex);
}

void fa_kv_engine_suspect(struct fa_kv_engine *engine, const char *key, const char *id)
{
    struct fa_kv_suspect suspect = {.seen_us = fa_kv_now(engine)};

    if (strlen(id) >= sizeof(suspect.id))
        return;
    memcpy(suspect.id, id, strlen(id) + 1);
    if (key != NULL) {
        suspect.key = fa_alloc(strlen(key) + 1);
        memcpy(suspect.key, key, strlen(key) + 1);
    }
    pthread_mutex_lock(&engine->mutex);
    engine->suspects =
        fa_grow(engine->suspects, engine->suspect_count, &engine->suspect_size, sizeof(suspect));
    engine->suspects[engine->suspect_count++] = suspect;
    pthread_mutex_unlock(&engine->mutex);
}

enum faina_code fa_kv_engine_await(struct fa_kv_engine *engine, struct faina_error *err)
{
    int64_t until_us = fa_clock_mono_us() + FA_KV_READY_WAIT_MS * INT64_C(1000);
    bool is_ready;

    pthread_mutex_lock(&engine->mutex);
    while (!engine->is_ready && !atomic_load(&engine->is_shut) &&
           fa_cond_wait_until(&engine->ready_cond, &engine->mutex, until_us))
        ;
    is_ready = engine->is_ready;
    pthread_mutex_unlock(&engine->mutex);
    if (atomic_load(&engine->is_shut))
        return fa_error_set(err, FAINA_STORE_CLOSED, "the engine is closed");
    if (!is_ready)
        return fa_error_set(err, FAINA_UNAVAILABLE,
                            "the tasks of the store could not be read within %d s",
                            FA_KV_READY_WAIT_MS / 1000);
    return FAINA_OK;
}

/* ------------------------------------------------------------------------------------------
 * The watch
 */

static void task_changed(struct fa_kv_engine *engine, const struct fa_kv_entry *entry)
{
    const char *id = entry->key + strlen(FA_KV_TASKS);
    struct fa_arena scratch = {0};
    struct fa_kv_notification notification = {.arena = &scratch};
    struct fa_kv_record record;
    struct fa_bytes text;

    if (entry->is_deleted) {
        fa_kv_index_remove(engine->index, id, entry->revision, &notification);
    } else if (fa_kv_index_get(engine->index, id, &scratch, &text) < entry->revision) {
        if (fa_kv_record_read(&engine->shape, id, entry->value, entry->revision, &scratch, &record,
                              NULL) != FAINA_OK) {
            atomic_fetch_add(&engine->damaged, 1);
        } else if (record.task.deleted_us != 0) {
            fa_kv_index_remove(engine->index, id, entry->revision, &notification);
            fa_kv_engine_suspect(engine, NULL, id);
        } else {
            fa_kv_index_put(engine->index, &record, entry->value, fa_kv_now(engine), &notification);
            if (record.at_us != 0)
                fa_kv_engine_set_next(engine, record.at_us);
        }
    }
    fa_kv_engine_notify(engine, &notification);
    fa_arena_finish(&scratch);
}

static void idem_changed(struct fa_kv_engine *engine, const struct fa_kv_entry *entry)
{
    struct fa_kv_brief brief;

    if (!entry->is_deleted && entry->value.len == FAINA_ID_SIZE - 1 &&
        !fa_kv_index_brief(engine->index, entry->value.ptr, &brief))
        fa_kv_engine_suspect(engine, entry->key, entry->value.ptr);
}

static bool has_prefix(const char *key, const char *prefix)
{
    return strncmp(key, prefix, strlen(prefix)) == 0;
}

static void changed(void *ctx, const struct fa_kv_entry *entry)
{
    struct fa_kv_engine *engine = ctx;

    if (has_prefix(entry->key, FA_KV_TASKS))
        task_changed(engine, entry);
    else if (has_prefix(entry->key, FA_KV_IDEMS))
        idem_changed(engine, entry);
    else
        fa_kv_named_put(engine->named, entry);
    if (has_prefix(entry->key, FA_KV_RESOURCES) || has_prefix(entry->key, FA_KV_PAUSES)) {
        fa_waiting_claims_notify(engine->claims, FA_TYPES_ALL);
        fa_waiters_notify_ready(engine->waiters, FA_TYPES_ALL);
    }
}

static void ready(void *ctx)
{
    struct fa_kv_engine *engine = ctx;

    pthread_mutex_lock(&engine->mutex);
    engine->is_ready = true;
    pthread_cond_broadcast(&engine->ready_cond);
    pthread_mutex_unlock(&engine->mutex);
    fa_waiting_claims_notify(engine->claims, FA_TYPES_ALL);
    fa_waiters_notify_ready(engine->waiters, FA_TYPES_ALL);
    fa_waiters_notify_all(engine->waiters);
}

static void reset(void *ctx)
{
    struct fa_kv_engine *engine = ctx;

    pthread_mutex_lock(&engine->mutex);
    engine->is_ready = false;
    pthread_mutex_unlock(&engine->mutex);
    fa_kv_index_reset(engine->index);
    fa_kv_named_reset(engine->named);
}

/* ------------------------------------------------------------------------------------------
 * Jobs
 */

static void close_job(struct fa_kv_job *job)
{
    for (size_t i = 0; i < job->count; i++)
        if (fa_op_writes(job->ops[i].kind))
            job->ops[i].code =
                fa_error_set(&job->ops[i].error, FAINA_STORE_CLOSED, "the engine is closed");
}

/* Runs what is queued. The mutex is held when it is called, and released meanwhile. */
static void run_queued(struct fa_kv_engine *engine)
{
    struct fa_kv_job **jobs = fa_alloc_zero(JOBS_MAX, sizeof(*jobs));
    size_t count = 0;

    engine->active++;
    while (engine->first != NULL && count < JOBS_MAX) {
        jobs[count++] = engine->first;
        engine->first = engine->first->next;
    }
    if (engine->first == NULL)
        engine->last = &engine->first;
    pthread_mutex_unlock(&engine->queue_mutex);
    fa_kv_jobs_run(engine, jobs, count);
    for (size_t i = 0; i < count; i++)
        if (jobs[i]->done != NULL) {
            jobs[i]->done(jobs[i]->ctx); /* frees the job */
            jobs[i] = NULL;
        }
    pthread_mutex_lock(&engine->queue_mutex);
    engine->active--;
    for (size_t i = 0; i < count; i++)
        if (jobs[i] != NULL) {
            jobs[i]->is_done = true;
            pthread_cond_signal(jobs[i]->cond);
        }
    /* What has arrived meanwhile is run by the first of those that wait for it. */
    if (engine->first != NULL)
        pthread_cond_signal(engine->first->cond != NULL ? engine->first->cond
                                                        : &engine->runner_cond);
    pthread_cond_signal(&engine->runner_cond);
    free(jobs);
}

static void add_job(struct fa_kv_engine *engine, struct fa_kv_job *job)
{
    job->next = NULL;
    *engine->last = job;
    engine->last = &job->next;
}

static void run_job(struct fa_kv_engine *engine, struct fa_kv_job *job)
{
    pthread_cond_t cond;

    fa_cond_init(&cond);
    job->cond = &cond;
    pthread_mutex_lock(&engine->queue_mutex);
    if (engine->is_closing) {
        close_job(job);
    } else {
        add_job(engine, job);
        while (!job->is_done) {
            if (engine->active < RUNNING_MAX && engine->first != NULL)
                run_queued(engine);
            else
                pthread_cond_wait(&cond, &engine->queue_mutex);
        }
    }
    pthread_mutex_unlock(&engine->queue_mutex);
    pthread_cond_destroy(&cond);
}

/* Runs posted jobs. */
static void *run_runner(void *arg)
{
    struct fa_kv_engine *engine = arg;

    pthread_mutex_lock(&engine->queue_mutex);
    while (!engine->is_closing || engine->first != NULL) {
        if (engine->active < RUNNING_MAX && engine->first != NULL)
            run_queued(engine);
        else
            pthread_cond_wait(&engine->runner_cond, &engine->queue_mutex);
    }
    pthread_mutex_unlock(&engine->queue_mutex);
    return NULL;
}

static size_t count_writes(const struct fa_op *ops, size_t count)
{
    size_t writes = 0;

    for (size_t i = 0; i < count; i++)
        writes += fa_op_writes(ops[i].kind);
    return writes;
}

static void engine_run(struct fa_service *service, struct fa_op *ops, size_t count)
{
    struct fa_kv_engine *engine = downcast(service);
    struct fa_kv_job job = {.ops = ops, .count = count};

    atomic_fetch_add(&engine->operations, (long long)count);
    if (count_writes(ops, count) > 0)
        run_job(engine, &job);
    for (size_t i = 0; i < count; i++) {
        if (fa_op_writes(ops[i].kind))
            continue;
        if (atomic_load(&engine->is_shut))
            ops[i].code = fa_error_set(&ops[i].error, FAINA_STORE_CLOSED, "the engine is closed");
        else
            fa_kv_read_op(engine, &ops[i]);
    }
}

static enum faina_code engine_post(struct fa_service *service, struct fa_op *ops, size_t count,
                                   void (*done)(void *ctx), void *ctx)
{
    struct fa_kv_engine *engine = downcast(service);
    struct fa_kv_job *job = fa_arena_zero(ops[0].arena, 1, sizeof(*job));
    enum faina_code code = FAINA_OK;

    *job = (struct fa_kv_job){.ops = ops, .count = count, .done = done, .ctx = ctx};
    atomic_fetch_add(&engine->operations, (long long)count);
    pthread_mutex_lock(&engine->queue_mutex);
    if (engine->is_closing)
        code = FAINA_STORE_CLOSED;
    else
        add_job(engine, job);
    pthread_cond_signal(&engine->runner_cond);
    pthread_mutex_unlock(&engine->queue_mutex);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Waiting
 */

static void engine_wait_end(struct fa_service *service, const char *id, int64_t timeout_ms)
{
    struct fa_kv_engine *engine = downcast(service);
    struct fa_arena arena = {0};
    struct fa_op op = {.kind = FA_OP_GET, .id = id, .arena = &arena};
    struct fa_waiter waiter;
    struct fa_id parsed;

    if (!fa_id_parse(id, &parsed))
        return;
    fa_waiter_begin(&waiter, engine->waiters, parsed);
    engine_run(service, &op, 1); /* the task may have ended before the waiter began */
    if (op.code == FAINA_OK && !fa_status_is_ended(op.task->status))
        fa_waiter_sleep(&waiter, timeout_ms < POLL_MS ? timeout_ms : POLL_MS);
    fa_waiter_end(&waiter);
    fa_arena_finish(&arena);
}

static void engine_claim_wait(struct fa_service *service, struct fa_op *op, int64_t wait_ms)
{
    struct fa_kv_engine *engine = downcast(service);
    int64_t until_us = fa_clock_mono_us() + wait_ms * 1000, left_ms;
    uint64_t mark;

    do {
        mark = fa_waiting_claims_version(engine->claims);
        engine_run(service, op, 1);
        left_ms = (until_us - fa_clock_mono_us() + 999) / 1000;
        if (op->code != FAINA_OK || op->tasks->count > 0 || left_ms <= 0 ||
            (op->give_up != NULL && atomic_load(op->give_up)))
            break;
    } while (
        !fa_waiting_claims_wait(engine->claims, op, mark, left_ms < POLL_MS ? left_ms : POLL_MS));
}

static void engine_wake(struct fa_service *service)
{
    fa_waiting_claims_wake(downcast(service)->claims);
}

static void engine_listen(struct fa_service *service, struct fa_listener *listener)
{
    fa_waiters_listen(downcast(service)->waiters, listener);
}

static void engine_unlisten(struct fa_service *service, struct fa_listener *listener)
{
    fa_waiters_unlisten(downcast(service)->waiters, listener);
}

/* ------------------------------------------------------------------------------------------
 * The keeper
 */

static void *run_keeper(void *arg)
{
    struct fa_kv_engine *engine = arg;
    int64_t scrub_us = fa_clock_mono_us() + SCRUB_EVERY_US;

    pthread_mutex_lock(&engine->keeper_mutex);
    while (!engine->keeper_is_ending) {
        int64_t left_us = engine->keeper_next_us - fa_kv_now(engine), next_us, step_us;

        if (left_us > 0 && fa_clock_mono_us() < scrub_us) {
            fa_cond_wait_until(&engine->keeper_cond, &engine->keeper_mutex,
                               fa_clock_mono_us() +
                                   (left_us < KEEPER_SLEEP_US ? left_us : KEEPER_SLEEP_US));
            continue;
        }
        engine->keeper_next_us = INT64_MAX;
        pthread_mutex_unlock(&engine->keeper_mutex);
        step_us = fa_steady_step_due(&engine->clock);
        if (step_us > 0) /* the clock is never set back: it runs slower instead */
            fa_steady_step(&engine->clock, step_us);
        fa_kv_keep(engine, &next_us);
        if (fa_clock_mono_us() >= scrub_us) {
            fa_kv_scrub(engine);
            scrub_us = fa_clock_mono_us() + SCRUB_EVERY_US;
        }
        pthread_mutex_lock(&engine->keeper_mutex);
        if (next_us < engine->keeper_next_us)
            engine->keeper_next_us = next_us;
    }
    pthread_mutex_unlock(&engine->keeper_mutex);
    return NULL;
}

/* ------------------------------------------------------------------------------------------
 * Information
 */

static void engine_clock(struct fa_service *service, struct fa_service_clock *out)
{
    struct fa_steady_report report;

    fa_steady_report(&downcast(service)->clock, &report);
    *out = (struct fa_service_clock){.offset_ms = report.offset_us / 1000,
                                     .jumps = report.jump_count,
                                     .jump_ms = report.jump_us / 1000,
                                     .jump_at_us = report.jump_at_us};
}

struct key_check {
    struct fa_kv_engine *engine;
    struct fa_arena *arena;
    size_t entries, missing;
};

/* An entry without a task is what a crash leaves; the next submit or the keeper repairs it. */
static void check_entry(void *ctx, const struct fa_kv_entry *entry)
{
    struct key_check *check = ctx;
    struct fa_kv_brief brief;

    check->entries++;
    check->missing += !fa_kv_index_brief(check->engine->index, entry->value.ptr, &brief);
}

static void add_sentence(struct fa_arena *arena, const char ***list, size_t *count,
                         const char *sentence)
{
    const char **all = fa_arena_zero(arena, *count + 1, sizeof(char *));

    if (*count > 0)
        memcpy(all, *list, *count * sizeof(char *));
    all[(*count)++] = sentence;
    *list = all;
}

static enum faina_code engine_info(struct fa_service *service, bool thorough,
                                   struct fa_arena *arena, struct fa_service_info *out,
                                   struct faina_error *err)
{
    struct fa_kv_engine *engine = downcast(service);
    long long damaged = atomic_load(&engine->damaged);
    struct key_check check = {.engine = engine, .arena = arena};
    struct fa_kv_info info;
    enum faina_code code;

    if (atomic_load(&engine->is_shut))
        return fa_error_set(err, FAINA_STORE_CLOSED, "the engine is closed");
    code = fa_kv_info(engine->kv, arena, &info, err);
    if (code != FAINA_OK)
        return code;
    *out = (struct fa_service_info){.engine = engine->kv->ops->name,
                                    .location = info.location,
                                    .engine_version = info.version,
                                    .size_bytes = info.size_bytes,
                                    .durability = info.durability,
                                    .commits = atomic_load(&engine->commits),
                                    .operations = atomic_load(&engine->operations)};
    engine_clock(service, &out->clock);
    if (info.risk != NULL)
        add_sentence(arena, &out->warnings, &out->warning_count, info.risk);
    if (info.clock_ahead_us > 1000000 || info.clock_ahead_us < -1000000)
        add_sentence(arena, &out->warnings, &out->warning_count,
                     fa_arena_printf(arena,
                                     "the clock of the NATS server and of this machine differ by "
                                     "%lld ms: leases need clocks that agree within 100 ms",
                                     (long long)(info.clock_ahead_us / 1000)));
    if (!thorough)
        return FAINA_OK;
    code = fa_kv_engine_await(engine, err);
    if (code == FAINA_OK)
        code = fa_kv_list(engine->kv, FA_KV_IDEMS, check_entry, &check, err);
    if (code == FAINA_OK && damaged > 0)
        add_sentence(arena, &out->findings, &out->finding_count,
                     fa_arena_printf(arena, "%lld damaged records were read", damaged));
    if (code == FAINA_OK && check.missing > 0)
        add_sentence(arena, &out->warnings, &out->warning_count,
                     fa_arena_printf(arena,
                                     "%zu of %zu idempotency keys name a task that is not there: "
                                     "a submit was interrupted; it is repaired within minutes",
                                     check.missing, check.entries));
    return code;
}

static enum faina_code engine_backup(struct fa_service *service, const char *path,
                                     const struct fa_backup_watch *watch, struct faina_error *err)
{
    (void)service;
    (void)path;
    (void)watch;
    return fa_error_set(err, FAINA_NOT_SUPPORTED,
                        "a store on NATS is backed up by its own program: nats stream backup");
}

static enum faina_code engine_expired_find(struct fa_service *service,
                                           const struct fa_expired_query *query,
                                           struct fa_arena *arena, struct fa_expired *out,
                                           struct faina_error *err)
{
    (void)service;
    (void)query;
    (void)arena;
    (void)out;
    return fa_error_set(err, FAINA_NOT_SUPPORTED,
                        "an engine on NATS has no archive; SQLite and PostgreSQL have it. "
                        "`faina db purge` removes ended tasks");
}

static enum faina_code engine_expired_remove(struct fa_service *service,
                                             const struct fa_expired *what, bool events_only,
                                             size_t *removed, struct faina_error *err)
{
    (void)what;
    (void)events_only;
    *removed = 0;
    return engine_expired_find(service, NULL, NULL, NULL, err);
}

/* ------------------------------------------------------------------------------------------
 * Opening and closing
 */

static void engine_shut(struct fa_service *service)
{
    struct fa_kv_engine *engine = downcast(service);

    atomic_store(&engine->is_shut, true);
    fa_waiters_close(engine->waiters);
    fa_waiting_claims_close(engine->claims);
    pthread_mutex_lock(&engine->mutex);
    pthread_cond_broadcast(&engine->ready_cond);
    pthread_mutex_unlock(&engine->mutex);
    pthread_mutex_lock(&engine->keeper_mutex);
    engine->keeper_is_ending = true;
    pthread_cond_signal(&engine->keeper_cond);
    pthread_mutex_unlock(&engine->keeper_mutex);
    if (engine->has_keeper)
        pthread_join(engine->keeper, NULL);
    engine->has_keeper = false;
    pthread_mutex_lock(&engine->queue_mutex);
    engine->is_closing = true;
    pthread_cond_signal(&engine->runner_cond);
    pthread_mutex_unlock(&engine->queue_mutex);
    if (engine->has_runner)
        pthread_join(engine->runner, NULL);
    engine->has_runner = false;
}

static void engine_close(struct fa_service *service)
{
    struct fa_kv_engine *engine = downcast(service);

    if (engine->is_watching)
        fa_kv_unwatch(engine->kv);
    fa_kv_close(engine->kv);
    fa_kv_index_destroy(engine->index);
    fa_kv_named_destroy(engine->named);
    fa_waiters_destroy(engine->waiters);
    fa_waiting_claims_destroy(engine->claims);
    fa_kv_shape_finish(&engine->shape);
    fa_steady_finish(&engine->clock);
    for (size_t i = 0; i < engine->suspect_count; i++)
        free(engine->suspects[i].key);
    free(engine->suspects);
    pthread_cond_destroy(&engine->ready_cond);
    pthread_cond_destroy(&engine->runner_cond);
    pthread_cond_destroy(&engine->keeper_cond);
    pthread_mutex_destroy(&engine->mutex);
    pthread_mutex_destroy(&engine->queue_mutex);
    pthread_mutex_destroy(&engine->keeper_mutex);
    free(engine);
}

static const struct fa_service_ops engine_ops = {
    .name = "kv",
    .run = engine_run,
    .post = engine_post,
    .wait_end = engine_wait_end,
    .claim_wait = engine_claim_wait,
    .wake = engine_wake,
    .listen = engine_listen,
    .unlisten = engine_unlisten,
    .expired_find = engine_expired_find,
    .expired_remove = engine_expired_remove,
    .clock = engine_clock,
    .info = engine_info,
    .backup = engine_backup,
    .shut = engine_shut,
    .close = engine_close,
};

static enum faina_code start(struct fa_kv_engine *engine, struct faina_error *err)
{
    struct fa_kv_watcher watcher = {engine, changed, ready, reset};
    enum faina_code code = fa_kv_watch(engine->kv, &watcher, err);

    engine->is_watching = code == FAINA_OK;
    if (code == FAINA_OK)
        engine->has_runner = fa_thread_start(&engine->runner, run_runner, engine) == 0;
    if (code == FAINA_OK && engine->has_runner)
        engine->has_keeper = fa_thread_start(&engine->keeper, run_keeper, engine) == 0;
    if (code == FAINA_OK && !engine->has_keeper)
        code = fa_error_set(err, FAINA_UNAVAILABLE, "no thread can be started");
    return code;
}

enum faina_code fa_kv_engine_open(struct fa_service **out, struct fa_kv *kv,
                                  const struct faina_options *options, struct faina_error *err)
{
    struct fa_kv_engine *engine = aligned_alloc(alignof(struct fa_kv_engine), sizeof(*engine));
    enum faina_code code;

    if (engine == NULL)
        abort();
    memset(engine, 0, sizeof(*engine));
    engine->base.ops = &engine_ops;
    engine->kv = kv;
    engine->input_size_max = options != NULL && options->input_size_max > 0
                                 ? (size_t)options->input_size_max
                                 : FA_INPUT_SIZE_DEFAULT;
    engine->base.input_size_max = engine->input_size_max;
    fa_steady_init(&engine->clock);
    fa_kv_shape_init(&engine->shape);
    engine->index = fa_kv_index_create();
    engine->named = fa_kv_named_create();
    engine->waiters = fa_waiters_create();
    engine->claims = fa_waiting_claims_create();
    fa_random_seed_system(&engine->random);
    fa_random_seed_system(&engine->ids.random);
    engine->last = &engine->first;
    engine->keeper_next_us = INT64_MAX;
    pthread_mutex_init(&engine->mutex, NULL);
    pthread_mutex_init(&engine->queue_mutex, NULL);
    pthread_mutex_init(&engine->keeper_mutex, NULL);
    fa_cond_init(&engine->ready_cond);
    fa_cond_init(&engine->runner_cond);
    fa_cond_init(&engine->keeper_cond);
    code = start(engine, err);
    if (code != FAINA_OK) {
        engine_shut(&engine->base);
        engine_close(&engine->base);
        return code;
    }
    *out = &engine->base;
    return FAINA_OK;
}
