/*
 * subtask.h - subtasks that a handler's attempt creates before its task is blocked.
 *
 * Threads: any.
 */
#ifndef FA_WORKER_SUBTASK_H
#define FA_WORKER_SUBTASK_H

#include "service/service.h"

/* Creates the subtask in the engine and writes its id; by its name it may exist already. `by` holds
 * the parent. */
FA_MUST_CHECK enum faina_code fa_subtask_create(struct fa_service *service,
                                                const struct faina_task *parent, struct faina_by by,
                                                const struct faina_submit *subtask,
                                                char id[FAINA_ID_SIZE], struct faina_error *err);
/* The subtask continues the trace of its parent's attempt, unless it has one of its own. */
void fa_subtask_trace(struct faina_submit *subtask, const struct faina_task *parent);

#endif
