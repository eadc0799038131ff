/*
 * path.c - paths into JSON: reads them, and finds their values.
 */
#include "model/path.h"

#include "json/json_compare.h"

#include <assert.h>

#define INDEX_MAX UINT32_MAX

/* ------------------------------------------------------------------------------------------
 * Reading
 */

struct reader {
    struct fa_bytes text;
    size_t at;
    struct fa_arena *arena;
    struct fa_path_step *steps;
    size_t count, size;
    const char *expected; /* set at the first mistake */
};

bool fa_path_is_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '@' ||
           c == '[' || (unsigned char)c >= 0x80;
}

static bool is_name_start(char c)
{
    return c != '[' && fa_path_is_start(c);
}

static char next_char(const struct reader *r)
{
    return r->at < r->text.len ? r->text.ptr[r->at] : '\0';
}

static bool refuse(struct reader *r, const char *expected)
{
    r->expected = expected;
    return false;
}

static struct fa_path_step *add_step(struct reader *r)
{
    r->steps = fa_arena_grow(r->arena, r->steps, r->count, &r->size, sizeof(*r->steps));
    return &r->steps[r->count++];
}

static void add_name(struct reader *r, struct fa_bytes name)
{
    struct fa_path_step *step = add_step(r);

    *step = (struct fa_path_step){.name = name};
}

static bool read_name(struct reader *r, const char *expected)
{
    size_t from = r->at;

    if (!is_name_start(next_char(r)))
        return refuse(r, expected);
    while (is_name_start(next_char(r)) || fa_is_digit(next_char(r)) || next_char(r) == '-')
        r->at++;
    add_name(r, (struct fa_bytes){r->text.ptr + from, r->at - from});
    return true;
}

static bool read_index(struct reader *r)
{
    uint64_t index = 0;
    size_t from = r->at;
    struct fa_path_step *step;

    for (; fa_is_digit(next_char(r)); r->at++) {
        index = index * 10 + (unsigned)(next_char(r) - '0');
        if (index > INDEX_MAX) {
            r->at = from;
            return refuse(r, "a smaller index");
        }
    }
    step = add_step(r);
    *step = (struct fa_path_step){.is_index = true, .index = (size_t)index};
    return true;
}

bool fa_quoted_read(struct fa_bytes text, size_t *offset, struct fa_arena *arena,
                    struct fa_bytes *out)
{
    size_t from = *offset + 1, to = from, doubled = 0, len = 0;
    char *copy;

    for (; to < text.len; to++) {
        if (text.ptr[to] != '\'')
            continue;
        if (to + 1 == text.len || text.ptr[to + 1] != '\'')
            break;
        doubled++;
        to++;
    }
    if (to >= text.len)
        return false;
    *offset = to + 1;
    *out = (struct fa_bytes){text.ptr + from, to - from};
    if (doubled == 0)
        return true;
    copy = fa_arena_take(arena, to - from - doubled);
    for (size_t i = from; i < to; i++) {
        copy[len++] = text.ptr[i];
        i += text.ptr[i] == '\'';
    }
    *out = (struct fa_bytes){copy, len};
    return true;
}

static bool read_quoted(struct reader *r)
{
    struct fa_bytes name;

    if (!fa_quoted_read(r->text, &r->at, r->arena, &name))
        return refuse(r, "a closing quote");
    add_name(r, name);
    return true;
}

static bool read_bracket(struct reader *r)
{
    bool is_fine;

    r->at++;
    if (fa_is_digit(next_char(r)))
        is_fine = read_index(r);
    else if (next_char(r) == '\'')
        is_fine = read_quoted(r);
    else
        return refuse(r, "an index or a name in quotes");
    if (!is_fine)
        return false;
    if (next_char(r) != ']')
        return refuse(r, "]");
    r->at++;
    return true;
}

static bool read_steps(struct reader *r)
{
    while (next_char(r) == '.' || next_char(r) == '[') {
        if (next_char(r) == '[') {
            if (!read_bracket(r))
                return false;
        } else {
            r->at++;
            if (!read_name(r, "a name after the dot"))
                return false;
        }
    }
    return true;
}

static bool end_read(struct reader *r, bool is_fine, size_t *offset, struct fa_path *out,
                     struct fa_path_mistake *mistake)
{
    if (!is_fine) {
        *mistake = (struct fa_path_mistake){r->at, r->expected};
        return false;
    }
    *offset = r->at;
    *out = (struct fa_path){r->steps, r->count};
    return true;
}

bool fa_path_read(struct fa_bytes text, size_t *offset, struct fa_arena *arena, struct fa_path *out,
                  struct fa_path_mistake *mistake)
{
    struct reader r = {.text = text, .at = *offset, .arena = arena};
    bool is_fine =
        next_char(&r) == '[' ? read_steps(&r) : read_name(&r, "a field") && read_steps(&r);

    return end_read(&r, is_fine, offset, out, mistake);
}

bool fa_path_read_rest(struct fa_bytes text, size_t *offset, struct fa_arena *arena,
                       struct fa_path *out, struct fa_path_mistake *mistake)
{
    struct reader r = {.text = text, .at = *offset, .arena = arena};

    return end_read(&r, read_steps(&r), offset, out, mistake);
}

/* ------------------------------------------------------------------------------------------
 * Finding
 */

/* False when the budget is used up. */
static bool pay(int64_t *budget, struct fa_json value)
{
    if (!budget)
        return true;
    *budget -= 1 + (int64_t)(value.raw.len / FA_PATH_BYTES_PER_STEP);
    if (*budget > 0)
        return true;
    *budget = 0;
    return false;
}

static bool is_named(struct fa_bytes key, const struct fa_path_step *step)
{
    /* An escape is never shorter than its character. */
    return key.len >= step->name.len &&
           fa_json_chars_equal(fa_json_chars_raw(key), fa_json_chars_plain(step->name));
}

bool fa_path_step_find(const struct fa_path_step *step, struct fa_json container, int64_t *budget,
                       struct fa_json *out)
{
    struct fa_json_iter it;
    struct fa_bytes key;
    struct fa_json value;

    if (container.type != (step->is_index ? FA_JSON_ARRAY : FA_JSON_OBJECT))
        return false;
    it = fa_json_iter(container);
    for (size_t i = 0; fa_json_next(&it, &key, &value); i++) {
        if (!pay(budget, value))
            return false;
        if (step->is_index ? i == step->index : is_named(key, step)) {
            *out = value;
            return true;
        }
    }
    return false;
}

bool fa_path_find(const struct fa_path *path, struct fa_json root, int64_t *budget,
                  struct fa_json *out)
{
    struct fa_json value = root;

    for (size_t i = 0; i < path->count; i++)
        if (!fa_path_step_find(&path->steps[i], value, budget, &value))
            return false;
    *out = value;
    return true;
}
