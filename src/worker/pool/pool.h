/*
 * pool.h - a worker: claims tasks, runs them through handlers, and sends their outcomes.
 *
 *            claimer                 any thread               sender
 *   engine ---------> queue --slot--> handler --outcome--> batch ----> engine
 *                       '---- leases of all: heartbeat thread ----'
 *
 *   P1  The pool never holds more tasks than its slots and a bounded prefetch. The prefetch is the
 *       number of tasks that end within AHEAD_US at the present rate: none when tasks take long. A
 *       task that still waits for a slot after half a second is released.
 *   P2  While a slot is free the claimer sleeps in fa_service_claim_wait; it doesn't poll.
 *   P3  One heartbeat renews the leases of all held tasks. It is sent every third of the lease, and
 *       at once when a notification reports that a held task has ended. A task whose lease could
 *       not be renewed is given up, by the monotonic clock, before the lease ends.
 *   P4  Outcomes that arrive while a call is under way go together in the next call. An outcome
 *       whose call failed is sent again until the engine answers.
 *   P5  A stopped pool claims nothing more and releases the tasks it has not started. The running
 *       ones may continue for the grace time and are then stopped.
 *
 * Threads: any. One mutex guards all; nothing blocks while it is held.
 */
#ifndef FA_WORKER_POOL_POOL_H
#define FA_WORKER_POOL_POOL_H

#include "worker/handler.h"
#include "worker/pool/claim_source.h"
#include "worker/reporter.h"
#include "service/service.h"

struct fa_sampler;

struct fa_pool_config {
    const char *worker_id;         /* NULL: hostname-pid-random */
    int concurrency;               /* slots; at least 1 */
    int64_t lease_ms;              /* 0: the default of 30 s */
    const char *const *namespaces; /* NULL: all */
    size_t namespace_count;
    const struct fa_claim_source *source; /* of tasks to claim; NULL: the next ones. Lent */
    const struct fa_sampler *sampler;     /* runtime.h; lent */
    struct fa_reporter log;
};

struct fa_pool_stats {
    int64_t claimed, completed, failed, blocked, background, released, lost;
    int held, running;
    int64_t idle_us; /* since it last held a task; 0: it holds or runs one */
};

/* Starts its threads. `loop` is lent until it is destroyed. */
FA_MUST_CHECK enum faina_code fa_pool_create(struct fa_pool **out, struct fa_service *service,
                                             struct fa_event_loop *loop,
                                             const struct fa_pool_config *config,
                                             struct faina_error *err);
/* P5: stops claiming and releases tasks that have not started. Returns at once. */
void fa_pool_drain(struct fa_pool *pool);
/* The rest of P5: waits up to `grace_ms` for running tasks, then stops them. Returns when all have
 * ended and their outcomes are sent. From any thread but the loop's. */
void fa_pool_stop(struct fa_pool *pool, int64_t grace_ms);
/* Ends the grace time of a running fa_pool_stop. */
void fa_pool_end_grace(struct fa_pool *pool);
/* After fa_pool_stop. NULL is fine. */
void fa_pool_destroy(struct fa_pool *pool);

/* Claims tasks of take_handler->type from now on and passes them to it. The previous handler of the
 * type is destroyed when its jobs have ended. INVALID_REQUEST: one claim can't name so many types.
 */
FA_MUST_CHECK enum faina_code fa_pool_put(struct fa_pool *pool, struct fa_handler *take_handler,
                                          struct faina_error *err);
/* Removes the handler, if it is still the one of its type. */
void fa_pool_remove(struct fa_pool *pool, const struct fa_handler *handler);
/* The services that can be reached; NULL: all. Copies. */
void fa_pool_set_services(struct fa_pool *pool, const char *const *names, size_t count);

/* Whether there is a handler for the type; NULL: for any. */
bool fa_pool_handles(struct fa_pool *pool, const char *type);
const char *fa_pool_worker(const struct fa_pool *pool);
void fa_pool_stats(struct fa_pool *pool, struct fa_pool_stats *out);

#endif
