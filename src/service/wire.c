/*
 * wire.c - tasks and requests as JSON.
 *
 * Reading a submit is one table, `fields`: name, how to read it, where it goes. A new field needs a
 * row there, and to be named in the help of submit (cli/verbs.c). Fields that only the engine sets
 * are in `engine_fields`.
 */
#include "service/wire.h"

#include "base/nearest.h"
#include "model/backoff.h"
#include "model/codes.h"
#include "model/limits.h"
#include "model/times.h"
#include "service/body.h"

#include <limits.h>
#include <stdio.h>

/* ------------------------------------------------------------------------------------------
 * Writing
 */

static void put_str(struct fa_json_writer *w, const char *key, const char *text)
{
    fa_json_key(w, key);
    fa_json_put_str(w, text);
}

/* Ids that are unset are "". */
static void put_id(struct fa_json_writer *w, const char *key, const char *id)
{
    put_str(w, key, id[0] ? id : NULL);
}

static void put_int(struct fa_json_writer *w, const char *key, int64_t value)
{
    fa_json_key(w, key);
    fa_json_put_int(w, value);
}

static void put_bool(struct fa_json_writer *w, const char *key, bool value)
{
    fa_json_key(w, key);
    fa_json_put_bool(w, value);
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

static void put_texts(struct fa_json_writer *w, const char *key, const char *const *texts,
                      size_t count)
{
    fa_json_key(w, key);
    fa_json_begin_array(w);
    for (size_t i = 0; i < count; i++)
        fa_json_put_str(w, texts[i]);
    fa_json_end_array(w);
}

void fa_wire_put_time(struct fa_json_writer *w, int64_t us)
{
    char text[FA_TIME_SIZE];

    if (us == 0) {
        fa_json_put_null(w);
        return;
    }
    fa_time_format(us, text);
    fa_json_put_str(w, text);
}

/* In the largest unit that is exact, so that it reads back as the same. */
static void put_duration(struct fa_json_writer *w, const char *key, int64_t ms)
{
    static const struct {
        int64_t ms;
        const char *unit;
    } units[] = {{3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}};
    char text[FA_TIME_SIZE];
    size_t i = 0;

    while (ms % units[i].ms != 0)
        i++;
    snprintf(text, sizeof(text), "%lld%s", (long long)(ms / units[i].ms), units[i].unit);
    put_str(w, key, text);
}

static void put_retry(struct fa_json_writer *w, struct faina_retry_policy policy)
{
    fa_json_key(w, "retry");
    if (policy.base_ms == 0 && policy.factor == 0 && policy.max_ms == 0) {
        fa_json_put_null(w);
        return;
    }
    policy = fa_backoff_policy(policy);
    fa_json_begin_object(w);
    put_duration(w, "base", policy.base_ms);
    fa_json_key(w, "factor");
    fa_json_put_double(w, policy.factor);
    put_duration(w, "max", policy.max_ms);
    fa_json_end_object(w);
}

static const char *phase_name(enum faina_phase phase)
{
    switch (phase) {
    case FAINA_PHASE_START:
        return "start";
    case FAINA_PHASE_RESUME:
        return "resume";
    case FAINA_PHASE_ERROR:
        return "error";
    }
    return "start";
}

void fa_wire_put_task(struct fa_json_writer *w, const struct faina_task *task)
{
    fa_json_begin_object(w);
    put_id(w, "id", task->id);
    put_str(w, "namespace", task->ns);
    put_str(w, "type", task->type);
    put_str(w, "name", task->name);
    put_str(w, "status", faina_status_name(task->status));
    put_str(w, "state", task->state);
    put_int(w, "progress", task->progress);
    put_int(w, "priority", task->priority);
    put_raw(w, "input", task->input);
    put_raw(w, "output", task->output);
    put_raw(w, "error", task->error);
    put_raw(w, "metadata", task->metadata);
    put_raw(w, "spec", task->spec);
    put_str(w, "idempotencyKey", task->idempotency_key);
    put_str(w, "inputHash", task->input_hash);
    put_int(w, "attempts", task->attempts);
    put_int(w, "maxAttempts", task->max_attempts);
    put_retry(w, task->retry);
    put_time(w, "runAt", task->run_at_us);
    put_str(w, "phase", phase_name(task->phase));
    put_str(w, "workerId", task->worker_id);
    put_time(w, "leaseExpiresAt", task->lease_expires_us);
    put_int(w, "fence", task->fence);
    put_id(w, "parentId", task->parent_id);
    put_texts(w, "dependsOn", task->depends_on, task->depends_on_count);
    put_texts(w, "resources", task->resources, task->resource_count);
    put_time(w, "expiresAt", task->expires_us);
    put_id(w, "teamId", task->team_id);
    put_str(w, "createdBy", task->created_by);
    put_int(w, "version", task->version);
    put_time(w, "createdAt", task->created_us);
    put_time(w, "updatedAt", task->updated_us);
    put_time(w, "claimedAt", task->claimed_us);
    put_time(w, "startedAt", task->started_us);
    put_time(w, "completedAt", task->completed_us);
    put_time(w, "deletedAt", task->deleted_us);
    if (task->existing)
        put_bool(w, "existing", true);
    if (task->input_mismatch)
        put_bool(w, "inputMismatch", true);
    fa_json_end_object(w);
}

void fa_wire_put_tasks(struct fa_json_writer *w, const struct faina_tasks *tasks)
{
    fa_json_begin_object(w);
    fa_json_key(w, "items");
    fa_json_begin_array(w);
    for (size_t i = 0; i < tasks->count; i++)
        fa_wire_put_task(w, &tasks->items[i]);
    fa_json_end_array(w);
    put_str(w, "nextCursor", tasks->next_cursor);
    fa_json_end_object(w);
}

void fa_wire_put_event(struct fa_json_writer *w, const struct faina_event *event,
                       const char *task_id)
{
    fa_json_begin_object(w);
    put_int(w, "id", event->at_us);
    put_str(w, "taskId", task_id);
    put_str(w, "event", event->what);
    put_str(w, "status", faina_status_name(event->status));
    put_str(w, "state", event->state);
    put_str(w, "actor", faina_actor_name(event->actor));
    put_str(w, "workerId", event->worker_id);
    put_raw(w, "detail", event->detail);
    put_time(w, "createdAt", event->at_us);
    fa_json_end_object(w);
}

void fa_wire_put_explanation(struct fa_json_writer *w, const struct faina_explanation *explanation)
{
    fa_json_begin_object(w);
    put_str(w, "summary", explanation->summary);
    fa_json_key(w, "reasons");
    fa_json_begin_array(w);
    for (size_t i = 0; i < explanation->count; i++) {
        fa_json_begin_object(w);
        put_str(w, "kind", explanation->reasons[i].kind);
        put_str(w, "message", explanation->reasons[i].message);
        put_time(w, "until", explanation->reasons[i].until_us);
        fa_json_end_object(w);
    }
    fa_json_end_array(w);
    fa_json_key(w, "task");
    fa_wire_put_task(w, &explanation->task);
    fa_json_end_object(w);
}

void fa_wire_put_resource(struct fa_json_writer *w, const struct faina_resource *resource)
{
    fa_json_begin_object(w);
    put_str(w, "name", resource->name);
    fa_json_key(w, "maxConcurrency");
    if (resource->max_concurrency < 0)
        fa_json_put_null(w);
    else
        fa_json_put_int(w, resource->max_concurrency);
    put_int(w, "inUse", resource->in_use);
    put_texts(w, "holders", resource->holders, resource->holder_count);
    fa_json_end_object(w);
}

void fa_wire_put_team(struct fa_json_writer *w, const struct faina_team *team)
{
    fa_json_begin_object(w);
    put_id(w, "id", team->id);
    put_str(w, "name", team->name);
    put_str(w, "namespace", team->ns);
    put_raw(w, "spec", team->spec);
    put_time(w, "createdAt", team->created_us);
    put_time(w, "updatedAt", team->updated_us);
    fa_json_end_object(w);
}

static void put_worker_fields(struct fa_json_writer *w, const struct faina_worker *worker)
{
    put_str(w, "id", worker->id);
    put_str(w, "hostname", worker->hostname);
    put_time(w, "startedAt", worker->started_us);
    put_time(w, "lastHeartbeat", worker->last_heartbeat_us);
    put_int(w, "poolSize", worker->pool_size);
    put_texts(w, "types", worker->types, worker->type_count);
    if (worker->services)
        put_texts(w, "services", worker->services, worker->service_count);
    else
        put_str(w, "services", NULL); /* all of them, which is not none */
    put_str(w, "version", worker->version);
    put_bool(w, "isLeader", worker->is_leader);
    put_time(w, "leaderUntil", worker->leader_until_us);
    put_int(w, "held", worker->held);
}

void fa_wire_put_worker(struct fa_json_writer *w, const struct faina_worker *worker)
{
    fa_json_begin_object(w);
    put_worker_fields(w, worker);
    fa_json_end_object(w);
}

static void put_losses(struct fa_json_writer *w, const struct faina_beat *beat, enum faina_loss why)
{
    fa_json_key(w, faina_loss_name(why));
    fa_json_begin_array(w);
    for (size_t i = 0; i < beat->lost_count; i++)
        if (beat->items[i].why == why)
            fa_json_put_str(w, beat->items[i].id);
    fa_json_end_array(w);
}

void fa_wire_put_beat(struct fa_json_writer *w, const struct faina_worker *worker,
                      const struct faina_beat *beat)
{
    fa_json_begin_object(w);
    put_worker_fields(w, worker);
    put_losses(w, beat, FAINA_LOSS_CANCELLED);
    put_losses(w, beat, FAINA_LOSS_LOST);
    fa_json_end_object(w);
}

static void put_counts(struct fa_json_writer *w, const int64_t by_status[FAINA_STATUS_COUNT])
{
    int64_t total = 0;

    fa_json_key(w, "byStatus");
    fa_json_begin_object(w);
    for (enum faina_status status = 0; status < FAINA_STATUS_COUNT; status++) {
        put_int(w, faina_status_name(status), by_status[status]);
        total += by_status[status];
    }
    fa_json_end_object(w);
    put_int(w, "total", total);
}

void fa_wire_put_stats(struct fa_json_writer *w, const struct faina_stats *stats)
{
    fa_json_begin_object(w);
    put_counts(w, stats->by_status);
    fa_json_key(w, "types");
    fa_json_begin_array(w);
    for (size_t i = 0; i < stats->count; i++) {
        fa_json_begin_object(w);
        put_str(w, "namespace", stats->types[i].ns);
        put_str(w, "type", stats->types[i].type);
        put_bool(w, "paused", stats->types[i].is_paused);
        put_time(w, "oldestReadyAt", stats->types[i].oldest_ready_us);
        put_counts(w, stats->types[i].by_status);
        fa_json_end_object(w);
    }
    fa_json_end_array(w);
    fa_json_end_object(w);
}

void fa_wire_put_problem_as(struct fa_json_writer *w, const struct faina_error *error, int status,
                            const char *task_id)
{
    char type[96];

    snprintf(type, sizeof(type), "urn:faina:problem:%s", faina_code_name(error->code));
    fa_json_begin_object(w);
    put_str(w, "type", type);
    put_str(w, "title", fa_code_sentence(error->code));
    put_int(w, "status", status);
    put_str(w, "detail", error->message[0] ? error->message : fa_code_sentence(error->code));
    put_str(w, "code", faina_code_name(error->code));
    if (task_id)
        put_str(w, "id", task_id);
    if (error->field[0]) {
        fa_json_key(w, "errors");
        fa_json_begin_array(w);
        fa_json_begin_object(w);
        put_str(w, "field", error->field);
        put_str(w, "message", error->message);
        if (error->line > 0) {
            put_int(w, "line", error->line);
            put_int(w, "column", error->column);
        }
        fa_json_end_object(w);
        fa_json_end_array(w);
    }
    fa_json_end_object(w);
}

void fa_wire_put_problem(struct fa_json_writer *w, const struct faina_error *error)
{
    fa_wire_put_problem_as(w, error, fa_code_http(error->code), NULL);
}

const char *fa_wire_nearest(const char *word, const char *const *names)
{
    return fa_nearest(word, names);
}

/* ------------------------------------------------------------------------------------------
 * Reading a submit
 */

struct reader {
    struct fa_arena *arena;
    struct faina_submit *out;
    bool has_attempts;
    struct faina_error *err;
};

struct field {
    const char *name;
    enum faina_code (*read)(struct reader *r, const struct field *field, struct fa_json value);
    size_t offset; /* of the text in struct faina_submit, for the readers that share it */
};

static enum faina_code refuse(struct reader *r, const struct field *field, const char *what)
{
    return fa_error_field(r->err, FAINA_INVALID_TASK, field->name, "%s must be %s", field->name,
                          what);
}

static const char **text_place(struct reader *r, const struct field *field)
{
    return (const char **)(void *)((char *)r->out + field->offset);
}

static enum faina_code read_text(struct reader *r, const struct field *field, struct fa_json value)
{
    const char **place = text_place(r, field);

    if (value.type != FA_JSON_STRING)
        return refuse(r, field, "a string");
    if (*place) /* by its other name */
        return fa_error_field(r->err, FAINA_INVALID_TASK, field->name, "%s is given twice",
                              field->name);
    *place = fa_json_text(value, r->arena);
    return FAINA_OK;
}

static enum faina_code read_json(struct reader *r, const struct field *field, struct fa_json value)
{
    *text_place(r, field) = fa_arena_copy(r->arena, value.raw.ptr, value.raw.len);
    return FAINA_OK;
}

static enum faina_code read_priority(struct reader *r, const struct field *field,
                                     struct fa_json value)
{
    int64_t number;

    if (value.type != FA_JSON_NUMBER || !fa_json_int(value, &number) || number < FA_PRIORITY_MIN ||
        number > FA_PRIORITY_MAX)
        return refuse(r, field, "a whole number between -32768 and 32767");
    r->out->priority = (int)number;
    return FAINA_OK;
}

/* maxAttempts, and maxRetries, which counts one less. In a body 0 attempts means no limit. */
static enum faina_code read_attempts(struct reader *r, const struct field *field,
                                     struct fa_json value)
{
    bool counts_retries = strcmp(field->name, "maxRetries") == 0;
    int64_t number;

    if (r->has_attempts)
        return fa_error_field(r->err, FAINA_INVALID_TASK, field->name,
                              "give maxAttempts or maxRetries, not both");
    if (value.type != FA_JSON_NUMBER || !fa_json_int(value, &number) || number < 0 ||
        number > FA_ATTEMPTS_MAX)
        return refuse(r, field, "a whole number between 0 and 1000000");
    if (counts_retries)
        number = number < FA_ATTEMPTS_MAX ? number + 1 : number;
    r->out->max_attempts = number == 0 ? FAINA_UNLIMITED : (int)number;
    r->has_attempts = true;
    return FAINA_OK;
}

static enum faina_code read_duration(struct reader *r, const char *name, struct fa_json value,
                                     int64_t *out_ms)
{
    return fa_body_duration(name, value, FAINA_INVALID_TASK, r->arena, out_ms, r->err);
}

static enum faina_code read_delay(struct reader *r, const struct field *field, struct fa_json value)
{
    return read_duration(r, field->name, value, &r->out->delay_ms);
}

static enum faina_code read_run_at(struct reader *r, const struct field *field,
                                   struct fa_json value)
{
    if (value.type != FA_JSON_STRING)
        return refuse(r, field, "a time such as \"2030-01-31T12:00:00Z\"");
    return fa_time_parse(fa_json_text(value, r->arena), field->name, &r->out->run_at_us, r->err);
}

static enum faina_code read_dedupe(struct reader *r, const struct field *field,
                                   struct fa_json value)
{
    if (value.type != FA_JSON_STRING || strcmp(fa_json_text(value, r->arena), "input") != 0)
        return refuse(r, field, "\"input\"");
    r->out->dedupe_input = true;
    return FAINA_OK;
}

/* An array of strings. */
static enum faina_code read_list(struct reader *r, const struct field *field, struct fa_json value,
                                 const char *const **out, size_t *out_count)
{
    struct fa_json_iter it;
    struct fa_json item;
    const char **list;
    size_t count = 0;

    if (value.type != FA_JSON_ARRAY)
        return refuse(r, field, "an array of strings");
    for (it = fa_json_iter(value); fa_json_next(&it, NULL, &item); count++)
        if (item.type != FA_JSON_STRING)
            return refuse(r, field, "an array of strings");
    list = fa_arena_zero(r->arena, count + 1, sizeof(*list));
    count = 0;
    for (it = fa_json_iter(value); fa_json_next(&it, NULL, &item);)
        list[count++] = fa_json_text(item, r->arena);
    *out = list;
    *out_count = count;
    return FAINA_OK;
}

static enum faina_code read_depends_on(struct reader *r, const struct field *field,
                                       struct fa_json value)
{
    return read_list(r, field, value, &r->out->depends_on, &r->out->depends_on_count);
}

static enum faina_code read_resources(struct reader *r, const struct field *field,
                                      struct fa_json value)
{
    return read_list(r, field, value, &r->out->resources, &r->out->resource_count);
}

static enum faina_code read_retry(struct reader *r, const struct field *field, struct fa_json value)
{
    static const char *const names[] = {"base", "factor", "max", NULL};
    struct fa_json_iter it;
    struct fa_bytes key;
    struct fa_json member;

    if (value.type != FA_JSON_OBJECT)
        return refuse(r, field, "an object such as {\"base\":\"1s\",\"factor\":2,\"max\":\"1h\"}");
    for (it = fa_json_iter(value); fa_json_next(&it, &key, &member);) {
        enum faina_code code = FAINA_OK;

        if (member.type == FA_JSON_NULL)
            continue;
        if (fa_bytes_equal(key, FA_LIT("base")))
            code = read_duration(r, "retry.base", member, &r->out->retry.base_ms);
        else if (fa_bytes_equal(key, FA_LIT("max")))
            code = read_duration(r, "retry.max", member, &r->out->retry.max_ms);
        else if (!fa_bytes_equal(key, FA_LIT("factor")))
            code = fa_error_field(r->err, FAINA_INVALID_TASK, field->name,
                                  "retry has the members %s, %s and %s, and no other", names[0],
                                  names[1], names[2]);
        else if (member.type != FA_JSON_NUMBER || !fa_json_double(member, &r->out->retry.factor))
            code = fa_error_field(r->err, FAINA_INVALID_TASK, "retry.factor",
                                  "retry.factor must be a number");
        if (code != FAINA_OK)
            return code;
    }
    return FAINA_OK;
}

#define TEXT(name, member)                                                                         \
    {                                                                                              \
        name, read_text, offsetof(struct faina_submit, member)                                     \
    }
#define JSON(name, member)                                                                         \
    {                                                                                              \
        name, read_json, offsetof(struct faina_submit, member)                                     \
    }

static const struct field fields[] = {
    TEXT("namespace", ns),
    TEXT("type", type),
    TEXT("name", name),
    JSON("input", input),
    JSON("metadata", metadata),
    JSON("spec", spec),
    {"priority", read_priority, 0},
    {"maxAttempts", read_attempts, 0},
    {"maxRetries", read_attempts, 0},
    {"delay", read_delay, 0},
    {"runAt", read_run_at, 0},
    TEXT("idempotencyKey", idempotency_key),
    {"dedupe", read_dedupe, 0},
    {"dependsOn", read_depends_on, 0},
    {"resources", read_resources, 0},
    {"retry", read_retry, 0},
    TEXT("teamId", team_id),
    TEXT("team_id", team_id),
    TEXT("createdBy", created_by),
};

static const char *const engine_fields[] = {
    "id",        "status",      "state",     "progress",       "output",        "error",
    "inputHash", "attempts",    "workerId",  "leaseExpiresAt", "fence",         "phase",
    "parentId",  "expiresAt",   "version",   "createdAt",      "updatedAt",     "claimedAt",
    "startedAt", "completedAt", "deletedAt", "existing",       "inputMismatch",
};

static enum faina_code refuse_field(const char *key, struct faina_error *err)
{
    const char *names[FA_COUNT(fields) + 1] = {NULL};
    const char *nearest;

    for (size_t i = 0; i < FA_COUNT(engine_fields); i++)
        if (strcmp(key, engine_fields[i]) == 0)
            return fa_error_field(err, FAINA_INVALID_TASK, key,
                                  "%s is set by the engine and can't be submitted", key);
    if (strlen(key) > FA_NEAREST_SIZE_MAX) /* too long to be repeated */
        return fa_error_set(err, FAINA_INVALID_TASK,
                            "the task has an unknown field with a name of %zu bytes", strlen(key));
    for (size_t i = 0; i < FA_COUNT(fields); i++)
        names[i] = fields[i].name;
    nearest = fa_wire_nearest(key, names);
    if (nearest)
        return fa_error_field(err, FAINA_INVALID_TASK, key,
                              "unknown field \"%s\"; did you mean \"%s\"?", key, nearest);
    return fa_error_field(err, FAINA_INVALID_TASK, key, "unknown field \"%s\"", key);
}

static enum faina_code read_field(struct reader *r, struct fa_bytes raw_key, struct fa_json value)
{
    const char *key = fa_json_unescape(raw_key, r->arena);

    for (size_t i = 0; i < FA_COUNT(fields); i++) {
        if (strcmp(key, fields[i].name) != 0)
            continue;
        /* null means "not set", as in what we write. */
        return value.type == FA_JSON_NULL ? FAINA_OK : fields[i].read(r, &fields[i], value);
    }
    return refuse_field(key, r->err);
}

enum faina_code fa_wire_read_submit(struct fa_bytes json, struct fa_arena *arena,
                                    struct faina_submit *out, struct faina_error *err)
{
    struct faina_submit submit = {0};
    struct reader r = {.arena = arena, .out = &submit, .err = err};
    struct fa_json_iter it;
    struct fa_bytes key;
    struct fa_json body, value;
    enum faina_code code;

    /* One level more than a payload: the body is around it. */
    code = fa_json_check(json, FA_JSON_DEPTH_MAX + 1, "task", FAINA_INVALID_REQUEST, err);
    if (code != FAINA_OK)
        return code;
    body = fa_json_value(json);
    if (body.type != FA_JSON_OBJECT)
        return fa_error_set(err, FAINA_INVALID_REQUEST,
                            "a task must be a JSON object such as {\"type\":\"mail.send\"}");
    for (it = fa_json_iter(body); fa_json_next(&it, &key, &value);) {
        code = read_field(&r, key, value);
        if (code != FAINA_OK)
            return code;
    }
    *out = submit;
    return FAINA_OK;
}
