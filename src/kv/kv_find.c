/*
 * kv_find.c - tasks by the beginning or the end of their ids, which the index has in order.
 */
#include "kv/kv_read_lists.h"

#include "kv/kv_index.h"
#include "model/id_part.h"
#include "model/limits.h"
#include "service/refusal.h"

#include <stdlib.h>

#define READ_MAX 100 /* tasks that are read */

struct search {
    struct fa_kv_engine *engine;
    struct fa_op *op;
    struct fa_found *found;
    size_t read;
};

/* A task that is deleted, damaged or out of the caller's reach is left out. */
static enum faina_code add(struct search *search, const char *id)
{
    struct fa_op get = {
        .kind = FA_OP_GET, .id = id, .grant = search->op->grant, .arena = search->op->arena};
    struct fa_found *found = search->found;
    struct fa_found_task *item;

    if (fa_found_has(found, id))
        return FAINA_OK;
    if (found->count == FA_FIND_MAX || search->read++ == READ_MAX) {
        found->has_more = true;
        return FAINA_OK;
    }
    fa_kv_read_op(search->engine, &get);
    if (get.code == FAINA_UNAVAILABLE) {
        search->op->error = get.error;
        return get.code;
    }
    if (get.code != FAINA_OK)
        return FAINA_OK;
    item = &found->items[found->count++];
    *item = (struct fa_found_task){.ns = get.task->ns,
                                   .type = get.task->type,
                                   .status = get.task->status,
                                   .created_us = get.task->created_us};
    memcpy(item->id, get.task->id, sizeof(item->id));
    return FAINA_OK;
}

/* Adds those of the ids that match. */
static enum faina_code add_matches(struct search *search, const struct fa_id_part *part,
                                   const char **ids, size_t count)
{
    enum faina_code code = FAINA_OK;
    struct fa_id id;

    for (size_t i = 0; code == FAINA_OK && !search->found->has_more && i < count; i++)
        if (fa_id_parse(ids[i], &id) && fa_id_part_matches(part, id))
            code = add(search, ids[i]);
    return code;
}

static int newest_first(const void *a, const void *b)
{
    return strcmp(((const struct fa_found_task *)b)->id, ((const struct fa_found_task *)a)->id);
}

/* Whether the oldest of the tasks, which is the last one, is among the newest. */
static bool is_recent(const struct fa_found *found, const char **newest, size_t count)
{
    return found->count > 0 && count > 0 &&
           strcmp(found->items[found->count - 1].id, newest[count - 1]) >= 0;
}

enum faina_code fa_kv_find(struct fa_kv_engine *engine, struct fa_op *op)
{
    const struct faina_query all = {.ns = "*"};
    struct fa_found *found = fa_arena_zero(op->arena, 1, sizeof(*found));
    struct search search = {.engine = engine, .op = op, .found = found};
    struct fa_id_part part;
    const char **ids, **newest = NULL;
    size_t count, newest_count = 0;
    enum faina_code code = fa_kv_engine_await(engine, &op->error);

    found->items = fa_arena_zero(op->arena, FA_FIND_MAX, sizeof(*found->items));
    if (code == FAINA_OK && fa_id_part_begin(op->id, &part)) {
        count = fa_kv_index_list(engine->index, &all, part.high + 1, READ_MAX, op->arena, &ids);
        code = add_matches(&search, &part, ids, count);
    }
    if (code == FAINA_OK && (op->wants_recent || fa_id_part_end(op->id, &part)))
        newest_count =
            fa_kv_index_list(engine->index, &all, INT64_MAX, FA_FIND_NEWEST, op->arena, &newest);
    if (code == FAINA_OK && fa_id_part_end(op->id, &part))
        code = add_matches(&search, &part, newest, newest_count);
    qsort(found->items, found->count, sizeof(*found->items), newest_first);
    found->is_recent = op->wants_recent && is_recent(found, newest, newest_count);
    op->found = found;
    return code;
}
