/* test_runs.c - several ready tasks in one row (runs.h). */
#include "support/unit_store.h"

#include "store/upkeep/audit.h"
#include "store/queue/runs.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

#define TASKS_MAX 200

static void check_finding(void *ctx, const char *sentence)
{
    CHECK(false, "the audit found: %s", sentence);
}

static void check_audit(struct store *store)
{
    struct faina_error err = {0};

    CHECK(fa_audit(store->db, check_finding, NULL, &err) == FAINA_OK, "%s", err.message);
}

/* How many tasks each row of `ready` holds, in the queue's order. */
static const char *rows_of(struct store *store)
{
    return raw_text(store->raw,
                    "SELECT group_concat(coalesce(json_array_length(run), 1), ' ') FROM "
                    "(SELECT run FROM ready ORDER BY lane, rank, id)",
                    &store->arena);
}

static void submit(struct store *store, size_t count, int64_t *keys)
{
    store_begin(store);
    for (size_t i = 0; i < count; i++)
        keys[i] = store_submit(store, .type = "t")->id.key;
    store_commit(store);
}

static const char *id_of(struct store *store, int64_t key)
{
    return store_id(store, store_get(store, key));
}

static void cancel(struct store *store, int64_t key)
{
    store_begin(store);
    CHECK_INT(store_run(store, &(struct fa_op){.kind = FA_OP_CANCEL, .id = id_of(store, key)}),
              FAINA_OK);
    store_commit(store);
}

/* Claims the best tasks, which must be these. */
static void claim(struct store *store, int64_t limit, const int64_t *keys)
{
    struct faina_claim next = {.worker_id = "w", .limit = (int)limit};

    store_begin(store);
    CHECK_INT(store_run(store, &(struct fa_op){.kind = FA_OP_CLAIM_NEXT, .claim = &next}),
              FAINA_OK);
    CHECK_INT(store->op.tasks->count, limit);
    for (int64_t i = 0; i < limit; i++) {
        struct fa_id id;

        CHECK_TRUE(fa_id_parse(store->op.tasks->items[i].id, &id));
        CHECK(id.key == keys[i], "task %d is another one", (int)i);
    }
    store_commit(store);
}

static void test_runs__a_transaction_makes_one_row(void **state)
{
    struct store store;
    int64_t keys[TASKS_MAX];

    store_open(&store);
    submit(&store, 32, keys);
    submit(&store, 1, keys);
    submit(&store, FA_RUN_MAX + 2, keys);
    CHECK_STR(rows_of(&store), "32 1 64 2");
    check_audit(&store);
    store_close(&store);
}

/* N2: each of these runs would have a foreign task between its tasks. */
static void test_runs__others_between_them_split_them(void **state)
{
    struct store store;

    store_open(&store);
    store_begin(&store);
    for (int i = 0; i < 9; i++) {
        store_submit(&store, .type = i % 2 ? "odd" : "even", .priority = i < 5 ? 0 : 1);
        if (i == 2)
            store_submit(&store, .type = "even", .metadata = "{}");
        if (i == 3)
            store_submit(&store, .type = "odd", .run_at_us = STORE_NOW + 1000000);
    }
    store_commit(&store);
    /* even: priority 1 (6 8), then 0 (0 2, the one with metadata, 4); odd: 5 7, then 1 3. */
    CHECK_STR(rows_of(&store), "2 2 1 1 2 2");
    check_audit(&store);
    store_close(&store);
}

static void test_runs__a_removed_task_splits_them(void **state)
{
    struct store store;
    int64_t keys[10];

    store_open(&store);
    submit(&store, 10, keys);
    cancel(&store, keys[4]);
    CHECK_STR(rows_of(&store), "4 5");
    cancel(&store, keys[0]);
    cancel(&store, keys[9]);
    CHECK_STR(rows_of(&store), "3 4");
    cancel(&store, keys[2]);
    CHECK_STR(rows_of(&store), "1 1 4");
    cancel(&store, keys[1]);
    check_audit(&store);
    claim(&store, 5, (const int64_t[]){keys[3], keys[5], keys[6], keys[7], keys[8]});
    CHECK_INT(raw_int(store.raw, "SELECT count(*) FROM ready"), 0);
    check_audit(&store);
    store_close(&store);
}

