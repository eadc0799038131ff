/* retention.c - finds tasks past retention with their payloads and events, and removes them. */
#include "store/upkeep/retention.h"

#include "store/read/show.h"
#include "model/states.h"
#include "store/read/lookup.h"
#include "store/queue/ops.h"

#include <assert.h>
#include <stdlib.h>

#define READ_AT_ONCE 20
#define BYTES_MAX (4 * 1024 * 1024) /* of payload in one result; the last part may exceed it */

/* Finding -------------------------------------------------------------------------------------- */

static int64_t before_us(int64_t now_us, int64_t age_ms)
{
    return age_ms < 0 ? INT64_MIN / 2 : now_us - age_ms * 1000;
}

static int64_t max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static enum faina_code find_keys(struct fa_source *source, const struct fa_expired_query *query,
                                 int64_t now_us, struct fa_keys *found, struct faina_error *err)
{
    int64_t completed_us = before_us(now_us, query->completed_ms);
    int64_t failed_us = before_us(now_us, query->failed_ms);
    int64_t last_us = max(completed_us, failed_us), high;
    struct fa_value limit = fa_value_int((int64_t)query->limit);

    if (query->events_ms != 0) {
        last_us = before_us(now_us, query->events_ms);
        return fa_db_one(source->db, FA_SQL_EVENT_EXPIRED,
                         (struct fa_value[]){fa_value_int(query->after),
                                             fa_value_int(fa_id_key_at(last_us)),
                                             fa_value_int(last_us), limit},
                         4, fa_keys_sink, found, err);
    }
    high = query->high != 0 ? query->high : fa_id_key_at(last_us);
    if (query->high != 0)
        completed_us = failed_us = INT64_MAX;
    return fa_db_one(source->db, FA_SQL_ENDED_EXPIRED,
                     (struct fa_value[]){fa_value_int(max(query->after, query->low - 1)),
                                         fa_value_int(high), fa_value_int(completed_us),
                                         fa_value_int(failed_us), limit},
                     5, fa_keys_sink, found, err);
}

struct gathering {
    struct fa_source *source;
    struct fa_arena *arena;
    struct fa_expired *out;
    size_t first;  /* the first item that is being read */
    size_t *sizes; /* capacity of each item's events */
    struct fa_row *rows;
    size_t bytes;
};

static void take_row(void *ctx, const struct fa_row *row)
{
    struct gathering *g = ctx;

    if (fa_status_is_ended(row->status) && row->has_task)
        g->rows[g->out->count++] = *row;
}

static void bind_key(void *ctx, size_t n, struct fa_value *params)
{
    const struct gathering *g = ctx;

    params[0] = fa_value_int(g->rows[g->first + n].id.key);
}

static struct faina_event *add_event(struct gathering *g, size_t i)
{
    struct fa_expired_task *item = &g->out->items[i];

    item->events = fa_arena_grow(g->arena, item->events, item->event_count, &g->sizes[i],
                                 sizeof(*item->events));
    return &item->events[item->event_count++];
}

static void sink_event(void *ctx, size_t n, const struct fa_value *columns)
{
    struct gathering *g = ctx;
    struct faina_event event;

    if (!fa_read_event(columns, g->rows[g->first + n].id.key, g->arena, &event))
        return; /* damaged events are left out */
    *add_event(g, g->first + n) = event;
    if (event.detail)
        g->bytes += strlen(event.detail);
}

static int oldest_first(const void *a, const void *b)
{
    int64_t x = ((const struct faina_event *)a)->at_us, y = ((const struct faina_event *)b)->at_us;

    return x < y ? -1 : x > y ? 1 : 0;
}

/* One task as users see it, with its own events. */
static enum faina_code finish_item(struct gathering *g, size_t i, struct faina_error *err)
{
    struct fa_expired_task *item = &g->out->items[i];
    struct fa_row *row = &g->rows[i];
    struct faina_event own[FA_OWN_EVENTS_MAX];
    size_t count = fa_read_own_events(row, g->arena, own);
    enum faina_code code = fa_row_to_task(g->source, row, g->arena, false, false, &item->task, err);

    item->key = row->id.key;
    item->version = row->version;
    for (size_t k = 0; k < count; k++)
        *add_event(g, i) = own[k];
    qsort(item->events, item->event_count, sizeof(*item->events), oldest_first);
    if (code == FAINA_OK)
        g->bytes += fa_task_size(&item->task);
    return code;
}

/* A damaged task can't be archived, so it is not removed (row.h, R4). */
static void leave_out(struct gathering *g, size_t i)
{
    size_t behind = g->out->count - i - 1;

    memmove(&g->rows[i], &g->rows[i + 1], behind * sizeof(*g->rows));
    memmove(&g->sizes[i], &g->sizes[i + 1], behind * sizeof(*g->sizes));
    memmove(&g->out->items[i], &g->out->items[i + 1], behind * sizeof(*g->out->items));
    g->out->count--;
    g->out->items[g->out->count] = (struct fa_expired_task){0};
    g->sizes[g->out->count] = 0;
}

static enum faina_code read_some(struct gathering *g, int64_t *keys, size_t count,
                                 struct faina_error *err)
{
    struct fa_rows_options options = {.with_task = true, .payload = true};
    struct fa_db_call events = {.sql = FA_SQL_EVENT_ALL,
                                .param_count = 1,
                                .bind = bind_key,
                                .bind_ctx = g,
                                .sink = sink_event,
                                .sink_ctx = g};
    enum faina_code code;

