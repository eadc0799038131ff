/*
 * decode.c - answers back into operations.
 *
 * Nothing that a server sends is trusted: its JSON is checked whole, its members by their shapes.
 * An answer that doesn't fit is UNAVAILABLE: it does not come from an engine.
 */
#include "json/json.h"
#include "model/codes.h"
#include "model/audit_entry.h"
#include "model/failure_group.h"
#include "model/history.h"
#include "model/id.h"
#include "model/limits.h"
#include "client/encode.h"
#include "wire/schedule_body.h"
#include "wire/type_body.h"
#include "service/token.h"
#include "wire/wire.h"
#include "wire/wire_bulk.h"
#include "wire/wire_reports.h"
#include "wire/wire_workflow.h"

#include <assert.h>
#include <stdio.h>

#define SHOWN_MAX 80

/* ------------------------------------------------------------------------------------------
 * The text
 */

static enum faina_code refuse(struct fa_call *call, const char *shown, const char *why)
{
    return call->code = fa_error_set(
               &call->error, FAINA_UNAVAILABLE,
               "%.150s returned %d with a body that is not a Faina response: %.200s%s", shown,
               call->status, why,
               call->is_read ? "" : "; whether the request was carried out is unknown");
}

/* A server that is stopping answers store_closed. To the caller that code would mean that its own
 * engine is closed. */
static void adopt(struct fa_call *call, const struct faina_error *problem)
{
    call->error = *problem;
    if (call->error.code == FAINA_STORE_CLOSED)
        call->error.code = FAINA_UNAVAILABLE;
    call->code = call->error.code;
}

enum faina_code fa_decode_json(struct fa_call *call, struct fa_arena *arena, const char *shown,
                               struct fa_json *out)
{
    struct fa_bytes text = {call->answer.ptr, call->answer.len};
    struct faina_error problem;

    if (call->code != FAINA_OK)
        return call->code;
    *out = (struct fa_json){.type = FA_JSON_NULL};
    fa_error_clear(&problem);
    if (call->status == 204)
        return FAINA_OK;
    /* Payloads, in a task, in a list, in an answer. */
    if (text.len == 0 || fa_json_check(text, FA_JSON_DEPTH_MAX + 4, "the answer", FAINA_UNAVAILABLE,
                                       &problem) != FAINA_OK)
        return refuse(call, shown, text.len == 0 ? "an empty body" : problem.message);
    *out = fa_json_value(text);
    if (call->status >= 200 && call->status < 300)
        return FAINA_OK;
    if (!fa_wire_read_problem(*out, arena, &problem))
        return refuse(call, shown, "an unknown problem");
    adopt(call, &problem);
    return call->code;
}

/* ------------------------------------------------------------------------------------------
 * Answers of single operations
 */

/* The answer of an operation is a struct of this shape, in its arena; its pointer is in the union
 * of struct fa_op, which op->task aliases. */
static enum faina_code read_struct(struct fa_op *op, struct fa_json json,
                                   const struct fa_shape *shape, size_t size,
                                   struct faina_error *err)
{
    void *place = fa_arena_zero(op->arena, 1, size);
    enum faina_code code = fa_shape_read(json, shape, op->arena, place, err);

    if (code == FAINA_OK)
        op->task = place;
    return code;
}

static enum faina_code missing(const char *name, struct faina_error *err)
{
    return fa_error_set(err, FAINA_INTERNAL, "%s is missing", name);
}

static enum faina_code read_id(struct fa_json json, struct fa_op *op, struct faina_error *err)
{
    const char *text = fa_json_member_text(json, "id", op->arena);

    if (text == NULL || strlen(text) >= sizeof(op->task_id))
        return missing("id", err);
    memcpy(op->task_id, text, strlen(text) + 1);
    return FAINA_OK;
}

static enum faina_code read_int(struct fa_json json, const char *name, int64_t *out,
                                struct faina_error *err)
{
    struct fa_json value;

    if (json.type != FA_JSON_OBJECT || !fa_json_member(json, name, &value) ||
        value.type != FA_JSON_NUMBER || !fa_json_int(value, out))
        return missing(name, err);
    return FAINA_OK;
}

static bool is_true(struct fa_json object, const char *name)
{
    struct fa_json value;

    return fa_json_member(object, name, &value) && value.type == FA_JSON_TRUE;
}

static enum faina_code read_task(struct fa_op *op, struct fa_json json, struct faina_error *err)
{
    return read_struct(op, json, &fa_shape_task, sizeof(struct faina_task), err);
}

