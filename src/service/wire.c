/*
 * wire.c - submits and problems as JSON.
 *
 * A submit is one table, `fields`: name, how to read and write it, where it is. A new field needs a
 * row there, and to be named in the help of submit (cli/verbs.c). Fields that only the engine sets
 * are in `engine_fields`.
 */
#include "service/wire.h"

#include "base/nearest.h"
#include "base/utf8.h"
#include "model/codes.h"
#include "model/limits.h"
#include "model/times.h"
#include "service/body.h"

#include <limits.h>
#include <stdio.h>

/* ------------------------------------------------------------------------------------------
 * Problems
 */

void fa_wire_put_problem_as(struct fa_json_writer *w, const struct faina_error *error, int status,
                            const char *task_id)
{
    char type[96];

    snprintf(type, sizeof(type), "urn:faina:problem:%s", faina_code_name(error->code));
    fa_json_begin_object(w);
    fa_json_set_str(w, "type", type);
    fa_json_set_str(w, "title", fa_code_sentence(error->code));
    fa_json_set_int(w, "status", status);
    fa_json_set_str(w, "detail",
                    error->message[0] ? error->message : fa_code_sentence(error->code));
    fa_json_set_str(w, "code", faina_code_name(error->code));
    if (task_id)
        fa_json_set_str(w, "id", task_id);
    if (error->field[0]) {
        fa_json_key(w, "errors");
        fa_json_begin_array(w);
        fa_json_begin_object(w);
        fa_json_set_str(w, "field", error->field);
        fa_json_set_str(w, "message", error->message);
        if (error->line > 0) {
            fa_json_set_int(w, "line", error->line);
            fa_json_set_int(w, "column", error->column);
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

static void copy_member(struct fa_json object, const char *name, struct fa_arena *arena, char *out,
                        size_t size)
{
    const char *text = fa_json_member_text(object, name, arena);

    if (text != NULL)
        snprintf(out, size, "%s", text);
}

static int int_member(struct fa_json object, const char *name)
{
    int64_t number = fa_json_member_int(object, name);

    return number > 0 && number < INT_MAX ? (int)number : 0;
}

/* The first field error tells the place. */
static void read_place(struct fa_json problem, struct fa_arena *arena, struct faina_error *out)
{
    struct fa_json errors, first;
    struct fa_json_iter it;

    if (!fa_json_member(problem, "errors", &errors) || errors.type != FA_JSON_ARRAY)
        return;
    it = fa_json_iter(errors);
    if (!fa_json_next(&it, NULL, &first) || first.type != FA_JSON_OBJECT)
        return;
    copy_member(first, "field", arena, out->field, sizeof(out->field));
    out->line = int_member(first, "line");
    out->column = int_member(first, "column");
}

bool fa_wire_read_problem(struct fa_json problem, struct fa_arena *arena, struct faina_error *out)
{
    char code[64] = "";
    int status;

    if (problem.type != FA_JSON_OBJECT)
        return false;
    status = int_member(problem, "status");
    copy_member(problem, "code", arena, code, sizeof(code));
    fa_error_clear(out);
    if (status < 400 || code[0] == '\0')
        return false;
    if (!fa_code_parse(code, &out->code) || out->code == FAINA_OK)
        out->code = fa_code_of_http(status);
    copy_member(problem, "detail", arena, out->message, sizeof(out->message));
    /* It may have been cut in the middle of a character. */
    out->message[fa_utf8_valid_length(fa_str(out->message))] = '\0';
    read_place(problem, arena, out);
    return true;
}

const char *fa_wire_nearest(const char *word, const char *const *names)
{
    return fa_nearest(word, names);
}

/* ------------------------------------------------------------------------------------------
 * A submit
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
    /* Writes the member, key and value, when it is set. NULL: another row writes it. */
    void (*put)(struct fa_json_writer *w, const struct field *field,
                const struct faina_submit *submit);
    size_t offset; /* of the text in struct faina_submit, for those that share a function */
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

static enum faina_code read_list(struct reader *r, const struct field *field, struct fa_json value,
                                 const char *const **out, size_t *out_count)
{
    return fa_json_texts(value, r->arena, out, out_count) ? FAINA_OK
                                                          : refuse(r, field, "an array of strings");
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

/* Payloads that are the value null, and not unset. */
static const struct {
    const char *name;
    size_t offset;
} payloads[] = {
    {"input", offsetof(struct faina_submit, input)},
    {"metadata", offsetof(struct faina_submit, metadata)},
    {"spec", offsetof(struct faina_submit, spec)},
};

static enum faina_code read_nulls(struct reader *r, const struct field *field, struct fa_json value)
{
    const char *const *names;
    size_t count;
    enum faina_code code = read_list(r, field, value, &names, &count);

    for (size_t i = 0; code == FAINA_OK && i < count; i++) {
        size_t k = 0;

        while (k < FA_COUNT(payloads) && strcmp(names[i], payloads[k].name) != 0)
            k++;
        if (k == FA_COUNT(payloads))
            return refuse(r, field, "some of input, metadata and spec");
        *(const char **)(void *)((char *)r->out + payloads[k].offset) = "null";
    }
    return code;
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

static const char *text_at(const struct field *field, const struct faina_submit *submit)
{
    return *(const char *const *)(const void *)((const char *)submit + field->offset);
}

static void put_text(struct fa_json_writer *w, const struct field *field,
                     const struct faina_submit *submit)
{
    if (text_at(field, submit))
        fa_json_set_str(w, field->name, text_at(field, submit));
}

static void put_json(struct fa_json_writer *w, const struct field *field,
                     const struct faina_submit *submit)
{
    if (!text_at(field, submit))
        return;
    fa_json_key(w, field->name);
    fa_json_put_raw(w, text_at(field, submit));
}

static void put_priority(struct fa_json_writer *w, const struct field *field,
                         const struct faina_submit *submit)
{
    if (submit->priority != 0)
        fa_json_set_int(w, field->name, submit->priority);
}

static void put_attempts(struct fa_json_writer *w, const struct field *field,
                         const struct faina_submit *submit)
{
    if (submit->max_attempts != 0)
        fa_json_set_int(w, field->name,
                        submit->max_attempts == FAINA_UNLIMITED ? 0 : submit->max_attempts);
}

static void put_duration(struct fa_json_writer *w, const char *name, int64_t ms)
{
    if (ms == 0)
        return;
    fa_json_key(w, name);
    fa_wire_put_duration(w, ms);
}

static void put_delay(struct fa_json_writer *w, const struct field *field,
                      const struct faina_submit *submit)
{
    put_duration(w, field->name, submit->delay_ms);
}

static void put_run_at(struct fa_json_writer *w, const struct field *field,
                       const struct faina_submit *submit)
{
    if (submit->run_at_us == 0)
        return;
    fa_json_key(w, field->name);
    fa_wire_put_time(w, submit->run_at_us);
}

static void put_dedupe(struct fa_json_writer *w, const struct field *field,
                       const struct faina_submit *submit)
{
    if (submit->dedupe_input)
        fa_json_set_str(w, field->name, "input");
}

static void put_depends_on(struct fa_json_writer *w, const struct field *field,
                           const struct faina_submit *submit)
{
    fa_json_opt_strs(w, field->name, submit->depends_on, submit->depends_on_count);
}

static void put_resources(struct fa_json_writer *w, const struct field *field,
                          const struct faina_submit *submit)
{
    fa_json_opt_strs(w, field->name, submit->resources, submit->resource_count);
}

static void put_retry(struct fa_json_writer *w, const struct field *field,
                      const struct faina_submit *submit)
{
    const struct faina_retry_policy *retry = &submit->retry;

    if (retry->base_ms == 0 && retry->factor == 0 && retry->max_ms == 0)
        return;
    fa_json_key(w, field->name);
    fa_json_begin_object(w);
    put_duration(w, "base", retry->base_ms);
    if (retry->factor != 0) {
        fa_json_key(w, "factor");
        fa_json_put_double(w, retry->factor);
    }
    put_duration(w, "max", retry->max_ms);
    fa_json_end_object(w);
}

static void put_nulls(struct fa_json_writer *w, const struct field *field,
                      const struct faina_submit *submit)
{
    const char *names[FA_COUNT(payloads)];
    size_t count = 0;

    for (size_t i = 0; i < FA_COUNT(payloads); i++) {
        const char *const *text = (const void *)((const char *)submit + payloads[i].offset);

        if (*text && fa_json_value(fa_str(*text)).type == FA_JSON_NULL)
            names[count++] = payloads[i].name;
    }
    fa_json_opt_strs(w, field->name, names, count);
}

#define TEXT(name, member)                                                                         \
    {                                                                                              \
        name, read_text, put_text, offsetof(struct faina_submit, member)                           \
    }
#define JSON(name, member)                                                                         \
    {                                                                                              \
        name, read_json, put_json, offsetof(struct faina_submit, member)                           \
    }

static const struct field fields[] = {
    TEXT("namespace", ns),
    TEXT("type", type),
    TEXT("name", name),
    JSON("input", input),
    JSON("metadata", metadata),
    JSON("spec", spec),
    {"priority", read_priority, put_priority, 0},
    {"maxAttempts", read_attempts, put_attempts, 0},
    {"maxRetries", read_attempts, NULL, 0},
    {"delay", read_delay, put_delay, 0},
    {"runAt", read_run_at, put_run_at, 0},
    TEXT("idempotencyKey", idempotency_key),
    {"dedupe", read_dedupe, put_dedupe, 0},
    {"dependsOn", read_depends_on, put_depends_on, 0},
    {"resources", read_resources, put_resources, 0},
    {"retry", read_retry, put_retry, 0},
    {"nulls", read_nulls, put_nulls, 0},
    TEXT("teamId", team_id),
    {"team_id", read_text, NULL, offsetof(struct faina_submit, team_id)},
    TEXT("createdBy", created_by),
};

static const char *const engine_fields[] = {
    "id",        "status",    "state",         "progress",       "output",
    "error",     "inputHash", "attempts",      "workerId",       "leaseExpiresAt",
    "fence",     "phase",     "parentId",      "expiresAt",      "version",
    "createdAt", "updatedAt", "claimedAt",     "startedAt",      "completedAt",
    "deletedAt", "existing",  "inputMismatch", "cancelledCount", "redacted",
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

enum faina_code fa_wire_read_submit_part(struct fa_json body, struct fa_arena *arena,
                                         struct faina_submit *out, struct faina_error *err)
{
    struct faina_submit submit = {0};
    struct reader r = {.arena = arena, .out = &submit, .err = err};
    struct fa_json_iter it;
    struct fa_bytes key;
    struct fa_json value;

    if (body.type != FA_JSON_OBJECT)
        return fa_error_set(err, FAINA_INVALID_REQUEST,
                            "a task must be a JSON object such as {\"type\":\"mail.send\"}");
    for (it = fa_json_iter(body); fa_json_next(&it, &key, &value);) {
        enum faina_code code = read_field(&r, key, value);

        /* Times and durations don't know what they are part of. */
        if (code == FAINA_INVALID_REQUEST) {
            code = FAINA_INVALID_TASK;
            if (err)
                err->code = code;
        }
        if (code != FAINA_OK)
            return code;
    }
    *out = submit;
    return FAINA_OK;
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
    fa_json_begin_object(w);
    for (size_t i = 0; i < FA_COUNT(fields); i++)
        if (fields[i].put)
            fields[i].put(w, &fields[i], submit);
    fa_json_end_object(w);
}
