/* claim_heads.c - takes the best tasks of all lanes, for stores with one writer (heads.h). */
#include "sql/claim_inner.h"

#include "model/limits.h"

/* Where a claim takes tasks from: a group of lanes, or a single one. */
struct from {
    struct fa_group *group; /* NULL: the lane */
    struct fa_lane *lane;
};

struct taking {
    struct fa_unit *unit;
    const struct faina_claim *claim;
    struct from *froms;
    size_t count, size;
    size_t lane_count;     /* of all that it takes from */
    struct fa_gate *aside; /* gates that need what the worker can't reach */
};

static void add_from(struct taking *taking, struct fa_group *group, struct fa_lane *lane)
{
    if (group == NULL && lane == NULL)
        return;
    taking->froms = fa_arena_grow(&taking->unit->arena, taking->froms, taking->count, &taking->size,
                                  sizeof(*taking->froms));
    taking->froms[taking->count++] = (struct from){group, lane};
    taking->lane_count += group ? group->lane_count : 1;
}

static void add_lanes_of(struct taking *taking, const struct fa_type *type)
{
    struct fa_lane *lane = type ? type->lanes : NULL;

    for (; lane != NULL; lane = lane->next_of_type) {
        if (fa_claim_is_open(taking->claim, lane))
            add_from(taking, NULL, lane);
    }
}

static void add_type(struct taking *taking, const char *type)
{
    const struct fa_lanes *lanes = taking->unit->source.lanes;
    const struct fa_type *known = fa_types_named(fa_lanes_types(lanes), type);

    if (known != NULL && known->named_lane_count > FA_TYPE_LANES_FEW) {
        add_from(taking, fa_heads_group(fa_lanes_heads(lanes), FA_AXIS_TYPE, type), NULL);
        return;
    }
    for (; known != NULL; known = known->next_named)
        add_lanes_of(taking, known);
}

/* The cost depends on what the claim names, not on how many lanes there are. */
static void find_froms(struct taking *taking)
{
    const struct faina_claim *claim = taking->claim;
    const struct fa_heads *heads = fa_lanes_heads(taking->unit->source.lanes);
    const struct fa_types *types = fa_lanes_types(taking->unit->source.lanes);
    size_t type_count = claim->types ? claim->type_count : 0;

    if (claim->namespaces == NULL && claim->types == NULL)
        add_from(taking, fa_heads_group(heads, FA_AXIS_ALL, NULL), NULL);
    for (size_t i = 0; claim->namespaces == NULL && i < type_count; i++)
        add_type(taking, claim->types[i]);
    for (size_t i = 0; claim->namespaces != NULL && i < claim->namespace_count; i++) {
        if (claim->types == NULL)
            add_from(taking, fa_heads_group(heads, FA_AXIS_NAMESPACE, claim->namespaces[i]), NULL);
        for (size_t k = 0; k < type_count; k++)
            add_lanes_of(taking, fa_types_get(types, claim->namespaces[i], claim->types[k]));
    }
}

/* The lane whose first task may be the best of a group's. */
static struct fa_lane *top_of(struct taking *taking, struct fa_group *group)
{
    for (struct fa_gate *gate; (gate = fa_group_top(group)) != NULL;) {
        struct fa_lane *lane = fa_gate_top(gate);

        if (fa_claim_can_reach(taking->claim, lane))
            return lane;
        fa_gate_set_aside(gate, &taking->aside);
    }
    return NULL;
}

static struct fa_lane *best_lane(struct taking *taking)
{
    struct fa_lane *best = NULL;

    for (size_t i = 0; i < taking->count; i++) {
        struct from *from = &taking->froms[i];
        struct fa_lane *lane = from->group ? top_of(taking, from->group) : from->lane;

        if (lane == NULL || (from->group == NULL && !fa_claim_is_open(taking->claim, lane)))
            *from = taking->froms[--taking->count], i--;
        else if (best == NULL || fa_place_is_before(lane->best, best->best))
            best = lane;
    }
    return best;
}

/* The lane's line has nothing before the task that follows the one that was just taken. */
static void move_on(struct fa_lane *lane)
{
    if (lane->peek_next + 1 < lane->peek_count) {
        const struct fa_row *next = lane->peek[lane->peek_next + 1];

        fa_heads_raise(lane, (struct fa_place){next->rank, next->id.key});
    } else if (lane->peek_is_last) {
        fa_lane_run_dry(lane);
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
        int64_t want = n > 0 && lane->peek_epoch == unit->epoch ? limit - (int64_t)n : share;

        want += want == 1; /* so that the end of a line with one task is seen at once */
        code = fa_claim_best_of(unit, lane, fa_claim_wanted_of(lane, want), &row, &op->error);
        if (row == NULL)
            continue; /* the line is empty, and the lane has left its groups */
        if (fa_place_is_before(lane->best, (struct fa_place){row->rank, row->id.key})) {
            fa_heads_raise(lane, (struct fa_place){row->rank, row->id.key});
            continue; /* another lane may be better now */
        }
        taken[n++] = row;
        unit->claimed_key = row->id.key;
        size += fa_claim_size_of(row);
        fa_take(unit, row, op->claim->worker_id, lease);
        move_on(lane);
    }
    *taken_count = n;
    return code;
}

/* For stores with one writer. */
enum faina_code fa_claim_from_heads(struct fa_unit *unit, struct fa_op *op, int64_t limit,
                                    struct fa_row **taken, size_t *taken_count)
{
    struct taking taking = {.unit = unit, .claim = op->claim};
    enum faina_code code;

    find_froms(&taking);
    code = take_all(&taking, op, limit, taken, taken_count);
    fa_gates_restore(&taking.aside);
    return code;
}
