/*
 * engine.c - the SQL family of engines: joins the parts of this folder into a service.
 *
 *     run ----> changes --> batch.c --> [leader] ops over a unit --> flush --> commit --> wake
 *          '--> reads   --> readers.c --> look.c
 *
 *   E1  Changes run in the leader's thread, inside its transaction, on the one writing connection.
 *   E2  After a failed transaction the caches are loaded anew before the next one.
 *   E3  Nothing is told to waiters before the commit.
 *   E4  Chores that are due run at the head of a transaction; the timer thread makes one happen
 *       when nobody else does.
 *
 * A store in memory has one connection, so its reads take part in the batch as well.
 */
#include "sql/engine.h"

#include "base/clock.h"
#include "model/states.h"
#include "model/times.h"
#include "sql/audit.h"
#include "sql/batch.h"
#include "sql/look.h"
#include "sql/migrate.h"
#include "sql/ops.h"
#include "sql/readers.h"
#include "sql/sqlite/db_sqlite.h"
#include "sql/sqlite/owner.h"
#include "sql/waiters.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BATCH_WEIGHT_MAX 10000
#define CHORES_MAX 1000 /* of each kind in one transaction */
#define OPEN_TIMEOUT_MS 2000
#define CACHE_KIB 65536
#define RETRY_CHORES_US 1000000 /* after a failure */
#define READERS_HOLD_MS 500

struct engine {
    struct fa_service base;
    char *path; /* NULL: in memory */
    struct fa_owner owner;
    struct fa_readers *readers; /* NULL: in memory */
    struct fa_waiters *waiters;
    struct fa_batch *batch;

    /* The leader's (E1). */
    struct fa_db *db;
    struct fa_lanes *lanes;
    struct fa_id_source ids;
    struct fa_random random;
    struct fa_unit unit;
    bool needs_load; /* E2 */

    int64_t opened_us;
    atomic_llong next_us; /* when the clock asks for something; INT64_MAX: never */
    atomic_llong commits, operations;
    atomic_bool is_shut;

    pthread_t timer;
    bool has_timer;
    pthread_mutex_t timer_mutex; /* guards is_closing; the condition says that next_us is earlier */
    pthread_cond_t timer_cond;
    bool is_closing;
};

/* The operations of one caller. */
struct op_job {
    struct fa_job job; /* first member */
    struct fa_op *ops;
    size_t count;
    enum { ALL, READS, WRITES } which;
};

static const struct fa_service_ops engine_ops;

static struct engine *downcast(struct fa_service *service)
{
    assert(service->ops == &engine_ops);
    return (struct engine *)service;
}

/* Running changes ---------------------------------------------------------------------------- */

static fa_do_fn *const do_fns[FA_OP_COUNT] = {
    [FA_OP_SUBMIT] = fa_do_submit,
    [FA_OP_CLAIM] = fa_do_claim,
    [FA_OP_CLAIM_NEXT] = fa_do_claim_next,
    [FA_OP_START] = fa_do_start,
    [FA_OP_PROGRESS] = fa_do_progress,
    [FA_OP_HEARTBEAT] = fa_do_heartbeat,
    [FA_OP_NOTE] = fa_do_note,
    [FA_OP_AMEND] = fa_do_amend,
    [FA_OP_COMPLETE] = fa_do_complete,
    [FA_OP_FAIL] = fa_do_fail,
    [FA_OP_BLOCK] = fa_do_block,
    [FA_OP_BACKGROUND] = fa_do_background,
    [FA_OP_RELEASE] = fa_do_release,
    [FA_OP_CANCEL] = fa_do_cancel,
    [FA_OP_RETRY] = fa_do_retry,
    [FA_OP_DELETE] = fa_do_delete,
    [FA_OP_PURGE] = fa_do_purge,
    [FA_OP_PAUSE] = fa_do_pause,
    [FA_OP_RESUME] = fa_do_resume,
    [FA_OP_RESOURCE_SET] = fa_do_resource_set,
    [FA_OP_RESOURCE_REMOVE] = fa_do_resource_remove,
    [FA_OP_TEAM_PUT] = fa_do_team_put,
    [FA_OP_TEAM_REMOVE] = fa_do_team_remove,
    [FA_OP_WORKER_PUT] = fa_do_worker_put,
    [FA_OP_WORKER_REMOVE] = fa_do_worker_remove,
};

