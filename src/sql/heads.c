/* heads.c - see heads.h. */
#include "sql/heads.h"

#include "sql/lanes.h"

#include <stdlib.h>
#include <string.h>

static char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;

    return memcpy(fa_alloc(size), text, size);
}

/* "a", "nNAMESPACE" or "tTYPE", in a buffer that the caller frees. */
static char *make_key(enum fa_axis axis, const char *name)
{
    static const char letters[] = {'a', 'n', 't'};
    size_t len = name ? strlen(name) : 0;
    char *key = fa_alloc(len + 2);

    key[0] = letters[axis];
    if (name != NULL)
        memcpy(key + 1, name, len);
    key[len + 1] = '\0';
    return key;
}

static bool is_group(const void *item, const char *a, const char *b)
{
    (void)b;
    return strcmp(((const struct fa_group *)item)->key, a) == 0;
}

static bool is_gate(const void *item, const char *a, const char *b)
{
    const struct fa_gate *gate = item;

    return strcmp(gate->group->key, a) == 0 && strcmp(gate->resources_json, b) == 0;
}

void fa_heads_init(struct fa_heads *heads, bool is_used)
{
    *heads = (struct fa_heads){.is_used = is_used};
    heads->groups.is = is_group;
    heads->gates.is = is_gate;
}

static void free_gate(struct fa_gate *gate)
{
    fa_heap_finish(&gate->lanes);
    free(gate->resources_json);
    free(gate->resources);
    free(gate);
}

static void free_group(struct fa_group *group)
{
    fa_heap_finish(&group->gates);
    free(group->key);
    free(group);
}

void fa_heads_finish(struct fa_heads *heads)
{
    for (size_t i = 0; i < heads->gates.size; i++) {
        if (heads->gates.slots[i].item != NULL)
            free_gate(heads->gates.slots[i].item);
    }
    for (size_t i = 0; i < heads->groups.size; i++) {
        if (heads->groups.slots[i].item != NULL)
            free_group(heads->groups.slots[i].item);
    }
    fa_map_finish(&heads->groups);
    fa_map_finish(&heads->gates);
}

/* Groups and gates --------------------------------------------------------------------------- */

struct fa_group *fa_heads_group(const struct fa_heads *heads, enum fa_axis axis, const char *name)
{
    char *key = make_key(axis, name);
    struct fa_group *group = fa_map_get(&heads->groups, key, NULL);

    free(key);
    return group;
}

static struct fa_group *get_group(struct fa_heads *heads, enum fa_axis axis, const char *name)
{
    struct fa_group *group = fa_heads_group(heads, axis, name);

    if (group != NULL)
        return group;
    group = fa_alloc_zero(1, sizeof(*group));
    group->axis = axis;
    group->key = make_key(axis, name);
    fa_map_put(&heads->groups, group->key, NULL, group);
    return group;
}

static struct fa_gate *get_gate(struct fa_heads *heads, struct fa_group *group,
                                const struct fa_lane *lane)
{
    struct fa_gate *gate = fa_map_get(&heads->gates, group->key, lane->resources_json);
    size_t size = lane->resource_count * sizeof(struct fa_resource *);

    if (gate != NULL)
        return gate;
    gate = fa_alloc_zero(1, sizeof(*gate));
    gate->group = group;
    gate->resources_json = copy_text(lane->resources_json);
    gate->resource_count = lane->resource_count;
    if (size > 0)
        gate->resources = memcpy(fa_alloc(size), lane->resources, size);
    group->gate_count++;
    fa_map_put(&heads->gates, group->key, gate->resources_json, gate);
    return gate;
}

static void unshut(struct fa_gate *gate)
{
    if (!gate->is_shut)
        return;
    *gate->shut_link = gate->next_shut;
    if (gate->next_shut != NULL)
        gate->next_shut->shut_link = gate->shut_link;
    gate->is_shut = false;
}

static void shut(struct fa_gate *gate, struct fa_gate **list)
{
    fa_heap_remove(&gate->group->gates, &gate->at);
    gate->is_shut = true;
    gate->next_shut = *list;
    gate->shut_link = list;
    if (gate->next_shut != NULL)
        gate->next_shut->shut_link = &gate->next_shut;
    *list = gate;
}

static void drop_gate(struct fa_heads *heads, struct fa_gate *gate)
{
    struct fa_group *group = gate->group;

    unshut(gate);
    fa_heap_remove(&group->gates, &gate->at);
    fa_map_remove(&heads->gates, group->key, gate->resources_json, gate);
    free_gate(gate);
    if (--group->gate_count > 0)
        return;
    fa_map_remove(&heads->groups, group->key, NULL, group);
    free_group(group);
}

