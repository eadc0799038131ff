/*
 * requests.c - the tables of the requests: what the server reads and the HTTP client writes.
 *
 * A new member of a request is a row here; the schema in /openapi.json follows. The members of a
 * submit are in model/submit_fields.c.
 */
#include "wire/body.h"

#include "model/limits.h"
#include "model/times.h"
#include "wire/wire.h"

#include <assert.h>
#include <stdio.h>

/* ------------------------------------------------------------------------------------------
 * Submits
 */

/* clang-format off */
const struct fa_shape fa_shape_submit = {
    .name = "Submit",
    .what = "task",
    .is_request = true,
    .refusal = FAINA_INVALID_TASK,
    .fields = fa_submit_fields,
    .stored = &fa_shape_task,
    .example = "{\"type\":\"mail.send\"}",
    .doc = "Only type is required, or else name or input",
};

const struct fa_shape fa_shape_amendment = {
    .what = "task",
    .is_request = true,
    .refusal = FAINA_INVALID_TASK,
    .fields = fa_submit_fields,
    .only = FA_FIELD_AMEND,
};
/* clang-format on */

enum faina_code fa_wire_read_submit_part(struct fa_json body, struct fa_arena *arena,
                                         struct faina_submit *out, struct faina_error *err)
{
    struct faina_submit submit = {0};
    enum faina_code code = fa_body_read_object(body, "task", &fa_shape_submit, arena, &submit, err);

    if (code == FAINA_OK)
        *out = submit;
    return code;
}

enum faina_code fa_wire_read_submit(struct fa_bytes json, struct fa_arena *arena,
                                    struct faina_submit *out, struct faina_error *err)
{
    /* One level more than a payload: the body is around it. */
    enum faina_code code =
        fa_json_check(json, FA_JSON_DEPTH_MAX + 1, "task", FAINA_INVALID_REQUEST, err);

    return code == FAINA_OK ? fa_wire_read_submit_part(fa_json_value(json), arena, out, err) : code;
}

void fa_wire_put_submit(struct fa_json_writer *w, const struct faina_submit *submit)
{
    fa_shape_put(w, &fa_shape_submit, submit);
}

/* ------------------------------------------------------------------------------------------
 * Members that have a form of their own
 */

static void put_retryable(struct fa_json_writer *w, const void *from)
{
    fa_json_put_bool(w, !((const struct faina_failure *)from)->permanent);
}

static enum faina_code read_retryable(const struct fa_field *field, struct fa_json value,
                                      struct fa_arena *arena, void *out, struct faina_error *err)
{
    (void)arena;
    if (value.type != FA_JSON_TRUE && value.type != FA_JSON_FALSE)
        return fa_body_refuse(field, "true or false", err);
    ((struct faina_failure *)out)->permanent = value.type == FA_JSON_FALSE;
    return FAINA_OK;
}

#define FAILURE(json_name, kind, member, ...)                                                      \
    FA_ROW(json_name, kind, struct faina_failure, member, __VA_ARGS__)

/* clang-format off */
static const struct fa_shape text_shape = {.schema = "{\"type\":\"string\"}"};
static const struct fa_shape error_shape = {
    .name = "ErrorBody",
    .what = "error",
    .is_request = true,
    .alternative = &text_shape,
    .doc = "Why an attempt failed; a string is the message alone",
    .fields = FA_FIELDS(
        FAILURE("message", TEXT, message, .flags = FA_FIELD_REQUIRED,
                .max = FA_ERROR_MESSAGE_SIZE_MAX, .doc = "For people"),
        FAILURE("kind", TEXT, kind, .max = FA_ERROR_KIND_SIZE_MAX, .excludes = "exceptionType",
                .doc = "A word that groups errors of the same cause"),
        FAILURE("exceptionType", TEXT, kind, .flags = FA_FIELD_ALIAS, .max = FA_ERROR_KIND_SIZE_MAX,
                .doc = "The same as `kind`"),
        FAILURE("detail", JSON, detail, .max = FA_ERROR_DETAIL_SIZE_MAX,
                .doc = "Anything more about the error"),
        {.name = "retryable", .type = FA_FIELD_OWN, .put = put_retryable, .read = read_retryable,
         .schema = "{\"type\":\"boolean\"}",
         .doc = "false: the task fails without another attempt; true by default"},
        {.name = "retryAfter", .type = FA_FIELD_WHEN,
         .offset = offsetof(struct faina_failure, retry_after_ms),
         .count = offsetof(struct faina_failure, retry_at_us),
         .doc = "When the next attempt is due, instead of the backoff"}),
};
/* clang-format on */

