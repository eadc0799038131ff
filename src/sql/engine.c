/*
 * engine.c - the SQL family of engines: joins the parts of this folder into a service.
 *
 *     run ----> changes --> batch.c --> [leader] ops over a unit --> flush --> commit --> wake
 *          '--> reads   --> readers.c --> look.c
 *
 *   E1  Changes run in the leader's thread, inside its transaction, on its writer's connection. A
 *       store that others share (PostgreSQL) has several writers, which know nothing of each other.
 *   E2  After a failed transaction the caches are loaded anew before the next one.
 *   E3  Nothing is told to waiters before the commit.
 *   E4  Chores that are due run at the head of a transaction; the timer thread makes one happen
 *       when nobody else does. Where there are several nodes, only the one that leads does them,
 *       and only in transactions that its timer began: they take time over a network.
 *
 * A store in memory has one connection, so its reads take part in the batch as well.
 */
#include "sql/engine.h"

#include "base/clock.h"
#include "model/limits.h"
#include "model/states.h"
#include "model/times.h"
#include "sql/audit.h"
#include "sql/batch.h"
#include "sql/facts.h"
#include "sql/flows.h"
#include "sql/journal.h"
#include "sql/look.h"
#include "sql/migrate.h"
#include "sql/ops.h"
#include "sql/prefetch.h"
#include "sql/readers.h"
#include "sql/store.h"
#include "sql/waiters.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCH_WEIGHT_MAX 10000
#define CHORES_MAX 1000         /* of each kind in one transaction */
#define RETRY_CHORES_US 1000000 /* after a failure */
#define READERS_HOLD_MS 500
#define WRITERS_MAX 4
#define TRIES_MAX 10       /* of a transaction that others were in the way of */
#define SLOT_BITS 6        /* of an id that say which connection made it */
#define FORGET_US 10000000 /* how often the log is looked through */

struct engine;

/* A connection that changes something, and what belongs to its transactions (E1). */
struct writer {
    struct engine *engine;
    struct fa_batch *batch;
    atomic_size_t load; /* weight of the jobs that were handed in and are not done */
    struct fa_db *db;
    struct fa_lanes *lanes;
    struct fa_flows *flows;
    struct fa_id_source ids;
    struct fa_random random;
    struct fa_unit unit;
    bool needs_load;   /* E2 */
    bool is_announced; /* the transaction itself tells other nodes of work */
};

struct engine {
    struct fa_service base;
    struct fa_store *store;
    struct fa_readers *readers; /* NULL: in memory */
    struct fa_waiters *waiters;
    struct fa_fleet *fleet; /* NULL: there are no other nodes */
    struct writer writers[WRITERS_MAX];
    size_t writer_count;
    size_t input_size_max;  /* of tasks that workflows make */
    int64_t events_keep_ms; /* how long events are kept */

    int64_t opened_us;
    atomic_llong next_us;   /* when the clock asks for something; INT64_MAX: never */
    atomic_llong forget_us; /* when to forget the oldest of the log */
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
    [FA_OP_TOKEN_PUT] = fa_do_token_put,
    [FA_OP_TOKEN_REMOVE] = fa_do_token_remove,
    [FA_OP_EMIT] = fa_do_emit,
    [FA_OP_WORKFLOW_PUT] = fa_do_workflow_put,
    [FA_OP_WORKFLOW_ENABLE] = fa_do_workflow_enable,
    [FA_OP_WORKFLOW_REMOVE] = fa_do_workflow_remove,
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

/* What an operation ended is told to the workflows before the next one can change it. */
static void tell_ends(struct fa_unit *unit, struct fa_op *op)
{
    struct faina_error err = {0};
    enum faina_code code = fa_flows_tell_ends(unit, &err);

    if (code == FAINA_OK)
        return;
    op->code = is_store_failure(code) || unit->source.db->has_failed ? code : FAINA_INTERNAL;
    op->error = err;
}

static enum faina_code run_op(struct writer *writer, struct fa_op *op)
{
    struct fa_unit *unit = &writer->unit;

