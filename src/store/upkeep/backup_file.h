/*
 * backup_file.h - a backup: one SQLite file that holds all of a store.
 *
 *   K1  PATH appears complete or not at all: it is written as PATH.tmp, flushed, checked by opening
 *       it, and then renamed. A kill leaves PATH.tmp, which the next backup to PATH overwrites.
 *   K2  A file that fails the check is never renamed. The check: SQLite's own check of every page,
 *       a schema of Faina that is not newer than this program, and the audit of `faina doctor`.
 *   K3  A restore never touches an existing store.
 *   K4  The files can be read by their user only.
 */
#ifndef FA_STORE_UPKEEP_BACKUP_FILE_H
#define FA_STORE_UPKEEP_BACKUP_FILE_H

#include "base/error.h"
#include "model/backup.h"

/* Writes a copy of a store to `path`, an existing empty file. */
struct fa_backup_source {
    void *ctx;
    enum faina_code (*write)(void *ctx, const char *path, const struct fa_backup_watch *watch,
                             struct faina_error *err);
};

/* CONFLICT: `path` exists and may not be replaced, or another backup is being written to it.
 * INTERNAL: the copy fails its check. Other codes are the source's. */
FA_MUST_CHECK enum faina_code fa_backup_make(const struct fa_backup_source *source,
                                             const char *path, bool may_replace,
                                             const struct fa_backup_watch *watch,
                                             struct fa_backup_report *out, struct faina_error *err);

/* The same for a copy without a name: it is removed when *fd is closed. It is written to `path`,
 * which is replaced if it is left from a process that was killed. */
FA_MUST_CHECK enum faina_code fa_backup_make_unnamed(const struct fa_backup_source *source,
                                                     const char *path,
                                                     const struct fa_backup_watch *watch, int *fd,
                                                     struct fa_backup_report *out,
                                                     struct faina_error *err);

/* Makes a store at `to` from the backup at `from`. CONFLICT: `to` or its log exists. NOT_FOUND:
 * there is no `from`. INVALID_REQUEST: `from` is not a backup, or fails the check. */
FA_MUST_CHECK enum faina_code fa_backup_restore(const char *from, const char *to,
                                                const struct fa_backup_watch *watch,
                                                struct fa_backup_report *out,
                                                struct faina_error *err);

#endif
