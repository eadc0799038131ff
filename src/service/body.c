/*
 * body.c - request bodies by table.
 *
 * A new member of a body is a row here, and one in src/server/schemas.json (a test compares them).
 */
#include "service/body.h"

#include "model/limits.h"
#include "model/times.h"
#include "service/wire.h"

#include <assert.h>
#include <stdio.h>

#define NAME_SHOWN_MAX 40

/* ------------------------------------------------------------------------------------------
 * Reading by table
 */

static enum faina_code refuse(const struct fa_body_field *field, const char *what,
                              struct faina_error *err)
{
    return fa_error_field(err, FAINA_INVALID_REQUEST, field->name, "%s must be %s", field->name,
                          what);
}

static enum faina_code refuse_name(const char *key, const char *what, const struct fa_body *body,
                                   struct fa_arena *arena, struct faina_error *err)
{
    const char **names = fa_arena_zero(arena, body->count + 1, sizeof(*names));
    const char *nearest;

    if (strlen(key) > NAME_SHOWN_MAX)
        return fa_error_set(err, FAINA_INVALID_REQUEST,
                            "the %s has an unknown field with a name of %zu bytes", what,
                            strlen(key));
    for (size_t i = 0; i < body->count; i++)
        names[i] = body->fields[i].name;
    nearest = fa_wire_nearest(key, names);
    if (nearest)
        return fa_error_field(err, FAINA_INVALID_REQUEST, key,
                              "unknown field \"%s\"; did you mean \"%s\"?", key, nearest);
    return fa_error_field(err, FAINA_INVALID_REQUEST, key, "unknown field \"%s\"", key);
}

enum faina_code fa_body_duration(const char *name, struct fa_json value, enum faina_code refusal,
                                 struct fa_arena *arena, int64_t *out_ms, struct faina_error *err)
{
    char *text;

    if (value.type == FA_JSON_STRING)
        text = fa_json_text(value, arena);
    else if (value.type == FA_JSON_NUMBER)
        text = fa_arena_copy(arena, value.raw.ptr, value.raw.len);
    else
        return fa_error_field(err, refusal, name,
                              "%s must be a duration such as \"90s\", or a number of seconds",
                              name);
    return fa_duration_parse(text, name, out_ms, err);
}

static enum faina_code read_texts(const struct fa_body_field *field, struct fa_json value,
                                  struct fa_arena *arena, struct fa_texts *out,
                                  struct faina_error *err)
{
    return fa_json_texts(value, arena, &out->items, &out->count)
               ? FAINA_OK
               : refuse(field, "an array of strings", err);
}

static enum faina_code read_int(const struct fa_body_field *field, struct fa_json value,
                                int64_t *out, struct faina_error *err)
{
    int64_t number;

    if (value.type != FA_JSON_NUMBER || !fa_json_int(value, &number) || number < field->min ||
        number > field->max)
        return fa_error_field(err, FAINA_INVALID_REQUEST, field->name,
                              "%s must be a whole number between %lld and %lld", field->name,
                              (long long)field->min, (long long)field->max);
    *out = number;
    return FAINA_OK;
}

static enum faina_code read_value(const struct fa_body_field *field, struct fa_json value,
                                  struct fa_arena *arena, void *out, struct faina_error *err)
{
    void *place = (char *)out + field->offset;

    switch (field->type) {
    case FA_BODY_TEXT:
        if (value.type != FA_JSON_STRING)
            return refuse(field, "a string", err);
        *(const char **)place = fa_json_text(value, arena);
        return FAINA_OK;
    case FA_BODY_JSON:
        *(const char **)place = fa_arena_copy(arena, value.raw.ptr, value.raw.len);
        return FAINA_OK;
    case FA_BODY_BOOL:
        if (value.type != FA_JSON_TRUE && value.type != FA_JSON_FALSE)
            return refuse(field, "true or false", err);
        *(bool *)place = value.type == FA_JSON_TRUE;
        return FAINA_OK;
    case FA_BODY_INT:
        return read_int(field, value, place, err);
    case FA_BODY_DURATION:
        return fa_body_duration(field->name, value, FAINA_INVALID_REQUEST, arena, place, err);
    case FA_BODY_TIME:
        if (value.type != FA_JSON_STRING)
            return refuse(field, "a time such as \"2030-01-31T12:00:00Z\"", err);
        return fa_time_parse(fa_json_text(value, arena), field->name, place, err);
    case FA_BODY_TEXTS:
        return read_texts(field, value, arena, place, err);
    case FA_BODY_OWN:
        return field->read(field, value, arena, out, err);
    }
    assert(!"a field of no known type");
    return FAINA_INTERNAL;
}

