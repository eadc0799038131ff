/*
 * plugin.h - handlers in a shared object, NAME.so.
 *
 * A plugin runs in a process of its own (host.h), which is started with the pool and again when it
 * ended. An attempt is a frame to it and frames back (frame.h).
 *
 *   G1  When the process ends by itself, the attempts in it have failed and may be tried again; the
 *       error tells the signal, and the log has the stack.
 *   G2  An attempt that does not stop within FA_KILL_AFTER_MS of being asked costs the process.
 *   G3  Another version of the interface is refused with an error in the log.
 *
 * NAME.json may set `limits` and `env` of the process (settings.h).
 *
 * Threads: end is called in the loop's, which also has all that isn't here; the others in the
 * owner's.
 */
#ifndef FA_PLUGIN_H
#define FA_PLUGIN_H

#include "runtime/runtime.h"
#include "runtime/spawn.h"

#include <pthread.h>

/* What the plugins of one pool have in common; their owner's. */
struct fa_plugin_share {
    struct fa_pool *pool;
    struct fa_loop *loop;
    struct fa_spawner *spawner;
    struct fa_teller log;
    const char *program;
    const char *const *types; /* NULL: all */
    size_t type_count;
    int64_t kill_after_us;

    pthread_mutex_t mutex; /* guards `running`, and whether a plugin has settled */
    pthread_cond_t cond;   /* either has changed */
    int running;           /* processes */
};

struct fa_plugin;

/* Reads its settings, and has the loop start its process. */
FA_MUST_CHECK enum faina_code fa_plugin_create(struct fa_plugin **out,
                                               struct fa_plugin_share *share, const char *path,
                                               struct faina_error *err);
/* Until it has said what it handles, which is then in the pool, or is known not to be used (G3). */
void fa_plugin_wait(struct fa_plugin *plugin);
const char *fa_plugin_path(const struct fa_plugin *plugin);
/* JSON, once it has settled; NULL: it has no triggers or joins. */
const char *fa_plugin_workflow(const struct fa_plugin *plugin);
/* Has the process end, and starts none any more; `running` tells when they are gone. */
void fa_plugin_end(struct fa_plugin *plugin);
void fa_plugin_destroy(struct fa_plugin *plugin); /* after the pool */

#endif