/* G3: the gate is where its best lane puts it. */
static void settle_gate(struct fa_gate *gate)
{
    if (gate->is_shut)
        return;
    if (gate->lanes.count > 0)
        fa_heap_put(&gate->group->gates, &gate->at, gate->lanes.entries[0].place);
    else
        fa_heap_remove(&gate->group->gates, &gate->at);
}

/* Lanes ---------------------------------------------------------------------------------------- */

static bool is_behind_gates(const struct fa_lane *lane)
{
    return lane->may_have_ready && !lane->of->is_paused;
}

static void put_behind(struct fa_lane *lane, enum fa_axis axis)
{
    struct fa_gate *gate = lane->gates[axis];

    gate->group->lane_count += lane->gate_at[axis] == 0;
    fa_heap_put(&gate->lanes, &lane->gate_at[axis], lane->best);
    settle_gate(gate);
}

static void take_from_behind(struct fa_lane *lane, enum fa_axis axis)
{
    struct fa_gate *gate = lane->gates[axis];

    if (lane->gate_at[axis] == 0)
        return;
    gate->group->lane_count--;
    fa_heap_remove(&gate->lanes, &lane->gate_at[axis]);
    settle_gate(gate);
}

void fa_heads_update(struct fa_lane *lane)
{
    for (int axis = 0; axis < FA_AXIS_COUNT; axis++) {
        if (lane->gates[axis] == NULL)
            continue;
        if (is_behind_gates(lane))
            put_behind(lane, (enum fa_axis)axis);
        else
            take_from_behind(lane, (enum fa_axis)axis);
    }
}

void fa_heads_join(struct fa_heads *heads, struct fa_lane *lane, enum fa_axis axis)
{
    const char *const names[] = {NULL, lane->ns, lane->type};

    if (!heads->is_used || lane->gates[axis] != NULL)
        return;
    lane->gates[axis] = get_gate(heads, get_group(heads, axis, names[axis]), lane);
    lane->gates[axis]->lane_count++;
    if (is_behind_gates(lane))
        put_behind(lane, axis);
}

void fa_heads_leave(struct fa_heads *heads, struct fa_lane *lane)
{
    for (int axis = 0; axis < FA_AXIS_COUNT; axis++) {
        struct fa_gate *gate = lane->gates[axis];

        if (gate == NULL)
            continue;
        take_from_behind(lane, (enum fa_axis)axis);
        lane->gates[axis] = NULL;
        if (--gate->lane_count == 0)
            drop_gate(heads, gate);
    }
}

void fa_heads_lower(struct fa_lane *lane, struct fa_place place)
{
    bool is_first = !lane->may_have_ready;

    lane->may_have_ready = true;
    if (!is_first && !fa_place_is_before(place, lane->best))
        return;
    lane->best = place;
    fa_heads_update(lane);
}

void fa_heads_raise(struct fa_lane *lane, struct fa_place place)
{
    lane->best = place;
    fa_heads_update(lane);
}

/* Claims ------------------------------------------------------------------------------------- */

static struct fa_resource *find_full(const struct fa_gate *gate)
{
    for (size_t i = 0; i < gate->resource_count; i++) {
        struct fa_resource *resource = gate->resources[i];

        if (resource->max >= 0 && resource->in_use >= resource->max)
            return resource;
    }
    return NULL;
}

struct fa_gate *fa_group_top(struct fa_group *group)
{
    for (uint32_t *at; (at = fa_heap_top(&group->gates)) != NULL;) {
        struct fa_gate *gate = (struct fa_gate *)((char *)at - offsetof(struct fa_gate, at));
        struct fa_resource *full = find_full(gate);

        if (full == NULL)
            return gate;
        shut(gate, &full->waiting);
    }
    return NULL;
}

struct fa_lane *fa_gate_top(const struct fa_gate *gate)
{
    enum fa_axis axis = gate->group->axis;

    return (struct fa_lane *)((char *)(fa_heap_top(&gate->lanes) - axis) -
                              offsetof(struct fa_lane, gate_at));
}

void fa_gate_set_aside(struct fa_gate *gate, struct fa_gate **list)
{
    shut(gate, list);
}

void fa_gates_restore(struct fa_gate **list)
{
    while (*list != NULL) {
        struct fa_gate *gate = *list;

        unshut(gate);
        settle_gate(gate);
    }
}

void fa_heads_open(struct fa_resource *resource)
{
    fa_gates_restore(&resource->waiting);
}
