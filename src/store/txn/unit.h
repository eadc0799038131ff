/*
 * unit.h - one transaction's work: the tasks it has read, and what it will write.
 *
 * Operations read tasks through the unit, decide by the rules of model/, change the rows in memory,
 * and are answered. Nothing is written before fa_unit_flush, which then writes each kind of change
 * for all rows at once. So operations of one batch see each other's changes, a refused one leaves
 * nothing behind, and a row that several operations touched is written once.
 *
 *   U1  At most one fa_row per task; whoever asks for a task gets that one.
 *   U2  Who changes a row marks it dirty: fa_unit_apply and fa_unit_change do; operations that set
 *       output, error, progress, state, metadata, attempts or at_us themselves call one of them, or
 *       fa_unit_touch.
 *   U3  A status changes only by fa_unit_apply, which asks the table in model/states.h.
 *   U4  Every change of a task gets an event whose time is unique and growing within the task.
 *   U5  The claim and start of the latest attempt and the end are events told by the row itself.
 *       They are written out as rows of `event` when the row is about to forget them.
 *
 * Threads: whoever leads the batch.
 */
#ifndef FA_UNIT_H
#define FA_UNIT_H

#include "model/states.h"
#include "sql/fronts.h"
#include "sql/row.h"

struct fa_flows;
struct fa_chore_scope;
struct fa_unit_event;
struct fa_unit_link;

/* A hash of a key. SQLite finds by the first half and lets the task decide; PostgreSQL holds both
 * halves unique. */
struct fa_key {
    int64_t hash; /* never 0 */
    int64_t more;
};

/* An event to keep, and what came of it (emit.c). */
struct fa_unit_happened {
    const char *ns, *id, *type, *data, *tasks, *failures;
    int64_t at_us;
};

/* Where the keys of new tasks come from (id_range.h). */
struct fa_id_range {
    int64_t slot;         /* the last one; -1: none */
    int64_t slot_end;     /* its range ends before this key; 0: it has none */
    uint64_t slot_epoch;  /* the transaction that has taken it */
    int takes;            /* ranges since the writer was idle */
    int block;            /* keys of the last block of the sequence ... */
    uint64_t block_epoch; /* ... and its transaction */
    bool has_failed;      /* the last transaction */
};

/* How long each of some things took. */
struct fa_spans {
    int64_t *us;
    size_t count, size;
};

/* Looking for lanes without tasks (chores/empty.c). */
struct fa_sweep {
    int64_t after;  /* the last lane that was looked at in this round */
    int64_t at_us;  /* when to go on; 0: not before something is purged */
    bool has_begun; /* the first round since the store was opened */
    bool is_wanted; /* something was purged since the round began */
};

struct fa_unit {
    struct fa_source source;
    struct fa_arena arena;
    struct fa_id_source *ids;
    struct fa_id_range id_range;
    struct fa_random *random;
    struct fa_flows *flows; /* workflows (flows.h) */
    int64_t now_us;         /* the time of the operation being run */
    int64_t heard_us;       /* whoever wanted to renew a lease before has (writer.h, E6) ... */
    int64_t hear_us;        /* ... and whoever wanted to since is heard until then */
    const struct fa_grant *grant; /* of the operation's caller (access.h); NULL: everything */
    struct {                      /* the caller and the worker that were last found to be one */
        const struct fa_grant *grant;
        const char *worker;
    } actor;
    struct fa_chore_scope *scope; /* which chores are run (chores/scope.h); NULL: all */

    /* What there may be to do after the commit. */
    bool has_ready;       /* something may be claimed that could not before, of any type ... */
    uint64_t ready_types; /* ... or of these (fa_hash_bit), since it has come in line */
    int64_t old_key;      /* the oldest that came into line behind others (fronts.h, O3) */
    bool has_leftover;    /* tasks in line were kept from other nodes, and not taken */
    int64_t next_us;      /* earliest new deadline; INT64_MAX: none */
    struct fa_id *ended;  /* tasks that ended, or were taken from their worker */
    size_t ended_count, ended_size;
    size_t told_count;     /* how many of them the workflows know of */
    struct fa_row **added; /* tasks that were made; in the arena */
    size_t added_count, added_size;
    struct fa_spans waits, runs;       /* of attempts that began, and that are over (facts.h) */
    size_t lost_count;                 /* leases that ran out */
    struct faina_emit_failure *unmade; /* tasks that ends were to make, and couldn't */
    size_t unmade_count, unmade_size;

    struct fa_buf journal; /* what happened, for the log */

