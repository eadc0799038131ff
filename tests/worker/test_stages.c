/*
 * test_stages.c - commands whose task doesn't end with their first run: subtasks, dependencies,
 * resources, background.
 */
#include "worker/world.h"

static void test_stages__subtasks_and_resume(struct fa_t *t)
{
    struct faina_task *task;
    struct world w;

    world_open(&w, t);
    world_script(&w, "parent",
                 "if [ $FAINA_PHASE = start ]; then\n"
                 "  for i in 1 2 3; do echo \"{\\\"subtask\\\":{\\\"type\\\":\\\"child\\\","
                 "\\\"name\\\":\\\"c$i\\\",\\\"input\\\":$i}}\"; done >&3\n"
                 "else echo '{\"phase\":\"'$FAINA_PHASE'\",\"attempt\":'$FAINA_ATTEMPT"
                 "',\"stdin\":'$(cat)'}'; fi");
    world_script(&w, "child", "echo $(( $(cat) * 10 ))");
    world_start(&w);
    task = world_try(&w, "parent", "{\"x\":1}", 1, FAINA_COMPLETED);
    CHECK_HAS(task->output, "{\"phase\":\"resume\",\"attempt\":1,\"stdin\":{\"input\":{\"x\":1},"
                            "\"subtasks\":[{\"id\":\"");
    CHECK_HAS(task->output, "\"name\":\"c1\",\"type\":\"child\",\"status\":\"completed\","
                            "\"output\":10,\"error\":null}");
    CHECK_HAS(task->output, "\"name\":\"c3\",\"type\":\"child\",\"status\":\"completed\","
                            "\"output\":30,\"error\":null}]}}");
    world_close(&w);
}

static void test_stages__a_bad_subtask_calls_for_error(struct fa_t *t)
{
    struct faina_task *task;
    struct world w;

    world_open(&w, t);
    world_script(&w, "parent",
                 "if [ $FAINA_PHASE = start ]; then\n"
                 "  echo '{\"subtask\":{\"type\":\"bad\"}}' >&3\n"
                 "else echo '{\"phase\":\"'$FAINA_PHASE'\",\"stdin\":'$(cat)'}'; fi");
    world_script(&w, "bad", "exit 64");
    world_start(&w);
    task = world_try(&w, "parent", NULL, 1, FAINA_COMPLETED);
    CHECK_HAS(task->output, "{\"phase\":\"error\",\"stdin\":{\"input\":null,\"subtasks\":[");
    CHECK_HAS(task->output, "\"status\":\"failed\",\"output\":null,\"error\":{\"message\":");
    world_close(&w);
}

/* Unlike a C handler, a command can't omit a function for errors. */
static void test_stages__a_bad_dependency_fails_the_task(struct fa_t *t)
{
    const char *first, *deaf, *keen;
    struct faina_task *task;
    struct world w;

    world_open(&w, t);
    world_script(&w, "bad", "exit 64");
    world_script(&w, "deaf", "echo '\"ran\"'");
    world_script(&w, "keen", "echo '\"'$FAINA_PHASE'\"'");
    world_file(&w, "keen.json", "{\"dependencies\":\"ended\"}", 0644);
    first = fa_t_submit(t, .type = "bad");
    deaf = fa_t_submit(t, .type = "deaf", .depends_on = (const char *[]){first},
                       .depends_on_count = 1);
    keen = fa_t_submit(t, .type = "keen", .depends_on = (const char *[]){first},
                       .depends_on_count = 1);
    world_start(&w);
    task = world_await(&w, deaf, FAINA_FAILED);
    CHECK_HAS(task->error, fa_arena_printf(&t->arena, "its dependency %s ended badly", first));
    CHECK_HAS(task->error, "\"kind\":\"dependency\"");
    CHECK_INT(task->attempts, 1);
    CHECK_STR(world_await(&w, keen, FAINA_COMPLETED)->output, "\"error\"");
    world_close(&w);
}

/* A claim waits, and the submit doesn't return the task: it is claimed while it is inserted. */
static void test_stages__a_dependency_that_ended_badly_before(struct fa_t *t)
{
    struct world w;

    world_open(&w, t);
    world_script(&w, "bad", "exit 64");
    world_script(&w, "deaf", "echo '\"ran\"'");
    world_start(&w);
    for (int i = 0; i < 5; i++) {
        const char *first = world_try(&w, "bad", NULL, 1, FAINA_FAILED)->id;
        struct faina_submit deaf = {.type = "deaf", .depends_on = &first, .depends_on_count = 1};
        const struct faina_task *task;

        CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_SUBMIT, .submit = &deaf}));
        task = world_await(&w, fa_arena_strdup(&t->arena, t->op.task_id), FAINA_FAILED);
        CHECK_HAS(task->error, fa_arena_printf(&t->arena, "its dependency %s ended badly", first));
    }
    world_close(&w);
}

