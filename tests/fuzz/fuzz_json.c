/*
 * fuzz_json.c - whatever bytes come, fa_json_check decides; and what it accepts keeps its promises.
 *
 *   - What the short way accepts, the long way accepts.
 *   - A refusal tells a place inside the text, or right behind it.
 *   - The canonical form is accepted too, is its own canonical form, and means the same.
 *   - The walk visits values that are accepted by themselves.
 *   - A string written again by the writer reads back the same.
 */
#include "json/json.h"

#include "json/json_inner.h"

#include "base/utf8.h"

#include <stdlib.h>

#define DEPTH 16
#define SIZE_ENOUGH ((size_t)64 * 1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

static bool is_accepted(struct fa_bytes text)
{
    return fa_json_check(text, DEPTH, "x", FAINA_INVALID_TASK, NULL) == FAINA_OK;
}

static void check_string(struct fa_json string)
{
    struct fa_arena arena = {0};
    struct fa_json_writer w;
    struct fa_buf out;
    const char *text = fa_json_text(string, &arena);

    require(fa_utf8_is_valid(fa_str(text)));
    fa_buf_init(&out, SIZE_ENOUGH);
    fa_json_writer_init(&w, &out, 0);
    fa_json_put_str(&w, text);
    require(is_accepted((struct fa_bytes){out.ptr, out.len}));
    require(fa_json_same(string.raw, (struct fa_bytes){out.ptr, out.len}));
    fa_buf_finish(&out);
    fa_arena_finish(&arena);
}

static void check_number(struct fa_json number)
{
    int64_t integer;
    double real;

    if (fa_json_int(number, &integer))
        require(fa_json_double(number, &real));
}

static void check_value(struct fa_json value)
{
    struct fa_json_iter it;
    struct fa_bytes key;
    struct fa_json item;

    require(is_accepted(value.raw));
    if (value.type == FA_JSON_STRING)
        check_string(value);
    if (value.type == FA_JSON_NUMBER)
        check_number(value);
    if (value.type != FA_JSON_ARRAY && value.type != FA_JSON_OBJECT)
        return;
    it = fa_json_iter(value);
    while (fa_json_next(&it, &key, &item)) {
        if (value.type == FA_JSON_OBJECT)
            check_string((struct fa_json){FA_JSON_STRING, {key.ptr - 1, key.len + 2}});
        check_value(item);
    }
}

static void check_canonical(struct fa_bytes text)
{
    struct fa_buf once, twice;

    fa_buf_init(&once, SIZE_ENOUGH);
    fa_buf_init(&twice, SIZE_ENOUGH);
    fa_json_canonical(text, &once);
    require(!once.overflow);
    require(is_accepted((struct fa_bytes){once.ptr, once.len}));
    fa_json_canonical((struct fa_bytes){once.ptr, once.len}, &twice);
    require(fa_bytes_equal((struct fa_bytes){once.ptr, once.len},
                           (struct fa_bytes){twice.ptr, twice.len}));
    require(fa_json_same(text, (struct fa_bytes){once.ptr, once.len}));
    fa_buf_finish(&once);
    fa_buf_finish(&twice);
}

/* Whether line and column point into the text, or right behind it. */
static void check_place(struct fa_bytes text, const struct faina_error *err)
{
    size_t start = 0;

    for (int line = 1; line < err->line; line++) {
        const char *end = memchr(text.ptr + start, '\n', text.len - start);

        require(end != NULL);
        start = (size_t)(end - text.ptr) + 1;
    }
    require(err->column >= 1);
    require(start + (size_t)err->column - 1 <= text.len);
}

static void check_short_way(struct fa_bytes text)
{
    if (fa_json_is_plain(text, DEPTH))
        require(fa_json_check_long(text, DEPTH, "x", FAINA_INVALID_TASK, NULL) == FAINA_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fa_bytes text = {(const char *)data, size};
    struct faina_error err = {0};

    check_short_way(text);
    if (fa_json_check(text, DEPTH, "x", FAINA_INVALID_TASK, &err) != FAINA_OK) {
        require(err.line >= 1);
        require(fa_utf8_is_valid(fa_str(err.message)));
        check_place(text, &err);
        return 0;
    }
    check_value(fa_json_value(text));
    check_canonical(text);
    return 0;
}
