/*
 * test_calendar.c - days and dates, against the C library's.
 */
#include "unit/base/unit.h"

#include "base/calendar.h"

#include <time.h>

static void test_calendar__same_as_the_c_library(void **state)
{
    for (int64_t days = -800000; days <= 800000; days += 7 + days % 3) {
        time_t time = (time_t)days * FA_DAY_SECONDS;
        struct fa_date date = fa_date_from_days(days);
        struct tm tm;

        assert_non_null(gmtime_r(&time, &tm));
        assert_int_equal(date.year, tm.tm_year + 1900);
        assert_int_equal(date.month, tm.tm_mon + 1);
        assert_int_equal(date.day, tm.tm_mday);
        assert_int_equal(fa_weekday(days), tm.tm_wday);
        assert_int_equal(fa_date_to_days(date), days);
    }
}

static void test_calendar__months(void **state)
{
    assert_true(fa_is_leap_year(2000));
    assert_false(fa_is_leap_year(1900));
    assert_true(fa_is_leap_year(2024));
    assert_false(fa_is_leap_year(2023));
    assert_int_equal(fa_days_in_month(2024, 2), 29);
    assert_int_equal(fa_days_in_month(2023, 2), 28);
    assert_int_equal(fa_days_in_month(2023, 4), 30);
    assert_int_equal(fa_days_in_month(2023, 12), 31);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calendar__same_as_the_c_library),
        cmocka_unit_test(test_calendar__months),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
