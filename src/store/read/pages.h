/*
 * pages.h - lists that are bounded in bytes as well as in items.
 *
 * A list is read in parts, each by a statement with a LIMIT, and each after the last item of the
 * part before. A page ends when it has as many items as were asked for, or carries more than
 * FA_PAGE_SIZE_MAX bytes; its cursor is the key of its last item.
 *
 *   G1  A page has at least one item if there is one after its cursor.
 *   G2  The first part is one row. Each later one has as many as fit into the rest of the page if
 *       they are as large as the largest so far, and at most FA_PAGER_PART_MAX. So what a statement
 *       returns at once is bounded, too.
 *   G3  A list that is asked for as a whole (fa_op.part), and any read with a pager that is all
 *       zero, has no bounds, and is one part.
 *
 * Threads: each pager belongs to one.
 */
#ifndef FA_PAGES_H
#define FA_PAGES_H

#include "service/service.h"
#include "sql/db.h"

#define FA_PAGER_PART_MAX 100

struct fa_pager {
    size_t limit;    /* items; 0: any number */
    size_t size_max; /* bytes, after which it ends; 0: any number. Both 0: the whole list (G3) */
    bool has_more;   /* the page ended before the list */
    size_t count;    /* items in the page */
    size_t size, largest;
    int64_t want, got; /* rows of the last part */
};

/* For a list of fa_op.part. */
struct fa_pager fa_pager_of_part(const struct fa_part *part);
/* For a list that always has a limit. */
struct fa_pager fa_pager_of_limit(size_t limit);

/* How many rows to read next; for LIMIT. */
struct fa_value fa_pager_next(struct fa_pager *pager);
/* For each row that was read. False: the page ended before it. */
bool fa_pager_take_row(struct fa_pager *pager, const struct fa_value *columns, size_t count);
/* For a row that was read and is left out of the list. False: the page ended before it. */
bool fa_pager_skip_row(struct fa_pager *pager, const struct fa_value *columns, size_t count);
/* As fa_pager_take_row, for an item that is no row of its own. */
bool fa_pager_take(struct fa_pager *pager, size_t size);
/* After a part: whether to read another one. */
bool fa_pager_goes_on(const struct fa_pager *pager);

/* A cursor of up to FA_CURSOR_KEYS texts without line feeds. */
#define FA_CURSOR_KEYS 2
const char *fa_cursor_write(struct fa_arena *arena, const char *const *keys, size_t count);
/* NULL gives empty texts, which come before all others. */
FA_MUST_CHECK enum faina_code fa_cursor_read(const char *cursor, struct fa_arena *arena,
                                             const char **keys, size_t count,
                                             struct faina_error *err);

#endif
