/*
 * claim.c - handing tasks to workers.
 *
 * claim next: (1) finds the lane with the best task, in memory (heads.h) or, where others write to
 * the store as well, among the open lanes; (2) reads the best few of it from the primary key of
 * `ready`; (3) takes the best, again and again; (4) claims them. The cost depends on the limit and
 * on what the claim names, never on how many tasks wait.
 *
 * What was read from a lane and not taken is kept for the next claim of the same transaction
 * (lane->peek), until new tasks have come into line. A new task that the transaction itself puts
 * into an empty line is claimed from there, and never written into it.
 */
#include "sql/ops.h"

#include "sql/claim_inner.h"
#include "sql/show.h"
#include "base/hash.h"
#include "model/limits.h"

#include <assert.h>
#include <stdlib.h>

#define SCAN_RANK 3        /* the column of the rank in ready_scan ... */
#define PLAIN_RANK 2       /* ... and in ready_scan_plain */
#define PAYLOAD_ROWS_MIN 8 /* fewer rows are read without their payloads */
#define UNSEEN_ROWS_MAX 64 /* to read of a lane of whose tasks none was seen, and may be large */
#define LINE_UP_MAX 64     /* more rows than this are written before they are claimed from */
#define SPARE_MAX 4096     /* lanes that are asked for beyond those that are needed */
#define DAY_US 86400000000 /* of the partitions of `task` */
#define CLOCK_SLACK_US 60000000

static bool is_in(const char *text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i], text) == 0)
            return true;
    }
    return false;
}

bool fa_claim_can_reach(const struct faina_claim *claim, const struct fa_lane *lane)
{
    if (claim->services == NULL)
        return true;
    for (size_t i = 0; i < lane->resource_count; i++) {
        if (!is_in(lane->resource_names[i], claim->services, claim->service_count))
            return false;
    }
    return true;
}

/* Whether this claim is for such tasks, and they are not paused. */
static bool is_wanted(const struct faina_claim *claim, const struct fa_lane *lane)
{
    return !lane->of->is_paused &&
           (claim->types == NULL || is_in(lane->type, claim->types, claim->type_count)) &&
           (claim->namespaces == NULL ||
            is_in(lane->ns, claim->namespaces, claim->namespace_count)) &&
           fa_claim_can_reach(claim, lane);
}

bool fa_claim_is_open(const struct faina_claim *claim, const struct fa_lane *lane)
{
    return lane->may_have_ready && is_wanted(claim, lane) && fa_lane_has_permits(lane);
}

/* Reading ahead ---------------------------------------------------------------------------- */

/* Lanes whose lines are read, and how much of each. */
struct reading {
    struct fa_unit *unit;
    struct fa_lane **lanes;
    int64_t *wants;
    size_t count;
    bool is_plain;      /* the statement is ready_scan_plain */
    int64_t since;      /* ... and tasks with these ids are looked for, */
    int64_t before;     /* unless has_old */
    bool *again;        /* ... and this lane needs ready_scan */
    const char **parts; /* not NULL: it is ready_scan_places (fronts.h) */
};

/* Where only a few are wanted of each of many lanes, most are not taken, and payloads would be read
 * in vain. */
static bool wants_payloads(const struct reading *reading, size_t n)
{
    return reading->parts == NULL && reading->wants[n] >= PAYLOAD_ROWS_MIN;
}

static void bind_scan(void *ctx, size_t n, struct fa_value *v)
{
    const struct reading *reading = ctx;
    const struct fa_lane *lane = reading->lanes[n];

    v[0] = fa_value_int(lane->id);
    v[1] = fa_value_int(lane->peek_rank);
    v[2] = fa_value_int(lane->peek_key);
    v[3] = fa_value_int(reading->wants[n]);
    v[4] = fa_value_int(wants_payloads(reading, n));
}

static void bind_plain_scan(void *ctx, size_t n, struct fa_value *v)
{
    const struct reading *reading = ctx;
    const struct fa_lane *lane = reading->lanes[n];

    bind_scan(ctx, n, v);
    v[4] = fa_value_int(lane->has_old ? INT64_MIN : reading->since);
    v[5] = fa_value_int(lane->has_old ? INT64_MAX : reading->before);
}

