/*
 * check_op.c - see check_op.h.
 */
#include "service/check_op.h"

#include "json/json.h"
#include "model/attempts.h"
#include "model/audit_entry.h"
#include "model/bulk.h"
#include "model/check.h"
#include "model/failure_group.h"
#include "model/history.h"
#include "model/id.h"
#include "model/id_part.h"
#include "model/limits.h"
#include "model/rate.h"
#include "model/redaction.h"
#include "model/states.h"
#include "model/trace.h"
#include "model/workflow.h"
#include "wire/filter.h"
#include "wire/schedule_body.h"

#include <assert.h>
#include <stdlib.h>

/* Text that isn't an id can't be any task's, so the answer is "not found" and not "invalid": a
 * caller has one case less to distinguish. */
static enum faina_code check_id(const char *id, const char *noun, enum faina_code missing,
                                struct faina_error *err)
{
    struct fa_id parsed;

    if (!id || id[0] == '\0')
        return fa_error_field(err, FAINA_INVALID_REQUEST, "id", "the %s's id is missing", noun);
    if (!fa_id_parse(id, &parsed))
        return fa_error_set(err, missing, "there is no %s \"%.64s\": that is not an id", noun, id);
    return FAINA_OK;
}

/* A UUID of any version. Other text is the id of no team. */
static enum faina_code check_team_id(const char *id, enum faina_code missing,
                                     struct faina_error *err)
{
    char parsed[FAINA_ID_SIZE];

    if (!id || id[0] == '\0')
        return fa_error_field(err, FAINA_INVALID_REQUEST, "id", "the team's id is missing");
    if (fa_uuid_parse(id, parsed))
        return FAINA_OK;
    if (missing == FAINA_INVALID_REQUEST)
        return fa_error_field(err, missing, "id", "the id of a team is a UUID, not \"%.64s\"", id);
    return fa_error_set(err, missing, "there is no team \"%.64s\": that is not an id", id);
}

static enum faina_code check_by(const struct faina_by *by, bool needs_worker,
                                struct faina_error *err)
{
    if (by->fence < 0)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "fence", "fence can't be negative");
    if (by->version < 0)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "version", "version can't be negative");
    if (!needs_worker && !by->worker_id)
        return FAINA_OK;
    return fa_check_worker(by->worker_id, err);
}

static enum faina_code check_range(int64_t value, int64_t max, const char *field,
                                   struct faina_error *err)
{
    if (value < 0 || value > max)
        return fa_error_field(err, FAINA_INVALID_REQUEST, field,
                              "%s must be between 0 and %lld, not %lld", field, (long long)max,
                              (long long)value);
    return FAINA_OK;
}

static enum faina_code check_lease(int64_t ms, struct faina_error *err)
{
    if (ms < 0 || ms > FA_LEASE_MS_MAX)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "leaseSeconds",
                              "leaseSeconds must be between 0 and %lld",
                              (long long)FA_LEASE_MS_MAX / 1000);
    return FAINA_OK;
}

/* A name that may be left out. */
static enum faina_code check_optional(const char *text, size_t max, const char *field,
                                      struct faina_error *err)
{
    return text ? fa_check_name(text, max, field, FAINA_INVALID_REQUEST, err) : FAINA_OK;
}

static int by_name(const void *a, const void *b)
{
    const struct faina_submit *x = *(const struct faina_submit *const *)a;
    const struct faina_submit *y = *(const struct faina_submit *const *)b;
    int order = strcmp(x->name, y->name);

    return order != 0 ? order : (x > y) - (x < y);
}

static bool is_same_text(const char *a, const char *b, const char *missing)
{
    return strcmp(a ? a : missing, b ? b : missing) == 0;
}

static bool is_same_work(const struct faina_submit *a, const struct faina_submit *b)
{
    return fa_name_is_same(a->type ? a->type : "default", b->type ? b->type : "default") &&
           (is_same_text(a->input, b->input, "null") ||
            fa_json_same(fa_str(a->input ? a->input : "null"),
                         fa_str(b->input ? b->input : "null")));
}

