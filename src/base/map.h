/*
 * map.h - a hash table from two texts to a pointer.
 *
 * The table has pointers to items, not their keys: the function `is` compares an item with a key.
 * Open addressing with linear probing; at most half of the slots are used.
 *
 *   M1  At most one item per key; fa_map_put doesn't check for an existing one.
 *   M2  Items belong to the caller, and their keys don't change while they are in the table.
 *   M3  Keys that differ only in the case of ASCII letters have the same hash, so that `is` may
 *       take them for the same key (fa_name_is_same).
 *
 * Threads: none of its own; the owner guards it.
 */
#ifndef FA_BASE_MAP_H
#define FA_BASE_MAP_H

#include "base/bytes.h"

/* Whether this is the item's key. `b` is NULL when keys have one part. */
typedef bool fa_map_is_fn(const void *item, const char *a, const char *b);

struct fa_map {
    fa_map_is_fn *is;
    struct fa_map_slot {
        uint64_t hash;
        void *item; /* NULL: free */
    } * slots;
    size_t count, size; /* size is a power of two, or 0 */
};

void *fa_map_get(const struct fa_map *map, const char *a, const char *b); /* NULL: none */
void fa_map_put(struct fa_map *map, const char *a, const char *b, void *item);
/* Removes this item, by its address; does nothing when it isn't there. */
void fa_map_remove(struct fa_map *map, const char *a, const char *b, const void *item);
/* Frees the table, not the items. */
void fa_map_finish(struct fa_map *map);

#endif