/* A string, or {message, kind, detail, retryable, retryAfter}. */
static enum faina_code read_error(const struct fa_field *field, struct fa_json value,
                                  struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct fa_act *act = out;
    enum faina_code code;

    if (value.type == FA_JSON_STRING) {
        act->failure.message = fa_json_text(value, arena);
        return FAINA_OK;
    }
    if (value.type != FA_JSON_OBJECT)
        return fa_body_refuse(field, "a string, or an object with a message", err);
    code = fa_body_read_object(value, "error", &error_shape, arena, &act->failure, err);
    if (code == FAINA_OK && !act->failure.message)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "error.message",
                              "error.message is missing");
    return code;
}

/* Names the item of a list that an error is about. */
static enum faina_code refuse_item(const struct fa_field *field, size_t index,
                                   const struct faina_error *inner, struct faina_error *err)
{
    char name[64];

    snprintf(name, sizeof(name), "%s[%zu]%s%.30s", field->name, index, inner->field[0] ? "." : "",
             inner->field);
    return fa_error_field(err, inner->code, name, "%s[%zu]: %.400s", field->name, index,
                          inner->message);
}

static enum faina_code read_subtasks(const struct fa_field *field, struct fa_json value,
                                     struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct fa_act *act = out;
    struct faina_submit *subtasks;
    struct fa_json_iter it;
    struct fa_json item;
    size_t i = 0;

    if (value.type != FA_JSON_ARRAY)
        return fa_body_refuse(field, "an array of tasks", err);
    act->subtask_count = fa_json_count(value);
    if (act->subtask_count > FA_CHILDREN_MAX)
        return fa_error_field(err, FAINA_INVALID_REQUEST, field->name,
                              "a task can have at most %d subtasks, not %zu", FA_CHILDREN_MAX,
                              act->subtask_count);
    subtasks = fa_arena_zero(arena, act->subtask_count + 1, sizeof(*subtasks));
    act->subtasks = subtasks;
    for (it = fa_json_iter(value); fa_json_next(&it, NULL, &item); i++) {
        struct faina_error inner = {0};
        enum faina_code code = fa_wire_read_submit(item.raw, arena, &subtasks[i], &inner);

        if (code != FAINA_OK)
            return refuse_item(field, i, &inner, err);
    }
    return FAINA_OK;
}

static void put_subtask(struct fa_json_writer *w, const void *from)
{
    fa_wire_put_submit(w, ((const struct fa_act *)from)->subtasks);
}

static enum faina_code read_subtask(const struct fa_field *field, struct fa_json value,
                                    struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct faina_submit *subtask = fa_arena_zero(arena, 1, sizeof(*subtask));
    struct fa_act *act = out;

    if (value.type != FA_JSON_OBJECT)
        return fa_body_refuse(field, "an object", err);
    act->subtasks = subtask;
    act->subtask_count = 1;
    return fa_wire_read_submit(value.raw, arena, subtask, err);
}

static void put_amendment(struct fa_json_writer *w, const void *from)
{
    fa_shape_put(w, &fa_shape_amendment, ((const struct fa_act *)from)->amendment);
}

/* The members of a submit that can be amended. */
static enum faina_code read_amendment(const struct fa_field *field, struct fa_json value,
                                      struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct fa_act *act = out;
    struct faina_submit *amendment;
    struct fa_json_iter it;
    struct fa_bytes key;
    struct fa_json member;
    size_t next = 0;

    for (it = fa_json_iter(value);
         value.type == FA_JSON_OBJECT && fa_json_next(&it, &key, &member);)
        if (!fa_shape_find(&fa_shape_amendment, key, &next))
            value.type = FA_JSON_NULL;
    if (value.type != FA_JSON_OBJECT)
        return fa_body_refuse(field, "an object with maxAttempts, retry and resources", err);
    amendment = fa_arena_zero(arena, 1, sizeof(*amendment));
    act->amendment = amendment;
    return fa_wire_read_submit(value.raw, arena, amendment, err);
}

/* ------------------------------------------------------------------------------------------
 * Requests about one task
 */

#define ACT(json_name, kind, member, ...)                                                          \
    FA_ROW(json_name, kind, struct fa_act, member, __VA_ARGS__)
#define GIVEN(member) .count = offsetof(struct fa_act, member)
#define WORKER(more)                                                                               \
    ACT("workerId", TEXT, by.worker_id, .flags = (more), .max = FA_WORKER_ID_SIZE_MAX,             \
        .doc = "The worker that holds the task")
#define FENCE                                                                                      \
    ACT("fence", INT64, by.fence, .flags = FA_FIELD_HAS, GIVEN(has_fence), .max = INT64_MAX,       \
        .doc = "The fence of the claim; refuses the request of an earlier claim")
#define LEASE                                                                                      \
    ACT("leaseSeconds", DURATION, lease_ms, .max = FA_LEASE_MS_MAX,                                \
        .doc = "How long the lease lasts from now; 30 seconds by default")