/* A name means one subtask: of two that differ, one would never be done. */
static enum faina_code check_names(const struct faina_submit *subtasks, size_t count,
                                   struct faina_error *err)
{
    const struct faina_submit **named = fa_alloc_zero(count, sizeof(*named));
    enum faina_code code = FAINA_OK;
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (subtasks[i].name)
            named[n++] = &subtasks[i];
    qsort(named, n, sizeof(*named), by_name);
    for (size_t i = 1; i < n && code == FAINA_OK; i++)
        if (strcmp(named[i - 1]->name, named[i]->name) == 0 &&
            !is_same_work(named[i - 1], named[i]))
            code = fa_error_field(err, FAINA_INVALID_REQUEST, "subtasks",
                                  "subtasks %zu and %zu are both called \"%.255s\": a name tells a "
                                  "subtask from the others; leave it out, or give each its own",
                                  (size_t)(named[i - 1] - subtasks) + 1,
                                  (size_t)(named[i] - subtasks) + 1, named[i]->name);
    free(named);
    return code;
}

/* Stores the submitter's trace in the metadata, from where everything else reads it. `task` has
 * passed its check. */
static enum faina_code store_trace(struct faina_submit *task, struct fa_arena *arena,
                                   struct faina_error *err)
{
    struct fa_trace trace;

    if (!fa_trace_parse(task->traceparent, &trace))
        return FAINA_OK;
    task->metadata = fa_trace_store(task->metadata, &trace, arena);
    task->traceparent = NULL;
    if (strlen(task->metadata) > FA_METADATA_SIZE_MAX)
        return fa_error_field(err, FAINA_PAYLOAD_TOO_LARGE, "metadata",
                              "metadata is larger than %d bytes together with the traceparent",
                              FA_METADATA_SIZE_MAX);
    return FAINA_OK;
}

static enum faina_code check_submit(struct fa_op *op, size_t input_max, struct faina_error *err)
{
    enum faina_code code = fa_check_submit(op->submit, input_max, err);
    struct faina_submit *copy;

    if (code != FAINA_OK || !op->submit->traceparent)
        return code;
    copy = (void *)fa_arena_copy(op->arena, (const char *)op->submit, sizeof(*copy));
    code = store_trace(copy, op->arena, err);
    op->submit = copy;
    return code;
}

static bool have_traces(const struct faina_submit *tasks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (tasks[i].traceparent)
            return true;
    return false;
}

static enum faina_code store_traces(struct fa_op *op, struct faina_error *err)
{
    size_t size = op->block.count * sizeof(*op->block.subtasks);
    enum faina_code code = FAINA_OK;
    struct faina_submit *copies;

    if (!have_traces(op->block.subtasks, op->block.count))
        return FAINA_OK;
    copies = (void *)fa_arena_copy(op->arena, (const char *)op->block.subtasks, size);
    for (size_t i = 0; code == FAINA_OK && i < op->block.count; i++)
        code = store_trace(&copies[i], op->arena, err);
    op->block.subtasks = copies;
    return code;
}

static enum faina_code check_block(size_t input_max, struct fa_op *op, struct faina_error *err)
{
    enum faina_code names;

    if (op->block.count > 0 && !op->block.subtasks)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "subtasks",
                              "subtasks is NULL, but its count is %zu", op->block.count);
    if (op->block.count == 0)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "subtasks",
                              "there is nothing to wait for: give at least one subtask");
    if (op->block.count > FA_CHILDREN_MAX)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "subtasks",
                              "a task can have at most %d subtasks, not %zu", FA_CHILDREN_MAX,
                              op->block.count);
    for (size_t i = 0; i < op->block.count; i++) {
        struct faina_error inner;
        enum faina_code code;

        fa_error_clear(&inner);
        code = fa_check_submit(&op->block.subtasks[i], input_max, &inner);
        if (code == FAINA_OK)
            continue;
        fa_error_field(err, code, "subtasks", "subtask %zu: %.480s", i + 1, inner.message);
        if (err) {
            err->line = inner.line;
            err->column = inner.column;
        }
        return code;
    }
    names = check_names(op->block.subtasks, op->block.count, err);
    return names == FAINA_OK ? store_traces(op, err) : names;
}

static enum faina_code check_note(const struct fa_op *op, struct faina_error *err)
{
    enum faina_code code =
        fa_check_name(op->note.what, FA_NAME_SIZE_MAX, "what", FAINA_INVALID_REQUEST, err);

    if (code == FAINA_OK && strcmp(op->note.what, FA_LOG_PART) == 0)
        code = fa_error_field(err, FAINA_INVALID_REQUEST, "event",
                              "the event %s is the engine's own: use /tasks/{id}/log", FA_LOG_PART);
    if (code == FAINA_OK)
        code =
            fa_check_json(op->note.detail, FA_NOTE_SIZE_MAX, "detail", FAINA_INVALID_REQUEST, err);
    return code;
}

