/*
 * pages.h - lists that are bounded in bytes as well as in items.
 *
 * A list is read in parts, each by a statement with a LIMIT, and each after the last item of the
 * part before. A page ends when it has as many items as the request allows, or more than
 * FA_PAGE_SIZE_MAX bytes; its cursor is the key of its last item.
 *
 *   G1  A page has at least one item if there is one after its cursor.
 *   G2  The first part is one row. Each later one has as many rows as fit into the rest of the page
 *       if they are as large as the largest so far, and at most FA_PAGER_PART_MAX. So the result of
 *       each statement is bounded, too.
 *   G3  A list that is requested in one piece (fa_op.part), and any read with a pager that is all
 *       zero, has no bounds, and is one part.
 *
 * Threads: one thread per pager.
 */
#ifndef FA_STORE_READ_PAGES_H
#define FA_STORE_READ_PAGES_H

#include "model/cursor.h"
#include "service/service.h"
#include "store/db/db.h"

#define FA_PAGER_PART_MAX 100

struct fa_pager {
    size_t limit;    /* items; 0: any number */
    size_t size_max; /* bytes, after which it ends; 0: any number. Both 0: no bounds (G3) */
    bool has_more;   /* the page ended before the list */
    size_t count;    /* items in the page */
    size_t size, largest;
    int64_t want, got; /* rows of the last part */

    /* In fa_pager_read: the keys of the last row that was read. */
    struct fa_arena *arena;
    size_t key_at, key_count;
    const char *last[FA_CURSOR_KEYS];
};

/* For a list with fa_op.part. */
struct fa_pager fa_pager_of_part(const struct fa_part *part);
/* For a list that always has a limit. */
struct fa_pager fa_pager_of_limit(size_t limit);

/* How many rows to read next, for LIMIT. */
struct fa_value fa_pager_next(struct fa_pager *pager);
/* Counts a row that was read. False: the page ends before it. */
bool fa_pager_take_row(struct fa_pager *pager, const struct fa_value *columns, size_t count);
/* The same for a row that is left out of the list. */
bool fa_pager_skip_row(struct fa_pager *pager, const struct fa_value *columns, size_t count);
/* As fa_pager_take_row, for an item that has no row of its own. */
bool fa_pager_take(struct fa_pager *pager, size_t size);
/* After a part: whether to read another one. */
bool fa_pager_goes_on(const struct fa_pager *pager);

/* A list that is ordered by up to FA_CURSOR_KEYS text columns, which are also its cursor. */
struct fa_list_query {
    enum fa_sql sql;
    struct fa_value params[8];
    size_t param_count;
    size_t limit_at, after_at; /* parameters: LIMIT, and the first key of the cursor */
    size_t key_at, key_count;  /* columns: the keys */
    fa_db_sink_fn *sink;       /* calls fa_pager_take_row or fa_pager_skip_row for each row */
    void *sink_ctx;
};
/* Reads a page. *next_cursor is set when the list has more. */
FA_MUST_CHECK enum faina_code fa_pager_read(struct fa_pager *pager, struct fa_db *db,
                                            struct fa_list_query *query, const char *cursor,
                                            struct fa_arena *arena, const char **next_cursor,
                                            struct faina_error *err);

#endif
