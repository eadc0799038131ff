/*
 * test_waiting_claims.c - claims that wait for work: which are woken, taken and answered. The test
 * is the batch leader; the claims wait in threads of their own.
 */
#include "support/asleep.h"

#include "base/hash.h"
#include "service/waiting_claims.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

#define LONG_MS 600000 /* a test that waits this long has hung */

/* A thread with one claim. */
struct claimer {
    struct fa_waiting_claims *claims;
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

static void *run_claimer(void *arg)
{
    struct claimer *mine = arg;
    struct faina_claim claim = {
        .worker_id = "w", .types = &mine->type, .type_count = mine->type ? 1 : 0};
    struct fa_op op = {
        .kind = FA_OP_CLAIM_NEXT, .claim = &claim, .give_up = &mine->give_up, .tasks = &nothing};
    uint64_t version = fa_waiting_claims_version(mine->claims);

    fa_t_publish(&mine->tid);
    mine->is_answered = fa_waiting_claims_wait(mine->claims, &op, version, mine->timeout_ms);
    mine->tasks = op.tasks;
    atomic_store(&mine->is_back, true);
    return NULL;
}

static void start(struct claimer *claimer, struct fa_waiting_claims *claims, const char *type)
{
    *claimer = (struct claimer){.claims = claims, .type = type, .timeout_ms = LONG_MS};
    CHECK_INT(pthread_create(&claimer->handle, NULL, run_claimer, claimer), 0);
    fa_t_wait_asleep(&claimer->tid);
}

static void join(struct claimer *claimer, bool is_answered)
{
    pthread_join(claimer->handle, NULL);
    CHECK_INT(claimer->is_answered, is_answered);
    CHECK_INT(claimer->tasks->count, is_answered ? 1 : 0);
}

/* What a claim in the transaction would have got. */
static void give(struct fa_waiting_claim *claim, struct faina_tasks *tasks)
{
    claim->op.tasks = tasks;
    claim->op.code = FAINA_OK;
}

static size_t length(const struct fa_waiting_claim *taken)
{
    size_t count = 0;

    for (; taken != NULL; taken = taken->taken_next)
        count++;
    return count;
}

/* S1 */
static void test_waiting_claims__work_after_the_version_was_read_is_not_missed(void **state)
{
    struct fa_waiting_claims *claims = fa_waiting_claims_create();
    struct faina_claim claim = {.worker_id = "w"};
    struct fa_op op = {.kind = FA_OP_CLAIM_NEXT, .claim = &claim, .tasks = &nothing};
    uint64_t version = fa_waiting_claims_version(claims);

    fa_waiting_claims_notify(claims, FA_TYPES_ALL);
    CHECK_TRUE(fa_waiting_claims_version(claims) != version);
    CHECK_TRUE(!fa_waiting_claims_wait(claims, &op, version, LONG_MS));
    version = fa_waiting_claims_version(claims);
    fa_waiting_claims_settle(claims, NULL, true, 1);
    CHECK_TRUE(!fa_waiting_claims_wait(claims, &op, version, LONG_MS));
    version = fa_waiting_claims_version(claims);
    fa_waiting_claims_settle(claims, NULL, false, 1);
    fa_waiting_claims_settle(claims, NULL, true, 0);
    CHECK_TRUE(fa_waiting_claims_version(claims) == version); /* nothing has become ready */
    fa_waiting_claims_destroy(claims);
}

static void test_waiting_claims__the_time_runs_out(void **state)
{
    static const int64_t timeouts[] = {0, 1, -5};
    struct fa_waiting_claims *claims = fa_waiting_claims_create();
    struct faina_claim claim = {.worker_id = "w"};
    struct fa_op op = {.kind = FA_OP_CLAIM_NEXT, .claim = &claim, .tasks = &nothing};

    for (size_t i = 0; i < FA_COUNT(timeouts); i++)
        CHECK_TRUE(
            !fa_waiting_claims_wait(claims, &op, fa_waiting_claims_version(claims), timeouts[i]));
    CHECK_TRUE(!fa_waiting_claims_has_any(claims));
    fa_waiting_claims_destroy(claims);
}

static void test_waiting_claims__only_claims_for_the_type_are_woken(void **state)
{
    struct fa_waiting_claims *claims = fa_waiting_claims_create();
    struct claimer a, b, any;

    assert_true(fa_hash_bit("a") != fa_hash_bit("b"));
    start(&a, claims, "a");
    start(&b, claims, "b");
    start(&any, claims, NULL);
    fa_waiting_claims_notify(claims, fa_hash_bit("b"));
    join(&b, false);
    join(&any, false);
    CHECK_TRUE(!atomic_load(&a.is_back));
    fa_waiting_claims_notify(claims, fa_hash_bit("a"));
    join(&a, false);
    fa_waiting_claims_destroy(claims);
}

/* S3, S4 */
static void test_waiting_claims__answered_after_the_commit_in_order(void **state)
{
    enum { CLAIMERS = 4 };
    struct fa_waiting_claims *claims = fa_waiting_claims_create();
    struct claimer claimers[CLAIMERS];
    struct fa_waiting_claim *taken;

    for (size_t i = 0; i < CLAIMERS; i++)
        start(&claimers[i], claims, i == 2 ? "b" : "a");
    CHECK_TRUE(fa_waiting_claims_has_any(claims));
    taken = fa_waiting_claims_take(claims, fa_hash_bit("a"));
    CHECK_INT(length(taken), 3);
    give(taken, &one);
    give(taken->taken_next, &one);
    give(taken->taken_next->taken_next, &nothing);
    CHECK_TRUE(!atomic_load(&claimers[0].is_back));
    fa_waiting_claims_settle(claims, taken, true, fa_hash_bit("a"));
    join(&claimers[0], true);
    join(&claimers[1], true);
    /* The third of its type got nothing and goes on waiting, before later ones. */
    taken = fa_waiting_claims_take(claims, FA_TYPES_ALL);
    CHECK_INT(length(taken), 2);
    CHECK_TRUE(taken->types == fa_hash_bit("b"));
    give(taken, &one);
    give(taken->taken_next, &one);
    fa_waiting_claims_settle(claims, taken, true, FA_TYPES_ALL);
    join(&claimers[2], true);
    join(&claimers[3], true);
    CHECK_TRUE(!fa_waiting_claims_has_any(claims));
    fa_waiting_claims_destroy(claims);
}

/* S3 */
static void test_waiting_claims__a_rollback_leaves_no_trace(void **state)
{
    struct fa_waiting_claims *claims = fa_waiting_claims_create();
    struct claimer claimer;
    struct fa_waiting_claim *taken;

    start(&claimer, claims, NULL);
    taken = fa_waiting_claims_take(claims, 1);
    give(taken, &one);
    fa_waiting_claims_settle(claims, taken, false, 1);
    join(&claimer, false); /* its caller claims again */
    fa_waiting_claims_destroy(claims);
}

/* S1: it claimed before the transaction, and waits since the transaction took the others. */
static void test_waiting_claims__a_claim_during_the_transaction_is_woken(void **state)
{
    struct fa_waiting_claims *claims = fa_waiting_claims_create();
    struct claimer claimer;

    CHECK_TRUE(fa_waiting_claims_take(claims, FA_TYPES_ALL) == NULL);
    start(&claimer, claims, "a");
    fa_waiting_claims_settle(claims, NULL, true, fa_hash_bit("b"));
    CHECK_TRUE(!atomic_load(&claimer.is_back));
    fa_waiting_claims_settle(claims, NULL, true, fa_hash_bit("a"));
    join(&claimer, false);
    fa_waiting_claims_destroy(claims);
}

/* S2: the time runs out, or it gives up, while a transaction runs it. */
static void test_waiting_claims__a_taken_claim_returns_after_the_transaction(void **state)
{
    static struct faina_tasks *const gets[] = {&one, &nothing};

    for (size_t i = 0; i < FA_COUNT(gets); i++) {
        struct fa_waiting_claims *claims = fa_waiting_claims_create();
        struct claimer claimer;
        struct fa_waiting_claim *taken;

        start(&claimer, claims, NULL);
        taken = fa_waiting_claims_take(claims, 1);
        atomic_store(&claimer.give_up, true);
        fa_waiting_claims_wake(claims);
        fa_t_wait_asleep(&claimer.tid);
        CHECK_TRUE(!atomic_load(&claimer.is_back));
        give(taken, gets[i]);
        fa_waiting_claims_settle(claims, taken, true, 1);
        join(&claimer, gets[i] == &one);
        CHECK_TRUE(!fa_waiting_claims_has_any(claims));
        fa_waiting_claims_destroy(claims);
    }
}

static void test_waiting_claims__a_claim_that_gives_up_is_not_taken(void **state)
{
    struct fa_waiting_claims *claims = fa_waiting_claims_create();
    struct claimer claimer, other;
    struct fa_waiting_claim *taken;

    start(&claimer, claims, NULL);
    start(&other, claims, NULL);
    atomic_store(&claimer.give_up, true);
    taken = fa_waiting_claims_take(claims, 1); /* before it is woken */
    CHECK_INT(length(taken), 1);
    fa_waiting_claims_wake(claims);
    join(&claimer, false);
    give(taken, &one);
    fa_waiting_claims_settle(claims, taken, true, 1);
    join(&other, true);
    fa_waiting_claims_destroy(claims);
}

/* S5 */
static void test_waiting_claims__closing_wakes_all(void **state)
{
    enum { CLAIMERS = 5 };
    struct fa_waiting_claims *claims = fa_waiting_claims_create();
    struct claimer claimers[CLAIMERS];
    struct faina_claim claim = {.worker_id = "w"};
    struct fa_op op = {.kind = FA_OP_CLAIM_NEXT, .claim = &claim, .tasks = &nothing};

    for (size_t i = 0; i < CLAIMERS; i++)
        start(&claimers[i], claims, i % 2 ? "a" : NULL);
    fa_waiting_claims_close(claims);
    for (size_t i = 0; i < CLAIMERS; i++)
        join(&claimers[i], false);
    CHECK_TRUE(!fa_waiting_claims_wait(claims, &op, fa_waiting_claims_version(claims), LONG_MS));
    fa_waiting_claims_destroy(claims);
    fa_waiting_claims_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waiting_claims__work_after_the_version_was_read_is_not_missed),
        cmocka_unit_test(test_waiting_claims__the_time_runs_out),
        cmocka_unit_test(test_waiting_claims__only_claims_for_the_type_are_woken),
        cmocka_unit_test(test_waiting_claims__answered_after_the_commit_in_order),
        cmocka_unit_test(test_waiting_claims__a_rollback_leaves_no_trace),
        cmocka_unit_test(test_waiting_claims__a_claim_during_the_transaction_is_woken),
        cmocka_unit_test(test_waiting_claims__a_taken_claim_returns_after_the_transaction),
        cmocka_unit_test(test_waiting_claims__a_claim_that_gives_up_is_not_taken),
        cmocka_unit_test(test_waiting_claims__closing_wakes_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
