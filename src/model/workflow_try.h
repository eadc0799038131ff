/*
 * workflow_try.h - what a trigger would do for an event, without doing it.
 *
 * Threads: pure functions.
 */
#ifndef FA_MODEL_WORKFLOW_TRY_H
#define FA_MODEL_WORKFLOW_TRY_H

#include "model/workflow.h"

/* The result of a trigger for an event. */
struct fa_trigger_result {
    bool is_match, has_failed;
    const char *clause; /* that decided; NULL: the trigger has no condition */
    const char *task;   /* JSON; the error message when it failed */
};

/* The texts of the result live in `arena`. */
struct fa_trigger_result fa_trigger_try(struct fa_arena *arena,
                                        const struct fa_workflow_trigger *trigger,
                                        const struct fa_match_data *data);

#endif
