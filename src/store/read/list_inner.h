/*
 * list_inner.h - what the files of lists share: the filter, and the page that is being filled.
 *
 *   list.c          a page from candidates; lists by key; children
 *   list_filter.c   whether a task matches the filter
 *   list_order.c    candidates by submit, by priority and by the time to run at
 *   list_updated.c  candidates by the last change
 *
 *   L1  A request reads a bounded number of rows: about FA_LIST_COST_MAX candidates, of which each
 *       that is looked up costs FA_LIST_COST_OF_ROW. Then the page ends, with a cursor.
 *   L2  A candidate is shown only if the task is still where the candidate was found: its place in
 *       the order follows from its row. So a task that two scans return is listed once.
 */
#ifndef FA_STORE_READ_LIST_INNER_H
#define FA_STORE_READ_LIST_INNER_H

#include "store/queue/ops.h"

#define FA_LIST_COST_MAX 20000
#define FA_LIST_COST_OF_ROW 8
#define FA_LIST_WHOLE_MAX 10000 /* candidates that are read whole and sorted, if they are no more */

#define FA_LIST_ALL_STATUSES ((1u << FAINA_STATUS_COUNT) - 1)
#define FA_LIST_HELD_STATUSES (1u << FAINA_CLAIMED | 1u << FAINA_RUNNING)
#define FA_LIST_LIVE_STATUSES ((1u << FAINA_COMPLETED) - 1)
#define FA_LIST_BAD_STATUSES (1u << FAINA_FAILED | 1u << FAINA_DEAD_LETTER | 1u << FAINA_CANCELLED)

/* A filter, with what follows from it. */
struct fa_list_filter {
    const struct faina_query *query;
    unsigned statuses;     /* those that can match; never more than the query's */
    int64_t parent;        /* its key */
    int64_t low, high;     /* tasks that match have keys between these, without them */
    bool has_lanes;        /* only these lanes can match: */
    struct fa_keys lanes;  /* sorted (fa_keys_sort) */
    struct fa_keys hashes; /* with a key in the filter: one hash per type of the namespace */
};

/* Reads the lanes that match, into `arena`. */
FA_MUST_CHECK enum faina_code fa_list_filter_open(struct fa_source *source,
                                                  const struct faina_query *query,
                                                  struct fa_arena *arena,
                                                  struct fa_list_filter *out,
                                                  struct faina_error *err);
bool fa_list_filter_has_lane(const struct fa_list_filter *filter, int64_t lane);
/* Whether a task matches. Some conditions read more of it. */
FA_MUST_CHECK enum faina_code fa_list_filter_match(struct fa_source *source,
                                                   const struct fa_list_filter *filter,
                                                   const struct fa_row *row, struct fa_arena *arena,
                                                   bool *out, struct faina_error *err);

/* A task that may belong to the page, and its place in the order (0 where that is its key). */
struct fa_list_item {
    int64_t key, place;
};

/* The tasks of a page. */
struct fa_list_page {
    const struct fa_list_filter *filter; /* NULL: all that are not deleted */
    enum fa_list_wants { FA_LIST_TASKS, FA_LIST_KEYS, FA_LIST_COUNT } wants;
    struct fa_keys *keys; /* FA_LIST_KEYS: they are added here; FA_LIST_TASKS adds to op->tasks */
    enum faina_sort sort;
    size_t limit;
    size_t count;
    size_t size;             /* of payloads, in bytes */
    size_t cost;             /* L1 */
    bool is_full;            /* another task was found that has no room */
    const char *cursor;      /* NULL: from the beginning */
    const char *next_cursor; /* NULL: the list has ended */
};

/* The place of a task in an order by places (L2). */
int64_t fa_list_place(enum faina_sort sort, const struct fa_row *row);

/* Adds those of the tasks that match, in their order, until the page is full. *done: how many of
 * the items the page is past; the next one has no room. */
FA_MUST_CHECK enum faina_code fa_list_add(struct fa_source *source, struct fa_op *op,
                                          struct fa_list_page *page,
                                          const struct fa_list_item *items, size_t count,
                                          size_t *done);

/* Fills a page of the tasks that match, from the query's cursor on. Sets next_cursor. */
FA_MUST_CHECK enum faina_code fa_list_read(struct fa_source *source, struct fa_op *op,
                                           const struct faina_query *query,
                                           struct fa_list_page *page);
/* Each fills a page in its order: by submit, priority or time to run at; by the last change. */
FA_MUST_CHECK enum faina_code fa_list_ordered(struct fa_source *source, struct fa_op *op,
                                              struct fa_list_page *page);
FA_MUST_CHECK enum faina_code fa_list_updated(struct fa_source *source, struct fa_op *op,
                                              struct fa_list_page *page);

#endif
