/* backup_file.c - see backup_file.h. */
#include "store/upkeep/backup_file.h"

#include "store/upkeep/audit.h"
#include "store/db/migrate.h"
#include "store/db/sqlite/db_sqlite.h"
#include "store/db/sqlite/inode_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECK_CACHE_KIB 16384
#define COPY_SIZE ((size_t)1 << 20)

static enum faina_code refuse(const char *path, const char *doing, struct faina_error *err)
{
    return fa_error_set(err, FAINA_UNAVAILABLE, "%.250s can't be %s: %s", path, doing,
                        strerror(errno));
}

/* Checking ------------------------------------------------------------------------------------- */

/* Keeps the first finding. */
static void keep_first(void *ctx, const char *sentence)
{
    char *first = ctx;

    if (first[0] == '\0')
        snprintf(first, sizeof(((struct faina_error *)NULL)->message) / 2, "%s", sentence);
}

static void add_count(void *ctx, size_t row, const struct fa_value *columns)
{
    struct fa_backup_report *report = ctx;
    int64_t status = fa_value_as_int(&columns[0]);

    (void)row;
    if (status < 0 || status >= FAINA_STATUS_COUNT)
        return;
    report->by_status[status] += fa_value_as_int(&columns[1]);
    report->task_count += fa_value_as_int(&columns[1]);
}

static enum faina_code check_content(struct fa_db *db, char *finding, struct fa_backup_report *out,
                                     struct faina_error *err)
{
    struct fa_arena scratch = {0};
    struct fa_migrate_plan plan = {0};
    const struct fa_value all = {.kind = FA_NULL};
    enum faina_code code = db->ops->check(db, keep_first, finding, err);

    if (code == FAINA_OK && finding[0] == '\0')
        code = fa_migrate_plan(db, &scratch, &plan, err);
    out->schema_version = plan.applied_count;
    /* The audit needs the present schema. An older one is migrated when the store is opened, and
     * can be audited then. */
    if (code == FAINA_OK && finding[0] == '\0' && plan.step_count == 0)
        code = fa_audit(db, keep_first, finding, err);
    if (code == FAINA_OK && finding[0] == '\0')
        code = fa_db_one(db, FA_SQL_TALLY_TOTALS, &all, 1, add_count, out, err);
    fa_arena_finish(&scratch);
    return code;
}

/* A check that can be stopped. */
struct checking {
    const struct fa_backup_watch *watch;
    int64_t size;
    bool is_stopped;
};

static int should_stop(void *ctx)
{
    struct checking *checking = ctx;

    checking->is_stopped =
        checking->is_stopped ||
        (checking->watch != NULL &&
         !checking->watch->moved(checking->watch->ctx, FA_BACKUP_CHECKING, 0, checking->size));
    return checking->is_stopped;
}

/* Compares the size with the header: SQLite itself accepts a truncated last page. */
static bool has_header_size(const char *path, int64_t size)
{
    unsigned char head[32] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_read = fd >= 0 && pread(fd, head, sizeof(head), 0) == sizeof(head);
    int64_t page = head[16] << 8 | head[17];
    int64_t count = (int64_t)head[28] << 24 | head[29] << 16 | head[30] << 8 | head[31];

    if (fd >= 0)
        close(fd);
    return is_read && size == count * (page == 1 ? 65536 : page);
}

/* K2. `shown` is the name of the file in error messages. */
static enum faina_code check_file(const char *path, const char *shown,
                                  const struct fa_backup_watch *watch, struct fa_backup_report *out,
                                  struct faina_error *err)
{
    struct checking checking = {.watch = watch};
    struct fa_sqlite_options options = {.path = path,
                                        .shown = shown,
                                        .is_reader = true,
                                        .is_immutable = true,
                                        .cache_kib = CHECK_CACHE_KIB,
                                        .should_stop = should_stop,
                                        .stop_ctx = &checking};
    char finding[sizeof(err->message)] = "";
    struct fa_backup_report report = {0};
    struct fa_db *db = NULL;
    struct stat st;
    enum faina_code code;

    if (stat(path, &st) != 0)
        return refuse(path, "opened", err);
    report.size_bytes = checking.size = st.st_size;
    code = fa_sqlite_open(&db, &options, err);
    if (code == FAINA_OK)
        code = check_content(db, finding, &report, err);
    fa_db_close(db);
    if (code == FAINA_OK && !has_header_size(path, st.st_size))
        code = fa_error_set(err, FAINA_INTERNAL, "%.200s fails its check: it is cut short", shown);
    if (checking.is_stopped)
        return fa_error_set(err, FAINA_TIMEOUT, "the copy was stopped");
    if (code == FAINA_OK && finding[0] != '\0')
        code = fa_error_set(err, FAINA_INTERNAL, "%.200s fails its check: %.200s", shown, finding);
    if (code == FAINA_OK)
        *out = report;
    return code;
}

/* Drafts --------------------------------------------------------------------------------------- */

