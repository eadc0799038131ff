/*
 * log_file.h - SQLite's write-ahead log, written in large pieces.
 *
 * SQLite writes each page of a commit with two calls, and then flushes. This layer gathers them and
 * writes them with one call before the flush: with large transactions the calls cost as much as the
 * statements do.
 *
 *   L1  A flush first writes all gathered bytes.
 *   L2  A read of the log through the same handle returns the bytes written to it before. Other
 *       handles read committed pages only, and these were flushed before (synchronous=FULL).
 *   L3  When a piece can't be written, nothing behind it is written, and no flush succeeds, until
 *       SQLite writes at that offset again, or the transaction of the piece has ended
 *       (fa_log_file_forget): a transaction can't be committed with a hole in it.
 *
 * Threads: a file belongs to its connection, as in SQLite.
 */
#ifndef FA_STORE_DB_SQLITE_LOG_FILE_H
#define FA_STORE_DB_SQLITE_LOG_FILE_H

#include <sqlite3.h>

/* The name of the file layer to open a database with. It is based on the default layer at the time
 * of the first call, which handles all files but the log. NULL: out of memory. */
const char *fa_log_file_layer(void);
/* Between transactions of the connection: the piece that could not be written was rolled back. */
void fa_log_file_forget(sqlite3 *handle);

#endif
