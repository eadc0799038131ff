/*
 * scan_start.h - where reads of ready queues begin, for stores that keep dead rows.
 *
 * Claims take tasks from the start of a ready queue. PostgreSQL can't remove their rows while a
 * transaction might still see them, nor before the next vacuum. So dead rows collect at the start,
 * and each read of the queue visits all of them. When the table `ready` has many dead rows (it is
 * bloated), each lane gets a scan start per rank (the negative priority): no ready task of that
 * rank has a smaller id.
 *
 *   O1  Nothing is skipped while the table is not bloated: queues are read from their first row.
 *   O2  A scan start is never behind the first ready task that a full read has found, and never
 *       within FA_SCAN_START_MARGIN_US of now: a task may be committed after tasks with greater
 *       ids.
 *   O3  When a task becomes ready before its scan start, the scan starts move back to it: its own
 *       node and, by notification (unit->oldest_key, fleet.h), the others do that. Scan starts
 *       don't
 *       move back over START_BACK_US (scan_start.c); such tasks, and lost notifications, are
 *       covered by the next full read.
 *   O4  Full reads take at most a twentieth of the time.
 *
 * Threads: the batch leader; fa_scan_starts_note_arrival any.
 */
#ifndef FA_STORE_LANES_SCAN_START_H
#define FA_STORE_LANES_SCAN_START_H

#include "store/db/fleet.h"
#include "store/lanes/lanes.h"

#include <stdatomic.h>

#define FA_SCAN_START_MARGIN_US 1000000

struct fa_scan_starts {
    atomic_llong earliest_key; /* of the tasks that became ready since go_back */
    bool has_taken;            /* tasks were claimed since the dead rows were counted */
    bool is_bloated;           /* there are many dead rows */
    bool wants_all;            /* a full read is needed */
    int64_t dead_at_us, all_at_us, all_after_us, next_at_us; /* monotonic */
};

void fa_scan_starts_init(struct fa_scan_starts *starts);
/* O3: a task with this key has become ready in some lane. */
void fa_scan_starts_note_arrival(struct fa_scan_starts *starts, int64_t key);

/* At the beginning of a transaction that claims: establishes O2 and O3. */
FA_MUST_CHECK enum faina_code fa_scan_starts_refresh(struct fa_scan_starts *starts,
                                                     struct fa_lanes *lanes, struct fa_db *db,
                                                     struct faina_error *err);
/* The lanes were loaded again and have no scan starts. */
void fa_scan_starts_reset(struct fa_scan_starts *starts);

/* O3: a task has become ready in the lane. */
void fa_lane_lower_scan_start(struct fa_lane *lane, int64_t rank, int64_t key);
/* The ranges of the ready queue after ahead_end that may have tasks, as ready_scan_parts takes
 * them. NULL: the lane has no scan starts, and is read from ahead_end on. */
const char *fa_lane_scan_ranges(const struct fa_lane *lane, struct fa_arena *arena);

#endif
