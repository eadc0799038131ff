/*
 * test_children.c - subtasks by name: what is there, what is deleted, what is requested twice.
 */
#include "support/unit_store.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

/* A task that runs, and has not blocked yet. */
static const char *make_parent(struct store *store)
{
    int64_t key = store_make(store, FAINA_RUNNING);
    const char *id;

    store_begin(store);
    id = store_id(store, store_get(store, key));
    store_rollback(store);
    return id;
}

static enum faina_code block(struct store *store, const char *id,
                             const struct faina_submit *subtasks, size_t count)
{
    struct fa_row *row = NULL;
    struct fa_op op = {.kind = FA_OP_BLOCK, .id = id};

    CHECK_INT(fa_unit_find(&store->unit, id, false, &row, NULL), FAINA_OK);
    op.by.worker_id = row->worker;
    op.block.subtasks = subtasks;
    op.block.count = count;
    return store_run(store, &op);
}

/* Has them all ended, and the parent running again. */
static void go_on(struct store *store, const char *id)
{
    const struct fa_op claim = {.kind = FA_OP_CLAIM, .id = id, .by.worker_id = "w"};
    const struct fa_op start = {.kind = FA_OP_START, .id = id, .by.worker_id = "w"};
    struct fa_row *parent = NULL, **children = NULL;
    size_t count = 0;

    CHECK_INT(fa_unit_find(&store->unit, id, true, &parent, NULL), FAINA_OK);
    CHECK_INT(fa_children_of(&store->unit, parent, FA_SQL_CHILD_LIVE, &children, &count, NULL),
              FAINA_OK);
    for (size_t i = 0; i < count; i++) {
        const char *child = store_id(store, children[i]);
        const struct fa_op claimed = {.kind = FA_OP_CLAIM, .id = child, .by.worker_id = "w"};
        const struct fa_op done = {.kind = FA_OP_COMPLETE, .id = child, .by.worker_id = "w"};

        CHECK_INT(store_run(store, &claimed), FAINA_OK);
        CHECK_INT(store_run(store, &done), FAINA_OK);
    }
    CHECK_INT(store_run(store, &claim), FAINA_OK);
    CHECK_INT(store_run(store, &start), FAINA_OK);
}

static void test_children__the_first_block_looks_for_nothing(void **state)
{
    static const struct faina_submit subtasks[] = {{.type = "a"}, {.type = "b", .name = "x"}};
    struct store store;
    const char *id;

    store_open(&store);
    id = make_parent(&store);
    spy_forget(&store.spy);
    store_begin(&store);
    CHECK_INT(block(&store, id, subtasks, 2), FAINA_OK);
    store_commit(&store);
    CHECK_INT(store.spy.runs[FA_SQL_CHILD_NAMES], 0);
    CHECK_INT(store.spy.runs[FA_SQL_CHILD_LIVE], 0);
    CHECK_INT(store.spy.runs[FA_SQL_CHILD_STALE], 0);
    CHECK_INT(store.spy.runs[FA_SQL_KEY_FIND], 0);
    CHECK_INT(store.spy.rows[FA_SQL_KEY_INSERT], 0);
    CHECK_INT(store.spy.rows[FA_SQL_TASK_INSERT], 2);
    CHECK_INT(raw_int(store.raw, "SELECT deps_left FROM parked"), 2);
    store_close(&store);
}

static void test_children__two_of_one_name_are_one(void **state)
{
    static const struct faina_submit subtasks[] = {
        {.type = "a", .name = "x"}, {.type = "b", .name = "#2"}, {.type = "c"},
        {.type = "d", .name = "x"}, {.type = "e", .name = "y"},
    };
    struct store store;
    const char *id;

    store_open(&store);
    id = make_parent(&store);
    store_begin(&store);
    CHECK_INT(block(&store, id, subtasks, FA_COUNT(subtasks)), FAINA_OK);
    store_commit(&store);
    CHECK_INT(raw_int(store.raw, "SELECT count(*) FROM task WHERE parent IS NOT NULL"), 3);
    CHECK_INT(raw_int(store.raw, "SELECT deps_left FROM parked"), 3);
    store_close(&store);
}

static void test_children__the_second_of_a_name_is_checked_too(void **state)
{
    static const char *const needs[] = {"019b0000-0000-7000-8000-000000000000"};
    const struct faina_submit subtasks[] = {
        {.type = "a", .name = "x"},
        {.type = "a", .name = "x", .depends_on = needs, .depends_on_count = 1},
    };
    struct store store;
    const char *id;

    store_open(&store);
    id = make_parent(&store);
    store_begin(&store);
    CHECK_INT(block(&store, id, subtasks, 2), FAINA_INVALID_TASK);
    store_commit(&store);
    CHECK_INT(raw_int(store.raw, "SELECT count(*) FROM task WHERE parent IS NOT NULL"), 0);
    store_close(&store);
}

