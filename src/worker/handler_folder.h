/*
 * handler_folder.h - the handlers folder: an executable named TYPE handles TYPE, and TYPE.json has
 * its settings. When there is no file TYPE, TYPE.EXT handles it, where EXT is one of sh, py, js,
 * mjs, rb and pl, the first in this order.
 *
 * Files that are added, changed or removed are noticed while it runs (inotify).
 *
 *   D1  A folder or file that other users could change (writable by group or others, or owned by
 *       another user than this process's and root) is not used: a user who can write there could
 *       run programs as this process's user. A group with no member but the owner may write.
 *   D2  A handler whose settings have a mistake is not used; tasks of its type wait.
 *   D3  What is not used is logged with the reason, once per change.
 *
 * Threads: create and destroy from the owner's; the rest happens in the loop's.
 */
#ifndef FA_WORKER_HANDLER_FOLDER_H
#define FA_WORKER_HANDLER_FOLDER_H

#include "worker/command/lines.h"
#include "worker/pool/pool.h"
#include "worker/type_settings.h"
#include "worker/command/spawn.h"

#include <dirent.h>
#include <sys/stat.h>

struct fa_folder;

struct fa_folder_config {
    const char *path;
    bool must_exist;          /* else it may be made later */
    const char *const *types; /* only these; NULL: all */
    size_t type_count;
    struct fa_texts pass_env;     /* variables for all handlers: environment.h */
    struct fa_lines_group *lines; /* for "mode":"lines" */
    int64_t kill_after_ms;        /* 0: the default */
    struct fa_reporter log;
};

/* Scans the folder, then watches it. UNAVAILABLE: it isn't there, or can't be read. FORBIDDEN: D1.
 */
FA_MUST_CHECK enum faina_code fa_folder_create(struct fa_folder **out, struct fa_pool *pool,
                                               struct fa_event_loop *loop,
                                               struct fa_spawner *spawner,
                                               const struct fa_folder_config *config,
                                               struct faina_error *err);
void fa_folder_destroy(struct fa_folder *folder); /* after the loop; NULL is fine */

/* D1 for one file or folder. */
FA_MUST_CHECK enum faina_code fa_folder_check(const char *path, const struct stat *st,
                                              struct faina_error *err);
/* Opens a folder that passes fa_folder_check. `what` is "handlers" or "workflows"; `missing` is the
 * code when it doesn't exist. */
FA_MUST_CHECK enum faina_code fa_folder_open(const char *path, const char *what,
                                             enum faina_code missing, DIR **out,
                                             struct faina_error *err);
/* The settings of a file: PATH without `ending`, and ".json"; only `pass_env` when there are none.
 */
FA_MUST_CHECK enum faina_code fa_folder_settings(const char *path, const char *ending,
                                                 const struct fa_texts *pass_env,
                                                 struct fa_arena *arena, struct fa_settings *out,
                                                 struct faina_error *err);
/* Whether `type` is among `types`; NULL: all are. */
bool fa_folder_wants(const char *type, const char *const *types, size_t count);

#endif
