/* test_archive.c - members are appended whole, and bytes of a crash behind the last are cut off. */
#include "worker/archive.h"

#include "support/support.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#define DAY (24 * 3600 * INT64_C(1000000))

struct world {
    char dir[FA_T_PATH_SIZE];
    char folder[FA_T_PATH_SIZE + 16];
    char file[FA_T_PATH_SIZE + 64];
    struct fa_archive *archive;
};

static int set_up(void **state)
{
    struct world *world = fa_alloc_zero(1, sizeof *world);

    fa_t_temp_dir(world->dir);
    snprintf(world->folder, sizeof world->folder, "%s/archive", world->dir);
    snprintf(world->file, sizeof world->file, "%s/1970-01-02.jsonl.gz", world->folder);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    fa_archive_close(world->archive);
    fa_t_remove_tree(world->dir);
    free(world);
    return 0;
}

static void open_archive(struct world *world)
{
    struct faina_error err = {0};

    fa_archive_close(world->archive);
    world->archive = NULL;
    CHECK(fa_archive_open(&world->archive, world->folder, &err) == FAINA_OK, "%s", err.message);
}

static void add(struct world *world, const char *line)
{
    struct faina_error err = {0};

    CHECK(fa_archive_add(world->archive, DAY + 5, fa_str(line), &err) == FAINA_OK, "%s",
          err.message);
}

static const char *content(struct world *world)
{
    static char text[4096];
    gzFile file = gzopen(world->file, "rb");
    int got;

    CHECK(file != NULL, "%s can't be read", world->file);
    got = gzread(file, text, sizeof text - 1);
    CHECK(got >= 0, "%s is no whole gzip file", world->file);
    text[got] = '\0';
    gzclose(file);
    return text;
}

static off_t size_of(struct world *world)
{
    struct stat info;

    CHECK_INT(stat(world->file, &info), 0);
    return info.st_size;
}

static void spill(struct world *world, const char *bytes, size_t len)
{
    int fd = open(world->file, O_WRONLY | O_APPEND | O_CREAT, 0600);

    CHECK_INT(write(fd, bytes, len), (ssize_t)len);
    close(fd);
}

static void test_archive__lines_add_up(void **state)
{
    struct world *world = *state;
    struct stat info;

    open_archive(world);
    add(world, "one\n");
    add(world, "two\n");
    open_archive(world);
    add(world, "three\n");
    CHECK_STR(content(world), "one\ntwo\nthree\n");
    CHECK_INT(stat(world->folder, &info), 0);
    CHECK_INT(info.st_mode & 0777, 0700);
    CHECK_INT(stat(world->file, &info), 0);
    CHECK_INT(info.st_mode & 0777, 0600);
}

/* A member that was cut short at any byte. */
static void test_archive__a_torn_end_is_cut_off(void **state)
{
    struct world *world = *state;
    off_t first, second;

    open_archive(world);
    add(world, "one\n");
    first = size_of(world);
    add(world, "two\n");
    second = size_of(world);
    for (off_t cut = first + 1; cut < second; cut++) {
        CHECK_INT(truncate(world->file, cut), 0);
        open_archive(world);
        add(world, "two\n");
        CHECK_STR(content(world), "one\ntwo\n");
        CHECK_INT(size_of(world), second);
    }
    for (off_t cut = 1; cut < first; cut++) {
        CHECK_INT(truncate(world->file, cut), 0);
        open_archive(world);
        add(world, "two\n");
        CHECK_STR(content(world), "two\n");
    }
    spill(world, "\0\0\0\0\0\0\0\0", 8);
    open_archive(world);
    add(world, "three\n");
    CHECK_STR(content(world), "two\nthree\n");
}

/* Another process may have changed it while it was open. */
static void test_archive__what_others_did_is_noticed(void **state)
{
    struct world *world = *state;

    open_archive(world);
    add(world, "one\n");
    spill(world, "\x1f\x8b rubbish", 10);
    add(world, "two\n");
    CHECK_STR(content(world), "one\ntwo\n");
    unlink(world->file);
    add(world, "three\n");
    CHECK_STR(content(world), "three\n");
}

static void refuse(struct world *world, const char *why)
{
    struct faina_error err = {0};

    CHECK_INT(fa_archive_add(world->archive, DAY, fa_str("x\n"), &err), FAINA_UNAVAILABLE);
    CHECK(strstr(err.message, why) != NULL, "%s", err.message);
}

static void test_archive__a_foreign_file_is_left_alone(void **state)
{
    struct world *world = *state;

    open_archive(world);
    spill(world, "my notes", 8);
    refuse(world, "move it away");
    CHECK_INT(size_of(world), 8);
    unlink(world->file);
    CHECK_INT(symlink("/dev/null", world->file), 0);
    refuse(world, "can't be opened");
}

static void test_archive__one_writer_at_a_time(void **state)
{
    struct world *world = *state;
    struct fa_archive *second = NULL;
    struct faina_error err = {0};

    open_archive(world);
    CHECK_INT(fa_archive_open(&second, world->folder, &err), FAINA_UNAVAILABLE);
    CHECK(strstr(err.message, "another process") != NULL, "%s", err.message);
    open_archive(world);
}

static void test_archive__a_bad_folder(void **state)
{
    struct world *world = *state;
    struct fa_archive *archive = NULL;
    struct faina_error err = {0};
    char path[FA_T_PATH_SIZE + 32];

    snprintf(path, sizeof path, "%s/no/such", world->dir);
    CHECK_INT(fa_archive_open(&archive, path, &err), FAINA_UNAVAILABLE);
    CHECK(strstr(err.message, "can't be made: No such file") != NULL, "%s", err.message);
    close(open(world->folder, O_CREAT | O_WRONLY, 0600));
    CHECK_INT(fa_archive_open(&archive, world->folder, &err), FAINA_UNAVAILABLE);
    CHECK(strstr(err.message, "can't be opened: Not a directory") != NULL, "%s", err.message);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_archive__##name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(lines_add_up),
        TEST(a_torn_end_is_cut_off),
        TEST(what_others_did_is_noticed),
        TEST(a_foreign_file_is_left_alone),
        TEST(one_writer_at_a_time),
        TEST(a_bad_folder),
    };

    return cmocka_run_group_tests_name("archive", tests, NULL, NULL);
}