/* Only what AMEND takes of it is looked at. */
static enum faina_code check_amend(const struct fa_op *op, struct faina_error *err)
{
    struct faina_submit settings = {
        .type = "any",
        .max_attempts = op->submit->max_attempts,
        .retry = op->submit->retry,
        .resources = op->submit->resources,
        .resource_count = op->submit->resource_count,
    };

    return fa_check_submit(&settings, FA_INPUT_SIZE_DEFAULT, err);
}

/* A namespace that something is put into: "*" stands for all of them. */
static enum faina_code check_one_namespace(const char *ns, struct faina_error *err)
{
    enum faina_code code = check_optional(ns, FA_NAMESPACE_SIZE_MAX, "namespace", err);

    if (code == FAINA_OK && ns && strcmp(ns, "*") == 0)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "namespace",
                              "namespace is \"*\", which stands for all namespaces: name one");
    return code;
}

static enum faina_code check_purge(const struct faina_purge *purge, struct faina_error *err)
{
    enum faina_code code;

    assert(purge);
    for (enum faina_status status = 0; status < FAINA_STATUS_COUNT; status++) {
        if ((purge->statuses & (1u << status)) && !fa_status_is_ended(status))
            return fa_error_field(err, FAINA_INVALID_REQUEST, "status",
                                  "only ended tasks can be purged, and %s is not an end",
                                  faina_status_name(status));
    }
    if (purge->statuses >> FAINA_STATUS_COUNT)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "status",
                              "the set of statuses holds one that doesn't exist");
    code = check_optional(purge->ns, FA_NAMESPACE_SIZE_MAX, "namespace", err);
    if (code == FAINA_OK)
        code = check_optional(purge->type, FA_TYPE_SIZE_MAX, "type", err);
    if (code == FAINA_OK)
        code = check_range(purge->limit, INT64_MAX, "limit", err);
    return code;
}

/* Namespace and type of PAUSE, RESUME, GET_BY_KEY, STATS and TEAM_LIST. */
static enum faina_code check_lane(const struct fa_op *op, bool needs_type, struct faina_error *err)
{
    enum faina_code code = check_optional(op->name.ns, FA_NAMESPACE_SIZE_MAX, "namespace", err);

    if (code == FAINA_OK && needs_type)
        code = fa_check_name(op->name.type, FA_TYPE_SIZE_MAX, "type", FAINA_INVALID_REQUEST, err);
    return code;
}

static enum faina_code check_pause(const struct fa_op *op, struct faina_error *err)
{
    enum faina_code code = check_one_namespace(op->name.ns, err);

    return code == FAINA_OK ? check_lane(op, true, err) : code;
}

static enum faina_code check_resource_set(const struct fa_op *op, struct faina_error *err)
{
    struct faina_rate rate = op->resource.rate;
    enum faina_code code = fa_check_name(op->resource.name, FA_RESOURCE_NAME_SIZE_MAX, "name",
                                         FAINA_INVALID_REQUEST, err);

    if (code != FAINA_OK)
        return code;
    if (op->resource.max_concurrency < -1 || op->resource.max_concurrency > FA_CONCURRENCY_MAX)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "maxConcurrency",
                              "maxConcurrency must be between 0 and %d, or no limit",
                              FA_CONCURRENCY_MAX);
    if (rate.count == 0 && (rate.per_ms != 0 || rate.burst != 0))
        return fa_error_field(err, FAINA_INVALID_REQUEST, "rate.count",
                              "rate.count is missing: how many tasks may start in the time of "
                              "rate.per");
    return rate.count != 0 ? fa_rate_check(&rate, err) : FAINA_OK;
}

static enum faina_code check_team(const struct faina_team *team, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    assert(team);
    if (team->id[0])
        code = check_team_id(team->id, FAINA_INVALID_REQUEST, err);
    if (code == FAINA_OK)
        code = check_one_namespace(team->ns, err);
    if (code == FAINA_OK)
        code = fa_check_name(team->name, FA_NAME_SIZE_MAX, "name", FAINA_INVALID_REQUEST, err);
    if (code == FAINA_OK)
        code = fa_check_json(team->spec, FA_SPEC_SIZE_MAX, "spec", FAINA_INVALID_REQUEST, err);
    return code;
}

