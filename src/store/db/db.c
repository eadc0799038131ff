/* db.c - the statement table, and the wrappers of db.h. */
#include "store/db/db.h"

#include "base/clock.h"

#include <assert.h>

static const struct fa_statement statements[FA_SQL_COUNT] = {
#define FA_SQL_ROW(name, text_name, flags, sqlite, repeat, plain, locks, one, one_locks, types)    \
    [FA_SQL_##name] = {text_name, flags, sqlite, repeat, {plain, locks, one, one_locks}, types},
    FA_SQL_LIST(FA_SQL_ROW)
#undef FA_SQL_ROW
};

const struct fa_statement *fa_statement(enum fa_sql sql)
{
    assert(sql < FA_SQL_COUNT);
    return &statements[sql];
}

const char *fa_sql_name(enum fa_sql sql)
{
    return fa_statement(sql)->name;
}

char *fa_value_dup(const struct fa_value *value, struct fa_arena *arena)
{
    if (value->kind != FA_TEXT)
        return NULL;
    return fa_arena_copy(arena, value->text.ptr, value->text.len);
}

enum faina_code fa_db_one(struct fa_db *db, enum fa_sql sql, const struct fa_value *params,
                          size_t param_count, fa_db_sink_fn *sink, void *sink_ctx,
                          struct faina_error *err)
{
    struct fa_db_call call = fa_db_call_one(sql, params, param_count, sink, sink_ctx);

    return fa_db_run(db, &call, err);
}

enum faina_code fa_db_run(struct fa_db *db, const struct fa_db_call *call, struct faina_error *err)
{
    assert(call->sql < FA_SQL_COUNT);
    assert(call->param_count <= FA_VALUES_MAX);
    if (call->rows == 0)
        return FAINA_OK;
    return db->ops->run(db, call, err);
}

enum faina_code fa_db_run_all(struct fa_db *db, const struct fa_db_call *calls, size_t count,
                              struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    if (db->ops->run_all != NULL)
        return db->ops->run_all(db, calls, count, err);
    for (size_t i = 0; code == FAINA_OK && i < count; i++)
        code = fa_db_run(db, &calls[i], err);
    return code;
}

enum faina_code fa_db_begin(struct fa_db *db, bool for_writing, struct faina_error *err)
{
    db->is_writing = for_writing;
    db->has_failed = false;
    return db->ops->begin(db, for_writing, err);
}

enum faina_code fa_db_commit(struct fa_db *db, struct faina_error *err)
{
    return db->ops->commit(db, err);
}

bool fa_db_has_failed(const struct fa_db *db, enum faina_code code)
{
    return db->has_failed || code == FAINA_UNAVAILABLE || code == FAINA_INTERNAL ||
           code == FAINA_STORE_CLOSED;
}

void fa_db_rollback(struct fa_db *db)
{
    db->ops->rollback(db);
}

void fa_db_close(struct fa_db *db)
{
    if (db != NULL)
        db->ops->close(db);
}

int64_t fa_db_now(struct fa_db *db)
{
    return db->ops->now != NULL ? db->ops->now(db) : fa_clock_now_us();
}

void fa_db_sink_int(void *ctx, size_t row, const struct fa_value *columns)
{
    int64_t *out = ctx;

    (void)row;
    *out = fa_value_as_int(&columns[0]);
}
