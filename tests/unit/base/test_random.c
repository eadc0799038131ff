/*
 * test_random.c - randomness as a value.
 */
#include "unit/base/unit.h"

#include "base/random.h"

static void test_random__the_same_seed_the_same_numbers(void **state)
{
    struct fa_random a, b, other;
    int same = 0;

    fa_random_seed(&a, SEED);
    fa_random_seed(&b, SEED);
    fa_random_seed(&other, SEED + 1);
    for (int i = 0; i < 1000; i++) {
        uint64_t x = fa_random_next(&a);

        assert_true(x == fa_random_next(&b));
        same += x == fa_random_next(&other);
    }
    assert_int_equal(same, 0);
}

/* The generator's first numbers from the state 1, 2, 3, 4, worked out by hand from its definition:
 * 2 * 5 = 10, rotated left by 7 = 1280, * 9 = 11520; then s[1] is 0. */
static void test_random__is_xoshiro256starstar(void **state)
{
    struct fa_random random = {{1, 2, 3, 4}};

    assert_true(fa_random_next(&random) == 11520);
    assert_true(fa_random_next(&random) == 0);
    assert_true(fa_random_next(&random) == 1509978240);
}

static void test_random__seed_zero_is_not_stuck(void **state)
{
    struct fa_random random;

    fa_random_seed(&random, 0);
    assert_true(fa_random_next(&random) != fa_random_next(&random));
}

static void test_random__system_seeds_differ(void **state)
{
    struct fa_random a, b;

    fa_random_seed_system(&a);
    fa_random_seed_system(&b);
    assert_true(fa_random_next(&a) != fa_random_next(&b));
}

static void test_random__below_is_uniform_and_within(void **state)
{
    static const uint64_t bounds[] = {1, 2, 3, 7, 1000, UINT64_C(1) << 63, UINT64_MAX};
    struct fa_random random;
    int counts[7] = {0};

    fa_random_seed(&random, SEED);
    for (size_t i = 0; i < FA_COUNT(bounds); i++) {
        for (int k = 0; k < 1000; k++)
            assert_true(fa_random_below(&random, bounds[i]) < bounds[i]);
    }
    for (int i = 0; i < 70000; i++)
        counts[fa_random_below(&random, 7)]++;
    for (int i = 0; i < 7; i++)
        assert_in_range(counts[i], 9500, 10500); /* five standard deviations */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random__the_same_seed_the_same_numbers),
        cmocka_unit_test(test_random__is_xoshiro256starstar),
        cmocka_unit_test(test_random__seed_zero_is_not_stuck),
        cmocka_unit_test(test_random__system_seeds_differ),
        cmocka_unit_test(test_random__below_is_uniform_and_within),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
