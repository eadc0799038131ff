/* reserve.c - see reserve.h. */
#include "store/db/sqlite/reserve.h"

#include "base/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SIZE_USUAL (8LL << 20)
#define SIZE_MIN (64LL << 10)
#define SHARE_MAX 16           /* at most this fraction of the free space */
#define INSIDE_MIN (1LL << 20) /* V2 */

static int64_t room_beside(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    struct statvfs fs;

    snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) + 1 : 1,
             slash ? path : ".");
    return statvfs(folder, &fs) == 0 ? (int64_t)fs.f_bavail * (int64_t)fs.f_frsize : -1;
}

/* Allocates a file of that size. Removes it when that fails. */
static bool take_room(const char *path, int64_t size)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool is_taken = fd >= 0 && posix_fallocate(fd, 0, size) == 0;

    if (fd >= 0)
        close(fd);
    if (!is_taken)
        unlink(path);
    return is_taken;
}

void fa_reserve_open(struct fa_reserve *reserve, const char *path, bool may_make)
{
    size_t len = strlen(path) + sizeof(".reserve");
    struct stat st;
    int64_t room;

    pthread_mutex_init(&reserve->mutex, NULL);
    reserve->path = fa_alloc(len);
    snprintf(reserve->path, len, "%s.reserve", path);
    if (lstat(reserve->path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= SIZE_MIN) {
        atomic_store(&reserve->size, st.st_size);
        reserve->is_held = true;
        return;
    }
    room = room_beside(path) / SHARE_MAX;
    room = room < SIZE_USUAL ? room : SIZE_USUAL;
    atomic_store(&reserve->size, room);
    reserve->is_held = may_make && room >= SIZE_MIN && take_room(reserve->path, room);
}

void fa_reserve_close(struct fa_reserve *reserve)
{
    if (reserve->path == NULL)
        return;
    pthread_mutex_destroy(&reserve->mutex);
    free(reserve->path);
    reserve->path = NULL;
}

void fa_reserve_give_up(struct fa_reserve *reserve)
{
    if (reserve->path == NULL)
        return;
    pthread_mutex_lock(&reserve->mutex);
    if (reserve->is_held)
        unlink(reserve->path);
    reserve->is_held = false;
    pthread_mutex_unlock(&reserve->mutex);
    atomic_store(&reserve->inside, 0);
    atomic_store(&reserve->is_gone, true);
}

/* V1. The mutex is held. */
static bool take_again(struct fa_reserve *reserve)
{
    int64_t size = atomic_load(&reserve->size);

    if (size < SIZE_MIN)
        size = SIZE_MIN;

    if (room_beside(reserve->path) < size + size / 4 || !take_room(reserve->path, size))
        return false;
    atomic_store(&reserve->size, size);
    reserve->is_held = true;
    return true;
}

bool fa_reserve_is_full(struct fa_reserve *reserve)
{
    if (reserve->path == NULL || !atomic_load(&reserve->is_gone))
        return false;
    pthread_mutex_lock(&reserve->mutex);
    if (reserve->is_held || take_again(reserve))
        atomic_store(&reserve->is_gone, false);
    pthread_mutex_unlock(&reserve->mutex);
    return atomic_load(&reserve->is_gone) && atomic_load(&reserve->inside) < INSIDE_MIN;
}
