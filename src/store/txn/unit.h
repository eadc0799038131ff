/*
 * unit.h - the unit of work of one transaction: the tasks it has read, and what it will write.
 *
 * Operations read tasks through the unit, decide by the rules of model/, change the rows in memory
 * and set their results. Nothing is written before fa_unit_flush, which writes each kind of change
 * for all rows at once. So operations of one batch see each other's changes, a refused operation
 * leaves no change, and a row that several operations changed is written once.
 *
 *   U1  The unit has at most one fa_row per task; every read of a task returns that row.
 *   U2  A changed row is marked dirty: fa_unit_apply and fa_unit_change do it; operations that set
 *       output, error, progress, state, metadata, attempts or at_us themselves call one of them, or
 *       fa_unit_touch.
 *   U3  A status changes only by fa_unit_apply, which follows the table in model/states.h.
 *   U4  Every change of a task has an event. Times of events are unique and increase within a task.
 *   U5  The claim and start of the latest attempt and the end are implicit events: they are derived
 *       from the columns of the state row. They are stored as rows of `event` before those columns
 *       are overwritten.
 *
 * Threads: the thread that leads the batch.
 */
#ifndef FA_STORE_TXN_UNIT_H
#define FA_STORE_TXN_UNIT_H

#include "model/states.h"
#include "store/lanes/scan_start.h"
#include "store/txn/row.h"

struct fa_flows;
struct fa_op;
struct fa_chore_scope;
struct fa_unit_event;
struct fa_unit_link;
struct fa_span_attempt;

/* A hash of a key. SQLite looks up the first half and then compares the task's key; on PostgreSQL
 * both halves together are unique. */
struct fa_key {
    int64_t hash; /* never 0 */
    int64_t more;
};

/* An emitted event to store, with the tasks and failures of its triggers as JSON (emit.c). */
struct fa_unit_emitted {
    const char *ns, *id, *type, *data, *tasks, *failures;
    int64_t at_us;
};

/* A message for a broker to store (outbox.h). */
struct fa_unit_message {
    struct fa_id id;
    const struct fa_lane *lane;
    enum faina_status status; /* pending: the task is ready; else how it ended */
    int64_t attempt, priority, version;
};

/* An attempt that failed (failures.h). */
struct fa_unit_failure {
    const struct fa_lane *lane;
    struct fa_id id;
    const char *error; /* JSON, or NULL */
    int64_t at_us;
};

/* The source of keys for new tasks (id_range.h). */
struct fa_id_range {
    int64_t slot;         /* the slot used last; -1: none */
    int64_t slot_end;     /* its range ends before this key; 0: it has no range */
    uint64_t slot_epoch;  /* the transaction that took the range */
    int takes;            /* ranges taken since the writer was idle */
    int block;            /* how many keys the last block of the sequence has ... */
    uint64_t block_epoch; /* ... and its transaction */
    bool has_failed;      /* the last transaction failed */
};

/* Durations of tasks. */
struct fa_spans {
    struct fa_unit_span {
        struct fa_lane *lane;
        int64_t us;
    } * items;
    size_t count, size;
};

/* The state of the scan for lanes without tasks (chore_empty_lanes.c). */
struct fa_sweep {
    int64_t after;  /* the last lane that this round has checked */
    int64_t at_us;  /* when the next slice is due; 0: not before a task is purged */
    bool has_begun; /* the first round since the store was opened has begun */
    bool is_wanted; /* a task was purged since the round began */
};

/* Where the search for tasks that no live worker handles is (chore_unhandled.c). */
struct fa_unhandled {
    int64_t at_us; /* when the lanes are checked next */
    int64_t lane;  /* its tasks are being read, from this position on; 0: none */
    struct fa_position from;
    int64_t next_us; /* of the tasks that were read, when the next one may fail */
};

/* Workers that were recorded lately (queue/claimers.c): the hash of each, and until when it counts
 * as alive. */
#define FA_CLAIMERS_MAX 1024
struct fa_claimer {
    uint64_t hash;
    int64_t until_us;
};

struct fa_unit {
    struct fa_source source;
    struct fa_arena arena;
    struct fa_id_source *ids;
    struct fa_id_range id_range;
    struct fa_random *random;
    struct fa_flows *flows;       /* workflows (definitions.h) */
    int64_t now_us;               /* the time of the operation being run */
    int64_t expire_before_us;     /* leases that ended before then may expire (writer.h, E6) ... */
    int64_t grace_until_us;       /* ... and later ones from then on: renewals may be delayed */
    const struct fa_op *op;       /* that is being run; NULL: a chore */
    const struct fa_grant *grant; /* of the operation's caller (access.h); NULL: everything */
    struct {                      /* the caller and the worker whose match was verified last */
        const struct fa_grant *grant;
        const char *worker;
    } actor;
    struct fa_chore_scope *scope; /* which chores are run (chore_scope.h); NULL: all */

