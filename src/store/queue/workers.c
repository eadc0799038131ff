/*
 * workers.c - registers, renews and removes workers; and which of them could run a task.
 *
 * A heartbeat renews all leases of a worker with one statement, held_renew. It bypasses the rows of
 * the unit, because a renewal doesn't change the task: neither version nor event. So the unit is
 * flushed before, and rows that it has loaded are updated afterwards.
 */
#include "store/read/lookup.h"
#include "store/queue/ops.h"
#include "store/read/pages.h"
#include "store/txn/row_check.h"

#include "json/json.h"
#include "model/limits.h"
#include "store/db/store.h"
#include "service/access.h"

#include <assert.h>
#include <stdlib.h>

/* After which a worker without a heartbeat is dead. */
static int64_t dead_us(const struct fa_source *source)
{
    return source->store != NULL ? source->store->worker_dead_us
                                 : FA_WORKER_DEAD_MS * INT64_C(1000);
}

/* Reads what fa_names_json wrote; items are NULL if the text is damaged. */
static struct fa_texts read_names(const struct fa_value *value, struct fa_arena *arena)
{
    struct fa_json array, item;
    struct fa_json_iter it;
    const char **items = NULL;
    size_t count = 0, size = 0;

    if (value->kind != FA_TEXT ||
        fa_json_check(value->text, 2, "names", FAINA_INTERNAL, NULL) != FAINA_OK)
        return (struct fa_texts){0};
    array = fa_json_value(value->text);
    if (array.type != FA_JSON_ARRAY)
        return (struct fa_texts){0};
    items = fa_arena_grow(arena, items, count, &size, sizeof(*items)); /* never NULL */
    for (it = fa_json_iter(array); fa_json_next(&it, NULL, &item);) {
        if (item.type != FA_JSON_STRING)
            continue;
        items = fa_arena_grow(arena, items, count, &size, sizeof(*items));
        items[count++] = fa_json_text(item, arena);
    }
    return (struct fa_texts){items, count};
}

/* Heartbeats ------------------------------------------------------------------------------- */

struct renewal {
    struct fa_unit *unit;
    const struct fa_op *op;
    struct hold {
        struct fa_id id;
        int64_t fence; /* 0: any */
        bool is_renewed;
    } * holds;
    size_t count, size;
    int64_t lease_us; /* 0: that of each claim; never shortens a lease */
};

static void add_hold(struct renewal *renewal, struct fa_id id, int64_t fence)
{
    renewal->holds = fa_arena_grow(&renewal->unit->arena, renewal->holds, renewal->count,
                                   &renewal->size, sizeof(*renewal->holds));
    renewal->holds[renewal->count++] = (struct hold){.id = id, .fence = fence};
}

static void sink_hold(void *ctx, size_t row, const struct fa_value *columns)
{
    (void)row;
    add_hold(ctx, (struct fa_id){fa_value_as_int(&columns[0]), fa_value_as_int(&columns[1])},
             fa_value_as_int(&columns[2]));
}

/* The tasks that the worker lists; with renews_all, those that it holds. */
static enum faina_code find_holds(struct renewal *renewal, struct faina_error *err)
{
    const struct fa_op *op = renewal->op;
    struct fa_value id = fa_value_text(op->worker.self->id);

    if (op->worker.renews_all)
        return fa_db_one(renewal->unit->source.db, FA_SQL_HELD_BY, &id, 1, sink_hold, renewal, err);
    for (size_t i = 0; i < op->worker.held_count; i++) {
        struct fa_id task = {0};
        bool is_id = fa_id_parse(op->worker.held[i].id, &task);

        assert(is_id); /* fa_check_heartbeat */
        (void)is_id;
        add_hold(renewal, task, op->worker.held[i].fence);
    }
    return FAINA_OK;
}

static void bind_renewal(void *ctx, size_t row, struct fa_value *params)
{
    struct renewal *renewal = ctx;

    params[0] = fa_value_int(renewal->holds[row].id.key);
    params[1] = fa_value_int(renewal->holds[row].id.tail);
    params[2] = fa_value_text(renewal->op->worker.self->id);
    params[3] = fa_value_int(renewal->holds[row].fence);
    params[4] = fa_value_int(renewal->unit->now_us);
    params[5] = fa_value_int(renewal->lease_us);
    params[6] = fa_value_int(FA_LEASE_MS_DEFAULT * 1000);
}

