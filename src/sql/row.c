/*
 * row.c - reading tasks.
 *
 * The place of a column in its statement is fixed in queries/; the readers below follow the same
 * order, one function per statement.
 */
#include "sql/row.h"

#include "model/states.h"
#include "sql/runs.h"

#include <assert.h>
#include <stdlib.h>

/* How many columns the readers below take, where several follow each other in one statement. */
#define TASK_COLUMNS 18
#define READY_COLUMNS 13
#define ENDED_COLUMNS 15

void fa_keys_sink(void *ctx, size_t n, const struct fa_value *columns)
{
    struct fa_keys *list = ctx;

    (void)n;
    list->keys = fa_arena_grow(list->arena, list->keys, list->count, &list->size, sizeof(int64_t));
    list->keys[list->count++] = columns[0].i;
}

bool fa_row_is_plain(const struct fa_row *row)
{
    return row->run_at_us == 0 && row->first_metadata == NULL && row->spec == NULL &&
           row->input_hash == NULL && row->parent == 0 && row->team == NULL &&
           row->created_by == NULL && row->retry.base_ms == 0 && row->retry.factor == 0 &&
           row->retry.max_ms == 0;
}

/* Rows being read: number n of the call is rows[n]. */
struct sink {
    struct fa_row **rows;
    struct fa_arena *arena;
    int64_t *lane_ids;
    bool is_damaged; /* a value that we never write */
};

/* A status out of the file, which somebody may have edited. */
static void read_status(struct sink *sink, struct fa_row *row, const struct fa_value *value)
{
    if (value->kind == FA_INT && value->i >= 0 && value->i < FAINA_STATUS_COUNT)
        row->status = (enum faina_status)value->i;
    else
        sink->is_damaged = true;
}

static void read_task(const struct fa_value *c, struct fa_arena *arena, struct fa_row *row)
{
    row->id.key = c[0].i;
    row->id.tail = c[1].i;
    row->rank = c[3].i;
    row->created_us = c[4].i;
    row->max_attempts = c[5].i;
    row->run_at_us = fa_value_as_int(&c[6]);
    row->name = fa_value_dup(&c[7], arena);
    row->key = fa_value_dup(&c[8], arena);
    row->input_hash = fa_value_dup(&c[9], arena);
    row->parent = fa_value_as_int(&c[10]);
    row->child = fa_value_dup(&c[11], arena);
    row->depth = fa_value_as_int(&c[12]);
    row->team = fa_value_dup(&c[13], arena);
    row->created_by = fa_value_dup(&c[14], arena);
    row->retry.base_ms = fa_value_as_int(&c[15]);
    row->retry.factor = c[16].kind == FA_REAL ? c[16].d : 0;
    row->retry.max_ms = fa_value_as_int(&c[17]);
    row->has_task = true;
}

/* A task that nobody has touched may have nulls for all of these but the flags. */
static void read_ready(const struct fa_value *c, struct fa_arena *arena, struct fa_row *row)
{
    row->home = FA_HOME_READY;
    row->status = FAINA_PENDING;
    row->version = c[0].kind == FA_INT ? c[0].i : 1;
    row->fence = fa_value_as_int(&c[1]);
    row->attempts = fa_value_as_int(&c[2]);
    row->flags = fa_value_as_int(&c[3]);
    row->progress = fa_value_as_int(&c[4]);
    row->state = fa_value_dup(&c[5], arena);
    row->updated_us = c[6].kind == FA_INT ? c[6].i : row->created_us;
    row->claimed_us = fa_value_as_int(&c[7]);
    row->started_us = fa_value_as_int(&c[8]);
    row->error = fa_value_dup(&c[9], arena);
    row->metadata = fa_value_dup(&c[10], arena);
    row->due_us = fa_value_as_int(&c[11]);
}

/* What was asked for that may be large. */
static void read_payload(const struct fa_value *c, struct fa_arena *arena, struct fa_row *row)
{
    row->input = fa_value_dup(&c[0], arena);
    row->first_metadata = fa_value_dup(&c[1], arena);
    row->spec = fa_value_dup(&c[2], arena);
    row->has_payload = true;
}

void fa_row_from_ready_scan(const struct fa_value *columns, struct fa_arena *arena,
                            bool has_payload, struct fa_row *out)
{
    *out = (struct fa_row){0};
    read_task(columns, arena, out);
    read_ready(columns + TASK_COLUMNS, arena, out);
    out->is_in_run = fa_value_as_int(&columns[TASK_COLUMNS + READY_COLUMNS - 1]);
    if (has_payload)
        read_payload(columns + TASK_COLUMNS + READY_COLUMNS, arena, out);
}