static bool is_hash(const char *text)
{
    return text && strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

/* One of the namespaces that a token is for. */
static enum faina_code check_reach(const char *ns, struct faina_error *err)
{
    if (strcmp(ns, "*") == 0)
        return fa_error_field(
            err, FAINA_INVALID_REQUEST, "namespaces",
            "\"*\" is not a namespace name; without namespaces a token is for all");
    return fa_check_name(ns, FA_NAMESPACE_SIZE_MAX, "namespaces", FAINA_INVALID_REQUEST, err);
}

static enum faina_code not_names(struct faina_error *err)
{
    return fa_error_field(err, FAINA_INVALID_REQUEST, "namespaces",
                          "namespaces must be one or more names");
}

static enum faina_code check_namespaces(const char *json, struct faina_error *err)
{
    struct fa_arena scratch = {0};
    struct fa_json_iter it;
    struct fa_json value, item;
    enum faina_code code;
    size_t count = 0;

    code = fa_check_json(json, FA_SPEC_SIZE_MAX, "namespaces", FAINA_INVALID_REQUEST, err);
    if (code != FAINA_OK || !json)
        return code;
    value = fa_json_value(fa_str(json));
    if (value.type == FA_JSON_ARRAY) {
        for (it = fa_json_iter(value); code == FAINA_OK && fa_json_next(&it, NULL, &item); count++)
            code = item.type == FA_JSON_STRING ? check_reach(fa_json_text(item, &scratch), err)
                                               : not_names(err);
    }
    fa_arena_finish(&scratch);
    return count == 0 ? not_names(err) : code;
}

static enum faina_code check_token(const struct fa_token *token, struct faina_error *err)
{
    enum faina_code code =
        fa_check_name(token->name, FA_NAME_SIZE_MAX, "name", FAINA_INVALID_REQUEST, err);

    if (code != FAINA_OK)
        return code;
    if (!is_hash(token->hash))
        return fa_error_field(err, FAINA_INVALID_REQUEST, "hash",
                              "hash must be 64 hexadecimal digits in lower case");
    if (token->scopes == 0 || token->scopes & ~(unsigned)FA_SCOPE_ALL)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "scopes",
                              "scopes must be one or more of read, view, submit, work, operate and "
                              "admin");
    if (token->expires_us < 0)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "expires", "expires can't be negative");
    return check_namespaces(token->namespaces, err);
}

/* The name is how another attempt, and the block, find the subtask. */
static enum faina_code check_subtask(size_t input_max, const struct fa_op *op,
                                     struct faina_error *err)
{
    const struct faina_submit *subtask = op->block.subtasks;

    if (!subtask || op->block.count != 1)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "subtask", "subtask is missing");
    if (!subtask->name)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "name",
                              "a subtask that is created before its parent waits needs a name");
    return fa_check_submit(subtask, input_max, err);
}

/* An operation on one task. */
static enum faina_code check_task(const struct fa_op *op, bool needs_worker,
                                  struct faina_error *err)
{
    enum faina_code code = check_id(op->id, "task", FAINA_TASK_NOT_FOUND, err);

    return code == FAINA_OK ? check_by(&op->by, needs_worker, err) : code;
}

/* The members of an operation on one task besides the task and the actor. */
static enum faina_code check_change(size_t input_max, struct fa_op *op, struct faina_error *err)
{
    bool needs_worker = op->kind == FA_OP_CLAIM || op->kind == FA_OP_HEARTBEAT ||
                        op->kind == FA_OP_NOTE || op->kind == FA_OP_AMEND ||
                        op->kind == FA_OP_LOG_ADD || op->kind == FA_OP_SUBTASK;
    enum faina_code code = check_task(op, needs_worker, err);

    if (code != FAINA_OK)
        return code;
    if (op->kind == FA_OP_PROGRESS)
        return fa_check_report(op->report, err);
    if (op->kind == FA_OP_COMPLETE)
        return fa_check_json(op->output, input_max, "output", FAINA_INVALID_REQUEST, err);
    if (op->kind == FA_OP_FAIL)
        return fa_check_failure(op->failure, err);
    if (op->kind == FA_OP_SUBTASK)
        return check_subtask(input_max, op, err);
    if (op->kind == FA_OP_BLOCK)
        return check_block(input_max, op, err);
    if (op->kind == FA_OP_BACKGROUND)
        return fa_check_background(op->background.reason, op->background.timeout_ms, err);
    if (op->kind == FA_OP_SNOOZE)
        return fa_check_duration(op->snooze_ms, "for", err);
    if (op->kind == FA_OP_NOTE)
        return check_note(op, err);
    if (op->kind == FA_OP_LOG_ADD)
        return op->log.text ? fa_check_text(op->log.text, FA_LOG_SIZE_MAX, "lines",
                                            FAINA_INVALID_REQUEST, err)
                            : FAINA_OK;
    if (op->kind == FA_OP_AMEND)
        return check_amend(op, err);
    assert(op->kind == FA_OP_CLAIM || op->kind == FA_OP_START || op->kind == FA_OP_HEARTBEAT);
    return check_lease(op->lease_ms, err);
}

