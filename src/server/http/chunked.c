/*
 * chunked.c - see chunked.h.
 */
#include "server/http/chunked.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* A character of the line with a chunk's size. False: it is malformed. */
static bool read_size(struct fa_chunked *chunked, char c)
{
    int digit = hex_digit(c);

    if (digit >= 0) {
        if (chunked->left >> 60 != 0)
            return false;
        chunked->left = chunked->left * 16 + (uint64_t)digit;
        chunked->line_len++;
        return chunked->line_len <= FA_CHUNKED_LINE_MAX;
    }
    chunked->state = c == '\r' ? FA_CHUNKED_SIZE_LF : FA_CHUNKED_EXTENSION;
    return chunked->line_len > 0 && (c == '\r' || c == ';');
}

/* A character of an extension or a trailer, up to its CR. */
static bool skip(struct fa_chunked *chunked, char c)
{
    if (c == '\r') {
        chunked->state =
            chunked->state == FA_CHUNKED_EXTENSION ? FA_CHUNKED_SIZE_LF : FA_CHUNKED_TRAILER_LF;
        return true;
    }
    chunked->line_len++;
    chunked->trailers_len += chunked->state == FA_CHUNKED_TRAILER;
    return ((unsigned char)c >= 0x20 || c == '\t') && c != 0x7f &&
           chunked->line_len <= FA_CHUNKED_LINE_MAX &&
           chunked->trailers_len <= FA_CHUNKED_TRAILERS_MAX;
}

static void end_size(struct fa_chunked *chunked)
{
    chunked->state = chunked->left > 0 ? FA_CHUNKED_DATA : FA_CHUNKED_TRAILER;
    chunked->line_len = 0;
}

static void end_trailer(struct fa_chunked *chunked)
{
    chunked->state = chunked->line_len == 0 ? FA_CHUNKED_OVER : FA_CHUNKED_TRAILER;
    chunked->line_len = 0;
}

/* One character that is no data. False: it is malformed. */
static bool step(struct fa_chunked *chunked, char c)
{
    switch (chunked->state) {
    case FA_CHUNKED_SIZE:
        return read_size(chunked, c);
    case FA_CHUNKED_EXTENSION:
    case FA_CHUNKED_TRAILER:
        return skip(chunked, c);
    case FA_CHUNKED_SIZE_LF:
        end_size(chunked);
        return c == '\n';
    case FA_CHUNKED_DATA_CR:
        chunked->state = FA_CHUNKED_DATA_LF;
        return c == '\r';
    case FA_CHUNKED_DATA_LF:
        chunked->state = FA_CHUNKED_SIZE;
        chunked->line_len = 0;
        return c == '\n';
    case FA_CHUNKED_TRAILER_LF:
        end_trailer(chunked);
        return c == '\n';
    case FA_CHUNKED_DATA:
    case FA_CHUNKED_OVER:
        break;
    }
    return false;
}

enum fa_chunked_result fa_chunked_read(struct fa_chunked *chunked, const char *in, size_t len,
                                       size_t *used, struct fa_bytes *data)
{
    size_t i = 0;

    while (chunked->state != FA_CHUNKED_OVER && i < len) {
        if (chunked->state == FA_CHUNKED_DATA) {
            size_t size = chunked->left < len - i ? (size_t)chunked->left : len - i;

            chunked->left -= size;
            if (chunked->left == 0)
                chunked->state = FA_CHUNKED_DATA_CR;
            *data = (struct fa_bytes){in + i, size};
            *used = i + size;
            return FA_CHUNKED_FOUND;
        }
        if (!step(chunked, in[i++]))
            return FA_CHUNKED_BAD;
    }
    *used = i;
    return chunked->state == FA_CHUNKED_OVER ? FA_CHUNKED_END : FA_CHUNKED_MORE;
}
