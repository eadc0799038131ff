/*
 * workflow_task.c - the task of a trigger or join: a submit body with templates in it.
 *
 * The value of a field that holds a ${path} exists only after rendering. The others are checked by
 * the rules of a submit when the definition is stored, not when the first event comes. The fields
 * are those of submit_fields.h; what is wrong with one follows from its row.
 */
#include "model/workflow_inner.h"

#include "model/id.h"
#include "model/limits.h"
#include "model/submit_fields.h"
#include "model/task_rules.h"
#include "model/times.h"

#include <assert.h>
#include <inttypes.h>

static void check_namespace(struct fa_workflow_reader *r, struct fa_json value, const char *text)
{
    if (strcmp(text, "*") == 0)
        fa_workflow_mistake(r, value.raw.ptr, NULL, " is \"*\", which stands for all namespaces");
    else if (r->target && r->target->ns && strcmp(text, r->target->ns) != 0)
        fa_workflow_mistake(r, value.raw.ptr, NULL,
                            " is not the workflow's own, %.200s, the only one it makes tasks in",
                            r->target->ns);
}

static bool is_id(const struct fa_field *field, const char *text)
{
    char team[FAINA_ID_SIZE];
    struct fa_id id;

    return field->flags & FA_FIELD_TEAM ? fa_uuid_parse(text, team) : fa_id_parse(text, &id);
}

/* A text, or one of the texts. */
static void check_text(struct fa_workflow_reader *r, const struct fa_field *field, size_t max,
                       struct fa_json value)
{
    const char *text;

    if (field->flags & FA_FIELD_UUID) {
        if (value.type != FA_JSON_STRING || !is_id(field, fa_json_text(value, r->arena)))
            fa_workflow_mistake(r, value.raw.ptr, NULL, " must be an id");
        return;
    }
    text = fa_workflow_name(r, value, max);
    if (text && (field->flags & FA_FIELD_NAMESPACE))
        check_namespace(r, value, text);
    if (text && (field->flags & FA_FIELD_KEY_SCOPE) &&
        fa_key_scope_parse(text, &(int64_t){0}, NULL) != FAINA_OK)
        fa_workflow_mistake(r, value.raw.ptr, NULL,
                            " must be \"exists\", \"active\", or a duration such as \"10m\"");
}

/* An item that holds a path is checked after rendering. */
static void check_item(struct fa_workflow_reader *r, struct fa_json item, void *target)
{
    const struct fa_field *field = *(const struct fa_field **)target;

    if (!fa_template_is_needed(item))
        check_text(r, field, field->size, item);
}

static void check_whole(struct fa_workflow_reader *r, const struct fa_field *field,
                        struct fa_json value)
{
    int64_t number;

    if (!fa_json_int(value, &number) || number < field->min || number > field->max)
        fa_workflow_mistake(r, value.raw.ptr, NULL,
                            " must be a whole number between %" PRId64 " and %" PRId64, field->min,
                            field->max);
}

static void check_double(struct fa_workflow_reader *r, const struct fa_field *field,
                         struct fa_json value)
{
    double number;

    if (!fa_json_double(value, &number) || !(number >= (double)field->min || number == 0))
        fa_workflow_mistake(r, value.raw.ptr, NULL, " must be a number from %" PRId64 " on",
                            field->min);
}

static void check_time(struct fa_workflow_reader *r, struct fa_json value)
{
    int64_t us;

    if (value.type != FA_JSON_STRING ||
        fa_time_parse(fa_json_text(value, r->arena), "runAt", &us, NULL) != FAINA_OK)
        fa_workflow_mistake(r, value.raw.ptr, NULL,
                            " must be a time such as \"2030-01-31T12:00:00Z\"");
}

static void check_object(struct fa_workflow_reader *r, const struct fa_field *field,
                         struct fa_json value)
{
    if ((field->flags & FA_FIELD_OBJECT) && value.type != FA_JSON_OBJECT)
        fa_workflow_mistake(r, value.raw.ptr, NULL, " must be an object");
}

static void check_word(struct fa_workflow_reader *r, const struct fa_field *field,
                       struct fa_json value)
{
    const char *text = value.type == FA_JSON_STRING ? fa_json_text(value, r->arena) : "";
    struct fa_buf words;

    fa_buf_init(&words, 200);
    for (int i = 0; field->word(i) != NULL; i++) {
        if (strcmp(text, field->word(i)) == 0) {
            fa_buf_finish(&words);
            return;
        }
        fa_buf_printf(&words, "%s\"%s\"", i > 0 ? ", " : "", field->word(i));
    }
    fa_workflow_mistake(r, value.raw.ptr, NULL, " must be one of %s", words.ptr);
    fa_buf_finish(&words);
}

static uint32_t check_fields(struct fa_workflow_reader *r, const struct fa_field *fields,
                             struct fa_json object);

