/*
 * test_address.c - which engine the flags and the environment name.
 */
#include "unit/base/unit.h"

#include "api/address.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const names[] = {
    "FAINA_URL",      "DATABASE_URL",     "DB_HOST",        "DB_PORT",
    "DB_USER",        "DB_PASSWORD",      "DB_NAME",        "DB_SCHEMA",
    "API_PG_DB_HOST", "API_PG_DB_PORT",   "API_PG_DB_USER", "API_PG_DB_PASSWORD",
    "API_PG_DB_NAME", "API_PG_DB_SCHEMA",
};

static void forget_all(void)
{
    char name[64];

    for (size_t i = 0; i < FA_COUNT(names); i++) {
        unsetenv(names[i]);
        snprintf(name, sizeof name, "%s_FILE", names[i]);
        unsetenv(name);
    }
}

static void test_address__the_first_that_is_there_counts(void **state)
{
    static const struct {
        const char *name, *given;
        const char *set[8]; /* name, value, ... */
        const char *url;
    } cases[] = {
        {"nothing", NULL, {NULL}, "sqlite:faina.db"},
        {"given", "memory:", {"FAINA_URL", "sqlite:a"}, "memory:"},
        {"given, empty", "", {"FAINA_URL", "sqlite:a"}, ""},
        {"a URL", NULL, {"FAINA_URL", "sqlite:a", "DB_HOST", "h"}, "sqlite:a"},
        {"an empty URL", NULL, {"FAINA_URL", "", "DB_HOST", "h"}, "postgres:///?host=h"},
        {"a host", NULL, {"DB_HOST", "h", "API_PG_DB_HOST", "g"}, "postgres:///?host=h"},
        {"with a prefix", NULL, {"API_PG_DB_HOST", "g"}, "postgres:///?host=g"},
        {"only a database", NULL, {"DB_NAME", "d"}, "postgres:///?dbname=d"},
        {"only a user", NULL, {"DB_USER", "u"}, "sqlite:faina.db"},
        {"only a schema", NULL, {"DB_SCHEMA", "s"}, "sqlite:faina.db"},
        {"each variable falls back by itself",
         NULL,
         {"API_PG_DB_HOST", "g", "DB_PORT", "1", "API_PG_DB_PORT", "2", "API_PG_DB_USER", "u"},
         "postgres:///?host=g&port=1&user=u"},
        {"only the prefix's database",
         NULL,
         {"API_PG_DB_NAME", "d", "DB_USER", "u"},
         "postgres:///?dbname=d&user=u"},
        {"a database URL",
         NULL,
         {"DATABASE_URL", "postgres://h/d", "DB_HOST", "i"},
         "postgres://h/d"},
        {"a database URL and a schema",
         NULL,
         {"DATABASE_URL", "postgresql://h/d", "DB_SCHEMA", "s"},
         "postgresql://h/d?schema=s"},
        {"another program's database", NULL, {"DATABASE_URL", "mysql://h/d"}, "sqlite:faina.db"},
        {"ours goes before it",
         NULL,
         {"FAINA_URL", "sqlite:a", "DATABASE_URL", "postgres://h/d"},
         "sqlite:a"},
        {"all is encoded",
         NULL,
         {"DB_HOST", "/var/run", "DB_PASSWORD", "a&b=c %\xc3\xa4@", "DB_NAME", "x?y#z"},
         "postgres:///?host=%2Fvar%2Frun&dbname=x%3Fy%23z&password=a%26b%3Dc%20%25%C3%A4%40"},
        {"the schema of variables",
         NULL,
         {"DB_HOST", "h", "DB_SCHEMA", "s"},
         "postgres:///?host=h&schema=s"},
        {"a schema of the prefix goes last",
         NULL,
         {"API_PG_DB_HOST", "h", "DB_SCHEMA", "s", "API_PG_DB_SCHEMA", "t"},
         "postgres:///?host=h&schema=s"},
        {"the prefix without one",
         NULL,
         {"API_PG_DB_HOST", "h", "DB_SCHEMA", "s"},
         "postgres:///?host=h&schema=s"},
        {"a URL and a schema",
         "postgres://h/d",
         {"DB_SCHEMA", "s t"},
         "postgres://h/d?schema=s%20t"},
        {"it goes before the URL's",
         "postgresql://h/d?schema=a",
         {"DB_SCHEMA", "s"},
         "postgresql://h/d?schema=a&schema=s"},
        {"a schema of the prefix alone",
         NULL,
         {"DB_HOST", "h", "API_PG_DB_SCHEMA", "t"},
         "postgres:///?host=h&schema=t"},
        {"no schema in a file", "sqlite:a", {"DB_SCHEMA", "s"}, "sqlite:a"},
    };
    struct fa_arena arena = {0};

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        const char *url = NULL;

        forget_all();
        for (size_t n = 0; n + 1 < FA_COUNT(cases[i].set) && cases[i].set[n]; n += 2)
            setenv(cases[i].set[n], cases[i].set[n + 1], 1);
        check_int(cases[i].name, fa_address_find(cases[i].given, &arena, &url, NULL), FAINA_OK);
        check_str(cases[i].name, url, cases[i].url);
    }
    fa_arena_finish(&arena);
}

