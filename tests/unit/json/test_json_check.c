/*
 * test_json_check.c - accepted and refused JSON, with the position of the first mistake.
 */
#include "unit/base/unit.h"

#include "base/clock.h"
#include "json/json.h"

#define DEPTH 4

static const struct {
    const char *text;
    const char *why; /* NULL: accepted */
    int line, column;
} cases[] = {
    /* Accepted. */
    {"null", NULL, 0, 0},
    {" true ", NULL, 0, 0},
    {"false", NULL, 0, 0},
    {"0", NULL, 0, 0},
    {"-0", NULL, 0, 0},
    {"-12.5e+3", NULL, 0, 0},
    {"1E400", NULL, 0, 0},
    {"\"\"", NULL, 0, 0},
    {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"", NULL, 0, 0},
    {"\"\\ud83d\\ude00\"", NULL, 0, 0},
    {"\"\\uD83D\\uDE00\"", NULL, 0, 0},
    {"\"\\\\ud800\"", NULL, 0, 0},
    {"\"\x7f\xc3\xa9\xf0\x9f\x98\x80\"", NULL, 0, 0},
    {"[]", NULL, 0, 0},
    {"{}", NULL, 0, 0},
    {"\t{\r\n\"a\" : [ 1 , 2 ] }\n", NULL, 0, 0},
    {"[[[[]]]]", NULL, 0, 0},
    {"{\"a\":{\"a\":{\"a\":{\"a\":1}}}}", NULL, 0, 0},
    {"[{\"a\":1},{\"a\":2}]", NULL, 0, 0},
    {"{\"a\":{\"b\":1},\"b\":2}", NULL, 0, 0},
    {"{\"\":1,\"a\":2,\"A\":3}", NULL, 0, 0},

    /* The grammar. */
    {"", "the text is empty", 1, 1},
    {" \n ", "the text is empty", 2, 2},
    {"{\"a\":", "the text ends too early", 1, 6},
    {"[1,\n2", "the text ends too early", 2, 2},
    {"\"abc", "the text ends too early", 1, 5},
    {"\"abc\\", "the text ends too early", 1, 6},
    {"tru", "the text ends too early", 1, 4},
    {"[trux]", "an unknown word", 1, 5},
    {"nil", "an unknown word", 1, 2},
    {"1 2", "something follows the value", 1, 3},
    {"01", "something follows the value", 1, 2},
    {"{} x", "something follows the value", 1, 4},
    {"{\"a\":1}}", "something follows the value", 1, 8},
    {"null,", "something follows the value", 1, 5},
    {"1\"", "something follows the value", 1, 2},
    {"\"a\"\"", "something follows the value", 1, 4},
    {"null \"a", "something follows the value", 1, 6},
    {"{\"a\":[]} \"", "something follows the value", 1, 10},
    {"[]\n tru", "something follows the value", 2, 2},
    {"[]-", "something follows the value", 1, 3},
    {"1/", "something follows the value", 1, 2},
    {"]", "a value was expected", 1, 1},
    {"[1,]", "a value was expected", 1, 4},
    {"[,1]", "a value was expected", 1, 2},
    {"{\"a\":}", "a value was expected", 1, 6},
    {"[}", "a value was expected", 1, 2},
    {"{1:2}", "a key in quotes was expected", 1, 2},
    {"{\"a\":1,}", "a key in quotes was expected", 1, 8},
    {"{]", "a key in quotes was expected", 1, 2},
    {"{\"a\" 1}", "\":\" was expected", 1, 6},
    {"{\"a\",1}", "\":\" was expected", 1, 5},
    {"{\"a\":1 \"b\":2}", "\",\" or \"}\" was expected", 1, 8},
    {"{\"a\":1\"\"}", "\",\" or \"}\" was expected", 1, 7},
    {"{\"a\":\"\"5}", "\",\" or \"}\" was expected", 1, 8},
    {"{\"a\":[1]2}", "\",\" or \"}\" was expected", 1, 9},
    {"{\"a\":1]", "\",\" or \"}\" was expected", 1, 7},
    {"{\"a\":1:2}", "\",\" or \"}\" was expected", 1, 7},
    {"[1 \"a\"]", "\",\" or \"]\" was expected", 1, 4},
    {"[1}", "\",\" or \"]\" was expected", 1, 3},
    {"{a:1}", "an unexpected character", 1, 2},
    {"NaN", "an unexpected character", 1, 1},
    {"+1", "an unexpected character", 1, 1},
    {".5", "an unexpected character", 1, 1},
    {"'a'", "an unexpected character", 1, 1},
    {"\xef\xbb\xbf{}", "an unexpected character", 1, 1},
    {"[-]", "a digit is missing after the minus sign", 1, 3},
    {"[1.]", "a digit is missing after the decimal point", 1, 4},
    {"[1e]", "a digit is missing in the exponent", 1, 4},
    {"-", "the text ends too early", 1, 2},
    {"/* no */ 1", "comments are not allowed", 1, 1},
    {"\"\\q\"", "an unknown escape", 1, 3},
    {"\"\\u12g4\"", "four hexadecimal digits must follow \\u", 1, 6},
    {"\"\\u12\"", "four hexadecimal digits must follow \\u", 1, 6},
    {"\"a\nb\"", "a control character in a string", 1, 3},
    {"\"a\x1f\"", "a control character in a string", 1, 3},
    {"[1,\v2]", "a control character is not allowed", 1, 4},
    {"[1,\f2]", "a control character is not allowed", 1, 4},

    /* The additional rules. */
    {"\"\\u0000\"", "\\u0000 is not allowed", 1, 2},
    {"{\"a\\u0000\":1}", "\\u0000 is not allowed", 1, 4},
    {"\"\\ud800\"", "half of a surrogate pair", 1, 2},
    {"\"x\\udc00\"", "half of a surrogate pair", 1, 3},
    {"\"\\ud800\\u0041\"", "half of a surrogate pair", 1, 2},
    {"\"\\ud800\\ud800\\udc00\"", "half of a surrogate pair", 1, 2},
    {"\"\\udfff", "half of a surrogate pair", 1, 2},
    {"\"\\ud800\\udc0\"", "half of a surrogate pair", 1, 2},
    {"\"\xff\"", "invalid UTF-8", 1, 2},
    {"[1,\xc3(]", "invalid UTF-8", 1, 4},
    {"\"\xed\xa0\x80\"", "invalid UTF-8", 1, 2},
    {"\"\xc0\xaf\"", "invalid UTF-8", 1, 2},
    {"[[[[[1]]]]]", "nested deeper than 4 levels", 1, 5},
    {"{\"a\":[{\"b\":[{\"c\":1}]}]}", "nested deeper than 4 levels", 1, 13},
    {"{\"a\":1, \"a\":2}", "duplicate key \"a\"", 1, 9},
    {"{\"a\":1,\"\\u0061\":2}", "duplicate key \"\\u0061\"", 1, 8},
    {"{\"\\u0061\":1,\"a\":2}", "duplicate key \"a\"", 1, 13},
    {"{\"\\u00e9\":1,\"\xc3\xa9\":2}", "duplicate key \"\xc3\xa9\"", 1, 13},
    {"{\"\":1,\"\":2}", "duplicate key \"\"", 1, 7},
    {"{\"a\\\"\":1,\"a\\\"\":2}", "duplicate key \"a\\\"\"", 1, 10},
    {"{\n \"a\": 1,\n \"b\": {},\n \"a\": 3}", "duplicate key \"a\"", 4, 2},
    {"{\"a\":{\"b\":1,\"b\":2},\"a\":1}", "duplicate key \"b\"", 1, 13},
    {"{\"a\":[{\"a\":1}],\"a\":2}", "duplicate key \"a\"", 1, 16},

    /* Of several mistakes, the first in the text. */
    {"{\"a\":1,\"a\":\"\\u0000\"}", "duplicate key \"a\"", 1, 8},
    {"{\"a\":bad,\"b\":\"\xff\"}", "an unexpected character", 1, 6},
    {"[\"\\ud800\",\"\xff\",]", "half of a surrogate pair", 1, 3},
    {"[\"\xff\",\"\\ud800\"]", "invalid UTF-8", 1, 3},
    {"[[[[[\"\\u0000\"]]]]]", "nested deeper than 4 levels", 1, 5},
};

