/*
 * loop.c - epoll, a heap of timers, and a list of posts behind an eventfd.
 */
#include "runtime/loop.h"

#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define EVENTS_MAX 128

struct fa_loop {
    int epoll;
    struct fa_watch bell; /* an eventfd: there are posts */
    pthread_t thread;
    bool is_rung, is_ending; /* the loop's own */

    /* The events that are being handled: unwatching takes a watch out of them (L2). */
    struct epoll_event events[EVENTS_MAX];
    int event_at, event_count;

    struct fa_timer **heap; /* from 1; the earliest first */
    size_t timer_count, heap_size;

    pthread_mutex_t mutex; /* guards the posts */
    struct fa_post *first, **last;
    struct fa_post end;
};

/* ------------------------------------------------------------------------------------------
 * Timers
 */

static void heap_put(struct fa_loop *loop, size_t place, struct fa_timer *timer)
{
    loop->heap[place] = timer;
    timer->place = place;
}

static void heap_up(struct fa_loop *loop, size_t place)
{
    struct fa_timer *timer = loop->heap[place];

    for (; place > 1 && loop->heap[place / 2]->at_us > timer->at_us; place /= 2)
        heap_put(loop, place, loop->heap[place / 2]);
    heap_put(loop, place, timer);
}

static void heap_down(struct fa_loop *loop, size_t place)
{
    struct fa_timer *timer = loop->heap[place];

    for (size_t child; (child = place * 2) <= loop->timer_count; place = child) {
        if (child < loop->timer_count && loop->heap[child + 1]->at_us < loop->heap[child]->at_us)
            child++;
        if (loop->heap[child]->at_us >= timer->at_us)
            break;
        heap_put(loop, place, loop->heap[child]);
    }
    heap_put(loop, place, timer);
}

void fa_timer_clear(struct fa_loop *loop, struct fa_timer *timer)
{
    size_t place = timer->place;
    struct fa_timer *last;

    if (place == 0)
        return;
    last = loop->heap[loop->timer_count--];
    timer->place = 0;
    if (last == timer)
        return;
    heap_put(loop, place, last);
    heap_up(loop, place);
    heap_down(loop, last->place);
}

void fa_timer_set(struct fa_loop *loop, struct fa_timer *timer, int64_t at_us)
{
    fa_timer_clear(loop, timer);
    timer->at_us = at_us;
    if (loop->timer_count + 2 > loop->heap_size) {
        loop->heap_size = loop->heap_size * 2 + 16;
        loop->heap = fa_realloc(loop->heap, loop->heap_size * sizeof(struct fa_timer *));
    }
    heap_put(loop, ++loop->timer_count, timer);
    heap_up(loop, loop->timer_count);
}

static void fire_due(struct fa_loop *loop)
{
    int64_t now_us = fa_clock_mono_us();

    while (loop->timer_count > 0 && loop->heap[1]->at_us <= now_us) {
        struct fa_timer *timer = loop->heap[1];

        fa_timer_clear(loop, timer);
        timer->fire(timer);
    }
}

/* Milliseconds until the first timer, rounded up; -1: there is none. */
static int time_left(const struct fa_loop *loop)
{
    int64_t left_us;

    if (loop->timer_count == 0)
        return -1;
    left_us = loop->heap[1]->at_us - fa_clock_mono_us();
    if (left_us <= 0)
        return 0;
    return left_us > 3600LL * 1000000 ? 3600 * 1000 : (int)((left_us + 999) / 1000);
}

/* ------------------------------------------------------------------------------------------
 * Descriptors
 */

bool fa_loop_watch(struct fa_loop *loop, struct fa_watch *watch)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = watch};

    return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, watch->fd, &event) == 0;
}

void fa_loop_watch_writes(struct fa_loop *loop, struct fa_watch *watch, bool is_wanted)
{
    struct epoll_event event = {.events = EPOLLIN | (is_wanted ? EPOLLOUT : 0), .data.ptr = watch};

    epoll_ctl(loop->epoll, EPOLL_CTL_MOD, watch->fd, &event);
}

