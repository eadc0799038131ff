/*
 * test_lanes.c - lanes, resources and pauses in memory, and that they mirror the store.
 */
#include "support/unit_store.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

/* A database without traits, on which no statement is run. */
static const struct fa_db_ops no_ops;
static struct fa_db alone = {.ops = &no_ops};

static struct fa_lane *get_any(struct fa_lanes *lanes, const char *ns, const char *type,
                               const char *const *names, size_t count)
{
    struct faina_error err = {0};
    struct fa_lane *lane = NULL;

    CHECK(fa_lanes_get(lanes, &alone, ns, type, names, count, false, &lane, &err) == FAINA_OK, "%s",
          err.message);
    return lane;
}

static struct fa_lane *get(struct fa_lanes *lanes, const char *type, const char *a, const char *b)
{
    const char *names[2] = {a, b};

    return get_any(lanes, "ns", type, names, a == NULL ? 0 : b == NULL ? 1 : 2);
}

static struct fa_resource *resource(struct fa_lanes *lanes, const char *name)
{
    struct fa_resource *found = NULL;

    CHECK_INT(fa_lanes_resource(lanes, &alone, name, &found, NULL), FAINA_OK);
    return found;
}

static void flush(struct store *store)
{
    struct faina_error err = {0};

    CHECK(fa_lanes_flush(store->lanes, store->db, &err) == FAINA_OK, "%s", err.message);
}

static void load(struct store *store)
{
    struct faina_error err = {0};

    CHECK(fa_lanes_load(store->lanes, store->db, &err) == FAINA_OK, "%s", err.message);
}

/* ------------------------------------------------------------------------------------------
 * Which lane
 */

static void test_lanes__the_same_conditions_are_one_lane(void **state)
{
    const char *repeated[] = {"b", "a", "b", "a", "a"};
    struct fa_lanes *lanes = fa_lanes_create();
    struct fa_lane *lane = get(lanes, "t", "a", "b");
    size_t count;

    CHECK_TRUE(get(lanes, "t", "a", "b") == lane);
    CHECK_TRUE(get(lanes, "t", "b", "a") == lane);
    CHECK_TRUE(get_any(lanes, "ns", "t", repeated, 5) == lane);
    CHECK_TRUE(fa_lanes_by_id(lanes, lane->id) == lane);
    CHECK_STR(lane->resources_json, "[\"a\",\"b\"]");
    CHECK_INT(lane->resource_count, 2);
    CHECK_STR(lane->resource_names[0], "a");
    CHECK_STR(lane->resource_names[1], "b");
    CHECK_TRUE(lane->resources[0] == fa_lanes_find_resource(lanes, "a"));
    fa_lanes_all(lanes, &count);
    CHECK_INT(count, 1);
    fa_lanes_destroy(lanes);
    fa_lanes_destroy(NULL);
}

static void test_lanes__other_conditions_are_other_lanes(void **state)
{
    static const struct {
        const char *ns, *type, *names[2];
        size_t count;
    } cases[] = {
        {"a", "bc", {NULL}, 0},       {"ab", "c", {NULL}, 0}, {"abc", "", {NULL}, 0},
        {"a", "bc", {"x"}, 1},        {"a", "bc", {"y"}, 1},  {"a", "bc", {"x", "y"}, 2},
        {"a", "bc", {"x\",\"y"}, 1},  {"a", "bc", {"[]"}, 1}, {"a", "bc[]", {NULL}, 0},
        {"a", "bc", {"\xc3\xa9"}, 1}, {"A", "bc", {NULL}, 0},
    };
    struct fa_lanes *lanes = fa_lanes_create();
    struct fa_lane *seen[FA_COUNT(cases)];

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        seen[i] = get_any(lanes, cases[i].ns, cases[i].type, cases[i].names, cases[i].count);
        for (size_t k = 0; k < i; k++)
            CHECK(seen[k] != seen[i], "cases %zu and %zu are one lane", k, i);
        CHECK_INT(seen[i]->resource_count, cases[i].count);
        for (size_t k = 0; k < cases[i].count; k++)
            CHECK_STR(seen[i]->resource_names[k], cases[i].names[k]);
    }
    fa_lanes_destroy(lanes);
}

