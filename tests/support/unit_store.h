/*
 * unit_store.h - a store without an engine: a file, a unit over it, and a clock that the test sets.
 *
 * Between the unit and SQLite is a spy, which is an implementation of db.h: it records the
 * statements that are run, and can be made to fail.
 *
 * Threads: one.
 */
#ifndef FA_TEST_STORE_H
#define FA_TEST_STORE_H

#include "store/queue/ops.h"
#include "store/txn/unit.h"
#include "support/raw.h"

#define STORE_NOW INT64_C(1767312000000000) /* a time in 2026 */

struct spy {
    struct fa_db base; /* first member */
    struct fa_db_ops ops;
    struct fa_db *inner;
    int64_t calls;                 /* of run and script */
    size_t rows[FA_SQL_COUNT];     /* how many rows of parameters each statement got ... */
    size_t runs[FA_SQL_COUNT];     /* ... in how many calls */
    int64_t fail_at;               /* the call with this number fails; 0: none */
    void (*on_call)(struct spy *); /* before each call; may be NULL */
};

void spy_init(struct spy *spy, struct fa_db *inner);
void spy_forget(struct spy *spy); /* clears the record */

struct store {
    char dir[FA_T_PATH_SIZE];
    char path[FA_T_PATH_SIZE + 16];
    struct fa_db *db; /* SQLite itself */
    struct spy spy;   /* what the unit uses */
    struct fa_lanes *lanes;
    struct fa_id_source ids;
    struct fa_random random;
    struct fa_unit unit;
    struct fa_arena arena; /* results */
    sqlite3 *raw;          /* another connection, for reading */
    struct fa_op op;       /* the newest operation */
};

void store_open(struct store *store);
void store_close(struct store *store);

/* A transaction; the unit starts empty. */
void store_begin(struct store *store);
void store_commit(struct store *store); /* flushes first */
void store_rollback(struct store *store);

/* One operation, with its result in store->op; the clock advances by a microsecond. */
enum faina_code store_run(struct store *store, const struct fa_op *op);
/* store_submit(s, .type = "a") must be accepted; the row is the unit's. */
#define store_submit(store, ...) store_submit_row(store, &(struct faina_submit){__VA_ARGS__})
struct fa_row *store_submit_row(struct store *store, const struct faina_submit *submit);
/* The task as text, for an operation. */
const char *store_id(struct store *store, const struct fa_row *row);
/* The row in the open transaction; it must exist. */
struct fa_row *store_get(struct store *store, int64_t key);

/* Makes a committed task in this status by the usual operations; returns its key. */
int64_t store_make(struct store *store, enum faina_status status);

#endif
