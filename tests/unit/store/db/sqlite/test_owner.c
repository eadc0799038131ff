/*
 * test_owner.c - one owner process per file, however the last one ended.
 */
#include "support/asleep.h"

#include "store/db/sqlite/owner.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

static char dir[FA_T_PATH_SIZE];
static char path[FA_T_PATH_SIZE + 16];

static int set_up(void **state)
{
    fa_t_temp_dir(dir);
    snprintf(path, sizeof(path), "%s/a.db", dir);
    return 0;
}

static int tear_down(void **state)
{
    fa_t_remove_tree(dir);
    return 0;
}

static void make_file(const char *name)
{
    int fd = open(name, O_CREAT | O_WRONLY, 0666);

    CHECK_TRUE(fd >= 0);
    close(fd);
}

static void must_acquire(struct fa_owner *owner, const char *name)
{
    struct faina_error err = {0};

    CHECK(fa_owner_acquire(owner, name, 0, false, &err) == FAINA_OK, "%s", err.message);
    CHECK_TRUE(owner->fd >= 0);
}

static void must_refuse(const char *name, const char *sentence)
{
    struct faina_error err = {0};
    struct fa_owner owner;

    CHECK_INT(fa_owner_acquire(&owner, name, 0, false, &err), FAINA_UNAVAILABLE);
    CHECK_INT(owner.fd, -1);
    CHECK(strstr(err.message, sentence) != NULL, "the sentence is: %s", err.message);
    CHECK(strncmp(err.message, name, strlen(name)) == 0, "the sentence is: %s", err.message);
    fa_owner_release(&owner); /* nothing to release */
}

/* The whole of a small file. */
static const char *content(const char *name)
{
    static char text[256];
    FILE *file = fopen(name, "r");

    CHECK_TRUE(file != NULL);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return text;
}

static const char *in_dir(const char *name)
{
    static char text[4][FA_T_PATH_SIZE + 64];
    static int next;

    next = (next + 1) % 4;
    snprintf(text[next], sizeof(text[next]), "%s/%s", dir, name);
    return text[next];
}

/* ------------------------------------------------------------------------------------------
 * One process
 */

static void test_owner__a_second_one_in_this_process_is_refused(void **state)
{
    struct fa_owner first, again;

    must_acquire(&first, path);
    must_refuse(path, "already open in this process");
    must_refuse(path, "already open in this process"); /* a refusal gives nothing away */
    fa_owner_release(&first);
    CHECK_INT(first.fd, -1);
    fa_owner_release(&first);
    must_acquire(&again, path);
    fa_owner_release(&again);
}

static void test_owner__other_files_have_other_owners(void **state)
{
    struct fa_owner a, b;

    must_acquire(&a, path);
    must_acquire(&b, in_dir("b.db"));
    fa_owner_release(&a);
    must_refuse(in_dir("b.db"), "already open in this process");
    fa_owner_release(&b);
}

static void test_owner__the_lock_file_holds_the_pid_while_it_is_held(void **state)
{
    struct fa_owner owner;
    char want[32];

    must_acquire(&owner, path);
    snprintf(want, sizeof(want), "%ld\n", (long)getpid());
    CHECK_STR(content(in_dir("a.db.lock")), want);
    fa_owner_release(&owner);
    CHECK_STR(content(in_dir("a.db.lock")), ""); /* the file itself stays */
}

static void test_owner__a_stale_pid_is_no_owner(void **state)
{
    static const char *const left[] = {"1\n", "99999999999999999999\n", "garbage", "",
                                       "123456 and a much longer line than any pid would need\n"};

    for (size_t i = 0; i < FA_COUNT(left); i++) {
        struct fa_owner owner;
        FILE *file = fopen(in_dir("a.db.lock"), "w");
        char want[32];

        fputs(left[i], file);
        fclose(file);
        must_acquire(&owner, path);
        snprintf(want, sizeof(want), "%ld\n", (long)getpid());
        CHECK_STR(content(in_dir("a.db.lock")), want);
        fa_owner_release(&owner);
    }
}

