/*
 * requeue.c - makes a task ready again after a delay, with another priority.
 *
 * A priority is part of a task's position in `ready`, so it changes only while the task is in
 * another table.
 */
#include "store/queue/ops.h"

#include "store/queue/runs.h"

static enum faina_code check(const struct fa_row *row, int64_t rank, struct fa_op *op)
{
    if (fa_status_is_held(row->status))
        return fa_check_holder(row, op);
    if (row->status != FAINA_PENDING || op->by.worker_id != NULL || fa_gives_fence(op))
        return fa_refuse(row, FA_REQUEUE, op);
    if (rank != row->rank && row->at_us == 0)
        return fa_error_set(&op->error, FAINA_INVALID_TRANSITION,
                            "task %s is ready: its priority can't be changed", op->id);
    return FAINA_OK;
}

/* In table `task`, and in the unit's row. A run of the new position must not enclose the task. */
static enum faina_code set_rank(struct fa_unit *unit, struct fa_row *row, int64_t rank,
                                struct faina_error *err)
{
    struct fa_value params[] = {fa_value_int(row->id.key), fa_value_int(rank)};
    struct fa_row moved = *row;
    enum faina_code code;

    if (rank == row->rank)
        return FAINA_OK;
    code = fa_unit_flush(unit, err);
    moved.rank = rank;
    if (code == FAINA_OK)
        code = fa_runs_split(unit, row->lane, &moved, err);
    if (code == FAINA_OK)
        code = fa_db_one(unit->source.db, FA_SQL_TASK_RANK, params, 2, NULL, NULL, err);
    if (code == FAINA_OK)
        row->rank = rank;
    return code;
}

/* A pending task that is not due yet, or ready. */
static void wait_until(struct fa_unit *unit, struct fa_row *row, int64_t at_us, const char *what)
{
    fa_unit_store_implicit_events(unit, row);
    fa_unit_change(unit, row);
    row->at_us = row->due_us = 0;
    fa_unit_park_until(unit, row, at_us);
    unit->has_arrivals |= row->at_us == 0;
    fa_unit_event(unit, row, what, FAINA_ACTOR_API, NULL, NULL);
}

enum faina_code fa_do_requeue(struct fa_unit *unit, struct fa_op *op)
{
    const struct fa_requeue *want = op->requeue;
    int64_t at_us = want->delay_ms > 0 ? unit->now_us + want->delay_ms * 1000 : 0, rank;
    struct fa_row *row = NULL;
    enum faina_code code = fa_find_task(unit, op, true, &row);

    if (code != FAINA_OK)
        return code;
    rank = want->has_priority ? -(int64_t)want->priority : row->rank;
    code = check(row, rank, op);
    if (code == FAINA_OK)
        code = set_rank(unit, row, rank, &op->error);
    if (code != FAINA_OK)
        return code;
    if (row->status == FAINA_PENDING) {
        wait_until(unit, row, at_us, want->what);
    } else {
        fa_unit_apply(unit, row,
                      &(struct fa_change){.trigger = FA_REQUEUE,
                                          .actor = FAINA_ACTOR_WORKER,
                                          .worker = op->by.worker_id,
                                          .what = want->what});
        fa_unit_park_until(unit, row, at_us);
    }
    return fa_set_result(unit, op, row);
}