/* maxConcurrency has a meaning for null; everywhere else null means "not there". */
static bool wants_null(const struct fa_body_field *field)
{
    return field->type == FA_BODY_OWN && field->min < 0;
}

enum faina_code fa_body_read_object(struct fa_json object, const char *what,
                                    const struct fa_body *body, struct fa_arena *arena, void *out,
                                    struct faina_error *err)
{
    struct fa_json_iter it;
    struct fa_bytes raw;
    struct fa_json value;

    if (object.type != FA_JSON_OBJECT)
        return fa_error_set(err, FAINA_INVALID_REQUEST, "the %s must be a JSON object", what);
    for (it = fa_json_iter(object); fa_json_next(&it, &raw, &value);) {
        const char *key = fa_json_unescape(raw, arena);
        const struct fa_body_field *field = NULL;
        enum faina_code code;

        for (size_t i = 0; i < body->count && !field; i++)
            if (strcmp(key, body->fields[i].name) == 0)
                field = &body->fields[i];
        if (!field)
            return refuse_name(key, what, body, arena, err);
        if (value.type == FA_JSON_NULL && !wants_null(field))
            continue;
        code = read_value(field, value, arena, out, err);
        if (code != FAINA_OK)
            return code;
    }
    return FAINA_OK;
}

enum faina_code fa_body_read(struct fa_bytes text, const struct fa_body *body,
                             struct fa_arena *arena, void *out, struct faina_error *err)
{
    enum faina_code code;

    if (text.len == 0)
        return FAINA_OK;
    /* Payloads may be nested as deeply as their limit says, inside an item of a list of a body. */
    code = fa_json_check(text, FA_JSON_DEPTH_MAX + 5, "body", FAINA_INVALID_REQUEST, err);
    if (code != FAINA_OK)
        return code;
    return fa_body_read_object(fa_json_value(text), "body", body, arena, out, err);
}

/* ------------------------------------------------------------------------------------------
 * Members that have a form of their own
 */

struct error_body {
    const char *message, *kind, *detail;
    bool retryable;
};

static const struct fa_body_field error_fields[] = {
    {"message", FA_BODY_TEXT, offsetof(struct error_body, message), 0, 0, NULL},
    {"kind", FA_BODY_TEXT, offsetof(struct error_body, kind), 0, 0, NULL},
    {"detail", FA_BODY_JSON, offsetof(struct error_body, detail), 0, 0, NULL},
    {"retryable", FA_BODY_BOOL, offsetof(struct error_body, retryable), 0, 0, NULL},
};
static const struct fa_body error_body = {error_fields, FA_COUNT(error_fields)};

/* A string, or {message, kind, detail, retryable}. */
static enum faina_code read_error(const struct fa_body_field *field, struct fa_json value,
                                  struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct error_body body = {.retryable = true};
    struct fa_act *act = out;
    enum faina_code code;

    if (value.type == FA_JSON_STRING) {
        body.message = fa_json_text(value, arena);
    } else if (value.type == FA_JSON_OBJECT) {
        code = fa_body_read_object(value, "error", &error_body, arena, &body, err);
        if (code != FAINA_OK)
            return code;
        if (!body.message)
            return fa_error_field(err, FAINA_INVALID_REQUEST, "error.message",
                                  "error.message is missing");
    } else {
        return refuse(field, "a string, or an object with a message", err);
    }
    act->has_error = true;
    act->failure = (struct faina_failure){.message = body.message,
                                          .kind = body.kind,
                                          .detail = body.detail,
                                          .permanent = !body.retryable};
    return FAINA_OK;
}

