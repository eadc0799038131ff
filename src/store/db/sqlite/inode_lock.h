/*
 * inode_lock.h - a lock on a file itself, whatever its name.
 *
 * A lock file is found by name, and a file can have several names: hard links, bind mounts, a name
 * that was given to another file. This lock belongs to the inode. It is an open-file-description
 * lock on one byte far behind the end of the file, which SQLite never locks, reads or writes.
 *
 *   I1  At most one open file description in the system holds the lock of a file.
 *   I2  The kernel drops the lock with the last process that has the descriptor, however it ends.
 *   I3  Taking the lock never closes a descriptor of a file that this process has locked: closing
 *       any descriptor would drop the POSIX locks by which SQLite keeps other programs out. For the
 *       same reason the lock is released only after the last connection to the file is closed.
 *
 * On NFS the lock is kept by the server, so it works between machines where locks do at all.
 */
#ifndef FA_STORE_DB_SQLITE_INODE_LOCK_H
#define FA_STORE_DB_SQLITE_INODE_LOCK_H

#include "base/error.h"

#include <sys/types.h>

struct fa_file_number {
    dev_t device;
    ino_t inode; /* 0: no file */
};

enum fa_inode_lock {
    FA_INODE_LOCKED,      /* taken */
    FA_INODE_HELD,        /* another process holds it */
    FA_INODE_HELD_HERE,   /* this process holds it through another descriptor */
    FA_INODE_HAS_LINKS,   /* the file has several names, and is not locked */
    FA_INODE_LOCK_FAILED, /* errno has the reason */
};

/* Locks an existing file. On success *fd is the descriptor that holds the lock. */
enum fa_inode_lock fa_inode_lock_take(const char *path, int *fd, struct fa_file_number *number);
/* Whether another open file description holds the lock of the file behind a descriptor. */
bool fa_inode_lock_is_held(int fd);
/* Unlocks and closes; -1 is allowed. */
void fa_inode_lock_release(int fd);
/* The file behind a descriptor. */
struct fa_file_number fa_file_number_of(int fd);
bool fa_file_number_equal(struct fa_file_number a, struct fa_file_number b);

#endif
