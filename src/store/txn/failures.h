/*
 * failures.h - counts attempts that fail, by groups of failures that are alike
 * (model/failure_group.h).
 *
 *   J1  A failure is counted in the transaction that ends the attempt, in the table failure_group,
 *       right before the commit: rows of groups are locked for the time of the commit only, and in
 *       the order of their ids, so that nodes don't wait for each other in a circle.
 *   J2  A namespace has at most FA_FAILURE_GROUPS_MAX groups, and a few more until the next time
 *       that they are counted: those without a failure for the longest time are removed.
 *
 * Threads: the batch leader.
 */
#ifndef FA_STORE_TXN_FAILURES_H
#define FA_STORE_TXN_FAILURES_H

#include "store/txn/unit.h"

/* An attempt of the task has failed with row->error. */
void fa_failures_note(struct fa_unit *unit, const struct fa_row *row);
/* Before the commit. */
FA_MUST_CHECK enum faina_code fa_failures_write(struct fa_unit *unit, struct faina_error *err);

/* FAILURES. */
struct fa_op;
enum faina_code fa_read_failures(struct fa_source *source, struct fa_op *op);

#endif
