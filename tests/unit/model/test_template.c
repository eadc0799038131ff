/*
 * test_template.c - JSON with ${path} in it: what is rendered, and what is refused.
 */
#include "unit/base/unit.h"

#include "model/limits.h"
#include "model/template.h"

#define OUTPUT_MAX 4096

#define DATA_TEXT                                                                                  \
    "{\"hash\":\"ab\\\"c\\u00e9\",\"n\":12345678901234567890,\"f\":1.50,\"t\":true,\"z\":null,"    \
    "\"o\":{\"a\":[1,{\"b\":\"x\"}]},\"odd name\":\"!\",\"a}b\":7,\"empty\":\"\"}"

static const char data_text[] = DATA_TEXT;

static const struct fa_template *compile(const char *json, const struct fa_template_join *join,
                                         struct fa_arena *arena)
{
    const struct fa_template *compiled = NULL;
    struct faina_error err = {0};

    assert_int_equal(fa_json_check(fa_str(json), 64, "template", FAINA_INVALID_REQUEST, NULL),
                     FAINA_OK);
    if (fa_template_compile(fa_str(json), join, arena, &compiled, NULL, NULL, &err) != FAINA_OK)
        fail_msg("%s: %s", json, err.message);
    return compiled;
}

static void test_template__rendered(void **state)
{
    static const struct {
        const char *source, *expected;
    } cases[] = {
        {"{\"a\": 1, \"b\": [\"x\", null]}", "{\"a\": 1, \"b\": [\"x\", null]}"},
        /* alone: the value with its type, and its bytes */
        {"\"${hash}\"", "\"ab\\\"c\\u00e9\""},
        {"\"${n}\"", "12345678901234567890"},
        {"\"${f}\"", "1.50"},
        {"\"${t}\"", "true"},
        {"\"${z}\"", "null"},
        {"\"${o}\"", "{\"a\":[1,{\"b\":\"x\"}]}"},
        {"{\"x\":\"${}\"}", "{\"x\":" DATA_TEXT "}"},
        {"{\"x\":\"${o.a}\"}", "{\"x\":[1,{\"b\":\"x\"}]}"},
        {"[\"${o.a[1].b}\", \"${o.a[0]}\"]", "[\"x\", 1]"},
        {"\"${['odd name']}\"", "\"!\""},
        {"\"${['a}b']}\"", "7"},
        {"\"\\u0024{t}\"", "true"},
        /* inside */
        {"\" ${t}\"", "\" true\""},
        {"\"${t} \"", "\"true \""},
        {"\"${t}${z}\"", "\"truenull\""},
        {"\"n=${n} f=${f} h=${hash}.\"", "\"n=12345678901234567890 f=1.50 h=ab\\\"c\\u00e9.\""},
        {"\"${empty}${empty}\"", "\"\""},
        {"\"q\\\"${t}\\n\\u00e9\"", "\"q\\\"true\\n\xc3\xa9\""},
        /* dollars */
        {"\"$\"", "\"$\""},
        {"\"$$ $5 a$b $\"", "\"$$ $5 a$b $\""},
        {"\"$${t}\"", "\"${t}\""},
        {"\"$$${t}\"", "\"$true\""},
        {"\"$$$${t}\"", "\"$${t}\""},
        {"\"$$$$${t}\"", "\"$$true\""},
        {"\"{t} $ {t}\"", "\"{t} $ {t}\""},
        {"{\"$\":1,\"$$\":2,\"$${t}\":3}", "{\"$\":1,\"$$\":2,\"${t}\":3}"},
        {"{\"a\" : \"${t}\" , \"b\":\"$\"}", "{\"a\" : true , \"b\":\"$\"}"},
        {"[]", "[]"},
        {"5", "5"},
    };
    struct fa_json data = fa_json_value(FA_LIT(data_text));

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_arena arena = {0};
        char *source = fa_arena_strdup(&arena, cases[i].source);
        const struct fa_template *compiled = compile(source, NULL, &arena);
        struct faina_error err = {0};
        struct fa_buf out;

        memset(source, '#', strlen(source)); /* T1 */
        fa_buf_init(&out, OUTPUT_MAX);
        if (fa_template_render(compiled, fa_template_lookup_data, &data, &out, &err) != FAINA_OK)
            fail_msg("%s: %s", cases[i].source, err.message);
        check_str(cases[i].source, out.ptr, cases[i].expected);
        check_int(cases[i].source,
                  fa_json_check((struct fa_bytes){out.ptr, out.len}, 64, "x", FAINA_INVALID_REQUEST,
                                NULL),
                  FAINA_OK);
        fa_buf_finish(&out);
        fa_arena_finish(&arena);
    }
}

