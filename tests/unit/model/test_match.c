/*
 * test_match.c - match expressions: the case file, limits, and random expressions against a plain
 * tree evaluator.
 */
#include "unit/base/unit.h"

#include "json/json.h"
#include "base/random.h"
#include "model/limits.h"
#include "model/match.h"

#define LINE_SIZE 4096

/* ------------------------------------------------------------------------------------------
 * The case file
 */

/* "\n" in a line of the case file is a line break. */
static void break_lines(char *text)
{
    char *to = text;

    for (const char *at = text; *at; at++) {
        if (at[0] == '\\' && at[1] == 'n') {
            *to++ = '\n';
            at++;
        } else {
            *to++ = *at;
        }
    }
    *to = '\0';
}

static void check_verdict(const char *name, const char *source, const char *data_text,
                          bool is_match, const char *clause)
{
    struct fa_arena arena = {0};
    struct fa_match_data data;
    struct fa_match_verdict verdict = {0};
    const struct fa_match *match;
    struct faina_error err = {0};
    char decided[LINE_SIZE];

    if (fa_match_compile(fa_str(source), &arena, &match, &err) != FAINA_OK)
        fail_msg("%s: %s: refused: %s", name, source, err.message);
    assert_int_equal(fa_json_check(fa_str(data_text), 64, "data", FAINA_INVALID_REQUEST, &err),
                     FAINA_OK);
    fa_match_data_init(&data, fa_str(data_text));
    assert_int_equal(fa_match_run(match, &data, &verdict, &err), FAINA_OK);
    if (verdict.is_match != is_match)
        fail_msg("%s: %s on %s: expected %d", name, source, data_text, is_match);
    snprintf(decided, sizeof(decided), "[%.*s]", (int)(verdict.to - verdict.from),
             source + verdict.from);
    if (clause && *clause)
        check_str(name, decided, clause);
    fa_arena_finish(&arena);
}

static void check_refusal(const char *name, const char *source, const char *expected)
{
    struct fa_arena arena = {0};
    const struct fa_match *match = NULL;
    struct faina_error err = {0};
    char *text;
    long line = strtol(expected, &text, 10), column = strtol(text, &text, 10);

    if (fa_match_compile(fa_str(source), &arena, &match, &err) != FAINA_INVALID_REQUEST)
        fail_msg("%s: %s: not refused", name, source);
    assert_null(match);
    if (!strstr(err.message, text + 1))
        fail_msg("%s: %s: got \"%s\", expected \"%s\" in it", name, source, err.message, text + 1);
    check_int(name, err.line, line);
    check_int(name, err.column, column);
    check_str(name, err.field, "match");
    fa_arena_finish(&arena);
}

static const char *after(const char *line, const char *word)
{
    size_t len = strlen(word);

    return strncmp(line, word, len) == 0 ? line + len : NULL;
}

static void test_match__case_file(void **state)
{
    char *file = read_source("tests/unit/model/match_cases.txt"), *next = file;
    char source[LINE_SIZE] = "", data[LINE_SIZE] = "null", name[64];
    int count = 0;

    for (int number = 1; next && *next; number++) {
        char *line = next, *end = strchr(line, '\n');
        const char *rest;

        next = end ? end + 1 : NULL;
        if (end)
            *end = '\0';
        snprintf(name, sizeof(name), "match_cases.txt:%d", number);
        if ((rest = after(line, "match ")) != NULL) {
            snprintf(source, sizeof(source), "%s", rest);
            break_lines(source);
        } else if ((rest = after(line, "data ")) != NULL) {
            snprintf(data, sizeof(data), "%s", rest);
        } else if ((rest = after(line, "error ")) != NULL) {
            check_refusal(name, source, rest);
            count++;
        } else if (after(line, "true") || after(line, "false")) {
            rest = strchr(line, ' ');
            check_verdict(name, source, data, line[0] == 't', rest ? rest + 1 : NULL);
            count++;
        } else if (*line && *line != '#') {
            fail_msg("%s: what is this?", name);
        }
    }
    assert_true(count > 150);
    free(file);
}

/* ------------------------------------------------------------------------------------------
 * Limits
 */

static enum faina_code compile(const char *source, struct faina_error *err)
{
    struct fa_arena arena = {0};
    const struct fa_match *match;
    enum faina_code code = fa_match_compile(fa_str(source), &arena, &match, err);

    fa_arena_finish(&arena);
    return code;
}

static void test_match__size(void **state)
{
    char source[FA_MATCH_SIZE_MAX + 2];
    struct faina_error err = {0};

    memset(source, ' ', sizeof(source));
    memcpy(source, "a = 1", 5);
    source[FA_MATCH_SIZE_MAX] = '\0';
    assert_int_equal(compile(source, &err), FAINA_OK);
    source[FA_MATCH_SIZE_MAX] = ' ';
    source[FA_MATCH_SIZE_MAX + 1] = '\0';
    assert_int_equal(compile(source, &err), FAINA_INVALID_REQUEST);
    assert_string_equal(err.message, "match is 4097 bytes long; the limit is 4096");
}

