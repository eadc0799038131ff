/*
 * db_sqlite.c - db.h over SQLite.
 *
 * Statements are prepared at their first use and kept. A connection is used by one thread at a
 * time, so SQLite's own mutexes are off (SQLITE_OPEN_NOMUTEX).
 */
#include "store/db/sqlite/db_sqlite.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/steady.h"
#include "generated/sqlite_migrations.h"
#include "store/db/sqlite/log_file.h"
#include "store/db/sqlite/checkpointer.h"
#include "store/db/sqlite/reserve.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define APPLICATION_ID 0x4661696e            /* "Fain", in the header of the file */
#define CHECKPOINT_PAGES 20000               /* measured: twice the inserts of SQLite's 1,000 */
#define LOG_PAGES_MAX (2 * CHECKPOINT_PAGES) /* longer: readers are paused for a moment */
#define BESIDE_PAGES_MAX 10000     /* written beside a checkpoint; then the writer waits */
#define REST_PAGES_MAX 1000        /* what the writer checkpoints itself; measured: 6 ms */
#define LOG_BYTES_KEPT (256 << 20) /* size of its file after a reset: more than it usually needs */
#define PAGE_SIZE_USUAL 4096
#define ROOM_PAGES_MIN 16 /* see room_pages */
#define ROOM_PAGES_MAX 1024
#define FULL_PAGES 64 /* with a full disk, the log is reset from this length on */
#define BUSY_MS 5000
#define STOP_STEPS 100000 /* of SQLite's virtual machine: some milliseconds */
#define RESTART_MS 50     /* how long a reader of another program may delay the writer */

/* How many rows one statement inserts. A statement costs about as much as a row in it; measured:
 * more than 32 gain nothing. */
static const size_t widths[] = {32, 8, 2, 1};
#define WIDTHS FA_COUNT(widths)
#define SINGLE (WIDTHS - 1)

/* A prepared statement, and the values of its parameters. */
struct kept {
    sqlite3_stmt *stmt;
    struct fa_value *bound; /* by row; nulls and integers that stay the same are not bound again */
};

struct db_sqlite {
    struct fa_db base;
    sqlite3 *handle;
    char *path;                  /* NULL: in memory */
    struct fa_steady *clock;     /* NULL: the wall clock */
    const atomic_int *snapshots; /* see fa_sqlite_options; NULL: there are none */
    struct fa_reserve *reserve;  /* the same */
    int file_fd;                 /* the same; -1: space can't be allocated in advance */
    int room_at;                 /* the length of the log at which space is allocated next */
    bool is_short;               /* the last allocation found none */
    int log_pages;               /* in the write-ahead log, as of the last commit */
    int try_at;                  /* the next checkpoint is tried at this length */
    struct fa_checkpointer *checkpointer; /* NULL: not needed yet, or not available */
    bool is_checkpointing;                /* it was started, and its result is not read yet */
    int checkpoint_since;                 /* the log's length when the first of several began ... */
    int checkpoint_pages;                 /* ... and when the last one did */
    bool is_lost;                         /* M3 */
    sqlite3_stmt *begin[2], *commit;      /* for reading, for writing */
    struct kept kept[FA_SQL_COUNT][WIDTHS];
};

static const struct fa_db_ops sqlite_ops;

static struct db_sqlite *downcast(struct fa_db *db)
{
    assert(db->ops == &sqlite_ops);
    return (struct db_sqlite *)db;
}

/* One sentence for each failure of SQLite that tells an operator what to do. */
static enum faina_code refuse(struct db_sqlite *db, int rc, const char *doing,
                              struct faina_error *err)
{
    const char *path = db->path ? db->path : "the memory store";
    const char *detail = db->handle ? sqlite3_errmsg(db->handle) : sqlite3_errstr(rc);
    int reason = db->handle ? sqlite3_system_errno(db->handle) : 0;

