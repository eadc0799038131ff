/*
 * post.h - running operations for a server that must not block.
 *
 * A thread that serves thousands of connections can't call fa_service_run, which sleeps until the
 * transaction is on disk. Here operations are posted, and a function is called when they are done.
 * Changes go straight to the engine's own queue (fa_service_post), which is the only place where
 * they are gathered. Two threads run the reads, so that reads never wait for the writer, and one
 * thread runs long work in the order of its arrival. A wait (for a task's end, or for work) takes
 * memory but no thread.
 *
 *   P1  What was accepted is run, and `done` is called exactly once for it, also while closing.
 *   P2  `done` is called after the transaction is on disk, with no lock of post's held: from one of
 *       post's threads, from the thread that commits or ends the wait, or within the call that
 *       posts. It must be quick.
 *   P3  Queues are bounded: beyond that, posting is refused with OVERLOADED.
 *   P4  After a notification of work each waiting claim for that type is run once, in the order of
 *       arrival; a few with each transaction, so that thousands of them delay no other operation.
 *   P5  A lost notification costs time, never a hang: waits are checked again every few seconds.
 *
 * Threads: any. A `struct fa_posted` belongs to post between the call and `done`.
 */
#ifndef FA_SERVER_POST_H
#define FA_SERVER_POST_H

#include "model/id.h"
#include "server/ring.h"
#include "service/service.h"

struct fa_post;
struct fa_posted;

typedef void fa_posted_fn(struct fa_posted *posted);

/* Operations under way; the caller's memory. All zero but for the request. */
struct fa_posted {
    struct fa_op *ops;
    size_t count;
    fa_posted_fn *done;
    fa_posted_fn *work; /* runs this in a reader's thread instead of the operations, which may be
                           set, and which it may change */
    bool is_long;       /* ... in the thread for long work: reads must not wait for it */
    /* For a wait: true when the client has gone or lost its permission. May be NULL. */
    bool (*is_gone)(const struct fa_posted *posted);

    /* Post's own. */
    struct fa_post *post;
    struct fa_service_post call;
    size_t weight; /* operations in it; work counts as one */
    enum { FA_POST_IDLE, FA_POST_QUEUED, FA_POST_RUNS, FA_POST_WAITS } state;
    enum { FA_POST_PLAIN, FA_POST_CLAIM_WAIT, FA_POST_TASK_WAIT } kind;
    struct fa_ring_link link;      /* of the queue, or of a list under way */
    struct fa_ring_link wait_link; /* CLAIM_WAIT: of the waiting claims; also while it runs */
    bool is_waiting;               /* ... it is in that list */
    bool is_in_pass;               /* ... and runs because of a notification */
    struct fa_posted *bucket_next;
    struct fa_id id;           /* TASK_WAIT: the task */
    int64_t deadline_us;       /* monotonic */
    size_t heap_index;         /* 0: not in the heap, which counts from 1 */
    uint64_t run_mark;         /* CLAIM_WAIT: fa_waits.ready_mark when it was last run */
    uint64_t types;            /* ... and its types (fa_hash_bit) */
    bool must_reread, is_over; /* the task may have ended; the wait has */
    struct fa_arena answers;   /* holds the answer of a wait: op->arena is set to it */
    struct faina_tasks none;
};

/* Whether it changes something; else it is read. */
bool fa_posted_writes(const struct fa_posted *posted);

FA_MUST_CHECK enum faina_code fa_post_open(struct fa_post **out, struct fa_service *service,
                                           struct faina_error *err);
/* Refuses new operations, ends the waits, runs what was accepted. NULL is fine. */
void fa_post_close(struct fa_post *post);

/* Posts operations, all of them changes or all of them reads, or work. OVERLOADED, STORE_CLOSED:
 * they were not accepted, and `done` won't be called. */
FA_MUST_CHECK enum faina_code fa_post(struct fa_post *post, struct fa_posted *posted);

/* One CLAIM_NEXT that waits for work for up to claim->wait_ms. The answer lives in
 * posted->answers, which the caller finishes. */
FA_MUST_CHECK enum faina_code fa_post_claim_wait(struct fa_post *post, struct fa_posted *posted);

/* One GET that is answered when the task has ended, or with its present state after `timeout_ms`.
 * The answer lives as for fa_post_claim_wait. */
FA_MUST_CHECK enum faina_code fa_post_wait(struct fa_post *post, struct fa_posted *posted,
                                           int64_t timeout_ms);

/* The client of a waiting claim has gone: the claim is answered with no tasks, unless it is being
 * run. Between the call of fa_post_claim_wait and the end of `done`. */
void fa_post_cancel_claim(struct fa_post *post, struct fa_posted *posted);

/* The answer of a claim did not reach the client: its tasks are released. The operation and its
 * answer belong to the caller again on return. */
void fa_post_release_claimed(struct fa_post *post, const struct fa_op *claim);

/* Ends all waits, and every wait that begins afterwards, with what there is. */
void fa_post_end_waits(struct fa_post *post);

/* Counts, for the server's metrics. */
struct fa_post_stats {
    size_t queued; /* operations and work that are not done, without waits */
    size_t waits;  /* waiting claims, and waits for a task's end */
};
struct fa_post_stats fa_post_stats(struct fa_post *post);

#endif
