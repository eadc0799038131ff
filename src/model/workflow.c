/*
 * workflow.c - the definition of a workflow, member by member.
 */
#include "model/workflow.h"

#include "base/utf8.h"
#include "model/limits.h"
#include "model/workflow_inner.h"

#include <assert.h>
#include <stdio.h>
#include <strings.h>

#define TASK_EVENT "task."
#define FIRST_SIZE_MAX 400 /* bytes of the first mistake when there are more */

/* A definition while it is read. */
struct building {
    struct fa_workflow *workflow;
    struct fa_workflow_trigger *triggers;
    size_t trigger_count;
    struct fa_join *joins;
    size_t join_count;
    const char **names; /* of all triggers and joins so far */
    size_t name_count, name_size;
};

/* ------------------------------------------------------------------------------------------
 * Triggers
 */

/* Only the engine makes events whose type begins with "task.". */
static void check_task_event(struct fa_workflow_reader *r, struct fa_json value, const char *type)
{
    static const enum faina_status ends[] = {FAINA_COMPLETED, FAINA_FAILED, FAINA_DEAD_LETTER,
                                             FAINA_CANCELLED};

    if (!r->target || strncmp(type, TASK_EVENT, strlen(TASK_EVENT)) != 0)
        return;
    for (size_t i = 0; i < FA_COUNT(ends); i++)
        if (strcmp(type + strlen(TASK_EVENT), faina_status_name(ends[i])) == 0)
            return;
    fa_workflow_mistake(r, value.raw.ptr, NULL,
                        " is not an engine event: the ends of tasks are task.completed, "
                        "task.failed, task.dead_letter and task.cancelled");
}

static void read_on(struct fa_workflow_reader *r, struct fa_json value, void *target)
{
    struct fa_workflow_trigger *trigger = target;

    trigger->on = fa_workflow_name(r, value, FA_TYPE_SIZE_MAX);
    if (trigger->on)
        check_task_event(r, value, trigger->on);
}

/* The position of a mistake in the expression, else of the value: only without escapes the text in
 * the JSON is the expression itself. */
static const char *match_position(struct fa_workflow_reader *r, struct fa_json value,
                                  const struct faina_error *found)
{
    if (r->yaml || found->line != 1 || memchr(value.raw.ptr, '\\', value.raw.len))
        return value.raw.ptr;
    return value.raw.ptr + found->column;
}

static void read_match(struct fa_workflow_reader *r, struct fa_json value, void *target)
{
    struct fa_workflow_trigger *trigger = target;
    struct faina_error found;

    if (value.type != FA_JSON_STRING) {
        fa_workflow_mistake(r, value.raw.ptr, NULL, " must be a text");
        return;
    }
    if (fa_match_compile(fa_str(fa_json_text(value, r->arena)), r->arena, &trigger->match,
                         &found) != FAINA_OK)
        fa_workflow_mistake(r, match_position(r, value, &found), NULL, "%s%s",
                            found.message + strlen("match"),
                            found.line > 0 ? " of the expression" : "");
}

static void read_trigger_task(struct fa_workflow_reader *r, struct fa_json value, void *target)
{
    struct fa_workflow_trigger *trigger = target;

    trigger->task = fa_workflow_task(r, value, NULL);
}

static void read_trigger_name(struct fa_workflow_reader *r, struct fa_json value, void *target)
{
    struct fa_workflow_trigger *trigger = target;

    trigger->name = fa_workflow_name(r, value, FA_NAME_SIZE_MAX);
}

static const struct fa_workflow_member trigger_members[] = {
    {"name", true, .read = read_trigger_name},
    {"on", true, .read = read_on},
    {"match", false, .read = read_match},
    {"task", true, .read = read_trigger_task},
};

/* W3 */
static void add_name(struct fa_workflow_reader *r, struct building *b, struct fa_json object,
                     const char *name)
{
    struct fa_json value;

    if (!name)
        return;
    for (size_t i = 0; i < b->name_count; i++) {
        if (strcmp(b->names[i], name) != 0)
            continue;
        if (fa_json_member(object, "name", &value))
            fa_workflow_mistake(r, value.raw.ptr, NULL,
                                " is \"%s\", as is that of another trigger or join", name);
        return;
    }
    b->names = fa_arena_grow(r->arena, b->names, b->name_count, &b->name_size, sizeof(*b->names));
    b->names[b->name_count++] = name;
}

static void read_trigger(struct fa_workflow_reader *r, struct fa_json item, void *target)
{
    struct building *b = target;
    struct fa_workflow_trigger *trigger = &b->triggers[b->trigger_count++];

    fa_workflow_members(r, item, trigger_members, FA_COUNT(trigger_members), trigger);
    add_name(r, b, item, trigger->name);
}

