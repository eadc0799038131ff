/*
 * json_write.c - the writer: commas, quotes and, for people, lines.
 */
#include "json/json.h"

#include "json/json_inner.h"
#include "base/utf8.h"

#include <assert.h>
#include <math.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Whether a text needs no escapes, as nearly all texts. */
static bool is_plain(struct fa_bytes text)
{
    size_t at = 0;

    for (; text.len - at >= sizeof(uint64_t); at += sizeof(uint64_t))
        if (fa_json_plain_in(text.ptr + at) < 8)
            return false;
    for (; at < text.len; at++) {
        unsigned char c = (unsigned char)text.ptr[at];

        if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\')
            return false;
    }
    return true;
}

/* Adds well-formed UTF-8 without quotes. */
static void add_escaped(struct fa_buf *out, struct fa_bytes text)
{
    static const char short_escapes[0x20] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r',
    };
    size_t plain = 0; /* where the bytes start that were not added yet */

    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        fa_buf_add(out, text.ptr + plain, i - plain);
        plain = i + 1;
        if (c >= 0x20) {
            fa_buf_add_char(out, '\\');
            fa_buf_add_char(out, (char)c);
        } else if (short_escapes[c]) {
            fa_buf_add_char(out, '\\');
            fa_buf_add_char(out, short_escapes[c]);
        } else {
            fa_buf_printf(out, "\\u%04x", c);
        }
    }
    if (text.len > plain)
        fa_buf_add(out, text.ptr + plain, text.len - plain);
}

void fa_json_add_string(struct fa_buf *out, struct fa_bytes text)
{
    fa_buf_add_char(out, '"');
    add_escaped(out, text);
    fa_buf_add_char(out, '"');
}

void fa_json_writer_init(struct fa_json_writer *w, struct fa_buf *out, int indent)
{
    *w = (struct fa_json_writer){.out = out, .indent = indent};
}

static void add_line(struct fa_json_writer *w)
{
    if (w->indent <= 0)
        return;
    fa_buf_add_char(w->out, '\n');
    for (unsigned i = 0; i < w->depth * (unsigned)w->indent; i++)
        fa_buf_add_char(w->out, ' ');
}

/* What comes before a key or a value. */
static void begin_item(struct fa_json_writer *w)
{
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    if (w->needs_comma)
        fa_buf_add_char(w->out, ',');
    if (w->depth > 0)
        add_line(w);
}

static void begin_container(struct fa_json_writer *w, char bracket)
{
    begin_item(w);
    fa_buf_add_char(w->out, bracket);
    w->depth++;
    w->needs_comma = false;
}

static void end_container(struct fa_json_writer *w, char bracket)
{
    assert(w->depth > 0);
    assert(!w->after_key);
    w->depth--;
    if (w->needs_comma) /* not empty */
        add_line(w);
    fa_buf_add_char(w->out, bracket);
    w->needs_comma = true;
}

void fa_json_begin_object(struct fa_json_writer *w)
{
    begin_container(w, '{');
}

void fa_json_end_object(struct fa_json_writer *w)
{
    end_container(w, '}');
}

void fa_json_begin_array(struct fa_json_writer *w)
{
    begin_container(w, '[');
}

void fa_json_end_array(struct fa_json_writer *w)
{
    end_container(w, ']');
}

/* ,"text": in one go. */
static void add_plain_key(struct fa_json_writer *w, struct fa_bytes key)
{
    char *at = fa_buf_extend(w->out, key.len + 3 + w->needs_comma);

    if (!at)
        return;
    if (w->needs_comma)
        *at++ = ',';
    *at++ = '"';
    memcpy(at, key.ptr, key.len);
    memcpy(at + key.len, "\":", 2);
}

void fa_json_key(struct fa_json_writer *w, const char *key)
{
    assert(!w->after_key);
    assert(w->depth > 0);
    if (w->indent <= 0 && is_plain(fa_str(key))) {
        add_plain_key(w, fa_str(key));
        w->needs_comma = false;
        w->after_key = true;
        return;
    }
    fa_json_put_str(w, key);
    fa_buf_add_str(w->out, w->indent > 0 ? ": " : ":");
    w->needs_comma = false;
    w->after_key = true;
}