bool fa_row_is_elsewhere(const struct fa_value *columns)
{
    return columns[1].kind == FA_NULL;
}

bool fa_row_from_plain_scan(const struct fa_value *c, struct fa_arena *arena, struct fa_row *out)
{
    if (c[8].kind != FA_NULL || fa_row_is_elsewhere(c))
        return false;
    *out = (struct fa_row){
        .id = {c[0].i, c[1].i},
        .rank = c[2].i,
        .has_task = true,
        .has_payload = true,
        .created_us = c[3].i,
        .updated_us = c[3].i,
        .max_attempts = c[4].i,
        .input = fa_value_dup(&c[5], arena),
        .name = fa_value_dup(&c[6], arena),
        .key = fa_value_dup(&c[7], arena),
        .home = FA_HOME_READY,
        .status = FAINA_PENDING,
        .version = 1,
        .is_in_run = fa_value_as_int(&c[9]),
    };
    return true;
}

static void sink_task(void *ctx, size_t n, const struct fa_value *columns)
{
    struct sink *sink = ctx;

    read_task(columns, sink->arena, sink->rows[n]);
    sink->lane_ids[n] = columns[2].i;
}

static void sink_ready(void *ctx, size_t n, const struct fa_value *columns)
{
    struct sink *sink = ctx;
    struct fa_row *row = sink->rows[n];
    const char *run = fa_value_dup(&columns[13], sink->arena);

    if (!fa_run_has(columns[12].i, run, row->id.key))
        return;
    read_ready(columns, sink->arena, row);
    row->is_in_run = run != NULL;
}

static void sink_held(void *ctx, size_t n, const struct fa_value *c)
{
    struct sink *sink = ctx;
    struct fa_row *row = sink->rows[n];

    row->home = FA_HOME_HELD;
    row->id.tail = c[0].i;
    sink->lane_ids[n] = c[1].i;
    row->rank = c[2].i;
    read_status(sink, row, &c[3]);
    row->version = c[4].i;
    row->fence = c[5].i;
    row->attempts = c[6].i;
    row->flags = c[7].i;
    row->progress = c[8].i;
    row->updated_us = c[9].i;
    row->claimed_us = fa_value_as_int(&c[10]);
    row->started_us = fa_value_as_int(&c[11]);
    row->at_us = fa_value_as_int(&c[12]);
    row->worker = fa_value_dup(&c[13], sink->arena);
    row->state = fa_value_dup(&c[14], sink->arena);
    row->error = fa_value_dup(&c[15], sink->arena);
    row->metadata = fa_value_dup(&c[16], sink->arena);
}

static void sink_parked(void *ctx, size_t n, const struct fa_value *c)
{
    struct sink *sink = ctx;
    struct fa_row *row = sink->rows[n];

    row->home = FA_HOME_PARKED;
    read_status(sink, row, &c[0]);
    row->at_us = fa_value_as_int(&c[1]);
    row->version = c[2].i;
    row->fence = c[3].i;
    row->attempts = c[4].i;
    row->flags = c[5].i;
    row->deps_left = c[6].i;
    row->deps_bad = c[7].i;
    row->progress = c[8].i;
    row->updated_us = c[9].i;
    row->claimed_us = fa_value_as_int(&c[10]);
    row->started_us = fa_value_as_int(&c[11]);
    row->state = fa_value_dup(&c[12], sink->arena);
    row->error = fa_value_dup(&c[13], sink->arena);
    row->metadata = fa_value_dup(&c[14], sink->arena);
}

static void read_ended(struct sink *sink, struct fa_row *row, const struct fa_value *c)
{
    row->home = FA_HOME_ENDED;
    read_status(sink, row, &c[0]);
    row->version = c[1].i;
    row->fence = c[2].i;
    row->attempts = c[3].i;
    row->flags = c[4].i;
    row->progress = c[5].i;
    row->updated_us = c[6].i;
    row->claimed_us = fa_value_as_int(&c[7]);
    row->started_us = fa_value_as_int(&c[8]);
    row->completed_us = c[9].i;
    row->deleted_us = fa_value_as_int(&c[10]);
    row->worker = fa_value_dup(&c[11], sink->arena);
    row->state = fa_value_dup(&c[12], sink->arena);
    row->error = fa_value_dup(&c[13], sink->arena);
    row->metadata = fa_value_dup(&c[14], sink->arena);
}