static void test_json__accepted_and_refused(void **state)
{
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        const char *text = cases[i].text;
        struct faina_error err = {0};
        enum faina_code code =
            fa_json_check(fa_str(text), DEPTH, "input", FAINA_INVALID_TASK, &err);
        char message[256];

        check_int(text, code, cases[i].why ? FAINA_INVALID_TASK : FAINA_OK);
        check_int(text, fa_json_check(fa_str(text), DEPTH, "x", FAINA_INTERNAL, NULL),
                  cases[i].why ? FAINA_INTERNAL : FAINA_OK);
        if (!cases[i].why)
            continue;
        snprintf(message, sizeof(message), "input: %s at line %d, column %d", cases[i].why,
                 cases[i].line, cases[i].column);
        check_str(text, err.message, message);
        check_str(text, err.field, "input");
        check_int(text, err.code, FAINA_INVALID_TASK);
        check_int(text, err.line, cases[i].line);
        check_int(text, err.column, cases[i].column);
    }
}

static void test_json__raw_nul_is_refused(void **state)
{
    struct faina_error err;

    assert_int_equal(fa_json_check(FA_LIT("\"a\0b\""), DEPTH, "x", FAINA_INVALID_TASK, &err),
                     FAINA_INVALID_TASK);
    assert_int_equal(err.column, 3);
    assert_int_equal(fa_json_check(FA_LIT("1\0"), DEPTH, "x", FAINA_INVALID_TASK, &err),
                     FAINA_INVALID_TASK);
    assert_int_equal(err.column, 2);
    assert_int_equal(fa_json_check(FA_LIT("[\0]"), DEPTH, "x", FAINA_INVALID_TASK, &err),
                     FAINA_INVALID_TASK);
    assert_int_equal(err.column, 2);
}

