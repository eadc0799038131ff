/*
 * http_loop.c - see http_loop.h.
 */
#include "server/http/http_loop.h"

#include "base/clock.h"
#include "server/server_inner.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define EVENTS_MAX 256
#define SWEEP_US 1000000
/* For how long an ending loop sends the answers of its last requests. */
#define LAST_REQUESTS_US 1000000

/* ------------------------------------------------------------------------------------------
 * Requests
 */

/* The request goes on; or it ends, when its connection is closed (connection.h, N2). */
static void wake(struct fa_request *req)
{
    assert(req->waits != FA_REQUEST_NOT_WAITING);
    req->waits = FA_REQUEST_NOT_WAITING;
    if (req->peer)
        fa_connection_go_on(req->peer);
    else
        fa_request_destroy(req);
}

static void take_done(struct fa_http_loop *loop)
{
    struct fa_request *req = atomic_exchange(&loop->done, NULL), *next;

    for (; req; req = next) {
        next = req->done_next;
        wake(req);
    }
}

/* ------------------------------------------------------------------------------------------
 * Calling the loop
 */

static void ring(struct fa_http_loop *loop)
{
    const uint64_t one = 1;

    /* It can't be full: the thread that makes is_asleep false writes once. */
    if (atomic_load(&loop->is_asleep) && atomic_exchange(&loop->is_asleep, false) &&
        write(loop->call_fd, &one, sizeof(one)) < 0)
        assert(errno == EAGAIN);
}

void fa_http_loop_call(struct fa_http_loop *loop)
{
    atomic_store(&loop->is_called, true);
    ring(loop);
}

static void push(_Atomic(struct fa_request *) *list, struct fa_request *req)
{
    struct fa_request *before = atomic_load(list);

    do
        req->done_next = before;
    while (!atomic_compare_exchange_weak(list, &before, req));
}

void fa_http_loop_resume(struct fa_http_loop *loop, struct fa_request *req)
{
    atomic_fetch_add(&loop->callers, 1);
    /* L6. The stream may have sent the data already, after an event of its socket. */
    if (!atomic_exchange(&req->is_woken, true)) {
        push(&loop->woken, req);
        ring(loop);
    }
    atomic_fetch_sub(&loop->callers, 1);
}

/* The request may be answered and freed as soon as it is in the list. */
void fa_http_loop_add_done(struct fa_http_loop *loop, struct fa_request *req)
{
    atomic_fetch_add(&loop->callers, 1);
    push(&loop->done, req);
    ring(loop);
    atomic_fetch_sub(&loop->callers, 1);
}

/* ------------------------------------------------------------------------------------------
 * Streams
 */

/* Moves the streams that were woken to the end of the line. */
static void take_woken(struct fa_http_loop *loop)
{
    struct fa_request *req = atomic_exchange(&loop->woken, NULL), *oldest = NULL, *next;

    for (; req; req = next) { /* newest first */
        next = req->done_next;
        req->done_next = oldest;
        oldest = req;
    }
    if (!loop->resumes)
        loop->resumes_end = &loop->resumes;
    *loop->resumes_end = oldest;
    for (; oldest; oldest = oldest->done_next)
        loop->resumes_end = &oldest->done_next;
}

/* L3. */
static void resume_some(struct fa_http_loop *loop)
{
    take_woken(loop);
    for (size_t i = 0; i < FA_LOOP_RESUMES && loop->resumes; i++) {
        struct fa_request *req = loop->resumes;

        loop->resumes = req->done_next;
        if (!loop->resumes)
            loop->resumes_end = &loop->resumes;
        req->is_woken = false;
        fa_connection_go_on(req->peer);
    }
}

void fa_http_loop_forget(struct fa_http_loop *loop, struct fa_request *req)
{
    struct fa_request **link = &loop->resumes;

    if (!req->is_woken)
        return;
    take_woken(loop);
    while (*link != req)
        link = &(*link)->done_next;
    *link = req->done_next;
    if (!*link)
        loop->resumes_end = link;
    req->is_woken = false;
}

/* ------------------------------------------------------------------------------------------
 * Connections
 */

void fa_http_loop_add_ready(struct fa_http_loop *loop, struct fa_connection *connection)
{
    if (connection->is_ready)
        return;
    if (!loop->ready)
        loop->ready_end = &loop->ready;
    connection->is_ready = true;
    connection->next_ready = NULL;
    *loop->ready_end = connection;
    loop->ready_end = &connection->next_ready;
}

