/*
 * db_postgres.h - db.h over libpq.
 *
 * A connection is in pipeline mode during a transaction: statements whose answer nobody waits for
 * are sent behind each other and answered together, so a transaction without reads costs one round
 * trip. A statement that has arrays as parameters is run once for all rows of a call.
 *
 *   P1  A connection that was lost is made anew by the next begin; nothing of the old transaction
 *       is left.
 *   P2  When the connection is lost during a commit, the server is asked what became of the
 *       transaction: commit answers truly, or says that it does not know.
 */
#ifndef FA_DB_POSTGRES_H
#define FA_DB_POSTGRES_H

#include "sql/db.h"
#include "sql/postgres/target.h"

/* The target must outlive the connection. UNAVAILABLE: it can't be reached. */
FA_MUST_CHECK enum faina_code fa_postgres_open(struct fa_db **out, struct fa_pg_target *target,
                                               enum fa_pg_role role, struct faina_error *err);

#endif
