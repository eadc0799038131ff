/*
 * row.h - a task as the store holds it: what was asked for, and how it stands.
 *
 * Reads use it directly; changes go through a unit (unit.h), which keeps one row per task.
 *
 *   R1  A task has exactly one standing row, in the table that `home` names.
 *   R2  `has_task` is false only for a held task of which just the standing was read.
 *   R3  Payloads (input, metadata, spec, output) are read where they are shown or compared, and
 *       nowhere else: `has_payload`. A cancelled tree of large tasks must not fill the memory.
 *   R4  What is read is checked (sound.h). A damaged task is reported (set_aside.h). Reading it
 *       alone fails with INTERNAL and a sentence that names it; reading it among others leaves it
 *       out.
 */
#ifndef FA_ROW_H
#define FA_ROW_H

#include "model/id.h"
#include "sql/lanes.h"
#include "sql/set_aside.h"

/* The table of the standing row. */
enum fa_home { FA_HOME_NONE, FA_HOME_READY, FA_HOME_HELD, FA_HOME_PARKED, FA_HOME_ENDED };

/* Bits of `flags`. Stored; the view task_events knows the two EVENT ones, BORN_BLOCKED and the
 * actor. */
enum fa_flag {
    FA_PHASE_MASK = 3,            /* enum faina_phase */
    FA_FLAG_CONTINUES = 1 << 2,   /* the next claim goes on with an attempt that was blocked */
    FA_FLAG_FAIL_FAST = 1 << 3,   /* unblock as soon as one child ends badly */
    FA_FLAG_CLAIM_EVENT = 1 << 4, /* claimed_us is an event that was not written */
    FA_FLAG_START_EVENT = 1 << 5, /* the same for started_us */
    FA_FLAG_HAS_PARENT = 1 << 6,
    FA_FLAG_HAS_CHILDREN = 1 << 7,
    FA_END_ACTOR_SHIFT = 8, /* two bits: enum faina_actor of the end */
    FA_END_ACTOR_MASK = 3 << 8,
    FA_FLAG_HAS_DEPENDENTS = 1 << 10, /* somebody has named it in dependsOn */
    FA_FLAG_WAITS_CHILDREN = 1 << 11, /* blocked by its children, not by dependsOn */
    FA_FLAG_HAS_DEPS = 1 << 12,       /* has a dependsOn of its own */
    FA_FLAG_NOT_COUNTED = 1 << 13,    /* the present claim went on with an attempt */
    FA_FLAG_BORN_BLOCKED = 1 << 14,   /* it had to wait from the first */
    FA_FLAG_AWAITED = 1 << 15,        /* a child that counts in its parent's present block */
    FA_FLAG_HAS_ORIGIN = 1 << 16,     /* a workflow made it: `origin` has a row */
    FA_ASKED_SHIFT = 17, /* 14 bits: how many subtasks the present attempt has asked for */
    FA_ASKED_MAX = (1 << 14) - 1,
    FA_ASKED_MASK = FA_ASKED_MAX << FA_ASKED_SHIFT,
};

/* Above them, how long its lease is in milliseconds; 0: as long as usual. held_renew.sql knows the
 * shift. */
#define FA_LEASE_SHIFT 31
#define FA_FLAGS_MASK (((int64_t)1 << FA_LEASE_SHIFT) - 1)

/* What made a task, and how many tasks led to it. */
struct fa_row_origin {
    struct faina_origin told;
    int64_t depth;
};

struct fa_row {
    struct fa_id id;
    struct fa_lane *lane;
    int64_t rank; /* minus the priority */

    /* What was asked for; never changes. */
    bool has_task, has_payload;
    int64_t created_us, max_attempts, run_at_us;
    const char *input, *first_metadata, *spec; /* with has_payload */
    const char *name, *key, *input_hash;
    int64_t parent;      /* 0: none */
    int64_t parent_tail; /* the rest of its id, with has_parent_tail; -1: it is gone */
    bool has_parent_tail;
    const char *child;
    int64_t depth;
    const char *team, *created_by;
    int64_t submitter; /* of a task made in this transaction (fa_access_submitter); 0: none */
    struct faina_retry_policy retry;
    const struct fa_row_origin *origin; /* of a task that a workflow makes in this transaction */

    /* How it stands. */
    enum fa_home home;
    enum faina_status status;
    int64_t version, fence, attempts, flags, deps_left, deps_bad, progress;
    int64_t updated_us, claimed_us, started_us, completed_us, deleted_us;
    int64_t at_us;  /* pending: not before; held: end of the lease; background: deadline; 0: none */
    int64_t due_us; /* pending and due: what at_us was before */
    const char *worker, *state, *error, *metadata;
    const char *output; /* with has_payload, or just completed */

    const char *damage; /* what is wrong with what was read (R4); NULL: it is sound */
    bool is_checked;    /* the payload is known to be JSON */

    /* The unit's own. */
    bool is_dirty, is_new, is_purged;
    bool is_in_run;   /* `ready`: its row there stands for others, too, or has (runs.h) */
    bool has_left;    /* `ended`, since it was last written: its row there is of an earlier end */
    bool is_counted;  /* its end is among the facts that are told (facts.h) */
    int64_t noted_us; /* of the last event that did not change the task */
    struct fa_row *next_in_bucket;
};

