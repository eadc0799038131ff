/*
 * server.h - the HTTP interface of an engine.
 *
 *   H1  A change is answered after its transaction is on disk.
 *   H2  Nothing grows without a bound: heads, bodies, connections, what is queued, answers that
 *       nobody reads. Beyond a bound the client is refused with a code that tells it to come back.
 *   H3  An address that others can reach is refused without tokens, unless is_insecure says so.
 *       When the last token goes, it stays, and lets nobody in.
 *   H4  Stopping loses nothing that was acknowledged: who waits is answered, what runs is finished.
 *   H5  No single request, however large, keeps others from being served: what takes long is done
 *       in another thread.
 *
 * Threads: one for each address that it listens on, one that looks after slow connections, and
 * those of post.h. The functions here: the owner's.
 */
#ifndef FA_SERVER_H
#define FA_SERVER_H

#include "base/log.h"
#include "service/service.h"

#include <stdatomic.h>

struct fa_server;

#define FA_SERVER_LISTEN_MAX 8

struct fa_server_options {
    /* "127.0.0.1:7070", "[::1]:7070", "localhost:7070", "unix:/run/faina.sock"; port 0: any. */
    const char *listen[FA_SERVER_LISTEN_MAX];
    size_t listen_count;
    const char *beside; /* one more address, which it can do without; NULL: none */
    const int *sockets; /* listening already (socket activation) */
    size_t socket_count;
    const char *tls_certificate, *tls_key; /* PEM files; NULL: no TLS */
    bool is_insecure;                      /* H3 */
    bool has_ui;
    const char *const *hosts; /* further names that the Host header may have */
    size_t host_count;
    int64_t connections_max; /* 0: as many as FA_SERVER_CONNECTIONS_MAX and the descriptors allow */
    /* Of one address, and of one token; 0: no limit; -1: a part of all, as below. Waiting requests
     * are streams and long polls. */
    int64_t client_connections_max, client_waits_max;
    const struct fa_log *log;
};

/* The limits of H2, each with its test. */
#define FA_SERVER_HEAD_SIZE_MAX (16 * 1024)
#define FA_SERVER_BODY_SIZE_EXTRA (256 * 1024) /* beyond the engine's limit of an input */
#define FA_SERVER_BATCH_SIZE_MAX (64 * 1024 * 1024)
#define FA_SERVER_BODIES_SIZE_MAX (512LL * 1024 * 1024)  /* all at once */
#define FA_SERVER_ANSWERS_SIZE_MAX (512LL * 1024 * 1024) /* all that wait to be sent, but for ... */
#define FA_SERVER_ANSWER_SIZE_SMALL (64 * 1024)          /* ... those up to this */
#define FA_SERVER_STEP_SIZE_MAX (256 * 1024) /* what a request carries, for a step in its loop */
#define FA_SERVER_CONNECTIONS_MAX                                                                  \
    20000 /* unless set otherwise, or there are less descriptors ... */
#define FA_SERVER_DESCRIPTORS_KEPT 1024     /* ... than that and these, or a quarter of all */
#define FA_SERVER_CLIENT_CONNECTIONS_PART 2 /* of all: the half */
#define FA_SERVER_CLIENT_WAITS_PART 4
#define FA_SERVER_HEAD_SECONDS 30 /* from the last answer until the next head is whole */
#define FA_SERVER_BODY_SECONDS 120
#define FA_SERVER_REFUSAL_SECONDS 5 /* for the head of a request that is only refused */
#define FA_SERVER_WAIT_MS_MAX (3600 * 1000)

FA_MUST_CHECK enum faina_code fa_server_start(struct fa_server **out, struct fa_service *service,
                                              const struct fa_server_options *options,
                                              struct faina_error *err);
/* Reads TLS files and tokens anew; on an error the old ones stay. */
FA_MUST_CHECK enum faina_code fa_server_reload(struct fa_server *server, struct faina_error *err);
/* Reads the tokens anew. */
FA_MUST_CHECK enum faina_code fa_server_refresh(struct fa_server *server, struct faina_error *err);
/* Takes no new connections, answers who waits, lets the rest finish for up to timeout_ms, or until
 * *is_hurried (may be NULL); then closes. False: the time was over and some were cut off. */
bool fa_server_stop(struct fa_server *server, int64_t timeout_ms, const atomic_bool *is_hurried);
/* The address of the n-th listener as it turned out ("127.0.0.1:7070"); NULL: no such. */
const char *fa_server_address(const struct fa_server *server, size_t index);
bool fa_server_listens_on(const struct fa_server *server, const char *address);

/* Logs what the engine has set aside, and that its chores fail. A server does so by itself. */
struct fa_facts;
void fa_server_log_damage(const struct fa_log *log, const struct fa_facts *facts);

#endif
