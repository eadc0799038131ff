/*
 * fronts.h - where the lines begin, for stores that keep dead rows.
 *
 * Claims take tasks from the front of a line. PostgreSQL can't remove their rows while anybody's
 * transaction might still see them, and until vacuum comes; so the front fills with dead rows, and
 * whoever reads the line from its start reads all of them. When there are many (the line is worn),
 * this remembers for each lane and rank (minus the priority) an id before which nobody waits.
 *
 *   O1  Nothing is skipped while lines are not worn: then they are read from the start.
 *   O2  A place is never later than what a plain read has seen as the first, and never within
 *       FRONT_MARGIN_US of now: a task that is stored a moment after later ones is not behind it.
 *   O3  A task that comes into line before its place is told of (unit->old_key, the fleet), and the
 *       places go back to it. What is very old, and what nobody told of, is found when all places
 *       are read anew.
 *   O4  That takes a twentieth of the time at most.
 *
 * Threads: whoever leads the batch; any may tell of old tasks.
 */
#ifndef FA_FRONTS_H
#define FA_FRONTS_H

#include "sql/lanes.h"

#include <stdatomic.h>

#define FA_FRONT_MARGIN_US 1000000
#define FA_FRONT_NONE INT64_MAX /* instead of a key: nothing old has come */

struct fa_fronts {
    atomic_llong old_key; /* of the oldest that has come into line since it was last looked at */
    bool has_taken;       /* tasks were taken since the dead rows were counted */
    bool is_worn;
    bool wants_all;                                          /* places are to be read anew */
    int64_t dead_at_us, all_at_us, all_after_us, next_at_us; /* monotonic */
};

void fa_fronts_init(struct fa_fronts *fronts);
/* O3: a task with this key has come into some line. */
void fa_fronts_tell_old(struct fa_fronts *fronts, int64_t key);

/* At the head of a transaction that claims: the places are as O2 and O3 say. */
FA_MUST_CHECK enum faina_code fa_fronts_refresh(struct fa_fronts *fronts, struct fa_lanes *lanes,
                                                struct fa_db *db, struct faina_error *err);
/* The lanes were loaded anew, and have no places. */
void fa_fronts_forget(struct fa_fronts *fronts);

/* A task has come into the lane's line. */
void fa_lane_admit(struct fa_lane *lane, int64_t rank, int64_t key);
/* The parts of the line after peek_rank and peek_key that may hold tasks, as ready_scan_places
 * takes them. NULL: it has to be read from there on. */
const char *fa_lane_parts(const struct fa_lane *lane, struct fa_arena *arena);

#endif
