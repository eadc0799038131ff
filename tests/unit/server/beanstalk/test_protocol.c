/*
 * test_protocol.c - command lines of the beanstalkd protocol, and jobs as tasks: every line, body,
 * tube, priority and id there and back.
 */
#include "unit/base/unit.h"

#include "base/random.h"
#include "model/id.h"
#include "model/limits.h"
#include "server/beanstalk/protocol.h"

#include <stdlib.h>

static void test_protocol__lines(void **state)
{
    static const struct {
        const char *line;
        enum fa_beanstalk_parsed parsed;
        enum fa_beanstalk_kind kind;
    } cases[] = {
        {"put 1 2 3 4", FA_BEANSTALK_OK, FA_BEANSTALK_PUT},
        {"put  1  2  3  4", FA_BEANSTALK_OK, FA_BEANSTALK_PUT},
        {"put 4294967295 0 0 0", FA_BEANSTALK_OK, FA_BEANSTALK_PUT},
        {"put 4294967296 0 0 0", FA_BEANSTALK_BAD_FORMAT, 0},
        {"put 1 2 3 4 ", FA_BEANSTALK_BAD_FORMAT, 0},
        {"put 1 2 3 4 5", FA_BEANSTALK_BAD_FORMAT, 0},
        {"put 1 2 3", FA_BEANSTALK_BAD_FORMAT, 0},
        {"put 1 2 +3 4", FA_BEANSTALK_BAD_FORMAT, 0},
        {"put", FA_BEANSTALK_BAD_FORMAT, 0},
        {"", FA_BEANSTALK_UNKNOWN, 0},
        {" put 1 2 3 4", FA_BEANSTALK_UNKNOWN, 0},
        {"Put 1 2 3 4", FA_BEANSTALK_UNKNOWN, 0},
        {"putt 1 2 3 4", FA_BEANSTALK_UNKNOWN, 0},
        {"reserve", FA_BEANSTALK_OK, FA_BEANSTALK_RESERVE},
        {"reserve ", FA_BEANSTALK_BAD_FORMAT, 0},
        {"reserve-with-timeout 0", FA_BEANSTALK_OK, FA_BEANSTALK_RESERVE_WITH_TIMEOUT},
        {"delete 18446744073709551615", FA_BEANSTALK_OK, FA_BEANSTALK_DELETE},
        {"delete 18446744073709551616", FA_BEANSTALK_BAD_FORMAT, 0},
        {"use a-b+/;.$_()9", FA_BEANSTALK_OK, FA_BEANSTALK_USE},
        {"use -a", FA_BEANSTALK_BAD_FORMAT, 0},
        {"use a~b", FA_BEANSTALK_BAD_FORMAT, 0},
        {"pause-tube t 5", FA_BEANSTALK_OK, FA_BEANSTALK_PAUSE_TUBE},
        {"quit", FA_BEANSTALK_OK, FA_BEANSTALK_QUIT},
    };

    (void)state;
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_beanstalk_command command;

        assert_int_equal(fa_beanstalk_parse(fa_str(cases[i].line), &command), cases[i].parsed);
        if (cases[i].parsed == FA_BEANSTALK_OK)
            assert_int_equal(command.kind, cases[i].kind);
    }
}

static void test_protocol__every_word_is_its_command(void **state)
{
    (void)state;
    for (int kind = 0; kind < FA_BEANSTALK_KIND_COUNT; kind++) {
        struct fa_beanstalk_command command;
        struct fa_bytes word = fa_str(fa_beanstalk_word((enum fa_beanstalk_kind)kind));

        assert_true(fa_beanstalk_parse(word, &command) != FA_BEANSTALK_UNKNOWN);
        assert_int_equal(command.kind, kind);
    }
}

