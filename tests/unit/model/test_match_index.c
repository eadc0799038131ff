/*
 * test_match_index.c - which of many expressions are selected for an event.
 */
#include "unit/base/unit.h"

#include "json/json.h"
#include "base/random.h"
#include "model/limits.h"
#include "model/match_index.h"

#define COUNT 200 /* expressions of the random test: several words, and the last one not full */

static const struct fa_match *compile(const char *source, struct fa_arena *arena)
{
    const struct fa_match *match = NULL;
    struct faina_error err;

    if (fa_match_compile(fa_str(source), arena, &match, &err) != FAINA_OK)
        fail_msg("%s: %s", source, err.message);
    return match;
}

static bool is_selected(const uint64_t *words, size_t which)
{
    return words[which / 64] >> which % 64 & 1;
}

/* Whether the only expression is selected. */
static bool selects(const char *source, const char *json)
{
    struct fa_arena arena = {0};
    const struct fa_match *match = source ? compile(source, &arena) : NULL;
    const struct fa_match_index *index = fa_match_index_make(&match, 1, &arena);
    struct fa_match_data data;
    uint64_t selected = 0;

    fa_match_data_init(&data, fa_str(json));
    fa_match_index_select(index, &data, &selected);
    fa_arena_finish(&arena);
    check_true("bits beyond the last", selected <= 1);
    return selected == 1;
}

static void test_match_index__what_is_needed(void **state)
{
    static const struct {
        const char *source, *data;
        bool is_selected;
    } cases[] = {
        {NULL, "{}", true},
        {"a = 'x'", "{\"a\":\"x\"}", true},
        {"a = 'x'", "{\"a\":\"y\"}", false},
        {"a = 'x'", "{\"a\":\"xx\"}", false},
        {"a = 'x'", "{\"b\":\"x\"}", false},
        {"a = 'x'", "{\"a\":[\"x\"]}", false},
        {"a = 'x'", "{\"a\":null}", false},
        {"a = 'x'", "[\"a\"]", false},
        {"a = 'x'", "{\"a\":\"\\u0078\"}", true},
        {"a = 'x'", "{\"\\u0061\":\"x\"}", true},
        {"'x' = a", "{\"a\":\"y\"}", false},
        {"'x' = a", "{\"a\":\"x\"}", true},
        {"a.b[1] = 'x'", "{\"a\":{\"b\":[\"y\",\"x\"]}}", true},
        {"a.b[1] = 'x'", "{\"a\":{\"b\":[\"x\",\"y\"]}}", false},
        {"a = 7", "{\"a\":7}", true},
        {"a = 7", "{\"a\":8}", false},
        {"a = 7", "{\"a\":\"7\"}", false},
        {"a = '7'", "{\"a\":7}", false},
        {"a = 7", "{\"a\":7.0}", true},
        {"a = 7", "{\"a\":70e-1}", true},
        {"a = 0", "{\"a\":-0}", true},
        {"a = 7.0", "{\"a\":7}", true},
        {"a = 9007199254740993", "{\"a\":9007199254740992}", false},
        {"a startsWith 'ima'", "{\"a\":\"image\"}", true},
        {"a startsWith 'ima'", "{\"a\":\"imp\"}", false},
        {"a startsWith 'ima'", "{\"a\":\"im\"}", false},
        {"a startsWith ''", "{\"a\":\"im\"}", true},
        {"a endsWith '.pdf'", "{\"a\":\"x.pdf\"}", true},
        {"a endsWith '.pdf'", "{\"a\":\"x.png\"}", false},
        {"a endsWith '.pdf'", "{\"a\":\"pdf\"}", false},
        {"a in ('x', 'y', 3)", "{\"a\":\"y\"}", true},
        {"a in ('x', 'y', 3)", "{\"a\":3}", true},
        {"a in ('x', 'y', 3)", "{\"a\":\"z\"}", false},
        {"a in ('x', null)", "{\"a\":\"z\"}", true},
        {"b > 1 AND a = 'x'", "{\"a\":\"y\",\"b\":2}", false},
        {"b > 1 AND (c = 2 AND a = 'x')", "{\"a\":\"x\",\"b\":2}", false},
        {"a = 'x' OR b = 'y'", "{\"a\":\"z\",\"b\":\"y\"}", true},
        {"a = 'x' OR b = 'y'", "{\"a\":\"z\",\"b\":\"z\"}", false},
        {"a = 'x' OR b > 1", "{\"a\":\"z\",\"b\":0}", true},
        {"NOT a = 'x'", "{\"a\":\"x\"}", true},
        {"a != 'x'", "{\"a\":\"x\"}", true},
        {"a contains 'x'", "{\"a\":\"y\"}", true},
        {"a = true", "{\"a\":false}", true},
        {"a = null", "{\"a\":\"x\"}", true},
        {"a = b", "{\"a\":\"x\"}", true},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++)
        if (selects(cases[i].source, cases[i].data) != cases[i].is_selected)
            fail_msg("%s on %s: expected %d", cases[i].source, cases[i].data, cases[i].is_selected);
}

