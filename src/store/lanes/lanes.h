/*
 * lanes.h - the writer's cache of lanes, resources and pauses: what a claim needs of the store.
 *
 * A lane is (namespace, type, set of resources): tasks that can be claimed under exactly the same
 * conditions. Types and resources that differ only in the case of letters are the same: each
 * spelling has a lane of its own, with the same fa_type and fa_resource. Tasks with a group have
 * lanes of their own, too: the text of their resources begins with a space.
 *
 * A task is ready when it is pending and due; the ready tasks of a lane are its ready queue (table
 * `ready`), in the order of their positions (heap.h), or of their turns (turns.h) if they have a
 * group. The cache also has each resource's limit and use, and the paused types.
 *
 *   L1  It mirrors the tables lane, resource, hold and paused as of the open transaction.
 *   L2  After a rollback it is loaded again, so nothing in it outlives a transaction that failed.
 *   L3  A lane with ready tasks has may_have_ready set; a lane without may have it set, too.
 *   L4  In a store that other nodes write to (FA_DB_MANY_WRITERS), L1 and L3 hold from
 *       fa_lanes_refresh to the end of the transaction, and the use and the token bucket of a
 *       limited resource from fa_lanes_lock on.
 *   L5  In a shared store, each read of ready queues is followed by a read of pauses and limits. So
 *       a claim that finds a task which was made ready after a pause also finds the pause.
 *   L6  A damaged row is reported and left out; a task that needs it is damaged, too (row.h, R4).
 *   L7  A start of a task takes a token of each of its resources with a rate, in the transaction
 *       that claims it. A lane with an empty bucket is closed until the time of the next token.
 *
 * Threads: the batch leader.
 */
#ifndef FA_STORE_LANES_LANES_H
#define FA_STORE_LANES_LANES_H

#include "model/rate.h"
#include "store/db/db.h"
#include "store/lanes/lane_index.h"
#include "store/lanes/types.h"

struct fa_row;

/* What a request sets for a resource. */
struct fa_own_limits {
    int64_t max;            /* -1: no limit */
    struct faina_rate rate; /* count 0: none */
};

struct fa_resource {
    int64_t id;
    char *name;
    /* The limits that apply: its own if it is_set, else those of the longest name with "*" that
     * applies to it (lanes_rates.c). */
    int64_t max;            /* -1: no limit */
    struct faina_rate rate; /* count 0: none */
    struct fa_own_limits own;
    int64_t in_use;
    struct fa_bucket bucket; /* of the rate; L4 */
    bool has_spent;          /* the bucket has to be written; is in fa_lanes.spent */
    struct fa_resource *next_spent;
    uint32_t due_at;               /* its slot in fa_lanes.due, while buckets wait for a token */
    bool is_set;                   /* by a request; not only named by a task */
    bool is_stored;                /* it has a row, whose id this is */
    bool is_changed;               /* has a limit to be written */
    uint64_t lock_epoch;           /* of the transaction that has it locked (L4) */
    struct fa_lane_bucket *parked; /* until it has a permit (lane_index.h) */
    bool is_touched;               /* may have to be written; is in fa_lanes.touched */
    struct fa_resource *next_touched;
};

struct fa_lane {
    int64_t id;
    size_t index;          /* in fa_lanes_all */
    const char *ns, *type; /* owned by type_info, except own_type */
    char *own_type;        /* its spelling, where it is not that of type_info; or NULL */
    char *resources_json;
    struct fa_type *type_info;
    struct fa_lane *next_of_type;
    struct fa_resource **resources; /* sorted by name, each once */
    const char **resource_names;    /* the same, in the lane's spelling */
    size_t resource_count;
    bool is_stored;
    bool has_groups; /* its tasks have groups */
    bool may_have_ready;
    bool is_listed;     /* in fa_lanes_ready (shared store) */
    uint64_t find_mark; /* claim_find.c: the last search that found it */
    bool has_nonplain;  /* a ready task is not plain: the queue is read with ready_scan */
    bool has_past_days; /* a ready task was created before today: all partitions are read */
    int64_t task_size;  /* moving average of its tasks' payload size; 0: not known yet */
    int64_t tally[FAINA_STATUS_COUNT]; /* changes of the open transaction, not yet written */
    struct fa_lanes *lanes;
    bool is_dirty; /* has to be written; is in fa_lanes.dirty */
    struct fa_lane *next_dirty;
    /* Read-ahead: ready tasks that the open transaction has read; from ahead_next on not taken. */
    struct fa_row **ahead;
    size_t ahead_count, ahead_next, ahead_size;
    uint64_t ahead_epoch, ahead_arrivals; /* void unless equal to the unit's epoch and `arrivals` */
    uint64_t arrivals;                    /* grows whenever tasks become ready */
    bool ahead_is_last;                   /* the queue has no more after these */
    struct fa_position ahead_end;         /* the queue was read up to here */
    int64_t ahead_turn;                   /* ... with groups: to this turn of that rank, and id */
    size_t read_count;                    /* rows of the last read, also those left out ... */
    struct fa_position read_end;          /* ... and the position of the last one */
    int64_t read_turn;                    /* ... and its turn */
    struct fa_position best;              /* lane_index.h, G1 */
    struct fa_lane_bucket *buckets[FA_AXIS_COUNT];
    uint32_t bucket_at[FA_AXIS_COUNT];
    struct fa_position *scan_starts; /* sorted by rank (scan_start.h) */
    size_t scan_start_count;
    struct fa_history_counts *history; /* of its type, valid in one minute (history_log.h) */
    uint64_t history_epoch;
};

