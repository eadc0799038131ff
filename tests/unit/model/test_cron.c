/*
 * test_cron.c - schedules: what is read and refused, and times against an oracle that goes minute
 * by minute through years of several zones by the C library's local time.
 */
#include "unit/base/unit.h"

#include "base/calendar.h"
#include "base/random.h"
#include "model/cron.h"
#include "model/limits.h"
#include "model/times.h"

#include <time.h>

#define SECOND_US INT64_C(1000000)

static int64_t time_us(const char *text)
{
    int64_t us = 0;

    if (fa_time_parse(text, "test", &us, NULL) != FAINA_OK)
        fail_msg("%s is no time", text);
    return us;
}

static struct fa_cron parse(const char *text)
{
    struct fa_cron cron = {0};
    struct faina_error err = {0};

    if (fa_cron_parse(text, "schedule", &cron, &err) != FAINA_OK)
        fail_msg("%s: %s", text, err.message);
    return cron;
}

static struct fa_zone *open_zone(const char *name)
{
    struct fa_zone *zone = NULL;
    struct faina_error err = {0};

    if (fa_zone_open(&zone, NULL, name, "timezone", &err) != FAINA_OK)
        fail_msg("%s: %s", name, err.message);
    return zone;
}

/* ------------------------------------------------------------------------------------------
 * Reading
 */

