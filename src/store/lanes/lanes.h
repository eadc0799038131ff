/*
 * lanes.h - what a claim needs to know about the whole store, kept in memory by the writer.
 *
 * A lane is (namespace, type, set of resources): tasks that can be claimed under exactly the same
 * conditions. The cache also knows each resource's limit and use, and which types are paused.
 *
 *   L1  It mirrors the tables lane, resource, hold and paused as of the open transaction.
 *   L2  After a rollback it is loaded anew: nothing in it outlives what the store refused.
 *   L3  A lane with tasks in line has may_have_ready set; one without may have it too.
 *   L4  Where others write to the store too (db->is_shared), L1 and L3 hold from fa_lanes_refresh
 *       on, in its transaction; and the use of a limited resource from fa_lanes_lock on.
 *   L5  There, pauses and limits are read after the lines, each time: whoever puts a task in line
 *       when its type is paused can rely on it that a claim which finds the task finds the pause.
 *   L6  A damaged row is reported and left out; a task that needs it is damaged, too (row.h, R4).
 *
 * Threads: whoever leads the batch.
 */
#ifndef FA_LANES_H
#define FA_LANES_H

#include "sql/db.h"
#include "sql/heads.h"
#include "sql/types.h"

struct fa_row;

struct fa_resource {
    int64_t id;
    char *name;
    int64_t max; /* -1: no limit */
    int64_t in_use;
    bool is_set;             /* by somebody; not only named by a task */
    bool is_known;           /* to the store: its id is the store's */
    bool is_changed;         /* has something to be written */
    uint64_t lock_epoch;     /* of the transaction that has it locked (L4) */
    struct fa_gate *waiting; /* until it has a permit (heads.h) */
    bool is_touched;         /* may have something to be written, and is in a list of those */
    struct fa_resource *next_touched;
};

struct fa_lane {
    int64_t id;
    size_t index;          /* among all */
    const char *ns, *type; /* those of `of` */
    char *resources_json;
    struct fa_type *of;
    struct fa_lane *next_of_type;
    struct fa_resource **resources; /* sorted by name */
    const char **resource_names;    /* the same, for answers */
    size_t resource_count;
    bool is_stored;
    bool may_have_ready;
    bool is_listed;     /* among those that may have, where the store is shared */
    uint64_t find_mark; /* claim_find.c: the last search that found it */
    bool has_rich;      /* a task in line is not plain: its line is read with ready_scan */
    bool has_old; /* a task in line is not of today: its line is read with those of every day */
    int64_t task_size; /* what its tasks carry, on a sliding average; 0: none was seen */
    int64_t tally[FAINA_STATUS_COUNT]; /* changes of the open transaction, not yet written */
    struct fa_lanes *lanes;
    bool is_dirty; /* has something to be written, and is in the list of those */
    struct fa_lane *next_dirty;
    /* What the open transaction has read from the lane's line and not yet taken. */
    struct fa_row **peek;
    size_t peek_count, peek_next, peek_size;
    uint64_t peek_epoch, peek_arrivals; /* void when the unit's epoch or `arrivals` is another */
    uint64_t arrivals;                  /* grows whenever tasks come into line */
    bool peek_is_last;                  /* the line has no more after these */
    int64_t peek_rank, peek_key;        /* the place in line up to which it was read */
    struct fa_place best;               /* heads.h, G1 */
    struct fa_gate *gates[FA_AXIS_COUNT];
    uint32_t gate_at[FA_AXIS_COUNT];
    size_t read_count;           /* rows of the last reading, also those left out ... */
    int64_t read_rank, read_key; /* ... and the place of the last one */
    struct fa_place *places; /* by rank: nobody with this rank waits before this key (fronts.h) */
    size_t place_count;
};

struct fa_lanes;

struct fa_lanes *fa_lanes_create(void);
void fa_lanes_destroy(struct fa_lanes *lanes);
/* Where damaged rows are reported; they are left out (L6). */
struct fa_aside;
void fa_lanes_report_to(struct fa_lanes *lanes, struct fa_aside *aside);
/* How many types a namespace may have from now on (lanes_room.c). At first there is no limit. */
void fa_lanes_set_types_max(struct fa_lanes *lanes, int64_t types_max);
/* Reads everything from the store, forgetting what was there (L2). Where the store is shared, it
 * only forgets: lanes are learned of when they are met. */
FA_MUST_CHECK enum faina_code fa_lanes_load(struct fa_lanes *lanes, struct fa_db *db,
                                            struct faina_error *err);

#define FA_LANES_SCANS_MAX 3 /* calls that read lines, in one question */

/* Reads what others may have changed: pauses, limits, and which lanes have tasks in line (L4).
 * Where lines are worn (fronts.h), and where lanes are few, the last is guessed rather than asked;
 * and where many have tasks in line, it is left to each claim (claim_find.c).
 * The calls `scans` are run first, with the same question (L5); then limits are only read when
 * some lane names a resource. */
FA_MUST_CHECK enum faina_code fa_lanes_refresh(struct fa_lanes *lanes, struct fa_db *db,
                                               bool is_worn, const struct fa_db_call *scans,
                                               size_t scan_count, struct faina_error *err);