static enum faina_code read_progress(const struct fa_body_field *field, struct fa_json value,
                                     struct fa_arena *arena, void *out, struct faina_error *err)
{
    const struct fa_body_field range = {field->name, FA_BODY_INT, 0, 0, 100, NULL};
    struct fa_act *act = out;

    (void)arena;
    act->has_progress = true;
    return read_int(&range, value, &act->progress, err);
}

static enum faina_code read_reset(const struct fa_body_field *field, struct fa_json value,
                                  struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct fa_act *act = out;

    (void)arena;
    if (value.type != FA_JSON_TRUE && value.type != FA_JSON_FALSE)
        return refuse(field, "true or false", err);
    act->has_reset = true;
    act->reset_attempts = value.type == FA_JSON_TRUE;
    return FAINA_OK;
}

/* Says which item of a list is to blame. */
static enum faina_code blame_item(const struct fa_body_field *field, size_t index,
                                  const struct faina_error *inner, struct faina_error *err)
{
    char name[64];

    snprintf(name, sizeof(name), "%s[%zu]%s%.30s", field->name, index, inner->field[0] ? "." : "",
             inner->field);
    return fa_error_field(err, inner->code, name, "%s[%zu]: %.400s", field->name, index,
                          inner->message);
}

static enum faina_code read_subtasks(const struct fa_body_field *field, struct fa_json value,
                                     struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct fa_act *act = out;
    struct fa_json_iter it;
    struct fa_json item;
    size_t i = 0;

    if (value.type != FA_JSON_ARRAY)
        return refuse(field, "an array of tasks", err);
    act->subtask_count = fa_json_count(value);
    if (act->subtask_count > FA_CHILDREN_MAX)
        return fa_error_field(err, FAINA_INVALID_REQUEST, field->name,
                              "a task can have at most %d subtasks, not %zu", FA_CHILDREN_MAX,
                              act->subtask_count);
    act->subtasks = fa_arena_zero(arena, act->subtask_count + 1, sizeof(*act->subtasks));
    for (it = fa_json_iter(value); fa_json_next(&it, NULL, &item); i++) {
        struct faina_error inner = {0};
        enum faina_code code = fa_wire_read_submit(item.raw, arena, &act->subtasks[i], &inner);

        if (code != FAINA_OK)
            return blame_item(field, i, &inner, err);
    }
    return FAINA_OK;
}

/* What a submit may have left open: a part of its body. */
static enum faina_code read_amendment(const struct fa_body_field *field, struct fa_json value,
                                      struct fa_arena *arena, void *out, struct faina_error *err)
{
    static const char *const names[] = {"maxAttempts", "maxRetries", "retry", "resources"};
    struct fa_act *act = out;
    struct faina_submit *amendment;
    struct fa_json_iter it;
    struct fa_bytes key;
    struct fa_json member;

    if (value.type != FA_JSON_OBJECT)
        return refuse(field, "an object with maxAttempts, retry and resources", err);
    for (it = fa_json_iter(value); fa_json_next(&it, &key, &member);) {
        size_t i = 0;

        while (i < FA_COUNT(names) && !fa_bytes_equal(key, fa_str(names[i])))
            i++;
        if (i == FA_COUNT(names))
            return refuse(field, "an object with maxAttempts, retry and resources", err);
    }
    amendment = fa_arena_zero(arena, 1, sizeof(*amendment));
    act->amendment = amendment;
    return fa_wire_read_submit(value.raw, arena, amendment, err);
}

static enum faina_code read_fence(const struct fa_body_field *field, struct fa_json value,
                                  struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct fa_act *act = out;

    (void)arena;
    act->has_fence = true;
    return read_int(field, value, &act->by.fence, err);
}

/* The output is the value null, which would otherwise count as not there. */
static enum faina_code read_nulls(const struct fa_body_field *field, struct fa_json value,
                                  struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct fa_act *act = out;
    struct fa_texts names;
    enum faina_code code = read_texts(field, value, arena, &names, err);

    for (size_t i = 0; code == FAINA_OK && i < names.count; i++) {
        if (strcmp(names.items[i], "output") != 0)
            return refuse(field, "[\"output\"]", err);
        act->output = "null";
    }
    return code;
}

