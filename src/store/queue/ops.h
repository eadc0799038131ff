/*
 * ops.h - the operations that change something, each over a unit.
 *
 * An operation checks everything before it changes anything, so a refused one has changed nothing
 * (a late outcome adds an event). It returns its code, with the message in op->error. UNAVAILABLE
 * and INTERNAL mean that the store failed, and end the whole batch; every other code concerns this
 * operation alone.
 *
 * By file: submit.c; claim.c (claim next); claim_one.c (claim, start, release, snooze); outcome.c
 * (progress, heartbeat, note, complete, fail, block, background); requeue.c; manage.c (cancel,
 * retry, delete, purge); admin.c (pauses, resources, teams); workers.c; tokens.c; type_defaults.c
 * (amend); update.c; bulk_ops.c (operations on many tasks); and of other folders workflow/ (emit,
 * definitions, schedules) and upkeep/chores.c (timed work).
 */
#ifndef FA_STORE_QUEUE_OPS_H
#define FA_STORE_QUEUE_OPS_H

#include "model/task_rules.h"
#include "service/refusal.h"
#include "service/service.h"
#include "store/queue/children.h"
#include "store/txn/unit.h"

/* How often a change of a definition is retried after another node has changed it first. */
#define FA_CHANGE_TRIES 100

typedef enum faina_code fa_do_fn(struct fa_unit *unit, struct fa_op *op);

fa_do_fn fa_do_submit;
fa_do_fn fa_do_claim, fa_do_claim_next, fa_do_start, fa_do_release, fa_do_snooze, fa_do_requeue;
fa_do_fn fa_do_progress, fa_do_heartbeat, fa_do_complete, fa_do_fail, fa_do_block, fa_do_background;
fa_do_fn fa_do_subtask;
fa_do_fn fa_do_log_add, fa_do_note, fa_do_amend, fa_do_update;
fa_do_fn fa_do_cancel, fa_do_retry, fa_do_delete, fa_do_purge;
fa_do_fn fa_do_pause, fa_do_resume, fa_do_resource_set, fa_do_resource_remove;
fa_do_fn fa_do_type_put, fa_do_type_remove;
fa_do_fn fa_do_team_put, fa_do_team_remove;
fa_do_fn fa_do_worker_put, fa_do_worker_remove;
fa_do_fn fa_do_token_put, fa_do_token_remove;
fa_do_fn fa_do_emit, fa_do_workflow_put, fa_do_workflow_enable, fa_do_workflow_remove;
fa_do_fn fa_do_cron_put, fa_do_cron_remove, fa_do_cron_run;
fa_do_fn fa_do_broker_set, fa_do_settings_set, fa_do_audit_add;
fa_do_fn fa_do_bulk, fa_do_bulk_cancel;

/* Makes delayed tasks ready, takes back tasks whose lease has expired, ends those that timed out
 * (up to `limit` of each), and removes dead workers. *next_us is when it is due again (INT64_MAX:
 * no deadline is known). */
FA_MUST_CHECK enum faina_code fa_chores_run(struct fa_unit *unit, int64_t limit, int64_t *next_us,
                                            struct faina_error *err);

/* Whether the caller of a change may change the task, and act as the worker, that it names
 * (permit.c). Tasks that an operation finds by itself it checks itself. */
FA_MUST_CHECK enum faina_code fa_permit(struct fa_unit *unit, struct fa_op *op);
/* The namespaces that a registered worker belongs to (access.h). */
FA_MUST_CHECK enum faina_code fa_worker_owner(struct fa_unit *unit, const char *worker,
                                              bool *is_found, const char **namespaces,
                                              struct faina_error *err);
/* NOT_FOUND: the caller may not act as this worker. */
enum faina_code fa_refuse_worker(const char *worker, struct faina_error *err);

/* The task's metadata with a patch merged into it (RFC 7396). PAYLOAD_TOO_LARGE: it would be beyond
 * the limit. */
FA_MUST_CHECK enum faina_code fa_merge_metadata(struct fa_unit *unit, struct fa_row *row,
                                                const char *patch, const char **out,
                                                struct faina_error *err);

/* Shared by the files above ------------------------------------------------------------------ */

/* The names as a JSON array; NULL gives NULL. */
const char *fa_names_json(struct fa_arena *arena, const char *const *names, size_t count);
/* Sets the bool at `ctx`: the statement has returned a row. */
void fa_sink_found(void *ctx, size_t row, const struct fa_value *columns);
/* Finds the task op->id and checks op->by.version. `whole`: see fa_unit_get. */
FA_MUST_CHECK enum faina_code fa_find_task(struct fa_unit *unit, struct fa_op *op, bool whole,
                                           struct fa_row **out);
