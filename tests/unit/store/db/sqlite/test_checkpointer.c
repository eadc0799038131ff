/*
 * test_mover.c - moving the log into the file beside the writer.
 */
#include "unit/sql/raw.h"

#include "sql/sqlite/mover.h"

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

static struct fa_mover *must_start(void)
{
    struct fa_mover *mover = fa_mover_start(path);

    CHECK(mover != NULL, "no mover");
    return mover;
}

static struct fa_moved move(struct fa_mover *mover)
{
    fa_mover_begin(mover);
    return fa_mover_wait(mover);
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

static void test_mover__moves_what_is_committed(void **state)
{
    struct fa_mover *mover = must_start();
    struct fa_moved moved;

    write_some();
    moved = move(mover);
    CHECK(moved.pages > 30, "%d pages", moved.pages);
    CHECK_TRUE(!moved.is_lost);
    CHECK_INT(rows_in_file(), 40);
    CHECK_TRUE(!fa_mover_stop(mover));
}

static void test_mover__leaves_what_a_reader_needs(void **state)
{
    struct fa_mover *mover = must_start();
    sqlite3 *reader = raw_open(path);
    struct fa_moved first, second;

    write_some();
    raw_exec(reader, "BEGIN");
    CHECK_INT(raw_int(reader, "SELECT count(*) FROM t"), 40);
    write_some();
    first = move(mover);
    write_some();
    second = move(mover);
    CHECK(first.pages > 30 && first.pages < 60, "%d pages", first.pages);
    CHECK_INT(second.pages, first.pages);
    CHECK_INT(raw_int(reader, "SELECT count(*) FROM t"), 40);
    raw_close(reader);
    CHECK(move(mover).pages > 100, "the reader has gone");
    CHECK_INT(rows_in_file(), 120);
    fa_mover_stop(mover);
}

/* M1, M2: as db_sqlite.c does it, with a log that starts anew again and again. */
static void test_mover__beside_a_writer(void **state)
{
    struct fa_mover *mover = must_start();
    int moves = 0, restarts = 0;

    for (int i = 0, pages; i < ROUNDS; i++) {
        pages = log_pages;
        write_some();
        restarts += log_pages < pages;
        if (i % 7 == 6)
            fa_mover_wait(mover); /* then the writer moves all, and the log starts anew */
        if (fa_mover_is_busy(mover))
            continue;
        if (i % 7 == 6) {
            sqlite3_wal_checkpoint_v2(writer, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
        } else if (log_pages != fa_mover_wait(mover).pages) {
            fa_mover_begin(mover);
            moves++;
        }
    }
    fa_mover_wait(mover);
    CHECK(moves > 5 && restarts > 2, "%d moves, %d restarts", moves, restarts);
    CHECK_INT(raw_int(writer, "SELECT count(*) FROM t"), 40 * ROUNDS);
    CHECK_INT(raw_int(writer, "SELECT count(*) FROM pragma_integrity_check"), 1);
    fa_mover_stop(mover);
}

static void test_mover__stops_in_the_middle(void **state)
{
    for (int i = 0; i < 30; i++) {
        struct fa_mover *mover = must_start();

        write_some();
        if (i % 3 > 0)
            fa_mover_begin(mover);
        CHECK_TRUE(!fa_mover_stop(mover));
    }
    CHECK_INT(raw_int(writer, "SELECT count(*) FROM t"), 1200);
    raw_exec(writer, "PRAGMA wal_checkpoint");
    CHECK_INT(rows_in_file(), 1200);
}

static void test_mover__has_nothing_to_work_on(void **state)
{
    char nowhere[FA_T_PATH_SIZE + 16];

    snprintf(nowhere, sizeof(nowhere), "%s/none/a.db", dir);
    CHECK_TRUE(fa_mover_start(nowhere) == NULL);
    CHECK_TRUE(!fa_mover_stop(NULL));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_mover__moves_what_is_committed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mover__leaves_what_a_reader_needs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mover__beside_a_writer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mover__stops_in_the_middle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mover__has_nothing_to_work_on, set_up, tear_down),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("mover", tests, NULL, NULL);
}