static void note_end_of_lease(struct fa_unit *unit, int64_t at_us)
{
    if (at_us < unit->next_us)
        unit->next_us = at_us;
}

static void sink_renewal(void *ctx, size_t row, const struct fa_value *columns)
{
    struct renewal *renewal = ctx;
    struct fa_row *known = fa_unit_cached(renewal->unit, columns[0].i);

    renewal->holds[row].is_renewed = true;
    note_end_of_lease(renewal->unit, columns[1].i);
    if (known != NULL)
        known->at_us = columns[1].i;
}

static bool may_renew(const struct fa_op *op, const struct hold *hold, const struct fa_row *row)
{
    return row->id.tail == hold->id.tail && fa_status_is_held(row->status) && row->worker != NULL &&
           strcmp(row->worker, op->worker.self->id) == 0 &&
           (hold->fence == 0 || hold->fence == row->fence) &&
           fa_access_reaches(op->grant, row->lane->ns);
}

/* Renews row by row. In a shared store the rows are locked first. A caller that is limited to some
 * namespaces renews only their tasks. */
static enum faina_code renew_rows(struct fa_unit *unit, struct fa_op *op, struct renewal *renewal)
{
    size_t count = renewal->count;
    int64_t *keys = fa_arena_take(&unit->arena, (count + 1) * sizeof(*keys));
    enum faina_code code;

    for (size_t i = 0; i < count; i++)
        keys[i] = renewal->holds[i].id.key;
    code = fa_unit_read_ahead(unit, keys, count, &op->error);
    for (size_t i = 0; code == FAINA_OK && i < count; i++) {
        struct fa_row *row = fa_unit_cached(unit, keys[i]);
        struct hold *hold = &renewal->holds[i];

        if (row == NULL && !fa_db_has(unit->source.db, FA_DB_ROUND_TRIPS)) {
            code = fa_unit_get(unit, keys[i], false, &row, &op->error);
            if (code == FAINA_TASK_NOT_FOUND || code == FAINA_INTERNAL) {
                code = FAINA_OK; /* it counts as lost */
                continue;
            }
        }
        if (code != FAINA_OK || row == NULL || !may_renew(op, hold, row))
            continue;
        hold->is_renewed = true;
        if (renewal->lease_us > 0)
            row->at_us = unit->now_us + renewal->lease_us;
        else if (row->at_us < unit->now_us + fa_row_lease_us(row))
            row->at_us = unit->now_us + fa_row_lease_us(row);
        if (row->deadline_us != 0 && row->at_us > row->deadline_us)
            row->at_us = row->deadline_us;
        note_end_of_lease(unit, row->at_us);
        fa_unit_touch(unit, row);
    }
    return code;
}

static enum faina_code renew_all(struct fa_unit *unit, struct fa_op *op, struct renewal *renewal)
{
    enum faina_code code;

    *renewal = (struct renewal){.unit = unit, .op = op, .lease_us = op->worker.lease_ms * 1000};
    code = fa_unit_flush(unit, &op->error);
    if (code == FAINA_OK)
        code = find_holds(renewal, &op->error);
    if (code != FAINA_OK || renewal->count == 0)
        return code;
    if (fa_db_has(unit->source.db, FA_DB_ROUND_TRIPS) || fa_access_is_limited(op->grant))
        return renew_rows(unit, op, renewal);
    return fa_db_run(unit->source.db,
                     &(struct fa_db_call){.sql = FA_SQL_HELD_RENEW,
                                          .rows = renewal->count,
                                          .param_count = 7,
                                          .bind = bind_renewal,
                                          .bind_ctx = renewal,
                                          .sink = sink_renewal,
                                          .sink_ctx = renewal},
                     &op->error);
}

/* Why a task could not be renewed. */
static enum faina_code find_loss(struct fa_unit *unit, const struct faina_held *held,
                                 struct faina_lost *out, struct faina_error *err)
{
    struct fa_row *row = NULL;
    enum faina_code code = fa_unit_find(unit, held->id, false, &row, err);

