/* waiting_claims.c - a list of claims, each with a condition variable of its own. */
#include "service/waiting_claims.h"

#include "base/clock.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

struct fa_waiting_claims {
    pthread_mutex_t mutex; /* guards what follows */
    struct fa_waiting_claim *first, **last;
    atomic_size_t count; /* written under the mutex, read without it */
    uint64_t version;
    bool is_closed;
};

struct fa_waiting_claims *fa_waiting_claims_create(void)
{
    struct fa_waiting_claims *claims = fa_alloc_zero(1, sizeof(*claims));

    pthread_mutex_init(&claims->mutex, NULL);
    claims->last = &claims->first;
    return claims;
}

void fa_waiting_claims_destroy(struct fa_waiting_claims *claims)
{
    if (claims == NULL)
        return;
    assert(claims->first == NULL);
    pthread_mutex_destroy(&claims->mutex);
    free(claims);
}

uint64_t fa_waiting_claims_version(struct fa_waiting_claims *claims)
{
    uint64_t version;

    pthread_mutex_lock(&claims->mutex);
    version = claims->version;
    pthread_mutex_unlock(&claims->mutex);
    return version;
}

/* Waiting ------------------------------------------------------------------------------------ */

static void add(struct fa_waiting_claims *claims, struct fa_waiting_claim *claim)
{
    claim->link = claims->last;
    *claims->last = claim;
    claims->last = &claim->next;
    atomic_fetch_add_explicit(&claims->count, 1, memory_order_relaxed);
}

static void drop(struct fa_waiting_claims *claims, struct fa_waiting_claim *claim)
{
    if (claim->link == NULL)
        return;
    *claim->link = claim->next;
    if (claim->next != NULL)
        claim->next->link = claim->link;
    else
        claims->last = claim->link;
    claim->link = NULL;
    atomic_fetch_sub_explicit(&claims->count, 1, memory_order_relaxed);
}

static bool has_given_up(const struct fa_op *op)
{
    return op->give_up != NULL && atomic_load(op->give_up);
}

static void init(struct fa_waiting_claim *claim, const struct fa_op *op)
{
    pthread_condattr_t attr;

    *claim = (struct fa_waiting_claim){.op = *op, .types = fa_claim_types(op->claim)};
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&claim->cond, &attr);
    pthread_condattr_destroy(&attr);
}

bool fa_waiting_claims_wait(struct fa_waiting_claims *claims, struct fa_op *op, uint64_t version,
                            int64_t timeout_ms)
{
    int64_t at = fa_clock_mono_us() + timeout_ms * 1000;
    struct timespec until = {.tv_sec = at / 1000000, .tv_nsec = at % 1000000 * 1000};
    struct fa_waiting_claim claim;
    int rc = 0;

    init(&claim, op);
    pthread_mutex_lock(&claims->mutex);
    if (claims->version == version)
        add(claims, &claim);
    else
        claim.state = FA_WAITING_CLAIM_RETRIES;
    while (rc == 0 && claim.state <= FA_WAITING_CLAIM_TAKEN && !claims->is_closed &&
           !has_given_up(op))
        rc = pthread_cond_timedwait(&claim.cond, &claims->mutex, &until);
    claim.is_leaving = true;
    while (claim.state == FA_WAITING_CLAIM_TAKEN) /* S2 */
        pthread_cond_wait(&claim.cond, &claims->mutex);
    drop(claims, &claim);
    pthread_mutex_unlock(&claims->mutex);
    pthread_cond_destroy(&claim.cond);
    if (claim.state == FA_WAITING_CLAIM_ANSWERED)
        *op = claim.op;
    return claim.state == FA_WAITING_CLAIM_ANSWERED;
}

/* Notifying ---------------------------------------------------------------------------------- */

/* Once the mutex is released, the caller may have returned and the claim's memory be gone. */
static void end(struct fa_waiting_claims *claims, struct fa_waiting_claim *claim, int state)
{
    claim->state = state;
    drop(claims, claim);
    pthread_cond_signal(&claim->cond);
}

static void notify(struct fa_waiting_claims *claims, uint64_t types)
{
    if (types == 0)
        return;
    claims->version++;
    for (struct fa_waiting_claim *claim = claims->first, *next; claim != NULL; claim = next) {
        next = claim->next;
        if (claim->state == FA_WAITING_CLAIM_QUEUED && (claim->types & types))
            end(claims, claim, FA_WAITING_CLAIM_RETRIES);
    }
}

void fa_waiting_claims_notify(struct fa_waiting_claims *claims, uint64_t types)
{
    pthread_mutex_lock(&claims->mutex);
    notify(claims, types);
    pthread_mutex_unlock(&claims->mutex);
}

static void signal_all(struct fa_waiting_claims *claims)
{
    for (struct fa_waiting_claim *claim = claims->first; claim != NULL; claim = claim->next)
        pthread_cond_signal(&claim->cond);
}

void fa_waiting_claims_wake(struct fa_waiting_claims *claims)
{
    pthread_mutex_lock(&claims->mutex);
    signal_all(claims);
    pthread_mutex_unlock(&claims->mutex);
}

void fa_waiting_claims_close(struct fa_waiting_claims *claims)
{
    pthread_mutex_lock(&claims->mutex);
    claims->is_closed = true;
    signal_all(claims);
    pthread_mutex_unlock(&claims->mutex);
}

/* The leader --------------------------------------------------------------------------------- */

bool fa_waiting_claims_has_any(struct fa_waiting_claims *claims)
{
    return atomic_load_explicit(&claims->count, memory_order_relaxed) > 0;
}

struct fa_waiting_claim *fa_waiting_claims_take(struct fa_waiting_claims *claims, uint64_t types)
{
    struct fa_waiting_claim *taken = NULL, **last = &taken;

    pthread_mutex_lock(&claims->mutex);
    for (struct fa_waiting_claim *claim = claims->first; claim != NULL; claim = claim->next) {
        if (!(claim->types & types) || claim->is_leaving || has_given_up(&claim->op))
            continue;
        claim->state = FA_WAITING_CLAIM_TAKEN;
        claim->taken_next = NULL;
        *last = claim;
        last = &claim->taken_next;
    }
    pthread_mutex_unlock(&claims->mutex);
    return taken;
}

static void settle(struct fa_waiting_claims *claims, struct fa_waiting_claim *claim,
                   bool is_committed)
{
    const struct fa_op *op = &claim->op;

    assert(claim->state == FA_WAITING_CLAIM_TAKEN);
    if (!is_committed) {
        end(claims, claim, FA_WAITING_CLAIM_RETRIES);
    } else if (op->code != FAINA_OK || op->tasks->count > 0) {
        end(claims, claim, FA_WAITING_CLAIM_ANSWERED);
    } else {
        claim->state = FA_WAITING_CLAIM_QUEUED;
        if (claim->is_leaving)
            pthread_cond_signal(&claim->cond);
    }
}

void fa_waiting_claims_settle(struct fa_waiting_claims *claims, struct fa_waiting_claim *taken,
                              bool is_committed, uint64_t types)
{
    pthread_mutex_lock(&claims->mutex);
    if (is_committed)
        notify(claims, types);
    for (struct fa_waiting_claim *claim = taken, *next; claim != NULL; claim = next) {
        next = claim->taken_next;
        settle(claims, claim, is_committed);
    }
    pthread_mutex_unlock(&claims->mutex);
}
