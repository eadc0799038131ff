/*
 * test_flows.c - workflows on two nodes of one database, and events that are emitted in SQL.
 */
#include "postgres/pair.h"
#include "support/crew.h"

#include <setjmp.h>

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
    struct fa_pair *pair = *state;

    fa_pair_open(pair);
    for (int i = 0; i < 20; i++) {
        struct fa_t *here = i % 2 ? &pair->a : &pair->b, *there = i % 2 ? &pair->b : &pair->a;
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
    struct fa_pair *pair = arg;
    struct fa_t own;

    (void)mine;
    fa_t_share(&own, index == 0 ? &pair->a : &pair->b);
    for (int i = 0; i < KEYS; i++)
        CHECK_INT(emit(&own, fa_arena_printf(&own.arena, "e%d", i), "{\"n\":1}")->count, 1);
    fa_t_unshare(&own);
}

static void test_flows__one_id_on_two_nodes_at_once(void **state)
{
    struct fa_pair *pair = *state;

    fa_pair_open(pair);
    put(&pair->a, join_yaml);
    fa_t_together(&pair->a, 2, emit_same, pair);
    CHECK_INT(count_of(&pair->b, "made"), KEYS);
}

struct halves {
    struct fa_pair *pair;
    const char *ids[2][KEYS];
};

static void complete_own(struct fa_t *mine, size_t index, void *arg)
{
    struct halves *halves = arg;
    struct fa_t own;

    (void)mine;
    fa_t_share(&own, index == 0 ? &halves->pair->a : &halves->pair->b);
    for (int i = 0; i < KEYS; i++)
        CHECK_OK(&own, fa_t_complete(&own, halves->ids[index][i], BY("w"), NULL));
    fa_t_unshare(&own);
}

static void test_flows__the_last_two_members_on_two_nodes_at_once(void **state)
{
    struct fa_pair *pair = *state;
    struct halves halves = {.pair = pair};
    struct fa_t *t = &pair->a;

    fa_pair_open(pair);
    put(t, join_yaml);
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < KEYS; i++) {
            const char *input = fa_arena_printf(&t->arena, "{\"k\":%d}", i);

            halves.ids[side][i] = fa_t_submit(t, .type = side ? "b" : "a", .input = input);
            fa_t_take(t, halves.ids[side][i], "w");
        }
    fa_t_together(t, 2, complete_own, &halves);
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
    struct fa_pair *pair = *state;
    PGconn *sql;
    char text[FA_PSQL_TEXT_SIZE], code[8];

    fa_pair_open(pair);
    put(&pair->a, join_yaml);
    sql = fa_psql_connect(pair->a.url);
    fa_psql_exec(sql, "BEGIN; SELECT emit('x', '{\"n\": 1}'); ROLLBACK");
    fa_psql_text(sql, text, "SELECT emit('x', '{\"n\": 7}', 'order-1')");
    CHECK_STR(text, "order-1");
    fa_psql_exec(sql, "BEGIN; SELECT emit('x', '{\"n\": 8}', 'order-1'), emit('x', '{\"n\": 9}'), "
                      "emit('x', '{\"n\": 9}'); COMMIT");
    fa_t_wait_until(has_three, &pair->b, NULL, "three tasks were made");
    for (size_t i = 0; i < FA_COUNT(bad); i++)
        CHECK_STR(fa_psql_try(sql, code, "SELECT emit(%s)", bad[i]), "22023");
    CHECK_INT(emit(&pair->a, "order-1", NULL)->count, 1);
    CHECK_TRUE(pair->a.op.emitted->existing);
    CHECK_INT(fa_psql_int(sql, "SELECT count(*) FROM happened_inbox"), 0);
    CHECK_INT(count_of(&pair->a, "made"), 3);
    fa_psql_close(sql);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fa_pair_set_up, fa_pair_tear_down)
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
