/*
 * answers.c - the tables of the answers: the members of tasks, events, workers and so on.
 *
 * A new member of an answer is a row here; the schema in /openapi.json follows. The documentation
 * sentences are shown there and in docs/api.md.
 */
#include "wire/body.h"
#include "wire/wire.h"

#include "model/backoff.h"
#include "model/codes.h"
#include "model/limits.h"
#include "model/states.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define REQUIRED FA_FIELD_REQUIRED
#define OMIT FA_FIELD_OMIT
#define UUID FA_FIELD_UUID
#define REDACTED                                                                                   \
    .flags = OMIT, .doc = "Only when true: the token may not see inputs, outputs, metadata and "   \
                          "details of errors, which are null"

/* ------------------------------------------------------------------------------------------
 * Members that have a form of their own
 */

const char *fa_status_word(int status)
{
    return status < FAINA_STATUS_COUNT ? faina_status_name((enum faina_status)status) : NULL;
}

const char *fa_phase_word(int phase)
{
    static const char *const words[] = {[FAINA_PHASE_START] = "start",
                                        [FAINA_PHASE_RESUME] = "resume",
                                        [FAINA_PHASE_ERROR] = "error"};

    return (size_t)phase < FA_COUNT(words) ? words[phase] : NULL;
}

static const char *actor_word(int actor)
{
    return actor <= FAINA_ACTOR_SYSTEM ? faina_actor_name((enum faina_actor)actor) : NULL;
}

/* Defaults are written out; null: the task has no policy of its own. */
static void put_retry(struct fa_json_writer *w, const void *from)
{
    struct faina_retry_policy policy = ((const struct faina_task *)from)->retry;

    if (policy.base_ms == 0 && policy.factor == 0 && policy.max_ms == 0) {
        fa_json_put_null(w);
        return;
    }
    policy = fa_backoff_policy(policy);
    fa_shape_put(w, &fa_shape_retry, &policy);
}

/* Null: without a limit, or too long to be a duration. */
static void put_retry_window(struct fa_json_writer *w, const void *from)
{
    const struct faina_task *task = from;
    int64_t total_ms = fa_backoff_total_ms(task->retry, task->max_attempts);

    if (task->max_attempts == 0 || total_ms > FA_DURATION_MS_MAX)
        fa_json_put_null(w);
    else
        fa_wire_put_duration(w, total_ms);
}

/* It follows from the other members. */
static enum faina_code skip_retry_window(const struct fa_field *field, struct fa_json value,
                                         struct fa_arena *arena, void *out, struct faina_error *err)
{
    (void)field;
    (void)value;
    (void)arena;
    (void)out;
    (void)err;
    return FAINA_OK;
}

static enum faina_code read_retry(const struct fa_field *field, struct fa_json value,
                                  struct fa_arena *arena, void *out, struct faina_error *err)
{
    (void)field;
    return fa_shape_read(value, &fa_shape_retry, arena, &((struct faina_task *)out)->retry, err);
}

#define ORIGIN(json_name, kind, member, ...)                                                       \
    FA_ROW(json_name, kind, struct faina_origin, member, __VA_ARGS__)

/* clang-format off */
static const struct fa_shape origin_shape = {
    .name = "Origin",
    .what = "origin",
    .doc = "The trigger that has made a task",
    .fields = FA_FIELDS(
        ORIGIN("workflow", TEXT, workflow, .flags = REQUIRED, .doc = "The workflow's name"),
        ORIGIN("trigger", TEXT, trigger, .flags = REQUIRED, .doc = "The trigger's or join's name"),
        ORIGIN("version", INT64, version, .doc = "The version of the workflow"),
        ORIGIN("eventId", TEXT, event_id, .doc = "The event; null: a deadline has passed")),
};
/* clang-format on */

/* A deadline has no event: its id is "". */
static void put_origin(struct fa_json_writer *w, const void *from)
{
    const struct faina_task *task = from;
    struct faina_origin origin;

    if (!task->origin) {
        fa_json_put_null(w);
        return;
    }
    origin = *task->origin;
    if (origin.event_id && !origin.event_id[0])
        origin.event_id = NULL;
    fa_shape_put(w, &origin_shape, &origin);
}

static enum faina_code read_origin(const struct fa_field *field, struct fa_json value,
                                   struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct faina_origin *origin = fa_arena_zero(arena, 1, sizeof(*origin));

    (void)field;
    origin->event_id = "";
    ((struct faina_task *)out)->origin = origin;
    return fa_shape_read(value, &origin_shape, arena, origin, err);
}

static void put_total(struct fa_json_writer *w, const int64_t *by_status)
{
    int64_t total = 0;

    for (int i = 0; i < FAINA_STATUS_COUNT; i++)
        total += by_status[i];
    fa_json_put_int(w, total);
}

