/*
 * faina.h - the public interface of libfaina, a durable task engine.
 *
 * Open an engine by its URL, then submit, claim and finish tasks:
 *
 *     struct faina_error err;
 *     struct faina *engine;
 *     struct faina_task *task = NULL;
 *
 *     if (faina_open(&engine, "sqlite:faina.db", NULL, &err) != FAINA_OK)
 *         return fprintf(stderr, "%s\n", err.message), 1;
 *     struct faina_submit mail = { .type = "mail.send", .input = "{\"to\":\"ann@example.com\"}" };
 *     if (faina_submit(engine, &mail, &task, &err) == FAINA_OK)
 *         puts(task->id);
 *     faina_free(task);
 *     faina_close(engine);
 *
 * Rules that hold for every function:
 *   - It returns a faina_code. FAINA_OK means done, and for a change: on disk.
 *   - `err` may be NULL. When the code isn't FAINA_OK, it has a sentence for people.
 *   - Out parameters are written only on FAINA_OK. The caller owns what they point to and frees it
 *     with faina_free, which also accepts NULL. An out parameter may be NULL: no result is
 *     returned.
 *   - Arguments are borrowed for the call and never kept.
 *   - Text is UTF-8 and ends with a NUL byte. Times are microseconds since 1970 UTC, 0 for none.
 *     Durations are milliseconds. Payloads are JSON text.
 *   - Every function may be called from any thread. None may be called after faina_close has begun;
 *     calls that wait when it begins return FAINA_STORE_CLOSED. After faina_shutdown they all do.
 *   - An engine belongs to the process that opened it: open it after fork. In a child of that
 *     process functions return FAINA_INVALID_REQUEST, and faina_close does nothing.
 *   - In a request struct, zero means the default of a field.
 */
#ifndef FAINA_H
#define FAINA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FAINA_VERSION "0.1.0"

#if defined(__GNUC__)
#define FAINA_API __attribute__((visibility("default")))
#else
#define FAINA_API
#endif

/* ------------------------------------------------------------------------------------------
 * Codes
 */

/*
 * X(NAME, wire name, HTTP status, exit code of the command line, sentence).
 * A new row also needs a row in docs/errors.md (a test compares them).
 */
#define FAINA_CODE_LIST(X)                                                                         \
    X(OK, "ok", 200, 0, "Done.")                                                                   \
    X(TASK_NOT_FOUND, "task_not_found", 404, 3, "There is no such task.")                          \
    X(NOT_FOUND, "not_found", 404, 3, "The object does not exist.")                                \
    X(TASK_ALREADY_CLAIMED, "task_already_claimed", 409, 4, "Another worker holds the task.")      \
    X(TASK_NOT_CLAIMED, "task_not_claimed", 409, 4, "No worker has claimed the task.")             \
    X(TASK_COMPLETED, "task_completed", 409, 4, "The task has already completed.")                 \
    X(TASK_FAILED, "task_failed", 409, 4, "The task has already ended unsuccessfully.")            \
    X(MAX_ATTEMPTS_REACHED, "max_attempts_reached", 409, 4, "The task has no attempts left.")      \
    X(WRONG_WORKER, "wrong_worker", 409, 4, "The task is held by another worker.")                 \
    X(TASK_ACTIVE, "task_active", 409, 4, "The task has not ended yet.")                           \
    X(CONFLICT, "conflict", 409, 4, "Something with this name is there already.")                  \
    X(DUPLICATE_KEY, "duplicate_key", 409, 4, "Another task has this idempotency key.")            \
    X(VERSION_CONFLICT, "version_conflict", 412, 4, "The task has changed since you read it.")     \
    X(INVALID_TASK, "invalid_task", 400, 2, "The task is not valid.")                              \
    X(INVALID_WORKER_ID, "invalid_worker_id", 400, 2, "The worker id is not valid.")               \
    X(INVALID_TRANSITION, "invalid_transition", 400, 4, "The task's status does not allow this.")  \
    X(INVALID_REQUEST, "invalid_request", 400, 2, "The request is not valid.")                     \
    X(PAYLOAD_TOO_LARGE, "payload_too_large", 413, 2, "A value is larger than its limit.")         \
    X(UNAUTHORIZED, "unauthorized", 401, 1, "A valid token is needed.")                            \
    X(FORBIDDEN, "forbidden", 403, 1, "This is not allowed.")                                      \
    X(NOT_SUPPORTED, "not_supported", 501, 1, "This engine can't do that.")                        \
    X(OVERLOADED, "overloaded", 429, 1, "There is no capacity for this now; try again later.")     \
    X(STORE_CLOSED, "store_closed", 503, 6, "The engine is closed.")                               \
    X(UNAVAILABLE, "unavailable", 503, 6, "The engine can't be reached.")                          \
    X(TIMEOUT, "timeout", 504, 5, "The time ran out.")                                             \
    X(INTERNAL, "internal", 500, 1, "Something is wrong inside the engine.")

enum faina_code {
#define FAINA_CODE_ENUM(name, wire, http, exit_code, sentence) FAINA_##name,
    FAINA_CODE_LIST(FAINA_CODE_ENUM)
#undef FAINA_CODE_ENUM
        FAINA_CODE_COUNT
};

/* The wire name of a code, such as "task_not_found". Static; never NULL. */
FAINA_API const char *faina_code_name(enum faina_code code);

/* An error, for programs and for people. The caller's memory. */
struct faina_error {
    enum faina_code code;
    int line, column;  /* the position in the text, from 1; 0: none */
    char field[64];    /* the field of the request; "": none */
    char message[512]; /* one sentence */
};

/* ------------------------------------------------------------------------------------------
 * Tasks
 */

/* X(NAME, wire name). The order is stored in files: add at the end only. */
#define FAINA_STATUS_LIST(X)                                                                       \
    X(PENDING, "pending")         /* waits to be claimed, maybe for its time */                    \
    X(CLAIMED, "claimed")         /* a worker holds it and has not started */                      \
    X(RUNNING, "running")         /* a worker runs it */                                           \
    X(BLOCKED, "blocked")         /* waits for subtasks or dependencies; no worker holds it */     \
    X(BACKGROUND, "background")   /* continues without a worker; ends by a call or its deadline */ \
    X(COMPLETED, "completed")     /* ended successfully */                                         \
    X(FAILED, "failed")           /* ended by a permanent error */                                 \
    X(DEAD_LETTER, "dead_letter") /* ended because its attempts were used up */                    \
    X(CANCELLED, "cancelled")     /* ended by a cancel */

enum faina_status {
#define FAINA_STATUS_ENUM(name, wire) FAINA_##name,
    FAINA_STATUS_LIST(FAINA_STATUS_ENUM)
#undef FAINA_STATUS_ENUM
        FAINA_STATUS_COUNT
};

