/*
 * update.c - changes a waiting task: what its submit has set, and its metadata.
 *
 * The columns of `task` are written at once, and the state row with the unit. A ready task whose
 * priority or group changes leaves its place in the queue before, because rows of `ready` are found
 * by it. Tasks with a group and tasks without are in different lanes.
 */
#include "store/queue/ops.h"

#include "json/json.h"
#include "model/times.h"
#include "store/queue/runs.h"

/* Whether anything but the metadata changes. */
static bool changes_submit(const struct faina_update *update)
{
    return update->name != NULL || update->has_priority || update->has_run_at ||
           update->max_attempts != 0 || update->timeout_ms != 0 || update->start_by_ms != 0 ||
           update->start_by_us != 0 || update->group != NULL;
}

/* Refuses a task that isn't waiting; an ended one with the code of its end. */
static enum faina_code check_status(const struct fa_row *row, struct fa_op *op)
{
    if (fa_status_is_ended(row->status))
        return fa_refuse(row, FA_PROGRESS, op);
    if (!changes_submit(op->update) || row->status == FAINA_PENDING || row->status == FAINA_BLOCKED)
        return FAINA_OK;
    return fa_error_set(&op->error, FAINA_TASK_ACTIVE,
                        "the task is %s: only its metadata can be changed now",
                        faina_status_name(row->status));
}

static enum faina_code check_attempts(const struct fa_row *row, struct fa_op *op)
{
    int max = op->update->max_attempts;

    if (max <= 0 || max > row->attempts)
        return FAINA_OK;
    return fa_error_field(&op->error, FAINA_INVALID_REQUEST, "maxAttempts",
                          "the task has used %lld attempts: maxAttempts must be more",
                          (long long)row->attempts);
}

/* What a task has of the members of an update, as JSON: of those that are in the update. */
struct picture {
    struct fa_json_writer w;
    struct fa_buf buf;
};

static void put_time(struct fa_json_writer *w, int64_t us)
{
    char text[FA_TIME_SIZE];

    if (us != 0)
        fa_time_format(us, text);
    fa_json_put_str(w, us != 0 ? text : NULL);
}

static const char *take_picture(struct fa_unit *unit, const struct fa_row *row,
                                const struct faina_update *update)
{
    struct picture picture;
    struct fa_json_writer *w = &picture.w;
    const char *text;

    fa_buf_init(&picture.buf, SIZE_MAX / 2);
    fa_json_writer_init(w, &picture.buf, 0);
    fa_json_begin_object(w);
    if (update->name != NULL)
        fa_json_set_str(w, "name", row->name ? row->name : row->lane->type);
    if (update->has_priority)
        fa_json_set_int(w, "priority", -row->rank);
    if (update->has_run_at) {
        fa_json_key(w, "runAt");
        put_time(w, row->at_us ? row->at_us : row->due_us ? row->due_us : row->run_at_us);
    }
    if (update->max_attempts != 0)
        fa_json_set_int(w, "maxAttempts", fa_row_max_attempts(&unit->source, row));
    if (update->timeout_ms != 0)
        fa_json_set_raw(w, "timeout",
                        row->timeout_ms == 0 ? NULL
                                             : fa_arena_printf(&unit->arena, "\"%lldms\"",
                                                               (long long)row->timeout_ms));
    if (update->start_by_ms != 0 || update->start_by_us != 0) {
        fa_json_key(w, "startBy");
        put_time(w, row->start_by_us);
    }
    if (update->group != NULL)
        fa_json_set_str(w, "group", row->group);
    fa_json_end_object(w);
    text = fa_arena_copy(&unit->arena, picture.buf.ptr, picture.buf.len);
    fa_buf_finish(&picture.buf);
    return text;
}

/* Takes a ready task out of the queue, to be inserted again at another position. */
static enum faina_code leave_queue(struct fa_unit *unit, struct fa_row *row,
                                   struct faina_error *err)
{
    struct fa_value position[3] = {fa_value_int(row->lane->id), fa_value_int(row->rank),
                                   fa_value_int(row->id.key)};
    enum faina_code code;

    if (row->state_table != FA_STATE_TABLE_READY)
        return FAINA_OK;
    if (fa_db_has(unit->source.db, FA_DB_ROW_RUNS))
        code = fa_runs_remove(unit, &row, 1, err);
    else
        code = fa_db_one(unit->source.db, FA_SQL_READY_DELETE, position, 3, NULL, NULL, err);
    row->state_table = FA_STATE_TABLE_NONE;
    row->is_in_run = false;
    return code;
}

/* The time of a blocked task counts when it is unblocked. */
static void set_run_at(struct fa_unit *unit, struct fa_row *row, int64_t run_at_us)
{
    row->run_at_us = run_at_us != 0 ? run_at_us : unit->now_us;
    if (row->status != FAINA_PENDING)
        return;
    row->due_us = 0;
    row->at_us = 0;
    fa_unit_park_until(unit, row, row->run_at_us);
    unit->has_arrivals |= row->at_us == 0;
}

