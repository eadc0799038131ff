/*
 * claim_find.c - which lanes have the best tasks, where others write to the store as well and the
 * lanes with tasks in line are many.
 *
 *   Q1  All tasks up to the horizon that the claim may take are in the lanes that were found, here
 *       or in an earlier call with the same `found`.
 *   Q2  A claim reads a bounded number of places in line, whatever lanes they are in. If none of
 *       them is of use to it, it takes from any lanes that are: by priority and age among these.
 */
#include "sql/claim_inner.h"

#include "base/clock.h"
#include "base/json.h"

#define LANES_MAX 256 /* that are read one by one */
#define PAGE_MIN 64
#define PAGE_MAX 4096
#define PAGES_MAX 6 /* of growing size: about 10,000 places */
#define PROBE_COST_FACTOR 20

struct finding {
    struct fa_unit *unit;
    const struct faina_claim *claim;
    struct fa_found *found;
    int64_t want;         /* places that are of use to the claim ... */
    int64_t usable;       /* ... and how many of them were seen */
    int64_t places;       /* of the page */
    bool has_ignored_any; /* of the page, since there were enough before */
};

static void add_lane(struct finding *finding, struct fa_lane *lane)
{
    struct fa_found *found = finding->found;

    if (lane->find_mark == finding->unit->find_mark)
        return;
    lane->find_mark = finding->unit->find_mark;
    found->lanes = fa_arena_grow(&finding->unit->arena, found->lanes, found->count, &found->size,
                                 sizeof(struct fa_lane *));
    found->lanes[found->count++] = lane;
}

static void see_place(void *ctx, struct fa_lane *lane, struct fa_place place)
{
    struct finding *finding = ctx;

    finding->places++;
    if (finding->usable >= finding->want) {
        finding->has_ignored_any = true;
        return;
    }
    finding->found->horizon = place;
    if (!fa_claim_is_open(finding->claim, lane))
        return;
    finding->usable++;
    add_lane(finding, lane);
}

static void see_lane(void *ctx, struct fa_lane *lane, struct fa_place place)
{
    struct finding *finding = ctx;

    (void)place;
    finding->places++;
    if (fa_claim_is_open(finding->claim, lane))
        add_lane(finding, lane);
}

/* Pages of places, until there are enough that are of use. */
static enum faina_code read_places(struct finding *finding, struct faina_error *err)
{
    struct fa_found *found = finding->found;
    int64_t size = finding->want + PAGE_MIN;
    enum faina_code code = FAINA_OK;

    for (int page = 0; code == FAINA_OK && !found->is_all && page < PAGES_MAX; page++) {
        struct fa_value params[3] = {fa_value_int(found->horizon.rank),
                                     fa_value_int(found->horizon.key), fa_value_int(size)};

        finding->places = 0;
        code = fa_lanes_ask(finding->unit->source.lanes, finding->unit->source.db,
                            FA_SQL_READY_BEST, params, 3, see_place, finding, err);
        found->is_all = finding->places < size && !finding->has_ignored_any;
        if (finding->usable >= finding->want)
            break;
        size = 4 * size < PAGE_MAX ? 4 * size : PAGE_MAX;
    }
    return code;
}

static const char *json_of(const char *const *names, size_t count, struct fa_arena *arena)
{
    struct fa_json_writer writer;
    const char *text;
    struct fa_buf buf;

    if (names == NULL)
        return NULL;
    fa_buf_init(&buf, SIZE_MAX / 2);
    fa_json_writer_init(&writer, &buf, 0);
    fa_json_begin_array(&writer);
    for (size_t i = 0; i < count; i++)
        fa_json_put_str(&writer, names[i]);
    fa_json_end_array(&writer);
    text = fa_arena_copy(arena, buf.ptr, buf.len);
    fa_buf_finish(&buf);
    return text;
}

/* Lanes of what the claim names, each looked at. *is_all: there were not too many. */
static enum faina_code read_named(struct finding *finding, bool *is_all, struct faina_error *err)
{
    const struct faina_claim *claim = finding->claim;
    struct fa_arena *arena = &finding->unit->arena;
    struct fa_value params[3] = {
        fa_value_text(json_of(claim->types, claim->type_count, arena)),
        fa_value_text(json_of(claim->namespaces, claim->namespace_count, arena)),
        fa_value_int(LANES_MAX + 1)};
    enum faina_code code;

    finding->places = 0;
    code = fa_lanes_ask(finding->unit->source.lanes, finding->unit->source.db, FA_SQL_LANE_OPEN,
                        params, 3, see_lane, finding, err);
    *is_all = finding->places <= LANES_MAX;
    return code;
}

/* Q2. Looking at all lanes may take long: when there was nothing, it is not done again at once. */
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
                              struct fa_found *found, struct faina_error *err)
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
    code = read_places(&finding, err);
    if (code == FAINA_OK && found->count == 0 && !found->is_all)
        code = read_any(&finding, err);
    return code;
}
