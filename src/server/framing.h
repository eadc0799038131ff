/*
 * framing.h - where requests begin and end, by the bytes as they were received.
 *
 * The HTTP library accepts lines of a chunked body that end with a bare LF, and passes on heads
 * with a bare CR. A proxy may read such bytes in another way, and forward as one request what the
 * library reads as two. The library shows neither the bytes nor the line ends. So the bytes are
 * followed here, as they are received (receive.c), and a request with such a line is refused.
 *
 *   F1  In a head, a CR is followed by an LF. A bare LF ends a line there, as for the library.
 *   F2  In a chunked body, each line ends with CRLF: sizes, what follows the data, trailers.
 *   F3  When the bytes can't be followed, the state is FA_FRAMING_OFF from then on: nothing has
 *       been checked since, and a chunked body is the last one of its connection.
 *
 * Threads: each belongs to one.
 */
#ifndef FA_FRAMING_H
#define FA_FRAMING_H

#include "base/bytes.h"

#define FA_FRAMING_LINE_MAX 48 /* the start of a line, which is enough for the fields of interest */

enum fa_framing_state {
    FA_FRAMING_HEAD,
    FA_FRAMING_BODY,    /* of known length */
    FA_FRAMING_SIZE,    /* the line before a chunk */
    FA_FRAMING_CHUNK,   /* its data */
    FA_FRAMING_AFTER,   /* the line end after it */
    FA_FRAMING_TRAILER, /* lines after the last chunk */
    FA_FRAMING_OFF
};

struct fa_framing {
    enum fa_framing_state state;
    unsigned long long
        request;      /* the number of the request that the next byte is part of, from 0 */
    uint64_t chunked; /* which of the last 64 requests have a chunked body; bit 0 is the newest */
    unsigned long long bad; /* the first that must be refused, plus 1; 0: none */

    /* The line that is being received. */
    char line[FA_FRAMING_LINE_MAX];
    size_t line_len; /* of all of it, without its end */
    bool ends_in_cr; /* so far */
    bool has_lines;  /* the head has had a line already */

    bool is_chunked, has_length;
    unsigned long long left; /* of the body, or of a chunk */
};

/* Follows what was received. All zero is the state of a new connection. */
void fa_framing_feed(struct fa_framing *framing, const char *data, size_t len);
/* Whether the request with this number, from 1, has a chunked body that was followed. False, too,
 * when 64 others have been received since. */
bool fa_framing_is_chunked(const struct fa_framing *framing, unsigned long long number);

#endif
