/* types.c - see types.h. */
#include "store/lanes/types.h"

#include "store/lanes/lanes.h"

#include <stdlib.h>
#include <string.h>

static bool is_namespace(const void *item, const char *a, const char *b)
{
    (void)b;
    return strcmp(((const struct fa_namespace *)item)->name, a) == 0;
}

static bool is_type(const void *item, const char *a, const char *b)
{
    const struct fa_type *type = item;

    return fa_name_is_same(type->name, b) && strcmp(type->space->name, a) == 0;
}

static bool is_named(const void *item, const char *a, const char *b)
{
    (void)b;
    return fa_name_is_same(((const struct fa_type *)item)->name, a);
}

char *fa_name_copy(const char *name)
{
    size_t size = strlen(name) + 1;

    return memcpy(fa_alloc(size), name, size);
}

void fa_types_init(struct fa_types *types)
{
    *types = (struct fa_types){0};
    types->by_name.is = is_type;
    types->spaces.is = is_namespace;
    types->by_name_alone.is = is_named;
}

static void free_type(struct fa_type *type)
{
    free(type->name);
    free(type);
}

static void free_namespace(struct fa_namespace *space)
{
    free(space->name);
    free(space);
}

void fa_types_finish(struct fa_types *types)
{
    for (size_t i = 0; i < types->by_name.size; i++) {
        if (types->by_name.slots[i].item != NULL)
            free_type(types->by_name.slots[i].item);
    }
    for (size_t i = 0; i < types->spaces.size; i++) {
        if (types->spaces.slots[i].item != NULL)
            free_namespace(types->spaces.slots[i].item);
    }
    fa_map_finish(&types->by_name);
    fa_map_finish(&types->spaces);
    fa_map_finish(&types->by_name_alone);
}

struct fa_type *fa_types_get(const struct fa_types *types, const char *ns, const char *name)
{
    return fa_map_get(&types->by_name, ns, name);
}

struct fa_namespace *fa_types_namespace(const struct fa_types *types, const char *ns)
{
    return fa_map_get(&types->spaces, ns, NULL);
}

struct fa_type *fa_types_named(const struct fa_types *types, const char *name)
{
    return fa_map_get(&types->by_name_alone, name, NULL);
}

/* Adding and removing ------------------------------------------------------------------------ */

static struct fa_namespace *get_or_add_namespace(struct fa_types *types, const char *ns)
{
    struct fa_namespace *space = fa_types_namespace(types, ns);

    if (space != NULL)
        return space;
    space = fa_alloc_zero(1, sizeof(*space));
    space->name = fa_name_copy(ns);
    fa_map_put(&types->spaces, space->name, NULL, space);
    return space;
}

static struct fa_type *get_or_add_type(struct fa_types *types, const char *ns, const char *name)
{
    struct fa_type *type = fa_types_get(types, ns, name), *first;

    if (type != NULL)
        return type;
    type = fa_alloc_zero(1, sizeof(*type));
    type->space = get_or_add_namespace(types, ns);
    type->space->entry_count++;
    type->name = fa_name_copy(name);
    type->last_lane = &type->lanes;
    fa_map_put(&types->by_name, type->space->name, type->name, type);
    first = fa_types_named(types, name);
    if (first == NULL) {
        fa_map_put(&types->by_name_alone, type->name, NULL, type);
    } else {
        type->next_named = first->next_named;
        type->prev_named = first;
        if (type->next_named != NULL)
            type->next_named->prev_named = type;
        first->next_named = type;
    }
    return type;
}

static void unlink_name(struct fa_types *types, struct fa_type *type)
{
    struct fa_type *next = type->next_named, *prev = type->prev_named;

    if (next != NULL)
        next->prev_named = prev;
    if (prev != NULL) {
        prev->next_named = next;
        return;
    }
    fa_map_remove(&types->by_name_alone, type->name, NULL, type);
    if (next == NULL)
        return;
    next->named_lane_count = type->named_lane_count;
    fa_map_put(&types->by_name_alone, next->name, NULL, next);
}

/* Y1. */
static void drop_if_unused(struct fa_types *types, struct fa_type *type)
{
    struct fa_namespace *space = type->space;

    if (type->lane_count > 0 || type->is_paused)
        return;
    unlink_name(types, type);
    fa_map_remove(&types->by_name, space->name, type->name, type);
    free_type(type);
    if (--space->entry_count > 0)
        return;
    fa_map_remove(&types->spaces, space->name, NULL, space);
    free_namespace(space);
}

void fa_types_add_lane(struct fa_types *types, struct fa_lane *lane, const char *ns,
                       const char *name)
{
    struct fa_type *type = get_or_add_type(types, ns, name);

    lane->type_info = type;
    lane->ns = type->space->name;
    lane->own_type = strcmp(name, type->name) == 0 ? NULL : fa_name_copy(name);
    lane->type = lane->own_type != NULL ? lane->own_type : type->name;
    lane->next_of_type = NULL;
    *type->last_lane = lane;
    type->last_lane = &lane->next_of_type;
    type->space->lane_count++;
    type->lane_count++;
    fa_types_named(types, name)->named_lane_count++;
}

void fa_types_remove_lane(struct fa_types *types, struct fa_lane *lane)
{
    struct fa_type *type = lane->type_info;
    struct fa_lane **at = &type->lanes;

    while (*at != lane)
        at = &(*at)->next_of_type;
    *at = lane->next_of_type;
    if (type->last_lane == &lane->next_of_type)
        type->last_lane = at;
    type->lane_count--;
    type->space->lane_count--;
    fa_types_named(types, type->name)->named_lane_count--;
    lane->type_info = NULL;
    lane->ns = lane->type = NULL;
    drop_if_unused(types, type);
}

/* Pauses ------------------------------------------------------------------------------------- */

static void set_paused(struct fa_types *types, struct fa_type *type, bool is_paused)
{
    if (type->is_paused == is_paused)
        return;
    type->is_paused = is_paused;
    if (is_paused) {
        type->next_paused = types->paused;
        type->paused_link = &types->paused;
        if (types->paused != NULL)
            types->paused->paused_link = &type->next_paused;
        types->paused = type;
        return;
    }
    *type->paused_link = type->next_paused;
    if (type->next_paused != NULL)
        type->next_paused->paused_link = type->paused_link;
}

struct fa_type *fa_types_pause(struct fa_types *types, const char *ns, const char *name,
                               bool is_paused)
{
    struct fa_type *type =
        is_paused ? get_or_add_type(types, ns, name) : fa_types_get(types, ns, name);

    if (type == NULL)
        return NULL;
    set_paused(types, type, is_paused);
    if (type->lane_count == 0 && !is_paused) {
        drop_if_unused(types, type);
        return NULL;
    }
    return type;
}

void fa_types_resume_all(struct fa_types *types)
{
    while (types->paused != NULL) {
        struct fa_type *type = types->paused;

        set_paused(types, type, false);
        drop_if_unused(types, type);
    }
}
