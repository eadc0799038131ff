/* lanes_ready.c - which lanes may have tasks in line. */
#include "sql/lanes_inner.h"

const struct fa_heads *fa_lanes_heads(const struct fa_lanes *lanes)
{
    return &lanes->heads;
}

const struct fa_types *fa_lanes_types(const struct fa_lanes *lanes)
{
    return &lanes->types;
}

/* Where the store is shared; elsewhere heads.h has the ones that may have tasks in line. */
void fa_lane_mark_ready(struct fa_lane *lane)
{
    struct fa_lanes *lanes = lane->lanes;

    lane->may_have_ready = true;
    if (lane->is_listed)
        return;
    lane->is_listed = true;
    if (lanes->ready_count == lanes->ready_size) {
        lanes->ready_size = lanes->ready_size ? lanes->ready_size * 2 : 32;
        lanes->ready = fa_realloc(lanes->ready, lanes->ready_size * sizeof(struct fa_lane *));
    }
    lanes->ready[lanes->ready_count++] = lane;
}

void fa_lanes_unmark_ready(struct fa_lanes *lanes)
{
    for (size_t i = 0; i < lanes->ready_count; i++)
        lanes->ready[i]->may_have_ready = lanes->ready[i]->is_listed = false;
    lanes->ready_count = 0;
}

void fa_lane_arrive(struct fa_lane *lane, int64_t rank, int64_t key)
{
    if (lane->lanes->heads.is_used)
        fa_heads_lower(lane, (struct fa_place){rank, key});
    else
        fa_lane_mark_ready(lane);
}

void fa_lane_run_dry(struct fa_lane *lane)
{
    lane->may_have_ready = lane->has_rich = lane->has_old = false;
    fa_heads_update(lane);
}

void fa_lanes_unlist_ready(struct fa_lane *lane)
{
    struct fa_lanes *lanes = lane->lanes;

    for (size_t i = 0; lane->is_listed && i < lanes->ready_count; i++) {
        if (lanes->ready[i] != lane)
            continue;
        lanes->ready[i] = lanes->ready[--lanes->ready_count];
        lane->is_listed = false;
    }
}

bool fa_lanes_are_many(const struct fa_lanes *lanes)
{
    return lanes->is_many;
}

struct fa_lane **fa_lanes_ready(struct fa_lanes *lanes, size_t *count)
{
    *count = lanes->ready_count;
    return lanes->ready;
}
