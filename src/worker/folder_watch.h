/*
 * watched.h - a folder that is looked at again whenever something in it may have changed.
 *
 * inotify only says that it is time for a look; what has changed is the owner's to find out. So
 * nothing is missed when events are lost, and a folder that isn't there yet is waited for.
 *
 *   F1  What changes after fa_watched_init is followed by a look, a moment later.
 *   F2  Looks come from the loop's thread, one at a time.
 *
 * Threads: init and begin from the owner's; again from the loop's; finish when the loop has ended.
 */
#ifndef FA_WATCHED_H
#define FA_WATCHED_H

#include "base/bytes.h"
#include "runtime/loop.h"

#include <sys/stat.h>

#define FA_WATCHED_SETTLE_US 50000 /* events come in groups */

struct fa_watched {
    const char *path;
    struct fa_loop *loop;
    void (*look)(struct fa_watched *watched);
    struct fa_watch inotify; /* fd -1: none */
    struct fa_timer timer;
    struct fa_post begin;
};

/* `path` outlives it. From now on changes are noticed; the owner takes its first look after this,
 * and then begins. */
void fa_watched_init(struct fa_watched *watched, struct fa_loop *loop, const char *path,
                     void (*look)(struct fa_watched *watched));
void fa_watched_begin(struct fa_watched *watched);
/* Looks again after this long, or earlier. */
void fa_watched_again(struct fa_watched *watched, int64_t delay_us);
void fa_watched_finish(struct fa_watched *watched); /* all zero is fine */

/* What tells a file from its other versions. */
struct fa_file_mark {
    ino_t inode;
    off_t size;
    struct timespec changed;
};
struct fa_file_mark fa_file_mark_of(const struct stat *st);
bool fa_file_mark_is_same(const struct fa_file_mark *a, const struct fa_file_mark *b);
/* Reads a regular file that is no larger than `out` may become. `err` is not NULL. */
FA_MUST_CHECK enum faina_code fa_file_read(const char *path, struct fa_buf *out,
                                           struct faina_error *err);

/* The path from the root: it stays the same folder wherever the process goes. */
const char *fa_watched_path(const char *path, struct fa_arena *arena);

#endif
