/* lanes_ready.c - which lanes may have ready tasks. */
#include "store/lanes/lanes_inner.h"

const struct fa_lane_index *fa_lanes_index(const struct fa_lanes *lanes)
{
    return &lanes->index;
}

const struct fa_types *fa_lanes_types(const struct fa_lanes *lanes)
{
    return &lanes->types;
}

void fa_lane_mark_ready(struct fa_lane *lane)
{
    struct fa_lanes *lanes = lane->lanes;

    lane->may_have_ready = true;
    if (lane->is_listed)
        return;
    lane->is_listed = true;
    lanes->ready =
        fa_grow(lanes->ready, lanes->ready_count, &lanes->ready_size, sizeof(*lanes->ready));
    lanes->ready[lanes->ready_count++] = lane;
}

void fa_lanes_unmark_ready(struct fa_lanes *lanes)
{
    for (size_t i = 0; i < lanes->ready_count; i++)
        lanes->ready[i]->may_have_ready = lanes->ready[i]->is_listed = false;
    lanes->ready_count = 0;
}

void fa_lane_note_arrival(struct fa_lane *lane, int64_t rank, int64_t key)
{
    if (lane->lanes->index.is_used)
        fa_lane_index_lower(lane, (struct fa_position){rank, key});
    else
        fa_lane_mark_ready(lane);
}

void fa_lane_mark_empty(struct fa_lane *lane)
{
    lane->may_have_ready = lane->has_nonplain = lane->has_past_days = false;
    fa_lane_index_update(lane);
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