void fa_loop_unwatch(struct fa_loop *loop, struct fa_watch *watch)
{
    epoll_ctl(loop->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
    for (int i = loop->event_at; i < loop->event_count; i++)
        if (loop->events[i].data.ptr == watch)
            loop->events[i].data.ptr = NULL;
}

/* ------------------------------------------------------------------------------------------
 * Posts
 */

void fa_loop_post(struct fa_loop *loop, struct fa_post *post)
{
    const uint64_t one = 1;
    bool was_empty;

    post->next = NULL;
    pthread_mutex_lock(&loop->mutex);
    was_empty = loop->first == NULL;
    *loop->last = post;
    loop->last = &post->next;
    pthread_mutex_unlock(&loop->mutex);
    if (was_empty) /* else the bell has been rung, and the loop takes the whole list */
        (void)!write(loop->bell.fd, &one, sizeof(one));
}

static void run_posts(struct fa_loop *loop)
{
    struct fa_post *post;
    uint64_t count;

    if (!loop->is_rung)
        return;
    loop->is_rung = false;
    (void)!read(loop->bell.fd, &count, sizeof(count));
    pthread_mutex_lock(&loop->mutex);
    post = loop->first;
    loop->first = NULL;
    loop->last = &loop->first;
    pthread_mutex_unlock(&loop->mutex);
    while (post) {
        struct fa_post *next = post->next;

        post->run(post);
        post = next;
    }
}

/* ------------------------------------------------------------------------------------------
 * The thread
 */

static void run_once(struct fa_loop *loop)
{
    loop->event_count = epoll_wait(loop->epoll, loop->events, EVENTS_MAX, time_left(loop));
    for (loop->event_at = 0; loop->event_at < loop->event_count;) {
        struct fa_watch *watch = loop->events[loop->event_at++].data.ptr;

        if (watch)
            watch->on_event(watch);
    }
    loop->event_count = 0;
    fire_due(loop);
}

static void on_bell(struct fa_watch *watch)
{
    struct fa_loop *loop = (struct fa_loop *)((char *)watch - offsetof(struct fa_loop, bell));

    loop->is_rung = true; /* after the events: a post may take away what they are about */
}

static void *loop_main(void *arg)
{
    struct fa_loop *loop = arg;

    while (!loop->is_ending) {
        run_once(loop);
        run_posts(loop);
    }
    return NULL;
}

static void end_loop(struct fa_post *post)
{
    struct fa_loop *loop = (struct fa_loop *)((char *)post - offsetof(struct fa_loop, end));

    loop->is_ending = true;
}

bool fa_loop_is_mine(const struct fa_loop *loop)
{
    return pthread_equal(pthread_self(), loop->thread);
}

/* A thread that takes no signals: those are for the program's own threads. */
static int start_thread(struct fa_loop *loop)
{
    sigset_t all, before;
    int failed;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&loop->thread, NULL, loop_main, loop);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

enum faina_code fa_loop_create(struct fa_loop **out, struct faina_error *err)
{
    struct fa_loop *loop = fa_alloc_zero(1, sizeof(*loop));
    int failed = 0;

    loop->last = &loop->first;
    loop->end.run = end_loop;
    pthread_mutex_init(&loop->mutex, NULL);
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->bell.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    loop->bell.on_event = on_bell;
    if (loop->epoll < 0 || loop->bell.fd < 0 || !fa_loop_watch(loop, &loop->bell))
        failed = errno;
    if (!failed)
        failed = start_thread(loop);
    if (!failed) {
        *out = loop;
        return FAINA_OK;
    }
    close(loop->epoll);
    close(loop->bell.fd);
    pthread_mutex_destroy(&loop->mutex);
    free(loop);
    return fa_error_set(err, FAINA_UNAVAILABLE, "the worker's event loop can't start: %s",
                        strerror(failed));
}

void fa_loop_destroy(struct fa_loop *loop)
{
    if (!loop)
        return;
    assert(!fa_loop_is_mine(loop));
    fa_loop_post(loop, &loop->end);
    pthread_join(loop->thread, NULL);
    close(loop->epoll);
    close(loop->bell.fd);
    pthread_mutex_destroy(&loop->mutex);
    free(loop->heap);
    free(loop);
}
