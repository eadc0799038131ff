/*
 * bench_served.h - `faina serve` as a child process, on a store of the run.
 *
 * Threads: used by one thread.
 */
#ifndef FA_BENCH_BENCH_SERVED_H
#define FA_BENCH_BENCH_SERVED_H

#include "base/error.h"

#include <sys/types.h>

struct fa_bench_served {
    pid_t pid; /* 0: not started */
    int log;   /* a pipe from its stderr */
    int port;
    int64_t ready_us; /* from its start to the first 200 of /readyz */
};

FA_MUST_CHECK enum faina_code fa_bench_served_start(struct fa_bench_served *out, const char *url,
                                                    struct faina_error *err);
void fa_bench_served_stop(struct fa_bench_served *served); /* does nothing if it isn't started */

/* The path of `faina`, which is beside this program. */
void fa_bench_program_path(char *out, size_t size);

/* Its resident size, in MB (of a million bytes). */
double fa_bench_served_mb(const struct fa_bench_served *served);

#endif
