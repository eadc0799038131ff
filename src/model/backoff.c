/*
 * backoff.c - how long a failed task waits: exponential, half of it fixed and half random.
 *
 * The random half, because tasks that failed together (when a service went down) should not be
 * retried together; the fixed half, because a retry at once would find the service still down.
 */
#include "model/backoff.h"

#include "model/limits.h"

#include <math.h>

#define BASE_MS_DEFAULT 15000
#define FACTOR_DEFAULT 8.0
#define MAX_MS_DEFAULT (INT64_C(6) * 3600 * 1000)

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

    int64_t fixed_us = ceiling_us / 2;

    return fixed_us + (int64_t)fa_random_below(random, (uint64_t)(ceiling_us - fixed_us) + 1);
}

int64_t fa_backoff_total_ms(struct faina_retry_policy policy, int64_t max_attempts)
{
    int64_t total_ms = 0, ceiling_ms;

    for (int64_t n = 1; n < max_attempts; n++) {
        ceiling_ms = fa_backoff_ceiling_ms(policy, n);
        if (ceiling_ms == fa_backoff_ceiling_ms(policy, n + 1)) { /* from here on all are equal */
            int64_t left = max_attempts - n;

            return ceiling_ms > 0 && left > (INT64_MAX - total_ms) / ceiling_ms
                       ? INT64_MAX
                       : total_ms + left * ceiling_ms;
        }
        total_ms += ceiling_ms;
    }
    return total_ms;
}
