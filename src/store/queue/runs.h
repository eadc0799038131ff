/*
 * runs.h - several ready tasks in one row of table `ready`.
 *
 * A row of `ready` costs SQLite half as much as the task itself, since the table is kept sorted.
 * But most tasks are submitted with many others, and are claimed in the order of their submission.
 * So a row of `ready` may hold several tasks: a run. The row's id is that of the first task; its
 * text has all ids as offsets from the first: [0,17,34]. On PostgreSQL, where rows are locked one
 * by one, each row holds one task.
 *
 *   N1  A task in a run has not changed since it was inserted. All tasks of a run have the same
 *       flags, and all or none are plain.
 *   N2  No other task of that lane and priority, ready or not, has an id between the first and the
 *       last of a run. So the last row at or before a task's position holds the task, or no row
 *       does, and the order of rows is the order of tasks. New ids are greater than all others. A
 *       run that loses a task in the middle is split, and so is one between whose tasks an amended
 *       task moves from another lane.
 *
 * Threads: the batch leader; fa_run_contains any.
 */
#ifndef FA_STORE_QUEUE_RUNS_H
#define FA_STORE_QUEUE_RUNS_H

#include "store/txn/row.h"

struct fa_unit;

#define FA_RUN_MAX 64 /* tasks; to take one, the others are written again */

/* Whether a row of `ready` holds the task. `run`: its text, or NULL. */
bool fa_run_contains(int64_t first, const char *run, int64_t key);

/* Whether a new ready task may be in a run (N1). */
bool fa_run_can_contain(const struct fa_row *row);

/* Inserts new tasks into `ready`. `rows` are all new tasks, which this sorts; those to be inserted
 * have is_in_run set, and keep it if their run has other tasks. */
FA_MUST_CHECK enum faina_code fa_runs_insert(struct fa_unit *unit, struct fa_row **rows,
                                             size_t count, struct faina_error *err);

/* Removes tasks from `ready`; sorts `rows`. */
FA_MUST_CHECK enum faina_code fa_runs_remove(struct fa_unit *unit, struct fa_row **rows,
                                             size_t count, struct faina_error *err);

/* Before a task moves to another lane: splits the run there that its id falls into (N2). */
FA_MUST_CHECK enum faina_code fa_runs_split(struct fa_unit *unit, const struct fa_lane *lane,
                                            const struct fa_row *row, struct faina_error *err);

#endif
