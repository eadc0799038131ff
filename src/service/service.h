/*
 * service.h - THE seam: every task operation, batched.
 *
 * Above it: the public C functions, the command line, later the HTTP server and the worker pool.
 * Below it: one implementation per family of engines (sql/, remote/, later kv/). A caller fills
 * in operations and runs them together; nothing above knows SQL, nothing below knows HTTP.
 *
 *   O1  fa_service_run answers each operation by itself: op->code, and op->error when it isn't OK.
 *   O2  The changes among them happen in order, in one transaction, and are on disk when it
 *       returns. A read in the same call sees what is committed when it runs. (Behind HTTP there
 *       may be a transaction for each request: remote/README.md.)
 *   O3  A refused operation has changed nothing (but may have left a `late_result` event).
 *   O4  Requests are checked (model/check.h) before an engine sees them.
 *   O5  Answers live in op->arena, which is the caller's.
 *
 * Threads: any, at any time between open and close.
 */
#ifndef FA_SERVICE_H
#define FA_SERVICE_H

#include "base/bytes.h"
#include "base/error.h"
#include "model/backup.h"

#include <stdatomic.h>

struct fa_service;
struct fa_grant;
struct fa_id;
struct fa_mistakes;
struct fa_workflow;

/* X(NAME, wire name, changes something). */
#define FA_OP_LIST(X)                                                                              \
    X(SUBMIT, "submit", true)                                                                      \
    X(CLAIM, "claim", true)                                                                        \
    X(CLAIM_NEXT, "claim next", true)                                                              \
    X(START, "start", true)                                                                        \
    X(PROGRESS, "progress", true)                                                                  \
    X(HEARTBEAT, "heartbeat", true)                                                                \
    X(NOTE, "note", true)                                                                          \
    X(AMEND, "amend", true)                                                                        \
    X(COMPLETE, "complete", true)                                                                  \
    X(FAIL, "fail", true)                                                                          \
    X(BLOCK, "block", true)                                                                        \
    X(BACKGROUND, "background", true)                                                              \
    X(RELEASE, "release", true)                                                                    \
    X(CANCEL, "cancel", true)                                                                      \
    X(RETRY, "retry", true)                                                                        \
    X(DELETE, "delete", true)                                                                      \
    X(PURGE, "purge", true)                                                                        \
    X(PAUSE, "pause", true)                                                                        \
    X(RESUME, "resume", true)                                                                      \
    X(RESOURCE_SET, "resource set", true)                                                          \
    X(RESOURCE_REMOVE, "resource remove", true)                                                    \
    X(TEAM_PUT, "team put", true)                                                                  \
    X(TEAM_REMOVE, "team remove", true)                                                            \
    X(WORKER_PUT, "worker put", true)                                                              \
    X(WORKER_REMOVE, "worker remove", true)                                                        \
    X(TOKEN_PUT, "token put", true)                                                                \
    X(TOKEN_REMOVE, "token remove", true)                                                          \
    X(EMIT, "emit", true)                                                                          \
    X(WORKFLOW_PUT, "workflow put", true)                                                          \
    X(WORKFLOW_ENABLE, "workflow enable", true)                                                    \
    X(WORKFLOW_REMOVE, "workflow remove", true)                                                    \
    X(CRON_PUT, "cron put", true)                                                                  \
    X(CRON_REMOVE, "cron remove", true)                                                            \
    X(CRON_RUN, "cron run", true)                                                                  \
    X(GET, "get", false)                                                                           \
    X(GET_BY_KEY, "get by key", false)                                                             \
    X(LIST, "list", false)                                                                         \
    X(CHILDREN, "children", false)                                                                 \
    X(EVENTS, "events", false)                                                                     \
    X(EXPLAIN, "explain", false)                                                                   \
    X(FOLLOW, "follow", false)                                                                     \
    X(RESOURCE_LIST, "resource list", false)                                                       \
    X(TEAM_LIST, "team list", false)                                                               \
    X(WORKER_LIST, "worker list", false)                                                           \
    X(TOKEN_LIST, "token list", false)                                                             \
    X(WORKFLOW_LIST, "workflow list", false)                                                       \
    X(HAPPENED_LIST, "happened list", false)                                                       \
    X(JOIN_LIST, "join list", false)                                                               \
    X(CRON_LIST, "cron list", false)                                                               \
    X(STATS, "stats", false)

