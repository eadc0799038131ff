/* test_cursor.c - cursors are read back, and nothing else is. */
#include "model/cursor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_cursor__is_read_back(void **state)
{
    const char *keys[] = {"default", "mail.send"}, *read[2];
    struct fa_arena arena = {0};
    int64_t a, b;

    assert_int_equal(fa_cursor_read(fa_cursor_write(&arena, keys, 2), &arena, read, 2, NULL),
                     FAINA_OK);
    assert_string_equal(read[0], keys[0]);
    assert_string_equal(read[1], keys[1]);
    assert_int_equal(fa_cursor_read_pair(fa_cursor_write_pair(&arena, 5, 7), &a, &b, NULL),
                     FAINA_OK);
    assert_int_equal(a, 5);
    assert_int_equal(b, 7);
    fa_arena_finish(&arena);
}

static void test_cursor__anything_else_is_refused(void **state)
{
    static const char *const bad[] = {"x", "zz", "0", "00", "610a62"};
    struct fa_arena arena = {0};
    const char *read[1];
    int64_t a, b;

    for (size_t i = 0; i < FA_COUNT(bad); i++)
        assert_int_equal(fa_cursor_read(bad[i], &arena, read, 1, NULL), FAINA_INVALID_REQUEST);
    assert_int_equal(fa_cursor_read_pair("5.", &a, &b, NULL), FAINA_INVALID_REQUEST);
    assert_int_equal(fa_cursor_read_pair("-1.2", &a, &b, NULL), FAINA_INVALID_REQUEST);
    fa_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cursor__is_read_back),
        cmocka_unit_test(test_cursor__anything_else_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
