/*
 * kv_ops.h - the operations on tasks, as decisions over a record (kv_change.h).
 *
 * Threads: pure but for the clock and the random numbers of the engine.
 */
#ifndef FA_KV_KV_OPS_H
#define FA_KV_KV_OPS_H

#include "kv/kv_change.h"

/* The decision of an operation on one task, op->id; NULL: it is another kind of operation. */
fa_kv_decide_fn *fa_kv_decider(enum fa_op_kind kind);

/* kv_outcome.c */
fa_kv_decide_fn fa_kv_decide_claim, fa_kv_decide_start, fa_kv_decide_release, fa_kv_decide_snooze,
    fa_kv_decide_progress, fa_kv_decide_heartbeat, fa_kv_decide_note, fa_kv_decide_amend,
    fa_kv_decide_complete, fa_kv_decide_fail, fa_kv_decide_background;
/* kv_manage.c */
fa_kv_decide_fn fa_kv_decide_cancel, fa_kv_decide_retry, fa_kv_decide_delete;

/* Of the engine itself: `ctx` is a struct fa_kv_renewal; or nothing. */
struct fa_kv_renewal {
    const char *worker;
    int64_t fence;    /* 0: any */
    int64_t lease_ms; /* 0: as claimed */
    const struct fa_grant *grant;
};
fa_kv_decide_fn fa_kv_decide_renew;  /* WRONG_WORKER: the worker doesn't hold it */
fa_kv_decide_fn fa_kv_decide_expire; /* its deadline has passed */
fa_kv_decide_fn fa_kv_decide_return; /* `ctx`: the worker that is removed; CLAIMED by it */

/* The caller's claim of a task that was taken from the index. */
fa_kv_decide_fn fa_kv_decide_take;

/* What a record is compared with (refusal.h). */
struct fa_holding fa_kv_holding(const struct fa_kv_record *record);
/* VERSION_CONFLICT, or what the caller may not see or do. */
FA_MUST_CHECK enum faina_code fa_kv_enter(const struct fa_kv_record *record, struct fa_op *op);

#endif
