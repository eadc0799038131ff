/*
 * test_names.c - one owner per file, whatever name it is opened by.
 *
 * A process works on a file. Then the file gets another name, or its lock file goes. Whoever opens
 * the file now is refused, and everything that the first process acknowledged is there afterwards.
 */
#include "faults/inspect.h"
#include "support/writer.h"

#include "base/clock.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define RECORDS_MIN 60

struct owned {
    struct fa_t t;
    struct fa_l ledger;
    struct fa_w writer;
    int64_t records;
    char bound[FA_T_PATH_SIZE]; /* mounted; "": nothing is */
};

static void on_record(void *ctx, const struct fa_l_record *record)
{
    struct owned *owned = ctx;

    if (record->kind == 'r')
        return;
    owned->records++;
    fa_l_note(&owned->ledger, record);
}

static void read_more(struct owned *owned)
{
    int64_t deadline_us = fa_clock_mono_us() + FA_T_DEADLINE_MS * 1000;
    int64_t want = owned->records + RECORDS_MIN;

    while (owned->records < want && fa_clock_mono_us() < deadline_us)
        CHECK(fa_w_read(&owned->writer, 1000000, on_record, owned), "the writer has ended");
    CHECK(owned->records >= want, "the writer makes no progress");
}

static int set_up(void **state)
{
    struct owned *owned = fa_alloc_zero(1, sizeof *owned);

    *state = owned;
    fa_t_init(&owned->t);
    owned->t.options.open_timeout_ms = -1; /* don't wait for another owner */
    snprintf(owned->t.url, sizeof owned->t.url, "sqlite:%.400s/real.db", owned->t.dir);
    fa_w_start(&owned->writer, &(struct fa_w_plan){.role = FA_W_BUSY,
                                                   .url = owned->t.url,
                                                   .seed = fa_t_seed() >> 1,
                                                   .is_patient = true});
    read_more(owned);
    return 0;
}

static int tear_down(void **state)
{
    struct owned *owned = *state;

    if (owned->bound[0])
        umount2(owned->bound, MNT_DETACH);
    fa_l_clear(&owned->ledger);
    fa_t_finish(&owned->t);
    free(owned);
    return 0;
}

static void check_refused(struct owned *owned, const char *name, const char *word)
{
    struct fa_t second = owned->t;
    struct faina_error err = {0};

    second.svc = NULL;
    snprintf(second.url, sizeof second.url, "sqlite:%.400s/%s", owned->t.dir, name);
    CHECK(fa_t_try_open(&second, &err) == FAINA_UNAVAILABLE, "%s got a second owner", name);
    CHECK(strstr(err.message, word) != NULL, "\"%s\" has no \"%s\"", err.message, word);
}

/* The owner's work is all there. */
static void check_kept(struct owned *owned)
{
    fa_w_kill(&owned->writer, on_record, owned);
    fa_t_open(&owned->t);
    fa_l_check(&owned->ledger, &owned->t);
    fa_t_close(&owned->t);
    fa_f_check_sound(fa_t_path(&owned->t, "real.db"), "after a second opener");
}

static void test_names__hard_link(void **state)
{
    struct owned *owned = *state;
    struct fa_t *t = &owned->t;

    CHECK_INT(link(fa_t_path(t, "real.db"), fa_t_path(t, "link.db")), 0);
    check_refused(owned, "link.db", "more than one name");
    CHECK_TRUE(access(fa_t_path(t, "link.db.lock"), F_OK) != 0);
    CHECK_TRUE(access(fa_t_path(t, "link.db-wal"), F_OK) != 0);
    read_more(owned); /* the owner goes on */
    check_refused(owned, "real.db", "is in use by process");
    fa_w_kill(&owned->writer, on_record, owned);
    /* The log of real.db holds what link.db must have too. */
    check_refused(owned, "link.db", "more than one name");
    check_refused(owned, "real.db", "more than one name");
    CHECK_INT(remove(fa_t_path(t, "link.db")), 0);
    fa_t_open(t);
    fa_l_check(&owned->ledger, t);
    fa_t_close(t);
}

static void test_names__symbolic_link(void **state)
{
    struct owned *owned = *state;

    CHECK_INT(symlink("real.db", fa_t_path(&owned->t, "soft.db")), 0);
    check_refused(owned, "soft.db", "is in use by process");
    read_more(owned);
    check_kept(owned);
}

