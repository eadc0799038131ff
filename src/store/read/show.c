/* show.c - see show.h. */
#include "store/read/show.h"

#include "model/states.h"
#include "model/task_rules.h"
#include "store/txn/row_check.h"

#include <assert.h>
#include <string.h>

const char *fa_row_state(const struct fa_row *row)
{
    return row->state != NULL ? row->state : fa_task_state(row->status);
}

/* The event of a cancellation has neither the worker that held the task nor the error of an earlier
 * attempt. */
static struct faina_event end_event(const struct fa_row *row)
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

size_t fa_row_implicit_events(const struct fa_row *row,
                              struct faina_event out[FA_IMPLICIT_EVENTS_MAX])
{
    size_t n = 0;

    if (row->flags & FA_FLAG_CLAIM_EVENT)
        out[n++] = (struct faina_event){.at_us = row->claimed_us,
                                        .what = "claimed",
                                        .status = FAINA_CLAIMED,
                                        .actor = FAINA_ACTOR_WORKER,
                                        .worker_id = row->worker};
    if (row->flags & FA_FLAG_START_EVENT)
        out[n++] = (struct faina_event){.at_us = row->started_us,
                                        .what = "started",
                                        .status = FAINA_RUNNING,
                                        .actor = row->worker ? FAINA_ACTOR_WORKER : FAINA_ACTOR_API,
                                        .worker_id = row->worker};
    if (fa_status_is_ended(row->status))
        out[n++] = end_event(row);
    return n;
}

void fa_ids_sink(void *ctx, size_t n, const struct fa_value *columns)
{
    struct fa_ids *list = ctx;
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
        *out = copy_origin(&row->origin->origin, arena);
        *depth = row->origin->depth;
        return FAINA_OK;
    }
    if (row->flags & FA_FLAG_HAS_ORIGIN)
        code = fa_db_one(source->db, FA_SQL_ORIGIN_GET, &key, 1, sink_origin, &sink, err);
    *out = sink.origin;
    *depth = sink.depth;
    return code;
}

/* Rows to complete: row n of the call is rows[n]. */
struct incomplete {
    struct fa_row **rows;
    size_t count;
    struct fa_arena *arena;
};

static void bind_key(void *ctx, size_t n, struct fa_value *v)
{
    v[0] = fa_value_int(((struct incomplete *)ctx)->rows[n]->id.key);
}

static void bind_parent(void *ctx, size_t n, struct fa_value *v)
{
    v[0] = fa_value_int(((struct incomplete *)ctx)->rows[n]->parent);
}

static void sink_payload(void *ctx, size_t n, const struct fa_value *columns)
{
    struct incomplete *batch = ctx;

    fa_row_take_payload(columns, batch->arena, batch->rows[n]);
}

static void sink_parent_tail(void *ctx, size_t n, const struct fa_value *c)
{
    ((struct incomplete *)ctx)->rows[n]->parent_tail = fa_value_as_int(&c[0]);
}

static struct fa_db_call call_for(enum fa_sql sql, struct incomplete *batch, fa_db_bind_fn *bind,
                                  fa_db_sink_fn *sink)
{
    return (struct fa_db_call){.sql = sql,
                               .rows = batch->count,
                               .param_count = 1,
                               .bind = bind,
                               .bind_ctx = batch,
                               .sink = sink,
                               .sink_ctx = batch};
}

static bool lacks_parent(const struct fa_row *row)
{
    return row->parent != 0 && !row->has_parent_tail;
}

/* Siblings mostly follow each other: only the first of consecutive siblings was read. */
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

enum faina_code fa_rows_read_ahead(struct fa_source *source, struct fa_row *const *rows,
                                   size_t count, bool brief, struct fa_arena *arena,
                                   struct faina_error *err)
{
    struct incomplete bare = {.arena = arena}, children = {.arena = arena};
    const struct fa_row *sibling = NULL;
    enum faina_code code = FAINA_OK;
    struct fa_db_call calls[2];

    bare.rows = fa_arena_take(arena, (count + 1) * sizeof(struct fa_row *));
    children.rows = fa_arena_take(arena, (count + 1) * sizeof(struct fa_row *));
    for (size_t i = 0; i < count; i++) {
        if (!brief && !rows[i]->has_payload && fa_db_has(source->db, FA_DB_ROUND_TRIPS))
            bare.rows[bare.count++] = rows[i];
        if (!lacks_parent(rows[i]))
            continue;
        if (sibling == NULL || rows[i]->parent != sibling->parent)
            children.rows[children.count++] = rows[i];
        sibling = rows[i];
    }
    calls[0] = call_for(FA_SQL_TASK_PAYLOAD, &bare, bind_key, sink_payload);
    calls[1] = call_for(FA_SQL_TASK_TAIL, &children, bind_parent, sink_parent_tail);
    for (size_t i = 0; i < children.count; i++)
        children.rows[i]->parent_tail = -1;
    if (bare.count + children.count > 0)
        code = fa_db_run_all(source->db, calls, FA_COUNT(calls), err);
    if (code == FAINA_OK && children.count > 0)
        share_parents(rows, count);
    return code;
}

