/*
 * loop.c - see loop.h.
 *
 * The library says that it has work as long as somebody waits in place, since it would ask them for
 * ever. So while they wait, the loop works again at once only when somebody got on the last time,
 * and else when a socket or an answer comes. What the library has kept back without telling us is
 * found a millisecond later.
 */
#include "server/loop.h"

#include "base/clock.h"
#include "server/inner.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <microhttpd.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define PLACES_LOOK_MS 1
#define HANGUPS_MAX 64       /* taken at once */
#define HANGUPS_US 5000      /* how often they are looked for when there is no time to sleep */
#define WATCH_SOCKETS_EACH 4 /* looks at a list that costs nothing, for one at the sockets */

/* ------------------------------------------------------------------------------------------
 * Requests that wait
 */

static void suspend(struct fa_loop *loop, struct fa_request *req)
{
    loop->places--;
    req->waits = FA_REQUEST_SUSPENDED;
    MHD_suspend_connection(req->connection);
}

static void begin_wait(struct fa_loop *loop, struct fa_request *req)
{
    req->waits = FA_REQUEST_IN_PLACE;
    req->waits_since_us = loop->turn_us;
    loop->places++;
}

/* L7. Without it the claim ends when its time is over, or with the next work. */
static void watch_hangup(struct fa_loop *loop, struct fa_request *req)
{
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLONESHOT, .data = {.ptr = req}};

    req->is_watched = epoll_ctl(loop->hangups_fd, EPOLL_CTL_ADD, fa_http_socket(req), &event) == 0;
    loop->watched += req->is_watched;
}

static void unwatch_hangup(struct fa_loop *loop, struct fa_request *req)
{
    if (!req->is_watched)
        return;
    epoll_ctl(loop->hangups_fd, EPOLL_CTL_DEL, fa_http_socket(req), NULL);
    loop->watched--;
    req->is_watched = false;
}

/* They are suspended, so they are all still there. */
static void take_hangups(struct fa_loop *loop)
{
    struct epoll_event events[HANGUPS_MAX];
    int count = epoll_wait(loop->hangups_fd, events, HANGUPS_MAX, 0);

    loop->hangups_us = loop->turn_us;
    for (int i = 0; i < count; i++)
        fa_post_give_up(loop->post, &((struct fa_request *)events[i].data.ptr)->posted);
}

void fa_loop_wait_long(struct fa_loop *loop, struct fa_request *req)
{
    begin_wait(loop, req);
    suspend(loop, req);
}

void fa_loop_wait_for_work(struct fa_loop *loop, struct fa_request *req)
{
    fa_loop_wait_long(loop, req);
    watch_hangup(loop, req);
}

void fa_loop_wait_on(struct fa_loop *loop, struct fa_request *req)
{
    if (loop->turn_us - req->waits_since_us > FA_LOOP_PLACE_MS * 1000)
        suspend(loop, req);
}

bool fa_loop_leave(struct fa_loop *loop, struct fa_request *req)
{
    loop->has_moved = true;
    if (req->waits == FA_REQUEST_IS_AWAKE)
        return true;
    /* The library closes nobody who is suspended. */
    assert(req->waits == FA_REQUEST_IN_PLACE);
    loop->places--;
    req->waits = FA_REQUEST_ORPHANED;
    return false;
}

static void wake(struct fa_loop *loop, struct fa_request *req)
{
    switch (req->waits) {
    case FA_REQUEST_IS_AWAKE:
        assert(!"done, but it has not waited");
        break;
    case FA_REQUEST_IN_PLACE:
        loop->places--;
        break;
    case FA_REQUEST_SUSPENDED:
        unwatch_hangup(loop, req);
        MHD_resume_connection(req->connection);
        break;
    case FA_REQUEST_ORPHANED:
        fa_request_destroy(req);
        return;
    }
    req->waits = FA_REQUEST_IS_AWAKE;
}

/* ------------------------------------------------------------------------------------------
 * Operations that are handed in together
 */

static void hand_in(struct fa_loop *loop)
{
    enum faina_code codes[FA_LOOP_HELD_MAX];
    size_t count = loop->held_count;

    fa_post_many(loop->post, loop->held, count, codes);
    loop->held_count = 0;
    loop->holds_read = false;
    for (size_t i = 0; i < count; i++) {
        /* What was taken is not ours any more. */
        struct fa_request *req = (struct fa_request *)loop->held[i];

        if (codes[i] == FAINA_OK)
            continue;
        fa_http_refuse(req, codes[i]);
        wake(loop, req);
        loop->has_moved = true;
    }
}

/* L5. While somebody gets on there may be more to come. A writer that sleeps on our core would
 * begin with what it is given first, and let all others wait for the next transaction. */
