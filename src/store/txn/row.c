/*
 * row.c - reading tasks.
 *
 * The order of columns is fixed by the statements in queries/; the readers below follow it, one
 * function per statement.
 */
#include "store/txn/row.h"

#include "model/limits.h"
#include "model/states.h"
#include "model/task_rules.h"
#include "store/queue/runs.h"
#include "store/txn/row_check.h"

#include <stdlib.h>

/* How many columns each reader below uses, where one statement has the columns of several. */
#define TASK_COLUMNS 22
#define READY_COLUMNS 14
#define PAYLOAD_COLUMNS 3
#define ENDED_COLUMNS 15

void fa_keys_add(struct fa_keys *list, int64_t key)
{
    list->keys = fa_arena_grow(list->arena, list->keys, list->count, &list->size, sizeof(int64_t));
    list->keys[list->count++] = key;
}

void fa_keys_sink(void *ctx, size_t n, const struct fa_value *columns)
{
    (void)n;
    fa_keys_add(ctx, columns[0].i);
}

void fa_keys_bind(void *ctx, size_t n, struct fa_value *params)
{
    params[0] = fa_value_int(((const struct fa_keys *)ctx)->keys[n]);
}

static int compare_keys(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x > y ? -1 : x < y;
}

void fa_keys_sort(int64_t *keys, size_t count)
{
    if (count > 0)
        qsort(keys, count, sizeof(*keys), compare_keys);
}

int64_t fa_row_lease_us(const struct fa_row *row)
{
    int64_t ms = (row->flags & ~FA_FLAGS_ABOVE) >> FA_LEASE_SHIFT;

    return (ms > 0 ? ms : FA_LEASE_MS_DEFAULT) * 1000;
}

void fa_row_set_attempts(struct fa_row *row, int max_attempts)
{
    row->max_attempts = fa_task_max_attempts(max_attempts);
    row->flags &= ~FA_FLAG_OWN_ATTEMPTS;
    if (max_attempts == FA_ATTEMPTS_DEFAULT)
        row->flags |= FA_FLAG_OWN_ATTEMPTS;
}

bool fa_row_has_own_attempts(const struct fa_row *row)
{
    return row->max_attempts != FA_ATTEMPTS_DEFAULT || row->flags & FA_FLAG_OWN_ATTEMPTS;
}

bool fa_row_has_own_retry(const struct fa_row *row)
{
    return row->retry.base_ms != 0 || row->retry.max_ms != 0 || row->retry.factor > 0;
}

static const struct fa_policy *policy_of(const struct fa_source *source, const struct fa_row *row)
{
    return fa_policy_find(source->policies, row->lane->ns, row->lane->type);
}

int64_t fa_row_max_attempts(const struct fa_source *source, const struct fa_row *row)
{
    const struct fa_policy *policy = fa_row_has_own_attempts(row) ? NULL : policy_of(source, row);

    return policy != NULL && policy->set.max_attempts != 0
               ? fa_task_max_attempts(policy->set.max_attempts)
               : row->max_attempts;
}

struct faina_retry_policy fa_row_retry(const struct fa_source *source, const struct fa_row *row)
{
    const struct fa_policy *policy = fa_row_has_own_retry(row) ? NULL : policy_of(source, row);

    return policy != NULL ? policy->set.retry : row->retry;
}

int64_t fa_row_timeout_ms(const struct fa_source *source, const struct fa_row *row)
{
    const struct fa_policy *policy = row->timeout_ms != 0 ? NULL : policy_of(source, row);

    return policy != NULL ? policy->set.timeout_ms : row->timeout_ms;
}

bool fa_row_is_plain(const struct fa_row *row)
{
    return row->run_at_us == 0 && row->key_scope == 0 && row->first_metadata == NULL &&
           row->spec == NULL && row->input_hash == NULL && row->parent == 0 && row->team == NULL &&
           row->created_by == NULL && row->retry.base_ms == 0 && row->retry.factor == 0 &&
           row->retry.max_ms == 0 && row->timeout_ms == 0 && row->start_by_us == 0 &&
           row->group == NULL;
}

