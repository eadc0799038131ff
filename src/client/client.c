/*
 * client.c - the engine behind HTTP: its URL, its life, its runs and its waits.
 */
#include "client/client.h"

#include "base/clock.h"
#include "json/json.h"
#include "model/limits.h"
#include "model/times.h"
#include "client/encode.h"
#include "client/download.h"
#include "wire/wire.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/un.h>
#include <unistd.h>

#define TIMEOUT_MS 60000
#define CONNECT_MS 5000
#define TOKEN_SIZE_MAX 4096
#define EARLY_PAUSE_MS 100
#define LONG_POLL_MS 60000 /* a wait is split into requests: proxies cut silent connections */

struct remote {
    struct fa_service base;
    struct fa_connections *conns;
    struct fa_arena arena; /* its texts, for as long as it is open */
    const char *shown;
};

static const struct fa_service_ops remote_ops;

static struct remote *downcast(struct fa_service *service)
{
    assert(service->ops == &remote_ops);
    return (struct remote *)service;
}

/* ------------------------------------------------------------------------------------------
 * Running
 */

static void read_on(struct remote *remote, struct fa_op *op)
{
    struct fa_op page;

    while (fa_decode_next_page(op, &page)) {
        struct fa_call call = {0};

        fa_encode_one(&page, &call);
        fa_connections_run(remote->conns, &call, 1);
        fa_decode_one(&page, &call, remote->shown);
        fa_call_finish(&call);
        fa_decode_add_page(op, &page);
    }
}

static void run_apart(struct remote *remote, struct fa_op *ops, size_t count)
{
    struct fa_call *calls = fa_alloc_zero(count, sizeof(*calls));

    for (size_t i = 0; i < count; i++)
        fa_encode_one(&ops[i], &calls[i]);
    fa_connections_run(remote->conns, calls, count);
    for (size_t i = 0; i < count; i++) {
        fa_decode_one(&ops[i], &calls[i], remote->shown);
        fa_call_finish(&calls[i]);
        read_on(remote, &ops[i]);
    }
    free(calls);
}

static size_t run_many(struct remote *remote, struct fa_op *ops, size_t count)
{
    struct fa_call call;

    count = fa_encode_many(ops, count, &call);
    fa_connections_run(remote->conns, &call, 1);
    fa_decode_many(ops, count, &call, remote->shown);
    fa_call_finish(&call);
    return count;
}

/* Operations without a route (model/operation.h). */
static bool has_no_route(const struct fa_op *op)
{
    return op->kind == FA_OP_REQUEUE || op->kind == FA_OP_QUEUE || op->kind == FA_OP_AUDIT_ADD;
}

static void remote_run(struct fa_service *service, struct fa_op *ops, size_t count)
{
    struct remote *remote = downcast(service);

    while (count > 0) {
        size_t group = 1, run = 0;

        while (run < count && !has_no_route(&ops[run]))
            run++;
        if (run == 0)
            ops->code = fa_error_set(&ops->error, FAINA_NOT_SUPPORTED,
                                     "\"%s\" works only in the process that has the store open",
                                     fa_op_name(ops->kind));
        else if (fa_encode_group(ops, run, &group) == FA_ENCODE_MANY)
            group = run_many(remote, ops, group);
        else
            run_apart(remote, ops, group);
        ops += group;
        count -= group;
    }
}

/* ------------------------------------------------------------------------------------------
 * Waiting
 */

/* A server that goes down ends waits early. The pause keeps the client from repeating them at
 * once. */
static void rest(struct remote *remote, int64_t start_us, int64_t wait_ms)
{
    if (fa_clock_mono_us() - start_us < wait_ms * 500)
        fa_connections_pause(remote->conns, wait_ms < EARLY_PAUSE_MS ? wait_ms : EARLY_PAUSE_MS);
}

