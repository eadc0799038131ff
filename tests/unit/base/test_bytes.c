/*
 * test_bytes.c - slices, arenas and buffers.
 */
#include "unit/base/unit.h"

#include <stdalign.h>

static void test_bytes__equal_and_compare(void **state)
{
    static const struct {
        const char *name, *a, *b;
        int order;
    } cases[] = {
        {"two empty ones", "", "", 0},
        {"an empty one is first", "", "a", -1},
        {"the same", "abc", "abc", 0},
        {"the shorter is first", "ab", "abc", -1},
        {"bytes are unsigned", "\x7f", "\x80", -1},
        {"a later letter", "abd", "abc", 1},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        int order = fa_bytes_compare(fa_str(cases[i].a), fa_str(cases[i].b));

        check_int(cases[i].name, (order > 0) - (order < 0), cases[i].order);
        check_int(cases[i].name, fa_bytes_equal(fa_str(cases[i].a), fa_str(cases[i].b)),
                  cases[i].order == 0);
    }
    assert_true(fa_bytes_equal(fa_str(NULL), FA_LIT("")));
    assert_true(fa_bytes_equal((struct fa_bytes){"a\0b", 3}, FA_LIT("a\0b")));
    assert_false(fa_bytes_equal((struct fa_bytes){"a\0b", 3}, FA_LIT("a\0c")));
}

static void test_arena__what_was_taken_stays(void **state)
{
    struct fa_arena arena = {0};
    unsigned char *parts[300];

    /* Sizes from nothing to several times the largest block. */
    for (size_t i = 0; i < FA_COUNT(parts); i++) {
        parts[i] = fa_arena_take(&arena, i * i * 7);
        assert_int_equal((uintptr_t)parts[i] % alignof(max_align_t), 0);
        memset(parts[i], (int)(i & 255), i * i * 7);
    }
    for (size_t i = 0; i < FA_COUNT(parts); i++) {
        for (size_t k = 0; k < i * i * 7; k += 101)
            assert_int_equal(parts[i][k], i & 255);
    }
    fa_arena_finish(&arena);
    assert_null(arena.blocks);
}

static void test_arena__zero_copy_strdup_printf(void **state)
{
    struct fa_arena arena = {0};
    const int64_t *numbers = fa_arena_zero(&arena, 100, sizeof(*numbers));

    for (int i = 0; i < 100; i++)
        assert_int_equal(numbers[i], 0);
    assert_string_equal(fa_arena_copy(&arena, "abcdef", 3), "abc");
    assert_string_equal(fa_arena_copy(&arena, NULL, 0), "");
    assert_string_equal(fa_arena_strdup(&arena, "text"), "text");
    assert_null(fa_arena_strdup(&arena, NULL));
    assert_string_equal(fa_arena_printf(&arena, "%d-%s", 7, "x"), "7-x");
    assert_int_equal(strlen(fa_arena_printf(&arena, "%05000d", 1)), 5000);
    fa_arena_finish(&arena);
}

static void test_arena__reset_keeps_one_block(void **state)
{
    struct fa_arena arena = {0};
    void *first;

    for (int i = 0; i < 100; i++)
        fa_arena_take(&arena, 1000);
    fa_arena_reset(&arena);
    first = fa_arena_take(&arena, 8);
    fa_arena_reset(&arena);
    assert_ptr_equal(fa_arena_take(&arena, 8), first);

    /* A big block of its own isn't worth keeping. */
    fa_arena_finish(&arena);
    fa_arena_take(&arena, 1024 * 1024);
    fa_arena_reset(&arena);
    assert_null(arena.blocks);
    fa_arena_reset(&arena);
    fa_arena_finish(&arena);
}

static void test_arena__a_big_request_leaves_the_block_in_use(void **state)
{
    struct fa_arena arena = {0};
    char *before = fa_arena_take(&arena, 16);

    memset(fa_arena_take(&arena, 1024 * 1024), 1, 1024 * 1024);
    assert_ptr_equal(fa_arena_take(&arena, 16), before + 16);
    fa_arena_finish(&arena);
}

static void test_arena__knows_its_size(void **state)
{
    struct fa_arena arena = {0};
    size_t kept;

    (void)state;
    fa_arena_take(&arena, 1);
    kept = arena.size;
    assert_true(kept >= 1 && kept <= 4096);
    fa_arena_take(&arena, 1024 * 1024);
    assert_int_equal(arena.size, kept + 1024 * 1024);
    fa_arena_reset(&arena);
    assert_int_equal(arena.size, kept);
    fa_arena_finish(&arena);
    assert_int_equal(arena.size, 0);
}

static void test_arena__grow_keeps_items_and_zeroes_the_rest(void **state)
{
    struct fa_arena arena = {0};
    size_t size = 0;
    int *items = NULL;

    for (int i = 0; i < 1000; i++) {
        items = fa_arena_grow(&arena, items, (size_t)i, &size, sizeof(*items));
        assert_true(size > (size_t)i);
        assert_int_equal(items[size - 1], 0);
        items[i] = i + 1;
    }
    for (int i = 0; i < 1000; i++)
        assert_int_equal(items[i], i + 1);
    fa_arena_finish(&arena);
}

