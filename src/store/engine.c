/*
 * engine.c - the SQL family of engines: joins the parts of this folder into a service.
 *
 *     run ----> changes --> writer.c
 *          '--> reads   --> readers.c --> lookup.c
 *
 * A store in memory has one connection, so its reads are part of the batch as well.
 */
#include "store/engine.h"

#include "base/clock.h"
#include "base/random.h"
#include "model/limits.h"
#include "model/states.h"
#include "model/times.h"
#include "store/txn/commit_counts.h"
#include "store/upkeep/audit.h"
#include "store/upkeep/bulk_runner.h"
#include "store/workflow/definitions.h"
#include "store/read/lookup.h"
#include "store/upkeep/expired.h"
#include "store/upkeep/history_store.h"
#include "store/upkeep/outbox.h"
#include "store/txn/timekeeper.h"
#include "store/txn/writer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const struct fa_service_ops engine_ops;

static struct fa_engine *downcast(struct fa_service *service)
{
    assert(service->ops == &engine_ops);
    return (struct fa_engine *)service;
}

static fa_do_fn *const do_fns[FA_OP_COUNT] = {
    [FA_OP_SUBMIT] = fa_do_submit,
    [FA_OP_CLAIM] = fa_do_claim,
    [FA_OP_CLAIM_NEXT] = fa_do_claim_next,
    [FA_OP_START] = fa_do_start,
    [FA_OP_PROGRESS] = fa_do_progress,
    [FA_OP_HEARTBEAT] = fa_do_heartbeat,
    [FA_OP_NOTE] = fa_do_note,
    [FA_OP_LOG_ADD] = fa_do_log_add,
    [FA_OP_AMEND] = fa_do_amend,
    [FA_OP_COMPLETE] = fa_do_complete,
    [FA_OP_FAIL] = fa_do_fail,
    [FA_OP_SUBTASK] = fa_do_subtask,
    [FA_OP_BLOCK] = fa_do_block,
    [FA_OP_BACKGROUND] = fa_do_background,
    [FA_OP_RELEASE] = fa_do_release,
    [FA_OP_SNOOZE] = fa_do_snooze,
    [FA_OP_REQUEUE] = fa_do_requeue,
    [FA_OP_UPDATE] = fa_do_update,
    [FA_OP_CANCEL] = fa_do_cancel,
    [FA_OP_RETRY] = fa_do_retry,
    [FA_OP_DELETE] = fa_do_delete,
    [FA_OP_PURGE] = fa_do_purge,
    [FA_OP_PAUSE] = fa_do_pause,
    [FA_OP_RESUME] = fa_do_resume,
    [FA_OP_RESOURCE_SET] = fa_do_resource_set,
    [FA_OP_RESOURCE_REMOVE] = fa_do_resource_remove,
    [FA_OP_TYPE_PUT] = fa_do_type_put,
    [FA_OP_TYPE_REMOVE] = fa_do_type_remove,
    [FA_OP_TEAM_PUT] = fa_do_team_put,
    [FA_OP_TEAM_REMOVE] = fa_do_team_remove,
    [FA_OP_WORKER_PUT] = fa_do_worker_put,
    [FA_OP_WORKER_REMOVE] = fa_do_worker_remove,
    [FA_OP_TOKEN_PUT] = fa_do_token_put,
    [FA_OP_TOKEN_REMOVE] = fa_do_token_remove,
    [FA_OP_EMIT] = fa_do_emit,
    [FA_OP_WORKFLOW_PUT] = fa_do_workflow_put,
    [FA_OP_WORKFLOW_ENABLE] = fa_do_workflow_enable,
    [FA_OP_WORKFLOW_REMOVE] = fa_do_workflow_remove,
    [FA_OP_CRON_PUT] = fa_do_cron_put,
    [FA_OP_CRON_REMOVE] = fa_do_cron_remove,
    [FA_OP_CRON_RUN] = fa_do_cron_run,
    [FA_OP_BROKER_SET] = fa_do_broker_set,
    [FA_OP_SETTINGS_SET] = fa_do_settings_set,
    [FA_OP_AUDIT_ADD] = fa_do_audit_add,
    [FA_OP_BULK] = fa_do_bulk,
    [FA_OP_BULK_CANCEL] = fa_do_bulk_cancel,
};

