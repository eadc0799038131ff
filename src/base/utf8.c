/*
 * utf8.c - walks the text eight bytes at a time while it is ASCII, else character by character.
 */
#include "base/utf8.h"

#define HIGH_BITS UINT64_C(0x8080808080808080)

static bool is_tail(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

/* The length of the well-formed character at `s`, where `left` bytes remain; 0 when it is not
 * well-formed. The second byte's range excludes overlong forms (E0, F0), surrogates (ED) and
 * numbers above U+10FFFF (F4): see table 3-7 of the Unicode standard. */
static size_t char_length(const unsigned char *s, size_t left)
{
    unsigned char lead = s[0];

    if (lead < 0x80)
        return 1;
    if (lead < 0xc2)
        return 0;
    if (lead < 0xe0)
        return left >= 2 && is_tail(s[1]) ? 2 : 0;
    if (lead < 0xf0) {
        unsigned char low = lead == 0xe0 ? 0xa0 : 0x80;
        unsigned char high = lead == 0xed ? 0x9f : 0xbf;

        return left >= 3 && s[1] >= low && s[1] <= high && is_tail(s[2]) ? 3 : 0;
    }
    if (lead < 0xf5) {
        unsigned char low = lead == 0xf0 ? 0x90 : 0x80;
        unsigned char high = lead == 0xf4 ? 0x8f : 0xbf;

        return left >= 4 && s[1] >= low && s[1] <= high && is_tail(s[2]) && is_tail(s[3]) ? 4 : 0;
    }
    return 0;
}

size_t fa_utf8_valid_length(struct fa_bytes text)
{
    const unsigned char *s = (const unsigned char *)text.ptr;
    size_t at = 0;

    while (at < text.len) {
        uint64_t word;
        size_t length;

        if (text.len - at >= sizeof(word)) {
            memcpy(&word, s + at, sizeof(word));
            if (!(word & HIGH_BITS)) {
                at += sizeof(word);
                continue;
            }
        }
        length = char_length(s + at, text.len - at);
        if (length == 0)
            break;
        at += length;
    }
    return at;
}

bool fa_utf8_is_valid(struct fa_bytes text)
{
    return fa_utf8_valid_length(text) == text.len;
}

size_t fa_utf8_clip(struct fa_bytes text, size_t max)
{
    if (text.len <= max)
        return text.len;
    while (max > 0 && is_tail((unsigned char)text.ptr[max]))
        max--;
    return max;
}
