/* refusal.c - see refusal.h. */
#include "service/refusal.h"

enum faina_code fa_holding_check_version(const struct fa_holding *task, struct fa_op *op)
{
    if (op->by.version == 0 || op->by.version == task->version)
        return FAINA_OK;
    return fa_error_set(&op->error, FAINA_VERSION_CONFLICT, "the task is at version %lld, not %lld",
                        (long long)task->version, (long long)op->by.version);
}

enum faina_code fa_op_take_listed(struct fa_op *op, const struct fa_op *list, const char *ns)
{
    if (list->tasks->count == 0)
        return fa_error_set(&op->error, FAINA_TASK_NOT_FOUND,
                            "namespace %.100s has no task with the key %.200s", ns, op->name.key);
    op->task = &list->tasks->items[0];
    memcpy(op->task_id, op->task->id, sizeof(op->task_id));
    return FAINA_OK;
}

bool fa_found_has(const struct fa_found *found, const char *id)
{
    for (size_t i = 0; i < found->count; i++)
        if (strcmp(found->items[i].id, id) == 0)
            return true;
    return false;
}

bool fa_gives_fence(const struct fa_op *op)
{
    return op->has_fence || op->by.fence != 0;
}

bool fa_holding_other_fence(const struct fa_holding *task, const struct fa_op *op)
{
    return fa_gives_fence(op) && op->by.fence != task->fence;
}

enum faina_code fa_holding_check(const struct fa_holding *task, struct fa_op *op)
{
    if (fa_holding_other_fence(task, op))
        return fa_error_set(&op->error, FAINA_WRONG_WORKER,
                            "the task has been claimed again since (fence %lld, not %lld)",
                            (long long)task->fence, (long long)op->by.fence);
    if (task->worker == NULL || !fa_status_is_held(task->status))
        return FAINA_OK;
    if (op->by.worker_id == NULL)
        return fa_error_set(&op->error, FAINA_WRONG_WORKER,
                            "worker %.255s holds the task: give your worker id", task->worker);
    if (strcmp(op->by.worker_id, task->worker) != 0)
        return fa_error_set(&op->error, FAINA_WRONG_WORKER,
                            "worker %.200s holds the task, not %.200s", task->worker,
                            op->by.worker_id);
    return FAINA_OK;
}

enum faina_code fa_holding_refuse_unheld(const struct fa_holding *task, struct fa_op *op)
{
    bool had_it = task->fence > 0 && (op->by.worker_id != NULL || fa_gives_fence(op));

    if (task->status == FAINA_PENDING && had_it)
        return fa_error_set(&op->error, FAINA_TASK_NOT_CLAIMED,
                            "no worker holds the task: its lease or its attempt has ended and it "
                            "is pending again, so this %s was refused",
                            fa_op_name(op->kind));
    return fa_error_set(&op->error, FAINA_TASK_NOT_CLAIMED,
                        "no worker holds the task, which is %s, so this %s was refused",
                        faina_status_name(task->status), fa_op_name(op->kind));
}

enum faina_code fa_holding_refuse(const struct fa_holding *task, enum fa_trigger trigger,
                                  struct fa_op *op)
{
    enum faina_code code = fa_rule_refusal(task->status, trigger);

    if (code == FAINA_TASK_ALREADY_CLAIMED && task->worker != NULL)
        return fa_error_set(&op->error, code, "worker %.255s holds the task", task->worker);
    if (code == FAINA_TASK_NOT_CLAIMED)
        return fa_holding_refuse_unheld(task, op);
    return fa_error_set(&op->error, code, "the task is %s, which does not allow: %s",
                        faina_status_name(task->status), fa_op_name(op->kind));
}

bool fa_holding_is_by(const struct fa_holding *task, const struct fa_op *op)
{
    if (fa_holding_other_fence(task, op))
        return false;
    if (task->worker == NULL || op->by.worker_id == NULL)
        return task->worker == NULL && op->by.worker_id == NULL;
    return strcmp(task->worker, op->by.worker_id) == 0;
}
