/*
 * mover.h - moves the write-ahead log into the file, beside the writer.
 *
 * A checkpoint of a long log takes a tenth of a second, most of it in the kernel. A mover does it
 * in a thread and a connection of its own, while the writer goes on. What the writer adds in the
 * meantime stays in the log, and is for another move or for the writer itself.
 *
 *   M1  One checkpoint at a time: the writer does none while a mover is busy.
 *   M2  A move begins only when something in the log was not moved yet. Until its end the log can't
 *       start anew then, since that takes a checkpoint of all of it. SQLite before 3.51.3 needs
 *       this: a checkpoint that finds all moved, and overlooks that the log starts anew meanwhile,
 *       loses what is written next (its "WAL-reset bug").
 *   M3  What was moved is on disk when a move ends, or it ends with `is_lost`: some of it may be
 *       missing in the file, and SQLite would not move it again. Then nobody may write, and the log
 *       must be kept: who opens the file next moves all of it.
 *
 * Threads: all functions are the writer's.
 */
#ifndef FA_MOVER_H
#define FA_MOVER_H

#include <sqlite3.h>
#include <stdbool.h>

struct fa_mover;

struct fa_moved {
    int pages;    /* of the log, from its beginning on, that are in the file; -1: unknown */
    bool is_lost; /* M3 */
};

/* NULL: there is no thread or no connection to be had, or no memory. */
struct fa_mover *fa_mover_start(const char *path);
void fa_mover_begin(struct fa_mover *mover); /* M1, M2: a move */
bool fa_mover_is_busy(struct fa_mover *mover);
/* Waits for the end of the last move. */
struct fa_moved fa_mover_wait(struct fa_mover *mover);
/* Whether the checkpoint that just failed on a connection has lost something (M3): earlier ones may
 * have counted pages as moved that only this flush would have brought to the disk. */
bool fa_mover_has_lost(sqlite3 *handle);
/* Gives up a move in the middle, where nothing is lost. NULL is allowed. True: M3. */
bool fa_mover_stop(struct fa_mover *mover);

#endif