struct fa_lanes;

struct fa_lanes *fa_lanes_create(void);
void fa_lanes_destroy(struct fa_lanes *lanes);
/* Where damaged rows are reported; they are left out (L6). */
struct fa_aside;
void fa_lanes_report_to(struct fa_lanes *lanes, struct fa_aside *aside);
/* Limits the number of types of a namespace (lanes_room.c). Initially there is no limit. */
void fa_lanes_set_types_max(struct fa_lanes *lanes, int64_t types_max);
/* Empties the cache, then reads everything from the store (L2). In a shared store the cache stays
 * empty: lanes are read when they are needed. */
FA_MUST_CHECK enum faina_code fa_lanes_load(struct fa_lanes *lanes, struct fa_db *db,
                                            struct faina_error *err);

#define FA_LANES_SCANS_MAX 4 /* calls that read ready queues, in one round trip */

/* Reads what other nodes may have changed: pauses, limits, and which lanes have ready tasks (L4).
 * If the table `ready` is bloated (scan_start.h) or lanes are few, all lanes are taken to have
 * ready tasks. If many lanes have ready tasks, each claim finds its own (claim_find.c).
 * The calls `scans` are run first, in the same round trip (L5); then limits are read only if some
 * lane names a resource. */
FA_MUST_CHECK enum faina_code fa_lanes_refresh(struct fa_lanes *lanes, struct fa_db *db,
                                               bool is_bloated, const struct fa_db_call *scans,
                                               size_t scan_count, struct faina_error *err);
/* Shared store: whether the cache has grown so large that it should be loaded again. */
bool fa_lanes_are_too_many(const struct fa_lanes *lanes);
/* Whether the last refresh has read the limits; whether it hasn't and a lane needs them. */
bool fa_lanes_have_limits(const struct fa_lanes *lanes);
bool fa_lanes_need_limits(const struct fa_lanes *lanes);
/* Reads ready queues, and pauses and new limits since the refresh (L5). */
FA_MUST_CHECK enum faina_code fa_lanes_scan(struct fa_lanes *lanes, struct fa_db *db,
                                            const struct fa_db_call *scans, size_t scan_count,
                                            bool with_limits, struct faina_error *err);
/* Whether the lane names a resource without a limit and a rate. */
bool fa_lane_is_limitable(const struct fa_lane *lane);
/* Whether there are so few lanes that all of them are taken to have ready tasks. */
bool fa_lanes_are_few(const struct fa_lanes *lanes, bool is_bloated);

#define FA_LANES_MANY 2000 /* with ready tasks: more are not listed at each refresh */

/* Whether more than FA_LANES_MANY lanes had ready tasks at the last refresh; none is marked then.
 * */
bool fa_lanes_are_many(const struct fa_lanes *lanes);
/* The lanes that may have ready tasks, in a shared store where they aren't many. */
struct fa_lane **fa_lanes_ready(struct fa_lanes *lanes, size_t *count);
/* Runs a statement whose rows begin with a lane that has ready tasks, for ready_best followed by a
 * position in its queue, and calls `add` for each row. */
typedef void fa_lanes_ready_fn(void *ctx, struct fa_lane *lane, struct fa_position position);
FA_MUST_CHECK enum faina_code fa_lanes_query_ready(struct fa_lanes *lanes, struct fa_db *db,
                                                   enum fa_sql sql, const struct fa_value *params,
                                                   size_t param_count, fa_lanes_ready_fn *add,
                                                   void *ctx, struct faina_error *err);
/* Locks the limited resources of these lanes that transaction `epoch` hasn't locked yet, and counts
 * their use again (L4). The unit must have been flushed. */
FA_MUST_CHECK enum faina_code fa_lanes_lock(struct fa_lane *const *lanes, size_t count,
                                            uint64_t epoch, struct fa_db *db,
                                            struct faina_error *err);
/* Whether fa_lanes_lock has something to do. */
bool fa_lane_needs_lock(const struct fa_lane *lane, uint64_t epoch);

