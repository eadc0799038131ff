/* histogram.c - see histogram.h. */
#include "model/histogram.h"

#define SMALL 8 /* durations below this have a range each */
#define EXPONENT_MAX 40

static size_t range_of(int64_t us)
{
    uint64_t value = us > 0 ? (uint64_t)us : 0;
    unsigned exponent;

    if (value < SMALL)
        return (size_t)value;
    exponent = 63 - (unsigned)__builtin_clzll(value);
    if (exponent > EXPONENT_MAX)
        return FA_HISTOGRAM_RANGES - 1;
    return ((size_t)(exponent - 2) << 3) | (size_t)(value >> (exponent - 3) & 7);
}

static int64_t middle_of(size_t range)
{
    unsigned shift;

    if (range < SMALL)
        return (int64_t)range;
    shift = (unsigned)(range >> 3) - 1;
    return (int64_t)((uint64_t)(8 | (range & 7)) << shift) + ((int64_t)1 << shift) / 2;
}

static void add_count(uint32_t *count, uint64_t more)
{
    uint64_t sum = *count + more;

    *count = sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

void fa_histogram_add(struct fa_histogram *histogram, int64_t us)
{
    add_count(&histogram->counts[range_of(us)], 1);
}

void fa_histogram_merge(struct fa_histogram *into, const struct fa_histogram *from)
{
    for (size_t i = 0; i < FA_HISTOGRAM_RANGES; i++)
        add_count(&into->counts[i], from->counts[i]);
}

uint64_t fa_histogram_total(const struct fa_histogram *histogram)
{
    uint64_t total = 0;

    for (size_t i = 0; i < FA_HISTOGRAM_RANGES; i++)
        total += histogram->counts[i];
    return total;
}

int64_t fa_histogram_quantile(const struct fa_histogram *histogram, double q)
{
    uint64_t total = fa_histogram_total(histogram), seen = 0;
    double wanted = q * (double)total;

    if (total == 0)
        return 0;
    for (size_t i = 0; i < FA_HISTOGRAM_RANGES; i++) {
        seen += histogram->counts[i];
        if (histogram->counts[i] > 0 && (double)seen >= wanted)
            return middle_of(i);
    }
    return middle_of(FA_HISTOGRAM_RANGES - 1);
}

void fa_histogram_format(const struct fa_histogram *histogram, struct fa_buf *out)
{
    size_t count = 0;

    for (size_t i = 0; i < FA_HISTOGRAM_RANGES; i++) {
        if (histogram->counts[i] > 0)
            fa_buf_printf(out, "%s%zu:%lu", count++ > 0 ? " " : "", i,
                          (unsigned long)histogram->counts[i]);
    }
}

/* Reads digits from `*at` on; false when there are none, or too many. */
static bool read_number(struct fa_bytes text, size_t *at, uint64_t *out)
{
    size_t start = *at;

    *out = 0;
    while (*at < text.len && fa_is_digit(text.ptr[*at]) && *at - start < 18)
        *out = *out * 10 + (uint64_t)(text.ptr[(*at)++] - '0');
    return *at > start;
}

void fa_histogram_parse(struct fa_bytes text, struct fa_histogram *into)
{
    for (size_t at = 0; at < text.len; at++) {
        uint64_t range, count;

        if (read_number(text, &at, &range) && at < text.len && text.ptr[at] == ':' &&
            (at++, read_number(text, &at, &count)) && range < FA_HISTOGRAM_RANGES)
            add_count(&into->counts[range], count);
        while (at < text.len && text.ptr[at] != ' ')
            at++;
    }
}