static void sink_ended(void *ctx, size_t n, const struct fa_value *columns)
{
    struct sink *sink = ctx;

    read_ended(sink, sink->rows[n], columns);
}

static void sink_payload(void *ctx, size_t n, const struct fa_value *c)
{
    struct sink *sink = ctx;
    struct fa_row *row = sink->rows[n];

    read_payload(c, sink->arena, row);
    if (row->output == NULL)
        row->output = fa_value_dup(&c[3], sink->arena);
}

static void bind_key(void *ctx, size_t n, struct fa_value *v)
{
    v[0] = fa_value_int(((struct sink *)ctx)->rows[n]->id.key);
}

static void bind_place(void *ctx, size_t n, struct fa_value *v)
{
    const struct fa_row *row = ((struct sink *)ctx)->rows[n];

    v[0] = fa_value_int(row->lane->id);
    v[1] = fa_value_int(row->rank);
    v[2] = fa_value_int(row->id.key);
}

/* One of the statements that read tasks by their keys. */
static struct fa_db_call call_for(enum fa_sql sql, struct sink *sink, size_t count,
                                  fa_db_sink_fn *take, bool for_change)
{
    bool is_place = sql == FA_SQL_READY_GET;

    return (struct fa_db_call){.sql = sql,
                               .rows = count,
                               .param_count = is_place ? 3 : 1,
                               .bind = is_place ? bind_place : bind_key,
                               .bind_ctx = sink,
                               .sink = take,
                               .sink_ctx = sink,
                               .for_change = for_change};
}

/* Reads what was asked for, for rows that don't have it; `lane` stays NULL for tasks that are not
 * there. */
static enum faina_code load_tasks(struct fa_source *source, struct sink *sink, size_t count,
                                  struct faina_error *err)
{
    struct fa_db_call call = call_for(FA_SQL_TASK_GET, sink, count, sink_task, false);
    enum faina_code code;

    for (size_t i = 0; i < count; i++)
        sink->lane_ids[i] = 0;
    code = fa_db_run(source->db, &call, err);
    for (size_t i = 0; code == FAINA_OK && i < count; i++) {
        if (sink->rows[i]->has_task)
            code = fa_lanes_read(source->lanes, source->db, sink->lane_ids[i], &sink->rows[i]->lane,
                                 err);
    }
    return code;
}

static enum faina_code check_damage(const struct sink *sink, struct faina_error *err)
{
    if (!sink->is_damaged)
        return FAINA_OK;
    return fa_error_set(err, FAINA_INTERNAL, "a task has a status that there is not");
}

enum faina_code fa_row_load_task(struct fa_source *source, struct fa_row *row,
                                 struct fa_arena *arena, struct faina_error *err)
{
    int64_t lane_id;
    struct sink sink = {.rows = &row, .arena = arena, .lane_ids = &lane_id};
    enum faina_code code;

    if (row->has_task)
        return FAINA_OK;
    code = load_tasks(source, &sink, 1, err);
    if (code == FAINA_OK && !row->has_task)
        code = fa_error_set(err, FAINA_TASK_NOT_FOUND, "there is no such task");
    return code;
}

enum faina_code fa_rows_load_tasks(struct fa_source *source, struct fa_row **rows, size_t count,
                                   struct fa_arena *arena, struct faina_error *err)
{
    struct sink sink = {.rows = rows, .arena = arena};

    if (count == 0)
        return FAINA_OK;
    sink.lane_ids = fa_arena_zero(arena, count, sizeof(int64_t));
    return load_tasks(source, &sink, count, err);
}

enum faina_code fa_row_load_payload(struct fa_source *source, struct fa_row *row,
                                    struct fa_arena *arena, struct faina_error *err)
{
    struct sink sink = {.rows = &row, .arena = arena};
    struct fa_db_call call = call_for(FA_SQL_TASK_PAYLOAD, &sink, 1, sink_payload, false);

    return row->has_payload ? FAINA_OK : fa_db_run(source->db, &call, err);
}

/* Reads the standing of rows if they are held. */
static enum faina_code load_held(struct fa_source *source, struct sink *sink, size_t count,
                                 struct faina_error *err)
{
    struct fa_db_call call = call_for(FA_SQL_HELD_GET, sink, count, sink_held, source->for_change);
    enum faina_code code;

