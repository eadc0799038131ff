/*
 * test_kill_join.c - SIGKILL around the last member of a join: its task is there exactly when both
 * members have completed, and once.
 *
 * A child process makes and completes members, key after key, until it is killed at a random
 * moment; then the store is opened here. The same store goes on through all kills, so what one left
 * half done is completed by the next.
 */
#include "support/ops.h"
#include "support/psql.h"

#include "json/json.h"
#include "base/random.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define KILLS_DEFAULT 60
#define MOMENT_US_MAX 60000
#define SERVER_MOMENT_US_MAX 300000 /* connecting takes a while */
#define KEYS_MAX 100000

static const char yaml[] = "workflow: w\n"
                           "joins:\n"
                           "  - name: both\n"
                           "    taskTypes: [a, b]\n"
                           "    joinKey: k\n"
                           "    task: { type: joined, input: { k: \"${key}\" } }\n";

static int64_t key_of(const struct faina_task *task)
{
    struct fa_json value;
    int64_t key = -1;

    CHECK_TRUE(fa_json_member(fa_json_value(fa_str(task->input)), "k", &value));
    CHECK_TRUE(fa_json_int(value, &key) && key >= 0 && key < KEYS_MAX);
    return key;
}

/* In the child, until it is killed. Goes on with what is in line, then makes more. */
static void work(const char *url, int64_t first)
{
    struct fa_t t;

    fa_t_init(&t);
    snprintf(t.url, sizeof t.url, "%s", url);
    fa_t_open(&t);
    for (int64_t key = first; key < KEYS_MAX; key++) {
        const char *input = fa_arena_printf(&t.arena, "{\"k\":%lld}", (long long)key);

        fa_t_submit(&t, .type = "a", .input = input);
        fa_t_submit(&t, .type = "b", .input = input);
        for (;;) {
            static const char *const types[] = {"a", "b"};

            CHECK_OK(&t, fa_t_claim_next(&t, .worker_id = "w", .types = types, .type_count = 2));
            if (t.op.tasks->count == 0)
                break;
            CHECK_OK(&t, fa_t_complete(&t, t.op.tasks->items[0].id, BY("w"), NULL));
        }
        fa_t_forget(&t);
    }
    _exit(1);
}

/* Counts the tasks of a type by key: those completed, or all. */
static int64_t count_keys(struct fa_t *t, const char *type, unsigned statuses, uint8_t *counts)
{
    const char *cursor = NULL;
    int64_t newest = -1;

    memset(counts, 0, KEYS_MAX);
    do {
        CHECK_OK(t,
                 fa_t_list(t, .type = type, .statuses = statuses, .limit = 1000, .cursor = cursor));
        for (size_t i = 0; i < t->op.tasks->count; i++) {
            int64_t key = key_of(&t->op.tasks->items[i]);

            counts[key]++;
            newest = key > newest ? key : newest;
        }
        cursor = t->op.tasks->next_cursor;
    } while (cursor != NULL);
    return newest;
}

/* What a killed worker held is put back in line, since its lease is long. */
static void take_back(struct fa_t *t)
{
    const struct faina_tasks *held;

    CHECK_OK(t, fa_t_list(t, .statuses = 1u << FAINA_CLAIMED, .limit = 1000));
    held = t->op.tasks;
    for (size_t i = 0; i < held->count; i++)
        CHECK_OK(t, fa_t_retry(t, held->items[i].id, NOBODY));
}

static int64_t check(struct fa_t *t, uint8_t *a, uint8_t *b, uint8_t *joined)
{
    int64_t newest;

    newest = count_keys(t, "a", 0, a);
    count_keys(t, "a", 1u << FAINA_COMPLETED, a);
    count_keys(t, "b", 1u << FAINA_COMPLETED, b);
    count_keys(t, "joined", 0, joined);
    for (int64_t key = 0; key < KEYS_MAX; key++)
        CHECK(joined[key] == (a[key] && b[key]), "key %lld: %d and %d members, %d tasks",
              (long long)key, a[key], b[key], joined[key]);
    return newest;
}

/* The server goes on with what a dead client has sent: waits until it has noticed. */
static void await_sessions(PGconn *raw, const char *name)
{
    while (raw && fa_psql_int(raw,
                              "SELECT count(*) FROM pg_stat_activity WHERE "
                              "application_name = '%s'",
                              name) > 0)
        nanosleep(&(const struct timespec){.tv_nsec = 2000000}, NULL);
}

static void kill_often(struct fa_t *t, PGconn *raw, int64_t kills, int64_t moment_us_max)
{
    uint8_t *counts = fa_alloc_zero(3, KEYS_MAX);
    struct fa_definition definition = {.text = fa_str(yaml), .is_yaml = true};
    char url[FA_T_PATH_SIZE], name[64];
    struct fa_random random;
    int64_t next = 0;

    fa_random_seed(&random, fa_t_seed());
    snprintf(name, sizeof name, "kill_join_%d", (int)getpid());
    snprintf(url, sizeof url, "%s", t->url);
    if (raw)
        fa_psql_with(t->url, "application_name", name, url);
    fa_t_open(t);
    CHECK_OK(t,
             fa_t_run(t, &(struct fa_op){.kind = FA_OP_WORKFLOW_PUT, .definition = &definition}));
    fa_t_close(t);
    for (int64_t i = 0; i < kills; i++) {
        long moment_us = (long)(fa_random_next(&random) % (uint64_t)moment_us_max);
        pid_t child = fork();

        CHECK_TRUE(child >= 0);
        if (child == 0)
            work(url, next);
        nanosleep(&(const struct timespec){.tv_nsec = moment_us * 1000}, NULL);
        kill(child, SIGKILL);
        CHECK_TRUE(waitpid(child, NULL, 0) == child);
        await_sessions(raw, name);
        fa_t_open(t);
        next = check(t, counts, counts + KEYS_MAX, counts + 2 * KEYS_MAX) + 1;
        take_back(t);
        fa_t_check_sound(t);
        fa_t_close(t);
        fa_t_forget(t);
    }
    print_message("%lld keys, %lld kills\n", (long long)next, (long long)kills);
    CHECK_TRUE(next > 0);
    free(counts);
}

static void test_kill_join__one_task_always(void **state)
{
    struct fa_t t;

    (void)state;
    fa_t_init(&t);
    fa_t_set_url(&t, FA_T_SQLITE);
    kill_often(&t, NULL, fa_t_env_int("FA_JOIN_KILLS", KILLS_DEFAULT), MOMENT_US_MAX);
    fa_t_finish(&t);
}

static void test_kill_join__one_task_always_on_postgres(void **state)
{
    struct fa_t t;
    PGconn *raw;

    (void)state;
    fa_psql_need_engine();
    fa_t_init(&t);
    fa_t_set_url(&t, FA_T_POSTGRES);
    raw = fa_psql_connect(t.url);
    kill_often(&t, raw, fa_t_env_int("FA_JOIN_KILLS", KILLS_DEFAULT) / 2, SERVER_MOMENT_US_MAX);
    fa_psql_close(raw);
    fa_t_finish(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kill_join__one_task_always),
        cmocka_unit_test(test_kill_join__one_task_always_on_postgres),
    };

    return cmocka_run_group_tests_name("kill_join", tests, NULL, NULL);
}
