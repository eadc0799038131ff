/* fronts.c - see fronts.h. */
#include "sql/fronts.h"

#include "base/clock.h"
#include "model/id.h"

#include <stdlib.h>

#define WORN_MIN 20000         /* dead rows */
#define DEAD_ASK_US 1000000    /* how often they are counted */
#define FRONT_NEXT_US 200000   /* how often places move on */
#define FRONT_ALL_US 5000000   /* how often they are read from the start, if O4 allows it */
#define FRONT_BACK_US 60000000 /* places don't go back further; then all are read from the start */
#define ALL_COST_FACTOR 20     /* O4 */
#define PLACES_MAX 64          /* of one lane; the other ranks are read from their starts */
#define PLACES_MOVED_MAX 4096  /* of all lanes: more than these only move with FRONT_ALL_US */

/* Places of a lane --------------------------------------------------------------------------- */

/* Index of the first place whose rank is not less. */
static size_t find_place(const struct fa_lane *lane, int64_t rank)
{
    size_t i = 0;

    while (i < lane->place_count && lane->places[i].rank < rank)
        i++;
    return i;
}

static void put_place(struct fa_lane *lane, int64_t rank, int64_t key)
{
    size_t at = find_place(lane, rank);

    if (at < lane->place_count && lane->places[at].rank == rank) {
        lane->places[at].key = key;
        return;
    }
    if (lane->place_count == PLACES_MAX)
        return;
    if (lane->places == NULL)
        lane->places = fa_alloc(PLACES_MAX * sizeof(*lane->places));
    memmove(&lane->places[at + 1], &lane->places[at],
            (lane->place_count - at) * sizeof(*lane->places));
    lane->places[at] = (struct fa_place){rank, key};
    lane->place_count++;
}

void fa_lane_admit(struct fa_lane *lane, int64_t rank, int64_t key)
{
    size_t at = find_place(lane, rank);

    if (at < lane->place_count && lane->places[at].rank == rank && key < lane->places[at].key)
        lane->places[at].key = key;
}

static void add_part(struct fa_buf *out, const struct fa_lane *lane, int64_t rank, int64_t key,
                     int64_t before)
{
    bool is_behind = lane->peek_rank > rank || (lane->peek_rank == rank && lane->peek_key > key);

    if (lane->peek_rank >= before)
        return; /* it was read */
    fa_buf_printf(out, "%s%lld,%lld,%lld", out->len > 1 ? "," : "",
                  (long long)(is_behind ? lane->peek_rank : rank),
                  (long long)(is_behind ? lane->peek_key : key), (long long)before);
}

/* From the start to the first place's rank; then from each place to the next one's rank. */
const char *fa_lane_parts(const struct fa_lane *lane, struct fa_arena *arena)
{
    struct fa_buf parts;
    const char *text;

    if (lane->place_count == 0)
        return NULL;
    fa_buf_init(&parts, SIZE_MAX / 2);
    fa_buf_add_char(&parts, '{');
    add_part(&parts, lane, INT64_MIN, 0, lane->places[0].rank);
    for (size_t i = 0; i < lane->place_count; i++) {
        bool is_last = i + 1 == lane->place_count;

        add_part(&parts, lane, lane->places[i].rank, lane->places[i].key - 1,
                 is_last ? INT64_MAX : lane->places[i + 1].rank);
    }
    fa_buf_add_char(&parts, '}');
    text = fa_arena_copy(arena, parts.ptr, parts.len);
    fa_buf_finish(&parts);
    return text;
}

/* Reading them ------------------------------------------------------------------------------- */

/* What a plain read has found. */
struct reading {
    struct fa_lanes *lanes;
    int64_t latest;          /* no place is later (O2) */
    struct fa_place **moved; /* with lane_ids: what is being asked for */
    int64_t *lane_ids;
};

static void sink_front(void *ctx, size_t row, const struct fa_value *columns)
{
    const struct reading *reading = ctx;
    struct fa_lane *lane = fa_lanes_by_id(reading->lanes, fa_value_as_int(&columns[0]));
    int64_t rank = fa_value_as_int(&columns[1]), key = fa_value_as_int(&columns[2]);

    (void)row;
    if (lane != NULL)
        put_place(lane, rank, key < reading->latest ? key : reading->latest);
}

/* Where a rank has nobody left in line, its place is the latest that there may be. */
static enum faina_code read_all(struct fa_lanes *lanes, struct fa_db *db, struct faina_error *err)
{
    struct reading reading = {lanes, fa_id_key_at(fa_db_now(db) - FA_FRONT_MARGIN_US), NULL, NULL};
    size_t count;
    struct fa_lane **all = fa_lanes_all(lanes, &count);

    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < all[i]->place_count; k++)
            all[i]->places[k].key = reading.latest;
    }
    return fa_db_one(db, FA_SQL_FRONT_ALL, NULL, 0, sink_front, &reading, err);
}

static void bind_place(void *ctx, size_t row, struct fa_value *params)
{
    const struct reading *reading = ctx;

    params[0] = fa_value_int(reading->lane_ids[row]);
    params[1] = fa_value_int(reading->moved[row]->rank);
    params[2] = fa_value_int(reading->moved[row]->key);
}