    /* SQLite reports a quota, and shared memory that can't grow, as I/O errors. */
    if ((rc & 0xff) == SQLITE_IOERR && (reason == ENOSPC || reason == EDQUOT))
        rc = SQLITE_FULL;
    db->base.is_full |= (rc & 0xff) == SQLITE_FULL;
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return fa_error_set(err, FAINA_UNAVAILABLE, "%s: the disk is full", path);
    case SQLITE_NOTADB:
        return fa_error_set(err, FAINA_UNAVAILABLE,
                            "%s is not a Faina database (nor any SQLite database)", path);
    case SQLITE_CORRUPT:
        return fa_error_set(err, FAINA_UNAVAILABLE,
                            "%s is damaged (%s); restore a backup, or try `sqlite3 FILE .recover`",
                            path, detail);
    case SQLITE_READONLY:
        return fa_error_set(err, FAINA_UNAVAILABLE, "%s or its folder can't be written", path);
    case SQLITE_CANTOPEN:
        return fa_error_set(err, FAINA_UNAVAILABLE, "%s can't be opened: %s", path,
                            db->handle && sqlite3_system_errno(db->handle)
                                ? strerror(sqlite3_system_errno(db->handle))
                                : detail);
    case SQLITE_NOMEM:
        return fa_error_set(err, FAINA_UNAVAILABLE, "%s: out of memory while %s", path, doing);
    case SQLITE_IOERR:
        return fa_error_set(err, FAINA_UNAVAILABLE, "%s: the disk failed while %s (%s)", path,
                            doing, detail);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return fa_error_set(err, FAINA_UNAVAILABLE, "%s is locked by another program", path);
    default:
        db->base.has_failed = true;
        return fa_error_set(err, FAINA_INTERNAL, "%s: SQLite error %d while %s: %s", path, rc,
                            doing, detail);
    }
}

static int exec(struct db_sqlite *db, const char *sql)
{
    return sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
}

/* Runs a statement without parameters and results, which is prepared once. */
static int exec_kept(struct db_sqlite *db, sqlite3_stmt **stmt, const char *sql)
{
    int rc = SQLITE_OK;

    if (*stmt == NULL)
        rc = sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_step(*stmt);
    return sqlite3_reset(*stmt);
}

static void add_params(struct fa_buf *out, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fa_buf_printf(out, "%s?%zu", i == 0 ? "(" : ", ", first + i);
    fa_buf_add_char(out, ')');
}

/* Prepares the call's statement for so many rows when it is first used. */
static enum faina_code prepare(struct db_sqlite *db, const struct fa_db_call *call, size_t rows,
                               struct kept *kept, struct faina_error *err)
{
    const struct fa_statement *statement = fa_statement(call->sql);
    size_t params = call->param_count;
    struct fa_buf text;
    int rc;

    if (kept->stmt != NULL)
        return FAINA_OK;
    fa_buf_init(&text, SIZE_MAX / 2);
    fa_buf_add_str(&text, rows > 1 ? statement->sqlite_repeat : statement->sqlite);
    for (size_t row = 1; row < rows; row++) {
        fa_buf_add_char(&text, ',');
        add_params(&text, row * params + 1, params);
    }
    free(kept->bound);
    kept->bound = fa_alloc_zero(rows * params + 1, sizeof(*kept->bound));
    rc = sqlite3_prepare_v3(db->handle, text.ptr, -1, SQLITE_PREPARE_PERSISTENT, &kept->stmt, NULL);
    fa_buf_finish(&text);
    return rc == SQLITE_OK ? FAINA_OK : refuse(db, rc, statement->name, err);
}

static bool is_bound(const struct fa_value *bound, const struct fa_value *value)
{
    return value->kind == bound->kind &&
           (value->kind == FA_NULL || (value->kind == FA_INT && value->i == bound->i));
}

/* Binds one of the statement's rows. Most columns of most tasks have the value of the row before:
 * null, or the same lane. */
static int bind(struct kept *kept, size_t row, const struct fa_value *value, size_t count)
{
    int rc = SQLITE_OK;

    for (size_t i = row * count; rc == SQLITE_OK && i < (row + 1) * count; i++, value++) {
        int n = (int)i + 1;

        if (is_bound(&kept->bound[i], value))
            continue;
        kept->bound[i] = *value;
        switch (value->kind) {
        case FA_NULL:
            rc = sqlite3_bind_null(kept->stmt, n);
            break;
        case FA_INT:
            rc = sqlite3_bind_int64(kept->stmt, n, value->i);
            break;
        case FA_REAL:
            rc = sqlite3_bind_double(kept->stmt, n, value->d);
            break;
        case FA_TEXT:
            rc = sqlite3_bind_text64(kept->stmt, n, value->text.ptr, value->text.len, SQLITE_STATIC,
                                     SQLITE_UTF8);
            break;
        }
        if (rc != SQLITE_OK)
            kept->bound[i].kind = FA_TEXT; /* its value is unknown: it is bound again */
    }
    return rc;
}

