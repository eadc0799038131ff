/*
 * host.h - a plugin's process: `faina plugin-host FILE`, started by the pool (plugin.h) with a
 * socket as its stdin.
 *
 * Loads the shared object, sends the types it handles, and runs each attempt in a thread. A crash
 * ends the process after the stack of the thread was written to stderr; the pool reads both.
 */
#ifndef FA_WORKER_PLUGIN_HOST_H
#define FA_WORKER_PLUGIN_HOST_H

/* Returns the process's exit code. */
int fa_host_main(const char *path);

#endif
