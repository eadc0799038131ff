/*
 * writer.c - see writer.h.
 *
 *     jobs --> batch.c --> [leader] transact: chores, ops over a unit --> flush --> waiting claims
 *          --> commit --> notify
 */
#include "store/txn/writer.h"

#include "base/clock.h"
#include "store/upkeep/bulk_runner.h"
#include "store/upkeep/chore_scope.h"
#include "store/txn/commit_counts.h"
#include "store/workflow/definitions.h"
#include "store/txn/id_range.h"
#include "store/upkeep/isolate.h"
#include "store/upkeep/outbox.h"
#include "store/txn/audit_log.h"
#include "store/txn/event_log.h"
#include "store/txn/failures.h"
#include "store/read/lookup.h"
#include "store/db/migrate.h"
#include "store/txn/prefetch.h"
#include "store/txn/timekeeper.h"

#include <assert.h>
#include <stdio.h>
#include <time.h>

#define BATCH_WEIGHT_MAX 10000
#define QUEUE_WEIGHT_MAX 50000
#define CHORES_MAX 1000         /* of each kind in one transaction */
#define RETRY_CHORES_US 1000000 /* after a failure */
#define READERS_HOLD_MS 500
#define TRIES_MAX 10       /* of a transaction that fails because of a concurrent one */
#define PART_TRIES_MAX 3   /* the same, when it runs a part of the chores, which failed before */
#define CLAIM_TRIES_MAX 20 /* of a claim whose tasks make the transaction fail */
#define PURGE_US 10000000  /* how often the event log is purged */
#define TOGETHER_MIN 32    /* jobs go to one writer from this total load ... */
#define TOGETHER_MAX 160   /* ... up to this load of the writer */
#define SLOW_US 20000      /* a transaction this long is slow: queued jobs go to another writer */
#define IDS_AHEAD_US INT64_C(630720000000000) /* 20 years: a later id is in a damaged row */
#define LATE_US 100000                        /* E6 */
#define GRACE_US 1000000                      /* E6 */
#define TOKEN_WAIT_US 1000 /* shared store: this node's clock may be ahead of the database's */
#define KEY_WAIT_US_MAX 10000000 /* E10: then a job that needs a key is refused */
#define FULL_US 10000000 /* a disk without a reserve counts as full this long after a failure */

static bool takes_part(const struct fa_op_job *job, const struct fa_op *op)
{
    return job->which == FA_OPS_ALL || fa_op_writes(op->kind) == (job->which == FA_OPS_WRITES);
}

/* Workflows process the tasks that an operation ended before the next operation can change them. */
static void process_ends(struct fa_unit *unit, struct fa_op *op)
{
    struct faina_error err = {0};
    enum faina_code code = fa_flows_process_ends(unit, &err);

    if (code == FAINA_OK)
        return;
    op->code = fa_db_has_failed(unit->source.db, code) ? code : FAINA_INTERNAL;
    op->error = err;
}

/* Operations that read one task before they change anything. */
static bool reads_one_task(enum fa_op_kind kind)
{
    static const enum fa_op_kind kinds[] = {
        FA_OP_CLAIM,      FA_OP_START,   FA_OP_PROGRESS, FA_OP_HEARTBEAT, FA_OP_NOTE,
        FA_OP_AMEND,      FA_OP_LOG_ADD, FA_OP_COMPLETE, FA_OP_FAIL,      FA_OP_BLOCK,
        FA_OP_BACKGROUND, FA_OP_RELEASE, FA_OP_SNOOZE,   FA_OP_CANCEL,    FA_OP_RETRY,
        FA_OP_DELETE,     FA_OP_REQUEUE, FA_OP_UPDATE,   FA_OP_SUBTASK,
    };

    for (size_t i = 0; i < FA_COUNT(kinds); i++) {
        if (kinds[i] == kind)
            return true;
    }
    return !fa_op_writes(kind);
}

static enum faina_code run_op(struct fa_writer *writer, struct fa_op *op)
{
    struct fa_unit *unit = &writer->unit;
    uint64_t changes = unit->changes;

    op->task_id[0] = '\0';
    op->existing = op->input_mismatch = false;
    op->count = 0;
    op->task = NULL;
    fa_error_clear(&op->error);
    unit->now_us = fa_db_now(writer->db);
    unit->grant = op->grant;
    unit->op = op;
    if (fa_op_writes(op->kind)) {
        op->code = fa_permit(unit, op);
        if (op->code == FAINA_OK)
            op->code = writer->engine->do_fns[op->kind](unit, op);
        if (unit->ended_seen < unit->ended_count)
            process_ends(unit, op);
        if (op->code == FAINA_OK)
            fa_audit_note(unit, op);
    } else {
        op->code = fa_unit_flush(unit, &op->error);
        if (op->code == FAINA_OK)
            op->code = fa_read_op(&unit->source, op, unit->now_us);
    }
    unit->grant = NULL;
    unit->op = NULL;
    /* The task is damaged and nothing was changed: only this operation fails. */
    writer->is_refusal = op->code == FAINA_INTERNAL && !writer->db->has_failed &&
                         changes == unit->changes && reads_one_task(op->kind);
    return op->code;
}

/* Whether the operation that has just been run makes the whole transaction fail. */
static bool has_failed(const struct fa_writer *writer, enum faina_code code)
{
    return !writer->is_refusal && fa_db_has_failed(writer->db, code);
}

bool fa_writer_run_op(struct fa_writer *writer, struct fa_op *op)
{
    return has_failed(writer, run_op(writer, op));
}

/* From time to time removes events and log rows that are past retention. */
static enum faina_code purge_log(struct fa_writer *writer, struct faina_error *err)
{
    struct fa_engine *engine = writer->engine;
    int64_t now = writer->unit.now_us;
    enum faina_code code;