    uint64_t changes;     /* grows with each change of a row: did an operation change any? */
    bool has_arrivals;    /* a row that is not yet written may belong in line, and isn't there */
    uint64_t epoch;       /* grows with each transaction: what was read ahead before is void */
    int64_t claim_demand; /* how many tasks the claims of this batch want in all */
    int64_t claims;       /* claims of this transaction so far ... */
    int64_t claims_usual; /* ... and of the last one that had any */
    bool claims_one;      /* a claim takes one task only: which makes the transaction fail? */
    int64_t claimed_key;  /* the task that was claimed last; 0: none */
    struct fa_fronts fronts;
    struct fa_sweep sweep;
    uint64_t find_mark;     /* of the newest search (claim_find.c) */
    int64_t probe_after_us; /* claim_find.c: when all lanes may be looked at again; monotonic */
    uint64_t share_epoch;   /* of the transaction that has refreshed the lanes */

    /* Rows, by key. */
    struct fa_row **buckets;
    size_t bucket_count, row_count;
    struct fa_row **dirty;
    size_t dirty_count, dirty_size;
    /* Writes that are no rows of tasks. */
    struct fa_unit_event *events;
    size_t event_count, event_size;
    struct fa_unit_link *links;
    size_t link_count, link_size;
    struct fa_unit_happened *happened; /* in the arena */
    size_t happened_count, happened_size;
    /* Keys that this transaction has taken: open addressing over a power of two. */
    struct fa_unit_key {
        int64_t hash;
        struct fa_row *row; /* NULL: free */
    } * keys;
    size_t key_count, key_size;
    /* Keys that were looked up before they are asked for, by hash. */
    int64_t *looked;
    struct fa_unit_found {
        int64_t hash, task;
    } * found;
    size_t looked_count, found_count, found_size;
};

void fa_unit_init(struct fa_unit *unit, struct fa_source source, struct fa_id_source *ids,
                  struct fa_random *random);
void fa_unit_reset(struct fa_unit *unit); /* for the next transaction; keeps its memory */
void fa_unit_finish(struct fa_unit *unit);

/* The task with this key. TASK_NOT_FOUND: none, or deleted. `whole`: also if it is held. */
FA_MUST_CHECK enum faina_code fa_unit_get(struct fa_unit *unit, int64_t key, bool whole,
                                          struct fa_row **out, struct faina_error *err);
/* The same by id as text; also checks that the id is the task's. */
FA_MUST_CHECK enum faina_code fa_unit_find(struct fa_unit *unit, const char *id, bool whole,
                                           struct fa_row **out, struct faina_error *err);
/* As fa_unit_find, but finds deleted tasks too. */
FA_MUST_CHECK enum faina_code fa_unit_find_any(struct fa_unit *unit, const char *id,
                                               struct fa_row **out, struct faina_error *err);
/* A new row, known to the unit from now on. */
struct fa_row *fa_unit_add(struct fa_unit *unit, struct fa_id id);
/* The row that the unit has for a key, or NULL. */
struct fa_row *fa_unit_known(struct fa_unit *unit, int64_t key);
/* A row that was read by the caller: the unit's own one, when it has it (U1). */
struct fa_row *fa_unit_adopt(struct fa_unit *unit, const struct fa_row *row);
/* Reads what was asked for (row.h, R2), without the payload. */
FA_MUST_CHECK enum faina_code fa_unit_whole(struct fa_unit *unit, struct fa_row *row,
                                            struct faina_error *err);

/* Reads tasks that the unit doesn't know yet, all at once. */
FA_MUST_CHECK enum faina_code fa_unit_prefetch(struct fa_unit *unit, const int64_t *keys,
                                               size_t count, struct fa_rows_wish wish,
                                               struct faina_error *err);
/* fa_unit_whole for many that the unit knows. */
FA_MUST_CHECK enum faina_code fa_unit_whole_many(struct fa_unit *unit, const int64_t *keys,
                                                 size_t count, struct faina_error *err);
/* fa_unit_prefetch where it saves round trips: the tasks are about to be asked for one by one. */
FA_MUST_CHECK enum faina_code fa_unit_expect(struct fa_unit *unit, const int64_t *keys,
                                             size_t count, struct faina_error *err);
/* Looks up keys all at once: fa_unit_find_key then knows about them, and about the tasks that have
 * them, with their payloads or without. */
FA_MUST_CHECK enum faina_code fa_unit_look_up(struct fa_unit *unit, const int64_t *hashes,
                                              size_t count, bool payload, struct faina_error *err);
