/*
 * head.c - see head.h.
 */
#include "server/http/head.h"

#include <string.h>
#include <strings.h>

#define LINE_END "\r\n"

/* ------------------------------------------------------------------------------------------
 * Characters
 */

/* Those of a token: names of methods and fields. */
static bool is_token_char(unsigned char c)
{
    static const char others[] = "!#$%&'*+-.^_`|~";

    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c != '\0' && strchr(others, c));
}

static bool is_token(const char *text)
{
    size_t len = 0;

    while (is_token_char((unsigned char)text[len]))
        len++;
    return len > 0 && text[len] == '\0';
}

static bool is_control(unsigned char c)
{
    return (c < 0x20 && c != '\t') || c == 0x7f;
}

/* ------------------------------------------------------------------------------------------
 * The end of the head
 */

static size_t refuse_scan(struct fa_head_refusal *out, int status, const char *message)
{
    *out = (struct fa_head_refusal){status, message};
    return 0;
}

/* Each LF is checked together with the CR before it, so a CR needs to be checked only when the
 * character after it has been received. */
size_t fa_head_find_end(const char *data, size_t len, size_t *scanned, struct fa_head_refusal *out)
{
    *out = (struct fa_head_refusal){0};
    for (size_t i = *scanned; i < len; i++) {
        unsigned char c = (unsigned char)data[i];

        *scanned = i;
        if (!is_control(c))
            continue;
        if (c == '\r') {
            if (i + 1 < len && data[i + 1] != '\n')
                return refuse_scan(out, 400, "the head of the request has a CR without an LF");
            if (i + 1 == len)
                return i < FA_HEAD_SIZE_MAX ? 0 : refuse_scan(out, 431, "the head is too long");
            continue;
        }
        if (c != '\n')
            return refuse_scan(out, 400, "the head of the request has a control character");
        if (i == 0 || data[i - 1] != '\r')
            return refuse_scan(out, 400, "a line of the request does not end with CRLF");
        if (i + 1 > FA_HEAD_SIZE_MAX)
            break;
        if (i >= 3 && data[i - 2] == '\n')
            return i + 1;
    }
    *scanned = len;
    if (len <= FA_HEAD_SIZE_MAX)
        return 0;
    if (!memchr(data, '\n', FA_HEAD_SIZE_MAX))
        return refuse_scan(out, 414, "the first line of the request is too long");
    return refuse_scan(out, 431, "the head of the request is too long");
}

/* ------------------------------------------------------------------------------------------
 * Lines
 */

static bool refuse(struct fa_head_refusal *out, int status, const char *message)
{
    *out = (struct fa_head_refusal){status, message};
    return false;
}

/* Ends the line at *at with a NUL, and returns it; *at is the next one. There is a CR: the head
 * ends with CRLF. */
static char *next_line(char **at, const char *head_end)
{
    char *line = *at, *end = memchr(line, '\r', (size_t)(head_end - line));

    *end = '\0';
    *at = end + strlen(LINE_END);
    return line;
}

/* "GET /path HTTP/1.1" */
static bool read_request_line(char *line, struct fa_head *head, struct fa_head_refusal *refusal)
{
    char *target = strchr(line, ' '), *version = target ? strchr(target + 1, ' ') : NULL;

    if (!version || strchr(version + 1, ' ') || strchr(line, '\t'))
        return refuse(refusal, 400, "the first line of the request is malformed");
    *target++ = '\0';
    *version++ = '\0';
    if (!is_token(line) || target[0] == '\0')
        return refuse(refusal, 400, "the first line of the request is malformed");
    if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0)
        return strncmp(version, "HTTP/", 5) == 0
                   ? refuse(refusal, 505, "this is another version of HTTP; use HTTP/1.1")
                   : refuse(refusal, 400, "the first line of the request is malformed");
    head->method = line;
    head->target = target;
    head->is_1_0 = version[strlen(version) - 1] == '0';
    return true;
}

