/* wire_workflow.c - see wire_workflow.h. */
#include "wire/wire_workflow.h"

#include "model/codes.h"
#include "model/workflow.h"
#include "wire/wire.h"

#include <assert.h>
#include <stdio.h>

#define REQUIRED FA_FIELD_REQUIRED
#define OMIT FA_FIELD_OMIT
#define REDACTED                                                                                   \
    .flags = OMIT, .doc = "Only when true: the token may not see inputs, outputs, metadata and "   \
                          "details of errors, which are null"

/* ------------------------------------------------------------------------------------------
 * The tables (model/field.h)
 */

#define WORKFLOW(json_name, kind, member, ...)                                                     \
    FA_ROW(json_name, kind, struct fa_stored_workflow, member, __VA_ARGS__)

/* clang-format off */
/* A definition is read by model/workflow.h; this is its description. */
const struct fa_shape fa_body_definition = {
    .name = "Definition",
    .what = "definition",
    .is_request = true,
    .fields = FA_FIELDS(
        {.name = "workflow", .doc = "As in the path, or not given"},
        {.name = "enabled", .type = FA_FIELD_BOOL, .doc = "Its triggers fire; true by default"},
        {.name = "triggers", .type = FA_FIELD_OWN,
         .schema = "{\"type\":\"array\",\"items\":{\"type\":\"object\"}}",
         .doc = "Each makes a task when an event comes"},
        {.name = "joins", .type = FA_FIELD_OWN,
         .schema = "{\"type\":\"array\",\"items\":{\"type\":\"object\"}}",
         .doc = "Each makes a task when all of several events have come"}),
};

const struct fa_shape fa_shape_workflow = {
    .name = "Workflow",
    .what = "workflow",
    .fields = FA_FIELDS(
        WORKFLOW("name", TEXT, name, .flags = REQUIRED, .doc = "Its name"),
        WORKFLOW("namespace", TEXT, ns, .flags = REQUIRED, .doc = "Where its tasks are made"),
        WORKFLOW("version", INT64, version, .doc = "Grows with each definition"),
        WORKFLOW("enabled", BOOL, is_enabled, .doc = "Its triggers fire"),
        WORKFLOW("updatedAt", TIME, updated_us, .flags = REQUIRED, .doc = "When it last changed"),
        WORKFLOW("definition", JSON, definition, .inner = &fa_body_definition,
                 .doc = "As it was stored"),
        {.name = "existing", .type = FA_FIELD_BOOL, .flags = OMIT | FA_FIELD_EXTRA,
         .doc = "In the answer to a change: it was stored before, just like this"},
        WORKFLOW("redacted", BOOL, redacted, REDACTED)),
};

const struct fa_shape fa_shape_workflows = {
    .what = "list",
    .fields = FA_FIELDS(FA_ROW_LIST("items", fa_shape_workflow, struct fa_stored_workflows, items,
                                    count, .doc = "The workflows")),
};

#define FAILURE(json_name, kind, member, ...)                                                      \
    FA_ROW(json_name, kind, struct faina_emit_failure, member, __VA_ARGS__)

static const struct fa_shape failure_shape = {
    .what = "failure",
    .fields = FA_FIELDS(
        FAILURE("workflow", TEXT, workflow, .doc = "The workflow"),
        FAILURE("trigger", TEXT, trigger, .doc = "The trigger or join that made no task"),
        FAILURE("message", TEXT, message, .flags = REQUIRED, .doc = "Why")),
};

#define EMITTED(json_name, kind, member, ...)                                                      \
    FA_ROW(json_name, kind, struct faina_emitted, member, __VA_ARGS__)

const struct fa_shape fa_shape_emitted = {
    .name = "Emitted",
    .what = "event",
    .fields = FA_FIELDS(
        EMITTED("id", TEXT, id, .flags = REQUIRED, .doc = "Of the event"),
        FA_ROW_TEXTS("tasks", struct faina_emitted, tasks, count, .flags = REQUIRED,
                     .doc = "The tasks that it created"),
        FA_ROW_LIST("failures", failure_shape, struct faina_emitted, failures, failure_count,
                    .doc = "The triggers that created no task because of an error"),
        EMITTED("existing", BOOL, existing, .flags = OMIT,
                .doc = "The id was emitted before: these are the tasks of the first time")),
};

#define EMITTED_EVENT(json_name, kind, member, ...) \
    FA_ROW(json_name, kind, struct fa_emitted_event, member, __VA_ARGS__)

const struct fa_shape fa_shape_emitted_event = {
    .name = "EmittedEvent",
    .what = "event",
    .fields = FA_FIELDS(
        EMITTED_EVENT("id", TEXT, id, .flags = REQUIRED, .doc = "Its id"),
        EMITTED_EVENT("namespace", TEXT, ns, .flags = REQUIRED, .doc = "Its namespace"),
        EMITTED_EVENT("type", TEXT, type, .flags = REQUIRED, .doc = "Event type"),
        EMITTED_EVENT("data", JSON, data, .flags = FA_FIELD_OBJECT, .doc = "Data of the event"),
        EMITTED_EVENT("createdAt", TIME, at_us, .flags = REQUIRED, .doc = "When it was emitted"),
        EMITTED_EVENT("tasks", JSON, tasks, .flags = FA_FIELD_ARRAY,
                  .doc = "The tasks that it created"),
        EMITTED_EVENT("failures", JSON, failures, .flags = FA_FIELD_ARRAY, .inner = &failure_shape,
                  .doc = "The triggers that created no task because of an error"),
        EMITTED_EVENT("redacted", BOOL, redacted, REDACTED)),
};

