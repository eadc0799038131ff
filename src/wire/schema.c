/* schema.c - see schema.h. */
#include "wire/schema.h"

#include <assert.h>
#include <stdio.h>

/* ------------------------------------------------------------------------------------------
 * Walking
 */

/* The members of the base, then its own. */
typedef void visit_fn(void *context, const struct fa_shape *shape, const struct fa_field *field);

static void visit(const struct fa_shape *shape, visit_fn *call, void *context)
{
    if (shape->base)
        visit(shape->base, call, context);
    for (const struct fa_field *field = shape->fields; field && field->name; field++)
        if (shape->only == 0 || (field->flags & shape->only))
            call(context, shape, field);
}

static void add_inner(void *context, const struct fa_shape *shape, const struct fa_field *field)
{
    (void)shape;
    fa_schemas_add(context, field->inner);
}

void fa_schemas_add(struct fa_schemas *schemas, const struct fa_shape *shape)
{
    if (!shape)
        return;
    for (size_t i = 0; i < schemas->count; i++)
        if (schemas->items[i] == shape)
            return;
    if (shape->name) {
        assert(schemas->count < FA_COUNT(schemas->items));
        schemas->items[schemas->count++] = shape;
    }
    fa_schemas_add(schemas, shape->alternative);
    visit(shape, add_inner, schemas);
}

static void count_one(void *context, const struct fa_shape *shape, const struct fa_field *field)
{
    (void)shape;
    (void)field;
    ++*(size_t *)context;
}

size_t fa_schema_member_count(const struct fa_shape *shape)
{
    size_t count = 0;

    visit(shape, count_one, &count);
    return count;
}

/* Whether the member is always there. */
static bool is_required(const struct fa_shape *shape, const struct fa_field *field)
{
    if (shape->is_request)
        return field->flags & FA_FIELD_REQUIRED;
    return !(field->flags & FA_FIELD_OMIT) && field->type != FA_FIELD_NULLS;
}

static bool may_be_null(const struct fa_shape *shape, const struct fa_field *field)
{
    if (field->type == FA_FIELD_LIMIT)
        return true;
    if (shape->is_request || (field->flags & (FA_FIELD_REQUIRED | FA_FIELD_OMIT)))
        return false;
    switch (field->type) {
    case FA_FIELD_TEXT:
    case FA_FIELD_ID:
    case FA_FIELD_DURATION:
    case FA_FIELD_TIME:
    case FA_FIELD_WHEN:
    case FA_FIELD_TEXTS:
        return true;
    case FA_FIELD_JSON:
        return (field->flags & FA_FIELD_OBJECT) ||
               (field->inner && !(field->flags & FA_FIELD_ARRAY));
    case FA_FIELD_OWN:
        return field->inner != NULL;
    default:
        return false;
    }
}

/* ------------------------------------------------------------------------------------------
 * JSON Schema
 */

static void put_type(struct fa_json_writer *w, const char *type, bool may_be_null)
{
    fa_json_key(w, "type");
    if (!may_be_null) {
        fa_json_put_str(w, type);
        return;
    }
    fa_json_begin_array(w);
    fa_json_put_str(w, type);
    fa_json_put_str(w, "null");
    fa_json_end_array(w);
}

static void put_words(struct fa_json_writer *w, const char *(*word)(int))
{
    if (!word)
        return;
    fa_json_key(w, "enum");
    fa_json_begin_array(w);
    for (int i = 0; word(i); i++)
        fa_json_put_str(w, word(i));
    fa_json_end_array(w);
}

static void put_range(struct fa_json_writer *w, const struct fa_field *field)
{
    if (field->max == 0 || field->max == INT64_MAX)
        return;
    fa_json_set_int(w, "minimum", field->min);
    fa_json_set_int(w, "maximum", field->max);
}

/* Each of the texts, or the only one. */
static void put_text(struct fa_json_writer *w, const struct fa_field *field, bool may_be_null)
{
    put_type(w, "string", may_be_null);
    if (field->type == FA_FIELD_ID || (field->flags & FA_FIELD_UUID))
        fa_json_set_str(w, "format", "uuid");
    put_words(w, field->word);
}

