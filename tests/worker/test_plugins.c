/*
 * test_plugins.c - good and bad plugins, each built here and run in a process of its own.
 */
#include "worker/world.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Builds tests/worker/plugins/SOURCE.c into the folder. */
static void build(struct world *w, const char *source, const char *name, const char *flag)
{
    char from[FA_T_PATH_SIZE], to[FA_T_PATH_SIZE * 2];
    int status;
    pid_t pid;

    snprintf(from, sizeof(from), "%s/tests/worker/plugins/%s.c", FA_SOURCE_ROOT, source);
    snprintf(to, sizeof(to), "%s/%s", w->handlers, name);
    pid = fork();
    if (pid == 0) {
        execlp("cc", "cc", "-g", "-O0", "-w", "-shared", "-fPIC", "-o", to, from, flag,
               "-I" FA_SOURCE_ROOT "/include/faina", (char *)NULL);
        _exit(127);
    }
    CHECK_TRUE(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK_INT(chmod(to, 0755), 0);
    w->config.has_no_plugins = false;
}

static void test_plugins__outcomes(struct fa_t *t)
{
    struct faina_task *task;
    struct world w;
    const char *id;

    world_open(&w, t);
    build(&w, "good", "good.so", "-DX");
    world_start(&w);
    CHECK_TRUE(world_has_logged(&w, "handles good.echo by"));
    task = world_try(&w, "good.echo", "{\"a\":[1,\"\\u00e4\"]}", 1, FAINA_COMPLETED);
    CHECK_STR(task->output, "{\"a\":[1,\"\\u00e4\"]}");
    CHECK_HAS(world_event(&w, task->id, "attempt"), "\"cpuSeconds\":");
    id = fa_t_submit(t, .type = "good.about", .ns = "n", .name = "N", .metadata = "{\"m\":1}");
    CHECK_STR(world_await(&w, id, FAINA_COMPLETED)->output,
              "{\"ns\":\"n\",\"type\":\"good.about\",\"name\":\"N\",\"attempts\":1,"
              "\"user\":\"hello\",\"metadata\":{\"m\":1}}");
    id = fa_t_submit(t, .type = "good.parent");
    CHECK_STR(world_await(&w, id, FAINA_COMPLETED)->output, "[1]");
    task = fa_t_task(t, fa_t_child(t, id, 0));
    CHECK_INT(task->priority, 3);
    CHECK_INT(task->max_attempts, 2);
    CHECK_STR(task->resources[0], "disk");
    CHECK_INT(task->retry.base_ms, 10);
    task = world_try(&w, "good.background", NULL, 1, FAINA_BACKGROUND);
    CHECK_STR(task->state, "elsewhere");
    CHECK_HAS(world_try(&w, "good.fail", NULL, 4, FAINA_FAILED)->error,
              "{\"message\":\"so it is\",\"kind\":\"k\"");
    CHECK_STR(world_try(&w, "good.require", NULL, 1, FAINA_COMPLETED)->output, "\"has it\"");
    CHECK_HAS(world_try(&w, "good.late", NULL, 1, FAINA_DEAD_LETTER)->error, "took longer");
    world_close(&w);
}

static void test_plugins__open_the_engine(struct fa_t *t)
{
    bool is_reachable = strncmp(t->url, "postgres", 8) == 0 || strncmp(t->url, "http", 4) == 0;
    struct world w;

    world_open(&w, t);
    build(&w, "good", "good.so", "-DX");
    w.config.plugin_url = is_reachable ? t->url : NULL;
    world_start(&w);
    CHECK_STR(world_try(&w, "good.open", NULL, 1, FAINA_COMPLETED)->output,
              is_reachable ? "\"ok\"" : "\"not_supported\"");
    world_close(&w);
}

static void test_plugins__the_id_of_a_subtask(struct fa_t *t)
{
    bool is_reachable = strncmp(t->url, "postgres", 8) == 0 || strncmp(t->url, "http", 4) == 0;
    struct faina_task *task;
    struct world w;

    world_open(&w, t);
    build(&w, "good", "good.so", "-DX");
    w.config.plugin_url = is_reachable ? t->url : NULL;
    world_start(&w);
    task = world_try(&w, "good.early", NULL, 1, FAINA_COMPLETED);
    if (is_reachable)
        CHECK_HAS(task->output, fa_t_child(t, task->id, 0));
    else
        CHECK_STR(task->output, "\"not_supported\"");
    world_close(&w);
}

static void test_plugins__settings_go_before_the_workers_environment(struct fa_t *t)
{
    struct world w;

    setenv("TZ", "Europe/Rome", 1);
    world_open(&w, t);
    build(&w, "good", "good.so", "-DX");
    world_file(&w, "good.json", "{\"env\":{\"TZ\":\"Asia/Tokyo\"}}", 0644);
    world_start(&w);
    CHECK_STR(world_try(&w, "good.zone", NULL, 1, FAINA_COMPLETED)->output, "\"Asia/Tokyo\"");
    world_close(&w);
    unsetenv("TZ");
}

static bool is_waiting(struct fa_t *t, void *arg)
{
    return fa_t_task(t, arg)->progress == 10;
}

static void test_plugins__cancellation_and_shutdown(struct fa_t *t)
{
    const char *cancelled, *stopped;
    struct world w;

    world_open(&w, t);
    build(&w, "good", "good.so", "-DX");
    w.config.lease_ms = 600;
    world_start(&w);
    cancelled = fa_t_submit(t, .type = "good.wait");
    stopped = fa_t_submit(t, .type = "good.wait", .max_attempts = 1);
    fa_t_wait_until(is_waiting, t, (void *)(uintptr_t)cancelled, "the handler");
    fa_t_wait_until(is_waiting, t, (void *)(uintptr_t)stopped, "the handler");
    CHECK_OK(t, fa_t_cancel(t, cancelled, NOBODY));
    while (world_stats(&w).held > 1)
        usleep(1000);
    world_stop(&w, 10);
    CHECK_NOW(t, cancelled, FAINA_CANCELLED);
    CHECK_NOW(t, stopped, FAINA_PENDING);
    CHECK_INT(fa_t_task(t, stopped)->attempts, 0);
    world_close(&w);
}

static void test_plugins__many_at_once(struct fa_t *t)
{
    enum { COUNT = 300 };
    const char *ids[COUNT];
    struct world w;

    world_open(&w, t);
    build(&w, "good", "good.so", "-DX");
    world_start(&w);
    for (int i = 0; i < COUNT; i++)
        ids[i] = fa_t_submit(t, .type = "good.echo",
                             .input = fa_arena_printf(&t->arena, "\"%0*d\"", i * 100 + 1, i));
    for (int i = 0; i < COUNT; i++)
        CHECK_STR(world_await(&w, ids[i], FAINA_COMPLETED)->output,
                  fa_arena_printf(&t->arena, "\"%0*d\"", i * 100 + 1, i));
    world_close(&w);
}

static void test_plugins__a_crash_costs_its_attempts_and_nothing_else(struct fa_t *t)
{
    static const struct {
        const char *type, *error;
    } cases[] = {
        {"bad.crash", "the plugin crashed by signal 11"},
        {"bad.abort", "the plugin crashed by signal 6"},
        {"bad.exit", "the plugin exited with code 3"},
        {"bad.overflow", "the plugin crashed by signal 11"},
        {"bad.loop", "took longer than 0.1 s"},
        {"bad.rubbish", "sent an invalid frame"},
    };
    bool has_handler = getenv("FA_FLAVOUR") == NULL || strcmp(getenv("FA_FLAVOUR"), "plain") == 0;
    struct faina_task *task;
    struct world w;

    world_open(&w, t);
    build(&w, "bad", "bad.so", "-DX");
    build(&w, "good", "good.so", "-DX");
    world_start(&w);
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        /* A sanitizer has its own way to end a process. */
        if (!has_handler && strstr(cases[i].error, "signal 11"))
            continue;
        task = world_try(&w, cases[i].type, NULL, 1, FAINA_DEAD_LETTER);
        CHECK_HAS(task->error, cases[i].error);
        if (strstr(cases[i].error, "signal"))
            CHECK_HAS(task->error, "its stack:");
        world_try(&w, "good.echo", "1", 1, FAINA_COMPLETED);
        CHECK_STR(world_try(&w, "bad.fine", NULL, 1, FAINA_COMPLETED)->output, "\"fine\"");
    }
    world_close(&w);
}