static bool read_field(char *line, struct fa_head *head, struct fa_head_refusal *refusal)
{
    char *colon = strchr(line, ':'), *value, *end;

    if (!colon)
        return refuse(refusal, 400, "a field of the request's head has no colon");
    *colon = '\0';
    if (!is_token(line))
        return refuse(refusal, 400, "a field of the request's head has a malformed name");
    if (head->field_count == FA_HEAD_FIELDS_MAX)
        return refuse(refusal, 431, "the head of the request has too many fields");
    value = colon + 1 + strspn(colon + 1, " \t");
    end = value + strlen(value);
    while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
        *--end = '\0';
    head->fields[head->field_count++] = (struct fa_head_field){line, value};
    return true;
}

/* ------------------------------------------------------------------------------------------
 * Fields that the server itself needs
 */

/* A number that doesn't fit is the largest: such a body is too large in any case. */
static bool read_length(const char *value, uint64_t *out)
{
    uint64_t length = 0;

    for (const char *c = value; *c; c++) {
        if (*c < '0' || *c > '9')
            return false;
        length = length > (UINT64_MAX - 9) / 10 ? UINT64_MAX : length * 10 + (uint64_t)(*c - '0');
    }
    *out = length;
    return value[0] != '\0';
}

/* Whether a list such as "keep-alive, close" has the word. */
static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);

    while (*list) {
        size_t size;

        list += strspn(list, " \t,");
        size = strcspn(list, " \t,");
        if (size == len && strncasecmp(list, word, len) == 0)
            return true;
        list += size;
    }
    return false;
}

/* What is counted of fields that may be there once. */
struct counts {
    size_t lengths, encodings, hosts, expectations;
};

/* H2, H3. */
static bool check_counts(const struct fa_head *head, const struct counts *counts,
                         struct fa_head_refusal *refusal)
{
    if (counts->lengths + counts->encodings > 1 || (head->is_1_0 && counts->encodings > 0))
        return refuse(refusal, 400, "the length of the request's body is ambiguous");
    if (counts->hosts > 1 || (counts->hosts == 0 && !head->is_1_0))
        return refuse(refusal, 400, "a request has exactly one Host");
    return true;
}

static bool read_known_fields(struct fa_head *head, struct fa_head_refusal *refusal)
{
    struct counts counts = {0};

    head->keeps_alive = !head->is_1_0;
    for (size_t i = 0; i < head->field_count; i++) {
        const char *name = head->fields[i].name, *value = head->fields[i].value;

        if (strcasecmp(name, "Content-Length") == 0) {
            counts.lengths++;
            head->has_length = true;
            if (!read_length(value, &head->length))
                return refuse(refusal, 400, "Content-Length is not a number");
        } else if (strcasecmp(name, "Transfer-Encoding") == 0) {
            counts.encodings++;
            head->is_chunked = true;
            if (strcasecmp(value, "chunked") != 0)
                return refuse(refusal, 400, "the only Transfer-Encoding is chunked");
        } else if (strcasecmp(name, "Host") == 0) {
            counts.hosts++;
        } else if (strcasecmp(name, "Connection") == 0) {
            if (has_word(value, "close"))
                head->keeps_alive = false;
            else if (head->is_1_0 && has_word(value, "keep-alive"))
                head->keeps_alive = true;
        } else if (strcasecmp(name, "Expect") == 0) {
            if (strcasecmp(value, "100-continue") != 0)
                return refuse(refusal, 417, "the only expectation is 100-continue");
            head->expects_continue = !head->is_1_0;
        }
    }
    return check_counts(head, &counts, refusal);
}

/* ------------------------------------------------------------------------------------------
 * The whole
 */

bool fa_head_read(char *text, size_t size, struct fa_head *out, struct fa_head_refusal *refusal)
{
    char *at = text, *end = text + size - strlen(LINE_END); /* the empty line */

    out->field_count = 0;
    out->is_chunked = out->has_length = out->expects_continue = false;
    out->length = 0;
    if (!read_request_line(next_line(&at, text + size), out, refusal))
        return false;
    while (at < end)
        if (!read_field(next_line(&at, text + size), out, refusal))
            return false;
    return read_known_fields(out, refusal);
}

const char *fa_head_field(const struct fa_head *head, const char *name)
{
    for (size_t i = 0; i < head->field_count; i++)
        if (strcasecmp(head->fields[i].name, name) == 0)
            return head->fields[i].value;
    return NULL;
}