/* The wire name of a status, such as "dead_letter". Static; never NULL. */
FAINA_API const char *faina_status_name(enum faina_status status);

/* Which function of a handler runs a claimed task. */
enum faina_phase {
    FAINA_PHASE_START,  /* from the beginning */
    FAINA_PHASE_RESUME, /* its subtasks have all completed */
    FAINA_PHASE_ERROR,  /* a subtask or dependency ended badly */
};

/* How long to wait before the next attempt: min(max, base * factor^(attempt-1)), half of it fixed
 * and half random. Zero in a field means its default. */
struct faina_retry_policy {
    int64_t base_ms; /* 15 seconds */
    double factor;   /* 8 */
    int64_t max_ms;  /* 6 hours */
};

#define FAINA_ID_SIZE 37     /* a task id as text, with its NUL */
#define FAINA_UNLIMITED (-1) /* for max_attempts: retry for ever */

/* The trigger or join of a workflow that made a task. */
struct faina_origin {
    const char *workflow, *trigger;
    int64_t version;      /* of the workflow, at that time */
    const char *event_id; /* "" for a join that fired at its deadline */
};

/* A task as it is at one moment. Text that is unset is NULL, ids that are unset are "". */
struct faina_task {
    char id[FAINA_ID_SIZE];
    const char *ns; /* namespace */
    const char *type;
    const char *name;
    enum faina_status status;
    enum faina_phase phase;
    const char *state;                         /* free text for people */
    int progress;                              /* 0..100 */
    int priority;                              /* higher first */
    const char *input, *output, *error, *spec; /* JSON */
    const char *metadata;                      /* JSON: an object, {} unless it was given */
    const char *idempotency_key;
    const char *input_hash;         /* hex, with dedupe_input only */
    const char *key_scope;          /* how long it keeps its key; NULL: it has none */
    int64_t attempts, max_attempts; /* max_attempts 0: no limit */
    int64_t run_at_us;
    const char *worker_id;
    int64_t lease_expires_us;
    int64_t fence; /* increases with each claim */
    char parent_id[FAINA_ID_SIZE];
    const char *const *depends_on; /* task ids */
    size_t depends_on_count;
    const char *const *resources; /* sorted, without repeats */
    size_t resource_count;
    struct faina_retry_policy retry;
    int64_t timeout_ms;  /* the longest run of one attempt; 0: no limit */
    int64_t start_by_us; /* it is cancelled if it was not started by then; 0: never */
    const char *group;   /* its fair share */
    int64_t expires_us;  /* deadline of background work */
    char team_id[FAINA_ID_SIZE];
    const char *created_by;
    const struct faina_origin *origin; /* NULL: it was submitted */
    int64_t version;                   /* +1 with each change */
    int64_t created_us, updated_us, claimed_us, started_us, completed_us, deleted_us;
    /* Only in the result of a submit: */
    bool existing;       /* the key exists: this is the first task, unchanged */
    bool input_mismatch; /* ... and has another input */
    /* Only in the result of a cancel: */
    int64_t cancelled_count; /* how many tasks were cancelled, with those below this one */
    /* Only from a server, for a token with the scope view and not read: */
    bool redacted; /* input, output, metadata, spec and the error's detail are left out */
    /* Only in a claim's result, for the handler: W3C Trace Context of the attempt or, when no spans
     * are exported, of the submitter; NULL: none. */
    const char *traceparent;
};

/* What to submit. Only `type` is required, or `name` or `input` (then the type is "default"). */
/* What a submit does when its key belongs to another task. X(NAME, wire name). */
#define FAINA_ON_DUPLICATE_LIST(X)                                                                 \
    X(RETURN, "return")   /* returns that task */                                                  \
    X(REJECT, "reject")   /* fails with FAINA_DUPLICATE_KEY */                                     \
    X(REPLACE, "replace") /* a pending task takes the input, time, priority and metadata */

enum faina_on_duplicate {
#define FAINA_ON_DUPLICATE_ENUM(name, wire) FAINA_ON_DUPLICATE_##name,
    FAINA_ON_DUPLICATE_LIST(FAINA_ON_DUPLICATE_ENUM)
#undef FAINA_ON_DUPLICATE_ENUM
        FAINA_ON_DUPLICATE_COUNT
};

struct faina_submit {
    const char *ns;                      /* NULL: "default" */
    const char *type;                    /* up to 255 bytes, as is `name` */
    const char *name;                    /* NULL: the type */
    const char *input, *metadata, *spec; /* JSON; NULL: none */
    int priority;                        /* -2147483647..2147483647 */
    int max_attempts;                    /* 0: the default of 4; FAINA_UNLIMITED: no limit */
    int64_t delay_ms;                    /* not before this delay, by the engine's clock ... */
    int64_t run_at_us;                   /* ... or not before this time; not both */
    const char *idempotency_key;         /* up to 512 bytes; unique per namespace and type */
    bool dedupe_input;             /* the key is the hash of the canonical input; not with a key */
    const char *const *depends_on; /* ids of tasks that must complete first */
    size_t depends_on_count;
    const char *const *resources; /* in use while the task is held */
    size_t resource_count;
    struct faina_retry_policy retry;
    int64_t timeout_ms;  /* the longest run of one attempt, which the engine ends; 0: no limit */
    int64_t start_by_ms; /* it is cancelled if it was not started after this ... */
    int64_t start_by_us; /* ... or by this time; not both */
    const char *team_id;
    const char *created_by;
    /* How long the task keeps its key: "exists" (the default: as long as the task exists), "active"
     * (until it has ended) or a duration since its creation, such as "10m". With a key or
     * dedupe_input only. */
    const char *key_scope;
    enum faina_on_duplicate on_duplicate; /* with a key or dedupe_input only */
    const char *traceparent; /* W3C Trace Context of the submitter, stored in the metadata */
    bool has_priority;       /* a priority of 0 is the task's own: that of its type doesn't apply */
    /* Ready tasks of one type and priority take turns by their groups, however many each has; up to
     * 255 bytes. */
    const char *group;
    bool detached; /* of a subtask only: its parent doesn't wait for it */
};

/* The caller of an operation on a task, and the state it expects. All zero: not a worker, in any
 * state. */
struct faina_by {
    const char *worker_id; /* the worker that holds the task; NULL: not a worker */
    int64_t fence;         /* from the claim; 0: not checked */
    int64_t version;       /* the version that the task must still have; 0: not checked */
    const char *reason;    /* why, for the audit: of an act without a worker; NULL: none */
};

/* ------------------------------------------------------------------------------------------
 * Opening and closing
 */

struct faina; /* an open engine */

