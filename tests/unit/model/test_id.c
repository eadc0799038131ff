/*
 * test_id.c - task ids.
 */
#include "unit/base/unit.h"

#include "model/id.h"

#define NOW_US INT64_C(1767322800123456)

static void test_id__layout(void **state)
{
    static const struct {
        struct fa_id id;
        const char *text;
    } cases[] = {
        {{1, 0}, "00000000-0000-7001-8000-000000000000"},
        {{(INT64_C(0x01890a5dac96) << 12) | 0x74b, INT64_C(0x3cceb302099a8057)},
         "01890a5d-ac96-774b-bcce-b302099a8057"},
        {{(INT64_C(1) << 60) - 1, (INT64_C(1) << 62) - 1}, "ffffffff-ffff-7fff-bfff-ffffffffffff"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        char text[FAINA_ID_SIZE];
        struct fa_id parsed;

        fa_id_format(cases[i].id, text);
        check_str(cases[i].text, text, cases[i].text);
        check_true(text, fa_id_parse(text, &parsed));
        check_true(text, fa_id_equal(parsed, cases[i].id));
    }
}

static void test_id__what_is_no_id_is_refused(void **state)
{
    static const char *const texts[] = {
        NULL,
        "",
        "01890a5d",
        "01890a5d-ac96-774b-bcce-b302099a805",   /* one short */
        "01890a5d-ac96-774b-bcce-b302099a80577", /* one more */
        "01890a5d-ac96-774b-bcce-b302099a8057 ",
        "01890a5dac96-774b-bcce-b302099a80577",
        "01890a5d-ac96-774b-bcceb302099a80577",
        "01890a5d-ac96-774b-bcce-b302099a805g",
        "01890a5d-ac96-474b-bcce-b302099a8057", /* version 4 */
        "01890a5d-ac96-774b-ccce-b302099a8057", /* another variant */
        "01890a5d-ac96-774b-7cce-b302099a8057",
        "00000000-0000-7000-8000-000000000000", /* the key is 0 */
        "{01890a5d-ac96-774b-bcce-b302099a8057}",
        "-1890a5d-ac96-774b-bcce-b302099a8057",
    };
    struct fa_id id = {7, 7};

    for (size_t i = 0; i < FA_COUNT(texts); i++)
        check_true(texts[i] ? texts[i] : "NULL", !fa_id_parse(texts[i], &id));
    assert_true(fa_id_equal(id, (struct fa_id){7, 7}));
}

static void test_id__upper_case_is_the_same_id(void **state)
{
    struct fa_id lower, upper;

    assert_true(fa_id_parse("01890a5d-ac96-774b-bcce-b302099a8057", &lower));
    assert_true(fa_id_parse("01890A5D-AC96-774B-BCCE-B302099A8057", &upper));
    assert_true(fa_id_equal(lower, upper));
    upper.tail++;
    assert_false(fa_id_equal(lower, upper));
}

static void test_id__random_ids_read_back_and_keep_their_order(void **state)
{
    struct fa_random random;
    struct fa_id last = {1, 0};

    fa_random_seed(&random, SEED);
    for (int i = 0; i < 10000; i++) {
        struct fa_id id = {(int64_t)(fa_random_next(&random) >> 4) | 1,
                           (int64_t)(fa_random_next(&random) >> 2)};
        char text[FAINA_ID_SIZE], last_text[FAINA_ID_SIZE];
        struct fa_id parsed;

        fa_id_format(id, text);
        assert_true(fa_id_parse(text, &parsed));
        assert_true(fa_id_equal(parsed, id));
        /* I3: as text and as keys in the same order. */
        fa_id_format(last, last_text);
        assert_int_equal(strcmp(text, last_text) > 0, id.key > last.key);
        last = id;
    }
}

/* I1 and I2, with a clock that stops, steps back and jumps. */
static void test_id__keys_only_grow(void **state)
{
    struct fa_id_source source = {.last_key = 0};
    struct fa_random clock;
    int64_t now_us = NOW_US, last = 0;

    fa_random_seed(&source.random, SEED);
    fa_random_seed(&clock, SEED + 1);
    for (int i = 0; i < 10000; i++) {
        struct fa_id id = fa_id_next(&source, now_us);

        assert_true(id.key > last);
        assert_true(fa_id_key_us(id.key) >= now_us);
        assert_true(id.tail >= 0);
        last = id.key;
        now_us += (int64_t)fa_random_below(&clock, 21) - 10;
        if (i % 1000 == 0)
            now_us -= 1000000;
    }
}

static void test_id__goes_on_from_the_store(void **state)
{
    struct fa_id_source source = {.last_key = fa_id_key_at(NOW_US) + 5000};
    struct fa_id id;

    fa_random_seed(&source.random, SEED);
    id = fa_id_next(&source, NOW_US);
    assert_int_equal(id.key, fa_id_key_at(NOW_US) + 5001);
    id = fa_id_next(&source, NOW_US + 10000000);
    assert_int_equal(id.key, fa_id_key_at(NOW_US + 10000000));
}

/* I4: the keys of a range are in its slot and below its end. */
static void test_id__stays_in_its_range(void **state)
{
    int64_t first = fa_id_key_at(NOW_US), count = 0, last = 0;
    struct fa_id_source source = {
        .last_key = first - 1, .slot_bits = 6, .slot = 5, .end_key = first + 640};
    struct fa_id other;

    fa_random_seed(&source.random, SEED);
    for (; fa_id_has_next(&source, NOW_US); count++) {
        last = fa_id_next(&source, NOW_US).key;
        assert_true(last >= first && last < first + 640);
        assert_int_equal(last & 63, 5);
    }
    assert_int_equal(count, 10);
    assert_false(fa_id_has_next(&source, NOW_US + 1000000)); /* the clock is past it */
    other = fa_id_free(&source, NOW_US);
    assert_int_equal(other.key, first);
    assert_int_equal(source.last_key, last);
    source.end_key = 0;
    assert_true(fa_id_has_next(&source, NOW_US));
}

static void test_id__tails_differ(void **state)
{
    struct fa_id_source source = {.last_key = 0};
    struct fa_id a, b;

    fa_random_seed(&source.random, SEED);
    a = fa_id_next(&source, NOW_US);
    b = fa_id_next(&source, NOW_US);
    assert_true(a.tail != b.tail);
}

static void test_id__key_at_is_the_smallest_not_before(void **state)
{
    for (int64_t us = NOW_US; us < NOW_US + 5000; us++) {
        int64_t key = fa_id_key_at(us);

        assert_int_equal(fa_id_key_us(key), us);
        /* In fractions of 1/4096 ms: key * 1000 >= us * 4096 > (key - 1) * 1000. */
        assert_true((key & 4095) * 1000 >= (us % 1000) * 4096);
        assert_true(((key & 4095) - 1) * 1000 < (us % 1000) * 4096);
        assert_int_equal(key >> 12, us / 1000);
    }
}

static void test_id__key_at_the_ends_of_time(void **state)
{
    assert_int_equal(fa_id_key_at(INT64_MIN), 0);
    assert_int_equal(fa_id_key_at(-1), 0);
    assert_int_equal(fa_id_key_at(0), 0);
    assert_int_equal(fa_id_key_at(1), 5);
    assert_int_equal(fa_id_key_at(((INT64_C(1) << 48) - 1) * 1000 + 999), (INT64_C(1) << 60) - 4);
    assert_int_equal(fa_id_key_at((INT64_C(1) << 48) * 1000), INT64_C(1) << 60);
    assert_int_equal(fa_id_key_at(INT64_MAX), INT64_C(1) << 60);
}

/* As the views compute it. */
static void test_id__of_an_event(void **state)
{
    char id[FAINA_ID_SIZE], other[FAINA_ID_SIZE];

    fa_event_id_format(INT64_C(115000000000000123), INT64_C(1795035833123456), "created", id);
    assert_string_equal(id, "01a1f079-2323-8723-9198-8fe4052b807b");
    fa_event_id_format(INT64_C(115000000000000123), INT64_C(1795035833123456), "cancelled", other);
    assert_string_not_equal(id, other);
    fa_event_id_format(-1, -1, "x", id); /* of a damaged row */
    assert_int_equal(strlen(id), FAINA_ID_SIZE - 1);
}

static void test_id__a_uuid_of_any_version(void **state)
{
    static const char *const good[] = {"16fd2706-8baf-433b-82eb-8c7fada847da",
                                       "00000000-0000-0000-0000-000000000000",
                                       "ffffffff-ffff-ffff-ffff-ffffffffffff"};
    static const char *const bad[] = {NULL,
                                      "",
                                      "16fd2706-8baf-433b-82eb-8c7fada847d",
                                      "16fd2706-8baf-433b-82eb-8c7fada847da0",
                                      "16fd2706-8baf-433b-82eb-8c7fada847dg",
                                      "16fd27068-baf-433b-82eb-8c7fada847da",
                                      "16fd2706 8baf 433b 82eb 8c7fada847da"};
    char text[FAINA_ID_SIZE];

    (void)state;
    for (size_t i = 0; i < FA_COUNT(good); i++) {
        check_true(good[i], fa_uuid_parse(good[i], text));
        check_str("the same", text, good[i]);
    }
    assert_true(fa_uuid_parse("16FD2706-8BAF-433B-82EB-8C7FADA847DA", text));
    check_str("in lower case", text, good[0]);
    for (size_t i = 0; i < FA_COUNT(bad); i++)
        check_true(bad[i] ? bad[i] : "NULL", !fa_uuid_parse(bad[i], text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_id__layout),
        cmocka_unit_test(test_id__what_is_no_id_is_refused),
        cmocka_unit_test(test_id__upper_case_is_the_same_id),
        cmocka_unit_test(test_id__random_ids_read_back_and_keep_their_order),
        cmocka_unit_test(test_id__keys_only_grow),
        cmocka_unit_test(test_id__goes_on_from_the_store),
        cmocka_unit_test(test_id__stays_in_its_range),
        cmocka_unit_test(test_id__tails_differ),
        cmocka_unit_test(test_id__key_at_is_the_smallest_not_before),
        cmocka_unit_test(test_id__key_at_the_ends_of_time),
        cmocka_unit_test(test_id__of_an_event),
        cmocka_unit_test(test_id__a_uuid_of_any_version),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