/* Where the store is shared: whether so many lanes were met that they had better be forgotten. */
bool fa_lanes_are_too_many(const struct fa_lanes *lanes);
/* Whether the last refresh has read the limits; and whether it has not, and a lane needs them. */
bool fa_lanes_have_limits(const struct fa_lanes *lanes);
bool fa_lanes_need_limits(const struct fa_lanes *lanes);
/* Reads lines, and what has been paused, or limited at all, since the refresh (L5). */
FA_MUST_CHECK enum faina_code fa_lanes_scan(struct fa_lanes *lanes, struct fa_db *db,
                                            const struct fa_db_call *scans, size_t scan_count,
                                            bool with_limits, struct faina_error *err);
/* Whether a lane's tasks need something that nobody has limited. */
bool fa_lane_is_limitable(const struct fa_lane *lane);
/* Whether each lane counts as one that may have tasks in line. */
bool fa_lanes_are_few(const struct fa_lanes *lanes, bool is_worn);

#define FA_LANES_MANY 2000 /* with tasks in line: more are not asked for at each claim */

/* Whether, when the lanes were refreshed, so many had tasks in line that they were not marked. */
bool fa_lanes_are_many(const struct fa_lanes *lanes);
/* Those that may have tasks in line, where the store is shared and they aren't many. */
struct fa_lane **fa_lanes_ready(struct fa_lanes *lanes, size_t *count);
/* Runs a statement whose rows begin with a lane that has tasks in line, maybe with a place in it,
 * and calls `see` for each. */
typedef void fa_lanes_see_fn(void *ctx, struct fa_lane *lane, struct fa_place place);
FA_MUST_CHECK enum faina_code fa_lanes_ask(struct fa_lanes *lanes, struct fa_db *db,
                                           enum fa_sql sql, const struct fa_value *params,
                                           size_t param_count, fa_lanes_see_fn *see, void *ctx,
                                           struct faina_error *err);
/* Locks the limited resources among these lanes' that transaction `epoch` hasn't locked yet, and
 * counts their use anew (L4). Everything must have been flushed before. */
FA_MUST_CHECK enum faina_code fa_lanes_lock(struct fa_lane *const *lanes, size_t count,
                                            uint64_t epoch, struct fa_db *db,
                                            struct faina_error *err);
/* Whether fa_lanes_lock has something to do. */
bool fa_lane_needs_lock(const struct fa_lane *lane, uint64_t epoch);

/* The lane for these conditions, made when it isn't there. `names` in any order, maybe repeated.
 * INVALID_TASK: there is no room for another one. */
FA_MUST_CHECK enum faina_code fa_lanes_get(struct fa_lanes *lanes, struct fa_db *db, const char *ns,
                                           const char *type, const char *const *names,
                                           size_t name_count, struct fa_lane **out,
                                           struct faina_error *err);
struct fa_lane *fa_lanes_by_id(struct fa_lanes *lanes, int64_t id); /* NULL: no such lane */
/* The same, asking the store about lanes that the cache doesn't know yet: for readers, whose cache
 * starts empty. Lanes never change once they are stored. */
FA_MUST_CHECK enum faina_code fa_lanes_read(struct fa_lanes *lanes, struct fa_db *db, int64_t id,
                                            struct fa_lane **out, struct faina_error *err);
/* The store has no such lane any more, and no task in it. It is freed by fa_lanes_free_forgotten,
 * in a later transaction. */
void fa_lanes_forget(struct fa_lanes *lanes, int64_t id);
void fa_lanes_free_forgotten(struct fa_lanes *lanes);
struct fa_lane **fa_lanes_all(struct fa_lanes *lanes, size_t *count);
/* The resource of this name, made when it isn't there. */
FA_MUST_CHECK enum faina_code fa_lanes_resource(struct fa_lanes *lanes, struct fa_db *db,
                                                const char *name, struct fa_resource **out,
                                                struct faina_error *err);
struct fa_resource *fa_lanes_find_resource(struct fa_lanes *lanes, const char *name);
/* Changes a resource's limit; the flush writes it. */
void fa_lanes_limit(struct fa_lanes *lanes, struct fa_resource *resource, int64_t max, bool is_set);
void fa_lanes_set_paused(struct fa_lanes *lanes, const char *ns, const char *type, bool is_paused);

#define FA_TYPE_LANES_FEW 8 /* lanes of one type; more are a group of their own (heads.h) */

const struct fa_heads *fa_lanes_heads(const struct fa_lanes *lanes);
const struct fa_types *fa_lanes_types(const struct fa_lanes *lanes);
/* A task has come into the lane's line at this place. */
void fa_lane_arrive(struct fa_lane *lane, int64_t rank, int64_t key);
/* The line was read to its end, and is empty. */
void fa_lane_run_dry(struct fa_lane *lane);

/* Whether one of the lane's resources has a limit. */
bool fa_lane_is_limited(const struct fa_lane *lane);
/* Whether each resource of the lane has a permit left. */
bool fa_lane_has_permits(const struct fa_lane *lane);
/* Counts one task from one status to another; -1 for none. */
void fa_lane_count(struct fa_lane *lane, int from, int to);

/* Writes new lanes and resources, and the counts. Part of flushing the unit. */
FA_MUST_CHECK enum faina_code fa_lanes_flush(struct fa_lanes *lanes, struct fa_db *db,
                                             struct faina_error *err);

#endif