    *out = (struct faina_lost){.fence = held->fence, .why = FAINA_LOSS_LOST};
    memcpy(out->id, held->id, sizeof(out->id));
    if (code == FAINA_OK && row->status == FAINA_CANCELLED &&
        fa_access_reaches(unit->grant, row->lane->ns) &&
        (held->fence == 0 || held->fence == row->fence))
        out->why = FAINA_LOSS_CANCELLED;
    /* A removed or damaged task must not prevent the renewal of the others. */
    return code == FAINA_TASK_NOT_FOUND || code == FAINA_INTERNAL ? FAINA_OK : code;
}

/* A heartbeat without a list reports no lost tasks. */
static enum faina_code set_result(struct fa_unit *unit, struct fa_op *op,
                                  const struct renewal *renewal)
{
    size_t listed_count = op->worker.renews_all ? 0 : renewal->count;
    struct faina_beat *beat = fa_arena_zero(op->arena, 1, sizeof(*beat));
    struct faina_error err = {0};
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; i < renewal->count; i++)
        beat->renewed_count += renewal->holds[i].is_renewed;
    beat->items =
        fa_arena_zero(op->arena, renewal->count - beat->renewed_count + 1, sizeof(*beat->items));
    for (size_t i = 0; code == FAINA_OK && i < listed_count; i++) {
        if (!renewal->holds[i].is_renewed)
            code = find_loss(unit, &op->worker.held[i], &beat->items[beat->lost_count++], &err);
    }
    if (code == FAINA_OK)
        op->beat = beat;
    else
        op->error = err;
    return code;
}

static void sink_lane(void *ctx, size_t row, const struct fa_value *columns)
{
    fa_keys_sink(ctx, row, &columns[3]);
}

/* Whether the caller may register an unregistered id: no task of another namespace may be held
 * under it, since its worker could not continue. */
static enum faina_code check_free(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_db *db = unit->source.db;
    struct fa_keys lanes = {.arena = &unit->arena};
    struct fa_value id = fa_value_text(op->worker.self->id);
    enum faina_code code = fa_unit_flush(unit, &op->error);

    if (code == FAINA_OK)
        code = fa_db_one(db, FA_SQL_HELD_BY, &id, 1, sink_lane, &lanes, &op->error);
    for (size_t i = 0; code == FAINA_OK && i < lanes.count; i++) {
        struct fa_lane *lane;

        code = fa_lanes_read(unit->source.lanes, db, lanes.keys[i], &lane, &op->error);
        if (code == FAINA_OK && !fa_access_reaches(op->grant, lane->ns))
            code = fa_refuse_worker(op->worker.self->id, &op->error);
    }
    return code;
}

/* Whether the caller may act as this worker. *owner: the namespaces that it belongs to, or will. */
static enum faina_code permit_self(struct fa_unit *unit, struct fa_op *op, const char **owner)
{
    bool is_found;
    enum faina_code code;

    *owner = fa_access_namespaces(op->grant, &unit->arena);
    if (!fa_access_is_limited(op->grant))
        return FAINA_OK;
    code = fa_worker_owner(unit, op->worker.self->id, &is_found, owner, &op->error);
    if (code != FAINA_OK)
        return code;
    if (is_found)
        return fa_access_owns(op->grant, *owner)
                   ? FAINA_OK
                   : fa_refuse_worker(op->worker.self->id, &op->error);
    *owner = fa_access_namespaces(op->grant, &unit->arena);
    return check_free(unit, op);
}

static enum faina_code put_worker(struct fa_unit *unit, struct fa_op *op)
{
    const struct faina_worker *self = op->worker.self;
    const char *owner;
    bool is_put = false;
    enum faina_code code = permit_self(unit, op, &owner);
    bool is_local = op->grant == NULL; /* a part of this node, and not a client */
    struct fa_value params[12] = {
        fa_value_text(self->id),
        fa_value_text(self->hostname),
        fa_value_int(unit->now_us),
        fa_value_int(self->pool_size),
        fa_value_text(fa_names_json(&unit->arena, self->types, self->type_count)),
        fa_value_text(fa_names_json(&unit->arena, self->services, self->service_count)),
        fa_value_text(self->version),
        fa_value_text(fa_access_namespaces(op->grant, &unit->arena)),
        fa_value_text(code == FAINA_OK ? owner : NULL),
        fa_value_int(!fa_access_is_limited(op->grant)),
        fa_value_text(is_local && unit->source.store != NULL ? unit->source.store->node : NULL),
        fa_value_int(unit->now_us + dead_us(&unit->source)),
    };

