/*
 * waiters.h - sleeping until a task has ended, and telling those who wait without a thread.
 *
 *   W1  Who registers before looking at the task never misses its end.
 *   W2  fa_waiters_close wakes everybody, and nobody sleeps after it.
 *   W3  A listener is told nothing after fa_waiters_unlisten has returned.
 *
 * Threads: any. The mutex guards everything but the listeners; nothing blocks while it is held.
 * Listeners have a mutex of their own, held while they are told: they must be quick.
 */
#ifndef FA_WAITERS_H
#define FA_WAITERS_H

#include "model/id.h"

struct fa_waiters;
struct fa_listener;

/* One who waits for a task; the caller's memory. */
struct fa_waiter {
    struct fa_id id;
    bool is_woken;
    struct fa_waiter *next, **link;
    struct fa_waiters *waiters;
};

struct fa_waiters *fa_waiters_create(void);
void fa_waiters_destroy(struct fa_waiters *waiters);

void fa_waiter_begin(struct fa_waiter *waiter, struct fa_waiters *waiters, struct fa_id id);
void fa_waiter_sleep(struct fa_waiter *waiter, int64_t timeout_ms);
void fa_waiter_end(struct fa_waiter *waiter);

/* These tasks have ended. */
void fa_waiters_tell_ended(struct fa_waiters *waiters, const struct fa_id *ids, size_t count);

/* Any task may have ended. */
void fa_waiters_tell_all(struct fa_waiters *waiters);

/* Those who wait without a thread (service.h) are told whatever the others are ... */
void fa_waiters_listen(struct fa_waiters *waiters, struct fa_listener *listener);
void fa_waiters_unlisten(struct fa_waiters *waiters, struct fa_listener *listener);
/* ... and that there may be more to claim, of these types (fa_hash_bit). */
void fa_waiters_tell_ready(struct fa_waiters *waiters, uint64_t types);

struct fa_facts;
/* Whether anybody counts; and telling those who do. */
bool fa_waiters_has_counters(struct fa_waiters *waiters);
void fa_waiters_tell_facts(struct fa_waiters *waiters, const struct fa_facts *facts);

void fa_waiters_close(struct fa_waiters *waiters);

#endif
