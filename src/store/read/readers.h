/*
 * readers.h - connections that only read. They don't wait for the writer.
 *
 * A store opens as many as are in use at once, and keeps a few idle ones. One exception to not
 * waiting: when the write-ahead log has grown far too long, because reads never ceased, the leader
 * suspends the readers for a moment (fa_readers_suspend).
 *
 * Threads: any; the mutex guards the lists of readers and the counts.
 */
#ifndef FA_STORE_READ_READERS_H
#define FA_STORE_READ_READERS_H

#include "store/txn/row.h"
#include "store/db/store.h"

struct fa_readers;

struct fa_reader {
    struct fa_source source;
    struct fa_reader *next;                    /* idle ones */
    struct fa_reader *open_next, **open_place; /* all of them, and what points to this one */
};

/* The caller keeps both. */
struct fa_readers *fa_readers_create(struct fa_store *store, struct fa_aside *aside);
void fa_readers_destroy(struct fa_readers *readers); /* no reader may be active */
/* The engine is being closed: reads wait for a silent store for some seconds only (fa_db). NULL is
 * fine. */
void fa_readers_shut(struct fa_readers *readers);

/* A connection inside a read transaction. */
FA_MUST_CHECK enum faina_code fa_readers_begin(struct fa_readers *readers, struct fa_reader **out,
                                               struct faina_error *err);
void fa_readers_end(struct fa_readers *readers, struct fa_reader *reader);

/* Blocks new reads, and waits until all active ones have ended. False: some are still active after
 * timeout_ms. In both cases fa_readers_resume must follow. */
bool fa_readers_suspend(struct fa_readers *readers, int64_t timeout_ms);
void fa_readers_resume(struct fa_readers *readers);

#endif