/* Reading ------------------------------------------------------------------------------------ */

/* Runs the reads among the operations in one snapshot. *is_lost: the connection broke meanwhile. */
static void read_once(struct fa_engine *engine, struct fa_op *ops, size_t count, bool *is_lost)
{
    struct fa_reader *reader = NULL;
    struct faina_error err = {0};
    enum faina_code code;

    *is_lost = false;
    if (atomic_load(&engine->is_shut))
        code = fa_error_set(&err, FAINA_STORE_CLOSED, "the engine is closed");
    else
        code = fa_readers_begin(engine->readers, &reader, &err);
    for (size_t i = 0; i < count; i++) {
        if (fa_op_writes(ops[i].kind))
            continue;
        if (code == FAINA_OK) {
            fa_error_clear(&ops[i].error);
            ops[i].code = fa_read_op(&reader->source, &ops[i], fa_db_now(reader->source.db));
        } else {
            ops[i].code = code;
            ops[i].error = err;
        }
    }
    if (code != FAINA_OK)
        return;
    *is_lost = reader->source.db->should_retry;
    fa_readers_end(engine->readers, reader);
}

static void run_reads(struct fa_engine *engine, struct fa_op *ops, size_t count)
{
    bool is_lost;

    read_once(engine, ops, count, &is_lost);
    if (is_lost)
        read_once(engine, ops, count, &is_lost);
}

#define FIRST_BYTES (16 * 1024) /* of data: heavy while the definitions aren't loaded */

/* Events that create many tasks are evaluated before the transaction (definitions.h, K5). */
static bool engine_is_heavy(struct fa_service *service, const struct fa_op *op)
{
    struct fa_flow_shared *shared_flows = &downcast(service)->shared_flows;

    if (op->kind != FA_OP_EMIT || op->plan != NULL)
        return false;
    if (fa_flow_shared_is_empty(shared_flows))
        return op->emit->data != NULL && strlen(op->emit->data) > FIRST_BYTES;
    return fa_emit_is_heavy(shared_flows, op);
}

static enum faina_code read_definitions(struct fa_writer *writer, struct fa_chore *chore)
{
    return fa_flows_refresh(&writer->unit, &chore->error);
}

static void engine_prepare(struct fa_service *service, struct fa_op *op)
{
    struct fa_engine *engine = downcast(service);
    struct fa_chore chore = {.run = read_definitions};
    enum faina_code code = FAINA_OK;

    if (!engine_is_heavy(service, op))
        return;
    if (fa_flow_shared_is_empty(&engine->shared_flows)) /* a failure recurs in the operation */
        code = fa_writers_run_chore(engine, &chore, 1, NULL);
    (void)code;
    fa_emit_prepare(&engine->shared_flows, engine->input_size_max, op);
}

static void run_ops(struct fa_engine *engine, struct fa_op *ops, size_t count, size_t writes)
{
    struct fa_op_job job = {.ops = ops, .count = count};

    if (engine->readers == NULL) {
        fa_writers_run(engine, &job);
        return;
    }
    if (writes > 0) {
        job.which = writes == count ? FA_OPS_ALL : FA_OPS_WRITES;
        fa_writers_run(engine, &job);
    }
    if (writes < count)
        run_reads(engine, ops, count);
}

static void engine_run(struct fa_service *service, struct fa_op *ops, size_t count)
{
    struct fa_engine *engine = downcast(service);
    size_t writes = 0;

    for (size_t i = 0; i < count; i++) {
        writes += fa_op_writes(ops[i].kind);
        engine_prepare(service, &ops[i]);
    }
    atomic_fetch_add(&engine->operations, (long long)count);
    run_ops(engine, ops, count, writes);
    for (size_t i = 0; i < count; i++)
        ops[i].plan = NULL; /* valid for one run */
}

/* The job lives in an operation's arena until `done`. A heavy event that was not prepared is
 * evaluated in the transaction. */
