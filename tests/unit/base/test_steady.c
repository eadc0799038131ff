/*
 * test_steady.c - a clock that follows the wall clock without its jumps.
 *
 * Both clocks that it reads are this program's own.
 */
#include "unit/base/unit.h"

#include "base/steady.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000)
#define HOUR (3600 * SECOND)
#define START (1700000000 * SECOND)

static int64_t boot_us, wall_us;
static int64_t late_us; /* passes between two readings */

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int64_t us = clock == CLOCK_REALTIME ? wall_us : boot_us;

    if (clock != CLOCK_REALTIME && clock != CLOCK_BOOTTIME)
        return (int)syscall(SYS_clock_gettime, clock, now);
    *now = (struct timespec){.tv_sec = us / SECOND, .tv_nsec = us % SECOND * 1000};
    boot_us += late_us;
    wall_us += late_us;
    return 0;
}

static void pass(int64_t us)
{
    boot_us += us;
    wall_us += us;
}

static void start(struct fa_steady *steady)
{
    boot_us = 500 * SECOND;
    wall_us = START;
    late_us = 0;
    fa_steady_init(steady);
}

static struct fa_steady_report report_of(struct fa_steady *steady)
{
    struct fa_steady_report report;

    fa_steady_report(steady, &report);
    return report;
}

static void test_steady__is_the_wall_clock(void **state)
{
    struct fa_steady steady;

    start(&steady);
    for (int i = 0; i < 1000; i++) {
        pass(i * 7919);
        assert_int_equal(fa_steady_now(&steady), wall_us);
    }
    assert_int_equal(fa_steady_step_due(&steady), 0);
    assert_int_equal(report_of(&steady).jump_count, 0);
    fa_steady_finish(&steady);
}

/* T1: set back by an hour it takes ten hours, however often it is read. */
static void test_steady__runs_slower_when_set_back(void **state)
{
    static const int64_t strides[] = {1, 7, 1000, SECOND, HOUR};
    struct fa_steady steady;

    for (size_t i = 0; i < FA_COUNT(strides); i++) {
        int64_t before, passed = 0,
                        reads = strides[i] < SECOND ? 10000 : 36000 * SECOND / strides[i];

        start(&steady);
        wall_us -= HOUR;
        before = fa_steady_now(&steady);
        assert_int_equal(before, START);
        for (int64_t k = 0; k < reads; k++) {
            int64_t last = fa_steady_now(&steady), now;

            pass(strides[i]);
            passed += strides[i];
            now = fa_steady_now(&steady);
            assert_true(now >= last);
        }
        assert_true(fa_steady_now(&steady) - before - (passed - passed / 10) <= 1);
        assert_true(fa_steady_now(&steady) - before - (passed - passed / 10) >= -1);
        assert_int_equal(fa_steady_step_due(&steady), 0);
        fa_steady_finish(&steady);
    }
    start(&steady);
    wall_us -= HOUR;
    fa_steady_now(&steady);
    pass(10 * HOUR);
    assert_int_equal(fa_steady_now(&steady), wall_us);
    assert_int_equal(report_of(&steady).offset_us, 0);
    assert_int_equal(report_of(&steady).jump_count, 1);
    assert_int_equal(report_of(&steady).jump_us, -HOUR);
    assert_int_equal(report_of(&steady).jump_at_us, START - HOUR);
    fa_steady_finish(&steady);
}

static void test_steady__runs_faster_when_a_little_behind(void **state)
{
    struct fa_steady steady;

    start(&steady);
    wall_us += FA_STEADY_STEP_US - 1;
    assert_int_equal(fa_steady_now(&steady), START);
    assert_int_equal(fa_steady_step_due(&steady), 0);
    pass(SECOND);
    assert_int_equal(fa_steady_now(&steady), START + SECOND + SECOND / 10);
    pass(10 * SECOND);
    assert_int_equal(fa_steady_now(&steady), wall_us);
    assert_int_equal(report_of(&steady).jump_count, 0);
    fa_steady_finish(&steady);
}

/* T2: a step is the owner's to make. */
static void test_steady__steps_when_told(void **state)
{
    static const int64_t steps[] = {FA_STEADY_STEP_US, HOUR, 365 * 24 * HOUR,
                                    -FA_STEADY_BACK_US - 1, -365 * 24 * HOUR};
    struct fa_steady steady;

    for (size_t i = 0; i < FA_COUNT(steps); i++) {
        start(&steady);
        wall_us += steps[i];
        assert_int_equal(fa_steady_now(&steady), START);
        assert_int_equal(fa_steady_step_due(&steady), steps[i]);
        fa_steady_step(&steady, steps[i]);
        assert_int_equal(fa_steady_now(&steady), wall_us);
        assert_int_equal(fa_steady_step_due(&steady), 0);
        assert_int_equal(report_of(&steady).offset_us, 0);
        assert_int_equal(report_of(&steady).jump_us, steps[i]);
        fa_steady_finish(&steady);
    }
}

static void test_steady__goes_on_from_a_later_time(void **state)
{
    struct fa_steady steady;

    start(&steady);
    assert_int_equal(fa_steady_resume(&steady, 0), 0);
    assert_int_equal(fa_steady_resume(&steady, START - HOUR), 0);
    assert_int_equal(fa_steady_now(&steady), START);
    assert_int_equal(report_of(&steady).jump_count, 0);
    assert_int_equal(fa_steady_resume(&steady, START + FA_STEADY_BACK_US), 0);
    assert_int_equal(fa_steady_now(&steady), START + FA_STEADY_BACK_US);
    assert_int_equal(fa_steady_step_due(&steady), 0);
    assert_int_equal(report_of(&steady).jump_us, -FA_STEADY_BACK_US);
    fa_steady_finish(&steady);
    start(&steady);
    assert_int_equal(fa_steady_resume(&steady, START + FA_STEADY_BACK_US + 1),
                     FA_STEADY_BACK_US + 1);
    assert_int_equal(fa_steady_now(&steady), START);
    assert_int_equal(report_of(&steady).jump_count, 1);
    fa_steady_finish(&steady);
}

/* A process that is interrupted between two readings has not seen a jump. */
static void test_steady__takes_no_pause_for_a_jump(void **state)
{
    struct fa_steady steady;
    int64_t last;

    start(&steady);
    last = fa_steady_now(&steady);
    late_us = 5 * SECOND;
    pass(SECOND); /* long enough for the wall clock to be read again */
    assert_true(fa_steady_now(&steady) > last);
    late_us = 0;
    pass(SECOND);
    assert_int_equal(fa_steady_now(&steady), wall_us);
    assert_int_equal(report_of(&steady).jump_count, 0);
    fa_steady_finish(&steady);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steady__is_the_wall_clock),
        cmocka_unit_test(test_steady__runs_slower_when_set_back),
        cmocka_unit_test(test_steady__runs_faster_when_a_little_behind),
        cmocka_unit_test(test_steady__steps_when_told),
        cmocka_unit_test(test_steady__goes_on_from_a_later_time),
        cmocka_unit_test(test_steady__takes_no_pause_for_a_jump),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
