/*
 * hash.h - SHA-256 (OpenSSL) and its hexadecimal form; and a one-bit hash of a text.
 */
#ifndef FA_BASE_HASH_H
#define FA_BASE_HASH_H

#include "base/bytes.h"

#define FA_SHA256_SIZE 32
#define FA_SHA256_HEX_SIZE 65 /* with its NUL */

void fa_sha256(struct fa_bytes data, uint8_t out[FA_SHA256_SIZE]);
/* Hashes several parts, each preceded by its length, so that ("ab","c") differs from ("a","bc"). */
void fa_sha256_parts(const struct fa_bytes *parts, size_t count, uint8_t out[FA_SHA256_SIZE]);
void fa_hex(const uint8_t *bytes, size_t count, char *out); /* lower case; out has 2*count+1 */

/* One of the 64 bits of a word, for a Bloom filter of names: the same for names that differ only in
 * the case of ASCII letters. */
uint64_t fa_hash_bit(const char *text);

#endif
