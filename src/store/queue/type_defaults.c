/*
 * amend.c - what the settings of a type say about a task, where the submit left it open.
 *
 * This is the one change of what was asked for. More attempts or another way to retry take effect
 * at once. Resources can't be taken while the task is held, so it goes back in line for them,
 * without spending an attempt; the next claim then minds their limits.
 */
#include "sql/ops.h"

#include "base/json.h"
#include "model/limits.h"
#include "sql/runs.h"

/* Whether the lane has all of these resources. */
static bool has_resources(const struct fa_lane *lane, const struct faina_submit *wish)
{
    for (size_t i = 0; i < wish->resource_count; i++) {
        bool has = false;

        for (size_t k = 0; k < lane->resource_count; k++)
            has |= strcmp(lane->resource_names[k], wish->resources[i]) == 0;
        if (!has)
            return false;
    }
    return true;
}

/* The lane with the resources of both. */
static enum faina_code widen(struct fa_unit *unit, const struct fa_lane *lane,
                             const struct faina_submit *wish, struct fa_lane **out,
                             struct faina_error *err)
{
    size_t count = 0;
    const char **names = fa_arena_zero(
        &unit->arena, lane->resource_count + wish->resource_count + 1, sizeof(char *));

    for (size_t i = 0; i < lane->resource_count; i++)
        names[count++] = lane->resource_names[i];
    for (size_t i = 0; i < wish->resource_count; i++)
        names[count++] = wish->resources[i];
    return fa_lanes_get(unit->source.lanes, unit->source.db, lane->ns, lane->type, names, count,
                        out, err);
}

static bool has_no_retry(const struct faina_retry_policy *retry)
{
    return retry->base_ms == 0 && retry->max_ms == 0 && retry->factor <= 0;
}

/* Takes over what the task has not. True: something changed. */
static bool take_policy(struct fa_row *row, const struct faina_submit *wish)
{
    bool wants_attempts = wish->max_attempts != 0 && row->max_attempts == FA_ATTEMPTS_DEFAULT &&
                          wish->max_attempts != FA_ATTEMPTS_DEFAULT;
    bool wants_retry = has_no_retry(&row->retry) && !has_no_retry(&wish->retry);

    if (wants_attempts)
        row->max_attempts = wish->max_attempts == FAINA_UNLIMITED ? 0 : wish->max_attempts;
    if (wants_retry)
        row->retry = wish->retry;
    return wants_attempts || wants_retry;
}

static const char *detail_of(struct fa_unit *unit, const struct fa_row *row,
                             const struct fa_lane *lane)
{
    return fa_arena_printf(&unit->arena, "{\"maxAttempts\":%lld,\"resources\":%s}",
                           (long long)row->max_attempts, lane->resources_json);
}

static enum faina_code write_task(struct fa_unit *unit, const struct fa_row *row,
                                  struct faina_error *err)
{
    struct fa_value params[6] = {
        fa_value_int(row->id.key),
        fa_value_int(row->lane->id),
        fa_value_int(row->max_attempts),
        fa_value_int_or_null(row->retry.base_ms),
        {.kind = FA_NULL},
        fa_value_int_or_null(row->retry.max_ms),
    };

    if (row->retry.factor > 0)
        params[4] = (struct fa_value){.kind = FA_REAL, .d = row->retry.factor};
    return fa_db_one(unit->source.db, FA_SQL_TASK_AMEND, params, 6, NULL, NULL, err);
}

/* The task stands in line in another lane from now on. */
static void change_lane(struct fa_row *row, struct fa_lane *lane)
{
    fa_lane_count(row->lane, (int)row->status, -1);
    row->lane = lane;
    fa_lane_count(row->lane, -1, (int)row->status);
}

static enum faina_code check(const struct fa_row *row, const struct fa_lane *lane, struct fa_op *op)
{
    enum fa_trigger trigger = lane != row->lane ? FA_REQUEUE : FA_PROGRESS;

    if (fa_rule_find(row->status, trigger) == NULL)
        return fa_refuse(row, trigger, op);
    if (lane->resource_count > FA_RESOURCES_MAX)
        return fa_error_field(&op->error, FAINA_INVALID_REQUEST, "resources",
                              "a task can use at most %d resources", FA_RESOURCES_MAX);
    return fa_check_holder(row, op);
}

enum faina_code fa_do_amend(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_row *row = NULL;
    struct fa_lane *lane;
    enum faina_code code = fa_unit_find(unit, op->id, true, &row, &op->error);
    bool has_changed;

    if (code == FAINA_OK)
        code = fa_check_version(row, op);
    if (code != FAINA_OK)
        return code;
    lane = row->lane;
    if (!has_resources(row->lane, op->submit))
        code = widen(unit, row->lane, op->submit, &lane, &op->error);
    if (code == FAINA_OK)
        code = check(row, lane, op);
    if (code == FAINA_OK)
        code = fa_unit_flush(unit, &op->error); /* it and its new lane have their rows */
    if (code == FAINA_OK && lane != row->lane)
        code = fa_runs_part(unit, lane, row, &op->error);
    if (code != FAINA_OK)
        return code;
    has_changed = take_policy(row, op->submit) || lane != row->lane;
    if (!has_changed)
        return fa_answer(unit, op, row);
    fa_unit_note(unit, row, "amended", FAINA_ACTOR_WORKER, op->by.worker_id,
                 detail_of(unit, row, lane));
    if (lane != row->lane) {
        fa_give_back(unit, row, FA_REQUEUE, op->by.worker_id);
        change_lane(row, lane);
    }
    code = write_task(unit, row, &op->error);
    return code == FAINA_OK ? fa_answer(unit, op, row) : code;
}
