/* turns.c - see turns.h. */
#include "store/queue/turns.h"

#include <stdlib.h>
#include <string.h>

#define FORGET_MIN 16 /* groups to forget at once, besides as many as are new */

/* A lane and rank. */
struct queue {
    int64_t lane, rank;
    bool is_known;    /* it has a row in group_turn */
    int64_t greatest; /* turn of all, also of tasks that are not ready any more */
    int64_t phase;    /* the place of the next new group */
    int64_t first;    /* turn of the ready tasks; 0: there are none */
    int64_t new_count;
};

struct group {
    size_t queue;
    const char *name;
    int64_t last; /* 0: it is forgotten */
};

struct entry {
    struct fa_row *row;
    size_t queue, group;
};

struct turns {
    struct fa_unit *unit;
    struct entry *entries;
    size_t entry_count;
    struct queue *queues;
    size_t queue_count;
    struct group *groups;
    size_t group_count;
};

/* In an edited store, a lane with groups may have a task without. */
static const char *group_of(const struct fa_row *row)
{
    return row->group != NULL ? row->group : row->lane->type;
}

static int compare_queues(const struct fa_row *x, const struct fa_row *y)
{
    if (x->lane != y->lane)
        return x->lane->id < y->lane->id ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_group(const void *a, const void *b)
{
    const struct fa_row *x = ((const struct entry *)a)->row, *y = ((const struct entry *)b)->row;
    int order = compare_queues(x, y);

    return order != 0 ? order : strcmp(group_of(x), group_of(y));
}

static int by_age(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->queue != y->queue)
        return x->queue < y->queue ? -1 : 1;
    return (x->row->id.key > y->row->id.key) - (x->row->id.key < y->row->id.key);
}

/* Finds the rows that need a turn. Their groups are in `task`, which may not have been read. */
static enum faina_code choose(struct turns *turns, struct fa_row *const *rows, size_t count,
                              struct faina_error *err)
{
    struct fa_arena *arena = &turns->unit->arena;
    struct fa_row **unread = NULL;
    size_t unread_count = 0, unread_size = 0, size = 0;

    for (size_t i = 0; i < count; i++) {
        if (!rows[i]->lane->has_groups || rows[i]->turn != 0)
            continue;
        turns->entries = fa_arena_grow(arena, turns->entries, turns->entry_count, &size,
                                       sizeof(*turns->entries));
        turns->entries[turns->entry_count++] = (struct entry){.row = rows[i]};
        if (rows[i]->has_task)
            continue;
        unread = fa_arena_grow(arena, unread, unread_count, &unread_size, sizeof(struct fa_row *));
        unread[unread_count++] = rows[i];
    }
    return unread_count > 0
               ? fa_rows_load_tasks(&turns->unit->source, unread, unread_count, arena, err)
               : FAINA_OK;
}

/* Finds the queues and groups of the rows. The queues are in the order in which they are locked. */
static void collect(struct turns *turns)
{
    struct fa_arena *arena = &turns->unit->arena;

    qsort(turns->entries, turns->entry_count, sizeof(*turns->entries), by_group);
    turns->queues = fa_arena_take(arena, turns->entry_count * sizeof(*turns->queues));
    turns->groups = fa_arena_take(arena, turns->entry_count * sizeof(*turns->groups));
    for (size_t i = 0; i < turns->entry_count; i++) {
        struct entry *entry = &turns->entries[i];
        const struct fa_row *before = i > 0 ? turns->entries[i - 1].row : NULL;

        if (before == NULL || compare_queues(before, entry->row) != 0)
            turns->queues[turns->queue_count++] =
                (struct queue){.lane = entry->row->lane->id, .rank = entry->row->rank};
        if (before == NULL || by_group(entry - 1, entry) != 0)
            turns->groups[turns->group_count++] =
                (struct group){.queue = turns->queue_count - 1, .name = group_of(entry->row)};
        entry->queue = turns->queue_count - 1;
        entry->group = turns->group_count - 1;
    }
    qsort(turns->entries, turns->entry_count, sizeof(*turns->entries), by_age);
}

/* Reading ------------------------------------------------------------------------------------- */

static void bind_queue(void *ctx, size_t n, struct fa_value *v)
{
    const struct queue *queue = &((struct turns *)ctx)->queues[n];

    v[0] = fa_value_int(queue->lane);
    v[1] = fa_value_int(queue->rank);
}

static void bind_group(void *ctx, size_t n, struct fa_value *v)
{
    struct turns *turns = ctx;

    bind_queue(turns, turns->groups[n].queue, v);
    v[2] = fa_value_text(turns->groups[n].name);
}

static void sink_lock(void *ctx, size_t n, const struct fa_value *columns)
{
    struct queue *queue = &((struct turns *)ctx)->queues[n];

    queue->is_known = true;
    queue->greatest = fa_value_as_int(&columns[0]);
    queue->phase = fa_value_as_int(&columns[1]);
}

static void sink_first(void *ctx, size_t n, const struct fa_value *columns)
{
    ((struct turns *)ctx)->queues[n].first = fa_value_as_int(&columns[0]);
}

