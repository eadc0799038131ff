/*
 * test_clock.c - the two clocks.
 */
#include "unit/base/unit.h"

#include "base/clock.h"

static void test_clock__wall_is_microseconds_since_1970(void **state)
{
    /* After 2020 and before 2200: no other unit fits. */
    assert_true(fa_clock_now_us() > INT64_C(1577836800000000));
    assert_true(fa_clock_now_us() < INT64_C(7258118400000000));
}

static void test_clock__monotonic_never_steps_back(void **state)
{
    int64_t last_ns = fa_clock_mono_ns(), last_us = fa_clock_mono_us();

    for (int i = 0; i < 10000; i++) {
        int64_t ns = fa_clock_mono_ns(), us = fa_clock_mono_us();

        assert_true(ns >= last_ns);
        assert_true(us >= last_us);
        assert_true(us >= ns / 1000);
        last_ns = ns;
        last_us = us;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock__wall_is_microseconds_since_1970),
        cmocka_unit_test(test_clock__monotonic_never_steps_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
