/*
 * list_order.c - lists by the time of the submit, by priority, and by the time to run at.
 *
 * Each order is a merge of scans of indexes. A round reads the next rows of every scan, sorts them,
 * and shows those that no unread row can precede. Rows of other lanes are left out here, and not by
 * the statements: a statement then reads as many rows as it returns (list_inner.h, L1).
 *
 *   by submit    the keys of the tasks; the filter chooses the scans that have the fewest others
 *   priority     index task_rank has the tasks whose rank is not 0; those of rank 0 are a scan of
 *                the primary key, between the negative ranks and the positive ones
 *   runAt        delayed tasks by parked_at and ready_run_at, others that were submitted with a
 *                time by task_run_at, and the rest by key, whose time is that of the submit
 *
 * A few tasks are read whole and sorted: those of a parent, those with a key, and all with the
 * statuses of the filter if there are few (FA_LIST_WHOLE_MAX).
 */
#include "store/read/list_inner.h"

#include "model/cursor.h"
#include "model/id.h"
#include "model/limits.h"
#include "store/read/pages.h"

#include <inttypes.h>
#include <stdlib.h>

#define ROUND_MAX 1024 /* rows of a scan that a round reads at most */
#define SCANS_MAX 8
#define KEY_US_MAX (INT64_C(253402300800) * 1000000) /* no key is of a later time */

/* A scan of an index, in the order of the list or whole. */
struct scan {
    enum fa_sql asc, desc;
    struct fa_value extra; /* parameter 4 */
    bool has_extra;
    bool is_by_key;  /* its rows are in the order of their keys, and it has bounds of keys */
    bool is_zero;    /* of the rows only those of rank 0 count */
    bool is_untimed; /* of the rows only those without a time to run at */
    bool is_whole;   /* it returns all its rows, in no order */
    bool has_places; /* a whole scan: rows have rank and time */
};

struct merge {
    struct fa_source *source;
    struct fa_op *op;
    struct fa_list_page *page;
    bool ascends;
    bool by_place;             /* the order is by places, and then by keys */
    bool by_rank;              /* see read_ranks */
    struct fa_list_item from;  /* everything up to here is done */
    struct fa_list_item bound; /* no unread row precedes it */
    bool is_bounded;           /* there are unread rows */
    struct fa_list_item *items;
    size_t count, size;
    /* The scan that is being read: */
    const struct scan *scan;
    struct fa_list_item last;
    size_t got;
};

static int compare(const struct merge *merge, struct fa_list_item a, struct fa_list_item b)
{
    int order =
        a.place != b.place ? (a.place < b.place ? -1 : 1) : (a.key > b.key) - (a.key < b.key);

    return merge->ascends ? order : -order;
}

int64_t fa_list_place(enum faina_sort sort, const struct fa_row *row)
{
    if (sort == FAINA_SORT_PRIORITY)
        return row->rank;
    if (sort != FAINA_SORT_RUN_AT)
        return 0;
    if (row->status == FAINA_PENDING && (row->at_us != 0 || row->due_us != 0))
        return row->at_us ? row->at_us : row->due_us;
    return row->run_at_us ? row->run_at_us : fa_id_key_us(row->id.key);
}

/* Reading ------------------------------------------------------------------------------------ */

static int64_t place_of(const struct merge *merge, int64_t key, const struct fa_value *c)
{
    const struct scan *scan = merge->scan;

    if (!merge->by_place || scan->is_zero)
        return 0;
    if (scan->is_whole && merge->page->sort == FAINA_SORT_PRIORITY)
        return fa_value_as_int(&c[2]);
    if (scan->is_whole)
        return c[3].kind == FA_INT ? c[3].i : fa_id_key_us(key);
    if (scan->is_untimed)
        return fa_id_key_us(key);
    return fa_value_as_int(&c[2]);
}

