/*
 * handler.h - the seam between the pool and its handlers: commands, plugins, C functions.
 *
 * The pool holds a task as a `fa_job`. It passes the job to the handler of its type, and the
 * handler ends it, once, with an outcome. In between the handler owns the job's arena.
 *
 *   J1  ops->start is followed by exactly one fa_job_end, sooner or later, from any thread.
 *   J2  ops->stop may be called at any time after start and from any thread, also when the job has
 *       just ended: then it does nothing. fa_job_stop returns the reason, which is the first one.
 *   J3  Neither blocks.
 */
#ifndef FA_WORKER_HANDLER_H
#define FA_WORKER_HANDLER_H

#include "base/bytes.h"
#include "model/id.h"
#include "worker/event_loop.h"

#include <faina.h>
#include <stdatomic.h>

struct fa_pool;
struct fa_job;

/* Why an attempt is stopped. */
enum fa_stop {
    FA_STOP_NONE,
    FA_STOP_CANCELLED, /* the task was cancelled */
    FA_STOP_LOST,      /* the lease is over, or about to be */
    FA_STOP_TIMEOUT,   /* the handler's time-out is over */
    FA_STOP_SHUTDOWN,  /* the worker ends */
};

/* The time between SIGTERM (or a plugin's STOP frame) and SIGKILL. */
#define FA_KILL_AFTER_MS 10000

struct fa_handler {
    const struct fa_handler_ops *ops;
    char *type;
    int64_t timeout_ms;   /* of an attempt; 0: none */
    int concurrency;      /* how many at once in this pool; 0: as many as there are slots */
    bool needs_completed; /* a task whose dependency ended badly fails without being started */
    struct faina_submit
        settings; /* max_attempts, retry and resources: see AMEND in model/operation.h */

    /* The pool's, under its mutex. */
    struct fa_slots *slots;
    size_t refs;
};

struct fa_handler_ops {
    void (*start)(struct fa_handler *handler, struct fa_job *job);
    void (*stop)(struct fa_handler *handler, struct fa_job *job);
    /* Called when nothing refers to it any more. Any thread. */
    void (*destroy)(struct fa_handler *handler);
};

enum fa_outcome_kind {
    FA_OUTCOME_COMPLETE,
    FA_OUTCOME_BLOCK,
    FA_OUTCOME_BACKGROUND,
    FA_OUTCOME_FAIL,
    FA_OUTCOME_RELEASE, /* not started: no attempt is counted */
    FA_OUTCOME_SNOOZE,  /* pending again for a while: no attempt is counted */
    FA_OUTCOME_AMEND,   /* queued again with more resources: no attempt is counted */
};

/* How an attempt ended. Its texts live in the job's arena. */
struct fa_outcome {
    enum fa_outcome_kind kind;
    const char *output;                  /* COMPLETE: JSON, NULL for none */
    struct faina_failure failure;        /* FAIL */
    const struct faina_submit *subtasks; /* BLOCK */
    size_t subtask_count;
    bool fail_fast;
    const char *reason;                  /* BACKGROUND */
    int64_t timeout_ms;                  /* BACKGROUND; SNOOZE: how long it is pending */
    const struct faina_submit *settings; /* AMEND: the resources; NULL: the handler's settings */
    const char *note;                    /* JSON about the attempt, for its event; NULL: none */
};

/* A task that the pool holds. */
struct fa_job {
    struct faina_task *task; /* as it was claimed */
    const char *subtasks;    /* in the phases resume and error: a JSON array of the subtasks */
    struct fa_handler *handler;
    struct fa_arena arena; /* the handler's from start to fa_job_end, then the pool's */
    void *run;             /* for the handler */
    atomic_bool is_over; /* for native.c: the attempt has ended, by its function or its time-out */

    /* For pool.c. */
    struct fa_pool *pool;
    struct fa_job *next, **link; /* among all held jobs */
    struct fa_id id;
    struct fa_job *bucket_next; /* in the table of held jobs */
    struct fa_job *queue_next;  /* in the queue for a slot */
    struct fa_job *dirty_next;  /* in the sender's queue */
    struct fa_claimed *claimed; /* owns the task's memory */
    size_t refs;
    int state;
    bool is_dirty, needs_amend, needs_start, has_report;
    bool is_cut; /* an outcome was refused as invalid and has been replaced by a failure */
    atomic_int stop;
    struct faina_report report; /* the newest that is not sent; its texts are malloc'ed */
    int64_t report_us;          /* when it may be sent */
    struct fa_buf log;          /* of the attempt, not sent yet */
    int64_t log_us, log_min_us; /* when it is sent at the latest, and at the earliest */
    bool has_sent_log;          /* parts of it are stored */
    int64_t lease_us;           /* when the lease ends, by the monotonic clock */
    int64_t timeout_us;         /* when the attempt has timed out; INT64_MAX: never */
    int64_t queued_us;          /* when it was queued for a slot */
    int64_t start_us;
    struct fa_outcome outcome;
};

/* The attempt has ended. The handler must not use the job any more. */
void fa_job_end(struct fa_job *job, const struct fa_outcome *outcome);
/* fa_job_end in two parts, for an attempt that ends while its function still runs. The first sends
 * the outcome, which must not be in the job's arena; the second frees the slot, and the handler
 * must not use the job any more. They may be called in any order (J1). */
void fa_job_end_early(struct fa_job *job, const struct fa_outcome *outcome);
void fa_job_free_slot(struct fa_job *job);
/* Progress, state, metadata; sent to the engine at intervals. Copies. */
void fa_job_report(struct fa_job *job, const struct faina_report *report);
/* A part of the attempt's log, sent to the engine at intervals while the attempt runs. Its end is
 * in the outcome's note. Copies. */
void fa_job_log(struct fa_job *job, const char *ptr, size_t len);
/* Creates a subtask of the job's task and writes its id. Blocks: for a thread of the handler. */
FA_MUST_CHECK enum faina_code fa_job_subtask(struct fa_job *job, const struct faina_submit *subtask,
                                             char id[FAINA_ID_SIZE], struct faina_error *err);
const char *fa_job_worker(const struct fa_job *job); /* the id of the worker that holds it */
/* Keeps the job's memory, also after its end. */
void fa_job_ref(struct fa_job *job);
void fa_job_unref(struct fa_job *job);
/* Calls `stop` in the loop's thread with a reference to the job: for an ops->stop. */
void fa_job_send_stop(struct fa_job *job, struct fa_event_loop *loop,
                      void (*stop)(struct fa_job *job));
enum fa_stop fa_job_stop(const struct fa_job *job);
size_t fa_job_output_max(const struct fa_job *job); /* in bytes */

/* The outcome of an attempt that was stopped: by its time-out it fails; because the worker ends it
 * isn't counted, and the task is due at once. */
struct fa_outcome fa_stop_outcome(struct fa_job *job, enum fa_stop stop);
struct faina_failure fa_timeout_failure(struct fa_arena *arena, int64_t timeout_ms);
/* A failure. The message is copied into the arena and cut to valid UTF-8 within its limit. */
struct fa_outcome fa_outcome_fail(struct fa_arena *arena, const char *kind, bool is_permanent,
                                  const char *format, ...) FA_PRINTF(4, 5);

#endif