/* What running would refuse must be run, so that it is refused (I1). */
static void test_match_index__costly_ones_are_selected(void **state)
{
    struct fa_buf json, source;

    fa_buf_init(&json, SIZE_MAX);
    fa_buf_init(&source, FA_MATCH_SIZE_MAX);
    fa_buf_add_str(&json, "{\"l\":[0");
    for (int i = 0; i < 10000; i++)
        fa_buf_add_str(&json, ",0");
    fa_buf_add_str(&json, "]}");
    fa_buf_add_str(&source, "(l[9999] = 1");
    for (int i = 0; i < 200; i++)
        fa_buf_add_str(&source, " OR l[9999] = 1");
    fa_buf_add_str(&source, ") AND a = 'x'");
    assert_true(selects(source.ptr, json.ptr));
    assert_false(selects("a = 'x'", json.ptr));
    fa_buf_finish(&json);
    fa_buf_finish(&source);
}

/* Every field and length is a group of its own; what has no room is selected always. */
static void test_match_index__many_fields(void **state)
{
    enum { FIELDS = 100 };
    const struct fa_match *matches[FIELDS];
    struct fa_arena arena = {0};
    const struct fa_match_index *index;
    struct fa_match_data data;
    uint64_t selected[FA_MATCH_WORDS(FIELDS)];
    int count = 0;

    for (int i = 0; i < FIELDS; i++)
        matches[i] = compile(fa_arena_printf(&arena, "f%d = 'x'", i), &arena);
    index = fa_match_index_make(matches, FIELDS, &arena);
    fa_match_data_init(&data, FA_LIT("{\"f3\":\"x\",\"f4\":\"y\"}"));
    fa_match_index_select(index, &data, selected);
    for (size_t i = 0; i < FIELDS; i++)
        count += is_selected(selected, i);
    assert_true(is_selected(selected, 3));
    assert_false(is_selected(selected, 4));
    assert_true(is_selected(selected, 99));
    assert_in_range(count, 1, FIELDS - 20);
    fa_arena_finish(&arena);
}

static void test_match_index__one_with_too_many_fields(void **state)
{
    struct fa_buf source;

    fa_buf_init(&source, FA_MATCH_SIZE_MAX);
    fa_buf_add_str(&source, "f0 = 'x'");
    for (int i = 1; i < 100; i++) {
        fa_buf_printf(&source, " OR f%d = 'x'", i);
        assert_true(selects(source.ptr, "{\"f99\":\"x\"}") || i < 32);
        assert_true(selects(source.ptr, "{\"f0\":\"x\",\"f1\":1}"));
    }
    fa_buf_finish(&source);
}

/* ------------------------------------------------------------------------------------------
 * Random ones
 */

static const char *pick(struct fa_random *random, const char *const *items, size_t count)
{
    return items[fa_random_below(random, count)];
}
#define PICK(random, items) pick(random, items, FA_COUNT(items))