    if (source->also != NULL) {
        struct fa_db_call calls[] = {*source->also, call};

        source->also = NULL;
        code = fa_db_run_all(source->db, calls, FA_COUNT(calls), err);
    } else {
        code = fa_db_run(source->db, &call, err);
    }
    if (code == FAINA_OK)
        code = check_damage(sink, err);
    for (size_t i = 0; code == FAINA_OK && i < count; i++) {
        if (sink->rows[i]->home == FA_HOME_HELD)
            code = fa_lanes_read(source->lanes, source->db, sink->lane_ids[i], &sink->rows[i]->lane,
                                 err);
    }
    return code;
}

enum faina_code fa_row_load_held(struct fa_source *source, int64_t key, struct fa_arena *arena,
                                 struct fa_row *out, bool *found, struct faina_error *err)
{
    int64_t lane_id;
    struct sink sink = {.rows = &out, .arena = arena, .lane_ids = &lane_id};
    enum faina_code code;

    *out = (struct fa_row){.id.key = key};
    code = load_held(source, &sink, 1, err);
    *found = out->home == FA_HOME_HELD;
    return code;
}

/* Where a task stands is not known before looking; the commonest places come first. Over a network
 * all places are asked at once. */
static enum faina_code load_standings(struct fa_source *source, struct sink *sink, size_t count,
                                      struct faina_error *err)
{
    bool lock = source->for_change;
    struct fa_db_call calls[] = {
        call_for(FA_SQL_ENDED_GET, sink, count, sink_ended, lock),
        call_for(FA_SQL_READY_GET, sink, count, sink_ready, lock),
        call_for(FA_SQL_PARKED_GET, sink, count, sink_parked, lock),
        call_for(FA_SQL_HELD_GET, sink, count, sink_held, lock),
    };
    enum faina_code code = FAINA_OK;

    if (source->db->is_shared)
        code = fa_db_run_all(source->db, calls, FA_COUNT(calls), err);
    else
        for (size_t i = 0;
             code == FAINA_OK && i < FA_COUNT(calls) && sink->rows[0]->home == FA_HOME_NONE; i++)
            code = fa_db_run(source->db, &calls[i], err);
    return code == FAINA_OK ? check_damage(sink, err) : code;
}

static enum faina_code refuse_places(struct faina_error *err)
{
    return fa_error_set(err, FAINA_INTERNAL,
                        "a task's rows don't fit together; faina doctor says more");
}

#define PLACE_TRIES_MAX 50 /* a task that moves on each time we look */

enum faina_code fa_row_load(struct fa_source *source, int64_t key, struct fa_arena *arena,
                            struct fa_row *out, struct faina_error *err)
{
    int64_t lane_id;
    struct sink sink = {.rows = &out, .arena = arena, .lane_ids = &lane_id};
    int tries = source->db->is_shared && source->for_change ? PLACE_TRIES_MAX : 1;
    enum faina_code code = FAINA_OK;

    /* Each statement sees what is committed when it begins: a task that another node moves
     * meanwhile may be in none of its places. Once it is locked it stays. */
    for (int i = 0; i < tries; i++) {
        *out = (struct fa_row){.id.key = key};
        code = fa_row_load_task(source, out, arena, err);
        if (code == FAINA_OK)
            code = load_standings(source, &sink, 1, err);
        if (code != FAINA_OK || out->home != FA_HOME_NONE)
            return code;
    }
    return refuse_places(err);
}

/* Many at once ------------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x > y ? -1 : x < y;
}

/* Moves the rows for which `home` is known (or not) to the front; gives their number. */
static size_t select_rows(struct fa_row **rows, size_t count, bool is_known)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if ((rows[i]->home != FA_HOME_NONE) == is_known) {
            struct fa_row *row = rows[i];

            rows[i] = rows[kept];
            rows[kept++] = row;
        }
    }
    return kept;
}

static size_t select_tasks(struct fa_row **rows, size_t count, bool has_task)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (rows[i]->has_task == has_task) {
            struct fa_row *row = rows[i];

            rows[i] = rows[kept];
            rows[kept++] = row;
        }
    }
    return kept;
}

/* Standing and task of those that are not held. Who has moved meanwhile is left out; whoever needs
 * it asks for it by itself. */
static enum faina_code load_others(struct fa_source *source, struct sink *sink, size_t count,
                                   struct faina_error *err)
{
    size_t missing = select_rows(sink->rows, count, false);
    enum faina_code code = FAINA_OK;

    if (missing > 0)
        code = load_tasks(source, sink, missing, err);
    if (code == FAINA_OK)
        missing = select_tasks(sink->rows, missing, true);
    if (code == FAINA_OK && missing > 0)
        code = load_standings(source, sink, missing, err);
    return code;
}

