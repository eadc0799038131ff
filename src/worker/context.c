/*
 * context.c - the functions faina_context_..., and the outcome of a handler function.
 */
#include "worker/context.h"

#include "json/json.h"
#include "model/check.h"
#include "model/limits.h"
#include "model/states.h"

#include <assert.h>

/* ------------------------------------------------------------------------------------------
 * Reading
 */

const struct faina_task *faina_context_task(const struct faina_context *context)
{
    return context->task;
}

bool faina_context_cancelled(const struct faina_context *context)
{
    return context->backend->is_cancelled(context->backend_ctx);
}

static void read_subtask(struct faina_context *context, struct fa_json item)
{
    struct fa_arena *arena = context->arena;
    struct faina_subtask *subtask = &context->subtasks[context->subtask_count++];
    const char *status = fa_json_member_text(item, "status", arena);

    subtask->id = fa_json_member_text(item, "id", arena);
    subtask->name = fa_json_member_text(item, "name", arena);
    subtask->type = fa_json_member_text(item, "type", arena);
    subtask->output = fa_json_member_raw(item, "output", arena);
    subtask->error = fa_json_member_raw(item, "error", arena);
    if (!status || !fa_status_parse(status, &subtask->status))
        subtask->status = FAINA_PENDING;
}

static void read_subtasks(struct faina_context *context)
{
    struct fa_json array, item;
    struct fa_json_iter it;

    context->has_read = true;
    if (!context->subtasks_json)
        return;
    array = fa_json_value(fa_str(context->subtasks_json));
    assert(array.type == FA_JSON_ARRAY);
    context->subtasks =
        fa_arena_zero(context->arena, fa_json_count(array) + 1, sizeof(*context->subtasks));
    for (it = fa_json_iter(array); fa_json_next(&it, NULL, &item);)
        read_subtask(context, item);
}

const struct faina_subtask *faina_context_subtasks(struct faina_context *context, size_t *count)
{
    if (!context->has_read)
        read_subtasks(context);
    if (count)
        *count = context->subtask_count;
    return context->subtasks;
}

const struct faina_subtask *faina_context_find(struct faina_context *context,
                                               const char *id_or_name)
{
    size_t count;
    const struct faina_subtask *subtasks = faina_context_subtasks(context, &count);

    for (size_t i = 0; id_or_name && i < count; i++)
        if (subtasks[i].id && strcmp(subtasks[i].id, id_or_name) == 0)
            return &subtasks[i];
    for (size_t i = 0; id_or_name && i < count; i++)
        if (subtasks[i].name && strcmp(subtasks[i].name, id_or_name) == 0)
            return &subtasks[i];
    return NULL;
}

/* ------------------------------------------------------------------------------------------
 * Reporting
 */

void faina_context_progress(struct faina_context *context, int percent, const char *state)
{
    struct faina_report report = {
        .has_progress = percent >= 0 && percent <= 100, .progress = percent, .state = state};

    if ((report.has_progress || state) && fa_check_report(&report, NULL) == FAINA_OK)
        context->backend->report(context->backend_ctx, &report);
}

enum faina_code faina_context_metadata(struct faina_context *context, const char *json,
                                       struct faina_error *err)
{
    struct faina_report report = {.metadata = json};
    enum faina_code code;

    fa_error_clear(err);
    code = fa_check_report(&report, err);
    if (code == FAINA_OK && json)
        context->backend->report(context->backend_ctx, &report);
    return code;
}

enum faina_code faina_context_output(struct faina_context *context, const char *json,
                                     struct faina_error *err)
{
    enum faina_code code;

    fa_error_clear(err);
    code = fa_check_json(json, context->output_max, "output", FAINA_INVALID_REQUEST, err);
    if (code == FAINA_OK)
        context->output = fa_arena_strdup(context->arena, json);
    return code;
}

enum faina_code faina_context_error(struct faina_context *context,
                                    const struct faina_failure *failure, struct faina_error *err)
{
    enum faina_code code;

    fa_error_clear(err);
    if (!failure)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "failure", "failure is missing");
    code = fa_check_failure(failure, err);
    if (code != FAINA_OK)
        return code;
    context->failure = (struct faina_failure){
        .message = fa_arena_strdup(context->arena, failure->message),
        .kind = fa_arena_strdup(context->arena, failure->kind),
        .detail = fa_arena_strdup(context->arena, failure->detail),
        .permanent = failure->permanent,
        .retry_after_ms = failure->retry_after_ms,
        .retry_at_us = failure->retry_at_us,
    };
    return FAINA_OK;
}

