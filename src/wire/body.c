/*
 * body.c - reading requests by table. The tables are in requests.c.
 */
#include "wire/body.h"

#include "base/nearest.h"
#include "model/limits.h"
#include "model/other_names.h"
#include "model/times.h"

#include <assert.h>
#include <stdio.h>

struct reader {
    const struct fa_shape *shape;
    const char *what;  /* names the object in errors */
    const char *outer; /* the member that this object is; NULL: it is the whole */
    struct fa_arena *arena;
    struct faina_error *err;
};

/* The name of a member in errors: "retry.base". */
static const char *path_of(const struct reader *r, const char *name)
{
    return r->outer ? fa_arena_printf(r->arena, "%s.%s", r->outer, name) : name;
}

static enum faina_code read_duration(const struct reader *r, const struct fa_field *field,
                                     struct fa_json value, int64_t *out)
{
    enum faina_code code = fa_body_duration(path_of(r, field->name), value, r->arena, out, r->err);

    if (code == FAINA_OK && *out == 0 && (field->flags & FA_FIELD_SOME_TIME))
        *out = 1;
    return code;
}

static enum faina_code refuse(const struct reader *r, const struct fa_field *field,
                              const char *what)
{
    const char *name = path_of(r, field->name);

    return fa_error_field(r->err, FAINA_INVALID_REQUEST, name, "%s must be %s", name, what);
}

enum faina_code fa_body_refuse(const struct fa_field *field, const char *what,
                               struct faina_error *err)
{
    return refuse(&(struct reader){.err = err}, field, what);
}

/* ------------------------------------------------------------------------------------------
 * Values
 */

enum faina_code fa_body_duration(const char *name, struct fa_json value, struct fa_arena *arena,
                                 int64_t *out_ms, struct faina_error *err)
{
    char *text;

    if (value.type == FA_JSON_STRING)
        text = fa_json_text(value, arena);
    else if (value.type == FA_JSON_NUMBER)
        text = fa_arena_copy(arena, value.raw.ptr, value.raw.len);
    else
        return fa_error_field(err, FAINA_INVALID_REQUEST, name,
                              "%s must be a duration such as \"90s\", or a number of seconds",
                              name);
    return fa_duration_parse(text, name, out_ms, err);
}

enum faina_code fa_body_when(const char *name, struct fa_json value, struct fa_arena *arena,
                             int64_t *out_ms, int64_t *out_us, struct faina_error *err)
{
    const char *text = value.type == FA_JSON_STRING ? fa_json_text(value, arena) : "";
    enum faina_code code;

    if (fa_text_is_time(text))
        return fa_time_parse(text, name, out_us, err);
    code = fa_body_duration(name, value, arena, out_ms, err);
    if (code == FAINA_OK && *out_ms == 0)
        *out_ms = 1; /* given, so it isn't unset */
    return code;
}

static enum faina_code read_int(const struct reader *r, const struct fa_field *field,
                                struct fa_json value, int64_t *out)
{
    const char *name = path_of(r, field->name);
    int64_t number;

    if (value.type != FA_JSON_NUMBER || !fa_json_int(value, &number) || number < field->min ||
        number > field->max)
        return fa_error_field(r->err, FAINA_INVALID_REQUEST, name,
                              "%s must be a whole number between %lld and %lld", name,
                              (long long)field->min, (long long)field->max);
    *out = number;
    return FAINA_OK;
}

/* INT, ATTEMPTS and RETRIES. */
static enum faina_code read_small_int(const struct reader *r, const struct fa_field *field,
                                      struct fa_json value, int *out)
{
    int64_t number;
    enum faina_code code = read_int(r, field, value, &number);

    if (code != FAINA_OK)
        return code;
    if (field->type == FA_FIELD_RETRIES)
        number = number < field->max ? number + 1 : number;
    *out = field->type == FA_FIELD_ATTEMPTS && number == 0 ? FAINA_UNLIMITED : (int)number;
    return FAINA_OK;
}

