/* chore_scope.c - see chore_scope.h. */
#include "store/upkeep/chore_scope.h"

#include "store/txn/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_item(const struct fa_chore_item *item, const char *kind, const char *key)
{
    return strcmp(item->kind, kind) == 0 && strcmp(item->key, key) == 0;
}

static void add(struct fa_chore_scope *scope, const char *kind, const char *key)
{
    scope->items = fa_arena_grow(scope->arena, scope->items, scope->count, &scope->size,
                                 sizeof(*scope->items));
    scope->items[scope->count++] = (struct fa_chore_item){kind, fa_arena_strdup(scope->arena, key)};
}

bool fa_chore_takes(struct fa_unit *unit, const char *kind, const char *key)
{
    struct fa_chore_scope *scope = unit->scope;

    if (fa_aside_has(unit->source.aside, kind, key, unit->now_us))
        return false;
    if (scope == NULL)
        return true;
    if (scope->is_listing) {
        add(scope, kind, key);
        return false;
    }
    for (size_t i = scope->from; i < scope->to; i++) {
        if (is_item(&scope->items[i], kind, key))
            return true;
    }
    return false;
}

bool fa_chore_takes_int(struct fa_unit *unit, const char *kind, int64_t key)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, key);
    return fa_chore_takes(unit, kind, text);
}
