/* scan_start.c - see scan_start.h. */
#include "store/lanes/scan_start.h"

#include "base/clock.h"
#include "model/id.h"

#include <stdlib.h>

#define DEAD_MIN 20000        /* dead rows of a bloated table */
#define DEAD_COUNT_US 1000000 /* how often they are counted */
#define START_NEXT_US 200000  /* how often scan starts advance */
#define START_ALL_US 5000000  /* how often there is a full read, if O4 allows it */
#define START_BACK_US                                                                              \
    60000000                  /* scan starts don't move back further; a full read is done instead */
#define ALL_COST_FACTOR 20    /* O4 */
#define STARTS_MAX 64         /* of one lane; its other ranks are read from their first row */
#define STARTS_MOVED_MAX 4096 /* of all lanes; the others advance only by full reads */

/* Scan starts of a lane ---------------------------------------------------------------------- */

/* Index of the first scan start whose rank is not less. */
static size_t find_start(const struct fa_lane *lane, int64_t rank)
{
    size_t i = 0;

    while (i < lane->scan_start_count && lane->scan_starts[i].rank < rank)
        i++;
    return i;
}

static void put_start(struct fa_lane *lane, int64_t rank, int64_t key)
{
    size_t at = find_start(lane, rank);

    if (at < lane->scan_start_count && lane->scan_starts[at].rank == rank) {
        lane->scan_starts[at].key = key;
        return;
    }
    if (lane->scan_start_count == STARTS_MAX)
        return;
    if (lane->scan_starts == NULL)
        lane->scan_starts = fa_alloc(STARTS_MAX * sizeof(*lane->scan_starts));
    memmove(&lane->scan_starts[at + 1], &lane->scan_starts[at],
            (lane->scan_start_count - at) * sizeof(*lane->scan_starts));
    lane->scan_starts[at] = (struct fa_position){rank, key};
    lane->scan_start_count++;
}

void fa_lane_lower_scan_start(struct fa_lane *lane, int64_t rank, int64_t key)
{
    size_t at = find_start(lane, rank);

    if (at < lane->scan_start_count && lane->scan_starts[at].rank == rank &&
        key < lane->scan_starts[at].key)
        lane->scan_starts[at].key = key;
}

static void add_range(struct fa_buf *out, const struct fa_lane *lane, int64_t rank, int64_t key,
                      int64_t before)
{
    struct fa_position from = {rank, key};

    if (lane->ahead_end.rank >= before)
        return; /* it was read */
    if (fa_position_is_before(from, lane->ahead_end))
        from = lane->ahead_end;
    fa_buf_printf(out, "%s%lld,%lld,%lld", out->len > 1 ? "," : "", (long long)from.rank,
                  (long long)from.key, (long long)before);
}

/* From the first row to the rank of the first scan start; then from each scan start to the rank of
 * the next one. */
const char *fa_lane_scan_ranges(const struct fa_lane *lane, struct fa_arena *arena)
{
    struct fa_buf ranges;
    const char *text;

    if (lane->scan_start_count == 0)
        return NULL;
    fa_buf_init(&ranges, SIZE_MAX / 2);
    fa_buf_add_char(&ranges, '{');
    add_range(&ranges, lane, INT64_MIN, 0, lane->scan_starts[0].rank);
    for (size_t i = 0; i < lane->scan_start_count; i++) {
        bool is_last = i + 1 == lane->scan_start_count;

        add_range(&ranges, lane, lane->scan_starts[i].rank, lane->scan_starts[i].key - 1,
                  is_last ? INT64_MAX : lane->scan_starts[i + 1].rank);
    }
    fa_buf_add_char(&ranges, '}');
    text = fa_arena_copy(arena, ranges.ptr, ranges.len);
    fa_buf_finish(&ranges);
    return text;
}

/* Reading scan starts -----------------------------------------------------------------------------
 * */

struct start_read {
    struct fa_lanes *lanes;
    int64_t latest;             /* no scan start is greater (O2) */
    struct fa_position **moved; /* scan_start_next: the scan starts, and their lanes in lane_ids */
    int64_t *lane_ids;
};

static void sink_first(void *ctx, size_t row, const struct fa_value *columns)
{
    const struct start_read *read = ctx;
    struct fa_lane *lane = fa_lanes_by_id(read->lanes, fa_value_as_int(&columns[0]));
    int64_t rank = fa_value_as_int(&columns[1]), key = fa_value_as_int(&columns[2]);

    (void)row;
    if (lane != NULL)
        put_start(lane, rank, key < read->latest ? key : read->latest);
}

/* The full read. The scan start of a rank without ready tasks becomes the greatest allowed. */
static enum faina_code read_all(struct fa_lanes *lanes, struct fa_db *db, struct faina_error *err)
{
    struct start_read read = {lanes, fa_id_key_at(fa_db_now(db) - FA_SCAN_START_MARGIN_US), NULL,
                              NULL};
    size_t count;
    struct fa_lane **all = fa_lanes_all(lanes, &count);

    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < all[i]->scan_start_count; k++)
            all[i]->scan_starts[k].key = read.latest;
    }
    return fa_db_one(db, FA_SQL_SCAN_START_ALL, NULL, 0, sink_first, &read, err);
}

static void bind_start(void *ctx, size_t row, struct fa_value *params)
{
    const struct start_read *read = ctx;

    params[0] = fa_value_int(read->lane_ids[row]);
    params[1] = fa_value_int(read->moved[row]->rank);
    params[2] = fa_value_int(read->moved[row]->key);
}

