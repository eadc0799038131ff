/*
 * times.c - RFC 3339 times and durations, by arithmetic.
 *
 * The C library's calendar functions are not used: some depend on the locale or the time zone, and
 * none reads fractions.
 */
#include "model/times.h"

#include "base/calendar.h"
#include "model/limits.h"

#include <stdio.h>

#define SECOND_US INT64_C(1000000)
#define TIME_US_MIN (INT64_C(-62167219200) * SECOND_US) /* 0000-01-01T00:00:00Z */
#define TIME_US_MAX (INT64_C(253402300800) * SECOND_US - 1)
#define FRACTION_DIGITS_MAX 9
#define QUOTE_SIZE 48

/* Writes exactly `count` decimal digits: several times faster than snprintf, which matters in
 * lists.
 */
static char *put_digits(char *at, int64_t value, int count)
{
    for (int i = count - 1; i >= 0; i--) {
        at[i] = (char)('0' + value % 10);
        value /= 10;
    }
    return at + count;
}

void fa_time_format(int64_t us, char out[FA_TIME_SIZE])
{
    int64_t days, rest;
    struct fa_date date;
    char *at = out;

    if (us < TIME_US_MIN)
        us = TIME_US_MIN;
    if (us > TIME_US_MAX)
        us = TIME_US_MAX;
    days = us / (FA_DAY_SECONDS * SECOND_US);
    rest = us % (FA_DAY_SECONDS * SECOND_US);
    if (rest < 0) {
        days--;
        rest += FA_DAY_SECONDS * SECOND_US;
    }
    date = fa_date_from_days(days);
    at = put_digits(at, date.year, 4);
    *at++ = '-';
    at = put_digits(at, date.month, 2);
    *at++ = '-';
    at = put_digits(at, date.day, 2);
    *at++ = 'T';
    at = put_digits(at, rest / (3600 * SECOND_US), 2);
    *at++ = ':';
    at = put_digits(at, rest / (60 * SECOND_US) % 60, 2);
    *at++ = ':';
    at = put_digits(at, rest / SECOND_US % 60, 2);
    *at++ = '.';
    at = put_digits(at, rest % SECOND_US, 6);
    *at++ = 'Z';
    *at = '\0';
}

/* A copy for messages: short, printable ASCII. */
static const char *quote(const char *text, char out[QUOTE_SIZE])
{
    size_t len = strlen(text);
    bool is_cut = len > QUOTE_SIZE - 4;
    size_t shown = is_cut ? QUOTE_SIZE - 4 : len;

    for (size_t i = 0; i < shown; i++) {
        unsigned char c = (unsigned char)text[i];

        out[i] = c < 0x20 || c >= 0x7f || c == '"' ? '?' : (char)c;
    }
    memcpy(out + shown, is_cut ? "..." : "", is_cut ? 4 : 1);
    return out;
}

/* Reads exactly `count` digits and moves on. A NUL is no digit, so it stops at the end. */
static bool read_digits(const char **at, int count, int *out)
{
    int value = 0;

    for (int i = 0; i < count; i++, (*at)++) {
        if (!fa_is_digit(**at))
            return false;
        value = value * 10 + (**at - '0');
    }
    *out = value;
    return true;
}

static bool read_char(const char **at, const char *allowed)
{
    if (**at == '\0' || !strchr(allowed, **at))
        return false;
    (*at)++;
    return true;
}

/* ".5", ".123456789", or nothing. Digits after the microseconds are dropped. */
static bool read_fraction(const char **at, int *us)
{
    int scale = 100000, count = 0;

    *us = 0;
    if (**at != '.')
        return true;
    for ((*at)++; fa_is_digit(**at); (*at)++, count++) {
        *us += (**at - '0') * scale;
        scale /= 10;
    }
    return count >= 1 && count <= FRACTION_DIGITS_MAX;
}