/* False: SQLite has no memory for the text of a column. */
static bool read_columns(sqlite3_stmt *stmt, struct fa_value *columns)
{
    int count = sqlite3_data_count(stmt);

    assert(count <= FA_VALUES_MAX);
    for (int i = 0; i < count; i++) {
        sqlite3_value *from = sqlite3_column_value(stmt, i);
        struct fa_value *value = &columns[i];

        *value = (struct fa_value){.text = FA_LIT("")};
        switch (sqlite3_value_type(from)) {
        case SQLITE_INTEGER:
            value->kind = FA_INT;
            value->i = sqlite3_value_int64(from);
            break;
        case SQLITE_FLOAT:
            value->kind = FA_REAL;
            value->d = sqlite3_value_double(from);
            break;
        case SQLITE_NULL:
            value->kind = FA_NULL;
            break;
        default:
            value->kind = FA_TEXT;
            value->text.ptr = (const char *)sqlite3_value_text(from);
            value->text.len = (size_t)sqlite3_value_bytes(from);
            if (value->text.ptr == NULL)
                return false;
        }
    }
    return true;
}

/* Runs a statement with the rows from `row` on, and passes its results to the sink. */
static int run_rows(struct kept *kept, const struct fa_db_call *call, size_t row, size_t rows)
{
    struct fa_value values[FA_VALUES_MAX];
    int rc = SQLITE_OK;

    assert(sqlite3_bind_parameter_count(kept->stmt) == (int)(rows * call->param_count));
    for (size_t i = 0; rc == SQLITE_OK && i < rows && call->param_count > 0; i++) {
        fa_db_bind(call, row + i, values);
        rc = bind(kept, i, values, call->param_count);
    }
    if (rc != SQLITE_OK)
        return rc;
    while ((rc = sqlite3_step(kept->stmt)) == SQLITE_ROW) {
        if (call->sink == NULL)
            continue;
        if (!read_columns(kept->stmt, values))
            return SQLITE_NOMEM;
        call->sink(call->sink_ctx, row, values);
    }
    return rc;
}

static enum faina_code sqlite_run(struct fa_db *base, const struct fa_db_call *call,
                                  struct faina_error *err)
{
    struct db_sqlite *db = downcast(base);
    enum faina_code code = FAINA_OK;
    bool is_repeated = call->sink == NULL && fa_statement(call->sql)->sqlite_repeat != NULL;
    size_t width = is_repeated ? 0 : SINGLE, row = 0;

    while (code == FAINA_OK && row < call->rows) {
        struct kept *kept = &db->kept[call->sql][width];
        int rc;

        if (call->rows - row < widths[width]) {
            width++;
            continue;
        }
        code = prepare(db, call, widths[width], kept, err);
        if (code != FAINA_OK)
            break;
        rc = run_rows(kept, call, row, widths[width]);
        if (rc != SQLITE_DONE)
            code = refuse(db, rc, fa_sql_name(call->sql), err);
        sqlite3_reset(kept->stmt);
        row += widths[width];
    }
    return code;
}

static void sqlite_rollback(struct fa_db *base)
{
    struct db_sqlite *db = downcast(base);

    if (!sqlite3_get_autocommit(db->handle))
        exec(db, "ROLLBACK");
}

static enum faina_code sqlite_begin(struct fa_db *base, bool for_writing, struct faina_error *err)
{
    struct db_sqlite *db = downcast(base);
    int rc;

    if (for_writing && db->is_lost)
        return fa_error_set(err, FAINA_UNAVAILABLE,
                            "%s: the disk failed while the log was moved into the file; everything "
                            "is in the log: restart the program that has the file open",
                            db->path);
    if (for_writing && db->is_short && !atomic_load(&db->reserve->is_gone))
        return refuse(db, SQLITE_FULL, "beginning a transaction", err);
    sqlite_rollback(base); /* the last one is still open if ROLLBACK had no memory */
    rc = exec_kept(db, &db->begin[for_writing], for_writing ? "BEGIN IMMEDIATE" : "BEGIN");
    return rc == SQLITE_OK ? FAINA_OK : refuse(db, rc, "beginning a transaction", err);
}

