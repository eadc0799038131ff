/*
 * claim_inner.h - the parts of a claim for the next tasks; for its own files only.
 *
 *   claim.c        reading ready queues ahead, and claims in a shared store
 *   claim_indexed.c  claims in a store with one writer
 *   claim_find.c   finding the lanes with the best tasks in a shared store with many lanes
 */
#ifndef FA_STORE_QUEUE_CLAIM_INNER_H
#define FA_STORE_QUEUE_CLAIM_INNER_H

#include "store/queue/ops.h"

/* Whether the worker has access to all resources of the lane. */
bool fa_claim_can_reach(const struct faina_claim *claim, const struct fa_lane *lane);
/* Whether the claim may take tasks from the lane now. */
bool fa_claim_is_open(const struct faina_claim *claim, const struct fa_lane *lane);
/* Where the task is among those of other lanes. Lanes with groups are there by their oldest task,
 * whose turn may come later. */
static inline struct fa_position fa_claim_position(const struct fa_row *row)
{
    return (struct fa_position){row->rank, row->oldest_key != 0 ? row->oldest_key : row->id.key};
}

/* The best ready task of the lane; NULL: it has none, or the claim can't take from it now. */
FA_MUST_CHECK enum faina_code fa_claim_best_of(struct fa_unit *unit, struct fa_lane *lane,
                                               int64_t want, struct fa_row **out,
                                               struct faina_error *err);
/* Sets the time with which tokens are counted, at the beginning and after resources were locked. */
void fa_claim_set_time(struct fa_unit *unit);
/* How many of the wanted tasks to read from a lane's ready queue. */
int64_t fa_claim_wanted_of(const struct fa_lane *lane, int64_t want);
/* How many tasks to read from each of `count` lanes. */
int64_t fa_claim_share_of(const struct fa_unit *unit, int64_t limit, size_t count);
/* The size of the task's payload, estimated when it isn't loaded. */
int64_t fa_claim_size_of(const struct fa_row *row);

/* The lanes that may have the best tasks for a claim. */
struct fa_claim_lanes {
    struct fa_lane **lanes; /* in the unit's arena */
    size_t count, size;
    struct fa_position horizon; /* claim_find.c, Q1; at first {INT64_MIN, 0} */
    bool is_all;                /* no lane has tasks behind the horizon */
};
/* Finds the lanes of the next `want` tasks behind the horizon, and advances the horizon. */
FA_MUST_CHECK enum faina_code fa_claim_find(struct fa_unit *unit, const struct faina_claim *claim,
                                            int64_t want, struct fa_claim_lanes *found,
                                            struct faina_error *err);

/* Takes up to `limit` tasks into `taken`. */
FA_MUST_CHECK enum faina_code fa_claim_from_index(struct fa_unit *unit, struct fa_op *op,
                                                  int64_t limit, struct fa_row **taken,
                                                  size_t *taken_count);

#endif
