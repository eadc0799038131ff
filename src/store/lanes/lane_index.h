/*
 * lane_index.h - the lane index: which lane has the best task, for stores with one writer.
 *
 * A claim takes the best task of all lanes, of those of a namespace, or of those of a type. Each of
 * these is a group of lanes. The lanes of a group that need the same resources form a bucket: a
 * heap of lanes by their best position. The buckets of a group form a heap, too. A bucket whose
 * resources have no permit or no token left is parked: it leaves the heap and waits at that
 * resource. So claims don't visit lanes at their limit, however many they are.
 *
 *   G1  A lane's best position is never behind its first ready task. It may be before it: then the
 *       queue is read when the lane becomes the best, and the position is corrected.
 *   G2  A lane is in its buckets' heaps exactly when it may have ready tasks and its type is not
 *       paused.
 *   G3  A bucket is in its group's heap when its own heap isn't empty, unless it is parked. It is
 *       parked only while it waits at a resource, or while a claim runs that can't use it.
 *   G4  A resource that gets a permit, a token, or another limit, unparks the buckets that wait at
 *       it.
 *
 * The cost of finding and moving the best lane grows with the logarithm of the number of lanes.
 *
 * Threads: the batch leader.
 */
#ifndef FA_STORE_LANES_LANE_INDEX_H
#define FA_STORE_LANES_LANE_INDEX_H

#include "base/map.h"
#include "base/heap.h"

struct fa_lane;
struct fa_resource;

enum fa_axis { FA_AXIS_ALL, FA_AXIS_NAMESPACE, FA_AXIS_TYPE, FA_AXIS_COUNT };

/* All lanes, or those of one namespace, or of one type. */
struct fa_lane_group {
    enum fa_axis axis;
    char *key; /* a letter for the axis, and the name */
    struct fa_heap buckets;
    size_t bucket_count; /* parked ones too */
    size_t lane_count;   /* in the heaps of its buckets */
};

/* The lanes of a group that need the same resources. */
struct fa_lane_bucket {
    struct fa_lane_group *group;
    char *resources_json;
    struct fa_heap lanes;
    size_t lane_count; /* also those that are not in the heap (G2) */
    uint64_t types;    /* of its lanes, and of former ones (fa_hash_bit) */
    uint32_t at;       /* its slot in the group's heap (heap.h, P1) */
    bool is_parked;
    struct fa_lane_bucket *next_parked, **parked_link; /* in the list it is parked in */
};

struct fa_lane_index {
    bool is_used;
    struct fa_map groups, buckets;
};

void fa_lane_index_init(struct fa_lane_index *index, bool is_used);
/* Doesn't access the lanes, which may be freed already. */
void fa_lane_index_finish(struct fa_lane_index *index);

/* Adds a lane to its group of an axis; removes it from all of its groups. */
void fa_lane_index_add(struct fa_lane_index *index, struct fa_lane *lane, enum fa_axis axis);
void fa_lane_index_remove(struct fa_lane_index *index, struct fa_lane *lane);

/* A task has become ready at this position. */
void fa_lane_index_lower(struct fa_lane *lane, struct fa_position position);
/* The lane has no ready task before this position. */
void fa_lane_index_raise(struct fa_lane *lane, struct fa_position position);
/* Restores G2 after may_have_ready or the pause of the lane's type has changed. */
void fa_lane_index_update(struct fa_lane *lane);
/* G4. Returns the types of the lanes in the buckets (fa_hash_bit). */
uint64_t fa_lane_index_unpark(struct fa_resource *resource);

/* The group of this namespace or type (`name` is NULL for all lanes), or NULL. */
struct fa_lane_group *fa_lane_index_group(const struct fa_lane_index *index, enum fa_axis axis,
                                          const char *name);
/* The best bucket of a group whose resources have permits, or NULL. */
struct fa_lane_bucket *fa_lane_group_top(struct fa_lane_group *group);
struct fa_lane *fa_lane_bucket_top(const struct fa_lane_bucket *bucket);
/* Parks a bucket in a list until fa_lane_buckets_unpark. */
void fa_lane_bucket_park(struct fa_lane_bucket *bucket, struct fa_lane_bucket **list);
uint64_t fa_lane_buckets_unpark(struct fa_lane_bucket **list);

#endif
