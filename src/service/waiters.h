/*
 * waiters.h - threads that sleep until a task has ended, and listeners that are called instead.
 *
 *   W1  A thread that registers before it reads the task never misses the end.
 *   W2  fa_waiters_close wakes all threads, and none sleeps after it.
 *   W3  A listener is not called after fa_waiters_unlisten has returned.
 *
 * Threads: any. The mutex guards everything but the listeners; nothing blocks while it is held.
 * Listeners have a mutex of their own, held while they are called: they must return quickly.
 */
#ifndef FA_SERVICE_WAITERS_H
#define FA_SERVICE_WAITERS_H

#include "model/id.h"

struct fa_waiters;
struct fa_listener;

/* A thread that waits for a task; the caller's memory. */
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

/* Wakes the threads that wait for these tasks, and calls the listeners. */
void fa_waiters_notify_ended(struct fa_waiters *waiters, const struct fa_id *ids, size_t count);

/* The same for all tasks: any of them may have ended. */
void fa_waiters_notify_all(struct fa_waiters *waiters);

/* Listeners (service.h) are called for the same events ... */
void fa_waiters_listen(struct fa_waiters *waiters, struct fa_listener *listener);
void fa_waiters_unlisten(struct fa_waiters *waiters, struct fa_listener *listener);
/* ... and when tasks of these types (fa_hash_bit) may have become claimable. */
void fa_waiters_notify_ready(struct fa_waiters *waiters, uint64_t types);

struct fa_commit_stats;
/* Whether a listener counts stats; and a call of those that do. */
bool fa_waiters_has_counters(struct fa_waiters *waiters);
/* Whether a listener takes records for spans. */
bool fa_waiters_wants_spans(struct fa_waiters *waiters);
void fa_waiters_publish_stats(struct fa_waiters *waiters, const struct fa_commit_stats *stats);

void fa_waiters_close(struct fa_waiters *waiters);

#endif
