/* lane_index.c - see lane_index.h. */
#include "store/lanes/lane_index.h"

#include "store/lanes/lanes_inner.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* "a", "nNAMESPACE" or "tTYPE" in lower case; the caller frees it. */
static char *make_key(enum fa_axis axis, const char *name)
{
    static const char letters[] = {'a', 'n', 't'};
    size_t len = name ? strlen(name) : 0;
    char *key = fa_alloc(len + 2);

    key[0] = letters[axis];
    if (name != NULL)
        memcpy(key + 1, name, len);
    key[len + 1] = '\0';
    return axis == FA_AXIS_TYPE ? fa_name_fold(key) : key;
}

static bool is_group(const void *item, const char *a, const char *b)
{
    (void)b;
    return strcmp(((const struct fa_lane_group *)item)->key, a) == 0;
}

static bool is_bucket(const void *item, const char *a, const char *b)
{
    const struct fa_lane_bucket *bucket = item;

    return strcmp(bucket->group->key, a) == 0 && strcmp(bucket->resources_json, b) == 0;
}

void fa_lane_index_init(struct fa_lane_index *index, bool is_used)
{
    *index = (struct fa_lane_index){.is_used = is_used};
    index->groups.is = is_group;
    index->buckets.is = is_bucket;
}

static void free_bucket(struct fa_lane_bucket *bucket)
{
    fa_heap_finish(&bucket->lanes);
    free(bucket->resources_json);
    free(bucket);
}

static void free_group(struct fa_lane_group *group)
{
    fa_heap_finish(&group->buckets);
    free(group->key);
    free(group);
}

void fa_lane_index_finish(struct fa_lane_index *index)
{
    for (size_t i = 0; i < index->buckets.size; i++) {
        if (index->buckets.slots[i].item != NULL)
            free_bucket(index->buckets.slots[i].item);
    }
    for (size_t i = 0; i < index->groups.size; i++) {
        if (index->groups.slots[i].item != NULL)
            free_group(index->groups.slots[i].item);
    }
    fa_map_finish(&index->groups);
    fa_map_finish(&index->buckets);
}

/* Groups and buckets --------------------------------------------------------------------------- */

struct fa_lane_group *fa_lane_index_group(const struct fa_lane_index *index, enum fa_axis axis,
                                          const char *name)
{
    char *key = make_key(axis, name);
    struct fa_lane_group *group = fa_map_get(&index->groups, key, NULL);

    free(key);
    return group;
}

static struct fa_lane_group *get_group(struct fa_lane_index *index, enum fa_axis axis,
                                       const char *name)
{
    struct fa_lane_group *group = fa_lane_index_group(index, axis, name);

    if (group != NULL)
        return group;
    group = fa_alloc_zero(1, sizeof(*group));
    group->axis = axis;
    group->key = make_key(axis, name);
    fa_map_put(&index->groups, group->key, NULL, group);
    return group;
}

static struct fa_lane_bucket *get_bucket(struct fa_lane_index *index, struct fa_lane_group *group,
                                         const struct fa_lane *lane)
{
    struct fa_lane_bucket *bucket = fa_map_get(&index->buckets, group->key, lane->resources_json);

    if (bucket != NULL)
        return bucket;
    bucket = fa_alloc_zero(1, sizeof(*bucket));
    bucket->group = group;
    bucket->resources_json = fa_name_copy(lane->resources_json);
    group->bucket_count++;
    fa_map_put(&index->buckets, group->key, bucket->resources_json, bucket);
    return bucket;
}

static void unpark(struct fa_lane_bucket *bucket)
{
    if (!bucket->is_parked)
        return;
    *bucket->parked_link = bucket->next_parked;
    if (bucket->next_parked != NULL)
        bucket->next_parked->parked_link = bucket->parked_link;
    bucket->is_parked = false;
}

void fa_lane_bucket_park(struct fa_lane_bucket *bucket, struct fa_lane_bucket **list)
{
    fa_heap_remove(&bucket->group->buckets, &bucket->at);
    bucket->is_parked = true;
    bucket->next_parked = *list;
    bucket->parked_link = list;
    if (bucket->next_parked != NULL)
        bucket->next_parked->parked_link = &bucket->next_parked;
    *list = bucket;
}

static void drop_bucket(struct fa_lane_index *index, struct fa_lane_bucket *bucket)
{
    struct fa_lane_group *group = bucket->group;

    unpark(bucket);
    fa_heap_remove(&group->buckets, &bucket->at);
    fa_map_remove(&index->buckets, group->key, bucket->resources_json, bucket);
    free_bucket(bucket);
    if (--group->bucket_count > 0)
        return;
    fa_map_remove(&index->groups, group->key, NULL, group);
    free_group(group);
}