static void read_triggers(struct fa_workflow_reader *r, struct fa_json value, void *target)
{
    struct building *b = target;

    b->triggers = fa_arena_zero(r->arena, fa_workflow_count(value) + 1, sizeof(*b->triggers));
    fa_workflow_elements(r, value, FA_WORKFLOW_TRIGGERS_MAX, read_trigger, b);
}

/* ------------------------------------------------------------------------------------------
 * Joins
 */

struct type_list {
    const char *items[FA_JOIN_TYPES_MAX];
    size_t count;
};

static void read_type(struct fa_workflow_reader *r, struct fa_json item, void *target)
{
    struct type_list *list = target;
    const char *type = fa_workflow_name(r, item, FA_TYPE_SIZE_MAX);

    if (!type)
        return;
    for (size_t i = 0; i < list->count; i++) {
        if (fa_name_is_same(list->items[i], type)) {
            fa_workflow_mistake(r, item.raw.ptr, NULL, " is listed twice");
            return;
        }
    }
    list->items[list->count++] = type;
}

static void read_task_types(struct fa_workflow_reader *r, struct fa_json value, void *target)
{
    struct fa_join *join = target;
    struct type_list list = {.count = 0};
    const char **types;

    fa_workflow_elements(r, value, FA_JOIN_TYPES_MAX, read_type, &list);
    if (value.type == FA_JSON_ARRAY && fa_workflow_count(value) == 0)
        fa_workflow_mistake(r, value.raw.ptr, NULL, " is empty");
    types = fa_arena_zero(r->arena, list.count + 1, sizeof(*types));
    memcpy(types, list.items, list.count * sizeof(*types));
    join->task_types = types;
    join->task_type_count = list.count;
}

static void read_join_key(struct fa_workflow_reader *r, struct fa_json value, void *target)
{
    struct fa_join *join = target;
    struct fa_path_mistake mistake;
    struct fa_bytes text;
    size_t offset = 0;

    join->key_text = fa_workflow_name(r, value, FA_TEMPLATE_PATH_SIZE_MAX);
    if (!join->key_text)
        return;
    text = fa_str(join->key_text);
    if (!fa_path_read(text, &offset, r->arena, &join->key, &mistake))
        fa_workflow_mistake(r, value.raw.ptr, NULL, ": expected %s at column %zu", mistake.expected,
                            mistake.offset + 1);
    else if (offset < text.len)
        fa_workflow_mistake(r, value.raw.ptr, NULL,
                            ": expected a field such as hash or a.b[0], and nothing after it");
}

static void read_on_failure(struct fa_workflow_reader *r, struct fa_json value, void *target)
{
    struct fa_join *join = target;
    const char *text = value.type == FA_JSON_STRING ? fa_json_text(value, r->arena) : "";

    if (strcmp(text, "fire") == 0)
        join->on_failure = FA_JOIN_FIRE;
    else if (strcmp(text, "drop") == 0)
        join->on_failure = FA_JOIN_DROP;
    else
        fa_workflow_mistake(r, value.raw.ptr, NULL, " must be fire or drop");
}

static void read_deadline(struct fa_workflow_reader *r, struct fa_json value, void *target)
{
    struct fa_join *join = target;

    if (fa_workflow_duration(r, value, &join->deadline_ms) && join->deadline_ms == 0)
        fa_workflow_mistake(r, value.raw.ptr, NULL,
                            " must be longer than 0; leave it out to wait for ever");
}

static void read_join_name(struct fa_workflow_reader *r, struct fa_json value, void *target)
{
    struct fa_join *join = target;

    join->name = fa_workflow_name(r, value, FA_NAME_SIZE_MAX);
}

static const struct fa_workflow_member join_members[] = {
    {"name", true, .read = read_join_name},
    {"taskTypes", true, .read = read_task_types},
    {"joinKey", true, .read = read_join_key},
    {"onFailure", false, .read = read_on_failure},
    {"deadline", false, .read = read_deadline},
    {"task", true} /* read_join reads it after the types */,
};

static void read_join(struct fa_workflow_reader *r, struct fa_json item, void *target)
{
    struct building *b = target;
    struct fa_join *join = &b->joins[b->join_count++];
    struct fa_json task;

    fa_workflow_members(r, item, join_members, FA_COUNT(join_members), join);
    if (item.type == FA_JSON_OBJECT && fa_json_member(item, "task", &task) &&
        task.type != FA_JSON_NULL) {
        struct fa_template_join types = {join->task_types, join->task_type_count};

        join->task = fa_workflow_task(r, task, &types);
    }
    add_name(r, b, item, join->name);
}

