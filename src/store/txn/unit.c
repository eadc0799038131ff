/*
 * unit.c - rows in memory, their events, keys and links.
 *
 * transition.c changes their status, flush.c writes them.
 */
#include "store/txn/unit.h"

#include "store/read/show.h"
#include "store/txn/flush.h"

#include <assert.h>
#include <stdlib.h>

#define BUCKETS_MIN 256 /* a power of two */

void fa_unit_init(struct fa_unit *unit, struct fa_source source, struct fa_id_source *ids,
                  struct fa_random *random)
{
    *unit = (struct fa_unit){
        .source = source,
        .ids = ids,
        .random = random,
        .next_us = INT64_MAX,
        .epoch = 1,
        .bucket_count = BUCKETS_MIN,
    };
    unit->buckets = fa_alloc_zero(unit->bucket_count, sizeof(struct fa_row *));
    fa_buf_init(&unit->log_lines, SIZE_MAX / 2);
    fa_scan_starts_init(&unit->scan_starts);
}

/* After a large transaction the tables shrink, so that small transactions don't clear large ones.
 * */
static void clear_tables(struct fa_unit *unit)
{
    if (unit->bucket_count > BUCKETS_MIN) {
        free(unit->buckets);
        unit->bucket_count = BUCKETS_MIN;
        unit->buckets = fa_alloc_zero(unit->bucket_count, sizeof(struct fa_row *));
    } else if (unit->row_count > 0) {
        memset(unit->buckets, 0, unit->bucket_count * sizeof(struct fa_row *));
    }
    if (unit->key_count > 0) {
        free(unit->keys);
        unit->keys = NULL;
        unit->key_count = unit->key_size = 0;
    }
}

void fa_unit_reset(struct fa_unit *unit)
{
    fa_arena_reset(&unit->arena);
    unit->source.also = NULL;
    unit->actor.worker = NULL;
    clear_tables(unit);
    fa_buf_clear(&unit->log_lines);
    unit->log_worker_len = 0;
    unit->row_count = 0;
    unit->dirty_count = 0;
    unit->event_count = 0;
    unit->emitted = NULL;
    unit->emitted_count = unit->emitted_size = 0;
    unit->link_count = 0;
    unit->message_count = 0;
    unit->failure_count = 0;
    unit->attempt_count = 0;
    unit->missed = NULL;
    unit->missed_count = unit->missed_size = 0;
    unit->acts = NULL;
    unit->act_count = unit->act_size = 0;
    unit->has_messages = false;
    unit->ended_count = unit->ended_seen = 0;
    unit->waits.count = unit->runs.count = unit->retries.count = 0;
    unit->added = NULL;
    unit->added_count = unit->added_size = unit->lost_count = 0;
    unit->sql_submits = NULL;
    unit->sql_submit_count = unit->sql_submit_size = 0;
    unit->trigger_failures = NULL;
    unit->trigger_failure_count = unit->trigger_failure_size = 0;
    unit->has_ready = unit->has_leftover = unit->has_bulk = unit->has_policies = false;
    unit->ready_types = 0;
    unit->oldest_key = FA_SCAN_START_NONE;
    unit->has_arrivals = false;
    unit->hashes = NULL;
    unit->found = NULL;
    unit->hash_count = unit->found_count = unit->found_size = 0;
    unit->next_us = INT64_MAX;
    unit->claim_demand = 0;
    if (unit->claims > 0)
        unit->claims_usual = unit->claims;
    unit->claims = 0;
    unit->claimed_key = 0;
    unit->epoch++;
}

void fa_unit_finish(struct fa_unit *unit)
{
    free(unit->claimers);
    fa_arena_finish(&unit->arena);
    fa_buf_finish(&unit->log_lines);
    free(unit->buckets);
    free(unit->dirty);
    free(unit->events);
    free(unit->links);
    free(unit->messages);
    free(unit->failures);
    free(unit->attempts);
    free(unit->keys);
    free(unit->ended);
    free(unit->waits.items);
    free(unit->runs.items);
    free(unit->retries.items);
}

const char *fa_unit_text(struct fa_unit *unit, const char *text)
{
    return fa_arena_strdup(&unit->arena, text);
}

/* Rows ------------------------------------------------------------------------------------- */