#define ERROR(more)                                                                                \
    ACT("error", ONE, failure, .flags = FA_FIELD_HAS | (more), GIVEN(has_error),                   \
        .inner = &error_shape, .read = read_error, .doc = "Why the attempt failed")
#define OUTPUT                                                                                     \
    ACT("output", JSON, output, .max = FA_INPUT_SIZE_DEFAULT, .excludes = "result",                \
        .doc = "The result of the task"),                                                          \
        ACT("result", JSON, output, .flags = FA_FIELD_ALIAS, .max = FA_INPUT_SIZE_DEFAULT,         \
            .doc = "The same as `output`")
#define NULLS                                                                                      \
    {                                                                                              \
        .name = "nulls", .type = FA_FIELD_NULLS,                                                   \
        .doc = "Names of payload members whose value is JSON null; a null itself means unset"      \
    }
#define ID(more, text)                                                                             \
    ACT("id", TEXT, id, .flags = FA_FIELD_REQUIRED | FA_FIELD_UUID | (more), .doc = (text))

#define REASON(structure, member)                                                                  \
    FA_ROW("reason", TEXT, structure, member, .max = FA_REASON_SIZE_MAX,                           \
           .doc = "Why, for the audit")

#define REQUEST(symbol, schema_name, ...)                                                          \
    const struct fa_shape fa_body_##symbol = {.name = (schema_name),                               \
                                              .what = "body",                                      \
                                              .is_request = true,                                  \
                                              .fields = FA_FIELDS(__VA_ARGS__)}

static void put_run_at(struct fa_json_writer *w, const void *from)
{
    const struct faina_update *update = &((const struct fa_update_body *)from)->update;

    if (update->run_at_us != 0)
        fa_wire_put_time(w, update->run_at_us);
    else
        fa_json_put_str(w, "now");
}

static enum faina_code read_run_at(const struct fa_field *field, struct fa_json value,
                                   struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct faina_update *update = &((struct fa_update_body *)out)->update;
    const char *text = value.type == FA_JSON_STRING ? fa_json_text(value, arena) : "";

    if (strcmp(text, "now") == 0) {
        update->run_at_us = 0;
        return FAINA_OK;
    }
    if (!fa_text_is_time(text))
        return fa_body_refuse(field, "\"now\", or a time such as \"2030-01-31T12:00:00Z\"", err);
    return fa_time_parse(text, field->name, &update->run_at_us, err);
}

static const char *change_word(int value)
{
    static const char *const words[] = {"running", "completed", "failed", "cancelled", NULL};

    return words[value];
}

/* clang-format off */
REQUEST(claim, "Claim", WORKER(FA_FIELD_REQUIRED), LEASE,
    ACT("ifReady", BOOL, is_strict,
        .doc = "Refuse a task that is delayed, or whose type is paused, as a claim of the next "
               "tasks does: 400 `invalid_transition`"));
REQUEST(start, "Start", WORKER(0), FENCE, LEASE);
REQUEST(complete, "Complete", WORKER(0), FENCE, OUTPUT, NULLS);
REQUEST(fail, "Fail", WORKER(0), FENCE, ERROR(FA_FIELD_REQUIRED));
REQUEST(progress, "Progress",
    WORKER(0),
    FENCE,
    ACT("progress", INT64, progress, .flags = FA_FIELD_HAS, GIVEN(has_progress), .max = 100,
        .doc = "Percent"),
    ACT("state", TEXT, state, .max = FA_STATE_SIZE_MAX, .doc = "What is done now, in words"),
    ACT("metadata", JSON, metadata, .flags = FA_FIELD_OBJECT, .max = FA_METADATA_SIZE_MAX,
        .doc = "Merged into the task's metadata (RFC 7396): members are set, and removed by null"));
REQUEST(heartbeat, "Heartbeat", WORKER(FA_FIELD_REQUIRED), FENCE, LEASE);
REQUEST(subtask, "Subtask",
    WORKER(FA_FIELD_REQUIRED),
    FENCE,
    {.name = "subtask", .type = FA_FIELD_OWN, .flags = FA_FIELD_REQUIRED, .inner = &fa_shape_submit,
     .put = put_subtask, .read = read_subtask, .doc = "With a name, which no sibling has"});
REQUEST(block, "Block",
    WORKER(0),
    FENCE,
    ACT("failFast", BOOL, fail_fast,
        .doc = "The task goes on when the first subtask fails, not only when all have ended"),
    FA_ROW_LIST("subtasks", fa_shape_submit, struct fa_act, subtasks, subtask_count,
                .flags = FA_FIELD_REQUIRED, .max = FA_CHILDREN_MAX, .read = read_subtasks,
                .doc = "The tasks that it waits for"));
