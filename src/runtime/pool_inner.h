/*
 * pool_inner.h - what the files of the pool share: pool.c (slots, jobs, stopping), pool_held.c
 * (what is held, and news about it), pool_handlers.c (what it can do), and pool_claim.c,
 * pool_send.c and pool_beat.c, one for each of its threads.
 */
#ifndef FA_POOL_INNER_H
#define FA_POOL_INNER_H

#include "runtime/pool.h"

#include <pthread.h>

#define FA_POOL_BUCKETS 1024
#define FA_POOL_LINE_US 500000    /* a task that waits so long for a slot may be others' */
#define FA_POOL_EXPECT_US 1000000 /* a task that runs so long is expected to end elsewhere, too */

enum fa_job_state {
    FA_JOB_PREPARING, /* claimed; the claimer reads what it needs to go on */
    FA_JOB_QUEUED,    /* waits for a slot */
    FA_JOB_RUNNING,   /* its handler's */
    FA_JOB_ENDED,     /* the outcome waits to be told */
    FA_JOB_GONE,      /* told, or not to be told any more */
};

/* How many of a type are in line or running, and how many run: by all that handle it one after the
 * other. */
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
    struct fa_loop *loop;
    struct fa_pool_config config; /* texts in `arena` */
    struct fa_arena arena;
    int64_t lease_us, margin_us;
    atomic_bool give_up; /* the claim that waits shall be made anew, or not at all */

    pthread_mutex_t mutex; /* guards everything below */
    pthread_cond_t claimer_cond, sender_cond, beater_cond, owner_cond;
    pthread_t claimer, sender, beater;
    int thread_count; /* that were started, in this order */

    struct fa_listener listener; /* of ends that others bring about */
    bool is_listening;           /* false: the engine tells nobody */

    struct fa_job *held;
    struct fa_job *buckets[FA_POOL_BUCKETS]; /* the same, by id */
    int held_count, running;
    struct fa_job *queue, **queue_last;
    int queue_count;
    struct fa_job *dirty, **dirty_last;

    struct fa_handler **handlers; /* by type */
    size_t handler_count, handler_size;
    struct fa_handler nobody; /* has the tasks whose handler went while they were claimed */
    const char **services;    /* one allocation; NULL: all */
    size_t service_count;

    bool is_draining; /* no more claims */
    bool is_stopping; /* what runs shall stop */
    bool is_hurried;
    bool is_ending; /* sender and beater end when they have nothing to do */
    bool is_claiming;
    bool is_changed;                    /* what the worker can do: the engine shall know */
    bool has_news;                      /* a job that runs may be of a task that has ended */
    bool has_no_amend;                  /* the engine can't do that */
    bool is_registered, has_no_workers; /* the beater's own */

    int64_t end_us;    /* when the last attempt ended; 0: none has */
    int64_t gap_us;    /* between two ends, on a sliding average */
    int64_t idle_us;   /* since when nothing is held */
    int64_t beater_us; /* until when the beater sleeps */
    int64_t watch_us;  /* when the watchdog looks next */
    bool is_watch_posted;
    struct fa_timer watchdog; /* the loop's */
    struct fa_post watch_post;
    struct fa_pool_stats stats;
};

/* All of these are called with the mutex held. */
void fa_pool_unref(struct fa_job *job); /* may free it */
void fa_pool_claimed_unref(struct fa_claimed *claimed);
void fa_pool_hold(struct fa_job *job);   /* it is held from now on */
void fa_pool_let_go(struct fa_job *job); /* and not any more */
void fa_pool_drop(struct fa_job *job);   /* it is not held any more; may free it */
void fa_pool_dirty(struct fa_job *job);  /* the sender has something to tell about it */
/* Ends a job that no handler has (any more). */
void fa_pool_settle(struct fa_job *job, const struct fa_outcome *outcome);
/* Marks a job to be stopped. True: its handler must be told, see fa_pool_tell_stop. */
bool fa_pool_mark_stop(struct fa_job *job, enum fa_stop stop);
/* How many more tasks to claim: free slots, and what will be free in a moment (P1). */
int fa_pool_room(const struct fa_pool *pool);
/* Jobs that now have a slot, as a list by queue_next for fa_pool_start. */
struct fa_job *fa_pool_dispatch(struct fa_pool *pool);
/* The claim that waits is for what was: fa_service_wake ends it. One that begins afterwards is left
 * alone. */
void fa_pool_outdate_claim(struct fa_pool *pool);
/* The watchdog looks at this time at the latest. */
void fa_pool_watch(struct fa_pool *pool, int64_t at_us);
void fa_pool_handler_unref(struct fa_handler *handler);
struct fa_handler *fa_pool_find(struct fa_pool *pool, const char *type); /* NULL: none */

/* These without it. */
void fa_pool_listen(struct fa_pool *pool); /* before its threads start */
void fa_pool_start(struct fa_job *list);
void fa_pool_end_outdated(struct fa_pool *pool); /* the claim that waits, if it is for what was */
void fa_pool_tell_stop(struct fa_job *job);      /* and gives back the reference that was taken */
/* Whether an answer means: not now, try again. */
bool fa_pool_is_transient(enum faina_code code);
/* Whether an answer means: the task is not ours any more. */
bool fa_pool_is_loss(enum faina_code code);

void *fa_pool_claimer_main(void *pool);
void *fa_pool_sender_main(void *pool);
void *fa_pool_beater_main(void *pool);

/* Waits on a condition of the pool up to a monotonic time. */
void fa_pool_wait(struct fa_pool *pool, pthread_cond_t *cond, int64_t until_us);

#endif
