/*
 * pool_inner.h - shared by the files of the pool: pool.c (slots, jobs, stopping), pool_held.c (the
 * held jobs, and notifications about them), pool_handlers.c (types and services), and pool_claim.c,
 * pool_send.c and pool_heartbeat.c, one for each of its threads.
 */
#ifndef FA_WORKER_POOL_POOL_INNER_H
#define FA_WORKER_POOL_POOL_INNER_H

#include "worker/pool/pool.h"

#include "base/thread.h"

#define FA_POOL_BUCKETS 1024
#define FA_POOL_QUEUE_US 500000   /* a task that waits this long for a slot is released */
#define FA_POOL_LOG_US 1000000    /* how long the log of a running attempt is kept unsent */
#define FA_POOL_LOG_MIN_US 200000 /* between two parts of it, however large it is */
#define FA_POOL_EXPECT_US 1000000 /* after running this long, a task's end is subscribed to */

enum fa_job_state {
    FA_JOB_PREPARING, /* claimed; the claimer reads its subtasks */
    FA_JOB_QUEUED,    /* waits for a slot */
    FA_JOB_RUNNING,   /* its handler has it */
    FA_JOB_ENDED,     /* the outcome waits to be sent */
    FA_JOB_GONE,      /* the outcome is sent, or is not to be sent */
};

/* How many tasks of a type are queued or running, and how many run. Successive handlers of the type
 * share it. */
struct fa_slots {
    int held, running;
    size_t refs; /* handlers */
};

/* The memory of the tasks of one claim. */
struct fa_claimed {
    struct fa_arena arena;
    size_t refs; /* jobs */
};

struct fa_pool {
    struct fa_service *service;
    struct fa_event_loop *loop;
    struct fa_pool_config config; /* texts in `arena` */
    struct fa_arena arena;
    int64_t lease_us, margin_us;
    atomic_bool is_claim_stale; /* the waiting claim must return: types or slots have changed */

    pthread_mutex_t mutex; /* guards everything below */
    pthread_cond_t claimer_cond, sender_cond, heartbeat_cond, owner_cond;
    pthread_t claimer, sender, heartbeat_thread;
    int thread_count; /* started: sender, heartbeat thread, claimer */

    struct fa_listener listener; /* of tasks that end by another caller */
    bool is_subscribed;          /* false: the engine sends no notifications */

    struct fa_job *held;
    struct fa_job *buckets[FA_POOL_BUCKETS]; /* the same, by id */
    int held_count, running;
    struct fa_job *queue, **queue_last;
    int queue_count;
    struct fa_job *dirty, **dirty_last;

    struct fa_handler **handlers; /* by type */
    size_t handler_count, handler_size;
    struct fa_handler missing_handler; /* of tasks whose handler was removed during the claim */
    const char **services;             /* one allocation; NULL: all */
    size_t service_count;

    bool is_draining;   /* no more claims */
    bool is_grace_over; /* fa_pool_stop waits no longer */
    bool is_ending;     /* sender and heartbeat thread end when they have nothing to do */
    bool is_claiming;
    bool is_changed;                    /* types or services: send a heartbeat at once */
    bool has_ended_tasks;               /* a held task may have ended: send a heartbeat at once */
    bool has_no_amend;                  /* the engine doesn't support it */
    bool has_no_logs;                   /* ... nor logs of attempts that run */
    bool is_registered, has_no_workers; /* the heartbeat thread's own */

    int64_t end_us;       /* when the last attempt ended; 0: none has */
    int64_t gap_us;       /* between two ends, on a sliding average */
    int64_t idle_us;      /* since when nothing is held */
    int64_t heartbeat_us; /* until when the heartbeat thread sleeps */
    int64_t watch_us;     /* when the watchdog checks next */
    bool is_watch_posted;
    struct fa_timer watchdog; /* the loop's */
    struct fa_message watch_post;
    struct fa_pool_stats stats;
};

/* All of these are called with the mutex held. */
void fa_pool_unref(struct fa_job *job); /* may free it */
void fa_pool_claimed_unref(struct fa_claimed *claimed);
void fa_pool_held_add(struct fa_job *job);
void fa_pool_held_remove(struct fa_job *job);
void fa_pool_drop(struct fa_job *job);  /* removes an ended job from the held ones; may free it */
void fa_pool_dirty(struct fa_job *job); /* queues it for the sender */
/* Ends a job that no handler has (any more). */
void fa_pool_end_job(struct fa_job *job, const struct fa_outcome *outcome);
/* Marks a job to be stopped. True: its handler must be called, see fa_pool_call_stop. */
bool fa_pool_mark_stop(struct fa_job *job, enum fa_stop stop);
/* How many more tasks to claim: free slots and prefetch (P1). */
int fa_pool_room(const struct fa_pool *pool);
/* Jobs that now have a slot, as a list by queue_next for fa_pool_start. */
struct fa_job *fa_pool_dispatch(struct fa_pool *pool);
/* Marks the waiting claim as outdated; fa_service_wake then ends it. A claim that begins afterwards
 * is not affected. */
void fa_pool_mark_claim_stale(struct fa_pool *pool);
/* The watchdog checks at this time at the latest. */
void fa_pool_watch(struct fa_pool *pool, int64_t at_us);
void fa_pool_handler_unref(struct fa_handler *handler);
struct fa_handler *fa_pool_find(struct fa_pool *pool, const char *type); /* NULL: none */

/* These without it. */
void fa_pool_subscribe(struct fa_pool *pool); /* before its threads start */
void fa_pool_start(struct fa_job *list);
void fa_pool_end_stale_claim(struct fa_pool *pool); /* wakes the waiting claim if it is stale */
void fa_pool_call_stop(struct fa_job *job);         /* drops the reference of fa_pool_mark_stop */
void fa_pool_free_report(struct faina_report *report); /* its texts */
/* Whether the call may succeed later. */
bool fa_pool_is_transient(enum faina_code code);
/* Whether the code means that this worker doesn't hold the task any more. */
bool fa_pool_is_loss(enum faina_code code);

void *fa_pool_claimer_main(void *pool);
void *fa_pool_sender_main(void *pool);
void *fa_pool_heartbeat_main(void *pool);

/* Waits on a condition of the pool up to a monotonic time. With the mutex held. */
void fa_pool_wait(struct fa_pool *pool, pthread_cond_t *cond, int64_t until_us);
/* Waits for *pause_us, which doubles with each call from `min_us` to `max_us`, or until *is_over.
 * Without the mutex. */
void fa_pool_back_off(struct fa_pool *pool, pthread_cond_t *cond, const bool *is_over,
                      int64_t *pause_us, int64_t min_us, int64_t max_us);

#endif
