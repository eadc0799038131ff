/*
 * test_api.c - faina_register, faina_run and faina_stop, as a C program calls them.
 */
#include "support/support.h"

#include "base/clock.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static enum faina_outcome echo(struct faina_context *context, void *user)
{
    if (user)
        atomic_fetch_add((atomic_int *)user, 1);
    faina_context_output(context, faina_context_task(context)->input, NULL);
    return FAINA_OUTCOME_COMPLETE;
}

static enum faina_outcome until_stopped(struct faina_context *context, void *user)
{
    atomic_store((atomic_bool *)user, true);
    while (!faina_context_cancelled(context))
        usleep(1000);
    return FAINA_OUTCOME_FAILED;
}

struct program {
    struct faina *engine;
    struct faina_run options;
    enum faina_code code;
    struct faina_error err;
    pthread_t thread;
};

static void *run_program(void *arg)
{
    struct program *program = arg;

    program->code = faina_run(program->engine, &program->options, &program->err);
    return NULL;
}

static void open_program(struct program *program)
{
    *program = (struct program){0};
    assert_int_equal(faina_open(&program->engine, "memory:", NULL, &program->err), FAINA_OK);
}

static void start_program(struct program *program)
{
    assert_int_equal(pthread_create(&program->thread, NULL, run_program, program), 0);
}

static void end_program(struct program *program)
{
    faina_stop(program->engine);
    pthread_join(program->thread, NULL);
    assert_int_equal(program->code, FAINA_OK);
    faina_close(program->engine);
}

static struct faina_task *submit_and_wait(struct faina *engine, const char *type)
{
    struct faina_submit submit = {.type = type, .input = "[1]"};
    struct faina_task *task, *ended;

    assert_int_equal(faina_submit(engine, &submit, &task, NULL), FAINA_OK);
    assert_int_equal(faina_wait(engine, task->id, FA_T_DEADLINE_MS, &ended, NULL), FAINA_OK);
    faina_free(task);
    return ended;
}

static void test_api__run_and_stop(void **state)
{
    struct faina_handler handler = {.on_start = echo};
    atomic_int calls = 0;
    struct faina_error err;
    struct program program;
    struct faina_task *task;

    (void)state;
    open_program(&program);
    assert_int_equal(faina_register(program.engine, "echo", &handler, &calls, NULL), FAINA_OK);
    start_program(&program);
    task = submit_and_wait(program.engine, "echo");
    assert_int_equal(task->status, FAINA_COMPLETED);
    assert_string_equal(task->output, "[1]");
    faina_free(task);
    assert_int_equal(atomic_load(&calls), 1);
    /* A second pool on the same engine would be the same worker twice. */
    assert_int_equal(faina_run(program.engine, NULL, &err), FAINA_CONFLICT);
    /* A running faina_run would never call another handler. */
    assert_int_equal(faina_register(program.engine, "late", &handler, NULL, &err), FAINA_CONFLICT);
    assert_non_null(strstr(err.message, "faina_run"));
    end_program(&program);
}

/* Registers with texts that are freed when it returns. */
static void register_lent(struct faina *engine, const char *resource)
{
    char *type = strdup("lent"), *text = strdup(resource);
    const char **resources = calloc(1, sizeof(*resources));
    struct faina_handler handler = {.on_start = echo, .resources = resources, .resource_count = 1};

    resources[0] = text;
    assert_int_equal(faina_register(engine, type, &handler, NULL, NULL), FAINA_OK);
    memset(text, 'X', strlen(text));
    memset(type, 'X', strlen(type));
    free(resources);
    free(text);
    free(type);
}

static void test_api__a_handler_is_only_lent(void **state)
{
    struct program program;
    struct faina_task *task;

    (void)state;
    open_program(&program);
    register_lent(program.engine, "gpu");
    register_lent(program.engine, "license"); /* replaces it */
    start_program(&program);
    task = submit_and_wait(program.engine, "lent");
    assert_int_equal(task->status, FAINA_COMPLETED);
    assert_int_equal(task->resource_count, 1);
    assert_string_equal(task->resources[0], "license");
    faina_free(task);
    end_program(&program);
}

