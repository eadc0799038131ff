/* test_failure_group.c - what messages have in common. */
#include "unit/base/unit.h"

#include "model/failure_group.h"

static const char *normal(const char *message)
{
    static char text[FA_FAILURE_MESSAGE_SIZE_MAX + 1];
    struct fa_buf buf;

    fa_buf_init(&buf, 1 << 16);
    fa_failure_normalize(fa_str(message), &buf);
    assert_true(buf.len <= FA_FAILURE_MESSAGE_SIZE_MAX);
    memcpy(text, buf.len > 0 ? buf.ptr : "", buf.len + 1);
    fa_buf_finish(&buf);
    return text;
}

static void test_failure_group__messages(void **state)
{
    static const struct {
        const char *message, *want;
    } cases[] = {
        {"", ""},
        {"no route to host", "no route to host"},
        {"timeout after 30 s", "timeout after # s"},
        {"timeout after 1.5 s at 12:30:05", "timeout after # s at #"},
        {"1,000,000 rows, 3 bad", "# rows, # bad"},
        {"task 0190c4a2-6f1e-7b3d-8a5c-1f2e3d4c5b6a is gone", "task # is gone"},
        {"object deadbeef01 is damaged", "object # is damaged"},
        {"sha 3f786850e387550fdab836ed7e6dc881de23001b", "sha #"},
        {"token xoxb-1234567890-abcdefXYZ refused", "token # refused"},
        {"facade is no id", "facade is no id"},
        {"user42 not found", "user# not found"},
        {"utf8", "utf#"},
        {"HTTP/1.1 503 from mail-3.example.com:587", "HTTP/# # from mail-#.example.com:#"},
        {"file \"/tmp/a b.txt\" is missing", "file \"…\" is missing"},
        {"user 'bob' and `x`", "user '…' and `…`"},
        {"can't open: it's locked", "can't open: it's locked"},
        {"name 'O'Brien' taken", "name '…' taken"},
        {"an open 'quote", "an open 'quote"},
        {"\"\"", "\"…\""},
        {" two\n\tlines \r\n here ", "two lines here"},
        {"größe 7 zu groß", "größe # zu groß"},
        {"-5 < 0", "-# < #"},
        {"v2.10.3-rc1", "v#-rc#"},
        {"10.0.0.1:5432 refused", "# refused"},
        {"line 12, column 7: expected 'x', got 'y'", "line #, column #: expected '…', got '…'"},
        {"0x7ffe12345678", "#"},
        {"attempt #3", "attempt ##"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        const char *got = normal(cases[i].message);

        if (strcmp(got, cases[i].want) != 0)
            fail_msg("\"%s\" became \"%s\", not \"%s\"", cases[i].message, got, cases[i].want);
    }
}

static void test_failure_group__long_messages_are_cut(void **state)
{
    char text[9000];

    for (size_t shift = 0; shift < 3; shift++) { /* "€" has three bytes */
        memset(text, 'x', shift);
        for (size_t i = shift; i + 3 < sizeof(text); i += 3)
            memcpy(text + i, "€", 4);
        assert_true(strlen(normal(text)) >= FA_FAILURE_MESSAGE_SIZE_MAX - 3);
    }
    memset(text, ' ', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_string_equal(normal(text), "");
    memset(text, '\'', sizeof(text) - 1);
    assert_true(strlen(normal(text)) <= FA_FAILURE_MESSAGE_SIZE_MAX);
}

static int64_t id_of(const char *ns, const char *type, const char *error)
{
    struct fa_arena arena = {0};
    int64_t id = fa_failure_key_of(ns, type, error, &arena).id, read;
    char text[FA_FAILURE_ID_SIZE];

    fa_arena_finish(&arena);
    fa_failure_id_format(id, text);
    assert_true(fa_failure_id_parse(text, &read));
    assert_true(read == id && id >= 0);
    return id;
}

static void test_failure_group__ids(void **state)
{
    int64_t id = id_of("n", "mail.send", "{\"message\":\"timeout after 30 s\",\"kind\":\"smtp\"}");
    int64_t read;

    assert_true(id ==
                id_of("n", "Mail.Send", "{\"kind\":\"smtp\",\"message\":\"timeout after 7 s\"}"));
    assert_true(id !=
                id_of("m", "mail.send", "{\"message\":\"timeout after 30 s\",\"kind\":\"smtp\"}"));
    assert_true(id != id_of("n", "mail", "{\"message\":\"timeout after 30 s\",\"kind\":\"smtp\"}"));
    assert_true(id !=
                id_of("n", "mail.send", "{\"message\":\"timeout after 30 s\",\"kind\":null}"));
    assert_true(id_of("n", "x", NULL) == id_of("n", "x", "{\"message\":\"\",\"kind\":null}"));
    assert_true(!fa_failure_id_parse(NULL, &read));
    assert_true(!fa_failure_id_parse("12", &read));
    assert_true(!fa_failure_id_parse("zz00000000000000", &read));
    assert_true(!fa_failure_id_parse("ffffffffffffffff", &read));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failure_group__messages),
        cmocka_unit_test(test_failure_group__long_messages_are_cut),
        cmocka_unit_test(test_failure_group__ids),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