enum faina_code fa_rows_load(struct fa_source *source, int64_t *keys, size_t count,
                             struct fa_rows_wish wish, struct fa_arena *arena,
                             fa_row_found_fn *found, void *ctx, struct faina_error *err)
{
    struct fa_row *rows = fa_arena_zero(arena, count + 1, sizeof(*rows));
    struct sink sink = {.arena = arena};
    enum faina_code code;
    size_t n;

    qsort(keys, count, sizeof(*keys),
          compare_keys); /* who locks more than one takes the youngest first */
    sink.rows = fa_arena_take(arena, (count + 1) * sizeof(struct fa_row *));
    sink.lane_ids = fa_arena_zero(arena, count + 1, sizeof(int64_t));
    for (size_t i = 0; i < count; i++) {
        rows[i].id.key = keys[i];
        sink.rows[i] = &rows[i];
    }
    code = load_held(source, &sink, count, err);
    if (code == FAINA_OK)
        code = load_others(source, &sink, count, err);
    n = select_rows(sink.rows, count, true);
    if (code == FAINA_OK && wish.whole) {
        size_t bare = select_tasks(sink.rows, n, false);

        if (bare > 0)
            code = load_tasks(source, &sink, bare, err);
    }
    if (code == FAINA_OK && wish.payload && n > 0) {
        struct fa_db_call call = call_for(FA_SQL_TASK_PAYLOAD, &sink, n, sink_payload, false);

        code = fa_db_run(source->db, &call, err);
    }
    for (size_t i = 0; code == FAINA_OK && i < n; i++)
        found(ctx, sink.rows[i]);
    return code;
}

/* Subtasks --------------------------------------------------------------------------------- */

struct child_sink {
    struct sink sink; /* rows[n] is the row number n that came */
    size_t count;
};

static void sink_child(void *ctx, size_t n, const struct fa_value *c)
{
    struct child_sink *children = ctx;
    struct sink *sink = &children->sink;
    struct fa_row *row = sink->rows[children->count];

    (void)n;
    *row = (struct fa_row){0};
    read_task(c, sink->arena, row);
    sink->lane_ids[children->count++] = c[2].i;
    c += TASK_COLUMNS;
    if (c[0].kind != FA_NULL)
        read_ended(sink, row, c);
    c += ENDED_COLUMNS;
    read_payload(c, sink->arena, row);
    row->output = fa_value_dup(&c[3], sink->arena);
}

static void sink_child_end(void *ctx, size_t n, const struct fa_value *c)
{
    struct child_sink *children = ctx;
    struct sink *sink = &children->sink;
    struct fa_row *row = sink->rows[children->count];

    (void)n;
    *row = (struct fa_row){.id = {c[0].i, c[1].i}, .has_task = true, .has_payload = true};
    sink->lane_ids[children->count++] = c[2].i;
    row->rank = c[3].i;
    row->name = fa_value_dup(&c[4], sink->arena);
    if (c[5].kind == FA_NULL)
        return;
    row->home = FA_HOME_ENDED;
    read_status(sink, row, &c[5]);
    row->deleted_us = fa_value_as_int(&c[6]);
    row->error = fa_value_dup(&c[7], sink->arena);
    row->output = fa_value_dup(&c[8], sink->arena);
}

/* How those stand that have not ended. */
static enum faina_code load_live(struct fa_source *source, struct sink *sink, size_t count,
                                 struct faina_error *err)
{
    size_t live = select_rows(sink->rows, count, false);
    enum faina_code code = FAINA_OK;

    if (source->db->is_shared)
        return live > 0 ? load_standings(source, sink, live, err) : FAINA_OK;
    for (size_t i = 0; code == FAINA_OK && i < live; i++) {
        struct sink one = {
            .rows = &sink->rows[i], .arena = sink->arena, .lane_ids = &sink->lane_ids[i]};

        code = load_standings(source, &one, 1, err);
        if (code == FAINA_OK && sink->rows[i]->home == FA_HOME_NONE)
            code = refuse_places(err);
    }
    return code;
}

enum faina_code fa_rows_load_children(struct fa_source *source, const struct fa_row *parent,
                                      int64_t after, bool ends, struct fa_row *rows, size_t *count,
                                      struct fa_arena *arena, struct faina_error *err)
{
    const struct fa_value params[3] = {fa_value_int(parent->id.key), fa_value_int(after),
                                       fa_value_int((int64_t)*count)};
    struct child_sink children = {.sink.arena = arena};
    struct sink *sink = &children.sink;
    enum faina_code code;