static size_t bucket_of(const struct fa_unit *unit, int64_t key)
{
    return (size_t)((uint64_t)key * 0x9e3779b97f4a7c15u >> 32) & (unit->bucket_count - 1);
}

struct fa_row *fa_unit_cached(struct fa_unit *unit, int64_t key)
{
    struct fa_row *row = unit->buckets[bucket_of(unit, key)];

    while (row != NULL && row->id.key != key)
        row = row->next_in_bucket;
    return row;
}

static void grow_buckets(struct fa_unit *unit)
{
    struct fa_row **old = unit->buckets;
    size_t old_count = unit->bucket_count;

    unit->bucket_count *= 4;
    unit->buckets = fa_alloc_zero(unit->bucket_count, sizeof(struct fa_row *));
    for (size_t i = 0; i < old_count; i++) {
        for (struct fa_row *row = old[i], *next; row != NULL; row = next) {
            size_t at = bucket_of(unit, row->id.key);

            next = row->next_in_bucket;
            row->next_in_bucket = unit->buckets[at];
            unit->buckets[at] = row;
        }
    }
    free(old);
}

static struct fa_row *keep(struct fa_unit *unit, const struct fa_row *row)
{
    struct fa_row *kept = fa_arena_take(&unit->arena, sizeof(*kept));
    size_t at;

    if (unit->row_count++ >= unit->bucket_count)
        grow_buckets(unit);
    at = bucket_of(unit, row->id.key);
    *kept = *row;
    kept->next_in_bucket = unit->buckets[at];
    unit->buckets[at] = kept;
    return kept;
}

struct fa_row *fa_unit_adopt(struct fa_unit *unit, const struct fa_row *row)
{
    struct fa_row *known = fa_unit_cached(unit, row->id.key);

    return known != NULL ? known : keep(unit, row);
}

struct fa_row *fa_unit_add(struct fa_unit *unit, struct fa_id id)
{
    struct fa_row row = {
        .id = id, .has_task = true, .has_payload = true, .is_checked = true, .is_new = true};
    struct fa_row *kept = keep(unit, &row);

    unit->has_arrivals = true;
    unit->added = fa_arena_grow(&unit->arena, unit->added, unit->added_count, &unit->added_size,
                                sizeof(struct fa_row *));
    unit->added[unit->added_count++] = kept;
    return kept;
}

static enum faina_code load(struct fa_unit *unit, int64_t key, bool with_task, struct fa_row **out,
                            struct faina_error *err)
{
    struct fa_row *row = fa_unit_cached(unit, key);
    enum faina_code code = FAINA_OK;
    struct fa_row loaded;
    bool found = false;

    if (row == NULL) {
        /* Most calls concern a held task, and need only its state row. */
        code = fa_row_load_held(&unit->source, key, &unit->arena, &loaded, &found, err);
        if (code == FAINA_OK && !found)
            code = fa_row_load(&unit->source, key, &unit->arena, &loaded, err);
        if (code != FAINA_OK)
            return code;
        row = keep(unit, &loaded);
    }
    if (row->is_purged)
        return fa_error_set(err, FAINA_TASK_NOT_FOUND, "there is no such task");
    if (with_task)
        code = fa_unit_load_task(unit, row, err);
    if (code == FAINA_OK)
        *out = row;
    return code;
}

enum faina_code fa_unit_load_task(struct fa_unit *unit, struct fa_row *row, struct faina_error *err)
{
    return fa_row_load_task(&unit->source, row, &unit->arena, err);
}

enum faina_code fa_unit_get(struct fa_unit *unit, int64_t key, bool with_task, struct fa_row **out,
                            struct faina_error *err)
{
    struct fa_row *row = NULL;
    enum faina_code code = load(unit, key, with_task, &row, err);

    if (code == FAINA_OK && row->deleted_us != 0)
        code = fa_error_set(err, FAINA_TASK_NOT_FOUND, "there is no such task");
    if (code == FAINA_OK)
        *out = row;
    return code;
}

enum faina_code fa_unit_find_any(struct fa_unit *unit, const char *id, struct fa_row **out,
                                 struct faina_error *err)
{
    struct fa_row *row = NULL;
    enum faina_code code;
    struct fa_id parsed;

