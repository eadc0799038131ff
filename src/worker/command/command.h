/*
 * command.h - handlers that are executables: an attempt is a process.
 *
 *   stdin   the input, or {"input":..., "subtasks":[...]} in the phases resume and error
 *   stdout  the output        stderr  the attempt's log, of which the end is kept
 *   3       other messages (handler_message.h)
 *
 *   K1  Exit 0 completes the attempt. 64, 65, 78, 126 and 127 are permanent failures. Every other
 *       exit code, and a signal, is a failure that may be retried. An error message on descriptor 3
 *       has precedence over this.
 *   K2  To stop it, its process group gets SIGTERM, and SIGKILL after FA_KILL_AFTER_MS.
 *   K3  When the process has ended, the rest of its group is killed, unless the task continues in
 *       the background.
 *
 * Threads: as in handler.h; processes and pipes are handled in the loop's.
 */
#ifndef FA_WORKER_COMMAND_COMMAND_H
#define FA_WORKER_COMMAND_COMMAND_H

#include "worker/handler.h"
#include "worker/type_settings.h"
#include "worker/folder_watch.h"

struct fa_command_config {
    const char *type;
    const char *path;                   /* absolute */
    struct fa_file_mark program;        /* the version of the file that was checked */
    const char *folder;                 /* where it runs */
    const struct fa_settings *settings; /* copied */
    int64_t kill_after_ms;              /* 0: FA_KILL_AFTER_MS */
};

/* A handler for fa_pool_put. */
struct fa_handler *fa_command_create(struct fa_event_loop *loop, struct fa_spawner *spawner,
                                     const struct fa_command_config *config);

#endif
