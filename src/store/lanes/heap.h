/*
 * heap.h - a binary heap of places in line, the best first.
 *
 * The key of an item is a place (rank, then id). The heap keeps copies of the keys beside pointers
 * to where each item notes its position, so that an item can be moved and removed by itself.
 *
 *   P1  *at is 0 for an item that isn't in the heap, and else its position plus one.
 *
 * Threads: none of its own; the owner guards it.
 */
#ifndef FA_HEAP_H
#define FA_HEAP_H

#include "base/bytes.h"

/* A place in line. */
struct fa_place {
    int64_t rank, key;
};

struct fa_heap {
    struct fa_heap_entry {
        struct fa_place place;
        uint32_t *at;
    } * entries;
    uint32_t count, size;
};

static inline bool fa_place_is_before(struct fa_place a, struct fa_place b)
{
    return a.rank != b.rank ? a.rank < b.rank : a.key < b.key;
}

/* Adds the item, or moves it when it is there with another place. */
void fa_heap_put(struct fa_heap *heap, uint32_t *at, struct fa_place place);
/* Does nothing when it isn't there. */
void fa_heap_remove(struct fa_heap *heap, uint32_t *at);
/* The best item's `at`, or NULL. */
uint32_t *fa_heap_top(const struct fa_heap *heap);
void fa_heap_finish(struct fa_heap *heap);

#endif