    if (!fa_id_parse(id, &parsed))
        return fa_error_set(err, FAINA_TASK_NOT_FOUND, "there is no task %.64s", id);
    code = load(unit, parsed.key, false, &row, err);
    if (code == FAINA_TASK_NOT_FOUND || (code == FAINA_OK && row->id.tail != parsed.tail))
        return fa_error_set(err, FAINA_TASK_NOT_FOUND, "there is no task %s", id);
    if (code == FAINA_OK)
        *out = row;
    return code;
}

enum faina_code fa_unit_find(struct fa_unit *unit, const char *id, bool with_task,
                             struct fa_row **out, struct faina_error *err)
{
    struct fa_row *row = NULL;
    enum faina_code code = fa_unit_find_any(unit, id, &row, err);

    if (code == FAINA_OK && row->deleted_us != 0)
        code = fa_error_set(err, FAINA_TASK_NOT_FOUND, "there is no task %s", id);
    if (code == FAINA_OK && with_task)
        code = fa_unit_load_task(unit, row, err);
    if (code == FAINA_OK)
        *out = row;
    return code;
}

/* Many at once ----------------------------------------------------------------------------- */

static void adopt(void *ctx, const struct fa_row *row)
{
    fa_unit_adopt(ctx, row);
}

static int compare_ints(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* A sorted copy without repetitions. */
static int64_t *sort_ints(struct fa_unit *unit, const int64_t *ints, size_t *count)
{
    int64_t *sorted = fa_arena_take(&unit->arena, (*count + 1) * sizeof(*sorted));
    size_t kept = 0;

    if (*count > 0)
        memcpy(sorted, ints, *count * sizeof(*sorted));
    qsort(sorted, *count, sizeof(*sorted), compare_ints);
    for (size_t i = 0; i < *count; i++) {
        if (kept == 0 || sorted[i] != sorted[kept - 1])
            sorted[kept++] = sorted[i];
    }
    *count = kept;
    return sorted;
}

enum faina_code fa_unit_prefetch(struct fa_unit *unit, const int64_t *keys, size_t count,
                                 struct fa_rows_options options, struct faina_error *err)
{
    int64_t *unknown = sort_ints(unit, keys, &count);
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        if (fa_unit_cached(unit, unknown[i]) == NULL)
            unknown[n++] = unknown[i];
    }
    if (n == 0)
        return FAINA_OK;
    return fa_rows_load(&unit->source, unknown, n, options, &unit->arena, adopt, unit, err);
}

enum faina_code fa_unit_load_tasks(struct fa_unit *unit, const int64_t *keys, size_t count,
                                   struct faina_error *err)
{
    struct fa_row **rows = fa_arena_take(&unit->arena, (count + 1) * sizeof(struct fa_row *));
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        struct fa_row *row = fa_unit_cached(unit, keys[i]);

        if (row != NULL && !row->has_task)
            rows[n++] = row;
    }
    return fa_rows_load_tasks(&unit->source, rows, n, &unit->arena, err);
}

/* Keys that are being read. */
struct key_read {
    struct fa_unit *unit;
    int64_t *hashes;
};

static void bind_hash(void *ctx, size_t row, struct fa_value *params)
{
    params[0] = fa_value_int(((const struct key_read *)ctx)->hashes[row]);
}

static void sink_found(void *ctx, size_t row, const struct fa_value *columns)
{
    const struct key_read *read = ctx;
    struct fa_unit *unit = read->unit;

    unit->found = fa_arena_grow(&unit->arena, unit->found, unit->found_count, &unit->found_size,
                                sizeof(*unit->found));
    unit->found[unit->found_count++] =
        (struct fa_unit_found){read->hashes[row], fa_value_as_int(&columns[0])};
}

static bool was_read_ahead(const struct fa_unit *unit, int64_t hash)
{
    return unit->hash_count > 0 &&
           bsearch(&hash, unit->hashes, unit->hash_count, sizeof(int64_t), compare_ints) != NULL;
}

