/* claim_indexed.c - claims by the lane index, in stores with one writer (lane_index.h). */
#include "store/queue/claim_inner.h"

#include "model/limits.h"

/* Where a claim takes tasks from: a group of lanes, or a single one. */
struct source {
    struct fa_lane_group *group; /* NULL: the lane */
    struct fa_lane *lane;
};

struct taking {
    struct fa_unit *unit;
    const struct faina_claim *claim;
    struct source *sources;
    size_t count, size;
    size_t lane_count;             /* of all sources */
    struct fa_lane_bucket *parked; /* need resources that the worker can't reach */
};

static void add_source(struct taking *taking, struct fa_lane_group *group, struct fa_lane *lane)
{
    if (group == NULL && lane == NULL)
        return;
    taking->sources = fa_arena_grow(&taking->unit->arena, taking->sources, taking->count,
                                    &taking->size, sizeof(*taking->sources));
    taking->sources[taking->count++] = (struct source){group, lane};
    taking->lane_count += group ? group->lane_count : 1;
}

static void add_lanes_of(struct taking *taking, const struct fa_type *type)
{
    struct fa_lane *lane = type ? type->lanes : NULL;

    for (; lane != NULL; lane = lane->next_of_type) {
        if (fa_claim_is_open(taking->claim, lane))
            add_source(taking, NULL, lane);
    }
}

static void add_type(struct taking *taking, const char *type)
{
    const struct fa_lanes *lanes = taking->unit->source.lanes;
    const struct fa_type *known = fa_types_named(fa_lanes_types(lanes), type);

    if (known != NULL && known->named_lane_count > FA_TYPE_LANES_FEW) {
        add_source(taking, fa_lane_index_group(fa_lanes_index(lanes), FA_AXIS_TYPE, type), NULL);
        return;
    }
    for (; known != NULL; known = known->next_named)
        add_lanes_of(taking, known);
}

/* The cost depends on what the claim names, not on how many lanes there are. */
static void find_sources(struct taking *taking)
{
    const struct faina_claim *claim = taking->claim;
    const struct fa_lane_index *index = fa_lanes_index(taking->unit->source.lanes);
    const struct fa_types *types = fa_lanes_types(taking->unit->source.lanes);
    size_t type_count = claim->types ? claim->type_count : 0;

    if (claim->namespaces == NULL && claim->types == NULL)
        add_source(taking, fa_lane_index_group(index, FA_AXIS_ALL, NULL), NULL);
    for (size_t i = 0; claim->namespaces == NULL && i < type_count; i++)
        add_type(taking, claim->types[i]);
    for (size_t i = 0; claim->namespaces != NULL && i < claim->namespace_count; i++) {
        if (claim->types == NULL)
            add_source(taking, fa_lane_index_group(index, FA_AXIS_NAMESPACE, claim->namespaces[i]),
                       NULL);
        for (size_t k = 0; k < type_count; k++)
            add_lanes_of(taking, fa_types_get(types, claim->namespaces[i], claim->types[k]));
    }
}

/* The lane whose first task may be the best of a group's. */
static struct fa_lane *top_of(struct taking *taking, struct fa_lane_group *group)
{
    for (struct fa_lane_bucket *bucket; (bucket = fa_lane_group_top(group)) != NULL;) {
        struct fa_lane *lane = fa_lane_bucket_top(bucket);

        if (fa_claim_can_reach(taking->claim, lane))
            return lane;
        fa_lane_bucket_park(bucket, &taking->parked);
    }
    return NULL;
}

static struct fa_lane *best_lane(struct taking *taking)
{
    struct fa_lane *best = NULL;

    for (size_t i = 0; i < taking->count; i++) {
        struct source *source = &taking->sources[i];
        struct fa_lane *lane = source->group ? top_of(taking, source->group) : source->lane;

        if (lane == NULL || (source->group == NULL && !fa_claim_is_open(taking->claim, lane)))
            *source = taking->sources[--taking->count], i--;
        else if (best == NULL || fa_position_is_before(lane->best, best->best))
            best = lane;
    }
    return best;
}

/* After a task was taken: the lane's best position is that of the next one. */
static void advance(struct fa_lane *lane)
{
    if (lane->ahead_next + 1 < lane->ahead_count) {
        const struct fa_row *next = lane->ahead[lane->ahead_next + 1];

        fa_lane_index_raise(lane, fa_claim_position(next));
    } else if (lane->ahead_is_last) {
        fa_lane_mark_empty(lane);
    }
}

static enum faina_code take_all(struct taking *taking, struct fa_op *op, int64_t limit,
                                struct fa_row **taken, size_t *taken_count)
{
    struct fa_unit *unit = taking->unit;
    int64_t lease = fa_lease_us(op->claim->lease_ms), size = 0;
    int64_t share = fa_claim_share_of(unit, limit, taking->lane_count);
    enum faina_code code = FAINA_OK;
    struct fa_lane *lane;
    size_t n = 0;

    while (code == FAINA_OK && (int64_t)n < limit && size <= FA_PAGE_SIZE_MAX &&
           (lane = best_lane(taking)) != NULL) {
        struct fa_row *row;
        int64_t want = n > 0 && lane->ahead_epoch == unit->epoch ? limit - (int64_t)n : share;

        want += want == 1; /* so that one read finds the end of a queue with one task */
        code = fa_claim_best_of(unit, lane, fa_claim_wanted_of(lane, want), &row, &op->error);
        if (row == NULL)
            continue; /* the queue is empty, and the lane is out of the index */
        if (fa_position_is_before(lane->best, fa_claim_position(row))) {
            fa_lane_index_raise(lane, fa_claim_position(row));
            continue; /* another lane may be better now */
        }
        taken[n++] = row;
        unit->claimed_key = row->id.key;
        size += fa_claim_size_of(row);
        fa_claim_row(unit, row, op->claim->worker_id, lease);
        advance(lane);
    }
    *taken_count = n;
    return code;
}

enum faina_code fa_claim_from_index(struct fa_unit *unit, struct fa_op *op, int64_t limit,
                                    struct fa_row **taken, size_t *taken_count)
{
    struct taking taking = {.unit = unit, .claim = op->claim};
    enum faina_code code;

    unit->ready_types |= fa_lanes_take_due(unit->source.lanes, unit->now_us);
    find_sources(&taking);
    code = take_all(&taking, op, limit, taken, taken_count);
    fa_lane_buckets_unpark(&taking.parked);
    return code;
}
