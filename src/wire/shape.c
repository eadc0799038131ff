/*
 * shape.c - writing and reading objects by table.
 *
 * Servers write members in the order of the table, so the row of a member is looked for right after
 * the row of the one before: one comparison for each, as a rule.
 */
#include "service/shape.h"

#include "model/times.h"

#include <assert.h>
#include <limits.h>

/* ------------------------------------------------------------------------------------------
 * Writing
 */

static void put_time(struct fa_json_writer *w, int64_t us)
{
    char text[FA_TIME_SIZE];

    if (us == 0) {
        fa_json_put_null(w);
        return;
    }
    fa_time_format(us, text);
    fa_json_put_str(w, text);
}

static void put_list(struct fa_json_writer *w, const struct fa_shape_field *field,
                     const char *items, size_t count)
{
    fa_json_begin_array(w);
    for (size_t i = 0; i < count; i++)
        fa_shape_put(w, field->inner, items + i * field->size);
    fa_json_end_array(w);
}

static size_t count_of(const struct fa_shape_field *field, const char *from)
{
    return *(const size_t *)(const void *)(from + field->count);
}

static void put_value(struct fa_json_writer *w, const struct fa_shape_field *field,
                      const char *from)
{
    const void *place = from + field->offset;
    const char *const *text = place;

    switch (field->type) {
    case FA_SHAPE_ID:
    case FA_SHAPE_KEY:
        fa_json_put_str(w, *(const char *)place ? place : NULL);
        return;
    case FA_SHAPE_TEXT:
    case FA_SHAPE_WORD:
        fa_json_put_str(w, *text);
        return;
    case FA_SHAPE_JSON:
        fa_json_put_raw(w, *text);
        return;
    case FA_SHAPE_BOOL:
    case FA_SHAPE_FLAG:
        fa_json_put_bool(w, *(const bool *)place);
        return;
    case FA_SHAPE_INT:
        fa_json_put_int(w, *(const int *)place);
        return;
    case FA_SHAPE_INT64:
    case FA_SHAPE_SOME:
        fa_json_put_int(w, *(const int64_t *)place);
        return;
    case FA_SHAPE_SIZE:
        fa_json_put_int(w, (int64_t) * (const size_t *)place);
        return;
    case FA_SHAPE_TIME:
        put_time(w, *(const int64_t *)place);
        return;
    case FA_SHAPE_TEXTS:
        fa_json_put_strs(w, *(const char *const *const *)place, count_of(field, from));
        return;
    case FA_SHAPE_NAMES:
        if (*(const char *const *const *)place)
            fa_json_put_strs(w, *(const char *const *const *)place, count_of(field, from));
        else
            fa_json_put_null(w);
        return;
    case FA_SHAPE_LIST:
        put_list(w, field, *(const char *const *)place, count_of(field, from));
        return;
    case FA_SHAPE_ONE:
        fa_shape_put(w, field->inner, place);
        return;
    case FA_SHAPE_OWN:
        field->put(w, place);
        return;
    case FA_SHAPE_NULLS:
        break;
    }
    assert(!"a member of no known type");
}

/* The JSON value null, which looks like nothing when it is written. */
static bool is_null(const struct fa_shape_field *field, const char *from)
{
    const char *const *text = (const void *)(from + field->offset);

    return field->type == FA_SHAPE_JSON && *text &&
           fa_json_value(fa_str(*text)).type == FA_JSON_NULL;
}

static void put_nulls(struct fa_json_writer *w, const char *key, const struct fa_shape *shape,
                      const char *from)
{
    bool has_begun = false;

    for (size_t i = 0; i < shape->field_count; i++) {
        if (!is_null(&shape->fields[i], from))
            continue;
        if (!has_begun) {
            fa_json_key(w, key);
            fa_json_begin_array(w);
        }
        has_begun = true;
        fa_json_put_str(w, shape->fields[i].name);
    }
    if (has_begun)
        fa_json_end_array(w);
}

static bool is_left_out(const struct fa_shape_field *field, const void *place)
{
    return field->type == FA_SHAPE_NULLS ||
           (field->type == FA_SHAPE_FLAG && !*(const bool *)place) ||
           (field->type == FA_SHAPE_SOME && *(const int64_t *)place == 0);
}

