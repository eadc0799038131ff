/*
 * prefetch.h - reads what a batch of operations is going to ask for, with few statements.
 *
 * It changes nothing about what the operations do: what it did not foresee they read themselves.
 * It also settles the order in which a batch locks tasks, so that two nodes rarely wait for each
 * other in a circle.
 */
#ifndef FA_PREFETCH_H
#define FA_PREFETCH_H

#include "service/service.h"
#include "sql/unit.h"

/* All zero but for the unit. */
struct fa_prefetch {
    struct fa_unit *unit;
    struct fa_keys tasks, whole, hashes;
    bool has_ends; /* tasks are going to end */
};

void fa_prefetch_add(struct fa_prefetch *wants, const struct fa_op *op);
FA_MUST_CHECK enum faina_code fa_prefetch_run(struct fa_prefetch *wants, struct faina_error *err);

#endif
