/* ops.c - what the operations share: results and refusals. */
#include "store/queue/ops.h"

#include "json/json.h"
#include "store/read/show.h"

#include <assert.h>
#include <stdio.h>

const char *fa_names_json(struct fa_arena *arena, const char *const *names, size_t count)
{
    struct fa_json_writer writer;
    const char *text;
    struct fa_buf buf;

    if (names == NULL)
        return NULL;
    fa_buf_init(&buf, SIZE_MAX / 2);
    fa_json_writer_init(&writer, &buf, 0);
    fa_json_begin_array(&writer);
    for (size_t i = 0; i < count; i++)
        fa_json_put_str(&writer, names[i]);
    fa_json_end_array(&writer);
    text = fa_arena_copy(arena, buf.ptr, buf.len);
    fa_buf_finish(&buf);
    return text;
}

void fa_sink_found(void *ctx, size_t row, const struct fa_value *columns)
{
    (void)row;
    (void)columns;
    *(bool *)ctx = true;
}

enum faina_code fa_set_result(struct fa_unit *unit, struct fa_op *op, struct fa_row *row)
{
    enum faina_code code;

    fa_id_format(row->id, op->task_id);
    if (!op->wants_task)
        return FAINA_OK;
    code = fa_unit_load_task(unit, row, &op->error);
    if (code == FAINA_OK && row->is_new && row->flags & FA_FLAG_HAS_DEPS)
        code = fa_unit_flush(unit, &op->error); /* its links are read back below */
    if (code != FAINA_OK)
        return code;
    op->task = fa_arena_take(op->arena, sizeof(*op->task));
    code = fa_row_to_task(&unit->source, row, op->arena, false, false, op->task, &op->error);
    op->task->existing = op->existing;
    op->task->input_mismatch = op->input_mismatch;
    return code;
}

enum faina_code fa_find_task(struct fa_unit *unit, struct fa_op *op, bool whole,
                             struct fa_row **out)
{
    enum faina_code code = fa_unit_find(unit, op->id, whole, out, &op->error);

    return code == FAINA_OK ? fa_check_version(*out, op) : code;
}

static struct fa_holding holding_of(const struct fa_row *row)
{
    return (struct fa_holding){row->status, row->worker, row->fence, row->version};
}

enum faina_code fa_check_version(const struct fa_row *row, struct fa_op *op)
{
    struct fa_holding holding = holding_of(row);

    return fa_holding_check_version(&holding, op);
}

bool fa_gives_other_fence(const struct fa_row *row, const struct fa_op *op)
{
    struct fa_holding holding = holding_of(row);

    return fa_holding_other_fence(&holding, op);
}

enum faina_code fa_check_holder(const struct fa_row *row, struct fa_op *op)
{
    struct fa_holding holding = holding_of(row);

    return fa_holding_check(&holding, op);
}

enum faina_code fa_refuse_not_held(const struct fa_row *row, struct fa_op *op)
{
    struct fa_holding holding = holding_of(row);

    return fa_holding_refuse_unheld(&holding, op);
}

enum faina_code fa_refuse(const struct fa_row *row, enum fa_trigger trigger, struct fa_op *op)
{
    struct fa_holding holding = holding_of(row);

    return fa_holding_refuse(&holding, trigger, op);
}

enum faina_code fa_end_attempt(struct fa_unit *unit, struct fa_row *row,
                               const struct fa_attempt_end *end, struct faina_error *err)
{
    int64_t max = fa_row_max_attempts(&unit->source, row);
    bool has_left = max == 0 || row->attempts < max;
    struct fa_change change = {.actor = end->actor,
                               .event_worker = end->worker,
                               .detail = end->error,
                               .until_us = end->retry_at_us};

    assert(row->has_task);
    row->error = fa_unit_text(unit, end->error);
    if (has_left) {
        change.trigger = end->is_lost ? FA_LOSE_RETRY : FA_FAIL_RETRY;
        change.what = end->what;
        fa_unit_apply(unit, row, &change);
        return FAINA_OK;
    }
    if (end->by_engine) /* the last event is dead_letter; its cause is an event of its own */
        fa_unit_note(unit, row, end->what, end->actor, end->worker, end->error);
    change.trigger = end->is_lost ? FA_LOSE_LAST : FA_FAIL_LAST;
    fa_unit_apply(unit, row, &change);
    return fa_unit_wake(unit, row, true, err);
}
