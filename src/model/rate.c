/*
 * rate.c - see rate.h.
 *
 * The products of times and counts are split, so that none exceeds 64 bits: with per_ms up to
 * 2.7e9, count * 1000 up to 1e9 and buckets up to 1e12 parts each product is below 9.2e18.
 */
#include "model/rate.h"

#include "base/bytes.h"
#include "model/limits.h"
#include "model/times.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define PARTS_PER_US_MS 1000 /* parts of a token per microsecond, times milliseconds of per_ms */

/* Parts that come in a time, rounded down; `most` or more: `most`. */
static int64_t refill(const struct faina_rate *rate, int64_t elapsed_us, int64_t most)
{
    int64_t step = rate->count * PARTS_PER_US_MS;
    int64_t whole = elapsed_us / rate->per_ms, rest = elapsed_us % rate->per_ms, parts;

    if (whole > most / step)
        return most;
    parts = whole * step + rest * step / rate->per_ms;
    return parts < most ? parts : most;
}

/* What was missing at the bucket's time. The burst may have become lower since. */
static int64_t missing_then(const struct fa_bucket *bucket, const struct faina_rate *rate)
{
    int64_t most = rate->burst * FA_TOKEN;

    if (bucket->at_us == 0 || bucket->spent <= 0)
        return 0;
    return bucket->spent < most ? bucket->spent : most;
}

/* B2 */
static int64_t missing(const struct fa_bucket *bucket, const struct faina_rate *rate,
                       int64_t now_us)
{
    int64_t parts = missing_then(bucket, rate);

    return now_us > bucket->at_us ? parts - refill(rate, now_us - bucket->at_us, parts) : parts;
}

int64_t fa_bucket_tokens(const struct fa_bucket *bucket, const struct faina_rate *rate,
                         int64_t now_us)
{
    return (rate->burst * FA_TOKEN - missing(bucket, rate, now_us)) / FA_TOKEN;
}

void fa_bucket_take(struct fa_bucket *bucket, const struct faina_rate *rate, int64_t now_us)
{
    bucket->spent = missing(bucket, rate, now_us) + FA_TOKEN;
    bucket->at_us = now_us;
}

int64_t fa_bucket_next_us(const struct fa_bucket *bucket, const struct faina_rate *rate,
                          int64_t now_us)
{
    int64_t step = rate->count * PARTS_PER_US_MS;
    int64_t wanted = missing_then(bucket, rate) - (rate->burst - 1) * FA_TOKEN;
    int64_t begin_us = bucket->at_us < now_us ? bucket->at_us : now_us, next_us;

    if (wanted <= 0)
        return now_us;
    next_us =
        begin_us + wanted / step * rate->per_ms + (wanted % step * rate->per_ms + step - 1) / step;
    return next_us > now_us ? next_us : now_us;
}

/* Text --------------------------------------------------------------------------------------- */

static enum faina_code check_number(const char *field, int64_t value, int64_t most,
                                    struct faina_error *err)
{
    if (value >= 1 && value <= most)
        return FAINA_OK;
    return fa_error_field(err, FAINA_INVALID_REQUEST, field,
                          "%s must be a whole number from 1 to %lld", field, (long long)most);
}

enum faina_code fa_rate_check(struct faina_rate *rate, struct faina_error *err)
{
    enum faina_code code = check_number("rate.count", rate->count, FA_RATE_COUNT_MAX, err);

    if (code == FAINA_OK && (rate->per_ms < 1 || rate->per_ms > FA_RATE_PER_MS_MAX))
        code = fa_error_field(err, FAINA_INVALID_REQUEST, "rate.per",
                              "rate.per must be a duration from 1 ms to 31 days, such as \"1s\"");
    if (code == FAINA_OK && rate->burst != 0)
        code = check_number("rate.burst", rate->burst, FA_RATE_BURST_MAX, err);
    if (code == FAINA_OK && rate->burst == 0)
        rate->burst = rate->count;
    return code;
}

static const struct unit {
    const char *name;
    int64_t ms;
} units[] = {{"s", 1000},     {"sec", 1000},     {"second", 1000}, {"m", 60000},
             {"min", 60000},  {"minute", 60000}, {"h", 3600000},   {"hour", 3600000},
             {"d", 86400000}, {"day", 86400000}};

static bool read_per(const char *text, int64_t *out_ms)
{
    for (size_t i = 0; i < FA_COUNT(units); i++) {
        if (strcmp(units[i].name, text) == 0) {
            *out_ms = units[i].ms;
            return true;
        }
    }
    return fa_duration_parse(text, "rate", out_ms, NULL) == FAINA_OK;
}

enum faina_code fa_rate_parse(const char *text, const char *field, struct faina_rate *out,
                              struct faina_error *err)
{
    struct faina_rate rate = {0};
    char *end;

    errno = 0;
    rate.count = strtoll(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || errno != 0 || *end != '/' ||
        !read_per(end + 1, &rate.per_ms))
        return fa_error_field(err, FAINA_INVALID_REQUEST, field,
                              "%s must be a number and a time, such as 10/s, 600/m, 5000/day or "
                              "3/90s; not \"%.100s\"",
                              field, text);
    *out = rate;
    return FAINA_OK;
}

void fa_rate_format(const struct faina_rate *rate, char out[FA_RATE_TEXT_SIZE])
{
    char per[32], burst[32] = "";

    snprintf(per, sizeof(per), "%lldms", (long long)rate->per_ms);
    for (size_t i = 0; i < FA_COUNT(units); i++) {
        if (strlen(units[i].name) > 1 || rate->per_ms % units[i].ms != 0)
            continue;
        if (rate->per_ms == units[i].ms)
            snprintf(per, sizeof(per), "%s", units[i].name);
        else
            snprintf(per, sizeof(per), "%lld%s", (long long)(rate->per_ms / units[i].ms),
                     units[i].name);
    }
    if (rate->burst != rate->count)
        snprintf(burst, sizeof(burst), ", burst %lld", (long long)rate->burst);
    snprintf(out, FA_RATE_TEXT_SIZE, "%lld/%s%s", (long long)rate->count, per, burst);
}

bool fa_rate_is_same(const struct faina_rate *a, const struct faina_rate *b)
{
    return a->count == b->count &&
           (a->count == 0 || (a->per_ms == b->per_ms && a->burst == b->burst));
}

/* Names -------------------------------------------------------------------------------------- */

bool fa_resource_is_prefix(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && name[len - 1] == '*';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool fa_resource_prefix_applies(const char *prefix, const char *name)
{
    assert(fa_resource_is_prefix(prefix));
    for (; prefix[1] != '\0'; prefix++, name++) {
        if (lower(*prefix) != lower(*name))
            return false;
    }
    return true;
}
