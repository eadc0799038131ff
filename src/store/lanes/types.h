/*
 * types.h - namespaces and their types in memory: the lanes of each type, and which are paused.
 *
 *   Y1  A type exists while it has lanes, or is paused; a namespace while it has types.
 *   Y2  The cost of finding a type, pausing it, and counting the types of a namespace doesn't
 *       depend on how many others there are.
 *   Y3  Names of types are compared without regard to case (base/bytes.h). Each lane keeps the
 *       spelling of its tasks; a type has the spelling of its first lane or pause.
 *
 * Threads: the batch leader.
 */
#ifndef FA_STORE_LANES_TYPES_H
#define FA_STORE_LANES_TYPES_H

#include "base/map.h"

struct fa_lane;

/* A namespace. */
struct fa_namespace {
    char *name;
    size_t lane_count;
    size_t entry_count; /* types that have lanes or are paused */
    int64_t room;       /* lanes that may be created before the next count (lanes_room.c) */
};

/* A type of tasks in a namespace. */
struct fa_type {
    struct fa_namespace *space;
    char *name;
    bool is_paused;
    struct fa_lane *lanes, **last_lane; /* by spelling and set of resources, the oldest first */
    size_t lane_count;
    struct fa_type *next_paused, **paused_link;
    struct fa_type *next_named, *prev_named; /* of the same name, in other namespaces */
    size_t named_lane_count; /* of all types of this name; counted in the first of them */
};

struct fa_types {
    struct fa_map by_name, spaces;
    struct fa_map by_name_alone; /* the first type of each name */
    struct fa_type *paused;
};

/* A copy that the caller frees. */
char *fa_name_copy(const char *name);

void fa_types_init(struct fa_types *types);
/* Doesn't access the lanes, which may be freed already. */
void fa_types_finish(struct fa_types *types);

struct fa_type *fa_types_get(const struct fa_types *types, const char *ns, const char *name);
struct fa_namespace *fa_types_namespace(const struct fa_types *types, const char *ns);
/* The first type of a name in any namespace; the others follow by next_named. */
struct fa_type *fa_types_named(const struct fa_types *types, const char *name);

/* Adds the lane to its type, and sets its type_info, ns and type. */
void fa_types_add_lane(struct fa_types *types, struct fa_lane *lane, const char *ns,
                       const char *name);
/* Removes the lane from its type, which is freed if unused (Y1). */
void fa_types_remove_lane(struct fa_types *types, struct fa_lane *lane);

/* Returns the type, or NULL when it has no lanes and isn't paused. */
struct fa_type *fa_types_pause(struct fa_types *types, const char *ns, const char *name,
                               bool is_paused);
void fa_types_resume_all(struct fa_types *types);

#endif
