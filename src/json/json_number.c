/*
 * json_number.c - numbers of JSON: reads tokens, and prints doubles with the fewest digits.
 *
 * Neither may depend on the locale, which the host program sets: in some, strtod and printf use a
 * decimal comma. So the text for strtod has no decimal point ("12.5e3" becomes "125e2"), and only
 * the digits of printf's output are used.
 */
#include "json/json_inner.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DIGITS_MAX 17          /* enough to distinguish any two doubles */
#define DIGITS_SAFE DBL_DIG    /* a decimal of so many digits is unchanged by way of a double */
#define EXPONENT_CAP 100000000 /* beyond any double, and far from overflow */
#define EXPONENT_SIZE 24       /* "e-9223372036854775808" and its NUL */
#define TOKEN_SIZE 64          /* longer tokens go through the heap */

/* A number d.ddd * 10^exponent, all digits in one string. */
struct decimal {
    char digits[DIGITS_MAX + 2]; /* room for a carry and the NUL */
    int count;
    int exponent; /* of the first digit */
};

bool fa_json_read_uint64(struct fa_bytes token, uint64_t *out)
{
    uint64_t value = 0;

    if (token.len == 0)
        return false;
    for (size_t i = 0; i < token.len; i++) {
        if (!fa_is_digit(token.ptr[i]) || __builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (unsigned)(token.ptr[i] - '0'), &value))
            return false;
    }
    *out = value;
    return true;
}

bool fa_json_read_int64(struct fa_bytes token, int64_t *out)
{
    bool is_negative = token.len > 0 && token.ptr[0] == '-';
    uint64_t size;

    if (is_negative)
        token = (struct fa_bytes){token.ptr + 1, token.len - 1};
    if (!fa_json_read_uint64(token, &size) || size > (uint64_t)INT64_MAX + is_negative)
        return false;
    /* In unsigned arithmetic, since -INT64_MIN doesn't exist. */
    *out = (int64_t)(is_negative ? 0 - size : size);
    return true;
}

/* The exponent that follows the "e", kept within EXPONENT_CAP. */
static long read_exponent(const char *at, const char *end)
{
    bool is_negative = at < end && *at == '-';
    long value = 0;

    if (at < end && !fa_is_digit(*at))
        at++;
    for (; at < end && fa_is_digit(*at); at++) {
        if (value < EXPONENT_CAP)
            value = value * 10 + (*at - '0');
    }
    return is_negative ? -value : value;
}

/* Writes the token without its decimal point, NUL-terminated. `out` has room for
 * EXPONENT_SIZE more. */
static void drop_point(struct fa_bytes token, char *out)
{
    const char *at = token.ptr, *end = token.ptr + token.len;
    long exponent = 0;
    bool is_fraction = false;

    for (; at < end && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.') {
            is_fraction = true;
        } else {
            exponent -= is_fraction;
            *out++ = *at;
        }
    }
    if (at < end)
        exponent += read_exponent(at + 1, end);
    snprintf(out, EXPONENT_SIZE, "e%ld", exponent);
}

bool fa_json_read_double(struct fa_bytes token, double *out)
{
    char small[TOKEN_SIZE + EXPONENT_SIZE];
    char *text = token.len <= TOKEN_SIZE ? small : fa_alloc(token.len + EXPONENT_SIZE);
    double value;

    drop_point(token, text);
    value = strtod(text, NULL);
    if (text != small)
        free(text);
    if (!isfinite(value))
        return false;
    *out = value;
    return true;
}

/* The `count` digits nearest to `value`, which is positive. */
static struct decimal round_to(double value, int count)
{
    struct decimal result = {.count = 0};
    char text[64];
    const char *at = text;

    snprintf(text, sizeof(text), "%.*e", count - 1, value);
    for (; *at != 'e'; at++) {
        if (fa_is_digit(*at))
            result.digits[result.count++] = *at;
    }
    assert(result.count == count);
    result.digits[result.count] = '\0';
    result.exponent = (int)strtol(at + 1, NULL, 10);
    return result;
}

/* One more in the last place. */
static struct decimal next_up(struct decimal decimal)
{
    int i = decimal.count - 1;

    while (i >= 0 && decimal.digits[i] == '9')
        decimal.digits[i--] = '0';
    if (i >= 0) {
        decimal.digits[i]++;
    } else {
        decimal.digits[0] = '1'; /* 99.9 -> 100: the other digits are zeroes already */
        decimal.exponent++;
    }
    return decimal;
}

static bool is_same(struct decimal decimal, double value)
{
    char text[DIGITS_MAX + 16];

    snprintf(text, sizeof(text), "%se%d", decimal.digits, decimal.exponent - (decimal.count - 1));
    return strtod(text, NULL) == value;
}

/*
 * The fewest digits that read back as `value`, and of those the nearest to it. Up to DIGITS_SAFE
 * digits, rounding to that many finds all shorter ones too, with zeroes at the end. Not so below
 * DBL_MIN, where doubles have fewer digits.
 *
 * With 16 digits the next decimal is tried as well. Below a power of two doubles are twice as
 * dense, so the nearest decimal below `value` may read back as another double, and the next one
 * above as `value`.
 */
static struct decimal shortest(double value)
{
    struct decimal result;

    for (int count = value < DBL_MIN ? 1 : DIGITS_SAFE; count < DIGITS_MAX; count++) {
        result = round_to(value, count);
        if (is_same(result, value))
            return result;
        result = next_up(result);
        if (is_same(result, value))
            return result;
    }
    return round_to(value, DIGITS_MAX);
}

static void add_zeros(struct fa_buf *out, int count)
{
    for (int i = 0; i < count; i++)
        fa_buf_add_char(out, '0');
}

void fa_json_add_double(struct fa_buf *out, double value)
{
    struct decimal number;
    int point; /* how many digits are before the decimal point */

    assert(isfinite(value));
    if (value == 0) { /* -0 too */
        fa_buf_add_char(out, '0');
        return;
    }
    if (value < 0)
        fa_buf_add_char(out, '-');
    number = shortest(fabs(value));
    while (number.count > 1 && number.digits[number.count - 1] == '0')
        number.count--;
    point = number.exponent + 1;
    if (point >= number.count && point <= 21) {
        fa_buf_add(out, number.digits, (size_t)number.count);
        add_zeros(out, point - number.count);
    } else if (point > 0 && point <= 21) {
        fa_buf_add(out, number.digits, (size_t)point);
        fa_buf_add_char(out, '.');
        fa_buf_add(out, number.digits + point, (size_t)(number.count - point));
    } else if (point > -6 && point <= 0) {
        fa_buf_add_str(out, "0.");
        add_zeros(out, -point);
        fa_buf_add(out, number.digits, (size_t)number.count);
    } else {
        fa_buf_add_char(out, number.digits[0]);
        if (number.count > 1) {
            fa_buf_add_char(out, '.');
            fa_buf_add(out, number.digits + 1, (size_t)(number.count - 1));
        }
        fa_buf_printf(out, "e%+d", number.exponent);
    }
}