REQUEST(background, "Background",
    WORKER(0),
    FENCE,
    ACT("reason", TEXT, reason, .max = FA_STATE_SIZE_MAX, .doc = "What runs in the background"),
    ACT("timeout", DURATION, timeout_ms, .max = FA_DURATION_MS_MAX,
        .doc = "When it has not ended after this, the attempt has failed; 1 hour by default"));
REQUEST(release, "Release", WORKER(0), FENCE);
REQUEST(snooze, "Snooze",
    WORKER(0),
    FENCE,
    ACT("for", DURATION, timeout_ms, .flags = FA_FIELD_HAS | FA_FIELD_REQUIRED,
        GIVEN(has_for), .max = FA_DURATION_MS_MAX,
        .doc = "How long the task stays pending before it is due again"));
REQUEST(note, "Note",
    WORKER(0),
    FENCE,
    ACT("event", TEXT, event, .doc = "The name of the event"),
    ACT("detail", JSON, detail, .max = FA_NOTE_SIZE_MAX, .doc = "What it is about"));
REQUEST(amend, "Amend",
    WORKER(0),
    FENCE,
    {.name = "task", .type = FA_FIELD_OWN, .inner = &fa_shape_amendment, .put = put_amendment,
     .read = read_amendment, .doc = "What the submit has left open"});
#define UPDATE(json_name, kind, member, ...)                                                       \
    FA_ROW(json_name, kind, struct fa_update_body, update.member, __VA_ARGS__)

REQUEST(update, "Update",
    UPDATE("name", TEXT, name, .max = FA_NAME_SIZE_MAX, .doc = "Display name"),
    UPDATE("priority", INT, priority, .flags = FA_FIELD_HAS,
           .count = offsetof(struct fa_update_body, update.has_priority), .min = FA_PRIORITY_MIN,
           .max = FA_PRIORITY_MAX, .doc = "Higher ones are claimed first"),
    UPDATE("runAt", OWN, run_at_us, .flags = FA_FIELD_HAS,
           .count = offsetof(struct fa_update_body, update.has_run_at), .put = put_run_at,
           .read = read_run_at, .schema = "{\"type\":\"string\"}",
           .doc = "The task runs no earlier than this time; `now` makes it ready"),
    UPDATE("maxAttempts", ATTEMPTS, max_attempts, .max = FA_ATTEMPTS_MAX,
           .doc = "Maximum number of attempts; 0 is no limit"),
    UPDATE("timeout", DURATION, timeout_ms, .max = FA_DURATION_MS_MAX,
           .doc = "The longest run of one attempt"),
    UPDATE("startBy", WHEN, start_by_ms,
           .count = offsetof(struct fa_update_body, update.start_by_us),
           .doc = "The task is cancelled if it was not started by then"),
    UPDATE("group", TEXT, group, .max = FA_GROUP_SIZE_MAX,
           .doc = "Fair share, as in a submit; `\"\"` is none"),
    UPDATE("metadata", JSON, metadata, .flags = FA_FIELD_OBJECT, .max = FA_METADATA_SIZE_MAX,
           .doc = "Merged into the task's metadata (RFC 7396); also while the task is held"),
    REASON(struct fa_update_body, reason));
REQUEST(cancel, "Cancel", WORKER(0), REASON(struct fa_act, by.reason));
REQUEST(retry, "Retry",
    WORKER(0),
    ACT("resetAttempts", BOOL, reset_attempts, .flags = FA_FIELD_HAS, GIVEN(has_reset),
        .doc = "Attempts are counted from 0 again; true by default"),
    REASON(struct fa_act, by.reason));
REQUEST(status, "StatusChange",
    WORKER(0),
    FENCE,
    ACT("status", TEXT, status, .flags = FA_FIELD_REQUIRED, .word = change_word,
        .doc = "The new status"),
    OUTPUT,
    NULLS,
    ERROR(0),
    ACT("leaseSeconds", DURATION, lease_ms, .max = FA_LEASE_MS_MAX,
        .doc = "Of `running`: how long the lease lasts; without a workerId there is none by "
               "default"),
    REASON(struct fa_act, by.reason));
/* clang-format on */

/* ------------------------------------------------------------------------------------------
 * Requests about many tasks
 */

static enum faina_code check_count(const struct fa_field *field, struct fa_json value,
                                   const char *of_what, struct faina_error *err)
{
    size_t count = fa_json_count(value);

    if (count <= FA_BATCH_MAX)
        return FAINA_OK;
    return fa_error_field(err, FAINA_INVALID_REQUEST, field->name,
                          "one call takes at most %d %s, not %zu", FA_BATCH_MAX, of_what, count);
}