/* What the columns of the statements must hold (R4). */
static const struct fa_form task_form = {
    "task", "kilrtnTXXXKXNXXMdMWMTX",
    "id tail lane rank created_us max_attempts run_at_us name key input_hash parent child depth "
    "team created_by retry_base_ms retry_factor retry_max_ms key_scope timeout_ms "
    "start_by_us fair_group"};
static const struct fa_form ready_form = {
    "ready", "NNNNGXTTTJJTN",
    "version fence attempts flags progress state updated_us claimed_us started_us error metadata "
    "run_at_us turn"};
static const struct fa_form plain_form = {"task", "kirtn.XX",
                                          "id tail rank created_us max_attempts input name key"};
static const struct fa_form held_form = {
    "held", "ilrHnnnngtTTTXXJJT",
    "tail lane rank status version fence attempts flags progress updated_us claimed_us started_us "
    "lease_us worker state error metadata deadline_us"};
static const struct fa_form parked_form = {
    "parked", "PTnnnnnngtTTXJJ",
    "status at_us version fence attempts flags deps_left deps_bad progress updated_us claimed_us "
    "started_us state error metadata"};
static const struct fa_form ended_form = {
    "ended", "EnnnngtTTtTXXJJ",
    "status version fence attempts flags progress updated_us claimed_us started_us completed_us "
    "deleted_us worker state error metadata"};

static const struct fa_form payload_form = {"task", "BBB", "input metadata spec"};
static const struct fa_form output_form = {"ended", "B", "output"};
static const struct fa_form end_task_form = {"task", "kilrX", "id tail lane rank name"};
static const struct fa_form end_form = {"ended", "ETJ", "status deleted_us error"};

/* Rows being read: row n of the call is rows[n]. */
struct sink {
    struct fa_row **rows;
    struct fa_arena *arena;
    int64_t *lane_ids;
};

/* Notes the first damage of a row. False: it is damaged. */
static bool check(const struct fa_form *form, const struct fa_value *c, struct fa_arena *arena,
                  struct fa_row *row)
{
    const char *damage = fa_form_check(form, c, arena);

    if (damage != NULL && row->damage == NULL)
        row->damage = damage;
    return damage == NULL;
}

const char *fa_row_id_text(const struct fa_row *row, struct fa_arena *arena)
{
    char *text;

    if (!fa_id_is_valid(row->id))
        return fa_arena_printf(arena, "with the row id %lld", (long long)row->id.key);
    text = fa_arena_take(arena, FAINA_ID_SIZE);
    fa_id_format(row->id, text);
    return text;
}

enum faina_code fa_row_refuse(struct fa_source *source, struct fa_row *row, const char *reason,
                              struct faina_error *err)
{
    struct fa_arena scratch = {0};
    const char *id = fa_row_id_text(row, &scratch);
    enum faina_code code = fa_error_set(err, FAINA_INTERNAL, "task %s is damaged: %s", id, reason);

    row->damage = reason;
    fa_aside_report_task(source->aside, row->id.key, fa_id_is_valid(row->id) ? id : NULL, reason,
                         fa_db_now(source->db));
    fa_arena_finish(&scratch);
    return code;
}

bool fa_source_check(struct fa_source *source, const struct fa_form *form,
                     const struct fa_value *columns, const struct fa_value *id,
                     struct fa_arena *arena)
{
    const char *damage = fa_form_check(form, columns, arena);

    if (damage != NULL)
        (void)fa_aside_report_row(source->aside, form->table, id, damage, arena,
                                  fa_db_now(source->db));
    return damage == NULL;
}

/* R4, for a task that was read alone. */
static enum faina_code refuse_damage(struct fa_source *source, struct fa_row *row,
                                     struct faina_error *err)
{
    return row->damage == NULL ? FAINA_OK : fa_row_refuse(source, row, row->damage, err);
}

/* R4, for a read of many tasks. */
static void report_damage(struct fa_source *source, struct fa_row *row)
{
    if (row->damage != NULL)
        (void)fa_row_refuse(source, row, row->damage, NULL);
}

