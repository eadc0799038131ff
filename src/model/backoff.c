/*
 * backoff.c - how long a failed task waits: exponential, with full jitter.
 *
 * Full jitter, because tasks that failed together (when a service went down) should not be retried
 * together.
 */
#include "model/backoff.h"

#include "model/limits.h"

#include <math.h>

#define BASE_MS_DEFAULT 1000
#define FACTOR_DEFAULT 2.0
#define MAX_MS_DEFAULT (INT64_C(3600) * 1000)

struct faina_retry_policy fa_backoff_policy(struct faina_retry_policy policy)
{
    if (policy.base_ms == 0)
        policy.base_ms = BASE_MS_DEFAULT;
    if (policy.factor == 0)
        policy.factor = FACTOR_DEFAULT;
    if (policy.max_ms == 0)
        policy.max_ms = MAX_MS_DEFAULT;
    return policy;
}

int64_t fa_backoff_ceiling_ms(struct faina_retry_policy policy, int64_t attempts)
{
    double wait_ms;

    policy = fa_backoff_policy(policy);
    if (policy.max_ms > FA_DURATION_MS_MAX)
        policy.max_ms = FA_DURATION_MS_MAX;
    if (attempts < 1)
        attempts = 1;
    /* pow overflows to infinity, which is more than any maximum; a comparison with NaN is false, so
     * NaN gives the maximum too. */
    wait_ms = (double)policy.base_ms * pow(policy.factor, (double)(attempts - 1));
    if (!(wait_ms < (double)policy.max_ms))
        return policy.max_ms;
    return wait_ms > 0 ? (int64_t)wait_ms : 0;
}

int64_t fa_backoff_us(struct faina_retry_policy policy, int64_t attempts, struct fa_random *random)
{
    int64_t ceiling_us = fa_backoff_ceiling_ms(policy, attempts) * 1000;

    return (int64_t)fa_random_below(random, (uint64_t)ceiling_us + 1);
}