/* Texts that name payloads of the same object: those are the value null, and not unset. */
static enum faina_code read_nulls(const struct reader *r, const struct fa_field *field,
                                  struct fa_json value, char *out)
{
    const struct fa_field *fields = r->shape->fields;
    const char *const *names;
    size_t count;
    struct fa_buf allowed;
    enum faina_code code;

    if (!fa_json_texts(value, r->arena, &names, &count))
        return refuse(r, field, "an array of strings");
    for (size_t i = 0; i < count; i++) {
        size_t next = 0;
        const struct fa_field *payload = fa_shape_find(r->shape, fa_str(names[i]), &next);

        if (payload && payload->type == FA_FIELD_JSON) {
            *(const char **)(void *)(out + payload->offset) = "null";
            continue;
        }
        fa_buf_init(&allowed, 400);
        for (size_t k = 0; fields[k].name; k++)
            if (fields[k].type == FA_FIELD_JSON)
                fa_buf_printf(&allowed, "%s%s", allowed.len > 0 ? ", " : "an array of some of ",
                              fields[k].name);
        code = refuse(r, field, allowed.ptr);
        fa_buf_finish(&allowed);
        return code;
    }
    return FAINA_OK;
}

/* One of the words of an enum. */
static enum faina_code read_word(const struct reader *r, const struct fa_field *field,
                                 struct fa_json value, int *out)
{
    const char *text = value.type == FA_JSON_STRING ? fa_json_text(value, r->arena) : "";
    struct fa_buf words;
    enum faina_code code;

    fa_buf_init(&words, 200);
    for (int i = 0; field->word(i) != NULL; i++) {
        if (strcmp(text, field->word(i)) == 0) {
            *out = i;
            fa_buf_finish(&words);
            return FAINA_OK;
        }
        fa_buf_printf(&words, "%s\"%s\"", i > 0 ? ", " : "one of ", field->word(i));
    }
    code = refuse(r, field, words.ptr);
    fa_buf_finish(&words);
    return code;
}

static enum faina_code read_members(const struct reader *r, struct fa_json object, char *out);

static enum faina_code read_inner(const struct reader *r, const struct fa_field *field,
                                  struct fa_json value, char *place)
{
    const struct reader inner = {
        .shape = field->inner, .outer = field->name, .arena = r->arena, .err = r->err};

    if (value.type != FA_JSON_OBJECT)
        return refuse(r, field,
                      field->inner->example
                          ? fa_arena_printf(r->arena, "an object such as %s", field->inner->example)
                          : "an object");
    return read_members(&inner, value, place);
}

static enum faina_code read_value(const struct reader *r, const struct fa_field *field,
                                  struct fa_json value, char *out)
{
    void *place = out + field->offset;

