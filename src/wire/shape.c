/*
 * shape.c - writing and reading objects by table.
 *
 * Servers write members in the order of the table, so the row of a member is searched for right
 * after the row of the one before: one comparison for each, as a rule.
 */
#include "wire/shape.h"

#include "model/times.h"
#include "wire/body.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>

static_assert(sizeof(enum faina_status) == sizeof(int), "an enum is read and written as an int");

/* ------------------------------------------------------------------------------------------
 * Writing
 */

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

void fa_wire_put_duration(struct fa_json_writer *w, int64_t ms)
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
    fa_json_put_str(w, text);
}

static size_t count_of(const struct fa_field *field, const char *from)
{
    return *(const size_t *)(const void *)(from + field->count);
}

/* The time of a WHEN. */
static int64_t when_time(const struct fa_field *field, const char *from)
{
    return *(const int64_t *)(const void *)(from + field->count);
}

/* The JSON value null, which an object that is written can't tell from unset. */
static bool is_null(const struct fa_field *field, const char *from)
{
    const char *const *text = (const void *)(from + field->offset);

    return field->type == FA_FIELD_JSON && !(field->flags & FA_FIELD_ALIAS) && *text &&
           fa_json_value(fa_str(*text)).type == FA_JSON_NULL;
}

static bool has_nulls(const struct fa_shape *shape, const char *from)
{
    for (const struct fa_field *field = shape->fields; field->name; field++)
        if (is_null(field, from))
            return true;
    return false;
}

static bool has_members(const struct fa_shape *shape, const char *from);

static bool is_set(const struct fa_shape *shape, const struct fa_field *field, const char *from)
{
    const void *place = from + field->offset;

    if (field->flags & FA_FIELD_HAS && *(const bool *)(const void *)(from + field->count))
        return true;
    if (field->flags & FA_FIELD_HAS && field->type != FA_FIELD_INT)
        return false; /* an INT that isn't 0 is set, too */
    switch (field->type) {
    case FA_FIELD_ID:
        return *(const char *)place != '\0';
    case FA_FIELD_TEXT:
    case FA_FIELD_JSON:
    case FA_FIELD_TEXTS:
    case FA_FIELD_LIST:
        return *(const void *const *)place != NULL;
    case FA_FIELD_BOOL:
    case FA_FIELD_SWITCH:
        return *(const bool *)place;
    case FA_FIELD_INT:
    case FA_FIELD_ATTEMPTS:
        return *(const int *)place != 0;
    case FA_FIELD_INT64:
    case FA_FIELD_DURATION:
    case FA_FIELD_TIME:
        return *(const int64_t *)place != 0;
    case FA_FIELD_SIZE:
        return *(const size_t *)place != 0;
    case FA_FIELD_DOUBLE:
        return *(const double *)place != 0;
    case FA_FIELD_WHEN:
        return *(const int64_t *)place != 0 || when_time(field, from) != 0;
    case FA_FIELD_ONE:
        return has_members(field->inner, place);
    case FA_FIELD_NULLS:
        return has_nulls(shape, from);
    case FA_FIELD_RETRIES:
        return false;
    case FA_FIELD_LIMIT:
    case FA_FIELD_ENUM: /* the first word is the default */
        return !shape->is_request || *(const int *)place != 0;
    case FA_FIELD_OWN:
        return true;
    }
    return true;
}

static bool is_written(const struct fa_shape *shape, const struct fa_field *field, const char *from)
{
    if (!fa_shape_has(shape, field) || (field->flags & FA_FIELD_ALIAS))
        return false;
    if (shape->is_request || (field->flags & FA_FIELD_OMIT) || field->type == FA_FIELD_NULLS)
        return is_set(shape, field, from);
    return true;
}

static bool has_members(const struct fa_shape *shape, const char *from)
{
    for (const struct fa_field *field = shape->fields; field->name; field++)
        if (is_written(shape, field, from))
            return true;
    return false;
}

static void put_list(struct fa_json_writer *w, const struct fa_field *field, const char *items,
                     size_t count)
{
    fa_json_begin_array(w);
    for (size_t i = 0; i < count; i++)
        fa_shape_put(w, field->inner, items + i * field->size);
    fa_json_end_array(w);
}

static void put_nulls(struct fa_json_writer *w, const struct fa_shape *shape, const char *from)
{
    fa_json_begin_array(w);
    for (const struct fa_field *field = shape->fields; field->name; field++)
        if (is_null(field, from))
            fa_json_put_str(w, field->name);
    fa_json_end_array(w);
}

static void put_int(struct fa_json_writer *w, const struct fa_field *field, int value)
{
    if (field->type == FA_FIELD_ENUM)
        fa_json_put_str(w, field->word(value));
    else if (field->type == FA_FIELD_ATTEMPTS && value == FAINA_UNLIMITED)
        fa_json_put_int(w, 0);
    else
        fa_json_put_int(w, value);
}

