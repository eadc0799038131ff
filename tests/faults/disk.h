/*
 * disk.h - a SQLite file layer that knows what a loss of power would leave.
 *
 * It sits in front of the system's own layer as SQLite's default, and follows the files of one
 * database: what was flushed, and which writes, truncations and removals have come since. At a cut
 * it makes up what the disk holds after a loss of power, while the work itself goes on undisturbed:
 *
 *   D1  Everything that was flushed is there.
 *   D2  Of what came after the last flush of a file, any part may be there: each write and each
 *       truncation by itself, in any order, and each sector (512 bytes) of a write by itself.
 *   D3  A file that was made or removed since the folder was last flushed may be there or not.
 *
 * Threads: calls of the layer may come from any; the functions here from one thread, but on_cut is
 * called in the thread whose call is cut.
 */
#ifndef FA_TEST_DISK_H
#define FA_TEST_DISK_H

#include <stdbool.h>
#include <stdint.h>

void fa_disk_install(void); /* before the first engine */

/* Follows the database at `path` from now on; what is in its files counts as flushed. */
void fa_disk_follow(const char *path, uint64_t seed);
void fa_disk_leave(void); /* follows nothing */

/* Cuts before the nth call from now on that changes a file; on_cut is called at that moment. */
void fa_disk_cut_at(long nth, void (*on_cut)(void *ctx), void *ctx);
bool fa_disk_has_cut(void);
/* Puts what the cut has left into the files of a database at `path`. */
void fa_disk_write_crashed(const char *path);

/* Flushes do nothing any more: what a disk does that lies. To see that its losses are found. */
void fa_disk_lie(void);
long fa_disk_calls(void); /* that changed a file, since fa_disk_follow */
long fa_disk_lost(void);  /* calls that the last cut has left out, in part or whole */

#endif