enum fa_op_kind {
#define FA_OP_ENUM(name, text, writes) FA_OP_##name,
    FA_OP_LIST(FA_OP_ENUM)
#undef FA_OP_ENUM
        FA_OP_COUNT
};

/* What a token of the HTTP interface allows; a set. */
enum fa_scope {
    FA_SCOPE_NONE = 0,
    FA_SCOPE_READ = 1 << 0,
    FA_SCOPE_SUBMIT = 1 << 1,
    FA_SCOPE_WORK = 1 << 2,
    FA_SCOPE_ADMIN = 1 << 3,   /* and the others */
    FA_SCOPE_VIEW = 1 << 4,    /* reads without payloads */
    FA_SCOPE_OPERATE = 1 << 5, /* cancels, retries, removes, pauses */
    FA_SCOPE_ALL = (1 << 6) - 1,
};

/* A token as the store has it. Its secret is nowhere. */
struct fa_token {
    char id[FAINA_ID_SIZE]; /* "" when creating */
    const char *name;
    const char *hash;               /* SHA-256 of the secret, 64 hexadecimal digits */
    unsigned scopes;                /* set of fa_scope */
    const char *namespaces;         /* JSON array of names; NULL: all */
    int64_t created_us, expires_us; /* expires 0: never */
};

struct fa_tokens {
    size_t count;
    struct fa_token *items;
};

/* What to do about the times that nobody served, because nothing ran. */
enum fa_catch_up { FA_CATCH_UP_NONE, FA_CATCH_UP_ONE, FA_CATCH_UP_ALL, FA_CATCH_UP_COUNT };

/* What a time of a schedule does while the task of the time before it has not ended. */
enum fa_overlap {
    FA_OVERLAP_ALLOW,  /* makes one more */
    FA_OVERLAP_SKIP,   /* makes none */
    FA_OVERLAP_CANCEL, /* cancels that one and makes its own */
    FA_OVERLAP_COUNT
};

/* A task that is made again and again, by a schedule (model/cron.h). */
struct fa_cron_job {
    const char *ns, *name; /* ns NULL: "default" */
    const char *schedule;
    const char *timezone; /* IANA name; NULL: UTC */
    const char *task;     /* JSON: the body of a submit */
    enum fa_catch_up catch_up;
    enum fa_overlap overlap;
    int64_t jitter_ms; /* each task waits up to this long besides; the same on every node */
    bool is_paused;
    /* The engine's: */
    int64_t next_us;     /* 0: never, or paused */
    int64_t last_us;     /* the last time of the schedule that made a task; 0: none yet */
    const char *problem; /* why the last time made no task; NULL: it did */
    int64_t created_us, updated_us;
    int64_t version;
    bool redacted; /* the task is without its payload (access.h) */
};

struct fa_cron_jobs {
    size_t count;
    struct fa_cron_job *items;
};

/* Something that happened to a task, with what decides who may hear of it. */
struct fa_follow_item {
    const char *cursor; /* the place after it */
    char task_id[FAINA_ID_SIZE];
    const char *ns, *type, *name;
    const char *team_id, *created_by, *idempotency_key; /* NULL: none */
    const char *what;                                   /* as in events */
    enum faina_status status;
    int64_t at_us;
    bool has_parent;
    int64_t parent_key; /* of the parent's id (model/id.h) */
};

/* A piece of the log, in the order of commits. */
struct fa_followed {
    size_t count;
    struct fa_follow_item *items;
    const char *next; /* where to go on */
    bool has_more;    /* there is more already */
    bool is_gap;      /* between the place asked for and the first item something was forgotten */
};

/* A workflow to be stored (model/workflow.h). */
struct fa_definition {
    const char *ns;   /* NULL: "default" */
    const char *name; /* that it must have; NULL: whichever it says */
    struct fa_bytes text;
    bool is_yaml;
};

/* A workflow as the store has it. A switch is no new version, because tasks note by which
 * definition they were made. So a change that asks for a version in `by` means an enabled workflow,
 * and with a negative one it means that version, disabled. */