enum faina_code fa_unit_read_keys(struct fa_unit *unit, const int64_t *hashes, size_t count,
                                  bool payload, struct faina_error *err)
{
    size_t before = unit->found_count, all = unit->hash_count + count;
    struct key_read read = {unit, sort_ints(unit, hashes, &count)};
    struct fa_db_call call = {.sql = FA_SQL_KEY_FIND,
                              .rows = count,
                              .param_count = 1,
                              .bind = bind_hash,
                              .bind_ctx = &read,
                              .sink = sink_found,
                              .sink_ctx = &read};
    int64_t *tasks, *merged;
    enum faina_code code;

    for (size_t i = call.rows = 0; i < count; i++) {
        if (!was_read_ahead(unit, read.hashes[i]))
            read.hashes[call.rows++] = read.hashes[i];
    }
    code = fa_db_run(unit->source.db, &call, err);
    merged = fa_arena_take(&unit->arena, (all + 1) * sizeof(*merged));
    if (unit->hash_count > 0)
        memcpy(merged, unit->hashes, unit->hash_count * sizeof(*merged));
    memcpy(merged + unit->hash_count, read.hashes, call.rows * sizeof(*merged));
    unit->hash_count += call.rows;
    qsort(merged, unit->hash_count, sizeof(*merged), compare_ints);
    unit->hashes = merged;
    tasks = fa_arena_take(&unit->arena, (unit->found_count + 1) * sizeof(*tasks));
    for (size_t i = before; i < unit->found_count; i++)
        tasks[i - before] = unit->found[i].task;
    if (code == FAINA_OK)
        code =
            fa_unit_prefetch(unit, tasks, unit->found_count - before,
                             (struct fa_rows_options){.with_task = true, .payload = payload}, err);
    return code;
}

/* The tasks that may have a key. */
static enum faina_code find_holders(struct fa_unit *unit, int64_t hash, struct fa_keys *out,
                                    struct faina_error *err)
{
    struct fa_value param = fa_value_int(hash);

    if (!was_read_ahead(unit, hash))
        return fa_db_one(unit->source.db, FA_SQL_KEY_FIND, &param, 1, fa_keys_sink, out, err);
    for (size_t i = 0; i < unit->found_count; i++) {
        if (unit->found[i].hash == hash)
            fa_keys_add(out, unit->found[i].task);
    }
    return FAINA_OK;
}

enum faina_code fa_unit_read_ahead(struct fa_unit *unit, const int64_t *keys, size_t count,
                                   struct faina_error *err)
{
    if (!fa_db_has(unit->source.db, FA_DB_ROUND_TRIPS) || count == 0)
        return FAINA_OK;
    return fa_unit_prefetch(unit, keys, count, (struct fa_rows_options){0}, err);
}

bool fa_unit_should_share(const struct fa_unit *unit)
{
    return fa_db_has(unit->source.db, FA_DB_MANY_WRITERS) &&
           (unit->share_epoch != unit->epoch || fa_lanes_need_limits(unit->source.lanes));
}

enum faina_code fa_unit_share_and_scan(struct fa_unit *unit, const struct fa_db_call *scans,
                                       size_t count, struct faina_error *err)
{
    enum faina_code code = fa_unit_flush(unit, err);

    assert(fa_db_has(unit->source.db, FA_DB_MANY_WRITERS));
    unit->share_epoch = unit->epoch;
    if (code == FAINA_OK)
        code = fa_lanes_refresh(unit->source.lanes, unit->source.db, unit->scan_starts.is_bloated,
                                scans, count, err);
    if (code == FAINA_OK)
        code = fa_scan_starts_refresh(&unit->scan_starts, unit->source.lanes, unit->source.db, err);
    return code;
}

enum faina_code fa_unit_share(struct fa_unit *unit, struct faina_error *err)
{
    if (!fa_unit_should_share(unit) && (!fa_db_has(unit->source.db, FA_DB_MANY_WRITERS) ||
                                        fa_lanes_have_limits(unit->source.lanes)))
        return FAINA_OK;
    return fa_unit_share_and_scan(unit, NULL, 0, err);
}

void fa_unit_touch(struct fa_unit *unit, struct fa_row *row)
{
    unit->changes++;
    if (row->is_dirty)
        return;
    row->is_dirty = true;
    unit->dirty = fa_grow(unit->dirty, unit->dirty_count, &unit->dirty_size, sizeof(*unit->dirty));
    unit->dirty[unit->dirty_count++] = row;
}

/* Now, or just after the last event of the task (U4). */
static int64_t next_time(const struct fa_unit *unit, const struct fa_row *row)
{
    int64_t last = row->updated_us > row->noted_us ? row->updated_us : row->noted_us;

    return unit->now_us > last ? unit->now_us : last + 1;
}

int64_t fa_unit_change(struct fa_unit *unit, struct fa_row *row)
{
    fa_unit_touch(unit, row);
    row->version++;
    row->is_changed = true;
    row->updated_us = next_time(unit, row);
    return row->updated_us;
}