static void test_template__missing(void **state)
{
    static const struct {
        const char *source, *message;
    } cases[] = {
        {"{\"a\":\"${m}\"}", "${m} is missing"},
        {"\"x ${o.a[2].b}\"", "${o.a[2].b} is missing"},
        {"\"${hash.x}\"", "${hash.x} is missing"},
        {"\"x${o}\"", "${o} is an object, so it must be the whole string"},
        {"\"${o.a}x\"", "${o.a} is an array, so it must be the whole string"},
    };
    struct fa_json data = fa_json_value(FA_LIT(data_text));

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_arena arena = {0};
        const struct fa_template *compiled = compile(cases[i].source, NULL, &arena);
        struct faina_error err = {0};
        struct fa_buf out;

        fa_buf_init(&out, OUTPUT_MAX);
        check_int(cases[i].source,
                  fa_template_render(compiled, fa_template_lookup_data, &data, &out, &err),
                  FAINA_INVALID_REQUEST);
        check_str(cases[i].source, err.message, cases[i].message);
        fa_buf_finish(&out);
        fa_arena_finish(&arena);
    }
}

static void check_refused(const char *source, const struct fa_template_join *join, int column,
                          const char *message)
{
    struct fa_arena arena = {0};
    const struct fa_template *compiled = NULL;
    struct faina_error err = {0};

    check_int(source,
              fa_template_compile(fa_str(source), join, &arena, &compiled, NULL, NULL, &err),
              FAINA_INVALID_REQUEST);
    assert_null(compiled);
    if (!strstr(err.message, message))
        fail_msg("%s: got \"%s\", expected \"%s\" in it", source, err.message, message);
    check_int(source, err.column, column);
    check_int(source, err.line, 1);
    fa_arena_finish(&arena);
}

