/*
 * flush.c - writes a unit: each kind of change for all its rows at once.
 *
 * A dirty row is deleted from the table that it was in and inserted into the table of its new
 * status. When both are the same table the row is updated in place.
 */
#include "store/txn/flush.h"

#include "base/hash.h"
#include "store/queue/runs.h"
#include "store/queue/turns.h"
#include "store/upkeep/outbox.h"

#include <assert.h>
#include <stdlib.h>

/* A plain task that has not changed since it was created: its row in `ready` is all nulls, by which
 * ready_scan_plain selects it. */
static bool is_untouched(const struct fa_row *row)
{
    return row->version == 1 && row->flags == 0 && fa_row_is_plain(row);
}

static enum fa_state_table state_table_for(const struct fa_row *row)
{
    if (row->is_purged)
        return FA_STATE_TABLE_NONE;
    if (fa_status_is_ended(row->status))
        return FA_STATE_TABLE_ENDED;
    if (fa_status_is_held(row->status))
        return FA_STATE_TABLE_HELD;
    if (row->status == FAINA_PENDING && row->at_us == 0)
        return FA_STATE_TABLE_READY;
    return FA_STATE_TABLE_PARKED;
}

/* Binding ---------------------------------------------------------------------------------- */

static void bind_task(void *ctx, size_t n, struct fa_value *v)
{
    const struct fa_row *row = ((struct fa_row **)ctx)[n];

    v[0] = fa_value_int(row->id.key);
    v[1] = fa_value_int(row->id.tail);
    v[2] = fa_value_int(row->lane->id);
    v[3] = fa_value_int(row->rank);
    v[4] = fa_value_int(row->created_us);
    v[5] = fa_value_int(row->max_attempts);
    v[6] = fa_value_text(row->input);
    v[7] = fa_value_int_or_null(row->run_at_us);
    v[8] = fa_value_text(row->name);
    v[9] = fa_value_text(row->first_metadata);
    v[10] = fa_value_text(row->spec);
    v[11] = fa_value_text(row->key);
    v[12] = fa_value_text(row->input_hash);
    v[13] = fa_value_int_or_null(row->parent);
    v[14] = fa_value_text(row->child);
    v[15] = fa_value_int_or_null(row->depth);
    v[16] = fa_value_text(row->team);
    v[17] = fa_value_text(row->created_by);
    v[18] = fa_value_int_or_null(row->retry.base_ms);
    v[19] = (struct fa_value){.kind = FA_NULL};
    if (row->retry.factor > 0)
        v[19] = (struct fa_value){.kind = FA_REAL, .d = row->retry.factor};
    v[20] = fa_value_int_or_null(row->retry.max_ms);
    v[21] = fa_value_int_or_null(row->submitter);
    v[22] = fa_value_int_or_null(row->key_scope);
    v[23] = fa_value_int_or_null(row->timeout_ms);
    v[24] = fa_value_int_or_null(row->start_by_us);
    v[25] = fa_value_text(row->group);
}

static void bind_plain_task(void *ctx, size_t n, struct fa_value *v)
{
    const struct fa_row *row = ((struct fa_row **)ctx)[n];

    v[0] = fa_value_int(row->id.key);
    v[1] = fa_value_int(row->id.tail);
    v[2] = fa_value_int(row->lane->id);
    v[3] = fa_value_int(row->rank);
    v[4] = fa_value_int(row->created_us);
    v[5] = fa_value_int(row->max_attempts);
    v[6] = fa_value_text(row->input);
    v[7] = fa_value_text(row->name);
    v[8] = fa_value_text(row->key);
    v[9] = fa_value_int_or_null(row->submitter);
}

static void bind_origin(void *ctx, size_t n, struct fa_value *v)
{
    const struct fa_row *row = ((struct fa_row **)ctx)[n];

    v[0] = fa_value_int(row->id.key);
    v[1] = fa_value_text(row->origin->origin.workflow);
    v[2] = fa_value_text(row->origin->origin.trigger);
    v[3] = fa_value_int(row->origin->origin.version);
    v[4] = fa_value_text(row->origin->origin.event_id);
    v[5] = fa_value_int(row->origin->depth);
}