static void set_members(struct fa_unit *unit, struct fa_row *row, const struct faina_update *update)
{
    if (update->name != NULL)
        row->name = strcmp(update->name, row->lane->type) == 0 ? NULL : update->name;
    if (update->has_priority)
        row->rank = -(int64_t)update->priority;
    if (update->has_run_at)
        set_run_at(unit, row, update->run_at_us);
    if (update->max_attempts != 0)
        fa_row_set_attempts(row, update->max_attempts);
    if (update->timeout_ms != 0)
        row->timeout_ms = update->timeout_ms;
    if (update->start_by_ms != 0 || update->start_by_us != 0) {
        row->start_by_us = update->start_by_ms > 0 ? unit->now_us + update->start_by_ms * 1000
                                                   : update->start_by_us;
        fa_unit_set_timer(unit, row, FA_TIMER_START_BY, row->start_by_us);
    }
}

static enum faina_code write_task(struct fa_unit *unit, const struct fa_row *row,
                                  struct faina_error *err)
{
    struct fa_value params[9] = {
        fa_value_int(row->id.key),
        fa_value_text(row->name),
        fa_value_int(row->rank),
        fa_value_int(row->max_attempts),
        fa_value_int_or_null(row->run_at_us),
        fa_value_int_or_null(row->timeout_ms),
        fa_value_int_or_null(row->start_by_us),
        fa_value_int(row->lane->id),
        fa_value_text(row->group),
    };

    return fa_db_one(unit->source.db, FA_SQL_TASK_UPDATE, params, 9, NULL, NULL, err);
}

/* The group "" is none. */
static bool changes_group(const struct fa_row *row, const struct faina_update *update)
{
    return update->group != NULL && strcmp(row->group ? row->group : "", update->group) != 0;
}

/* The row leaves the table of its status, and enters it again in the other lane. */
static enum faina_code change_lane(struct fa_unit *unit, struct fa_row *row,
                                   struct faina_error *err)
{
    struct fa_lane *lane = row->lane;
    struct fa_value key = fa_value_int(row->id.key);
    enum faina_code code = fa_lanes_get(unit->source.lanes, unit->source.db, lane->ns, lane->type,
                                        lane->resource_names, lane->resource_count,
                                        row->group != NULL, &row->lane, err);

    if (code == FAINA_OK && row->state_table == FA_STATE_TABLE_PARKED) {
        code = fa_db_one(unit->source.db, FA_SQL_PARKED_DELETE, &key, 1, NULL, NULL, err);
        row->state_table = FA_STATE_TABLE_NONE;
    }
    if (code != FAINA_OK)
        return code;
    fa_lane_count(lane, (int)row->status, -1);
    fa_lane_count(row->lane, -1, (int)row->status);
    return FAINA_OK;
}

static enum faina_code change_group(struct fa_unit *unit, struct fa_row *row,
                                    const struct faina_update *update, struct faina_error *err)
{
    row->group = update->group[0] != '\0' ? update->group : NULL;
    if ((row->group != NULL) == row->lane->has_groups)
        return FAINA_OK;
    return change_lane(unit, row, err);
}

/* The unit is flushed, so that the rows of the store are those of the unit. */
static enum faina_code change_submit(struct fa_unit *unit, struct fa_op *op, struct fa_row *row)
{
    bool has_group = changes_group(row, op->update);
    bool is_moved =
        has_group || (op->update->has_priority && -(int64_t)op->update->priority != row->rank);
    bool was_ready = row->state_table == FA_STATE_TABLE_READY;
    enum faina_code code = FAINA_OK;

    if (is_moved)
        code = leave_queue(unit, row, &op->error);
    if (code == FAINA_OK && has_group)
        code = change_group(unit, row, op->update, &op->error);
    if (code != FAINA_OK)
        return code;
    if (is_moved)
        row->turn = 0;
    set_members(unit, row, op->update);
    unit->has_arrivals |= is_moved && was_ready;
    if (is_moved && was_ready)
        code = fa_runs_split(unit, row->lane, row, &op->error);
    return code == FAINA_OK ? write_task(unit, row, &op->error) : code;
}

enum faina_code fa_do_update(struct fa_unit *unit, struct fa_op *op)
{
    const struct faina_update *update = op->update;
    bool has_submit = changes_submit(update);
    const char *before, *after, *metadata = NULL;
    struct fa_row *row = NULL;
    enum faina_code code = fa_find_task(unit, op, true, &row);

    if (code == FAINA_OK)
        code = check_status(row, op);
    if (code == FAINA_OK)
        code = check_attempts(row, op);
    if (code == FAINA_OK && update->metadata != NULL)
        code = fa_merge_metadata(unit, row, update->metadata, &metadata, &op->error);
    if (code == FAINA_OK && has_submit)
        code = fa_unit_flush(unit, &op->error);
    if (code != FAINA_OK)
        return code;
    before = take_picture(unit, row, update);
    fa_unit_store_implicit_events(unit, row);
    fa_unit_change(unit, row);
    if (has_submit)
        code = change_submit(unit, op, row);
    if (code != FAINA_OK)
        return code;
    after = take_picture(unit, row, update);
    if (metadata != NULL)
        row->metadata = metadata;
    fa_unit_event(unit, row, "updated", op->by.worker_id ? FAINA_ACTOR_WORKER : FAINA_ACTOR_API,
                  op->by.worker_id,
                  fa_arena_printf(&unit->arena, "{\"before\":%s,\"after\":%s}", before, after));
    return fa_set_result(unit, op, row);
}
