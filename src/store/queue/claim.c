/*
 * claim.c - handing tasks to workers.
 *
 * A claim of the next tasks (1) finds the lane with the best task: by the lane index (lane_index.h)
 * or, in a shared store, among the open lanes; (2) reads the first few tasks of its ready queue, by
 * the primary key of `ready`; (3) takes the best task of all lanes until it has enough. The cost
 * depends on the limit and on what the claim names, not on how many tasks are ready.
 *
 * Tasks that were read and not taken are kept for the next claim of the same transaction
 * (lane->ahead), until more tasks become ready. A task that the transaction itself submits to an
 * empty ready queue is claimed from memory, and never written to table `ready`.
 */
#include "store/queue/ops.h"

#include "store/queue/claim_inner.h"
#include "store/read/show.h"
#include "base/hash.h"
#include "model/limits.h"

#include <assert.h>
#include <stdlib.h>

#define SCAN_RANK 3        /* the column of the rank in ready_scan ... */
#define PLAIN_RANK 2       /* ... and in ready_scan_plain */
#define PAYLOAD_ROWS_MIN 8 /* fewer rows are read without their payloads */
#define UNSEEN_ROWS_MAX 64 /* to read from a lane whose task size is not known yet */
#define IN_MEMORY_MAX 64   /* with more changed rows than this, they are written before a claim */
#define SPARE_MAX 4096     /* tasks to find beyond those that are needed */
#define DAY_US 86400000000 /* of the partitions of `task` */
#define CLOCK_SLACK_US 60000000

/* Without a list, any name is meant. */
static bool is_in(const char *name, const char *const *list, size_t count)
{
    return list == NULL || fa_names_have(&(struct fa_texts){list, count}, name);
}

static bool is_in_namespaces(const struct faina_claim *claim, const char *ns)
{
    return claim->namespaces == NULL ||
           fa_texts_have(&(struct fa_texts){claim->namespaces, claim->namespace_count}, ns);
}

bool fa_claim_can_reach(const struct faina_claim *claim, const struct fa_lane *lane)
{
    for (size_t i = 0; i < lane->resource_count; i++) {
        if (!is_in(lane->resource_names[i], claim->services, claim->service_count))
            return false;
    }
    return true;
}

/* Whether the lane matches the claim's filters, and its type is not paused. */
static bool is_wanted(const struct faina_claim *claim, const struct fa_lane *lane)
{
    return !lane->type_info->is_paused && is_in(lane->type, claim->types, claim->type_count) &&
           is_in_namespaces(claim, lane->ns) && fa_claim_can_reach(claim, lane);
}

bool fa_claim_is_open(const struct faina_claim *claim, const struct fa_lane *lane)
{
    if (!lane->may_have_ready || !is_wanted(claim, lane))
        return false;
    if (fa_lane_has_permits(lane))
        return true;
    fa_lane_await_token(lane);
    return false;
}

/* Reading ahead ---------------------------------------------------------------------------- */

/* One statement: the lanes whose ready queues it reads, and how many tasks of each. */
struct queue_read {
    struct fa_unit *unit;
    struct fa_lane **lanes;
    int64_t *wants;
    size_t count;
    bool has_turns;      /* it is ready_scan_turns */
    bool is_plain;       /* it is ready_scan_plain, ... */
    int64_t since;       /* ... which finds tasks with ids from here ... */
    int64_t before;      /* ... to here, unless the lane has_past_days */
    bool *again;         /* by lane: it has to be read with ready_scan */
    const char **ranges; /* not NULL: it is ready_scan_parts (scan_start.h) */
};

/* When few tasks are read from each of many lanes, most of them are not taken, so their payloads
 * are not read. */
static bool wants_payloads(const struct queue_read *read, size_t n)
{
    return read->ranges == NULL && read->wants[n] >= PAYLOAD_ROWS_MIN;
}

static void bind_scan(void *ctx, size_t n, struct fa_value *v)
{
    const struct queue_read *read = ctx;
    const struct fa_lane *lane = read->lanes[n];

    v[0] = fa_value_int(lane->id);
    v[1] = fa_value_int(lane->ahead_end.rank);
    v[2] = fa_value_int(lane->ahead_end.key);
    v[3] = fa_value_int(read->wants[n]);
    v[4] = fa_value_int(wants_payloads(read, n));
}

