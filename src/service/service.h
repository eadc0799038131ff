/*
 * service.h - the interface of every engine: all task operations, batched.
 *
 * Above it: the public C functions, the command line, the HTTP server and the worker pool.
 * Below it: one implementation per family of engines (store/, client/). A caller fills in
 * operations and runs them together. Nothing above depends on SQL, nothing below on HTTP.
 *
 *   O1  fa_service_run gives each operation its own result: op->code, and op->error when it isn't
 *       OK.
 *   O2  The changes among the operations run in order, in one transaction, and are on disk when
 *       fa_service_run returns. A read in the same call sees what is committed when it runs. (Over
 *       HTTP each request may be a transaction of its own: client/README.md.)
 *   O3  A refused operation has changed nothing (but may have added a `late_result` event).
 *   O4  Requests are checked (check_op.h) before they reach an engine.
 *   O5  Results are allocated in op->arena, which is the caller's.
 *
 * Threads: any, at any time between open and close.
 */
#ifndef FA_SERVICE_SERVICE_H
#define FA_SERVICE_SERVICE_H

#include "base/bytes.h"
#include "base/error.h"
#include "model/backup.h"
#include "model/id.h"
#include "model/operation.h"

#include <stdalign.h>
#include <stdatomic.h>

struct fa_service;

/* A set of types in one word. Each type has a bit (fa_hash_bit), which other types may share. So
 * the set may contain types that were not added, and never lacks one that was. */
#define FA_TYPES_ALL UINT64_MAX

/* The types that a claim asks for. */
uint64_t fa_claim_types(const struct faina_claim *claim);

/* What a commit has changed, for waits that have no thread of their own. */
struct fa_notification {
    const struct fa_id *ended; /* tasks that have ended (model/id.h), or whose worker lost them */
    size_t ended_count;
    bool has_any_ended;   /* any task may have ended: read the awaited ones again */
    uint64_t ready_types; /* tasks of these types may have become claimable */
};

/* What a commit of this process has done, for metrics. */
struct fa_kind {
    const char *ns, *type;
};

/* A task that was stored. */
struct fa_span_submit {
    struct fa_id id;
    struct fa_kind kind;
    int64_t created_us;
    const char *metadata; /* NULL: none */
};

/* A run of a task that has ended: of its handler, or of work in the background. */
struct fa_span_attempt {
    struct fa_id id;
    struct fa_kind kind;
    int64_t fence, attempt; /* the attempt's number; a run that resumes it has the same */
    enum faina_phase phase;
    const char *worker; /* NULL: unknown */
    int64_t start_us, end_us;
    enum faina_status status; /* of the task, afterwards */
    bool has_failed;          /* with `error`, JSON or NULL */
    const char *error;
};

struct fa_commit_stats {
    size_t op_count;                 /* operations in its transaction */
    const struct fa_kind *submitted; /* of the tasks that it created */
    size_t submitted_count;
    const struct fa_kind_count {
        struct fa_kind kind;
        int64_t n;
    } * sql_submitted; /* of the tasks that other programs have stored by SQL */
    size_t sql_submitted_count;
    const struct fa_task_end {
        struct fa_kind kind;
        enum faina_status status;
    } * ended;
    size_t ended_count;
    const struct fa_task_span {
        struct fa_kind kind;
        int64_t us;
    } * waits; /* for each claim: time since the task became claimable */
    size_t wait_count;
    const struct fa_task_span
        *runs; /* for each end of an attempt, except a release: since its start or claim */
    size_t run_count;
    /* Only for listeners with wants_spans. */
    const struct fa_span_submit *span_submits;
    size_t span_submit_count;
    const struct fa_span_attempt *span_attempts;
    size_t span_attempt_count;
    size_t leases_lost;
    const struct faina_emit_failure
        *trigger_failures; /* workflow tasks that could not be created when a task ended or a
                              join timed out */
    size_t trigger_failure_count;
    const struct fa_service_clock *jump;   /* the wall clock has jumped; NULL: it has not */
    const struct fa_aside_item *set_aside; /* items that can't be processed, skipped from now on */
    size_t set_aside_count;
    const char *stalled; /* not NULL: why the engine's chores have been failing for long */
    enum fa_lead {
        FA_LEAD_SAME,
        FA_LEAD_OWNER, /* it leads: the store is not shared */
        FA_LEAD_BEGUN, /* this node leads from now on */
        FA_LEAD_OVER,  /* it leads no more */
    } lead;
    const struct fa_missed_times {
        const char *ns, *name; /* the schedule */
        int64_t count;         /* its times that made no task; at most 1,000 are counted */
        const char *reason;
    } * missed;
    size_t missed_count;
};

