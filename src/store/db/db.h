/*
 * db.h - the seam to a database: named statements, run for many rows at once.
 *
 * Operations above it never hold SQL text; they name a statement (queries/NAME.sql is FA_SQL_NAME)
 * and hand over rows of parameters one by one when asked. SQLite steps through them; PostgreSQL
 * gets them all at once. Rows that come back carry the number of the parameter row they answer.
 *
 *   D1  Between begin and commit everything is one transaction; after a failed run, only rollback.
 *   D2  Values given to a sink live until it returns.
 *   D3  Commit returns FAINA_OK only when the transaction is on disk.
 *   D4  A statement without a sink may be sent later, and its failure be told by a later call; it
 *       is never later than the commit, and always in order.
 *
 * Threads: a connection belongs to one thread at a time.
 */
#ifndef FA_DB_H
#define FA_DB_H

#include "base/bytes.h"
#include "base/error.h"
#include "generated/sql_statements.h"

#include <string.h>

enum fa_sql {
#define FA_SQL_ENUM(name, text_name, sqlite, postgres, types) FA_SQL_##name,
    FA_SQL_LIST(FA_SQL_ENUM)
#undef FA_SQL_ENUM
        FA_SQL_COUNT
};

enum fa_value_kind { FA_NULL, FA_INT, FA_REAL, FA_TEXT };

/* Values that a database hands out have `text` empty unless they are FA_TEXT, and `i` 0 when they
 * are FA_TEXT or FA_NULL: reading a value as what it is not gives nothing, and does no harm. */
struct fa_value {
    enum fa_value_kind kind;
    union {
        int64_t i;
        double d;
    };
    struct fa_bytes text;
};

#define FA_VALUES_MAX 40 /* most parameters or columns of a statement */

static inline struct fa_value fa_value_int(int64_t i)
{
    return (struct fa_value){.kind = FA_INT, .i = i};
}

static inline struct fa_value fa_value_text(const char *text) /* NULL gives null */
{
    struct fa_value value = {.kind = text ? FA_TEXT : FA_NULL};
    value.text = fa_str(text);
    return value;
}

static inline struct fa_value fa_value_int_or_null(int64_t i) /* 0 gives null */
{
    return (struct fa_value){.kind = i ? FA_INT : FA_NULL, .i = i};
}

/* A null reads as 0. */
static inline int64_t fa_value_as_int(const struct fa_value *value)
{
    return value->kind == FA_INT ? value->i : 0;
}

/* Copies text into the arena; null gives NULL. */
char *fa_value_dup(const struct fa_value *value, struct fa_arena *arena);

/* Fills in the parameters of row number `row`. What they point to must live until run returns. */
typedef void fa_db_bind_fn(void *ctx, size_t row, struct fa_value *params);
/* Takes one row of results. */
typedef void fa_db_sink_fn(void *ctx, size_t row, const struct fa_value *columns);

/* A statement to run. */
struct fa_db_call {
    enum fa_sql sql;
    size_t rows;        /* how many rows of parameters */
    size_t param_count; /* in each */
    fa_db_bind_fn *bind;
    void *bind_ctx;
    const struct fa_value *one; /* instead of `bind`: the parameters of the only row */
    fa_db_sink_fn *sink;        /* NULL: no results are wanted */
    void *sink_ctx;
    bool for_change; /* nobody else may change the rows that come back before we are done */
};

/* A statement to run once. The parameters are lent. */
static inline struct fa_db_call fa_db_call_one(enum fa_sql sql, const struct fa_value *params,
                                               size_t param_count, fa_db_sink_fn *sink,
                                               void *sink_ctx)
{
    return (struct fa_db_call){.sql = sql,
                               .rows = 1,
                               .param_count = param_count,
                               .one = params,
                               .sink = sink,
                               .sink_ctx = sink_ctx};
}

/* For databases: fills in a row's parameters. */
static inline void fa_db_bind(const struct fa_db_call *call, size_t row, struct fa_value *params)
{
    if (call->bind != NULL)
        call->bind(call->bind_ctx, row, params);
    else if (call->param_count > 0)
        memcpy(params, call->one, call->param_count * sizeof(*params));
}

/* A step that brings the schema forward. */
struct fa_migration {
    const char *id, *description, *text;
};

struct fa_db;

struct fa_db_ops {
    const char *name;
    const struct fa_migration *migrations; /* every step that this program knows, in order */
    size_t migration_count;

