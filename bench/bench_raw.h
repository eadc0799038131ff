/*
 * bench_raw.h - raw SQLite as a baseline: statements written by hand for this one purpose.
 *
 *   minimal  one table with an integer id and a partial index of the ready rows; complete deletes
 *            the row. No key, no history, no lanes: the lower bound of a queue.
 *   own      the engine's schema and its statements for each task, without the rules: the cost of
 *            the engine if its C code took no time.
 *
 * Both prepare their statements once, run one transaction for each batch, and read the input in a
 * claim. The settings are those of the engine (bench_run.h).
 *
 * Threads: a struct fa_bench_raw belongs to one thread.
 */
#ifndef FA_BENCH_BENCH_RAW_H
#define FA_BENCH_BENCH_RAW_H

#include "bench/bench_run.h"

struct fa_bench_raw;

/* Runs statements on a file that no engine has open. */
FA_MUST_CHECK enum faina_code fa_bench_raw_run(const char *path, const char *sql,
                                               struct faina_error *err);

/* The version of the SQLite library. */
const char *fa_bench_raw_version(void);

/* Creates the file `path` for the row `speed`. */
FA_MUST_CHECK enum faina_code fa_bench_raw_open(struct fa_bench_raw **out, const char *path,
                                                const struct fa_bench_speed *speed,
                                                const struct fa_bench_inputs *inputs,
                                                struct faina_error *err);
void fa_bench_raw_close(struct fa_bench_raw *raw); /* NULL is fine */

/* Grows the WAL to its final size (bench_run.h). */
FA_MUST_CHECK enum faina_code fa_bench_raw_grow_log(struct fa_bench_raw *raw,
                                                    struct faina_error *err);

/* Submits, claims and completes speed->tasks tasks; writes how long each step took. */
FA_MUST_CHECK enum faina_code fa_bench_raw_round(struct fa_bench_raw *raw,
                                                 int64_t out_ns[FA_BENCH_STEPS],
                                                 struct faina_error *err);

#endif
