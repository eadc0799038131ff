/*
 * secret.c - secrets, by OpenSSL.
 */
#include "base/secret.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>

bool fa_secret_random(uint8_t *out, size_t size)
{
    return size <= INT_MAX && RAND_bytes(out, (int)size) == 1;
}

bool fa_secret_equal(const void *a, const void *b, size_t size)
{
    return CRYPTO_memcmp(a, b, size) == 0;
}
