/*
 * store.h - where the tables are: a SQLite file, memory, or a PostgreSQL schema.
 *
 * A store opens connections (db.h). The engine uses it through this table only.
 */
#ifndef FA_STORE_DB_STORE_H
#define FA_STORE_DB_STORE_H

#include "model/backup.h"
#include "store/db/db.h"
#include "store/db/fleet.h"

struct fa_steady;
struct fa_store;

/* The end of a message about a missing store. */
#define FA_NO_STORE                                                                                \
    "; faina submit, faina serve or faina db migrate makes one, or --url names another"

struct fa_store_ops {
    const char *name; /* "sqlite", "memory", "postgres" */
    size_t writers;   /* how many writing transactions run at once */
    bool has_readers; /* reads have their own connections */
    int64_t poll_ms;  /* how often to poll for changes of other nodes; 0: there are none */

    /* Required. */
    enum faina_code (*connect)(struct fa_store *store, bool for_reading, struct fa_db **out,
                               struct faina_error *err);
    /* Required. On disk, in bytes; -1: unknown. */
    int64_t (*size)(struct fa_store *store);
    /* Required. For messages; holds no secrets. NULL: the store is in memory. */
    const char *(*location)(struct fa_store *store);
    /* Optional. The clock of its connections, which the engine steps (timekeeper.h). NULL: they use
     * the database's. */
    struct fa_steady *(*clock)(struct fa_store *store);
    /* Optional. Before each transaction: whether the files are still in place. */
    enum faina_code (*check)(struct fa_store *store, struct faina_error *err);
    /* Optional. Joins the fleet of nodes that use the store. */
    enum faina_code (*join)(struct fa_store *store, const struct fa_fleet_events *events,
                            struct fa_fleet **out, struct faina_error *err);
    /* Optional. Publishes the address at which the engine is served. NULL: it shuts down, and is
     * served until then. */
    void (*advertise)(struct fa_store *store, const char *address);
    /* Optional. Writes a snapshot of the store to `path`, an existing empty file, while writers
     * continue. OVERLOADED: another backup is running. */
    enum faina_code (*backup)(struct fa_store *store, const char *path,
                              const struct fa_backup_watch *watch, struct faina_error *err);
    /* Optional, both or neither. A transaction found the disk full: releases the space that is
     * reserved for finishing work. */
    void (*make_room)(struct fa_store *store);
    /* Whether there is space for finishing work only, so that new tasks must be refused. */
    bool (*is_full)(struct fa_store *store);
    /* Required. After all its connections are closed. */
    void (*close)(struct fa_store *store);
};

struct fa_history_log;
struct fa_policies;

/* The first member of every store. */
struct fa_store {
    const struct fa_store_ops *ops;
    bool must_exist; /* its tables are not created */
    /* Set when an engine opens it: */
    char node[128];                 /* the name of this node: hostname-pid-random */
    int64_t worker_dead_us;         /* a worker without a heartbeat for this long is dead */
    struct fa_policies *policies;   /* of types (lanes/policies.h) */
    struct fa_history_log *history; /* counts that are not stored yet (txn/history_log.h) */
};

/* The owner of a file that can't be opened because of it. */
struct fa_store_owner {
    bool must_exist;   /* given: a missing or empty file is not created */
    bool is_brief;     /* given: an owner that is leaving will do, while it serves the file */
    char address[160]; /* where it serves the file ("unix:/path/faina.db.sock"); "": nowhere */
    bool is_leaving;   /* the owner shuts down */
};

/* A SQLite file, or (path NULL) memory. Codes as for faina_open. When the file has an owner that
 * serves it, the call fails at once and returns the address; `owner` may be NULL. */
FA_MUST_CHECK enum faina_code fa_store_open_sqlite(struct fa_store **out, const char *path,
                                                   const struct faina_options *options,
                                                   struct fa_store_owner *owner,
                                                   struct faina_error *err);
/* The pid of an owner that doesn't serve the file; 0: there is none. */
long fa_store_owner_sqlite(const char *path);
/* Whether a process has the file open. */
bool fa_store_has_owner_sqlite(const char *path);
/* A PostgreSQL schema. */
FA_MUST_CHECK enum faina_code fa_store_open_postgres(struct fa_store **out, const char *url,
                                                     struct faina_error *err);

#endif
