/*
 * test_states.c - the life of a task: every pair of status and trigger.
 */
#include "unit/base/unit.h"

#include "model/states.h"

#include "../../../tools/states_table.h"

/* What each status answers to a trigger: a status to go to, KEEP, or a code. Written out by hand
 * from design and contract, and so independent of the rules. */
enum {
    KEEP = 100,
    CODE = 1000, /* + the code of the refusal */
};

#define TAKEN (CODE + FAINA_TASK_ALREADY_CLAIMED)
#define LOOSE (CODE + FAINA_TASK_NOT_CLAIMED)
#define DONE (CODE + FAINA_TASK_COMPLETED)
#define DEAD (CODE + FAINA_TASK_FAILED)
#define LIVES (CODE + FAINA_TASK_ACTIVE)
#define WRONG (CODE + FAINA_INVALID_TRANSITION)
#define TO_P FAINA_PENDING
#define TO_C FAINA_CLAIMED
#define TO_R FAINA_RUNNING
#define TO_BL FAINA_BLOCKED
#define TO_BG FAINA_BACKGROUND
#define TO_OK FAINA_COMPLETED
#define TO_F FAINA_FAILED
#define TO_DL FAINA_DEAD_LETTER
#define TO_CA FAINA_CANCELLED

/* clang-format off */
static const int expected[FA_TRIGGER_COUNT][FAINA_STATUS_COUNT] = {
    /*                 pending claimed running blocked backgr. complet. failed  dead_l. cancelled */
    [FA_CLAIM]      = {TO_C,   TAKEN,  TAKEN,  WRONG,  TAKEN,  DONE,   DEAD,   DEAD,   WRONG},
    [FA_START]      = {TO_R,   TO_R,   WRONG,  WRONG,  WRONG,  DONE,   DEAD,   DEAD,   WRONG},
    [FA_PROGRESS]   = {LOOSE,  KEEP,   KEEP,   WRONG,  KEEP,   DONE,   DEAD,   DEAD,   WRONG},
    [FA_RELEASE]    = {LOOSE,  TO_P,   WRONG,  WRONG,  WRONG,  DONE,   DEAD,   DEAD,   WRONG},
    [FA_REQUEUE]    = {LOOSE,  TO_P,   TO_P,   WRONG,  WRONG,  DONE,   DEAD,   DEAD,   WRONG},
    [FA_SNOOZE]     = {LOOSE,  TO_P,   TO_P,   WRONG,  WRONG,  DONE,   DEAD,   DEAD,   WRONG},
    [FA_COMPLETE]   = {LOOSE,  TO_OK,  TO_OK,  WRONG,  TO_OK,  DONE,   DEAD,   DEAD,   WRONG},
    [FA_FAIL_RETRY] = {LOOSE,  TO_P,   TO_P,   WRONG,  TO_P,   DONE,   DEAD,   DEAD,   WRONG},
    [FA_FAIL_LAST]  = {LOOSE,  TO_DL,  TO_DL,  WRONG,  TO_DL,  DONE,   DEAD,   DEAD,   WRONG},
    [FA_FAIL_FINAL] = {TO_F,   TO_F,   TO_F,   WRONG,  TO_F,   DONE,   DEAD,   DEAD,   WRONG},
    [FA_BLOCK]      = {LOOSE,  WRONG,  TO_BL,  WRONG,  WRONG,  DONE,   DEAD,   DEAD,   WRONG},
    [FA_WAIT]       = {TO_BL,  WRONG,  WRONG,  WRONG,  WRONG,  WRONG,  WRONG,  WRONG,  WRONG},
    [FA_UNBLOCK]    = {WRONG,  WRONG,  WRONG,  TO_P,   WRONG,  WRONG,  WRONG,  WRONG,  WRONG},
    [FA_BACKGROUND] = {LOOSE,  WRONG,  TO_BG,  WRONG,  WRONG,  DONE,   DEAD,   DEAD,   WRONG},
    [FA_LOSE_RETRY] = {WRONG,  TO_P,   TO_P,   WRONG,  TO_P,   WRONG,  WRONG,  WRONG,  WRONG},
    [FA_LOSE_LAST]  = {WRONG,  TO_DL,  TO_DL,  WRONG,  TO_DL,  WRONG,  WRONG,  WRONG,  WRONG},
    [FA_CANCEL]     = {TO_CA,  TO_CA,  TO_CA,  TO_CA,  TO_CA,  DONE,   DEAD,   DEAD,   WRONG},
    [FA_RETRY]      = {WRONG,  TO_P,   TO_P,   WRONG,  WRONG,  DONE,   TO_P,   TO_P,   TO_P},
    [FA_DELETE]     = {LIVES,  LIVES,  LIVES,  LIVES,  LIVES,  KEEP,   KEEP,   KEEP,   KEEP},
};
/* clang-format on */

static int answer(enum faina_status from, enum fa_trigger trigger)
{
    const struct fa_rule *rule = fa_rule_find(from, trigger);

    if (!rule)
        return CODE + (int)fa_rule_refusal(from, trigger);
    return rule->effects & FA_KEEP_STATUS ? KEEP : (int)rule->to;
}

static void test_states__every_pair(void **state)
{
    for (int trigger = 0; trigger < FA_TRIGGER_COUNT; trigger++) {
        for (int from = 0; from < FAINA_STATUS_COUNT; from++) {
            char name[128];

            snprintf(name, sizeof(name), "%s from %s", fa_trigger_name((enum fa_trigger)trigger),
                     faina_status_name((enum faina_status)from));
            check_int(name, answer((enum faina_status)from, (enum fa_trigger)trigger),
                      expected[trigger][from]);
        }
    }
}