struct faina_options {
    int64_t open_timeout_ms;   /* how long to wait for a file that another process owns; 0: 2 s,
                                negative: not at all */
    int64_t input_size_max;    /* bytes of an input or output; 0: 1 MiB */
    int64_t cache_kib;         /* page cache of the SQLite writer; 0: 64 MiB */
    int64_t events_keep_ms;    /* how long emitted events are kept; 0: 7 days */
    int64_t worker_timeout_ms; /* after which a worker without a heartbeat counts as dead; 0: that
                                of FAINA_WORKER_TIMEOUT or WORKER_TIMEOUT, else 60 s */
    int64_t types_max; /* types that a namespace may have, each counted once for every set of
                          resources that it is used with; 0: 100,000 */
};

/*
 * Opens the engine behind `url`: "sqlite:PATH" (the file is made when it is not there), "memory:",
 * "postgres://user@host/database?schema=faina", "nats://host", or a server's "http://host:port",
 * "https://host:port" or "unix:/path/of/a/socket" (with the token in FAINA_TOKEN or the file
 * FAINA_TOKEN_FILE). With NULL it is taken from the environment: FAINA_URL, else DATABASE_URL
 * if it is that of a PostgreSQL database, else DB_HOST, DB_PORT, DB_USER, DB_PASSWORD, DB_NAME and
 * DB_SCHEMA, each else with the prefix API_PG_, else it is "sqlite:faina.db". Migrates an older
 * store. A file that `faina serve` has open is reached through the server.
 * UNAVAILABLE: the file can't be opened, is no store, is newer than this library, or is open in
 * another process that doesn't serve it (the message names its pid); or the server doesn't answer.
 * UNAUTHORIZED: the server requires another token. INVALID_REQUEST: the URL is invalid.
 * NOT_SUPPORTED: no such engine in this build.
 */
FAINA_API enum faina_code faina_open(struct faina **out, const char *url,
                                     const struct faina_options *options, struct faina_error *err);

/* Ends all work and waits for it: stops a faina_run as faina_stop does, and returns after it has
 * returned and the operations under way are finished. Calls that wait return STORE_CLOSED, and so
 * does every later call with this engine but faina_shutdown and faina_close. A file stays locked
 * until faina_close. Never shut down from a handler or the log function of faina_run: that would
 * deadlock. NULL is fine. */
FAINA_API void faina_shutdown(struct faina *engine);

/* Shuts down as faina_shutdown does if that was not done, and frees the engine. No call may be
 * running or come later, but one that faina_close ends. NULL is fine. */
FAINA_API void faina_close(struct faina *engine);

/* Frees the result of an out parameter (not engines). NULL is fine. */
FAINA_API void faina_free(void *answer);

/* ------------------------------------------------------------------------------------------
 * Submitting
 */

/*
 * Stores a task. When its key exists, the result is the first task with `existing` set, and nothing
 * changes. INVALID_TASK: a field is invalid (err->field names it; for JSON, with line and column).
 * PAYLOAD_TOO_LARGE: a field is over its limit.
 */
FAINA_API enum faina_code faina_submit(struct faina *engine, const struct faina_submit *task,
                                       struct faina_task **out, struct faina_error *err);

/* The result of one of many. */
struct faina_item {
    enum faina_code code;
    struct faina_error error; /* when code isn't FAINA_OK */
    char id[FAINA_ID_SIZE];
    bool existing;
    struct faina_task *task; /* NULL where the function doesn't return it */
};

struct faina_items {
    size_t count;
    struct faina_item *items; /* in the order of the request */
};

/* Stores many tasks in one transaction, each accepted or refused separately: up to 10,000.
 * The code is FAINA_OK when there is a result for each item, even if some were refused. When the
 * engine has no result for any (UNAVAILABLE, STORE_CLOSED, ...) it is that code, and there are no
 * items. With a NULL `out` it is the code of the first refused item: others may be stored. */
FAINA_API enum faina_code faina_submit_many(struct faina *engine, const struct faina_submit *tasks,
                                            size_t count, struct faina_items **out,
                                            struct faina_error *err);

/* ------------------------------------------------------------------------------------------
 * Working
 */

/* What to claim. Only worker_id is required. */
struct faina_claim {
    const char *worker_id;
    const char *const *types; /* NULL: any */
    size_t type_count;
    const char *const *namespaces; /* NULL: all */
    size_t namespace_count;
    const char *const *services; /* resources this worker can reach; NULL: all of them */
    size_t service_count;        /* with services != NULL, 0 means none */
    int limit;                   /* 0: 1; up to 1,000 */
    int64_t lease_ms;            /* 0: 30 s */
    int64_t wait_ms;             /* how long to wait when no task is ready; 0: not at all */
};

struct faina_tasks {
    size_t count;
    struct faina_task *items;
    const char *next_cursor; /* NULL: this was the last page */
};

/* Claims up to `limit` ready tasks: highest priority first, then oldest; fewer when their payloads
 * exceed 16 MiB. None is FAINA_OK with a count of 0. INVALID_WORKER_ID: no worker id, or one over
 * 255 bytes. */
FAINA_API enum faina_code faina_claim_next(struct faina *engine, const struct faina_claim *claim,
                                           struct faina_tasks **out, struct faina_error *err);

/* Claims this task, even before its run_at. The same worker again: FAINA_OK, nothing changes.
 * TASK_ALREADY_CLAIMED, TASK_COMPLETED, TASK_FAILED, INVALID_TRANSITION: its status doesn't allow
 * it. OVERLOADED: a resource it needs is at its limit. */
FAINA_API enum faina_code faina_claim(struct faina *engine, const char *id, const char *worker_id,
                                      int64_t lease_ms, struct faina_task **out,
                                      struct faina_error *err);

/* Marks a task as running. A pending task is claimed and started at once. The same worker again:
 * FAINA_OK, nothing changes. WRONG_WORKER: `by` doesn't hold it. */
FAINA_API enum faina_code faina_start(struct faina *engine, const char *id,
                                      const struct faina_by *by, struct faina_task **out,
                                      struct faina_error *err);

/* Progress of a running task. Unset fields stay as they are. */
struct faina_report {
    bool has_progress;
    int progress;         /* 0..100 */
    const char *state;    /* NULL: unchanged; up to 1,024 bytes */
    const char *metadata; /* NULL: unchanged; else a JSON merge patch (RFC 7396) */
    const char *group;    /* NULL: unchanged; "": none */
};

/* Reports the progress of a claimed, running or background task. Also renews the lease. */
FAINA_API enum faina_code faina_progress(struct faina *engine, const char *id,
                                         const struct faina_by *by,
                                         const struct faina_report *report, struct faina_task **out,
                                         struct faina_error *err);

/* A task that a worker holds, as far as it knows. */
struct faina_held {
    const char *id;
    int64_t fence; /* 0: not checked */
};

