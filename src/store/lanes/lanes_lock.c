/* lanes_lock.c - locks limited resources in a shared store (lanes.h, L4). */
#include "store/lanes/lanes_inner.h"

struct lock {
    struct fa_lanes *lanes;
    struct fa_resource **resources;
    size_t count;
};

static void bind_resource(void *ctx, size_t row, struct fa_value *params)
{
    params[0] = fa_value_int(((struct lock *)ctx)->resources[row]->id);
}

static void sink_limit(void *ctx, size_t row, const struct fa_value *columns)
{
    struct lock *lock = ctx;
    struct fa_resource *resource = lock->resources[row];
    struct fa_own_limits limits = fa_limits_of(&columns[1], &columns[3]);

    if (!resource->is_changed)
        fa_lanes_set_own(lock->lanes, resource, &limits, fa_value_as_int(&columns[2]) != 0);
    if (!resource->has_spent)
        resource->bucket = fa_bucket_of(&columns[3]);
    if (resource->rate.count > 0 && fa_value_as_int(&columns[8]) > lock->lanes->locked_us)
        lock->lanes->locked_us = fa_value_as_int(&columns[8]);
}

static void sink_use(void *ctx, size_t row, const struct fa_value *columns)
{
    ((struct lock *)ctx)->resources[row]->in_use = fa_value_as_int(&columns[0]);
}

bool fa_lane_is_limitable(const struct fa_lane *lane)
{
    for (size_t i = 0; i < lane->resource_count; i++) {
        if (!fa_resource_is_limited(lane->resources[i]))
            return true;
    }
    return false;
}

bool fa_lane_needs_lock(const struct fa_lane *lane, uint64_t epoch)
{
    for (size_t i = 0; i < lane->resource_count; i++) {
        if (fa_resource_is_limited(lane->resources[i]) && lane->resources[i]->lock_epoch != epoch)
            return true;
    }
    return false;
}

enum faina_code fa_lanes_lock(struct fa_lane *const *lanes, size_t count, uint64_t epoch,
                              struct fa_db *db, struct faina_error *err)
{
    struct fa_arena scratch = {0};
    struct lock lock = {0};
    struct fa_db_call calls[2] = {{.sql = FA_SQL_RESOURCE_LOCK, .sink = sink_limit},
                                  {.sql = FA_SQL_RESOURCE_USE, .sink = sink_use}};
    size_t size = 0;
    enum faina_code code;

    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < lanes[i]->resource_count; k++) {
            struct fa_resource *resource = lanes[i]->resources[k];

            if (!fa_resource_is_limited(resource) || resource->lock_epoch == epoch)
                continue;
            lock.resources = fa_arena_grow(&scratch, lock.resources, lock.count, &size,
                                           sizeof(struct fa_resource *));
            lock.resources[lock.count++] = resource;
            resource->lock_epoch = epoch;
            lock.lanes = lanes[i]->lanes;
        }
    }
    for (size_t i = 0; i < FA_COUNT(calls); i++) {
        calls[i].rows = lock.count;
        calls[i].param_count = 1;
        calls[i].bind = bind_resource;
        calls[i].bind_ctx = calls[i].sink_ctx = &lock;
    }
    code = fa_db_run_all(db, calls, FA_COUNT(calls), err);
    if (code == FAINA_OK && lock.lanes != NULL)
        fa_lanes_set_now(lock.lanes, lock.lanes->now_us);
    fa_arena_finish(&scratch);
    return code;
}
