/* limits_file.c - see limits_file.h. */
#include "model/limits_file.h"

#include "model/check.h"
#include "model/limits.h"
#include "model/rate.h"
#include "model/workflow_inner.h"

static void read_max(struct fa_workflow_reader *r, struct fa_json value, void *target)
{
    struct fa_file_limit *limit = target;

    if (value.type != FA_JSON_NUMBER || !fa_json_int(value, &limit->max_concurrency) ||
        limit->max_concurrency < 0 || limit->max_concurrency > FA_CONCURRENCY_MAX)
        fa_workflow_mistake(r, value.raw.ptr, NULL, " must be a whole number from 0 to %d, or null",
                            FA_CONCURRENCY_MAX);
}

static void read_rate(struct fa_workflow_reader *r, struct fa_json value, void *target)
{
    struct fa_file_limit *limit = target;
    int64_t burst = limit->rate.burst;
    struct faina_error err;
    const char *text = value.type == FA_JSON_STRING ? fa_json_text(value, r->arena) : "";

    if (fa_rate_parse(text, "rate", &limit->rate, &err) != FAINA_OK) {
        fa_workflow_mistake(r, value.raw.ptr, NULL,
                            " must be a number and a time, such as 10/s, 600/m or 3/90s");
        return;
    }
    limit->rate.burst = burst;
    if (fa_rate_check(&limit->rate, &err) != FAINA_OK)
        fa_workflow_mistake(r, value.raw.ptr, NULL, ": %s", err.message);
    limit->rate.burst = burst;
}

static void read_burst(struct fa_workflow_reader *r, struct fa_json value, void *target)
{
    struct fa_file_limit *limit = target;

    if (value.type != FA_JSON_NUMBER || !fa_json_int(value, &limit->rate.burst) ||
        limit->rate.burst < 1 || limit->rate.burst > FA_RATE_BURST_MAX)
        fa_workflow_mistake(r, value.raw.ptr, NULL, " must be a whole number from 1 to %d",
                            FA_RATE_BURST_MAX);
}

static const struct fa_workflow_member limit_members[] = {
    {"maxConcurrency", false, .read = read_max},
    {"rate", false, .read = read_rate},
    {"burst", false, .read = read_burst},
};

/* A burst without a rate is a mistake; without a burst it is the rate's count. */
static void finish_rate(struct fa_workflow_reader *r, struct fa_json value,
                        struct fa_file_limit *limit)
{
    if (limit->rate.count == 0 && limit->rate.burst > 0)
        fa_workflow_mistake(r, value.raw.ptr, NULL, " has a burst without a rate");
    else if (limit->rate.burst == 0)
        limit->rate.burst = limit->rate.count;
}

/* The name is a key of the object: a mistake in it is one at the key. */
static bool check_name(struct fa_workflow_reader *r, const char *at, const char *name)
{
    struct faina_error found;

    if (fa_check_name(name, FA_RESOURCE_NAME_SIZE_MAX, "x", FAINA_INVALID_REQUEST, &found) ==
        FAINA_OK)
        return true;
    fa_workflow_mistake(r, at, NULL, ": the name%s", found.message + 1);
    return false;
}

static void add_limit(struct fa_workflow_reader *r, struct fa_file_limits *list, const char *at,
                      const char *name, struct fa_json value)
{
    struct fa_file_limit *limit = &list->items[list->count];

    if (!check_name(r, at, name))
        return;
    for (size_t i = 0; i < list->count; i++) {
        if (fa_name_is_same(list->items[i].name, name)) {
            fa_workflow_mistake(r, at, NULL, " is there twice: names are compared without case");
            return;
        }
    }
    *limit = (struct fa_file_limit){.name = name, .max_concurrency = -1};
    list->count++;
    if (value.type == FA_JSON_OBJECT) {
        fa_workflow_members(r, value, limit_members, FA_COUNT(limit_members), limit);
        finish_rate(r, value, limit);
    } else if (value.type != FA_JSON_NULL)
        read_max(r, value, limit);
}

static void read_limits(struct fa_workflow_reader *r, struct fa_json value, void *target)
{
    struct fa_file_limits *list = target;
    struct fa_json_iter it;
    struct fa_bytes key;
    struct fa_json item;
    size_t count;

    if (value.type != FA_JSON_OBJECT) {
        fa_workflow_mistake(r, value.raw.ptr, NULL, " must be an object of names and limits");
        return;
    }
    count = fa_json_count(value);
    if (count > FA_LIMITS_FILE_MAX) {
        fa_workflow_mistake(r, value.raw.ptr, NULL, " has %zu items; the limit is %d", count,
                            FA_LIMITS_FILE_MAX);
        return;
    }
    list->items = fa_arena_zero(r->arena, count + 1, sizeof(*list->items));
    for (it = fa_json_iter(value); fa_json_next(&it, &key, &item);)
        add_limit(r, list, key.ptr - 1, fa_json_unescape(key, r->arena), item);
}

static const struct fa_workflow_member members[] = {
    {"resources", true, .read = read_limits},
};

static void read_root(struct fa_workflow_reader *r, struct fa_json root, void *target)
{
    fa_workflow_members(r, root, members, FA_COUNT(members), target);
}

bool fa_limits_file_is(const char *file)
{
    enum fa_workflow_format format;

    return strncmp(file, "resources.", strlen("resources.")) == 0 &&
           strchr(file, '.') == strrchr(file, '.') && fa_workflow_format_of(file, &format);
}

enum faina_code fa_limits_file_read(struct fa_bytes text, enum fa_workflow_format format,
                                    struct fa_arena *arena, struct fa_file_limits *out,
                                    struct fa_mistakes *mistakes, struct faina_error *err)
{
    struct fa_workflow_reader r = {.arena = arena, .mistakes = mistakes};

    *out = (struct fa_file_limits){0};
    return fa_workflow_read_with(&r, text, format, read_root, out, err);
}