/* The sum of the counts: there is no member to read it into. */
static enum faina_code read_total(const struct fa_field *field, struct fa_json value,
                                  struct fa_arena *arena, void *out, struct faina_error *err)
{
    (void)field;
    (void)arena;
    (void)out;
    (void)err;
    return value.type == FA_JSON_NUMBER ? FAINA_OK : FAINA_INTERNAL;
}

static void put_type_total(struct fa_json_writer *w, const void *from)
{
    put_total(w, ((const struct faina_count *)from)->by_status);
}

static void put_all_total(struct fa_json_writer *w, const void *from)
{
    put_total(w, ((const struct faina_stats *)from)->by_status);
}

/* As text: not every client has whole numbers of 60 bits. */
static void put_parent(struct fa_json_writer *w, const void *from)
{
    const struct fa_follow_item *item = from;
    char text[32];

    snprintf(text, sizeof(text), "%lld", (long long)item->parent_key);
    fa_json_put_str(w, item->has_parent ? text : NULL);
}

static enum faina_code read_parent(const struct fa_field *field, struct fa_json value,
                                   struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct fa_follow_item *item = out;
    const char *text = value.type == FA_JSON_STRING ? fa_json_text(value, arena) : "";
    char *end;

    (void)field;
    (void)err;
    errno = 0;
    item->has_parent = true;
    item->parent_key = strtoll(text, &end, 10);
    return text[0] != '\0' && *end == '\0' && errno == 0 ? FAINA_OK : FAINA_INTERNAL;
}

/* ------------------------------------------------------------------------------------------
 * The tables
 */

#define TASK(json_name, kind, member, ...)                                                         \
    FA_ROW(json_name, kind, struct faina_task, member, __VA_ARGS__)

/* clang-format off */
const struct fa_shape fa_shape_task = {
    .name = "Task",
    .what = "task",
    .doc = "A task as it is at one moment; null where unset",
    .fields = FA_FIELDS(
        TASK("id", ID, id, .flags = REQUIRED, .doc = "A UUIDv7"),
        TASK("namespace", TEXT, ns, .flags = REQUIRED, .doc = "The namespace it belongs to"),
        TASK("type", TEXT, type, .flags = REQUIRED, .doc = "Which handler runs it"),
        TASK("name", TEXT, name, .flags = REQUIRED, .doc = "Display name; the type by default"),
        TASK("status", ENUM, status, .word = fa_status_word, .doc = "Its status"),
        TASK("state", TEXT, state, .doc = "Free text about the current work"),
        TASK("progress", INT, progress, .max = 100, .doc = "Percent"),
        TASK("priority", INT, priority, .doc = "Higher ones are claimed first"),
        TASK("input", JSON, input, .doc = "Input of the handler"),
        TASK("output", JSON, output, .doc = "The result"),
        TASK("error", JSON, error, .doc = "Error of the last failed attempt"),
        TASK("metadata", JSON, metadata, .doc = "Client-defined object; {} by default"),
        TASK("spec", JSON, spec, .doc = "Task settings"),
        TASK("idempotencyKey", TEXT, idempotency_key, .doc = "Its key"),
        TASK("inputHash", TEXT, input_hash, .doc = "SHA-256 of the canonical input, in hex"),
        TASK("keyScope", TEXT, key_scope,
             .doc = "How long it keeps its key: `active`, or a duration since its creation; null: "
                    "as long as the task exists"),
        TASK("attempts", INT64, attempts, .doc = "Number of attempts"),
        TASK("maxAttempts", INT64, max_attempts,
             .doc = "Maximum number of attempts; 0 is no limit"),
        {.name = "retry", .type = FA_FIELD_OWN, .inner = &fa_shape_retry, .put = put_retry,
         .read = read_retry, .doc = "Its own waits between attempts"},
        {.name = "retryWindow", .type = FA_FIELD_OWN, .put = put_retry_window,
         .read = skip_retry_window, .schema = "{\"type\":[\"string\",\"null\"]}",
         .doc = "The longest that the waits between all its attempts take together"},
        TASK("runAt", TIME, run_at_us, .doc = "Earliest start"),
        TASK("timeout", DURATION, timeout_ms, .doc = "The longest run of one attempt"),
        TASK("group", TEXT, group, .doc = "Its fair share"),
        TASK("startBy", TIME, start_by_us, .doc = "Cancelled if it was not started by then"),
        TASK("phase", ENUM, phase, .word = fa_phase_word,
             .doc = "Which entry of the handler runs next: `resume` after its subtasks have ended, "
                    "`error` when one of them failed"),
        TASK("workerId", TEXT, worker_id, .doc = "The worker that holds it"),
        TASK("leaseExpiresAt", TIME, lease_expires_us, .doc = "End of the lease"),
        TASK("fence", INT64, fence, .doc = "Grows with each claim"),
        TASK("parentId", ID, parent_id, .doc = "The task whose subtask it is"),
        FA_ROW_TEXTS("dependsOn", struct faina_task, depends_on, depends_on_count,
                     .flags = REQUIRED | UUID, .doc = "The tasks that must complete first"),
        FA_ROW_TEXTS("resources", struct faina_task, resources, resource_count,
                     .flags = REQUIRED, .doc = "What it uses while it is held"),
        TASK("expiresAt", TIME, expires_us, .doc = "Deadline of the background work"),
        TASK("teamId", ID, team_id, .doc = "The team it belongs to"),
        TASK("createdBy", TEXT, created_by, .doc = "Submitter, free text"),
        {.name = "origin", .type = FA_FIELD_OWN, .inner = &origin_shape, .put = put_origin,
         .read = read_origin, .doc = "The trigger that created it; null: it was submitted"},
        TASK("version", INT64, version, .doc = "Grows with each change"),
        TASK("createdAt", TIME, created_us, .flags = REQUIRED, .doc = "When it was submitted"),
        TASK("updatedAt", TIME, updated_us, .flags = REQUIRED, .doc = "When it last changed"),
        TASK("claimedAt", TIME, claimed_us, .doc = "When it was last claimed"),
        TASK("startedAt", TIME, started_us, .doc = "When its last attempt began"),
        TASK("completedAt", TIME, completed_us, .doc = "When it ended"),
        TASK("deletedAt", TIME, deleted_us, .doc = "When it was deleted"),
        {.name = "nulls", .type = FA_FIELD_NULLS,
         .doc = "Names of payload members whose value is JSON null"},
        TASK("existing", BOOL, existing, .flags = OMIT,
             .doc = "The key is in use: this is the first task"),
        TASK("inputMismatch", BOOL, input_mismatch, .flags = OMIT,
             .doc = "The key is in use, by a task with another input"),
        TASK("cancelledCount", INT64, cancelled_count, .flags = OMIT,
             .doc = "In the answer to a cancel: how many tasks it has cancelled"),
        TASK("redacted", BOOL, redacted, REDACTED),
        TASK("traceparent", TEXT, traceparent, .flags = OMIT,
             .doc = "In the answer to a claim: W3C Trace Context for the handler")),
};