    if (writer->scope == NULL && now < atomic_load(&engine->forget_us))
        return FAINA_OK;
    if (!fa_chore_takes(&writer->unit, FA_ASIDE_CHORE, "forget"))
        return FAINA_OK;
    atomic_store(&engine->forget_us, now + PURGE_US);
    code = fa_flows_purge_expired(&writer->unit, engine->events_keep_ms, err);
    return code == FAINA_OK ? fa_event_log_purge(&writer->unit, err) : code;
}

/* E6, for chores that were due at a time; 0: they run because the store was opened or this node
 * became the leader. */
static void set_grace(struct fa_writer *writer, int64_t due)
{
    struct fa_engine *engine = writer->engine;
    struct fa_unit *unit = &writer->unit;
    int64_t now = unit->now_us, until = atomic_load(&engine->grace_until_us);
    bool in_grace = until > now && until <= now + GRACE_US; /* or the clock was set back */
    int64_t fail_us = in_grace ? 0 : atomic_exchange(&engine->fail_us, 0);

    if (fail_us > 0 && (due == 0 || fail_us < due))
        due = fail_us;
    if (!in_grace && due > 0 && now - due > LATE_US) {
        in_grace = true;
        until = now + GRACE_US;
        atomic_store(&engine->still_us, due - 1);
        atomic_store(&engine->grace_until_us, until);
    }
    unit->grace_until_us = in_grace ? until : now;
    unit->expire_before_us = in_grace ? atomic_load(&engine->still_us) : now;
}

/* Stores what was set aside, and reads what other nodes have set aside. */
static enum faina_code sync_aside(struct fa_writer *writer, int64_t *next_us,
                                  struct faina_error *err)
{
    struct fa_engine *engine = writer->engine;
    enum faina_code code = FAINA_OK;

    if (!atomic_load(&engine->has_retried)) {
        code = fa_aside_retry_all(engine->aside, &writer->unit, err);
        atomic_store(&engine->has_retried, code == FAINA_OK);
    }
    /* A part of the chores may fail only because of its own items (isolate.h, I1). */
    if (writer->scope != NULL && !writer->scope->is_storing)
        return code;
    writer->writes_aside |= fa_aside_is_pending(engine->aside);
    if (code == FAINA_OK)
        code = fa_aside_write(engine->aside, &writer->unit, !writer->is_quiet, err);
    if (code == FAINA_OK && next_us != NULL)
        code = fa_aside_refresh(engine->aside, &writer->unit, next_us, err);
    return code;
}

static enum faina_code run_chores(struct fa_writer *writer, struct faina_error *err)
{
    struct fa_engine *engine = writer->engine;
    int64_t poll_us = engine->store->ops->poll_ms * 1000;
    int64_t due = atomic_load(&engine->next_us), next = INT64_MAX;
    struct fa_unit *unit = &writer->unit;
    enum faina_code code = FAINA_OK;
    bool leads = true;

    unit->now_us = fa_db_now(writer->db);
    if (unit->now_us < due && writer->scope == NULL)
        return FAINA_OK;
    writer->in_chores = true;
    code = sync_aside(writer, NULL, err);
    if (code == FAINA_OK && engine->fleet != NULL)
        code = fa_fleet_fence(engine->fleet, writer->db, &leads, err);
    if (code == FAINA_OK && !leads)
        atomic_store(&engine->next_us, INT64_MAX);
    if (code != FAINA_OK || !leads) {
        writer->in_chores = code != FAINA_OK;
        return code;
    }
    if (writer->scope == NULL) /* a part uses the grace period of the run that failed */
        set_grace(writer, due);
    unit->scope = writer->scope;
    code = purge_log(writer, err);
    if (code == FAINA_OK)
        code = fa_chores_run(unit, CHORES_MAX, &next, err);
    unit->scope = NULL;
    if (code == FAINA_OK)
        code = sync_aside(writer, &next, err);
    if (code == FAINA_OK)
        code = fa_unit_flush(unit, err);
    if (poll_us > 0 && next > unit->now_us + poll_us)
        next = unit->now_us + poll_us;
    if (next < unit->now_us) /* there is more to do, which isn't late (E6) */
        next = unit->now_us;
    if (code == FAINA_OK && writer->scope == NULL) {
        atomic_store(&engine->next_us, next);
        writer->ran_chores = true;
    }
    writer->in_chores = code != FAINA_OK;
    return code;
}

/* Adds up how many tasks the claims want, so that one read ahead serves all of them. */
static void add_demand(struct fa_writer *writer, const struct fa_op_job *jobs)
{
    for (const struct fa_op_job *job = jobs; job != NULL;
         job = (const struct fa_op_job *)job->job.next) {
        for (size_t i = 0; i < job->count; i++) {
            if (job->ops[i].kind == FA_OP_CLAIM_NEXT)
                writer->unit.claim_demand +=
                    job->ops[i].claim->limit > 0 ? job->ops[i].claim->limit : 1;
        }
    }
}

/* Over a network, the rows that the operations need are read in few round trips. */
static enum faina_code prefetch(struct fa_writer *writer, const struct fa_op_job *jobs,
                                struct faina_error *err)
{
    struct fa_prefetch wants = {.unit = &writer->unit};

    if (!fa_db_has(writer->db, FA_DB_ROUND_TRIPS))
        return FAINA_OK;
    for (const struct fa_op_job *job = jobs; job != NULL;
         job = (const struct fa_op_job *)job->job.next)
        for (size_t i = 0; i < job->count; i++)
            fa_prefetch_add(&wants, &job->ops[i]);
    return fa_prefetch_run(&wants, err);
}

static enum faina_code run_chore(struct fa_writer *writer, struct fa_chore *chore)
{
    fa_error_clear(&chore->error);
    writer->unit.now_us = fa_db_now(writer->db);
    return chore->code = chore->run(writer, chore);
}