static void test_plugins__one_that_leaks_meets_its_limit(struct fa_t *t)
{
    const char *flavour = getenv("FA_FLAVOUR");
    struct world w;

    if (flavour && strcmp(flavour, "plain") != 0)
        return; /* a sanitizer needs more address space than any limit leaves */
    world_open(&w, t);
    build(&w, "bad", "bad.so", "-DX");
    world_file(&w, "bad.json", "{\"limits\":{\"memory\":\"1GiB\"}}", 0644);
    world_start(&w);
    CHECK_HAS(world_try(&w, "bad.leak", NULL, 1, FAINA_DEAD_LETTER)->error,
              "the plugin crashed by signal 6");
    world_try(&w, "bad.fine", NULL, 1, FAINA_COMPLETED);
    world_close(&w);
}

static void test_plugins__one_that_spins_meets_its_limit(struct fa_t *t)
{
    struct world w;

    world_open(&w, t);
    build(&w, "bad", "bad.so", "-DX");
    world_file(&w, "bad.json", "{\"limits\":{\"cpu\":\"1s\"}}", 0644);
    world_start(&w);
    CHECK_HAS(world_try(&w, "bad.spin", NULL, 1, FAINA_DEAD_LETTER)->error,
              "the plugin crashed by signal 24 (CPU time limit exceeded), since it used more CPU "
              "time than its limit of 1 s\"");
    world_try(&w, "bad.fine", NULL, 1, FAINA_COMPLETED);
    world_close(&w);
}

