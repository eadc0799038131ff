/* migrate.c - see migrate.h. */
#include "store/db/migrate.h"

#include "model/times.h"

#include <assert.h>

#define MIGRATIONS_MAX 256
#define TRIES_MAX 10 /* of a migration that other nodes are in the way of */

struct seen {
    const struct fa_db_ops *ops;
    bool applied[MIGRATIONS_MAX];
    bool is_copying;   /* the store has the mark of a copy */
    bool for_copy;     /* ... which is accepted */
    size_t count;      /* of the applied steps */
    char unknown[128]; /* a step of a newer program */
};

static void sink_step(void *ctx, size_t row, const struct fa_value *columns)
{
    struct seen *seen = ctx;
    struct fa_bytes id = columns[0].text;

    (void)row;
    if (fa_bytes_equal(id, FA_LIT(FA_MIGRATE_COPYING))) {
        seen->is_copying = true;
        return;
    }
    for (size_t i = 0; i < seen->ops->migration_count; i++) {
        if (fa_bytes_equal(id, fa_str(seen->ops->migrations[i].id))) {
            seen->applied[i] = true;
            seen->count++;
            return;
        }
    }
    if (id.len >= sizeof(seen->unknown))
        id.len = sizeof(seen->unknown) - 1;
    memcpy(seen->unknown, id.ptr, id.len);
    seen->unknown[id.len] = '\0';
}

static enum faina_code read_applied(struct fa_db *db, struct seen *seen, struct faina_error *err)
{
    enum faina_code code = fa_db_one(db, FA_SQL_MIGRATION_ALL, NULL, 0, sink_step, seen, err);

    if (code == FAINA_OK && seen->unknown[0] != '\0')
        code = fa_error_set(err, FAINA_UNAVAILABLE,
                            "the store is newer than this program: it has the migration %s; "
                            "use a newer faina",
                            seen->unknown);
    else if (code == FAINA_OK && seen->is_copying && !seen->for_copy)
        code = fa_error_set(err, FAINA_UNAVAILABLE,
                            "a copy into this store was begun and is not finished: run `faina db "
                            "copy` again");
    return code;
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
static enum faina_code try_to_migrate(struct fa_db *db, int64_t now_us, bool for_copy,
                                      bool must_exist, struct faina_error *err)
{
    struct seen seen = {.ops = db->ops, .for_copy = for_copy};
    enum faina_code code;

    assert(db->ops->migration_count <= MIGRATIONS_MAX);
    code = fa_db_begin(db, true, err);
    if (code == FAINA_OK)
        code = db->ops->lock_schema(db, err);
    if (code == FAINA_OK)
        code = read_applied(db, &seen, err);
    if (code == FAINA_OK && must_exist && seen.count == 0)
        code = fa_error_set(err, FAINA_NOT_FOUND, "there is no store");
    for (size_t i = 0; code == FAINA_OK && i < db->ops->migration_count; i++) {
        if (!seen.applied[i])
            code = apply(db, &db->ops->migrations[i], now_us, err);
    }
    if (code == FAINA_OK)
        return fa_db_commit(db, err);
    fa_db_rollback(db);
    return code;
}

/* A step locks tables in its own order, so it may meet a deadlock with nodes that work
 * meanwhile. */
static enum faina_code migrate(struct fa_db *db, int64_t now_us, bool for_copy, bool must_exist,
                               struct faina_error *err)
{
    enum faina_code code = FAINA_OVERLOADED;

    for (int i = 0; i < TRIES_MAX && code == FAINA_OVERLOADED; i++)
        code = try_to_migrate(db, now_us, for_copy, must_exist, err);
    return code;
}

enum faina_code fa_migrate(struct fa_db *db, int64_t now_us, struct faina_error *err)
{
    return migrate(db, now_us, false, false, err);
}

enum faina_code fa_migrate_existing(struct fa_db *db, int64_t now_us, struct faina_error *err)
{
    return migrate(db, now_us, false, true, err);
}

enum faina_code fa_migrate_for_copy(struct fa_db *db, int64_t now_us, struct faina_error *err)
{
    return migrate(db, now_us, true, false, err);
}

/* By hand ------------------------------------------------------------------------------------- */

static void add_literal(struct fa_buf *out, const char *text)
{
    fa_buf_add_char(out, '\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fa_buf_add_char(out, '\'');
        fa_buf_add_char(out, *text);
    }
    fa_buf_add_char(out, '\'');
}

/* psql skips a step that was applied meanwhile, so that applying the script twice does no harm. */
static void add_guard(struct fa_buf *out, const struct fa_migration *step)
{
    fa_buf_add_str(out, "SELECT NOT EXISTS (SELECT 1 FROM schema_migrations WHERE id = ");
    add_literal(out, step->id);
    fa_buf_add_str(out, ") AS is_missing \\gset\n\\if :is_missing\n");
}

static const char *write_script(struct fa_db *db, const struct fa_migrate_plan *plan,
                                struct fa_arena *arena)
{
    const char *head = db->ops->script_head != NULL ? db->ops->script_head(db, arena) : NULL;
    const char *text;
    struct fa_buf out;

    if (head == NULL)
        return NULL;
    fa_buf_init(&out, SIZE_MAX / 2);
    fa_buf_add_str(&out, head);
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct fa_migration *step = plan->steps[i];

        fa_buf_printf(&out, "\n-- %s: %s\n", step->id, step->description);
        add_guard(&out, step);
        fa_buf_printf(&out, "%s\n", step->text);
        fa_buf_add_str(&out,
                       "INSERT INTO schema_migrations (id, description, executed_at)\nVALUES (");
        add_literal(&out, step->id);
        fa_buf_add_str(&out, ", ");
        add_literal(&out, step->description);
        fa_buf_add_str(&out, ", now())\nON CONFLICT (id) DO NOTHING;\n\\endif\n");
    }
    fa_buf_add_str(&out, "\nCOMMIT;\n");
    text = fa_arena_copy(arena, out.ptr, out.len);
    fa_buf_finish(&out);
    return text;
}

enum faina_code fa_migrate_plan(struct fa_db *db, struct fa_arena *arena,
                                struct fa_migrate_plan *out, struct faina_error *err)
{
    struct seen seen = {.ops = db->ops};
    int64_t has_table = 0;
    enum faina_code code = fa_db_begin(db, false, err);

    if (code == FAINA_OK)
        code = fa_db_one(db, FA_SQL_MIGRATION_TABLE, NULL, 0, fa_db_sink_int, &has_table, err);
    if (code == FAINA_OK && has_table)
        code = read_applied(db, &seen, err);
    fa_db_rollback(db);
    if (code != FAINA_OK)
        return code;
    *out = (struct fa_migrate_plan){0};
    out->steps = fa_arena_zero(arena, db->ops->migration_count + 1, sizeof(*out->steps));
    for (size_t i = 0; i < db->ops->migration_count; i++) {
        if (seen.applied[i])
            out->applied_count++;
        else
            out->steps[out->step_count++] = &db->ops->migrations[i];
    }
    out->script = write_script(db, out, arena);
    return FAINA_OK;
}
