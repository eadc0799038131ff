/*
 * audit.h - does the store keep its own promises? What `faina doctor` asks.
 */
#ifndef FA_AUDIT_H
#define FA_AUDIT_H

#include "sql/db.h"

/* Calls `found` with a sentence for each promise that is broken. Reads everything. */
FA_MUST_CHECK enum faina_code fa_audit(struct fa_db *db,
                                       void (*found)(void *ctx, const char *sentence), void *ctx,
                                       struct faina_error *err);

#endif