static void sink_item(void *ctx, size_t n, const struct fa_value *c)
{
    struct merge *merge = ctx;
    const struct fa_list_filter *filter = merge->page->filter;
    const struct scan *scan = merge->scan;
    int64_t key = fa_value_as_int(&c[0]);
    struct fa_list_item item = {key, place_of(merge, key, c)};

    (void)n;
    merge->got++;
    merge->last = item;
    if ((scan->is_zero && fa_value_as_int(&c[2]) != 0) ||
        (scan->is_untimed && c[3].kind == FA_INT) || key <= filter->low || key >= filter->high ||
        compare(merge, item, merge->from) <= 0 ||
        !fa_list_filter_has_lane(filter, fa_value_as_int(&c[1])))
        return;
    merge->items = fa_arena_grow(merge->op->arena, merge->items, merge->count, &merge->size,
                                 sizeof(*merge->items));
    merge->items[merge->count++] = item;
}

/* Where a scan by keys goes on in the order of runAt: some keys have the same place. */
static int64_t untimed_key(const struct merge *merge)
{
    int64_t us = merge->from.place, key = merge->from.key, low, high;

    if (us > KEY_US_MAX)
        return INT64_MAX;
    low = us > 0 ? fa_id_key_at(us) : 0;       /* those of this place are from here ... */
    high = us >= 0 ? fa_id_key_at(us + 1) : 0; /* ... to here */
    if (merge->ascends)
        return key < low ? low - 1 : key < high ? key : high - 1;
    return key < low ? low : key < high ? key : high;
}

/* The keys between which a scan by keys goes on. False: it has ended. */
static bool key_range(const struct merge *merge, int64_t *from, int64_t *end)
{
    int64_t low = merge->page->filter->low, high = merge->page->filter->high;
    int64_t at = merge->scan->is_untimed ? untimed_key(merge) : merge->from.key;

    if (merge->ascends && at > low)
        low = at;
    if (!merge->ascends && at < high)
        high = at;
    *from = merge->ascends ? low : high;
    *end = merge->ascends ? high : low;
    return low < high;
}

static enum faina_code read_scan(struct merge *merge, const struct scan *scan, int64_t want)
{
    int64_t from, end;
    struct fa_value params[4] = {fa_value_int(merge->from.place), fa_value_int(merge->from.key),
                                 fa_value_int(want), scan->extra};
    size_t count = 3 + scan->has_extra;
    enum faina_code code;

    merge->scan = scan;
    merge->got = 0;
    if (scan->is_by_key) {
        if (!key_range(merge, &from, &end))
            return FAINA_OK;
        params[0] = fa_value_int(from);
        params[1] = fa_value_int(end);
    } else if (scan->is_whole) {
        params[0] = scan->extra;
        count = 1;
    }
    code = fa_db_one(merge->source->db, merge->ascends ? scan->asc : scan->desc, params, count,
                     sink_item, merge, &merge->op->error);
    merge->page->cost += merge->got;
    if (scan->is_whole || (int64_t)merge->got < want ||
        (merge->is_bounded && compare(merge, merge->last, merge->bound) >= 0))
        return code;
    merge->bound = merge->last;
    merge->is_bounded = true;
    return code;
}

/* Choosing scans ----------------------------------------------------------------------------- */

#define SCAN(name, ...)                                                                            \
    (struct scan)                                                                                  \
    {                                                                                              \
        .asc = FA_SQL_LIST_##name##_ASC, .desc = FA_SQL_LIST_##name##_DESC, __VA_ARGS__            \
    }
#define WHOLE(name, value)                                                                         \
    (struct scan)                                                                                  \
    {                                                                                              \
        .asc = FA_SQL_LIST_##name, .desc = FA_SQL_LIST_##name, .is_whole = true, .extra = (value)  \
    }

/* Whether there are few tasks with the statuses of the filter. */
static enum faina_code are_few(struct merge *merge, bool *out)
{
    struct fa_value statuses = fa_value_int(merge->page->filter->statuses);
    int64_t count = 0;
    enum faina_code code = FAINA_OK;

    *out = false;
    if (merge->page->filter->statuses & 1u << FAINA_COMPLETED ||
        merge->page->wants != FA_LIST_TASKS)
        return FAINA_OK;
    code = fa_db_one(merge->source->db, FA_SQL_STATUS_COUNT, &statuses, 1, fa_db_sink_int, &count,
                     &merge->op->error);
    *out = code == FAINA_OK && count <= FA_LIST_WHOLE_MAX;
    return code;
}

