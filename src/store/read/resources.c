/* resources.c - see resources.h. */
#include "store/read/resources.h"

#include "store/read/pages.h"
#include "store/read/show.h"

#include <stdlib.h>

#define RESOURCE_COLUMNS 10
#define HOLDERS_MAX 100 /* of a resource in a list */

enum faina_code fa_read_holders(struct fa_source *source, int64_t resource, int64_t limit,
                                struct fa_arena *arena, const char *const **out, size_t *count,
                                struct faina_error *err)
{
    struct fa_ids list = {.arena = arena};
    enum faina_code code =
        fa_db_one(source->db, FA_SQL_HOLD_LIST,
                  (struct fa_value[]){fa_value_int(resource), fa_value_int(limit)}, 2, fa_ids_sink,
                  &list, err);

    *out = list.ids;
    *count = list.count;
    return code;
}

/* Limits ------------------------------------------------------------------------------------- */

static void sink_prefix(void *ctx, size_t n, const struct fa_value *c)
{
    struct fa_prefixes *list = ctx;
    const char *name = fa_value_dup(&c[0], list->arena);

    (void)n;
    if (name == NULL || !fa_resource_is_prefix(name))
        return;
    list->items =
        fa_arena_grow(list->arena, list->items, list->count, &list->size, sizeof(*list->items));
    list->items[list->count++] = (struct fa_prefix){name, fa_limits_of(&c[1], &c[2])};
}

static int longest_first(const void *a, const void *b)
{
    size_t x = strlen(((const struct fa_prefix *)a)->name);
    size_t y = strlen(((const struct fa_prefix *)b)->name);

    return (x < y) - (x > y);
}

enum faina_code fa_read_prefixes(struct fa_source *source, struct fa_arena *arena,
                                 struct fa_prefixes *out, struct faina_error *err)
{
    enum faina_code code;

    *out = (struct fa_prefixes){.arena = arena};
    code = fa_db_one(source->db, FA_SQL_RESOURCE_PREFIXES, NULL, 0, sink_prefix, out, err);
    if (out->count > 1)
        qsort(out->items, out->count, sizeof(*out->items), longest_first);
    return code;
}

const struct fa_prefix *fa_prefix_of(const struct fa_prefixes *prefixes, const char *name)
{
    for (size_t i = 0; i < prefixes->count; i++) {
        if (fa_resource_prefix_applies(prefixes->items[i].name, name))
            return &prefixes->items[i];
    }
    return NULL;
}

static void apply_prefix(const struct fa_prefixes *prefixes, struct fa_stored_resource *resource)
{
    const struct fa_prefix *prefix =
        resource->is_set ? NULL : fa_prefix_of(prefixes, resource->name);

    if (prefix == NULL)
        return;
    resource->limits = prefix->limits;
    resource->limited_by = prefix->name;
}

/* Resources ---------------------------------------------------------------------------------- */

static struct fa_stored_resource read_columns(const struct fa_value *c, struct fa_arena *arena)
{
    return (struct fa_stored_resource){
        .id = c[0].i,
        .name = fa_value_dup(&c[1], arena),
        .is_set = fa_value_as_int(&c[3]) != 0,
        .in_use = fa_value_as_int(&c[4]),
        .limits = fa_limits_of(&c[2], &c[5]),
        .bucket = fa_bucket_of(&c[5]),
    };
}

struct one {
    struct fa_arena *arena;
    struct fa_stored_resource *out;
};

static void sink_one(void *ctx, size_t n, const struct fa_value *c)
{
    const struct one *one = ctx;
    struct fa_stored_resource found = read_columns(c, one->arena);

    (void)n;
    if (found.name != NULL)
        *one->out = found;
}

enum faina_code fa_read_resource(struct fa_source *source, const char *name, struct fa_arena *arena,
                                 struct fa_stored_resource *out, struct faina_error *err)
{
    struct fa_value param = fa_value_text(name);
    struct one one = {arena, out};
    struct fa_prefixes prefixes;
    enum faina_code code;

