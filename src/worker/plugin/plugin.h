/*
 * plugin.h - handlers in a shared object, NAME.so.
 *
 * A plugin runs in a process of its own (host.h), which is started with the pool and again after it
 * has ended. An attempt is a frame to it and frames back (frame.h).
 *
 *   G1  When the process ends by itself, the attempts in it fail and may be retried; the error has
 *       the signal, and the log has the stack.
 *   G2  When an attempt does not stop within FA_KILL_AFTER_MS of a STOP frame, the process is
 *       killed.
 *   G3  Another version of the interface is refused with an error in the log.
 *
 * NAME.json may set `limits` and `env` of the process (type_settings.h).
 *
 * Threads: fa_plugin_end is called in the loop's, which also runs all callbacks; the other
 * functions in the owner's.
 */
#ifndef FA_WORKER_PLUGIN_PLUGIN_H
#define FA_WORKER_PLUGIN_PLUGIN_H

#include "worker/runtime.h"
#include "worker/command/spawn.h"

#include <pthread.h>

/* The variable of a plugin's process that faina_plugin_open reads. */
#define FA_PLUGIN_URL "FAINA_PLUGIN_URL"

/* Shared by the plugins of one pool. */
struct fa_plugin_share {
    struct fa_pool *pool;
    struct fa_event_loop *loop;
    struct fa_spawner *spawner;
    struct fa_reporter log;
    const char *program;
    const char *url;          /* of the engine, for faina_plugin_open; NULL: it can't be opened */
    const char *const *types; /* NULL: all */
    size_t type_count;
    struct fa_texts pass_env; /* of the worker: environment.h */
    int64_t kill_after_us;

    pthread_mutex_t mutex; /* guards `running` and each plugin's is_settled */
    pthread_cond_t cond;   /* either has changed */
    int running;           /* processes */
};

struct fa_plugin;

/* Reads its settings and starts its process in the loop. */
FA_MUST_CHECK enum faina_code fa_plugin_create(struct fa_plugin **out,
                                               struct fa_plugin_share *share, const char *path,
                                               struct faina_error *err);
/* Waits until it is settled: its handlers are in the pool, or it is refused (G3). */
void fa_plugin_wait(struct fa_plugin *plugin);
const char *fa_plugin_path(const struct fa_plugin *plugin);
/* JSON, once it is settled; NULL: it has no triggers or joins. */
const char *fa_plugin_workflow(const struct fa_plugin *plugin);
/* Ends the process and starts no other; `running` becomes 0 when all have ended. */
void fa_plugin_end(struct fa_plugin *plugin);
void fa_plugin_destroy(struct fa_plugin *plugin); /* after the pool */

#endif
