/*
 * checksum.h - a fast 64-bit checksum of values, to test whether two values are the same.
 *
 * It detects accidents, not attacks: collisions are easy to make. Sums of checksums compare sets of
 * rows whatever their order.
 */
#ifndef FA_BASE_CHECKSUM_H
#define FA_BASE_CHECKSUM_H

#include "base/bytes.h"

#define FA_CHECKSUM_START UINT64_C(0x243f6a8885a308d3)

static inline uint64_t fa_checksum_word(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return sum ^ sum >> 32;
}

/* The length counts too: ("ab", "c") differs from ("a", "bc"). */
uint64_t fa_checksum_bytes(uint64_t sum, struct fa_bytes bytes);

#endif
