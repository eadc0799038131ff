/* test_input_schema.c - which schemas are accepted, and which inputs they allow. */
#include "unit/base/unit.h"

#include "model/input_schema.h"
#include "model/limits.h"

#include <stdio.h>

static const char *compile(const char *text, struct fa_arena *arena,
                           const struct fa_input_schema **out)
{
    static struct faina_error err;

    fa_error_clear(&err);
    *out = NULL;
    assert_int_equal(fa_json_check(fa_str(text), FA_JSON_DEPTH_MAX, "x", FAINA_INTERNAL, NULL),
                     FAINA_OK);
    if (fa_input_schema_compile(fa_str(text), arena, out, &err) == FAINA_OK)
        return NULL;
    assert_int_equal(err.code, FAINA_INVALID_REQUEST);
    assert_string_not_equal(err.message, "");
    return err.field;
}

static void test_input_schema__schemas(void **state)
{
    static const struct {
        const char *text, *refused; /* where; NULL: it is accepted */
    } cases[] = {
        {"true", NULL},
        {"false", NULL},
        {"{}", NULL},
        {"{\"$schema\":\"https://json-schema.org/draft/2020-12/"
         "schema\",\"$id\":\"a\",\"title\":\"t\","
         "\"description\":\"d\",\"default\":1,\"examples\":[],\"format\":\"email\",\"$comment\":"
         "\"\","
         "\"deprecated\":true,\"readOnly\":false,\"writeOnly\":false}",
         NULL},
        {"{\"type\":[\"string\",\"null\"],\"minLength\":1,\"maxLength\":5}", NULL},
        {"{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"type\":\"integer\"}}}", NULL},
        {"{\"properties\":{\"next\":{\"$ref\":\"#\"}}}", NULL},
        {"3", "inputSchema"},
        {"[]", "inputSchema"},
        {"{\"type\":\"text\"}", "inputSchema.type"},
        {"{\"type\":[]}", "inputSchema.type"},
        {"{\"type\":5}", "inputSchema.type"},
        {"{\"enum\":[]}", "inputSchema.enum"},
        {"{\"enum\":5}", "inputSchema.enum"},
        {"{\"const\":1,\"enum\":[1]}", "inputSchema.enum"},
        {"{\"enum\":[1],\"const\":1}", "inputSchema.const"},
        {"{\"minimum\":\"1\"}", "inputSchema.minimum"},
        {"{\"minLength\":-1}", "inputSchema.minLength"},
        {"{\"maxItems\":1.5}", "inputSchema.maxItems"},
        {"{\"required\":\"a\"}", "inputSchema.required"},
        {"{\"required\":[1]}", "inputSchema.required"},
        {"{\"properties\":[]}", "inputSchema.properties"},
        {"{\"properties\":{\"a\":1}}", "inputSchema.properties.a"},
        {"{\"properties\":{\"a b\":{\"pattern\":\"x\"}}}",
         "inputSchema.properties[\"a b\"].pattern"},
        {"{\"additionalProperties\":1}", "inputSchema.additionalProperties"},
        {"{\"items\":[]}", "inputSchema.items"},
        {"{\"oneOf\":[]}", "inputSchema.oneOf"},
        {"{\"uniqueItems\":true}", "inputSchema.uniqueItems"},
        {"{\"minlength\":1}", "inputSchema.minlength"},
        {"{\"$ref\":\"other.json\"}", "inputSchema.$ref"},
        {"{\"$ref\":\"#/$defs/\"}", "inputSchema.$ref"},
        {"{\"$ref\":\"#/$defs/b\",\"$defs\":{\"a\":true}}", "inputSchema"},
        {"{\"$ref\":\"#\"}", "inputSchema"},
        {"{\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},\"b\":{\"$ref\":\"#/$defs/a\"}}}",
         "inputSchema"},
        {"{\"$ref\":\"#/$defs/a\",\"type\":\"object\",\"$defs\":{\"a\":true}}", "inputSchema"},
        {"{\"items\":{\"$defs\":{}}}", "inputSchema.items.$defs"},
        {"{\"$defs\":{\"a/b\":true}}", "inputSchema.$defs[\"a/b\"]"},
    };

    (void)state;
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_arena arena = {0};
        const struct fa_input_schema *schema;
        const char *refused = compile(cases[i].text, &arena, &schema);

        if ((refused == NULL) != (cases[i].refused == NULL) ||
            (refused != NULL && strcmp(refused, cases[i].refused) != 0))
            fail_msg("%s: refused at %s", cases[i].text, refused ? refused : "no place");
        fa_arena_finish(&arena);
    }
}

