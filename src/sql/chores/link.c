/*
 * link.c - a task that was submitted in SQL learns what became of those that it waits for.
 */
#include "sql/chores/chores.h"

#include "model/states.h"

/* A blocked task with a time was submitted in SQL: those that it needs don't know of it yet, and
 * some may have ended since. One that was deleted since counts as ended badly. */
enum faina_code fa_chore_link(struct fa_unit *unit, struct fa_row *row, struct faina_error *err)
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
