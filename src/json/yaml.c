/*
 * yaml.c - from the events of libyaml's parser to JSON.
 *
 * Events are written as JSON one by one, without a tree. Parts of YAML that JSON doesn't have are
 * refused at their event. Duplicate keys are found by checking the result, whose positions are
 * mapped to the source.
 */
#include "json/yaml.h"

#include "json/json.h"
#include "json/json_compare.h"
#include "base/utf8.h"

#include <assert.h>
#include <yaml.h>

#define BOM "\xef\xbb\xbf"
#define JSON_PER_BYTE 6 /* "\x01" in a quoted scalar becomes \u0001; nothing grows more */
#define AT_LINE " at line "

/* One open mapping or sequence. */
struct frame {
    bool is_mapping, has_items, is_key_next;
};

struct reader {
    yaml_parser_t parser;
    struct fa_bytes source; /* without the byte order mark */
    size_t depth_max;
    const char *what;
    struct faina_error *err;
    struct fa_arena *arena;

    struct fa_buf json;
    struct fa_yaml_mark *marks;
    size_t mark_count, mark_size;
    struct frame *frames;
    size_t depth, frame_size;
    bool has_document;
};

/* ------------------------------------------------------------------------------------------
 * Refusals
 */

static enum faina_code refuse_at(const struct reader *r, size_t offset, const char *why)
{
    struct fa_source_position position = fa_source_position_find(r->source, offset);

    fa_error_field(r->err, FAINA_INVALID_REQUEST, r->what, "%s: %s at line %d, column %d", r->what,
                   why, position.line, position.column);
    fa_error_position(r->err, position.line, position.column);
    return FAINA_INVALID_REQUEST;
}

/* The byte at which the character number `index` begins. */
static size_t find_character(struct fa_bytes text, size_t index)
{
    size_t at = 0;

    for (; at < text.len && index > 0; index--)
        for (at++; at < text.len && ((unsigned char)text.ptr[at] & 0xc0) == 0x80;)
            at++;
    return at;
}

static enum faina_code refuse_mark(const struct reader *r, yaml_mark_t mark, const char *why)
{
    return refuse_at(r, find_character(r->source, mark.index), why);
}

static enum faina_code refuse_event(const struct reader *r, const yaml_event_t *event,
                                    const char *why)
{
    return refuse_mark(r, event->start_mark, why);
}

/* What libyaml itself found wrong. */
static enum faina_code refuse_syntax(const struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    size_t at;

    if (p->error == YAML_MEMORY_ERROR)
        return fa_error_set(r->err, FAINA_INTERNAL, "%s: there is not enough memory", r->what);
    if (p->error == YAML_READER_ERROR)
        return refuse_at(r, p->problem_offset < r->source.len ? p->problem_offset : r->source.len,
                         "a character that is not allowed");
    at = find_character(r->source, p->problem_mark.index);
    if (at < r->source.len && r->source.ptr[at] == '\t')
        return refuse_at(r, at, "a tab, where YAML requires spaces,");
    return refuse_at(r, at, p->problem ? p->problem : "not YAML");
}

/* ------------------------------------------------------------------------------------------
 * Writing
 */

static void add_mark(struct reader *r, const yaml_event_t *event)
{
    r->marks = fa_arena_grow(r->arena, r->marks, r->mark_count, &r->mark_size, sizeof(*r->marks));
    r->marks[r->mark_count++] = (struct fa_yaml_mark){r->json.len, event->start_mark.index};
}

/* Writes what precedes a key or a value, and marks the position. */
static void begin_node(struct reader *r, const yaml_event_t *event)
{
    struct frame *frame = r->depth ? &r->frames[r->depth - 1] : NULL;

    if (frame) {
        bool is_value = frame->is_mapping && !frame->is_key_next;

        if (is_value)
            fa_buf_add_char(&r->json, ':');
        else if (frame->has_items)
            fa_buf_add_char(&r->json, ',');
        frame->has_items = true;
        frame->is_key_next = is_value;
    }
    add_mark(r, event);
}

static void add_text(struct reader *r, struct fa_bytes text)
{
    struct fa_json_writer w;

    fa_json_writer_init(&w, &r->json, 0);
    fa_json_put_bytes(&w, text);
}

static bool is_key(const struct reader *r)
{
    return r->depth > 0 && r->frames[r->depth - 1].is_mapping &&
           r->frames[r->depth - 1].is_key_next;
}

/* ------------------------------------------------------------------------------------------
 * Scalars
 */

static const struct {
    const char *text, *json;
} words[] = {
    {"", "null"},       {"~", "null"},      {"null", "null"},   {"Null", "null"},
    {"NULL", "null"},   {"true", "true"},   {"True", "true"},   {"TRUE", "true"},
    {"false", "false"}, {"False", "false"}, {"FALSE", "false"},
};

