/*
 * test_text.c - text for people.
 */
#include "unit/base/unit.h"

#include "cli/text.h"

#include <locale.h>

#define US INT64_C(1000000)

static void test_text__width_counts_columns(void **state)
{
    check_int("empty", fa_text_width(""), 0);
    check_int("ASCII", fa_text_width("faina"), 5);
    check_int("umlaut", fa_text_width("\xc3\xa4"), 1);
    check_int("wide", fa_text_width("\xe6\x97\xa5\xe6\x9c\xac"), 4);
    check_int("combining", fa_text_width("e\xcc\x81"), 1);
}

static void test_text__clip_never_exceeds_the_width(void **state)
{
    static const char text[] = "caf\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e and more";
    struct fa_arena arena = {0};

    for (int width = 1; width <= fa_text_width(text) + 2; width++) {
        const char *clipped = fa_text_clip(&arena, text, width);

        check_true("width", fa_text_width(clipped) <= width);
        if (width >= fa_text_width(text))
            check_str("all of it", clipped, text);
        else
            check_true("mark", strstr(clipped, "\xe2\x80\xa6") != NULL);
    }
    fa_arena_finish(&arena);
}

static void test_text__clean_leaves_nothing_that_moves_the_cursor(void **state)
{
    static const struct {
        const char *text, *clean;
    } cases[] = {
        {"plain \xc3\xa4", "plain \xc3\xa4"},
        {"a\nb\tc", "a b c"},
        {"\x1b[2J", " [2J"},
        {"x\x7f", "x "},
        {"\xc2\x9b"
         "31m",
         " 31m"},                                   /* C1: CSI in one character */
        {"bad \xff byte", "bad \xef\xbf\xbd byte"}, /* not UTF-8 */
        {"cut \xe6\x97", "cut \xef\xbf\xbd\xef\xbf\xbd"},
        {"", ""},
    };
    struct fa_arena arena = {0};

    for (size_t i = 0; i < FA_COUNT(cases); i++)
        check_str(cases[i].text, fa_text_clean(&arena, cases[i].text), cases[i].clean);
    fa_arena_finish(&arena);
}

static void test_text__counts(void **state)
{
    static const struct {
        int64_t n;
        const char *text;
    } cases[] = {
        {0, "0"},
        {7, "7"},
        {999, "999"},
        {1000, "1,000"},
        {-1000, "-1,000"},
        {-999, "-999"},
        {1234567, "1,234,567"},
        {INT64_MAX, "9,223,372,036,854,775,807"},
        {INT64_MIN, "-9,223,372,036,854,775,808"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        char text[FA_TEXT_COUNT_SIZE];
        check_str(cases[i].text, fa_text_count(cases[i].n, text), cases[i].text);
    }
}

static void test_text__words(void **state)
{
    struct fa_arena arena = {0};

    check_str("one", fa_text_plural(&arena, 1, "task"), "1 task");
    check_str("none", fa_text_plural(&arena, 0, "task"), "0 tasks");
    check_str("many", fa_text_plural(&arena, 1234, "task"), "1,234 tasks");
    check_str("never", fa_text_age(&arena, 0, 100 * US), "-");
    check_str("now", fa_text_age(&arena, 100 * US, 100 * US), "now");
    check_str("ago", fa_text_age(&arena, 100 * US, 104 * US + 200000), "4 s ago");
    check_str("in", fa_text_age(&arena, 104 * US + 200000, 100 * US), "in 4 s");
    check_str("minutes", fa_text_age(&arena, 100 * US, 340 * US), "4 min ago");
    check_str("due in", fa_text_due(&arena, 100 * US + 56001, 100 * US), "in 57 ms");
    check_str("due soon", fa_text_due(&arena, 100 * US + 1, 100 * US), "in 1 ms");
    check_str("due in seconds", fa_text_due(&arena, 104 * US + 1, 100 * US), "in 5 s");
    check_str("due in minutes", fa_text_due(&arena, 399 * US + 1, 100 * US), "in 5 min");
    check_str("due now", fa_text_due(&arena, 100 * US, 100 * US), "now");
    check_str("due ago", fa_text_due(&arena, 100 * US, 104 * US), "4 s ago");
    check_str("due never", fa_text_due(&arena, 0, 100 * US), "-");
    check_str("roughly now", fa_text_roughly(&arena, 100 * US, 100 * US + 999999), "now");
    check_str("roughly soon", fa_text_roughly(&arena, 100 * US + 57000, 100 * US), "in 57 ms");
    check_str("roughly ago", fa_text_roughly(&arena, 100 * US, 190 * US), "90 s ago");
    check_str("rough minutes", fa_text_roughly(&arena, 399 * US + 1, 100 * US), "in 5 min");
    check_str("past minutes", fa_text_roughly(&arena, 100 * US, 399 * US), "4 min ago");
    check_str("rough hours", fa_text_roughly(&arena, 90001 * US, US), "in 25 h");
    check_str("rough days", fa_text_roughly(&arena, US, 172801 * US), "2 days ago");
    check_str("roughly never", fa_text_roughly(&arena, 0, 100 * US), "-");
    check_str("bytes", fa_text_size(&arena, 12), "12 bytes");
    check_str("KiB", fa_text_size(&arena, 1536), "1.5 KiB");
    check_str("unknown", fa_text_size(&arena, -1), "unknown");
    fa_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text__width_counts_columns),
        cmocka_unit_test(test_text__clip_never_exceeds_the_width),
        cmocka_unit_test(test_text__clean_leaves_nothing_that_moves_the_cursor),
        cmocka_unit_test(test_text__counts),
        cmocka_unit_test(test_text__words),
    };

    setlocale(LC_CTYPE, "C.UTF-8"); /* as main does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
