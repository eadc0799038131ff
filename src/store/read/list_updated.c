/*
 * list_updated.c - lists of tasks in the order of their last change.
 *
 * The tables of the states have an index by that time, and `held` is small. A ready task that
 * nothing has changed since its submit has no such time: it is found by its id, in the order of
 * the submits. So a list is a merge of several scans. Each round reads the next rows of every scan,
 * and shows the candidates that no unread row can precede.
 *
 * Ids of different nodes of a shared store may be some milliseconds out of the order of the
 * submits; the list follows the ids there.
 */
#include "store/read/list_inner.h"

#include "model/id.h"
#include "model/limits.h"
#include "model/states.h"
#include "store/read/pages.h"

#include <stdio.h>
#include <stdlib.h>

#define IDS_AHEAD_US 10000000 /* how far ids may be ahead of the time of the submit */
#define ROUND_MIN 100         /* rows of a scan that a round reads at least */

/* A place in the order: a time, and the id among those of one time. */
struct place {
    int64_t us, id;
};

struct candidate {
    struct place place;
    bool is_new; /* found by its id */
};

struct merge {
    struct fa_source *source;
    struct fa_op *op;
    struct fa_list_page *page;
    bool ascends;
    struct place from;   /* everything up to here is done ... */
    int64_t new_from;    /* ... and of the scan by id up to here */
    struct place bound;  /* no unread row precedes it */
    bool is_bounded;     /* there are unread rows ... */
    bool is_bounded_new; /* ... and those of the scan by id come first */
    struct candidate *items;
    size_t count, size;
    /* Of the scan that is being read: */
    size_t got;
    struct place last;
};

static int compare(const struct merge *merge, struct place a, struct place b)
{
    int order = a.us != b.us ? (a.us < b.us ? -1 : 1) : (a.id > b.id) - (a.id < b.id);

    return merge->ascends ? order : -order;
}

static void add(struct merge *merge, struct place place, int64_t lane, bool is_new)
{
    if (!fa_list_filter_has_lane(merge->page->filter, lane))
        return;
    merge->items = fa_arena_grow(merge->op->arena, merge->items, merge->count, &merge->size,
                                 sizeof(*merge->items));
    merge->items[merge->count++] = (struct candidate){place, is_new};
}

static void sink_changed(void *ctx, size_t n, const struct fa_value *c)
{
    struct merge *merge = ctx;

    (void)n;
    merge->got++;
    merge->last = (struct place){fa_value_as_int(&c[1]), fa_value_as_int(&c[0])};
    if (compare(merge, merge->last, merge->from) > 0)
        add(merge, merge->last, fa_value_as_int(&c[2]), false);
}

/* Times never run against the ids, so that the tasks that are done are those up to an id. */
static void sink_new(void *ctx, size_t n, const struct fa_value *c)
{
    struct merge *merge = ctx;
    int64_t us = fa_value_as_int(&c[1]);

    (void)n;
    if (merge->got > 0 && (merge->ascends ? us < merge->last.us : us > merge->last.us))
        us = merge->last.us;
    merge->got++;
    merge->last = (struct place){us, fa_value_as_int(&c[0])};
    if (fa_value_as_int(&c[3]))
        add(merge, merge->last, fa_value_as_int(&c[2]), true);
}

/* A scan has more rows after the last one: none of these precedes it. */
static void bound(struct merge *merge, int64_t want, bool is_new)
{
    merge->page->cost += merge->got;
    if ((int64_t)merge->got < want ||
        (merge->is_bounded && compare(merge, merge->last, merge->bound) >= 0))
        return;
    merge->bound = merge->last;
    merge->is_bounded = true;
    merge->is_bounded_new = is_new;
}

