/*
 * owner.h - one owner process per file: a lock on it, and a lock file beside it.
 *
 * The lock on the file itself (inode_lock.h) decides. It holds for every name of the file, and
 * after the lock file was removed. Other processes read in FILE.lock which process is the owner.
 *
 * FILE.lock is locked (an open-file-description lock, so a second open in the same process is
 * refused too) for as long as the owner runs. It holds the owner's pid, the address at which the
 * owner serves the file, if it does, and "leaving" when the owner shuts down, a line each. The
 * kernel drops the lock with the process, however it ends. The lock file stays, because removing it
 * would race with the next opener.
 *
 * Users remove files. Writes to a file without a name are lost when the process ends, and a lock
 * file without a name excludes no other process: so the owner checks that all files are in place.
 */
#ifndef FA_STORE_DB_SQLITE_OWNER_H
#define FA_STORE_DB_SQLITE_OWNER_H

#include "base/error.h"
#include "store/db/sqlite/inode_lock.h"

/* One of the files that belong to a store. */
struct fa_owned {
    char *path;
    struct fa_file_number number; /* no file: it isn't checked */
};

struct fa_owner {
    int fd;                   /* the lock file; -1: not the owner */
    int file_fd;              /* the file itself, locked */
    char address[160];        /* where the owner serves the file; "": nowhere */
    bool is_leaving;          /* not the owner: the owner shuts down */
    struct fa_owned files[3]; /* the file, its log, its lock */
};

/* Waits up to timeout_ms for the present owner to release the file. UNAVAILABLE: it did not (the
 * message names its pid, or states that the lock file is not the owner's), the lock file can't be
 * created, or the file has several names: its log belongs to one of them, so the content of the
 * other's log would be lost. It doesn't wait for an owner that serves the file, unless that is
 * leaving; is_brief: the caller uses the file only briefly, and doesn't wait even then. */
FA_MUST_CHECK enum faina_code fa_owner_acquire(struct fa_owner *owner, const char *path,
                                               int64_t timeout_ms, bool is_brief,
                                               struct faina_error *err);
/* The pid of an owner that doesn't serve the file; 0: there is none. */
long fa_owner_find(const char *path);
/* Whether a process has the file open, whether it serves it or not. */
bool fa_owner_exists(const char *path);
void fa_owner_release(struct fa_owner *owner);
/* Records which file the log is, for fa_owner_check; the other two files are those that were
 * locked. */
void fa_owner_watch(struct fa_owner *owner);
/* UNAVAILABLE: one of them was removed or replaced since; the message names it. */
FA_MUST_CHECK enum faina_code fa_owner_check(const struct fa_owner *owner, struct faina_error *err);
/* Writes the address at which the owner serves the file ("unix:/path/faina.db.sock"). NULL: the
 * owner is leaving; it releases the file as soon as it can, and serves it until then if it did. */
void fa_owner_advertise(struct fa_owner *owner, const char *address);

#endif
