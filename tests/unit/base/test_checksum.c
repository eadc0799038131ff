/*
 * test_checksum.c - what differs has another checksum.
 */
#include "unit/base/unit.h"

#include "base/checksum.h"

static uint64_t sum(const char *text, size_t len)
{
    return fa_checksum_bytes(FA_CHECKSUM_START, (struct fa_bytes){text, len});
}

static void test_checksum__each_bit_counts(void **state)
{
    char text[40];

    memset(text, 'a', sizeof(text));
    for (size_t len = 0; len <= sizeof(text); len++) {
        uint64_t whole = sum(text, len);

        check_int("the same again", (int64_t)sum(text, len), (int64_t)whole);
        for (size_t bit = 0; bit < len * 8; bit++) {
            text[bit / 8] ^= (char)(1 << bit % 8);
            check_true("a bit", sum(text, len) != whole);
            text[bit / 8] ^= (char)(1 << bit % 8);
        }
        if (len > 0)
            check_true("a byte less", sum(text, len - 1) != whole);
    }
}

static void test_checksum__parts_are_apart(void **state)
{
    uint64_t one = fa_checksum_bytes(sum("ab", 2), FA_LIT("c"));

    check_true("(a, bc)", one != fa_checksum_bytes(sum("a", 1), FA_LIT("bc")));
    check_true("(c, ab)", one != fa_checksum_bytes(sum("c", 1), FA_LIT("ab")));
    check_true("a NUL", sum("a\0", 2) != sum("a", 1));
    check_true("words", fa_checksum_word(fa_checksum_word(FA_CHECKSUM_START, 1), 2) !=
                            fa_checksum_word(fa_checksum_word(FA_CHECKSUM_START, 2), 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checksum__each_bit_counts),
        cmocka_unit_test(test_checksum__parts_are_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