struct fa_stored_workflow {
    const char *ns, *name;
    int64_t version; /* +1 with each change of the definition */
    bool is_enabled;
    int64_t updated_us;
    const char *definition; /* JSON; NULL: redacted */
    bool redacted;          /* access.h */
};

struct fa_stored_workflows {
    size_t count;
    struct fa_stored_workflow *items;
};

/* Which events to look at, oldest first. */
struct fa_happened_query {
    const char *ns; /* NULL: "default"; "*": all */
    const char *id; /* just this one; NOT_FOUND when it isn't there; NULL: all */
    const char *type;
    int64_t since_us;
    int limit; /* 0: 100 */
    const char *cursor;
};

/* An event that is kept, and what came of it. */
struct fa_happening {
    const char *ns, *id, *type, *data;
    int64_t at_us;
    const char *tasks, *failures; /* JSON arrays: ids; {workflow, trigger, message} */
    bool redacted;                /* without data (access.h) */
};

struct fa_happened {
    size_t count;
    struct fa_happening *items;
    const char *next_cursor; /* NULL: this was the last page */
};

/* How a join stands for one key. */
struct fa_join_state {
    const char *ns, *workflow, *name;
    const char *key; /* JSON */
    int64_t round;
    const char *members; /* JSON: {type: {id, status}} */
    int64_t updated_us, deadline_us;
    const char *last_outcome, *last_task, *last_error; /* of the round before */
};

struct fa_join_states {
    size_t count;
    struct fa_join_state *items;
    const char *next_cursor; /* NULL: this was the last page */
};

/*
 * AMEND gives a task, by who holds it, what its type's settings say where the submit left it open:
 * of op->submit it takes max_attempts (when the task has the default), retry (when it has none) and
 * resources. More resources can't be had while it is held: for them it goes back in line, without
 * spending an attempt.
 */

/* One operation: the question, then the answer. All zero but for what the kind needs. */
/* A part of a list, bounded in items and bytes, of what comes after a cursor. Without it, the whole
 * list is read. */
struct fa_part {
    bool is_asked;
    int limit; /* 0: any number of items */
    const char *cursor;
};

struct fa_op {
    enum fa_op_kind kind;