/* The pid is for people; the lock alone decides. */
static void test_owner__a_lock_without_a_pid_is_respected(void **state)
{
    struct fa_owner owner;

    must_acquire(&owner, path);
    CHECK_INT(truncate(in_dir("a.db.lock"), 0), 0);
    must_refuse(path, "in use by another process");
    fa_owner_release(&owner);
}

/* ------------------------------------------------------------------------------------------
 * Names
 */

/* Two names of one file are one owner. */
static void test_owner__links_share_one_lock(void **state)
{
    static const struct {
        const char *name, *target, *link, *by_link;
        bool is_there; /* the file, before the first one opens it */
    } cases[] = {
        {"a link to the file", "a.db", "link.db", "link.db", true},
        {"a link to its folder", ".", "folder", "folder/a.db", true},
        {"a link to its folder, and no file yet", ".", "folder", "folder/a.db", false},
        {"a link to no file yet", "a.db", "link.db", "link.db", false},
        {"a link to a link", "link.db", "second.db", "second.db", true},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        for (int by_link_first = 0; by_link_first < 2; by_link_first++) {
            struct fa_owner owner;

            set_up(NULL);
            if (cases[i].is_there)
                make_file(path);
            if (strcmp(cases[i].target, "link.db") == 0)
                CHECK_INT(symlink("a.db", in_dir("link.db")), 0);
            CHECK_INT(symlink(cases[i].target, in_dir(cases[i].link)), 0);
            must_acquire(&owner, by_link_first ? in_dir(cases[i].by_link) : path);
            must_refuse(by_link_first ? path : in_dir(cases[i].by_link), "already open");
            fa_owner_release(&owner);
            tear_down(NULL);
        }
    }
    set_up(NULL);
}

static void test_owner__a_relative_name_is_the_same_file(void **state)
{
    struct fa_owner owner;
    char before[PATH_MAX];

    CHECK_TRUE(getcwd(before, sizeof(before)) != NULL);
    CHECK_INT(chdir(dir), 0);
    must_acquire(&owner, "a.db");
    must_refuse(path, "already open");
    must_refuse("./a.db", "already open");
    fa_owner_release(&owner);
    CHECK_TRUE(access(in_dir("a.db.lock"), F_OK) == 0);
    CHECK_INT(chdir(before), 0);
}

static void test_owner__a_lock_that_can_not_be_made(void **state)
{
    static char long_name[PATH_MAX + 100];

    must_refuse(in_dir("no/such/folder.db"), "can't be opened: No such file or directory");
    make_file(in_dir("file"));
    must_refuse(in_dir("file/a.db"), "can't be opened: Not a directory");
    memset(long_name, 'x', sizeof(long_name) - 1);
    long_name[0] = '/';
    CHECK_INT(fa_owner_acquire(&(struct fa_owner){0}, long_name, 0, false, NULL),
              FAINA_UNAVAILABLE);
    CHECK_INT(mkdir(in_dir("a.db.lock"), 0777), 0);
    must_refuse(path, "can't be opened: Is a directory");
}

/* ------------------------------------------------------------------------------------------
 * Other processes
 */

/* A process that owns the file until it is killed, or until it gets the signal to continue. */
struct holder {
    pid_t pid;
    int tell; /* one byte: release and go on */
    int hear; /* one byte: it owns the file; another one: it has released it */
};

static void hold_in_child(int hear, int tell)
{
    struct fa_owner owner;
    char byte = 'x';

    if (fa_owner_acquire(&owner, path, 0, false, NULL) != FAINA_OK || write(tell, &byte, 1) != 1)
        _exit(1);
    if (read(hear, &byte, 1) != 1)
        _exit(2);
    fa_owner_release(&owner);
    if (write(tell, &byte, 1) != 1 || read(hear, &byte, 1) < 0)
        _exit(3);
    _exit(0);
}

static void start_holder(struct holder *holder)
{
    int to_child[2], to_parent[2];
    char byte;

    CHECK_INT(pipe(to_child), 0);
    CHECK_INT(pipe(to_parent), 0);
    holder->pid = fork();
    CHECK_TRUE(holder->pid >= 0);
    if (holder->pid == 0) {
        close(to_child[1]);
        hold_in_child(to_child[0], to_parent[1]);
    }
    close(to_child[0]);
    close(to_parent[1]);
    holder->tell = to_child[1];
    holder->hear = to_parent[0];
    CHECK_INT(read(holder->hear, &byte, 1), 1);
}

