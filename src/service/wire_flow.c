/* wire_flow.c - see wire_flow.h. */
#include "service/wire_flow.h"

#include "model/codes.h"
#include "model/workflow.h"
#include "service/wire.h"

#include <assert.h>
#include <stdio.h>

static void put_str(struct fa_json_writer *w, const char *key, const char *text)
{
    fa_json_key(w, key);
    fa_json_put_str(w, text);
}

static void put_int(struct fa_json_writer *w, const char *key, int64_t value)
{
    fa_json_key(w, key);
    fa_json_put_int(w, value);
}

/* ------------------------------------------------------------------------------------------
 * The tables (shape.h)
 */

#define WORKFLOW(name, type, member)                                                               \
    FA_SHAPE_ROW(name, FA_SHAPE_##type, struct fa_stored_workflow, member)

static const struct fa_shape_field workflow_fields[] = {
    WORKFLOW("name", WORD, name),
    WORKFLOW("namespace", WORD, ns),
    WORKFLOW("version", INT64, version),
    WORKFLOW("enabled", BOOL, is_enabled),
    WORKFLOW("updatedAt", TIME, updated_us),
    WORKFLOW("definition", JSON, definition),
    WORKFLOW("redacted", FLAG, redacted),
};
const struct fa_shape fa_shape_workflow = FA_SHAPE("workflow", workflow_fields);

static const struct fa_shape_field workflows_fields[] = {
    FA_SHAPE_LIST_OF("items", fa_shape_workflow, struct fa_stored_workflows, items, count),
};
const struct fa_shape fa_shape_workflows = FA_SHAPE("list", workflows_fields);

static const struct fa_shape_field failure_fields[] = {
    FA_SHAPE_ROW("workflow", FA_SHAPE_TEXT, struct faina_emit_failure, workflow),
    FA_SHAPE_ROW("trigger", FA_SHAPE_TEXT, struct faina_emit_failure, trigger),
    FA_SHAPE_ROW("message", FA_SHAPE_WORD, struct faina_emit_failure, message),
};
static const struct fa_shape failure_shape = FA_SHAPE("failure", failure_fields);

static const struct fa_shape_field emitted_fields[] = {
    FA_SHAPE_ROW("id", FA_SHAPE_WORD, struct faina_emitted, id),
    FA_SHAPE_MANY("tasks", FA_SHAPE_TEXTS, struct faina_emitted, tasks, count),
    FA_SHAPE_LIST_OF("failures", failure_shape, struct faina_emitted, failures, failure_count),
    FA_SHAPE_ROW("existing", FA_SHAPE_FLAG, struct faina_emitted, existing),
};
const struct fa_shape fa_shape_emitted = FA_SHAPE("event", emitted_fields);

#define HAPPENING(name, type, member)                                                              \
    FA_SHAPE_ROW(name, FA_SHAPE_##type, struct fa_happening, member)

static const struct fa_shape_field happening_fields[] = {
    HAPPENING("id", WORD, id),
    HAPPENING("namespace", WORD, ns),
    HAPPENING("type", WORD, type),
    HAPPENING("data", JSON, data),
    HAPPENING("createdAt", TIME, at_us),
    HAPPENING("tasks", JSON, tasks),
    HAPPENING("failures", JSON, failures),
    HAPPENING("redacted", FLAG, redacted),
};
const struct fa_shape fa_shape_happening = FA_SHAPE("event", happening_fields);

static const struct fa_shape_field happened_fields[] = {
    FA_SHAPE_LIST_OF("items", fa_shape_happening, struct fa_happened, items, count),
    FA_SHAPE_ROW("nextCursor", FA_SHAPE_TEXT, struct fa_happened, next_cursor),
};
const struct fa_shape fa_shape_happened = FA_SHAPE("list", happened_fields);

/* How the round before ended; null when there was none. */
struct last {
    const char *outcome, *task, *error;
};

static const struct fa_shape_field last_fields[] = {
    FA_SHAPE_ROW("outcome", FA_SHAPE_WORD, struct last, outcome),
    FA_SHAPE_ROW("taskId", FA_SHAPE_TEXT, struct last, task),
    FA_SHAPE_ROW("error", FA_SHAPE_TEXT, struct last, error),
};
static const struct fa_shape last_shape = FA_SHAPE("round", last_fields);

static void put_last(struct fa_json_writer *w, const void *place)
{
    const struct fa_join_state *state = place;
    const struct last last = {state->last_outcome, state->last_task, state->last_error};

    if (last.outcome)
        fa_shape_put(w, &last_shape, &last);
    else
        fa_json_put_null(w);
}

static bool read_last(struct fa_json value, struct fa_arena *arena, void *place)
{
    struct fa_join_state *state = place;
    struct last last = {0};

    if (value.type == FA_JSON_NULL)
        return true;
    if (fa_shape_read(value, &last_shape, arena, &last, NULL) != FAINA_OK)
        return false;
    state->last_outcome = last.outcome;
    state->last_task = last.task;
    state->last_error = last.error;
    return true;
}

static_assert(offsetof(struct fa_join_state, ns) == 0, "put_last finds the state there");

#define JOIN(name, type, member) FA_SHAPE_ROW(name, FA_SHAPE_##type, struct fa_join_state, member)

static const struct fa_shape_field join_fields[] = {
    JOIN("workflow", WORD, workflow),
    JOIN("join", WORD, name),
    JOIN("namespace", WORD, ns),
    JOIN("key", JSON, key),
    JOIN("round", INT64, round),
    JOIN("members", JSON, members),
    JOIN("updatedAt", TIME, updated_us),
    JOIN("deadline", TIME, deadline_us),
    FA_SHAPE_OF_ITS_OWN("last", struct fa_join_state, ns, put_last, read_last),
};
static const struct fa_shape join_shape = FA_SHAPE("join", join_fields);

static const struct fa_shape_field joins_fields[] = {
    FA_SHAPE_LIST_OF("items", join_shape, struct fa_join_states, items, count),
    FA_SHAPE_ROW("nextCursor", FA_SHAPE_TEXT, struct fa_join_states, next_cursor),
};
const struct fa_shape fa_shape_joins = FA_SHAPE("list", joins_fields);

/* ------------------------------------------------------------------------------------------
 * Writing
 */

void fa_wire_put_workflow(struct fa_json_writer *w, const struct fa_stored_workflow *workflow)
{
    fa_shape_put(w, &fa_shape_workflow, workflow);
}

void fa_wire_put_emitted(struct fa_json_writer *w, const struct faina_emitted *emitted)
{
    fa_shape_put(w, &fa_shape_emitted, emitted);
}

void fa_wire_put_happening(struct fa_json_writer *w, const struct fa_happening *event)
{
    fa_shape_put(w, &fa_shape_happening, event);
}

void fa_wire_put_join(struct fa_json_writer *w, const struct fa_join_state *state)
{
    fa_shape_put(w, &join_shape, state);
}

void fa_wire_put_mistakes(struct fa_json_writer *w, const struct faina_error *error,
                          const struct fa_mistakes *mistakes)
{
    char type[96];

    snprintf(type, sizeof(type), "urn:faina:problem:%s", faina_code_name(error->code));
    fa_json_begin_object(w);
    put_str(w, "type", type);
    put_str(w, "title", fa_code_sentence(error->code));
    put_int(w, "status", fa_code_http(error->code));
    put_str(w, "detail", error->message);
    put_str(w, "code", faina_code_name(error->code));
    fa_json_key(w, "errors");
    fa_json_begin_array(w);
    for (size_t i = 0; i < mistakes->count; i++) {
        fa_json_begin_object(w);
        put_str(w, "field", mistakes->items[i].path);
        put_str(w, "message", mistakes->items[i].message);
        put_int(w, "line", mistakes->items[i].line);
        put_int(w, "column", mistakes->items[i].column);
        fa_json_end_object(w);
    }
    fa_json_end_array(w);
    fa_json_end_object(w);
}

void fa_wire_put_verdict(struct fa_json_writer *w, const struct fa_match *match,
                         const struct fa_match_verdict *verdict)
{
    struct fa_bytes source = fa_match_source(match);

    fa_json_begin_object(w);
    fa_json_key(w, "matched");
    fa_json_put_bool(w, verdict->is_match);
    fa_json_key(w, "decidedBy");
    fa_json_put_bytes(w,
                      (struct fa_bytes){source.ptr + verdict->from, verdict->to - verdict->from});
    fa_json_end_object(w);
}
