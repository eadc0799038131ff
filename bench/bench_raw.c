/*
 * bench_raw.c - each of the two raw subjects is a table of statements and three functions, which
 * run one step for one batch, inside a transaction of the common code.
 */
#include "bench/bench_raw.h"

#include "base/clock.h"
#include "generated/sqlite_migrations.h"
#include "store/db/sqlite/db_sqlite.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdlib.h>

#define WORKER "raw-worker"
#define LANE 1

enum stmt {
    BEGIN,
    COMMIT,
    SUBMIT,
    SUBMIT_READY,
    KEY_FIND,
    KEY_TAKE,
    READY_SCAN,
    READY_TAKE,
    HOLD,
    HELD_GET,
    HELD_DELETE,
    END,
    TALLY,
    LOG,
    STMT_COUNT
};

/* A task between its claim and its end. */
struct claimed {
    sqlite3_int64 id, tail, rank, fence;
};

struct flavour {
    const char *schema; /* NULL: the migrations */
    const char *sql[STMT_COUNT];
    bool (*submit)(struct fa_bench_raw *raw, size_t count);
    bool (*claim)(struct fa_bench_raw *raw, size_t count);
    bool (*complete)(struct fa_bench_raw *raw, size_t count);
};

struct fa_bench_raw {
    const struct flavour *flavour;
    sqlite3 *db;
    sqlite3_stmt *stmts[STMT_COUNT];
    const struct fa_bench_inputs *inputs;
    int batch;
    int64_t tasks;
    bool has_key;
    struct fa_random random;
    sqlite3_int64 last_id;
    struct claimed *claimed; /* as many as `tasks`; those not yet completed are ... */
    size_t first, last;      /* ... claimed[first] .. claimed[last - 1] */
    char *payload;           /* a claim copies the input to it, as a caller would */
    size_t payload_size;
    char *log; /* lines in the format of the event log */
    size_t log_lines;
};

/* ------------------------------------------------------------------------------------------
 * Statements
 */

static bool step_done(sqlite3_stmt *stmt)
{
    int code = sqlite3_step(stmt);

    sqlite3_reset(stmt);
    return code == SQLITE_DONE;
}

static void bind_text(sqlite3_stmt *stmt, int index, const char *text)
{
    sqlite3_bind_text(stmt, index, text, -1, SQLITE_STATIC);
}

/* Binds integers to the parameters from 1 on. */
static void bind_ints(sqlite3_stmt *stmt, const sqlite3_int64 *values, int count)
{
    for (int i = 0; i < count; i++)
        sqlite3_bind_int64(stmt, i + 1, values[i]);
}

#define BIND_INTS(stmt, ...)                                                                       \
    bind_ints(stmt, (const sqlite3_int64[]){__VA_ARGS__},                                          \
              (int)FA_COUNT(((const sqlite3_int64[]){__VA_ARGS__})))

static void copy_payload(struct fa_bench_raw *raw, sqlite3_stmt *row, int column)
{
    size_t len = (size_t)sqlite3_column_bytes(row, column);

    if (len > raw->payload_size) {
        raw->payload = fa_realloc(raw->payload, len);
        raw->payload_size = len;
    }
    if (len > 0)
        memcpy(raw->payload, sqlite3_column_text(row, column), len);
}

/* ------------------------------------------------------------------------------------------
 * Minimal: insert, update, delete
 */

static bool minimal_submit(struct fa_bench_raw *raw, size_t count)
{
    sqlite3_stmt *stmt = raw->stmts[SUBMIT];

    for (size_t i = 0; i < count; i++) {
        sqlite3_int64 id = ++raw->last_id;

        BIND_INTS(stmt, id, fa_clock_now_us());
        bind_text(stmt, 3, fa_bench_input(raw->inputs, (uint64_t)id));
        if (!step_done(stmt))
            return false;
    }
    return true;
}

