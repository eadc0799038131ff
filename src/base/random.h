/*
 * random.h - randomness as a value: seeded from the system in the engine, fixed in tests.
 *
 * Good enough for ids and jitter (xoshiro256**), not for secrets; those come from OpenSSL.
 */
#ifndef FA_BASE_RANDOM_H
#define FA_BASE_RANDOM_H

#include <stdint.h>

struct fa_random {
    uint64_t s[4];
};

void fa_random_seed(struct fa_random *random, uint64_t seed); /* the same seed, the same numbers */
void fa_random_seed_system(struct fa_random *random);
uint64_t fa_random_next(struct fa_random *random);
/* Uniform in [0, bound); bound > 0. */
uint64_t fa_random_below(struct fa_random *random, uint64_t bound);

#endif
