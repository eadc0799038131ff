/*
 * accept.h - accepts the connections of one address, and decides which of them are served.
 *
 * The HTTP library could accept by itself, but it stops watching its socket when descriptors run
 * out or its limit is reached, and starts again only with the next event of another connection.
 * Here the socket is watched as long as the address is served, and each connection is accepted: it
 * is handed to the library, or refused.
 *
 *   P1  A connection is accepted in the first turn of the loop after it arrives, or, after an error
 *       of accept(), within FA_ACCEPT_PAUSE_MS.
 *   P2  A connection over the limit of all connections, or of its client, is answered 503 or 429
 *       (`overloaded`) and closed. The library answers up to FA_ACCEPT_REFUSED_MAX of them at a
 *       time; for further ones, and when descriptors have run out, the answer is written here, and
 *       over TLS the connection is only closed.
 *   P3  Connections leave descriptors for the store, handlers and plugins: the limit of all
 *       connections is below that of the process. One more descriptor is held in reserve to accept
 *       and refuse a connection when all others are in use.
 *   P4  Unix sockets are not limited by client, and may exceed the limit of all by
 *       FA_ACCEPT_UNIX_EXTRA, so that local commands work when the network's share is used up.
 *
 * Threads: fa_acceptor_*: that of the loop, but for init and finish. fa_admission_*: any.
 */
#ifndef FA_ACCEPT_H
#define FA_ACCEPT_H

#include "server/quota.h"

struct MHD_Daemon;
struct fa_listener_socket;
struct fa_request;
struct fa_server;

#define FA_ACCEPT_PAUSE_MS 100
#define FA_ACCEPT_REFUSED_MAX 128
#define FA_ACCEPT_UNIX_EXTRA 64
#define FA_ACCEPT_RETRY_US 1000 /* between two tries of a loop that never sleeps */

enum fa_refusal {
    FA_REFUSAL_NONE,
    FA_REFUSAL_CONNECTIONS, /* the limit of all */
    FA_REFUSAL_CLIENT,      /* the limit of one address or token */
    FA_REFUSAL_DESCRIPTORS, /* the process has no more */
    FA_REFUSAL_COUNT
};

/* What a connection was admitted as, and what it counts for. */
struct fa_admission {
    enum fa_refusal refusal;
    bool is_limited; /* by client (P4) */
    struct fa_quota_key address;
    struct fa_quota *by_address, *by_token; /* NULL: none */
};

struct fa_acceptor {
    struct fa_listener_socket *listener;
    struct MHD_Daemon *daemon;
    int fd;         /* the listening socket, which is the listener's; -1: none any more */
    int reserve_fd; /* P3; -1: none now */
    int64_t resume_us, tried_us, logged_us; /* monotonic */
    unsigned long long logged_count;        /* refusals, when they were last logged */
    struct fa_admission incoming;           /* of the connection that is being added */
};

void fa_acceptor_init(struct fa_acceptor *acceptor, struct fa_listener_socket *listener,
                      struct MHD_Daemon *daemon);
void fa_acceptor_finish(struct fa_acceptor *acceptor);
/* Accepts nothing any more. */
void fa_acceptor_stop(struct fa_acceptor *acceptor);
/* The socket to watch; -1: none now. */
int fa_acceptor_fd(const struct fa_acceptor *acceptor, int64_t now_us);
/* How long the loop may sleep at most; -1: any time. */
int fa_acceptor_wait_ms(const struct fa_acceptor *acceptor, int64_t now_us);
/* Accepts what has arrived, up to a number per turn. True: something had. */
bool fa_acceptor_run(struct fa_acceptor *acceptor, int64_t now_us);
/* The library has taken the connection that is being added: its admission is the caller's. */
struct fa_admission fa_acceptor_take(struct fa_acceptor *acceptor);

/* The connection counts for the token of this request from now on, instead of the one before.
 * False: the token has too many connections, and the request is refused. */
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
