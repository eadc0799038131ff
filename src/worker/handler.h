/*
 * handler.h - the seam between the pool and those who do the work: commands, plugins, C functions.
 *
 * The pool holds a task as a `fa_job`. It gives the job to the handler of its type, and the handler
 * ends it, once, with an outcome. Between the two the job's arena is the handler's.
 *
 *   J1  ops->start is followed by exactly one fa_job_end, sooner or later, from any thread.
 *   J2  ops->stop may come at any time after start and from any thread, also when the job has just
 *       ended: then it does nothing. fa_job_stop tells the reason; the first one stands.
 *   J3  Neither blocks.
 */
#ifndef FA_HANDLER_H
#define FA_HANDLER_H

#include "base/bytes.h"
#include "model/id.h"
#include "runtime/loop.h"

#include <faina.h>
#include <stdatomic.h>

struct fa_pool;
struct fa_job;

/* Why an attempt is stopped. */
enum fa_stop {
    FA_STOP_NONE,
    FA_STOP_CANCELLED, /* somebody cancelled the task */
    FA_STOP_LOST,      /* the lease is over, or about to be */
    FA_STOP_TIMEOUT,   /* the handler's own time is over */
    FA_STOP_SHUTDOWN,  /* the worker ends */
};

/* The time between SIGTERM (or the wish to stop) and SIGKILL. */
#define FA_KILL_AFTER_MS 10000

struct fa_handler {
    const struct fa_handler_ops *ops;
    char *type;
    int64_t timeout_ms;       /* of an attempt; 0: none */
    int concurrency;          /* how many at once in this pool; 0: as many as there are slots */
    bool needs_completed;     /* fails unseen when a dependency of the task ended badly */
    struct faina_submit wish; /* max_attempts, retry and resources: see AMEND in service.h */

    /* The pool's, under its mutex. */
    struct fa_slots *slots;
    size_t refs;
};

struct fa_handler_ops {
    void (*start)(struct fa_handler *handler, struct fa_job *job);
    void (*stop)(struct fa_handler *handler, struct fa_job *job);
    /* Nothing refers to it any more. Any thread. */
    void (*destroy)(struct fa_handler *handler);
};

enum fa_outcome_kind {
    FA_OUTCOME_COMPLETE,
    FA_OUTCOME_BLOCK,
    FA_OUTCOME_BACKGROUND,
    FA_OUTCOME_FAIL,
    FA_OUTCOME_RELEASE, /* not started after all: no attempt is spent */
    FA_OUTCOME_AMEND,   /* back in line without spending an attempt, for more resources */
};

/* How an attempt ended. What it points to lives in the job's arena. */
struct fa_outcome {
    enum fa_outcome_kind kind;
    const char *output;                  /* COMPLETE: JSON, NULL for none */
    struct faina_failure failure;        /* FAIL */
    const struct faina_submit *subtasks; /* BLOCK */
    size_t subtask_count;
    bool fail_fast;
    const char *reason; /* BACKGROUND */
    int64_t timeout_ms;
    const struct faina_submit *wish; /* AMEND: its resources; NULL: its handler's wish */
    const char *note;                /* JSON about the attempt, for its event; NULL: none */
};

/* A task that the pool holds. */
struct fa_job {
    struct faina_task *task; /* as it was claimed */
    const char *subtasks;    /* in the phases resume and error: a JSON array of the subtasks */
    struct fa_handler *handler;
    struct fa_arena arena; /* the handler's from start to fa_job_end, then the pool's */
    void *run;             /* the handler's own */
    atomic_bool is_over;   /* native.c's: the attempt has ended, by its function or its time-out */

    /* pool.c's. */
    struct fa_pool *pool;
    struct fa_job *next, **link; /* among all that are held */
    struct fa_id id;
    struct fa_job *bucket_next; /* in the table of all that are held */
    struct fa_job *queue_next;  /* in line for a slot */
    struct fa_job *dirty_next;  /* there is something to tell the engine */
    struct fa_claimed *claimed; /* the claim it came with, and its memory */
    size_t refs;
    int state;
    bool is_dirty, needs_amend, needs_start, has_report;
    bool is_cut; /* an outcome was refused as invalid and has been replaced by a failure */
    atomic_int stop;
    struct faina_report report; /* the newest that was not told; its texts are malloc'ed */
    int64_t report_us;          /* when it may be told */
    int64_t lease_us;           /* until when it is ours, by the monotonic clock */
    int64_t timeout_us;         /* when the handler's time is over; INT64_MAX: never */
    int64_t queued_us;          /* when it came into line */
    int64_t start_us;
    struct fa_outcome outcome;
};

/* The attempt has ended. The job is not the handler's any more. */
void fa_job_end(struct fa_job *job, const struct fa_outcome *outcome);
/* The attempt has ended, and what runs it has not: the outcome is told, which must not be in the
 * job's arena, and the slot stays taken until fa_job_leave. From then on the job is not the
 * handler's any more. The two may come in any order; together they are one fa_job_end (J1). */
void fa_job_give_up(struct fa_job *job, const struct fa_outcome *outcome);
void fa_job_leave(struct fa_job *job);
/* Progress, state, metadata; told to the engine when it is time. Copies. */
void fa_job_report(struct fa_job *job, const struct faina_report *report);
/* Keeps the job's memory, also after its end. */
void fa_job_ref(struct fa_job *job);
void fa_job_unref(struct fa_job *job);
enum fa_stop fa_job_stop(const struct fa_job *job);
const char *fa_job_worker(const struct fa_job *job);
size_t fa_job_output_max(const struct fa_job *job); /* bytes of an output that the engine takes */

/* The failure of an attempt that was stopped: by time-out, or because the worker ends. */
struct faina_failure fa_stop_failure(struct fa_job *job, enum fa_stop stop);
struct faina_failure fa_timeout_failure(struct fa_arena *arena, int64_t timeout_ms);
/* An outcome of failing, for short. The message is copied into the arena and made fit: valid UTF-8,
 * within its limit. */
struct fa_outcome fa_outcome_fail(struct fa_arena *arena, const char *kind, bool is_permanent,
                                  const char *format, ...) FA_PRINTF(4, 5);

#endif