static enum faina_code read_change(struct fa_op *op, struct fa_json json, struct faina_error *err)
{
    enum faina_code code = read_id(json, op, err);

    if (code == FAINA_OK && (op->kind == FA_OP_SUBMIT || op->kind == FA_OP_CRON_RUN)) {
        op->existing = is_true(json, "existing");
        op->input_mismatch = is_true(json, "inputMismatch");
    }
    if (code == FAINA_OK && op->kind == FA_OP_CANCEL &&
        read_int(json, "cancelledCount", &op->count, NULL) != FAINA_OK)
        op->count = 0; /* it was cancelled before */
    if (code == FAINA_OK && op->wants_task)
        code = read_task(op, json, err);
    return code;
}

static enum faina_code read_deleted(struct fa_op *op, struct fa_json json, struct faina_error *err)
{
    struct fa_id id;

    (void)json;
    (void)err;
    if (fa_id_parse(op->id, &id))
        fa_id_format(id, op->task_id);
    return FAINA_OK;
}

static enum faina_code read_nothing(struct fa_op *op, struct fa_json json, struct faina_error *err)
{
    (void)op;
    (void)json;
    (void)err;
    return FAINA_OK;
}

static enum faina_code read_claims(struct fa_op *op, struct fa_json json, struct faina_error *err)
{
    enum faina_code code = read_struct(op, json, &fa_shape_claims, sizeof(struct faina_tasks), err);

    if (code == FAINA_OK)
        op->count = (int64_t)op->tasks->count;
    return code;
}

static enum faina_code read_by_key(struct fa_op *op, struct fa_json json, struct faina_error *err)
{
    struct faina_tasks tasks = {0};
    enum faina_code code = fa_shape_read(json, &fa_shape_tasks, op->arena, &tasks, err);

    if (code != FAINA_OK)
        return code;
    if (tasks.count == 0)
        return fa_error_set(err, FAINA_TASK_NOT_FOUND, "there is no task with this key");
    op->task = &tasks.items[0];
    return FAINA_OK;
}

static enum faina_code read_removed(struct fa_op *op, struct fa_json json, struct faina_error *err)
{
    return read_int(json, "removed", &op->count, err);
}

static enum faina_code read_released(struct fa_op *op, struct fa_json json, struct faina_error *err)
{
    return read_int(json, "released", &op->count, err);
}

/* A list, or the requested item as a list of one. Every list here begins with its count
 * and its items. */
struct list {
    size_t count;
    void *items;
};

static_assert(offsetof(struct faina_resources, items) == offsetof(struct list, items) &&
                  offsetof(struct faina_type_policies, items) == offsetof(struct list, items) &&
                  offsetof(struct faina_teams, items) == offsetof(struct list, items) &&
                  offsetof(struct faina_workers, items) == offsetof(struct list, items) &&
                  offsetof(struct fa_cron_jobs, items) == offsetof(struct list, items) &&
                  offsetof(struct fa_stored_workflows, items) == offsetof(struct list, items) &&
                  offsetof(struct fa_tokens, items) == offsetof(struct list, items) &&
                  offsetof(struct fa_bulks, items) == offsetof(struct list, items) &&
                  offsetof(struct faina_events, items) == offsetof(struct list, items),
              "lists of resources, teams, workers, tokens, schedules, workflows, operations and "
              "events look alike");

/* The lists of fa_op.part: the size of an item; 0: it is none of them. */
static const size_t item_sizes[FA_OP_COUNT] = {
    [FA_OP_RESOURCE_LIST] = sizeof(struct faina_resource),
    [FA_OP_TYPE_LIST] = sizeof(struct faina_type_policy),
    [FA_OP_TEAM_LIST] = sizeof(struct faina_team),
    [FA_OP_WORKER_LIST] = sizeof(struct faina_worker),
    [FA_OP_TOKEN_LIST] = sizeof(struct fa_token),
    [FA_OP_CRON_LIST] = sizeof(struct fa_cron_job),
    [FA_OP_WORKFLOW_LIST] = sizeof(struct fa_stored_workflow),
    [FA_OP_NAMESPACE_LIST] = sizeof(struct fa_namespace_item),
    [FA_OP_BULK_LIST] = sizeof(struct fa_bulk),
    [FA_OP_EVENTS] = sizeof(struct faina_event),
};

