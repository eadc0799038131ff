/*
 * json_compare.c - compares scalars of JSON in place.
 *
 * Text without escapes is compared by memcmp and memmem. For other text a cursor resolves one
 * escape at a time into its own four bytes.
 *
 * A number is split into its sign, its significant digits (a slice of the token that may have a
 * decimal point inside) and the exponent of the first of them. So numbers are compared by sign,
 * then exponent, then digit by digit.
 */
#include "json/json_compare.h"

#include "json/json_inner.h"

#include <assert.h>

#define HASH_BASIS UINT32_C(2166136261)
#define HASH_PRIME UINT32_C(16777619)

/* ------------------------------------------------------------------------------------------
 * Text
 */

struct cursor {
    const char *at, *end;
    char resolved[4];
    unsigned next, count; /* of `resolved` */
};

struct fa_json_chars fa_json_chars_plain(struct fa_bytes text)
{
    return (struct fa_json_chars){text, false};
}

struct fa_json_chars fa_json_chars_raw(struct fa_bytes raw)
{
    return (struct fa_json_chars){raw, fa_json_has_escapes(raw)};
}

static struct cursor cursor_init(struct fa_json_chars text)
{
    /* Not `text.bytes.ptr + 0` of an empty slice, which may be NULL. */
    const char *end = text.bytes.len ? text.bytes.ptr + text.bytes.len : text.bytes.ptr;

    return (struct cursor){.at = text.bytes.ptr, .end = end};
}

/* The next byte, or -1 at the end. */
static int next_byte(struct cursor *c, bool has_escapes)
{
    if (c->next < c->count)
        return (unsigned char)c->resolved[c->next++];
    if (c->at == c->end)
        return -1;
    if (!has_escapes || *c->at != '\\')
        return (unsigned char)*c->at++;
    c->count = (unsigned)(fa_json_put_escaped(c->resolved, &c->at, c->end) - c->resolved);
    c->next = 1;
    if (c->count == 0)
        return -1;
    return (unsigned char)c->resolved[0];
}

int fa_json_chars_compare(struct fa_json_chars a, struct fa_json_chars b)
{
    struct cursor ca, cb;
    int x, y;

    if (!a.has_escapes && !b.has_escapes)
        return fa_bytes_compare(a.bytes, b.bytes);
    ca = cursor_init(a);
    cb = cursor_init(b);
    do {
        x = next_byte(&ca, a.has_escapes);
        y = next_byte(&cb, b.has_escapes);
    } while (x == y && x >= 0);
    return x - y;
}

bool fa_json_chars_equal(struct fa_json_chars a, struct fa_json_chars b)
{
    if (!a.has_escapes && !b.has_escapes)
        return fa_bytes_equal(a.bytes, b.bytes);
    return fa_json_chars_compare(a, b) == 0;
}

uint32_t fa_json_chars_hash(struct fa_json_chars text)
{
    struct cursor c = cursor_init(text);
    uint32_t hash = HASH_BASIS;

    if (!text.has_escapes) {
        for (size_t i = 0; i < text.bytes.len; i++)
            hash = (hash ^ (unsigned char)text.bytes.ptr[i]) * HASH_PRIME;
        return hash;
    }
    for (int byte; (byte = next_byte(&c, true)) >= 0;)
        hash = (hash ^ (unsigned)byte) * HASH_PRIME;
    return hash;
}

struct fa_needle fa_needle_init(struct fa_bytes text, uint16_t *fail)
{
    size_t matched = 0;

    assert(text.len <= FA_NEEDLE_SIZE_MAX);
    /* fail[i]: the longest proper prefix that is also a suffix of the first i + 1 bytes. */
    for (size_t i = 0; i < text.len; i++) {
        fail[i] = 0;
        if (i == 0)
            continue;
        while (matched > 0 && text.ptr[i] != text.ptr[matched])
            matched = fail[matched - 1];
        matched += text.ptr[i] == text.ptr[matched];
        fail[i] = (uint16_t)matched;
    }
    return (struct fa_needle){text, fail};
}

bool fa_json_chars_start_with(struct fa_json_chars text, struct fa_bytes start)
{
    struct cursor c;

    if (!text.has_escapes)
        return text.bytes.len >= start.len &&
               (start.len == 0 || memcmp(text.bytes.ptr, start.ptr, start.len) == 0);
    c = cursor_init(text);
    for (size_t i = 0; i < start.len; i++)
        if (next_byte(&c, true) != (unsigned char)start.ptr[i])
            return false;
    return true;
}

