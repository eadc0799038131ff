/*
 * doctor_postgres.h - what might go wrong soon with the server, the tables or the fleet: the
 * warnings of `faina doctor`. It only reads.
 */
#ifndef FA_DOCTOR_POSTGRES_H
#define FA_DOCTOR_POSTGRES_H

#include "sql/db.h"

/* Inside a transaction. Calls `found` with one sentence for each warning: what it is, and what to
 * do. `skew_us` is the server's clock minus this machine's. */
FA_MUST_CHECK enum faina_code fa_pg_advise(struct fa_db *db, int64_t skew_us,
                                           void (*found)(void *ctx, const char *sentence),
                                           void *ctx, struct faina_error *err);

#endif
