/*
 * runtime.h - a worker as one object to start and stop: the pool, the handlers folder, plugins, and
 * service checks.
 *
 * `faina worker` and `faina serve --workers N` start it on any engine; so does faina_run in a C
 * program, with functions instead of a folder.
 *
 * Threads: start, stop and destroy from the owner's; the rest from any.
 */
#ifndef FA_WORKER_RUNTIME_H
#define FA_WORKER_RUNTIME_H

#include "worker/reporter.h"
#include "worker/pool/pool.h"

struct fa_runtime;

/* How to check whether a service can be reached. */
struct fa_runtime_check {
    const char *service;
    const char *check; /* "tcp:HOST:PORT", or a command with its arguments */
};

/* Zero is a default for every member. Lent for the call. */
struct fa_runtime_config {
    const char *worker_id;         /* NULL: hostname-pid-random */
    int concurrency;               /* 0: one per processor */
    int64_t lease_ms;              /* 0: 30 s */
    const char *const *namespaces; /* NULL: all */
    size_t namespace_count;
    const char *const *types; /* handle only these; NULL: all that there are handlers for */
    size_t type_count;
    const char *const *services; /* always reachable; NULL: all, unless there are checks */
    size_t service_count;
    const struct fa_runtime_check *checks; /* of services that are reachable at times */
    size_t check_count;
    int64_t check_interval_ms;   /* 0: 5 s */
    const char *handlers;        /* the folder; NULL: none */
    const char *const *pass_env; /* variables for handlers: NAME or PREFIX* */
    size_t pass_env_count;
    bool needs_handlers;                  /* it is an error when the folder isn't there */
    const struct fa_claim_source *source; /* of tasks to claim (pool/claim_source.h); NULL: none */
    bool owns_process;   /* reap orphans, raise the limit of open files, start a guard (spawn.h) */
    bool has_no_plugins; /* ignore plugins in the folder */
    const char *program; /* hosts plugins; NULL: this one, which must be faina */
    /* Where plugins open the engine (faina_plugin_open); NULL: they can't. */
    const char *plugin_url;
    int64_t kill_after_ms; /* from SIGTERM to SIGKILL; 0: 10 s */
    /* Of the spans that this process exports (model/trace.h); lent until the runtime is destroyed.
     * NULL: it exports none. */
    const struct fa_sampler *sampler;
    struct fa_reporter log;
};

/* INVALID_REQUEST, INVALID_WORKER_ID: the engine would refuse every claim. */
FA_MUST_CHECK enum faina_code fa_runtime_start(struct fa_runtime **out, struct fa_service *service,
                                               const struct fa_runtime_config *config,
                                               struct faina_error *err);
/* Stops claiming, waits up to grace_ms for running tasks, stops the rest, sends all outcomes. */
void fa_runtime_stop(struct fa_runtime *runtime, int64_t grace_ms);
void fa_runtime_end_grace(struct fa_runtime *runtime); /* ends the grace time now */
void fa_runtime_destroy(struct fa_runtime *runtime);   /* after fa_runtime_stop; NULL is fine */

/* How many slots a configuration gives. */
int fa_runtime_concurrency(const struct fa_runtime_config *config);
struct fa_pool *fa_runtime_pool(struct fa_runtime *runtime);
void fa_runtime_stats(struct fa_runtime *runtime, struct fa_pool_stats *out);

#endif