/*
 * After a failed commit SQLite discards its pages, so this process doesn't see the transaction. But
 * when the flush to disk failed, the pages may be in the log, and a crash before the next commit
 * overwrites them could bring them back. So the result is "unknown", never "stored".
 */
static enum faina_code sqlite_commit(struct fa_db *base, struct faina_error *err)
{
    struct db_sqlite *db = downcast(base);
    int rc = exec_kept(db, &db->commit, "COMMIT");

    if (rc == SQLITE_OK)
        return FAINA_OK;
    (void)refuse(db, rc, "committing", err);
    if ((rc & 0xff) == SQLITE_IOERR && err != NULL) {
        size_t used = strlen(err->message);

        snprintf(err->message + used, sizeof(err->message) - used,
                 "; whether the change survives is unknown: send it again");
    }
    sqlite_rollback(base);
    return err != NULL ? err->code : FAINA_UNAVAILABLE;
}

/* faina_key_hash(kind, namespace, type, key), for the schema's steps: as fa_key_hash makes it. */
static void key_hash(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct fa_bytes parts[4];
    uint8_t digest[FA_SHA256_SIZE];
    int64_t hash;

    (void)count;
    for (size_t i = 0; i < FA_COUNT(parts); i++) {
        parts[i].ptr = (const char *)sqlite3_value_text(values[i]);
        parts[i].len = (size_t)sqlite3_value_bytes(values[i]);
    }
    fa_sha256_parts(parts, FA_COUNT(parts), digest);
    memcpy(&hash, digest, sizeof(hash));
    sqlite3_result_int64(context, hash ? hash : 1);
}

int fa_sqlite_add_functions(struct sqlite3 *handle)
{
    return sqlite3_create_function(handle, "faina_key_hash", 4, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                   NULL, key_hash, NULL, NULL);
}

static enum faina_code sqlite_script(struct fa_db *base, const char *text, struct faina_error *err)
{
    struct db_sqlite *db = downcast(base);
    int rc = fa_sqlite_add_functions(db->handle);

    if (rc == SQLITE_OK)
        rc = exec(db, text);

    return rc == SQLITE_OK ? FAINA_OK : refuse(db, rc, "changing the schema", err);
}

static enum faina_code sqlite_lock_schema(struct fa_db *base, struct faina_error *err)
{
    return sqlite_script(base, fa_statement(FA_SQL_SCHEMA_LOCK)->sqlite, err);
}

/* M2: the log is longer than what is in the file. False: no checkpointer is available. */
static bool begin_checkpoint(struct db_sqlite *db)
{
    if (db->checkpointer == NULL)
        db->checkpointer = fa_checkpointer_start(sqlite3_db_filename(db->handle, "main"));
    if (db->checkpointer == NULL)
        return false;
    db->checkpoint_pages = db->log_pages;
    db->is_checkpointing = true;
    fa_checkpointer_begin(db->checkpointer);
    return true;
}

/* Whether the writer has added much beside the checkpointer since the first checkpoint. A log that
 * is very long, after a backup, may double meanwhile: the writer would wait for seconds. */
static bool is_behind(const struct db_sqlite *db)
{
    int beside = db->checkpoint_since > LOG_PAGES_MAX ? db->checkpoint_since : BESIDE_PAGES_MAX;

    return db->log_pages - db->checkpoint_since >= beside;
}

/* Waits for the end of a checkpoint. True: the writer does the rest. */
static bool end_checkpoint(struct db_sqlite *db)
{
    struct fa_checkpoint done = fa_checkpointer_wait(db->checkpointer);

    db->is_checkpointing = false;
    db->is_lost = done.is_lost;
    if (done.is_lost || db->log_pages < db->checkpoint_pages) /* it was reset */
        return false;
    if (done.pages < db->checkpoint_pages || is_behind(db) || /* readers need the rest */
        db->log_pages - done.pages <= REST_PAGES_MAX)
        return true;
    return !begin_checkpoint(db);
}

/* A backup reads for as long as it takes: pausing the other readers would only delay the writer. */
static bool has_snapshot(const struct db_sqlite *db)
{
    return db->snapshots != NULL && atomic_load_explicit(db->snapshots, memory_order_relaxed) > 0;
}

static int read_int(sqlite3 *handle, const char *sql, int64_t *out)
{
    sqlite3_stmt *stmt;
    int rc = sqlite3_prepare_v2(handle, sql, -1, &stmt, NULL);

    if (rc != SQLITE_OK)
        return rc;
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        *out = sqlite3_column_int64(stmt, 0);
        rc = SQLITE_OK;
    }
    sqlite3_finalize(stmt);
    return rc;
}

