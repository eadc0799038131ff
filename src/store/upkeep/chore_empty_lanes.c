/*
 * chore_empty_lanes.c - removes lanes without tasks, with their counts.
 *
 * Lanes are checked in slices, by id, in rounds. A round follows when a task was purged; where
 * other nodes write to the store, rounds follow in any case.
 */
#include "store/upkeep/chores.h"

#define SLICE 2000
#define SLICE_US 1000000   /* from one slice to the next */
#define ROUND_US 10000000  /* from one round to the next ... */
#define SHARED_US 60000000 /* ... where the store is shared */

static void sink_slice(void *ctx, size_t row, const struct fa_value *columns)
{
    int64_t *slice = ctx;

    (void)row;
    slice[0] = fa_value_as_int(&columns[0]);
    slice[1] = fa_value_as_int(&columns[1]);
}

/* Where the store is shared, the query has already removed them (lane_empty.sql). */
static enum faina_code remove_lanes(struct fa_unit *unit, struct fa_keys *empty,
                                    struct faina_error *err)
{
    static const enum fa_sql sql[] = {FA_SQL_TALLY_DELETE, FA_SQL_TURN_DELETE, FA_SQL_LANE_DELETE};
    enum faina_code code = FAINA_OK;

    for (size_t i = 0;
         !fa_db_has(unit->source.db, FA_DB_MANY_WRITERS) && code == FAINA_OK && i < FA_COUNT(sql);
         i++) {
        struct fa_db_call call = {.sql = sql[i],
                                  .rows = empty->count,
                                  .param_count = 1,
                                  .bind = fa_keys_bind,
                                  .bind_ctx = empty};

        code = empty->count > 0 ? fa_db_run(unit->source.db, &call, err) : FAINA_OK;
    }
    for (size_t i = 0; code == FAINA_OK && i < empty->count; i++)
        fa_lanes_remove(unit->source.lanes, empty->keys[i]);
    return code;
}

static enum faina_code check_slice(struct fa_unit *unit, bool *is_last, struct faina_error *err)
{
    struct fa_keys empty = {.arena = &unit->arena};
    int64_t slice[2] = {0}; /* its last lane, and how many it has */
    struct fa_value range[2] = {fa_value_int(unit->sweep.after), fa_value_int(SLICE)};
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_LANE_SLICE, range, 2, sink_slice, slice, err);

    *is_last = slice[1] < SLICE;
    range[1] = fa_value_int(slice[0]);
    if (code == FAINA_OK && slice[1] > 0)
        code = fa_db_one(unit->source.db, FA_SQL_LANE_EMPTY, range, 2, fa_keys_sink, &empty, err);
    unit->sweep.after = *is_last ? 0 : slice[0];
    return code == FAINA_OK ? remove_lanes(unit, &empty, err) : code;
}

void fa_chore_empty_soon(struct fa_unit *unit)
{
    if (unit->sweep.at_us == 0)
        unit->sweep.at_us = unit->now_us + ROUND_US;
    if (unit->sweep.at_us < unit->next_us)
        unit->next_us = unit->sweep.at_us;
    unit->sweep.is_wanted = true;
}

enum faina_code fa_chore_empty(struct fa_unit *unit, int64_t *next_us, struct faina_error *err)
{
    struct fa_sweep *sweep = &unit->sweep;
    enum faina_code code = FAINA_OK;
    bool is_last = false;

    fa_lanes_free_removed(unit->source.lanes);
    if (sweep->at_us != 0 && unit->now_us >= sweep->at_us) {
        if (sweep->after == 0)
            sweep->is_wanted = false;
        code = check_slice(unit, &is_last, err);
        sweep->at_us = unit->now_us + SLICE_US;
    }
    if (is_last && fa_db_has(unit->source.db, FA_DB_MANY_WRITERS))
        sweep->at_us = unit->now_us + SHARED_US;
    else if (is_last)
        sweep->at_us = sweep->is_wanted ? unit->now_us + ROUND_US : 0;
    if (!sweep->has_begun) { /* tasks may have been purged before the store was opened */
        sweep->has_begun = true;
        sweep->at_us = unit->now_us + ROUND_US;
    }
    if (sweep->at_us != 0 && sweep->at_us < *next_us)
        *next_us = sweep->at_us;
    return code;
}
