/*
 * claim_inner.h - the parts of a claim for the next tasks; for its own files only.
 *
 *   claim.c        reading lines ahead, and claims where others write to the store as well
 *   claim_heads.c  claims where there is one writer
 *   claim_find.c   which lanes have the best tasks, where the store must be asked
 */
#ifndef FA_CLAIM_INNER_H
#define FA_CLAIM_INNER_H

#include "sql/ops.h"

/* Whether the worker reaches the resources of the lane. */
bool fa_claim_can_reach(const struct faina_claim *claim, const struct fa_lane *lane);
/* Whether the claim may take tasks from the lane now. */
bool fa_claim_is_open(const struct faina_claim *claim, const struct fa_lane *lane);
/* The best task of a lane that is still in line, or NULL when it has none, or is shut. */
FA_MUST_CHECK enum faina_code fa_claim_best_of(struct fa_unit *unit, struct fa_lane *lane,
                                               int64_t want, struct fa_row **out,
                                               struct faina_error *err);
/* How many tasks are read from a lane's line, of those that are wanted. */
int64_t fa_claim_wanted_of(const struct fa_lane *lane, int64_t want);
/* How many are read from each of so many lines. */
int64_t fa_claim_share_of(const struct fa_unit *unit, int64_t limit, size_t count);
/* What a task carries, or is likely to. */
int64_t fa_claim_size_of(const struct fa_row *row);

/* Lanes that may have the best tasks for a claim. */
struct fa_found {
    struct fa_lane **lanes; /* in the unit's arena */
    size_t count, size;
    struct fa_place horizon; /* claim_find.c, Q1; at first {INT64_MIN, 0} */
    bool is_all;             /* there is nothing behind the horizon */
};
/* Finds lanes for so many tasks behind the horizon, and moves that on. */
FA_MUST_CHECK enum faina_code fa_claim_find(struct fa_unit *unit, const struct faina_claim *claim,
                                            int64_t want, struct fa_found *found,
                                            struct faina_error *err);

/* Takes up to `limit` tasks into `taken`. */
FA_MUST_CHECK enum faina_code fa_claim_from_heads(struct fa_unit *unit, struct fa_op *op,
                                                  int64_t limit, struct fa_row **taken,
                                                  size_t *taken_count);

#endif
