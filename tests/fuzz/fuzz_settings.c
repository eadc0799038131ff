/*
 * fuzz_settings.c - a handler's settings: any bytes are read or refused, with a sentence.
 */
#include "worker/type_settings.h"

#include "base/utf8.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fa_settings settings = {0};
    struct fa_arena arena = {0};
    struct faina_error err;

    fa_error_clear(&err);
    if (fa_settings_read((struct fa_bytes){(const char *)data, size}, &arena, &settings, &err) !=
        FAINA_OK) {
        if (err.message[0] == '\0' || !fa_utf8_is_valid(fa_str(err.message)))
            abort();
    } else if (settings.timeout_ms < 0 || settings.concurrency < 0 ||
               settings.limits.memory_bytes < 0) {
        abort();
    }
    fa_arena_finish(&arena);
    return 0;
}
