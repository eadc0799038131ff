/*
 * moves.h - a fixed sequence of changes, one of each kind, to be run with faults.
 *
 * Each move is tried until it is acknowledged. A refusal must be UNAVAILABLE; the ledger records
 * whether the outcome is unknown, and on_refusal lets the test handle the fault.
 */
#ifndef FA_TEST_MOVES_H
#define FA_TEST_MOVES_H

#include "support/ledger.h"

struct fa_moves {
    struct fa_t *t;
    struct fa_l ledger;
    /* Called after each refusal, before the next try. */
    void (*on_refusal)(void *ctx, struct fa_moves *moves);
    void *ctx;
    bool is_remote; /* other codes of an unavailable store are allowed too */
    int refused;
    char ids[16][FAINA_ID_SIZE]; /* by number */
};

/* All moves, on an open engine. */
void fa_moves_run(struct fa_moves *moves);
/* Copies a ledger, to check it against a copy of the file. */
void fa_l_copy(struct fa_l *to, const struct fa_l *from);

#endif
