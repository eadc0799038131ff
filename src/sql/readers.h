/*
 * readers.h - connections that only read. They never wait for the writer.
 *
 * A file has as many as are in use at once, up to a few kept for later.
 *
 * Threads: any; the mutex guards the list of idle ones only.
 */
#ifndef FA_READERS_H
#define FA_READERS_H

#include "sql/row.h"

struct fa_readers;

struct fa_reader {
    struct fa_source source;
    struct fa_reader *next;
};

struct fa_readers *fa_readers_create(const char *path);
void fa_readers_destroy(struct fa_readers *readers); /* nobody may be reading */

/* A connection inside a read transaction. */
FA_MUST_CHECK enum faina_code fa_readers_begin(struct fa_readers *readers, struct fa_reader **out,
                                               struct faina_error *err);
void fa_readers_end(struct fa_readers *readers, struct fa_reader *reader);

#endif
