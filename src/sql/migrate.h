/*
 * migrate.h - brings the schema up to date, one numbered step at a time.
 *
 *   G1  A step and its row in schema_migrations are one transaction: killed at any line, a step has
 *       happened whole or not at all.
 *   G2  A store that knows a step that this program doesn't know is refused untouched.
 *   G3  Steps only go forward and are never edited after a release.
 */
#ifndef FA_MIGRATE_H
#define FA_MIGRATE_H

#include "sql/db.h"

/* Applies what is missing. UNAVAILABLE: the store is newer than this program. */
FA_MUST_CHECK enum faina_code fa_migrate(struct fa_db *db, int64_t now_us, struct faina_error *err);

#endif
