/*
 * command.h - handlers that are executables: an attempt is a process.
 *
 *   stdin   the input, or {"input":..., "subtasks":[...]} in the phases resume and error
 *   stdout  the output        stderr  the attempt's log, of which the end is kept
 *   3       what else it says (said.h)
 *
 *   K1  Exit 0 ends well. 64, 65, 78, 126 and 127 fail for good. Everything else, and a signal,
 *       fails and may be tried again. What the handler says on 3 about its error goes before that.
 *   K2  To stop it, its process group gets SIGTERM, and SIGKILL after FA_KILL_AFTER_MS.
 *   K3  What is left of its group when it ended is killed, unless it goes on in the background.
 *
 * Threads: as handler.h says; the work is done in the loop's.
 */
#ifndef FA_COMMAND_H
#define FA_COMMAND_H

#include "runtime/handler.h"
#include "runtime/settings.h"
#include "runtime/watched.h"

#define FA_LOG_KEPT (64 * 1024) /* of the attempt's log, the last bytes */

struct fa_command_config {
    const char *type;
    const char *path;                   /* absolute */
    struct fa_file_mark program;        /* the file there, as it was looked at */
    const char *folder;                 /* where it runs */
    const struct fa_settings *settings; /* copied */
    int64_t kill_after_ms;              /* 0: FA_KILL_AFTER_MS */
};

/* A handler for fa_pool_put. */
struct fa_handler *fa_command_create(struct fa_loop *loop, struct fa_spawner *spawner,
                                     const struct fa_command_config *config);

#endif
