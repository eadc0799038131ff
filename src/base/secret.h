/*
 * secret.h - randomness for secrets, and comparing them in constant time.
 */
#ifndef FA_BASE_SECRET_H
#define FA_BASE_SECRET_H

#include "base/bytes.h"

/* False: the system provides no randomness. */
FA_MUST_CHECK bool fa_secret_random(uint8_t *out, size_t size);
/* Takes the same time whatever the bytes are. */
bool fa_secret_equal(const void *a, const void *b, size_t size);

#endif