static void remote_wait_end(struct fa_service *service, const char *id, int64_t timeout_ms)
{
    struct remote *remote = downcast(service);
    struct fa_call call;

    fa_call_init(&call, "GET");
    fa_buf_add_str(&call.path, FA_CLIENT_API "/tasks/");
    fa_call_escape(&call, id);
    fa_buf_printf(&call.path, "/wait?timeout=%lldms", (long long)timeout_ms);
    call.is_read = call.is_repeatable = true;
    call.wait_ms = timeout_ms > 0 ? timeout_ms : 1;
    /* The answer is ignored: the caller reads the task next. */
    fa_connections_run(remote->conns, &call, 1);
    fa_call_finish(&call);
}

static void remote_claim_wait(struct fa_service *service, struct fa_op *op, int64_t wait_ms)
{
    struct remote *remote = downcast(service);
    int64_t start_us = fa_clock_mono_us();
    struct fa_call call;

    wait_ms = wait_ms < LONG_POLL_MS ? wait_ms : LONG_POLL_MS;
    fa_encode_claim(op, wait_ms, &call);
    call.give_up = op->give_up;
    fa_connections_run(remote->conns, &call, 1);
    if (call.has_given_up) {
        op->code = FAINA_OK;
        op->tasks = fa_arena_zero(op->arena, 1, sizeof(*op->tasks));
        fa_call_finish(&call);
        return;
    }
    fa_decode_one(op, &call, remote->shown);
    fa_call_finish(&call);
    /* Not when we ended it ourselves. */
    if (op->code == FAINA_OK && op->tasks->count == 0 && call.listen_us == 0)
        rest(remote, start_us, wait_ms);
}

static void remote_wake(struct fa_service *service)
{
    fa_connections_wake(downcast(service)->conns);
}

/* ------------------------------------------------------------------------------------------
 * Information
 */

static enum faina_code ask_info(struct remote *remote, bool thorough, struct fa_arena *arena,
                                struct fa_call *call, struct fa_json *out)
{
    fa_call_init(call, "GET");
    fa_buf_add_str(&call->path, FA_CLIENT_API "/info");
    if (thorough)
        fa_buf_add_str(&call->path, "?thorough=true");
    call->is_read = call->is_repeatable = true;
    fa_connections_run(remote->conns, call, 1);
    return fa_decode_json(call, arena, remote->shown, out);
}

static enum faina_code refuse_not_faina(const struct remote *remote, struct faina_error *err)
{
    return fa_error_set(err, FAINA_UNAVAILABLE, "%.200s answers, but is not `faina serve`",
                        remote->shown);
}

static enum faina_code remote_info(struct fa_service *service, bool thorough,
                                   struct fa_arena *arena, struct fa_service_info *out,
                                   struct faina_error *err)
{
    struct remote *remote = downcast(service);
    struct fa_call call;
    struct fa_json json;
    enum faina_code code = ask_info(remote, thorough, arena, &call, &json);
    const char *version;

