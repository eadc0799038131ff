/*
 * stream.h - streams of task events (SSE): one thread reads the event log for all streams.
 *
 * Streams at the same position of the log share a read; a stream that resumes at an older position
 * is read for separately until it has caught up. An event is encoded once; streams with the same
 * filter share the text.
 *
 *   R1  A stream gets every event after its position that matches its filter, once, in the order of
 *       the log. If some were removed from the log, it gets an event `gap`.
 *   R2  The buffer of a stream is bounded. While it is full the log is not read for it; when it
 *       stays full for too long the stream ends, with the event `dropped`. The client can resume
 *       with the id of the last event it received.
 *   R3  A stream that has ended and whose client reads nothing for 10 seconds (5 while the server
 *       stops), although events wait to be sent, is cut off.
 *   R5  An aggregated stream gets no single events. Each interval in which tasks have changed their
 *       status it gets how many changes there were, by type and status, and its position behind
 *       them.
 *   R4  The work per turn is bounded: a client takes 64 KiB before the others have their turn, and
 *       64 different positions are read in a round. No commit waits for streams.
 *
 * Threads: any; the functions lock. The calls of fa_stream_calls are made with the lock held.
 */
#ifndef FA_SERVER_STREAM_H
#define FA_SERVER_STREAM_H

#include "model/limits.h"
#include "wire/body.h"
#include "service/service.h"

#include <sys/types.h>

struct fa_streams;
struct fa_stream;

/* Which events a stream gets. Copied. */
struct fa_stream_filter {
    const char *ns;             /* NULL: all of `namespaces` */
    struct fa_texts namespaces; /* of the token; items NULL: all */
    unsigned statuses;          /* set of (1u << status); 0: any */
    const char *type, *name, *team_id, *created_by, *idempotency_key;
    bool has_parent;
    int64_t parent_key;
    int64_t created_after_us, created_before_us; /* 0: any time */
    const int64_t *keys;                         /* of tasks (model/id.h), sorted; NULL: all */
    size_t key_count;
    int64_t aggregate_us; /* 0: single events; else how often their counts are sent */
};

/* The client's socket and token. Copied. */
struct fa_stream_client {
    bool is_trusted, is_guarded;  /* as of the listening socket (server_inner.h) */
    char token_id[FAINA_ID_SIZE]; /* "": none */
    uint64_t session;             /* its number (sessions.h); 0: none */
};

/* NULL: no thread can be started. */
struct fa_streams *fa_streams_create(struct fa_service *service);
/* Ends all streams, each after the events in its buffer and a last event. */
void fa_streams_end(struct fa_streams *streams);
/* The same for the streams whose clients have no access any more. */
void fa_streams_end_unless(struct fa_streams *streams,
                           bool (*may)(void *ctx, const struct fa_stream_client *client),
                           void *ctx);
void fa_streams_destroy(struct fa_streams *streams); /* all closed; NULL is fine */
size_t fa_streams_count(struct fa_streams *streams);

/* Calls to the connection of a stream. */
struct fa_stream_calls {
    /* In fa_stream_take, before it returns 0: call it again after `wake`. */
    void (*sleep)(void *ctx);
    void (*wake)(void *ctx); /* from any thread */
    void (*cut)(void *ctx);  /* R3; from the reading thread */
};

/* Opens a stream that begins after `position`. */
struct fa_stream *fa_stream_open(struct fa_streams *streams, const struct fa_stream_filter *filter,
                                 const struct fa_stream_client *client, const char *position,
                                 const struct fa_stream_calls *calls, void *ctx);
/* Opens a stream of text. The thread calls `feed` a few times a second: it adds what is to be sent,
 * and false ends the stream. `ctx` is freed with it. */
typedef bool fa_stream_feed(void *ctx, struct fa_buf *out);
struct fa_stream *fa_stream_open_text(struct fa_streams *streams, fa_stream_feed *feed,
                                      void *feed_ctx, const struct fa_stream_client *client,
                                      const struct fa_stream_calls *calls, void *ctx);
/* Takes up to `size` bytes. 0: none now, and `sleep` was called with the lock held, so that `wake`
 * can only come after it. -1: the end. */
ssize_t fa_stream_take(struct fa_stream *stream, char *to, size_t size);
/* The connection is closing: no more calls. The stream must still be closed. */
void fa_stream_detach(struct fa_stream *stream);
void fa_stream_close(struct fa_stream *stream);

#endif