static bool takes_part(const struct op_job *job, const struct fa_op *op)
{
    return job->which == ALL || fa_op_writes(op->kind) == (job->which == WRITES);
}

/* The store failed, which concerns the whole transaction. Other codes concern one operation. */
static bool is_store_failure(enum faina_code code)
{
    return code == FAINA_UNAVAILABLE || code == FAINA_INTERNAL || code == FAINA_STORE_CLOSED;
}

static enum faina_code run_op(struct engine *engine, struct fa_op *op)
{
    op->task_id[0] = '\0';
    op->existing = op->input_mismatch = false;
    op->count = 0;
    op->task = NULL;
    engine->unit.now_us = fa_clock_now_us();
    if (fa_op_writes(op->kind)) {
        op->code = do_fns[op->kind](&engine->unit, op);
    } else {
        op->code = fa_unit_flush(&engine->unit, &op->error);
        if (op->code == FAINA_OK)
            op->code = fa_look(&engine->unit.source, op, engine->unit.now_us);
    }
    return op->code;
}

static enum faina_code run_chores(struct engine *engine, struct faina_error *err)
{
    int64_t next;
    enum faina_code code;

    engine->unit.now_us = fa_clock_now_us();
    if (engine->unit.now_us < atomic_load(&engine->next_us))
        return FAINA_OK;
    code = fa_chores_run(&engine->unit, CHORES_MAX, &next, err);
    if (code == FAINA_OK)
        atomic_store(&engine->next_us, next);
    return code;
}

/* How many tasks the claims want together: read ahead once for all of them. */
static void add_demand(struct engine *engine, const struct op_job *jobs)
{
    for (const struct op_job *job = jobs; job != NULL; job = (const struct op_job *)job->job.next) {
        for (size_t i = 0; i < job->count; i++) {
            if (job->ops[i].kind == FA_OP_CLAIM_NEXT)
                engine->unit.claim_demand +=
                    job->ops[i].claim->limit > 0 ? job->ops[i].claim->limit : 1;
        }
    }
}

static enum faina_code run_ops(struct engine *engine, struct op_job *jobs, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    add_demand(engine, jobs);
    for (struct op_job *job = jobs; code == FAINA_OK && job != NULL;
         job = (struct op_job *)job->job.next) {
        for (size_t i = 0; code == FAINA_OK && i < job->count; i++) {
            if (takes_part(job, &job->ops[i]) && is_store_failure(run_op(engine, &job->ops[i]))) {
                code = job->ops[i].code;
                *err = job->ops[i].error;
            }
        }
    }
    return code;
}

/* One transaction. On failure nothing of it has happened, and the cause is in `err`. With
 * `is_open` it takes in jobs that come while it runs: they are linked behind `jobs`. */
static enum faina_code transact(struct engine *engine, struct op_job *jobs, bool is_open,
                                struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    if (engine->needs_load) {
        code = fa_lanes_load(engine->lanes, engine->db, err);
        engine->needs_load = code != FAINA_OK;
    }
    if (code == FAINA_OK)
        code = fa_db_begin(engine->db, true, err);
    if (code != FAINA_OK)
        return code;
    fa_unit_reset(&engine->unit);
    code = run_chores(engine, err);
    while (code == FAINA_OK && jobs != NULL) {
        code = run_ops(engine, jobs, err);
        if (code == FAINA_OK && is_open)
            jobs = (struct op_job *)fa_batch_more(engine->batch);
        else
            jobs = NULL;
    }
    if (code == FAINA_OK)
        code = fa_unit_flush(&engine->unit, err);
    if (code == FAINA_OK)
        code = fa_db_commit(engine->db, err);
    if (code != FAINA_OK) {
        fa_db_rollback(engine->db);
        engine->needs_load = true;
    }
    return code;
}

static void answer_all(struct op_job *jobs, enum faina_code code, const struct faina_error *err)
{
    for (struct op_job *job = jobs; job != NULL; job = (struct op_job *)job->job.next) {
        for (size_t i = 0; i < job->count; i++) {
            if (!takes_part(job, &job->ops[i]))
                continue;
            job->ops[i].code = code;
            job->ops[i].error = *err;
            job->ops[i].task = NULL;
        }
    }
}