static enum faina_code begin_items(const struct fa_field *field, struct fa_json value,
                                   struct fa_arena *arena, struct fa_many *many,
                                   struct faina_error *err)
{
    enum faina_code code;

    if (value.type != FA_JSON_ARRAY)
        return fa_body_refuse(field, "an array", err);
    code = check_count(field, value, "items", err);
    if (code != FAINA_OK)
        return code;
    many->count = fa_json_count(value);
    many->items = fa_arena_zero(arena, many->count + 1, sizeof(*many->items));
    return FAINA_OK;
}

/* A bad item is refused by itself. */
static enum faina_code read_items(const struct fa_field *field, struct fa_json value,
                                  struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct fa_many *many = out;
    enum faina_code code = begin_items(field, value, arena, many, err);
    struct fa_json_iter it = fa_json_iter(value);
    struct fa_json item;

    if (code != FAINA_OK)
        return code;
    for (size_t i = 0; fa_json_next(&it, NULL, &item); i++) {
        struct faina_error inner = {0}, *bad;

        if (fa_body_read_object(item, "item", field->inner, arena, &many->items[i], &inner) ==
            FAINA_OK)
            continue;
        bad = fa_arena_zero(arena, 1, sizeof(*bad));
        *bad = inner;
        many->items[i].bad = bad;
    }
    return FAINA_OK;
}

static enum faina_code read_tasks(const struct fa_field *field, struct fa_json value,
                                  struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct fa_batch_body *batch = out;
    struct fa_json_iter it;
    struct fa_json item;
    enum faina_code code;

    if (value.type != FA_JSON_ARRAY)
        return fa_body_refuse(field, "an array of tasks", err);
    code = check_count(field, value, "tasks", err);
    if (code != FAINA_OK)
        return code;
    batch->has_tasks = true;
    batch->tasks = fa_arena_zero(arena, fa_json_count(value) + 1, sizeof(*batch->tasks));
    for (it = fa_json_iter(value); fa_json_next(&it, NULL, &item); batch->count++)
        batch->tasks[batch->count] = item;
    return FAINA_OK;
}

/* The requests of a worker about one task, by the words that their routes end with. */
static const struct {
    const char *verb;
    const struct fa_shape *shape;
} verbs[] = {
    {"claim", &fa_body_claim},       {"start", &fa_body_start},
    {"complete", &fa_body_complete}, {"fail", &fa_body_fail},
    {"progress", &fa_body_progress}, {"heartbeat", &fa_body_heartbeat},
    {"block", &fa_body_block},       {"background", &fa_body_background},
    {"release", &fa_body_release},   {"snooze", &fa_body_snooze},
    {"note", &fa_body_note},         {"amend", &fa_body_amend},
    {"subtask", &fa_body_subtask},
};

static const char *verb_word(int value)
{
    return (size_t)value < FA_COUNT(verbs) ? verbs[value].verb : NULL;
}

struct act_item {
    const char *id, *verb;
    struct fa_json body;
};

static enum faina_code read_act_body(const struct fa_field *field, struct fa_json value,
                                     struct fa_arena *arena, void *out, struct faina_error *err)
{
    (void)arena;
    if (value.type != FA_JSON_OBJECT)
        return fa_body_refuse(field, "an object", err);
    ((struct act_item *)out)->body = value;
    return FAINA_OK;
}

/* clang-format off */
static const struct fa_shape act_item_shape = {
    .what = "item",
    .is_request = true,
    .fields = FA_FIELDS(
        FA_ROW("id", TEXT, struct act_item, id, .flags = FA_FIELD_REQUIRED | FA_FIELD_UUID,
               .doc = "The task"),
        FA_ROW("act", TEXT, struct act_item, verb, .flags = FA_FIELD_REQUIRED, .word = verb_word,
               .doc = "The word that the route of the act ends with"),
        {.name = "body", .type = FA_FIELD_OWN, .read = read_act_body,
         .schema = "{\"type\":\"object\"}", .doc = "The body that the route of the act takes"}),
};
/* clang-format on */

static enum faina_code read_act(struct fa_json item, struct fa_arena *arena, struct fa_act *out,
                                struct faina_error *err)
{
    struct act_item read = {.body = {FA_JSON_OBJECT, FA_LIT("{}")}};
    enum faina_code code = fa_body_read_object(item, "item", &act_item_shape, arena, &read, err);
    size_t i = 0;

    if (code != FAINA_OK)
        return code;
    if (!read.id)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "id", "id is missing");
    while (i < FA_COUNT(verbs) && (!read.verb || strcmp(read.verb, verbs[i].verb) != 0))
        i++;
    if (i == FA_COUNT(verbs))
        return fa_error_field(err, FAINA_INVALID_REQUEST, "act",
                              "act must be claim, start, complete, fail, progress, heartbeat, "
                              "block, background, release, note, amend or subtask");
    code = fa_body_read_object(read.body, "body", verbs[i].shape, arena, out, err);
    out->id = read.id;
    out->verb = verbs[i].verb;
    return code;
}