/* A subscriber to commits; the caller's memory, from listen to unlisten. Both functions may be
 * NULL, must be quick, and never call the service. */
struct fa_listener {
    void (*on_commit)(void *ctx, const struct fa_notification *notification);
    void (*count)(void *ctx, const struct fa_commit_stats *stats);
    bool wants_spans; /* with `count`: its facts for spans, which cost memory and time */
    void *ctx;
    struct fa_listener *next; /* the engine's */
};

/* Selects ended tasks that are past retention, to be archived and then removed. */
struct fa_expired_query {
    int64_t completed_ms, failed_ms; /* how long ago completed tasks, and other ended tasks, must
                                        have ended; negative: they are kept */
    int64_t events_ms; /* not 0: instead, tasks with events that ended this long ago */
    int64_t low, high; /* high not 0: instead, all of a day (fa_expired_day) */
    int64_t after;     /* `after` of the last result; 0: the beginning */
    size_t limit;
};

struct fa_expired {
    size_t count;
    struct fa_expired_task {
        int64_t key, version;
        struct faina_task task;
        struct faina_event *events; /* oldest first */
        size_t event_count;
    } * items;
    size_t left_out; /* tasks that are damaged, or have changed while they were read */
    int64_t after;
    bool has_more; /* call again, with this `after` */
};

/* A day whose tasks are all past retention, where each day is a table of its own. */
struct fa_expired_day {
    bool has_days; /* this store has a table for each day */
    bool is_found;
    int64_t low, high;       /* its range of keys */
    int64_t tasks, versions; /* how many, and the sum of their versions */
};

/* A message for a broker (store/upkeep/outbox.h). */
struct fa_outbox_message {
    int64_t seq; /* its place in the outbox */
    char id[FAINA_ID_SIZE];
    const char *ns, *type;
    enum faina_status status; /* pending: the task is ready; else how it ended */
    int64_t attempt;          /* that would start, or was the last one */
    int64_t priority, version;
    bool is_damaged; /* the row can't be read; all but `seq` is unset */
};

struct fa_outbox {
    size_t count;
    struct fa_outbox_message *items; /* in their order */
};

/* Changes that are queued without waiting for them; the caller's memory from fa_service_post to
 * `done`. */
struct fa_service_post {
    struct fa_op *ops;
    size_t count;
    void (*done)(struct fa_service_post *post);

    struct fa_op *accepted; /* internal: a copy of the ops that have passed the check, when some
                               have not; else NULL */
};

/* The functions of an engine. The wrappers below check arguments and requests for all engines. */
struct fa_service_ops {
    const char *name;
    bool is_remote; /* the engine itself is in another process */

    /* Required. O1, O2, O3. Returns only after every op has its code; waits only for the
     * store. */
    void (*run)(struct fa_service *service, struct fa_op *ops, size_t count);

    /* Optional. The same for changes, without waiting: `done` is called once, after all ops have
     * their codes, in a thread of the engine or of another caller. OVERLOADED: too much is queued.
     * STORE_CLOSED. In both cases nothing is run and `done` isn't called. `shut` returns after
     * the last `done`. */
    enum faina_code (*post)(struct fa_service *service, struct fa_op *ops, size_t count,
                            void (*done)(void *ctx), void *ctx);

    /* Required. Blocks until the task `id` has ended, or `timeout_ms` passed, or for another
     * reason: it may return early, and never misses an end. */
    void (*wait_end)(struct fa_service *service, const char *id, int64_t timeout_ms);

    /* Required. Runs one CLAIM_NEXT that waits for work for up to `wait_ms`; may return without a
     * task before. */
    void (*claim_wait)(struct fa_service *service, struct fa_op *op, int64_t wait_ms);
    /* Optional. Makes every running claim_wait check its op's `give_up`. */
    void (*wake)(struct fa_service *service);

