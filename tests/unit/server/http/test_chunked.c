/*
 * test_chunked.c - chunked bodies: what is decoded, and what is refused, however the bytes arrive.
 */
#include "support/support.h"
#include "unit/base/unit.h"

#include "server/http/chunked.h"

static const struct {
    const char *text, *data; /* data NULL: it is malformed */
    size_t rest;             /* bytes after the body */
} cases[] = {
    {"0\r\n\r\n", "", 0},
    {"5\r\nhello\r\n0\r\n\r\n", "hello", 0},
    {"5\r\nhello\r\n0\r\n\r\nGET", "hello", 3},
    {"2\r\nhe\r\n3\r\nllo\r\n000\r\n\r\n", "hello", 0},
    {"A;ext=\"x\"\r\n0123456789\r\n00\r\nTrailer: x\r\nB: y\r\n\r\n", "0123456789", 0},
    {"3\r\n\n\n\n\r\n0\r\n\r\n", "\n\n\n", 0},
    {"3\r\n\r\r\r\r\n0\r\n\r\n", "\r\r\r", 0},
    {"5\nhello\r\n0\r\n\r\n", NULL, 0},
    {"5\r\nhello\n0\r\n\r\n", NULL, 0},
    {"5\r\nhello\r\n0\n\r\n", NULL, 0},
    {"5\r\nhello\r\n0\r\n\n", NULL, 0},
    {"5\r\nhello\r\n0\r\nA: b\n\r\n", NULL, 0},
    {"5;a\nb\r\nhello\r\n0\r\n\r\n", NULL, 0},
    {"5;a\rb\r\nhello\r\n0\r\n\r\n", NULL, 0},
    {"5\r\r\nhello\r\n0\r\n\r\n", NULL, 0},
    {"5\r\nhello\r\n0\r\nA: b\rc\r\n\r\n", NULL, 0},
    {"x\r\n", NULL, 0},
    {"\r\n", NULL, 0},
    {"-1\r\n", NULL, 0},
    {"0x5\r\n", NULL, 0},
    {"5 \r\nhello\r\n0\r\n\r\n", NULL, 0},
    {"11111111111111111\r\n", NULL, 0},
    {"5\r\nhelloo\r\n0\r\n\r\n", NULL, 0},
};

/* Decodes the text as it arrives in pieces. */
static enum fa_chunked_result decode(const char *text, size_t len, size_t piece, char *out,
                                     size_t *rest)
{
    struct fa_chunked chunked = {0};
    enum fa_chunked_result result = FA_CHUNKED_MORE;
    size_t at = 0;

    out[0] = '\0';
    while (at < len && (result == FA_CHUNKED_MORE || result == FA_CHUNKED_FOUND)) {
        size_t size = len - at < piece ? len - at : piece, used = 0;
        struct fa_bytes data = {0};

        result = fa_chunked_read(&chunked, text + at, size, &used, &data);
        if (result == FA_CHUNKED_FOUND)
            snprintf(out + strlen(out), 64 - strlen(out), "%.*s", (int)data.len, data.ptr);
        at += used;
    }
    *rest = len - at;
    return result;
}

static void test_chunked__cases(void **state)
{
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        size_t len = strlen(cases[i].text);

        for (size_t piece = 1; piece <= len; piece++) {
            char data[64];
            size_t rest;
            enum fa_chunked_result result = decode(cases[i].text, len, piece, data, &rest);

            if (!cases[i].data) {
                CHECK(result == FA_CHUNKED_BAD, "%s by %zu: %d", cases[i].text, piece, result);
                continue;
            }
            CHECK(result == FA_CHUNKED_END, "%s by %zu: %d", cases[i].text, piece, result);
            CHECK_STR(data, cases[i].data);
            CHECK_INT(rest, cases[i].rest);
        }
    }
}

static void test_chunked__limits(void **state)
{
    static char text[2 * FA_CHUNKED_TRAILERS_MAX + 64];
    char data[64];
    size_t rest, len;

    memset(text, 'a', sizeof(text));
    memcpy(text, "1;", 2);
    CHECK_INT(decode(text, FA_CHUNKED_LINE_MAX, 100, data, &rest), FA_CHUNKED_MORE);
    CHECK_INT(decode(text, FA_CHUNKED_LINE_MAX + 2, 100, data, &rest), FA_CHUNKED_BAD);
    len = (size_t)snprintf(text, sizeof(text), "0\r\n");
    while (len + 10 < sizeof(text))
        len += (size_t)snprintf(text + len, sizeof(text) - len, "AAAA: b\r\n");
    CHECK_INT(decode(text, len, 1000, data, &rest), FA_CHUNKED_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunked__cases),
        cmocka_unit_test(test_chunked__limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
