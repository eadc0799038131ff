/*
 * moves.h - a fixed piece of work that meets faults: every kind of change once, one after another.
 *
 * Each move is tried until it is acknowledged. A refusal must be UNAVAILABLE; the ledger notes
 * whether it said that the outcome is unknown, and the test is asked what to do about the fault.
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
    bool is_remote; /* other codes of a store that is away are fine too */
    int refused;
    char ids[16][FAINA_ID_SIZE]; /* by number */
};

/* All moves, on an open engine. */
void fa_moves_run(struct fa_moves *moves);
/* The same ledger, to be settled against a copy of the file. */
void fa_l_copy(struct fa_l *to, const struct fa_l *from);

#endif