static enum faina_code read_list(struct fa_op *op, struct fa_json json, bool is_one,
                                 const struct fa_shape *many, const struct fa_shape *one,
                                 size_t size, struct faina_error *err)
{
    struct list *list;
    enum faina_code code;

    if (!is_one)
        return read_struct(op, json, many, sizeof(struct list), err);
    list = fa_arena_zero(op->arena, 1, sizeof(*list));
    list->count = 1;
    list->items = fa_arena_zero(op->arena, 1, size);
    code = fa_shape_read(json, one, op->arena, list->items, err);
    if (code == FAINA_OK)
        op->task = (void *)list;
    return code;
}

static enum faina_code read_resources(struct fa_op *op, struct fa_json json,
                                      struct faina_error *err)
{
    return read_list(op, json, op->resource.name != NULL, &fa_shape_resources, &fa_shape_resource,
                     sizeof(struct faina_resource), err);
}

/* The first version is a new one. */
static enum faina_code read_type(struct fa_op *op, struct fa_json json, struct faina_error *err)
{
    enum faina_code code =
        read_struct(op, json, &fa_shape_type, sizeof(struct faina_type_policy), err);

    op->existing = code == FAINA_OK && op->type_answer->version > 1;
    return code;
}

static enum faina_code read_types(struct fa_op *op, struct fa_json json, struct faina_error *err)
{
    return read_list(op, json, op->name.type != NULL, &fa_shape_types, &fa_shape_type,
                     sizeof(struct faina_type_policy), err);
}

static enum faina_code read_teams(struct fa_op *op, struct fa_json json, struct faina_error *err)
{
    return read_list(op, json, op->id != NULL, &fa_shape_teams, &fa_shape_team,
                     sizeof(struct faina_team), err);
}

static enum faina_code read_workers(struct fa_op *op, struct fa_json json, struct faina_error *err)
{
    return read_list(op, json, op->id != NULL, &fa_shape_workers, &fa_shape_worker,
                     sizeof(struct faina_worker), err);
}

/* The first version is a new one. */
static enum faina_code read_cron(struct fa_op *op, struct fa_json json, struct faina_error *err)
{
    enum faina_code code = read_struct(op, json, &fa_shape_cron, sizeof(struct fa_cron_job), err);

    op->existing = code == FAINA_OK && op->cron_answer->version > 1;
    return code;
}

static enum faina_code read_crons(struct fa_op *op, struct fa_json json, struct faina_error *err)
{
    return read_list(op, json, op->id != NULL, &fa_shape_crons, &fa_shape_cron,
                     sizeof(struct fa_cron_job), err);
}

static enum faina_code read_workflow(struct fa_op *op, struct fa_json json, struct faina_error *err)
{
    enum faina_code code =
        read_struct(op, json, &fa_shape_workflow, sizeof(struct fa_stored_workflow), err);

    op->existing = code == FAINA_OK && is_true(json, "existing");
    return code;
}

static enum faina_code read_workflows(struct fa_op *op, struct fa_json json,
                                      struct faina_error *err)
{
    return read_list(op, json, op->workflow.name != NULL, &fa_shape_workflows, &fa_shape_workflow,
                     sizeof(struct fa_stored_workflow), err);
}

static enum faina_code read_bulk(struct fa_op *op, struct fa_json json, struct faina_error *err)
{
    struct fa_json operation;

    if (!fa_json_member(json, "operation", &operation))
        return missing("operation", err);
    return read_struct(op, operation, &fa_shape_bulk, sizeof(struct fa_bulk), err);
}

static enum faina_code read_matched(struct fa_op *op, struct fa_json json, struct faina_error *err)
{
    op->next_cursor = NULL; /* the server has counted all of them */
    return read_int(json, "matched", &op->count, err);
}

static enum faina_code read_bulks(struct fa_op *op, struct fa_json json, struct faina_error *err)
{
    return read_list(op, json, op->id != NULL, &fa_shape_bulks, &fa_shape_bulk,
                     sizeof(struct fa_bulk), err);
}

static enum faina_code read_emitted_events(struct fa_op *op, struct fa_json json,
                                           struct faina_error *err)
{
    struct fa_emitted_events *emitted_events;
    enum faina_code code;

    if (!op->emitted_query->id)
        return read_struct(op, json, &fa_shape_emitted_events, sizeof(*emitted_events), err);
    emitted_events = fa_arena_zero(op->arena, 1, sizeof(*emitted_events));
    emitted_events->count = 1;
    emitted_events->items = fa_arena_zero(op->arena, 1, sizeof(*emitted_events->items));
    code = fa_shape_read(json, &fa_shape_emitted_event, op->arena, emitted_events->items, err);
    if (code == FAINA_OK)
        op->emitted_events = emitted_events;
    return code;
}