static bool is_to_hand_in(const struct fa_loop *loop)
{
    return loop->held_count > 0 && (!loop->has_moved || loop->holds_read ||
                                    loop->turn_us - loop->held_since_us >= FA_LOOP_HELD_US);
}

void fa_loop_run(struct fa_loop *loop, struct fa_request *req)
{
    if (loop->held_count == 0)
        loop->held_since_us = loop->turn_us;
    loop->held[loop->held_count++] = &req->posted;
    loop->holds_read |= !fa_posted_writes(&req->posted);
    begin_wait(loop, req);
    if (loop->places > FA_LOOP_PLACES)
        suspend(loop, req);
    if (loop->held_count == FA_LOOP_HELD_MAX || req->posted.count >= FA_LOOP_LARGE)
        hand_in(loop);
}

/* ------------------------------------------------------------------------------------------
 * Calling the loop
 */

static void take_done(struct fa_loop *loop)
{
    struct fa_request *req = atomic_exchange(&loop->done, NULL), *next;

    for (; req; req = next) {
        next = req->done_next;
        wake(loop, req);
    }
}

static void ring(struct fa_loop *loop)
{
    const uint64_t one = 1;

    /* It can't be full: whoever makes is_asleep false rings once. (To look first is cheaper.) */
    if (atomic_load(&loop->is_asleep) && atomic_exchange(&loop->is_asleep, false) &&
        write(loop->call_fd, &one, sizeof(one)) < 0)
        assert(errno == EAGAIN);
}

void fa_loop_call(struct fa_loop *loop)
{
    atomic_store(&loop->is_called, true);
    ring(loop);
}

/* A stream stays suspended, and so its request is there, until the loop resumes it. */
void fa_loop_resume(struct fa_loop *loop, struct fa_request *req)
{
    struct fa_request *before;

    atomic_fetch_add(&loop->tellers, 1);
    before = atomic_load(&loop->woken);
    do
        req->done_next = before;
    while (!atomic_compare_exchange_weak(&loop->woken, &before, req));
    fa_loop_call(loop);
    atomic_fetch_sub(&loop->tellers, 1);
}

/* L8. */
static void resume_some(struct fa_loop *loop)
{
    struct fa_request *req = atomic_exchange(&loop->woken, NULL), *oldest = NULL, *next;

    if (!loop->resumes)
        loop->resumes_end = &loop->resumes;
    for (; req; req = next) { /* they come newest first */
        next = req->done_next;
        req->done_next = oldest;
        oldest = req;
    }
    *loop->resumes_end = oldest;
    for (; oldest; oldest = oldest->done_next)
        loop->resumes_end = &oldest->done_next;
    for (size_t i = 0; i < FA_LOOP_RESUMES && loop->resumes; i++) {
        req = loop->resumes;
        loop->resumes = req->done_next;
        MHD_resume_connection(req->connection);
    }
}

/* The request may be answered and freed as soon as it is in the list. */
void fa_loop_tell_done(struct fa_loop *loop, struct fa_request *req)
{
    struct fa_request *before;

    atomic_fetch_add(&loop->tellers, 1);
    before = atomic_load(&loop->done);
    do
        req->done_next = before;
    while (!atomic_compare_exchange_weak(&loop->done, &before, req));
    ring(loop);
    atomic_fetch_sub(&loop->tellers, 1);
}

/* ------------------------------------------------------------------------------------------
 * The thread
 */

