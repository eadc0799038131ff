/*
 * require.h - resources that an attempt requires while it runs.
 *
 * A claim checks the resources of a task against their limits. An attempt that requires another
 * resource ends; the task is queued again with the resource added, and no attempt is counted.
 *
 * Threads: the handler's own.
 */
#ifndef FA_WORKER_POOL_REQUIRE_H
#define FA_WORKER_POOL_REQUIRE_H

#include "worker/handler.h"

struct fa_require {
    const char **names; /* that the task lacks; in the arena */
    size_t count, size;
    struct faina_submit settings; /* for the outcome */
};

/* OK: the task has the resource. OVERLOADED: it doesn't, and is queued again with it when the
 * attempt ends. INVALID_REQUEST: the name is invalid, or there are too many. */
FA_MUST_CHECK enum faina_code fa_require(struct fa_require *require, struct fa_arena *arena,
                                         const struct faina_task *task, const char *name,
                                         struct faina_error *err);
/* True: the attempt ends with *outcome, whatever else it reported. */
bool fa_require_outcome(struct fa_require *require, struct fa_outcome *outcome);

#endif
