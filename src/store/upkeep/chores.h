/*
 * chores.h - the work that is due by the clock.
 *
 * chores.c runs the chores: due tasks become ready, tasks with an expired lease are retried,
 * background work past its time-out fails, tasks submitted in SQL are linked to their dependencies,
 * counts of submits in SQL are added up. chore_empty_lanes.c removes lanes without tasks, and
 * chore_unhandled.c ends tasks that no worker handles. Others are in the files of their subject:
 * schedules.c, workers.c (silent workers), joins.c (deadlines), emit.c (expired events),
 * retention.c (expired tasks).
 *
 *   C1  Only the leading node runs chores, inside its transaction, which verifies that it leads.
 *   C2  Each chore reads the row again before it changes it, so that running it twice is harmless.
 *   C3  No chore scans the backlog.
 */
#ifndef FA_STORE_UPKEEP_CHORES_H
#define FA_STORE_UPKEEP_CHORES_H

#include "store/queue/ops.h"

/* Removes lanes without tasks. *next_us becomes the time of the next run, if that is earlier. */
FA_MUST_CHECK enum faina_code fa_chore_empty(struct fa_unit *unit, int64_t *next_us,
                                             struct faina_error *err);
/* Ends tasks that no live worker could handle for too long (chore_unhandled.c). */
FA_MUST_CHECK enum faina_code fa_chore_unhandled(struct fa_unit *unit, int64_t *next_us,
                                                 struct faina_error *err);

#endif