static void sink_group(void *ctx, size_t n, const struct fa_value *columns)
{
    ((struct turns *)ctx)->groups[n].last = fa_value_as_int(&columns[0]);
}

static enum faina_code run(struct turns *turns, enum fa_sql sql, size_t rows, size_t param_count,
                           fa_db_bind_fn *bind, fa_db_sink_fn *sink, struct faina_error *err)
{
    struct fa_db_call call = {.sql = sql,
                              .rows = rows,
                              .param_count = param_count,
                              .bind = bind,
                              .bind_ctx = turns,
                              .sink = sink,
                              .sink_ctx = turns};

    return fa_db_run(turns->unit->source.db, &call, err);
}

/* U3. Where the store is shared, a row must exist to be locked. */
static enum faina_code lock_queues(struct turns *turns, struct faina_error *err)
{
    enum faina_code code =
        run(turns, FA_SQL_TURN_LOCK, turns->queue_count, 2, bind_queue, sink_lock, err);
    bool are_known = true;

    for (size_t i = 0; i < turns->queue_count; i++)
        are_known &= turns->queues[i].is_known;
    if (code != FAINA_OK || are_known || !fa_db_has(turns->unit->source.db, FA_DB_MANY_WRITERS))
        return code;
    code = run(turns, FA_SQL_TURN_OPEN, turns->queue_count, 2, bind_queue, NULL, err);
    return code == FAINA_OK
               ? run(turns, FA_SQL_TURN_LOCK, turns->queue_count, 2, bind_queue, sink_lock, err)
               : code;
}

static enum faina_code read(struct turns *turns, struct faina_error *err)
{
    enum faina_code code = lock_queues(turns, err);

    if (code == FAINA_OK)
        code = run(turns, FA_SQL_TURN_FIRST, turns->queue_count, 2, bind_queue, sink_first, err);
    return code == FAINA_OK
               ? run(turns, FA_SQL_TURN_GET, turns->group_count, 3, bind_group, sink_group, err)
               : code;
}

/* Assigning ----------------------------------------------------------------------------------- */

/* The first turn after `first` with the place `phase`. */
static int64_t turn_after(int64_t first, int64_t phase)
{
    int64_t place = (first + 1) % FA_TURN_ROUND;

    return first + 1 + (phase - place + FA_TURN_ROUND) % FA_TURN_ROUND;
}

/* An empty queue begins a round after all turns that it has had, so its groups are forgotten. */
static void assign(struct queue *queue, struct group *group, struct fa_row *row)
{
    bool is_empty = queue->first == 0;
    int64_t first = is_empty ? queue->greatest + FA_TURN_ROUND : queue->first;

    if (group->last != 0 && group->last + FA_TURN_ROUND > first) {
        row->turn = group->last + FA_TURN_ROUND;
    } else {
        row->turn = turn_after(first, queue->phase);
        queue->phase = (queue->phase + 1) % FA_TURN_ROUND;
        queue->new_count++;
    }
    group->last = row->turn;
    if (row->turn > queue->greatest)
        queue->greatest = row->turn;
    if (is_empty)
        queue->first = row->turn;
}

/* Writing ------------------------------------------------------------------------------------- */

/* First the queues, then the groups. */
static void bind_put(void *ctx, size_t n, struct fa_value *v)
{
    struct turns *turns = ctx;
    bool is_queue = n < turns->queue_count;

    if (is_queue) {
        bind_queue(turns, n, v);
        v[2] = fa_value_text("");
        v[3] = fa_value_int(turns->queues[n].greatest);
        v[4] = fa_value_int(turns->queues[n].phase);
    } else {
        bind_group(turns, n - turns->queue_count, v);
        v[3] = fa_value_int(turns->groups[n - turns->queue_count].last);
        v[4] = fa_value_int(0);
    }
}

/* U2 */
static void bind_forget(void *ctx, size_t n, struct fa_value *v)
{
    const struct queue *queue = &((struct turns *)ctx)->queues[n];

    bind_queue(ctx, n, v);
    v[2] = fa_value_int(queue->first - FA_TURN_ROUND);
    v[3] = fa_value_int(FORGET_MIN + 2 * queue->new_count);
}

enum faina_code fa_turns_assign(struct fa_unit *unit, struct fa_row *const *rows, size_t count,
                                struct faina_error *err)
{
    struct turns turns = {.unit = unit};
    enum faina_code code;

    code = choose(&turns, rows, count, err);
    if (code != FAINA_OK || turns.entry_count == 0)
        return code;
    collect(&turns);
    code = read(&turns, err);
    if (code != FAINA_OK)
        return code;
    for (size_t i = 0; i < turns.entry_count; i++)
        assign(&turns.queues[turns.entries[i].queue], &turns.groups[turns.entries[i].group],
               turns.entries[i].row);
    code =
        run(&turns, FA_SQL_TURN_PUT, turns.queue_count + turns.group_count, 5, bind_put, NULL, err);
    return code == FAINA_OK
               ? run(&turns, FA_SQL_TURN_FORGET, turns.queue_count, 4, bind_forget, NULL, err)
               : code;
}
