/*
 * test_json_compare.c - scalars compared in place.
 */
#include "unit/base/unit.h"

#include "json/json_compare.h"
#include "base/random.h"

static int sign(int value)
{
    return (value > 0) - (value < 0);
}

static void test_json_compare__numbers(void **state)
{
    static const struct {
        const char *a, *b;
        int order;
    } cases[] = {
        {"0", "0", 0},
        {"0", "-0", 0},
        {"0.000", "0e9", 0},
        {"1", "0", 1},
        {"-1", "0", -1},
        {"-1", "1", -1},
        {"9007199254740993", "9007199254740992", 1},
        {"1", "1.0", 0},
        {"10", "1e1", 0},
        {"10", "1E+1", 0},
        {"0.1", "1e-1", 0},
        {"0.001", "1e-3", 0},
        {"123.456", "0.123456e3", 0},
        {"123.456", "123456e-3", 0},
        {"100", "99.99999", 1},
        {"-100", "-99.99999", -1},
        {"1e400", "1e399", 1},
        {"-1e400", "1e-400", -1},
        {"1e-400", "0", 1},
        {"0.30000000000000004", "0.3", 1},
        {"1e1000000000000000", "1e999999999999999", 1},
        {"1e-99999999999999999999", "1e99999999999999999999", -1},
        {"12", "1200", -1},
        {"1.20", "1.2000", 0},
        {"1.20", "1.20001", -1},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_bytes a = fa_str(cases[i].a), b = fa_str(cases[i].b);

        check_int(cases[i].a, sign(fa_json_number_compare(a, b)), cases[i].order);
        check_int(cases[i].b, sign(fa_json_number_compare(b, a)), -cases[i].order);
    }
}

/* The same number in any of its spellings. */
static void test_json_compare__spellings(void **state)
{
    struct fa_random random;

    fa_random_seed(&random, SEED);
    for (int i = 0; i < 50000; i++) {
        int64_t a = (int64_t)fa_random_below(&random, 2000) - 1000;
        int64_t b = (int64_t)fa_random_below(&random, 2000) - 1000;
        char x[64], y[64];

        snprintf(x, sizeof(x), "%lld", (long long)a);
        if (fa_random_below(&random, 2))
            snprintf(y, sizeof(y), "%lld.000e%d", (long long)b, 0);
        else
            snprintf(y, sizeof(y), "%lld0000e-4", (long long)b);
        check_int(x, sign(fa_json_number_compare(fa_str(x), fa_str(y))), (a > b) - (a < b));
    }
}

static void test_json_compare__number_length(void **state)
{
    static const struct {
        const char *text;
        size_t length;
    } cases[] = {
        {"0", 1},  {"-0", 2}, {"01", 1},    {"12.5e-3x", 7}, {"1.", 1},
        {".5", 0}, {"-", 0},  {"1e", 1},    {"1e+", 1},      {"1e+5", 4},
        {"", 0},   {"+1", 0}, {"1.5.2", 3}, {"-12 ", 3},     {"1E05", 4},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++)
        check_int(cases[i].text, (int64_t)fa_json_number_length(fa_str(cases[i].text)),
                  (int64_t)cases[i].length);
}

/* Writes random text twice: plain, and with random escapes. */
static size_t make_text(struct fa_random *random, char *plain, char *escaped)
{
    size_t len = fa_random_below(random, 12), at = 0;

    for (size_t i = 0; i < len; i++) {
        plain[i] = (char)('a' + fa_random_below(random, 3));
        if (fa_random_below(random, 3) == 0)
            at += (size_t)snprintf(escaped + at, 8, "\\u%04x", (unsigned)plain[i]);
        else
            escaped[at++] = plain[i];
    }
    plain[len] = escaped[at] = '\0';
    return len;
}

/* All questions about text with escapes have the answers that they have about the plain text. */
static void test_json_compare__escapes_change_nothing(void **state)
{
    struct fa_random random;

    fa_random_seed(&random, SEED);
    for (int i = 0; i < 50000; i++) {
        char a[16], b[16], raw_a[128], raw_b[128];
        uint16_t fail[16];
        struct fa_needle needle;
        struct fa_json_chars text;
        size_t na = make_text(&random, a, raw_a), nb = make_text(&random, b, raw_b);

        nb = nb > 4 ? nb % 4 : nb;
        needle = fa_needle_init((struct fa_bytes){b, nb}, fail);
        text = fa_json_chars_raw(fa_str(raw_a));
        check_int(raw_a, sign(fa_json_chars_compare(text, fa_json_chars_raw(fa_str(raw_b)))),
                  sign(strcmp(a, b)));
        check_true(raw_a, fa_json_chars_equal(text, fa_json_chars_plain(fa_str(a))));
        check_int(raw_a, fa_json_chars_hash(text),
                  fa_json_chars_hash(fa_json_chars_plain(fa_str(a))));
        check_int(raw_a, fa_json_chars_contain(text, &needle), memmem(a, na, b, nb) != NULL);
        check_int(raw_a, fa_json_chars_start_with(text, needle.text),
                  na >= nb && memcmp(a, b, nb) == 0);
        check_int(raw_a, fa_json_chars_end_with(text, &needle),
                  na >= nb && memcmp(a + na - nb, b, nb) == 0);
    }
}

static void test_json_compare__escapes(void **state)
{
    static const struct {
        const char *raw, *plain;
    } cases[] = {
        {"\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t"},
        {"\\u0041\\u00e9\\u20ac\\ud83d\\ude00", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"", ""},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++)
        check_true(cases[i].raw, fa_json_chars_equal(fa_json_chars_raw(fa_str(cases[i].raw)),
                                                     fa_json_chars_plain(fa_str(cases[i].plain))));
    assert_true(fa_json_chars_equal(fa_json_chars_plain((struct fa_bytes){NULL, 0}),
                                    fa_json_chars_plain(FA_LIT(""))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_compare__numbers),
        cmocka_unit_test(test_json_compare__spellings),
        cmocka_unit_test(test_json_compare__number_length),
        cmocka_unit_test(test_json_compare__escapes_change_nothing),
        cmocka_unit_test(test_json_compare__escapes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