static void test_template__refusals(void **state)
{
    static const struct {
        const char *source;
        int column;
        const char *message;
    } cases[] = {
        {"\"${} \"", 4, "expected a field in ${...} at line 1, column 4"},
        {"\"${\"", 4, "expected a field in ${...}"},
        {"\"x${\"", 5, "expected a field"},
        {"\"${a\"", 5, "expected } at the end of ${...}"},
        {"\"${a b}\"", 5, "expected } at the end"},
        {"\"${ a}\"", 4, "expected a field"},
        {"\"${a.}\"", 6, "expected a name after the dot"},
        {"\"${a[x]}\"", 6, "expected an index or a name in quotes"},
        {"\"${a['x]}\"", 6, "expected a closing quote"},
        {"\"${1}\"", 4, "expected a field"},
        {"{\"a\":1,\"b\":\"..${}\"}", 17, "expected a field"},
        {"\"\\n${}\"", 2, "expected a field"}, /* with escapes: where the string begins */
        {"{\"${a}\":1}", 3, "a key can't hold ${...}; write $${ for the characters themselves"},
        {"{\"x\":{\"b${a}\" :1}}", 9, "a key can't hold"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++)
        check_refused(cases[i].source, NULL, cases[i].column, cases[i].message);
}

static void count_mistake(void *context, size_t offset, const char *message)
{
    size_t *offsets = context;

    assert_true(offsets[0] < 7);
    offsets[++offsets[0]] = offset;
    assert_true(strlen(message) > 0);
}

static void test_template__every_mistake_is_reported(void **state)
{
    const char *source = "[\"${a.}\", \"${} ${b} ${c\", {\"${k}\": \"$${fine}\"}]";
    struct fa_arena arena = {0};
    const struct fa_template *compiled = NULL;
    size_t offsets[8] = {0};

    assert_int_equal(
        fa_template_compile(fa_str(source), NULL, &arena, &compiled, count_mistake, offsets, NULL),
        FAINA_INVALID_REQUEST);
    assert_int_equal(offsets[0], 4);
    assert_int_equal(offsets[1], 6);
    assert_int_equal(offsets[2], 13);
    assert_int_equal(offsets[3], 23);
    assert_int_equal(offsets[4], 28);
    fa_arena_finish(&arena);
}

static const char *const types[] = {"extract", "extract.id3", "extract.id3.more", "a b/c",
                                    "x.output"};
static const struct fa_template_join join = {types, FA_COUNT(types)};

static void test_template__joins(void **state)
{
    static const struct {
        const char *source, *expected; /* NULL: missing */
    } cases[] = {
        {"\"${key}\"", "\"k\""},
        {"\"<${key}>\"", "\"<k>\""},
        {"\"${tasks.extract.id3.output.title}\"", "\"T\""},
        {"\"${tasks.extract.id3.more.output}\"", "3"},
        {"\"${tasks.extract.output}\"", "1"},
        {"\"${tasks.extract}\"", "{\"output\":1}"},
        {"\"${tasks.extract.id3['output'].l[1]}\"", "6"},
        {"\"${tasks['extract.id3'].output.title}\"", "\"T\""},
        {"\"${tasks.a b/c.status}!\"", "\"completed!\""},
        {"\"${tasks['a b/c'].status}!\"", "\"completed!\""},
        {"\"${tasks.extract.id3.nothing}\"", NULL},
        {"\"${tasks.x.output.output}\"", NULL},
    };
    struct fa_json tasks[FA_COUNT(types)] = {
        fa_json_value(FA_LIT("{\"output\":1}")),
        fa_json_value(FA_LIT("{\"output\":{\"title\":\"T\",\"l\":[5,6]}}")),
        fa_json_value(FA_LIT("{\"output\":3}")),
        fa_json_value(FA_LIT("{\"status\":\"completed\"}")),
    }; /* and the last one isn't there */
    struct fa_template_members members = {fa_json_value(FA_LIT("\"k\"")), tasks};

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_arena arena = {0};
        const struct fa_template *compiled = compile(cases[i].source, &join, &arena);
        struct fa_buf out;
        enum faina_code code;

        fa_buf_init(&out, OUTPUT_MAX);
        code = fa_template_render(compiled, fa_template_lookup_members, &members, &out, NULL);
        check_int(cases[i].source, code, cases[i].expected ? FAINA_OK : FAINA_INVALID_REQUEST);
        if (cases[i].expected)
            check_str(cases[i].source, out.ptr, cases[i].expected);
        fa_buf_finish(&out);
        fa_arena_finish(&arena);
    }
}

