/*
 * calendar.h - days and dates of the Gregorian calendar, by arithmetic.
 *
 * Days are counted from 1970-01-01. Years may be negative; months and days are from 1.
 */
#ifndef FA_BASE_CALENDAR_H
#define FA_BASE_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

#define FA_DAY_SECONDS 86400

struct fa_date {
    int64_t year;
    int month, day;
};

int64_t fa_date_to_days(struct fa_date date);
struct fa_date fa_date_from_days(int64_t days);
bool fa_is_leap_year(int64_t year);
int fa_days_in_month(int64_t year, int month);
/* 0 is Sunday. */
int fa_weekday(int64_t days);

#endif
