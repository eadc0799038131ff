/*
 * bench_served.h - `faina serve` in a process of its own, on a store of the run, for measuring it.
 *
 * Threads: used by one thread.
 */
#ifndef FA_BENCH_SERVED_H
#define FA_BENCH_SERVED_H

#include "base/error.h"

#include <sys/types.h>

struct fa_bench_served {
    pid_t pid; /* 0: not started */
    int log;   /* what it says comes from here */
    int port;
    int64_t ready_us; /* from its start to the first good answer of /readyz */
};

FA_MUST_CHECK enum faina_code fa_bench_served_start(struct fa_bench_served *out, const char *url,
                                                    struct faina_error *err);
void fa_bench_served_stop(struct fa_bench_served *served); /* fine when it was not started */

/* Its resident size, in MB (of a million bytes). */
double fa_bench_served_mb(const struct fa_bench_served *served);

#endif
