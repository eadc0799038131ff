/*
 * test_redaction.c - values of payloads are hidden by their paths.
 */
#include "unit/base/unit.h"

#include "model/limits.h"
#include "model/redaction.h"

#define PATHS(...)                                                                                 \
    (&(struct fa_texts){(const char *const[]){__VA_ARGS__},                                        \
                        sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)})
#define R FA_REDACTED

static void test_redaction__values(void **state)
{
    static const struct {
        const char *path, *json, *expected;
    } cases[] = {
        {"password", "{\"password\":\"x\"}", "{\"password\":" R "}"},
        {"password", "{\"a\":{\"password\":{\"b\":1}}}", "{\"a\":{\"password\":" R "}}"},
        {"password", "{ \"Password\" : null , \"a\":1 }", "{ \"Password\" : " R " , \"a\":1 }"},
        {"password", "{\"p\\u0061ssword\":1}", "{\"p\\u0061ssword\":" R "}"},
        {"password", "{\"passwords\":1,\"a\":\"password\"}", NULL},
        {"password", "[{\"password\":1},[[{\"password\":2}]]]",
         "[{\"password\":" R "},[[{\"password\":" R "}]]]"},
        {"password", "{\"password\":1,\"password\":2}", "{\"password\":" R ",\"password\":" R "}"},
        {"*.secret", "{\"secret\":1}", NULL},
        {"*.secret", "{\"a\":[{\"secret\":[1]}]}", "{\"a\":[{\"secret\":" R "}]}"},
        {"card.number", "{\"card\":{\"number\":1,\"name\":2},\"number\":3}",
         "{\"card\":{\"number\":" R ",\"name\":2},\"number\":3}"},
        {"card.number", "{\"a\":{\"card\":[{\"number\":1}]}}",
         "{\"a\":{\"card\":[{\"number\":" R "}]}}"},
        {"a.*.c", "{\"a\":{\"b\":{\"c\":1},\"c\":2}}", "{\"a\":{\"b\":{\"c\":" R "},\"c\":2}}"},
        {"*", "{\"a\":1,\"b\":{\"c\":2}}", "{\"a\":" R ",\"b\":" R "}"},
        {"stra\xc3\x9f"
         "e",
         "{\"stra\\u00dfe\":1}", "{\"stra\\u00dfe\":" R "}"},
        {"a", "\"a\"", NULL},
        {"a", "[\"a\",1]", NULL},
        {"a", "{}", NULL},
    };
    struct fa_arena arena = {0};

    (void)state;
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        const char *json = cases[i].json;
        const char *shown = fa_redaction_apply(PATHS("other", cases[i].path), json, &arena);

        check_str(json, shown, cases[i].expected ? cases[i].expected : json);
        check_int(json, shown == json, cases[i].expected == NULL);
    }
    check_true("no payload", fa_redaction_apply(PATHS("a"), NULL, &arena) == NULL);
    fa_arena_finish(&arena);
}

static void test_redaction__paths(void **state)
{
    static const char *const bad[] = {"", ".", "a.", ".a", "a..b"};
    const char *many[FA_REDACT_PATHS_MAX + 1];
    char longest[FA_REDACT_PATH_SIZE_MAX + 2];
    struct faina_error err;

    (void)state;
    for (size_t i = 0; i < FA_COUNT(bad); i++)
        check_int(bad[i], fa_redaction_check(PATHS("a", bad[i]), &err), FAINA_INVALID_REQUEST);
    for (size_t i = 0; i < FA_COUNT(many); i++)
        many[i] = "a";
    check_int("the most", fa_redaction_check(&(struct fa_texts){many, FA_COUNT(many) - 1}, &err),
              FAINA_OK);
    check_int("more", fa_redaction_check(&(struct fa_texts){many, FA_COUNT(many)}, &err),
              FAINA_INVALID_REQUEST);
    memset(longest, 'a', sizeof(longest));
    longest[FA_REDACT_PATH_SIZE_MAX + 1] = '\0';
    check_int("too long", fa_redaction_check(PATHS(longest), &err), FAINA_INVALID_REQUEST);
    check_str("its field", err.field, "redact");
    longest[FA_REDACT_PATH_SIZE_MAX] = '\0';
    check_int("the longest", fa_redaction_check(PATHS(longest), &err), FAINA_OK);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_redaction__values),
        cmocka_unit_test(test_redaction__paths),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("redaction", tests, NULL, NULL);
}
