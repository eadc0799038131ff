/*
 * test_lanes.c - lanes without tasks are removed while nodes and applications use them, in every
 * order: no task is ever in a lane that isn't there. And how many a namespace may have.
 */
#include "postgres/sql_world.h"
#include "postgres/stage.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

#define REMOVE "SELECT count(*) FROM remove_empty_lanes(0, 2147483647)"
#define STEP(name)                                                                                 \
    static void name(struct fa_scene *scene, struct fa_t *mine, PGconn *conn, struct fa_told *told)

/* A task of the scene's type comes and goes: the engine knows the lane, which is empty. */
static void use_and_leave(struct fa_t *t, const char *type)
{
    const char *id = fa_t_submit(t, .type = type);

    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_OK(t, fa_t_delete_with(t, id, NOBODY, (struct faina_removal){.purge = true}));
}

static void leave_empty(struct fa_scene *scene)
{
    use_and_leave(scene->t, scene->name);
}

STEP(warm_up)
{
    (void)conn;
    use_and_leave(mine, scene->name);
    told->code = FAINA_OK;
}

STEP(submit_one)
{
    (void)conn;
    memcpy(told->id, fa_t_submit(mine, .type = scene->name), FAINA_ID_SIZE);
    told->code = FAINA_OK;
}

/* Every task has its lane and is counted; and is handed out by a node that had no part in it. */
static void check_tasks(struct fa_scene *scene)
{
    const char *type = scene->name;
    size_t made = 0;

    for (int i = 0; i < C; i++)
        made += scene->play->steps[i][0] != NULL;
    CHECK_INT(fa_psql_int(scene->raw,
                          "SELECT count(*) FROM task t LEFT JOIN lane l ON l.id = t.lane "
                          "WHERE l.id IS NULL"),
              0);
    CHECK_OK(scene->t, fa_t_claim_next(scene->t, .worker_id = "rest", .types = &type,
                                       .type_count = 1, .limit = 9));
    CHECK(scene->t->op.tasks->count == made, "order %s: %zu of %zu", scene->order,
          scene->t->op.tasks->count, made);
    for (size_t i = 0; i < made; i++)
        CHECK_OK(scene->t, fa_t_cancel(scene->t, scene->told[i][1].id, NOBODY));
    CHECK_INT(fa_psql_int(scene->raw,
                          "SELECT coalesce(sum(n), 0) FROM tally t JOIN lane l "
                          "ON l.id = t.lane WHERE l.type = '%s'",
                          type),
              made);
}

/* clang-format off */
static const struct fa_play plays[] = {
    {"submit, removal", leave_empty,
     {{warm_up, submit_one}, {0}, {0}, {fa_stage_lock, fa_stage_unlock}},
     REMOVE " /* %s */", check_tasks},
    {"two submits, removal", leave_empty,
     {{warm_up, submit_one}, {warm_up, submit_one}, {0}, {fa_stage_lock, fa_stage_unlock}},
     REMOVE " /* %s */", check_tasks},
};
/* clang-format on */

static void test_lanes__removal_in_every_order(void **state)
{
    struct fa_stage *stage;

    (void)state;
    fa_psql_need_engine();
    stage = fa_stage_create();
    for (size_t i = 0; i < FA_COUNT(plays); i++) {
        int blocked;
        int played = fa_stage_run(stage, &plays[i], &blocked);

        print_message("%s: %d orders, %d steps waited for a lock\n", plays[i].name, played,
                      blocked);
    }
    fa_stage_destroy(stage);
}

/* An application that has submitted and not yet committed keeps its lane. */
static void test_lanes__a_submit_in_sql_holds_its_lane(void **state)
{
    struct fa_sql_world *world = *state;

    fa_sql_open(world);
    use_and_leave(&world->t, "a");
    fa_psql_exec(world->one, "BEGIN");
    fa_sql_submit(world, world->one, "'a'");
    CHECK_INT(fa_psql_int(world->two, REMOVE), 0);
    fa_psql_exec(world->one, "COMMIT");
    CHECK_INT(fa_psql_int(world->two, REMOVE), 0);
    CHECK_OK(&world->t, fa_t_claim_next(&world->t, .worker_id = "w"));
    CHECK_INT(world->t.op.tasks->count, 1);
}

/* ... and one that comes while the lane is being removed waits, and gets a new one. */
static void test_lanes__a_submit_in_sql_during_the_removal(void **state)
{
    struct fa_sql_world *world = *state;

    fa_sql_open(world);
    use_and_leave(&world->t, "a");
    fa_psql_exec(world->two, "BEGIN");
    CHECK_INT(fa_psql_int(world->two, REMOVE), 1);
    fa_psql_send(world->one, "SELECT submit('a')");
    fa_psql_await_blocked(world->two, world->one);
    fa_psql_exec(world->two, "COMMIT");
    fa_psql_await(world->one);
    CHECK_OK(&world->t, fa_t_claim_next(&world->t, .worker_id = "w"));
    CHECK_INT(world->t.op.tasks->count, 1);
    CHECK_INT(fa_psql_int(world->two, "SELECT count(*) FROM lane"), 1);
}

