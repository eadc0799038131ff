/*
 * test_source_position.c - where in a text, and pieces of it in messages.
 */
#include "unit/base/unit.h"

#include "base/source_position.h"
#include "base/utf8.h"

static void test_place__lines_and_columns(void **state)
{
    static const struct {
        size_t offset;
        int line, column;
    } cases[] = {{0, 1, 1}, {1, 1, 2}, {2, 1, 3}, {3, 2, 1}, {4, 3, 1}, {6, 3, 3}};
    struct fa_bytes text = FA_LIT("ab\n\n\xc3\xa9");

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_source_position place = fa_source_position_find(text, cases[i].offset);

        check_int("line", place.line, cases[i].line);
        check_int("column", place.column, cases[i].column);
    }
}

static void test_place__snippets(void **state)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"", ""},
        {"plain", "plain"},
        {"a\nb\x01", "a b?"},
        {"\xff\xc3\xa9\xc3", "?\xc3\xa9?"},
        {"0123456789012345678901234567890123456789abcd",
         "0123456789012345678901234567890123456789abcd"},
        {"0123456789012345678901234567890123456789abcde",
         "0123456789012345678901234567890123456789abcd..."},
        {"0123456789012345678901234567890123456789abc\xc3\xa9",
         "0123456789012345678901234567890123456789abc..."},
    };
    char out[FA_SNIPPET_SIZE];

    for (size_t i = 0; i < FA_COUNT(cases); i++)
        check_str(cases[i].text, fa_snippet(fa_str(cases[i].text), out), cases[i].shown);
    assert_string_equal(fa_snippet((struct fa_bytes){NULL, 0}, out), "");
    assert_string_equal(fa_snippet(FA_LIT("a\0b"), out), "a?b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_place__lines_and_columns),
        cmocka_unit_test(test_place__snippets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
