/*
 * test_id_part.c - the beginning and the end of ids.
 */
#include "unit/base/unit.h"

#include "model/id_part.h"

static const char id_text[] = "01890a5d-ac96-774b-bcce-b302099a8057";

static void test_id_part__which_text_may_be_one(void **state)
{
    static const char *const good[] = {"0", "0189-0A5d-", "01890a5dac96774bbcceb302099a8057",
                                       id_text};
    static const char *const bad[] = {
        "", "-", "--", "xyz", "01890a5g", " 0", "0190.", "01890a5dac96774bbcceb302099a80570"};

    for (size_t i = 0; i < FA_COUNT(good); i++)
        check_true(good[i], fa_id_part_is_text(good[i]));
    for (size_t i = 0; i < FA_COUNT(bad); i++)
        check_true(bad[i], !fa_id_part_is_text(bad[i]));
}

/* Every beginning and every end of an id matches it, and no id with another digit there. */
static void test_id_part__all_parts_of_an_id(void **state)
{
    size_t len = strlen(id_text);
    struct fa_id_part part;
    struct fa_id id;
    char text[FAINA_ID_SIZE];

    assert_true(fa_id_parse(id_text, &id));
    for (size_t n = 1; n <= len; n++) {
        snprintf(text, sizeof(text), "%.*s", (int)n, id_text);
        check_true(text, fa_id_part_begin(text, &part));
        check_true(text, fa_id_part_matches(&part, id));
        check_true(text, part.low <= id.key && id.key <= part.high);
        if (text[n - 1] != '-') {
            text[n - 1] = text[n - 1] == '9' ? 'a' : '9';
            check_true(text, !fa_id_part_begin(text, &part) || !fa_id_part_matches(&part, id));
        }
    }
    for (size_t n = 1; n <= len; n++) {
        const char *end = id_text + len - n;

        check_int(end, fa_id_part_end(end, &part), n >= FA_ID_SUFFIX_MIN);
        if (n >= FA_ID_SUFFIX_MIN)
            check_true(end, fa_id_part_matches(&part, id));
        snprintf(text, sizeof(text), "%s", end);
        if (text[0] != '-') {
            text[0] = text[0] == '9' ? 'a' : '9';
            check_true(text, !fa_id_part_end(text, &part) || !fa_id_part_matches(&part, id));
        }
    }
}

static void test_id_part__without_dashes_and_in_upper_case(void **state)
{
    struct fa_id_part part;
    struct fa_id id;

    assert_true(fa_id_parse(id_text, &id));
    assert_true(fa_id_part_begin("01890A5DAC967", &part));
    assert_true(fa_id_part_matches(&part, id));
    assert_true(fa_id_part_end("774BBCCEB302099A8057", &part));
    assert_true(fa_id_part_matches(&part, id));
    assert_true(fa_id_part_end("5-7b302-099a8057", &part)); /* dashes don't count */
    assert_true(!fa_id_part_matches(&part, id));
}

/* The version is 7, and the variant 2: other digits there are no part of an id. */
static void test_id_part__what_no_id_has(void **state)
{
    struct fa_id_part part;

    assert_true(!fa_id_part_begin("01890a5d-ac96-4", &part));
    assert_true(!fa_id_part_begin("01890a5d-ac96-774b-c", &part));
    assert_true(!fa_id_part_end("4-74b-bcce-b302099a8057", &part));
    assert_true(!fa_id_part_end("7cce-b302099a8057", &part));
    assert_true(!fa_id_part_end("9a805", &part)); /* too short */
}

static void test_id_part__the_range_of_a_beginning(void **state)
{
    struct fa_id low, high;
    struct fa_id_part part;

    assert_true(fa_id_part_begin("0189", &part));
    assert_true(fa_id_parse("01890000-0000-7000-8000-000000000000", &low));
    assert_true(fa_id_parse("0189ffff-ffff-7fff-bfff-ffffffffffff", &high));
    assert_int_equal(part.low, low.key);
    assert_int_equal(part.high, high.key);
    assert_int_equal(part.mask.tail, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_id_part__which_text_may_be_one),
        cmocka_unit_test(test_id_part__all_parts_of_an_id),
        cmocka_unit_test(test_id_part__without_dashes_and_in_upper_case),
        cmocka_unit_test(test_id_part__what_no_id_has),
        cmocka_unit_test(test_id_part__the_range_of_a_beginning),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
