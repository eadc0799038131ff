/* nats_url.c - see nats_url.h. */
#include "kv/nats/nats_url.h"

#include <stdlib.h>

#define PORT_DEFAULT "4222"

static enum faina_code refuse(struct faina_error *err, const char *what)
{
    return fa_error_field(err, FAINA_INVALID_REQUEST, "url",
                          "%s; an example is nats://host:4222,host2:4222?bucket=faina&replicas=3",
                          what);
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Resolves %XX. NULL: it is none. */
static const char *decode(struct fa_bytes text, struct fa_arena *arena)
{
    char *out = fa_arena_take(arena, text.len + 1);
    size_t len = 0;

    for (size_t i = 0; i < text.len; i++) {
        int high, low;

        if (text.ptr[i] != '%') {
            out[len++] = text.ptr[i];
            continue;
        }
        if (i + 2 >= text.len)
            return NULL;
        high = digit(text.ptr[i + 1]);
        low = digit(text.ptr[i + 2]);
        if (high < 0 || low < 0 || high + low == 0)
            return NULL;
        out[len++] = (char)(high << 4 | low);
        i += 2;
    }
    out[len] = '\0';
    return out;
}

static enum faina_code read_user(struct fa_bytes text, struct fa_arena *arena,
                                 struct fa_nats_url *out, struct faina_error *err)
{
    const char *colon = memchr(text.ptr, ':', text.len);
    size_t user_len = colon != NULL ? (size_t)(colon - text.ptr) : text.len;

    out->user = decode((struct fa_bytes){text.ptr, user_len}, arena);
    out->password =
        colon != NULL ? decode((struct fa_bytes){colon + 1, text.len - user_len - 1}, arena) : "";
    if (out->user == NULL || out->user[0] == '\0' || out->password == NULL)
        return refuse(err, "the user or the password in the URL is not valid");
    return FAINA_OK;
}

/* "host", "host:port" or "[address]:port". */
static bool is_host(const char *host)
{
    size_t len = strlen(host);

    return len > 0 && len < 256 && strpbrk(host, "/@ \t\r\n\"\\") == NULL && host[0] != ':';
}

static enum faina_code read_hosts(struct fa_bytes text, struct fa_arena *arena,
                                  struct fa_nats_url *out, struct faina_error *err)
{
    const char *at = text.ptr, *end = text.ptr + text.len;

    while (at <= end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        size_t len = (size_t)((comma != NULL ? comma : end) - at);
        const char *host = fa_arena_copy(arena, at, len), *bracket = strchr(host, ']');
        bool has_port = strchr(bracket != NULL ? bracket : host, ':') != NULL;

        if (!is_host(host))
            return refuse(err, "the URL names no server, or not a valid one");
        if (out->server_count == FA_NATS_SERVERS_MAX)
            return refuse(err, "the URL names more than 32 servers");
        out->servers[out->server_count++] =
            fa_arena_printf(arena, "nats://%s%s", host, has_port ? "" : ":" PORT_DEFAULT);
        at += len + 1;
    }
    return FAINA_OK;
}

static bool is_bucket(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len <= FA_NATS_BUCKET_SIZE_MAX &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == len;
}

static enum faina_code read_parameter(const char *name, const char *value, struct fa_nats_url *out,
                                      struct faina_error *err)
{
    if (strcmp(name, "bucket") == 0) {
        out->bucket = value;
        return is_bucket(value)
                   ? FAINA_OK
                   : refuse(err, "bucket consists of 1 to 64 letters, digits, - and _");
    }
    if (strcmp(name, "replicas") == 0) {
        out->replicas = strlen(value) == 1 && fa_is_digit(value[0]) ? value[0] - '0' : 0;
        return out->replicas >= 1 && out->replicas <= 5
                   ? FAINA_OK
                   : refuse(err, "replicas is a number from 1 to 5");
    }
    if (strcmp(name, "tls") == 0) {
        out->needs_tls = strcmp(value, "require") == 0;
        return out->needs_tls ? FAINA_OK : refuse(err, "tls has one value, require");
    }
    if (strcmp(name, "creds") == 0) {
        out->creds = value;
        return value[0] != '\0' ? FAINA_OK : refuse(err, "creds is the path of a file");
    }
    return fa_error_field(
        err, FAINA_INVALID_REQUEST, "url",
        "\"%.100s\" is not a parameter of a NATS URL; there are bucket, replicas, "
        "tls and creds",
        name);
}

static enum faina_code read_parameters(const char *at, struct fa_arena *arena,
                                       struct fa_nats_url *out, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    while (code == FAINA_OK && *at != '\0') {
        size_t len = strcspn(at, "&");
        const char *equals = memchr(at, '=', len);
        const char *name, *value;

        if (equals == NULL)
            return refuse(err, "a parameter of the URL has no value");
        name = fa_arena_copy(arena, at, (size_t)(equals - at));
        value = decode((struct fa_bytes){equals + 1, len - (size_t)(equals + 1 - at)}, arena);
        code = value != NULL ? read_parameter(name, value, out, err)
                             : refuse(err, "a parameter of the URL is not valid");
        at += len + (at[len] == '&');
    }
    return code;
}

enum faina_code fa_nats_url_read(const char *url, struct fa_arena *arena, struct fa_nats_url *out,
                                 struct faina_error *err)
{
    const char *rest = url + strlen("nats://"), *question = strchr(rest, '?');
    struct fa_bytes hosts = {rest, question != NULL ? (size_t)(question - rest) : strlen(rest)};
    const char *sign = memrchr(hosts.ptr, '@', hosts.len);
    enum faina_code code = FAINA_OK;

    *out = (struct fa_nats_url){.bucket = "faina"};
    if (hosts.len > 0 && hosts.ptr[hosts.len - 1] == '/')
        hosts.len--;
    if (sign != NULL) {
        size_t len = (size_t)(sign - hosts.ptr);

        code = read_user((struct fa_bytes){hosts.ptr, len}, arena, out, err);
        hosts = (struct fa_bytes){sign + 1, hosts.len - len - 1};
    }
    if (code == FAINA_OK)
        code = read_hosts(hosts, arena, out, err);
    if (code == FAINA_OK && question != NULL)
        code = read_parameters(question + 1, arena, out, err);
    out->location =
        fa_arena_printf(arena, "%.*s, bucket %s", (int)hosts.len, hosts.ptr, out->bucket);
    return code;
}