/* K1: PATH.tmp, which no other process writes while `fd` is locked. */
struct draft {
    char path[PATH_MAX], tmp[PATH_MAX];
    int fd;
};

static enum faina_code lock_draft(struct draft *draft, struct faina_error *err)
{
    struct fa_file_number number = {0};
    struct stat st;
    int fd = open(draft->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0 && errno != EEXIST)
        return refuse(draft->tmp, "written", err);
    if (fd >= 0)
        close(fd);
    switch (fa_inode_lock_take(draft->tmp, &draft->fd, &number)) {
    case FA_INODE_LOCKED:
        break;
    case FA_INODE_HELD:
    case FA_INODE_HELD_HERE:
        return fa_error_set(err, FAINA_CONFLICT, "another backup is being written to %.250s",
                            draft->path);
    case FA_INODE_HAS_LINKS:
        return fa_error_set(err, FAINA_CONFLICT, "%.250s has more than one name; remove it",
                            draft->tmp);
    case FA_INODE_LOCK_FAILED:
        return refuse(draft->tmp, "written", err);
    }
    /* If it was renamed just before it was locked, it is a complete backup of another process. */
    if (lstat(draft->tmp, &st) != 0 || !S_ISREG(st.st_mode) ||
        !fa_file_number_equal(number, (struct fa_file_number){st.st_dev, st.st_ino})) {
        fa_inode_lock_release(draft->fd);
        draft->fd = -1;
        return fa_error_set(err, FAINA_CONFLICT, "another backup is being written to %.250s",
                            draft->path);
    }
    return FAINA_OK;
}

static void draft_drop(struct draft *draft)
{
    if (draft->fd < 0)
        return;
    unlink(draft->tmp);
    fa_inode_lock_release(draft->fd);
    draft->fd = -1;
}

static enum faina_code draft_open(struct draft *draft, const char *path, struct faina_error *err)
{
    enum faina_code code;

    draft->fd = -1;
    if (snprintf(draft->path, PATH_MAX, "%s", path) >= PATH_MAX ||
        snprintf(draft->tmp, PATH_MAX, "%s.tmp", path) >= PATH_MAX)
        return fa_error_set(err, FAINA_INVALID_REQUEST, "the file's name is too long");
    code = lock_draft(draft, err);
    if (code == FAINA_OK && (ftruncate(draft->fd, 0) != 0 || fchmod(draft->fd, 0600) != 0)) {
        code = refuse(draft->tmp, "written", err);
        draft_drop(draft);
    }
    return code;
}

static bool flush_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    bool is_flushed;
    int fd;

    snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) + 1 : 1,
             slash ? path : ".");
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    is_flushed = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return is_flushed;
}

/* Where the file system can't rename without replacing, a hard link does it. */
static int rename_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    return link(from, to) == 0 ? unlink(from) : -1;
}

static enum faina_code draft_publish(struct draft *draft, bool may_replace, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    if (fsync(draft->fd) != 0) {
        code = refuse(draft->tmp, "flushed", err);
    } else if ((may_replace ? rename(draft->tmp, draft->path)
                            : rename_new(draft->tmp, draft->path)) != 0) {
        code = errno == EEXIST
                   ? fa_error_set(err, FAINA_CONFLICT, "%.250s is there already", draft->path)
                   : refuse(draft->path, "written", err);
    } else if (!flush_folder(draft->path)) {
        code = refuse(draft->path, "flushed", err);
    }
    if (code != FAINA_OK) {
        draft_drop(draft);
        return code;
    }
    fa_inode_lock_release(draft->fd);
    draft->fd = -1;
    return FAINA_OK;
}

static bool exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

/* Backups -------------------------------------------------------------------------------------- */

static enum faina_code write_copy(const struct fa_backup_source *source, const struct draft *draft,
                                  const struct fa_backup_watch *watch, struct fa_backup_report *out,
                                  struct faina_error *err)
{
    enum faina_code code = source->write(source->ctx, draft->tmp, watch, err);

    return code == FAINA_OK ? check_file(draft->tmp, "the copy", watch, out, err) : code;
}

enum faina_code fa_backup_make(const struct fa_backup_source *source, const char *path,
                               bool may_replace, const struct fa_backup_watch *watch,
                               struct fa_backup_report *out, struct faina_error *err)
{
    struct draft draft;
    enum faina_code code;

    if (!may_replace && exists(path))
        return fa_error_set(err, FAINA_CONFLICT,
                            "%.250s is there already; a backup replaces it with --force only",
                            path);
    code = draft_open(&draft, path, err);
    if (code != FAINA_OK)
        return code;
    code = write_copy(source, &draft, watch, out, err);
    if (code == FAINA_OK)
        return draft_publish(&draft, may_replace, err);
    draft_drop(&draft);
    return code;
}