enum faina_code faina_context_background(struct faina_context *context, const char *reason,
                                         int64_t timeout_ms, struct faina_error *err)
{
    enum faina_code code;

    fa_error_clear(err);
    code = fa_check_background(reason, timeout_ms, err);
    if (code != FAINA_OK)
        return code;
    context->reason = fa_arena_strdup(context->arena, reason);
    context->timeout_ms = timeout_ms;
    return FAINA_OK;
}

void faina_context_fail_fast(struct faina_context *context)
{
    context->fail_fast = true;
}

enum faina_code faina_context_require(struct faina_context *context, const char *resource,
                                      struct faina_error *err)
{
    fa_error_clear(err);
    if (!context->require) /* it outlives the context, with the outcome */
        context->require = fa_arena_zero(context->arena, 1, sizeof(*context->require));
    return fa_require(context->require, context->arena, context->task, resource, err);
}

static struct faina_submit copy_submit(struct fa_arena *arena, const struct faina_submit *submit)
{
    struct faina_submit copy = *submit;

    copy.ns = fa_arena_strdup(arena, submit->ns);
    copy.type = fa_arena_strdup(arena, submit->type);
    copy.name = fa_arena_strdup(arena, submit->name);
    copy.input = fa_arena_strdup(arena, submit->input);
    copy.metadata = fa_arena_strdup(arena, submit->metadata);
    copy.spec = fa_arena_strdup(arena, submit->spec);
    copy.idempotency_key = fa_arena_strdup(arena, submit->idempotency_key);
    copy.key_scope = fa_arena_strdup(arena, submit->key_scope);
    copy.team_id = fa_arena_strdup(arena, submit->team_id);
    copy.created_by = fa_arena_strdup(arena, submit->created_by);
    copy.traceparent = fa_arena_strdup(arena, submit->traceparent);
    copy.group = fa_arena_strdup(arena, submit->group);
    copy.depends_on = fa_arena_strs(arena, submit->depends_on, submit->depends_on_count);
    copy.resources = fa_arena_strs(arena, submit->resources, submit->resource_count);
    return copy;
}

enum faina_code faina_context_subtask(struct faina_context *context,
                                      const struct faina_submit *subtask, char id[FAINA_ID_SIZE],
                                      struct faina_error *err)
{
    enum faina_code code;

    fa_error_clear(err);
    if (!subtask)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "subtask", "subtask is missing");
    if (context->child_count == FA_CHILDREN_MAX)
        return fa_error_set(err, FAINA_INVALID_REQUEST, "a task can have at most %d subtasks",
                            FA_CHILDREN_MAX);
    code = fa_check_submit(subtask, context->output_max, err);
    if (code == FAINA_OK && id && !subtask->name)
        code = fa_error_field(err, FAINA_INVALID_REQUEST, "name",
                              "a subtask whose id is wanted needs a name");
    if (code == FAINA_OK && id)
        code = context->backend->create(context->backend_ctx, subtask, id, err);
    if (code != FAINA_OK)
        return code;
    context->children = fa_arena_grow(context->arena, context->children, context->child_count,
                                      &context->child_size, sizeof(*subtask));
    context->children[context->child_count++] = copy_submit(context->arena, subtask);
    return FAINA_OK;
}

/* ------------------------------------------------------------------------------------------
 * Running
 */

enum faina_code fa_context_check(const char *type, const struct faina_handler *handler,
                                 struct faina_error *err)
{
    enum faina_code code =
        fa_check_name(type, FA_TYPE_SIZE_MAX, "type", FAINA_INVALID_REQUEST, err);
    struct faina_submit settings;

