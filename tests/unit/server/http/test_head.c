/*
 * test_head.c - heads of requests: what is read, and what is refused, however the bytes arrive.
 */
#include "support/support.h"
#include "unit/base/unit.h"

#include "server/http/head.h"

#include <stdlib.h>

#define HOST "Host: a\r\n"
#define GET "GET / HTTP/1.1\r\n" HOST
#define POST "POST / HTTP/1.1\r\n" HOST

static const struct {
    const char *text;
    int status; /* 0: it is read */
} cases[] = {
    {GET "\r\n", 0},
    {"GET / HTTP/1.0\r\n\r\n", 0},
    {"DELETE /a?b=%20 HTTP/1.1\r\nhost:a\r\n\r\n", 0},
    {GET "A:  b \t\r\nB:\r\n\r\n", 0},
    {GET "A: \xc3\xa4\r\n\r\n", 0},
    {POST "Content-Length: 5\r\n\r\n", 0},
    {POST "content-length:5\r\n\r\n", 0},
    {POST "Content-Length: 99999999999999999999999\r\n\r\n", 0}, /* it is too large, later */
    {POST "Transfer-Encoding: chunked\r\n\r\n", 0},
    {POST "Transfer-Encoding: Chunked\r\n\r\n", 0},
    {POST "Expect: 100-continue\r\n\r\n", 0},
    /* Line ends and control characters. */
    {"GET / HTTP/1.1\nHost: a\n\n", 400},
    {"GET / HTTP/1.1\r\nHost: a\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", 400},
    {"GET /\r HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {GET "A: \x01\r\n\r\n", 400},
    {GET "A: \x7f\r\n\r\n", 400},
    /* The first line. */
    {"\r\n\r\n", 400},
    {"GET\r\n" HOST "\r\n", 400},
    {"GET /\r\n" HOST "\r\n", 400},
    {"GET  / HTTP/1.1\r\n" HOST "\r\n", 400},
    {"GET / HTTP/1.1 \r\n" HOST "\r\n", 400},
    {"GET\t/ HTTP/1.1\r\n" HOST "\r\n", 400},
    {" GET / HTTP/1.1\r\n" HOST "\r\n", 400},
    {"G(T / HTTP/1.1\r\n" HOST "\r\n", 400},
    {"GET / HTTQ/1.1\r\n" HOST "\r\n", 400},
    {"GET / HTTP/9.9\r\n" HOST "\r\n", 505},
    {"GET / HTTP/2.0\r\n" HOST "\r\n", 505},
    {"GET / HTTP/1.10\r\n" HOST "\r\n", 505},
    /* Fields. */
    {"GET / HTTP/1.1\r\n\r\n", 400},
    {GET HOST "\r\n", 400},
    {GET "no colon\r\n\r\n", 400},
    {GET ": empty\r\n\r\n", 400},
    {GET "A : b\r\n\r\n", 400},
    {GET " A: b\r\n\r\n", 400},
    {GET "A: b\r\n c\r\n\r\n", 400},
    /* The length of the body. */
    {POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 400},
    {POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    {POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    {POST "Transfer-Encoding: chunked, identity\r\n\r\n", 400},
    {POST "Transfer-Encoding: xchunked\r\n\r\n", 400},
    {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    {POST "Content-Length: \r\n\r\n", 400},
    {POST "Content-Length: -1\r\n\r\n", 400},
    {POST "Content-Length: +5\r\n\r\n", 400},
    {POST "Content-Length: 5, 5\r\n\r\n", 400},
    {POST "Content-Length: 0x5\r\n\r\n", 400},
    {POST "Expect: a miracle\r\n\r\n", 417},
};

/* Reads the text as it arrives in pieces. The status of the refusal, 0, or -1: incomplete. */
static int read_pieces(const char *text, size_t len, size_t piece, struct fa_head *head, char *copy)
{
    struct fa_head_refusal refusal = {0};
    size_t scanned = 0, size = 0;

    for (size_t got = 0; size == 0 && got < len;) {
        got = got + piece < len ? got + piece : len;
        size = fa_head_find_end(text, got, &scanned, &refusal);
        if (refusal.status != 0)
            return refusal.status;
    }
    if (size == 0)
        return -1;
    memcpy(copy, text, size);
    return fa_head_read(copy, size, head, &refusal) ? 0 : refusal.status;
}

static void test_head__cases(void **state)
{
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        size_t len = strlen(cases[i].text);
        char *copy = malloc(len);

        for (size_t piece = 1; piece <= len; piece++) {
            struct fa_head head;
            int got = read_pieces(cases[i].text, len, piece, &head, copy);

            CHECK(got == cases[i].status, "%s by %zu: got %d, expected %d", cases[i].text, piece,
                  got, cases[i].status);
        }
        free(copy);
    }
}

static void test_head__nul_is_refused(void **state)
{
    static const char text[] = "GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n";
    char copy[sizeof(text)];
    struct fa_head head;

    CHECK_INT(read_pieces(text, sizeof(text) - 1, sizeof(text), &head, copy), 400);
}

static void test_head__is_read(void **state)
{
    static const char text[] =
        "POST /a/b?c HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n"
        "X-Empty:\r\nx-spaces: \t a b\t \r\nExpect: 100-continue\r\n\r\nrest";
    char copy[sizeof(text)];
    struct fa_head head;

    CHECK_INT(read_pieces(text, sizeof(text) - 1, 7, &head, copy), 0);
    CHECK_STR(head.method, "POST");
    CHECK_STR(head.target, "/a/b?c");
    CHECK_INT(head.field_count, 5);
    CHECK_STR(fa_head_field(&head, "host"), "localhost");
    CHECK_STR(fa_head_field(&head, "X-EMPTY"), "");
    CHECK_STR(fa_head_field(&head, "X-Spaces"), "a b");
    CHECK(!fa_head_field(&head, "Nothing"), "a field that is not there");
    CHECK(head.has_length && !head.is_chunked && head.keeps_alive && head.expects_continue,
          "what the server itself needs");
    CHECK_INT(head.length, 12);
}

static void test_head__connections(void **state)
{
    static const struct {
        const char *text;
        bool keeps_alive;
    } heads[] = {
        {GET "\r\n", true},
        {GET "Connection: close\r\n\r\n", false},
        {GET "Connection: keep-alive, Close\r\n\r\n", false},
        {GET "Connection: closed\r\n\r\n", true},
        {"GET / HTTP/1.0\r\n\r\n", false},
        {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true},
    };

    for (size_t i = 0; i < FA_COUNT(heads); i++) {
        char copy[128];
        struct fa_head head;

        CHECK_INT(read_pieces(heads[i].text, strlen(heads[i].text), 99, &head, copy), 0);
        CHECK(head.keeps_alive == heads[i].keeps_alive, "%s", heads[i].text);
    }
}

/* A head with a field of `size` bytes in all; the result of reading it. */
static int read_sized(const char *begin, size_t size)
{
    char *text = malloc(size), *copy = malloc(size);
    struct fa_head *head = malloc(sizeof(*head));
    int got;

    memset(text, 'x', size);
    memcpy(text, begin, strlen(begin));
    memcpy(text + size - 4, "\r\n\r\n", 4);
    got = read_pieces(text, size, 1000, head, copy);
    free(text);
    free(copy);
    free(head);
    return got;
}

static void test_head__limits(void **state)
{
    char text[64 + (FA_HEAD_FIELDS_MAX + 1) * 6] = GET, copy[sizeof(text)];
    struct fa_head head;

    CHECK_INT(read_sized(GET "A: ", FA_HEAD_SIZE_MAX), 0);
    CHECK_INT(read_sized(GET "A: ", FA_HEAD_SIZE_MAX + 1), 431);
    CHECK_INT(read_sized(GET "A: ", 3 * FA_HEAD_SIZE_MAX), 431);
    CHECK_INT(read_sized("GET /", FA_HEAD_SIZE_MAX + 100), 414);
    for (int i = 1; i < FA_HEAD_FIELDS_MAX; i++) /* beside Host */
        memcpy(text + strlen(text), "A: b\r\n", 7);
    memcpy(text + strlen(text), "\r\n", 3);
    CHECK_INT(read_pieces(text, strlen(text), 99, &head, copy), 0);
    text[strlen(text) - 2] = '\0';
    memcpy(text + strlen(text), "A: b\r\n\r\n", 9);
    CHECK_INT(read_pieces(text, strlen(text), 99, &head, copy), 431);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_head__cases),   cmocka_unit_test(test_head__nul_is_refused),
        cmocka_unit_test(test_head__is_read), cmocka_unit_test(test_head__connections),
        cmocka_unit_test(test_head__limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