static void test_plugins__unusable_ones_are_logged(struct fa_t *t)
{
    static const struct {
        const char *name, *flag, *error;
    } cases[] = {
        {"old.so", "-DWHY=1", "version 99 of the plugin interface"},
        {"empty.so", "-DWHY=2", "it handles no types"},
        {"unwilling.so", "-DWHY=3", "it can't be used here"},
        {"crashes.so", "-DWHY=4", "its process ended before it was loaded"},
        {"nostart.so", "-DWHY=5", "has no on_start"},
    };
    struct world w;

    world_open(&w, t);
    for (size_t i = 0; i < FA_COUNT(cases); i++)
        build(&w, "unusable", cases[i].name, cases[i].flag);
    build(&w, "good", "open.so", "-DX");
    chmod(fa_arena_printf(&t->arena, "%s/open.so", w.handlers), 0777);
    build(&w, "good", "good.so", "-DX");
    world_file(&w, "good.json", "{\"limits\":{\"memroy\":1}}", 0644);
    world_file(&w, "text.so", "this is no library", 0755);
    build(&w, "good", "noentry.so", "-Dfaina_plugin=other");
    world_start(&w);
    for (size_t i = 0; i < FA_COUNT(cases); i++)
        CHECK(world_has_logged(&w, cases[i].error), "not logged: %s\n%s", cases[i].error,
              w.log.ptr);
    CHECK_TRUE(world_has_logged(&w, "open.so is not used: the file"));
    CHECK_TRUE(world_has_logged(&w, "text.so is not used:"));
    CHECK_TRUE(world_has_logged(&w, "it has no function faina_plugin"));
    CHECK_TRUE(world_has_logged(&w, "did you mean \"memory\"?"));
    CHECK_TRUE(!world_has_logged(&w, "handles good") && !world_has_logged(&w, "handles x"));
    world_close(&w);
}

