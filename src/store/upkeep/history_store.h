/*
 * history_store.h - stores the history (txn/history_log.h), once a minute and when the engine is
 * closed, and maintains what is stored.
 *
 *   K1  Each process stores its own counts, in a transaction of their own: rows for the busiest
 *       FA_HISTORY_TYPES_MAX types, one for the others of each namespace together, and sums by
 *       namespace and of everything.
 *   K2  The leader, or the only process, also stores how many tasks wait and run. It replaces the
 *       minutes of an hour by rows of the hour, in one transaction, when they are past
 *       FA_HISTORY_MINUTES_KEEP_US, and removes hours that are past FA_HISTORY_HOURS_KEEP_US, and
 *       groups of failures that are past FA_FAILURE_KEEP_US. Two
 *       processes that do this at once write the same rows, which are stored once.
 *   K3  A failure delays it to the next minute. No operation of a user depends on it.
 *
 * Threads: one of its own.
 */
#ifndef FA_STORE_UPKEEP_HISTORY_STORE_H
#define FA_STORE_UPKEEP_HISTORY_STORE_H

#include "base/error.h"

struct fa_engine;

FA_MUST_CHECK enum faina_code fa_history_store_start(struct fa_engine *engine,
                                                     struct faina_error *err);
/* Stores what is left; before the writers are closed. Does nothing when it wasn't started. */
void fa_history_store_stop(struct fa_engine *engine);

#endif
