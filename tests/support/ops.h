/*
 * ops.h - each operation of service.h as one call, for tests.
 *
 * Every call returns the operation's code, leaves the whole operation in t->op and its task in
 * t->task, and checks what must hold for every result: an error has a sentence, and a task obeys
 * the rules of model/states.h (fa_t_check_task).
 */
#ifndef FA_TEST_OPS_H
#define FA_TEST_OPS_H

#include "support/support.h"

/* BY("w1"), BY("w1", .fence = 3), BY(NULL, .version = 7) */
#define BY(...) ((struct faina_by){.worker_id = __VA_ARGS__})
#define NOBODY ((struct faina_by){0})

/* Checks what must hold for every task that an engine returns. */
void fa_t_check_task(const struct faina_task *task);

/* Runs one operation, or several in one call. */
enum faina_code fa_t_run(struct fa_t *t, const struct fa_op *op);
void fa_t_run_all(struct fa_t *t, struct fa_op *ops, size_t count);

/* fa_t_submit(t, .type = "mail", ...) must be accepted and gives the id; fa_t_try_submit gives the
 * code. */
#define fa_t_submit(t, ...)                                                                        \
    fa_t_submit_ok(t, &(struct faina_submit){__VA_ARGS__}, __FILE__, __LINE__)
#define fa_t_try_submit(t, ...) fa_t_submit_code(t, &(struct faina_submit){__VA_ARGS__})
const char *fa_t_submit_ok(struct fa_t *t, const struct faina_submit *submit, const char *file,
                           int line);
enum faina_code fa_t_submit_code(struct fa_t *t, const struct faina_submit *submit);

enum faina_code fa_t_claim(struct fa_t *t, const char *id, const char *worker_id);
enum faina_code fa_t_claim_for(struct fa_t *t, const char *id, const char *worker_id,
                               int64_t lease_ms);
/* fa_t_claim_next(t, .worker_id = "w", .limit = 3): the tasks are in t->op.tasks. */
#define fa_t_claim_next(t, ...) fa_t_claim_next_code(t, &(struct faina_claim){__VA_ARGS__})
enum faina_code fa_t_claim_next_code(struct fa_t *t, const struct faina_claim *claim);
enum faina_code fa_t_claim_wait(struct fa_t *t, const struct faina_claim *claim);

enum faina_code fa_t_start(struct fa_t *t, const char *id, struct faina_by by);
enum faina_code fa_t_progress(struct fa_t *t, const char *id, struct faina_by by, int progress);
enum faina_code fa_t_report(struct fa_t *t, const char *id, struct faina_by by,
                            const struct faina_report *report);
enum faina_code fa_t_heartbeat(struct fa_t *t, const char *id, struct faina_by by,
                               int64_t lease_ms);
enum faina_code fa_t_complete(struct fa_t *t, const char *id, struct faina_by by,
                              const char *output);
enum faina_code fa_t_fail_attempt(struct fa_t *t, const char *id, struct faina_by by,
                                  const char *message);
enum faina_code fa_t_fail_final(struct fa_t *t, const char *id, struct faina_by by,
                                const char *message);
enum faina_code fa_t_fail_with(struct fa_t *t, const char *id, struct faina_by by,
                               const struct faina_failure *failure);
enum faina_code fa_t_block(struct fa_t *t, const char *id, struct faina_by by,
                           const struct faina_submit *subtasks, size_t count);
enum faina_code fa_t_block_fast(struct fa_t *t, const char *id, struct faina_by by,
                                const struct faina_submit *subtasks, size_t count);
enum faina_code fa_t_background(struct fa_t *t, const char *id, struct faina_by by,
                                int64_t timeout_ms);
enum faina_code fa_t_release(struct fa_t *t, const char *id, struct faina_by by);
enum faina_code fa_t_cancel(struct fa_t *t, const char *id, struct faina_by by);
enum faina_code fa_t_retry(struct fa_t *t, const char *id, struct faina_by by);
enum faina_code fa_t_retry_keep(struct fa_t *t, const char *id, struct faina_by by);
enum faina_code fa_t_delete(struct fa_t *t, const char *id);
enum faina_code fa_t_delete_with(struct fa_t *t, const char *id, struct faina_by by,
                                 struct faina_removal removal);
