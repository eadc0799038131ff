/*
 * chore_unhandled.c - ends tasks that no live worker could handle for as long as their type allows.
 *
 * Only types with that policy are checked. Of each, the lanes with ready tasks are compared with
 * the live workers: those with a heartbeat, those that claim, and those that hold a task of the
 * lane. The table `unhandled` has the lanes for which there is none, and since when. So a restart,
 * or another leader, goes on counting.
 *
 * The time of a task counts from when it became ready, or from when the lane became unhandled,
 * whichever is later. Once a lane has been unhandled for long enough, its ready tasks are read in
 * the order of claims. In one priority the tasks that were never delayed are in the order of their
 * creation, so the first one that is too young ends the read of its priority: waiting tasks are not
 * read again and again. While a type is paused, the time doesn't count.
 */
#include "store/upkeep/chores.h"

#include "store/txn/json_text.h"

#include <stdio.h>

#define CHECK_US_MIN                                                                               \
    100000 /* how often the workers are compared: a tenth of the policy's time ... */
#define CHECK_US_MAX 5000000 /* ... within these limits */
#define PAGE 500
#define PAGES_MAX 8 /* in one transaction */
#define KEY_END INT64_MAX

struct since {
    struct fa_arena *arena;
    struct since_item {
        int64_t lane, at_us;
        bool is_seen; /* no live worker handles it now */
    } * items;
    size_t count, size;
};

static void sink_since(void *ctx, size_t n, const struct fa_value *c)
{
    struct since *since = ctx;

    (void)n;
    since->items = fa_arena_grow(since->arena, since->items, since->count, &since->size,
                                 sizeof(*since->items));
    since->items[since->count++] =
        (struct since_item){.lane = fa_value_as_int(&c[0]), .at_us = fa_value_as_int(&c[1])};
}

static void sink_found(void *ctx, size_t n, const struct fa_value *columns)
{
    (void)n;
    (void)columns;
    *(bool *)ctx = true;
}

/* Whether the tasks of the lane are handled, or are not meant to be. */
static enum faina_code is_handled(struct fa_unit *unit, const struct fa_live_workers *workers,
                                  const struct fa_lane *lane, bool *out, struct faina_error *err)
{
    struct fa_value type[2] = {fa_value_text(lane->ns), fa_value_text(lane->type)};
    struct fa_value held[2] = {fa_value_int(lane->id), fa_value_int(unit->now_us)};
    enum faina_code code = FAINA_OK;

    *out = fa_live_workers_handle(workers, lane);
    if (!*out)
        code = fa_db_one(unit->source.db, FA_SQL_PAUSED_GET, type, 2, sink_found, out, err);
    if (code == FAINA_OK && !*out)
        code = fa_db_one(unit->source.db, FA_SQL_UNHANDLED_HELD, held, 2, sink_found, out, err);
    return code;
}

static enum faina_code run_one(struct fa_unit *unit, enum fa_sql sql, int64_t lane, int64_t at_us,
                               size_t count, struct faina_error *err)
{
    struct fa_value params[2] = {fa_value_int(lane), fa_value_int(at_us)};

    return fa_db_one(unit->source.db, sql, params, count, NULL, NULL, err);
}

/* Ending tasks ----------------------------------------------------------------------------- */

static enum faina_code fail(struct fa_unit *unit, struct fa_row *row,
                            const struct fa_policy *policy, struct faina_error *err)
{
    const char *message =
        fa_arena_printf(&unit->arena, "no live worker could handle the type %.255s for %.6g s",
                        row->lane->type, (double)policy->set.unhandled_after_ms / 1e3);

    row->error = fa_failure_json(
        &(struct faina_failure){.message = message, .kind = "no_handler", .permanent = true},
        &unit->arena);
    fa_unit_apply(unit, row,
                  &(struct fa_change){.trigger = FA_FAIL_FINAL, .actor = FAINA_ACTOR_SYSTEM});
    return fa_unit_wake(unit, row, true, err);
}

struct page {
    struct fa_arena *arena;
    struct page_item {
        int64_t key, rank, created_us;
    } * items;
    int64_t *keys;
    size_t count;
};