/* An error message may quote input that is not UTF-8. The output is valid nevertheless. */
static void add_repaired(struct fa_buf *out, struct fa_bytes text)
{
    while (text.len > 0) {
        size_t valid = fa_utf8_valid_length(text);

        add_escaped(out, (struct fa_bytes){text.ptr, valid});
        if (valid == text.len)
            break;
        fa_buf_add_str(out, REPLACEMENT);
        text = (struct fa_bytes){text.ptr + valid + 1, text.len - valid - 1};
    }
}

static void add_plain(struct fa_buf *out, struct fa_bytes text)
{
    char *at = fa_buf_extend(out, text.len + 2);

    if (!at)
        return;
    *at++ = '"';
    if (text.len)
        memcpy(at, text.ptr, text.len);
    at[text.len] = '"';
}

void fa_json_put_bytes(struct fa_json_writer *w, struct fa_bytes text)
{
    begin_item(w);
    w->needs_comma = true;
    if (is_plain(text)) {
        add_plain(w->out, text);
        return;
    }
    fa_buf_add_char(w->out, '"');
    add_repaired(w->out, text);
    fa_buf_add_char(w->out, '"');
}

void fa_json_put_str(struct fa_json_writer *w, const char *text)
{
    if (text)
        fa_json_put_bytes(w, fa_str(text));
    else
        fa_json_put_null(w);
}

static void put_plain(struct fa_json_writer *w, struct fa_bytes text)
{
    begin_item(w);
    fa_buf_add(w->out, text.ptr, text.len);
    w->needs_comma = true;
}

void fa_json_put_int(struct fa_json_writer *w, int64_t value)
{
    char text[FA_INT_LENGTH_MAX];

    put_plain(w, (struct fa_bytes){text, (size_t)(fa_put_int(text, value) - text)});
}

void fa_json_put_double(struct fa_json_writer *w, double value)
{
    if (!isfinite(value)) {
        fa_json_put_null(w); /* JSON has no such numbers */
        return;
    }
    begin_item(w);
    fa_json_add_double(w->out, value);
    w->needs_comma = true;
}

void fa_json_put_bool(struct fa_json_writer *w, bool value)
{
    put_plain(w, value ? FA_LIT("true") : FA_LIT("false"));
}

void fa_json_put_null(struct fa_json_writer *w)
{
    put_plain(w, FA_LIT("null"));
}

void fa_json_put_raw(struct fa_json_writer *w, const char *json)
{
    put_plain(w, json ? fa_str(json) : FA_LIT("null"));
}

void fa_json_put_strs(struct fa_json_writer *w, const char *const *texts, size_t count)
{
    fa_json_begin_array(w);
    for (size_t i = 0; i < count; i++)
        fa_json_put_str(w, texts[i]);
    fa_json_end_array(w);
}

void fa_json_set_str(struct fa_json_writer *w, const char *key, const char *text)
{
    fa_json_key(w, key);
    fa_json_put_str(w, text);
}

void fa_json_set_int(struct fa_json_writer *w, const char *key, int64_t value)
{
    fa_json_key(w, key);
    fa_json_put_int(w, value);
}

void fa_json_set_double(struct fa_json_writer *w, const char *key, double value)
{
    fa_json_key(w, key);
    fa_json_put_double(w, value);
}

void fa_json_set_bool(struct fa_json_writer *w, const char *key, bool value)
{
    fa_json_key(w, key);
    fa_json_put_bool(w, value);
}

void fa_json_set_raw(struct fa_json_writer *w, const char *key, const char *json)
{
    fa_json_key(w, key);
    fa_json_put_raw(w, json);
}

void fa_json_set_strs(struct fa_json_writer *w, const char *key, const char *const *texts,
                      size_t count)
{
    fa_json_key(w, key);
    fa_json_put_strs(w, texts, count);
}

void fa_json_opt_str(struct fa_json_writer *w, const char *key, const char *text)
{
    if (text != NULL)
        fa_json_set_str(w, key, text);
}

void fa_json_opt_raw(struct fa_json_writer *w, const char *key, const char *json)
{
    if (json != NULL)
        fa_json_set_raw(w, key, json);
}

void fa_json_opt_strs(struct fa_json_writer *w, const char *key, const char *const *texts,
                      size_t count)
{
    if (count > 0)
        fa_json_set_strs(w, key, texts, count);
}