static void put_clause(struct fa_random *random, struct fa_buf *out)
{
    static const char *const fields[] = {"a", "b", "c.d", "c['e']", "l[1]"};
    static const char *const tests[] = {
        " = 'x'",           " = 'xy'",       " = 1",          " = 10",   " = 1.5", " = ''",
        " startsWith 'x'",  " endsWith 'y'", " contains 'x'", " != 'x'", " > 1",   " in ('x', 1)",
        " in ('xy', true)", " = null",       " = a",          " < 'xy'",
    };

    fa_buf_printf(out, "%s%s", PICK(random, fields), PICK(random, tests));
}

static void put_expression(struct fa_random *random, struct fa_buf *out, int depth)
{
    static const char *const joints[] = {" AND ", " AND ", " OR "};

    if (depth == 0 || fa_random_below(random, 4) == 0) {
        put_clause(random, out);
        return;
    }
    if (fa_random_below(random, 6) == 0)
        fa_buf_add_str(out, "NOT ");
    fa_buf_add_char(out, '(');
    put_expression(random, out, depth - 1);
    fa_buf_add_str(out, PICK(random, joints));
    put_expression(random, out, depth - 1);
    fa_buf_add_char(out, ')');
}

static void put_data(struct fa_random *random, struct fa_buf *out)
{
    static const char *const values[] = {
        "\"x\"", "\"xy\"", "\"\"", "\"\\u0078\"", "\"yx\"", "1",   "10",
        "1.0",   "1e1",    "1.5",  "null",        "true",   "[1]", "12345678901234567890123",
    };

    fa_buf_printf(out, "{\"a\":%s,\"c\":{\"d\":%s,\"e\":%s}", PICK(random, values),
                  PICK(random, values), PICK(random, values));
    if (fa_random_below(random, 2))
        fa_buf_printf(out, ",\"b\":%s", PICK(random, values));
    if (fa_random_below(random, 2))
        fa_buf_printf(out, ",\"l\":[0,%s]", PICK(random, values));
    fa_buf_add_char(out, '}');
}

static void test_match_index__never_loses_one(void **state)
{
    const struct fa_match *matches[COUNT];
    struct fa_arena arena = {0};
    const struct fa_match_index *index;
    struct fa_random random;
    struct fa_buf text;
    int left_out = 0, matched = 0;

    fa_random_seed(&random, SEED);
    fa_buf_init(&text, FA_MATCH_SIZE_MAX);
    for (int i = 0; i < COUNT; i++) {
        fa_buf_clear(&text);
        put_expression(&random, &text, 3);
        matches[i] = compile(text.ptr, &arena);
    }
    index = fa_match_index_make(matches, COUNT, &arena);
    for (int round = 0; round < 3000; round++) {
        struct fa_match_data data;
        uint64_t selected[FA_MATCH_WORDS(COUNT)];

        fa_buf_clear(&text);
        put_data(&random, &text);
        fa_match_data_init(&data, fa_str(text.ptr));
        fa_match_index_select(index, &data, selected);
        for (size_t i = 0; i < COUNT; i++) {
            struct fa_match_verdict verdict = {0};

            assert_int_equal(fa_match_run(matches[i], &data, &verdict, NULL), FAINA_OK);
            if (verdict.is_match && !is_selected(selected, i))
                fail_msg("%.*s matches %s but isn't selected", (int)fa_match_source(matches[i]).len,
                         fa_match_source(matches[i]).ptr, text.ptr);
            left_out += !is_selected(selected, i);
            matched += verdict.is_match;
        }
    }
    assert_true(left_out > 50000);
    assert_true(matched > 50000);
    fa_buf_finish(&text);
    fa_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_match_index__what_is_needed),
        cmocka_unit_test(test_match_index__costly_ones_are_selected),
        cmocka_unit_test(test_match_index__many_fields),
        cmocka_unit_test(test_match_index__one_with_too_many_fields),
        cmocka_unit_test(test_match_index__never_loses_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
