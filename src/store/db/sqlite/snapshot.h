/*
 * snapshot.h - copies a SQLite file as it is at one moment, while it is written to.
 *
 * The pages are copied through SQLite's backup interface, within one read transaction on a
 * connection of its own.
 *
 *   N1  The copy holds exactly what was committed when it began. It never starts over, however much
 *       is written meanwhile: the read transaction sees none of it.
 *   N2  Writers never wait for it. The write-ahead log can't be reset until it ends, and grows.
 *   N3  Nothing of the source is changed.
 *
 * Threads: any; the connections are the call's own.
 */
#ifndef FA_SNAPSHOT_H
#define FA_SNAPSHOT_H

#include "base/error.h"
#include "model/backup.h"

/* Writes to `to`, an existing empty file; it is not flushed. UNAVAILABLE: a file can't be read or
 * written, or there is not enough room for it. TIMEOUT: the watch stopped it. */
FA_MUST_CHECK enum faina_code fa_snapshot_copy(const char *from, const char *to,
                                               const struct fa_backup_watch *watch,
                                               struct faina_error *err);

#endif