static void bind_plain_scan(void *ctx, size_t n, struct fa_value *v)
{
    const struct queue_read *read = ctx;
    const struct fa_lane *lane = read->lanes[n];

    bind_scan(ctx, n, v);
    v[4] = fa_value_int(lane->has_past_days ? INT64_MIN : read->since);
    v[5] = fa_value_int(lane->has_past_days ? INT64_MAX : read->before);
}

static void bind_turn_scan(void *ctx, size_t n, struct fa_value *v)
{
    const struct queue_read *read = ctx;
    const struct fa_lane *lane = read->lanes[n];

    v[0] = fa_value_int(lane->id);
    v[1] = fa_value_int(lane->ahead_end.rank);
    v[2] = fa_value_int(lane->ahead_turn);
    v[3] = fa_value_int(lane->ahead_end.key);
    v[4] = fa_value_int(read->wants[n]);
    v[5] = fa_value_int(wants_payloads(read, n));
}

static void bind_ranges(void *ctx, size_t n, struct fa_value *v)
{
    const struct queue_read *read = ctx;

    v[0] = fa_value_int(read->lanes[n]->id);
    v[1] = fa_value_text(read->ranges[n]);
    v[2] = fa_value_int(read->wants[n]);
}

static void add_ahead(struct fa_lane *lane, struct fa_row *row)
{
    lane->ahead = fa_grow(lane->ahead, lane->ahead_count, &lane->ahead_size, sizeof(*lane->ahead));
    lane->ahead[lane->ahead_count++] = row;
}

/* Records why the lane's queue can't be read with ready_scan_plain. */
static void note_nonplain(struct queue_read *read, size_t n, const struct fa_value *columns)
{
    read->again[n] = true;
    if (fa_row_is_of_other_day(columns))
        read->lanes[n]->has_past_days = true;
    else
        read->lanes[n]->has_nonplain = true;
}

/* Records the position of a row, even if the row is damaged. A rank that is no integer is behind
 * all smaller ones. */
static void note_position(struct fa_lane *lane, const struct fa_value *key,
                          const struct fa_value *rank)
{
    lane->read_count++;
    lane->read_end = (struct fa_position){INT64_MAX, fa_value_as_int(key)};
    if (rank->kind == FA_INT)
        lane->read_end.rank = rank->i;
    else if (rank->kind == FA_REAL && rank->d > -1e15 && rank->d < 1e15)
        lane->read_end = (struct fa_position){(int64_t)rank->d + 1, INT64_MIN};
}

static void sink_scan(void *ctx, size_t n, const struct fa_value *columns)
{
    struct queue_read *read = ctx;
    struct fa_unit *unit = read->unit;
    struct fa_lane *lane = read->lanes[n];
    struct fa_row *row = fa_unit_cached(unit, columns[0].i);

    note_position(lane, &columns[0], &columns[read->is_plain ? PLAIN_RANK : SCAN_RANK]);
    if (row == NULL) {
        struct fa_row loaded;

        if (!read->is_plain)
            fa_row_from_ready_scan(columns, &unit->arena, wants_payloads(read, n), &loaded);
        else if (!fa_row_from_plain_scan(columns, &unit->arena, &loaded))
            note_nonplain(read, n, columns);
        if (read->is_plain && read->again[n])
            return;
        loaded.lane = lane;
        if (loaded.damage == NULL)
            row = fa_unit_adopt(unit, &loaded);
        else
            (void)fa_row_refuse(&unit->source, &loaded, loaded.damage, NULL); /* it stays ready */
    }
    if (read->has_turns) {
        lane->read_turn = fa_row_scanned_turn(columns);
        if (row != NULL)
            row->oldest_key = fa_row_scanned_oldest(columns);
    }
    if (row != NULL && !fa_aside_has_task(unit->source.aside, row->id.key, unit->now_us))
        add_ahead(lane, row);
}

static void add_queue(struct queue_read *to, struct fa_lane *lane, int64_t want)
{
    lane->ahead_count = lane->ahead_next = lane->read_count = 0;
    to->lanes[to->count] = lane;
    to->wants[to->count++] = want;
}

static struct queue_read new_read(struct fa_unit *unit, size_t count, bool is_plain)
{
    int64_t now = fa_db_now(unit->source.db);

