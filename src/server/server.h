/*
 * server.h - the HTTP interface of an engine.
 *
 *   H1  The response to a change is sent after its transaction is on disk.
 *   H2  Everything is bounded: heads, bodies, connections, queued operations, unsent responses.
 *       Above a limit the client is refused with a code that asks it to retry.
 *   H3  An address that other machines can reach is refused without tokens, unless is_insecure is
 *       set. When the last token is removed, the address stays open and every request is refused.
 *   H4  Stopping loses nothing that was acknowledged: waiting requests get a response, and running
 *       operations are finished.
 *   H5  A large request doesn't delay others: its long steps run in another thread.
 *
 * Threads: one for each address that it listens on, which also closes slow connections, and those
 * of post.h. The functions here are called by the owner only.
 */
#ifndef FA_SERVER_SERVER_H
#define FA_SERVER_SERVER_H

#include "json/log.h"
#include "model/trace.h"
#include "service/service.h"

#include <stdatomic.h>

struct fa_server;

#define FA_SERVER_LISTEN_MAX 8

struct fa_server_options {
    /* "127.0.0.1:7070", "[::1]:7070", "localhost:7070", "unix:/run/faina.sock"; port 0: any. */
    const char *listen[FA_SERVER_LISTEN_MAX];
    size_t listen_count;
    const char *beside; /* one more address, which may fail to open; NULL: none */
    const int *sockets; /* already listening (socket activation) */
    size_t socket_count;
    const char *beanstalk;                 /* an address for the beanstalkd protocol; NULL: none */
    const char *beanstalk_ns;              /* the namespace of its jobs */
    const char *tls_certificate, *tls_key; /* PEM files; NULL: no TLS */
    bool is_insecure;                      /* H3 */
    bool has_ui;
    const char *node_id;      /* for /info; NULL: none */
    const char *const *hosts; /* additional names that the Host header may have */
    size_t host_count;
    int64_t connections_max; /* 0: as many as FA_SERVER_CONNECTIONS_MAX and the descriptors allow */
    /* Of one address, and of one token; 0: no limit; -1: a fraction of all (see below). Waits are
     * streams and long polls. */
    int64_t client_connections_max, client_waits_max;
    /* Bytes of responses that clients have not taken yet: of all connections, and of one. 0: the
     * defaults. */
    int64_t unsent_max, unsent_connection_max;
    const struct fa_log *log;
    const struct fa_sampler
        *sampler; /* of the spans that this process exports; NULL: it does not */
    /* Writes further metrics, in the text format of Prometheus; NULL: none. */
    void (*more_metrics)(void *ctx, struct fa_buf *out);
    void *more_metrics_ctx;
};

/* The limits of H2, each with its test. */
#define FA_SERVER_BODY_SIZE_EXTRA (256 * 1024) /* beyond the engine's limit of an input */
#define FA_SERVER_BATCH_SIZE_MAX (64 * 1024 * 1024)
#define FA_SERVER_BODIES_SIZE_MAX (512LL * 1024 * 1024) /* of all requests */
#define FA_SERVER_UNSENT_SIZE_MAX (256LL * 1024 * 1024) /* of all unsent responses, except ... */
#define FA_SERVER_RESPONSE_SIZE_SMALL (64 * 1024)       /* ... those up to this size */
#define FA_SERVER_UNSENT_CONNECTION_SIZE_MAX (16LL * 1024 * 1024) /* of one connection */
#define FA_SERVER_STALLED_MS 1000 /* without taking any byte, when others need the room */
#define FA_SERVER_STEP_SIZE_MAX (256 * 1024) /* of a request whose steps run in its loop */
#define FA_SERVER_CONNECTIONS_MAX 20000      /* the default; less if descriptors are few */
#define FA_SERVER_DESCRIPTORS_RESERVED 1024  /* not for connections; at most a quarter of all */
#define FA_SERVER_CLIENT_CONNECTIONS_PART 2  /* a client may have half of all */
#define FA_SERVER_CLIENT_WAITS_PART 4        /* ... and a quarter */
#define FA_SERVER_HEAD_SECONDS 30 /* from the last response until the next head is complete */
#define FA_SERVER_BODY_SECONDS 120
#define FA_SERVER_SILENT_SECONDS 60            /* without taking any byte of an answer */
#define FA_SERVER_SILENT_SECONDS_LARGE 5       /* ... with more than the limit of a connection */
#define FA_SERVER_STREAM_SEND_SIZE (64 * 1024) /* of a stream's socket; the kernel doubles it */
#define FA_SERVER_REFUSAL_SECONDS 5            /* for the head of a request that is only refused */
#define FA_SERVER_WAIT_MS_MAX (3600 * 1000)

FA_MUST_CHECK enum faina_code fa_server_start(struct fa_server **out, struct fa_service *service,
                                              const struct fa_server_options *options,
                                              struct faina_error *err);
/* Reloads TLS files and tokens; on an error the old ones stay in use. */
FA_MUST_CHECK enum faina_code fa_server_reload(struct fa_server *server, struct faina_error *err);
/* Reloads the tokens. */
FA_MUST_CHECK enum faina_code fa_server_refresh(struct fa_server *server, struct faina_error *err);
/* Accepts no new connections, ends waiting requests, and lets the others finish for up to
 * timeout_ms or until *is_forced (may be NULL); then closes. False: some were disconnected. */
bool fa_server_stop(struct fa_server *server, int64_t timeout_ms, const atomic_bool *is_forced);
/* The actual address of the n-th listener ("127.0.0.1:7070"); NULL: there is none. */
const char *fa_server_address(const struct fa_server *server, size_t index);
/* That of the beanstalkd protocol; NULL: none. */
const char *fa_server_beanstalk_address(const struct fa_server *server);
bool fa_server_listens_on(const struct fa_server *server, const char *address);

/* Writes what /metrics answers. It queries the store, in the caller's thread. */
void fa_server_write_metrics(struct fa_server *server, struct fa_buf *out);

/* Logs what the engine has set aside, and failing chores. A server calls it itself. */
struct fa_commit_stats;
void fa_server_log_damage(const struct fa_log *log, const struct fa_commit_stats *stats);
/* Logs changes of the leader, and times of schedules that made no task. The same. */
void fa_server_log_upkeep(const struct fa_log *log, const struct fa_commit_stats *stats);

#endif
