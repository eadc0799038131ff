/*
 * writer.h - the transactions of an engine: jobs of many callers in, one commit out.
 *
 *   E1  Changes run in the thread of the batch leader, inside its transaction, on its writer's
 *       connection. A shared store (PostgreSQL) has several writers, which are independent of each
 *       other.
 *   E2  After a failed transaction the caches are loaded again before the next one.
 *   E3  Waiters are notified only after the commit.
 *   E4  Chores that are due run at the head of a transaction; the timer thread begins one when
 *       there is no other. Where there are several nodes, only the leader node runs chores, and
 *       only in transactions that its timer began: they take time over a network.
 *   E5  Where there is one writer, a transaction that makes tasks ready runs the claims that wait
 *       for them (waiting_claims.h) after all jobs. They never make a job fail: when jobs are
 *       retried one by one, no waiting claims are run.
 *   E6  Chores that run late mean that the engine was stalled, by a long transaction or a stopped
 *       process. So do failed transactions (the database was gone, the disk full). Heartbeats that
 *       were delayed by the stall are processed before leases expire: leases that ended since the
 *       chores were due are expired a second later, whatever else is due before.
 *   E7  Leases and other spans of time pass by a clock that doesn't jump (timekeeper.h).
 *   E8  When the disk is full, a store that has reserved space (store.h) frees it, and the failed
 *       jobs are run again without the operations that create tasks. These are refused until the
 *       store has room again; all others go on.
 *   E9  Chores that fail because of one item fail no operation of a user: the item is found and set
 *       aside (isolate.h), and the operations are run without chores.
 *
 *   E10 No transaction waits long for a key that a client in SQL holds (key_waits.h).
 *
 * Threads: any may run jobs; the members of a writer belong to the leader of its batch.
 */
#ifndef FA_STORE_TXN_WRITER_H
#define FA_STORE_TXN_WRITER_H

#include "store/txn/batch.h"
#include "store/txn/key_waits.h"
#include "store/workflow/definitions.h"
#include "store/queue/ops.h"
#include "store/read/readers.h"
#include "service/waiting_claims.h"
#include "store/db/store.h"
#include "store/upkeep/chore_health.h"
#include "service/waiters.h"

#include <pthread.h>
#include <stdatomic.h>

#define FA_WRITERS_MAX 4

struct fa_bulk_runner;
struct fa_engine;
struct fa_history_log;
struct fa_history_store;

/* A connection that writes, and the state of its transactions (E1). */
struct fa_writer {
    struct fa_engine *engine;
    struct fa_batch *batch;
    atomic_size_t load;    /* weight of its jobs that are queued or running */
    atomic_llong began_us; /* when its transaction began (monotonic); 0: none is open */
    struct fa_db *db;
    struct fa_lanes *lanes;
    struct fa_flows *flows;
    struct fa_id_source ids;
    struct fa_random random;
    struct fa_unit unit;
    struct fa_waiting_claim *taken; /* waiting claims that the transaction runs (E5) */
    struct fa_chore_scope *scope;   /* which chores it runs (chore_scope.h); NULL: all */
    bool in_chores;    /* the transaction is running chores, or has failed there (E9) */
    bool ran_chores;   /* it has run all that are due */
    bool writes_aside; /* it stores what was set aside ... */
    bool is_quiet;     /* ... without noting events */
    bool is_refusal;   /* the operation run last has failed without changing anything */
    bool needs_load;   /* E2 */
    size_t op_count;   /* operations that the transaction has run */
    bool is_announced; /* the transaction itself notifies other nodes of ready tasks */
};

#define FA_ENGINE_MISSED_MAX 100

struct fa_engine {
    struct fa_service base;
    struct fa_store *store;
    fa_do_fn *const *do_fns;    /* by kind of operation; NULL for reads */
    struct fa_readers *readers; /* NULL: in memory */
    struct fa_waiters *waiters;
    struct fa_waiting_claims *waiting_claims;
    struct fa_steady *clock;     /* the store's (store.h); NULL: the database's own rules */
    atomic_llong step_again_us;  /* a clock step failed and is tried again then (monotonic) */
    atomic_llong jumps_reported; /* of the wall clock (timekeeper.h) */
    struct fa_fleet *fleet;      /* NULL: there are no other nodes */
    struct fa_aside *aside;      /* what is set aside */
    struct fa_writer writers[FA_WRITERS_MAX];
    size_t writer_count;
    struct fa_key_waits key_waits; /* E10 */
    struct fa_policies *policies;  /* of types */
    struct fa_flow_shared shared_flows;
    size_t input_size_max;  /* of tasks that workflows create */
    int64_t events_keep_ms; /* retention of events */
    int64_t types_max;      /* that a namespace may have */

