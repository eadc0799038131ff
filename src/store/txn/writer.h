/*
 * writer.h - the transactions of an engine: jobs of many callers in, one commit out.
 *
 *   E1  Changes run in the leader's thread, inside its transaction, on its writer's connection. A
 *       store that others share (PostgreSQL) has several writers, which know nothing of each other.
 *   E2  After a failed transaction the caches are loaded anew before the next one.
 *   E3  Nothing is told to waiters before the commit.
 *   E4  Chores that are due run at the head of a transaction; the timer thread makes one happen
 *       when nobody else does. Where there are several nodes, only the one that leads does them,
 *       and only in transactions that its timer began: they take time over a network.
 *   E5  Where there is one writer, a transaction that makes work runs the claims that stand for it
 *       (standing.h) after all jobs. They never make a job fail: when jobs are tried by themselves,
 *       those claims are left out.
 *   E6  Chores that come late mean that everything stood still: a long transaction, a stopped
 *       process; and so do transactions that failed (a database that was
 *       gone, a full disk). Those who meant to renew their leases meanwhile are heard
 *       first: leases that ended since the chores were due are taken back a second later, whatever
 *       else is due before.
 *   E7  Leases and other spans of time pass by a clock that doesn't jump (timekeeper.h).
 *   E8  When the disk is full, a store that has kept room for it (store.h) gives that up, and what
 *       failed is run once more without the operations that make tasks. These are refused until the
 *       store has room again; everything else goes on.
 *   E9  Chores that fail because of one item fail no operation of a user: the item is found and set
 *       aside (isolate.h), and the operations are run without chores.
 *
 * Threads: any may run jobs; what is in a writer belongs to whoever leads its batch.
 */
#ifndef FA_WRITER_H
#define FA_WRITER_H

#include "sql/batch.h"
#include "sql/flows.h"
#include "sql/ops.h"
#include "sql/readers.h"
#include "sql/standing.h"
#include "sql/store.h"
#include "sql/upkeep.h"
#include "sql/waiters.h"

#include <pthread.h>
#include <stdatomic.h>

#define FA_WRITERS_MAX 4

struct fa_engine;

/* A connection that changes something, and what belongs to its transactions (E1). */
struct fa_writer {
    struct fa_engine *engine;
    struct fa_batch *batch;
    atomic_size_t load;    /* weight of the jobs that were handed in and are not done */
    atomic_llong began_us; /* when its transaction began (monotonic); 0: it has none */
    struct fa_db *db;
    struct fa_lanes *lanes;
    struct fa_flows *flows;
    struct fa_id_source ids;
    struct fa_random random;
    struct fa_unit unit;
    struct fa_stand *stands; /* claims that the transaction has taken (E5) */
    struct fa_chore_scope
        *scope;        /* which chores its transaction runs (chores/scope.h); NULL: all */
    bool in_chores;    /* the transaction is running chores, or has failed there (E9) */
    bool ran_chores;   /* it has run all that are due */
    bool writes_aside; /* it stores what was set aside ... */
    bool is_quiet;     /* ... without noting events */
    bool is_refusal;   /* the operation run last has failed without changing anything */
    bool needs_load;   /* E2 */
    bool is_announced; /* the transaction itself tells other nodes of work */
};

struct fa_engine {
    struct fa_service base;
    struct fa_store *store;
    fa_do_fn *const *do_fns;    /* what each kind of operation does, for those that change */
    struct fa_readers *readers; /* NULL: in memory */
    struct fa_waiters *waiters;
    struct fa_standing *standing;
    struct fa_steady *clock;    /* the store's (store.h); NULL: the database's own rules */
    atomic_llong step_again_us; /* a step of it failed, and waits until then (monotonic) */
    atomic_llong jumps_told;    /* of the wall clock (timekeeper.h) */
    struct fa_fleet *fleet;     /* NULL: there are no other nodes */
    struct fa_aside *aside;     /* what is set aside */
    struct fa_writer writers[FA_WRITERS_MAX];
    size_t writer_count;
    struct fa_flow_shelf shelf;
    size_t input_size_max;  /* of tasks that workflows make */
    int64_t events_keep_ms; /* how long events are kept */
    int64_t types_max;      /* that a namespace may have */

    int64_t opened_us;
    atomic_llong next_us;   /* when the clock asks for something; INT64_MAX: never */
    atomic_llong forget_us; /* when to forget the oldest of the log */
    atomic_llong commit_us; /* the last one */
    atomic_llong fail_us;   /* the last commit before one failed; 0: no chores are due since then */
    atomic_llong still_us;  /* the last standstill began after this (E6) ... */
    atomic_llong hear_us;   /* ... and whoever it kept waiting is heard until then */
    atomic_llong full_us;   /* when the disk was last found full; monotonic (E8) */
    atomic_llong commits, operations;
    atomic_bool is_shut;
    atomic_bool has_retried;  /* what was set aside before this process was opened */
    struct fa_upkeep *upkeep; /* whether the chores succeed */

    pthread_t timer;
    bool has_timer;
    pthread_mutex_t timer_mutex; /* guards is_closing; the condition says that next_us is earlier */
    pthread_cond_t timer_cond;
    bool is_closing;
};

/* Work inside a transaction that is no operation of a user's. */
struct fa_chore {
    enum faina_code (*run)(struct fa_writer *writer, struct fa_chore *chore); /* the code is kept */
    enum faina_code code;
    struct faina_error error;
};

/* The operations of one caller. */
struct fa_op_job {
    struct fa_job job; /* first member */
    struct fa_op *ops;
    size_t count;
    enum { FA_OPS_ALL, FA_OPS_READS, FA_OPS_WRITES } which;
    struct fa_chore *chore; /* instead of operations; NULL: none */
};

/* Connects; the first one of an engine also brings the schema forward. */
FA_MUST_CHECK enum faina_code fa_writer_open(struct fa_engine *engine, struct fa_writer *writer,
                                             struct faina_error *err);
void fa_writer_close(struct fa_writer *writer); /* also when it was opened only in part */

/* Returns when the operations are done; each has its answer. */
void fa_writers_run(struct fa_engine *engine, struct fa_op_job *job);
/* The same without answers: false when the engine is closed. A job without operations makes the
 * chores run that are due. */
bool fa_writers_run_job(struct fa_engine *engine, struct fa_job *job);
/* Returns when the chore is done or was refused; its code is the answer. */
FA_MUST_CHECK enum faina_code fa_writers_run_chore(struct fa_engine *engine, struct fa_chore *chore,
                                                   size_t weight, struct faina_error *err);
/* Runs a part of the chores in a transaction of its own (E9); a list of what is due is rolled
 * back. */
FA_MUST_CHECK enum faina_code fa_writer_run_part(struct fa_writer *writer,
                                                 struct fa_chore_scope *scope,
                                                 struct faina_error *err);
/* A task has come into line behind others (fronts.h, O3). */
void fa_engine_tell_old(struct fa_engine *engine, int64_t key);
/* Whether new tasks are refused now (E8). Any thread. */
bool fa_engine_is_full(struct fa_engine *engine);
/* The clock asks for something at this time, or earlier. */
void fa_engine_set_next(struct fa_engine *engine, int64_t at_us);

#endif