static void bind_key(void *ctx, size_t n, struct fa_value *v)
{
    v[0] = fa_value_int(((struct fa_row **)ctx)[n]->id.key);
}

static void bind_ready_key(void *ctx, size_t n, struct fa_value *v)
{
    const struct fa_row *row = ((struct fa_row **)ctx)[n];

    v[0] = fa_value_int(row->lane->id);
    v[1] = fa_value_int(row->rank);
    v[2] = fa_value_int(row->id.key);
}

/* The position of the row that is stored. */
static void bind_stored_key(void *ctx, size_t n, struct fa_value *v)
{
    const struct fa_row *row = ((struct fa_row **)ctx)[n];

    bind_ready_key(ctx, n, v);
    v[1] = fa_value_int(fa_row_written_rank(row));
}

static void bind_replaced(void *ctx, size_t n, struct fa_value *v)
{
    const struct fa_row *row = ((struct fa_row **)ctx)[n];

    v[0] = fa_value_int(row->id.key);
    v[1] = fa_value_int(row->rank);
    v[2] = fa_value_int_or_null(row->run_at_us);
    v[3] = fa_value_text(row->input);
    v[4] = fa_value_text(row->first_metadata);
}

static void bind_ready(void *ctx, size_t n, struct fa_value *v)
{
    const struct fa_row *row = ((struct fa_row **)ctx)[n];

    bind_ready_key(ctx, n, v);
    v[3] = fa_value_int(row->version);
    v[4] = fa_value_int(row->fence);
    v[5] = fa_value_int(row->attempts);
    v[6] = fa_value_int(row->flags);
    v[7] = fa_value_int(row->progress);
    v[8] = fa_value_text(row->state);
    v[9] = fa_value_int(row->updated_us);
    v[10] = fa_value_int_or_null(row->claimed_us);
    v[11] = fa_value_int_or_null(row->started_us);
    v[12] = fa_value_text(row->error);
    v[13] = fa_value_text(row->metadata);
    v[14] = fa_value_int_or_null(row->due_us);
    v[15] = fa_value_int_or_null(row->lane->has_groups ? row->turn : 0);
}

static void bind_held(void *ctx, size_t n, struct fa_value *v)
{
    const struct fa_row *row = ((struct fa_row **)ctx)[n];

    v[0] = fa_value_int(row->id.key);
    v[1] = fa_value_int(row->id.tail);
    v[2] = fa_value_int(row->lane->id);
    v[3] = fa_value_int(row->rank);
    v[4] = fa_value_int(row->status);
    v[5] = fa_value_int(row->version);
    v[6] = fa_value_int(row->fence);
    v[7] = fa_value_int(row->attempts);
    v[8] = fa_value_int(row->flags);
    v[9] = fa_value_int(row->progress);
    v[10] = fa_value_int(row->updated_us);
    v[11] = fa_value_int_or_null(row->claimed_us);
    v[12] = fa_value_int_or_null(row->started_us);
    v[13] = fa_value_int_or_null(row->at_us);
    v[14] = fa_value_text(row->worker);
    v[15] = fa_value_text(row->state);
    v[16] = fa_value_text(row->error);
    v[17] = fa_value_text(row->metadata);
    v[18] = fa_value_int_or_null(row->deadline_us);
}

static void bind_parked(void *ctx, size_t n, struct fa_value *v)
{
    const struct fa_row *row = ((struct fa_row **)ctx)[n];

    v[0] = fa_value_int(row->id.key);
    v[1] = fa_value_int(row->lane->id);
    v[2] = fa_value_int(row->status);
    v[3] = fa_value_int_or_null(row->at_us);
    v[4] = fa_value_int(row->version);
    v[5] = fa_value_int(row->fence);
    v[6] = fa_value_int(row->attempts);
    v[7] = fa_value_int(row->flags);
    v[8] = fa_value_int(row->deps_left);
    v[9] = fa_value_int(row->deps_bad);
    v[10] = fa_value_int(row->progress);
    v[11] = fa_value_int(row->updated_us);
    v[12] = fa_value_int_or_null(row->claimed_us);
    v[13] = fa_value_int_or_null(row->started_us);
    v[14] = fa_value_text(row->state);
    v[15] = fa_value_text(row->error);
    v[16] = fa_value_text(row->metadata);
}

