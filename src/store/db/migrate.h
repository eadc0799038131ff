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

/* The id of a row in schema_migrations that is no step: a copy into the store is not finished
 * (copy.h). Nobody knows such a step, so by G2 nobody opens the store. */
#define FA_MIGRATE_COPYING "copying"

/* Applies what is missing. UNAVAILABLE: the store is newer than this program. */
FA_MUST_CHECK enum faina_code fa_migrate(struct fa_db *db, int64_t now_us, struct faina_error *err);

/* The same, but makes nothing where there is no step yet: NOT_FOUND. */
FA_MUST_CHECK enum faina_code fa_migrate_existing(struct fa_db *db, int64_t now_us,
                                                  struct faina_error *err);

/* The same for who goes on with a copy: its mark is no reason to refuse. */
FA_MUST_CHECK enum faina_code fa_migrate_for_copy(struct fa_db *db, int64_t now_us,
                                                  struct faina_error *err);

/* What fa_migrate would do. */
struct fa_migrate_plan {
    int applied_count;
    size_t step_count; /* those that are missing */
    const struct fa_migration **steps;
    const char *script; /* the same by hand; NULL: this database has no such thing */
};

/* Changes nothing. Codes as for fa_migrate. */
FA_MUST_CHECK enum faina_code fa_migrate_plan(struct fa_db *db, struct fa_arena *arena,
                                              struct fa_migrate_plan *out, struct faina_error *err);

#endif
