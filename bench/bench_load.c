/* bench_load.c - see bench_load.h. */
#include "bench/bench_load.h"

#include "base/clock.h"
#include "bench/bench_report.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD_SIZE_MAX 4096
#define PIECE_SIZE ((size_t)256 * 1024)
#define TIMEOUT_MS 30000
#define EVENTS_MAX 128

struct wire {
    int fd;
    size_t sent; /* of the request */
    char head[HEAD_SIZE_MAX + 1];
    size_t got; /* of the head */
    bool has_head;
    size_t body_left;
    int64_t begun_ns;
    bool is_busy;
};

struct fa_bench_load {
    int epoll;
    struct wire *wires;
    int count;
    char *piece; /* a buffer for bodies, which are discarded */
    /* Of a run. */
    struct fa_bytes request;
    int status;
    int64_t until_ns;
    int busy;
    double *samples_us;
    size_t sample_count, sample_size;
};

struct fa_bytes fa_bench_request(struct fa_arena *arena, const char *method, const char *path,
                                 const char *body)
{
    const char *text;

    if (body)
        text = fa_arena_printf(arena,
                               "%s %s HTTP/1.1\r\nHost: localhost\r\n"
                               "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                               method, path, strlen(body), body);
    else
        text = fa_arena_printf(arena, "%s %s HTTP/1.1\r\nHost: localhost\r\n\r\n", method, path);
    return fa_str(text);
}

/* ------------------------------------------------------------------------------------------
 * One connection
 */

static int dial(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        close(fd);
        fd = -1;
    }
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}

/* The head is complete: returns its status, and where the body begins. 0: it is malformed. */
static int read_head(struct wire *wire, size_t *body_begin)
{
    const char *end = strstr(wire->head, "\r\n\r\n");
    const char *length = strcasestr(wire->head, "\r\ncontent-length:");

    if (strncmp(wire->head, "HTTP/1.1 ", 9) != 0)
        return 0;
    *body_begin = (size_t)(end - wire->head) + 4;
    wire->body_left = length && length < end ? strtoul(length + 17, NULL, 10) : 0;
    return (int)strtol(wire->head + 9, NULL, 10);
}

static void begin(struct fa_bench_load *load, struct wire *wire, int64_t now_ns)
{
    wire->sent = wire->got = 0;
    wire->has_head = false;
    wire->begun_ns = now_ns;
    if (!wire->is_busy)
        load->busy++;
    wire->is_busy = true;
}

static void finish(struct fa_bench_load *load, struct wire *wire)
{
    int64_t now_ns = fa_clock_mono_ns();

    load->samples_us = fa_grow(load->samples_us, load->sample_count, &load->sample_size,
                               sizeof(*load->samples_us));
    load->samples_us[load->sample_count++] = (double)(now_ns - wire->begun_ns) / 1e3;
    if (now_ns < load->until_ns) {
        begin(load, wire, now_ns);
        return;
    }
    wire->is_busy = false;
    load->busy--;
}

/* 1: made progress. 0: would block. -1: the connection has failed. */
static int send_some(const struct fa_bench_load *load, struct wire *wire)
{
    ssize_t sent = send(wire->fd, load->request.ptr + wire->sent, load->request.len - wire->sent,
                        MSG_NOSIGNAL | MSG_DONTWAIT);

    if (sent < 0)
        return errno == EAGAIN ? 0 : -1;
    wire->sent += (size_t)sent;
    /* The response can't have arrived yet: an event reports it. */
    return wire->sent < load->request.len;
}

static int take_head(struct fa_bench_load *load, struct wire *wire, size_t size)
{
    size_t body_begin;

    wire->got += size;
    wire->head[wire->got] = '\0';
    if (!strstr(wire->head, "\r\n\r\n"))
        return wire->got < HEAD_SIZE_MAX ? 1 : -1;
    if (read_head(wire, &body_begin) != load->status)
        return -1;
    wire->has_head = true;
    wire->body_left -= wire->got - body_begin;
    return 1;
}

static int receive_some(struct fa_bench_load *load, struct wire *wire)
{
    ssize_t got = wire->has_head ? recv(wire->fd, load->piece, PIECE_SIZE, MSG_DONTWAIT)
                                 : recv(wire->fd, wire->head + wire->got, HEAD_SIZE_MAX - wire->got,
                                        MSG_DONTWAIT);
    int result = 1;

    if (got <= 0)
        return got < 0 && errno == EAGAIN ? 0 : -1;
    if (wire->has_head)
        wire->body_left -= (size_t)got;
    else
        result = take_head(load, wire, (size_t)got);
    if (result > 0 && wire->has_head && wire->body_left == 0)
        finish(load, wire);
    return result;
}

/* Sends and receives until it would block. False: the connection has failed. */
static bool advance(struct fa_bench_load *load, struct wire *wire)
{
    int got = 1;

    while (got > 0 && wire->is_busy)
        got = wire->sent < load->request.len ? send_some(load, wire) : receive_some(load, wire);
    return got >= 0;
}

