/*
 * random.c - the generator xoshiro256** (Blackman and Vigna), seeded through splitmix64.
 */
#include "base/random.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static uint64_t rotate_left(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

/* Spreads a small seed over all bits; the state never becomes all zero, which would repeat. */
static uint64_t split_mix(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

void fa_random_seed(struct fa_random *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        random->s[i] = split_mix(&seed);
}

void fa_random_seed_system(struct fa_random *random)
{
    uint64_t seed[4];

    if (getentropy(seed, sizeof(seed)) != 0) {
        /* Ids made without randomness could be the same as those of another process. */
        perror("faina: the system gives no random numbers");
        abort();
    }
    for (int i = 0; i < 4; i++)
        random->s[i] = split_mix(&seed[i]);
}

uint64_t fa_random_next(struct fa_random *random)
{
    uint64_t *s = random->s;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t fa_random_below(struct fa_random *random, uint64_t bound)
{
    uint64_t uneven, x;

    assert(bound > 0);
    /* The lowest 2^64 mod bound numbers are dropped, so that each remainder is equally likely. */
    uneven = (0 - bound) % bound;
    do {
        x = fa_random_next(random);
    } while (x < uneven);
    return x % bound;
}
