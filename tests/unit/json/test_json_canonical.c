/*
 * test_json_canonical.c - the canonical form: RFC 8785, but for integers of 64 bits.
 */
#include "unit/base/unit.h"

#include "json/json.h"
#include "base/random.h"

#include <locale.h>
#include <math.h>

#define SIZE_ENOUGH 1000000

static void check_canonical(const char *text, const char *expected)
{
    struct faina_error err;
    struct fa_buf once, twice;

    if (fa_json_check(fa_str(text), 64, "x", FAINA_INTERNAL, &err) != FAINA_OK)
        fail_msg("%s: %s", text, err.message);
    fa_buf_init(&once, SIZE_ENOUGH);
    fa_buf_init(&twice, SIZE_ENOUGH);
    fa_json_canonical(fa_str(text), &once);
    check_str(text, once.ptr, expected);
    fa_json_canonical((struct fa_bytes){once.ptr, once.len}, &twice);
    check_str("the canonical form of a canonical form", twice.ptr, once.ptr);
    assert_true(fa_json_same(fa_str(text), fa_str(once.ptr)));
    fa_buf_finish(&once);
    fa_buf_finish(&twice);
}

static void test_canonical__values(void **state)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {" null ", "null"},
        {"[ true , false ]", "[true,false]"},
        {"{ }", "{}"},
        {"[ ]", "[]"},
        {"{\"b\":1,\"a\":2}", "{\"a\":2,\"b\":1}"},
        {"{\"a\":2,\"b\":1}", "{\"a\":2,\"b\":1}"},
        {"{\"ab\":1,\"a\":2,\"\":3}", "{\"\":3,\"a\":2,\"ab\":1}"},
        {"{\"b\":{\"d\":1,\"c\":[{\"f\":1,\"e\":2}]},\"a\":0}",
         "{\"a\":0,\"b\":{\"c\":[{\"e\":2,\"f\":1}],\"d\":1}}"},

        /* Strings have the shortest escapes. */
        {"\"\\u0041\\/\"", "\"A/\""},
        {"\"\\u0008\\u0009\\u000a\\u000c\\u000d\\u0022\\u005c\"", "\"\\b\\t\\n\\f\\r\\\"\\\\\""},
        {"\"\\u0001\\u001F\\u007f\"", "\"\\u0001\\u001f\x7f\""},
        {"\"\\u20ac\\ud83d\\ude00\"", "\"\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {"{\"\\u0062\":1,\"a\\n\":2}", "{\"a\\n\":2,\"b\":1}"},

        /* Integers of 64 bits are exact. */
        {"-0", "0"},
        {"9007199254740993", "9007199254740993"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"18446744073709551615", "18446744073709551615"},
        {"18446744073709551616", "18446744073709552000"},
        {"-9223372036854775809", "-9223372036854776000"},

        /* Other numbers are doubles. */
        {"-0.0", "0"},
        {"1.0", "1"},
        {"1e3", "1000"},
        {"10E-1", "1"},
        {"4.50", "4.5"},
        {"2e-3", "0.002"},
        {"333333333.33333329", "333333333.3333333"},
        {"1E30", "1e+30"},
        {"1e21", "1e+21"},
        {"1e20", "100000000000000000000"},
        {"0.000001", "0.000001"},
        {"0.0000001", "1e-7"},
        {"0.000000000000000000000000001", "1e-27"},
        {"1e-400", "0"},
        {"1e400", "1e400"},
        {"-1E+400", "-1E+400"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++)
        check_canonical(cases[i].text, cases[i].expected);
}