static void sink_next(void *ctx, size_t row, const struct fa_value *columns)
{
    const struct reading *reading = ctx;
    int64_t key = columns[0].kind == FA_INT ? columns[0].i : INT64_MAX;
    struct fa_place *place = reading->moved[row];

    if (key > reading->latest)
        key = reading->latest;
    if (key > place->key)
        place->key = key;
}

static enum faina_code move_on(struct fa_lanes *lanes, struct fa_db *db, struct faina_error *err)
{
    struct reading reading = {lanes, fa_id_key_at(fa_db_now(db) - FA_FRONT_MARGIN_US), NULL, NULL};
    struct fa_db_call call = {.sql = FA_SQL_FRONT_NEXT,
                              .param_count = 3,
                              .bind = bind_place,
                              .bind_ctx = &reading,
                              .sink = sink_next,
                              .sink_ctx = &reading};
    struct fa_arena scratch = {0};
    enum faina_code code;
    size_t count;
    struct fa_lane **all = fa_lanes_all(lanes, &count);

    reading.moved = fa_arena_take(&scratch, PLACES_MOVED_MAX * sizeof(struct fa_place *));
    reading.lane_ids = fa_arena_take(&scratch, PLACES_MOVED_MAX * sizeof(int64_t));
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < all[i]->place_count && call.rows < PLACES_MOVED_MAX; k++) {
            reading.moved[call.rows] = &all[i]->places[k];
            reading.lane_ids[call.rows++] = all[i]->id;
        }
    }
    code = fa_db_run(db, &call, err);
    fa_arena_finish(&scratch);
    return code;
}

/* When ---------------------------------------------------------------------------------------- */

void fa_fronts_init(struct fa_fronts *fronts)
{
    *fronts = (struct fa_fronts){.wants_all = true};
    atomic_init(&fronts->old_key, FA_FRONT_NONE);
}

void fa_fronts_tell_old(struct fa_fronts *fronts, int64_t key)
{
    long long known = atomic_load(&fronts->old_key);

    while (key < known && !atomic_compare_exchange_weak(&fronts->old_key, &known, key))
        ;
}

void fa_fronts_forget(struct fa_fronts *fronts)
{
    fronts->wants_all = true;
    fronts->all_after_us = 0;
}

/* O3: what others told us. */
static void go_back(struct fa_fronts *fronts, struct fa_lanes *lanes, struct fa_db *db)
{
    int64_t key = atomic_exchange(&fronts->old_key, FA_FRONT_NONE);
    size_t count;
    struct fa_lane **all = fa_lanes_all(lanes, &count);

    if (key == FA_FRONT_NONE)
        return;
    if (key < fa_id_key_at(fa_db_now(db) - FRONT_BACK_US)) {
        fronts->wants_all = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < all[i]->place_count; k++)
            fa_lane_admit(all[i], all[i]->places[k].rank, key);
    }
}

static void drop_places(struct fa_lanes *lanes)
{
    size_t count;
    struct fa_lane **all = fa_lanes_all(lanes, &count);

    for (size_t i = 0; i < count; i++)
        all[i]->place_count = 0;
}

static enum faina_code ask_dead(struct fa_fronts *fronts, struct fa_lanes *lanes, struct fa_db *db,
                                struct faina_error *err)
{
    int64_t dead = 0;
    enum faina_code code;

    code = fa_db_one(db, FA_SQL_FRONT_DEAD, NULL, 0, fa_db_sink_int, &dead, err);
    if (code != FAINA_OK)
        return code;
    if (!fronts->is_worn && dead >= WORN_MIN) {
        fronts->is_worn = true;
        fa_fronts_forget(fronts);
    } else if (fronts->is_worn && dead < WORN_MIN / 2) {
        fronts->is_worn = false;
        drop_places(lanes);
    }
    return FAINA_OK;
}

static enum faina_code read_again(struct fa_fronts *fronts, struct fa_lanes *lanes,
                                  struct fa_db *db, int64_t now, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    go_back(fronts, lanes, db);
    if ((fronts->wants_all || now >= fronts->all_at_us) && now >= fronts->all_after_us) {
        int64_t took;

        fronts->wants_all = false;
        code = read_all(lanes, db, err);
        took = fa_clock_mono_us() - now;
        fronts->all_after_us = now + took + ALL_COST_FACTOR * took;
        fronts->all_at_us = now + took + FRONT_ALL_US;
    } else if (now >= fronts->next_at_us) {
        code = move_on(lanes, db, err);
    } else {
        return FAINA_OK;
    }
    fronts->next_at_us = fa_clock_mono_us() + FRONT_NEXT_US;
    return code;
}

enum faina_code fa_fronts_refresh(struct fa_fronts *fronts, struct fa_lanes *lanes,
                                  struct fa_db *db, struct faina_error *err)
{
    int64_t now = fa_clock_mono_us();
    enum faina_code code = FAINA_OK;

    if (!db->is_shared)
        return FAINA_OK;
    if (now >= fronts->dead_at_us && (fronts->has_taken || fronts->is_worn)) {
        fronts->dead_at_us = now + DEAD_ASK_US;
        fronts->has_taken = false;
        code = ask_dead(fronts, lanes, db, err);
    }
    return code == FAINA_OK && fronts->is_worn ? read_again(fronts, lanes, db, now, err) : code;
}