    *out = (struct fa_stored_resource){.name = name, .limits = {.max = -1}};
    code = fa_db_one(source->db, FA_SQL_RESOURCE_ALL, &param, 1, sink_one, &one, err);
    if (code == FAINA_OK && !out->is_set) {
        code = fa_read_prefixes(source, arena, &prefixes, err);
        if (code == FAINA_OK)
            apply_prefix(&prefixes, out);
    }
    return code;
}

struct resource_list {
    struct fa_arena *arena;
    struct fa_pager pager;
    struct fa_stored_resource *items;
    size_t count, size;
};

static void sink_page(void *ctx, size_t n, const struct fa_value *c)
{
    struct resource_list *list = ctx;
    struct fa_stored_resource found = read_columns(c, list->arena);

    (void)n;
    if (!found.is_set && found.in_use == 0)
        return; /* without a limit of its own, and not in use: nothing to show */
    if (!fa_pager_take_row(&list->pager, c, RESOURCE_COLUMNS))
        return;
    list->items =
        fa_arena_grow(list->arena, list->items, list->count, &list->size, sizeof(*list->items));
    list->items[list->count++] = found;
}

static enum faina_code read_page(struct fa_source *source, struct fa_op *op,
                                 struct resource_list *list)
{
    struct fa_list_query query = {.sql = FA_SQL_RESOURCE_PAGE,
                                  .param_count = 2,
                                  .after_at = 0,
                                  .limit_at = 1,
                                  .key_at = 1,
                                  .key_count = 1,
                                  .sink = sink_page,
                                  .sink_ctx = list};
    struct fa_prefixes prefixes;
    enum faina_code code = fa_read_prefixes(source, op->arena, &prefixes, &op->error);

    if (code == FAINA_OK)
        code = fa_pager_read(&list->pager, source->db, &query, op->part.cursor, op->arena,
                             &op->next_cursor, &op->error);
    for (size_t i = 0; code == FAINA_OK && i < list->count; i++)
        apply_prefix(&prefixes, &list->items[i]);
    return code;
}

/* A resource without a limit that isn't in use is not found. */
static enum faina_code read_one(struct fa_source *source, struct fa_op *op,
                                struct resource_list *list)
{
    enum faina_code code;

    list->items = fa_arena_zero(op->arena, 1, sizeof(*list->items));
    code = fa_read_resource(source, op->resource.name, op->arena, &list->items[0], &op->error);
    if (code != FAINA_OK)
        return code;
    if (list->items[0].id == 0 ||
        (!list->items[0].is_set && list->items[0].in_use == 0 && list->items[0].limited_by == NULL))
        return fa_error_set(&op->error, FAINA_NOT_FOUND, "there is no resource %.255s",
                            op->resource.name);
    list->count = 1;
    return FAINA_OK;
}

enum faina_code fa_read_resources(struct fa_source *source, struct fa_op *op)
{
    struct resource_list list = {.arena = op->arena, .pager = fa_pager_of_part(&op->part)};
    struct faina_resources *out = fa_arena_zero(op->arena, 1, sizeof(*out));
    enum faina_code code =
        op->resource.name ? read_one(source, op, &list) : read_page(source, op, &list);

    out->items = fa_arena_zero(op->arena, list.count + 1, sizeof(*out->items));
    for (size_t i = 0; code == FAINA_OK && i < list.count; i++) {
        struct faina_resource *item = &out->items[out->count++];

        *item = (struct faina_resource){.name = list.items[i].name,
                                        .max_concurrency = list.items[i].limits.max,
                                        .in_use = list.items[i].in_use,
                                        .rate = list.items[i].limits.rate,
                                        .limited_by = list.items[i].limited_by};
        code = fa_read_holders(source, list.items[i].id, HOLDERS_MAX, op->arena, &item->holders,
                               &item->holder_count, &op->error);
    }
    if (code == FAINA_OK)
        op->resources = out;
    return code;
}
