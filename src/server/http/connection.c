/*
 * connection.c - see connection.h.
 *
 * The socket is registered with epoll once, edge-triggered: an event says that reading or writing
 * may be possible again, which `can_read` and `can_write` remember until a call would block.
 */
#include "server/http/connection.h"

#include "base/clock.h"
#include "server/http/tls.h"
#include "server/routes/route.h"
#include "server/server_inner.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#define TURN_SIZE_MAX ((size_t)1024 * 1024) /* N4, in each direction */
#define STREAM_TURN_SIZE_MAX ((size_t)64 * 1024)
#define STREAM_PIECE_SIZE ((size_t)4096)
#define FILE_PIECE_SIZE ((size_t)256 * 1024)
#define LINGER_MS 2000
#define LINGER_SIZE_MAX ((size_t)256 * 1024)

static void set_limit(struct fa_connection *connection, int64_t seconds)
{
    connection->until_us =
        seconds > 0 ? connection->listener->loop.turn_us + seconds * 1000000 : INT64_MAX;
}

/* ------------------------------------------------------------------------------------------
 * Life
 */

/* What it is counted in. */
static atomic_size_t *counter_of(struct fa_server *server, const struct fa_admission *admission)
{
    return admission->refusal == FA_REFUSAL_NONE ? &server->connection_count
                                                 : &server->refused_open;
}

static void begin_head(struct fa_connection *connection)
{
    connection->state = FA_CONNECTION_HEAD;
    connection->scanned = 0;
    set_limit(connection, connection->admission.refusal == FA_REFUSAL_NONE
                              ? FA_SERVER_HEAD_SECONDS
                              : FA_SERVER_REFUSAL_SECONDS);
}

static bool watch(struct fa_connection *connection)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                .data = {.ptr = connection}};
    const int yes = 1;

    if (!connection->listener->is_unix)
        setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    return epoll_ctl(connection->listener->loop.epoll_fd, EPOLL_CTL_ADD, connection->fd, &event) ==
           0;
}

void fa_connection_open(struct fa_listener_socket *listener, int fd, const struct sockaddr *address,
                        socklen_t size, const struct fa_admission *admission)
{
    struct fa_server *server = listener->server;
    struct fa_connection *connection = fa_alloc_zero(1, sizeof(*connection));

    connection->listener = listener;
    connection->server = server;
    connection->fd = fd;
    connection->admission = *admission;
    memcpy(&connection->address, address,
           size < sizeof(connection->address) ? size : sizeof(connection->address));
    fa_buf_init(&connection->in, SIZE_MAX / 2);
    fa_buf_init(&connection->out, SIZE_MAX / 2);
    connection->link = &listener->loop.connections;
    connection->next = *connection->link;
    if (connection->next)
        connection->next->link = &connection->next;
    *connection->link = connection;
    atomic_fetch_add(counter_of(server, admission), 1);
    begin_head(connection);
    if (server->tls && !listener->is_unix) {
        connection->tls = fa_tls_session_create(server->tls, fd);
        connection->can_read = true;
    }
    if ((server->tls && !listener->is_unix && !connection->tls) || !watch(connection))
        fa_connection_destroy(connection);
}

/* The request has ended, with or without an answer. */
static void end_request(struct fa_connection *connection)
{
    struct fa_request *req = connection->req;

    connection->req = NULL;
    if (!req)
        return;
    if (req->stream) {
        fa_stream_detach(req->stream);
        fa_http_loop_forget(&connection->listener->loop, req);
        fa_stream_close(req->stream);
        req->stream = NULL;
    }
    fa_request_destroy(req);
}

void fa_connection_destroy(struct fa_connection *connection)
{
    struct fa_server *server = connection->server;

    if (connection->state == FA_CONNECTION_RUNS) {
        connection->req->peer = NULL; /* N2 */
        connection->req = NULL;
    }
    end_request(connection);
    connection->state = FA_CONNECTION_OVER;
    if (connection->fd >= 0) {
        fa_tls_session_destroy(connection->tls);
        /* A handler that is being started has a copy of the descriptor until its execve, and so
         * closing it isn't enough: epoll would report the connection after its end. */
        epoll_ctl(connection->listener->loop.epoll_fd, EPOLL_CTL_DEL, connection->fd, NULL);
        close(connection->fd);
        connection->fd = -1;
        *connection->link = connection->next;
        if (connection->next)
            connection->next->link = connection->link;
        atomic_fetch_sub(counter_of(server, &connection->admission), 1);
        fa_admission_end(server, &connection->admission);
    }
    if (connection->is_ready)
        return; /* it is freed in its turn */
    fa_buf_finish(&connection->in);
    fa_buf_finish(&connection->out);
    free(connection);
}

