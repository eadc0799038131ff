/*
 * row.h - a task as it is stored: its row in table `task`, which never changes, and its state row
 * in `ready`, `held`, `parked` or `ended`.
 *
 * Reads use it directly; changes go through a unit (unit.h), which keeps one row per task.
 *
 *   R1  A task has exactly one state row, in the table that `state_table` names.
 *   R2  `has_task` is false only for a held task of which just the state row was read.
 *   R3  Payloads (input, metadata, spec, output) are read where they are shown or compared, and
 *       nowhere else: `has_payload`. A cancelled tree of large tasks must not fill the memory.
 *   R4  Every row that is read is checked (row_check.h). A damaged task is reported (set_aside.h).
 *       Reading it alone fails with INTERNAL and a message that names it; a read of many tasks
 *       leaves it out.
 */
#ifndef FA_STORE_TXN_ROW_H
#define FA_STORE_TXN_ROW_H

#include "model/id.h"
#include "store/lanes/lanes.h"
#include "store/lanes/policies.h"
#include "store/upkeep/set_aside.h"

/* The table of the state row. */
enum fa_state_table {
    FA_STATE_TABLE_NONE,
    FA_STATE_TABLE_READY,
    FA_STATE_TABLE_HELD,
    FA_STATE_TABLE_PARKED,
    FA_STATE_TABLE_ENDED
};

/* Bits of `flags`. Stored; the view task_events uses the two EVENT bits, CREATED_BLOCKED and the
 * actor. */
enum fa_flag {
    FA_PHASE_MASK = 3,            /* enum faina_phase */
    FA_FLAG_CONTINUES = 1 << 2,   /* the next claim continues an attempt that was blocked */
    FA_FLAG_FAIL_FAST = 1 << 3,   /* unblock as soon as one child ends badly */
    FA_FLAG_CLAIM_EVENT = 1 << 4, /* claimed_us is an implicit event (unit.h, U5) */
    FA_FLAG_START_EVENT = 1 << 5, /* the same for started_us */
    FA_FLAG_HAS_PARENT = 1 << 6,
    FA_FLAG_HAS_CHILDREN = 1 << 7,
    FA_END_ACTOR_SHIFT = 8, /* two bits: enum faina_actor of the end */
    FA_END_ACTOR_MASK = 3 << 8,
    FA_FLAG_HAS_DEPENDENTS = 1 << 10,  /* another task has it in its dependsOn */
    FA_FLAG_WAITS_CHILDREN = 1 << 11,  /* blocked by its children, not by dependsOn */
    FA_FLAG_HAS_DEPS = 1 << 12,        /* has a dependsOn of its own */
    FA_FLAG_NOT_COUNTED = 1 << 13,     /* the present claim continues an attempt */
    FA_FLAG_CREATED_BLOCKED = 1 << 14, /* it was blocked when it was created */
    FA_FLAG_AWAITED = 1 << 15,         /* a child that its blocked parent waits for */
    FA_FLAG_HAS_ORIGIN = 1 << 16,      /* a workflow made it: `origin` has a row */
    FA_SUBTASK_COUNT_SHIFT = 17, /* 14 bits: how many subtasks the present attempt has requested */
    FA_SUBTASK_COUNT_MAX = (1 << 14) - 1,
    FA_SUBTASK_COUNT_MASK = FA_SUBTASK_COUNT_MAX << FA_SUBTASK_COUNT_SHIFT,
};

/* The number of attempts is the task's own, although it is the default. Other numbers always are.
 * held_renew.sql has the same bit, and so has submit_plan in SQL. */
#define FA_FLAG_OWN_ATTEMPTS (INT64_C(1) << 61)
/* A child that no block of its parent waits for. The longest lease ends below it. audit_blocked.sql
 * and held_renew.sql have the same bit. */
#define FA_FLAG_DETACHED (INT64_C(1) << 60)
#define FA_FLAGS_ABOVE (FA_FLAG_OWN_ATTEMPTS | FA_FLAG_DETACHED)

/* Above the other flags, the length of the lease in milliseconds; 0: the default. held_renew.sql
 * has the same shift. */
#define FA_LEASE_SHIFT 31
#define FA_FLAGS_MASK ((((int64_t)1 << FA_LEASE_SHIFT) - 1) | FA_FLAGS_ABOVE)

/* The workflow that made a task, and the length of its chain of tasks. */
struct fa_row_origin {
    struct faina_origin origin;
    int64_t depth;
};

struct fa_row {
    struct fa_id id;
    struct fa_lane *lane;
    int64_t rank; /* minus the priority */

