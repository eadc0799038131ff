/*
 * fuzz_yaml.c - whatever bytes come: JSON that is fine, or a refusal with a place in the source.
 */
#include "json/json.h"
#include "base/utf8.h"
#include "json/yaml.h"

#include <stdlib.h>

#define DEPTH 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fa_bytes source = {(const char *)data, size};
    struct fa_arena arena = {0};
    struct fa_yaml yaml;
    struct faina_error err = {0};

    if (fa_yaml_read(source, DEPTH, "x", &arena, &yaml, &err) != FAINA_OK) {
        require(err.code == FAINA_INVALID_REQUEST);
        require(err.line >= 1 && err.column >= 1);
        require((size_t)err.line <= size + 1);
        require(fa_utf8_is_valid(fa_str(err.message)));
    } else {
        require(fa_json_check(yaml.json, DEPTH, "x", FAINA_INVALID_REQUEST, NULL) == FAINA_OK);
        require(!memchr(yaml.json.ptr, '\n', yaml.json.len));
        for (size_t i = 0; i < yaml.json.len; i++)
            require(fa_yaml_position(&yaml, i).line >= 1);
    }
    fa_arena_finish(&arena);
    return 0;
}