static void test_input_schema__inputs(void **state)
{
    static const char tree[] = "{\"type\":\"object\",\"properties\":{\"v\":{\"type\":\"integer\"},"
                               "\"kids\":{\"items\":{\"$ref\":\"#\"}}},\"required\":[\"v\"]}";
    static const struct {
        const char *schema, *input;
        const char *refused; /* where; NULL: it is allowed */
    } cases[] = {
        {"true", NULL, NULL},
        {"false", "1", "input"},
        {"{\"type\":\"null\"}", NULL, NULL},
        {"{\"type\":\"object\"}", NULL, "input"},
        {"{\"type\":\"boolean\"}", "false", NULL},
        {"{\"type\":\"boolean\"}", "0", "input"},
        {"{\"type\":\"integer\"}", "1.0", NULL},
        {"{\"type\":\"integer\"}", "1e3", NULL},
        {"{\"type\":\"integer\"}", "1.5", "input"},
        {"{\"type\":\"integer\"}", "123456789012345678901234567890", NULL},
        {"{\"type\":\"number\"}", "7", NULL},
        {"{\"type\":[\"string\",\"number\"]}", "[]", "input"},
        {"{\"minimum\":1,\"maximum\":2}", "2", NULL},
        {"{\"minimum\":1}", "0.999", "input"},
        {"{\"maximum\":9007199254740992}", "9007199254740993", "input"},
        {"{\"exclusiveMinimum\":1}", "1", "input"},
        {"{\"exclusiveMaximum\":1}", "1.0", "input"},
        {"{\"exclusiveMaximum\":1}", "0.5", NULL},
        {"{\"minimum\":1}", "\"text\"", NULL},
        {"{\"minLength\":2}", "\"\xc3\xa9\"", "input"},
        {"{\"maxLength\":1}", "\"\xc3\xa9\"", NULL},
        {"{\"maxLength\":1}", "\"\\ud83d\\ude00\"", NULL},
        {"{\"maxLength\":2}", "\"\\n\\u00e9x\"", "input"},
        {"{\"enum\":[\"b\",\"a\",1]}", "1.0", NULL},
        {"{\"enum\":[\"b\",\"a\",1]}", "\"\\u0061\"", NULL},
        {"{\"enum\":[\"b\",\"a\",1]}", "\"c\"", "input"},
        {"{\"const\":{\"x\":1,\"y\":[2]}}", "{\"y\":[2.0],\"x\":1}", NULL},
        {"{\"const\":null}", "false", "input"},
        {"{\"items\":{\"type\":\"string\"},\"minItems\":1}", "[]", "input"},
        {"{\"items\":{\"type\":\"string\"}}", "[\"a\",\"b\",3]", "input[2]"},
        {"{\"maxItems\":1}", "[1,2]", "input"},
        {"{\"required\":[\"a\",\"b\"]}", "{\"b\":1}", "input.a"},
        {"{\"required\":[\"a b\"]}", "{}", "input[\"a b\"]"},
        {"{\"required\":[\"\\u0061\"]}", "{\"\\u0061\":1}", NULL},
        {"{\"required\":[\"a\",\"a\"]}", "{\"a\":1}", NULL},
        {"{\"additionalProperties\":false,\"properties\":{\"a\":true}}", "{\"a\":1}", NULL},
        {"{\"additionalProperties\":false,\"required\":[\"a\"]}", "{\"a\":1}", "input.a"},
        {"{\"additionalProperties\":{\"type\":\"string\"}}", "{\"x\":\"y\",\"z\":1}", "input.z"},
        {"{\"minProperties\":1}", "{}", "input"},
        {"{\"maxProperties\":1}", "{\"a\":1,\"b\":2}", "input"},
        {"{\"properties\":{\"a\":false}}", "{\"a\":1}", "input.a"},
        {"{\"properties\":{\"b\":{\"properties\":{\"c\":{\"maximum\":1}}},\"a\":true}}",
         "{\"b\":{\"c\":2}}", "input.b.c"},
        {tree, "{\"v\":1,\"kids\":[{\"v\":2},{\"v\":3,\"kids\":[]}]}", NULL},
        {tree, "{\"v\":1,\"kids\":[{\"v\":2},{\"v\":3,\"kids\":[{}]}]}", "input.kids[1].kids[0].v"},
    };

    (void)state;
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_arena arena = {0};
        const struct fa_input_schema *schema;
        struct faina_error err;
        enum faina_code code;

        fa_error_clear(&err);
        assert_null(compile(cases[i].schema, &arena, &schema));
        code = fa_input_schema_check(schema, cases[i].input, &err);
        if ((code == FAINA_OK) != (cases[i].refused == NULL) ||
            (code != FAINA_OK &&
             (code != FAINA_INVALID_TASK || strcmp(err.field, cases[i].refused) != 0)))
            fail_msg("%s with %s: refused at %s (%s)", cases[i].schema,
                     cases[i].input ? cases[i].input : "NULL", code ? err.field : "no place",
                     err.message);
        fa_arena_finish(&arena);
    }
}

/* {"items":{"items":...}} */
static void test_input_schema__is_bounded(void **state)
{
    const int depths[] = {FA_SCHEMA_DEPTH_MAX, FA_SCHEMA_DEPTH_MAX + 1};

    (void)state;
    for (size_t i = 0; i < FA_COUNT(depths); i++) {
        struct fa_arena arena = {0};
        const struct fa_input_schema *schema;
        struct fa_buf text;

        fa_buf_init(&text, 1 << 20);
        for (int k = 0; k < depths[i]; k++)
            fa_buf_add_str(&text, "{\"items\":");
        fa_buf_add_str(&text, "true");
        for (int k = 0; k < depths[i]; k++)
            fa_buf_add_str(&text, "}");
        assert_int_equal(compile(text.ptr, &arena, &schema) != NULL, i == 1);
        fa_buf_clear(&text);
        fa_buf_add_str(&text, "{\"enum\":[");
        for (int k = 0; k < (i == 0 ? FA_SCHEMA_VALUES_MAX : FA_SCHEMA_VALUES_MAX + 1); k++)
            fa_buf_printf(&text, "%s%d", k > 0 ? "," : "", k);
        fa_buf_add_str(&text, "]}");
        assert_int_equal(compile(text.ptr, &arena, &schema) != NULL, i == 1);
        fa_buf_finish(&text);
        fa_arena_finish(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_input_schema__schemas),
        cmocka_unit_test(test_input_schema__inputs),
        cmocka_unit_test(test_input_schema__is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
