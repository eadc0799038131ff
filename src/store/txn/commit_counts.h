/*
 * commit_counts.h - counts what a transaction has done: in the history, and for the listeners that
 * count (service.h).
 */
#ifndef FA_STORE_TXN_COMMIT_COUNTS_H
#define FA_STORE_TXN_COMMIT_COUNTS_H

#include "store/txn/history_log.h"
#include "store/txn/unit.h"
#include "service/waiters.h"

/* After the commit, in the leader's thread. `history` may be NULL. */
void fa_facts_publish(struct fa_waiters *waiters, struct fa_history_log *history,
                      struct fa_unit *unit, size_t op_count);
/* The items that were set aside and stored since the last call. */
void fa_facts_publish_aside(struct fa_waiters *waiters, struct fa_aside *aside);
/* This node has become the leader of a shared store, or is it no longer. */
void fa_facts_publish_lead(struct fa_waiters *waiters, bool leads);
/* The chores have failed for longer than FA_UPKEEP_FAILED_MS. */
void fa_facts_publish_stalled(struct fa_waiters *waiters, const char *reason);

#endif
