/*
 * thread.h - threads without signals, and condition variables on the monotonic clock.
 *
 * Threads: any.
 */
#ifndef FA_BASE_THREAD_H
#define FA_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Starts a thread that blocks all signals: those are for the program's own threads. 0, or an errno
 * value. */
int fa_thread_start(pthread_t *out, void *(*main)(void *arg), void *arg);

/* A condition variable for fa_cond_wait_until. */
void fa_cond_init(pthread_cond_t *cond);
/* Waits until it is signalled or the monotonic clock reaches `until_us`; INT64_MAX: no limit.
 * False: the time is over. May return early, as pthread_cond_wait. */
bool fa_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until_us);

#endif
