/*
 * test_json.c - walking checked JSON, and reading its strings and numbers.
 */
#include "unit/base/unit.h"

#include "json/json.h"

static struct fa_json parse(const char *text)
{
    struct faina_error err;

    if (fa_json_check(fa_str(text), 64, "x", FAINA_INTERNAL, &err) != FAINA_OK)
        fail_msg("%s: %s", text, err.message);
    return fa_json_value(fa_str(text));
}

static void check_raw(const char *name, struct fa_bytes got, const char *expected)
{
    if (!fa_bytes_equal(got, fa_str(expected)))
        fail_msg("%s: got \"%.*s\", expected \"%s\"", name, (int)got.len, got.ptr, expected);
}

static void test_json__value_type_and_extent(void **state)
{
    static const struct {
        const char *text;
        enum fa_json_type type;
        const char *raw;
    } cases[] = {
        {" null ", FA_JSON_NULL, "null"},
        {"false\n", FA_JSON_FALSE, "false"},
        {"\ttrue", FA_JSON_TRUE, "true"},
        {" -1.5e3 ", FA_JSON_NUMBER, "-1.5e3"},
        {"0", FA_JSON_NUMBER, "0"},
        {" \"a\\\"]\" ", FA_JSON_STRING, "\"a\\\"]\""},
        {" [1,[2,\"]\"]] ", FA_JSON_ARRAY, "[1,[2,\"]\"]]"},
        {" {\"a\":{\"}\":1}} ", FA_JSON_OBJECT, "{\"a\":{\"}\":1}}"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_json value = parse(cases[i].text);

        check_int(cases[i].text, value.type, cases[i].type);
        check_raw(cases[i].text, value.raw, cases[i].raw);
    }
}

static void test_json__walk_an_object(void **state)
{
    static const struct {
        const char *key, *raw;
        enum fa_json_type type;
    } members[] = {
        {"a", "1", FA_JSON_NUMBER},
        {"b\\n", "\"x,y\"", FA_JSON_STRING},
        {"", "[1, {\"z\":2}]", FA_JSON_ARRAY},
        {"d", "{ }", FA_JSON_OBJECT},
        {"e", "null", FA_JSON_NULL},
    };
    struct fa_json_iter it = fa_json_iter(
        parse("{ \"a\" : 1 ,\"b\\n\":\"x,y\",\"\":[1, {\"z\":2}] , \"d\":{ },\"e\":null}"));
    struct fa_bytes key;
    struct fa_json value;

    for (size_t i = 0; i < FA_COUNT(members); i++) {
        assert_true(fa_json_next(&it, &key, &value));
        check_raw("key", key, members[i].key);
        check_raw("value", value.raw, members[i].raw);
        check_int("type", value.type, members[i].type);
    }
    assert_false(fa_json_next(&it, &key, &value));
    assert_false(fa_json_next(&it, &key, &value));
}

static void test_json__walk_an_array(void **state)
{
    static const char *const items[] = {"1", "\"]\"", "[ [ ] ]", "true"};
    struct fa_json_iter it = fa_json_iter(parse("[1,\"]\" , [ [ ] ],true ]"));
    struct fa_json value;

    for (size_t i = 0; i < FA_COUNT(items); i++) {
        assert_true(fa_json_next(&it, NULL, &value));
        check_raw("item", value.raw, items[i]);
    }
    assert_false(fa_json_next(&it, NULL, &value));

    it = fa_json_iter(parse("[ ]"));
    assert_false(fa_json_next(&it, NULL, &value));
    it = fa_json_iter(parse("{}"));
    assert_false(fa_json_next(&it, NULL, &value));
}

static void test_json__member(void **state)
{
    struct fa_json object = parse("{\"ab\":1,\"a\":{\"b\":7},\"\\u0063\":3}");
    struct fa_json value;

    assert_true(fa_json_member(object, "a", &value));
    check_raw("a", value.raw, "{\"b\":7}");
    assert_true(fa_json_member(object, "c", &value)); /* written as an escape */
    check_raw("c", value.raw, "3");
    assert_false(fa_json_member(object, "b", &value)); /* one level down only */
    assert_false(fa_json_member(object, "", &value));
    assert_false(fa_json_member(object, "abc", &value));
    check_raw("unchanged", value.raw, "3");
}

static void test_json__what_a_member_says(void **state)
{
    struct fa_json object =
        parse("{\"s\":\"\\u0061b\",\"n\":-7,\"f\":1.5,\"o\":{\"x\":1},\"z\":null}");
    struct fa_arena arena = {0};

    assert_string_equal(fa_json_member_text(object, "s", &arena), "ab");
    assert_null(fa_json_member_text(object, "n", &arena));
    assert_null(fa_json_member_text(object, "z", &arena));
    assert_null(fa_json_member_text(object, "none", &arena));
    assert_null(fa_json_member_text(parse("[1]"), "s", &arena));
    assert_string_equal(fa_json_member_raw(object, "o", &arena), "{\"x\":1}");
    assert_string_equal(fa_json_member_raw(object, "s", &arena), "\"\\u0061b\"");
    assert_null(fa_json_member_raw(object, "z", &arena));
    assert_null(fa_json_member_raw(parse("3"), "z", &arena));
    assert_int_equal(fa_json_member_int(object, "n"), -7);
    assert_int_equal(fa_json_member_int(object, "f"), 0);
    assert_int_equal(fa_json_member_int(object, "s"), 0);
    assert_int_equal(fa_json_member_int(parse("\"n\""), "n"), 0);
    fa_arena_finish(&arena);
}

static void test_json__count_and_texts(void **state)
{
    struct fa_arena arena = {0};
    const char *const *texts = NULL;
    size_t count = 9;

    assert_int_equal(fa_json_count(parse("[]")), 0);
    assert_int_equal(fa_json_count(parse("[1, [2, 3], {\"a\":4}]")), 3);
    assert_int_equal(fa_json_count(parse("{\"a\":1,\"b\":[1,2]}")), 2);
    assert_false(fa_json_texts(parse("[\"a\", 1]"), &arena, &texts, &count));
    assert_false(fa_json_texts(parse("{\"a\":\"b\"}"), &arena, &texts, &count));
    assert_null(texts);
    assert_int_equal(count, 9);
    assert_true(fa_json_texts(parse("[]"), &arena, &texts, &count));
    assert_non_null(texts); /* none is a list, too */
    assert_int_equal(count, 0);
    assert_true(fa_json_texts(parse("[\"a\", \"\\n\"]"), &arena, &texts, &count));
    assert_int_equal(count, 2);
    assert_string_equal(texts[0], "a");
    assert_string_equal(texts[1], "\n");
    fa_arena_finish(&arena);
}

static void test_json__text_resolves_escapes(void **state)
{
    static const struct {
        const char *raw, *text;
    } cases[] = {
        {"\"\"", ""},
        {"\"plain\"", "plain"},
        {"\"\\\"\\\\\\/\"", "\"\\/"},
        {"\"\\b\\f\\n\\r\\t\"", "\b\f\n\r\t"},
        {"\"a\\u0041z\"", "aAz"},
        {"\"\\u007f\\u0080\"", "\x7f\xc2\x80"},
        {"\"\\u07ff\\u0800\"", "\xdf\xbf\xe0\xa0\x80"},
        {"\"\\uffff\"", "\xef\xbf\xbf"},
        {"\"\\ud800\\udc00\"", "\xf0\x90\x80\x80"},
        {"\"\\uDBFF\\uDFFF\"", "\xf4\x8f\xbf\xbf"},
        {"\"\\ud83d\\ude00!\"", "\xf0\x9f\x98\x80!"},
        {"\"\\\\u0041\"", "\\u0041"},
    };
    struct fa_arena arena = {0};

    for (size_t i = 0; i < FA_COUNT(cases); i++)
        check_str(cases[i].raw, fa_json_text(parse(cases[i].raw), &arena), cases[i].text);
    assert_string_equal(fa_json_unescape(FA_LIT("a\\tb"), &arena), "a\tb");
    fa_arena_finish(&arena);
}

static void test_json__integers(void **state)
{
    static const struct {
        const char *text;
        bool is_integer;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"-17", true, -17},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"18446744073709551616", false, 0},
        {"100000000000000000000000000000", false, 0},
        {"1.0", false, 0},
        {"1e3", false, 0},
        {"\"1\"", false, 0},
        {"null", false, 0},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        int64_t value = 0;

        check_int(cases[i].text, fa_json_int(parse(cases[i].text), &value), cases[i].is_integer);
        check_int(cases[i].text, value, cases[i].value);
    }
}