/* How many digits of a base are at the start. */
static size_t count_digits(struct fa_bytes text, size_t at, const char *digits)
{
    size_t count = 0;

    while (at + count < text.len && text.ptr[at + count] && strchr(digits, text.ptr[at + count]))
        count++;
    return count;
}

/* Whether it is a number in the core schema; JSON's numbers are excluded already. */
static bool is_odd_number(struct fa_bytes text)
{
    static const char *const decimal = "0123456789";
    size_t at = text.len > 0 && strchr("+-", text.ptr[0]) ? 1 : 0, whole, fraction = 0;
    struct fa_bytes rest = {text.ptr + at, text.len - at};

    if (rest.len == 4 && (strncasecmp(rest.ptr, ".inf", 4) == 0 ||
                          (at == 0 && strncasecmp(rest.ptr, ".nan", 4) == 0)))
        return true;
    if (at == 0 && text.len > 2 && text.ptr[0] == '0' && (text.ptr[1] == 'x' || text.ptr[1] == 'o'))
        return count_digits(text, 2, text.ptr[1] == 'x' ? "0123456789abcdefABCDEF" : "01234567") ==
               text.len - 2;
    whole = count_digits(text, at, decimal);
    at += whole;
    if (at < text.len && text.ptr[at] == '.') {
        fraction = count_digits(text, at + 1, decimal);
        at += 1 + fraction;
    }
    if (whole + fraction == 0)
        return false;
    if (at < text.len && (text.ptr[at] == 'e' || text.ptr[at] == 'E')) {
        at++;
        if (at < text.len && (text.ptr[at] == '+' || text.ptr[at] == '-'))
            at++;
        if (at == text.len || !fa_is_digit(text.ptr[at]))
            return false;
        at += count_digits(text, at, decimal);
    }
    return at == text.len;
}

static enum faina_code add_plain(struct reader *r, const yaml_event_t *event, struct fa_bytes text)
{
    for (size_t i = 0; i < FA_COUNT(words); i++) {
        if (fa_bytes_equal(text, fa_str(words[i].text))) {
            fa_buf_add_str(&r->json, words[i].json);
            return FAINA_OK;
        }
    }
    if (fa_json_number_length(text) == text.len) {
        fa_buf_add(&r->json, text.ptr, text.len);
        return FAINA_OK;
    }
    if (is_odd_number(text))
        return refuse_event(r, event,
                            "a number that JSON doesn't have (put it in quotes if it is text)");
    add_text(r, text);
    return FAINA_OK;
}

static enum faina_code add_scalar(struct reader *r, const yaml_event_t *event)
{
    struct fa_bytes text = {(const char *)event->data.scalar.value, event->data.scalar.length};
    bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    bool as_key = is_key(r);

    if (text.len > 0 && memchr(text.ptr, '\0', text.len))
        return refuse_event(r, event, "a NUL character is not allowed");
    if (as_key && is_plain && text.len == 0)
        return refuse_event(r, event, "a key is missing");
    if (as_key && is_plain && fa_bytes_equal(text, FA_LIT("<<")))
        return refuse_event(r, event, "merge keys (<<) are not allowed");
    begin_node(r, event);
    if (is_plain && !as_key)
        return add_plain(r, event, text);
    add_text(r, text);
    return FAINA_OK;
}

/* ------------------------------------------------------------------------------------------
 * Events
 */

static enum faina_code open_frame(struct reader *r, const yaml_event_t *event, bool is_mapping)
{
    if (is_key(r))
        return refuse_event(r, event, "a key must be a text");
    if (r->depth == r->depth_max)
        return refuse_event(r, event, "nested too deeply");
    begin_node(r, event);
    fa_buf_add_char(&r->json, is_mapping ? '{' : '[');
    r->frames = fa_arena_grow(r->arena, r->frames, r->depth, &r->frame_size, sizeof(*r->frames));
    r->frames[r->depth++] = (struct frame){.is_mapping = is_mapping, .is_key_next = true};
    return FAINA_OK;
}

static enum faina_code close_frame(struct reader *r)
{
    assert(r->depth > 0);
    r->depth--;
    fa_buf_add_char(&r->json, r->frames[r->depth].is_mapping ? '}' : ']');
    return FAINA_OK;
}

static enum faina_code begin_document(struct reader *r, const yaml_event_t *event)
{
    if (r->has_document)
        return refuse_event(r, event, "a second document is not allowed");
    r->has_document = true;
    return FAINA_OK;
}

/* Anchors and tags may be at any node. */
static enum faina_code check_node(const struct reader *r, const yaml_event_t *event,
                                  const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (anchor)
        return refuse_event(r, event, "anchors (&) are not allowed");
    if (tag)
        return refuse_event(r, event, "tags (!) are not allowed");
    return FAINA_OK;
}