    if (field->read)
        return field->read(field, value, r->arena, out, r->err);
    switch (field->type) {
    case FA_FIELD_TEXT:
        if (value.type == FA_JSON_NUMBER && (field->flags & FA_FIELD_KEY_SCOPE)) { /* seconds */
            *(const char **)place = fa_arena_copy(r->arena, value.raw.ptr, value.raw.len);
            return FAINA_OK;
        }
        if (value.type != FA_JSON_STRING)
            return refuse(r, field, "a string");
        *(const char **)place = fa_json_text(value, r->arena);
        return FAINA_OK;
    case FA_FIELD_JSON:
        *(const char **)place = fa_arena_copy(r->arena, value.raw.ptr, value.raw.len);
        return FAINA_OK;
    case FA_FIELD_BOOL:
        if (value.type != FA_JSON_TRUE && value.type != FA_JSON_FALSE)
            return refuse(r, field, "true or false");
        *(bool *)place = value.type == FA_JSON_TRUE;
        return FAINA_OK;
    case FA_FIELD_SWITCH:
        if (value.type != FA_JSON_STRING ||
            strcmp(fa_json_text(value, r->arena), field->word(0)) != 0)
            return refuse(r, field, fa_arena_printf(r->arena, "\"%s\"", field->word(0)));
        *(bool *)place = true;
        return FAINA_OK;
    case FA_FIELD_ENUM:
        return read_word(r, field, value, place);
    case FA_FIELD_INT:
    case FA_FIELD_ATTEMPTS:
    case FA_FIELD_RETRIES:
        return read_small_int(r, field, value, place);
    case FA_FIELD_LIMIT:
        *(int64_t *)place = -1;
        return value.type == FA_JSON_NULL ? FAINA_OK : read_int(r, field, value, place);
    case FA_FIELD_INT64:
        return read_int(r, field, value, place);
    case FA_FIELD_DOUBLE:
        return value.type == FA_JSON_NUMBER && fa_json_double(value, place)
                   ? FAINA_OK
                   : refuse(r, field, "a number");
    case FA_FIELD_DURATION:
        return read_duration(r, field, value, place);
    case FA_FIELD_TIME:
        if (value.type != FA_JSON_STRING)
            return refuse(r, field, "a time such as \"2030-01-31T12:00:00Z\"");
        return fa_time_parse(fa_json_text(value, r->arena), path_of(r, field->name), place, r->err);
    case FA_FIELD_WHEN:
        return fa_body_when(path_of(r, field->name), value, r->arena, place,
                            (int64_t *)(void *)(out + field->count), r->err);
    case FA_FIELD_TEXTS:
        return fa_json_texts(value, r->arena, place, (size_t *)(void *)(out + field->count))
                   ? FAINA_OK
                   : refuse(r, field, "an array of strings");
    case FA_FIELD_ONE:
        return read_inner(r, field, value, place);
    case FA_FIELD_NULLS:
        return read_nulls(r, field, value, out);
    case FA_FIELD_OWN:
    case FA_FIELD_ID:
    case FA_FIELD_SIZE:
    case FA_FIELD_LIST:
        break;
    }
    assert(!"a type that only answers have");
    return FAINA_INTERNAL;
}

/* ------------------------------------------------------------------------------------------
 * Objects
 */

/* Whether the engine has a member of this name, which a request can't set. */
static bool is_stored(const struct fa_shape *shape, const char *key)
{
    size_t next = 0;

    return shape->stored && fa_shape_find(shape->stored, fa_str(key), &next);
}

/* A name of the specification documents. The error names ours: a member of the request, or one that
 * only the engine sets. OK: it is no such name. */
static enum faina_code refuse_other_name(const struct reader *r, const char *key, const char *path)
{
    const char *ours;

    for (size_t i = 0; (ours = fa_other_member(key, i)) != NULL; i++) {
        const struct fa_field *field;
        size_t next = 0;

        field = fa_shape_find(r->shape, fa_str(ours), &next);
        if (field && fa_shape_has(r->shape, field))
            return fa_error_field(r->err, FAINA_INVALID_REQUEST, path,
                                  "unknown field \"%s\"; its name here is \"%s\"", path, ours);
        if (is_stored(r->shape, ours))
            return fa_error_field(r->err, FAINA_INVALID_REQUEST, path,
                                  "%s, whose name here is %s, is set by the engine and can't be "
                                  "given",
                                  path, ours);
    }
    return FAINA_OK;
}

static enum faina_code refuse_name(const struct reader *r, const char *key)
{
    const char *names[64 + 1] = {NULL};
    const char *path = path_of(r, key);
    const char *nearest;
    enum faina_code code;
    size_t count = 0;

    if (is_stored(r->shape, key))
        return fa_error_field(r->err, FAINA_INVALID_REQUEST, path,
                              "%s is set by the engine and can't be given", path);
    if (strlen(key) > FA_NEAREST_SIZE_MAX) /* too long to be repeated */
        return fa_error_set(r->err, FAINA_INVALID_REQUEST,
                            "the %s has an unknown field with a name of %zu bytes",
                            r->outer ? r->outer : r->what, strlen(key));
    code = refuse_other_name(r, key, path);
    if (code != FAINA_OK)
        return code;
    for (const struct fa_field *field = r->shape->fields; field && field->name; field++)
        if (fa_shape_has(r->shape, field))
            names[count++] = field->name;
    assert(count < FA_COUNT(names));
    nearest = fa_nearest(key, names);
    if (nearest)
        return fa_error_field(r->err, FAINA_INVALID_REQUEST, path,
                              "unknown field \"%s\"; did you mean \"%s\"?", path, nearest);
    return fa_error_field(r->err, FAINA_INVALID_REQUEST, path, "unknown field \"%s\"", path);
}

