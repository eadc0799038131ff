/*
 * chores.c - runs the chores that are due (chores.h), and computes when the next ones are.
 *
 * None of it scans the backlog: parked tasks are found by index parked_at, and `held` has only the
 * tasks that workers hold.
 */
#include "store/upkeep/chores.h"

#include "model/states.h"
#include "store/txn/json_text.h"
#include "store/upkeep/chore_scope.h"
#include "store/upkeep/outbox.h"
#include "store/workflow/definitions.h"

#define FAR_US (INT64_MAX / 2) /* the latest time; a damaged row may have a later one */
#define FOLD_MAX 10000
#define LEASE_GRACE_US 100000 /* where nodes share a store, their clocks differ a little */

/* Due tasks ---------------------------------------------------------------------------------- */

/* One due task, with its columns of `task`. */
typedef enum faina_code chore_fn(struct fa_unit *unit, struct fa_row *row, struct faina_error *err);

/* A delayed task becomes ready. Users see no change: no new version, no event. */
static enum faina_code promote(struct fa_unit *unit, struct fa_row *row, struct faina_error *err)
{
    (void)err;
    row->due_us = row->at_us;
    row->at_us = 0;
    unit->has_arrivals = true;
    fa_unit_touch(unit, row);
    return FAINA_OK;
}

/* The error of an attempt that the engine ends, as JSON. */
static const char *error_json(struct fa_unit *unit, const char *kind, const char *message)
{
    return fa_failure_json(&(struct faina_failure){.message = message, .kind = kind}, &unit->arena);
}

/* The attempt has run too long, whatever its lease. */
static enum faina_code time_out(struct fa_unit *unit, struct fa_row *row, struct faina_error *err)
{
    int64_t began_us = row->started_us ? row->started_us : row->claimed_us;
    const char *message =
        fa_arena_printf(&unit->arena, "the attempt took longer than %.3g s",
                        (double)(row->deadline_us - (began_us ? began_us : row->updated_us)) / 1e6);

    return fa_end_attempt(unit, row,
                          &(struct fa_attempt_end){.what = "timeout",
                                                   .by_engine = true,
                                                   .actor = FAINA_ACTOR_SYSTEM,
                                                   .worker = row->worker,
                                                   .error = error_json(unit, "timeout", message)},
                          err);
}

/* The lease has expired: the attempt fails. */
static enum faina_code expire_lease(struct fa_unit *unit, struct fa_row *row,
                                    struct faina_error *err)
{
    const char *worker = row->worker;
    const char *message = fa_arena_printf(&unit->arena, "worker %s did not renew its lease",
                                          worker ? worker : "(none)");

    if (row->deadline_us != 0 && row->deadline_us <= unit->now_us)
        return time_out(unit, row, err);
    unit->lost_count++;
    return fa_end_attempt(
        unit, row,
        &(struct fa_attempt_end){.what = "lease_lost",
                                 .is_lost = true,
                                 .by_engine = true,
                                 .actor = FAINA_ACTOR_SYSTEM,
                                 .worker = worker,
                                 .error = error_json(unit, "lease_lost", message)},
        err);
}

/* The time-out of background work is over: the attempt fails. */
static enum faina_code expire_background(struct fa_unit *unit, struct fa_row *row,
                                         struct faina_error *err)
{
    return fa_end_attempt(
        unit, row,
        &(struct fa_attempt_end){
            .what = "expired",
            .by_engine = true,
            .actor = FAINA_ACTOR_SYSTEM,
            .error = error_json(unit, "expired", "the background work was not finished in time")},
        err);
}

/* A blocked task with a time was submitted in SQL. Its dependencies are marked as having
 * dependents, and those that have not ended are counted. A deleted one counts as ended badly. */
static enum faina_code link_dependencies(struct fa_unit *unit, struct fa_row *row,
                                         struct faina_error *err)
{
    struct fa_keys needs = {.arena = &unit->arena};
    struct fa_value key = fa_value_int(row->id.key);
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_DEP_LIST, &key, 1, fa_keys_sink, &needs, err);
    int64_t left = 0, bad = 0;

    if (code == FAINA_OK)
        code = fa_unit_read_ahead(unit, needs.keys, needs.count, err);
    for (size_t i = 0; code == FAINA_OK && i < needs.count; i++) {
        struct fa_row *need = NULL;

        code = fa_unit_get(unit, needs.keys[i], false, &need, err);
        if (code == FAINA_TASK_NOT_FOUND) {
            code = FAINA_OK;
            bad++;
        } else if (code == FAINA_OK) {
            left += !fa_status_is_ended(need->status);
            bad += fa_status_is_ended(need->status) && need->status != FAINA_COMPLETED;
            need->flags |= FA_FLAG_HAS_DEPENDENTS;
            fa_unit_touch(unit, need);
        }
    }
    if (code != FAINA_OK)
        return code;
    row->deps_left = left;
    row->deps_bad = bad;
    row->at_us = 0;
    fa_unit_touch(unit, row);
    fa_unit_unblock_if_free(unit, row);
    return FAINA_OK;
}

