/*
 * event_loop.h - one thread that waits for descriptors, timers and other threads' messages.
 *
 * An owner registers a watch for each descriptor and a timer for each deadline. So one thread
 * serves thousands of child processes and sockets.
 *
 *   L1  Callbacks run in the loop's thread, one at a time, and never after fa_event_loop_destroy.
 *   L2  After fa_event_loop_unwatch or fa_timer_clear the watch or timer is not called any more,
 *       not even for an event that has already arrived: its memory may be freed.
 *   L3  Messages are run in the order in which they were sent, each once.
 *
 * Threads: fa_event_loop_send from any. Watches and timers belong to the loop's thread. Create and
 * destroy from the owner's, which is not the loop's.
 */
#ifndef FA_WORKER_EVENT_LOOP_H
#define FA_WORKER_EVENT_LOOP_H

#include "base/error.h"

struct fa_event_loop;

struct fa_watch {
    int fd;
    void (*on_event)(struct fa_watch *watch);
};

struct fa_timer {
    int64_t at_us; /* monotonic */
    void (*fire)(struct fa_timer *timer);
    size_t heap_index; /* from 1; 0: not set */
};

/* The sender's memory until it is run. */
struct fa_message {
    void (*run)(struct fa_message *message);
    struct fa_message *next;
};

FA_MUST_CHECK enum faina_code fa_event_loop_create(struct fa_event_loop **out,
                                                   struct faina_error *err);
/* Runs the messages sent so far, then ends the thread. NULL is fine. */
void fa_event_loop_destroy(struct fa_event_loop *loop);
bool fa_event_loop_is_mine(const struct fa_event_loop *loop); /* is this the loop's thread? */

void fa_event_loop_send(struct fa_event_loop *loop, struct fa_message *message);

/* Calls back when `fd` can be read, or its other side is closed. False: no memory in the kernel. */
FA_MUST_CHECK bool fa_event_loop_watch(struct fa_event_loop *loop, struct fa_watch *watch);
void fa_event_loop_unwatch(struct fa_event_loop *loop, struct fa_watch *watch);
/* Also (or no longer) when it can be written to. */
void fa_event_loop_watch_writes(struct fa_event_loop *loop, struct fa_watch *watch, bool is_wanted);

/* Sets the timer, or moves it. */
void fa_timer_set(struct fa_event_loop *loop, struct fa_timer *timer, int64_t at_us);
void fa_timer_clear(struct fa_event_loop *loop, struct fa_timer *timer);

#endif
