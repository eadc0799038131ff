/* failure_group.c - see failure_group.h. */
#include "model/failure_group.h"

#include "base/hash.h"
#include "base/utf8.h"
#include "json/json.h"

#include <stdio.h>

#define QUOTED_SIZE_MAX                                                                            \
    1000                  /* a quote without an end within this size is a character like others */
#define HEX_ID_SIZE_MIN 8 /* hexadecimal digits, some of them decimal, this long are an id */
#define MIXED_ID_SIZE_MIN 16 /* letters and digits this long are an id */
#define READ_SIZE_MAX 4096   /* of a message */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_hex(char c)
{
    return fa_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_space(char c)
{
    return (unsigned char)c <= ' ' || c == 127;
}

static bool is_word(char c)
{
    return is_letter(c) || fa_is_digit(c) || c == '_' || c == '-';
}

/* The length of the word at the beginning: letters, digits, and `_` and `-` between them. */
static size_t word_length(struct fa_bytes text)
{
    size_t len = 0;

    if (text.ptr[0] == '-' || text.ptr[0] == '_')
        return 0;
    while (len < text.len && is_word(text.ptr[len]))
        len++;
    while (len > 0 && (text.ptr[len - 1] == '-' || text.ptr[len - 1] == '_'))
        len--;
    return len;
}

/* Whether the word is an id as a whole: a UUID, a hash, a long token. */
static bool is_id(struct fa_bytes word)
{
    size_t digits = 0, hex = 0, dashes = 0;

    if (word.len > 2 && word.ptr[0] == '0' && (word.ptr[1] == 'x' || word.ptr[1] == 'X'))
        return true;
    for (size_t i = 0; i < word.len; i++) {
        digits += fa_is_digit(word.ptr[i]);
        hex += is_hex(word.ptr[i]);
        dashes += word.ptr[i] == '-';
    }
    if (digits == 0)
        return false;
    return (word.len >= HEX_ID_SIZE_MIN && hex + dashes == word.len) ||
           (word.len >= MIXED_ID_SIZE_MIN && digits >= 4);
}

static void put_char(struct fa_buf *out, char c)
{
    fa_buf_add_char(out, c);
}

/* A number stands for the whole of "1.5", "12:30:05" and "1,000". */
static size_t number_length(struct fa_bytes text)
{
    size_t len = 0;

    while (len < text.len && (fa_is_digit(text.ptr[len]) ||
                              (strchr(".,:", text.ptr[len]) != NULL && text.ptr[len] != '\0' &&
                               len > 0 && fa_is_digit(text.ptr[len - 1]) && len + 1 < text.len &&
                               fa_is_digit(text.ptr[len + 1]))))
        len++;
    return len;
}

/* Copies a word, with its digits replaced. Returns how much of the text was used: a number may go
 * on behind the word. */
static size_t put_word(struct fa_bytes text, size_t len, struct fa_buf *out)
{
    size_t at = 0;

    if (is_id((struct fa_bytes){text.ptr, len})) {
        put_char(out, '#');
        return len;
    }
    while (at < len) {
        if (!fa_is_digit(text.ptr[at])) {
            put_char(out, text.ptr[at++]);
            continue;
        }
        put_char(out, '#');
        at += number_length((struct fa_bytes){text.ptr + at, text.len - at});
    }
    return at;
}

/* The length of the quoted text at the beginning, with its quotes; 0: there is none. */
static size_t quoted_length(struct fa_bytes text, char before)
{
    char quote = text.ptr[0];

    if ((quote != '"' && quote != '\'' && quote != '`') || is_letter(before) || fa_is_digit(before))
        return 0;
    for (size_t i = 1; i < text.len && i < QUOTED_SIZE_MAX; i++) {
        bool is_inside = quote == '\'' && i + 1 < text.len && is_letter(text.ptr[i + 1]);

        if (text.ptr[i] == quote && !is_inside) /* an apostrophe is no end: 'it's' */
            return i + 1;
    }
    return 0;
}

void fa_failure_normalize(struct fa_bytes message, struct fa_buf *out)
{
    struct fa_bytes text = {message.ptr, fa_utf8_clip(message, READ_SIZE_MAX)};
    size_t start = out->len, kept;
    char before = ' ';

    while (text.len > 0 && out->len - start <= FA_FAILURE_MESSAGE_SIZE_MAX) {
        size_t len = word_length(text);

        if (len > 0) {
            len = put_word(text, len, out);
        } else if ((len = quoted_length(text, before)) > 0) {
            put_char(out, text.ptr[0]);
            fa_buf_add_str(out, "…");
            put_char(out, text.ptr[0]);
        } else if (is_space(text.ptr[0])) {
            len = 1;
            if (!is_space(before) && out->len > start)
                put_char(out, ' ');
        } else {
            len = 1;
            put_char(out, text.ptr[0]);
        }
        before = text.ptr[len - 1];
        text.ptr += len;
        text.len -= len;
    }
    kept = fa_utf8_clip((struct fa_bytes){out->ptr + start, out->len - start},
                        FA_FAILURE_MESSAGE_SIZE_MAX);
    while (kept > 0 && out->ptr[start + kept - 1] == ' ')
        kept--;
    if (out->len > start) {
        out->len = start + kept;
        out->ptr[out->len] = '\0';
    }
}

static const char *normalize(const char *message, struct fa_arena *arena)
{
    struct fa_buf buf;
    const char *text;

    fa_buf_init(&buf, 4 * FA_FAILURE_MESSAGE_SIZE_MAX + READ_SIZE_MAX);
    fa_failure_normalize(fa_str(message), &buf);
    text = fa_arena_copy(arena, buf.ptr != NULL ? buf.ptr : "", buf.len);
    fa_buf_finish(&buf);
    return text;
}

struct fa_failure_key fa_failure_key_of(const char *ns, const char *type, const char *error,
                                        struct fa_arena *arena)
{
    struct fa_failure_key key = {"", "", 0};
    uint8_t digest[FA_SHA256_SIZE];
    const char *message = NULL;
    struct fa_bytes parts[4];

    if (error != NULL) {
        struct fa_json json = fa_json_value(fa_str(error));
        const char *kind = fa_json_member_text(json, "kind", arena);

        message = fa_json_member_text(json, "message", arena);
        key.kind = kind != NULL ? kind : "";
    }
    if (message != NULL)
        key.message = normalize(message, arena);
    parts[0] = fa_str(ns);
    parts[1] = fa_str(fa_name_fold(fa_arena_strdup(arena, type)));
    parts[2] = fa_str(key.kind);
    parts[3] = fa_str(key.message);
    fa_sha256_parts(parts, FA_COUNT(parts), digest);
    memcpy(&key.id, digest, sizeof(key.id));
    key.id &= INT64_MAX;
    return key;
}

void fa_failure_id_format(int64_t id, char out[FA_FAILURE_ID_SIZE])
{
    snprintf(out, FA_FAILURE_ID_SIZE, "%016llx", (unsigned long long)id);
}

bool fa_failure_id_parse(const char *text, int64_t *out)
{
    uint64_t id = 0;

    if (text == NULL || strlen(text) != FA_FAILURE_ID_SIZE - 1)
        return false;
    for (const char *at = text; *at != '\0'; at++) {
        if (!fa_is_digit(*at) && !(*at >= 'a' && *at <= 'f'))
            return false;
        id = id << 4 | (uint64_t)(fa_is_digit(*at) ? *at - '0' : *at - 'a' + 10);
    }
    *out = (int64_t)id;
    return *out >= 0;
}
