/*
 * accept.h - accepts the connections of one address, and decides which of them are served.
 *
 * The socket is watched as long as the address is served, and each connection is accepted: it is
 * served (connection.h), or refused.
 *
 *   P1  A connection is accepted in the first turn of the loop after it arrives, or, after an error
 *       of accept(), within FA_ACCEPT_PAUSE_MS.
 *   P2  A connection over the limit of all connections, or of its client, gets a 503 or 429
 *       (`overloaded`) and is closed. Up to FA_ACCEPT_REFUSED_MAX of them at a time are answered
 *       after
 *       their request was read; for further ones, and when descriptors have run out, the answer is
 *       written at once, and over TLS the connection is only closed.
 *   P3  Descriptors are reserved for the store, handlers and plugins: the limit of connections is
 *       below the process's limit of open files. One more descriptor is reserved to accept and
 *       refuse a connection when all others are in use.
 *   P4  Unix sockets are not limited by client, and may exceed the limit of all by
 *       FA_ACCEPT_UNIX_EXTRA, so that local commands work when the network limit is reached.
 *
 * Threads: fa_acceptor_*: that of the loop, except init and finish. fa_admission_*: any.
 */
#ifndef FA_SERVER_HTTP_ACCEPT_H
#define FA_SERVER_HTTP_ACCEPT_H

#include "server/http/quota.h"

struct fa_listener_socket;
struct fa_request;
struct fa_server;

#define FA_ACCEPT_PAUSE_MS 100
#define FA_ACCEPT_REFUSED_MAX 128
#define FA_ACCEPT_UNIX_EXTRA 64

enum fa_refusal {
    FA_REFUSAL_NONE,
    FA_REFUSAL_CONNECTIONS, /* the limit of all */
    FA_REFUSAL_CLIENT,      /* the limit of one address or token */
    FA_REFUSAL_DESCRIPTORS, /* the process has none left */
    FA_REFUSAL_COUNT
};

/* Whether a connection was admitted, and the quotas it counts for. */
struct fa_admission {
    enum fa_refusal refusal;
    bool is_limited; /* by client (P4) */
    struct fa_quota_key address;
    struct fa_quota *by_address, *by_token; /* NULL: none */
};

struct fa_acceptor {
    struct fa_listener_socket *listener;
    int fd;                          /* the listening socket, owned by the listener; -1: stopped */
    int reserve_fd;                  /* P3; -1: none now */
    int64_t resume_us, logged_us;    /* monotonic */
    unsigned long long logged_count; /* refusals, when they were last logged */
};

void fa_acceptor_init(struct fa_acceptor *acceptor, struct fa_listener_socket *listener);
void fa_acceptor_finish(struct fa_acceptor *acceptor);
/* Stops accepting. */
void fa_acceptor_stop(struct fa_acceptor *acceptor);
/* The socket to watch; -1: none at this time. */
int fa_acceptor_fd(const struct fa_acceptor *acceptor, int64_t now_us);
/* How long the loop may sleep at most; -1: any time. */
int fa_acceptor_wait_ms(const struct fa_acceptor *acceptor, int64_t now_us);
/* Accepts what has arrived, up to a number per turn. */
void fa_acceptor_run(struct fa_acceptor *acceptor, int64_t now_us);

/* Counts the connection for the token of this request, instead of the previous token. False: the
 * token has too many connections, and the request is refused. */
bool fa_admission_count_token(struct fa_request *req);
/* Counts a stream or long poll for the address and token. False: it is refused. */
bool fa_admission_hold_request(struct fa_request *req);
void fa_admission_release_held(struct fa_server *server, struct fa_quota *held[2]);
void fa_admission_end(struct fa_server *server, struct fa_admission *admission);

/* The HTTP status and message of a refusal. */
int fa_refusal_status(enum fa_refusal refusal);
const char *fa_refusal_message(enum fa_refusal refusal);
const char *fa_refusal_name(enum fa_refusal refusal);

#endif