/* The slice ends where it ends, whatever comes after. */
static void test_json__reads_only_the_slice(void **state)
{
    char *exact = fa_alloc(3);

    memcpy(exact, "[1]", 3);
    assert_int_equal(fa_json_check((struct fa_bytes){exact, 3}, DEPTH, "x", FAINA_INTERNAL, NULL),
                     FAINA_OK);
    for (size_t len = 0; len < 3; len++)
        assert_int_equal(
            fa_json_check((struct fa_bytes){exact, len}, DEPTH, "x", FAINA_INTERNAL, NULL),
            FAINA_INTERNAL);
    assert_int_equal(fa_json_check((struct fa_bytes){NULL, 0}, DEPTH, "x", FAINA_INTERNAL, NULL),
                     FAINA_INTERNAL);
    free(exact);
}

static void test_json__depth_at_the_limit_and_one_beyond(void **state)
{
    static const size_t limits[] = {0, 1, 15, 16, 17, 64, 1000};

    for (size_t i = 0; i < FA_COUNT(limits); i++) {
        size_t max = limits[i];
        struct faina_error err;
        struct fa_buf text;

        for (size_t depth = max; depth <= max + 1; depth++) {
            fa_buf_init(&text, 10000);
            for (size_t k = 0; k < depth; k++)
                fa_buf_add_str(&text, k % 2 ? "{\"k\":" : "[");
            fa_buf_add_char(&text, '1');
            for (size_t k = depth; k-- > 0;)
                fa_buf_add_char(&text, k % 2 ? '}' : ']');
            check_int(text.ptr,
                      fa_json_check((struct fa_bytes){text.ptr, text.len}, max, "x", FAINA_INTERNAL,
                                    &err),
                      depth == max ? FAINA_OK : FAINA_INTERNAL);
            fa_buf_finish(&text);
        }
    }
}

/* An object of `count` keys, of which the one numbered `twice` (if any) comes again at the end. */
static void put_object(struct fa_buf *out, int count, int twice)
{
    fa_buf_add_char(out, '{');
    for (int i = 0; i < count; i++)
        fa_buf_printf(out, "%s\"key%d\":%d", i ? "," : "", i, i);
    if (twice >= 0)
        fa_buf_printf(out, ",\n\"key%d\":0", twice);
    fa_buf_add_char(out, '}');
}

/* Around the count where keys are sorted instead of compared one by one, and where they outgrow the
 * stack. */
static void test_json__duplicates_among_any_number_of_keys(void **state)
{
    static const int counts[] = {1, 2, 15, 16, 17, 18, 63, 64, 65, 200, 3000};
    struct faina_error err;
    struct fa_buf text;

    for (size_t i = 0; i < FA_COUNT(counts); i++) {
        for (int twice = -1; twice < counts[i]; twice += counts[i] / 7 + 1) {
            fa_buf_init(&text, 1000000);
            put_object(&text, counts[i], twice);
            check_int(
                text.ptr,
                fa_json_check((struct fa_bytes){text.ptr, text.len}, 1, "x", FAINA_INTERNAL, &err),
                twice < 0 ? FAINA_OK : FAINA_INTERNAL);
            if (twice >= 0) {
                check_int(text.ptr, err.line, 2);
                check_int(text.ptr, err.column, 1);
            }
            fa_buf_finish(&text);
        }
    }
}

/* In a large object too, the first of several mistakes is reported, even when the object never
 * ends.
 */
