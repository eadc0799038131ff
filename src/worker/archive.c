/*
 * archive.c - appends gzip members and flushes them.
 *
 * A file is read once, to find the end of its last whole member (A2). The size is then remembered,
 * and as long as it doesn't change the file is not read again.
 */
#include "worker/archive.h"

#include "model/times.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define CHUNK_SIZE ((size_t)64 * 1024)
#define GZIP_WINDOW (15 + 16) /* for zlib: the largest window, in gzip's format */
#define NAME_SIZE 32
#define KNOWN_COUNT 64
#define DAY_US (24 * 3600 * INT64_C(1000000))

struct fa_archive {
    char *folder;
    int dir, lock;
    /* Files whose end is known, by day. */
    struct {
        int64_t day;
        ino_t inode;
        off_t size;
    } known[KNOWN_COUNT];
};

/* The file that is being written. */
struct day_file {
    struct fa_archive *archive;
    int64_t day;
    char name[NAME_SIZE];
    int fd;
    off_t end; /* of the last whole member */
    bool is_new;
};

static enum faina_code refuse(const struct fa_archive *archive, const char *name, const char *doing,
                              struct faina_error *err)
{
    return fa_error_set(err, FAINA_UNAVAILABLE, "the archive %.200s%s%s can't be %s: %s",
                        archive->folder, name ? "/" : "", name ? name : "", doing, strerror(errno));
}

/* The folder ----------------------------------------------------------------------------------- */

/* Makes the entry of a new folder durable. */
static bool flush_parent(const char *folder)
{
    const char *slash = strrchr(folder, '/');
    char *parent =
        slash ? strndup(folder, slash == folder ? 1 : (size_t)(slash - folder)) : strdup(".");
    int fd = parent ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    bool is_done = fd >= 0 && fsync(fd) == 0;

    if (fd >= 0)
        close(fd);
    free(parent);
    return is_done;
}

static enum faina_code open_folder(struct fa_archive *archive, struct faina_error *err)
{
    bool is_made = mkdir(archive->folder, 0700) == 0;