static void test_protocol__arguments(void **state)
{
    struct fa_beanstalk_command command;

    (void)state;
    assert_int_equal(fa_beanstalk_parse(fa_str("put 7 8 9 10"), &command), FA_BEANSTALK_OK);
    assert_int_equal(command.pri, 7);
    assert_int_equal(command.seconds[0], 8);
    assert_int_equal(command.seconds[1], 9);
    assert_int_equal(command.size, 10);
    assert_int_equal(fa_beanstalk_parse(fa_str("release 123 4294967295 5"), &command),
                     FA_BEANSTALK_OK);
    assert_int_equal(command.number, 123);
    assert_int_equal(command.pri, UINT32_MAX);
    assert_int_equal(command.seconds[0], 5);
    assert_int_equal(fa_beanstalk_parse(fa_str("pause-tube Mail 60"), &command), FA_BEANSTALK_OK);
    assert_string_equal(command.tube, "Mail");
    assert_int_equal(command.seconds[0], 60);
}

/* J1. */
static void test_protocol__tubes_are_types(void **state)
{
    static const struct {
        const char *tube, *type;
    } cases[] = {{"default", "default"}, {"mail.send", "mail.send"}, {"Mail", "mail~8"},
                 {"mAil", "mail~4"},     {"MAIL", "mail~f"},         {"aaaaB", "aaaab~08"}};
    char name[FA_BEANSTALK_TUBE_SIZE] = "", type[FA_TYPE_SIZE_MAX + 1];

    (void)state;
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        fa_beanstalk_type(cases[i].tube, type);
        assert_string_equal(type, cases[i].type);
        assert_true(fa_beanstalk_tube(type, name));
        assert_string_equal(name, cases[i].tube);
    }
    memset(name, 'Z', FA_BEANSTALK_TUBE_MAX);
    fa_beanstalk_type(name, type);
    assert_int_equal(strlen(type), 251);
    assert_true(fa_beanstalk_tube("Mail", name)); /* a type that differs in case only */
    assert_string_equal(name, "mail");
    assert_true(!fa_beanstalk_tube("mail~", name));
    assert_true(!fa_beanstalk_tube("mail~0", name));
    assert_true(!fa_beanstalk_tube("mail~80", name));
    assert_true(!fa_beanstalk_tube("mail~x", name));
    assert_true(!fa_beanstalk_tube("1~8", name));
    assert_true(!fa_beanstalk_tube("send mail", name));
    assert_true(!fa_beanstalk_tube("", name));
}

/* J3. */
static void test_protocol__order_of_priorities(void **state)
{
    static const uint32_t pris[] = {0, 1, 1023, 1024, 1u << 31, UINT32_MAX - 2, UINT32_MAX - 1};

    (void)state;
    for (size_t i = 0; i < FA_COUNT(pris); i++) {
        assert_int_equal(fa_beanstalk_pri(fa_beanstalk_priority(pris[i])), pris[i]);
        if (i > 0)
            assert_true(fa_beanstalk_priority(pris[i]) < fa_beanstalk_priority(pris[i - 1]));
    }
    assert_int_equal(fa_beanstalk_priority(0), FA_PRIORITY_MAX);
    assert_int_equal(fa_beanstalk_priority(UINT32_MAX), FA_PRIORITY_MIN);
    assert_int_equal(fa_beanstalk_priority(UINT32_MAX - 1), FA_PRIORITY_MIN);
}

/* J4. */
static void test_protocol__ids(void **state)
{
    const int64_t year_us = 365 * 86400 * INT64_C(1000000), now_us = 56 * year_us;

    (void)state;
    for (int64_t years = 1; years < 200; years += 3) {
        int64_t made_us = now_us + years * year_us, key = fa_id_key_at(made_us);

        assert_true(fa_beanstalk_id(key) > 0);
        assert_true(fa_beanstalk_id(key) < UINT64_C(1) << 53);
        assert_int_equal(fa_beanstalk_key(fa_beanstalk_id(key), made_us), key);
        assert_int_equal(fa_beanstalk_key(fa_beanstalk_id(key), made_us - 9 * year_us), key);
        assert_int_equal(fa_beanstalk_key(fa_beanstalk_id(key), made_us + 58 * year_us), key);
    }
    assert_int_equal(fa_beanstalk_key(0, now_us), 0);
    assert_int_equal(fa_beanstalk_key(UINT64_C(1) << 53, now_us), 0);
    assert_int_equal(fa_beanstalk_key(UINT64_MAX, now_us), 0);
}