    if (code != FAINA_OK && err)
        *err = call.error;
    if (code == FAINA_OK && fa_shape_read(json, &fa_shape_info, arena, out, err) != FAINA_OK)
        code = refuse_not_faina(remote, err);
    version = code == FAINA_OK ? fa_json_member_text(json, "version", arena) : NULL;
    out->engine_version = fa_arena_printf(arena, "faina %s on %s %s", version ? version : "?",
                                          out->engine ? out->engine : "?",
                                          out->engine_version ? out->engine_version : "?");
    out->engine = remote_ops.name;
    out->location = fa_arena_strdup(arena, remote->shown);
    fa_call_finish(&call);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * A backup
 */

static enum faina_code remote_backup(struct fa_service *service, const char *path,
                                     const struct fa_backup_watch *watch, struct faina_error *err)
{
    struct remote *remote = downcast(service);

    return fa_download_backup(remote->conns, remote->shown, path, watch, err);
}

/* ------------------------------------------------------------------------------------------
 * Opening and closing
 */

static void remote_shut(struct fa_service *service)
{
    fa_connections_shut(downcast(service)->conns);
}

static void remote_close(struct fa_service *service)
{
    struct remote *remote = downcast(service);

    fa_connections_close(remote->conns);
    fa_arena_finish(&remote->arena);
    free(remote);
}

static const struct fa_service_ops remote_ops = {
    .name = "http",
    .is_remote = true,
    .run = remote_run,
    .wait_end = remote_wait_end,
    .claim_wait = remote_claim_wait,
    .wake = remote_wake,
    .info = remote_info,
    .backup = remote_backup,
    .shut = remote_shut,
    .close = remote_close,
};

static bool starts_with(const char *text, const char *prefix)
{
    return strncasecmp(text, prefix, strlen(prefix)) == 0;
}

static enum faina_code bad_url(struct faina_error *err, const char *why)
{
    return fa_error_field(err, FAINA_INVALID_REQUEST, "url",
                          "%s; examples are http://127.0.0.1:7070, https://tasks.example.com and "
                          "unix:/run/faina.sock",
                          why);
}

/* What comes after the question mark: timeout=10s. */
static enum faina_code read_query(const char *query, struct fa_connections_options *options,
                                  struct faina_error *err)
{
    if (!starts_with(query, "timeout="))
        return bad_url(err, "the only option of an HTTP engine's URL is ?timeout=10s");
    if (fa_duration_parse(query + strlen("timeout="), "timeout", &options->timeout_ms, err) !=
            FAINA_OK ||
        options->timeout_ms == 0 || options->timeout_ms > FA_LEASE_MS_MAX)
        return bad_url(err, "the timeout in the engine's URL is not a duration such as 10s");
    return FAINA_OK;
}

static bool is_near_host(const char *host)
{
    return starts_with(host, "localhost") || starts_with(host, "127.") ||
           starts_with(host, "[::1]");
}

static enum faina_code read_host(const char *host, struct faina_error *err)
{
    if (host[0] == '\0' || host[0] == '/' || host[0] == ':')
        return bad_url(err, "the engine's URL names no host");
    for (const char *at = host; *at; at++)
        if (!isgraph((unsigned char)*at) || strchr("\"<>\\^`{|}#", *at))
            return bad_url(err, "the engine's URL has a character that can't be there");
    if (strchr(host, '@'))
        return bad_url(err, "the engine's URL has a user in it: give a token in FAINA_TOKEN");
    return FAINA_OK;
}

static void trim_slashes(char *text)
{
    size_t len = strlen(text);

    while (len > 0 && text[len - 1] == '/')
        text[--len] = '\0';
}

/* Slashes at the end mean nothing, and neither does the root that the requests have anyway. */
static void trim_base(char *base)
{
    static const char api[] = FA_CLIENT_API;
    size_t len;

    trim_slashes(base);
    len = strlen(base);
    if (len > strlen(api) && strcmp(base + len - strlen(api), api) == 0)
        base[len - strlen(api)] = '\0';
    trim_slashes(base);
}

static enum faina_code read_url(const char *url, struct fa_arena *arena,
                                struct fa_connections_options *options, struct faina_error *err)
{
    size_t len = strcspn(url, "?");
    char *base = fa_arena_copy(arena, url, len);
    enum faina_code code = FAINA_OK;

    options->shown = fa_arena_copy(arena, url, len);
    if (url[len] == '?')
        code = read_query(url + len + 1, options, err);
    if (code != FAINA_OK)
        return code;
    if (starts_with(url, "unix:")) {
        options->unix_path = base + strlen("unix:");
        options->base = "http://localhost";
        options->is_near = true;
        len = strlen(options->unix_path);
        return len > 0 && len < sizeof(((struct sockaddr_un *)NULL)->sun_path)
                   ? FAINA_OK
                   : bad_url(err, "the URL names no socket, or one with too long a path");
    }
    trim_base(base);
    code = read_host(strstr(url, "://") + 3, err);
    options->is_near = is_near_host(strstr(url, "://") + 3);
    options->base = base;
    return code;
}

static enum faina_code read_token_file(const char *path, struct fa_arena *arena, const char **out,
                                       struct faina_error *err)
{
    char *text = fa_arena_take(arena, TOKEN_SIZE_MAX);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, text, TOKEN_SIZE_MAX - 1) : -1;

    if (len < 0)
        fa_error_set(err, FAINA_UNAUTHORIZED, "the token in %.200s can't be read: %s", path,
                     strerror(errno));
    if (fd >= 0)
        close(fd);
    if (len < 0)
        return FAINA_UNAUTHORIZED;
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        len--;
    text[len] = '\0';
    *out = text;
    return FAINA_OK;
}