/* ------------------------------------------------------------------------------------------
 * The socket
 */

/* Bytes, 0 at the end, or -1: none now, or (state OVER) the connection is broken. */
static ssize_t receive(struct fa_connection *connection, char *to, size_t size)
{
    bool on_write = false;
    ssize_t got = connection->tls ? fa_tls_read(connection->tls, to, size, &on_write)
                                  : recv(connection->fd, to, size, 0);

    connection->reads_on_write = on_write;
    if (got >= 0) {
        /* Less than there is room for: the socket is empty, and epoll reports what comes. */
        if (!connection->tls && (size_t)got < size && !connection->is_hung_up)
            connection->can_read = false;
        return got;
    }
    if (errno == EINTR)
        return -1;
    connection->can_read = false;
    if (errno != EAGAIN)
        connection->state = FA_CONNECTION_OVER;
    return -1;
}

size_t fa_connection_unsent(const struct fa_connection *connection)
{
    const struct fa_request *req = connection->req;

    if (connection->state != FA_CONNECTION_SENDS || !req || req->has_file || req->stream)
        return 0;
    return req->out.len - connection->body_sent;
}

/* The client has taken bytes, or may begin to. */
static void limit_silence(struct fa_connection *connection)
{
    bool is_large = fa_connection_unsent(connection) >
                    (size_t)connection->server->options.unsent_connection_max;

    connection->taken_us = connection->listener->loop.turn_us;
    set_limit(connection, is_large ? FA_SERVER_SILENT_SECONDS_LARGE : FA_SERVER_SILENT_SECONDS);
}

static ssize_t transmitted(struct fa_connection *connection, ssize_t sent)
{
    if (sent >= 0) {
        limit_silence(connection);
        return sent;
    }
    if (errno == EINTR)
        return 0;
    connection->can_write = false;
    if (errno != EAGAIN)
        connection->state = FA_CONNECTION_OVER;
    return -1;
}

/* Sends what fits of two texts. -1: it has to wait, or the connection is broken. */
static ssize_t transmit(struct fa_connection *connection, struct fa_bytes first,
                        struct fa_bytes second)
{
    struct iovec parts[] = {{(void *)(uintptr_t)first.ptr, first.len},
                            {(void *)(uintptr_t)second.ptr, second.len}};
    struct msghdr message = {.msg_iov = first.len > 0 ? parts : parts + 1,
                             .msg_iovlen = first.len > 0 && second.len > 0 ? 2 : 1};
    bool on_read = false;
    ssize_t sent;

    if (connection->tls) {
        struct fa_bytes text = first.len > 0 ? first : second;

        sent = fa_tls_write(connection->tls, text.ptr, text.len, &on_read);
        connection->writes_on_read = on_read;
    } else {
        sent = sendmsg(connection->fd, &message, MSG_NOSIGNAL);
    }
    return transmitted(connection, sent);
}

/* ------------------------------------------------------------------------------------------
 * Sending
 */

void fa_connection_wait(struct fa_connection *connection)
{
    connection->state = FA_CONNECTION_RUNS;
    set_limit(connection, 0);
}