/* How long a renewal of its lease is good for when nobody says. */
int64_t fa_row_lease_us(const struct fa_row *row);
/* Whether what was asked for is no more than a type, a priority, an input, a key and a name. */
bool fa_row_is_plain(const struct fa_row *row);

/* Where answers and reads come from: a connection and its cache of lanes. */
struct fa_source {
    struct fa_db *db;
    struct fa_lanes *lanes;
    bool for_change; /* standings are read to be changed: nobody else may change them meanwhile */
    const struct fa_db_call *also; /* a question to go along with the next read of many; once */
    struct fa_aside *aside;        /* where damage is reported; NULL: nowhere */
};

/* Whether a row of another table is sound (sound.h). One that is not is reported, by `id`. */
struct fa_form;
bool fa_source_check(struct fa_source *source, const struct fa_form *form,
                     const struct fa_value *columns, const struct fa_value *id,
                     struct fa_arena *arena);

/* A reason: none of the tables says how the task stands. */
#define FA_ROW_NOWHERE "its row in table task has none beside it that says how it stands"

/* The task is damaged, for this reason: reports it, and gives INTERNAL with a sentence. */
enum faina_code fa_row_refuse(struct fa_source *source, struct fa_row *row, const char *reason,
                              struct faina_error *err);
/* The id of a task, or what is known of it when that is damaged; in `arena`. */
const char *fa_row_id_text(const struct fa_row *row, struct fa_arena *arena);

/* Keys of tasks, growing in an arena; fa_keys_sink adds the first column of a row. */
struct fa_keys {
    struct fa_arena *arena;
    int64_t *keys;
    size_t count, size;
};
void fa_keys_sink(void *ctx, size_t row, const struct fa_value *columns);

/* Reads a task without its payload. TASK_NOT_FOUND: there is none with this key. Deleted ones are
 * found. */
FA_MUST_CHECK enum faina_code fa_row_load(struct fa_source *source, int64_t key,
                                          struct fa_arena *arena, struct fa_row *out,
                                          struct faina_error *err);
/* Reads the standing of a held task only; *found tells whether it is held. */
FA_MUST_CHECK enum faina_code fa_row_load_held(struct fa_source *source, int64_t key,
                                               struct fa_arena *arena, struct fa_row *out,
                                               bool *found, struct faina_error *err);
/* Reads what was asked for, when it wasn't yet (R2). */
FA_MUST_CHECK enum faina_code fa_row_load_task(struct fa_source *source, struct fa_row *row,
                                               struct fa_arena *arena, struct faina_error *err);

/* The same for many; those that are gone stay as they are. */
FA_MUST_CHECK enum faina_code fa_rows_load_tasks(struct fa_source *source, struct fa_row **rows,
                                                 size_t count, struct fa_arena *arena,
                                                 struct faina_error *err);

/* Reads the payload, when it wasn't yet (R3). */
FA_MUST_CHECK enum faina_code fa_row_load_payload(struct fa_source *source, struct fa_row *row,
                                                  struct fa_arena *arena, struct faina_error *err);

/* Takes apart a row of task_payload. */
void fa_row_take_payload(const struct fa_value *columns, struct fa_arena *arena,
                         struct fa_row *row);

/*
 * Reads many tasks with as few statements as there can be, and gives each to `found`. Those that
 * are not there are left out. Keys must be unique; they are sorted, the youngest first. With
 * `whole`, held ones have what was asked for too; with `payload`, all have their payload.
 */
typedef void fa_row_found_fn(void *ctx, const struct fa_row *row);
struct fa_rows_wish {
    bool whole, payload;
};
FA_MUST_CHECK enum faina_code fa_rows_load(struct fa_source *source, int64_t *keys, size_t count,
                                           struct fa_rows_wish wish, struct fa_arena *arena,
                                           fa_row_found_fn *found, void *ctx,
                                           struct faina_error *err);

/*
 * Reads subtasks in the order they were made, after the key `after`, with their payloads: up to
 * *count of them into `rows`. Then *count is how many there were. One that was just removed has
 * FA_HOME_NONE. With `ends`, of what was asked for they have their names only, and of those that
 * have ended only the status, output and error: good for showing that, and for nothing else.
 */
FA_MUST_CHECK enum faina_code fa_rows_load_children(struct fa_source *source,
                                                    const struct fa_row *parent, int64_t after,
                                                    bool ends, struct fa_row *rows, size_t *count,
                                                    struct fa_arena *arena,
                                                    struct faina_error *err);

/* Takes apart a row of ready_scan, which was asked for payloads or not. The lane is the caller's to
 * set. */
void fa_row_from_ready_scan(const struct fa_value *columns, struct fa_arena *arena,
                            bool has_payload, struct fa_row *out);
/* The same for ready_scan_plain, which has the payload too. False: the task is not plain, or not
 * one of the days that were looked at, and needs ready_scan. */
bool fa_row_from_plain_scan(const struct fa_value *columns, struct fa_arena *arena,
                            struct fa_row *out);
/* Whether a row of ready_scan_plain is of another day. */
bool fa_row_is_elsewhere(const struct fa_value *columns);

#endif
