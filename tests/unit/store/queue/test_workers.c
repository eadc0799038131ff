/*
 * test_workers.c - what workers cost, when they are forgotten, and failures on the way.
 */
#include "support/unit_store.h"

#include "model/limits.h"

#include <setjmp.h>

#include <cmocka.h>

#define DEAD_US (FA_WORKER_DEAD_MS * 1000LL)

static enum faina_code beat(struct store *store, const char *id, const struct faina_held *held,
                            size_t count)
{
    struct faina_worker self = {.id = id, .hostname = "h"};

    return store_run(
        store, &(struct fa_op){.kind = FA_OP_WORKER_PUT, .worker = {&self, held, count, 60000}});
}

static void must_beat(struct store *store, const char *id)
{
    store_begin(store);
    CHECK(beat(store, id, NULL, 0) == FAINA_OK, "%s", store->op.error.message);
    store_commit(store);
}

/* Runs the chores; returns when they are due again. */
static int64_t run_chores(struct store *store)
{
    struct faina_error err = {0};
    int64_t next_us = 0;

    store_begin(store);
    CHECK(fa_chores_run(&store->unit, 100, &next_us, &err) == FAINA_OK, "%s", err.message);
    store_commit(store);
    return next_us;
}

static void test_workers__silent_ones_are_forgotten_in_time(void **state)
{
    struct store store;
    int64_t a_us, b_us;

    store_open(&store);
    CHECK_INT(run_chores(&store), INT64_MAX);
    must_beat(&store, "a");
    CHECK_INT(store.unit.next_us,
              raw_int(store.raw, "SELECT last_heartbeat_us FROM worker") + DEAD_US);
    a_us = raw_int(store.raw, "SELECT last_heartbeat_us FROM worker");
    store.unit.now_us = a_us + DEAD_US / 2;
    must_beat(&store, "b");
    b_us = raw_int(store.raw, "SELECT max(last_heartbeat_us) FROM worker");

    store.unit.now_us = a_us + DEAD_US - 1;
    CHECK_INT(run_chores(&store), a_us + DEAD_US);
    CHECK_INT(raw_int(store.raw, "SELECT count(*) FROM worker"), 2);
    store.unit.now_us = a_us + DEAD_US;
    CHECK_INT(run_chores(&store), b_us + DEAD_US);
    CHECK_STR(raw_text(store.raw, "SELECT id FROM worker", &store.arena), "b");
    store.unit.now_us = b_us + DEAD_US;
    CHECK_INT(run_chores(&store), INT64_MAX);
    CHECK_INT(raw_int(store.raw, "SELECT count(*) FROM worker"), 0);
    store_close(&store);
}

/* A dead worker's tasks wait for the end of their lease, and not for the worker's. */
static void test_workers__forgetting_one_leaves_its_tasks(void **state)
{
    struct store store;

    store_open(&store);
    store_make(&store, FAINA_RUNNING);
    raw_exec(store.raw, "UPDATE held SET lease_us = lease_us + 3600000000, worker = 'a'");
    must_beat(&store, "a");
    store.unit.now_us += DEAD_US;
    run_chores(&store);
    CHECK_INT(raw_int(store.raw, "SELECT count(*) FROM worker"), 0);
    CHECK_INT(raw_int(store.raw, "SELECT count(*) FROM held WHERE worker = 'a'"), 1);
    store_close(&store);
}

static size_t claim_many(struct store *store, struct faina_held *held, size_t count)
{
    struct faina_claim claim = {.worker_id = "w", .limit = (int)count};

    store_begin(store);
    for (size_t i = 0; i < count; i++)
        store_submit(store, .type = "x");
    CHECK(store_run(store, &(struct fa_op){.kind = FA_OP_CLAIM_NEXT, .claim = &claim}) == FAINA_OK,
          "%s", store->op.error.message);
    for (size_t i = 0; i < store->op.tasks->count; i++)
        held[i] =
            (struct faina_held){store->op.tasks->items[i].id, store->op.tasks->items[i].fence};
    store_commit(store);
    return store->op.tasks->count;
}

static void test_workers__all_leases_are_renewed_by_one_statement(void **state)
{
    struct faina_held held[50];
    struct store store;

    store_open(&store);
    CHECK_INT(claim_many(&store, held, 50), 50);
    spy_forget(&store.spy);
    store_begin(&store);
    CHECK_INT(beat(&store, "w", held, 50), FAINA_OK);
    CHECK_INT(store.op.beat->renewed_count, 50);
    store_commit(&store);
    CHECK_INT(store.spy.runs[FA_SQL_HELD_RENEW], 1);
    CHECK_INT(store.spy.rows[FA_SQL_HELD_RENEW], 50);
    CHECK_INT(store.spy.calls, 3); /* ... the worker's own row, and which node leads */
    store_close(&store);
}

/* Every statement fails once: the operation fails, and nothing has changed. */
static void test_workers__a_failure_is_reported(void **state)
{
    enum faina_code code = FAINA_UNAVAILABLE;

    for (int64_t fail_at = 1; code != FAINA_OK; fail_at++) {
        struct faina_held held[3];
        struct store store;
        const char *before;

        store_open(&store);
        CHECK_INT(claim_many(&store, held, 3), 3);
        raw_exec(store.raw, "DELETE FROM held WHERE id = (SELECT max(id) FROM held)");
        before = raw_text(store.raw, "SELECT * FROM held", &store.arena);
        spy_forget(&store.spy);
        store.spy.fail_at = fail_at;
        store_begin(&store);
        code = beat(&store, "w", held, 3);
        if (code == FAINA_OK) {
            CHECK_INT(store.op.beat->renewed_count, 2);
            CHECK_INT(store.op.beat->lost_count, 1);
            CHECK_TRUE(fail_at > 3);
        } else {
            CHECK_STR(store.op.error.message, "made to fail");
            CHECK_TRUE(store.op.beat == NULL);
        }
        store_rollback(&store);
        CHECK_STR(raw_text(store.raw, "SELECT * FROM held", &store.arena), before);
        CHECK_INT(raw_int(store.raw, "SELECT count(*) FROM worker"), 0);
        store_close(&store);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers__silent_ones_are_forgotten_in_time),
        cmocka_unit_test(test_workers__forgetting_one_leaves_its_tasks),
        cmocka_unit_test(test_workers__all_leases_are_renewed_by_one_statement),
        cmocka_unit_test(test_workers__a_failure_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
