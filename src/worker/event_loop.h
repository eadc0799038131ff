/*
 * loop.h - one thread that waits for descriptors, for times and for other threads' messages.
 *
 * Whoever has many children or sockets gives the loop a watch for each descriptor and a timer for
 * each deadline, and is called back. So thousands of things under way need one thread.
 *
 *   L1  Callbacks run in the loop's thread, one at a time, and never after fa_loop_destroy.
 *   L2  After fa_loop_unwatch or fa_timer_clear the watch or timer is not called any more, also
 *       when it was about to be: its memory may go.
 *   L3  Posts are run in the order in which they came, each once.
 *
 * Threads: fa_loop_post from any. Watches and timers belong to the loop's thread. Create and
 * destroy from the owner's, which is not the loop's.
 */
#ifndef FA_LOOP_H
#define FA_LOOP_H

#include "base/error.h"

struct fa_loop;

struct fa_watch {
    int fd;
    void (*on_event)(struct fa_watch *watch);
};

struct fa_timer {
    int64_t at_us; /* monotonic */
    void (*fire)(struct fa_timer *timer);
    size_t place; /* in the loop's heap, from 1; 0: not set */
};

/* A message; the poster's memory until it is run. */
struct fa_post {
    void (*run)(struct fa_post *post);
    struct fa_post *next;
};

FA_MUST_CHECK enum faina_code fa_loop_create(struct fa_loop **out, struct faina_error *err);
/* Runs what was posted, then ends the thread. NULL is fine. */
void fa_loop_destroy(struct fa_loop *loop);
bool fa_loop_is_mine(const struct fa_loop *loop); /* is this the loop's thread? */

void fa_loop_post(struct fa_loop *loop, struct fa_post *post);

/* Calls back when `fd` can be read, or its other side is closed. False: no memory in the kernel. */
FA_MUST_CHECK bool fa_loop_watch(struct fa_loop *loop, struct fa_watch *watch);
void fa_loop_unwatch(struct fa_loop *loop, struct fa_watch *watch);
/* Also (or no longer) when it can be written to. */
void fa_loop_watch_writes(struct fa_loop *loop, struct fa_watch *watch, bool is_wanted);

/* Sets it, or sets it anew. */
void fa_timer_set(struct fa_loop *loop, struct fa_timer *timer, int64_t at_us);
void fa_timer_clear(struct fa_loop *loop, struct fa_timer *timer);

#endif
