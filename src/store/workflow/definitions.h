/*
 * definitions.h - the workflows of a writer: compiled definitions, and an index of subscriptions.
 *
 * By file: definitions.c (definitions in memory and in the store), evaluate.c (the tasks that an
 * event makes), emit.c (stores events and their tasks; ends of tasks as events), joins.c (joins of
 * several ends).
 *
 *   K1  The definitions in memory are those that the store had when the transaction first read
 *       them. Where the store is shared, a generation that grows with each change is compared once
 *       per transaction. It is read together with the first tasks, so it costs no round trip.
 *   K2  Without subscriptions to ends of tasks, an end costs one comparison.
 *   K3  An event, its result and the tasks that it makes are written in one transaction: that of
 *       the emit, or the one that ends the task.
 *   K4  A join's row is locked from the first read to the end of the transaction. So a round has
 *       one last member, and its task is made once.
 *   K5  The caller of an emit evaluates the event (evaluate.h) before the transaction, with the
 *       definitions as of the last commit. The transaction uses the result if its own definitions
 *       are the same, and else evaluates again.
 *
 * Threads: the thread that leads the batch; a set and the published set, any.
 */
#ifndef FA_STORE_WORKFLOW_DEFINITIONS_H
#define FA_STORE_WORKFLOW_DEFINITIONS_H

#include "model/match_index.h"
#include "model/workflow.h"
#include "store/workflow/evaluate.h"
#include "store/queue/ops.h"

#include <pthread.h>
#include <stdatomic.h>

/* A stored workflow. */
struct fa_flow {
    const char *ns, *name;
    int64_t version;
    const struct fa_workflow *workflow; /* NULL: disabled, or not valid for this version */
};

/* The subscription of a trigger to a type of event, or of a join to a type of task. */
struct fa_subscription {
    const struct fa_flow *flow;
    const char *type;
    const struct fa_workflow_trigger *trigger; /* one of these two */
    const struct fa_join *join;
    size_t member; /* index of the type in the join */
};

/* All subscriptions to one type, in the order of definitions. */
struct fa_subscribers {
    const char *ns, *type;
    bool is_join; /* a type of task, else a type of event */
    const struct fa_subscription *items;
    size_t count;
    const struct fa_match_index *index; /* of events: which triggers may match */
    uint64_t hash;
    struct fa_subscribers *next; /* in its bucket */
};

/* Compiled definitions; immutable. */
struct fa_flow_set;

/* The newest committed definitions of an engine, shared by all its threads (K5). */
struct fa_flow_shared {
    pthread_mutex_t mutex;
    struct fa_flow_set *set; /* NULL: none yet */
    _Atomic uint64_t number; /* of the set */
    _Atomic uint64_t last_number;
};
void fa_flow_shared_init(struct fa_flow_shared *shared);
void fa_flow_shared_finish(struct fa_flow_shared *shared);

/* After a commit: publishes the definitions of the transaction. */
void fa_flows_publish(struct fa_flows *flows);
bool fa_flow_shared_is_empty(struct fa_flow_shared *shared);
/* The published set; NULL: there is none yet. */
struct fa_flow_set *fa_flow_set_acquire(struct fa_flow_shared *shared);
void fa_flow_set_release(struct fa_flow_set *set); /* NULL is fine */
const struct fa_subscribers *fa_flow_set_subscribers(const struct fa_flow_set *set, const char *ns,
                                                     const char *type, bool is_join);
/* Identifies a set. */
struct fa_flow_mark {
    uint64_t number;
    int64_t generation;
};
struct fa_flow_mark fa_flow_set_mark(const struct fa_flow_set *set);
/* After fa_flows_refresh: whether a set has the definitions of this transaction. */
bool fa_flows_is_at(const struct fa_unit *unit, struct fa_flow_mark mark);
const struct fa_flow_set *fa_flows_set(const struct fa_flows *flows);

/* The tasks of an operation EMIT, evaluated before the transaction. */
struct fa_emit_plan {
    struct fa_flow_mark mark;
    struct fa_evaluation evaluation;
    enum faina_code code; /* PAYLOAD_TOO_LARGE: beyond the limits (evaluate.h, V1) */
    struct faina_error error;
};
/* Whether the evaluation takes long enough to be done before the transaction. */
bool fa_emit_is_heavy(struct fa_flow_shared *shared, const struct fa_op *op);
/* Evaluates, once: the plan lives in op->arena. */
void fa_emit_prepare(struct fa_flow_shared *shared, size_t input_size_max, struct fa_op *op);

/* `shared` may be NULL: then nothing is published. */
struct fa_flows *fa_flows_create(size_t input_size_max, struct fa_flow_shared *shared);
void fa_flows_destroy(struct fa_flows *flows); /* NULL is fine */
/* After a failed transaction or a changed definition: the definitions are read again. */
void fa_flows_invalidate(struct fa_flows *flows);
size_t fa_flows_input_size_max(const struct fa_flows *flows);

