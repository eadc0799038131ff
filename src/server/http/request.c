/*
 * request.c - one request: its head, its body and its runs. Responses are in response.c.
 */
#include "server/http/request.h"

#include "base/clock.h"
#include "model/codes.h"
#include "model/limits.h"
#include "model/other_names.h"
#include "model/states.h"
#include "model/times.h"
#include "model/trace.h"
#include "server/server_inner.h"
#include "server/routes/route.h"
#include "wire/wire_workflow.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#define SPARE_SIZE_MAX ((size_t)16 * 1024)

/* ------------------------------------------------------------------------------------------
 * Life
 */

void fa_request_make_id(struct fa_server *server, char out[FA_REQUEST_ID_SIZE])
{
    unsigned long long count = atomic_fetch_add(&server->request_count, 1);
    char seed[16];

    fa_put_hex16(seed, server->id_seed);
    memcpy(out, seed, 8);
    out[8] = '-';
    *fa_put_hex(out + 9, count) = '\0';
}

/* A spare buffer is never larger than the limit of its next use. */
static_assert(SPARE_SIZE_MAX <= FA_SERVER_BODY_SIZE_EXTRA && SPARE_SIZE_MAX <= FA_RESPONSE_SIZE_MAX,
              "spare buffers fit everywhere");

/* The memory of a request is reused for a later one: with many concurrent requests, malloc would
 * return it to the system each time. */
static struct fa_request *take_spare(struct fa_http_loop *loop)
{
    struct fa_request *req = loop->spares;
    struct fa_arena arena;
    struct fa_buf body, out;

    if (!req)
        return fa_alloc_zero(1, sizeof(*req));
    loop->spares = req->done_next;
    loop->spare_count--;
    arena = req->arena;
    body = req->body;
    out = req->out;
    memset(req, 0, sizeof(*req));
    req->arena = arena;
    req->body = body;
    req->out = out;
    return req;
}

static void free_request(struct fa_request *req)
{
    fa_arena_finish(&req->arena);
    fa_buf_finish(&req->body);
    fa_buf_finish(&req->out);
    free(req);
}

static void leave_spare(struct fa_http_loop *loop, struct fa_request *req)
{
    size_t size;

    fa_arena_reset(&req->arena);
    size = (size_t)(req->arena.end - req->arena.next) + req->body.size + req->out.size;
    if (loop->spare_count == FA_LOOP_SPARES || size > SPARE_SIZE_MAX) {
        free_request(req);
        return;
    }
    fa_buf_clear(&req->body);
    fa_buf_clear(&req->out);
    req->done_next = loop->spares;
    loop->spares = req;
    loop->spare_count++;
}

void fa_request_drop_spares(struct fa_http_loop *loop)
{
    for (struct fa_request *req = loop->spares, *next; req; req = next) {
        next = req->done_next;
        free_request(req);
    }
    loop->spares = NULL;
    loop->spare_count = 0;
}

struct fa_request *fa_request_create(struct fa_connection *peer)
{
    struct fa_listener_socket *listener = peer->listener;
    struct fa_request *req = take_spare(&listener->loop);

    atomic_fetch_add(&listener->server->active, 1);
    listener->loop.request_count++;
    req->server = listener->server;
    req->listener = listener;
    req->peer = peer;
    req->begun_ns = fa_clock_mono_ns();
    req->out.max = FA_RESPONSE_SIZE_MAX;
    fa_request_make_id(req->server, req->id);
    return req;
}

/* The response contains claimed tasks. */
static bool has_claimed(const struct fa_request *req)
{
    const struct fa_op *op = req->posted.count == 1 ? &req->posted.ops[0] : NULL;

    return op && op->kind == FA_OP_CLAIM_NEXT && op->code == FAINA_OK && op->tasks &&
           op->tasks->count > 0;
}

void fa_request_destroy(struct fa_request *req)
{
    struct fa_listener_socket *listener = req->listener;
    struct fa_server *server = req->server;

    if (!req->is_response_sent && has_claimed(req))
        fa_post_release_claimed(server->post, &req->posted.ops[0]);
    if (req->has_file)
        close(req->file_fd);
    if (req->has_backup)
        atomic_store(&server->is_backing_up, false);
    atomic_fetch_sub(&server->body_bytes, (long long)req->body_counted);
    atomic_fetch_sub(&server->response_bytes, (long long)req->response_counted);
    fa_admission_release_held(server, req->held);
    fa_arena_finish(&req->posted.answers);
    leave_spare(&listener->loop, req);
    listener->loop.request_count--;
    atomic_fetch_sub(&server->active, 1);
}