static void read_joins(struct fa_workflow_reader *r, struct fa_json value, void *target)
{
    struct building *b = target;

    b->joins = fa_arena_zero(r->arena, fa_workflow_count(value) + 1, sizeof(*b->joins));
    fa_workflow_elements(r, value, FA_WORKFLOW_JOINS_MAX, read_join, b);
}

/* ------------------------------------------------------------------------------------------
 * The definition
 */

static void read_workflow_name(struct fa_workflow_reader *r, struct fa_json value, void *target)
{
    struct building *b = target;

    b->workflow->name = fa_workflow_name(r, value, FA_NAME_SIZE_MAX);
}

static void read_enabled(struct fa_workflow_reader *r, struct fa_json value, void *target)
{
    struct building *b = target;

    if (value.type != FA_JSON_TRUE && value.type != FA_JSON_FALSE)
        fa_workflow_mistake(r, value.raw.ptr, NULL, " must be true or false");
    b->workflow->is_enabled = value.type == FA_JSON_TRUE;
}

static const struct fa_workflow_member members[] = {
    {"workflow", false, .read = read_workflow_name}, /* optional when the caller gives a name */
    {"enabled", false, .read = read_enabled},
    {"triggers", false, .read = read_triggers},
    {"joins", false, .read = read_joins},
};

/* The definition with its name added in front, as it is stored. */
static struct fa_bytes add_workflow_name(struct fa_workflow_reader *r, struct fa_json root,
                                         const char *name)
{
    struct fa_json_writer writer;
    struct fa_bytes json;
    struct fa_json value;
    struct fa_bytes key;
    struct fa_buf buf;

    fa_buf_init(&buf, SIZE_MAX / 2);
    fa_json_writer_init(&writer, &buf, 0);
    fa_json_begin_object(&writer);
    fa_json_set_str(&writer, members[0].name, name);
    for (struct fa_json_iter it = fa_json_iter(root); fa_json_next(&it, &key, &value);) {
        const char *text = fa_json_unescape(key, r->arena);

        if (strcmp(text, members[0].name) == 0)
            continue; /* null */
        fa_json_set_raw(&writer, text, fa_arena_copy(r->arena, value.raw.ptr, value.raw.len));
    }
    fa_json_end_object(&writer);
    json = (struct fa_bytes){fa_arena_copy(r->arena, buf.ptr, buf.len), buf.len};
    fa_buf_finish(&buf);
    return json;
}

static void name_workflow(struct fa_workflow_reader *r, struct fa_json root, bool has_name,
                          struct fa_workflow *workflow)
{
    if (has_name || root.type != FA_JSON_OBJECT)
        return;
    if (r->target && r->target->name) {
        workflow->name = fa_arena_strdup(r->arena, r->target->name);
        workflow->json = add_workflow_name(r, root, workflow->name);
        if (workflow->json.len > FA_WORKFLOW_SIZE_MAX)
            fa_workflow_mistake(r, root.raw.ptr, NULL,
                                " is, with its name, longer than %d bytes, which is the limit",
                                FA_WORKFLOW_SIZE_MAX);
    } else {
        fa_workflow_mistake(r, root.raw.ptr, members[0].name, " is missing");
    }
}

static void read_definition(struct fa_workflow_reader *r, struct fa_json root, void *target)
{
    struct fa_workflow *workflow = target;
    struct building b = {.workflow = workflow};

    workflow->json = r->json;
    workflow->is_enabled = true;
    name_workflow(r, root, fa_workflow_members(r, root, members, FA_COUNT(members), &b) & 1,
                  workflow);
    if (root.type == FA_JSON_OBJECT && r->mistakes->count == 0 &&
        b.trigger_count + b.join_count == 0)
        fa_workflow_mistake(r, root.raw.ptr, NULL, " has no triggers and no joins");
    workflow->triggers = b.triggers;
    workflow->trigger_count = b.trigger_count;
    workflow->joins = b.joins;
    workflow->join_count = b.join_count;
}

bool fa_workflow_format_of(const char *file, enum fa_workflow_format *out)
{
    static const struct {
        const char *ending;
        enum fa_workflow_format format;
    } endings[] = {
        {".yaml", FA_WORKFLOW_YAML}, {".yml", FA_WORKFLOW_YAML}, {".json", FA_WORKFLOW_JSON}};
    size_t len = strlen(file);

    for (size_t i = 0; i < FA_COUNT(endings); i++) {
        size_t ending = strlen(endings[i].ending);

        if (len > ending && strcasecmp(file + len - ending, endings[i].ending) == 0) {
            *out = endings[i].format;
            return true;
        }
    }
    return false;
}