#define CURSOR(structure)                                                                          \
    FA_ROW("nextCursor", TEXT, structure, next_cursor,                                             \
           .doc = "The `cursor` of the next page; null: this is the last")

const struct fa_shape fa_shape_emitted_events = {
    .name = "HappenedList",
    .what = "list",
    .fields = FA_FIELDS(
        FA_ROW_LIST("items", fa_shape_emitted_event, struct fa_emitted_events, items, count,
                    .doc = "The events"),
        CURSOR(struct fa_emitted_events)),
};

#define ROUND(json_name, kind, member, ...)                                                        \
    FA_ROW(json_name, kind, struct fa_join_state, member, __VA_ARGS__)

static const struct fa_shape round_shape = {
    .what = "round",
    .fields = FA_FIELDS(
        ROUND("outcome", TEXT, last_outcome, .flags = REQUIRED, .doc = "How it ended"),
        ROUND("taskId", TEXT, last_task, .doc = "The task that it made"),
        ROUND("error", TEXT, last_error, .doc = "Why it made none")),
};
/* clang-format on */

/* How the round before ended; null when there was none. */
static void put_last(struct fa_json_writer *w, const void *from)
{
    if (((const struct fa_join_state *)from)->last_outcome)
        fa_shape_put(w, &round_shape, from);
    else
        fa_json_put_null(w);
}

static enum faina_code read_last(const struct fa_field *field, struct fa_json value,
                                 struct fa_arena *arena, void *out, struct faina_error *err)
{
    (void)field;
    return fa_shape_read(value, &round_shape, arena, out, err);
}

#define JOIN(json_name, kind, member, ...)                                                         \
    FA_ROW(json_name, kind, struct fa_join_state, member, __VA_ARGS__)

/* clang-format off */
static const struct fa_shape join_shape = {
    .name = "Join",
    .what = "join",
    .fields = FA_FIELDS(
        JOIN("workflow", TEXT, workflow, .flags = REQUIRED, .doc = "The workflow"),
        JOIN("join", TEXT, name, .flags = REQUIRED, .doc = "The join's name"),
        JOIN("namespace", TEXT, ns, .flags = REQUIRED, .doc = "Of the workflow"),
        JOIN("key", JSON, key, .doc = "What its events have in common"),
        JOIN("round", INT64, round, .doc = "How often it has begun"),
        JOIN("members", JSON, members, .flags = FA_FIELD_OBJECT | REQUIRED,
             .doc = "What has come"),
        FA_ROW_TEXTS("waitsFor", struct fa_join_state, waits_for, waits_for_count,
                     .flags = REQUIRED,
                     .doc = "Types of tasks that have not come yet, once the first one has"),
        JOIN("updatedAt", TIME, updated_us, .flags = REQUIRED, .doc = "When something last came"),
        JOIN("deadline", TIME, deadline_us, .doc = "When it stops waiting"),
        {.name = "last", .type = FA_FIELD_OWN, .inner = &round_shape, .put = put_last,
         .read = read_last, .doc = "How the round before ended"}),
};

const struct fa_shape fa_shape_joins = {
    .name = "JoinList",
    .what = "list",
    .fields = FA_FIELDS(
        FA_ROW_LIST("items", join_shape, struct fa_join_states, items, count, .doc = "The joins"),
        CURSOR(struct fa_join_states)),
};

/* As fa_wire_put_verdict writes it. */
const struct fa_shape fa_shape_verdict = {
    .name = "MatchVerdict",
    .what = "verdict",
    .fields = FA_FIELDS(
        {.name = "matched", .type = FA_FIELD_BOOL, .doc = "The expression is true"},
        {.name = "decidedBy", .flags = REQUIRED, .doc = "The clause that decided"}),
};
/* clang-format on */

/* ------------------------------------------------------------------------------------------
 * Writing
 */

void fa_wire_put_workflow(struct fa_json_writer *w, const struct fa_stored_workflow *workflow)
{
    fa_shape_put(w, &fa_shape_workflow, workflow);
}

void fa_wire_put_mistakes(struct fa_json_writer *w, const struct faina_error *error,
                          const struct fa_mistakes *mistakes)
{
    char type[96];

    snprintf(type, sizeof(type), "urn:faina:problem:%s", faina_code_name(error->code));
    fa_json_begin_object(w);
    fa_json_set_str(w, "type", type);
    fa_json_set_str(w, "title", fa_code_sentence(error->code));
    fa_json_set_int(w, "status", fa_code_http(error->code));
    fa_json_set_str(w, "detail", error->message);
    fa_json_set_str(w, "code", faina_code_name(error->code));
    fa_json_key(w, "errors");
    fa_json_begin_array(w);
    for (size_t i = 0; i < mistakes->count; i++) {
        fa_json_begin_object(w);
        fa_json_set_str(w, "field", mistakes->items[i].path);
        fa_json_set_str(w, "message", mistakes->items[i].message);
        fa_json_set_int(w, "line", mistakes->items[i].line);
        fa_json_set_int(w, "column", mistakes->items[i].column);
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