#define ACT(name, type, member)                                                                    \
    {                                                                                              \
        name, type, offsetof(struct fa_act, member), 0, 0, NULL                                    \
    }
#define WORKER ACT("workerId", FA_BODY_TEXT, by.worker_id)
#define FENCE                                                                                      \
    {                                                                                              \
        "fence", FA_BODY_OWN, 0, 0, INT64_MAX, read_fence                                          \
    }
#define LEASE ACT("leaseSeconds", FA_BODY_DURATION, lease_ms)
#define ERROR                                                                                      \
    {                                                                                              \
        "error", FA_BODY_OWN, 0, 0, 0, read_error                                                  \
    }
#define OUTPUT ACT("output", FA_BODY_JSON, output)
#define NULLS                                                                                      \
    {                                                                                              \
        "nulls", FA_BODY_OWN, 0, 0, 0, read_nulls                                                  \
    }
#define STATUS ACT("status", FA_BODY_TEXT, status)
#define ID ACT("id", FA_BODY_TEXT, id)

static const struct fa_body_field outcome_fields[] = {ID, FENCE, STATUS, OUTPUT, NULLS, ERROR};
static const struct fa_body outcome_body = {outcome_fields, FA_COUNT(outcome_fields)};
static const struct fa_body_field held_fields[] = {ID, FENCE};
static const struct fa_body held_body = {held_fields, FA_COUNT(held_fields)};

static enum faina_code read_items(const struct fa_body_field *field, struct fa_json value,
                                  const struct fa_body *body, struct fa_arena *arena, void *out,
                                  struct faina_error *err)
{
    struct fa_many *many = out;
    struct fa_json_iter it;
    struct fa_json item;
    size_t i = 0;

    if (value.type != FA_JSON_ARRAY)
        return refuse(field, "an array", err);
    many->count = fa_json_count(value);
    if (many->count > FA_BATCH_MAX)
        return fa_error_field(err, FAINA_INVALID_REQUEST, field->name,
                              "one call takes at most %d items, not %zu", FA_BATCH_MAX,
                              many->count);
    many->items = fa_arena_zero(arena, many->count + 1, sizeof(*many->items));
    for (it = fa_json_iter(value); fa_json_next(&it, NULL, &item); i++) {
        struct faina_error inner = {0}, *bad;

        if (fa_body_read_object(item, "item", body, arena, &many->items[i], &inner) == FAINA_OK)
            continue;
        bad = fa_arena_zero(arena, 1, sizeof(*bad));
        *bad = inner;
        many->items[i].bad = bad;
    }
    return FAINA_OK;
}

static enum faina_code read_outcomes(const struct fa_body_field *field, struct fa_json value,
                                     struct fa_arena *arena, void *out, struct faina_error *err)
{
    return read_items(field, value, &outcome_body, arena, out, err);
}

static enum faina_code read_held(const struct fa_body_field *field, struct fa_json value,
                                 struct fa_arena *arena, void *out, struct faina_error *err)
{
    return read_items(field, value, &held_body, arena, out, err);
}

static enum faina_code read_tasks(const struct fa_body_field *field, struct fa_json value,
                                  struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct fa_batch_body *batch = out;
    struct fa_json_iter it;
    struct fa_json item;
    size_t size = 0;

    if (value.type != FA_JSON_ARRAY)
        return refuse(field, "an array of tasks", err);
    batch->has_tasks = true;
    for (it = fa_json_iter(value); fa_json_next(&it, NULL, &item); batch->count++) {
        if (batch->count < FA_BATCH_MAX) {
            batch->tasks =
                fa_arena_grow(arena, batch->tasks, batch->count, &size, sizeof(*batch->tasks));
            batch->tasks[batch->count] = item;
        }
    }
    if (batch->count > FA_BATCH_MAX)
        return fa_error_field(err, FAINA_INVALID_REQUEST, field->name,
                              "one call takes at most %d tasks, not %zu", FA_BATCH_MAX,
                              batch->count);
    return FAINA_OK;
}

