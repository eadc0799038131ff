/*
 * post.h - handing in operations without waiting for them.
 *
 * A server that answers thousands of connections from one thread can't call fa_service_run, which
 * sleeps until the transaction is on disk. Here operations are posted, and a function is called
 * when they are answered. One thread runs the changes: what was posted while it was committing goes
 * into the next transaction. Two more run the reads, so that they never wait for the writer, and
 * one does what takes long, one after the other. A wait (for a task's end, or for work) costs
 * memory but no thread.
 *
 *   P1  What was accepted is run, and `done` is called exactly once for it, also while closing.
 *   P2  `done` comes after the transaction is on disk, from one of post's threads or from who
 *       ends the wait, with no lock held. It must be quick.
 *   P3  What is queued is bounded: beyond that, posting is refused with OVERLOADED.
 *   P4  After news of work each claim that waits for work of that type is asked once, in the
 *       order in which they came; a few with each transaction, so that thousands of them hold
 *       nobody up.
 *   P5  News that gets lost costs time, never a hang: who waits is asked again every few seconds.
 *
 * Threads: any. A `struct fa_posted` is post's between the call and `done`.
 */
#ifndef FA_POST_H
#define FA_POST_H

#include "model/id.h"
#include "service/ring.h"
#include "service/service.h"

struct fa_post;
struct fa_posted;

typedef void fa_posted_fn(struct fa_posted *posted);

/* Operations on their way; the caller's memory. All zero but for what is asked. */
struct fa_posted {
    struct fa_op *ops;
    size_t count;
    fa_posted_fn *done;
    fa_posted_fn *work; /* runs this in a reader's thread instead of the operations; they may
                           be there, and it may change them */
    bool is_long;       /* ... in the thread for what takes long: reads must not wait for it */
    /* One that waits: true when nobody is there any more to take the answer. May be NULL. */
    bool (*is_gone)(const struct fa_posted *posted);

    /* Post's own. */
    enum { FA_POST_IDLE, FA_POST_QUEUED, FA_POST_RUNS, FA_POST_WAITS } place;
    enum { FA_POST_PLAIN, FA_POST_CLAIM_WAIT, FA_POST_TASK_WAIT } kind;
    struct fa_ring_link link;      /* of the queue, or of the group that runs */
    struct fa_ring_link wait_link; /* CLAIM_WAIT: of those that wait; in it while it is asked */
    bool is_waiting;               /* ... it is in there */
    struct fa_posted *bucket_next;
    struct fa_id id;         /* TASK_WAIT: the task */
    int64_t deadline_us;     /* monotonic */
    size_t heap_index;       /* 0: not in the heap, which counts from 1 */
    uint64_t asked_mark;     /* CLAIM_WAIT: what the news was when it was last asked */
    uint64_t types;          /* ... and what it takes (fa_hash_bit) */
    bool is_told, is_over;   /* the task has ended; the time has */
    struct fa_arena answers; /* where a wait's answer lives: op->arena is set to it */
    struct faina_tasks none;
};

/* Whether it goes to the writer; else it is read. */
bool fa_posted_writes(const struct fa_posted *posted);

FA_MUST_CHECK enum faina_code fa_post_open(struct fa_post **out, struct fa_service *service,
                                           struct faina_error *err);
/* Refuses what comes, ends the waits, runs what was accepted. NULL is fine. */
void fa_post_close(struct fa_post *post);

/* Posts operations, all of them changes or all of them reads, or work. OVERLOADED, STORE_CLOSED:
 * they were not taken, and `done` won't be called. */
FA_MUST_CHECK enum faina_code fa_post(struct fa_post *post, struct fa_posted *posted);

/* Posts many at once, each as fa_post does; changes among them run together. `codes` has room for
 * what became of each. */
void fa_post_many(struct fa_post *post, struct fa_posted *const *posted, size_t count,
                  enum faina_code *codes);

/* One CLAIM_NEXT that waits for work for up to claim->wait_ms. The answer lives in
 * posted->answers, which the caller finishes. */
FA_MUST_CHECK enum faina_code fa_post_claim_wait(struct fa_post *post, struct fa_posted *posted);

/* One GET that is answered when the task has ended, or with its state when the time is over. The
 * answer lives as for fa_post_claim_wait. */
FA_MUST_CHECK enum faina_code fa_post_wait(struct fa_post *post, struct fa_posted *posted,
                                           int64_t timeout_ms);

/* Who waits for work has gone: the claim is answered with nothing, unless it is about to get some.
 * Between the call of fa_post_claim_wait and the end of `done`. */
void fa_post_give_up(struct fa_post *post, struct fa_posted *posted);

/* A claim's answer never reached who asked: its tasks go back in line. The operation and its answer
 * are the caller's again on return. */
void fa_post_give_back(struct fa_post *post, const struct fa_op *claim);

/* From now on no wait lasts: those that wait are answered at once with what there is. */
void fa_post_end_waits(struct fa_post *post);

/* Counts, for a server's own figures. */
struct fa_post_stats {
    uint64_t groups, group_ops; /* transactions of changes, and the operations in them */
    size_t queued;              /* weight of what waits to be run */
    size_t waits;               /* claims and tasks that are waited for */
    bool is_writing;            /* a group of changes and claims is being run */
};
struct fa_post_stats fa_post_stats(struct fa_post *post);

/* A function to be told the size of every group; before anything is posted. */
void fa_post_on_group(struct fa_post *post, void (*tell)(void *ctx, size_t ops), void *ctx);

#endif
