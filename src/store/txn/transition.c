/*
 * transition.c - the one function that changes a task's status, and the tasks that it unblocks. See
 * unit.h.
 */
#include "store/txn/unit.h"

#include "model/backoff.h"
#include "model/limits.h"
#include "model/states.h"
#include "service/service.h"
#include "store/txn/failures.h"
#include "store/upkeep/outbox.h"

#include <assert.h>

static void take_permits(struct fa_unit *unit, struct fa_row *row)
{
    for (size_t i = 0; i < row->lane->resource_count; i++) {
        row->lane->resources[i]->in_use++;
        fa_lanes_take_token(unit->source.lanes, row->lane->resources[i]);
        fa_unit_link(unit, FA_LINK_HOLD, row->lane->resources[i]->id, row->id.key, 0);
    }
}

static void give_permits(struct fa_unit *unit, struct fa_row *row)
{
    for (size_t i = 0; i < row->lane->resource_count; i++) {
        struct fa_resource *resource = row->lane->resources[i];

        /* The count comes from the store, which may have been edited: clamped, never asserted. */
        if (resource->in_use > 0)
            resource->in_use--;
        fa_lane_index_unpark(resource);
        fa_unit_link(unit, FA_UNLINK_HOLD, resource->id, row->id.key, 0);
        if (resource->max >= 0)
            unit->has_ready = true; /* a lane that was at its limit may have room again */
    }
}

static void note_end(struct fa_unit *unit, const struct fa_row *row)
{
    unit->ended = fa_grow(unit->ended, unit->ended_count, &unit->ended_size, sizeof(*unit->ended));
    unit->ended[unit->ended_count++] = row->id;
}

static void add_span(struct fa_spans *spans, struct fa_lane *lane, int64_t us)
{
    spans->items = fa_grow(spans->items, spans->count, &spans->size, sizeof(*spans->items));
    spans->items[spans->count++] = (struct fa_unit_span){lane, us > 0 ? us : 0};
}

/* A released task had not begun. */
static bool is_attempt(const struct fa_row *row, unsigned effects)
{
    return !(effects & FA_UNCOUNT) || row->started_us != 0;
}

static bool is_failure(enum fa_trigger trigger)
{
    return trigger == FA_FAIL_RETRY || trigger == FA_FAIL_LAST || trigger == FA_FAIL_FINAL ||
           trigger == FA_LOSE_RETRY || trigger == FA_LOSE_LAST;
}

/* The row still has its holder. */
static void note_attempt(struct fa_unit *unit, const struct fa_row *row, enum fa_trigger trigger,
                         int64_t now)
{
    unit->attempts =
        fa_grow(unit->attempts, unit->attempt_count, &unit->attempt_size, sizeof(*unit->attempts));
    unit->attempts[unit->attempt_count++] = (struct fa_span_attempt){
        .id = row->id,
        .kind = {row->lane->ns, row->lane->type},
        .fence = row->fence,
        .attempt = row->attempts,
        .phase = (enum faina_phase)(row->flags & FA_PHASE_MASK),
        .worker = row->worker,
        .start_us = row->started_us ? row->started_us : row->claimed_us,
        .end_us = now,
        .status = row->status,
        .has_failed = is_failure(trigger),
        .error = is_failure(trigger) ? row->error : NULL,
    };
}

static bool is_retry(enum fa_trigger trigger)
{
    return trigger == FA_FAIL_RETRY || trigger == FA_LOSE_RETRY || trigger == FA_RETRY;
}

/* Whichever is first: the end of the lease, or of the attempt. */
static int64_t first_end(int64_t lease_us, int64_t deadline_us)
{
    return deadline_us != 0 && (lease_us == 0 || deadline_us < lease_us) ? deadline_us : lease_us;
}

/* The attempt's time counts from its claim, and again from its start. */
static void set_deadline(struct fa_row *row, int64_t now)
{
    bool is_capped = row->deadline_us != 0 && row->at_us == row->deadline_us;

    if (row->deadline_us == 0)
        return;
    row->deadline_us += now - row->claimed_us;
    if (is_capped)
        row->at_us = first_end(now + fa_row_lease_us(row), row->deadline_us);
}