/* A claim reads on within a run, in one transaction and in several. */
static void test_runs__are_claimed_in_their_order(void **state)
{
    static const int64_t limits[] = {1, 3, 7, 40, 100};

    for (size_t n = 0; n < FA_COUNT(limits); n++) {
        struct store store;
        int64_t keys[TASKS_MAX];

        store_open(&store);
        submit(&store, 30, keys);
        submit(&store, 70, keys + 30);
        submit(&store, 1, keys + 100);
        submit(&store, 99, keys + 101);
        for (int64_t at = 0; at < TASKS_MAX; at += limits[n]) {
            int64_t left = TASKS_MAX - at;

            claim(&store, left < limits[n] ? left : limits[n], keys + at);
        }
        check_audit(&store);
        store_close(&store);
    }
}

static void test_runs__many_claims_of_one_transaction(void **state)
{
    struct faina_claim next = {.worker_id = "w", .limit = 3};
    struct store store;
    int64_t keys[40];

    store_open(&store);
    submit(&store, 40, keys);
    store_begin(&store);
    for (int at = 0; at < 39; at += 3) {
        CHECK_INT(store_run(&store, &(struct fa_op){.kind = FA_OP_CLAIM_NEXT, .claim = &next}),
                  FAINA_OK);
        CHECK_INT(store.op.tasks->count, 3);
        if (at % 2) /* what was read ahead is still right */
            CHECK_INT(fa_unit_flush(&store.unit, &store.op.error), FAINA_OK);
    }
    store_commit(&store);
    CHECK_STR(rows_of(&store), "1");
    claim(&store, 1, keys + 39);
    check_audit(&store);
    store_close(&store);
}

/* A released task is again between those that were in one row with it. */
static void test_runs__a_released_task_keeps_its_position(void **state)
{
    struct store store;
    int64_t keys[7];

    store_open(&store);
    submit(&store, 7, keys);
    store_begin(&store);
    CHECK_INT(store_run(&store, &(struct fa_op){.kind = FA_OP_CLAIM,
                                                .id = id_of(&store, keys[3]),
                                                .by.worker_id = "w"}),
              FAINA_OK);
    store_commit(&store);
    store_begin(&store);
    CHECK_INT(store_run(&store, &(struct fa_op){.kind = FA_OP_RELEASE,
                                                .id = id_of(&store, keys[3]),
                                                .by.worker_id = "w"}),
              FAINA_OK);
    store_commit(&store);
    CHECK_STR(rows_of(&store), "3 1 3");
    check_audit(&store);
    claim(&store, 2, keys);
    claim(&store, 5, keys + 2);
    store_close(&store);
}

static void hold_and_widen(struct store *store, int64_t key)
{
    struct fa_op by = {.id = id_of(store, key), .by.worker_id = "w"};

    by.kind = FA_OP_CLAIM;
    CHECK_INT(store_run(store, &by), FAINA_OK);
    by.kind = FA_OP_AMEND;
    by.submit = &(struct faina_submit){.resources = (const char *[]){"gpu"}, .resource_count = 1};
    CHECK_INT(store_run(store, &by), FAINA_OK);
}

/* N2: an amended task comes from another lane, with its old id. */
static void test_runs__an_amended_task_splits_them(void **state)
{
    const char *gpu[] = {"gpu"};
    struct store store;
    int64_t keys[5];

    store_open(&store);
    store_begin(&store);
    for (int i = 0; i < 5; i++) {
        size_t count = i == 2 ? 0 : 1;

        keys[i] =
            store_submit(&store, .type = "t", .resources = gpu, .resource_count = count)->id.key;
    }
    store_commit(&store);
    store_begin(&store);
    hold_and_widen(&store, keys[2]);
    store_commit(&store);
    CHECK_STR(rows_of(&store), "2 1 2");
    check_audit(&store);
    store_begin(&store);
    CHECK_INT(store_get(&store, keys[4])->state_table, FA_STATE_TABLE_READY);
    store_rollback(&store);
    claim(&store, 5, keys);
    store_close(&store);
}

