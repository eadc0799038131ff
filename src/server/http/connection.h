/*
 * connection.h - one connection of the HTTP server: bytes in, requests, answers, bytes out.
 *
 *     HEAD --> BODY --> RUNS --> SENDS --> HEAD ...
 *                                  '-----> LINGERS (closing) or OVER
 *
 * Requests of a connection are handled one after the other. While one runs or is answered, nothing
 * is read from the socket, so a client that sends without reading uses no memory here.
 *
 *   N1  A request is handed to http.c once, when its body is complete (or refused before).
 *   N2  A request outlives its connection while its operations run. Its answer is dropped then.
 *   N3  Each state but RUNS has a time limit (server.h). A slow client is closed, never waited for.
 *       When all unsent answers together need more memory than the server allows, the client that
 *       has not taken a byte for longest is disconnected.
 *   N4  A turn handles a bounded number of bytes of one connection before others have their turn.
 *   N5  A claim that waits ends when its client closes its side of the connection. Tasks that it
 *   got,
 *       but whose answer could not be sent, are released.
 *
 * Threads: that of the loop.
 */
#ifndef FA_SERVER_HTTP_CONNECTION_H
#define FA_SERVER_HTTP_CONNECTION_H

#include "server/http/accept.h"
#include "server/http/chunked.h"
#include "server/http/head.h"

#include <sys/socket.h>

struct fa_request;
struct fa_tls_session;

struct fa_connection {
    struct fa_connection *next, **link; /* of the loop's connections */
    struct fa_connection *next_ready;   /* of those with more to do in the next turn */
    bool is_ready;                      /* it is among them */
    struct fa_listener_socket *listener;
    struct fa_server *server;
    int fd;
    struct fa_tls_session *tls; /* NULL: plain */
    struct sockaddr_storage address;
    struct fa_admission admission;
    int64_t until_us; /* N3; monotonic; INT64_MAX: no limit */
    int64_t taken_us; /* when the client has last taken bytes of its answer; monotonic */

    enum fa_connection_state {
        FA_CONNECTION_HEAD,
        FA_CONNECTION_BODY,
        FA_CONNECTION_RUNS,
        FA_CONNECTION_SENDS,
        FA_CONNECTION_LINGERS, /* the answer is sent; waits until the client has closed, too */
        FA_CONNECTION_OVER     /* to be destroyed */
    } state;
    bool can_read, can_write;            /* as far as epoll has reported */
    bool reads_on_write, writes_on_read; /* TLS: what the other direction is waited for */
    bool is_hung_up;                     /* the client has closed its side */

    /* Received, but not read yet: an incomplete head, or the requests after the current one. */
    struct fa_buf in;
    size_t scanned; /* of the head (fa_head_find_end) */

    struct fa_request *req; /* the current one; NULL in HEAD, and after it was refused */
    uint64_t body_left;
    struct fa_chunked chunked;

    /* The answer: its head, or a piece of a stream; then the request's `out`, or its file. */
    struct fa_buf out;
    size_t out_sent, body_sent;
    bool has_body, ends_stream;
};

/* Serves a socket, which is the connection's from now on. */
void fa_connection_open(struct fa_listener_socket *listener, int fd, const struct sockaddr *address,
                        socklen_t size, const struct fa_admission *admission);
/* The socket is ready for something (epoll's bits). May destroy the connection. */
void fa_connection_on_event(struct fa_connection *connection, uint32_t events);
/* Goes on as far as possible: its request has an answer, a stream has data, or it was not its turn
 * before. May destroy the connection. */
void fa_connection_go_on(struct fa_connection *connection);
/* How many bytes of the answer to its request are in memory and were not taken by the client. */
size_t fa_connection_unsent(const struct fa_connection *connection);
/* Closes at once. A request that runs is left alone (N2). */
void fa_connection_destroy(struct fa_connection *connection);

/* ---- for http.c ---- */

/* The request's operations run; fa_connection_go_on follows. */
void fa_connection_wait(struct fa_connection *connection);
/* Starts to send the answer. */
void fa_connection_send(struct fa_connection *connection, struct fa_request *req);

#endif