static void test_json__the_first_mistake_in_a_large_object(void **state)
{
    static const struct {
        const char *tail;
        int line, column;
    } tails[] = {
        {",\n\"key3\":1,\n\"key2\":2}", 2, 1},
        {",\n\"key30\":1,\n\"key2\":2,\n\"key3\":3}", 3, 1},
        {",\n\"key3\":1,\nbad", 2, 1},
        {",\n\"key3\":1,\n\"\xff\"", 2, 1},
        {",\n\"sub\":{\"key3\":1,\n\"key2\":[[", 3, 9},
        {",\n\"key3\":{\"a\":1,\n\"a\":2}}", 2, 1},
        {",\n\"key30\":{\"a\":1,\n\"a\":2},\n\"key2\":1}", 3, 1},
        {",\nbad,\"key3\":1}", 2, 1},
        {",\n\"key3\":1", 2, 1},
    };

    for (size_t i = 0; i < FA_COUNT(tails); i++) {
        struct faina_error err;
        struct fa_buf text;

        fa_buf_init(&text, 10000);
        put_object(&text, 30, -1);
        text.len--; /* the brace */
        fa_buf_add_str(&text, tails[i].tail);
        check_int(
            tails[i].tail,
            fa_json_check((struct fa_bytes){text.ptr, text.len}, 3, "x", FAINA_INTERNAL, &err),
            FAINA_INTERNAL);
        check_int(tails[i].tail, err.line, tails[i].line);
        check_int(tails[i].tail, err.column, tails[i].column);
        fa_buf_finish(&text);
    }
}

/* 50,000 keys cost 500 times what 100 do if the cost is linear, and 250,000 times if quadratic. The
 * second text has keys that differ only in their last bytes. */
static void test_json__many_keys_are_not_quadratic(void **state)
{
    for (int is_long = 0; is_long <= 1; is_long++) {
        struct fa_buf text;
        int64_t start_ns, spent_ns;

        fa_buf_init(&text, 10000000);
        fa_buf_add_char(&text, '{');
        for (int k = 0; k < 50000; k++) {
            fa_buf_add_str(&text, k ? ",\"" : "\"");
            fa_buf_add_str(&text, is_long ? "a key that is longer than its number " : "");
            fa_buf_printf(&text, "%d\":1", k);
        }
        fa_buf_add_char(&text, '}');
        start_ns = fa_clock_mono_ns();
        assert_int_equal(
            fa_json_check((struct fa_bytes){text.ptr, text.len}, 1, "x", FAINA_INTERNAL, NULL),
            FAINA_OK);
        spent_ns = fa_clock_mono_ns() - start_ns;
        /* About 20 ms; a quadratic search takes seconds. Generous, for sanitizers. */
        assert_true(spent_ns < INT64_C(1500000000));
        fa_buf_finish(&text);
    }
}

static void test_json__a_long_key_is_shown_in_part(void **state)
{
    struct faina_error err;
    struct fa_buf text;

    fa_buf_init(&text, 10000);
    fa_buf_add_char(&text, '{');
    for (int i = 0; i < 2; i++) {
        fa_buf_add_str(&text, i ? ",\"x" : "\"x");
        for (int k = 0; k < 400; k++)
            fa_buf_add_str(&text, "\xc3\xa9");
        fa_buf_add_str(&text, "\":1");
    }
    fa_buf_add_char(&text, '}');
    assert_int_equal(
        fa_json_check((struct fa_bytes){text.ptr, text.len}, 1, "x", FAINA_INTERNAL, &err),
        FAINA_INTERNAL);
    assert_int_equal(err.column, 1 + 1 + 803 + 2 + 1);
    assert_non_null(strstr(err.message, "\xc3\xa9...\" at line 1, column 808"));
    fa_buf_finish(&text);
}

/* Texts larger than the memory that yajl gets on the stack. */
static void test_json__large_strings(void **state)
{
    struct fa_buf text;

    fa_buf_init(&text, 1000000);
    fa_buf_add_str(&text, "{\"");
    for (int i = 0; i < 10000; i++)
        fa_buf_add_str(&text, "\\u00e9 long key ");
    fa_buf_add_str(&text, "\":\"");
    for (int i = 0; i < 10000; i++)
        fa_buf_add_str(&text, "and text ");
    assert_int_equal(
        fa_json_check((struct fa_bytes){text.ptr, text.len}, 1, "x", FAINA_INTERNAL, NULL),
        FAINA_INTERNAL);
    fa_buf_add_str(&text, "\"}");
    assert_int_equal(
        fa_json_check((struct fa_bytes){text.ptr, text.len}, 1, "x", FAINA_INTERNAL, NULL),
        FAINA_OK);
    fa_buf_finish(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json__accepted_and_refused),
        cmocka_unit_test(test_json__raw_nul_is_refused),
        cmocka_unit_test(test_json__reads_only_the_slice),
        cmocka_unit_test(test_json__depth_at_the_limit_and_one_beyond),
        cmocka_unit_test(test_json__duplicates_among_any_number_of_keys),
        cmocka_unit_test(test_json__the_first_mistake_in_a_large_object),
        cmocka_unit_test(test_json__many_keys_are_not_quadratic),
        cmocka_unit_test(test_json__a_long_key_is_shown_in_part),
        cmocka_unit_test(test_json__large_strings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