static void set_next(struct engine *engine, int64_t at_us)
{
    if (at_us >= atomic_load(&engine->next_us))
        return;
    atomic_store(&engine->next_us, at_us);
    pthread_mutex_lock(&engine->timer_mutex);
    pthread_cond_signal(&engine->timer_cond);
    pthread_mutex_unlock(&engine->timer_mutex);
}

/* E3: after the commit, only what can't fail. */
static void after_commit(struct engine *engine)
{
    struct fa_unit *unit = &engine->unit;

    atomic_fetch_add(&engine->commits, 1);
    fa_waiters_tell_ended(engine->waiters, unit->ended, unit->ended_count);
    if (unit->has_ready)
        fa_waiters_tell_ready(engine->waiters);
    set_next(engine, unit->next_us);
}

static enum faina_code transact_and_tell(struct engine *engine, struct op_job *jobs, bool is_open,
                                         struct faina_error *err)
{
    enum faina_code code = transact(engine, jobs, is_open, err);

    if (code == FAINA_OK)
        after_commit(engine);
    else /* what the chores did is undone too; but a broken store must not make the timer spin */
        atomic_store(&engine->next_us, fa_clock_now_us() + RETRY_CHORES_US);
    return code;
}

/* Between transactions, before the next one: those of the last one have their answers by now. */
static void tend_store(struct engine *engine)
{
    bool (*tend)(struct fa_db *, bool) = engine->db->ops->tend;

    if (tend == NULL || !tend(engine->db, false) || engine->readers == NULL)
        return;
    if (fa_readers_hold(engine->readers, READERS_HOLD_MS))
        tend(engine->db, true);
    fa_readers_let_go(engine->readers);
}

/* One bad operation must not make the others fail: when a transaction failed for a reason that is
 * not the disk's, each job is tried by itself. Chores that are due are then left for later, so one
 * that fails doesn't stop everybody either. */
static void run_jobs(void *ctx, struct fa_job *jobs)
{
    struct engine *engine = ctx;
    struct faina_error err = {0};
    enum faina_code code;

    tend_store(engine);
    code = transact_and_tell(engine, (struct op_job *)jobs, true, &err);
    if (code == FAINA_INTERNAL) {
        for (struct fa_job *job = jobs, *next; job != NULL; job = next) {
            next = job->next;
            job->next = NULL;
            code = transact_and_tell(engine, (struct op_job *)job, false, &err);
            if (code != FAINA_OK)
                answer_all((struct op_job *)job, code, &err);
            job->next = next;
        }
    } else if (code != FAINA_OK) {
        answer_all((struct op_job *)jobs, code, &err);
    }
}

static void run_in_batch(struct engine *engine, struct op_job *job)
{
    struct faina_error err;

    job->job.weight = job->count;
    for (size_t i = 0; i < job->count; i++) {
        if (job->ops[i].kind == FA_OP_BLOCK)
            job->job.weight += job->ops[i].block.count;
        else if (job->ops[i].kind == FA_OP_WORKER_PUT)
            job->job.weight += job->ops[i].worker.held_count;
    }
    if (fa_batch_run(engine->batch, &job->job))
        return;
    fa_error_set(&err, FAINA_STORE_CLOSED, "the engine is closed");
    job->job.next = NULL;
    answer_all(job, FAINA_STORE_CLOSED, &err);
}

/* Reading ------------------------------------------------------------------------------------ */

static void run_reads(struct engine *engine, struct fa_op *ops, size_t count)
{
    struct fa_reader *reader = NULL;
    struct faina_error err = {0};
    enum faina_code code;

    if (atomic_load(&engine->is_shut))
        code = fa_error_set(&err, FAINA_STORE_CLOSED, "the engine is closed");
    else
        code = fa_readers_begin(engine->readers, &reader, &err);
    for (size_t i = 0; i < count; i++) {
        if (fa_op_writes(ops[i].kind))
            continue;
        if (code == FAINA_OK) {
            ops[i].code = fa_look(&reader->source, &ops[i], fa_clock_now_us());
        } else {
            ops[i].code = code;
            ops[i].error = err;
        }
    }
    if (code == FAINA_OK)
        fa_readers_end(engine->readers, reader);
}

