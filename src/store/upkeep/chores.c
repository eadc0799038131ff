/*
 * chores.c - runs the chores that are due (chores/chores.h), and finds out when the next ones are.
 *
 * None of it scans the backlog: parked tasks are found by index parked_at, and `held` is as small
 * as the number of tasks under way.
 */
#include "sql/chores/chores.h"
#include "sql/chores/scope.h"
#include "sql/flows.h"

#define FAR_US (INT64_MAX / 2) /* of a damaged row; later than anything */

static enum faina_code find_due(struct fa_unit *unit, enum fa_sql sql, int64_t limit,
                                struct fa_keys *out, struct faina_error *err)
{
    int64_t until =
        sql == FA_SQL_HELD_LOST ? unit->heard_us - fa_chore_grace_us(unit) : unit->now_us;
    struct fa_value params[3] = {fa_value_int(until), fa_value_int(limit),
                                 fa_value_int(unit->now_us)};

    *out = (struct fa_keys){.arena = &unit->arena};
    return fa_db_one(unit->source.db, sql, params, 3, fa_keys_sink, out, err);
}

/* Nothing can be done about a row that is due; it must not be found again and again. */
static enum faina_code report(struct fa_unit *unit, int64_t key, const char *reason)
{
    fa_aside_report_task(unit->source.aside, key, NULL, reason, unit->now_us);
    return FAINA_OK;
}

/* One task whose time has come. One that can't be read has been reported (row.h, R4), and nothing
 * of it is changed. */
static enum faina_code tend(struct fa_unit *unit, int64_t key, struct faina_error *err)
{
    static fa_chore_fn *const by_status[FAINA_STATUS_COUNT] = {
        [FAINA_PENDING] = fa_chore_promote,   [FAINA_CLAIMED] = fa_chore_recover,
        [FAINA_RUNNING] = fa_chore_recover,   [FAINA_BLOCKED] = fa_chore_link,
        [FAINA_BACKGROUND] = fa_chore_expire,
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
        return report(unit, key, "it is in more than one of the tables that say how it stands");
    return by_status[row->status] ? by_status[row->status](unit, row, err) : FAINA_OK;
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
        at += fa_chore_grace_us(unit);
        if (at > unit->heard_us && at < unit->hear_us)
            at = unit->hear_us;
    }
    if (code == FAINA_OK && at != 0 && at < *next_us)
        *next_us = at;
    return code;
}

enum faina_code fa_chores_run(struct fa_unit *unit, int64_t limit, int64_t *next_us,
                              struct faina_error *err)
{
    static const enum fa_sql due[] = {FA_SQL_PARKED_DUE, FA_SQL_HELD_LOST};
    enum faina_code code = fa_unit_flush(unit, err);

    for (size_t i = 0; code == FAINA_OK && i < FA_COUNT(due); i++) {
        struct fa_keys found;

        code = find_due(unit, due[i], limit, &found, err);
        if (code == FAINA_OK)
            code = fa_unit_expect(unit, found.keys, found.count, err);
        for (size_t k = 0; code == FAINA_OK && k < found.count; k++)
            code = tend(unit, found.keys[k], err);
    }
    if (code == FAINA_OK)
        code = fa_crons_fire(unit, limit, err);
    if (code == FAINA_OK)
        code = fa_unit_flush(unit, err);
    if (code == FAINA_OK && fa_chore_takes(unit, FA_ASIDE_CHORE, "fold"))
        code = fa_chore_fold(unit, err);
    *next_us = INT64_MAX;
    if (code == FAINA_OK)
        code = next_of(unit, FA_SQL_PARKED_NEXT, next_us, err);
    if (code == FAINA_OK)
        code = next_of(unit, FA_SQL_HELD_NEXT, next_us, err);
    if (code == FAINA_OK)
        code = next_of(unit, FA_SQL_CRON_NEXT, next_us, err);
    if (code == FAINA_OK && fa_chore_takes(unit, FA_ASIDE_CHORE, "workers"))
        code = fa_workers_forget(unit, next_us, err);
    if (code == FAINA_OK)
        code = fa_flows_tell_ends(unit, err);
    if (code == FAINA_OK)
        code = fa_joins_expire(unit, limit, next_us, err);
    if (code == FAINA_OK)
        code = fa_flows_take_inbox(unit, limit, next_us, err);
    if (code == FAINA_OK)
        code = fa_unit_flush(unit, err);
    if (code == FAINA_OK)
        code = fa_flows_tell_ends(unit, err);
    if (code == FAINA_OK && fa_chore_takes(unit, FA_ASIDE_CHORE, "empty"))
        code = fa_chore_empty(unit, next_us, err);
    return code;
}
