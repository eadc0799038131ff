/*
 * bench_threads.h - threads that run a step at the same time, each its share, and are timed
 * together.
 *
 * Threads: used by the thread that started them; `share` runs in all of the threads at once, each
 * with a number of its own.
 */
#ifndef FA_BENCH_BENCH_THREADS_H
#define FA_BENCH_BENCH_THREADS_H

#include "bench/bench_report.h"

struct fa_bench_threads;

/* The share of thread `number` (from 0) in a step. */
typedef enum faina_code fa_bench_share_fn(void *ctx, size_t number, enum fa_bench_step step,
                                          struct faina_error *err);

/* Never NULL: if a thread can't be started, the program exits. */
struct fa_bench_threads *fa_bench_threads_start(size_t count, fa_bench_share_fn *share, void *ctx);
void fa_bench_threads_stop(struct fa_bench_threads *threads); /* NULL is fine */

/* Runs one step in all threads; writes how long it took. */
FA_MUST_CHECK enum faina_code fa_bench_threads_step(struct fa_bench_threads *threads,
                                                    enum fa_bench_step step, int64_t *out_ns,
                                                    struct faina_error *err);
/* Runs each step in all threads; writes how long each took. */
FA_MUST_CHECK enum faina_code fa_bench_threads_round(struct fa_bench_threads *threads,
                                                     int64_t out_ns[FA_BENCH_STEPS],
                                                     struct faina_error *err);

#endif
