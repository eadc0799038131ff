/*
 * json.c - walking JSON that was checked, and reading its strings.
 *
 * The walk builds no tree: a value is a slice of the text, and the next one is found by skipping
 * its bytes. It relies on fa_json_check for the grammar only: in a text that was not checked it
 * gives some values, never reads past the end, and always ends.
 */
#include "json/json.h"

#include "json/json_inner.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && is_space(*at))
        at++;
    return at;
}

/* Which of eight bytes is the first that is a quote or a backslash; 8: none. */
static size_t find_end(const char *at)
{
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    uint64_t word, quote, slash, found;

    memcpy(&word, at, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    quote = word ^ ones * '"';
    slash = word ^ ones * '\\';
    found = (((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & tops;
    return found ? (size_t)__builtin_ctzll(found) / 8 : 8;
}

/* From an opening quote to behind the closing one. */
static const char *skip_string(const char *at, const char *end)
{
    at++;
    while (at < end) {
        if (end - at >= 8) {
            size_t plain = find_end(at);

            at += plain;
            if (plain == 8)
                continue;
        }
        if (*at == '"')
            return at + 1;
        at += *at == '\\' && end - at > 1 ? 2 : 1;
    }
    return end;
}

/* From an opening bracket to behind its closing one. Every payload passes here several times. */
static const char *skip_container(const char *at, const char *end)
{
    enum { OTHER, QUOTE, OPEN, CLOSE };
    static const unsigned char kinds[256] = {
        ['"'] = QUOTE, ['['] = OPEN, ['{'] = OPEN, [']'] = CLOSE, ['}'] = CLOSE};
    size_t depth = 0;

    while (at < end) {
        unsigned char kind = kinds[(unsigned char)*at];

        if (kind == QUOTE) {
            at = skip_string(at, end);
            continue;
        }
        at++;
        if (kind == OPEN)
            depth++;
        else if (kind == CLOSE && --depth == 0)
            return at;
    }
    return end;
}

/* A number or a word ends where something else begins. */
static const char *skip_plain(const char *at, const char *end)
{
    while (at < end && !is_space(*at) && *at != ',' && *at != ']' && *at != '}')
        at++;
    return at;
}

static const char *read_value(const char *at, const char *end, struct fa_json *out)
{
    const char *start = at;

    switch (*at) {
    case '{':
        out->type = FA_JSON_OBJECT;
        at = skip_container(at, end);
        break;
    case '[':
        out->type = FA_JSON_ARRAY;
        at = skip_container(at, end);
        break;
    case '"':
        out->type = FA_JSON_STRING;
        at = skip_string(at, end);
        break;
    case 't':
        out->type = FA_JSON_TRUE;
        at = skip_plain(at, end);
        break;
    case 'f':
        out->type = FA_JSON_FALSE;
        at = skip_plain(at, end);
        break;
    case 'n':
        out->type = FA_JSON_NULL;
        at = skip_plain(at, end);
        break;
    default:
        out->type = FA_JSON_NUMBER;
        at = skip_plain(at, end);
        break;
    }
    out->raw = (struct fa_bytes){start, (size_t)(at - start)};
    if (out->type == FA_JSON_STRING && (at - start < 2 || at[-1] != '"'))
        *out = (struct fa_json){FA_JSON_NULL, {start, 0}}; /* in a text that was not checked */
    return at;
}

/* A container ends where the text does, and need not be walked through. */
struct fa_json fa_json_value(struct fa_bytes text)
{
    const char *end = text.ptr + text.len, *at = skip_space(text.ptr, end);
    struct fa_json value;

    while (end > at && is_space(end[-1]))
        end--;
    if (at >= end)
        return (struct fa_json){FA_JSON_NULL, FA_LIT("")};
    if (end - at > 1 && ((*at == '{' && end[-1] == '}') || (*at == '[' && end[-1] == ']')))
        return (struct fa_json){*at == '{' ? FA_JSON_OBJECT : FA_JSON_ARRAY,
                                {at, (size_t)(end - at)}};
    read_value(at, end, &value);
    return value;
}

struct fa_json_iter fa_json_iter(struct fa_json container)
{
    struct fa_json_iter it = {0};

    if ((container.type != FA_JSON_ARRAY && container.type != FA_JSON_OBJECT) ||
        container.raw.len < 2)
        return it; /* no members or elements */
    it.at = container.raw.ptr + 1;
    it.end = container.raw.ptr + container.raw.len - 1; /* the closing bracket */
    it.is_object = container.type == FA_JSON_OBJECT;
    return it;
}

bool fa_json_next(struct fa_json_iter *it, struct fa_bytes *key, struct fa_json *value)
{
    const char *at = skip_space(it->at, it->end);

    if (at < it->end && *at == ',')
        at = skip_space(at + 1, it->end);
    if (at >= it->end) {
        it->at = it->end;
        return false;
    }
    if (it->is_object) {
        const char *key_end = skip_string(at, it->end), *colon = skip_space(key_end, it->end);

        if (key_end - at < 2 || it->end - colon < 2 || *colon != ':') {
            it->at = it->end;
            return false;
        }
        if (key)
            *key = (struct fa_bytes){at + 1, (size_t)(key_end - at) - 2};
        at = skip_space(colon + 1, it->end);
        if (at >= it->end) {
            it->at = it->end;
            return false;
        }
    } else if (key) {
        *key = FA_LIT("");
    }
    it->at = read_value(at, it->end, value);
    if (it->at == at) /* a closing bracket without an opening one */
        it->at = it->end;
    return it->at > at && value->raw.len > 0;
}

size_t fa_json_count(struct fa_json container)
{
    struct fa_json_iter it = fa_json_iter(container);
    struct fa_json item;
    size_t count = 0;

    while (fa_json_next(&it, NULL, &item))
        count++;
    return count;
}

bool fa_json_member(struct fa_json object, const char *name, struct fa_json *value)
{
    struct fa_json_iter it = fa_json_iter(object);
    struct fa_bytes wanted = fa_str(name), key;
    struct fa_json found;

    while (fa_json_next(&it, &key, &found)) {
        bool is_it = fa_bytes_equal(key, wanted);

        if (!is_it && fa_json_has_escapes(key)) {
            struct fa_arena scratch = {0};

            is_it = strcmp(fa_json_unescape(key, &scratch), name) == 0;
            fa_arena_finish(&scratch);
        }
        if (is_it) {
            *value = found;
            return true;
        }
    }
    return false;
}

static unsigned read_hex4(const char *at, const char *end)
{
    unsigned value = 0;

    for (int i = 0; i < 4 && at + i < end; i++) {
        unsigned c = (unsigned char)at[i];

        value = value << 4 | (c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return value;
}

static char *put_utf8(char *at, unsigned c)
{
    if (c < 0x80) {
        *at++ = (char)c;
    } else if (c < 0x800) {
        *at++ = (char)(0xc0 | c >> 6);
        *at++ = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *at++ = (char)(0xe0 | c >> 12);
        *at++ = (char)(0x80 | (c >> 6 & 63));
        *at++ = (char)(0x80 | (c & 63));
    } else {
        *at++ = (char)(0xf0 | c >> 18);
        *at++ = (char)(0x80 | (c >> 12 & 63));
        *at++ = (char)(0x80 | (c >> 6 & 63));
        *at++ = (char)(0x80 | (c & 63));
    }
    return at;
}

char *fa_json_put_escaped(char *to, const char **from, const char *end)
{
    const char *at = *from + 1;
    unsigned c;

    if (at >= end) {
        *from = end;
        return to;
    }
    *from = at + 1;
    switch (*at) {
    case 'b':
        *to++ = '\b';
        return to;
    case 'f':
        *to++ = '\f';
        return to;
    case 'n':
        *to++ = '\n';
        return to;
    case 'r':
        *to++ = '\r';
        return to;
    case 't':
        *to++ = '\t';
        return to;
    case 'u':
        break;
    default: /* a quote, a backslash, a slash */
        *to++ = *at;
        return to;
    }
    if (end - at < 5) {
        *from = end;
        return to;
    }
    c = read_hex4(at + 1, end);
    *from = at + 5;
    if (c >= 0xd800 && c < 0xdc00 && end - at >= 11) {
        c = 0x10000 + (((c - 0xd800) << 10 | (read_hex4(at + 7, end) & 0x3ff)) & 0xfffff);
        *from = at + 11;
    }
    return put_utf8(to, c & 0x1fffff);
}

char *fa_json_unescape(struct fa_bytes raw, struct fa_arena *arena)
{
    const char *at = raw.ptr, *end = raw.ptr + raw.len;
    char *text, *to;

    if (!fa_json_has_escapes(raw))
        return fa_arena_copy(arena, raw.ptr, raw.len);
    /* An escape is never shorter than its character. */
    text = to = fa_arena_take(arena, raw.len + 1);
    while (at < end) {
        const char *slash = memchr(at, '\\', (size_t)(end - at));
        size_t plain = (size_t)((slash ? slash : end) - at);

        memcpy(to, at, plain);
        to += plain;
        at += plain;
        if (slash)
            to = fa_json_put_escaped(to, &at, end);
    }
    *to = '\0';
    return text;
}

char *fa_json_text(struct fa_json string, struct fa_arena *arena)
{
    if (string.type != FA_JSON_STRING)
        return fa_arena_copy(arena, "", 0);
    return fa_json_unescape((struct fa_bytes){string.raw.ptr + 1, string.raw.len - 2}, arena);
}

bool fa_json_int(struct fa_json number, int64_t *out)
{
    return number.type == FA_JSON_NUMBER && fa_json_read_int64(number.raw, out);
}

bool fa_json_double(struct fa_json number, double *out)
{
    return number.type == FA_JSON_NUMBER && fa_json_read_double(number.raw, out);
}

bool fa_json_texts(struct fa_json value, struct fa_arena *arena, const char *const **out,
                   size_t *out_count)
{
    struct fa_json_iter it;
    struct fa_json item;
    const char **texts;
    size_t count = 0;

    if (value.type != FA_JSON_ARRAY)
        return false;
    for (it = fa_json_iter(value); fa_json_next(&it, NULL, &item); count++)
        if (item.type != FA_JSON_STRING)
            return false;
    texts = fa_arena_zero(arena, count + 1, sizeof(*texts));
    count = 0;
    for (it = fa_json_iter(value); fa_json_next(&it, NULL, &item);)
        texts[count++] = fa_json_text(item, arena);
    *out = texts;
    *out_count = count;
    return true;
}

static bool has_member(struct fa_json object, const char *name, struct fa_json *value)
{
    return object.type == FA_JSON_OBJECT && fa_json_member(object, name, value);
}

const char *fa_json_member_text(struct fa_json object, const char *name, struct fa_arena *arena)
{
    struct fa_json value;

    return has_member(object, name, &value) && value.type == FA_JSON_STRING
               ? fa_json_text(value, arena)
               : NULL;
}

const char *fa_json_member_raw(struct fa_json object, const char *name, struct fa_arena *arena)
{
    struct fa_json value;

    return has_member(object, name, &value) && value.type != FA_JSON_NULL
               ? fa_arena_copy(arena, value.raw.ptr, value.raw.len)
               : NULL;
}

int64_t fa_json_member_int(struct fa_json object, const char *name)
{
    struct fa_json value;
    int64_t number;

    return has_member(object, name, &value) && value.type == FA_JSON_NUMBER &&
                   fa_json_int(value, &number)
               ? number
               : 0;
}