static void bind_places(void *ctx, size_t n, struct fa_value *v)
{
    const struct reading *reading = ctx;

    v[0] = fa_value_int(reading->lanes[n]->id);
    v[1] = fa_value_text(reading->parts[n]);
    v[2] = fa_value_int(reading->wants[n]);
}

static void add_peek(struct fa_lane *lane, struct fa_row *row)
{
    if (lane->peek_count == lane->peek_size) {
        lane->peek_size = lane->peek_size ? lane->peek_size * 2 : 16;
        lane->peek = fa_realloc(lane->peek, lane->peek_size * sizeof(struct fa_row *));
    }
    lane->peek[lane->peek_count++] = row;
}

/* What keeps a line from being read with ready_scan_plain. */
static void note_odd(struct reading *reading, size_t n, const struct fa_value *columns)
{
    reading->again[n] = true;
    if (fa_row_is_elsewhere(columns))
        reading->lanes[n]->has_old = true;
    else
        reading->lanes[n]->has_rich = true;
}

/* The place of a row in its line, whatever else is wrong with it. A rank that is no integer is
 * behind all that are smaller. */
static void note_read(struct fa_lane *lane, const struct fa_value *key, const struct fa_value *rank)
{
    lane->read_count++;
    lane->read_key = fa_value_as_int(key);
    if (rank->kind == FA_INT)
        lane->read_rank = rank->i;
    else if (rank->kind == FA_REAL && rank->d > -1e15 && rank->d < 1e15)
        lane->read_rank = (int64_t)rank->d + 1, lane->read_key = INT64_MIN;
    else
        lane->read_rank = INT64_MAX;
}

static void sink_scan(void *ctx, size_t n, const struct fa_value *columns)
{
    struct reading *reading = ctx;
    struct fa_unit *unit = reading->unit;
    struct fa_lane *lane = reading->lanes[n];
    struct fa_row *row = fa_unit_known(unit, columns[0].i);

    note_read(lane, &columns[0], &columns[reading->is_plain ? PLAIN_RANK : SCAN_RANK]);
    if (row == NULL) {
        struct fa_row read;

        if (!reading->is_plain)
            fa_row_from_ready_scan(columns, &unit->arena, wants_payloads(reading, n), &read);
        else if (!fa_row_from_plain_scan(columns, &unit->arena, &read))
            note_odd(reading, n, columns);
        if (reading->is_plain && reading->again[n])
            return;
        read.lane = lane;
        if (read.damage == NULL)
            row = fa_unit_adopt(unit, &read);
        else
            (void)fa_row_refuse(&unit->source, &read, read.damage, NULL); /* it stays in line */
    }
    if (row != NULL && !fa_aside_has_task(unit->source.aside, row->id.key, unit->now_us))
        add_peek(lane, row);
}

static void add_reading(struct reading *to, struct fa_lane *lane, int64_t want)
{
    lane->peek_count = lane->peek_next = lane->read_count = 0;
    to->lanes[to->count] = lane;
    to->wants[to->count++] = want;
}

static struct reading new_reading(struct fa_unit *unit, size_t count, bool is_plain)
{
    int64_t now = fa_db_now(unit->source.db);

    return (struct reading){
        .unit = unit,
        .lanes = fa_arena_take(&unit->arena, (count + 1) * sizeof(struct fa_lane *)),
        .wants = fa_arena_take(&unit->arena, (count + 1) * sizeof(int64_t)),
        .is_plain = is_plain,
        .since = fa_id_key_at((now - CLOCK_SLACK_US) / DAY_US * DAY_US),
        .before = fa_id_key_at((now + CLOCK_SLACK_US) / DAY_US * DAY_US + DAY_US),
        .again = fa_arena_zero(&unit->arena, count + 1, sizeof(bool)),
    };
}

static struct fa_db_call scan(struct reading *reading)
{
    size_t plain_params = reading->unit->source.db->is_shared ? 6 : 4;

