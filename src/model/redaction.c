/*
 * redaction.c - see redaction.h.
 */
#include "model/redaction.h"

#include "json/json.h"
#include "model/limits.h"

#include <string.h>
#include <strings.h>

/* The names on the way to a value, the last one first. */
struct place {
    const struct place *above;
    struct fa_bytes name;
};

struct redaction {
    const struct fa_texts *paths;
    struct fa_arena *arena;
    struct fa_buf out;
    const char *copied; /* the payload is in `out` up to here */
    bool has_found;
};

enum faina_code fa_redaction_check(const struct fa_texts *paths, struct faina_error *err)
{
    if (paths->count > FA_REDACT_PATHS_MAX)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "redact",
                              "redact has %zu paths; the most are %d", paths->count,
                              FA_REDACT_PATHS_MAX);
    for (size_t i = 0; i < paths->count; i++) {
        const char *path = paths->items[i];
        size_t len = strlen(path);

        if (len > FA_REDACT_PATH_SIZE_MAX)
            return fa_error_field(err, FAINA_INVALID_REQUEST, "redact",
                                  "a path of redact has %zu bytes; the most are %d", len,
                                  FA_REDACT_PATH_SIZE_MAX);
        if (len == 0 || path[0] == '.' || path[len - 1] == '.' || strstr(path, "..") != NULL)
            return fa_error_field(err, FAINA_INVALID_REQUEST, "redact",
                                  "\"%.60s\" is no path: it is names with dots between, such as "
                                  "\"password\" or \"*.secret\"",
                                  path);
    }
    return FAINA_OK;
}

/* Whether the path of a value ends with `path`, which is compared from its end. */
static bool is_at(const char *path, const struct place *place)
{
    const char *end = path + strlen(path);

    for (;; place = place->above) {
        const char *from = end;
        size_t len;

        while (from > path && from[-1] != '.')
            from--;
        len = (size_t)(end - from);
        if (place == NULL ||
            (!(len == 1 && *from == '*') &&
             (place->name.len != len || strncasecmp(place->name.ptr, from, len) != 0)))
            return false;
        if (from == path)
            return true;
        end = from - 1;
    }
}

static bool is_hidden(const struct redaction *redaction, const struct place *place)
{
    for (size_t i = 0; place != NULL && i < redaction->paths->count; i++)
        if (is_at(redaction->paths->items[i], place))
            return true;
    return false;
}

static void visit(struct redaction *redaction, struct fa_json value, const struct place *place)
{
    struct fa_json_iter it;
    struct fa_json inner;
    struct fa_bytes key;

    if (is_hidden(redaction, place)) {
        fa_buf_add(&redaction->out, redaction->copied, (size_t)(value.raw.ptr - redaction->copied));
        fa_buf_add_str(&redaction->out, FA_REDACTED);
        redaction->copied = value.raw.ptr + value.raw.len;
        redaction->has_found = true;
        return;
    }
    if (value.type != FA_JSON_OBJECT && value.type != FA_JSON_ARRAY)
        return;
    for (it = fa_json_iter(value); fa_json_next(&it, &key, &inner);) {
        struct place member = {place, key};

        if (value.type == FA_JSON_OBJECT && memchr(key.ptr, '\\', key.len) != NULL)
            member.name = fa_str(fa_json_unescape(key, redaction->arena));
        visit(redaction, inner, value.type == FA_JSON_OBJECT ? &member : place);
    }
}

const char *fa_redaction_apply(const struct fa_texts *paths, const char *json,
                               struct fa_arena *arena)
{
    struct redaction redaction = {.paths = paths, .arena = arena, .copied = json};
    const char *text = json;

    if (paths->count == 0 || json == NULL)
        return json;
    fa_buf_init(&redaction.out, SIZE_MAX / 2);
    visit(&redaction, fa_json_value(fa_str(json)), NULL);
    if (redaction.has_found) {
        fa_buf_add_str(&redaction.out, redaction.copied);
        text = fa_arena_copy(arena, redaction.out.ptr, redaction.out.len);
    }
    fa_buf_finish(&redaction.out);
    return text;
}