/* ------------------------------------------------------------------------------------------
 * The head
 */

static bool is_write(const char *method)
{
    return strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0 &&
           strcmp(method, "OPTIONS") != 0;
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

/* Uses the client's id if it contains only safe characters. */
static void adopt_id(struct fa_request *req)
{
    const char *id = fa_request_header(req, "X-Request-Id");
    size_t len = id ? strlen(id) : 0;

    if (len == 0 || len >= sizeof(req->id))
        return;
    for (size_t i = 0; i < len; i++)
        if (!is_name_char(id[i]))
            return;
    memcpy(req->id, id, len + 1);
}

/* The name in "name:port" and "[v6]:port". */
static struct fa_bytes host_name(const char *host)
{
    if (host[0] == '[') {
        size_t len = strcspn(host, "]");

        return (struct fa_bytes){host, host[len] == ']' ? len + 1 : len};
    }
    return (struct fa_bytes){host, strcspn(host, ":")};
}

static bool same_text(struct fa_bytes a, const char *b)
{
    return strlen(b) == a.len && strncasecmp(a.ptr, b, a.len) == 0;
}

/*
 * DNS rebinding: a page of another site can make a browser send requests here, under a host name of
 * that site which resolves to this machine. So the host must be localhost, a numeric address, or a
 * name from the options.
 */
static bool is_our_host(const struct fa_request *req, const char *host)
{
    const struct fa_server_options *options = &req->server->options;
    struct fa_bytes name = host_name(host);
    bool is_number = name.len > 0;

    if (same_text(name, "localhost") || (name.len > 0 && name.ptr[0] == '['))
        return true;
    for (size_t i = 0; i < name.len; i++)
        is_number = is_number && (isdigit((unsigned char)name.ptr[i]) || name.ptr[i] == '.');
    if (is_number)
        return true;
    for (size_t i = 0; i < options->host_count; i++)
        if (same_text(name, options->hosts[i]))
            return true;
    for (size_t i = 0; i < options->listen_count; i++)
        if (fa_bytes_equal(name, host_name(options->listen[i])))
            return true;
    return false;
}

static bool check_host(struct fa_request *req)
{
    if (!req->host || req->listener->is_unix || is_our_host(req, req->host))
        return true;
    fa_respond_refusal(req, 403, FAINA_FORBIDDEN,
                       "this server does not accept the host name \"%.100s\"; it can be allowed "
                       "with --host",
                       req->host);
    return false;
}

/* A browser sends the origin of a page. Only the server's own pages may change anything. */
static bool check_origin(struct fa_request *req, const char *method)
{
    const char *origin = fa_request_header(req, "Origin");

    if (!is_write(method) || fa_request_is_own_origin(req))
        return true;
    fa_respond_refusal(req, 403, FAINA_FORBIDDEN, "requests from pages of \"%.100s\" are refused",
                       origin);
    return false;
}

static bool find_route(struct fa_request *req, const char *method)
{
    struct fa_bytes parts[FA_URL_PARTS_MAX] = {{0}};
    struct fa_buf allow;
    bool is_found;

    fa_buf_init(&allow, 256);
    req->is_head = strcmp(method, "HEAD") == 0;
    req->route = fa_route_find(method, req->url.path, parts, &allow);
    is_found = req->route != NULL;
    if (is_found && parts[0].ptr) {
        req->part = fa_url_decode(parts[0], false, &req->arena);
        if (!req->part) {
            fa_respond_refusal(req, 400, FAINA_INVALID_REQUEST,
                               "the path is not percent-encoded UTF-8 text");
            is_found = false;
        }
    } else if (!is_found && allow.len > 0) {
        fa_response_header(req, "Allow", fa_arena_strdup(&req->arena, allow.ptr));
        if (strcmp(method, "OPTIONS") == 0)
            fa_respond_empty(req, 204);
        else
            fa_respond_refusal(req, 405, FAINA_INVALID_REQUEST,
                               "%.20s is not possible here, only %s", method, allow.ptr);
    } else if (!is_found) {
        fa_respond_refusal(req, 404, FAINA_NOT_FOUND, "there is nothing at %.200s", req->url.path);
    }
    fa_buf_finish(&allow);
    return is_found;
}

/* A word that ends in * is for all that begin so. */
static bool is_in_words(const char *words, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = words; at && *at; at += strcspn(at, " "), at += *at == ' ') {
        size_t size = strcspn(at, " ");

        if (size == len && memcmp(at, word, len) == 0)
            return true;
        if (at[size - 1] == '*' && len >= size && memcmp(at, word, size - 1) == 0)
            return true;
    }
    return false;
}