/* The only task in the event's result. */
static const char *emit(struct fa_t *t, const char *data)
{
    struct faina_emit event = {.type = "x", .data = data};

    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_EMIT, .emit = &event}));
    CHECK_TRUE(t->op.emitted->count <= 1);
    return t->op.emitted->count == 1 ? t->op.emitted->tasks[0] : NULL;
}

static const struct fa_stored_workflow *stored(struct fa_t *t)
{
    CHECK_OK(
        t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_WORKFLOW_LIST, .workflow = {.name = "flow"}}));
    return t->op.workflows->items;
}

static bool has_joined(struct fa_t *t, void *arg)
{
    (void)arg;
    CHECK_OK(t, fa_t_list(t, .type = "flow.joined", .statuses = 1u << FAINA_COMPLETED));
    return t->op.tasks->count == 1;
}

static void test_plugins__triggers_and_joins(struct fa_t *t)
{
    const char *id, *child;
    struct world w;

    world_open(&w, t);
    build(&w, "flows", "flows.so", "-DX");
    world_start(&w);
    CHECK_TRUE(world_has_logged(&w, "workflow flow version 1 is from flows.so"));
    CHECK_TRUE(world_has_logged(&w, "handles flow.large by"));
    CHECK_HAS(stored(t)->definition, "\"match\":\"n > 1\"");
    CHECK_TRUE(emit(t, "{\"n\":1}") == NULL);
    id = emit(t, "{\"n\":2,\"more\":[true]}");
    CHECK_STR(fa_t_task(t, id)->type, "flow.large");
    CHECK_STR(fa_t_task(t, id)->origin->trigger, "large");
    world_await(&w, id, FAINA_COMPLETED);
    child = fa_t_child(t, id, 0);
    CHECK_STR(fa_t_task(t, child)->type, "flow.made");
    CHECK_STR(fa_t_task(t, child)->output, "{\"n\":2,\"more\":[true]}");
    id = emit(t, "{\"n\":2,\"skip\":1}");
    world_await(&w, id, FAINA_COMPLETED);
    fa_t_submit(t, .type = "flow.a", .input = "{\"k\":7}");
    fa_t_submit(t, .type = "flow.b", .input = "{\"k\":7}");
    fa_t_wait_until(has_joined, t, NULL, "the join");
    CHECK_HAS(t->op.tasks->items[0].output, "{\"key\":7,\"tasks\":{\"flow.a\":{\"id\":");
    world_stop(&w, 10000);

    /* The same again changes nothing; another version does. */
    world_start(&w);
    CHECK_INT(stored(t)->version, 1);
    CHECK_TRUE(world_has_logged(&w, "workflow flow version 1 is as in flows.so"));
    world_stop(&w, 10000);
    build(&w, "flows", "flows.so", "-DMORE");
    world_start(&w);
    CHECK_INT(stored(t)->version, 2);
    CHECK_TRUE(emit(t, "{\"n\":2}") == NULL);
    world_stop(&w, 10000);
    build(&w, "flows", "flows.so", "-DWRONG");
    world_start(&w);
    CHECK_INT(stored(t)->version, 2);
    CHECK_TRUE(world_has_logged(&w, "triggers[0].match: expected a field or a value"));
    world_close(&w);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_plugins__outcomes),
        FA_T_CASE(test_plugins__open_the_engine),
        FA_T_CASE(test_plugins__the_id_of_a_subtask),
        FA_T_CASE(test_plugins__settings_go_before_the_workers_environment),
        FA_T_CASE(test_plugins__cancellation_and_shutdown),
        FA_T_CASE(test_plugins__many_at_once),
        FA_T_CASE(test_plugins__a_crash_costs_its_attempts_and_nothing_else),
        FA_T_CASE(test_plugins__one_that_leaks_meets_its_limit),
        FA_T_CASE(test_plugins__one_that_spins_meets_its_limit),
        FA_T_CASE(test_plugins__unusable_ones_are_logged),
        FA_T_CASE(test_plugins__triggers_and_joins),
    };

    return fa_t_main(argc, argv, "plugins", cases, FA_COUNT(cases));
}