/* G3: moves the bucket to the position of its best lane. */
static void settle_bucket(struct fa_lane_bucket *bucket)
{
    if (bucket->is_parked)
        return;
    if (bucket->lanes.count > 0)
        fa_heap_put(&bucket->group->buckets, &bucket->at, bucket->lanes.entries[0].position);
    else
        fa_heap_remove(&bucket->group->buckets, &bucket->at);
}

/* Lanes ---------------------------------------------------------------------------------------- */

static bool is_eligible(const struct fa_lane *lane)
{
    return lane->may_have_ready && !lane->type_info->is_paused;
}

static void put_in_heap(struct fa_lane *lane, enum fa_axis axis)
{
    struct fa_lane_bucket *bucket = lane->buckets[axis];

    bucket->group->lane_count += lane->bucket_at[axis] == 0;
    fa_heap_put(&bucket->lanes, &lane->bucket_at[axis], lane->best);
    settle_bucket(bucket);
}

static void take_from_heap(struct fa_lane *lane, enum fa_axis axis)
{
    struct fa_lane_bucket *bucket = lane->buckets[axis];

    if (lane->bucket_at[axis] == 0)
        return;
    bucket->group->lane_count--;
    fa_heap_remove(&bucket->lanes, &lane->bucket_at[axis]);
    settle_bucket(bucket);
}

void fa_lane_index_update(struct fa_lane *lane)
{
    for (int axis = 0; axis < FA_AXIS_COUNT; axis++) {
        if (lane->buckets[axis] == NULL)
            continue;
        if (is_eligible(lane))
            put_in_heap(lane, (enum fa_axis)axis);
        else
            take_from_heap(lane, (enum fa_axis)axis);
    }
}

void fa_lane_index_add(struct fa_lane_index *index, struct fa_lane *lane, enum fa_axis axis)
{
    const char *const names[] = {NULL, lane->ns, lane->type};

    if (!index->is_used || lane->buckets[axis] != NULL)
        return;
    lane->buckets[axis] = get_bucket(index, get_group(index, axis, names[axis]), lane);
    lane->buckets[axis]->lane_count++;
    lane->buckets[axis]->types |= fa_hash_bit(lane->type);
    if (is_eligible(lane))
        put_in_heap(lane, axis);
}

void fa_lane_index_remove(struct fa_lane_index *index, struct fa_lane *lane)
{
    for (int axis = 0; axis < FA_AXIS_COUNT; axis++) {
        struct fa_lane_bucket *bucket = lane->buckets[axis];

        if (bucket == NULL)
            continue;
        take_from_heap(lane, (enum fa_axis)axis);
        lane->buckets[axis] = NULL;
        if (--bucket->lane_count == 0)
            drop_bucket(index, bucket);
    }
}

void fa_lane_index_lower(struct fa_lane *lane, struct fa_position position)
{
    bool is_first = !lane->may_have_ready;

    lane->may_have_ready = true;
    if (!is_first && !fa_position_is_before(position, lane->best))
        return;
    lane->best = position;
    fa_lane_index_update(lane);
}

void fa_lane_index_raise(struct fa_lane *lane, struct fa_position position)
{
    lane->best = position;
    fa_lane_index_update(lane);
}

/* Claims ------------------------------------------------------------------------------------- */

struct fa_lane_bucket *fa_lane_group_top(struct fa_lane_group *group)
{
    for (uint32_t *at; (at = fa_heap_top(&group->buckets)) != NULL;) {
        struct fa_lane_bucket *bucket = FA_CONTAINER_OF(at, struct fa_lane_bucket, at);
        struct fa_resource *full = fa_lane_full_resource(fa_lane_bucket_top(bucket));

        if (full == NULL)
            return bucket;
        fa_lane_bucket_park(bucket, &full->parked);
        fa_lanes_park_until_token(fa_lane_bucket_top(bucket)->lanes, full);
    }
    return NULL;
}

struct fa_lane *fa_lane_bucket_top(const struct fa_lane_bucket *bucket)
{
    enum fa_axis axis = bucket->group->axis;

    return FA_CONTAINER_OF(fa_heap_top(&bucket->lanes) - axis, struct fa_lane, bucket_at);
}

uint64_t fa_lane_buckets_unpark(struct fa_lane_bucket **list)
{
    uint64_t types = 0;

    while (*list != NULL) {
        struct fa_lane_bucket *bucket = *list;

        types |= bucket->types;
        unpark(bucket);
        settle_bucket(bucket);
    }
    return types;
}

uint64_t fa_lane_index_unpark(struct fa_resource *resource)
{
    return fa_lane_buckets_unpark(&resource->parked);
}
