/*
 * otlp_sender.h - sends requests to a collector over HTTP.
 *
 * Threads: one at a time.
 */
#ifndef FA_OTLP_OTLP_SENDER_H
#define FA_OTLP_OTLP_SENDER_H

#include "otlp/otlp_settings.h"

#include <stdatomic.h>

struct fa_otlp_sender;

enum fa_otlp_sent {
    FA_OTLP_SENT,
    FA_OTLP_LATER,  /* not now: it can be sent again */
    FA_OTLP_REFUSED /* it never will be */
};

struct fa_otlp_answer {
    int64_t retry_after_ms; /* 0: not given */
    int64_t rejected;       /* of a request that was sent: how many spans or points were left out */
    char why[300];          /* for people, without the URL */
};

/* `until_us` is read while a request runs: a monotonic time at which it is cut off, or 0. */
FA_MUST_CHECK enum faina_code fa_otlp_sender_create(struct fa_otlp_sender **out,
                                                    const struct fa_otlp_settings *settings,
                                                    const atomic_llong *until_us,
                                                    struct faina_error *err);
void fa_otlp_sender_destroy(struct fa_otlp_sender *sender); /* NULL is fine */

enum fa_otlp_sent fa_otlp_send(struct fa_otlp_sender *sender, const struct fa_otlp_signal *signal,
                               struct fa_bytes body, struct fa_otlp_answer *answer);

#endif
