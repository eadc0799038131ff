/*
 * db_sqlite.h - db.h over SQLite.
 *
 * A file has one writing connection and any number of reading ones, which never wait for it. Only
 * the writing one checkpoints the log, with the help of a checkpointer (checkpointer.h) when the
 * log is long. A memory store has one connection for all.
 */
#ifndef FA_STORE_DB_SQLITE_DB_SQLITE_H
#define FA_STORE_DB_SQLITE_DB_SQLITE_H

#include "store/db/db.h"

#include <stdatomic.h>

struct fa_steady;
struct fa_reserve;

struct fa_sqlite_options {
    const char *path;  /* NULL: in memory */
    const char *shown; /* the file's name in messages; NULL: its path */
    bool is_reader;
    bool is_immutable;           /* a reader of a file that never changes and has no log: a backup.
                                    It must be a Faina database. */
    const atomic_int *snapshots; /* how many long readers there are (store_sqlite.c); or NULL */
    struct fa_reserve *reserve;  /* of a writer; may be NULL, or else: */
    int file_fd;                 /* ... the file, open for writing */
    int64_t cache_kib;
    struct fa_steady *clock;       /* the time; NULL: the wall clock */
    int (*should_stop)(void *ctx); /* NULL, or called regularly: not 0 ends a statement */
    void *stop_ctx;
};

/* UNAVAILABLE: the file can't be opened, or isn't a database; the message names the file. */
FA_MUST_CHECK enum faina_code fa_sqlite_open(struct fa_db **out,
                                             const struct fa_sqlite_options *options,
                                             struct faina_error *err);
/* All migrations of this version, in order. */
const struct fa_migration *fa_sqlite_migrations(size_t *count);

/* Adds the functions that the schema's steps call. Returns a code of SQLite. */
struct sqlite3;
int fa_sqlite_add_functions(struct sqlite3 *handle);

#endif