    /* Table `task`. */
    bool has_task, has_payload;
    int64_t created_us, max_attempts, run_at_us;
    const char *input, *first_metadata, *spec; /* with has_payload */
    const char *name, *key, *input_hash;
    int64_t key_scope;   /* how long it keeps its key (model/task_rules.h) */
    int64_t parent;      /* 0: none */
    int64_t parent_tail; /* the rest of its id, with has_parent_tail; -1: it was purged */
    bool has_parent_tail;
    const char *child;
    int64_t depth;
    const char *team, *created_by;
    int64_t submitter; /* of a task made in this transaction (fa_access_submitter); 0: none */
    struct faina_retry_policy retry;
    int64_t timeout_ms, start_by_us;    /* 0: none */
    const char *group;                  /* its fair share; NULL: none */
    const struct fa_row_origin *origin; /* of a task that a workflow makes in this transaction */

    /* The state row. */
    enum fa_state_table state_table;
    enum faina_status status;
    int64_t version, fence, attempts, flags, deps_left, deps_bad, progress;
    int64_t updated_us, claimed_us, started_us, completed_us, deleted_us;
    int64_t at_us; /* pending: not before; held: end of the lease; background: deadline; 0: none */
    int64_t deadline_us; /* held: when the attempt has timed out; 0: never. at_us isn't later */
    int64_t due_us;      /* pending and due: the former at_us */
    int64_t turn;        /* ready, with a group: its turn (turns.h); 0: not assigned yet */
    int64_t oldest_key;  /* with a turn, as a claim read it: the oldest task of its lane and rank */
    const char *worker, *state, *error, *metadata;
    const char *output; /* with has_payload, or just completed */

    const char *damage; /* the reason why the row is damaged (R4); NULL: it is not */
    bool is_checked;    /* the payload has been checked: it is JSON */

    /* Used by the unit. */
    bool is_dirty, is_new, is_purged;
    bool is_changed;      /* its version has changed since it was written */
    bool is_replaced;     /* columns of `task` have changed (duplicate.c) */
    bool is_in_run;       /* its row in `ready` is or was one for several tasks (runs.h) */
    bool has_left;        /* it was reopened: its row in `ended` is of an earlier end */
    bool is_counted;      /* its end has been reported (commit_counts.h) */
    int64_t noted_us;     /* time of the last event that did not change the task */
    int64_t written_rank; /* `rank` as it is in the tables, when is_replaced */
    struct fa_row *next_in_bucket;
};

/* The length of its lease, for a renewal that gives none. */
int64_t fa_row_lease_us(const struct fa_row *row);
/* `rank` as the tables have it. */
static inline int64_t fa_row_written_rank(const struct fa_row *row)
{
    return row->is_replaced ? row->written_rank : row->rank;
}
/* Whether its submit has no more than a type, a priority, an input, a key and a name. */
bool fa_row_is_plain(const struct fa_row *row);

/* A connection to read from, and its cache of lanes. */
struct fa_source {
    struct fa_db *db;
    struct fa_lanes *lanes;
    bool for_change;                /* state rows are locked when they are read */
    const struct fa_db_call *also;  /* a query to send with the next read of many tasks; once */
    struct fa_aside *aside;         /* where damage is reported; NULL: nowhere */
    const struct fa_store *store;   /* NULL in tests of units alone */
    struct fa_policy_set *policies; /* of this transaction; NULL: none */
};

/* What applies to a task: its own value, else that of its type, else the default. The row must have
 * its columns of `task`. */
int64_t fa_row_max_attempts(const struct fa_source *source, const struct fa_row *row); /* 0: any */
struct faina_retry_policy fa_row_retry(const struct fa_source *source, const struct fa_row *row);
int64_t fa_row_timeout_ms(const struct fa_source *source, const struct fa_row *row); /* 0: none */
/* Sets the number of a submit or update: FAINA_UNLIMITED, or 0 for the default. */
void fa_row_set_attempts(struct fa_row *row, int max_attempts);
bool fa_row_has_own_attempts(const struct fa_row *row);
bool fa_row_has_own_retry(const struct fa_row *row);
/* Whether a row of another table passes its check (row_check.h). If not, reports it by `id`. */
struct fa_form;
bool fa_source_check(struct fa_source *source, const struct fa_form *form,
                     const struct fa_value *columns, const struct fa_value *id,
                     struct fa_arena *arena);

/* A reason: the task has no state row. */
#define FA_ROW_NO_STATE "it has a row in table task, and none in ready, held, parked or ended"

