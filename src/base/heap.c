/* heap.c - see heap.h. */
#include "base/heap.h"

#include <stdlib.h>

static void put_at(struct fa_heap *heap, size_t i, struct fa_heap_entry entry)
{
    heap->entries[i] = entry;
    *entry.at = (uint32_t)i + 1;
}

static void sift_up(struct fa_heap *heap, size_t i, struct fa_heap_entry entry)
{
    for (; i > 0; i = (i - 1) / 2) {
        if (!fa_position_is_before(entry.position, heap->entries[(i - 1) / 2].position))
            break;
        put_at(heap, i, heap->entries[(i - 1) / 2]);
    }
    put_at(heap, i, entry);
}

static void sift_down(struct fa_heap *heap, size_t i, struct fa_heap_entry entry)
{
    for (size_t child; (child = 2 * i + 1) < heap->count; i = child) {
        if (child + 1 < heap->count &&
            fa_position_is_before(heap->entries[child + 1].position, heap->entries[child].position))
            child++;
        if (!fa_position_is_before(heap->entries[child].position, entry.position))
            break;
        put_at(heap, i, heap->entries[child]);
    }
    put_at(heap, i, entry);
}

static void sift(struct fa_heap *heap, size_t i, struct fa_heap_entry entry)
{
    if (i > 0 && fa_position_is_before(entry.position, heap->entries[(i - 1) / 2].position))
        sift_up(heap, i, entry);
    else
        sift_down(heap, i, entry);
}

void fa_heap_put(struct fa_heap *heap, uint32_t *at, struct fa_position position)
{
    struct fa_heap_entry entry = {position, at};

    if (*at != 0) {
        sift(heap, *at - 1, entry);
        return;
    }
    heap->entries = fa_grow(heap->entries, heap->count, &heap->size, sizeof(*heap->entries));
    sift_up(heap, heap->count++, entry);
}

void fa_heap_remove(struct fa_heap *heap, uint32_t *at)
{
    size_t i = *at - 1;

    if (*at == 0)
        return;
    *at = 0;
    if (i < --heap->count)
        sift(heap, i, heap->entries[heap->count]);
}

uint32_t *fa_heap_top(const struct fa_heap *heap)
{
    return heap->count > 0 ? heap->entries[0].at : NULL;
}

void fa_heap_finish(struct fa_heap *heap)
{
    free(heap->entries);
    *heap = (struct fa_heap){0};
}
