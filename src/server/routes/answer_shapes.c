/* answer_shapes.c - see answer_shapes.h. */
#include "server/routes/answer_shapes.h"

#include "service/token.h"
#include "wire/schedule_body.h"
#include "wire/type_body.h"
#include "wire/wire.h"
#include "wire/wire_bulk.h"
#include "wire/wire_workflow.h"

#define REQUIRED FA_FIELD_REQUIRED
#define OMIT FA_FIELD_OMIT
#define TEXT(json_name, ...)                                                                       \
    {                                                                                              \
        .name = (json_name), .type = FA_FIELD_TEXT, __VA_ARGS__                                    \
    }
#define INTEGER(json_name, text)                                                                   \
    {                                                                                              \
        .name = (json_name), .type = FA_FIELD_INT64, .doc = (text)                                 \
    }
#define NUMBER(json_name, text)                                                                    \
    {                                                                                              \
        .name = (json_name), .type = FA_FIELD_DOUBLE, .doc = (text)                                \
    }
#define BOOL(json_name, ...)                                                                       \
    {                                                                                              \
        .name = (json_name), .type = FA_FIELD_BOOL, __VA_ARGS__                                    \
    }
#define LIST(json_name, shape, text)                                                               \
    {                                                                                              \
        .name = (json_name), .type = FA_FIELD_LIST, .inner = &(shape), .doc = (text)               \
    }

/* clang-format off */
const struct fa_shape fa_reply_json = {.name = "Json", .schema = "{}", .doc = "any JSON"};
const struct fa_shape fa_reply_text = {.name = "Text", .schema = "{\"type\":\"string\"}"};
const struct fa_shape fa_reply_stream = {
    .name = "EventStream", .schema = "{\"type\":\"string\"}", .doc = "text/event-stream"};
const struct fa_shape fa_reply_backup = {
    .name = "Backup",
    .schema = "{\"type\":\"string\",\"format\":\"binary\"}",
    .doc = "application/vnd.sqlite3",
};

const struct fa_shape fa_reply_preview = {
    .name = "Preview",
    .schema = "{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"null\"}},"
              "\"required\":[\"id\"]}",
    .doc = "A task, as in Task. Its id is null.",
};

static const struct fa_shape submitted_shape = {
    .alternative = &fa_shape_problem,
    .fields = FA_FIELDS(
        TEXT("id", .flags = REQUIRED | FA_FIELD_UUID, .doc = "The task"),
        BOOL("existing", .doc = "The key is in use: this is the first task"),
        BOOL("inputMismatch", .flags = OMIT, .doc = "That task has another input")),
};
const struct fa_shape fa_reply_batch = {
    .name = "BatchAnswer",
    .fields = FA_FIELDS(LIST("items", submitted_shape, "Result of each item, in request order")),
};

static const struct fa_shape done_shape = {
    .alternative = &fa_shape_problem,
    .fields = FA_FIELDS(TEXT("id", .flags = REQUIRED | FA_FIELD_UUID, .doc = "The task")),
};
const struct fa_shape fa_reply_many = {
    .name = "ManyAnswer",
    .fields = FA_FIELDS(LIST("items", done_shape, "Result of each item, in request order")),
};

const struct fa_shape fa_reply_purge = {
    .name = "PurgeAnswer",
    .fields = FA_FIELDS(INTEGER("removed", "How many tasks were removed")),
};

const struct fa_shape fa_reply_bulk = {
    .name = "OperationAnswer",
    .fields = FA_FIELDS(
        {.name = "operation", .type = FA_FIELD_ONE, .inner = &fa_shape_bulk, .flags = OMIT,
         .doc = "The operation"},
        {.name = "matched", .type = FA_FIELD_INT64, .flags = OMIT,
         .doc = "Instead, with `dryRun`: how many tasks the filter finds"}),
};
const struct fa_shape fa_reply_lane = {
    .name = "LaneState",
    .fields = FA_FIELDS(
        TEXT("namespace", .flags = REQUIRED, .doc = "Of the type"),
        TEXT("type", .flags = REQUIRED, .doc = "The type"),
        BOOL("paused", .doc = "Claims are paused")),
};
static const struct fa_shape lane_shape = {
    .name = "Lane",
    .base = &fa_reply_lane,
    .fields = FA_FIELDS(
        INTEGER("pending", "How many tasks wait"),
        INTEGER("active", "How many tasks are claimed, running or in background")),
};

