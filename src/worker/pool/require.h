/*
 * require.h - resources that an attempt asks for while it runs.
 *
 * What a task uses is known before it is claimed, so that limits hold. An attempt that finds out
 * that it needs more goes back in line for it, and spends nothing: the next claim has it.
 *
 * Threads: the handler's own.
 */
#ifndef FA_REQUIRE_H
#define FA_REQUIRE_H

#include "runtime/handler.h"

struct fa_require {
    const char **names; /* that the task lacks; in the arena */
    size_t count, size;
    struct faina_submit wish; /* for the outcome */
};

/* OK: the task has it. OVERLOADED: it does not, and goes back in line for it when the attempt ends.
 * INVALID_REQUEST: no such name can be, or there are too many. */
FA_MUST_CHECK enum faina_code fa_require(struct fa_require *require, struct fa_arena *arena,
                                         const struct faina_task *task, const char *name,
                                         struct faina_error *err);
/* True: the attempt ends with *outcome, whatever else it said. */
bool fa_require_outcome(struct fa_require *require, struct fa_outcome *outcome);

#endif
