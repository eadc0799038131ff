/*
 * inner.h - what the files of the server share with each other, and with nobody else.
 */
#ifndef FA_SERVER_INNER_H
#define FA_SERVER_INNER_H

#include "server/accept.h"
#include "server/auth.h"
#include "server/framing.h"
#include "server/logins.h"
#include "server/loop.h"
#include "server/metrics.h"
#include "server/rates.h"
#include "server/request.h"
#include "server/server.h"
#include "server/stream.h"
#include "service/post.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

/* MHD_queue_response. */
typedef enum MHD_Result fa_queue_fn(struct MHD_Connection *connection, unsigned int status,
                                    struct MHD_Response *response);

/* receive.c: what follows the bytes of each connection of a loop, by descriptor. */
struct fa_receivers {
    struct fa_framing **framings;
    size_t size;
};

/* One address that it listens on. When certificates change, a new one takes over the socket, and
 * the old one is retired: it serves the connections that it has. */
struct fa_listener_socket {
    struct fa_server *server;
    struct fa_loop loop;
    struct fa_acceptor acceptor;
    struct fa_receivers receivers;   /* the loop's thread's own */
    struct fa_listener_socket *next; /* of the retired ones */
    atomic_bool is_retired;
    atomic_size_t connection_count, request_count; /* a request may outlive its connection */
    int fd;
    char address[160];
    char path[108]; /* of a Unix socket that is ours to remove; "" otherwise */
    bool is_unix, has_tls;
    bool is_trusted; /* a Unix socket that we made, for our own user alone */
    bool is_guarded; /* others can reach it: nobody is let in without a token */
};

struct fa_server {
    struct fa_service *service;
    struct fa_post *post;
    struct fa_streams *streams;
    struct fa_auth *auth;
    struct fa_logins *logins;
    struct fa_metrics *metrics;
    struct fa_rates *rates;
    struct fa_listener counter; /* tells the metrics what was committed */
    char *certificate, *key;    /* PEM; NULL: no TLS */
    const struct fa_log *log;
    struct fa_server_options options;
    struct fa_listener_socket *listeners[FA_SERVER_LISTEN_MAX];
    size_t listener_count;
    bool is_open; /* other machines can reach one of them */
    struct fa_listener_socket *retired;
    fa_queue_fn *queue; /* the library's */
    char *openapi;      /* the document, made once */
    char openapi_etag[40];

    /* accept.h. */
    struct fa_quotas *quotas;
    size_t connections_max;
    atomic_ullong refused[FA_REFUSAL_COUNT];

    atomic_bool is_draining, is_cut;
    atomic_bool is_backing_up;   /* a backup is being made or sent */
    atomic_llong looks_since_us; /* at the store, for an answer; monotonic; 0: nobody does */
    atomic_int active;           /* requests between their head and the end of their answer */
    atomic_llong body_bytes;     /* of all requests */
    atomic_llong answer_bytes;   /* of all large answers that wait to be sent */
    atomic_ullong request_count; /* numbers for request ids */
    uint64_t id_seed;

    /* http.c: the connections, for the sweeper. */
    pthread_mutex_t mutex;
    struct fa_connection *connections;
    size_t connection_count; /* but for those that are only refused */
    size_t refused_open;     /* those */
    pthread_t sweeper;
    pthread_cond_t sweeper_cond;
    bool has_sweeper, is_over;
};

/* ---- http.c: between the HTTP library and requests ---- */

FA_MUST_CHECK enum faina_code fa_http_start(struct fa_listener_socket *listener,
                                            struct faina_error *err);
/* The socket of a request; -1: it has none. */
int fa_http_socket(const struct fa_request *req);
/* Whether the server's certificate and key fit together. */
bool fa_http_has_good_tls(const struct fa_server *server);
/* Takes no more connections; the socket is the caller's. */
int fa_http_quiesce(struct fa_listener_socket *listener);
bool fa_http_is_idle(const struct fa_listener_socket *listener);
/* Every request must have ended. */
void fa_http_stop(struct fa_listener_socket *listener);
FA_MUST_CHECK enum faina_code fa_http_start_sweeper(struct fa_server *server,
                                                    struct faina_error *err);
void fa_http_stop_sweeper(struct fa_server *server);
/* Closes every connection, for the end of a drain that takes too long. */
void fa_http_cut(struct fa_server *server);

/* Answers a request whose operations were not taken. */
void fa_http_refuse(struct fa_request *req, enum faina_code code);
/* For streams; ctx is the request. */
extern const struct fa_stream_calls fa_http_stream_calls;

/* What the connection of a request was admitted as. */
struct fa_admission *fa_http_admission(const struct fa_request *req);

/* Whose connection it is. */
struct fa_server *fa_http_server_of(struct MHD_Connection *connection);

/* ---- backup.c ---- */

/* Makes the backup that a request asks for in a thread of its own, which tells the loop when it is
 * done. OVERLOADED: there is no thread to be had. */
FA_MUST_CHECK enum faina_code fa_backup_start(struct fa_request *req);

/* ---- unread.c: what the HTTP library refuses by itself ---- */

/* The library's own function for answers, which ours by that name hides. */
fa_queue_fn *fa_unread_find_queue(void);
/* Writes a refusal with the code `overloaded` to the socket of a connection that the library
 * doesn't have. */
void fa_unread_refuse(struct fa_server *server, int fd, unsigned status, const char *message);

/* Writes a refusal of what is malformed to the socket of a connection that is to be closed. */
void fa_unread_refuse_malformed(struct fa_server *server, int fd);

/* ---- receive.c: the bytes that the HTTP library receives ---- */

/* In the thread of a loop: these are its connections. */
void fa_receivers_adopt(struct fa_receivers *receivers);
/* NULL: the connection is gone. */
void fa_receivers_set(struct fa_receivers *receivers, int fd, struct fa_framing *framing);
void fa_receivers_finish(struct fa_receivers *receivers);

/* ---- server.c ---- */

/* Reads the tokens anew. Who listened with one that is gone is told so, and goes. Any thread. */
FA_MUST_CHECK enum faina_code fa_server_load_tokens(struct fa_server *server,
                                                    struct faina_error *err);

/* ---- listen.c: sockets ---- */

FA_MUST_CHECK enum faina_code fa_listen_open(const char *address, struct fa_listener_socket *out,
                                             bool *is_local, struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_listen_given(int fd, struct fa_listener_socket *out,
                                              bool *is_local, struct faina_error *err);

/* ---- request.c ---- */

struct fa_request *fa_request_create(struct fa_listener_socket *listener,
                                     struct MHD_Connection *connection, const char *target);
void fa_request_destroy(struct fa_request *req);
/* When every request is destroyed: what they have left to the next ones. */
void fa_request_drop_spares(struct fa_loop *loop);
/* An id that no other request has. Any thread. */
void fa_request_make_id(struct fa_server *server, char out[FA_REQUEST_ID_SIZE]);
/* The head is whole: finds the route and checks who asks. Answers when something is wrong. */
void fa_request_head(struct fa_request *req, const char *method);
/* The body is whole: answers, runs, or leaves the first step to be done. */
void fa_request_go(struct fa_request *req);
/* Whether it would be let in now, too. Any thread. */
bool fa_request_is_welcome(const struct fa_request *req);
/* Answers with 401 when it isn't. */
void fa_request_check_welcome(struct fa_request *req);

#endif