static void check_body(struct fa_bytes body, uint32_t ttr)
{
    struct fa_arena arena = {0};
    struct faina_submit submit = {0};
    struct faina_task task = {0};
    struct fa_bytes read;
    uint32_t ttr_read;

    fa_beanstalk_write(body, ttr, "t", "t", &arena, &submit);
    task.input = submit.input;
    task.metadata = submit.metadata ? submit.metadata : "{}";
    read = fa_beanstalk_read(&task, &arena, &ttr_read);
    assert_true(fa_bytes_equal(read, body));
    assert_int_equal(ttr_read, ttr);
    fa_arena_finish(&arena);
}

/* J2. */
static void test_protocol__bodies(void **state)
{
    static const char *const texts[] = {"",
                                        "x",
                                        "{\"a\":1}",
                                        " {}",
                                        "[1, 2]\n",
                                        "{\"a\":1,\"a\":2}",
                                        "null",
                                        "\"x\"",
                                        "\t\n\r",
                                        "\"\"\"",
                                        "\xff",
                                        "Gr\xc3\xbc\xc3\x9f",
                                        "\x01",
                                        "{",
                                        "[",
                                        "\\",
                                        "{\"a\":\"\\u0000\"}",
                                        "{\"beanstalk\":{\"ttr\":1,\"text\":\"y\"}}",
                                        "{\"beanstalk\":"};
    struct fa_random random = {0};
    char data[300];

    (void)state;
    for (size_t i = 0; i < FA_COUNT(texts); i++)
        check_body(fa_str(texts[i]), (uint32_t)i + 1);
    fa_random_seed_system(&random);
    for (int round = 0; round < 2000; round++) {
        size_t len = fa_random_next(&random) % sizeof(data);
        unsigned range = round % 2 ? 256 : 96;

        for (size_t i = 0; i < len; i++)
            data[i] = (char)(fa_random_next(&random) % range + (range == 96 ? ' ' : 0));
        check_body((struct fa_bytes){data, len}, UINT32_MAX);
    }
}

/* Any body of the largest size is within the limit of an input. */
static void test_protocol__largest_body(void **state)
{
    static const int fills[] = {0, 'a', '"', '\n', 0xff};
    size_t most = fa_beanstalk_body_max(10000);
    char *data = fa_alloc(most);

    (void)state;
    assert_true(most > 7000);
    for (size_t i = 0; i < FA_COUNT(fills); i++) {
        struct fa_arena arena = {0};
        struct faina_submit submit = {0};

        memset(data, fills[i], most);
        fa_beanstalk_write((struct fa_bytes){data, most}, UINT32_MAX, "t", "t", &arena, &submit);
        assert_true(strlen(submit.input) <= 10000);
        fa_arena_finish(&arena);
    }
    free(data);
    assert_int_equal(fa_beanstalk_body_max(10), 0);
}

/* Tasks that no beanstalkd client has made. */
static void test_protocol__other_inputs(void **state)
{
    static const char *const inputs[] = {"{\"beanstalk\":5}",
                                         "{\"beanstalk\":{\"ttr\":5}}",
                                         "{\"beanstalk\":{\"base64\":\"?\"}}",
                                         "{\"beanstalk\":{}}",
                                         "{\"a\":{\"beanstalk\":1}}",
                                         "{\"beanstalk\":{\"base64\":\"a\"}}",
                                         "\"a text\"",
                                         "[]"};

    (void)state;
    for (size_t i = 0; i < FA_COUNT(inputs); i++) {
        struct faina_task task = {.input = inputs[i], .metadata = "{\"beanstalk\":[]}"};
        struct fa_arena arena = {0};
        uint32_t ttr;

        assert_true(fa_bytes_equal(fa_beanstalk_read(&task, &arena, &ttr), fa_str(inputs[i])));
        fa_arena_finish(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_protocol__lines),
        cmocka_unit_test(test_protocol__every_word_is_its_command),
        cmocka_unit_test(test_protocol__arguments),
        cmocka_unit_test(test_protocol__tubes_are_types),
        cmocka_unit_test(test_protocol__order_of_priorities),
        cmocka_unit_test(test_protocol__ids),
        cmocka_unit_test(test_protocol__bodies),
        cmocka_unit_test(test_protocol__largest_body),
        cmocka_unit_test(test_protocol__other_inputs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
