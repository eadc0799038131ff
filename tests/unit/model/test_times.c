/*
 * test_times.c - RFC 3339 times and durations.
 */
#include "unit/base/unit.h"

#include "base/random.h"
#include "model/limits.h"
#include "model/times.h"

#define US INT64_C(1000000)

static void test_times__format(void **state)
{
    static const struct {
        int64_t us;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000000Z"},
        {-1, "1969-12-31T23:59:59.999999Z"},
        {951782400 * US, "2000-02-29T00:00:00.000000Z"},
        {951868800 * US, "2000-03-01T00:00:00.000000Z"},
        {INT64_C(4107542399) * US + 1, "2100-02-28T23:59:59.000001Z"},
        {INT64_C(4107542400) * US, "2100-03-01T00:00:00.000000Z"},
        {INT64_C(1767322845) * US + 678901, "2026-01-02T03:00:45.678901Z"},
        {INT64_C(-62167219200) * US, "0000-01-01T00:00:00.000000Z"},
        {INT64_C(253402300799) * US + 999999, "9999-12-31T23:59:59.999999Z"},
        {INT64_MIN, "0000-01-01T00:00:00.000000Z"},
        {INT64_MAX, "9999-12-31T23:59:59.999999Z"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        char text[FA_TIME_SIZE];

        fa_time_format(cases[i].us, text);
        check_str(cases[i].text, text, cases[i].text);
    }
}

static void test_times__parse(void **state)
{
    static const struct {
        const char *text;
        int64_t us;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01t00:00:00z", 0},
        {"1970-01-01 00:00:00Z", 0},
        {"1970-01-01T00:00:00.5Z", 500000},
        {"1970-01-01T00:00:00.123456789Z", 123456},
        {"1970-01-01T00:00:00.0000009Z", 0},
        {"1970-01-01T01:30:00+01:30", 0},
        {"1969-12-31T16:00:00-08:00", 0},
        {"1970-01-01T00:00:00-00:00", 0},
        {"1970-01-01T23:59:00+23:59", 0},
        {"1969-12-31T23:59:59.25Z", -750000},
        {"2016-12-31T23:59:60Z", 1483228800 * US},
        {"2016-12-31T23:59:60.5Z", 1483228800 * US + 500000},
        {"2017-01-01T00:59:60+01:00", 1483228800 * US},
        {"2000-02-29T12:00:00Z", 951825600 * US},
        {"0000-01-01T00:00:00Z", INT64_C(-62167219200) * US},
        {"9999-12-31T23:59:59.999999Z", INT64_C(253402300799) * US + 999999},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        int64_t us = -7;

        check_int(cases[i].text, fa_time_parse(cases[i].text, "runAt", &us, NULL), FAINA_OK);
        check_int(cases[i].text, us, cases[i].us);
    }
}

static void test_times__what_is_no_time_is_refused(void **state)
{
    static const char *const texts[] = {
        NULL,
        "",
        "now",
        "2026-01-02",
        "2026-01-02T03:04Z",
        "2026-01-02T03:04:05", /* no offset */
        "2026-01-02T03:04:05Zz",
        "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05.1234567890Z", /* ten digits */
        "2026-01-02T03:04:05+0100",
        "2026-01-02T03:04:05+1:00",
        "2026-01-02T03:04:05+24:00",
        "2026-01-02T03:04:05+01:60",
        "2026-00-02T03:04:05Z",
        "2026-13-02T03:04:05Z",
        "2026-01-00T03:04:05Z",
        "2026-01-32T03:04:05Z",
        "2026-04-31T03:04:05Z",
        "2026-02-29T03:04:05Z",
        "2100-02-29T03:04:05Z",
        "2026-01-02T24:00:00Z",
        "2026-01-02T03:60:00Z",
        "2026-01-02T03:04:61Z",
        "2026-01-02T03:04:60Z", /* not the last second of a day */
        "26-01-02T03:04:05Z",
        "02026-01-02T03:04:05Z",
        " 2026-01-02T03:04:05Z",
        "2026-1-2T3:4:5Z",
        "-026-01-02T03:04:05Z",
        "0000-01-01T00:00:00+00:01", /* before the year 0 in UTC */
        "9999-12-31T23:59:59-00:01", /* after 9999 */
        "9999-12-31T23:59:60Z",
    };

    for (size_t i = 0; i < FA_COUNT(texts); i++) {
        const char *name = texts[i] ? texts[i] : "NULL";
        struct faina_error err;
        int64_t us = -7;

        check_int(name, fa_time_parse(texts[i], "runAt", &us, &err), FAINA_INVALID_REQUEST);
        check_int(name, us, -7);
        check_str(name, err.field, "runAt");
        check_true(name, strncmp(err.message, "runAt: \"", 8) == 0);
        check_true(name, strstr(err.message, "2026-01-02T03:04:05Z") != NULL);
    }
}

static void test_times__a_bad_text_is_quoted_harmlessly(void **state)
{
    struct faina_error err;
    int64_t us;

    assert_int_equal(fa_time_parse("\x1b[31m\xff\"", "runAt", &us, &err), FAINA_INVALID_REQUEST);
    assert_true(strncmp(err.message, "runAt: \"?[31m??\" is not", 23) == 0);
    assert_int_equal(fa_time_parse("0123456789012345678901234567890123456789012345678901234567",
                                   "runAt", &us, &err),
                     FAINA_INVALID_REQUEST);
    assert_non_null(strstr(err.message, "\"01234567890123456789012345678901234567890123...\""));
}

static void test_times__random_times_read_back(void **state)
{
    struct fa_random random;

    fa_random_seed(&random, SEED);
    for (int i = 0; i < 20000; i++) {
        int64_t us = (int64_t)fa_random_below(&random, UINT64_C(315569520000000000)) -
                     INT64_C(62167219200000000);
        char text[FA_TIME_SIZE];
        int64_t again;

        fa_time_format(us, text);
        assert_int_equal(fa_time_parse(text, "x", &again, NULL), FAINA_OK);
        check_int(text, again, us);
    }
}

/* Every day of 400 years follows the one before, by a calendar of its own. */
static void test_times__every_day(void **state)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t us = INT64_C(-11676096000) * US; /* 1600-01-01 */

    for (int year = 1600; year <= 2000; year++) {
        bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

        for (int month = 1; month <= 12; month++) {
            for (int day = 1; day <= lengths[month - 1] + (is_leap && month == 2); day++) {
                char text[FA_TIME_SIZE], expected[64];

                fa_time_format(us, text);
                snprintf(expected, sizeof(expected), "%04d-%02d-%02dT00:00:00.000000Z", year, month,
                         day);
                check_str(expected, text, expected);
                us += 86400 * US;
            }
        }
    }
}

