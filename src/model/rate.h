/*
 * rate.h - rates of resources: token buckets, and names with "*".
 *
 * A bucket has at most `burst` tokens and gets `count` of them in each `per_ms`, evenly. A start
 * takes one. The bucket is stored as what was spent and not yet refilled, which doesn't depend on
 * the rate: a bucket keeps what was spent when its rate changes.
 *
 *   B1  In any interval t at most burst + count * t / per_ms tokens are taken.
 *   B2  A bucket whose time is ahead of the clock gets no token for the time between.
 *
 * Threads: pure functions.
 */
#ifndef FA_MODEL_RATE_H
#define FA_MODEL_RATE_H

#include "base/error.h"

#include <stdbool.h>

#define FA_TOKEN INT64_C(1000000) /* parts of a token, in which buckets count */

struct fa_bucket {
    int64_t spent; /* parts of tokens that were missing ... */
    int64_t at_us; /* ... at this time; 0: the bucket has never been used */
};

/* Whole tokens in the bucket. */
int64_t fa_bucket_tokens(const struct fa_bucket *bucket, const struct faina_rate *rate,
                         int64_t now_us);
/* Takes a token; there must be one. */
void fa_bucket_take(struct fa_bucket *bucket, const struct faina_rate *rate, int64_t now_us);
/* When the bucket has a token; now_us: it has one. */
int64_t fa_bucket_next_us(const struct fa_bucket *bucket, const struct faina_rate *rate,
                          int64_t now_us);

/* Checks a rate and sets a burst that is 0. INVALID_REQUEST names the member. */
FA_MUST_CHECK enum faina_code fa_rate_check(struct faina_rate *rate, struct faina_error *err);
/* "10/s", "600/m", "5000/day", "3/90s": a number, and a unit or a duration. The burst is 0. */
FA_MUST_CHECK enum faina_code fa_rate_parse(const char *text, const char *field,
                                            struct faina_rate *out, struct faina_error *err);
#define FA_RATE_TEXT_SIZE 96
/* For people: "10/s", "3/90s, burst 5". */
void fa_rate_format(const struct faina_rate *rate, char out[FA_RATE_TEXT_SIZE]);
bool fa_rate_is_same(const struct faina_rate *a, const struct faina_rate *b);

/* Whether a name sets the limits of other resources: it ends in "*". */
bool fa_resource_is_prefix(const char *name);
/* Whether `prefix`, which ends in "*", applies to `name`. ASCII case doesn't matter. */
bool fa_resource_prefix_applies(const char *prefix, const char *name);

#endif