    return (struct queue_read){
        .unit = unit,
        .lanes = fa_arena_take(&unit->arena, (count + 1) * sizeof(struct fa_lane *)),
        .wants = fa_arena_take(&unit->arena, (count + 1) * sizeof(int64_t)),
        .is_plain = is_plain,
        .since = fa_id_key_at((now - CLOCK_SLACK_US) / DAY_US * DAY_US),
        .before = fa_id_key_at((now + CLOCK_SLACK_US) / DAY_US * DAY_US + DAY_US),
        .again = fa_arena_zero(&unit->arena, count + 1, sizeof(bool)),
    };
}

static struct fa_db_call scan(struct queue_read *read)
{
    size_t plain_params = fa_db_has(read->unit->source.db, FA_DB_PARTITIONED_DAYS) ? 6 : 4;
    struct fa_db_call call = {.sql = FA_SQL_READY_SCAN,
                              .rows = read->count,
                              .param_count = 5,
                              .bind = bind_scan,
                              .bind_ctx = read,
                              .sink = sink_scan,
                              .sink_ctx = read};

    if (read->ranges != NULL) {
        call.sql = FA_SQL_READY_SCAN_PARTS;
        call.param_count = 3;
        call.bind = bind_ranges;
    } else if (read->has_turns) {
        call.sql = FA_SQL_READY_SCAN_TURNS;
        call.param_count = 6;
        call.bind = bind_turn_scan;
    } else if (read->is_plain) {
        call.sql = FA_SQL_READY_SCAN_PLAIN;
        call.param_count = plain_params;
        call.bind = bind_plain_scan;
    }
    return call;
}

/* Whether the last read has come further than those before. */
static bool has_advanced(const struct fa_lane *lane)
{
    bool is_same_rank = lane->ahead_end.rank == lane->read_end.rank;

    if (lane->has_groups && is_same_rank && lane->read_turn != lane->ahead_turn)
        return lane->read_turn > lane->ahead_turn;
    return fa_position_is_before(lane->ahead_end, lane->read_end);
}

/* Sets where the next read of the lane's queue begins. */
static void set_ahead_end(struct fa_lane *lane, int64_t want)
{
    lane->ahead_is_last = (int64_t)lane->read_count < want;
    if (lane->read_count == 0)
        return;
    if (!has_advanced(lane))
        lane->ahead_is_last = true; /* damaged rows, behind which nothing can be found */
    lane->ahead_end = lane->read_end;
    lane->ahead_turn = lane->read_turn;
}

/* The statements of one round trip. Most queues have only plain tasks (row.h), which are read with
 * few columns and their payload. `full` reads all columns: of lanes that have other tasks, until
 * their queues are empty, and of lanes from which only a few tasks are wanted; in a shared store a
 * single lane is read as plain even then, since these few are going to be taken. `ranged` skips
 * dead rows. `turns` reads lanes whose tasks have groups, in the order of their turns. */
struct read_plan {
    struct queue_read plain, full, ranged, turns;
};

#define READ_CALLS FA_LANES_SCANS_MAX

static void plan_reads(struct fa_unit *unit, struct fa_lane *const *lanes, const int64_t *wants,
                       size_t count, struct read_plan *out)
{
    bool is_single_lane = count == 1 && fa_db_has(unit->source.db, FA_DB_ROUND_TRIPS);

    *out = (struct read_plan){new_read(unit, count, true), new_read(unit, count, false),
                              new_read(unit, count, false), new_read(unit, count, false)};
    out->turns.has_turns = true;
    out->ranged.ranges = fa_arena_take(&unit->arena, (count + 1) * sizeof(char *));
    for (size_t i = 0; i < count; i++) {
        if (lanes[i]->has_groups) {
            add_queue(&out->turns, lanes[i], wants[i]);
            continue;
        }
        out->ranged.ranges[out->ranged.count] = fa_lane_scan_ranges(lanes[i], &unit->arena);
        if (out->ranged.ranges[out->ranged.count] != NULL)
            add_queue(&out->ranged, lanes[i], wants[i]);
        else if (!lanes[i]->has_nonplain && (is_single_lane || wants[i] >= PAYLOAD_ROWS_MIN))
            add_queue(&out->plain, lanes[i], wants[i]);
        else
            add_queue(&out->full, lanes[i], wants[i]);
    }
}

static void make_calls(struct read_plan *plan, struct fa_db_call *out)
{
    out[0] = scan(&plan->plain);
    out[1] = scan(&plan->full);
    out[2] = scan(&plan->ranged);
    out[3] = scan(&plan->turns);
}