/* `inner` NULL: of the field's texts. */
static void put_array(struct fa_json_writer *w, const struct fa_shape *shape,
                      const struct fa_field *field, const struct fa_shape *inner)
{
    put_type(w, "array", may_be_null(shape, field));
    fa_json_key(w, "items");
    if (inner) {
        fa_schema_put_reference(w, inner);
    } else {
        fa_json_begin_object(w);
        put_text(w, field, false);
        fa_json_end_object(w);
    }
    if (shape->is_request && field->max != 0)
        fa_json_set_int(w, "maxItems", field->max);
}

static void put_object(struct fa_json_writer *w, const struct fa_shape *shape);

static void put_inner(struct fa_json_writer *w, const struct fa_shape *inner, bool may_be_null)
{
    char path[96];

    if (may_be_null) {
        fa_json_key(w, "oneOf");
        fa_json_begin_array(w);
        fa_schema_put_reference(w, inner);
        fa_json_put_raw(w, "{\"type\":\"null\"}");
        fa_json_end_array(w);
    } else if (inner->name) {
        snprintf(path, sizeof(path), "#/components/schemas/%s", inner->name);
        fa_json_set_str(w, "$ref", path);
    } else {
        put_object(w, inner);
    }
}

static void put_null_names(struct fa_json_writer *w, const struct fa_shape *shape)
{
    fa_json_set_str(w, "type", "array");
    fa_json_key(w, "items");
    fa_json_begin_object(w);
    fa_json_set_str(w, "type", "string");
    fa_json_key(w, "enum");
    fa_json_begin_array(w);
    for (const struct fa_field *field = shape->fields; field->name; field++)
        if (field->type == FA_FIELD_JSON)
            fa_json_put_str(w, field->name);
    fa_json_end_array(w);
    fa_json_end_object(w);
}

/* The members of a schema that is written as text. */
static void put_raw_members(struct fa_json_writer *w, const char *schema)
{
    struct fa_json_iter it = fa_json_iter(fa_json_value(fa_str(schema)));
    struct fa_bytes key;
    struct fa_json value;

    while (fa_json_next(&it, &key, &value)) {
        char name[64], text[1024];

        snprintf(name, sizeof(name), "%.*s", (int)key.len, key.ptr);
        assert(value.raw.len < sizeof(text));
        snprintf(text, sizeof(text), "%.*s", (int)value.raw.len, value.raw.ptr);
        fa_json_set_raw(w, name, text);
    }
}

static void put_duration(struct fa_json_writer *w, const struct fa_shape *shape,
                         const struct fa_field *field)
{
    if (shape->is_request)
        fa_json_set_raw(w, "oneOf", "[{\"type\":\"string\"},{\"type\":\"number\",\"minimum\":0}]");
    else
        put_type(w, "string", may_be_null(shape, field));
}

static void put_value(struct fa_json_writer *w, const struct fa_shape *shape,
                      const struct fa_field *field)
{
    bool nullable = may_be_null(shape, field);

    switch (field->type) {
    case FA_FIELD_TEXT:
    case FA_FIELD_ID:
    case FA_FIELD_ENUM:
    case FA_FIELD_SWITCH:
        put_text(w, field, nullable);
        if (shape->is_request && field->max != 0)
            fa_json_set_int(w, "maxLength", field->max);
        return;
    case FA_FIELD_JSON:
        if (field->flags & FA_FIELD_ARRAY)
            put_array(w, shape, field, field->inner);
        else if (field->inner)
            put_inner(w, field->inner, nullable);
        else if (field->flags & FA_FIELD_OBJECT)
            put_type(w, "object", nullable);
        return;
    case FA_FIELD_BOOL:
        fa_json_set_str(w, "type", "boolean");
        return;
    case FA_FIELD_INT:
    case FA_FIELD_INT64:
    case FA_FIELD_SIZE:
    case FA_FIELD_LIMIT:
    case FA_FIELD_ATTEMPTS:
    case FA_FIELD_RETRIES:
        put_type(w, "integer", nullable);
        put_range(w, field);
        return;
    case FA_FIELD_DOUBLE:
        fa_json_set_str(w, "type", "number");
        return;
    case FA_FIELD_DURATION:
    case FA_FIELD_WHEN:
        put_duration(w, shape, field);
        return;
    case FA_FIELD_TIME:
        put_type(w, "string", nullable);
        fa_json_set_str(w, "format", "date-time");
        return;
    case FA_FIELD_TEXTS:
        put_array(w, shape, field, NULL);
        return;
    case FA_FIELD_LIST:
        put_array(w, shape, field, field->inner);
        return;
    case FA_FIELD_NULLS:
        put_null_names(w, shape);
        return;
    case FA_FIELD_ONE:
    case FA_FIELD_OWN:
        if (field->inner)
            put_inner(w, field->inner, nullable);
        return;
    }
}