static void sink_next(void *ctx, size_t row, const struct fa_value *columns)
{
    const struct start_read *read = ctx;
    int64_t key = columns[0].kind == FA_INT ? columns[0].i : INT64_MAX;
    struct fa_position *start = read->moved[row];

    if (key > read->latest)
        key = read->latest;
    if (key > start->key)
        start->key = key;
}

static enum faina_code advance(struct fa_lanes *lanes, struct fa_db *db, struct faina_error *err)
{
    struct start_read read = {lanes, fa_id_key_at(fa_db_now(db) - FA_SCAN_START_MARGIN_US), NULL,
                              NULL};
    struct fa_db_call call = {.sql = FA_SQL_SCAN_START_NEXT,
                              .param_count = 3,
                              .bind = bind_start,
                              .bind_ctx = &read,
                              .sink = sink_next,
                              .sink_ctx = &read};
    struct fa_arena scratch = {0};
    enum faina_code code;
    size_t count;
    struct fa_lane **all = fa_lanes_all(lanes, &count);

    read.moved = fa_arena_take(&scratch, STARTS_MOVED_MAX * sizeof(struct fa_position *));
    read.lane_ids = fa_arena_take(&scratch, STARTS_MOVED_MAX * sizeof(int64_t));
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < all[i]->scan_start_count && call.rows < STARTS_MOVED_MAX; k++) {
            read.moved[call.rows] = &all[i]->scan_starts[k];
            read.lane_ids[call.rows++] = all[i]->id;
        }
    }
    code = fa_db_run(db, &call, err);
    fa_arena_finish(&scratch);
    return code;
}

/* Timing -------------------------------------------------------------------------------------- */

void fa_scan_starts_init(struct fa_scan_starts *starts)
{
    *starts = (struct fa_scan_starts){.wants_all = true};
    atomic_init(&starts->earliest_key, FA_SCAN_START_NONE);
}

void fa_scan_starts_note_arrival(struct fa_scan_starts *starts, int64_t key)
{
    long long earliest = atomic_load(&starts->earliest_key);

    while (key < earliest && !atomic_compare_exchange_weak(&starts->earliest_key, &earliest, key))
        ;
}

void fa_scan_starts_reset(struct fa_scan_starts *starts)
{
    starts->wants_all = true;
    starts->all_after_us = 0;
}

/* O3, for tasks that other nodes made ready. */
static void go_back(struct fa_scan_starts *starts, struct fa_lanes *lanes, struct fa_db *db)
{
    int64_t key = atomic_exchange(&starts->earliest_key, FA_SCAN_START_NONE);
    size_t count;
    struct fa_lane **all = fa_lanes_all(lanes, &count);

    if (key == FA_SCAN_START_NONE)
        return;
    if (key < fa_id_key_at(fa_db_now(db) - START_BACK_US)) {
        starts->wants_all = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < all[i]->scan_start_count; k++)
            fa_lane_lower_scan_start(all[i], all[i]->scan_starts[k].rank, key);
    }
}

static void drop_starts(struct fa_lanes *lanes)
{
    size_t count;
    struct fa_lane **all = fa_lanes_all(lanes, &count);

    for (size_t i = 0; i < count; i++)
        all[i]->scan_start_count = 0;
}

static enum faina_code count_dead(struct fa_scan_starts *starts, struct fa_lanes *lanes,
                                  struct fa_db *db, struct faina_error *err)
{
    int64_t dead = 0;
    enum faina_code code;

    code = fa_db_one(db, FA_SQL_SCAN_START_DEAD, NULL, 0, fa_db_sink_int, &dead, err);
    if (code != FAINA_OK)
        return code;
    if (!starts->is_bloated && dead >= DEAD_MIN) {
        starts->is_bloated = true;
        fa_scan_starts_reset(starts);
    } else if (starts->is_bloated && dead < DEAD_MIN / 2) {
        starts->is_bloated = false;
        drop_starts(lanes);
    }
    return FAINA_OK;
}

static enum faina_code update_starts(struct fa_scan_starts *starts, struct fa_lanes *lanes,
                                     struct fa_db *db, int64_t now, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    go_back(starts, lanes, db);
    if ((starts->wants_all || now >= starts->all_at_us) && now >= starts->all_after_us) {
        int64_t took;

        starts->wants_all = false;
        code = read_all(lanes, db, err);
        took = fa_clock_mono_us() - now;
        starts->all_after_us = now + took + ALL_COST_FACTOR * took;
        starts->all_at_us = now + took + START_ALL_US;
    } else if (now >= starts->next_at_us) {
        code = advance(lanes, db, err);
    } else {
        return FAINA_OK;
    }
    starts->next_at_us = fa_clock_mono_us() + START_NEXT_US;
    return code;
}

enum faina_code fa_scan_starts_refresh(struct fa_scan_starts *starts, struct fa_lanes *lanes,
                                       struct fa_db *db, struct faina_error *err)
{
    int64_t now = fa_clock_mono_us();
    enum faina_code code = FAINA_OK;

    if (!fa_db_has(db, FA_DB_DEAD_ROWS))
        return FAINA_OK;
    if (now >= starts->dead_at_us && (starts->has_taken || starts->is_bloated)) {
        starts->dead_at_us = now + DEAD_COUNT_US;
        starts->has_taken = false;
        code = count_dead(starts, lanes, db, err);
    }
    return code == FAINA_OK && starts->is_bloated ? update_starts(starts, lanes, db, now, err)
                                                  : code;
}
