/*
 * runs.h - tasks that stand in line together.
 *
 * A row in line costs SQLite half as much as the task itself, since the line is kept in order. But
 * most tasks come with many others, and leave in the order they came in. So a row of `ready` may
 * stand for several: a run. Its id is that of the first; its text has all of them, as offsets from
 * that: [0,17,34]. On PostgreSQL, where rows are locked one by one, each stands for one task.
 *
 *   N1  Who is in a run stands as it was born: nobody has touched it. All have the same flags, and
 *       all or none are plain.
 *   N2  Between the first and the last of a run there is no other task of that lane and priority,
 *       wherever it may stand. So the row before or at a task's place is its own, or it has none,
 *       and rows in their order are tasks in their order. Ids only grow. A run that loses somebody
 *       in the middle becomes two, and so does one into whose midst an amended task moves from
 *       another lane.
 *
 * Threads: whoever leads the batch; fa_run_has any.
 */
#ifndef FA_RUNS_H
#define FA_RUNS_H

#include "sql/row.h"

struct fa_unit;

#define FA_RUN_MAX 64 /* tasks: who takes one writes the others again */

/* Whether a row of `ready` stands for the task. `run`: its text, or NULL. */
bool fa_run_has(int64_t first, const char *run, int64_t key);

/* Whether a task may be in a run; it is new, and to be put in line. */
bool fa_run_can_have(const struct fa_row *row);

/* Puts new tasks in line. `rows` are all that are new, whose order this changes; those that are to
 * be put in line have is_in_run, and keep it when others are in a run with them. */
FA_MUST_CHECK enum faina_code fa_runs_enter(struct fa_unit *unit, struct fa_row **rows,
                                            size_t count, struct faina_error *err);

/* Takes tasks out of line, whose order this changes. */
FA_MUST_CHECK enum faina_code fa_runs_leave(struct fa_unit *unit, struct fa_row **rows,
                                            size_t count, struct faina_error *err);

/* A task is about to be one of another lane: parts the run in whose midst it will be (N2). */
FA_MUST_CHECK enum faina_code fa_runs_part(struct fa_unit *unit, const struct fa_lane *lane,
                                           const struct fa_row *row, struct faina_error *err);

#endif