    /* What may have to be done after the commit. */
    bool has_ready;       /* tasks of any type may have become claimable ... */
    uint64_t ready_types; /* ... or of these types (fa_hash_bit), which have entered `ready` */
    int64_t oldest_key;   /* the lowest key that entered `ready` late (scan_start.h, O3) */
    bool has_bulk;        /* an operation on many tasks has begun (queue/bulk_ops.h) */
    bool has_policies;    /* policies of types have changed */
    bool has_leftover;    /* ready tasks were locked against other nodes, and not claimed */
    int64_t next_us;      /* earliest new deadline; INT64_MAX: none */
    struct fa_id *ended;  /* tasks that ended, or were taken from their worker */
    size_t ended_count, ended_size;
    size_t ended_seen;     /* how many of them the workflows have processed */
    struct fa_row **added; /* new tasks; in the arena */
    size_t added_count, added_size;
    struct fa_kind_count *sql_submits; /* tasks that submits in SQL have stored; in the arena */
    size_t sql_submit_count, sql_submit_size;
    struct fa_spans waits, runs; /* of attempts that began, and that ended (commit_counts.h) */
    bool wants_spans;            /* `runs` are also collected in `attempts` */
    struct fa_span_attempt *attempts;
    size_t attempt_count, attempt_size;
    struct fa_spans retries; /* tasks that became pending again to be tried again */
    size_t lost_count;       /* leases that expired */
    struct faina_emit_failure
        *trigger_failures; /* triggers on ends of tasks that could not make a task */
    size_t trigger_failure_count, trigger_failure_size;

    struct fa_buf log_lines;              /* events of this transaction, for the event log */
    size_t log_worker_at, log_worker_len; /* the last worker in these lines; length 0: none */

    uint64_t changes;     /* grows with each change: compared to see if an operation made any */
    bool has_arrivals;    /* a row that is not written yet may belong in `ready`, and isn't there */
    uint64_t epoch;       /* grows with each transaction: what was read ahead before is void */
    int64_t claim_demand; /* how many tasks the claims of this batch request in all */
    int64_t claims;       /* claims of this transaction so far ... */
    int64_t claims_usual; /* ... and of the last transaction that had any */
    bool claims_one;      /* a claim takes one task only, to find the one that fails */
    int64_t claimed_key;  /* the task that was claimed last; 0: none */
    struct fa_scan_starts scan_starts;
    struct fa_sweep sweep;
    struct fa_unhandled unhandled;
    struct fa_claimer *claimers; /* FA_CLAIMERS_MAX by their hashes; NULL: none yet */
    uint64_t find_mark;          /* of the newest search (claim_find.c) */
    int64_t probe_after_us;      /* claim_find.c: when all lanes may be probed again; monotonic */
    uint64_t share_epoch;        /* of the transaction that has refreshed the lanes */

    /* Rows, by key. */
    struct fa_row **buckets;
    size_t bucket_count, row_count;
    struct fa_row **dirty;
    size_t dirty_count, dirty_size;
    /* Rows of other tables to write. */
    struct fa_unit_event *events;
    size_t event_count, event_size;
    struct fa_unit_link *links;
    size_t link_count, link_size;
    struct fa_unit_emitted *emitted; /* in the arena */
    size_t emitted_count, emitted_size;
    struct fa_unit_message *messages;
    size_t message_count, message_size;
    struct fa_unit_failure *failures; /* attempts that failed (failures.h) */
    size_t failure_count, failure_size;
    struct fa_missed_times *missed; /* of schedules (schedules.c); in the arena */
    size_t missed_count, missed_size;
    struct fa_audit_entry *acts; /* that get an entry (audit_log.h); in the arena */
    size_t act_count, act_size;
    int64_t failures_until_trim; /* since the groups were counted; over transactions */
    bool has_messages;           /* since the last flush, stored or not */
    int outbox_setting;          /* enum fa_outbox_setting, as far as it is known ... */
    uint64_t outbox_epoch;       /* ... and the transaction that has checked it */
    int64_t outbox_due_us;       /* when fa_chore_outbox checks the size again */
    /* Keys that this transaction has taken: open addressing over a power of two. */
    struct fa_unit_key {
        int64_t hash;
        struct fa_row *row; /* NULL: free */
    } * keys;
    size_t key_count, key_size;
    /* Hashes of keys that were read ahead, sorted, and the tasks that have them. */
    int64_t *hashes;
    struct fa_unit_found {
        int64_t hash, task;
    } * found;
    size_t hash_count, found_count, found_size;
};