static enum faina_code check_update(const struct fa_op *op, struct faina_error *err)
{
    enum faina_code code = check_task(op, false, err);

    return code == FAINA_OK ? fa_check_update(op->update, err) : code;
}

static enum faina_code check_page(const struct fa_op *op, struct faina_error *err)
{
    enum faina_code code = check_task(op, false, err);

    return code == FAINA_OK ? check_range(op->page.limit, FA_LIST_LIMIT_MAX, "limit", err) : code;
}

static enum faina_code check_key(const struct fa_op *op, struct faina_error *err)
{
    enum faina_code code = check_lane(op, op->name.type != NULL, err);

    return code == FAINA_OK ? fa_check_name(op->name.key, FA_KEY_SIZE_MAX, "idempotencyKey",
                                            FAINA_INVALID_REQUEST, err)
                            : code;
}

static enum faina_code check_team_list(const struct fa_op *op, struct faina_error *err)
{
    enum faina_code code = check_lane(op, false, err);

    return code == FAINA_OK && op->id ? check_team_id(op->id, FAINA_NOT_FOUND, err) : code;
}

static enum faina_code check_emit(size_t input_max, const struct faina_emit *emit,
                                  struct faina_error *err)
{
    enum faina_code code = check_one_namespace(emit->ns, err);

    if (code == FAINA_OK)
        code = fa_check_name(emit->type, FA_TYPE_SIZE_MAX, "type", FAINA_INVALID_REQUEST, err);
    if (code == FAINA_OK && strncmp(emit->type, "task.", 5) == 0)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "type",
                              "events whose type begins with \"task.\" are the engine's own");
    if (code == FAINA_OK)
        code = check_optional(emit->id, FA_KEY_SIZE_MAX, "id", err);
    if (code == FAINA_OK)
        code = fa_check_json(emit->data, input_max, "data", FAINA_INVALID_REQUEST, err);
    if (code == FAINA_OK && emit->data && fa_json_value(fa_str(emit->data)).type != FA_JSON_OBJECT)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "data", "data must be a JSON object");
    return code;
}

/* Reads the definition; every mistake goes into the answer. */
static enum faina_code check_definition(struct fa_op *op, const char *default_ns,
                                        struct faina_error *err)
{
    const struct fa_definition *definition = op->definition;
    struct fa_workflow_target target = {.ns = definition->ns ? definition->ns : default_ns,
                                        .name = definition->name};
    enum faina_code code = check_one_namespace(definition->ns, err);

    if (code == FAINA_OK)
        code = check_optional(definition->name, FA_NAME_SIZE_MAX, "name", err);
    op->checked = NULL;
    op->mistakes = fa_arena_zero(op->arena, 1, sizeof(*op->mistakes));
    if (code == FAINA_OK)
        code = fa_workflow_read(definition->text,
                                definition->is_yaml ? FA_WORKFLOW_YAML : FA_WORKFLOW_JSON, &target,
                                op->arena, &op->checked, op->mistakes, err);
    if (code == FAINA_OK && definition->name && strcmp(definition->name, op->checked->name) != 0)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "workflow",
                              "the definition is called %.200s, not %.200s", op->checked->name,
                              definition->name);
    return code;
}

static enum faina_code check_workflow(const struct fa_op *op, struct faina_error *err)
{
    enum faina_code code = check_optional(op->workflow.ns, FA_NAMESPACE_SIZE_MAX, "namespace", err);

    if (code != FAINA_OK)
        return code;
    if (op->kind == FA_OP_WORKFLOW_LIST)
        return check_optional(op->workflow.name, FA_NAME_SIZE_MAX, "name", err);
    return fa_check_name(op->workflow.name, FA_NAME_SIZE_MAX, "name", FAINA_INVALID_REQUEST, err);
}

static enum faina_code check_emitted_query(const struct fa_emitted_query *query,
                                           struct faina_error *err)
{
    enum faina_code code = check_optional(query->ns, FA_NAMESPACE_SIZE_MAX, "namespace", err);

