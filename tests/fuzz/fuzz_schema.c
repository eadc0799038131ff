/*
 * fuzz_schema.c - input schemas: any JSON is compiled or refused, and an input is checked by it.
 *
 * The schema is the text up to the first newline, the input the rest.
 */
#include "model/input_schema.h"

#include "base/utf8.h"
#include "model/limits.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_sentence(const struct faina_error *err)
{
    if (err->message[0] == '\0' || err->field[0] == '\0' || !fa_utf8_is_valid(fa_str(err->message)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *end = size > 0 ? memchr(text, '\n', size) : NULL;
    struct fa_bytes schema_text = {text, end != NULL ? (size_t)(end - text) : size};
    struct fa_bytes input_text = {end != NULL ? end : "", end != NULL ? size - schema_text.len : 0};
    const struct fa_input_schema *schema;
    struct fa_arena arena = {0};
    struct faina_error err;

    fa_error_clear(&err);
    if (fa_json_check(schema_text, FA_JSON_DEPTH_MAX, "x", FAINA_INTERNAL, NULL) != FAINA_OK)
        return 0;
    if (fa_input_schema_compile(schema_text, &arena, &schema, &err) != FAINA_OK)
        check_sentence(&err);
    else if (fa_json_check(input_text, FA_JSON_DEPTH_MAX, "x", FAINA_INTERNAL, NULL) == FAINA_OK &&
             fa_input_schema_check(schema, fa_arena_copy(&arena, input_text.ptr, input_text.len),
                                   &err) != FAINA_OK)
        check_sentence(&err);
    fa_arena_finish(&arena);
    return 0;
}
