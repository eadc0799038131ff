/*
 * backup_file.h - a backup: one SQLite file that holds a whole store.
 *
 *   K1  PATH appears whole or not at all: it is written as PATH.tmp, flushed, checked by opening
 *       it, and then renamed. A kill leaves PATH.tmp, which the next backup to PATH overwrites.
 *   K2  A file that fails the check never gets its name. The check is SQLite's own of every page,
 *       that the file is ours and not newer than this program, and the audit of `faina doctor`.
 *   K3  A restore never touches an existing store.
 *   K4  The files can be read by their user only.
 */
#ifndef FA_BACKUP_FILE_H
#define FA_BACKUP_FILE_H

#include "base/error.h"
#include "model/backup.h"

/* Writes a copy of a store to `path`, an existing empty file. */
struct fa_backup_source {
    void *ctx;
    enum faina_code (*write)(void *ctx, const char *path, const struct fa_backup_watch *watch,
                             struct faina_error *err);
};

/* CONFLICT: `path` is there and may not be replaced, or another backup is being written to it.
 * INTERNAL: the copy fails its check. Else as the source's. */
FA_MUST_CHECK enum faina_code fa_backup_make(const struct fa_backup_source *source,
                                             const char *path, bool may_replace,
                                             const struct fa_backup_watch *watch,
                                             struct fa_backup_report *out, struct faina_error *err);

/* The same for a copy that has no name by the time this returns: it goes when *fd is closed. It is
 * written to `path`, which is removed also when it is left from a process that was killed. */
FA_MUST_CHECK enum faina_code fa_backup_make_unnamed(const struct fa_backup_source *source,
                                                     const char *path,
                                                     const struct fa_backup_watch *watch, int *fd,
                                                     struct fa_backup_report *out,
                                                     struct faina_error *err);

/* Makes a store at `to` from the backup at `from`. CONFLICT: `to` is there, or its log is.
 * NOT_FOUND: there is no `from`. INVALID_REQUEST: it is no backup, or fails the check. */
FA_MUST_CHECK enum faina_code fa_backup_restore(const char *from, const char *to,
                                                const struct fa_backup_watch *watch,
                                                struct fa_backup_report *out,
                                                struct faina_error *err);

#endif
