/*
 * ring.h - intrusive circular lists: an item is removed without a search.
 *
 * The list is a link itself. An item with two links can be in two lists.
 *
 * Threads: the one that holds the lock of the list.
 */
#ifndef FA_SERVER_RING_H
#define FA_SERVER_RING_H

#include <stdbool.h>

struct fa_ring_link {
    struct fa_ring_link *next, *before;
};

static inline void fa_ring_init(struct fa_ring_link *ring)
{
    ring->next = ring->before = ring;
}

static inline bool fa_ring_is_empty(const struct fa_ring_link *ring)
{
    return ring->next == ring;
}

/* At the end. */
static inline void fa_ring_add(struct fa_ring_link *ring, struct fa_ring_link *link)
{
    *link = (struct fa_ring_link){.next = ring, .before = ring->before};
    ring->before->next = link;
    ring->before = link;
}

static inline void fa_ring_remove(struct fa_ring_link *link)
{
    link->before->next = link->next;
    link->next->before = link->before;
}

#endif