#define CURSOR(structure)                                                                          \
    FA_ROW("nextCursor", TEXT, structure, next_cursor,                                             \
           .doc = "The `cursor` of the next page; null: this is the last")

const struct fa_shape fa_shape_tasks = {
    .name = "TaskList",
    .what = "list",
    .fields = FA_FIELDS(
        FA_ROW_LIST("items", fa_shape_task, struct faina_tasks, items, count, .doc = "The tasks"),
        CURSOR(struct faina_tasks)),
};

#define FOUND(json_name, kind, member, ...)                                                        \
    FA_ROW(json_name, kind, struct fa_found_task, member, __VA_ARGS__)

static const struct fa_shape found_task_shape = {
    .what = "task",
    .fields = FA_FIELDS(FOUND("id", ID, id, .flags = REQUIRED, .doc = "The task"),
                        FOUND("namespace", TEXT, ns, .flags = REQUIRED, .doc = "Its namespace"),
                        FOUND("type", TEXT, type, .flags = REQUIRED, .doc = "Its type"),
                        FOUND("status", ENUM, status, .word = fa_status_word, .doc = "Its status"),
                        FOUND("createdAt", TIME, created_us, .doc = "When it was submitted")),
};

const struct fa_shape fa_shape_found = {
    .name = "FoundTasks",
    .what = "list",
    .fields = FA_FIELDS(
        FA_ROW_LIST("items", found_task_shape, struct fa_found, items, count,
                    .doc = "The tasks, newest first"),
        FA_ROW("hasMore", BOOL, struct fa_found, has_more, .doc = "There are, or may be, more"),
        FA_ROW("recent", BOOL, struct fa_found, is_recent,
               .doc = "With `recent=true`: all of them are among the newest 100,000 tasks, so "
                      "their ends find them")),
};

const struct fa_shape fa_shape_claims = {
    .name = "ClaimsAnswer",
    .what = "list",
    .fields = FA_FIELDS(FA_ROW_LIST("tasks", fa_shape_task, struct faina_tasks, items, count,
                                    .doc = "The claimed tasks; [] when there is none")),
};

#define EVENT(json_name, kind, member, ...)                                                        \
    FA_ROW(json_name, kind, struct faina_event, member, __VA_ARGS__)

