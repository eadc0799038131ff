/* map.c - see map.h. */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#define SIZE_MIN 16

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)(*text | 0x20)) * 0x100000001b3u; /* M3 */
    return (hash ^ 0xff) * 0x100000001b3u; /* a separator that no UTF-8 has */
}

static uint64_t hash_key(const char *a, const char *b)
{
    uint64_t hash = hash_text(0xcbf29ce484222325u, a);

    if (b != NULL)
        hash = hash_text(hash, b);
    return hash ^ (hash >> 32);
}

void *fa_map_get(const struct fa_map *map, const char *a, const char *b)
{
    uint64_t hash = hash_key(a, b);
    size_t mask = map->size - 1;

    if (map->size == 0)
        return NULL;
    for (size_t at = hash & mask; map->slots[at].item != NULL; at = (at + 1) & mask) {
        if (map->slots[at].hash == hash && map->is(map->slots[at].item, a, b))
            return map->slots[at].item;
    }
    return NULL;
}

static void put(struct fa_map *map, uint64_t hash, void *item)
{
    size_t mask = map->size - 1, at = hash & mask;

    while (map->slots[at].item != NULL)
        at = (at + 1) & mask;
    map->slots[at] = (struct fa_map_slot){hash, item};
}

static void grow(struct fa_map *map)
{
    struct fa_map_slot *old = map->slots;
    size_t old_size = map->size;

    map->size = old_size ? old_size * 2 : SIZE_MIN;
    map->slots = fa_alloc_zero(map->size, sizeof(*map->slots));
    for (size_t i = 0; i < old_size; i++) {
        if (old[i].item != NULL)
            put(map, old[i].hash, old[i].item);
    }
    free(old);
}

void fa_map_put(struct fa_map *map, const char *a, const char *b, void *item)
{
    if ((map->count + 1) * 2 > map->size)
        grow(map);
    put(map, hash_key(a, b), item);
    map->count++;
}

/* An item behind the hole moves into it when the hole is between its first slot and its own. */
static void close_hole(struct fa_map *map, size_t hole)
{
    size_t mask = map->size - 1;

    for (size_t at = (hole + 1) & mask; map->slots[at].item != NULL; at = (at + 1) & mask) {
        size_t first = map->slots[at].hash & mask;

        if (((at - first) & mask) >= ((at - hole) & mask)) {
            map->slots[hole] = map->slots[at];
            hole = at;
        }
    }
    map->slots[hole].item = NULL;
}

void fa_map_remove(struct fa_map *map, const char *a, const char *b, const void *item)
{
    uint64_t hash = hash_key(a, b);
    size_t mask = map->size - 1;

    if (map->size == 0)
        return;
    for (size_t at = hash & mask; map->slots[at].item != NULL; at = (at + 1) & mask) {
        if (map->slots[at].item != item)
            continue;
        close_hole(map, at);
        map->count--;
        return;
    }
}

void fa_map_finish(struct fa_map *map)
{
    free(map->slots);
    map->slots = NULL;
    map->count = map->size = 0;
}
