/*
 * head.h - the head of an HTTP/1 request: its request line and fields, read strictly (RFC 9112).
 *
 * A proxy in front of the server may cut the bytes of a connection into requests in another way
 * than the server does, and so let one request be hidden in another. Therefore everything that can
 * be read in two ways is refused.
 *
 *   H1  Each line ends with CRLF. A bare CR or LF, a NUL and any other control character but a tab
 *       in a value are refused, as soon as they are received.
 *   H2  The length of the body is unambiguous: at most one Content-Length, which is a number, or
 *       else one Transfer-Encoding, which is `chunked`, and that only in HTTP/1.1.
 *   H3  A field has a name that is a token, without a space before its colon, and no continuation
 *       line. HTTP/1.1 has exactly one Host.
 *   H4  A head has at most FA_HEAD_SIZE_MAX bytes and FA_HEAD_FIELDS_MAX fields.
 *
 * Threads: any; pure functions.
 */
#ifndef FA_SERVER_HTTP_HEAD_H
#define FA_SERVER_HTTP_HEAD_H

#include "base/bytes.h"

#define FA_HEAD_SIZE_MAX (16 * 1024)
#define FA_HEAD_FIELDS_MAX 100

struct fa_head_field {
    const char *name, *value; /* the value is without spaces around it */
};

struct fa_head {
    const char *method, *target;
    bool is_1_0; /* HTTP/1.0; else HTTP/1.1 */
    struct fa_head_field fields[FA_HEAD_FIELDS_MAX];
    size_t field_count;

    bool is_chunked, has_length;
    uint64_t length; /* of the body, with has_length */
    bool keeps_alive;
    bool expects_continue; /* the client waits for `100 Continue` before it sends the body */
};

/* Why a head is refused. */
struct fa_head_refusal {
    int status;
    const char *message;
};

/*
 * Searches what was received for the end of the head. *scanned is where the last call stopped, 0 at
 * first. Returns the size of the head with its last line end; 0: it is incomplete so far. When the
 * bytes break a rule, out->status isn't 0.
 */
size_t fa_head_find_end(const char *data, size_t len, size_t *scanned, struct fa_head_refusal *out);

/*
 * Reads a head that fa_head_find_end has found. Its texts stay in `text`, where their ends are
 * overwritten by NULs. False: it is refused.
 */
FA_MUST_CHECK bool fa_head_read(char *text, size_t size, struct fa_head *out,
                                struct fa_head_refusal *refusal);

/* The value of a field, by its name in any case; NULL: there is none. */
const char *fa_head_field(const struct fa_head *head, const char *name);

#endif