static void bind_ended(void *ctx, size_t n, struct fa_value *v)
{
    const struct fa_row *row = ((struct fa_row **)ctx)[n];

    v[0] = fa_value_int(row->id.key);
    v[1] = fa_value_int(row->lane->id);
    v[2] = fa_value_int(row->status);
    v[3] = fa_value_int(row->version);
    v[4] = fa_value_int(row->fence);
    v[5] = fa_value_int(row->attempts);
    v[6] = fa_value_int(row->flags);
    v[7] = fa_value_int(row->progress);
    v[8] = fa_value_int(row->updated_us);
    v[9] = fa_value_int_or_null(row->claimed_us);
    v[10] = fa_value_int_or_null(row->started_us);
    v[11] = fa_value_int(row->completed_us);
    v[12] = fa_value_int_or_null(row->deleted_us);
    v[13] = fa_value_text(row->worker);
    v[14] = fa_value_text(row->state);
    v[15] = fa_value_text(row->error);
    v[16] = fa_value_text(row->metadata);
    v[17] = fa_value_text(row->output);
}

/* The columns that may change while a task stays ended. */
static void bind_ended_update(void *ctx, size_t n, struct fa_value *v)
{
    const struct fa_row *row = ((struct fa_row **)ctx)[n];

    v[0] = fa_value_int(row->id.key);
    v[1] = fa_value_int(row->version);
    v[2] = fa_value_int(row->flags);
    v[3] = fa_value_int(row->updated_us);
    v[4] = fa_value_int_or_null(row->deleted_us);
}

static void bind_event(void *ctx, size_t n, struct fa_value *v)
{
    const struct fa_unit_event *event = &((struct fa_unit_event *)ctx)[n];

    v[0] = fa_value_int(event->task);
    v[1] = fa_value_int(event->at_us);
    v[2] = fa_value_text(event->what);
    v[3] = fa_value_int(event->status);
    v[4] = fa_value_int(event->actor);
    v[5] = fa_value_text(event->state);
    v[6] = fa_value_text(event->worker);
    v[7] = fa_value_text(event->detail);
}

/* Rows of tasks ---------------------------------------------------------------------------- */

/* The changes that may be made to a row, in the order in which they are made. */
enum move {
    INSERT_TASK,
    INSERT_PLAIN_TASK,
    INSERT_ORIGIN,
    LEAVE_READY,
    LEAVE_HELD,
    LEAVE_PARKED,
    LEAVE_ENDED,
    REPLACE_TASK,
    ENTER_READY,
    ENTER_READY_NEW,
    ENTER_HELD,
    ENTER_PARKED,
    ENTER_ENDED,
    STAY_HELD,
    STAY_PARKED,
    STAY_ENDED,
    DELETE_TASK,
    DELETE_EVENTS,
    DELETE_DEPS,
    DELETE_ORIGIN,
    MOVE_COUNT
};

static const struct {
    enum fa_sql sql;
    size_t param_count;
    fa_db_bind_fn *bind;
} moves[MOVE_COUNT] = {
    [INSERT_TASK] = {FA_SQL_TASK_INSERT, 26, bind_task},
    [INSERT_PLAIN_TASK] = {FA_SQL_TASK_INSERT_PLAIN, 10, bind_plain_task},
    [INSERT_ORIGIN] = {FA_SQL_ORIGIN_INSERT, 6, bind_origin},
    [LEAVE_READY] = {FA_SQL_READY_DELETE, 3, bind_stored_key},
    [LEAVE_HELD] = {FA_SQL_HELD_DELETE, 1, bind_key},
    [LEAVE_PARKED] = {FA_SQL_PARKED_DELETE, 1, bind_key},
    [LEAVE_ENDED] = {FA_SQL_ENDED_DELETE, 1, bind_key},
    [REPLACE_TASK] = {FA_SQL_TASK_REPLACE, 5, bind_replaced},
    [ENTER_READY] = {FA_SQL_READY_INSERT, 16, bind_ready},
    [ENTER_READY_NEW] = {FA_SQL_READY_INSERT_NEW, 3, bind_ready_key},
    [ENTER_HELD] = {FA_SQL_HELD_INSERT, 19, bind_held},
    [ENTER_PARKED] = {FA_SQL_PARKED_INSERT, 17, bind_parked},
    [ENTER_ENDED] = {FA_SQL_ENDED_INSERT, 18, bind_ended},
    [STAY_HELD] = {FA_SQL_HELD_UPDATE, 19, bind_held},
    [STAY_PARKED] = {FA_SQL_PARKED_UPDATE, 17, bind_parked},
    [STAY_ENDED] = {FA_SQL_ENDED_UPDATE, 5, bind_ended_update},
    [DELETE_TASK] = {FA_SQL_TASK_DELETE, 1, bind_key},
    [DELETE_EVENTS] = {FA_SQL_EVENT_DELETE, 1, bind_key},
    [DELETE_DEPS] = {FA_SQL_DEP_DELETE, 1, bind_key},
    [DELETE_ORIGIN] = {FA_SQL_ORIGIN_DELETE, 1, bind_key},
};

