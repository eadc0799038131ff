/*
 * native.h - C functions as handlers, in threads of their own: what faina_run runs.
 *
 *   N1  There are as many threads as the pool has slots, so a job never waits for a thread.
 *   N2  A function can't be killed. To stop it, faina_context_cancelled returns true, and the pool
 *       waits for it. When its time-out is over the attempt fails at once: the function keeps its
 *       thread and its slot until it returns, and its return value is dropped.
 *
 * Threads: any.
 */
#ifndef FA_WORKER_POOL_NATIVE_H
#define FA_WORKER_POOL_NATIVE_H

#include "worker/handler.h"

struct fa_thread_pool;

FA_MUST_CHECK enum faina_code fa_thread_pool_create(struct fa_thread_pool **out, int threads,
                                                    struct faina_error *err);
/* After the pool was stopped. NULL is fine. */
void fa_thread_pool_destroy(struct fa_thread_pool *threads);

/* A handler for fa_pool_put. */
struct fa_handler *fa_native_create(struct fa_thread_pool *threads, const char *type,
                                    const struct faina_handler *handler, void *user);

#endif