static bool check_query(struct fa_request *req)
{
    for (size_t i = 0; i < req->url.param_count; i++) {
        const char *name = req->url.params[i].name, *ours;
        struct faina_error err;

        if (is_in_words(req->route->query, name) ||
            (strcmp(name, "reason") == 0 && fa_request_takes_reason(req->route)))
            continue;
        for (size_t k = 0; (ours = fa_other_member(name, k)) != NULL; k++)
            if (is_in_words(req->route->query, ours))
                break;
        fa_error_field(&err, FAINA_INVALID_REQUEST, name, "unknown parameter \"%.40s\"; %s%s", name,
                       ours                ? "its name here is "
                       : req->route->query ? "there are: "
                                           : "there is none here",
                       ours                ? ours
                       : req->route->query ? req->route->query
                                           : "");
        fa_respond_problem(req, &err);
        return false;
    }
    return true;
}

static size_t body_size_max(const struct fa_request *req)
{
    if (req->route && req->route->flags & FA_ROUTE_LARGE)
        return FA_SERVER_BATCH_SIZE_MAX;
    return req->server->service->input_size_max + FA_SERVER_BODY_SIZE_EXTRA;
}

static bool check_length(struct fa_request *req)
{
    const char *text = fa_request_header(req, "Content-Length");
    size_t max = body_size_max(req);

    if (!text || strtoull(text, NULL, 10) <= max)
        return true;
    fa_respond_refusal(req, 413, FAINA_PAYLOAD_TOO_LARGE,
                       "the body is larger than %zu bytes, the limit here", max);
    return false;
}

static bool is_one_of(const struct fa_request *req, const char *const *types)
{
    while (*types && !fa_request_is_type(req, *types))
        types++;
    return *types != NULL;
}

static bool check_type(struct fa_request *req)
{
    static const char *const lines[] = {"application/x-ndjson", "application/ndjson",
                                        "application/jsonl", NULL};
    static const char *const yaml[] = {"application/yaml", "application/x-yaml", "text/yaml",
                                       "text/x-yaml", NULL};
    const char *encoding = fa_request_header(req, "Content-Encoding");

    if (encoding && strcasecmp(encoding, "identity") != 0) {
        fa_respond_refusal(req, 415, FAINA_INVALID_REQUEST,
                           "a compressed body is not supported: omit Content-Encoding");
        return false;
    }
    if (!is_write(req->route->method) || fa_request_is_type(req, "application/json"))
        return true;
    if (req->route->flags & FA_ROUTE_LINES && is_one_of(req, lines))
        return true;
    if (req->route->flags & FA_ROUTE_YAML && is_one_of(req, yaml))
        return true;
    /* Without a body no type is needed. */
    if (!fa_request_header(req, "Content-Type") && !fa_request_header(req, "Transfer-Encoding") &&
        (!fa_request_header(req, "Content-Length") ||
         strcmp(fa_request_header(req, "Content-Length"), "0") == 0))
        return true;
    fa_respond_refusal(req, 415, FAINA_INVALID_REQUEST,
                       "the body must be JSON, with the header Content-Type: application/json");
    return false;
}

/* The path and query. A target may be a URL, whose host overrides the header (RFC 9112, 3.2.2). */
static const char *split_target(struct fa_request *req)
{
    const char *scheme_end = strstr(req->target, "://"), *name;
    size_t len;

    req->host = fa_request_header(req, "Host");
    if (req->target[0] == '/' || !scheme_end)
        return req->target;
    name = scheme_end + 3;
    len = strcspn(name, "/?#");
    req->host = fa_arena_copy(&req->arena, name, len);
    return name[len] == '/' ? name + len : fa_arena_printf(&req->arena, "/%s", name + len);
}

void fa_request_head(struct fa_request *req, const char *method)
{
    const char *target = split_target(req);
    struct faina_error err;

    req->body.max = FA_SERVER_BATCH_SIZE_MAX;
    adopt_id(req);
    if (!check_host(req) || !check_origin(req, method))
        return;
    if (fa_url_parse(target, &req->arena, &req->url, &err) != FAINA_OK) {
        fa_respond_problem(req, &err);
        return;
    }
    if (!find_route(req, method) || !fa_login_check(req) || !fa_admission_count_token(req) ||
        !check_query(req) || !check_length(req) || !check_type(req))
        return;
    req->body.max = body_size_max(req);
}