    if (reading->parts != NULL)
        return (struct fa_db_call){.sql = FA_SQL_READY_SCAN_PLACES,
                                   .rows = reading->count,
                                   .param_count = 3,
                                   .bind = bind_places,
                                   .bind_ctx = reading,
                                   .sink = sink_scan,
                                   .sink_ctx = reading};
    return (struct fa_db_call){.sql =
                                   reading->is_plain ? FA_SQL_READY_SCAN_PLAIN : FA_SQL_READY_SCAN,
                               .rows = reading->count,
                               .param_count = reading->is_plain ? plain_params : 5,
                               .bind = reading->is_plain ? bind_plain_scan : bind_scan,
                               .bind_ctx = reading,
                               .sink = sink_scan,
                               .sink_ctx = reading};
}

/* Where the next reading of a lane's line begins. */
static void note_place(struct fa_lane *lane, int64_t want)
{
    lane->peek_is_last = (int64_t)lane->read_count < want;
    if (lane->read_count == 0)
        return;
    if (lane->read_rank < lane->peek_rank ||
        (lane->read_rank == lane->peek_rank && lane->read_key <= lane->peek_key))
        lane->peek_is_last = true; /* damaged rows, behind which nothing can be found */
    lane->peek_rank = lane->read_rank;
    lane->peek_key = lane->read_key;
}

/* Lines that are read together: most hold only plain tasks, which are read with few columns and
 * their payload, unless only a few are wanted; over a network not even then when there is one line,
 * since these few are going to be taken. A task that is not plain makes its lane be read with all
 * columns until its line is empty. */
struct ahead {
    struct reading plain, rich, worn;
};

#define AHEAD_CALLS FA_LANES_SCANS_MAX

static void plan_ahead(struct fa_unit *unit, struct fa_lane *const *lanes, const int64_t *wants,
                       size_t count, struct ahead *out)
{
    bool is_lone = count == 1 && unit->source.db->is_shared;

    *out = (struct ahead){new_reading(unit, count, true), new_reading(unit, count, false),
                          new_reading(unit, count, false)};
    out->worn.parts = fa_arena_take(&unit->arena, (count + 1) * sizeof(char *));
    for (size_t i = 0; i < count; i++) {
        out->worn.parts[out->worn.count] = fa_lane_parts(lanes[i], &unit->arena);
        if (out->worn.parts[out->worn.count] != NULL)
            add_reading(&out->worn, lanes[i], wants[i]);
        else if (!lanes[i]->has_rich && (is_lone || wants[i] >= PAYLOAD_ROWS_MIN))
            add_reading(&out->plain, lanes[i], wants[i]);
        else
            add_reading(&out->rich, lanes[i], wants[i]);
    }
}

