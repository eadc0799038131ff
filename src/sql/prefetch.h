/*
 * prefetch.h - reads what a batch of operations is going to ask for, with few statements.
 *
 * It changes nothing about what the operations do: what it did not foresee they read themselves.
 * It also settles the order in which a batch locks tasks, so that two nodes don't wait for each
 * other in a circle: first those of its operations, everything below what is cancelled, and the
 * subtasks of what blocks once more, table by table and in each the youngest first (row.h); then
 * the parents: of those that may end, and those that block once more. A parent that waits is in the
 * last of the tables, and its children are younger than it is.
 */
#ifndef FA_PREFETCH_H
#define FA_PREFETCH_H

#include "service/service.h"
#include "sql/unit.h"

/* All zero but for the unit. */
struct fa_prefetch {
    struct fa_unit *unit;
    struct fa_keys tasks, whole, hashes, roots, blocks;
    bool has_ends; /* tasks are going to end */
};

void fa_prefetch_add(struct fa_prefetch *wants, const struct fa_op *op);
FA_MUST_CHECK enum faina_code fa_prefetch_run(struct fa_prefetch *wants, struct faina_error *err);

#endif