static void sink_page(void *ctx, size_t n, const struct fa_value *c)
{
    struct page *page = ctx;

    (void)n;
    if (page->count == PAGE)
        return;
    page->items[page->count] =
        (struct page_item){fa_value_as_int(&c[0]), fa_value_as_int(&c[1]), fa_value_as_int(&c[2])};
    page->keys[page->count] = page->items[page->count].key;
    page->count++;
}

static enum faina_code read_page(struct fa_unit *unit, const struct fa_lane *lane,
                                 struct fa_position from, struct page *page,
                                 struct faina_error *err)
{
    struct fa_value params[4] = {fa_value_int(lane->id), fa_value_int(from.rank),
                                 fa_value_int(from.key), fa_value_int(PAGE)};
    enum faina_code code;

    page->items = fa_arena_take(&unit->arena, PAGE * sizeof(*page->items));
    page->keys = fa_arena_take(&unit->arena, PAGE * sizeof(*page->keys));
    page->count = 0;
    code = fa_db_one(unit->source.db, FA_SQL_UNHANDLED_READY, params, 4, sink_page, page, err);
    return code == FAINA_OK ? fa_unit_read_ahead(unit, page->keys, page->count, err) : code;
}

/* The tasks of a page whose time is over end. *from becomes the position to go on from. */
static enum faina_code end_page(struct fa_unit *unit, const struct fa_policy *policy,
                                const struct page *page, int64_t since_us, struct fa_position *from,
                                struct faina_error *err)
{
    int64_t after_us = policy->set.unhandled_after_ms * 1000;
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; code == FAINA_OK && i < page->count; i++) {
        const struct page_item *item = &page->items[i];
        struct fa_row *row = NULL;
        int64_t at_us, ready_us;

        if (item->rank == from->rank && from->key == KEY_END)
            continue; /* the rest of this priority is younger */
        *from = (struct fa_position){item->rank, item->key};
        code = fa_unit_get(unit, item->key, true, &row, err);
        if (code == FAINA_TASK_NOT_FOUND ||
            (code == FAINA_INTERNAL && !unit->source.db->has_failed)) {
            code = FAINA_OK; /* taken meanwhile, or damaged and reported */
            continue;
        }
        if (code != FAINA_OK || row->status != FAINA_PENDING || row->at_us > unit->now_us)
            continue;
        ready_us = row->due_us > row->updated_us ? row->due_us : row->updated_us;
        at_us = (ready_us > since_us ? ready_us : since_us) + after_us;
        if (at_us <= unit->now_us) {
            code = fail(unit, row, policy, err);
            continue;
        }
        if (at_us < unit->unhandled.next_us)
            unit->unhandled.next_us = at_us;
        if (item->created_us + after_us > unit->now_us)
            *from = (struct fa_position){item->rank, KEY_END};
    }
    return code;
}

/* Ends the tasks of a lane that has been unhandled for long enough. *is_done is false when there
 * may be more. */
static enum faina_code end_tasks(struct fa_unit *unit, const struct fa_policy *policy,
                                 const struct fa_lane *lane, int64_t since_us, int *pages_left,
                                 bool *is_done, struct faina_error *err)
{
    struct fa_unhandled *state = &unit->unhandled;
    struct page page = {.arena = &unit->arena};
    enum faina_code code = FAINA_OK;

    if (state->lane != lane->id)
        state->from = (struct fa_position){INT32_MIN, 0};
    state->lane = lane->id;
    *is_done = false;
    for (; code == FAINA_OK && !*is_done && *pages_left > 0; (*pages_left)--) {
        code = fa_unit_flush(unit, err); /* the tasks that have ended leave the queue */
        if (code == FAINA_OK)
            code = read_page(unit, lane, state->from, &page, err);
        if (code == FAINA_OK && page.count > 0)
            code = end_page(unit, policy, &page, since_us, &state->from, err);
        *is_done = page.count == 0;
    }
    if (*is_done)
        state->lane = 0;
    return code;
}

/* Checking --------------------------------------------------------------------------------- */

struct check {
    struct fa_unit *unit;
    const struct fa_live_workers *workers;
    struct since since;
    int pages_left;
    bool is_done;
};

