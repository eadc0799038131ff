/* standing.c - a line of claims, each with a condition of its own. */
#include "sql/standing.h"

#include "base/clock.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

struct fa_standing {
    pthread_mutex_t mutex; /* guards what follows */
    struct fa_stand *first, **last;
    atomic_size_t count; /* written under the mutex, peeked at without it */
    uint64_t mark;
    bool is_closed;
};

struct fa_standing *fa_standing_create(void)
{
    struct fa_standing *standing = fa_alloc_zero(1, sizeof(*standing));

    pthread_mutex_init(&standing->mutex, NULL);
    standing->last = &standing->first;
    return standing;
}

void fa_standing_destroy(struct fa_standing *standing)
{
    if (standing == NULL)
        return;
    assert(standing->first == NULL);
    pthread_mutex_destroy(&standing->mutex);
    free(standing);
}

uint64_t fa_standing_mark(struct fa_standing *standing)
{
    uint64_t mark;

    pthread_mutex_lock(&standing->mutex);
    mark = standing->mark;
    pthread_mutex_unlock(&standing->mutex);
    return mark;
}

/* Standing ----------------------------------------------------------------------------------- */

static void add(struct fa_standing *standing, struct fa_stand *stand)
{
    stand->link = standing->last;
    *standing->last = stand;
    standing->last = &stand->next;
    atomic_fetch_add_explicit(&standing->count, 1, memory_order_relaxed);
}

static void drop(struct fa_standing *standing, struct fa_stand *stand)
{
    if (stand->link == NULL)
        return;
    *stand->link = stand->next;
    if (stand->next != NULL)
        stand->next->link = stand->link;
    else
        standing->last = stand->link;
    stand->link = NULL;
    atomic_fetch_sub_explicit(&standing->count, 1, memory_order_relaxed);
}

static bool has_given_up(const struct fa_op *op)
{
    return op->give_up != NULL && atomic_load(op->give_up);
}

static void init(struct fa_stand *stand, const struct fa_op *op)
{
    pthread_condattr_t attr;

    *stand = (struct fa_stand){.op = *op, .types = fa_claim_types(op->claim)};
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&stand->cond, &attr);
    pthread_condattr_destroy(&attr);
}

bool fa_standing_wait(struct fa_standing *standing, struct fa_op *op, uint64_t mark,
                      int64_t timeout_ms)
{
    int64_t at = fa_clock_mono_us() + timeout_ms * 1000;
    struct timespec until = {.tv_sec = at / 1000000, .tv_nsec = at % 1000000 * 1000};
    struct fa_stand stand;
    int rc = 0;

    init(&stand, op);
    pthread_mutex_lock(&standing->mutex);
    if (standing->mark == mark)
        add(standing, &stand);
    else
        stand.state = FA_STAND_LOOKS;
    while (rc == 0 && stand.state <= FA_STAND_TAKEN && !standing->is_closed && !has_given_up(op))
        rc = pthread_cond_timedwait(&stand.cond, &standing->mutex, &until);
    stand.is_leaving = true;
    while (stand.state == FA_STAND_TAKEN) /* S2 */
        pthread_cond_wait(&stand.cond, &standing->mutex);
    drop(standing, &stand);
    pthread_mutex_unlock(&standing->mutex);
    pthread_cond_destroy(&stand.cond);
    if (stand.state == FA_STAND_ANSWERED)
        *op = stand.op;
    return stand.state == FA_STAND_ANSWERED;
}

/* Telling ------------------------------------------------------------------------------------ */

/* After this the caller may be gone with the memory, once the mutex is free. */
static void end(struct fa_standing *standing, struct fa_stand *stand, int state)
{
    stand->state = state;
    drop(standing, stand);
    pthread_cond_signal(&stand->cond);
}

static void tell(struct fa_standing *standing, uint64_t types)
{
    if (types == 0)
        return;
    standing->mark++;
    for (struct fa_stand *stand = standing->first, *next; stand != NULL; stand = next) {
        next = stand->next;
        if (stand->state == FA_STAND_WAITS && (stand->types & types))
            end(standing, stand, FA_STAND_LOOKS);
    }
}

void fa_standing_tell(struct fa_standing *standing, uint64_t types)
{
    pthread_mutex_lock(&standing->mutex);
    tell(standing, types);
    pthread_mutex_unlock(&standing->mutex);
}

static void signal_all(struct fa_standing *standing)
{
    for (struct fa_stand *stand = standing->first; stand != NULL; stand = stand->next)
        pthread_cond_signal(&stand->cond);
}

void fa_standing_wake(struct fa_standing *standing)
{
    pthread_mutex_lock(&standing->mutex);
    signal_all(standing);
    pthread_mutex_unlock(&standing->mutex);
}

void fa_standing_close(struct fa_standing *standing)
{
    pthread_mutex_lock(&standing->mutex);
    standing->is_closed = true;
    signal_all(standing);
    pthread_mutex_unlock(&standing->mutex);
}

/* The leader --------------------------------------------------------------------------------- */

bool fa_standing_has_any(struct fa_standing *standing)
{
    return atomic_load_explicit(&standing->count, memory_order_relaxed) > 0;
}

struct fa_stand *fa_standing_take(struct fa_standing *standing, uint64_t types)
{
    struct fa_stand *taken = NULL, **last = &taken;

    pthread_mutex_lock(&standing->mutex);
    for (struct fa_stand *stand = standing->first; stand != NULL; stand = stand->next) {
        if (!(stand->types & types) || stand->is_leaving || has_given_up(&stand->op))
            continue;
        stand->state = FA_STAND_TAKEN;
        stand->taken_next = NULL;
        *last = stand;
        last = &stand->taken_next;
    }
    pthread_mutex_unlock(&standing->mutex);
    return taken;
}

static void settle(struct fa_standing *standing, struct fa_stand *stand, bool is_committed)
{
    const struct fa_op *op = &stand->op;

    assert(stand->state == FA_STAND_TAKEN);
    if (!is_committed) {
        end(standing, stand, FA_STAND_LOOKS);
    } else if (op->code != FAINA_OK || op->tasks->count > 0) {
        end(standing, stand, FA_STAND_ANSWERED);
    } else {
        stand->state = FA_STAND_WAITS;
        if (stand->is_leaving)
            pthread_cond_signal(&stand->cond);
    }
}

void fa_standing_settle(struct fa_standing *standing, struct fa_stand *taken, bool is_committed,
                        uint64_t types)
{
    pthread_mutex_lock(&standing->mutex);
    if (is_committed)
        tell(standing, types);
    for (struct fa_stand *stand = taken, *next; stand != NULL; stand = next) {
        next = stand->taken_next;
        settle(standing, stand, is_committed);
    }
    pthread_mutex_unlock(&standing->mutex);
}
