/* claim_one.c - one task is claimed, started or released by its id. */
#include "sql/ops.h"

#include "sql/show.h"
#include "model/limits.h"

#include <assert.h>

int64_t fa_lease_us(int64_t lease_ms)
{
    return (lease_ms > 0 ? lease_ms : FA_LEASE_MS_DEFAULT) * 1000;
}

void fa_take(struct fa_unit *unit, struct fa_row *row, const char *worker, int64_t lease_us)
{
    unit->fronts.has_taken = true;
    fa_unit_apply(unit, row,
                  &(struct fa_change){.trigger = FA_CLAIM,
                                      .actor = FAINA_ACTOR_WORKER,
                                      .worker = worker,
                                      .lease_us = lease_us});
}

enum faina_code fa_check_permits(struct fa_unit *unit, const struct fa_row *row, struct fa_op *op)
{
    enum faina_code code = FAINA_OK;

    if (row->lane->resource_count > 0)
        code = fa_unit_share(unit, &op->error);
    if (code == FAINA_OK && unit->source.db->is_shared &&
        fa_lane_needs_lock(row->lane, unit->epoch)) {
        code = fa_unit_flush(unit, &op->error);
        if (code == FAINA_OK)
            code = fa_lanes_lock(&row->lane, 1, unit->epoch, unit->source.db, &op->error);
    }
    if (code != FAINA_OK)
        return code;
    for (size_t i = 0; i < row->lane->resource_count; i++) {
        const struct fa_resource *resource = row->lane->resources[i];

        if (resource->max >= 0 && resource->in_use >= resource->max)
            return fa_error_set(&op->error, FAINA_OVERLOADED,
                                "resource %.200s is at its limit, %lld/%lld", resource->name,
                                (long long)resource->in_use, (long long)resource->max);
    }
    return FAINA_OK;
}

static bool is_held_by(const struct fa_row *row, const char *worker)
{
    return fa_status_is_held(row->status) && row->worker != NULL && worker != NULL &&
           strcmp(row->worker, worker) == 0;
}

enum faina_code fa_do_claim(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_row *row = NULL;
    enum faina_code code = fa_unit_find(unit, op->id, op->wants_task, &row, &op->error);

    if (code == FAINA_OK)
        code = fa_check_version(row, op);
    if (code != FAINA_OK)
        return code;
    if (is_held_by(row, op->by.worker_id))
        return fa_answer(unit, op, row);
    if (fa_rule_find(row->status, FA_CLAIM) == NULL)
        return fa_refuse(row, FA_CLAIM, op);
    code = fa_check_permits(unit, row, op);
    if (code != FAINA_OK)
        return code;
    fa_take(unit, row, op->by.worker_id, fa_lease_us(op->lease_ms));
    return fa_answer(unit, op, row);
}

/* A task that waits is started by whoever comes, but not by a worker who believes that he has it:
 * his claim, which the fence names, has been taken from him since. */
static enum faina_code check_unclaimed(struct fa_unit *unit, struct fa_row *row, struct fa_op *op)
{
    if (fa_gives_fence(op) && (op->by.fence != 0 || row->fence != 0))
        return fa_error_set(&op->error, FAINA_TASK_NOT_CLAIMED,
                            "the task is no longer claimed: the claim with fence %lld has ended",
                            (long long)op->by.fence);
    return fa_check_permits(unit, row, op);
}

enum faina_code fa_do_start(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_row *row = NULL;
    enum faina_code code = fa_unit_find(unit, op->id, op->wants_task, &row, &op->error);

    if (code == FAINA_OK)
        code = fa_check_version(row, op);
    if (code != FAINA_OK)
        return code;
    if (row->status == FAINA_RUNNING && row->worker != NULL) {
        code = fa_check_holder(row, op);
        return code == FAINA_OK ? fa_answer(unit, op, row) : code; /* its answer was lost */
    }
    if (fa_rule_find(row->status, FA_START) == NULL)
        return fa_refuse(row, FA_START, op);
    code = row->status == FAINA_CLAIMED ? fa_check_holder(row, op) : check_unclaimed(unit, row, op);
    if (code != FAINA_OK)
        return code;
    fa_unit_apply(
        unit, row,
        &(struct fa_change){.trigger = FA_START,
                            .actor = op->by.worker_id ? FAINA_ACTOR_WORKER : FAINA_ACTOR_API,
                            .worker = op->by.worker_id,
                            .lease_us = fa_lease_us(op->lease_ms)});
    return fa_answer(unit, op, row);
}

void fa_give_back(struct fa_unit *unit, struct fa_row *row, enum fa_trigger trigger,
                  const char *worker)
{
    assert(row->has_task);
    fa_unit_apply(
        unit, row,
        &(struct fa_change){
            .trigger = trigger, .actor = FAINA_ACTOR_WORKER, .worker = worker, .what = "released"});
    fa_unit_park_until(unit, row, row->run_at_us); /* it may have been claimed ahead of its time */
}

enum faina_code fa_do_release(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_row *row = NULL;
    enum faina_code code = fa_unit_find(unit, op->id, true, &row, &op->error);

    if (code == FAINA_OK)
        code = fa_check_version(row, op);
    if (code != FAINA_OK)
        return code;
    if (fa_rule_find(row->status, FA_RELEASE) == NULL)
        return fa_refuse(row, FA_RELEASE, op);
    code = fa_check_holder(row, op);
    if (code != FAINA_OK)
        return code;
    fa_give_back(unit, row, FA_RELEASE, op->by.worker_id);
    return fa_answer(unit, op, row);
}
