/*
 * json_check.c - fa_json_check: yajl's grammar, and the rules that yajl leaves open.
 *
 * json_plain.c accepts plain texts. In others, the raw text is first scanned for bytes that yajl
 * accepts and that are never allowed: bad UTF-8, \u0000, lone surrogates, vertical tabs and form
 * feeds. Then yajl reads the text up to the first of these. Its callbacks check the depth and the
 * keys; so the first mistake in the text is the one reported.
 *
 * yajl reports where it stopped, not where the mistake begins. A refusal therefore walks the tokens
 * again; a valid text doesn't pay for it.
 *
 * Keys. The first few of an object are compared with each other as they arrive. In a larger object
 * they are collected, sorted at its end, and neighbours compared: no input makes that quadratic,
 * which a hash table could not guarantee.
 */
#include "json/json.h"

#include "json/json_inner.h"
#include "base/source_position.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdalign.h>
#include <stdlib.h>
#include <yajl/yajl_parse.h>

#define NOWHERE SIZE_MAX
#define TRAILING_TEXT "something follows the value"
#define KEYS_COMPARED_MAX 16 /* in larger objects keys are sorted */
#define KEYS_AT_FIRST 64
#define FRAMES_AT_FIRST 16
#define KEY_SHOWN_MAX 60 /* bytes of a key in a message */
#define POOL_SIZE 6144   /* enough for yajl and a text that isn't very deep */

/* The memory of one yajl parser: a stack buffer, then the heap. */
struct pool {
    size_t used;
    alignas(max_align_t) char space[POOL_SIZE];
};

struct pool_header {
    size_t size;
    alignas(max_align_t) char data[];
};

struct key {
    struct fa_bytes text; /* escapes resolved */
    size_t end;           /* where in the input its closing quote ends */
    uint64_t hash;        /* set only for sorting */
};

/* One open array or object. */
struct frame {
    size_t first_key;
    bool is_object;
};

struct check {
    struct fa_bytes input;
    size_t depth_max;
    yajl_handle parser;
    struct fa_arena arena; /* keys with resolved escapes, and sentences */

    struct key *keys; /* of all open objects, outermost first */
    size_t key_count, key_size;
    struct frame *frames;
    size_t depth, frame_size;
    size_t value_end; /* behind the outermost array or object; 0 when there is none */

    size_t refused_at; /* NOWHERE: no mistake so far */
    const char *why;

    struct key keys_at_first[KEYS_AT_FIRST];
    struct frame frames_at_first[FRAMES_AT_FIRST];
    struct pool pool;
};

/* ------------------------------------------------------------------------------------------
 * Memory for yajl
 */

static bool is_pooled(const struct pool *pool, const void *ptr)
{
    return (const char *)ptr >= pool->space && (const char *)ptr < pool->space + POOL_SIZE;
}

