/*
 * flows.h - workflows as a writer knows them: definitions, compiled, and who listens to what.
 *
 * By file: flows.c (definitions: keeping them in memory, storing, listing), evaluate.c (which tasks
 * an event makes), emit.c (storing them, and the ends of tasks are events), joins.c (ends that come
 * together).
 *
 *   K1  What is in memory is what the store had when the transaction first asked. Where others
 *       share the store, a number that grows with each change is compared once per transaction; it
 *       rides along with the first read of tasks, so it costs no round trip.
 *   K2  When nobody listens to the ends of tasks, an end costs one comparison.
 *   K3  The tasks that an event makes, the event, and what is noted about it are of one
 *       transaction: that of the emit, or the one that ends the task.
 *   K4  A join's row is locked from the first look to the end of the transaction. So a round has
 *       one last member, and its task is made once.
 *   K5  What an event makes is evaluated (evaluate.h) by its caller, before the transaction, with
 *       the definitions as of the last commit. The transaction uses it when its own definitions
 *       are the same ones, and else evaluates again.
 *
 * Threads: whoever leads the batch; a set and the shelf, any.
 */
#ifndef FA_FLOWS_H
#define FA_FLOWS_H

#include "model/match_index.h"
#include "model/workflow.h"
#include "sql/evaluate.h"
#include "sql/ops.h"

#include <pthread.h>
#include <stdatomic.h>

/* A workflow that is stored. */
struct fa_flow {
    const char *ns, *name;
    int64_t version;
    const struct fa_workflow *workflow; /* NULL: it is disabled, or not understood here */
};

/* A trigger that listens to a type of event, or a join that listens to a type of task. */
struct fa_ear {
    const struct fa_flow *flow;
    const char *type;
    const struct fa_workflow_trigger *trigger; /* one of these two */
    const struct fa_join *join;
    size_t member; /* which of the join's types */
};

/* All who listen to one type, in the order of definitions. */
struct fa_audience {
    const char *ns, *type;
    bool is_join; /* a type of task, else one of event */
    const struct fa_ear *ears;
    size_t count;
    const struct fa_match_index *index; /* of events: which ears may match */
    uint64_t hash;
    struct fa_audience *next; /* in its bucket */
};

/* Compiled definitions, which never change. */
struct fa_flow_set;

/* Where the writers of an engine put the definitions that they have read (K5). */
struct fa_flow_shelf {
    pthread_mutex_t mutex;
    struct fa_flow_set *set; /* NULL: none yet */
    _Atomic uint64_t number; /* of the set */
    _Atomic uint64_t last_number;
};
void fa_flow_shelf_init(struct fa_flow_shelf *shelf);
void fa_flow_shelf_finish(struct fa_flow_shelf *shelf);

/* After a commit: others may use the definitions that the transaction had. */
void fa_flows_publish(struct fa_flows *flows);
bool fa_flow_shelf_is_empty(struct fa_flow_shelf *shelf);
/* NULL: there is none yet. */
struct fa_flow_set *fa_flow_set_take(struct fa_flow_shelf *shelf);
void fa_flow_set_leave(struct fa_flow_set *set); /* NULL is fine */
const struct fa_audience *fa_flow_set_audience(const struct fa_flow_set *set, const char *ns,
                                               const char *type, bool is_join);
/* Which set it is. */
struct fa_flow_mark {
    uint64_t number;
    int64_t generation;
};
struct fa_flow_mark fa_flow_set_mark(const struct fa_flow_set *set);
/* After fa_flows_refresh: whether that set has the definitions of this transaction. */
bool fa_flows_is_at(const struct fa_unit *unit, struct fa_flow_mark mark);
const struct fa_flow_set *fa_flows_set(const struct fa_flows *flows);

/* What an operation EMIT makes, evaluated before the transaction. */
struct fa_emit_plan {
    struct fa_flow_mark mark;
    struct fa_evaluation evaluation;
    enum faina_code code; /* PAYLOAD_TOO_LARGE: it makes too much */
    struct faina_error error;
};
/* Whether evaluating takes long enough to be done before the transaction. */
bool fa_emit_is_heavy(struct fa_flow_shelf *shelf, const struct fa_op *op);
/* Does it, once: the plan lives in op->arena. */
void fa_emit_prepare(struct fa_flow_shelf *shelf, size_t input_size_max, struct fa_op *op);

/* `shelf` may be NULL: nobody else uses them. */
struct fa_flows *fa_flows_create(size_t input_size_max, struct fa_flow_shelf *shelf);
void fa_flows_destroy(struct fa_flows *flows); /* NULL is fine */
/* The transaction failed, or has changed a definition: what is in memory may not be so. */
void fa_flows_forget(struct fa_flows *flows);
size_t fa_flows_input_size_max(const struct fa_flows *flows);

