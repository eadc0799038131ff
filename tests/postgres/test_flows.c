/*
 * test_flows.c - workflows on two nodes of one database, and events that are emitted in SQL.
 */
#include "support/crew.h"
#include "support/ops.h"
#include "support/psql.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

#define KEYS 60

static const char join_yaml[] = "workflow: w\n"
                                "triggers:\n"
                                "  - { name: t, on: x, task: { type: made, input: \"${n}\" } }\n"
                                "joins:\n"
                                "  - name: both\n"
                                "    taskTypes: [a, b]\n"
                                "    joinKey: k\n"
                                "    task: { type: joined, input: { key: \"${key}\" } }\n";

struct world {
    struct fa_t a; /* owns the schema */
    struct fa_t b;
    const char *ids[2][KEYS];
};

static int set_up(void **state)
{
    struct world *world = fa_alloc_zero(1, sizeof *world);

    *state = world;
    fa_t_init(&world->a);
    fa_t_init(&world->b);
    if (fa_psql_url() == NULL)
        return 0;
    fa_t_set_url(&world->a, FA_T_POSTGRES);
    memcpy(world->b.url, world->a.url, sizeof world->b.url);
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    fa_t_finish(&world->b);
    fa_t_finish(&world->a);
    free(world);
    return 0;
}

static void open_both(struct world *world)
{
    fa_psql_need_engine();
    fa_t_open(&world->a);
    fa_t_open(&world->b);
}

static void put(struct fa_t *t, const char *yaml)
{
    struct fa_definition definition = {.text = fa_str(yaml), .is_yaml = true};

    CHECK_OK(t,
             fa_t_run(t, &(struct fa_op){.kind = FA_OP_WORKFLOW_PUT, .definition = &definition}));
}

static const struct faina_emitted *emit(struct fa_t *t, const char *id, const char *data)
{
    struct faina_emit event = {.type = "x", .id = id, .data = data};

    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_EMIT, .emit = &event}));
    return t->op.emitted;
}

static size_t count_of(struct fa_t *t, const char *type)
{
    CHECK_OK(t, fa_t_list(t, .type = type, .limit = 1000));
    return t->op.tasks->count;
}

static void test_flows__a_definition_counts_at_once_everywhere(void **state)
{
    struct world *world = *state;

    open_both(world);
    for (int i = 0; i < 20; i++) {
        struct fa_t *here = i % 2 ? &world->a : &world->b, *there = i % 2 ? &world->b : &world->a;
        struct fa_op off = {.kind = FA_OP_WORKFLOW_ENABLE, .workflow = {.name = "w"}};

        put(here, join_yaml);
        CHECK_INT(emit(there, NULL, "{\"n\":1}")->count, 1);
        CHECK_OK(here, fa_t_run(here, &off));
        CHECK_INT(emit(there, NULL, "{\"n\":1}")->count, 0);
    }
}

/* Index 0 works on node a, 1 on node b. */
static void emit_same(struct fa_t *mine, size_t index, void *arg)
{
    struct world *world = arg;
    struct fa_t own;

    (void)mine;
    fa_t_share(&own, index == 0 ? &world->a : &world->b);
    for (int i = 0; i < KEYS; i++)
        CHECK_INT(emit(&own, fa_arena_printf(&own.arena, "e%d", i), "{\"n\":1}")->count, 1);
    fa_t_unshare(&own);
}

static void test_flows__one_id_on_two_nodes_at_once(void **state)
{
    struct world *world = *state;

    open_both(world);
    put(&world->a, join_yaml);
    fa_t_together(&world->a, 2, emit_same, world);
    CHECK_INT(count_of(&world->b, "made"), KEYS);
}

static void complete_own(struct fa_t *mine, size_t index, void *arg)
{
    struct world *world = arg;
    struct fa_t own;

    (void)mine;
    fa_t_share(&own, index == 0 ? &world->a : &world->b);
    for (int i = 0; i < KEYS; i++)
        CHECK_OK(&own, fa_t_complete(&own, world->ids[index][i], BY("w"), NULL));
    fa_t_unshare(&own);
}

static void test_flows__the_last_two_members_on_two_nodes_at_once(void **state)
{
    struct world *world = *state;
    struct fa_t *t = &world->a;

    open_both(world);
    put(t, join_yaml);
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < KEYS; i++) {
            const char *input = fa_arena_printf(&t->arena, "{\"k\":%d}", i);

            world->ids[side][i] = fa_t_submit(t, .type = side ? "b" : "a", .input = input);
            fa_t_take(t, world->ids[side][i], "w");
        }
    fa_t_together(t, 2, complete_own, world);
    CHECK_INT(count_of(t, "joined"), KEYS);
}

static bool has_three(struct fa_t *t, void *arg)
{
    (void)arg;
    return count_of(t, "made") == 3;
}

static void test_flows__emit_in_sql(void **state)
{
    static const char *const bad[] = {
        "NULL", "''", "'task.completed'", "'x', '[]'", "'x', '{}', ''", "'x', '{}', 'i', '*'",
    };
    struct world *world = *state;
    PGconn *sql;
    char text[FA_PSQL_TEXT_SIZE], code[8];

    open_both(world);
    put(&world->a, join_yaml);
    sql = fa_psql_connect(world->a.url);
    fa_psql_exec(sql, "BEGIN; SELECT emit('x', '{\"n\": 1}'); ROLLBACK");
    fa_psql_text(sql, text, "SELECT emit('x', '{\"n\": 7}', 'order-1')");
    CHECK_STR(text, "order-1");
    fa_psql_exec(sql, "BEGIN; SELECT emit('x', '{\"n\": 8}', 'order-1'), emit('x', '{\"n\": 9}'), "
                      "emit('x', '{\"n\": 9}'); COMMIT");
    fa_t_wait_until(has_three, &world->b, NULL, "three tasks were made");
    for (size_t i = 0; i < FA_COUNT(bad); i++)
        CHECK_STR(fa_psql_try(sql, code, "SELECT emit(%s)", bad[i]), "22023");
    CHECK_INT(emit(&world->a, "order-1", NULL)->count, 1);
    CHECK_TRUE(world->a.op.emitted->existing);
    CHECK_INT(fa_psql_int(sql, "SELECT count(*) FROM happened_inbox"), 0);
    CHECK_INT(count_of(&world->a, "made"), 3);
    fa_psql_close(sql);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_flows__a_definition_counts_at_once_everywhere),
        TEST(test_flows__one_id_on_two_nodes_at_once),
        TEST(test_flows__the_last_two_members_on_two_nodes_at_once),
        TEST(test_flows__emit_in_sql),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("flows", tests, NULL, NULL);
}
