/*
 * copy.h - copies a store into another one, of the same or of another database.
 *
 *   1. reads all of the source and computes checksums: the source's stamp, and the number of rows;
 *   2. writes it page by page, and stores its position after every few pages;
 *   3. reads all of the copy, compares the checksums, and removes the mark.
 *
 *   C1  The source is read in one snapshot, and never changed.
 *   C2  From the first row on the target has a mark (FA_MIGRATE_COPYING) that prevents all other
 *       programs from opening it. The last transaction removes it, after the comparison.
 *   C3  The mark has the stamp and the position, and is written in the transaction of the rows. So
 *       a killed copy resumes where it was, and starts again if the source has changed since.
 *   C4  Of two copies into one target one fails: each update of the mark expects its last value.
 *
 * Threads: one.
 */
#ifndef FA_STORE_UPKEEP_COPY_H
#define FA_STORE_UPKEEP_COPY_H

#include "service/service.h"
#include "store/db/store.h"

/* As fa_service_copy. The caller closes the stores. */
FA_MUST_CHECK enum faina_code fa_copy_run(struct fa_store *from, struct fa_store *to,
                                          const struct fa_copy_watch *watch, struct fa_arena *arena,
                                          struct fa_copy_report *out, struct faina_error *err);

#endif
