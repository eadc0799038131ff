/*
 * stream.h - what happens to tasks, as it happens: one thread reads the log for all who listen.
 *
 * Listeners at the same place of the log share a reading; one that comes back with an older place
 * reads on its own until it has caught up. An event is encoded once; listeners with the same filter
 * share the text, from which the HTTP library takes it.
 *
 *   R1  A listener gets every event after its place that fits its filter, once, in the log's order.
 *       Where the log has forgotten some, it is told so by an event `gap`.
 *   R2  A buffer is bounded. For one that is full the log is not read; when it stays full for too
 *       long the listener is dropped, with a last event that says so. It may come back with the id
 *       of the last event it got.
 *
 *   R3  A listener that has ended and takes nothing for 10 seconds (5 when the server stops),
 *       although its last event waits for it, is cut off.
 *   R4  What is done at a time is bounded: a listener takes 64 KiB before others have their turn,
 *       and 64 different places are read in a round. Whoever commits waits for none of it.
 *
 * Threads: any; the functions lock. The calls of fa_stream_calls are made with the lock held.
 */
#ifndef FA_STREAM_H
#define FA_STREAM_H

#include "model/limits.h"
#include "service/body.h"
#include "service/service.h"

#include <sys/types.h>

struct fa_streams;
struct fa_stream;

/* What a listener wants to hear of. Copied. */
struct fa_stream_filter {
    const char *ns;             /* NULL: all that it may see */
    struct fa_texts namespaces; /* what it may see; items NULL: all */
    unsigned statuses;          /* set of (1u << status); 0: any */
    const char *type, *team_id, *created_by, *idempotency_key;
    bool has_parent;
    int64_t parent_key;
    int64_t created_after_us, created_before_us; /* 0: any time */
};

/* Who listens: by which way in, and with which token. Copied. */
struct fa_stream_guest {
    bool is_trusted, is_guarded;  /* as of the listening socket (inner.h) */
    char token_id[FAINA_ID_SIZE]; /* "": none */
};

/* NULL: no thread can be started. */
struct fa_streams *fa_streams_create(struct fa_service *service);
/* From now on every listener gets what is in its buffer, a last event, and the end. */
void fa_streams_end(struct fa_streams *streams);
/* The same for those that may not listen any more. */
void fa_streams_end_unless(struct fa_streams *streams,
                           bool (*may)(void *ctx, const struct fa_stream_guest *guest), void *ctx);
void fa_streams_destroy(struct fa_streams *streams); /* all closed; NULL is fine */
size_t fa_streams_count(struct fa_streams *streams);

/* What a stream asks of its connection. */
struct fa_stream_calls {
    void (*sleep)(
        void *ctx);          /* in fa_stream_take, before it returns 0: to ask again after `wake` */
    void (*wake)(void *ctx); /* from any thread */
    void (*cut)(void *ctx);  /* R3; from the reading thread */
};

/* Listens from `place` on. */
struct fa_stream *fa_stream_open(struct fa_streams *streams, const struct fa_stream_filter *filter,
                                 const struct fa_stream_guest *guest, const char *place,
                                 const struct fa_stream_calls *calls, void *ctx);
/* Takes up to `size` bytes. 0: nothing now, and `sleep` was called with the lock held, so that
 * `wake` can only come after it. -1: the end. */
ssize_t fa_stream_take(struct fa_stream *stream, char *to, size_t size);
/* The connection goes: no more calls. The stream is still to be closed. */
void fa_stream_detach(struct fa_stream *stream);
void fa_stream_close(struct fa_stream *stream);

#endif