/* Scans by key that have all tasks with the statuses, and few others. Tasks of each status are in
 * one table, except pending ones, which have no order there. */
static size_t choose_tables(unsigned statuses, struct scan *out)
{
    size_t count = 0;

    if (statuses & 1u << FAINA_PENDING ||
        (statuses & FA_LIST_LIVE_STATUSES && statuses & 1u << FAINA_COMPLETED)) {
        out[count++] = SCAN(ALL, .is_by_key = true);
        return count;
    }
    if (statuses & FA_LIST_HELD_STATUSES)
        out[count++] = SCAN(HELD, .is_by_key = true);
    if (statuses & (1u << FAINA_BLOCKED | 1u << FAINA_BACKGROUND))
        out[count++] = SCAN(PARKED, .is_by_key = true);
    if (statuses & 1u << FAINA_COMPLETED) {
        out[count++] = SCAN(ENDED, .is_by_key = true);
        return count;
    }
    for (enum faina_status s = FAINA_FAILED; s <= FAINA_CANCELLED; s++)
        if (statuses >> s & 1)
            out[count++] =
                SCAN(BAD, .is_by_key = true, .has_extra = true, .extra = fa_value_int(s));
    return count;
}

static enum faina_code choose_by_submit(struct merge *merge, struct scan *out, size_t *count)
{
    const struct fa_list_filter *filter = merge->page->filter;
    const struct faina_query *query = filter->query;
    enum faina_code code = FAINA_OK;
    bool is_few = false;

    *count = 1;
    if (query->parent_id != NULL) {
        *out = SCAN(PARENT, .is_by_key = true, .has_extra = true,
                    .extra = fa_value_int(filter->parent));
    } else if (query->team_id != NULL) {
        char *team = fa_arena_take(merge->op->arena, FAINA_ID_SIZE); /* lower case, as stored */

        (void)fa_uuid_parse(query->team_id, team); /* succeeds: it was checked */
        *out = SCAN(TEAM, .is_by_key = true, .has_extra = true, .extra = fa_value_text(team));
    } else if (query->created_by != NULL) {
        *out = SCAN(CREATED_BY, .is_by_key = true, .has_extra = true,
                    .extra = fa_value_text(query->created_by));
    } else if (query->group != NULL) {
        *out =
            SCAN(GROUP, .is_by_key = true, .has_extra = true, .extra = fa_value_text(query->group));
    } else {
        if (filter->statuses & 1u << FAINA_PENDING)
            code = are_few(merge, &is_few);
        if (is_few)
            *out = WHOLE(WHOLE, fa_value_int(filter->statuses));
        else
            *count = choose_tables(filter->statuses, out);
    }
    return code;
}

static enum faina_code choose_by_place(struct merge *merge, struct scan *out, size_t *count)
{
    const struct fa_list_filter *filter = merge->page->filter;
    enum faina_code code = FAINA_OK;
    bool is_few = false;

    *count = 1;
    if (filter->query->parent_id != NULL) {
        *out = WHOLE(PARENT_PLACES, fa_value_int(filter->parent));
        return FAINA_OK;
    }
    code = are_few(merge, &is_few);
    if (code == FAINA_OK && is_few) {
        *out = WHOLE(WHOLE_PLACES, fa_value_int(filter->statuses));
        return FAINA_OK;
    }
    merge->by_rank = merge->page->sort == FAINA_SORT_PRIORITY;
    if (code != FAINA_OK || merge->by_rank)
        return code;
    out[0] = SCAN(ALL, .is_by_key = true, .is_untimed = true);
    out[1] = SCAN(RUN_AT);
    out[2] = SCAN(DUE);
    out[3] = SCAN(LATE);
    *count = filter->statuses & 1u << FAINA_PENDING ? 4 : 2;
    return code;
}

/* Ranks: negative ones, then 0, then positive ones, or the other way. Only one scan has the next
 * rows; where it ends, the next one begins. */
