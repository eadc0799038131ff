/* manage.c - cancel, retry, delete and purge tasks. */
#include "store/queue/bulk_ops.h"
#include "store/queue/cancel_tree.h"
#include "store/queue/ops.h"

#include "model/limits.h"
#include "store/workflow/definitions.h"

enum faina_code fa_cancel_tree(struct fa_unit *unit, struct fa_row *root, enum faina_actor actor,
                               const char *state, int64_t *count, struct faina_error *err)
{
    struct fa_tree tree = fa_tree_begin(root);
    enum faina_code code;

    *count = 0;
    if (fa_status_is_ended(root->status))
        return FAINA_OK;
    fa_unit_apply(unit, root,
                  &(struct fa_change){.trigger = FA_CANCEL, .actor = actor, .state = state});
    tree.limit = FA_TREE_NOW * FA_TREE_TASK;
    code = fa_unit_wake(unit, root, true, err);
    if (code == FAINA_OK)
        code = fa_tree_step(unit, &tree, actor, err);
    *count = 1 + tree.done;
    return code == FAINA_OK && tree.depth > 0 ? fa_bulk_add_tree(unit, root, &tree, err) : code;
}

enum faina_code fa_do_cancel(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_row *row = NULL;
    enum faina_code code = fa_find_task(unit, op, true, &row);

    if (code != FAINA_OK)
        return code;
    if (row->status == FAINA_CANCELLED)
        return fa_set_result(unit, op, row);
    if (fa_rule_find(row->status, FA_CANCEL) == NULL)
        return fa_refuse(row, FA_CANCEL, op);
    code = fa_cancel_tree(unit, row, FAINA_ACTOR_API, NULL, &op->count, &op->error);
    return code == FAINA_OK ? fa_set_result(unit, op, row) : code;
}

/* Counts the task's dependencies again, by their present status; blocks it if some have not ended.
 * */
static enum faina_code wait_again(struct fa_unit *unit, struct fa_row *row, struct faina_error *err)
{
    struct fa_keys needs = {.arena = &unit->arena};
    struct fa_value key = fa_value_int(row->id.key);
    enum faina_code code = FAINA_OK;

    if (!(row->flags & FA_FLAG_HAS_DEPS))
        return FAINA_OK;
    code = fa_unit_flush(unit, err);
    if (code == FAINA_OK)
        code = fa_db_one(unit->source.db, FA_SQL_DEP_LIST, &key, 1, fa_keys_sink, &needs, err);
    row->flags &= ~FA_PHASE_MASK;
    row->deps_left = row->deps_bad = 0;
    for (size_t i = 0; code == FAINA_OK && i < needs.count; i++) {
        struct fa_row *need = NULL;

        code = fa_unit_get(unit, needs.keys[i], false, &need, err);
        if (code == FAINA_TASK_NOT_FOUND)
            code = FAINA_OK; /* deleted */
        else if (code == FAINA_OK && !fa_status_is_ended(need->status))
            row->deps_left++;
        else if (code == FAINA_OK)
            row->deps_bad += need->status != FAINA_COMPLETED;
    }
    fa_unit_touch(unit, row);
    if (code == FAINA_OK && row->deps_left > 0)
        fa_unit_apply(unit, row,
                      &(struct fa_change){
                          .trigger = FA_WAIT, .actor = FAINA_ACTOR_SYSTEM, .what = "blocked"});
    else if (row->deps_bad > 0 && !(row->flags & FA_FLAG_HAS_CHILDREN))
        row->flags |= FAINA_PHASE_ERROR;
    return code;
}

enum faina_code fa_reopen(struct fa_unit *unit, struct fa_row *row, enum faina_actor actor,
                          bool keep_attempts, struct faina_error *err)
{
    bool had_ended = fa_status_is_ended(row->status);
    enum faina_code code;

    fa_unit_apply(unit, row,
                  &(struct fa_change){.trigger = FA_RETRY, .actor = actor, .what = "retried"});
    if (!keep_attempts)
        row->attempts = 0;
    code = wait_again(unit, row, err);
    if (code == FAINA_OK && had_ended)
        code = fa_unit_wake(unit, row, false, err);
    return code;
}