static void put_field(void *context, const struct fa_shape *shape, const struct fa_field *field)
{
    struct fa_json_writer *w = context;

    fa_json_key(w, field->name);
    fa_json_begin_object(w);
    if (field->schema)
        put_raw_members(w, field->schema);
    else
        put_value(w, shape, field);
    fa_json_opt_str(w, "description",
                    field->doc     ? field->doc
                    : field->inner ? field->inner->doc
                                   : NULL);
    fa_json_end_object(w);
}

static void put_required(void *context, const struct fa_shape *shape, const struct fa_field *field)
{
    if (is_required(shape, field))
        fa_json_put_str(context, field->name);
}

static void count_required(void *context, const struct fa_shape *shape,
                           const struct fa_field *field)
{
    if (is_required(shape, field))
        ++*(size_t *)context;
}

static void put_object(struct fa_json_writer *w, const struct fa_shape *shape)
{
    size_t required = 0;

    fa_json_set_str(w, "type", "object");
    fa_json_key(w, "properties");
    fa_json_begin_object(w);
    visit(shape, put_field, w);
    fa_json_end_object(w);
    visit(shape, count_required, &required);
    if (required > 0) {
        fa_json_key(w, "required");
        fa_json_begin_array(w);
        visit(shape, put_required, w);
        fa_json_end_array(w);
    }
    fa_json_set_bool(w, "additionalProperties", false);
}

void fa_schema_put(struct fa_json_writer *w, const struct fa_shape *shape)
{
    fa_json_begin_object(w);
    if (shape->schema) {
        put_raw_members(w, shape->schema);
    } else if (shape->alternative) {
        fa_json_key(w, "oneOf");
        fa_json_begin_array(w);
        fa_json_begin_object(w);
        put_object(w, shape);
        fa_json_end_object(w);
        fa_schema_put_reference(w, shape->alternative);
        fa_json_end_array(w);
    } else {
        put_object(w, shape);
    }
    fa_json_opt_str(w, "description", shape->doc);
    fa_json_end_object(w);
}

void fa_schema_put_reference(struct fa_json_writer *w, const struct fa_shape *shape)
{
    if (!shape->name) {
        fa_schema_put(w, shape);
        return;
    }
    fa_json_begin_object(w);
    put_inner(w, shape, false);
    fa_json_end_object(w);
}

/* ------------------------------------------------------------------------------------------
 * Markdown
 */

static void add_shape(struct fa_buf *out, const struct fa_shape *shape)
{
    if (shape->name)
        fa_buf_add_str(out, shape->name);
    else if (shape->schema)
        fa_buf_add_str(out, "string");
    else
        fa_schema_add_outline(out, shape);
    if (shape->alternative && !shape->name) {
        fa_buf_add_str(out, " or ");
        add_shape(out, shape->alternative);
    }
}

static void add_words(struct fa_buf *out, const char *(*word)(int))
{
    for (int i = 0; word(i); i++)
        fa_buf_printf(out, "%s\"%s\"", i == 0 ? "" : word(i + 1) ? ", " : " or ", word(i));
}

static void add_texts(struct fa_buf *out, const struct fa_field *field)
{
    if (field->word)
        add_words(out, field->word);
    else
        fa_buf_add_str(out, field->flags & FA_FIELD_UUID ? "id" : "string");
}

/* Of a schema that is written as text. */
static void add_raw_type(struct fa_buf *out, const char *schema)
{
    struct fa_json type = {0};

    if (!fa_json_member(fa_json_value(fa_str(schema)), "type", &type))
        fa_buf_add_str(out, "JSON");
    else if (type.type == FA_JSON_STRING)
        fa_buf_printf(out, "%.*s", (int)type.raw.len - 2, type.raw.ptr + 1);
    else /* ["string","null"] */
        fa_buf_printf(out, "%.*s or null", (int)strcspn(type.raw.ptr + 2, "\""), type.raw.ptr + 2);
}