/* Searches text with escapes. With `at_end` the match must be at the end. */
static bool search(struct fa_json_chars text, const struct fa_needle *needle, bool at_end)
{
    struct cursor c = cursor_init(text);
    size_t len = needle->text.len, matched = 0;

    for (int byte; (byte = next_byte(&c, true)) >= 0;) {
        if (matched == len)
            matched = needle->fail[len - 1];
        while (matched > 0 && (unsigned char)needle->text.ptr[matched] != byte)
            matched = needle->fail[matched - 1];
        matched += (unsigned char)needle->text.ptr[matched] == byte;
        if (matched == len && !at_end)
            return true;
    }
    return matched == len;
}

bool fa_json_chars_end_with(struct fa_json_chars text, const struct fa_needle *end)
{
    size_t len = end->text.len;

    if (len == 0)
        return true;
    if (text.has_escapes)
        return search(text, end, true);
    return text.bytes.len >= len &&
           memcmp(text.bytes.ptr + text.bytes.len - len, end->text.ptr, len) == 0;
}

bool fa_json_chars_contain(struct fa_json_chars text, const struct fa_needle *needle)
{
    if (needle->text.len == 0)
        return true;
    if (text.has_escapes)
        return search(text, needle, false);
    return text.bytes.len > 0 &&
           memmem(text.bytes.ptr, text.bytes.len, needle->text.ptr, needle->text.len) != NULL;
}

/* ------------------------------------------------------------------------------------------
 * Numbers
 */

struct number {
    int sign;             /* -1, 0, 1 */
    const char *at, *end; /* from the first digit that isn't 0 to the exponent or the end */
    int64_t exponent;     /* of the first digit: 5 has 0, 50 has 1, 0.5 has -1 */
};

static int64_t read_exponent(const char *at, const char *end)
{
    bool is_negative = at < end && *at == '-';
    int64_t value = 0;

    if (at < end && !fa_is_digit(*at))
        at++;
    for (; at < end && fa_is_digit(*at); at++)
        if (value < FA_JSON_EXPONENT_MAX)
            value = value * 10 + (*at - '0');
    if (value > FA_JSON_EXPONENT_MAX)
        value = FA_JSON_EXPONENT_MAX;
    return is_negative ? -value : value;
}

static struct number take_apart(struct fa_bytes token)
{
    const char *at = token.ptr, *end = token.ptr + token.len, *point = NULL;
    struct number n = {.sign = 1};

    if (at < end && *at == '-') {
        n.sign = -1;
        at++;
    }
    for (n.end = at; n.end < end && *n.end != 'e' && *n.end != 'E'; n.end++)
        if (*n.end == '.')
            point = n.end;
    for (n.at = at; n.at < n.end && (*n.at == '0' || *n.at == '.');)
        n.at++;
    if (n.at == n.end) {
        n.sign = 0;
        return n;
    }
    if (!point)
        point = n.end;
    n.exponent = n.at < point ? point - n.at - 1 : point - n.at;
    if (n.end < end)
        n.exponent += read_exponent(n.end + 1, end);
    return n;
}

/* The next digit; after the last one, zeroes. */
static int next_digit(struct number *n)
{
    if (n->at < n->end && *n->at == '.')
        n->at++;
    return n->at < n->end ? *n->at++ - '0' : 0;
}

static bool is_whole(struct fa_bytes token)
{
    for (size_t i = 0; i < token.len; i++)
        if (!fa_is_digit(token.ptr[i]))
            return false;
    return true;
}

int fa_json_number_compare(struct fa_bytes a, struct fa_bytes b)
{
    struct number x, y;

    if (is_whole(a) && is_whole(b)) /* the usual case; JSON has no leading zeroes */
        return a.len != b.len ? (a.len < b.len ? -1 : 1) : memcmp(a.ptr, b.ptr, a.len);
    x = take_apart(a);
    y = take_apart(b);
    if (x.sign != y.sign || x.sign == 0)
        return x.sign - y.sign;
    if (x.exponent != y.exponent)
        return x.exponent < y.exponent ? -x.sign : x.sign;
    while (x.at < x.end || y.at < y.end) {
        int difference = next_digit(&x) - next_digit(&y);

        if (difference != 0)
            return difference < 0 ? -x.sign : x.sign;
    }
    return 0;
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && fa_is_digit(*at))
        at++;
    return at;
}

size_t fa_json_number_length(struct fa_bytes text)
{
    const char *at = text.ptr, *end = text.ptr + text.len;

    if (at < end && *at == '-')
        at++;
    if (at == end || !fa_is_digit(*at))
        return 0;
    at = *at == '0' ? at + 1 : skip_digits(at, end);
    if (end - at >= 2 && *at == '.' && fa_is_digit(at[1]))
        at = skip_digits(at + 1, end);
    if (end - at >= 2 && (*at == 'e' || *at == 'E')) {
        const char *digits = at[1] == '+' || at[1] == '-' ? at + 2 : at + 1;

        if (digits < end && fa_is_digit(*digits))
            at = skip_digits(digits, end);
    }
    return (size_t)(at - text.ptr);
}