static void put_int64(struct fa_json_writer *w, const struct fa_field *field, int64_t value)
{
    if (field->type == FA_FIELD_TIME)
        fa_wire_put_time(w, value);
    else if (field->type == FA_FIELD_LIMIT
                 ? value < 0
                 : field->type == FA_FIELD_DURATION && value == 0 && !(field->flags & FA_FIELD_HAS))
        fa_json_put_null(w);
    else if (field->type == FA_FIELD_DURATION)
        fa_wire_put_duration(w, value);
    else
        fa_json_put_int(w, value);
}

static void put_value(struct fa_json_writer *w, const struct fa_shape *shape,
                      const struct fa_field *field, const char *from)
{
    const void *place = from + field->offset;
    const char *const *text = place;

    switch (field->type) {
    case FA_FIELD_ID:
        fa_json_put_str(w, *(const char *)place ? place : NULL);
        return;
    case FA_FIELD_TEXT:
        fa_json_put_str(w, *text);
        return;
    case FA_FIELD_JSON:
        fa_json_put_raw(w, *text);
        return;
    case FA_FIELD_BOOL:
        fa_json_put_bool(w, *(const bool *)place);
        return;
    case FA_FIELD_SWITCH:
        fa_json_put_str(w, *(const bool *)place ? field->word(0) : NULL);
        return;
    case FA_FIELD_INT:
    case FA_FIELD_ATTEMPTS:
    case FA_FIELD_ENUM:
        put_int(w, field, *(const int *)place);
        return;
    case FA_FIELD_INT64:
    case FA_FIELD_LIMIT:
    case FA_FIELD_DURATION:
    case FA_FIELD_TIME:
        put_int64(w, field, *(const int64_t *)place);
        return;
    case FA_FIELD_WHEN:
        if (when_time(field, from) != 0)
            fa_wire_put_time(w, when_time(field, from));
        else
            fa_wire_put_duration(w, *(const int64_t *)place);
        return;
    case FA_FIELD_SIZE:
        fa_json_put_int(w, (int64_t) * (const size_t *)place);
        return;
    case FA_FIELD_DOUBLE:
        fa_json_put_double(w, *(const double *)place);
        return;
    case FA_FIELD_TEXTS:
        if (*(const char *const *const *)place || (field->flags & FA_FIELD_REQUIRED))
            fa_json_put_strs(w, *(const char *const *const *)place, count_of(field, from));
        else
            fa_json_put_null(w);
        return;
    case FA_FIELD_LIST:
        put_list(w, field, *(const char *const *)place, count_of(field, from));
        return;
    case FA_FIELD_ONE:
        fa_shape_put(w, field->inner, place);
        return;
    case FA_FIELD_NULLS:
        put_nulls(w, shape, from);
        return;
    case FA_FIELD_OWN:
        field->put(w, from);
        return;
    case FA_FIELD_RETRIES:
        break;
    }
    assert(!"a member that is never written");
}

void fa_shape_put_members(struct fa_json_writer *w, const struct fa_shape *shape, const void *from)
{
    for (const struct fa_field *field = shape->fields; field->name; field++) {
        if (!is_written(shape, field, from))
            continue;
        fa_json_key(w, field->name);
        put_value(w, shape, field, from);
    }
}

struct fa_shape_items fa_shape_items(const struct fa_shape *list, const void *from)
{
    const struct fa_field *row = &list->fields[0];
    const char *place = from;

