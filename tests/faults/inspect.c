/*
 * inspect.c - looking at a SQLite file from outside.
 */
#include "faults/inspect.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

static sqlite3 *open_file(const char *path)
{
    sqlite3 *db = NULL;
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL);

    CHECK(rc == SQLITE_OK, "%s: %s", path, sqlite3_errstr(rc));
    return db;
}

/* All rows as text, one a line, columns separated by spaces. The caller frees it. */
static char *query_text(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    struct fa_buf buf;
    int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

    CHECK(rc == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(db));
    fa_buf_init(&buf, 1u << 20);
    fa_buf_add_str(&buf, "");
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(stmt); i++) {
            const char *text = (const char *)sqlite3_column_text(stmt, i);

            fa_buf_printf(&buf, "%s%s", i ? " " : "", text ? text : "null");
        }
        fa_buf_add_char(&buf, '\n');
    }
    CHECK(rc == SQLITE_DONE, "%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_finalize(stmt);
    return buf.ptr ? buf.ptr : strdup("");
}

void fa_f_check_sound(const char *path, const char *when)
{
    static const struct {
        const char *what, *sql, *want;
    } checks[] = {
        {"SQLite's integrity", "PRAGMA integrity_check", "ok\n"},
        {"foreign keys", "PRAGMA foreign_key_check", ""},
        {"a key that two tasks have",
         "SELECT namespace, type, idempotency_key, count(*) FROM tasks "
         "WHERE idempotency_key IS NOT NULL AND deleted_at IS NULL GROUP BY 1, 2, 3 "
         "HAVING count(*) > 1",
         ""},
        {"a task in two states", "SELECT id, count(*) FROM tasks GROUP BY 1 HAVING count(*) > 1",
         ""},
        {"a task without a state", "SELECT count(*) - (SELECT count(*) FROM task) FROM tasks",
         "0\n"},
        {"an ended task that has a worker",
         "SELECT id FROM tasks WHERE worker_id IS NOT NULL AND status NOT IN ('claimed','running')",
         ""},
        {"an attempt too many",
         "SELECT id FROM tasks WHERE max_attempts > 0 AND attempts > max_attempts", ""},
        {"an ended task that has no end",
         "SELECT id FROM tasks WHERE (completed_at IS NULL) = "
         "(status IN ('completed','failed','dead_letter','cancelled'))",
         ""},
        {"a blocked parent all of whose children have ended",
         "SELECT p.id FROM tasks p WHERE p.status = 'blocked' AND "
         "EXISTS (SELECT 1 FROM tasks c WHERE c.parent_id = p.id) AND "
         "NOT EXISTS (SELECT 1 FROM tasks c WHERE c.parent_id = p.id AND c.status IN "
         "('pending','claimed','running','blocked','background'))",
         ""},
    };
    sqlite3 *db = open_file(path);

    for (size_t i = 0; i < FA_COUNT(checks); i++) {
        char *got = query_text(db, checks[i].sql);

        CHECK(strcmp(got, checks[i].want) == 0, "%s: %s: found %s", when, checks[i].what, got);
        free(got);
    }
    sqlite3_close(db);
}

int64_t fa_f_query_int(const char *path, const char *sql)
{
    sqlite3 *db = open_file(path);
    char *text = query_text(db, sql);
    int64_t value = *text ? strtoll(text, NULL, 10) : -1;

    free(text);
    sqlite3_close(db);
    return value;
}

void fa_f_exec(const char *path, const char *sql)
{
    sqlite3 *db = open_file(path);

    CHECK(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}

bool fa_f_try_exec(const char *path, const char *sql)
{
    sqlite3 *db = open_file(path);
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);

    sqlite3_close(db);
    return rc == SQLITE_OK;
}

/* ------------------------------------------------------------------------------------------
 * Copies
 */

char *fa_f_read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *data;
    long end;

    CHECK(file != NULL, "can't read %s", path);
    CHECK_TRUE(fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) >= 0);
    rewind(file);
    data = fa_alloc((size_t)end + 1);
    *size = fread(data, 1, (size_t)end, file);
    data[*size] = '\0';
    fclose(file);
    return data;
}

void fa_f_write_file(const char *path, const char *data, size_t size)
{
    FILE *file = fopen(path, "wb");

    CHECK(file != NULL, "can't write %s", path);
    CHECK(fwrite(data, 1, size, file) == size, "can't write %s", path);
    CHECK(fclose(file) == 0, "can't write %s", path);
}

void fa_f_copy_file(const char *from, const char *to)
{
    size_t size;
    char *data;

    remove(to);
    if (access(from, F_OK) != 0)
        return;
    data = fa_f_read_file(from, &size);
    fa_f_write_file(to, data, size);
    free(data);
}

void fa_f_copy_crashed(const char *from, const char *to)
{
    static const char *const parts[] = {"", "-wal", "-journal"};
    char source[FA_T_PATH_SIZE + 16], target[FA_T_PATH_SIZE + 16];

    for (size_t i = 0; i < FA_COUNT(parts); i++) {
        snprintf(source, sizeof source, "%s%s", from, parts[i]);
        snprintf(target, sizeof target, "%s%s", to, parts[i]);
        fa_f_copy_file(source, target);
    }
    snprintf(target, sizeof target, "%s-shm", to);
    remove(target);
}