static void engine_run(struct fa_service *service, struct fa_op *ops, size_t count)
{
    struct engine *engine = downcast(service);
    struct op_job job = {.ops = ops, .count = count};
    size_t writes = 0;

    for (size_t i = 0; i < count; i++)
        writes += fa_op_writes(ops[i].kind);
    atomic_fetch_add(&engine->operations, (long long)count);
    if (engine->readers == NULL) {
        run_in_batch(engine, &job);
        return;
    }
    if (writes > 0) {
        job.which = writes == count ? ALL : WRITES;
        run_in_batch(engine, &job);
    }
    if (writes < count)
        run_reads(engine, ops, count);
}

/* Waiting ------------------------------------------------------------------------------------ */

static void engine_wait_end(struct fa_service *service, const char *id, int64_t timeout_ms)
{
    struct engine *engine = downcast(service);
    struct fa_arena arena = {0};
    struct fa_op op = {.kind = FA_OP_GET, .id = id, .arena = &arena};
    struct fa_waiter waiter;
    struct fa_id parsed;

    if (!fa_id_parse(id, &parsed))
        return;
    fa_waiter_begin(&waiter, engine->waiters, parsed);
    engine_run(service, &op, 1); /* it may have ended before we registered (W1) */
    if (op.code == FAINA_OK && !fa_status_is_ended(op.task->status))
        fa_waiter_sleep(&waiter, timeout_ms);
    fa_waiter_end(&waiter);
    fa_arena_finish(&arena);
}

static uint64_t engine_ready_mark(struct fa_service *service)
{
    return fa_waiters_ready_mark(downcast(service)->waiters);
}

static void engine_wake(struct fa_service *service)
{
    fa_waiters_tell_ready(downcast(service)->waiters);
}

static void engine_wait_ready(struct fa_service *service, uint64_t mark, int64_t timeout_ms)
{
    fa_waiters_wait_ready(downcast(service)->waiters, mark, timeout_ms);
}

/* The timer (E4) ----------------------------------------------------------------------------- */

static void *run_timer(void *ctx)
{
    struct engine *engine = ctx;

    pthread_mutex_lock(&engine->timer_mutex);
    while (!engine->is_closing) {
        int64_t next = atomic_load(&engine->next_us), now = fa_clock_now_us();
        struct op_job job = {0};
        struct timespec until;

        if (next == INT64_MAX) {
            pthread_cond_wait(&engine->timer_cond, &engine->timer_mutex);
            continue;
        }
        if (next > now) {
            until = (struct timespec){.tv_sec = next / 1000000, .tv_nsec = next % 1000000 * 1000};
            pthread_cond_timedwait(&engine->timer_cond, &engine->timer_mutex, &until);
            continue;
        }
        pthread_mutex_unlock(&engine->timer_mutex);
        fa_batch_run(engine->batch, &job.job);
        pthread_mutex_lock(&engine->timer_mutex);
    }
    pthread_mutex_unlock(&engine->timer_mutex);
    return NULL;
}

/* What it is --------------------------------------------------------------------------------- */

static int64_t file_size(const char *path, const char *suffix)
{
    char name[4096];
    struct stat st;

    if (snprintf(name, sizeof(name), "%s%s", path, suffix) >= (int)sizeof(name) ||
        stat(name, &st) != 0)
        return 0;
    return st.st_size;
}

struct finding_list {
    struct fa_arena *arena;
    const char **items;
    size_t count, size;
};

static void add_finding(void *ctx, const char *sentence)
{
    struct finding_list *list = ctx;

    list->items = fa_arena_grow(list->arena, list->items, list->count, &list->size, sizeof(char *));
    list->items[list->count++] = fa_arena_strdup(list->arena, sentence);
}

struct migration_list {
    struct fa_arena *arena;
    struct fa_service_migration *items;
    size_t count, size;
};

static void sink_migration(void *ctx, size_t n, const struct fa_value *columns)
{
    struct migration_list *list = ctx;
    struct fa_service_migration *item;

    (void)n;
    list->items =
        fa_arena_grow(list->arena, list->items, list->count, &list->size, sizeof(*list->items));
    item = &list->items[list->count++];
    item->id = fa_value_dup(&columns[0], list->arena);
    item->description = fa_value_dup(&columns[1], list->arena);
    if (fa_time_parse(fa_value_dup(&columns[2], list->arena), "executed_at", &item->executed_us,
                      NULL) != FAINA_OK)
        item->executed_us = 0;
}

