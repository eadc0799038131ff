/*
 * bench_load.h - a client that asks a server the same thing over and over, on many connections.
 *
 * Each connection has one request on its way and sends the next when it is answered. One thread
 * serves them all, and a request is a text made beforehand: the client costs little beside the
 * server that it measures, and both have the same two cores on a small machine.
 *
 * Threads: used by one thread.
 */
#ifndef FA_BENCH_LOAD_H
#define FA_BENCH_LOAD_H

#include "base/bytes.h"
#include "base/error.h"

struct fa_bench_load;

/* What a run found. */
struct fa_bench_loaded {
    double per_second;
    double median_us, p99_us;
};

/* The whole of a request; `body` NULL: none. Lives in the arena. */
struct fa_bytes fa_bench_request(struct fa_arena *arena, const char *method, const char *path,
                                 const char *body);

/* Connects to a port of this machine. */
FA_MUST_CHECK enum faina_code fa_bench_load_open(struct fa_bench_load **out, int port, int count,
                                                 struct faina_error *err);
void fa_bench_load_close(struct fa_bench_load *load); /* NULL is fine */

/* Asks for so long, then waits for the answers that are still on their way. Any other status than
 * `status` is a failure: what is refused measures nothing. */
FA_MUST_CHECK enum faina_code fa_bench_load_run(struct fa_bench_load *load, struct fa_bytes request,
                                                int status, int64_t ms, struct fa_bench_loaded *out,
                                                struct faina_error *err);
/* Sends the request once on each connection and reads no answer: whoever asks for something that
 * takes its time now waits for it. */
FA_MUST_CHECK enum faina_code fa_bench_load_leave(struct fa_bench_load *load,
                                                  struct fa_bytes request, struct faina_error *err);
/* Asks once on a connection of its own. *status is 0 when nobody answers. */
void fa_bench_ask(int port, struct fa_bytes request, int *status, struct fa_buf *body);

#endif
