/*
 * list_inner.h - what list.c and list_updated.c share: the page that is being filled.
 */
#ifndef FA_STORE_READ_LIST_INNER_H
#define FA_STORE_READ_LIST_INNER_H

#include "store/queue/ops.h"

#define FA_LIST_ROWS_MAX 20000 /* rows that one request reads to find those of its page */

/* The tasks of a page. */
struct fa_list_page {
    const struct faina_query *query; /* NULL: all that are not deleted */
    int64_t parent;
    size_t limit;
    size_t size;  /* of payloads, in bytes */
    bool is_full; /* another task was found that has no room */
    int64_t last; /* key of the last task that was shown, or left out as damaged */
};

/* Adds those of the tasks that match, in the order of their keys, until the page is full. */
FA_MUST_CHECK enum faina_code fa_list_add(struct fa_source *source, struct fa_op *op,
                                          struct fa_list_page *page, const int64_t *keys,
                                          size_t count);

/* Lists in the order of the last change. `lanes`: those that the filter allows; NULL: all. */
FA_MUST_CHECK enum faina_code fa_list_updated(struct fa_source *source, struct fa_op *op,
                                              struct fa_list_page *page,
                                              const struct fa_keys *lanes);

#endif
