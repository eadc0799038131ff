/*
 * cron.h - cron schedules: the next and the previous time.
 *
 *     minute hour day-of-month month day-of-week        5 fields
 *     second minute hour day-of-month month day-of-week 6 fields
 *     @yearly @annually @monthly @weekly @daily @midnight @hourly
 *     @every 90s                                        a duration of whole seconds
 *
 * A field is `*`, a value, a range `a-b`, any of these with a step `/n` (`a/n` runs to the end of
 * the field), or a list of them with commas. Months and days of the week may be written as the
 * first three letters of their English names, in any case. `?` is `*`, in the two fields for days.
 * With 5 fields days of the week may be numbers, where Sunday is 0 and 7. With 6 they are refused,
 * since other schedulers with 6 fields count from 1.
 *
 * As an item of the day of the month: `L` is the last day, `L-3` three days before, `15W` the
 * workday (Monday to Friday) nearest to the 15th within its month, `LW` and `L-3W` likewise. A
 * month without the day has no such workday. As an item of the day of the week: `FRIL` is the last
 * Friday of the month, `MON#2` the second Monday, `L` alone is Saturday.
 *
 * Days: when both fields for days are restricted, a day that matches either is enough; a field that
 * begins with `*` or `?` isn't restricted. So "0 0 13 * FRI" is each 13th and each Friday.
 *
 * Time zones: fields are compared with local time.
 *   - A local time that is skipped (clocks go forward) occurs once, at the moment of the change:
 *     all that are skipped by one change occur together.
 *   - A local time that occurs twice (clocks go back) counts the first time only.
 * `@every` counts from 1970-01-01T00:00:00Z in every zone, so that all nodes agree without
 * communication.
 *
 *   K1  fa_cron_next returns the first time of the schedule after its argument; repeated calls
 *       return all times of the schedule.
 *   K2  fa_cron_previous returns exactly the times of fa_cron_next.
 *   K3  Both end: they search at most 400 years, after which the calendar repeats. A schedule whose
 *       day never occurs (February 30) is refused when it is read.
 *
 * Times are microseconds since 1970 UTC; results are whole seconds of the years 1970 to 9999.
 * Threads: pure functions; a schedule is a plain value.
 */
#ifndef FA_MODEL_CRON_H
#define FA_MODEL_CRON_H

#include "base/error.h"
#include "base/zone.h"

/* Days whose place depends on the month. Bit n of a set is the value n. */
struct fa_cron_days {
    uint32_t before_last;          /* n days before the last one */
    uint32_t workdays;             /* the workday nearest to day n ... */
    uint32_t workdays_before_last; /* ... or to the one n days before the last */
    uint8_t last_weekdays;
    uint8_t nth_weekdays[5]; /* the first, the second ... */
};

/* Bit n of a set is the value n. */
struct fa_cron {
    int64_t every_s; /* with @every only: then the sets are not used */
    uint64_t seconds, minutes;
    uint32_t hours, days, months; /* days and months from bit 1 */
    uint8_t weekdays;             /* Sunday is bit 0 */
    bool is_either_day;           /* days or weekdays; else days and weekdays */
    struct fa_cron_days special;  /* more days and weekdays */
};

/* INVALID_REQUEST: the error has line 1, the column and `field`, and what was expected. */
FA_MUST_CHECK enum faina_code fa_cron_parse(const char *text, const char *field,
                                            struct fa_cron *out, struct faina_error *err);

/* The same for a schedule that was stored by an earlier version, which accepted numbers for days of
 * the week with 6 fields, and counted them as with 5. */
FA_MUST_CHECK enum faina_code fa_cron_parse_stored(const char *text, const char *field,
                                                   struct fa_cron *out, struct faina_error *err);

/* The first time after `after_us`; false when there is none before the year 10000. */
bool fa_cron_next(const struct fa_cron *cron, const struct fa_zone *zone, int64_t after_us,
                  int64_t *out_us);
/* The last time not after `until_us`; false when there is none since 1970. */
bool fa_cron_previous(const struct fa_cron *cron, const struct fa_zone *zone, int64_t until_us,
                      int64_t *out_us);

/* Counts the times after `after_us` and not after `until_us`, up to `max`, and writes them to
 * `times_us`, unless that is NULL: the runs that were missed. */
size_t fa_cron_missed(const struct fa_cron *cron, const struct fa_zone *zone, int64_t after_us,
                      int64_t until_us, size_t max, int64_t *times_us);

#endif