/* Finds or creates the lane for these conditions. `names` may be in any order, and repeated.
 * INVALID_TASK: the namespace or the type can't have another lane. */
FA_MUST_CHECK enum faina_code fa_lanes_get(struct fa_lanes *lanes, struct fa_db *db, const char *ns,
                                           const char *type, const char *const *names,
                                           size_t name_count, bool has_groups, struct fa_lane **out,
                                           struct faina_error *err);
struct fa_lane *fa_lanes_by_id(struct fa_lanes *lanes, int64_t id); /* NULL: no such lane */
/* The same, but reads a lane that is not in the cache from the store: for readers, whose cache is
 * empty at first. Lanes never change once they are stored. */
FA_MUST_CHECK enum faina_code fa_lanes_read(struct fa_lanes *lanes, struct fa_db *db, int64_t id,
                                            struct fa_lane **out, struct faina_error *err);
/* Removes a lane that was deleted from the store. fa_lanes_free_removed frees it, in a later
 * transaction. */
void fa_lanes_remove(struct fa_lanes *lanes, int64_t id);
void fa_lanes_free_removed(struct fa_lanes *lanes);
struct fa_lane **fa_lanes_all(struct fa_lanes *lanes, size_t *count);
/* Finds or creates the resource of this name. */
FA_MUST_CHECK enum faina_code fa_lanes_resource(struct fa_lanes *lanes, struct fa_db *db,
                                                const char *name, struct fa_resource **out,
                                                struct faina_error *err);
struct fa_resource *fa_lanes_find_resource(struct fa_lanes *lanes, const char *name);
/* Changes a resource's limits; the flush writes them. */
void fa_lanes_set_limit(struct fa_lanes *lanes, struct fa_resource *resource,
                        const struct fa_own_limits *limits, bool is_set);

/* From columns of `resource`: `max` is max_concurrency, `rate` the first of rate_count, rate_per_ms
 * and rate_burst, after which come rate_spent and rate_us. */
struct fa_own_limits fa_limits_of(const struct fa_value *max, const struct fa_value *rate);
struct fa_bucket fa_bucket_of(const struct fa_value *rate);
/* Rates (lanes_rates.c). Sets the time with which tokens are counted, for the operation being run,
 * and returns it. In a shared store it is the time at which the open transaction has locked a
 * resource with a rate, if it has. */
int64_t fa_lanes_set_now(struct fa_lanes *lanes, int64_t now_us);
/* Whether the resource has a limit or a rate. */
bool fa_resource_is_limited(const struct fa_resource *resource);
/* A task starts that needs the resource. */
void fa_lanes_take_token(struct fa_lanes *lanes, struct fa_resource *resource);
/* The lane is closed until a resource of it has a token, and a claim wants its tasks. */
void fa_lane_await_token(const struct fa_lane *lane);
/* Opens the lanes whose next token has come by now. Returns their types (fa_hash_bit). */
uint64_t fa_lanes_take_due(struct fa_lanes *lanes, int64_t now_us);
/* When to call it next, INT64_MAX: not before another claim; and the types that wait. */
int64_t fa_lanes_next_due_us(const struct fa_lanes *lanes, uint64_t *types);
/* Shared store, before each transaction: forgets what the last one locked, and awaited. */
void fa_lanes_begin(struct fa_lanes *lanes);
void fa_lanes_set_paused(struct fa_lanes *lanes, const char *ns, const char *type, bool is_paused);

#define FA_TYPE_LANES_FEW 8 /* lanes of one type name; more form a group (lane_index.h) */

const struct fa_lane_index *fa_lanes_index(const struct fa_lanes *lanes);
const struct fa_types *fa_lanes_types(const struct fa_lanes *lanes);
/* A task has become ready at this position. */
void fa_lane_note_arrival(struct fa_lane *lane, int64_t rank, int64_t key);
/* The ready queue was read to its end, and is empty. */
void fa_lane_mark_empty(struct fa_lane *lane);

/* Whether one of the lane's resources has a limit or a rate. */
bool fa_lane_is_limited(const struct fa_lane *lane);
/* A resource of the lane that is at its limit, or has no token; or NULL. */
struct fa_resource *fa_lane_full_resource(const struct fa_lane *lane);
/* Whether each resource of the lane has a permit left, and a token. */
bool fa_lane_has_permits(const struct fa_lane *lane);
/* How many of its tasks can be claimed by its limits and tokens; INT64_MAX without either. */
int64_t fa_lane_room(const struct fa_lane *lane);
/* Counts a task's change of status; -1: no status, for one that is created or removed. */
void fa_lane_count(struct fa_lane *lane, int from, int to);

/* Writes new lanes and resources, and the counts. Part of flushing the unit. */
FA_MUST_CHECK enum faina_code fa_lanes_flush(struct fa_lanes *lanes, struct fa_db *db,
                                             struct faina_error *err);

#endif
