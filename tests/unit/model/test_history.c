/* test_history.c - the steps of a range. */
#include "unit/base/unit.h"

#include "model/history.h"

#define MIN FA_HISTORY_MINUTE_US
#define HOUR FA_HISTORY_HOUR_US
#define DAY (24 * HOUR)
#define NOW (INT64_C(20000) * DAY + 10 * MIN + 5) /* ten minutes past midnight */

static void test_history__ranges(void **state)
{
    static const struct {
        const char *name;
        int64_t from, to, step_ms;
        int64_t want_from, want_step;
        size_t want_count; /* 0: refused */
    } cases[] = {
        {"the last hour", 0, 0, 0, NOW - NOW % MIN - HOUR, MIN, 61},
        {"steps of five minutes", NOW - HOUR, NOW, 300000, NOW - NOW % (5 * MIN) - HOUR, 5 * MIN,
         13},
        {"the present alone", NOW - 1, 0, 60000, NOW - NOW % MIN, MIN, 1},
        {"a day has few steps", NOW - DAY, 0, 0, NOW - NOW % (5 * MIN) - DAY, 5 * MIN, 289},
        {"all minutes", NOW - 71 * HOUR, 0, 60000, NOW - NOW % MIN - 71 * HOUR, MIN, 4261},
        {"older than the minutes", NOW - 4 * DAY, 0, 60000, NOW - NOW % HOUR - 4 * DAY, HOUR, 97},
        {"half hours become hours", NOW - 4 * DAY, 0, 5400000, NOW - NOW % (2 * HOUR) - 4 * DAY,
         2 * HOUR, 49},
        {"ten years begin where the hours do", NOW - 3650 * DAY, 0, 3600000,
         NOW - NOW % HOUR - 90 * DAY, HOUR, 2161},
        {"too many steps", NOW - 72 * HOUR, NOW + 300 * HOUR, 60000, NOW - NOW % MIN - 72 * HOUR,
         MIN, 4322},
        {"the future is left out", NOW, NOW + DAY, 60000, NOW - NOW % MIN, MIN, 2},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_history_query query = {
            .from_us = cases[i].from, .to_us = cases[i].to, .step_ms = cases[i].step_ms};
        struct fa_history_range range;

        assert_int_equal(fa_history_range_of(&query, NOW, &range, NULL), FAINA_OK);
        if (range.from_us != cases[i].want_from || range.step_us != cases[i].want_step ||
            range.count != cases[i].want_count)
            fail_msg("%s: from %lld step %lld count %zu", cases[i].name, (long long)range.from_us,
                     (long long)range.step_us, range.count);
    }
}

static void test_history__refused(void **state)
{
    static const struct {
        int64_t from, to, step_ms;
        const char *field;
    } cases[] = {
        {NOW, NOW, 0, "from"}, {NOW, NOW - 1, 0, "from"}, {0, 0, 1000, "step"},
        {0, 0, 90000, "step"}, {0, 0, -60000, "step"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_history_query query = {
            .from_us = cases[i].from, .to_us = cases[i].to, .step_ms = cases[i].step_ms};
        struct fa_history_range range;
        struct faina_error err = {0};

        assert_int_equal(fa_history_range_of(&query, NOW, &range, &err), FAINA_INVALID_REQUEST);
        assert_string_equal(err.field, cases[i].field);
    }
}

static void test_history__nothing_is_kept_of_long_ago(void **state)
{
    struct fa_history_query query = {.from_us = NOW - 200 * DAY, .to_us = NOW - 100 * DAY};
    struct fa_history_range range;

    assert_int_equal(fa_history_range_of(&query, NOW, &range, NULL), FAINA_OK);
    assert_int_equal(range.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_history__ranges),
        cmocka_unit_test(test_history__refused),
        cmocka_unit_test(test_history__nothing_is_kept_of_long_ago),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