static enum faina_code read_links(struct fa_source *source, const struct fa_row *row,
                                  struct fa_arena *arena, struct faina_task *out,
                                  struct faina_error *err)
{
    struct fa_ids deps = {.arena = arena};
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
        if (tail >= 0) /* else the parent was purged */
            fa_id_format((struct fa_id){row->parent, tail}, out->parent_id);
    }
    if (row->flags & FA_FLAG_HAS_DEPS) {
        code = fa_db_one(source->db, FA_SQL_DEP_LIST, &key, 1, fa_ids_sink, &deps, err);
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
    out->start_by_us = row->start_by_us;
    out->created_us = row->created_us;
    out->updated_us = row->updated_us;
    out->claimed_us = row->claimed_us;
    out->started_us = row->started_us;
    out->completed_us = row->completed_us;
    out->deleted_us = row->deleted_us;
}

/* What is shown as JSON must be JSON, or clients can't parse the response. */
static enum faina_code check_payload(struct fa_source *source, struct fa_row *row,
                                     const struct fa_row *read, struct faina_error *err)
{
    const struct {
        const char *text, *damage;
    } payloads[] = {
        {read->input, "its input is not JSON"},
        {read->first_metadata, "its metadata is not JSON"},
        {read->spec, "its spec is not JSON"},
        {read->output, "its output is not JSON"},
    };

    if (row->is_checked)
        return FAINA_OK;
    if (read->damage != NULL)
        return fa_row_refuse(source, row, read->damage, err);
    for (size_t i = 0; i < FA_COUNT(payloads); i++)
        if (!fa_is_json(payloads[i].text))
            return fa_row_refuse(source, row, payloads[i].damage, err);
    return FAINA_OK;
}

/* Reads into the result's arena, so that a payload is copied once. */
static enum faina_code put_payload(struct fa_source *source, struct fa_row *row,
                                   struct fa_arena *arena, bool lend, struct faina_task *out,
                                   struct faina_error *err)
{
    struct fa_row read = *row;
    enum faina_code code = fa_row_load_payload(source, &read, arena, err);
    bool is_there = lend || !row->has_payload;

    if (code == FAINA_OK)
        code = check_payload(source, row, &read, err);
    else if (read.damage != NULL)
        row->damage = read.damage;
    if (code != FAINA_OK)
        return code;
    out->input = lend_or_copy(read.input, arena, is_there);
    out->spec = read.spec ? lend_or_copy(read.spec, arena, is_there) : "{}";
    out->output = lend_or_copy(read.output, arena, is_there && row->output == NULL);
    if (row->metadata != NULL)
        out->metadata = lend_or_copy(row->metadata, arena, lend);
    else
        out->metadata = lend_or_copy(read.first_metadata, arena, is_there);
    if (out->metadata == NULL)
        out->metadata = "{}";
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
        .phase = (enum faina_phase)(row->flags & FA_PHASE_MASK),
        .progress = (int)row->progress,
        .priority = (int)-row->rank,
        .attempts = row->attempts,
        .max_attempts = fa_row_max_attempts(source, row),
        .fence = row->fence,
        .retry = fa_row_retry(source, row),
        .version = row->version,
    };
    fa_id_format(row->id, out->id);
    put_lane(row->lane, arena, out);
    put_times(row, out);
    out->timeout_ms = fa_row_timeout_ms(source, row);
    out->name = row->name ? lend_or_copy(row->name, arena, lend) : out->type;
    out->state = lend_or_copy(fa_row_state(row), arena, lend);
    out->error = lend_or_copy(row->error, arena, lend);
    out->idempotency_key = lend_or_copy(row->key, arena, lend);
    out->input_hash = lend_or_copy(row->input_hash, arena, lend);
    if (row->key_scope != FA_KEY_SCOPE_EXISTS)
        out->key_scope = fa_key_scope_text(row->key_scope, arena);
    if (fa_status_is_held(row->status)) /* the row of an ended task keeps it for its events */
        out->worker_id = lend_or_copy(row->worker, arena, lend);
    out->created_by = lend_or_copy(row->created_by, arena, lend);
    out->group = lend_or_copy(row->group, arena, lend);
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