static void take_lease(struct fa_unit *unit, struct fa_row *row, const struct fa_change *change,
                       int64_t now)
{
    row->fence++;
    row->worker = fa_unit_text(unit, change->worker);
    row->deadline_us =
        fa_unit_timeout_us(unit, row) > 0 ? unit->now_us + fa_unit_timeout_us(unit, row) : 0;
    row->at_us = change->lease_us > 0 ? unit->now_us + change->lease_us : 0;
    row->at_us = first_end(row->at_us, row->deadline_us);
    row->flags &= FA_FLAGS_MASK;
    if (change->lease_us > 0 && change->lease_us != FA_LEASE_MS_DEFAULT * 1000)
        row->flags |= change->lease_us / 1000 << FA_LEASE_SHIFT;
    row->claimed_us = change->worker != NULL ? now : 0;
    row->started_us = 0;
    row->flags &= ~(FA_FLAG_CLAIM_EVENT | FA_FLAG_START_EVENT);
    if (change->worker != NULL)
        row->flags |= FA_FLAG_CLAIM_EVENT;
    if (row->flags & FA_FLAG_CONTINUES) {
        row->flags |= FA_FLAG_NOT_COUNTED;
    } else {
        row->attempts++;
        row->flags &= ~(FA_FLAG_NOT_COUNTED | FA_SUBTASK_COUNT_MASK);
    }
    row->flags &= ~FA_FLAG_CONTINUES;
}

static void end_or_reopen(struct fa_unit *unit, struct fa_row *row, unsigned effects,
                          enum faina_actor actor, int64_t now)
{
    if (effects & FA_END) {
        row->completed_us = now;
        row->at_us = 0;
        row->flags &= ~(FA_END_ACTOR_MASK | FA_FLAG_CONTINUES);
        row->flags |= (int64_t)actor << FA_END_ACTOR_SHIFT;
        note_end(unit, row);
        fa_outbox_note_end(unit, row);
    }
    if (effects & FA_REOPEN) {
        row->has_left = row->state_table == FA_STATE_TABLE_ENDED;
        if (row->state_table == FA_STATE_TABLE_HELD)
            note_end(unit, row); /* its worker must stop */
        row->completed_us = 0;
        row->error = NULL;
        row->output = NULL;
        row->progress = 0;
        row->at_us = 0;
        row->flags &= ~(FA_FLAG_CONTINUES | FA_END_ACTOR_MASK);
    }
    if (effects & (FA_END | FA_REOPEN))
        row->flags &= ~(FA_FLAG_WAITS_CHILDREN | FA_FLAG_FAIL_FAST);
    /* A new attempt of a parent starts from the beginning and finds its children. The phase of a
     * task whose dependency ended badly stays the same in all its attempts. */
    if (effects & FA_REPEAT &&
        (row->flags & FA_FLAG_HAS_CHILDREN || !(row->flags & FA_FLAG_HAS_DEPS)))
        row->flags &= ~FA_PHASE_MASK;
}

/* A task without a holder: pending (perhaps delayed), or blocked. */
static void step_back(struct fa_unit *unit, struct fa_row *row, unsigned effects,
                      const struct fa_change *change)
{
    row->worker = NULL;
    row->at_us = 0;
    if (effects & FA_UNCOUNT) {
        if (row->flags & FA_FLAG_NOT_COUNTED)
            row->flags |= FA_FLAG_CONTINUES;
        else
            row->attempts--;
        /* Its timer may be gone, because the task had started. */
        if (row->start_by_us != 0 && row->attempts == 0 && row->start_by_us <= unit->now_us)
            fa_unit_set_timer(unit, row, FA_TIMER_START_BY, row->start_by_us);
    }
    if (effects & FA_BACK_OFF) {
        assert(row->has_task); /* the policy is in `task` */
        row->at_us = unit->now_us +
                     fa_backoff_us(fa_row_retry(&unit->source, row), row->attempts, unit->random);
    }
    if (change->until_us > unit->now_us)
        row->at_us = change->until_us;
    else if (change->until_us != 0)
        row->at_us = 0;
}

/* Implicit events (U5) are in the event log, too. */
static void log_implicit(struct fa_unit *unit, const struct fa_row *row, unsigned effects,
                         enum fa_trigger trigger)
{
    if (effects & FA_TAKE_LEASE && row->flags & FA_FLAG_CLAIM_EVENT)
        fa_unit_log_event(unit, row, "claimed", FAINA_CLAIMED, row->claimed_us);
    if (trigger == FA_START)
        fa_unit_log_event(unit, row, "started", row->status, row->started_us);
    if (effects & FA_END)
        fa_unit_log_event(unit, row, faina_status_name(row->status), row->status,
                          row->completed_us);
}