static void add_type(struct fa_buf *out, const struct fa_field *field)
{
    switch (field->type) {
    case FA_FIELD_TEXT:
    case FA_FIELD_ENUM:
    case FA_FIELD_SWITCH:
        add_texts(out, field);
        return;
    case FA_FIELD_ID:
        fa_buf_add_str(out, "id");
        return;
    case FA_FIELD_BOOL:
        fa_buf_add_str(out, "boolean");
        return;
    case FA_FIELD_INT:
    case FA_FIELD_INT64:
    case FA_FIELD_SIZE:
    case FA_FIELD_LIMIT:
    case FA_FIELD_ATTEMPTS:
    case FA_FIELD_RETRIES:
        fa_buf_add_str(out, "integer");
        return;
    case FA_FIELD_DOUBLE:
        fa_buf_add_str(out, "number");
        return;
    case FA_FIELD_DURATION:
        fa_buf_add_str(out, "duration");
        return;
    case FA_FIELD_TIME:
        fa_buf_add_str(out, "time");
        return;
    case FA_FIELD_WHEN:
        fa_buf_add_str(out, "duration or time");
        return;
    case FA_FIELD_TEXTS:
    case FA_FIELD_NULLS:
        fa_buf_add_str(out, "[");
        add_texts(out, field);
        fa_buf_add_str(out, "]");
        return;
    case FA_FIELD_LIST:
    case FA_FIELD_JSON:
    case FA_FIELD_ONE:
    case FA_FIELD_OWN:
        break;
    }
    if (field->type == FA_FIELD_LIST || (field->flags & FA_FIELD_ARRAY)) {
        fa_buf_add_str(out, "[");
        if (field->inner)
            add_shape(out, field->inner);
        else
            fa_buf_add_str(out, "string");
        fa_buf_add_str(out, "]");
    } else if (field->inner) {
        add_shape(out, field->inner);
    } else {
        fa_buf_add_str(out, field->flags & FA_FIELD_OBJECT ? "object" : "JSON");
    }
}

static void add_whole_type(struct fa_buf *out, const struct fa_shape *shape,
                           const struct fa_field *field)
{
    if (field->schema) {
        add_raw_type(out, field->schema);
        return;
    }
    add_type(out, field);
    if (may_be_null(shape, field))
        fa_buf_add_str(out, " or null");
}

struct listing {
    struct fa_buf *out;
    size_t count;
};

static void add_name(void *context, const struct fa_shape *shape, const struct fa_field *field)
{
    struct listing *listing = context;

    (void)shape;
    fa_buf_printf(listing->out, "%s`%s`", listing->count++ == 0 ? "" : ", ", field->name);
}

void fa_schema_add_names(struct fa_buf *out, const struct fa_shape *shape)
{
    struct listing listing = {out, 0};

    visit(shape, add_name, &listing);
}

static void add_member(void *context, const struct fa_shape *shape, const struct fa_field *field)
{
    struct listing *listing = context;

    fa_buf_printf(listing->out, "%s%s%s: ", listing->count++ == 0 ? "" : ", ", field->name,
                  !shape->is_request && !is_required(shape, field) ? "?" : "");
    add_whole_type(listing->out, shape, field);
}

void fa_schema_add_outline(struct fa_buf *out, const struct fa_shape *shape)
{
    struct listing listing = {out, 0};

    fa_buf_add_str(out, "{");
    visit(shape, add_member, &listing);
    fa_buf_add_str(out, "}");
}

static void add_row(void *context, const struct fa_shape *shape, const struct fa_field *field)
{
    struct fa_buf *out = context;

    fa_buf_printf(out, "| `%s` | ", field->name);
    add_whole_type(out, shape, field);
    fa_buf_printf(out, " | %s%s |\n", field->doc ? field->doc : "",
                  shape->is_request && is_required(shape, field) ? ". Required" : "");
}

void fa_schema_add_table(struct fa_buf *out, const struct fa_shape *shape)
{
    fa_buf_add_str(out, "| member | type | |\n|---|---|---|\n");
    visit(shape, add_row, out);
}
