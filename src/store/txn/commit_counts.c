/* commit_counts.c - see commit_counts.h. */
#include "store/txn/commit_counts.h"

#include "service/service.h"

static size_t gather_ends(struct fa_unit *unit, struct fa_task_end *stats)
{
    size_t count = 0;

    for (size_t i = 0; i < unit->ended_count; i++) {
        struct fa_row *row = fa_unit_cached(unit, unit->ended[i].key);

        if (row == NULL || row->is_counted || !fa_status_is_ended(row->status))
            continue; /* listed twice, or reopened by the same transaction */
        row->is_counted = true;
        stats[count++] = (struct fa_task_end){{row->lane->ns, row->lane->type}, row->status};
    }
    return count;
}

void fa_facts_publish(struct fa_waiters *waiters, struct fa_unit *unit, size_t op_count)
{
    struct fa_commit_stats stats = {.op_count = op_count,
                                    .submitted_count = unit->added_count,
                                    .waits_us = unit->waits.us,
                                    .wait_count = unit->waits.count,
                                    .runs_us = unit->runs.us,
                                    .run_count = unit->runs.count,
                                    .leases_lost = unit->lost_count,
                                    .trigger_failures = unit->trigger_failures,
                                    .trigger_failure_count = unit->trigger_failure_count};
    struct fa_kind *submitted;
    struct fa_task_end *ended;

    if (!fa_waiters_has_counters(waiters) ||
        op_count + unit->added_count + unit->ended_count + unit->waits.count + unit->runs.count +
                unit->lost_count + unit->trigger_failure_count ==
            0)
        return;
    submitted = fa_arena_take(&unit->arena, (unit->added_count + 1) * sizeof(*submitted));
    ended = fa_arena_take(&unit->arena, (unit->ended_count + 1) * sizeof(*ended));
    for (size_t i = 0; i < unit->added_count; i++)
        submitted[i] = (struct fa_kind){unit->added[i]->lane->ns, unit->added[i]->lane->type};
    stats.submitted = submitted;
    stats.ended = ended;
    stats.ended_count = gather_ends(unit, ended);
    fa_waiters_publish_stats(waiters, &stats);
}

void fa_facts_publish_aside(struct fa_waiters *waiters, struct fa_aside *aside)
{
    struct fa_arena arena = {0};
    struct fa_aside_item *items;
    struct fa_commit_stats stats = {0};

    if (!fa_aside_has_unpublished(aside) || !fa_waiters_has_counters(waiters))
        return;
    stats.set_aside_count = fa_aside_take_unpublished(aside, &arena, &items);
    stats.set_aside = items;
    if (stats.set_aside_count > 0)
        fa_waiters_publish_stats(waiters, &stats);
    fa_arena_finish(&arena);
}

void fa_facts_publish_stalled(struct fa_waiters *waiters, const char *reason)
{
    fa_waiters_publish_stats(waiters, &(struct fa_commit_stats){.stalled = reason});
}