static bool minimal_claim(struct fa_bench_raw *raw, size_t count)
{
    sqlite3_stmt *scan = raw->stmts[READY_SCAN], *take = raw->stmts[READY_TAKE];
    size_t from = raw->last;
    int code;

    BIND_INTS(scan, (sqlite3_int64)count);
    while ((code = sqlite3_step(scan)) == SQLITE_ROW) {
        raw->claimed[raw->last++].id = sqlite3_column_int64(scan, 0);
        copy_payload(raw, scan, 1);
    }
    sqlite3_reset(scan);
    if (code != SQLITE_DONE || raw->last - from != count)
        return false;
    for (size_t i = from; i < raw->last; i++) {
        int64_t now = fa_clock_now_us();

        BIND_INTS(take, raw->claimed[i].id, now + FA_BENCH_LEASE_MS * INT64_C(1000));
        bind_text(take, 3, WORKER);
        if (!step_done(take))
            return false;
    }
    return true;
}

static bool minimal_complete(struct fa_bench_raw *raw, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        BIND_INTS(raw->stmts[END], raw->claimed[raw->first++].id);
        if (!step_done(raw->stmts[END]) || sqlite3_changes(raw->db) != 1)
            return false;
    }
    return true;
}

static const struct flavour minimal = {
    .schema = "CREATE TABLE task ("
              "    id INTEGER PRIMARY KEY, priority INTEGER NOT NULL, is_held INTEGER NOT NULL,"
              "    created_us INTEGER NOT NULL, lease_us INTEGER, worker TEXT, input TEXT);"
              "CREATE INDEX task_ready ON task (priority DESC, id) WHERE NOT is_held;",
    .sql =
        {
            [SUBMIT] = "INSERT INTO task (id, priority, is_held, created_us, input)"
                       " VALUES (?1, 0, 0, ?2, ?3)",
            [READY_SCAN] = "SELECT id, input FROM task WHERE NOT is_held"
                           " ORDER BY priority DESC, id LIMIT ?1",
            [READY_TAKE] = "UPDATE task SET is_held = 1, lease_us = ?2, worker = ?3 WHERE id = ?1",
            [END] = "DELETE FROM task WHERE id = ?1",
        },
    .submit = minimal_submit,
    .claim = minimal_claim,
    .complete = minimal_complete,
};

/* ------------------------------------------------------------------------------------------
 * The engine's schema
 */

static bool tally(struct fa_bench_raw *raw, enum faina_status status, int64_t change)
{
    BIND_INTS(raw->stmts[TALLY], LANE, status, change);
    return step_done(raw->stmts[TALLY]);
}

/* Writes the events of `count` tasks as the event log has them: a line for each, in one row. */
static bool write_log(struct fa_bench_raw *raw, size_t count)
{
    static const char line[] = "1a1decc0f340000 64f3b2a1c0d3e 5 completed\n";
    sqlite3_stmt *log = raw->stmts[LOG];

    if (raw->log_lines < count) {
        raw->log = fa_realloc(raw->log, count * (sizeof(line) - 1));
        for (; raw->log_lines < count; raw->log_lines++)
            memcpy(raw->log + raw->log_lines * (sizeof(line) - 1), line, sizeof(line) - 1);
    }
    BIND_INTS(log, fa_clock_now_us());
    sqlite3_bind_text(log, 2, raw->log, (int)(count * (sizeof(line) - 1)), SQLITE_STATIC);
    return step_done(log);
}

/* Checks that the key is free and inserts it. A random number replaces the hash of the key; it is
 * distributed in the same way. */
static bool own_take_key(struct fa_bench_raw *raw, sqlite3_int64 id)
{
    sqlite3_int64 hash = (sqlite3_int64)fa_random_next(&raw->random);
    bool is_free;

    BIND_INTS(raw->stmts[KEY_FIND], hash);
    is_free = step_done(raw->stmts[KEY_FIND]);
    BIND_INTS(raw->stmts[KEY_TAKE], hash, id);
    return is_free && step_done(raw->stmts[KEY_TAKE]);
}

