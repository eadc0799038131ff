/*
 * db.h - the seam to a database: named statements, run for many rows at once.
 *
 * Code above it holds no SQL text: it names a statement (queries/NAME.sql is FA_SQL_NAME) and binds
 * rows of parameters in a callback. SQLite runs the statement for each row; PostgreSQL gets all
 * rows at once. A row of results carries the number of its row of parameters.
 *
 *   D1  Between begin and commit everything is one transaction; after a failed run, only rollback.
 *   D2  Values given to a sink live until it returns.
 *   D3  Commit returns FAINA_OK only when the transaction is on disk.
 *   D4  A statement without a sink may be sent later, and a later call may report its failure. It
 *       is sent before the commit, and in order.
 *
 * Threads: a connection belongs to one thread at a time.
 */
#ifndef FA_STORE_DB_DB_H
#define FA_STORE_DB_DB_H

#include "base/bytes.h"
#include "base/error.h"
#include "generated/sql_statements.h"

#include <stdatomic.h>
#include <string.h>

enum fa_sql {
#define FA_SQL_ENUM(name, ...) FA_SQL_##name,
    FA_SQL_LIST(FA_SQL_ENUM)
#undef FA_SQL_ENUM
        FA_SQL_COUNT
};

enum fa_value_kind { FA_NULL, FA_INT, FA_REAL, FA_TEXT };

/* A value from a database has `text` empty unless it is FA_TEXT, and `i` 0 when it is FA_TEXT or
 * FA_NULL: reading the wrong member is safe. */
struct fa_value {
    enum fa_value_kind kind;
    union {
        int64_t i;
        double d;
    };
    struct fa_bytes text;
};

#define FA_VALUES_MAX 48 /* most parameters or columns of a statement */

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

/* Sets the parameters of row number `row`. What they point to must live until run returns. */
typedef void fa_db_bind_fn(void *ctx, size_t row, struct fa_value *params);
/* Takes one row of results. */
typedef void fa_db_sink_fn(void *ctx, size_t row, const struct fa_value *columns);

/* A statement to run. */
struct fa_db_call {
    enum fa_sql sql;
    size_t rows;        /* of parameters */
    size_t param_count; /* in each row */
    fa_db_bind_fn *bind;
    void *bind_ctx;
    const struct fa_value *one; /* instead of `bind`: the parameters of the only row */
    fa_db_sink_fn *sink;        /* NULL: results are discarded */
    void *sink_ctx;
    bool for_change; /* locks the rows of the result until the transaction ends */
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

/* For databases: sets the parameters of a row. */
static inline void fa_db_bind(const struct fa_db_call *call, size_t row, struct fa_value *params)
{
    if (call->bind != NULL)
        call->bind(call->bind_ctx, row, params);
    else if (call->param_count > 0)
        memcpy(params, call->one, call->param_count * sizeof(*params));
}

/* One step of the schema. */
struct fa_migration {
    const char *id, *description, *text;
};

struct fa_db;

/* What the layers above do in another way because of the database. Each bit is one property; ask
 * for the one that the code depends on. */
enum fa_db_trait {
    /* Other connections, also of other nodes, change the store at the same time. What is cached
     * (lanes, resources, definitions) is read again in each transaction, rows are locked before
     * they are changed, and ids come from ranges that the database hands out. */
    FA_DB_MANY_WRITERS = 1 << 0,
    /* A statement costs a network round trip: rows are read many at a time, and ahead. */
    FA_DB_ROUND_TRIPS = 1 << 1,
    /* A row of `ready` may hold a run of tasks (runs.h). */
    FA_DB_ROW_RUNS = 1 << 2,
    /* Deleted rows stay in the index until vacuum, and scans have to start behind them
     * (scan_start.h). */
    FA_DB_DEAD_ROWS = 1 << 3,
    /* Tasks are partitioned by day: a scan can be limited to days, and expired days are dropped. */
    FA_DB_PARTITIONED_DAYS = 1 << 4,
    /* Other programs submit tasks and emit events in SQL: their events arrive in an inbox, and
     * their counts in rows of their own. */
    FA_DB_SQL_CLIENTS = 1 << 5,
    /* A row of `task_key` has a second part of the hash, `more`, so that it is unique. */
    FA_DB_WIDE_KEYS = 1 << 6,
    /* TRUNCATE empties several tables at once; elsewhere they are deleted from one by one. */
    FA_DB_TRUNCATE = 1 << 7,
    /* The planner needs statistics: new tables are analyzed after they were filled. */
    FA_DB_STATISTICS = 1 << 8,
};

struct fa_db_ops {
    const char *name;
    unsigned traits;                       /* of enum fa_db_trait */
    const struct fa_migration *migrations; /* all steps of this version, in order */
    size_t migration_count;

