/*
 * folder_watch.c - a folder and inotify.
 */
#include "worker/folder_watch.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#define ABSENT_US 2000000 /* how often to scan a folder that isn't there */
#define EVENTS                                                                                     \
    (IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB |            \
     IN_DELETE_SELF | IN_MOVE_SELF)

/* False: the folder isn't there. */
static bool subscribe(struct fa_folder_watch *watch)
{
    return watch->inotify.fd < 0 || inotify_add_watch(watch->inotify.fd, watch->path, EVENTS) >= 0;
}

void fa_folder_watch_rescan(struct fa_folder_watch *watch, int64_t delay_us)
{
    int64_t at_us = fa_clock_mono_us() + delay_us;

    if (watch->timer.heap_index == 0 || watch->timer.at_us > at_us)
        fa_timer_set(watch->loop, &watch->timer, at_us);
}

static void on_time(struct fa_timer *timer)
{
    struct fa_folder_watch *watch = FA_CONTAINER_OF(timer, struct fa_folder_watch, timer);
    bool is_there = subscribe(watch); /* before the scan, which may miss later changes */

    watch->scan(watch);
    if (!is_there || watch->inotify.fd < 0)
        fa_folder_watch_rescan(watch, ABSENT_US);
}

static void on_inotify(struct fa_watch *inotify)
{
    char events[4096];

    while (read(inotify->fd, events, sizeof(events)) > 0)
        continue;
    fa_folder_watch_rescan(FA_CONTAINER_OF(inotify, struct fa_folder_watch, inotify),
                           FA_FOLDER_SETTLE_US);
}

static void on_begin(struct fa_message *message)
{
    struct fa_folder_watch *watch = FA_CONTAINER_OF(message, struct fa_folder_watch, begin);
    struct stat st;

    if (watch->inotify.fd >= 0 && !fa_event_loop_watch(watch->loop, &watch->inotify)) {
        close(watch->inotify.fd);
        watch->inotify.fd = -1;
    }
    if (watch->inotify.fd < 0 || stat(watch->path, &st) != 0)
        fa_folder_watch_rescan(watch, ABSENT_US);
}

void fa_folder_watch_init(struct fa_folder_watch *watch, struct fa_event_loop *loop,
                          const char *path, void (*scan)(struct fa_folder_watch *watch))
{
    *watch = (struct fa_folder_watch){.path = path, .loop = loop, .scan = scan};
    watch->timer.fire = on_time;
    watch->begin.run = on_begin;
    watch->inotify.on_event = on_inotify;
    watch->inotify.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    subscribe(watch);
}

void fa_folder_watch_begin(struct fa_folder_watch *watch)
{
    fa_event_loop_send(watch->loop, &watch->begin);
}

void fa_folder_watch_finish(struct fa_folder_watch *watch)
{
    if (watch->path && watch->inotify.fd >= 0)
        close(watch->inotify.fd);
    watch->path = NULL;
}

const char *fa_absolute_path(const char *path, struct fa_arena *arena)
{
    char *absolute = realpath(path, NULL), *here = NULL;
    const char *result;

    if (absolute) {
        result = fa_arena_strdup(arena, absolute);
    } else if (path[0] == '/') {
        result = fa_arena_strdup(arena, path);
    } else { /* it may be made later, when the working directory is another one */
        here = getcwd(NULL, 0);
        result = fa_arena_printf(arena, "%s/%s", here ? here : ".", path);
    }
    free(absolute);
    free(here);
    return result;
}

struct fa_file_mark fa_file_mark_of(const struct stat *st)
{
    return (struct fa_file_mark){.inode = st->st_ino, .size = st->st_size, .changed = st->st_ctim};
}

bool fa_file_mark_is_same(const struct fa_file_mark *a, const struct fa_file_mark *b)
{
    return a->inode == b->inode && a->size == b->size && a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

/* Opens without blocking, which a FIFO would do. -1: `err` is set. */
static int open_file(const char *path, struct faina_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0)
        fa_error_set(err, FAINA_UNAVAILABLE, "%.300s can't be read: %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        fa_error_set(err, FAINA_INVALID_REQUEST, "%.300s is not a regular file", path);
    else
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

enum faina_code fa_file_read(const char *path, struct fa_buf *out, struct faina_error *err)
{
    int fd = open_file(path, err);
    char chunk[4096];
    ssize_t len = 0;

    if (fd < 0)
        return err->code;
    while (!out->overflow && (len = read(fd, chunk, sizeof(chunk))) > 0)
        fa_buf_add(out, chunk, (size_t)len);
    if (len < 0)
        fa_error_set(err, FAINA_UNAVAILABLE, "%.300s can't be read: %s", path, strerror(errno));
    else if (out->overflow)
        fa_error_set(err, FAINA_INVALID_REQUEST, "%.300s is larger than %zu KiB", path,
                     out->max / 1024);
    close(fd);
    return len < 0 ? FAINA_UNAVAILABLE : out->overflow ? FAINA_INVALID_REQUEST : FAINA_OK;
}
