/*
 * folder.h - the handlers folder: an executable named TYPE handles TYPE, TYPE.json sets how.
 *
 * Files that are added, changed or removed are noticed while it runs (inotify).
 *
 *   D1  A folder or file that others could change (writable by group or others, or owned by another
 *       user than us and root) is not used: who can write there could run programs as us. The
 *       owner's own group, which has no other members, may write.
 *   D2  A handler whose settings have a mistake is not used; tasks of its type wait.
 *   D3  Whatever is not used is told in the log, once per change, with the reason.
 *
 * Threads: create and destroy from the owner's; the rest happens in the loop's.
 */
#ifndef FA_FOLDER_H
#define FA_FOLDER_H

#include "runtime/pool.h"
#include "runtime/settings.h"
#include "runtime/spawn.h"

#include <sys/stat.h>

struct fa_folder;

struct fa_folder_config {
    const char *path;
    bool must_exist;          /* else it may come later */
    const char *const *types; /* only these; NULL: all */
    size_t type_count;
    int64_t kill_after_ms; /* 0: the default */
    struct fa_teller log;
};

/* Finds what is there, then watches. UNAVAILABLE: the folder isn't there, or can't be read.
 * FORBIDDEN: D1. */
FA_MUST_CHECK enum faina_code fa_folder_create(struct fa_folder **out, struct fa_pool *pool,
                                               struct fa_loop *loop, struct fa_spawner *spawner,
                                               const struct fa_folder_config *config,
                                               struct faina_error *err);
void fa_folder_destroy(struct fa_folder *folder); /* after the loop; NULL is fine */

/* D1 for one file or folder. */
FA_MUST_CHECK enum faina_code fa_folder_check(const char *path, const struct stat *st,
                                              struct faina_error *err);
/* The settings beside a file: what is in PATH (less `ending`) with ".json"; all zero when there are
 * none. */
FA_MUST_CHECK enum faina_code fa_folder_settings(const char *path, const char *ending,
                                                 struct fa_arena *arena, struct fa_settings *out,
                                                 struct faina_error *err);
/* Whether `type` is among `types`; NULL: all are. */
bool fa_folder_wants(const char *type, const char *const *types, size_t count);

#endif
