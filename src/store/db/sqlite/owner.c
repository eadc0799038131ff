/* owner.c - the lock file beside a SQLite file. */
#include "store/db/sqlite/owner.h"

#include "base/bytes.h"
#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define RETRY_MS 5
#define LEAVING "leaving\n"       /* the last line */
#define TEXT_SIZE (PATH_MAX + 64) /* of all lines */

enum { FILE_ITSELF, LOG, LOCK }; /* in fa_owner.files */

static bool try_lock(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

static bool is_locked(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* 0: no pid is written. */
static long read_pid(int fd, char text[TEXT_SIZE])
{
    ssize_t got = pread(fd, text, TEXT_SIZE - 1, 0);

    text[got > 0 ? got : 0] = '\0';
    return strtol(text, NULL, 10);
}

static enum faina_code refuse_owned(int fd, const char *path, struct faina_error *err)
{
    char text[TEXT_SIZE];
    long pid = read_pid(fd, text);

    if (pid == (long)getpid())
        return fa_error_set(err, FAINA_UNAVAILABLE, "%s is already open in this process", path);
    if (pid > 0 && strstr(text, "\n" LEAVING))
        return fa_error_set(err, FAINA_UNAVAILABLE,
                            "%s is in use by process %ld, which is shutting down: try again in a "
                            "moment",
                            path, pid);
    if (pid > 0)
        return fa_error_set(
            err, FAINA_UNAVAILABLE,
            "%s is in use by process %ld, and a file has one owner at a time; others reach it "
            "through its owner when that is faina serve or faina worker",
            path, pid);
    return fa_error_set(err, FAINA_UNAVAILABLE, "%s is in use by another process", path);
}

/* The pid is for messages only; the lock alone decides, so a failed write is ignored. */
static void write_owner(int fd, const char *address, bool is_leaving)
{
    char text[TEXT_SIZE];
    int len = snprintf(text, sizeof(text), "%ld\n%s%s%s", (long)getpid(), address,
                       address[0] ? "\n" : "", is_leaving ? LEAVING : "");

    if (len >= (int)sizeof(text) || ftruncate(fd, 0) != 0 ||
        pwrite(fd, text, (size_t)len, 0) != len)
        return;
}

void fa_owner_advertise(struct fa_owner *owner, const char *address)
{
    if (owner->fd < 0)
        return;
    if (address)
        snprintf(owner->address, sizeof(owner->address), "%s", address);
    write_owner(owner->fd, owner->address, address == NULL);
}

/* The file's name with symbolic links resolved: SQLite names the log after it. A missing file is
 * created first, because a dangling link can't be resolved. Only its user may read a new file; the
 * log gets the same mode from SQLite. */
static bool real_name(const char *path, char out[PATH_MAX])
{
    int fd;

    if (realpath(path, out) != NULL)
        return true;
    if (errno != ENOENT)
        return false;
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    close(fd);
    return realpath(path, out) != NULL;
}

/* Reads the second line, when another process has written it completely, and whether a third
 * follows. */
static bool read_address(int fd, struct fa_owner *owner)
{
    char text[TEXT_SIZE], *line, *end;
    ssize_t got = pread(fd, text, sizeof(text) - 1, 0);

    if (got <= 0)
        return false;
    text[got] = '\0';
    line = strchr(text, '\n');
    end = line ? strchr(line + 1, '\n') : NULL;
    if (!end || strncmp(line + 1, "unix:", 5) != 0 || strtol(text, NULL, 10) == (long)getpid() ||
        (size_t)(end - line) > sizeof(owner->address))
        return false;
    *end = '\0';
    owner->is_leaving = strcmp(end + 1, LEAVING) == 0;
    memcpy(owner->address, line + 1, (size_t)(end - line));
    return true;
}

static void name_files(struct fa_owner *owner, const char *real)
{
    static const char *const suffixes[] = {[FILE_ITSELF] = "", [LOG] = "-wal", [LOCK] = ".lock"};

    static_assert(FA_COUNT(suffixes) == FA_COUNT(owner->files), "one each");
    for (size_t i = 0; i < FA_COUNT(suffixes); i++) {
        size_t size = strlen(real) + strlen(suffixes[i]) + 1;

        owner->files[i].path = fa_alloc(size);
        snprintf(owner->files[i].path, size, "%s%s", real, suffixes[i]);
    }
}

/* Which file has this name; 0: none. Never reads its times: since Linux 6.13 a time that was read
 * must change with the next write, and each commit would pay for that. */
static struct fa_file_number number_of(const char *path)
{
    struct statx st;

    if (statx(AT_FDCWD, path, 0, STATX_INO, &st) != 0)
        return (struct fa_file_number){0};
    return (struct fa_file_number){makedev(st.stx_dev_major, st.stx_dev_minor), st.stx_ino};
}

void fa_owner_watch(struct fa_owner *owner)
{
    owner->files[LOG].number = number_of(owner->files[LOG].path);
}

enum faina_code fa_owner_check(const struct fa_owner *owner, struct faina_error *err)
{
    for (size_t i = 0; i < FA_COUNT(owner->files); i++) {
        const struct fa_owned *file = &owner->files[i];
        struct fa_file_number number;

        if (file->number.inode == 0)
            continue;
        number = number_of(file->path);
        if (!fa_file_number_equal(number, file->number))
            return fa_error_set(err, FAINA_UNAVAILABLE,
                                "%.255s was removed or replaced while in use: nothing more is "
                                "accepted until it is back, or this process is started again",
                                strrchr(file->path, '/') + 1);
    }
    return FAINA_OK;
}

/* Opens the lock file; *is_made: this call has created it. */
static int open_lock_file(const char *lock_path, bool *is_made)
{
    int fd = open(lock_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    *is_made = fd >= 0;
    return fd >= 0 || errno != EEXIST ? fd : open(lock_path, O_RDWR | O_CLOEXEC);
}

static enum faina_code refuse_held(enum fa_inode_lock held, const char *path,
                                   struct faina_error *err)
{
    const char *reason = strerror(errno);

    switch (held) {
    case FA_INODE_LOCKED:
        break;
    case FA_INODE_HELD_HERE:
        return fa_error_set(err, FAINA_UNAVAILABLE,
                            "%s is already open in this process, and its lock file was removed or "
                            "replaced",
                            path);
    case FA_INODE_HELD:
        return fa_error_set(err, FAINA_UNAVAILABLE,
                            "%s is in use by another process, but %s.lock is not the lock file of "
                            "that process: it was removed or replaced, or the file has another "
                            "name there; `fuser %s` shows the process",
                            path, path, path);
    case FA_INODE_HAS_LINKS:
        return fa_error_set(err, FAINA_UNAVAILABLE,
                            "%s has more than one name (hard links), and each name would have a "
                            "log of its own; remove the others: `find -samefile %s` shows them",
                            path, path);
    case FA_INODE_LOCK_FAILED:
        return fa_error_set(err, FAINA_UNAVAILABLE, "%s can't be locked: %s", path, reason);
    }
    return FAINA_OK;
}

/* Tries to take both locks, or none. *is_final: waiting would not help. */
static enum faina_code try_acquire(struct fa_owner *owner, const char *path, const char *real,
                                   bool is_brief, bool *is_final, struct faina_error *err)
{
    enum faina_code code;
    enum fa_inode_lock held;
    char lock_path[PATH_MAX + 8];
    struct fa_file_number number;
    bool is_made;
    int fd, file_fd = -1;

    *owner = (struct fa_owner){.fd = -1, .file_fd = -1};
    snprintf(lock_path, sizeof(lock_path), "%s.lock", real);
    fd = open_lock_file(lock_path, &is_made);
    *is_final = fd < 0 && errno != ENOENT; /* missing: another opener has just removed its own */
    if (fd < 0)
        return fa_error_set(err, FAINA_UNAVAILABLE, "%s.lock can't be opened: %s", path,
                            strerror(errno));
    if (!try_lock(fd)) {
        *is_final = read_address(fd, owner) && (is_brief || !owner->is_leaving);
        if (!*is_final)
            owner->address[0] = '\0';
        code = refuse_owned(fd, path, err);
        close(fd);
        return code;
    }
    held = fa_inode_lock_take(real, &file_fd, &number);
    if (held != FA_INODE_LOCKED) {
        *is_final = held != FA_INODE_HELD && held != FA_INODE_HELD_HERE;
        code = refuse_held(held, path, err);
        if (is_made) /* it must not be mistaken for the owner's */
            unlink(lock_path);
        close(fd);
        return code;
    }
    *owner = (struct fa_owner){.fd = fd, .file_fd = file_fd};
    name_files(owner, real);
    owner->files[FILE_ITSELF].number = number;
    owner->files[LOCK].number = fa_file_number_of(fd);
    code = fa_owner_check(owner, err); /* the names may belong to other files by now */
    if (code == FAINA_OK)
        write_owner(fd, owner->address, false);
    else
        fa_owner_release(owner);
    return code;
}

enum faina_code fa_owner_acquire(struct fa_owner *owner, const char *path, int64_t timeout_ms,
                                 bool is_brief, struct faina_error *err)
{
    int64_t deadline = fa_clock_mono_us() + timeout_ms * 1000;
    const struct timespec pause = {.tv_nsec = RETRY_MS * 1000000L};
    enum faina_code code;
    char real[PATH_MAX];
    bool is_final;

    *owner = (struct fa_owner){.fd = -1, .file_fd = -1};
    if (!real_name(path, real))
        return fa_error_set(err, FAINA_UNAVAILABLE, "%s can't be opened: %s", path,
                            strerror(errno));
    for (;;) {
        code = try_acquire(owner, path, real, is_brief, &is_final, err);
        if (code == FAINA_OK || is_final || fa_clock_mono_us() >= deadline)
            return code;
        nanosleep(&pause, NULL);
    }
}

long fa_owner_find(const char *path)
{
    char real[PATH_MAX], lock_path[PATH_MAX + 8], text[TEXT_SIZE];
    struct fa_owner owner;
    long pid = 0;
    int fd;

    if (realpath(path, real) == NULL)
        return 0;
    snprintf(lock_path, sizeof(lock_path), "%s.lock", real);
    fd = open(lock_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (is_locked(fd) && !read_address(fd, &owner))
        pid = read_pid(fd, text);
    close(fd);
    return pid;
}

bool fa_owner_exists(const char *path)
{
    char real[PATH_MAX], lock_path[PATH_MAX + 8];
    bool exists;
    int fd;

    if (realpath(path, real) == NULL)
        return false;
    snprintf(lock_path, sizeof(lock_path), "%s.lock", real);
    fd = open(lock_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    exists = is_locked(fd);
    close(fd);
    return exists;
}

void fa_owner_release(struct fa_owner *owner)
{
    if (owner->fd < 0)
        return;
    fa_inode_lock_release(
        owner->file_fd); /* first: the next owner of the lock file also needs this lock */
    owner->file_fd = -1;
    /* Empties the file: a waiting process would otherwise read the pid of a process that has
     * ended. */
    if (ftruncate(owner->fd, 0) != 0)
        errno = 0;
    /* A forked child may have a copy of the descriptor; closing ours alone would not unlock. */
    fcntl(owner->fd, F_OFD_SETLK, &(struct flock){.l_type = F_UNLCK, .l_whence = SEEK_SET});
    close(owner->fd);
    owner->fd = -1;
    for (size_t i = 0; i < FA_COUNT(owner->files); i++)
        free(owner->files[i].path);
}
