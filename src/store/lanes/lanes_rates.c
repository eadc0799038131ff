/*
 * lanes_rates.c - rates of resources, and limits by the beginning of a name.
 *
 * Each resource has a token bucket (model/rate.h), which is written in the transaction that takes a
 * token. In a store with one writer the bucket in memory is exact. In a shared store it is exact
 * after fa_lanes_lock, which also reads the database's clock.
 *
 * Lanes without a token cost nothing: in the lane index their buckets are parked, and `due` has the
 * time of the next token of each resource at which buckets wait. Elsewhere a claim passes over the
 * lane and notes the time (`awaited`). The engine's timer wakes the waiting claims at these times.
 *
 * A name that ends in "*" sets the limits of the resources that begin with the rest of it and have
 * no limits of their own. `prefix_count` has the lengths of such names, so that the longest one for
 * a name is found with one lookup for each length in use.
 */
#include "store/lanes/lanes_inner.h"

#include "base/hash.h"

/* Columns ------------------------------------------------------------------------------------ */

static bool is_within(const struct fa_value *value, int64_t least, int64_t most)
{
    return value->kind == FA_INT && value->i >= least && value->i <= most;
}

struct fa_own_limits fa_limits_of(const struct fa_value *max, const struct fa_value *rate)
{
    struct fa_own_limits limits = {.max = max->kind == FA_INT && max->i >= 0 ? max->i : -1};

    /* A damaged rate counts as no rate, and a damaged limit as no limit. */
    if (is_within(&rate[0], 1, FA_RATE_COUNT_MAX) && is_within(&rate[1], 1, FA_RATE_PER_MS_MAX) &&
        is_within(&rate[2], 1, FA_RATE_BURST_MAX))
        limits.rate = (struct faina_rate){rate[0].i, rate[1].i, rate[2].i};
    return limits;
}

struct fa_bucket fa_bucket_of(const struct fa_value *rate)
{
    return (struct fa_bucket){fa_value_as_int(&rate[3]), fa_value_as_int(&rate[4])};
}

/* Limits ------------------------------------------------------------------------------------- */

bool fa_resource_is_limited(const struct fa_resource *resource)
{
    return resource->max >= 0 || resource->rate.count > 0;
}

static const struct fa_resource *longest_prefix(struct fa_lanes *lanes, const char *name)
{
    char prefix[FA_RESOURCE_NAME_SIZE_MAX + 2];
    size_t len = strlen(name);

    if (len >= FA_RESOURCE_NAME_SIZE_MAX)
        len = FA_RESOURCE_NAME_SIZE_MAX - 1;
    for (size_t n = len + 1; n > 0; n--) { /* of the name with "*" */
        const struct fa_resource *found;

        if (lanes->prefix_count[n] == 0)
            continue;
        memcpy(prefix, name, n - 1);
        memcpy(prefix + n - 1, "*", 2);
        found = fa_lanes_find_resource(lanes, prefix);
        if (found != NULL && found->is_set)
            return found;
    }
    return NULL;
}

void fa_lanes_resolve(struct fa_lanes *lanes, struct fa_resource *resource)
{
    const struct fa_resource *from =
        resource->is_set ? resource : longest_prefix(lanes, resource->name);
    struct fa_own_limits limits = from != NULL ? from->own : (struct fa_own_limits){.max = -1};

    resource->max = limits.max;
    resource->rate = limits.rate;
}

static bool is_same(const struct fa_own_limits *a, const struct fa_own_limits *b)
{
    return a->max == b->max && fa_rate_is_same(&a->rate, &b->rate);
}

static size_t prefix_length(const char *name)
{
    size_t len = strlen(name);

    return len <= FA_RESOURCE_NAME_SIZE_MAX ? len : FA_RESOURCE_NAME_SIZE_MAX;
}

void fa_lanes_set_own(struct fa_lanes *lanes, struct fa_resource *resource,
                      const struct fa_own_limits *limits, bool is_set)
{
    bool is_changed = resource->is_set != is_set || !is_same(&resource->own, limits);

    if (fa_resource_is_prefix(resource->name) && resource->is_set != is_set)
        lanes->prefix_count[prefix_length(resource->name)] += is_set ? 1 : -(size_t)1;
    resource->own = *limits;
    resource->is_set = is_set;
    fa_lanes_resolve(lanes, resource);
    if (!is_changed || !fa_resource_is_prefix(resource->name))
        return;
    for (size_t i = 0; i < lanes->resource_count; i++) {
        struct fa_resource *other = lanes->resources[i];

        if (other->is_set || !fa_resource_prefix_applies(resource->name, other->name))
            continue;
        fa_lanes_resolve(lanes, other);
        fa_lane_index_unpark(other);
    }
}

void fa_lanes_set_limit(struct fa_lanes *lanes, struct fa_resource *resource,
                        const struct fa_own_limits *limits, bool is_set)
{
    fa_lanes_set_own(lanes, resource, limits, is_set);
    resource->is_changed = true;
    lanes->has_changed_resources = true;
    fa_lanes_touch_resource(lanes, resource);
    fa_lane_index_unpark(resource);
}

