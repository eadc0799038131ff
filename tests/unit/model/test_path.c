/*
 * test_path.c - paths into JSON.
 */
#include "unit/base/unit.h"

#include "model/path.h"

static void test_path__found_or_missing(void **state)
{
    static const struct {
        const char *path, *json, *found; /* NULL: missing */
    } cases[] = {
        {"a", "{\"a\":1}", "1"},
        {"a.b", "{\"a\":{\"b\":[]}}", "[]"},
        {"a[1]", "{\"a\":[5, 6 ]}", "6"},
        {"a[1][0]", "{\"a\":[5,[7]]}", "7"},
        {"[0].x", "[{\"x\":null}]", "null"},
        {"['a b']['it''s']", "{\"a b\":{\"it's\":2}}", "2"},
        {"['']", "{\"\":3}", "3"},
        {"a", "{\"\\u0061\":4}", "4"},
        {"\xc3\xa9", "{\"\\u00e9\":5}", "5"},
        {"a-b.$c.@d._e1", "{\"a-b\":{\"$c\":{\"@d\":{\"_e1\":6}}}}", "6"},
        {"b", "{\"a\":1}", NULL},
        {"a", "[1]", NULL},
        {"[0]", "{\"0\":1}", NULL},
        {"[1]", "[1]", NULL},
        {"[4294967295]", "[1]", NULL},
        {"a.b", "{\"a\":\"b\"}", NULL},
        {"A", "{\"a\":1}", NULL},
        {"aa", "{\"a\":1}", NULL},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_arena arena = {0};
        struct fa_json value = fa_json_value(fa_str(cases[i].json));
        struct fa_path_mistake mistake;
        struct fa_path path;
        size_t at = 0;
        bool is_found;

        check_true(cases[i].path,
                   fa_path_read(fa_str(cases[i].path), &at, &arena, &path, &mistake));
        check_int(cases[i].path, (int64_t)at, (int64_t)strlen(cases[i].path));
        is_found = fa_path_find(&path, value, NULL, &value);
        check_int(cases[i].path, is_found, cases[i].found != NULL);
        if (is_found)
            check_str(cases[i].path, fa_arena_copy(&arena, value.raw.ptr, value.raw.len),
                      cases[i].found);
        fa_arena_finish(&arena);
    }
}

static void test_path__where_reading_stops(void **state)
{
    static const struct {
        const char *text;
        int64_t end; /* of the path; negative: the place of a mistake, from -1 */
    } cases[] = {
        {"a.b = 1", 3}, {"a[0])", 4},     {"a b", 1},
        {"a]", 1},      {"", -1},         {"1", -1},
        {".a", -1},     {"a.", -3},       {"a..b", -3},
        {"a[", -3},     {"a[]", -3},      {"a[-1]", -3},
        {"a['x", -3},   {"a['x'", -6},    {"a[1", -4},
        {"a.[0]", -3},  {"a[\"x\"]", -3}, {"a[4294967296]", -3},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_arena arena = {0};
        struct fa_path_mistake mistake = {0};
        struct fa_path path;
        size_t at = 0;

        if (fa_path_read(fa_str(cases[i].text), &at, &arena, &path, &mistake)) {
            check_int(cases[i].text, (int64_t)at, cases[i].end);
        } else {
            check_int(cases[i].text, -1 - (int64_t)mistake.offset, cases[i].end);
            check_true(cases[i].text, mistake.expected != NULL);
        }
        fa_arena_finish(&arena);
    }
}

static void test_path__budget(void **state)
{
    struct fa_arena arena = {0};
    struct fa_json root = fa_json_value(FA_LIT("[0,1,2,3,4]")), value;
    struct fa_path_mistake mistake;
    struct fa_path path;
    size_t at = 0;
    int64_t budget = 6;

    assert_true(fa_path_read(FA_LIT("[4]"), &at, &arena, &path, &mistake));
    assert_true(fa_path_find(&path, root, &budget, &value));
    assert_int_equal(budget, 1);
    budget = 5;
    assert_false(fa_path_find(&path, root, &budget, &value));
    assert_int_equal(budget, 0);
    fa_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_path__found_or_missing),
        cmocka_unit_test(test_path__where_reading_stops),
        cmocka_unit_test(test_path__budget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
