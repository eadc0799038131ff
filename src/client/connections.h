/*
 * lines.h - requests to one server: connections that stay open, for many threads.
 *
 * A line is a small set of connections that one thread has for itself while it asks. Lines that
 * nobody uses are kept for the next one who does.
 *
 *   L1  A call that may have reached the server is sent again only when it says `is_repeatable`.
 *       One that can't have reached it is tried again a few times.
 *   L2  An error tells whether the request may have been carried out ("unknown").
 *   L3  After fa_lines_shut no call begins, calls that wait are given up, and the others finish.
 *
 * Threads: any. A call belongs to the thread that runs it.
 */
#ifndef FA_LINES_H
#define FA_LINES_H

#include "base/error.h"

#include <stdatomic.h>

struct fa_lines;

struct fa_lines_options {
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
        *give_up;       /* a wait ends early when this is set and fa_lines_wake was called */
    int64_t wait_ms;    /* the server may take so much longer: a wait (L3) */
    bool is_read;       /* it changes nothing, so that nothing can be unknown */
    bool is_repeatable; /* L1 */
    /* Not NULL: takes the answer piece by piece instead of `answer`, which keeps the beginning, for
     * a problem. It is told to begin anew (data NULL) before each try. False: it takes no more. */
    bool (*take)(void *ctx, const char *data, size_t size);
    void *take_ctx;

    enum faina_code code; /* OK: there is an answer, with whichever status */
    struct faina_error error;
    int status;
    struct fa_buf answer;
    bool has_given_up; /* there was nothing, or nobody knows what would have come */

    /* Lines' own. */
    size_t sent;
    char why[256];
    bool is_again;     /* to be tried again */
    int64_t listen_us; /* it gives up, and listens until then for what is on its way; 0: it waits */
};

FA_MUST_CHECK enum faina_code fa_lines_open(struct fa_lines **out,
                                            const struct fa_lines_options *options,
                                            struct faina_error *err);
void fa_lines_shut(struct fa_lines *lines);
void fa_lines_wake(struct fa_lines *lines);  /* calls that wait look at their give_up */
void fa_lines_close(struct fa_lines *lines); /* nobody is inside; NULL is fine */

void fa_call_init(struct fa_call *call, const char *method);
void fa_call_finish(struct fa_call *call);
/* Appends text to the path, percent-encoded. */
void fa_call_escape(struct fa_call *call, const char *text);

/* Runs all of them, several at once; in no order. */
void fa_lines_run(struct fa_lines *lines, struct fa_call *calls, size_t count);
/* Sleeps, but not beyond fa_lines_shut. */
void fa_lines_pause(struct fa_lines *lines, int64_t ms);

#endif
