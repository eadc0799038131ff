/*
 * test_fork.c - an engine and the children of the process that opened it.
 */
#include "support/support.h"

#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define CHILD_SECONDS 20 /* one that hangs is ended by SIGALRM */

static const struct faina_submit task = {.type = "x"};

/* Runs `body` in a child; it answers with 0 or the line that is wrong. */
static void in_child(int (*body)(struct faina *engine), struct faina *engine)
{
    int status = 0;
    pid_t child = fork();

    CHECK_TRUE(child >= 0);
    if (child == 0) {
        alarm(CHILD_SECONDS);
        _exit(body(engine));
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status), "the child was ended by signal %d", WTERMSIG(status));
    CHECK(WEXITSTATUS(status) == 0, "line %d of the child (modulo 256)", WEXITSTATUS(status));
}

#define WANT(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return __LINE__;                                                                       \
    } while (0)

static enum faina_outcome never(struct faina_context *context, void *user)
{
    return FAINA_OUTCOME_FAILED;
}

static int use_a_parents_engine(struct faina *engine)
{
    static const struct faina_claim claim = {.worker_id = "w", .wait_ms = 60000};
    static const struct faina_handler handler = {.on_start = never};
    struct faina_error err = {0};
    struct faina_tasks *tasks = NULL;

    WANT(faina_submit(engine, &task, NULL, &err) == FAINA_INVALID_REQUEST);
    WANT(strstr(err.message, "open it after fork"));
    WANT(faina_submit_many(engine, &task, 1, NULL, &err) == FAINA_INVALID_REQUEST);
    WANT(faina_list(engine, NULL, &tasks, &err) == FAINA_INVALID_REQUEST && !tasks);
    WANT(faina_claim_next(engine, &claim, NULL, NULL) == FAINA_INVALID_REQUEST);
    WANT(faina_wait(engine, "x", 60000, NULL, NULL) == FAINA_INVALID_REQUEST);
    WANT(faina_register(engine, "x", &handler, NULL, NULL) == FAINA_INVALID_REQUEST);
    WANT(faina_run(engine, NULL, NULL) == FAINA_INVALID_REQUEST);
    faina_stop(engine);
    faina_close(engine);
    return 0;
}

static int use_its_own_engine(struct faina *engine)
{
    struct faina_task *stored;

    WANT(faina_open(&engine, "memory:", NULL, NULL) == FAINA_OK);
    WANT(faina_submit(engine, &task, &stored, NULL) == FAINA_OK);
    faina_free(stored);
    faina_close(engine);
    return 0;
}

static void check_parent(const char *url)
{
    struct faina_tasks *tasks;
    struct faina *engine;

    CHECK_INT(faina_open(&engine, url, NULL, NULL), FAINA_OK);
    CHECK_INT(faina_submit(engine, &task, NULL, NULL), FAINA_OK);
    in_child(use_a_parents_engine, engine);
    CHECK_INT(faina_submit(engine, &task, NULL, NULL), FAINA_OK);
    CHECK_INT(faina_list(engine, NULL, &tasks, NULL), FAINA_OK);
    CHECK_INT(tasks->count, 2);
    faina_free(tasks);
    faina_close(engine);
}

static void test_fork__an_engine_is_of_one_process(void **state)
{
    char dir[FA_T_PATH_SIZE], url[FA_T_PATH_SIZE + 32];

    fa_t_temp_dir(dir);
    snprintf(url, sizeof(url), "sqlite:%s/faina.db", dir);
    check_parent(url);
    check_parent("memory:");
    fa_t_remove_tree(dir);
}

static void test_fork__a_child_opens_its_own(void **state)
{
    in_child(use_its_own_engine, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fork__a_child_opens_its_own),
        cmocka_unit_test(test_fork__an_engine_is_of_one_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
