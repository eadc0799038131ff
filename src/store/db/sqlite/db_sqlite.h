/*
 * db_sqlite.h - db.h over SQLite.
 *
 * A file has one writing connection and any number of reading ones, which never wait for it. The
 * writing one also moves the log into the file, with the help of a mover (mover.h) when it is long;
 * nobody else does. A memory store has one connection for all.
 */
#ifndef FA_DB_SQLITE_H
#define FA_DB_SQLITE_H

#include "sql/db.h"

#include <stdatomic.h>

struct fa_steady;
struct fa_reserve;

struct fa_sqlite_options {
    const char *path;  /* NULL: in memory */
    const char *shown; /* what sentences call the file; NULL: by its path */
    bool is_reader;
    bool is_still;               /* a reader of a file that nobody changes and that has no log: a
                                    backup. It must be a Faina database. */
    const atomic_int *snapshots; /* readers that take long (store_sqlite.c); may be NULL */
    struct fa_reserve *reserve;  /* of a writer; may be NULL, or else: */
    int file_fd;                 /* ... the file, open for writing */
    int64_t cache_kib;
    struct fa_steady *clock;       /* the time; NULL: the wall clock */
    int (*should_stop)(void *ctx); /* NULL, or asked now and then: not 0 ends a statement */
    void *stop_ctx;
};

/* UNAVAILABLE: the file can't be opened, or isn't a database; the sentence says which file. */
FA_MUST_CHECK enum faina_code fa_sqlite_open(struct fa_db **out,
                                             const struct fa_sqlite_options *options,
                                             struct faina_error *err);
/* Every step that this program knows, in order. */
const struct fa_migration *fa_sqlite_migrations(size_t *count);

#endif