static enum faina_code read_ranks(struct merge *merge, int64_t want)
{
    struct scan ranks = SCAN(RANK, .has_extra = true);
    struct scan zero = SCAN(ALL, .is_by_key = true, .is_zero = true);
    int64_t last_key = merge->ascends ? INT64_MAX : INT64_MIN, place = merge->from.place;
    bool is_before = merge->ascends ? place < 0 : place > 0;
    bool is_zero = place == 0 && merge->from.key != last_key;
    enum faina_code code;

    ranks.extra = fa_value_int(is_before ? 0 : merge->ascends ? INT64_MAX : INT64_MIN);
    code = read_scan(merge, is_zero ? &zero : &ranks, want);
    if (merge->is_bounded || (!is_before && !is_zero))
        return code;
    merge->is_bounded = true;
    merge->bound = (struct fa_list_item){.key = !is_before       ? last_key
                                                : merge->ascends ? 0
                                                                 : INT64_MAX,
                                         .place = 0};
    return code;
}

/* The tasks with a key, which is found by its hash in each type that the filter allows. */
static enum faina_code read_by_key(struct merge *merge)
{
    const struct fa_keys *hashes = &merge->page->filter->hashes;
    struct fa_keys found = {.arena = merge->op->arena};
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; code == FAINA_OK && i < hashes->count; i++) {
        struct fa_value hash = fa_value_int(hashes->keys[i]);

        code = fa_db_one(merge->source->db, FA_SQL_KEY_FIND, &hash, 1, fa_keys_sink, &found,
                         &merge->op->error);
    }
    merge->items = fa_arena_take(merge->op->arena, (found.count + 1) * sizeof(*merge->items));
    for (size_t i = 0; code == FAINA_OK && i < found.count; i++) {
        struct fa_list_item item = {.key = found.keys[i]};
        struct fa_row row;

        if (merge->by_place)
            code = fa_row_load(merge->source, item.key, merge->op->arena, &row, &merge->op->error);
        if (code == FAINA_TASK_NOT_FOUND || (code == FAINA_INTERNAL && row.damage != NULL)) {
            fa_error_clear(&merge->op->error);
            code = FAINA_OK;
            continue;
        }
        if (code == FAINA_OK && merge->by_place)
            item.place = fa_list_place(merge->page->sort, &row);
        if (code == FAINA_OK && compare(merge, item, merge->from) > 0)
            merge->items[merge->count++] = item;
    }
    return code;
}

/* Rounds ------------------------------------------------------------------------------------- */

static int in_ascent(const void *a, const void *b)
{
    static const struct merge order = {.ascends = true};

    return compare(&order, *(const struct fa_list_item *)a, *(const struct fa_list_item *)b);
}

static int in_descent(const void *a, const void *b)
{
    static const struct merge order = {.ascends = false};

    return compare(&order, *(const struct fa_list_item *)a, *(const struct fa_list_item *)b);
}

/* Sorts the candidates, and drops those that an unread row may precede. */
static void settle(struct merge *merge)
{
    size_t count = 0;

    if (merge->count > 0)
        qsort(merge->items, merge->count, sizeof(*merge->items),
              merge->ascends ? in_ascent : in_descent);
    for (size_t i = 0; i < merge->count; i++) {
        if (merge->is_bounded && compare(merge, merge->items[i], merge->bound) > 0)
            break;
        if (count == 0 || compare(merge, merge->items[i], merge->items[count - 1]) != 0)
            merge->items[count++] = merge->items[i];
    }
    merge->count = count;
}

/* Candidates are shown in parts: a whole scan may have many more than the page needs. */
static enum faina_code show(struct merge *merge)
{
    struct fa_list_page *page = merge->page;
    enum faina_code code = FAINA_OK;
    size_t part = page->limit + 16, done;

    for (size_t i = 0; code == FAINA_OK && i < merge->count && !page->is_full; i += done) {
        size_t n = merge->count - i < part ? merge->count - i : part;

        if (i > 0 && page->cost >= FA_LIST_COST_MAX) {
            merge->is_bounded = true;
            merge->bound = merge->from;
            return FAINA_OK;
        }
        code = fa_list_add(merge->source, merge->op, page, merge->items + i, n, &done);
        if (code == FAINA_OK && done > 0)
            merge->from = merge->items[i + done - 1];
    }
    if (!page->is_full && merge->is_bounded)
        merge->from = merge->bound;
    return code;
}

