/*
 * owner.h - one owner process per file: a lock on it, and a lock file beside it.
 *
 * The lock on the file itself (inode_lock.h) decides. It holds for every name of the file, and
 * after the lock file was removed. FILE.lock is where others find out about the owner.
 *
 * FILE.lock is locked (an open-file-description lock, so a second open in the same process is
 * refused too) for as long as the owner lives, and holds its pid, the address that it serves the
 * file at, if it does, and "leaving" when it is about to go, a line each. The kernel drops the lock
 * with the process, however it ends; the file itself stays, because removing it would race with the
 * next opener.
 *
 * People remove files. What is written to a file without a name is gone with the process, and a
 * lock file without one keeps nobody out: so the owner can look whether all is still in its place.
 */
#ifndef FA_OWNER_H
#define FA_OWNER_H

#include "base/error.h"
#include "sql/sqlite/inode_lock.h"

/* One of the files that belong to a store. */
struct fa_owned {
    char *path;
    struct fa_file_number number; /* no file: it isn't watched */
};

struct fa_owner {
    int fd;                   /* the lock file; -1: not the owner */
    int file_fd;              /* the file itself, locked */
    char address[160];        /* where the owner serves the file; "": nowhere */
    bool is_leaving;          /* not the owner: that is about to go */
    struct fa_owned files[3]; /* the file, its log, its lock */
};

/* Waits up to timeout_ms for the present owner to go. UNAVAILABLE: it did not (the sentence names
 * its pid, or says that the lock file is not the owner's), the lock file can't be made, or the file
 * has several names: its log belongs to one of them, so what is in the log of the other would be
 * lost. An owner that serves the file is not waited for,
 * unless it is leaving; but for a guest, who soon goes too, it will do even then. */
FA_MUST_CHECK enum faina_code fa_owner_acquire(struct fa_owner *owner, const char *path,
                                               int64_t timeout_ms, bool is_guest,
                                               struct faina_error *err);
/* The process that has the file for itself; 0: none has, or others reach the file through it. */
long fa_owner_find(const char *path);
void fa_owner_release(struct fa_owner *owner);
/* Remembers the log as it is now, for fa_owner_check; the other two are those that were locked. */
void fa_owner_watch(struct fa_owner *owner);
/* UNAVAILABLE: one of them has been removed or replaced since; the sentence names it. */
FA_MUST_CHECK enum faina_code fa_owner_check(const struct fa_owner *owner, struct faina_error *err);
/* Writes down where the owner serves the file ("unix:/path/faina.db.sock"); NULL: it lets go of the
 * file as soon as it can, and serves it there a while yet, if it did. */
void fa_owner_advertise(struct fa_owner *owner, const char *address);

#endif
