/* queue.c - reads parts of the queue of one type, for servers of other protocols. */
#include "store/read/lookup.h"

#include "store/read/show.h"

struct best {
    int64_t rank, key; /* key 0: none */
};

static void sink_best(void *ctx, size_t n, const struct fa_value *c)
{
    struct best *best = ctx;

    (void)n;
    if (c[0].kind != FA_INT || c[1].kind != FA_INT)
        return; /* a lane without ready tasks */
    if (best->key == 0 || c[1].i < best->rank || (c[1].i == best->rank && c[0].i < best->key))
        *best = (struct best){.rank = c[1].i, .key = c[0].i};
}

/* Adds a task; one that can't be read, or has changed meanwhile, is left out. */
static enum faina_code add_task(struct fa_source *source, struct fa_op *op, int64_t key, bool brief)
{
    struct fa_row *row = fa_arena_zero(op->arena, 1, sizeof(*row)); /* the task points into it */
    enum faina_code code = fa_row_load(source, key, op->arena, row, &op->error);

    if (code == FAINA_OK && row->deleted_us != 0)
        code = FAINA_TASK_NOT_FOUND;
    if (code == FAINA_OK)
        code = fa_row_to_task(source, row, op->arena, true, brief,
                              &op->tasks->items[op->tasks->count], &op->error);
    op->tasks->count += code == FAINA_OK;
    if (source->db->has_failed)
        return code;
    fa_error_clear(&op->error);
    return FAINA_OK;
}

static enum faina_code read_delayed(struct fa_source *source, struct fa_op *op,
                                    const struct fa_value *lane, size_t limit)
{
    struct fa_value params[] = {lane[0], lane[1], fa_value_int(FA_QUEUE_READ_MAX)};
    struct fa_keys found = {.arena = op->arena};
    enum faina_code code =
        fa_db_one(source->db, FA_SQL_QUEUE_DELAYED, params, 3, fa_keys_sink, &found, &op->error);

    op->count = (int64_t)found.count;
    for (size_t i = 0; code == FAINA_OK && i < found.count && op->tasks->count < limit; i++)
        code = add_task(source, op, found.keys[i], limit > 1);
    return code;
}

enum faina_code fa_read_queue(struct fa_source *source, struct fa_op *op)
{
    const struct fa_value lane[] = {fa_value_text(op->queue.ns ? op->queue.ns : "default"),
                                    fa_value_text(op->queue.type)};
    struct fa_value urgent[] = {lane[0], lane[1], fa_value_int(1 - (int64_t)op->queue.priority),
                                fa_value_int(FA_QUEUE_READ_MAX)};
    size_t limit = op->queue.limit > 0 ? (size_t)op->queue.limit : 1;
    struct best best = {0};
    enum faina_code code = FAINA_OK;

    op->tasks = fa_arena_zero(op->arena, 1, sizeof(*op->tasks));
    op->tasks->items = fa_arena_zero(op->arena, limit, sizeof(*op->tasks->items));
    switch (op->queue.part) {
    case FA_QUEUE_KEY:
        return add_task(source, op, op->queue.key, false);
    case FA_QUEUE_READY:
        code = fa_db_one(source->db, FA_SQL_QUEUE_READY, lane, 2, sink_best, &best, &op->error);
        return code == FAINA_OK && best.key != 0 ? add_task(source, op, best.key, false) : code;
    case FA_QUEUE_DELAYED:
        return read_delayed(source, op, lane, limit);
    case FA_QUEUE_URGENT:
        return fa_db_one(source->db, FA_SQL_QUEUE_URGENT, urgent, 4, fa_db_sink_int, &op->count,
                         &op->error);
    }
    return code;
}
