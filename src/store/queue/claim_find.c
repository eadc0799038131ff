/*
 * claim_find.c - finds the lanes with the best tasks in a shared store where many lanes have ready
 * tasks.
 *
 *   Q1  All tasks up to the horizon that the claim may take are in the lanes that were found, by
 *       this or an earlier call with the same `found`.
 *   Q2  A claim reads a bounded number of positions, whatever lanes they are in. If it may take
 *       none of them, it takes from any lanes that it may take from: by priority and age among
 *       these.
 */
#include "store/queue/claim_inner.h"

#include "base/clock.h"

#define LANES_MAX 256 /* of named types: with more, the best are found by position */
#define PAGE_MIN 64
#define PAGE_MAX 4096
#define PAGES_MAX 6 /* of growing size: about 10,000 positions */
#define PROBE_COST_FACTOR 20

struct finding {
    struct fa_unit *unit;
    const struct faina_claim *claim;
    struct fa_claim_lanes *found;
    int64_t want;         /* tasks that the claim may take ... */
    int64_t usable;       /* ... and how many of them were found */
    int64_t row_count;    /* of the page */
    bool has_ignored_any; /* rows of the page, because there were enough before */
};

static void add_lane(struct finding *finding, struct fa_lane *lane)
{
    struct fa_claim_lanes *found = finding->found;

    if (lane->find_mark == finding->unit->find_mark)
        return;
    lane->find_mark = finding->unit->find_mark;
    found->lanes = fa_arena_grow(&finding->unit->arena, found->lanes, found->count, &found->size,
                                 sizeof(struct fa_lane *));
    found->lanes[found->count++] = lane;
}

static void add_position(void *ctx, struct fa_lane *lane, struct fa_position position)
{
    struct finding *finding = ctx;

    finding->row_count++;
    if (finding->usable >= finding->want) {
        finding->has_ignored_any = true;
        return;
    }
    finding->found->horizon = position;
    if (!fa_claim_is_open(finding->claim, lane))
        return;
    finding->usable++;
    add_lane(finding, lane);
}

static void add_named(void *ctx, struct fa_lane *lane, struct fa_position position)
{
    struct finding *finding = ctx;

    (void)position;
    finding->row_count++;
    if (fa_claim_is_open(finding->claim, lane))
        add_lane(finding, lane);
}

/* Reads pages of positions until the claim may take enough of them. */
static enum faina_code read_positions(struct finding *finding, struct faina_error *err)
{
    struct fa_claim_lanes *found = finding->found;
    int64_t size = finding->want + PAGE_MIN;
    enum faina_code code = FAINA_OK;

    for (int page = 0; code == FAINA_OK && !found->is_all && page < PAGES_MAX; page++) {
        struct fa_value params[3] = {fa_value_int(found->horizon.rank),
                                     fa_value_int(found->horizon.key), fa_value_int(size)};

        finding->row_count = 0;
        code = fa_lanes_query_ready(finding->unit->source.lanes, finding->unit->source.db,
                                    FA_SQL_READY_BEST, params, 3, add_position, finding, err);
        found->is_all = finding->row_count < size && !finding->has_ignored_any;
        if (finding->usable >= finding->want)
            break;
        size = 4 * size < PAGE_MAX ? 4 * size : PAGE_MAX;
    }
    return code;
}

/* Reads the lanes of the claim's types and namespaces. *is_all: there were at most LANES_MAX. */
static enum faina_code read_named(struct finding *finding, bool *is_all, struct faina_error *err)
{
    const struct faina_claim *claim = finding->claim;
    struct fa_arena *arena = &finding->unit->arena;
    struct fa_value params[3] = {
        fa_value_text(fa_names_json(arena, claim->types, claim->type_count)),
        fa_value_text(fa_names_json(arena, claim->namespaces, claim->namespace_count)),
        fa_value_int(LANES_MAX + 1)};
    enum faina_code code;

    finding->row_count = 0;
    code = fa_lanes_query_ready(finding->unit->source.lanes, finding->unit->source.db,
                                FA_SQL_LANE_OPEN, params, 3, add_named, finding, err);
    *is_all = finding->row_count <= LANES_MAX;
    return code;
}

/* Q2. Reading all lanes may take long: if none is found, the next try waits. */
static enum faina_code read_any(struct finding *finding, struct faina_error *err)
{
    int64_t begin = fa_clock_mono_us(), *after = &finding->unit->probe_after_us;
    enum faina_code code = FAINA_OK;
    bool is_all;

    finding->found->is_all = true;
    if (begin < *after)
        return FAINA_OK;
    code = read_named(finding, &is_all, err);
    if (finding->found->count == 0)
        *after = begin + PROBE_COST_FACTOR * (fa_clock_mono_us() - begin);
    return code;
}

enum faina_code fa_claim_find(struct fa_unit *unit, const struct faina_claim *claim, int64_t want,
                              struct fa_claim_lanes *found, struct faina_error *err)
{
    struct finding finding = {.unit = unit, .claim = claim, .found = found, .want = want};
    enum faina_code code = FAINA_OK;

    unit->find_mark++;
    found->count = 0;
    if (claim->types != NULL && found->horizon.rank == INT64_MIN)
        code = read_named(&finding, &found->is_all, err);
    if (code != FAINA_OK || found->is_all)
        return code;
    unit->find_mark++;
    found->count = 0;
    code = read_positions(&finding, err);
    if (code == FAINA_OK && found->count == 0 && !found->is_all)
        code = read_any(&finding, err);
    return code;
}
