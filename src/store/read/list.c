/*
 * list.c - lists of tasks, newest first. Those in the order of the last change: list_updated.c.
 *
 * The filter selects one of a few statements that scan an index and return candidates; each
 * candidate is then read and compared with all of the filter. So any combination of filters works,
 * and the common ones read little more than they show.
 */
#include "store/read/lookup.h"

#include "store/read/list_inner.h"
#include "store/read/pages.h"
#include "store/read/show.h"
#include "json/json.h"
#include "model/limits.h"
#include "model/states.h"
#include "store/queue/ops.h"

#include <stdio.h>
#include <stdlib.h>

#define LIVE_SORT_MAX 200000 /* more live tasks than this are not collected and sorted */
#define SCAN_MAX 8192        /* keys read at a time */
#define LIVE_STATUSES ((1u << FAINA_COMPLETED) - 1)
#define BAD_STATUSES (1u << FAINA_FAILED | 1u << FAINA_DEAD_LETTER | 1u << FAINA_CANCELLED)

/* Cursors: the key of the last task shown, in hexadecimal. Opaque to users. */

static const char *write_cursor(int64_t key, struct fa_arena *arena)
{
    return fa_arena_printf(arena, "%016llx", (unsigned long long)key);
}

static enum faina_code read_cursor(const char *cursor, int64_t none, int64_t *out,
                                   struct faina_error *err)
{
    char *end;

    *out = none;
    if (cursor == NULL)
        return FAINA_OK;
    if (strlen(cursor) == 16 && strspn(cursor, "0123456789abcdef") == 16) {
        unsigned long long key = strtoull(cursor, &end, 16);

        if (key <= INT64_MAX) {
            *out = (int64_t)key;
            return FAINA_OK;
        }
    }
    return fa_cursor_refuse(err);
}

/* Lanes -------------------------------------------------------------------------------------- */

struct lane_filter {
    const struct faina_query *query;
    struct fa_arena *arena;
    struct fa_json_writer writer;
    struct fa_buf json;
    struct fa_keys ids; /* sorted */
    /* With a key in the filter: one hash per type of the namespace. */
    struct fa_keys hashes;
};

static bool is_namespace(const char *want, struct fa_bytes ns)
{
    if (want != NULL && strcmp(want, "*") == 0)
        return true;
    return fa_bytes_equal(ns, fa_str(want ? want : "default"));
}

static void sink_lane(void *ctx, size_t n, const struct fa_value *c)
{
    struct lane_filter *filter = ctx;
    const struct faina_query *query = filter->query;

    (void)n;
    if (!is_namespace(query->ns, c[1].text))
        return;
    if (query->type != NULL &&
        (c[2].kind != FA_TEXT || !fa_name_is_same(c[2].text.ptr, query->type)))
        return;
    fa_json_put_int(&filter->writer, c[0].i);
    fa_keys_add(&filter->ids, c[0].i);
    if (query->idempotency_key != NULL) {
        const char *ns = fa_value_dup(&c[1], filter->arena);
        const char *type = fa_value_dup(&c[2], filter->arena);

        fa_keys_add(&filter->hashes, fa_key_hash(ns, type, query->idempotency_key).hash);
    }
}

/* The ids of the lanes that match namespace and type, as a JSON array. */
static enum faina_code find_lanes(struct fa_source *source, struct lane_filter *filter,
                                  struct faina_error *err)
{
    const struct faina_query *query = filter->query;
    struct fa_value params[2] = {fa_value_text(query->ns ? query->ns : "default"),
                                 fa_value_text(query->type)};
    bool is_all = query->ns != NULL && strcmp(query->ns, "*") == 0;
    enum faina_code code = FAINA_OK;

    fa_buf_init(&filter->json, SIZE_MAX / 2);
    fa_json_writer_init(&filter->writer, &filter->json, 0);
    fa_json_begin_array(&filter->writer);
    if (is_all && (query->type != NULL || query->idempotency_key != NULL))
        code = fa_db_one(source->db, FA_SQL_LANE_ALL, NULL, 0, sink_lane, filter, err);
    else if (!is_all && query->type == NULL)
        code = fa_db_one(source->db, FA_SQL_LANE_OF_NAMESPACE, params, 1, sink_lane, filter, err);
    else if (!is_all)
        code = fa_db_one(source->db, FA_SQL_LANE_OF_TYPE, params, 2, sink_lane, filter, err);
    fa_json_end_array(&filter->writer);
    fa_keys_sort(filter->ids.keys, filter->ids.count);
    return code;
}