static void *pool_malloc(void *context, size_t size)
{
    struct pool *pool = context;
    struct pool_header *header;
    size_t needed;

    if (size > POOL_SIZE)
        return fa_alloc(size);
    needed = (sizeof(*header) + size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if (needed > POOL_SIZE - pool->used)
        return fa_alloc(size);
    header = (struct pool_header *)(void *)(pool->space + pool->used);
    header->size = size;
    pool->used += needed;
    return header->data;
}

static void pool_free(void *context, void *ptr)
{
    if (!is_pooled(context, ptr))
        free(ptr);
}

static void *pool_realloc(void *context, void *ptr, size_t size)
{
    const struct pool_header *header;
    void *moved;

    if (!ptr)
        return pool_malloc(context, size);
    if (!is_pooled(context, ptr))
        return fa_realloc(ptr, size);
    header = (const void *)((const char *)ptr - offsetof(struct pool_header, data));
    moved = pool_malloc(context, size);
    memcpy(moved, ptr, size < header->size ? size : header->size);
    return moved;
}

/* ------------------------------------------------------------------------------------------
 * Forbidden bytes
 */

static bool read_hex4(const char *at, const char *end, unsigned *out)
{
    unsigned value = 0;

    if (end - at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        char c = at[i];

        if (c >= '0' && c <= '9')
            value = value << 4 | (unsigned)(c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            value = value << 4 | (unsigned)((c | 32) - 'a' + 10);
        else
            return false;
    }
    *out = value;
    return true;
}

/* The first escape of a lone surrogate or of U+0000. yajl refuses invalid escapes. */
static size_t find_bad_escape(struct fa_bytes text, const char **why)
{
    const char *end = text.ptr + text.len, *at = text.ptr;

    while (at < end && (at = memchr(at, '\\', (size_t)(end - at))) != NULL) {
        unsigned unit, low;

        if (end - at < 2 || at[1] != 'u' || !read_hex4(at + 2, end, &unit)) {
            at += 2;
        } else if (unit == 0) {
            *why = "\\u0000 is not allowed";
            return (size_t)(at - text.ptr);
        } else if (unit < 0xd800 || unit > 0xdfff) {
            at += 6;
        } else if (unit < 0xdc00 && end - at >= 8 && at[6] == '\\' && at[7] == 'u' &&
                   read_hex4(at + 8, end, &low) && low >= 0xdc00 && low <= 0xdfff) {
            at += 12;
        } else {
            *why = "half of a surrogate pair";
            return (size_t)(at - text.ptr);
        }
    }
    return NOWHERE;
}

static size_t find_byte(struct fa_bytes text, char c)
{
    const char *at = memchr(text.ptr, c, text.len);

    return at ? (size_t)(at - text.ptr) : NOWHERE;
}

/* The first byte that is not allowed anywhere; NOWHERE when there is none. */
static size_t find_forbidden(struct fa_bytes text, const char **why)
{
    const char *escape_why = NULL;
    size_t valid = fa_utf8_valid_length(text);
    size_t escape = find_bad_escape(text, &escape_why);
    size_t vertical = find_byte(text, '\v'), feed = find_byte(text, '\f');
    size_t found = NOWHERE;

    if (valid < text.len) {
        found = valid;
        *why = "invalid UTF-8";
    }
    if (escape < found) {
        found = escape;
        *why = escape_why;
    }
    if (vertical < found || feed < found) {
        found = vertical < feed ? vertical : feed;
        *why = "a control character is not allowed";
    }
    return found;
}

/* ------------------------------------------------------------------------------------------
 * Keys
 */

static int compare_keys(const void *a, const void *b)
{
    const struct key *left = a, *right = b;
    int order = (left->hash > right->hash) - (left->hash < right->hash);

    if (order == 0)
        order = fa_bytes_compare(left->text, right->text);
    if (order == 0)
        order = (left->end > right->end) - (left->end < right->end);
    return order;
}

/* For sorting only; equal hashes of different keys do no harm. (FNV-1a.) */
static uint64_t hash_key(struct fa_bytes text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.ptr[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Records a mistake, unless an earlier one in the text is recorded. */
static void refuse(struct check *check, size_t at, const char *why)
{
    if (at >= check->refused_at)
        return;
    check->refused_at = at;
    check->why = why;
}

/* Refuses the key whose closing quote ends at `end`. */
static void refuse_key(struct check *check, size_t end)
{
    const char *input = check->input.ptr;
    size_t start = end - 1, shown;

    /* Back to the opening quote: the first one with an even number of backslashes before it. */
    for (;;) {
        size_t slashes = 0;

        start--;
        if (input[start] != '"')
            continue;
        while (slashes < start && input[start - 1 - slashes] == '\\')
            slashes++;
        if (slashes % 2 == 0)
            break;
    }
    /* Shown as it was written, so without control characters; a long one not in full. */
    shown = end - start - 2;
    if (shown > KEY_SHOWN_MAX) {
        shown = KEY_SHOWN_MAX;
        while ((input[start + 1 + shown] & 0xc0) == 0x80)
            shown--;
    }
    refuse(check, start,
           fa_arena_printf(&check->arena, "duplicate key \"%.*s%s\"", (int)shown, input + start + 1,
                           shown < end - start - 2 ? "..." : ""));
}

/* Finds duplicates in an object with many keys, and refuses the first in the text. */
static void compare_many(struct check *check, size_t first)
{
    struct key *keys = check->keys + first;
    size_t count = check->key_count - first, end = NOWHERE;

    for (size_t i = 0; i < count; i++)
        keys[i].hash = hash_key(keys[i].text);
    qsort(keys, count, sizeof(*keys), compare_keys);
    for (size_t i = 1; i < count; i++) {
        if (keys[i].hash == keys[i - 1].hash && keys[i].end < end &&
            fa_bytes_equal(keys[i].text, keys[i - 1].text))
            end = keys[i].end;
    }
    if (end != NOWHERE)
        refuse_key(check, end);
}

static bool is_many(const struct check *check, const struct frame *frame)
{
    return frame->is_object && check->key_count - frame->first_key > KEYS_COMPARED_MAX;
}

static void add_key(struct check *check, struct key key)
{
    if (check->key_count == check->key_size) {
        size_t size = check->key_size * 2;
        struct key *grown = fa_alloc(size * sizeof(*grown));

        memcpy(grown, check->keys, check->key_count * sizeof(*grown));
        if (check->keys != check->keys_at_first)
            free(check->keys);
        check->keys = grown;
        check->key_size = size;
    }
    check->keys[check->key_count++] = key;
}

static int on_key(void *context, const unsigned char *ptr, size_t len)
{
    struct check *check = context;
    const struct frame *frame = &check->frames[check->depth - 1];
    struct key key = {{(const char *)ptr, len}, yajl_get_bytes_consumed(check->parser), 0};
    size_t count = check->key_count - frame->first_key;

    if (count < KEYS_COMPARED_MAX) {
        for (size_t i = frame->first_key; i < check->key_count; i++) {
            const struct key *other = &check->keys[i];

            if (other->text.len == len && memcmp(other->text.ptr, ptr, len) == 0) {
                refuse_key(check, key.end);
                return 0;
            }
        }
    }
    /* A key with escapes is in a buffer that yajl reuses for the next. */
    if (key.text.ptr < check->input.ptr || key.text.ptr >= check->input.ptr + check->input.len)
        key.text.ptr = fa_arena_copy(&check->arena, key.text.ptr, len);
    add_key(check, key);
    return 1;
}

/* ------------------------------------------------------------------------------------------
 * Nesting
 */

static int open_frame(struct check *check, bool is_object)
{
    if (check->depth == check->depth_max) {
        refuse(check, yajl_get_bytes_consumed(check->parser) - 1,
               fa_arena_printf(&check->arena, "nested deeper than %zu levels", check->depth_max));
        return 0;
    }
    if (check->depth == check->frame_size) {
        size_t size = check->frame_size * 2;
        struct frame *grown = fa_alloc(size * sizeof(*grown));

        memcpy(grown, check->frames, check->depth * sizeof(*grown));
        if (check->frames != check->frames_at_first)
            free(check->frames);
        check->frames = grown;
        check->frame_size = size;
    }
    check->frames[check->depth++] = (struct frame){check->key_count, is_object};
    return 1;
}

static int on_open_object(void *context)
{
    return open_frame(context, true);
}

static int on_open_array(void *context)
{
    return open_frame(context, false);
}

static int on_close(void *context)
{
    struct check *check = context;
    const struct frame *frame = &check->frames[check->depth - 1];

    if (is_many(check, frame)) {
        compare_many(check, frame->first_key);
        if (check->refused_at != NOWHERE)
            return 0;
    }
    check->key_count = frame->first_key;
    check->depth--;
    if (check->depth == 0)
        check->value_end = yajl_get_bytes_consumed(check->parser);
    return 1;
}

/* ------------------------------------------------------------------------------------------
 * Positions of yajl's mistakes
 */

struct token {
    size_t start, end;
};

static size_t skip_set(struct fa_bytes text, size_t at, const char *set)
{
    while (at < text.len && text.ptr[at] && strchr(set, text.ptr[at]))
        at++;
    return at;
}

/* The next token as yajl cuts them, from `at` on; false at the end of the text. */
static bool next_token(struct fa_bytes text, size_t at, struct token *out)
{
    size_t end;

    at = skip_set(text, at, " \t\r\n");
    if (at == text.len)
        return false;
    end = at + 1;
    if (text.ptr[at] == '"') {
        while (end < text.len && text.ptr[end] != '"')
            end += text.ptr[end] == '\\' ? 2 : 1;
        end = end < text.len ? end + 1 : text.len;
    } else if (text.ptr[at] == '-' || (text.ptr[at] >= '0' && text.ptr[at] <= '9')) {
        if (text.ptr[at] == '-' && end < text.len)
            end++;
        if (text.ptr[end - 1] != '0')
            end = skip_set(text, end, "0123456789");
        if (end < text.len && text.ptr[end] == '.')
            end = skip_set(text, end + 1, "0123456789");
        if (end < text.len && (text.ptr[end] | 32) == 'e')
            end = skip_set(text, skip_set(text, end + 1, "+-"), "0123456789");
    } else if (text.ptr[at] >= 'a' && text.ptr[at] <= 'z') {
        end = skip_set(text, end, "abcdefghijklmnopqrstuvwxyz");
    }
    *out = (struct token){at, end};
    return true;
}

/* The start of the first token after the whole value. */
static size_t find_trailing(struct fa_bytes text)
{
    struct token token = {0, 0};
    size_t depth = 0;
    bool is_whole = false;

    while (next_token(text, token.end, &token)) {
        char c = text.ptr[token.start];

        if (is_whole)
            return token.start;
        depth += c == '[' || c == '{';
        depth -= (c == ']' || c == '}') && depth > 0;
        is_whole = depth == 0;
    }
    return text.len;
}

/* The start of the token that ends at `end`. */
static size_t find_token_to(struct fa_bytes text, size_t end)
{
    struct token token = {0, 0};

    while (next_token(text, token.end, &token)) {
        if (token.end >= end)
            return token.start;
    }
    return text.len;
}

/* The start of the token that is in the place of "," or "}". Here yajl steps back by the token's
 * length, for strings without their quotes: so its offset is the start of the token, or two bytes
 * later for a string, which is the end of an empty one. */
static size_t find_token_after_member(struct fa_bytes text, size_t offset)
{
    struct token token = {0, 0};
    char before = '\0';

    while (next_token(text, token.end, &token)) {
        if (token.end > offset)
            return token.start;
        if (token.end == offset && token.end - token.start == 2 && text.ptr[token.start] == '"' &&
            !strchr(":,{[", before))
            return token.start;
        before = text.ptr[token.start];
    }
    return text.len;
}

/* yajl's message, our message, and how to find the position from yajl's offset. */
static const struct {
    const char *theirs, *ours;
    enum { AT_OFFSET, BEFORE_OFFSET, AT_TOKEN, AFTER_MEMBER, TRAILING } position;
} mistakes[] = {
    {"trailing garbage", TRAILING_TEXT, TRAILING},
    {"unallowed token", "a value was expected", AT_TOKEN},
    {"invalid object key", "a key in quotes was expected", AT_TOKEN},
    {"must be separated by a colon", "\":\" was expected", AT_TOKEN},
    {"after key and value", "\",\" or \"}\" was expected", AFTER_MEMBER},
    {"after array element", "\",\" or \"]\" was expected", AT_TOKEN},
    {"before a character which it may not", "an unknown escape", AT_OFFSET},
    {"invalid character inside string", "a control character in a string", AT_OFFSET},
    {"(non-hex)", "four hexadecimal digits must follow \\u", AT_OFFSET},
    {"invalid char in json", "an unexpected character", BEFORE_OFFSET},
    {"invalid string in json", "an unknown word", AT_OFFSET},
    {"after the exponent", "a digit is missing in the exponent", AT_OFFSET},
    {"after the decimal point", "a digit is missing after the decimal point", AT_OFFSET},
    {"after the minus sign", "a digit is missing after the minus sign", AT_OFFSET},
    {"probable comment", "comments are not allowed", AT_OFFSET},
    {"", "not JSON", AT_OFFSET}, /* for messages of later versions of yajl */
};

/* yajl accepts an incomplete token after the value, such as the quote in `1"`. */
static void refuse_trailing(struct check *check, struct fa_bytes text)
{
    size_t at =
        check->value_end ? skip_set(text, check->value_end, " \t\r\n") : find_trailing(text);

    if (at < text.len)
        refuse(check, at, TRAILING_TEXT);
}

/* Turns the refusal at the end of the text into ours. There yajl was given a space, so its message
 * depends on the incomplete token; and it has no offset. */
static void refuse_end(struct check *check, struct fa_bytes text, bool is_trailing)
{
    struct token token;

    if (is_trailing)
        refuse(check, find_trailing(text), TRAILING_TEXT);
    else if (next_token(text, 0, &token))
        refuse(check, text.len, "the text ends too early");
    else
        refuse(check, text.len, "the text is empty");
}

/* Turns yajl's refusal into ours. */
static void refuse_by_yajl(struct check *check, struct fa_bytes text, bool is_end)
{
    size_t offset = yajl_get_bytes_consumed(check->parser);
    unsigned char *message = yajl_get_error(check->parser, 0, NULL, 0);
    size_t i = 0;

    while (i < FA_COUNT(mistakes) - 1 && !strstr((const char *)message, mistakes[i].theirs))
        i++;
    yajl_free_error(check->parser, message);
    if (is_end) {
        refuse_end(check, text, mistakes[i].position == TRAILING);
        return;
    }
    switch (mistakes[i].position) {
    case AT_OFFSET:
        break;
    case BEFORE_OFFSET:
        offset--;
        break;
    case AT_TOKEN:
        offset = find_token_to(text, offset);
        break;
    case AFTER_MEMBER:
        offset = find_token_after_member(text, offset);
        break;
    case TRAILING:
        offset = find_trailing(text);
        break;
    }
    refuse(check, offset, mistakes[i].ours);
}

/* ------------------------------------------------------------------------------------------
 * The check
 */

/* Reads `text`, which is the input or its first part, and records the first mistake. */
static void read_text(struct check *check, struct fa_bytes text)
{
    static const yajl_callbacks callbacks = {
        .yajl_start_map = on_open_object,
        .yajl_map_key = on_key,
        .yajl_end_map = on_close,
        .yajl_start_array = on_open_array,
        .yajl_end_array = on_close,
    };
    yajl_alloc_funcs memory = {pool_malloc, pool_realloc, pool_free, &check->pool};
    bool is_part = text.len < check->input.len;
    yajl_status status;
    bool is_end = false;

    check->parser = yajl_alloc(&callbacks, &memory, check);
    yajl_config(check->parser, yajl_dont_validate_strings, 1); /* find_forbidden does */
    status = yajl_parse(check->parser, (const unsigned char *)text.ptr, text.len);
    if (status == yajl_status_ok && !is_part) {
        is_end = true;
        status = yajl_complete_parse(check->parser);
    }
    if (status == yajl_status_error)
        refuse_by_yajl(check, text, is_end);
    else if (status == yajl_status_ok && is_end)
        refuse_trailing(check, text);
    yajl_free(check->parser);

    /* The keys of objects that are still open: they precede any other mistake. */
    for (size_t i = check->depth; i-- > 0;) {
        if (is_many(check, &check->frames[i]))
            compare_many(check, check->frames[i].first_key);
        check->key_count = check->frames[i].first_key;
    }
}

static void report(const struct check *check, const char *what, enum faina_code code,
                   struct faina_error *err)
{
    struct fa_source_position position = fa_source_position_find(check->input, check->refused_at);

    fa_error_field(err, code, what, "%s: %s at line %d, column %d", what, check->why, position.line,
                   position.column);
    fa_error_position(err, position.line, position.column);
}

/* Member by member: clearing the large arrays would cost as much as checking a small text. */
static void check_init(struct check *check, struct fa_bytes input, size_t depth_max)
{
    check->input = input;
    check->depth_max = depth_max;
    check->parser = NULL;
    check->arena = (struct fa_arena){0};
    check->keys = check->keys_at_first;
    check->key_count = 0;
    check->key_size = KEYS_AT_FIRST;
    check->frames = check->frames_at_first;
    check->depth = 0;
    check->frame_size = FRAMES_AT_FIRST;
    check->value_end = 0;
    check->refused_at = NOWHERE;
    check->why = NULL;
    check->pool.used = 0;
}

static void check_finish(struct check *check)
{
    if (check->keys != check->keys_at_first)
        free(check->keys);
    if (check->frames != check->frames_at_first)
        free(check->frames);
    fa_arena_finish(&check->arena);
}

enum faina_code fa_json_check(struct fa_bytes text, size_t depth_max, const char *what,
                              enum faina_code code, struct faina_error *err)
{
    if (fa_json_is_plain(text, depth_max))
        return FAINA_OK;
    return fa_json_check_long(text, depth_max, what, code, err);
}

enum faina_code fa_json_check_long(struct fa_bytes text, size_t depth_max, const char *what,
                                   enum faina_code code, struct faina_error *err)
{
    struct check check;
    const char *why = NULL;
    size_t forbidden;

    if (text.len == 0)
        text = FA_LIT("");
    check_init(&check, text, depth_max);
    forbidden = find_forbidden(text, &why);
    read_text(&check, (struct fa_bytes){text.ptr, forbidden < text.len ? forbidden : text.len});
    if (forbidden != NOWHERE)
        refuse(&check, forbidden, why);
    if (check.refused_at == NOWHERE)
        code = FAINA_OK;
    else if (err)
        report(&check, what, code, err);
    check_finish(&check);
    return code;
}
