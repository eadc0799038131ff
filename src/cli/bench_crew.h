/*
 * bench_crew.h - threads that do a step together, each its share, and are timed together.
 *
 * Threads: a crew is used by the thread that started it; `share` runs in all of its threads at
 * once, each with a number of its own.
 */
#ifndef FA_BENCH_CREW_H
#define FA_BENCH_CREW_H

#include "cli/bench_report.h"

struct fa_bench_crew;

/* What member `number` (from 0) does in a step. */
typedef enum faina_code fa_bench_share_fn(void *ctx, size_t number, enum fa_bench_step step,
                                          struct faina_error *err);

/* Never NULL: without threads there is nothing to measure, and the program ends. */
struct fa_bench_crew *fa_bench_crew_start(size_t count, fa_bench_share_fn *share, void *ctx);
void fa_bench_crew_stop(struct fa_bench_crew *crew); /* NULL is fine */

/* Lets every member run one step; writes how long it took. */
FA_MUST_CHECK enum faina_code fa_bench_crew_step(struct fa_bench_crew *crew,
                                                 enum fa_bench_step step, int64_t *out_ns,
                                                 struct faina_error *err);
/* Lets every member run each step; writes how long each step took. */
FA_MUST_CHECK enum faina_code fa_bench_crew_round(struct fa_bench_crew *crew,
                                                  int64_t out_ns[FA_BENCH_STEPS],
                                                  struct faina_error *err);

#endif
