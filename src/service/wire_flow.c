/* wire_flow.c - see wire_flow.h. */
#include "service/wire_flow.h"

#include "model/codes.h"
#include "model/workflow.h"
#include "service/wire.h"

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

static void put_raw(struct fa_json_writer *w, const char *key, const char *json)
{
    fa_json_key(w, key);
    fa_json_put_raw(w, json);
}

static void put_time(struct fa_json_writer *w, const char *key, int64_t us)
{
    fa_json_key(w, key);
    fa_wire_put_time(w, us);
}

void fa_wire_put_workflow(struct fa_json_writer *w, const struct fa_stored_workflow *workflow)
{
    fa_json_begin_object(w);
    put_str(w, "name", workflow->name);
    put_str(w, "namespace", workflow->ns);
    put_int(w, "version", workflow->version);
    fa_json_key(w, "enabled");
    fa_json_put_bool(w, workflow->is_enabled);
    put_time(w, "updatedAt", workflow->updated_us);
    put_raw(w, "definition", workflow->definition);
    fa_json_end_object(w);
}

void fa_wire_put_emitted(struct fa_json_writer *w, const struct faina_emitted *emitted)
{
    fa_json_begin_object(w);
    put_str(w, "id", emitted->id);
    fa_json_key(w, "tasks");
    fa_json_begin_array(w);
    for (size_t i = 0; i < emitted->count; i++)
        fa_json_put_str(w, emitted->tasks[i]);
    fa_json_end_array(w);
    fa_json_key(w, "failures");
    fa_json_begin_array(w);
    for (size_t i = 0; i < emitted->failure_count; i++) {
        fa_json_begin_object(w);
        put_str(w, "workflow", emitted->failures[i].workflow);
        put_str(w, "trigger", emitted->failures[i].trigger);
        put_str(w, "message", emitted->failures[i].message);
        fa_json_end_object(w);
    }
    fa_json_end_array(w);
    if (emitted->existing) {
        fa_json_key(w, "existing");
        fa_json_put_bool(w, true);
    }
    fa_json_end_object(w);
}

void fa_wire_put_happening(struct fa_json_writer *w, const struct fa_happening *event)
{
    fa_json_begin_object(w);
    put_str(w, "id", event->id);
    put_str(w, "namespace", event->ns);
    put_str(w, "type", event->type);
    put_raw(w, "data", event->data);
    put_time(w, "createdAt", event->at_us);
    put_raw(w, "tasks", event->tasks);
    put_raw(w, "failures", event->failures);
    fa_json_end_object(w);
}

void fa_wire_put_join(struct fa_json_writer *w, const struct fa_join_state *state)
{
    fa_json_begin_object(w);
    put_str(w, "workflow", state->workflow);
    put_str(w, "join", state->name);
    put_str(w, "namespace", state->ns);
    put_raw(w, "key", state->key);
    put_int(w, "round", state->round);
    put_raw(w, "members", state->members);
    put_time(w, "updatedAt", state->updated_us);
    put_time(w, "deadline", state->deadline_us);
    fa_json_key(w, "last");
    if (!state->last_outcome) {
        fa_json_put_null(w);
    } else {
        fa_json_begin_object(w);
        put_str(w, "outcome", state->last_outcome);
        put_str(w, "taskId", state->last_task);
        put_str(w, "error", state->last_error);
        fa_json_end_object(w);
    }
    fa_json_end_object(w);
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
