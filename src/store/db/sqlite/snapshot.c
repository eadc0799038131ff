/* snapshot.c - see snapshot.h. */
#include "store/db/sqlite/snapshot.h"

#include "store/db/sqlite/log_file.h"

#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define STEP_PAGES 1000
#define CACHE_KIB 4096
#define BUSY_MS 5000
#define ROOM_LEFT (64LL << 20) /* free space that a copy leaves on its disk */

struct copying {
    const char *from, *to;
    sqlite3 *source, *target;
    const struct fa_backup_watch *watch;
};

static int64_t size_of(const char *path, const char *suffix)
{
    char name[PATH_MAX];
    struct stat st;

    if (snprintf(name, sizeof(name), "%s%s", path, suffix) >= (int)sizeof(name) ||
        stat(name, &st) != 0)
        return 0;
    return st.st_size;
}

int64_t fa_snapshot_size(const char *path)
{
    return size_of(path, "") + size_of(path, "-wal");
}

/* A copy that fills the disk would stop the writers. */
static enum faina_code check_room(const struct copying *copying, struct faina_error *err)
{
    int64_t need = fa_snapshot_size(copying->from);
    struct statvfs fs;
    int64_t room;

    if (statvfs(copying->to, &fs) != 0)
        return FAINA_OK;
    room = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
    if (room >= need + ROOM_LEFT)
        return FAINA_OK;
    return fa_error_set(err, FAINA_UNAVAILABLE,
                        "there is not enough room for a copy at %.200s: it may take %lld MiB, and "
                        "%lld MiB are free",
                        copying->to, (long long)(need + ROOM_LEFT) >> 20, (long long)room >> 20);
}

static enum faina_code refuse(const char *path, const char *doing, sqlite3 *handle, int rc,
                              struct faina_error *err)
{
    if ((rc & 0xff) == SQLITE_FULL)
        return fa_error_set(err, FAINA_UNAVAILABLE, "%.200s: the disk is full", path);
    return fa_error_set(err, FAINA_UNAVAILABLE, "%.200s can't be %s: %.200s", path, doing,
                        handle != NULL ? sqlite3_errmsg(handle) : sqlite3_errstr(rc));
}

/* N1: the first statement that reads fixes the transaction's snapshot. */
static enum faina_code open_source(struct copying *copying, struct faina_error *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    int rc = sqlite3_open_v2(copying->from, &copying->source, flags, fa_log_file_layer());

    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(copying->source, BUSY_MS);
    if (rc == SQLITE_OK)
        rc = sqlite3_wal_autocheckpoint(copying->source, 0);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(copying->source,
                          "PRAGMA query_only = ON; BEGIN; SELECT count(*) FROM sqlite_schema", NULL,
                          NULL, NULL);
    return rc == SQLITE_OK ? FAINA_OK : refuse(copying->from, "read", copying->source, rc, err);
}

/* An incomplete copy is useless, so there is no journal; the caller flushes. */
static enum faina_code open_target(struct copying *copying, struct faina_error *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    int rc = sqlite3_open_v2(copying->to, &copying->target, flags, NULL);
    char text[128];

    snprintf(text, sizeof(text),
             "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -%d",
             CACHE_KIB);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(copying->target, text, NULL, NULL, NULL);
    return rc == SQLITE_OK ? FAINA_OK : refuse(copying->to, "written", copying->target, rc, err);
}

static bool continues(const struct copying *copying, sqlite3_backup *backup, int64_t page_size)
{
    int64_t all = sqlite3_backup_pagecount(backup), left = sqlite3_backup_remaining(backup);

    return copying->watch == NULL ||
           copying->watch->moved(copying->watch->ctx, FA_BACKUP_COPYING, (all - left) * page_size,
                                 all * page_size);
}

static int read_page_size(sqlite3 *handle)
{
    sqlite3_stmt *stmt;
    int size = 0;

    if (sqlite3_prepare_v2(handle, "PRAGMA page_size", -1, &stmt, NULL) != SQLITE_OK)
        return 0;
    if (sqlite3_step(stmt) == SQLITE_ROW)
        size = sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    return size;
}

static enum faina_code copy_pages(struct copying *copying, struct faina_error *err)
{
    int64_t page_size = read_page_size(copying->source);
    sqlite3_backup *backup = sqlite3_backup_init(copying->target, "main", copying->source, "main");
    int rc = SQLITE_OK;
    bool is_stopped = false;

    if (backup == NULL)
        return refuse(copying->to, "written", copying->target, sqlite3_errcode(copying->target),
                      err);
    while (rc == SQLITE_OK && !is_stopped) {
        rc = sqlite3_backup_step(backup, STEP_PAGES);
        is_stopped = !continues(copying, backup, page_size);
    }
    sqlite3_backup_finish(backup);
    if (rc == SQLITE_DONE)
        return FAINA_OK;
    if (is_stopped)
        return fa_error_set(err, FAINA_TIMEOUT, "the copy was stopped");
    /* The target reports failures of both sides. */
    return refuse(copying->to, "written", copying->target, rc, err);
}

enum faina_code fa_snapshot_copy(const char *from, const char *to,
                                 const struct fa_backup_watch *watch, struct faina_error *err)
{
    struct copying copying = {.from = from, .to = to, .watch = watch};
    enum faina_code code = check_room(&copying, err);

    if (code == FAINA_OK)
        code = open_source(&copying, err);
    if (code == FAINA_OK)
        code = open_target(&copying, err);
    if (code == FAINA_OK)
        code = copy_pages(&copying, err);
    /* Closing the last page cache writes what is left of it. */
    if (copying.target != NULL && sqlite3_close(copying.target) != SQLITE_OK && code == FAINA_OK)
        code = refuse(to, "written", NULL, SQLITE_IOERR, err);
    if (copying.source != NULL)
        sqlite3_close(copying.source);
    return code;
}