/* The one mistake of a text that is no JSON or YAML. */
static void note_syntax(struct fa_arena *arena, struct fa_mistakes *mistakes,
                        const struct faina_error *found)
{
    mistakes->items = fa_arena_grow(arena, mistakes->items, mistakes->count, &mistakes->size,
                                    sizeof(*mistakes->items));
    mistakes->items[mistakes->count++] = (struct fa_mistake){
        .path = "",
        .line = found->line,
        .column = found->column,
        .message = fa_arena_strdup(arena, found->message),
    };
}

static enum faina_code read_text(struct fa_bytes text, enum fa_workflow_format format,
                                 struct fa_arena *arena, struct fa_yaml *yaml,
                                 struct fa_bytes *json, struct faina_error *found)
{
    enum faina_code code;

    if (text.len > FA_WORKFLOW_SIZE_MAX)
        return fa_error_set(found, FAINA_INVALID_REQUEST,
                            "the definition is %zu bytes long; the limit is %d", text.len,
                            FA_WORKFLOW_SIZE_MAX);
    if (format == FA_WORKFLOW_YAML) {
        code = fa_yaml_read(text, FA_WORKFLOW_DEPTH_MAX, "definition", arena, yaml, found);
        *json = yaml->json;
        return code;
    }
    *json = (struct fa_bytes){fa_arena_copy(arena, text.len ? text.ptr : "", text.len), text.len};
    return fa_json_check(*json, FA_WORKFLOW_DEPTH_MAX, "definition", FAINA_INVALID_REQUEST, found);
}

static bool is_before(const struct fa_mistake *a, const struct fa_mistake *b)
{
    return a->line != b->line ? a->line < b->line : a->column < b->column;
}

/* In the order of the text. There are few of them, and most are in order. */
static void sort(struct fa_mistakes *mistakes)
{
    for (size_t i = 1; i < mistakes->count; i++) {
        struct fa_mistake moved = mistakes->items[i];
        size_t to = i;

        for (; to > 0 && is_before(&moved, &mistakes->items[to - 1]); to--)
            mistakes->items[to] = mistakes->items[to - 1];
        mistakes->items[to] = moved;
    }
}

/* The first mistake, and how many more. */
static enum faina_code refuse(const struct fa_mistakes *mistakes, size_t unreported,
                              struct faina_error *err)
{
    const struct fa_mistake *first = mistakes->items;
    size_t more = mistakes->count - 1 + unreported;
    char others[64] = "";

    if (more > 0)
        snprintf(others, sizeof(others), "; and %zu more mistake%s", more, more == 1 ? "" : "s");
    fa_error_field(err, FAINA_INVALID_REQUEST, first->path, "%.*s%s",
                   (int)fa_utf8_clip(fa_str(first->message), FIRST_SIZE_MAX), first->message,
                   others);
    fa_error_position(err, first->line, first->column);
    return FAINA_INVALID_REQUEST;
}

enum faina_code fa_workflow_read_with(struct fa_workflow_reader *r, struct fa_bytes text,
                                      enum fa_workflow_format format,
                                      void (*read)(struct fa_workflow_reader *r,
                                                   struct fa_json root, void *target),
                                      void *target, struct faina_error *err)
{
    struct fa_mistakes *mistakes = r->mistakes;
    struct faina_error found = {0};
    struct fa_yaml yaml = {0};

    assert(mistakes->count == 0);
    if (read_text(text, format, r->arena, &yaml, &r->json, &found) != FAINA_OK) {
        note_syntax(r->arena, mistakes, &found);
        return refuse(mistakes, 0, err);
    }
    r->yaml = format == FA_WORKFLOW_YAML ? &yaml : NULL;
    read(r, fa_json_value(r->json), target);
    r->yaml = NULL;
    sort(mistakes);
    return mistakes->count > 0 ? refuse(mistakes, r->unreported, err) : FAINA_OK;
}

enum faina_code fa_workflow_read(struct fa_bytes text, enum fa_workflow_format format,
                                 const struct fa_workflow_target *target, struct fa_arena *arena,
                                 const struct fa_workflow **out, struct fa_mistakes *mistakes,
                                 struct faina_error *err)
{
    struct fa_workflow_reader r = {.arena = arena, .target = target, .mistakes = mistakes};
    struct fa_workflow *workflow = fa_arena_zero(arena, 1, sizeof(*workflow));
    enum faina_code code = fa_workflow_read_with(&r, text, format, read_definition, workflow, err);

    if (code == FAINA_OK)
        *out = workflow;
    return code;
}

bool fa_join_key(const struct fa_join *join, struct fa_bytes input, struct fa_buf *out)
{
    struct fa_json value;

    if (!fa_path_find(&join->key, fa_json_value(input), NULL, &value))
        return false;
    if (value.type == FA_JSON_NULL || value.type == FA_JSON_ARRAY || value.type == FA_JSON_OBJECT)
        return false;
    fa_json_canonical(value.raw, out);
    return !out->overflow;
}