#define fa_t_purge(t, ...) fa_t_purge_code(t, &(struct faina_purge){__VA_ARGS__})
enum faina_code fa_t_purge_code(struct fa_t *t, const struct faina_purge *purge);
enum faina_code fa_t_pause(struct fa_t *t, const char *ns, const char *type);
enum faina_code fa_t_resume(struct fa_t *t, const char *ns, const char *type);

enum faina_code fa_t_get(struct fa_t *t, const char *id);
enum faina_code fa_t_get_by_key(struct fa_t *t, const char *ns, const char *type, const char *key);
#define fa_t_list(t, ...) fa_t_list_code(t, &(struct faina_query){__VA_ARGS__})
enum faina_code fa_t_list_code(struct fa_t *t, const struct faina_query *query);
enum faina_code fa_t_children(struct fa_t *t, const char *id, int limit, const char *cursor);
enum faina_code fa_t_events(struct fa_t *t, const char *id, int limit);
enum faina_code fa_t_explain(struct fa_t *t, const char *id);
enum faina_code fa_t_wait(struct fa_t *t, const char *id, int64_t timeout_ms);

enum faina_code fa_t_resource_set(struct fa_t *t, const char *name, int64_t max_concurrency);
enum faina_code fa_t_resource_remove(struct fa_t *t, const char *name);
enum faina_code fa_t_resource_list(struct fa_t *t, const char *name);
int64_t fa_t_in_use(struct fa_t *t, const char *name); /* by the one resource `name` */
enum faina_code fa_t_team_put(struct fa_t *t, const struct faina_team *team);
enum faina_code fa_t_team_remove(struct fa_t *t, const char *id);
enum faina_code fa_t_team_list(struct fa_t *t, const char *ns, const char *id);
enum faina_code fa_t_stats(struct fa_t *t, const char *ns);

/* ------------------------------------------------------------------------------------------
 * Shorthands
 */

/* The current task; it must exist. */
struct faina_task *fa_t_task(struct fa_t *t, const char *id);
enum faina_status fa_t_status(struct fa_t *t, const char *id);
void fa_t_wait_status(struct fa_t *t, const char *id, enum faina_status status);

/* Claims and starts it as `worker_id`. */
void fa_t_take(struct fa_t *t, const char *id, const char *worker_id);
/* A parent that was blocked continues in this phase, in the same attempt, and then runs on "v". */
void fa_t_check_goes_on(struct fa_t *t, const char *id, enum faina_phase phase);
/* Takes it and completes it with output `{}`. */
void fa_t_finish_task(struct fa_t *t, const char *id);
/* A new task of type "made" in this status, by the shortest way there. Claimed and running ones
 * are held by `worker_id`. */
const char *fa_t_make(struct fa_t *t, enum faina_status status, const char *worker_id);
/* The id of the child at `index` of a task, oldest first. */
const char *fa_t_child(struct fa_t *t, const char *id, size_t index);

/* Everything that an engine returns about a task, as text to compare: all fields ... */
const char *fa_t_picture(struct fa_t *t, const char *id);
/* ... and all events, one a line, oldest first: "created pending API - {detail}". */
const char *fa_t_history(struct fa_t *t, const char *id);
/* The events' names alone, oldest first: "created claimed started". */
const char *fa_t_story(struct fa_t *t, const char *id);
/* "a b c": the names of the tasks of a list, in its order. */
const char *fa_t_names(struct fa_t *t, const struct faina_tasks *tasks);

#define CHECK_STORY(t, id, want) CHECK_STR(fa_t_story(t, id), want)
#define CHECK_NOW(t, id, want) CHECK_STATUS(fa_t_status(t, id), want)

#endif