/* The filter --------------------------------------------------------------------------------- */

static bool is_or_any(const char *want, const char *have)
{
    return want == NULL || (have != NULL && strcmp(want, have) == 0);
}

static bool matches(const struct faina_query *query, int64_t parent, const struct fa_row *row)
{
    return row->deleted_us == 0 && (query->statuses == 0 || query->statuses >> row->status & 1) &&
           is_namespace(query->ns, fa_str(row->lane->ns)) &&
           (query->type == NULL || fa_name_is_same(query->type, row->lane->type)) &&
           is_or_any(query->name, row->name ? row->name : row->lane->type) &&
           (query->team_id == NULL ||
            (row->team != NULL && strcasecmp(query->team_id, row->team) == 0)) &&
           is_or_any(query->created_by, row->created_by) &&
           is_or_any(query->idempotency_key, row->key) &&
           (query->parent_id == NULL || row->parent == parent) &&
           (query->created_after_us == 0 || row->created_us >= query->created_after_us) &&
           (query->created_before_us == 0 || row->created_us < query->created_before_us) &&
           (query->updated_after_us == 0 || row->updated_us >= query->updated_after_us) &&
           (query->updated_before_us == 0 || row->updated_us < query->updated_before_us) &&
           (query->worker_id == NULL ||
            (fa_status_is_held(row->status) && is_or_any(query->worker_id, row->worker)));
}

/* The statement that returns candidates. */
struct scan {
    enum fa_sql sql;
    struct fa_value extra; /* parameter 6 */
    size_t param_count;
    char team[FAINA_ID_SIZE]; /* in lower case, as it is stored */
};

static enum faina_code choose_scan(struct fa_source *source, const struct faina_query *query,
                                   int64_t parent, struct scan *out, struct faina_error *err)
{
    int64_t live = 0;
    enum faina_code code = FAINA_OK;

    *out = (struct scan){.sql = FA_SQL_LIST_ALL, .param_count = 7};
    if (query->worker_id != NULL) {
        *out = (struct scan){.sql = FA_SQL_LIST_WORKER, .param_count = 4};
    } else if (query->parent_id != NULL) {
        *out = (struct scan){FA_SQL_LIST_PARENT, fa_value_int(parent), 7, ""};
    } else if (query->team_id != NULL) {
        *out = (struct scan){.sql = FA_SQL_LIST_TEAM, .param_count = 7};
        (void)fa_uuid_parse(query->team_id, out->team); /* succeeds: it was checked */
        out->extra = fa_value_text(out->team);
    } else if (query->created_by != NULL) {
        *out = (struct scan){FA_SQL_LIST_CREATED_BY, fa_value_text(query->created_by), 7, ""};
    } else if (query->statuses != 0 && (query->statuses & ~BAD_STATUSES) == 0) {
        *out = (struct scan){.sql = FA_SQL_LIST_ENDED_BADLY, .param_count = 5};
    } else if (query->statuses == 1u << FAINA_COMPLETED) {
        *out = (struct scan){.sql = FA_SQL_LIST_ENDED, .param_count = 4};
    } else if (query->statuses != 0 && (query->statuses & ~LIVE_STATUSES) == 0) {
        code = fa_db_one(source->db, FA_SQL_LIVE_COUNT, NULL, 0, fa_db_sink_int, &live, err);
        if (live <= LIVE_SORT_MAX || !(query->statuses & 1u << FAINA_PENDING))
            *out = (struct scan){.sql = FA_SQL_LIST_LIVE, .param_count = 5};
    }
    return code;
}

/* Names have no index. So lanes are not left out by the statement: the tasks that it skips would
 * not be counted. */
static bool allows_all_lanes(const struct faina_query *query)
{
    return query->name != NULL ||
           (query->type == NULL && query->ns != NULL && strcmp(query->ns, "*") == 0);
}

