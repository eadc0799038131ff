/*
 * test_json_write.c - the writer: commas, quotes, lines.
 */
#include "unit/base/unit.h"

#include "json/json.h"

#include <math.h>
#include <stdio.h>

static void write_sample(struct fa_json_writer *w)
{
    fa_json_begin_object(w);
    fa_json_key(w, "text");
    fa_json_put_str(w, "a\"b");
    fa_json_key(w, "none");
    fa_json_put_str(w, NULL);
    fa_json_key(w, "list");
    fa_json_begin_array(w);
    fa_json_put_int(w, INT64_MIN);
    fa_json_put_double(w, 0.5);
    fa_json_put_bool(w, true);
    fa_json_put_bool(w, false);
    fa_json_put_null(w);
    fa_json_begin_object(w);
    fa_json_end_object(w);
    fa_json_begin_array(w);
    fa_json_end_array(w);
    fa_json_end_array(w);
    fa_json_key(w, "raw");
    fa_json_put_raw(w, "{\"x\": 1}");
    fa_json_key(w, "no raw");
    fa_json_put_raw(w, NULL);
    fa_json_end_object(w);
}

static void test_writer__compact(void **state)
{
    struct fa_json_writer w;
    struct fa_buf out;

    fa_buf_init(&out, 1000);
    fa_json_writer_init(&w, &out, 0);
    write_sample(&w);
    assert_string_equal(out.ptr, "{\"text\":\"a\\\"b\",\"none\":null,"
                                 "\"list\":[-9223372036854775808,0.5,true,false,null,{},[]],"
                                 "\"raw\":{\"x\": 1},\"no raw\":null}");
    assert_int_equal(fa_json_check(fa_str(out.ptr), 64, "x", FAINA_INTERNAL, NULL), FAINA_OK);
    fa_buf_finish(&out);
}

static void test_writer__for_people(void **state)
{
    struct fa_json_writer w;
    struct fa_buf out;

    fa_buf_init(&out, 1000);
    fa_json_writer_init(&w, &out, 2);
    write_sample(&w);
    assert_string_equal(out.ptr, "{\n"
                                 "  \"text\": \"a\\\"b\",\n"
                                 "  \"none\": null,\n"
                                 "  \"list\": [\n"
                                 "    -9223372036854775808,\n"
                                 "    0.5,\n"
                                 "    true,\n"
                                 "    false,\n"
                                 "    null,\n"
                                 "    {},\n"
                                 "    []\n"
                                 "  ],\n"
                                 "  \"raw\": {\"x\": 1},\n"
                                 "  \"no raw\": null\n"
                                 "}");
    fa_buf_finish(&out);
}

static void test_writer__strings(void **state)
{
    static const struct {
        struct fa_bytes text;
        const char *expected;
    } cases[] = {
        {{"", 0}, "\"\""},
        {{"a/b", 3}, "\"a/b\""},
        {{"\b\t\n\f\r\"\\", 7}, "\"\\b\\t\\n\\f\\r\\\"\\\\\""},
        {{"\x01\x1f\x7f", 3}, "\"\\u0001\\u001f\x7f\""},
        {{"a\0b", 3}, "\"a\\u0000b\""},
        {{"\xc3\xa9", 2}, "\"\xc3\xa9\""},
        {{"a\xff\xc3z", 4}, "\"a\xef\xbf\xbd\xef\xbf\xbdz\""},
        {{"\xff", 1}, "\"\xef\xbf\xbd\""},
    };
    struct fa_buf out;

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_json_writer w;

        fa_buf_init(&out, 1000);
        fa_json_writer_init(&w, &out, 0);
        fa_json_put_bytes(&w, cases[i].text);
        check_str(cases[i].expected, out.ptr, cases[i].expected);
        fa_buf_finish(&out);
    }
}

/* Every byte, at every place of words and what is left of them. */
static void test_writer__a_special_byte_anywhere(void **state)
{
    for (size_t len = 1; len <= 18; len++) {
        for (size_t at = 0; at < len; at++) {
            for (int c = 0; c < 0x80; c++) {
                bool is_special = c < 0x20 || c == '"' || c == '\\';
                char text[19] = "abcdefghijklmnopqr";
                struct fa_json_writer w;
                struct fa_buf out;

                text[at] = (char)c;
                fa_buf_init(&out, 1000);
                fa_json_writer_init(&w, &out, 0);
                fa_json_put_bytes(&w, (struct fa_bytes){text, len});
                assert_int_equal(fa_json_check(fa_str(out.ptr), 1, "x", FAINA_INTERNAL, NULL),
                                 c == 0 ? FAINA_INTERNAL : FAINA_OK);
                assert_int_equal(out.len > len + 2, is_special);
                assert_int_equal(out.ptr[at + 1], is_special ? '\\' : c);
                fa_buf_finish(&out);
            }
        }
    }
}

static void test_writer__integers(void **state)
{
    static const int64_t cases[] = {0, 7, -1, 10, -10, 1000000, INT64_MAX, INT64_MIN};

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_json_writer w;
        char expected[32];
        struct fa_buf out;

        snprintf(expected, sizeof(expected), "%lld", (long long)cases[i]);
        fa_buf_init(&out, 1000);
        fa_json_writer_init(&w, &out, 0);
        fa_json_put_int(&w, cases[i]);
        assert_string_equal(out.ptr, expected);
        fa_buf_finish(&out);
    }
}

static void test_writer__what_is_no_number_is_null(void **state)
{
    struct fa_json_writer w;
    struct fa_buf out;

    fa_buf_init(&out, 1000);
    fa_json_writer_init(&w, &out, 0);
    fa_json_begin_array(&w);
    fa_json_put_double(&w, NAN);
    fa_json_put_double(&w, -INFINITY);
    fa_json_end_array(&w);
    assert_string_equal(out.ptr, "[null,null]");
    fa_buf_finish(&out);
}

static void test_writer__members(void **state)
{
    const char *const texts[] = {"a", "b"};
    struct fa_json_writer w;
    struct fa_buf out;

    fa_buf_init(&out, 1000);
    fa_json_writer_init(&w, &out, 0);
    fa_json_begin_object(&w);
    fa_json_opt_str(&w, "left out", NULL);
    fa_json_opt_raw(&w, "left out", NULL);
    fa_json_opt_strs(&w, "left out", texts, 0);
    fa_json_set_str(&w, "s", NULL);
    fa_json_set_int(&w, "i", -3);
    fa_json_set_double(&w, "d", 0.5);
    fa_json_set_bool(&w, "b", true);
    fa_json_set_raw(&w, "r", NULL);
    fa_json_opt_str(&w, "os", "x");
    fa_json_opt_raw(&w, "or", "[1]");
    fa_json_opt_strs(&w, "ol", texts, 2);
    fa_json_set_strs(&w, "none", texts, 0);
    fa_json_end_object(&w);
    assert_string_equal(out.ptr, "{\"s\":null,\"i\":-3,\"d\":0.5,\"b\":true,\"r\":null,"
                                 "\"os\":\"x\",\"or\":[1],\"ol\":[\"a\",\"b\"],\"none\":[]}");
    fa_buf_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writer__compact),
        cmocka_unit_test(test_writer__for_people),
        cmocka_unit_test(test_writer__strings),
        cmocka_unit_test(test_writer__a_special_byte_anywhere),
        cmocka_unit_test(test_writer__integers),
        cmocka_unit_test(test_writer__what_is_no_number_is_null),
        cmocka_unit_test(test_writer__members),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