/* ------------------------------------------------------------------------------------------
 * The body
 */

static void audit(struct fa_request *req)
{
    if (req->route->flags & FA_ROUTE_AUDIT)
        FA_LOG(req->server->log, FA_LOG_INFO, "administrative act", {"request", req->id},
               {"method", req->route->method}, {"path", req->url.path},
               {"token", req->grant.token_id});
}

/* An act without another body may have a reason. */
static void handle_with_reason(struct fa_request *req)
{
    struct fa_reason_body body = {0};

    if (!fa_request_read(req, &fa_body_reason, &body))
        return;
    req->reason = body.reason;
    req->route->handle(req);
}

void fa_request_dispatch(struct fa_request *req)
{
    assert(req->route);
    if (req->is_too_large) {
        fa_respond_refusal(req, 413, FAINA_PAYLOAD_TOO_LARGE,
                           "the body is larger than %zu bytes, the limit here", body_size_max(req));
        return;
    }
    if (req->has_no_room) {
        fa_respond_refusal(
            req, fa_code_http(FAINA_OVERLOADED), FAINA_OVERLOADED,
            "the bodies of all requests together are larger than %lld MiB; try again "
            "later",
            FA_SERVER_BODIES_SIZE_MAX >> 20);
        return;
    }
    audit(req);
    req->then = req->route->request == &fa_body_reason ? handle_with_reason : req->route->handle;
    req->state = FA_REQUEST_RETURNS;
}

struct fa_bytes fa_request_body(const struct fa_request *req)
{
    return (struct fa_bytes){req->body.ptr, req->body.len};
}

const char *fa_request_trace(const struct fa_request *req)
{
    const char *text = fa_request_header(req, "traceparent");
    struct fa_trace trace;

    return fa_trace_parse(text, &trace) && strlen(text) == FA_TRACE_SIZE - 1 ? text : NULL;
}

bool fa_request_is_type(const struct fa_request *req, const char *type)
{
    const char *value = fa_request_header(req, "Content-Type");
    size_t len;

    if (!value)
        return false;
    len = strcspn(value, "; \t");
    return len == strlen(type) && strncasecmp(value, type, len) == 0;
}

bool fa_request_read(struct fa_request *req, const struct fa_shape *body, void *out)
{
    struct faina_error err;

    fa_error_clear(&err);
    if (fa_body_read(fa_request_body(req), body, &req->arena, out, &err) == FAINA_OK)
        return true;
    fa_respond_problem(req, &err);
    return false;
}

/* ------------------------------------------------------------------------------------------
 * The query and the headers
 */

static bool refuse_param(struct fa_request *req, const char *name, const char *what)
{
    struct faina_error err;

    fa_error_field(&err, FAINA_INVALID_REQUEST, name, "%s must be %s", name, what);
    fa_respond_problem(req, &err);
    return false;
}

/* Digits only. */
static bool read_number(const char *text, uint64_t *out)
{
    size_t len = strlen(text);

    errno = 0;
    *out = strtoull(text, NULL, 10);
    return len > 0 && strspn(text, "0123456789") == len && errno == 0;
}

bool fa_request_int(struct fa_request *req, const char *name, int64_t min, int64_t max,
                    int64_t *out)
{
    const char *text = fa_url_param(&req->url, name);
    long long number;
    char *end, what[80];

    if (!text)
        return true;
    errno = 0;
    number = strtoll(text, &end, 10);
    if (isdigit((unsigned char)text[0]) && *end == '\0' && errno == 0 && number >= min &&
        number <= max) {
        *out = number;
        return true;
    }
    snprintf(what, sizeof(what), "a whole number between %lld and %lld", (long long)min,
             (long long)max);
    return refuse_param(req, name, what);
}

bool fa_request_bool(struct fa_request *req, const char *name, bool *out)
{
    const char *text = fa_url_param(&req->url, name);

    if (!text)
        return true;
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return refuse_param(req, name, "true or false");
    *out = text[0] == 't';
    return true;
}

bool fa_request_order(struct fa_request *req, bool *is_descending)
{
    const char *text = fa_url_param(&req->url, "order");

    if (!text)
        return true;
    if (strcmp(text, "desc") != 0 && strcmp(text, "asc") != 0)
        return refuse_param(req, "order", "desc or asc");
    *is_descending = text[0] == 'd';
    return true;
}