/* Tokens ------------------------------------------------------------------------------------- */

int64_t fa_lanes_set_now(struct fa_lanes *lanes, int64_t now_us)
{
    /* A node's estimate of the database's clock may be ahead of another node's. */
    lanes->now_us = lanes->locked_us > 0 ? lanes->locked_us : now_us;
    return lanes->now_us;
}

static int64_t room_of(const struct fa_resource *resource, int64_t now_us)
{
    int64_t room = INT64_MAX, tokens;

    if (resource->max >= 0)
        room = resource->max > resource->in_use ? resource->max - resource->in_use : 0;
    if (resource->rate.count == 0)
        return room;
    tokens = fa_bucket_tokens(&resource->bucket, &resource->rate, now_us);
    return tokens < room ? tokens : room;
}

int64_t fa_lane_room(const struct fa_lane *lane)
{
    int64_t least = INT64_MAX;

    for (size_t i = 0; i < lane->resource_count; i++) {
        int64_t room = room_of(lane->resources[i], lane->lanes->now_us);

        least = room < least ? room : least;
    }
    return least;
}

struct fa_resource *fa_lane_full_resource(const struct fa_lane *lane)
{
    for (size_t i = 0; i < lane->resource_count; i++) {
        if (room_of(lane->resources[i], lane->lanes->now_us) == 0)
            return lane->resources[i];
    }
    return NULL;
}

bool fa_lane_has_permits(const struct fa_lane *lane)
{
    return fa_lane_full_resource(lane) == NULL;
}

bool fa_lane_is_limited(const struct fa_lane *lane)
{
    for (size_t i = 0; i < lane->resource_count; i++) {
        if (fa_resource_is_limited(lane->resources[i]))
            return true;
    }
    return false;
}

void fa_lanes_take_token(struct fa_lanes *lanes, struct fa_resource *resource)
{
    if (resource->rate.count == 0)
        return;
    fa_bucket_take(&resource->bucket, &resource->rate, lanes->now_us);
    if (resource->has_spent)
        return;
    resource->has_spent = true;
    resource->next_spent = lanes->spent;
    lanes->spent = resource;
}

/* Waiting for tokens ------------------------------------------------------------------------- */

/* Whether the resource is closed for lack of a token only; when it has one. */
static bool needs_token(const struct fa_resource *resource, int64_t now_us, int64_t *next_us)
{
    if (resource->rate.count == 0 || (resource->max >= 0 && resource->in_use >= resource->max))
        return false;
    *next_us = fa_bucket_next_us(&resource->bucket, &resource->rate, now_us);
    return *next_us > now_us;
}

void fa_lanes_park_until_token(struct fa_lanes *lanes, struct fa_resource *resource)
{
    int64_t next_us;

    if (needs_token(resource, lanes->now_us, &next_us))
        fa_heap_put(&lanes->due, &resource->due_at, (struct fa_position){next_us, resource->id});
}

void fa_lane_await_token(const struct fa_lane *lane)
{
    struct fa_lanes *lanes = lane->lanes;
    int64_t latest_us = 0, next_us;

    for (size_t i = 0; i < lane->resource_count; i++) {
        const struct fa_resource *resource = lane->resources[i];

        if (resource->max >= 0 && resource->in_use >= resource->max)
            return; /* the end of a holder wakes the claims */
        if (needs_token(resource, lanes->now_us, &next_us) && next_us > latest_us)
            latest_us = next_us;
    }
    if (latest_us == 0)
        return;
    if (latest_us < lanes->awaited.us)
        lanes->awaited.us = latest_us;
    lanes->awaited.types |= fa_hash_bit(lane->type);
}

static void forget_awaited(struct fa_lanes *lanes)
{
    lanes->awaited.us = INT64_MAX;
    lanes->awaited.types = 0;
}

uint64_t fa_lanes_take_due(struct fa_lanes *lanes, int64_t now_us)
{
    uint64_t types = 0;
    uint32_t *at;

    while ((at = fa_heap_top(&lanes->due)) != NULL &&
           lanes->due.entries[0].position.rank <= now_us) {
        struct fa_resource *resource = FA_CONTAINER_OF(at, struct fa_resource, due_at);

        fa_heap_remove(&lanes->due, at);
        types |= fa_lane_index_unpark(resource);
    }
    if (lanes->awaited.us <= now_us) {
        types |= lanes->awaited.types;
        forget_awaited(lanes);
    }
    return types;
}

int64_t fa_lanes_next_due_us(const struct fa_lanes *lanes, uint64_t *types)
{
    int64_t next_us = lanes->awaited.us;

    *types = lanes->awaited.types;
    if (fa_heap_top(&lanes->due) != NULL && lanes->due.entries[0].position.rank < next_us)
        next_us = lanes->due.entries[0].position.rank;
    return next_us;
}

void fa_lanes_begin(struct fa_lanes *lanes)
{
    lanes->locked_us = 0;
    forget_awaited(lanes);
}
