/*
 * bench_posted.h - measures the engine with callers that don't block: each has one operation posted
 * (server/post.h) and, when it is done, posts the next, as the connections of a server do.
 *
 * Threads: used by one thread; the callers run where post calls `done` (P2).
 */
#ifndef FA_BENCH_BENCH_POSTED_H
#define FA_BENCH_BENCH_POSTED_H

#include "bench/bench_run.h"

struct fa_bench_posted;

/* Opens an engine for what `speed` describes, on the store `name` at `location`. */
FA_MUST_CHECK enum faina_code fa_bench_posted_open(struct fa_bench_posted **out,
                                                   const struct fa_bench *bench,
                                                   const char *location, const char *name,
                                                   const struct fa_bench_speed *speed,
                                                   struct faina_error *err);
void fa_bench_posted_close(struct fa_bench_posted *posted); /* NULL is fine */

/* Runs all steps of speed->tasks tasks; writes how long each step took. */
FA_MUST_CHECK enum faina_code fa_bench_posted_round(struct fa_bench_posted *posted,
                                                    int64_t out_ns[FA_BENCH_STEPS],
                                                    struct faina_error *err);

#endif
