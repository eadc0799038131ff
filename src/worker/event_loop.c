/*
 * event_loop.c - epoll, a heap of timers, and a list of messages with an eventfd.
 */
#include "worker/event_loop.h"

#include "base/clock.h"
#include "base/thread.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define EVENTS_MAX 128

struct fa_event_loop {
    int epoll;
    struct fa_watch wakeup; /* an eventfd: there are messages */
    pthread_t thread;
    bool has_messages, is_ending; /* the loop's own */

    /* The events that are being handled: unwatching takes a watch out of them (L2). */
    struct epoll_event events[EVENTS_MAX];
    int event_at, event_count;

    struct fa_timer **heap; /* from 1; the earliest first */
    size_t timer_count, heap_size;

    pthread_mutex_t mutex; /* guards the list of messages */
    struct fa_message *first, **last;
    struct fa_message end;
};

/* ------------------------------------------------------------------------------------------
 * Timers
 */

static void heap_put(struct fa_event_loop *loop, size_t index, struct fa_timer *timer)
{
    loop->heap[index] = timer;
    timer->heap_index = index;
}

static void heap_up(struct fa_event_loop *loop, size_t index)
{
    struct fa_timer *timer = loop->heap[index];

    for (; index > 1 && loop->heap[index / 2]->at_us > timer->at_us; index /= 2)
        heap_put(loop, index, loop->heap[index / 2]);
    heap_put(loop, index, timer);
}

static void heap_down(struct fa_event_loop *loop, size_t index)
{
    struct fa_timer *timer = loop->heap[index];

    for (size_t child; (child = index * 2) <= loop->timer_count; index = child) {
        if (child < loop->timer_count && loop->heap[child + 1]->at_us < loop->heap[child]->at_us)
            child++;
        if (loop->heap[child]->at_us >= timer->at_us)
            break;
        heap_put(loop, index, loop->heap[child]);
    }
    heap_put(loop, index, timer);
}

void fa_timer_clear(struct fa_event_loop *loop, struct fa_timer *timer)
{
    size_t index = timer->heap_index;
    struct fa_timer *last;

    if (index == 0)
        return;
    last = loop->heap[loop->timer_count--];
    timer->heap_index = 0;
    if (last == timer)
        return;
    heap_put(loop, index, last);
    heap_up(loop, index);
    heap_down(loop, last->heap_index);
}

void fa_timer_set(struct fa_event_loop *loop, struct fa_timer *timer, int64_t at_us)
{
    fa_timer_clear(loop, timer);
    timer->at_us = at_us;
    loop->heap =
        fa_grow(loop->heap, loop->timer_count + 1, &loop->heap_size, sizeof(struct fa_timer *));
    heap_put(loop, ++loop->timer_count, timer);
    heap_up(loop, loop->timer_count);
}

static void fire_due(struct fa_event_loop *loop)
{
    int64_t now_us = fa_clock_mono_us();

    while (loop->timer_count > 0 && loop->heap[1]->at_us <= now_us) {
        struct fa_timer *timer = loop->heap[1];

        fa_timer_clear(loop, timer);
        timer->fire(timer);
    }
}

/* Milliseconds until the first timer, rounded up; -1: there is none. */
static int time_left(const struct fa_event_loop *loop)
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

bool fa_event_loop_watch(struct fa_event_loop *loop, struct fa_watch *watch)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = watch};

    return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, watch->fd, &event) == 0;
}

void fa_event_loop_watch_writes(struct fa_event_loop *loop, struct fa_watch *watch, bool is_wanted)
{
    struct epoll_event event = {.events = EPOLLIN | (is_wanted ? EPOLLOUT : 0), .data.ptr = watch};

    epoll_ctl(loop->epoll, EPOLL_CTL_MOD, watch->fd, &event);
}

void fa_event_loop_unwatch(struct fa_event_loop *loop, struct fa_watch *watch)
{
    epoll_ctl(loop->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
    for (int i = loop->event_at; i < loop->event_count; i++)
        if (loop->events[i].data.ptr == watch)
            loop->events[i].data.ptr = NULL;
}

/* ------------------------------------------------------------------------------------------
 * Messages
 */

void fa_event_loop_send(struct fa_event_loop *loop, struct fa_message *message)
{
    const uint64_t one = 1;
    bool was_empty;

    message->next = NULL;
    pthread_mutex_lock(&loop->mutex);
    was_empty = loop->first == NULL;
    *loop->last = message;
    loop->last = &message->next;
    pthread_mutex_unlock(&loop->mutex);
    if (was_empty) /* else the eventfd is set already, and the loop takes the whole list */
        (void)!write(loop->wakeup.fd, &one, sizeof(one));
}

static void run_messages(struct fa_event_loop *loop)
{
    struct fa_message *message;
    uint64_t count;

    if (!loop->has_messages)
        return;
    loop->has_messages = false;
    (void)!read(loop->wakeup.fd, &count, sizeof(count));
    pthread_mutex_lock(&loop->mutex);
    message = loop->first;
    loop->first = NULL;
    loop->last = &loop->first;
    pthread_mutex_unlock(&loop->mutex);
    while (message) {
        struct fa_message *next = message->next;

        message->run(message);
        message = next;
    }
}

/* ------------------------------------------------------------------------------------------
 * The thread
 */

static void run_once(struct fa_event_loop *loop)
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

static void on_wakeup(struct fa_watch *watch)
{
    struct fa_event_loop *loop = FA_CONTAINER_OF(watch, struct fa_event_loop, wakeup);

    loop->has_messages = true; /* they run after the events: one may free what those refer to */
}

static void *loop_main(void *arg)
{
    struct fa_event_loop *loop = arg;

    while (!loop->is_ending) {
        run_once(loop);
        run_messages(loop);
    }
    return NULL;
}

static void end_loop(struct fa_message *message)
{
    struct fa_event_loop *loop = FA_CONTAINER_OF(message, struct fa_event_loop, end);

    loop->is_ending = true;
}

bool fa_event_loop_is_mine(const struct fa_event_loop *loop)
{
    return pthread_equal(pthread_self(), loop->thread);
}

enum faina_code fa_event_loop_create(struct fa_event_loop **out, struct faina_error *err)
{
    struct fa_event_loop *loop = fa_alloc_zero(1, sizeof(*loop));
    int failed = 0;

    loop->last = &loop->first;
    loop->end.run = end_loop;
    pthread_mutex_init(&loop->mutex, NULL);
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->wakeup.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    loop->wakeup.on_event = on_wakeup;
    if (loop->epoll < 0 || loop->wakeup.fd < 0 || !fa_event_loop_watch(loop, &loop->wakeup))
        failed = errno;
    if (!failed)
        failed = fa_thread_start(&loop->thread, loop_main, loop);
    if (!failed) {
        *out = loop;
        return FAINA_OK;
    }
    close(loop->epoll);
    close(loop->wakeup.fd);
    pthread_mutex_destroy(&loop->mutex);
    free(loop);
    return fa_error_set(err, FAINA_UNAVAILABLE, "the worker's event loop can't start: %s",
                        strerror(failed));
}

void fa_event_loop_destroy(struct fa_event_loop *loop)
{
    if (!loop)
        return;
    assert(!fa_event_loop_is_mine(loop));
    fa_event_loop_send(loop, &loop->end);
    pthread_join(loop->thread, NULL);
    close(loop->epoll);
    close(loop->wakeup.fd);
    pthread_mutex_destroy(&loop->mutex);
    free(loop->heap);
    free(loop);
}
