/*
 * cron.h - schedules: when does something happen next, or happened last?
 *
 *     minute hour day-of-month month day-of-week        5 fields
 *     second minute hour day-of-month month day-of-week 6 fields
 *     @yearly @annually @monthly @weekly @daily @midnight @hourly
 *     @every 90s                                        a duration of whole seconds
 *
 * A field is `*`, a value, a range `a-b`, any of these with a step `/n` (`a/n` runs to the end of
 * the field), or a list of them with commas. Months and days of the week also go by the first three
 * letters of their English names, in any case. Sunday is 0 and 7, with 5 fields and with 6. `?` is
 * `*`, in the two fields for days. `L`, `W` and `#` are refused by name.
 *
 * Days: when both fields for days are restricted, a day that fits either will do; a field that
 * begins with `*` or `?` isn't restricted. So "0 0 13 * FRI" is each 13th and each Friday.
 *
 * Time zones: fields are compared with local time.
 *   - A local time that is skipped (clocks go forward) happens once, at the moment of the change:
 *     all that are skipped by one change happen together.
 *   - A local time that comes twice (clocks go back) happens the first time only.
 * `@every` counts from 1970-01-01T00:00:00Z whatever the zone: so all nodes agree without asking.
 *
 *   K1  fa_cron_next gives a later time than it was asked about, and leaves out none: the next of
 *       it and so on are all times of the schedule.
 *   K2  fa_cron_previous gives exactly the times that fa_cron_next does.
 *   K3  Both end: they look at no more than 400 years, after which the calendar repeats. A schedule
 *       whose day never comes (February 30) is refused when it is read.
 *
 * Times are microseconds since 1970 UTC, the answers whole seconds of the years 1970 to 9999.
 * Threads: pure functions; a schedule is a plain value.
 */
#ifndef FA_CRON_H
#define FA_CRON_H

#include "base/error.h"
#include "base/zone.h"

/* All zero but for what was read. Bit n of a set is the value n. */
struct fa_cron {
    int64_t every_s; /* with @every only: then the sets are not used */
    uint64_t seconds, minutes;
    uint32_t hours, days, months; /* days and months from bit 1 */
    uint8_t weekdays;             /* Sunday is bit 0 */
    bool is_either_day;           /* days or weekdays; else days and weekdays */
};

/* INVALID_REQUEST: the error has line 1, the column and `field`, and says what was expected. */
FA_MUST_CHECK enum faina_code fa_cron_parse(const char *text, const char *field,
                                            struct fa_cron *out, struct faina_error *err);

/* The first time after `after_us`; false when there is none before the year 10000. */
bool fa_cron_next(const struct fa_cron *cron, const struct fa_zone *zone, int64_t after_us,
                  int64_t *out_us);
/* The last time not after `until_us`; false when there is none since 1970. */
bool fa_cron_previous(const struct fa_cron *cron, const struct fa_zone *zone, int64_t until_us,
                      int64_t *out_us);

/* How many times there are after `after_us` and not after `until_us`, counting no further than
 * `max`. The first of them, up to `max`, are put into `times_us`, unless that is NULL. This is what
 * was missed while nobody looked. */
size_t fa_cron_missed(const struct fa_cron *cron, const struct fa_zone *zone, int64_t after_us,
                      int64_t until_us, size_t max, int64_t *times_us);

#endif
