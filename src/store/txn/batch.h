/*
 * batch.h - group commit: many callers, one transaction.
 *
 * A caller hands in a job and gets it back done. What arrives while a transaction is being run
 * still rides in it; what arrives while it commits rides in the next one.
 *
 * One at a time leads: it runs the jobs of all that wait, and commits. A caller that finds nobody
 * leading does it itself, so a lone caller pays for no hand-over (two thread switches are a good
 * part of a commit). When more jobs have come meanwhile, the writer thread takes the lead and keeps
 * it until there are none.
 *
 *   B1  A caller returns only after the transaction that holds its job is on disk, or failed.
 *   B2  At most one leads at a time; jobs keep their order of arrival.
 *   B3  Every job that was taken in is run, also while closing, unless its caller takes it back.
 *
 * Threads: any; create and destroy from the owner's.
 */
#ifndef FA_BATCH_H
#define FA_BATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fa_batch;

/* Part of the caller's own struct; all zero but for `weight`. */
struct fa_job {
    size_t weight; /* operations in it */
    struct fa_job *next;
    _Atomic uint32_t state;
};

/* Runs a list of jobs (linked by `next`) as one transaction. Before it commits, it may ask
 * fa_batch_more for those that came meanwhile, and must run them in the same transaction. */
typedef void fa_batch_fn(void *ctx, struct fa_job *jobs);

/* NULL: no thread can be started. */
struct fa_batch *fa_batch_create(fa_batch_fn *run, void *ctx, size_t weight_max);
void fa_batch_destroy(struct fa_batch *batch); /* closed, and nobody inside; NULL is fine */

/* Blocks until the job was run. False: the batch is closed and the job was not run. */
bool fa_batch_run(struct fa_batch *batch, struct fa_job *job);
/* The same, but a job that nobody has begun to run by then is taken back: *is_back, and false. */
bool fa_batch_run_within(struct fa_batch *batch, struct fa_job *job, int64_t patience_us,
                         bool *is_back);

/* For the leader, inside `run`: takes jobs that came meanwhile, up to the weight, and links them
 * behind the ones it has. NULL: there are none, so commit. */
struct fa_job *fa_batch_more(struct fa_batch *batch);

/* Refuses new jobs, and waits until all are done. */
void fa_batch_close(struct fa_batch *batch);

#endif