static void nest(char *out, int levels, const char *open, const char *close)
{
    *out = '\0';
    for (int i = 0; i < levels; i++)
        out = stpcpy(out, open);
    out = stpcpy(out, "a = 1");
    for (int i = 0; i < levels; i++)
        out = stpcpy(out, close);
}

static void test_match__depth(void **state)
{
    char source[4 * LINE_SIZE];
    struct faina_error err = {0};

    nest(source, FA_MATCH_DEPTH_MAX, "(", ")");
    assert_int_equal(compile(source, &err), FAINA_OK);
    nest(source, FA_MATCH_DEPTH_MAX + 1, "(", ")");
    assert_int_equal(compile(source, &err), FAINA_INVALID_REQUEST);
    assert_non_null(strstr(err.message, "nested deeper than 64 levels at line 1, column 65"));
    nest(source, FA_MATCH_DEPTH_MAX, "NOT ", "");
    assert_int_equal(compile(source, &err), FAINA_OK);
    nest(source, FA_MATCH_DEPTH_MAX + 1, "NOT ", "");
    assert_int_equal(compile(source, &err), FAINA_INVALID_REQUEST);
    nest(source, FA_MATCH_DEPTH_MAX / 2, "NOT (", ")");
    assert_int_equal(compile(source, &err), FAINA_OK);
}

static void test_match__long_chains_are_not_deep(void **state)
{
    char source[FA_MATCH_SIZE_MAX + 1] = "a=1";

    while (strlen(source) + 6 < sizeof(source))
        stpcpy(source + strlen(source), "OR b=1");
    /* Words need no space around signs and digits, but 1OR is no number. */
    assert_int_equal(compile(source, NULL), FAINA_INVALID_REQUEST);
    *source = '\0';
    while (strlen(source) + 8 < sizeof(source))
        stpcpy(source + strlen(source), *source ? " OR b=1" : "a=2");
    check_verdict("chain", source, "{\"a\":1,\"b\":2}", false, "[b=1]");
    check_verdict("chain", source, "{\"a\":2}", true, "[a=2]");
}

static void test_match__bad_bytes(void **state)
{
    struct fa_arena arena = {0};
    const struct fa_match *match = NULL;
    struct faina_error err = {0};

    assert_int_equal(fa_match_compile(FA_LIT("a = '\xff'"), &arena, &match, &err),
                     FAINA_INVALID_REQUEST);
    assert_string_equal(err.message, "match: invalid UTF-8 at line 1, column 6");
    assert_int_equal(fa_match_compile(FA_LIT("a = '\0'"), &arena, &match, &err),
                     FAINA_INVALID_REQUEST);
    assert_string_equal(err.message, "match: a NUL byte is not allowed at line 1, column 6");
    assert_int_equal(fa_match_compile((struct fa_bytes){NULL, 0}, &arena, &match, &err),
                     FAINA_INVALID_REQUEST);
    assert_null(match);
    fa_arena_finish(&arena);
}

/* An array of a few thousand elements is fine; one walked hundreds of times is not (X3). */
static void test_match__step_budget(void **state)
{
    struct fa_arena arena = {0};
    struct fa_match_data data;
    struct fa_match_verdict verdict = {0};
    const struct fa_match *match;
    struct faina_error err = {0};
    struct fa_buf json, source;

    fa_buf_init(&json, SIZE_MAX);
    fa_buf_init(&source, FA_MATCH_SIZE_MAX);
    fa_buf_add_str(&json, "{\"l\":[0");
    for (int i = 0; i < 10000; i++)
        fa_buf_add_str(&json, ",0");
    fa_buf_add_str(&json, "]}");
    fa_buf_add_str(&source, "l[9999] = 1");
    fa_match_data_init(&data, (struct fa_bytes){json.ptr, json.len});
    assert_int_equal(fa_match_compile(fa_str(source.ptr), &arena, &match, &err), FAINA_OK);
    assert_int_equal(fa_match_run(match, &data, &verdict, &err), FAINA_OK);
    assert_false(verdict.is_match);
    for (int i = 0; i < 200; i++)
        fa_buf_add_str(&source, " OR l[9999] = 1");
    assert_false(source.overflow);
    assert_int_equal(fa_match_compile(fa_str(source.ptr), &arena, &match, &err), FAINA_OK);
    assert_int_equal(fa_match_run(match, &data, &verdict, &err), FAINA_PAYLOAD_TOO_LARGE);
    assert_string_equal(err.message, "match takes more than 1000000 steps on this data");
    fa_buf_finish(&json);
    fa_buf_finish(&source);
    fa_arena_finish(&arena);
}