static void call_ahead(struct ahead *ahead, struct fa_db_call *out)
{
    out[0] = scan(&ahead->plain);
    out[1] = scan(&ahead->rich);
    out[2] = scan(&ahead->worn);
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

/* After the calls were run: those that turned out not to be plain are read once more. */
static enum faina_code finish_ahead(struct fa_unit *unit, struct ahead *ahead,
                                    struct fa_lane *const *lanes, const int64_t *wants,
                                    size_t count, struct faina_error *err)
{
    struct reading *plain = &ahead->plain, *rich = &ahead->rich;
    enum faina_code code = FAINA_OK;

    rich->count = 0;
    for (size_t i = 0; i < plain->count; i++) {
        if (plain->again[i])
            add_reading(rich, plain->lanes[i], plain->wants[i]);
    }
    if (rich->count > 0) {
        struct fa_db_call call = scan(rich);

        code = read_now(unit, lanes, count, &call, 1, err);
    }
    for (size_t i = 0; code == FAINA_OK && i < count; i++)
        note_place(lanes[i], wants[i]);
    return code;
}

static enum faina_code read_ahead(struct fa_unit *unit, struct fa_lane *const *lanes,
                                  const int64_t *wants, size_t count, struct faina_error *err)
{
    struct fa_db_call calls[AHEAD_CALLS];
    struct ahead ahead;
    enum faina_code code;

    plan_ahead(unit, lanes, wants, count, &ahead);
    call_ahead(&ahead, calls);
    code = read_now(unit, lanes, count, calls, AHEAD_CALLS, err);
    return code == FAINA_OK ? finish_ahead(unit, &ahead, lanes, wants, count, err) : code;
}

static void reset_peek(const struct fa_unit *unit, struct fa_lane *lane)
{
    lane->peek_count = lane->peek_next = 0;
    lane->peek_is_last = false;
    lane->peek_rank = INT64_MIN;
    lane->peek_key = 0;
    lane->peek_epoch = unit->epoch;
    lane->peek_arrivals = lane->arrivals;
}

/* What was read before may be void. */
static void check_peek(const struct fa_unit *unit, struct fa_lane *lane)
{
    if (lane->peek_epoch != unit->epoch || lane->peek_arrivals != lane->arrivals)
        reset_peek(unit, lane);
}

static bool is_in_line(const struct fa_row *row)
{
    return row->status == FAINA_PENDING && row->at_us == 0 && !row->is_purged;
}

/* Whether a lane was paused, or limited by a resource, while its line was read. */
static bool is_shut(const struct fa_unit *unit, const struct fa_lane *lane)
{
    return lane->of->is_paused ||
           (unit->source.db->is_shared && fa_lane_needs_lock(lane, unit->epoch));
}

/* The best task of a lane that is still in line, or NULL when it has none, or is shut. */
enum faina_code fa_claim_best_of(struct fa_unit *unit, struct fa_lane *lane, int64_t want,
                                 struct fa_row **out, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    *out = NULL;
    check_peek(unit, lane);
    while (!is_shut(unit, lane)) {
        while (lane->peek_next < lane->peek_count) {
            struct fa_row *row = lane->peek[lane->peek_next];

            if (is_in_line(row) && row->lane == lane) { /* an amended one may have left the lane */
                *out = row;
                return FAINA_OK;
            }
            lane->peek_next++;
        }
        if (lane->peek_is_last)
            break;
        code = read_ahead(unit, &lane, &want, 1, err);
        if (code != FAINA_OK)
            return code;
    }
    if (is_shut(unit, lane)) {
        unit->has_leftover = true;
        return FAINA_OK;
    }
    fa_lane_run_dry(lane); /* until a task comes into line */
    return FAINA_OK;
}

/* No more than there are permits for, and than one claim hands out. */
int64_t fa_claim_wanted_of(const struct fa_lane *lane, int64_t want)
{
    int64_t most = lane->task_size > 0 ? FA_PAGE_SIZE_MAX / lane->task_size : UNSEEN_ROWS_MAX;

    want = want < most ? want : most;
    for (size_t i = 0; i < lane->resource_count; i++) {
        const struct fa_resource *resource = lane->resources[i];

        if (resource->max >= 0 && resource->max - resource->in_use < want)
            want = resource->max - resource->in_use;
    }
    return want > 0 ? want : 1;
}

/* What has just come ------------------------------------------------------------------------ */

static bool is_before(const struct fa_row *a, const struct fa_row *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->id.key < b->id.key;
}

/* Whether all that this transaction puts in line is new, and its lines are empty. Where others
 * write too, no line is known to be. */
static bool are_new_in_empty_lines(const struct fa_unit *unit)
{
    if (unit->source.db->is_shared || unit->dirty_count > LINE_UP_MAX)
        return false;
    for (size_t i = 0; i < unit->dirty_count; i++) {
        const struct fa_row *row = unit->dirty[i];

        if (is_in_line(row) && (!row->is_new || row->lane->may_have_ready))
            return false;
    }
    return true;
}

/* As if the line had been read, and this task were in it. */
static void line_up(struct fa_unit *unit, struct fa_row *row)
{
    struct fa_lane *lane = row->lane;
    size_t at;

    if (!lane->may_have_ready)
        reset_peek(unit, lane);
    add_peek(lane, row);
    for (at = lane->peek_count - 1; at > 0 && is_before(row, lane->peek[at - 1]); at--)
        lane->peek[at] = lane->peek[at - 1];
    lane->peek[at] = row;
    lane->peek_is_last = true;
    fa_lane_arrive(lane, row->rank, row->id.key);
    unit->ready_types |= fa_hash_bit(lane->type);
}

enum faina_code fa_claims_prepare(struct fa_unit *unit, struct faina_error *err)
{
    if (!unit->has_arrivals)
        return FAINA_OK;
    if (!are_new_in_empty_lines(unit))
        return fa_unit_flush(unit, err);
    for (size_t i = 0; i < unit->dirty_count; i++) {
        if (is_in_line(unit->dirty[i]))
            line_up(unit, unit->dirty[i]);
    }
    unit->has_arrivals = false;
    return FAINA_OK;
}

/* Claim next ------------------------------------------------------------------------------- */

struct head {
    struct fa_lane *lane;
    struct fa_row *row; /* its best */
};

/* Those of the lanes that this claim may take from now. */
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

/* Permits are the same for all nodes: who takes one has locked its resource. */
static enum faina_code lock_lanes(struct fa_unit *unit, const struct faina_claim *claim,
                                  struct fa_lane **open, size_t *count, struct faina_error *err)
{
    bool needs_lock = false;
    enum faina_code code;

    for (size_t i = 0; i < *count; i++)
        needs_lock |= fa_lane_needs_lock(open[i], unit->epoch);
    if (!needs_lock || !unit->source.db->is_shared)
        return FAINA_OK;
    code = fa_unit_flush(unit, err);
    if (code == FAINA_OK)
        code = fa_lanes_lock(open, *count, unit->epoch, unit->source.db, err);
    *count = filter_lanes(claim, open, *count, open);
    return code;
}

/* Reads the lines of those lanes that nothing is known of, all at once. */
static enum faina_code read_lines(struct fa_unit *unit, struct fa_lane *const *open, size_t count,
                                  int64_t want, struct faina_error *err)
{
    struct fa_lane **unread = fa_arena_take(&unit->arena, (count + 1) * sizeof(struct fa_lane *));
    int64_t *wants = fa_arena_take(&unit->arena, (count + 1) * sizeof(int64_t));
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        check_peek(unit, open[i]);
        if (open[i]->peek_count > 0 || open[i]->peek_is_last)
            continue;
        wants[n] = fa_claim_wanted_of(open[i], want);
        unread[n++] = open[i];
    }
    return n > 0 ? read_ahead(unit, unread, wants, n, err) : FAINA_OK;
}