static enum faina_code scan(struct merge *merge, enum fa_sql sql, const struct fa_value *params,
                            size_t count, int64_t want)
{
    bool is_new = sql == FA_SQL_LIST_UPDATED_NEW_ASC || sql == FA_SQL_LIST_UPDATED_NEW_DESC;
    enum faina_code code;

    merge->got = 0;
    code = fa_db_one(merge->source->db, sql, params, count, is_new ? sink_new : sink_changed, merge,
                     &merge->op->error);
    bound(merge, want, is_new);
    return code;
}

/* Reads the next rows of each scan that can have tasks with the wanted statuses. */
static enum faina_code read_round(struct merge *merge, unsigned statuses, int64_t want)
{
    bool ascends = merge->ascends;
    struct fa_value us = fa_value_int(merge->from.us), id = fa_value_int(merge->from.id);
    enum faina_code code = FAINA_OK;

    for (enum faina_status s = FAINA_COMPLETED; code == FAINA_OK && s < FAINA_STATUS_COUNT; s++) {
        if (statuses >> s & 1)
            code = scan(merge,
                        ascends ? FA_SQL_LIST_UPDATED_ENDED_ASC : FA_SQL_LIST_UPDATED_ENDED_DESC,
                        (struct fa_value[]){fa_value_int(s), us, id, fa_value_int(want)}, 4, want);
    }
    if (code == FAINA_OK &&
        (statuses & (1u << FAINA_PENDING | 1u << FAINA_BLOCKED | 1u << FAINA_BACKGROUND)))
        code =
            scan(merge, ascends ? FA_SQL_LIST_UPDATED_PARKED_ASC : FA_SQL_LIST_UPDATED_PARKED_DESC,
                 (struct fa_value[]){us, id, fa_value_int(want)}, 3, want);
    if (code == FAINA_OK && (statuses & (1u << FAINA_CLAIMED | 1u << FAINA_RUNNING)))
        code = scan(merge, FA_SQL_LIST_UPDATED_HELD, NULL, 0, INT64_MAX);
    if (code == FAINA_OK && (statuses & 1u << FAINA_PENDING))
        code = scan(merge, ascends ? FA_SQL_LIST_UPDATED_READY_ASC : FA_SQL_LIST_UPDATED_READY_DESC,
                    (struct fa_value[]){us, id, fa_value_int(want)}, 3, want);
    if (code == FAINA_OK && (statuses & 1u << FAINA_PENDING))
        code =
            scan(merge, ascends ? FA_SQL_LIST_UPDATED_NEW_ASC : FA_SQL_LIST_UPDATED_NEW_DESC,
                 (struct fa_value[]){fa_value_int(merge->new_from), fa_value_int(want)}, 2, want);
    return code;
}

static int in_descent(const void *a, const void *b)
{
    static const struct merge order = {.ascends = false};

    return compare(&order, ((const struct candidate *)a)->place,
                   ((const struct candidate *)b)->place);
}

static int in_ascent(const void *a, const void *b)
{
    static const struct merge order = {.ascends = true};

    return compare(&order, ((const struct candidate *)a)->place,
                   ((const struct candidate *)b)->place);
}

/* Sorts the candidates, and drops those that an unread row may precede. */
static void settle(struct merge *merge)
{
    size_t count = 0;

    if (merge->count > 0)
        qsort(merge->items, merge->count, sizeof(*merge->items),
              merge->ascends ? in_ascent : in_descent);
    for (size_t i = 0; i < merge->count; i++) {
        if (merge->is_bounded && compare(merge, merge->items[i].place, merge->bound) > 0)
            break;
        count++;
    }
    merge->count = count;
}

/* The first `done` candidates are done; without more on the page, all up to the bound. */
static void advance(struct merge *merge, size_t done, bool is_full)
{
    for (size_t i = 0; i < done; i++) {
        merge->from = merge->items[i].place;
        if (merge->items[i].is_new)
            merge->new_from = merge->items[i].place.id;
    }
    if (is_full || !merge->is_bounded)
        return;
    merge->from = merge->bound;
    if (merge->is_bounded_new)
        merge->new_from = merge->bound.id;
}

