/*
 * context.h - a C handler's view of its attempt, in a thread of the pool or in a plugin's process.
 *
 * Reports, and subtasks whose id is wanted, go to the backend at once. Output, failure, subtasks
 * and so on are kept here and become the outcome.
 *
 * Threads: the handler's own.
 */
#ifndef FA_WORKER_CONTEXT_H
#define FA_WORKER_CONTEXT_H

#include "worker/pool/require.h"

struct fa_context_backend {
    void (*report)(void *ctx, const struct faina_report *report);
    bool (*is_cancelled)(void *ctx);
    /* Creates the subtask in the engine, and writes its id. Blocks. */
    enum faina_code (*create)(void *ctx, const struct faina_submit *subtask, char id[FAINA_ID_SIZE],
                              struct faina_error *err);
};

struct faina_context {
    /* Set by the caller of fa_context_run. */
    struct fa_arena *arena; /* of the attempt */
    const struct faina_task *task;
    const char *subtasks_json; /* NULL: none */
    size_t output_max;
    const struct fa_context_backend *backend;
    void *backend_ctx;

    struct faina_subtask *subtasks; /* read at first use */
    size_t subtask_count;
    bool has_read;

    const char *output;
    struct faina_failure failure;
    const char *reason;
    int64_t timeout_ms;
    struct faina_submit *children;
    size_t child_count, child_size;
    bool fail_fast;
    struct fa_require *require; /* in the arena; NULL: no resource was required */
};

/* Calls the function for the task's phase. The outcome lives in the context's arena. */
struct fa_outcome fa_context_run(struct faina_context *context, const struct faina_handler *handler,
                                 void *user);
/* The handler's settings for tasks of its type, as a submit; copied into `arena`. */
struct faina_submit fa_context_settings(struct fa_arena *arena,
                                        const struct faina_handler *handler);
/* Checks that the handler can be called, and its limits. */
FA_MUST_CHECK enum faina_code fa_context_check(const char *type,
                                               const struct faina_handler *handler,
                                               struct faina_error *err);

#endif
