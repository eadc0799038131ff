/*
 * bench_posted.h - the engine with callers that don't sleep: each has one operation on its way and,
 * when it is answered, posts the next (service/post.h), as the connections of a server do.
 *
 * Threads: used by one thread; the callers live in post's.
 */
#ifndef FA_BENCH_POSTED_H
#define FA_BENCH_POSTED_H

#include "cli/bench_run.h"

struct fa_bench_posted;

/* Opens an engine for what `speed` describes, in the place `place` under `name`. */
FA_MUST_CHECK enum faina_code fa_bench_posted_open(struct fa_bench_posted **out,
                                                   const struct fa_bench *bench, const char *place,
                                                   const char *name,
                                                   const struct fa_bench_speed *speed,
                                                   struct faina_error *err);
void fa_bench_posted_close(struct fa_bench_posted *posted); /* NULL is fine */

/* Lets speed->tasks tasks live through all their steps; writes how long each step took. */
FA_MUST_CHECK enum faina_code fa_bench_posted_round(struct fa_bench_posted *posted,
                                                    int64_t out_ns[FA_BENCH_STEPS],
                                                    struct faina_error *err);

#endif