static const char *write_cursor(const struct merge *merge)
{
    return fa_arena_printf(merge->op->arena, "%016llx%016llx%016llx",
                           (unsigned long long)merge->from.us, (unsigned long long)merge->from.id,
                           (unsigned long long)merge->new_from);
}

static enum faina_code read_cursor(struct merge *merge, const char *cursor)
{
    int64_t numbers[3];

    if (strlen(cursor) != 48 || strspn(cursor, "0123456789abcdef") != 48)
        return fa_cursor_refuse(&merge->op->error);
    for (size_t i = 0; i < FA_COUNT(numbers); i++) {
        char part[17];
        unsigned long long number;

        memcpy(part, cursor + 16 * i, 16);
        part[16] = '\0';
        number = strtoull(part, NULL, 16);
        if (number > INT64_MAX)
            return fa_cursor_refuse(&merge->op->error);
        numbers[i] = (int64_t)number;
    }
    merge->from = (struct place){numbers[0], numbers[1]};
    merge->new_from = numbers[2];
    return FAINA_OK;
}

static enum faina_code begin(struct merge *merge, const struct faina_query *query)
{
    if (merge->page->cursor != NULL)
        return read_cursor(merge, merge->page->cursor);
    if (merge->ascends) {
        merge->from = (struct place){query->updated_after_us, 0};
        merge->new_from = query->updated_after_us > 0
                              ? fa_id_key_at(query->updated_after_us) - 1 /* none is earlier */
                              : 0;
        return FAINA_OK;
    }
    merge->from = (struct place){INT64_MAX, INT64_MAX};
    merge->new_from = INT64_MAX;
    if (query->updated_before_us > 0) {
        merge->from = (struct place){query->updated_before_us, 0};
        merge->new_from = fa_id_key_at(query->updated_before_us + IDS_AHEAD_US);
    }
    return FAINA_OK;
}

/* Whether the rest of the list is outside of the filter's times. */
static bool is_past(const struct merge *merge, const struct faina_query *query)
{
    return merge->ascends
               ? query->updated_before_us > 0 && merge->from.us >= query->updated_before_us
               : merge->from.us < query->updated_after_us;
}

/* Shows the candidates; those after the last one that was shown remain. */
static enum faina_code show(struct merge *merge)
{
    struct fa_list_item *items =
        fa_arena_take(merge->op->arena, (merge->count + 1) * sizeof(*items));
    enum faina_code code;
    size_t done;

    for (size_t i = 0; i < merge->count; i++)
        items[i] = (struct fa_list_item){.key = merge->items[i].place.id};
    code = fa_list_add(merge->source, merge->op, merge->page, items, merge->count, &done);
    advance(merge, done, merge->page->is_full);
    return code;
}

enum faina_code fa_list_updated(struct fa_source *source, struct fa_op *op,
                                struct fa_list_page *page)
{
    const struct faina_query *query = page->filter->query;
    unsigned statuses = page->filter->statuses;
    struct merge merge = {.source = source, .op = op, .page = page, .ascends = query->ascending};
    int64_t want = (int64_t)page->limit + 1 > ROUND_MIN ? (int64_t)page->limit + 1 : ROUND_MIN;
    enum faina_code code = begin(&merge, query);

    while (code == FAINA_OK && !page->is_full && !is_past(&merge, query)) {
        if (page->cost >= FA_LIST_COST_MAX) {
            page->next_cursor = write_cursor(&merge);
            return FAINA_OK;
        }
        merge.count = 0;
        merge.is_bounded = false;
        code = read_round(&merge, statuses, want);
        settle(&merge);
        if (code == FAINA_OK)
            code = show(&merge);
        if (!merge.is_bounded)
            break;
    }
    if (code == FAINA_OK && page->is_full)
        page->next_cursor = write_cursor(&merge);
    return code;
}
