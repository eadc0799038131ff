/* recover.c - a task whose lease is over comes back: the attempt has failed. */
#include "sql/chores/chores.h"

#define LEASE_GRACE_US 100000 /* where nodes share a store, they know its clock only roughly */

int64_t fa_chore_grace_us(const struct fa_unit *unit)
{
    return unit->source.db->is_shared ? LEASE_GRACE_US : 0;
}

enum faina_code fa_chore_recover(struct fa_unit *unit, struct fa_row *row, struct faina_error *err)
{
    const char *worker = row->worker;
    const char *message = fa_arena_printf(&unit->arena, "worker %s did not renew its lease",
                                          worker ? worker : "(none)");

    unit->lost_count++;
    return fa_end_attempt(unit, row, true, "lease_lost", FAINA_ACTOR_SYSTEM, worker,
                          fa_chore_error(unit, "lease_lost", message), err);
}
