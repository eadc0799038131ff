/*
 * history.h - how much was submitted, ended and waited for, in the past: requests and answers.
 *
 *   I1  A range is divided into buckets of `step`, which begin at multiples of it. The first bucket
 *       contains `from`, the last one the moment before `to`.
 *   I2  A range has at most FA_HISTORY_ITEMS_MAX buckets. Minutes are kept for
 *       FA_HISTORY_MINUTES_KEEP_US, hours for FA_HISTORY_HOURS_KEEP_US: a range that begins earlier
 *       begins with the first hour that is kept, and one that begins before the first minute has a
 *       step of whole hours.
 */
#ifndef FA_MODEL_HISTORY_H
#define FA_MODEL_HISTORY_H

#include "base/error.h"
#include "model/histogram.h"

#define FA_HISTORY_MINUTE_US INT64_C(60000000)
#define FA_HISTORY_HOUR_US (60 * FA_HISTORY_MINUTE_US)
#define FA_HISTORY_MINUTES_KEEP_US (72 * FA_HISTORY_HOUR_US)
#define FA_HISTORY_HOURS_KEEP_US (90 * 24 * FA_HISTORY_HOUR_US)
#define FA_HISTORY_ITEMS_MAX 4400  /* all minutes, or all hours, that are kept */
#define FA_HISTORY_ITEMS_USUAL 300 /* without a step, a range has at most this many buckets */
#define FA_HISTORY_TYPES_MAX 1000  /* of a minute that are counted by themselves ... */
#define FA_HISTORY_OTHER "other"   /* ... and the type that the others are counted as */

/* What is counted. */
enum fa_history_count {
    FA_HISTORY_SUBMITTED,
    FA_HISTORY_COMPLETED,
    FA_HISTORY_FAILED,
    FA_HISTORY_DEAD_LETTERED,
    FA_HISTORY_CANCELLED,
    FA_HISTORY_RETRIED, /* became pending again after an attempt that failed, or by a retry */
    FA_HISTORY_COUNTS
};

struct fa_history_counts {
    int64_t n[FA_HISTORY_COUNTS];
    struct fa_histogram waits, runs;
};

struct fa_history_query {
    const char *ns;         /* NULL: "default"; "*": all */
    const char *type;       /* NULL: all */
    int64_t from_us, to_us; /* 0: an hour before `to`; now */
    int64_t step_ms;        /* 0: chosen by the range */
};

/* Quantiles, in seconds. */
struct fa_history_spans {
    bool has_any;
    double p50, p95, p99;
};

/* A bucket. */
struct fa_history_item {
    int64_t at_us; /* its beginning */
    int64_t submitted, completed, failed, dead_lettered, cancelled, retried;
    int64_t waiting, running; /* at its end, or now */
    double oldest_ready_s;    /* the longest that a ready task had waited */
    struct fa_history_spans wait, run;
};

struct fa_history_answer {
    size_t count;
    struct fa_history_item *items; /* oldest first */
    int64_t step_ms;
};

/* The buckets of a range (I1). */
struct fa_history_range {
    int64_t from_us, step_us;
    size_t count;
};

/* INVALID_REQUEST: the range is empty, the step is too short, or not of whole minutes. */
FA_MUST_CHECK enum faina_code fa_history_range_of(const struct fa_history_query *query,
                                                  int64_t now_us, struct fa_history_range *out,
                                                  struct faina_error *err);

void fa_history_counts_add(struct fa_history_counts *into, const struct fa_history_counts *from);

#endif