    if (!is_made && errno != EEXIST)
        return refuse(archive, NULL, "made", err);
    if (is_made && !flush_parent(archive->folder))
        return refuse(archive, NULL, "made", err);
    archive->dir = open(archive->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (archive->dir < 0)
        return refuse(archive, NULL, "opened", err);
    archive->lock = openat(archive->dir, ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (archive->lock < 0)
        return refuse(archive, ".lock", "opened", err);
    if (flock(archive->lock, LOCK_EX | LOCK_NB) == 0)
        return FAINA_OK;
    if (errno == EWOULDBLOCK)
        return fa_error_set(err, FAINA_UNAVAILABLE,
                            "the archive %.200s is being written by another process",
                            archive->folder);
    return refuse(archive, ".lock", "locked", err);
}

enum faina_code fa_archive_open(struct fa_archive **out, const char *folder,
                                struct faina_error *err)
{
    struct fa_archive *archive = fa_alloc_zero(1, sizeof(*archive));
    size_t len = strlen(folder);
    enum faina_code code;

    while (len > 1 && folder[len - 1] == '/')
        len--;
    archive->folder = fa_alloc_zero(1, len + 1);
    memcpy(archive->folder, folder, len);
    archive->dir = archive->lock = -1;
    code = open_folder(archive, err);
    if (code == FAINA_OK)
        *out = archive;
    else
        fa_archive_close(archive);
    return code;
}

void fa_archive_close(struct fa_archive *archive)
{
    if (!archive)
        return;
    if (archive->lock >= 0)
        close(archive->lock);
    if (archive->dir >= 0)
        close(archive->dir);
    free(archive->folder);
    free(archive);
}

/* Finding the end ----------------------------------------------------------------------------- */

/* Where the last whole member ends. False: the file can't be read. */
static bool find_end(int fd, off_t *end)
{
    unsigned char *in = fa_alloc_zero(2, CHUNK_SIZE), *out = in + CHUNK_SIZE;
    z_stream z = {0};
    off_t at = 0;
    ssize_t got = 0;
    int rc = inflateInit2(&z, GZIP_WINDOW);

    *end = 0;
    while (rc == Z_OK && (got = pread(fd, in, CHUNK_SIZE, at)) > 0) {
        z.next_in = in;
        z.avail_in = (unsigned)got;
        while (rc == Z_OK && z.avail_in > 0) {
            z.next_out = out;
            z.avail_out = CHUNK_SIZE;
            rc = inflate(&z, Z_NO_FLUSH);
            if (rc == Z_STREAM_END) {
                *end = at + got - (off_t)z.avail_in;
                rc = inflateReset(&z);
            }
        }
        at += got;
    }
    inflateEnd(&z);
    free(in);
    return got >= 0;
}

/* Whether the file was written here and cut short by a crash: it has a whole member, begins as one,
 * or begins with a zero, as a file that has grown and not been written. */
static bool is_torn(int fd, off_t end)
{
    unsigned char first = 0;

    return end > 0 || (pread(fd, &first, 1, 0) == 1 && (first == 0x1f || first == 0));
}

static enum faina_code cut_torn(struct day_file *file, off_t size, struct faina_error *err)
{
    if (!find_end(file->fd, &file->end))
        return refuse(file->archive, file->name, "read", err);
    if (file->end == size)
        return FAINA_OK;
    if (!is_torn(file->fd, file->end))
        return fa_error_set(err, FAINA_UNAVAILABLE,
                            "%.200s/%s is not a file of the archive; move it away",
                            file->archive->folder, file->name);
    if (ftruncate(file->fd, file->end) != 0)
        return refuse(file->archive, file->name, "cut", err);
    return FAINA_OK;
}

static enum faina_code open_day(struct day_file *file, int64_t day_us, struct faina_error *err)
{
    struct fa_archive *archive = file->archive;
    size_t slot = (size_t)(day_us / DAY_US) % KNOWN_COUNT;
    char text[FA_TIME_SIZE];
    struct stat info;

    file->day = day_us / DAY_US;
    fa_time_format(day_us, text);
    snprintf(file->name, sizeof(file->name), "%.10s.jsonl.gz", text);
    file->fd = openat(archive->dir, file->name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file->fd < 0 || fstat(file->fd, &info) != 0)
        return refuse(archive, file->name, "opened", err);
    file->is_new = info.st_size == 0;
    file->end = info.st_size;
    if (info.st_size == 0 ||
        (archive->known[slot].day == file->day && archive->known[slot].inode == info.st_ino &&
         archive->known[slot].size == info.st_size))
        return FAINA_OK;
    return cut_torn(file, info.st_size, err);
}

/* Writing ------------------------------------------------------------------------------------- */

/* A gzip member; the caller frees it. NULL: zlib failed. */
static unsigned char *compress_lines(struct fa_bytes lines, size_t *size)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)lines.ptr};
    unsigned char *out;
    int rc =
        deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY);

    if (rc != Z_OK || lines.len > UINT32_MAX / 2)
        return NULL;
    z.avail_in = (unsigned)lines.len;
    z.avail_out = (unsigned)deflateBound(&z, lines.len);
    out = fa_alloc_zero(1, z.avail_out);
    z.next_out = out;
    rc = deflate(&z, Z_FINISH);
    *size = z.total_out;
    deflateEnd(&z);
    if (rc == Z_STREAM_END)
        return out;
    free(out);
    return NULL;
}

static bool write_at(int fd, const unsigned char *ptr, size_t len, off_t at)
{
    while (len > 0) {
        ssize_t done = pwrite(fd, ptr, len, at);

        if (done < 0 && errno == EINTR)
            continue;
        if (done == 0)
            errno = ENOSPC;
        if (done <= 0)
            return false;
        ptr += done;
        len -= (size_t)done;
        at += done;
    }
    return true;
}

static enum faina_code append(struct day_file *file, const unsigned char *ptr, size_t len,
                              struct faina_error *err)
{
    struct fa_archive *archive = file->archive;
    size_t slot = (size_t)file->day % KNOWN_COUNT;
    struct stat info;

    if (!write_at(file->fd, ptr, len, file->end) || fdatasync(file->fd) != 0 ||
        (file->is_new && fsync(archive->dir) != 0)) {
        enum faina_code code = refuse(archive, file->name, "written", err);

        if (ftruncate(file->fd, file->end) != 0) /* A2: the next write cuts it off */
            archive->known[slot].day = -1;
        return code;
    }
    if (fstat(file->fd, &info) == 0) {
        archive->known[slot].day = file->day;
        archive->known[slot].inode = info.st_ino;
        archive->known[slot].size = file->end + (off_t)len;
    }
    return FAINA_OK;
}

enum faina_code fa_archive_add(struct fa_archive *archive, int64_t day_us, struct fa_bytes lines,
                               struct faina_error *err)
{
    struct day_file file = {.archive = archive, .fd = -1};
    unsigned char *member = NULL;
    enum faina_code code;
    size_t size = 0;

    code = open_day(&file, day_us, err);
    if (code == FAINA_OK) {
        member = compress_lines(lines, &size);
        code = member
                   ? append(&file, member, size, err)
                   : fa_error_set(err, FAINA_INTERNAL, "zlib can't compress %zu bytes", lines.len);
    }
    free(member);
    if (file.fd >= 0)
        close(file.fd);
    return code;
}
