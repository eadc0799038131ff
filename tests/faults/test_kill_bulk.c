/*
 * test_kill_bulk.c - SIGKILL while operations on many tasks run: each goes on where it was, and in
 * the end every task has been changed exactly once, and counted exactly once.
 *
 * A child process opens the store, which resumes the operation, until it is killed at a random
 * moment.
 */
#include "support/bulk.h"
#include "support/psql.h"
#include "faults/inspect.h"

#include "base/random.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define KILLS_DEFAULT 40
#define TASKS 6000
#define MOMENT_US_MAX 40000
#define SERVER_MOMENT_US_MAX 400000 /* connecting takes a while */

static void run_child(const char *url)
{
    struct fa_t t;

    fa_t_init(&t);
    snprintf(t.url, sizeof t.url, "%s", url);
    fa_t_open(&t);
    for (;;)
        pause();
}

static void kill_one(const char *url, struct fa_random *random, int64_t moment_us_max)
{
    long moment_us = (long)(fa_random_next(random) % (uint64_t)moment_us_max);
    pid_t child = fork();

    CHECK_TRUE(child >= 0);
    if (child == 0)
        run_child(url);
    nanosleep(&(const struct timespec){.tv_nsec = moment_us * 1000}, NULL);
    kill(child, SIGKILL);
    CHECK_TRUE(waitpid(child, NULL, 0) == child);
}

/* Each task has this story. */
static void check_stories(struct fa_t *t, const char *story)
{
    const char *cursor = NULL;
    int64_t count = 0;

    do {
        const struct faina_tasks *page;

        CHECK_OK(t, fa_t_list(t, .type = "x", .limit = 100, .cursor = cursor));
        page = t->op.tasks;
        cursor = page->next_cursor ? fa_arena_strdup(&t->arena, page->next_cursor) : NULL;
        for (size_t i = 0; i < page->count; i++, count++)
            CHECK_STORY(t, page->items[i].id, story);
    } while (cursor != NULL);
    CHECK_INT(count, TASKS);
}

/* A retry that is done twice would be seen: it is an event each time. */
static void kill_often(struct fa_t *t, int64_t kills, int64_t moment_us_max)
{
    const struct fa_bulk *cancel, *retry;
    struct fa_random random;

    fa_random_seed(&random, fa_t_seed());
    fa_t_open(t);
    fa_t_submit_many(t, "x", TASKS);
    cancel = fa_t_bulk(t, CANCEL, .type = "x");
    fa_t_close(t);
    for (int64_t i = 0; i < kills / 2; i++)
        kill_one(t->url, &random, moment_us_max);
    fa_t_open(t);
    fa_t_bulk_completes(t, cancel, TASKS, 0);
    retry = fa_t_bulk(t, RETRY, .type = "x");
    fa_t_close(t);
    for (int64_t i = 0; i < kills / 2; i++)
        kill_one(t->url, &random, moment_us_max);
    fa_t_open(t);
    fa_t_bulk_completes(t, retry, TASKS, 0);
    CHECK_INT(fa_t_count_status(t, FAINA_PENDING), TASKS);
    check_stories(t, "created cancelled retried");
    fa_t_check_sound(t);
    fa_t_close(t);
}

static void test_kill_bulk__each_task_once(void **state)
{
    struct fa_t t;

    (void)state;
    fa_t_init(&t);
    fa_t_set_url(&t, FA_T_SQLITE);
    kill_often(&t, fa_t_env_int("FA_BULK_KILLS", KILLS_DEFAULT), MOMENT_US_MAX);
    fa_t_finish(&t);
}

/* A task that makes each transaction fail which changes it. Only this task is not changed. */
static void test_kill_bulk__a_task_that_fails_its_transaction(void **state)
{
    const struct fa_bulk *cancel, *retry;
    struct fa_t t;
    const char *sql;
    const char *bad;

    (void)state;
    fa_t_init(&t);
    fa_t_set_url(&t, FA_T_SQLITE);
    fa_t_open(&t);
    fa_t_submit_many(&t, "x", 300);
    bad = fa_t_submit(&t, .type = "x");
    fa_t_submit_many(&t, "x", 300);
    cancel = fa_t_bulk(&t, CANCEL, .type = "x");
    fa_t_bulk_completes(&t, cancel, 601, 0);
    fa_t_close(&t);
    sql = fa_arena_printf(&t.arena, "CREATE TRIGGER bad BEFORE DELETE ON ended WHEN old.id = "
                                    "(SELECT id FROM task ORDER BY id LIMIT 1 OFFSET 300) "
                                    "BEGIN SELECT RAISE(ABORT, 'no'); END");
    fa_f_exec(fa_t_path(&t, "faina.db"), sql);
    fa_t_open(&t);
    retry = fa_t_bulk(&t, RETRY, .type = "x");
    fa_t_bulk_completes(&t, retry, 600, 1);
    CHECK_NOW(&t, bad, FAINA_CANCELLED);
    CHECK_INT(fa_t_count_status(&t, FAINA_PENDING), 600);
    fa_t_close(&t);
    fa_t_finish(&t);
}

/* The next leader takes over when the lease of the killed one has ended. */
static void test_kill_bulk__another_node_goes_on(void **state)
{
    const struct fa_bulk *retry;
    struct fa_random random;
    struct fa_t t;

    (void)state;
    fa_psql_need_engine();
    fa_t_init(&t);
    fa_t_set_url(&t, FA_T_POSTGRES);
    fa_random_seed(&random, fa_t_seed());
    fa_t_open(&t);
    fa_t_submit_many(&t, "x", TASKS);
    fa_t_bulk_completes(&t, fa_t_bulk(&t, CANCEL, .type = "x"), TASKS, 0);
    retry = fa_t_bulk(&t, RETRY, .type = "x");
    fa_t_close(&t);
    kill_one(t.url, &random, SERVER_MOMENT_US_MAX);
    fa_t_open(&t);
    for (int i = 0; i < 200 && fa_t_bulk_get(&t, retry->id)->status == FA_BULK_RUNNING; i++)
        nanosleep(&(const struct timespec){.tv_nsec = 200000000}, NULL);
    fa_t_bulk_completes(&t, retry, TASKS, 0);
    check_stories(&t, "created cancelled retried");
    fa_t_check_sound(&t);
    fa_t_finish(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kill_bulk__each_task_once),
        cmocka_unit_test(test_kill_bulk__a_task_that_fails_its_transaction),
        cmocka_unit_test(test_kill_bulk__another_node_goes_on),
    };

    return cmocka_run_group_tests_name("kill_bulk", tests, NULL, NULL);
}
