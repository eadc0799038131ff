/* task_filter.c - see task_filter.h. */
#include "model/task_filter.h"

#include "json/json.h"
#include "model/failure_group.h"
#include "model/limits.h"
#include "model/path.h"

#include <string.h>

#define KEY_PREFIX "cron:"
#define KEY_TIME_LEN 20 /* 2030-01-31T12:00:00Z */

/* The whole text is a path. */
static bool read_path(const char *text, struct fa_arena *arena, struct fa_path *out,
                      struct fa_path_mistake *mistake)
{
    struct fa_bytes bytes = fa_str(text);
    size_t offset = 0;

    *mistake = (struct fa_path_mistake){0, "a name"};
    if (bytes.len == 0 || !fa_path_is_start(bytes.ptr[0]) ||
        !fa_path_read(bytes, &offset, arena, out, mistake))
        return false;
    *mistake = (struct fa_path_mistake){offset, "a dot, a bracket or the end"};
    return offset == bytes.len;
}

enum faina_code fa_filter_check_metadata(const struct faina_metadata_is *condition,
                                         struct faina_error *err)
{
    struct fa_path_mistake mistake;
    struct fa_arena scratch = {0};
    struct fa_path path;
    bool is_path;

    if (condition->path == NULL || condition->value == NULL)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "metadata",
                              "a condition on metadata has a path and a value");
    if (strlen(condition->path) > FA_TEMPLATE_PATH_SIZE_MAX ||
        strlen(condition->value) > FA_TEMPLATE_PATH_SIZE_MAX)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "metadata",
                              "path and value of a condition on metadata have at most %d bytes",
                              FA_TEMPLATE_PATH_SIZE_MAX);
    is_path = read_path(condition->path, &scratch, &path, &mistake);
    fa_arena_finish(&scratch);
    if (!is_path)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "metadata",
                              "metadata.%.100s is no path: at byte %zu, %s is expected",
                              condition->path, mistake.offset + 1, mistake.expected);
    return FAINA_OK;
}

/* A text is compared as text, anything else as JSON. */
static bool is_value(struct fa_json found, const char *value, struct fa_arena *arena)
{
    if (found.type == FA_JSON_STRING)
        return strcmp(fa_json_text(found, arena), value) == 0;
    return fa_json_check(fa_str(value), FA_JSON_DEPTH_MAX, "", FAINA_INTERNAL, NULL) == FAINA_OK &&
           fa_json_same(found.raw, fa_str(value));
}

static bool meets(struct fa_json metadata, const struct faina_metadata_is *condition)
{
    struct fa_path_mistake mistake;
    struct fa_arena scratch = {0};
    struct fa_path path;
    struct fa_json found;
    bool is_met = read_path(condition->path, &scratch, &path, &mistake) &&
                  fa_path_find(&path, metadata, NULL, &found) &&
                  is_value(found, condition->value, &scratch);

    fa_arena_finish(&scratch);
    return is_met;
}

/* What is stored may be damaged: then it is not read. */
static bool read_json(const char *text, struct fa_json *out)
{
    if (text == NULL ||
        fa_json_check(fa_str(text), FA_JSON_DEPTH_MAX + 1, "", FAINA_INTERNAL, NULL) != FAINA_OK)
        return false;
    *out = fa_json_value(fa_str(text));
    return true;
}

bool fa_filter_has_metadata(const struct faina_query *query, const char *metadata)
{
    struct fa_json json;

    if (query->metadata_count == 0)
        return true;
    if (!read_json(metadata, &json))
        return false;
    for (size_t i = 0; i < query->metadata_count; i++)
        if (!meets(json, &query->metadata[i]))
            return false;
    return true;
}

bool fa_filter_is_error_kind(const char *error, const char *kind)
{
    struct fa_arena scratch = {0};
    struct fa_json json, member;
    bool is_same = read_json(error, &json) && json.type == FA_JSON_OBJECT &&
                   fa_json_member(json, "kind", &member) && member.type == FA_JSON_STRING &&
                   strcmp(fa_json_text(member, &scratch), kind) == 0;

    fa_arena_finish(&scratch);
    return is_same;
}

bool fa_filter_is_of_failure_group(const char *ns, const char *type, const char *error,
                                   const char *group)
{
    struct fa_arena scratch = {0};
    struct fa_json json;
    int64_t id;
    bool is_same = fa_failure_id_parse(group, &id) && read_json(error, &json) &&
                   fa_failure_key_of(ns, type, error, &scratch).id == id;

    fa_arena_finish(&scratch);
    return is_same;
}

bool fa_filter_is_of_schedule(const char *key, const char *schedule)
{
    size_t prefix = strlen(KEY_PREFIX), len = strlen(schedule);

    return key != NULL && strlen(key) == prefix + len + 1 + KEY_TIME_LEN &&
           memcmp(key, KEY_PREFIX, prefix) == 0 && memcmp(key + prefix, schedule, len) == 0 &&
           key[prefix + len] == ':';
}
