/*
 * hash.c - SHA-256 by OpenSSL's one-shot call.
 *
 * One call over assembled parts costs less than half of what a digest context does, so small parts
 * are put together on the stack, and large ones on the heap.
 */
#include "base/hash.h"

#include <assert.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <stdlib.h>

#define LENGTH_SIZE 8
#define STACK_SIZE 1024

static_assert(FA_SHA256_SIZE == SHA256_DIGEST_LENGTH, "the sizes must agree");

static EVP_MD *sha256; /* written once */

static void find_sha256(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
}

/* The library's SHA256() looks up the algorithm at each call, which takes longer than a short
 * text does. */
void fa_sha256(struct fa_bytes data, uint8_t out[FA_SHA256_SIZE])
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int done;

    pthread_once(&once, find_sha256);
    assert(sha256);
    done = EVP_Digest(data.ptr, data.len, out, NULL, sha256, NULL);
    assert(done);
    (void)done;
}

/* Big-endian, so that a stored hash is the same on every machine. */
static char *put_length(char *at, size_t len)
{
    for (int shift = 56; shift >= 0; shift -= 8)
        *at++ = (char)((uint64_t)len >> shift & 0xff);
    return at;
}

void fa_sha256_parts(const struct fa_bytes *parts, size_t count, uint8_t out[FA_SHA256_SIZE])
{
    char small[STACK_SIZE];
    char *text = small, *at;
    size_t size = 0;

    small[0] = '\0'; /* nothing else writes it when there are no parts */
    for (size_t i = 0; i < count; i++)
        size += LENGTH_SIZE + parts[i].len; /* the parts are in memory, so the sum fits */
    if (size > sizeof(small))
        text = fa_alloc(size);
    at = text;
    for (size_t i = 0; i < count; i++) {
        at = put_length(at, parts[i].len);
        if (parts[i].len)
            memcpy(at, parts[i].ptr, parts[i].len);
        at += parts[i].len;
    }
    fa_sha256((struct fa_bytes){text, size}, out);
    if (text != small)
        free(text);
}

void fa_hex(const uint8_t *bytes, size_t count, char *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < count; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
}

uint64_t fa_hash_bit(const char *text)
{
    uint64_t hash = 0;

    for (; *text; text++)
        hash = (hash ^ (unsigned char)(*text | 0x20)) * 0x9e3779b97f4a7c15u;
    return UINT64_C(1) << (hash >> 58);
}