static enum faina_code read_now(struct fa_unit *unit, struct fa_lane *const *lanes, size_t count,
                                const struct fa_db_call *calls, size_t call_count,
                                struct faina_error *err)
{
    bool with_limits = false;

    for (size_t i = 0; i < count; i++)
        with_limits |= fa_lane_is_limitable(lanes[i]);
    return fa_lanes_scan(unit->source.lanes, unit->source.db, calls, call_count, with_limits, err);
}

/* After the calls: reads the lanes again that turned out not to be plain. */
static enum faina_code finish_reads(struct fa_unit *unit, struct read_plan *plan,
                                    struct fa_lane *const *lanes, const int64_t *wants,
                                    size_t count, struct faina_error *err)
{
    struct queue_read *plain = &plan->plain, *full = &plan->full;
    enum faina_code code = FAINA_OK;

    full->count = 0;
    for (size_t i = 0; i < plain->count; i++) {
        if (plain->again[i])
            add_queue(full, plain->lanes[i], plain->wants[i]);
    }
    if (full->count > 0) {
        struct fa_db_call call = scan(full);

        code = read_now(unit, lanes, count, &call, 1, err);
    }
    for (size_t i = 0; code == FAINA_OK && i < count; i++)
        set_ahead_end(lanes[i], wants[i]);
    return code;
}

static enum faina_code read_ahead(struct fa_unit *unit, struct fa_lane *const *lanes,
                                  const int64_t *wants, size_t count, struct faina_error *err)
{
    struct fa_db_call calls[READ_CALLS];
    struct read_plan plan;
    enum faina_code code;

    plan_reads(unit, lanes, wants, count, &plan);
    make_calls(&plan, calls);
    code = read_now(unit, lanes, count, calls, READ_CALLS, err);
    return code == FAINA_OK ? finish_reads(unit, &plan, lanes, wants, count, err) : code;
}

static void reset_ahead(const struct fa_unit *unit, struct fa_lane *lane)
{
    lane->ahead_count = lane->ahead_next = 0;
    lane->ahead_is_last = false;
    lane->ahead_end = (struct fa_position){INT64_MIN, 0};
    lane->ahead_turn = 0;
    lane->ahead_epoch = unit->epoch;
    lane->ahead_arrivals = lane->arrivals;
}

/* Drops what an earlier transaction read, or what was read before tasks became ready. */
static void check_ahead(const struct fa_unit *unit, struct fa_lane *lane)
{
    if (lane->ahead_epoch != unit->epoch || lane->ahead_arrivals != lane->arrivals)
        reset_ahead(unit, lane);
}

static bool is_ready(const struct fa_row *row)
{
    return row->status == FAINA_PENDING && row->at_us == 0 && !row->is_purged;
}

/* Whether the lane was paused, or its resources got a limit, while its queue was read. */
static bool is_closed(const struct fa_unit *unit, const struct fa_lane *lane)
{
    return lane->type_info->is_paused || (fa_db_has(unit->source.db, FA_DB_MANY_WRITERS) &&
                                          fa_lane_needs_lock(lane, unit->epoch));
}

enum faina_code fa_claim_best_of(struct fa_unit *unit, struct fa_lane *lane, int64_t want,
                                 struct fa_row **out, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    *out = NULL;
    check_ahead(unit, lane);
    while (!is_closed(unit, lane)) {
        while (lane->ahead_next < lane->ahead_count) {
            struct fa_row *row = lane->ahead[lane->ahead_next];

            if (is_ready(row) && row->lane == lane) { /* an amend may have changed its lane */
                *out = row;
                return FAINA_OK;
            }
            lane->ahead_next++;
        }
        if (lane->ahead_is_last)
            break;
        code = read_ahead(unit, &lane, &want, 1, err);
        if (code != FAINA_OK)
            return code;
    }
    if (is_closed(unit, lane)) {
        unit->has_leftover = true;
        return FAINA_OK;
    }
    fa_lane_mark_empty(lane);
    return FAINA_OK;
}

/* At most as many as there are permits and tokens, and as fit into the result of one claim. */
int64_t fa_claim_wanted_of(const struct fa_lane *lane, int64_t want)
{
    int64_t most = lane->task_size > 0 ? FA_PAGE_SIZE_MAX / lane->task_size : UNSEEN_ROWS_MAX, room;

    want = want < most ? want : most;
    room = fa_lane_room(lane);
    want = room < want ? room : want;
    return want > 0 ? want : 1;
}

