/*
 * bench_engine.h - the engine as a subject: its callers, each a thread of its own, move tasks
 * through their steps together.
 *
 * Threads: a struct fa_bench_engine is used by one thread; its callers are its own affair.
 */
#ifndef FA_BENCH_ENGINE_H
#define FA_BENCH_ENGINE_H

#include "cli/bench_run.h"

struct fa_bench_engine;
struct fa_service;

/* Opens an engine for what `speed` describes, in `place` under `name`. */
FA_MUST_CHECK enum faina_code fa_bench_engine_open(struct fa_bench_engine **out,
                                                   const struct fa_bench *bench, const char *place,
                                                   const char *name,
                                                   const struct fa_bench_speed *speed,
                                                   struct faina_error *err);
/* The same with a service that is open already; closing the one closes the other. */
struct fa_bench_engine *fa_bench_engine_create(struct fa_service *service,
                                               const struct fa_bench *bench,
                                               const struct fa_bench_speed *speed);
void fa_bench_engine_close(struct fa_bench_engine *engine); /* NULL is fine */

/* Brings the log to its size (bench_run.h). */
FA_MUST_CHECK enum faina_code fa_bench_engine_grow_log(struct fa_bench_engine *engine,
                                                       struct faina_error *err);

/* Lets speed->tasks tasks live through all their steps; writes how long each step took. */
FA_MUST_CHECK enum faina_code fa_bench_engine_round(struct fa_bench_engine *engine,
                                                    int64_t out_ns[FA_BENCH_STEPS],
                                                    struct faina_error *err);
/* Only submits them. */
FA_MUST_CHECK enum faina_code fa_bench_engine_submit(struct fa_bench_engine *engine,
                                                     int64_t *out_ns, struct faina_error *err);

#endif