    /* Required. */
    enum faina_code (*begin)(struct fa_db *db, bool for_writing, struct faina_error *err);
    /* Required. On failure the transaction is gone: nothing of it is visible, but whether it may
     * come back after a crash is unknown, and the sentence says so where it is. */
    enum faina_code (*commit)(struct fa_db *db, struct faina_error *err);
    /* Required. Does nothing outside a transaction; can't fail. */
    void (*rollback)(struct fa_db *db);
    /* Required. */
    enum faina_code (*run)(struct fa_db *db, const struct fa_db_call *call,
                           struct faina_error *err);
    /* Optional. Several calls at once, answered in order: one round trip where there is one. */
    enum faina_code (*run_all)(struct fa_db *db, const struct fa_db_call *calls, size_t count,
                               struct faina_error *err);
    /* Required. Several statements without parameters: a migration. */
    enum faina_code (*script)(struct fa_db *db, const char *text, struct faina_error *err);
    /* Optional. Housekeeping of the writing connection between transactions: the log goes into the
     * file when it has grown long enough. True: it has grown too long because of readers, and wants
     * to be called again with `is_quiet` while nobody reads. A failure costs nothing but a longer
     * log. */
    bool (*tend)(struct fa_db *db, bool is_quiet);
    /* Required. The store's own check of itself: calls `found` with each sentence it has to say. */
    enum faina_code (*check)(struct fa_db *db, void (*found)(void *ctx, const char *sentence),
                             void *ctx, struct faina_error *err);
    /* Optional. What is not wrong but might soon be: calls `found` with each sentence. */
    enum faina_code (*advise)(struct fa_db *db, void (*found)(void *ctx, const char *sentence),
                              void *ctx, struct faina_error *err);
    /* Optional. Keeps every other program from changing the schema until the transaction ends. */
    enum faina_code (*lock_schema)(struct fa_db *db, struct faina_error *err);
    /* Optional. The first lines of a script that changes the schema by hand, as lock_schema and
     * begin would. */
    const char *(*script_head)(struct fa_db *db, struct fa_arena *arena);
    /* Optional. The database's own clock. */
    int64_t (*now)(struct fa_db *db);
    /* Required. Of the database software. */
    const char *(*version)(struct fa_db *db);
    /* Required. */
    void (*close)(struct fa_db *db);
};

/* The first member of every connection. */
struct fa_db {
    const struct fa_db_ops *ops;
    bool is_shared;  /* other connections change the store too, at the same time */
    bool is_writing; /* the present transaction may change something */
    bool is_patient; /* from now on statements may take minutes: they read everything */
    /* About the last failure of a transaction: */
    bool has_failed;   /* it concerns the whole transaction, whatever its code */
    bool should_retry; /* run again from the start it may well succeed */
    bool is_full;      /* the disk had no room for it */
};

/* One row of parameters. */
FA_MUST_CHECK enum faina_code fa_db_one(struct fa_db *db, enum fa_sql sql,
                                        const struct fa_value *params, size_t param_count,
                                        fa_db_sink_fn *sink, void *sink_ctx,
                                        struct faina_error *err);
/* Many rows. */
FA_MUST_CHECK enum faina_code fa_db_run(struct fa_db *db, const struct fa_db_call *call,
                                        struct faina_error *err);
/* Several calls, answered in order. */
FA_MUST_CHECK enum faina_code fa_db_run_all(struct fa_db *db, const struct fa_db_call *calls,
                                            size_t count, struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_db_begin(struct fa_db *db, bool for_writing,
                                          struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_db_commit(struct fa_db *db, struct faina_error *err);
void fa_db_rollback(struct fa_db *db);
/* Whether an answer concerns the whole transaction: the store failed. Others concern one
 * operation. */
bool fa_db_has_failed(const struct fa_db *db, enum faina_code code);
void fa_db_close(struct fa_db *db);  /* NULL is fine */
int64_t fa_db_now(struct fa_db *db); /* microseconds since 1970 UTC, by the store's clock */

/* A sink that keeps the first column of the last row as an integer (ctx: int64_t *). */
void fa_db_sink_int(void *ctx, size_t row, const struct fa_value *columns);

const char *fa_sql_name(enum fa_sql sql);
const char *fa_sql_text(enum fa_sql sql); /* for SQLite; NULL: only PostgreSQL has it */
const char *fa_sql_postgres(enum fa_sql sql, const char **types); /* for PostgreSQL */

#endif
