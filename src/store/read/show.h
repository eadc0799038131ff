/*
 * show.h - a row as users see it: a task, what made it, how it ended.
 *
 * Threads: those of the row's source.
 */
#ifndef FA_SHOW_H
#define FA_SHOW_H

#include "sql/row.h"

/* The task as users see it. With `lend` its text points to the row's; else it is copied. A payload
 * that the row doesn't have is read into `arena`, unless `brief`. */
FA_MUST_CHECK enum faina_code fa_row_to_task(struct fa_source *source, struct fa_row *row,
                                             struct fa_arena *arena, bool lend, bool brief,
                                             struct faina_task *out, struct faina_error *err);

/* The bytes of what a task carries: its payload and output. */
size_t fa_task_size(const struct faina_task *task);

/* Reads what fa_row_to_task is going to want to know of many rows, where that takes fewer
 * statements. */
FA_MUST_CHECK enum faina_code fa_rows_expect(struct fa_source *source, struct fa_row *const *rows,
                                             size_t count, bool brief, struct fa_arena *arena,
                                             struct faina_error *err);

/* What made the task; *depth is how many tasks led to it. *out: NULL when somebody submitted it. */
FA_MUST_CHECK enum faina_code fa_row_origin(struct fa_source *source, const struct fa_row *row,
                                            struct fa_arena *arena, const struct faina_origin **out,
                                            int64_t *depth, struct faina_error *err);

/* The event that an ended task's row tells. */
struct faina_event fa_row_end_event(const struct fa_row *row);

/* What people see when nobody said otherwise. */
const char *fa_row_state(const struct fa_row *row);

enum faina_phase fa_row_phase(const struct fa_row *row);

#endif