    /* Optional, both or neither. After each commit every listener is called, in the thread that
     * committed. After unlisten has returned it is not called any more. */
    void (*listen)(struct fa_service *service, struct fa_listener *listener);
    void (*unlisten)(struct fa_service *service, struct fa_listener *listener);
    /* Optional. Has the listeners notified of this task's end, also when another process ends it;
     * there may be one notification before the end. Holds for half a minute. */
    void (*expect)(struct fa_service *service, const struct fa_id *id);

    /* Optional. Publishes the address where the engine is served to processes that can't open the
     * store themselves. NULL: the engine is about to be closed, so only short visits
     * (fa_service_visit) should still use the address. */
    void (*advertise)(struct fa_service *service, const char *address);

    /* Optional, both or neither. Removing checks each task again: one that was changed since it
     * was found is kept. CONFLICT: another node does this. */
    enum faina_code (*expired_find)(struct fa_service *service,
                                    const struct fa_expired_query *query, struct fa_arena *arena,
                                    struct fa_expired *out, struct faina_error *err);
    enum faina_code (*expired_remove)(struct fa_service *service, const struct fa_expired *what,
                                      bool events_only, size_t *removed, struct faina_error *err);
    /* The same for whole days; no day is found where days have no tables. CONFLICT: the day has
     * changed since, or another node does this. OVERLOADED: a lock was not available. */
    enum faina_code (*expired_day_find)(struct fa_service *service,
                                        const struct fa_expired_query *query,
                                        struct fa_expired_day *out, struct faina_error *err);
    enum faina_code (*expired_day_drop)(struct fa_service *service,
                                        const struct fa_expired_day *day, struct faina_error *err);

    /* Optional, all or none. Publishing the outbox: lead makes this node the publisher for 15
     * seconds, or renews that; *leads is false while another node is. Read returns up to `limit`
     * messages behind the position `after`. Remove removes them, and adds to the count of
     * unroutable ones. */
    enum faina_code (*outbox_lead)(struct fa_service *service, const char *node, bool *leads,
                                   struct faina_error *err);
    enum faina_code (*outbox_read)(struct fa_service *service, int64_t after, size_t limit,
                                   struct fa_arena *arena, struct fa_outbox *out,
                                   struct faina_error *err);
    enum faina_code (*outbox_remove)(struct fa_service *service, const struct fa_outbox *what,
                                     size_t unroutable, struct faina_error *err);

    /* Optional, both or neither. is_heavy: whether `prepare` would take long. prepare: does what an
     * operation needs before its transaction; `run` does it for operations that were not
     * prepared. */
    bool (*is_heavy)(struct fa_service *service, const struct fa_op *op);
    void (*prepare)(struct fa_service *service, struct fa_op *op);

    /* Optional. Without it the result is that of an engine without a clock of its own: all zero. */
    void (*clock)(struct fa_service *service, struct fa_service_clock *out);
    /* Required. With `thorough` it also checks the store itself, which takes time. */
    enum faina_code (*info)(struct fa_service *service, bool thorough, struct fa_arena *arena,
                            struct fa_service_info *out, struct faina_error *err);

    /* Required. Writes a consistent copy of the store to `path`, an existing empty file, while the
     * engine is in use. NOT_SUPPORTED: the store is not a SQLite file. OVERLOADED: a backup is
     * running already. */
    enum faina_code (*backup)(struct fa_service *service, const char *path,
                              const struct fa_backup_watch *watch, struct faina_error *err);

    /* Required. From now on every operation fails with STORE_CLOSED and every wait returns at
     * once. Returns when the operations that are running are done. */
    void (*shut)(struct fa_service *service);

    /* Required. After `shut`, when no call is running. */
    void (*close)(struct fa_service *service);
};

/* The first member of every engine. */
#define FA_USER_SIZE 64 /* the name of this process's user */

struct fa_service {
    const struct fa_service_ops *ops;
    size_t input_size_max;
    /* For the audit, of operations without a grant, and without a reason of their own. */
    char user[FA_USER_SIZE]; /* "": not known */
    const char *reason;      /* NULL: none */
    atomic_bool is_full;     /* new tasks are refused because the disk is full */
    atomic_bool is_shut;
    /* Calls that are running in a wrapper. Not in the cache line of the members above, which other
     * threads read with each operation. */
    alignas(64) atomic_int inside;
};