/* How long after its end a lease is expired: no node may regard it as valid any more. */
static int64_t grace_us(const struct fa_unit *unit)
{
    return fa_db_has(unit->source.db, FA_DB_MANY_WRITERS) ? LEASE_GRACE_US : 0;
}

static enum faina_code find_due(struct fa_unit *unit, enum fa_sql sql, int64_t limit,
                                struct fa_keys *out, struct faina_error *err)
{
    int64_t until =
        sql == FA_SQL_HELD_EXPIRED ? unit->expire_before_us - grace_us(unit) : unit->now_us;
    struct fa_value params[3] = {fa_value_int(until), fa_value_int(limit),
                                 fa_value_int(unit->now_us)};

    *out = (struct fa_keys){.arena = &unit->arena};
    return fa_db_one(unit->source.db, sql, params, 3, fa_keys_sink, out, err);
}

/* Sets a due task aside that can't be processed, so that it is not found again at once. */
static enum faina_code report(struct fa_unit *unit, int64_t key, const char *reason)
{
    fa_aside_report_task(unit->source.aside, key, NULL, reason, unit->now_us);
    return FAINA_OK;
}

/* Runs the chore of one due task. A task that can't be read has been reported (row.h, R4), and is
 * not changed. */
static enum faina_code run_due(struct fa_unit *unit, int64_t key, struct faina_error *err)
{
    static chore_fn *const by_status[FAINA_STATUS_COUNT] = {
        [FAINA_PENDING] = promote,
        [FAINA_CLAIMED] = expire_lease,
        [FAINA_RUNNING] = expire_lease,
        [FAINA_BLOCKED] = link_dependencies,
        [FAINA_BACKGROUND] = expire_background,
    };
    struct fa_row *row = NULL;
    enum faina_code code;

    if (!fa_chore_takes_int(unit, FA_ASIDE_TASK, key))
        return FAINA_OK;
    code = fa_unit_get(unit, key, true, &row, err);
    if (code == FAINA_TASK_NOT_FOUND)
        return report(unit, key, "it is due, but it has no row in table task, or is deleted");
    if (code == FAINA_INTERNAL && !unit->source.db->has_failed &&
        fa_aside_has_task(unit->source.aside, key, unit->now_us))
        return FAINA_OK;
    if (code != FAINA_OK)
        return code;
    if (row->at_us == 0 || row->at_us > unit->now_us)
        return report(unit, key,
                      "it is in more than one of the tables ready, held, parked and ended");
    return by_status[row->status] ? by_status[row->status](unit, row, err) : FAINA_OK;
}

/* Timers ------------------------------------------------------------------------------------- */

struct timers {
    struct fa_arena *arena;
    struct timer {
        int64_t task, at_us, kind;
    } * items;
    size_t count, size;
};

static void sink_timer(void *ctx, size_t n, const struct fa_value *c)
{
    struct timers *timers = ctx;

    (void)n;
    timers->items = fa_arena_grow(timers->arena, timers->items, timers->count, &timers->size,
                                  sizeof(*timers->items));
    timers->items[timers->count++] = (struct timer){c[0].i, c[1].i, c[2].i};
}

/* A task that was not started by its time ends. A changed time has a timer of its own. */
static enum faina_code expire_start(struct fa_unit *unit, struct fa_row *row,
                                    const struct timer *timer, struct faina_error *err)
{
    bool is_waiting = row->status == FAINA_PENDING || row->status == FAINA_BLOCKED;
    int64_t count = 0;

    if (!is_waiting || row->attempts > 0 || row->start_by_us != timer->at_us)
        return FAINA_OK;
    fa_unit_note(unit, row, "expired", FAINA_ACTOR_SYSTEM, NULL, NULL);
    return fa_cancel_tree(unit, row, FAINA_ACTOR_SYSTEM, "Expired", &count, err);
}

static enum faina_code run_timer(struct fa_unit *unit, const struct timer *timer,
                                 struct faina_error *err)
{
    struct fa_row *row = NULL;
    enum faina_code code;

    if (!fa_chore_takes_int(unit, FA_ASIDE_TASK, timer->task))
        return FAINA_OK;
    code = fa_unit_get(unit, timer->task, true, &row, err);
    if (code == FAINA_OK && timer->kind == FA_TIMER_START_BY)
        code = expire_start(unit, row, timer, err);
    if (code == FAINA_TASK_NOT_FOUND ||
        (code == FAINA_INTERNAL && !unit->source.db->has_failed &&
         fa_aside_has_task(unit->source.aside, timer->task, unit->now_us)))
        code = FAINA_OK;
    if (code == FAINA_OK)
        fa_unit_link(unit, FA_UNLINK_TIMER, timer->at_us, timer->task, timer->kind);
    return code;
}

