/*
 * test_full_disk.c - a disk that is really full, and a file that may not grow.
 *
 * The engine is filled until it refuses; everything acknowledged is there, reading still works,
 * and the same handle goes on when there is room again. A full disk needs a small file system of
 * its own, which only root may mount; without, that test is skipped.
 */
#include "faults/inspect.h"
#include "support/ops.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#define INPUT_SIZE 20000
#define TASKS_MAX 4000
#define REFUSALS 4 /* one after the other: it is full */

struct filled {
    struct fa_t t;
    char path[FA_T_PATH_SIZE];
    char (*ids)[FAINA_ID_SIZE];
    int count, finished;
    char *input;
};

static void begin(struct filled *filled, const char *folder)
{
    snprintf(filled->path, sizeof filled->path, "%.480s/full.db", folder);
    snprintf(filled->t.url, sizeof filled->t.url, "sqlite:%.500s", filled->path);
    filled->ids = fa_alloc_zero(TASKS_MAX, FAINA_ID_SIZE);
    filled->input = fa_alloc(INPUT_SIZE + 1);
    memset(filled->input, 'x', INPUT_SIZE);
    filled->input[0] = filled->input[INPUT_SIZE - 1] = '"';
    filled->input[INPUT_SIZE] = '\0';
    fa_t_open(&filled->t);
}

static enum faina_code submit_big(struct filled *filled)
{
    enum faina_code code = fa_t_try_submit(&filled->t, .type = "big", .input = filled->input);

    if (code == FAINA_OK)
        memcpy(filled->ids[filled->count++], filled->t.op.task_id, FAINA_ID_SIZE);
    return code;
}

/* Submits until the engine has no room, and says so again and again: at first it may still find
 * some, since its log gives back what it moves into the file. */
static void fill(struct filled *filled)
{
    struct fa_t *t = &filled->t;
    int refused = 0;

    while (refused < REFUSALS) {
        refused = submit_big(filled) == FAINA_OK ? 0 : refused + 1;
        CHECK(filled->count < TASKS_MAX, "it never gets full");
        CHECK_INT(t->op.code, refused ? FAINA_UNAVAILABLE : FAINA_OK);
        if (refused < REFUSALS)
            fa_t_forget(t);
    }
    CHECK(filled->count > 5, "it is full after %d tasks", filled->count);
}

/* All that was acknowledged, and nothing else. */
static void check_all(struct filled *filled)
{
    struct fa_t *t = &filled->t;
    int64_t total = 0;

    for (int i = 0; i < filled->count; i++) {
        const struct faina_task *task = fa_t_task(t, filled->ids[i]);

        CHECK_STR(task->input, filled->input);
        CHECK_STATUS(task->status, i < filled->finished ? FAINA_COMPLETED : FAINA_PENDING);
        fa_t_forget(t);
    }
    CHECK_OK(t, fa_t_stats(t, "*"));
    for (enum faina_status s = 0; s < FAINA_STATUS_COUNT; s++)
        total += t->op.stats->by_status[s];
    CHECK_INT(total, filled->count);
}

/* There is room again: the same handle goes on, and a new one finds everything. */
static void go_on(struct filled *filled)
{
    struct fa_t *t = &filled->t;

    for (int i = 0; i < 10; i++) {
        CHECK_OK(t, submit_big(filled));
        fa_t_finish_task(t, filled->ids[filled->finished++]);
    }
    check_all(filled);
    fa_t_close(t);
    fa_t_open(t);
    check_all(filled);
    fa_t_close(t);
    fa_f_check_sound(filled->path, "after a full disk");
    fa_arena_finish(&t->arena);
    free(filled->ids);
    free(filled->input);
}

static void test_full__disk(void **state)
{
    struct filled *filled;
    char *dir = *state, ballast[FA_T_PATH_SIZE + 16];
    char *zeroes = fa_alloc_zero(1, 2u << 20);

    if (mount("faina-test", dir, "tmpfs", 0, "size=6m") != 0) {
        free(zeroes);
        print_message("a file system can't be mounted here: %s\n", strerror(errno));
        skip();
    }
    snprintf(ballast, sizeof ballast, "%s/ballast", dir);
    fa_f_write_file(ballast, zeroes, 2u << 20);
    filled = fa_alloc_zero(1, sizeof *filled);
    begin(filled, dir);
    fill(filled);
    CHECK(strstr(filled->t.op.error.message, "full") != NULL, "it doesn't say why: %s",
          filled->t.op.error.message);
    check_all(filled);
    CHECK_INT(remove(ballast), 0);
    go_on(filled);
    free(filled);
    free(zeroes);
}

static const char *full_reason(struct fa_t *t)
{
    struct fa_service_info info;
    struct faina_error err = {0};

    CHECK_INT(fa_service_info(t->svc, false, &t->arena, &info, &err), FAINA_OK);
    return info.full;
}