static enum faina_code read_acts(const struct fa_field *field, struct fa_json value,
                                 struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct fa_many *many = out;
    enum faina_code code = begin_items(field, value, arena, many, err);
    struct fa_json_iter it = fa_json_iter(value);
    struct fa_json item;

    for (size_t i = 0; code == FAINA_OK && fa_json_next(&it, NULL, &item); i++) {
        struct faina_error inner = {0};

        if (read_act(item, arena, &many->items[i], &inner) != FAINA_OK)
            code = refuse_item(field, i, &inner, err);
    }
    return code;
}

static const char *outcome_word(int value)
{
    static const char *const words[] = {"completed", "failed", NULL};

    return words[value];
}

#define MANY(json_name, kind, member, ...)                                                         \
    FA_ROW(json_name, kind, struct fa_many, member, __VA_ARGS__)
#define MANY_WORKER                                                                                \
    MANY("workerId", TEXT, worker_id, .flags = FA_FIELD_REQUIRED, .max = FA_WORKER_ID_SIZE_MAX,    \
         .doc = "The worker that holds the tasks")
#define ITEMS(shape, reader, ...)                                                                  \
    FA_ROW_LIST("items", shape, struct fa_many, items, count, .max = FA_BATCH_MAX,                 \
                .read = (reader), __VA_ARGS__)

/* clang-format off */
const struct fa_shape fa_body_outcome = {
    .what = "item",
    .is_request = true,
    .fields = FA_FIELDS(
        ID(0, "The task"),
        FENCE,
        ACT("status", TEXT, status, .flags = FA_FIELD_REQUIRED, .word = outcome_word,
            .doc = "How the attempt ended"),
        OUTPUT,
        NULLS,
        ERROR(0)),
};
const struct fa_shape fa_body_held = {
    .what = "item", .is_request = true, .fields = FA_FIELDS(ID(0, "The task"), FENCE)};

REQUEST(outcomes, "Outcomes",
    MANY_WORKER,
    ITEMS(fa_body_outcome, read_items, .flags = FA_FIELD_REQUIRED,
          .doc = "The attempts that have ended"));
REQUEST(heartbeats, "Heartbeats",
    MANY_WORKER,
    MANY("leaseSeconds", DURATION, lease_ms, .max = FA_LEASE_MS_MAX,
         .doc = "How long the leases last from now; as long as claimed for by default"),
    ITEMS(fa_body_held, read_items, .flags = FA_FIELD_REQUIRED,
          .doc = "The tasks whose leases are renewed"));
REQUEST(acts, "Acts", ITEMS(act_item_shape, read_acts, .doc = "What is done, in this order"));
REQUEST(batch, "Batch",
    FA_ROW_LIST("tasks", fa_shape_submit, struct fa_batch_body, tasks, count,
                .flags = FA_FIELD_REQUIRED, .max = FA_BATCH_MAX, .read = read_tasks,
                .doc = "The tasks to make"));

#define CLAIMS(json_name, kind, member, ...)                                                       \
    FA_ROW(json_name, kind, struct fa_claims, member, __VA_ARGS__)
#define CLAIM_NAMES(json_name, member, text)                                                       \
    FA_ROW_TEXTS(json_name, struct fa_claims, member.items, member.count,                          \
                 .max = FA_CLAIM_NAMES_MAX, .doc = (text))

REQUEST(claims, "Claims",
    CLAIMS("workerId", TEXT, worker_id, .flags = FA_FIELD_REQUIRED, .max = FA_WORKER_ID_SIZE_MAX,
           .doc = "The worker that will hold the tasks"),
    CLAIM_NAMES("types", types, "Only tasks of these types; any by default"),
    CLAIM_NAMES("namespaces", namespaces,
                "Only tasks of these namespaces; all that the token reaches by default"),
    CLAIM_NAMES("services", services,
                "The services that are up here; a task that needs another one stays in line"),
    CLAIMS("limit", INT64, limit, .min = 1, .max = FA_CLAIM_LIMIT_MAX,
           .doc = "The most tasks to claim; 1 by default"),
    CLAIMS("leaseSeconds", DURATION, lease_ms, .max = FA_LEASE_MS_MAX,
           .doc = "How long each lease lasts; 30 seconds by default"),
    CLAIMS("waitSeconds", DURATION, wait_ms, .max = FA_DURATION_MS_MAX,
           .doc = "How long to wait for a task when there is none; not at all by default"));

/* ------------------------------------------------------------------------------------------
 * The other requests
 */