static int64_t read_pragma(struct db_sqlite *db, const char *sql)
{
    int64_t value = 0;

    return read_int(db->handle, sql, &value) == SQLITE_OK ? value : -1;
}

/* How many pages the log grows between two allocations: half of the reserve at most, so that it has
 * space for what is not allocated yet. */
static int room_pages(const struct db_sqlite *db)
{
    int64_t pages = db->reserve != NULL ? atomic_load(&db->reserve->size) / 2 / PAGE_SIZE_USUAL : 0;

    return pages > ROOM_PAGES_MAX   ? ROOM_PAGES_MAX
           : pages < ROOM_PAGES_MIN ? ROOM_PAGES_MIN
                                    : (int)pages;
}

/* Allocates the disk space by which the file will grow at a checkpoint: otherwise a full disk would
 * keep the log from ever being reset. The space is behind the end of the file, and is freed when
 * the file still ends there after a checkpoint. */
static bool take_room(struct db_sqlite *db)
{
    int64_t size = read_pragma(db, "PRAGMA page_count") * read_pragma(db, "PRAGMA page_size");
    struct stat st;

    db->room_at = db->log_pages + room_pages(db);
    if (db->file_fd < 0 || fstat(db->file_fd, &st) != 0 || size <= st.st_size ||
        fallocate(db->file_fd, FALLOC_FL_KEEP_SIZE, st.st_size, size - st.st_size) == 0)
        return true;
    if (errno == ENOSPC || errno == EDQUOT)
        return false;
    db->file_fd = -1; /* the file system doesn't support it */
    return true;
}

/* The log can be reset, so that new tasks need only free pages of the file. */
static void count_inside(struct db_sqlite *db)
{
    atomic_store(&db->reserve->inside,
                 read_pragma(db, "PRAGMA freelist_count") * read_pragma(db, "PRAGMA page_size"));
}

/* The disk is full, and its reserve is released (reserve.h). The log is checkpointed early and
 * truncated. */
static bool maintain_full(struct db_sqlite *db, bool is_quiet)
{
    int mode = is_quiet ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;

    if (db->is_checkpointing) {
        db->is_lost = fa_checkpointer_wait(db->checkpointer).is_lost;
        db->is_checkpointing = false;
    }
    db->is_short = false;
    fa_log_file_forget(db->handle);
    if (db->log_pages < FULL_PAGES)
        count_inside(db);
    if (db->is_lost || (!is_quiet && (db->log_pages < FULL_PAGES || !take_room(db))))
        return false;
    if (is_quiet)
        sqlite3_busy_timeout(db->handle, RESTART_MS);
    if (sqlite3_wal_checkpoint_v2(db->handle, NULL, mode, NULL, NULL) != SQLITE_OK)
        db->is_lost = fa_checkpoint_has_lost(db->handle);
    else if (is_quiet)
        count_inside(db);
    sqlite3_busy_timeout(db->handle, BUSY_MS);
    return !is_quiet && !has_snapshot(db);
}

/*
 * A passive checkpoint writes the pages that no reader still needs, and waits for no lock. When the
 * whole log is in the file and no reader uses it, the next commit resets it. So a checkpointer does
 * most of the work beside the writer, repeats it until little is left, and the writer does the
 * rest. When it can't keep up, the writer waits for it.
 *
 * Readers that always overlap would keep the log from ever being reset, so beyond a length the
 * function asks its caller to pause them. Readers of other programs can't be paused: while one of
 * them reads, the log grows, and the checkpoint is tried again every CHECKPOINT_PAGES.
 */