static void read_task(const struct fa_value *c, struct fa_arena *arena, struct fa_row *row)
{
    row->has_task = true;
    if (!check(&task_form, c, arena, row)) {
        row->id.tail = c[1].kind == FA_INT ? c[1].i : -1;
        return;
    }
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
    row->retry.factor = c[16].kind == FA_REAL ? c[16].d : (double)fa_value_as_int(&c[16]);
    row->retry.max_ms = fa_value_as_int(&c[17]);
    row->key_scope = fa_value_as_int(&c[18]);
    row->timeout_ms = fa_value_as_int(&c[19]);
    row->start_by_us = fa_value_as_int(&c[20]);
    row->group = fa_value_dup(&c[21], arena);
    if (row->parent == row->id.key && row->damage == NULL)
        row->damage = "it is its own parent";
}

/* A task that has not changed since it was created may have nulls in all columns but the flags. */
static void read_ready(const struct fa_value *c, struct fa_arena *arena, struct fa_row *row)
{
    row->state_table = FA_STATE_TABLE_READY;
    row->status = FAINA_PENDING;
    if (!check(&ready_form, c, arena, row))
        return;
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
    row->turn = fa_value_as_int(&c[12]);
}

/* The columns of `task` that may be large. */
static void read_payload(const struct fa_value *c, struct fa_arena *arena, struct fa_row *row)
{
    check(&payload_form, c, arena, row);
    row->input = fa_value_dup(&c[0], arena);
    row->first_metadata = fa_value_dup(&c[1], arena);
    row->spec = fa_value_dup(&c[2], arena);
    row->has_payload = true;
}

void fa_row_from_ready_scan(const struct fa_value *columns, struct fa_arena *arena,
                            bool has_payload, struct fa_row *out)
{
    *out = (struct fa_row){.id.key = columns[0].i};
    read_task(columns, arena, out);
    read_ready(columns + TASK_COLUMNS, arena, out);
    out->is_in_run = fa_value_as_int(&columns[TASK_COLUMNS + READY_COLUMNS - 1]);
    if (has_payload)
        read_payload(columns + TASK_COLUMNS + READY_COLUMNS, arena, out);
}

int64_t fa_row_scanned_turn(const struct fa_value *columns)
{
    return fa_value_as_int(&columns[TASK_COLUMNS + READY_COLUMNS - 2]);
}

int64_t fa_row_scanned_oldest(const struct fa_value *columns)
{
    return fa_value_as_int(&columns[TASK_COLUMNS + READY_COLUMNS + PAYLOAD_COLUMNS]);
}

bool fa_row_is_of_other_day(const struct fa_value *columns)
{
    return columns[1].kind == FA_NULL;
}

bool fa_row_from_plain_scan(const struct fa_value *c, struct fa_arena *arena, struct fa_row *out)
{
    const char *damage;

    if (c[8].kind != FA_NULL || fa_row_is_of_other_day(c))
        return false;
    damage = fa_form_check(&plain_form, c, arena);
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
        .state_table = FA_STATE_TABLE_READY,
        .status = FAINA_PENDING,
        .version = 1,
        .is_in_run = fa_value_as_int(&c[9]),
        .damage = damage,
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
    const char *run = fa_value_dup(&columns[14], sink->arena);

    if (!fa_run_contains(columns[13].i, run, row->id.key))
        return;
    read_ready(columns, sink->arena, row);
    row->is_in_run = run != NULL;
}

static void sink_held(void *ctx, size_t n, const struct fa_value *c)
{
    struct sink *sink = ctx;
    struct fa_row *row = sink->rows[n];

    row->state_table = FA_STATE_TABLE_HELD;
    row->id.tail = c[0].kind == FA_INT ? c[0].i : -1;
    if (!check(&held_form, c, sink->arena, row))
        return;
    sink->lane_ids[n] = c[1].i;
    row->rank = c[2].i;
    row->status = (enum faina_status)c[3].i;
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
    row->deadline_us = fa_value_as_int(&c[17]);
}