static void test_lanes__many_are_all_found(void **state)
{
    enum { LANES = 3000 };
    struct fa_lanes *lanes = fa_lanes_create();
    static struct fa_lane *made[LANES];
    char name[32];
    size_t count;

    for (int i = 0; i < LANES; i++) {
        snprintf(name, sizeof(name), "type-%d", i);
        made[i] = get(lanes, name, i % 2 ? "r" : NULL, NULL);
    }
    for (int i = 0; i < LANES; i++) {
        snprintf(name, sizeof(name), "type-%d", i);
        CHECK_TRUE(get(lanes, name, i % 2 ? "r" : NULL, NULL) == made[i]);
        CHECK_TRUE(fa_lanes_by_id(lanes, made[i]->id) == made[i]);
    }
    fa_lanes_all(lanes, &count);
    CHECK_INT(count, LANES);
    CHECK_TRUE(fa_lanes_by_id(lanes, -1) == NULL);
    CHECK_TRUE(fa_lanes_by_id(lanes, 0) == NULL);
    CHECK_TRUE(fa_lanes_by_id(lanes, LANES + 1) == NULL);
    CHECK_TRUE(fa_lanes_by_id(lanes, INT64_MAX) == NULL);
    fa_lanes_destroy(lanes);
}

/* ------------------------------------------------------------------------------------------
 * Permits and pauses
 */

static void test_lanes__permits(void **state)
{
    static const struct {
        const char *name;
        int64_t max_a, in_use_a, max_b, in_use_b;
        bool is_open;
    } cases[] = {
        {"no limits", -1, 9, -1, 9, true},
        {"none in use", 1, 0, 1, 0, true},
        {"one below", 3, 2, -1, 0, true},
        {"at the limit", 3, 3, -1, 0, false},
        {"over a lowered limit", 3, 5, -1, 0, false},
        {"the other is full", -1, 0, 2, 2, false},
        {"a limit of none", 0, 0, -1, 0, false},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_lanes *lanes = fa_lanes_create();
        struct fa_lane *lane = get(lanes, "t", "a", "b");

        fa_lanes_set_limit(lanes, lane->resources[0],
                           &(struct fa_own_limits){.max = cases[i].max_a}, true);
        fa_lanes_set_limit(lanes, lane->resources[1],
                           &(struct fa_own_limits){.max = cases[i].max_b}, true);
        lane->resources[0]->in_use = cases[i].in_use_a;
        lane->resources[1]->in_use = cases[i].in_use_b;
        CHECK(fa_lane_has_permits(lane) == cases[i].is_open, "%s", cases[i].name);
        CHECK_TRUE(fa_lane_has_permits(get(lanes, "free", NULL, NULL)));
        fa_lanes_destroy(lanes);
    }
}

static void test_lanes__a_pause_is_of_a_type_in_a_namespace(void **state)
{
    struct fa_lanes *lanes = fa_lanes_create();
    struct fa_lane *old = get(lanes, "t", NULL, NULL), *other = get(lanes, "u", NULL, NULL);
    struct fa_lane *away = get_any(lanes, "away", "t", NULL, 0);

    fa_lanes_set_paused(lanes, "ns", "t", true);
    fa_lanes_set_paused(lanes, "ns", "t", true); /* twice is once */
    CHECK_TRUE(old->type_info->is_paused);
    CHECK_TRUE(!other->type_info->is_paused);
    CHECK_TRUE(!away->type_info->is_paused);
    CHECK_TRUE(get(lanes, "t", "made later", NULL)->type_info->is_paused);
    fa_lanes_set_paused(lanes, "ns", "u", true);
    fa_lanes_set_paused(lanes, "ns", "t", false);
    CHECK_TRUE(!old->type_info->is_paused);
    CHECK_TRUE(!get(lanes, "t", "made later", NULL)->type_info->is_paused);
    CHECK_TRUE(other->type_info->is_paused);
    fa_lanes_set_paused(lanes, "ns", "never paused", false);
    fa_lanes_destroy(lanes);
}

