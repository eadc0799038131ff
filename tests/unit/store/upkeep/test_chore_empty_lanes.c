/*
 * test_chore_empty_lanes.c - lanes without tasks are removed with their counts, and no others.
 */
#include "support/unit_store.h"

#include "store/upkeep/chores.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

#define LATER_US 11000000 /* more than from one round to the next */

/* A store as an engine opens it, before the first round. */
static void open_started(struct store *store)
{
    store_open(store);
    store->unit.sweep.has_begun = false;
}

/* Runs the chore as often as it is due, for two rounds at most. */
static void sweep(struct store *store)
{
    int64_t until = store->unit.now_us + 2 * LATER_US, next;
    struct faina_error err = {0};

    do {
        store_begin(store);
        next = INT64_MAX;
        CHECK(fa_chore_empty(&store->unit, &next, &err) == FAINA_OK, "%s", err.message);
        store_commit(store);
        if (next != INT64_MAX)
            store->unit.now_us = next;
    } while (next <= until);
}

static int64_t rows_of(struct store *store, const char *table)
{
    return raw_int(store->raw, fa_arena_printf(&store->arena, "SELECT count(*) FROM %s", table));
}

static void run(struct store *store, const struct fa_op *op)
{
    enum faina_code code;

    store_begin(store);
    code = store_run(store, op);
    CHECK(code == FAINA_OK, "%s: %s", faina_code_name(code), store->op.error.message);
    store_commit(store);
}

static const char *submit(struct store *store, const struct faina_submit *task)
{
    const char *id;

    store_begin(store);
    id = store_id(store, store_submit_row(store, task));
    store_commit(store);
    return id;
}

static const char *submit_and_end(struct store *store, const struct faina_submit *task)
{
    const char *id = submit(store, task);

    run(store, &(struct fa_op){.kind = FA_OP_CANCEL, .id = id});
    return id;
}

static void remove_task(struct store *store, const char *id, bool purge)
{
    run(store, &(struct fa_op){.kind = FA_OP_DELETE, .id = id, .removal = {.purge = purge}});
}

static void test_empty__after_a_purge_nothing_is_left(void **state)
{
    const char *const names[] = {"gpu", "disk"};
    struct store store;

    open_started(&store);
    for (int i = 0; i < 20; i++)
        submit_and_end(&store,
                       &(struct faina_submit){.ns = i % 2 ? "other" : NULL,
                                              .type = fa_arena_printf(&store.arena, "t%d", i),
                                              .resources = names,
                                              .resource_count = (size_t)i % 3});
    sweep(&store);
    CHECK_INT(rows_of(&store, "lane"), 20);
    run(&store, &(struct fa_op){.kind = FA_OP_PURGE, .purge = &(struct faina_purge){.limit = 100}});
    CHECK_INT(rows_of(&store, "task"), 0);
    sweep(&store);
    CHECK_INT(rows_of(&store, "lane"), 0);
    CHECK_INT(rows_of(&store, "tally"), 0);
    CHECK_TRUE(fa_types_namespace(fa_lanes_types(store.lanes), "other") == NULL);
    store_close(&store);
}

static void test_empty__only_without_any_task(void **state)
{
    struct store store;
    const char *id;

    open_started(&store);
    submit(&store, &(struct faina_submit){.type = "in line"});
    submit(&store, &(struct faina_submit){.type = "later", .delay_ms = 1000000});
    submit_and_end(&store, &(struct faina_submit){.type = "ended"});
    id = submit_and_end(&store, &(struct faina_submit){.type = "deleted"});
    remove_task(&store, id, false);
    remove_task(&store, submit_and_end(&store, &(struct faina_submit){.type = "gone"}), true);
    submit(&store, &(struct faina_submit){.type = "held"});
    run(&store,
        &(struct fa_op){.kind = FA_OP_CLAIM_NEXT,
                        .claim = &(struct faina_claim){.worker_id = "w",
                                                       .types = (const char *const[]){"held"},
                                                       .type_count = 1}});
    sweep(&store);
    CHECK_INT(rows_of(&store, "lane WHERE type = 'gone'"), 0);
    CHECK_INT(rows_of(&store, "lane"), 5);
    remove_task(&store, id, true);
    sweep(&store);
    CHECK_INT(rows_of(&store, "lane WHERE type = 'deleted'"), 0);
    CHECK_INT(rows_of(&store, "lane"), 4);
    store_close(&store);
}