static enum faina_code check_lane(struct check *check, const struct fa_policy *policy,
                                  const struct fa_lane *lane, struct faina_error *err)
{
    struct fa_unit *unit = check->unit;
    int64_t at_us = unit->now_us, due_us;
    bool handled, is_known = false, is_done = true;
    enum faina_code code = is_handled(unit, check->workers, lane, &handled, err);

    if (code != FAINA_OK || handled)
        return code;
    for (size_t i = 0; i < check->since.count; i++) {
        struct since_item *item = &check->since.items[i];

        if (item->lane != lane->id)
            continue;
        item->is_seen = is_known = true;
        if (item->at_us < at_us)
            at_us = item->at_us;
    }
    if (!is_known)
        code = run_one(unit, FA_SQL_UNHANDLED_PUT, lane->id, at_us, 2, err);
    due_us = at_us + policy->set.unhandled_after_ms * 1000;
    if (code == FAINA_OK && due_us <= unit->now_us)
        code = end_tasks(unit, policy, lane, at_us, &check->pages_left, &is_done, err);
    else if (due_us < unit->unhandled.next_us)
        unit->unhandled.next_us = due_us;
    check->is_done &= is_done;
    return code;
}

static enum faina_code check_type(struct check *check, const struct fa_policy *policy,
                                  struct faina_error *err)
{
    struct fa_unit *unit = check->unit;
    struct fa_value type[2] = {fa_value_text(policy->set.ns), fa_value_text(policy->set.type)};
    struct fa_keys lanes = {.arena = &unit->arena};
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_UNHANDLED_LANES, type, 2, fa_keys_sink, &lanes, err);

    for (size_t i = 0; code == FAINA_OK && i < lanes.count; i++) {
        struct fa_lane *lane;

        code = fa_lanes_read(unit->source.lanes, unit->source.db, lanes.keys[i], &lane, err);
        if (code == FAINA_OK)
            code = check_lane(check, policy, lane, err);
    }
    return code;
}

/* How long until the workers are compared again. */
static int64_t interval_us(const struct fa_policy *const *policies, size_t count)
{
    int64_t us = CHECK_US_MAX;

    for (size_t i = 0; i < count; i++)
        if (policies[i]->set.unhandled_after_ms * 100 < us)
            us = policies[i]->set.unhandled_after_ms * 100;
    return us > CHECK_US_MIN ? us : CHECK_US_MIN;
}

static enum faina_code check_all(struct fa_unit *unit, const struct fa_policy *const *policies,
                                 size_t count, struct faina_error *err)
{
    struct check check = {.unit = unit, .pages_left = PAGES_MAX, .is_done = true};
    struct fa_live_workers *workers = NULL;
    enum faina_code code = fa_unit_flush(unit, err);

    check.since.arena = &unit->arena;
    if (code == FAINA_OK)
        code = fa_claimers_expire(unit, err);
    if (code == FAINA_OK)
        code = fa_live_workers_read(unit, &workers, err);
    check.workers = workers;
    if (code == FAINA_OK)
        code = fa_db_one(unit->source.db, FA_SQL_UNHANDLED_ALL, NULL, 0, sink_since, &check.since,
                         err);
    unit->unhandled.next_us = INT64_MAX;
    for (size_t i = 0; code == FAINA_OK && i < count; i++)
        code = check_type(&check, policies[i], err);
    for (size_t i = 0; code == FAINA_OK && i < check.since.count; i++)
        if (!check.since.items[i].is_seen)
            code = run_one(unit, FA_SQL_UNHANDLED_DELETE, check.since.items[i].lane, 0, 1, err);
    unit->unhandled.at_us =
        check.is_done ? unit->now_us + interval_us(policies, count) : unit->now_us;
    if (unit->unhandled.next_us < unit->unhandled.at_us)
        unit->unhandled.at_us = unit->unhandled.next_us;
    return code;
}

enum faina_code fa_chore_unhandled(struct fa_unit *unit, int64_t *next_us, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;
    size_t count;
    const struct fa_policy *const *policies = fa_policy_unhandled(unit->source.policies, &count);

    if (count == 0)
        return FAINA_OK;
    if (unit->unhandled.at_us <= unit->now_us ||
        unit->unhandled.at_us > unit->now_us + CHECK_US_MAX) /* the clock was set back */
        code = check_all(unit, policies, count, err);
    if (unit->unhandled.at_us < *next_us)
        *next_us = unit->unhandled.at_us;
    return code;
}
