/*
 * kv_engine.h - the engine of document 002, over a store of keys.
 *
 * Every change of a task is a compare-and-set on the revision of its key (kv_change.h). README.md
 * lists the sequences of several writes, and what a crash between them leaves.
 *
 *   E1  Operations of callers that arrive together share one pipeline of reads and writes. Each has
 *       its own result, and those of one call that concern the same task run in their order.
 *   E2  Nothing is kept in memory that is not also in the store: a node may stop at any time.
 *   E3  Time is the node's steady clock (base/steady.h). Nodes that share a store must have clocks
 *       that agree within FA_KV_CLOCK_SLACK_US.
 *
 * Threads: those of callers; the runner, for posted operations; the keeper, for deadlines and
 * repairs; and the thread of the store's watch.
 */
#ifndef FA_KV_KV_ENGINE_H
#define FA_KV_KV_ENGINE_H

#include "base/steady.h"
#include "kv/kv.h"
#include "kv/kv_index.h"
#include "kv/kv_named.h"
#include "kv/kv_record.h"
#include "service/refusal.h"
#include "service/service.h"
#include "service/waiters.h"
#include "service/waiting_claims.h"

#include <pthread.h>

#define FA_KV_READY_WAIT_MS 30000 /* an operation that needs the index waits so long for it */

struct fa_kv_job;

/* What may be left of a submit or of a deletion that was not finished. */
struct fa_kv_suspect {
    char *key; /* of an idempotency key; NULL: a task that is marked as deleted */
    char id[FAINA_ID_SIZE];
    int64_t seen_us;
};

struct fa_kv_engine {
    struct fa_service base;
    struct fa_kv *kv;
    struct fa_steady clock;
    struct fa_kv_shape shape;
    struct fa_kv_index *index;
    struct fa_kv_named *named;
    struct fa_waiters *waiters;
    struct fa_waiting_claims *claims;
    size_t input_size_max;
    atomic_bool is_shut;
    atomic_llong commits, operations, damaged;

    pthread_mutex_t mutex; /* guards what follows */
    struct fa_id_source ids;
    struct fa_random random;
    pthread_cond_t ready_cond;
    bool is_ready; /* the index has everything that was stored when the watch began */
    struct fa_kv_suspect *suspects;
    size_t suspect_count, suspect_size;

    pthread_mutex_t queue_mutex; /* guards what follows */
    pthread_cond_t runner_cond;
    struct fa_kv_job *first, **last;
    int active; /* threads that run jobs */
    bool is_closing;

    pthread_mutex_t keeper_mutex; /* guards what follows */
    pthread_cond_t keeper_cond;
    int64_t keeper_next_us; /* by the engine's clock */
    bool keeper_is_ending;

    pthread_t runner, keeper;
    bool has_runner, has_keeper, is_watching;
};

static inline int64_t fa_kv_now(struct fa_kv_engine *engine)
{
    return fa_steady_now(&engine->clock);
}

/* Takes the store, also on failure. */
FA_MUST_CHECK enum faina_code fa_kv_engine_open(struct fa_service **out, struct fa_kv *kv,
                                                const struct faina_options *options,
                                                struct faina_error *err);

/* Waits until the index has everything. UNAVAILABLE: it took too long. STORE_CLOSED. */
FA_MUST_CHECK enum faina_code fa_kv_engine_await(struct fa_kv_engine *engine,
                                                 struct faina_error *err);
/* Wakes those that wait for what has changed. */
void fa_kv_engine_notify(struct fa_kv_engine *engine,
                         const struct fa_kv_notification *notification);
/* Wakes the keeper at this time, or earlier. */
void fa_kv_engine_set_next(struct fa_kv_engine *engine, int64_t at_us);
void fa_kv_engine_suspect(struct fa_kv_engine *engine, const char *key, const char *id);
int64_t fa_kv_engine_backoff_us(struct fa_kv_engine *engine, const struct faina_task *task);
struct fa_id fa_kv_engine_new_id(struct fa_kv_engine *engine, bool is_task);
/* A pause before the next try: short, random, and longer with each. */
void fa_kv_engine_pause(struct fa_kv_engine *engine, int tries);

/* The operations (the files of the same names). Each sets op->code and the answer. */
void fa_kv_read_op(struct fa_kv_engine *engine, struct fa_op *op);              /* kv_lookup.c */
enum faina_code fa_kv_admin_op(struct fa_kv_engine *engine, struct fa_op *op);  /* kv_admin.c */
enum faina_code fa_kv_worker_op(struct fa_kv_engine *engine, struct fa_op *op); /* kv_workers.c */
enum faina_code fa_kv_purge_op(struct fa_kv_engine *engine, struct fa_op *op);  /* kv_manage.c */
/* NOT_SUPPORTED, with a sentence that says which engines have it. */
enum faina_code fa_kv_refuse_op(struct fa_op *op);

/* Whether a worker id may be used by the caller (access.h, X2). */
FA_MUST_CHECK enum faina_code fa_kv_permit_worker(struct fa_kv_engine *engine, struct fa_op *op,
                                                  const char *worker);
/* Repairs what was left of unfinished sequences (README.md), and permits without a holder. */
void fa_kv_scrub(struct fa_kv_engine *engine);
/* The duties of the keeper: deadlines. *next_us: when it is due again. */
void fa_kv_keep(struct fa_kv_engine *engine, int64_t *next_us);

#endif
