/* claim_one.c - claims, starts and releases one task by its id. */
#include "store/queue/claim_inner.h"

#include "store/read/show.h"
#include "model/limits.h"
#include "model/times.h"

#include <assert.h>

void fa_claim_row(struct fa_unit *unit, struct fa_row *row, const char *worker, int64_t lease_us)
{
    unit->scan_starts.has_taken = true;
    fa_unit_apply(unit, row,
                  &(struct fa_change){.trigger = FA_CLAIM,
                                      .actor = FAINA_ACTOR_WORKER,
                                      .worker = worker,
                                      .lease_us = lease_us});
}

void fa_claim_set_time(struct fa_unit *unit)
{
    unit->now_us = fa_lanes_set_now(unit->source.lanes, unit->now_us);
}

/* At its limit, or without a token. */
static enum faina_code refuse_full(const struct fa_resource *full, int64_t now_us,
                                   struct faina_error *err)
{
    char next[FA_TIME_SIZE], rate[FA_RATE_TEXT_SIZE];

    if (full->max >= 0 && full->in_use >= full->max)
        return fa_error_set(err, FAINA_OVERLOADED, "resource %.200s is at its limit, %lld/%lld",
                            full->name, (long long)full->in_use, (long long)full->max);
    fa_rate_format(&full->rate, rate);
    fa_time_format(fa_bucket_next_us(&full->bucket, &full->rate, now_us), next);
    return fa_error_set(err, FAINA_OVERLOADED,
                        "resource %.200s has no token: its rate is %s, and the next task may start "
                        "at %s",
                        full->name, rate, next);
}

enum faina_code fa_check_permits(struct fa_unit *unit, const struct fa_row *row, struct fa_op *op)
{
    enum faina_code code = FAINA_OK;
    const struct fa_resource *full;

    if (row->lane->resource_count > 0)
        code = fa_unit_share(unit, &op->error);
    if (code == FAINA_OK && fa_db_has(unit->source.db, FA_DB_MANY_WRITERS) &&
        fa_lane_needs_lock(row->lane, unit->epoch)) {
        code = fa_unit_flush(unit, &op->error);
        if (code == FAINA_OK)
            code = fa_lanes_lock(&row->lane, 1, unit->epoch, unit->source.db, &op->error);
    }
    if (code != FAINA_OK)
        return code;
    fa_claim_set_time(unit);
    full = fa_lane_full_resource(row->lane);
    return full == NULL ? FAINA_OK : refuse_full(full, unit->now_us, &op->error);
}

static bool is_held_by(const struct fa_row *row, const char *worker)
{
    return fa_status_is_held(row->status) && row->worker != NULL && worker != NULL &&
           strcmp(row->worker, worker) == 0;
}

/* INVALID_TRANSITION when the task is delayed or its type is paused. */
static enum faina_code check_ready(struct fa_unit *unit, const struct fa_row *row, struct fa_op *op)
{
    enum faina_code code = fa_unit_share(unit, &op->error); /* pauses */

    if (code != FAINA_OK)
        return code;
    if (row->at_us > unit->now_us)
        return fa_error_set(&op->error, FAINA_INVALID_TRANSITION, "the task is not due yet");
    if (row->lane->type_info->is_paused)
        return fa_error_set(&op->error, FAINA_INVALID_TRANSITION, "type %.200s is paused",
                            row->lane->type);
    return FAINA_OK;
}

enum faina_code fa_do_claim(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_row *row = NULL;
    enum faina_code code = fa_find_task(unit, op, op->wants_task, &row);

    if (code != FAINA_OK)
        return code;
    if (is_held_by(row, op->by.worker_id))
        return fa_set_result(unit, op, row);
    if (fa_rule_find(row->status, FA_CLAIM) == NULL)
        return fa_refuse(row, FA_CLAIM, op);
    if (op->is_strict)
        code = check_ready(unit, row, op);
    if (code == FAINA_OK)
        code = fa_check_permits(unit, row, op);
    if (code == FAINA_OVERLOADED && op->is_strict && !unit->source.db->has_failed)
        code = op->code =
            FAINA_INVALID_TRANSITION; /* at a limit; not a store with too much to do */
    if (code != FAINA_OK)
        return code;
    fa_claim_row(unit, row, op->by.worker_id, fa_lease_us(op->lease_ms));
    return fa_set_result(unit, op, row);
}

/* A pending task can be started without a claim, except by a caller that gives a fence: the claim
 * with that fence has ended. */
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
    enum faina_code code = fa_find_task(unit, op, op->wants_task, &row);

    if (code != FAINA_OK)
        return code;
    if (row->status == FAINA_RUNNING && row->worker != NULL &&
        (!op->by_status || is_held_by(row, op->by.worker_id))) {
        code = fa_check_holder(row, op);
        return code == FAINA_OK ? fa_set_result(unit, op, row) : code; /* a repeated request */
    }
    if (fa_rule_find(row->status, FA_START) == NULL)
        return fa_refuse(row, FA_START, op);
    code = row->status == FAINA_CLAIMED ? fa_check_holder(row, op) : check_unclaimed(unit, row, op);
    if (code != FAINA_OK)
        return code;
    fa_unit_apply(
        unit, row,
        &(struct fa_change){
            .trigger = FA_START,
            .actor = op->by.worker_id ? FAINA_ACTOR_WORKER : FAINA_ACTOR_API,
            .worker = op->by.worker_id,
            .lease_us = op->by.worker_id || op->lease_ms > 0 ? fa_lease_us(op->lease_ms) : 0});
    return fa_set_result(unit, op, row);
}

void fa_return_to_queue(struct fa_unit *unit, struct fa_row *row, enum fa_trigger trigger,
                        const char *worker)
{
    assert(row->has_task);
    fa_unit_apply(
        unit, row,
        &(struct fa_change){
            .trigger = trigger, .actor = FAINA_ACTOR_WORKER, .worker = worker, .what = "released"});
    fa_unit_park_until(unit, row, row->run_at_us); /* it may have been claimed before its time */
}

enum faina_code fa_do_release(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_row *row = NULL;
    enum faina_code code = fa_find_task(unit, op, true, &row);

    if (code != FAINA_OK)
        return code;
    if (fa_rule_find(row->status, FA_RELEASE) == NULL)
        return fa_refuse(row, FA_RELEASE, op);
    code = fa_check_holder(row, op);
    if (code != FAINA_OK)
        return code;
    fa_return_to_queue(unit, row, FA_RELEASE, op->by.worker_id);
    return fa_set_result(unit, op, row);
}

enum faina_code fa_do_snooze(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_row *row = NULL;
    enum faina_code code = fa_find_task(unit, op, true, &row);
    int64_t until_us = unit->now_us + op->snooze_ms * 1000;

    if (code != FAINA_OK)
        return code;
    if (fa_rule_find(row->status, FA_SNOOZE) == NULL)
        return fa_refuse(row, FA_SNOOZE, op);
    code = fa_check_holder(row, op);
    if (code != FAINA_OK)
        return code;
    fa_unit_apply(
        unit, row,
        &(struct fa_change){.trigger = FA_SNOOZE,
                            .actor = op->by.worker_id ? FAINA_ACTOR_WORKER : FAINA_ACTOR_API,
                            .worker = op->by.worker_id,
                            .what = "snoozed",
                            .detail = fa_snooze_json(op->snooze_ms, &unit->arena),
                            .until_us = until_us});
    return fa_set_result(unit, op, row);
}