/* A parameter that `parse` reads. */
static bool read_param(struct fa_request *req, const char *name,
                       enum faina_code (*parse)(const char *text, const char *name, int64_t *out,
                                                struct faina_error *err),
                       int64_t *out)
{
    const char *text = fa_url_param(&req->url, name);
    struct faina_error err;

    fa_error_clear(&err);
    if (!text || parse(text, name, out, &err) == FAINA_OK)
        return true;
    fa_respond_problem(req, &err);
    return false;
}

bool fa_request_time(struct fa_request *req, const char *name, int64_t *out_us)
{
    return read_param(req, name, fa_time_parse, out_us);
}

bool fa_request_duration(struct fa_request *req, const char *name, int64_t *out_ms)
{
    return read_param(req, name, fa_duration_parse, out_ms);
}

const char *fa_request_status_hint(struct fa_request *req, const char *word)
{
    const char *ours = fa_other_status(word);

    return ours ? fa_arena_printf(&req->arena, "; \"%.40s\" is %s here", word, ours) : "";
}

bool fa_request_statuses(struct fa_request *req, const char *text, unsigned *out)
{
    do {
        size_t len = strcspn(text, ",");
        const char *word = fa_arena_copy(&req->arena, text, len);
        enum faina_status status;

        if (!fa_status_parse(word, &status))
            return refuse_param(
                req, "status",
                fa_arena_printf(&req->arena,
                                "one or more of pending, claimed, running, blocked, background, "
                                "completed, failed, dead_letter and cancelled, separated by "
                                "commas%s",
                                fa_request_status_hint(req, word)));
        *out |= 1u << status;
        text += len + (text[len] == ',');
    } while (*text);
    return true;
}

bool fa_request_part(struct fa_request *req, struct fa_part *part)
{
    int64_t limit = 0;

    if (!fa_request_int(req, "limit", 1, FA_LIST_LIMIT_MAX, &limit))
        return false;
    *part = (struct fa_part){
        .is_asked = true, .limit = (int)limit, .cursor = fa_url_param(&req->url, "cursor")};
    return true;
}

bool fa_request_matches_path(struct fa_request *req, const char *field, const char *value)
{
    struct faina_error err;

    if (!value || (req->part && strcmp(value, req->part) == 0))
        return true;
    fa_error_field(&err, FAINA_INVALID_REQUEST, field,
                   req->part ? "%s is not the one in the path" : "%s is set by the engine", field);
    fa_respond_problem(req, &err);
    return false;
}

/* A version; with may_be_disabled it may be followed by FA_TAG_DISABLED, and is negative then. */
static bool read_version(struct fa_request *req, const char *text, bool may_be_disabled,
                         int64_t *out)
{
    size_t len = strlen(text), tail = strlen(FA_TAG_DISABLED);
    bool is_disabled =
        may_be_disabled && len > tail && strcmp(text + len - tail, FA_TAG_DISABLED) == 0;
    uint64_t version;

    if (is_disabled)
        text = fa_arena_copy(&req->arena, text, len - tail);
    if (!read_number(text, &version) || version == 0 || version > INT64_MAX)
        return false;
    *out = is_disabled ? -(int64_t)version : (int64_t)version;
    return true;
}

static bool read_if_match(struct fa_request *req, const char *what, bool may_be_disabled,
                          int64_t *out)
{
    const char *text = fa_request_header(req, "If-Match");
    size_t len = text ? strlen(text) : 0;
    struct faina_error err;
    bool is_tag = false;

    *out = 0;
    if (!text || strcmp(text, "*") == 0)
        return true;
    if (strncmp(text, "W/", 2) == 0) { /* a weak tag never matches (RFC 9110, 13.1.1) */
        fa_error_set(&err, FAINA_VERSION_CONFLICT,
                     "If-Match is a weak tag, which matches no version");
        fa_respond_problem(req, &err);
        return false;
    }
    if (len >= 2 && text[0] == '"' && strchr(text + 1, '"') == text + len - 1) {
        text = fa_arena_copy(&req->arena, text + 1, len - 2);
        is_tag = true;
    }
    if (read_version(req, text, may_be_disabled, out))
        return true;
    if (is_tag)
        fa_error_set(&err, FAINA_VERSION_CONFLICT, "If-Match is not a version of a %s", what);
    else
        fa_error_field(&err, FAINA_INVALID_REQUEST, "If-Match",
                       "If-Match must be a single ETag of a %s, such as \"3\"", what);
    fa_respond_problem(req, &err);
    return false;
}