static enum faina_code read_limit(const struct fa_body_field *field, struct fa_json value,
                                  struct fa_arena *arena, void *out, struct faina_error *err)
{
    const struct fa_body_field range = {field->name, FA_BODY_INT, 0, 0, FA_CONCURRENCY_MAX, NULL};
    struct fa_limit_body *limit = out;

    (void)arena;
    limit->has_limit = true;
    limit->max_concurrency = -1;
    return value.type == FA_JSON_NULL ? FAINA_OK
                                      : read_int(&range, value, &limit->max_concurrency, err);
}

/* ------------------------------------------------------------------------------------------
 * The tables
 */

#define BODY(name) const struct fa_body fa_body_##name = {name##_fields, FA_COUNT(name##_fields)}

static const struct fa_body_field claim_fields[] = {WORKER, LEASE};
BODY(claim);
static const struct fa_body_field start_fields[] = {WORKER, FENCE, LEASE};
BODY(start);
static const struct fa_body_field complete_fields[] = {WORKER, FENCE, OUTPUT, NULLS};
BODY(complete);
static const struct fa_body_field fail_fields[] = {WORKER, FENCE, ERROR};
BODY(fail);
static const struct fa_body_field progress_fields[] = {
    WORKER,
    FENCE,
    {"progress", FA_BODY_OWN, 0, 0, 0, read_progress},
    ACT("state", FA_BODY_TEXT, state),
    ACT("metadata", FA_BODY_JSON, metadata),
};
BODY(progress);
static const struct fa_body_field heartbeat_fields[] = {WORKER, FENCE, LEASE};
BODY(heartbeat);
static const struct fa_body_field block_fields[] = {
    WORKER,
    FENCE,
    {"subtasks", FA_BODY_OWN, 0, 0, 0, read_subtasks},
    ACT("failFast", FA_BODY_BOOL, fail_fast),
};
BODY(block);
static const struct fa_body_field background_fields[] = {
    WORKER,
    FENCE,
    ACT("reason", FA_BODY_TEXT, reason),
    ACT("timeout", FA_BODY_DURATION, timeout_ms),
};
BODY(background);
static const struct fa_body_field release_fields[] = {WORKER, FENCE};
BODY(release);
static const struct fa_body_field note_fields[] = {
    WORKER,
    FENCE,
    ACT("event", FA_BODY_TEXT, event),
    ACT("detail", FA_BODY_JSON, detail),
};
BODY(note);
static const struct fa_body_field amend_fields[] = {
    WORKER,
    FENCE,
    {"task", FA_BODY_OWN, 0, 0, 0, read_amendment},
};
BODY(amend);
static const struct fa_body_field cancel_fields[] = {WORKER};
BODY(cancel);
static const struct fa_body_field retry_fields[] = {
    WORKER,
    {"resetAttempts", FA_BODY_OWN, 0, 0, 0, read_reset},
};
BODY(retry);
static const struct fa_body_field status_fields[] = {WORKER, FENCE, STATUS, OUTPUT, NULLS, ERROR};
BODY(status);

static const struct fa_body_field claims_fields[] = {
    {"workerId", FA_BODY_TEXT, offsetof(struct fa_claims, worker_id), 0, 0, NULL},
    {"types", FA_BODY_TEXTS, offsetof(struct fa_claims, types), 0, 0, NULL},
    {"namespaces", FA_BODY_TEXTS, offsetof(struct fa_claims, namespaces), 0, 0, NULL},
    {"services", FA_BODY_TEXTS, offsetof(struct fa_claims, services), 0, 0, NULL},
    {"limit", FA_BODY_INT, offsetof(struct fa_claims, limit), 1, FA_CLAIM_LIMIT_MAX, NULL},
    {"leaseSeconds", FA_BODY_DURATION, offsetof(struct fa_claims, lease_ms), 0, 0, NULL},
    {"waitSeconds", FA_BODY_DURATION, offsetof(struct fa_claims, wait_ms), 0, 0, NULL},
};
BODY(claims);

static const struct fa_body_field outcomes_fields[] = {
    {"workerId", FA_BODY_TEXT, offsetof(struct fa_many, worker_id), 0, 0, NULL},
    {"items", FA_BODY_OWN, 0, 0, 0, read_outcomes},
};
BODY(outcomes);