/* Readers may still have the removed lane in their cache. */
static void test_empty__a_new_lane_has_a_new_id(void **state)
{
    struct store store;
    int64_t old;

    open_started(&store);
    remove_task(&store, submit_and_end(&store, &(struct faina_submit){.type = "a"}), true);
    old = raw_int(store.raw, "SELECT max(id) FROM lane");
    sweep(&store);
    CHECK_INT(rows_of(&store, "lane"), 0);
    store_begin(&store);
    store_rollback(&store); /* the lanes are loaded again */
    submit(&store, &(struct faina_submit){.type = "b"});
    submit(&store, &(struct faina_submit){.type = "a"});
    CHECK_TRUE(raw_int(store.raw, "SELECT min(id) FROM lane") > old);
    run(&store, &(struct fa_op){.kind = FA_OP_CLAIM_NEXT,
                                .claim = &(struct faina_claim){.worker_id = "w", .limit = 5}});
    CHECK_INT(store.op.tasks->count, 2);
    CHECK_STR(store.op.tasks->items[0].type, "b");
    store_close(&store);
}

/* A pause belongs to a type, not to its lanes. */
static void test_empty__a_pause_stays(void **state)
{
    struct store store;

    open_started(&store);
    run(&store, &(struct fa_op){.kind = FA_OP_PAUSE, .name = {.type = "a"}});
    remove_task(&store, submit_and_end(&store, &(struct faina_submit){.type = "a"}), true);
    sweep(&store);
    CHECK_INT(rows_of(&store, "lane"), 0);
    submit(&store, &(struct faina_submit){.type = "a"});
    run(&store, &(struct fa_op){.kind = FA_OP_CLAIM_NEXT,
                                .claim = &(struct faina_claim){.worker_id = "w"}});
    CHECK_INT(store.op.tasks->count, 0);
    run(&store, &(struct fa_op){.kind = FA_OP_RESUME, .name = {.type = "a"}});
    run(&store, &(struct fa_op){.kind = FA_OP_CLAIM_NEXT,
                                .claim = &(struct faina_claim){.worker_id = "w"}});
    CHECK_INT(store.op.tasks->count, 1);
    store_close(&store);
}

/* One transaction checks a bounded number of lanes. */
static void test_empty__many_go_in_slices(void **state)
{
    struct faina_error err = {0};
    struct store store;
    int64_t next = INT64_MAX;

    open_started(&store);
    raw_exec(
        store.raw,
        "BEGIN; WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)"
        " INSERT INTO lane SELECT i, 'many', 't' || i, '[]' FROM n;"
        "INSERT INTO tally SELECT id, 5, id = 4321 FROM lane; COMMIT");
    CHECK(fa_lanes_load(store.lanes, store.db, &err) == FAINA_OK, "%s", err.message);
    store_begin(&store);
    CHECK(fa_chore_empty(&store.unit, &next, &err) == FAINA_OK, "%s", err.message);
    store_commit(&store);
    store.unit.now_us = next;
    store_begin(&store);
    CHECK(fa_chore_empty(&store.unit, &next, &err) == FAINA_OK, "%s", err.message);
    store_commit(&store);
    CHECK_INT(rows_of(&store, "lane"), 7000);
    sweep(&store);
    CHECK_INT(rows_of(&store, "lane"), 1);
    CHECK_INT(raw_int(store.raw, "SELECT lane FROM tally"), 4321);
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty__after_a_purge_nothing_is_left),
        cmocka_unit_test(test_empty__only_without_any_task),
        cmocka_unit_test(test_empty__a_new_lane_has_a_new_id),
        cmocka_unit_test(test_empty__a_pause_stays),
        cmocka_unit_test(test_empty__many_go_in_slices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