/* URL -> engine. Codes as for faina_open. */
FA_MUST_CHECK enum faina_code fa_service_open(struct fa_service **out, const char *url,
                                              const struct faina_options *options,
                                              struct faina_error *err);
/* The same, for a short visit: it also uses the owner of a file that is about to close, as long as
 * it still serves the file. fa_service_open waits for such an owner to close, since it would be
 * left without an engine. With `must_exist` no store is created: UNAVAILABLE when there is none. */
FA_MUST_CHECK enum faina_code fa_service_visit(struct fa_service **out, const char *url,
                                               const struct faina_options *options, bool must_exist,
                                               struct faina_error *err);
/* Waits for running calls; those that wait return STORE_CLOSED, as all later ones do. From one
 * thread at a time. */
void fa_service_shut(struct fa_service *service);
/* Shuts the engine down, if it isn't yet, when no call can come any more. NULL is fine. */
void fa_service_close(struct fa_service *service);

/* The file that the URL names; NULL: none. */
const char *fa_service_file(const char *url);
/* The process that has the URL's file open exclusively; 0: no such file, or no such process. */
long fa_service_owner(const char *url);
/* Whether a process has the URL's file open, served or not. */
bool fa_service_has_owner(const char *url);

/* What opening a store would do to its schema. */
struct fa_service_plan {
    int schema_version; /* now */
    size_t step_count;  /* the steps that are missing */
    const char **ids, **descriptions;
    const char *script; /* does them by hand, with the database's own program; may be run twice */
};

/* Changes nothing. NOT_SUPPORTED: a store of this kind can't be migrated by hand. UNAVAILABLE: its
 * schema is newer than this program. */
FA_MUST_CHECK enum faina_code fa_service_plan(const char *url, struct fa_arena *arena,
                                              struct fa_service_plan *out, struct faina_error *err);

/* Copying a store. */
enum fa_copy_phase { FA_COPY_READING, FA_COPY_WRITING, FA_COPY_CHECKING };

struct fa_copy_report {
    const char *from, *to; /* for people; no secrets */
    bool is_resumed;       /* it continued a copy that was begun before */
    bool is_restarted;     /* it discarded such a copy: the source has changed since */
    const char *user;      /* a node that had the source open; NULL: none */
    size_t table_count;
    struct fa_copy_sum {
        const char *name;
        int64_t rows;
        uint64_t checksum; /* the same on both sides */
    } * tables;
};

/* Called now and then. `done` counts rows of the phase; `total` is 0 while it is unknown. */
struct fa_copy_watch {
    void *ctx;
    void (*moved)(void *ctx, enum fa_copy_phase phase, const char *table, int64_t done,
                  int64_t total);
};

/*
 * Copies everything but the workers from one store into another that is empty, or that holds an
 * unfinished copy, which is then continued. Until the copy is done the target can't be opened. The
 * source isn't changed. CONFLICT: the target isn't empty, or is in use. NOT_FOUND: no store at
 * `from`. NOT_SUPPORTED: a store in memory.
 */
FA_MUST_CHECK enum faina_code fa_service_copy(const char *from, const char *to,
                                              const struct fa_copy_watch *watch,
                                              struct fa_arena *arena, struct fa_copy_report *out,
                                              struct faina_error *err);

/* Makes a backup of a SQLite store while it is in use: a file that is checked by opening it before
 * it is renamed to `path` (store/upkeep/backup_file.h). A client downloads it from its server.
 * CONFLICT: `path` exists and may not be replaced. OVERLOADED: a backup is running already.
 * NOT_SUPPORTED: the store is not a SQLite file. */
FA_MUST_CHECK enum faina_code fa_service_backup(struct fa_service *service, const char *path,
                                                bool may_replace,
                                                const struct fa_backup_watch *watch,
                                                struct fa_backup_report *out,
                                                struct faina_error *err);
/* The same as an unnamed file on the store's disk, which is removed when *fd is closed. */
FA_MUST_CHECK enum faina_code fa_service_backup_open(struct fa_service *service,
                                                     const struct fa_backup_watch *watch, int *fd,
                                                     struct fa_backup_report *out,
                                                     struct faina_error *err);
