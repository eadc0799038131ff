/*
 * runtime.h - who does the work, as one thing to start and stop: the pool, the handlers folder,
 * plugins, and the health of services.
 *
 * `faina worker` and `faina serve --workers N` start it on any engine; so does faina_run in a C
 * program, with functions instead of a folder.
 *
 * Threads: start, stop and destroy from the owner's; hurry and stats from any.
 */
#ifndef FA_RUNTIME_H
#define FA_RUNTIME_H

#include "runtime/tell.h"
#include "runtime/pool.h"

struct fa_runtime;

/* A service and how to find out whether it can be reached. */
struct fa_runtime_check {
    const char *service;
    const char *check; /* "tcp:HOST:PORT", or a command with its arguments */
};

/* All zero but for what is wanted. Lent for the call. */
struct fa_runtime_config {
    const char *worker_id;         /* NULL: hostname-pid-random */
    int concurrency;               /* 0: one per processor */
    int64_t lease_ms;              /* 0: 30 s */
    const char *const *namespaces; /* NULL: all */
    size_t namespace_count;
    const char *const *types; /* handle only these; NULL: all that there are handlers for */
    size_t type_count;
    const char *const
        *services; /* that this worker can reach; NULL: all, unless checks name some */
    size_t service_count;
    const struct fa_runtime_check *checks; /* offered while their check succeeds */
    size_t check_count;
    int64_t check_interval_ms; /* 0: 5 s */
    const char *handlers;      /* the folder; NULL: none */
    bool needs_handlers;       /* it is an error when the folder isn't there */
    bool owns_process;     /* the process is ours: reap orphans, raise its limit of files, guard */
    bool has_no_plugins;   /* leave plugins in the folder alone */
    const char *program;   /* that hosts plugins; NULL: this one, which must be faina */
    int64_t kill_after_ms; /* from SIGTERM to SIGKILL; 0: 10 s */
    struct fa_teller log;
};

/* INVALID_REQUEST, INVALID_WORKER_ID: with such a configuration nothing could be claimed. */
FA_MUST_CHECK enum faina_code fa_runtime_start(struct fa_runtime **out, struct fa_service *service,
                                               const struct fa_runtime_config *config,
                                               struct faina_error *err);
/* Claims nothing more, waits for what runs up to grace_ms, stops the rest, tells everything. */
void fa_runtime_stop(struct fa_runtime *runtime, int64_t grace_ms);
void fa_runtime_hurry(struct fa_runtime *runtime);   /* the grace time is over now */
void fa_runtime_destroy(struct fa_runtime *runtime); /* after fa_runtime_stop; NULL is fine */

/* How many slots a configuration gives. */
int fa_runtime_concurrency(const struct fa_runtime_config *config);
struct fa_pool *fa_runtime_pool(struct fa_runtime *runtime);
void fa_runtime_stats(struct fa_runtime *runtime, struct fa_pool_stats *out);

#endif
