/* commit_counts.c - see commit_counts.h. */
#include "store/txn/commit_counts.h"

#include "service/service.h"

/* The tasks that the transaction has ended, each once. */
static size_t gather_ends(struct fa_unit *unit, struct fa_history_end *ends)
{
    size_t count = 0;

    for (size_t i = 0; i < unit->ended_count; i++) {
        struct fa_row *row = fa_unit_cached(unit, unit->ended[i].key);

        if (row == NULL || row->is_counted || !fa_status_is_ended(row->status))
            continue; /* listed twice, or reopened by the same transaction */
        row->is_counted = true;
        ends[count++] = (struct fa_history_end){row->lane, row->status};
    }
    return count;
}

static struct fa_kind kind_of(const struct fa_lane *lane)
{
    return (struct fa_kind){lane->ns, lane->type};
}

static const struct fa_task_span *spans_of(struct fa_unit *unit, const struct fa_spans *spans)
{
    struct fa_task_span *out = fa_arena_take(&unit->arena, (spans->count + 1) * sizeof(*out));

    for (size_t i = 0; i < spans->count; i++)
        out[i] = (struct fa_task_span){kind_of(spans->items[i].lane), spans->items[i].us};
    return out;
}

static struct fa_span_submit *span_submits_of(struct fa_unit *unit)
{
    struct fa_span_submit *out =
        fa_arena_take(&unit->arena, (unit->added_count + 1) * sizeof(*out));

    for (size_t i = 0; i < unit->added_count; i++) {
        const struct fa_row *row = unit->added[i];

        out[i] = (struct fa_span_submit){row->id, kind_of(row->lane), row->created_us,
                                         row->first_metadata};
    }
    return out;
}

static void publish(struct fa_waiters *waiters, struct fa_unit *unit, size_t op_count,
                    const struct fa_history_end *ends, size_t end_count)
{
    struct fa_commit_stats stats = {.op_count = op_count,
                                    .submitted_count = unit->added_count,
                                    .sql_submitted = unit->sql_submits,
                                    .sql_submitted_count = unit->sql_submit_count,
                                    .ended_count = end_count,
                                    .waits = spans_of(unit, &unit->waits),
                                    .wait_count = unit->waits.count,
                                    .runs = spans_of(unit, &unit->runs),
                                    .run_count = unit->runs.count,
                                    .leases_lost = unit->lost_count,
                                    .missed = unit->missed,
                                    .missed_count = unit->missed_count,
                                    .trigger_failures = unit->trigger_failures,
                                    .trigger_failure_count = unit->trigger_failure_count};
    struct fa_kind *submitted =
        fa_arena_take(&unit->arena, (unit->added_count + 1) * sizeof(*submitted));
    struct fa_task_end *ended = fa_arena_take(&unit->arena, (end_count + 1) * sizeof(*ended));

    for (size_t i = 0; i < unit->added_count; i++)
        submitted[i] = kind_of(unit->added[i]->lane);
    for (size_t i = 0; i < end_count; i++)
        ended[i] = (struct fa_task_end){kind_of(ends[i].lane), ends[i].status};
    if (unit->wants_spans) {
        stats.span_submits = span_submits_of(unit);
        stats.span_submit_count = unit->added_count;
        stats.span_attempts = unit->attempts;
        stats.span_attempt_count = unit->attempt_count;
    }
    stats.submitted = submitted;
    stats.ended = ended;
    fa_waiters_publish_stats(waiters, &stats);
}

void fa_facts_publish(struct fa_waiters *waiters, struct fa_history_log *history,
                      struct fa_unit *unit, size_t op_count)
{
    struct fa_history_end *ends;
    size_t end_count;

    if (op_count + unit->added_count + unit->sql_submit_count + unit->ended_count +
            unit->waits.count + unit->runs.count + unit->retries.count + unit->lost_count +
            unit->trigger_failure_count + unit->missed_count ==
        0)
        return;
    ends = fa_arena_take(&unit->arena, (unit->ended_count + 1) * sizeof(*ends));
    end_count = gather_ends(unit, ends);
    fa_history_log_count(history, unit, ends, end_count);
    if (fa_waiters_has_counters(waiters))
        publish(waiters, unit, op_count, ends, end_count);
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

void fa_facts_publish_lead(struct fa_waiters *waiters, bool leads)
{
    fa_waiters_publish_stats(
        waiters, &(struct fa_commit_stats){.lead = leads ? FA_LEAD_BEGUN : FA_LEAD_OVER});
}

void fa_facts_publish_stalled(struct fa_waiters *waiters, const char *reason)
{
    fa_waiters_publish_stats(waiters, &(struct fa_commit_stats){.stalled = reason});
}
