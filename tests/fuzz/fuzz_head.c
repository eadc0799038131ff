/*
 * fuzz_head.c - a connection's bytes: heads of requests and their bodies, in pieces of any size.
 *
 * The first byte is the size of the pieces. What is found must not depend on it.
 */
#include "server/http/chunked.h"
#include "server/http/head.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where the head ends, or minus the status of its refusal. */
static long find_end(const char *text, size_t len, size_t piece)
{
    struct fa_head_refusal refusal;
    size_t scanned = 0, end = 0;

    for (size_t got = 0; end == 0 && got < len;) {
        got = len - got < piece ? len : got + piece;
        end = fa_head_find_end(text, got, &scanned, &refusal);
        if (refusal.status != 0)
            return -refusal.status;
    }
    return (long)end;
}

/* How many bytes of data there are; -1: malformed. */
static long decode(const char *text, size_t len, size_t piece)
{
    struct fa_chunked chunked = {0};
    long sum = 0;

    for (size_t at = 0; at < len;) {
        size_t step = len - at < piece ? len - at : piece, used;
        struct fa_bytes found;

        switch (fa_chunked_read(&chunked, text + at, step, &used, &found)) {
        case FA_CHUNKED_MORE:
            break;
        case FA_CHUNKED_FOUND:
            assert(found.ptr + found.len <= text + len);
            sum += (long)found.len;
            break;
        case FA_CHUNKED_END:
            return sum;
        case FA_CHUNKED_BAD:
            return -1;
        }
        assert(used > 0 && used <= step);
        at += used;
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t piece = size > 0 && data[0] > 0 ? data[0] : 1, len = size > 0 ? size - 1 : 0;
    char *text = malloc(len + 1);
    struct fa_head_refusal refusal;
    struct fa_head head;
    long end;

    memcpy(text, data + (size > 0), len);
    end = find_end(text, len, piece);
    assert(end < 0 || end == find_end(text, len, len + 1));
    assert(decode(text, len, piece) == decode(text, len, len + 1));
    if (end > 0 && fa_head_read(text, (size_t)end, &head, &refusal)) {
        assert(strlen(head.method) + strlen(head.target) < (size_t)end);
        assert(!(head.is_chunked && head.has_length));
        for (size_t i = 0; i < head.field_count; i++)
            assert(fa_head_field(&head, head.fields[i].name));
    }
    free(text);
    return 0;
}