static void test_json__doubles(void **state)
{
    static const struct {
        const char *text;
        bool is_finite;
        double value;
    } cases[] = {
        {"0", true, 0},           {"-1.5", true, -1.5},   {"12.5e3", true, 12500},
        {"1E-2", true, 0.01},     {"0.1", true, 0.1},     {"1e-400", true, 0},
        {"1e400", false, 0},      {"-1e400", false, 0},   {"1e99999999999999999999", false, 0},
        {"\"1\"", false, 0},      {"123e-2", true, 1.23}, {"5e-324", true, 5e-324},
        {"0e999999999", true, 0},
    };
    struct fa_buf text;
    double value;

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        value = 0;
        check_int(cases[i].text, fa_json_double(parse(cases[i].text), &value), cases[i].is_finite);
        check_true(cases[i].text, value == cases[i].value);
    }

    /* A token longer than the stack buffer, whose digits and exponent cancel out. */
    fa_buf_init(&text, 10000);
    fa_buf_add_str(&text, "0.");
    for (int i = 0; i < 5000; i++)
        fa_buf_add_char(&text, '0');
    fa_buf_add_str(&text, "25e5001");
    assert_true(fa_json_double(parse(text.ptr), &value));
    assert_true(value == 2.5);
    fa_buf_finish(&text);
}

