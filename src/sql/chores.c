/*
 * chores.c - what the clock asks for: due tasks into line, lost leases back, background work that
 * is over its time, schedules (crons.c), workers that are silent, and joins that have waited long
 * enough; and what submits in SQL leave to the leader: to link tasks to those that they wait for,
 * and to add up their counts.
 *
 * None of it scans the backlog: parked tasks are found by index parked_at, and `held` is as small
 * as the number of tasks under way. Each chore is idempotent: it looks at the row again before it
 * changes it.
 */
#include "sql/flows.h"

#include "base/json.h"

#define SKIP_US 1000000
#define FOLD_MAX 10000
#define LEASE_GRACE_US 100000 /* where nodes share a store, they know its clock only roughly */

/* How long after its end a lease is taken back: no node may think that it still runs. */
static int64_t lease_grace_us(const struct fa_unit *unit)
{
    return unit->source.db->is_shared ? LEASE_GRACE_US : 0;
}

static enum faina_code find_due(struct fa_unit *unit, enum fa_sql sql, int64_t limit,
                                struct fa_keys *out, struct faina_error *err)
{
    int64_t grace = sql == FA_SQL_HELD_LOST ? lease_grace_us(unit) : 0;
    struct fa_value params[2] = {fa_value_int(unit->now_us - grace), fa_value_int(limit)};

    *out = (struct fa_keys){.arena = &unit->arena};
    return fa_db_one(unit->source.db, sql, params, 2, fa_keys_sink, out, err);
}

static const char *lost_error(struct fa_unit *unit, const char *kind, const char *message)
{
    struct fa_json_writer writer;
    const char *text;
    struct fa_buf buf;

    fa_buf_init(&buf, 4096);
    fa_json_writer_init(&writer, &buf, 0);
    fa_json_begin_object(&writer);
    fa_json_key(&writer, "message");
    fa_json_put_str(&writer, message);
    fa_json_key(&writer, "kind");
    fa_json_put_str(&writer, kind);
    fa_json_key(&writer, "detail");
    fa_json_put_null(&writer);
    fa_json_key(&writer, "retryable");
    fa_json_put_bool(&writer, true);
    fa_json_end_object(&writer);
    text = fa_unit_text(unit, buf.ptr);
    fa_buf_finish(&buf);
    return text;
}

static enum faina_code lose_lease(struct fa_unit *unit, struct fa_row *row, struct faina_error *err)
{
    const char *worker = row->worker;
    const char *message = fa_arena_printf(&unit->arena, "worker %s did not renew its lease",
                                          worker ? worker : "(none)");

    unit->lost_count++;
    return fa_end_attempt(unit, row, true, "lease_lost", FAINA_ACTOR_SYSTEM, worker,
                          lost_error(unit, "lease_lost", message), err);
}

static enum faina_code expire(struct fa_unit *unit, struct fa_row *row, struct faina_error *err)
{
    return fa_end_attempt(
        unit, row, true, "expired", FAINA_ACTOR_SYSTEM, NULL,
        lost_error(unit, "expired", "the background work was not finished in time"), err);
}

/* A blocked task with a time was submitted in SQL: those that it needs don't know of it yet, and
 * some may have ended since. One that was deleted since counts as ended badly. */
static enum faina_code link_late(struct fa_unit *unit, struct fa_row *row, struct faina_error *err)
{
    struct fa_keys needs = {.arena = &unit->arena};
    struct fa_value key = fa_value_int(row->id.key);
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_DEP_LIST, &key, 1, fa_keys_sink, &needs, err);
    int64_t left = 0, bad = 0;

    if (code == FAINA_OK)
        code = fa_unit_expect(unit, needs.keys, needs.count, err);
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

/* One task whose time has come. */
static enum faina_code tend(struct fa_unit *unit, int64_t key, struct faina_error *err)
{
    struct fa_row *row = NULL;
    enum faina_code code = fa_unit_get(unit, key, true, &row, err);

