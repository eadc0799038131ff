/*
 * context.h - what a C handler sees of its attempt, wherever it runs: in a thread of the pool, or
 * in a plugin's process.
 *
 * What the handler tells on the way goes to the backend at once; what it ends with is kept here and
 * becomes an outcome.
 *
 * Threads: the handler's own.
 */
#ifndef FA_CONTEXT_H
#define FA_CONTEXT_H

#include "runtime/require.h"

struct fa_context_backend {
    void (*report)(void *ctx, const struct faina_report *report);
    bool (*is_cancelled)(void *ctx);
};

struct faina_context {
    /* The maker fills these in. */
    struct fa_arena *arena; /* of the attempt */
    const struct faina_task *task;
    const char *subtasks_json; /* NULL: none */
    size_t output_max;
    const struct fa_context_backend *backend;
    void *backend_ctx;

    struct faina_subtask *subtasks; /* read when they are asked for */
    size_t subtask_count;
    bool has_read;

    const char *output;
    struct faina_failure failure;
    const char *reason;
    int64_t timeout_ms;
    struct faina_submit *children;
    size_t child_count, child_size;
    bool fail_fast;
    struct fa_require *require; /* in the arena; NULL: nothing was asked for */
};

/* Calls the entry that the task's phase asks for. The outcome lives in the context's arena. */
struct fa_outcome fa_context_run(struct faina_context *context, const struct faina_handler *handler,
                                 void *user);
/* What the handler says about tasks of its type, as a submit; copied into `arena`. */
struct faina_submit fa_context_wish(struct fa_arena *arena, const struct faina_handler *handler);
/* A handler that can be called, within its limits? */
FA_MUST_CHECK enum faina_code fa_context_check(const char *type,
                                               const struct faina_handler *handler,
                                               struct faina_error *err);

#endif