    /* The question. Lent for the call. */
    const char *id;     /* the task, the team (TEAM_REMOVE, TEAM_LIST) or the worker
                           (WORKER_REMOVE; WORKER_LIST: NULL for all), the token (TOKEN_REMOVE), or
                           the schedule's name (CRON_REMOVE, CRON_RUN; CRON_LIST: NULL for all) */
    struct faina_by by; /* who acts */
    bool has_fence;     /* by.fence was given, also when it is 0, which no claim has */
    /* What the caller may do and see (access.h), also in what a workflow makes of the operation.
     * NULL: everything. */
    const struct fa_grant *grant;
    bool for_holder; /* by.worker_id is whichever worker holds the task, and the caller is none */
    bool wants_task; /* a change answers with the whole task, not only with its id */
    bool is_poll;    /* CLAIM_NEXT: asked again, and nobody has said that there is work */
    bool is_checked; /* fa_service_check was called, for the next run */
    /* fa_service_claim_wait: come back early once this is set and fa_service_wake was called. */
    const atomic_bool *give_up;
    union {
        const struct faina_submit *submit; /* SUBMIT; AMEND: see there */
        const struct faina_claim *claim;   /* CLAIM_NEXT (wait_ms is the caller's affair) */
        int64_t lease_ms; /* CLAIM, START, HEARTBEAT; 0: the default, or as claimed */
        const struct faina_report *report;   /* PROGRESS */
        const char *output;                  /* COMPLETE; NULL: none */
        const struct faina_failure *failure; /* FAIL */
        struct {
            const char *what, *detail; /* the event's name, and JSON or NULL */
        } note; /* NOTE: an event that changes nothing else, by who holds the task, or by who held
                   it before and gives its fence */
        struct {
            const struct faina_submit *subtasks;
            size_t count;
            bool fail_fast;
        } block; /* BLOCK */
        struct {
            const char *reason;
            int64_t timeout_ms;
        } background;                    /* BACKGROUND */
        bool keep_attempts;              /* RETRY */
        bool force;                      /* TOKEN_REMOVE: also the last one that is good */
        struct faina_removal removal;    /* DELETE */
        const struct faina_purge *purge; /* PURGE */
        struct {
            const char *ns, *type, *key;
        } name; /* PAUSE, RESUME, GET_BY_KEY, STATS (ns; type NULL: all), TEAM_LIST (ns), CRON_* but
                   PUT (ns) */
        struct {
            const char *name; /* RESOURCE_LIST: NULL for all */
            int64_t max_concurrency;
        } resource;                    /* RESOURCE_* */
        const struct faina_team *team; /* TEAM_PUT */
        struct {
            const struct faina_worker *self;
            const struct faina_held *held;
            size_t held_count;
            int64_t lease_ms;                   /* 0: as claimed */
            bool renews_all;                    /* without a list: whatever the worker holds */
        } worker;                               /* WORKER_PUT */
        const struct fa_token *token;           /* TOKEN_PUT */
        const struct fa_cron_job *cron;         /* CRON_PUT */
        const struct faina_query *query;        /* LIST */
        const struct faina_emit *emit;          /* EMIT */
        const struct fa_definition *definition; /* WORKFLOW_PUT */
        struct {
            const char *ns, *name; /* WORKFLOW_LIST: name NULL for all, ns "*" for all */
            bool enable;           /* WORKFLOW_ENABLE */
        } workflow;                /* WORKFLOW_* but PUT */
        const struct fa_happened_query *happened_query; /* HAPPENED_LIST */
        struct {
            const char *ns, *workflow; /* workflow NULL: all; NOT_FOUND when there isn't one */
            const char *key;           /* as text or as JSON; NULL: all */
            int limit;
            const char *cursor;
        } join; /* JOIN_LIST */
        struct {
            int limit;
            const char *cursor;
            bool ends; /* CHILDREN: id, name, type, status, output and error are enough */
        } page;        /* CHILDREN, EVENTS (limit), FOLLOW (cursor NULL: gives the place of now) */
    };
    /* RESOURCE_LIST, TEAM_LIST, WORKER_LIST, TOKEN_LIST, CRON_LIST, WORKFLOW_LIST, EVENTS (there,
     * the limit is that of `page`): see next_cursor. */
    struct fa_part part;

    /* The answer. */
    enum faina_code code;
    struct fa_arena *arena;      /* the caller's: where the answer lives */
    char task_id[FAINA_ID_SIZE]; /* SUBMIT, CRON_RUN, and every change of one task */
    bool existing;               /* SUBMIT: the key was known */
    bool input_mismatch;
    int64_t count; /* PURGE: rows removed; CANCEL: tasks cancelled; WORKER_REMOVE: given back */
    union {
        struct faina_task *task;   /* changes with wants_task, GET, GET_BY_KEY */
        struct faina_tasks *tasks; /* CLAIM_NEXT, LIST, CHILDREN */
        struct faina_events *events;
        struct faina_explanation *explanation;
        struct faina_resources *resources;
        struct faina_team *team_answer; /* TEAM_PUT */
        struct faina_teams *teams;
        struct faina_stats *stats;
        struct faina_beat *beat; /* WORKER_PUT */
        struct faina_workers *workers;
        struct fa_token *token_answer; /* TOKEN_PUT */
        struct fa_tokens *tokens;
        struct fa_cron_job *cron_answer; /* CRON_PUT */
        struct fa_cron_jobs *crons;
        struct fa_followed *followed; /* FOLLOW */
        struct faina_emitted *emitted;
        struct fa_stored_workflow *workflow_answer; /* WORKFLOW_PUT, WORKFLOW_ENABLE */
        struct fa_stored_workflows *workflows;
        struct fa_happened *happened;
        struct fa_join_states *joins;
    };
    const char *next_cursor; /* lists that were asked for in parts; NULL: this was the last one */
    /* WORKFLOW_PUT: the definition as it was understood, and what is wrong with it. */
    const struct fa_workflow *checked;
    struct fa_mistakes *mistakes;
    struct fa_emit_plan *plan; /* EMIT: the engine's (fa_service_prepare) */

