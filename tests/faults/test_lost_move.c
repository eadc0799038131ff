/*
 * test_lost_move.c - the disk fails while a mover flushes the file (checkpointer.h, M3).
 *
 * SQLite takes for moved what was written to the file, also when the flush behind it fails, and
 * would start the log anew. So the engine must stop writing, keep the log, and have everything when
 * the file is opened again.
 */
#include "faults/inspect.h"
#include "faults/shim.h"
#include "support/writer.h"

#include "json/json.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <cmocka.h>

#define ROUNDS 110 /* of some 330 pages of the log: long enough for one move, too short for two */

struct world {
    struct fa_t t;
    char path[FA_T_PATH_SIZE], log_path[FA_T_PATH_SIZE];
    char ids[FA_W_HEAVY_TASKS][FAINA_ID_SIZE];
    sqlite3 *reader;
    int32_t done;
};

/* A reader that stays: so the mover can't move everything, and SQLite doesn't flush by itself. */
static void hold_log(struct world *world)
{
    CHECK_INT(sqlite3_open(world->path, &world->reader), SQLITE_OK);
    CHECK_INT(sqlite3_exec(world->reader, "BEGIN; SELECT count(*) FROM task", NULL, NULL, NULL),
              SQLITE_OK);
}

static void begin(struct world *world)
{
    memset(world, 0, sizeof *world);
    fa_t_init(&world->t);
    snprintf(world->path, sizeof world->path, "%.400s/lost.db", world->t.dir);
    snprintf(world->log_path, sizeof world->log_path, "%.480s-wal", world->path);
    snprintf(world->t.url, sizeof world->t.url, "sqlite:%.500s", world->path);
    fa_t_open(&world->t);
    fa_w_make_heavy(&world->t, world->ids);
    CHECK_INT(fa_w_rewrite(&world->t, world->ids, 0), FAINA_OK);
    hold_log(world);
}

/* Writes until it is refused, but not for ever. */
static enum faina_code write_on(struct world *world)
{
    enum faina_code code = FAINA_OK;

    for (int i = 0; i < ROUNDS && code == FAINA_OK; i++) {
        fa_t_forget(&world->t);
        code = fa_w_rewrite(&world->t, world->ids, world->done + 1);
        world->done += code == FAINA_OK;
    }
    return code;
}

static void check_rounds(struct world *world)
{
    const struct faina_tasks *tasks;

    CHECK_OK(&world->t, fa_t_list(&world->t, .type = "heavy"));
    tasks = world->t.op.tasks;
    CHECK_INT(tasks->count, FA_W_HEAVY_TASKS);
    for (size_t i = 0; i < tasks->count; i++) {
        struct fa_json value;
        int64_t round = -1;

        CHECK_TRUE(
            fa_json_member(fa_json_value(fa_str(tasks->items[i].metadata)), "round", &value));
        CHECK_TRUE(fa_json_int(value, &round));
        CHECK_INT(round, world->done);
    }
    fa_t_forget(&world->t);
}

static void test_lost_move__writes_are_refused_and_all_is_kept(void **state)
{
    struct fa_shim_fault fault = {FA_SHIM_SYNC_MAIN, 1, true, SQLITE_IOERR_FSYNC, false};
    const struct faina_submit task = {.type = "x"};
    struct world world;
    struct stat info;

    (void)state;
    begin(&world);
    fa_shim_arm(&fault);
    CHECK_INT(write_on(&world), FAINA_UNAVAILABLE);
    CHECK(world.done > 20, "refused before any move, after %d rounds", (int)world.done);
    fa_shim_disarm(); /* the disk is well again, but what it lost is lost */
    CHECK_CODE(&world.t, fa_t_submit_code(&world.t, &task), FAINA_UNAVAILABLE);
    CHECK(strstr(world.t.op.error.message, "restart the program") != NULL, "%s",
          world.t.op.error.message);
    check_rounds(&world); /* reading goes on */

    CHECK_INT(sqlite3_close(world.reader), SQLITE_OK);
    fa_t_close(&world.t);
    CHECK(stat(world.log_path, &info) == 0 && info.st_size > 0, "the log is gone");
    fa_t_open(&world.t);
    check_rounds(&world);
    CHECK_INT(write_on(&world), FAINA_OK);
    fa_t_check_sound(&world.t);
    fa_t_close(&world.t);
    CHECK(stat(world.log_path, &info) != 0, "the log was not moved in the end");
    fa_f_check_sound(world.path, "after a lost move");
    fa_t_finish(&world.t);
}

/* No mover to be had: the writer moves the log by itself, and loses nothing. */
static void test_lost_move__no_mover(void **state)
{
    struct fa_shim_fault fault = {FA_SHIM_OPEN, 1, true, SQLITE_CANTOPEN, false};
    struct world world;

    (void)state;
    begin(&world);
    fa_shim_arm(&fault);
    CHECK_INT(write_on(&world), FAINA_OK);
    CHECK_TRUE(fa_shim_has_failed());
    fa_shim_disarm();
    CHECK_INT(sqlite3_close(world.reader), SQLITE_OK);
    CHECK_INT(write_on(&world), FAINA_OK);
    check_rounds(&world);
    fa_t_check_sound(&world.t);
    fa_t_close(&world.t);
    fa_f_check_sound(world.path, "without a mover");
    fa_t_finish(&world.t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost_move__writes_are_refused_and_all_is_kept),
        cmocka_unit_test(test_lost_move__no_mover),
    };

    fa_shim_install();
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("lost_move", tests, NULL, NULL);
}
