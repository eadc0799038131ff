/*
 * test_utf8.c - is it well-formed UTF-8?
 */
#include "unit/base/unit.h"

#include "base/utf8.h"

static const struct {
    const char *name, *text;
    int bad_at; /* -1: well-formed */
} cases[] = {
    {"nothing", "", -1},
    {"ASCII", "hello, world, and more than eight bytes", -1},
    {"two bytes", "\xc2\x80\xdf\xbf", -1},
    {"three bytes", "\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf", -1},
    {"four bytes", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", -1},
    {"a tail alone", "ab\x80", 2},
    {"a lead alone", "ab\xc3", 2},
    {"a lead and a letter", "ab\xc3z", 2},
    {"overlong slash", "\xc0\xaf", 0},
    {"overlong, C1", "\xc1\xbf", 0},
    {"overlong of three", "\xe0\x9f\xbf", 0},
    {"overlong of four", "\xf0\x8f\xbf\xbf", 0},
    {"the first surrogate", "\xed\xa0\x80", 0},
    {"the last surrogate", "\xed\xbf\xbf", 0},
    {"above U+10FFFF", "\xf4\x90\x80\x80", 0},
    {"F5", "\xf5\x80\x80\x80", 0},
    {"FF", "\xff", 0},
    {"three bytes cut to two", "\xe2\x82", 0},
    {"four bytes cut to three", "\xf0\x9f\x98", 0},
    {"third byte is no tail", "\xe2\x82z", 0},
    {"fourth byte is no tail", "\xf0\x9f\x98z", 0},
};

/* Each case also behind 0 to 16 letters and before 9 more, since the scan takes eight bytes at a
 * time. */
static void test_utf8__valid_and_not(void **state)
{
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        size_t len = strlen(cases[i].text);

        for (size_t shift = 0; shift <= 16; shift++) {
            char text[128];
            size_t total = shift + len;

            memset(text, 'x', sizeof(text));
            memcpy(text + shift, cases[i].text, len);
            for (size_t tail = 0; tail <= 9; tail += 9) {
                struct fa_bytes bytes = {text, total + tail};
                size_t expected = cases[i].bad_at < 0 ? bytes.len : shift + (size_t)cases[i].bad_at;

                check_int(cases[i].name, (int64_t)fa_utf8_valid_length(bytes), (int64_t)expected);
                check_int(cases[i].name, fa_utf8_is_valid(bytes), expected == bytes.len);
            }
        }
    }
    assert_true(fa_utf8_is_valid((struct fa_bytes){NULL, 0}));
    assert_true(fa_utf8_is_valid(FA_LIT("a\0b")));
}

/* Every two-byte text against the definition. */
static void test_utf8__all_pairs(void **state)
{
    for (unsigned pair = 0; pair < 0x10000; pair++) {
        unsigned char s[2] = {(unsigned char)(pair >> 8), (unsigned char)pair};
        bool expected = (s[0] < 0x80 && s[1] < 0x80) ||
                        (s[0] >= 0xc2 && s[0] <= 0xdf && s[1] >= 0x80 && s[1] <= 0xbf);

        if (fa_utf8_is_valid((struct fa_bytes){(const char *)s, 2}) != expected)
            fail_msg("%02x %02x", s[0], s[1]);
    }
}

static void test_utf8__clipped_between_characters(void **state)
{
    struct fa_bytes text = FA_LIT("a\xc3\xa9\xf0\x9f\x98\x80");
    static const size_t expected[] = {0, 1, 1, 3, 3, 3, 3, 7, 7};

    for (size_t max = 0; max < FA_COUNT(expected); max++)
        assert_int_equal(fa_utf8_clip(text, max), expected[max]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8__clipped_between_characters),
        cmocka_unit_test(test_utf8__valid_and_not),
        cmocka_unit_test(test_utf8__all_pairs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