static void test_template__joins_refuse_other_paths(void **state)
{
    static const struct {
        const char *source;
        int column;
        const char *message;
    } cases[] = {
        {"\"${hash}\"", 4, "expected key or tasks.TYPE in ${...} of a join"},
        {"\"${key.x}\"", 4, "expected key or tasks.TYPE"},
        {"\"${tasks}\"", 4, "expected key or tasks.TYPE"},
        {"\"${tasks.other.output}\"", 10,
         "\"other.output\" does not begin with one of the join's taskTypes"},
        {"\"${tasks.extractor.output}\"", 10, "does not begin"},
        {"\"${tasks['id3'].output}\"", 9, "does not begin"},
        {"\"${tasks[0].output}\"", 9, "does not begin"},
        {"\"${tasks.extract.}\"", 18, "expected a name after the dot"},
        {"\"${tasks.extract\"", 10, "does not begin"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++)
        check_refused(cases[i].source, &join, cases[i].column, cases[i].message);
}

static void test_template__paths_can_be_listed(void **state)
{
    struct fa_arena arena = {0};
    const struct fa_template *compiled =
        compile("[\"${key}\",\"x ${tasks.extract.id3.output[0]}\"]", &join, &arena);

    assert_int_equal(fa_template_path_count(compiled), 2);
    assert_int_equal(fa_template_path(compiled, 0)->root, FA_TEMPLATE_KEY);
    assert_int_equal(fa_template_path(compiled, 1)->root, 1);
    assert_int_equal(fa_template_path(compiled, 1)->path.count, 2);
    assert_memory_equal(fa_template_path(compiled, 1)->text.ptr, "tasks.extract.id3.output[0]", 27);
    fa_arena_finish(&arena);
}

static enum faina_code render_up_to(size_t max, struct faina_error *err)
{
    struct fa_arena arena = {0};
    struct fa_json data = fa_json_value(FA_LIT("{\"a\":\"0123456789\"}"));
    const struct fa_template *compiled = compile("[\"${a}\",\"${a}${a}\"]", NULL, &arena);
    struct fa_buf out;
    enum faina_code code;

    fa_buf_init(&out, max);
    code = fa_template_render(compiled, fa_template_lookup_data, &data, &out, err);
    fa_buf_finish(&out);
    fa_arena_finish(&arena);
    return code;
}

static void test_template__output_is_bounded(void **state)
{
    struct faina_error err = {0};
    size_t size = strlen("[\"0123456789\",\"01234567890123456789\"]");

    assert_int_equal(render_up_to(size, &err), FAINA_OK);
    assert_int_equal(render_up_to(size - 1, &err), FAINA_PAYLOAD_TOO_LARGE);
    assert_string_equal(err.message, "what the template makes is larger than 36 bytes");
}

/* Counts the mistakes in its context. */
static void count_only(void *context, size_t offset, const char *message)
{
    ++*(int *)context;
}

static enum faina_code compile_many(size_t paths, size_t path_size, int *mistakes)
{
    struct fa_arena arena = {0};
    const struct fa_template *compiled;
    struct fa_buf source;
    enum faina_code code;

    fa_buf_init(&source, SIZE_MAX);
    fa_buf_add_char(&source, '"');
    for (size_t i = 0; i < paths; i++) {
        fa_buf_add_str(&source, "${");
        for (size_t k = 0; k < path_size; k++)
            fa_buf_add_char(&source, 'a');
        fa_buf_add_char(&source, '}');
    }
    fa_buf_add_char(&source, '"');
    code = fa_template_compile((struct fa_bytes){source.ptr, source.len}, NULL, &arena, &compiled,
                               count_only, mistakes, NULL);
    fa_buf_finish(&source);
    fa_arena_finish(&arena);
    return code;
}

static void test_template__limits(void **state)
{
    int mistakes = 0;

    assert_int_equal(compile_many(FA_TEMPLATE_PATHS_MAX, 1, &mistakes), FAINA_OK);
    assert_int_equal(mistakes, 0);
    assert_int_equal(compile_many(FA_TEMPLATE_PATHS_MAX + 1, 1, &mistakes), FAINA_INVALID_REQUEST);
    assert_int_equal(mistakes, 1);
    mistakes = 0;
    assert_int_equal(compile_many(2 * FA_TEMPLATE_PATHS_MAX, 1, &mistakes), FAINA_INVALID_REQUEST);
    assert_int_equal(mistakes, 1); /* reported once */
    assert_int_equal(compile_many(1, FA_TEMPLATE_PATH_SIZE_MAX, &mistakes), FAINA_OK);
    assert_int_equal(compile_many(1, FA_TEMPLATE_PATH_SIZE_MAX + 1, &mistakes),
                     FAINA_INVALID_REQUEST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_template__rendered),
        cmocka_unit_test(test_template__missing),
        cmocka_unit_test(test_template__refusals),
        cmocka_unit_test(test_template__every_mistake_is_reported),
        cmocka_unit_test(test_template__joins),
        cmocka_unit_test(test_template__joins_refuse_other_paths),
        cmocka_unit_test(test_template__paths_can_be_listed),
        cmocka_unit_test(test_template__output_is_bounded),
        cmocka_unit_test(test_template__limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