static int end_holder(struct holder *holder)
{
    int status = -1;

    close(holder->tell);
    CHECK_INT(waitpid(holder->pid, &status, 0), holder->pid);
    close(holder->hear);
    return status;
}

static void test_owner__another_process_is_named(void **state)
{
    struct holder holder;
    struct fa_owner owner;
    char sentence[128], byte = 'x';

    CHECK_INT(fa_owner_find(path), 0); /* there is no file yet */
    CHECK_TRUE(!fa_owner_exists(path));
    start_holder(&holder);
    snprintf(sentence, sizeof(sentence), "is in use by process %ld", (long)holder.pid);
    must_refuse(path, sentence);
    CHECK_INT(fa_owner_find(path), (long)holder.pid);
    CHECK_TRUE(fa_owner_exists(path));
    CHECK_INT(write(holder.tell, &byte, 1), 1);
    CHECK_INT(read(holder.hear, &byte, 1), 1);
    must_acquire(&owner, path); /* it lives on, but has let go */
    fa_owner_release(&owner);
    CHECK_INT(end_holder(&holder), 0);
}

static void test_owner__a_killed_process_owns_nothing(void **state)
{
    struct holder holder;
    struct fa_owner owner;
    char left[32];
    int status;

    start_holder(&holder);
    must_refuse(path, "is in use by process");
    CHECK_INT(kill(holder.pid, SIGKILL), 0);
    status = end_holder(&holder);
    CHECK_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    snprintf(left, sizeof(left), "%ld\n", (long)holder.pid);
    CHECK_STR(content(in_dir("a.db.lock")), left); /* its pid is still there, and means nothing */
    CHECK_INT(fa_owner_find(path), 0);
    CHECK_TRUE(!fa_owner_exists(path));
    must_acquire(&owner, path);
    fa_owner_release(&owner);
}

static void write_lock(int fd, long pid, const char *rest)
{
    char text[64];

    snprintf(text, sizeof(text), "%ld\n%s", pid, rest);
    CHECK_INT(ftruncate(fd, 0), 0);
    CHECK_INT(pwrite(fd, text, strlen(text), 0), strlen(text));
}

/* Who serves the file doesn't have it for itself. Who leaves is waited for, but a guest goes to it
 * as long as it serves. */
static void test_owner__one_that_serves_and_then_leaves(void **state)
{
    static const struct {
        const char *rest;
        bool has_it, is_leaving;
        const char *address, *brief_address;
    } cases[] = {
        {"unix:/a.db.sock\n", false, false, "unix:/a.db.sock", "unix:/a.db.sock"},
        {"unix:/a.db.sock\nleaving\n", false, true, "", "unix:/a.db.sock"},
        {"leaving\n", true, true, "", ""},
    };
    int fd = open(in_dir("a.db.lock"), O_RDWR | O_CREAT, 0666);
    struct holder holder;

    start_holder(&holder);
    for (size_t i = 0; i < FA_COUNT(cases) * 2; i++) {
        bool is_brief = i % 2 == 1;
        struct fa_owner owner;
        struct faina_error err;

        /* As it would write it itself, but for the pid, which must be another's than ours. */
        write_lock(fd, (long)holder.pid, cases[i / 2].rest);
        CHECK_INT(fa_owner_find(path), cases[i / 2].has_it ? (long)holder.pid : 0);
        CHECK_INT(fa_owner_acquire(&owner, path, 0, is_brief, &err), FAINA_UNAVAILABLE);
        CHECK_STR(owner.address, is_brief ? cases[i / 2].brief_address : cases[i / 2].address);
        CHECK_INT(strstr(err.message, "which is shutting down") != NULL, cases[i / 2].is_leaving);
    }
    close(fd);
    CHECK_INT(kill(holder.pid, SIGKILL), 0);
    end_holder(&holder);
}