/* Sets the operation's result to this task. */
FA_MUST_CHECK enum faina_code fa_set_result(struct fa_unit *unit, struct fa_op *op,
                                            struct fa_row *row);

/* VERSION_CONFLICT: op->by.version is given, and isn't the task's. */
FA_MUST_CHECK enum faina_code fa_check_version(const struct fa_row *row, struct fa_op *op);
/* Whether the operation gives another fence than that of the task's last claim. */
bool fa_gives_other_fence(const struct fa_row *row, const struct fa_op *op);
/* WRONG_WORKER: op->by isn't the worker that holds the task. */
FA_MUST_CHECK enum faina_code fa_check_holder(const struct fa_row *row, struct fa_op *op);
/* Refuses a trigger that the table of model/states.h doesn't allow, with a message. */
enum faina_code fa_refuse(const struct fa_row *row, enum fa_trigger trigger, struct fa_op *op);
/* TASK_NOT_CLAIMED: no worker holds the task. If the caller gives a worker or fence, the message
 * says what happened to its lease. */
enum faina_code fa_refuse_not_held(const struct fa_row *row, struct fa_op *op);
/* Makes a held task ready again without spending an attempt. The trigger must be allowed, and the
 * row whole. */
void fa_return_to_queue(struct fa_unit *unit, struct fa_row *row, enum fa_trigger trigger,
                        const char *worker);
/* Removes workers without a heartbeat for too long; *next_us becomes when the next one is
 * due, if that is earlier. */
FA_MUST_CHECK enum faina_code fa_workers_remove_dead(struct fa_unit *unit, int64_t *next_us,
                                                     struct faina_error *err);
/* While a type has a policy for unhandled tasks: records that a worker claims (claimers.c), and
 * that it has signed off. */
