/*
 * stats.c - how many tasks there are, in all and by type.
 *
 * Counts come from `tally`, and cost in proportion to the number of lanes; the result has a bounded
 * number of types: the busiest, or a page of all by name.
 */
#include "store/read/lookup.h"

#include "model/limits.h"
#include "model/states.h"
#include "store/read/pages.h"

#include <stdlib.h>

struct count_list {
    struct fa_arena *arena;
    struct faina_stats *stats;
    size_t size;
    struct fa_pager pager; /* all zero: no bounds */
};

static void sink_total(void *ctx, size_t n, const struct fa_value *c)
{
    struct faina_stats *stats = ((struct count_list *)ctx)->stats;

    (void)n;
    if (c[0].i >= 0 && c[0].i < FAINA_STATUS_COUNT) /* else damaged; doctor reports it */
        stats->by_status[c[0].i] = fa_value_as_int(&c[1]);
}

static struct faina_count *add_type(struct count_list *list, const struct fa_value *c)
{
    struct faina_stats *stats = list->stats;
    struct faina_count *count;

    stats->types =
        fa_arena_grow(list->arena, stats->types, stats->count, &list->size, sizeof(*stats->types));
    count = &stats->types[stats->count++];
    *count = (struct faina_count){.ns = fa_value_dup(&c[0], list->arena),
                                  .type = fa_value_dup(&c[1], list->arena)};
    return count;
}

static void sink_count(void *ctx, size_t n, const struct fa_value *c)
{
    struct count_list *list = ctx;
    struct faina_count *count;

    (void)n;
    if (!fa_pager_take_row(&list->pager, c, 3))
        return;
    count = add_type(list, c);
    count->is_paused = fa_value_as_int(&c[2]) != 0;
    for (int status = 0; status < FAINA_STATUS_COUNT; status++)
        count->by_status[status] = fa_value_as_int(&c[3 + status]);
}

static void sink_paused(void *ctx, size_t n, const struct fa_value *c)
{
    (void)n;
    add_type(ctx, c)->is_paused = true;
}

static void bind_type(void *ctx, size_t n, struct fa_value *v)
{
    const struct faina_stats *stats = ((struct count_list *)ctx)->stats;

    v[0] = fa_value_text(stats->types[n].ns);
    v[1] = fa_value_text(stats->types[n].type);
}

static void sink_oldest(void *ctx, size_t n, const struct fa_value *c)
{
    struct faina_stats *stats = ((struct count_list *)ctx)->stats;

    if (c[0].kind == FA_INT)
        stats->types[n].oldest_ready_us = fa_id_key_us(c[0].i);
}

static enum faina_code read_oldest(struct fa_source *source, struct count_list *list,
                                   struct faina_error *err)
{
    struct fa_db_call call = {.sql = FA_SQL_READY_OLDEST,
                              .rows = list->stats->count,
                              .param_count = 2,
                              .bind = bind_type,
                              .bind_ctx = list,
                              .sink = sink_oldest,
                              .sink_ctx = list};

    return call.rows > 0 ? fa_db_run(source->db, &call, err) : FAINA_OK;
}

static int by_name(const void *a, const void *b)
{
    const struct faina_count *x = a, *y = b;
    int order = strcmp(x->ns, y->ns);

    return order != 0 ? order : strcmp(x->type, y->type);
}

static void add_up(struct faina_stats *stats)
{
    for (size_t i = 0; i < stats->count; i++) {
        for (int status = 0; status < FAINA_STATUS_COUNT; status++)
            stats->by_status[status] += stats->types[i].by_status[status];
    }
}

/* The busiest types, or only one, in the order of their names; and the totals. */
static enum faina_code read_busiest(struct fa_source *source, const struct fa_value *ns,
                                    const char *type, struct count_list *list,
                                    struct faina_error *err)
{
    struct faina_stats *stats = list->stats;
    struct fa_value params[3] = {*ns, fa_value_int(FA_STATS_TYPES_MAX + 1), fa_value_text(type)};
    struct fa_db_call calls[] = {
        fa_db_call_one(FA_SQL_TALLY_BUSIEST, params, 3, sink_count, list),
        fa_db_call_one(FA_SQL_PAUSED_BARE, params, 3, sink_paused, list),
        fa_db_call_one(FA_SQL_TALLY_TOTALS, params, 1, sink_total, list),
    };
    enum faina_code code = fa_db_run_all(source->db, calls, FA_COUNT(calls) - (type != NULL), err);

    if (code != FAINA_OK)
        return code;
    if (type != NULL)
        add_up(stats);
    stats->has_more = stats->count > FA_STATS_TYPES_MAX;
    if (stats->has_more)
        stats->count = FA_STATS_TYPES_MAX;
    if (stats->count > 1)
        qsort(stats->types, stats->count, sizeof(*stats->types), by_name);
    return FAINA_OK;
}

/* A page of the types, in the order of their names. */
static enum faina_code read_page(struct fa_source *source, struct fa_op *op,
                                 const struct fa_value *ns, struct count_list *list)
{
    struct fa_list_query query = {.sql = FA_SQL_TALLY_PAGE,
                                  .params = {[3] = *ns},
                                  .param_count = 4,
                                  .limit_at = 0,
                                  .after_at = 1,
                                  .key_at = 0,
                                  .key_count = 2,
                                  .sink = sink_count,
                                  .sink_ctx = list};

    list->pager = fa_pager_of_part(&op->part);
    return fa_pager_read(&list->pager, source->db, &query, op->part.cursor, op->arena,
                         &op->next_cursor, &op->error);
}

enum faina_code fa_read_stats(struct fa_source *source, struct fa_op *op)
{
    const char *ns = op->name.ns ? op->name.ns : "default";
    struct fa_value param = fa_value_text(strcmp(ns, "*") == 0 ? NULL : ns);
    struct count_list list = {.arena = op->arena};
    enum faina_code code;

    list.stats = fa_arena_zero(op->arena, 1, sizeof(*list.stats));
    op->stats = list.stats;
    if (op->part.is_asked)
        return read_page(source, op, &param, &list);
    code = read_busiest(source, &param, op->name.type, &list, &op->error);
    return code == FAINA_OK ? read_oldest(source, &list, &op->error) : code;
}