    if (code == FAINA_OK)
        code = check_optional(query->type, FA_TYPE_SIZE_MAX, "type", err);
    if (code == FAINA_OK)
        code = check_optional(query->id, FA_KEY_SIZE_MAX, "id", err);
    if (code == FAINA_OK)
        code = check_optional(query->cursor, FA_CURSOR_SIZE_MAX, "cursor", err);
    return code == FAINA_OK ? check_range(query->limit, FA_LIST_LIMIT_MAX, "limit", err) : code;
}

static enum faina_code check_joins(const struct fa_op *op, struct faina_error *err)
{
    enum faina_code code = check_optional(op->join.ns, FA_NAMESPACE_SIZE_MAX, "namespace", err);

    if (code == FAINA_OK)
        code = check_optional(op->join.workflow, FA_NAME_SIZE_MAX, "workflow", err);
    if (code == FAINA_OK)
        code = check_optional(op->join.key, FA_JOIN_KEY_SIZE_MAX, "key", err);
    if (code == FAINA_OK)
        code = check_optional(op->join.cursor, FA_JOIN_CURSOR_SIZE_MAX, "cursor", err);
    return code == FAINA_OK ? check_range(op->join.limit, FA_LIST_LIMIT_MAX, "limit", err) : code;
}

static enum faina_code check_failures(const struct fa_failure_query *query, struct faina_error *err)
{
    enum faina_code code = check_optional(query->ns, FA_NAMESPACE_SIZE_MAX, "namespace", err);

    if (code == FAINA_OK)
        code = check_optional(query->type, FA_TYPE_SIZE_MAX, "type", err);
    return code == FAINA_OK ? check_range(query->limit, FA_LIST_LIMIT_MAX, "limit", err) : code;
}

static enum faina_code check_audit(const struct fa_audit_query *query, struct faina_error *err)
{
    enum faina_code code = check_optional(query->who, FA_REASON_SIZE_MAX, "who", err);

    if (code == FAINA_OK)
        code = check_optional(query->act, FA_REASON_SIZE_MAX, "act", err);
    if (code == FAINA_OK)
        code = check_optional(query->target, FA_REASON_SIZE_MAX, "target", err);
    return code == FAINA_OK ? check_range(query->limit, FA_LIST_LIMIT_MAX, "limit", err) : code;
}

static bool changes_something(const struct faina_update *set)
{
    return set->name || set->has_priority || set->has_run_at || set->max_attempts != 0 ||
           set->timeout_ms != 0 || set->start_by_ms != 0 || set->start_by_us != 0 ||
           set->metadata || set->group;
}

static enum faina_code check_set(const struct faina_update *set, struct faina_error *err)
{
    if (!set || !changes_something(set))
        return fa_error_field(err, FAINA_INVALID_REQUEST, "set",
                              "set is missing: an object with what to change, such as "
                              "{\"priority\":10}");
    return fa_check_update(set, err);
}

/* An empty filter is more likely a mistake than a request for all tasks. */
static enum faina_code check_bulk(const struct fa_bulk_request *request, struct faina_error *err)
{
    enum faina_code code = fa_check_query(&request->query, err);

    if (!request->has_filter)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "filter",
                              "filter is missing: an object with the names of GET /tasks, such as "
                              "{\"status\":\"dead_letter\"}");
    if (code == FAINA_OK && !request->all && !fa_filter_has_condition(&request->query))
        return fa_error_field(err, FAINA_INVALID_REQUEST, "filter",
                              "filter has no condition besides namespace; for all tasks of the "
                              "namespace it needs \"all\": true");
    if (code == FAINA_OK && request->kind == FA_BULK_UPDATE)
        code = check_set(request->set, err);
    if (code == FAINA_OK && request->reason)
        code = fa_check_text(request->reason, FA_REASON_SIZE_MAX, "reason", FAINA_INVALID_REQUEST,
                             err);
    return code;
}

/* The range is checked when it is read: it depends on the time. */
static enum faina_code check_history(const struct fa_history_query *query, struct faina_error *err)
{
    enum faina_code code = check_optional(query->ns, FA_NAMESPACE_SIZE_MAX, "namespace", err);

    if (code == FAINA_OK)
        code = check_optional(query->type, FA_TYPE_SIZE_MAX, "type", err);
    return code;
}

static enum faina_code check_cron_name(const struct fa_op *op, bool needs_name,
                                       struct faina_error *err)
{
    enum faina_code code = check_lane(op, false, err);

