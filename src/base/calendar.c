/*
 * calendar.c - days and dates. A year begins on March 1st here, so that the leap day is its last.
 */
#include "base/calendar.h"

#define DAYS_TO_1970 719468 /* from 0000-03-01 */
#define DAYS_IN_400_YEARS 146097
#define WEEKDAY_OF_1970 4 /* January 1st was a Thursday */

int64_t fa_date_to_days(struct fa_date date)
{
    /* January and February belong to the year before. */
    int64_t year = date.month <= 2 ? date.year - 1 : date.year;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t month = (date.month + 9) % 12; /* March is 0 */
    int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;

    return era * DAYS_IN_400_YEARS + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
           day_of_year - DAYS_TO_1970;
}

struct fa_date fa_date_from_days(int64_t days)
{
    int64_t shifted = days + DAYS_TO_1970;
    int64_t era = (shifted >= 0 ? shifted : shifted - (DAYS_IN_400_YEARS - 1)) / DAYS_IN_400_YEARS;
    int64_t day_of_era = shifted - era * DAYS_IN_400_YEARS;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    struct fa_date date;

    date.day = (int)(day_of_year - (153 * month + 2) / 5 + 1);
    date.month = (int)(month < 10 ? month + 3 : month - 9);
    date.year = year_of_era + era * 400 + (date.month <= 2);
    return date;
}

bool fa_is_leap_year(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int fa_days_in_month(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return month == 2 && fa_is_leap_year(year) ? 29 : days[month - 1];
}

int fa_weekday(int64_t days)
{
    int64_t weekday = (days + WEEKDAY_OF_1970) % 7;

    return (int)(weekday < 0 ? weekday + 7 : weekday);
}
