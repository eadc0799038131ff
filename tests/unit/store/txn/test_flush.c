/*
 * test_flush.c - writing a unit: one statement per kind of change, for all rows together.
 */
#include "support/unit_store.h"

#include "store/upkeep/audit.h"
#include "store/queue/runs.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

static void check_finding(void *ctx, const char *sentence)
{
    CHECK(false, "the audit found: %s", sentence);
}

static void check_audit(struct store *store)
{
    struct faina_error err = {0};

    CHECK(fa_audit(store->db, check_finding, NULL, &err) == FAINA_OK, "%s", err.message);
}

static void must_run(struct store *store, struct fa_op op, const char *id)
{
    op.id = id;
    op.by.worker_id = "w";
    CHECK(store_run(store, &op) == FAINA_OK, "%s: %s", fa_op_name(op.kind),
          store->op.error.message);
}

/* ------------------------------------------------------------------------------------------
 * Grouping
 */

static void test_flush__rows_of_a_kind_are_written_together(void **state)
{
    struct store store;

    store_open(&store);
    store_begin(&store);
    for (int i = 0; i < 500; i++)
        store_submit(&store, .type = i % 2 ? "odd" : "even");
    for (int i = 0; i < 70; i++)
        store_submit(&store, .type = "odd", .metadata = "{}");
    spy_forget(&store.spy);
    store_commit(&store);
    CHECK_INT(store.spy.runs[FA_SQL_TASK_INSERT_PLAIN], 1);
    CHECK_INT(store.spy.rows[FA_SQL_TASK_INSERT_PLAIN], 500);
    CHECK_INT(store.spy.runs[FA_SQL_TASK_INSERT], 1);
    CHECK_INT(store.spy.rows[FA_SQL_TASK_INSERT], 70);
    CHECK_INT(store.spy.runs[FA_SQL_READY_INSERT_NEW], 1);
    CHECK_INT(store.spy.rows[FA_SQL_READY_INSERT_NEW],
              2 * ((250 + FA_RUN_MAX - 1) / FA_RUN_MAX) + 2);
    CHECK_INT(store.spy.rows[FA_SQL_READY_INSERT], 0);
    CHECK_INT(store.spy.rows[FA_SQL_LANE_INSERT], 2);
    CHECK_INT(store.spy.runs[FA_SQL_TALLY_ADD], 1);
    CHECK_INT(store.spy.rows[FA_SQL_TALLY_ADD], 2);
    CHECK_INT(store.spy.runs[FA_SQL_BROKER_GET], 1); /* once, by the first transaction */
    CHECK_INT(store.spy.calls, 7);
    check_audit(&store);
    store_close(&store);
}

static void test_flush__a_second_one_writes_nothing(void **state)
{
    struct store store;
    struct faina_error err = {0};

    store_open(&store);
    store_begin(&store);
    store_submit(&store, .type = "t", .idempotency_key = "k");
    CHECK_INT(fa_unit_flush(&store.unit, &err), FAINA_OK);
    spy_forget(&store.spy);
    CHECK_INT(fa_unit_flush(&store.unit, &err), FAINA_OK);
    CHECK_INT(store.spy.calls, 0);
    store_commit(&store);
    store_close(&store);
}

/* A row that several operations changed is written once, in its final state. */
static void test_flush__only_the_last_place_is_written(void **state)
{
    struct store store;
    const char *id;

    store_open(&store);
    store_begin(&store);
    id = store_id(&store, store_submit(&store, .type = "t"));
    must_run(&store, (struct fa_op){.kind = FA_OP_CLAIM}, id);
    must_run(&store, (struct fa_op){.kind = FA_OP_START}, id);
    must_run(&store, (struct fa_op){.kind = FA_OP_COMPLETE, .output = "1"}, id);
    spy_forget(&store.spy);
    store_commit(&store);
    CHECK_INT(store.spy.rows[FA_SQL_TASK_INSERT_PLAIN], 1);
    CHECK_INT(store.spy.rows[FA_SQL_ENDED_INSERT], 1);
    CHECK_INT(store.spy.rows[FA_SQL_READY_INSERT], 0);
    CHECK_INT(store.spy.rows[FA_SQL_READY_INSERT_NEW], 0);
    CHECK_INT(store.spy.rows[FA_SQL_HELD_INSERT], 0);
    CHECK_INT(store.spy.rows[FA_SQL_EVENT_INSERT], 0);
    check_audit(&store);
    store_close(&store);
}

static void test_flush__a_task_that_nobody_touched_is_all_nulls(void **state)
{
    struct store store;

    store_open(&store);
    store_begin(&store);
    store_submit(&store, .type = "t", .priority = 3);
    store_commit(&store);
    CHECK_STR(raw_text(store.raw,
                       "SELECT rank, coalesce(version, fence, attempts, flags, progress, state, "
                       "updated_us, claimed_us, started_us, error, metadata, run_at_us) FROM ready",
                       &store.arena),
              "-3|");
    store_close(&store);
}

