/*
 * store.h - what keeps the tables: a SQLite file, memory, or a PostgreSQL schema.
 *
 * A store hands out connections (db.h). The engine knows nothing else about it but what is in this
 * table.
 */
#ifndef FA_STORE_H
#define FA_STORE_H

#include "model/backup.h"
#include "sql/db.h"
#include "sql/fleet.h"

struct fa_steady;
struct fa_store;

/* The end of a sentence that says that there is none. */
#define FA_NO_STORE                                                                                \
    "; faina submit, faina serve or faina db migrate makes one, or --url names another"

struct fa_store_ops {
    const char *name; /* "sqlite", "memory", "postgres" */
    size_t writers;   /* how many transactions that change something may run at once */
    bool has_readers; /* reads have connections of their own */
    int64_t poll_ms;  /* how often to look for what nobody told us; 0: we know everything */

    /* Required. */
    enum faina_code (*connect)(struct fa_store *store, bool for_reading, struct fa_db **out,
                               struct faina_error *err);
    /* Required. On disk, in bytes; -1: unknown. */
    int64_t (*size)(struct fa_store *store);
    /* Required. For people; no secrets. NULL: it has no place. */
    const char *(*location)(struct fa_store *store);
    /* Optional. The clock of its connections, which the engine steps (timekeeper.h). NULL: they
     * have the database's. */
    struct fa_steady *(*clock)(struct fa_store *store);
    /* Optional. Before each transaction: whether what is written now would be found again. */
    enum faina_code (*check)(struct fa_store *store, struct faina_error *err);
    /* Optional. Begins to talk to the other nodes that use the store. */
    enum faina_code (*join)(struct fa_store *store, const struct fa_fleet_events *events,
                            struct fa_fleet **out, struct faina_error *err);
    /* Optional. Writes down for others where the engine is served; NULL: it is about to be closed,
     * and served until then. */
    void (*advertise)(struct fa_store *store, const char *address);
    /* Optional. Writes what the store holds at this moment to `path`, an existing empty file, while
     * others go on. OVERLOADED: this is being done already. */
    enum faina_code (*backup)(struct fa_store *store, const char *path,
                              const struct fa_backup_watch *watch, struct faina_error *err);
    /* Optional, both or neither. A transaction found the disk full: gives up what was kept for
     * finishing work. */
    void (*make_room)(struct fa_store *store);
    /* Whether there is room for finishing work only, so that new tasks must be refused. */
    bool (*is_full)(struct fa_store *store);
    /* Required. After all its connections are closed. */
    void (*close)(struct fa_store *store);
};

/* The first member of every store. */
struct fa_store {
    const struct fa_store_ops *ops;
    bool must_exist; /* its tables are not made */
};

/* Who has a file that can't be had. */
struct fa_store_owner {
    bool must_exist;   /* given: a file that isn't there, or is empty, is not made */
    bool is_guest;     /* given: one that is about to go will do, as long as it serves the file */
    char address[160]; /* where it serves the file ("unix:/path/faina.db.sock"); "": nowhere */
    bool is_leaving;   /* it is about to go */
};

/* A SQLite file, or (path NULL) memory. Codes as for faina_open. When the file has an owner that
 * serves it, it fails at once and tells where; `owner` may be NULL. */
FA_MUST_CHECK enum faina_code fa_store_open_sqlite(struct fa_store **out, const char *path,
                                                   const struct faina_options *options,
                                                   struct fa_store_owner *owner,
                                                   struct faina_error *err);
/* The process that has the file for itself; 0: none has, or others reach the file through it. */
long fa_store_owner_sqlite(const char *path);
/* A PostgreSQL schema. */
FA_MUST_CHECK enum faina_code fa_store_open_postgres(struct fa_store **out, const char *url,
                                                     struct faina_error *err);

#endif