void fa_unit_init(struct fa_unit *unit, struct fa_source source, struct fa_id_source *ids,
                  struct fa_random *random);
void fa_unit_reset(struct fa_unit *unit); /* for the next transaction; keeps its memory */
void fa_unit_finish(struct fa_unit *unit);

/* The task with this key. TASK_NOT_FOUND: there is none, or it is deleted. With `with_task` also a
 * held one has its columns of `task` (row.h, R2). */
FA_MUST_CHECK enum faina_code fa_unit_get(struct fa_unit *unit, int64_t key, bool with_task,
                                          struct fa_row **out, struct faina_error *err);
/* The same by id as text; also checks that the id is the task's. */
FA_MUST_CHECK enum faina_code fa_unit_find(struct fa_unit *unit, const char *id, bool with_task,
                                           struct fa_row **out, struct faina_error *err);
/* As fa_unit_find, but finds deleted tasks too. */
FA_MUST_CHECK enum faina_code fa_unit_find_any(struct fa_unit *unit, const char *id,
                                               struct fa_row **out, struct faina_error *err);
/* Adds a new row to the unit. */
struct fa_row *fa_unit_add(struct fa_unit *unit, struct fa_id id);
/* The row that the unit has for a key, or NULL. */
struct fa_row *fa_unit_cached(struct fa_unit *unit, int64_t key);
/* Adds a row that the caller has read. Returns the unit's own row, if it has one (U1). */
struct fa_row *fa_unit_adopt(struct fa_unit *unit, const struct fa_row *row);
/* Reads the columns of `task` (row.h, R2), without the payload. */
FA_MUST_CHECK enum faina_code fa_unit_load_task(struct fa_unit *unit, struct fa_row *row,
                                                struct faina_error *err);

/* Reads tasks that the unit doesn't have yet, all at once. */
FA_MUST_CHECK enum faina_code fa_unit_prefetch(struct fa_unit *unit, const int64_t *keys,
                                               size_t count, struct fa_rows_options options,
                                               struct faina_error *err);
/* fa_unit_load_task for many rows of the unit. */
FA_MUST_CHECK enum faina_code fa_unit_load_tasks(struct fa_unit *unit, const int64_t *keys,
                                                 size_t count, struct faina_error *err);
/* fa_unit_prefetch where it saves round trips, before the tasks are read one by one. */
FA_MUST_CHECK enum faina_code fa_unit_read_ahead(struct fa_unit *unit, const int64_t *keys,
                                                 size_t count, struct faina_error *err);
/* Reads keys all at once, for fa_unit_find_key, and the tasks that have them, with their payloads
 * or without. */
FA_MUST_CHECK enum faina_code fa_unit_read_keys(struct fa_unit *unit, const int64_t *hashes,
                                                size_t count, bool payload,
                                                struct faina_error *err);
/* Where the store is shared: reads the lanes as other nodes left them, for this transaction. */
FA_MUST_CHECK enum faina_code fa_unit_share(struct fa_unit *unit, struct faina_error *err);
/* Whether a claim has to call it; and the form that also scans `ready` (fa_lanes_refresh). */
bool fa_unit_should_share(const struct fa_unit *unit);
FA_MUST_CHECK enum faina_code fa_unit_share_and_scan(struct fa_unit *unit,
                                                     const struct fa_db_call *scans, size_t count,
                                                     struct faina_error *err);

/* Marks the row to be written. */
void fa_unit_touch(struct fa_unit *unit, struct fa_row *row);
/* version+1 and a new, unique time in row->updated_us, which is also returned. */
int64_t fa_unit_change(struct fa_unit *unit, struct fa_row *row);

/* What a transition needs besides its rule. */
struct fa_change {
    enum fa_trigger trigger;
    enum faina_actor actor;
    const char *worker; /* claim: the new holder; else the worker that reports the change */
    int64_t lease_us;   /* claim and background: how long; 0: no limit */
    const char *what;   /* the event's name; NULL: the event is implicit (U5) */
    const char *state;  /* the new text for people; NULL: the status's default */
    const char *detail; /* JSON for the event */
    const char *event_worker;
    int64_t until_us; /* pending: not before; 0: as the rule says */
};