/* How many tasks the claims want together. Over a network, those that are going to come into this
 * transaction count too, as many as there were in the last one: one reading serves all. */
static int64_t demand(const struct fa_unit *unit, int64_t limit)
{
    int64_t want = unit->claim_demand > limit ? unit->claim_demand : limit;
    int64_t usual = (unit->claims_usual - unit->claims) * limit;

    return unit->source.db->is_shared && usual > want ? usual : want;
}

/* How many are read from each of so many lines: a single lane gives all; of many, a few each are
 * enough to begin with. */
int64_t fa_claim_share_of(const struct fa_unit *unit, int64_t limit, size_t count)
{
    int64_t want = demand(unit, limit);

    if (count > 1)
        want = want / (int64_t)count + (count < 32 ? 4 : 1);
    return want < FA_CLAIM_LIMIT_MAX ? want : FA_CLAIM_LIMIT_MAX;
}

/* Lanes that are likely to be open once the cache is up to date. Who takes from a limited resource
 * locks that first. */
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

/* Over a network: the cache is brought up to date, and with the same question the lines of lanes
 * that are likely to be open are read. Where a guess was wrong, what was read is left in line. */
static enum faina_code share_and_read(struct fa_unit *unit, const struct faina_claim *claim,
                                      int64_t limit, struct faina_error *err)
{
    struct fa_db_call calls[AHEAD_CALLS];
    struct fa_lane **lanes = NULL;
    struct ahead ahead;
    size_t count = 0;
    int64_t *wants;
    enum faina_code code = fa_unit_flush(unit, err);

    if (!unit->fronts.is_worn && fa_lanes_are_few(unit->source.lanes, false))
        count = guess_lanes(unit, claim, &lanes);
    wants = fa_arena_take(&unit->arena, (count + 1) * sizeof(int64_t));
    for (size_t i = 0; i < count; i++) {
        reset_peek(unit, lanes[i]);
        wants[i] = fa_claim_wanted_of(lanes[i], fa_claim_share_of(unit, limit, count));
    }
    plan_ahead(unit, lanes, wants, count, &ahead);
    call_ahead(&ahead, calls);
    if (code == FAINA_OK)
        code = fa_unit_share_and_scan(unit, calls, AHEAD_CALLS, err);
    if (code == FAINA_OK)
        code = finish_ahead(unit, &ahead, lanes, wants, count, err);
    for (size_t i = 0; i < count; i++)
        unit->has_leftover |= lanes[i]->peek_count > 0 && !fa_claim_is_open(claim, lanes[i]);
    return code;
}