static void test_api__idle(void **state)
{
    struct faina_handler handler = {.on_start = echo};
    struct program program;

    (void)state;
    open_program(&program);
    program.options.idle_ms = 50;
    assert_int_equal(faina_register(program.engine, "echo", &handler, NULL, NULL), FAINA_OK);
    for (int i = 0; i < 2; i++) /* it can be run again */
        assert_int_equal(faina_run(program.engine, &program.options, &program.err), FAINA_OK);
    faina_close(program.engine);
}

static struct faina *stopped_engine; /* for the signal handler */

static void on_alarm(int number)
{
    (void)number;
    faina_stop(stopped_engine);
}

static void test_api__stop_from_a_signal_handler(void **state)
{
    struct faina_handler handler = {.on_start = until_stopped};
    struct faina_submit submit = {.type = "long", .max_attempts = 1};
    atomic_bool has_begun = false;
    struct faina_task *task, *ended;
    struct program program;

    (void)state;
    open_program(&program);
    program.options.grace_ms = 20;
    assert_int_equal(faina_register(program.engine, "long", &handler, &has_begun, NULL), FAINA_OK);
    assert_int_equal(faina_submit(program.engine, &submit, &task, NULL), FAINA_OK);
    start_program(&program);
    while (!atomic_load(&has_begun))
        usleep(1000);
    stopped_engine = program.engine;
    signal(SIGALRM, on_alarm);
    raise(SIGALRM);
    pthread_join(program.thread, NULL);
    assert_int_equal(program.code, FAINA_OK);
    assert_int_equal(faina_get(program.engine, task->id, &ended, NULL), FAINA_OK);
    assert_int_equal(ended->status, FAINA_PENDING); /* a stop is no attempt */
    assert_int_equal(ended->attempts, 0);
    faina_free(task);
    faina_free(ended);
    faina_close(program.engine);
}

/* A signal may arrive before the program calls faina_run. */
static void test_api__an_early_stop_is_remembered(void **state)
{
    struct faina_handler handler = {.on_start = echo};
    int64_t begin_us = fa_clock_mono_us();
    struct program program;

    (void)state;
    open_program(&program);
    program.options.idle_ms = FA_T_DEADLINE_MS;
    faina_stop(program.engine);
    assert_int_equal(faina_register(program.engine, "echo", &handler, NULL, NULL), FAINA_OK);
    assert_int_equal(faina_run(program.engine, &program.options, &program.err), FAINA_OK);
    assert_true(fa_clock_mono_us() - begin_us < (int64_t)FA_T_DEADLINE_MS * 1000);
    /* It was for that run only. */
    begin_us = fa_clock_mono_us();
    program.options.idle_ms = 100;
    assert_int_equal(faina_run(program.engine, &program.options, &program.err), FAINA_OK);
    assert_true(fa_clock_mono_us() - begin_us >= 100 * 1000);
    faina_close(program.engine);
}

static void test_api__two_stops_do_not_wait(void **state)
{
    struct faina_handler handler = {.on_start = until_stopped};
    struct faina_submit submit = {.type = "long"};
    atomic_bool has_begun = false;
    struct program program;

    (void)state;
    open_program(&program);
    program.options.grace_ms = 3600 * 1000;
    assert_int_equal(faina_register(program.engine, "long", &handler, &has_begun, NULL), FAINA_OK);
    assert_int_equal(faina_submit(program.engine, &submit, NULL, NULL), FAINA_OK);
    start_program(&program);
    while (!atomic_load(&has_begun))
        usleep(1000);
    faina_stop(program.engine);
    end_program(&program); /* the second */
}

struct slow {
    atomic_bool has_begun, may_end;
};

static enum faina_outcome slowly(struct faina_context *context, void *user)
{
    struct slow *slow = user;

    atomic_store(&slow->has_begun, true);
    while (!atomic_load(&slow->may_end))
        usleep(1000);
    usleep(50000); /* closing has begun by now */
    faina_context_output(context, "\"done\"", NULL);
    return FAINA_OUTCOME_COMPLETE;
}