/* The next candidates before `before`. */
static enum faina_code next_keys(struct fa_source *source, const struct faina_query *query,
                                 const struct scan *scan, const struct lane_filter *lanes,
                                 int64_t before, int64_t want, struct fa_keys *out,
                                 struct faina_error *err)
{
    /* The time in a task's id is never before its creation, so the time bounds the scan from
     * below. */
    int64_t floor = query->created_after_us > 0 ? fa_id_key_at(query->created_after_us) : 0;
    struct fa_value params[7] = {
        fa_value_int(before),
        fa_value_int(floor),
        {.kind = FA_TEXT, .text = {lanes->json.ptr, lanes->json.len}},
        fa_value_int(want),
        fa_value_int(query->statuses),
        scan->extra,
        fa_value_int(query->created_before_us),
    };

    if (scan->sql == FA_SQL_LIST_WORKER)
        params[2] = fa_value_text(query->worker_id);
    else if (allows_all_lanes(query))
        params[2].kind = FA_NULL;
    out->count = 0;
    return fa_db_one(source->db, scan->sql, params, scan->param_count, fa_keys_sink, out, err);
}

#define PAGE_PART 100 /* tasks that are read at once, where that saves round trips */

/* Candidates that were read. */
struct part {
    struct fa_row *rows;
    size_t count;
};

static void keep_row(void *ctx, const struct fa_row *row)
{
    struct part *part = ctx;

    part->rows[part->count++] = *row;
}

static struct fa_row *find_row(struct part *part, int64_t key)
{
    for (size_t i = 0; i < part->count; i++) {
        if (part->rows[i].id.key == key)
            return &part->rows[i];
    }
    return NULL;
}

/* Reads tasks without their payloads; missing ones are left out. */
static enum faina_code read_part(struct fa_source *source, const int64_t *keys, size_t count,
                                 struct fa_arena *arena, struct part *out, struct faina_error *err)
{
    int64_t sorted[PAGE_PART];
    enum faina_code code = FAINA_OK;

    *out = (struct part){.rows = fa_arena_take(arena, count * sizeof(struct fa_row))};
    if (fa_db_has(source->db, FA_DB_ROUND_TRIPS)) {
        memcpy(sorted, keys, count * sizeof(*keys));
        return fa_rows_load(source, sorted, count, (struct fa_rows_options){.with_task = true},
                            arena, keep_row, out, err);
    }
    for (size_t i = 0; code == FAINA_OK && i < count; i++) {
        struct fa_row *row = &out->rows[out->count];

        code = fa_row_load(source, keys[i], arena, row, err);
        out->count += code == FAINA_OK;
        if (code == FAINA_TASK_NOT_FOUND || (code == FAINA_INTERNAL && row->damage != NULL))
            code = FAINA_OK; /* damaged tasks are left out (row.h, R4) */
    }
    return code;
}

/* Counts the size of the task that was added last. A page above FA_PAGE_SIZE_MAX ends with it. */
static void weigh(struct fa_list_page *page, const struct faina_tasks *tasks)
{
    page->size += fa_task_size(&tasks->items[tasks->count - 1]);
    if (page->size > FA_PAGE_SIZE_MAX)
        page->limit = tasks->count;
}

/* Adds a task to the page; a damaged one is left out (row.h, R4). */
static enum faina_code show(struct fa_source *source, struct fa_op *op, struct fa_list_page *page,
                            struct fa_row *row, bool lend, bool brief)
{
    struct faina_tasks *tasks = op->tasks;
    enum faina_code code = fa_row_to_task(source, row, op->arena, lend, brief,
                                          &tasks->items[tasks->count], &op->error);

    page->last = row->id.key;
    if (code == FAINA_INTERNAL && row->damage != NULL) {
        fa_error_clear(&op->error);
        return FAINA_OK;
    }
    if (code != FAINA_OK)
        return code;
    tasks->count++;
    weigh(page, tasks);
    return FAINA_OK;
}

static bool belongs(const struct fa_list_page *page, const struct fa_row *row)
{
    return page->query != NULL ? matches(page->query, page->parent, row) : row->deleted_us == 0;
}

/* Adds those of at most PAGE_PART tasks that match, in the order of the keys. */
static enum faina_code add_part(struct fa_source *source, struct fa_op *op,
                                struct fa_list_page *page, const int64_t *keys, size_t count)
{
    bool brief = page->query != NULL && page->query->brief;
    struct faina_tasks *tasks = op->tasks;
    struct fa_row *chosen[PAGE_PART];
    struct fa_arena scratch = {0};
    struct part part;
    enum faina_code code = read_part(source, keys, count, &scratch, &part, &op->error);
    size_t n = 0;

