/*
 * test_yaml.c - YAML that means JSON, and YAML that doesn't.
 */
#include "unit/base/unit.h"

#include "json/json.h"
#include "json/yaml.h"

#define DEPTH 8

static void test_yaml__becomes_json(void **state)
{
    static const struct {
        const char *yaml, *json;
    } cases[] = {
        {"a: 1", "{\"a\":1}"},
        {"a: 1\nb:\n  - x\n  - y: [1, 2.50, {c: null}]\n",
         "{\"a\":1,\"b\":[\"x\",{\"y\":[1,2.50,{\"c\":null}]}]}"},
        {"- a\n-\n- ~\n- Null\n- null\n", "[\"a\",null,null,null,null]"},
        {"[true, True, TRUE, false, FALSE, tRUE]", "[true,true,true,false,false,\"tRUE\"]"},
        {"[yes, no, on, off, y, n]", "[\"yes\",\"no\",\"on\",\"off\",\"y\",\"n\"]"},
        {"on: yes\ntrue: 1\nnull: 2\n5: 3", "{\"on\":\"yes\",\"true\":1,\"null\":2,\"5\":3}"},
        {"[0, -0, 12, -1.5e+3, 9007199254740993, 1E5]", "[0,-0,12,-1.5e+3,9007199254740993,1E5]"},
        {"[1_000, 12:30, 2026-01-02, 1.2.3, 1e, e1, -, ., 0xg, 0o8, -x]",
         "[\"1_000\",\"12:30\",\"2026-01-02\",\"1.2.3\",\"1e\",\"e1\",\"-\",\".\",\"0xg\",\"0o8\","
         "\"-x\"]"},
        {"['1', \"true\", 'null', '']", "[\"1\",\"true\",\"null\",\"\"]"},
        {"a: |\n  one\n  two\nb: >\n  one\n  two\n",
         "{\"a\":\"one\\ntwo\\n\",\"b\":\"one two\\n\"}"},
        {"a: \"q\\\"\\x01\\u00e9\\U0001F600\\t\"",
         "{\"a\":\"q\\\"\\u0001\xc3\xa9\xf0\x9f\x98\x80\\t\"}"},
        {"a: it's # why\nb: 'it''s'", "{\"a\":\"it's\",\"b\":\"it's\"}"},
        {"match: mimeType = 'audio/mpeg'", "{\"match\":\"mimeType = 'audio/mpeg'\"}"},
        {"x: \"${hash}\"", "{\"x\":\"${hash}\"}"},
        {"--- \na: 1\n...\n", "{\"a\":1}"},
        {"%YAML 1.2\n---\na: 1\n", "{\"a\":1}"},
        {"\xef\xbb\xbf"
         "a: 1",
         "{\"a\":1}"},
        {"a: 1\r\nb: 2\r\n", "{\"a\":1,\"b\":2}"},
        {"{\"a\": [1, \"x\", {\"b\": null}]}", "{\"a\":[1,\"x\",{\"b\":null}]}"},
        {"{}", "{}"},
        {"[]", "[]"},
        {"{a, b: , ? c : 3}", "{\"a\":null,\"b\":null,\"c\":3}"},
        {"text", "\"text\""},
        {"größe: é", "{\"gr\xc3\xb6\xc3\x9f"
                     "e\":\"\xc3\xa9\"}"},
        {"'<<': 1", "{\"<<\":1}"},
        {"'': 1", "{\"\":1}"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_arena arena = {0};
        struct fa_yaml yaml = {0};
        struct faina_error err = {0};

        if (fa_yaml_read(fa_str(cases[i].yaml), DEPTH, "file", &arena, &yaml, &err) != FAINA_OK)
            fail_msg("%s: %s", cases[i].yaml, err.message);
        check_str(cases[i].yaml, yaml.json.ptr, cases[i].json);
        check_int(cases[i].yaml, fa_json_check(yaml.json, DEPTH, "x", FAINA_INVALID_REQUEST, NULL),
                  FAINA_OK);
        fa_arena_finish(&arena);
    }
}

static void test_yaml__refusals(void **state)
{
    static const struct {
        const char *yaml;
        int line, column;
        const char *message;
    } cases[] = {
        {"", 1, 1, "file: the document is empty at line 1, column 1"},
        {"# only a comment\n", 1, 1, "the document is empty"},
        {"a: &x 1\n", 1, 4, "anchors (&) are not allowed"},
        {"a: &x [1]\n", 1, 4, "anchors (&) are not allowed"},
        {"a: *x\n", 1, 4, "aliases (*) are not allowed"},
        {"a: !!str 1\n", 1, 4, "tags (!) are not allowed"},
        {"a: !x {b: 1}\n", 1, 4, "tags (!) are not allowed"},
        {"a: ! 1\n", 1, 4, "tags (!) are not allowed"},
        {"a:\n  <<: {b: 1}\n", 2, 3, "merge keys (<<) are not allowed"},
        {"a: 1\nb: 2\na: 3\n", 3, 1, "duplicate key \"a\" at line 3, column 1"},
        {"x:\n  - {é: 1, b: 2, \"b\": 3}\n", 2, 19, "duplicate key \"b\""},
        {"a: 1\n---\nb: 2\n", 2, 1, "a second document is not allowed"},
        {"? [a]\n: 1\n", 1, 3, "a key must be a text"},
        {"? \n: 1\n", 1, 2, "a key is missing"},
        {"a: 007\n", 1, 4, "a number that JSON doesn't have (put it in quotes if it is text)"},
        {"a: +1\n", 1, 4, "a number that JSON"},
        {"a: .5\n", 1, 4, "a number that JSON"},
        {"a: 5.\n", 1, 4, "a number that JSON"},
        {"a: 0x1F\n", 1, 4, "a number that JSON"},
        {"a: 0o17\n", 1, 4, "a number that JSON"},
        {"a: .inf\n", 1, 4, "a number that JSON"},
        {"a: -.INF\n", 1, 4, "a number that JSON"},
        {"a: .NaN\n", 1, 4, "a number that JSON"},
        {"a: -01e5\n", 1, 4, "a number that JSON"},
        {"a:\n\tb: 1\n", 2, 1, "a tab, where YAML requires spaces, at line 2, column 1"},
        {"a: 1\n b: 2\n", 2, 3, "mapping values are not allowed in this context"},
        {"a: [1, 2\n", 2, 1, "expected"},
        {"a: 'x\n", 2, 1, "unexpected end of stream"},
        {"a: \"\\0\"\n", 1, 4, "a NUL character is not allowed"},
        {"a: \x01\n", 1, 4, "a character that is not allowed"},
        {"a: \xff\n", 1, 4, "invalid UTF-8"},
        {"[[[[[[[[[1]]]]]]]]]", 1, 9, "nested too deeply"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_arena arena = {0};
        struct fa_yaml yaml = {0};
        struct faina_error err = {0};

        check_int(cases[i].yaml,
                  fa_yaml_read(fa_str(cases[i].yaml), DEPTH, "file", &arena, &yaml, &err),
                  FAINA_INVALID_REQUEST);
        if (!strstr(err.message, cases[i].message))
            fail_msg("%s: got \"%s\", expected \"%s\" in it", cases[i].yaml, err.message,
                     cases[i].message);
        check_int(cases[i].yaml, err.line, cases[i].line);
        check_int(cases[i].yaml, err.column, cases[i].column);
        assert_null(yaml.json.ptr);
        fa_arena_finish(&arena);
    }
}

static void test_yaml__bytes_behind_a_nul(void **state)
{
    struct fa_arena arena = {0};
    struct fa_yaml yaml = {0};

    assert_int_equal(fa_yaml_read(FA_LIT("a: 1\0b"), DEPTH, "file", &arena, &yaml, NULL),
                     FAINA_INVALID_REQUEST);
    assert_int_equal(fa_yaml_read((struct fa_bytes){NULL, 0}, DEPTH, "file", &arena, &yaml, NULL),
                     FAINA_INVALID_REQUEST);
    fa_arena_finish(&arena);
}

static void test_yaml__depth(void **state)
{
    struct fa_arena arena = {0};
    struct fa_yaml yaml = {0};

    assert_int_equal(fa_yaml_read(FA_LIT("[[[[[[[[1]]]]]]]]"), DEPTH, "file", &arena, &yaml, NULL),
                     FAINA_OK);
    fa_arena_finish(&arena);
}

/* Each value of the JSON leads back to where it was written. */
static void test_yaml__places(void **state)
{
    static const struct {
        const char *json; /* what begins at the offset */
        int line, column;
    } cases[] = {
        {"{\"a\"", 2, 1},        {"\"a\":", 2, 1},  {"1,", 2, 5},
        {"\"b\"", 3, 1},         {"[\"x\"", 4, 3},  {"\"x\"", 4, 5},
        {"{\"\xc3\xa9\"", 5, 5}, {"\"c\":", 5, 13}, {"2}", 5, 16},
    };
    struct fa_bytes source = FA_LIT("# first\na:  1\nb:\n  - x\n  - {\xc3\xa9: 1, c: 2}\n");
    struct fa_arena arena = {0};
    struct fa_yaml yaml = {0};

    assert_int_equal(fa_yaml_read(source, DEPTH, "file", &arena, &yaml, NULL), FAINA_OK);
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        const char *at = strstr(yaml.json.ptr, cases[i].json);
        struct fa_source_position place;

        check_true(cases[i].json, at != NULL);
        place = fa_yaml_position(&yaml, (size_t)(at - yaml.json.ptr));
        check_int(cases[i].json, place.line, cases[i].line);
        check_int(cases[i].json, place.column, cases[i].column);
    }
    fa_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_yaml__becomes_json),
        cmocka_unit_test(test_yaml__refusals),
        cmocka_unit_test(test_yaml__bytes_behind_a_nul),
        cmocka_unit_test(test_yaml__depth),
        cmocka_unit_test(test_yaml__places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
