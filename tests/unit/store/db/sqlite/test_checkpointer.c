/*
 * test_checkpointer.c - checkpoints beside the writer.
 */
#include "support/raw.h"

#include "store/db/sqlite/checkpointer.h"

#include <setjmp.h>
#include <stdio.h>

#include <cmocka.h>

#define ROUNDS 200

static char dir[FA_T_PATH_SIZE];
static char path[FA_T_PATH_SIZE + 16];
static sqlite3 *writer;
static int log_pages; /* as of the last commit */

static int on_commit(void *ctx, sqlite3 *handle, const char *schema, int pages)
{
    log_pages = pages;
    return SQLITE_OK;
}

static int set_up(void **state)
{
    fa_t_temp_dir(dir);
    snprintf(path, sizeof(path), "%s/a.db", dir);
    writer = raw_open(path);
    sqlite3_wal_hook(writer, on_commit, NULL);
    raw_exec(writer, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (a, b)");
    return 0;
}

static int tear_down(void **state)
{
    raw_close(writer);
    fa_t_remove_tree(dir);
    return 0;
}

/* About forty pages of the log. */
static void write_some(void)
{
    raw_exec(writer, "WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)"
                     "INSERT INTO t SELECT i, zeroblob(3000) FROM n");
}

static struct fa_checkpointer *must_start(void)
{
    struct fa_checkpointer *checkpointer = fa_checkpointer_start(path);

    CHECK(checkpointer != NULL, "no checkpointer");
    return checkpointer;
}

static struct fa_checkpoint run_one(struct fa_checkpointer *checkpointer)
{
    fa_checkpointer_begin(checkpointer);
    return fa_checkpointer_wait(checkpointer);
}

static void copy_file(const char *to_path)
{
    FILE *from = fopen(path, "re"), *to = fopen(to_path, "we");
    char piece[4096];
    size_t got;

    CHECK(from != NULL && to != NULL, "%s or its copy can't be opened", path);
    while ((got = fread(piece, 1, sizeof(piece), from)) > 0)
        CHECK_INT(fwrite(piece, 1, got, to), got);
    fclose(from);
    CHECK_INT(fclose(to), 0);
}

/* What the file holds without its log. */
static int64_t rows_in_file(void)
{
    char alone[FA_T_PATH_SIZE + 16];
    sqlite3 *raw;
    int64_t rows;

    snprintf(alone, sizeof(alone), "%s/alone.db", dir);
    copy_file(alone);
    raw = raw_open(alone);
    rows = raw_int(raw, "SELECT count(*) FROM t");
    raw_close(raw);
    return rows;
}

static void test_checkpointer__moves_what_is_committed(void **state)
{
    struct fa_checkpointer *checkpointer = must_start();
    struct fa_checkpoint moved;

    write_some();
    moved = run_one(checkpointer);
    CHECK(moved.pages > 30, "%d pages", moved.pages);
    CHECK_TRUE(!moved.is_lost);
    CHECK_INT(rows_in_file(), 40);
    CHECK_TRUE(!fa_checkpointer_stop(checkpointer));
}

static void test_checkpointer__leaves_what_a_reader_needs(void **state)
{
    struct fa_checkpointer *checkpointer = must_start();
    sqlite3 *reader = raw_open(path);
    struct fa_checkpoint first, second;

    write_some();
    raw_exec(reader, "BEGIN");
    CHECK_INT(raw_int(reader, "SELECT count(*) FROM t"), 40);
    write_some();
    first = run_one(checkpointer);
    write_some();
    second = run_one(checkpointer);
    CHECK(first.pages > 30 && first.pages < 60, "%d pages", first.pages);
    CHECK_INT(second.pages, first.pages);
    CHECK_INT(raw_int(reader, "SELECT count(*) FROM t"), 40);
    raw_close(reader);
    CHECK(run_one(checkpointer).pages > 100, "the reader has gone");
    CHECK_INT(rows_in_file(), 120);
    fa_checkpointer_stop(checkpointer);
}

/* M1, M2: as db_sqlite.c does it, with a log that starts anew again and again. */
static void test_checkpointer__beside_a_writer(void **state)
{
    struct fa_checkpointer *checkpointer = must_start();
    int moves = 0, restarts = 0;

    for (int i = 0, pages; i < ROUNDS; i++) {
        pages = log_pages;
        write_some();
        restarts += log_pages < pages;
        if (i % 7 == 6)
            fa_checkpointer_wait(
                checkpointer); /* then the writer checkpoints all, and the log is reset */
        if (fa_checkpointer_is_busy(checkpointer))
            continue;
        if (i % 7 == 6) {
            sqlite3_wal_checkpoint_v2(writer, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
        } else if (log_pages != fa_checkpointer_wait(checkpointer).pages) {
            fa_checkpointer_begin(checkpointer);
            moves++;
        }
    }
    fa_checkpointer_wait(checkpointer);
    CHECK(moves > 5 && restarts > 2, "%d moves, %d restarts", moves, restarts);
    CHECK_INT(raw_int(writer, "SELECT count(*) FROM t"), 40 * ROUNDS);
    CHECK_INT(raw_int(writer, "SELECT count(*) FROM pragma_integrity_check"), 1);
    fa_checkpointer_stop(checkpointer);
}

static void test_checkpointer__stops_in_the_middle(void **state)
{
    for (int i = 0; i < 30; i++) {
        struct fa_checkpointer *checkpointer = must_start();

        write_some();
        if (i % 3 > 0)
            fa_checkpointer_begin(checkpointer);
        CHECK_TRUE(!fa_checkpointer_stop(checkpointer));
    }
    CHECK_INT(raw_int(writer, "SELECT count(*) FROM t"), 1200);
    raw_exec(writer, "PRAGMA wal_checkpoint");
    CHECK_INT(rows_in_file(), 1200);
}

static void test_checkpointer__has_nothing_to_work_on(void **state)
{
    char nowhere[FA_T_PATH_SIZE + 16];

    snprintf(nowhere, sizeof(nowhere), "%s/none/a.db", dir);
    CHECK_TRUE(fa_checkpointer_start(nowhere) == NULL);
    CHECK_TRUE(!fa_checkpointer_stop(NULL));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_checkpointer__moves_what_is_committed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_checkpointer__leaves_what_a_reader_needs, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_checkpointer__beside_a_writer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_checkpointer__stops_in_the_middle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_checkpointer__has_nothing_to_work_on, set_up,
                                        tear_down),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("checkpointer", tests, NULL, NULL);
}