    struct faina_error error; /* large, and last: see fa_op_copy */
};

/* The sentence comes along only when there is one. */
static inline void fa_op_copy(struct fa_op *to, const struct fa_op *from)
{
    memcpy(to, from, from->code == FAINA_OK ? offsetof(struct fa_op, error) : sizeof(*to));
}

/* How the engine's clock and the wall clock of its machine differ. All zero where the time is the
 * database's. */
struct fa_service_clock {
    int64_t offset_ms;  /* how far the engine's clock is ahead; negative: behind */
    int64_t jumps;      /* of the wall clock, since the engine was opened */
    int64_t jump_ms;    /* by how much the last one changed it; negative: it was set back */
    int64_t jump_at_us; /* the wall clock right after it; 0: there was none */
};

/* What `faina doctor` and `faina db status` show. */
struct fa_service_info {
    const char *engine;         /* "sqlite", "memory" */
    const char *location;       /* path or address; no secrets */
    const char *engine_version; /* of SQLite, PostgreSQL ... */
    int schema_version;         /* newest migration applied */
    size_t migration_count;
    struct fa_service_migration {
        const char *id, *description;
        int64_t executed_us;
    } * migrations;
    int64_t size_bytes;          /* on disk, logs included; -1: unknown */
    int64_t commits, operations; /* since it was opened */
    struct fa_service_clock clock;
    int64_t set_aside;   /* items (fa_aside_item) in the store */
    int64_t stalled_ms;  /* how long the engine's chores have failed; 0: they don't ... */
    const char *stalled; /* ... and why */
    size_t finding_count;
    const char **findings; /* what the engine's own checks found wrong; sentences */
    const char *full; /* why new tasks are refused: the disk has no room for them; NULL: it has */
    size_t warning_count;
    const char **warnings; /* what works, but might soon not; sentences that say what to do */
};

/* Something stored that the engine can't handle: a damaged row, or one that makes transactions
 * fail. */
struct fa_aside_item {
    const char *kind, *key;
    const char *name; /* for people: a task's id; NULL: the key */
    const char *reason;
    int64_t tries; /* how often it has been set aside */
};

/* A set of types in one word: each has a bit (fa_hash_bit), which it may share with others. So it
 * may say too much, and never too little. */
#define FA_TYPES_ALL UINT64_MAX

/* The types that a claim asks for. */
uint64_t fa_claim_types(const struct faina_claim *claim);

/* What a commit has changed, for those who wait without a thread of their own. */
struct fa_news {
    const struct fa_id *ended; /* tasks that have ended (model/id.h), or whose worker lost them */
    size_t ended_count;
    bool has_any_ended;   /* any task may have ended: look at those you wait for */
    uint64_t ready_types; /* something of these types may be claimed that could not be before */
};

/* What a commit of this process has done, for those who count. */
struct fa_kind {
    const char *ns, *type;
};

struct fa_facts {
    const struct fa_kind *submitted; /* of the tasks that it made */
    size_t submitted_count;
    const struct fa_fact {
        struct fa_kind kind;
        enum faina_status status;
    } * ended;
    size_t ended_count;
    const int64_t *waits_us; /* each time a task was taken: since it could be */
    size_t wait_count;
    const int64_t
        *runs_us; /* each time it was let go, but for a release: since its start or claim */
    size_t run_count;
    size_t leases_lost;
    const struct faina_emit_failure *unmade; /* tasks of workflows that could not be made when a
                                                task ended or a join's time was over */
    size_t unmade_count;
    const struct fa_service_clock *jump;   /* the wall clock has jumped; NULL: it has not */
    const struct fa_aside_item *set_aside; /* what can't be handled, and is left out from now on */
    size_t set_aside_count;
    const char *stalled; /* not NULL: the engine's chores have failed for long, for this reason */
};

/* One who wants to hear of commits; the caller's memory, from listen to unlisten. Both functions
 * may be NULL, must be quick, and never call the service. */
struct fa_listener {
    void (*tell)(void *ctx, const struct fa_news *news);
    void (*count)(void *ctx, const struct fa_facts *facts);
    void *ctx;
    struct fa_listener *next; /* the engine's */
};