static const struct fa_field event_fields[] = {
    EVENT("id", ID, id, .flags = REQUIRED, .doc = "A UUID, unique to the event"),
    EVENT("event", TEXT, what, .flags = REQUIRED, .doc = "Event type"),
    EVENT("status", ENUM, status, .word = fa_status_word, .doc = "Status after the event"),
    EVENT("state", TEXT, state, .doc = "State after the event: the handler's text, or the status"),
    EVENT("actor", ENUM, actor, .word = actor_word, .doc = "What caused it"),
    EVENT("workerId", TEXT, worker_id, .doc = "The worker that held the task"),
    EVENT("detail", JSON, detail, .doc = "Details of the event"),
    EVENT("createdAt", TIME, at_us, .flags = REQUIRED, .doc = "Time of the event"),
    EVENT("redacted", BOOL, redacted, REDACTED),
    {.name = NULL},
};
static const struct fa_shape event_shape = {.what = "event", .fields = event_fields};
static const struct fa_shape task_of_event = {
    .fields = FA_FIELDS({.name = "taskId", .type = FA_FIELD_TEXT, .flags = REQUIRED | UUID,
                         .doc = "The task"}),
};
/* As fa_wire_put_event writes it. */
const struct fa_shape fa_shape_event = {
    .name = "Event", .what = "event", .base = &task_of_event, .fields = event_fields};

const struct fa_shape fa_shape_events = {
    .what = "list",
    .fields = FA_FIELDS(FA_ROW_LIST("items", event_shape, struct faina_events, items, count,
                                    .doc = "The events")),
};

static const struct fa_shape reason_shape = {
    .what = "reason",
    .fields = FA_FIELDS(
        FA_ROW("kind", TEXT, struct faina_reason, kind, .flags = REQUIRED,
             .doc = "Machine-readable code"),
        FA_ROW("message", TEXT, struct faina_reason, message, .flags = REQUIRED,
               .doc = "Text"),
        FA_ROW("until", TIME, struct faina_reason, until_us, .doc = "When it ends, if known")),
};

#define LOGGED(json_name, kind, member, ...)                                                       \
    FA_ROW(json_name, kind, struct fa_attempt_log, member, __VA_ARGS__)

const struct fa_shape fa_shape_attempt_log = {
    .name = "AttemptLog",
    .what = "log",
    .fields = FA_FIELDS(
        LOGGED("attempt", INT64, attempt, .doc = "Its number; 0: there has been none yet"),
        LOGGED("workerId", TEXT, worker_id, .doc = "Its worker"),
        LOGGED("claimedAt", TIME, claimed_us, .doc = "When it began"),
        LOGGED("open", BOOL, is_open, .doc = "It has not ended"),
        LOGGED("text", TEXT, text, .flags = REQUIRED, .doc = "The last 64 KiB"),
        LOGGED("end", INT64, end, .doc = "The bytes of the whole log so far; -1: not known"),
        LOGGED("cut", BOOL, is_cut, .doc = "There was more before")),
};

#define ATTEMPT(json_name, kind, member, ...)                                                      \
    FA_ROW(json_name, kind, struct fa_graph_attempt, member, __VA_ARGS__)

static const struct fa_shape attempt_shape = {
    .name = "Attempt",
    .what = "attempt",
    .fields = FA_FIELDS(
        ATTEMPT("number", INT64, number, .doc = "Its number among those that are listed"),
        ATTEMPT("workerId", TEXT, worker_id, .doc = "Its worker"),
        ATTEMPT("claimedAt", TIME, claimed_us, .doc = "When it was claimed"),
        ATTEMPT("startedAt", TIME, started_us, .doc = "When work began"),
        ATTEMPT("endedAt", TIME, ended_us, .doc = "When it ended; null: it has not"),
        ATTEMPT("outcome", TEXT, outcome, .doc = "The event that ended it")),
};

#define NODE(json_name, kind, member, ...)                                                         \
    FA_ROW(json_name, kind, struct fa_graph_node, member, __VA_ARGS__)

