/*
 * ask.h - operations as requests, and answers back into operations.
 *
 * How each kind of operation is asked is one table, `recipes` in ask.c.
 */
#ifndef FA_ASK_H
#define FA_ASK_H

#include "base/json.h"
#include "remote/lines.h"
#include "service/service.h"

/* Where the interface begins. */
#define FA_ASK_API "/api/v1"

/* How many of the operations from `ops` on are asked together, and how. */
enum fa_ask_how {
    FA_ASK_ONE,  /* a request of its own, before the next operation begins */
    FA_ASK_MANY, /* one request for all of them */
    FA_ASK_APART /* a request each, at once: their order is no matter */
};
enum fa_ask_how fa_ask_group(const struct fa_op *ops, size_t count, size_t *group);

/* The request for one operation. */
void fa_ask_one(const struct fa_op *op, struct fa_call *call);
/* The request for as many of `count` as fit in one; returns how many. */
size_t fa_ask_many(const struct fa_op *ops, size_t count, struct fa_call *call);
/* POST /claims that waits. */
void fa_ask_claim(const struct fa_op *op, int64_t wait_ms, struct fa_call *call);

/* Reads the answers. `shown` names the server in errors. */
void fa_ask_take_one(struct fa_op *op, struct fa_call *call, const char *shown);
void fa_ask_take_many(struct fa_op *ops, size_t count, struct fa_call *call, const char *shown);

/* A list that is wanted whole, or up to a limit, may be answered in pages. Whether there is another
 * one, and the operation that asks for it; and adding its items to those of the first. */
bool fa_ask_next_page(const struct fa_op *op, struct fa_op *next);
void fa_ask_add_page(struct fa_op *op, const struct fa_op *page);

/* The JSON of a good answer. Otherwise the code, with call->error filled in. */
FA_MUST_CHECK enum faina_code fa_ask_json(struct fa_call *call, struct fa_arena *arena,
                                          const char *shown, struct fa_json *out);

#endif