    assert(row->type == FA_FIELD_LIST);
    return (struct fa_shape_items){.shape = row->inner,
                                   .at = *(const char *const *)(place + row->offset),
                                   .size = row->size,
                                   .count = *(const size_t *)(place + row->count)};
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

const struct fa_field *fa_shape_find(const struct fa_shape *shape, struct fa_bytes key,
                                     size_t *next)
{
    const struct fa_field *start = shape->fields ? shape->fields + *next : NULL;
    const struct fa_field *field = start;

    if (!start)
        return NULL;
    do {
        if (!field->name) {
            field = shape->fields;
            continue;
        }
        if (fa_bytes_equal(key, fa_str(field->name)) && fa_shape_has(shape, field)) {
            *next = (size_t)(field - shape->fields) + 1;
            return field;
        }
        field++;
    } while (field != start);
    return NULL;
}

static bool read_id(struct fa_json value, struct fa_arena *arena, char *place)
{
    const char *text = value.type == FA_JSON_STRING ? fa_json_text(value, arena) : NULL;

    if (!text || strlen(text) >= FAINA_ID_SIZE)
        return false;
    memcpy(place, text, strlen(text) + 1);
    return true;
}

static bool read_word(const struct fa_field *field, struct fa_json value, struct fa_arena *arena,
                      int *place)
{
    const char *text = value.type == FA_JSON_STRING ? fa_json_text(value, arena) : "";

    for (int i = 0; field->word(i); i++) {
        if (strcmp(field->word(i), text) == 0) {
            *place = i;
            return true;
        }
    }
    return false;
}

static bool read_number(const struct fa_field *field, struct fa_json value, void *place)
{
    int64_t number;

    if (value.type != FA_JSON_NUMBER || !fa_json_int(value, &number))
        return false;
    if (field->type == FA_FIELD_SIZE) {
        *(size_t *)place = (size_t)number;
        return number >= 0;
    }
    if (field->type == FA_FIELD_INT) {
        *(int *)place = (int)number;
        return number >= INT_MIN && number <= INT_MAX;
    }
    assert(field->type == FA_FIELD_INT64 || field->type == FA_FIELD_LIMIT);
    *(int64_t *)place = number;
    return true;
}

static bool read_nulls(const struct fa_shape *shape, struct fa_json names, struct fa_arena *arena,
                       char *out)
{
    const char *const *texts;
    size_t count, next = 0;

    if (!fa_json_texts(names, arena, &texts, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct fa_field *field = fa_shape_find(shape, fa_str(texts[i]), &next);

        if (field && field->type == FA_FIELD_JSON)
            *(const char **)(void *)(out + field->offset) = "null";
    }
    return true;
}

/* Everything but lists and objects. */
static bool read_plain(const struct fa_shape *shape, const struct fa_field *field,
                       struct fa_json value, struct fa_arena *arena, char *out)
{
    void *place = out + field->offset;

    switch ((int)field->type) {
    case FA_FIELD_ID:
        return read_id(value, arena, place);
    case FA_FIELD_TEXT:
        if (value.type != FA_JSON_STRING)
            return false;
        *(const char **)place = fa_json_text(value, arena);
        return true;
    case FA_FIELD_JSON:
        *(const char **)place = fa_arena_copy(arena, value.raw.ptr, value.raw.len);
        return true;
    case FA_FIELD_BOOL:
        *(bool *)place = value.type == FA_JSON_TRUE;
        return value.type == FA_JSON_TRUE || value.type == FA_JSON_FALSE;
    case FA_FIELD_DOUBLE:
        return value.type == FA_JSON_NUMBER && fa_json_double(value, place);
    case FA_FIELD_DURATION:
        return fa_body_duration(field->name, value, arena, place, NULL) == FAINA_OK;
    case FA_FIELD_TIME:
        return value.type == FA_JSON_STRING &&
               fa_time_parse(fa_json_text(value, arena), "time", place, NULL) == FAINA_OK;
    case FA_FIELD_ENUM:
        return read_word(field, value, arena, place);
    case FA_FIELD_TEXTS:
        return fa_json_texts(value, arena, place, (size_t *)(void *)(out + field->count));
    case FA_FIELD_NULLS:
        return read_nulls(shape, value, arena, out);
    case FA_FIELD_OWN:
        return field->read(field, value, arena, out, NULL) == FAINA_OK;
    default:
        return read_number(field, value, place);
    }
}

static enum faina_code read_value(const struct fa_shape *shape, const struct fa_field *field,
                                  struct fa_json value, struct fa_arena *arena, char *out,
                                  struct faina_error *err)
{
    void *place = out + field->offset;

    if (field->type == FA_FIELD_LIST)
        return fa_shape_read_list(value, field->inner, field->size, arena, place,
                                  (size_t *)(void *)(out + field->count), err);
    if (field->type == FA_FIELD_ONE)
        return fa_shape_read(value, field->inner, arena, place, err);
    if (read_plain(shape, field, value, arena, out))
        return FAINA_OK;
    return fa_error_set(err, FAINA_INTERNAL, "the %s's %s is invalid: %.*s", shape->what,
                        field->name, value.raw.len > 60 ? 60 : (int)value.raw.len, value.raw.ptr);
}

static bool is_needed(const struct fa_field *field)
{
    if (field->type == FA_FIELD_ID || field->type == FA_FIELD_TEXT)
        return field->flags & FA_FIELD_REQUIRED;
    return field->type == FA_FIELD_LIST || field->type == FA_FIELD_ONE;
}

static enum faina_code check_needed(const struct fa_shape *shape, uint64_t seen,
                                    struct faina_error *err)
{
    for (size_t i = 0; shape->fields[i].name; i++)
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

    if (object.type != FA_JSON_OBJECT)
        return fa_error_set(err, FAINA_INTERNAL, "the %s is no object", shape->what);
    for (it = fa_json_iter(object); fa_json_next(&it, &key, &value);) {
        const struct fa_field *field = fa_shape_find(shape, key, &next);
        enum faina_code code;

        if (field && field->type == FA_FIELD_LIMIT && value.type == FA_JSON_NULL)
            *(int64_t *)(void *)((char *)out + field->offset) = -1;
        if (!field || value.type == FA_JSON_NULL)
            continue;
        code = read_value(shape, field, value, arena, out, err);
        if (code != FAINA_OK)
            return code;
        assert(field - shape->fields < 64);
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