/* A question about the number of K1, to go along with another (row.h, `also`). */
const struct fa_db_call *fa_flows_ask(struct fa_unit *unit);
/* Makes K1 true. */
FA_MUST_CHECK enum faina_code fa_flows_refresh(struct fa_unit *unit, struct faina_error *err);

/* At the end of a transaction that has stored definitions: reads them, so that those who come after
 * the commit find them (K5). */
FA_MUST_CHECK enum faina_code fa_flows_read_changes(struct fa_unit *unit, struct faina_error *err);

/* As of the last look: does anybody listen to the end of any task? */
bool fa_flows_hear_ends(const struct fa_flows *flows);
/* Who listens to a type of event (triggers) or of task (joins); NULL when nobody does. */
const struct fa_audience *fa_flows_audience(const struct fa_flows *flows, const char *ns,
                                            const char *type, bool is_join);
/* The join of this name in an enabled workflow, or NULL. */
const struct fa_ear *fa_flows_join(const struct fa_flows *flows, const char *ns,
                                   const char *workflow, const char *name);
/* Whether there is such a workflow, though it is not obeyed at present. */
bool fa_flows_is_silent(const struct fa_flows *flows, const char *ns, const char *workflow);

/* NOT_FOUND: the store has no such workflow. */
FA_MUST_CHECK enum faina_code fa_flows_expect(struct fa_db *db, const char *ns, const char *name,
                                              struct fa_arena *arena, struct faina_error *err);

/* What came of an event so far. Lives in the unit's arena. */
struct fa_yield {
    const char **tasks;
    size_t task_count, task_size;
    struct faina_emit_failure *failures;
    size_t failure_count, failure_size;
    bool has_budget;
    struct fa_evaluation budget; /* what evaluate.h, V1, has left for more tasks */
};
/* The budget, which is whole unless something was evaluated for it. */
struct fa_evaluation *fa_yield_budget(const struct fa_unit *unit, struct fa_yield *yield);

/* A task to be made by a trigger or join. */
struct fa_making {
    const struct fa_flow *flow;
    const char *name; /* of the trigger or join */
    const struct fa_template *task;
    fa_template_lookup *lookup;
    void *lookup_ctx; /* with the budget of the yield, where it counts steps */
    const char *event_id;
    int64_t depth; /* of the task */
};
/* What nobody asked for can't tell anybody when it fails: the commit tells those who listen. */
void fa_flow_regret(struct fa_unit *unit, const struct fa_yield *yield);
/* Makes the task, or notes among the failures why not. Fails only when the store does. */
FA_MUST_CHECK enum faina_code fa_flow_make(struct fa_unit *unit, const struct fa_making *making,
                                           struct fa_yield *yield, struct faina_error *err);

/* Tells the workflows about the tasks that have ended since the last call. Fails only when the
 * store does. */
FA_MUST_CHECK enum faina_code fa_flows_tell_ends(struct fa_unit *unit, struct faina_error *err);

/* A chore: events that were emitted in SQL, up to `limit`. *next_us becomes now when there may be
 * more. */
FA_MUST_CHECK enum faina_code fa_flows_take_inbox(struct fa_unit *unit, int64_t limit,
                                                  int64_t *next_us, struct faina_error *err);

/* A task that has ended, as its workflows see it. */
struct fa_ending {
    struct fa_row *row;
    const char *ns, *event_id;
    const char *json; /* the task */
    const char *input;
    int64_t depth;
};
/* It may be a member of joins. */
FA_MUST_CHECK enum faina_code fa_joins_tell(struct fa_unit *unit, const struct fa_ending *ending,
                                            struct fa_yield *yield, struct faina_error *err);
/* A chore: ends rounds that have waited long enough. *next_us becomes the time of the next such
 * look, when that is earlier. */
FA_MUST_CHECK enum faina_code fa_joins_expire(struct fa_unit *unit, int64_t limit, int64_t *next_us,
                                              struct faina_error *err);
/* A chore: forgets events, and joins between two rounds, that are older than keep_ms. */
FA_MUST_CHECK enum faina_code fa_flows_forget_old(struct fa_unit *unit, int64_t keep_ms,
                                                  struct faina_error *err);

/* The task of a row as JSON, in the unit's arena. */
FA_MUST_CHECK enum faina_code fa_flow_task_json(struct fa_unit *unit, struct fa_source *source,
                                                struct fa_row *row, const char **out,
                                                struct faina_error *err);

#endif