static void test_lanes__what_is_used_stays(void **state)
{
    struct fa_sql_world *world = *state;
    struct fa_t *t = &world->t;
    const char *id;

    fa_sql_open(world);
    fa_t_submit(t, .type = "in line");
    fa_t_submit(t, .type = "later", .delay_ms = 1000000);
    CHECK_OK(t, fa_t_cancel(t, fa_t_submit(t, .type = "ended"), NOBODY));
    id = fa_t_submit(t, .type = "deleted");
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_OK(t, fa_t_delete(t, id));
    use_and_leave(t, "gone");
    CHECK_INT(fa_psql_int(world->one, REMOVE), 1);
    CHECK_INT(fa_psql_int(world->one, "SELECT count(*) FROM lane"), 4);
    CHECK_OK(t, fa_t_delete_with(t, id, NOBODY, (struct faina_removal){.purge = true}));
    CHECK_INT(fa_psql_int(world->one, REMOVE), 1);
    CHECK_INT(fa_psql_int(world->one, "SELECT count(*) FROM lane WHERE type = 'deleted'"), 0);
}

static void fill(struct fa_sql_world *world, const char *type, const char *resources, int count)
{
    fa_psql_exec(world->one,
                 "INSERT INTO lane (namespace, type, resources) "
                 "SELECT 'full', %s, %s FROM generate_series(1, %d) AS i",
                 type, resources, count);
}

/* One more than a namespace may have is refused by the engine and in SQL alike. */
static void test_lanes__types_of_a_namespace(void **state)
{
    struct fa_sql_world *world = *state;
    struct fa_t *t = &world->t;

    fa_sql_open(world);
    fill(world, "'t' || i", "'[]'", 99999);
    fa_t_submit(t, .ns = "full", .type = "the last");
    CHECK_CODE(t, fa_t_try_submit(t, .ns = "full", .type = "one more"), FAINA_INVALID_TASK);
    CHECK_STR(t->op.error.field, "type");
    CHECK_TRUE(strstr(fa_sql_refusal(world, "SELECT submit('one more', namespace => 'full')"),
                      "100000 types") != NULL);
    fa_t_submit(t, .ns = "full", .type = "t7");
    fa_sql_submit(world, world->one, "'t8', namespace => 'full'");
    fa_t_submit(t, .ns = "another", .type = "one more");
}

static void test_lanes__resources_of_a_type(void **state)
{
    static const char *const names[] = {"new"};
    struct fa_sql_world *world = *state;
    struct fa_t *t = &world->t;

    fa_sql_open(world);
    fill(world, "'t'", "'[\"r' || i || '\"]'", 1000);
    CHECK_CODE(
        t, fa_t_try_submit(t, .ns = "full", .type = "t", .resources = names, .resource_count = 1),
        FAINA_INVALID_TASK);
    CHECK_STR(t->op.error.field, "resources");
    CHECK_TRUE(strstr(fa_sql_refusal(world, "SELECT submit('t', namespace => 'full', "
                                            "resources => ARRAY['new'])"),
                      "1000 sets of resources") != NULL);
}

/* ------------------------------------------------------------------------------------------
 * Many lanes with tasks in line
 */

#define MANY 2500

/* As many types, each with two tasks in line, of five priorities. */
static void submit_types(struct fa_sql_world *world, const char *ns, const char *prefix, int count,
                         int priority)
{
    fa_psql_exec(world->one,
                 "SELECT count(*) FROM submit_many((SELECT jsonb_agg(jsonb_build_object("
                 "'namespace', '%s', 'type', '%s' || i %% %d, 'priority', i %% 5 + %d)) "
                 "FROM generate_series(1, %d) AS i))",
                 ns, prefix, count, priority, 2 * count);
}

/* Claims, and checks that each task comes after the one before it. Returns how many there were. */
static size_t claim_in_order(struct fa_t *t, const struct faina_claim *claim,
                             struct faina_task *last)
{
    CHECK_OK(t, fa_t_claim_next_code(t, claim));
    for (size_t i = 0; i < t->op.tasks->count; i++) {
        const struct faina_task *task = &t->op.tasks->items[i];

        CHECK(last->id[0] == '\0' || task->priority < last->priority ||
                  (task->priority == last->priority && strcmp(task->id, last->id) > 0),
              "%s (priority %d) comes after %s (%d)", task->id, task->priority, last->id,
              last->priority);
        *last = *task;
    }
    return t->op.tasks->count;
}

static void test_lanes__many_are_served_by_priority_and_age(void **state)
{
    static const int limits[] = {1, 7, 100, 1, 1000};
    struct fa_sql_world *world = *state;
    struct faina_task last = {0};
    size_t total = 0, count = 1;

    fa_sql_open(world);
    submit_types(world, "default", "t", MANY, 0);
    for (size_t i = 0; count > 0; i++)
        total += count = claim_in_order(
            &world->t,
            &(struct faina_claim){.worker_id = "w", .limit = limits[i % FA_COUNT(limits)]}, &last);
    CHECK_INT(total, 2 * MANY);
    CHECK_INT(fa_psql_int(world->one, "SELECT count(*) FROM pg_class WHERE relname = 'ready_best' "
                                      "AND relnamespace = current_schema()::regnamespace"),
              1);
}