static bool is_loss_of(struct fa_json loss, const struct faina_held *held, struct fa_arena *arena)
{
    const char *id = fa_json_member_text(loss, "id", arena);

    return id && strcmp(id, held->id) == 0 && fa_json_member_int(loss, "fence") == held->fence;
}

static enum faina_loss read_why(struct fa_json loss, struct fa_arena *arena)
{
    const char *why = fa_json_member_text(loss, "why", arena);

    return why && strcmp(why, faina_loss_name(FAINA_LOSS_CANCELLED)) == 0 ? FAINA_LOSS_CANCELLED
                                                                          : FAINA_LOSS_LOST;
}

/* The losses are some of the tasks that were sent, in that order. */
static enum faina_code read_beat(struct fa_op *op, struct fa_json json, struct faina_error *err)
{
    struct faina_beat *beat = fa_arena_zero(op->arena, 1, sizeof(*beat));
    struct fa_json losses, loss;
    struct fa_json_iter it;
    bool is_more;
    int64_t renewed;
    enum faina_code code = read_int(json, "renewed", &renewed, err);

    if (code != FAINA_OK)
        return code;
    if (!fa_json_member(json, "losses", &losses) || losses.type != FA_JSON_ARRAY)
        return missing("losses", err);
    beat->renewed_count = renewed > 0 ? (size_t)renewed : 0;
    beat->items = fa_arena_zero(op->arena, op->worker.held_count + 1, sizeof(*beat->items));
    it = fa_json_iter(losses);
    is_more = fa_json_next(&it, NULL, &loss);
    for (size_t i = 0; is_more && i < op->worker.held_count; i++) {
        const struct faina_held *held = &op->worker.held[i];
        struct faina_lost *item = &beat->items[beat->lost_count];

        if (!is_loss_of(loss, held, op->arena))
            continue;
        snprintf(item->id, sizeof(item->id), "%s", held->id);
        item->fence = held->fence;
        item->why = read_why(loss, op->arena);
        beat->lost_count++;
        is_more = fa_json_next(&it, NULL, &loss);
    }
    if (is_more)
        return fa_error_set(err, FAINA_INTERNAL, "a lost task that was not in the request");
    op->beat = beat;
    return FAINA_OK;
}

/* ------------------------------------------------------------------------------------------
 * The table
 */

