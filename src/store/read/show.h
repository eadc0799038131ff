/*
 * show.h - a row as users see it: the task, its origin, its implicit events.
 *
 * Threads: those of the row's source.
 */
#ifndef FA_STORE_READ_SHOW_H
#define FA_STORE_READ_SHOW_H

#include "store/txn/row.h"

/* The task as users see it. With `lend` its text points into the row; else it is copied. A payload
 * that the row doesn't have is read into `arena`, unless `brief`. */
FA_MUST_CHECK enum faina_code fa_row_to_task(struct fa_source *source, struct fa_row *row,
                                             struct fa_arena *arena, bool lend, bool brief,
                                             struct faina_task *out, struct faina_error *err);

/* The size of a task's payload and output in bytes. */
size_t fa_task_size(const struct faina_task *task);

/* Reads what fa_row_to_task needs for many rows, where that takes fewer statements. */
FA_MUST_CHECK enum faina_code fa_rows_read_ahead(struct fa_source *source,
                                                 struct fa_row *const *rows, size_t count,
                                                 bool brief, struct fa_arena *arena,
                                                 struct faina_error *err);

/* The workflow that made the task; *depth is the length of its chain of tasks. *out is NULL for a
 * submitted task. */
FA_MUST_CHECK enum faina_code fa_row_origin(struct fa_source *source, const struct fa_row *row,
                                            struct fa_arena *arena, const struct faina_origin **out,
                                            int64_t *depth, struct faina_error *err);

/* The claim, start and end that are implicit in a row (unit.h, U5), oldest first. Returns how
 * many. */
#define FA_IMPLICIT_EVENTS_MAX 3
size_t fa_row_implicit_events(const struct fa_row *row,
                              struct faina_event out[FA_IMPLICIT_EVENTS_MAX]);

/* Ids of tasks as text, growing in an arena; fa_ids_sink adds one for each row (key, tail). */
struct fa_ids {
    struct fa_arena *arena;
    const char **ids;
    size_t count, size;
};
void fa_ids_sink(void *ctx, size_t row, const struct fa_value *columns);

/* The text for people: the row's own, or the status's default. */
const char *fa_row_state(const struct fa_row *row);

#endif