/* Renews the leases of a worker's tasks in one call, each for lease_ms or, when that is 0, for the
 * duration of its claim. Each item's code is FAINA_OK, or the reason why the task is lost:
 * TASK_NOT_FOUND, TASK_NOT_CLAIMED, WRONG_WORKER, TASK_COMPLETED, TASK_FAILED, INVALID_TRANSITION
 * (cancelled). Stop the work on a lost task. The code is as for faina_submit_many. */
FAINA_API enum faina_code faina_heartbeat(struct faina *engine, const char *worker_id,
                                          const struct faina_held *held, size_t count,
                                          int64_t lease_ms, struct faina_items **out,
                                          struct faina_error *err);

/* Completes a task. The same worker with the same output again: FAINA_OK, nothing changes.
 * TASK_NOT_CLAIMED, WRONG_WORKER, TASK_COMPLETED, TASK_FAILED, INVALID_TRANSITION: refused. */
FAINA_API enum faina_code faina_complete(struct faina *engine, const char *id,
                                         const struct faina_by *by, const char *output,
                                         struct faina_task **out, struct faina_error *err);

/* Why an attempt failed. */
struct faina_failure {
    const char *message;    /* required */
    const char *kind;       /* a short name of the kind of error */
    const char *detail;     /* JSON */
    bool permanent;         /* not to be retried */
    int64_t retry_after_ms; /* when to try again, instead of the backoff: after this ... */
    int64_t retry_at_us;    /* ... or at this time; not both; 0 and 0: after the backoff */
};

/* Fails an attempt: the task is pending again after a backoff, or dead_letter when no attempt is
 * left, or failed when the failure is permanent. Codes as for faina_complete. */
FAINA_API enum faina_code faina_fail(struct faina *engine, const char *id,
                                     const struct faina_by *by, const struct faina_failure *failure,
                                     struct faina_task **out, struct faina_error *err);

/* Stores subtasks and blocks a running task until they have ended, in one transaction. A subtask
 * with the name of one of an earlier attempt is that one: it is kept when it is active or
 * completed, and queued again when it ended badly. An unnamed subtask is identified by its type and
 * input; of several, the one at the same position in the list is preferred. INVALID_REQUEST: a
 * subtask with this name has another type or input. Subtasks get the parent's namespace. With
 * fail_fast the parent resumes as soon as one ends badly. A detached subtask is not waited for, now
 * and later, until a list has it without `detached`; when all are, the parent resumes at once.
 *
 * When the parent has resumed and blocks again, unnamed subtasks are new, unless the list repeats
 * the attempt's earlier ones, by type and input: all from the first on, or the last ones. Then one
 * of them must be new or active; otherwise INVALID_REQUEST. */
FAINA_API enum faina_code faina_block(struct faina *engine, const char *id,
                                      const struct faina_by *by,
                                      const struct faina_submit *subtasks, size_t count,
                                      bool fail_fast, struct faina_task **out,
                                      struct faina_error *err);

/* Continues a running task in the background: no worker holds it, its resources stay in use, and
 * faina_complete or faina_fail without a worker ends it. After timeout_ms (0: 1 hour) the attempt
 * fails. */
FAINA_API enum faina_code faina_background(struct faina *engine, const char *id,
                                           const struct faina_by *by, const char *reason,
                                           int64_t timeout_ms, struct faina_task **out,
                                           struct faina_error *err);

/* Makes a held task pending again for for_ms (0: at once), without counting an attempt: what it
 * needs is not there yet. The event is `snoozed`. */
FAINA_API enum faina_code faina_snooze(struct faina *engine, const char *id,
                                       const struct faina_by *by, int64_t for_ms,
                                       struct faina_task **out, struct faina_error *err);

/* Releases a claimed task that has not started; no attempt is counted. */
FAINA_API enum faina_code faina_release(struct faina *engine, const char *id,
                                        const struct faina_by *by, struct faina_task **out,
                                        struct faina_error *err);

/* ------------------------------------------------------------------------------------------
 * Managing
 */

/* Cancels a task and all active tasks below it. A cancelled task again: FAINA_OK. */
FAINA_API enum faina_code faina_cancel(struct faina *engine, const char *id,
                                       const struct faina_by *by, struct faina_task **out,
                                       struct faina_error *err);

/* Changes to a waiting task. All zero: nothing changes. */
struct faina_update {
    const char *name; /* NULL: unchanged */
    bool has_priority;
    int priority;
    bool has_run_at;
    int64_t run_at_us;    /* with has_run_at; 0: now */
    int max_attempts;     /* 0: unchanged; FAINA_UNLIMITED: no limit */
    int64_t timeout_ms;   /* 0: unchanged */
    int64_t start_by_ms;  /* from now ... */
    int64_t start_by_us;  /* ... or a time; 0 and 0: unchanged */
    const char *metadata; /* NULL: unchanged; else a JSON merge patch (RFC 7396) */
    const char *group;    /* NULL: unchanged; "": none */
};

/* Changes a pending or blocked task, and the metadata of any task that has not ended. TASK_ACTIVE:
 * it is claimed, running or in the background. TASK_COMPLETED, TASK_FAILED, INVALID_TRANSITION: it
 * has ended. The event `updated` has the values before and after. */
FAINA_API enum faina_code faina_update(struct faina *engine, const char *id,
                                       const struct faina_by *by, const struct faina_update *update,
                                       struct faina_task **out, struct faina_error *err);

/* Queues a failed, dead_letter, cancelled, claimed or running task again at once, even before its
 * run_at, with its attempts at 0 or (keep_attempts) unchanged. It waits for its dependencies again.
 * MAX_ATTEMPTS_REACHED: no attempt is left. */
FAINA_API enum faina_code faina_retry(struct faina *engine, const char *id,
                                      const struct faina_by *by, bool keep_attempts,
                                      struct faina_task **out, struct faina_error *err);

struct faina_removal {
    bool cancel; /* cancel it first when it is active */
    bool purge;  /* remove its rows too; also for deleted tasks */
};

/* Deletes an ended task: it is hidden, and its key is free. TASK_ACTIVE: it has not ended. */
FAINA_API enum faina_code faina_delete(struct faina *engine, const char *id,
                                       const struct faina_by *by,
                                       const struct faina_removal *removal,
                                       struct faina_error *err);

/* Which ended tasks to remove. */
struct faina_purge {
    const char *ns;          /* NULL: all namespaces */
    const char *type;        /* NULL: all types */
    unsigned statuses;       /* set of (1u << status); 0: every ended one */
    int64_t ended_before_us; /* 0: at any time */
    bool deleted_only;       /* only deleted tasks */
    int64_t limit;           /* the maximum of this call; 0: 1,000 */
};

/* Removes the rows of up to `limit` ended tasks and returns their number; call again until it is 0.
 */