static enum faina_code read_info(struct fa_db *db, bool thorough, struct fa_arena *arena,
                                 struct fa_service_info *out, struct faina_error *err)
{
    struct migration_list migrations = {.arena = arena};
    struct finding_list findings = {.arena = arena};
    enum faina_code code =
        fa_db_one(db, FA_SQL_MIGRATION_ALL, NULL, 0, sink_migration, &migrations, err);

    if (code == FAINA_OK && thorough)
        code = db->ops->check(db, add_finding, &findings, err);
    if (code == FAINA_OK && thorough)
        code = fa_audit(db, add_finding, &findings, err);
    out->engine_version = db->ops->version(db);
    out->migrations = migrations.items;
    out->migration_count = migrations.count;
    out->schema_version = (int)migrations.count;
    out->findings = findings.items;
    out->finding_count = findings.count;
    return code;
}

static enum faina_code engine_info(struct fa_service *service, bool thorough,
                                   struct fa_arena *arena, struct fa_service_info *out,
                                   struct faina_error *err)
{
    struct engine *engine = downcast(service);
    struct fa_reader *reader;
    enum faina_code code;

    *out = (struct fa_service_info){
        .engine = engine->path ? "sqlite" : "memory",
        .location = fa_arena_strdup(arena, engine->path),
        .size_bytes = -1,
        .commits = atomic_load(&engine->commits),
        .operations = atomic_load(&engine->operations),
    };
    if (engine->path == NULL) {
        size_t count;
        const struct fa_migration *known = fa_migrations(&count);

        out->engine_version = engine->db->ops->version(engine->db);
        out->schema_version = (int)count;
        out->migrations = fa_arena_zero(arena, count, sizeof(*out->migrations));
        out->migration_count = count;
        for (size_t i = 0; i < count; i++)
            out->migrations[i] =
                (struct fa_service_migration){known[i].id, known[i].description, engine->opened_us};
        return FAINA_OK;
    }
    out->size_bytes = file_size(engine->path, "") + file_size(engine->path, "-wal");
    code = fa_readers_begin(engine->readers, &reader, err);
    if (code != FAINA_OK)
        return code;
    code = read_info(reader->source.db, thorough, arena, out, err);
    fa_readers_end(engine->readers, reader);
    return code;
}

/* Opening and closing ------------------------------------------------------------------------ */

static void engine_shut(struct fa_service *service)
{
    struct engine *engine = downcast(service);

    atomic_store(&engine->is_shut, true);
    fa_waiters_close(engine->waiters);
    if (engine->has_timer) {
        pthread_mutex_lock(&engine->timer_mutex);
        engine->is_closing = true;
        pthread_cond_signal(&engine->timer_cond);
        pthread_mutex_unlock(&engine->timer_mutex);
        pthread_join(engine->timer, NULL);
        engine->has_timer = false;
    }
    if (engine->batch != NULL)
        fa_batch_close(engine->batch);
}

static void engine_close(struct fa_service *service)
{
    struct engine *engine = downcast(service);

    fa_batch_destroy(engine->batch);
    fa_readers_destroy(engine->readers);
    fa_unit_finish(&engine->unit);
    fa_lanes_destroy(engine->lanes);
    fa_db_close(engine->db);
    fa_waiters_destroy(engine->waiters);
    fa_owner_release(&engine->owner);
    pthread_cond_destroy(&engine->timer_cond);
    pthread_mutex_destroy(&engine->timer_mutex);
    free(engine->path);
    free(engine);
}

static const struct fa_service_ops engine_ops = {
    .name = "sql",
    .run = engine_run,
    .wait_end = engine_wait_end,
    .ready_mark = engine_ready_mark,
    .wait_ready = engine_wait_ready,
    .wake = engine_wake,
    .info = engine_info,
    .shut = engine_shut,
    .close = engine_close,
};

