/*
 * doctor_postgres.h - the warnings of `faina doctor` about the server, the tables and the fleet. It
 * only reads.
 */
#ifndef FA_STORE_DB_POSTGRES_DOCTOR_POSTGRES_H
#define FA_STORE_DB_POSTGRES_DOCTOR_POSTGRES_H

#include "store/db/db.h"

/* Inside a transaction. Calls `found` with one sentence for each warning: what it is, and what to
 * do. `skew_us` is the server's clock minus this machine's. */
FA_MUST_CHECK enum faina_code fa_pg_advise(struct fa_db *db, int64_t skew_us,
                                           void (*found)(void *ctx, const char *sentence),
                                           void *ctx, struct faina_error *err);

#endif