static void check_field(struct fa_workflow_reader *r, const struct fa_workflow_member *member,
                        struct fa_json value)
{
    const struct fa_field *field = member->data;
    int64_t ms;

    switch ((int)field->type) {
    case FA_FIELD_TEXT:
        check_text(r, field, (size_t)field->max, value);
        return;
    case FA_FIELD_JSON:
        check_object(r, field, value);
        return;
    case FA_FIELD_INT:
    case FA_FIELD_ATTEMPTS:
    case FA_FIELD_RETRIES:
        check_whole(r, field, value);
        return;
    case FA_FIELD_DOUBLE:
        check_double(r, field, value);
        return;
    case FA_FIELD_DURATION:
        fa_workflow_duration(r, value, &ms);
        return;
    case FA_FIELD_TIME:
        check_time(r, value);
        return;
    case FA_FIELD_WHEN:
        if (fa_text_is_time(value.type == FA_JSON_STRING ? fa_json_text(value, r->arena) : ""))
            check_time(r, value);
        else
            fa_workflow_duration(r, value, &ms);
        return;
    case FA_FIELD_SWITCH:
        if (value.type != FA_JSON_STRING ||
            strcmp(fa_json_text(value, r->arena), field->word(0)) != 0)
            fa_workflow_mistake(r, value.raw.ptr, NULL, " must be \"%s\"", field->word(0));
        return;
    case FA_FIELD_ENUM:
        check_word(r, field, value);
        return;
    case FA_FIELD_TEXTS:
        fa_workflow_elements(r, value, (size_t)field->max, check_item, &field);
        return;
    case FA_FIELD_ONE:
        check_fields(r, field->inner->fields, value);
        return;
    default:
        assert(!"a submit has no field of this type");
    }
}

/* Inside an object or a list there may be paths, and beside them values to check. */
static bool is_deep(const struct fa_field *field)
{
    return field->type == FA_FIELD_TEXTS || field->type == FA_FIELD_ONE ||
           (field->flags & FA_FIELD_OBJECT);
}

/* Returns which of the fields are given: a bit for each row. */
static uint32_t check_fields(struct fa_workflow_reader *r, const struct fa_field *fields,
                             struct fa_json object)
{
    struct fa_workflow_member members[FA_WORKFLOW_MEMBERS_MAX] = {{0}};
    uint32_t seen, given = 0;
    size_t count = 0;

    for (const struct fa_field *field = fields; field->name; field++) {
        if (field->flags & FA_FIELD_DIRECT)
            continue;
        assert(count < FA_WORKFLOW_MEMBERS_MAX);
        members[count++] = (struct fa_workflow_member){
            .name = field->name, .check = check_field, .is_deep = is_deep(field), .data = field};
    }
    seen = fa_workflow_members(r, object, members, count, NULL);
    for (size_t i = 0; i < count; i++)
        if (seen >> i & 1)
            given |= UINT32_C(1) << ((const struct fa_field *)members[i].data - fields);
    return given;
}

static bool is_given(uint32_t given, const char *name)
{
    for (size_t i = 0; fa_submit_fields[i].name; i++)
        if ((given >> i & 1) && strcmp(fa_submit_fields[i].name, name) == 0)
            return true;
    return false;
}

static void check_together(struct fa_workflow_reader *r, struct fa_json task, uint32_t given)
{
    for (size_t i = 0; fa_submit_fields[i].name; i++) {
        const char *other = fa_submit_fields[i].excludes;

        if (other && (given >> i & 1) && is_given(given, other))
            fa_workflow_mistake(r, task.raw.ptr, NULL,
                                " has both %s and %s; only one of them can be",
                                fa_submit_fields[i].name, other);
    }
    if (!is_given(given, "type") && !is_given(given, "name") && !is_given(given, "input") &&
        !is_given(given, "payload"))
        fa_workflow_mistake(r, task.raw.ptr, "type", " is missing");
}

struct report {
    struct fa_workflow_reader *reader;
    const char *start; /* of the task in the JSON */
};

static void note_mistake(void *context, size_t offset, const char *message)
{
    struct report *report = context;

    fa_workflow_mistake(report->reader, report->start + offset, NULL, ": %s", message);
}

const struct fa_template *fa_workflow_task(struct fa_workflow_reader *r, struct fa_json value,
                                           const struct fa_template_join *join)
{
    struct report report = {r, value.raw.ptr};
    const struct fa_template *compiled = NULL;

    if (value.type == FA_JSON_OBJECT)
        check_together(r, value, check_fields(r, fa_submit_fields, value));
    else
        fa_workflow_mistake(r, value.raw.ptr, NULL, " must be an object");
    if (fa_template_compile(value.raw, join, r->arena, &compiled, note_mistake, &report, NULL) !=
        FAINA_OK)
        return NULL;
    return compiled;
}
