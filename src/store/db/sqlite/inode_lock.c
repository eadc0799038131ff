/* inode_lock.c - see inode_lock.h. */
#include "store/db/sqlite/inode_lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_BYTE ((off_t)1 << 62) /* SQLite locks bytes around 1 << 30 */
#define FDINFO_SIZE 4096

static struct flock lock_byte(short type)
{
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = LOCK_BYTE, .l_len = 1};
}

static struct fa_file_number number_in(const struct stat *st)
{
    return (struct fa_file_number){st->st_dev, st->st_ino};
}

struct fa_file_number fa_file_number_of(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 ? number_in(&st) : (struct fa_file_number){0};
}

bool fa_file_number_equal(struct fa_file_number a, struct fa_file_number b)
{
    return a.device == b.device && a.inode == b.inode;
}

/* Whether an open-file-description lock is held through this descriptor. */
static bool has_lock(int fd)
{
    char name[64], text[FDINFO_SIZE];
    ssize_t got = -1;
    int info;

    snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
    info = open(name, O_RDONLY | O_CLOEXEC);
    if (info < 0)
        return false;
    got = read(info, text, sizeof(text) - 1);
    close(info);
    text[got > 0 ? got : 0] = '\0';
    return strstr(text, "OFDLCK") != NULL;
}

/* I3: reads /proc, since asking the kernel would mean to open the file and to close it again. */
static bool is_held_here(struct fa_file_number number)
{
    DIR *dir = opendir("/proc/self/fd");
    const struct dirent *entry;
    bool is_held = false;

    /* By name: other threads may close their descriptors meanwhile. */
    while (dir != NULL && !is_held && (entry = readdir(dir)) != NULL) {
        struct stat st;

        is_held = entry->d_name[0] != '.' && fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 &&
                  fa_file_number_equal(number_in(&st), number) &&
                  has_lock((int)strtol(entry->d_name, NULL, 10));
    }
    if (dir != NULL)
        closedir(dir);
    return is_held;
}

enum fa_inode_lock fa_inode_lock_take(const char *path, int *fd, struct fa_file_number *number)
{
    struct flock lock = lock_byte(F_WRLCK);
    struct stat st;
    int opened, reason;

    if (stat(path, &st) != 0)
        return FA_INODE_LOCK_FAILED;
    if (is_held_here(number_in(&st)))
        return FA_INODE_HELD_HERE;
    if (st.st_nlink > 1)
        return FA_INODE_HAS_LINKS;
    opened = open(path, O_RDWR | O_CLOEXEC);
    if (opened < 0)
        return FA_INODE_LOCK_FAILED;
    if (fcntl(opened, F_OFD_SETLK, &lock) != 0) {
        reason = errno;
        close(opened);
        errno = reason;
        return reason == EAGAIN || reason == EACCES ? FA_INODE_HELD : FA_INODE_LOCK_FAILED;
    }
    *fd = opened;
    *number = fa_file_number_of(opened);
    return FA_INODE_LOCKED;
}

bool fa_inode_lock_is_held(int fd)
{
    struct flock lock = lock_byte(F_WRLCK);

    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

void fa_inode_lock_release(int fd)
{
    struct flock lock = lock_byte(F_UNLCK);

    if (fd < 0)
        return;
    /* A forked child may have a copy of the descriptor; closing ours alone would not unlock. */
    fcntl(fd, F_OFD_SETLK, &lock);
    close(fd);
}
