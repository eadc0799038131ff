/*
 * bulk_runner.h - runs the operations on many tasks (queue/bulk_ops.h) in slices.
 *
 * A slice is one transaction: some tasks are changed, as by an operation of a user on each, and the
 * operation's numbers and position are stored with them. So an operation goes on where it was after
 * a restart, and after another node has become the leader.
 *
 *   U1  A slice writes for about SLICE_US. When others use the store it is shorter, and a pause as
 *       long follows. So others wait for at most one slice.
 *   U2  A task that can't be changed counts as failed, and the operation goes on. One that makes
 *       its transaction fail is found by halving the slice.
 *   U3  Only the leading node runs slices: each verifies in its transaction that the node leads,
 *       and that the operation still runs and is where the slice begins.
 *   U4  Tasks are found outside of the transaction, and compared with the filter again inside.
 *       The rest of a tree that is being cancelled is walked inside (queue/cancel_tree.h).
 *   U5  Operations that run at the same time take turns.
 *
 * Threads: one of its own; fa_bulk_runner_wake from any.
 */
#ifndef FA_STORE_UPKEEP_BULK_RUNNER_H
#define FA_STORE_UPKEEP_BULK_RUNNER_H

#include "base/error.h"

struct fa_bulk_runner;
struct fa_engine;

struct fa_bulk_runner *fa_bulk_runner_create(struct fa_engine *engine);
/* When the writers are open. */
FA_MUST_CHECK enum faina_code fa_bulk_runner_start(struct fa_bulk_runner *runner,
                                                   struct faina_error *err);
/* Returns after the slice that runs. Does nothing when it wasn't started. */
void fa_bulk_runner_stop(struct fa_bulk_runner *runner);
void fa_bulk_runner_destroy(struct fa_bulk_runner *runner); /* NULL is fine */
/* A committed transaction has started an operation. */
void fa_bulk_runner_wake(struct fa_bulk_runner *runner);

#endif