static enum faina_code read_round(struct merge *merge, const struct scan *scans, size_t count,
                                  int64_t want)
{
    enum faina_code code = FAINA_OK;

    if (merge->page->filter->query->idempotency_key != NULL)
        return read_by_key(merge);
    if (merge->by_rank)
        return read_ranks(merge, want);
    for (size_t i = 0; code == FAINA_OK && i < count; i++)
        code = read_scan(merge, &scans[i], want);
    return code;
}

/* Cursors: the key of the last task, after its place where the order has places. In hexadecimal,
 * and opaque to users. */
static void write_cursor(struct merge *merge)
{
    struct fa_arena *arena = merge->op->arena;
    struct fa_list_item at = merge->from;

    merge->page->next_cursor = merge->by_place
                                   ? fa_arena_printf(arena, "%016" PRIx64 "%016" PRIx64,
                                                     (uint64_t)at.place, (uint64_t)at.key)
                                   : fa_arena_printf(arena, "%016" PRIx64, (uint64_t)at.key);
}

static bool read_number(const char *text, int64_t *out)
{
    char part[17];

    memcpy(part, text, 16);
    part[16] = '\0';
    *out = (int64_t)strtoull(part, NULL, 16);
    return strspn(part, "0123456789abcdef") == 16;
}

/* Ranks are of 32 bits. */
static int64_t first_place(const struct merge *merge)
{
    return !merge->by_place ? 0 : merge->page->sort == FAINA_SORT_PRIORITY ? INT32_MIN : INT64_MIN;
}

static int64_t last_place(const struct merge *merge)
{
    return !merge->by_place ? 0 : merge->page->sort == FAINA_SORT_PRIORITY ? INT32_MAX : INT64_MAX;
}

static enum faina_code begin(struct merge *merge)
{
    const char *cursor = merge->page->cursor;
    size_t len = merge->by_place ? 32 : 16;

    merge->from = (struct fa_list_item){merge->ascends ? 0 : INT64_MAX,
                                        merge->ascends ? first_place(merge) : last_place(merge)};
    if (cursor == NULL)
        return FAINA_OK;
    if (strlen(cursor) != len || !read_number(cursor + len - 16, &merge->from.key) ||
        (merge->by_place && !read_number(cursor, &merge->from.place)) ||
        (!merge->by_place && merge->from.key < 0) || merge->from.place < first_place(merge) ||
        merge->from.place > last_place(merge))
        return fa_cursor_refuse(&merge->op->error);
    return FAINA_OK;
}

enum faina_code fa_list_ordered(struct fa_source *source, struct fa_op *op,
                                struct fa_list_page *page)
{
    bool ascending = page->filter->query->ascending;
    struct merge merge = {.source = source,
                          .op = op,
                          .page = page,
                          .by_place = page->sort != FAINA_SORT_CREATED,
                          .ascends = page->sort == FAINA_SORT_PRIORITY ? !ascending : ascending};
    int64_t want = (int64_t)page->limit + 16;
    struct scan scans[SCANS_MAX] = {{0}};
    size_t count = 0;
    enum faina_code code = begin(&merge);

    if (code != FAINA_OK || page->filter->statuses == 0 ||
        (page->filter->has_lanes && page->filter->lanes.count == 0))
        return code;
    code = merge.by_place ? choose_by_place(&merge, scans, &count)
                          : choose_by_submit(&merge, scans, &count);
    while (code == FAINA_OK && !page->is_full) {
        if (page->cost >= FA_LIST_COST_MAX) {
            write_cursor(&merge);
            return FAINA_OK;
        }
        merge.count = 0;
        merge.is_bounded = false;
        code = read_round(&merge, scans, count, want);
        settle(&merge);
        if (code == FAINA_OK)
            code = show(&merge);
        if (!merge.is_bounded)
            break;
        if (want < ROUND_MAX)
            want *= 2; /* few match: read more at a time */
    }
    if (code == FAINA_OK && page->is_full)
        write_cursor(&merge);
    return code;
}