static void test_address__the_source_is_named(void **state)
{
    static const struct {
        const char *given, *set[2], *source;
    } cases[] = {
        {"memory:", {"FAINA_URL", "sqlite:a"}, "--url"},
        {NULL, {"FAINA_URL", "sqlite:a"}, "FAINA_URL"},
        {NULL, {"DATABASE_URL", "postgres://h/d"}, "DATABASE_URL"},
        {NULL, {"DATABASE_URL", "mysql://h/d"}, "the default"},
        {NULL, {"DB_HOST", "h"}, "DB_HOST"},
        {NULL, {"API_PG_DB_HOST", "h"}, "API_PG_DB_HOST"},
        {NULL, {"API_PG_DB_NAME", "d"}, "API_PG_DB_NAME"},
        {NULL, {"DB_USER", "u"}, "the default"},
    };
    struct fa_arena arena = {0};

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_address address;

        forget_all();
        setenv(cases[i].set[0], cases[i].set[1], 1);
        check_int(cases[i].set[0], fa_address_read(cases[i].given, &arena, &address, NULL),
                  FAINA_OK);
        check_str(cases[i].set[0], address.source, cases[i].source);
    }
    fa_arena_finish(&arena);
}

static void test_address__of_two_urls_each_keeps_its_schema(void **state)
{
    struct fa_arena arena = {0};
    const char *url;

    forget_all();
    setenv("DB_SCHEMA", "s", 1);
    check_int("named", fa_address_complete("postgres://h/d?schema=a", &arena, &url, NULL),
              FAINA_OK);
    check_str("named", url, "postgres://h/d?schema=a");
    check_int("not named", fa_address_complete("postgres://h/d?x=y", &arena, &url, NULL), FAINA_OK);
    check_str("not named", url, "postgres://h/d?x=y&schema=s");
    fa_arena_finish(&arena);
}

/* Writes `size` bytes of `text` to a new file; its path. */
static const char *make_file(struct fa_arena *arena, const char *text, size_t size)
{
    const char *temp = getenv("TMPDIR");
    char *path = fa_arena_printf(arena, "%s/faina-address-XXXXXX", temp ? temp : "/tmp");
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, size), (ssize_t)size);
    close(fd);
    return path;
}

static void test_address__a_file_holds_the_value(void **state)
{
    static char large[FA_VARIABLE_FILE_SIZE_MAX + 1];
    static const struct {
        const char *name, *text;
        size_t size;
        const char *value;
        enum faina_code code;
    } cases[] = {
        {"plain", "secret", 6, "secret", FAINA_OK},
        {"a line end", "secret\r\n\n", 9, "secret", FAINA_OK},
        {"spaces stay", " se cret ", 9, " se cret ", FAINA_OK},
        {"empty", "\n", 1, NULL, FAINA_OK},
        {"at the limit", large, sizeof large - 1, large, FAINA_OK},
        {"beyond it", large, sizeof large, NULL, FAINA_INVALID_REQUEST},
        {"a NUL", "sec\0ret", 7, NULL, FAINA_INVALID_REQUEST},
    };
    struct fa_arena arena = {0};

    memset(large, 'x', sizeof large);
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        const char *path = make_file(&arena, cases[i].text, cases[i].size), *value = "unset";
        struct faina_error err = {0};

        forget_all();
        setenv("DB_PASSWORD_FILE", path, 1);
        check_int(cases[i].name, fa_variable_read("DB_PASSWORD", &arena, &value, &err),
                  cases[i].code);
        if (cases[i].code == FAINA_OK && cases[i].text == large)
            check_int(cases[i].name, strlen(value), sizeof large - 1);
        else if (cases[i].code == FAINA_OK && cases[i].value == NULL)
            check_true(cases[i].name, value == NULL);
        else if (cases[i].code == FAINA_OK)
            check_str(cases[i].name, value, cases[i].value);
        else /* A1 */
            check_true(err.message, strstr(err.message, "DB_PASSWORD_FILE") != NULL &&
                                        strstr(err.message, "ret") == NULL);
        unlink(path);
    }
    fa_arena_finish(&arena);
}

static void test_address__files_in_a_url(void **state)
{
    struct fa_arena arena = {0};
    const char *password = make_file(&arena, "p@ss\n", 5), *url = NULL;
    struct faina_error err = {0};

    forget_all();
    setenv("DB_HOST", "h", 1);
    setenv("DB_PASSWORD_FILE", password, 1);
    check_int("password", fa_address_find(NULL, &arena, &url, &err), FAINA_OK);
    check_str("password", url, "postgres:///?host=h&password=p%40ss");
    setenv("DB_PASSWORD", "own", 1);
    check_int("the variable goes first", fa_address_find(NULL, &arena, &url, &err), FAINA_OK);
    check_str("the variable goes first", url, "postgres:///?host=h&password=own");
    unlink(password);
    setenv("FAINA_URL_FILE", password, 1);
    check_int("a missing file is no default", fa_address_find(NULL, &arena, &url, &err),
              FAINA_INVALID_REQUEST);
    check_true(err.message, strstr(err.message, "No such file") != NULL);
    fa_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_address__the_first_that_is_there_counts),
        cmocka_unit_test(test_address__the_source_is_named),
        cmocka_unit_test(test_address__of_two_urls_each_keeps_its_schema),
        cmocka_unit_test(test_address__a_file_holds_the_value),
        cmocka_unit_test(test_address__files_in_a_url),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