/* Lanes that the claim can't use are in front of all others: paused, at their limit, of other
 * namespaces. */
static void test_lanes__many_are_of_no_use(void **state)
{
    static const char *const own[] = {"own"}, *const types[] = {"x1", "x2", "t5"};
    struct fa_sql_world *world = *state;
    struct faina_task last = {0};
    struct fa_t *t = &world->t;

    fa_sql_open(world);
    submit_types(world, "default", "t", MANY, 10);
    fa_psql_exec(world->one,
                 "INSERT INTO paused SELECT namespace, type FROM lane WHERE type <> 't5'");
    submit_types(world, "own", "x", 10, 0);
    CHECK_INT(claim_in_order(t, &(struct faina_claim){.worker_id = "w", .limit = 4}, &last), 4);
    CHECK_STR(t->op.tasks->items[0].type, "t5");
    CHECK_STR(t->op.tasks->items[3].ns, "own");
    CHECK_INT(
        claim_in_order(t,
                       &(struct faina_claim){
                           .worker_id = "w", .limit = 3, .namespaces = own, .namespace_count = 1},
                       &last),
        3);
    last = (struct faina_task){0};
    fa_psql_exec(world->one, "DELETE FROM paused");
    CHECK_INT(claim_in_order(
                  t,
                  &(struct faina_claim){
                      .worker_id = "w", .limit = 50, .types = types, .type_count = FA_COUNT(types)},
                  &last) > 0,
              1);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 1000));
    CHECK_INT(t->op.tasks->count, 1000);
    CHECK_TRUE(t->op.tasks->items[999].priority >= 10);
}

/* Without the index all lanes are asked for, which is slow, and as correct. */
static void test_lanes__many_without_an_index(void **state)
{
    struct fa_sql_world *world = *state;
    struct faina_task last = {0};

    fa_sql_open(world);
    fa_psql_exec(world->one, "CREATE OR REPLACE FUNCTION index_ready() RETURNS boolean "
                             "LANGUAGE sql AS 'SELECT false'");
    submit_types(world, "default", "t", MANY, 0);
    for (int i = 0; i < 5; i++)
        CHECK_INT(
            claim_in_order(&world->t, &(struct faina_claim){.worker_id = "w", .limit = 100}, &last),
            100);
    CHECK_INT(fa_psql_int(world->one, "SELECT count(*) FROM pg_class WHERE relname = 'ready_best' "
                                      "AND relnamespace = current_schema()::regnamespace"),
              0);
}

/* Another node has the best locked: the next ones are handed out, and no task twice. */
static void test_lanes__many_are_locked_by_others(void **state)
{
    struct fa_sql_world *world = *state;
    struct faina_task last = {0};

    fa_sql_open(world);
    submit_types(world, "default", "t", MANY, 0);
    fa_psql_exec(world->one, "BEGIN");
    fa_psql_exec(world->one, "SELECT 1 FROM ready ORDER BY rank, id LIMIT 300 FOR UPDATE");
    CHECK_INT(claim_in_order(&world->t, &(struct faina_claim){.worker_id = "w", .limit = 5}, &last),
              5);
    fa_psql_exec(world->one, "COMMIT");
    last = (struct faina_task){0};
    CHECK_INT(
        claim_in_order(&world->t, &(struct faina_claim){.worker_id = "w", .limit = 1000}, &last),
        1000);
    CHECK_INT(fa_psql_int(world->one, "SELECT count(*) FROM held"), 1005);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes__removal_in_every_order),
        cmocka_unit_test_setup_teardown(test_lanes__a_submit_in_sql_holds_its_lane, fa_sql_set_up,
                                        fa_sql_tear_down),
        cmocka_unit_test_setup_teardown(test_lanes__a_submit_in_sql_during_the_removal,
                                        fa_sql_set_up, fa_sql_tear_down),
        cmocka_unit_test_setup_teardown(test_lanes__what_is_used_stays, fa_sql_set_up,
                                        fa_sql_tear_down),
        cmocka_unit_test_setup_teardown(test_lanes__types_of_a_namespace, fa_sql_set_up,
                                        fa_sql_tear_down),
        cmocka_unit_test_setup_teardown(test_lanes__resources_of_a_type, fa_sql_set_up,
                                        fa_sql_tear_down),
        cmocka_unit_test_setup_teardown(test_lanes__many_are_served_by_priority_and_age,
                                        fa_sql_set_up, fa_sql_tear_down),
        cmocka_unit_test_setup_teardown(test_lanes__many_are_of_no_use, fa_sql_set_up,
                                        fa_sql_tear_down),
        cmocka_unit_test_setup_teardown(test_lanes__many_without_an_index, fa_sql_set_up,
                                        fa_sql_tear_down),
        cmocka_unit_test_setup_teardown(test_lanes__many_are_locked_by_others, fa_sql_set_up,
                                        fa_sql_tear_down),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("lanes", tests, NULL, NULL);
}