static void sink_parked(void *ctx, size_t n, const struct fa_value *c)
{
    struct sink *sink = ctx;
    struct fa_row *row = sink->rows[n];

    row->state_table = FA_STATE_TABLE_PARKED;
    if (!check(&parked_form, c, sink->arena, row))
        return;
    row->status = (enum faina_status)c[0].i;
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
    row->state_table = FA_STATE_TABLE_ENDED;
    if (!check(&ended_form, c, sink->arena, row))
        return;
    row->status = (enum faina_status)c[0].i;
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

void fa_row_take_payload(const struct fa_value *c, struct fa_arena *arena, struct fa_row *row)
{
    read_payload(c, arena, row);
    check(&output_form, c + 3, arena, row);
    if (row->output == NULL)
        row->output = fa_value_dup(&c[3], arena);
}

static void sink_payload(void *ctx, size_t n, const struct fa_value *columns)
{
    struct sink *sink = ctx;

    fa_row_take_payload(columns, sink->arena, sink->rows[n]);
}

static void bind_key(void *ctx, size_t n, struct fa_value *v)
{
    v[0] = fa_value_int(((struct sink *)ctx)->rows[n]->id.key);
}

static void bind_ready_key(void *ctx, size_t n, struct fa_value *v)
{
    const struct fa_row *row = ((struct sink *)ctx)->rows[n];

    v[0] = fa_value_int(row->lane != NULL ? row->lane->id : 0); /* a damaged row has none */
    v[1] = fa_value_int(row->rank);
    v[2] = fa_value_int(row->id.key);
}

/* One of the statements that read tasks by their keys. */
static struct fa_db_call call_for(enum fa_sql sql, struct sink *sink, size_t count,
                                  fa_db_sink_fn *take, bool for_change)
{
    bool is_ready = sql == FA_SQL_READY_GET;

    return (struct fa_db_call){.sql = sql,
                               .rows = count,
                               .param_count = is_ready ? 3 : 1,
                               .bind = is_ready ? bind_ready_key : bind_key,
                               .bind_ctx = sink,
                               .sink = take,
                               .sink_ctx = sink,
                               .for_change = for_change};
}

/* Finds the lane of a row. A row whose lane is missing or damaged is damaged. */
static enum faina_code find_lane(struct fa_source *source, struct sink *sink, size_t n,
                                 struct faina_error *err)
{
    struct fa_row *row = sink->rows[n];
    struct faina_error why = {0};
    enum faina_code code;

    if (row->damage != NULL)
        return FAINA_OK;
    code = fa_lanes_read(source->lanes, source->db, sink->lane_ids[n], &row->lane, &why);
    if (code == FAINA_INTERNAL && !source->db->has_failed) {
        row->damage = fa_arena_strdup(sink->arena, why.message);
        return FAINA_OK;
    }
    if (code != FAINA_OK && err != NULL)
        *err = why;
    return code;
}

/* Reads the columns of `task` for rows without them; `lane` stays NULL for missing tasks. */
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
            code = find_lane(source, sink, i, err);
    }
    return code;
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
    if (code == FAINA_OK && row->damage != NULL) {
        row->has_task = false;
        code = refuse_damage(source, row, err);
    }
    return code;
}

/* Reports the damaged ones of many tasks, and leaves them out. */
static void drop_damaged(struct fa_source *source, struct fa_row **rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i]->damage == NULL)
            continue;
        report_damage(source, rows[i]);
        rows[i]->has_task = false;
        rows[i]->state_table = FA_STATE_TABLE_NONE;
    }
}

enum faina_code fa_rows_load_tasks(struct fa_source *source, struct fa_row **rows, size_t count,
                                   struct fa_arena *arena, struct faina_error *err)
{
    struct sink sink = {.rows = rows, .arena = arena};
    enum faina_code code;

    if (count == 0)
        return FAINA_OK;
    sink.lane_ids = fa_arena_zero(arena, count, sizeof(int64_t));
    code = load_tasks(source, &sink, count, err);
    for (size_t i = 0; code == FAINA_OK && i < count; i++) {
        if (rows[i]->damage == NULL)
            continue;
        report_damage(source, rows[i]);
        rows[i]->has_task = false;
    }
    return code;
}

enum faina_code fa_row_load_payload(struct fa_source *source, struct fa_row *row,
                                    struct fa_arena *arena, struct faina_error *err)
{
    struct sink sink = {.rows = &row, .arena = arena};
    struct fa_db_call call = call_for(FA_SQL_TASK_PAYLOAD, &sink, 1, sink_payload, false);

