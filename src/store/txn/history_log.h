/*
 * history_log.h - what the transactions of this process have done, by type and minute, until it is
 * stored (upkeep/history_store.h).
 *
 *   L1  A committed transaction is counted once, in the minute of its commit. Until its minute is
 *       stored, the counts are in memory only: they are lost when the process is killed.
 *   L2  A minute has a number of its own, which is part of the keys of its rows (`seq`). So storing
 *       it twice has no effect, and a reader counts it once: a minute stays in memory for a while
 *       after it was stored, and a reader that finds its number in the store leaves it out.
 *   L3  Memory is bounded: a minute has at most TYPES_MAX types, and more are counted together; at
 *       most MINUTES_MAX minutes are kept, and of more the oldest are dropped.
 *
 *       bit 61       60 ... 35   34 ... 12        11 ... 0
 *       whole hour | minute    | random number | row in the minute
 *
 * Threads: any.
 */
#ifndef FA_STORE_TXN_HISTORY_LOG_H
#define FA_STORE_TXN_HISTORY_LOG_H

#include "model/history.h"
#include "store/lanes/lanes.h"

struct fa_unit;
struct fa_unit_span;
struct fa_history_log;

#define FA_HISTORY_ROWS_MAX 4096 /* of a minute: 12 bits */
#define FA_HISTORY_PART_BITS 35
#define FA_HISTORY_HOURS (INT64_C(1) << 61) /* rows of hours */
#define FA_HISTORY_GAUGE_PART 0x7fffff      /* the number of the leader's gauges */
#define FA_HISTORY_ROLLED_PART 0            /* the number of an hour's sums */
#define FA_HISTORY_PART(seq) ((seq) & ~INT64_C(0xfff))

static inline int64_t fa_history_seq(int64_t at_us, int64_t part, size_t row)
{
    return (at_us / FA_HISTORY_MINUTE_US) << FA_HISTORY_PART_BITS | part << 12 | (int64_t)row;
}

/* The counts of a type in a minute. */
struct fa_history_entry {
    const char *ns, *type; /* the type in lower case */
    struct fa_history_counts counts;
    int64_t changes; /* how busy it was */
};

struct fa_history_minute {
    int64_t at_us;
    int64_t seq; /* of its first row (L2) */
    struct fa_history_entry **entries;
    size_t count;
};

struct fa_history_log *fa_history_log_create(void);
void fa_history_log_destroy(struct fa_history_log *log); /* NULL is fine */

struct fa_history_end {
    struct fa_lane *lane;
    enum faina_status status;
};
/* After a commit (L1). `log` may be NULL. */
void fa_history_log_count(struct fa_history_log *log, const struct fa_unit *unit,
                          const struct fa_history_end *ends, size_t end_count);

/* The oldest minute that is over at `now_us` (INT64_MAX: also the present one) and not stored yet;
 * NULL: none. It stays as it is until fa_history_log_stored. One thread may do this. */
const struct fa_history_minute *fa_history_log_take(struct fa_history_log *log, int64_t now_us);
void fa_history_log_stored(struct fa_history_log *log, const struct fa_history_minute *minute,
                           int64_t now_us);

/* Calls `add` for each entry of a namespace and type (NULL: all) with the numbers that begin its
 * minute. */
typedef void fa_history_log_fn(void *ctx, const struct fa_history_minute *minute,
                               const struct fa_history_entry *entry);
void fa_history_log_read(struct fa_history_log *log, const char *ns, const char *type,
                         fa_history_log_fn *add, void *ctx);

#endif
