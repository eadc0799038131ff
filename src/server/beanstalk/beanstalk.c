/*
 * beanstalk.c - the thread of a beanstalkd listener: accepts, serves with epoll, keeps time.
 *
 * Calls come back in `done`, a list to which other threads add; `is_asleep` tells them whether the
 * thread has to be woken, as in http_loop.c.
 */
#include "server/beanstalk/beanstalk.h"

#include "base/clock.h"
#include "base/random.h"
#include "server/beanstalk/beanstalk_inner.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define EVENTS_MAX 256
#define ACCEPTED_MAX 32 /* in one turn */
#define SWEEP_US 250000
#define LOG_US 10000000
#define PORT_DEFAULT ":11300"
#define SCRATCH_SIZE ((size_t)64 * 1024)

/* ------------------------------------------------------------------------------------------
 * Calls
 */

static void ring(struct fa_beanstalk *listener)
{
    const uint64_t one = 1;

    if (atomic_load(&listener->is_asleep) && atomic_exchange(&listener->is_asleep, false) &&
        write(listener->call_fd, &one, sizeof(one)) < 0)
        assert(errno == EAGAIN);
}

static void wake(struct fa_beanstalk *listener)
{
    atomic_store(&listener->is_called, true);
    ring(listener);
}

/* From any thread. The call may be freed as soon as it is in the list. */
static void on_done(struct fa_posted *posted)
{
    struct fa_beanstalk_call *call = (struct fa_beanstalk_call *)posted;
    struct fa_beanstalk *listener = call->listener;
    struct fa_beanstalk_call *before = atomic_load(&listener->done);

    atomic_fetch_add(&listener->callers, 1);
    do
        call->done_next = before;
    while (!atomic_compare_exchange_weak(&listener->done, &before, call));
    ring(listener);
    atomic_fetch_sub(&listener->callers, 1);
}

static void run_work(struct fa_posted *posted)
{
    struct fa_beanstalk_call *call = (struct fa_beanstalk_call *)posted;

    if (!atomic_load(&call->is_gone))
        call->work(call);
}

static bool is_gone(const struct fa_posted *posted)
{
    return atomic_load(&((const struct fa_beanstalk_call *)posted)->is_gone);
}

struct fa_beanstalk_call *fa_beanstalk_call_create(struct fa_beanstalk *listener,
                                                   struct fa_beanstalk_session *session)
{
    struct fa_beanstalk_call *call = fa_alloc_zero(1, sizeof(*call));

    call->listener = listener;
    call->session = session;
    call->posted.done = on_done;
    call->posted.ops = call->ops;
    if (session)
        call->command = session->command;
    return call;
}

void fa_beanstalk_call_destroy(struct fa_beanstalk_call *call)
{
    fa_arena_finish(&call->arena);
    fa_arena_finish(&call->posted.answers);
    free(call);
}

enum faina_code fa_beanstalk_post(struct fa_beanstalk_call *call, size_t ops)
{
    struct fa_post *post = call->listener->server->post;
    enum faina_code code;

    call->posted.count = ops;
    if (call->work)
        call->posted.work = run_work;
    atomic_fetch_add(&call->listener->call_count, 1);
    if (call->is_claim_wait) {
        call->posted.is_gone = is_gone;
        code = fa_post_claim_wait(post, &call->posted);
    } else {
        code = fa_post(post, &call->posted);
    }
    if (code != FAINA_OK)
        atomic_fetch_sub(&call->listener->call_count, 1);
    return code;
}

static void take_done(struct fa_beanstalk *listener)
{
    struct fa_beanstalk_call *call = atomic_exchange(&listener->done, NULL), *oldest = NULL, *next;

    for (; call; call = next) { /* newest first */
        next = call->done_next;
        call->done_next = oldest;
        oldest = call;
    }
    for (call = oldest; call; call = next) {
        struct fa_beanstalk_session *session = call->session;

        next = call->done_next;
        if (session)
            session->call = NULL;
        call->after(call);
        atomic_fetch_sub(&listener->call_count, 1);
        fa_beanstalk_call_destroy(call);
        if (session)
            fa_beanstalk_session_go_on(session);
    }
}

/* ------------------------------------------------------------------------------------------
 * Connections
 */

static void log_refused(struct fa_beanstalk *listener)
{
    if (listener->logged_us != 0 && listener->turn_us - listener->logged_us < LOG_US)
        return;
    listener->logged_us = listener->turn_us;
    FA_LOG(listener->server->log, FA_LOG_WARN, "connections are refused",
           {"address", listener->socket->address},
           {"why", "the listener has as many connections as it allows"});
}

static void accept_some(struct fa_beanstalk *listener)
{
    for (int i = 0; i < ACCEPTED_MAX; i++) {
        int fd = accept4(listener->socket->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0)
            return; /* tried again in the next turn, as epoll reports it */
        if (listener->session_count < listener->session_max) {
            listener->connections++;
            fa_beanstalk_session_open(listener, fd);
        } else {
            log_refused(listener);
            close(fd);
        }
    }
}

