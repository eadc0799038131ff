/*
 * test_error.c - filling in a struct faina_error.
 */
#include "unit/base/unit.h"

#include "base/error.h"
#include "base/utf8.h"

static void test_error__set_and_clear(void **state)
{
    struct faina_error err;

    memset(&err, 'x', sizeof(err));
    assert_int_equal(fa_error_set(&err, FAINA_TIMEOUT, "after %d s", 5), FAINA_TIMEOUT);
    assert_int_equal(err.code, FAINA_TIMEOUT);
    assert_string_equal(err.message, "after 5 s");
    assert_string_equal(err.field, "");
    assert_int_equal(err.line, 0);
    assert_int_equal(err.column, 0);
    fa_error_clear(&err);
    assert_int_equal(err.code, FAINA_OK);
    assert_string_equal(err.message, "");
}

static void test_error__field(void **state)
{
    struct faina_error err;

    assert_int_equal(fa_error_field(&err, FAINA_INVALID_TASK, "type", "%s is missing", "type"),
                     FAINA_INVALID_TASK);
    assert_string_equal(err.field, "type");
    assert_string_equal(err.message, "type is missing");
}

static void test_error__null_is_fine(void **state)
{
    assert_int_equal(fa_error_set(NULL, FAINA_INTERNAL, "x"), FAINA_INTERNAL);
    assert_int_equal(fa_error_field(NULL, FAINA_INTERNAL, "f", "x"), FAINA_INTERNAL);
    fa_error_clear(NULL);
}

static void test_error__may_quote_itself(void **state)
{
    struct faina_error err;

    fa_error_set(&err, FAINA_INVALID_TASK, "type is missing");
    fa_error_set(&err, err.code, "task 7: %s", err.message);
    assert_string_equal(err.message, "task 7: type is missing");
}

static void test_error__a_long_sentence_ends_with_a_whole_character(void **state)
{
    struct faina_error err;
    char text[1024];

    /* Shifted by 0 to 3 bytes, so that the cut falls on every byte of a character. */
    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'a', shift);
        for (size_t i = shift; i + 4 < sizeof(text); i += 4)
            memcpy(text + i, "\xf0\x9f\x98\x80", 5);
        fa_error_field(&err, FAINA_INTERNAL, text, "%s", text);
        assert_true(fa_utf8_is_valid(fa_str(err.message)));
        assert_true(strlen(err.message) >= sizeof(err.message) - 4);
        assert_true(fa_utf8_is_valid(fa_str(err.field)));
        assert_true(strlen(err.field) >= sizeof(err.field) - 4);
    }
    /* What fits exactly is not cut. */
    memset(text, 'b', sizeof(err.message) - 1);
    text[sizeof(err.message) - 1] = '\0';
    fa_error_set(&err, FAINA_INTERNAL, "%s", text);
    assert_string_equal(err.message, text);
}

static void test_error__a_precision_leaves_no_half_characters(void **state)
{
    struct faina_error err;

    fa_error_field(&err, FAINA_INVALID_TASK, "caf\xc3", "%.4s and \xa9\xc3\xa9", "caf\xc3\xa9");
    assert_string_equal(err.message, "caf and \xc3\xa9");
    assert_string_equal(err.field, "caf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error__a_precision_leaves_no_half_characters),
        cmocka_unit_test(test_error__set_and_clear),
        cmocka_unit_test(test_error__field),
        cmocka_unit_test(test_error__null_is_fine),
        cmocka_unit_test(test_error__may_quote_itself),
        cmocka_unit_test(test_error__a_long_sentence_ends_with_a_whole_character),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