static void test_buf__grows_up_to_its_maximum(void **state)
{
    struct fa_buf buf;

    for (size_t max = 0; max < 300; max++) {
        fa_buf_init(&buf, max);
        for (size_t i = 0; i < max; i++)
            fa_buf_add_char(&buf, 'x');
        assert_false(buf.overflow);
        assert_int_equal(buf.len, max);
        assert_true(max == 0 || strlen(buf.ptr) == max);
        fa_buf_add(&buf, NULL, 0);
        assert_false(buf.overflow);
        fa_buf_add_char(&buf, 'y'); /* one beyond */
        assert_true(buf.overflow);
        assert_int_equal(buf.len, max);
        assert_true(buf.size <= max + 1);
        fa_buf_finish(&buf);
    }
}

static void test_buf__nothing_follows_what_did_not_fit(void **state)
{
    struct fa_buf buf;

    fa_buf_init(&buf, 6);
    fa_buf_add_str(&buf, "abc");
    fa_buf_printf(&buf, "%d", 12345);
    assert_true(buf.overflow);
    fa_buf_add_str(&buf, "d");
    assert_string_equal(buf.ptr, "abc");
    fa_buf_clear(&buf);
    assert_false(buf.overflow);
    assert_string_equal(buf.ptr, "");
    fa_buf_printf(&buf, "%d%s", 123, "456");
    assert_false(buf.overflow);
    assert_string_equal(buf.ptr, "123456");
    fa_buf_finish(&buf);
    assert_null(buf.ptr);
}

/* Texts that just fit into what is there, and those that don't. */
static void test_buf__printf_at_every_size(void **state)
{
    char text[201];

    for (int len = 0; len <= 200; len++) {
        struct fa_buf buf;

        memset(text, 'x', sizeof(text));
        text[len] = '\0';
        fa_buf_init(&buf, 1000);
        fa_buf_printf(&buf, "%s", text);
        assert_string_equal(buf.ptr, text);
        fa_buf_printf(&buf, "<%s>", text);
        assert_int_equal(buf.len, 2 * len + 2);
        assert_int_equal(strlen(buf.ptr), buf.len);
        fa_buf_finish(&buf);
    }
}

static void test_buf__reserving_and_extending(void **state)
{
    struct fa_buf buf;
    char *at;

    fa_buf_init(&buf, 10);
    fa_buf_reserve(&buf, 11); /* more than it may hold: nothing happens */
    assert_false(buf.overflow);
    fa_buf_reserve(&buf, 10);
    at = buf.ptr;
    memcpy(fa_buf_extend(&buf, 10), "0123456789", 10);
    assert_ptr_equal(buf.ptr, at);
    assert_string_equal(buf.ptr, "0123456789");
    assert_null(fa_buf_extend(&buf, 1));
    assert_true(buf.overflow);
    fa_buf_finish(&buf);
}

static void test_numbers__as_printf_writes_them(void **state)
{
    static const int64_t edges[] = {0,  1,   9,    10,        15,        16,
                                    -1, -10, 4095, INT64_MAX, INT64_MIN, 0x0123456789abcdef};
    uint64_t random = 1;

    for (size_t i = 0; i < 10000; i++) {
        int64_t value = i < FA_COUNT(edges) ? edges[i] : (int64_t)(random >> random % 64);
        char text[64], good[64];

        *fa_put_int(text, value) = '\0';
        snprintf(good, sizeof(good), "%lld", (long long)value);
        assert_string_equal(text, good);
        *fa_put_hex(text, (uint64_t)value) = '\0';
        snprintf(good, sizeof(good), "%llx", (unsigned long long)value);
        assert_string_equal(text, good);
        *fa_put_hex16(text, (uint64_t)value) = '\0';
        snprintf(good, sizeof(good), "%016llx", (unsigned long long)value);
        assert_string_equal(text, good);
        random = random * 6364136223846793005u + 1442695040888963407u;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes__equal_and_compare),
        cmocka_unit_test(test_arena__what_was_taken_stays),
        cmocka_unit_test(test_arena__zero_copy_strdup_printf),
        cmocka_unit_test(test_arena__reset_keeps_one_block),
        cmocka_unit_test(test_arena__a_big_request_leaves_the_block_in_use),
        cmocka_unit_test(test_arena__knows_its_size),
        cmocka_unit_test(test_arena__grow_keeps_items_and_zeroes_the_rest),
        cmocka_unit_test(test_buf__grows_up_to_its_maximum),
        cmocka_unit_test(test_buf__nothing_follows_what_did_not_fit),
        cmocka_unit_test(test_buf__printf_at_every_size),
        cmocka_unit_test(test_buf__reserving_and_extending),
        cmocka_unit_test(test_numbers__as_printf_writes_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
