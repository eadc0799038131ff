/*
 * folder_watch.h - scans a folder again whenever something in it may have changed.
 *
 * inotify only triggers a scan, and the scan finds what has changed. So lost events do no harm, and
 * a folder that doesn't exist yet is found when it is made.
 *
 *   F1  A change after fa_folder_watch_init is followed by a scan within a moment.
 *   F2  Scans run in the loop's thread, one at a time.
 *
 * Threads: init and begin from the owner's; rescan from the loop's; finish when the loop has ended.
 */
#ifndef FA_WORKER_FOLDER_WATCH_H
#define FA_WORKER_FOLDER_WATCH_H

#include "base/bytes.h"
#include "worker/event_loop.h"

#include <sys/stat.h>

#define FA_FOLDER_SETTLE_US 50000 /* events come in groups */

struct fa_folder_watch {
    const char *path;
    struct fa_event_loop *loop;
    void (*scan)(struct fa_folder_watch *watch);
    struct fa_watch inotify; /* fd -1: none */
    struct fa_timer timer;
    struct fa_message begin;
};

/* `path` outlives it. Subscribes to changes; the owner then makes the first scan and calls begin.
 * */
void fa_folder_watch_init(struct fa_folder_watch *watch, struct fa_event_loop *loop,
                          const char *path, void (*scan)(struct fa_folder_watch *watch));
void fa_folder_watch_begin(struct fa_folder_watch *watch);
/* Scans again after this delay, or earlier. */
void fa_folder_watch_rescan(struct fa_folder_watch *watch, int64_t delay_us);
void fa_folder_watch_finish(struct fa_folder_watch *watch); /* all zero is fine */

/* Identifies a version of a file. */
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

/* The absolute path, which doesn't depend on the working directory. */
const char *fa_absolute_path(const char *path, struct fa_arena *arena);

#endif
