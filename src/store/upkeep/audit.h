/*
 * audit.h - checks the invariants of a store, for `faina doctor`.
 */
#ifndef FA_STORE_UPKEEP_AUDIT_H
#define FA_STORE_UPKEEP_AUDIT_H

#include "store/db/db.h"

/* Calls `found` with a message for each violated invariant. Reads the whole store. */
FA_MUST_CHECK enum faina_code fa_audit(struct fa_db *db,
                                       void (*found)(void *ctx, const char *sentence), void *ctx,
                                       struct faina_error *err);

#endif