static void run_ready(struct fa_http_loop *loop)
{
    struct fa_connection *connection = loop->ready, *next;

    loop->ready = NULL;
    for (; connection; connection = next) {
        next = connection->next_ready;
        connection->is_ready = false;
        if (connection->state == FA_CONNECTION_OVER)
            fa_connection_destroy(connection);
        else
            fa_connection_go_on(connection);
    }
}

/* Of the connections whose clients have taken nothing for a while, the one that has for longest. */
static struct fa_connection *find_slowest(const struct fa_http_loop *loop)
{
    int64_t before_us = loop->turn_us - FA_SERVER_STALLED_MS * 1000;
    struct fa_connection *slowest = NULL;

    for (struct fa_connection *at = loop->connections; at; at = at->next)
        if (at->taken_us <= before_us && fa_connection_unsent(at) > FA_SERVER_RESPONSE_SIZE_SMALL &&
            (!slowest || at->taken_us < slowest->taken_us))
            slowest = at;
    return slowest;
}

/* connection.h, N3: keeps room for the answer of one more connection. Each loop does it for its
 * own connections. */
static void make_room(struct fa_http_loop *loop)
{
    struct fa_server *server = loop->listener->server;
    int64_t max = server->options.unsent_max, one = server->options.unsent_connection_max;
    struct fa_connection *slowest;
    size_t closed = 0;
    char text[24];

    max -= one < max ? one : 0;
    while (atomic_load(&server->response_bytes) > max && (slowest = find_slowest(loop)) != NULL) {
        fa_connection_destroy(slowest);
        closed++;
    }
    if (closed == 0)
        return;
    snprintf(text, sizeof(text), "%zu", closed);
    FA_LOG(server->log, FA_LOG_WARN, "clients that don't read their answers were disconnected",
           {"address", loop->listener->address}, {"count", text, true});
}

/* L4. */
static void sweep(struct fa_http_loop *loop)
{
    for (struct fa_connection *at = loop->connections, *next; at; at = next) {
        next = at->next;
        if (at->until_us <= loop->turn_us)
            fa_connection_destroy(at);
    }
    make_room(loop);
    loop->sweep_us = loop->turn_us + SWEEP_US;
}

/* A drain took too long: what is still open ends now. */
static void cut(struct fa_http_loop *loop)
{
    for (struct fa_connection *at = loop->connections; at; at = at->next)
        shutdown(at->fd, SHUT_RDWR);
    loop->is_cut = true;
}

/* ------------------------------------------------------------------------------------------
 * The thread
 */

/* Epoll reports connections unless accepting them pauses. */
static void update_listening(struct fa_http_loop *loop)
{
    struct fa_acceptor *acceptor = &loop->listener->acceptor;
    bool is_wanted = fa_acceptor_fd(acceptor, loop->turn_us) >= 0;
    struct epoll_event event = {.events = is_wanted ? EPOLLIN : 0, .data = {.ptr = loop}};

    if (is_wanted == loop->is_listening || acceptor->fd < 0)
        return;
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, acceptor->fd, &event) == 0)
        loop->is_listening = is_wanted;
}

/* The shorter of two time-outs of epoll_wait; -1 is none. */
static int shorter(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static int sleep_ms(const struct fa_http_loop *loop)
{
    if (loop->ready || loop->resumes)
        return 0;
    return shorter(loop->connections ? (int)((loop->sweep_us - loop->turn_us) / 1000) + 1 : -1,
                   fa_acceptor_wait_ms(&loop->listener->acceptor, loop->turn_us));
}

static bool is_called(struct fa_http_loop *loop)
{
    return atomic_load(&loop->done) || atomic_load(&loop->woken) || atomic_load(&loop->is_called);
}

static void handle(struct fa_http_loop *loop, const struct epoll_event *event)
{
    uint64_t count;

    if (event->data.ptr == loop)
        fa_acceptor_run(&loop->listener->acceptor, loop->turn_us);
    else if (event->data.ptr != &loop->call_fd)
        fa_connection_on_event(event->data.ptr, event->events);
    else if (read(loop->call_fd, &count, sizeof(count)) < 0)
        assert(errno == EAGAIN);
}

/* L2: either a call is seen here before epoll_wait, or its caller sees is_asleep and wakes the
 * thread. */
static void turn(struct fa_http_loop *loop, struct epoll_event *events)
{
    int ms = sleep_ms(loop), count;

    if (ms != 0)
        atomic_store(&loop->is_asleep, true);
    count = epoll_wait(loop->epoll_fd, events, EVENTS_MAX, is_called(loop) ? 0 : ms);
    atomic_store(&loop->is_asleep, false);
    atomic_store(&loop->is_called, false);
    loop->turn_us = fa_clock_mono_us();
    for (int i = 0; i < count; i++)
        handle(loop, &events[i]);
    run_ready(loop);
    take_done(loop);
    resume_some(loop);
    if (loop->turn_us >= loop->sweep_us)
        sweep(loop);
    if (atomic_load(&loop->listener->server->is_cut) && !loop->is_cut)
        cut(loop);
    if (atomic_exchange(&loop->is_quiescing, false)) {
        epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, loop->listener->acceptor.fd, NULL);
        fa_acceptor_stop(&loop->listener->acceptor);
        sem_post(&loop->is_quiet);
    }
    update_listening(loop);
}