    g->first = g->out->count;
    code = fa_rows_load(g->source, keys, count, options, g->arena, take_row, g, err);
    events.rows = g->out->count - g->first;
    if (code == FAINA_OK)
        code = fa_db_run(g->source->db, &events, err);
    for (size_t i = g->first; code == FAINA_OK && i < g->out->count; i++) {
        code = finish_item(g, i, err);
        if (code == FAINA_INTERNAL && g->rows[i].damage != NULL) {
            fa_error_clear(err);
            code = FAINA_OK;
            leave_out(g, i--);
        }
    }
    return code;
}

enum faina_code fa_retention_find(struct fa_source *source, const struct fa_expired_query *query,
                                  int64_t now_us, struct fa_arena *arena, struct fa_expired *out,
                                  struct faina_error *err)
{
    struct gathering g = {.source = source, .arena = arena, .out = out};
    struct fa_keys found = {.arena = arena};
    enum faina_code code;
    size_t before;

    *out = (struct fa_expired){.after = query->after};
    code = find_keys(source, query, now_us, &found, err);
    out->items = fa_arena_zero(arena, found.count + 1, sizeof(*out->items));
    g.rows = fa_arena_zero(arena, found.count + 1, sizeof(*g.rows));
    g.sizes = fa_arena_zero(arena, found.count + 1, sizeof(*g.sizes));
    out->has_more = found.count == query->limit;
    for (size_t i = 0, n; code == FAINA_OK && i < found.count; i += n) {
        if (g.bytes > BYTES_MAX) {
            out->has_more = true;
            break;
        }
        n = found.count - i < READ_AT_ONCE ? found.count - i : READ_AT_ONCE;
        out->after = found.keys[i + n - 1]; /* before the read, which sorts the keys */
        before = out->count;
        code = read_some(&g, found.keys + i, n, err);
        out->left_out += n - (out->count - before);
    }
    return code;
}

/* Removing ------------------------------------------------------------------------------------- */

/* *out is NULL if the task was removed. */
static enum faina_code find_row(struct fa_unit *unit, int64_t key, struct fa_row **out,
                                struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    *out = fa_unit_cached(unit, key);
    if (*out == NULL) {
        struct fa_row read;

        code = fa_row_load(&unit->source, key, &unit->arena, &read, err);
        if (code == FAINA_TASK_NOT_FOUND) {
            fa_error_clear(err);
            return FAINA_OK;
        }
        if (code == FAINA_OK)
            *out = fa_unit_adopt(unit, &read);
    }
    return code == FAINA_OK ? fa_unit_load_task(unit, *out, err) : code;
}

static bool is_as_found(const struct fa_row *row, const struct fa_expired_task *item)
{
    return row != NULL && !row->is_purged && fa_status_is_ended(row->status) &&
           row->version == item->version;
}

enum faina_code fa_retention_remove(struct fa_unit *unit, const struct fa_expired *what,
                                    bool events_only, size_t *removed, struct faina_error *err)
{
    int64_t *keys = fa_arena_take(&unit->arena, (what->count + 1) * sizeof(*keys));
    enum faina_code code;

    *removed = 0;
    for (size_t i = 0; i < what->count; i++)
        keys[i] = what->items[i].key;
    code = fa_unit_flush(unit, err);
    if (code == FAINA_OK)
        code = fa_unit_read_ahead(unit, keys, what->count, err);
    for (size_t i = 0; code == FAINA_OK && i < what->count; i++) {
        struct fa_value key = fa_value_int(what->items[i].key);
        struct fa_row *row = NULL;

        code = find_row(unit, key.i, &row, err);
        if (code == FAINA_INTERNAL && !unit->source.db->has_failed)
            code = FAINA_OK; /* it was damaged since */
        if (code != FAINA_OK || !is_as_found(row, &what->items[i]))
            continue; /* T1 */
        if (events_only)
            code = fa_db_one(unit->source.db, FA_SQL_EVENT_DELETE, &key, 1, NULL, NULL, err);
        else
            fa_purge_row(unit, row);
        ++*removed;
    }
    return code;
}

/* Days ----------------------------------------------------------------------------------------- */

static void sink_day(void *ctx, size_t n, const struct fa_value *columns)
{
    struct fa_expired_day *day = ctx;

    (void)n;
    *day = (struct fa_expired_day){.has_days = true,
                                   .is_found = true,
                                   .low = columns[0].i,
                                   .high = columns[1].i,
                                   .tasks = columns[2].i,
                                   .versions = columns[3].i};
}

enum faina_code fa_retention_find_day(struct fa_db *db, const struct fa_expired_query *query,
                                      struct fa_expired_day *out, struct faina_error *err)
{
    int64_t now_us = fa_db_now(db);

    assert(fa_db_has(db, FA_DB_PARTITIONED_DAYS));
    *out = (struct fa_expired_day){.has_days = true};
    return fa_db_one(db, FA_SQL_DAY_FIND,
                     (struct fa_value[]){fa_value_int(before_us(now_us, query->completed_ms)),
                                         fa_value_int(before_us(now_us, query->failed_ms))},
                     2, sink_day, out, err);
}

enum faina_code fa_retention_drop_day(struct fa_db *db, const struct fa_expired_day *day,
                                      struct faina_error *err)
{
    int64_t is_dropped = 0;
    enum faina_code code =
        fa_db_one(db, FA_SQL_DAY_DROP,
                  (struct fa_value[]){fa_value_int(day->low), fa_value_int(day->high),
                                      fa_value_int(day->tasks), fa_value_int(day->versions)},
                  4, fa_db_sink_int, &is_dropped, err);

    if (code == FAINA_OK && !is_dropped)
        code = fa_error_set(err, FAINA_CONFLICT, "tasks of the day have changed meanwhile");
    return code;
}