/* Walks everything there is in a value, down to some depth. */
static void walk(struct fa_json value, struct fa_bytes text, int depth, struct fa_arena *arena)
{
    struct fa_json_iter it = fa_json_iter(value);
    struct fa_bytes key;
    struct fa_json item;
    int64_t number;
    double real;

    assert_true(value.raw.ptr >= text.ptr || value.raw.len == 0);
    assert_true(value.raw.len <= text.len);
    (void)fa_json_int(value, &number);
    (void)fa_json_double(value, &real);
    (void)fa_json_text(value, arena);
    (void)fa_json_member_text(value, "a", arena);
    for (size_t i = 0; fa_json_next(&it, &key, &item); i++) {
        assert_true(i <= text.len); /* it ends */
        (void)fa_json_unescape(key, arena);
        if (depth > 0)
            walk(item, text, depth - 1, arena);
    }
}

/* Whatever the text is, the walk stays in it and ends. Each is copied to a block of its size, so
 * that a sanitizer sees a byte too many. */
static void test_json__text_that_was_not_checked(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "x",
        "\"",
        "\"a",
        "\"\\",
        "{",
        "[",
        "{]",
        "[}",
        "{\"",
        "{\"a",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":}",
        "{:1}",
        "{a:1}",
        "[\"]",
        "[,]",
        "[1,,2]",
        "]",
        "}",
        "[[[]",
        "{\"\\u00\":1}",
        "[\"\\u\"]",
        "[\"\\ud800\"]",
        "[\"\\ud800\\u\"]",
        "nul",
        "-",
        "[1 2]",
        "{\"a\" 1}",
    };

    (void)state;
    for (size_t i = 0; i < FA_COUNT(texts); i++) {
        size_t len = strlen(texts[i]);

        for (size_t cut = 0; cut <= len; cut++) {
            struct fa_arena arena = {0};
            char *block = fa_alloc(cut + 1);
            struct fa_bytes text = {block, cut};

            memcpy(block, texts[i], cut);
            block = fa_realloc(block, cut > 0 ? cut : 1);
            text.ptr = block;
            walk(fa_json_value(text), text, 4, &arena);
            free(block);
            fa_arena_finish(&arena);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json__value_type_and_extent),
        cmocka_unit_test(test_json__walk_an_object),
        cmocka_unit_test(test_json__walk_an_array),
        cmocka_unit_test(test_json__member),
        cmocka_unit_test(test_json__what_a_member_says),
        cmocka_unit_test(test_json__count_and_texts),
        cmocka_unit_test(test_json__text_resolves_escapes),
        cmocka_unit_test(test_json__integers),
        cmocka_unit_test(test_json__doubles),
        cmocka_unit_test(test_json__text_that_was_not_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
