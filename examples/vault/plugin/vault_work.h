/*
 * vault_work.h - work that continues in the background: the task's handler returns at once, a
 * thread of this process does the work, and its end completes or fails the task.
 *
 *     handler      vault_work_begin ---> FAINA_OUTCOME_BACKGROUND
 *     thread            '--> the work ... --> listener: faina_complete or faina_fail
 *
 * Each has a folder staging/TASK, locked while this process works on it, with the file `task` and,
 * when the work is done, its `output`.
 *
 *   W1  An attempt is ended by its own work only: each call carries its fence.
 *   W2  Work whose process was killed is found when the plugin is loaded again: its task is
 *       completed when the output is there, and otherwise fails, so that it is retried.
 *   W3  Work stops when its task was cancelled or has ended in another way.
 *
 * Threads: the handler's for begin, the work's for the rest.
 */
#ifndef VAULT_WORK_H
#define VAULT_WORK_H

#include "vault_store.h"

struct vault_work;

/* Does the work. True: `output` is the task's output, a JSON object. */
typedef bool vault_work_fn(struct vault_work *work, struct vault_text *output,
                           struct vault_error *err);

/* Takes the folder of the attempt, starts the thread, and makes the outcome of the handler. `input`
 * is malloc'ed; it is freed by free() when the work has ended. */
enum faina_outcome vault_work_begin(struct faina_context *context, const char *reason,
                                    vault_work_fn *run, void *input);

void *vault_work_input(struct vault_work *work);
const char *vault_work_task(const struct vault_work *work);
const char *vault_work_namespace(const struct vault_work *work);
const struct vault_store *vault_work_store(const struct vault_work *work);
/* The folder for its files; they are removed at its end. */
const char *vault_work_folder(const struct vault_work *work);
/* The worker's engine. */
struct faina *vault_work_engine(struct vault_work *work);

/* To be called often: reports the progress about once a second. False: stop, with *err. */
bool vault_work_progress(struct vault_work *work, uint64_t done, uint64_t total,
                         struct vault_error *err);
/* The same without a number, as vault_stop_fn; `ctx` is the work. */
bool vault_work_go_on(void *ctx, struct vault_error *err);

/* W2: starts a thread that looks through all namespaces. */
void vault_work_recover(void);

#endif