/* ------------------------------------------------------------------------------------------
 * The store
 */

/* L1 */
static void test_lanes__what_was_flushed_is_loaded(void **state)
{
    struct store store;
    struct fa_lane *lane;
    struct fa_resource *gpu;

    store_open(&store);
    store_begin(&store);
    get(store.lanes, "t", NULL, NULL);
    get(store.lanes, "t", "g\"pu", "\xc3\xa9");
    fa_lanes_set_limit(store.lanes, resource(store.lanes, "g\"pu"),
                       &(struct fa_own_limits){.max = 3}, true);
    fa_lanes_set_limit(store.lanes, resource(store.lanes, "alone"),
                       &(struct fa_own_limits){.max = 0}, true);
    store_commit(&store);
    raw_exec(store.raw, "INSERT INTO paused VALUES ('ns', 't')");
    raw_exec(store.raw, "INSERT INTO hold SELECT id, 5 FROM resource WHERE name = 'g\"pu'");
    load(&store);
    CHECK_INT(get(store.lanes, "t", NULL, NULL)->id, 1);
    lane = get(store.lanes, "t", "\xc3\xa9", "g\"pu");
    CHECK_INT(lane->id, 2);
    CHECK_TRUE(lane->is_stored);
    CHECK_TRUE(lane->type_info->is_paused);
    gpu = fa_lanes_find_resource(store.lanes, "g\"pu");
    CHECK_INT(gpu->max, 3);
    CHECK_INT(gpu->in_use, 1);
    CHECK_TRUE(gpu->is_set);
    CHECK_INT(fa_lanes_find_resource(store.lanes, "\xc3\xa9")->max, -1);
    CHECK_TRUE(!fa_lanes_find_resource(store.lanes, "\xc3\xa9")->is_set);
    CHECK_INT(fa_lanes_find_resource(store.lanes, "alone")->max, 0);
    CHECK_TRUE(fa_lanes_find_resource(store.lanes, "unknown") == NULL);
    store_close(&store);
}

/* L2 */
static void test_lanes__a_rollback_is_forgotten(void **state)
{
    struct store store;
    struct fa_lane *lane;

    store_open(&store);
    store_begin(&store);
    get(store.lanes, "kept", "r", NULL);
    store_commit(&store);
    store_begin(&store);
    fa_lane_count(get(store.lanes, "lost", "s", NULL), -1, FAINA_PENDING);
    fa_lanes_set_limit(store.lanes, resource(store.lanes, "r"), &(struct fa_own_limits){.max = 1},
                       true);
    flush(&store);
    store_rollback(&store);
    CHECK_INT(fa_lanes_find_resource(store.lanes, "r")->max, -1);
    CHECK_TRUE(fa_lanes_find_resource(store.lanes, "s") == NULL);
    lane = get(store.lanes, "new", "s", NULL);
    CHECK_INT(lane->id, 3); /* no id is given twice */
    CHECK_INT(lane->tally[FAINA_PENDING], 0);
    store_begin(&store);
    store_commit(&store);
    CHECK_STR(raw_text(store.raw, "SELECT id, type FROM lane ORDER BY id", &store.arena),
              "1|kept\n3|new");
    store_close(&store);
}

static void test_lanes__ids_go_on_after_the_greatest(void **state)
{
    struct store store;

    store_open(&store);
    raw_exec(store.raw, "INSERT INTO lane VALUES (1000, 'ns', 'far', '[]')");
    raw_exec(store.raw, "INSERT INTO resource (id, name, is_set) VALUES (70, 'far', 1)");
    load(&store);
    CHECK_INT(get(store.lanes, "far", NULL, NULL)->id, 1000);
    CHECK_INT(get(store.lanes, "next", NULL, NULL)->id, 1001);
    CHECK_INT(resource(store.lanes, "next")->id, 71);
    store_close(&store);
}

