/*
 * json_inner.h - shared by the files of json.h only.
 */
#ifndef FA_JSON_JSON_INNER_H
#define FA_JSON_JSON_INNER_H

#include "json/json.h"

/* A fast check. True: the text is valid. False: it may be valid or not. */
bool fa_json_is_plain(struct fa_bytes text, size_t depth_max);
/* fa_json_check without the fast check. */
FA_MUST_CHECK enum faina_code fa_json_check_long(struct fa_bytes text, size_t depth_max,
                                                 const char *what, enum faina_code code,
                                                 struct faina_error *err);

/* How many of eight bytes precede the first that is not plain: a byte below 0x20, 0x7f and above, a
 * quote, a backslash. */
static inline size_t fa_json_plain_in(const char *at)
{
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    uint64_t word, quote, slash, del, found;

    memcpy(&word, at, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    quote = word ^ ones * '"';
    slash = word ^ ones * '\\';
    del = word ^ ones * 0x7f;
    /* A borrow may mark bytes behind the first that is marked, never one before it. */
    found = (word | (word - ones * 0x20) | (quote - ones) | (slash - ones) | (del - ones)) & tops;
    return found ? (size_t)__builtin_ctzll(found) / 8 : 8;
}

/* Whether the raw bytes between quotes contain an escape. */
static inline bool fa_json_has_escapes(struct fa_bytes raw)
{
    return raw.len && memchr(raw.ptr, '\\', raw.len);
}

/* Writes the up to four bytes of the escape at *from (its backslash), returns where they end, and
 * moves *from behind the escape, at most to `end`. */
char *fa_json_put_escaped(char *to, const char **from, const char *end);

/* Adds well-formed UTF-8 in quotes, with the shortest escapes (RFC 8785, 3.2.2.2). */
void fa_json_add_string(struct fa_buf *out, struct fa_bytes text);
/* Adds a finite number as ECMAScript prints it (RFC 8785, 3.2.2.3). */
void fa_json_add_double(struct fa_buf *out, double value);
/* Whether the token is an integer, and its value when it fits: "-0" is, "1.0" and "1e3" are not. */
bool fa_json_read_int64(struct fa_bytes token, int64_t *out);
bool fa_json_read_uint64(struct fa_bytes token, uint64_t *out);
/* False: too large for a double. Doesn't depend on the locale. */
bool fa_json_read_double(struct fa_bytes token, double *out);

#endif