static const struct fa_shape node_shape = {
    .name = "GraphNode",
    .what = "task",
    .fields = FA_FIELDS(
        NODE("id", ID, id, .flags = REQUIRED, .doc = "The task"),
        NODE("namespace", TEXT, ns, .flags = REQUIRED, .doc = "Its namespace"),
        NODE("type", TEXT, type, .flags = REQUIRED, .doc = "Its type"),
        NODE("name", TEXT, name, .doc = "For people"),
        NODE("status", ENUM, status, .word = fa_status_word, .doc = "Its status"),
        NODE("depth", INT, depth, .doc = "Its distance from the task"),
        NODE("progress", INT, progress, .doc = "0 to 100"),
        NODE("error", TEXT, error, .doc = "The message of its last failure"),
        NODE("workflow", TEXT, workflow, .doc = "The workflow that created it"),
        NODE("trigger", TEXT, trigger, .doc = "Its trigger or join"),
        NODE("eventId", TEXT, event_id,
             .doc = "The event that it was created for; the end of a task is the event ID:VERSION"),
        NODE("createdAt", TIME, created_us, .doc = "When it was submitted"),
        NODE("runAt", TIME, run_at_us, .doc = "It doesn't start before this"),
        NODE("startedAt", TIME, started_us, .doc = "When its latest attempt began"),
        NODE("completedAt", TIME, completed_us, .doc = "When it ended"),
        FA_ROW_LIST("attempts", attempt_shape, struct fa_graph_node, attempts, attempt_count,
                    .doc = "Its attempts, oldest first")),
};

static const struct fa_shape edge_shape = {
    .name = "GraphEdge",
    .what = "edge",
    .fields = FA_FIELDS(
        FA_ROW("from", TEXT, struct fa_graph_edge, from, .flags = REQUIRED | UUID,
               .doc = "A task"),
        FA_ROW("to", TEXT, struct fa_graph_edge, to, .flags = REQUIRED | UUID, .doc = "A task"),
        FA_ROW("kind", TEXT, struct fa_graph_edge, kind, .flags = REQUIRED,
               .doc = "`child`: `to` is a subtask of `from`; `dependency`: `to` waits for `from`; "
                      "`started`: the end of `from` has created `to`")),
};

const struct fa_shape fa_shape_graph = {
    .name = "Graph",
    .what = "graph",
    .fields = FA_FIELDS(
        FA_ROW("id", ID, struct fa_graph, id, .flags = REQUIRED, .doc = "The task"),
        FA_ROW_LIST("nodes", node_shape, struct fa_graph, nodes, node_count,
                    .doc = "The tasks: this one first, then by distance"),
        FA_ROW_LIST("edges", edge_shape, struct fa_graph, edges, edge_count,
                    .doc = "How they are connected"),
        FA_ROW("truncated", BOOL, struct fa_graph, truncated,
               .doc = "There are more tasks, edges or attempts")),
};

const struct fa_shape fa_shape_explanation = {
    .name = "Explanation",
    .what = "explanation",
    .fields = FA_FIELDS(
        FA_ROW("summary", TEXT, struct faina_explanation, summary, .flags = REQUIRED,
               .doc = "A sentence"),
        FA_ROW_LIST("reasons", reason_shape, struct faina_explanation, reasons, count,
                    .doc = "What keeps it from running"),
        FA_ROW("position", INT64, struct faina_explanation, position,
               .doc = "Of a ready task: its place among those of its namespace, type and "
                      "resources, from 1; 0: it is not ready, or more than 10,000 are before it"),
        FA_ROW("line", TEXT, struct faina_explanation, line,
               .doc = "Of a pending task: its place in line, and what the line waits for"),
        FA_ROW_ONE("task", fa_shape_task, struct faina_explanation, task, .doc = "The task")),
};

#define RESOURCE(json_name, kind, member, ...)                                                     \
    FA_ROW(json_name, kind, struct faina_resource, member, __VA_ARGS__)

static void put_rate(struct fa_json_writer *w, const void *from)
{
    const struct faina_resource *resource = from;

    if (resource->rate.count == 0)
        fa_json_put_null(w);
    else
        fa_shape_put(w, &fa_body_rate, &resource->rate);
}

static enum faina_code read_rate(const struct fa_field *field, struct fa_json value,
                                 struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct faina_resource *resource = out;

    (void)field;
    return fa_shape_read(value, &fa_body_rate, arena, &resource->rate, err);
}

const struct fa_shape fa_shape_resource = {
    .name = "Resource",
    .what = "resource",
    .fields = FA_FIELDS(
        RESOURCE("name", TEXT, name, .flags = REQUIRED, .doc = "Its name"),
        RESOURCE("maxConcurrency", LIMIT, max_concurrency,
                 .doc = "How many tasks may use it at once; null is no limit"),
        {.name = "rate", .type = FA_FIELD_OWN, .inner = &fa_body_rate, .put = put_rate,
         .read = read_rate, .doc = "How many tasks may start in a time; null is no rate"},
        RESOURCE("limitedBy", TEXT, limited_by, .flags = FA_FIELD_OMIT,
                 .doc = "The name with `*` whose limits apply to it, when it has none of its own"),
        RESOURCE("inUse", INT64, in_use, .doc = "How many tasks use it now"),
        FA_ROW_TEXTS("holders", struct faina_resource, holders, holder_count,
                     .flags = REQUIRED | UUID, .doc = "The tasks that use it")),
};