FAINA_API enum faina_code faina_purge(struct faina *engine, const struct faina_purge *purge,
                                      int64_t *removed, struct faina_error *err);

/* Stops or resumes claims of a type in a namespace (NULL: "default"). Held tasks continue. */
FAINA_API enum faina_code faina_pause(struct faina *engine, const char *ns, const char *type,
                                      struct faina_error *err);
FAINA_API enum faina_code faina_resume(struct faina *engine, const char *ns, const char *type,
                                       struct faina_error *err);

/* ------------------------------------------------------------------------------------------
 * Reading
 */

FAINA_API enum faina_code faina_get(struct faina *engine, const char *id, struct faina_task **out,
                                    struct faina_error *err);

/* By idempotency key; ended tasks are found too. ns NULL: "default". type NULL: the newest task of
 * the namespace with this key, because each type has keys of its own. */
FAINA_API enum faina_code faina_get_by_key(struct faina *engine, const char *ns, const char *type,
                                           const char *key, struct faina_task **out,
                                           struct faina_error *err);

enum faina_sort {
    FAINA_SORT_CREATED, /* by the time of the submit */
    FAINA_SORT_UPDATED, /* by the time of the last change */
    /* By priority, and the older first among those of one: as they are claimed. Ascending is the
     * reverse. */
    FAINA_SORT_PRIORITY,
    FAINA_SORT_RUN_AT, /* by run_at_us; a task without one counts by the time of its submit */
};

/* A condition on a task's metadata: the value at `path` ("customer.id"; as in match expressions) is
 * this text, or is this number, true, false or null as JSON. */
struct faina_metadata_is {
    const char *path, *value;
};

struct faina_query {
    const char *ns;    /* NULL: "default"; "*": all */
    unsigned statuses; /* set of (1u << status); 0: any */
    const char *type, *team_id, *parent_id, *created_by, *idempotency_key; /* NULL: any */
    int64_t created_after_us;                                              /* at or after; 0: any */
    int64_t created_before_us;                                             /* before; 0: any */
    int64_t updated_after_us, updated_before_us; /* the same for the last change */
    const char *worker_id;                       /* tasks that this worker holds; NULL: any */
    enum faina_sort sort;
    bool ascending;         /* the reverse order */
    int limit;              /* 0: 100; up to 1,000 */
    const char *cursor;     /* next_cursor of the page before */
    bool brief;             /* leave out input, output, metadata and spec */
    const char *name;       /* NULL: any */
    const char *resource;   /* tasks that use it; NULL: any */
    const char *error_kind; /* tasks whose last error is of this kind; NULL: any */
    const char *origin;     /* tasks that this workflow created; NULL: any */
    const char *schedule;   /* tasks that the times of this schedule created; NULL: any */
    int64_t ended_after_us, ended_before_us; /* ended tasks, as created_after_us; 0: any */
    int64_t due_before_us; /* pending ones with an earlier run_at_us, or submit; 0: any */
    const struct faina_metadata_is *metadata; /* all of these are true */
    size_t metadata_count;                    /* up to 16 */
    const char *group;                        /* NULL: any */
    const char *failure_group; /* the id of a group of GET /failures that their last error is in */
};

/* Newest first, unless `sort` says otherwise. A page may have fewer tasks than `limit`, or none,
 * and still have a next_cursor, because a call reads a bounded number of rows. */
FAINA_API enum faina_code faina_list(struct faina *engine, const struct faina_query *query,
                                     struct faina_tasks **out, struct faina_error *err);

/* The subtasks of a task, oldest first; `cursor` as in faina_query. limit 0: 1,000. */
FAINA_API enum faina_code faina_children(struct faina *engine, const char *id, int limit,
                                         const char *cursor, struct faina_tasks **out,
                                         struct faina_error *err);

enum faina_actor { FAINA_ACTOR_API, FAINA_ACTOR_WORKER, FAINA_ACTOR_SYSTEM };

/* The wire name of an actor, such as "WORKER". Static; never NULL. */
FAINA_API const char *faina_actor_name(enum faina_actor actor);

/* An event in the history of a task. */
struct faina_event {
    char id[FAINA_ID_SIZE];   /* unique */
    int64_t at_us;            /* grows with each event of a task */
    const char *what;         /* "created", "claimed", "retry_scheduled", "late_result", ... */
    enum faina_status status; /* the task's status after it */
    enum faina_actor actor;
    const char *state;
    const char *worker_id;
    const char *detail; /* JSON */
    bool redacted;      /* the detail is left out, as in faina_task */
};

struct faina_events {
    size_t count;
    struct faina_event *items;
};

/* The newest `limit` events of a task (0: 100, up to 1,000), newest first. */
FAINA_API enum faina_code faina_events(struct faina *engine, const char *id, int limit,
                                       struct faina_events **out, struct faina_error *err);

/* Waits until the task has ended. FAINA_OK: it has; its status shows how. TIMEOUT: it has not
 * within timeout_ms (negative: no limit); *out is written in this case too. */
FAINA_API enum faina_code faina_wait(struct faina *engine, const char *id, int64_t timeout_ms,
                                     struct faina_task **out, struct faina_error *err);

/* A reason why a task is not running. */
struct faina_reason {
    const char *kind;    /* "ready" (only a worker is missing), "due", "dependency", "resource",
                            "paused", "worker" (no live worker handles its type), "service"
                            (none of those reaches a resource), "turn" (of its group), "held",
                            "background", "ended" */
    const char *message; /* one sentence */
    int64_t until_us;    /* the earliest time at which it ends; 0: not known */
};

struct faina_explanation {
    struct faina_task task;
    const char *summary; /* one sentence: why the task is not running */
    size_t count;
    struct faina_reason *reasons;
    int64_t position; /* of a ready task, among those of its namespace, type and resources, from 1;
                         0: it is not ready, or more than 10,000 come before it */
    const char *line; /* of a pending task: its position, and what those tasks wait for */
};

FAINA_API enum faina_code faina_explain(struct faina *engine, const char *id,
                                        struct faina_explanation **out, struct faina_error *err);

/* ------------------------------------------------------------------------------------------
 * Resources, teams, statistics
 */

/* How often tasks that name a resource may start. In any interval t at most `burst` + `count` * t /
 * `per_ms` tasks start, on all nodes together. A start is a claim. A task that is released, or
 * fails, starts again when it is claimed again. */
struct faina_rate {
    int64_t count;  /* 0: no rate */
    int64_t per_ms; /* at most 31 days */
    int64_t burst;  /* tasks that may start at once after a pause; 0: `count` */
};