static enum faina_code run_timers(struct fa_unit *unit, int64_t limit, struct faina_error *err)
{
    struct timers due = {.arena = &unit->arena};
    struct fa_value params[3] = {fa_value_int(unit->now_us), fa_value_int(limit),
                                 fa_value_int(unit->now_us)};
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_TIMER_DUE, params, 3, sink_timer, &due, err);

    for (size_t i = 0; code == FAINA_OK && i < due.count; i++)
        code = run_timer(unit, &due.items[i], err);
    return code;
}

static enum faina_code next_of(struct fa_unit *unit, enum fa_sql sql, int64_t *next_us,
                               struct faina_error *err)
{
    struct fa_value now = fa_value_int(unit->now_us);
    int64_t at = 0;
    enum faina_code code = fa_db_one(unit->source.db, sql, &now, 1, fa_db_sink_int, &at, err);

    if (at > FAR_US)
        at = FAR_US;
    if (at != 0 && sql == FA_SQL_HELD_NEXT) {
        at += grace_us(unit);
        if (at > unit->expire_before_us && at < unit->grace_until_us)
            at = unit->grace_until_us;
    }
    if (code == FAINA_OK && at != 0 && at < *next_us)
        *next_us = at;
    return code;
}

static void add_sql_submits(void *ctx, size_t row, const struct fa_value *columns)
{
    struct fa_unit *unit = ctx;
    struct fa_kind kind = {fa_value_dup(&columns[0], &unit->arena),
                           fa_value_dup(&columns[1], &unit->arena)};

    (void)row;
    unit->sql_submits = fa_arena_grow(&unit->arena, unit->sql_submits, unit->sql_submit_count,
                                      &unit->sql_submit_size, sizeof(*unit->sql_submits));
    unit->sql_submits[unit->sql_submit_count++] = (struct fa_kind_count){kind, columns[2].i};
}

/* Submits in SQL count in rows of their own, so that they don't wait for each other. They are in
 * the metrics and the history from here on. */
static enum faina_code fold_counts(struct fa_unit *unit, struct faina_error *err)
{
    struct fa_value most = fa_value_int(FOLD_MAX);

    if (!fa_db_has(unit->source.db, FA_DB_SQL_CLIENTS))
        return FAINA_OK;
    return fa_db_one(unit->source.db, FA_SQL_TALLY_FOLD, &most, 1, add_sql_submits, unit, err);
}

enum faina_code fa_chores_run(struct fa_unit *unit, int64_t limit, int64_t *next_us,
                              struct faina_error *err)
{
    static const enum fa_sql due[] = {FA_SQL_PARKED_DUE, FA_SQL_HELD_EXPIRED};
    enum faina_code code = fa_unit_flush(unit, err);

    for (size_t i = 0; code == FAINA_OK && i < FA_COUNT(due); i++) {
        struct fa_keys found;

        code = find_due(unit, due[i], limit, &found, err);
        if (code == FAINA_OK)
            code = fa_unit_read_ahead(unit, found.keys, found.count, err);
        for (size_t k = 0; code == FAINA_OK && k < found.count; k++)
            code = run_due(unit, found.keys[k], err);
    }
    if (code == FAINA_OK)
        code = run_timers(unit, limit, err);
    if (code == FAINA_OK)
        code = fa_crons_fire(unit, limit, err);
    if (code == FAINA_OK)
        code = fa_unit_flush(unit, err);
    if (code == FAINA_OK && fa_chore_takes(unit, FA_ASIDE_CHORE, "fold"))
        code = fold_counts(unit, err);
    *next_us = INT64_MAX;
    if (code == FAINA_OK)
        code = next_of(unit, FA_SQL_PARKED_NEXT, next_us, err);
    if (code == FAINA_OK)
        code = next_of(unit, FA_SQL_HELD_NEXT, next_us, err);
    if (code == FAINA_OK)
        code = next_of(unit, FA_SQL_TIMER_NEXT, next_us, err);
    if (code == FAINA_OK)
        code = next_of(unit, FA_SQL_CRON_NEXT, next_us, err);
    if (code == FAINA_OK && fa_chore_takes(unit, FA_ASIDE_CHORE, "workers"))
        code = fa_workers_remove_dead(unit, next_us, err);
    if (code == FAINA_OK && fa_chore_takes(unit, FA_ASIDE_CHORE, "unhandled"))
        code = fa_chore_unhandled(unit, next_us, err);
    if (code == FAINA_OK)
        code = fa_flows_process_ends(unit, err);
    if (code == FAINA_OK)
        code = fa_joins_expire(unit, limit, next_us, err);
    if (code == FAINA_OK)
        code = fa_flows_take_inbox(unit, limit, next_us, err);
    if (code == FAINA_OK)
        code = fa_unit_flush(unit, err);
    if (code == FAINA_OK)
        code = fa_flows_process_ends(unit, err);
    if (code == FAINA_OK && fa_chore_takes(unit, FA_ASIDE_CHORE, "empty"))
        code = fa_chore_empty(unit, next_us, err);
    if (code == FAINA_OK && fa_chore_takes(unit, FA_ASIDE_CHORE, "outbox"))
        code = fa_chore_outbox(unit, next_us, err);
    return code;
}
