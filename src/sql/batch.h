/*
 * batch.h - group commit: many callers, one transaction.
 *
 * A caller hands in a job and gets it back done. What arrived while the last transaction was
 * committing rides in the next one. There is no thread that writes: one of the waiting callers
 * leads, runs the jobs of all that wait, and passes the lead on. So a lone caller pays for no hand
 * over (measured: two thread switches are a fifth of a commit here), and a thousand callers pay for
 * one flush.
 *
 *   B1  A caller returns only after the transaction that holds its job is on disk, or failed.
 *   B2  At most one caller leads at a time; jobs keep their order of arrival.
 *   B3  Every job is run, also while closing: fa_batch_close returns when all are.
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

/* Runs a list of jobs (linked by `next`) as one transaction. */
typedef void fa_batch_fn(void *ctx, struct fa_job *jobs, size_t job_count);

struct fa_batch *fa_batch_create(fa_batch_fn *run, void *ctx, size_t weight_max);
void fa_batch_destroy(struct fa_batch *batch); /* nobody may be inside */

/* Blocks until the job was run. False: the batch is closed and the job was not run. */
bool fa_batch_run(struct fa_batch *batch, struct fa_job *job);
/* Refuses new jobs, and waits until all are done. */
void fa_batch_close(struct fa_batch *batch);

#endif