struct faina_resource {
    const char *name;
    int64_t max_concurrency; /* -1: no limit */
    int64_t in_use;
    size_t holder_count;
    const char *const *holders; /* task ids; at most 100 */
    struct faina_rate rate;
    const char *limited_by; /* the name with "*" that the limits come from; NULL: its own */
};

struct faina_resources {
    size_t count;
    struct faina_resource *items;
};

/* Sets how many tasks may use a resource at once (0: none, -1: no limit), and removes its rate. A
 * lower limit takes effect as holders end. If the name ends in "*", the limit applies to each
 * resource that begins with the rest of the name and has no limit of its own; the longest such name
 * applies. */
FAINA_API enum faina_code faina_resource_set(struct faina *engine, const char *name,
                                             int64_t max_concurrency, struct faina_error *err);

/* The same with a rate; NULL: no rate. Tokens that were spent under the last rate stay spent. */
FAINA_API enum faina_code faina_resource_limit(struct faina *engine, const char *name,
                                               int64_t max_concurrency,
                                               const struct faina_rate *rate,
                                               struct faina_error *err);

/* The resource `name`, or all of them (NULL), with their holders. */
FAINA_API enum faina_code faina_resource_list(struct faina *engine, const char *name,
                                              struct faina_resources **out,
                                              struct faina_error *err);

/* Removes a limit. Tasks that name the resource then run without one. */
FAINA_API enum faina_code faina_resource_remove(struct faina *engine, const char *name,
                                                struct faina_error *err);

/* The policies of a type: they apply to each task of the type whose submit leaves them open.
 * Priority, resources and start_by apply when a task is submitted, the others when they are needed,
 * so to tasks that were submitted before, too. All zero: not set. */
struct faina_type_policy {
    const char *ns;   /* NULL: "default" */
    const char *type; /* compared without regard to the case of letters */
    int max_attempts; /* FAINA_UNLIMITED: no limit */
    struct faina_retry_policy retry;
    int64_t timeout_ms;  /* the longest run of one attempt */
    int64_t start_by_ms; /* since the submit */
    bool has_priority;
    int priority;
    const char *const *resources; /* NULL: not set */
    size_t resource_count;
    /* A task that no live worker could handle for so long ends as failed, with the kind
     * "no_handler". */
    int64_t unhandled_after_ms;
    const char *input_schema;    /* JSON Schema: a submit whose input isn't as it says is refused */
    int64_t updated_us, version; /* set by the engine */
};

struct faina_type_policies {
    size_t count;
    struct faina_type_policy *items;
};

/* Stores the policies of a type; those that are not set are removed. `version`: that of the present
 * ones, or 0 (any). */
FAINA_API enum faina_code faina_type_set(struct faina *engine,
                                         const struct faina_type_policy *policy, int64_t version,
                                         struct faina_error *err);

/* The policies of one type, or of all types (NULL) of a namespace ("*": of all of them). */
FAINA_API enum faina_code faina_type_list(struct faina *engine, const char *ns, const char *type,
                                          struct faina_type_policies **out,
                                          struct faina_error *err);

/* Removes the policies of a type; the defaults apply again. */
FAINA_API enum faina_code faina_type_remove(struct faina *engine, const char *ns, const char *type,
                                            struct faina_error *err);

struct faina_team {
    char id[FAINA_ID_SIZE]; /* any UUID; "" when creating: a new one */
    const char *ns;         /* NULL when creating: "default" */
    const char *name;
    const char *spec; /* JSON */
    int64_t created_us, updated_us;
};

struct faina_teams {
    size_t count;
    struct faina_team *items;
};

/* Creates a team, or changes the one with this id. CONFLICT: the name is taken; or a removed team
 * had the id, and too many tasks still name it. */
FAINA_API enum faina_code faina_team_put(struct faina *engine, const struct faina_team *team,
                                         struct faina_team **out, struct faina_error *err);
/* The team with this id, or (NULL) all of a namespace ("*": of all namespaces). */
FAINA_API enum faina_code faina_team_list(struct faina *engine, const char *ns, const char *id,
                                          struct faina_teams **out, struct faina_error *err);
/* Removes a team; its tasks remain without a team. */
FAINA_API enum faina_code faina_team_remove(struct faina *engine, const char *id,
                                            struct faina_error *err);

/* Counts of one namespace and type. */
struct faina_count {
    const char *ns, *type;
    bool is_paused;
    int64_t by_status[FAINA_STATUS_COUNT];
    int64_t oldest_ready_us; /* when the oldest ready task was made; 0: there is none */
};

struct faina_stats {
    int64_t by_status[FAINA_STATUS_COUNT];
    size_t count;
    struct faina_count *types;
    bool has_more; /* not all types are listed */
};

/* Counts the tasks of a namespace (NULL: "default"; "*": of all), by status and by type. Deleted
 * ones are not counted. Of more than 1,000 types, those with the most active tasks are listed;
 * by_status counts the tasks of all types. */
FAINA_API enum faina_code faina_stats(struct faina *engine, const char *ns,
                                      struct faina_stats **out, struct faina_error *err);

/* ------------------------------------------------------------------------------------------
 * Events
 */

/* An event to emit. Only `type` is required. */
struct faina_emit {
    const char *ns;   /* NULL: "default" */
    const char *type; /* up to 255 bytes; types that begin with "task." are the engine's own */
    const char *data; /* a JSON object; NULL: {} */
    const char *id;   /* up to 512 bytes, unique per namespace; NULL: a new one */
};

/* A trigger or join that could not make its task. */
struct faina_emit_failure {
    const char *workflow, *trigger;
    const char *message;
};

/* The result of an event. */
struct faina_emitted {
    const char *id;
    bool existing;            /* the id exists: this is the result of the first event */
    size_t count;             /* how many tasks it made */
    const char *const *tasks; /* their ids */
    size_t failure_count;
    struct faina_emit_failure *failures;
};

/* Emits an event: every enabled trigger on its type whose condition holds makes its task, all in
 * one transaction. A trigger that fails is listed in the result, and the others still fire. A
 * second event with the same id has no effect. */
FAINA_API enum faina_code faina_emit(struct faina *engine, const struct faina_emit *event,
                                     struct faina_emitted **out, struct faina_error *err);

/* ------------------------------------------------------------------------------------------
 * Workers
 *
 * Registering is optional: any worker id may claim. A registered worker is listed, and the result
 * of each heartbeat names the tasks to stop.
 */

/* A worker at one moment; in faina_worker_put, its registration. */
struct faina_worker {
    const char *id;           /* hostname-pid-random, made by the worker; up to 255 bytes */
    const char *hostname;     /* NULL: unknown */
    int pool_size;            /* how many tasks it runs at once; 0: unknown; -1: it runs none */
    const char *const *types; /* that it handles; none: any */
    size_t type_count;
    const char *const *services; /* resources that it can reach; NULL: all of them */
    size_t service_count;        /* with services != NULL, 0 means none */
    const char *version;         /* of the worker's program; NULL: unknown */
    /* Set by the engine: */
    int64_t started_us, last_heartbeat_us;
    bool is_leader; /* it does the upkeep of the store ... */
    int64_t leader_until_us;
    int64_t held; /* how many tasks it holds */
};

