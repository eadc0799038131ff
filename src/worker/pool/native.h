/*
 * native.h - C functions as handlers, in threads of their own: what faina_run runs.
 *
 *   N1  A crew has as many threads as its pool has slots, so a job never waits for a thread.
 *   N2  A function can't be killed. It is asked to stop through faina_context_cancelled, and the
 *       pool waits for it. When its time is over the attempt has failed at once: the function keeps
 *       its thread and its slot until it returns, and what it returns then is dropped.
 *
 * Threads: any.
 */
#ifndef FA_NATIVE_H
#define FA_NATIVE_H

#include "runtime/handler.h"

struct fa_crew;

FA_MUST_CHECK enum faina_code fa_crew_create(struct fa_crew **out, int threads,
                                             struct faina_error *err);
void fa_crew_destroy(struct fa_crew *crew); /* after the pool was stopped; NULL is fine */

/* A handler for fa_pool_put. */
struct fa_handler *fa_native_create(struct fa_crew *crew, const char *type,
                                    const struct faina_handler *handler, void *user);

#endif
