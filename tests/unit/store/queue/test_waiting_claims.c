/*
 * test_standing.c - claims that stand until there is work: who is told, who is taken, who is
 * answered. The test is the leader; the claims stand in threads of their own.
 */
#include "unit/sql/asleep.h"

#include "base/hash.h"
#include "sql/standing.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

#define LONG_MS 600000 /* a test that waits this long has hung */

/* A thread with one claim. */
struct claimer {
    struct fa_standing *standing;
    const char *type; /* NULL: any */
    int64_t timeout_ms;
    atomic_bool give_up;
    pthread_t handle;
    atomic_int tid;
    atomic_bool is_back;
    bool is_answered;
    struct faina_tasks *tasks; /* of its own operation, afterwards */
};

static struct faina_tasks nothing, one = {.count = 1};

static void *stand(void *arg)
{
    struct claimer *mine = arg;
    struct faina_claim claim = {
        .worker_id = "w", .types = &mine->type, .type_count = mine->type ? 1 : 0};
    struct fa_op op = {
        .kind = FA_OP_CLAIM_NEXT, .claim = &claim, .give_up = &mine->give_up, .tasks = &nothing};
    uint64_t mark = fa_standing_mark(mine->standing);

    fa_t_publish(&mine->tid);
    mine->is_answered = fa_standing_wait(mine->standing, &op, mark, mine->timeout_ms);
    mine->tasks = op.tasks;
    atomic_store(&mine->is_back, true);
    return NULL;
}

static void start(struct claimer *claimer, struct fa_standing *standing, const char *type)
{
    *claimer = (struct claimer){.standing = standing, .type = type, .timeout_ms = LONG_MS};
    CHECK_INT(pthread_create(&claimer->handle, NULL, stand, claimer), 0);
    fa_t_wait_asleep(&claimer->tid);
}

static void join(struct claimer *claimer, bool is_answered)
{
    pthread_join(claimer->handle, NULL);
    CHECK_INT(claimer->is_answered, is_answered);
    CHECK_INT(claimer->tasks->count, is_answered ? 1 : 0);
}

/* What a claim in the transaction would have got. */
static void give(struct fa_stand *stand, struct faina_tasks *tasks)
{
    stand->op.tasks = tasks;
    stand->op.code = FAINA_OK;
}

static size_t length(const struct fa_stand *taken)
{
    size_t count = 0;

    for (; taken != NULL; taken = taken->taken_next)
        count++;
    return count;
}

/* S1 */
static void test_standing__work_after_the_mark_is_not_missed(void **state)
{
    struct fa_standing *standing = fa_standing_create();
    struct faina_claim claim = {.worker_id = "w"};
    struct fa_op op = {.kind = FA_OP_CLAIM_NEXT, .claim = &claim, .tasks = &nothing};
    uint64_t mark = fa_standing_mark(standing);

    fa_standing_tell(standing, FA_TYPES_ALL);
    CHECK_TRUE(fa_standing_mark(standing) != mark);
    CHECK_TRUE(!fa_standing_wait(standing, &op, mark, LONG_MS));
    mark = fa_standing_mark(standing);
    fa_standing_settle(standing, NULL, true, 1);
    CHECK_TRUE(!fa_standing_wait(standing, &op, mark, LONG_MS));
    mark = fa_standing_mark(standing);
    fa_standing_settle(standing, NULL, false, 1);
    fa_standing_settle(standing, NULL, true, 0);
    CHECK_TRUE(fa_standing_mark(standing) == mark); /* nothing has come */
    fa_standing_destroy(standing);
}

static void test_standing__the_time_runs_out(void **state)
{
    static const int64_t timeouts[] = {0, 1, -5};
    struct fa_standing *standing = fa_standing_create();
    struct faina_claim claim = {.worker_id = "w"};
    struct fa_op op = {.kind = FA_OP_CLAIM_NEXT, .claim = &claim, .tasks = &nothing};

    for (size_t i = 0; i < FA_COUNT(timeouts); i++)
        CHECK_TRUE(!fa_standing_wait(standing, &op, fa_standing_mark(standing), timeouts[i]));
    CHECK_TRUE(!fa_standing_has_any(standing));
    fa_standing_destroy(standing);
}

static void test_standing__only_those_who_ask_for_the_type_look(void **state)
{
    struct fa_standing *standing = fa_standing_create();
    struct claimer a, b, any;

    assert_true(fa_hash_bit("a") != fa_hash_bit("b"));
    start(&a, standing, "a");
    start(&b, standing, "b");
    start(&any, standing, NULL);
    fa_standing_tell(standing, fa_hash_bit("b"));
    join(&b, false);
    join(&any, false);
    CHECK_TRUE(!atomic_load(&a.is_back));
    fa_standing_tell(standing, fa_hash_bit("a"));
    join(&a, false);
    fa_standing_destroy(standing);
}