/* Two names of one member can't be given together. `given` has a bit for each row. */
static enum faina_code check_alias(const struct reader *r, const struct fa_field *field,
                                   uint64_t *given)
{
    size_t row = (size_t)(field - r->shape->fields);
    uint64_t others = 0;

    if (field->flags & FA_FIELD_ALIAS)
        others = (uint64_t)1 << (row - 1);
    else if (field[1].name && (field[1].flags & FA_FIELD_ALIAS))
        others = (uint64_t)1 << (row + 1);
    *given |= (uint64_t)1 << row;
    if (!(*given & others))
        return FAINA_OK;
    if (!(field->flags & FA_FIELD_ALIAS))
        field++;
    return fa_error_field(r->err, FAINA_INVALID_REQUEST, field->name, "give %s or %s, not both",
                          field[-1].name, field->name);
}

static enum faina_code read_member(const struct reader *r, const struct fa_field *field,
                                   struct fa_json value, char *out, uint64_t *given)
{
    enum faina_code code;

    if (value.type == FA_JSON_NULL && field->type != FA_FIELD_LIMIT)
        return FAINA_OK;
    code = check_alias(r, field, given);
    if (code == FAINA_OK)
        code = read_value(r, field, value, out);
    if (code == FAINA_OK && (field->flags & FA_FIELD_HAS))
        *(bool *)(void *)(out + field->count) = true;
    return code;
}

static enum faina_code read_members(const struct reader *r, struct fa_json object, char *out)
{
    enum faina_code refusal = r->shape->refusal ? r->shape->refusal : FAINA_INVALID_REQUEST;
    struct fa_json_iter it;
    struct fa_bytes raw;
    struct fa_json value;
    uint64_t given = 0;
    size_t next = 0;

    for (it = fa_json_iter(object); fa_json_next(&it, &raw, &value);) {
        const struct fa_field *field = fa_shape_find(r->shape, raw, &next);
        enum faina_code code;

        if (!field) {
            const char *key = fa_json_unescape(raw, r->arena);

            field = fa_shape_find(r->shape, fa_str(key), &next);
            code = field ? read_member(r, field, value, out, &given) : refuse_name(r, key);
        } else {
            code = read_member(r, field, value, out, &given);
        }
        if (code == FAINA_INVALID_REQUEST) {
            code = refusal;
            if (r->err)
                r->err->code = code;
        }
        if (code != FAINA_OK)
            return code;
    }
    return FAINA_OK;
}

enum faina_code fa_body_read_object(struct fa_json object, const char *what,
                                    const struct fa_shape *shape, struct fa_arena *arena, void *out,
                                    struct faina_error *err)
{
    const struct reader r = {.shape = shape, .what = what, .arena = arena, .err = err};

    if (object.type == FA_JSON_OBJECT)
        return read_members(&r, object, out);
    if (shape->example)
        return fa_error_set(err, FAINA_INVALID_REQUEST, "a %s must be a JSON object such as %s",
                            what, shape->example);
    return fa_error_set(err, FAINA_INVALID_REQUEST, "the %s must be a JSON object", what);
}

enum faina_code fa_body_read(struct fa_bytes text, const struct fa_shape *shape,
                             struct fa_arena *arena, void *out, struct faina_error *err)
{
    enum faina_code code;

    if (text.len == 0)
        return FAINA_OK;
    /* Payloads may be nested as deeply as their limit says, inside an item of a list of a body. */
    code = fa_json_check(text, FA_JSON_DEPTH_MAX + 5, "body", FAINA_INVALID_REQUEST, err);
    if (code != FAINA_OK)
        return code;
    return fa_body_read_object(fa_json_value(text), "body", shape, arena, out, err);
}