static bool sqlite_maintain(struct fa_db *base, bool is_quiet)
{
    struct db_sqlite *db = downcast(base);
    int mode = is_quiet ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE;

    if (db->is_lost)
        return false;
    if (db->reserve != NULL && atomic_load_explicit(&db->reserve->is_gone, memory_order_relaxed))
        return maintain_full(db, is_quiet);
    if (!is_quiet && db->reserve != NULL && db->log_pages >= db->room_at)
        db->is_short = !take_room(db);
    if (db->is_checkpointing) {
        if ((fa_checkpointer_is_busy(db->checkpointer) && !is_behind(db)) || !end_checkpoint(db))
            return false;
    } else if (!is_quiet) {
        db->checkpoint_since = db->log_pages;
        if (db->log_pages < db->try_at || begin_checkpoint(db))
            return false;
    }
    if (is_quiet)
        sqlite3_busy_timeout(db->handle, RESTART_MS);
    if (sqlite3_wal_checkpoint_v2(db->handle, NULL, mode, NULL, NULL) != SQLITE_OK)
        db->is_lost = fa_checkpoint_has_lost(db->handle);
    sqlite3_busy_timeout(db->handle, BUSY_MS);
    db->try_at = db->log_pages + CHECKPOINT_PAGES;
    return !is_quiet && db->log_pages >= LOG_PAGES_MAX && !has_snapshot(db);
}

static enum faina_code sqlite_check(struct fa_db *base,
                                    void (*found)(void *ctx, const char *sentence), void *ctx,
                                    struct faina_error *err)
{
    struct db_sqlite *db = downcast(base);
    sqlite3_stmt *stmt;
    int rc = sqlite3_prepare_v2(db->handle, "PRAGMA integrity_check", -1, &stmt, NULL);

    if (rc != SQLITE_OK)
        return refuse(db, rc, "checking", err);
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *sentence = (const char *)sqlite3_column_text(stmt, 0);

        if (sentence != NULL && strcmp(sentence, "ok") != 0)
            found(ctx, sentence);
    }
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? FAINA_OK : refuse(db, rc, "checking", err);
}

static int64_t sqlite_now(struct fa_db *base)
{
    struct fa_steady *clock = downcast(base)->clock;

    return clock != NULL ? fa_steady_now(clock) : fa_clock_now_us();
}

static const char *sqlite_version(struct fa_db *base)
{
    (void)base;
    return sqlite3_libversion();
}

static void sqlite_close(struct fa_db *base)
{
    struct db_sqlite *db = downcast(base);

    if ((fa_checkpointer_stop(db->checkpointer) || db->is_lost) && db->handle != NULL)
        sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    for (size_t i = 0; i < FA_SQL_COUNT * WIDTHS; i++) {
        struct kept *kept = &db->kept[i / WIDTHS][i % WIDTHS];

        sqlite3_finalize(kept->stmt);
        free(kept->bound);
    }
    sqlite3_finalize(db->begin[false]);
    sqlite3_finalize(db->begin[true]);
    sqlite3_finalize(db->commit);
    sqlite3_close_v2(db->handle);
    free(db->path);
    free(db);
}

static const struct fa_migration migrations[] = {
#define FA_MIGRATION_ROW(id, description, text) {id, description, text},
    FA_SQLITE_MIGRATIONS_LIST(FA_MIGRATION_ROW)
#undef FA_MIGRATION_ROW
};

const struct fa_migration *fa_sqlite_migrations(size_t *count)
{
    *count = FA_COUNT(migrations);
    return migrations;
}

static const struct fa_db_ops sqlite_ops = {
    .migrations = migrations,
    .migration_count = FA_COUNT(migrations),
    .name = "sqlite",
    .traits = FA_DB_ROW_RUNS,
    .begin = sqlite_begin,
    .commit = sqlite_commit,
    .rollback = sqlite_rollback,
    .run = sqlite_run,
    .script = sqlite_script,
    .lock_schema = sqlite_lock_schema,
    .maintain = sqlite_maintain,
    .check = sqlite_check,
    .now = sqlite_now,
    .version = sqlite_version,
    .close = sqlite_close,
};

/* SQLite reports the length of the log after each commit. Its own checkpoints are off. */
static int on_commit(void *ctx, sqlite3 *handle, const char *schema, int pages)
{
    struct db_sqlite *db = ctx;

    (void)handle;
    (void)schema;
    if (pages < db->log_pages) { /* the log was reset */
        db->try_at = CHECKPOINT_PAGES;
        db->room_at = room_pages(db);
    }
    db->log_pages = pages;
    return SQLITE_OK;
}

/* Refuses a file that holds tables but not our application id: it belongs to another program. */
static enum faina_code check_mark(struct db_sqlite *db, bool is_required, bool *has_mark,
                                  struct faina_error *err)
{
    int64_t mark = 0, tables = 0;
    int rc = read_int(db->handle, "PRAGMA application_id", &mark);

