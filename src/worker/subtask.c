/* subtask.c - see subtask.h. */
#include "worker/subtask.h"

#include "model/operation.h"

#include <string.h>

enum faina_code fa_subtask_create(struct fa_service *service, const struct faina_task *parent,
                                  struct faina_by by, const struct faina_submit *subtask,
                                  char id[FAINA_ID_SIZE], struct faina_error *err)
{
    struct fa_arena arena = {0};
    struct faina_submit traced = *subtask;
    struct fa_op op = {.kind = FA_OP_SUBTASK, .id = parent->id, .by = by, .arena = &arena};
    enum faina_code code;

    fa_subtask_trace(&traced, parent);
    op.block.subtasks = &traced;
    op.block.count = 1;
    code = fa_service_run_one(service, &op, err);
    if (code == FAINA_OK)
        memcpy(id, op.task_id, FAINA_ID_SIZE);
    fa_arena_finish(&arena);
    return code;
}

void fa_subtask_trace(struct faina_submit *subtask, const struct faina_task *parent)
{
    if (!subtask->traceparent &&
        (!subtask->metadata || !strstr(subtask->metadata, "\"traceparent\"")))
        subtask->traceparent = parent->traceparent;
}