static void run_ready(struct fa_beanstalk *listener)
{
    struct fa_beanstalk_session *session = listener->ready, *next;

    listener->ready = NULL;
    for (; session; session = next) {
        next = session->next_ready;
        session->is_ready = false;
        fa_beanstalk_session_go_on(session);
    }
}

static void sweep(struct fa_beanstalk *listener)
{
    for (struct fa_beanstalk_session *at = listener->sessions, *next; at; at = next) {
        next = at->next;
        if (at->slow_us <= listener->turn_us)
            fa_beanstalk_session_close(at);
        else if (at->state == FA_BEANSTALK_WAITS &&
                 (at->wake_us <= listener->turn_us || atomic_load(&listener->is_draining))) {
            fa_beanstalk_reserve_again(at);
            fa_beanstalk_session_go_on(at);
        }
    }
    for (struct fa_beanstalk_tube *tube = listener->tube_list, *next; tube; tube = next) {
        next = tube->next;
        if (tube->pause_until_us != 0 && tube->pause_until_us <= listener->turn_us) {
            tube->pause_until_us = 0;
            fa_beanstalk_tube_drop(listener, tube);
        }
    }
    listener->sweep_us = listener->turn_us + SWEEP_US;
}

/* ------------------------------------------------------------------------------------------
 * The thread
 */