static bool own_submit(struct fa_bench_raw *raw, size_t count)
{
    sqlite3_stmt *task = raw->stmts[SUBMIT], *ready = raw->stmts[SUBMIT_READY];
    char key[FA_BENCH_KEY_SIZE];

    for (size_t i = 0; i < count; i++) {
        sqlite3_int64 id = ++raw->last_id;
        sqlite3_int64 tail = (sqlite3_int64)(fa_random_next(&raw->random) >> 2);

        if (raw->has_key && !own_take_key(raw, id))
            return false;
        BIND_INTS(task, id, tail, LANE, 0, fa_clock_now_us(), 4);
        bind_text(task, 7, fa_bench_input(raw->inputs, (uint64_t)id));
        if (raw->has_key) {
            fa_bench_key(&raw->random, key);
            bind_text(task, 8, key);
        }
        BIND_INTS(ready, LANE, 0, id);
        if (!step_done(task) || !step_done(ready))
            return false;
    }
    return tally(raw, FAINA_PENDING, (int64_t)count) && write_log(raw, count);
}

static bool own_claim(struct fa_bench_raw *raw, size_t count)
{
    sqlite3_stmt *scan = raw->stmts[READY_SCAN], *take = raw->stmts[READY_TAKE];
    sqlite3_stmt *hold = raw->stmts[HOLD];
    size_t from = raw->last;
    int code;

    BIND_INTS(scan, LANE, (sqlite3_int64)count);
    while ((code = sqlite3_step(scan)) == SQLITE_ROW) {
        struct claimed *task = &raw->claimed[raw->last++];

        task->id = sqlite3_column_int64(scan, 0);
        task->tail = sqlite3_column_int64(scan, 1);
        task->rank = sqlite3_column_int64(scan, 2);
        task->fence = sqlite3_column_int64(scan, 4) + 1;
        copy_payload(raw, scan, 3);
    }
    sqlite3_reset(scan);
    if (code != SQLITE_DONE || raw->last - from != count)
        return false;
    for (size_t i = from; i < raw->last; i++) {
        const struct claimed *task = &raw->claimed[i];
        int64_t now = fa_clock_now_us();

        BIND_INTS(take, LANE, task->rank, task->id);
        BIND_INTS(hold, task->id, task->tail, LANE, task->rank, FAINA_CLAIMED, 2, task->fence, 1,
                  16, 0, now, now, now + FA_BENCH_LEASE_MS * INT64_C(1000));
        bind_text(hold, 14, WORKER);
        if (!step_done(take) || !step_done(hold))
            return false;
    }
    return tally(raw, FAINA_PENDING, -(int64_t)count) &&
           tally(raw, FAINA_CLAIMED, (int64_t)count) && write_log(raw, count);
}

/* Binds the row of `held` to END. False: it has another worker or fence. */
static bool own_held(struct fa_bench_raw *raw, const struct claimed *task)
{
    sqlite3_stmt *get = raw->stmts[HELD_GET];
    sqlite3_int64 now = fa_clock_now_us();
    bool is_mine = false;

    BIND_INTS(get, task->id);
    if (sqlite3_step(get) == SQLITE_ROW) {
        is_mine = sqlite3_column_int64(get, 2) == task->fence &&
                  strcmp((const char *)sqlite3_column_text(get, 6), WORKER) == 0;
        BIND_INTS(raw->stmts[END], task->id, sqlite3_column_int64(get, 0), FAINA_COMPLETED,
                  sqlite3_column_int64(get, 1) + 1, task->fence, sqlite3_column_int64(get, 3),
                  sqlite3_column_int64(get, 4), 100, now, sqlite3_column_int64(get, 5), now);
    }
    sqlite3_reset(get);
    return is_mine;
}

static bool own_complete(struct fa_bench_raw *raw, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct claimed *task = &raw->claimed[raw->first++];

        if (!own_held(raw, task))
            return false;
        BIND_INTS(raw->stmts[HELD_DELETE], task->id);
        bind_text(raw->stmts[END], 12, WORKER);
        bind_text(raw->stmts[END], 13, FA_BENCH_OUTPUT);
        if (!step_done(raw->stmts[HELD_DELETE]) || !step_done(raw->stmts[END]))
            return false;
    }
    return tally(raw, FAINA_CLAIMED, -(int64_t)count) &&
           tally(raw, FAINA_COMPLETED, (int64_t)count) && write_log(raw, count);
}