/* A query for the generation of K1, to send with another one (row.h, `also`). */
const struct fa_db_call *fa_flows_generation_call(struct fa_unit *unit);
/* Reads the definitions if they have changed (K1). */
FA_MUST_CHECK enum faina_code fa_flows_refresh(struct fa_unit *unit, struct faina_error *err);

/* At the end of a transaction that has stored definitions: reads them, to be published with the
 * commit (K5). */
FA_MUST_CHECK enum faina_code fa_flows_read_changes(struct fa_unit *unit, struct faina_error *err);

/* As of the last refresh: whether there is a subscription to the end of any task. */
bool fa_flows_need_ends(const struct fa_flows *flows);
/* The subscriptions to a type of event (triggers) or of task (joins); NULL: there are none. */
const struct fa_subscribers *fa_flows_subscribers(const struct fa_flows *flows, const char *ns,
                                                  const char *type, bool is_join);
/* The join of this name in an enabled workflow, or NULL. */
const struct fa_subscription *fa_flows_join(const struct fa_flows *flows, const char *ns,
                                            const char *workflow, const char *name);
/* Whether the workflow exists, but is disabled or not valid for this version. */
bool fa_flows_is_inactive(const struct fa_flows *flows, const char *ns, const char *workflow);

/* NOT_FOUND: the store has no such workflow. */
FA_MUST_CHECK enum faina_code fa_flows_check_exists(struct fa_db *db, const char *ns,
                                                    const char *name, struct fa_arena *arena,
                                                    struct faina_error *err);

/* The definition of a workflow, as JSON in the arena; NULL: the store has none. */
FA_MUST_CHECK enum faina_code fa_flows_definition(struct fa_db *db, const char *ns,
                                                  const char *name, struct fa_arena *arena,
                                                  const char **out, struct faina_error *err);

/* The result of an event so far. Lives in the unit's arena. */
struct fa_emit_result {
    const char **tasks;
    size_t task_count, task_size;
    struct faina_emit_failure *failures;
    size_t failure_count, failure_size;
    bool has_budget;
    struct fa_evaluation budget; /* the rest of the limits (evaluate.h, V1) for more tasks */
};
/* The rest of the limits: all of them if nothing was evaluated yet. */
struct fa_evaluation *fa_emit_budget(const struct fa_unit *unit, struct fa_emit_result *result);

/* A task that a trigger or join makes. */
struct fa_making {
    const struct fa_flow *flow;
    const char *name; /* of the trigger or join */
    const struct fa_template *task;
    fa_template_lookup *lookup;
    void *lookup_ctx; /* with the result's budget, where it counts steps */
    const char *event_id;
    int64_t depth; /* of the task */
};
/* Adds the failures of an event without a caller to those that the commit reports to listeners. */
void fa_flow_report_failures(struct fa_unit *unit, const struct fa_emit_result *result);
/* Makes the task, or adds the reason why not to the failures. Fails only when the store fails. */
FA_MUST_CHECK enum faina_code fa_flow_make(struct fa_unit *unit, const struct fa_making *making,
                                           struct fa_emit_result *result, struct faina_error *err);

/* Runs the workflows for the tasks that have ended since the last call. Fails only when the store
 * fails. */
FA_MUST_CHECK enum faina_code fa_flows_process_ends(struct fa_unit *unit, struct faina_error *err);

/* A chore: processes events that were emitted in SQL, up to `limit`. *next_us becomes now if there
 * may be more. */
FA_MUST_CHECK enum faina_code fa_flows_take_inbox(struct fa_unit *unit, int64_t limit,
                                                  int64_t *next_us, struct faina_error *err);

/* A task that has ended, for its workflows. */
struct fa_ended_task {
    struct fa_row *row;
    const char *ns, *event_id;
    const char *json; /* the task */
    const char *input;
    int64_t depth;
};
/* Adds the task to the joins that it is a member of. */
FA_MUST_CHECK enum faina_code fa_joins_process_end(struct fa_unit *unit,
                                                   const struct fa_ended_task *ending,
                                                   struct fa_emit_result *result,
                                                   struct faina_error *err);
/* A chore: ends rounds whose deadline is over. *next_us becomes the next deadline, if that is
 * earlier. */
FA_MUST_CHECK enum faina_code fa_joins_expire(struct fa_unit *unit, int64_t limit, int64_t *next_us,
                                              struct faina_error *err);
/* A chore: removes events, and joins between two rounds, that are older than keep_ms. */
FA_MUST_CHECK enum faina_code fa_flows_purge_expired(struct fa_unit *unit, int64_t keep_ms,
                                                     struct faina_error *err);

/* The task of a row as JSON, in the unit's arena. */
FA_MUST_CHECK enum faina_code fa_flow_task_json(struct fa_unit *unit, struct fa_source *source,
                                                struct fa_row *row, const char **out,
                                                struct faina_error *err);

#endif
