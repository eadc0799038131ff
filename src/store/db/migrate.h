/*
 * migrate.h - brings the schema up to date, one numbered step at a time.
 *
 *   G1  A step and its row in schema_migrations are one transaction: after a crash at any point, a
 *       step is applied completely or not at all.
 *   G2  A store with a step that this program doesn't have is refused and not changed.
 *   G3  Steps only go forward. Their statements are never edited after a release.
 */
#ifndef FA_STORE_DB_MIGRATE_H
#define FA_STORE_DB_MIGRATE_H

#include "store/db/db.h"

/* The id of a row in schema_migrations that is no step: a copy into the store is not finished
 * (copy.h). No program has such a step, so by G2 none opens the store. */
#define FA_MIGRATE_COPYING "copying"

/* Applies the missing steps. UNAVAILABLE: the store is newer than this program. */
FA_MUST_CHECK enum faina_code fa_migrate(struct fa_db *db, int64_t now_us, struct faina_error *err);

/* The same, but creates nothing in a store without steps: NOT_FOUND. */
FA_MUST_CHECK enum faina_code fa_migrate_existing(struct fa_db *db, int64_t now_us,
                                                  struct faina_error *err);

/* The same for a copy that continues: accepts its mark. */
FA_MUST_CHECK enum faina_code fa_migrate_for_copy(struct fa_db *db, int64_t now_us,
                                                  struct faina_error *err);

/* What fa_migrate would do. */
struct fa_migrate_plan {
    int applied_count;
    size_t step_count; /* of the missing ones */
    const struct fa_migration **steps;
    const char *script; /* to apply them by hand; NULL: the database has none */
};

/* Changes nothing. Codes as for fa_migrate. */
FA_MUST_CHECK enum faina_code fa_migrate_plan(struct fa_db *db, struct fa_arena *arena,
                                              struct fa_migrate_plan *out, struct faina_error *err);

#endif
