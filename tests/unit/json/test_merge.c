/*
 * test_merge.c - merge patches: the cases of RFC 7396, and two patches as one.
 */
#include "unit/base/unit.h"

#include "json/merge.h"

#include <stdio.h>
#include <stdlib.h>

static void test_merge__cases_of_the_rfc(void **state)
{
    static const struct {
        const char *target, *patch, *result;
    } cases[] = {
        {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
        {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
        {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
        {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
        {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"},
        {"{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]"},
        {"{\"a\":\"foo\"}", "null", "null"},
        {"{\"a\":\"foo\"}", "\"bar\"", "\"bar\""},
        {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
        {"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
        {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
        {NULL, "{\"a\":{\"b\":null,\"c\":1}}", "{\"a\":{\"c\":1}}"},
        {NULL, "{}", "{}"},
        {"{\"\\u0061\":1,\"\\u00e4\":2}", "{\"a\":3,\"\xc3\xa4\":null}", "{\"a\":3}"},
        {"{\"n\":1.50}", "{\"m\":1e400}", "{\"n\":1.50,\"m\":1e400}"},
    };
    struct fa_arena arena = {0};

    (void)state;
    for (size_t i = 0; i < FA_COUNT(cases); i++)
        check_str(cases[i].patch, fa_json_merge(cases[i].target, cases[i].patch, &arena),
                  cases[i].result);
    fa_arena_finish(&arena);
}

static void test_merge__two_patches_are_one(void **state)
{
    static const char *const texts[] = {
        "{}",
        "{\"a\":1}",
        "{\"a\":null}",
        "{\"a\":2,\"b\":{\"c\":null,\"d\":3}}",
        "{\"b\":{\"c\":4}}",
        "{\"b\":{\"d\":null},\"e\":[]}",
    };
    struct fa_arena arena = {0};

    (void)state;
    for (size_t i = 0; i < FA_COUNT(texts); i++) {
        for (size_t j = 0; j < FA_COUNT(texts); j++) {
            const char *target = "{\"a\":0,\"b\":{\"c\":1,\"x\":2},\"z\":9}";
            const char *one = fa_json_merge_patches(texts[i], texts[j], &arena);
            const char *steps = fa_json_merge(target, texts[i], &arena);

            steps = fa_json_merge(steps, texts[j], &arena);
            if (!fa_json_same(fa_str(fa_json_merge(target, one, &arena)), fa_str(steps)))
                fail_msg("%s and %s are %s, which gives %s instead of %s", texts[i], texts[j], one,
                         fa_json_merge(target, one, &arena), steps);
        }
    }
    fa_arena_finish(&arena);
}

/* The cost is not that of comparing each member with each. */
static void test_merge__many_members(void **state)
{
    struct fa_arena arena = {0};
    struct fa_buf first, second;

    (void)state;
    fa_buf_init(&first, 1 << 20);
    fa_buf_init(&second, 1 << 20);
    for (int i = 0; i < 20000; i++) {
        fa_buf_printf(&first, "%c\"k%d\":%d", i == 0 ? '{' : ',', i, i);
        fa_buf_printf(&second, "%c\"k%d\":null", i == 0 ? '{' : ',', 19999 - i);
    }
    fa_buf_add_char(&first, '}');
    fa_buf_add_char(&second, '}');
    check_str("all are removed", fa_json_merge(first.ptr, second.ptr, &arena), "{}");
    fa_buf_finish(&first);
    fa_buf_finish(&second);
    fa_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge__cases_of_the_rfc),
        cmocka_unit_test(test_merge__two_patches_are_one),
        cmocka_unit_test(test_merge__many_members),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
