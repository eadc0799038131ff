/*
 * backoff.h - how long a failed task waits: exponential, half of it fixed and half random.
 */
#ifndef FA_MODEL_BACKOFF_H
#define FA_MODEL_BACKOFF_H

#include "base/random.h"

#include <faina.h>

/* The policy with each zero field replaced by its default (15 s, 8, 6 h). */
struct faina_retry_policy fa_backoff_policy(struct faina_retry_policy policy);

/* The longest wait after attempt number `attempts` (from 1): min(max, base * factor^(attempts-1)),
 * without overflow for any number of attempts. */
int64_t fa_backoff_ceiling_ms(struct faina_retry_policy policy, int64_t attempts);

/* A uniform random wait in [ceiling / 2, ceiling], in microseconds. */
int64_t fa_backoff_us(struct faina_retry_policy policy, int64_t attempts, struct fa_random *random);

/* The longest time that all waits between `max_attempts` attempts can take. */
int64_t fa_backoff_total_ms(struct faina_retry_policy policy, int64_t max_attempts);

#endif
