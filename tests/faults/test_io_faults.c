/*
 * test_io_faults.c - the nth write, flush, truncation, opening ... fails, for every n there is.
 *
 * One round opens a new file, does the moves of moves.c, and closes it, with one fault in it. What
 * must hold, wherever it strikes:
 *   - the refusal is UNAVAILABLE with a sentence, and the engine works on when the cause is gone,
 *     on the same handle;
 *   - what a crash right after the refusal would leave has everything that was acknowledged, and
 *     the refused operation only if its answer said that the outcome is unknown;
 *   - in the end everything is there, also after opening again, and the file is sound.
 *
 * FA_FAULT_STEP sets how far apart the n are that are tried; where they begin is then random.
 */
#include "faults/inspect.h"
#include "support/moves.h"
#include "faults/shim.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <cmocka.h>

#define ROUNDS_MIN 12 /* of each fault, however large the step */

struct round {
    struct fa_t t;
    struct fa_moves moves;
    struct fa_shim_fault fault;
    char path[FA_T_PATH_SIZE];
    int strikes; /* refusals and failed openings */
};

static void describe(const struct round *round, char out[128])
{
    static const char *const names[FA_SHIM_CALL_COUNT] = {
        "open", "read", "write", "sync", "truncate", "delete", "shm", "sync of the database"};

    snprintf(out, 128, "%s %ld%s fails with %d%s", names[round->fault.call], round->fault.nth,
             round->fault.goes_on ? " and all after it" : "", round->fault.code,
             round->fault.is_torn ? ", torn" : "");
}

/* As long as the cause lasts, changes are refused, each with a sentence; then it goes away. */
static void outlast(struct round *round)
{
    struct faina_submit task = {.type = "kept", .idempotency_key = "not now"};
    struct fa_t other;

    if (!round->fault.goes_on)
        return;
    fa_t_share(&other, &round->t);
    CHECK_CODE(&other, fa_t_submit_code(&other, &task), FAINA_UNAVAILABLE);
    CHECK_CODE(&other, fa_t_submit_code(&other, &task), FAINA_UNAVAILABLE);
    fa_t_unshare(&other);
    fa_shim_disarm();
}

/* Opens what a crash at this moment would leave. */
static void check_crashed(struct round *round)
{
    char path[FA_T_PATH_SIZE + 16];
    struct fa_t copy = {0};
    struct fa_l ledger;

    snprintf(path, sizeof path, "%s.crashed", round->path);
    snprintf(copy.url, sizeof copy.url, "sqlite:%.490s", path);
    fa_f_copy_crashed(round->path, path);
    fa_l_copy(&ledger, &round->moves.ledger);
    fa_t_open(&copy);
    if (fa_t_get_by_key(&copy, NULL, "kept", "not now") == FAINA_OK) {
        /* It was refused; whether with "unknown" was not noted, so only a flush may keep it. */
        CHECK_INT(round->fault.call, FA_SHIM_SYNC);
        CHECK_OK(&copy, fa_t_delete_with(&copy, copy.task->id, NOBODY,
                                         (struct faina_removal){.cancel = true, .purge = true}));
    }
    fa_l_check(&ledger, &copy);
    fa_t_close(&copy);
    fa_f_check_sound(path, "after a crash");
    fa_l_clear(&ledger);
    fa_arena_finish(&copy.arena);
}

static void on_refusal(void *ctx, struct fa_moves *moves)
{
    struct round *round = ctx;

    (void)moves;
    round->strikes++;
    CHECK(fa_shim_has_failed(), "refused without a fault: %s", round->t.op.error.message);
    outlast(round);
    check_crashed(round);
}

/* Opening may be refused too; then it must go well when the cause is gone. */
static void open_engine(struct round *round)
{
    struct faina_error err = {0};
    enum faina_code code = fa_t_try_open(&round->t, &err);

    if (code == FAINA_OK)
        return;
    CHECK(code == FAINA_UNAVAILABLE && err.message[0], "can't open: %s (%s)", faina_code_name(code),
          err.message);
    CHECK(fa_shim_has_failed(), "refused without a fault: %s", err.message);
    round->strikes++;
    if (round->fault.goes_on)
        fa_shim_disarm();
    fa_t_open(&round->t);
}

static void run_round(struct round *round)
{
    char what[128];

    describe(round, what);
    round->moves = (struct fa_moves){.t = &round->t, .on_refusal = on_refusal, .ctx = round};
    open_engine(round);
    fa_moves_run(&round->moves);
    fa_t_close(&round->t); /* moves the log into the file; a fault here is nobody's loss */
    fa_shim_disarm();
    fa_t_open(&round->t);
    fa_l_check(&round->moves.ledger, &round->t);
    fa_t_close(&round->t);
    fa_f_check_sound(round->path, what);
    fa_l_clear(&round->moves.ledger);
    fa_arena_finish(&round->t.arena);
}