static void test_names__lock_file_removed(void **state)
{
    struct owned *owned = *state;
    const char *lock = fa_t_path(&owned->t, "real.db.lock");

    CHECK_INT(remove(lock), 0);
    for (int i = 0; i < 3; i++)
        check_refused(owned, "real.db", "is not the lock file of that process");
    CHECK_TRUE(access(lock, F_OK) != 0);
    check_kept(owned);
}

static void test_names__lock_file_replaced(void **state)
{
    struct owned *owned = *state;
    const char *lock = fa_t_path(&owned->t, "real.db.lock");

    CHECK_INT(remove(lock), 0);
    fa_f_write_file(lock, "1\n", 2);
    check_refused(owned, "real.db", "is not the lock file of that process");
    check_kept(owned);
}

/* The name now leads to another file, and the owned file has another name. */
static void test_names__moved(void **state)
{
    struct owned *owned = *state;
    struct fa_t *t = &owned->t;

    CHECK_INT(rename(fa_t_path(t, "real.db"), fa_t_path(t, "moved.db")), 0);
    check_refused(owned, "moved.db", "is not the lock file of that process");
    CHECK_TRUE(access(fa_t_path(t, "moved.db-wal"), F_OK) != 0);
    CHECK_INT(rename(fa_t_path(t, "moved.db"), fa_t_path(t, "real.db")), 0);
    read_more(owned); /* it is back in its place */
    check_kept(owned);
}

static void test_names__bind_mount(void **state)
{
    struct owned *owned = *state;
    struct fa_t *t = &owned->t;

    snprintf(owned->bound, sizeof owned->bound, "%s", fa_t_path(t, "bound.db"));
    fa_f_write_file(owned->bound, "", 0);
    if (mount(fa_t_path(t, "real.db"), owned->bound, NULL, MS_BIND, NULL) != 0) {
        print_message("a file can't be mounted here: %s\n", strerror(errno));
        owned->bound[0] = '\0';
        fa_w_kill(&owned->writer, on_record, owned);
        skip();
    }
    check_refused(owned, "bound.db", "is not the lock file of that process");
    read_more(owned);
    check_kept(owned);
}

/* Another program opens the file, reads, and closes it. */
static void read_elsewhere(const char *path)
{
    pid_t pid = fork();
    int status = -1;

    CHECK_TRUE(pid >= 0);
    if (pid == 0) {
        execlp("python3", "python3", "-c",
               "import sqlite3, sys; sqlite3.connect(sys.argv[1])"
               ".execute('SELECT * FROM tally').fetchall()",
               path, (char *)NULL);
        _exit(1);
    }
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
}

/* The owner is this process: a refusal must not drop the locks that SQLite holds on the file. */
static void test_names__refusal_keeps_the_locks_of_the_owner(void **state)
{
    struct owned *owned = *state;
    struct fa_t *t = &owned->t;
    const char *path = fa_t_path(t, "real.db");

    fa_w_kill(&owned->writer, on_record, owned);
    fa_t_open(t);
    fa_t_submit(t, .type = "x");
    CHECK_INT(rename(fa_t_path(t, "real.db.lock"), fa_t_path(t, "aside")), 0);
    check_refused(owned, "real.db", "already open in this process");
    CHECK_INT(rename(fa_t_path(t, "aside"), fa_t_path(t, "real.db.lock")), 0);
    CHECK_INT(link(path, fa_t_path(t, "link.db")), 0);
    check_refused(owned, "link.db", "already open in this process");
    CHECK_INT(remove(fa_t_path(t, "link.db")), 0);
    /* A program that takes itself for the only one would remove the log when it closes. */
    read_elsewhere(path);
    CHECK_TRUE(access(fa_t_path(t, "real.db-wal"), F_OK) == 0);
    fa_t_finish_task(t, fa_t_submit(t, .type = "x"));
    fa_t_close(t);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_names__hard_link),
        TEST(test_names__symbolic_link),
        TEST(test_names__lock_file_removed),
        TEST(test_names__lock_file_replaced),
        TEST(test_names__moved),
        TEST(test_names__bind_mount),
        TEST(test_names__refusal_keeps_the_locks_of_the_owner),
    };

    if (fa_w_is_writer(argc, argv))
        return fa_w_main(argv);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
