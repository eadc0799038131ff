/*
 * server_inner.h - shared by the files of the server, private to them.
 */
#ifndef FA_SERVER_SERVER_INNER_H
#define FA_SERVER_SERVER_INNER_H

#include "server/http/accept.h"
#include "server/auth.h"
#include "server/http/connection.h"
#include "server/http/logins.h"
#include "server/http/http_loop.h"
#include "server/metrics.h"
#include "server/rates.h"
#include "server/sessions.h"
#include "server/http/request.h"
#include "server/server.h"
#include "server/stream.h"
#include "server/post.h"

#include <pthread.h>
#include <stdatomic.h>

/* One address that the server listens on. */
struct fa_listener_socket {
    struct fa_server *server;
    struct fa_http_loop loop;
    struct fa_acceptor acceptor;
    int fd;
    char address[160];
    char path[108]; /* of a Unix socket that is removed at the end; "" otherwise */
    bool is_unix;
    bool is_trusted; /* a Unix socket that the server created, for its own user only */
    bool is_guarded; /* other machines can reach it: every request needs a token */
};

struct fa_server {
    struct fa_service *service;
    struct fa_post *post;
    struct fa_streams *streams;
    struct fa_auth *auth;
    struct fa_logins *logins;
    struct fa_sessions *sessions;
    struct fa_metrics *metrics;
    struct fa_rates *rates;
    struct fa_listener counter; /* counts commits for the metrics */
    struct fa_tls *tls;         /* NULL: none */
    const struct fa_log *log;
    struct fa_server_options options;
    struct fa_listener_socket *listeners[FA_SERVER_LISTEN_MAX];
    size_t listener_count;
    struct fa_beanstalk *beanstalk; /* NULL: none */
    bool is_open;                   /* other machines can reach one of them */
    char *openapi;                  /* the document, made once */
    char openapi_etag[40];

    /* accept.h. */
    struct fa_quotas *quotas;
    size_t connections_max;
    atomic_size_t connection_count; /* without those that are only refused */
    atomic_size_t refused_open;     /* those */
    atomic_ullong refused[FA_REFUSAL_COUNT];

    atomic_bool is_draining, is_cut;
    atomic_bool is_backing_up;   /* a backup is being made or sent */
    atomic_llong check_since_us; /* when the current check of the store began; monotonic; 0: none */
    atomic_int active;           /* requests between their head and the end of their response */
    atomic_llong body_bytes;     /* of all requests */
    atomic_llong response_bytes; /* of all large responses that wait to be sent */
    atomic_ullong request_count; /* numbers for request ids */
    uint64_t id_seed;
};

/* ---- http.c: from a request to its answer ---- */

/* What a connection calls, in this order: the head of a request is complete, a piece of its body
 * was received, the body is complete. Each may answer. */
void fa_http_on_head(struct fa_request *req);
void fa_http_on_body(struct fa_request *req, const char *data, size_t size);
void fa_http_on_body_end(struct fa_request *req);
/* The request's operations are done. */
void fa_http_go_on(struct fa_request *req);
/* The client has closed its side while the operations run. */
void fa_http_on_hang_up(struct fa_request *req);
/* The whole answer to what is no request, after which the connection is closed. */
void fa_http_write_refusal(struct fa_server *server, int status, const char *message,
                           struct fa_buf *out);
/* The socket of a request; -1: it has none. */
int fa_http_socket(const struct fa_request *req);

/* Refuses a request whose operations were not queued. */
void fa_http_refuse(struct fa_request *req, enum faina_code code);
/* For streams; ctx is the request. */
extern const struct fa_stream_calls fa_http_stream_calls;

/* The admission of a request's connection. */
struct fa_admission *fa_http_admission(const struct fa_request *req);

/* ---- route_backup.c ---- */

/* Makes the backup of a request in a thread of its own, which notifies the loop when it is done.
 * OVERLOADED: no thread can be started. */
FA_MUST_CHECK enum faina_code fa_backup_start(struct fa_request *req);

/* ---- server.c ---- */

/* Reloads the tokens. Streams whose token is no longer valid are ended. Any thread. */
FA_MUST_CHECK enum faina_code fa_server_load_tokens(struct fa_server *server,
                                                    struct faina_error *err);

/* Ends the streams whose token or session is no longer valid. Any thread. */
void fa_server_check_streams(struct fa_server *server);

/* ---- listen.c: sockets ---- */

FA_MUST_CHECK enum faina_code fa_listen_open(const char *address, struct fa_listener_socket *out,
                                             bool *is_local, struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_listen_given(int fd, struct fa_listener_socket *out,
                                              bool *is_local, struct faina_error *err);

/* ---- request.c ---- */

struct fa_request *fa_request_create(struct fa_connection *peer);
void fa_request_destroy(struct fa_request *req);
/* Frees the spare requests, after every request is destroyed. */
void fa_request_drop_spares(struct fa_http_loop *loop);
/* An id that no other request has. Any thread. */
void fa_request_make_id(struct fa_server *server, char out[FA_REQUEST_ID_SIZE]);
/* The head is complete: finds the route and checks access. Responds if the request is refused. */
void fa_request_head(struct fa_request *req, const char *method);
/* The body is complete: refuses the request, or sets its first step. */
void fa_request_dispatch(struct fa_request *req);

/* ---- login.c ---- */

/* The page that sent the request is the server's own, as far as its header Origin tells. */
bool fa_request_is_own_origin(const struct fa_request *req);
/* Sets the grant of a request from its token or its session, or responds with a refusal. */
bool fa_login_check(struct fa_request *req);
/* The token with this secret, for a new session. Responds when there is none, or when there were
 * too many failed logins from the client's address. */
bool fa_login_compare(struct fa_request *req, const char *secret, struct fa_token *out);
/* The value of the session's cookie; NULL: none. */
const char *fa_login_cookie(struct fa_request *req);
/* Whether the request's token is still valid. Any thread. */
bool fa_request_is_still_authorized(const struct fa_request *req);
/* Responds with 401 when it isn't. */
void fa_request_check_still_authorized(struct fa_request *req);

#endif