static enum faina_code engine_post(struct fa_service *service, struct fa_op *ops, size_t count,
                                   void (*done)(void *ctx), void *ctx)
{
    struct fa_engine *engine = downcast(service);
    struct fa_op_job *job = fa_arena_zero(ops[0].arena, 1, sizeof(*job));

    for (size_t i = 0; i < count; i++)
        assert(fa_op_writes(ops[i].kind));
    *job = (struct fa_op_job){.ops = ops, .count = count, .done = done, .ctx = ctx};
    atomic_fetch_add(&engine->operations, (long long)count);
    return fa_writers_post(engine, job);
}

/* Waiting ------------------------------------------------------------------------------------ */

/* Where a notification from another node may be lost, a wait reads again after poll_ms. */
static int64_t bound_wait(const struct fa_engine *engine, int64_t timeout_ms)
{
    int64_t poll_ms = engine->store->ops->poll_ms;

    return poll_ms > 0 && timeout_ms > poll_ms ? poll_ms : timeout_ms;
}

static void engine_wait_end(struct fa_service *service, const char *id, int64_t timeout_ms)
{
    struct fa_engine *engine = downcast(service);
    struct fa_arena arena = {0};
    struct fa_op op = {.kind = FA_OP_GET, .id = id, .arena = &arena};
    struct fa_waiter waiter;
    struct fa_id parsed;

    if (!fa_id_parse(id, &parsed))
        return;
    fa_waiter_begin(&waiter, engine->waiters, parsed);
    if (engine->fleet != NULL)
        fa_fleet_await(engine->fleet, parsed);
    engine_run(service, &op, 1); /* the task may have ended before the waiter began (W1) */
    if (op.code == FAINA_OK && !fa_status_is_ended(op.task->status))
        fa_waiter_sleep(&waiter, bound_wait(engine, timeout_ms));
    fa_waiter_end(&waiter);
    fa_arena_finish(&arena);
}

static void engine_claim_wait(struct fa_service *service, struct fa_op *op, int64_t wait_ms)
{
    struct fa_engine *engine = downcast(service);
    int64_t until_us = fa_clock_mono_us() + wait_ms * 1000, left_ms;
    uint64_t mark, last_mark = UINT64_MAX;

    do {
        mark = fa_waiting_claims_version(engine->waiting_claims); /* S1 */
        op->is_poll = mark == last_mark;
        engine_run(service, op, 1);
        last_mark = mark;
        left_ms = (until_us - fa_clock_mono_us() + 999) / 1000;
        if (op->code != FAINA_OK || op->tasks->count > 0 || left_ms <= 0 ||
            (op->give_up != NULL && atomic_load(op->give_up)))
            break;
    } while (
        !fa_waiting_claims_wait(engine->waiting_claims, op, mark, bound_wait(engine, left_ms)));
}

static void engine_wake(struct fa_service *service)
{
    fa_waiting_claims_wake(downcast(service)->waiting_claims);
}

static void engine_listen(struct fa_service *service, struct fa_listener *listener)
{
    struct fa_engine *engine = downcast(service);

    fa_waiters_listen(engine->waiters, listener);
    fa_facts_publish_aside(engine->waiters, engine->aside); /* found while opening the store */
    if (listener->count != NULL) {
        pthread_mutex_lock(&engine->timer_mutex);
        if (engine->missed_count > 0)
            listener->count(listener->ctx,
                            &(struct fa_commit_stats){.missed = engine->missed,
                                                      .missed_count = engine->missed_count});
        engine->missed_count = 0;
        pthread_mutex_unlock(&engine->timer_mutex);
    }
    /* The owner of a file always leads. In a shared store this node may have become the leader
     * before the listener was added. */
    if (listener->count != NULL && (engine->fleet == NULL || fa_fleet_leads(engine->fleet)))
        listener->count(listener->ctx,
                        &(struct fa_commit_stats){.lead = engine->fleet == NULL ? FA_LEAD_OWNER
                                                                                : FA_LEAD_BEGUN});
}

static void engine_unlisten(struct fa_service *service, struct fa_listener *listener)
{
    fa_waiters_unlisten(downcast(service)->waiters, listener);
}

static void engine_expect(struct fa_service *service, const struct fa_id *id)
{
    struct fa_engine *engine = downcast(service);

    if (engine->fleet != NULL)
        fa_fleet_await(engine->fleet, *id);
}

static void engine_advertise(struct fa_service *service, const char *address)
{
    struct fa_store *store = downcast(service)->store;

    if (store->ops->advertise != NULL)
        store->ops->advertise(store, address);
}