void fa_unit_apply(struct fa_unit *unit, struct fa_row *row, const struct fa_change *change)
{
    const struct fa_rule *rule = fa_rule_find(row->status, change->trigger);
    enum faina_status old = row->status;
    int64_t ready_us = row->due_us > row->updated_us ? row->due_us : row->updated_us;
    unsigned effects;
    int64_t now;

    assert(rule != NULL);
    assert(row->deleted_us == 0);
    effects = rule->effects;
    if (change->trigger == FA_START && old == FAINA_CLAIMED)
        effects &= ~(unsigned)(FA_TAKE_LEASE | FA_COUNT_ATTEMPT);
    if (change->what != NULL)
        fa_unit_store_implicit_events(unit, row);
    now = fa_unit_change(unit, row);
    row->status = (effects & FA_KEEP_STATUS) ? old : rule->to;
    row->due_us = 0;
    if (row->status != FAINA_PENDING)
        row->turn = 0;
    if (row->status != old)
        row->state = change->state;
    if (effects & FA_TAKE_LEASE)
        take_lease(unit, row, change, now);
    if (change->trigger == FA_START) {
        if (row->flags & FA_FLAG_CLAIM_EVENT && row->claimed_us == now)
            now = row->updated_us = now + 1; /* claimed, then started */
        if (old == FAINA_CLAIMED)
            set_deadline(row, now);
        row->started_us = now;
        row->flags |= FA_FLAG_START_EVENT;
    }
    if (!fa_status_uses_resources(old) && fa_status_uses_resources(row->status)) {
        take_permits(unit, row);
        add_span(&unit->waits, row->lane, now - ready_us);
    } else if (fa_status_uses_resources(old) && !fa_status_uses_resources(row->status)) {
        give_permits(unit, row);
        row->flags &= FA_FLAGS_MASK;
        if (unit->wants_spans && is_attempt(row, effects))
            note_attempt(unit, row, change->trigger, now);
        if (!(effects & FA_UNCOUNT))
            add_span(&unit->runs, row->lane,
                     now - (row->started_us ? row->started_us : row->claimed_us));
    }
    if (is_failure(change->trigger))
        fa_failures_note(unit, row);
    if (is_retry(change->trigger))
        add_span(&unit->retries, row->lane, 0);
    if (!fa_status_is_held(row->status))
        row->deadline_us = 0;
    end_or_reopen(unit, row, effects, change->actor, now);
    if (row->status == FAINA_PENDING || row->status == FAINA_BLOCKED)
        step_back(unit, row, effects, change);
    if (row->status == FAINA_BACKGROUND && old != FAINA_BACKGROUND) {
        row->worker = NULL;
        row->at_us = unit->now_us + change->lease_us;
    }
    if (row->status == FAINA_PENDING)
        unit->has_arrivals = true;
    if (row->status != old)
        fa_lane_count(row->lane, (int)old, (int)row->status);
    if (row->at_us != 0 && row->at_us < unit->next_us)
        unit->next_us = row->at_us;
    if (change->what != NULL)
        fa_unit_event(unit, row, change->what, change->actor,
                      change->event_worker ? change->event_worker : change->worker, change->detail);
    else
        log_implicit(unit, row, effects, change->trigger);
}

/* Times of tasks that no column of a state row has. */
void fa_unit_set_timer(struct fa_unit *unit, const struct fa_row *row, enum fa_timer kind,
                       int64_t at_us)
{
    fa_unit_link(unit, FA_LINK_TIMER, at_us, row->id.key, kind);
    if (at_us < unit->next_us)
        unit->next_us = at_us;
}

int64_t fa_unit_timeout_us(const struct fa_unit *unit, const struct fa_row *row)
{
    return fa_row_timeout_ms(&unit->source, row) * 1000;
}

/* Waiting tasks ---------------------------------------------------------------------------- */

void fa_unit_park_until(struct fa_unit *unit, struct fa_row *row, int64_t at_us)
{
    assert(row->status == FAINA_PENDING);
    if (at_us <= unit->now_us)
        return;
    row->at_us = at_us;
    if (at_us < unit->next_us)
        unit->next_us = at_us;
}