    /* Required. */
    enum faina_code (*begin)(struct fa_db *db, bool for_writing, struct faina_error *err);
    /* Required. After a failure nothing of the transaction is visible. Where it may come back after
     * a crash, the message states that its result is unknown. */
    enum faina_code (*commit)(struct fa_db *db, struct faina_error *err);
    /* Required. Does nothing outside a transaction; can't fail. */
    void (*rollback)(struct fa_db *db);
    /* Required. */
    enum faina_code (*run)(struct fa_db *db, const struct fa_db_call *call,
                           struct faina_error *err);
    /* Optional. Several calls in one round trip; their results come in order. */
    enum faina_code (*run_all)(struct fa_db *db, const struct fa_db_call *calls, size_t count,
                               struct faina_error *err);
    /* Required. Several statements without parameters: a migration. */
    enum faina_code (*script)(struct fa_db *db, const char *text, struct faina_error *err);
    /* Optional. Maintenance of the writing connection between transactions: checkpoints the log
     * when it is long enough. True: readers keep the log from being reset; call it again with
     * `is_quiet` while no reader is active. A failure only leaves the log longer. */
    bool (*maintain)(struct fa_db *db, bool is_quiet);
    /* Required. The database's integrity check: calls `found` with a sentence for each problem. */
    enum faina_code (*check)(struct fa_db *db, void (*found)(void *ctx, const char *sentence),
                             void *ctx, struct faina_error *err);
    /* Optional. Calls `found` with a sentence for each thing that may become a problem. */
    enum faina_code (*advise)(struct fa_db *db, void (*found)(void *ctx, const char *sentence),
                              void *ctx, struct faina_error *err);
    /* Required. Creates the list of migrations where it is missing, and keeps every other program
     * from changing the schema until the transaction ends. */
    enum faina_code (*lock_schema)(struct fa_db *db, struct faina_error *err);
    /* Optional. The first lines of a script that changes the schema by hand: the statements of
     * begin and lock_schema. */
    const char *(*script_head)(struct fa_db *db, struct fa_arena *arena);
    /* Optional. The database's own clock. */
    int64_t (*now)(struct fa_db *db);
    /* Required. The version of the database software. */
    const char *(*version)(struct fa_db *db);
    /* Required. */
    void (*close)(struct fa_db *db);
};

/* The first member of every connection. */
struct fa_db {
    const struct fa_db_ops *ops;
    bool is_writing;  /* the current transaction may change rows */
    bool allows_slow; /* from now on statements may take minutes: they read whole tables */
    /* The engine is being closed: a server has a few seconds for an answer. Any thread sets it. */
    atomic_bool is_closing;
    /* About the last failure of a transaction: */
    bool has_failed;   /* it failed as a whole, whatever the code */
    bool should_retry; /* it may succeed when it is run again from the start */
    bool is_full;      /* the disk is full */
    bool awaits_key;   /* an open transaction of another client holds a key that it inserts */
};

static inline bool fa_db_has(const struct fa_db *db, enum fa_db_trait trait)
{
    return (db->ops->traits & trait) != 0;
}

/* One row of parameters. */
FA_MUST_CHECK enum faina_code fa_db_one(struct fa_db *db, enum fa_sql sql,
                                        const struct fa_value *params, size_t param_count,
                                        fa_db_sink_fn *sink, void *sink_ctx,
                                        struct faina_error *err);
/* Many rows. */
FA_MUST_CHECK enum faina_code fa_db_run(struct fa_db *db, const struct fa_db_call *call,
                                        struct faina_error *err);
/* Several calls; their results come in order. */
FA_MUST_CHECK enum faina_code fa_db_run_all(struct fa_db *db, const struct fa_db_call *calls,
                                            size_t count, struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_db_begin(struct fa_db *db, bool for_writing,
                                          struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_db_commit(struct fa_db *db, struct faina_error *err);
void fa_db_rollback(struct fa_db *db);
/* Whether the transaction failed as a whole. Other codes concern one operation. */
bool fa_db_has_failed(const struct fa_db *db, enum faina_code code);
void fa_db_close(struct fa_db *db);  /* NULL is fine */
int64_t fa_db_now(struct fa_db *db); /* microseconds since 1970 UTC, by the store's clock */

/* A sink that keeps the first column of the last row as an integer (ctx: int64_t *). */
void fa_db_sink_int(void *ctx, size_t row, const struct fa_value *columns);

/* Statements ---------------------------------------------------------------------------------- */

/* From the annotations of the .sql files, which tools/embed-sql describes. */
enum fa_stmt_flag { FA_STMT_CHANGES = 1, FA_STMT_MANY_ROWS = 2, FA_STMT_MANY_KEYS = 4 };

/* The forms of a statement for PostgreSQL: bits, and their number. */
enum fa_stmt_form { FA_STMT_LOCKS = 1, FA_STMT_ONE_ROW = 2, FA_STMT_FORMS = 4 };

/* A text is NULL where the database doesn't run the statement, or it has no such form. */
struct fa_statement {
    const char *name;
    unsigned flags;
    const char *sqlite, *sqlite_repeat; /* the second: with @repeat */
    const char *postgres[FA_STMT_FORMS];
    const char *types; /* a letter for each parameter of PostgreSQL's text */
};

const struct fa_statement *fa_statement(enum fa_sql sql);
const char *fa_sql_name(enum fa_sql sql);

#endif
