/*
 * claim_source.h - where a pool learns of tasks to claim, instead of claiming the next ones.
 *
 * A source offers tasks by id and version. The pool claims those that are ready in that version,
 * and settles each offer.
 *
 * Threads: the pool's claimer calls all functions.
 */
#ifndef FA_WORKER_POOL_CLAIM_SOURCE_H
#define FA_WORKER_POOL_CLAIM_SOURCE_H

#include "base/bytes.h"
#include "base/error.h"

#include <faina.h>

enum fa_offer_end {
    FA_OFFER_DONE,   /* the task was claimed, or is not ready in this version */
    FA_OFFER_LATER,  /* it has not been tried: offer it again a little later */
    FA_OFFER_RETURN, /* it could not be tried: give it back */
};

struct fa_offer {
    char id[FAINA_ID_SIZE];
    const char *ns, *type; /* the source's, until it is settled */
    int64_t version;
    uint64_t tag; /* the source's */
    enum fa_offer_end end;
};

struct fa_claim_source {
    void *ctx;
    /* Waits up to `wait_ms` for offers; returns their number, or -1 with the error. */
    int (*wait)(void *ctx, struct fa_offer *offers, int limit, int64_t wait_ms,
                struct faina_error *err);
    /* Every offer of the last wait, with its `end`. */
    void (*settle)(void *ctx, const struct fa_offer *offers, int count);
    /* No slot has been free for a while: what was received and not offered is given back. Called
     * again and again until a slot is free. */
    void (*pause)(void *ctx);
};

#endif
