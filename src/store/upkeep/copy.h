/*
 * copy.h - copies a store into another one, of the same or of another database.
 *
 *   1. reads all of the source and sums it up: the source's stamp, and how much there is to do;
 *   2. writes it page by page, noting after each few pages how far it has come;
 *   3. reads all of the copy, sums it up and compares; and lets it be opened.
 *
 *   C1  The source is read in one view of it, and never changed.
 *   C2  From the first row on the target has a mark (FA_MIGRATE_COPYING) that keeps everybody else
 *       from opening it. It goes in the last transaction, after the comparison.
 *   C3  The mark says what was copied (the stamp) and how far, in the transaction that wrote it. So
 *       a killed copy goes on where it was; and begins anew when the source has changed since.
 *   C4  Of two copies into one target one gives up: each move of the mark expects the last one.
 *
 * Threads: one.
 */
#ifndef FA_COPY_H
#define FA_COPY_H

#include "service/service.h"
#include "sql/store.h"

/* As fa_service_copy. The stores stay the caller's. */
FA_MUST_CHECK enum faina_code fa_copy_run(struct fa_store *from, struct fa_store *to,
                                          const struct fa_copy_watch *watch, struct fa_arena *arena,
                                          struct fa_copy_report *out, struct faina_error *err);

#endif