enum faina_code fa_do_retry(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_row *row = NULL;
    enum faina_code code = fa_find_task(unit, op, true, &row);
    int64_t max;

    if (code != FAINA_OK)
        return code;
    if (fa_rule_find(row->status, FA_RETRY) == NULL)
        return fa_refuse(row, FA_RETRY, op);
    max = fa_row_max_attempts(&unit->source, row);
    if (op->keep_attempts && max > 0 && row->attempts >= max)
        return fa_error_set(&op->error, FAINA_MAX_ATTEMPTS_REACHED,
                            "all %lld attempts are used up; retry without keeping them",
                            (long long)max);
    code = fa_reopen(unit, row, FAINA_ACTOR_API, op->keep_attempts, &op->error);
    return code == FAINA_OK ? fa_set_result(unit, op, row) : code;
}

void fa_purge_row(struct fa_unit *unit, struct fa_row *row)
{
    if (row->deleted_us == 0) {
        fa_free_keys(unit, row);
        fa_lane_count(row->lane, (int)row->status, -1);
    }
    row->is_purged = true;
    fa_unit_touch(unit, row);
    fa_chore_empty_soon(unit);
}

static void delete (struct fa_unit *unit, struct fa_row *row)
{
    fa_free_keys(unit, row);
    fa_unit_change(unit, row);
    row->deleted_us = row->updated_us;
    fa_unit_event(unit, row, "deleted", FAINA_ACTOR_API, NULL, NULL);
    fa_lane_count(row->lane, (int)row->status, -1);
}

enum faina_code fa_do_delete(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_row *row = NULL;
    enum faina_code code = fa_unit_find_any(unit, op->id, &row, &op->error);

    if (code == FAINA_OK)
        code = fa_unit_load_task(unit, row, &op->error);
    if (code == FAINA_OK && row->deleted_us != 0 && !op->removal.purge)
        code = fa_error_set(&op->error, FAINA_TASK_NOT_FOUND, "there is no task %s", op->id);
    if (code == FAINA_OK)
        code = fa_check_version(row, op);
    if (code == FAINA_OK && op->removal.cancel && !fa_status_is_ended(row->status))
        code = fa_cancel_tree(unit, row, FAINA_ACTOR_API, NULL, &op->count, &op->error);
    if (code == FAINA_OK && fa_rule_find(row->status, FA_DELETE) == NULL)
        code = fa_refuse(row, FA_DELETE, op);
    if (code != FAINA_OK)
        return code;
    code = fa_flows_process_ends(unit, &op->error); /* while the task still exists */
    if (code != FAINA_OK)
        return code;
    fa_id_format(row->id, op->task_id);
    if (op->removal.purge)
        fa_purge_row(unit, row);
    else
        delete (unit, row);
    return FAINA_OK;
}

/* Purging many ----------------------------------------------------------------------------- */

enum faina_code fa_do_purge(struct fa_unit *unit, struct fa_op *op)
{
    const struct faina_purge *want = op->purge;
    int64_t limit = want->limit > FA_BATCH_MAX ? FA_BATCH_MAX
                    : want->limit > 0          ? want->limit
                                               : 1000;
    int64_t before = want->ended_before_us > 0 ? want->ended_before_us : INT64_MAX;
    struct fa_keys found = {.arena = &unit->arena};
    enum faina_code code = fa_unit_flush(unit, &op->error);

    if (code == FAINA_OK)
        code =
            fa_db_one(unit->source.db, FA_SQL_ENDED_PURGE,
                      (struct fa_value[]){
                          fa_value_int(0),
                          fa_value_int(before == INT64_MAX ? INT64_MAX : fa_id_key_at(before)),
                          fa_value_int(before), fa_value_int(want->statuses ? want->statuses : ~0u),
                          fa_value_int(want->deleted_only), fa_value_text(want->ns),
                          fa_value_text(want->type), fa_value_int(limit)},
                      8, fa_keys_sink, &found, &op->error);
    if (code == FAINA_OK)
        code = fa_unit_read_ahead(unit, found.keys, found.count, &op->error);
    for (size_t i = 0; code == FAINA_OK && i < found.count; i++) {
        struct fa_row *row = fa_unit_cached(unit, found.keys[i]);

        if (row == NULL) {
            struct fa_row read;

            code = fa_row_load(&unit->source, found.keys[i], &unit->arena, &read, &op->error);
            if (code == FAINA_OK)
                row = fa_unit_adopt(unit, &read);
        }
        if (code == FAINA_OK)
            code = fa_unit_load_task(unit, row, &op->error);
        if (code == FAINA_OK && fa_status_is_ended(row->status) && !row->is_purged) {
            fa_purge_row(unit, row);
            op->count++;
        } else if (code == FAINA_TASK_NOT_FOUND ||
                   (code == FAINA_INTERNAL && !unit->source.db->has_failed)) {
            fa_error_clear(&op->error);
            code = FAINA_OK; /* a damaged task stays */
        }
    }
    return code;
}
