/*
 * http.c - from a received request to the bytes of its response.
 *
 * A connection (connection.h) passes the head of a request, the parts of its body and the end of
 * the body. The request's handler then responds, or sets up operations. These are posted (post.h),
 * and the loop (http_loop.h) continues the request when they are done.
 */
#include "server/server_inner.h"

#include "base/clock.h"
#include "model/codes.h"
#include "server/http/tls.h"
#include "server/routes/route.h"
#include "wire/wire.h"

#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#define ZLIB_CONST /* inflate reads what is constant */
#include <zlib.h>

#define GZIP_SIZE_MIN 2048
#define BODY_RESERVE_MAX ((size_t)256 * 1024)
#define DISCARD_SIZE_MAX (16 * 1024 * 1024) /* of the body of a refused request */
#define NO_ROOM "too many large answers wait to be read; try again later"

/* ------------------------------------------------------------------------------------------
 * The head of a response
 */

static const struct {
    int status;
    const char *reason;
} reasons[] = {
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {207, "Multi-Status"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
};

static const char *reason_of(int status)
{
    for (size_t i = 0; i < FA_COUNT(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "";
}

static void put_date(struct fa_buf *out)
{
    time_t now = time(NULL);
    char date[64];
    struct tm tm;

    gmtime_r(&now, &tm);
    strftime(date, sizeof(date), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &tm);
    fa_buf_add_str(out, date);
}

static void begin_head(struct fa_buf *out, int status)
{
    fa_buf_clear(out);
    fa_buf_printf(out, "HTTP/1.1 %d %s\r\n", status, reason_of(status));
    put_date(out);
}

static void put_header(struct fa_buf *out, const char *name, const char *value)
{
    fa_buf_add_str(out, name);
    fa_buf_add_str(out, ": ");
    fa_buf_add_str(out, value);
    fa_buf_add_str(out, "\r\n");
}

/* Headers of every response. */
static void put_common(struct fa_buf *out, const char *id, bool may_be_kept)
{
    put_header(out, "X-Request-Id", id);
    if (!may_be_kept)
        put_header(out, "Cache-Control", "no-store");
    put_header(out, "X-Content-Type-Options", "nosniff");
}

void fa_http_write_refusal(struct fa_server *server, int status, const char *message,
                           struct fa_buf *out)
{
    enum faina_code code = status == 413                    ? FAINA_PAYLOAD_TOO_LARGE
                           : status == 429 || status == 503 ? FAINA_OVERLOADED
                                                            : FAINA_INVALID_REQUEST;
    char id[FA_REQUEST_ID_SIZE];
    struct fa_json_writer w;
    struct faina_error err;
    struct fa_buf text;

    fa_error_set(&err, code, "%s", message);
    fa_buf_init(&text, 4096);
    fa_json_writer_init(&w, &text, 0);
    fa_wire_put_problem_as(&w, &err, status, NULL);
    fa_request_make_id(server, id);
    begin_head(out, status);
    put_header(out, "Connection", "close");
    put_header(out, "Content-Type", "application/problem+json");
    if (status == 429 || status == 503)
        put_header(out, "Retry-After", FA_RETRY_AFTER_SECONDS);
    put_common(out, id, false);
    fa_buf_printf(out, "Content-Length: %zu\r\n\r\n", text.len);
    fa_buf_add(out, text.ptr, text.len);
    fa_buf_finish(&text);
    FA_LOG(server->log, FA_LOG_DEBUG, "no request", {"request", id}, {"why", err.message});
    fa_metrics_request(server->metrics, fa_route_count, status, 0);
}

/* ------------------------------------------------------------------------------------------
 * Responding
 */

const char *fa_request_header(const struct fa_request *req, const char *name)
{
    return fa_head_field(&req->head, name);
}

/* Whether a value like "br, gzip;q=0.5" allows gzip: names it, or "*", with a quality above 0. */
static bool allows_gzip(const char *text)
{
    while (text && *text) {
        const char *quality;
        size_t len, name;

        text += strspn(text, " \t");
        len = strcspn(text, ",");
        name = strcspn(text, ",; \t");
        quality = memmem(text, len, "q=", 2);
        if ((name == 1 && text[0] == '*') || (name == 4 && strncasecmp(text, "gzip", 4) == 0))
            return !quality || strspn(quality + 2, "0.") < strcspn(quality + 2, ",; \t");
        text += len + (text[len] == ',');
    }
    return false;
}

/* Compresses req->out when the client accepts gzip. */
static bool compress_out(struct fa_request *req)
{
    z_stream z = {0};
    struct fa_buf compressed;
    int rc;

    if (!allows_gzip(fa_request_header(req, "Accept-Encoding")))
        return false;
    if (deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    fa_buf_init(&compressed, SIZE_MAX / 2);
    compressed.size = deflateBound(&z, req->out.len) + 1;
    compressed.ptr = fa_alloc(compressed.size);
    z.next_in = (unsigned char *)req->out.ptr;
    z.avail_in = (unsigned)req->out.len;
    z.next_out = (unsigned char *)compressed.ptr;
    z.avail_out = (unsigned)compressed.size;
    rc = deflate(&z, Z_FINISH);
    compressed.len = z.total_out;
    deflateEnd(&z);
    if (rc != Z_STREAM_END) {
        fa_buf_finish(&compressed);
        return false;
    }
    fa_buf_finish(&req->out);
    req->out = compressed;
    return true;
}

/* Decompresses into req->out. False: the bytes are not what was compressed. */
static bool expand_out(struct fa_request *req, struct fa_bytes gzip, size_t size)
{
    z_stream z = {0};
    int rc;

    if (inflateInit2(&z, 15 + 16) != Z_OK)
        return false;
    fa_buf_finish(&req->out);
    fa_buf_init(&req->out, FA_RESPONSE_SIZE_MAX);
    req->out.size = size + 1;
    req->out.ptr = fa_alloc(req->out.size);
    z.next_in = (const unsigned char *)gzip.ptr;
    z.avail_in = (unsigned)gzip.len;
    z.next_out = (unsigned char *)req->out.ptr;
    z.avail_out = (unsigned)size;
    rc = inflate(&z, Z_FINISH);
    req->out.len = z.total_out;
    req->out.ptr[req->out.len] = '\0';
    inflateEnd(&z);
    return rc == Z_STREAM_END && req->out.len == size;
}

void fa_respond_gzipped(struct fa_request *req, const char *content_type, struct fa_bytes gzip,
                        size_t size)
{
    bool is_accepted = allows_gzip(fa_request_header(req, "Accept-Encoding"));

    if (is_accepted) {
        fa_buf_clear(&req->out);
        fa_buf_add(&req->out, gzip.ptr, gzip.len);
    } else if (!expand_out(req, gzip, size)) {
        fa_respond_refusal(req, 500, FAINA_INTERNAL, "a file of the program is damaged");
        return;
    }
    fa_respond_out(req, 200, content_type);
    req->uncompressed_size = size;
    req->may_be_compressed = true;
    req->is_compressed = is_accepted;
    req->is_ready = true;
}

static size_t route_index(const struct fa_request *req)
{
    return req->route ? (size_t)(req->route - fa_routes) : fa_route_count;
}

static void log_request(struct fa_request *req)
{
    /* Refused connections have a log line of their own, at most every few seconds (accept.c). */
    bool is_refused = req->peer && req->peer->admission.refusal != FA_REFUSAL_NONE;
    enum fa_log_level level = req->status >= 500 && !is_refused ? FA_LOG_WARN : FA_LOG_DEBUG;
    int64_t ns = fa_clock_mono_ns() - req->begun_ns;
    char status[16], ms[32];

    fa_metrics_request(req->server->metrics, route_index(req), req->status, ns);
    if (!fa_log_takes(req->server->log, level))
        return;
    snprintf(status, sizeof(status), "%d", req->status);
    snprintf(ms, sizeof(ms), "%.3f", (double)ns / 1e6);
    FA_LOG(req->server->log, level, "request", {"request", req->id},
           {"method", req->route ? req->route->method : NULL}, {"path", req->url.path},
           {"status", status, true}, {"ms", ms, true}, {"token", req->grant.token_id});
}

static bool is_get(const struct fa_request *req)
{
    return req->route && strcmp(req->route->method, "GET") == 0;
}

/* Counts the memory of the request's response, or of the data that it is made from, instead of what
 * was counted before. False: together with all other responses that is too much. */
static bool count_response_bytes(struct fa_request *req, size_t size)
{
    long long more = (long long)size - (long long)req->response_counted;

    if (is_get(req) && more > 0 &&
        atomic_load(&req->server->response_bytes) + more > req->server->options.unsent_max)
        return false;
    req->response_counted = size;
    atomic_fetch_add(&req->server->response_bytes, more);
    return true;
}

/* Clients that don't read their responses must not use up the memory. The response to a change is
 * always sent: without it the client would repeat the change. False: there is no room, and the
 * response is a refusal now. */
static bool count_response(struct fa_request *req)
{
    bool is_small = req->stream || req->out.len <= FA_SERVER_RESPONSE_SIZE_SMALL;

    if (is_small && req->response_counted == 0)
        return true;
    if (count_response_bytes(req, is_small ? 0 : req->out.len))
        return true;
    fa_respond_instead(req, FAINA_OVERLOADED, NO_ROOM);
    return false;
}

/* A large response may take long to be sent. The data that it was made from is freed before. */
static void drop_sources(struct fa_request *req)
{
    if (req->stream || req->uncompressed_size <= FA_SERVER_RESPONSE_SIZE_SMALL)
        return;
    req->posted.ops = NULL;
    req->posted.count = 0;
    fa_arena_finish(&req->arena);
    fa_arena_finish(&req->posted.answers);
}

/* Completes a response before it is sent. */
static void make_ready(struct fa_request *req)
{
    req->uncompressed_size = req->out.len;
    req->may_be_compressed = req->content_type && !req->stream && req->out.len >= GZIP_SIZE_MIN;
    req->is_compressed = req->may_be_compressed && compress_out(req);
    req->is_ready = true;
}

/* The body of the response belongs to the request until it is sent. */
static void put_response_head(struct fa_request *req, struct fa_buf *out, bool has_body)
{
    const char *trace = fa_request_trace(req);
    bool may_be_kept = false;

    begin_head(out, req->status);
    if (req->content_type)
        put_header(out, "Content-Type", req->content_type);
    if (req->is_compressed)
        put_header(out, "Content-Encoding", "gzip");
    if (req->may_be_compressed)
        put_header(out, "Vary", "Accept-Encoding");
    for (size_t i = 0; i < req->header_count; i++) {
        put_header(out, req->headers[i].name, req->headers[i].value);
        may_be_kept = may_be_kept || strcmp(req->headers[i].name, "Cache-Control") == 0;
    }
    if (trace)
        put_header(out, "traceparent", trace);
    put_common(out, req->id, may_be_kept);
    if (req->closes)
        put_header(out, "Connection", "close");
    else if (req->head.is_1_0)
        put_header(out, "Connection", "keep-alive");
    if (req->stream && has_body && !req->head.is_1_0)
        put_header(out, "Transfer-Encoding", "chunked");
    else if (!req->stream && req->status != 204 && req->status != 304)
        fa_buf_printf(out, "Content-Length: %zu\r\n",
                      req->has_file ? (size_t)req->file_size : req->out.len);
    fa_buf_add_str(out, "\r\n");
}

static void send_response(struct fa_request *req)
{
    struct fa_connection *peer = req->peer;
    bool has_body = !req->is_head && req->status != 204 && req->status != 304;

    if (!req->is_ready)
        make_ready(req);
    if (!count_response(req)) {
        req->is_compressed = false;
        req->uncompressed_size = req->out.len;
    }
    if (atomic_load(&req->server->is_draining) || (req->stream && req->head.is_1_0) ||
        (peer->tls && !fa_tls_session_is_current(req->server->tls, peer->tls)))
        req->closes = true;
    put_response_head(req, &peer->out, has_body);
    peer->has_body = has_body;
    log_request(req);
    drop_sources(req);
    fa_connection_send(peer, req);
}

/* ------------------------------------------------------------------------------------------
 * Running
 */

static void on_done(struct fa_posted *posted)
{
    struct fa_request *req = (struct fa_request *)posted;

    fa_http_loop_add_done(&req->listener->loop, req);
}

/* The client has gone, or isn't authorized any more. */
static bool is_gone(const struct fa_posted *posted)
{
    const struct fa_request *req = (const struct fa_request *)posted;
    struct pollfd poller = {.fd = fa_http_socket(req), .events = POLLRDHUP};

    if (!fa_request_is_still_authorized(req))
        return true;
    if (req->how == FA_RUN_TASK_WAIT)
        return false; /* no task is lost with it, and the client may have closed only its side */
    return poller.fd >= 0 && poll(&poller, 1, 0) > 0 &&
           poller.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

void fa_http_refuse(struct fa_request *req, enum faina_code code)
{
    fa_respond_refusal(req, code == FAINA_OVERLOADED ? 429 : 503, code,
                       code == FAINA_OVERLOADED ? "too much is queued already; try again later"
                                                : "the server is shutting down");
}

/* Runs `work` in post's thread for long work. False: that thread's queue is full. */
static bool pass_work(struct fa_request *req, fa_posted_fn *work)
{
    req->posted.done = on_done;
    req->posted.work = work;
    req->posted.is_long = true;
    req->waits = FA_REQUEST_WAITS;
    if (fa_post(req->server->post, &req->posted) == FAINA_OK)
        return true;
    req->waits = FA_REQUEST_NOT_WAITING;
    req->posted.work = NULL;
    req->posted.is_long = false;
    return false;
}

/* Prepares operations in post's thread for long work, so that the loop isn't delayed. */
static void do_prepare(struct fa_posted *posted)
{
    struct fa_request *req = (struct fa_request *)posted;

    req->posted.work = NULL;
    req->posted.is_long = false;
    fa_service_prepare(req->server->service, req->posted.ops, req->posted.count);
}

/* Starts the operations of the request. */
static enum faina_code start(struct fa_request *req)
{
    switch (req->how) {
    case FA_RUN_PLAIN:
        return fa_post(req->server->post, &req->posted);
    case FA_RUN_CLAIM_WAIT:
        return fa_post_claim_wait(req->server->post, &req->posted);
    case FA_RUN_TASK_WAIT:
        return fa_post_wait(req->server->post, &req->posted, req->wait_ms);
    case FA_RUN_BACKUP:
        return fa_backup_start(req);
    }
    return FAINA_INTERNAL;
}

static void run(struct fa_request *req)
{
    bool is_wait = req->how == FA_RUN_CLAIM_WAIT || req->how == FA_RUN_TASK_WAIT;
    enum faina_code code;

    if (req->how == FA_RUN_PLAIN) {
        fa_service_check(req->server->service, req->posted.ops, req->posted.count);
        if (fa_service_is_heavy(req->server->service, req->posted.ops, req->posted.count) &&
            pass_work(req, do_prepare))
            return; /* the loop calls this function again afterwards */
    }
    req->posted.done = on_done;
    req->posted.is_gone = is_gone;
    req->state = FA_REQUEST_RETURNS;
    if (is_wait && !fa_admission_hold_request(req)) {
        send_response(req);
        return;
    }
    req->waits = req->how == FA_RUN_CLAIM_WAIT ? FA_REQUEST_WAITS_FOR_WORK : FA_REQUEST_WAITS;
    code = start(req);
    if (code == FAINA_OK) {
        if (req->peer->is_hung_up)
            fa_http_on_hang_up(req);
        return;
    }
    req->waits = FA_REQUEST_NOT_WAITING;
    fa_http_refuse(req, code);
    send_response(req);
}

void fa_http_on_hang_up(struct fa_request *req)
{
    if (req->waits == FA_REQUEST_WAITS_FOR_WORK)
        fa_post_cancel_claim(req->server->post, &req->posted);
}

/* ------------------------------------------------------------------------------------------
 * Steps
 */

/* The size of the data that the response is made from. */
static size_t sources_size(const struct fa_request *req)
{
    return req->arena.size + req->posted.answers.size;
}

/* A large step takes long: reading 64 MiB of JSON takes seconds. */
static bool is_large(const struct fa_request *req)
{
    return req->body.len + sources_size(req) > FA_SERVER_STEP_SIZE_MAX && !req->stays;
}

/* All parts of a step that take long. */
static void do_step(struct fa_posted *posted)
{
    struct fa_request *req = (struct fa_request *)posted;

    req->posted.work = NULL;
    req->posted.is_long = false;
    /* After all connections were cut, a request that has not begun is refused. */
    if (atomic_load(&req->server->is_cut) && req->then == req->route->handle)
        fa_http_refuse(req, FAINA_STORE_CLOSED);
    else
        req->then(req);
    if (req->state == FA_REQUEST_RESPONDS)
        make_ready(req);
    else if (req->how == FA_RUN_PLAIN)
        fa_service_check(req->server->service, req->posted.ops, req->posted.count);
}

/* Runs the step in post's thread for long work. False: that thread's queue is full. */
static bool pass_step(struct fa_request *req)
{
    return pass_work(req, do_step);
}

void fa_http_go_on(struct fa_request *req)
{
    if (req->state == FA_REQUEST_RETURNS && req->how == FA_RUN_TASK_WAIT)
        fa_request_check_still_authorized(req);
    if (req->state == FA_REQUEST_RETURNS && is_large(req)) {
        if (is_get(req) && !count_response_bytes(req, sources_size(req)))
            fa_respond_refusal(req, fa_code_http(FAINA_OVERLOADED), FAINA_OVERLOADED, NO_ROOM);
        else if (pass_step(req))
            return;
    }
    if (req->state == FA_REQUEST_RETURNS)
        req->then(req);
    if (req->state == FA_REQUEST_RUNS)
        run(req);
    else
        send_response(req);
}

/* ------------------------------------------------------------------------------------------
 * Receiving
 */

/* Frees a refused body. */
static void drop_body(struct fa_request *req)
{
    size_t max = req->body.max;

    fa_buf_finish(&req->body);
    fa_buf_init(&req->body, max);
    atomic_fetch_sub(&req->server->body_bytes, (long long)req->body_counted);
    req->body_counted = 0;
}

static void take_body(struct fa_request *req, const char *data, size_t size)
{
    if (req->state == FA_REQUEST_RESPONDS || req->is_too_large || req->has_no_room)
        return; /* it is refused already: the rest of the body is discarded */
    req->is_too_large = req->body.len + size > req->body.max;
    req->has_no_room =
        !req->is_too_large &&
        atomic_load(&req->server->body_bytes) + (long long)size > FA_SERVER_BODIES_SIZE_MAX;
    if (req->is_too_large || req->has_no_room) {
        drop_body(req);
        return;
    }
    fa_buf_add(&req->body, data, size);
    req->body_counted += size;
    atomic_fetch_add(&req->server->body_bytes, (long long)size);
}

/* The body of a refused request is read and discarded, unless it is huge: many clients read the
 * response only after they have sent everything, and the connection can be used again. */
static bool discards_body(const struct fa_request *req)
{
    return req->head.has_length && !req->head.expects_continue &&
           req->head.length <= DISCARD_SIZE_MAX;
}

/* Allocates a body of known size at once, up to a limit: the client may send less. */
static void reserve_body(struct fa_request *req)
{
    uint64_t size = req->head.has_length ? req->head.length : 0;

    fa_buf_reserve(&req->body, size < BODY_RESERVE_MAX ? (size_t)size : BODY_RESERVE_MAX);
}

void fa_http_on_head(struct fa_request *req)
{
    struct fa_connection *peer = req->peer;
    enum fa_refusal refusal = peer->admission.refusal;

    if (refusal != FA_REFUSAL_NONE) {
        req->closes = true;
        fa_respond_refusal(req, fa_refusal_status(refusal), FAINA_OVERLOADED, "%s",
                           fa_refusal_message(refusal));
        send_response(req);
        return;
    }
    fa_request_head(req, req->head.method);
    if (req->state != FA_REQUEST_RESPONDS) {
        reserve_body(req);
        return;
    }
    if (!discards_body(req) && (req->head.has_length || req->head.is_chunked)) {
        req->closes = true;
        send_response(req);
    }
}

void fa_http_on_body(struct fa_request *req, const char *data, size_t size)
{
    take_body(req, data, size);
}

void fa_http_on_body_end(struct fa_request *req)
{
    if (req->state != FA_REQUEST_RESPONDS)
        fa_request_dispatch(req);
    fa_http_go_on(req);
}

/* ------------------------------------------------------------------------------------------
 * Connections of requests
 */

int fa_http_socket(const struct fa_request *req)
{
    return req->peer ? req->peer->fd : -1;
}

struct fa_admission *fa_http_admission(const struct fa_request *req)
{
    return &req->peer->admission;
}

/* The connection sends again after `wake`; there is nothing to do before. */
static void sleep_connection(void *ctx)
{
    (void)ctx;
}

/* The loop continues the connection in its turn. */
static void wake_connection(void *ctx)
{
    struct fa_request *req = ctx;

    fa_http_loop_resume(&req->listener->loop, req);
}

static void cut_connection(void *ctx)
{
    shutdown(fa_http_socket(ctx), SHUT_RDWR);
}

const struct fa_stream_calls fa_http_stream_calls = {
    .sleep = sleep_connection, .wake = wake_connection, .cut = cut_connection};