/* A function can't be killed: its attempt ends nevertheless, and only its thread stays busy. */
static void test_api__time_is_over_before_the_function(void **state)
{
    struct slow slow = {false};
    struct faina_handler stuck = {.on_start = slowly, .timeout_ms = 50};
    struct faina_handler quick = {.on_start = echo};
    struct faina_submit submit = {.type = "stuck", .max_attempts = 1}, next = {.type = "quick"};
    struct faina_task *task, *ended, *waiting, *now;
    struct program program;

    (void)state;
    open_program(&program);
    program.options.concurrency = 1;
    assert_int_equal(faina_register(program.engine, "stuck", &stuck, &slow, NULL), FAINA_OK);
    assert_int_equal(faina_register(program.engine, "quick", &quick, NULL, NULL), FAINA_OK);
    start_program(&program);
    assert_int_equal(faina_submit(program.engine, &submit, &task, NULL), FAINA_OK);
    assert_int_equal(faina_wait(program.engine, task->id, FA_T_DEADLINE_MS, &ended, NULL),
                     FAINA_OK);
    assert_int_equal(ended->status, FAINA_DEAD_LETTER);
    assert_non_null(strstr(ended->error, "the attempt took longer than 0.05 s"));
    faina_free(ended);

    /* There is one thread, and it is still in the function. */
    assert_int_equal(faina_submit(program.engine, &next, &waiting, NULL), FAINA_OK);
    assert_int_equal(faina_wait(program.engine, waiting->id, 100, &now, NULL), FAINA_TIMEOUT);
    assert_int_equal(now->status, FAINA_PENDING);
    faina_free(now);
    atomic_store(&slow.may_end, true);
    assert_int_equal(faina_wait(program.engine, waiting->id, FA_T_DEADLINE_MS, &now, NULL),
                     FAINA_OK);
    assert_int_equal(now->status, FAINA_COMPLETED);
    faina_free(now);

    /* The function's late result is dropped. */
    assert_int_equal(faina_get(program.engine, task->id, &now, NULL), FAINA_OK);
    assert_int_equal(now->status, FAINA_DEAD_LETTER);
    assert_null(now->output);
    faina_free(now);
    faina_free(task);
    faina_free(waiting);
    end_program(&program);
}

/* faina_close waits for running tasks, and their outcomes are stored. */
static void test_api__close_waits_for_run(void **state)
{
    struct slow slow = {false};
    struct faina_handler handler = {.on_start = slowly};
    struct faina_submit submit = {.type = "slow"};
    char dir[FA_T_PATH_SIZE], url[FA_T_PATH_SIZE + 32];
    struct faina_task *task, *ended;
    struct program program = {0};

    (void)state;
    fa_t_temp_dir(dir);
    snprintf(url, sizeof(url), "sqlite:%s/faina.db", dir);
    assert_int_equal(faina_open(&program.engine, url, NULL, NULL), FAINA_OK);
    assert_int_equal(faina_register(program.engine, "slow", &handler, &slow, NULL), FAINA_OK);
    assert_int_equal(faina_submit(program.engine, &submit, &task, NULL), FAINA_OK);
    start_program(&program);
    while (!atomic_load(&slow.has_begun))
        usleep(1000);
    atomic_store(&slow.may_end, true);
    faina_close(program.engine);
    pthread_join(program.thread, NULL);
    assert_int_equal(program.code, FAINA_STORE_CLOSED);
    assert_int_equal(program.err.code, FAINA_STORE_CLOSED);

    assert_int_equal(faina_open(&program.engine, url, NULL, NULL), FAINA_OK);
    assert_int_equal(faina_get(program.engine, task->id, &ended, NULL), FAINA_OK);
    assert_int_equal(ended->status, FAINA_COMPLETED);
    assert_string_equal(ended->output, "\"done\"");
    faina_free(task);
    faina_free(ended);
    faina_close(program.engine);
    fa_t_remove_tree(dir);
}

