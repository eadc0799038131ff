/*
 * plugin.h - handlers in shared objects: NAME.so in the handlers folder, found at start.
 *
 * A plugin runs in a process of its own (host.h), which is started with the pool and again when it
 * ended. An attempt is a frame to it and frames back (frame.h).
 *
 *   G1  When the process ends by itself, the attempts in it have failed and may be tried again; the
 *       error tells the signal, and the log has the stack.
 *   G2  An attempt that does not stop within FA_KILL_AFTER_MS of being asked costs the process.
 *   G3  A file or folder that others could change, or another version of the interface, is refused
 *       with an error in the log (folder.h, D1 and D3).
 *
 * NAME.json may set `limits` and `env` of the process (settings.h).
 *
 * Threads: create and stop from the owner's; the rest is the loop's.
 */
#ifndef FA_PLUGIN_H
#define FA_PLUGIN_H

#include "runtime/runtime.h"
#include "runtime/spawn.h"

struct fa_plugins;

/* Starts what is in the folder and waits until each has said what it handles. Plugins that can't be
 * used are left out (G3). */
FA_MUST_CHECK enum faina_code fa_plugins_create(struct fa_plugins **out, struct fa_pool *pool,
                                                struct fa_loop *loop, struct fa_spawner *spawner,
                                                const struct fa_runtime_config *config,
                                                struct faina_error *err);
/* Stores the workflows that they have said they have, in a namespace (NULL: "default"). What can't
 * be stored is told. From the thread that created them, which waits for the store. */
void fa_plugins_offer(struct fa_plugins *plugins, struct fa_service *service, const char *ns);
/* Ends the processes. After the pool was stopped and before the loop ends; NULL is fine. */
void fa_plugins_stop(struct fa_plugins *plugins);
void fa_plugins_destroy(struct fa_plugins *plugins); /* after the pool; NULL is fine */

#endif
