/*
 * evaluate.h - the tasks that an event makes: runs the conditions and renders the templates.
 *
 * The evaluation doesn't need the store, so it is done before the transaction that stores the tasks
 * (K5 in definitions.h), or in it where that is not possible.
 *
 *   V1  One event makes at most FA_EVENT_TASKS_MAX tasks, of at most FA_EVENT_INPUTS_MAX times the
 *       size of an input in all, and takes at most FA_EVENT_STEPS_MAX steps (match.h, path.h).
 *   V2  A trigger that can't make its task is a failure of its own; the others are still
 *       evaluated.
 *
 * Threads: pure functions.
 */
#ifndef FA_STORE_WORKFLOW_EVALUATE_H
#define FA_STORE_WORKFLOW_EVALUATE_H

#include "model/match_index.h"
#include "model/template.h"
#include "model/workflow.h"

struct fa_flow_set;

/* A trigger that matched. */
struct fa_evaluated {
    const char *workflow, *trigger; /* their names */
    int64_t version;                /* of the workflow */
    struct faina_submit *submit;    /* NULL: it can't make its task, ... */
    const char *failure;            /* ... for this reason */
};

struct fa_evaluation {
    struct fa_evaluated *items;
    size_t count, size;
    int64_t steps_left; /* the rest of the limits of V1 */
    size_t bytes_left, tasks_left;
    bool is_over; /* the last item has exceeded them */
};

struct fa_evaluate_event {
    const char *ns, *type, *data; /* data has passed fa_json_check */
    int64_t depth;                /* of the tasks that it makes (definitions.h) */
};

/* An empty evaluation with all of the limits left. */
void fa_evaluation_init(struct fa_evaluation *out, size_t input_size_max);

/*
 * Evaluates all triggers on an event. The result lives in `arena`, and doesn't point into the set.
 * Beyond V1: PAYLOAD_TOO_LARGE; with `is_partial` instead a failure of the trigger that exceeds the
 * limits, and the triggers after it are left out.
 */
FA_MUST_CHECK enum faina_code fa_evaluate(const struct fa_flow_set *set,
                                          const struct fa_evaluate_event *event,
                                          size_t input_size_max, bool is_partial,
                                          struct fa_arena *arena, struct fa_evaluation *out,
                                          struct faina_error *err);

/* One task: rendered, read and checked like any submit. `lookup` may reduce steps_left of
 * `budget`. */
struct fa_evaluate_task {
    const char *ns; /* of the workflow */
    const struct fa_template *task;
    fa_template_lookup *lookup;
    void *lookup_ctx;
    int64_t depth;
};
FA_MUST_CHECK enum faina_code fa_evaluate_task(const struct fa_evaluate_task *task,
                                               size_t input_size_max, struct fa_arena *arena,
                                               struct fa_evaluation *budget,
                                               struct faina_submit *out, struct faina_error *err);

#endif