/* S3, S4 */
static void test_standing__answered_after_the_commit_in_order(void **state)
{
    enum { CLAIMERS = 4 };
    struct fa_standing *standing = fa_standing_create();
    struct claimer claimers[CLAIMERS];
    struct fa_stand *taken;

    for (size_t i = 0; i < CLAIMERS; i++)
        start(&claimers[i], standing, i == 2 ? "b" : "a");
    CHECK_TRUE(fa_standing_has_any(standing));
    taken = fa_standing_take(standing, fa_hash_bit("a"));
    CHECK_INT(length(taken), 3);
    give(taken, &one);
    give(taken->taken_next, &one);
    give(taken->taken_next->taken_next, &nothing);
    CHECK_TRUE(!atomic_load(&claimers[0].is_back));
    fa_standing_settle(standing, taken, true, fa_hash_bit("a"));
    join(&claimers[0], true);
    join(&claimers[1], true);
    /* The third of its type got nothing and stands on, before who comes later. */
    taken = fa_standing_take(standing, FA_TYPES_ALL);
    CHECK_INT(length(taken), 2);
    CHECK_TRUE(taken->types == fa_hash_bit("b"));
    give(taken, &one);
    give(taken->taken_next, &one);
    fa_standing_settle(standing, taken, true, FA_TYPES_ALL);
    join(&claimers[2], true);
    join(&claimers[3], true);
    CHECK_TRUE(!fa_standing_has_any(standing));
    fa_standing_destroy(standing);
}

/* S3 */
static void test_standing__a_rollback_leaves_no_trace(void **state)
{
    struct fa_standing *standing = fa_standing_create();
    struct claimer claimer;
    struct fa_stand *taken;

    start(&claimer, standing, NULL);
    taken = fa_standing_take(standing, 1);
    give(taken, &one);
    fa_standing_settle(standing, taken, false, 1);
    join(&claimer, false); /* it looks by itself */
    fa_standing_destroy(standing);
}

/* S1: it looked before the transaction, and stands since the transaction took the others. */
static void test_standing__who_comes_during_the_transaction_looks(void **state)
{
    struct fa_standing *standing = fa_standing_create();
    struct claimer claimer;

    CHECK_TRUE(fa_standing_take(standing, FA_TYPES_ALL) == NULL);
    start(&claimer, standing, "a");
    fa_standing_settle(standing, NULL, true, fa_hash_bit("b"));
    CHECK_TRUE(!atomic_load(&claimer.is_back));
    fa_standing_settle(standing, NULL, true, fa_hash_bit("a"));
    join(&claimer, false);
    fa_standing_destroy(standing);
}

/* S2: the time runs out, or it gives up, while a transaction has it. */
static void test_standing__who_leaves_waits_for_the_transaction(void **state)
{
    static struct faina_tasks *const gets[] = {&one, &nothing};

    for (size_t i = 0; i < FA_COUNT(gets); i++) {
        struct fa_standing *standing = fa_standing_create();
        struct claimer claimer;
        struct fa_stand *taken;

        start(&claimer, standing, NULL);
        taken = fa_standing_take(standing, 1);
        atomic_store(&claimer.give_up, true);
        fa_standing_wake(standing);
        fa_t_wait_asleep(&claimer.tid);
        CHECK_TRUE(!atomic_load(&claimer.is_back));
        give(taken, gets[i]);
        fa_standing_settle(standing, taken, true, 1);
        join(&claimer, gets[i] == &one);
        CHECK_TRUE(!fa_standing_has_any(standing));
        fa_standing_destroy(standing);
    }
}

static void test_standing__who_gives_up_is_not_taken(void **state)
{
    struct fa_standing *standing = fa_standing_create();
    struct claimer claimer, other;
    struct fa_stand *taken;

    start(&claimer, standing, NULL);
    start(&other, standing, NULL);
    atomic_store(&claimer.give_up, true);
    taken = fa_standing_take(standing, 1); /* before anybody has woken it */
    CHECK_INT(length(taken), 1);
    fa_standing_wake(standing);
    join(&claimer, false);
    give(taken, &one);
    fa_standing_settle(standing, taken, true, 1);
    join(&other, true);
    fa_standing_destroy(standing);
}

/* S5 */
static void test_standing__closing_wakes_everybody(void **state)
{
    enum { CLAIMERS = 5 };
    struct fa_standing *standing = fa_standing_create();
    struct claimer claimers[CLAIMERS];
    struct faina_claim claim = {.worker_id = "w"};
    struct fa_op op = {.kind = FA_OP_CLAIM_NEXT, .claim = &claim, .tasks = &nothing};

    for (size_t i = 0; i < CLAIMERS; i++)
        start(&claimers[i], standing, i % 2 ? "a" : NULL);
    fa_standing_close(standing);
    for (size_t i = 0; i < CLAIMERS; i++)
        join(&claimers[i], false);
    CHECK_TRUE(!fa_standing_wait(standing, &op, fa_standing_mark(standing), LONG_MS));
    fa_standing_destroy(standing);
    fa_standing_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_standing__work_after_the_mark_is_not_missed),
        cmocka_unit_test(test_standing__the_time_runs_out),
        cmocka_unit_test(test_standing__only_those_who_ask_for_the_type_look),
        cmocka_unit_test(test_standing__answered_after_the_commit_in_order),
        cmocka_unit_test(test_standing__a_rollback_leaves_no_trace),
        cmocka_unit_test(test_standing__who_comes_during_the_transaction_looks),
        cmocka_unit_test(test_standing__who_leaves_waits_for_the_transaction),
        cmocka_unit_test(test_standing__who_gives_up_is_not_taken),
        cmocka_unit_test(test_standing__closing_wakes_everybody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