/* "Z", "+02:00", "-08:30". */
static bool read_offset(const char **at, int *seconds)
{
    int hours, minutes, sign = **at == '-' ? -1 : 1;

    *seconds = 0;
    if (read_char(at, "Zz"))
        return true;
    if (!read_char(at, "+-") || !read_digits(at, 2, &hours) || !read_char(at, ":") ||
        !read_digits(at, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *seconds = sign * (hours * 3600 + minutes * 60);
    return true;
}

static bool read_time(const char *at, int64_t *out_us)
{
    struct fa_date date;
    int year, hour, minute, second, fraction_us, offset;
    int64_t seconds;

    if (!read_digits(&at, 4, &year) || !read_char(&at, "-") || !read_digits(&at, 2, &date.month) ||
        !read_char(&at, "-") || !read_digits(&at, 2, &date.day) || !read_char(&at, "Tt ") ||
        !read_digits(&at, 2, &hour) || !read_char(&at, ":") || !read_digits(&at, 2, &minute) ||
        !read_char(&at, ":") || !read_digits(&at, 2, &second) ||
        !read_fraction(&at, &fraction_us) || !read_offset(&at, &offset) || *at != '\0')
        return false;
    date.year = year;
    if (date.month < 1 || date.month > 12 || date.day < 1 ||
        date.day > fa_days_in_month(date.year, date.month) || hour > 23 || minute > 59 ||
        second > 60)
        return false;
    seconds = fa_date_to_days(date) * FA_DAY_SECONDS + hour * 3600 + minute * 60 + second - offset;
    /* A leap second is the last of a UTC day. */
    if (second == 60 && seconds % FA_DAY_SECONDS != 0)
        return false;
    *out_us = seconds * SECOND_US + fraction_us;
    return *out_us >= TIME_US_MIN && *out_us <= TIME_US_MAX;
}

enum faina_code fa_time_parse(const char *text, const char *field, int64_t *out_us,
                              struct faina_error *err)
{
    char shown[QUOTE_SIZE];
    int64_t us;

    if (!text || !read_time(text, &us))
        return fa_error_field(err, FAINA_INVALID_REQUEST, field,
                              "%s: \"%s\" is not a time; write it as 2026-01-02T03:04:05Z or "
                              "2026-01-02T03:04:05.678+01:00",
                              field, quote(text ? text : "", shown));
    *out_us = us;
    return FAINA_OK;
}

struct unit {
    const char *name;
    int64_t ms;
};

/* Largest first: the parts of a duration come in this order, each at most once. */
static const struct unit units[] = {
    {"d", INT64_C(86400000)}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1},
};

#define UNITS_TEXT "the units are ms, s, m, h and d, as in \"50ms\", \"90s\" or \"1h30m\""

/* A decimal number: its whole part, and its fraction in billionths. */
struct decimal {
    int64_t whole;
    int64_t billionths;
    bool is_zero;
};

static bool read_decimal(const char **at, struct decimal *out)
{
    int64_t scale = 100000000;

    *out = (struct decimal){0, 0, true};
    if (!fa_is_digit(**at))
        return false;
    for (; fa_is_digit(**at); (*at)++) {
        /* Any number this large is over the limit whatever its unit is. */
        if (out->whole <= FA_DURATION_MS_MAX)
            out->whole = out->whole * 10 + (**at - '0');
        out->is_zero = out->is_zero && **at == '0';
    }
    if (**at != '.')
        return true;
    (*at)++;
    if (!fa_is_digit(**at))
        return false;
    for (; fa_is_digit(**at); (*at)++) {
        out->billionths += (**at - '0') * scale;
        scale /= 10;
        out->is_zero = out->is_zero && **at == '0';
    }
    return true;
}

/* The unit at `at`, among those from `first` on; NULL when there is none. */
static const struct unit *read_unit(const char **at, const struct unit *first)
{
    size_t len = 0;

    while ((*at)[len] >= 'a' && (*at)[len] <= 'z')
        len++;
    for (const struct unit *unit = first; unit < units + FA_COUNT(units); unit++) {
        if (strlen(unit->name) == len && memcmp(unit->name, *at, len) == 0) {
            *at += len;
            return unit;
        }
    }
    return NULL;
}

enum faina_code fa_duration_parse(const char *text, const char *field, int64_t *out_ms,
                                  struct faina_error *err)
{
    const struct unit *unit = units;
    const char *at = text ? text : "";
    bool is_zero = true;
    int64_t total_ms = 0;
    char shown[QUOTE_SIZE];

    if (*at == '\0')
        return fa_error_field(err, FAINA_INVALID_REQUEST, field, "%s is empty; " UNITS_TEXT, field);
    if (*at == '-')
        return fa_error_field(err, FAINA_INVALID_REQUEST, field, "%s must not be negative", field);
    while (*at) {
        bool is_first = at == text;
        struct decimal number;

        if (!read_decimal(&at, &number))
            goto malformed;
        if (is_first && *at == '\0') {
            unit = &units[3]; /* plain seconds */
        } else {
            unit = read_unit(&at, is_first ? units : unit + 1);
            if (!unit)
                goto malformed;
        }
        is_zero = is_zero && number.is_zero;
        if (number.whole > FA_DURATION_MS_MAX / unit->ms)
            goto too_long;
        total_ms += number.whole * unit->ms + number.billionths * unit->ms / 1000000000;
    }
    if (total_ms > FA_DURATION_MS_MAX)
        goto too_long;
    /* 0 often means "the default", so a short time must not be rounded down to it. */
    *out_ms = total_ms == 0 && !is_zero ? 1 : total_ms;
    return FAINA_OK;

malformed:
    return fa_error_field(err, FAINA_INVALID_REQUEST, field,
                          "%s: \"%s\" is not a duration; " UNITS_TEXT, field, quote(text, shown));
too_long:
    return fa_error_field(err, FAINA_INVALID_REQUEST, field, "%s is longer than 100 years", field);
}

/* "4.2 s"; the tenth is left out when it is 0 or when there are many whole ones. */
static void put_tenths(char out[FA_TIME_SIZE], const char *sign, uint64_t tenths,
                       uint64_t tenths_end, const char *unit)
{
    if (tenths % 10 == 0 || tenths >= tenths_end)
        snprintf(out, FA_TIME_SIZE, "%s%llu %s", sign, (unsigned long long)(tenths / 10), unit);
    else
        snprintf(out, FA_TIME_SIZE, "%s%llu.%llu %s", sign, (unsigned long long)(tenths / 10),
                 (unsigned long long)(tenths % 10), unit);
}

/* "3 h 20 min"; the smaller unit is left out when it is 0 or when there are many large ones. */
static void put_two(char out[FA_TIME_SIZE], const char *sign, uint64_t large,
                    const char *large_unit, uint64_t small, const char *small_unit)
{
    if (small == 0 || large >= 10)
        snprintf(out, FA_TIME_SIZE, "%s%llu %s", sign, (unsigned long long)large, large_unit);
    else
        snprintf(out, FA_TIME_SIZE, "%s%llu %s %llu %s", sign, (unsigned long long)large,
                 large_unit, (unsigned long long)small, small_unit);
}

void fa_duration_format(int64_t us, char out[FA_TIME_SIZE])
{
    const char *sign = us < 0 ? "-" : "";
    uint64_t size_us = us < 0 ? 0 - (uint64_t)us : (uint64_t)us;
    uint64_t seconds = size_us / 1000000;

    if (size_us < 1000000)
        put_tenths(out, sign, size_us / 100, 100, "ms");
    else if (seconds < 60)
        put_tenths(out, sign, size_us / 100000, 600, "s");
    else if (seconds < 3600)
        put_two(out, sign, seconds / 60, "min", seconds % 60, "s");
    else if (seconds < FA_DAY_SECONDS)
        put_two(out, sign, seconds / 3600, "h", seconds / 60 % 60, "min");
    else
        put_two(out, sign, seconds / FA_DAY_SECONDS, seconds < 2 * FA_DAY_SECONDS ? "day" : "days",
                seconds / 3600 % 24, "h");
}

bool fa_text_is_time(const char *text)
{
    size_t digits = strspn(text, "0123456789");

    return digits == 4 && text[digits] == '-';
}