    if (code == FAINA_OK && (needs_name || op->id))
        code = fa_check_name(op->id, FA_CRON_NAME_SIZE_MAX, "name", FAINA_INVALID_REQUEST, err);
    return code;
}

static enum faina_code check_part_of_id(const char *text, struct faina_error *err)
{
    if (text != NULL && fa_id_part_is_text(text))
        return FAINA_OK;
    return fa_error_field(err, FAINA_INVALID_REQUEST, "id",
                          "id must be the beginning or the end of an id: up to %d hexadecimal "
                          "digits, with or without dashes",
                          FA_ID_DIGITS);
}

static enum faina_code check_graph(struct fa_op *op, struct faina_error *err)
{
    enum faina_code code = check_task(op, false, err);

    return code == FAINA_OK ? check_range(op->graph.depth, FA_GRAPH_DEPTH_MAX, "depth", err) : code;
}

static enum faina_code check_requeue(const struct fa_op *op, struct faina_error *err)
{
    const struct fa_requeue *want = op->requeue;

    if (want->delay_ms < 0 || want->delay_ms > FA_DURATION_MS_MAX)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "delay",
                              "delay must be between 0 and %lld seconds",
                              (long long)FA_DURATION_MS_MAX / 1000);
    if (want->has_priority && want->priority < FA_PRIORITY_MIN)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "priority",
                              "priority must be between %d and %d", FA_PRIORITY_MIN,
                              FA_PRIORITY_MAX);
    return check_task(op, false, err);
}

static enum faina_code check_queue(const struct fa_op *op, struct faina_error *err)
{
    enum faina_code code = check_range(op->queue.limit, FA_LIST_LIMIT_MAX, "limit", err);

    if (code == FAINA_OK)
        code = check_optional(op->queue.ns, FA_NAMESPACE_SIZE_MAX, "namespace", err);
    if (code == FAINA_OK && op->queue.part != FA_QUEUE_KEY)
        code = fa_check_name(op->queue.type, FA_TYPE_SIZE_MAX, "type", FAINA_INVALID_REQUEST, err);
    return code;
}

static enum faina_code check_type_put(const struct fa_op *op, struct faina_error *err)
{
    enum faina_code code = check_by(&op->by, false, err);

    return code == FAINA_OK ? fa_check_type_policy(op->type_policy, err) : code;
}

static enum faina_code check_type_name(const struct fa_op *op, struct faina_error *err)
{
    enum faina_code code = check_optional(op->name.ns, FA_NAMESPACE_SIZE_MAX, "namespace", err);

    if (code == FAINA_OK && (op->kind == FA_OP_TYPE_REMOVE || op->name.type != NULL))
        code = fa_check_name(op->name.type, FA_TYPE_SIZE_MAX, "type", FAINA_INVALID_REQUEST, err);
    return code == FAINA_OK ? check_by(&op->by, false, err) : code;
}