    sink->rows = fa_arena_take(arena, (*count + 1) * sizeof(struct fa_row *));
    sink->lane_ids = fa_arena_zero(arena, *count + 1, sizeof(int64_t));
    for (size_t i = 0; i < *count; i++)
        sink->rows[i] = &rows[i];
    code = fa_db_one(source->db, ends ? FA_SQL_CHILD_ENDS : FA_SQL_CHILD_PAGE, params, 3,
                     ends ? sink_child_end : sink_child, &children, err);
    if (code == FAINA_OK)
        code = check_damage(sink, err);
    *count = children.count;
    for (size_t i = 0; code == FAINA_OK && i < *count; i++) {
        rows[i].parent_tail = parent->id.tail;
        rows[i].has_parent_tail = true;
        code = fa_lanes_read(source->lanes, source->db, sink->lane_ids[i], &rows[i].lane, err);
    }
    return code == FAINA_OK ? load_live(source, sink, *count, err) : code;
}

enum faina_phase fa_row_phase(const struct fa_row *row)
{
    return (enum faina_phase)(row->flags & FA_PHASE_MASK);
}

const char *fa_row_state(const struct fa_row *row)
{
    static const char *const states[FAINA_STATUS_COUNT] = {
        [FAINA_PENDING] = "Queued",
        [FAINA_CLAIMED] = "Claimed",
        [FAINA_RUNNING] = "Running",
        [FAINA_BLOCKED] = "Waiting for other tasks",
        [FAINA_BACKGROUND] = "In the background",
        [FAINA_COMPLETED] = "Completed",
        [FAINA_FAILED] = "Failed",
        [FAINA_DEAD_LETTER] = "Out of attempts",
        [FAINA_CANCELLED] = "Cancelled by user",
    };

    return row->state != NULL ? row->state : states[row->status];
}

/* Who cancels a task isn't the worker that had it; nor is the error of an earlier attempt why. */
struct faina_event fa_row_end_event(const struct fa_row *row)
{
    bool is_cancelled = row->status == FAINA_CANCELLED;

    return (struct faina_event){
        .at_us = row->completed_us,
        .what = faina_status_name(row->status),
        .status = row->status,
        .actor = (enum faina_actor)((row->flags & FA_END_ACTOR_MASK) >> FA_END_ACTOR_SHIFT),
        .state = row->state,
        .worker_id = is_cancelled ? NULL : row->worker,
        .detail = is_cancelled ? NULL : row->error,
    };
}

/* Ids of other tasks, as text. */
struct id_list {
    struct fa_arena *arena;
    const char **ids;
    size_t count, size;
};

static void sink_id(void *ctx, size_t n, const struct fa_value *columns)
{
    struct id_list *list = ctx;
    char *text = fa_arena_take(list->arena, FAINA_ID_SIZE);

    (void)n;
    fa_id_format((struct fa_id){columns[0].i, columns[1].i}, text);
    list->ids = fa_arena_grow(list->arena, list->ids, list->count, &list->size, sizeof(char *));
    list->ids[list->count++] = text;
}

struct origin_sink {
    struct fa_arena *arena;
    struct faina_origin *origin;
    int64_t depth;
};

static void sink_origin(void *ctx, size_t n, const struct fa_value *c)
{
    struct origin_sink *sink = ctx;

    (void)n;
    sink->origin = fa_arena_zero(sink->arena, 1, sizeof(*sink->origin));
    sink->origin->workflow = fa_value_dup(&c[0], sink->arena);
    sink->origin->trigger = fa_value_dup(&c[1], sink->arena);
    sink->origin->version = fa_value_as_int(&c[2]);
    sink->origin->event_id = fa_value_dup(&c[3], sink->arena);
    sink->depth = fa_value_as_int(&c[4]);
}

static const struct faina_origin *copy_origin(const struct faina_origin *origin,
                                              struct fa_arena *arena)
{
    struct faina_origin *copy = fa_arena_zero(arena, 1, sizeof(*copy));

    *copy = (struct faina_origin){.workflow = fa_arena_strdup(arena, origin->workflow),
                                  .trigger = fa_arena_strdup(arena, origin->trigger),
                                  .version = origin->version,
                                  .event_id = fa_arena_strdup(arena, origin->event_id)};
    return copy;
}