static const struct fa_body_field heartbeats_fields[] = {
    {"workerId", FA_BODY_TEXT, offsetof(struct fa_many, worker_id), 0, 0, NULL},
    {"leaseSeconds", FA_BODY_DURATION, offsetof(struct fa_many, lease_ms), 0, 0, NULL},
    {"items", FA_BODY_OWN, 0, 0, 0, read_held},
};
BODY(heartbeats);

/* The acts of a worker, by the words that their routes end with. */
static const struct {
    const char *verb;
    const struct fa_body *body;
} verbs[] = {
    {"claim", &fa_body_claim},       {"start", &fa_body_start},
    {"complete", &fa_body_complete}, {"fail", &fa_body_fail},
    {"progress", &fa_body_progress}, {"heartbeat", &fa_body_heartbeat},
    {"block", &fa_body_block},       {"background", &fa_body_background},
    {"release", &fa_body_release},   {"note", &fa_body_note},
    {"amend", &fa_body_amend},
};

struct act_item {
    const char *id, *verb;
    struct fa_json body;
};

static enum faina_code read_act_body(const struct fa_body_field *field, struct fa_json value,
                                     struct fa_arena *arena, void *out, struct faina_error *err)
{
    (void)arena;
    if (value.type != FA_JSON_OBJECT)
        return refuse(field, "an object", err);
    ((struct act_item *)out)->body = value;
    return FAINA_OK;
}

static const struct fa_body_field act_item_fields[] = {
    {"id", FA_BODY_TEXT, offsetof(struct act_item, id), 0, 0, NULL},
    {"act", FA_BODY_TEXT, offsetof(struct act_item, verb), 0, 0, NULL},
    {"body", FA_BODY_OWN, 0, 0, 0, read_act_body},
};
static const struct fa_body act_item_body = {act_item_fields, FA_COUNT(act_item_fields)};

static enum faina_code read_act(struct fa_json item, struct fa_arena *arena, struct fa_act *out,
                                struct faina_error *err)
{
    struct act_item read = {.body = {FA_JSON_OBJECT, FA_LIT("{}")}};
    enum faina_code code = fa_body_read_object(item, "item", &act_item_body, arena, &read, err);
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
                              "block, background, release, note or amend");
    code = fa_body_read_object(read.body, "body", verbs[i].body, arena, out, err);
    out->id = read.id;
    out->verb = verbs[i].verb;
    return code;
}

static enum faina_code read_acts(const struct fa_body_field *field, struct fa_json value,
                                 struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct fa_many *many = out;
    struct fa_json_iter it;
    struct fa_json item;
    size_t i = 0;

    if (value.type != FA_JSON_ARRAY)
        return refuse(field, "an array", err);
    many->count = fa_json_count(value);
    if (many->count > FA_BATCH_MAX)
        return fa_error_field(err, FAINA_INVALID_REQUEST, field->name,
                              "one call takes at most %d items, not %zu", FA_BATCH_MAX,
                              many->count);
    many->items = fa_arena_zero(arena, many->count + 1, sizeof(*many->items));
    for (it = fa_json_iter(value); fa_json_next(&it, NULL, &item); i++) {
        struct faina_error inner = {0};
        enum faina_code code = read_act(item, arena, &many->items[i], &inner);

        if (code != FAINA_OK)
            return blame_item(field, i, &inner, err);
    }
    return FAINA_OK;
}

static const struct fa_body_field acts_fields[] = {{"items", FA_BODY_OWN, 0, 0, 0, read_acts}};
BODY(acts);

static const struct fa_body_field batch_fields[] = {{"tasks", FA_BODY_OWN, 0, 0, 0, read_tasks}};
BODY(batch);

static const struct fa_body_field limit_fields[] = {
    {"maxConcurrency", FA_BODY_OWN, 0, -1, 0, read_limit},
};
BODY(limit);

static const struct fa_body_field team_fields[] = {
    {"id", FA_BODY_TEXT, offsetof(struct fa_team_body, id), 0, 0, NULL},
    {"name", FA_BODY_TEXT, offsetof(struct fa_team_body, name), 0, 0, NULL},
    {"namespace", FA_BODY_TEXT, offsetof(struct fa_team_body, ns), 0, 0, NULL},
    {"spec", FA_BODY_JSON, offsetof(struct fa_team_body, spec), 0, 0, NULL},
};
BODY(team);

