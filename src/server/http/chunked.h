/*
 * chunked.h - the chunked coding of a request's body, decoded strictly (RFC 9112, 7.1).
 *
 *   K1  Each line ends with CRLF: the sizes, the end of each chunk's data, the trailers.
 *   K2  A line has at most FA_CHUNKED_LINE_MAX bytes, all trailers FA_CHUNKED_TRAILERS_MAX.
 *   K3  Extensions and trailers are skipped.
 *
 * Threads: each struct belongs to one.
 */
#ifndef FA_SERVER_HTTP_CHUNKED_H
#define FA_SERVER_HTTP_CHUNKED_H

#include "base/bytes.h"

#define FA_CHUNKED_LINE_MAX 1024
#define FA_CHUNKED_TRAILERS_MAX (8 * 1024)

/* All zero before the first byte of a body. */
struct fa_chunked {
    enum {
        FA_CHUNKED_SIZE,      /* the digits of a size */
        FA_CHUNKED_EXTENSION, /* the rest of its line */
        FA_CHUNKED_SIZE_LF,
        FA_CHUNKED_DATA,
        FA_CHUNKED_DATA_CR,
        FA_CHUNKED_DATA_LF,
        FA_CHUNKED_TRAILER,
        FA_CHUNKED_TRAILER_LF,
        FA_CHUNKED_OVER
    } state;
    uint64_t left;   /* of the chunk; while its size is read, the size so far */
    size_t line_len; /* of the line that is read */
    size_t trailers_len;
};

enum fa_chunked_result {
    FA_CHUNKED_MORE,  /* everything was read, and the body goes on */
    FA_CHUNKED_FOUND, /* *data is a part of the body */
    FA_CHUNKED_END,   /* the body has ended */
    FA_CHUNKED_BAD    /* the coding is malformed; nothing more can be read */
};

/* Reads from `in` up to the end of the next piece of data. *used is how many bytes were read. */
enum fa_chunked_result fa_chunked_read(struct fa_chunked *chunked, const char *in, size_t len,
                                       size_t *used, struct fa_bytes *data);

#endif