/* The changes of one row, as a set of (1u << move). */
static unsigned moves_of(const struct fa_row *row, enum fa_state_table to, bool has_runs)
{
    static const enum move leave[] = {
        [FA_STATE_TABLE_READY] = LEAVE_READY,
        [FA_STATE_TABLE_HELD] = LEAVE_HELD,
        [FA_STATE_TABLE_PARKED] = LEAVE_PARKED,
        [FA_STATE_TABLE_ENDED] = LEAVE_ENDED,
    };
    static const enum move enter[] = {
        [FA_STATE_TABLE_READY] = ENTER_READY,
        [FA_STATE_TABLE_HELD] = ENTER_HELD,
        [FA_STATE_TABLE_PARKED] = ENTER_PARKED,
        [FA_STATE_TABLE_ENDED] = ENTER_ENDED,
    };
    static const enum move stay[] = {
        [FA_STATE_TABLE_HELD] = STAY_HELD,
        [FA_STATE_TABLE_PARKED] = STAY_PARKED,
        [FA_STATE_TABLE_ENDED] = STAY_ENDED,
    };
    unsigned set = 0;

    if (row->is_new)
        set |= fa_row_is_plain(row) ? 1u << INSERT_PLAIN_TASK : 1u << INSERT_TASK;
    if (row->is_replaced && !row->is_new)
        set |= 1u << REPLACE_TASK;
    if (row->is_new && row->origin != NULL)
        set |= 1u << INSERT_ORIGIN;
    /* Rows of `ready` are replaced: the table has no key besides its order. The others are updated
     * in place. */
    if (row->state_table != FA_STATE_TABLE_NONE &&
        (row->state_table != to || to == FA_STATE_TABLE_READY || row->has_left))
        set |= 1u << leave[row->state_table];
    if (to == FA_STATE_TABLE_READY && row->is_new &&
        (has_runs ? fa_run_can_contain(row) : is_untouched(row)))
        set |= 1u << ENTER_READY_NEW;
    else if (to != FA_STATE_TABLE_NONE && to != FA_STATE_TABLE_READY && row->state_table == to &&
             !row->has_left)
        set |= 1u << stay[to];
    else if (to != FA_STATE_TABLE_NONE)
        set |= 1u << enter[to];
    else
        set |= 1u << DELETE_TASK | 1u << DELETE_EVENTS | 1u << DELETE_DEPS;
    if (to == FA_STATE_TABLE_NONE && row->flags & FA_FLAG_HAS_ORIGIN)
        set |= 1u << DELETE_ORIGIN;
    return set;
}

/* Whether tasks with higher keys may have entered `ready` before this one (scan_start.h, O3). */
static bool is_late(const struct fa_row *row, int64_t now_us)
{
    return !row->is_new || fa_id_key_us(row->id.key) < now_us - FA_SCAN_START_MARGIN_US / 2;
}

