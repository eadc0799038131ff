/*
 * encode.h - operations as requests, and answers back into operations.
 *
 * The request of each kind of operation is a row of one table, `request_formats` in encode.c.
 */
#ifndef FA_CLIENT_ENCODE_H
#define FA_CLIENT_ENCODE_H

#include "json/json.h"
#include "client/connections.h"
#include "service/service.h"

/* Where the interface begins. */
#define FA_CLIENT_API "/api/v1"

/* How many of the operations from `ops` on are sent together, and how. */
enum fa_encode_how {
    FA_ENCODE_ONE,     /* a request of its own, before the next operation begins */
    FA_ENCODE_MANY,    /* one request for all of them */
    FA_ENCODE_PARALLEL /* a request each, at once: their order is no matter */
};
enum fa_encode_how fa_encode_group(const struct fa_op *ops, size_t count, size_t *group);

/* The request for one operation. */
void fa_encode_one(const struct fa_op *op, struct fa_call *call);
/* The request for as many of `count` as fit in one; returns how many. */
size_t fa_encode_many(const struct fa_op *ops, size_t count, struct fa_call *call);
/* POST /claims that waits. */
void fa_encode_claim(const struct fa_op *op, int64_t wait_ms, struct fa_call *call);

/* Reads the answers. `shown` names the server in errors. */
void fa_decode_one(struct fa_op *op, struct fa_call *call, const char *shown);
void fa_decode_many(struct fa_op *ops, size_t count, struct fa_call *call, const char *shown);

/* A list that is wanted whole, or up to a limit, may be answered in pages. Whether there is another
 * one, and the operation that reads it; and adding its items to those of the first. */
bool fa_decode_next_page(const struct fa_op *op, struct fa_op *next);
void fa_decode_add_page(struct fa_op *op, const struct fa_op *page);

/* The JSON of a good answer. Otherwise the code, with call->error filled in. */
FA_MUST_CHECK enum faina_code fa_decode_json(struct fa_call *call, struct fa_arena *arena,
                                             const char *shown, struct fa_json *out);

#endif