/* The timer (E4) ----------------------------------------------------------------------------- */

/* The timer sleeps no longer than this at a time: the store's clock may pass faster than the clock
 * that measures the sleep, after a jump of the wall clock or while the machine is suspended. */
#define TIMER_SLEEP_US 1000000

/* The next token has come. In a store with one writer the timer's transaction runs the claims that
 * wait for it. In a shared store they are woken, and claim again. Called with the mutex. */
static bool notify_tokens(struct fa_engine *engine, int64_t now_us)
{
    uint64_t types = engine->token_types;

    if (atomic_load(&engine->token_us) > now_us)
        return false;
    atomic_store(&engine->token_us, INT64_MAX);
    engine->token_types = 0;
    if (engine->fleet == NULL)
        return false;
    pthread_mutex_unlock(&engine->timer_mutex);
    fa_waiting_claims_notify(engine->waiting_claims, types);
    fa_waiters_notify_ready(engine->waiters, types);
    pthread_mutex_lock(&engine->timer_mutex);
    return true;
}

static int64_t timer_due(struct fa_engine *engine)
{
    int64_t next_us = atomic_load(&engine->next_us), token_us = atomic_load(&engine->token_us);

    return token_us < next_us ? token_us : next_us;
}

static void *run_timer(void *ctx)
{
    struct fa_engine *engine = ctx;
    struct fa_db *clock = engine->writers[0].db;

    pthread_mutex_lock(&engine->timer_mutex);
    while (!engine->is_closing) {
        int64_t next = timer_due(engine), left_us = next - fa_db_now(clock), until_us;
        struct fa_op_job job = {0};
        struct timespec until;

        if (next == INT64_MAX) {
            pthread_cond_wait(&engine->timer_cond, &engine->timer_mutex);
            continue;
        }
        if (left_us > 0 && !fa_timekeeper_is_due(engine)) {
            until_us = fa_clock_mono_us() + (left_us < TIMER_SLEEP_US ? left_us : TIMER_SLEEP_US);
            until = (struct timespec){.tv_sec = until_us / 1000000,
                                      .tv_nsec = until_us % 1000000 * 1000};
            pthread_cond_timedwait(&engine->timer_cond, &engine->timer_mutex, &until);
            continue;
        }
        if (notify_tokens(engine, fa_db_now(clock)))
            continue;
        pthread_mutex_unlock(&engine->timer_mutex);
        fa_writers_run_job(engine, &job.job);
        pthread_mutex_lock(&engine->timer_mutex);
    }
    pthread_mutex_unlock(&engine->timer_mutex);
    return NULL;
}

/* Notifications from other nodes ------------------------------------------------------------- */

static void on_tasks_ready(void *ctx, int64_t oldest_key)
{
    struct fa_engine *engine = ctx;

    fa_engine_note_arrival(engine, oldest_key);
    fa_waiting_claims_notify(engine->waiting_claims, FA_TYPES_ALL);
    fa_waiters_notify_ready(engine->waiters, FA_TYPES_ALL);
}

static void on_tasks_ended(void *ctx, const struct fa_id *ids, size_t count)
{
    fa_waiters_notify_ended(((struct fa_engine *)ctx)->waiters, ids, count);
}

static void on_chores_due(void *ctx, int64_t at_us)
{
    fa_engine_set_next(ctx, at_us);
}

static void on_policies_changed(void *ctx)
{
    fa_policies_invalidate(((struct fa_engine *)ctx)->policies);
}

static void on_lead(void *ctx, bool leads)
{
    fa_facts_publish_lead(((struct fa_engine *)ctx)->waiters, leads);
}

static void on_lost_notifications(void *ctx)
{
    struct fa_engine *engine = ctx;

    fa_policies_invalidate(engine->policies);
    fa_engine_note_arrival(engine, 0);
    fa_waiting_claims_notify(engine->waiting_claims, FA_TYPES_ALL);
    fa_waiters_notify_ready(engine->waiters, FA_TYPES_ALL);
    fa_waiters_notify_all(engine->waiters);
}

