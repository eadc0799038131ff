/*
 * utf8.h - checks and cuts UTF-8.
 */
#ifndef FA_BASE_UTF8_H
#define FA_BASE_UTF8_H

#include "base/bytes.h"

/* Well-formed: no overlong forms, no surrogates, nothing above U+10FFFF. */
bool fa_utf8_is_valid(struct fa_bytes text);
/* How many bytes at the start are well-formed. */
size_t fa_utf8_valid_length(struct fa_bytes text);
/* How many bytes of well-formed text, at most `max`, without cutting a character in two. */
size_t fa_utf8_clip(struct fa_bytes text, size_t max);

#endif
