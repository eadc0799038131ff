/*
 * readers.h - connections that only read. They don't wait for the writer.
 *
 * A store has as many as are in use at once, up to a few kept for later. The one exception to not
 * waiting: when the write-ahead log has grown far too long, because there was always somebody
 * reading it, the leader asks for a moment without readers (fa_readers_hold).
 *
 * Threads: any; the mutex guards the list of idle ones and the counts.
 */
#ifndef FA_READERS_H
#define FA_READERS_H

#include "sql/row.h"
#include "sql/store.h"

struct fa_readers;

struct fa_reader {
    struct fa_source source;
    struct fa_reader *next;
};

/* Both are lent. */
struct fa_readers *fa_readers_create(struct fa_store *store, struct fa_aside *aside);
void fa_readers_destroy(struct fa_readers *readers); /* nobody may be reading */

/* A connection inside a read transaction. */
FA_MUST_CHECK enum faina_code fa_readers_begin(struct fa_readers *readers, struct fa_reader **out,
                                               struct faina_error *err);
void fa_readers_end(struct fa_readers *readers, struct fa_reader *reader);

/* Lets nobody begin to read, and waits until nobody reads any more. False: somebody still does
 * after timeout_ms. Either way, fa_readers_let_go must follow. */
bool fa_readers_hold(struct fa_readers *readers, int64_t timeout_ms);
void fa_readers_let_go(struct fa_readers *readers);

#endif