void fa_shape_put_members(struct fa_json_writer *w, const struct fa_shape *shape, const void *from)
{
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct fa_shape_field *field = &shape->fields[i];

        if (field->type == FA_SHAPE_NULLS)
            put_nulls(w, field->name, shape, from);
        if (is_left_out(field, (const char *)from + field->offset))
            continue;
        fa_json_key(w, field->name);
        put_value(w, field, from);
    }
}

void fa_shape_put(struct fa_json_writer *w, const struct fa_shape *shape, const void *from)
{
    fa_json_begin_object(w);
    fa_shape_put_members(w, shape, from);
    fa_json_end_object(w);
}

/* ------------------------------------------------------------------------------------------
 * Reading
 */

static bool read_id(struct fa_json value, struct fa_arena *arena, char *place)
{
    const char *text = value.type == FA_JSON_STRING ? fa_json_text(value, arena) : NULL;

    if (!text || strlen(text) >= FAINA_ID_SIZE)
        return false;
    memcpy(place, text, strlen(text) + 1);
    return true;
}

static bool read_int(struct fa_json value, int64_t min, int64_t max, int64_t *out)
{
    return value.type == FA_JSON_NUMBER && fa_json_int(value, out) && *out >= min && *out <= max;
}

static bool read_time(struct fa_json value, struct fa_arena *arena, int64_t *out)
{
    return value.type == FA_JSON_STRING &&
           fa_time_parse(fa_json_text(value, arena), "time", out, NULL) == FAINA_OK;
}

static bool read_number(const struct fa_shape_field *field, struct fa_json value, void *place)
{
    int64_t number;
    bool is_int = field->type == FA_SHAPE_INT;

    if (!read_int(value,
                  is_int                         ? INT_MIN
                  : field->type == FA_SHAPE_SIZE ? 0
                                                 : INT64_MIN,
                  is_int ? INT_MAX : INT64_MAX, &number))
        return false;
    if (is_int)
        *(int *)place = (int)number;
    else if (field->type == FA_SHAPE_SIZE)
        *(size_t *)place = (size_t)number;
    else
        *(int64_t *)place = number;
    return true;
}

/* Everything but lists and objects. */
static bool read_plain(const struct fa_shape_field *field, struct fa_json value,
                       struct fa_arena *arena, char *out)
{
    void *place = out + field->offset;

    switch ((int)field->type) {
    case FA_SHAPE_ID:
    case FA_SHAPE_KEY:
        return read_id(value, arena, place);
    case FA_SHAPE_TEXT:
    case FA_SHAPE_WORD:
        if (value.type != FA_JSON_STRING)
            return false;
        *(const char **)place = fa_json_text(value, arena);
        return true;
    case FA_SHAPE_JSON:
        *(const char **)place = fa_arena_copy(arena, value.raw.ptr, value.raw.len);
        return true;
    case FA_SHAPE_BOOL:
    case FA_SHAPE_FLAG:
        *(bool *)place = value.type == FA_JSON_TRUE;
        return value.type == FA_JSON_TRUE || value.type == FA_JSON_FALSE;
    case FA_SHAPE_TIME:
        return read_time(value, arena, place);
    case FA_SHAPE_TEXTS:
    case FA_SHAPE_NAMES:
        return fa_json_texts(value, arena, place, (size_t *)(void *)(out + field->count));
    case FA_SHAPE_OWN:
        return field->read(value, arena, place);
    default:
        return read_number(field, value, place);
    }
}

static bool read_nulls(const struct fa_shape *shape, struct fa_json names, struct fa_arena *arena,
                       char *out)
{
    const char *const *texts;
    size_t count;

    if (!fa_json_texts(names, arena, &texts, &count))
        return false;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < shape->field_count; k++)
            if (shape->fields[k].type == FA_SHAPE_JSON &&
                strcmp(shape->fields[k].name, texts[i]) == 0)
                *(const char **)(void *)(out + shape->fields[k].offset) = "null";
    return true;
}