/* How many calls of this kind a round without faults makes. */
static long count_calls(struct round *round, enum fa_shim_call call)
{
    long count;

    round->moves = (struct fa_moves){.t = &round->t};
    fa_shim_disarm();
    fa_t_open(&round->t);
    fa_moves_run(&round->moves);
    fa_t_close(&round->t);
    count = fa_shim_count(call);
    fa_l_clear(&round->moves.ledger);
    return count;
}

static void set_path(struct round *round, const char *folder, long number)
{
    snprintf(round->path, sizeof round->path, "%.400s/io%ld.db", folder, number);
    snprintf(round->t.url, sizeof round->t.url, "sqlite:%.500s", round->path);
}

/* How far apart the faults are. */
static long step_for(long count)
{
    long step = (long)fa_t_env_int("FA_FAULT_STEP", 1), most = count / ROUNDS_MIN;

    return most < 1 ? 1 : step < most ? step : most;
}

static void run_all(enum fa_shim_call call, int code, bool goes_on, bool is_torn)
{
    struct round round = {0};
    int struck = 0, rounds = 0;
    long count, step;
    char dir[FA_T_PATH_SIZE];

    fa_t_temp_dir(dir);
    set_path(&round, dir, 0);
    count = count_calls(&round, call);
    CHECK(count > 0, "the moves never make this call");
    step = step_for(count);
    for (long n = 1 + (long)(fa_t_seed() % (uint64_t)step); n <= count; n += step, rounds++) {
        set_path(&round, dir, n);
        round.fault = (struct fa_shim_fault){call, n, goes_on, code, is_torn};
        round.strikes = 0;
        fa_shim_arm(&round.fault);
        run_round(&round);
        struck += round.strikes > 0;
        fa_t_remove_tree(dir);
        fa_t_temp_dir(dir);
    }
    print_message("%d of %ld calls failed, %d with a refusal\n", rounds, count, struck);
    fa_t_remove_tree(dir);
}

#define FAULT_TEST(name, ...)                                                                      \
    static void test_io__##name(void **state)                                                      \
    {                                                                                              \
        (void)state;                                                                               \
        run_all(__VA_ARGS__);                                                                      \
    }

FAULT_TEST(write_fails_once, FA_SHIM_WRITE, SQLITE_IOERR_WRITE, false, false)
FAULT_TEST(write_is_torn, FA_SHIM_WRITE, SQLITE_IOERR_WRITE, false, true)
FAULT_TEST(disk_is_full_once, FA_SHIM_WRITE, SQLITE_FULL, false, false)
FAULT_TEST(disk_is_full_until_freed, FA_SHIM_WRITE, SQLITE_FULL, true, false)
FAULT_TEST(sync_fails_once, FA_SHIM_SYNC, SQLITE_IOERR_FSYNC, false, false)
FAULT_TEST(sync_fails_until_mended, FA_SHIM_SYNC, SQLITE_IOERR_FSYNC, true, false)
FAULT_TEST(truncate_fails_once, FA_SHIM_TRUNCATE, SQLITE_IOERR_TRUNCATE, false, false)
FAULT_TEST(open_fails_once, FA_SHIM_OPEN, SQLITE_CANTOPEN, false, false)
FAULT_TEST(read_fails_once, FA_SHIM_READ, SQLITE_IOERR_READ, false, false)
FAULT_TEST(delete_fails_once, FA_SHIM_DELETE, SQLITE_IOERR_DELETE, false, false)
FAULT_TEST(shared_memory_fails_once, FA_SHIM_SHM, SQLITE_IOERR_SHMMAP, false, false)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_io__write_fails_once),
        cmocka_unit_test(test_io__write_is_torn),
        cmocka_unit_test(test_io__disk_is_full_once),
        cmocka_unit_test(test_io__disk_is_full_until_freed),
        cmocka_unit_test(test_io__sync_fails_once),
        cmocka_unit_test(test_io__sync_fails_until_mended),
        cmocka_unit_test(test_io__truncate_fails_once),
        cmocka_unit_test(test_io__open_fails_once),
        cmocka_unit_test(test_io__read_fails_once),
        cmocka_unit_test(test_io__delete_fails_once),
        cmocka_unit_test(test_io__shared_memory_fails_once),
    };

    fa_shim_install();
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("io faults", tests, NULL, NULL);
}
