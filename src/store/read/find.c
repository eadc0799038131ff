/*
 * find.c - tasks by the beginning or the end of their ids.
 *
 * The ids that begin with a text are a range of the primary key. An end is compared with the newest
 * FA_FIND_NEWEST ids. Tasks that are deleted, or in namespaces without access, are skipped: so a
 * search reads up to READ_MAX tasks, and reports when it has not read all that may match.
 */
#include "store/read/lookup.h"

#include "model/id_part.h"
#include "model/limits.h"
#include "service/access.h"
#include "service/refusal.h"

#include <stdlib.h>

#define READ_MAX 1000
#define READ_PART 100

struct search {
    struct fa_source *source;
    struct fa_op *op;
    struct fa_found *found;
    size_t read;
};

static void add_row(void *ctx, const struct fa_row *row)
{
    struct search *search = ctx;
    struct fa_found *found = search->found;
    struct fa_found_task task = {.ns = row->lane->ns,
                                 .type = row->lane->type,
                                 .status = row->status,
                                 .created_us = fa_id_key_us(row->id.key)};

    fa_id_format(row->id, task.id);
    if (row->deleted_us != 0 || row->damage != NULL ||
        !fa_access_reaches(search->op->grant, task.ns) || fa_found_has(found, task.id))
        return;
    if (found->count < FA_FIND_MAX)
        found->items[found->count++] = task;
    else
        found->has_more = true;
}

/* Reads the tasks and adds those that may be shown. */
static enum faina_code add_keys(struct search *search, struct fa_keys *keys)
{
    search->read += keys->count;
    return fa_rows_load(search->source, keys->keys, keys->count, (struct fa_rows_options){0},
                        search->op->arena, add_row, search, &search->op->error);
}

static enum faina_code find_begin(struct search *search, const struct fa_id_part *part)
{
    int64_t high = part->high;
    enum faina_code code = FAINA_OK;
    bool is_over = false;

    while (code == FAINA_OK && !is_over && !search->found->has_more) {
        const struct fa_value params[] = {fa_value_int(part->low), fa_value_int(high),
                                          fa_value_int(part->mask.tail),
                                          fa_value_int(part->value.tail), fa_value_int(READ_PART)};
        struct fa_keys keys = {.arena = search->op->arena};

        code = fa_db_one(search->source->db, FA_SQL_TASK_FIND_BEGIN, params, FA_COUNT(params),
                         fa_keys_sink, &keys, &search->op->error);
        if (code != FAINA_OK)
            break;
        is_over = keys.count < READ_PART;
        if (keys.count > 0)
            high = keys.keys[keys.count - 1] - 1;
        if (keys.count > 0 && search->read >= READ_MAX) {
            search->found->has_more = true;
            break;
        }
        code = add_keys(search, &keys);
    }
    return code;
}

static enum faina_code find_end(struct search *search, const struct fa_id_part *part)
{
    const struct fa_value params[] = {fa_value_int(FA_FIND_NEWEST),   fa_value_int(part->mask.key),
                                      fa_value_int(part->value.key),  fa_value_int(part->mask.tail),
                                      fa_value_int(part->value.tail), fa_value_int(READ_PART)};
    struct fa_keys keys = {.arena = search->op->arena};
    enum faina_code code = fa_db_one(search->source->db, FA_SQL_TASK_FIND_END, params,
                                     FA_COUNT(params), fa_keys_sink, &keys, &search->op->error);

    if (code == FAINA_OK && keys.count == READ_PART)
        search->found->has_more = true;
    return code == FAINA_OK ? add_keys(search, &keys) : code;
}

static void sink_count(void *ctx, size_t n, const struct fa_value *c)
{
    (void)n;
    *(int64_t *)ctx = c[0].i;
}

/* Whether the oldest of the tasks is among the newest FA_FIND_NEWEST. */
static enum faina_code read_recent(struct search *search)
{
    const char *oldest = NULL;
    int64_t newer = FA_FIND_NEWEST;
    struct fa_id id;
    enum faina_code code;

    for (size_t i = 0; i < search->found->count; i++)
        if (oldest == NULL || strcmp(search->found->items[i].id, oldest) < 0)
            oldest = search->found->items[i].id;
    if (oldest == NULL || !fa_id_parse(oldest, &id))
        return FAINA_OK;
    code = fa_db_one(search->source->db, FA_SQL_TASK_NEWER,
                     (struct fa_value[]){fa_value_int(id.key), fa_value_int(FA_FIND_NEWEST)}, 2,
                     sink_count, &newer, &search->op->error);
    search->found->is_recent = newer < FA_FIND_NEWEST;
    return code;
}

static int newest_first(const void *a, const void *b)
{
    return strcmp(((const struct fa_found_task *)b)->id, ((const struct fa_found_task *)a)->id);
}

enum faina_code fa_read_part_of_id(struct fa_source *source, struct fa_op *op)
{
    struct fa_found *found = fa_arena_zero(op->arena, 1, sizeof(*found));
    struct search search = {.source = source, .op = op, .found = found};
    struct fa_id_part part;
    enum faina_code code = FAINA_OK;

    found->items = fa_arena_zero(op->arena, FA_FIND_MAX, sizeof(*found->items));
    if (fa_id_part_begin(op->id, &part))
        code = find_begin(&search, &part);
    if (code == FAINA_OK && fa_id_part_end(op->id, &part))
        code = find_end(&search, &part);
    if (code == FAINA_OK && op->wants_recent)
        code = read_recent(&search);
    qsort(found->items, found->count, sizeof(*found->items), newest_first);
    op->found = found;
    return code;
}