bool fa_engine_is_full(struct fa_engine *engine)
{
    const struct fa_store_ops *ops = engine->store->ops;
    bool is_full;

    if (!atomic_load(&engine->base.is_full))
        return false;
    is_full = ops->is_full != NULL ? ops->is_full(engine->store)
                                   : fa_clock_mono_us() - atomic_load(&engine->full_us) < FULL_US;
    if (!is_full)
        atomic_store(&engine->base.is_full, false);
    return is_full;
}

/* True: new tasks were accepted until now, so the transaction may succeed without them. */
static bool make_room(struct fa_engine *engine)
{
    atomic_store(&engine->full_us, fa_clock_mono_us());
    if (engine->store->ops->make_room != NULL)
        engine->store->ops->make_room(engine->store);
    return !atomic_exchange(&engine->base.is_full, true) && engine->store->ops->make_room != NULL;
}

/* E8: operations that create tasks are refused while the remaining room is needed for finishing
 * others. Such a refusal fails only the operation. */
static bool is_refused(struct fa_writer *writer, struct fa_op *op)
{
    const char *location;

    if (!atomic_load_explicit(&writer->engine->base.is_full, memory_order_relaxed) ||
        writer->engine->store->ops->is_full == NULL ||
        (op->kind != FA_OP_SUBMIT && op->kind != FA_OP_EMIT && op->kind != FA_OP_CRON_RUN) ||
        !fa_engine_is_full(writer->engine))
        return false;
    location = writer->engine->store->ops->location(writer->engine->store);
    op->task_id[0] = '\0';
    op->existing = op->input_mismatch = false;
    op->count = 0;
    op->task = NULL;
    op->code = fa_error_set(&op->error, FAINA_UNAVAILABLE,
                            "%.200s: the disk is full: no new tasks are accepted until there is "
                            "room again",
                            location ? location : "the store");
    return true;
}

static enum faina_code run_ops(struct fa_writer *writer, struct fa_op_job *jobs,
                               struct faina_error *err)
{
    enum faina_code code = prefetch(writer, jobs, err);

    add_demand(writer, jobs);
    for (struct fa_op_job *job = jobs; code == FAINA_OK && job != NULL;
         job = (struct fa_op_job *)job->job.next) {
        for (size_t i = 0; code == FAINA_OK && i < job->count; i++) {
            struct fa_op *op = &job->ops[i];

            if (!takes_part(job, op) || is_refused(writer, op))
                continue;
            writer->op_count++;
            if (has_failed(writer, run_op(writer, op))) {
                code = op->code != FAINA_OK ? op->code : FAINA_INTERNAL;
                *err = op->error;
            }
        }
        if (code == FAINA_OK && job->chore != NULL &&
            fa_db_has_failed(writer->db, run_chore(writer, job->chore))) {
            code = job->chore->code != FAINA_OK ? job->chore->code : FAINA_INTERNAL;
            *err = job->chore->error;
        }
    }
    return code;
}

/* The types of tasks that may become claimable by the commit. */
static uint64_t ready_types(const struct fa_unit *unit)
{
    return unit->has_ready ? FA_TYPES_ALL : unit->ready_types;
}

/* Claims that wait for lanes whose next token has come may have tasks now. In a shared store the
 * timer wakes them. */
static void take_due_tokens(struct fa_writer *writer)
{
    struct fa_unit *unit = &writer->unit;
    uint64_t types;

    if (!fa_db_has(writer->db, FA_DB_MANY_WRITERS) &&
        fa_lanes_next_due_us(writer->lanes, &types) != INT64_MAX)
        unit->ready_types |= fa_lanes_take_due(writer->lanes, fa_db_now(writer->db));
}

/* E5: claims that wait for tasks that the jobs made ready are run right after the jobs. */
static enum faina_code run_waiting_claims(struct fa_writer *writer, struct faina_error *err)
{
    struct fa_waiting_claims *waiting = writer->engine->waiting_claims;
    enum faina_code code;

    if (fa_db_has(writer->db, FA_DB_MANY_WRITERS) || !fa_waiting_claims_has_any(waiting))
        return FAINA_OK;
    code = fa_claims_prepare(&writer->unit, err); /* which sets ready_types */
    if (code == FAINA_OK && ready_types(&writer->unit))
        writer->taken = fa_waiting_claims_take(waiting, ready_types(&writer->unit));
    for (struct fa_waiting_claim *claim = writer->taken; code == FAINA_OK && claim != NULL;
         claim = claim->taken_next) {
        struct fa_op *op = &claim->op;

        if (has_failed(writer, run_op(writer, op))) {
            code = op->code != FAINA_OK ? op->code : FAINA_INTERNAL;
            *err = op->error;
        }
    }
    return code;
}

/* One transaction. On failure it is rolled back, and the cause is in `err`. With `is_open` it also
 * runs jobs that arrive meanwhile: they are linked behind `jobs`. */
static enum faina_code transact(struct fa_writer *writer, struct fa_op_job *jobs, bool is_open,
                                struct faina_error *err)
{
    struct fa_store *store = writer->engine->store;
    bool is_timers = jobs->count == 0 && jobs->chore == NULL, is_kept = true;
    enum faina_code code = FAINA_OK;