/* Events ----------------------------------------------------------------------------------- */

static void note(struct fa_unit *unit, const struct fa_unit_event *event)
{
    unit->changes++;
    unit->events =
        fa_grow(unit->events, unit->event_count, &unit->event_size, sizeof(*unit->events));
    unit->events[unit->event_count++] = *event;
}

/* Many events of a transaction are of one worker: "=" is the worker of the line before. */
static void log_worker(struct fa_unit *unit, const char *worker)
{
    size_t len = strlen(worker);

    if (len == unit->log_worker_len &&
        memcmp(unit->log_lines.ptr + unit->log_worker_at, worker, len) == 0) {
        fa_buf_add(&unit->log_lines, "=", 1);
        return;
    }
    unit->log_worker_at = unit->log_lines.len;
    unit->log_worker_len = len;
    fa_buf_add(&unit->log_lines, worker, len);
}

static void log_event(struct fa_unit *unit, const struct fa_row *row, const char *what,
                      enum faina_status status, int64_t at_us, const char *worker, bool is_note)
{
    char line[160], *at = fa_put_hex(line, (uint64_t)row->id.key);
    size_t len = strlen(what);

    assert(len < 32);
    *at++ = ' ';
    at = fa_put_hex(at, (uint64_t)at_us);
    *at++ = ' ';
    *at++ = (char)('0' + status);
    *at++ = ' ';
    memcpy(at, what, len);
    at += len;
    if (worker || row->attempts > 0 || is_note) {
        *at++ = '\t';
        at = fa_put_hex(at, (uint64_t)row->attempts);
        *at++ = is_note ? '-' : '+';
        at = fa_put_hex(at, (uint64_t)row->progress);
        *at++ = '\t';
    }
    fa_buf_add(&unit->log_lines, line, (size_t)(at - line));
    if (worker)
        log_worker(unit, worker);
    fa_buf_add(&unit->log_lines, "\n", 1);
}

void fa_unit_log_event(struct fa_unit *unit, const struct fa_row *row, const char *what,
                       enum faina_status status, int64_t at_us)
{
    log_event(unit, row, what, status, at_us, row->worker, false);
}

static void store_event(struct fa_unit *unit, const struct fa_row *row, int64_t at_us,
                        struct fa_unit_event event)
{
    event.task = row->id.key;
    event.at_us = at_us;
    event.status = row->status;
    event.worker = fa_unit_text(unit, event.worker);
    event.detail = fa_unit_text(unit, event.detail);
    note(unit, &event);
}

/* Stores an event with this time, and adds it to the event log. */
static void add_event(struct fa_unit *unit, const struct fa_row *row, int64_t at_us, bool is_note,
                      struct fa_unit_event event)
{
    log_event(unit, row, event.what, row->status, at_us, event.worker, is_note);
    store_event(unit, row, at_us, event);
}

void fa_unit_event(struct fa_unit *unit, const struct fa_row *row, const char *what,
                   enum faina_actor actor, const char *worker, const char *detail)
{
    add_event(
        unit, row, row->updated_us, strcmp(what, "progress") == 0,
        (struct fa_unit_event){
            .what = what, .actor = actor, .state = row->state, .worker = worker, .detail = detail});
}

void fa_unit_note(struct fa_unit *unit, struct fa_row *row, const char *what,
                  enum faina_actor actor, const char *worker, const char *detail)
{
    row->noted_us = next_time(unit, row);
    add_event(
        unit, row, row->noted_us, true,
        (struct fa_unit_event){.what = what, .actor = actor, .worker = worker, .detail = detail});
}

void fa_unit_note_unlogged(struct fa_unit *unit, struct fa_row *row, const char *what,
                           enum faina_actor actor, const char *worker, const char *detail)
{
    row->noted_us = next_time(unit, row);
    store_event(
        unit, row, row->noted_us,
        (struct fa_unit_event){.what = what, .actor = actor, .worker = worker, .detail = detail});
}

