/*
 * test_many_lanes.c - what a claim costs does not depend on how many lanes there are.
 *
 * Costs are counted, not timed: the statements that a claim runs, each for one row of parameters,
 * by the spy of unit_store.h.
 */
#include "support/unit_store.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

#define MANY 50000
#define FIRST_ID 1000000 /* of the tasks; task n is in lane n */

/* Lanes 1 to `count`, of namespace "many" or of many namespaces, each with one ready task, of
 * which the last is the oldest. Their types are t1, t2, ... or all "t". */
static void fill(struct store *store, int count, const char *ns, const char *type,
                 const char *resources)
{
    struct faina_error err = {0};
    char sql[1024];

    snprintf(sql, sizeof(sql),
             "BEGIN; WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
             " INSERT INTO lane SELECT i, %s, %s, '%s' FROM n;"
             "INSERT INTO task (id, tail, lane, rank, created_us, max_attempts)"
             " SELECT %d - id, 0, id, 0, 1, 4 FROM lane;"
             "INSERT INTO ready (lane, rank, id) SELECT lane, 0, id FROM task;"
             "INSERT INTO tally SELECT id, 0, 1 FROM lane; COMMIT",
             count, ns, type, resources, FIRST_ID);
    raw_exec(store->raw, sql);
    CHECK(fa_lanes_load(store->lanes, store->db, &err) == FAINA_OK, "%s", err.message);
}

/* Claims in a transaction of its own; returns how many statements were run for it. */
static int64_t claim(struct store *store, const struct faina_claim *claim, size_t want)
{
    int64_t calls = 0;

    store_begin(store);
    spy_forget(&store->spy);
    CHECK_INT(store_run(store, &(struct fa_op){.kind = FA_OP_CLAIM_NEXT, .claim = claim}),
              FAINA_OK);
    for (int i = 0; i < FA_SQL_COUNT; i++)
        calls += (int64_t)store->spy.rows[i];
    store_commit(store);
    CHECK_INT(store->op.tasks->count, want);
    return calls;
}

/* Runs the same claims in a store with few lanes and in one with many. */
static void compare(const char *ns, const char *type, const char *resources,
                    void (*prepare)(struct store *), const struct faina_claim *want, size_t count)
{
    static const int sizes[] = {20, MANY};
    int64_t calls[2];

    for (int i = 0; i < 2; i++) {
        struct store store;

        store_open(&store);
        fill(&store, sizes[i], ns, type, resources);
        if (prepare != NULL)
            prepare(&store);
        calls[i] = 0;
        for (int k = 0; k < 5; k++)
            calls[i] += claim(&store, want, count);
        store_close(&store);
    }
    CHECK(calls[1] <= calls[0] + 5, "%lld statements with many lanes, %lld with few",
          (long long)calls[1], (long long)calls[0]);
}

static void test_many__a_claim_of_any_type(void **state)
{
    compare("'many'", "'t' || i", "[]", NULL, &(struct faina_claim){.worker_id = "w", .limit = 3},
            3);
}

static void test_many__a_claim_of_a_type_in_all_namespaces(void **state)
{
    const char *const types[] = {"t"};

    compare("'n' || i", "'t'", "[]", NULL,
            &(struct faina_claim){
                .worker_id = "w", .limit = 3, .types = types, .type_count = FA_COUNT(types)},
            3);
}

static void test_many__a_claim_of_named_types(void **state)
{
    const char *const types[] = {"t5", "t6", "none", "t7"};
    struct store store;

    store_open(&store);
    fill(&store, MANY, "'many'", "'t' || i", "[]");
    CHECK_TRUE(
        claim(&store,
              &(struct faina_claim){
                  .worker_id = "w", .limit = 10, .types = types, .type_count = FA_COUNT(types)},
              3) < 20);
    store_close(&store);
}

static void put_own(struct store *store)
{
    store_begin(store);
    for (int i = 0; i < 5; i++)
        store_submit(store, .ns = "own", .type = fa_arena_printf(&store->arena, "own%d", i));
    store_commit(store);
}

static void test_many__lanes_of_other_namespaces(void **state)
{
    const char *const namespaces[] = {"own", "nobody's"};

    compare("'many'", "'t' || i", "[]", put_own,
            &(struct faina_claim){.worker_id = "w",
                                  .namespaces = namespaces,
                                  .namespace_count = FA_COUNT(namespaces)},
            1);
}

static void limit_gpu(struct store *store)
{
    store_begin(store);
    CHECK_INT(store_run(store, &(struct fa_op){.kind = FA_OP_RESOURCE_SET, .resource = {"gpu", 0}}),
              FAINA_OK);
    store_commit(store);
    put_own(store);
}