/* RFC 8785, sections 3.2.2 and 3.2.3. */
static void test_canonical__examples_of_the_rfc(void **state)
{
    check_canonical("{\n"
                    "  \"numbers\": [333333333.33333329, 1E30, 4.50,\n"
                    "              2e-3, 0.000000000000000000000000001],\n"
                    "  \"string\": \"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\",\n"
                    "  \"literals\": [null, true, false]\n"
                    "}",
                    "{\"literals\":[null,true,false],"
                    "\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
                    "\"string\":\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
    check_canonical("{\"\\u20ac\":\"Euro Sign\",\"\\r\":\"Carriage Return\","
                    "\"\\ufb33\":\"Hebrew Letter Dalet With Dagesh\",\"1\":\"One\","
                    "\"\\ud83d\\ude00\":\"Emoji: Grinning Face\",\"\\u0080\":\"Control\","
                    "\"\\u00f6\":\"Latin Small Letter O With Diaeresis\"}",
                    "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xc2\x80\":\"Control\","
                    "\"\xc3\xb6\":\"Latin Small Letter O With Diaeresis\","
                    "\"\xe2\x82\xac\":\"Euro Sign\","
                    "\"\xf0\x9f\x98\x80\":\"Emoji: Grinning Face\","
                    "\"\xef\xac\xb3\":\"Hebrew Letter Dalet With Dagesh\"}");
}

/* RFC 8785, appendix B. */
static const struct {
    uint64_t bits;
    const char *text;
} numbers[] = {
    {0x0000000000000000, "0"},
    {0x8000000000000000, "0"},
    {0x0000000000000001, "5e-324"},
    {0x8000000000000001, "-5e-324"},
    {0x7fefffffffffffff, "1.7976931348623157e+308"},
    {0xffefffffffffffff, "-1.7976931348623157e+308"},
    {0x4340000000000000, "9007199254740992"},
    {0xc340000000000000, "-9007199254740992"},
    {0x4430000000000000, "295147905179352830000"},
    {0x44b52d02c7e14af5, "9.999999999999997e+22"},
    {0x44b52d02c7e14af6, "1e+23"},
    {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
    {0x444b1ae4d6e2ef4e, "999999999999999700000"},
    {0x444b1ae4d6e2ef4f, "999999999999999900000"},
    {0x444b1ae4d6e2ef50, "1e+21"},
    {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
    {0x3eb0c6f7a0b5ed8d, "0.000001"},
    {0x41b3de4355555553, "333333333.3333332"},
    {0x41b3de4355555554, "333333333.33333325"},
    {0x41b3de4355555555, "333333333.3333333"},
    {0x41b3de4355555556, "333333333.3333334"},
    {0x41b3de4355555557, "333333333.33333343"},
    {0xbecbf647612f3696, "-0.0000033333333333333333"},
    {0x43143ff3c1cb0959, "1424953923781206.2"},
};

static void put_double(uint64_t bits, struct fa_buf *out)
{
    struct fa_json_writer w;
    double value;

    memcpy(&value, &bits, sizeof(value));
    fa_buf_clear(out);
    fa_json_writer_init(&w, out, 0);
    fa_json_put_double(&w, value);
}

static void test_canonical__numbers_of_the_rfc(void **state)
{
    struct fa_buf out;

    fa_buf_init(&out, 100);
    for (size_t i = 0; i < FA_COUNT(numbers); i++) {
        put_double(numbers[i].bits, &out);
        check_str(numbers[i].text, out.ptr, numbers[i].text);
    }
    fa_buf_finish(&out);
}

/* Below a power of two doubles lie denser than above it. So the nearest decimal of 16 digits may be
 * another double, while the next one above is the shortest that reads back. */
static void test_canonical__powers_of_two(void **state)
{
    static const struct {
        int exponent;
        const char *text;
    } cases[] = {
        {-1074, "5e-324"},
        {-1022, "2.2250738585072014e-308"},
        {-1017, "7.120236347223045e-307"},
        {-1007, "7.291122019556398e-304"},
        {-957, "8.209073602596753e-289"},
        {-808, "5.858190679279809e-244"},
        {-44, "5.684341886080802e-14"},
    };
    struct fa_buf out;

    fa_buf_init(&out, 100);
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        double value = ldexp(1, cases[i].exponent);
        uint64_t bits;

        memcpy(&bits, &value, sizeof(bits));
        put_double(bits, &out);
        check_str(cases[i].text, out.ptr, cases[i].text);
    }
    fa_buf_finish(&out);
}

static void test_canonical__random_doubles_read_back(void **state)
{
    struct fa_random random;
    struct fa_buf out;

    fa_random_seed(&random, SEED);
    fa_buf_init(&out, 100);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = fa_random_next(&random);
        double value, again;

        memcpy(&value, &bits, sizeof(value));
        if (value - value != 0) /* not finite */
            continue;
        put_double(bits, &out);
        assert_true(fa_json_double((struct fa_json){FA_JSON_NUMBER, {out.ptr, out.len}}, &again));
        check_true(out.ptr, again == value);
        check_canonical(out.ptr, out.ptr);
    }
    fa_buf_finish(&out);
}

/* The host program may have set a locale with a decimal comma. Not every system has one. */
static void test_canonical__does_not_depend_on_the_locale(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "pt_BR.UTF-8"};
    bool is_set = false;

    for (size_t i = 0; i < FA_COUNT(names) && !is_set; i++)
        is_set = setlocale(LC_ALL, names[i]) != NULL;
    if (!is_set)
        skip();
    check_canonical("[1.5,2.25e3,0.1]", "[1.5,2250,0.1]");
    setlocale(LC_ALL, "C");
}

