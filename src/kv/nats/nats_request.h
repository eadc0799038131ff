/*
 * nats_request.h - many requests over one connection, and streams of messages from a consumer.
 *
 *   Q1  A round sends all its requests, and returns when each has an answer or the time is over.
 *   Q2  An answer that comes after its round has ended is dropped.
 *   Q3  A feed delivers the messages of one consumer in their order. When one is missing, or the
 *       server is silent for longer than its heartbeats allow, the feed is broken and is opened
 *       again by its owner.
 *
 * Threads: any for rounds; a feed belongs to one thread. Messages arrive in threads of the client
 * library.
 */
#ifndef FA_KV_NATS_NATS_REQUEST_H
#define FA_KV_NATS_NATS_REQUEST_H

#include "kv/nats/cnats.h"
#include "kv/nats/nats_url.h"

struct fa_nats;

FA_MUST_CHECK enum faina_code fa_nats_connect(struct fa_nats **out, const struct fa_nats_url *url,
                                              struct faina_error *err);
void fa_nats_close(struct fa_nats *nats); /* NULL is fine */
const struct fa_cnats *fa_nats_library(const struct fa_nats *nats);
natsConnection *fa_nats_connection(struct fa_nats *nats);

/* A request, and its answer. */
struct fa_nats_request {
    const char *subject;
    const char *headers[4]; /* names and values, NULL after the last */
    struct fa_bytes data;

    natsMsg *reply;    /* NULL: none came; the caller's to destroy */
    int status;        /* of the header "Status" of the reply; 0: it has none */
    bool is_too_large; /* it was not sent: it is larger than the server accepts */

    /* Internal. */
    struct fa_nats_round *round;
    uint32_t slot;
};

/* Q1. UNAVAILABLE: at least one has no reply. */
enum faina_code fa_nats_run(struct fa_nats *nats, struct fa_nats_request *requests, size_t count,
                            int64_t timeout_ms);
/* One request to the JetStream API, with a JSON answer in the arena; again until the time is over.
 * `error_code` is the err_code of its answer, or 0. */
FA_MUST_CHECK enum faina_code fa_nats_ask(struct fa_nats *nats, const char *subject,
                                          const char *body, int64_t timeout_ms,
                                          struct fa_arena *arena, struct fa_bytes *answer,
                                          int64_t *error_code, struct faina_error *err);

/* ------------------------------------------------------------------------------------------
 * Feeds
 */

struct fa_nats_feed;

/* Opens a consumer of the stream: of the last message of each subject, or (start > 0) of all from
 * this sequence on. *pending: how many there are at first. */
FA_MUST_CHECK enum faina_code fa_nats_feed_open(struct fa_nats_feed **out, struct fa_nats *nats,
                                                const char *stream, const char *filter,
                                                uint64_t start, uint64_t *pending,
                                                struct faina_error *err);
void fa_nats_feed_close(struct fa_nats_feed *feed); /* NULL is fine */

struct fa_nats_item {
    natsMsg *msg; /* the caller's to destroy */
    uint64_t sequence, pending;
    int64_t at_us;
};
/* True: an item. False: none within the time, or *is_broken (Q3). */
bool fa_nats_feed_next(struct fa_nats_feed *feed, int64_t timeout_ms, struct fa_nats_item *out,
                       bool *is_broken);
/* Since the last item there was a heartbeat: nothing more is waiting to be delivered. The numbers
 * of pending messages are not enough, because a message that is replaced before it is delivered
 * may still be counted. */
bool fa_nats_feed_is_idle(const struct fa_nats_feed *feed);
/* Makes a call of fa_nats_feed_next return; any thread. */
void fa_nats_feed_wake(struct fa_nats_feed *feed);

#endif