static enum faina_code read_token(struct fa_arena *arena, const char **out, struct faina_error *err)
{
    const char *token = getenv("FAINA_TOKEN"), *path = getenv("FAINA_TOKEN_FILE");
    enum faina_code code = FAINA_OK;

    if ((!token || !token[0]) && path && path[0])
        code = read_token_file(path, arena, &token, err);
    if (code != FAINA_OK || !token || !token[0])
        return code;
    for (const char *at = token; *at; at++)
        if (!isgraph((unsigned char)*at))
            return fa_error_set(err, FAINA_UNAUTHORIZED,
                                "the token has a space or another character that can't be there");
    *out = token;
    return FAINA_OK;
}

/* Reads which engine the server has, and its largest input. A token without the scope for that may
 * still allow other operations. */
static enum faina_code greet(struct remote *remote, const struct faina_options *options,
                             struct faina_error *err)
{
    struct fa_arena scratch = {0};
    struct fa_call call;
    struct fa_json json, value;
    enum faina_code code = ask_info(remote, false, &scratch, &call, &json);
    int64_t size_max = 0;

    if (code == FAINA_OK &&
        (json.type != FA_JSON_OBJECT || !fa_json_member(json, "inputSizeMax", &value) ||
         value.type != FA_JSON_NUMBER || !fa_json_int(value, &size_max) || size_max <= 0))
        code = refuse_not_faina(remote, err);
    else if (code == FAINA_FORBIDDEN)
        code = FAINA_OK;
    else if (code != FAINA_OK && err)
        *err = call.error;
    fa_call_finish(&call);
    fa_arena_finish(&scratch);
    remote->base.input_size_max = size_max > 0 ? (size_t)size_max : FA_INPUT_SIZE_DEFAULT;
    if (options && options->input_size_max > 0 &&
        (size_t)options->input_size_max < remote->base.input_size_max)
        remote->base.input_size_max = (size_t)options->input_size_max;
    return code;
}

/* The server's sentence is about headers; the token of a client comes from variables. */
static void refuse_token(const struct remote *remote, bool has_token, struct faina_error *err)
{
    char why[128];

    if (!err)
        return;
    snprintf(why, sizeof(why), "%.120s", err->message);
    if (has_token)
        fa_error_set(err, FAINA_UNAUTHORIZED,
                     "%.200s refuses the token in FAINA_TOKEN or FAINA_TOKEN_FILE: %s",
                     remote->shown, why);
    else
        fa_error_set(
            err, FAINA_UNAUTHORIZED,
            "%.200s requires a token: set FAINA_TOKEN, or FAINA_TOKEN_FILE to a file with it",
            remote->shown);
}

enum faina_code fa_client_open(struct fa_service **out, const char *url,
                               const struct faina_options *options, struct faina_error *err)
{
    struct remote *remote = fa_alloc_zero(1, sizeof(*remote));
    struct fa_connections_options settings = {.timeout_ms = TIMEOUT_MS, .connect_ms = CONNECT_MS};
    const char *ca_file = getenv("FAINA_CA_FILE");
    enum faina_code code;

    remote->base.ops = &remote_ops;
    code = read_url(url, &remote->arena, &settings, err);
    if (code == FAINA_OK)
        code = read_token(&remote->arena, &settings.token, err);
    if (code == FAINA_OK) {
        settings.ca_file = ca_file && ca_file[0] ? ca_file : NULL;
        if (settings.connect_ms > settings.timeout_ms)
            settings.connect_ms = settings.timeout_ms;
        remote->shown = settings.shown;
        code = fa_connections_open(&remote->conns, &settings, err);
    }
    if (code == FAINA_OK)
        code = greet(remote, options, err);
    if (code == FAINA_UNAUTHORIZED && remote->conns)
        refuse_token(remote, settings.token != NULL, err);
    if (code != FAINA_OK) {
        remote_close(&remote->base);
        return code;
    }
    *out = &remote->base;
    return FAINA_OK;
}