    op->task_id[0] = '\0';
    op->existing = op->input_mismatch = false;
    op->count = 0;
    op->task = NULL;
    fa_error_clear(&op->error);
    unit->now_us = fa_db_now(writer->db);
    if (fa_op_writes(op->kind)) {
        op->code = do_fns[op->kind](unit, op);
        if (unit->told_count < unit->ended_count)
            tell_ends(unit, op);
    } else {
        op->code = fa_unit_flush(unit, &op->error);
        if (op->code == FAINA_OK)
            op->code = fa_look(&unit->source, op, unit->now_us);
    }
    return op->code;
}

/* Now and then: old lines of the log go, and old events. */
static enum faina_code forget_log(struct writer *writer, struct faina_error *err)
{
    struct engine *engine = writer->engine;
    int64_t now = writer->unit.now_us;
    enum faina_code code;

    if (now < atomic_load(&engine->forget_us))
        return FAINA_OK;
    atomic_store(&engine->forget_us, now + FORGET_US);
    code = fa_flows_forget_old(&writer->unit, engine->events_keep_ms, err);
    return code == FAINA_OK ? fa_journal_forget(&writer->unit, err) : code;
}

static enum faina_code run_chores(struct writer *writer, struct faina_error *err)
{
    struct engine *engine = writer->engine;
    int64_t poll_us = engine->store->ops->poll_ms * 1000;
    enum faina_code code = FAINA_OK;
    bool leads = true;
    int64_t next = INT64_MAX;

    writer->unit.now_us = fa_db_now(writer->db);
    if (writer->unit.now_us < atomic_load(&engine->next_us))
        return FAINA_OK;
    if (engine->fleet != NULL)
        code = fa_fleet_fence(engine->fleet, writer->db, &leads, err);
    if (code == FAINA_OK && !leads)
        atomic_store(&engine->next_us, INT64_MAX);
    if (code != FAINA_OK || !leads)
        return code;
    code = forget_log(writer, err);
    if (code == FAINA_OK)
        code = fa_chores_run(&writer->unit, CHORES_MAX, &next, err);
    if (poll_us > 0 && next > writer->unit.now_us + poll_us)
        next = writer->unit.now_us + poll_us;
    if (code == FAINA_OK)
        atomic_store(&engine->next_us, next);
    return code;
}

/* How many tasks the claims want together: read ahead once for all of them. */
static void add_demand(struct writer *writer, const struct op_job *jobs)
{
    for (const struct op_job *job = jobs; job != NULL; job = (const struct op_job *)job->job.next) {
        for (size_t i = 0; i < job->count; i++) {
            if (job->ops[i].kind == FA_OP_CLAIM_NEXT)
                writer->unit.claim_demand +=
                    job->ops[i].claim->limit > 0 ? job->ops[i].claim->limit : 1;
        }
    }
}

/* Over a network, what the operations are going to ask for is read with few questions. */
static enum faina_code prefetch(struct writer *writer, const struct op_job *jobs,
                                struct faina_error *err)
{
    struct fa_prefetch wants = {.unit = &writer->unit};

    if (!writer->db->is_shared)
        return FAINA_OK;
    for (const struct op_job *job = jobs; job != NULL; job = (const struct op_job *)job->job.next)
        for (size_t i = 0; i < job->count; i++)
            fa_prefetch_add(&wants, &job->ops[i]);
    return fa_prefetch_run(&wants, err);
}

static enum faina_code run_ops(struct writer *writer, struct op_job *jobs, struct faina_error *err)
{
    enum faina_code code = prefetch(writer, jobs, err);