    for (size_t i = 0; code == FAINA_OK && !page->is_full && i < count; i++) {
        struct fa_row *row = find_row(&part, keys[i]);

        if (row == NULL || !belongs(page, row))
            continue;
        page->is_full = tasks->count + n >= page->limit;
        if (!page->is_full)
            chosen[n++] = row;
    }
    if (code == FAINA_OK)
        code = fa_rows_read_ahead(source, chosen, n, brief, &scratch, &op->error);
    for (size_t i = 0; code == FAINA_OK && i < n; i++) {
        if (tasks->count >= page->limit) {
            page->is_full = true;
            break;
        }
        code = show(source, op, page, chosen[i], false, brief);
    }
    fa_arena_finish(&scratch);
    return code;
}

enum faina_code fa_list_add(struct fa_source *source, struct fa_op *op, struct fa_list_page *page,
                            const int64_t *keys, size_t count)
{
    size_t part_max = fa_db_has(source->db, FA_DB_ROUND_TRIPS) ? PAGE_PART : 1;
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; code == FAINA_OK && !page->is_full && i < count; i += part_max) {
        size_t n = count - i < part_max ? count - i : part_max;

        code = add_part(source, op, page, keys + i, n);
    }
    return code;
}

static void end_page(struct fa_op *op, const struct fa_list_page *page)
{
    op->tasks->next_cursor = write_cursor(page->last, op->arena);
}

static enum faina_code list_by_scan(struct fa_source *source, struct fa_op *op, int64_t before,
                                    int64_t parent, const struct lane_filter *lanes)
{
    size_t limit = op->query->limit > 0 ? (size_t)op->query->limit : FA_LIST_LIMIT_DEFAULT;
    struct fa_list_page page = {.query = op->query, .parent = parent, .limit = limit};
    struct fa_keys keys = {.arena = op->arena};
    int64_t want = (int64_t)limit + 16, rows = 0;
    struct scan scan;
    enum faina_code code = choose_scan(source, op->query, parent, &scan, &op->error);

    while (code == FAINA_OK && !page.is_full) {
        if (rows >= FA_LIST_ROWS_MAX) {
            op->tasks->next_cursor = write_cursor(before, op->arena);
            return FAINA_OK;
        }
        code = next_keys(source, op->query, &scan, lanes, before, want, &keys, &op->error);
        if (code == FAINA_OK && keys.count > 0) {
            code = fa_list_add(source, op, &page, keys.keys, keys.count);
            before = keys.keys[keys.count - 1];
            rows += (int64_t)keys.count;
        }
        if (code != FAINA_OK || (int64_t)keys.count < want)
            break;
        if (want < SCAN_MAX)
            want *= 2; /* few match: read more at a time */
    }
    if (code == FAINA_OK && page.is_full)
        end_page(op, &page);
    return code;
}

/* A key is found by its hash, in each type that the filter allows. */
static enum faina_code list_by_key(struct fa_source *source, struct fa_op *op, int64_t before,
                                   int64_t parent, const struct lane_filter *lanes)
{
    size_t limit = op->query->limit > 0 ? (size_t)op->query->limit : FA_LIST_LIMIT_DEFAULT;
    struct fa_list_page page = {.query = op->query, .parent = parent, .limit = limit};
    struct fa_keys found = {.arena = op->arena};
    enum faina_code code = FAINA_OK;
    size_t count = 0;

    for (size_t i = 0; code == FAINA_OK && i < lanes->hashes.count; i++) {
        struct fa_value hash = fa_value_int(lanes->hashes.keys[i]);

        code = fa_db_one(source->db, FA_SQL_KEY_FIND, &hash, 1, fa_keys_sink, &found, &op->error);
    }
    fa_keys_sort(found.keys, found.count);
    for (size_t i = 0; i < found.count; i++) {
        /* Lanes that differ only in resources have the same hash. */
        if (found.keys[i] < before && (count == 0 || found.keys[i] != found.keys[count - 1]))
            found.keys[count++] = found.keys[i];
    }
    if (code == FAINA_OK)
        code = fa_list_add(source, op, &page, found.keys, count);
    if (code == FAINA_OK && page.is_full)
        end_page(op, &page);
    return code;
}