static void close_idle(struct fa_http_loop *loop)
{
    for (struct fa_connection *at = loop->connections, *next; at; at = next) {
        next = at->next;
        if (!at->req)
            fa_connection_destroy(at);
    }
}

/* L5. An idle connection may have sent a request after the server counted none. */
static void end_requests(struct fa_http_loop *loop, struct epoll_event *events)
{
    int64_t until_us = fa_clock_mono_us() + LAST_REQUESTS_US;

    close_idle(loop);
    while (loop->request_count > 0 && loop->turn_us < until_us)
        turn(loop, events);
    while (loop->connections)
        fa_connection_destroy(loop->connections);
    run_ready(loop); /* frees those that were in line */
    while (loop->request_count > 0)
        turn(loop, events);
}

static void *run(void *ctx)
{
    struct fa_http_loop *loop = ctx;
    struct epoll_event *events = fa_alloc_zero(EVENTS_MAX, sizeof(*events));

    while (!atomic_load(&loop->is_over))
        turn(loop, events);
    end_requests(loop, events);
    free(events);
    return NULL;
}

/* ------------------------------------------------------------------------------------------
 * Life
 */

static bool watch(struct fa_http_loop *loop, int fd, void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = what}};

    return epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

enum faina_code fa_http_loop_start(struct fa_http_loop *loop, struct fa_listener_socket *listener,
                                   struct faina_error *err)
{
    int rc = 0;

    loop->listener = listener;
    loop->resumes_end = &loop->resumes;
    loop->ready_end = &loop->ready;
    loop->is_listening = true;
    loop->scratch = fa_alloc(FA_LOOP_SCRATCH_SIZE);
    sem_init(&loop->is_quiet, 0, 0);
    loop->call_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (loop->call_fd < 0 || loop->epoll_fd < 0 || !watch(loop, loop->call_fd, &loop->call_fd) ||
        !watch(loop, listener->fd, loop))
        rc = errno;
    if (rc == 0)
        rc = pthread_create(&loop->thread, NULL, run, loop);
    if (rc != 0) {
        fa_http_loop_stop(loop);
        return fa_error_set(err, FAINA_UNAVAILABLE, "no thread can be started: %s", strerror(rc));
    }
    pthread_setname_np(loop->thread, "fa-http");
    loop->has_thread = true;
    return FAINA_OK;
}

void fa_http_loop_quiesce(struct fa_http_loop *loop)
{
    atomic_store(&loop->is_quiescing, true);
    fa_http_loop_call(loop);
    while (sem_wait(&loop->is_quiet) != 0)
        assert(errno == EINTR);
}

void fa_http_loop_stop(struct fa_http_loop *loop)
{
    if (!loop->listener)
        return;
    if (loop->has_thread) {
        atomic_store(&loop->is_over, true);
        fa_http_loop_call(loop);
        pthread_join(loop->thread, NULL);
    }
    /* A thread that has reported the last request may not have returned yet. */
    while (atomic_load(&loop->callers) > 0)
        sched_yield();
    assert(!loop->connections && !atomic_load(&loop->done));
    fa_request_drop_spares(loop);
    if (loop->call_fd >= 0)
        close(loop->call_fd);
    if (loop->epoll_fd >= 0)
        close(loop->epoll_fd);
    free(loop->scratch);
    sem_destroy(&loop->is_quiet);
    loop->listener = NULL;
    loop->has_thread = false;
}
