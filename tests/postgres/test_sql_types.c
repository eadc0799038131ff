/*
 * test_sql_types.c - submits in SQL obey the policies of types, and their inputs are checked by the
 * schema, with the same places of mistakes as the engine's.
 */
#include "postgres/sql_world.h"

#include "base/clock.h"

#include <setjmp.h>

#include <cmocka.h>
#include <libpq-fe.h>

#define HOUR_US (INT64_C(3600) * 1000000)

static void set_policy(struct fa_sql_world *world, const struct faina_type_policy *policy)
{
    CHECK_OK(&world->t,
             fa_t_run(&world->t, &(struct fa_op){.kind = FA_OP_TYPE_PUT, .type_policy = policy}));
}

static void test_sql_types__policies_apply(void **state)
{
    struct fa_sql_world *world = *state;
    struct fa_t *t;
    const char *const smtp = "smtp";

    fa_sql_open(world);
    t = &world->t;
    set_policy(world, &(struct faina_type_policy){.type = "Mail",
                                                  .max_attempts = 9,
                                                  .start_by_ms = 3600000,
                                                  .has_priority = true,
                                                  .priority = 5,
                                                  .resources = &smtp,
                                                  .resource_count = 1});
    fa_t_task(t, fa_sql_submit(world, world->one, "'mail'"));
    CHECK_INT(t->task->priority, 5);
    CHECK_INT(t->task->max_attempts, 9);
    CHECK_INT(t->task->resource_count, 1);
    CHECK_STR(t->task->resources[0], "smtp");
    CHECK(t->task->start_by_us > fa_clock_now_us() + HOUR_US / 2, "startBy");
    fa_t_task(t, fa_sql_submit(world, world->one,
                               "'mail', priority => 0, max_attempts => 4, resources => '{gpu}', "
                               "start_by => '2200-01-01 00:00:00+00'"));
    CHECK_INT(t->task->priority, 0);
    CHECK_INT(t->task->start_by_us, INT64_C(7258118400000000));
    CHECK_INT(t->task->max_attempts, 4);
    CHECK_STR(t->task->resources[0], "gpu");
    fa_t_task(t, fa_sql_submit(world, world->one, "'mail', namespace => 'other'"));
    CHECK_INT(t->task->priority, 0);
    CHECK_INT(t->task->start_by_us, 0);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 9));
    CHECK_INT(t->op.tasks->count, 3);
}

static void test_sql_types__start_by_expires(void **state)
{
    struct fa_sql_world *world = *state;
    const char *id;

    fa_sql_open(world);
    set_policy(world, &(struct faina_type_policy){.type = "mail", .start_by_ms = 200});
    id = fa_sql_submit(world, world->one, "'mail'");
    fa_t_wait_status(&world->t, id, FAINA_CANCELLED);
    CHECK_STR(fa_t_task(&world->t, id)->state, "Expired");
}

/* Each input goes to the engine and to the function. */
static void test_sql_types__inputs_are_checked_alike(void **state)
{
    static const struct {
        const char *schema;
        const char *inputs[6];
    } cases[] = {
        {"true", {"1", NULL}},
        {"false", {"1", NULL}},
        {"{\"type\":\"integer\"}", {"1", "1.0", "1.5", "\"1\"", NULL}},
        {"{\"type\":[\"null\",\"boolean\"]}", {"null", "true", "0", NULL}},
        {"{\"minimum\":1,\"exclusiveMaximum\":3}", {"1", "0.9", "3", "\"0\"", NULL}},
        {"{\"enum\":[1,\"a\",{\"x\":[]}]}", {"1.0", "\"a\"", "{\"x\":[]}", "\"b\"", NULL}},
        {"{\"const\":{\"a\":1,\"b\":2}}", {"{\"b\":2,\"a\":1.0}", "{\"a\":1}", NULL}},
        {"{\"minLength\":2,\"maxLength\":2}", {"\"\xc3\xa9\xc3\xa9\"", "\"a\"", "\"abc\"", NULL}},
        {"{\"items\":{\"type\":\"string\"},\"maxItems\":2}",
         {"[]", "[\"a\",1]", "[\"a\",\"b\",\"c\"]", NULL}},
        {"{\"required\":[\"a\",\"b c\"],\"minProperties\":2}",
         {"{\"a\":1,\"b c\":2}", "{\"a\":1,\"x\":2}", "{\"x\":1,\"b c\":2}", "{}", NULL}},
        {"{\"properties\":{\"a\":{\"properties\":{\"b\":{\"maximum\":1}}}},"
         "\"additionalProperties\":false}",
         {"{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"b\":2}}", "{\"b\":1}", NULL}},
        {"{\"additionalProperties\":{\"type\":\"null\"}}", {"{\"a\":null}", "{\"a\":1}", NULL}},
        {"{\"$ref\":\"#/$defs/tree\",\"$defs\":{\"tree\":{\"required\":[\"v\"],\"properties\":{"
         "\"kids\":{\"items\":{\"$ref\":\"#\"}}}}}}",
         {"{\"v\":1,\"kids\":[{\"v\":2}]}", "{\"v\":1,\"kids\":[{\"v\":2,\"kids\":[{}]}]}", NULL}},
    };
    struct fa_sql_world *world = *state;
    struct fa_t *t;

    fa_sql_open(world);
    t = &world->t;
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        set_policy(world,
                   &(struct faina_type_policy){.type = "x", .input_schema = cases[i].schema});
        for (size_t k = 0; cases[i].inputs[k] != NULL; k++) {
            const char *input = cases[i].inputs[k], *arguments, *refusal, *want;

            arguments = fa_arena_printf(&t->arena, "'x', '%s'", input);
            if (fa_t_try_submit(t, .type = "x", .input = input) == FAINA_OK) {
                fa_sql_submit(world, world->one, arguments);
                continue;
            }
            want = fa_arena_printf(&t->arena, "22023 %s: ", t->op.error.field);
            refusal =
                fa_sql_refusal(world, fa_arena_printf(&t->arena, "SELECT submit(%s)", arguments));
            CHECK(strncmp(refusal, want, strlen(want)) == 0, "%s with %s: %s", cases[i].schema,
                  input, refusal);
        }
    }
    /* In a list, and for a task that is there already. */
    set_policy(world, &(struct faina_type_policy){.type = "x", .input_schema = "true"});
    fa_sql_submit(world, world->one, "'x', '1', key => 'k'");
    set_policy(world, &(struct faina_type_policy){.type = "x", .input_schema = "false"});
    fa_sql_submit(world, world->one, "'x', '1', key => 'k'");
    CHECK(strstr(fa_sql_refusal(world, "SELECT submit_many('[{\"type\":\"y\"},{\"type\":\"x\"}]')"),
                 "tasks[1]: input") != NULL,
          "the place in the list");
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fa_sql_set_up, fa_sql_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_sql_types__policies_apply),
        TEST(test_sql_types__start_by_expires),
        TEST(test_sql_types__inputs_are_checked_alike),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("sql_types", tests, NULL, NULL);
}