    *has_mark = mark == APPLICATION_ID;
    if (rc == SQLITE_OK && !*has_mark && is_required)
        return fa_error_set(err, FAINA_UNAVAILABLE, "%s is not a Faina database", db->path);
    if (rc == SQLITE_OK && *has_mark)
        return FAINA_OK;
    if (rc == SQLITE_OK)
        rc = read_int(db->handle, "SELECT count(*) FROM sqlite_schema", &tables);
    if (rc != SQLITE_OK)
        return refuse(db, rc, "reading the header", err);
    if (mark != 0 || tables != 0)
        return fa_error_set(err, FAINA_UNAVAILABLE,
                            "%s is a SQLite database of another program, not of Faina", db->path);
    return FAINA_OK;
}

static enum faina_code configure(struct db_sqlite *db, const struct fa_sqlite_options *options,
                                 struct faina_error *err)
{
    bool has_mark = false;
    char text[512];
    int rc;

    sqlite3_busy_timeout(db->handle, BUSY_MS);
    if (options->should_stop != NULL)
        sqlite3_progress_handler(db->handle, STOP_STEPS, options->should_stop, options->stop_ctx);
    if (options->path != NULL) {
        enum faina_code code = check_mark(db, options->is_immutable, &has_mark, err);

        if (code != FAINA_OK)
            return code;
    }
    /* Debian's SQLite overwrites deleted data with zeros, and logs the pages that it frees. */
    snprintf(text, sizeof(text),
             "PRAGMA cache_size = -%lld; PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF; "
             "PRAGMA secure_delete = OFF; PRAGMA journal_size_limit = %d;",
             (long long)options->cache_kib, LOG_BYTES_KEPT);
    rc = exec(db, text);
    if (rc == SQLITE_OK && options->is_reader)
        rc = exec(db, "PRAGMA query_only = ON");
    if (rc == SQLITE_OK && options->path != NULL && !options->is_reader) {
        snprintf(text, sizeof(text), "PRAGMA application_id = %d", APPLICATION_ID);
        rc = exec(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
        if (rc == SQLITE_OK && !has_mark) /* setting it again would cost a flush */
            rc = exec(db, text);
    }
    if (rc != SQLITE_OK)
        return refuse(db, rc, "opening", err);
    sqlite3_wal_autocheckpoint(db->handle, 0);
    sqlite3_wal_hook(db->handle, on_commit, db);
    return FAINA_OK;
}

/* "immutable" can be set in URIs only. SQLite then takes no lock and creates no other file. */
static int open_still(struct db_sqlite *db, const char *path)
{
    int flags =
        SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    struct fa_buf uri;
    int rc;

    fa_buf_init(&uri, SIZE_MAX / 2);
    fa_buf_add_str(&uri, "file:");
    for (const char *at = path; *at != '\0'; at++) {
        if (strchr("?#%", *at) != NULL)
            fa_buf_printf(&uri, "%%%02x", (unsigned)*at);
        else
            fa_buf_add_char(&uri, *at);
    }
    fa_buf_add_str(&uri, "?immutable=1");
    rc = sqlite3_open_v2(uri.ptr, &db->handle, flags, NULL);
    fa_buf_finish(&uri);
    return rc;
}

enum faina_code fa_sqlite_open(struct fa_db **out, const struct fa_sqlite_options *options,
                               struct faina_error *err)
{
    struct db_sqlite *db = fa_alloc_zero(1, sizeof(*db));
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    enum faina_code code;
    int rc;

    db->base.ops = &sqlite_ops;
    db->try_at = CHECKPOINT_PAGES;
    db->clock = options->clock;
    if (options->path != NULL)
        db->path = strdup(options->shown ? options->shown : options->path);
    if (!options->is_reader)
        flags |= SQLITE_OPEN_CREATE;
    db->snapshots = options->snapshots;
    db->reserve = options->reserve;
    db->file_fd = options->reserve != NULL ? options->file_fd : -1;
    db->room_at = room_pages(db);
    rc = options->is_immutable
             ? open_still(db, options->path)
             : sqlite3_open_v2(options->path ? options->path : ":memory:", &db->handle, flags,
                               options->path ? fa_log_file_layer() : NULL);
    code = rc == SQLITE_OK ? configure(db, options, err) : refuse(db, rc, "opening", err);
    if (code != FAINA_OK) {
        sqlite_close(&db->base);
        return code;
    }
    *out = &db->base;
    return FAINA_OK;
}