/* ------------------------------------------------------------------------------------------
 * All connections
 */

static enum faina_code fail(const struct wire *wire, int status, struct faina_error *err)
{
    return fa_error_set(err, FAINA_INTERNAL,
                        "the server didn't respond with %d, or not at all: %.150s", status,
                        wire->head);
}

static enum faina_code serve(struct fa_bench_load *load, struct faina_error *err)
{
    while (load->busy > 0) {
        struct epoll_event events[EVENTS_MAX];
        int count = epoll_wait(load->epoll, events, EVENTS_MAX, TIMEOUT_MS);

        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return fa_error_set(err, FAINA_TIMEOUT, "the server doesn't respond");
        for (int i = 0; i < count; i++) {
            struct wire *wire = events[i].data.ptr;

            if (!advance(load, wire))
                return fail(wire, load->status, err);
        }
    }
    return FAINA_OK;
}

enum faina_code fa_bench_load_run(struct fa_bench_load *load, struct fa_bytes request, int status,
                                  int64_t ms, struct fa_bench_loaded *out, struct faina_error *err)
{
    int64_t start_ns = fa_clock_mono_ns();
    enum faina_code code;

    load->request = request;
    load->status = status;
    load->until_ns = start_ns + ms * 1000000;
    load->sample_count = 0;
    for (int i = 0; i < load->count; i++) {
        begin(load, &load->wires[i], fa_clock_mono_ns());
        if (!advance(load, &load->wires[i]))
            return fail(&load->wires[i], status, err);
    }
    code = serve(load, err);
    out->per_second = (double)load->sample_count * 1e9 / (double)(fa_clock_mono_ns() - start_ns);
    out->median_us = fa_bench_quantile(load->samples_us, load->sample_count, 0.5);
    out->p99_us = fa_bench_quantile(load->samples_us, load->sample_count, 0.99);
    return code;
}

enum faina_code fa_bench_load_send(struct fa_bench_load *load, struct fa_bytes request,
                                   struct faina_error *err)
{
    for (int i = 0; i < load->count; i++)
        if (send(load->wires[i].fd, request.ptr, request.len, MSG_NOSIGNAL) != (ssize_t)request.len)
            return fa_error_set(err, FAINA_UNAVAILABLE, "can't send a request: %s",
                                strerror(errno));
    return FAINA_OK;
}

void fa_bench_request_once(int port, struct fa_bytes request, int *status, struct fa_buf *body)
{
    struct wire wire = {.fd = dial(port)};
    char piece[4096];
    size_t body_begin = 0;
    ssize_t got;

    *status = 0;
    if (wire.fd >= 0 && send(wire.fd, request.ptr, request.len, MSG_NOSIGNAL) > 0) {
        while (!strstr(wire.head, "\r\n\r\n") && wire.got < HEAD_SIZE_MAX &&
               (got = recv(wire.fd, wire.head + wire.got, HEAD_SIZE_MAX - wire.got, 0)) > 0)
            wire.got += (size_t)got;
        if (strstr(wire.head, "\r\n\r\n"))
            *status = read_head(&wire, &body_begin);
    }
    if (*status && body) {
        fa_buf_add(body, wire.head + body_begin, wire.got - body_begin);
        while (body->len < wire.body_left && (got = recv(wire.fd, piece, sizeof(piece), 0)) > 0)
            fa_buf_add(body, piece, (size_t)got);
    }
    if (wire.fd >= 0)
        close(wire.fd);
}

enum faina_code fa_bench_load_open(struct fa_bench_load **out, int port, int count,
                                   struct faina_error *err)
{
    struct fa_bench_load *load = fa_alloc_zero(1, sizeof(*load));

    load->epoll = epoll_create1(EPOLL_CLOEXEC);
    load->piece = fa_alloc(PIECE_SIZE);
    load->wires = fa_alloc_zero((size_t)count, sizeof(*load->wires));
    for (int i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET,
                                    .data.ptr = &load->wires[i]};

        load->wires[i].fd = dial(port);
        if (load->wires[i].fd >= 0)
            load->count++;
        if (load->wires[i].fd < 0 ||
            epoll_ctl(load->epoll, EPOLL_CTL_ADD, load->wires[i].fd, &event) != 0) {
            fa_error_set(err, FAINA_UNAVAILABLE, "can't open connection %d of %d: %s", i + 1, count,
                         strerror(errno));
            fa_bench_load_close(load);
            return FAINA_UNAVAILABLE;
        }
    }
    *out = load;
    return FAINA_OK;
}

void fa_bench_load_close(struct fa_bench_load *load)
{
    if (!load)
        return;
    for (int i = 0; i < load->count; i++)
        close(load->wires[i].fd);
    if (load->epoll >= 0)
        close(load->epoll);
    free(load->wires);
    free(load->piece);
    free(load->samples_us);
    free(load);
}