/* The dependency has been removed, so its id is not known any more. */
static void test_stages__a_bad_dependency_that_is_gone(struct fa_t *t)
{
    const char *first = fa_t_make(t, FAINA_FAILED, "w");
    const char *both[] = {first, fa_t_make(t, FAINA_COMPLETED, "w")};
    struct faina_removal removal = {.purge = true};
    const struct faina_task *task;
    const char *deaf, *half, *keen;
    struct world w;

    world_open(&w, t);
    world_script(&w, "deaf", "echo '\"ran\"'");
    world_script(&w, "keen", "echo '\"'$FAINA_PHASE'\"'");
    world_file(&w, "keen.json", "{\"dependencies\":\"ended\"}", 0644);
    deaf = fa_t_submit(t, .type = "deaf", .depends_on = &first, .depends_on_count = 1);
    half = fa_t_submit(t, .type = "deaf", .depends_on = both, .depends_on_count = 2);
    keen = fa_t_submit(t, .type = "keen", .depends_on = &first, .depends_on_count = 1);
    CHECK_OK(t, fa_t_delete_with(t, first, NOBODY, removal));
    world_start(&w);
    task = world_await(&w, deaf, FAINA_FAILED);
    CHECK_HAS(task->error, "a dependency ended badly and has been removed since");
    CHECK_HAS(task->error, "\"kind\":\"dependency\"");
    CHECK_HAS(world_await(&w, half, FAINA_FAILED)->error, "\"a dependency ended badly\"");
    CHECK_STR(world_await(&w, keen, FAINA_COMPLETED)->output, "\"error\"");
    world_close(&w);
}

/* This is no dependency: the command is started, as for any subtask that ended badly. */
static void test_stages__a_bad_subtask_that_is_gone(struct fa_t *t)
{
    const struct faina_submit subtask = {.type = "other"};
    struct faina_removal removal = {.purge = true};
    const char *parent, *child;
    struct world w;

    world_open(&w, t);
    world_script(&w, "parent", "echo '\"'$FAINA_PHASE'\"'");
    parent = fa_t_submit(t, .type = "parent");
    fa_t_take(t, parent, "w");
    CHECK_OK(t, fa_t_block(t, parent, BY("w"), &subtask, 1));
    CHECK_OK(t, fa_t_children(t, parent, 10, NULL));
    child = fa_arena_strdup(&t->arena, t->op.tasks->items[0].id);
    CHECK_OK(t, fa_t_cancel(t, child, NOBODY));
    CHECK_OK(t, fa_t_delete_with(t, child, NOBODY, removal));
    world_start(&w);
    CHECK_STR(world_await(&w, parent, FAINA_COMPLETED)->output, "\"error\"");
    world_close(&w);
}

/* A command that ignores the phase requests the same subtask in each run: the task fails with the
 * reason. */
static void test_stages__the_same_subtasks_again_are_a_failure(struct fa_t *t)
{
    const char *const parents[] = {"of-good", "of-bad"};
    struct world w;

    world_open(&w, t);
    world_script(&w, "of-good", "echo '{\"subtask\":{\"type\":\"good\",\"input\":1}}' >&3");
    world_script(&w, "of-bad", "echo '{\"subtask\":{\"type\":\"bad\",\"input\":1}}' >&3");
    world_script(&w, "good", "true");
    world_script(&w, "bad", "exit 64");
    world_start(&w);
    for (size_t i = 0; i < FA_COUNT(parents); i++) {
        struct faina_task *task = world_try(&w, parents[i], NULL, 4, FAINA_FAILED);

        CHECK_INT(task->attempts, 1);
        CHECK_HAS(task->error, "\"kind\":\"refused\"");
        CHECK_HAS(task->error, "must not ask for the same ones again");
    }
    world_close(&w);
}

static void test_stages__a_resource_asked_for_while_it_runs(struct fa_t *t)
{
    struct faina_task *task;
    struct world w;

    world_open(&w, t);
    world_script(&w, "need",
                 "echo \"$FAINA_RESOURCES\" | grep -q gpu && echo \"\\\"$FAINA_RESOURCES\\\"\" && "
                 "exit\necho '{\"resource\":\"gpu\"}' >&3; exit 1");
    world_script(&w, "bad", "echo '{\"resource\":7}' >&3");
    world_start(&w);
    task = world_try(&w, "need", NULL, 1, FAINA_COMPLETED);
    CHECK_STR(task->output, "\"gpu\"");
    CHECK_INT(task->attempts, 1);
    CHECK_HAS(world_try(&w, "bad", NULL, 1, FAINA_FAILED)->error, "resource must be a string");
    world_close(&w);
}

static void test_stages__background(struct fa_t *t)
{
    struct faina_task *task;
    struct world w;
    const char *id;

    world_open(&w, t);
    world_script(&w, "later",
                 "echo '{\"background\":{\"reason\":\"elsewhere\",\"timeout\":\"1h\"}}' >&3");
    world_start(&w);
    id = fa_t_submit(t, .type = "later");
    task = world_await(&w, id, FAINA_BACKGROUND);
    CHECK_STR(task->state, "elsewhere");
    CHECK_TRUE(task->expires_us > 0 && task->worker_id == NULL);
    CHECK_OK(t, fa_t_complete(t, id, NOBODY, "5"));
    CHECK_STR(fa_t_task(t, id)->output, "5");
    world_close(&w);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_stages__subtasks_and_resume),
        FA_T_CASE(test_stages__a_bad_subtask_calls_for_error),
        FA_T_CASE(test_stages__a_bad_dependency_fails_the_task),
        FA_T_CASE(test_stages__a_dependency_that_ended_badly_before),
        FA_T_CASE(test_stages__a_bad_dependency_that_is_gone),
        FA_T_CASE(test_stages__a_bad_subtask_that_is_gone),
        FA_T_CASE(test_stages__the_same_subtasks_again_are_a_failure),
        FA_T_CASE(test_stages__a_resource_asked_for_while_it_runs),
        FA_T_CASE(test_stages__background),
    };

    return fa_t_main(argc, argv, "stages", cases, FA_COUNT(cases));
}
