/*
 * http.c - between libmicrohttpd and requests.
 *
 * The library calls `on_access` for the head, for each piece of the body, at its end, and again
 * while the request waits. A request that has operations to run posts them, and waits as loop.h
 * says until they are done.
 *
 * The library gives up on a connection that is silent, but not on one that sends a byte now and
 * then. So every connection is in a list with the time by which it must have got on, and a sweeper
 * shuts the sockets of those that have not.
 */
#include "server/inner.h"

#include "base/clock.h"
#include "model/codes.h"
#include "server/route.h"

#include <errno.h>
#include <limits.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#define SILENT_SECONDS 60
#define SWEEP_MS 1000
#define GZIP_SIZE_MIN 2048
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2" /* of GnuTLS */
#define STREAM_PIECE_SIZE 4096
#define STREAM_SEND_SIZE (64 * 1024) /* the kernel doubles it */
#define BODY_SIZE_BELIEVED ((size_t)256 * 1024)
#define SWALLOW_SIZE_MAX (16 * 1024 * 1024) /* of a body that nobody wants */
#define NO_ROOM "too many large answers wait to be read; try again later"

struct fa_connection {
    struct fa_connection *next, **link;
    struct fa_server *server;
    int fd;
    int64_t until_us; /* monotonic; INT64_MAX: it is our turn */
    struct fa_admission admission;
    struct fa_framing framing;        /* framing.h; not followed over TLS */
    unsigned long long request_count; /* that the library has begun to read */
};

/* ------------------------------------------------------------------------------------------
 * Connections
 */

static struct fa_connection *connection_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? *(void *const *)(const void *)&info->socket_context : NULL;
}

struct fa_server *fa_http_server_of(struct MHD_Connection *connection)
{
    return connection_of(connection)->server;
}

static void set_until(struct fa_server *server, struct fa_connection *peer, int64_t seconds)
{
    int64_t until = seconds > 0 ? fa_clock_mono_us() + seconds * 1000000 : INT64_MAX;

    if (!peer)
        return;
    pthread_mutex_lock(&server->mutex);
    peer->until_us = until;
    pthread_mutex_unlock(&server->mutex);
}

/* What it is counted in. */
static size_t *counter_of(const struct fa_connection *peer)
{
    return peer->admission.refusal == FA_REFUSAL_NONE ? &peer->server->connection_count
                                                      : &peer->server->refused_open;
}

static void connection_begin(struct fa_listener_socket *listener, struct MHD_Connection *connection,
                             void **context)
{
    struct fa_server *server = listener->server;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct fa_connection *peer = fa_alloc_zero(1, sizeof(*peer));

    peer->server = server;
    peer->fd = info ? info->connect_fd : -1;
    peer->admission = fa_acceptor_take(&listener->acceptor);
    peer->until_us = fa_clock_mono_us() + 1000000LL * (peer->admission.refusal == FA_REFUSAL_NONE
                                                           ? FA_SERVER_HEAD_SECONDS
                                                           : FA_SERVER_REFUSAL_SECONDS);
    pthread_mutex_lock(&server->mutex);
    peer->next = server->connections;
    peer->link = &server->connections;
    if (peer->next)
        peer->next->link = &peer->next;
    server->connections = peer;
    *counter_of(peer) += 1;
    pthread_mutex_unlock(&server->mutex);
    *context = peer;
}

static void connection_end(struct fa_server *server, void **context)
{
    struct fa_connection *peer = *context;

    if (!peer)
        return;
    pthread_mutex_lock(&server->mutex);
    *peer->link = peer->next;
    if (peer->next)
        peer->next->link = peer->link;
    *counter_of(peer) -= 1;
    pthread_mutex_unlock(&server->mutex);
    fa_admission_end(server, &peer->admission);
    *context = NULL;
    free(peer);
}

/* Begins or ends following the bytes that the library receives. */
static void follow(struct fa_listener_socket *listener, struct fa_connection *peer, bool begins)
{
    if (peer)
        fa_receivers_set(&listener->receivers, peer->fd, begins ? &peer->framing : NULL);
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct fa_listener_socket *listener = ctx;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        atomic_fetch_add(&listener->connection_count, 1);
        connection_begin(listener, connection, context);
        if (!listener->has_tls)
            follow(listener, *context, true);
    } else {
        if (!listener->has_tls)
            follow(listener, *context, false);
        connection_end(listener->server, context);
        atomic_fetch_sub(&listener->connection_count, 1);
    }
}

