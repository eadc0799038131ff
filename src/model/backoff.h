/*
 * backoff.h - how long a failed task waits: exponential, with full jitter.
 */
#ifndef FA_MODEL_BACKOFF_H
#define FA_MODEL_BACKOFF_H

#include "base/random.h"

#include <faina.h>

/* The policy with each zero field replaced by its default (1 s, 2, 1 h). */
struct faina_retry_policy fa_backoff_policy(struct faina_retry_policy policy);

/* The longest wait after attempt number `attempts` (from 1): min(max, base * factor^(attempts-1)),
 * without overflow for any number of attempts. */
int64_t fa_backoff_ceiling_ms(struct faina_retry_policy policy, int64_t attempts);

/* A uniform random wait in [0, ceiling], in microseconds. */
int64_t fa_backoff_us(struct faina_retry_policy policy, int64_t attempts, struct fa_random *random);

#endif