static const struct fa_shape rates_shape = {
    .name = "Rates",
    .doc = "Tasks a second over the last minute, of what this server has committed",
    .fields = FA_FIELDS(
        NUMBER("submitted", NULL),
        NUMBER("completed", NULL),
        NUMBER("failed", NULL),
        NUMBER("dead_letter", NULL),
        NUMBER("cancelled", NULL)),
};
static const struct fa_shape type_count_shape = {
    .base = &fa_shape_count,
    .fields = FA_FIELDS({.name = "rates", .type = FA_FIELD_ONE, .inner = &rates_shape,
                         .doc = "Of the type"}),
};
const struct fa_shape fa_reply_stats = {
    .name = "Stats",
    .base = &fa_shape_totals,
    .fields = FA_FIELDS(
        LIST("types", type_count_shape, "The types, those with the most unfinished tasks first"),
        {.name = "rates", .type = FA_FIELD_ONE, .inner = &rates_shape, .doc = "Of all types"}),
};

const struct fa_shape fa_reply_info = {
    .name = "Info",
    .base = &fa_shape_info,
    .fields = FA_FIELDS(
        TEXT("version", .flags = REQUIRED, .doc = "Of the server"),
        INTEGER("inputSizeMax", "The most bytes of an input or output"),
        TEXT("nodeId", .doc = "The server's name, as in `/workers`"),
        BOOL("hasTokens", .doc = "Requests need a token, or a session"),
        {.name = "features", .type = FA_FIELD_JSON, .flags = REQUIRED | FA_FIELD_ARRAY,
         .doc = "What the server has: `dashboard`, and of the engine `subtasks`, `dependencies`, "
                "`workflows`, `schedules`, `teams`, `stream`, `broker`, `backup`"}),
};

const struct fa_shape fa_reply_session = {
    .name = "Session",
    .fields = FA_FIELDS(
        TEXT("name", .doc = "Of the token; null: none is needed"),
        TEXT("tokenId", .flags = FA_FIELD_UUID, .doc = "The token; null: none is needed"),
        {.name = "scopes", .type = FA_FIELD_OWN, .schema = FA_SCOPES_SCHEMA,
         .doc = "What the caller may do"},
        {.name = "namespaces", .type = FA_FIELD_JSON,
         .schema = "{\"type\":[\"array\",\"null\"],\"items\":{\"type\":\"string\"}}",
         .doc = "The namespaces that it reaches; null: all"},
        {.name = "expiresAt", .type = FA_FIELD_TIME,
         .doc = "When the session ends, or the token; null: never"}),
};

static const struct fa_shape time_shape = {
    .fields = FA_FIELDS({.name = "at", .type = FA_FIELD_TIME, .flags = REQUIRED,
                         .doc = "A time of the schedule"}),
};
const struct fa_shape fa_reply_times = {
    .name = "ScheduleTimes",
    .fields = FA_FIELDS(
        LIST("items", time_shape, "The times, in their order"),
        TEXT("schedule", .flags = REQUIRED, .doc = "The schedule"),
        TEXT("timezone", .flags = REQUIRED, .doc = "The zone that it counts in"),
        BOOL("paused", .doc = "It creates no tasks")),
};

static const struct fa_shape reason_shape = {
    .name = "TriggerResult",
    .fields = FA_FIELDS(
        TEXT("workflow", .flags = REQUIRED, .doc = "The workflow"),
        TEXT("trigger", .flags = REQUIRED, .doc = "Its trigger"),
        TEXT("result", .flags = REQUIRED, .doc = "`matched`, `not matched`, `failed`, `disabled`"),
        TEXT("decidedBy", .doc = "The clause that decided; null: there is no condition"),
        TEXT("error", .doc = "Why it can't create its task")),
};
const struct fa_shape fa_reply_why = {
    .name = "EventWhy",
    .fields = FA_FIELDS(
        {.name = "event", .type = FA_FIELD_ONE, .inner = &fa_shape_emitted_event,
         .doc = "The event"},
        LIST("triggers", reason_shape, "The triggers on its type")),
};