static void settle(struct fa_unit *unit, struct fa_row *row, enum fa_state_table to, int64_t now_us)
{
    if (to == FA_STATE_TABLE_READY) {
        if (is_late(row, now_us)) {
            fa_lane_lower_scan_start(row->lane, row->rank, row->id.key);
            if (row->id.key < unit->oldest_key)
                unit->oldest_key = row->id.key;
        }
        fa_lane_note_arrival(row->lane, row->rank, row->id.key);
        row->lane->arrivals++;
        unit->ready_types |= fa_hash_bit(row->lane->type);
        if (row->state_table != FA_STATE_TABLE_READY || row->is_changed)
            fa_outbox_note_ready(unit, row);
    }
    if (to != FA_STATE_TABLE_READY)
        row->turn = 0;
    row->state_table = to;
    row->has_left = false;
    row->is_new = false;
    row->is_changed = false;
    row->is_replaced = false;
    row->is_dirty = false;
}

/* Inserts new tasks into `ready`, several in one row where that is possible (runs.h). */
static enum faina_code enter_in_runs(struct fa_unit *unit, const unsigned *sets,
                                     struct fa_row **group, struct faina_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < unit->dirty_count; i++) {
        if (!unit->dirty[i]->is_new)
            continue;
        unit->dirty[i]->is_in_run = sets[i] & 1u << ENTER_READY_NEW;
        group[n++] = unit->dirty[i];
    }
    return fa_runs_insert(unit, group, n, err);
}

/* A task that has got another priority may be between the tasks of a run (runs.h, N2). */
static enum faina_code split_runs(struct fa_unit *unit, struct fa_row *const *rows, size_t count,
                                  struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; code == FAINA_OK && i < count; i++) {
        if (fa_row_written_rank(rows[i]) != rows[i]->rank)
            code = fa_runs_split(unit, rows[i]->lane, rows[i], err);
    }
    return code;
}

/* Makes one kind of change, for all rows that have it in their sets. */
static enum faina_code make_move(struct fa_unit *unit, enum move move, const unsigned *sets,
                                 struct fa_row **group, struct faina_error *err)
{
    struct fa_db_call call = {.sql = moves[move].sql,
                              .param_count = moves[move].param_count,
                              .bind = moves[move].bind,
                              .bind_ctx = group};
    bool has_runs = fa_db_has(unit->source.db, FA_DB_ROW_RUNS);
    enum faina_code code = FAINA_OK;

    if (has_runs && move == ENTER_READY_NEW)
        return enter_in_runs(unit, sets, group, err);
    for (size_t i = 0; i < unit->dirty_count; i++) {
        if (sets[i] & 1u << move)
            group[call.rows++] = unit->dirty[i];
    }
    if (has_runs && move == LEAVE_READY)
        return fa_runs_remove(unit, group, call.rows, err);
    if (move == ENTER_READY)
        code = fa_turns_assign(unit, group, call.rows, err);
    if (move == REPLACE_TASK)
        code = split_runs(unit, group, call.rows, err);
    return code == FAINA_OK ? fa_db_run(unit->source.db, &call, err) : code;
}

static enum faina_code flush_rows(struct fa_unit *unit, struct faina_error *err)
{
    size_t count = unit->dirty_count;
    struct fa_row **group = fa_alloc((count + 1) * sizeof(*group));
    unsigned *sets = fa_alloc((count + 1) * sizeof(*sets));
    int64_t now_us = fa_db_now(unit->source.db);
    enum faina_code code = FAINA_OK;
    unsigned all = 0;

    for (size_t i = 0; i < count; i++) {
        sets[i] = moves_of(unit->dirty[i], state_table_for(unit->dirty[i]),
                           fa_db_has(unit->source.db, FA_DB_ROW_RUNS));
        all |= sets[i];
    }
    for (int move = 0; code == FAINA_OK && move < MOVE_COUNT; move++) {
        if (all & 1u << move)
            code = make_move(unit, (enum move)move, sets, group, err);
    }
    for (size_t i = 0; code == FAINA_OK && i < count; i++)
        settle(unit, unit->dirty[i], state_table_for(unit->dirty[i]), now_us);
    unit->dirty_count = 0;
    unit->has_arrivals = false;
    free(group);
    free(sets);
    return code;
}

/* Everything else -------------------------------------------------------------------------- */

static enum faina_code flush_events(struct fa_unit *unit, struct faina_error *err)
{
    struct fa_db_call call = {.sql = FA_SQL_EVENT_INSERT,
                              .rows = unit->event_count,
                              .param_count = 8,
                              .bind = bind_event,
                              .bind_ctx = unit->events};

