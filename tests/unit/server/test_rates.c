/*
 * test_rates.c - tasks a second: what counts, for how long, and for whom.
 */
#include "unit/base/unit.h"

#include "server/rates.h"

#include <stdio.h>

#define SECOND INT64_C(1000000)
#define START (INT64_C(1767225600) * SECOND)

static void submit(struct fa_rates *rates, const char *ns, const char *type, size_t count,
                   int64_t now_us)
{
    struct fa_kind kinds[1000];

    for (size_t i = 0; i < count; i++)
        kinds[i] = (struct fa_kind){ns, type};
    fa_rates_count(rates, &(struct fa_commit_stats){.submitted = kinds, .submitted_count = count},
                   now_us);
}

static void test_rates__a_second_over_a_minute(void **state)
{
    struct fa_rates *rates = fa_rates_create(START - 3600 * SECOND);

    submit(rates, "a", "t", 120, START + 5 * SECOND);
    assert_true(fa_rates_of(rates, "a", "t", START + 10 * SECOND).submitted == 2);
    assert_true(fa_rates_of(rates, "b", "t", START + 10 * SECOND).submitted == 0);
    assert_true(fa_rates_of(rates, "a", "u", START + 10 * SECOND).submitted == 0);
    assert_true(fa_rates_of(rates, "a", "t", START + 60 * SECOND).submitted == 2);
    assert_true(fa_rates_of(rates, "a", "t", START + 70 * SECOND).submitted == 0);
    fa_rates_destroy(rates);
}

/* A server that has just started has no minute behind it. */
static void test_rates__from_the_start(void **state)
{
    struct fa_rates *rates = fa_rates_create(START);

    submit(rates, "a", "t", 10, START);
    assert_true(fa_rates_of(rates, "a", "t", START).submitted == 10);
    assert_true(fa_rates_of(rates, "a", "t", START + 5 * SECOND).submitted == 2);
    fa_rates_destroy(rates);
}

static void test_rates__ends_by_status(void **state)
{
    struct fa_rates *rates = fa_rates_create(START - SECOND);
    const struct fa_task_end ended[] = {{.kind = {"a", "t"}, .status = FAINA_COMPLETED},
                                        {.kind = {"a", "t"}, .status = FAINA_COMPLETED},
                                        {.kind = {"a", "t"}, .status = FAINA_DEAD_LETTER}};
    struct fa_rate rate;

    fa_rates_count(rates, &(struct fa_commit_stats){.ended = ended, .ended_count = 3}, START);
    rate = fa_rates_of(rates, "a", "t", START);
    assert_true(rate.ended[FAINA_COMPLETED] == 2);
    assert_true(rate.ended[FAINA_DEAD_LETTER] == 1);
    assert_true(rate.ended[FAINA_FAILED] == 0);
    assert_true(rate.submitted == 0);
    fa_rates_destroy(rates);
}

static void test_rates__too_many_types_are_left_out(void **state)
{
    struct fa_rates *rates = fa_rates_create(START - SECOND);
    char type[32];

    for (int i = 0; i < FA_RATES_MAX + 10; i++) {
        snprintf(type, sizeof(type), "t%d", i);
        submit(rates, "a", type, 1, START);
    }
    assert_true(fa_rates_of(rates, "a", "t999", START).submitted == 1);
    assert_true(fa_rates_of(rates, "a", "t1000", START).submitted == 0);
    submit(rates, "a", "t0", 1, START);
    assert_true(fa_rates_of(rates, "a", "t0", START).submitted == 2);
    fa_rates_destroy(rates);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates__a_second_over_a_minute),
        cmocka_unit_test(test_rates__from_the_start),
        cmocka_unit_test(test_rates__ends_by_status),
        cmocka_unit_test(test_rates__too_many_types_are_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