/* Members behind the index are found as well. */
static void test_match__many_members(void **state)
{
    struct fa_buf json;

    fa_buf_init(&json, SIZE_MAX);
    fa_buf_add_char(&json, '{');
    for (int i = 0; i < 3 * FA_MATCH_INDEX_SIZE; i++)
        fa_buf_printf(&json, "%s\"m%d\":%d", i ? "," : "", i, i);
    fa_buf_add_char(&json, '}');
    for (int i = 0; i < 3 * FA_MATCH_INDEX_SIZE; i++) {
        char source[64];

        snprintf(source, sizeof(source), "m%d = %d AND m%d = null", i, i,
                 3 * FA_MATCH_INDEX_SIZE + i);
        check_verdict("many", source, json.ptr, true, NULL);
    }
    fa_buf_finish(&json);
}

/* ------------------------------------------------------------------------------------------
 * Random expressions against a plain evaluator. It computes on its own tree of small integers, so
 * what it shares with the real one is nothing but the meaning.
 */

enum kind { LESS, EQUAL, UNEQUAL, AMONG, IS_NULL, BOTH, EITHER, NOT };

struct tree {
    enum kind kind;
    int field, value;
    struct tree *a, *b;
};

#define FIELDS 6
static const int values[FIELDS] = {0, 1, 2, 3, -1, -1}; /* -1: null, and missing */
static const char data_text[] = "{\"f0\":0,\"f1\":1.0,\"f2\":2e0,\"f3\":30e-1,\"f4\":null}";

static struct tree *grow(struct fa_arena *arena, struct fa_random *random, int depth)
{
    struct tree *tree = fa_arena_zero(arena, 1, sizeof(*tree));

    tree->kind = (enum kind)fa_random_below(random, depth > 0 ? NOT + 1 : BOTH);
    tree->field = (int)fa_random_below(random, FIELDS);
    tree->value = (int)fa_random_below(random, 4);
    if (tree->kind >= BOTH)
        tree->a = grow(arena, random, depth - 1);
    if (tree->kind == BOTH || tree->kind == EITHER)
        tree->b = grow(arena, random, depth - 1);
    return tree;
}

static bool evaluate(const struct tree *tree)
{
    int got = values[tree->field];

    switch (tree->kind) {
    case LESS:
        return got >= 0 && got < tree->value;
    case EQUAL:
        return got == tree->value;
    case UNEQUAL:
        return got >= 0 && got != tree->value;
    case AMONG:
        return got == tree->value || got == tree->value + 1;
    case IS_NULL:
        return got < 0;
    case BOTH:
        return evaluate(tree->a) & evaluate(tree->b);
    case EITHER:
        return evaluate(tree->a) | evaluate(tree->b);
    case NOT:
        return !evaluate(tree->a);
    }
    return false;
}

/* With parentheses only where precedence calls for them: that is tested too. */
static void print(const struct tree *tree, enum kind around, struct fa_buf *out)
{
    static const char *const signs[] = {[LESS] = "<", [EQUAL] = "=", [UNEQUAL] = "!="};
    bool needs_parens =
        (tree->kind == EITHER && around != EITHER) || (tree->kind == BOTH && around == NOT);

    if (needs_parens)
        fa_buf_add_char(out, '(');
    switch (tree->kind) {
    case LESS:
    case EQUAL:
    case UNEQUAL:
        fa_buf_printf(out, "f%d %s %d", tree->field, signs[tree->kind], tree->value);
        break;
    case AMONG:
        fa_buf_printf(out, "f%d in (%d, %d)", tree->field, tree->value, tree->value + 1);
        break;
    case IS_NULL:
        fa_buf_printf(out, "f%d = null", tree->field);
        break;
    case BOTH:
    case EITHER:
        print(tree->a, tree->kind, out);
        fa_buf_add_str(out, tree->kind == BOTH ? " AND " : " OR ");
        print(tree->b, tree->kind, out);
        break;
    case NOT:
        fa_buf_add_str(out, "NOT ");
        print(tree->a, NOT, out);
        break;
    }
    if (needs_parens)
        fa_buf_add_char(out, ')');
}

static void test_match__same_as_a_tree(void **state)
{
    struct fa_random random;
    struct fa_buf source;
    int seen[2] = {0};

    fa_random_seed(&random, SEED);
    fa_buf_init(&source, FA_MATCH_SIZE_MAX);
    for (int i = 0; i < 20000; i++) {
        struct fa_arena arena = {0};
        struct tree *tree = grow(&arena, &random, (int)fa_random_below(&random, 7));
        bool expected = evaluate(tree);

        fa_buf_clear(&source);
        print(tree, EITHER, &source);
        if (!source.overflow) {
            seen[expected]++;
            check_verdict("random", source.ptr, data_text, expected, NULL);
        }
        source.overflow = false;
        fa_arena_finish(&arena);
    }
    assert_true(seen[0] > 2000);
    assert_true(seen[1] > 2000);
    fa_buf_finish(&source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_match__case_file),
        cmocka_unit_test(test_match__size),
        cmocka_unit_test(test_match__depth),
        cmocka_unit_test(test_match__long_chains_are_not_deep),
        cmocka_unit_test(test_match__bad_bytes),
        cmocka_unit_test(test_match__step_budget),
        cmocka_unit_test(test_match__many_members),
        cmocka_unit_test(test_match__same_as_a_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