/* A handler that takes long gets its grace time, and not more. */
static void test_api__close_stops_what_runs(void **state)
{
    struct faina_handler handler = {.on_start = until_stopped};
    struct faina_submit submit = {.type = "long"};
    atomic_bool has_begun = false;
    struct program program;

    (void)state;
    open_program(&program);
    program.options.grace_ms = 20;
    assert_int_equal(faina_register(program.engine, "long", &handler, &has_begun, NULL), FAINA_OK);
    assert_int_equal(faina_submit(program.engine, &submit, NULL, NULL), FAINA_OK);
    start_program(&program);
    while (!atomic_load(&has_begun))
        usleep(1000);
    faina_close(program.engine);
    pthread_join(program.thread, NULL);
    assert_int_equal(program.code, FAINA_STORE_CLOSED);
}

/* A faina_run that faina_stop has stopped before returns FAINA_OK, not STORE_CLOSED. */
static void test_api__close_after_stop(void **state)
{
    struct slow slow = {false};
    struct faina_handler handler = {.on_start = slowly};
    struct faina_submit submit = {.type = "slow"};
    struct program program;

    (void)state;
    open_program(&program);
    assert_int_equal(faina_register(program.engine, "slow", &handler, &slow, NULL), FAINA_OK);
    assert_int_equal(faina_submit(program.engine, &submit, NULL, NULL), FAINA_OK);
    start_program(&program);
    while (!atomic_load(&slow.has_begun))
        usleep(1000);
    atomic_store(&slow.may_end, true);
    faina_stop(program.engine);
    faina_close(program.engine);
    pthread_join(program.thread, NULL);
    assert_int_equal(program.code, FAINA_OK);
}

struct background {
    const char *reason;
    int64_t timeout_ms;
    enum faina_code code; /* the expected one */
    const char *field;
};

/* Calls each in turn; the last result counts. */
static enum faina_outcome go_elsewhere(struct faina_context *context, void *user)
{
    const struct background *tries = user;

    for (; tries->field; tries++) {
        struct faina_error err;
        enum faina_code code =
            faina_context_background(context, tries->reason, tries->timeout_ms, &err);

        if (code != tries->code || strcmp(err.field, tries->field) != 0) {
            snprintf(err.message, sizeof(err.message), "\"%s of %s\"", faina_code_name(code),
                     tries->field);
            faina_context_output(context, err.message, NULL);
            return FAINA_OUTCOME_COMPLETE;
        }
    }
    return FAINA_OUTCOME_BACKGROUND;
}

static void test_api__background_is_checked_at_once(void **state)
{
    static char long_reason[1026];
    static const struct background tries[] = {
        {"elsewhere", 60000, FAINA_OK, ""},
        {"\xff", 0, FAINA_INVALID_REQUEST, "reason"},
        {long_reason, 0, FAINA_INVALID_REQUEST, "reason"},
        {"x", -1, FAINA_INVALID_REQUEST, "timeout"},
        {"x", INT64_MAX, FAINA_INVALID_REQUEST, "timeout"},
        {.field = NULL},
    };
    struct faina_handler handler = {.on_start = go_elsewhere};
    struct faina_submit submit = {.type = "far"};
    struct faina_task *task, *now = NULL;
    struct program program;

    (void)state;
    memset(long_reason, 'a', sizeof(long_reason) - 1);
    open_program(&program);
    assert_int_equal(
        faina_register(program.engine, "far", &handler, (void *)(uintptr_t)tries, NULL), FAINA_OK);
    assert_int_equal(faina_submit(program.engine, &submit, &task, NULL), FAINA_OK);
    start_program(&program);
    do {
        usleep(1000);
        faina_free(now);
        assert_int_equal(faina_get(program.engine, task->id, &now, NULL), FAINA_OK);
    } while (now->status < FAINA_BACKGROUND);
    if (now->output)
        fail_msg("%s", now->output);
    assert_int_equal(now->status, FAINA_BACKGROUND);
    assert_string_equal(now->state, "elsewhere");
    faina_free(now);
    faina_free(task);
    end_program(&program);
}