/* Tasks of the open transaction -------------------------------------------------------------- */

static bool is_before(const struct fa_row *a, const struct fa_row *b)
{
    return fa_position_is_before(fa_claim_position(a), fa_claim_position(b));
}

/* Whether all tasks that this transaction made ready are new, and their queues were empty. In a
 * shared store that can't be known. Tasks with groups get their turns when they are written. */
static bool are_new_in_empty_queues(const struct fa_unit *unit)
{
    if (fa_db_has(unit->source.db, FA_DB_MANY_WRITERS) || unit->dirty_count > IN_MEMORY_MAX)
        return false;
    for (size_t i = 0; i < unit->dirty_count; i++) {
        const struct fa_row *row = unit->dirty[i];

        if (is_ready(row) && (!row->is_new || row->lane->may_have_ready || row->lane->has_groups))
            return false;
    }
    return true;
}

/* Adds the task to the lane's read-ahead, as if it had been read. */
static void add_new_ready(struct fa_unit *unit, struct fa_row *row)
{
    struct fa_lane *lane = row->lane;
    size_t at;

    if (!lane->may_have_ready)
        reset_ahead(unit, lane);
    add_ahead(lane, row);
    for (at = lane->ahead_count - 1; at > 0 && is_before(row, lane->ahead[at - 1]); at--)
        lane->ahead[at] = lane->ahead[at - 1];
    lane->ahead[at] = row;
    lane->ahead_is_last = true;
    fa_lane_note_arrival(lane, row->rank, row->id.key);
    unit->ready_types |= fa_hash_bit(lane->type);
}

enum faina_code fa_claims_prepare(struct fa_unit *unit, struct faina_error *err)
{
    if (!unit->has_arrivals)
        return FAINA_OK;
    if (!are_new_in_empty_queues(unit))
        return fa_unit_flush(unit, err);
    for (size_t i = 0; i < unit->dirty_count; i++) {
        if (is_ready(unit->dirty[i]))
            add_new_ready(unit, unit->dirty[i]);
    }
    unit->has_arrivals = false;
    return FAINA_OK;
}

/* Claim next ------------------------------------------------------------------------------- */

/* A lane that the claim may take from, with its best task. */
struct candidate {
    struct fa_lane *lane;
    struct fa_row *row;
};

/* Keeps the lanes that this claim may take from now. */
static size_t filter_lanes(const struct faina_claim *claim, struct fa_lane *const *lanes,
                           size_t count, struct fa_lane **out)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (fa_claim_is_open(claim, lanes[i]))
            out[kept++] = lanes[i];
    }
    return kept;
}

/* Nodes share permits: a resource is locked before a permit of it is taken. */
static enum faina_code lock_lanes(struct fa_unit *unit, const struct faina_claim *claim,
                                  struct fa_lane **open, size_t *count, struct faina_error *err)
{
    bool needs_lock = false;
    enum faina_code code;

    for (size_t i = 0; i < *count; i++)
        needs_lock |= fa_lane_needs_lock(open[i], unit->epoch);
    if (!needs_lock || !fa_db_has(unit->source.db, FA_DB_MANY_WRITERS))
        return FAINA_OK;
    code = fa_unit_flush(unit, err);
    if (code == FAINA_OK)
        code = fa_lanes_lock(open, *count, unit->epoch, unit->source.db, err);
    fa_claim_set_time(unit);
    *count = filter_lanes(claim, open, *count, open);
    return code;
}

/* Reads the queues of the lanes that have no valid read-ahead, in one round trip. */
static enum faina_code read_queues(struct fa_unit *unit, struct fa_lane *const *open, size_t count,
                                   int64_t want, struct faina_error *err)
{
    struct fa_lane **unread = fa_arena_take(&unit->arena, (count + 1) * sizeof(struct fa_lane *));
    int64_t *wants = fa_arena_take(&unit->arena, (count + 1) * sizeof(int64_t));
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        check_ahead(unit, open[i]);
        if (open[i]->ahead_count > 0 || open[i]->ahead_is_last)
            continue;
        wants[n] = fa_claim_wanted_of(open[i], want);
        unread[n++] = open[i];
    }
    return n > 0 ? read_ahead(unit, unread, wants, n, err) : FAINA_OK;
}

/* How many tasks the claims of this transaction want together. In a shared store the transaction is
 * assumed to get as many claims as the last one, so that one read serves all. */