void fa_unit_unblock_if_free(struct fa_unit *unit, struct fa_row *row)
{
    bool is_bad = row->deps_bad > 0;

    if (row->status != FAINA_BLOCKED)
        return;
    if (row->deps_left > 0 && !(is_bad && row->flags & FA_FLAG_FAIL_FAST))
        return;
    row->flags &= ~FA_PHASE_MASK;
    if (row->flags & FA_FLAG_WAITS_CHILDREN)
        row->flags |= FA_FLAG_CONTINUES | (is_bad ? FAINA_PHASE_ERROR : FAINA_PHASE_RESUME);
    else if (is_bad)
        row->flags |= FAINA_PHASE_ERROR;
    fa_unit_apply(unit, row,
                  &(struct fa_change){
                      .trigger = FA_UNBLOCK, .actor = FAINA_ACTOR_SYSTEM, .what = "unblocked"});
    row->flags &= ~(FA_FLAG_WAITS_CHILDREN | FA_FLAG_FAIL_FAST);
    if (!(row->flags & FA_FLAG_CONTINUES))
        fa_unit_park_until(unit, row, row->run_at_us);
}

/* Whether an end counts for the waiting task. The end of a child before its parent blocked doesn't
 * count, until the child is reopened. */
static bool is_awaited(struct fa_unit *unit, struct fa_row *row, bool by_child, bool is_end)
{
    bool was = !by_child || row->flags & FA_FLAG_AWAITED;

    if (!was && !is_end) {
        row->flags |= FA_FLAG_AWAITED;
        fa_unit_touch(unit, row);
    }
    return was;
}

static enum faina_code recount(struct fa_unit *unit, int64_t key, bool by_child, struct fa_row *row,
                               bool is_end, struct faina_error *err)
{
    struct fa_row *waiting = NULL;
    enum faina_code code = fa_unit_get(unit, key, false, &waiting, err);
    bool counted;

    if (code == FAINA_TASK_NOT_FOUND)
        return FAINA_OK;
    if (code != FAINA_OK)
        return code;
    if (waiting->status != FAINA_BLOCKED || by_child != !!(waiting->flags & FA_FLAG_WAITS_CHILDREN))
        return FAINA_OK;
    if (by_child && row->flags & FA_FLAG_DETACHED)
        return FAINA_OK;
    counted = is_awaited(unit, row, by_child, is_end);
    if (is_end && !counted)
        return FAINA_OK;
    fa_unit_touch(unit, waiting);
    waiting->deps_left += is_end ? -1 : 1;
    if (is_end)
        waiting->deps_bad += row->status != FAINA_COMPLETED;
    else
        waiting->deps_bad -= counted; /* only a task that ended badly is reopened */
    if (waiting->deps_left < 0)       /* an edited store; doctor reports it */
        waiting->deps_left = 0;
    if (waiting->deps_bad < 0)
        waiting->deps_bad = 0;
    fa_unit_unblock_if_free(unit, waiting);
    return FAINA_OK;
}

enum faina_code fa_unit_wake(struct fa_unit *unit, struct fa_row *row, bool is_end,
                             struct faina_error *err)
{
    struct fa_keys waiting = {.arena = &unit->arena};
    struct fa_value key = fa_value_int(row->id.key);
    enum faina_code code = FAINA_OK;

    if (row->flags & FA_FLAG_HAS_PARENT) {
        int64_t parent = row->parent;

        if (!row->has_task)
            code = fa_db_one(unit->source.db, FA_SQL_TASK_PARENT, &key, 1, fa_db_sink_int, &parent,
                             err);
        if (code == FAINA_OK && parent != 0)
            code = recount(unit, parent, true, row, is_end, err);
    }
    if (code == FAINA_OK && row->flags & FA_FLAG_HAS_DEPENDENTS) {
        code = fa_unit_flush(unit, err); /* the query must see every link */
        if (code == FAINA_OK)
            code = fa_db_one(unit->source.db, FA_SQL_DEP_WAITING, &key, 1, fa_keys_sink, &waiting,
                             err);
        if (code == FAINA_OK)
            code = fa_unit_read_ahead(unit, waiting.keys, waiting.count, err);
        for (size_t i = 0; code == FAINA_OK && i < waiting.count; i++)
            code = recount(unit, waiting.keys[i], false, row, is_end, err);
    }
    return code;
}
