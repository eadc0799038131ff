/*
 * snapshot.h - copies a SQLite file as it is at one moment, while it is written to.
 *
 * The pages are copied through SQLite's backup interface, within one read transaction on a
 * connection of its own.
 *
 *   N1  The copy holds exactly the transactions committed when it began. It never starts over,
 *       however much is written meanwhile: the read transaction sees none of it.
 *   N2  Writers never wait for it. The write-ahead log can't be reset until it ends, and grows.
 *   N3  Nothing of the source is changed.
 *
 * Threads: any; each call opens its own connections.
 */
#ifndef FA_STORE_DB_SQLITE_SNAPSHOT_H
#define FA_STORE_DB_SQLITE_SNAPSHOT_H

#include "base/error.h"
#include "model/backup.h"

/* Writes to `to`, an existing empty file; it is not flushed. UNAVAILABLE: a file can't be read or
 * written, or there is not enough disk space. TIMEOUT: the watch stopped it. */
FA_MUST_CHECK enum faina_code fa_snapshot_copy(const char *from, const char *to,
                                               const struct fa_backup_watch *watch,
                                               struct faina_error *err);
/* The size of a file and its log, in bytes. */
int64_t fa_snapshot_size(const char *path);

#endif
