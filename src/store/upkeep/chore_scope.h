/*
 * chore_scope.h - which of the due chores a transaction runs.
 *
 * Usually it runs all of them. If that fails because of one item, isolate.c finds the item: it
 * lists what is due, and runs ever smaller parts of the list in transactions of their own.
 *
 *   H1  Every loop over due items calls fa_chore_takes for each, and leaves out an item for which
 *       it returns false.
 *   H2  An item that is set aside is left out.
 */
#ifndef FA_STORE_UPKEEP_CHORE_SCOPE_H
#define FA_STORE_UPKEEP_CHORE_SCOPE_H

#include "base/bytes.h"

struct fa_unit;

struct fa_chore_scope {
    bool is_listing; /* due items are added to `items`, and none is run */
    bool is_storing; /* items that were set aside are stored, and none is run */
    struct fa_arena *arena;
    struct fa_chore_item {
        const char *kind, *key; /* as in set_aside.h */
    } * items;
    size_t count, size;
    size_t from, to; /* the part of the list that is run */
};

bool fa_chore_takes(struct fa_unit *unit, const char *kind, const char *key);
bool fa_chore_takes_int(struct fa_unit *unit, const char *kind, int64_t key);

#endif
