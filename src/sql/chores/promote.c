/* promote.c - a task that is due goes in line. */
#include "sql/chores/chores.h"

/* Nothing that a user sees changes: no version, no event. */
enum faina_code fa_chore_promote(struct fa_unit *unit, struct fa_row *row, struct faina_error *err)
{
    (void)err;
    row->due_us = row->at_us;
    row->at_us = 0;
    unit->has_arrivals = true;
    fa_unit_touch(unit, row);
    return FAINA_OK;
}