static const struct {
    /* Either `read`, or `shape` with the size of its struct. */
    enum faina_code (*read)(struct fa_op *op, struct fa_json json, struct faina_error *err);
    const struct fa_shape *shape;
    size_t size;
} readers[FA_OP_COUNT] = {
    [FA_OP_SUBMIT] = {.read = read_change},
    [FA_OP_CLAIM] = {.read = read_change},
    [FA_OP_CLAIM_NEXT] = {.read = read_claims},
    [FA_OP_START] = {.read = read_change},
    [FA_OP_PROGRESS] = {.read = read_change},
    [FA_OP_HEARTBEAT] = {.read = read_change},
    [FA_OP_COMPLETE] = {.read = read_change},
    [FA_OP_FAIL] = {.read = read_change},
    [FA_OP_SUBTASK] = {.read = read_change},
    [FA_OP_BLOCK] = {.read = read_change},
    [FA_OP_BACKGROUND] = {.read = read_change},
    [FA_OP_RELEASE] = {.read = read_change},
    [FA_OP_SNOOZE] = {.read = read_change},
    [FA_OP_REQUEUE] = {.read = read_change},
    [FA_OP_UPDATE] = {.read = read_change},
    [FA_OP_NOTE] = {.read = read_change},
    [FA_OP_LOG_ADD] = {.read = read_nothing},
    [FA_OP_AMEND] = {.read = read_change},
    [FA_OP_CANCEL] = {.read = read_change},
    [FA_OP_RETRY] = {.read = read_change},
    [FA_OP_DELETE] = {.read = read_deleted},
    [FA_OP_PURGE] = {.read = read_removed},
    [FA_OP_PAUSE] = {.read = read_nothing},
    [FA_OP_BULK] = {.read = read_bulk},
    [FA_OP_BULK_CANCEL] = {.shape = &fa_shape_bulk, .size = sizeof(struct fa_bulk)},
    [FA_OP_BULK_COUNT] = {.read = read_matched},
    [FA_OP_BULK_LIST] = {.read = read_bulks},
    [FA_OP_RESUME] = {.read = read_nothing},
    [FA_OP_RESOURCE_SET] = {.read = read_nothing},
    [FA_OP_RESOURCE_REMOVE] = {.read = read_nothing},
    [FA_OP_TYPE_PUT] = {.read = read_type},
    [FA_OP_TYPE_REMOVE] = {.read = read_nothing},
    [FA_OP_TYPE_LIST] = {.read = read_types},
    [FA_OP_TEAM_PUT] = {.shape = &fa_shape_team, .size = sizeof(struct faina_team)},
    [FA_OP_TEAM_REMOVE] = {.read = read_nothing},
    [FA_OP_WORKER_PUT] = {.read = read_beat},
    [FA_OP_WORKER_REMOVE] = {.read = read_released},
    [FA_OP_TOKEN_PUT] = {.shape = &fa_shape_token, .size = sizeof(struct fa_token)},
    [FA_OP_TOKEN_REMOVE] = {.read = read_nothing},
    [FA_OP_EMIT] = {.shape = &fa_shape_emitted, .size = sizeof(struct faina_emitted)},
    [FA_OP_WORKFLOW_PUT] = {.read = read_workflow},
    [FA_OP_WORKFLOW_ENABLE] = {.shape = &fa_shape_workflow,
                               .size = sizeof(struct fa_stored_workflow)},
    [FA_OP_WORKFLOW_REMOVE] = {.read = read_nothing},
    [FA_OP_CRON_PUT] = {.read = read_cron},
    [FA_OP_CRON_REMOVE] = {.read = read_nothing},
    [FA_OP_CRON_RUN] = {.read = read_change},
    [FA_OP_CRON_LIST] = {.read = read_crons},
    [FA_OP_WORKFLOW_LIST] = {.read = read_workflows},
    [FA_OP_EMITTED_LIST] = {.read = read_emitted_events},
    [FA_OP_JOIN_LIST] = {.shape = &fa_shape_joins, .size = sizeof(struct fa_join_states)},
    [FA_OP_GET] = {.shape = &fa_shape_task, .size = sizeof(struct faina_task)},
    [FA_OP_GET_BY_KEY] = {.read = read_by_key},
    [FA_OP_LIST] = {.shape = &fa_shape_tasks, .size = sizeof(struct faina_tasks)},
    [FA_OP_FIND] = {.shape = &fa_shape_found, .size = sizeof(struct fa_found)},
    [FA_OP_QUEUE] = {.shape = &fa_shape_tasks, .size = sizeof(struct faina_tasks)},
    [FA_OP_CHILDREN] = {.shape = &fa_shape_tasks, .size = sizeof(struct faina_tasks)},
    [FA_OP_EVENTS] = {.shape = &fa_shape_events, .size = sizeof(struct faina_events)},
    [FA_OP_EXPLAIN] = {.shape = &fa_shape_explanation, .size = sizeof(struct faina_explanation)},
    [FA_OP_LOG] = {.shape = &fa_shape_attempt_log, .size = sizeof(struct fa_attempt_log)},
    [FA_OP_GRAPH] = {.shape = &fa_shape_graph, .size = sizeof(struct fa_graph)},
    [FA_OP_FOLLOW] = {.shape = &fa_shape_followed, .size = sizeof(struct fa_followed)},
    [FA_OP_RESOURCE_LIST] = {.read = read_resources},
    [FA_OP_TEAM_LIST] = {.read = read_teams},
    [FA_OP_WORKER_LIST] = {.read = read_workers},
    [FA_OP_TOKEN_LIST] = {.shape = &fa_shape_tokens, .size = sizeof(struct fa_tokens)},
    [FA_OP_STATS] = {.shape = &fa_shape_stats, .size = sizeof(struct faina_stats)},
    [FA_OP_NAMESPACE_LIST] = {.shape = &fa_shape_namespaces, .size = sizeof(struct fa_namespaces)},
    [FA_OP_BROKER_SET] = {.shape = &fa_shape_broker, .size = sizeof(struct fa_broker)},
    [FA_OP_FAILURES] = {.shape = &fa_shape_failures, .size = sizeof(struct fa_failure_groups)},
    [FA_OP_AUDIT_LIST] = {.shape = &fa_shape_audit, .size = sizeof(struct fa_audit_list)},
    [FA_OP_HISTORY] = {.shape = &fa_shape_history, .size = sizeof(struct fa_history_answer)},
    [FA_OP_BROKER_GET] = {.shape = &fa_shape_broker, .size = sizeof(struct fa_broker)},
    [FA_OP_SETTINGS_SET] = {.shape = &fa_shape_settings, .size = sizeof(struct fa_store_settings)},
    [FA_OP_SETTINGS_GET] = {.shape = &fa_shape_settings, .size = sizeof(struct fa_store_settings)},
};