/* The heads of those lanes that this claim may take from. */
static enum faina_code open_lanes(struct fa_unit *unit, const struct faina_claim *claim,
                                  int64_t limit, struct fa_lane *const *lanes, size_t lane_count,
                                  struct head **out, size_t *out_count, struct faina_error *err)
{
    size_t count, kept = 0;
    struct fa_lane **open =
        fa_arena_take(&unit->arena, (lane_count + 1) * sizeof(struct fa_lane *));
    enum faina_code code;
    struct head *heads;
    int64_t want;

    count = filter_lanes(claim, lanes, lane_count, open);
    code = lock_lanes(unit, claim, open, &count, err);
    want = fa_claim_share_of(unit, limit, count);
    if (code == FAINA_OK)
        code = read_lines(unit, open, count, want, err);
    heads = fa_arena_take(&unit->arena, (count + 1) * sizeof(*heads));
    for (size_t i = 0; code == FAINA_OK && i < count; i++) {
        struct head head = {.lane = open[i]};

        code =
            fa_claim_best_of(unit, head.lane, fa_claim_wanted_of(head.lane, want), &head.row, err);
        if (head.row != NULL)
            heads[kept++] = head;
    }
    *out = heads;
    *out_count = kept;
    return code;
}

/* What a task carries, or is likely to. */
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

/* Remembers what the tasks of a lane carry. */
static void weigh(struct fa_lane *lane, const struct faina_task *task)
{
    int64_t size = (int64_t)fa_task_size(task);

    lane->task_size = lane->task_size > 0 ? (7 * lane->task_size + size) / 8 : size;
    lane->task_size += lane->task_size == 0;
}

/* Whether tasks were read from a line that this claim leaves there. */
static bool has_leftover(const struct head *heads, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct fa_lane *lane = heads[i].lane;

        for (size_t k = lane->peek_next; k < lane->peek_count; k++) {
            if (lane->peek[k]->status == FAINA_PENDING)
                return true;
        }
    }
    return false;
}

/* Takes the best of all heads until `limit`, or until they carry much, and moves each lane's head
 * on. */
static enum faina_code take_best(struct fa_unit *unit, struct fa_op *op, struct head *heads,
                                 size_t count, const struct fa_found *found, int64_t limit,
                                 struct fa_row **taken, size_t *taken_count)
{
    enum faina_code code = FAINA_OK;
    int64_t lease = fa_lease_us(op->claim->lease_ms), size = 0;
    size_t n = 0;

    while (code == FAINA_OK && count > 0) {
        size_t best = 0;

        for (size_t i = 1; i < count; i++) {
            if (is_before(heads[i].row, heads[best].row))
                best = i;
        }
        if (!found->is_all &&
            fa_place_is_before(found->horizon,
                               (struct fa_place){heads[best].row->rank, heads[best].row->id.key}))
            break; /* lanes that were not looked at may have better ones */
        if (fa_lane_has_permits(heads[best].lane)) {
            taken[n++] = heads[best].row;
            unit->claimed_key = heads[best].row->id.key;
            size += fa_claim_size_of(heads[best].row);
            fa_take(unit, heads[best].row, op->claim->worker_id, lease);
            if ((int64_t)n == limit || size > FA_PAGE_SIZE_MAX)
                break;
            code = fa_claim_best_of(unit, heads[best].lane,
                                    fa_claim_wanted_of(heads[best].lane, limit - (int64_t)n),
                                    &heads[best].row, &op->error);
        } else {
            heads[best].row = NULL; /* throttled now; it keeps may_have_ready */
        }
        if (heads[best].row == NULL)
            heads[best] = heads[--count];
    }
    unit->has_leftover |= has_leftover(heads, count);
    *taken_count = n;
    return code;
}

