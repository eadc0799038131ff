/*
 * archive.h - a folder with a file of lines for each day: DIR/2026-11-15.jsonl.gz.
 *
 * Each write appends one whole gzip member, so `zcat` and every gzip library read the file as one.
 *
 *   A1  When fa_archive_add returns FAINA_OK the lines are on disk, and so is the file's name.
 *   A2  A write that failed or was cut short by a crash leaves no trace: the bytes behind the last
 *       whole member are cut off before the next one is written.
 *   A3  One process at a time writes to a folder; the lock ends with the process.
 *   A4  Folder and files are readable by their owner alone: tasks may hold secrets.
 *
 * Threads: one at a time.
 */
#ifndef FA_WORKER_ARCHIVE_H
#define FA_WORKER_ARCHIVE_H

#include "base/bytes.h"
#include "base/error.h"

struct fa_archive;

/* Makes the folder when it isn't there. UNAVAILABLE: it can't be made or written to, or another
 * process has the lock. */
FA_MUST_CHECK enum faina_code fa_archive_open(struct fa_archive **out, const char *folder,
                                              struct faina_error *err);
void fa_archive_close(struct fa_archive *archive); /* NULL is fine */

/* Appends lines to the file of the day (UTC) of `day_us`. UNAVAILABLE: nothing was written. */
FA_MUST_CHECK enum faina_code fa_archive_add(struct fa_archive *archive, int64_t day_us,
                                             struct fa_bytes lines, struct faina_error *err);

#endif
