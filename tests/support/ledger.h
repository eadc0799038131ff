/*
 * ledger.h - who was promised what: the tasks of a writer process, by number.
 *
 * The writer tells the test, over a pipe, what it is about to do to a task (the state that it will
 * then have), and afterwards that the engine has acknowledged it. When it is killed, each task must
 * be in the state acknowledged last, or in the one that was about to be.
 */
#ifndef FA_TEST_LEDGER_H
#define FA_TEST_LEDGER_H

#include "support/ops.h"

#define FA_L_ABSENT (-1) /* a status: there is no such task */

struct fa_l_state {
    int8_t status; /* or FA_L_ABSENT */
    int8_t attempts;
    int16_t output; /* -1: none */
};

/* One record of the pipe: small enough to be written whole or not at all. */
struct fa_l_record {
    int32_t number;
    int32_t parent; /* number of the parent; -1: none */
    char kind;      /* 'i': about to; 'a': acknowledged; 'n': refused, so not; 'r': ready */
    bool uses_gpu;
    struct fa_l_state state;
};

struct fa_l_entry {
    int32_t parent;
    bool uses_gpu, has_intent;
    struct fa_l_state acked;  /* absent at first */
    struct fa_l_state intent; /* when has_intent */
    struct fa_l_state seen;   /* as the engine had it after the last look */
};

struct fa_l {
    struct fa_l_entry *entries;
    int32_t count, size;
};

void fa_l_note(struct fa_l *ledger, const struct fa_l_record *record);
void fa_l_clear(struct fa_l *ledger);
/* Key or name under which the engine knows a task, and the number in it. */
void fa_l_key(int32_t number, char out[32]);

/* The store is away: nothing is known to be wrong with the request. */
bool fa_l_is_away(enum faina_code code);
/* The answer leaves open whether it was done. */
bool fa_l_is_unknown(const struct faina_error *error);

/* Every task is as it was promised; what was in doubt is settled by what is there. */
void fa_l_check(struct fa_l *ledger, struct fa_t *t);
/* Gives up what a dead writer still holds, so that the next one finds free resources. */
void fa_l_release_held(struct fa_l *ledger, struct fa_t *t);

#endif