enum faina_code fa_row_origin(struct fa_source *source, const struct fa_row *row,
                              struct fa_arena *arena, const struct faina_origin **out,
                              int64_t *depth, struct faina_error *err)
{
    struct origin_sink sink = {.arena = arena};
    struct fa_value key = fa_value_int(row->id.key);
    enum faina_code code = FAINA_OK;

    if (row->origin != NULL) {
        *out = copy_origin(&row->origin->told, arena);
        *depth = row->origin->depth;
        return FAINA_OK;
    }
    if (row->flags & FA_FLAG_HAS_ORIGIN)
        code = fa_db_one(source->db, FA_SQL_ORIGIN_GET, &key, 1, sink_origin, &sink, err);
    *out = sink.origin;
    *depth = sink.depth;
    return code;
}

static void bind_parent(void *ctx, size_t n, struct fa_value *v)
{
    v[0] = fa_value_int(((struct sink *)ctx)->rows[n]->parent);
}

static void sink_parent_tail(void *ctx, size_t n, const struct fa_value *c)
{
    ((struct sink *)ctx)->rows[n]->parent_tail = fa_value_as_int(&c[0]);
}

static bool lacks_parent(const struct fa_row *row)
{
    return row->parent != 0 && !row->has_parent_tail;
}

/* Siblings mostly follow each other: the first of a row of them was asked about. */
static void share_parents(struct fa_row *const *rows, size_t count)
{
    const struct fa_row *sibling = NULL;

    for (size_t i = 0; i < count; i++) {
        if (!lacks_parent(rows[i]))
            continue;
        if (sibling != NULL && sibling->parent == rows[i]->parent)
            rows[i]->parent_tail = sibling->parent_tail;
        rows[i]->has_parent_tail = true;
        sibling = rows[i];
    }
}

enum faina_code fa_rows_expect(struct fa_source *source, struct fa_row *const *rows, size_t count,
                               bool brief, struct fa_arena *arena, struct faina_error *err)
{
    struct sink bare = {.arena = arena}, children = {.arena = arena};
    const struct fa_row *sibling = NULL;
    enum faina_code code = FAINA_OK;
    struct fa_db_call calls[2];
    size_t bare_count = 0, child_count = 0;

    bare.rows = fa_arena_take(arena, (count + 1) * sizeof(struct fa_row *));
    children.rows = fa_arena_take(arena, (count + 1) * sizeof(struct fa_row *));
    for (size_t i = 0; i < count; i++) {
        if (!brief && !rows[i]->has_payload && source->db->is_shared)
            bare.rows[bare_count++] = rows[i];
        if (!lacks_parent(rows[i]))
            continue;
        if (sibling == NULL || rows[i]->parent != sibling->parent)
            children.rows[child_count++] = rows[i];
        sibling = rows[i];
    }
    calls[0] = call_for(FA_SQL_TASK_PAYLOAD, &bare, bare_count, sink_payload, false);
    calls[1] = call_for(FA_SQL_TASK_TAIL, &children, child_count, sink_parent_tail, false);
    calls[1].bind = bind_parent;
    for (size_t i = 0; i < child_count; i++)
        children.rows[i]->parent_tail = -1;
    if (bare_count + child_count > 0)
        code = fa_db_run_all(source->db, calls, FA_COUNT(calls), err);
    if (code == FAINA_OK && child_count > 0)
        share_parents(rows, count);
    return code;
}

static enum faina_code read_links(struct fa_source *source, const struct fa_row *row,
                                  struct fa_arena *arena, struct faina_task *out,
                                  struct faina_error *err)
{
    struct id_list deps = {.arena = arena};
    struct fa_value key = fa_value_int(row->id.key);
    enum faina_code code;
    int64_t depth;

    if (row->parent != 0) {
        struct fa_value parent = fa_value_int(row->parent);
        int64_t tail = row->has_parent_tail ? row->parent_tail : -1;

        code = FAINA_OK;
        if (!row->has_parent_tail)
            code = fa_db_one(source->db, FA_SQL_TASK_TAIL, &parent, 1, fa_db_sink_int, &tail, err);
        if (code != FAINA_OK)
            return code;
        if (tail >= 0) /* a purged parent is no parent any more */
            fa_id_format((struct fa_id){row->parent, tail}, out->parent_id);
    }
    if (row->flags & FA_FLAG_HAS_DEPS) {
        code = fa_db_one(source->db, FA_SQL_DEP_LIST, &key, 1, sink_id, &deps, err);
        if (code != FAINA_OK)
            return code;
        out->depends_on = deps.ids;
        out->depends_on_count = deps.count;
    }
    return fa_row_origin(source, row, arena, &out->origin, &depth, err);
}

