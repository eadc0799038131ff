/* id_range.c - see id_range.h. */
#include "store/txn/id_range.h"

#include <assert.h>
#include <limits.h>

#define SLOT_BITS 6
#define SLOT_SEQUENCE 63 /* the slot of the sequence; the others have rows in id_slot */
#define SLOT_NONE (-1)
#define KEYS_PER_MS (INT64_C(1) << 12)
#define IDLE_KEYS (2000 * KEYS_PER_MS)   /* a writer is idle after this time without a new id */
#define WINDOW_KEYS (1000 * KEYS_PER_MS) /* the first range of a slot ... */
#define WINDOW_DOUBLINGS 5               /* ... and how often it is doubled */
#define BLOCK_MIN 8                      /* keys taken from the sequence at once */
#define BLOCK_MAX 4096

static void sink_slot(void *ctx, size_t row, const struct fa_value *columns)
{
    int64_t *slot = ctx;

    (void)row;
    *slot = columns[0].i;
}

/* Takes the keys of one slot from `wanted` on. *is_taken: a slot was free. */
static enum faina_code take_slot(struct fa_unit *unit, int64_t wanted, bool *is_taken,
                                 struct faina_error *err)
{
    struct fa_id_range *range = &unit->id_range;
    struct fa_id_source *ids = unit->ids;
    int doublings = range->takes < WINDOW_DOUBLINGS ? range->takes : WINDOW_DOUBLINGS;
    int64_t end = wanted + (WINDOW_KEYS << doublings), slot = SLOT_NONE;
    struct fa_value params[3] = {fa_value_int(wanted), fa_value_int(end),
                                 fa_value_int(range->slot)};
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_ID_SLOT_TAKE, params, 3, sink_slot, &slot, err);

    *is_taken = code == FAINA_OK && slot >= 0 && slot < SLOT_SEQUENCE;
    if (!*is_taken)
        return code;
    range->slot = ids->slot = slot;
    range->slot_end = ids->end_key = end;
    range->slot_epoch = unit->epoch;
    ids->last_key = wanted - 1;
    return FAINA_OK;
}

/* Takes keys of the sequence, none below `wanted`; more each time within one transaction. */
static enum faina_code take_block(struct fa_unit *unit, int64_t wanted, struct faina_error *err)
{
    struct fa_id_range *range = &unit->id_range;
    struct fa_id_source *ids = unit->ids;
    bool is_same = range->block_epoch == unit->epoch;
    int64_t first = 0;
    enum faina_code code;

    range->block = is_same && range->block < BLOCK_MAX ? range->block * 8 : BLOCK_MIN;
    range->block_epoch = unit->epoch;
    code = fa_db_one(
        unit->source.db, FA_SQL_ID_BLOCK_TAKE,
        (struct fa_value[]){fa_value_int(range->block), fa_value_int(fa_id_key_us(wanted) + 1)}, 2,
        fa_db_sink_int, &first, err);
    if (code != FAINA_OK)
        return code;
    if (first < wanted || (first & SLOT_SEQUENCE) != SLOT_SEQUENCE)
        return fa_error_set(err, FAINA_INTERNAL, "the sequence submit_key gave the key %lld",
                            (long long)first);
    ids->slot = SLOT_SEQUENCE;
    ids->last_key = first - 1;
    ids->end_key = first + ((int64_t)(range->block - 1) << SLOT_BITS) + 1;
    return FAINA_OK;
}

/* Continues with the slot's range after keys of the sequence. False: the range is used up. */
static bool resume_slot(struct fa_unit *unit)
{
    const struct fa_id_range *range = &unit->id_range;

    if (range->slot_end == 0)
        return false;
    unit->ids->slot = range->slot;
    unit->ids->end_key = range->slot_end;
    return fa_id_has_next(unit->ids, unit->now_us);
}

static enum faina_code take_range(struct fa_unit *unit, struct faina_error *err)
{
    struct fa_id_range *range = &unit->id_range;
    struct fa_id_source *ids = unit->ids;
    int64_t wanted = fa_id_key_at(unit->now_us);
    bool is_taken = false;
    enum faina_code code = FAINA_OK;

    if (wanted <= ids->last_key)
        wanted = ids->last_key + 1;
    if (wanted > ids->last_key + IDLE_KEYS)
        range->takes = 0;
    ids->slot_bits = SLOT_BITS;
    if (!range->has_failed && resume_slot(unit))
        return FAINA_OK;
    if (range->takes > 0 && !range->has_failed)
        code = take_slot(unit, wanted, &is_taken, err);
    if (code == FAINA_OK && !is_taken)
        code = take_block(unit, wanted, err);
    range->takes += range->takes < INT_MAX;
    return code;
}

enum faina_code fa_id_range_next(struct fa_unit *unit, struct fa_id *out, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    if (!fa_id_has_next(unit->ids, unit->now_us))
        code = take_range(unit, err);
    assert(unit->ids->end_key != 0 || !fa_db_has(unit->source.db, FA_DB_MANY_WRITERS));
    if (code == FAINA_OK)
        *out = fa_id_next(unit->ids, unit->now_us);
    return code;
}

void fa_id_range_settle(struct fa_unit *unit, enum faina_code code)
{
    struct fa_id_range *range = &unit->id_range;

    if (!fa_db_has(unit->source.db, FA_DB_MANY_WRITERS))
        return;
    range->has_failed = code != FAINA_OK;
    if (code == FAINA_OK)
        return;
    unit->ids->end_key = 1; /* an empty range */
    if (range->slot_epoch == unit->epoch || code == FAINA_UNAVAILABLE)
        range->slot_end = 0;
    if (range->slot_end == 0)
        range->slot = SLOT_NONE;
}
