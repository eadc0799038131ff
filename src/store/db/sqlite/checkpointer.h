/*
 * checkpointer.h - checkpoints the write-ahead log, beside the writer.
 *
 * A checkpoint of a long log takes a tenth of a second, most of it in the kernel. A checkpointer
 * runs it in a thread and a connection of its own while the writer continues. Pages that the writer
 * adds in the meantime stay in the log until the next checkpoint, or until the writer's own.
 *
 *   M1  One checkpoint runs at a time: the writer runs none while the checkpointer is busy.
 *   M2  A checkpoint begins only when the log has pages that are not in the file yet. Until it ends
 *       the log can't be reset, since a reset needs a checkpoint of all pages. SQLite before 3.51.3
 *       needs this: a checkpoint that finds all pages in the file, and overlooks that the log is
 *       reset meanwhile, loses what is written next (its "WAL-reset bug").
 *   M3  The pages of a checkpoint are on disk when it ends, or it ends with `is_lost`: some of them
 *       may be missing in the file, and SQLite would not write them again. From then on the store
 *       refuses to write, and the log is kept: the next process that opens the file checkpoints all
 *       of it.
 *
 * Threads: all functions are called by the writer.
 */
#ifndef FA_STORE_DB_SQLITE_CHECKPOINTER_H
#define FA_STORE_DB_SQLITE_CHECKPOINTER_H

#include <sqlite3.h>
#include <stdbool.h>

struct fa_checkpointer;

struct fa_checkpoint {
    int pages;    /* of the log, from its beginning, that are in the file; -1: unknown */
    bool is_lost; /* M3 */
};

/* NULL: no thread, connection or memory is available. */
struct fa_checkpointer *fa_checkpointer_start(const char *path);
void fa_checkpointer_begin(struct fa_checkpointer *checkpointer); /* M1, M2 */
bool fa_checkpointer_is_busy(struct fa_checkpointer *checkpointer);
/* Waits for the end of the last checkpoint. */
struct fa_checkpoint fa_checkpointer_wait(struct fa_checkpointer *checkpointer);
/* Whether the checkpoint that just failed on a connection has lost pages (M3): earlier ones may
 * have counted pages as written that only this flush would have brought to disk. */
bool fa_checkpoint_has_lost(sqlite3 *handle);
/* Interrupts a checkpoint, which loses nothing. NULL is allowed. True: M3. */
bool fa_checkpointer_stop(struct fa_checkpointer *checkpointer);

#endif