/*
 * Applies a trigger of the table: the new status, and the effects that its rule names. The trigger
 * must be allowed (fa_rule_find); asserts it. The caller has made all checks: this never refuses.
 * fa_unit_wake updates the parents and dependents.
 */
void fa_unit_apply(struct fa_unit *unit, struct fa_row *row, const struct fa_change *change);

/* Stores an event with the time row->updated_us. */
void fa_unit_event(struct fa_unit *unit, const struct fa_row *row, const char *what,
                   enum faina_actor actor, const char *worker, const char *detail);

/* Adds a line to the event log: the event, and the task's status after it. */
void fa_unit_log_event(struct fa_unit *unit, const struct fa_row *row, const char *what,
                       enum faina_status status, int64_t at_us);

/* U5: stores the implicit events of a row whose columns are about to be overwritten. */
void fa_unit_store_implicit_events(struct fa_unit *unit, struct fa_row *row);

/* Stores an event that is no change of the task: the row stays as it is. */
void fa_unit_note(struct fa_unit *unit, struct fa_row *row, const char *what,
                  enum faina_actor actor, const char *worker, const char *detail);

/* The same without a line in the event log. */
void fa_unit_note_unlogged(struct fa_unit *unit, struct fa_row *row, const char *what,
                           enum faina_actor actor, const char *worker, const char *detail);

/* Updates the tasks that wait for this one, after it has ended (is_end) or was reopened after a bad
 * end: corrects their counts, and unblocks those that wait for nothing more. */
FA_MUST_CHECK enum faina_code fa_unit_wake(struct fa_unit *unit, struct fa_row *row, bool is_end,
                                           struct faina_error *err);
/* Delays a pending task that has just been changed; does nothing if the time is past. */
void fa_unit_park_until(struct fa_unit *unit, struct fa_row *row, int64_t at_us);

/* Unblocks a blocked task when it waits for nothing more, or with fail-fast after a bad end. */
void fa_unit_unblock_if_free(struct fa_unit *unit, struct fa_row *row);

/* Whether a row has the key in `ctx`: different keys may have the same hash. */
typedef bool fa_unit_key_fn(const struct fa_row *row, const void *ctx);
/* The task that has a key; *out is NULL when none has. */
FA_MUST_CHECK enum faina_code fa_unit_find_key(struct fa_unit *unit, int64_t hash,
                                               fa_unit_key_fn *is_it, const void *ctx,
                                               struct fa_row **out, struct faina_error *err);
/* The same among the keys that this transaction has taken. */
struct fa_row *fa_unit_cached_key(struct fa_unit *unit, int64_t hash, fa_unit_key_fn *is_it,
                                  const void *ctx);
void fa_unit_take_key(struct fa_unit *unit, struct fa_key key, struct fa_row *row);
/* The key belongs to another task from now on. */
void fa_unit_move_key(struct fa_unit *unit, struct fa_key key, const struct fa_row *from,
                      struct fa_row *to);

/* Rows of the link tables. */
enum fa_link {
    FA_LINK_KEY,
    FA_UNLINK_KEY,
    FA_LINK_DEP,
    FA_LINK_HOLD,
    FA_UNLINK_HOLD,
    FA_LINK_TIMER, /* time, task, kind */
    FA_UNLINK_TIMER
};
/* What is done when a timer is due. Stored. */
enum fa_timer { FA_TIMER_START_BY /* the task expires if it was not started */ };
/* Stores a timer, which is run when it is due. */
void fa_unit_set_timer(struct fa_unit *unit, const struct fa_row *row, enum fa_timer kind,
                       int64_t at_us);
/* How long an attempt at the task may run; 0: no limit. The row must have its columns of `task`. */
int64_t fa_unit_timeout_us(const struct fa_unit *unit, const struct fa_row *row);
void fa_unit_link(struct fa_unit *unit, enum fa_link kind, int64_t a, int64_t b, int64_t c);

/* Writes all changes. After it, queries see what the unit has. */
FA_MUST_CHECK enum faina_code fa_unit_flush(struct fa_unit *unit, struct faina_error *err);

/* A copy in the unit's arena, for text of a request that must live until the commit. NULL gives
 * NULL. */
const char *fa_unit_text(struct fa_unit *unit, const char *text);

#endif