static int64_t demand(const struct fa_unit *unit, int64_t limit)
{
    int64_t want = unit->claim_demand > limit ? unit->claim_demand : limit;
    int64_t usual = (unit->claims_usual - unit->claims) * limit;

    return fa_db_has(unit->source.db, FA_DB_ROUND_TRIPS) && usual > want ? usual : want;
}

/* A single lane is read for the whole demand; of many lanes, a few tasks each are enough at first.
 * */
int64_t fa_claim_share_of(const struct fa_unit *unit, int64_t limit, size_t count)
{
    int64_t want = demand(unit, limit);

    if (count > 1)
        want = want / (int64_t)count + (count < 32 ? 4 : 1);
    return want < FA_CLAIM_LIMIT_MAX ? want : FA_CLAIM_LIMIT_MAX;
}

/* The lanes that are likely to be open after the refresh. Lanes of limited resources are left out:
 * they are read after these are locked. */
static size_t guess_lanes(struct fa_unit *unit, const struct faina_claim *claim,
                          struct fa_lane ***out)
{
    size_t count, kept = 0;
    struct fa_lane **lanes = fa_lanes_all(unit->source.lanes, &count);

    *out = fa_arena_take(&unit->arena, (count + 1) * sizeof(struct fa_lane *));
    for (size_t i = 0; i < count; i++) {
        if (is_wanted(claim, lanes[i]) && !fa_lane_is_limited(lanes[i]))
            (*out)[kept++] = lanes[i];
    }
    return kept;
}

/* Shared store: refreshes the cache, and in the same round trip reads the queues of lanes that are
 * likely to be open. Tasks of a lane that turns out to be closed stay ready. */
static enum faina_code refresh_and_read(struct fa_unit *unit, const struct faina_claim *claim,
                                        int64_t limit, struct faina_error *err)
{
    struct fa_db_call calls[READ_CALLS];
    struct fa_lane **lanes = NULL;
    struct read_plan plan;
    size_t count = 0;
    int64_t *wants;
    enum faina_code code = fa_unit_flush(unit, err);

    if (!unit->scan_starts.is_bloated && fa_lanes_are_few(unit->source.lanes, false))
        count = guess_lanes(unit, claim, &lanes);
    wants = fa_arena_take(&unit->arena, (count + 1) * sizeof(int64_t));
    for (size_t i = 0; i < count; i++) {
        reset_ahead(unit, lanes[i]);
        wants[i] = fa_claim_wanted_of(lanes[i], fa_claim_share_of(unit, limit, count));
    }
    plan_reads(unit, lanes, wants, count, &plan);
    make_calls(&plan, calls);
    if (code == FAINA_OK)
        code = fa_unit_share_and_scan(unit, calls, READ_CALLS, err);
    if (code == FAINA_OK)
        code = finish_reads(unit, &plan, lanes, wants, count, err);
    for (size_t i = 0; i < count; i++)
        unit->has_leftover |= lanes[i]->ahead_count > 0 && !fa_claim_is_open(claim, lanes[i]);
    return code;
}

/* The lanes that this claim may take from, each with its best task. */
static enum faina_code open_lanes(struct fa_unit *unit, const struct faina_claim *claim,
                                  int64_t limit, struct fa_lane *const *lanes, size_t lane_count,
                                  struct candidate **out, size_t *out_count,
                                  struct faina_error *err)
{
    size_t count, kept = 0;
    struct fa_lane **open =
        fa_arena_take(&unit->arena, (lane_count + 1) * sizeof(struct fa_lane *));
    enum faina_code code;
    struct candidate *candidates;
    int64_t want;

    count = filter_lanes(claim, lanes, lane_count, open);
    code = lock_lanes(unit, claim, open, &count, err);
    want = fa_claim_share_of(unit, limit, count);
    if (code == FAINA_OK)
        code = read_queues(unit, open, count, want, err);
    candidates = fa_arena_take(&unit->arena, (count + 1) * sizeof(*candidates));
    for (size_t i = 0; code == FAINA_OK && i < count; i++) {
        struct candidate next = {.lane = open[i]};

        code =
            fa_claim_best_of(unit, next.lane, fa_claim_wanted_of(next.lane, want), &next.row, err);
        if (next.row != NULL)
            candidates[kept++] = next;
    }
    *out = candidates;
    *out_count = kept;
    return code;
}