enum faina_code fa_backup_make_unnamed(const struct fa_backup_source *source, const char *path,
                                       const struct fa_backup_watch *watch, int *fd,
                                       struct fa_backup_report *out, struct faina_error *err)
{
    struct draft draft;
    enum faina_code code = draft_open(&draft, path, err);

    if (code != FAINA_OK)
        return code;
    code = write_copy(source, &draft, watch, out, err);
    *fd = code == FAINA_OK ? open(draft.tmp, O_RDONLY | O_CLOEXEC) : -1;
    if (code == FAINA_OK && *fd < 0)
        code = refuse(draft.tmp, "opened", err);
    draft_drop(&draft);
    return code;
}

/* Restoring ------------------------------------------------------------------------------------ */

static enum faina_code check_target(const char *to, struct faina_error *err)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};

    for (size_t i = 0; i < FA_COUNT(suffixes); i++) {
        char name[PATH_MAX];

        if (snprintf(name, sizeof(name), "%s%s", to, suffixes[i]) < PATH_MAX && exists(name))
            return fa_error_set(err, FAINA_CONFLICT,
                                "%.250s is there already, and a restore replaces no store", name);
    }
    return FAINA_OK;
}

/* A store that is in use, or was not closed, has some of its tasks in its log. */
static enum faina_code check_source(const char *from, int fd, struct faina_error *err)
{
    static const char magic[16] = "SQLite format 3";
    char head[sizeof(magic)] = "", log[PATH_MAX];
    struct stat st;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return fa_error_set(err, FAINA_INVALID_REQUEST, "%.250s is not a file", from);
    if (fa_inode_lock_is_held(fd))
        return fa_error_set(err, FAINA_CONFLICT,
                            "%.250s is a store in use, not a backup: `faina backup` makes one of "
                            "it",
                            from);
    if (snprintf(log, sizeof(log), "%s-wal", from) < PATH_MAX && stat(log, &st) == 0 &&
        st.st_size > 0)
        return fa_error_set(err, FAINA_CONFLICT,
                            "%.250s has a log beside it (%.250s), so it is a store and not a "
                            "backup: `faina backup` makes one of it",
                            from, strrchr(log, '/') ? strrchr(log, '/') + 1 : log);
    if (pread(fd, head, sizeof(head), 0) != sizeof(head) || memcmp(head, magic, sizeof(magic)) != 0)
        return fa_error_set(err, FAINA_INVALID_REQUEST, "%.250s is not a backup of a store", from);
    return FAINA_OK;
}

static bool write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t done = write(fd, data, size);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        data += done;
        size -= (size_t)done;
    }
    return true;
}

static enum faina_code copy_bytes(int from, const char *shown, struct draft *draft,
                                  const struct fa_backup_watch *watch, struct faina_error *err)
{
    char *data = fa_alloc(COPY_SIZE);
    enum faina_code code = FAINA_OK;
    int64_t done = 0;
    struct stat st = {0};
    ssize_t got;

    fstat(from, &st);
    while ((got = pread(from, data, COPY_SIZE, done)) > 0) {
        done += got;
        if (!write_all(draft->fd, data, (size_t)got))
            code = refuse(draft->tmp, "written", err);
        else if (watch != NULL && !watch->moved(watch->ctx, FA_BACKUP_COPYING, done, st.st_size))
            code = fa_error_set(err, FAINA_TIMEOUT, "the copy was stopped");
        if (code != FAINA_OK)
            break;
    }
    if (got < 0)
        code = refuse(shown, "read", err);
    free(data);
    return code;
}

static enum faina_code restore_open(int fd, const char *from, const char *to,
                                    const struct fa_backup_watch *watch,
                                    struct fa_backup_report *out, struct faina_error *err)
{
    struct draft draft;
    enum faina_code code = check_source(from, fd, err);

    if (code == FAINA_OK)
        code = draft_open(&draft, to, err);
    if (code != FAINA_OK)
        return code;
    code = copy_bytes(fd, from, &draft, watch, err);
    if (code == FAINA_OK) {
        code = check_file(draft.tmp, from, watch, out, err);
        if (code == FAINA_UNAVAILABLE || code == FAINA_INTERNAL) {
            code = FAINA_INVALID_REQUEST; /* the file is at fault, not this program */
            if (err != NULL)
                err->code = code;
        }
    }
    if (code == FAINA_OK)
        return draft_publish(&draft, false, err);
    draft_drop(&draft);
    return code;
}

enum faina_code fa_backup_restore(const char *from, const char *to,
                                  const struct fa_backup_watch *watch, struct fa_backup_report *out,
                                  struct faina_error *err)
{
    enum faina_code code = check_target(to, err);
    int fd;

    if (code != FAINA_OK)
        return code;
    fd = open(from, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fa_error_set(err, errno == ENOENT ? FAINA_NOT_FOUND : FAINA_UNAVAILABLE,
                            "%.250s can't be opened: %s", from, strerror(errno));
    code = restore_open(fd, from, to, watch, out, err);
    close(fd);
    return code;
}
