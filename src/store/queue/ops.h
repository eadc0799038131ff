/*
 * ops.h - the operations that change something, each over a unit.
 *
 * An operation checks everything first, then changes; so a refusal has changed nothing (a late
 * outcome leaves a note among the events). It returns its code with the sentence in op->error.
 * UNAVAILABLE and INTERNAL mean that the store failed, and end the whole batch; every other code
 * concerns this operation alone.
 *
 * By file: submit.c; claim.c (claim, claim next, start, release); outcome.c (progress, heartbeat,
 * note, complete, fail, block, background); manage.c (cancel, retry, delete, purge); admin.c
 * (pauses, resources, teams); workers.c; tokens.c; crons.c; amend.c; flows.c, emit.c, joins.c
 * (flows.h); chores.c (what the clock asks for).
 */
#ifndef FA_OPS_H
#define FA_OPS_H

#include "service/service.h"
#include "sql/children.h"
#include "sql/unit.h"

/* How often a change of a definition is tried again when another node has changed it first. */
#define FA_CHANGE_TRIES 100

typedef enum faina_code fa_do_fn(struct fa_unit *unit, struct fa_op *op);

fa_do_fn fa_do_submit;
fa_do_fn fa_do_claim, fa_do_claim_next, fa_do_start, fa_do_release;
fa_do_fn fa_do_progress, fa_do_heartbeat, fa_do_complete, fa_do_fail, fa_do_block, fa_do_background;
fa_do_fn fa_do_note, fa_do_amend;
fa_do_fn fa_do_cancel, fa_do_retry, fa_do_delete, fa_do_purge;
fa_do_fn fa_do_pause, fa_do_resume, fa_do_resource_set, fa_do_resource_remove;
fa_do_fn fa_do_team_put, fa_do_team_remove;
fa_do_fn fa_do_worker_put, fa_do_worker_remove;
fa_do_fn fa_do_token_put, fa_do_token_remove;
fa_do_fn fa_do_emit, fa_do_workflow_put, fa_do_workflow_enable, fa_do_workflow_remove;
fa_do_fn fa_do_cron_put, fa_do_cron_remove, fa_do_cron_run;

/* Promotes what is due, takes back what lost its lease, ends what is over its time (up to `limit`
 * of each), and forgets silent workers. *next_us is when to look again (INT64_MAX: nothing has a
 * time). */
FA_MUST_CHECK enum faina_code fa_chores_run(struct fa_unit *unit, int64_t limit, int64_t *next_us,
                                            struct faina_error *err);

/* Whether the caller of a change may touch the task, and act as the worker, that it names
 * (permit.c). What an operation finds by itself, it checks itself. */
FA_MUST_CHECK enum faina_code fa_permit(struct fa_unit *unit, struct fa_op *op);
/* The namespaces that a registered worker belongs to (access.h). */
FA_MUST_CHECK enum faina_code fa_worker_owner(struct fa_unit *unit, const char *worker,
                                              bool *is_found, const char **namespaces,
                                              struct faina_error *err);
/* NOT_FOUND: the caller may not act as this worker. */
enum faina_code fa_refuse_worker(const char *worker, struct faina_error *err);

/* Shared by the files above ------------------------------------------------------------------ */

/* Fills in the answer about one task. */
FA_MUST_CHECK enum faina_code fa_answer(struct fa_unit *unit, struct fa_op *op, struct fa_row *row);

/* Is op->by.version, when given, still the task's? */
FA_MUST_CHECK enum faina_code fa_check_version(const struct fa_row *row, struct fa_op *op);
/* Does it name a claim, and is that another than the task's last? */
bool fa_gives_fence(const struct fa_op *op);
bool fa_gives_other_fence(const struct fa_row *row, const struct fa_op *op);
/* May op->by act as the one who holds the task? */
FA_MUST_CHECK enum faina_code fa_check_holder(const struct fa_row *row, struct fa_op *op);
/* The refusal of a trigger that the table doesn't allow, with its sentence. */
enum faina_code fa_refuse(const struct fa_row *row, enum fa_trigger trigger, struct fa_op *op);
/* TASK_NOT_CLAIMED: only a worker that holds the task may do this, and none does. Who tells its
 * name or fence believes that it does, so the sentence says what became of its lease. */
enum faina_code fa_refuse_unheld(const struct fa_row *row, struct fa_op *op);
/* Puts a held task back in line without spending an attempt. The trigger must be allowed, and the
 * row whole. */
void fa_give_back(struct fa_unit *unit, struct fa_row *row, enum fa_trigger trigger,
                  const char *worker);
/* Forgets the workers that were silent for too long; *next_us becomes the time of the next such
 * look, when that is earlier. */