/* ------------------------------------------------------------------------------------------
 * Tables
 */

static void test_flush__each_status_has_its_table(void **state)
{
    static const char *const tables[FAINA_STATUS_COUNT] = {
        [FAINA_PENDING] = "ready",  [FAINA_CLAIMED] = "held",      [FAINA_RUNNING] = "held",
        [FAINA_BLOCKED] = "parked", [FAINA_BACKGROUND] = "parked", [FAINA_COMPLETED] = "ended",
        [FAINA_FAILED] = "ended",   [FAINA_DEAD_LETTER] = "ended", [FAINA_CANCELLED] = "ended",
    };
    struct store store;

    store_open(&store);
    for (int status = 0; status < FAINA_STATUS_COUNT; status++) {
        int64_t key = store_make(&store, (enum faina_status)status);
        const char *sql = fa_arena_printf(&store.arena, "SELECT count(*) FROM %s WHERE id = %lld",
                                          tables[status], (long long)key);

        CHECK_INT(raw_int(store.raw, sql), 1);
        check_audit(&store);
    }
    store_close(&store);
}

static void walk_step(struct store *store, bool each)
{
    if (!each)
        return;
    store_commit(store);
    store_begin(store);
}

/* A few lives with resources, keys, dependencies and subtasks. With `each`, every step is a
 * transaction of its own; else all of them are one. */
static void walk(struct store *store, bool each)
{
    static const char *const gpu[] = {"gpu"};
    static const struct faina_submit children[2] = {{.type = "c", .name = "a"}, {.type = "c"}};
    static const struct faina_failure failure = {.message = "no luck"};
    static const struct faina_failure last = {.message = "no use", .permanent = true};
    static const struct faina_report report = {.has_progress = true, .progress = 40, .state = "s"};
    const struct fa_op steps[] = {
        {.kind = FA_OP_CLAIM},
        {.kind = FA_OP_START},
        {.kind = FA_OP_PROGRESS, .report = &report},
        {.kind = FA_OP_HEARTBEAT, .lease_ms = 5000},
        {.kind = FA_OP_FAIL, .failure = &failure},
        {.kind = FA_OP_CLAIM}, /* by id, ahead of its time */
        {.kind = FA_OP_RELEASE},
        {.kind = FA_OP_CLAIM},
        {.kind = FA_OP_START},
        {.kind = FA_OP_BACKGROUND, .background = {"r", 9000}},
        {.kind = FA_OP_FAIL, .failure = &last},
        {.kind = FA_OP_RETRY},
        {.kind = FA_OP_CLAIM},
        {.kind = FA_OP_START},
        {.kind = FA_OP_BLOCK, .block = {children, 2, false}},
        {.kind = FA_OP_CANCEL},
    };
    const char *id, *other;

    store_begin(store);
    id = store_id(store, store_submit(store, .type = "t", .resources = gpu, .resource_count = 1,
                                      .idempotency_key = "k", .max_attempts = 9));
    walk_step(store, each);
    other =
        store_id(store, store_submit(store, .type = "u", .depends_on = &id, .depends_on_count = 1));
    walk_step(store, each);
    for (size_t i = 0; i < FA_COUNT(steps); i++) {
        must_run(store, steps[i], id);
        walk_step(store, each);
    }
    must_run(store, (struct fa_op){.kind = FA_OP_CLAIM}, other);
    walk_step(store, each);
    must_run(store, (struct fa_op){.kind = FA_OP_DELETE}, id);
    store_commit(store);
}

/* Operations of one batch see each other: it makes no difference where transactions end. */
static void test_flush__one_transaction_or_many_leave_the_same(void **state)
{
    struct store one, many;

    store_open(&one);
    store_open(&many);
    walk(&one, false);
    walk(&many, true);
    check_audit(&one);
    check_audit(&many);
    CHECK_STR(raw_dump(one.raw, &one.arena), raw_dump(many.raw, &many.arena));
    CHECK_TRUE(raw_int(one.raw, "SELECT count(*) FROM event") > 5);
    store_close(&one);
    store_close(&many);
}

/* A row leaves its table and returns within one transaction: nothing of the first row is left. */
static void test_flush__a_round_trip_is_written_whole(void **state)
{
    const struct fa_op again[] = {
        {.kind = FA_OP_RETRY},
        {.kind = FA_OP_CLAIM},
        {.kind = FA_OP_START},
        {.kind = FA_OP_COMPLETE, .output = "[2]"},
    };
    struct store store;
    const char *id;
    int64_t key;

    store_open(&store);
    key = store_make(&store, FAINA_FAILED);
    store_begin(&store);
    id = store_id(&store, store_get(&store, key));
    for (size_t i = 0; i < FA_COUNT(again); i++)
        must_run(&store, again[i], id);
    store_commit(&store);
    CHECK_STR(raw_text(store.raw,
                       "SELECT status, error, output, completed_us = updated_us, claimed_us < "
                       "completed_us, (SELECT count(*) FROM event WHERE at_us > claimed_us) "
                       "FROM ended",
                       &store.arena),
              "5||[2]|1|1|0");
    check_audit(&store);
    store_close(&store);
}