    if (code == FAINA_TASK_NOT_FOUND)
        return FAINA_OK;
    if (code != FAINA_OK || row->at_us == 0 || row->at_us > unit->now_us)
        return code;
    switch (row->status) {
    case FAINA_PENDING: /* nothing that a user sees changes: no version, no event */
        row->due_us = row->at_us;
        row->at_us = 0;
        unit->has_arrivals = true;
        fa_unit_touch(unit, row);
        return FAINA_OK;
    case FAINA_CLAIMED:
    case FAINA_RUNNING:
        return lose_lease(unit, row, err);
    case FAINA_BACKGROUND:
        return expire(unit, row, err);
    case FAINA_BLOCKED:
        return link_late(unit, row, err);
    case FAINA_COMPLETED:
    case FAINA_FAILED:
    case FAINA_DEAD_LETTER:
    case FAINA_CANCELLED:
    case FAINA_STATUS_COUNT:
        break;
    }
    return FAINA_OK;
}

static enum faina_code next_of(struct fa_unit *unit, enum fa_sql sql, int64_t *next_us,
                               struct faina_error *err)
{
    int64_t at = 0;
    enum faina_code code = fa_db_one(unit->source.db, sql, NULL, 0, fa_db_sink_int, &at, err);

    if (at != 0 && sql == FA_SQL_HELD_NEXT)
        at += lease_grace_us(unit);
    if (code == FAINA_OK && at != 0 && at < *next_us)
        *next_us = at;
    return code;
}

/* Submits in SQL count in rows of their own, so that nobody waits for them. */
static enum faina_code fold_counts(struct fa_unit *unit, struct faina_error *err)
{
    struct fa_value most = fa_value_int(FOLD_MAX);

    if (!unit->source.db->is_shared)
        return FAINA_OK;
    return fa_db_one(unit->source.db, FA_SQL_TALLY_FOLD, &most, 1, NULL, NULL, err);
}

enum faina_code fa_chores_run(struct fa_unit *unit, int64_t limit, int64_t *next_us,
                              struct faina_error *err)
{
    static const enum fa_sql due[] = {FA_SQL_PARKED_DUE, FA_SQL_HELD_LOST};
    enum faina_code code = fa_unit_flush(unit, err);
    bool was_skipped = false;

    for (size_t i = 0; code == FAINA_OK && i < FA_COUNT(due); i++) {
        struct fa_keys found;

        code = find_due(unit, due[i], limit, &found, err);
        if (code == FAINA_OK)
            code = fa_unit_expect(unit, found.keys, found.count, err);
        for (size_t k = 0; code == FAINA_OK && k < found.count; k++) {
            code = tend(unit, found.keys[k], err);
            if (code ==
                FAINA_INTERNAL) { /* its rows are damaged; the others must not wait for it */
                code = FAINA_OK;
                was_skipped = true;
            }
        }
    }
    if (code == FAINA_OK)
        code = fa_crons_fire(unit, limit, err);
    if (code == FAINA_OK)
        code = fa_unit_flush(unit, err);
    if (code == FAINA_OK)
        code = fold_counts(unit, err);
    *next_us = INT64_MAX;
    if (code == FAINA_OK)
        code = next_of(unit, FA_SQL_PARKED_NEXT, next_us, err);
    if (code == FAINA_OK)
        code = next_of(unit, FA_SQL_HELD_NEXT, next_us, err);
    if (code == FAINA_OK)
        code = next_of(unit, FA_SQL_CRON_NEXT, next_us, err);
    if (code == FAINA_OK)
        code = fa_workers_forget(unit, next_us, err);
    if (code == FAINA_OK)
        code = fa_flows_tell_ends(unit, err);
    if (code == FAINA_OK)
        code = fa_joins_expire(unit, limit, next_us, err);
    if (code == FAINA_OK)
        code = fa_flows_take_inbox(unit, limit, next_us, err);
    if (was_skipped && *next_us < unit->now_us + SKIP_US)
        *next_us = unit->now_us + SKIP_US; /* not again and again */
    return code;
}