    unit->actor.worker = NULL;
    if (code == FAINA_OK)
        code = fa_db_one(unit->source.db, FA_SQL_WORKER_PUT, params, 12, fa_sink_found, &is_put,
                         &op->error);
    /* A process that had the file before leads no more. */
    if (code == FAINA_OK && is_local && !fa_db_has(unit->source.db, FA_DB_MANY_WRITERS))
        code =
            fa_db_one(unit->source.db, FA_SQL_WORKER_LEAD, &params[10], 1, NULL, NULL, &op->error);
    if (code == FAINA_OK && !is_put) /* another node has registered it */
        code = fa_refuse_worker(self->id, &op->error);
    return code;
}

enum faina_code fa_do_worker_put(struct fa_unit *unit, struct fa_op *op)
{
    struct renewal renewal;
    enum faina_code code = put_worker(unit, op);

    if (code == FAINA_OK)
        code = renew_all(unit, op, &renewal);
    if (code == FAINA_OK)
        code = set_result(unit, op, &renewal);
    if (unit->now_us + dead_us(&unit->source) < unit->next_us)
        unit->next_us = unit->now_us + dead_us(&unit->source);
    return code;
}

/* Removing --------------------------------------------------------------------------------- */

/* NOT_FOUND also for a worker of other namespaces. */
static enum faina_code remove_worker(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_value id = fa_value_text(op->id);
    const char *owner = NULL;
    bool found = true;
    enum faina_code code = FAINA_OK;

    unit->actor.worker = NULL;
    if (fa_access_is_limited(op->grant))
        code = fa_worker_owner(unit, op->id, &found, &owner, &op->error);
    if (code == FAINA_OK && found && fa_access_owns(op->grant, owner)) {
        found = false;
        code = fa_db_one(unit->source.db, FA_SQL_WORKER_DELETE, &id, 1, fa_sink_found, &found,
                         &op->error);
    } else {
        found = false;
    }
    if (code == FAINA_OK && !found)
        code = fa_error_set(&op->error, FAINA_NOT_FOUND, "there is no worker %.255s", op->id);
    return code;
}

enum faina_code fa_do_worker_remove(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_value id = fa_value_text(op->id);
    struct fa_keys unstarted = {.arena = &unit->arena};
    enum faina_code code = remove_worker(unit, op);

    if (code == FAINA_OK)
        code = fa_claimer_forget(unit, op->id, &op->error);
    if (code == FAINA_OK)
        code = fa_unit_flush(unit, &op->error); /* includes claims of this batch */
    if (code == FAINA_OK)
        code = fa_db_one(unit->source.db, FA_SQL_HELD_UNSTARTED, &id, 1, fa_keys_sink, &unstarted,
                         &op->error);
    for (size_t i = 0; code == FAINA_OK && i < unstarted.count; i++) {
        struct fa_row *row = NULL;

        code = fa_unit_get(unit, unstarted.keys[i], true, &row, &op->error);
        if (code == FAINA_OK && fa_rule_find(row->status, FA_RELEASE) != NULL &&
            fa_access_reaches(op->grant, row->lane->ns)) {
            fa_return_to_queue(unit, row, FA_RELEASE, op->id);
            op->count++;
        } else if (code == FAINA_TASK_NOT_FOUND || code == FAINA_INTERNAL) {
            code = FAINA_OK; /* a damaged task: its lease will expire */
        }
    }
    return code;
}

enum faina_code fa_workers_remove_dead(struct fa_unit *unit, int64_t *next_us,
                                       struct faina_error *err)
{
    struct fa_value limit = fa_value_int(unit->now_us - dead_us(&unit->source));
    int64_t oldest = 0;
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_WORKER_OLDEST, NULL, 0, fa_db_sink_int, &oldest, err);

    if (code == FAINA_OK && oldest != 0 && oldest <= limit.i) {
        code = fa_db_one(unit->source.db, FA_SQL_WORKER_DEAD, &limit, 1, NULL, NULL, err);
        oldest = 0;
        if (code == FAINA_OK)
            code = fa_db_one(unit->source.db, FA_SQL_WORKER_OLDEST, NULL, 0, fa_db_sink_int,
                             &oldest, err);
    }
    if (code == FAINA_OK && oldest != 0 && oldest < *next_us - dead_us(&unit->source))
        *next_us = oldest + dead_us(&unit->source);
    return code;
}