void fa_connection_send(struct fa_connection *connection, struct fa_request *req)
{
    const int size = FA_SERVER_STREAM_SEND_SIZE;

    assert(connection->req == req);
    connection->state = FA_CONNECTION_SENDS;
    connection->out_sent = connection->body_sent = 0;
    connection->ends_stream = false;
    limit_silence(connection);
    /* The kernel would buffer megabytes for a client that doesn't read. */
    if (req->stream)
        setsockopt(connection->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

static size_t file_left(const struct fa_connection *connection)
{
    const struct fa_request *req = connection->req;

    return connection->has_body && req->has_file ? (size_t)req->file_size - connection->body_sent
                                                 : 0;
}

/* The part of the answer's body that is in memory. */
static struct fa_bytes body_left(const struct fa_connection *connection)
{
    const struct fa_request *req = connection->req;

    if (!connection->has_body || !req || req->has_file || req->stream)
        return (struct fa_bytes){0};
    return (struct fa_bytes){req->out.ptr + connection->body_sent,
                             req->out.len - connection->body_sent};
}

static void count_sent(struct fa_connection *connection, size_t sent)
{
    size_t of_out = connection->out.len - connection->out_sent;

    of_out = sent < of_out ? sent : of_out;
    connection->out_sent += of_out;
    connection->body_sent += sent - of_out;
}

/* True: some of it was sent. */
static bool send_file_piece(struct fa_connection *connection)
{
    const struct fa_request *req = connection->req;
    off_t at = (off_t)connection->body_sent;
    ssize_t sent;

    if (connection->tls) {
        char *piece = connection->listener->loop.scratch;
        ssize_t got = pread(req->file_fd, piece, FA_LOOP_SCRATCH_SIZE, at);

        sent = got > 0 ? transmit(connection, (struct fa_bytes){piece, (size_t)got},
                                  (struct fa_bytes){0})
                       : 0;
    } else {
        sent =
            transmitted(connection, sendfile(connection->fd, req->file_fd, &at, FILE_PIECE_SIZE));
    }
    if (sent == 0) /* the file is shorter than it was */
        connection->state = FA_CONNECTION_OVER;
    if (sent > 0)
        connection->body_sent += (size_t)sent;
    return sent > 0;
}

/* The next piece of a stream, in `out`. False: there is none now. */
static bool take_stream_piece(struct fa_connection *connection)
{
    struct fa_request *req = connection->req;
    char piece[STREAM_PIECE_SIZE];
    ssize_t got = fa_stream_take(req->stream, piece, sizeof(piece));

    if (got == 0) {
        set_limit(connection, 0);
        return false;
    }
    fa_buf_clear(&connection->out);
    connection->out_sent = 0;
    connection->ends_stream = got < 0;
    if (req->head.is_1_0) {
        if (got > 0)
            fa_buf_add(&connection->out, piece, (size_t)got);
        return true;
    }
    fa_buf_printf(&connection->out, "%zx\r\n", got > 0 ? (size_t)got : (size_t)0);
    if (got > 0)
        fa_buf_add(&connection->out, piece, (size_t)got);
    fa_buf_add_str(&connection->out, "\r\n");
    return true;
}

static void end_answer(struct fa_connection *connection)
{
    struct fa_request *req = connection->req;
    bool closes = !req || req->closes;

    if (req)
        req->is_response_sent = true;
    end_request(connection);
    if (!closes) {
        begin_head(connection);
        return;
    }
    if (connection->tls)
        fa_tls_session_end(connection->tls);
    /* Closing a socket with unread data resets the connection, and the client may not see the
     * answer. */
    shutdown(connection->fd, SHUT_WR);
    connection->state = FA_CONNECTION_LINGERS;
    connection->until_us = connection->listener->loop.turn_us + LINGER_MS * 1000;
    connection->body_left = LINGER_SIZE_MAX;
}

static void send_some(struct fa_connection *connection)
{
    bool is_stream = connection->req && connection->req->stream;
    size_t turn = 0, turn_max = is_stream ? STREAM_TURN_SIZE_MAX : TURN_SIZE_MAX;

    while (connection->state == FA_CONNECTION_SENDS && turn < turn_max) {
        struct fa_bytes head = {connection->out.ptr + connection->out_sent,
                                connection->out.len - connection->out_sent};
        struct fa_bytes body = body_left(connection);
        ssize_t sent;

        if (head.len + body.len > 0) {
            if (!connection->can_write)
                return;
            sent = transmit(connection, head, body);
            count_sent(connection, sent > 0 ? (size_t)sent : 0);
            turn += sent > 0 ? (size_t)sent : 0;
        } else if (file_left(connection) > 0) {
            if (!connection->can_write || !send_file_piece(connection))
                return;
            turn += FILE_PIECE_SIZE;
        } else if (is_stream && connection->has_body && !connection->ends_stream) {
            if (!take_stream_piece(connection))
                return;
        } else {
            end_answer(connection);
        }
    }
    if (connection->state == FA_CONNECTION_SENDS)
        fa_http_loop_add_ready(&connection->listener->loop, connection);
}

/* ------------------------------------------------------------------------------------------
 * Receiving
 */

/* Answers what is no request, and closes. */
static void refuse(struct fa_connection *connection, const struct fa_head_refusal *refusal)
{
    fa_http_write_refusal(connection->server, refusal->status, refusal->message, &connection->out);
    end_request(connection);
    connection->state = FA_CONNECTION_SENDS;
    connection->out_sent = connection->body_sent = 0;
    connection->has_body = connection->ends_stream = false;
    set_limit(connection, FA_SERVER_SILENT_SECONDS);
}

static const char continue_line[] = "HTTP/1.1 100 Continue\r\n\r\n";

/* The head is complete. */
static void begin_request(struct fa_connection *connection, const char *text, size_t size)
{
    struct fa_request *req = fa_request_create(connection);
    struct fa_head_refusal refusal;
    char *copy = fa_arena_copy(&req->arena, text, size);

    connection->req = req;
    if (!fa_head_read(copy, size, &req->head, &refusal)) {
        refuse(connection, &refusal);
        return;
    }
    req->target = req->head.target;
    req->closes = !req->head.keeps_alive;
    connection->state = FA_CONNECTION_BODY;
    connection->body_left = req->head.has_length ? req->head.length : 0;
    connection->chunked = (struct fa_chunked){0};
    set_limit(connection, FA_SERVER_BODY_SECONDS);
    fa_http_on_head(req);
    if (connection->state != FA_CONNECTION_BODY || !req->head.expects_continue)
        return;
    if (connection->can_write &&
        transmit(connection, (struct fa_bytes){continue_line, sizeof(continue_line) - 1},
                 (struct fa_bytes){0}) < (ssize_t)sizeof(continue_line) - 1)
        connection->state = FA_CONNECTION_OVER; /* nothing was to be sent, so there was room */
}

static void end_body(struct fa_connection *connection)
{
    fa_connection_wait(connection);
    fa_http_on_body_end(connection->req);
}

/* How much of the data was part of the body. */
static size_t feed_chunked(struct fa_connection *connection, const char *data, size_t len)
{
    static const struct fa_head_refusal malformed = {400, "the chunks of the body are malformed"};
    size_t used = 0;

    while (used < len && connection->state == FA_CONNECTION_BODY) {
        struct fa_bytes piece;
        size_t step;

        switch (fa_chunked_read(&connection->chunked, data + used, len - used, &step, &piece)) {
        case FA_CHUNKED_MORE:
            return len;
        case FA_CHUNKED_FOUND:
            used += step;
            fa_http_on_body(connection->req, piece.ptr, piece.len);
            break;
        case FA_CHUNKED_END:
            used += step;
            end_body(connection);
            break;
        case FA_CHUNKED_BAD:
            refuse(connection, &malformed);
            return len;
        }
    }
    return used;
}

static size_t feed_body(struct fa_connection *connection, const char *data, size_t len)
{
    size_t used;

    if (connection->req->head.is_chunked)
        return feed_chunked(connection, data, len);
    used = connection->body_left < len ? (size_t)connection->body_left : len;
    connection->body_left -= used;
    if (used > 0)
        fa_http_on_body(connection->req, data, used);
    if (connection->body_left == 0)
        end_body(connection);
    return used;
}

/* How much of the data was read. The rest has to wait: for more of a head, or for the answer of
 * the request before. */
static size_t feed(struct fa_connection *connection, const char *data, size_t len)
{
    size_t used = 0;

    for (;;) {
        if (connection->state == FA_CONNECTION_HEAD) {
            struct fa_head_refusal refusal;
            size_t size;

            if (connection->scanned == 0 && len - used >= 2 && memcmp(data + used, "\r\n", 2) == 0)
                used += 2; /* RFC 9112, 2.2: an empty line before a request is skipped */
            size = fa_head_find_end(data + used, len - used, &connection->scanned, &refusal);
            if (refusal.status != 0) {
                refuse(connection, &refusal);
                return len;
            }
            if (size == 0)
                return used;
            connection->scanned = 0;
            begin_request(connection, data + used, size);
            used += size;
        } else if (connection->state == FA_CONNECTION_BODY) {
            /* A body without bytes ends here, too. */
            size_t step = feed_body(connection, data + used, len - used);

            used += step;
            if (connection->state == FA_CONNECTION_BODY)
                return used;
        } else {
            return used;
        }
        if (connection->state == FA_CONNECTION_SENDS)
            send_some(connection);
    }
}

static void drop_front(struct fa_buf *buf, size_t count)
{
    if (count == buf->len) {
        fa_buf_finish(buf);
        fa_buf_init(buf, SIZE_MAX / 2);
    } else if (count > 0) {
        memmove(buf->ptr, buf->ptr + count, buf->len - count);
        buf->len -= count;
    }
}

static bool wants_input(const struct fa_connection *connection)
{
    return connection->state == FA_CONNECTION_HEAD || connection->state == FA_CONNECTION_BODY;
}

static void receive_some(struct fa_connection *connection)
{
    char *scratch = connection->listener->loop.scratch;
    size_t turn = 0;

    if (connection->in.len > 0 && wants_input(connection))
        drop_front(&connection->in, feed(connection, connection->in.ptr, connection->in.len));
    while (wants_input(connection) && connection->can_read) {
        ssize_t got;
        size_t used;

        if (turn >= TURN_SIZE_MAX) {
            fa_http_loop_add_ready(&connection->listener->loop, connection);
            return;
        }
        got = receive(connection, scratch, FA_LOOP_SCRATCH_SIZE);
        if (got < 0)
            continue;
        if (got == 0) {
            connection->state = FA_CONNECTION_OVER;
            return;
        }
        turn += (size_t)got;
        if (connection->in.len > 0) {
            fa_buf_add(&connection->in, scratch, (size_t)got);
            drop_front(&connection->in, feed(connection, connection->in.ptr, connection->in.len));
            continue;
        }
        used = feed(connection, scratch, (size_t)got);
        if (used < (size_t)got)
            fa_buf_add(&connection->in, scratch + used, (size_t)got - used);
    }
}

/* Reads away what comes, until the client has closed. */
static void linger(struct fa_connection *connection)
{
    char *scratch = connection->listener->loop.scratch;

    while (connection->can_read && connection->state == FA_CONNECTION_LINGERS) {
        ssize_t got = receive(connection, scratch, FA_LOOP_SCRATCH_SIZE);

        if (got == 0 || (got > 0 && connection->body_left < (size_t)got))
            connection->state = FA_CONNECTION_OVER;
        else if (got > 0)
            connection->body_left -= (size_t)got;
    }
}

/* ------------------------------------------------------------------------------------------
 * Events
 */

void fa_connection_go_on(struct fa_connection *connection)
{
    enum fa_connection_state before;

    if (connection->state == FA_CONNECTION_RUNS && connection->req->waits == FA_REQUEST_NOT_WAITING)
        fa_http_go_on(connection->req);
    do {
        before = connection->state;
        if (connection->state == FA_CONNECTION_SENDS)
            send_some(connection);
        if (wants_input(connection))
            receive_some(connection);
        if (connection->state == FA_CONNECTION_LINGERS)
            linger(connection);
    } while (connection->state != before && connection->state != FA_CONNECTION_OVER);
    if (connection->state == FA_CONNECTION_OVER)
        fa_connection_destroy(connection);
}

void fa_connection_on_event(struct fa_connection *connection, uint32_t events)
{
    if (events & EPOLLOUT || (events & EPOLLIN && connection->writes_on_read))
        connection->can_write = true;
    if (events & (EPOLLIN | EPOLLRDHUP) || (events & EPOLLOUT && connection->reads_on_write))
        connection->can_read = true;
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
        connection->is_hung_up = true;
        if (connection->state == FA_CONNECTION_RUNS)
            fa_http_on_hang_up(connection->req);
    }
    /* Both sides are closed, or the connection is broken. */
    if (events & (EPOLLHUP | EPOLLERR) && connection->state != FA_CONNECTION_RUNS)
        connection->state = FA_CONNECTION_OVER;
    fa_connection_go_on(connection);
}