static void test_owner__what_it_tells_of_itself(void **state)
{
    struct fa_owner owner;
    char text[128];

    must_acquire(&owner, path);
    snprintf(text, sizeof(text), "%ld\nunix:/a.db.sock\n", (long)getpid());
    fa_owner_advertise(&owner, "unix:/a.db.sock");
    CHECK_STR(content(in_dir("a.db.lock")), text);
    snprintf(text, sizeof(text), "%ld\nunix:/a.db.sock\nleaving\n", (long)getpid());
    fa_owner_advertise(&owner, NULL);
    CHECK_STR(content(in_dir("a.db.lock")), text);
    fa_owner_release(&owner);
    must_acquire(&owner, path);
    snprintf(text, sizeof(text), "%ld\nleaving\n", (long)getpid());
    fa_owner_advertise(&owner, NULL);
    CHECK_STR(content(in_dir("a.db.lock")), text);
    fa_owner_release(&owner);
}

/* A program that is started meanwhile doesn't inherit the lock. */
static void test_owner__a_started_program_holds_no_lock(void **state)
{
    struct fa_owner owner, again;
    int to_cat[2], from_cat[2], status = -1;
    char byte = 'x';
    pid_t pid;

    must_acquire(&owner, path);
    CHECK_INT(pipe2(to_cat, O_CLOEXEC), 0);
    CHECK_INT(pipe2(from_cat, O_CLOEXEC), 0);
    pid = fork();
    CHECK_TRUE(pid >= 0);
    if (pid == 0) {
        dup2(to_cat[0], STDIN_FILENO);
        dup2(from_cat[1], STDOUT_FILENO);
        execlp("cat", "cat", (char *)NULL);
        _exit(1);
    }
    CHECK_INT(write(to_cat[1], &byte, 1), 1);
    CHECK_INT(read(from_cat[0], &byte, 1), 1); /* the other program runs */
    fa_owner_release(&owner);
    must_acquire(&again, path);
    fa_owner_release(&again);
    for (int i = 0; i < 2; i++) {
        close(to_cat[i]);
        close(from_cat[i]);
    }
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
}

/* ------------------------------------------------------------------------------------------
 * Waiting
 */

struct waiting {
    atomic_int tid;
    struct fa_owner owner;
    enum faina_code code;
};

static void *wait_for_it(void *arg)
{
    struct waiting *mine = arg;

    fa_t_publish(&mine->tid);
    mine->code = fa_owner_acquire(&mine->owner, path, 600000, false, NULL);
    return NULL;
}

static void test_owner__who_waits_gets_it(void **state)
{
    struct waiting waiting = {.code = FAINA_INTERNAL};
    struct fa_owner owner;
    pthread_t handle;

    must_acquire(&owner, path);
    CHECK_INT(pthread_create(&handle, NULL, wait_for_it, &waiting), 0);
    fa_t_wait_asleep(&waiting.tid);
    fa_owner_release(&owner);
    pthread_join(handle, NULL);
    CHECK_INT(waiting.code, FAINA_OK);
    must_refuse(path, "already open");
    fa_owner_release(&waiting.owner);
}

static void test_owner__the_time_runs_out(void **state)
{
    struct fa_owner owner, other;

    must_acquire(&owner, path);
    CHECK_INT(fa_owner_acquire(&other, path, 12, false, NULL), FAINA_UNAVAILABLE);
    CHECK_INT(fa_owner_acquire(&other, path, -1, false, NULL), FAINA_UNAVAILABLE);
    fa_owner_release(&owner);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_owner__a_second_one_in_this_process_is_refused),
        TEST(test_owner__other_files_have_other_owners),
        TEST(test_owner__the_lock_file_holds_the_pid_while_it_is_held),
        TEST(test_owner__a_stale_pid_is_no_owner),
        TEST(test_owner__a_lock_without_a_pid_is_respected),
        TEST(test_owner__links_share_one_lock),
        TEST(test_owner__a_relative_name_is_the_same_file),
        TEST(test_owner__a_lock_that_can_not_be_made),
        TEST(test_owner__another_process_is_named),
        TEST(test_owner__one_that_serves_and_then_leaves),
        TEST(test_owner__what_it_tells_of_itself),
        TEST(test_owner__a_killed_process_owns_nothing),
        TEST(test_owner__a_started_program_holds_no_lock),
        TEST(test_owner__who_waits_gets_it),
        TEST(test_owner__the_time_runs_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
