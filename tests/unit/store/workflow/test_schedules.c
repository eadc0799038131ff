/*
 * test_schedules.c - schedules with a clock that the test sets: due times, missed times, and that
 * no time makes two tasks.
 */
#include "store/upkeep/outbox.h"
#include "support/unit_store.h"

#include <setjmp.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000)
#define HOUR (3600 * SECOND)
#define TASK "{\"type\":\"tick\"}"

static void put(struct store *store, const struct fa_cron_job *job)
{
    store_begin(store);
    CHECK(store_run(store, &(struct fa_op){.kind = FA_OP_CRON_PUT, .cron = job}) == FAINA_OK, "%s",
          store->op.error.message);
    store_commit(store);
}

#define PUT(store, ...) put(store, &(struct fa_cron_job){__VA_ARGS__})

/* Runs the chores at a time; returns when they are due again. */
static int64_t chores_at(struct store *store, int64_t now_us)
{
    struct faina_error err = {0};
    int64_t next_us = 0;

    store_begin(store);
    store->unit.now_us = now_us;
    CHECK(fa_chores_run(&store->unit, 1000, &next_us, &err) == FAINA_OK, "%s", err.message);
    store_commit(store);
    return next_us;
}

static int64_t tasks(struct store *store)
{
    return raw_int(store->raw, "SELECT count(*) FROM task WHERE id > 0");
}

static const char *keys(struct store *store)
{
    return raw_text(store->raw, "SELECT key FROM task WHERE id > 0 ORDER BY id", &store->arena);
}

static void test_crons__each_time_in_its_time(void **state)
{
    struct store store;

    store_open(&store);
    PUT(&store, .name = "h", .schedule = "0 * * * *", .task = TASK);
    CHECK_INT(store.unit.next_us, STORE_NOW + HOUR);
    CHECK_INT(chores_at(&store, STORE_NOW + HOUR - 1), STORE_NOW + HOUR);
    CHECK_INT(tasks(&store), 0);
    CHECK_INT(chores_at(&store, STORE_NOW + HOUR), STORE_NOW + 2 * HOUR);
    CHECK_STR(keys(&store), "cron:h:2026-01-02T01:00:00Z");
    CHECK_INT(chores_at(&store, STORE_NOW + 2 * HOUR - 1), STORE_NOW + 2 * HOUR);
    CHECK_INT(tasks(&store), 1);
    store_close(&store);
}

/* A leader that died is replaced after its lease, which doesn't count as missed times. */
static void test_crons__a_change_of_leader_leaves_out_none(void **state)
{
    struct store store;

    store_open(&store);
    PUT(&store, .name = "h", .schedule = "0 * * * *", .task = TASK);
    CHECK_INT(chores_at(&store, STORE_NOW + HOUR + 25 * SECOND), STORE_NOW + 2 * HOUR);
    CHECK_INT(tasks(&store), 1);
    CHECK_INT(chores_at(&store, STORE_NOW + 2 * HOUR + 60 * SECOND), STORE_NOW + 3 * HOUR);
    CHECK_INT(tasks(&store), 2);
    CHECK_INT(raw_int(store.raw, "SELECT count(*) FROM cron WHERE problem IS NOT NULL"), 0);
    CHECK_INT(chores_at(&store, STORE_NOW + 3 * HOUR + 60 * SECOND + 1), STORE_NOW + 4 * HOUR);
    CHECK_INT(tasks(&store), 2);
    store_close(&store);
}

/* `problem` gives the reason why a time made no task. */
static void test_crons__times_that_are_left_out_are_told(void **state)
{
    struct store store;

    store_open(&store);
    PUT(&store, .name = "h", .schedule = "0 * * * *", .task = TASK);
    chores_at(&store, STORE_NOW + 2 * HOUR + HOUR / 2);
    CHECK_STR(raw_text(store.raw, "SELECT problem FROM cron", &store.arena),
              "left out: the times from 2026-01-02T01:00:00Z to 2026-01-02T02:00:00Z, because "
              "nothing ran then, and catchUp is none");
    chores_at(&store, STORE_NOW + 3 * HOUR);
    CHECK_INT(raw_int(store.raw, "SELECT count(*) FROM cron WHERE problem IS NOT NULL"), 0);
    chores_at(&store, STORE_NOW + 4 * HOUR + HOUR / 2);
    CHECK_STR(raw_text(store.raw, "SELECT problem FROM cron", &store.arena),
              "left out: the time 2026-01-02T04:00:00Z, because nothing ran then, and catchUp is "
              "none");
    store_close(&store);
}

