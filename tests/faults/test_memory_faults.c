/*
 * test_memory_faults.c - SQLite's nth allocation fails, for every n (or many of them).
 *
 * One round opens a new file, does the moves of moves.c and closes it, while one allocation fails.
 * The refusal is clean, the engine works on, nothing acknowledged is lost; under the address
 * sanitizer, nothing leaks either. Our own allocations aren't meant: they end the process
 * (base/bytes.h, M3), and test_kill.c shows that nothing acknowledged is lost by that.
 *
 * FA_MEMORY_ROUNDS sets how many of all n are tried, spread evenly; others in each run.
 */
#include "faults/inspect.h"
#include "support/moves.h"
#include "faults/shim.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

#define ROUNDS_DEFAULT 600

/* SQLite has one allocator per process, so there is one of these. */
static struct {
    sqlite3_mem_methods real;
    atomic_long count;
    atomic_long fail_at; /* 0: never */
    atomic_bool has_failed;
} heap;

static bool strikes(void)
{
    long number = atomic_fetch_add(&heap.count, 1) + 1;

    if (number != heap.fail_at)
        return false;
    heap.has_failed = true;
    return true;
}

static void *take(int size)
{
    return strikes() ? NULL : heap.real.xMalloc(size);
}

static void *resize(void *ptr, int size)
{
    return strikes() ? NULL : heap.real.xRealloc(ptr, size);
}

/* Before SQLite is first used. Without its own small pools, so that every allocation comes here. */
static void install(void)
{
    sqlite3_mem_methods mine;

    assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &heap.real), SQLITE_OK);
    mine = heap.real;
    mine.xMalloc = take;
    mine.xRealloc = resize;
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &mine), SQLITE_OK);
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0), SQLITE_OK);
    assert_int_equal(sqlite3_initialize(), SQLITE_OK);
}

static void arm(long nth)
{
    heap.count = 0;
    heap.has_failed = false;
    heap.fail_at = nth;
}

/* ------------------------------------------------------------------------------------------ */

struct round {
    struct fa_t t;
    int refused;
};

static void on_refusal(void *ctx, struct fa_moves *moves)
{
    struct round *round = ctx;

    CHECK(heap.has_failed, "refused without a fault: %s", moves->t->op.error.message);
    round->refused++;
}

/* Opens, moves and closes with the nth allocation failing; returns how many there were. */
static long run_round(struct round *round, const char *path, long nth)
{
    struct fa_moves moves = {.t = &round->t, .on_refusal = on_refusal, .ctx = round};
    struct faina_error err = {0};
    char what[64];
    long count;

    snprintf(what, sizeof what, "allocation %ld fails", nth);
    snprintf(round->t.url, sizeof round->t.url, "sqlite:%.500s", path);
    arm(nth);
    if (fa_t_try_open(&round->t, &err) != FAINA_OK) {
        CHECK(err.code == FAINA_UNAVAILABLE && err.message[0], "%s: can't open: %s (%s)", what,
              faina_code_name(err.code), err.message);
        CHECK(heap.has_failed, "refused without a fault: %s", err.message);
        round->refused++;
        fa_t_open(&round->t);
    }
    fa_moves_run(&moves);
    fa_t_close(&round->t);
    count = heap.count;
    arm(0);
    fa_t_open(&round->t);
    fa_l_check(&moves.ledger, &round->t);
    fa_t_close(&round->t);
    fa_f_check_sound(path, what);
    fa_l_clear(&moves.ledger);
    fa_arena_finish(&round->t.arena);
    return count;
}

static void test_memory__each_allocation_fails_once(void **state)
{
    long rounds = fa_t_env_int("FA_MEMORY_ROUNDS", ROUNDS_DEFAULT);
    struct round round = {0};
    char dir[FA_T_PATH_SIZE], path[FA_T_PATH_SIZE + 16];
    long count, step, tried = 0;

    (void)state;
    fa_t_temp_dir(dir);
    snprintf(path, sizeof path, "%.400s/count.db", dir);
    count = run_round(&round, path, 0);
    step = count > rounds ? count / rounds : 1;
    for (long n = 1 + (long)(fa_t_seed() % (uint64_t)step); n <= count; n += step, tried++) {
        fa_t_remove_tree(dir);
        fa_t_temp_dir(dir);
        snprintf(path, sizeof path, "%.400s/mem.db", dir);
        run_round(&round, path, n);
    }
    print_message("%ld of %ld allocations failed, %d refusals\n", tried, count, round.refused);
    CHECK(round.refused > tried / 10, "next to no failure was noticed");
    fa_t_remove_tree(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory__each_allocation_fails_once),
    };

    install();
    fa_shim_install(); /* fails nothing here, but makes flushes free */
    return cmocka_run_group_tests_name("memory faults", tests, NULL, NULL);
}
