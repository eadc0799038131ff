/*
 * standing.h - claims that found nothing, and stand until there is work.
 *
 * Where a store has one writer, the transaction that puts tasks in line (or frees a permit, or
 * opens a lane) runs the claims that stand for such types before it commits: one commit makes a
 * task and hands it out. Elsewhere, and whenever that didn't come about, who stands is told to look
 * again.
 *
 *   S1  Who reads the mark before looking never misses what comes into line after the look.
 *   S2  A standing claim is run by one transaction at a time. Its caller leaves before, or waits
 *       for the end of that transaction: what was claimed for it is never left behind.
 *   S3  It is answered after the commit only; a try that was rolled back leaves no trace.
 *   S4  First come, first served.
 *   S5  fa_standing_close wakes everybody, and nobody sleeps after it.
 *
 * Threads: any may stand and tell; whoever leads the batch takes and settles. The mutex guards
 * everything but the operations of claims that were taken, which are the leader's until it settles;
 * nothing blocks while it is held.
 */
#ifndef FA_STANDING_H
#define FA_STANDING_H

#include "service/service.h"

#include <pthread.h>

struct fa_standing;

/* One claim that stands; the caller's memory. */
struct fa_stand {
    struct fa_op op; /* a copy: the caller's own stays as it is, unless this one is answered */
    uint64_t types;  /* fa_claim_types */
    enum { FA_STAND_WAITS, FA_STAND_TAKEN, FA_STAND_ANSWERED, FA_STAND_LOOKS } state;
    bool is_leaving; /* once it isn't taken any more */
    pthread_cond_t cond;
    struct fa_stand *next, **link; /* in line; link is NULL when it isn't */
    struct fa_stand *taken_next;
};

struct fa_standing *fa_standing_create(void);
void fa_standing_destroy(struct fa_standing *standing); /* nobody stands; NULL is fine */

/* A number that grows when there may be more to claim. */
uint64_t fa_standing_mark(struct fa_standing *standing);
/* Stands with a claim that found nothing, until it is answered (true: `op` has the answer), or
 * there may be work, or the time is over, or `op->give_up` is set. Returns at once when the mark is
 * another by now. */
FA_MUST_CHECK bool fa_standing_wait(struct fa_standing *standing, struct fa_op *op, uint64_t mark,
                                    int64_t timeout_ms);

/* There may be more to claim, of these types (fa_hash_bit): who stands for them looks. */
void fa_standing_tell(struct fa_standing *standing, uint64_t types);
/* Who wants to give up does so now. */
void fa_standing_wake(struct fa_standing *standing);

/* For the leader, inside its transaction: whether anybody stands; and those who do for these types,
 * by `taken_next`, whose operations it may run. */
bool fa_standing_has_any(struct fa_standing *standing);
struct fa_stand *fa_standing_take(struct fa_standing *standing, uint64_t types);
/* After it. If it committed, those that got something are answered, the others that were taken go
 * on standing, and whoever else stands for these types looks. If not, those that were taken look.
 */
void fa_standing_settle(struct fa_standing *standing, struct fa_stand *taken, bool is_committed,
                        uint64_t types);

void fa_standing_close(struct fa_standing *standing);

#endif