static void handle(struct fa_beanstalk *listener, const struct epoll_event *event)
{
    struct fa_beanstalk_session *session = event->data.ptr;
    uint64_t count;

    if (event->data.ptr == listener) {
        accept_some(listener);
    } else if (event->data.ptr == &listener->call_fd) {
        if (read(listener->call_fd, &count, sizeof(count)) < 0)
            assert(errno == EAGAIN);
    } else {
        session->can_read |= (event->events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0;
        session->can_write |= (event->events & EPOLLOUT) != 0;
        session->is_hung_up |= (event->events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0;
        fa_beanstalk_session_go_on(session);
    }
}

static int sleep_ms(const struct fa_beanstalk *listener)
{
    int64_t until_us = listener->sweep_us;

    if (listener->ready || !listener->sessions)
        return listener->ready ? 0 : -1;
    if (listener->heap_count > 0 && listener->heap[1]->until_us < until_us)
        until_us = listener->heap[1]->until_us;
    return until_us <= listener->turn_us ? 0 : (int)((until_us - listener->turn_us) / 1000) + 1;
}

static void turn(struct fa_beanstalk *listener, struct epoll_event *events)
{
    bool is_called;
    int ms = sleep_ms(listener), count;

    if (ms != 0)
        atomic_store(&listener->is_asleep, true);
    is_called = atomic_load(&listener->done) || atomic_load(&listener->is_called);
    count = epoll_wait(listener->epoll_fd, events, EVENTS_MAX, is_called ? 0 : ms);
    atomic_store(&listener->is_asleep, false);
    atomic_store(&listener->is_called, false);
    listener->turn_us = fa_clock_mono_us();
    if (listener->is_listening && atomic_load(&listener->is_draining)) {
        epoll_ctl(listener->epoll_fd, EPOLL_CTL_DEL, listener->socket->fd, NULL);
        listener->is_listening = false;
    }
    for (int i = 0; i < count; i++)
        handle(listener, &events[i]);
    run_ready(listener);
    take_done(listener);
    fa_beanstalk_jobs_expire(listener);
    fa_beanstalk_jobs_renew(listener);
    if (listener->turn_us >= listener->sweep_us)
        sweep(listener);
    fa_beanstalk_sessions_free(listener);
}

static void *run(void *ctx)
{
    struct epoll_event *events = fa_alloc_zero(EVENTS_MAX, sizeof(*events));
    struct fa_beanstalk *listener = ctx;

    while (!atomic_load(&listener->is_over))
        turn(listener, events);
    while (listener->sessions)
        fa_beanstalk_session_close(listener->sessions);
    while (atomic_load(&listener->call_count) > 0)
        turn(listener, events);
    run_ready(listener);
    fa_beanstalk_sessions_free(listener);
    free(events);
    return NULL;
}

/* ------------------------------------------------------------------------------------------
 * Life
 */

static bool is_tube(const void *item, const char *a, const char *b)
{
    (void)b;
    return strcmp(((const struct fa_beanstalk_tube *)item)->name, a) == 0;
}

static bool watch(struct fa_beanstalk *listener, int fd, void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = what}};

    return epoll_ctl(listener->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static enum faina_code listen_on(struct fa_beanstalk *listener, const char *address,
                                 struct faina_error *err)
{
    bool has_port = strncmp(address, "unix:", 5) == 0 ||
                    strrchr(address[0] == '[' ? address + strcspn(address, "]") : address, ':');
    bool is_local = false;
    char text[300];
    enum faina_code code;

    snprintf(text, sizeof(text), "%s%s", address, has_port ? "" : PORT_DEFAULT);
    code = fa_listen_open(text, listener->socket, &is_local, err);
    if (code == FAINA_OK && !is_local && !listener->server->options.is_insecure)
        code = fa_error_field(err, FAINA_FORBIDDEN, "beanstalk",
                              "%s can be reached from other machines, and the beanstalkd protocol "
                              "has no tokens: listen on 127.0.0.1 or unix:PATH, or use --insecure",
                              listener->socket->address);
    return code;
}

/* Whether the engine has the operations that the commands need. */
static enum faina_code check_engine(struct fa_beanstalk *listener, struct faina_error *err)
{
    struct fa_arena scratch = {0};
    struct fa_op op = {.kind = FA_OP_QUEUE,
                       .queue = {.ns = listener->ns, .part = FA_QUEUE_KEY, .key = 1},
                       .arena = &scratch};
    enum faina_code code = fa_service_run_one(listener->server->service, &op, err);

    fa_arena_finish(&scratch);
    return code;
}

static enum faina_code start_thread(struct fa_beanstalk *listener, struct faina_error *err)
{
    int rc = 0;

    listener->call_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    listener->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (listener->call_fd < 0 || listener->epoll_fd < 0 ||
        !watch(listener, listener->call_fd, &listener->call_fd) ||
        !watch(listener, listener->socket->fd, listener))
        rc = errno;
    if (rc == 0)
        rc = pthread_create(&listener->thread, NULL, run, listener);
    if (rc != 0)
        return fa_error_set(err, FAINA_UNAVAILABLE, "no thread can be started: %s", strerror(rc));
    pthread_setname_np(listener->thread, "fa-beanstalk");
    listener->has_thread = true;
    return FAINA_OK;
}

static struct fa_beanstalk *create(struct fa_server *server, const char *ns)
{
    struct fa_beanstalk *listener = fa_alloc_zero(1, sizeof(*listener));
    struct fa_random random;

    listener->server = server;
    listener->ns = ns;
    listener->socket = fa_alloc_zero(1, sizeof(*listener->socket));
    listener->socket->fd = listener->epoll_fd = listener->call_fd = -1;
    fa_random_seed_system(&random);
    snprintf(listener->worker_id, sizeof(listener->worker_id), "beanstalk-%d-%08x", (int)getpid(),
             (unsigned)fa_random_next(&random));
    listener->body_max = fa_beanstalk_body_max(server->service->input_size_max);
    listener->session_max = server->connections_max < FA_BEANSTALK_CONNECTIONS_MAX
                                ? server->connections_max
                                : FA_BEANSTALK_CONNECTIONS_MAX;
    listener->is_listening = true;
    listener->tubes.is = is_tube;
    listener->scratch = fa_alloc(SCRATCH_SIZE);
    listener->turn_us = listener->start_us = fa_clock_mono_us();
    listener->default_tube = fa_beanstalk_tube_get(listener, "default");
    return listener;
}

enum faina_code fa_beanstalk_start(struct fa_beanstalk **out, struct fa_server *server,
                                   const char *address, const char *ns, struct faina_error *err)
{
    struct fa_beanstalk *listener = create(server, ns);
    enum faina_code code = check_engine(listener, err);

    if (code == FAINA_OK)
        code = listen_on(listener, address, err);
    if (code == FAINA_OK)
        code = start_thread(listener, err);
    if (code != FAINA_OK) {
        fa_beanstalk_stop(listener);
        return code;
    }
    *out = listener;
    return FAINA_OK;
}

const char *fa_beanstalk_address(const struct fa_beanstalk *beanstalk)
{
    return beanstalk->socket->address;
}

void fa_beanstalk_drain(struct fa_beanstalk *beanstalk)
{
    if (!beanstalk)
        return;
    atomic_store(&beanstalk->is_draining, true);
    wake(beanstalk);
}

bool fa_beanstalk_is_busy(const struct fa_beanstalk *beanstalk)
{
    return beanstalk && atomic_load(&beanstalk->job_count) > 0;
}

void fa_beanstalk_stop(struct fa_beanstalk *beanstalk)
{
    if (!beanstalk)
        return;
    if (beanstalk->has_thread) {
        atomic_store(&beanstalk->is_over, true);
        wake(beanstalk);
        pthread_join(beanstalk->thread, NULL);
    }
    while (atomic_load(&beanstalk->callers) > 0)
        sched_yield();
    if (beanstalk->socket->fd >= 0)
        close(beanstalk->socket->fd);
    if (beanstalk->socket->path[0])
        unlink(beanstalk->socket->path);
    if (beanstalk->call_fd >= 0)
        close(beanstalk->call_fd);
    if (beanstalk->epoll_fd >= 0)
        close(beanstalk->epoll_fd);
    fa_beanstalk_jobs_finish(beanstalk);
    fa_beanstalk_tubes_finish(beanstalk);
    free(beanstalk->scratch);
    free(beanstalk->socket);
    free(beanstalk);
}
