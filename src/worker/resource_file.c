/* resource_file.c - see resource_file.h. */
#include "worker/resource_file.h"

#include "model/rate.h"

#include <stdio.h>
#include <stdlib.h>

struct fa_resource_file {
    const char *file;
    struct fa_reporter log;
    struct fa_file_limits applied; /* in `arena` */
    struct fa_arena arena;
};

struct fa_resource_file *fa_resource_file_create(const char *file, const struct fa_reporter *log)
{
    struct fa_resource_file *limits = fa_alloc_zero(1, sizeof(*limits));

    limits->file = file;
    limits->log = *log;
    return limits;
}

void fa_resource_file_destroy(struct fa_resource_file *limits)
{
    if (!limits)
        return;
    fa_arena_finish(&limits->arena);
    free(limits);
}

static enum faina_code run_op(struct fa_service *service, struct fa_op *op, struct fa_arena *arena,
                              struct faina_error *err)
{
    op->arena = arena;
    fa_service_run(service, op, 1);
    if (op->code != FAINA_OK)
        *err = op->error;
    return op->code;
}

/* The limits in the store. *is_known is false for a resource that has none of its own and isn't in
 * use. */
static enum faina_code get_limit(struct fa_service *service, const char *name, bool *is_known,
                                 struct fa_file_limit *out, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_RESOURCE_LIST, .resource = {.name = name}};
    struct fa_arena arena = {0};
    enum faina_code code = run_op(service, &op, &arena, err);

    *out = (struct fa_file_limit){.name = name, .max_concurrency = -1};
    *is_known = code == FAINA_OK && op.resources->items[0].limited_by == NULL;
    if (*is_known) {
        out->max_concurrency = op.resources->items[0].max_concurrency;
        out->rate = op.resources->items[0].rate;
    }
    fa_arena_finish(&arena);
    return code == FAINA_NOT_FOUND ? FAINA_OK : code;
}

static bool is_same(const struct fa_file_limit *a, const struct fa_file_limit *b)
{
    return a->max_concurrency == b->max_concurrency && fa_rate_is_same(&a->rate, &b->rate);
}

static void report_limit(const struct fa_resource_file *limits, const struct fa_file_limit *limit)
{
    char text[32] = "no limit", rate[FA_RATE_TEXT_SIZE] = "";

    if (limit->max_concurrency >= 0)
        snprintf(text, sizeof(text), "the limit %lld", (long long)limit->max_concurrency);
    if (limit->rate.count > 0)
        fa_rate_format(&limit->rate, rate);
    fa_report(&limits->log, FA_LOG_INFO, "resource %s has %s%s%s, by %s", limit->name, text,
              rate[0] ? ", and the rate " : "", rate, limits->file);
}

static enum faina_code set_limit(struct fa_resource_file *limits, struct fa_service *service,
                                 const struct fa_file_limit *wanted, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_RESOURCE_SET,
                       .by = {.reason = "by the handlers folder"},
                       .resource = {.name = wanted->name,
                                    .max_concurrency = wanted->max_concurrency,
                                    .rate = wanted->rate}};
    struct fa_arena arena = {0};
    bool is_known = false;
    struct fa_file_limit stored;
    enum faina_code code = get_limit(service, wanted->name, &is_known, &stored, err);

    if (code != FAINA_OK || (is_known && is_same(&stored, wanted)))
        return code; /* Z1 */
    code = run_op(service, &op, &arena, err);
    fa_arena_finish(&arena);
    if (code == FAINA_OK)
        report_limit(limits, wanted);
    return code;
}

/* Z2 */
static enum faina_code remove_limit(struct fa_resource_file *limits, struct fa_service *service,
                                    const struct fa_file_limit *old, struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_RESOURCE_REMOVE,
                       .by = {.reason = "by the handlers folder"},
                       .resource = {.name = old->name}};
    struct fa_arena arena = {0};
    bool is_known = false;
    struct fa_file_limit stored;
    enum faina_code code = get_limit(service, old->name, &is_known, &stored, err);

    if (code != FAINA_OK || !is_known)
        return code;
    if (!is_same(&stored, old)) {
        fa_report(&limits->log, FA_LOG_WARN,
                  "resource %s is no longer in %s, but its limit was changed since and stays",
                  old->name, limits->file);
        return FAINA_OK;
    }
    code = run_op(service, &op, &arena, err);
    fa_arena_finish(&arena);
    if (code == FAINA_OK)
        fa_report(&limits->log, FA_LOG_INFO, "resource %s has no limit: it is no longer in %s",
                  old->name, limits->file);
    return code == FAINA_NOT_FOUND ? FAINA_OK : code;
}

static bool has_name(const struct fa_file_limits *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (fa_name_is_same(list->items[i].name, name))
            return true;
    return false;
}

static void remember(struct fa_resource_file *limits, const struct fa_file_limits *wanted)
{
    fa_arena_finish(&limits->arena);
    limits->applied.count = wanted->count;
    limits->applied.items =
        fa_arena_zero(&limits->arena, wanted->count + 1, sizeof(*wanted->items));
    for (size_t i = 0; i < wanted->count; i++) {
        limits->applied.items[i] = wanted->items[i];
        limits->applied.items[i].name = fa_arena_strdup(&limits->arena, wanted->items[i].name);
    }
}

enum faina_code fa_resource_file_apply(struct fa_resource_file *limits, struct fa_service *service,
                                       const struct fa_file_limits *wanted, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; code == FAINA_OK && i < wanted->count; i++)
        code = set_limit(limits, service, &wanted->items[i], err);
    for (size_t i = 0; code == FAINA_OK && i < limits->applied.count; i++)
        if (!has_name(wanted, limits->applied.items[i].name))
            code = remove_limit(limits, service, &limits->applied.items[i], err);
    if (code == FAINA_OK)
        remember(limits, wanted);
    return code;
}