static const struct fa_body_field cron_fields[] = {
    {"name", FA_BODY_TEXT, offsetof(struct fa_cron_body, name), 0, 0, NULL},
    {"namespace", FA_BODY_TEXT, offsetof(struct fa_cron_body, ns), 0, 0, NULL},
    {"schedule", FA_BODY_TEXT, offsetof(struct fa_cron_body, schedule), 0, 0, NULL},
    {"timezone", FA_BODY_TEXT, offsetof(struct fa_cron_body, timezone), 0, 0, NULL},
    {"task", FA_BODY_JSON, offsetof(struct fa_cron_body, task), 0, 0, NULL},
    {"catchUp", FA_BODY_TEXT, offsetof(struct fa_cron_body, catch_up), 0, 0, NULL},
    {"overlap", FA_BODY_TEXT, offsetof(struct fa_cron_body, overlap), 0, 0, NULL},
    {"jitter", FA_BODY_DURATION, offsetof(struct fa_cron_body, jitter_ms), 0, 0, NULL},
    {"paused", FA_BODY_BOOL, offsetof(struct fa_cron_body, is_paused), 0, 0, NULL},
};
BODY(cron);

static const struct fa_body_field lane_fields[] = {
    {"namespace", FA_BODY_TEXT, offsetof(struct fa_lane_body, ns), 0, 0, NULL},
    {"type", FA_BODY_TEXT, offsetof(struct fa_lane_body, type), 0, 0, NULL},
};
BODY(lane);

static const struct fa_body_field purge_fields[] = {
    {"namespace", FA_BODY_TEXT, offsetof(struct fa_purge_body, ns), 0, 0, NULL},
    {"type", FA_BODY_TEXT, offsetof(struct fa_purge_body, type), 0, 0, NULL},
    {"status", FA_BODY_TEXTS, offsetof(struct fa_purge_body, status), 0, 0, NULL},
    {"endedBefore", FA_BODY_TIME, offsetof(struct fa_purge_body, before_us), 0, 0, NULL},
    {"deletedOnly", FA_BODY_BOOL, offsetof(struct fa_purge_body, deleted_only), 0, 0, NULL},
    {"limit", FA_BODY_INT, offsetof(struct fa_purge_body, limit), 1, FA_BATCH_MAX, NULL},
};
BODY(purge);

static const struct fa_body_field emit_fields[] = {
    {"namespace", FA_BODY_TEXT, offsetof(struct faina_emit, ns), 0, 0, NULL},
    {"type", FA_BODY_TEXT, offsetof(struct faina_emit, type), 0, 0, NULL},
    {"data", FA_BODY_JSON, offsetof(struct faina_emit, data), 0, 0, NULL},
    {"id", FA_BODY_TEXT, offsetof(struct faina_emit, id), 0, 0, NULL},
};
BODY(emit);

const struct fa_body fa_body_none = {NULL, 0};

static const struct fa_body_field match_fields[] = {
    {"match", FA_BODY_TEXT, offsetof(struct fa_match_body, match), 0, 0, NULL},
    {"data", FA_BODY_JSON, offsetof(struct fa_match_body, data), 0, 0, NULL},
};
BODY(match);

static const struct fa_body_field token_fields[] = {
    {"name", FA_BODY_TEXT, offsetof(struct fa_token_body, name), 0, 0, NULL},
    {"hash", FA_BODY_TEXT, offsetof(struct fa_token_body, hash), 0, 0, NULL},
    {"scopes", FA_BODY_TEXTS, offsetof(struct fa_token_body, scopes), 0, 0, NULL},
    {"namespaces", FA_BODY_TEXTS, offsetof(struct fa_token_body, namespaces), 0, 0, NULL},
    {"expires", FA_BODY_DURATION, offsetof(struct fa_token_body, expires_ms), 0, 0, NULL},
    {"expiresAt", FA_BODY_TIME, offsetof(struct fa_token_body, expires_us), 0, 0, NULL},
};
BODY(token);