/* Nothing will come any more from who should send something. The library reads less often than it
 * could, and then doesn't notice an end that came together with the last bytes. */
static bool is_hung_up(const struct fa_connection *peer)
{
    char byte;

    return recv(peer->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void *run_sweeper(void *ctx)
{
    struct fa_server *server = ctx;

    pthread_mutex_lock(&server->mutex);
    while (!server->is_over) {
        int64_t now_us = fa_clock_mono_us(), next_us = now_us + SWEEP_MS * 1000;
        struct timespec until = {.tv_sec = next_us / 1000000, .tv_nsec = next_us % 1000000 * 1000};

        for (struct fa_connection *peer = server->connections; peer; peer = peer->next) {
            if (peer->until_us == INT64_MAX || (peer->until_us > now_us && !is_hung_up(peer)))
                continue;
            /* The library sees that, and closes. */
            shutdown(peer->fd, SHUT_RDWR);
            peer->until_us = INT64_MAX;
        }
        pthread_cond_timedwait(&server->sweeper_cond, &server->mutex, &until);
    }
    pthread_mutex_unlock(&server->mutex);
    return NULL;
}

struct fa_admission *fa_http_admission(const struct fa_request *req)
{
    return &req->peer->admission;
}

void fa_http_cut(struct fa_server *server)
{
    atomic_store(&server->is_cut, true);
    pthread_mutex_lock(&server->mutex);
    for (struct fa_connection *peer = server->connections; peer; peer = peer->next)
        shutdown(peer->fd, SHUT_RDWR);
    pthread_mutex_unlock(&server->mutex);
}

enum faina_code fa_http_start_sweeper(struct fa_server *server, struct faina_error *err)
{
    int rc = pthread_create(&server->sweeper, NULL, run_sweeper, server);

    if (rc != 0)
        return fa_error_set(err, FAINA_UNAVAILABLE, "no thread can be started: %s", strerror(rc));
    pthread_setname_np(server->sweeper, "fa-sweeper");
    server->has_sweeper = true;
    return FAINA_OK;
}

void fa_http_stop_sweeper(struct fa_server *server)
{
    if (!server->has_sweeper)
        return;
    pthread_mutex_lock(&server->mutex);
    server->is_over = true;
    pthread_cond_signal(&server->sweeper_cond);
    pthread_mutex_unlock(&server->mutex);
    pthread_join(server->sweeper, NULL);
    server->has_sweeper = false;
}

/* ------------------------------------------------------------------------------------------
 * Sending
 */

const char *fa_request_header(const struct fa_request *req, const char *name)
{
    return MHD_lookup_connection_value(req->connection, MHD_HEADER_KIND, name);
}

/* Whether "br, gzip;q=0.5" and the like allow gzip: it, or any, with a quality that isn't 0. */
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

/* Packs req->out when the client takes that and it is worth it. */
static bool pack(struct fa_request *req)
{
    z_stream z = {0};
    struct fa_buf packed;
    int rc;

    if (!allows_gzip(fa_request_header(req, "Accept-Encoding")))
        return false;
    if (deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    fa_buf_init(&packed, SIZE_MAX / 2);
    packed.size = deflateBound(&z, req->out.len) + 1;
    packed.ptr = fa_alloc(packed.size);
    z.next_in = (unsigned char *)req->out.ptr;
    z.avail_in = (unsigned)req->out.len;
    z.next_out = (unsigned char *)packed.ptr;
    z.avail_out = (unsigned)packed.size;
    rc = deflate(&z, Z_FINISH);
    packed.len = z.total_out;
    deflateEnd(&z);
    if (rc != Z_STREAM_END) {
        fa_buf_finish(&packed);
        return false;
    }
    fa_buf_finish(&req->out);
    req->out = packed;
    return true;
}

static size_t route_index(const struct fa_request *req)
{
    return req->route ? (size_t)(req->route - fa_routes) : fa_route_count;
}

static void note(struct fa_request *req)
{
    /* Refused connections have a line of their own, at most every few seconds (accept.c). */
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

int fa_http_socket(const struct fa_request *req)
{
    return req->peer ? req->peer->fd : -1;
}

static void sleep_connection(void *ctx)
{
    MHD_suspend_connection(((struct fa_request *)ctx)->connection);
}

/* The loop resumes it in its turn. */
static void wake_connection(void *ctx)
{
    struct fa_request *req = ctx;

    fa_loop_resume(&req->listener->loop, req);
}

static void cut_connection(void *ctx)
{
    shutdown(fa_http_socket(ctx), SHUT_RDWR);
}

const struct fa_stream_calls fa_http_stream_calls = {
    .sleep = sleep_connection, .wake = wake_connection, .cut = cut_connection};

static ssize_t on_stream(void *ctx, uint64_t at, char *to, size_t size)
{
    ssize_t got = fa_stream_take(ctx, to, size);

    (void)at;
    return got < 0 ? MHD_CONTENT_READER_END_OF_STREAM : got;
}

static void on_stream_end(void *ctx)
{
    fa_stream_close(ctx);
}

/* The answer's memory stays the request's: it ends when the last byte was sent, or none will be. */
static struct MHD_Response *make_response(struct fa_request *req)
{
    const int size = STREAM_SEND_SIZE;

    /* The kernel would buffer megabytes for a client that doesn't read. */
    if (req->stream)
        setsockopt(fa_http_socket(req), SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    if (req->stream)
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_PIECE_SIZE, on_stream,
                                                 req->stream, on_stream_end);
    if (req->has_file)
        return MHD_create_response_from_fd64((uint64_t)req->file_size, req->file_fd);
    return MHD_create_response_from_buffer(req->out.len, req->out.ptr, MHD_RESPMEM_PERSISTENT);
}

static bool is_get(const struct fa_request *req)
{
    return req->route && strcmp(req->route->method, "GET") == 0;
}

/* Counts what the request's answer takes, or what it will be made from, instead of what was counted
 * before. False: with all others that is too much. */
static bool count(struct fa_request *req, size_t size)
{
    long long more = (long long)size - (long long)req->answer_counted;

    if (is_get(req) && more > 0 &&
        atomic_load(&req->server->answer_bytes) + more > FA_SERVER_ANSWERS_SIZE_MAX)
        return false;
    req->answer_counted = size;
    atomic_fetch_add(&req->server->answer_bytes, more);
    return true;
}

/* Clients that don't read must not use up the memory. What was changed is told in any case: who
 * doesn't hear of it would do it again. False: there is no room, and it is a refusal now. */
static bool count_answer(struct fa_request *req)
{
    bool is_small = req->stream || req->out.len <= FA_SERVER_ANSWER_SIZE_SMALL;

    if (is_small && req->answer_counted == 0)
        return true;
    if (count(req, is_small ? 0 : req->out.len))
        return true;
    fa_answer_instead(req, FAINA_OVERLOADED, NO_ROOM);
    return false;
}

/* A large answer may wait for long, and needs nothing any more of what it was made from. */
static void drop_sources(struct fa_request *req)
{
    if (req->stream || req->made_size <= FA_SERVER_ANSWER_SIZE_SMALL)
        return;
    req->posted.ops = NULL;
    req->posted.count = 0;
    fa_arena_finish(&req->arena);
    fa_arena_finish(&req->posted.answers);
}

/* The last that is to be done to an answer before it can be sent. */
static void make_ready(struct fa_request *req)
{
    req->made_size = req->out.len;
    req->may_be_packed = req->content_type && !req->stream && req->out.len >= GZIP_SIZE_MIN;
    req->is_packed = req->may_be_packed && pack(req);
    req->is_ready = true;
}

static enum MHD_Result send_answer(struct fa_request *req)
{
    struct MHD_Response *response;
    enum MHD_Result result;
    const char *trace = fa_request_trace(req);

    if (!req->is_ready)
        make_ready(req);
    if (!count_answer(req)) {
        req->is_packed = false;
        req->made_size = req->out.len;
    }
    response = make_response(req);
    if (!response)
        return MHD_NO;
    req->is_answered = true;
    if (req->content_type)
        MHD_add_response_header(response, "Content-Type", req->content_type);
    if (req->is_packed)
        MHD_add_response_header(response, "Content-Encoding", "gzip");
    if (req->may_be_packed)
        MHD_add_response_header(response, "Vary", "Accept-Encoding");
    for (size_t i = 0; i < req->header_count; i++)
        MHD_add_response_header(response, req->headers[i].name, req->headers[i].value);
    MHD_add_response_header(response, "X-Request-Id", req->id);
    if (trace)
        MHD_add_response_header(response, "traceparent", trace);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (req->must_close || atomic_load(&req->server->is_draining) ||
        atomic_load(&req->listener->is_retired))
        MHD_add_response_header(response, "Connection", "close");
    note(req);
    drop_sources(req);
    result = req->server->queue(req->connection, (unsigned)req->status, response);
    MHD_destroy_response(response);
    return result;
}

/* ------------------------------------------------------------------------------------------
 * Running
 */

static void on_done(struct fa_posted *posted)
{
    struct fa_request *req = (struct fa_request *)posted;

    fa_loop_tell_done(&req->listener->loop, req);
}

/* Nobody takes the work any more, or may. */
static bool is_gone(const struct fa_posted *posted)
{
    const struct fa_request *req = (const struct fa_request *)posted;
    struct pollfd poller = {.fd = fa_http_socket(req), .events = POLLRDHUP};

    if (!fa_request_is_welcome(req))
        return true;
    if (req->how == FA_RUN_TASK_WAIT)
        return false; /* it takes nothing along, and may have closed its own side only */
    return poller.fd >= 0 && poll(&poller, 1, 0) > 0 &&
           poller.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

void fa_http_refuse(struct fa_request *req, enum faina_code code)
{
    fa_answer_refusal(req, code == FAINA_OVERLOADED ? 429 : 503, code,
                      code == FAINA_OVERLOADED ? "too much is queued already; try again later"
                                               : "the server is going down");
}

/* Runs work in post's thread for what is large. False: that thread takes no more. */
static bool pass_work(struct fa_request *req, fa_posted_fn *work)
{
    req->posted.done = on_done;
    req->posted.work = work;
    req->posted.is_long = true;
    if (fa_post(req->server->post, &req->posted) == FAINA_OK) {
        fa_loop_wait_long(&req->listener->loop, req);
        return true;
    }
    req->posted.work = NULL;
    req->posted.is_long = false;
    return false;
}

/* Prepares operations in post's thread when that takes long, so that the loop goes on. */
static void do_prepare(struct fa_posted *posted)
{
    struct fa_request *req = (struct fa_request *)posted;

    req->posted.work = NULL;
    req->posted.is_long = false;
    fa_service_prepare(req->server->service, req->posted.ops, req->posted.count);
}

static enum MHD_Result run(struct fa_request *req)
{
    struct fa_loop *loop = &req->listener->loop;
    enum faina_code code;
    bool is_claim;

    if (req->how == FA_RUN_PLAIN) {
        fa_service_check(req->server->service, req->posted.ops, req->posted.count);
        if (fa_service_is_heavy(req->server->service, req->posted.ops, req->posted.count) &&
            pass_work(req, do_prepare))
            return MHD_YES; /* and comes back here */
    }
    req->posted.done = on_done;
    req->posted.is_gone = is_gone;
    req->state = FA_REQUEST_RETURNS;
    if (req->how == FA_RUN_PLAIN) {
        fa_loop_run(loop, req);
        return MHD_YES;
    }
    if (req->how == FA_RUN_APART) {
        code = fa_backup_start(req);
        if (code == FAINA_OK) {
            fa_loop_wait_long(loop, req);
            return MHD_YES;
        }
        fa_http_refuse(req, code);
        return send_answer(req);
    }
    if (!fa_admission_hold_request(req))
        return send_answer(req);
    is_claim = req->how == FA_RUN_CLAIM_WAIT;
    code = is_claim ? fa_post_claim_wait(req->server->post, &req->posted)
                    : fa_post_wait(req->server->post, &req->posted, req->wait_ms);
    if (code == FAINA_OK) { /* what it does next is others' to say */
        is_claim ? fa_loop_wait_for_work(loop, req) : fa_loop_wait_long(loop, req);
        return MHD_YES;
    }
    fa_http_refuse(req, code);
    return send_answer(req);
}

/* ------------------------------------------------------------------------------------------
 * Steps
 */

/* What the next answer is made from. */
static size_t sources_size(const struct fa_request *req)
{
    return req->arena.size + req->posted.answers.size;
}

/* Reading 64 MiB of JSON takes seconds. */
static bool is_large(const struct fa_request *req)
{
    return req->body.len + sources_size(req) > FA_SERVER_STEP_SIZE_MAX && !req->stays;
}

/* Everything about a step that takes long. */
static void do_step(struct fa_posted *posted)
{
    struct fa_request *req = (struct fa_request *)posted;

    req->posted.work = NULL;
    req->posted.is_long = false;
    /* When all were cut off, what has not begun needn't. */
    if (atomic_load(&req->server->is_cut) && req->then == req->route->handle)
        fa_http_refuse(req, FAINA_STORE_CLOSED);
    else
        req->then(req);
    if (req->state == FA_REQUEST_ANSWERS)
        make_ready(req);
    else if (req->how == FA_RUN_PLAIN)
        fa_service_check(req->server->service, req->posted.ops, req->posted.count);
}

/* Runs the step in post's thread for what is large. False: that thread takes no more. */
static bool pass_step(struct fa_request *req)
{
    return pass_work(req, do_step);
}

static enum MHD_Result go_on(struct fa_request *req)
{
    if (req->state == FA_REQUEST_RETURNS && req->how == FA_RUN_TASK_WAIT)
        fa_request_check_welcome(req);
    if (req->state == FA_REQUEST_RETURNS && is_large(req)) {
        if (is_get(req) && !count(req, sources_size(req)))
            fa_answer_refusal(req, fa_code_http(FAINA_OVERLOADED), FAINA_OVERLOADED, NO_ROOM);
        else if (pass_step(req))
            return MHD_YES;
    }
    if (req->state == FA_REQUEST_RETURNS)
        req->then(req);
    return req->state == FA_REQUEST_RUNS ? run(req) : send_answer(req);
}

/* ------------------------------------------------------------------------------------------
 * What the library calls
 */

static void *on_target(void *ctx, const char *uri, struct MHD_Connection *connection)
{
    struct fa_listener_socket *listener = ctx;
    struct fa_connection *peer = connection_of(connection);
    struct fa_request *req = fa_request_create(listener, connection, uri);

    req->number = ++peer->request_count;
    return req;
}

static void on_completed(void *ctx, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code)
{
    struct fa_listener_socket *listener = ctx;
    struct fa_request *req = *context;

    (void)code; /* an answer that was sent may count as an error, when its client has gone since */
    if (!req)
        return;
    *context = NULL;
    if (req->stream)
        fa_stream_detach(req->stream);
    set_until(listener->server, connection_of(connection), FA_SERVER_HEAD_SECONDS);
    if (fa_loop_leave(&listener->loop, req))
        fa_request_destroy(req);
}

/* A body that is refused makes room for others. */
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
    if (req->state == FA_REQUEST_ANSWERS || req->is_too_large || req->has_no_room)
        return; /* it is refused already: what comes is only read away */
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

/* A refused request: its body is read away, unless it is huge. Many clients look for an answer only
 * when they have sent everything; and the connection can be used again. */
static bool swallows(const struct fa_request *req)
{
    const char *length = fa_request_header(req, "Content-Length");

    return fa_request_header(req, "Transfer-Encoding") == NULL &&
           fa_request_header(req, "Expect") == NULL && length &&
           strtoull(length, NULL, 10) <= SWALLOW_SIZE_MAX;
}

/* What the head says about where the request ends, and how long its fields are. */
struct framing {
    size_t lengths, encodings, hosts, size;
    bool is_odd;
};

/* Whether its bytes have a line end that a proxy may read in another way. */
static bool is_malformed(const struct fa_request *req)
{
    return req->peer->framing.bad == req->number;
}

static bool is_token(const char *text)
{
    size_t len = strlen(text);

    return len > 0 && strspn(text, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                                   "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == len;
}

static enum MHD_Result see_field(void *ctx, enum MHD_ValueKind kind, const char *name,
                                 const char *value)
{
    struct framing *framing = ctx;

    (void)kind;
    /* Both point into the line, as it was sent. */
    framing->size += value ? (uintptr_t)value - (uintptr_t)name + strlen(value) + 2 : 0;
    value = value ? value : "";
    if (!is_token(name) || strchr(value, '\r')) {
        framing->is_odd = true;
    } else if (strcasecmp(name, "Content-Length") == 0) {
        framing->lengths++;
        framing->is_odd |= value[0] == '\0' || strspn(value, "0123456789") != strlen(value);
    } else if (strcasecmp(name, "Transfer-Encoding") == 0) {
        framing->encodings++;
        framing->is_odd |= strcasecmp(value, "chunked") != 0;
    } else if (strcasecmp(name, "Host") == 0) {
        framing->hosts++;
    }
    return MHD_YES;
}

/* A proxy in front of us may cut the stream into requests in another way than the library does, and
 * let somebody hide one request in another. So whatever can be cut in two ways is refused. */
static bool is_framed(struct fa_request *req, const char *method, const char *version)
{
    bool is_new = strcmp(version, "HTTP/1.1") == 0;
    struct framing framing = {0};
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(req->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

    MHD_get_connection_values(req->connection, MHD_HEADER_KIND, see_field, &framing);
    framing.size += strlen(method) + strlen(req->target) + strlen(version) + 6;
    /* The library hands out C strings, so what comes after a NUL is hidden from us, but may not be
     * from a proxy. When the head is longer than what we see of it, it is the last one here. */
    if (!info || info->header_size != framing.size)
        req->must_close = true;
    /* A chunked body whose bytes are not followed, or not in the same way, is the last one, too. */
    if (framing.encodings > 0 && !fa_framing_is_chunked(&req->peer->framing, req->number))
        req->must_close = true;
    return (is_new || strcmp(version, "HTTP/1.0") == 0) && !framing.is_odd &&
           framing.lengths + framing.encodings <= 1 && framing.hosts <= 1 &&
           framing.hosts >= (is_new ? 1 : 0) && (is_new || framing.encodings == 0) &&
           !strchr(req->target, '\r') && !is_malformed(req);
}

/* Whether there is a NUL in the request's target: then the version, which follows it in the
 * library's buffer, is further away than it should be. */
static bool has_hidden_end(const struct fa_request *req, const char *url, const char *version)
{
    uintptr_t distance = (uintptr_t)version - (uintptr_t)url;

    return distance > strlen(req->target) + 1 && distance < FA_SERVER_HEAD_SIZE_MAX;
}

/* A body of known size has its place at once, unless somebody only claims that it is large. */
static void expect_body(struct fa_request *req)
{
    const char *length = fa_request_header(req, "Content-Length");
    unsigned long long size = length ? strtoull(length, NULL, 10) : 0;

    fa_buf_reserve(&req->body, size < BODY_SIZE_BELIEVED ? (size_t)size : BODY_SIZE_BELIEVED);
}

static enum MHD_Result on_head(struct fa_request *req, const char *url, const char *method,
                               const char *version)
{
    req->has_head = true;
    req->peer = connection_of(req->connection);
    set_until(req->server, req->peer, FA_SERVER_BODY_SECONDS);
    if (req->peer->admission.refusal != FA_REFUSAL_NONE) {
        req->must_close = true;
        fa_answer_refusal(req, fa_refusal_status(req->peer->admission.refusal), FAINA_OVERLOADED,
                          "%s", fa_refusal_message(req->peer->admission.refusal));
        return send_answer(req);
    }
    if (!is_framed(req, method, version) || has_hidden_end(req, url, version)) {
        req->must_close = true;
        fa_answer_refusal(req, 400, FAINA_INVALID_REQUEST,
                          "the head of the request is malformed or ambiguous");
        return send_answer(req);
    }
    fa_request_head(req, method);
    if (req->state != FA_REQUEST_ANSWERS)
        expect_body(req);
    if (req->state == FA_REQUEST_ANSWERS && !swallows(req) &&
        (fa_request_header(req, "Content-Length") || fa_request_header(req, "Transfer-Encoding")))
        return send_answer(req);
    return MHD_YES;
}

static enum MHD_Result on_access(void *ctx, struct MHD_Connection *connection, const char *url,
                                 const char *method, const char *version, const char *data,
                                 size_t *size, void **context)
{
    struct fa_request *req = *context;

    (void)ctx;
    (void)connection;
    if (req->waits) {
        fa_loop_wait_on(&req->listener->loop, req);
        return MHD_YES;
    }
    req->listener->loop.has_moved = true;
    if (!req->has_head)
        return on_head(req, url, method, version);
    /* It may have been answered already, by what its head is. */
    if (is_malformed(req) && !req->is_body_over && req->state != FA_REQUEST_ANSWERS) {
        fa_unread_refuse_malformed(req->server, fa_http_socket(req));
        return MHD_NO;
    }
    if (*size > 0) {
        take_body(req, data, *size);
        *size = 0;
        return MHD_YES;
    }
    if (!req->is_body_over) {
        req->is_body_over = true;
        set_until(req->server, req->peer, 0);
        if (req->state != FA_REQUEST_ANSWERS)
            fa_request_go(req);
    }
    return go_on(req);
}

/* Paths and queries are ours to decode (url.h). */
static size_t keep_escapes(void *ctx, struct MHD_Connection *connection, char *text)
{
    (void)ctx;
    (void)connection;
    return strlen(text);
}

FA_PRINTF(2, 0)
static void on_log(void *ctx, const char *format, va_list args)
{
    struct fa_server *server = ((struct fa_listener_socket *)ctx)->server;
    char text[512];

    vsnprintf(text, sizeof(text), format, args);
    text[strcspn(text, "\n")] = '\0';
    FA_LOG(server->log, FA_LOG_DEBUG, "http library", {"text", text});
}

#define TLS_ITEMS_MAX 4

/* TLS's options, or none. */
static void tls_items(const struct fa_server *server, bool has_tls,
                      struct MHD_OptionItem items[TLS_ITEMS_MAX])
{
    static char priorities[] = TLS_PRIORITIES; /* the library takes no pointer to const */
    size_t n = 0;

    if (has_tls) {
        items[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0, priorities};
        items[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, server->certificate};
        items[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, server->key};
    }
    items[n] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
}

enum faina_code fa_http_start(struct fa_listener_socket *listener, struct faina_error *err)
{
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_ITC |
                     MHD_USE_NO_LISTEN_SOCKET;
    struct MHD_Daemon *daemon;
    struct MHD_OptionItem items[TLS_ITEMS_MAX];

    listener->has_tls = listener->server->certificate && !listener->is_unix;
    tls_items(listener->server, listener->has_tls, items);
    if (listener->has_tls)
        flags |= MHD_USE_TLS;
    daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_access, listener, MHD_OPTION_EXTERNAL_LOGGER, on_log, listener,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)INT_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)FA_SERVER_HEAD_SIZE_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENT_SECONDS,
        MHD_OPTION_URI_LOG_CALLBACK, on_target, listener, MHD_OPTION_UNESCAPE_CALLBACK,
        keep_escapes, listener, MHD_OPTION_NOTIFY_COMPLETED, on_completed, listener,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, listener, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
        MHD_OPTION_ARRAY, items, MHD_OPTION_END);
    if (!daemon)
        return fa_error_set(err, FAINA_UNAVAILABLE, "the server can't be started on %s",
                            listener->address);
    fa_acceptor_init(&listener->acceptor, listener, daemon);
    return fa_loop_start(&listener->loop, daemon, listener->server->post, &listener->acceptor,
                         &listener->receivers, err);
}

bool fa_http_has_good_tls(const struct fa_server *server)
{
    struct MHD_OptionItem items[TLS_ITEMS_MAX];
    struct MHD_Daemon *daemon;

    tls_items(server, true, items);
    daemon = MHD_start_daemon(
        MHD_USE_TLS | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC | MHD_USE_EPOLL_INTERNAL_THREAD, 0,
        NULL, NULL, on_access, NULL, MHD_OPTION_ARRAY, items, MHD_OPTION_END);
    if (daemon)
        MHD_stop_daemon(daemon);
    return daemon != NULL;
}

int fa_http_quiesce(struct fa_listener_socket *listener)
{
    int fd = listener->fd;

    if (listener->loop.daemon)
        fa_loop_quiesce(&listener->loop);
    listener->fd = -1;
    return fd;
}

bool fa_http_is_idle(const struct fa_listener_socket *listener)
{
    return atomic_load(&listener->connection_count) == 0 &&
           atomic_load(&listener->request_count) == 0;
}

void fa_http_stop(struct fa_listener_socket *listener)
{
    if (listener->loop.daemon)
        fa_loop_stop(&listener->loop);
    fa_acceptor_finish(&listener->acceptor);
    fa_receivers_finish(&listener->receivers);
    if (listener->fd >= 0)
        close(listener->fd);
    listener->fd = -1;
    if (listener->path[0])
        unlink(listener->path);
}