/* Reports a damaged task with the reason. Returns INTERNAL. */
enum faina_code fa_row_refuse(struct fa_source *source, struct fa_row *row, const char *reason,
                              struct faina_error *err);
/* The id of a task as text, or its key when the id is damaged; in `arena`. */
const char *fa_row_id_text(const struct fa_row *row, struct fa_arena *arena);

/* Keys of tasks, growing in an arena; fa_keys_sink adds the first column of a row. fa_keys_bind
 * makes key n the parameter of row n of a call. */
struct fa_keys {
    struct fa_arena *arena;
    int64_t *keys;
    size_t count, size;
};
void fa_keys_sink(void *ctx, size_t row, const struct fa_value *columns);
void fa_keys_bind(void *ctx, size_t row, struct fa_value *params);
void fa_keys_add(struct fa_keys *list, int64_t key);
/* Sorts by descending key: the order in which tasks are locked. */
void fa_keys_sort(int64_t *keys, size_t count);

/* Reads a task without its payload, also a deleted one. TASK_NOT_FOUND: there is none. */
FA_MUST_CHECK enum faina_code fa_row_load(struct fa_source *source, int64_t key,
                                          struct fa_arena *arena, struct fa_row *out,
                                          struct faina_error *err);
/* Reads only the state row of a held task. *found: it is held. */
FA_MUST_CHECK enum faina_code fa_row_load_held(struct fa_source *source, int64_t key,
                                               struct fa_arena *arena, struct fa_row *out,
                                               bool *found, struct faina_error *err);
/* Reads the row in `task`, if it has not been read yet (R2). */
FA_MUST_CHECK enum faina_code fa_row_load_task(struct fa_source *source, struct fa_row *row,
                                               struct fa_arena *arena, struct faina_error *err);

/* The same for many; rows of purged tasks stay as they are. */
FA_MUST_CHECK enum faina_code fa_rows_load_tasks(struct fa_source *source, struct fa_row **rows,
                                                 size_t count, struct fa_arena *arena,
                                                 struct faina_error *err);

/* Reads the payload, if it has not been read yet (R3). */
FA_MUST_CHECK enum faina_code fa_row_load_payload(struct fa_source *source, struct fa_row *row,
                                                  struct fa_arena *arena, struct faina_error *err);

/* Reads the columns of task_payload. */
void fa_row_take_payload(const struct fa_value *columns, struct fa_arena *arena,
                         struct fa_row *row);

/*
 * Reads many tasks with as few statements as possible, and passes each to `found`. Missing tasks
 * are left out. Keys must be unique; they are sorted in descending order. With `with_task`, held
 * tasks have their columns of `task`, too; with `payload`, all have their payload.
 */
typedef void fa_row_found_fn(void *ctx, const struct fa_row *row);
struct fa_rows_options {
    bool with_task, payload;
};
FA_MUST_CHECK enum faina_code fa_rows_load(struct fa_source *source, int64_t *keys, size_t count,
                                           struct fa_rows_options options, struct fa_arena *arena,
                                           fa_row_found_fn *found, void *ctx,
                                           struct faina_error *err);

/*
 * Reads subtasks in the order of their creation, after the key `after`, with their payloads: up to
 * *count of them into `rows`. *count becomes how many were read. One that was just removed has
 * FA_STATE_TABLE_NONE. With `ends`, they have no columns of `task` but their names, and ended ones
 * only the status, output and error: such rows can be shown, and nothing else.
 */
FA_MUST_CHECK enum faina_code fa_rows_load_children(struct fa_source *source,
                                                    const struct fa_row *parent, int64_t after,
                                                    bool ends, struct fa_row *rows, size_t *count,
                                                    struct fa_arena *arena,
                                                    struct faina_error *err);

/* Reads the columns of ready_scan, with payloads or without. The caller sets the lane. */
void fa_row_from_ready_scan(const struct fa_value *columns, struct fa_arena *arena,
                            bool has_payload, struct fa_row *out);
/* Of ready_scan_turns, which has more columns: the turn, and the key of the oldest ready task of
 * the lane and rank. */
int64_t fa_row_scanned_turn(const struct fa_value *columns);
int64_t fa_row_scanned_oldest(const struct fa_value *columns);
/* The same for ready_scan_plain, which has the payload too. False: the task is not plain, or not of
 * the days that were scanned, and needs ready_scan. */
bool fa_row_from_plain_scan(const struct fa_value *columns, struct fa_arena *arena,
                            struct fa_row *out);
/* Whether a row of ready_scan_plain is of another day. */
bool fa_row_is_of_other_day(const struct fa_value *columns);

#endif
