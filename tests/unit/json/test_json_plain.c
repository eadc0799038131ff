/* test_json_plain.c - what the fast path accepts is valid; it leaves the rest to the full check. */
#include "json/json_inner.h"
#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static bool is_plain(const char *text)
{
    return fa_json_is_plain(fa_str(text), 64);
}

static void test_json_plain__accepts_what_is_plain(void **state)
{
    static const char *const texts[] = {
        "{}",
        "[]",
        "null",
        "true",
        "false",
        "0",
        "-0",
        "12.5e-3",
        "1E+9",
        "\"\"",
        "\"abc\"",
        " { \"a\" : [ 1 , { \"b\" : null } ] , \"c\" : \"d\" } \n",
        "[[[[[[[[1]]]]]]]]",
    };

    (void)state;
    for (size_t i = 0; i < FA_COUNT(texts); i++) {
        if (!is_plain(texts[i]))
            fail_msg("not plain: %s", texts[i]);
    }
}

static void test_json_plain__leaves_the_rest(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "{",
        "}",
        "[1",
        "[1,]",
        "[,1]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "01",
        "1.",
        ".5",
        "-",
        "+1",
        "1e",
        "1e+",
        "tru",
        "nul",
        "truee",
        "\"a",
        "a",
        "1 2",
        "{}{}",
        "{\"a\":1,\"a\":2}", /* a duplicate key */
        "\"\\n\"",           /* an escape */
        "\"\xc3\xa4\"",      /* not ASCII */
        "\"\x01\"",
        "\"\x7f\"",
        "\v1",
        "\f1",
        "[[[[[[[[[1]]]]]]]]]", /* deeper than its limit */
    };

    (void)state;
    for (size_t i = 0; i < FA_COUNT(texts); i++) {
        if (is_plain(texts[i]))
            fail_msg("plain: %s", texts[i]);
    }
    assert_false(fa_json_is_plain((struct fa_bytes){"1\0", 2}, 64)); /* NUL behind the value */
    assert_false(fa_json_is_plain((struct fa_bytes){"[\0]", 3}, 64));
    assert_true(fa_json_is_plain((struct fa_bytes){"12", 1}, 64)); /* the slice ends it */
}

static void test_json_plain__depth_limit_of_the_caller_holds(void **state)
{
    (void)state;
    assert_true(fa_json_is_plain(fa_str("[[1]]"), 2));
    assert_false(fa_json_is_plain(fa_str("[[1]]"), 1));
    assert_false(fa_json_is_plain(fa_str("{\"a\":{}}"), 1));
    assert_true(fa_json_is_plain(fa_str("1"), 0));
}

/* Texts made of fitting pieces: often valid, often nearly so. */
static void test_json_plain__never_accepts_what_the_long_way_refuses(void **state)
{
    static const char *const pieces[] = {"{",     "}", "[",  "]",  ",",   ":", "\"a\"",
                                         "\"b\"", "1", "-",  "0",  ".",   "e", "null",
                                         "true",  " ", "\\", "\"", "\xff"};
    struct fa_random random;
    int accepted = 0;

    (void)state;
    fa_random_seed(&random, 7);
    for (int i = 0; i < 200000; i++) {
        char text[64] = "";
        size_t len = 0, count = 1 + fa_random_below(&random, 9);

        for (size_t k = 0; k < count; k++)
            len += (size_t)snprintf(text + len, sizeof(text) - len, "%s",
                                    pieces[fa_random_below(&random, FA_COUNT(pieces))]);
        if (!is_plain(text))
            continue;
        accepted++;
        if (fa_json_check_long(fa_str(text), 64, "x", FAINA_INVALID_TASK, NULL) != FAINA_OK)
            fail_msg("plain but not valid: %s", text);
    }
    assert_true(accepted > 100);
}

/* Up to 48 keys it finds a duplicate at any position. */
static void test_json_plain__many_keys(void **state)
{
    (void)state;
    for (int count = 1; count <= 49; count++) {
        for (int twice = -1; twice < count; twice++) {
            char text[49 * 12 + 64] = "{";

            for (int i = 0; i < count; i++)
                snprintf(text + strlen(text), 12, "%s\"k%d\":1", i ? "," : "", i);
            if (twice >= 0)
                snprintf(text + strlen(text), 12, ",\"k%d\":1", twice);
            snprintf(text + strlen(text), 2, "}");
            assert_int_equal(is_plain(text), twice < 0 && count <= 48);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_plain__accepts_what_is_plain),
        cmocka_unit_test(test_json_plain__leaves_the_rest),
        cmocka_unit_test(test_json_plain__many_keys),
        cmocka_unit_test(test_json_plain__depth_limit_of_the_caller_holds),
        cmocka_unit_test(test_json_plain__never_accepts_what_the_long_way_refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
