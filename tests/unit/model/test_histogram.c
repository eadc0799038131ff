/* test_histogram.c - ranges of durations, and their quantiles. */
#include "unit/base/unit.h"

#include "model/histogram.h"

static void test_histogram__quantiles_are_near(void **state)
{
    static const int64_t values[] = {
        0, 1, 7, 8, 9, 1000, 1234567, INT64_C(3600000000), INT64_C(86400000000)};

    for (size_t i = 0; i < FA_COUNT(values); i++) {
        struct fa_histogram histogram = {{0}};
        int64_t got;

        fa_histogram_add(&histogram, values[i]);
        got = fa_histogram_quantile(&histogram, 0.5);
        assert_true(got >= values[i] - values[i] / 16 - 1 && got <= values[i] + values[i] / 16 + 1);
        assert_int_equal(fa_histogram_quantile(&histogram, 0.99), got);
    }
}

static void test_histogram__parts_of_many(void **state)
{
    struct fa_histogram histogram = {{0}};

    assert_int_equal(fa_histogram_quantile(&histogram, 0.5), 0);
    for (int i = 1; i <= 1000; i++)
        fa_histogram_add(&histogram, i * 1000);
    assert_int_equal(fa_histogram_total(&histogram), 1000);
    assert_in_range(fa_histogram_quantile(&histogram, 0.5), 465000, 535000);
    assert_in_range(fa_histogram_quantile(&histogram, 0.95), 890000, 1015000);
    assert_in_range(fa_histogram_quantile(&histogram, 0.99), 925000, 1055000);
}

static void test_histogram__extremes(void **state)
{
    struct fa_histogram histogram = {{0}};

    fa_histogram_add(&histogram, -5);
    assert_int_equal(fa_histogram_quantile(&histogram, 1), 0);
    fa_histogram_add(&histogram, INT64_MAX);
    assert_true(fa_histogram_quantile(&histogram, 1) > INT64_C(1000000) * 3600 * 24 * 12);
    histogram.counts[0] = UINT32_MAX;
    fa_histogram_add(&histogram, 0); /* stays at its maximum */
    assert_int_equal(histogram.counts[0], UINT32_MAX);
}

static void test_histogram__reads_what_it_writes(void **state)
{
    struct fa_histogram histogram = {{0}}, other = {{0}};
    struct fa_buf buf;

    fa_buf_init(&buf, 1 << 16);
    fa_histogram_format(&histogram, &buf);
    assert_int_equal(buf.len, 0);
    for (int64_t us = 1; us < INT64_C(100000000); us = us * 3 + 1)
        fa_histogram_add(&histogram, us);
    fa_histogram_format(&histogram, &buf);
    fa_histogram_parse((struct fa_bytes){buf.ptr, buf.len}, &other);
    assert_memory_equal(&histogram, &other, sizeof(other));
    fa_histogram_merge(&other, &histogram);
    assert_int_equal(fa_histogram_total(&other), 2 * fa_histogram_total(&histogram));
    fa_buf_finish(&buf);
}

static void test_histogram__damaged_text_is_left_out(void **state)
{
    static const char *const texts[] = {
        "", " ", "x", "1", "1:", ":1", "1:x", "400:1", "99999999999999999999:1", "-1:5"};

    for (size_t i = 0; i < FA_COUNT(texts); i++) {
        struct fa_histogram histogram = {{0}};

        fa_histogram_parse(fa_str(texts[i]), &histogram);
        assert_int_equal(fa_histogram_total(&histogram), 0);
        fa_histogram_parse(fa_str("3:2 zz 4:1"), &histogram);
        assert_int_equal(fa_histogram_total(&histogram), 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_histogram__quantiles_are_near),
        cmocka_unit_test(test_histogram__parts_of_many),
        cmocka_unit_test(test_histogram__extremes),
        cmocka_unit_test(test_histogram__reads_what_it_writes),
        cmocka_unit_test(test_histogram__damaged_text_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
