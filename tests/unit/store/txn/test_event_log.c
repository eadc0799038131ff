/*
 * test_event_log.c - purged rows of the log: reported as a gap, and their numbers are never reused.
 */
#include "support/unit_store.h"

#include "model/limits.h"
#include "store/txn/event_log.h"

#include <setjmp.h>

#include <cmocka.h>

#define HOUR_US (FA_LOG_KEEP_MS * 1000)

/* A committed transaction with one event. */
static void commit_one(struct store *store)
{
    struct faina_error err = {0};

    store_begin(store);
    store_submit(store, .type = "x");
    CHECK(fa_event_log_write(&store->unit, &err) == FAINA_OK, "%s", err.message);
    store_commit(store);
}

static void forget(struct store *store)
{
    struct faina_error err = {0};

    store_begin(store);
    CHECK(fa_event_log_purge(&store->unit, &err) == FAINA_OK, "%s", err.message);
    store_commit(store);
}

/* Reads the events after a position; NULL: the end of the log. */
static struct fa_followed *follow(struct store *store, const char *place)
{
    struct fa_op op = {.kind = FA_OP_FOLLOW, .arena = &store->arena};

    op.page.cursor = place;
    CHECK(fa_read_follow(&store->unit.source, &op) == FAINA_OK, "%s", op.error.message);
    return op.followed;
}

/* J2 */
static void test_journal__what_is_forgotten_is_a_gap(void **state)
{
    struct store store;
    const char *before, *between;

    store_open(&store);
    before = follow(&store, NULL)->next;
    commit_one(&store);
    between = follow(&store, NULL)->next;
    store.unit.now_us += HOUR_US / 2;
    commit_one(&store);
    forget(&store);
    CHECK_INT(follow(&store, before)->count, 2); /* younger than an hour */
    CHECK_TRUE(!follow(&store, before)->is_gap);
    store.unit.now_us += HOUR_US * 3 / 4;
    forget(&store);
    CHECK_TRUE(follow(&store, before)->is_gap);
    CHECK_INT(follow(&store, before)->count, 1);
    CHECK_TRUE(!follow(&store, between)->is_gap);
    CHECK_INT(follow(&store, between)->count, 1);
    store_close(&store);
}

/* J1, J3: a reader at the end gets the next event, however much was purged meanwhile. */
static void test_journal__a_number_is_never_used_again(void **state)
{
    struct store store;
    const char *end;

    store_open(&store);
    for (int i = 0; i < 3; i++)
        commit_one(&store);
    end = follow(&store, NULL)->next;
    store.unit.now_us += 2 * HOUR_US;
    for (int i = 0; i < 2; i++)
        forget(&store);
    CHECK_STR(follow(&store, NULL)->next, end);
    CHECK_TRUE(!follow(&store, end)->is_gap);
    CHECK_INT(follow(&store, end)->count, 0);
    commit_one(&store);
    CHECK_TRUE(!follow(&store, end)->is_gap);
    CHECK_INT(follow(&store, end)->count, 1);
    store_close(&store);
}

/* J2: after a clock was set back, newer rows are purged before older ones. */
static void test_journal__a_gap_stays_a_gap(void **state)
{
    struct store store;
    const char *before, *third, *end;

    store_open(&store);
    before = follow(&store, NULL)->next;
    commit_one(&store);
    store.unit.now_us += HOUR_US;
    commit_one(&store);
    store.unit.now_us -= HOUR_US;
    third = follow(&store, NULL)->next;
    commit_one(&store);
    end = follow(&store, NULL)->next;
    store.unit.now_us += HOUR_US * 3 / 2;
    commit_one(&store);
    forget(&store); /* the first and the third */
    CHECK_INT(follow(&store, before)->count, 2);
    store.unit.now_us += HOUR_US;
    forget(&store); /* the second */
    CHECK_INT(follow(&store, before)->count, 1);
    CHECK_TRUE(follow(&store, third)->is_gap);
    CHECK_TRUE(!follow(&store, end)->is_gap);
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_journal__what_is_forgotten_is_a_gap),
        cmocka_unit_test(test_journal__a_number_is_never_used_again),
        cmocka_unit_test(test_journal__a_gap_stays_a_gap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
