/*
 * framing.c - see framing.h.
 */
#include "server/framing.h"

#include <strings.h>

/* F3. Data of a request that is refused needn't be followed. */
static void refuse(struct fa_framing *framing)
{
    if (framing->bad == 0)
        framing->bad = framing->request + 1;
    framing->state = FA_FRAMING_OFF;
}

static void begin_line(struct fa_framing *framing)
{
    framing->line_len = 0;
    framing->ends_in_cr = false;
}

static void begin_request(struct fa_framing *framing)
{
    framing->request++;
    framing->chunked <<= 1;
    framing->state = FA_FRAMING_HEAD;
    framing->has_lines = framing->is_chunked = framing->has_length = false;
    framing->left = 0;
    begin_line(framing);
}

/* ------------------------------------------------------------------------------------------
 * Lines
 */

/* The value of a field, if that is what the line has. NULL: it is another one. */
static const char *value_of(const struct fa_framing *framing, const char *name)
{
    size_t len = strlen(name);

    if ((framing->line[0] | 0x20) != (name[0] | 0x20) || framing->line_len <= len ||
        strncasecmp(framing->line, name, len) != 0 || framing->line[len] != ':')
        return NULL;
    return framing->line + len + 1;
}

/* Digits with blanks around them. False: it is something else, or too long to know. */
static bool read_length(const struct fa_framing *framing, const char *value,
                        unsigned long long *out)
{
    const char *end = framing->line + framing->line_len;
    unsigned long long length = 0;
    int digits = 0;

    if (framing->line_len >= FA_FRAMING_LINE_MAX)
        return false;
    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    for (; value < end && *value >= '0' && *value <= '9' && digits < 18; value++, digits++)
        length = length * 10 + (unsigned)(*value - '0');
    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    *out = length;
    return digits > 0 && value == end;
}

/* The head is whole. What says its length twice is refused by http.c, and closed. */
static void end_head(struct fa_framing *framing)
{
    if (framing->is_chunked && framing->has_length) {
        framing->state = FA_FRAMING_OFF;
    } else if (framing->is_chunked) {
        framing->state = FA_FRAMING_SIZE;
        framing->chunked |= 1;
    } else if (framing->left > 0) {
        framing->state = FA_FRAMING_BODY;
    } else {
        begin_request(framing);
    }
}

static void end_head_line(struct fa_framing *framing)
{
    const char *length = value_of(framing, "Content-Length");
    bool is_coding = value_of(framing, "Transfer-Encoding") != NULL;

    if (framing->line_len == 0 && framing->has_lines) {
        end_head(framing);
        return;
    }
    if (framing->line_len == 0) /* empty lines before a request mean nothing */
        return;
    if ((length && (framing->has_length || !read_length(framing, length, &framing->left))) ||
        (is_coding && framing->is_chunked)) {
        framing->state = FA_FRAMING_OFF;
        return;
    }
    framing->has_lines = true;
    framing->has_length |= length != NULL;
    framing->is_chunked |= is_coding;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void end_size_line(struct fa_framing *framing)
{
    size_t n = 0,
           most = framing->line_len < FA_FRAMING_LINE_MAX ? framing->line_len : FA_FRAMING_LINE_MAX;

    framing->left = 0;
    for (; n < most && hex_digit(framing->line[n]) >= 0; n++)
        framing->left = framing->left << 4 | (unsigned)hex_digit(framing->line[n]);
    /* The library refuses these by itself. */
    if (n == 0 || n > 15 || (n < framing->line_len && (n == most || framing->line[n] != ';')))
        framing->state = FA_FRAMING_OFF;
    else
        framing->state = framing->left > 0 ? FA_FRAMING_CHUNK : FA_FRAMING_TRAILER;
}

/* The line has ended; with `is_bare`, by an LF alone. */
static void end_line(struct fa_framing *framing, bool is_bare)
{
    if (framing->state == FA_FRAMING_HEAD)
        end_head_line(framing);
    else if (is_bare) /* F2 */
        refuse(framing);
    else if (framing->state == FA_FRAMING_SIZE)
        end_size_line(framing);
    else if (framing->state == FA_FRAMING_AFTER)
        framing->state = framing->line_len == 0 ? FA_FRAMING_SIZE : FA_FRAMING_OFF;
    else if (framing->line_len == 0)
        begin_request(framing); /* the trailer has ended */
    begin_line(framing);
}

/* Takes a piece of a line, and its end if it is there; returns how much that was. */
static size_t take_line(struct fa_framing *framing, const char *data, size_t len)
{
    const char *end = memchr(data, '\n', len);
    size_t size = end ? (size_t)(end - data) : len, kept;
    bool ends_in_cr = size > 0 ? data[size - 1] == '\r' : framing->ends_in_cr;
    const char *cr = memchr(data, '\r', size);

    /* F1, F2: a CR is the last byte before the LF. */
    if ((framing->ends_in_cr && size > 0) || (cr && cr != data + size - 1)) {
        refuse(framing);
        return len;
    }
    kept = size - (size > 0 && ends_in_cr);
    if (framing->line_len < FA_FRAMING_LINE_MAX) {
        size_t room = FA_FRAMING_LINE_MAX - framing->line_len;

        memcpy(framing->line + framing->line_len, data, kept < room ? kept : room);
    }
    framing->line_len += kept;
    framing->ends_in_cr = ends_in_cr;
    if (end)
        end_line(framing, !ends_in_cr);
    return end ? size + 1 : len;
}

/* ------------------------------------------------------------------------------------------
 * Bytes
 */

/* Data of a body or a chunk. */
static size_t take_data(struct fa_framing *framing, size_t len)
{
    size_t size = framing->left < len ? (size_t)framing->left : len;

    framing->left -= size;
    if (framing->left > 0)
        return size;
    if (framing->state == FA_FRAMING_BODY) {
        begin_request(framing);
    } else {
        framing->state = FA_FRAMING_AFTER;
        begin_line(framing);
    }
    return size;
}

bool fa_framing_is_chunked(const struct fa_framing *framing, unsigned long long number)
{
    unsigned long long age = framing->request + 1 - number;

    return number <= framing->request + 1 && age < 64 && (framing->chunked >> age & 1);
}

void fa_framing_feed(struct fa_framing *framing, const char *data, size_t len)
{
    while (len > 0 && framing->state != FA_FRAMING_OFF) {
        bool is_data = framing->state == FA_FRAMING_BODY || framing->state == FA_FRAMING_CHUNK;
        size_t size = is_data ? take_data(framing, len) : take_line(framing, data, len);

        data += size;
        len -= size;
    }
}