bool fa_request_version(struct fa_request *req, int64_t *out)
{
    return read_if_match(req, "task", false, out);
}

bool fa_request_workflow_version(struct fa_request *req, int64_t *out)
{
    return read_if_match(req, "workflow", true, out);
}

bool fa_request_unversioned(struct fa_request *req)
{
    const char *text = fa_request_header(req, "If-Match");
    struct faina_error err;

    if (!text || strcmp(text, "*") == 0)
        return true;
    fa_error_set(&err, FAINA_VERSION_CONFLICT, "this resource has no version: omit If-Match");
    fa_respond_problem(req, &err);
    return false;
}

const char *fa_request_namespace(const struct fa_request *req, const char *ns)
{
    return ns ? ns : fa_access_default_ns(&req->grant);
}

bool fa_request_may(struct fa_request *req, unsigned what)
{
    struct faina_error err;

    if (fa_access_enter(what, &req->grant, &err) == FAINA_OK)
        return true;
    fa_respond_problem(req, &err);
    return false;
}

/* ------------------------------------------------------------------------------------------
 * Running
 */

struct fa_op *fa_request_ops(struct fa_request *req, size_t count)
{
    struct fa_op *ops = fa_arena_zero(&req->arena, count + 1, sizeof(*ops));

    for (size_t i = 0; i < count; i++) {
        ops[i].arena = &req->arena;
        ops[i].grant = &req->grant;
        ops[i].request_id = req->id;
    }
    req->posted.ops = ops;
    req->posted.count = count;
    req->posted.work = NULL;
    return ops;
}

struct fa_op *fa_request_op(struct fa_request *req, enum fa_op_kind kind)
{
    struct fa_op *op = fa_request_ops(req, 1);

    op->kind = kind;
    return op;
}

struct fa_op *fa_request_part_op(struct fa_request *req, enum fa_op_kind kind)
{
    struct fa_op *op = fa_request_op(req, kind);

    op->id = req->part;
    return op;
}

bool fa_request_takes_reason(const struct fa_route *route)
{
    return route->what == FA_ACCESS_STATUS ||
           (route->what < FA_OP_COUNT && strcmp(route->method, "GET") != 0 &&
            fa_access_is_managing((enum fa_op_kind)route->what));
}

/* The reason is in the body, or a parameter. */
void fa_request_reason(struct fa_request *req, const char *reason)
{
    for (size_t i = 0; reason && i < req->posted.count; i++)
        req->posted.ops[i].by.reason = reason;
}

static void run(struct fa_request *req, fa_handler *then)
{
    const char *reason = req->reason ? req->reason : fa_url_param(&req->url, "reason");

    assert(req->state != FA_REQUEST_RESPONDS);
    for (size_t i = 0; reason && i < req->posted.count; i++)
        if (!req->posted.ops[i].by.reason)
            req->posted.ops[i].by.reason = reason;
    req->then = then;
    req->state = FA_REQUEST_RUNS;
}

void fa_request_run(struct fa_request *req, fa_handler *then)
{
    req->how = FA_RUN_PLAIN;
    run(req, then);
}

void fa_request_claim_wait(struct fa_request *req, fa_handler *then)
{
    req->how = FA_RUN_CLAIM_WAIT;
    run(req, then);
}

void fa_request_task_wait(struct fa_request *req, int64_t wait_ms, fa_handler *then)
{
    req->how = FA_RUN_TASK_WAIT;
    req->wait_ms = wait_ms;
    run(req, then);
}

void fa_request_run_backup(struct fa_request *req, fa_handler *then)
{
    fa_request_ops(req, 0);
    req->how = FA_RUN_BACKUP;
    run(req, then);
}

void fa_request_work(struct fa_request *req, fa_posted_fn *work, fa_handler *then)
{
    fa_request_ops(req, 0);
    req->posted.work = work;
    fa_request_run(req, then);
}

static void reload_access(struct fa_posted *posted)
{
    struct fa_request *req = (struct fa_request *)posted;
    struct faina_error err;

    if (fa_server_load_tokens(req->server, &err) != FAINA_OK)
        FA_LOG(req->server->log, FA_LOG_WARN, "the tokens can't be read", {"why", err.message});
}

void fa_request_reload_access(struct fa_request *req, fa_handler *then)
{
    fa_request_work(req, reload_access, then);
}

bool fa_request_refused(struct fa_request *req)
{
    if (req->posted.ops[0].code == FAINA_OK)
        return false;
    fa_respond_problem(req, &req->posted.ops[0].error);
    return true;
}
