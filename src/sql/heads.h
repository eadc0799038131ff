/*
 * heads.h - which lane has the best task, for stores with one writer.
 *
 * A claim wants the best task of all lanes, of those of a namespace, or of those of a type. Each of
 * these is a group. The lanes of a group that need the same resources are behind one gate: a heap
 * of lanes by the best place that their lines may have. The gates of a group are a heap, too. A
 * gate whose resources have no permit left is taken out of it, and waits at that resource; so lanes
 * at their limit are not visited by claims, however many they are.
 *
 *   G1  A lane's best place is never behind its first task in line. It may be before it: then the
 *       line is read when the lane's turn comes, and the place is put right.
 *   G2  A lane is behind its gates exactly when it may have tasks in line and its type is not
 *       paused.
 *   G3  A gate is in its group's heap when it has lanes, unless it is shut; it is shut only when
 *       it waits at a resource, or a claim that can't use it has set it aside.
 *   G4  A resource that gets a permit, or another limit, opens the gates that wait at it.
 *
 * The cost of finding and moving the best lane grows with the logarithm of the number of lanes.
 *
 * Threads: whoever leads the batch.
 */
#ifndef FA_HEADS_H
#define FA_HEADS_H

#include "base/map.h"
#include "sql/heap.h"

struct fa_lane;
struct fa_resource;

enum fa_axis { FA_AXIS_ALL, FA_AXIS_NAMESPACE, FA_AXIS_TYPE, FA_AXIS_COUNT };

/* All lanes, or those of one namespace, or of one type. */
struct fa_group {
    enum fa_axis axis;
    char *key; /* a letter for the axis, and the name */
    struct fa_heap gates;
    size_t gate_count; /* also shut ones */
    size_t lane_count; /* behind its gates */
};

/* The lanes of a group that need the same resources. */
struct fa_gate {
    struct fa_group *group;
    char *resources_json;
    struct fa_resource **resources;
    size_t resource_count;
    struct fa_heap lanes; /* behind it */
    size_t lane_count;    /* also those that aren't */
    uint32_t at;          /* in the group's heap */
    bool is_shut;
    struct fa_gate *next_shut, **shut_link; /* among those that are shut for one reason */
};

struct fa_heads {
    bool is_used;
    struct fa_map groups, gates;
};

void fa_heads_init(struct fa_heads *heads, bool is_used);
/* The lanes, which it doesn't look at, are of no use to it any more. */
void fa_heads_finish(struct fa_heads *heads);

/* A lane comes into its group of an axis, or leaves all of its groups. */
void fa_heads_join(struct fa_heads *heads, struct fa_lane *lane, enum fa_axis axis);
void fa_heads_leave(struct fa_heads *heads, struct fa_lane *lane);

/* A task has come into the lane's line at this place. */
void fa_heads_lower(struct fa_lane *lane, struct fa_place place);
/* Nothing in the lane's line is before this place. */
void fa_heads_raise(struct fa_lane *lane, struct fa_place place);
/* Makes G2 true again, after may_have_ready or the pause of its type has changed. */
void fa_heads_update(struct fa_lane *lane);
/* G4. */
void fa_heads_open(struct fa_resource *resource);

/* NULL: there is no such lane. `name` is NULL for all. */
struct fa_group *fa_heads_group(const struct fa_heads *heads, enum fa_axis axis, const char *name);
/* The best gate of a group whose resources have permits, or NULL. */
struct fa_gate *fa_group_top(struct fa_group *group);
struct fa_lane *fa_gate_top(const struct fa_gate *gate);
/* Sets a gate aside, in a list, until fa_gates_restore. */
void fa_gate_set_aside(struct fa_gate *gate, struct fa_gate **list);
void fa_gates_restore(struct fa_gate **list);

#endif