/* Many keys, in a random order. */
static void test_canonical__sorts_large_objects(void **state)
{
    struct fa_random random;
    struct fa_buf text, out;
    int order[2000];

    fa_random_seed(&random, SEED);
    for (int i = 0; i < 2000; i++) {
        int k = (int)fa_random_below(&random, (uint64_t)i + 1);

        order[i] = order[k];
        order[k] = i;
    }
    fa_buf_init(&text, SIZE_ENOUGH);
    fa_buf_init(&out, SIZE_ENOUGH);
    for (int i = 0; i < 2000; i++)
        fa_buf_printf(&text, "%c \"%04d\" : [ %d ]", i ? ',' : '{', order[i], order[i]);
    fa_buf_add_char(&text, '}');
    fa_json_canonical((struct fa_bytes){text.ptr, text.len}, &out);
    fa_buf_clear(&text);
    for (int i = 0; i < 2000; i++)
        fa_buf_printf(&text, "%c\"%04d\":[%d]", i ? ',' : '{', i, i);
    fa_buf_add_char(&text, '}');
    assert_string_equal(out.ptr, text.ptr);
    fa_buf_finish(&text);
    fa_buf_finish(&out);
}

static void test_canonical__appends_and_respects_the_maximum(void **state)
{
    struct fa_buf out;

    fa_buf_init(&out, 100);
    fa_buf_add_str(&out, "x=");
    fa_json_canonical(FA_LIT("{\"b\":1,\"a\":[{\"d\":1,\"c\":2}]}"), &out);
    assert_string_equal(out.ptr, "x={\"a\":[{\"c\":2,\"d\":1}],\"b\":1}");
    fa_buf_finish(&out);
    for (size_t max = 0; max < 27; max++) {
        fa_buf_init(&out, max);
        fa_json_canonical(FA_LIT("{\"b\":1,\"a\":[{\"d\":1,\"c\":2}]}"), &out);
        assert_true(out.overflow);
        assert_true(out.len <= max);
        fa_buf_finish(&out);
    }
}

static void test_same__meaning_not_bytes(void **state)
{
    static const struct {
        const char *a, *b;
        bool is_same;
    } cases[] = {
        {"1", "1", true},
        {"1", " 1.0 ", true},
        {"{\"a\":1,\"b\":[2]}", "{ \"b\":[2.0], \"\\u0061\":1e0 }", true},
        {"[1,2]", "[2,1]", false},
        {"\"1\"", "1", false},
        {"9007199254740992", "9007199254740993", false},
        {"{}", "[]", false},
        {"null", "{\"a\":null}", false},
        {"0", "-0", true},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        check_int(cases[i].a, fa_json_same(fa_str(cases[i].a), fa_str(cases[i].b)),
                  cases[i].is_same);
        check_int(cases[i].b, fa_json_same(fa_str(cases[i].b), fa_str(cases[i].a)),
                  cases[i].is_same);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canonical__values),
        cmocka_unit_test(test_canonical__examples_of_the_rfc),
        cmocka_unit_test(test_canonical__numbers_of_the_rfc),
        cmocka_unit_test(test_canonical__powers_of_two),
        cmocka_unit_test(test_canonical__random_doubles_read_back),
        cmocka_unit_test(test_canonical__does_not_depend_on_the_locale),
        cmocka_unit_test(test_canonical__sorts_large_objects),
        cmocka_unit_test(test_canonical__appends_and_respects_the_maximum),
        cmocka_unit_test(test_same__meaning_not_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
