/*
 * db_postgres.h - db.h over libpq.
 *
 * A connection is in pipeline mode during a transaction: statements without a sink are sent one
 * after another and their results are read together, so a transaction without reads costs one round
 * trip. A statement that has arrays as parameters is run once for all rows of a call.
 *
 *   P1  The next begin replaces a lost connection; nothing of the old transaction is left.
 *   P2  When the connection is lost during a commit, the writer reads from the server whether the
 *       transaction was committed (commit_proof.h): commit returns that, or that it is unknown.
 */
#ifndef FA_STORE_DB_POSTGRES_DB_POSTGRES_H
#define FA_STORE_DB_POSTGRES_DB_POSTGRES_H

#include "store/db/db.h"
#include "store/db/postgres/target.h"

/* The target must outlive the connection. UNAVAILABLE: it can't be reached. */
FA_MUST_CHECK enum faina_code fa_postgres_open(struct fa_db **out, struct fa_pg_target *target,
                                               enum fa_pg_role role, struct faina_error *err);

#endif
