/*
 * heap.h - a binary heap of positions in a queue, the best first.
 *
 * The key of an item is a position (rank, then id). Beside each key the heap keeps a pointer to the
 * item's slot number, so that an item can be moved and removed without a search.
 *
 *   P1  *at is 0 for an item that isn't in the heap, and else its slot number plus one.
 *
 * Threads: none of its own; the owner guards it.
 */
#ifndef FA_BASE_HEAP_H
#define FA_BASE_HEAP_H

#include "base/bytes.h"

/* A position in a queue: by rank (of ready tasks, minus the priority), then by key. */
struct fa_position {
    int64_t rank, key;
};

struct fa_heap {
    struct fa_heap_entry {
        struct fa_position position;
        uint32_t *at;
    } * entries;
    size_t count, size;
};

static inline bool fa_position_is_before(struct fa_position a, struct fa_position b)
{
    return a.rank != b.rank ? a.rank < b.rank : a.key < b.key;
}

/* Adds the item, or moves it when it is there with another position. */
void fa_heap_put(struct fa_heap *heap, uint32_t *at, struct fa_position position);
/* Does nothing when it isn't there. */
void fa_heap_remove(struct fa_heap *heap, uint32_t *at);
/* The best item's `at`, or NULL. */
uint32_t *fa_heap_top(const struct fa_heap *heap);
void fa_heap_finish(struct fa_heap *heap);

#endif
