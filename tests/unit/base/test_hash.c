/*
 * test_hash.c - SHA-256 and its hexadecimal form.
 */
#include "unit/base/unit.h"

#include "base/hash.h"

static void check_hash(const char *name, const uint8_t hash[FA_SHA256_SIZE], const char *expected)
{
    char hex[FA_SHA256_HEX_SIZE];

    fa_hex(hash, FA_SHA256_SIZE, hex);
    check_str(name, hex, expected);
}

/* The examples of FIPS 180. */
static void test_hash__known_values(void **state)
{
    uint8_t hash[FA_SHA256_SIZE];

    fa_sha256(FA_LIT(""), hash);
    check_hash("nothing", hash, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    fa_sha256(FA_LIT("abc"), hash);
    check_hash("abc", hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    fa_sha256(FA_LIT("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), hash);
    check_hash("56 letters", hash,
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void test_hash__parts_are_told_apart(void **state)
{
    const struct fa_bytes one[] = {FA_LIT("ab"), FA_LIT("c")};
    const struct fa_bytes other[] = {FA_LIT("a"), FA_LIT("bc")};
    const struct fa_bytes empty[] = {FA_LIT("ab"), FA_LIT("c"), FA_LIT("")};
    uint8_t a[FA_SHA256_SIZE], b[FA_SHA256_SIZE];

    fa_sha256_parts(one, 2, a);
    fa_sha256_parts(other, 2, b);
    assert_memory_not_equal(a, b, FA_SHA256_SIZE);
    fa_sha256_parts(empty, 3, b);
    assert_memory_not_equal(a, b, FA_SHA256_SIZE);
}

/* The hash is stored, so what is hashed must never change: eight bytes of length, big-endian. */
static void test_hash__parts_are_length_and_bytes(void **state)
{
    const struct fa_bytes parts[] = {FA_LIT("ab"), {NULL, 0}, FA_LIT("c")};
    uint8_t a[FA_SHA256_SIZE], b[FA_SHA256_SIZE];

    fa_sha256_parts(parts, 3, a);
    fa_sha256(FA_LIT("\0\0\0\0\0\0\0\2ab\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1c"), b);
    assert_memory_equal(a, b, FA_SHA256_SIZE);
    fa_sha256_parts(NULL, 0, a);
    fa_sha256(FA_LIT(""), b);
    assert_memory_equal(a, b, FA_SHA256_SIZE);
}

/* Around the size where parts move from the stack to the heap, and far beyond. */
static void test_hash__parts_of_any_size(void **state)
{
    static const size_t sizes[] = {1007, 1008, 1009, 1015, 1016, 1017, 100000};
    char *whole = fa_alloc(8 + 100000);
    uint8_t a[FA_SHA256_SIZE], b[FA_SHA256_SIZE];

    for (size_t i = 0; i < FA_COUNT(sizes); i++) {
        struct fa_bytes part = {whole + 8, sizes[i]};

        memset(whole, 0, 8);
        whole[5] = (char)(sizes[i] >> 16);
        whole[6] = (char)(sizes[i] >> 8);
        whole[7] = (char)sizes[i];
        memset(whole + 8, 'q', sizes[i]);
        fa_sha256_parts(&part, 1, a);
        fa_sha256((struct fa_bytes){whole, 8 + sizes[i]}, b);
        assert_memory_equal(a, b, FA_SHA256_SIZE);
    }
    free(whole);
}

static void test_hash__hex(void **state)
{
    const uint8_t bytes[] = {0x00, 0x09, 0xaf, 0xff};
    char hex[9];

    fa_hex(bytes, 4, hex);
    assert_string_equal(hex, "0009afff");
    fa_hex(bytes, 0, hex);
    assert_string_equal(hex, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash__known_values),
        cmocka_unit_test(test_hash__parts_are_told_apart),
        cmocka_unit_test(test_hash__parts_are_length_and_bytes),
        cmocka_unit_test(test_hash__parts_of_any_size),
        cmocka_unit_test(test_hash__hex),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