/* All lanes but five need a resource that has no permit. */
static void test_many__lanes_at_their_limit(void **state)
{
    compare("'many'", "'t' || i", "[\"gpu\"]", limit_gpu,
            &(struct faina_claim){.worker_id = "w", .limit = 1}, 1);
}

/* ... or that the worker can't reach. */
static void test_many__lanes_out_of_reach(void **state)
{
    static const char *const services[] = {"disk"};

    compare("'many'", "'t' || i", "[\"gpu\"]", put_own,
            &(struct faina_claim){
                .worker_id = "w", .services = services, .service_count = FA_COUNT(services)},
            1);
}

static void test_many__the_oldest_first_then_by_priority(void **state)
{
    struct store store;
    struct fa_id id;

    store_open(&store);
    fill(&store, 1000, "'many'", "'t' || i", "[]");
    claim(&store, &(struct faina_claim){.worker_id = "w", .limit = 600}, 600);
    for (size_t i = 0; i < 600; i++) {
        CHECK_TRUE(fa_id_parse(store.op.tasks->items[i].id, &id));
        CHECK_INT(id.key, FIRST_ID - 1000 + (int)i);
    }
    store_begin(&store);
    store_submit(&store, .type = "late", .priority = 5);
    store_submit(&store, .type = "later", .priority = 6);
    store_commit(&store);
    claim(&store, &(struct faina_claim){.worker_id = "w", .limit = 1000}, 402);
    CHECK_STR(store.op.tasks->items[0].type, "later");
    CHECK_STR(store.op.tasks->items[1].type, "late");
    for (size_t i = 2; i < 402; i++) {
        CHECK_TRUE(fa_id_parse(store.op.tasks->items[i].id, &id));
        CHECK_INT(id.key, FIRST_ID - 400 + (int)i - 2);
    }
    claim(&store, &(struct faina_claim){.worker_id = "w", .limit = 1000}, 0);
    store_close(&store);
}

/* A permit that comes back opens the lanes that wait for it, and only as many tasks are taken. */
static void test_many__permits_that_come_back(void **state)
{
    struct store store;

    store_open(&store);
    fill(&store, 1000, "'many'", "'t' || i", "[\"gpu\"]");
    store_begin(&store);
    CHECK_INT(
        store_run(&store, &(struct fa_op){.kind = FA_OP_RESOURCE_SET, .resource = {"gpu", 2}}),
        FAINA_OK);
    store_commit(&store);
    claim(&store, &(struct faina_claim){.worker_id = "w", .limit = 10}, 2);
    for (int i = 0; i < 20; i++) {
        const char *id = store.op.tasks->items[0].id;

        store_begin(&store);
        CHECK_INT(
            store_run(&store,
                      &(struct fa_op){.kind = FA_OP_COMPLETE, .id = id, .by = {.worker_id = "w"}}),
            FAINA_OK);
        store_commit(&store);
        claim(&store, &(struct faina_claim){.worker_id = "w", .limit = 10}, 1);
    }
    claim(&store, &(struct faina_claim){.worker_id = "w", .limit = 10}, 0);
    store_close(&store);
}

static void test_many__a_pause_and_its_end(void **state)
{
    struct store store;

    store_open(&store);
    fill(&store, 30, "'n' || i", "'t' || (i % 3)", "[]");
    for (int is_paused = 1; is_paused >= 0; is_paused--) {
        store_begin(&store);
        for (int i = 1; i <= 30; i++)
            CHECK_INT(
                store_run(&store,
                          &(struct fa_op){.kind = is_paused ? FA_OP_PAUSE : FA_OP_RESUME,
                                          .name = {.ns = fa_arena_printf(&store.arena, "n%d", i),
                                                   .type = "t0"}}),
                FAINA_OK);
        store_commit(&store);
        claim(&store, &(struct faina_claim){.worker_id = "w", .limit = 100}, is_paused ? 20 : 10);
    }
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many__a_claim_of_any_type),
        cmocka_unit_test(test_many__a_claim_of_a_type_in_all_namespaces),
        cmocka_unit_test(test_many__a_claim_of_named_types),
        cmocka_unit_test(test_many__lanes_of_other_namespaces),
        cmocka_unit_test(test_many__lanes_at_their_limit),
        cmocka_unit_test(test_many__lanes_out_of_reach),
        cmocka_unit_test(test_many__the_oldest_first_then_by_priority),
        cmocka_unit_test(test_many__permits_that_come_back),
        cmocka_unit_test(test_many__a_pause_and_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
