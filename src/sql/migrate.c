/* migrate.c - see migrate.h. */
#include "sql/migrate.h"

#include "model/times.h"

#include <assert.h>

#define MIGRATIONS_MAX 256

struct seen {
    const struct fa_db_ops *ops;
    bool applied[MIGRATIONS_MAX];
    char unknown[128]; /* a step of a newer program */
};

static void see(void *ctx, size_t row, const struct fa_value *columns)
{
    struct seen *seen = ctx;
    struct fa_bytes id = columns[0].text;

    (void)row;
    for (size_t i = 0; i < seen->ops->migration_count; i++) {
        if (fa_bytes_equal(id, fa_str(seen->ops->migrations[i].id))) {
            seen->applied[i] = true;
            return;
        }
    }
    if (id.len >= sizeof(seen->unknown))
        id.len = sizeof(seen->unknown) - 1;
    memcpy(seen->unknown, id.ptr, id.len);
    seen->unknown[id.len] = '\0';
}

static enum faina_code apply(struct fa_db *db, const struct fa_migration *step, int64_t now_us,
                             struct faina_error *err)
{
    char when[FA_TIME_SIZE];
    enum faina_code code;

    fa_time_format(now_us, when);
    code = db->ops->script(db, step->text, err);
    if (code != FAINA_OK)
        return code;
    return fa_db_one(db, FA_SQL_MIGRATION_INSERT,
                     (struct fa_value[]){fa_value_text(step->id), fa_value_text(step->description),
                                         fa_value_text(when)},
                     3, NULL, NULL, err);
}

/* All steps in one transaction: opening a new file costs one flush, and G1 holds all the more. */
enum faina_code fa_migrate(struct fa_db *db, int64_t now_us, struct faina_error *err)
{
    struct seen seen = {.ops = db->ops};
    enum faina_code code;

    assert(db->ops->migration_count <= MIGRATIONS_MAX);
    code = fa_db_begin(db, true, err);
    if (code == FAINA_OK && db->ops->lock_schema != NULL)
        code = db->ops->lock_schema(db, err);
    else if (code == FAINA_OK)
        code = db->ops->script(db,
                               "CREATE TABLE IF NOT EXISTS schema_migrations (id TEXT PRIMARY KEY, "
                               "description TEXT NOT NULL, executed_at TEXT NOT NULL)",
                               err);
    if (code == FAINA_OK)
        code = fa_db_one(db, FA_SQL_MIGRATION_ALL, NULL, 0, see, &seen, err);
    if (code == FAINA_OK && seen.unknown[0] != '\0')
        code = fa_error_set(err, FAINA_UNAVAILABLE,
                            "the store is newer than this program: it has the migration %s; "
                            "use a newer faina",
                            seen.unknown);
    for (size_t i = 0; code == FAINA_OK && i < db->ops->migration_count; i++) {
        if (!seen.applied[i])
            code = apply(db, &db->ops->migrations[i], now_us, err);
    }
    if (code == FAINA_OK)
        return fa_db_commit(db, err);
    fa_db_rollback(db);
    return code;
}
