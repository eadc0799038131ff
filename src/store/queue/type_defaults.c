/*
 * type_defaults.c - applies the settings of a type to a task whose submit left them open.
 *
 * No other operation changes the fields of a submit. The number of attempts and the retry policy
 * take effect at once. Permits can't be taken while the task is held, so for resources it becomes
 * ready again without spending an attempt, and the next claim applies their limits.
 */
#include "store/queue/ops.h"

#include "json/json.h"
#include "model/limits.h"
#include "store/queue/runs.h"

/* Whether the lane has all of these resources. */
static bool has_resources(const struct fa_lane *lane, const struct faina_submit *defaults)
{
    struct fa_texts has = {lane->resource_names, lane->resource_count};

    for (size_t i = 0; i < defaults->resource_count; i++) {
        if (!fa_names_have(&has, defaults->resources[i]))
            return false;
    }
    return true;
}

/* The lane with the resources of the lane and of the defaults. */
static enum faina_code get_wider_lane(struct fa_unit *unit, const struct fa_lane *lane,
                                      const struct faina_submit *defaults, struct fa_lane **out,
                                      struct faina_error *err)
{
    size_t count = 0;
    const char **names = fa_arena_zero(
        &unit->arena, lane->resource_count + defaults->resource_count + 1, sizeof(char *));

    for (size_t i = 0; i < lane->resource_count; i++)
        names[count++] = lane->resource_names[i];
    for (size_t i = 0; i < defaults->resource_count; i++)
        names[count++] = defaults->resources[i];
    return fa_lanes_get(unit->source.lanes, unit->source.db, lane->ns, lane->type, names, count,
                        lane->has_groups, out, err);
}

static bool has_no_retry(struct faina_retry_policy retry)
{
    return retry.base_ms == 0 && retry.max_ms == 0 && retry.factor <= 0;
}

/* Sets what the submit and the policies of the type have left open. True: something changed. */
static bool take_policy(struct fa_unit *unit, struct fa_row *row,
                        const struct faina_submit *defaults)
{
    const struct fa_policy *policy =
        fa_policy_find(unit->source.policies, row->lane->ns, row->lane->type);
    bool wants_attempts = defaults->max_attempts != 0 && !fa_row_has_own_attempts(row) &&
                          (policy == NULL || policy->set.max_attempts == 0) &&
                          defaults->max_attempts != FA_ATTEMPTS_DEFAULT;
    bool wants_retry =
        has_no_retry(fa_row_retry(&unit->source, row)) && !has_no_retry(defaults->retry);

    if (wants_attempts)
        row->max_attempts = defaults->max_attempts == FAINA_UNLIMITED ? 0 : defaults->max_attempts;
    if (wants_retry)
        row->retry = defaults->retry;
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
    enum faina_code code = fa_find_task(unit, op, true, &row);
    bool has_changed;

    if (code != FAINA_OK)
        return code;
    lane = row->lane;
    if (!has_resources(row->lane, op->submit))
        code = get_wider_lane(unit, row->lane, op->submit, &lane, &op->error);
    if (code == FAINA_OK)
        code = check(row, lane, op);
    if (code == FAINA_OK)
        code = fa_unit_flush(unit, &op->error); /* the rows of the task and of its new lane exist */
    if (code == FAINA_OK && lane != row->lane)
        code = fa_runs_split(unit, lane, row, &op->error);
    if (code != FAINA_OK)
        return code;
    has_changed = take_policy(unit, row, op->submit) || lane != row->lane;
    if (!has_changed)
        return fa_set_result(unit, op, row);
    fa_unit_note(unit, row, "amended", FAINA_ACTOR_WORKER, op->by.worker_id,
                 detail_of(unit, row, lane));
    if (lane != row->lane) {
        fa_return_to_queue(unit, row, FA_REQUEUE, op->by.worker_id);
        change_lane(row, lane);
    }
    code = write_task(unit, row, &op->error);
    return code == FAINA_OK ? fa_set_result(unit, op, row) : code;
}