    writer->db->has_failed = writer->db->should_retry = writer->is_announced = false;
    writer->db->is_full = writer->db->awaits_key = false;
    writer->in_chores = writer->ran_chores = writer->writes_aside = false;
    writer->taken = NULL;
    writer->op_count = 0;
    if (store->ops->check != NULL)
        code = store->ops->check(store, err);
    if (code == FAINA_OK)
        code = fa_db_begin(writer->db, true, err);
    if (code != FAINA_OK) {
        writer->in_chores = is_timers;
        return code;
    }
    if (writer->needs_load) {
        code = fa_lanes_load(writer->lanes, writer->db, err);
        writer->needs_load = code != FAINA_OK;
        fa_flows_invalidate(writer->flows);
        fa_outbox_forget(&writer->unit);
        fa_scan_starts_reset(&writer->unit.scan_starts);
    } else if (fa_db_has(writer->db, FA_DB_MANY_WRITERS) && fa_lanes_are_too_many(writer->lanes)) {
        code = fa_lanes_load(writer->lanes, writer->db, err);
        fa_scan_starts_reset(&writer->unit.scan_starts);
    }
    if (code == FAINA_OK)
        code = fa_policies_refresh(writer->engine->policies, writer->db,
                                   &writer->unit.source.policies, err);
    if (fa_db_has(writer->db, FA_DB_MANY_WRITERS))
        fa_lanes_begin(writer->lanes);
    fa_unit_reset(&writer->unit);
    writer->unit.wants_spans = fa_waiters_wants_spans(writer->engine->waiters);
    if (code == FAINA_OK && (writer->engine->fleet == NULL || is_timers))
        code = run_chores(writer, err);
    while (code == FAINA_OK && jobs != NULL) {
        /* Again: a listener may be newer than the transaction, which has added jobs since. */
        writer->unit.wants_spans |= fa_waiters_wants_spans(writer->engine->waiters);
        code = run_ops(writer, jobs, err);
        if (code == FAINA_OK && is_open)
            jobs = (struct fa_op_job *)fa_batch_more(writer->batch);
        else
            jobs = NULL;
        /* They arrived after the lanes were read; a pause may have been acknowledged between. */
        if (jobs != NULL)
            writer->unit.share_epoch = 0;
    }
    take_due_tokens(writer);
    if (code == FAINA_OK && is_open)
        code = run_waiting_claims(writer, err);
    if (code == FAINA_OK)
        code = fa_unit_flush(&writer->unit, err);
    if (code == FAINA_OK)
        code = fa_flows_read_changes(&writer->unit, err);
    if (code == FAINA_OK && writer->unit.has_policies && writer->engine->fleet != NULL)
        code = fa_fleet_notify_policies(writer->engine->fleet, writer->db, err);
    if (code == FAINA_OK)
        code = fa_event_log_write(&writer->unit, err);
    if (code == FAINA_OK)
        code = fa_failures_write(&writer->unit, err);
    if (code == FAINA_OK)
        code = fa_audit_write(&writer->unit, err);
    if (code == FAINA_OK && ready_types(&writer->unit) && writer->engine->fleet != NULL)
        code = fa_fleet_notify_inside(writer->engine->fleet, writer->db, writer->unit.oldest_key,
                                      &writer->is_announced, err);
    if (code == FAINA_OK && (writer->scope == NULL || !writer->scope->is_listing))
        code = fa_db_commit(writer->db, err);
    else
        is_kept = false;
    fa_id_range_settle(&writer->unit, code == FAINA_OK && !is_kept ? FAINA_CONFLICT : code);
    if (code != FAINA_OK || !is_kept) {
        fa_db_rollback(writer->db);
        writer->needs_load = true;
    }
    /* Where there are several nodes, a transaction runs either chores or operations (E4), and what
     * was sent in chores may fail later (db.h, D4). */
    if (code != FAINA_OK && is_timers && writer->engine->fleet != NULL)
        writer->in_chores = true;
    return code;
}

static void fail_all(struct fa_op_job *jobs, enum faina_code code, const struct faina_error *err)
{
    for (struct fa_op_job *job = jobs; job != NULL; job = (struct fa_op_job *)job->job.next) {
        if (job->chore != NULL) {
            job->chore->code = code;
            job->chore->error = *err;
        }
        for (size_t i = 0; i < job->count; i++) {
            if (!takes_part(job, &job->ops[i]))
                continue;
            job->ops[i].code = code;
            job->ops[i].error = *err;
            job->ops[i].task = NULL;
        }
    }
}

void fa_engine_set_next(struct fa_engine *engine, int64_t at_us)
{
    if (at_us >= atomic_load(&engine->next_us))
        return;
    atomic_store(&engine->next_us, at_us);
    pthread_mutex_lock(&engine->timer_mutex);
    pthread_cond_signal(&engine->timer_cond);
    pthread_mutex_unlock(&engine->timer_mutex);
}

/* Sets when the timer wakes the claims that wait for tokens. The lanes of a store with one writer
 * have all that is awaited; in a shared store each writer knows what its last transaction found. */
static void set_token_time(struct fa_writer *writer)
{
    struct fa_engine *engine = writer->engine;
    bool is_shared = fa_db_has(writer->db, FA_DB_MANY_WRITERS);
    uint64_t types;
    int64_t at_us = fa_lanes_next_due_us(writer->lanes, &types);

    if (at_us == (is_shared ? INT64_MAX : atomic_load(&engine->token_us)))
        return;
    if (is_shared && at_us < fa_db_now(writer->db) + TOKEN_WAIT_US)
        at_us = fa_db_now(writer->db) + TOKEN_WAIT_US;
    pthread_mutex_lock(&engine->timer_mutex);
    engine->token_types |= types;
    if (!is_shared || at_us < atomic_load(&engine->token_us))
        atomic_store(&engine->token_us, at_us);
    pthread_cond_signal(&engine->timer_cond);
    pthread_mutex_unlock(&engine->timer_mutex);
}

void fa_engine_note_arrival(struct fa_engine *engine, int64_t key)
{
    for (size_t i = 0; key != FA_SCAN_START_NONE && i < engine->writer_count; i++)
        fa_scan_starts_note_arrival(&engine->writers[i].unit.scan_starts, key);
}

/* A schedule misses times mostly while no engine is open. The first chores find that, before a
 * server listens (engine.h). */
static void keep_missed(struct fa_engine *engine, const struct fa_unit *unit)
{
    pthread_mutex_lock(&engine->timer_mutex);
    for (size_t i = 0; i < unit->missed_count && engine->missed_count < FA_ENGINE_MISSED_MAX; i++) {
        struct fa_missed_times *kept = &engine->missed[engine->missed_count++];

        kept->ns = fa_arena_strdup(&engine->missed_texts, unit->missed[i].ns);
        kept->name = fa_arena_strdup(&engine->missed_texts, unit->missed[i].name);
        kept->count = unit->missed[i].count;
        kept->reason = fa_arena_strdup(&engine->missed_texts, unit->missed[i].reason);
    }
    pthread_mutex_unlock(&engine->timer_mutex);
}