/* A task in the read-ahead may move to another lane before the next claim. */
static void test_runs__an_amended_task_is_claimed_once(void **state)
{
    struct faina_claim next = {.worker_id = "w", .limit = 1};
    struct fa_op claim_next = {.kind = FA_OP_CLAIM_NEXT, .claim = &next};
    struct store store;
    int64_t keys[3];

    store_open(&store);
    submit(&store, 3, keys);
    store_begin(&store);
    store.unit.claim_demand = 3; /* more claims are expected, so it reads ahead */
    CHECK_INT(store_run(&store, &claim_next), FAINA_OK);
    hold_and_widen(&store, keys[1]);
    next.limit = 5;
    CHECK_INT(store_run(&store, &claim_next), FAINA_OK);
    CHECK_INT(store.op.tasks->count, 2);
    store_commit(&store);
    check_audit(&store);
    store_close(&store);
}

/* Tasks that are not plain form runs, too, and keep their initial columns. */
static void test_runs__of_tasks_with_more(void **state)
{
    struct store store;
    int64_t keys[8];

    store_open(&store);
    store_begin(&store);
    for (int i = 0; i < 8; i++)
        keys[i] = store_submit(&store, .type = "t", .metadata = i < 6 ? "{}" : NULL)->id.key;
    store_commit(&store);
    CHECK_STR(rows_of(&store), "6 2");
    cancel(&store, keys[2]);
    CHECK_STR(raw_text(store.raw,
                       "SELECT group_concat(coalesce(version, '-') || coalesce(flags, '-') || "
                       "coalesce(json_array_length(run), '-'), ' ') FROM (SELECT * FROM ready "
                       "ORDER BY id)",
                       &store.arena),
              "1-2 1-3 --2");
    check_audit(&store);
    claim(&store, 7,
          (const int64_t[]){keys[0], keys[1], keys[3], keys[4], keys[5], keys[6], keys[7]});
    store_close(&store);
}

static void test_runs__each_task_is_found(void **state)
{
    struct store store;
    int64_t keys[20];

    store_open(&store);
    submit(&store, 20, keys);
    cancel(&store, keys[7]);
    store_begin(&store);
    for (int i = 0; i < 20; i++) {
        const struct fa_row *row = store_get(&store, keys[i]);

        CHECK_INT(row->state_table, i == 7 ? FA_STATE_TABLE_ENDED : FA_STATE_TABLE_READY);
        CHECK_INT(row->rank, 0);
    }
    store_rollback(&store);
    CHECK_INT(raw_int(store.raw, "SELECT count(*) FROM tasks WHERE status = 'pending'"), 19);
    store_close(&store);
}

static void test_runs__what_a_text_has(void **state)
{
    static const struct {
        const char *run;
        int64_t key;
        bool has;
    } cases[] = {
        {NULL, 100, true},
        {NULL, 101, false},
        {"[0,5,70]", 100, true},
        {"[0,5,70]", 105, true},
        {"[0,5,70]", 170, true},
        {"[0,5,70]", 175, false},
        {"[0,5,70]", 101, false},
        {"[0,5,70]", 99, false},
        {"", 105, false},
        {"[", 105, false},
        {"{\"a\":5}", 105, false},
        {"[0,x,5]", 105, false},
        {"[0,5", 105, false},
        {"[0,5]]", 105, false},
        {"[5,10]", 110, false},
        {"[0,8,4]", 104, false},
        {"[0,5,9223372036854775807]", 105, false},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++)
        CHECK(fa_run_contains(100, cases[i].run, cases[i].key) == cases[i].has, "case %zu", i);
}

static void count_finding(void *ctx, const char *sentence)
{
    *(int *)ctx += strstr(sentence, "without exactly one state row") != NULL;
}

