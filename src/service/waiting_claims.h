/*
 * waiting_claims.h - claims that found nothing and wait for work.
 *
 * In a store with one writer, the transaction that makes tasks ready (or frees a permit, or resumes
 * a type) runs the claims that wait for such types before it commits: one commit stores a task and
 * hands it out. In a shared store, and whenever this was not possible, waiting claims are woken and
 * their callers claim again.
 *
 *   S1  A caller that reads the version before it claims never misses tasks that become ready after
 *       that claim.
 *   S2  A waiting claim is run by one transaction at a time. Its caller returns either before that
 *       transaction takes it or after the transaction has ended, so no claimed task is lost.
 *   S3  A claim is answered only after the commit; a rolled back attempt leaves no trace.
 *   S4  Claims are served in the order of their arrival.
 *   S5  fa_waiting_claims_close wakes all callers, and no caller sleeps after it.
 *
 * Threads: any may wait and notify; the batch leader takes and settles. The mutex guards everything
 * except the operations of taken claims, which are the leader's until it settles them; nothing
 * blocks while the mutex is held.
 */
#ifndef FA_SERVICE_WAITING_CLAIMS_H
#define FA_SERVICE_WAITING_CLAIMS_H

#include "service/service.h"

#include <pthread.h>

struct fa_waiting_claims;

/* One waiting claim; the caller's memory. */
struct fa_waiting_claim {
    struct fa_op op; /* a copy; written back to the caller's when it is answered */
    uint64_t types;  /* fa_claim_types */
    enum {
        FA_WAITING_CLAIM_QUEUED,
        FA_WAITING_CLAIM_TAKEN,
        FA_WAITING_CLAIM_ANSWERED,
        FA_WAITING_CLAIM_RETRIES
    } state;
    bool is_leaving; /* the caller returns as soon as the claim isn't taken */
    pthread_cond_t cond;
    struct fa_waiting_claim *next,
        **link; /* in arrival order; link is NULL when it isn't in the list */
    struct fa_waiting_claim *taken_next;
};

struct fa_waiting_claims *fa_waiting_claims_create(void);
void fa_waiting_claims_destroy(struct fa_waiting_claims *claims); /* no claim waits; NULL is fine */

/* A number that grows whenever there may be more to claim. */
uint64_t fa_waiting_claims_version(struct fa_waiting_claims *claims);
/* Waits with a claim that found nothing until it is answered (true: `op` has the tasks), until
 * there may be work, for `timeout_ms`, or until `op->give_up` is set. Returns at once if the
 * version has changed. */
FA_MUST_CHECK bool fa_waiting_claims_wait(struct fa_waiting_claims *claims, struct fa_op *op,
                                          uint64_t version, int64_t timeout_ms);

/* There may be more to claim of these types (fa_hash_bit): wakes the claims that wait for them. */
void fa_waiting_claims_notify(struct fa_waiting_claims *claims, uint64_t types);
/* Wakes all callers, so that those with `give_up` set return. */
void fa_waiting_claims_wake(struct fa_waiting_claims *claims);

/* For the leader, inside its transaction: whether any claim waits; takes the claims that wait for
 * these types, linked by `taken_next`, to run their operations. */
bool fa_waiting_claims_has_any(struct fa_waiting_claims *claims);
struct fa_waiting_claim *fa_waiting_claims_take(struct fa_waiting_claims *claims, uint64_t types);
/* After the transaction. If it committed, taken claims that got tasks are answered, the other taken
 * ones go on waiting, and all others that wait for these types are woken to claim again. If not,
 * the taken ones are woken to claim again. */
void fa_waiting_claims_settle(struct fa_waiting_claims *claims, struct fa_waiting_claim *taken,
                              bool is_committed, uint64_t types);

void fa_waiting_claims_close(struct fa_waiting_claims *claims);

#endif
