/*
 * flush.h - rows that a unit will write besides those of tasks.
 */
#ifndef FA_STORE_TXN_FLUSH_H
#define FA_STORE_TXN_FLUSH_H

#include "store/txn/unit.h"

/* A row of `event`. */
struct fa_unit_event {
    int64_t task, at_us;
    const char *what;
    enum faina_status status;
    enum faina_actor actor;
    const char *state, *worker, *detail;
};

/* A row of task_key (hash, task, more), task_dep (task, needs) or hold (resource, task). */
struct fa_unit_link {
    enum fa_link kind;
    int64_t a, b, c;
};

#endif
