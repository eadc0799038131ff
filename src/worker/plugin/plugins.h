/*
 * plugins.h - the plugins of a handlers folder: every NAME.so in it, found at start (plugin.h).
 *
 * A file or folder that other users could change is refused with an error in the log
 * (handler_folder.h, D1 and D3); plugins that can't be used are skipped.
 *
 * Threads: create and stop from the owner's; the rest is the loop's.
 */
#ifndef FA_WORKER_PLUGIN_PLUGINS_H
#define FA_WORKER_PLUGIN_PLUGINS_H

#include "worker/runtime.h"
#include "worker/command/spawn.h"

struct fa_plugins;

/* Starts the plugins in the folder and waits until each is settled. */
FA_MUST_CHECK enum faina_code fa_plugins_create(struct fa_plugins **out, struct fa_pool *pool,
                                                struct fa_event_loop *loop,
                                                struct fa_spawner *spawner,
                                                const struct fa_runtime_config *config,
                                                struct faina_error *err);
/* Stores the plugins' workflows in a namespace (NULL: "default"). Failures go to the log. From the
 * thread that created them; waits for the store. */
void fa_plugins_apply_workflows(struct fa_plugins *plugins, struct fa_service *service,
                                const char *ns);
/* Ends the processes. After the pool was stopped and before the loop ends; NULL is fine. */
void fa_plugins_stop(struct fa_plugins *plugins);
void fa_plugins_destroy(struct fa_plugins *plugins); /* after the pool; NULL is fine */

#endif