    unit->event_count = 0;
    return fa_db_run(unit->source.db, &call, err);
}

static void bind_link(void *ctx, size_t n, struct fa_value *v)
{
    const struct fa_unit_link *link = &((struct fa_unit_link *)ctx)[n];

    v[0] = fa_value_int(link->a);
    v[1] = fa_value_int(link->b);
    v[2] = fa_value_int(link->c);
}

static void bind_emitted(void *ctx, size_t n, struct fa_value *v)
{
    const struct fa_unit_emitted *event = &((struct fa_unit_emitted *)ctx)[n];

    v[0] = fa_value_text(event->ns);
    v[1] = fa_value_text(event->id);
    v[2] = fa_value_text(event->type);
    v[3] = fa_value_text(event->data);
    v[4] = fa_value_int(event->at_us);
    v[5] = fa_value_text(event->tasks);
    v[6] = fa_value_text(event->failures);
}

static enum faina_code flush_emitted(struct fa_unit *unit, struct faina_error *err)
{
    struct fa_db_call call = {.sql = FA_SQL_EMITTED_INSERT,
                              .rows = unit->emitted_count,
                              .param_count = 7,
                              .bind = bind_emitted,
                              .bind_ctx = unit->emitted};

    unit->emitted_count = 0;
    return fa_db_run(unit->source.db, &call, err);
}

static int by_first(const void *a, const void *b)
{
    const struct fa_unit_link *x = a, *y = b;

    return (x->a > y->a) - (x->a < y->a);
}

/* In the order they were added: a permit may be taken, returned and taken again in one batch.
 * Consecutive links of one kind are written at once. */
static enum faina_code flush_links(struct fa_unit *unit, struct faina_error *err)
{
    static const enum fa_sql sql[] = {
        [FA_LINK_KEY] = FA_SQL_KEY_INSERT,       [FA_UNLINK_KEY] = FA_SQL_KEY_DELETE,
        [FA_LINK_DEP] = FA_SQL_DEP_INSERT,       [FA_LINK_HOLD] = FA_SQL_HOLD_INSERT,
        [FA_UNLINK_HOLD] = FA_SQL_HOLD_DELETE,   [FA_LINK_TIMER] = FA_SQL_TIMER_INSERT,
        [FA_UNLINK_TIMER] = FA_SQL_TIMER_DELETE,
    };
    struct fa_db *db = unit->source.db;
    enum faina_code code = FAINA_OK;

    for (size_t i = 0, end; code == FAINA_OK && i < unit->link_count; i = end) {
        enum fa_link kind = unit->links[i].kind;
        bool has_three = kind == FA_LINK_TIMER || kind == FA_UNLINK_TIMER ||
                         (kind == FA_LINK_KEY && fa_db_has(db, FA_DB_WIDE_KEYS));
        struct fa_db_call call = {.sql = sql[kind],
                                  .param_count = has_three ? 3 : 2,
                                  .bind = bind_link,
                                  .bind_ctx = &unit->links[i]};

        for (end = i; end < unit->link_count && unit->links[end].kind == kind; end++)
            call.rows++;
        if (kind == FA_LINK_KEY)
            qsort(&unit->links[i], call.rows, sizeof(*unit->links), by_first);
        code = fa_db_run(db, &call, err);
    }
    unit->link_count = 0;
    return code;
}

enum faina_code fa_unit_flush(struct fa_unit *unit, struct faina_error *err)
{
    enum faina_code code = fa_lanes_flush(unit->source.lanes, unit->source.db, err);

    if (code == FAINA_OK && unit->dirty_count > 0)
        code = flush_rows(unit, err);
    if (code == FAINA_OK && unit->event_count > 0)
        code = flush_events(unit, err);
    if (code == FAINA_OK && unit->link_count > 0)
        code = flush_links(unit, err);
    if (code == FAINA_OK && unit->emitted_count > 0)
        code = flush_emitted(unit, err);
    if (code == FAINA_OK && unit->has_messages)
        code = fa_outbox_flush(unit, err);
    return code;
}