/* Information -------------------------------------------------------------------------------- */

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
    struct finding_list findings = {.arena = arena}, warnings = {.arena = arena};
    enum faina_code code =
        fa_db_one(db, FA_SQL_MIGRATION_ALL, NULL, 0, sink_migration, &migrations, err);

    if (code == FAINA_OK)
        code = fa_db_one(db, FA_SQL_SET_ASIDE_COUNT, NULL, 0, fa_db_sink_int, &out->set_aside, err);
    if (code == FAINA_OK && thorough)
        code = db->ops->check(db, add_finding, &findings, err);
    if (code == FAINA_OK && thorough)
        code = fa_audit(db, add_finding, &findings, err);
    if (code == FAINA_OK && thorough && db->ops->advise != NULL)
        code = db->ops->advise(db, add_finding, &warnings, err);
    out->engine_version = db->ops->version(db);
    out->migrations = migrations.items;
    out->migration_count = migrations.count;
    out->schema_version = (int)migrations.count;
    out->findings = findings.items;
    out->finding_count = findings.count;
    out->warnings = warnings.items;
    out->warning_count = warnings.count;
    return code;
}

static void engine_clock(struct fa_service *service, struct fa_service_clock *out)
{
    fa_timekeeper_show(downcast(service), out);
}

static enum faina_code engine_info(struct fa_service *service, bool thorough,
                                   struct fa_arena *arena, struct fa_service_info *out,
                                   struct faina_error *err)
{
    struct fa_engine *engine = downcast(service);
    struct fa_reader *reader;
    enum faina_code code;

    *out = (struct fa_service_info){
        .engine = engine->store->ops->name,
        .features = FA_HAS_SUBTASKS | FA_HAS_DEPENDENCIES | FA_HAS_WORKFLOWS | FA_HAS_SCHEDULES |
                    FA_HAS_TEAMS | FA_HAS_STREAM | FA_HAS_BROKER |
                    (engine->store->ops->backup != NULL ? FA_HAS_BACKUP : 0),
        .location = fa_arena_strdup(arena, engine->store->ops->location(engine->store)),
        .size_bytes = engine->store->ops->size(engine->store),
        .commits = atomic_load(&engine->commits),
        .operations = atomic_load(&engine->operations),
    };
    engine_clock(service, &out->clock);
    if (fa_engine_is_full(engine))
        out->full = "the disk is full: no new tasks are accepted until there is room again";
    if (engine->readers == NULL) {
        const struct fa_db_ops *ops = engine->writers[0].db->ops;

        out->engine_version = ops->version(engine->writers[0].db);
        out->schema_version = (int)ops->migration_count;
        out->migrations = fa_arena_zero(arena, ops->migration_count, sizeof(*out->migrations));
        out->migration_count = ops->migration_count;
        for (size_t i = 0; i < ops->migration_count; i++)
            out->migrations[i] = (struct fa_service_migration){
                ops->migrations[i].id, ops->migrations[i].description, engine->opened_us};
        return FAINA_OK;
    }
    if (engine->store->ops->check != NULL) {
        code = engine->store->ops->check(engine->store, err);
        if (code != FAINA_OK)
            return code;
    }
    out->stalled_ms = fa_upkeep_failed_ms(engine->upkeep, arena, &out->stalled);
    code = fa_readers_begin(engine->readers, &reader, err);
    if (code != FAINA_OK)
        return code;
    code = read_info(reader->source.db, thorough, arena, out, err);
    out->engine_version = fa_arena_strdup(arena, out->engine_version);
    fa_readers_end(engine->readers, reader);
    return code;
}

/* Backup ------------------------------------------------------------------------------------- */

static enum faina_code engine_backup(struct fa_service *service, const char *path,
                                     const struct fa_backup_watch *watch, struct faina_error *err)
{
    struct fa_store *store = downcast(service)->store;

    if (atomic_load(&downcast(service)->is_shut))
        return fa_error_set(err, FAINA_STORE_CLOSED, "the engine is closed");
    if (store->ops->backup != NULL)
        return store->ops->backup(store, path, watch, err);
    if (store->ops->join != NULL)
        return fa_error_set(err, FAINA_NOT_SUPPORTED,
                            "a store on PostgreSQL is backed up by PostgreSQL's own programs, for "
                            "example pg_dump");
    return fa_error_set(err, FAINA_NOT_SUPPORTED, "a store in memory has no file to back up");
}