void fa_unit_store_implicit_events(struct fa_unit *unit, struct fa_row *row)
{
    struct faina_event events[FA_IMPLICIT_EVENTS_MAX];
    size_t count = fa_row_implicit_events(row, events);

    for (size_t i = 0; i < count; i++)
        note(unit, &(struct fa_unit_event){.task = row->id.key,
                                           .at_us = events[i].at_us,
                                           .what = events[i].what,
                                           .status = events[i].status,
                                           .actor = events[i].actor,
                                           .state = events[i].state,
                                           .worker = events[i].worker_id,
                                           .detail = events[i].detail});
    row->flags &= ~(FA_FLAG_CLAIM_EVENT | FA_FLAG_START_EVENT);
}

/* Keys ------------------------------------------------------------------------------------- */

static void put_key(struct fa_unit *unit, int64_t hash, struct fa_row *row)
{
    size_t mask = unit->key_size - 1, at = (size_t)hash & mask;

    while (unit->keys[at].row != NULL)
        at = (at + 1) & mask;
    unit->keys[at] = (struct fa_unit_key){hash, row};
}

void fa_unit_take_key(struct fa_unit *unit, struct fa_key key, struct fa_row *row)
{
    if ((unit->key_count + 1) * 2 > unit->key_size) {
        struct fa_unit_key *old = unit->keys;
        size_t old_size = unit->key_size;

        unit->key_size = old_size ? old_size * 2 : 64;
        unit->keys = fa_alloc_zero(unit->key_size, sizeof(*unit->keys));
        for (size_t i = 0; i < old_size; i++) {
            if (old[i].row != NULL)
                put_key(unit, old[i].hash, old[i].row);
        }
        free(old);
    }
    put_key(unit, key.hash, row);
    unit->key_count++;
    fa_unit_link(unit, FA_LINK_KEY, key.hash, row->id.key, key.more);
}

void fa_unit_move_key(struct fa_unit *unit, struct fa_key key, const struct fa_row *from,
                      struct fa_row *to)
{
    size_t mask = unit->key_size - 1, at = (size_t)key.hash & mask;

    fa_unit_link(unit, FA_UNLINK_KEY, key.hash, from->id.key, key.more);
    for (; unit->key_size > 0 && unit->keys[at].row != NULL; at = (at + 1) & mask) {
        if (unit->keys[at].hash == key.hash && unit->keys[at].row == from) {
            unit->keys[at].row = to;
            fa_unit_link(unit, FA_LINK_KEY, key.hash, to->id.key, key.more);
            return;
        }
    }
    fa_unit_take_key(unit, key, to);
}

static bool has_key(const struct fa_row *row, fa_unit_key_fn *is_it, const void *ctx)
{
    return !row->is_purged && row->deleted_us == 0 && is_it(row, ctx);
}

struct fa_row *fa_unit_cached_key(struct fa_unit *unit, int64_t hash, fa_unit_key_fn *is_it,
                                  const void *ctx)
{
    size_t mask = unit->key_size - 1, at = (size_t)hash & mask;

    if (unit->key_size == 0)
        return NULL;
    for (; unit->keys[at].row != NULL; at = (at + 1) & mask) {
        if (unit->keys[at].hash == hash && has_key(unit->keys[at].row, is_it, ctx))
            return unit->keys[at].row;
    }
    return NULL;
}

enum faina_code fa_unit_find_key(struct fa_unit *unit, int64_t hash, fa_unit_key_fn *is_it,
                                 const void *ctx, struct fa_row **out, struct faina_error *err)
{
    struct fa_keys found = {.arena = &unit->arena};
    enum faina_code code;

    *out = fa_unit_cached_key(unit, hash, is_it, ctx);
    if (*out != NULL)
        return FAINA_OK;
    code = find_holders(unit, hash, &found, err);
    for (size_t i = 0; code == FAINA_OK && *out == NULL && i < found.count; i++) {
        struct fa_row *row = NULL;

        code = load(unit, found.keys[i], true, &row, err);
        if (code == FAINA_TASK_NOT_FOUND)
            code = FAINA_OK;
        else if (code == FAINA_OK && has_key(row, is_it, ctx))
            *out = row;
    }
    return code;
}

/* Links ------------------------------------------------------------------------------------ */

void fa_unit_link(struct fa_unit *unit, enum fa_link kind, int64_t a, int64_t b, int64_t c)
{
    unit->changes++;
    unit->links = fa_grow(unit->links, unit->link_count, &unit->link_size, sizeof(*unit->links));
    unit->links[unit->link_count++] = (struct fa_unit_link){kind, a, b, c};
}
