/*
 * pool.h - a worker: claims tasks, has them done by handlers, tells the engine how they ended.
 *
 *            claimer                 any thread               sender
 *   engine ---------> queue --slot--> handler --outcome--> batch ----> engine
 *                       '-------- leases of all: beater ------'
 *
 *   P1  It never holds more than its slots and a bounded prefetch. The prefetch is what it will
 *       need within a moment, by how long tasks take: none when they take long. What waits for a
 *       slot for half a second all the same is given back.
 *   P2  While there is a free slot it sleeps in fa_service_claim_wait; nothing is polled.
 *   P3  What it holds it renews in one call, every third of the lease, and at once when it hears
 *       that one of them has ended. What could not be renewed is given up, by the monotonic clock,
 *       before the lease ends.
 *   P4  Outcomes that come while the last ones are being stored go together in the next call. One
 *       that could not be told is told again until the engine has answered.
 *   P5  A stopped pool claims nothing more, gives back what it has not started, lets the rest go on
 *       for its grace time, then stops it.
 *
 * Threads: any. One mutex guards all; nothing blocks while it is held.
 */
#ifndef FA_POOL_H
#define FA_POOL_H

#include "runtime/handler.h"
#include "runtime/tell.h"
#include "service/service.h"

struct fa_pool_config {
    const char *worker_id;         /* NULL: hostname-pid-random */
    int concurrency;               /* slots; at least 1 */
    int64_t lease_ms;              /* 0: the default of 30 s */
    const char *const *namespaces; /* NULL: all */
    size_t namespace_count;
    struct fa_teller log;
};

/* What it has done so far. */
struct fa_pool_stats {
    int64_t claimed, completed, failed, blocked, background, released, lost;
    int held, running;
    int64_t idle_us; /* for how long it has had nothing; 0: it holds or runs something */
};

/* Starts its threads. `loop` is lent until it is destroyed. */
FA_MUST_CHECK enum faina_code fa_pool_create(struct fa_pool **out, struct fa_service *service,
                                             struct fa_loop *loop,
                                             const struct fa_pool_config *config,
                                             struct faina_error *err);
/* P5, the part that returns at once. */
void fa_pool_drain(struct fa_pool *pool);
/* The rest of P5: waits for what is under way, up to `grace_ms`, then stops it. Returns when
 * everything has ended and been told. From any thread but the loop's. */
void fa_pool_stop(struct fa_pool *pool, int64_t grace_ms);
/* Cuts the grace time of a fa_pool_stop short. */
void fa_pool_hurry(struct fa_pool *pool);
/* After fa_pool_stop. NULL is fine. */
void fa_pool_destroy(struct fa_pool *pool);

/* From now on tasks of take_handler->type are claimed and go to it; another handler of the type is
 * let go once its jobs have ended. INVALID_REQUEST: one claim can't name so many types. */
FA_MUST_CHECK enum faina_code fa_pool_put(struct fa_pool *pool, struct fa_handler *take_handler,
                                          struct faina_error *err);
/* Lets go of the handler, if it is still the one of its type. */
void fa_pool_remove(struct fa_pool *pool, const struct fa_handler *handler);
/* The services that can be reached; NULL: all. Copies. */
void fa_pool_set_services(struct fa_pool *pool, const char *const *names, size_t count);

/* Whether there is a handler for the type; NULL: for any. */
bool fa_pool_handles(struct fa_pool *pool, const char *type);
const char *fa_pool_worker(const struct fa_pool *pool);
void fa_pool_stats(struct fa_pool *pool, struct fa_pool_stats *out);

#endif
