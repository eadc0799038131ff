/*
 * protocol.c - see protocol.h.
 *
 * The input of a job is
 *
 *     its body, if that is a JSON object or array; the metadata is {"beanstalk":{"ttr":60}}
 *     {"beanstalk":{"ttr":60,"text":"..."}}     for text in UTF-8
 *     {"beanstalk":{"ttr":60,"base64":"..."}}   for other bytes
 */
#include "server/beanstalk/protocol.h"

#include "base/utf8.h"
#include "json/json.h"
#include "model/id.h"
#include "model/limits.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>

#define MARK "{\"beanstalk\":"
#define MARK_SIZE 64 /* of the object around a text: more than any */
#define ID_BITS 53
#define TEN_YEARS_US (10 * 365 * 86400 * INT64_C(1000000))

static_assert(2 * FA_BEANSTALK_TUBE_MAX / 8 + 1 + FA_BEANSTALK_TUBE_MAX <= FA_TYPE_SIZE_MAX,
              "a type has room for the name of a tube and the bits of its capital letters");

/* ------------------------------------------------------------------------------------------
 * Lines
 */

static const struct {
    const char *word, *arguments;
} commands[FA_BEANSTALK_KIND_COUNT] = {
#define ROW(name, word, arguments) {(word), (arguments)},
    FA_BEANSTALK_COMMANDS(ROW)
#undef ROW
};

const char *fa_beanstalk_word(enum fa_beanstalk_kind kind)
{
    assert(kind < FA_BEANSTALK_KIND_COUNT);
    return commands[kind].word;
}

/* The next part of the line, up to a space. */
static struct fa_bytes take_part(struct fa_bytes *line)
{
    struct fa_bytes part = {line->ptr, 0};

    while (part.len < line->len && line->ptr[part.len] != ' ')
        part.len++;
    line->ptr += part.len;
    line->len -= part.len;
    return part;
}

/* The spaces before an argument. */
static bool skip_spaces(struct fa_bytes *line)
{
    bool has_any = line->len > 0 && line->ptr[0] == ' ';

    while (line->len > 0 && line->ptr[0] == ' ') {
        line->ptr++;
        line->len--;
    }
    return has_any && line->len > 0;
}