const struct fa_shape fa_shape_resources = {
    .what = "list",
    .fields = FA_FIELDS(FA_ROW_LIST("items", fa_shape_resource, struct faina_resources, items,
                                    count, .doc = "The resources")),
};

#define TEAM(json_name, kind, member, ...)                                                         \
    FA_ROW(json_name, kind, struct faina_team, member, __VA_ARGS__)

const struct fa_shape fa_shape_team = {
    .name = "Team",
    .what = "team",
    .fields = FA_FIELDS(
        TEAM("id", ID, id, .flags = REQUIRED, .doc = "A UUIDv7"),
        TEAM("name", TEXT, name, .flags = REQUIRED, .doc = "For people"),
        TEAM("namespace", TEXT, ns, .flags = REQUIRED, .doc = "The namespace of its tasks"),
        TEAM("spec", JSON, spec, .doc = "Anything about the team"),
        TEAM("createdAt", TIME, created_us, .flags = REQUIRED, .doc = "When it was created"),
        TEAM("updatedAt", TIME, updated_us, .flags = REQUIRED, .doc = "When it last changed")),
};

#define BROKER(json_name, kind, member, ...)                                                       \
    FA_ROW(json_name, kind, struct fa_broker, member, __VA_ARGS__)

const struct fa_shape fa_shape_broker = {
    .name = "Broker",
    .what = "broker",
    .fields = FA_FIELDS(
        BROKER("on", BOOL, is_on, .doc = "Whether messages for a broker are stored"),
        BROKER("limit", INT64, size_max,
               .doc = "With more messages than this the oldest are dropped"),
        BROKER("depth", INT64, depth,
               .doc = "Messages that the broker has not confirmed; above 10,000 an estimate"),
        BROKER("oldestAt", TIME, oldest_us, .doc = "When the first of them was stored"),
        BROKER("unroutable", INT64, unroutable,
               .doc = "How many messages no queue was bound for, so far"),
        BROKER("dropped", INT64, dropped, .doc = "How many messages were dropped, so far"),
        BROKER("publisher", TEXT, publisher,
               .doc = "The node that publishes, where several nodes share the store")),
};

const struct fa_shape fa_shape_settings = {
    .name = "Settings",
    .what = "settings",
    .fields = FA_FIELDS(
        FA_ROW_TEXTS("redact", struct fa_store_settings, redact.items, redact.count,
                     .flags = REQUIRED, .doc = "Paths of values that answers leave out")),
};

static const struct fa_shape namespace_shape = {
    .name = "Namespace",
    .what = "namespace",
    .fields = FA_FIELDS(FA_ROW("name", TEXT, struct fa_namespace_item, name, .flags = REQUIRED,
                               .doc = "Its name")),
};

const struct fa_shape fa_shape_namespaces = {
    .what = "list",
    .fields = FA_FIELDS(FA_ROW_LIST("items", namespace_shape, struct fa_namespaces, items, count,
                                    .doc = "The namespaces, by name")),
};

const struct fa_shape fa_shape_teams = {
    .what = "list",
    .fields = FA_FIELDS(FA_ROW_LIST("items", fa_shape_team, struct faina_teams, items, count,
                                    .doc = "The teams")),
};

#define WORKER(json_name, kind, member, ...)                                                       \
    FA_ROW(json_name, kind, struct faina_worker, member, __VA_ARGS__)

const struct fa_shape fa_shape_worker = {
    .name = "Worker",
    .what = "worker",
    .fields = FA_FIELDS(
        WORKER("id", TEXT, id, .flags = REQUIRED, .doc = "Its name"),
        WORKER("hostname", TEXT, hostname, .doc = "The machine it runs on"),
        WORKER("startedAt", TIME, started_us, .flags = REQUIRED, .doc = "When it registered"),
        WORKER("lastHeartbeat", TIME, last_heartbeat_us, .flags = REQUIRED,
               .doc = "Time of its last heartbeat"),
        WORKER("poolSize", INT, pool_size, .doc = "How many tasks it runs at once"),
        FA_ROW_TEXTS("types", struct faina_worker, types, type_count, .flags = REQUIRED,
                     .doc = "The types it has handlers for"),
        FA_ROW_TEXTS("services", struct faina_worker, services, service_count,
                     .doc = "The services that are up there; null: it checks none"),
        WORKER("version", TEXT, version, .doc = "Program version"),
        WORKER("isLeader", BOOL, is_leader, .doc = "Is the leader, which runs the store's upkeep"),
        WORKER("leaderUntil", TIME, leader_until_us, .doc = "End of the leader lease"),
        WORKER("held", INT64, held, .doc = "How many tasks it holds")),
};

