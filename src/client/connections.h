/*
 * connections.h - requests to one server: connections that stay open, for many threads.
 *
 * A session is a small set of connections. A thread has one for itself while its requests run; idle
 * sessions are kept in a pool.
 *
 *   L1  A call that may have reached the server is sent again only with `is_repeatable`. One that
 *       can't have reached it is tried again a few times.
 *   L2  The sentence of an error says "unknown" when the request may have been carried out.
 *   L3  After fa_connections_shut no call begins, waiting calls end early, and the others finish.
 *
 * Threads: any. A call belongs to the thread that runs it.
 */
#ifndef FA_CLIENT_CONNECTIONS_H
#define FA_CLIENT_CONNECTIONS_H

#include "base/error.h"

#include <stdatomic.h>

struct fa_connections;

struct fa_connections_options {
    const char *base;      /* "http://host:port/prefix", without a slash at the end */
    const char *shown;     /* the same for people */
    const char *unix_path; /* a socket to connect to instead; NULL: none */
    const char *token;     /* NULL: none */
    const char *ca_file;   /* certificates to trust; NULL: the system's */
    int64_t timeout_ms;    /* how long an answer may take */
    int64_t connect_ms;    /* how long connecting may take */
    bool is_near;          /* this machine: no proxy */
};

/* One request, and its answer. */
struct fa_call {
    const char *method;
    struct fa_buf path; /* percent-encoded, with the query */
    struct fa_buf body; /* JSON; empty: none */
    int64_t if_match;   /* a version; 0: none; negative: of a disabled workflow */
    const atomic_bool
        *give_up;       /* a wait ends early when this is set and fa_connections_wake was called */
    int64_t wait_ms;    /* additional time for a long poll (L3) */
    bool is_read;       /* it changes nothing, so its result is never "unknown" */
    bool is_repeatable; /* L1 */
    /* Not NULL: takes the answer piece by piece instead of `answer`, which keeps the beginning, for
     * a problem. It is called with data NULL before each try, to begin anew. False: it takes no
     * more. */
    bool (*take)(void *ctx, const char *data, size_t size);
    void *take_ctx;

    enum faina_code code; /* OK: there is an answer, with whichever status */
    struct faina_error error;
    int status;
    struct fa_buf answer;
    bool has_given_up; /* the wait ended early: there was nothing, or the answer is unknown */

    /* For connections.c. */
    size_t sent;
    char why[256];
    bool is_again;     /* to be tried again */
    int64_t listen_us; /* the wait has ended, and an answer is read until then; 0: it waits */
};

FA_MUST_CHECK enum faina_code fa_connections_open(struct fa_connections **out,
                                                  const struct fa_connections_options *options,
                                                  struct faina_error *err);
void fa_connections_shut(struct fa_connections *conns);
void fa_connections_wake(struct fa_connections *conns);  /* calls that wait check their give_up */
void fa_connections_close(struct fa_connections *conns); /* no call is running; NULL is fine */

void fa_call_init(struct fa_call *call, const char *method);
void fa_call_finish(struct fa_call *call);
/* Appends text to the path, percent-encoded. */
void fa_call_escape(struct fa_call *call, const char *text);

/* Runs all calls, several at once, in any order. */
void fa_connections_run(struct fa_connections *conns, struct fa_call *calls, size_t count);
/* Sleeps, but not beyond fa_connections_shut. */
void fa_connections_pause(struct fa_connections *conns, int64_t ms);

#endif
