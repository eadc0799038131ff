/*
 * http_loop.h - the thread of one address: accepts connections, and serves them with epoll.
 *
 * In each turn it handles what epoll reports, then requests whose operations are done, then streams
 * with new data. Operations of requests are posted as soon as the request was read; they are
 * gathered in the engine's queue alone (store/txn/batch.h).
 *
 *   L1  Connections and their requests are handled by this thread alone, except for steps that take
 *       long (request.h, Q4).
 *   L2  A finished operation is seen before the thread sleeps, or it wakes the thread.
 *   L3  At most FA_LOOP_RESUMES streams are served in a turn, in the order in which they were
 *   woken.
 *   L4  Once a second, connections that are past their time limit are closed, and those that take
 *       up memory which others need (connection.h, N3).
 *   L5  The thread ends after the last request: requests that were received before are answered, or
 *       their operations end without an answer.
 *   L6  A stream is in the list of those that were woken at most once.
 *
 * Threads: the loop's own, except where it says otherwise.
 */
#ifndef FA_SERVER_HTTP_HTTP_LOOP_H
#define FA_SERVER_HTTP_HTTP_LOOP_H

#include "server/http/connection.h"
#include "server/http/request.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#define FA_LOOP_RESUMES 64
#define FA_LOOP_SPARES 64 /* requests whose memory is kept for the next ones */
#define FA_LOOP_SCRATCH_SIZE ((size_t)64 * 1024)

struct fa_http_loop {
    struct fa_listener_socket *listener; /* NULL: not started */
    pthread_t thread;
    bool has_thread;
    int epoll_fd;
    int call_fd; /* an eventfd: wakes it */
    _Atomic(struct fa_request *) done;
    _Atomic(struct fa_request *) woken; /* streams with data, newest first */
    atomic_bool is_asleep, is_called, is_quiescing, is_over;
    atomic_int callers; /* inside fa_http_loop_add_done or _resume: the loop outlives them */
    sem_t is_quiet;

    /* The thread's own. */
    struct fa_connection *connections;
    struct fa_connection *ready, **ready_end;  /* with more to do (connection.h, N4) */
    struct fa_request *resumes, **resumes_end; /* streams with data, oldest first (L3) */
    size_t request_count;                      /* created and not destroyed */
    struct fa_request *spares;                 /* linked by done_next */
    size_t spare_count;
    bool is_listening; /* epoll reports connections */
    bool is_cut;       /* all connections were shut down */
    int64_t turn_us;   /* when the turn began; monotonic */
    int64_t sweep_us;  /* when the next sweep is due (L4) */
    char *scratch;     /* FA_LOOP_SCRATCH_SIZE bytes for whichever connection is handled */
};

/* From the owner's thread. */
FA_MUST_CHECK enum faina_code fa_http_loop_start(struct fa_http_loop *loop,
                                                 struct fa_listener_socket *listener,
                                                 struct faina_error *err);
/* From the owner's thread, when no request is expected any more (L5). The engine still runs what
 * was posted. */
void fa_http_loop_stop(struct fa_http_loop *loop);
/* From the owner's thread: accepts no more connections. The listening socket isn't used any more on
 * return. */
void fa_http_loop_quiesce(struct fa_http_loop *loop);

/* From any thread: there is something to do. */
void fa_http_loop_call(struct fa_http_loop *loop);
/* From any thread: a stream has something to send. */
void fa_http_loop_resume(struct fa_http_loop *loop, struct fa_request *req);
/* From any thread: the request's operations are done, and it is the loop's again. */
void fa_http_loop_add_done(struct fa_http_loop *loop, struct fa_request *req);

/* The connection has more to do in the next turn. */
void fa_http_loop_add_ready(struct fa_http_loop *loop, struct fa_connection *connection);
/* The stream is detached (stream.h): the request isn't resumed any more. */
void fa_http_loop_forget(struct fa_http_loop *loop, struct fa_request *req);

#endif