static void test_children__a_later_block_finds_them_by_one_question(void **state)
{
    static const struct faina_submit first[] = {{.type = "a"}, {.type = "a", .name = "x"}};
    static const struct faina_submit second[] = {
        {.type = "a"}, {.type = "a", .name = "x"}, {.type = "a", .name = "z"}};
    struct store store;
    const char *id;

    store_open(&store);
    id = make_parent(&store);
    store_begin(&store);
    CHECK_INT(block(&store, id, first, 2), FAINA_OK);
    go_on(&store, id); /* in one transaction: what was not yet written counts, too */
    spy_forget(&store.spy);
    CHECK_INT(block(&store, id, second, 3), FAINA_OK);
    store_commit(&store);
    CHECK_INT(store.spy.runs[FA_SQL_CHILD_NAMES], 1);
    CHECK_INT(raw_int(store.raw, "SELECT count(*) FROM task WHERE parent IS NOT NULL"), 3);
    CHECK_INT(raw_int(store.raw, "SELECT deps_left FROM parked"), 1);
    store_close(&store);
}

/* In a later stage, the first input shows that the request is new. A new attempt reads once what it
 * requests again, and all the rest if some of it is new. */
static void test_children__inputs_are_read_of_what_may_be_the_same(void **state)
{
    static const struct faina_submit first[] = {
        {.type = "a", .input = "1"}, {.type = "a", .input = "2"}, {.type = "a", .input = "3"}};
    static const struct faina_submit second[] = {{.type = "b"}, {.type = "b"}, {.type = "b"}};
    static const struct faina_failure failure = {.message = "no"};
    struct fa_op fail = {.kind = FA_OP_FAIL, .by.worker_id = "w", .failure = &failure};
    struct fa_op claim = {.kind = FA_OP_CLAIM, .by.worker_id = "w"};
    struct fa_op start = {.kind = FA_OP_START, .by.worker_id = "w"};
    struct store store;

    store_open(&store);
    fail.id = claim.id = start.id = make_parent(&store);
    store_begin(&store);
    CHECK_INT(block(&store, fail.id, first, 3), FAINA_OK);
    go_on(&store, fail.id);
    spy_forget(&store.spy);
    CHECK_INT(block(&store, fail.id, second, 3), FAINA_OK);
    CHECK_INT(store.spy.rows[FA_SQL_TASK_WORK], 1);
    go_on(&store, fail.id);
    CHECK_INT(store_run(&store, &fail), FAINA_OK);
    CHECK_INT(store_run(&store, &claim), FAINA_OK);
    CHECK_INT(store_run(&store, &start), FAINA_OK);
    spy_forget(&store.spy);
    CHECK_INT(block(&store, fail.id, first, 3), FAINA_OK);
    CHECK_INT(store.spy.runs[FA_SQL_TASK_WORK], 1);
    CHECK_INT(store.spy.rows[FA_SQL_TASK_WORK], 3);
    CHECK_INT(store.spy.rows[FA_SQL_TASK_PAYLOAD], 0);
    go_on(&store, fail.id);
    spy_forget(&store.spy);
    /* Reads the first, the one at its position, and the rest. */
    CHECK_INT(block(&store, fail.id, first + 1, 1), FAINA_OK);
    CHECK_INT(store.spy.rows[FA_SQL_TASK_WORK], 5);
    store_commit(&store);
    CHECK_INT(raw_int(store.raw, "SELECT count(*) FROM task WHERE parent IS NOT NULL"), 7);
    store_close(&store);
}

static void test_children__a_deleted_one_leaves_its_name(void **state)
{
    static const struct faina_submit subtasks[] = {{.type = "a", .name = "x"}, {.type = "a"}};
    const char *gone = "SELECT uuid FROM task_id JOIN task t USING (id) WHERE t.child = 'x'";
    struct store store;
    struct fa_op removal = {.kind = FA_OP_DELETE};
    const char *id;

    store_open(&store);
    id = make_parent(&store);
    store_begin(&store);
    CHECK_INT(block(&store, id, subtasks, 1), FAINA_OK);
    go_on(&store, id);
    store_commit(&store);
    removal.id = raw_text(store.raw, gone, &store.arena);
    for (int i = 1; i <= 2; i++) { /* the second time, beside a deleted one of its name */
        store_begin(&store);
        if (i == 1)
            CHECK_INT(store_run(&store, &removal), FAINA_OK);
        CHECK_INT(block(&store, id, subtasks, (size_t)i), FAINA_OK);
        if (i == 1)
            go_on(&store, id);
        store_commit(&store);
        CHECK_INT(raw_int(store.raw, "SELECT count(*) FROM task WHERE child = 'x'"), 2);
    }
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_children__the_first_block_looks_for_nothing),
        cmocka_unit_test(test_children__two_of_one_name_are_one),
        cmocka_unit_test(test_children__the_second_of_a_name_is_checked_too),
        cmocka_unit_test(test_children__a_later_block_finds_them_by_one_question),
        cmocka_unit_test(test_children__inputs_are_read_of_what_may_be_the_same),
        cmocka_unit_test(test_children__a_deleted_one_leaves_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