    enum faina_code code;

    if (row->has_payload)
        return FAINA_OK;
    code = fa_db_run(source->db, &call, err);
    return code == FAINA_OK ? refuse_damage(source, row, err) : code;
}

/* Reads the state rows of held tasks. */
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
    for (size_t i = 0; code == FAINA_OK && i < count; i++) {
        if (sink->rows[i]->state_table == FA_STATE_TABLE_HELD)
            code = find_lane(source, sink, i, err);
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
    *found = out->state_table == FA_STATE_TABLE_HELD;
    return code == FAINA_OK ? refuse_damage(source, out, err) : code;
}

/* Searches the tables for the state rows, the most likely table first. Over a network all tables
 * are read in one round trip. */
static enum faina_code load_states(struct fa_source *source, struct sink *sink, size_t count,
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

    if (fa_db_has(source->db, FA_DB_ROUND_TRIPS))
        code = fa_db_run_all(source->db, calls, FA_COUNT(calls), err);
    else
        for (size_t i = 0; code == FAINA_OK && i < FA_COUNT(calls) &&
                           sink->rows[0]->state_table == FA_STATE_TABLE_NONE;
             i++)
            code = fa_db_run(source->db, &calls[i], err);
    return code;
}

#define FIND_TRIES_MAX 50 /* for a task that changes tables during each read */

enum faina_code fa_row_load(struct fa_source *source, int64_t key, struct fa_arena *arena,
                            struct fa_row *out, struct faina_error *err)
{
    int64_t lane_id;
    struct sink sink = {.rows = &out, .arena = arena, .lane_ids = &lane_id};
    int tries =
        fa_db_has(source->db, FA_DB_MANY_WRITERS) && source->for_change ? FIND_TRIES_MAX : 1;
    enum faina_code code = FAINA_OK;

    /* Each statement sees what is committed when it begins: a task that another node changes
     * meanwhile may be found in no table. Once it is locked it stays where it is. */
    for (int i = 0; i < tries; i++) {
        *out = (struct fa_row){.id.key = key};
        code = fa_row_load_task(source, out, arena, err);
        if (code == FAINA_OK)
            code = load_states(source, &sink, 1, err);
        if (code == FAINA_OK)
            code = refuse_damage(source, out, err);
        if (code != FAINA_OK || out->state_table != FA_STATE_TABLE_NONE)
            return code;
    }
    return fa_row_refuse(source, out, FA_ROW_NO_STATE, err);
}

/* Many at once ------------------------------------------------------------------------------- */

static bool has_state(const struct fa_row *row)
{
    return row->state_table != FA_STATE_TABLE_NONE;
}

static bool has_task(const struct fa_row *row)
{
    return row->has_task;
}

/* Moves the rows of which `is_it` is true (or false) to the front; returns their number. */
static size_t select_rows(struct fa_row **rows, size_t count,
                          bool (*is_it)(const struct fa_row *row), bool wanted)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (is_it(rows[i]) == wanted) {
            struct fa_row *row = rows[i];

            rows[i] = rows[kept];
            rows[kept++] = row;
        }
    }
    return kept;
}

/* Both rows of tasks that are not held. A task that changed tables meanwhile is left out, and is
 * read alone when it is needed. */
static enum faina_code load_others(struct fa_source *source, struct sink *sink, size_t count,
                                   struct faina_error *err)
{
    size_t missing = select_rows(sink->rows, count, has_state, false);
    enum faina_code code = FAINA_OK;

    if (missing > 0)
        code = load_tasks(source, sink, missing, err);
    if (code == FAINA_OK)
        missing = select_rows(sink->rows, missing, has_task, true);
    if (code == FAINA_OK && missing > 0)
        code = load_states(source, sink, missing, err);
    return code;
}