static const struct fa_shape replayed_shape = {
    .name = "BacktestTrigger",
    .fields = FA_FIELDS(
        TEXT("name", .flags = REQUIRED, .doc = "The trigger"),
        TEXT("on", .flags = REQUIRED, .doc = "Its type of events"),
        INTEGER("events", "Events of that type"),
        INTEGER("tasks", "Tasks that it would have created"),
        INTEGER("failed", "Events for which it can't create its task"),
        TEXT("failure", .doc = "Why, for the first of them")),
};
static const struct fa_shape difference_shape = {
    .name = "BacktestDifference",
    .fields = FA_FIELDS(
        TEXT("eventId", .flags = REQUIRED, .doc = "The event"),
        TEXT("trigger", .flags = REQUIRED, .doc = "The trigger"),
        TEXT("taskId", .flags = FA_FIELD_UUID, .doc = "The task that was created; null: none"),
        {.name = "task", .type = FA_FIELD_JSON,
         .doc = "The body of the submit that the definition makes; null: none"}),
};
static const struct fa_shape counts_shape = {
    .name = "BacktestCounts",
    .fields = FA_FIELDS(
        INTEGER("same", "Tasks that were created as the definition would"),
        INTEGER("added", "Tasks that only the definition would create"),
        INTEGER("missing", "Tasks that only were created"),
        INTEGER("changed", "Tasks that the definition would create in another way"),
        INTEGER("gone", "Tasks of these events that are deleted, and so not compared")),
};
const struct fa_shape fa_reply_backtest = {
    .name = "Backtest",
    .fields = FA_FIELDS(
        TEXT("name", .flags = REQUIRED, .doc = "The workflow"),
        {.name = "since", .type = FA_FIELD_TIME, .flags = REQUIRED,
         .doc = "The events since this time"},
        INTEGER("events", "How many were evaluated"),
        BOOL("truncated", .doc = "There are more events"),
        {.name = "counts", .type = FA_FIELD_ONE, .inner = &counts_shape, .doc = "The difference"},
        LIST("triggers", replayed_shape, "By trigger"),
        LIST("added", difference_shape, "Tasks that only the definition would create"),
        LIST("missing", difference_shape, "Tasks that only were created"),
        LIST("changed", difference_shape, "Tasks that it would create in another way")),
};

static const struct fa_shape name_shape = {
    .name = "Namespace",
    .fields = FA_FIELDS(TEXT("name", .flags = REQUIRED, .doc = "Its name")),
};

const struct fa_shape fa_reply_health = {
    .name = "Health",
    .fields = FA_FIELDS(TEXT("status", .flags = REQUIRED, .doc = "`ok` or `ready`")),
};

#define PAGE(symbol, schema_name, shape)                                                           \
    const struct fa_shape fa_reply_##symbol = {                                                   \
        .name = (schema_name),                                                                     \
        .fields = FA_FIELDS(                                                                       \
            LIST("items", shape, NULL),                                                            \
            TEXT("nextCursor", .doc = "The `cursor` of the next page; null: this is the last")),   \
    }

PAGE(events, "EventList", fa_shape_event);
PAGE(workers, "WorkerList", fa_shape_worker);
PAGE(resources, "ResourceList", fa_shape_resource);
PAGE(teams, "TeamList", fa_shape_team);
PAGE(types, "TypeList", fa_shape_type);
PAGE(crons, "CronList", fa_shape_cron);
PAGE(bulks, "OperationList", fa_shape_bulk);
PAGE(lanes, "LaneList", lane_shape);
PAGE(workflows, "WorkflowList", fa_shape_workflow);
PAGE(tokens, "TokenList", fa_shape_token);
PAGE(namespaces, "NamespaceList", name_shape);
/* clang-format on */