const struct fa_shape fa_shape_workers = {
    .what = "list",
    .fields = FA_FIELDS(FA_ROW_LIST("items", fa_shape_worker, struct faina_workers, items, count,
                                    .doc = "The workers")),
};

#define STATUS(json_name, status)                                                                  \
    {.name = (json_name), .type = FA_FIELD_INT64, .offset = (status) * sizeof(int64_t)}

static_assert(FAINA_STATUS_COUNT == 9, "a new status needs a row here");

/* Of an int64_t[FAINA_STATUS_COUNT]. */
static const struct fa_shape counts_shape = {
    .what = "count",
    .fields = FA_FIELDS(
        STATUS("pending", FAINA_PENDING),
        STATUS("claimed", FAINA_CLAIMED),
        STATUS("running", FAINA_RUNNING),
        STATUS("blocked", FAINA_BLOCKED),
        STATUS("background", FAINA_BACKGROUND),
        STATUS("completed", FAINA_COMPLETED),
        STATUS("failed", FAINA_FAILED),
        STATUS("dead_letter", FAINA_DEAD_LETTER),
        STATUS("cancelled", FAINA_CANCELLED)),
};

#define COUNTS(structure, put_sum)                                                                 \
    FA_ROW_ONE("byStatus", counts_shape, structure, by_status,                                     \
               .doc = "How many tasks have each status"),                                          \
    {.name = "total", .type = FA_FIELD_OWN, .put = (put_sum), .read = read_total,                  \
     .schema = "{\"type\":\"integer\"}", .doc = "The sum of them"}
#define COUNT(json_name, kind, member, ...)                                                        \
    FA_ROW(json_name, kind, struct faina_count, member, __VA_ARGS__)

const struct fa_shape fa_shape_count = {
    .what = "count",
    .fields = FA_FIELDS(
        COUNT("namespace", TEXT, ns, .flags = REQUIRED, .doc = "Namespace of the type"),
        COUNT("type", TEXT, type, .flags = REQUIRED, .doc = "The type"),
        COUNT("paused", BOOL, is_paused, .doc = "Claims are paused"),
        COUNT("oldestReadyAt", TIME, oldest_ready_us,
              .doc = "Time since which the oldest ready task waits"),
        COUNTS(struct faina_count, put_type_total)),
};

#define TOTALS                                                                                     \
    COUNTS(struct faina_stats, put_all_total),                                                     \
    FA_ROW("moreTypes", BOOL, struct faina_stats, has_more, .flags = OMIT,                         \
           .doc = "There are more types than are listed")

const struct fa_shape fa_shape_totals = {.what = "count", .fields = FA_FIELDS(TOTALS)};
const struct fa_shape fa_shape_stats = {
    .what = "count",
    .fields = FA_FIELDS(TOTALS, FA_ROW_LIST("types", fa_shape_count, struct faina_stats, types,
                                            count, .doc = "The types")),
};

#define FOLLOWED(json_name, kind, member, ...)                                                     \
    FA_ROW(json_name, kind, struct fa_follow_item, member, __VA_ARGS__)

static const struct fa_shape follow_shape = {
    .what = "event",
    .fields = FA_FIELDS(
        FOLLOWED("cursor", TEXT, cursor, .flags = REQUIRED, .doc = "The position after it"),
        FOLLOWED("taskId", ID, task_id, .flags = REQUIRED, .doc = "The task"),
        FOLLOWED("namespace", TEXT, ns, .flags = REQUIRED, .doc = "Namespace of the task"),
        FOLLOWED("type", TEXT, type, .flags = REQUIRED, .doc = "Type of the task"),
        FOLLOWED("name", TEXT, name, .flags = REQUIRED, .doc = "Name of the task"),
        FOLLOWED("teamId", TEXT, team_id, .flags = UUID, .doc = "Team of the task"),
        FOLLOWED("createdBy", TEXT, created_by, .doc = "Submitter of the task"),
        FOLLOWED("idempotencyKey", TEXT, idempotency_key, .doc = "Idempotency key of the task"),
        FOLLOWED("event", TEXT, what, .flags = REQUIRED, .doc = "Event type"),
        FOLLOWED("status", ENUM, status, .word = fa_status_word, .doc = "Status after the event"),
        FOLLOWED("workerId", TEXT, worker_id, .doc = "The worker that held the task"),
        FOLLOWED("attempt", INT64, attempt, .doc = "How many attempts there have been"),
        FOLLOWED("progress", INT, progress, .doc = "0 to 100"),
        FOLLOWED("parentId", ID, parent_id, .doc = "The parent of the task"),
        FOLLOWED("createdAt", TIME, at_us, .flags = REQUIRED, .doc = "Time of the event"),
        {.name = "parentKey", .type = FA_FIELD_OWN, .put = put_parent, .read = read_parent,
         .schema = "{\"type\":[\"string\",\"null\"]}",
         .doc = "The number in the parent's id: its first 60 bits, without the version"}),
};

