/*
 * bench_engine.h - the engine as a subject: its callers, each a thread of its own, submit, claim
 * and complete tasks together.
 *
 * Threads: used by one thread, which starts the callers.
 */
#ifndef FA_BENCH_BENCH_ENGINE_H
#define FA_BENCH_BENCH_ENGINE_H

#include "bench/bench_run.h"

struct fa_bench_engine;
struct fa_service;

/* Opens an engine for the row `speed`: the store `name` in `location`. */
FA_MUST_CHECK enum faina_code fa_bench_engine_open(struct fa_bench_engine **out,
                                                   const struct fa_bench *bench,
                                                   const char *location, const char *name,
                                                   const struct fa_bench_speed *speed,
                                                   struct faina_error *err);
/* The same with an open service, which fa_bench_engine_close closes. */
struct fa_bench_engine *fa_bench_engine_create(struct fa_service *service,
                                               const struct fa_bench *bench,
                                               const struct fa_bench_speed *speed);
void fa_bench_engine_close(struct fa_bench_engine *engine); /* NULL is fine */

/* Grows the WAL to its final size (bench_run.h). */
FA_MUST_CHECK enum faina_code fa_bench_engine_grow_log(struct fa_bench_engine *engine,
                                                       struct faina_error *err);

/* Submits, claims and completes speed->tasks tasks; writes how long each step took. */
FA_MUST_CHECK enum faina_code fa_bench_engine_round(struct fa_bench_engine *engine,
                                                    int64_t out_ns[FA_BENCH_STEPS],
                                                    struct faina_error *err);
/* The same, but only submits. */
FA_MUST_CHECK enum faina_code fa_bench_engine_submit(struct fa_bench_engine *engine,
                                                     int64_t *out_ns, struct faina_error *err);

#endif