REQUEST(reason, "Reason", REASON(struct fa_reason_body, reason));

REQUEST(rate, "Rate",
    FA_ROW("count", INT64, struct faina_rate, count, .flags = FA_FIELD_REQUIRED, .min = 1,
           .max = FA_RATE_COUNT_MAX, .doc = "How many tasks may start ..."),
    FA_ROW("per", DURATION, struct faina_rate, per_ms, .flags = FA_FIELD_REQUIRED,
           .max = FA_RATE_PER_MS_MAX, .doc = "... in this time"),
    FA_ROW("burst", INT64, struct faina_rate, burst, .min = 1, .max = FA_RATE_BURST_MAX,
           .doc = "How many may start at once after a pause; as many as `count` by default"));

REQUEST(limit, "Limit",
    FA_ROW("maxConcurrency", LIMIT, struct fa_limit_body, max_concurrency,
           .flags = FA_FIELD_HAS, .count = offsetof(struct fa_limit_body, has_limit),
           .max = FA_CONCURRENCY_MAX,
           .doc = "How many tasks may use it at once; null is no limit. Required without `rate`"),
    FA_ROW_ONE("rate", fa_body_rate, struct fa_limit_body, rate, .flags = FA_FIELD_HAS,
               .count = offsetof(struct fa_limit_body, has_rate),
               .doc = "How many tasks may start in a time; null is no rate"),
    REASON(struct fa_limit_body, reason));

#define BROKER(json_name, kind, member, ...)                                                       \
    FA_ROW(json_name, kind, struct fa_broker_body, member, __VA_ARGS__)

REQUEST(broker, "BrokerBody",
    BROKER("on", BOOL, is_on, .flags = FA_FIELD_REQUIRED | FA_FIELD_HAS,
           .count = offsetof(struct fa_broker_body, has_on),
           .doc = "Whether messages for a broker are stored"),
    BROKER("limit", INT64, size_max, .min = 1, .max = FA_OUTBOX_SIZE_MAX,
           .doc = "With more messages than this the oldest are dropped; as it is by default"),
    REASON(struct fa_broker_body, reason));

#define TEAM(json_name, kind, member, ...)                                                         \
    FA_ROW(json_name, kind, struct fa_team_body, member, __VA_ARGS__)
#define TEAM_MEMBERS                                                                               \
    TEAM("name", TEXT, name, .flags = FA_FIELD_REQUIRED, .doc = "For people"),                     \
    TEAM("namespace", TEXT, ns, .doc = "The namespace of its tasks; the token's by default"),      \
    TEAM("spec", JSON, spec, .doc = "Anything about the team"),                                    \
    REASON(struct fa_team_body, reason)

REQUEST(new_team, "NewTeam", TEAM_MEMBERS);
REQUEST(team, "TeamBody",
    TEAM("id", TEXT, id, .doc = "As in the path, or not given"),
    TEAM_MEMBERS);

#define CRON(json_name, kind, member, ...)                                                         \
    FA_ROW(json_name, kind, struct fa_cron_body, member, __VA_ARGS__)

REQUEST(cron, "CronBody",
    CRON("name", TEXT, name, .doc = "As in the path, or not given"),
    CRON("namespace", TEXT, ns, .doc = "The namespace of the schedule and its tasks"),
    CRON("schedule", TEXT, schedule, .flags = FA_FIELD_REQUIRED, .max = FA_CRON_SIZE_MAX,
         .doc = "5 fields, 6 with seconds, `@daily` or `@every 90s`"),
    CRON("timezone", TEXT, timezone, .doc = "The zone that the schedule counts in; UTC by default"),
    CRON("task", JSON, task, .flags = FA_FIELD_REQUIRED, .inner = &fa_shape_submit,
         .doc = "The body of a submit"),
    CRON("catchUp", TEXT, catch_up, .word = fa_catch_up_word,
         .doc = "What is done about times that have passed without a task; `none` by default"),
    CRON("overlap", TEXT, overlap, .word = fa_overlap_word,
         .doc = "What a time does while the task before has not ended; `allow` by default"),
    CRON("jitter", DURATION, jitter_ms, .max = FA_JITTER_MS_MAX,
         .doc = "Each task waits up to this long besides, at random"),
    CRON("paused", BOOL, is_paused, .doc = "It makes no tasks"),
    REASON(struct fa_cron_body, reason));

REQUEST(lane, "LaneBody",
    FA_ROW("namespace", TEXT, struct fa_lane_body, ns, .doc = "Of the type"),
    FA_ROW("type", TEXT, struct fa_lane_body, type, .flags = FA_FIELD_REQUIRED,
           .doc = "The type"),
    REASON(struct fa_lane_body, reason));