/* -1: for ever. */
static int sleep_ms(const struct fa_loop *loop)
{
    unsigned long long ms;

    if (loop->has_moved)
        return 0;
    if (loop->places > 0)
        return PLACES_LOOK_MS;
    if (MHD_get_timeout(loop->daemon, &ms) != MHD_YES)
        return -1;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

static bool is_called(struct fa_loop *loop)
{
    return atomic_load(&loop->done) || atomic_load(&loop->woken) || atomic_load(&loop->is_called);
}

/* L6. True: there is something to do. */
static bool watch(struct fa_loop *loop, int sockets_fd)
{
    struct pollfd sockets = {.fd = sockets_fd, .events = POLLIN};
    int64_t begun_us, now_us, before_us;

    if (loop->has_watched || loop->places < FA_LOOP_WATCH_PLACES)
        return false;
    begun_us = now_us = fa_clock_mono_us();
    if (begun_us < loop->crowded_us)
        return false;
    loop->has_watched = true;
    for (unsigned i = 0; now_us - begun_us < FA_LOOP_WATCH_US; i++) {
        if (is_called(loop) || (i % WATCH_SOCKETS_EACH == 0 && poll(&sockets, 1, 0) > 0))
            return true;
        sched_yield();
        before_us = now_us;
        now_us = fa_clock_mono_us();
        if (now_us - before_us > FA_LOOP_WATCH_LOST_US) {
            loop->crowded_us = now_us + FA_LOOP_CROWDED_MS * 1000;
            return false;
        }
    }
    return false;
}

/* Of two times to sleep, of which -1 is for ever. */
static int shorter(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* L2: who calls either is seen here, or sees that it sleeps. */
static void rest(struct fa_loop *loop, int sockets_fd)
{
    struct pollfd fds[] = {{.fd = sockets_fd, .events = POLLIN},
                           {.fd = loop->call_fd, .events = POLLIN},
                           {.fd = loop->hangups_fd, .events = POLLIN},
                           {.fd = fa_acceptor_fd(loop->acceptor, loop->turn_us), .events = POLLIN}};
    int ms = shorter(sleep_ms(loop), fa_acceptor_wait_ms(loop->acceptor, loop->turn_us));
    uint64_t count;

    loop->may_accept = loop->turn_us - loop->acceptor->tried_us >= FA_ACCEPT_RETRY_US;
    if (loop->has_moved)
        loop->has_watched = false;
    if (ms == 0 || watch(loop, sockets_fd)) {
        if (loop->watched > 0 && loop->turn_us - loop->hangups_us > HANGUPS_US)
            take_hangups(loop);
        return;
    }
    atomic_store(&loop->is_asleep, true);
    if (!is_called(loop)) {
        int ready = poll(fds, FA_COUNT(fds), ms);

        loop->may_accept = ready <= 0 || fds[3].revents;
    }
    atomic_store(&loop->is_asleep, false);
    if (fds[1].revents && read(loop->call_fd, &count, sizeof(count)) < 0)
        assert(errno == EAGAIN);
    if (fds[2].revents)
        take_hangups(loop);
}

static void *run(void *ctx)
{
    struct fa_loop *loop = ctx;
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(loop->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    int sockets_fd = info->epoll_fd;

    fa_receivers_adopt(loop->receivers);
    for (;;) {
        /* In this order: who asks for something calls afterwards. */
        atomic_store(&loop->is_called, false);
        if (atomic_load(&loop->is_over))
            break;
        if (atomic_exchange(&loop->is_quiescing, false)) {
            fa_acceptor_stop(loop->acceptor);
            sem_post(&loop->is_quiet);
        }
        take_done(loop);
        loop->turn_us = fa_clock_mono_us();
        resume_some(loop);
        loop->has_moved = loop->resumes != NULL;
        MHD_run(loop->daemon);
        /* After connections that have ended were closed, and before the library works again. */
        if (loop->may_accept && fa_acceptor_run(loop->acceptor, loop->turn_us))
            loop->has_moved = true;
        if (is_to_hand_in(loop))
            hand_in(loop);
        rest(loop, sockets_fd);
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------
 * Life
 */

static enum faina_code no_loop(struct fa_loop *loop, int error, struct faina_error *err)
{
    fa_loop_stop(loop);
    return fa_error_set(err, FAINA_UNAVAILABLE, "no thread can be started: %s", strerror(error));
}

enum faina_code fa_loop_start(struct fa_loop *loop, struct MHD_Daemon *daemon, struct fa_post *post,
                              struct fa_acceptor *acceptor, struct fa_receivers *receivers,
                              struct faina_error *err)
{
    int rc;

    loop->daemon = daemon;
    loop->acceptor = acceptor;
    loop->receivers = receivers;
    loop->may_accept = true;
    loop->post = post;
    sem_init(&loop->is_quiet, 0, 0);
    loop->call_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    loop->hangups_fd = epoll_create1(EPOLL_CLOEXEC);
    if (loop->call_fd < 0 || loop->hangups_fd < 0)
        return no_loop(loop, errno, err);
    rc = pthread_create(&loop->thread, NULL, run, loop);
    if (rc != 0)
        return no_loop(loop, rc, err);
    pthread_setname_np(loop->thread, "fa-http");
    loop->has_thread = true;
    return FAINA_OK;
}

void fa_loop_quiesce(struct fa_loop *loop)
{
    atomic_store(&loop->is_quiescing, true);
    fa_loop_call(loop);
    while (sem_wait(&loop->is_quiet) != 0)
        assert(errno == EINTR);
}

void fa_loop_stop(struct fa_loop *loop)
{
    if (!loop->daemon)
        return;
    if (loop->has_thread) {
        atomic_store(&loop->is_over, true);
        fa_loop_call(loop);
        pthread_join(loop->thread, NULL);
    }
    /* Who told of the last request may not have returned yet. */
    while (atomic_load(&loop->tellers) > 0)
        sched_yield();
    MHD_stop_daemon(loop->daemon);
    fa_request_drop_spares(loop);
    assert(loop->places == 0 && !atomic_load(&loop->done));
    if (loop->call_fd >= 0)
        close(loop->call_fd);
    if (loop->hangups_fd >= 0)
        close(loop->hangups_fd);
    sem_destroy(&loop->is_quiet);
    loop->daemon = NULL;
    loop->has_thread = false;
}
