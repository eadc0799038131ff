/*
 * test_framing.c - where requests end, and which line ends are refused, however the bytes arrive.
 */
#include "unit/base/unit.h"

#include "server/framing.h"

#include <stdlib.h>

#define GET "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define POST "POST / HTTP/1.1\r\nHost: a\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

static const struct {
    const char *text;
    unsigned long long request, bad; /* afterwards */
    bool is_off;
} cases[] = {
    {GET, 1, 0, false},
    {GET GET GET, 3, 0, false},
    {"\r\n\r\n" GET "\r\n" GET, 2, 0, false},
    {"GET / HTTP/1.1\nHost: a\n\n" GET, 2, 0, false},
    {POST "Content-Length: 5\r\n\r\nhello" GET, 2, 0, false},
    {POST "content-length:\t 5 \r\n\r\n\r\n\r\n\r" GET, 2, 0, false},
    {POST "Content-Length: 0\r\n\r\n" GET, 2, 0, false},
    {CHUNKED "5\r\nhello\r\n0\r\n\r\n" GET, 2, 0, false},
    {CHUNKED "A;ext=\"x\"\r\n0123456789\r\n00\r\nTrailer: x\r\n\r\n" GET, 2, 0, false},
    {CHUNKED "3\r\n\n\n\n\r\n0\r\n\r\n" GET, 2, 0, false}, /* the data may be anything */
    {CHUNKED "3\r\n\r\r\r\r\n0\r\n\r\n" GET, 2, 0, false},
    /* A bare LF in a chunked body. */
    {CHUNKED "5\nhello\r\n0\r\n\r\n", 0, 1, true},
    {CHUNKED "5\r\nhello\n0\r\n\r\n", 0, 1, true},
    {CHUNKED "5\r\nhello\r\n0\n\r\n", 0, 1, true},
    {CHUNKED "5\r\nhello\r\n0\r\n\n", 0, 1, true},
    {CHUNKED "5\r\nhello\r\n0\r\nA: b\n\r\n", 0, 1, true},
    {CHUNKED "5;a\nb\r\nhello\r\n0\r\n\r\n", 0, 1, true},
    {GET GET CHUNKED "5\nhello\r\n0\r\n\r\n", 2, 3, true},
    /* A bare CR. */
    {"GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", 0, 1, true},
    {"GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", 0, 1, true},
    {"GET /\r HTTP/1.1\r\nHost: a\r\n\r\n", 0, 1, true},
    {CHUNKED "5;a\rb\r\nhello\r\n0\r\n\r\n", 0, 1, true},
    {CHUNKED "5\r\r\nhello\r\n0\r\n\r\n", 0, 1, true},
    {CHUNKED "5\r\nhello\r\n0\r\nA: b\rc\r\n\r\n", 0, 1, true},
    {GET "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", 1, 2, true},
    /* What can't be followed; the library or http.c refuses it. */
    {POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 0, 0, true},
    {POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 0, 0, true},
    {POST "Content-Length: x\r\n\r\n", 0, 0, true},
    {POST "Content-Length: 99999999999999999999\r\n\r\n", 0, 0, true},
    {CHUNKED "x\r\n", 0, 0, true},
    {CHUNKED "\r\n", 0, 0, true},
    {CHUNKED "fffffffffffffffffff\r\n", 0, 0, true},
    {CHUNKED "5 \r\nhello\r\n0\r\n\r\n", 0, 0, true},
    {CHUNKED "5\r\nhelloo\r\n0\r\n\r\n", 0, 0, true},
};

static void check(size_t i, const struct fa_framing *framing)
{
    if (framing->request == cases[i].request && framing->bad == cases[i].bad &&
        (framing->state == FA_FRAMING_OFF) == cases[i].is_off)
        return;
    fail_msg("case %zu: request %llu, bad %llu, state %d", i, framing->request, framing->bad,
             (int)framing->state);
}

static void test_framing__at_once(void **state)
{
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_framing framing = {0};

        fa_framing_feed(&framing, cases[i].text, strlen(cases[i].text));
        check(i, &framing);
    }
}

static void test_framing__in_pieces(void **state)
{
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        size_t len = strlen(cases[i].text);

        for (size_t step = 1; step < len; step++) {
            struct fa_framing framing = {0};

            for (size_t at = 0; at < len; at += step)
                fa_framing_feed(&framing, cases[i].text + at, len - at < step ? len - at : step);
            check(i, &framing);
        }
    }
}

/* Which request has a chunked body that is followed. */
static void test_framing__chunked(void **state)
{
    struct fa_framing framing = {0};

    fa_framing_feed(&framing, GET CHUNKED, strlen(GET CHUNKED));
    assert_true(!fa_framing_is_chunked(&framing, 1) && fa_framing_is_chunked(&framing, 2));
    assert_false(fa_framing_is_chunked(&framing, 3));
    fa_framing_feed(&framing, "0\r\n\r\n" GET, strlen("0\r\n\r\n" GET));
    assert_int_equal(framing.request, 3);
    assert_true(!fa_framing_is_chunked(&framing, 1) && fa_framing_is_chunked(&framing, 2));
    for (int i = 0; i < 61; i++) {
        assert_true(fa_framing_is_chunked(&framing, 2));
        fa_framing_feed(&framing, GET, strlen(GET));
    }
    fa_framing_feed(&framing, GET, strlen(GET));
    assert_false(fa_framing_is_chunked(&framing, 2)); /* too long ago to know */
}

/* Long lines are followed to their end, whatever they begin with. */
static void test_framing__long_lines(void **state)
{
    struct fa_framing framing = {0};
    char *line = malloc(100000);

    memset(line, 'x', 100000);
    fa_framing_feed(&framing, "GET / HTTP/1.1\r\nA: ", strlen("GET / HTTP/1.1\r\nA: "));
    fa_framing_feed(&framing, line, 100000);
    fa_framing_feed(&framing, "\r\n\r\n" GET, strlen("\r\n\r\n" GET));
    assert_int_equal(framing.request, 2);
    fa_framing_feed(&framing, CHUNKED "1;", strlen(CHUNKED "1;"));
    fa_framing_feed(&framing, line, 100000);
    fa_framing_feed(&framing, "\r\nx\r\n0\r\n\r\n", strlen("\r\nx\r\n0\r\n\r\n"));
    assert_int_equal(framing.request, 3);
    assert_int_equal(framing.bad, 0);
    free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_framing__at_once),
        cmocka_unit_test(test_framing__in_pieces),
        cmocka_unit_test(test_framing__chunked),
        cmocka_unit_test(test_framing__long_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