/* E3: after the commit, only what can't fail. */
static void after_commit(struct fa_writer *writer)
{
    struct fa_engine *engine = writer->engine;
    struct fa_unit *unit = &writer->unit;

    atomic_fetch_add(&engine->commits, 1);
    if (atomic_load_explicit(&engine->base.is_full, memory_order_relaxed)) {
        if (engine->store->ops->is_full == NULL)
            atomic_store(&engine->base.is_full, false);
        else
            (void)fa_engine_is_full(engine);
    }
    atomic_store(&engine->commit_us, fa_db_now(writer->db));
    fa_flows_publish(writer->flows);
    if (unit->has_policies)
        fa_policies_invalidate(engine->policies);
    fa_engine_note_arrival(engine, unit->oldest_key);
    fa_waiters_notify_ended(engine->waiters, unit->ended, unit->ended_count);
    if (ready_types(unit))
        fa_waiters_notify_ready(engine->waiters, ready_types(unit));
    fa_facts_publish(engine->waiters, engine->history, unit, writer->op_count);
    if (unit->missed_count > 0 && !fa_waiters_has_counters(engine->waiters))
        keep_missed(engine, unit);
    fa_facts_publish_aside(engine->waiters, engine->aside);
    if (engine->fleet != NULL)
        fa_fleet_notify(engine->fleet, &(struct fa_fleet_notification){
                                           .has_ready = ready_types(unit) && !writer->is_announced,
                                           .oldest_key = unit->oldest_key,
                                           .has_leftover = unit->has_leftover,
                                           .ended = unit->ended,
                                           .ended_count = unit->ended_count,
                                           .due_us = unit->next_us});
    if (engine->fleet == NULL || fa_fleet_leads(engine->fleet))
        fa_engine_set_next(engine, unit->next_us);
    if (unit->has_bulk)
        fa_bulk_runner_wake(engine->bulk_runner);
    set_token_time(writer);
}

/* What the chores did is rolled back too, but a broken store must not make the timer spin. */
static void after_failure(struct fa_writer *writer)
{
    struct fa_engine *engine = writer->engine;
    int64_t now = fa_db_now(writer->db), next = atomic_load(&engine->next_us);
    long long none = 0;

    if (writer->scope != NULL) /* a part of the chores, which are run again anyway */
        return;
    atomic_compare_exchange_strong(&engine->fail_us, &none, atomic_load(&engine->commit_us));
    if (next <= now || next > now + RETRY_CHORES_US)
        atomic_store(&engine->next_us, now + RETRY_CHORES_US);
}