/* Different words for the same. */
static void test_cron__spellings(void **state)
{
    static const struct {
        const char *a, *b;
    } cases[] = {
        {"0 2 * * *", "0 0 2 * * ?"},
        {"*/15 * * * *", "0,15,30,45 * * * *"},
        {"  5\t4  *  *   * ", "5 4 * * *"},
        {"0 0 * JAN,mar-May 1-5", "0 0 * 1,3-5 MON-FRI"},
        {"0 0 * * 0", "0 0 * * 7"},
        {"0 0 * * sun", "0 0 * * 0"},
        {"0 0 * * MON-SUN", "0 0 * * 1-7"},
        {"0 0 * * 5-7", "0 0 * * 5,6,0"},
        {"0 0 * * 1-0", "0 0 * * 1-7"},
        {"10/20 * * * *", "10,30,50 * * * *"},
        {"10-40/15 * * * *", "10,25,40 * * * *"},
        {"0 0-23/1 * * *", "0 0-23 * * *"},
        {"0 0 * * L", "0 0 * * SAT"},
        {"0 0 l * *", "0 0 L-0 * *"},
        {"0 0 lw,15w * *", "0 0 L-0W,15W * *"},
        {"0 0 * * fril,mon#2", "0 0 * * 5L,1#2"},
        {"0 0 * * 7L,0#5", "0 0 * * SUNL,SUN#5"},
        {"@hourly", "0 * * * *"},
        {"@Daily", "0 0 * * *"},
        {"@midnight", "0 0 * * *"},
        {"@weekly", "0 0 * * 0"},
        {"@monthly", "0 0 1 * *"},
        {"@yearly", "0 0 1 1 *"},
        {" @annually ", "0 0 1 1 *"},
        {"@every 90s", "@every 1m30s"},
        {"@every  1h ", "@EVERY 3600"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_cron a = parse(cases[i].a), b = parse(cases[i].b);

        check_int(cases[i].a, a.every_s, b.every_s);
        check_int(cases[i].a, (int64_t)a.seconds, (int64_t)b.seconds);
        check_int(cases[i].a, (int64_t)a.minutes, (int64_t)b.minutes);
        check_int(cases[i].a, a.hours, b.hours);
        check_int(cases[i].a, a.days, b.days);
        check_int(cases[i].a, a.months, b.months);
        check_int(cases[i].a, a.weekdays, b.weekdays);
        check_int(cases[i].a, a.is_either_day, b.is_either_day);
        check_int(cases[i].a, memcmp(&a.special, &b.special, sizeof(a.special)), 0);
    }
}

static void test_cron__refusals(void **state)
{
    static const struct {
        const char *text;
        int column;
        const char *message;
    } cases[] = {
        {"", 1, "expected 5 fields, or 6 with seconds, or @yearly"},
        {"* * * *", 1, "found 4"},
        {"* * * * * * *", 1, "found 7"},
        {"60 * * * *", 1, "expected 0 to 59 or * for the minute, found 60"},
        {"99999999999999999999 * * * *", 1, "for the minute, found 99999999999999999999"},
        {"* 24 * * *", 3, "expected 0 to 23 or * for the hour, found 24"},
        {"* * 0 * *", 5, "expected 1 to 31, * or ? for the day of the month, found 0"},
        {"* * 32 * *", 5, "found 32"},
        {"* * * 13 *", 7, "expected 1 to 12 or JAN to DEC or * for the month, found 13"},
        {"* * * FOO *", 7, "found FOO"},
        {"* * * * 8", 9, "expected 0 to 7 or SUN to SAT, * or ? for the day of the week, found 8"},
        {"* * * * MONDAY", 9, "found MONDAY"},
        {"0 0 2 * * 2", 11,
         "with 6 fields the day of the week can't be a number, because 2 is TUE in cron and MON in "
         "Quartz: write TUE or MON at column 11"},
        {"0 0 2 * * 0", 11, "because 0 is SUN in cron and no day in Quartz: write SUN"},
        {"0 0 2 * * 7", 11, "because 7 is SUN in cron and SAT in Quartz: write SUN or SAT"},
        {"0 0 2 * * MON-5", 15, "because 5 is FRI in cron and THU in Quartz"},
        {"0 0 2 ? * 6#3", 11, "because 6 is SAT in cron and FRI in Quartz"},
        {"0 0 2 ? * 6L", 11, "can't be a number"},
        {"* * * * -1", 9, "found -1"},
        {"? * * * *", 1, "for the minute, found ?"},
        {"60 * * * * *", 1, "for the second, found 60"},
        {"5-3 * * * *", 3, "the range for the minute ends before it begins"},
        {"* * * * FRI-MON", 13, "the range for the day of the week ends before it begins"},
        {"*/0 * * * *", 3, "expected a step of 1 or more after /"},
        {"*/ * * * *", 3, "expected a step"},
        {"*/x * * * *", 3, "expected a step"},
        {"*/61 * * * *", 3, "a step of 61 is longer than the minute"},
        {"1, * * * *", 3, "found nothing"},
        {",1 * * * *", 1, "found ,1"},
        {"1- * * * *", 3, "found nothing"},
        {"1-2-3 * * * *", 4, "expected a comma, a dash, a slash or the end of the field"},
        {"1x * * * *", 2, "expected a comma"},
        {"** * * * *", 2, "expected a comma"},
        {"0 0 W * *", 5, "for the day of the month, found W"},
        {"0 0 32W * *", 5, "found 32W"},
        {"0 0 L-31 * *", 7, "expected 0 to 30 days before the last of the month after L-"},
        {"0 0 L- * *", 7, "expected 0 to 30 days"},
        {"0 0 LL * *", 6, "expected a comma"},
        {"0 0 L/2 * *", 6, "expected a comma"},
        {"0 0 15W-17 * *", 8, "expected a comma"},
        {"0 0 * * W", 9, "for the day of the week, found W"},
        {"0 0 * * LW", 9, "found LW"},
        {"0 0 * * MON#0", 13, "expected 1 to 5 after #"},
        {"0 0 * * MON#6", 13, "expected 1 to 5 after #"},
        {"0 0 * * MON#12", 13, "expected 1 to 5 after #"},
        {"0 0 * * MON-FRI#2", 16, "expected a comma"},
        {"0 0 * * MONW", 9, "found MONW"},
        {"0 0 * L *", 7, "for the month, found L"},
        {"0 L * * *", 3, "for the hour, found L"},
        {"0 0 30W 2 *", 1, "never happens"},
        {"0 0 L-30 4 *", 1, "never happens"},
        {"0 0 30 2 *", 1, "never happens, because no month has such a day, at column 1"},
        {"0 0 31 4,6,9,11 *", 1, "never happens"},
        {"@reboot", 1,
         "expected @yearly, @monthly, @weekly, @daily, @hourly or @every 5m, found @re"},
        {" @hourlyx", 2, "found @hourlyx"},
        {"@hourly 5", 9, "expected nothing after the word"},
        {"@every", 7, "@every is empty"},
        {"@every x", 8, "is not a duration"},
        {"@every 500ms", 8, "expected a duration of whole seconds after @every"},
        {"@every 0s", 8, "expected a duration of whole seconds after @every"},
        {"@every 1.5s", 8, "whole seconds"},
        {"@every 5m 3", 11, "expected nothing after the duration"},
        {"\n* * * * *", 1, "for the minute, found"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_cron cron;
        struct faina_error err = {0};

        check_int(cases[i].text, fa_cron_parse(cases[i].text, "schedule", &cron, &err),
                  FAINA_INVALID_REQUEST);
        if (!strstr(err.message, cases[i].message))
            fail_msg("%s: got \"%s\", expected \"%s\" in it", cases[i].text, err.message,
                     cases[i].message);
        check_int(cases[i].text, err.column, cases[i].column);
        check_int(cases[i].text, err.line, 1);
        check_str(cases[i].text, err.field, "schedule");
    }
    assert_int_equal(fa_cron_parse(NULL, "schedule", NULL, NULL), FAINA_INVALID_REQUEST);
}

/* An earlier version stored numbers with six fields, and counted them as with five. */
static void test_cron__stored_numbers(void **state)
{
    struct fa_cron cron = {0}, five = parse("0 2 * * 2");
    struct faina_error err = {0};

    assert_int_equal(fa_cron_parse_stored("0 0 2 * * 2", "schedule", &cron, &err), FAINA_OK);
    assert_int_equal(cron.weekdays, five.weekdays);
}

static void test_cron__size(void **state)
{
    char text[FA_CRON_SIZE_MAX + 2];
    struct fa_cron cron;
    struct faina_error err = {0};

    memset(text, ' ', sizeof(text));
    memcpy(text, "* * * * *", 9);
    text[FA_CRON_SIZE_MAX] = '\0';
    assert_int_equal(fa_cron_parse(text, "schedule", &cron, &err), FAINA_OK);
    text[FA_CRON_SIZE_MAX] = ' ';
    text[FA_CRON_SIZE_MAX + 1] = '\0';
    assert_int_equal(fa_cron_parse(text, "schedule", &cron, &err), FAINA_INVALID_REQUEST);
    assert_string_equal(err.message, "schedule is 256 bytes long; the limit is 255");
}

/* ------------------------------------------------------------------------------------------
 * Times
 */

static void test_cron__next(void **state)
{
    static const struct {
        const char *schedule, *zone, *after, *next;
    } cases[] = {
        {"0 2 * * *", "UTC", "2026-01-01T02:00:00Z", "2026-01-02T02:00:00Z"},
        {"0 2 * * *", "UTC", "2026-01-01T01:59:59.999999Z", "2026-01-01T02:00:00Z"},
        {"0 0 2 * * ?", "Europe/Berlin", "2026-07-01T00:00:00Z", "2026-07-02T00:00:00Z"},
        {"*/10 * * * * *", "UTC", "2026-01-01T00:00:50Z", "2026-01-01T00:01:00Z"},
        {"59 59 23 31 12 ?", "UTC", "2026-12-31T23:59:59Z", "2027-12-31T23:59:59Z"},
        {"0 0 29 2 *", "UTC", "2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"},
        {"0 0 29 2 */7", "UTC", "2026-01-01T00:00:00Z", "2032-02-29T00:00:00Z"}, /* a Sunday */
        {"0 0 13 * FRI", "UTC", "2026-02-13T00:00:00Z", "2026-02-20T00:00:00Z"},
        {"0 0 0 L * ?", "UTC", "2027-02-01T00:00:00Z", "2027-02-28T00:00:00Z"},
        {"0 0 0 L * ?", "UTC", "2028-02-01T00:00:00Z", "2028-02-29T00:00:00Z"},
        {"0 0 0 L-2 * ?", "UTC", "2026-04-01T00:00:00Z", "2026-04-28T00:00:00Z"},
        {"0 0 0 LW * ?", "UTC", "2026-05-01T00:00:00Z", "2026-05-29T00:00:00Z"},  /* 31 is SUN */
        {"0 0 0 1W * ?", "UTC", "2026-07-31T00:00:00Z", "2026-08-03T00:00:00Z"},  /* 1 is SAT */
        {"0 0 0 15W * ?", "UTC", "2026-08-01T00:00:00Z", "2026-08-14T00:00:00Z"}, /* a SAT */
        {"0 0 0 ? * FRIL", "UTC", "2026-01-01T00:00:00Z", "2026-01-30T00:00:00Z"},
        {"0 0 0 ? * MON#5", "UTC", "2026-01-01T00:00:00Z", "2026-03-30T00:00:00Z"},
        {"0 0 L * MON#1", "UTC", "2026-01-01T00:00:00Z", "2026-01-05T00:00:00Z"}, /* either */
        {"0 0 13 * ?", "UTC", "2026-02-13T00:00:00Z", "2026-03-13T00:00:00Z"},
        {"0 0 ? * FRI", "UTC", "2026-02-13T00:00:00Z", "2026-02-20T00:00:00Z"},
        {"0 0 1 1 *", "Asia/Kathmandu", "2026-01-01T00:00:00Z", "2026-12-31T18:15:00Z"},
        {"@every 90m", "America/New_York", "2026-01-01T00:00:00Z", "2026-01-01T01:30:00Z"},
        {"@every 1s", "UTC", "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:01Z"},
        /* 02:30 is skipped in Berlin on 2026-03-29: it happens at 03:00 summer time. */
        {"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"},
        {"30 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"},
        {"*/15 2 * * *", "Europe/Berlin", "2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z"},
        {"*/15 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"},
        {"*/15 2,3 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29T01:15:00Z"},
        /* 02:30 comes twice on 2026-10-25: the first is in summer time. */
        {"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
        {"30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
        {"30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", "2026-10-26T01:30:00Z"},
        {"0 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z"},
        /* Half an hour in Lord Howe, a whole day in Apia. */
        {"15 2 * * *", "Australia/Lord_Howe", "2026-10-03T10:00:00Z", "2026-10-03T15:30:00Z"},
        {"0 12 30 12 ?", "Pacific/Apia", "2011-12-01T00:00:00Z", "2011-12-30T10:00:00Z"},
        {"0 0 1 1 *", "UTC", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z"},
        {"@every 1h", "UTC", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_cron cron = parse(cases[i].schedule);
        struct fa_zone *zone = open_zone(cases[i].zone);
        int64_t after = time_us(cases[i].after), next = 0, previous = 0;
        char shown[FA_TIME_SIZE], expected[FA_TIME_SIZE];

        check_true(cases[i].schedule, fa_cron_next(&cron, zone, after, &next));
        fa_time_format(next, shown);
        fa_time_format(time_us(cases[i].next), expected);
        check_str(cases[i].schedule, shown, expected);
        /* K2: the last one until then is that one, and the last one before is not after. */
        check_true(cases[i].schedule, fa_cron_previous(&cron, zone, next, &previous));
        check_int(cases[i].schedule, previous, next);
        if (fa_cron_previous(&cron, zone, next - 1, &previous))
            check_true(cases[i].schedule, previous <= after);
        fa_zone_close(zone);
    }
}

static void test_cron__the_ends_of_time(void **state)
{
    struct fa_cron cron = parse("0 0 1 1 *"), every = parse("@every 1h");
    struct fa_zone *zone = open_zone("UTC");
    int64_t us = 7;

    assert_false(fa_cron_next(&cron, zone, time_us("9999-01-01T00:00:00Z"), &us));
    assert_false(fa_cron_next(&cron, zone, INT64_MAX, &us));
    assert_false(fa_cron_next(&every, zone, time_us("9999-12-31T23:00:00Z"), &us));
    assert_false(fa_cron_previous(&cron, zone, -1, &us));
    assert_false(fa_cron_previous(&every, zone, INT64_MIN, &us));
    assert_int_equal(us, 7);
    assert_true(fa_cron_next(&cron, zone, INT64_MIN, &us));
    assert_int_equal(us, 0);
    assert_true(fa_cron_previous(&cron, zone, INT64_MAX, &us));
    assert_int_equal(us, time_us("9999-01-01T00:00:00Z"));
    fa_zone_close(zone);
}

static void test_cron__missed(void **state)
{
    struct fa_cron cron = parse("0 * * * *");
    struct fa_zone *zone = open_zone("Europe/Berlin");
    int64_t from = time_us("2026-01-01T00:30:00Z"), until = time_us("2026-01-01T03:00:00Z");
    int64_t times[10] = {0};

    assert_int_equal(fa_cron_missed(&cron, zone, from, until, 10, times), 3);
    assert_int_equal(times[0], time_us("2026-01-01T01:00:00Z"));
    assert_int_equal(times[2], until);
    assert_int_equal(times[3], 0);
    assert_int_equal(fa_cron_missed(&cron, zone, from, until, 2, NULL), 2);
    assert_int_equal(fa_cron_missed(&cron, zone, from, until, 0, NULL), 0);
    assert_int_equal(fa_cron_missed(&cron, zone, until, until, 10, NULL), 0);
    assert_int_equal(fa_cron_missed(&cron, zone, until, from, 10, NULL), 0);
    fa_zone_close(zone);
}

/* ------------------------------------------------------------------------------------------
 * The oracle. It has schedules as functions of the C library's struct tm, and goes through time
 * minute by minute.
 */

static bool every_minute(const struct tm *tm)
{
    return true;
}

static bool half_past_two(const struct tm *tm)
{
    return tm->tm_hour == 2 && tm->tm_min == 30;
}

static bool quarters_at_night(const struct tm *tm)
{
    return tm->tm_hour <= 3 && tm->tm_min % 15 == 0;
}

static bool thirteenth_or_friday(const struct tm *tm)
{
    return tm->tm_hour == 0 && tm->tm_min == 0 && (tm->tm_mday == 13 || tm->tm_wday == 5);
}

static bool sundays_in_spring_and_autumn(const struct tm *tm)
{
    return tm->tm_min == 5 && tm->tm_hour >= 1 && tm->tm_hour <= 3 && tm->tm_wday == 0 &&
           (tm->tm_mon == 2 || tm->tm_mon == 3 || tm->tm_mon == 9 || tm->tm_mon == 10);
}

static bool last_of_february(const struct tm *tm)
{
    return tm->tm_mon == 1 && tm->tm_mday >= 28 && tm->tm_hour == 23 && tm->tm_min == 59;
}

static bool is_midnight(const struct tm *tm)
{
    return tm->tm_hour == 0 && tm->tm_min == 0;
}

static int last_day(const struct tm *tm)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = tm->tm_year + 1900;
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return days[tm->tm_mon] + (tm->tm_mon == 1 && is_leap);
}

static bool last_of_the_month(const struct tm *tm)
{
    return is_midnight(tm) && tm->tm_mday == last_day(tm);
}

static bool third_before_the_last(const struct tm *tm)
{
    return is_midnight(tm) && tm->tm_mday + 3 == last_day(tm);
}

/* The workday nearest to a day, found by going away from it one day at a time. */
static bool is_nearest_workday(const struct tm *tm, int to)
{
    for (int away = 0; away < 4; away++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            int day = to + sign * away;
            int weekday = ((tm->tm_wday + day - tm->tm_mday) % 7 + 7) % 7;

            if (day >= 1 && day <= last_day(tm) && weekday >= 1 && weekday <= 5)
                return tm->tm_mday == day;
        }
    }
    return false;
}

static bool workdays(const struct tm *tm)
{
    return is_midnight(tm) && (is_nearest_workday(tm, 1) || is_nearest_workday(tm, 15) ||
                               (last_day(tm) == 31 && is_nearest_workday(tm, 31)));
}

static bool last_workdays(const struct tm *tm)
{
    return is_midnight(tm) &&
           (is_nearest_workday(tm, last_day(tm)) || is_nearest_workday(tm, last_day(tm) - 8));
}

/* By counting the same days of the week before it, or after it. */
static bool is_nth(const struct tm *tm, int weekday, int nth)
{
    int count = 0;

    for (int day = tm->tm_mday; day >= 1; day -= 7)
        count++;
    return tm->tm_wday == weekday && count == nth;
}

static bool some_weekdays(const struct tm *tm)
{
    return is_midnight(tm) && (is_nth(tm, 1, 2) || is_nth(tm, 0, 5) || tm->tm_wday == 6);
}

static bool last_friday_or_second(const struct tm *tm)
{
    return is_midnight(tm) &&
           ((tm->tm_wday == 5 && tm->tm_mday + 7 > last_day(tm)) || tm->tm_mday == 2);
}

static const struct {
    const char *schedule;
    bool (*fits)(const struct tm *tm);
} schedules[] = {
    {"0 0 0 L * ?", last_of_the_month},
    {"0 0 L-3 * *", third_before_the_last},
    {"0 0 0 1W,15W,31W * ?", workdays},
    {"0 0 LW,L-8W * *", last_workdays},
    {"0 0 0 ? * MON#2,SUN#5,L", some_weekdays},
    {"0 0 2 * 5L", last_friday_or_second},
    {"* * * * *", every_minute},
    {"30 2 * * *", half_past_two},
    {"*/15 0-3 * * ?", quarters_at_night},
    {"0 0 0 13 * FRI", thirteenth_or_friday},
    {"5 1-3 * MAR,APR,OCT,NOV SUN", sundays_in_spring_and_autumn},
    {"59 23 28-31 2 *", last_of_february},
};

#define EVERY_MINUTE 6 /* in `schedules` */

/* Follows one schedule through the minutes: fa_cron_next must name each that fits, and no other. */
struct follower {
    struct fa_cron cron;
    int64_t next_us, last_us;
    int count;
};

static void follow(struct follower *f, const struct fa_zone *zone, const char *name, int64_t minute,
                   bool happens)
{
    int64_t us = minute * SECOND_US, previous_us;

    if (!happens) {
        if (f->next_us == us)
            fail_msg("%s: %lld is not a time of it", name, (long long)minute);
        return;
    }
    if (f->next_us != us)
        fail_msg("%s: expected %lld, got %lld", name, (long long)minute,
                 (long long)(f->next_us / SECOND_US));
    assert_true(fa_cron_previous(&f->cron, zone, us, &previous_us));
    assert_int_equal(previous_us, us);
    if (f->count > 0 && f->count % 16 == 0) {
        assert_true(fa_cron_previous(&f->cron, zone, us - 1, &previous_us));
        assert_int_equal(previous_us, f->last_us);
    }
    f->last_us = us;
    f->count++;
    assert_true(fa_cron_next(&f->cron, zone, us, &f->next_us));
}

static struct tm local_time(int64_t time)
{
    time_t t = time;
    struct tm tm;

    assert_non_null(localtime_r(&t, &tm));
    return tm;
}

/* Whether one of the minutes of local time that were skipped fits. */
static bool fits_skipped(int64_t from_local, int64_t to_local, bool (*fits)(const struct tm *tm))
{
    for (int64_t local = from_local; local < to_local; local += 60) {
        time_t t = local;
        struct tm tm;

        assert_non_null(gmtime_r(&t, &tm));
        if (fits(&tm))
            return true;
    }
    return false;
}

static void check_zone(const char *name, int64_t from, int64_t until)
{
    struct fa_zone *zone = open_zone(name);
    struct follower followers[FA_COUNT(schedules)] = {0};
    struct tm tm;
    int64_t reached; /* the latest local time so far */

    setenv("TZ", name, 1);
    tzset();
    tm = local_time(from - 60);
    reached = from - 60 + tm.tm_gmtoff;
    for (size_t i = 0; i < FA_COUNT(schedules); i++) {
        followers[i].cron = parse(schedules[i].schedule);
        assert_true(
            fa_cron_next(&followers[i].cron, zone, (from - 1) * SECOND_US, &followers[i].next_us));
    }
    for (int64_t minute = from; minute < until; minute += 60) {
        int64_t local;

        tm = local_time(minute);
        local = minute + tm.tm_gmtoff;
        for (size_t i = 0; i < FA_COUNT(schedules); i++) {
            bool happens = (local > reached && schedules[i].fits(&tm)) ||
                           fits_skipped(reached + 60, local, schedules[i].fits);

            follow(&followers[i], zone, schedules[i].schedule, minute, happens);
        }
        reached = local > reached ? local : reached;
    }
    assert_true(followers[EVERY_MINUTE].count > 100000);
    fa_zone_close(zone);
}

static void test_cron__same_as_going_minute_by_minute(void **state)
{
    static const char *const zones[] = {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
                                        "Asia/Kathmandu", "Africa/Casablanca"};
    const int64_t year = 366 * FA_DAY_SECONDS;
    const char *text = getenv("FA_CRON_YEARS");
    const int64_t years = text ? strtoll(text, NULL, 10) : 2;

    for (size_t i = 0; i < FA_COUNT(zones); i++)
        check_zone(zones[i], time_us("2027-11-01T00:00:00Z") / SECOND_US,
                   time_us("2027-11-01T00:00:00Z") / SECOND_US + years * year);
    print_message("%d schedules, %d zones, %d years\n", (int)FA_COUNT(schedules),
                  (int)FA_COUNT(zones), (int)years);
    check_zone("Pacific/Apia", time_us("2011-06-01T00:00:00Z") / SECOND_US,
               time_us("2012-06-01T00:00:00Z") / SECOND_US);
}

/* Ten years of a schedule at night: each change of the clocks is passed. One a day, whatever. */
static void test_cron__once_a_day_for_ten_years(void **state)
{
    static const char *const zones[] = {"Europe/Berlin",       "America/New_York",
                                        "Australia/Lord_Howe", "Asia/Kathmandu",
                                        "America/Sao_Paulo",   "Europe/Dublin"};

    for (size_t i = 0; i < FA_COUNT(zones); i++) {
        for (int minute = 0; minute < 240; minute += 15) {
            struct fa_zone *zone = open_zone(zones[i]);
            int64_t us = time_us("2020-01-01T12:00:00Z"), end = time_us("2030-01-01T12:00:00Z");
            char schedule[64];
            struct fa_cron cron;

            snprintf(schedule, sizeof(schedule), "%d %d * * *", minute % 60, minute / 60);
            cron = parse(schedule);
            assert_int_equal(fa_cron_missed(&cron, zone, us, end, 10000, NULL), 3653);
            fa_zone_close(zone);
        }
    }
}

/* Random schedules with seconds: next and previous agree, and every time fits (K1, K2). */
static void test_cron__next_and_previous_agree(void **state)
{
    static const char *const days[] = {"", "W", ",L", ",L-4", ",LW", ",9W,L-2W"};
    static const char *const weekdays[] = {"MON", "TUE,SUN", "*", "?", "FRIL", "WED#1", "THU#5,L"};
    struct fa_zone *zone = open_zone("America/New_York");
    struct fa_random random;

    fa_random_seed(&random, SEED);
    for (int i = 0; i < 3000; i++) {
        char text[128];
        struct fa_cron cron;
        int64_t us = (int64_t)fa_random_below(&random, 4102444800) * SECOND_US, back = 0;

        snprintf(text, sizeof(text), "%d/%d %d-59 */%d %d,%d%s * %s",
                 (int)fa_random_below(&random, 60), 1 + (int)fa_random_below(&random, 59),
                 (int)fa_random_below(&random, 60), 1 + (int)fa_random_below(&random, 23),
                 1 + (int)fa_random_below(&random, 28), 1 + (int)fa_random_below(&random, 31),
                 days[fa_random_below(&random, FA_COUNT(days))],
                 weekdays[fa_random_below(&random, FA_COUNT(weekdays))]);
        cron = parse(text);
        for (int step = 0; step < 20; step++) {
            int64_t next = 0;

            assert_true(fa_cron_next(&cron, zone, us, &next));
            assert_true(next > us);
            assert_true(fa_cron_previous(&cron, zone, next, &back));
            assert_int_equal(back, next);
            if (step > 0) {
                assert_true(fa_cron_previous(&cron, zone, next - 1, &back));
                assert_int_equal(back, us);
            }
            us = next;
        }
    }
    fa_zone_close(zone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cron__spellings),
        cmocka_unit_test(test_cron__refusals),
        cmocka_unit_test(test_cron__stored_numbers),
        cmocka_unit_test(test_cron__size),
        cmocka_unit_test(test_cron__next),
        cmocka_unit_test(test_cron__the_ends_of_time),
        cmocka_unit_test(test_cron__missed),
        cmocka_unit_test(test_cron__same_as_going_minute_by_minute),
        cmocka_unit_test(test_cron__once_a_day_for_ten_years),
        cmocka_unit_test(test_cron__next_and_previous_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
