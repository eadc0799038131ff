/*
 * histogram.h - how many durations lie in each of some ranges, for quantiles.
 *
 * Eight ranges for each power of two microseconds: a quantile is off by at most a sixteenth of its
 * value. Histograms of different times and nodes can be added up.
 *
 * Threads: none of its own; the owner guards it.
 */
#ifndef FA_MODEL_HISTOGRAM_H
#define FA_MODEL_HISTOGRAM_H

#include "base/bytes.h"

#define FA_HISTOGRAM_RANGES 312 /* the last one begins at 23 days */

struct fa_histogram {
    uint32_t counts[FA_HISTOGRAM_RANGES]; /* each stays at its maximum when it is reached */
};

void fa_histogram_add(struct fa_histogram *histogram, int64_t us);
void fa_histogram_merge(struct fa_histogram *into, const struct fa_histogram *from);
uint64_t fa_histogram_total(const struct fa_histogram *histogram);
/* The middle of the range in which a part `q` (0 to 1) of the durations has ended, in
 * microseconds; 0 when there are none. */
int64_t fa_histogram_quantile(const struct fa_histogram *histogram, double q);

/* "range:count range:count", only those with a count; "" for none. */
void fa_histogram_format(const struct fa_histogram *histogram, struct fa_buf *out);
/* Adds what such a text has. Parts that are damaged are left out. */
void fa_histogram_parse(struct fa_bytes text, struct fa_histogram *into);

#endif