static enum faina_code list_by_update(struct fa_source *source, struct fa_op *op, int64_t parent,
                                      const struct lane_filter *lanes)
{
    size_t limit = op->query->limit > 0 ? (size_t)op->query->limit : FA_LIST_LIMIT_DEFAULT;
    struct fa_list_page page = {.query = op->query, .parent = parent, .limit = limit};

    return fa_list_updated(source, op, &page, allows_all_lanes(op->query) ? NULL : &lanes->ids);
}

enum faina_code fa_read_list(struct fa_source *source, struct fa_op *op)
{
    size_t limit = op->query->limit > 0 ? (size_t)op->query->limit : FA_LIST_LIMIT_DEFAULT;
    struct lane_filter lanes = {.query = op->query, .arena = op->arena};
    struct fa_id parent = {0};
    bool by_update = op->query->sort == FAINA_SORT_UPDATED;
    enum faina_code code = FAINA_OK;
    int64_t before = INT64_MAX;

    if (!by_update)
        code = read_cursor(op->query->cursor, INT64_MAX, &before, &op->error);
    if (code != FAINA_OK)
        return code;
    op->tasks = fa_arena_zero(op->arena, 1, sizeof(*op->tasks));
    op->tasks->items = fa_arena_take(op->arena, (limit + 1) * sizeof(struct faina_task));
    if (op->query->parent_id != NULL && !fa_id_parse(op->query->parent_id, &parent))
        return FAINA_OK; /* no task has that parent */
    lanes.hashes.arena = lanes.ids.arena = op->arena;
    code = find_lanes(source, &lanes, &op->error);
    if (code == FAINA_OK && by_update)
        code = list_by_update(source, op, parent.key, &lanes);
    else if (code == FAINA_OK)
        code = op->query->idempotency_key != NULL
                   ? list_by_key(source, op, before, parent.key, &lanes)
                   : list_by_scan(source, op, before, parent.key, &lanes);
    fa_buf_finish(&lanes.json);
    return code;
}

/* Children, oldest first --------------------------------------------------------------------- */

/* Adds the children that are not deleted, until the page is full. */
static enum faina_code add_children(struct fa_source *source, struct fa_op *op,
                                    struct fa_list_page *page, struct fa_row *rows, size_t count)
{
    struct faina_tasks *tasks = op->tasks;
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; code == FAINA_OK && !page->is_full && i < count; i++) {
        if (rows[i].state_table == FA_STATE_TABLE_NONE || !belongs(page, &rows[i]))
            continue;
        page->is_full = tasks->count >= page->limit;
        if (page->is_full)
            break;
        code = show(source, op, page, &rows[i], true, false);
    }
    return code;
}

/* Reads the children after `after` until the page is full or the list ends. */
static enum faina_code read_children(struct fa_source *source, struct fa_op *op,
                                     const struct fa_row *parent, int64_t after, size_t limit)
{
    struct fa_row *rows = fa_arena_take(op->arena, PAGE_PART * sizeof(*rows));
    struct fa_list_page page = {.limit = limit};
    enum faina_code code;
    size_t most, count;

    do {
        most = limit + 1 - op->tasks->count;
        count = most = most < PAGE_PART ? most : PAGE_PART;
        code = fa_rows_load_children(source, parent, after, op->page.ends, rows, &count, op->arena,
                                     &op->error);
        if (code == FAINA_OK && count > 0) {
            after = rows[count - 1].id.key;
            code = add_children(source, op, &page, rows, count);
        }
    } while (code == FAINA_OK && !page.is_full && count == most);
    if (code == FAINA_OK && page.is_full)
        end_page(op, &page);
    return code;
}

enum faina_code fa_read_children(struct fa_source *source, struct fa_op *op)
{
    size_t limit = op->page.limit > 0 ? (size_t)op->page.limit : FA_LIST_LIMIT_MAX;
    struct fa_row row;
    enum faina_code code;
    int64_t after;

    code = read_cursor(op->page.cursor, 0, &after, &op->error);
    if (code == FAINA_OK)
        code = fa_read_find(source, op->id, op->arena, &row, &op->error);
    if (code != FAINA_OK)
        return code;
    op->tasks = fa_arena_zero(op->arena, 1, sizeof(*op->tasks));
    op->tasks->items = fa_arena_take(op->arena, (limit + 1) * sizeof(struct faina_task));
    return read_children(source, op, &row, after, limit);
}