/* The folder and the file, by their own names, before SQLite speaks of them in its words. */
static enum faina_code check_path(const char *path, struct faina_error *err)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return FAINA_OK; /* it is not there yet */
    if (!S_ISREG(st.st_mode))
        return fa_error_set(err, FAINA_UNAVAILABLE, "%s is not a file", path);
    /* SQLite would open it for reading, and leave a log beside it that nobody can write to. */
    if (access(path, R_OK | W_OK) != 0)
        return fa_error_set(err, FAINA_UNAVAILABLE, "%s can't be written: %s", path,
                            strerror(errno));
    return FAINA_OK;
}

static enum faina_code open_store(struct engine *engine, const struct faina_options *options,
                                  struct faina_error *err)
{
    struct fa_sqlite_options sqlite = {.path = engine->path, .cache_kib = CACHE_KIB};
    int64_t timeout_ms = OPEN_TIMEOUT_MS;
    enum faina_code code = FAINA_OK;

    if (options != NULL && options->cache_kib > 0)
        sqlite.cache_kib = options->cache_kib;
    if (options != NULL && options->open_timeout_ms != 0)
        timeout_ms = options->open_timeout_ms > 0 ? options->open_timeout_ms : 0;
    if (engine->path != NULL) {
        code = check_path(engine->path, err);
        if (code == FAINA_OK)
            code = fa_owner_acquire(&engine->owner, engine->path, timeout_ms, err);
    }
    if (code == FAINA_OK)
        code = fa_sqlite_open(&engine->db, &sqlite, err);
    if (code == FAINA_OK)
        code = fa_migrate(engine->db, fa_clock_now_us(), err);
    if (code == FAINA_OK)
        code = fa_lanes_load(engine->lanes, engine->db, err);
    if (code == FAINA_OK)
        code = fa_db_one(engine->db, FA_SQL_TASK_LAST, NULL, 0, fa_db_sink_int,
                         &engine->ids.last_key, err);
    if (code == FAINA_INTERNAL && err != NULL) { /* whatever the store says that makes no sense */
        char said[200];

        snprintf(said, sizeof(said), "%s", err->message);
        code = fa_error_set(err, FAINA_UNAVAILABLE, "%s is damaged, or not a Faina database (%s)",
                            engine->path, said);
    }
    return code == FAINA_INTERNAL ? FAINA_UNAVAILABLE : code;
}

static enum faina_code start_timer(struct engine *engine, struct faina_error *err)
{
    struct op_job job = {0};
    int rc;

    /* The first transaction does what came due while nobody had the store open. */
    atomic_store(&engine->next_us, 0);
    fa_batch_run(engine->batch, &job.job);
    rc = pthread_create(&engine->timer, NULL, run_timer, engine);
    if (rc != 0)
        return fa_error_set(err, FAINA_UNAVAILABLE, "no thread can be started: %s", strerror(rc));
    engine->has_timer = true;
    return FAINA_OK;
}

enum faina_code fa_engine_open(struct fa_service **out, const char *path,
                               const struct faina_options *options, struct faina_error *err)
{
    struct engine *engine = fa_alloc_zero(1, sizeof(*engine));
    enum faina_code code;

    engine->base.ops = &engine_ops;
    engine->owner.fd = -1;
    engine->path = path ? strdup(path) : NULL;
    engine->opened_us = fa_clock_now_us();
    engine->lanes = fa_lanes_create();
    engine->waiters = fa_waiters_create();
    engine->batch = fa_batch_create(run_jobs, engine, BATCH_WEIGHT_MAX);
    pthread_mutex_init(&engine->timer_mutex, NULL);
    pthread_cond_init(&engine->timer_cond, NULL);
    fa_random_seed_system(&engine->random);
    fa_random_seed_system(&engine->ids.random);
    code = engine->batch ? open_store(engine, options, err)
                         : fa_error_set(err, FAINA_UNAVAILABLE, "no thread can be started");
    if (code == FAINA_OK) {
        fa_unit_init(&engine->unit, (struct fa_source){engine->db, engine->lanes}, &engine->ids,
                     &engine->random);
        if (path != NULL)
            engine->readers = fa_readers_create(path);
        code = start_timer(engine, err);
    }
    if (code != FAINA_OK) {
        engine_shut(&engine->base);
        engine_close(&engine->base);
        return code;
    }
    *out = &engine->base;
    return FAINA_OK;
}