int64_t fa_claim_size_of(const struct fa_row *row)
{
    const char *const parts[] = {row->input, row->first_metadata, row->spec};
    int64_t size = 0;

    if (!row->has_payload)
        return row->lane->task_size;
    for (size_t i = 0; i < FA_COUNT(parts); i++)
        size += parts[i] ? (int64_t)strlen(parts[i]) : 0;
    return size;
}

/* Updates the lane's average task size. */
static void note_task_size(struct fa_lane *lane, const struct faina_task *task)
{
    int64_t size = (int64_t)fa_task_size(task);

    lane->task_size = lane->task_size > 0 ? (7 * lane->task_size + size) / 8 : size;
    lane->task_size += lane->task_size == 0;
}

/* Whether the claim leaves tasks ready that it has read, and thereby locked. */
static bool has_leftover(const struct candidate *candidates, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct fa_lane *lane = candidates[i].lane;

        for (size_t k = lane->ahead_next; k < lane->ahead_count; k++) {
            if (lane->ahead[k]->status == FAINA_PENDING)
                return true;
        }
    }
    return false;
}

/* Takes the best task of all lanes until `limit`, or until the payloads are large, and advances the
 * lane's best task each time. */
static enum faina_code take_best(struct fa_unit *unit, struct fa_op *op,
                                 struct candidate *candidates, size_t count,
                                 const struct fa_claim_lanes *found, int64_t limit,
                                 struct fa_row **taken, size_t *taken_count)
{
    enum faina_code code = FAINA_OK;
    int64_t lease = fa_lease_us(op->claim->lease_ms), size = 0;
    size_t n = 0;

    while (code == FAINA_OK && count > 0) {
        size_t best = 0;

        for (size_t i = 1; i < count; i++) {
            if (is_before(candidates[i].row, candidates[best].row))
                best = i;
        }
        if (!found->is_all &&
            fa_position_is_before(found->horizon, fa_claim_position(candidates[best].row)))
            break; /* lanes that were not read may have better tasks */
        if (fa_lane_has_permits(candidates[best].lane)) {
            taken[n++] = candidates[best].row;
            unit->claimed_key = candidates[best].row->id.key;
            size += fa_claim_size_of(candidates[best].row);
            fa_claim_row(unit, candidates[best].row, op->claim->worker_id, lease);
            if ((int64_t)n == limit || size > FA_PAGE_SIZE_MAX)
                break;
            code = fa_claim_best_of(unit, candidates[best].lane,
                                    fa_claim_wanted_of(candidates[best].lane, limit - (int64_t)n),
                                    &candidates[best].row, &op->error);
        } else {
            candidates[best].row = NULL; /* at its limit now; it keeps may_have_ready */
        }
        if (candidates[best].row == NULL)
            candidates[best] = candidates[--count];
    }
    unit->has_leftover |= has_leftover(candidates, count);
    *taken_count = n;
    return code;
}

/* Takes from the found lanes, up to their horizon, and appends to `taken`. */
static enum faina_code take_from(struct fa_unit *unit, struct fa_op *op,
                                 const struct fa_claim_lanes *found, int64_t limit,
                                 struct fa_row **taken, size_t *taken_count)
{
    int64_t rest = limit - (int64_t)*taken_count;
    struct candidate *candidates = NULL;
    size_t count = 0, more = 0;
    enum faina_code code = open_lanes(unit, op->claim, rest, found->lanes, found->count,
                                      &candidates, &count, &op->error);

    if (code == FAINA_OK)
        code = take_best(unit, op, candidates, count, found, rest, taken + *taken_count, &more);
    *taken_count += more;
    return code;
}

/* Many lanes have ready tasks: finds the best ones. If other nodes have locked their tasks, it
 * finds more, in growing numbers. */
static enum faina_code take_from_found(struct fa_unit *unit, struct fa_op *op, int64_t limit,
                                       struct fa_row **taken, size_t *taken_count)
{
    struct fa_claim_lanes found = {.horizon = {INT64_MIN, 0}};
    enum faina_code code = FAINA_OK;

    for (int64_t spare = 0;
         code == FAINA_OK && (int64_t)*taken_count < limit && !found.is_all && spare <= SPARE_MAX;
         spare = 8 * spare + 8) {
        code = fa_claim_find(unit, op->claim, limit - (int64_t)*taken_count + spare, &found,
                             &op->error);
        if (code == FAINA_OK)
            code = take_from(unit, op, &found, limit, taken, taken_count);
    }
    return code;
}

