/*
 * states_table.h - the table of docs/states.md, printed from the rules.
 *
 * Shared by tools/print-states.c, which prints it, and tests/unit/model/test_states.c, which
 * compares it with the manual.
 */
#ifndef FA_STATES_TABLE_H
#define FA_STATES_TABLE_H

#include "base/bytes.h"
#include "model/states.h"

static inline void states_table_add_from(struct fa_buf *out, enum fa_trigger trigger)
{
    const char *comma = "";

    for (int i = 0; i < FAINA_STATUS_COUNT; i++) {
        if (!fa_rule_find((enum faina_status)i, trigger))
            continue;
        fa_buf_printf(out, "%s%s", comma, faina_status_name((enum faina_status)i));
        comma = ", ";
    }
}

/* The rule of a trigger: each trigger is allowed from at least one status. */
static inline const struct fa_rule *states_table_rule(enum fa_trigger trigger)
{
    const struct fa_rule *rule = NULL;

    for (int i = 0; !rule && i < FAINA_STATUS_COUNT; i++)
        rule = fa_rule_find((enum faina_status)i, trigger);
    return rule;
}

static inline void states_table_add_effects(struct fa_buf *out, const struct fa_rule *rule,
                                            enum fa_trigger trigger)
{
    static const struct {
        enum fa_effect effect;
        const char *text;
    } effects[] = {
        {FA_TAKE_LEASE, "takes the lease and the resources"},
        {FA_COUNT_ATTEMPT, "counts an attempt"},
        {FA_UNCOUNT, "gives the attempt back"},
        {FA_DROP_LEASE, "drops the lease"},
        {FA_DROP_RESOURCES, "frees the resources"},
        {FA_REPEAT, "the next attempt starts from the beginning"},
        {FA_BACK_OFF, "backs off before the next attempt"},
        {FA_END, "ends the task"},
        {FA_WAKE, "wakes parent, dependents and waiting clients"},
        {FA_REOPEN, "resets error, progress and state"},
    };
    const char *comma = "";

    for (size_t i = 0; i < FA_COUNT(effects); i++) {
        if (!(rule->effects & effects[i].effect))
            continue;
        fa_buf_printf(out, "%s%s", comma, effects[i].text);
        comma = ", ";
    }
    if (trigger == FA_START)
        fa_buf_add_str(out, " (both from pending only)");
}

static inline void states_table_print(struct fa_buf *out)
{
    fa_buf_add_str(out, "| trigger | from | to | and |\n|---|---|---|---|\n");
    for (int i = 0; i < FA_TRIGGER_COUNT; i++) {
        enum fa_trigger trigger = (enum fa_trigger)i;
        const struct fa_rule *rule = states_table_rule(trigger);

        fa_buf_printf(out, "| %s | ", fa_trigger_name(trigger));
        states_table_add_from(out, trigger);
        fa_buf_printf(out, " | %s | ",
                      rule->effects & FA_KEEP_STATUS ? "the same" : faina_status_name(rule->to));
        states_table_add_effects(out, rule, trigger);
        fa_buf_add_str(out, " |\n");
    }
}

#endif