struct faina_workers {
    size_t count;
    struct faina_worker *items;
};

/* Why a worker must stop working on a task. */
enum faina_loss {
    FAINA_LOSS_LOST,      /* its lease expired, another worker holds it, or it has ended */
    FAINA_LOSS_CANCELLED, /* it was cancelled */
};

/* The wire name of a loss: "lost", "cancelled". Static; never NULL. */
FAINA_API const char *faina_loss_name(enum faina_loss loss);

struct faina_lost {
    char id[FAINA_ID_SIZE];
    int64_t fence; /* of the request */
    enum faina_loss why;
};

/* The result of a worker's heartbeat. */
struct faina_beat {
    size_t renewed_count;     /* how many leases were renewed */
    size_t lost_count;        /* ... and the others, in the order of the request */
    struct faina_lost *items; /* lost_count of them */
};

/* Registers a worker, or sends its heartbeat: after worker_timeout_ms without one it is removed.
 * For a registered worker, unset fields (NULL, 0) stay as they were; types != NULL with a count of
 * 0 means any. Set all fields each time, so that a worker that was removed after a long pause is
 * registered in full. Renews the leases of `held`, the tasks of the worker (up to 10,000), in one
 * transaction; lease_ms 0: for the duration of each claim, and no lease becomes shorter. The result
 * lists the tasks that it doesn't hold. */
FAINA_API enum faina_code faina_worker_put(struct faina *engine, const struct faina_worker *worker,
                                           const struct faina_held *held, size_t held_count,
                                           int64_t lease_ms, struct faina_beat **out,
                                           struct faina_error *err);

/* Removes a worker. Tasks that it has claimed and not started are released, without counting an
 * attempt; *released is their number. Running tasks keep their leases. NOT_FOUND: it is not
 * registered. */
FAINA_API enum faina_code faina_worker_remove(struct faina *engine, const char *id,
                                              int64_t *released, struct faina_error *err);

/* The worker with this id, or (NULL) all live workers, newest heartbeat first. */
FAINA_API enum faina_code faina_workers(struct faina *engine, const char *id,
                                        struct faina_workers **out, struct faina_error *err);

/* ------------------------------------------------------------------------------------------
 * Handlers: functions that run tasks
 *
 * Register a handler for each type, then call faina_run: it claims tasks, calls the handlers in its
 * own threads, renews the leases, and stores the outcome of each attempt.
 *
 *     static enum faina_outcome resize(struct faina_context *context, void *user)
 *     {
 *         const char *input = faina_context_task(context)->input;
 *         ...
 *         faina_context_output(context, "{\"width\":100}", NULL);
 *         return FAINA_OUTCOME_COMPLETE;
 *     }
 *
 *     struct faina_handler handler = { .on_start = resize };
 *     faina_register(engine, "image.resize", &handler, NULL, &err);
 *     faina_run(engine, NULL, &err);
 *
 * The same functions make a plugin, which `faina worker` loads: see faina_plugin below.
 */

struct faina_context; /* an attempt, for its handler; only to be used in the handler's thread */

/* How an attempt ended. */
enum faina_outcome {
    FAINA_OUTCOME_COMPLETE,   /* done, with faina_context_output or without an output */
    FAINA_OUTCOME_BLOCKED,    /* waits for its subtasks (faina_context_subtask), then resumes */
    FAINA_OUTCOME_BACKGROUND, /* continues in the background (faina_context_background) */
    FAINA_OUTCOME_FAILED, /* by faina_context_error; without one: an error that may be retried */
};

typedef enum faina_outcome faina_handler_fn(struct faina_context *context, void *user);

struct faina_handler {
    faina_handler_fn *on_start;  /* required */
    faina_handler_fn *on_resume; /* all subtasks have completed; NULL: on_start */
    faina_handler_fn *on_error;  /* a subtask ended badly; NULL: fail with its error */
    int64_t timeout_ms;          /* the attempt fails after this time; 0: no limit. The function
                                    keeps its thread until it returns, while another attempt may
                                    begin: check faina_context_cancelled */
    int concurrency;             /* at most so many at once in this pool; 0: no limit of its own */
    /* For tasks that were submitted without their own: */
    int max_attempts; /* 0: the default of 4; FAINA_UNLIMITED: no limit */
    struct faina_retry_policy retry;
    const char *const *resources; /* that each task of the type uses; added to its own */
    size_t resource_count;
};

/* The task as it was claimed. Lives as long as the attempt. In a plugin only these are set: id, ns,
 * type, name, phase, priority, input, metadata, spec, attempts, max_attempts, fence, parent_id,
 * created_by, resources, traceparent. */
FAINA_API const struct faina_task *faina_context_task(const struct faina_context *context);

/* Whether to stop: the task was cancelled, its lease is lost, its time-out is over, or the worker
 * ends. A handler that takes long calls this at intervals. After it has returned true, the
 * handler's outcome counts only if it is FAINA_OUTCOME_COMPLETE and the worker ends. */
FAINA_API bool faina_context_cancelled(const struct faina_context *context);

/* Reports progress: 0..100 or -1 for unchanged, and a text for people or NULL. Sent at once, but at
 * most a few times a second. */
FAINA_API void faina_context_progress(struct faina_context *context, int percent,
                                      const char *state);
/* Merges a JSON object into the task's metadata (RFC 7396): its members are set, and removed where
 * it has null. INVALID_REQUEST: it is not an object. */
FAINA_API enum faina_code faina_context_metadata(struct faina_context *context, const char *json,
                                                 struct faina_error *err);

/* The result of the attempt. It is checked and copied at once, and counts when the handler returns
 * the outcome that it belongs to. */
FAINA_API enum faina_code faina_context_output(struct faina_context *context, const char *json,
                                               struct faina_error *err);
FAINA_API enum faina_code faina_context_error(struct faina_context *context,
                                              const struct faina_failure *failure,
                                              struct faina_error *err);
/* Rules as for faina_background. */
FAINA_API enum faina_code faina_context_background(struct faina_context *context,
                                                   const char *reason, int64_t timeout_ms,
                                                   struct faina_error *err);
/*
 * Adds a subtask; rules as for faina_block. With id == NULL it is created in the transaction that
 * blocks the task. Otherwise it is created at once, in a transaction of its own, and its id is
 * written: it may run, and end, before the task is blocked, and it stays when the attempt fails.
 * It needs a name: in another attempt the name gives the id of the subtask that exists.
 * INVALID_REQUEST: it has no name, or that of a subtask with another type or input. NOT_SUPPORTED:
 * the engine has no subtasks, or is in memory and this is a plugin. WRONG_WORKER,
 * TASK_NOT_CLAIMED or the code of its status: the attempt has lost the task.
 */