/* Unlike the engine's statements, these leave out columns that are always null here. */
static const struct flavour own = {
    .sql =
        {
            [SUBMIT] = "INSERT INTO task (id, tail, lane, rank, created_us, max_attempts, input,"
                       " key) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            [SUBMIT_READY] = "INSERT INTO ready (lane, rank, id) VALUES (?1, ?2, ?3)",
            [KEY_FIND] = "SELECT task FROM task_key WHERE hash = ?1",
            [KEY_TAKE] = "INSERT INTO task_key (hash, task) VALUES (?1, ?2)",
            [READY_SCAN] = "SELECT t.id, t.tail, r.rank, t.input, coalesce(r.fence, 0)"
                           " FROM ready r CROSS JOIN task t ON t.id = r.id WHERE r.lane = ?1"
                           " ORDER BY r.rank, r.id LIMIT ?2",
            [READY_TAKE] = "DELETE FROM ready WHERE lane = ?1 AND rank = ?2 AND id = ?3",
            [HOLD] = "INSERT INTO held (id, tail, lane, rank, status, version, fence, attempts,"
                     " flags, progress, updated_us, claimed_us, lease_us, worker)"
                     " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            [HELD_GET] = "SELECT lane, version, fence, attempts, flags, claimed_us, worker"
                         " FROM held WHERE id = ?1",
            [HELD_DELETE] = "DELETE FROM held WHERE id = ?1",
            [END] = "INSERT INTO ended (id, lane, status, version, fence, attempts, flags,"
                    " progress, updated_us, claimed_us, completed_us, worker, output)"
                    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            [LOG] = "INSERT INTO log (at_us, events) VALUES (?1, ?2)",
            [TALLY] = "INSERT INTO tally (lane, status, n) VALUES (?1, ?2, ?3)"
                      " ON CONFLICT (lane, status) DO UPDATE SET n = n + excluded.n",
        },
    .submit = own_submit,
    .claim = own_claim,
    .complete = own_complete,
};

static const char *const migrations[] = {
#define MIGRATION_TEXT(id, description, text) text,
    FA_SQLITE_MIGRATIONS_LIST(MIGRATION_TEXT)
#undef MIGRATION_TEXT
};

/* ------------------------------------------------------------------------------------------
 * Opening, a round, closing
 */

static enum faina_code sqlite_error(struct fa_bench_raw *raw, const char *what,
                                    struct faina_error *err)
{
    return fa_error_set(err, FAINA_INTERNAL, "raw SQLite can't %s: %s", what,
                        raw->db ? sqlite3_errmsg(raw->db) : "out of memory");
}

const char *fa_bench_raw_version(void)
{
    return sqlite3_libversion();
}

static bool make_schema(struct fa_bench_raw *raw)
{
    if (raw->flavour->schema)
        return sqlite3_exec(raw->db, raw->flavour->schema, NULL, NULL, NULL) == SQLITE_OK;
    if (fa_sqlite_add_functions(raw->db) != SQLITE_OK)
        return false;
    for (size_t i = 0; i < FA_COUNT(migrations); i++) {
        if (sqlite3_exec(raw->db, migrations[i], NULL, NULL, NULL) != SQLITE_OK)
            return false;
    }
    return sqlite3_exec(raw->db,
                        "INSERT INTO lane VALUES (1, 'default', '" FA_BENCH_TYPE "', '[]')", NULL,
                        NULL, NULL) == SQLITE_OK;
}

static bool set_up(struct fa_bench_raw *raw)
{
    char pragmas[256];

    snprintf(pragmas, sizeof pragmas,
             "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = %d;"
             "PRAGMA cache_size = -%d; PRAGMA secure_delete = OFF",
             FA_BENCH_CHECKPOINT_PAGES, FA_BENCH_CACHE_KIB);
    return sqlite3_exec(raw->db, pragmas, NULL, NULL, NULL) == SQLITE_OK && make_schema(raw);
}

static bool prepare(struct fa_bench_raw *raw)
{
    for (int i = 0; i < STMT_COUNT; i++) {
        const char *sql = i == BEGIN    ? "BEGIN IMMEDIATE"
                          : i == COMMIT ? "COMMIT"
                                        : raw->flavour->sql[i];

        if (sql && sqlite3_prepare_v3(raw->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &raw->stmts[i],
                                      NULL) != SQLITE_OK)
            return false;
    }
    return true;
}