/* New tasks are refused as a rule. All that ends others goes on: the reserve is there for it. */
static void finish_work(struct filled *filled, int half)
{
    struct fa_t *t = &filled->t;

    for (int i = 0; i < half; i++) {
        const char *id = filled->ids[i];

        CHECK_OK(t, fa_t_claim(t, id, "w"));
        CHECK_OK(t, fa_t_start(t, id, BY("w")));
        CHECK_OK(t, fa_t_heartbeat(t, id, BY("w"), 60000));
        if (i % 2)
            CHECK_OK(t, fa_t_complete(t, id, BY("w"), "{\"done\":true}"));
        else
            CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
        CHECK_TRUE(submit_big(filled) == FAINA_OK || t->op.code == FAINA_UNAVAILABLE);
        CHECK_OK(t, fa_t_get(t, id));
        fa_t_forget(t);
    }
}

static void test_full__finishing_goes_on(void **state)
{
    struct filled *filled;
    char *dir = *state, path[FA_T_PATH_SIZE + 16];
    char *zeroes = fa_alloc_zero(1, 8u << 20);
    struct faina_purge purge = {.limit = 1000};
    struct fa_t *t;
    int half;

    if (mount("faina-test", dir, "tmpfs", 0, "size=40m") != 0) {
        free(zeroes);
        print_message("a file system can't be mounted here: %s\n", strerror(errno));
        skip();
    }
    snprintf(path, sizeof path, "%s/ballast", dir);
    fa_f_write_file(path, zeroes, 8u << 20);
    filled = fa_alloc_zero(1, sizeof *filled);
    t = &filled->t;
    begin(filled, dir);
    CHECK_TRUE(full_reason(t) == NULL);
    fill(filled);
    CHECK(strstr(full_reason(t), "full") != NULL, "\"%s\"", full_reason(t));
    half = filled->count / 2;
    finish_work(filled, half);
    /* A purge makes room inside the file, which new tasks may use. */
    purge.statuses = 1u << FAINA_COMPLETED | 1u << FAINA_CANCELLED;
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_PURGE, .purge = &purge}));
    CHECK_INT(t->op.count, half);
    for (int i = 0; i < 5; i++)
        CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_WORKER_PUT,
                                                .worker = {.self = &(struct faina_worker){"w"}}}));
    for (int i = 0; i < 20; i++)
        CHECK_OK(t, submit_big(filled));
    CHECK_TRUE(full_reason(t) == NULL);
    /* Room on the disk: the reserve is taken again. */
    CHECK_INT(remove(path), 0);
    CHECK_OK(t, submit_big(filled));
    CHECK_TRUE(full_reason(t) == NULL);
    fa_t_close(t);
    fa_f_check_sound(filled->path, "after a full disk");
    fa_arena_finish(&t->arena);
    free(filled->ids);
    free(filled->input);
    free(filled);
    free(zeroes);
}

static int make_dir(void **state)
{
    *state = fa_alloc(FA_T_PATH_SIZE);
    fa_t_temp_dir(*state);
    return 0;
}

/* Also when the test has failed. */
static int unmount_dir(void **state)
{
    umount2(*state, MNT_DETACH);
    fa_t_remove_tree(*state);
    free(*state);
    return 0;
}

/* A limit on the size of files stands for any write that the system refuses. */
static void test_full__file_may_not_grow(void **state)
{
    struct rlimit old, small = {.rlim_cur = 3u << 20};
    struct filled *filled = fa_alloc_zero(1, sizeof *filled);
    char dir[FA_T_PATH_SIZE];

    (void)state;
    fa_t_temp_dir(dir);
    begin(filled, dir);
    signal(SIGXFSZ, SIG_IGN);
    CHECK_INT(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &small), 0);
    fill(filled);
    check_all(filled);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &old), 0);
    go_on(filled);
    free(filled);
    fa_t_remove_tree(dir);
}

/* Opening a file on a disk that has no room for it. */
static void test_full__at_open(void **state)
{
    struct rlimit old, small = {.rlim_cur = 8192};
    struct faina_error err = {0};
    struct fa_t t;

    (void)state;
    fa_t_init(&t);
    snprintf(t.url, sizeof t.url, "sqlite:%.480s/new.db", t.dir);
    signal(SIGXFSZ, SIG_IGN);
    CHECK_INT(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &small), 0);
    CHECK_INT(fa_t_try_open(&t, &err), FAINA_UNAVAILABLE);
    CHECK_TRUE(err.message[0] != '\0');
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &old), 0);
    fa_t_open(&t);
    fa_t_finish_task(&t, fa_t_submit(&t, .type = "x"));
    fa_t_finish(&t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_full__disk, make_dir, unmount_dir),
        cmocka_unit_test_setup_teardown(test_full__finishing_goes_on, make_dir, unmount_dir),
        cmocka_unit_test(test_full__file_may_not_grow),
        cmocka_unit_test(test_full__at_open),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("full disk", tests, NULL, NULL);
}
