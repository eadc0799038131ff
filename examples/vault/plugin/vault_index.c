/* vault_index.c - see vault_index.h. */
#include "vault_index.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define LOCK_POLL_US 20000

enum { PUT_CONTAINER, PUT_LEAF, PUT_ENTRY, PUT_NOTE, STATEMENTS };

static const char *const statements[STATEMENTS] = {
    [PUT_CONTAINER] = "INSERT OR REPLACE INTO container VALUES (?1, ?2, ?3, ?4)",
    [PUT_LEAF] = "INSERT OR IGNORE INTO leaf VALUES (?1, ?2, ?3)",
    [PUT_ENTRY] = "INSERT OR REPLACE INTO entry VALUES (?1, ?2, ?3, ?4, ?5)",
    [PUT_NOTE] = "INSERT OR REPLACE INTO note VALUES (?1, ?2, ?3)",
};

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS container (ref TEXT PRIMARY KEY, size INTEGER NOT NULL,"
    "  entries INTEGER NOT NULL, leaves INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS leaf (hash TEXT PRIMARY KEY, size INTEGER NOT NULL,"
    "  mime TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS entry (container TEXT NOT NULL, at INTEGER NOT NULL,"
    "  path TEXT NOT NULL, size INTEGER NOT NULL, hash TEXT NOT NULL,"
    "  PRIMARY KEY (container, at)) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS entry_hash ON entry (hash);"
    "CREATE TABLE IF NOT EXISTS note (hash TEXT NOT NULL, kind TEXT NOT NULL,"
    "  body TEXT NOT NULL, PRIMARY KEY (hash, kind)) WITHOUT ROWID;";

struct vault_index {
    char path[VAULT_PATH_SIZE]; /* of the open database */
    char name[VAULT_PATH_SIZE]; /* what a new one is renamed to; "": it is no new one */
    int lock;
    sqlite3 *db;
    sqlite3_stmt *prepared[STATEMENTS];
    bool is_committed;
};

static bool sql_failed(struct vault_index *index, struct vault_error *err)
{
    int code = sqlite3_errcode(index->db);

    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
        return vault_refuse(err, "damaged",
                            "the index %.300s is damaged (%s): run rebuild.sql to make it again",
                            index->path, sqlite3_errmsg(index->db));
    return vault_fail(err, "index", "the index %.300s: %s", index->path, sqlite3_errmsg(index->db));
}

static bool run(struct vault_index *index, const char *sql, struct vault_error *err)
{
    return sqlite3_exec(index->db, sql, NULL, NULL, NULL) == SQLITE_OK || sql_failed(index, err);
}

/* I1 */
static bool take_lock(struct vault_index *index, const struct vault_store *store,
                      vault_stop_fn *stop, void *ctx, struct vault_error *err)
{
    char path[VAULT_PATH_SIZE];

    if (!vault_path(path, "%s/index.lock", store->root))
        return vault_refuse(err, "settings", "the path of the store is too long");
    index->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (index->lock < 0)
        return vault_fail_errno(err, "open", path);
    while (flock(index->lock, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return vault_fail_errno(err, "lock", path);
        if (stop && !stop(ctx, err))
            return false;
        usleep(LOCK_POLL_US);
    }
    return true;
}

static bool open_database(struct vault_index *index, struct vault_error *err)
{
    if (sqlite3_open_v2(index->path, &index->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK)
        return index->db ? sql_failed(index, err) : vault_fail(err, "memory", "out of memory");
    if (!run(index, "PRAGMA synchronous = FULL; BEGIN IMMEDIATE", err) || !run(index, schema, err))
        return false;
    for (int i = 0; i < STATEMENTS; i++)
        if (sqlite3_prepare_v2(index->db, statements[i], -1, &index->prepared[i], NULL) !=
            SQLITE_OK)
            return sql_failed(index, err);
    return true;
}

static void journal_of(const char *path, char out[VAULT_PATH_SIZE + 16])
{
    snprintf(out, VAULT_PATH_SIZE + 16, "%s-journal", path);
}

static bool begin(struct vault_index **out, const struct vault_store *store, bool is_new,
                  vault_stop_fn *stop, void *ctx, struct vault_error *err)
{
    struct vault_index *index = calloc(1, sizeof(*index));
    char journal[VAULT_PATH_SIZE + 16];
    bool is_ok;

    if (!index)
        return vault_fail(err, "memory", "out of memory");
    index->lock = -1;
    is_ok = vault_path(index->path, "%s/index.db%s", store->root, is_new ? ".new" : "") &&
            (!is_new || vault_path(index->name, "%s/index.db", store->root));
    if (!is_ok)
        vault_refuse(err, "settings", "the path of the store is too long");
    is_ok = is_ok && take_lock(index, store, stop, ctx, err);
    if (is_ok && is_new) { /* what a rebuild left that was killed */
        journal_of(index->path, journal);
        unlink(journal);
        unlink(index->path);
    }
    is_ok = is_ok && open_database(index, err);
    if (!is_ok) {
        vault_index_close(index);
        return false;
    }
    *out = index;
    return true;
}

bool vault_index_begin(struct vault_index **out, const struct vault_store *store,
                       vault_stop_fn *stop, void *ctx, struct vault_error *err)
{
    return begin(out, store, false, stop, ctx, err);
}

bool vault_index_begin_new(struct vault_index **out, const struct vault_store *store,
                           vault_stop_fn *stop, void *ctx, struct vault_error *err)
{
    return begin(out, store, true, stop, ctx, err);
}

static void close_database(struct vault_index *index)
{
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(index->prepared[i]);
    memset(index->prepared, 0, sizeof(index->prepared));
    sqlite3_close(index->db);
    index->db = NULL;
}

/* The journal of the old database, if it was not closed, must not be applied to the new one. */
static bool take_place(struct vault_index *index, struct vault_error *err)
{
    char journal[VAULT_PATH_SIZE + 16];
    int fd = open(index->path, O_RDONLY | O_CLOEXEC);
    bool is_ok;

    if (fd < 0)
        return vault_fail_errno(err, "read", index->path);
    journal_of(index->name, journal);
    unlink(journal);
    is_ok = vault_store_rename(fd, index->path, index->name, err);
    close(fd);
    return is_ok;
}

bool vault_index_commit(struct vault_index *index, struct vault_error *err)
{
    if (!run(index, "COMMIT", err))
        return false;
    index->is_committed = true;
    if (!index->name[0])
        return true;
    close_database(index);
    return take_place(index, err);
}

void vault_index_close(struct vault_index *index)
{
    if (!index)
        return;
    if (index->db)
        close_database(index);
    if (index->name[0] && !index->is_committed)
        unlink(index->path);
    if (index->lock >= 0)
        close(index->lock);
    free(index);
}

/* ------------------------------------------------------------------------------------------
 * Writing
 */

static bool step(struct vault_index *index, int number, struct vault_error *err)
{
    sqlite3_stmt *statement = index->prepared[number];
    bool is_ok = sqlite3_step(statement) == SQLITE_DONE || sql_failed(index, err);

    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return is_ok;
}

static void bind_text(sqlite3_stmt *statement, int number, const char *text)
{
    sqlite3_bind_text(statement, number, text, -1, SQLITE_STATIC);
}

bool vault_index_container(struct vault_index *index, const struct vault_container *container,
                           struct vault_error *err)
{
    sqlite3_stmt *put = index->prepared[PUT_CONTAINER];

    bind_text(put, 1, container->ref);
    sqlite3_bind_int64(put, 2, (sqlite3_int64)container->size);
    sqlite3_bind_int64(put, 3, container->entry_count);
    sqlite3_bind_int64(put, 4, container->leaf_count);
    return step(index, PUT_CONTAINER, err);
}

bool vault_index_leaf(struct vault_index *index, const char *ref, const struct vault_leaf *leaf,
                      struct vault_error *err)
{
    sqlite3_stmt *put = index->prepared[PUT_LEAF], *entry = index->prepared[PUT_ENTRY];

    bind_text(put, 1, leaf->hash);
    sqlite3_bind_int64(put, 2, (sqlite3_int64)leaf->size);
    bind_text(put, 3, leaf->mime);
    bind_text(entry, 1, ref);
    sqlite3_bind_int64(entry, 2, (sqlite3_int64)leaf->at);
    bind_text(entry, 3, leaf->path);
    sqlite3_bind_int64(entry, 4, (sqlite3_int64)leaf->size);
    bind_text(entry, 5, leaf->hash);
    return step(index, PUT_LEAF, err) && step(index, PUT_ENTRY, err);
}

bool vault_index_note(struct vault_index *index, const char *hash, const char *kind,
                      const char *json, struct vault_error *err)
{
    sqlite3_stmt *put = index->prepared[PUT_NOTE];

    bind_text(put, 1, hash);
    bind_text(put, 2, kind);
    bind_text(put, 3, json);
    return step(index, PUT_NOTE, err);
}

/* ------------------------------------------------------------------------------------------
 * Reading
 */

static bool query(struct vault_index *index, const char *sql, const char *text, int limit,
                  vault_known_fn *each, void *ctx, struct vault_error *err)
{
    sqlite3_stmt *statement;
    bool is_ok = true;
    int code;

    if (sqlite3_prepare_v2(index->db, sql, -1, &statement, NULL) != SQLITE_OK)
        return sql_failed(index, err);
    if (text)
        bind_text(statement, 1, text);
    if (limit > 0)
        sqlite3_bind_int(statement, 2, limit);
    while (is_ok && (code = sqlite3_step(statement)) == SQLITE_ROW)
        is_ok = each(ctx, (const char *)sqlite3_column_text(statement, 0),
                     (uint64_t)sqlite3_column_int64(statement, 1),
                     (const char *)sqlite3_column_text(statement, 2), err);
    if (is_ok && code != SQLITE_DONE)
        is_ok = sql_failed(index, err);
    sqlite3_finalize(statement);
    return is_ok;
}

bool vault_index_leaves(struct vault_index *index, vault_known_fn *each, void *ctx,
                        struct vault_error *err)
{
    return query(index, "SELECT hash, size, mime FROM leaf ORDER BY hash", NULL, 0, each, ctx, err);
}

bool vault_index_leaves_of(struct vault_index *index, const char *ref, vault_known_fn *each,
                           void *ctx, struct vault_error *err)
{
    return query(index,
                 "SELECT DISTINCT hash, size, '' FROM entry WHERE container = ?1 ORDER BY hash",
                 ref, 0, each, ctx, err);
}

bool vault_index_without(struct vault_index *index, const char *kind, int limit,
                         vault_known_fn *each, void *ctx, struct vault_error *err)
{
    return query(index,
                 "SELECT hash, size, mime FROM leaf WHERE size > 0 AND NOT EXISTS (SELECT 1 FROM "
                 "note WHERE note.hash = leaf.hash AND note.kind = ?1) ORDER BY hash LIMIT ?2",
                 kind, limit, each, ctx, err);
}

static char *copy_column(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);

    return text ? strdup(text) : NULL;
}

bool vault_index_find(struct vault_index *index, const char *hash, bool *is_known, char **path,
                      char **mime, uint64_t *size, char **search, struct vault_error *err)
{
    static const char sql[] =
        "SELECT (SELECT path FROM entry WHERE entry.hash = leaf.hash ORDER BY container, at "
        "LIMIT 1), mime, size, (SELECT body FROM note WHERE note.hash = leaf.hash AND "
        "kind = 'search') FROM leaf WHERE hash = ?1";
    sqlite3_stmt *statement;
    int code;

    if (sqlite3_prepare_v2(index->db, sql, -1, &statement, NULL) != SQLITE_OK)
        return sql_failed(index, err);
    bind_text(statement, 1, hash);
    code = sqlite3_step(statement);
    *is_known = code == SQLITE_ROW;
    if (*is_known) {
        *path = copy_column(statement, 0);
        *mime = copy_column(statement, 1);
        *size = (uint64_t)sqlite3_column_int64(statement, 2);
        *search = copy_column(statement, 3);
    }
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        sql_failed(index, err);
    sqlite3_finalize(statement);
    return code == SQLITE_ROW || code == SQLITE_DONE;
}

int64_t vault_index_count(struct vault_index *index, const char *table)
{
    char sql[64];
    sqlite3_stmt *statement;
    int64_t count = 0;

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
    if (sqlite3_prepare_v2(index->db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        count = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return count;
}
