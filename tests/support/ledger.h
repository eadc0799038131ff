/*
 * ledger.h - the acknowledged states of the tasks of a writer process, by number.
 *
 * Over a pipe the writer sends the test its intent (the state that a task is about to have), and
 * afterwards that the engine has acknowledged it. When the writer is killed, each task must be in
 * the state acknowledged last, or in the intended one.
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

/* One record of the pipe: small enough for an atomic write. */
struct fa_l_record {
    int32_t number;
    int32_t parent; /* number of the parent; -1: none */
    char kind;      /* 'i': intent; 'a': acknowledged; 'n': refused; 'r': ready */
    bool uses_gpu;
    struct fa_l_state state;
};

struct fa_l_entry {
    int32_t parent;
    bool uses_gpu, has_intent;
    struct fa_l_state acked;  /* absent at first */
    struct fa_l_state intent; /* when has_intent */
    struct fa_l_state seen;   /* as last read from the engine */
};

struct fa_l {
    struct fa_l_entry *entries;
    int32_t count, size;
};

void fa_l_note(struct fa_l *ledger, const struct fa_l_record *record);
void fa_l_clear(struct fa_l *ledger);
/* The key or name of a task in the engine, made from its number. */
void fa_l_key(int32_t number, char out[32]);

/* The store is unavailable; the request may be valid. */
bool fa_l_is_away(enum faina_code code);
/* It is unknown whether the operation was done. */
bool fa_l_is_unknown(const struct faina_error *error);

/* Checks that every task has its acknowledged or intended state, which becomes the acknowledged
 * one. */
void fa_l_check(struct fa_l *ledger, struct fa_t *t);
/* Releases the tasks that a dead writer still holds, so that the next one finds free resources. */
void fa_l_release_held(struct fa_l *ledger, struct fa_t *t);

#endif