static enum faina_code read_answer(struct fa_op *op, struct fa_json json, struct faina_error *err)
{
    return readers[op->kind].read
               ? readers[op->kind].read(op, json, err)
               : read_struct(op, json, readers[op->kind].shape, readers[op->kind].size, err);
}

static void refuse_op(struct fa_op *op, enum faina_code code, const struct faina_error *error)
{
    op->code = code;
    op->error = *error;
}

/* Takes the answer of one operation. */
static void take(struct fa_op *op, struct fa_json json, struct fa_call *call, const char *shown)
{
    struct faina_error err;

    fa_error_clear(&err);
    op->code = read_answer(op, json, &err);
    if (op->code == FAINA_OK && item_sizes[op->kind] > 0)
        op->next_cursor = fa_json_member_text(json, "nextCursor", op->arena);
    if (op->code == FAINA_OK)
        return;
    if (op->code == FAINA_INTERNAL) { /* another shape than it should have */
        refuse(call, shown, err.message);
        refuse_op(op, call->code, &call->error);
        return;
    }
    op->error = err;
}

void fa_decode_one(struct fa_op *op, struct fa_call *call, const char *shown)
{
    struct fa_json json;
    enum faina_code code = fa_decode_json(call, op->arena, shown, &json);

    if (code != FAINA_OK)
        refuse_op(op, code, &call->error);
    else
        take(op, json, call, shown);
}

bool fa_decode_next_page(const struct fa_op *op, struct fa_op *next)
{
    const struct list *list = (const void *)op->task;
    size_t limit = op->page.limit > 0 ? (size_t)op->page.limit : FA_LIST_LIMIT_DEFAULT;

    if (op->code != FAINA_OK || item_sizes[op->kind] == 0 || op->part.is_asked ||
        !op->next_cursor || (op->kind == FA_OP_EVENTS && list->count >= limit))
        return false;
    *next = *op;
    next->part.cursor = op->next_cursor;
    if (op->kind == FA_OP_EVENTS)
        next->page.limit = (int)(limit - list->count);
    return true;
}

void fa_decode_add_page(struct fa_op *op, const struct fa_op *page)
{
    size_t size = item_sizes[op->kind];
    const struct list *more = (const void *)page->task;
    struct list *list = (void *)op->task;
    char *items;

    op->next_cursor = NULL;
    if (page->code != FAINA_OK) {
        op->code = page->code;
        op->error = page->error;
        return;
    }
    if (more->count == 0) /* a faulty server: its pages never end */
        return;
    items = fa_arena_take(op->arena, (list->count + more->count) * size);
    if (list->count > 0)
        memcpy(items, list->items, list->count * size);
    memcpy(items + list->count * size, more->items, more->count * size);
    list->items = items;
    list->count += more->count;
    op->next_cursor = page->next_cursor;
}

static void take_item(struct fa_op *op, struct fa_json item, struct fa_call *call,
                      const char *shown)
{
    struct faina_error problem;
    struct fa_json code;

    if (item.type != FA_JSON_OBJECT || !fa_json_member(item, "code", &code)) {
        take(op, item, call, shown);
    } else if (fa_wire_read_problem(item, op->arena, &problem)) {
        adopt(call, &problem);
        refuse_op(op, call->code, &call->error);
    } else {
        refuse(call, shown, "an unknown problem");
        refuse_op(op, call->code, &call->error);
    }
}

void fa_decode_many(struct fa_op *ops, size_t count, struct fa_call *call, const char *shown)
{
    struct fa_json json, items, item;
    struct fa_json_iter it;
    enum faina_code code = fa_decode_json(call, ops[0].arena, shown, &json);
    size_t i = 0;

    if (code == FAINA_OK &&
        (json.type != FA_JSON_OBJECT || !fa_json_member(json, "items", &items) ||
         items.type != FA_JSON_ARRAY || fa_json_count(items) != count))
        code = refuse(call, shown, "the item count differs from the request");
    if (code != FAINA_OK) {
        for (i = 0; i < count; i++)
            refuse_op(&ops[i], code, &call->error);
        return;
    }
    for (it = fa_json_iter(items); fa_json_next(&it, NULL, &item); i++)
        take_item(&ops[i], item, call, shown);
}
