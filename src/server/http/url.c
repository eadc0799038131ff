/*
 * url.c - request targets.
 */
#include "server/http/url.h"

#include "base/utf8.h"

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

char *fa_url_decode(struct fa_bytes raw, bool is_query, struct fa_arena *arena)
{
    char *text = fa_arena_take(arena, raw.len + 1);
    size_t len = 0;

    for (size_t i = 0; i < raw.len; i++) {
        char c = raw.ptr[i];

        if (c == '%') {
            bool is_whole = raw.len - i > 2;
            int high = is_whole ? hex_value(raw.ptr[i + 1]) : -1;
            int low = is_whole ? hex_value(raw.ptr[i + 2]) : -1;

            if (high < 0 || low < 0)
                return NULL;
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && is_query) {
            c = ' ';
        }
        if (c == '\0')
            return NULL;
        text[len++] = c;
    }
    text[len] = '\0';
    return fa_utf8_is_valid((struct fa_bytes){text, len}) ? text : NULL;
}

static enum faina_code add_param(struct fa_url *url, struct fa_bytes pair, struct fa_arena *arena,
                                 struct faina_error *err)
{
    const char *equals = memchr(pair.ptr, '=', pair.len);
    struct fa_bytes name = pair, value = {pair.ptr + pair.len, 0};
    struct fa_url_param *param;

    if (pair.len == 0)
        return FAINA_OK;
    if (equals) {
        name.len = (size_t)(equals - pair.ptr);
        value = (struct fa_bytes){equals + 1, pair.len - name.len - 1};
    }
    if (url->param_count == FA_URL_PARAMS_MAX)
        return fa_error_set(err, FAINA_INVALID_REQUEST, "the query has more than %d parameters",
                            FA_URL_PARAMS_MAX);
    param = &url->params[url->param_count];
    param->name = fa_url_decode(name, true, arena);
    param->value = fa_url_decode(value, true, arena);
    if (!param->name || !param->value)
        return fa_error_set(err, FAINA_INVALID_REQUEST,
                            "the query is not percent-encoded UTF-8 text");
    if (fa_url_param(url, param->name))
        return fa_error_field(err, FAINA_INVALID_REQUEST, param->name, "%.40s is given twice",
                              param->name);
    url->param_count++;
    return FAINA_OK;
}

enum faina_code fa_url_parse(const char *target, struct fa_arena *arena, struct fa_url *out,
                             struct faina_error *err)
{
    size_t path_len = strcspn(target, "?#");
    const char *at = target + path_len;
    enum faina_code code = FAINA_OK;

    *out = (struct fa_url){.path = fa_arena_copy(arena, target, path_len)};
    if (*at != '?')
        return FAINA_OK;
    while (code == FAINA_OK && *at != '\0' && *at != '#') {
        size_t len;

        at++;
        len = strcspn(at, "&#");
        code = add_param(out, (struct fa_bytes){at, len}, arena, err);
        at += len;
    }
    return code;
}

const char *fa_url_param(const struct fa_url *url, const char *name)
{
    for (size_t i = 0; i < url->param_count; i++)
        if (strcmp(url->params[i].name, name) == 0)
            return url->params[i].value;
    return NULL;
}

/* A name ends at the next '/', or before the text that follows {name} in the pattern. */
static size_t name_len(const char *rest, const char *path)
{
    size_t len = strcspn(path, "/"), tail = strcspn(rest, "/");

    if (tail > 0 && len > tail && memcmp(path + len - tail, rest, tail) == 0)
        len -= tail;
    return len;
}

bool fa_url_match(const char *pattern, const char *path, struct fa_bytes parts[FA_URL_PARTS_MAX])
{
    size_t part = 0;

    while (*pattern) {
        size_t len;

        if (*pattern != '{') {
            if (*pattern++ != *path++)
                return false;
            continue;
        }
        len =
            strncmp(pattern, "{name}", 6) == 0 ? name_len(pattern + 6, path) : strcspn(path, "/:");
        if (len == 0 || part == FA_URL_PARTS_MAX)
            return false;
        parts[part++] = (struct fa_bytes){path, len};
        path += len;
        pattern += strcspn(pattern, "}") + 1;
    }
    return *path == '\0';
}