static enum faina_code take_event(struct reader *r, const yaml_event_t *event)
{
    enum faina_code code;

    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return begin_document(r, event);
    case YAML_ALIAS_EVENT:
        return refuse_event(r, event, "aliases (*) are not allowed");
    case YAML_SCALAR_EVENT:
        code = check_node(r, event, event->data.scalar.anchor, event->data.scalar.tag);
        return code == FAINA_OK ? add_scalar(r, event) : code;
    case YAML_SEQUENCE_START_EVENT:
        code =
            check_node(r, event, event->data.sequence_start.anchor, event->data.sequence_start.tag);
        return code == FAINA_OK ? open_frame(r, event, false) : code;
    case YAML_MAPPING_START_EVENT:
        code =
            check_node(r, event, event->data.mapping_start.anchor, event->data.mapping_start.tag);
        return code == FAINA_OK ? open_frame(r, event, true) : code;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_frame(r);
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
    return FAINA_OK;
}

static enum faina_code take_events(struct reader *r)
{
    enum faina_code code = FAINA_OK;
    bool is_end = false;

    while (code == FAINA_OK && !is_end) {
        yaml_event_t event;

        if (!yaml_parser_parse(&r->parser, &event))
            return refuse_syntax(r);
        code = take_event(r, &event);
        is_end = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    if (code == FAINA_OK && !r->has_document)
        return refuse_at(r, 0, "the document is empty");
    return code;
}

/* ------------------------------------------------------------------------------------------
 * The conversion
 */

struct fa_source_position fa_yaml_position(const struct fa_yaml *yaml, size_t offset)
{
    size_t low = 0, high = yaml->mark_count;

    /* The last mark that isn't behind the offset. */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (yaml->marks[middle].offset <= offset)
            low = middle;
        else
            high = middle;
    }
    return fa_source_position_find(
        yaml->source, yaml->mark_count ? find_character(yaml->source, yaml->marks[low].index) : 0);
}

/* Refuses duplicate keys, and what else JSON forbids. */
static enum faina_code check_result(const struct reader *r, const struct fa_yaml *yaml)
{
    struct faina_error found;
    struct fa_source_position position;
    char *end;

    if (fa_json_check(yaml->json, r->depth_max, r->what, FAINA_INVALID_REQUEST, &found) == FAINA_OK)
        return FAINA_OK;
    assert(found.line == 1);
    position = fa_yaml_position(yaml, (size_t)found.column - 1);
    end = strstr(found.message, AT_LINE);
    for (char *next = end; next; next = strstr(next + 1, AT_LINE))
        end = next;
    fa_error_field(r->err, FAINA_INVALID_REQUEST, r->what, "%.*s" AT_LINE "%d, column %d",
                   (int)(end ? end - found.message : 0), found.message, position.line,
                   position.column);
    fa_error_position(r->err, position.line, position.column);
    return FAINA_INVALID_REQUEST;
}

static enum faina_code convert(struct reader *r, struct fa_yaml *out)
{
    struct fa_yaml yaml = {.source = r->source};
    enum faina_code code = take_events(r);

    if (code != FAINA_OK)
        return code;
    assert(!r->json.overflow);
    yaml.json = (struct fa_bytes){fa_arena_copy(r->arena, r->json.ptr, r->json.len), r->json.len};
    yaml.marks = r->marks;
    yaml.mark_count = r->mark_count;
    code = check_result(r, &yaml);
    if (code == FAINA_OK)
        *out = yaml;
    return code;
}

enum faina_code fa_yaml_read(struct fa_bytes source, size_t depth_max, const char *what,
                             struct fa_arena *arena, struct fa_yaml *out, struct faina_error *err)
{
    struct reader r = {.source = source, .depth_max = depth_max, .what = what, .err = err};
    enum faina_code code;
    size_t valid;

    r.arena = arena;
    if (source.len >= strlen(BOM) && memcmp(source.ptr, BOM, strlen(BOM)) == 0)
        r.source = (struct fa_bytes){source.ptr + strlen(BOM), source.len - strlen(BOM)};
    if (r.source.len == 0)
        return refuse_at(&r, 0, "the document is empty");
    valid = fa_utf8_valid_length(r.source);
    if (valid < r.source.len)
        return refuse_at(&r, valid, "invalid UTF-8");
    if (!yaml_parser_initialize(&r.parser))
        return fa_error_set(err, FAINA_INTERNAL, "%s: there is not enough memory", what);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)r.source.ptr, r.source.len);
    fa_buf_init(&r.json, r.source.len * JSON_PER_BYTE + 64);
    code = convert(&r, out);
    fa_buf_finish(&r.json);
    yaml_parser_delete(&r.parser);
    return code;
}