/* Listing ---------------------------------------------------------------------------------- */

struct worker_list {
    struct fa_source *source;
    struct fa_arena *arena;
    const struct fa_grant *grant;
    struct fa_pager pager;
    const char *last; /* id of the last row that was read */
    struct faina_worker *items;
    size_t count, size;
};

static void sink_worker(void *ctx, size_t row, const struct fa_value *c)
{
    static const struct fa_form form = {
        "worker", "xXttwJJXnT",
        "id hostname started_us last_heartbeat_us pool_size types services version is_leader "
        "leader_until_us"};
    struct worker_list *list = ctx;
    struct fa_texts types, services;

    (void)row;
    if (!fa_source_check(list->source, &form, c, &c[0], list->arena) ||
        !fa_access_owns(list->grant, fa_value_dup(&c[11], list->arena))) {
        if (fa_pager_skip_row(&list->pager, c, 12))
            list->last = fa_value_dup(&c[0], list->arena);
        return;
    }
    if (!fa_pager_take_row(&list->pager, c, 12))
        return;
    list->last = fa_value_dup(&c[0], list->arena);
    types = read_names(&c[5], list->arena);
    services = read_names(&c[6], list->arena);
    list->items =
        fa_arena_grow(list->arena, list->items, list->count, &list->size, sizeof(*list->items));
    list->items[list->count++] = (struct faina_worker){
        .id = list->last,
        .hostname = fa_value_dup(&c[1], list->arena),
        .started_us = fa_value_as_int(&c[2]),
        .last_heartbeat_us = fa_value_as_int(&c[3]),
        .pool_size = (int)(fa_value_as_int(&c[4]) > 0 ? fa_value_as_int(&c[4]) : 0),
        .types = types.items,
        .type_count = types.count,
        .services = services.items,
        .service_count = services.count,
        .version = fa_value_dup(&c[7], list->arena),
        .is_leader = fa_value_as_int(&c[8]) != 0,
        .leader_until_us = fa_value_as_int(&c[9]),
        .held = fa_value_as_int(&c[10]),
    };
}

static int newest_first(const void *a, const void *b)
{
    const struct faina_worker *x = a, *y = b;

    if (x->last_heartbeat_us != y->last_heartbeat_us)
        return x->last_heartbeat_us < y->last_heartbeat_us ? 1 : -1;
    return strcmp(x->id, y->id);
}

/* Pages are ordered by id, which heartbeats don't change; within a page the newest heartbeat is
 * first. */
enum faina_code fa_read_workers(struct fa_source *source, struct fa_op *op, int64_t now_us)
{
    struct worker_list list = {.source = source,
                               .arena = op->arena,
                               .grant = op->grant,
                               .pager = fa_pager_of_part(&op->part)};
    struct fa_value params[4] = {fa_value_int(now_us - dead_us(source)), fa_value_text(op->id)};
    const char *after;
    enum faina_code code = fa_cursor_read(op->part.cursor, op->arena, &after, 1, &op->error);

    while (code == FAINA_OK) {
        params[2] = fa_value_text(after);
        params[3] = fa_pager_next(&list.pager);
        code = fa_db_one(source->db, FA_SQL_WORKER_LIST, params, 4, sink_worker, &list, &op->error);
        if (code != FAINA_OK || list.last == NULL)
            break;
        after = list.last;
        if (!fa_pager_goes_on(&list.pager))
            break;
    }
    if (code == FAINA_OK && list.pager.has_more)
        op->next_cursor = fa_cursor_write(op->arena, &after, 1);
    if (code == FAINA_OK && list.count > 0)
        qsort(list.items, list.count, sizeof(*list.items), newest_first);
    if (code == FAINA_OK && op->id != NULL && list.count == 0)
        code = fa_error_set(&op->error, FAINA_NOT_FOUND, "there is no worker %.255s", op->id);
    if (code != FAINA_OK)
        return code;
    op->workers = fa_arena_zero(op->arena, 1, sizeof(*op->workers));
    op->workers->items = list.items;
    op->workers->count = list.count;
    return FAINA_OK;
}

