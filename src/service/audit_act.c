/* audit_act.c - see audit_act.h. */
#include "service/audit_act.h"

#include "model/bulk.h"
#include "model/workflow.h"
#include "service/access.h"

/* Acts on a task that a worker may make, too. */
static bool is_of_task(enum fa_op_kind kind)
{
    static const enum fa_op_kind kinds[] = {
        FA_OP_START,      FA_OP_COMPLETE, FA_OP_FAIL,   FA_OP_SUBTASK, FA_OP_BLOCK,
        FA_OP_BACKGROUND, FA_OP_RELEASE,  FA_OP_SNOOZE, FA_OP_REQUEUE, FA_OP_UPDATE,
        FA_OP_CANCEL,     FA_OP_RETRY,    FA_OP_DELETE,
    };

    for (size_t i = 0; i < FA_COUNT(kinds); i++) {
        if (kinds[i] == kind)
            return true;
    }
    return false;
}

bool fa_audit_takes(const struct fa_op *op)
{
    if (op->is_unaudited)
        return false;
    if (is_of_task(op->kind))
        return op->by.worker_id == NULL || op->for_holder;
    return fa_access_is_managing(op->kind);
}

static const char *bulk_act(enum fa_bulk_kind kind)
{
    static const char *const acts[FA_BULK_KIND_COUNT] = {
        [FA_BULK_CANCEL] = "cancel many",
        [FA_BULK_RETRY] = "retry many",
        [FA_BULK_DELETE] = "delete many",
        [FA_BULK_UPDATE] = "update many",
    };

    return acts[kind];
}

const char *fa_audit_act(const struct fa_op *op)
{
    switch ((int)op->kind) {
    case FA_OP_AUDIT_ADD:
        return op->audit_add.act;
    case FA_OP_BROKER_SET:
        return op->broker.is_on ? "broker on" : "broker off";
    case FA_OP_WORKFLOW_ENABLE:
        return op->workflow.enable ? "workflow enable" : "workflow disable";
    case FA_OP_BULK:
        return bulk_act(op->bulk.request->kind);
    case FA_OP_TOKEN_PUT:
        return "token create";
    case FA_OP_TOKEN_REMOVE:
        return "token revoke";
    default:
        return fa_op_name(op->kind);
    }
}

/* A name that belongs to a namespace. */
static const char *name_in(const char *ns, const char *name, struct fa_arena *arena)
{
    if (name == NULL || ns == NULL || strcmp(ns, "default") == 0)
        return name;
    return fa_arena_printf(arena, "%s/%s", ns, name);
}

static const char *purge_target(const struct faina_purge *purge, struct fa_arena *arena)
{
    return fa_arena_printf(arena, "%s/%s", purge->ns ? purge->ns : "*",
                           purge->type ? purge->type : "*");
}

static const char *target_of(const struct fa_op *op, struct fa_arena *arena)
{
    switch ((int)op->kind) {
    case FA_OP_AUDIT_ADD:
        return op->audit_add.target;
    case FA_OP_PURGE:
        return purge_target(op->purge, arena);
    case FA_OP_PAUSE:
    case FA_OP_RESUME:
        return name_in(op->name.ns, op->name.type, arena);
    case FA_OP_RESOURCE_SET:
    case FA_OP_RESOURCE_REMOVE:
        return op->resource.name;
    case FA_OP_TYPE_PUT:
        return name_in(op->type_policy->ns, op->type_policy->type, arena);
    case FA_OP_TYPE_REMOVE:
        return name_in(op->name.ns, op->name.type, arena);
    case FA_OP_TEAM_PUT:
        return op->team_answer ? op->team_answer->id : op->team->name;
    case FA_OP_TOKEN_PUT:
        return op->token->name;
    case FA_OP_BULK:
        return op->bulk_answer->id;
    case FA_OP_CRON_PUT:
        return name_in(op->cron->ns, op->cron->name, arena);
    case FA_OP_CRON_REMOVE:
    case FA_OP_CRON_RUN:
        return name_in(op->name.ns, op->id, arena);
    case FA_OP_WORKFLOW_PUT:
        return name_in(op->definition->ns, op->checked ? op->checked->name : op->definition->name,
                       arena);
    case FA_OP_WORKFLOW_ENABLE:
    case FA_OP_WORKFLOW_REMOVE:
        return name_in(op->workflow.ns, op->workflow.name, arena);
    default:
        return op->task_id[0] ? op->task_id : op->id;
    }
}

const char *fa_audit_target(const struct fa_op *op, struct fa_arena *arena)
{
    const char *target = target_of(op, arena);
    size_t len = target ? strlen(target) : 0;

    if (len <= FA_AUDIT_TARGET_SIZE_MAX)
        return target;
    len = FA_AUDIT_TARGET_SIZE_MAX;
    while (len > 0 && ((unsigned char)target[len] & 0xC0) == 0x80) /* the middle of a character */
        len--;
    return fa_arena_copy(arena, target, len);
}
