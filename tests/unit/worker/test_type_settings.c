/* test_type_settings.c - the settings file of a handler: values and mistakes. */
#include "worker/type_settings.h"

#include "support/support.h"

#include <setjmp.h>

#include <cmocka.h>

static void test_settings__all_of_them(void **state)
{
    static const char text[] =
        "{\"timeout\":\"5m\",\"concurrency\":2,\"maxAttempts\":3,\"resources\":[\"gpu\",\"disk\"],"
        "\"retry\":{\"base\":\"1s\",\"factor\":3,\"max\":\"1h\"},"
        "\"limits\":{\"memory\":\"512MiB\",\"cpu\":\"60s\",\"files\":256,\"fileSize\":1000,"
        "\"processes\":64},\"env\":{\"A\":\"1\",\"B\":\"x y\"},"
        "\"dependencies\":\"ended\"}";
    struct fa_arena arena = {0};
    struct fa_settings got;
    struct faina_submit wish;

    (void)state;
    assert_int_equal(fa_settings_read(fa_str(text), &arena, &got, NULL), FAINA_OK);
    assert_int_equal(got.timeout_ms, 300000);
    assert_int_equal(got.concurrency, 2);
    assert_int_equal(got.max_attempts, 3);
    assert_int_equal(got.retry.base_ms, 1000);
    assert_true(got.retry.factor > 2.9 && got.retry.factor < 3.1);
    assert_int_equal(got.limits.memory_bytes, 512LL << 20);
    assert_int_equal(got.limits.cpu_s, 60);
    assert_int_equal(got.limits.files, 256);
    assert_int_equal(got.limits.file_bytes, 1000);
    assert_int_equal(got.limits.processes, 64);
    assert_int_equal(got.env_count, 2);
    assert_string_equal(got.env[1], "B=x y");
    assert_true(got.takes_bad_ends);
    wish = fa_settings_submit(&arena, &got);
    assert_int_equal(wish.resource_count, 2);
    assert_string_equal(wish.resources[0], "gpu");
    assert_int_equal(wish.max_attempts, 3);
    fa_arena_finish(&arena);
}

static void test_settings__unset(void **state)
{
    static const char *const texts[] = {"{}", "{\"timeout\":null,\"env\":null}"};

    (void)state;
    for (size_t i = 0; i < FA_COUNT(texts); i++) {
        struct fa_arena arena = {0};
        struct fa_settings got;

        assert_int_equal(fa_settings_read(fa_str(texts[i]), &arena, &got, NULL), FAINA_OK);
        assert_int_equal(got.timeout_ms, 0);
        assert_int_equal(got.max_attempts, 0);
        assert_int_equal(got.env_count, 0);
        assert_false(got.takes_bad_ends);
        fa_arena_finish(&arena);
    }
}

static void test_settings__mistakes(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "settings"},
        {"[]", "must be a JSON object"},
        {"{\"timeout\":\"\"}", "timeout"},
        {"{\"timeout\":0}", "timeout must be longer than 0"},
        {"{\"timeout\":[]}", "timeout must be a duration"},
        {"{\"timeout\":-1}", "timeout"},
        {"{\"concurrency\":1.5}", "concurrency must be a whole number"},
        {"{\"concurrency\":1000001}", "concurrency must be a whole number"},
        {"{\"cuncurrency\":1}", "did you mean \"concurrency\"?"},
        {"{\"maxAttempts\":\"3\"}", "maxAttempts must be"},
        {"{\"retry\":{\"wait\":1}}", "unknown field \"retry.wait\""},
        {"{\"resources\":[1]}", "resources must be an array of strings"},
        {"{\"limits\":[]}", "limits must be an object"},
        {"{\"limits\":{\"memory\":\"1XB\"}}", "limits.memory must be a size"},
        {"{\"limits\":{\"memory\":0}}", "limits.memory must be a size from"},
        {"{\"limits\":{\"memory\":\"9999999TiB\"}}", "limits.memory must be a size from"},
        {"{\"limits\":{\"files\":0}}", "limits.files must be a whole number"},
        {"{\"env\":{\"A B\":\"1\"}}", "env must be names"},
        {"{\"env\":{\"\":\"1\"}}", "env must be names"},
        {"{\"env\":{\"A\":1}}", "values are strings"},
        {"{\"dependencies\":\"any\"}", "dependencies must be \"completed\" or \"ended\""},
        {"{\"dependencies\":1}", "dependencies must be"},
    };

    (void)state;
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_settings got = {.concurrency = 77};
        struct fa_arena arena = {0};
        struct faina_error err;

        fa_error_clear(&err);
        if (fa_settings_read(fa_str(cases[i].text), &arena, &got, &err) == FAINA_OK)
            fail_msg("accepted: %s", cases[i].text);
        if (!strstr(err.message, cases[i].error))
            fail_msg("%s: \"%s\" is not in \"%s\"", cases[i].text, cases[i].error, err.message);
        assert_int_equal(got.concurrency, 77);
        fa_arena_finish(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings__all_of_them),
        cmocka_unit_test(test_settings__unset),
        cmocka_unit_test(test_settings__mistakes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