/* Something was set aside: the timer's next transaction stores it. */
static void store_aside(void *ctx)
{
    fa_engine_set_next(ctx, 0);
}

/* Opening and closing ------------------------------------------------------------------------ */

static void engine_shut(struct fa_service *service)
{
    struct fa_engine *engine = downcast(service);
    struct fa_op_job last = {0};

    atomic_store(&engine->is_shut, true);
    for (size_t i = 0; i < engine->writer_count; i++) {
        if (engine->writers[i].db != NULL)
            atomic_store(&engine->writers[i].db->is_closing, true);
    }
    fa_readers_shut(engine->readers);
    fa_bulk_runner_stop(engine->bulk_runner);
    fa_waiters_close(engine->waiters);
    fa_waiting_claims_close(engine->waiting_claims);
    if (engine->has_timer) {
        pthread_mutex_lock(&engine->timer_mutex);
        engine->is_closing = true;
        pthread_cond_signal(&engine->timer_cond);
        pthread_mutex_unlock(&engine->timer_mutex);
        pthread_join(engine->timer, NULL);
        engine->has_timer = false;
        fa_history_store_stop(engine);
        if (fa_aside_is_pending(engine->aside)) { /* since the timer's last transaction */
            atomic_store(&engine->next_us, 0);
            fa_writers_run_job(engine, &last.job);
        }
    }
    for (size_t i = 0; i < engine->writer_count; i++) {
        if (engine->writers[i].batch != NULL)
            fa_batch_close(engine->writers[i].batch);
    }
}

static void engine_close(struct fa_service *service)
{
    struct fa_engine *engine = downcast(service);

    fa_fleet_leave(engine->fleet);
    fa_readers_destroy(engine->readers); /* the last connection to close checkpoints, if it may */
    for (size_t i = 0; i < engine->writer_count; i++)
        fa_writer_close(&engine->writers[i]);
    fa_arena_finish(&engine->missed_texts);
    fa_waiters_destroy(engine->waiters);
    fa_waiting_claims_destroy(engine->waiting_claims);
    fa_policies_destroy(engine->policies);
    fa_aside_destroy(engine->aside);
    fa_upkeep_destroy(engine->upkeep);
    fa_history_log_destroy(engine->history);
    fa_bulk_runner_destroy(engine->bulk_runner);
    engine->store->ops->close(engine->store);
    fa_flow_shared_finish(&engine->shared_flows);
    fa_key_waits_finish(&engine->key_waits);
    pthread_cond_destroy(&engine->timer_cond);
    pthread_mutex_destroy(&engine->timer_mutex);
    free(engine);
}

static const struct fa_service_ops engine_ops = {
    .name = "sql",
    .run = engine_run,
    .post = engine_post,
    .wait_end = engine_wait_end,
    .claim_wait = engine_claim_wait,
    .wake = engine_wake,
    .listen = engine_listen,
    .unlisten = engine_unlisten,
    .expect = engine_expect,
    .advertise = engine_advertise,
    .expired_find = fa_engine_expired_find,
    .expired_remove = fa_engine_expired_remove,
    .expired_day_find = fa_engine_expired_day_find,
    .expired_day_drop = fa_engine_expired_day_drop,
    .outbox_lead = fa_engine_outbox_lead,
    .outbox_read = fa_engine_outbox_read,
    .outbox_remove = fa_engine_outbox_remove,
    .is_heavy = engine_is_heavy,
    .prepare = engine_prepare,
    .clock = engine_clock,
    .info = engine_info,
    .backup = engine_backup,
    .shut = engine_shut,
    .close = engine_close,
};

static enum faina_code open_writers(struct fa_engine *engine, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    assert(engine->store->ops->writers <= FA_WRITERS_MAX);
    while (code == FAINA_OK && engine->writer_count < engine->store->ops->writers)
        code = fa_writer_open(engine, &engine->writers[engine->writer_count++], err);
    return code;
}

static enum faina_code start_timer(struct fa_engine *engine, struct faina_error *err)
{
    struct fa_op_job job = {0};
    int rc;