/* Tasks that ended long ago, for who keeps them elsewhere and then removes them. */
struct fa_old_query {
    int64_t completed_ms, failed_ms; /* how long ago those that completed, and the others, must
                                        have ended; negative: they stay */
    int64_t events_ms; /* not 0: instead, tasks with events that ended this long ago */
    int64_t low, high; /* high not 0: instead, all of a day (fa_old_day) */
    int64_t after;     /* where the last answer stopped; 0: the beginning */
    size_t limit;
};

struct fa_old {
    size_t count;
    struct fa_old_task {
        int64_t key, version;
        struct faina_task task;
        struct faina_event *events; /* oldest first */
        size_t event_count;
    } * items;
    size_t left_out; /* tasks that are damaged, or have changed while they were read */
    int64_t after;
    bool has_more; /* ask again, with this `after` */
};

/* A day whose tasks are all past their time, where days are tables of their own. */
struct fa_old_day {
    bool has_days; /* days are tables here */
    bool is_found;
    int64_t low, high;       /* its range of keys */
    int64_t tasks, versions; /* how many, and the sum of their versions */
};

/* The table of an engine. The wrappers below check arguments and requests, once for all. */
struct fa_service_ops {
    const char *name;
    bool is_remote; /* the engine itself is in another process */

    /* Required. O1, O2, O3. Returns only after every op has its code; never waits for anything
     * but the store. */
    void (*run)(struct fa_service *service, struct fa_op *ops, size_t count);

    /* Required. Blocks until the task `id` has ended, or `timeout_ms` passed, or something else
     * happened: may wake for nothing, never misses an end. */
    void (*wait_end)(struct fa_service *service, const char *id, int64_t timeout_ms);

    /* Required. Runs one CLAIM_NEXT that waits for work for up to `wait_ms`; may come back empty
     * before. */
    void (*claim_wait)(struct fa_service *service, struct fa_op *op, int64_t wait_ms);
    /* Optional. Makes every claim_wait under way look at its op's `give_up`. */
    void (*wake)(struct fa_service *service);

    /* Optional, both or neither. After each commit every listener is told, in the thread that
     * committed. After unlisten has returned it is told nothing more. */
    void (*listen)(struct fa_service *service, struct fa_listener *listener);
    void (*unlisten)(struct fa_service *service, struct fa_listener *listener);
    /* Optional. Somebody waits for this task and hears of its end by `listen`; it may also be told
     * of it once too early. Holds for half a minute. */
    void (*expect)(struct fa_service *service, const struct fa_id *id);

    /* Optional. Tells processes that can't open the engine themselves where it is served; NULL: it
     * is about to be closed, so only who soon goes himself should come there. */
    void (*advertise)(struct fa_service *service, const char *address);

    /* Optional, both or neither. Removing looks at each task again: one that was changed since it
     * was found stays. CONFLICT: another node does this. */
    enum faina_code (*old_find)(struct fa_service *service, const struct fa_old_query *query,
                                struct fa_arena *arena, struct fa_old *out,
                                struct faina_error *err);
    enum faina_code (*old_remove)(struct fa_service *service, const struct fa_old *what,
                                  bool events_only, size_t *removed, struct faina_error *err);
    /* The same for whole days; no day is found where days are no tables. CONFLICT: the day has
     * changed since, or another node does this. OVERLOADED: others were in the way. */
    enum faina_code (*old_day_find)(struct fa_service *service, const struct fa_old_query *query,
                                    struct fa_old_day *out, struct faina_error *err);
    enum faina_code (*old_day_drop)(struct fa_service *service, const struct fa_old_day *day,
                                    struct faina_error *err);

    /* Optional, both or neither. Whether `prepare` would take long; and what an operation needs
     * before its transaction: run does it for those that were not prepared. */
    bool (*is_heavy)(struct fa_service *service, const struct fa_op *op);
    void (*prepare)(struct fa_service *service, struct fa_op *op);

