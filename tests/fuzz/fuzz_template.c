/*
 * fuzz_template.c - a template, a line break, and the data: what compiles and renders is JSON.
 *
 *   - A refusal has a place inside the source, and a sentence in UTF-8.
 *   - What is rendered passes fa_json_check, and is within its limit.
 */
#include "base/utf8.h"
#include "model/template.h"

#include <stdlib.h>

#define DEPTH 32
#define OUTPUT_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

static bool is_json(struct fa_bytes text, size_t depth)
{
    return fa_json_check(text, depth, "x", FAINA_INVALID_REQUEST, NULL) == FAINA_OK;
}

static void check_mistake(void *context, size_t offset, const char *message)
{
    require(offset <= *(const size_t *)context);
    require(fa_utf8_is_valid(fa_str(message)));
}

static void check_render(const struct fa_template *compiled, fa_template_lookup *lookup,
                         void *context)
{
    struct faina_error err = {0};
    struct fa_buf out;

    fa_buf_init(&out, OUTPUT_MAX);
    if (fa_template_render(compiled, lookup, context, &out, &err) == FAINA_OK) {
        require(out.len <= OUTPUT_MAX);
        require(is_json((struct fa_bytes){out.ptr, out.len}, 2 * DEPTH));
    } else {
        require(fa_utf8_is_valid(fa_str(err.message)));
    }
    fa_buf_finish(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const types[] = {"a", "a.b", "c d"};
    static const struct fa_template_join join = {types, FA_COUNT(types)};
    struct fa_arena arena = {0};
    const struct fa_template *compiled;
    const char *text = (const char *)data, *split = size ? memrchr(text, '\n', size) : NULL;
    struct fa_bytes source = {text, split ? (size_t)(split - text) : size};
    struct fa_bytes rest = {split ? split + 1 : text, split ? size - source.len - 1 : 0};
    struct fa_json value;

    if (!is_json(source, DEPTH))
        return 0;
    value = fa_json_value(is_json(rest, DEPTH) ? rest : FA_LIT("{\"a\":{\"b\":[1,\"\\n\"]}}"));
    if (fa_template_compile(source, NULL, &arena, &compiled, check_mistake, &source.len, NULL) ==
        FAINA_OK)
        check_render(compiled, fa_template_lookup_data, &value);
    if (fa_template_compile(source, &join, &arena, &compiled, check_mistake, &source.len, NULL) ==
        FAINA_OK) {
        struct fa_json tasks[] = {value, value, {0}};
        struct fa_template_members members = {value, tasks};

        check_render(compiled, fa_template_lookup_members, &members);
    }
    fa_arena_finish(&arena);
    return 0;
}
