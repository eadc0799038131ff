/*
 * secret.h - randomness for secrets, and comparing them without telling how far they agree.
 */
#ifndef FA_SECRET_H
#define FA_SECRET_H

#include "base/bytes.h"

/* False: the system has no randomness to give. */
FA_MUST_CHECK bool fa_secret_random(uint8_t *out, size_t size);
/* Takes the same time whatever the bytes are. */
bool fa_secret_equal(const void *a, const void *b, size_t size);

#endif