    add_demand(writer, jobs);
    for (struct op_job *job = jobs; code == FAINA_OK && job != NULL;
         job = (struct op_job *)job->job.next) {
        for (size_t i = 0; code == FAINA_OK && i < job->count; i++) {
            struct fa_op *op = &job->ops[i];

            if (takes_part(job, op) &&
                (is_store_failure(run_op(writer, op)) || writer->db->has_failed)) {
                code = op->code != FAINA_OK ? op->code : FAINA_INTERNAL;
                *err = op->error;
            }
        }
    }
    return code;
}

/* The types of which there may be more to claim after the commit. */
static uint64_t ready_types(const struct fa_unit *unit)
{
    return unit->has_ready ? FA_TYPES_ALL : unit->ready_types;
}

/* One transaction. On failure nothing of it has happened, and the cause is in `err`. With
 * `is_open` it takes in jobs that come while it runs: they are linked behind `jobs`. */
static enum faina_code transact(struct writer *writer, struct op_job *jobs, bool is_open,
                                struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    writer->db->has_failed = writer->db->should_retry = writer->is_announced = false;
    code = fa_db_begin(writer->db, true, err);
    if (code != FAINA_OK)
        return code;
    if (writer->needs_load) {
        code = fa_lanes_load(writer->lanes, writer->db, err);
        writer->needs_load = code != FAINA_OK;
        fa_flows_forget(writer->flows);
    }
    fa_unit_reset(&writer->unit);
    if (code == FAINA_OK && (writer->engine->fleet == NULL || jobs->count == 0))
        code = run_chores(writer, err);
    while (code == FAINA_OK && jobs != NULL) {
        code = run_ops(writer, jobs, err);
        if (code == FAINA_OK && is_open)
            jobs = (struct op_job *)fa_batch_more(writer->batch);
        else
            jobs = NULL;
    }
    if (code == FAINA_OK)
        code = fa_unit_flush(&writer->unit, err);
    if (code == FAINA_OK)
        code = fa_journal_write(&writer->unit, err);
    if (code == FAINA_OK && ready_types(&writer->unit) && writer->engine->fleet != NULL)
        code = fa_fleet_announce(writer->engine->fleet, writer->db, &writer->is_announced, err);
    if (code == FAINA_OK)
        code = fa_db_commit(writer->db, err);
    if (code != FAINA_OK) {
        fa_db_rollback(writer->db);
        writer->needs_load = true;
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
static void after_commit(struct writer *writer)
{
    struct engine *engine = writer->engine;
    struct fa_unit *unit = &writer->unit;

    atomic_fetch_add(&engine->commits, 1);
    fa_waiters_tell_ended(engine->waiters, unit->ended, unit->ended_count);
    if (ready_types(unit))
        fa_waiters_tell_ready(engine->waiters, ready_types(unit));
    fa_facts_tell(engine->waiters, unit);
    if (engine->fleet != NULL)
        fa_fleet_tell(engine->fleet, &(struct fa_fleet_news){.has_ready = ready_types(unit) &&
                                                                          !writer->is_announced,
                                                             .has_leftover = unit->has_leftover,
                                                             .ended = unit->ended,
                                                             .ended_count = unit->ended_count,
                                                             .due_us = unit->next_us});
    if (engine->fleet == NULL || fa_fleet_leads(engine->fleet))
        set_next(engine, unit->next_us);
}

static void pause_ms(int64_t ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

/* Others may be in the way: a deadlock, a key that another node takes at the same moment, a
 * connection that breaks. Then everything is run once more from the start. */
static enum faina_code transact_and_tell(struct writer *writer, struct op_job *jobs, bool is_open,
                                         struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    for (int i = 0; i < TRIES_MAX; i++) {
        if (i > 0)
            pause_ms((int64_t)(fa_random_next(&writer->random) % (uint64_t)(4 * i)));
        code = transact(writer, jobs, is_open, err);
        if (code == FAINA_OK || !writer->db->should_retry)
            break;
    }
    if (code == FAINA_OK)
        after_commit(writer);
    else /* what the chores did is undone too; but a broken store must not make the timer spin */
        atomic_store(&writer->engine->next_us, fa_db_now(writer->db) + RETRY_CHORES_US);
    return code;
}

/* Between transactions, before the next one: those of the last one have their answers by now. */
static void tend_store(struct writer *writer)
{
    struct fa_readers *readers = writer->engine->readers;
    bool (*tend)(struct fa_db *, bool) = writer->db->ops->tend;

    if (tend == NULL || !tend(writer->db, false) || readers == NULL)
        return;
    if (fa_readers_hold(readers, READERS_HOLD_MS))
        tend(writer->db, true);
    fa_readers_let_go(readers);
}

/* One bad operation must not make the others fail: when a transaction failed for a reason that is
 * not the disk's, each job is tried by itself. Chores that are due are then left for later, so one
 * that fails doesn't stop everybody either. */
static void run_jobs(void *ctx, struct fa_job *jobs)
{
    struct writer *writer = ctx;
    struct faina_error err = {0};
    enum faina_code code;

    tend_store(writer);
    code = transact_and_tell(writer, (struct op_job *)jobs, true, &err);
    if (code == FAINA_INTERNAL) {
        for (struct fa_job *job = jobs, *next; job != NULL; job = next) {
            next = job->next;
            job->next = NULL;
            code = transact_and_tell(writer, (struct op_job *)job, false, &err);
            if (code != FAINA_OK)
                answer_all((struct op_job *)job, code, &err);
            job->next = next;
        }
    } else if (code != FAINA_OK) {
        answer_all((struct op_job *)jobs, code, &err);
    }
}

/* The one with the least to do, the first of those: a lone caller stays with one. A transaction
 * that waits for another node's lock must not hold up those who want something else. */
static struct writer *choose_writer(struct engine *engine)
{
    struct writer *best = &engine->writers[0];

    for (size_t i = 1; i < engine->writer_count; i++) {
        if (atomic_load_explicit(&engine->writers[i].load, memory_order_relaxed) <
            atomic_load_explicit(&best->load, memory_order_relaxed))
            best = &engine->writers[i];
    }
    return best;
}

static bool run_job(struct engine *engine, struct fa_job *job)
{
    struct writer *writer = choose_writer(engine);
    bool was_run;

    atomic_fetch_add_explicit(&writer->load, job->weight + 1, memory_order_relaxed);
    was_run = fa_batch_run(writer->batch, job);
    atomic_fetch_sub_explicit(&writer->load, job->weight + 1, memory_order_relaxed);
    return was_run;
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
    if (run_job(engine, &job->job))
        return;
    fa_error_set(&err, FAINA_STORE_CLOSED, "the engine is closed");
    job->job.next = NULL;
    answer_all(job, FAINA_STORE_CLOSED, &err);
}

/* Reading ------------------------------------------------------------------------------------ */

/* Runs the reads among the operations in one view of the store. *is_lost: the connection broke on
 * the way. */
static void read_once(struct engine *engine, struct fa_op *ops, size_t count, bool *is_lost)
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
            ops[i].code = fa_look(&reader->source, &ops[i], fa_db_now(reader->source.db));
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

static void run_reads(struct engine *engine, struct fa_op *ops, size_t count)
{
    bool is_lost;

    read_once(engine, ops, count, &is_lost);
    if (is_lost)
        read_once(engine, ops, count, &is_lost);
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

/* Where others may fail to tell us, nobody sleeps longer than this. */
static int64_t bound_wait(const struct engine *engine, int64_t timeout_ms)
{
    int64_t poll_ms = engine->store->ops->poll_ms;

    return poll_ms > 0 && timeout_ms > poll_ms ? poll_ms : timeout_ms;
}

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
    if (engine->fleet != NULL)
        fa_fleet_await(engine->fleet, parsed);
    engine_run(service, &op, 1); /* it may have ended before we registered (W1) */
    if (op.code == FAINA_OK && !fa_status_is_ended(op.task->status))
        fa_waiter_sleep(&waiter, bound_wait(engine, timeout_ms));
    fa_waiter_end(&waiter);
    fa_arena_finish(&arena);
}

static uint64_t engine_ready_mark(struct fa_service *service)
{
    return fa_waiters_ready_mark(downcast(service)->waiters);
}

static void engine_wake(struct fa_service *service)
{
    fa_waiters_tell_ready(downcast(service)->waiters, FA_TYPES_ALL);
}

static void engine_wait_ready(struct fa_service *service, uint64_t mark, int64_t timeout_ms)
{
    struct engine *engine = downcast(service);

    fa_waiters_wait_ready(engine->waiters, mark, bound_wait(engine, timeout_ms));
}

static void engine_listen(struct fa_service *service, struct fa_listener *listener)
{
    fa_waiters_listen(downcast(service)->waiters, listener);
}

static void engine_unlisten(struct fa_service *service, struct fa_listener *listener)
{
    fa_waiters_unlisten(downcast(service)->waiters, listener);
}

static void engine_expect(struct fa_service *service, const struct fa_id *id)
{
    struct engine *engine = downcast(service);

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

static void *run_timer(void *ctx)
{
    struct engine *engine = ctx;
    struct fa_db *clock = engine->writers[0].db;

    pthread_mutex_lock(&engine->timer_mutex);
    while (!engine->is_closing) {
        int64_t next = atomic_load(&engine->next_us), now = fa_db_now(clock), until_us;
        struct op_job job = {0};
        struct timespec until;

        if (next == INT64_MAX) {
            pthread_cond_wait(&engine->timer_cond, &engine->timer_mutex);
            continue;
        }
        if (next > now) { /* by our own clock, which may differ from the store's */
            until_us = fa_clock_now_us() + next - now;
            until = (struct timespec){.tv_sec = until_us / 1000000,
                                      .tv_nsec = until_us % 1000000 * 1000};
            pthread_cond_timedwait(&engine->timer_cond, &engine->timer_mutex, &until);
            continue;
        }
        pthread_mutex_unlock(&engine->timer_mutex);
        run_job(engine, &job.job);
        pthread_mutex_lock(&engine->timer_mutex);
    }
    pthread_mutex_unlock(&engine->timer_mutex);
    return NULL;
}

/* What other nodes tell us --------------------------------------------------------------------- */

static void hear_ready(void *ctx)
{
    fa_waiters_tell_ready(((struct engine *)ctx)->waiters, FA_TYPES_ALL);
}

static void hear_ended(void *ctx, const struct fa_id *ids, size_t count)
{
    fa_waiters_tell_ended(((struct engine *)ctx)->waiters, ids, count);
}

static void hear_due(void *ctx, int64_t at_us)
{
    set_next(ctx, at_us);
}

static void hear_all(void *ctx)
{
    struct engine *engine = ctx;

    fa_waiters_tell_ready(engine->waiters, FA_TYPES_ALL);
    fa_waiters_tell_all(engine->waiters);
}

/* What it is --------------------------------------------------------------------------------- */

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

static enum faina_code engine_info(struct fa_service *service, bool thorough,
                                   struct fa_arena *arena, struct fa_service_info *out,
                                   struct faina_error *err)
{
    struct engine *engine = downcast(service);
    struct fa_reader *reader;
    enum faina_code code;

    *out = (struct fa_service_info){
        .engine = engine->store->ops->name,
        .location = fa_arena_strdup(arena, engine->store->ops->location(engine->store)),
        .size_bytes = engine->store->ops->size(engine->store),
        .commits = atomic_load(&engine->commits),
        .operations = atomic_load(&engine->operations),
    };
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
    code = fa_readers_begin(engine->readers, &reader, err);
    if (code != FAINA_OK)
        return code;
    code = read_info(reader->source.db, thorough, arena, out, err);
    out->engine_version = fa_arena_strdup(arena, out->engine_version);
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
    for (size_t i = 0; i < engine->writer_count; i++) {
        if (engine->writers[i].batch != NULL)
            fa_batch_close(engine->writers[i].batch);
    }
}

static void engine_close(struct fa_service *service)
{
    struct engine *engine = downcast(service);

    fa_fleet_leave(engine->fleet);
    for (size_t i = 0; i < engine->writer_count; i++) {
        struct writer *writer = &engine->writers[i];

        fa_batch_destroy(writer->batch);
        fa_unit_finish(&writer->unit);
        fa_lanes_destroy(writer->lanes);
        fa_flows_destroy(writer->flows);
        fa_db_close(writer->db);
    }
    fa_readers_destroy(engine->readers);
    fa_waiters_destroy(engine->waiters);
    engine->store->ops->close(engine->store);
    pthread_cond_destroy(&engine->timer_cond);
    pthread_mutex_destroy(&engine->timer_mutex);
    free(engine);
}

static const struct fa_service_ops engine_ops = {
    .name = "sql",
    .run = engine_run,
    .wait_end = engine_wait_end,
    .ready_mark = engine_ready_mark,
    .wait_ready = engine_wait_ready,
    .wake = engine_wake,
    .listen = engine_listen,
    .unlisten = engine_unlisten,
    .expect = engine_expect,
    .advertise = engine_advertise,
    .info = engine_info,
    .shut = engine_shut,
    .close = engine_close,
};

/* Whatever the store says that makes no sense while it is opened. */
static enum faina_code refuse_store(struct engine *engine, struct faina_error *err)
{
    const char *location = engine->store->ops->location(engine->store);
    char said[200] = "";

    if (err != NULL)
        snprintf(said, sizeof(said), "%s", err->message);
    return fa_error_set(err, FAINA_UNAVAILABLE, "%s is damaged, or not a Faina database (%s)",
                        location ? location : "the memory store", said);
}

/* Where the ids of this writer go on. */
static enum faina_code start_ids(struct writer *writer, struct faina_error *err)
{
    struct fa_id_source *ids = &writer->ids;
    enum faina_code code;

    if (!writer->db->is_shared)
        return fa_db_one(writer->db, FA_SQL_TASK_LAST, NULL, 0, fa_db_sink_int, &ids->last_key,
                         err);
    ids->slot_bits = SLOT_BITS;
    code = fa_db_begin(writer->db, true, err);
    if (code == FAINA_OK)
        code = fa_db_one(writer->db, FA_SQL_NODE_SLOT, NULL, 0, fa_db_sink_int, &ids->slot, err);
    if (code == FAINA_OK)
        code = fa_db_commit(writer->db, err);
    ids->slot &= (1 << SLOT_BITS) - 1;
    return code;
}

static enum faina_code open_writer(struct engine *engine, struct writer *writer,
                                   struct faina_error *err)
{
    bool is_first = writer == &engine->writers[0];
    enum faina_code code;

    writer->engine = engine;
    writer->lanes = fa_lanes_create();
    writer->flows = fa_flows_create(engine->input_size_max);
    fa_random_seed_system(&writer->random);
    fa_random_seed_system(&writer->ids.random);
    writer->batch = fa_batch_create(run_jobs, writer, BATCH_WEIGHT_MAX);
    if (writer->batch == NULL)
        return fa_error_set(err, FAINA_UNAVAILABLE, "no thread can be started");
    code = engine->store->ops->connect(engine->store, false, &writer->db, err);
    if (code == FAINA_OK && is_first)
        code = fa_migrate(writer->db, fa_db_now(writer->db), err);
    if (code == FAINA_OK)
        code = start_ids(writer, err);
    if (code == FAINA_OK && !writer->db->is_shared)
        code = fa_lanes_load(writer->lanes, writer->db, err);
    if (code == FAINA_INTERNAL)
        code = refuse_store(engine, err);
    if (code == FAINA_OK)
        fa_unit_init(&writer->unit,
                     (struct fa_source){writer->db, writer->lanes, .for_change = true},
                     &writer->ids, &writer->random);
    writer->unit.flows = writer->flows;
    return code;
}

static enum faina_code open_writers(struct engine *engine, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    assert(engine->store->ops->writers <= WRITERS_MAX);
    while (code == FAINA_OK && engine->writer_count < engine->store->ops->writers)
        code = open_writer(engine, &engine->writers[engine->writer_count++], err);
    return code;
}

static enum faina_code start_timer(struct engine *engine, struct faina_error *err)
{
    struct op_job job = {0};
    int rc;

    /* The first transaction does what came due while nobody had the store open. */
    atomic_store(&engine->next_us, engine->fleet != NULL ? INT64_MAX : 0);
    if (engine->fleet == NULL)
        run_job(engine, &job.job);
    rc = pthread_create(&engine->timer, NULL, run_timer, engine);
    if (rc != 0)
        return fa_error_set(err, FAINA_UNAVAILABLE, "no thread can be started: %s", strerror(rc));
    engine->has_timer = true;
    return FAINA_OK;
}

static enum faina_code join_fleet(struct engine *engine, struct faina_error *err)
{
    struct fa_fleet_events events = {engine, hear_ready, hear_ended, hear_due, hear_all};

    if (engine->store->ops->join == NULL)
        return FAINA_OK;
    return engine->store->ops->join(engine->store, &events, &engine->fleet, err);
}

/* Before anything runs: workflows make tasks from the first transaction on. */
static void set_options(struct engine *engine, const struct faina_options *options)
{
    engine->input_size_max = FA_INPUT_SIZE_DEFAULT;
    engine->events_keep_ms = FA_HAPPENED_KEEP_MS;
    if (options != NULL && options->input_size_max > 0)
        engine->input_size_max = (size_t)options->input_size_max;
    if (options != NULL && options->events_keep_ms > 0)
        engine->events_keep_ms = options->events_keep_ms;
}

enum faina_code fa_engine_open(struct fa_service **out, struct fa_store *store,
                               const struct faina_options *options, struct faina_error *err)
{
    struct engine *engine = fa_alloc_zero(1, sizeof(*engine));
    enum faina_code code;

    engine->base.ops = &engine_ops;
    engine->store = store;
    set_options(engine, options);
    engine->opened_us = fa_clock_now_us();
    engine->waiters = fa_waiters_create();
    pthread_mutex_init(&engine->timer_mutex, NULL);
    pthread_cond_init(&engine->timer_cond, NULL);
    atomic_store(&engine->next_us, INT64_MAX);
    code = open_writers(engine, err);
    if (code == FAINA_OK) {
        if (store->ops->has_readers)
            engine->readers = fa_readers_create(store);
        code = join_fleet(engine, err);
    }
    if (code == FAINA_OK)
        code = start_timer(engine, err);
    if (code != FAINA_OK) {
        engine_shut(&engine->base);
        engine_close(&engine->base);
        return code;
    }
    *out = &engine->base;
    return FAINA_OK;
}