static const char *lend_or_copy(const char *text, struct fa_arena *arena, bool lend)
{
    return lend ? text : fa_arena_strdup(arena, text);
}

static void put_lane(const struct fa_lane *lane, struct fa_arena *arena, struct faina_task *out)
{
    out->ns = fa_arena_strdup(arena, lane->ns);
    out->type = fa_arena_strdup(arena, lane->type);
    if (lane->resource_count > 0) {
        const char **names = fa_arena_take(arena, lane->resource_count * sizeof(char *));

        for (size_t i = 0; i < lane->resource_count; i++)
            names[i] = fa_arena_strdup(arena, lane->resource_names[i]);
        out->resources = names;
        out->resource_count = lane->resource_count;
    }
}

static void put_times(const struct fa_row *row, struct faina_task *out)
{
    out->run_at_us = row->run_at_us;
    if (row->status == FAINA_PENDING && (row->at_us | row->due_us) != 0)
        out->run_at_us = row->at_us ? row->at_us : row->due_us;
    if (row->status == FAINA_CLAIMED || row->status == FAINA_RUNNING)
        out->lease_expires_us = row->at_us;
    if (row->status == FAINA_BACKGROUND)
        out->expires_us = row->at_us;
    out->created_us = row->created_us;
    out->updated_us = row->updated_us;
    out->claimed_us = row->claimed_us;
    out->started_us = row->started_us;
    out->completed_us = row->completed_us;
    out->deleted_us = row->deleted_us;
}

/* Straight into the answer's arena: a payload is copied once. */
static enum faina_code put_payload(struct fa_source *source, const struct fa_row *row,
                                   struct fa_arena *arena, bool lend, struct faina_task *out,
                                   struct faina_error *err)
{
    struct fa_row read = *row;
    enum faina_code code = fa_row_load_payload(source, &read, arena, err);
    bool is_there = lend || !row->has_payload;

    if (code != FAINA_OK)
        return code;
    out->input = lend_or_copy(read.input, arena, is_there);
    out->spec = lend_or_copy(read.spec, arena, is_there);
    out->output = lend_or_copy(read.output, arena, is_there && row->output == NULL);
    if (row->metadata != NULL)
        out->metadata = lend_or_copy(row->metadata, arena, lend);
    else
        out->metadata = lend_or_copy(read.first_metadata, arena, is_there);
    return FAINA_OK;
}

enum faina_code fa_row_to_task(struct fa_source *source, struct fa_row *row, struct fa_arena *arena,
                               bool lend, bool brief, struct faina_task *out,
                               struct faina_error *err)
{
    enum faina_code code;

    assert(row->has_task);
    *out = (struct faina_task){
        .status = row->status,
        .phase = fa_row_phase(row),
        .progress = (int)row->progress,
        .priority = (int)-row->rank,
        .attempts = row->attempts,
        .max_attempts = row->max_attempts,
        .fence = row->fence,
        .retry = row->retry,
        .version = row->version,
    };
    fa_id_format(row->id, out->id);
    put_lane(row->lane, arena, out);
    put_times(row, out);
    out->name = row->name ? lend_or_copy(row->name, arena, lend) : out->type;
    out->state = lend_or_copy(fa_row_state(row), arena, lend);
    out->error = lend_or_copy(row->error, arena, lend);
    out->idempotency_key = lend_or_copy(row->key, arena, lend);
    out->input_hash = lend_or_copy(row->input_hash, arena, lend);
    if (fa_status_is_held(row->status)) /* an ended task remembers who had it, for its events */
        out->worker_id = lend_or_copy(row->worker, arena, lend);
    out->created_by = lend_or_copy(row->created_by, arena, lend);
    if (row->team != NULL && strlen(row->team) < sizeof(out->team_id))
        memcpy(out->team_id, row->team, strlen(row->team) + 1);
    code = brief ? FAINA_OK : put_payload(source, row, arena, lend, out, err);
    return code == FAINA_OK ? read_links(source, row, arena, out, err) : code;
}

size_t fa_task_size(const struct faina_task *task)
{
    const char *const parts[] = {task->input, task->output, task->metadata, task->spec};
    size_t size = 0;

    for (size_t i = 0; i < FA_COUNT(parts); i++)
        size += parts[i] ? strlen(parts[i]) : 0;
    return size;
}