    /* The first transaction runs the chores that came due while the store was closed. */
    atomic_store(&engine->next_us, engine->fleet != NULL ? INT64_MAX : 0);
    if (engine->fleet == NULL)
        fa_writers_run_job(engine, &job.job);
    rc = pthread_create(&engine->timer, NULL, run_timer, engine);
    if (rc != 0)
        return fa_error_set(err, FAINA_UNAVAILABLE, "no thread can be started: %s", strerror(rc));
    engine->has_timer = true;
    return FAINA_OK;
}

static enum faina_code join_fleet(struct fa_engine *engine, struct faina_error *err)
{
    struct fa_fleet_events events = {.ctx = engine,
                                     .node = engine->store->node,
                                     .ready = on_tasks_ready,
                                     .ended = on_tasks_ended,
                                     .due = on_chores_due,
                                     .policies = on_policies_changed,
                                     .lead = on_lead,
                                     .all = on_lost_notifications};

    if (engine->store->ops->join == NULL)
        return FAINA_OK;
    return engine->store->ops->join(engine->store, &events, &engine->fleet, err);
}

/* Before anything runs: workflows create tasks from the first transaction on. */
static void set_options(struct fa_engine *engine, const struct faina_options *options)
{
    engine->input_size_max = FA_INPUT_SIZE_DEFAULT;
    engine->events_keep_ms = FA_EVENTS_KEEP_MS;
    engine->types_max = FA_TYPES_DEFAULT;
    engine->store->worker_dead_us = FA_WORKER_DEAD_MS * INT64_C(1000);
    if (options != NULL && options->worker_timeout_ms > 0)
        engine->store->worker_dead_us = options->worker_timeout_ms * 1000;
    if (options != NULL && options->types_max > 0)
        engine->types_max = options->types_max;
    if (options != NULL && options->input_size_max > 0)
        engine->input_size_max = (size_t)options->input_size_max;
    if (options != NULL && options->events_keep_ms > 0)
        engine->events_keep_ms = options->events_keep_ms;
}

static void name_node(struct fa_store *store)
{
    char host[64] = "node";
    struct fa_random random;

    gethostname(host, sizeof(host) - 1);
    fa_random_seed_system(&random);
    snprintf(store->node, sizeof(store->node), "%s-%d-%08x", host, (int)getpid(),
             (unsigned)fa_random_next(&random));
}

static void init_timer_cond(struct fa_engine *engine)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&engine->timer_cond, &attr);
    pthread_condattr_destroy(&attr);
}

enum faina_code fa_engine_open(struct fa_service **out, struct fa_store *store,
                               const struct faina_options *options, struct faina_error *err)
{
    struct fa_engine *engine = fa_alloc_zero(1, sizeof(*engine));
    enum faina_code code;

    engine->base.ops = &engine_ops;
    fa_key_waits_init(&engine->key_waits);
    engine->do_fns = do_fns;
    engine->store = store;
    engine->clock = store->ops->clock != NULL ? store->ops->clock(store) : NULL;
    name_node(store);
    set_options(engine, options);
    engine->opened_us = fa_clock_now_us();
    engine->waiters = fa_waiters_create();
    engine->waiting_claims = fa_waiting_claims_create();
    fa_flow_shared_init(&engine->shared_flows);
    engine->aside = fa_aside_create(store_aside, engine);
    engine->upkeep = fa_upkeep_create();
    engine->policies = store->policies = fa_policies_create(engine->aside);
    engine->history = store->history = fa_history_log_create();
    engine->bulk_runner = fa_bulk_runner_create(engine);
    pthread_mutex_init(&engine->timer_mutex, NULL);
    init_timer_cond(engine);
    atomic_store(&engine->next_us, INT64_MAX);
    atomic_store(&engine->token_us, INT64_MAX);
    code = open_writers(engine, err);
    if (code == FAINA_OK) {
        if (store->ops->has_readers)
            engine->readers = fa_readers_create(store, engine->aside);
        code = join_fleet(engine, err);
    }
    if (code == FAINA_OK)
        code = start_timer(engine, err);
    if (code == FAINA_OK)
        code = fa_history_store_start(engine, err);
    if (code == FAINA_OK)
        code = fa_bulk_runner_start(engine->bulk_runner, err);
    if (code != FAINA_OK) {
        engine_shut(&engine->base);
        engine_close(&engine->base);
        return code;
    }
    *out = &engine->base;
    return FAINA_OK;
}