enum faina_code fa_rows_load(struct fa_source *source, int64_t *keys, size_t count,
                             struct fa_rows_options options, struct fa_arena *arena,
                             fa_row_found_fn *found, void *ctx, struct faina_error *err)
{
    struct fa_row *rows = fa_arena_zero(arena, count + 1, sizeof(*rows));
    struct sink sink = {.arena = arena};
    enum faina_code code;
    size_t n;

    fa_keys_sort(keys, count);
    sink.rows = fa_arena_take(arena, (count + 1) * sizeof(struct fa_row *));
    sink.lane_ids = fa_arena_zero(arena, count + 1, sizeof(int64_t));
    for (size_t i = 0; i < count; i++) {
        rows[i].id.key = keys[i];
        sink.rows[i] = &rows[i];
    }
    code = load_held(source, &sink, count, err);
    if (code == FAINA_OK)
        code = load_others(source, &sink, count, err);
    if (code == FAINA_OK)
        drop_damaged(source, sink.rows, count);
    n = select_rows(sink.rows, count, has_state, true);
    if (code == FAINA_OK && options.with_task) {
        size_t bare = select_rows(sink.rows, n, has_task, false);

        if (bare > 0)
            code = load_tasks(source, &sink, bare, err);
        if (code == FAINA_OK)
            drop_damaged(source, sink.rows, n);
        n = select_rows(sink.rows, n, has_state, true);
    }
    if (code == FAINA_OK && options.payload && n > 0) {
        struct fa_db_call call = call_for(FA_SQL_TASK_PAYLOAD, &sink, n, sink_payload, false);

        code = fa_db_run(source->db, &call, err);
        if (code == FAINA_OK)
            drop_damaged(source, sink.rows, n);
        n = select_rows(sink.rows, n, has_state, true);
    }
    for (size_t i = 0; code == FAINA_OK && i < n; i++)
        found(ctx, sink.rows[i]);
    return code;
}

/* Subtasks --------------------------------------------------------------------------------- */

struct child_sink {
    struct sink sink; /* rows[n] is the nth row of the result */
    size_t count;
};

static void sink_child(void *ctx, size_t n, const struct fa_value *c)
{
    struct child_sink *children = ctx;
    struct sink *sink = &children->sink;
    struct fa_row *row = sink->rows[children->count];

    (void)n;
    *row = (struct fa_row){.id.key = c[0].i};
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
    if (!check(&end_task_form, c, sink->arena, row))
        return;
    row->rank = c[3].i;
    row->name = fa_value_dup(&c[4], sink->arena);
    if (c[5].kind == FA_NULL)
        return;
    row->state_table = FA_STATE_TABLE_ENDED;
    if (!check(&end_form, c + 5, sink->arena, row))
        return;
    row->status = (enum faina_status)c[5].i;
    row->deleted_us = fa_value_as_int(&c[6]);
    row->error = fa_value_dup(&c[7], sink->arena);
    row->output = fa_value_dup(&c[8], sink->arena);
}

/* The state rows of subtasks that have not ended. */
static enum faina_code load_live(struct fa_source *source, struct sink *sink, size_t count,
                                 struct faina_error *err)
{
    size_t live = select_rows(sink->rows, count, has_state, false);
    enum faina_code code = FAINA_OK;

    if (fa_db_has(source->db, FA_DB_ROUND_TRIPS))
        return live > 0 ? load_states(source, sink, live, err) : FAINA_OK;
    for (size_t i = 0; code == FAINA_OK && i < live; i++) {
        struct sink one = {
            .rows = &sink->rows[i], .arena = sink->arena, .lane_ids = &sink->lane_ids[i]};

        if (sink->rows[i]->damage != NULL)
            continue;
        code = load_states(source, &one, 1, err);
        if (code == FAINA_OK && sink->rows[i]->state_table == FA_STATE_TABLE_NONE)
            sink->rows[i]->damage = FA_ROW_NO_STATE;
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
    *count = children.count;
    for (size_t i = 0; code == FAINA_OK && i < *count; i++) {
        rows[i].parent_tail = parent->id.tail;
        rows[i].has_parent_tail = true;
        code = find_lane(source, sink, i, err);
    }
    if (code == FAINA_OK)
        code = load_live(source, sink, *count, err);
    if (code == FAINA_OK)
        drop_damaged(source, sink->rows, *count);
    return code;
}
