/*
 * types.h - namespaces and their types in memory: the lanes of each type, and which are paused.
 *
 *   Y1  A type is there while it has lanes, or is paused; a namespace while it has types.
 *   Y2  Looking one up, pausing it, and counting the types of a namespace don't depend on how many
 *       others there are.
 *
 * Threads: whoever leads the batch.
 */
#ifndef FA_TYPES_H
#define FA_TYPES_H

#include "base/map.h"

struct fa_lane;

/* A namespace. */
struct fa_space {
    char *name;
    size_t lane_count;
    size_t entry_count; /* types that have lanes or are paused */
    int64_t room;       /* lanes that may be made before they are counted (lanes_room.c) */
};

/* A type of tasks in a namespace. */
struct fa_type {
    struct fa_space *space;
    char *name;
    bool is_paused;
    struct fa_lane *lanes, **last_lane; /* one for each set of resources, in the order they came */
    size_t lane_count;
    struct fa_type *next_paused, **paused_link;
    struct fa_type *next_named, *prev_named; /* of the same name, in other namespaces */
    size_t named_lane_count; /* of all types of this name; kept by the first of them */
};

struct fa_types {
    struct fa_map by_name, spaces;
    struct fa_map by_name_alone; /* the first type of each name */
    struct fa_type *paused;
};

void fa_types_init(struct fa_types *types);
/* The lanes, which it doesn't look at, have lost their names. */
void fa_types_finish(struct fa_types *types);

struct fa_type *fa_types_get(const struct fa_types *types, const char *ns, const char *name);
struct fa_space *fa_types_space(const struct fa_types *types, const char *ns);
/* The first type of a name in any namespace; the others follow by next_named. */
struct fa_type *fa_types_named(const struct fa_types *types, const char *name);

/* Gives the lane its type, and the names of it and of its namespace. */
void fa_types_join(struct fa_types *types, struct fa_lane *lane, const char *ns, const char *name);
/* The lane's type may be freed. */
void fa_types_leave(struct fa_types *types, struct fa_lane *lane);

/* Returns the type, or NULL when it has no lanes and isn't paused. */
struct fa_type *fa_types_pause(struct fa_types *types, const char *ns, const char *name,
                               bool is_paused);
void fa_types_resume_all(struct fa_types *types);

#endif