REQUEST(session, "Login",
    FA_ROW("token", TEXT, struct fa_session_body, token, .flags = FA_FIELD_REQUIRED,
           .doc = "The secret of a token"));

#define LOGGED(json_name, kind, member, ...)                                                       \
    FA_ROW(json_name, kind, struct fa_log_body, member, __VA_ARGS__)

REQUEST(log, "LogLines",
    LOGGED("workerId", TEXT, worker_id, .flags = FA_FIELD_REQUIRED,
           .doc = "The worker that holds the task"),
    LOGGED("fence", INT64, fence, .flags = FA_FIELD_HAS, .max = INT64_MAX,
           .count = offsetof(struct fa_log_body, has_fence),
           .doc = "The fence of its claim"),
    FA_ROW_TEXTS("lines", struct fa_log_body, lines.items, lines.count,
                 .doc = "Lines; of one longer than 16 KiB the beginning is kept"),
    LOGGED("text", TEXT, text, .doc = "Any text, instead of lines, up to 64 KiB"),
    LOGGED("over", BOOL, is_over,
           .doc = "Forget what was sent so far: the attempt's note has the log"));

REQUEST(backtest, "BacktestBody",
    FA_ROW("definition", JSON, struct fa_backtest_body, definition, .flags = FA_FIELD_REQUIRED,
           .doc = "The definition of a workflow: an object, or its text as YAML"),
    FA_ROW("last", DURATION, struct fa_backtest_body, last_ms,
           .doc = "How far back events are evaluated; 24h by default"));

#define PURGE(json_name, kind, member, ...)                                                        \
    FA_ROW(json_name, kind, struct fa_purge_body, member, __VA_ARGS__)

REQUEST(purge, "Purge",
    PURGE("namespace", TEXT, ns, .doc = "Only tasks of this namespace"),
    PURGE("type", TEXT, type, .doc = "Only tasks of this type"),
    FA_ROW_TEXTS("status", struct fa_purge_body, status.items, status.count,
                 .word = fa_status_word, .doc = "Only tasks that ended with one of these"),
    PURGE("endedBefore", TIME, before_us, .doc = "Only tasks that ended before this time"),
    PURGE("deletedOnly", BOOL, deleted_only, .doc = "Only tasks that are deleted already"),
    PURGE("limit", INT64, limit, .min = 1, .max = FA_BATCH_MAX,
          .doc = "The most tasks to remove; 1,000 by default"),
    REASON(struct fa_purge_body, reason));

#define EMIT(json_name, kind, member, ...)                                                         \
    FA_ROW(json_name, kind, struct faina_emit, member, __VA_ARGS__)

REQUEST(emit, "Emit",
    EMIT("namespace", TEXT, ns, .doc = "Whose workflows get the event"),
    EMIT("type", TEXT, type, .flags = FA_FIELD_REQUIRED, .doc = "Event type"),
    EMIT("data", JSON, data, .flags = FA_FIELD_OBJECT, .doc = "What conditions and templates see"),
    EMIT("id", TEXT, id, .doc = "A repeated id does nothing; one is made by default"));

REQUEST(match, "MatchTest",
    FA_ROW("match", TEXT, struct fa_match_body, match, .flags = FA_FIELD_REQUIRED,
           .doc = "The expression"),
    FA_ROW("data", JSON, struct fa_match_body, data, .doc = "The data of the event"));

#define TOKEN(json_name, kind, member, ...)                                                        \
    FA_ROW(json_name, kind, struct fa_token_body, member, __VA_ARGS__)

REQUEST(token, "TokenBody",
    TOKEN("name", TEXT, name, .doc = "For people"),
    TOKEN("hash", TEXT, hash, .doc = "The SHA-256 of a secret that the client has made, in hex"),
    FA_ROW_TEXTS("scopes", struct fa_token_body, scopes.items, scopes.count,
                 .flags = FA_FIELD_REQUIRED, .schema = FA_SCOPES_SCHEMA,
                 .doc = "What the token allows"),
    FA_ROW_TEXTS("namespaces", struct fa_token_body, namespaces.items, namespaces.count,
                 .doc = "The namespaces that it reaches; all by default"),
    TOKEN("expires", DURATION, expires_ms, .doc = "It ends this long from now"),
    TOKEN("expiresAt", TIME, expires_us, .doc = "It ends at this time"),
    REASON(struct fa_token_body, reason));

#define SETTINGS(json_name, member, ...)                                                           \
    FA_ROW_TEXTS(json_name, struct fa_settings_body, member.items, member.count, __VA_ARGS__)

REQUEST(settings, "SettingsBody",
    SETTINGS("redact", redact, .flags = FA_FIELD_REQUIRED,
             .doc = "Paths of values that answers leave out; [] shows all"),
    REASON(struct fa_settings_body, reason));
/* clang-format on */
