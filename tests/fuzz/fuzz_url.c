/*
 * fuzz_url.c - request targets: whatever comes, what is handed out is UTF-8, and a route that fits
 * names its part within the path.
 */
#include "base/utf8.h"
#include "server/routes/route.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

static void check_route(const struct fa_url *url, struct fa_arena *arena)
{
    static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "X"};

    for (size_t i = 0; i < FA_COUNT(methods); i++) {
        struct fa_bytes parts[FA_URL_PARTS_MAX] = {{0}};
        const struct fa_route *route;
        struct fa_buf allow;
        char *part;

        fa_buf_init(&allow, 256);
        route = fa_route_find(methods[i], url->path, parts, &allow);
        require(!allow.overflow);
        if (route && parts[0].ptr) {
            require(parts[0].ptr >= url->path && parts[0].len > 0);
            require(parts[0].ptr + parts[0].len <= url->path + strlen(url->path));
            part = fa_url_decode(parts[0], false, arena);
            require(!part || fa_utf8_is_valid(fa_str(part)));
        }
        fa_buf_finish(&allow);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fa_arena arena = {0};
    const char *target = fa_arena_copy(&arena, (const char *)data, size);
    struct faina_error err;
    struct fa_url url;

    if (fa_url_parse(target, &arena, &url, &err) == FAINA_OK) {
        require(url.param_count <= FA_URL_PARAMS_MAX);
        for (size_t i = 0; i < url.param_count; i++) {
            require(fa_utf8_is_valid(fa_str(url.params[i].name)));
            require(fa_utf8_is_valid(fa_str(url.params[i].value)));
            require(fa_url_param(&url, url.params[i].name) == url.params[i].value);
        }
        check_route(&url, &arena);
    } else {
        require(err.message[0] != '\0');
    }
    fa_arena_finish(&arena);
    return 0;
}