    /* Optional. Without it, what an engine without a clock of its own says. */
    void (*clock)(struct fa_service *service, struct fa_service_clock *out);
    /* Required. With `thorough` it also checks the store itself, which takes time. */
    enum faina_code (*info)(struct fa_service *service, bool thorough, struct fa_arena *arena,
                            struct fa_service_info *out, struct faina_error *err);

    /* Required. Writes a consistent copy of the store to `path`, an existing empty file, while the
     * engine is in use. NOT_SUPPORTED: it is no SQLite file. OVERLOADED: this is being done
     * already. */
    enum faina_code (*backup)(struct fa_service *service, const char *path,
                              const struct fa_backup_watch *watch, struct faina_error *err);

    /* Required. From now on every operation answers STORE_CLOSED and every wait returns at once.
     * Returns when what is under way is done. */
    void (*shut)(struct fa_service *service);

    /* Required. After `shut`, when nobody is inside any more. */
    void (*close)(struct fa_service *service);
};

/* The first member of every engine. */
struct fa_service {
    const struct fa_service_ops *ops;
    size_t input_size_max;
    atomic_bool is_full; /* new tasks are refused for lack of room on the disk */
    atomic_int inside;   /* callers between a wrapper's first and last line */
};

/* URL -> engine. Codes as for faina_open. */
FA_MUST_CHECK enum faina_code fa_service_open(struct fa_service **out, const char *url,
                                              const struct faina_options *options,
                                              struct faina_error *err);
/* The same, for who asks something and goes: a file's owner that is about to go will do, as long as
 * it still serves the file. Others wait for it, since they would be left without an engine. With
 * `must_exist` no store is made: UNAVAILABLE when there is none. */
FA_MUST_CHECK enum faina_code fa_service_visit(struct fa_service **out, const char *url,
                                               const struct faina_options *options, bool must_exist,
                                               struct faina_error *err);
/* Lets callers inside finish; those that wait return with STORE_CLOSED. NULL is fine. */
void fa_service_close(struct fa_service *service);

/* The file that the URL names; NULL: none. */
const char *fa_service_file(const char *url);
/* The process that has the file behind the URL for itself, so that nobody else can open it; 0: no
 * such file, or no such process. */
long fa_service_owner(const char *url);

/* What opening a store would do to its schema. */
struct fa_service_plan {
    int schema_version; /* now */
    size_t step_count;  /* the steps that are missing */
    const char **ids, **descriptions;
    const char *script; /* does them by hand, with the database's own program; twice is harmless */
};

/* Changes nothing. NOT_SUPPORTED: the store is none that is changed by hand. UNAVAILABLE: it is
 * newer than this program. */
FA_MUST_CHECK enum faina_code fa_service_plan(const char *url, struct fa_arena *arena,
                                              struct fa_service_plan *out, struct faina_error *err);

/* Copying a store. */
enum fa_copy_phase { FA_COPY_READING, FA_COPY_WRITING, FA_COPY_CHECKING };

struct fa_copy_report {
    const char *from, *to; /* for people; no secrets */
    bool is_resumed;       /* it went on with a copy that was begun before */
    bool is_restarted;     /* it threw such a copy away: the source has changed since */
    const char *user;      /* a node that had the source open; NULL: none */
    size_t table_count;
    struct fa_copy_sum {
        const char *name;
        int64_t rows;
        uint64_t checksum; /* the same on both sides */
    } * tables;
};

/* Called now and then. `done` counts rows of the phase; total is 0 while it is not known. */
struct fa_copy_watch {
    void *ctx;
    void (*moved)(void *ctx, enum fa_copy_phase phase, const char *table, int64_t done,
                  int64_t total);
};

/*
 * Copies everything but the workers from one store into another that is empty, or into which a
 * copy was begun: then it goes on. Until it is done nobody can open the target. The source stays
 * as it is. CONFLICT: the target holds something, or is in use. NOT_FOUND: no store at `from`.
 * NOT_SUPPORTED: a store in memory.
 */
FA_MUST_CHECK enum faina_code fa_service_copy(const char *from, const char *to,
                                              const struct fa_copy_watch *watch,
                                              struct fa_arena *arena, struct fa_copy_report *out,
                                              struct faina_error *err);