    if (code != FAINA_OK)
        return code;
    if (!handler || !handler->on_start)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "on_start",
                              "the handler of %.255s has no on_start", type);
    if (handler->timeout_ms < 0 || handler->concurrency < 0)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "handler",
                              "the handler of %.255s has a negative timeout_ms or concurrency",
                              type);
    settings = (struct faina_submit){
        .type = type,
        .max_attempts = handler->max_attempts,
        .retry = handler->retry,
        .resources = handler->resources,
        .resource_count = handler->resource_count,
    };
    return fa_check_submit(&settings, FA_INPUT_SIZE_DEFAULT, err);
}

struct faina_submit fa_context_settings(struct fa_arena *arena, const struct faina_handler *handler)
{
    return (struct faina_submit){
        .max_attempts = handler->max_attempts,
        .retry = handler->retry,
        .resources = fa_arena_strs(arena, handler->resources, handler->resource_count),
        .resource_count = handler->resource_count,
    };
}

static bool is_bad(enum faina_status status)
{
    return status == FAINA_FAILED || status == FAINA_DEAD_LETTER || status == FAINA_CANCELLED;
}

/* A handler without on_error fails with the error of the first subtask that ended badly. Another
 * attempt would not change a dependency that ended badly. */
static struct fa_outcome fail_by_subtask(struct faina_context *context)
{
    size_t count;
    const struct faina_subtask *subtasks = faina_context_subtasks(context, &count);

    for (size_t i = 0; i < count; i++) {
        struct fa_json error, retryable;
        const char *message = NULL;
        bool is_permanent = false;

        if (!is_bad(subtasks[i].status))
            continue;
        if (subtasks[i].error) {
            error = fa_json_value(fa_str(subtasks[i].error));
            message = fa_json_member_text(error, "message", context->arena);
            is_permanent =
                fa_json_member(error, "retryable", &retryable) && retryable.type == FA_JSON_FALSE;
        }
        return fa_outcome_fail(context->arena, "subtask", is_permanent, "subtask %s is %s%s%s",
                               subtasks[i].name, faina_status_name(subtasks[i].status),
                               message ? ": " : "", message ? message : "");
    }
    return fa_outcome_fail(context->arena, "dependency", true, "a dependency ended badly");
}

static struct fa_outcome failed(struct faina_context *context)
{
    if (!context->failure.message)
        return fa_outcome_fail(context->arena, "handler", false,
                               "the handler failed without an error message");
    return (struct fa_outcome){.kind = FA_OUTCOME_FAIL, .failure = context->failure};
}

static struct fa_outcome blocked(struct faina_context *context)
{
    if (context->child_count == 0)
        return fa_outcome_fail(context->arena, "protocol", true,
                               "the handler waits for subtasks and has made none");
    return (struct fa_outcome){
        .kind = FA_OUTCOME_BLOCK,
        .subtasks = context->children,
        .subtask_count = context->child_count,
        .fail_fast = context->fail_fast,
    };
}

static struct fa_outcome outcome_of(struct faina_context *context, enum faina_outcome result)
{
    switch (result) {
    case FAINA_OUTCOME_COMPLETE:
        return (struct fa_outcome){.kind = FA_OUTCOME_COMPLETE, .output = context->output};
    case FAINA_OUTCOME_BLOCKED:
        return blocked(context);
    case FAINA_OUTCOME_BACKGROUND:
        return (struct fa_outcome){.kind = FA_OUTCOME_BACKGROUND,
                                   .reason = context->reason,
                                   .timeout_ms = context->timeout_ms};
    case FAINA_OUTCOME_FAILED:
        return failed(context);
    }
    return fa_outcome_fail(context->arena, "protocol", true,
                           "the handler returned %d, which is no outcome", (int)result);
}

struct fa_outcome fa_context_run(struct faina_context *context, const struct faina_handler *handler,
                                 void *user)
{
    faina_handler_fn *entry = handler->on_start;
    enum faina_outcome result;
    struct fa_outcome outcome;

    if (context->task->phase == FAINA_PHASE_ERROR) {
        if (!handler->on_error)
            return fail_by_subtask(context);
        entry = handler->on_error;
    } else if (context->task->phase == FAINA_PHASE_RESUME && handler->on_resume) {
        entry = handler->on_resume;
    }
    result = entry(context, user);
    if (context->require && fa_require_outcome(context->require, &outcome))
        return outcome;
    return outcome_of(context, result);
}