static bool read_number(struct fa_bytes text, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;

    for (size_t i = 0; i < text.len; i++) {
        uint64_t digit = (uint64_t)(text.ptr[i] - '0');

        if (!fa_is_digit(text.ptr[i]) || value > (max - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return text.len > 0;
}

static bool is_of_tube(char c)
{
    return isalnum((unsigned char)c) || (c != '\0' && strchr("-+/;.$_()", c) != NULL);
}

static bool read_tube(struct fa_bytes text, char out[FA_BEANSTALK_TUBE_SIZE])
{
    if (text.len == 0 || text.len > FA_BEANSTALK_TUBE_MAX || text.ptr[0] == '-')
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (!is_of_tube(text.ptr[i]))
            return false;
    memcpy(out, text.ptr, text.len);
    out[text.len] = '\0';
    return true;
}

static bool read_u32(struct fa_bytes text, uint32_t *out)
{
    uint64_t value = 0;
    bool is_fine = read_number(text, UINT32_MAX, &value);

    *out = (uint32_t)value;
    return is_fine;
}

static bool read_argument(char kind, struct fa_bytes text, size_t seconds,
                          struct fa_beanstalk_command *out)
{
    switch (kind) {
    case 'p':
        return read_u32(text, &out->pri);
    case 's':
        return read_u32(text, &out->seconds[seconds]);
    case 'b':
        return read_number(text, UINT64_MAX / 2, &out->size);
    case 't':
        return read_tube(text, out->tube);
    default:
        return read_number(text, UINT64_MAX, &out->number);
    }
}

enum fa_beanstalk_parsed fa_beanstalk_parse(struct fa_bytes line, struct fa_beanstalk_command *out)
{
    struct fa_bytes word = take_part(&line);
    size_t kind = 0, seconds = 0;

    memset(out, 0, sizeof(*out));
    while (kind < FA_BEANSTALK_KIND_COUNT && !fa_bytes_equal(word, fa_str(commands[kind].word)))
        kind++;
    if (kind == FA_BEANSTALK_KIND_COUNT)
        return FA_BEANSTALK_UNKNOWN;
    out->kind = (enum fa_beanstalk_kind)kind;
    for (const char *at = commands[kind].arguments; *at != '\0'; at++) {
        if (!skip_spaces(&line) || !read_argument(*at, take_part(&line), seconds, out))
            return FA_BEANSTALK_BAD_FORMAT;
        seconds += *at == 's';
    }
    return line.len == 0 ? FA_BEANSTALK_OK : FA_BEANSTALK_BAD_FORMAT;
}

/* ------------------------------------------------------------------------------------------
 * Tubes: a type in lower case, then ~ and a bit for each letter of the tube, if some are capitals
 */

void fa_beanstalk_type(const char *tube, char *type)
{
    size_t len = strlen(tube), digits = 0, at = len + 1;
    unsigned char bits[FA_BEANSTALK_TUBE_MAX / 4] = {0};

    for (size_t i = 0; i < len; i++) {
        bool is_capital = tube[i] >= 'A' && tube[i] <= 'Z';

        type[i] = is_capital ? (char)(tube[i] - 'A' + 'a') : tube[i];
        if (is_capital) {
            bits[i / 4] |= (unsigned char)(8 >> i % 4);
            digits = i / 4 + 1;
        }
    }
    type[len] = '\0';
    if (digits == 0)
        return;
    type[len] = '~';
    for (size_t i = 0; i < digits; i++)
        type[at++] = "0123456789abcdef"[bits[i]];
    type[at] = '\0';
}

bool fa_beanstalk_tube(const char *type, char out[FA_BEANSTALK_TUBE_SIZE])
{
    size_t len = strcspn(type, "~"), digits = type[len] ? strlen(type + len + 1) : 0;
    char again[2 * FA_BEANSTALK_TUBE_SIZE];

    if (!read_tube((struct fa_bytes){type, len}, out) || digits > (len + 3) / 4)
        return false;
    fa_name_fold(out);
    for (size_t i = 0; i < 4 * digits; i++) {
        char c = type[len + 1 + i / 4];
        int value = fa_is_digit(c)                       ? c - '0'
                    : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                         : 0;

        if (value & 8 >> i % 4 && (i >= len || out[i] < 'a' || out[i] > 'z'))
            return false;
        if (value & 8 >> i % 4)
            out[i] = (char)(out[i] - 'a' + 'A');
    }
    fa_beanstalk_type(out, again);
    return fa_name_is_same(again, type);
}

/* ------------------------------------------------------------------------------------------
 * Priorities and ids
 */

int fa_beanstalk_priority(uint32_t pri)
{
    int64_t priority = (int64_t)FA_PRIORITY_MAX - pri;

    return (int)(priority < FA_PRIORITY_MIN ? FA_PRIORITY_MIN : priority);
}

uint32_t fa_beanstalk_pri(int priority)
{
    return (uint32_t)((int64_t)FA_PRIORITY_MAX - priority);
}

uint64_t fa_beanstalk_id(int64_t key)
{
    return (uint64_t)key & ((UINT64_C(1) << ID_BITS) - 1);
}

int64_t fa_beanstalk_key(uint64_t id, int64_t now_us)
{
    int64_t last = fa_id_key_at(now_us + TEN_YEARS_US), round = INT64_C(1) << ID_BITS;

    if (id == 0 || id >= (uint64_t)round || (int64_t)id > last)
        return 0;
    return (int64_t)id + (last - (int64_t)id) / round * round;
}

/* ------------------------------------------------------------------------------------------
 * Bodies
 */

static const char digits64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void add_base64(struct fa_buf *out, struct fa_bytes data)
{
    for (size_t i = 0; i < data.len; i += 3) {
        size_t left = data.len - i;
        const unsigned char *at = (const unsigned char *)data.ptr + i;
        unsigned bits =
            (unsigned)at[0] << 16 | (left > 1 ? (unsigned)at[1] << 8 : 0) | (left > 2 ? at[2] : 0);
        char group[4] = {digits64[bits >> 18], digits64[bits >> 12 & 63],
                         left > 1 ? digits64[bits >> 6 & 63] : '=',
                         left > 2 ? digits64[bits & 63] : '='};

        fa_buf_add(out, group, sizeof(group));
    }
}

static int value64(char c)
{
    const char *at = c ? strchr(digits64, c) : NULL;

    return at ? (int)(at - digits64) : -1;
}

/* False: it is no base64. */
static bool read_base64(const char *text, struct fa_arena *arena, struct fa_bytes *out)
{
    size_t len = strlen(text), count = 0;
    char *data = fa_arena_take(arena, len / 4 * 3 + 3);
    unsigned bits = 0;

    while (len > 0 && text[len - 1] == '=')
        len--;
    for (size_t i = 0; i < len; i++) {
        int value = value64(text[i]);

        if (value < 0)
            return false;
        bits = bits << 6 | (unsigned)value;
        if (i % 4 != 0)
            data[count++] = (char)(bits >> (6 - 2 * (i % 4)));
    }
    *out = (struct fa_bytes){data, count};
    return len % 4 != 1;
}

/* A JSON object or array that isn't one of ours. */
static bool is_plain_json(struct fa_bytes body)
{
    bool may_be = body.len > 0 && (body.ptr[0] == '{' || body.ptr[0] == '[');

    if (!may_be || (body.len >= strlen(MARK) && memcmp(body.ptr, MARK, strlen(MARK)) == 0))
        return false;
    return fa_json_check(body, FA_JSON_DEPTH_MAX, "body", FAINA_INVALID_REQUEST, NULL) == FAINA_OK;
}

/* Text that is no longer in JSON than in base64. */
static bool is_text(struct fa_bytes body)
{
    size_t escapes = 0;

    for (size_t i = 0; i < body.len; i++) {
        unsigned char c = (unsigned char)body.ptr[i];
        bool is_space = c == '\n' || c == '\r' || c == '\t';

        if ((c < ' ' && !is_space) || c == 127)
            return false;
        escapes += is_space || c == '"' || c == '\\';
    }
    return escapes <= body.len / 3 && fa_utf8_is_valid(body);
}

static const char *marked(struct fa_bytes body, uint32_t ttr, bool has_body, struct fa_arena *arena)
{
    struct fa_json_writer w;
    const char *json;
    struct fa_buf text, encoded;

    fa_buf_init(&text, SIZE_MAX / 2);
    fa_buf_init(&encoded, SIZE_MAX / 2);
    fa_json_writer_init(&w, &text, 0);
    fa_json_begin_object(&w);
    fa_json_key(&w, "beanstalk");
    fa_json_begin_object(&w);
    fa_json_set_int(&w, "ttr", ttr);
    if (has_body && is_text(body)) {
        fa_json_key(&w, "text");
        fa_json_put_bytes(&w, body);
    } else if (has_body) {
        fa_buf_reserve(&encoded, (body.len + 2) / 3 * 4 + 1);
        add_base64(&encoded, body);
        fa_json_key(&w, "base64");
        fa_json_put_bytes(&w, (struct fa_bytes){encoded.ptr, encoded.len});
    }
    fa_json_end_object(&w);
    fa_json_end_object(&w);
    json = fa_arena_copy(arena, text.ptr, text.len);
    fa_buf_finish(&encoded);
    fa_buf_finish(&text);
    return json;
}

void fa_beanstalk_write(struct fa_bytes body, uint32_t ttr, const char *tube, const char *type,
                        struct fa_arena *arena, struct faina_submit *out)
{
    if (is_plain_json(body)) {
        out->input = fa_arena_copy(arena, body.ptr, body.len);
        out->metadata = marked(body, ttr, false, arena);
    } else {
        out->input = marked(body, ttr, true, arena);
    }
    if (strcmp(tube, type) != 0)
        out->name = tube;
}

size_t fa_beanstalk_body_max(size_t input_max)
{
    return input_max > MARK_SIZE ? (input_max - MARK_SIZE) / 4 * 3 : 0;
}

/* The object that a text marks as ours. */
static bool find_mark(const char *json, struct fa_json *out)
{
    struct fa_json object;

    if (json == NULL || strstr(json, "\"beanstalk\"") == NULL)
        return false;
    object = fa_json_value(fa_str(json));
    return object.type == FA_JSON_OBJECT && fa_json_member(object, "beanstalk", out) &&
           out->type == FA_JSON_OBJECT;
}

static uint32_t ttr_of(struct fa_json mark)
{
    int64_t ttr = fa_json_member_int(mark, "ttr");

    return ttr > 0 && ttr <= UINT32_MAX ? (uint32_t)ttr : FA_BEANSTALK_TTR_DEFAULT;
}

struct fa_bytes fa_beanstalk_read(const struct faina_task *task, struct fa_arena *arena,
                                  uint32_t *ttr)
{
    const char *text, *encoded;
    struct fa_bytes body = fa_str(task->input);
    struct fa_json mark;

    *ttr = FA_BEANSTALK_TTR_DEFAULT;
    if (task->input && strncmp(task->input, MARK, strlen(MARK)) == 0 &&
        find_mark(task->input, &mark)) {
        text = fa_json_member_text(mark, "text", arena);
        encoded = fa_json_member_text(mark, "base64", arena);
        *ttr = ttr_of(mark);
        if (text)
            return fa_str(text);
        if (encoded && read_base64(encoded, arena, &body))
            return body;
        return fa_str(task->input);
    }
    if (find_mark(task->metadata, &mark))
        *ttr = ttr_of(mark);
    return body;
}