const struct fa_shape fa_shape_followed = {
    .name = "EventLog",
    .what = "log",
    .fields = FA_FIELDS(
        FA_ROW_LIST("items", follow_shape, struct fa_followed, items, count,
                    .doc = "The events, in the order of commits"),
        FA_ROW("nextCursor", TEXT, struct fa_followed, next, .flags = REQUIRED,
               .doc = "The `cursor` of the next call"),
        FA_ROW("hasMore", BOOL, struct fa_followed, has_more, .doc = "There are more events now"),
        FA_ROW("hasGap", BOOL, struct fa_followed, is_gap,
               .doc = "Events after the cursor are not kept any more")),
};

#define MIGRATION(json_name, kind, member, ...)                                                    \
    FA_ROW(json_name, kind, struct fa_service_migration, member, __VA_ARGS__)

static const struct fa_shape migration_shape = {
    .what = "migration",
    .fields = FA_FIELDS(
        MIGRATION("id", TEXT, id, .flags = REQUIRED, .doc = "Its number"),
        MIGRATION("description", TEXT, description, .flags = REQUIRED, .doc = "What it changes"),
        MIGRATION("executedAt", TIME, executed_us, .doc = "When it was executed")),
};

#define CLOCK(json_name, kind, member, ...)                                                        \
    FA_ROW(json_name, kind, struct fa_service_clock, member, __VA_ARGS__)

static const struct fa_shape clock_shape = {
    .what = "clock",
    .doc = "How the engine's clock and the wall clock of its machine differ; zeros where the time "
           "is the database's",
    .fields = FA_FIELDS(
        CLOCK("offsetMs", INT64, offset_ms,
              .doc = "How far the engine's clock is ahead of the wall clock; negative: behind"),
        CLOCK("jumps", INT64, jumps,
              .doc = "Jumps of the wall clock by a second or more since the engine was opened"),
        CLOCK("lastJumpMs", INT64, jump_ms,
              .doc = "By how much the last jump changed the wall clock; negative: it was set back"),
        CLOCK("lastJumpAt", TIME, jump_at_us, .doc = "The wall clock right after the last jump")),
};

#define INFO(json_name, kind, member, ...)                                                         \
    FA_ROW(json_name, kind, struct fa_service_info, member, __VA_ARGS__)

const struct fa_shape fa_shape_info = {
    .what = "description",
    .fields = FA_FIELDS(
        INFO("engine", TEXT, engine, .flags = REQUIRED,
             .doc = "`sqlite`, `postgres`, `nats` or `memory`"),
        INFO("engineVersion", TEXT, engine_version, .doc = "Version of the database"),
        INFO("schemaVersion", INT, schema_version, .doc = "Schema version of the store"),
        INFO("sizeBytes", INT64, size_bytes, .doc = "Size of the store"),
        INFO("commits", INT64, commits, .doc = "Transactions since the engine was opened"),
        INFO("operations", INT64, operations, .doc = "Operations in these transactions"),
        FA_ROW_ONE("clock", clock_shape, struct fa_service_info, clock, .doc = NULL),
        INFO("durability", TEXT, durability, .flags = OMIT,
             .doc = "What an acknowledged change survives, where settings of a server decide it"),
        INFO("full", TEXT, full,
             .doc = "Why new tasks are refused: the disk has no room for them"),
        FA_ROW_LIST("migrations", migration_shape, struct fa_service_info, migrations,
                    migration_count, .doc = "Changes of the store's tables"),
        FA_ROW_TEXTS("findings", struct fa_service_info, findings, finding_count,
                     .flags = REQUIRED, .doc = "Errors found in the store"),
        FA_ROW_TEXTS("warnings", struct fa_service_info, warnings, warning_count,
                     .flags = REQUIRED, .doc = "Warnings")),
};
/* clang-format on */

/* ------------------------------------------------------------------------------------------
 * Writing
 */

void fa_wire_put_task(struct fa_json_writer *w, const struct faina_task *task)
{
    fa_shape_put(w, &fa_shape_task, task);
}

void fa_wire_put_event(struct fa_json_writer *w, const struct faina_event *event,
                       const char *task_id)
{
    fa_json_begin_object(w);
    fa_json_key(w, "taskId");
    fa_json_put_str(w, task_id);
    fa_shape_put_members(w, &event_shape, event);
    fa_json_end_object(w);
}
