/*
 * batch.h - group commit: many callers, one transaction.
 *
 * This is the only place where operations are gathered. A job that arrives while a transaction runs
 * is run in the same transaction. A job that arrives during the commit is run in the next one.
 *
 * One thread at a time is the leader: it runs all queued jobs and commits. A caller that waits for
 * its job and finds no leader leads one transaction itself, because handing the job to another
 * thread and back (two thread switches) takes a good part of the time of a commit. The writer
 * thread leads for all other jobs, until the queue is empty.
 *
 *   B1  A caller returns, and `done` is called, only after the transaction that contains the job is
 *       on disk or has failed.
 *   B2  There is at most one leader; jobs are run in the order of their arrival.
 *   B3  Every accepted job is run exactly once, also while closing, unless its caller takes it
 *       back.
 *   B4  The weight of the queued jobs is bounded: beyond that, posting is refused.
 *
 * Threads: any; create and destroy from the owner's.
 */
#ifndef FA_STORE_TXN_BATCH_H
#define FA_STORE_TXN_BATCH_H

#include "base/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fa_batch;

/* Part of the caller's own struct; all zero but for `weight` and `done`. */
struct fa_batch_job {
    size_t weight; /* operations in it */
    /* fa_batch_post: called once in the leader's thread, with no lock held. It must be quick. */
    void (*done)(struct fa_batch_job *job);
    struct fa_batch_job *next;
    _Atomic uint32_t state;
};

/* Runs a list of jobs (linked by `next`) as one transaction. Before the commit it may call
 * fa_batch_more for jobs that have arrived meanwhile, and must run them in the same transaction. */
typedef void fa_batch_fn(void *ctx, struct fa_batch_job *jobs);

/* A transaction takes jobs up to `weight_max`, or one larger job. NULL: no thread can be
 * started. */
struct fa_batch *fa_batch_create(fa_batch_fn *run, void *ctx, size_t weight_max,
                                 size_t queue_weight_max);
void fa_batch_destroy(struct fa_batch *batch); /* after fa_batch_close; NULL is fine */

/* Blocks until the job was run. False: the batch is closed and the job was not run. */
bool fa_batch_run(struct fa_batch *batch, struct fa_batch_job *job);
/* The same, but a job that is still queued after `timeout_us` is taken back: *has_timed_out, and
 * false. */
bool fa_batch_run_within(struct fa_batch *batch, struct fa_batch_job *job, int64_t timeout_us,
                         bool *has_timed_out);
/* Queues the job and returns; job->done is called when it was run. OVERLOADED (B4), STORE_CLOSED:
 * the job was not accepted. */
FA_MUST_CHECK enum faina_code fa_batch_post(struct fa_batch *batch, struct fa_batch_job *job);

/* For the leader, inside `run`: takes jobs that have arrived meanwhile, up to the weight, and links
 * them behind the others. NULL: there are none; commit. */
struct fa_batch_job *fa_batch_more(struct fa_batch *batch);

/* Refuses new jobs, and waits until all are done. */
void fa_batch_close(struct fa_batch *batch);

#endif
