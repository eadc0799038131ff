/*
 * workflow_reader.c - reads a definition's JSON and records every mistake with its position.
 *
 * A mistake is reported by its byte in the JSON. Its path is found by walking down from the root to
 * that byte, so that the reading functions don't pass a path along.
 */
#include "model/workflow_inner.h"

#include "base/nearest.h"
#include "base/utf8.h"
#include "model/check.h"
#include "model/limits.h"
#include "model/times.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#define PATH_SIZE_MAX 1024
#define MESSAGE_SIZE_MAX 1024

/* ------------------------------------------------------------------------------------------
 * Mistakes
 */

static bool is_plain_name(const char *name)
{
    if (!fa_path_is_start(*name) || *name == '[')
        return false;
    for (; *name; name++)
        if (!fa_path_is_start(*name) && !strchr("0123456789-", *name))
            return false;
    return true;
}

static void add_name(struct fa_buf *path, const char *name)
{
    if (is_plain_name(name)) {
        fa_buf_printf(path, "%s%s", path->len ? "." : "", name);
        return;
    }
    fa_buf_add_str(path, "['");
    for (; *name; name++) {
        if (*name == '\'')
            fa_buf_add_char(path, '\'');
        fa_buf_add_char(path, (unsigned char)*name < 0x20 ? '?' : *name);
    }
    fa_buf_add_str(path, "']");
}

/* Steps down to the member (or its key) or element that contains `at`. */
static bool step_down(struct fa_workflow_reader *r, struct fa_json *value, const char *at,
                      struct fa_buf *path)
{
    struct fa_json_iter it;
    struct fa_bytes key;
    struct fa_json item;

    if (value->type != FA_JSON_OBJECT && value->type != FA_JSON_ARRAY)
        return false;
    it = fa_json_iter(*value);
    for (size_t i = 0; fa_json_next(&it, &key, &item); i++) {
        const char *from = it.is_object ? key.ptr - 1 : item.raw.ptr;

        if (at < from || at >= item.raw.ptr + item.raw.len)
            continue;
        if (it.is_object)
            add_name(path, fa_json_unescape(key, r->arena));
        else
            fa_buf_printf(path, "[%zu]", i);
        *value = item;
        return at != from;
    }
    return false;
}

/* A copy of at most `max` bytes; "..." shows that there was more. */
static const char *clip(struct fa_arena *arena, struct fa_bytes text, size_t max)
{
    size_t len = fa_utf8_clip(text, max);

    return fa_arena_printf(arena, "%.*s%s", (int)len, text.ptr, len < text.len ? "..." : "");
}

static const char *find_path(struct fa_workflow_reader *r, const char *at, const char *name)
{
    struct fa_json value = fa_json_value(r->json);
    struct fa_buf path;
    const char *copy;

    fa_buf_init(&path, SIZE_MAX);
    if (at != value.raw.ptr)
        while (step_down(r, &value, at, &path))
            continue;
    if (name)
        add_name(&path, name);
    copy = clip(r->arena, (struct fa_bytes){path.len ? path.ptr : "", path.len}, PATH_SIZE_MAX);
    fa_buf_finish(&path);
    return copy;
}

