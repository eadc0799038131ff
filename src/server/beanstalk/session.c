/*
 * session.c - one connection of a beanstalkd listener. See beanstalk_inner.h.
 *
 * The socket is registered with epoll once, edge-triggered, as in http/connection.c.
 */
#include "server/beanstalk/beanstalk_inner.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_SIZE ((size_t)64 * 1024) /* of the listener's scratch */
#define TURN_READS 16                 /* then others have their turn */
#define SLOW_US 60000000              /* without taking any byte of an answer */
#define BODY_US 120000000             /* for the body of a put */

/* ------------------------------------------------------------------------------------------
 * Life
 */

void fa_beanstalk_session_open(struct fa_beanstalk *listener, int fd)
{
    struct fa_beanstalk_session *session = fa_alloc_zero(1, sizeof(*session));
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                .data = {.ptr = session}};
    const int yes = 1;

    session->listener = listener;
    session->fd = fd;
    session->slow_us = INT64_MAX;
    fa_buf_init(&session->in, SIZE_MAX / 2);
    fa_buf_init(&session->out, SIZE_MAX / 2);
    fa_buf_init(&session->body, SIZE_MAX / 2);
    fa_ring_init(&session->jobs);
    session->link = &listener->sessions;
    session->next = listener->sessions;
    if (session->next)
        session->next->link = &session->next;
    listener->sessions = session;
    listener->session_count++;
    session->used = listener->default_tube;
    session->used->using ++;
    session->watched = fa_grow(NULL, 0, &session->watched_size, sizeof(*session->watched));
    session->watched[session->watched_count++] = listener->default_tube;
    listener->default_tube->watching++;
    if (!listener->socket->is_unix)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    if (epoll_ctl(listener->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        fa_beanstalk_session_close(session);
}

/* What runs ends without an answer. A claim that waits is ended. */
static void leave_call(struct fa_beanstalk_session *session)
{
    struct fa_beanstalk_call *call = session->call;

    if (!call)
        return;
    session->call = NULL;
    call->session = NULL;
    call->job = NULL;
    atomic_store(&call->is_gone, true);
    if (call->is_claim_wait && !call->is_ended)
        fa_post_cancel_claim(session->listener->server->post, &call->posted);
}

static void leave_tubes(struct fa_beanstalk_session *session)
{
    for (size_t i = 0; i < session->watched_count; i++) {
        session->watched[i]->watching--;
        session->watched[i]->waiting -= session->is_waiting;
        fa_beanstalk_tube_drop(session->listener, session->watched[i]);
    }
    session->watched_count = 0;
    session->is_waiting = false;
    session->used->using --;
    fa_beanstalk_tube_drop(session->listener, session->used);
}

static void count_bytes(struct fa_beanstalk_session *session, int64_t bytes)
{
    session->listener->bytes += bytes;
}

static void destroy(struct fa_beanstalk_session *session)
{
    free(session->watched);
    fa_buf_finish(&session->in);
    fa_buf_finish(&session->out);
    fa_buf_finish(&session->body);
    free(session);
}

void fa_beanstalk_session_close(struct fa_beanstalk_session *session)
{
    struct fa_beanstalk *listener = session->listener;

    if (session->state == FA_BEANSTALK_OVER)
        return;
    leave_call(session);
    leave_tubes(session);
    fa_beanstalk_jobs_return(session);
    if (session->state == FA_BEANSTALK_BODY)
        count_bytes(session, -(int64_t)session->command.size);
    count_bytes(session, -(int64_t)session->out.len);
    session->state = FA_BEANSTALK_OVER;
    /* A handler that is being started has a copy of the descriptor until its execve, and so closing
     * it isn't enough: epoll would report the connection after its end. */
    epoll_ctl(listener->epoll_fd, EPOLL_CTL_DEL, session->fd, NULL);
    close(session->fd);
    *session->link = session->next;
    if (session->next)
        session->next->link = session->link;
    listener->session_count--;
    session->next_closed = listener->closed;
    listener->closed = session;
}

void fa_beanstalk_sessions_free(struct fa_beanstalk *listener)
{
    struct fa_beanstalk_session *session = listener->closed, *next;

    listener->closed = NULL;
    for (; session; session = next) {
        next = session->next_closed;
        if (session->is_ready) { /* it is still in that list */
            session->next_closed = listener->closed;
            listener->closed = session;
        } else {
            destroy(session);
        }
    }
}

/* ------------------------------------------------------------------------------------------
 * Answers
 */

void fa_beanstalk_reply_bytes(struct fa_beanstalk_session *session, const char *data, size_t len)
{
    fa_buf_add(&session->out, data, len);
    count_bytes(session, (int64_t)len);
}

void fa_beanstalk_reply(struct fa_beanstalk_session *session, const char *format, ...)
{
    char text[FA_BEANSTALK_LINE_MAX + 64];
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fa_beanstalk_reply_bytes(session, text, (size_t)len);
}

void fa_beanstalk_session_end_command(struct fa_beanstalk_session *session)
{
    session->state = FA_BEANSTALK_LINE;
    fa_buf_finish(&session->body);
    fa_buf_init(&session->body, SIZE_MAX / 2);
}

/* B5: the client that has not taken an answer for longest is disconnected. */
static void limit_bytes(struct fa_beanstalk *listener, const struct fa_beanstalk_session *now)
{
    struct fa_beanstalk_session *slowest = NULL;

    if (listener->bytes <= FA_BEANSTALK_BYTES_MAX)
        return;
    for (struct fa_beanstalk_session *at = listener->sessions; at; at = at->next)
        if (at != now && at->out.len > 0 && (!slowest || at->slow_us < slowest->slow_us))
            slowest = at;
    if (slowest)
        fa_beanstalk_session_close(slowest);
}

/* False: the connection is broken. */
static bool send_some(struct fa_beanstalk_session *session)
{
    while (session->out_sent < session->out.len && session->can_write) {
        ssize_t sent = send(session->fd, session->out.ptr + session->out_sent,
                            session->out.len - session->out_sent, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent > 0) {
            session->out_sent += (size_t)sent;
            session->slow_us = INT64_MAX;
        } else if (sent < 0 && errno == EAGAIN) {
            session->can_write = false;
        } else if (sent == 0 || errno != EINTR) {
            return false;
        }
    }
    if (session->out_sent < session->out.len) {
        if (session->slow_us == INT64_MAX)
            session->slow_us = session->listener->turn_us + SLOW_US;
        limit_bytes(session->listener, session);
        return true;
    }
    if (session->out.len > 0) {
        count_bytes(session, -(int64_t)session->out.len);
        if (session->out.size > READ_SIZE)
            fa_buf_finish(&session->out);
        fa_buf_clear(&session->out);
        session->out_sent = 0;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------
 * Commands
 */

static void begin_put(struct fa_beanstalk_session *session)
{
    struct fa_beanstalk *listener = session->listener;
    uint64_t size = session->command.size;

    session->is_producer = true;
    session->left = size + 2;
    session->slow_us = listener->turn_us + BODY_US;
    session->state = FA_BEANSTALK_SKIPS;
    if (size > listener->body_max) {
        session->refusal = "JOB_TOO_BIG\r\n";
    } else if (atomic_load(&listener->is_draining)) {
        session->refusal = "DRAINING\r\n";
    } else if (listener->bytes + (int64_t)size > FA_BEANSTALK_BYTES_MAX) {
        session->refusal = "OUT_OF_MEMORY\r\n";
    } else {
        session->state = FA_BEANSTALK_BODY;
        count_bytes(session, (int64_t)size);
    }
}

static void run_line(struct fa_beanstalk_session *session, struct fa_bytes line)
{
    switch (fa_beanstalk_parse(line, &session->command)) {
    case FA_BEANSTALK_BAD_FORMAT:
        fa_beanstalk_reply(session, "BAD_FORMAT\r\n");
        return;
    case FA_BEANSTALK_UNKNOWN:
        fa_beanstalk_reply(session, "UNKNOWN_COMMAND\r\n");
        return;
    case FA_BEANSTALK_OK:
        break;
    }
    session->listener->commands[session->command.kind]++;
    if (session->command.kind == FA_BEANSTALK_PUT)
        begin_put(session);
    else
        fa_beanstalk_run(session);
}

/* Each returns how many bytes it has used; 0: more are needed. */
static size_t feed_line(struct fa_beanstalk_session *session, const char *data, size_t len)
{
    const char *end = memchr(data, '\n', len);
    size_t size = end ? (size_t)(end - data) + 1 : len;

    if (size > FA_BEANSTALK_LINE_MAX) {
        session->state = FA_BEANSTALK_LONG_LINE;
        return size - (end != NULL);
    }
    if (!end)
        return 0;
    if (size < 2 || data[size - 2] != '\r')
        fa_beanstalk_reply(session, "BAD_FORMAT\r\n");
    else
        run_line(session, (struct fa_bytes){data, size - 2});
    return size;
}

static size_t feed_long_line(struct fa_beanstalk_session *session, const char *data, size_t len)
{
    const char *end = memchr(data, '\n', len);

    if (!end)
        return len;
    session->state = FA_BEANSTALK_LINE;
    fa_beanstalk_reply(session, "BAD_FORMAT\r\n");
    return (size_t)(end - data) + 1;
}

static size_t feed_body(struct fa_beanstalk_session *session, const char *data, size_t len)
{
    size_t step = session->left < len ? (size_t)session->left : len;
    bool is_kept = session->state == FA_BEANSTALK_BODY;

    if (is_kept && session->body.len == 0)
        fa_buf_reserve(&session->body, (size_t)session->command.size + 2);
    if (is_kept)
        fa_buf_add(&session->body, data, step);
    session->left -= step;
    if (session->left > 0)
        return step;
    session->slow_us = INT64_MAX;
    if (!is_kept) {
        session->state = FA_BEANSTALK_LINE;
        fa_beanstalk_reply(session, "%s", session->refusal);
        return step;
    }
    count_bytes(session, -(int64_t)session->command.size);
    if (memcmp(session->body.ptr + session->command.size, "\r\n", 2) == 0) {
        fa_beanstalk_run(session);
    } else {
        fa_beanstalk_session_end_command(session);
        fa_beanstalk_reply(session, "EXPECTED_CRLF\r\n");
    }
    return step;
}

/* One step through what was received. False: more is needed, or the session doesn't take more. */
static bool feed(struct fa_beanstalk_session *session)
{
    const char *data = session->in.ptr + session->in_used;
    size_t len = session->in.len - session->in_used, used = 0;

    if (session->is_closing || len == 0)
        return false;
    switch (session->state) {
    case FA_BEANSTALK_LINE:
        used = feed_line(session, data, len);
        break;
    case FA_BEANSTALK_LONG_LINE:
        used = feed_long_line(session, data, len);
        break;
    case FA_BEANSTALK_BODY:
    case FA_BEANSTALK_SKIPS:
        used = feed_body(session, data, len);
        break;
    case FA_BEANSTALK_RUNS:
    case FA_BEANSTALK_WAITS:
    case FA_BEANSTALK_OVER:
        return false;
    }
    session->in_used += used;
    return used > 0;
}

/* False: the connection is over. */
static bool receive(struct fa_beanstalk_session *session)
{
    char *scratch = session->listener->scratch;
    ssize_t got = recv(session->fd, scratch, READ_SIZE, MSG_DONTWAIT);

    if (got < 0 && errno == EINTR)
        return true;
    if (got < 0 && errno == EAGAIN) {
        session->can_read = false;
        return true;
    }
    if (got <= 0)
        return false;
    if (session->in_used == session->in.len) {
        fa_buf_clear(&session->in);
    } else if (session->in_used > 0) {
        memmove(session->in.ptr, session->in.ptr + session->in_used,
                session->in.len - session->in_used);
        session->in.len -= session->in_used;
    }
    session->in_used = 0;
    fa_buf_add(&session->in, scratch, (size_t)got);
    return true;
}

/* The client has closed its side: a reservation is not waited for any more. */
static void end_wait(struct fa_beanstalk_session *session)
{
    struct fa_beanstalk_call *call = session->call;

    if (!session->is_hung_up)
        return;
    if (session->state == FA_BEANSTALK_WAITS) {
        fa_beanstalk_reserve_again(session);
    } else if (call && call->is_claim_wait && !call->is_ended) {
        call->is_ended = true;
        fa_post_cancel_claim(session->listener->server->post, &call->posted);
    }
}

static void add_ready(struct fa_beanstalk_session *session)
{
    struct fa_beanstalk *listener = session->listener;

    if (session->is_ready)
        return;
    session->is_ready = true;
    session->next_ready = listener->ready;
    listener->ready = session;
}

void fa_beanstalk_session_go_on(struct fa_beanstalk_session *session)
{
    int reads = 0;

    if (session->state == FA_BEANSTALK_OVER)
        return;
    for (;;) {
        end_wait(session);
        if (!send_some(session))
            break;
        if (session->out.len > 0)
            return; /* B4 */
        if (session->is_closing)
            break;
        if (feed(session))
            continue;
        if (session->state == FA_BEANSTALK_RUNS || session->state == FA_BEANSTALK_WAITS ||
            !session->can_read)
            return;
        if (++reads > TURN_READS) {
            add_ready(session);
            return;
        }
        if (!receive(session))
            break;
    }
    fa_beanstalk_session_close(session);
}