static enum faina_code read_value(const struct fa_shape *shape, const struct fa_shape_field *field,
                                  struct fa_json value, struct fa_arena *arena, char *out,
                                  struct faina_error *err)
{
    void *place = out + field->offset;

    if (field->type == FA_SHAPE_LIST)
        return fa_shape_read_list(value, field->inner, field->size, arena, place,
                                  (size_t *)(void *)(out + field->count), err);
    if (field->type == FA_SHAPE_ONE)
        return fa_shape_read(value, field->inner, arena, place, err);
    if (field->type == FA_SHAPE_NULLS ? read_nulls(shape, value, arena, out)
                                      : read_plain(field, value, arena, out))
        return FAINA_OK;
    return fa_error_set(err, FAINA_INTERNAL, "the %s's %s makes no sense: %.*s", shape->what,
                        field->name, value.raw.len > 60 ? 60 : (int)value.raw.len, value.raw.ptr);
}

/* The row of a member; `next` is where to begin. */
static const struct fa_shape_field *find(const struct fa_shape *shape, struct fa_bytes key,
                                         size_t *next)
{
    for (size_t i = 0; i < shape->field_count; i++) {
        size_t at = *next + i;
        const struct fa_shape_field *field;

        if (at >= shape->field_count)
            at -= shape->field_count;
        field = &shape->fields[at];
        if (fa_bytes_equal(key, fa_str(field->name))) {
            *next = at + 1 < shape->field_count ? at + 1 : 0;
            return field;
        }
    }
    return NULL;
}

static bool is_needed(const struct fa_shape_field *field)
{
    return field->type == FA_SHAPE_KEY || field->type == FA_SHAPE_WORD ||
           field->type == FA_SHAPE_LIST || field->type == FA_SHAPE_ONE;
}

static enum faina_code check_needed(const struct fa_shape *shape, uint64_t seen,
                                    struct faina_error *err)
{
    for (size_t i = 0; i < shape->field_count; i++)
        if (is_needed(&shape->fields[i]) && !(seen >> i & 1))
            return fa_error_set(err, FAINA_INTERNAL, "the %s has no %s", shape->what,
                                shape->fields[i].name);
    return FAINA_OK;
}

enum faina_code fa_shape_read(struct fa_json object, const struct fa_shape *shape,
                              struct fa_arena *arena, void *out, struct faina_error *err)
{
    struct fa_json_iter it;
    struct fa_bytes key;
    struct fa_json value;
    uint64_t seen = 0; /* rows */
    size_t next = 0;

    assert(shape->field_count <= 64);
    if (object.type != FA_JSON_OBJECT)
        return fa_error_set(err, FAINA_INTERNAL, "the %s is no object", shape->what);
    for (it = fa_json_iter(object); fa_json_next(&it, &key, &value);) {
        const struct fa_shape_field *field = find(shape, key, &next);
        enum faina_code code;

        if (!field || (value.type == FA_JSON_NULL && field->type != FA_SHAPE_OWN))
            continue;
        code = read_value(shape, field, value, arena, out, err);
        if (code != FAINA_OK)
            return code;
        seen |= (uint64_t)1 << (field - shape->fields);
    }
    return check_needed(shape, seen, err);
}

enum faina_code fa_shape_read_list(struct fa_json array, const struct fa_shape *shape, size_t size,
                                   struct fa_arena *arena, void **items, size_t *count,
                                   struct faina_error *err)
{
    struct fa_json_iter it;
    struct fa_json item;
    char *list = NULL;
    size_t room = 0;

    if (array.type != FA_JSON_ARRAY)
        return fa_error_set(err, FAINA_INTERNAL, "the list of %ss is no array", shape->what);
    *count = 0;
    for (it = fa_json_iter(array); fa_json_next(&it, NULL, &item); ++*count) {
        enum faina_code code;

        list = fa_arena_grow(arena, list, *count, &room, size);
        code = fa_shape_read(item, shape, arena, list + *count * size, err);
        if (code != FAINA_OK)
            return code;
    }
    *items = list ? list : fa_arena_zero(arena, 1, size);
    return FAINA_OK;
}
