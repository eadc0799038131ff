/*
 * bulk.h - an operation on many tasks: cancel, retry, delete or update what a filter selects.
 *
 * It is stored, and runs in slices (store/upkeep/bulk_runner.h).
 *
 * Threads: plain values and pure functions.
 */
#ifndef FA_MODEL_BULK_H
#define FA_MODEL_BULK_H

#include <faina.h>

#include <stdbool.h>
#include <stddef.h>

/* Stored. */
enum fa_bulk_kind {
    FA_BULK_CANCEL,
    FA_BULK_RETRY,
    FA_BULK_DELETE,
    FA_BULK_UPDATE,
    FA_BULK_KIND_COUNT
};

/* Stored. */
enum fa_bulk_status {
    FA_BULK_RUNNING,
    FA_BULK_COMPLETED,
    FA_BULK_CANCELLED,
    FA_BULK_FAILED,
    FA_BULK_STATUS_COUNT
};

/* The words of the enums, by their values; NULL after the last. */
const char *fa_bulk_kind_word(int kind);
const char *fa_bulk_status_word(int status);

/* What is requested. */
struct fa_bulk_request {
    enum fa_bulk_kind kind;
    bool has_filter;
    struct faina_query query; /* only the conditions count */
    bool all;                 /* of the namespace: no condition is needed */
    bool dry_run;             /* of a body: only counts */
    const char *reason;
    const struct faina_update *set;  /* update: not NULL */
    bool has_reset, resets_attempts; /* retry; by default it does */
    bool cancels, purges;            /* delete */
};

/* An operation as it is stored. */
struct fa_bulk {
    char id[FAINA_ID_SIZE];
    enum fa_bulk_kind kind;
    enum fa_bulk_status status;
    const char *ns;             /* of the filter; "*": all */
    int64_t matched;            /* tasks that the filter has found */
    int64_t done, failed;       /* tasks that were changed, and that were not */
    const char *created_by;     /* the token's name; NULL: there was none */
    const char *reason, *error; /* error: why it failed; NULL: it has not */
    const char *filter, *set;   /* JSON */
    const char *task_id;        /* cancels the tasks below this one; NULL: those of the filter */
    int64_t created_us, updated_us, ended_us;
};

struct fa_bulks {
    size_t count;
    struct fa_bulk *items;
};

#endif
