/* lanes_flush.c - writes new lanes and resources, and the counts. */
#include "store/lanes/lanes_inner.h"

static enum faina_code flush_lane(struct fa_lane *lane, struct fa_db *db, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    if (!lane->is_stored) {
        code = fa_db_one(db, FA_SQL_LANE_INSERT,
                         (struct fa_value[]){fa_value_int(lane->id), fa_value_text(lane->ns),
                                             fa_value_text(lane->type),
                                             fa_value_text(lane->resources_json)},
                         4, NULL, NULL, err);
        lane->is_stored = true;
    }
    return code;
}

#define COUNTS_AT_ONCE 64

/* Counts of one lane and status. */
struct count {
    int64_t lane, status, n;
};

static void bind_count(void *ctx, size_t row, struct fa_value *params)
{
    const struct count *count = &((struct count *)ctx)[row];

    params[0] = fa_value_int(count->lane);
    params[1] = fa_value_int(count->status);
    params[2] = fa_value_int(count->n);
}

/* Moves the lane's counts to `out`. */
static size_t take_counts(struct fa_lane *lane, struct count *out)
{
    size_t n = 0;

    for (int status = 0; status < FAINA_STATUS_COUNT; status++) {
        if (lane->tally[status] != 0)
            out[n++] = (struct count){lane->id, status, lane->tally[status]};
        lane->tally[status] = 0;
    }
    return n;
}

static enum faina_code flush_resources(struct fa_lanes *lanes, struct fa_db *db,
                                       struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    while (code == FAINA_OK && lanes->touched != NULL) {
        struct fa_resource *resource = lanes->touched;
        const struct fa_own_limits *own = &resource->own;
        struct fa_value max = {.kind = own->max < 0 ? FA_NULL : FA_INT, .i = own->max};

        lanes->touched = resource->next_touched;
        resource->is_touched = false;
        if (resource->is_stored && !resource->is_changed)
            continue;
        code = fa_db_one(db, FA_SQL_RESOURCE_PUT,
                         (struct fa_value[]){
                             fa_value_int(resource->id), fa_value_text(resource->name), max,
                             fa_value_int(resource->is_set), fa_value_int_or_null(own->rate.count),
                             fa_value_int_or_null(own->rate.per_ms),
                             fa_value_int_or_null(own->rate.burst)},
                         7, NULL, NULL, err);
        resource->is_stored = true;
        resource->is_changed = false;
    }
    lanes->has_changed_resources = lanes->has_unstored_resources = false;
    return code;
}

struct spent {
    int64_t id, spent, at_us;
};

static void bind_spent(void *ctx, size_t row, struct fa_value *params)
{
    const struct spent *spent = &((struct spent *)ctx)[row];

    params[0] = fa_value_int(spent->id);
    params[1] = fa_value_int(spent->spent);
    params[2] = fa_value_int(spent->at_us);
}

/* Writes the buckets from which tokens were taken. */
static enum faina_code flush_buckets(struct fa_lanes *lanes, struct fa_db *db,
                                     struct faina_error *err)
{
    struct spent spent[COUNTS_AT_ONCE];
    struct fa_db_call call = {
        .sql = FA_SQL_RESOURCE_SPEND, .param_count = 3, .bind = bind_spent, .bind_ctx = spent};
    enum faina_code code = FAINA_OK;

    while (code == FAINA_OK && lanes->spent != NULL) {
        struct fa_resource *resource = lanes->spent;

        lanes->spent = resource->next_spent;
        resource->has_spent = false;
        spent[call.rows++] =
            (struct spent){resource->id, resource->bucket.spent, resource->bucket.at_us};
        if (call.rows == COUNTS_AT_ONCE || lanes->spent == NULL) {
            code = fa_db_run(db, &call, err);
            call.rows = 0;
        }
    }
    return code;
}

enum faina_code fa_lanes_flush(struct fa_lanes *lanes, struct fa_db *db, struct faina_error *err)
{
    struct count counts[COUNTS_AT_ONCE + FAINA_STATUS_COUNT];
    struct fa_db_call call = {
        .sql = FA_SQL_TALLY_ADD, .param_count = 3, .bind = bind_count, .bind_ctx = counts};
    enum faina_code code = FAINA_OK;

    if (lanes->has_changed_resources ||
        (lanes->has_unstored_resources && !fa_db_has(db, FA_DB_MANY_WRITERS)))
        code = flush_resources(lanes, db, err);
    if (code == FAINA_OK && lanes->spent != NULL)
        code = flush_buckets(lanes, db, err);
    while (code == FAINA_OK && lanes->dirty != NULL) {
        struct fa_lane *lane = lanes->dirty;

        lanes->dirty = lane->next_dirty;
        lane->is_dirty = false;
        code = flush_lane(lane, db, err);
        call.rows += take_counts(lane, &counts[call.rows]);
        if (code == FAINA_OK && (call.rows >= COUNTS_AT_ONCE || lanes->dirty == NULL)) {
            code = fa_db_run(db, &call, err);
            call.rows = 0;
        }
    }
    return code;
}