static void test_lanes__counts_are_written_once(void **state)
{
    static const char sql[] = "SELECT status, n FROM tally ORDER BY lane, status";
    struct store store;
    struct fa_lane *lane;

    store_open(&store);
    lane = get(store.lanes, "t", NULL, NULL);
    for (int i = 0; i < 5; i++)
        fa_lane_count(lane, -1, FAINA_PENDING);
    fa_lane_count(lane, FAINA_PENDING, FAINA_CLAIMED);
    store_begin(&store);
    store_commit(&store);
    CHECK_STR(raw_text(store.raw, sql, &store.arena), "0|4\n1|1");
    store_begin(&store);
    spy_forget(&store.spy);
    store_commit(&store);
    CHECK_INT(store.spy.calls, 0); /* nothing is left to write */
    store_begin(&store);
    fa_lane_count(lane, FAINA_CLAIMED, FAINA_COMPLETED);
    fa_lane_count(lane, FAINA_PENDING, -1);
    store_commit(&store);
    CHECK_STR(raw_text(store.raw, sql, &store.arena), "0|3\n1|0\n5|1");
    store_close(&store);
}

/* L3 */
static void test_lanes__those_with_ready_tasks_are_marked(void **state)
{
    struct store store;

    store_open(&store);
    store_begin(&store);
    store_submit(&store, .ns = "ns", .type = "ready");
    store_submit(&store, .ns = "ns", .type = "later", .delay_ms = 1000);
    store_commit(&store);
    load(&store);
    CHECK_TRUE(get(store.lanes, "ready", NULL, NULL)->may_have_ready);
    CHECK_TRUE(!get(store.lanes, "later", NULL, NULL)->may_have_ready);
    store_close(&store);
}

/* A reader's cache is empty at first. */
static void test_lanes__a_reader_queries_the_store(void **state)
{
    struct fa_lanes *lanes = fa_lanes_create();
    struct fa_lane *lane = NULL, *again = NULL;
    struct faina_error err = {0};
    struct store store;

    store_open(&store);
    store_begin(&store);
    get(store.lanes, "first", NULL, NULL);
    get(store.lanes, "t", "a", "b");
    store_commit(&store);
    CHECK_INT(fa_lanes_read(lanes, store.db, 2, &lane, &err), FAINA_OK);
    CHECK_STR(lane->type, "t");
    CHECK_STR(lane->resource_names[1], "b");
    spy_forget(&store.spy);
    CHECK_INT(fa_lanes_read(lanes, &store.spy.base, 2, &again, &err), FAINA_OK);
    CHECK_TRUE(again == lane);
    CHECK_INT(store.spy.calls, 0);
    CHECK_INT(fa_lanes_read(lanes, store.db, 3, &lane, &err), FAINA_INTERNAL);
    CHECK_STR(err.message, "table lane has no row 3");
    fa_lanes_destroy(lanes);
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes__the_same_conditions_are_one_lane),
        cmocka_unit_test(test_lanes__other_conditions_are_other_lanes),
        cmocka_unit_test(test_lanes__many_are_all_found),
        cmocka_unit_test(test_lanes__permits),
        cmocka_unit_test(test_lanes__a_pause_is_of_a_type_in_a_namespace),
        cmocka_unit_test(test_lanes__what_was_flushed_is_loaded),
        cmocka_unit_test(test_lanes__a_rollback_is_forgotten),
        cmocka_unit_test(test_lanes__ids_go_on_after_the_greatest),
        cmocka_unit_test(test_lanes__counts_are_written_once),
        cmocka_unit_test(test_lanes__those_with_ready_tasks_are_marked),
        cmocka_unit_test(test_lanes__a_reader_queries_the_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