/* For a shared store. */
static enum faina_code take_from_open(struct fa_unit *unit, struct fa_op *op, int64_t limit,
                                      struct fa_row **taken, size_t *taken_count)
{
    struct fa_claim_lanes all = {.is_all = true};
    enum faina_code code = FAINA_OK;

    *taken_count = 0;
    if (fa_unit_should_share(unit))
        code = refresh_and_read(unit, op->claim, limit, &op->error);
    if (code != FAINA_OK)
        return code;
    if (fa_lanes_are_many(unit->source.lanes))
        return take_from_found(unit, op, limit, taken, taken_count);
    all.lanes = fa_lanes_ready(unit->source.lanes, &all.count);
    return take_from(unit, op, &all, limit, taken, taken_count);
}

/* Shared store: whether no task is ready at all. A polling claim checks this first, since it is
 * nearly always so and costs one small statement. */
static enum faina_code check_empty(struct fa_unit *unit, const struct fa_op *op, bool *is_empty,
                                   struct faina_error *err)
{
    struct fa_keys lanes = {.arena = &unit->arena};
    struct fa_value one = fa_value_int(1);
    bool is_useful = op->is_poll && fa_db_has(unit->source.db, FA_DB_ROUND_TRIPS) &&
                     !unit->has_arrivals && !unit->scan_starts.is_bloated &&
                     unit->share_epoch != unit->epoch;
    enum faina_code code = FAINA_OK;

    if (is_useful)
        code = fa_db_one(unit->source.db, FA_SQL_READY_LANES, &one, 1, fa_keys_sink, &lanes, err);
    *is_empty = is_useful && lanes.count == 0;
    return code;
}

/* Reads what the views of the taken tasks need beside their rows. */
static enum faina_code read_taken(struct fa_unit *unit, struct fa_row *const *taken, size_t count,
                                  struct faina_error *err)
{
    enum faina_code code = FAINA_OK;
    bool has_links = false;

    for (size_t i = 0; i < count; i++)
        has_links |= taken[i]->is_new && taken[i]->flags & FA_FLAG_HAS_DEPS;
    if (has_links)
        code = fa_unit_flush(unit, err); /* they are read back */
    return code == FAINA_OK
               ? fa_rows_read_ahead(&unit->source, taken, count, false, &unit->arena, err)
               : code;
}

enum faina_code fa_do_claim_next(struct fa_unit *unit, struct fa_op *op)
{
    int64_t limit = op->claim->limit > 0 && !unit->claims_one ? op->claim->limit : 1;
    enum faina_code code = FAINA_OK;
    struct faina_tasks *tasks;
    struct fa_row **taken;
    bool is_empty;

    code = fa_claimer_note(unit, op->claim, &op->error);
    if (code == FAINA_OK)
        code = check_empty(unit, op, &is_empty, &op->error);
    if (code == FAINA_OK && is_empty)
        op->tasks = fa_arena_zero(op->arena, 1, sizeof(*tasks));
    if (code != FAINA_OK || is_empty)
        return code;
    fa_claim_set_time(unit);
    /* Claims only remove tasks, so the read-ahead stays valid. */
    code = fa_claims_prepare(unit, &op->error);
    if (code != FAINA_OK)
        return code;
    tasks = fa_arena_zero(op->arena, 1, sizeof(*tasks));
    taken = fa_arena_take(&unit->arena, (size_t)limit * sizeof(struct fa_row *));
    code = (fa_db_has(unit->source.db, FA_DB_MANY_WRITERS) ? take_from_open : fa_claim_from_index)(
        unit, op, limit, taken, &tasks->count);
    if (code != FAINA_OK)
        return code;
    unit->claims++;
    unit->claim_demand -= limit < unit->claim_demand ? limit : unit->claim_demand;
    tasks->items = fa_arena_take(op->arena, (tasks->count + 1) * sizeof(*tasks->items));
    code = read_taken(unit, taken, tasks->count, &op->error);
    for (size_t i = 0; code == FAINA_OK && i < tasks->count; i++) {
        code = fa_row_to_task(&unit->source, taken[i], op->arena, false, false, &tasks->items[i],
                              &op->error);
        if (code == FAINA_OK)
            note_task_size(taken[i]->lane, &tasks->items[i]);
    }
    op->tasks = tasks;
    op->count = (int64_t)tasks->count;
    return code;
}