/* Creates the store at `url`, a SQLite file that doesn't exist yet, from the backup at `path`. */
FA_MUST_CHECK enum faina_code fa_service_restore(const char *path, const char *url,
                                                 const struct fa_backup_watch *watch,
                                                 struct fa_backup_report *out,
                                                 struct faina_error *err);

void fa_service_run(struct fa_service *service, struct fa_op *ops, size_t count);
/* Queues changes without waiting. `done` is called once, after they are on disk or were refused,
 * with no lock held; it must be quick, and may be called before this function returns.
 * OVERLOADED, STORE_CLOSED: the engine has not accepted them, and `done` won't be called. An engine
 * without a queue runs them before this function returns. */
FA_MUST_CHECK enum faina_code fa_service_post(struct fa_service *service,
                                              struct fa_service_post *post);
/* Does the checks of fa_service_run ahead of it, so that a shared thread that runs the operations
 * later doesn't have to. Operations that were checked already are skipped. */
void fa_service_check(const struct fa_service *service, struct fa_op *ops, size_t count);
/* One operation; copies op->error to `err` and returns op->code. */
enum faina_code fa_service_run_one(struct fa_service *service, struct fa_op *op,
                                   struct faina_error *err);
/* CLAIM_NEXT that waits up to claim->wait_ms for work. */
enum faina_code fa_service_claim_wait(struct fa_service *service, struct fa_op *op,
                                      struct faina_error *err);
/* Makes the running calls of fa_service_claim_wait check their op's `give_up`. */
void fa_service_wake(struct fa_service *service);
/* GET that waits until the task has ended. TIMEOUT: op->task is its current state. */
enum faina_code fa_service_wait(struct fa_service *service, struct fa_op *op, int64_t timeout_ms,
                                struct faina_error *err);
enum faina_code fa_service_info(struct fa_service *service, bool thorough, struct fa_arena *arena,
                                struct fa_service_info *out, struct faina_error *err);

/* NOT_SUPPORTED: the engine is in another process, which removes its tasks itself. */
FA_MUST_CHECK enum faina_code fa_service_expired_find(struct fa_service *service,
                                                      const struct fa_expired_query *query,
                                                      struct fa_arena *arena,
                                                      struct fa_expired *out,
                                                      struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_service_expired_remove(struct fa_service *service,
                                                        const struct fa_expired *what,
                                                        bool events_only, size_t *removed,
                                                        struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_service_expired_day_find(struct fa_service *service,
                                                          const struct fa_expired_query *query,
                                                          struct fa_expired_day *out,
                                                          struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_service_expired_day_drop(struct fa_service *service,
                                                          const struct fa_expired_day *day,
                                                          struct faina_error *err);

/* NOT_SUPPORTED: the engine is in another process, which publishes its messages itself. */
FA_MUST_CHECK enum faina_code fa_service_outbox_lead(struct fa_service *service, const char *node,
                                                     bool *leads, struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_service_outbox_read(struct fa_service *service, int64_t after,
                                                     size_t limit, struct fa_arena *arena,
                                                     struct fa_outbox *out,
                                                     struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_service_outbox_remove(struct fa_service *service,
                                                       const struct fa_outbox *what,
                                                       size_t unroutable, struct faina_error *err);

/* False: this engine has no notifications; poll instead. */
bool fa_service_listen(struct fa_service *service, struct fa_listener *listener);
void fa_service_unlisten(struct fa_service *service, struct fa_listener *listener);
void fa_service_expect(struct fa_service *service, const struct fa_id *id);

void fa_service_advertise(struct fa_service *service, const char *address);

/*
 * For a caller whose thread is shared: whether some of the operations that fa_service_check has
 * accepted need a preparation that takes long, and doing it. The prepared data is allocated in
 * their arenas, and is valid for one run.
 */
bool fa_service_is_heavy(struct fa_service *service, const struct fa_op *ops, size_t count);
void fa_service_prepare(struct fa_service *service, struct fa_op *ops, size_t count);

/* How the engine's clock differs from that of the machine. Quick: it reads no store. */
void fa_service_clock(struct fa_service *service, struct fa_service_clock *out);

/* The engine is in another process, which has other clients too. */
bool fa_service_is_remote(const struct fa_service *service);

const char *fa_op_name(enum fa_op_kind kind);
bool fa_op_writes(enum fa_op_kind kind);

#endif