/* Takes from some lanes, up to their horizon; adds to what was taken. */
static enum faina_code take_from(struct fa_unit *unit, struct fa_op *op,
                                 const struct fa_found *found, int64_t limit, struct fa_row **taken,
                                 size_t *taken_count)
{
    int64_t rest = limit - (int64_t)*taken_count;
    struct head *heads = NULL;
    size_t count = 0, more = 0;
    enum faina_code code =
        open_lanes(unit, op->claim, rest, found->lanes, found->count, &heads, &count, &op->error);

    if (code == FAINA_OK)
        code = take_best(unit, op, heads, count, found, rest, taken + *taken_count, &more);
    *taken_count += more;
    return code;
}

/* Many lanes have tasks in line: the best are asked for, again when other nodes have them locked,
 * and then for more each time. */
static enum faina_code take_from_found(struct fa_unit *unit, struct fa_op *op, int64_t limit,
                                       struct fa_row **taken, size_t *taken_count)
{
    struct fa_found found = {.horizon = {INT64_MIN, 0}};
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

/* For stores that others write to as well. */
static enum faina_code take_from_open(struct fa_unit *unit, struct fa_op *op, int64_t limit,
                                      struct fa_row **taken, size_t *taken_count)
{
    struct fa_found all = {.is_all = true};
    enum faina_code code = FAINA_OK;

    *taken_count = 0;
    if (fa_unit_should_share(unit))
        code = share_and_read(unit, op->claim, limit, &op->error);
    if (code != FAINA_OK)
        return code;
    if (fa_lanes_are_many(unit->source.lanes))
        return take_from_found(unit, op, limit, taken, taken_count);
    all.lanes = fa_lanes_ready(unit->source.lanes, &all.count);
    return take_from(unit, op, &all, limit, taken, taken_count);
}

/* Whether there is nothing in line at all. Asked by those who look just in case, over a network:
 * nearly always that is all they need to know. */
static enum faina_code look_for_any(struct fa_unit *unit, const struct fa_op *op, bool *is_empty,
                                    struct faina_error *err)
{
    struct fa_keys lanes = {.arena = &unit->arena};
    struct fa_value one = fa_value_int(1);
    bool is_useful = op->is_poll && unit->source.db->is_shared && !unit->has_arrivals &&
                     !unit->fronts.is_worn && unit->share_epoch != unit->epoch;
    enum faina_code code = FAINA_OK;

    if (is_useful)
        code = fa_db_one(unit->source.db, FA_SQL_READY_LANES, &one, 1, fa_keys_sink, &lanes, err);
    *is_empty = is_useful && lanes.count == 0;
    return code;
}

/* What is told of the tasks beside their rows. */
static enum faina_code read_taken(struct fa_unit *unit, struct fa_row *const *taken, size_t count,
                                  struct faina_error *err)
{
    enum faina_code code = FAINA_OK;
    bool has_links = false;

    for (size_t i = 0; i < count; i++)
        has_links |= taken[i]->is_new && taken[i]->flags & FA_FLAG_HAS_DEPS;
    if (has_links)
        code = fa_unit_flush(unit, err); /* they are read back */
    return code == FAINA_OK ? fa_rows_expect(&unit->source, taken, count, false, &unit->arena, err)
                            : code;
}

enum faina_code fa_do_claim_next(struct fa_unit *unit, struct fa_op *op)
{
    int64_t limit = op->claim->limit > 0 && !unit->claims_one ? op->claim->limit : 1;
    enum faina_code code = FAINA_OK;
    struct faina_tasks *tasks;
    struct fa_row **taken;
    bool is_empty;

    code = look_for_any(unit, op, &is_empty, &op->error);
    if (code == FAINA_OK && is_empty)
        op->tasks = fa_arena_zero(op->arena, 1, sizeof(*tasks));
    if (code != FAINA_OK || is_empty)
        return code;
    /* Claims themselves only take away, so they leave what was read ahead valid. */
    code = fa_claims_prepare(unit, &op->error);
    if (code != FAINA_OK)
        return code;
    tasks = fa_arena_zero(op->arena, 1, sizeof(*tasks));
    taken = fa_arena_take(&unit->arena, (size_t)limit * sizeof(struct fa_row *));
    code = (unit->source.db->is_shared ? take_from_open : fa_claim_from_heads)(
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
            weigh(taken[i]->lane, &tasks->items[i]);
    }
    op->tasks = tasks;
    op->count = (int64_t)tasks->count;
    return code;
}
