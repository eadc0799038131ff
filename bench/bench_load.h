/*
 * bench_load.h - an HTTP client that repeats one request on many connections.
 *
 * Each connection has one pending request and sends the next after the response. One thread handles
 * all connections, and the request's text is prepared once: the client needs little processor time
 * compared with the server, with which it may share two cores.
 *
 * Threads: used by one thread.
 */
#ifndef FA_BENCH_BENCH_LOAD_H
#define FA_BENCH_BENCH_LOAD_H

#include "base/bytes.h"
#include "base/error.h"

struct fa_bench_load;

/* The result of a run. */
struct fa_bench_loaded {
    double per_second;
    double median_us, p99_us;
};

/* The text of a request, in the arena; `body` NULL: none. */
struct fa_bytes fa_bench_request(struct fa_arena *arena, const char *method, const char *path,
                                 const char *body);

/* Connects to a port of this machine. */
FA_MUST_CHECK enum faina_code fa_bench_load_open(struct fa_bench_load **out, int port, int count,
                                                 struct faina_error *err);
void fa_bench_load_close(struct fa_bench_load *load); /* NULL is fine */

/* Sends requests for `ms`, then waits for the pending responses. Any other status than `status` is
 * an error. */
FA_MUST_CHECK enum faina_code fa_bench_load_run(struct fa_bench_load *load, struct fa_bytes request,
                                                int status, int64_t ms, struct fa_bench_loaded *out,
                                                struct faina_error *err);
/* Sends the request once on each connection and reads no response: for long polls and streams. */
FA_MUST_CHECK enum faina_code fa_bench_load_send(struct fa_bench_load *load,
                                                 struct fa_bytes request, struct faina_error *err);
/* Sends one request on a new connection. *status is 0 if there is no response. */
void fa_bench_request_once(int port, struct fa_bytes request, int *status, struct fa_buf *body);

#endif
