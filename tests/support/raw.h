/*
 * raw.h - reads a SQLite file with the sqlite3 library, without the engine.
 */
#ifndef FA_TEST_RAW_H
#define FA_TEST_RAW_H

#include "support/support.h"

#include <sqlite3.h>

static inline sqlite3 *raw_open(const char *path)
{
    sqlite3 *raw = NULL;

    CHECK(sqlite3_open(path, &raw) == SQLITE_OK, "%s can't be opened: %s", path,
          sqlite3_errmsg(raw));
    sqlite3_wal_autocheckpoint(raw, 0);
    return raw;
}

static inline void raw_close(sqlite3 *raw)
{
    CHECK_INT(sqlite3_close(raw), SQLITE_OK);
}

static inline void raw_exec(sqlite3 *raw, const char *sql)
{
    CHECK(sqlite3_exec(raw, sql, NULL, NULL, NULL) == SQLITE_OK, "%s: %s", sql,
          sqlite3_errmsg(raw));
}

static inline sqlite3_stmt *raw_prepare(sqlite3 *raw, const char *sql)
{
    sqlite3_stmt *stmt = NULL;

    CHECK(sqlite3_prepare_v2(raw, sql, -1, &stmt, NULL) == SQLITE_OK, "%s: %s", sql,
          sqlite3_errmsg(raw));
    return stmt;
}

/* The first column of the first row; 0 when there is none. */
static inline int64_t raw_int(sqlite3 *raw, const char *sql)
{
    sqlite3_stmt *stmt = raw_prepare(raw, sql);
    int64_t value = sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;

    sqlite3_finalize(stmt);
    return value;
}

/* All rows as text: columns with '|' between them, rows with '\n'. Null is empty. */
static inline const char *raw_text(sqlite3 *raw, const char *sql, struct fa_arena *arena)
{
    sqlite3_stmt *stmt = raw_prepare(raw, sql);
    char *text = fa_arena_strdup(arena, "");

    for (size_t row = 0; sqlite3_step(stmt) == SQLITE_ROW; row++) {
        for (int i = 0; i < sqlite3_column_count(stmt); i++) {
            const char *value = (const char *)sqlite3_column_text(stmt, i);

            text = fa_arena_printf(arena, "%s%s%s", text,
                                   i > 0     ? "|"
                                   : row > 0 ? "\n"
                                             : "",
                                   value ? value : "");
        }
    }
    sqlite3_finalize(stmt);
    return text;
}

/* The content of the engine's tables, as text to compare. A count of 0 equals a missing row. */
static inline const char *raw_dump(sqlite3 *raw, struct fa_arena *arena)
{
    static const char *const tables[] = {
        "lane",     "task",  "ready",    "held", "parked", "ended", "task_key",
        "task_dep", "event", "resource", "hold", "paused", "team",  "tally WHERE n <> 0",
    };
    char *text = fa_arena_strdup(arena, "");

    for (size_t i = 0; i < FA_COUNT(tables); i++) {
        const char *sql = fa_arena_printf(arena, "SELECT * FROM %s ORDER BY 1, 2", tables[i]);

        text = fa_arena_printf(arena, "%s%s:\n%s\n", text, tables[i], raw_text(raw, sql, arena));
    }
    return text;
}

#endif
