/*
 * log_file.h - SQLite's write-ahead log, written in large pieces.
 *
 * SQLite writes each page of a commit with two calls, and then flushes. Here they are put together
 * and written with one call before the flush: with large transactions the calls cost as much as the
 * statements do.
 *
 *   L1  What a flush has promised is on disk: everything is written before it.
 *   L2  Whoever reads the log through the same handle reads what was put into it before. Others
 *       read what is committed, which was flushed before they can know of it (synchronous=FULL).
 *   L3  When a piece can't be written, nothing behind it is written, and no flush succeeds, until
 *       SQLite writes that place again, or the transaction that it belonged to is known to be over
 *       (fa_log_file_forget): a transaction can't be committed with a hole in it.
 *
 * Threads: a file belongs to its connection, as in SQLite.
 */
#ifndef FA_LOG_FILE_H
#define FA_LOG_FILE_H

#include <sqlite3.h>

/* The name of the file layer to open a database with. It stands on the default one of this moment,
 * and treats all files but the log as that one does. NULL: no memory for it. */
const char *fa_log_file_layer(void);
/* Between transactions of the connection: what could not be written was rolled back. */
void fa_log_file_forget(sqlite3 *handle);

#endif
