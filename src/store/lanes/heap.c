/* heap.c - see heap.h. */
#include "sql/heap.h"

#include <stdlib.h>

static void place_at(struct fa_heap *heap, uint32_t i, struct fa_heap_entry entry)
{
    heap->entries[i] = entry;
    *entry.at = i + 1;
}

static void sift_up(struct fa_heap *heap, uint32_t i, struct fa_heap_entry entry)
{
    for (; i > 0; i = (i - 1) / 2) {
        if (!fa_place_is_before(entry.place, heap->entries[(i - 1) / 2].place))
            break;
        place_at(heap, i, heap->entries[(i - 1) / 2]);
    }
    place_at(heap, i, entry);
}

static void sift_down(struct fa_heap *heap, uint32_t i, struct fa_heap_entry entry)
{
    for (uint32_t child; (child = 2 * i + 1) < heap->count; i = child) {
        if (child + 1 < heap->count &&
            fa_place_is_before(heap->entries[child + 1].place, heap->entries[child].place))
            child++;
        if (!fa_place_is_before(heap->entries[child].place, entry.place))
            break;
        place_at(heap, i, heap->entries[child]);
    }
    place_at(heap, i, entry);
}

static void sift(struct fa_heap *heap, uint32_t i, struct fa_heap_entry entry)
{
    if (i > 0 && fa_place_is_before(entry.place, heap->entries[(i - 1) / 2].place))
        sift_up(heap, i, entry);
    else
        sift_down(heap, i, entry);
}

void fa_heap_put(struct fa_heap *heap, uint32_t *at, struct fa_place place)
{
    struct fa_heap_entry entry = {place, at};

    if (*at != 0) {
        sift(heap, *at - 1, entry);
        return;
    }
    if (heap->count == heap->size) {
        heap->size = heap->size ? heap->size * 2 : 4;
        heap->entries = fa_realloc(heap->entries, heap->size * sizeof(*heap->entries));
    }
    sift_up(heap, heap->count++, entry);
}

void fa_heap_remove(struct fa_heap *heap, uint32_t *at)
{
    uint32_t i = *at - 1;

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
