/*
 * loop.h - the thread of one address: it lets the HTTP library work, and sleeps in between.
 *
 * A request whose operations run waits for them in one of two ways. For a short time it waits in
 * its place: the library asks it again whenever it works, and it says "not yet". Who waits longer,
 * or has many others beside it, is suspended: the library forgets it until it is resumed. That
 * costs as much as reading a request; waiting in place costs a call now and then.
 *
 * A transaction costs much, and one task more in it little. So changes are handed in together, as
 * soon as there is nothing else to do, or many of them are there; and they come back together. A
 * large one is handed in when it was read: the writer has enough to do with it while the next one
 * is read.
 *
 *   L1  Only this thread calls the library, except for what wakes a stream, and for looking at the
 *       headers of a request that waits for its step (request.h, Q4).
 *   L2  What is done is seen before the thread sleeps, or wakes it.
 *   L3  A request outlives its connection while its operations run.
 *   L4  At most FA_LOOP_PLACES requests wait in place, none of them longer than FA_LOOP_PLACE_MS.
 *   L5  A read is handed in at the end of the library's turn, with all changes that are held; these
 *       alone at the end of the first turn that begins FA_LOOP_HELD_US after their own.
 *   L6  When FA_LOOP_WATCH_PLACES wait in place, the thread doesn't sleep at once: it looks again
 *       for FA_LOOP_WATCH_US, once after somebody got on, and lets others run in between. When
 *       those took the core for FA_LOOP_WATCH_LOST_US, it sleeps at once for FA_LOOP_CROWDED_MS.
 *   L7  A claim that waits ends as soon as its client hangs up, or closes its side to say that it
 *       wants nothing any more. Tasks that it got, but was gone before their answer, go back.
 *   L8  At most FA_LOOP_RESUMES streams are resumed in a turn, in the order in which they were
 *       woken: however many there are, requests are served in between.
 *
 * Threads: the loop's own, except where it says otherwise.
 */
#ifndef FA_LOOP_H
#define FA_LOOP_H

#include "server/request.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

struct MHD_Daemon;
struct fa_acceptor;
struct fa_receivers;

#define FA_LOOP_PLACES 256
#define FA_LOOP_PLACE_MS 50
#define FA_LOOP_HELD_MAX 32 /* handed in at once: more would let the writer wait */
#define FA_LOOP_HELD_US 500
#define FA_LOOP_WATCH_PLACES 16
#define FA_LOOP_WATCH_US 200
#define FA_LOOP_WATCH_LOST_US 1000
#define FA_LOOP_CROWDED_MS 100
#define FA_LOOP_LARGE 100 /* operations of one request that is handed in by itself */
#define FA_LOOP_RESUMES 64
#define FA_LOOP_SPARES 64 /* requests whose memory is kept for the next ones */

struct fa_loop {
    struct MHD_Daemon *daemon;
    struct fa_post *post;
    struct fa_acceptor *acceptor;
    struct fa_receivers *receivers;
    pthread_t thread;
    bool has_thread;
    int call_fd;    /* an eventfd: wakes it */
    int hangups_fd; /* an epoll: sockets of claims that wait (L7) */
    _Atomic(struct fa_request *) done;
    _Atomic(struct fa_request *) woken; /* streams to be resumed, newest first */
    atomic_bool is_asleep, is_called, is_quiescing, is_over;
    atomic_int tellers; /* inside fa_loop_tell_done: the loop outlives them */
    sem_t is_quiet;

    /* The thread's own. */
    struct fa_request *resumes, **resumes_end; /* streams to be resumed, linked by done_next (L8) */
    size_t places;                             /* requests that wait in place */
    size_t watched;                            /* claims in hangups_fd */
    int64_t hangups_us;                        /* when it was last looked at */
    struct fa_posted *held[FA_LOOP_HELD_MAX];  /* to be handed in */
    size_t held_count;
    int64_t held_since_us; /* when the turn of the first of them began */
    bool holds_read;
    struct fa_request *spares; /* linked by done_next */
    size_t spare_count;
    bool has_watched;   /* since somebody got on */
    int64_t crowded_us; /* until when it doesn't watch; monotonic */
    bool has_moved;     /* somebody got on the last time: there may be more to do at once */
    bool may_accept;    /* a connection may have arrived */
    int64_t turn_us;    /* when it last began to work; monotonic */
};

/* From the owner's thread. The loop takes the daemon, which has no thread of its own. */
FA_MUST_CHECK enum faina_code fa_loop_start(struct fa_loop *loop, struct MHD_Daemon *daemon,
                                            struct fa_post *post, struct fa_acceptor *acceptor,
                                            struct fa_receivers *receivers,
                                            struct faina_error *err);
/* From the owner's thread, when every request has ended. */
void fa_loop_stop(struct fa_loop *loop);
/* From the owner's thread: takes no more connections, and forgets the socket it listened on. */
void fa_loop_quiesce(struct fa_loop *loop);

/* From any thread: there is something to do. */
void fa_loop_call(struct fa_loop *loop);
/* From any thread: a stream that was suspended has something to send. */
void fa_loop_resume(struct fa_loop *loop, struct fa_request *req);
/* From any thread: the request's operations are done, and it is the loop's again. */
void fa_loop_tell_done(struct fa_loop *loop, struct fa_request *req);

/* Hands in the request's operations (L5), and lets it wait for them. */
void fa_loop_run(struct fa_loop *loop, struct fa_request *req);
/* The request has handed in its operations by itself, and may wait for long. */
void fa_loop_wait_long(struct fa_loop *loop, struct fa_request *req);
/* The same for a claim (L7). */
void fa_loop_wait_for_work(struct fa_loop *loop, struct fa_request *req);
/* The library asks for the answer of a request that still waits. */
void fa_loop_wait_on(struct fa_loop *loop, struct fa_request *req);
/* The request's connection is gone. True: so is the request, for its owner to destroy. */
bool fa_loop_leave(struct fa_loop *loop, struct fa_request *req);

#endif