enum faina_code fa_bench_raw_open(struct fa_bench_raw **out, const char *path,
                                  const struct fa_bench_speed *speed,
                                  const struct fa_bench_inputs *inputs, struct faina_error *err)
{
    struct fa_bench_raw *raw = fa_alloc_zero(1, sizeof *raw);
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    enum faina_code code = FAINA_OK;

    assert(speed->subject != FA_BENCH_ENGINE);
    assert(speed->callers == 1);
    assert(speed->tasks % speed->batch == 0);
    raw->flavour = speed->subject == FA_BENCH_MINIMAL ? &minimal : &own;
    raw->inputs = inputs;
    raw->batch = speed->batch;
    raw->tasks = speed->tasks;
    raw->has_key = speed->has_key;
    raw->last_id = (fa_clock_now_us() / 1000) << 12; /* as in a UUIDv7 */
    raw->claimed = fa_alloc_zero((size_t)speed->tasks, sizeof *raw->claimed);
    fa_random_seed_system(&raw->random);
    if (sqlite3_open_v2(path, &raw->db, flags, NULL) != SQLITE_OK)
        code = sqlite_error(raw, "open its file", err);
    else if (!set_up(raw))
        code = sqlite_error(raw, "create its tables", err);
    else if (!prepare(raw))
        code = sqlite_error(raw, "prepare its statements", err);
    if (code != FAINA_OK) {
        fa_bench_raw_close(raw);
        return code;
    }
    *out = raw;
    return FAINA_OK;
}

enum faina_code fa_bench_raw_run(const char *path, const char *sql, struct faina_error *err)
{
    sqlite3 *db;
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    enum faina_code code = FAINA_OK;

    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        code = fa_error_set(err, FAINA_INTERNAL, "can't run %s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
    return code;
}

void fa_bench_raw_close(struct fa_bench_raw *raw)
{
    if (!raw)
        return;
    for (size_t i = 0; i < STMT_COUNT; i++)
        sqlite3_finalize(raw->stmts[i]);
    sqlite3_close(raw->db);
    free(raw->claimed);
    free(raw->payload);
    free(raw->log);
    free(raw);
}

enum faina_code fa_bench_raw_grow_log(struct fa_bench_raw *raw, struct faina_error *err)
{
    char update[80];
    int rc = sqlite3_exec(raw->db, "CREATE TABLE scratch (value); INSERT INTO scratch VALUES (0)",
                          NULL, NULL, NULL);

    snprintf(update, sizeof update, "UPDATE scratch SET value = randomblob(%d)",
             FA_BENCH_GROW_SIZE);
    for (int i = 0; rc == SQLITE_OK && i < FA_BENCH_GROW_COUNT; i++)
        rc = sqlite3_exec(raw->db, update, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(raw->db, "DROP TABLE scratch", NULL, NULL, NULL);
    return rc == SQLITE_OK ? FAINA_OK : sqlite_error(raw, "grow its log", err);
}

enum faina_code fa_bench_raw_round(struct fa_bench_raw *raw, int64_t out_ns[FA_BENCH_STEPS],
                                   struct faina_error *err)
{
    static const char *const names[] = {"submit", "claim", "complete"};
    bool (*const steps[])(struct fa_bench_raw *, size_t) = {
        [FA_BENCH_SUBMIT] = raw->flavour->submit,
        [FA_BENCH_CLAIM] = raw->flavour->claim,
        [FA_BENCH_COMPLETE] = raw->flavour->complete,
    };

    raw->first = raw->last = 0;
    for (int step = 0; step < FA_BENCH_STEPS; step++) {
        int64_t start = fa_clock_mono_ns();

        for (int64_t done = 0; done < raw->tasks; done += raw->batch) {
            if (!step_done(raw->stmts[BEGIN]) || !steps[step](raw, (size_t)raw->batch) ||
                !step_done(raw->stmts[COMMIT]))
                return sqlite_error(raw, names[step], err);
        }
        out_ns[step] = fa_clock_mono_ns() - start;
    }
    return FAINA_OK;
}