void fa_workflow_mistake(struct fa_workflow_reader *r, const char *at, const char *name,
                         const char *format, ...)
{
    struct fa_mistakes *list = r->mistakes;
    size_t offset = (size_t)(at - r->json.ptr);
    struct fa_source_position position;
    struct fa_mistake *mistake;
    char text[MESSAGE_SIZE_MAX + 2]; /* a byte more shows where the last character began */
    va_list args;

    assert(offset <= r->json.len);
    if (list->count == FA_WORKFLOW_MISTAKES_MAX) {
        r->unreported++;
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    list->items =
        fa_arena_grow(r->arena, list->items, list->count, &list->size, sizeof(*list->items));
    mistake = &list->items[list->count++];
    position =
        r->yaml ? fa_yaml_position(r->yaml, offset) : fa_source_position_find(r->json, offset);
    mistake->line = position.line;
    mistake->column = position.column;
    mistake->path = find_path(r, at, name);
    mistake->message =
        fa_arena_printf(r->arena, "%s%s", *mistake->path ? mistake->path : "the definition",
                        clip(r->arena, fa_str(text), MESSAGE_SIZE_MAX));
}

/* Records an error of check.h or times.h, whose sentence begins with the field's name. */
static void note(struct fa_workflow_reader *r, const char *at, const struct faina_error *found,
                 const char *field)
{
    fa_workflow_mistake(r, at, NULL, "%s", found->message + strlen(field));
}

/* ------------------------------------------------------------------------------------------
 * Values
 */

static void refuse_member(struct fa_workflow_reader *r, const char *at, const char *key,
                          const struct fa_workflow_member *members, size_t count)
{
    const char *names[FA_WORKFLOW_MEMBERS_MAX + 1] = {NULL};
    const char *nearest;

    for (size_t i = 0; i < count; i++)
        names[i] = members[i].name;
    /* Finding a suggestion takes time, and mistakes beyond the maximum are not reported. */
    nearest = r->mistakes->count < FA_WORKFLOW_MISTAKES_MAX ? fa_nearest(key, names) : NULL;
    if (nearest)
        fa_workflow_mistake(r, at, NULL, " is not a known field; did you mean \"%s\"?", nearest);
    else
        fa_workflow_mistake(r, at, NULL, " is not a known field");
}

static void read_member(struct fa_workflow_reader *r, const struct fa_workflow_member *member,
                        struct fa_json value, void *target)
{
    bool is_open = member->is_deep && value.type != FA_JSON_STRING;

    if (member->read)
        member->read(r, value, target);
    if (member->check && (is_open || !fa_template_is_needed(value)))
        member->check(r, member, value);
}

uint32_t fa_workflow_members(struct fa_workflow_reader *r, struct fa_json object,
                             const struct fa_workflow_member *members, size_t count, void *target)
{
    struct fa_json_iter it;
    struct fa_bytes raw_key;
    struct fa_json value;
    uint32_t seen = 0;

    assert(count <= FA_WORKFLOW_MEMBERS_MAX);
    if (object.type != FA_JSON_OBJECT) {
        fa_workflow_mistake(r, object.raw.ptr, NULL, " must be an object");
        return 0;
    }
    for (it = fa_json_iter(object); fa_json_next(&it, &raw_key, &value);) {
        const char *key = fa_json_unescape(raw_key, r->arena);
        size_t i = 0;

        while (i < count && strcmp(key, members[i].name) != 0)
            i++;
        if (i == count) {
            refuse_member(r, raw_key.ptr - 1, key, members, count);
        } else if (value.type != FA_JSON_NULL) {
            seen |= UINT32_C(1) << i;
            read_member(r, &members[i], value, target);
        }
    }
    for (size_t i = 0; i < count; i++)
        if (members[i].is_required && !(seen >> i & 1))
            fa_workflow_mistake(r, object.raw.ptr, members[i].name, " is missing");
    return seen;
}

const char *fa_workflow_name(struct fa_workflow_reader *r, struct fa_json value, size_t max)
{
    struct faina_error found;
    const char *text;

    if (value.type != FA_JSON_STRING) {
        fa_workflow_mistake(r, value.raw.ptr, NULL, " must be a text");
        return NULL;
    }
    text = fa_json_text(value, r->arena);
    if (fa_check_name(text, max, "x", FAINA_INVALID_REQUEST, &found) == FAINA_OK)
        return text;
    note(r, value.raw.ptr, &found, "x");
    return NULL;
}

bool fa_workflow_duration(struct fa_workflow_reader *r, struct fa_json value, int64_t *out_ms)
{
    struct faina_error found;
    const char *text;

    if (value.type == FA_JSON_STRING)
        text = fa_json_text(value, r->arena);
    else
        text = fa_arena_copy(r->arena, value.raw.ptr, value.raw.len);
    if (value.type != FA_JSON_STRING && value.type != FA_JSON_NUMBER) {
        fa_workflow_mistake(r, value.raw.ptr, NULL,
                            " must be a duration such as \"90s\", or a number of seconds");
        return false;
    }
    if (fa_duration_parse(text, "x", out_ms, &found) == FAINA_OK)
        return true;
    note(r, value.raw.ptr, &found, "x");
    return false;
}

size_t fa_workflow_count(struct fa_json value)
{
    return value.type == FA_JSON_ARRAY ? fa_json_count(value) : 0;
}

void fa_workflow_elements(struct fa_workflow_reader *r, struct fa_json value, size_t max,
                          void (*read)(struct fa_workflow_reader *r, struct fa_json item,
                                       void *target),
                          void *target)
{
    size_t count = fa_workflow_count(value);
    struct fa_json_iter it;
    struct fa_json item;

    if (value.type != FA_JSON_ARRAY) {
        fa_workflow_mistake(r, value.raw.ptr, NULL, " must be a list");
        return;
    }
    if (count > max) {
        fa_workflow_mistake(r, value.raw.ptr, NULL, " has %zu items; the limit is %zu", count, max);
        return;
    }
    for (it = fa_json_iter(value); fa_json_next(&it, NULL, &item);)
        read(r, item, target);
}