/* A task whose row can't be found is an error, not lost. */
static void test_runs__a_damaged_run_is_an_error(void **state)
{
    static const char *const texts[] = {"[0,900000000]", "[]", "[7]", "{}"};

    for (size_t i = 0; i < FA_COUNT(texts); i++) {
        struct fa_row *row = NULL;
        struct store store;
        int64_t keys[3];
        int found = 0;

        store_open(&store);
        submit(&store, 3, keys);
        raw_exec(store.raw, fa_arena_printf(&store.arena, "UPDATE ready SET run = '%s'", texts[i]));
        store_begin(&store);
        CHECK_INT(fa_unit_get(&store.unit, keys[1], false, &row, &store.op.error), FAINA_INTERNAL);
        store_rollback(&store);
        CHECK_INT(fa_audit(store.db, count_finding, &found, &store.op.error), FAINA_OK);
        CHECK_INT(found, 1);
        store_close(&store);
    }
}

/* A run that is longer than FA_RUN_MAX: the tasks at its end must not be lost. */
static void test_runs__too_long_a_run_is_an_error(void **state)
{
    struct store store;
    int64_t keys[2 * FA_RUN_MAX];

    store_open(&store);
    submit(&store, FA_COUNT(keys), keys);
    raw_exec(store.raw, "UPDATE ready SET run = (SELECT json_group_array(t.id - (SELECT min(id) "
                        "FROM task)) FROM task t) WHERE id = (SELECT min(id) FROM task);"
                        "DELETE FROM ready WHERE id > (SELECT min(id) FROM task)");
    store_begin(&store);
    CHECK_INT(store_run(&store, &(struct fa_op){.kind = FA_OP_CLAIM_NEXT,
                                                .claim = &(struct faina_claim){.worker_id = "w"}}),
              FAINA_OK);
    CHECK_INT(fa_unit_flush(&store.unit, &store.op.error), FAINA_INTERNAL);
    store_rollback(&store);
    store_close(&store);
}

/* Any order of inserts and removals: the audit finds nothing, and the queue is in order. */
static void test_runs__at_random(void **state)
{
    struct store store;
    struct fa_random random;
    int64_t keys[300];
    size_t count = 0;

    store_open(&store);
    fa_random_seed(&random, 7);
    while (count < FA_COUNT(keys)) {
        size_t n = 1 + fa_random_next(&random) % 20, at = count;

        if (n > FA_COUNT(keys) - count)
            n = FA_COUNT(keys) - count;
        submit(&store, n, keys + count);
        count += n;
        for (size_t i = at; i < count; i++) {
            if (fa_random_next(&random) % 5 == 0) {
                cancel(&store, keys[i]);
                memmove(keys + i, keys + i + 1, (count - i - 1) * sizeof(*keys));
                count--;
            }
        }
        if (fa_random_next(&random) % 4 == 0 && count > 5) {
            claim(&store, 5, keys);
            memmove(keys, keys + 5, (count - 5) * sizeof(*keys));
            count -= 5;
        }
    }
    check_audit(&store);
    claim(&store, (int64_t)count, keys);
    check_audit(&store);
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs__a_transaction_makes_one_row),
        cmocka_unit_test(test_runs__others_between_them_split_them),
        cmocka_unit_test(test_runs__a_removed_task_splits_them),
        cmocka_unit_test(test_runs__are_claimed_in_their_order),
        cmocka_unit_test(test_runs__many_claims_of_one_transaction),
        cmocka_unit_test(test_runs__a_released_task_keeps_its_position),
        cmocka_unit_test(test_runs__an_amended_task_splits_them),
        cmocka_unit_test(test_runs__an_amended_task_is_claimed_once),
        cmocka_unit_test(test_runs__of_tasks_with_more),
        cmocka_unit_test(test_runs__each_task_is_found),
        cmocka_unit_test(test_runs__what_a_text_has),
        cmocka_unit_test(test_runs__a_damaged_run_is_an_error),
        cmocka_unit_test(test_runs__too_long_a_run_is_an_error),
        cmocka_unit_test(test_runs__at_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