static void test_api__refusals(void **state)
{
    static const struct {
        const char *type;
        struct faina_handler handler;
    } bad[] = {
        {"", {.on_start = echo}},
        {NULL, {.on_start = echo}},
        {"a", {.on_start = NULL}},
        {"a", {.on_start = echo, .timeout_ms = -1}},
        {"a", {.on_start = echo, .concurrency = -1}},
        {"a", {.on_start = echo, .max_attempts = -7}},
        {"a", {.on_start = echo, .retry = {.factor = 0.5}}},
        {"a", {.on_start = echo, .resource_count = 1}},
    };
    static const char *const nothing[] = {NULL}, *const empty[] = {"a", ""}, *const star[] = {"*"};
    static const struct {
        struct faina_run run;
        const char *why; /* in the message */
    } runs[] = {
        {{.concurrency = -1}, "concurrency"},
        {{.concurrency = 10001}, "concurrency"},
        {{.lease_ms = -1}, "lease_ms"},
        {{.grace_ms = -1}, "grace_ms"},
        {{.idle_ms = -1}, "idle_ms"},
        {{.worker_id = ""}, "workerId is empty"},
        {{.namespace_count = 3}, "namespaces is NULL, but its count is 3"},
        {{.namespaces = nothing, .namespace_count = 1}, "namespaces[0] is missing"},
        {{.namespaces = empty, .namespace_count = 2}, "namespaces[1] is empty"},
        {{.namespaces = star, .namespace_count = 1}, "\"*\" is not a namespace name"},
        {{.service_count = 3}, "services is NULL, but its count is 3"},
        {{.services = nothing, .service_count = 1}, "services[0] is missing"},
        {{.services = empty, .service_count = 2}, "services[1] is empty"},
    };
    struct faina_handler good = {.on_start = echo};
    struct program program;

    (void)state;
    open_program(&program);
    assert_int_equal(faina_run(program.engine, NULL, &program.err), FAINA_INVALID_REQUEST);
    assert_non_null(strstr(program.err.message, "faina_register comes first"));
    for (size_t i = 0; i < FA_COUNT(bad); i++) {
        enum faina_code code =
            faina_register(program.engine, bad[i].type, &bad[i].handler, NULL, &program.err);

        if (code != FAINA_INVALID_REQUEST && code != FAINA_INVALID_TASK)
            fail_msg("case %zu: %s", i, faina_code_name(code));
        assert_true(program.err.message[0] != '\0');
    }
    assert_int_equal(faina_register(NULL, "a", &good, NULL, NULL), FAINA_STORE_CLOSED);
    assert_int_equal(faina_register(program.engine, "a", NULL, NULL, NULL), FAINA_INVALID_REQUEST);
    assert_int_equal(faina_run(NULL, NULL, NULL), FAINA_STORE_CLOSED);
    assert_int_equal(faina_register(program.engine, "a", &good, NULL, NULL), FAINA_OK);
    for (size_t i = 0; i < FA_COUNT(runs); i++) {
        struct faina_run run = runs[i].run;
        enum faina_code code;

        if (run.idle_ms == 0)
            run.idle_ms = 100; /* so that a run that is not refused ends */
        code = faina_run(program.engine, &run, &program.err);
        if (code != FAINA_INVALID_REQUEST && code != FAINA_INVALID_WORKER_ID)
            fail_msg("run %zu: %s", i, faina_code_name(code));
        if (!strstr(program.err.message, runs[i].why))
            fail_msg("run %zu: %s", i, program.err.message);
    }
    faina_stop(NULL);
    faina_stop(program.engine);
    faina_close(program.engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_api__run_and_stop),
        cmocka_unit_test(test_api__a_handler_is_only_lent),
        cmocka_unit_test(test_api__idle),
        cmocka_unit_test(test_api__stop_from_a_signal_handler),
        cmocka_unit_test(test_api__an_early_stop_is_remembered),
        cmocka_unit_test(test_api__two_stops_do_not_wait),
        cmocka_unit_test(test_api__time_is_over_before_the_function),
        cmocka_unit_test(test_api__close_waits_for_run),
        cmocka_unit_test(test_api__close_stops_what_runs),
        cmocka_unit_test(test_api__close_after_stop),
        cmocka_unit_test(test_api__background_is_checked_at_once),
        cmocka_unit_test(test_api__refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
