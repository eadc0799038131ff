/*
 * test_backoff.c - how long a failed task waits.
 */
#include "unit/base/unit.h"

#include "model/backoff.h"
#include "model/limits.h"

static void test_backoff__zero_means_default(void **state)
{
    struct faina_retry_policy policy = fa_backoff_policy((struct faina_retry_policy){0});

    assert_int_equal(policy.base_ms, 15000);
    assert_true(policy.factor == 8);
    assert_int_equal(policy.max_ms, 21600000);
    policy = fa_backoff_policy((struct faina_retry_policy){5, 1.5, 70});
    assert_int_equal(policy.base_ms, 5);
    assert_true(policy.factor == 1.5);
    assert_int_equal(policy.max_ms, 70);
}

static void test_backoff__ceiling(void **state)
{
    static const struct {
        const char *name;
        struct faina_retry_policy policy;
        int64_t attempts, ceiling_ms;
    } cases[] = {
        {"default, first", {0}, 1, 15000},
        {"default, second", {0}, 2, 120000},
        {"default, third", {0}, 3, 960000},
        {"default, fourth", {0}, 4, 7680000},
        {"default, fifth is capped", {0}, 5, 21600000},
        {"default, very many", {0}, INT64_MAX, 21600000},
        {"no attempt counts as the first", {0}, 0, 15000},
        {"constant", {700, 1, 5000}, 1000000, 700},
        {"factor 1.5", {1000, 1.5, 3600000}, 3, 2250},
        {"base above the maximum", {9000, 2, 5000}, 1, 5000},
        {"a fraction is dropped", {1, 1.5, 0}, 2, 1},
        {"the longest", {FA_DURATION_MS_MAX, 1000, FA_DURATION_MS_MAX}, 1000, FA_DURATION_MS_MAX},
        {"not even more", {1000, 1e300, INT64_MAX}, 1000, FA_DURATION_MS_MAX},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++)
        check_int(cases[i].name, fa_backoff_ceiling_ms(cases[i].policy, cases[i].attempts),
                  cases[i].ceiling_ms);
}

static void test_backoff__wait_is_uniform_in_the_upper_half(void **state)
{
    const struct faina_retry_policy policy = {1000, 2, 3600000};
    struct fa_random random;
    int low = 0, high = 0;

    fa_random_seed(&random, SEED);
    for (int i = 0; i < 10000; i++) {
        int64_t wait_us = fa_backoff_us(policy, 3, &random);

        assert_true(wait_us >= 2000000);
        assert_true(wait_us <= 4000000);
        low += wait_us < 2500000;
        high += wait_us >= 3500000;
    }
    assert_in_range(low, 2280, 2720); /* a quarter, within five standard deviations */
    assert_in_range(high, 2280, 2720);
}

static void test_backoff__longest_wait_does_not_overflow(void **state)
{
    const struct faina_retry_policy policy = {INT64_MAX, 2, INT64_MAX};
    struct fa_random random;

    fa_random_seed(&random, SEED);
    for (int i = 0; i < 1000; i++) {
        int64_t wait_us = fa_backoff_us(policy, INT64_MAX, &random);

        assert_true(wait_us >= 0);
        assert_true(wait_us <= FA_DURATION_MS_MAX * 1000);
    }
}

static void test_backoff__total_of_all_attempts(void **state)
{
    static const struct {
        const char *name;
        struct faina_retry_policy policy;
        int64_t attempts, total_ms;
    } cases[] = {
        {"one attempt has no wait", {0}, 1, 0},
        {"the default", {0}, 4, 15000 + 120000 + 960000},
        {"constant, many", {700, 1, 5000}, 1000001, 700000000},
        {"capped", {1000, 2, 3000}, 6, 1000 + 2000 + 3 * 3000},
        {"beyond the range", {FA_DURATION_MS_MAX, 1, FA_DURATION_MS_MAX}, INT64_MAX, INT64_MAX},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++)
        check_int(cases[i].name, fa_backoff_total_ms(cases[i].policy, cases[i].attempts),
                  cases[i].total_ms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backoff__zero_means_default),
        cmocka_unit_test(test_backoff__ceiling),
        cmocka_unit_test(test_backoff__wait_is_uniform_in_the_upper_half),
        cmocka_unit_test(test_backoff__total_of_all_attempts),
        cmocka_unit_test(test_backoff__longest_wait_does_not_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