static void test_durations__parse(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"0", 0},
        {"0s", 0},
        {"0.000", 0},
        {"50ms", 50},
        {"90s", 90000},
        {"5m", 300000},
        {"1h", 3600000},
        {"30d", INT64_C(2592000000)},
        {"1h30m", 5400000},
        {"1d2h3m4s5ms", 93784005},
        {"1.5s", 1500},
        {"1.5h30s", 5430000},
        {"90", 90000},
        {"0.25", 250},
        {"007", 7000},
        {"0.0019s", 1},
        {"0.0001", 1}, /* not nothing */
        {"0.1ms", 1},
        {"0.30000000000000004", 300},
        {"36600d", FA_DURATION_MS_MAX},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        int64_t ms = -7;

        check_int(cases[i].text, fa_duration_parse(cases[i].text, "delay", &ms, NULL), FAINA_OK);
        check_int(cases[i].text, ms, cases[i].ms);
    }
}

static void test_durations__refused(void **state)
{
#define UNITS "the units are ms, s, m, h and d, as in \"50ms\", \"90s\" or \"1h30m\""
    static const struct {
        const char *text, *message;
    } cases[] = {
        {NULL, "delay is empty; " UNITS},
        {"", "delay is empty; " UNITS},
        {"-5s", "delay must not be negative"},
        {"-", "delay must not be negative"},
        {"5x", "delay: \"5x\" is not a duration; " UNITS},
        {"5 s", "delay: \"5 s\" is not a duration; " UNITS},
        {"s", "delay: \"s\" is not a duration; " UNITS},
        {"5S", "delay: \"5S\" is not a duration; " UNITS},
        {"5min", "delay: \"5min\" is not a duration; " UNITS},
        {"1h30", "delay: \"1h30\" is not a duration; " UNITS},
        {"30m1h", "delay: \"30m1h\" is not a duration; " UNITS},
        {"1h1h", "delay: \"1h1h\" is not a duration; " UNITS},
        {"1ms5s", "delay: \"1ms5s\" is not a duration; " UNITS},
        {".5s", "delay: \".5s\" is not a duration; " UNITS},
        {"5.s", "delay: \"5.s\" is not a duration; " UNITS},
        {"1.2.3s", "delay: \"1.2.3s\" is not a duration; " UNITS},
        {"1e3", "delay: \"1e3\" is not a duration; " UNITS},
        {"+5s", "delay: \"+5s\" is not a duration; " UNITS},
        {"1h-5m", "delay: \"1h-5m\" is not a duration; " UNITS},
        {"36600d1ms", "delay is longer than 100 years"},
        {"36601d", "delay is longer than 100 years"},
        {"99999999999999999999999999999999", "delay is longer than 100 years"},
        {"9223372036854775807d", "delay is longer than 100 years"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        const char *name = cases[i].text ? cases[i].text : "NULL";
        struct faina_error err;
        int64_t ms = -7;

        check_int(name, fa_duration_parse(cases[i].text, "delay", &ms, &err),
                  FAINA_INVALID_REQUEST);
        check_int(name, ms, -7);
        check_str(name, err.message, cases[i].message);
        check_str(name, err.field, "delay");
    }
}

static void test_durations__random_ones_read_back(void **state)
{
    struct fa_random random;

    fa_random_seed(&random, SEED);
    for (int i = 0; i < 20000; i++) {
        int64_t ms = (int64_t)fa_random_below(&random, (uint64_t)FA_DURATION_MS_MAX + 1);
        char text[64];
        int64_t again;

        if (i % 2) /* small ones are rare among random numbers */
            ms %= 100000;
        snprintf(text, sizeof(text), "%lldms", (long long)ms);
        assert_int_equal(fa_duration_parse(text, "x", &again, NULL), FAINA_OK);
        check_int(text, again, ms);
        snprintf(text, sizeof(text), "%lldd%lldh%lldm%lld.%03llds", (long long)(ms / 86400000),
                 (long long)(ms / 3600000 % 24), (long long)(ms / 60000 % 60),
                 (long long)(ms / 1000 % 60), (long long)(ms % 1000));
        assert_int_equal(fa_duration_parse(text, "x", &again, NULL), FAINA_OK);
        check_int(text, again, ms);
        snprintf(text, sizeof(text), "%lld.%03lld", (long long)(ms / 1000), (long long)(ms % 1000));
        assert_int_equal(fa_duration_parse(text, "x", &again, NULL), FAINA_OK);
        check_int(text, again, ms);
    }
}

static void test_durations__format(void **state)
{
    static const struct {
        int64_t us;
        const char *text;
    } cases[] = {
        {0, "0 ms"},
        {99, "0 ms"},
        {350, "0.3 ms"},
        {4200, "4.2 ms"},
        {9999, "9.9 ms"},
        {12345, "12 ms"},
        {850000, "850 ms"},
        {999999, "999 ms"},
        {1 * US, "1 s"},
        {4 * US + 200000, "4.2 s"},
        {59 * US + 999999, "59.9 s"},
        {60 * US, "1 min"},
        {90 * US, "1 min 30 s"},
        {12 * 60 * US + 34 * US, "12 min"},
        {3600 * US, "1 h"},
        {3 * 3600 * US + 20 * 60 * US, "3 h 20 min"},
        {23 * 3600 * US + 59 * 60 * US, "23 h"},
        {86400 * US, "1 day"},
        {5 * 86400 * US, "5 days"},
        {2 * 86400 * US + 3 * 3600 * US, "2 days 3 h"},
        {INT64_C(36600) * 86400 * US, "36600 days"},
        {-90 * US, "-1 min 30 s"},
        {INT64_MIN, "-106751991 days"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        char text[FA_TIME_SIZE];

        fa_duration_format(cases[i].us, text);
        check_str(cases[i].text, text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times__format),
        cmocka_unit_test(test_times__parse),
        cmocka_unit_test(test_times__what_is_no_time_is_refused),
        cmocka_unit_test(test_times__a_bad_text_is_quoted_harmlessly),
        cmocka_unit_test(test_times__random_times_read_back),
        cmocka_unit_test(test_times__every_day),
        cmocka_unit_test(test_durations__parse),
        cmocka_unit_test(test_durations__refused),
        cmocka_unit_test(test_durations__random_ones_read_back),
        cmocka_unit_test(test_durations__format),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