/* Payloads are not read for this (R3 of row.h), and must not be lost. */
static void test_flush__an_ended_task_keeps_its_payload(void **state)
{
    static const char sql[] =
        "SELECT status, attempts, worker, output, deleted_us IS NULL, flags & "
        "1024, completed_us FROM ended";
    struct store store;
    const char *id, *before, *after;
    int64_t key;

    store_open(&store);
    key = store_make(&store, FAINA_COMPLETED);
    before = raw_text(store.raw, sql, &store.arena);
    CHECK(strncmp(before, "5|1|w|{}|1|0|", 13) == 0, "%s", before);
    store_begin(&store);
    id = store_id(&store, store_get(&store, key));
    store_submit(&store, .type = "u", .depends_on = &id, .depends_on_count = 1);
    store_commit(&store);
    store_begin(&store);
    must_run(&store, (struct fa_op){.kind = FA_OP_DELETE}, id);
    store_commit(&store);
    after = raw_text(store.raw, sql, &store.arena);
    CHECK(strncmp(after, "5|1|w|{}|0|1024|", 16) == 0, "%s", after);
    CHECK_STR(strrchr(after, '|'), strrchr(before, '|'));
    check_audit(&store);
    store_close(&store);
}

static void test_flush__a_purged_task_leaves_nothing(void **state)
{
    static const char *const tables[] = {"task",  "ready",    "held",     "parked",
                                         "ended", "task_key", "task_dep", "event"};
    struct store store;
    const char *id;

    store_open(&store);
    walk(&store, true);
    store_begin(&store);
    id = raw_text(store.raw, "SELECT id FROM tasks WHERE type = 't'", &store.arena);
    must_run(&store, (struct fa_op){.kind = FA_OP_DELETE, .removal = {.purge = true}}, id);
    store_commit(&store);
    for (size_t i = 0; i < FA_COUNT(tables); i++) {
        const char *sql = fa_arena_printf(
            &store.arena, "SELECT count(*) FROM %s WHERE %s NOT IN (SELECT id FROM task)",
            tables[i],
            i < 5                                ? "id"
            : strcmp(tables[i], "task_dep") == 0 ? "needs"
                                                 : "task");

        CHECK_INT(raw_int(store.raw, sql), 0);
    }
    check_audit(&store);
    store_close(&store);
}

/* ------------------------------------------------------------------------------------------
 * Failures
 */

/* Whichever statement fails, the flush returns its error, and the rollback undoes all changes. */
static void test_flush__a_failure_leaves_nothing(void **state)
{
    static const char *const gpu[] = {"gpu"};
    const char *before;
    struct store store;
    int64_t fail_at = 0;
    enum faina_code code = FAINA_UNAVAILABLE;

    store_open(&store);
    store_make(&store, FAINA_BACKGROUND);
    before = raw_dump(store.raw, &store.arena);
    while (code != FAINA_OK) {
        struct faina_error err = {0};
        const char *id;

        store_begin(&store);
        id = store_id(&store, store_submit(&store, .type = "t", .idempotency_key = "k",
                                           .resources = gpu, .resource_count = 1));
        must_run(&store, (struct fa_op){.kind = FA_OP_CLAIM}, id);
        must_run(&store, (struct fa_op){.kind = FA_OP_RELEASE}, id);
        must_run(&store, (struct fa_op){.kind = FA_OP_CLAIM}, id);
        spy_forget(&store.spy);
        store.spy.fail_at = ++fail_at;
        code = fa_unit_flush(&store.unit, &err);
        store.spy.fail_at = 0;
        if (code != FAINA_OK) {
            CHECK_INT(code, FAINA_UNAVAILABLE);
            CHECK_STR(err.message, "made to fail");
            store_rollback(&store);
            CHECK_STR(raw_dump(store.raw, &store.arena), before);
        }
    }
    CHECK_TRUE(fail_at > 7);
    store_commit(&store);
    check_audit(&store);
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flush__rows_of_a_kind_are_written_together),
        cmocka_unit_test(test_flush__a_second_one_writes_nothing),
        cmocka_unit_test(test_flush__only_the_last_place_is_written),
        cmocka_unit_test(test_flush__a_task_that_nobody_touched_is_all_nulls),
        cmocka_unit_test(test_flush__each_status_has_its_table),
        cmocka_unit_test(test_flush__one_transaction_or_many_leave_the_same),
        cmocka_unit_test(test_flush__a_round_trip_is_written_whole),
        cmocka_unit_test(test_flush__an_ended_task_keeps_its_payload),
        cmocka_unit_test(test_flush__a_purged_task_leaves_nothing),
        cmocka_unit_test(test_flush__a_failure_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