struct skills {
    struct fa_arena scratch;
    const struct fa_lane *lane;
    struct fa_worker_set workers;
    bool *is_reached; /* by resource of the lane: a worker that handles the type reaches it */
    bool is_whole;    /* one worker reaches all of them */
};

static void sink_skills(void *ctx, size_t row, const struct fa_value *c)
{
    struct skills *skills = ctx;
    struct fa_texts types = read_names(&c[0], &skills->scratch);
    struct fa_texts services = read_names(&c[1], &skills->scratch);
    struct fa_texts namespaces = read_names(&c[2], &skills->scratch);
    bool reaches_all = true;

    (void)row;
    if (c[2].kind == FA_TEXT && !fa_texts_have(&namespaces, skills->lane->ns))
        return; /* it can't claim the tasks of this namespace */
    skills->workers.live++;
    if (types.count > 0 && !fa_names_have(&types, skills->lane->type))
        return;
    skills->workers.handling++;
    for (size_t i = 0; i < skills->lane->resource_count; i++) {
        if (services.items == NULL || fa_names_have(&services, skills->lane->resource_names[i]))
            skills->is_reached[i] = true;
        else
            reaches_all = false;
    }
    skills->is_whole |= reaches_all;
}

enum faina_code fa_read_worker_set(struct fa_source *source, const struct fa_lane *lane,
                                   int64_t now_us, struct fa_worker_set *out,
                                   struct faina_error *err)
{
    struct fa_value since = fa_value_int(now_us - dead_us(source));
    struct skills skills = {.lane = lane};
    enum faina_code code;

    skills.is_reached = fa_arena_zero(&skills.scratch, lane->resource_count + 1, sizeof(bool));
    code = fa_db_one(source->db, FA_SQL_WORKER_SKILLS, &since, 1, sink_skills, &skills, err);
    *out = skills.workers;
    out->lacks_service = skills.workers.handling > 0 && !skills.is_whole;
    for (size_t i = 0; out->lacks_service && i < lane->resource_count; i++) {
        if (!skills.is_reached[i])
            out->missing = lane->resource_names[i];
    }
    fa_arena_finish(&skills.scratch);
    return code;
}

/* Live workers ----------------------------------------------------------------------------- */

struct fa_live_workers {
    struct fa_arena *arena;
    struct live_worker {
        struct fa_texts types, services, namespaces;
        bool has_namespaces;
    } * items;
    size_t count, size;
};

static void sink_live(void *ctx, size_t row, const struct fa_value *c)
{
    struct fa_live_workers *workers = ctx;

    (void)row;
    workers->items = fa_arena_grow(workers->arena, workers->items, workers->count, &workers->size,
                                   sizeof(*workers->items));
    workers->items[workers->count++] = (struct live_worker){
        .types = read_names(&c[0], workers->arena),
        .services = read_names(&c[1], workers->arena),
        .namespaces = read_names(&c[2], workers->arena),
        .has_namespaces = c[2].kind == FA_TEXT,
    };
}

enum faina_code fa_live_workers_read(struct fa_unit *unit, struct fa_live_workers **out,
                                     struct faina_error *err)
{
    struct fa_value params[2] = {fa_value_int(unit->now_us - dead_us(&unit->source)),
                                 fa_value_int(unit->now_us)};

    *out = fa_arena_zero(&unit->arena, 1, sizeof(**out));
    (*out)->arena = &unit->arena;
    return fa_db_one(unit->source.db, FA_SQL_UNHANDLED_SKILLS, params, 2, sink_live, *out, err);
}

static bool reaches_all(const struct fa_texts *services, const struct fa_lane *lane)
{
    for (size_t i = 0; services->items != NULL && i < lane->resource_count; i++)
        if (!fa_names_have(services, lane->resource_names[i]))
            return false;
    return true;
}

bool fa_live_workers_handle(const struct fa_live_workers *workers, const struct fa_lane *lane)
{
    for (size_t i = 0; i < workers->count; i++) {
        const struct live_worker *worker = &workers->items[i];

        if ((!worker->has_namespaces || fa_texts_have(&worker->namespaces, lane->ns)) &&
            (worker->types.count == 0 || fa_names_have(&worker->types, lane->type)) &&
            reaches_all(&worker->services, lane))
            return true;
    }
    return false;
}

int64_t fa_worker_dead_us(const struct fa_source *source)
{
    return dead_us(source);
}