/* Makes a backup of a SQLite store while it is in use: a file that is checked by opening it before
 * it gets its name (sql/backup_file.h). From a client of a server the file comes from there.
 * CONFLICT: `path` is there and may not be replaced. OVERLOADED: a backup is being made already.
 * NOT_SUPPORTED: the store is no SQLite file. */
FA_MUST_CHECK enum faina_code fa_service_backup(struct fa_service *service, const char *path,
                                                bool may_replace,
                                                const struct fa_backup_watch *watch,
                                                struct fa_backup_report *out,
                                                struct faina_error *err);
/* The same as a file without a name, on the disk of the store: it goes when *fd is closed. */
FA_MUST_CHECK enum faina_code fa_service_backup_open(struct fa_service *service,
                                                     const struct fa_backup_watch *watch, int *fd,
                                                     struct fa_backup_report *out,
                                                     struct faina_error *err);
/* Makes a new store at `url`, a SQLite file that isn't there yet, of the backup at `path`. */
FA_MUST_CHECK enum faina_code fa_service_restore(const char *path, const char *url,
                                                 const struct fa_backup_watch *watch,
                                                 struct fa_backup_report *out,
                                                 struct faina_error *err);

void fa_service_run(struct fa_service *service, struct fa_op *ops, size_t count);
/* Does what fa_service_run begins with, ahead of it: in another thread than the one that everybody
 * waits for. What was checked already is left alone. */
void fa_service_check(const struct fa_service *service, struct fa_op *ops, size_t count);
/* One operation; copies op->error to `err` and returns op->code. */
enum faina_code fa_service_run_one(struct fa_service *service, struct fa_op *op,
                                   struct faina_error *err);
/* CLAIM_NEXT that waits up to claim->wait_ms for work. */
enum faina_code fa_service_claim_wait(struct fa_service *service, struct fa_op *op,
                                      struct faina_error *err);
/* Lets those inside fa_service_claim_wait look at their `give_up`. */
void fa_service_wake(struct fa_service *service);
/* GET that waits until the task has ended. TIMEOUT: op->task is its present state. */
enum faina_code fa_service_wait(struct fa_service *service, struct fa_op *op, int64_t timeout_ms,
                                struct faina_error *err);
enum faina_code fa_service_info(struct fa_service *service, bool thorough, struct fa_arena *arena,
                                struct fa_service_info *out, struct faina_error *err);

/* NOT_SUPPORTED: the engine is in another process, which does this. */
FA_MUST_CHECK enum faina_code fa_service_old_find(struct fa_service *service,
                                                  const struct fa_old_query *query,
                                                  struct fa_arena *arena, struct fa_old *out,
                                                  struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_service_old_remove(struct fa_service *service,
                                                    const struct fa_old *what, bool events_only,
                                                    size_t *removed, struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_service_old_day_find(struct fa_service *service,
                                                      const struct fa_old_query *query,
                                                      struct fa_old_day *out,
                                                      struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_service_old_day_drop(struct fa_service *service,
                                                      const struct fa_old_day *day,
                                                      struct faina_error *err);

/* False: this engine tells nobody; look from time to time. */
bool fa_service_listen(struct fa_service *service, struct fa_listener *listener);
void fa_service_unlisten(struct fa_service *service, struct fa_listener *listener);
void fa_service_expect(struct fa_service *service, const struct fa_id *id);

void fa_service_advertise(struct fa_service *service, const char *address);

/*
 * For a caller whose next fa_service_run holds others up: whether some of the operations, which
 * fa_service_check has found good, want something done before that takes long; and doing it. What
 * it makes lives in their arenas, and is good for one run.
 */
bool fa_service_is_heavy(struct fa_service *service, const struct fa_op *ops, size_t count);
void fa_service_prepare(struct fa_service *service, struct fa_op *ops, size_t count);

/* How the engine's clock differs from that of the machine. Quick: it reads no store. */
void fa_service_clock(struct fa_service *service, struct fa_service_clock *out);

/* The engine is in another process, which others use too. */
bool fa_service_is_remote(const struct fa_service *service);

const char *fa_op_name(enum fa_op_kind kind);
bool fa_op_writes(enum fa_op_kind kind);

#endif
