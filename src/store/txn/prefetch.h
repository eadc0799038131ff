/*
 * prefetch.h - reads the tasks that a batch of operations will need, with few statements.
 *
 * It doesn't change what the operations do: they read themselves what was not prefetched. It also
 * fixes the order in which a batch locks tasks, so that two nodes never deadlock:
 *   1. the tasks of its operations, all descendants of cancelled tasks, and the subtasks of tasks
 *      that block again, table by table, in each table by descending key (row.h);
 *   2. the parents of tasks that may end, and the tasks that block again.
 * A parent that waits is in the last of the tables, and its children have higher keys.
 */
#ifndef FA_STORE_TXN_PREFETCH_H
#define FA_STORE_TXN_PREFETCH_H

#include "service/service.h"
#include "store/txn/unit.h"

/* The keys that the operations need. All zero but for the unit. */
struct fa_prefetch {
    struct fa_unit *unit;
    struct fa_keys tasks;  /* their state rows ... */
    struct fa_keys full;   /* ... and also their rows in `task` */
    struct fa_keys hashes; /* idempotency keys */
    struct fa_keys roots;  /* tasks that are cancelled with all their descendants */
    struct fa_keys blocks; /* tasks that block */
    bool has_ends;         /* some of the tasks will end */
};

void fa_prefetch_add(struct fa_prefetch *prefetch, const struct fa_op *op);
FA_MUST_CHECK enum faina_code fa_prefetch_run(struct fa_prefetch *prefetch,
                                              struct faina_error *err);

#endif