enum faina_code fa_op_check(struct fa_op *op, size_t input_max, const char *default_ns,
                            struct faina_error *err)
{
    switch (op->kind) {
    case FA_OP_SUBMIT:
        return check_submit(op, input_max, err);
    case FA_OP_CLAIM_NEXT:
        return fa_check_claim(op->claim, err);
    case FA_OP_CLAIM:
    case FA_OP_START:
    case FA_OP_PROGRESS:
    case FA_OP_HEARTBEAT:
    case FA_OP_NOTE:
    case FA_OP_LOG_ADD:
    case FA_OP_AMEND:
    case FA_OP_COMPLETE:
    case FA_OP_FAIL:
    case FA_OP_SUBTASK:
    case FA_OP_BLOCK:
    case FA_OP_BACKGROUND:
    case FA_OP_SNOOZE:
        return check_change(input_max, op, err);
    case FA_OP_REQUEUE:
        return check_requeue(op, err);
    case FA_OP_QUEUE:
        return check_queue(op, err);
    case FA_OP_UPDATE:
        return check_update(op, err);
    case FA_OP_RELEASE:
    case FA_OP_CANCEL:
    case FA_OP_RETRY:
    case FA_OP_DELETE:
    case FA_OP_GET:
    case FA_OP_EXPLAIN:
        return check_task(op, false, err);
    case FA_OP_LOG:
        return check_task(op, false, err);
    case FA_OP_FIND:
        return check_part_of_id(op->id, err);
    case FA_OP_GRAPH:
        return check_graph(op, err);
    case FA_OP_CHILDREN:
    case FA_OP_EVENTS:
        return check_page(op, err);
    case FA_OP_FOLLOW:
        return check_range(op->page.limit, FA_LIST_LIMIT_MAX, "limit", err);
    case FA_OP_PURGE:
        return check_purge(op->purge, err);
    case FA_OP_PAUSE:
    case FA_OP_RESUME:
        return check_pause(op, err);
    case FA_OP_STATS:
        return check_lane(op, op->name.type != NULL, err);
    case FA_OP_GET_BY_KEY:
        return check_key(op, err);
    case FA_OP_RESOURCE_SET:
        return check_resource_set(op, err);
    case FA_OP_RESOURCE_REMOVE:
        return fa_check_name(op->resource.name, FA_RESOURCE_NAME_SIZE_MAX, "name",
                             FAINA_INVALID_REQUEST, err);
    case FA_OP_RESOURCE_LIST:
        return check_optional(op->resource.name, FA_RESOURCE_NAME_SIZE_MAX, "name", err);
    case FA_OP_TYPE_PUT:
        return check_type_put(op, err);
    case FA_OP_TYPE_REMOVE:
    case FA_OP_TYPE_LIST:
        return check_type_name(op, err);
    case FA_OP_TEAM_PUT:
        return check_team(op->team, err);
    case FA_OP_TEAM_REMOVE:
        return check_team_id(op->id, FAINA_NOT_FOUND, err);
    case FA_OP_TEAM_LIST:
        return check_team_list(op, err);
    case FA_OP_WORKER_PUT:
        return fa_check_heartbeat(op->worker.self, op->worker.held, op->worker.held_count,
                                  op->worker.lease_ms, err);
    case FA_OP_WORKER_REMOVE:
        return fa_check_worker(op->id, err);
    case FA_OP_WORKER_LIST:
        return op->id ? fa_check_worker(op->id, err) : FAINA_OK;
    case FA_OP_TOKEN_PUT:
        return check_token(op->token, err);
    case FA_OP_TOKEN_REMOVE:
        return check_id(op->id, "token", FAINA_NOT_FOUND, err);
    case FA_OP_TOKEN_LIST:
    case FA_OP_NAMESPACE_LIST:
        return FAINA_OK;
    case FA_OP_CRON_PUT:
        return fa_cron_check(op->cron, input_max, err);
    case FA_OP_CRON_REMOVE:
    case FA_OP_CRON_RUN:
        return check_cron_name(op, true, err);
    case FA_OP_CRON_LIST:
        return check_cron_name(op, false, err);
    case FA_OP_LIST:
        return fa_check_query(op->query, err);
    case FA_OP_EMIT:
        return check_emit(input_max, op->emit, err);
    case FA_OP_WORKFLOW_PUT:
        return check_definition(op, default_ns, err);
    case FA_OP_WORKFLOW_ENABLE:
    case FA_OP_WORKFLOW_REMOVE:
    case FA_OP_WORKFLOW_LIST:
        return check_workflow(op, err);
    case FA_OP_EMITTED_LIST:
        return check_emitted_query(op->emitted_query, err);
    case FA_OP_JOIN_LIST:
        return check_joins(op, err);
    case FA_OP_BROKER_SET:
        return check_range(op->broker.size_max, FA_OUTBOX_SIZE_MAX, "limit", err);
    case FA_OP_SETTINGS_SET:
        return fa_redaction_check(&op->settings.redact, err);
    case FA_OP_SETTINGS_GET:
    case FA_OP_BROKER_GET:
        return FAINA_OK;
    case FA_OP_AUDIT_ADD:
        return check_optional(op->audit_add.act, FA_NAME_SIZE_MAX, "act", err);
    case FA_OP_AUDIT_LIST:
        return check_audit(op->audit_query, err);
    case FA_OP_FAILURES:
        return check_failures(op->failure_query, err);
    case FA_OP_BULK:
    case FA_OP_BULK_COUNT:
        return check_bulk(op->bulk.request, err);
    case FA_OP_BULK_CANCEL:
        return check_id(op->id, "operation", FAINA_NOT_FOUND, err);
    case FA_OP_BULK_LIST:
        return op->id ? check_id(op->id, "operation", FAINA_NOT_FOUND, err) : FAINA_OK;
    case FA_OP_HISTORY:
        return check_history(op->history_query, err);
    case FA_OP_COUNT:
        break;
    }
    assert(!"an operation of no known kind");
    return FAINA_INTERNAL;
}