    int64_t opened_us;
    atomic_llong next_us;   /* when chores are due next; INT64_MAX: never */
    atomic_llong token_us;  /* when a claim that waits for a token may get one; INT64_MAX: none */
    atomic_llong forget_us; /* when the event log is purged next */
    atomic_llong commit_us; /* the last commit */
    atomic_llong fail_us;   /* the last commit before a failure; 0: none since the last chores */
    atomic_llong still_us;  /* the last stall began after this (E6) ... */
    atomic_llong grace_until_us; /* ... and delayed heartbeats are processed until then */
    atomic_llong full_us;        /* when a write last found the disk full; monotonic (E8) */
    atomic_llong commits, operations;
    atomic_bool is_shut;
    atomic_bool has_retried;  /* the items that were set aside before the engine was opened */
    struct fa_upkeep *upkeep; /* whether the chores succeed */
    struct fa_history_log *history;
    struct fa_history_store *history_store; /* the thread that stores it; NULL: not started */
    struct fa_bulk_runner *bulk_runner;     /* operations on many tasks */

    pthread_t timer;
    bool has_timer;
    /* Missed times of schedules that were not published yet; with timer_mutex. */
    struct fa_missed_times missed[FA_ENGINE_MISSED_MAX];
    size_t missed_count;
    struct fa_arena missed_texts;
    pthread_mutex_t timer_mutex; /* guards the two below */
    pthread_cond_t timer_cond;   /* signalled when next_us or token_us becomes earlier */
    bool is_closing;
    uint64_t token_types; /* shared store: of the claims that wait for tokens */
};

/* Work inside a transaction that isn't a user's operation. */
struct fa_chore {
    enum faina_code (*run)(struct fa_writer *writer, struct fa_chore *chore); /* the code is kept */
    enum faina_code code;
    struct faina_error error;
};

/* The operations of one caller. */
struct fa_op_job {
    struct fa_batch_job job; /* first member */
    struct fa_op *ops;
    size_t count;
    enum { FA_OPS_ALL, FA_OPS_READS, FA_OPS_WRITES } which;
    struct fa_chore *chore; /* instead of operations; NULL: none */

    /* E10, for jobs with operations. All zero at first. */
    int64_t key_wait_us; /* when it first waited for a key (monotonic); 0: never */
    bool should_move;    /* it was not run, or has failed, and belongs to the last writer */

    /* fa_writers_post. */
    void (*done)(void *ctx);
    void *ctx;
    struct fa_writer *writer;
};

/* Connects; the first writer of an engine also migrates the schema. */
FA_MUST_CHECK enum faina_code fa_writer_open(struct fa_engine *engine, struct fa_writer *writer,
                                             struct faina_error *err);
void fa_writer_close(struct fa_writer *writer); /* also after a failed open */

/* Returns when the operations are done; each has its result. */
void fa_writers_run(struct fa_engine *engine, struct fa_op_job *job);
/* Queues the operations, all of them changes, and returns; job->done is called when they are done.
 * OVERLOADED, STORE_CLOSED: they were not accepted. */
FA_MUST_CHECK enum faina_code fa_writers_post(struct fa_engine *engine, struct fa_op_job *job);
/* Runs a job; false: the engine is closed, and the operations have no results. A job without
 * operations runs the chores that are due. */
bool fa_writers_run_job(struct fa_engine *engine, struct fa_batch_job *job);
/* Returns the chore's code when it is done or was refused. */
FA_MUST_CHECK enum faina_code fa_writers_run_chore(struct fa_engine *engine, struct fa_chore *chore,
                                                   size_t weight, struct faina_error *err);
/* Runs one operation, inside a chore. True: it makes the transaction fail, which the chore must
 * report. Otherwise op->code is only its own. */
FA_MUST_CHECK bool fa_writer_run_op(struct fa_writer *writer, struct fa_op *op);
/* Runs a part of the chores in a transaction of its own (E9); a list of what is due is rolled
 * back. */
FA_MUST_CHECK enum faina_code fa_writer_run_part(struct fa_writer *writer,
                                                 struct fa_chore_scope *scope,
                                                 struct faina_error *err);
/* A task with this key has become ready, maybe before a scan start (scan_start.h, O3). */
void fa_engine_note_arrival(struct fa_engine *engine, int64_t key);
/* Whether new tasks are refused now (E8). Any thread. */
bool fa_engine_is_full(struct fa_engine *engine);
/* Chores are due at this time, or earlier. */
void fa_engine_set_next(struct fa_engine *engine, int64_t at_us);

#endif