/* Where the store is shared: from now on in this transaction the lanes are as others left them. */
FA_MUST_CHECK enum faina_code fa_unit_share(struct fa_unit *unit, struct faina_error *err);
/* Whether a claim has to; and how it does, with lines to read (fa_lanes_refresh). */
bool fa_unit_should_share(const struct fa_unit *unit);
FA_MUST_CHECK enum faina_code fa_unit_share_and_scan(struct fa_unit *unit,
                                                     const struct fa_db_call *scans, size_t count,
                                                     struct faina_error *err);

/* The row will be written. */
void fa_unit_touch(struct fa_unit *unit, struct fa_row *row);
/* version+1 and a new, unique time in row->updated_us, which is also returned. */
int64_t fa_unit_change(struct fa_unit *unit, struct fa_row *row);

/* What a transition needs besides its rule. */
struct fa_change {
    enum fa_trigger trigger;
    enum faina_actor actor;
    const char *worker; /* who takes it (claim), or who says so */
    int64_t lease_us;   /* claim and background: how long; 0: no limit */
    const char *what;   /* the event's name; NULL: told by the row itself (U5) */
    const char *state;  /* what people see from now on; NULL: the status's own words */
    const char *detail; /* JSON for the event */
    const char *event_worker;
};

/*
 * Moves a task by the table: the status, and the effects that its rule names. The trigger must be
 * allowed (fa_rule_find); asserts it. The caller has checked everything before: this can't refuse.
 * Waking parents and dependents is fa_unit_wake's.
 */
void fa_unit_apply(struct fa_unit *unit, struct fa_row *row, const struct fa_change *change);

/* Notes an event at the row's updated_us. */
void fa_unit_event(struct fa_unit *unit, const struct fa_row *row, const char *what,
                   enum faina_actor actor, const char *worker, const char *detail);

/* A line for the log: something happened to the task, which then had this status. */
void fa_unit_journal(struct fa_unit *unit, const struct fa_row *row, const char *what,
                     enum faina_status status, int64_t at_us);

/* U5: writes out what the row alone has told so far, because it is about to forget it. */
void fa_unit_write_out(struct fa_unit *unit, struct fa_row *row);

/* Notes an event that is no change of the task: the row stays as it is. */
void fa_unit_note(struct fa_unit *unit, struct fa_row *row, const char *what,
                  enum faina_actor actor, const char *worker, const char *detail);

/* Tells whoever waits for this task that it has just ended (is_end), or come back to life after it
 * had ended badly: their counts are right afterwards, and those that wait for nothing more are
 * unblocked. */
FA_MUST_CHECK enum faina_code fa_unit_wake(struct fa_unit *unit, struct fa_row *row, bool is_end,
                                           struct faina_error *err);
/* A pending task that has just been changed waits until then; nothing happens when that is past. */
void fa_unit_park_until(struct fa_unit *unit, struct fa_row *row, int64_t at_us);

/* Unblocks a blocked task when it waits for nothing more (or, failing fast, one ended badly). */
void fa_unit_unblock_if_free(struct fa_unit *unit, struct fa_row *row);

/* Whether a row has the key that is looked for; a hash alone does not prove it. */
typedef bool fa_unit_key_fn(const struct fa_row *row, const void *ctx);
/* The task that has a key; *out is NULL when none has. */
FA_MUST_CHECK enum faina_code fa_unit_find_key(struct fa_unit *unit, int64_t hash,
                                               fa_unit_key_fn *is_it, const void *ctx,
                                               struct fa_row **out, struct faina_error *err);
/* The same among the keys that this transaction has taken. */
struct fa_row *fa_unit_known_key(struct fa_unit *unit, int64_t hash, fa_unit_key_fn *is_it,
                                 const void *ctx);
void fa_unit_take_key(struct fa_unit *unit, struct fa_key key, struct fa_row *row);

/* Rows of the link tables. */
enum fa_link { FA_LINK_KEY, FA_UNLINK_KEY, FA_LINK_DEP, FA_LINK_HOLD, FA_UNLINK_HOLD };
void fa_unit_link(struct fa_unit *unit, enum fa_link kind, int64_t a, int64_t b, int64_t c);

/* Writes everything. After it, queries see what the unit knows. */
FA_MUST_CHECK enum faina_code fa_unit_flush(struct fa_unit *unit, struct faina_error *err);

/* The worker, error and so on must outlive the request: copies into the unit. NULL gives NULL. */
const char *fa_unit_text(struct fa_unit *unit, const char *text);

#endif
