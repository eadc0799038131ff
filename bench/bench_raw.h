/*
 * bench_raw.h - raw SQLite, to compare with: what somebody gets who writes the statements by hand
 * and needs nothing else.
 *
 *   lean   one table with an integer id, a partial index of what is ready, and the row deleted in
 *          the end. No key, no history, no lanes: the floor of what a queue costs.
 *   own    our own schema and, task by task, the statements that change it; all that is missing
 *          are the rules. What the engine would cost if its C code took no time.
 *
 * Both prepare their statements once, run one transaction for each batch, and read the input back
 * when they claim. Settings are those of the engine (bench_run.h).
 *
 * Threads: a struct fa_bench_raw belongs to one thread.
 */
#ifndef FA_BENCH_RAW_H
#define FA_BENCH_RAW_H

#include "cli/bench_run.h"

struct fa_bench_raw;

/* Of the SQLite library. */
const char *fa_bench_raw_version(void);

/* Makes the file `path` for what `speed` describes. */
FA_MUST_CHECK enum faina_code fa_bench_raw_open(struct fa_bench_raw **out, const char *path,
                                                const struct fa_bench_speed *speed,
                                                const struct fa_bench_inputs *inputs,
                                                struct faina_error *err);
void fa_bench_raw_close(struct fa_bench_raw *raw); /* NULL is fine */

/* Brings the log to its size (bench_run.h). */
FA_MUST_CHECK enum faina_code fa_bench_raw_grow_log(struct fa_bench_raw *raw,
                                                    struct faina_error *err);

/* Lets speed->tasks tasks live through all their steps; writes how long each step took. */
FA_MUST_CHECK enum faina_code fa_bench_raw_round(struct fa_bench_raw *raw,
                                                 int64_t out_ns[FA_BENCH_STEPS],
                                                 struct faina_error *err);

#endif
