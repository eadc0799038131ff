/*
 * test_log_file.c - the write-ahead log in large pieces: what is on disk when, and what is not when
 * the disk fails.
 */
#include "support/support.h"

#include "store/db/sqlite/log_file.h"

#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#define FRAME 4120
#define MANY 100 /* frames, more than are held at once */

static char dir[FA_T_PATH_SIZE];
static char path[FA_T_PATH_SIZE + 16];
static sqlite3_file *file;

static int set_up(void **state)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_WAL;
    sqlite3_vfs *vfs;

    fa_t_temp_dir(dir);
    snprintf(path, sizeof(path), "%s/a.db", dir); /* a log has the permissions of its database */
    CHECK_INT(fclose(fopen(path, "wb")), 0);
    snprintf(path, sizeof(path), "%s/a.db-wal", dir);
    CHECK_INT(sqlite3_initialize(), SQLITE_OK);
    vfs = sqlite3_vfs_find(fa_log_file_layer());
    CHECK_TRUE(vfs != NULL && vfs != sqlite3_vfs_find(NULL));
    file = calloc(1, (size_t)vfs->szOsFile);
    CHECK_INT(vfs->xOpen(vfs, path, file, flags, NULL), SQLITE_OK);
    return 0;
}

static int tear_down(void **state)
{
    CHECK_INT(file->pMethods->xClose(file), SQLITE_OK);
    free(file);
    fa_t_remove_tree(dir);
    return 0;
}

static int write_at(int frame, char fill, int size)
{
    char data[2 * FRAME];

    memset(data, fill, sizeof(data));
    return file->pMethods->xWrite(file, data, size, (sqlite3_int64)frame * FRAME);
}

static void put(int frame, char fill)
{
    CHECK_INT(write_at(frame, fill, FRAME), SQLITE_OK);
}

static int flush(void)
{
    return file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
}

static int64_t on_disk(void)
{
    struct stat at;

    CHECK_INT(stat(path, &at), 0);
    return at.st_size;
}

/* The first and last byte of a frame, by another way than the layer's. */
static void check_on_disk(int frame, char fill)
{
    FILE *in = fopen(path, "rb");
    char data[FRAME];

    CHECK_TRUE(in != NULL && fseek(in, (long)frame * FRAME, SEEK_SET) == 0);
    CHECK(fread(data, FRAME, 1, in) == 1, "frame %d is not there", frame);
    fclose(in);
    CHECK(data[0] == fill && data[FRAME - 1] == fill, "frame %d has %c and %c, not %c", frame,
          data[0], data[FRAME - 1], fill);
}

/* Files may not grow beyond this; 0: any size. */
static void limit_files(rlim_t size)
{
    struct rlimit limit;

    signal(SIGXFSZ, SIG_IGN);
    CHECK_INT(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size > 0 ? size : limit.rlim_max;
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_log_file__a_commit_is_one_write(void **state)
{
    for (int i = 0; i < 5; i++)
        put(i, (char)('a' + i));
    CHECK_INT(on_disk(), 0);
    CHECK_INT(flush(), SQLITE_OK);
    CHECK_INT(on_disk(), 5 * FRAME);
    for (int i = 0; i < 5; i++)
        check_on_disk(i, (char)('a' + i));
}

static void test_log_file__a_long_one_is_several(void **state)
{
    for (int i = 0; i < MANY; i++)
        put(i, (char)('a' + i % 26));
    CHECK_TRUE(on_disk() > 0);
    CHECK_INT(flush(), SQLITE_OK);
    CHECK_INT(on_disk(), MANY * FRAME);
    for (int i = 0; i < MANY; i++)
        check_on_disk(i, (char)('a' + i % 26));
}

static void test_log_file__what_was_put_is_read(void **state)
{
    sqlite3_int64 size = 0;
    char data[FRAME] = "";

    put(0, 'a');
    put(1, 'b');
    CHECK_INT(file->pMethods->xRead(file, data, FRAME, FRAME), SQLITE_OK);
    CHECK_INT(data[0], 'b');
    put(2, 'c');
    CHECK_INT(file->pMethods->xFileSize(file, &size), SQLITE_OK);
    CHECK_INT(size, 3 * FRAME);
    put(3, 'd');
    CHECK_INT(file->pMethods->xTruncate(file, FRAME), SQLITE_OK);
    CHECK_INT(flush(), SQLITE_OK);
    CHECK_INT(on_disk(), FRAME);
}

/* A transaction that was given up is written over; a log that is begun anew, too. */
static void test_log_file__places_are_written_again(void **state)
{
    put(0, 'a');
    put(1, 'b');
    put(2, 'c');
    put(1, 'B');
    put(2, 'C');
    put(0, 'A');
    CHECK_INT(flush(), SQLITE_OK);
    check_on_disk(0, 'A');
    check_on_disk(1, 'B');
    check_on_disk(2, 'C');
    CHECK_INT(on_disk(), 3 * FRAME);
}

static void test_log_file__what_was_not_flushed_is_not_there(void **state)
{
    put(0, 'a');
    CHECK_INT(flush(), SQLITE_OK);
    put(1, 'b');
    CHECK_INT(on_disk(), FRAME);
}

/* L3 */
static void test_log_file__after_a_failure_there_is_no_hole(void **state)
{
    put(0, 'a');
    CHECK_INT(flush(), SQLITE_OK);
    limit_files(FRAME);
    put(1, 'b');
    put(2, 'c');
    CHECK_TRUE(flush() != SQLITE_OK);
    limit_files(0); /* there is room again, but the piece is lost */
    CHECK_TRUE(write_at(3, 'd', FRAME) != SQLITE_OK);
    CHECK_TRUE(flush() != SQLITE_OK);
    put(1, 'B'); /* the transaction begins anew */
    put(2, 'C');
    put(3, 'D');
    CHECK_INT(flush(), SQLITE_OK);
    check_on_disk(1, 'B');
    check_on_disk(3, 'D');
}

static void test_log_file__a_failure_while_reading_is_remembered(void **state)
{
    char data[FRAME];

    limit_files(FRAME);
    put(0, 'a');
    put(1, 'b');
    CHECK_TRUE(file->pMethods->xRead(file, data, FRAME, 0) != SQLITE_OK);
    limit_files(0);
    CHECK_TRUE(write_at(2, 'c', FRAME) != SQLITE_OK);
    CHECK_TRUE(flush() != SQLITE_OK);
    put(0, 'A');
    CHECK_INT(flush(), SQLITE_OK);
    check_on_disk(0, 'A');
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_log_file__a_commit_is_one_write),
        TEST(test_log_file__a_long_one_is_several),
        TEST(test_log_file__what_was_put_is_read),
        TEST(test_log_file__places_are_written_again),
        TEST(test_log_file__what_was_not_flushed_is_not_there),
        TEST(test_log_file__after_a_failure_there_is_no_hole),
        TEST(test_log_file__a_failure_while_reading_is_remembered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