FAINA_API enum faina_code faina_context_subtask(struct faina_context *context,
                                                const struct faina_submit *subtask,
                                                char id[FAINA_ID_SIZE], struct faina_error *err);
/* Resumes the task as soon as one subtask ends badly. */
FAINA_API void faina_context_fail_fast(struct faina_context *context);

/*
 * Requires a resource that the attempt needs. OK: the task has it. OVERLOADED: it doesn't. Then the
 * task is queued again with the resource whatever the handler returns, without counting an attempt;
 * the next attempt has it. If the resource is known before, name it in the submit or in the
 * handler: that saves the attempt.
 */
FAINA_API enum faina_code faina_context_require(struct faina_context *context, const char *resource,
                                                struct faina_error *err);

/* A subtask and how it ended. */
struct faina_subtask {
    const char *id, *name, *type;
    enum faina_status status;
    const char *output, *error; /* JSON, or NULL */
};

/* All subtasks, oldest first; none in on_start. Lives as long as the attempt. */
FAINA_API const struct faina_subtask *faina_context_subtasks(struct faina_context *context,
                                                             size_t *count);
/* The subtask with this id, or else the first with this name; NULL: none. */
FAINA_API const struct faina_subtask *faina_context_find(struct faina_context *context,
                                                         const char *id_or_name);

/* Registers the handler of a type; `user` is passed to its functions. Again for the same type:
 * replaces it. CONFLICT: faina_run is running, with the handlers registered before. */
FAINA_API enum faina_code faina_register(struct faina *engine, const char *type,
                                         const struct faina_handler *handler, void *user,
                                         struct faina_error *err);

/* How to run. All zero: the defaults. */
struct faina_run {
    const char *worker_id;         /* NULL: hostname-pid-random */
    int concurrency;               /* threads; 0: one per processor */
    int64_t lease_ms;              /* 0: 30 s */
    const char *const *namespaces; /* NULL: all */
    size_t namespace_count;
    const char *const *services; /* resources that can be reached; NULL: all */
    size_t service_count;
    const char *handlers; /* a folder with command handlers; NULL: none */
    int64_t grace_ms;     /* how long tasks may continue after faina_stop; 0: 30 s */
    int64_t idle_ms;      /* return after this time without a task; 0: never */
    void (*log)(void *user, const char *line); /* called from any thread; NULL: no log */
    void *log_user;
};

/* Runs tasks until faina_stop. NULL options: the defaults. INVALID_REQUEST: no handler is
 * registered, or an option is invalid. STORE_CLOSED: faina_shutdown or faina_close has ended it. */
FAINA_API enum faina_code faina_run(struct faina *engine, const struct faina_run *options,
                                    struct faina_error *err);
/* Stops faina_run: it claims no more tasks, waits for those that run, and returns. A second call
 * ends the wait. If no faina_run is running, the next one stops at once. May be called from any
 * thread and from a signal handler. */
FAINA_API void faina_stop(struct faina *engine);

/* ------------------------------------------------------------------------------------------
 * Plugins: handlers in a shared object, in the handlers folder
 *
 * A plugin defines its handlers with FAINA_PLUGIN, and is built with
 *     cc -shared -fPIC -o handlers/image.so image.c $(pkg-config --cflags faina)
 * It runs in a process of its own: a crash fails only the attempts in that process.
 */

#define FAINA_PLUGIN_ABI 2

struct faina_plugin_type {
    const char *type;
    struct faina_handler handler;
    void *user;
};

/*
 * A plugin may also define triggers and joins, which build tasks from events and from the ends of
 * tasks. They form a workflow with the plugin's name: the worker stores it when it loads the
 * plugin, and it is listed, disabled and explained like any other (docs/workflows.md).
 *
 * A trigger or join that fires makes, in the same transaction, a task of type PLUGIN.NAME whose
 * handler is `build`. Its input is the event's data, or for a join {"key": ..., "tasks": {TYPE: the
 * task, ...}}. The handler adds the tasks to make with faina_context_subtask and returns
 * FAINA_OUTCOME_BLOCKED, or FAINA_OUTCOME_COMPLETE when there are none. When it is retried, tasks
 * that exist already are not made again.
 */
struct faina_plugin_trigger {
    const char *name;  /* unique among its triggers and joins */
    const char *on;    /* the type of event */
    const char *match; /* a match expression; NULL: every event of the type */
    faina_handler_fn *build;
    void *user;
};

struct faina_plugin_join {
    const char *name;
    const char *const *task_types;
    size_t task_type_count;
    const char *join_key;     /* a path into each task's input */
    bool fires_after_failure; /* also when a member ended badly; otherwise the round is dropped */
    int64_t deadline_ms;      /* how long to wait for the others; 0: for ever */
    faina_handler_fn *build;
    void *user;
};

struct faina_plugin {
    unsigned abi;               /* FAINA_PLUGIN_ABI */
    size_t handler_size;        /* sizeof(struct faina_plugin_type) */
    const char *name, *version; /* for people; with triggers or joins, the name is the workflow's */
    size_t type_count;
    const struct faina_plugin_type *types;
    size_t trigger_count;
    const struct faina_plugin_trigger *triggers;
    size_t join_count;
    const struct faina_plugin_join *joins;
};

/* The plugin's entry, the function faina_plugin. Its result lives as long as the process; NULL: the
 * plugin can't be used here. FAINA_PLUGIN(it) defines one that returns &it. */
typedef const struct faina_plugin *faina_plugin_fn(void);
#define FAINA_PLUGIN_ENTRY "faina_plugin"
#ifdef __cplusplus
#define FAINA_PLUGIN_LINKAGE extern "C" FAINA_API
#else
#define FAINA_PLUGIN_LINKAGE extern FAINA_API
#endif
#define FAINA_PLUGIN(it)                                                                           \
    FAINA_PLUGIN_LINKAGE faina_plugin_fn faina_plugin;                                             \
    const struct faina_plugin *faina_plugin(void)                                                  \
    {                                                                                              \
        return &(it);                                                                              \
    }

/*
 * For a plugin: opens the worker's engine, to emit events, and to complete or fail tasks that
 * continue in the background. It may be opened once and kept; the caller closes it. NOT_SUPPORTED:
 * the engine is in memory, or this process is not a plugin's. UNAVAILABLE: try again later; so
 * while the worker starts.
 */
FAINA_API enum faina_code faina_plugin_open(struct faina **out, struct faina_error *err);

#ifdef __cplusplus
}
#endif

#endif