static void pause_ms(int64_t ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

/* Records whether the chores succeed, for monitoring. */
static void note_upkeep(struct fa_writer *writer, enum faina_code code,
                        const struct faina_error *err)
{
    struct fa_upkeep *upkeep = writer->engine->upkeep;

    if (code == FAINA_OK && writer->ran_chores)
        fa_upkeep_succeeded(upkeep);
    else if (code != FAINA_OK && fa_upkeep_failed(upkeep, err->message))
        fa_facts_publish_stalled(writer->engine->waiters, err->message);
}

/* A transaction may fail because of a deadlock, a key that another node inserts at the same moment,
 * or a broken connection. Then it is run again from the start. */
static enum faina_code transact_and_notify(struct fa_writer *writer, struct fa_op_job *jobs,
                                           bool is_open, struct faina_error *err)
{
    int tries_max = writer->scope != NULL ? PART_TRIES_MAX : TRIES_MAX;
    enum faina_code code = FAINA_OK;

    for (int i = 0; i < tries_max; i++) {
        if (i > 0)
            pause_ms((int64_t)(fa_random_next(&writer->random) % (uint64_t)(4 * i)));
        code = transact(writer, jobs, is_open, err);
        fa_waiting_claims_settle(writer->engine->waiting_claims, writer->taken, code == FAINA_OK,
                                 ready_types(&writer->unit));
        if (writer->writes_aside)
            fa_aside_settle(writer->engine->aside, code == FAINA_OK);
        if (code != FAINA_OK && writer->db->is_full && make_room(writer->engine))
            continue;
        if (code == FAINA_OK || !writer->db->should_retry)
            break;
    }
    if (code == FAINA_OK)
        after_commit(writer);
    else
        after_failure(writer);
    return code;
}

/* Before each transaction, when the callers of the last one have their results. */
static void maintain_store(struct fa_writer *writer)
{
    struct fa_readers *readers = writer->engine->readers;
    bool (*maintain)(struct fa_db *, bool) = writer->db->ops->maintain;

    if (maintain == NULL || !maintain(writer->db, false) || readers == NULL)
        return;
    if (fa_readers_suspend(readers, READERS_HOLD_MS))
        maintain(writer->db, true);
    fa_readers_resume(readers);
}

/* A damaged task may make each transaction fail that claims it. Claiming one task at a time shows
 * which it is; it is set aside, and the claim goes on. */
static enum faina_code claim_past(struct fa_writer *writer, struct fa_op_job *job,
                                  enum faina_code code, struct faina_error *err)
{
    for (int i = 0; code == FAINA_INTERNAL && i < CLAIM_TRIES_MAX; i++) {
        if (writer->unit.claims_one && writer->unit.claimed_key != 0)
            fa_aside_report_task(writer->engine->aside, writer->unit.claimed_key, NULL,
                                 err->message, fa_db_now(writer->db));
        writer->unit.claims_one = true;
        code = transact_and_notify(writer, job, false, err);
    }
    writer->unit.claims_one = false;
    return code;
}

/* E10. NULL: the store has one writer, and no clients beside the engine. */
static struct fa_writer *last_writer(struct fa_engine *engine)
{
    return engine->writer_count > 1 ? &engine->writers[engine->writer_count - 1] : NULL;
}

/* The namespace of the operation's key; NULL: it has none. */
static const char *keyed_namespace(const struct fa_op *op)
{
    if (op->kind != FA_OP_SUBMIT || op->submit->idempotency_key == NULL)
        return NULL;
    return op->submit->ns != NULL ? op->submit->ns : "default";
}

/* K2 of key_waits.h. */
static bool may_wait(struct fa_engine *engine, const struct fa_op_job *job)
{
    int64_t now_us;

    if (atomic_load_explicit(&engine->key_waits.until_us, memory_order_relaxed) == 0)
        return false;
    now_us = fa_clock_mono_us();
    for (size_t i = 0; i < job->count && fa_key_waits_have_any(&engine->key_waits, now_us); i++) {
        const char *ns = keyed_namespace(&job->ops[i]);

        if (ns != NULL && fa_key_waits_have(&engine->key_waits, ns, now_us))
            return true;
    }
    return false;
}

static void note_key_wait(struct fa_op_job *job)
{
    if (job->key_wait_us == 0)
        job->key_wait_us = fa_clock_mono_us();
}

/* Whether the job has waited for keys for so long that it is refused. */
static bool is_overdue(const struct fa_op_job *job)
{
    return job->key_wait_us != 0 && fa_clock_mono_us() - job->key_wait_us >= KEY_WAIT_US_MAX;
}

/* After the job's transaction has waited for a key in vain. */
static void after_key_wait(struct fa_writer *writer, struct fa_op_job *job,
                           const struct faina_error *err)
{
    struct fa_engine *engine = writer->engine;
    int64_t now_us = fa_clock_mono_us();

    for (size_t i = 0; i < job->count; i++) {
        const char *ns = keyed_namespace(&job->ops[i]);

        if (ns != NULL)
            fa_key_waits_note(&engine->key_waits, ns, now_us);
    }
    note_key_wait(job);
    job->should_move = job->chore == NULL && last_writer(engine) != NULL && !is_overdue(job);
    if (!job->should_move)
        fail_all(job, FAINA_OVERLOADED, err);
}

/* Jobs that wait for keys don't delay the others of their transaction: they are moved, and refused
 * when that has taken too long. */
static bool skip_key_wait(struct fa_writer *writer, struct fa_op_job *job)
{
    struct fa_engine *engine = writer->engine;
    struct faina_error err = {0};

    if (is_overdue(job)) {
        fa_error_set(&err, FAINA_OVERLOADED,
                     "transactions that are still open have submitted with keys of this namespace; "
                     "try again when they have ended");
        fail_all(job, FAINA_OVERLOADED, &err);
        return true;
    }
    job->should_move = job->chore == NULL && last_writer(engine) != NULL &&
                       writer != last_writer(engine) && may_wait(engine, job);
    return job->should_move;
}

/* A job that has failed together with others. */
static void run_alone(struct fa_writer *writer, struct fa_op_job *job)
{
    struct faina_error err = {0};
    enum faina_code code;

    if (skip_key_wait(writer, job))
        return;
    code = transact_and_notify(writer, job, false, &err);
    if (code != FAINA_OK && writer->db->awaits_key) {
        after_key_wait(writer, job, &err);
        return;
    }
    if (code == FAINA_INTERNAL && job->count > 1) { /* one of its operations failed */
        for (size_t i = 0; i < job->count; i++) {
            struct fa_op_job one = {.ops = &job->ops[i], .count = 1, .which = job->which};

            if (takes_part(job, &job->ops[i]))
                run_alone(writer, &one);
        }
        return;
    }
    if (code == FAINA_INTERNAL && job->count == 1 && job->ops[0].kind == FA_OP_CLAIM_NEXT)
        code = claim_past(writer, job, code, &err);
    if (code != FAINA_OK)
        fail_all(job, code, &err);
}

/* Whether a single item or operation may have made the transaction fail. */
static bool concerns_one(const struct fa_writer *writer, enum faina_code code)
{
    return code == FAINA_INTERNAL || (code != FAINA_OK && writer->db->awaits_key);
}

/* Each job by itself. All jobs of a transaction are answered together, so jobs that may wait for
 * keys are moved when there are others, and don't delay the answers of those (K1). */
static void run_each(struct fa_writer *writer, struct fa_batch_job *jobs)
{
    bool has_others = false;

    for (struct fa_batch_job *each = jobs, *next; each != NULL; each = next) {
        struct fa_op_job *job = (struct fa_op_job *)each;

        next = each->next;
        each->next = NULL;
        job->should_move = job->chore == NULL && last_writer(writer->engine) != NULL &&
                           may_wait(writer->engine, job) && !is_overdue(job);
        if (job->should_move) {
            note_key_wait(job);
        } else {
            run_alone(writer, job);
            has_others = true;
        }
        each->next = next;
    }
    for (struct fa_batch_job *each = jobs, *next; !has_others && each != NULL; each = next) {
        next = each->next;
        each->next = NULL;
        run_alone(writer, (struct fa_op_job *)each);
        each->next = next;
    }
}

/* One bad operation must not make the others fail: when a transaction failed for a reason other
 * than the disk, each job is run by itself, and then each of its operations. Due chores run
 * later. */
static void run_jobs(void *ctx, struct fa_batch_job *jobs)
{
    struct fa_writer *writer = ctx;
    struct faina_error err = {0};
    enum faina_code code;

    maintain_store(writer);
    fa_timekeeper_follow(writer);
    atomic_store_explicit(&writer->began_us, fa_clock_mono_us(), memory_order_relaxed);
    code = transact_and_notify(writer, (struct fa_op_job *)jobs, true, &err);
    if (code == FAINA_OK || writer->in_chores)
        note_upkeep(writer, code, &err);
    if (concerns_one(writer, code) && writer->in_chores) { /* E9 */
        fa_isolate_chores(writer);
        code = transact_and_notify(writer, (struct fa_op_job *)jobs, true, &err);
    }
    if (concerns_one(writer, code)) {
        run_each(writer, jobs);
    } else if (code != FAINA_OK) {
        fail_all((struct fa_op_job *)jobs, code, &err);
    }
    atomic_store_explicit(&writer->began_us, 0, memory_order_relaxed);
}

enum faina_code fa_writer_run_part(struct fa_writer *writer, struct fa_chore_scope *scope,
                                   struct faina_error *err)
{
    struct fa_op_job job = {0};
    struct faina_error why = {0};
    enum faina_code code;

    writer->scope = scope;
    code = transact_and_notify(writer, &job, false, &why);
    writer->scope = NULL;
    if (err != NULL)
        *err = why;
    return code;
}

/* The first of the writers with the least load, without `except`. */
static struct fa_writer *least_loaded(struct fa_engine *engine, const struct fa_writer *except)
{
    struct fa_writer *best = &engine->writers[except == &engine->writers[0]];

    assert(engine->writer_count > 1);
    for (size_t i = 0; i < engine->writer_count; i++) {
        struct fa_writer *writer = &engine->writers[i];

        if (writer != except && atomic_load_explicit(&writer->load, memory_order_relaxed) <
                                    atomic_load_explicit(&best->load, memory_order_relaxed))
            best = writer;
    }
    return best;
}

/* K2 of key_waits.h; NULL: none. */
static const struct fa_writer *avoided_writer(struct fa_engine *engine)
{
    bool has_any = fa_key_waits_have_any(&engine->key_waits, fa_clock_mono_us());

    return has_any ? last_writer(engine) : NULL;
}

static size_t total_load(struct fa_engine *engine)
{
    size_t load = 0;

    for (size_t i = 0; i < engine->writer_count; i++)
        load += atomic_load_explicit(&engine->writers[i].load, memory_order_relaxed);
    return load;
}

static bool is_slow(const struct fa_writer *writer)
{
    int64_t began = atomic_load_explicit(&writer->began_us, memory_order_relaxed);

    return began != 0 && fa_clock_mono_us() - began >= SLOW_US;
}

/* Small jobs of many callers go together, because a transaction costs more than they do. Few jobs,
 * and large ones, run side by side. A transaction that waits for another node's lock must not delay
 * jobs that don't need the lock: no job goes to a writer whose transaction takes long. The timer's
 * job (weight 0) goes to the writer with the least load, because chores run only in a transaction
 * that it begins (E4). */
static struct fa_writer *choose_writer(struct fa_engine *engine, const struct fa_batch_job *job)
{
    struct fa_writer *first = &engine->writers[0];
    size_t load = atomic_load_explicit(&first->load, memory_order_relaxed) + job->weight + 1;

    if (engine->writer_count == 1)
        return first;
    if (may_wait(engine, (const struct fa_op_job *)job))
        return last_writer(engine);
    if (job->weight > 0 && total_load(engine) >= TOGETHER_MIN && load <= TOGETHER_MAX &&
        !is_slow(first))
        return first;
    return least_loaded(engine, avoided_writer(engine));
}

/* The load is only needed to choose between writers. */
static void add_load(struct fa_writer *writer, const struct fa_batch_job *job)
{
    if (writer->engine->writer_count > 1)
        atomic_fetch_add_explicit(&writer->load, job->weight + 1, memory_order_relaxed);
}

static void remove_load(struct fa_writer *writer, const struct fa_batch_job *job)
{
    if (writer->engine->writer_count > 1)
        atomic_fetch_sub_explicit(&writer->load, job->weight + 1, memory_order_relaxed);
}

static bool run_with(struct fa_writer *writer, struct fa_batch_job *job, int64_t wait_us,
                     bool *has_timed_out)
{
    bool was_run;

    add_load(writer, job);
    was_run = fa_batch_run_within(writer->batch, job, wait_us, has_timed_out);
    remove_load(writer, job);
    return was_run;
}

bool fa_writers_run_job(struct fa_engine *engine, struct fa_batch_job *job)
{
    struct fa_writer *writer = choose_writer(engine, job);
    bool has_timed_out, was_run,
        is_bound = writer == last_writer(engine) && writer == avoided_writer(engine);

    was_run =
        run_with(writer, job, engine->writer_count > 1 && !is_bound ? SLOW_US : 0, &has_timed_out);
    if (!was_run && has_timed_out && avoided_writer(engine) != NULL)
        was_run = run_with(least_loaded(engine, avoided_writer(engine)), job, 0, &has_timed_out);
    else if (!was_run && has_timed_out)
        was_run = run_with(least_loaded(engine, writer), job, 0, &has_timed_out);
    return was_run;
}

static void set_weight(struct fa_op_job *job)
{
    job->job.weight = job->count;
    for (size_t i = 0; i < job->count; i++) {
        if (job->ops[i].kind == FA_OP_BLOCK)
            job->job.weight += job->ops[i].block.count;
        else if (job->ops[i].kind == FA_OP_WORKER_PUT)
            job->job.weight += job->ops[i].worker.held_count;
    }
}

/* Plans are good for one run. */
static void forget_plans(struct fa_op_job *job)
{
    for (size_t i = 0; i < job->count; i++)
        job->ops[i].plan = NULL;
}

void fa_writers_run(struct fa_engine *engine, struct fa_op_job *job)
{
    struct faina_error err;
    bool was_run, has_timed_out;

    set_weight(job);
    was_run = fa_writers_run_job(engine, &job->job);
    while (was_run && job->should_move) {
        job->should_move = false;
        forget_plans(job);
        was_run = run_with(last_writer(engine), &job->job, 0, &has_timed_out);
    }
    if (was_run)
        return;
    fa_error_set(&err, FAINA_STORE_CLOSED, "the engine is closed");
    job->job.next = NULL;
    fail_all(job, FAINA_STORE_CLOSED, &err);
}

static enum faina_code post_to(struct fa_writer *writer, struct fa_op_job *job)
{
    enum faina_code code;

    job->writer = writer;
    add_load(writer, &job->job);
    code = fa_batch_post(writer->batch, &job->job);
    if (code != FAINA_OK)
        remove_load(writer, &job->job);
    return code;
}

static void finish_posted(struct fa_batch_job *batch_job)
{
    struct fa_op_job *job = (struct fa_op_job *)batch_job;
    struct fa_engine *engine = job->writer->engine;
    struct faina_error err = {0};

    remove_load(job->writer, batch_job);
    forget_plans(job);
    if (job->should_move) {
        job->should_move = false;
        if (post_to(last_writer(engine), job) == FAINA_OK)
            return;
        fa_error_set(&err, FAINA_OVERLOADED, "too many submits wait for keys; try again later");
        batch_job->next = NULL;
        fail_all(job, FAINA_OVERLOADED, &err);
    }
    job->done(job->ctx);
}

/* Posted jobs are run by one writer, in their order, as long as its transactions are short. */
enum faina_code fa_writers_post(struct fa_engine *engine, struct fa_op_job *job)
{
    struct fa_writer *writer = &engine->writers[0];

    if (engine->writer_count > 1 && may_wait(engine, job))
        writer = last_writer(engine);
    else if (engine->writer_count > 1 && is_slow(writer) && avoided_writer(engine) == NULL)
        writer = least_loaded(engine, writer);
    set_weight(job);
    job->job.done = finish_posted;
    return post_to(writer, job);
}

enum faina_code fa_writers_run_chore(struct fa_engine *engine, struct fa_chore *chore,
                                     size_t weight, struct faina_error *err)
{
    struct fa_op_job job = {.job = {.weight = weight}, .chore = chore};

    if (!fa_writers_run_job(engine, &job.job))
        chore->code = fa_error_set(&chore->error, FAINA_STORE_CLOSED, "the engine is closed");
    if (chore->code != FAINA_OK && err != NULL)
        *err = chore->error;
    return chore->code;
}

/* Opening and closing ------------------------------------------------------------------------ */

/* An unexpected error while the store is opened. */
static enum faina_code refuse_store(struct fa_engine *engine, struct faina_error *err)
{
    const char *location = engine->store->ops->location(engine->store);
    char cause[200] = "";

    if (err != NULL)
        snprintf(cause, sizeof(cause), "%s", err->message);
    return fa_error_set(err, FAINA_UNAVAILABLE, "%s is damaged, or not a Faina database (%s)",
                        location ? location : "the memory store", cause);
}

static enum faina_code migrate_schema(struct fa_writer *writer, struct faina_error *err)
{
    struct fa_store *store = writer->engine->store;
    int64_t now_us = fa_db_now(writer->db);
    enum faina_code code;

    if (!store->must_exist || store->ops->location(store) == NULL)
        return fa_migrate(writer->db, now_us, err);
    code = fa_migrate_existing(writer->db, now_us, err);
    if (code == FAINA_NOT_FOUND)
        code = fa_error_set(err, FAINA_UNAVAILABLE, "there is no store at %.300s" FA_NO_STORE,
                            store->ops->location(store));
    return code;
}

/* Reads the last id of a store with one writer; new ids come after it. */
static enum faina_code find_last_id(struct fa_writer *writer, struct faina_error *err)
{
    struct fa_value end = fa_value_int(fa_id_key_at(fa_db_now(writer->db) + IDS_AHEAD_US));

    return fa_db_one(writer->db, FA_SQL_TASK_LAST, &end, 1, fa_db_sink_int, &writer->ids.last_key,
                     err);
}

enum faina_code fa_writer_open(struct fa_engine *engine, struct fa_writer *writer,
                               struct faina_error *err)
{
    bool is_first = writer == &engine->writers[0];
    enum faina_code code;

    writer->engine = engine;
    writer->lanes = fa_lanes_create();
    fa_lanes_set_types_max(writer->lanes, engine->types_max);
    fa_lanes_report_to(writer->lanes, engine->aside);
    writer->flows = fa_flows_create(engine->input_size_max, &engine->shared_flows);
    fa_random_seed_system(&writer->random);
    fa_random_seed_system(&writer->ids.random);
    writer->batch = fa_batch_create(run_jobs, writer, BATCH_WEIGHT_MAX, QUEUE_WEIGHT_MAX);
    if (writer->batch == NULL)
        return fa_error_set(err, FAINA_UNAVAILABLE, "no thread can be started");
    code = engine->store->ops->connect(engine->store, false, &writer->db, err);
    if (code == FAINA_OK && is_first)
        code = migrate_schema(writer, err);
    if (code == FAINA_OK && !fa_db_has(writer->db, FA_DB_MANY_WRITERS))
        code = find_last_id(writer, err);
    if (code == FAINA_OK && is_first)
        code = fa_timekeeper_resume(writer, err);
    if (code == FAINA_OK && !fa_db_has(writer->db, FA_DB_MANY_WRITERS))
        code = fa_lanes_load(writer->lanes, writer->db, err);
    if (code == FAINA_INTERNAL)
        code = refuse_store(engine, err);
    if (code == FAINA_OK)
        fa_unit_init(&writer->unit,
                     (struct fa_source){.store = engine->store,
                                        .db = writer->db,
                                        .lanes = writer->lanes,
                                        .for_change = true,
                                        .aside = engine->aside},
                     &writer->ids, &writer->random);
    if (code == FAINA_OK)
        fa_id_range_settle(&writer->unit, FAINA_UNAVAILABLE);
    writer->unit.flows = writer->flows;
    return code;
}

void fa_writer_close(struct fa_writer *writer)
{
    fa_batch_destroy(writer->batch);
    fa_policy_set_release(&writer->unit.source.policies);
    fa_unit_finish(&writer->unit);
    fa_lanes_destroy(writer->lanes);
    fa_flows_destroy(writer->flows);
    fa_db_close(writer->db);
}