FA_MUST_CHECK enum faina_code fa_claimer_note(struct fa_unit *unit, const struct faina_claim *claim,
                                              struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_claimer_forget(struct fa_unit *unit, const char *worker,
                                                struct faina_error *err);
/* Whether a live worker could handle the tasks of a lane. */
struct fa_live_workers;
FA_MUST_CHECK enum faina_code fa_live_workers_read(struct fa_unit *unit,
                                                   struct fa_live_workers **out,
                                                   struct faina_error *err);
bool fa_live_workers_handle(const struct fa_live_workers *workers, const struct fa_lane *lane);
/* After which a worker without a sign of life is dead. */
int64_t fa_worker_dead_us(const struct fa_source *source);
/* Removes workers that have not claimed for too long. */
FA_MUST_CHECK enum faina_code fa_claimers_expire(struct fa_unit *unit, struct faina_error *err);
/* Creates the tasks of due schedules, up to `limit`. */
FA_MUST_CHECK enum faina_code fa_crons_fire(struct fa_unit *unit, int64_t limit,
                                            struct faina_error *err);
/* Before claims: the tasks that the transaction makes ready can be claimed from now on, and their
 * types are in ready_types. */
FA_MUST_CHECK enum faina_code fa_claims_prepare(struct fa_unit *unit, struct faina_error *err);
/* Claims a pending task for a worker. */
void fa_claim_row(struct fa_unit *unit, struct fa_row *row, const char *worker, int64_t lease_us);
/* OVERLOADED when a resource of the task is at its limit. */
FA_MUST_CHECK enum faina_code fa_check_permits(struct fa_unit *unit, const struct fa_row *row,
                                               struct fa_op *op);

/* How an attempt failed. */
struct fa_attempt_end {
    const char *what; /* the event */
    bool is_lost;     /* the lease has expired: it is retried without backoff */
    bool by_engine;   /* the engine ends it, by the clock */
    enum faina_actor actor;
    const char *worker, *error;
    int64_t retry_at_us; /* when it is retried; 0: by its backoff */
};
/* Ends a failed attempt: the task is retried or, with no attempts left, becomes a dead letter. The
 * row must be whole. */
FA_MUST_CHECK enum faina_code fa_end_attempt(struct fa_unit *unit, struct fa_row *row,
                                             const struct fa_attempt_end *end,
                                             struct faina_error *err);

/* A task to be created, all checks done. */
struct fa_plan {
    const struct faina_submit *submit;
    const char *ns, *type;
    struct fa_lane *lane;
    struct fa_row *existing; /* the task that already has the key */
    struct fa_row *loses;    /* the task that had the key, and whose scope is over */
    int64_t key_scope;       /* model/task_rules.h */
    int priority;            /* its own, or that of its type; the same for the next */
    int64_t start_by_us;     /* 0: none */
    struct fa_key key;       /* its hash is 0: no key */
    char input_hash[65];     /* "" unless dedupe_input */
    struct fa_row **needs;
    size_t need_count;
    /* As a child: */
    struct fa_row *parent;
    const char *child;
    bool is_duplicate; /* an earlier plan is for the same child */
    struct fa_id id;   /* of the task to be created */
};
/* Plans a task. A subtask is planned among its siblings, with its name among them. */
FA_MUST_CHECK enum faina_code fa_plan_make(struct fa_unit *unit, const struct faina_submit *submit,
                                           struct fa_children *siblings, const char *child,
                                           struct fa_plan *out, struct faina_error *err);
/* Creates the task. Not for a plan with `existing` or is_duplicate. */
struct fa_row *fa_plan_carry_out(struct fa_unit *unit, const struct fa_plan *plan);
/* Whether fa_plan_replace changes the task. */
bool fa_plan_replaces(const struct fa_plan *plan);
/* For a plan with `existing`: `onDuplicate: replace` changes a pending task; else nothing happens
 * (duplicate.c). */
FA_MUST_CHECK enum faina_code fa_plan_replace(struct fa_unit *unit, const struct fa_plan *plan,
                                              struct faina_error *err);
/* Whether the caller of a submit may replace the task: a token that can cancel only its own tasks
 * can replace only these. */
FA_MUST_CHECK enum faina_code fa_permit_replace(struct fa_unit *unit, struct fa_op *op,
                                                const struct fa_row *row);
/* DUPLICATE_KEY: the key of `existing` is taken, and the submit is to be rejected. */
enum faina_code fa_plan_reject(const struct fa_plan *plan, struct faina_error *err);
/* INVALID_TASK: a planned subtask would wait for its parent or another ancestor
 * (dependency_cycle.c). */
FA_MUST_CHECK enum faina_code fa_check_dependency_cycle(struct fa_unit *unit,
                                                        const struct fa_row *parent,
                                                        const struct fa_plan *plans, size_t count,
                                                        struct faina_error *err);
/* Removes all keys of a task. The row must be whole. */
void fa_free_keys(struct fa_unit *unit, const struct fa_row *row);
/* Computes the keys of a task from their parts; returns their number. */
#define FA_KEYS_MAX 3
struct fa_key_parts {
    const char *ns, *type;
    const char *key, *input_hash, *child; /* NULL: no key of this kind */
    int64_t parent;
};
size_t fa_keys_of(const struct fa_key_parts *task, struct fa_key out[FA_KEYS_MAX]);
/* Identifies a task's work: its type and input. The hash is 0 if the input is not JSON, as in a
 * damaged store. */
struct fa_key fa_work_hash(struct fa_bytes type, struct fa_bytes input);
/* The hash under which task_key finds an idempotency key. */
struct fa_key fa_key_hash(const char *ns, const char *type, const char *key);

/* A task was removed: a lane may be empty now (upkeep/chore_empty_lanes.c). */
void fa_chore_empty_soon(struct fa_unit *unit);
/* Removes an ended task from the store. The row must be whole. */
void fa_purge_row(struct fa_unit *unit, struct fa_row *row);

/* The rows of a task's subtasks that the statement child_live or child_stale returns. */
FA_MUST_CHECK enum faina_code fa_children_of(struct fa_unit *unit, const struct fa_row *parent,
                                             enum fa_sql which, struct fa_row ***out, size_t *count,
                                             struct faina_error *err);

/* Makes an ended or held task pending again (FA_RETRY must be allowed): it waits for its
 * dependencies again, and the tasks that depend on it wait for it again. */
FA_MUST_CHECK enum faina_code fa_reopen(struct fa_unit *unit, struct fa_row *row,
                                        enum faina_actor actor, bool keep_attempts,
                                        struct faina_error *err);
/* Cancels a task that has not ended, and its live descendants; of many, the rest is cancelled later
 * (cancel_tree.h), and *count is without it. `state` is the text shown to users;
 * NULL: the default of the status. */
FA_MUST_CHECK enum faina_code fa_cancel_tree(struct fa_unit *unit, struct fa_row *root,
                                             enum faina_actor actor, const char *state,
                                             int64_t *count, struct faina_error *err);

#endif
