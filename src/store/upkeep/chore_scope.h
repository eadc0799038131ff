/*
 * scope.h - which of the chores that are due are run.
 *
 * Usually all of them, in one transaction. When that fails because of one item, isolate.c finds it:
 * it lists what is due, and runs ever smaller parts of the list in transactions of their own.
 *
 *   H1  Every loop over items that are due asks fa_chore_takes for each, and does nothing about one
 *       that is not taken.
 *   H2  An item that is set aside is never taken.
 */
#ifndef FA_CHORE_SCOPE_H
#define FA_CHORE_SCOPE_H

#include "base/bytes.h"

struct fa_unit;

struct fa_chore_scope {
    bool is_listing; /* what is due is added to `items`, and nothing is run */
    bool is_storing; /* what was set aside is stored, and nothing else is run */
    struct fa_arena *arena;
    struct fa_chore_item {
        const char *kind, *key; /* as in set_aside.h */
    } * items;
    size_t count, size;
    size_t from, to; /* of the list: what is run */
};

bool fa_chore_takes(struct fa_unit *unit, const char *kind, const char *key);
bool fa_chore_takes_int(struct fa_unit *unit, const char *kind, int64_t key);

#endif
