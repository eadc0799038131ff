/*
 * watched.c - a folder and inotify.
 */
#include "runtime/watched.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#define ABSENT_US 2000000 /* how often to look for a folder that isn't there */
#define EVENTS                                                                                     \
    (IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB |            \
     IN_DELETE_SELF | IN_MOVE_SELF)

/* Asks the kernel to tell of changes. False: the folder isn't there. */
static bool subscribe(struct fa_watched *watched)
{
    return watched->inotify.fd < 0 ||
           inotify_add_watch(watched->inotify.fd, watched->path, EVENTS) >= 0;
}

void fa_watched_again(struct fa_watched *watched, int64_t delay_us)
{
    int64_t at_us = fa_clock_mono_us() + delay_us;

    if (watched->timer.place == 0 || watched->timer.at_us > at_us)
        fa_timer_set(watched->loop, &watched->timer, at_us);
}

static void on_time(struct fa_timer *timer)
{
    struct fa_watched *watched =
        (struct fa_watched *)((char *)timer - offsetof(struct fa_watched, timer));
    bool is_there = subscribe(watched); /* before the look: what comes after it is told */

    watched->look(watched);
    if (!is_there || watched->inotify.fd < 0)
        fa_watched_again(watched, ABSENT_US);
}

static void on_inotify(struct fa_watch *watch)
{
    struct fa_watched *watched =
        (struct fa_watched *)((char *)watch - offsetof(struct fa_watched, inotify));
    char events[4096];

    while (read(watch->fd, events, sizeof(events)) > 0)
        continue;
    fa_watched_again(watched, FA_WATCHED_SETTLE_US);
}

static void on_begin(struct fa_post *post)
{
    struct fa_watched *watched =
        (struct fa_watched *)((char *)post - offsetof(struct fa_watched, begin));
    struct stat st;

    if (watched->inotify.fd >= 0 && !fa_loop_watch(watched->loop, &watched->inotify)) {
        close(watched->inotify.fd);
        watched->inotify.fd = -1;
    }
    if (watched->inotify.fd < 0 || stat(watched->path, &st) != 0)
        fa_watched_again(watched, ABSENT_US);
}

void fa_watched_init(struct fa_watched *watched, struct fa_loop *loop, const char *path,
                     void (*look)(struct fa_watched *watched))
{
    *watched = (struct fa_watched){.path = path, .loop = loop, .look = look};
    watched->timer.fire = on_time;
    watched->begin.run = on_begin;
    watched->inotify.on_event = on_inotify;
    watched->inotify.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    subscribe(watched);
}

void fa_watched_begin(struct fa_watched *watched)
{
    fa_loop_post(watched->loop, &watched->begin);
}

void fa_watched_finish(struct fa_watched *watched)
{
    if (watched->path && watched->inotify.fd >= 0)
        close(watched->inotify.fd);
    watched->path = NULL;
}

const char *fa_watched_path(const char *path, struct fa_arena *arena)
{
    char *absolute = realpath(path, NULL), *here = NULL;
    const char *result;

    if (absolute) {
        result = fa_arena_strdup(arena, absolute);
    } else if (path[0] == '/') {
        result = fa_arena_strdup(arena, path);
    } else { /* it may come later, wherever we are then */
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

/* Opens without waiting for anybody, as a FIFO would. -1: `err` tells. */
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