/* S2. */
static void test_states__an_ended_task_leaves_by_retry_only(void **state)
{
    for (int trigger = 0; trigger < FA_TRIGGER_COUNT; trigger++) {
        for (int from = 0; from < FAINA_STATUS_COUNT; from++) {
            const struct fa_rule *rule =
                fa_rule_find((enum faina_status)from, (enum fa_trigger)trigger);

            if (!rule || !fa_status_is_ended((enum faina_status)from))
                continue;
            assert_true(trigger == FA_RETRY || (rule->effects & FA_KEEP_STATUS));
            assert_true(trigger == FA_DELETE || from != FAINA_COMPLETED);
        }
    }
}

/* S3: a transition from a status with a lease or resources to one without must drop them. */
static void test_states__effects_keep_leases_and_resources_true(void **state)
{
    for (int trigger = 0; trigger < FA_TRIGGER_COUNT; trigger++) {
        for (int from = 0; from < FAINA_STATUS_COUNT; from++) {
            const struct fa_rule *rule =
                fa_rule_find((enum faina_status)from, (enum fa_trigger)trigger);
            const char *name = fa_trigger_name((enum fa_trigger)trigger);
            enum faina_status old = (enum faina_status)from;

            if (!rule || (rule->effects & FA_KEEP_STATUS))
                continue;
            if (fa_status_is_held(old) && !fa_status_is_held(rule->to))
                check_true(name, rule->effects & FA_DROP_LEASE);
            if (fa_status_uses_resources(old) && !fa_status_uses_resources(rule->to))
                check_true(name, rule->effects & FA_DROP_RESOURCES);
            if (!fa_status_is_held(old) && fa_status_is_held(rule->to))
                check_true(name, rule->effects & FA_TAKE_LEASE);
            if (fa_status_is_held(rule->to))
                check_true(name, !(rule->effects & (FA_DROP_LEASE | FA_DROP_RESOURCES)));
            if (fa_status_uses_resources(rule->to))
                check_true(name, !(rule->effects & FA_DROP_RESOURCES));
        }
    }
}

static void test_states__ends_are_told_and_reopened(void **state)
{
    for (int trigger = 0; trigger < FA_TRIGGER_COUNT; trigger++) {
        const struct fa_rule *rule = states_table_rule((enum fa_trigger)trigger);
        const char *name = fa_trigger_name((enum fa_trigger)trigger);
        bool ends;

        assert_non_null(rule);
        if (rule->effects & FA_KEEP_STATUS)
            continue;
        ends = fa_status_is_ended(rule->to);
        check_int(name, !!(rule->effects & FA_END), ends);
        check_int(name, !!(rule->effects & FA_WAKE), ends);
        check_int(name, !!(rule->effects & FA_REOPEN), trigger == FA_RETRY);
        check_int(name, !!(rule->effects & FA_UNCOUNT),
                  trigger == FA_RELEASE || trigger == FA_REQUEUE || trigger == FA_SNOOZE);
        check_int(name, !!(rule->effects & FA_COUNT_ATTEMPT),
                  rule->to == FAINA_CLAIMED || rule->to == FAINA_RUNNING);
        check_int(name, !!(rule->effects & FA_BACK_OFF), trigger == FA_FAIL_RETRY);
    }
}

static void test_states__kinds_of_status(void **state)
{
    static const struct {
        enum faina_status status;
        bool is_held, uses, is_ended;
    } cases[] = {
        {FAINA_PENDING, false, false, false},   {FAINA_CLAIMED, true, true, false},
        {FAINA_RUNNING, true, true, false},     {FAINA_BLOCKED, false, false, false},
        {FAINA_BACKGROUND, false, true, false}, {FAINA_COMPLETED, false, false, true},
        {FAINA_FAILED, false, false, true},     {FAINA_DEAD_LETTER, false, false, true},
        {FAINA_CANCELLED, false, false, true},
    };

    assert_int_equal(FA_COUNT(cases), FAINA_STATUS_COUNT);
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        const char *name = faina_status_name(cases[i].status);
        enum faina_status parsed;

        check_int(name, fa_status_is_held(cases[i].status), cases[i].is_held);
        check_int(name, fa_status_uses_resources(cases[i].status), cases[i].uses);
        check_int(name, fa_status_is_ended(cases[i].status), cases[i].is_ended);
        check_true(name, fa_status_parse(name, &parsed) && parsed == cases[i].status);
    }
}

static void test_states__unknown_names_are_refused(void **state)
{
    static const char *const names[] = {NULL, "", "Pending", "PENDING", "pend", "pending ", "dead"};
    enum faina_status status = FAINA_RUNNING;

    for (size_t i = 0; i < FA_COUNT(names); i++)
        assert_false(fa_status_parse(names[i], &status));
    assert_int_equal(status, FAINA_RUNNING);
}

static void test_states__the_manual_has_the_table(void **state)
{
    char *manual = read_source("docs/states.md");
    struct fa_buf table;

    fa_buf_init(&table, 65536);
    states_table_print(&table);
    if (!strstr(manual, table.ptr))
        fail_msg("docs/states.md lacks this table (tools/print-states.c prints it):\n%s",
                 table.ptr);
    fa_buf_finish(&table);
    free(manual);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states__every_pair),
        cmocka_unit_test(test_states__an_ended_task_leaves_by_retry_only),
        cmocka_unit_test(test_states__effects_keep_leases_and_resources_true),
        cmocka_unit_test(test_states__ends_are_told_and_reopened),
        cmocka_unit_test(test_states__kinds_of_status),
        cmocka_unit_test(test_states__unknown_names_are_refused),
        cmocka_unit_test(test_states__the_manual_has_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