static void test_crons__a_short_stop_leaves_out_none(void **state)
{
    struct store store;

    store_open(&store);
    PUT(&store, .name = "s", .schedule = "* * * * * *", .task = TASK);
    CHECK_INT(chores_at(&store, STORE_NOW + 5 * SECOND + 1), STORE_NOW + 6 * SECOND);
    CHECK_INT(tasks(&store), 5);
    CHECK_INT(chores_at(&store, STORE_NOW + 16 * SECOND), STORE_NOW + 17 * SECOND);
    CHECK_INT(tasks(&store), 16);
    store_close(&store);
}

static void test_crons__catch_up(void **state)
{
    static const struct {
        enum fa_catch_up catch_up;
        int64_t tasks;
        const char *first;
    } cases[] = {
        {FA_CATCH_UP_NONE, 0, ""},
        {FA_CATCH_UP_ONE, 1, "cron:h:2026-01-02T05:00:00Z"},
        {FA_CATCH_UP_ALL, 5, "cron:h:2026-01-02T01:00:00Z"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct store store;

        store_open(&store);
        PUT(&store, .name = "h", .schedule = "0 * * * *", .task = TASK,
            .catch_up = cases[i].catch_up);
        CHECK_INT(chores_at(&store, STORE_NOW + 5 * HOUR + HOUR / 2), STORE_NOW + 6 * HOUR);
        CHECK_INT(tasks(&store), cases[i].tasks);
        CHECK(strncmp(keys(&store), cases[i].first, strlen(cases[i].first)) == 0, "%s",
              keys(&store));
        CHECK_INT(raw_int(store.raw, "SELECT last_us FROM cron"),
                  cases[i].tasks > 0 ? STORE_NOW + 5 * HOUR : 0);
        CHECK_INT(chores_at(&store, STORE_NOW + 6 * HOUR), STORE_NOW + 7 * HOUR);
        CHECK_INT(tasks(&store), cases[i].tasks + 1);
        store_close(&store);
    }
}

/* Three times were missed and all are caught up, but no two tasks may overlap. */
static void test_crons__overlap_and_catch_up(void **state)
{
    static const struct {
        enum fa_overlap overlap;
        int64_t tasks, tasks_after, living;
        const char *keys;
    } cases[] = {
        {FA_OVERLAP_ALLOW, 3, 4, 4, "cron:h:2026-01-02T01:00:00Z"},
        {FA_OVERLAP_SKIP, 1, 1, 1, "cron:h:2026-01-02T01:00:00Z"},
        {FA_OVERLAP_CANCEL, 1, 2, 1, "cron:h:2026-01-02T03:00:00Z"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct store store;

        store_open(&store);
        PUT(&store, .name = "h", .schedule = "0 * * * *", .task = TASK, .catch_up = FA_CATCH_UP_ALL,
            .overlap = cases[i].overlap);
        CHECK_INT(chores_at(&store, STORE_NOW + 3 * HOUR + HOUR / 2), STORE_NOW + 4 * HOUR);
        CHECK_INT(tasks(&store), cases[i].tasks);
        CHECK(strncmp(keys(&store), cases[i].keys, strlen(cases[i].keys)) == 0, "%s", keys(&store));
        CHECK_INT(chores_at(&store, STORE_NOW + 4 * HOUR), STORE_NOW + 5 * HOUR);
        CHECK_INT(tasks(&store), cases[i].tasks_after);
        CHECK_INT(raw_int(store.raw, "SELECT count(*) FROM task_standing WHERE status = 0"),
                  cases[i].living);
        store_close(&store);
    }
}

/* The task of the time before has ended: the time makes its task. */
static void test_crons__a_task_that_ended_is_no_overlap(void **state)
{
    struct fa_op cancel = {.kind = FA_OP_CANCEL};
    struct store store;
    int64_t key;

    store_open(&store);
    PUT(&store, .name = "h", .schedule = "0 * * * *", .task = TASK, .overlap = FA_OVERLAP_SKIP);
    chores_at(&store, STORE_NOW + HOUR);
    store_begin(&store);
    key = raw_int(store.raw, "SELECT id FROM task WHERE id > 0");
    cancel.id = store_id(&store, store_get(&store, key));
    CHECK(store_run(&store, &cancel) == FAINA_OK, "%s", store.op.error.message);
    store_commit(&store);
    chores_at(&store, STORE_NOW + 2 * HOUR);
    CHECK_INT(tasks(&store), 2);
    CHECK_INT(raw_int(store.raw, "SELECT count(*) FROM cron WHERE problem IS NOT NULL"), 0);
    store_close(&store);
}

static void test_crons__jitter_is_within_its_bounds_and_the_same_for_all(void **state)
{
    int64_t seen[2];

    for (size_t i = 0; i < 2; i++) {
        struct store store;

        store_open(&store);
        PUT(&store, .name = "h", .schedule = "0 * * * *", .task = TASK, .jitter_ms = 600000);
        chores_at(&store, STORE_NOW + HOUR);
        seen[i] = raw_int(store.raw, "SELECT at_us FROM parked");
        CHECK_TRUE(seen[i] > STORE_NOW + HOUR && seen[i] <= STORE_NOW + HOUR + 600 * SECOND);
        store_close(&store);
    }
    CHECK_INT(seen[0], seen[1]);
}

static void test_crons__all_of_many_comes_in_portions(void **state)
{
    int64_t now_us = STORE_NOW + 2500 * SECOND;
    struct store store;

    store_open(&store);
    PUT(&store, .name = "s", .schedule = "* * * * * *", .task = TASK, .catch_up = FA_CATCH_UP_ALL);
    CHECK_TRUE(chores_at(&store, now_us) <= now_us); /* again at once */
    CHECK_INT(tasks(&store), 1000);
    CHECK_TRUE(chores_at(&store, now_us) <= now_us);
    CHECK_INT(tasks(&store), 2000);
    CHECK_INT(chores_at(&store, now_us), now_us + SECOND);
    CHECK_INT(tasks(&store), 2500);
    CHECK_INT(raw_int(store.raw, "SELECT count(DISTINCT key) FROM task WHERE id > 0"), 2500);
    store_close(&store);
}

/* J1: a time that is run a second time makes no second task. */
static void test_crons__a_time_that_was_served_makes_no_second_task(void **state)
{
    struct store store;

    store_open(&store);
    PUT(&store, .name = "h", .schedule = "0 * * * *", .task = TASK);
    chores_at(&store, STORE_NOW + HOUR);
    CHECK_INT(tasks(&store), 1);
    raw_exec(store.raw, "UPDATE cron SET next_us = next_us - 3600000000");
    CHECK_INT(chores_at(&store, STORE_NOW + HOUR), STORE_NOW + 2 * HOUR);
    CHECK_INT(tasks(&store), 1);
    store_close(&store);
}

/* J2: a failed transaction has neither made tasks nor changed next_us. */
static void test_crons__nothing_happens_by_half(void **state)
{
    int64_t calls = 0, next_us = 0;
    struct faina_error err = {0};
    struct store store;

    store_open(&store);
    PUT(&store, .name = "h", .schedule = "0 * * * *", .task = TASK);
    for (int64_t at = 1; at == 1 || at <= calls; at++) {
        enum faina_code code;

        store_begin(&store);
        store.unit.now_us = STORE_NOW + HOUR;
        fa_outbox_forget(&store.unit); /* each round makes the same calls */
        spy_forget(&store.spy);
        store.spy.fail_at = at;
        code = fa_chores_run(&store.unit, 1000, &next_us, &err);
        CHECK(code != FAINA_OK, "call %lld did not fail", (long long)at);
        store.spy.fail_at = 0;
        store_rollback(&store);
        CHECK_INT(tasks(&store), 0);
        CHECK_INT(raw_int(store.raw, "SELECT next_us FROM cron"), STORE_NOW + HOUR);
        for (int i = 0; at == 1 && i < 2; i++) { /* how many calls it takes, after the first run */
            store_begin(&store);
            fa_outbox_forget(&store.unit);
            spy_forget(&store.spy);
            CHECK_INT(fa_chores_run(&store.unit, 1000, &next_us, &err), FAINA_OK);
            calls = store.spy.calls;
            store_rollback(&store);
            CHECK_TRUE(calls > 3);
        }
    }
    chores_at(&store, STORE_NOW + HOUR);
    CHECK_INT(tasks(&store), 1);
    store_close(&store);
}

/* A change that keeps schedule and time zone skips no time; resuming starts from now. */
static void test_crons__changes_and_the_next_time(void **state)
{
    struct store store;

    store_open(&store);
    PUT(&store, .name = "h", .schedule = "0 * * * *", .task = TASK);
    store.unit.now_us = STORE_NOW + HOUR + SECOND;
    PUT(&store, .name = "h", .schedule = "0 * * * *", .task = "{\"type\":\"tock\"}");
    CHECK_INT(raw_int(store.raw, "SELECT next_us FROM cron"), STORE_NOW + HOUR);
    CHECK_INT(raw_int(store.raw, "SELECT version FROM cron"), 2);
    PUT(&store, .name = "h", .schedule = "30 * * * *", .task = TASK);
    CHECK_INT(raw_int(store.raw, "SELECT next_us FROM cron"), STORE_NOW + HOUR + HOUR / 2);
    PUT(&store, .name = "h", .schedule = "30 * * * *", .task = TASK, .is_paused = true);
    CHECK_INT(chores_at(&store, STORE_NOW + 5 * HOUR), INT64_MAX);
    PUT(&store, .name = "h", .schedule = "30 * * * *", .task = TASK, .catch_up = FA_CATCH_UP_ALL);
    CHECK_INT(chores_at(&store, STORE_NOW + 5 * HOUR + SECOND), STORE_NOW + 5 * HOUR + HOUR / 2);
    CHECK_INT(tasks(&store), 0);
    store_close(&store);
}

/* J3, for rows that were edited by hand. */
static void test_crons__a_damaged_one_keeps_nobody_waiting(void **state)
{
    static const char *const damages[] = {
        "UPDATE cron SET schedule = 'rubbish' WHERE name = 'a'",
        "UPDATE cron SET timezone = 'No/Where' WHERE name = 'a'",
        "UPDATE cron SET task = '{' WHERE name = 'a'",
    };

    for (size_t i = 0; i < FA_COUNT(damages); i++) {
        struct store store;
        int64_t next_us;

        store_open(&store);
        PUT(&store, .name = "a", .schedule = "0 * * * *", .task = TASK);
        PUT(&store, .name = "b", .schedule = "0 * * * *", .task = TASK);
        raw_exec(store.raw, damages[i]);
        next_us = chores_at(&store, STORE_NOW + HOUR);
        CHECK_TRUE(next_us >= STORE_NOW + HOUR + 60 * SECOND);
        CHECK_STR(keys(&store), "cron:b:2026-01-02T01:00:00Z");
        CHECK_STR(raw_text(store.raw, "SELECT name FROM cron WHERE problem <> ''", &store.arena),
                  "a");
        store_close(&store);
    }
}

/* Clocks go back in Berlin at 2026-10-25T01:00:00Z, and forward at 2026-03-29T01:00:00Z. */
static void test_crons__daylight_saving(void **state)
{
    struct store store;
    int64_t now_us = STORE_NOW, next_us;

    store_open(&store);
    PUT(&store, .name = "n", .schedule = "30 2 * * *", .timezone = "Europe/Berlin", .task = TASK);
    for (next_us = store.unit.next_us; next_us < STORE_NOW + 365 * 24 * HOUR;) {
        CHECK_TRUE(next_us > now_us);
        now_us = next_us;
        next_us = chores_at(&store, now_us);
    }
    CHECK_INT(tasks(&store), 365);
    CHECK_TRUE(strstr(keys(&store), "cron:n:2026-03-28T01:30:00Z\ncron:n:2026-03-29T01:00:00Z\n"
                                    "cron:n:2026-03-30T00:30:00Z") != NULL);
    CHECK_TRUE(strstr(keys(&store), "cron:n:2026-10-25T00:30:00Z\ncron:n:2026-10-26T01:30:00Z") !=
               NULL);
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crons__each_time_in_its_time),
        cmocka_unit_test(test_crons__a_short_stop_leaves_out_none),
        cmocka_unit_test(test_crons__a_change_of_leader_leaves_out_none),
        cmocka_unit_test(test_crons__times_that_are_left_out_are_told),
        cmocka_unit_test(test_crons__catch_up),
        cmocka_unit_test(test_crons__overlap_and_catch_up),
        cmocka_unit_test(test_crons__a_task_that_ended_is_no_overlap),
        cmocka_unit_test(test_crons__jitter_is_within_its_bounds_and_the_same_for_all),
        cmocka_unit_test(test_crons__all_of_many_comes_in_portions),
        cmocka_unit_test(test_crons__a_time_that_was_served_makes_no_second_task),
        cmocka_unit_test(test_crons__nothing_happens_by_half),
        cmocka_unit_test(test_crons__changes_and_the_next_time),
        cmocka_unit_test(test_crons__a_damaged_one_keeps_nobody_waiting),
        cmocka_unit_test(test_crons__daylight_saving),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