FA_MUST_CHECK enum faina_code fa_workers_forget(struct fa_unit *unit, int64_t *next_us,
                                                struct faina_error *err);
/* Makes the tasks of schedules that are due, up to `limit`. */
FA_MUST_CHECK enum faina_code fa_crons_fire(struct fa_unit *unit, int64_t limit,
                                            struct faina_error *err);
/* Before claims: what the transaction puts in line can be found there from now on, and its types
 * are in ready_types. */
FA_MUST_CHECK enum faina_code fa_claims_prepare(struct fa_unit *unit, struct faina_error *err);
/* How long a lease is; 0: the default. */
int64_t fa_lease_us(int64_t lease_ms);
/* Gives a task in line to a worker. */
void fa_take(struct fa_unit *unit, struct fa_row *row, const char *worker, int64_t lease_us);
/* OVERLOADED when a resource of the task is at its limit. */
FA_MUST_CHECK enum faina_code fa_check_permits(struct fa_unit *unit, const struct fa_row *row,
                                               struct fa_op *op);

/* Ends a failed attempt: back in line or, with none left, dead. The row must be whole. */
FA_MUST_CHECK enum faina_code fa_end_attempt(struct fa_unit *unit, struct fa_row *row, bool is_lost,
                                             const char *what, enum faina_actor actor,
                                             const char *worker, const char *error,
                                             struct faina_error *err);

/* A task to be made, all checks done. */
struct fa_plan {
    const struct faina_submit *submit;
    const char *ns, *type;
    struct fa_lane *lane;
    struct fa_row *existing; /* the key is known: this is the task */
    struct fa_key key;       /* its hash is 0: no key */
    char input_hash[65];     /* "" unless dedupe_input */
    struct fa_row **needs;
    size_t need_count;
    /* As a child: */
    struct fa_row *parent;
    const char *child;
    bool is_twin;    /* a plan before it is for the same child */
    struct fa_id id; /* of the task to be made */
};
/* Plans a task. A subtask is planned among its siblings, with the name that tells it from them. */
FA_MUST_CHECK enum faina_code fa_plan_make(struct fa_unit *unit, const struct faina_submit *submit,
                                           struct fa_children *siblings, const char *child,
                                           struct fa_plan *out, struct faina_error *err);
/* Not for one that is existing or a twin. */
struct fa_row *fa_plan_carry_out(struct fa_unit *unit, const struct fa_plan *plan);
/* INVALID_TASK: a subtask that is planned would wait for its parent, or one above it (rings.c). */
FA_MUST_CHECK enum faina_code fa_check_rings(struct fa_unit *unit, const struct fa_row *parent,
                                             const struct fa_plan *plans, size_t count,
                                             struct faina_error *err);
/* Frees every key that a task has. The row must be whole. */
void fa_free_keys(struct fa_unit *unit, const struct fa_row *row);
/* The keys that a task has, from what they are made of. Returns how many. */
#define FA_KEYS_MAX 3
struct fa_key_parts {
    const char *ns, *type;
    const char *key, *input_hash, *child; /* NULL: it has none of the kind */
    int64_t parent;
};
size_t fa_keys_of(const struct fa_key_parts *task, struct fa_key out[FA_KEYS_MAX]);
/* What tells a task's work from that of others: its type and input. Its hash is 0 when the input is
 * no JSON, as in a file that somebody has edited. */
struct fa_key fa_work_hash(struct fa_bytes type, struct fa_bytes input);
/* The hash under which task_key finds an idempotency key. */
struct fa_key fa_key_hash(const char *ns, const char *type, const char *key);

/* A task was removed: lanes may have none left (chores/empty.c). */
void fa_chore_empty_soon(struct fa_unit *unit);
/* Removes an ended task for good. The row must be whole. */
void fa_purge_row(struct fa_unit *unit, struct fa_row *row);

/* Subtasks of a task as the unit's rows: those that child_live or child_stale names. */
FA_MUST_CHECK enum faina_code fa_children_of(struct fa_unit *unit, const struct fa_row *parent,
                                             enum fa_sql which, struct fa_row ***out, size_t *count,
                                             struct faina_error *err);

/* Puts an ended or held task back in line (FA_RETRY must be allowed): it waits for its dependencies
 * again, and whoever waits for it counts it again. */
FA_MUST_CHECK enum faina_code fa_reopen(struct fa_unit *unit, struct fa_row *row,
                                        enum faina_actor actor, bool keep_attempts,
                                        struct faina_error *err);
/* Cancels a task that has not ended, and what lives below it. `state` is what people see; NULL:
 * the status's own words. */
FA_MUST_CHECK enum faina_code fa_cancel_tree(struct fa_unit *unit, struct fa_row *root,
                                             enum faina_actor actor, const char *state,
                                             int64_t *count, struct faina_error *err);

#endif
